"""Dynamics, controller, torques, loads and prescribed motion of a composition as CasADi expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.base.derived import symbolic_property
from pliant.compute.tape.switches import Switches
from pliant.compute.tape.time_inputs import time_inputs
from pliant.control.controllers.controller import Felt, Law, opened
from pliant.control.trajectories.trajectories import RUN_TIME, looking_up
from pliant.errors import ModelError
from pliant.mechanics.constraints.gaps import approaches
from pliant.mechanics.constraints.impulse import after_jump
from pliant.mechanics.derivatives.differentials import SolvedColumns, acceleration_slopes, solved_columns
from pliant.mechanics.formulations.energies import energies
from pliant.mechanics.formulations.generalized_forces import (
    applied_forces,
    dissipation,
    drive_rates,
    drive_start,
    torques,
)
from pliant.mechanics.formulations.motion_equations import by_kinds, holding_pushes
from pliant.mechanics.formulations.registry import equations
from pliant.mechanics.sliding.sliding_roots import carried_roots, without_states
from pliant.model.column_functions import column_function
from pliant.simulation.runs.composition import TABLE_WIDTH, Composition, Event


class ComposedTick(NamedTuple):
    """A tick of a sampled controller: its `torques`, to which `others` are added, and what it remembers behind it, in
    symbols of these, of noise and of its memory."""

    others: Any
    noise: Any
    memory: Any
    torques: Any
    following: Any


class ComposedEquations:
    """Expressions in the symbols `t`, `x` and `p`: all coordinates `q`, their rates `qd` and accelerations `qdd`, the
    torques `tau` that act, the `residual` of power, and the rate `xdot` of the state."""

    def __init__(self, composition: Composition) -> None:
        c = self.composition = composition
        self.t = ca.SX.sym(RUN_TIME if c.series else "t")
        law, motion = c.controller, c.motion
        self._given: Any = None
        if c.given.size:
            (law, motion), self._given = opened((law, motion))
        self._numbers: list[Any] = []
        self._values: list[Any] = []
        with looking_up(c.series):
            paths = {index: path_of(name, motion[name], self.t) for index, (name, _) in c.prescribed.items()}
            self.paths = dict(zip(paths, self._prepared(list(paths.values()))))
            self._build(c.torque, law, c.loads, c.base)

    def _prepared(self, found: list[Any]) -> list[Any]:
        """Expressions with inputs in place of what follows from tunable numbers alone, such as the weight of the arm at
        a goal: it is computed once for a run. Calls that links of a long arm share are not looked into."""
        if self._given is None or not found:
            return found
        if self.composition.model.chain.long:
            self._numbers = self._values = [self._given]
            return found
        found, symbols, values = ca.extract_parametric(found, self._given, {"extract_trivial": True})
        self._numbers += symbols
        self._values += values
        return list(found)

    def numbers(self) -> Any:
        """The inputs that follow from tunable numbers, as a function of these."""
        return ca.Function("numbers", [self._given], [ca.vertcat(ca.SX(0, 1), *self._values)])

    def _build(self, torque: Any, controller: Any, loads: tuple[Any, ...], base: Any) -> None:
        c, t, model = self.composition, self.t, self.composition.model
        n, m, formulation = c.n, c.m, model.equations.formulation
        self.roots = (carried_roots if model.options.roots == "integrated" else without_states)(model.chain)
        still = chain = self.roots.chain
        if base is not None:
            chain = chain.on(base, t)
        eq = equations(chain, formulation)
        sizes = (c.moving, c.n_states, c.n_drive_states, int(self.roots.size))
        self.x = ca.SX.sym("x", sum(sizes) + 1)
        inputs = ca.SX.sym("u", m * (1 + TABLE_WIDTH if c.has_table else 1))
        q, qd, held = self._coordinates(self.x)
        ends = np.cumsum(sizes).tolist()
        z, drives, beta = (self.x[first:last] for first, last in pairwise(ends))
        tau = inputs[:m]
        if c.has_table:
            pieces = [inputs[k * m : (k + 1) * m] for k in range(1, TABLE_WIDTH + 1)]
            since = t - pieces[-1]
            tau = tau + pieces[0] + since * (pieces[1] + since * (pieces[2] + since * pieces[3]))
        if torque is not None:
            tau = tau + _column(torque.expression(t, q, qd), m, "torque.expression")
        extra = sum((_load_forces(load, chain, t, q, qd) for load in loads), ca.SX.zeros(n))
        others = tau

        def constrained(command: Any) -> Any:
            force = applied_forces(chain, q, torques(chain, others + command, qd, drives)) + extra
            return by_kinds(eq, lambda e: e.constrained(q, qd, force, held, drives))

        command, z_rate = ca.SX.zeros(m), ca.SX(0, 1)
        if controller is not None and c.sample_time is None:
            if isinstance(controller, Law):
                controller = controller.acting(Felt(loads, base, lambda command: constrained(command).qdd))
            if c.n_states:
                command, z_rate = controller.expression(t, q, qd, z)
            else:
                command = controller.expression(t, q, qd)
            command, z_rate = self._prepared(
                [_column(command, m, "controller.expression", chain.n_joints), ca.SX(z_rate)]
            )
        if c.ticks:
            self.tick = self._ticked(
                controller, q, qd, inputs[:m], lambda: self.roots.closed([constrained(0).qdd], beta, q)[0]
            )
        self.p = ca.vertcat(inputs, *(one.held for one in c.series), *self._numbers, model.parameter_symbols)
        found, self.command = constrained(command), others + command
        qdd, self.multipliers = found.qdd, ca.densify(found.multipliers)
        self._closing = partial(self._closed, eq, q, qd, held)
        tau = torques(chain, self.command, qd, drives)
        force: Any = applied_forces(chain, q, tau)
        self._solved = partial(self._jacobian_columns, eq, q, qd, qdd, force + extra, drives)
        self._stuck = partial(self._loaded_drives, eq, q, qd, extra, held)
        self._residual = partial(_residual, eq, q, qd, force + extra, drives)
        if held:  # what prescribes a coordinate acts on it, whatever else is given for it
            needed = eq.tree_forces(q, qd, qdd, drives) - found.forces - extra
            force[list(held)] = needed[list(held)]
            tau = self._needed_torque(chain, tau, needed)
        working = force + extra - dissipation(chain, q, qd, drives)
        if base is not None:  # energies are those an observer on the base sees, for whom its motion does work
            at_rest = equations(still, formulation)
            for sign, side in ((1, at_rest), (-1, eq)):
                working += sign * side.formulation.inertial_forces(side.chain, q, qd)
        power = ca.dot(working, qd)
        rates = chain.rates(q, qd)

        def unbalanced() -> Any:
            E = ca.sum1(energies(chain, q_symbol := ca.SX.sym("q", c.n_q), qd_symbol := ca.SX.sym("qd", n)))
            gained = ca.jtimes(E, ca.vertcat(q_symbol, qd_symbol), ca.vertcat(rates, qdd))
            residual = ca.substitute(gained, ca.vertcat(q_symbol, qd_symbol), ca.vertcat(q, qd)) - power
            return self.roots.closed([residual], beta, q)[0]

        self._unbalanced = unbalanced
        moving = ca.vertcat(rates[c.free_places], qdd[c.free]) if c.free else ca.SX(0, 1)
        xdot = ca.vertcat(
            moving, z_rate, drive_rates(chain, q, qd, drives, self.command), self.roots.rates(beta, q, qd), power
        )  # fmt: skip
        self.q, self.qd = q, qd
        self.qdd, self.tau, self.xdot = self.roots.closed([qdd, tau, xdot], beta, q)

    @symbolic_property
    def residual(self) -> Any:
        """Power that the energies gain less what is fed in."""
        return self._unbalanced()

    def _coordinates(self, x: Any) -> tuple[Any, Any, dict[int, Any]]:
        """All coordinates and rates from the free ones and the prescribed paths, and prescribed accelerations."""
        c, f = self.composition, len(self.composition.free_places)
        q, qd, held = ca.SX.zeros(c.n_q), ca.SX.zeros(c.n), {}
        if c.free:
            q[c.free_places], qd[c.free] = x[:f], x[f : c.moving]
        for index, path in self.paths.items():
            rate = ca.jacobian(path, self.t)
            q[c.place(index)], qd[index], held[index] = path, rate, ca.densify(ca.jacobian(rate, self.t))
        return ca.densify(q), ca.densify(qd), held  # a joint that is held still has no rate at all

    def _ticked(self, controller: Any, q: Any, qd: Any, acting: Any, accelerations: Callable[[], Any]) -> ComposedTick:
        """A tick of a sampled controller; its sensors feel accelerations under what has acted until then."""
        c, m = self.composition, self.composition.m
        joints, others = c.model.chain.n_joints, ca.SX.sym("others", m)

        def under(command: Any) -> Any:
            torque = others + _column(command, m, "controller", joints)
            return ca.substitute([accelerations()], [acting], [torque])[0]

        tick = controller.ticking(self.t, q, qd, Felt(c.loads, c.base, under))
        found = [_column(tick.torques, m, "controller", joints), ca.SX(tick.following)]
        return ComposedTick(others, tick.noise, tick.memory, *self._prepared(found))

    def tick_function(self) -> Any:
        """Held torques and memory behind a tick, as a function of t, x, p, noise and memory, which begins with the
        other torques."""
        others, noise, memory, torques, following = self.tick
        found = ca.cse([ca.densify(others + torques), ca.densify(ca.vertcat(others, following))])
        return ca.Function("tick", [self.t, self.x, self.p, noise, ca.vertcat(others, memory)], found)

    def _needed_torque(self, chain: Any, tau: Any, needed: Any) -> Any:
        """Torques with, for prescribed joints and motors, what their motion needs: of a joint and its motor the sum."""
        tau = ca.SX(tau)
        for joint, shaft in enumerate(chain.shafts):
            moved = {shaft.actuated, shaft.index} & set(self.paths)
            if moved:
                tau[joint] = sum(needed[index] for index in sorted(moved))
        return tau

    def _loaded_drives(self, eq: Any, q: Any, qd: Any, extra: Any, held: dict[int, Any]) -> Any:
        """States of drives at a start: friction carries an arm at rest as far as it can, and slips in motion;
        amplifiers stand at the command."""
        chain = eq.chain
        free = drive_start(chain, q, qd, ca.SX.zeros(chain.n), self.command)
        acting = torques(chain, self.command, qd, free)
        pushed = holding_pushes(
            eq, q, qd, applied_forces(chain, q, acting) + extra, held, free, acting[chain.n_joints :, :]
        )
        applied = applied_forces(chain, q, ca.vertcat(acting[: chain.n_joints, :], pushed)) + extra
        rubbed = {placed.indices for shaft in chain.all_shafts for placed in shaft.laws if placed.states}
        stuck = {indices[0]: ca.SX(0) for indices in rubbed if len(indices) == 1 and indices[0] not in held}
        found = eq.constrained(q, qd, applied, {**held, **dict(sorted(stuck.items()))}, free)
        load = applied + found.forces - eq.tree_forces(q, qd, found.qdd, free)
        load[list(held)] = 0
        return drive_start(chain, q, qd, load, self.command, pushed)

    @symbolic_property
    def loaded(self) -> Any:
        """States of drives at a start, an expression in t, x and p."""
        c = self.composition
        beta = self.x[c.moving + c.n_states + c.n_drive_states : -1]
        return self.roots.closed([self._stuck()], beta, self.q)[0]

    def against(self, v: Any, others: Any, v_others: Any, by: Any) -> Any:
        """v^T times the derivatives of the accelerations, plus v_others^T times those of other expressions, by symbols.

        Accelerations a solve r(x, a) = forces - inverse dynamics = 0, so that v^T da/dx = y^T dr/dx with M y = v: only
        r is differentiated, not the elimination that solves it. Where this does not hold (`Composition.implicit`), all
        is.
        """
        c = self.composition
        if not c.implicit:
            return ca.jtimes(ca.vertcat(self.qdd[c.free], others), by, ca.vertcat(v, v_others), True)
        a, y = ca.SX.sym("a", c.n), ca.SX.sym("y", c.n)
        residual, solution = self._residual(a, v)
        found = ca.jtimes(ca.vertcat(residual, others), by, ca.vertcat(y, v_others), True)
        return ca.substitute([found], [a, y], [ca.densify(self.qdd), solution])[0]

    def read(self, name: str, what: Sequence[str]) -> Any:
        """Some of these expressions as a function of t, x and p."""
        return self._function(name, [getattr(self, each) for each in what])

    def events(self, events: Sequence[Event]) -> Any:
        """g(t, x, p) of all events."""
        chain, given = self.composition.model.chain, (self.t, self.q, self.qd)
        asked = (((chain,) if hasattr(g.condition, "of_arm") else (), g.condition) for g in events)
        return self._function("events", [ca.vertcat(*(condition(*given, *arm) for arm, condition in asked))])

    @symbolic_property
    def switches(self) -> Switches:
        """Times at which f switches."""
        others = [symbol for symbol in ca.symvar(self.xdot) if not ca.is_equal(symbol, self.t)]
        return Switches.of(ca.Function("rates", [self.t, ca.vertcat(*others)], [ca.densify(self.xdot)]))

    def time_inputs(self) -> Any:
        """What in f depends on the time and on p alone, as a function of t, p and the numbers of arms of a batch."""
        own, states = ca.vertcat(self.p, *self.composition.own_symbols), ca.vertcat(self.x)
        f = ca.Function("rates", [self.t, own, states], [ca.densify(self.xdot)])
        return ca.Function("time_inputs", [self.t, own], [time_inputs(f, self.t, own)])

    def jacobian(self) -> Any:
        """df/dx and df/dt, exact."""
        if not self.composition.implicit:
            return self._function("jacobian", [ca.jacobian(self.xdot, self.x), ca.jacobian(self.xdot, self.t)])
        found = self._solved()
        if isinstance(found, SolvedColumns):
            return column_function("jacobian", {"t": self.t, "x": self.x, "p": self.p}, found)
        return self._function("jacobian", found)

    @symbolic_property
    def approaching(self) -> Any:
        """Gaps to what may be met, and speeds past it."""
        return approaches(self.composition.model.chain, self.q, self.qd)

    def approach(self) -> Any:
        """The same as a function of t, x and p."""
        return self._function("approach", [self.approaching])

    def closing(self) -> Any:
        """A state nearer to closed loops, by how much it was moved, and the least part of a row that is left beside
        the others, as a function of t, x and p."""
        return self._function("closing", [ca.vertcat(*self.closer())])

    def closer(self) -> tuple[Any, Any, Any]:
        """The same as expressions."""
        return self._closing()

    def _closed(self, eq: Any, q: Any, qd: Any, held: dict[int, Any]) -> tuple[Any, Any, Any]:
        c = self.composition
        q, qd, moved, least = eq.closer(q, qd, held)
        return ca.vertcat(q[c.free_places], qd[c.free], self.x[c.moving :]), moved, least

    def _function(self, name: str, outputs: list[Any]) -> Any:
        found = [ca.densify(ca.SX(o)) for o in outputs]
        return ca.Function(
            name,
            [self.t, self.x, self.p],
            found if self.composition.model.chain.long else ca.cse(found),
            ["t", "x", "p"],
            [f"o{k}" for k in range(len(outputs))],
        )

    @symbolic_property
    def function(self) -> Any:
        """f as a CasADi function."""
        return self._function("rhs", [self.xdot])

    def _jacobian_columns(
        self, eq: Any, q: Any, qd: Any, qdd: Any, applied: Any, states: Any
    ) -> SolvedColumns | list[Any]:
        """df/dx and df/dt with the accelerations' rows solved for: M dqdd = d(applied) - d(inverse dynamics)."""
        c, by = self.composition, (self.x, self.t)
        slopes = acceleration_slopes(eq, q, qd, qdd, applied, [self.x[c.moving :], self.t], states)
        above, below = (
            [ca.jacobian(part, z) for z in by] for part in (self.xdot[: len(c.free_places)], self.xdot[c.moving :])
        )
        own = [above[0], below[0], above[1], below[1]]
        return solved_columns(own, slopes, (self.x.numel(), 1), order=((0, 4, 1), (2, 5, 3)))

    def after_impulse(self, before: Any, after: Any) -> Any:
        """The state behind a jump of the prescribed rates from `before` to `after`, an expression in t, x and p."""
        c, qd = self.composition, ca.SX(self.qd)
        f = len(c.free_places)
        qd[list(self.paths)] = before
        jumps = dict(zip(self.paths, ca.vertsplit(after - before)))
        rates, work = after_jump(c.model.equations, self.q, qd, jumps)
        return ca.vertcat(self.x[:f], rates[c.free], self.x[c.moving : -1], self.x[-1] + work)

    def impulse(self) -> Any:
        """The state behind a jump, a function of t, x, p and the prescribed rates before and after."""
        rates = [ca.SX.sym(name, len(self.paths)) for name in ("before", "after")]
        return ca.Function("impulse", [self.t, self.x, self.p, *rates], [ca.densify(self.after_impulse(*rates))])

    def motion(self) -> Any:
        """Positions, rates and accelerations of what is prescribed, a function of t and p."""
        path = ca.vertcat(*self.paths.values())
        rate = ca.jacobian(path, self.t)
        return ca.Function(
            "motion", [self.t, self.p], [ca.densify(y) for y in (path, rate, ca.jacobian(rate, self.t))], ["t", "p"],
            ["x", "v", "a"],
        )  # fmt: skip


def _residual(eq: Any, q: Any, qd: Any, applied: Any, states: Any, a: Any, v: Any) -> tuple[Any, Any]:
    """Forces that accelerations `a` leave over, and y of M y = v by the factors of the accelerations themselves."""
    force = ca.SX.sym("force", a.shape[0])
    y = ca.jtimes(eq.accelerations(q, qd, force, {}, states), force, v)
    residual = applied - eq.inverse_dynamics(q, qd, a, states)
    return residual, ca.densify(ca.substitute([ca.densify(y)], [force], [ca.densify(applied)])[0])


def path_of(name: str, path: Any, t: Any) -> Any:
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


def _column(value: Any, m: int, name: str, joints: int | None = None) -> Any:
    if isinstance(value, list | tuple):
        value = ca.vertcat(*value)
    value = ca.SX(value)
    if value.shape == (1, m) and m > 1:
        value = value.T
    if joints is not None and value.shape == (joints, 1):  # a controller of joints leaves couplings alone
        value = ca.vertcat(value, ca.SX.zeros(m - joints))
    if value.shape != (m, 1):
        raise ModelError(f"{name}: shape {value.shape}; expected {m} torques")
    return value
