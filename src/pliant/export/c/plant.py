"""The plant of a C export: arm, controller, loads and sensors as a state that one function advances by a fixed step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.algebra.tableaux import explicit
from pliant.arrays import Array, StateLike
from pliant.compute.tape.one_sided_time import MARGIN
from pliant.compute.tape.tape import Tape
from pliant.control.controllers.mpc import MPC
from pliant.control.sensing.sensors import Acting, Sensor
from pliant.control.trajectories.splines import LONGEST_WRITTEN
from pliant.errors import ModelError, UnsupportedModel
from pliant.export.c.function import CFunction, c_prototype
from pliant.export.c.memory import FRAME
from pliant.export.c.text import CReal, array
from pliant.export.contents import export_name, template
from pliant.export.typical_states import reference_states
from pliant.integrators.step_control import (
    MOST_CLOSING,
    NEARLY_CLOSED,
    NEARLY_CLOSED_SINGLE,
    SINGULAR,
    SINGULAR_SINGLE,
)
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.protocols import Control, MovingBase
from pliant.simulation.stepper.stepper import Stepper

SAME = 1e-9
"""Part of a step by which a sample time may differ from a multiple of it."""


class CPlant:
    """The arm of a `Stepper` with all that acts on it, as functions in C; `functions` has all, `NAME_step` last."""

    def __init__(
        self, model: Model, real: CReal, step: float, *, controller: Control | None, loads: Sequence[Load] | Load,
        base: MovingBase | None, sensors: Sequence[Sensor] | None, q0: StateLike | None,
        qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None,
    ) -> None:  # fmt: skip
        self.model, self.real, self.step, self.name = model, real, step, export_name(model)
        if isinstance(controller, MPC):
            raise UnsupportedModel(
                "controller: a plant holds no predictive controller; export that without `step` and the plant without "
                f"`controller`, and hand the torques of {self.name}_mpc_step to {self.name}_step"
            )
        sensors = sensors and [replace(sensor, noise=0.0) for sensor in sensors]
        self.stepper = Stepper(
            model, step=step, controller=controller, loads=loads, base=base, sensors=sensors, q0=q0, qd0=qd0,
            limits=False,
        )  # fmt: skip
        self.model = model = self.stepper.model  # of second order where the loads ask for it
        c = self.composition = self.stepper.composition
        if c.series:
            raise UnsupportedModel(
                f"controller, loads, base: a series of {len(c.series[0].pieces)} pieces has no place in the C plant; "
                f"give one of at most {LONGEST_WRITTEN}"
            )
        if controller is not None and c.controller is None:
            raise UnsupportedModel("controller: got a Python function, expected a law of pliant.control")
        self.every = 0 if c.sample_time is None else self._every(float(c.sample_time))
        self.start = c.start(self.stepper.q, self.stepper.qd, np.concatenate([np.zeros(c.m), model.nominal_parameters]))
        self.n = len(self.start) - 1  # the last state is the work, on which nothing depends
        self._trace()

    def _every(self, tick: float) -> int:
        """Steps between two ticks of the sampled controller."""
        every, law = round(tick / self.step), self.composition.controller
        if not self.composition.ticks:
            raise UnsupportedModel(f"controller: a sample of {type(law).__name__} is Python, expected expressions")
        if every < 1 or abs(tick - every * self.step) > SAME * self.step:
            raise ModelError(f"step: got {self.step:g}, expected a part of the {tick:g} s at which the controller acts")
        return every

    # ------------------------------------------------------------------------------------------------- functions

    def _trace(self) -> None:
        c, e, measured = self.composition, self.composition.equations, self.stepper.measurement
        given = {"t": e.t, "x": e.x[: self.n], "tau": e.p[: c.m]}
        acting = Acting(e.t, c.loads, c.base)
        y = measured.rounded(measured.felt(e.q, e.qd, e.qdd, acting))
        self.n_y, self.memory = measured.size, np.zeros(0)
        rates = self._function("state_rates", given, {"xdot": e.xdot[: self.n]})
        self.functions = [rates, self._function("readings", given, {"y": y})]
        if self.every:
            self.memory = c.tick_start
            others, noise, z, torques, following = e.tick
            torques, following = ca.substitute([torques, following], [noise], [ca.SX.zeros(noise.shape)])  # C has none
            outputs = {"held": torques, "following": following}
            self.functions.append(self._function("tick", {**given, "tau": others, "z": z}, outputs))
        if self.model.constraints:
            nearer, moved, least = e.closer()
            closed = ca.vertcat(nearer[: self.n], moved, least)
            self.functions.append(self._function("closing", given, {"closed": closed}))
        frame = FRAME + self.real.bytes * (c.m + len(explicit("rk4").low_storage))
        own = f"void {self.name}_step({self.name}_state *s, const {self.real.name} tau[{max(c.m, 1)}], "
        own += f"{self.real.name} y[{self.n_y}])"
        deepest = max(f.stack for f in self.functions)
        self.functions.append(CFunction(own, [], frame + deepest, 0))
        self.members = self._members()

    def _function(self, name: str, inputs: Mapping[str, SX], outputs: Mapping[str, SX]) -> CFunction:
        """A function of the plant; parameters are a last input `p`."""
        parameters, real = self.model.parameter_symbols, self.real
        given = {**inputs, "p": parameters} if self.model.parameters else dict(inputs)
        found = ca.cse([ca.densify(ca.SX(value)) for value in outputs.values()])
        f = ca.Function(name, list(given.values()), found, list(given), list(outputs))
        sizes = {x: value.numel() for x, value in given.items()}
        shapes = {x: value.shape for x, value in zip(outputs, found)}
        prototype = c_prototype(f"{self.name}_{name}", sizes, shapes, real)
        return CFunction.of(prototype, Tape.from_function(f), list(outputs), {}, real, states=self._states(given))

    def _states(self, given: Mapping[str, SX]) -> Array:
        """Typical inputs: the arm moves, all other states have their start values."""
        known = reference_states(self.model)
        x = np.hstack([known["q"], known["qd"]])
        still = np.tile(self.start[x.shape[1] : self.n], (len(x), 1))
        known |= {"t": np.zeros((len(x), 1)), "x": np.hstack([x, still]), "z": np.tile(self.memory, (len(x), 1))}
        known["tau"] = known["inputs"]
        return np.hstack([known[name] for name in given])

    # ------------------------------------------------------------------------------------------------------ texts

    def _called(self, name: str, *arguments: str) -> str:
        """Call of one of the functions by `step`, which lends them its own memory."""
        f = next(f for f in self.functions if f.name == f"{self.name}_{name}")
        given = [*arguments[:-1], *(["s->p"] if self.model.parameters else []), arguments[-1]]
        return f"{f.name}({', '.join([*given, *([f's->{self._lent(f)}'] if f.work else [])])});"

    def _lent(self, f: CFunction) -> str:
        """The array of the state that a function works in."""
        return "work" if f.lent is self.real else "wide_work"

    def _members(self) -> dict[str, tuple[int, str]]:
        """Arrays of the state: how many numbers, and their meaning."""
        c, n, m = self.composition, self.n, max(self.composition.m, 1)
        members = {"x": (n, ", ".join(c.state_name(k) for k in range(n)))}
        if self.model.parameters:
            members["p"] = len(self.model.parameters), "parameters, which may be changed between steps"
        if self.every:
            members["z"] = len(self.memory), "what the sampled controller remembers"
            members |= {"next": (len(self.memory), "the same for the next tick"), "held": (m, "its torques that act")}
        members |= dict.fromkeys(("at", "rate", "end"), (n, "of a step"))
        if self.model.constraints:
            members["closed"] = n + 2, "a state nearer to closed loops, by how much it was moved, and how regular it is"
        for f in self.functions:
            members[self._lent(f)] = max(f.work, members.get(self._lent(f), (0, ""))[0]), "of its functions"
        return {key: value for key, value in members.items() if value[0]}

    def declarations(self) -> list[str]:
        """Lines of the header."""
        upper, real, name = self.name.upper(), self.real, self.name
        sizes = {"N_STATES": self.n, "N_READINGS": self.n_y, "STEP": real.constant(self.step)}
        lines = [f"#define {upper}_{key} {value}" for key, value in sizes.items()]
        lines += ["", "/* The plant: NAME_init starts it, NAME_step takes it on. */".replace("NAME", name)]
        lines += ["typedef struct {"]
        for key, (size, what) in self.members.items():
            kind = "double" if key == "wide_work" else real.name
            lines += [f"    {kind} {key}[{size}]; /* {what.replace('*/', '* /')} */"]
        lines += ["    unsigned long long steps; /* taken since the start */", f"}} {name}_state;", ""]
        whats = ["rates xdot of the states x under torques tau at the time t", "readings y of the sensors"]
        whats += ["a tick of the controller: its torques, and z for the next"] if self.every else []
        whats += ["a state nearer to closed loops, by how much it moved, and how regular it is"] * len(
            self.model.constraints[:1]
        )
        own = f"A step of {self.step:g} s under torques tau, added to those of the controller; y are the readings then"
        for f, what in zip(self.functions, [*whats, own]):
            lines += f.declaration(what)
        return [*lines, "/* Places a plant at its start. */", f"void {name}_init({name}_state *s);", ""]

    def definitions(self) -> list[str]:
        """Lines of the source."""
        lines = []
        for f in self.functions[:-1]:
            lines += [*f.lines, ""]
        return [*lines, self._step()]

    def _step(self) -> str:
        real, c = self.real, self.composition
        clock, weight, ahead = zip(*explicit("rk4").low_storage)
        starts = {"x": self.start[: self.n], "p": self.model.nominal_parameters}
        starts |= {"z": self.memory, "held": np.zeros(max(c.m, 1))}
        starts = {key: value for key, value in starts.items() if key in self.members}
        init = [f"    {array(f'static const {real.name} {key}', v, real)}" for key, v in starts.items()]
        init += ["    int k;"]
        init += [_each(len(np.ravel(v)), f"s->{key}[k] = {key}[k];") for key, v in starts.items()]
        added = "tau[k] + s->held[k]" if self.every else "tau[k]"
        return template("plant.c.in").substitute(
            name=self.name, real=real.name, init="\n".join(init), m=max(c.m, 1), stages=len(clock), n=self.n,
            declared=self.functions[-1].prototype, step=real.constant(self.step), suffix=real.suffix,
            clock=self._shares(clock), weight=self._shares(weight), ahead=self._shares(ahead),
            margin=real.constant(MARGIN * float(np.finfo(real.kind).eps)), sample=self._tick(), added=added,
            rates=self._called("state_rates", "&now", "s->at", "u", "s->rate"), turns=self._closed() + self._turns(),
            readings=self._called("readings", "&t", "s->x", "u", "y"),
        )  # fmt: skip

    def _shares(self, parts: Iterable[float]) -> str:
        """Parts of a step as constants of C, in s."""
        return ", ".join(self.real.constant(self.step * part) for part in parts)

    def _tick(self) -> str:
        """Lines that let the sampled controller act at its ticks."""
        if not self.every:
            return ""
        every, tick = self.every, self.real.constant(float(self.composition.sample_time or 0.0))
        lines = [
            f"    if (s->steps % {every}U == 0U) {{",
            f"        const {self.real.name} now = {tick} * ({self.real.name})(s->steps / {every}U);",
            f"        {self._called('tick', '&now', 's->x', 'tau', 's->z', 's->held, s->next')}",
            _each(len(self.memory), "s->z[k] = s->next[k];", 2),
        ]
        return "\n".join([*lines, "    }\n"])

    def _closed(self) -> str:
        """Lines that close the loops as runs do; a state that cannot be closed becomes NaN."""
        if not self.model.constraints:
            return ""
        n, real, single = self.n, self.real, self.real.suffix == "f"
        near = real.constant(NEARLY_CLOSED_SINGLE if single else NEARLY_CLOSED)
        singular = real.constant(SINGULAR_SINGLE if single else SINGULAR)
        lines = [
            f"    for (stage = {MOST_CLOSING - 1}; stage >= 0; stage--) {{",
            f"        const {real.name} now = t + {real.constant(self.step)} - margin;",
            "        int near, sound;",
            f"        {self._called('closing', '&now', 's->x', 'u', 's->closed')}",
            f"        near = s->closed[{n}] <= {near};",
            f"        sound = s->closed[{n + 1}] > {singular} && (near || stage > 0);",
            _each(n, f"s->x[k] = sound ? s->closed[k] : ({real.name})NAN;", 2),
            "        if (near || !sound) {",
            "            break;",
            "        }",
            "    }\n",
        ]
        return "\n".join(lines)

    def _turns(self) -> str:
        """Lines that normalize quaternions."""
        lines = []
        for first in self.composition.quaternions:
            squares = " + ".join(f"s->x[{k}]*s->x[{k}]" for k in range(first, first + 4))
            inner = _each(4, f"s->x[{first} + k] /= length;", 2)
            length = f"const {self.real.name} length = sqrt{self.real.suffix}({squares});"
            lines += ["    {", f"        {length}", inner, "    }\n"]
        return "\n".join(lines)

    def reference(self, tau: Array, steps: int) -> tuple[Array, Array]:
        """Coordinates and rates, and readings, after the first steps of `Stepper`."""
        for _ in range(steps):
            self.stepper.step(self.step, tau)
        return np.concatenate(self.stepper.state), self.stepper.outputs

    @property
    def noisy(self) -> bool:
        """Whether a controller reads with noise, which the C plant does not have."""
        measured = getattr(self.composition.controller, "measurement", None)
        return bool(self.every) and measured is not None and bool(measured.noise.any())

    def readme(self) -> str:
        """A paragraph about the plant."""
        return template("readme_plant.md.in").substitute(
            name=self.name, real=self.real.name, m=max(self.composition.m, 1), n_y=self.n_y, step=f"{self.step:g}"
        )


def _each(count: int, statement: str, depth: int = 1) -> str:
    """A C loop over k."""
    inner = "    " * depth
    return f"{inner}for (k = 0; k < {count}; k++) {{\n{inner}    {statement}\n{inner}}}"
