"""Roots of a sliding beam as states of a run, against roots that are solved for at every length."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.batch import simulate_batch
from pliant.control import PD, Cycloidal, natural_gains
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics import equations
from pliant.mechanics.shapes import clamped_mass_roots
from pliant.mechanics.sliding.sliding_roots import carried_roots
from pliant.robot import load
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate

START, GOAL = (0.0, 0.0, 0.4), (1.0, 0.5, 0.6)


def true_roots(lengths: Any) -> Any:
    return np.array([clamped_mass_roots(2, 0.0828 / (0.331 * l)) for l in lengths])


@pytest.fixture(scope="module")
def run() -> Result:
    model = load("rrp").model(roots="integrated", stiffening=False)
    return simulate(model, 0.2, [*START, *[0.0] * 8], controller=_law(model), output_step=0.02)


def _law(model: Any) -> PD:
    kp, kd = natural_gains(model, [*GOAL, *[0.0] * 8], 60.0)
    return PD(kp, kd, Cycloidal(START, GOAL, 0.2), gravity="none")


@pytest.mark.slow
def test_a_run_integrates_the_roots_to_what_they_are(run: Result) -> None:
    assert run.roots is not None
    assert run.roots.shape == (11, 2)  # both planes carry the same load and share their roots
    assert np.abs(run.roots - true_roots(run["slide"])).max() < 1e-10
    assert np.ptp(run["slide"]) > 0.15


@pytest.mark.slow
def test_the_motion_is_that_of_solved_roots(run: Result) -> None:
    model = load("rrp").model(stiffening=False)
    solved = simulate(model, 0.2, [*START, *[0.0] * 8], controller=_law(model), output_step=0.02)
    assert solved.roots is None
    assert np.abs(run.q - solved.q).max() < 1e-9


@pytest.mark.parametrize(
    "formulation",
    [
        "denoc",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("gibbs-appell", "lagrange", "recursive-lagrange")),
    ],
)
def test_accelerations_are_those_of_solved_roots(formulation: str) -> None:
    """At roots that are right every derivative is, first and second, in every formulation that takes sliding beams."""
    model = load("rrp").model(stiffening=False)
    roots = carried_roots(model.chain)
    q, qd, beta, tau = (ca.SX.sym(*x) for x in (("q", 11), ("qd", 11), ("beta", roots.size), ("tau", 3)))
    eq = equations(roots.chain, formulation)
    qdd = roots.closed([eq.forward_dynamics(q, qd, tau)], beta, q)[0]
    rng = np.random.default_rng(1)
    state, rate = 0.01 * rng.normal(size=11), rng.normal(size=11)
    state[2] = 0.7
    found = ca.Function("f", [q, qd, beta, tau], [qdd])(state, rate, roots.start(state), [1.0, 2.0, 3.0])
    expected = model.forward_dynamics(state, rate, [1.0, 2.0, 3.0])
    assert np.allclose(np.array(found).ravel(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.slow
def test_a_prescribed_length_carries_its_roots_too() -> None:
    model = load("rrp").model(roots="integrated", stiffening=False)
    found = simulate(model, 0.1, motion={"slide": lambda t: 0.3 + 2 * t}, output_step=0.05)
    assert found.roots is not None
    assert np.abs(found.roots - true_roots([0.3, 0.4, 0.5])).max() < 1e-9


@pytest.mark.slow
def test_files_and_copies_keep_the_option_and_the_roots(run: Result, tmp_path: Path) -> None:
    again = Result.load(run.save(tmp_path / "run.nc"))
    assert again.roots is not None
    assert run.roots is not None
    assert np.array_equal(again.roots, run.roots)
    assert again.model.options.roots == "integrated"
    assert pickle.loads(pickle.dumps(run.model)).options == run.model.options


def test_refusals() -> None:
    with pytest.raises(ModelError, match="roots: got 'table'"):
        load("rrp").model(roots="table")
    for arm in (load("two-link"), load("rrp").replace({"links.slide.shapes.boundary": "clamped-free",
                                                       "links.slide.shapes.tip_load": None})):  # fmt: skip
        with pytest.raises(ModelError, match="no roots that move"):
            arm.model(roots="integrated", stiffening=False)
    with pytest.raises(UnsupportedModel, match="roots='solved'"):
        simulate_batch(
            load("rrp").model(roots="integrated", stiffening=False), 0.1, step=1e-3, q0=[[*START, *[0.0] * 8]]
        )
