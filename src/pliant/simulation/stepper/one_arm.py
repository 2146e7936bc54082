"""One arm on the compiled loops of single runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.compute.tape import one_sided_time
from pliant.errors import ModelError, SimulationError, UnsupportedModel, warn_user
from pliant.integrators.open_run import OpenRun
from pliant.integrators.problem import Events
from pliant.integrators.solution import breakdown
from pliant.integrators.step_loops.loop_state import LoopStatus
from pliant.simulation.runs.checks.limits import JointLimit, passing_words
from pliant.simulation.runs.checks.runaway import ceiling, first_to_go, runaway_message
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.inputs import Inputs
from pliant.simulation.stepper.known_breaks import SAME, KnownBreaks
from pliant.simulation.stepper.watches import EnergyWatch, ValidityWatch


class OneArm:
    """A composition at work; `stopped` names the limit at which it stands, empty while it moves."""

    def __init__(
        self, composed: Composition, inputs: Inputs, limits: Sequence[JointLimit], method: str, step: float | None,
        rtol: float, atol: float, q: Array, qd: Array,
    ) -> None:  # fmt: skip
        self._composed, self._inputs, self._limits = composed, inputs, limits
        self._kernel = composed.event_kernel(tuple(limit.event for limit in limits)) if limits else None
        direction = [limit.direction for limit in limits]
        watch = Events(self._kernel.address, len(limits), direction, owner=self._kernel) if self._kernel else None
        x0 = composed.start(q, qd, inputs.at_start(q, qd) if composed.n_drive_states else None)
        self._run = OpenRun(
            composed.problem(),
            x0,
            inputs.p,
            method=method,
            step=step,
            rtol=rtol,
            atol=composed.tolerances(atol),
            callback=inputs.callback,
            n_callback=inputs.n_callback,
            events=watch,
        )
        self._x0, self._run.ceiling = x0, float(ceiling(composed, inputs.functions, qd))
        self._breaks = KnownBreaks(composed)
        self._torque = self._run.p[: composed.m]
        self._held = np.zeros(composed.m)  # of a sampled controller
        self._samples, self._next, self._period = 0, 0.0, inputs.period
        self._asks = inputs.period is not None or inputs.callback is not None
        self._plan()
        self.stopped = self._left()
        self._told = False
        self.energy, self._validity = EnergyWatch(composed.model), ValidityWatch(composed)
        self.balanced()

    def balanced(self) -> None:
        """Let the energy balance begin at the present state, which was set from outside."""
        self.energy.begin(*self._seen())

    def _look(self) -> None:
        """Judge the energy, and the limits of the model."""
        seen = self._seen()
        self.energy.look(*seen)
        self._validity.look(*seen[:3], self.x, self.p)

    def _seen(self) -> tuple[float, Array, Array, Array, Array]:
        """Time, coordinates, rates, work and parameters."""
        run, P = self._run, len(self._composed.model.parameters)
        q, qd = self._composed.full_state(run.t, run.x)
        return run.t, q[None], qd[None], run.x[-1:], run.p[None, len(run.p) - P :]

    def start(self, q: Array, qd: Array) -> None:
        """Put the arm back to time 0, at this state."""
        self._run.restart()
        self._inputs.sampler, self._samples, self._held[:] = self._composed.sampler(), 0, 0.0
        self._torque[:] = self._inputs.constant[:] = 0.0
        self._look_up()
        p = self._run.p if self._composed.n_drive_states else None
        self._x0 = self._composed.start(q, qd, p)
        self._run.x[:], self._run.ceiling = self._x0, float(ceiling(self._composed, self._inputs.functions, qd))
        self._plan()
        self.stopped = self._left()
        self.balanced()

    def place(self, q: Array, qd: Array) -> None:
        """Put the arm at this state now. Other states, such as those of a controller, go on."""
        c = self._composed
        self._run.x[: c.moving] = np.concatenate([q[c.free_places], qd[c.free]])
        self.stopped = self._left()
        self.balanced()

    @property
    def t(self) -> float:
        """Time reached."""
        return self._run.t

    @property
    def x(self) -> Array:
        """State, a view (1, size)."""
        return self._run.x[None]

    @property
    def p(self) -> Array:
        """Inputs of the equations, torques and parameters: a view (1, ...)."""
        return self._run.p[None]

    def command(self, tau: ArrayLike) -> None:
        """Set torques from now on."""
        if self._asks:
            self._inputs.constant[:] = tau
            np.add(self._inputs.constant, self._held, out=self._torque)
        else:
            self._torque[:] = tau

    def advance(self, dt: float) -> bool:
        """Advance by `dt`. Return whether the arm went on for that time; if not, it stopped at a limit."""
        if self.stopped:
            raise SimulationError(
                f"step: the arm stands at a limit ({self.stopped}) since t = {self.t:g} s; reset or restore it, or "
                "give limits=False"
            )
        run = self._run
        end = run.t + dt
        if end + SAME * dt < self._next:
            status = run.advance(end)
        else:
            status = self._in_pieces(end, SAME * dt)
        if run.over and not self._told:
            self._told = True
            warn_user(passing_words(run.over))
        if status in (LoopStatus.DONE, LoopStatus.EVENT) and self.energy.due():
            self._look()
        if status == LoopStatus.DONE:
            return True
        if status == LoopStatus.EVENT:
            self.stopped = self._limits[self._run.event].name
            return False
        raise self._broken(status, end)

    def _in_pieces(self, end: float, near: float) -> int:
        """Advance to `end`; take samples and meet breaks on the way."""
        run = self._run
        self._breaks.look(end + near)
        while True:
            self._meet(near)
            stop = self._next if self._next <= end + near else end
            status = run.advance(stop)
            if status != LoopStatus.DONE or stop >= end - near:
                return status

    def _meet(self, near: float) -> None:
        """Do what falls on the present time: a jump of prescribed rates, a sample of the controller."""
        run = self._run
        if self._next <= run.t + near:
            run.t = self._next
            self._look_up()
            jump = self._breaks.jump(run.t)
            if jump is not None:
                kernel = self._composed.impulse_kernel
                run.x[:] = kernel(jump[0], run.x, run.p, jump[1], jump[2])
            if self._period is not None and self._samples * self._period <= run.t + near:
                value = self._inputs.sample(run.t, run.x, run.p)
                self._held[:] = value - self._inputs.constant
                self._torque[:] = value
                self._samples += 1
        self._plan(near)

    def _plan(self, near: float = 0.0) -> None:
        """Set the next time at which something happens."""
        sample = math.inf if self._period is None else self._samples * self._period
        self._next = min(sample, self._breaks.following(self._run.t + near))

    def _look_up(self) -> None:
        """Set the pieces of the series that hold from now on."""
        c = self._composed
        self._run.p[c.m : c.m + c.n_series] = c.series_at(one_sided_time.after(np.array([self._run.t])))[0]

    def _left(self) -> str:
        q, qd = self._composed.full_state(self._run.t, self._run.x)
        return next((limit.name for limit in self._limits if limit.left(q, qd)), "")

    def _broken(self, status: int, end: float) -> Exception:
        run, c = self._run, self._composed
        if not np.isfinite(run.p).all():
            at = int(np.argmin(np.isfinite(run.p)))
            name = c.model.layout.inputs[at] if at < c.m else c.model.parameters[at - c.m - c.n_series]
            return ModelError(f"{name}: got {run.p[at]}, expected a finite number")
        if status == LoopStatus.RUNAWAY:
            return SimulationError(f"step: {runaway_message(c, self._inputs, self._x0, run.t, run.x.copy())}")
        _, words = breakdown(status, end, run.least)
        return SimulationError(
            f"step: {words} at t = {run.t:.6g} s{first_to_go(c, run.worst)}. Take shorter steps, or "
            "check that the arm is stable under these torques"
        )

    def save(self) -> tuple[Any, ...]:
        """Return the state from which the next step follows."""
        sampler = self._inputs.sampler
        if sampler is not None and not hasattr(sampler, "memory"):
            raise UnsupportedModel(
                f"save: the sampler of {type(self._composed.controller).__name__} has no `memory`; keep there all that "
                "changes from sample to sample"
            )
        memory = None if sampler is None else deepcopy(sampler.memory)
        held = self._inputs.constant.copy(), self._held.copy(), self._samples, self._next, memory
        return self._run.memory, self._run.x.copy(), self._run.p.copy(), self.stopped, held

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Go on from a saved state."""
        self._run.memory, self._run.x[:], self._run.p[:], self.stopped, held = kept
        self._inputs.constant[:], self._held[:], self._samples, following, memory = held
        if memory is not None:
            self._inputs.sampler.memory = deepcopy(memory)  # type: ignore[union-attr]
        self._breaks.look(self.t)
        self._plan()
        self._next = min(self._next, following)  # what happens at this very time may still be to come
        self.balanced()
