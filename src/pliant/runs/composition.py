"""Dynamics, controller, torques, loads and prescribed motion as one expression xdot = f(t, x, p), compiled once per
combination.

x = [free coordinates, their rates, controller states, friction, roots that the run carries, work done on the arm];
p = [held torques (m), piece of sampled torques (5 m, if any), parameters].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.control.law import Felt, Law
from pliant.derived import Derived, Same, symbolic_property
from pliant.dynamics import equations
from pliant.dynamics.differentials import SolvedColumns, solved_columns, solver
from pliant.dynamics.energies import energies
from pliant.dynamics.forces import bristle_rates, dissipation
from pliant.dynamics.impulse import after_jump
from pliant.dynamics.sliding_roots import carried_roots, without_states
from pliant.errors import ModelError
from pliant.integrate import Problem
from pliant.kernels import Kernel, sides
from pliant.kernels.switches import Switches
from pliant.model import Model
from pliant.model.column_functions import column_function
from pliant.signatures import checked, require_loads

TABLE_WIDTH = 5
"""Numbers a sampled torque holds per joint: the cubic of the piece at hand, and the time it starts."""
LARGEST_RATES = 15_000
"""Instructions of f: beyond, an exact Jacobian, which has some seven times as many, compiles for more than about ten
seconds."""
LARGEST_JACOBIAN = 400_000
"""Instructions of f times states: the same where the accelerations are differentiated through their elimination."""
EDGE = 1e-12
"""Of a run: a break so near to its start or end is no break."""
SAME = 1e-9
"""Of a position or a rate on either side of a break: more than round-off."""


@checked
@dataclass(frozen=True)
class Event:
    """A condition g(t, q, qd), in CasADi operations, whose zero crossing is found exactly on the dense output.

    `direction` is +1 for rising, -1 for falling, 0 for both; `stop` ends the run there.

    Parameters
    ----------
    name : str
        By which the result names it.
    condition : function
        g(t, q, qd) in CasADi operations.
    direction : int
        +1 for rising, -1 for falling, 0 for both.
    stop : bool
        End the run there.
    fatal : bool
        Count that end as a failure of the run.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> falls = pliant.Event("fallen", lambda t, q, qd: q[0] + 0.1, direction=-1)
    >>> result = pliant.simulate(model, 1.0, events=[falls])
    >>> result.stats.status, round(float(result.q[-1, 0]), 9)
    ('event', -0.1)
    """

    name: str
    condition: Callable[[Any, Any, Any], Any]
    direction: int = 0
    stop: bool = True
    fatal: bool = False


def compose(
    model: Model,
    torque: Any,
    controller: Any,
    motion: Mapping[str, Any],
    loads: tuple[Any, ...],
    base: Any,
    has_table: bool,
) -> Composition:
    """The composition of these parts, from the model's last few if they are the same objects."""
    require_loads(loads if base is None else (*loads, base))
    paths = tuple((name, Same(path)) for name, path in sorted(motion.items(), key=lambda item: item[0]))
    key = (*map(Same, (torque, controller, base)), paths, tuple(map(Same, loads)), has_table)
    return model.derived(
        "compositions", key,
        lambda: Composition(
            model, torque, controller.bind(model) if hasattr(controller, "bind") else controller, dict(motion), loads,
            base, has_table,
        ),
    )  # fmt: skip


