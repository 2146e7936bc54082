"""Gradients of runs by the implicit midpoint rule: z = x + (h/2) f(t + h/2, z), x' = 2 z - x.

With J = df/dx at z, a sensitivity l' to x' becomes y of (I - (h/2) J)^T y = l', then l = 2 y - l', and what f reads
besides the state gathers h (df/dp)^T y. States at all steps are kept, Jacobians of some steps at a time.
"""

from __future__ import annotations

import time

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.errors import SimulationError, UnsupportedModel
from pliant.gradients.discrete import Found
from pliant.gradients.inquiry import Inquiry
from pliant.integrate import Problem, SampledInput, solve
from pliant.kernels import Kernel

BLOCK = 512
"""Steps whose Jacobians are held at once."""


def midpoint(asked: Inquiry, t_end: float, stops: Array, step: float) -> Found:
    """Forward by the compiled loop, back by linear solves."""
    c, run, given = asked.f.composition, asked.run, asked.given
    if c.quaternions:
        raise UnsupportedModel("method: 'midpoint' does not go back through quaternions; use method='rk4'")
    key = (*asked.key, tuple(asked.wanted.chosen))
    traced = c.derived("midpoint gradients", key, lambda: _trace(asked))
    problem, jacobian, product, ending = traced
    own, pieces, n = given.held(asked.f)[0], given.pieces()[0], run.n
    p, samples = np.concatenate([np.zeros(pieces.shape[1]), own]), None
    if given.samples is not None:
        starts = given.samples.starts.copy()
        starts[0] = min(0.0, starts[1]) - 1.0  # before any run
        samples = SampledInput(starts, pieces, first=0)
    begin = time.perf_counter()
    solution = solve(problem, (0.0, t_end), asked.starts()[0], method="midpoint", step=step, p=p, samples=samples,
                     breaks=stops)  # fmt: skip
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status != "finished":
        raise SimulationError(f"the run {solution.status}: {solution.message}")
    t, x = solution.t, solution.x
    middle, h, z = (t[1:] + t[:-1]) / 2, np.diff(t), (x[1:] + x[:-1]) / 2
    piece = np.zeros(len(h), dtype=int) if given.samples is None else given.samples.piece(middle)
    last = np.asarray(ending(np.array([t_end]), x[-1], pieces[piece[-1]], own)).ravel()
    costate, Y = last[1 : 1 + n].copy(), np.empty_like(z)
    for end in range(len(h), 0, -BLOCK):
        rows = slice(max(0, end - BLOCK), end)
        J = np.asarray(jacobian(middle[rows, None], z[rows], pieces[piece[rows]], own)).reshape(-1, n, n)
        A = np.eye(n) - 0.5 * h[rows, None, None] * J
        for k in range(len(A) - 1, -1, -1):
            Y[rows.start + k] = y = np.linalg.solve(A[k].T, costate)
            costate = 2.0 * y - costate
    by = h[:, None] * np.asarray(product(middle[:, None], z, pieces[piece], own, Y))[:, n:]
    by_w = np.zeros((1, len(pieces), run.held.shape[0]))
    np.add.at(by_w[0], piece, by[:, : by_w.shape[2]])
    by_p = by[:, by_w.shape[2] :].sum(axis=0) + last[1 + n :]
    wall, stats = time.perf_counter() - begin, solution.stats
    return Found(last[:1], x[-1:], costate[None], by_w, by_p[None], len(h), stats.rhs, len(h), x.size, wall)


def _trace(asked: Inquiry) -> tuple[Problem, Kernel, Kernel, Kernel]:
    """The equations with the cost as a state, their Jacobian, the products of one step, and the cost at the end."""
    run = asked.run.differentiated(asked.wanted.chosen)
    t, x, w, p = (ca.SX.sym(name, run.rates.size1_in(k)) for k, name in enumerate(("t", "x", "w", "p")))
    rates = run.rates(t, x, w, p)
    problem = Problem.traced("costed", t, x, ca.vertcat(w, p), rates)
    jacobian = ca.Function("by_state", [t, x, w, p], ca.cse([ca.densify(ca.jacobian(rates, x))]))
    return problem, Kernel(jacobian), Kernel(run.product), Kernel(run.ending, "vm")
