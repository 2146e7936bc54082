"""One run as CasADi expressions: dynamics, controller, torques, loads and prescribed motion, put together to
xdot = f(t, x, p).

`ComposedEquations` follows a run from what is known to what is sought. Prescribed paths give some coordinates, the
state x the others. Torques that are held, sampled or given as an expression act beside those of the controller; loads
act on the links. The formulation gives the accelerations under all of them, and forces that close loops. The power of
what acts on the arm is integrated beside the motion, as the last state.

Everything else that a run asks for is read from these expressions: Jacobians, the response to a jump of prescribed
rates, states that are nearer to closed loops, ticks of a sampled controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.base.derived import symbolic_property
from pliant.compute.tape.switches import Switches, time_inputs
from pliant.control.controllers.controller import Felt, Law, opened
from pliant.control.trajectories.trajectories import RUN_TIME, looking_up
from pliant.errors import ModelError
from pliant.mechanics.constraints.clearances import approaches
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
from pliant.mechanics.formulations.motion_equations import Constrained, by_kinds, holding_pushes
from pliant.mechanics.formulations.registry import equations
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.loads.wrenches import Load
from pliant.model.recipes import column_function
from pliant.protocols import MovingBase, PrescribedMotion, TorqueLaw
from pliant.simulation.runs.equations.composition import TABLE_WIDTH, Composition, Event

if TYPE_CHECKING:
    from pliant.compute.tape.columns import ColumnFunction


class ComposedTick(NamedTuple):
    """One tick of a sampled controller: its `torques`, to which `others` are added, and the memory `following` it, as
    expressions in `others`, `noise` and the `memory` before it."""

    others: SX
    noise: SX
    memory: SX
    torques: SX
    following: SX


class TunedNumbers:
    """Tunable numbers `given` as symbols (None without any), and `symbols` of the `values` that follow from them alone,
    such as the weight of the arm at a goal. These values become inputs of f and are computed once for a run."""

    def __init__(self, given: SX, chain: Chain) -> None:
        self.given, self.chain = given, chain
        self.symbols: list[SX] = []
        self.values: list[SX] = []

    def extracted(self, found: list[SX]) -> list[SX]:
        """Expressions with inputs in place of what follows from tunable numbers alone. Long arms keep the numbers
        themselves: the functions that their links share are not searched."""
        if self.given is None or not found:
            return found
        if self.chain.long:
            self.symbols = self.values = [self.given]
            return found
        left, symbols, values = ca.extract_parametric(found, self.given, {"extract_trivial": True})
        self.symbols += symbols
        self.values += values
        return list(left)


class ComposedEquations:
    """Expressions in the symbols `t`, `x` and `p`: all coordinates `q`, their rates `qd` and accelerations `qdd`, the
    torques `tau` that act, the `residual` of power, and the rate `xdot` of the state."""

    def __init__(self, composition: Composition) -> None:
        c = self.composition = composition
        self.t = ca.SX.sym(RUN_TIME if c.series else "t")
        law, motion = c.controller, c.motion
        given: SX = None
        if c.given.size:
            (law, motion), given = opened((law, motion))
        self._tuned = TunedNumbers(given, c.model.chain)
        with looking_up(c.series):
            self.paths = self._prescribed_paths(motion)
            self._put_arm_on(c.base)
            self._split_state()
            self._collect_forces(c.torque, c.loads)
            command, controller_rates = self._controlled(law)
            if c.ticks:
                self.tick = self._ticked(law)
            self.p = ca.vertcat(
                self._inputs, *(one.held for one in c.series), *self._tuned.symbols, c.model.parameter_symbols
            )
            self._accelerate(command)
            self._write_rates(controller_rates)

    # --------------------------------------------------------------------------------------------------- arm and state

    def _prescribed_paths(self, motion: Mapping[str, PrescribedMotion]) -> dict[int, SX]:
        """Positions of prescribed coordinates as expressions of time, by the numbers of their speeds."""
        paths = {index: path_of(name, motion[name], self.t) for index, (name, _) in self.composition.prescribed.items()}
        return dict(zip(paths, self._tuned.extracted(list(paths.values()))))

    def _put_arm_on(self, base: MovingBase | None) -> None:
        """Set the equations of the arm on its base, which moves or stands."""
        at_rest = self.composition.model.equations
        self._eq = at_rest
        if base is not None:
            self._eq = equations(at_rest.chain.on(base, self.t), at_rest.formulation)

    def _split_state(self) -> None:
        """Name the state x, its parts, and all coordinates and rates."""
        c = self.composition
        sizes = (c.moving, c.n_states, c.n_drive_states)
        self.x = ca.SX.sym("x", sum(sizes) + 1)  # the last one is the work
        ends = np.cumsum(sizes).tolist()
        self._z, self._drives = (self.x[first:last] for first, last in pairwise(ends))
        self.q, self.qd, self._held = self._coordinates()

    def _coordinates(self) -> tuple[SX, SX, dict[int, SX]]:
        """All coordinates and rates from the free ones and the prescribed paths, and prescribed accelerations."""
        c, f = self.composition, len(self.composition.free_places)
        q, qd, held = ca.SX.zeros(c.n_q), ca.SX.zeros(c.n), {}
        if c.free:
            q[c.free_places], qd[c.free] = self.x[:f], self.x[f : c.moving]
        for index, path in self.paths.items():
            rate = ca.jacobian(path, self.t)
            q[c.place(index)], qd[index], held[index] = path, rate, ca.densify(ca.jacobian(rate, self.t))
        return ca.densify(q), ca.densify(qd), held  # a joint that is held still has no rate at all

    # ---------------------------------------------------------------------------------------------------------- forces

    def _collect_forces(self, torque: TorqueLaw | None, loads: Sequence[Load]) -> None:
        """Name the inputs; set torques of everything but the controller, and generalized forces of loads."""
        c, chain = self.composition, self._eq.chain
        self._inputs = ca.SX.sym("u", c.m * (1 + TABLE_WIDTH if c.has_table else 1))
        self._others = self._given_torques(torque)
        given = chain, self.t, self.q, self.qd
        self._loads = sum((_load_forces(load, *given) for load in loads), ca.SX.zeros(c.n))

    def _given_torques(self, torque: TorqueLaw | None) -> SX:
        """Torques (m,) that are held, sampled, or given as an expression."""
        m, inputs = self.composition.m, self._inputs
        tau = inputs[:m]
        if self.composition.has_table:
            pieces = [inputs[k * m : (k + 1) * m] for k in range(1, TABLE_WIDTH + 1)]
            since = self.t - pieces[-1]
            tau = tau + pieces[0] + since * (pieces[1] + since * (pieces[2] + since * pieces[3]))
        if torque is not None:
            tau = tau + _column(torque.expression(self.t, self.q, self.qd), m, "torque.expression")
        return tau

    def _under(self, command: SX | float) -> Constrained:
        """Accelerations under a command of the controller and all else that acts, and forces that close loops."""
        q, qd, drives = self.q, self.qd, self._drives
        tau = torques(self._eq.chain, self._others + command, qd, drives)
        force = applied_forces(self._eq.chain, q, tau) + self._loads
        return by_kinds(self._eq, lambda e: e.constrained(q, qd, force, self._held, drives))

    def _controlled(self, law: Any) -> tuple[SX, SX]:
        """Command (m,) of a controller that f evaluates, and rates of its states."""
        c = self.composition
        if law is None or c.sample_time is not None:
            return ca.SX.zeros(c.m), ca.SX(0, 1)
        if isinstance(law, Law):
            law = law.acting(Felt(c.loads, c.base, lambda command: self._under(command).qdd))
        if c.n_states:
            command, rates = law.expression(self.t, self.q, self.qd, self._z)
        else:
            command, rates = law.expression(self.t, self.q, self.qd), ca.SX(0, 1)
        column = _column(command, c.m, "controller.expression", self._eq.chain.n_joints)
        command, rates = self._tuned.extracted([column, ca.SX(rates)])
        return command, rates

    def _ticked(self, law: Any) -> ComposedTick:
        """One tick of a sampled controller; its sensors feel accelerations under what has acted until then."""
        c, joints = self.composition, self.composition.model.chain.n_joints
        others, acting = ca.SX.sym("others", c.m), self._inputs[: c.m]

        def accelerations(command: SX) -> SX:
            torque = others + _column(command, c.m, "controller", joints)
            return ca.substitute([self._under(0).qdd], [acting], [torque])[0]

        tick = law.ticking(self.t, self.q, self.qd, Felt(c.loads, c.base, accelerations))
        found = [_column(tick.torques, c.m, "controller", joints), ca.SX(tick.following)]
        return ComposedTick(others, tick.noise, tick.memory, *self._tuned.extracted(found))

    # ---------------------------------------------------------------------------------------------------------- motion

    def _accelerate(self, command: SX) -> None:
        """Set accelerations, torques that act, and the power of all that acts on the arm."""
        c, eq, chain = self.composition, self._eq, self._eq.chain
        q, qd, drives, held, loads = self.q, self.qd, self._drives, self._held, self._loads
        found, self.command = self._under(command), self._others + command
        self.qdd, self.multipliers = found.qdd, ca.densify(found.multipliers)
        tau = torques(chain, self.command, qd, drives)
        force: SX = applied_forces(chain, q, tau)
        self._applied = force + loads
        if held:  # what prescribes a coordinate acts on it, whatever else is given for it
            needed = eq.tree_forces(q, qd, self.qdd, drives) - found.forces - loads
            force[list(held)] = needed[list(held)]
            tau = self._needed_torque(chain, tau, needed)
        self.tau = tau
        working = force + loads - dissipation(chain, q, qd, drives)
        if c.base is not None:  # energies are those an observer on the base sees, for whom its motion does work
            for sign, side in ((1, c.model.equations), (-1, eq)):
                working += sign * side.formulation.inertial_forces(side.chain, q, qd)
        self._power = ca.dot(working, qd)

    def _needed_torque(self, chain: Chain, tau: SX, needed: SX) -> SX:
        """Torques with, for prescribed joints and motors, what their motion needs: of a joint and its motor the sum."""
        tau = ca.SX(tau)
        for joint, shaft in enumerate(chain.shafts):
            moved = {shaft.actuated, shaft.index} & set(self.paths)
            if moved:
                tau[joint] = sum(needed[index] for index in sorted(moved))
        return tau

    def _write_rates(self, controller_rates: SX) -> None:
        """Set the rate of the state: what moves, controller, drives, work."""
        c, chain, q, qd = self.composition, self._eq.chain, self.q, self.qd
        self._rates = chain.rates(q, qd)
        moving = ca.vertcat(self._rates[c.free_places], self.qdd[c.free]) if c.free else ca.SX(0, 1)
        drives = drive_rates(chain, q, qd, self._drives, self.command)
        self.xdot = ca.vertcat(moving, controller_rates, drives, self._power)

    @symbolic_property
    def residual(self) -> SX:
        """Power that the energies gain less what is fed in."""
        c = self.composition
        q, qd = ca.SX.sym("q", c.n_q), ca.SX.sym("qd", c.n)
        E = ca.sum1(energies(self._eq.chain, q, qd))
        gained = ca.jtimes(E, ca.vertcat(q, qd), ca.vertcat(self._rates, self.qdd))
        return ca.substitute(gained, ca.vertcat(q, qd), ca.vertcat(self.q, self.qd)) - self._power

    # ----------------------------------------------------------------------------------------------- starts and events

    @symbolic_property
    def loaded(self) -> SX:
        """States of drives at a start, an expression in t, x and p: friction carries an arm at rest as far as it can,
        and slips in motion; amplifiers stand at the command."""
        eq, chain, q, qd, held = self._eq, self._eq.chain, self.q, self.qd, self._held
        free = drive_start(chain, q, qd, ca.SX.zeros(chain.n), self.command)
        acting = torques(chain, self.command, qd, free)
        joints, couplings = acting[: chain.n_joints, :], acting[chain.n_joints :, :]
        slipping = applied_forces(chain, q, acting) + self._loads
        pushed = holding_pushes(eq, q, qd, slipping, held, free, couplings)
        applied = applied_forces(chain, q, ca.vertcat(joints, pushed)) + self._loads
        found = eq.constrained(q, qd, applied, {**held, **self._stuck()}, free)
        load = applied + found.forces - eq.tree_forces(q, qd, found.qdd, free)
        load[list(held)] = 0
        return drive_start(chain, q, qd, load, self.command, pushed)

    def _stuck(self) -> dict[int, SX]:
        """Zero accelerations of the free coordinates whose friction has states, by their numbers."""
        rubbed = {placed.indices for shaft in self._eq.chain.all_shafts for placed in shaft.laws if placed.states}
        stuck = {indices[0]: ca.SX(0) for indices in rubbed if len(indices) == 1 and indices[0] not in self._held}
        return dict(sorted(stuck.items()))

    def after_impulse(self, before: SX, after: SX) -> SX:
        """State after a jump of the prescribed rates from `before` to `after`, an expression in t, x and p."""
        c, qd = self.composition, ca.SX(self.qd)
        f = len(c.free_places)
        qd[list(self.paths)] = before
        jumps = dict(zip(self.paths, ca.vertsplit(after - before)))
        rates, work = after_jump(c.model.equations, self.q, qd, jumps)
        return ca.vertcat(self.x[:f], rates[c.free], self.x[c.moving : -1], self.x[-1] + work)

    @symbolic_property
    def approaching(self) -> SX:
        """Gaps to what the arm may meet, and speeds past it."""
        return approaches(self.composition.model.chain, self.q, self.qd)

    def closer(self) -> tuple[SX, SX, SX]:
        """State nearer to closed loops, by how much it was moved, and the least part of a row that the others leave."""
        c = self.composition
        q, qd, moved, least = self._eq.closer(self.q, self.qd, self._held)
        return ca.vertcat(q[c.free_places], qd[c.free], self.x[c.moving :]), moved, least

    @symbolic_property
    def switches(self) -> Switches:
        """Times at which f switches."""
        others = [symbol for symbol in ca.symvar(self.xdot) if not ca.is_equal(symbol, self.t)]
        return Switches.of(ca.Function("rates", [self.t, ca.vertcat(*others)], [ca.densify(self.xdot)]))

    # ----------------------------------------------------------------------------------------------------- derivatives

    def against(self, v: SX, others: SX, v_others: SX, by: SX) -> SX:
        """v^T times the derivatives of the accelerations, plus v_others^T times those of other expressions, by symbols.

        Accelerations a solve r(x, a) = forces - inverse dynamics = 0, so that v^T da/dx = y^T dr/dx with M y = v: only
        r is differentiated, not the elimination that solves it. Where this does not hold (`Composition.implicit`),
        everything is differentiated.
        """
        c = self.composition
        if not c.implicit:
            return ca.jtimes(ca.vertcat(self.qdd[c.free], others), by, ca.vertcat(v, v_others), True)
        a, y = ca.SX.sym("a", c.n), ca.SX.sym("y", c.n)
        residual, solution = self._residual(a, v)
        found = ca.jtimes(ca.vertcat(residual, others), by, ca.vertcat(y, v_others), True)
        return ca.substitute([found], [a, y], [ca.densify(self.qdd), solution])[0]

    def _residual(self, a: SX, v: SX) -> tuple[SX, SX]:
        """Forces that accelerations `a` leave over, and y of M y = v by the factors of the accelerations themselves."""
        eq, q, qd, drives = self._eq, self.q, self.qd, self._drives
        force = ca.SX.sym("force", a.shape[0])
        y = ca.jtimes(eq.accelerations(q, qd, force, {}, drives), force, v)
        residual = self._applied - eq.inverse_dynamics(q, qd, a, drives)
        return residual, ca.densify(ca.substitute([ca.densify(y)], [force], [ca.densify(self._applied)])[0])

    def _jacobian_columns(self) -> SolvedColumns | list[SX]:
        """df/dx and df/dt with the accelerations' rows solved for: M dqdd = d(applied) - d(inverse dynamics)."""
        c, by = self.composition, (self.x, self.t)
        slopes = acceleration_slopes(
            self._eq, self.q, self.qd, self.qdd, applied=self._applied, others=[self.x[c.moving :], self.t],
            states=self._drives,
        )  # fmt: skip
        rows_above, rows_below = self.xdot[: len(c.free_places)], self.xdot[c.moving :]
        above, below = ([ca.jacobian(rows, z) for z in by] for rows in (rows_above, rows_below))
        own = [above[0], below[0], above[1], below[1]]
        return solved_columns(own, slopes, (self.x.numel(), 1), order=((0, 4, 1), (2, 5, 3)))

    # ------------------------------------------------------------------------------------------------------- functions

    def _function(self, name: str, outputs: list[SX]) -> ca.Function:
        """Expressions as a function of t, x and p."""
        found = [ca.densify(ca.SX(o)) for o in outputs]
        if not self.composition.model.chain.long:
            found = ca.cse(found)
        return ca.Function(
            name, [self.t, self.x, self.p], found, ["t", "x", "p"], [f"o{k}" for k in range(len(outputs))]
        )

    def read(self, name: str, what: Sequence[str]) -> ca.Function:
        """Some of these expressions as a function of t, x and p."""
        return self._function(name, [getattr(self, each) for each in what])

    @symbolic_property
    def function(self) -> ca.Function:
        """f as a CasADi function."""
        return self._function("rhs", [self.xdot])

    def jacobian(self) -> ca.Function | ColumnFunction:
        """df/dx and df/dt, exact."""
        if not self.composition.implicit:
            return self._function("jacobian", [ca.jacobian(self.xdot, self.x), ca.jacobian(self.xdot, self.t)])
        found = self._jacobian_columns()
        if isinstance(found, SolvedColumns):
            return column_function("jacobian", {"t": self.t, "x": self.x, "p": self.p}, found)
        return self._function("jacobian", found)

    def approach(self) -> ca.Function:
        """`approaching` as a function of t, x and p."""
        return self._function("approach", [self.approaching])

    def closing(self) -> ca.Function:
        """`closer`, its three expressions one below the other, as a function of t, x and p."""
        return self._function("closing", [ca.vertcat(*self.closer())])

    def events(self, events: Sequence[Event]) -> ca.Function:
        """g(t, x, p) of all events."""
        chain, given = self.composition.model.chain, (self.t, self.q, self.qd)
        asked = (((chain,) if hasattr(g.condition, "of_arm") else (), g.condition) for g in events)
        return self._function("events", [ca.vertcat(*(condition(*given, *arm) for arm, condition in asked))])

    def numbers(self) -> ca.Function:
        """Inputs that follow from tunable numbers, as a function of these."""
        tuned = self._tuned
        return ca.Function("numbers", [tuned.given], [ca.vertcat(ca.SX(0, 1), *tuned.values)])

    def time_inputs(self) -> ca.Function:
        """Parts of f that depend on the time and on p alone, as a function of t, p and the numbers of arms of a
        batch."""
        own, states = ca.vertcat(self.p, *self.composition.own_symbols), ca.vertcat(self.x)
        f = ca.Function("rates", [self.t, own, states], [ca.densify(self.xdot)])
        return ca.Function("time_inputs", [self.t, own], [time_inputs(f, self.t, own)])

    def tick_function(self) -> ca.Function:
        """Held torques and memory after a tick, as a function of t, x, p, noise and memory, which begins with the
        other torques."""
        others, noise, memory, torques, following = self.tick
        found = ca.cse([ca.densify(others + torques), ca.densify(ca.vertcat(others, following))])
        return ca.Function("tick", [self.t, self.x, self.p, noise, ca.vertcat(others, memory)], found)

    def impulse(self) -> ca.Function:
        """State after a jump, a function of t, x, p and the prescribed rates before and after."""
        rates = [ca.SX.sym(name, len(self.paths)) for name in ("before", "after")]
        return ca.Function("impulse", [self.t, self.x, self.p, *rates], [ca.densify(self.after_impulse(*rates))])

    def motion(self) -> ca.Function:
        """Positions, rates and accelerations of prescribed coordinates, a function of t and p."""
        path = ca.vertcat(*self.paths.values())
        rate = ca.jacobian(path, self.t)
        found = [ca.densify(y) for y in (path, rate, ca.jacobian(rate, self.t))]
        return ca.Function("motion", [self.t, self.p], found, ["t", "p"], ["x", "v", "a"])


def path_of(name: str, path: PrescribedMotion, t: SX) -> SX:
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


def _load_forces(load: Load, chain: Chain, t: SX, q: SX, qd: SX) -> SX:
    """Generalized forces of a load as a column."""
    if not hasattr(load, "expression"):
        raise ModelError(f"loads: got {type(load).__name__}, expected objects of pliant.loads such as Wrench(...)")
    value = ca.SX(load.expression(chain, t, q, qd))
    if value.shape != (chain.n, 1):
        raise ModelError(f"loads: {type(load).__name__}.expression has shape {value.shape}; expected {chain.n} forces")
    return value


def _column(value: SX | list[SX] | tuple[SX, ...], m: int, name: str, joints: int | None = None) -> SX:
    """Torques (m, 1) from an expression, a list or a row; those of couplings are zero where only joints are given."""
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