class Composition:
    """The composed equations and the functions that read a run of them.

    Expressions in the symbols `t`, `x` and `p`: all coordinates `q`, their rates `qd` and accelerations `qdd`, the
    torques `tau` that act, the `residual` of power, and the rate `xdot` of the state.
    """

    def __init__(
        self,
        model: Model,
        torque: Any,
        controller: Any,
        motion: dict[str, Any],
        loads: tuple[Any, ...],
        base: Any,
        has_table: bool,
    ) -> None:
        self.model, self.torque, self.controller, self.has_table = model, torque, controller, has_table
        self.derived = Derived()
        self.n, self.m = model.n, model.n_joints
        self.t = ca.SX.sym("t")
        self.paths = {_prescribed_index(model, name): _path(name, path, self.t) for name, path in motion.items()}
        self.motion, self.loads, self.base = motion, loads, base
        self.free = [k for k in range(self.n) if k not in self.paths]
        held = {model.chain.speeds[k] for k in self.paths}
        self.free_places = [k for k, name in enumerate(model.coordinates) if name not in held]
        self.n_q, self.moving = model.n_q, len(self.free_places) + len(self.free)
        self.quaternions = tuple(self.free_places.index(k) for k in model.layout.quaternions)
        self.sample_time = getattr(controller, "sample_time", None)
        self.n_states = 0 if self.sample_time is not None else int(getattr(controller, "n_states", 0))
        self._build(torque, loads, base)

    # ------------------------------------------------------------------------------------ expressions

    def _build(self, torque: Any, loads: tuple[Any, ...], base: Any) -> None:
        n, m, t = self.n, self.m, self.t
        formulation = self.model.equations.formulation
        self.roots = (carried_roots if self.model.options.roots == "integrated" else without_states)(self.model.chain)
        still = chain = self.roots.chain
        if base is not None:
            chain = chain.on(base, t)
        eq = equations(chain, formulation)
        self.n_bristles = len(chain.bristled)
        self.x = ca.SX.sym("x", self.moving + self.n_states + self.n_bristles + self.roots.size + 1)
        inputs = ca.SX.sym("u", m * (1 + TABLE_WIDTH if self.has_table else 1))
        self.p = ca.vertcat(inputs, self.model.parameter_symbols)
        q, qd, held = self._coordinates(self.x)
        ends = np.cumsum([self.moving, self.n_states, self.n_bristles, self.roots.size]).tolist()
        z, bristles, beta = (self.x[first:last] for first, last in pairwise(ends))
        tau = inputs[:m]
        if self.has_table:
            pieces = [inputs[k * m : (k + 1) * m] for k in range(1, TABLE_WIDTH + 1)]
            since = t - pieces[-1]
            tau = tau + pieces[0] + since * (pieces[1] + since * (pieces[2] + since * pieces[3]))
        if torque is not None:
            tau = tau + _column(torque.expression(t, q, qd), m, "torque.expression")
        extra = sum((_load_forces(load, chain, t, q, qd) for load in loads), ca.SX.zeros(n))
        S, others = chain.actuation(), tau

        def accelerations(command: Any) -> Any:
            return eq.accelerations(q, qd, ca.mtimes(S, others + command) + extra, held, bristles)

        command, z_rate = ca.SX.zeros(m), ca.SX(0, 1)
        if self.controller is not None and self.sample_time is None:
            if isinstance(self.controller, Law):
                self.controller = self.controller.acting(Felt(loads, base, accelerations))
            if self.n_states:
                command, z_rate = self.controller.expression(t, q, qd, z)
            else:
                command = self.controller.expression(t, q, qd)
            command = _column(command, m, "controller.expression")
        qdd, tau = accelerations(command), others + command
        force = ca.mtimes(S, tau)
        self._solved = partial(self._jacobian_columns, eq, q, qd, qdd, force + extra, bristles)
        self._stuck = partial(self._load_of_bristles, eq, q, qd, force + extra, held)
        self._residual = partial(_residual, eq, q, qd, force + extra, bristles)
        if held:  # what prescribes a coordinate acts on it, whatever else is given for it
            needed = eq.inverse_dynamics(q, qd, qdd, bristles) - extra
            force[list(held)] = needed[list(held)]
            tau = self._needed_torque(chain, tau, needed)
        working = force + extra - dissipation(chain, q, qd, bristles)
        if base is not None:  # energies are those an observer on the base sees, for whom its motion does work
            at_rest = equations(still, formulation)
            for sign, side in ((1, at_rest), (-1, eq)):
                working += sign * side.formulation.inertial_forces(side.chain, q, qd)
        power = ca.dot(working, qd)
        E = ca.sum1(energies(chain, q_symbol := ca.SX.sym("q", self.n_q), qd_symbol := ca.SX.sym("qd", n)))
        rates = chain.rates(q, qd)
        gained = ca.jtimes(E, ca.vertcat(q_symbol, qd_symbol), ca.vertcat(rates, qdd))
        residual = ca.substitute(gained, ca.vertcat(q_symbol, qd_symbol), ca.vertcat(q, qd)) - power
        moving = ca.vertcat(rates[self.free_places], qdd[self.free]) if self.free else ca.SX(0, 1)
        xdot = ca.vertcat(
            moving, z_rate, bristle_rates(chain, qd, bristles), self.roots.rates(beta, q, qd), power
        )  # fmt: skip
        self.q, self.qd = q, qd
        self.residual, self.qdd, self.tau, self.xdot = self.roots.closed([residual, qdd, tau, xdot], beta, q)

    def _coordinates(self, x: Any) -> tuple[Any, Any, dict[int, Any]]:
        """All coordinates and rates from the free ones and the prescribed paths, and prescribed accelerations."""
        f = len(self.free_places)
        q, qd, held = ca.SX.zeros(self.n_q), ca.SX.zeros(self.n), {}
        if self.free:
            q[self.free_places], qd[self.free] = x[:f], x[f : self.moving]
        for index, path in self.paths.items():
            rate = ca.jacobian(path, self.t)
            q[self.place(index)], qd[index], held[index] = path, rate, ca.densify(ca.jacobian(rate, self.t))
        return ca.densify(q), ca.densify(qd), held  # a joint that is held still has no rate at all

    def place(self, index: int) -> int:
        """Place of a prescribed coordinate, from the number of its speed."""
        return self.model.index(self.model.speeds[index])

    def _needed_torque(self, chain: Any, tau: Any, needed: Any) -> Any:
        """Torques with, for prescribed joints and motors, what their motion needs: of a joint and its motor the sum."""
        tau = ca.SX(tau)
        for joint, shaft in enumerate(chain.shafts):
            moved = {shaft.actuated, shaft.index} & set(self.paths)
            if moved:
                tau[joint] = sum(needed[index] for index in sorted(moved))
        return tau

    def _load_of_bristles(self, eq: Any, q: Any, qd: Any, applied: Any, held: dict[int, Any]) -> Any:
        """States of friction at a start: at rest they carry the arm as far as they can, in motion they slip."""
        free, shafts = ca.SX.zeros(self.n_bristles), eq.chain.bristled
        loaded = [shaft.index for shaft in shafts if shaft.index not in held]
        qdd = eq.accelerations(q, qd, applied, {**held, **dict.fromkeys(loaded, ca.SX(0))}, free)
        load = applied - eq.inverse_dynamics(q, qd, qdd, free)
        states = []
        for shaft in shafts:
            rate = qd[shaft.index]
            level = shaft.coulomb.level
            carried = ca.if_else(level > 0, load[shaft.index] / level, 0) if shaft.index in loaded else ca.SX(0)
            slips = ca.fabs(rate) > shaft.coulomb.width
            states.append(ca.if_else(slips, ca.sign(rate), ca.fmin(ca.fmax(carried, -1), 1)))
        return ca.vertcat(*states)

    @symbolic_property
    def loaded(self) -> Any:
        """States of friction at a start, an expression in t, x and p."""
        beta = self.x[self.moving + self.n_states + self.n_bristles : -1]
        return self.roots.closed([self._stuck()], beta, self.q)[0]

    def against(self, v: Any, others: Any, v_others: Any, by: Any) -> Any:
        """v^T times the derivatives of the accelerations, plus v_others^T times those of other expressions, by symbols.

        Accelerations a solve r(x, a) = forces - inverse dynamics = 0, so that v^T da/dx = y^T dr/dx with M y = v: only
        r is differentiated, not the elimination that solves it. Where this does not hold (`implicit`), all is.
        """
        if not self.implicit:
            return ca.jtimes(ca.vertcat(self.qdd[self.free], others), by, ca.vertcat(v, v_others), True)
        a, y = ca.SX.sym("a", self.n), ca.SX.sym("y", self.n)
        residual, solution = self._residual(a, v)
        found = ca.jtimes(ca.vertcat(residual, others), by, ca.vertcat(y, v_others), True)
        return ca.substitute([found], [a, y], [ca.densify(self.qdd), solution])[0]

    # ---------------------------------------------------------------------------------------- running

    def _function(self, name: str, outputs: list[Any]) -> Any:
        return ca.Function(
            name,
            [self.t, self.x, self.p],
            ca.cse([ca.densify(ca.SX(o)) for o in outputs]),
            ["t", "x", "p"],
            [f"o{k}" for k in range(len(outputs))],
        )

    @symbolic_property
    def function(self) -> Any:
        """f as a CasADi function."""
        return self._function("rhs", [self.xdot])

    @symbolic_property
    def rhs(self) -> Kernel:
        """f(t, x, p)."""
        return Kernel(self.function)

    @symbolic_property
    def _switches(self) -> Switches:
        others = [symbol for symbol in ca.symvar(self.xdot) if not ca.is_equal(symbol, self.t)]
        return Switches.of(ca.Function("rates", [self.t, ca.vertcat(*others)], [ca.densify(self.xdot)]))

    @property
    def implicit(self) -> bool:
        """Whether df/dx follows from inverse dynamics: nothing is prescribed, no roots are carried, and no joint has a
        quaternion, of whose length the two ways take a different view."""
        return self.model.layout.plain and not (self.paths or self.roots.size)

    def _jacobian_columns(self, eq: Any, q: Any, qd: Any, qdd: Any, applied: Any, bristles: Any) -> SolvedColumns:
        """df/dx and df/dt with the accelerations' rows solved for: M dqdd = d(applied) - d(inverse dynamics)."""
        by, at, f = (self.x, self.t), ca.SX.sym("qdd", self.n), len(self.free_places)
        residual = applied - eq.inverse_dynamics(q, qd, at, bristles)
        (columns,) = ca.substitute([ca.horzcat(*(ca.jacobian(residual, z) for z in by))], [at], [qdd])
        above, below = ([ca.jacobian(part, z) for z in by] for part in (self.xdot[:f], self.xdot[self.moving :]))
        size = self.x.shape[0]
        own = [above[0], below[0], above[1], below[1]]
        return solved_columns(
            own, solver(eq, q), ca.horzsplit(columns, [0, size, size + 1]), order=((0, 4, 1), (2, 5, 3))
        )

    @symbolic_property
    def jacobian(self) -> Kernel:
        """df/dx and df/dt, exact."""
        if self.implicit:
            return Kernel(column_function("jacobian", {"t": self.t, "x": self.x, "p": self.p}, self._solved()))
        return Kernel(self._function("jacobian", [ca.jacobian(self.xdot, self.x), ca.jacobian(self.xdot, self.t)]))

    def problem(self) -> Problem:
        """What the steppers integrate; a Jacobian that would take long to compile is left to differences."""
        size, length = self.x.shape[0], self.rhs.function.n_instructions()
        exact = length <= LARGEST_RATES if self.implicit else length * size < LARGEST_JACOBIAN
        return Problem(
            self.rhs.address, size, self.p.shape[0], (lambda: self.jacobian.address) if exact else None,
            len(self.free) if self.model.layout.plain else 0, lambda: self.function, self, self.quaternions,
        )  # fmt: skip

    def tolerances(self, atol: float) -> Array:
        """Absolute tolerance of each state: work is a quadrature and holds no step back, unless it is all there is."""
        out = np.full(self.x.shape[0], float(atol))
        if len(out) > 1:
            out[-1] = np.inf
        return out

    def start(self, q0: Array, qd0: Array, p: Array | None = None) -> Array:
        """Initial state; prescribed coordinates start on their paths whatever `q0` says. Under inputs `p`, friction
        starts loaded as the arm asks."""
        z0 = np.zeros(self.n_states)
        if self.n_states and hasattr(self.controller, "initial_state"):
            z0 = np.asarray(self.controller.initial_state, dtype=float)
        q = np.array(q0, dtype=float)
        q[[self.place(k) for k in self.paths]] = [position for position, _ in self.on_paths.values()]
        roots, bristles = self.roots.start(q), np.zeros(self.n_bristles)
        x = np.concatenate([q0[self.free_places], qd0[self.free], z0, bristles, roots, [0.0]])
        if self.n_bristles and p is not None:
            first = self.moving + self.n_states
            load = Kernel(self._function("load", [self.loaded]), "vm")
            x[first : first + self.n_bristles] = load(np.zeros(1), x, p)
        return x

    @symbolic_property
    def on_paths(self) -> dict[int, tuple[float, float]]:
        """Position and rate of the prescribed coordinates at the start."""
        paths = [ca.vertcat(path, ca.jacobian(path, self.t)) for path in self.paths.values()]
        found = ca.Function("paths", [self.t], [ca.densify(ca.horzcat(ca.SX(2, 0), *paths))])(float(sides.after(0.0)))
        return dict(zip(self.paths, map(tuple, np.array(found, dtype=float).T.tolist())))

    def breaks(self, t_end: float, declared: Sequence[float] = ()) -> Array:
        """Times at which f is not smooth, so that steps end there: declared by the caller or by a part, or read from
        the comparisons of the time in f itself."""
        found = [float(b) for b in declared]
        for part in (*self.motion.values(), self.torque, self.controller, *self.loads, self.base):
            found += [float(b) for b in getattr(part, "breaks", ())]
        found = [*found, *self._switches.until(t_end)]
        edge = EDGE * t_end
        return np.unique([b for b in found if edge < b < t_end - edge])

    def impulses(self, breaks: Array) -> Impulses:
        """Where prescribed rates jump, of these times."""
        if not self.paths or not len(breaks):
            return Impulses.none(len(self.paths))
        path = ca.vertcat(*self.paths.values())
        rate = ca.jacobian(path, self.t)
        motion = ca.Function("motion", [self.t], [path, rate, ca.densify(ca.jacobian(rate, self.t))])
        early, late = sides.before(breaks), sides.after(breaks)
        x0, v0, a0 = (np.array(a).T for a in motion(early[None]))
        x1, v1, a1 = (np.array(a).T for a in motion(late[None]))
        between = (late - early)[:, None]
        for at, k in np.argwhere(_jumps(x0, x1, between * (np.abs(v0) + np.abs(v1)))):
            name = self.model.speeds[list(self.paths)[k]]
            raise ModelError(
                f"motion[{name!r}]: jumps from {x0[at, k]:.6g} to {x1[at, k]:.6g} at t = {breaks[at]:.6g} s; a "
                "prescribed coordinate has to be continuous (its rate may jump)"
            )
        found = _jumps(v0, v1, between * (np.abs(a0) + np.abs(a1))).any(axis=1)
        return Impulses(breaks[found], v0[found], v1[found])

    def after_impulse(self, before: Any, after: Any) -> Any:
        """The state behind a jump of the prescribed rates from `before` to `after`, an expression in t, x and p."""
        f, qd = len(self.free_places), ca.SX(self.qd)
        qd[list(self.paths)] = before
        jumps = dict(zip(self.paths, ca.vertsplit(after - before)))
        rates, work = after_jump(self.model.equations, self.q, qd, jumps)
        return ca.vertcat(self.x[:f], rates[self.free], self.x[self.moving : -1], self.x[-1] + work)

    @symbolic_property
    def impulse_kernel(self) -> Kernel:
        """The state behind a jump, a function of t, x, p and the prescribed rates before and after."""
        rates = [ca.SX.sym(name, len(self.paths)) for name in ("before", "after")]
        arguments = [self.t, self.x, self.p, *rates]
        return Kernel(ca.Function("impulse", arguments, [ca.densify(self.after_impulse(*rates))]), "vm")

    def sampler(self) -> Callable[[float, Array, Array], Array] | None:
        """The sampled controller as a function called at its sample times; fresh, because it may have a memory."""
        if self.controller is None or self.sample_time is None:
            return None
        sampler: Callable[[float, Array, Array], Array] = self.controller.sampler()
        return sampler

    def event_kernel(self, events: tuple[Event, ...]) -> Kernel:
        """g(t, x, p) of all events."""
        g = ca.vertcat(*(event.condition(self.t, self.q, self.qd) for event in events))
        return Kernel(self._function("events", [g]))

    # ---------------------------------------------------------------------------------------- reading

    @symbolic_property
    def _coordinate_kernel(self) -> Kernel:
        return Kernel(self._function("coordinates", [self.q, self.qd]), "vm")

    def full_state(self, t: float, x: Array) -> tuple[Array, Array]:
        """All coordinates and rates of one state."""
        if not self.paths:
            return x[: self.n_q].copy(), x[self.n_q : self.moving].copy()
        q, qd = self._coordinate_kernel(np.array([t]), x, np.zeros(self.p.shape[0]))
        return q, qd

    def histories(self, t: Array, x: Array) -> tuple[Array, Array, Array]:
        """q (N, n_q), qd (N, n), and controller states, carried roots and work (N, ...)."""
        rest = x[:, self.moving :]
        if not self.paths:
            return x[:, : self.n_q].copy(), x[:, self.n_q : self.moving].copy(), rest
        q, qd = self._coordinate_kernel(t[:, None], x, np.zeros(self.p.shape[0]))
        return q, qd, rest

    @symbolic_property
    def _torque_kernel(self) -> Kernel:
        return Kernel(self._function("torques", [self.tau, self.residual, self.qdd]), "vm")

    def torques(self, t: Array, x: Array, inputs: Array, parameters: Array) -> tuple[Array, Array, Array]:
        """(N, m) torques that acted, or that prescribed motion needed, the power residual (N,), accelerations (N, n).

        The residual is dE/dt with the formulation's own accelerations, less the power of torques, loads and dampers.
        """
        p = np.hstack([inputs, np.tile(parameters, (len(t), 1))])
        tau, residual, qdd = self._torque_kernel(t[:, None], x, p)
        shapes = (len(t), self.m), (len(t),), (len(t), self.n)
        tau, residual, qdd = (np.asarray(a).reshape(shape) for a, shape in zip((tau, residual, qdd), shapes))
        return tau, residual, qdd

    def state_name(self, index: int) -> str:
        """Name of a component of the state, for messages."""
        f = len(self.free_places)
        if index < self.moving:
            if index < f:
                return self.model.coordinates[self.free_places[index]]
            return f"{self.model.speeds[self.free[index - f]]} (rate)"
        if index == self.x.shape[0] - 1:
            return "work"
        names = [f"controller state {k + 1}" for k in range(self.n_states)]
        names += [f"{link.name} (friction)" for link in self.roots.chain.bristled]
        return [*names, *self.roots.names][index - self.moving]


