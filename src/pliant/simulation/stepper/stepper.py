"""`Stepper`: an arm, or many, that its caller advances. Laws, loads and motions are compiled into one function.

The engines (`one_arm.py`, `many_arms.py`) own time and states. This module reads arguments and returns states and
readings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Array, Booleans, Integers, StateLike
from pliant.base.signatures import checked, near, shown
from pliant.control.sensing.sensors import Encoder, Measurement, Sensor, TipPosition
from pliant.errors import ModelError, UnsupportedModel
from pliant.integrators.methods import has_fixed_steps
from pliant.mechanics.loads.wrenches import Load
from pliant.model.damping_drift import drifted_rows
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.validity import tell
from pliant.options import StepMethodName
from pliant.protocols import Control, MovingBase, PrescribedMotion, TorqueValues
from pliant.simulation.batch.batch_equations import composed as batch_equations
from pliant.simulation.batch.batch_equations import read_drive, rows
from pliant.simulation.runs.checks.limits import joint_limits
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start, judge_speeds
from pliant.simulation.runs.equations.composition import Composition, compose
from pliant.simulation.runs.inputs import Inputs, TorqueInput, listed, read_start, read_torque
from pliant.simulation.stepper.fixed_step import longest_step
from pliant.simulation.stepper.many_arms import ManyArms
from pliant.simulation.stepper.one_arm import OneArm

LONGEST = 1e9
"""Seconds of a step."""


class ArmState(NamedTuple):
    """Coordinates and rates.

    Attributes
    ----------
    q : (n_q,) or (B, n_q) array
        Coordinates.
    qd : (n,) or (B, n) array
        Rates, or speeds where joints have quaternions.
    """

    q: Array
    qd: Array


@dataclass(frozen=True)
class SavedState:
    """State that `Stepper.save` returns and `Stepper.restore` takes. The next steps follow from it alone, and it can be
    pickled.

    Attributes
    ----------
    of : tuple
        Identity of the stepper; `restore` of another one raises `ModelError`.
    kept : tuple
        The state.
    """

    of: tuple[object, ...]
    kept: tuple[Any, ...]


@checked
class Stepper:
    """An arm that is advanced by its caller: `stepper.step(dt, tau)`.

    Dynamics, controller and loads are one compiled function, and a step is one call of a compiled loop. With `count`,
    many arms of one model move side by side, in SIMD packs on all threads; states, torques and parameters then have an
    axis for the arms in front.

    Parameters
    ----------
    model : Model
        The arm. Name numbers that change between steps, such as a payload, in `robot.model(parameters=[...])`.
    method : str
        "rk4" and "midpoint" have fixed steps; "dopri5", "dop853" and "rodas5p" (for stiff arms) choose their own. Many
        arms: "rk4" and "dopri5".
    step : float, optional
        Longest step inside `step(dt)`, seconds: a stretch is divided evenly. By default "rk4" and "midpoint" follow
        the fastest mode of the arm, and other methods have no bound.
    controller : optional
        As in `simulate`; its torques are added to those given to `step`. Sampled controllers, and with `sample_time`
        Python functions, are called at their times, and their torques held. Many arms take traced controllers only.
    loads : sequence of Load, optional
        Objects of `pliant.loads`.
    motion, base : optional
        Prescribed coordinates and motion of the base, as in `simulate`.
    sensors : sequence of Sensor, optional
        Sensors that `outputs` reads, in this order; by default an encoder at each joint and the position of the tip.
    q0, qd0 : optional
        Start, given as for `simulate`; for many arms also with an axis in front.
    p : array or mapping, optional
        Values of the model's parameters, all of them or by name; nominal ones by default.
    count : int, optional
        Number of arms. Without it there is one, and no axis for arms.
    sample_time : float, optional
        Seconds between calls of a Python function, whose value is held in between.
    limits : bool
        Whether an arm stops where a joint leaves the limits of the robot file.
    equilibrium : bool
        Let amplitudes and motors that `q0` does not name settle first, under gravity and the loads at t = 0.
    rtol, atol : float
        Local error of methods that choose their steps.
    seed : int
        Seed of the noise of sensors.

    Attributes
    ----------
    stopped : str or (B,) array of str
        Name of the limit at which an arm stands, empty while it moves.
    composition : Composition
        The equations that are stepped.

    Notes
    -----
    Results equal those of `simulate` with the same method and step to round-off. No step uses what an earlier one
    computed besides the state, so that after `restore` the same bits follow.

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> arm = pliant.Stepper(model, step=1e-3, controller=pliant.control.PD(50.0, 5.0, [0.3, -0.2]))
    >>> for _ in range(10):
    ...     arm.step(1e-3, [0.5, 0.0])
    >>> round(arm.t, 9), arm.q.shape, arm.outputs.shape
    (0.01, (4,), (5,))
    >>> kept = arm.save()
    >>> arm.change({"payload.mass": 0.5})
    >>> arm.step(0.1)
    >>> arm.restore(kept)
    >>> round(arm.t, 9), arm.parameters
    (0.01, {'payload.mass': 0.0})
    """

    def __init__(
        self,
        model: Model | Robot,
        *,
        method: StepMethodName = "rk4",
        step: float | None = None,
        controller: Control | None = None,
        loads: Sequence[Load] | Load = (),
        motion: Mapping[str, PrescribedMotion] | None = None,
        base: MovingBase | None = None,
        sensors: Sequence[Sensor] | None = None,
        q0: StateLike | None = None,
        qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
        p: ArrayLike | Mapping[str, ArrayLike] | None = None,
        count: int | None = None,
        sample_time: float | None = None,
        limits: bool = True,
        equilibrium: bool = False,
        rtol: float = 1e-8,
        atol: float = 1e-10,
        seed: int = 0,
    ) -> None:
        model = model_of(model)
        for name, value in (("step", step), ("sample_time", sample_time), ("rtol", rtol), ("atol", atol)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ModelError(f"{name}: got {value!r}, expected a positive number")
        if count is not None and count < 1:
            raise ModelError(f"count: got {count}, expected at least 1 arm")
        acting, many = listed(loads), count is not None
        self.model, self.method, self.count, self._m = model, method, count, model.layout.n_inputs
        values = self._values(p)
        self.model = model = fitted_to_start(model, q0, qd0, acting, values, None, many, motion=motion, base=base)
        tell(model, drifted_rows(model, values))
        self.step_length = step if step is not None or not has_fixed_steps(method) else longest_step(model)
        self._sensors = sensors
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._equilibrium = equilibrium
        self.composition, inputs, f = self._compose(controller, motion or {}, acting, base, sample_time, values)
        q, qd = self._start(q0, qd0, values)
        bounds, length = joint_limits(model, limits), self.step_length
        self._engine: OneArm | ManyArms
        if inputs is not None:
            self._engine = OneArm(
                self.composition, inputs, bounds, method=method, step=length, rtol=rtol, atol=atol, q=q, qd=qd
            )
        else:
            self._engine = ManyArms(f, bounds, method=method, step=length, rtol=rtol, atol=atol, p=values, q=q, qd=qd)
        self._advance, self._command = self._engine.advance, self._engine.command

    def _compose(
        self, controller: Control | None, motion: Mapping[str, PrescribedMotion], loads: tuple[Load, ...],
        base: MovingBase | None, sample_time: float | None, p: Array,
    ) -> tuple[Composition, Inputs | None, Any]:  # fmt: skip
        """Return the equations, and the inputs of one arm or the batch equations of many."""
        if self.count is not None:
            held = TorqueInput(constant=np.zeros((1, self._m)))
            drives = held, read_drive(self.model, controller, "controller")
            f = batch_equations(self.model, *drives, motion, loads, base, False, looked_up=True, watched=True)
            if f.gains:
                raise UnsupportedModel("controller: gains that are parameters are for simulate_batch")
            _require_law(drives[1])
            return f.composition, None, f
        drive = read_torque(self.model, controller, "controller")
        _require_law(drive)
        composition = compose(self.model, None, drive.traced, motion, loads, base, False, looked_up=True, closed=True)
        return composition, Inputs(self.model, composition, [drive], p[0], sample_time), None

    def _start(self, q0: StateLike | None, qd0: StateLike | None, p: Array, now: bool = False) -> tuple[Array, Array]:
        """Return a state to begin from, or to be in `now`, after all jumps."""
        many, c = self.count is not None, self.composition
        own = p if many else p[0]
        before = None if now else c.before_start
        *start, _ = read_start(
            self.model,
            q0,
            qd0,
            equilibrium=self._equilibrium,
            loads=c.loads,
            p=own,
            many=many,
            placed=c.on_paths,
            before=before,
        )
        if not many:
            return start[0], start[1]
        for name, array in zip(("q0", "qd0"), start):
            if len(array) not in (1, len(p)):
                raise ModelError(f"{name}: got {len(array)} arms, expected 1 or {len(p)}")
        q, qd = (np.broadcast_to(array, (len(p), array.shape[1])) for array in start)
        return q, qd

    def _values(self, given: ArrayLike | Mapping[str, ArrayLike] | None, now: Array | None = None) -> Array:
        """Parameters (B or 1, P): those given, all or by name, in place of present or nominal ones."""
        names, arms = self.model.parameters, self.count or 1
        values = np.tile(self.model.nominal_parameters, (arms, 1)) if now is None else now.copy()
        if given is None:
            return values
        if isinstance(given, Mapping):
            for name, value in given.items():
                if name not in names:
                    meant = near(name, names)
                    told = f"did you mean {meant!r}?" if meant else f"make the model with parameters=[{name!r}, ...]"
                    raise ModelError(f"{name!r}: not a parameter of this model ({', '.join(names) or 'none'}); {told}")
                column = rows(np.reshape(value, (-1, 1)), 1, name, (name,))
                if len(column) not in (1, arms):
                    raise ModelError(f"{name}: got {len(column)} values, expected 1 or {arms}")
                values[:, names.index(name)] = column[:, 0]
            return values
        found = rows(given, len(names), "p", names)
        if len(found) not in (1, arms):
            raise ModelError(f"p: got {len(found)} arms, expected 1 or {arms}")
        values[:] = found
        return values

    # ------------------------------------------------------------------------------------------------ stepping

    def step(self, dt: float, tau: TorqueValues | None = None) -> None:
        """Advance by `dt` seconds under torques that are held.

        Parameters
        ----------
        dt : float
            Seconds.
        tau : (m,) array or mapping, optional
            Torques of the joints, added to those of the controller; for many arms (m,) or (B, m). Without it those of
            the last step hold, at first none.

        Notes
        -----
        An arm that meets a joint limit stops there: `stopped` names it. Many arms are checked at the end of the step.

        Raises
        ------
        SimulationError
            The arm stands at a limit since an earlier step, or broke down; of many arms, if all of them do.
        """
        try:
            fits = 0.0 < dt < LONGEST
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ModelError(f"dt: got {shown(dt)}, expected a positive number of seconds, below {LONGEST:g}")
        if tau is not None:
            given: Any = tau
            try:
                wide = len(given) if self.count is None else np.shape(given)[-1]
                if wide != self._m or isinstance(given, str | bytes):
                    raise ValueError
                self._command(given)
            except (TypeError, ValueError, IndexError):
                self._command(self._torques(tau))
        self._advance(float(dt))

    def _torques(self, tau: TorqueValues) -> Array:
        constant = read_torque(self.model, tau, "tau", many=self.count is not None).constant
        if constant is None or len(constant) not in (1, self.count or 1):
            raise ModelError(
                f"tau: expected torques of {', '.join(self.model.layout.inputs)}, for each arm or for all alike"
            )
        return constant[0] if self.count is None else constant

    def reset(
        self,
        q0: StateLike | None = None,
        qd0: StateLike | None = None,
        arms: Sequence[int] | Integers | Booleans | slice | None = None,
    ) -> None:
        """Put arms back to a start, with the present parameters.

        Parameters
        ----------
        q0, qd0 : optional
            As for the constructor.
        arms : (B,) of bool or indices, optional
            Which of many arms; the clock then goes on. By default all, and the clock starts at 0.

        Examples
        --------
        >>> arm = pliant.Stepper(pliant.load("two-link").model(), step=1e-3)
        >>> arm.step(0.01)
        >>> arm.reset({"upper": 0.5})
        >>> arm.t, float(arm.q[0])
        (0.0, 0.5)
        """
        if arms is None:
            self._rng = np.random.default_rng(self._seed)
            self._engine.start(*self._start(q0, qd0, self._own))
            return
        if not isinstance(self._engine, ManyArms):
            raise ModelError("arms: there is one arm; give count= for many")
        which = np.arange(self.count or 1)[arms]
        self._engine.place(*self._start(q0, qd0, self._own[which], now=True), which)

    # ------------------------------------------------------------------------------------------------ looking

    @property
    def t(self) -> float:
        """Time, seconds."""
        return self._engine.t

    @property
    def stopped(self) -> str | NDArray[np.object_]:
        """Name of the limit at which the arm stands, empty while it moves; of many arms an array."""
        stopped = self._engine.stopped
        return stopped if isinstance(stopped, str) else stopped.copy()

    @property
    def energy_error(self) -> float | Array:
        """Error of the energy as a part of what moved, as in `simulate`, since the states or parameters were set last;
        of many arms an array. It is looked at after 1, 2, 4, ... steps, later after every 256."""
        part = self._engine.energy.part
        return float(part[0]) if self.count is None else np.broadcast_to(part, self.count).copy()

    @property
    def state(self) -> ArmState:
        """Coordinates and rates, copies; may be set, to a pair of whatever `q0` and `qd0` take."""
        if isinstance(self._engine, ManyArms):
            q, qd = self._engine.coordinates()
            return ArmState(q.copy(), qd.copy())
        return ArmState(*self.composition.full_state(self._engine.t, self._engine.x[0]))

    @state.setter
    def state(self, value: tuple[StateLike | None, StateLike | None]) -> None:
        q0, qd0 = value
        self._engine.place(*self._start(q0, qd0, self._own, now=True))

    @property
    def q(self) -> Array:
        """Coordinates, a copy."""
        return self.state.q

    @property
    def qd(self) -> Array:
        """Rates, a copy."""
        return self.state.qd

    @property
    def _own(self) -> Array:
        """Parameters, (B or 1, P)."""
        p = self._engine.p
        return p[:, p.shape[1] - len(self.model.parameters) :]

    @property
    def parameters(self) -> dict[str, float | Array]:
        """Values of the model's parameters by name."""
        columns = self._own.T.copy() if self.count is not None else self._own[0].tolist()
        return dict(zip(self.model.parameters, columns))

    def change(self, parameters: Mapping[str, ArrayLike] | ArrayLike) -> None:
        """Give parameters of the model other values from now on; coordinates and rates stay.

        Parameters
        ----------
        parameters : mapping or array
            Values by name, or all of them; for many arms numbers or (B,) arrays.

        Notes
        -----
        A payload that changes joins or leaves the arm with the velocity of the tip. One that is caught at rest is an
        impulse besides.

        Examples
        --------
        >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
        >>> arm = pliant.Stepper(model, count=2, step=1e-3)
        >>> arm.change({"payload.mass": [0.2, 0.4]})
        >>> arm.step(0.01)
        >>> print(arm.parameters["payload.mass"])
        [0.2 0.4]
        """
        self._own[:] = self._values(parameters, self._own)
        tell(self.model, judge_speeds(self.model, self.qd, self._own) | drifted_rows(self.model, self._own))
        self._engine.balanced()

    def _acting(self) -> tuple[Array, Array]:
        """Torques (B, m) that act now, and accelerations (B, n) under them and all else."""
        c, x, p = self.composition, self._engine.x, self._engine.p
        whole = x if x.shape[1] == c.size else np.hstack([x, np.zeros((len(x), 1))])
        now, m = np.full(len(x), self.t), self._m
        tau, _, qdd, _ = c.torques(now, whole, np.hstack([p[:, :m], c.series_at(now)]), self._own)
        return tau, qdd

    @property
    def tau(self) -> Array:
        """Torques that act now: those given, the controller's, and what prescribed motion needs."""
        tau, _ = self._acting()
        return tau if self.count is not None else tau[0]

    @property
    def outputs(self) -> Array:
        """Readings of the sensors now, with their noise and quanta: (k,), or (B, k)."""
        c, measured = self.composition, self.measurement
        q, qd = self.state
        qdd = self._acting()[1] if measured.accelerated else np.zeros_like(qd)
        if self.count is None and measured.accelerated:
            qdd = qdd[0]
        own = self._own if self.count is not None else self._own[0]
        y = measured.reading(c.loads, c.base)(np.full(1, self.t), q, qd, qdd, own)
        return measured.add_noise(y, self._rng) if measured.rough else np.asarray(y)

    @property
    def measurement(self) -> Measurement:
        """The sensors that `outputs` reads."""
        if not hasattr(self, "_measured"):
            chosen = self._sensors
            if chosen is None:
                chosen = [*(Encoder(joint) for joint in self.model.joints), TipPosition()]
            self._measured = Measurement(self.model, chosen).require_instant("Stepper")
        return self._measured

    # ------------------------------------------------------------------------------------------------ keeping

    def save(self) -> SavedState:
        """Save time, states, torques, parameters, and the memory of sampled controllers and of the noise of sensors.

        Returns
        -------
        SavedState

        Examples
        --------
        >>> arm = pliant.Stepper(pliant.load("two-link").model(), step=1e-3)
        >>> kept = arm.save()
        >>> arm.step(0.1)
        >>> first = arm.q
        >>> arm.restore(kept)
        >>> arm.step(0.1)
        >>> bool((arm.q == first).all())
        True
        """
        return SavedState(self._of, (self._engine.save(), deepcopy(self._rng.bit_generator.state)))

    def restore(self, saved: SavedState) -> None:
        """Go on from a saved state.

        Parameters
        ----------
        saved : SavedState
            Of this stepper, or of one that was made alike.
        """
        if not isinstance(saved, SavedState) or saved.of != self._of:
            raise ModelError("saved: it is not a state of such a stepper (same model, method, step and controller)")
        engine, noise = saved.kept
        self._engine.restore(engine)
        self._rng.bit_generator.state = deepcopy(noise)

    @property
    def _of(self) -> tuple[object, ...]:
        """Identity of the stepper, to which a saved state must fit."""
        model, controller = self.model, self.composition.controller
        sizes = (self._engine.x.shape[-1], self._engine.p.shape[-1], self.count)
        law = type(controller).__name__
        return (model.robot.name, tuple(model.coordinates), sizes, self.method, self.step_length, law)

    def __repr__(self) -> str:
        arms = f"{self.count} arms, " if self.count is not None else ""
        return f"Stepper({self.model.robot.name}: {arms}{self.method}, t = {self.t:.6g} s)"


def _require_law(drive: TorqueInput) -> None:
    if drive.samples is not None or drive.constant is not None:
        raise UnsupportedModel("controller: got torques, expected a law; give torques to step()")
