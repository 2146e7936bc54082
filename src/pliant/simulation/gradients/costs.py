"""Runs to be differentiated: their equations with the cost as the last state, and products with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.integrators.packs.adjoint import Differentiated
from pliant.simulation.batch.batch_equations import BatchEquations
from pliant.simulation.runs.equations.variational import run_closer

Cost = Callable[..., Any]


def traced_cost(name: str, words: str, function: Cost | None, *arguments: SX) -> SX:
    """Scalar expression that a cost function gives; raises `ModelError` if it gives something else."""
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
    """Equations of a batch with a cost: a running cost l that is integrated beside the state, and g at the end.

    Attributes
    ----------
    rates : expression
        (n + 1, 1) rates of the state, and l.
    last : expression
        g at the end.
    held : expression
        Entries of a piece of samples that are not zero: a coefficient for each power of the time in between.
    own : expression
        Held torques, parameters of the model and gains, in the order of the batch.
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

    def _function(self, name: str, column: SX, v: SX | None = None) -> ca.Function:
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

    def _closing(self, own: SX, v: SX) -> tuple[ca.Function | None, ca.Function | None]:
        """Closing of loops after a step, and its product with v; it changes only the moving states. None without
        loops."""
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
        """The run and its derivatives, by the `chosen` ones of the entries of p."""
        own = self.own[chosen] if chosen else ca.SX(0, 1)
        v = ca.SX.sym("v", self.n)
        c, n = self.f.composition, self.n - 1
        first, last = len(c.free_places), c.moving  # rows of the accelerations
        others, v_others = (ca.vertcat(column[:first], column[last:]) for column in (self.rates, v))
        by = c.equations.against(v[first:last], others, v_others, ca.vertcat(self.states, self.held, own))
        column = ca.vertcat(by[:n], 0, by[n:])
        slopes = ca.gradient(self.last, ca.vertcat(self.states, own))
        ending = ca.vertcat(self.last, slopes[:n], 1, slopes[n:])
        closing, closing_product = self._closing(own, v)
        return Differentiated(
            rates=self._function("rates", self.rates),
            product=self._function("product", column, v),
            ending=self._function("ending", ending),
            by_w=self.held.shape[0],
            by_p=len(chosen),
            quaternions=c.quaternions,
            closing=closing,
            closing_product=closing_product,
        )


def samples_slope(times: Array, kind: str, by_piece: Array) -> Array:
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
"""Unit samples whose splines are computed at once."""