@dataclass(frozen=True)
class Impulses:
    """Times at which prescribed rates jump, and these rates (K, paths) before and after."""

    times: Array
    before: Array
    after: Array

    @classmethod
    def none(cls, paths: int) -> Impulses:
        """No jump at all."""
        return cls(np.empty(0), np.empty((0, paths)), np.empty((0, paths)))

    def behind(self, t: Array) -> Array:
        """Times, those of an impulse moved behind it."""
        return np.where(np.isin(t, self.times), sides.after(t), t)


def _jumps(before: Array, after: Array, moved: Array) -> Any:
    """Where two values, some roundings of the time apart, differ by more than it `moved` in that time."""
    return np.abs(after - before) > moved + SAME * np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))


def _residual(eq: Any, q: Any, qd: Any, applied: Any, bristles: Any, a: Any, v: Any) -> tuple[Any, Any]:
    """Forces that accelerations `a` leave over, and y of M y = v by the factors of the accelerations themselves."""
    force = ca.SX.sym("force", a.shape[0])
    y = ca.jtimes(eq.accelerations(q, qd, force, {}, bristles), force, v)
    residual = applied - eq.inverse_dynamics(q, qd, a, bristles)
    return residual, ca.densify(ca.substitute([ca.densify(y)], [force], [ca.densify(applied)])[0])


