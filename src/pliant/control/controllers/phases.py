"""Switching from one controller to the next, at given times or at conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from pliant.arrays import Array, Expression
from pliant.base.signatures import checked
from pliant.control.controllers.controller import NO_STATES, Controller, Felt, Law, LawOutput
from pliant.control.trajectories.trajectories import moment
from pliant.errors import ModelError
from pliant.model.model import Model

Condition = Callable[[Expression, Expression, Expression], Expression]


@checked
@dataclass(frozen=True)
class Switch(Controller):
    """Controllers that take turns.

    Parameters
    ----------
    phases : sequence of Controller
    until : sequence of float, condition or mapping
        End of each phase but the last: a time; a function g(t, q, qd) in CasADi operations, which ends the phase when
        it first is >= 0; or `{"coordinate": name, "above": value}` (or "below"), for a coordinate that passes a value.

    Notes
    -----
    A phase that has ended does not come back. For a condition the controller has a state: the time since the condition
    was first met. An adaptive method finds the moment by its error control. With a fixed step the moment is only known
    to within the step.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> hold, rest = (pliant.control.PD(500.0, 50.0, goal) for goal in ([0.1, 0.0], [0.0, 0.0]))
    >>> pliant.simulate(model, 0.05, controller=pliant.control.Switch([hold, rest], until=[0.02])).stats.status
    'finished'
    """

    phases: Sequence[Controller]
    until: Sequence[float | Condition | Mapping[str, str | float]]

    def bind(self, model: Model) -> Law:
        """Bind every phase, and check the ends."""
        if len(self.phases) < 2 or len(self.until) != len(self.phases) - 1:
            raise ModelError(
                f"until: got {len(self.until)} ends for {len(self.phases)} phases, expected at least two phases and "
                "one end for each but the last"
            )
        ends = [_passing(model, end) if isinstance(end, Mapping) else end for end in self.until]
        times = [moment("until", end) for end in ends if not callable(end)]
        if any(b <= a for a, b in pairwise(times)):
            raise ModelError(f"until: got times {times}, expected them to rise")
        laws = [phase.bind(model) for phase in self.phases]
        if any(law.sample_time is not None for law in laws):
            raise ModelError("phases: a sampled controller cannot be a phase; sample the switch: Sampled(Switch(...))")
        return _SwitchLaw(model, laws, ends)


def _passing(model: Model, given: Mapping[str, str | float]) -> Condition:
    """Condition that a coordinate passes a value."""
    sides = set(given) - {"coordinate"}
    if "coordinate" not in given or sides not in ({"above"}, {"below"}):
        raise ModelError(f"until: got {dict(given)!r}, expected coordinate and above, or coordinate and below")
    index, side = model.index(str(given["coordinate"])), sides.pop()
    value = moment(side, given[side])
    return lambda t, q, qd: q[index] - value if side == "above" else value - q[index]


class _SwitchLaw(Law):
    tunable = ("laws", "ends")

    def __init__(self, model: Model, laws: list[Law], ends: list[float | Condition]) -> None:
        super().__init__(model)
        self.laws, self.ends, self.senses = laws, ends, any(law.senses for law in laws)
        self.breaks = tuple(b for law in laws for b in law.breaks) + tuple(
            float(end) for end in ends if not callable(end)
        )
        self.n_clocks = sum(callable(end) for end in ends)
        self.n_states = sum(law.n_states for law in laws) + self.n_clocks

    def acting(self, felt: Felt) -> Law:
        acting = copy(self)
        acting.laws = [law.acting(felt) for law in self.laws]
        return acting

    @property
    def initial_state(self) -> Array:
        return np.concatenate([*(law.initial_state for law in self.laws), np.zeros(self.n_clocks)])

    def expression(self, t: Expression, q: Expression, qd: Expression, z: Expression = NO_STATES) -> LawOutput:
        """Torques of the active phase; states of the others do not change."""
        over, clock_rates = self._ended(t, q, qd, z)
        tau, rates, first = ca.SX.zeros(self.model.n_joints), [], 0
        for k, law in enumerate(self.laws):
            begun = over[k - 1] if k else 1
            active = ca.logic_and(begun, ca.logic_not(over[k])) if k < len(over) else begun
            torque, rate = law.with_states(t, q, qd, z[first : first + law.n_states])
            tau = ca.if_else(active, torque, tau)
            rates.append(ca.if_else(active, rate, ca.SX.zeros(rate.shape)))
            first += law.n_states
        return (tau, ca.vertcat(*rates, *clock_rates)) if self.n_states else tau

    def _ended(
        self, t: Expression, q: Expression, qd: Expression, z: Expression
    ) -> tuple[list[Expression], list[Expression]]:
        """Return whether each phase but the last is over, and the rates of the clocks of conditions."""
        over: list[Expression] = []
        rates: list[Expression] = []
        clock = self.n_states - self.n_clocks
        for end in self.ends:
            before = over[-1] if over else 1
            if callable(end):
                passed = z[clock] > 0
                met = ca.logic_or(passed, ca.logic_and(before, ca.SX(end(t, q, qd)) >= 0))
                over.append(ca.logic_and(before, passed))
                rates.append(ca.if_else(met, 1, 0))
                clock += 1
            else:
                over.append(ca.logic_and(before, t >= end))
        return over, rates
