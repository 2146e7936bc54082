"""Riccati equations: doubling gives what SciPy gives, and what SciPy cannot; where there is no solution, none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from pliant.control.controllers import riccati
from pliant.control.controllers.lqr import check_weights
from pliant.errors import ModelError
from pliant.scenario import Scenario

SOLVERS = {
    "continuous": (riccati.continuous, "solve_continuous_are"),
    "discrete": (riccati.discrete, "solve_discrete_are"),
}
LIGHT = {
    "type": "output-feedback",
    "sample_time": 0.002,
    "regulator": {"type": "lqr", "joints": [0, 0], "Q": {"joints": 1e3, "rates": 10}, "R": 0.01},
    "observer": {"type": "kalman", "joints": [0, 0], "sensors": [
        {"type": "encoder", "joint": "upper", "noise": 1e-4}, {"type": "encoder", "joint": "fore", "noise": 1e-4},
        {"type": "strain-gauge", "link": "fore", "x": 0.05, "noise": 1e-3},
    ]},
}  # fmt: skip


def refuse(*_: Any, **__: Any) -> Any:
    raise np.linalg.LinAlgError("reordering failed")


def system(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    n, m = 6, 2
    Q, R = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    return rng.normal(size=(n, n)), rng.normal(size=(n, m)), Q @ Q.T, R @ R.T + np.eye(m)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("seed", range(5))
def test_doubling_gives_what_scipy_gives(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solve, name = SOLVERS[kind]
    expected = solve(*system(seed))
    monkeypatch.setattr(scipy.linalg, name, refuse)
    np.testing.assert_allclose(solve(*system(seed)), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_cost_across_state_and_input(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B, Q, R = system(7)
    S = 0.1 * np.random.default_rng(8).normal(size=B.shape)
    expected = riccati.discrete(A, B, Q, R, S)
    monkeypatch.setattr(scipy.linalg, "solve_discrete_are", refuse)
    np.testing.assert_allclose(riccati.discrete(A, B, Q, R, S), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", SOLVERS)
def test_what_cannot_be_stabilised_stays_unsolved(kind: str) -> None:
    """A growing motion that no input reaches."""
    solve, _ = SOLVERS[kind]
    with pytest.raises(np.linalg.LinAlgError):
        solve(np.diag([2.0, 0.5]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))


def test_a_vibration_that_hardly_decays_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm of the scenario page has no damping: SciPy's order of its poles is left to rounding."""
    for solver in (scipy.linalg.solve_discrete_are, refuse):
        monkeypatch.setattr(scipy.linalg, "solve_discrete_are", solver)
        found = Scenario(robot="two-link", duration=0.02, controller=LIGHT)
        observer = found.driving[0].bind(found.built).filter
        poles = np.linalg.eigvals(observer.A - observer.A @ observer.L @ observer.C)
        assert 0.99 < np.abs(poles).max() < 0.995


def test_weights_that_are_symmetric_up_to_rounding_are_taken():
    """A product T^T W T misses symmetry by round-off of its largest entry, also where an entry is nearly zero."""
    Q = np.diag([100.0, 3.0, 1e-3, 1.0])
    Q[1, 2], Q[2, 1] = 1e-15, -1e-15
    check_weights(Q, np.eye(2))
    with pytest.raises(ModelError, match="Q: expected a symmetric"):
        check_weights(Q + np.triu(np.full((4, 4), 1e-9), 1), np.eye(2))