def _prescribed_index(model: Model, name: str) -> int:
    allowed = [shaft.name for shaft in model.chain.shafts if shaft.place is not None]
    allowed += [name for name in model.coordinates if name.endswith(".motor")]
    if name not in allowed:
        raise ModelError(f"motion: {name!r} is not a joint or a motor; expected one of {', '.join(allowed)}")
    return model.speed_index(name)


def _path(name: str, path: Any, t: Any) -> Any:
    """Position of a prescribed coordinate as an expression of time."""
    try:
        value = path.expression(t) if hasattr(path, "expression") else path(t)
        value = ca.SX(value)
    except Exception as error:
        raise ModelError(
            f"motion[{name!r}]: expected a trajectory or a function of t in CasADi operations that returns a position; "
            f"it raised {error}"
        ) from error
    if value.shape != (1, 1):
        raise ModelError(
            f"motion[{name!r}]: shape {value.shape}; expected one position (give one trajectory per joint)"
        )
    return value


def _load_forces(load: Any, chain: Any, t: Any, q: Any, qd: Any) -> Any:
    """Generalised forces of a load as a column."""
    if not hasattr(load, "expression"):
        raise ModelError(f"loads: got {type(load).__name__}, expected objects of pliant.loads such as Wrench(...)")
    value = ca.SX(load.expression(chain, t, q, qd))
    if value.shape != (chain.n, 1):
        raise ModelError(f"loads: {type(load).__name__}.expression has shape {value.shape}; expected {chain.n} forces")
    return value


def _column(value: Any, m: int, name: str) -> Any:
    if isinstance(value, list | tuple):
        value = ca.vertcat(*value)
    value = ca.SX(value)
    if value.shape == (1, m) and m > 1:
        value = value.T
    if value.shape != (m, 1):
        raise ModelError(f"{name}: shape {value.shape}; expected {m} torques")
    return value
