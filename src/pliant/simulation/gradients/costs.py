"""What is differentiated: a run with the cost as its last state, traced with the products that go back through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from pliant.compute.loops.adjoint import Differentiated
from pliant.errors import ModelError
from pliant.simulation.batch.batch_equations import BatchEquations
from pliant.simulation.runs.variational import run_closer

Cost = Callable[..., Any]


def traced_cost(name: str, words: str, function: Cost | None, *arguments: Any) -> Any:
    """The scalar expression that a cost function gives."""
    if function is None:
        return ca.SX(0)
    try:
        value = ca.SX(function(*arguments))
    except Exception as error:
        raise ModelError(
            f"{name}: expected a function of {words} in CasADi operations that gives one number; it raised {error}"
        ) from error
    if value.shape != (1, 1):
        raise ModelError(f"{name}: got shape {value.shape}, expected one number from a function of {words}")
    return value


class CostedRun:
    """Equations of a batch with a cost: l integrated beside the state, and g at the end.

    Attributes
    ----------
    rates : expression
        (n + 1, 1): those of the state, and l.
    last : expression
        g at the end.
    held : expression
        Entries of a piece of samples that count: as many powers of the time as samples have in between.
    own : expression
        Held torques, parameters of the model and gains, as the batch has them.
    """

    def __init__(self, f: BatchEquations, terminal: Cost | None, running: Cost | None, powers: int) -> None:
        c, e = f.composition, f.composition.equations
        self.f, self.n = f, f.n + 1
        running_cost = traced_cost("running", "(t, q, qd, tau)", running, e.t, e.q, e.qd, e.tau)
        self.last = traced_cost("terminal", "(t, q, qd)", terminal, e.t, e.q, e.qd)
        self.rates = ca.densify(ca.vertcat(e.xdot[: f.n], running_cost))
        self.states = e.x[: f.n]
        self.held = e.p[c.m : c.m + powers * c.m] if c.has_table else ca.SX(0, 1)
        torque = e.p[: c.m] if f.has_constant else ca.SX(0, 1)
        self.own = ca.vertcat(torque, c.model.parameter_symbols, *f.gains.values())

    def _function(self, name: str, column: Any, v: Any = None) -> Any:
        """A column as a function of (t, [x, cost], w, p[, v])."""
        more = [] if v is None else [v]
        inner = self.f.function_of(name, [column], more)
        t, x, w, p = (ca.SX.sym(n, inner.size1_in(k)) for k, n in enumerate(("t", "x", "w", "p")))
        cost = ca.SX.sym("cost")
        arguments = [t, ca.vertcat(x, cost), w, p, *more]
        out = inner(t, x, w, p, *more)
        if name == "ending":
            out[0] += cost
        if name == "closing":
            out = ca.vertcat(out[: self.n - 1], cost, out[self.n - 1 :])
        return ca.Function(name, arguments, ca.cse([ca.densify(out)]))

    def _closing(self, own: Any, v: Any) -> tuple[Any, Any]:
        """What closes loops after a step, and its derivatives along v; of all states those that move alone change."""
        c, n = self.f.composition, self.n - 1
        found = run_closer(c)
        if found is None:
            return None, None
        x, moved, least = found
        by = ca.jtimes(x, ca.vertcat(self.states, self.held, own), v[: c.moving], True)
        stay = ca.vertcat(ca.SX.zeros(c.moving), v[c.moving : n])
        column = ca.vertcat(by[:n] + stay, v[n], by[n:])
        closed = ca.vertcat(x, self.states[c.moving :], moved, least)
        return self._function("closing", closed), self._function("closing_product", column, v)

    def differentiated(self, chosen: list[int]) -> Differentiated:
        """The run and its derivatives; of the entries of p those `chosen`."""
        own = self.own[chosen] if chosen else ca.SX(0, 1)
        v = ca.SX.sym("v", self.n)
        c, n = self.f.composition, self.n - 1
        first, last = len(c.free_places), c.moving  # of the accelerations
        others, v_others = (ca.vertcat(column[:first], column[last:]) for column in (self.rates, v))
        by = c.equations.against(v[first:last], others, v_others, ca.vertcat(self.states, self.held, own))
        column = ca.vertcat(by[:n], 0, by[n:])
        slopes = ca.gradient(self.last, ca.vertcat(self.states, own))
        ending = ca.vertcat(self.last, slopes[:n], 1, slopes[n:])
        functions = (self._function("rates", self.rates), self._function("product", column, v),
                     self._function("ending", ending))  # fmt: skip
        return Differentiated(
            *functions, self.held.shape[0], len(chosen), self.f.composition.quaternions, *self._closing(own, v)
        )


def samples_slope(times: Any, kind: str, by_piece: Any) -> Any:
    """(..., K, m) gradient by samples, from that by pieces (..., K + 1, powers, m): `SampledTorque.of` transposed."""
    K = len(times)
    out = by_piece[..., 1:, 0, :].copy()
    out[..., 0, :] += by_piece[..., 0, 0, :]
    if kind == "linear":
        rise = by_piece[..., 1:K, 1, :] / np.diff(times)[:, None]
        out[..., :-1, :] -= rise
        out[..., 1:, :] += rise
    if kind == "cubic":
        from scipy.interpolate import CubicSpline

        inner = by_piece[..., 1:K, :, :]
        out = np.zeros_like(out)
        out[..., 0, :] += by_piece[..., 0, 0, :]
        out[..., -1, :] += by_piece[..., K, 0, :]
        for first in range(0, K, BLOCK):  # unit samples, some at a time
            unit = np.eye(K)[:, first : first + BLOCK]
            pieces = CubicSpline(times, unit).c[::-1]  # (4, K - 1, block)
            out[..., first : first + BLOCK, :] += np.einsum("...kpm,pkb->...bm", inner, pieces)
    return out


BLOCK = 256
"""Unit samples that are splined at once."""
