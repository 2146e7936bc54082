"""Linkages by implicit methods: they follow explicit ones, end every step closed, find events, keep their energy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pliant
from linkages import FOUR_BAR, SLIDER_CRANK, four_bar, passive, slider_crank
from pliant.integrators import Solution, solve
from pliant.model.loops.assembly import mechanism
from pliant.robot import Beam, Link, Shapes
from pliant.simulation.runs.equations.composition import compose

START: dict[str, Any] = {"q0": {"crank": 0.7}, "qd0": {"crank": 8.0}}
END, EXACT = 0.1, {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}


@cache
def stiff() -> pliant.Model:
    """A four-bar whose coupler bends, with damping."""
    beam = Beam(length=FOUR_BAR["coupler"], mass_per_length=0.5, EI_y=40.0, EI_z=40.0)
    links = list(four_bar().links)
    links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=2, damping=0.1))
    return four_bar(links=links).model()


@cache
def exact() -> pliant.Result:
    return pliant.simulate(stiff(), END, **START, **EXACT, output_step=0.01)


@pytest.mark.slow
def test_rodas5p_follows_the_explicit_method() -> None:
    """Where the explicit one is as fine as it can be; rows between its steps are closed to the tolerance."""
    run = pliant.simulate(stiff(), END, **START, method="rodas5p", rtol=1e-10, atol=1e-12, output_step=0.01)
    np.testing.assert_allclose(run.q, exact().q, atol=1e-8)
    np.testing.assert_allclose(run.qd, exact().qd, atol=1e-6 * np.abs(exact().qd).max())
    np.testing.assert_allclose(run.multipliers, exact().multipliers, atol=1e-5 * np.abs(exact().multipliers).max())
    assert np.abs(stiff().gaps(run.q)).max() < 10 * 1e-10


@pytest.mark.slow
def test_midpoint_follows_it_by_second_order() -> None:
    runs = [pliant.simulate(stiff(), END, **START, method="midpoint", step=h, output_step=0.01) for h in (2e-4, 1e-4)]
    errors = [np.abs(run.q - exact().q).max() for run in runs]
    assert 3.6 < errors[0] / errors[1] < 4.4
    np.testing.assert_allclose((4 * runs[1].q - runs[0].q) / 3, exact().q, atol=1e-6)
    assert max(np.abs(stiff().gaps(run.q)).max() for run in runs) < 1e-14  # rows of fixed steps are ends of steps


def at_steps(model: pliant.Model, t_end: float, **options: Any) -> Solution:
    """A run with a row at the end of every step."""
    composed = compose(model, None, None, {}, (), None, False, closed=True)
    first = pliant.simulate(model, 1e-3, **START)
    return solve(composed.problem(), (0.0, t_end), composed.start(first.q[0], first.qd[0]), **options)


@pytest.mark.parametrize(
    "options", [{"method": "rodas5p", "rtol": 1e-6, "atol": 1e-8}, {"method": "midpoint", "step": 5e-4}]
)
def test_every_step_ends_closed(options: dict[str, Any]) -> None:
    """Positions to 1e-11 and better, speeds likewise, whatever the tolerance."""
    model = stiff()
    rows = at_steps(model, 0.3, **options).x
    by, n = mechanism(model, model.nominal_parameters), model.n
    assert len(rows) > 30
    assert np.abs(model.gaps(rows[:, :n])).max() < 1e-13
    assert max(np.abs(by.slopes(x[:n]) @ x[n : 2 * n]).max() for x in rows[::5]) < 1e-11


@pytest.mark.parametrize("options", [{"method": "rodas5p"}, {"method": "midpoint", "step": 1e-4}])
def test_events_end_on_closed_loops(options: dict[str, Any]) -> None:
    level = pliant.Event("level", lambda t, q, qd: q[2] - 1.72)
    found, expected = (
        pliant.simulate(stiff(), 1.0, **START, events=[level], **given) for given in (options, EXACT)
    )  # fmt: skip
    assert found.stats.status == expected.stats.status == "event"
    assert found.t[-1] == pytest.approx(expected.t[-1], abs=1e-6)
    assert found["rocker"][-1] == pytest.approx(1.72, abs=1e-7)
    assert np.abs(stiff().gaps(found.q[-1])).max() < 1e-14


# ------------------------------------------------------------------------------------------ energy


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_a_slider_crank_that_bends_keeps_its_energy(method: str) -> None:
    """At the default tolerance: 1e-7 of the greatest kinetic energy is asked, and 1e-8 kept."""
    links = list(slider_crank().links)
    rod = Beam(length=SLIDER_CRANK["rod"], mass_per_length=0.5, EI_y=8.0, EI_z=8.0)
    links[1] = Link(name="rod", joint=passive(), beam=rod, shapes=Shapes(bending_y=2))
    run = pliant.simulate(slider_crank(links=links).model(), 1.0, {"crank": 0.7}, {"crank": 10.0}, method=method)
    assert np.ptp(run["crank"]) > 6.0
    assert np.abs(run.q[:, 3:]).max() > 1e-3
    assert np.abs(run.energy_balance).max() < 1e-8 * run.energy.kinetic.max()


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_hundred_turns_of_a_four_bar(method: str) -> None:
    """What is lost is the local error of the steps, which goes with the tolerance: 5e-7 at 1e-8, 3e-8 at 1e-9."""
    model = four_bar(gravity=(0, 0, 0)).model()
    run = pliant.simulate(
        model, 150.0, {"crank": 0.7}, {"crank": 6.0}, method=method, rtol=1e-9, atol=1e-11, output_step=0.1
    )
    assert np.abs(run["crank"][-1] - 0.7) > 100 * 2 * np.pi
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()
    assert np.abs(model.gaps(run.q)).max() < 10 * 1e-9
