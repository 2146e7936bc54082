"""Tapes to test with: every operation, random graphs, a rigid chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np
import pytest

from pliant.compute import set_threads
from pliant.compute.llvm import llvm


@pytest.fixture(autouse=True, scope="session")
def _own_threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PLIANT_THREADS", raising=False)
        yield
    set_threads(None)


@pytest.fixture(autouse=True)
def _optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code as users have it but for the longest: what LLVM makes of it is the subject here."""
    monkeypatch.setattr(llvm, "LONGEST_OPTIMIZED", max(llvm.LONGEST_OPTIMIZED, 2000))


RULES = (
    *(lambda a, b, c: a * b + c, lambda a, b, c: c - a * b, lambda a, b, c: a * b - c, lambda a, b, c: a * b + b * c),
    *(lambda a, b, c: a**2 + b, lambda a, b, c: b - a, lambda a, b, c: -a + 2 * b, lambda a, b, c: ca.tanh(a)),
    *(lambda a, b, c: ca.sin(a) * ca.cos(a), lambda a, b, c: ca.cos(b), lambda a, b, c: a / (2 + b**2)),
    *(lambda a, b, c: ca.sqrt(1 + a**2), lambda a, b, c: ca.if_else(a > b, a, c), lambda a, b, c: ca.fmax(a, b) * c),
)


def build_random_graph(seed: int, length: int = 150) -> ca.Function:
    """Random operations on two vectors; products feed sums often, so that fusing has much to decide."""
    rng = np.random.default_rng(seed)
    x, y = ca.SX.sym("x", 5), ca.SX.sym("y", 3)
    values = [*ca.vertsplit(x), *ca.vertsplit(y), ca.SX(float(rng.normal()))]
    for _ in range(length):
        operands = (values[-1 - int(rng.integers(min(12, len(values))))] for _ in range(3))
        new = RULES[int(rng.integers(len(RULES)))](*operands)
        values.append(new / (1 + 1e-3 * new**2))  # keeps magnitudes tame
    matrix = ca.reshape(ca.vertcat(*values[-6:]), 2, 3)
    return ca.Function(f"graph{seed}", [x, y], [matrix, ca.vertcat(*values[-9:-6]), ca.sum1(x)])


def build_chain(joints: int) -> ca.Function:
    """Tip position, velocity-like sums and a linear recursion of a spatial chain: the pattern of arm dynamics."""
    q, qd = ca.SX.sym("q", joints), ca.SX.sym("qd", joints)
    R, p, w, v = ca.SX.eye(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3)
    forces = []
    for i in range(joints):
        c, s = ca.cos(q[i]), ca.sin(q[i])
        turn = ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        R = R @ turn @ (ca.DM([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) if i % 2 else ca.DM.eye(3))
        w = w + R[:, 2] * qd[i]
        arm = R @ ca.DM([0.7 + 0.1 * (i % 3), 0, 0.05])
        v = v + ca.cross(w, arm)
        p = p + arm
        forces.append(ca.dot(v, v) / (1 + ca.dot(p, p)) + ca.dot(w, arm))
    return ca.Function("chain", [q, qd], [p, R, ca.vertcat(*forces)], ["q", "qd"], ["p", "R", "forces"])


@pytest.fixture(scope="session")
def random_graph() -> Callable[..., ca.Function]:
    return build_random_graph


@pytest.fixture(scope="session")
def chain() -> Callable[[int], ca.Function]:
    return build_chain
