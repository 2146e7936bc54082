"""Parts of the study of the rigs: simple models as the data score them, filters of the loop, arms that ship."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.validation import nrmse, pooled_nrmse
from pliant_studies.measured import CALIBRATIONS, RIGS, load_rig, measured_run
from pliant_studies.rigs import bar, fits, simple, two_link
from pliant_studies.rigs.loop import DEFLECTION, EulerFilter, Lqg, closed_loop, controllers

SCORED = {
    "lqr_square": ([0.64, 0.95], [0.60, 0.96], [0.66, 2.5, 1.4, 0.99]),
    "lqg_staircase": ([2.5, 1.17], [1.33, 1.06], [1.8, 1.9, 0.93, 0.99]),
}
"""README of the data: lumped and rigid from the encoders, lumped from the currents."""


@pytest.mark.parametrize("name", ["lqr_square", pytest.param("lqg_staircase", marks=pytest.mark.full)])
def test_simple_models_score_as_published(name: str) -> None:
    """To the last printed digit."""
    run = measured_run(name)
    late = run["t_s"] - run["t_s"][0] > two_link.FIRST
    measured = np.column_stack([run[s] for s in two_link.STRAINS])[late]
    for said, wanted in zip(simple.strains_from_encoders(name), SCORED[name][:2]):
        found = [nrmse(said[:, k], measured[:, k]) for k in (0, 1)]
        np.testing.assert_allclose(found, wanted, atol=0.06 if max(wanted) > 2 else 0.006)
    windows, said = two_link.measured_windows(name), simple.from_currents(name)
    found = [pooled_nrmse([w[:, k] for w in said], [m[:, k] for _, m in windows]) for k in range(4)]
    np.testing.assert_allclose(found, SCORED[name][2], atol=0.06)
    assert simple.held_frequencies() == pytest.approx([2.437, 5.194], abs=1e-3)


def test_the_filter_of_the_rig_is_that_of_its_log() -> None:
    """Filtered twice: the input comes back by the formula of the README."""
    h, told, said = 0.002, np.sin(np.arange(500) * 0.02), []
    low = EulerFilter(DEFLECTION, h, 0.0)
    for value in told:
        said.append(low.said)
        low.tell(float(value))
    value, rate = np.array(said).T
    w, z = DEFLECTION
    np.testing.assert_allclose(np.diff(value), h * rate[:-1], atol=1e-14)
    np.testing.assert_allclose(np.diff(rate) / (h * w**2) + 2 * z / w * rate[:-1] + value[:-1], told[:-1], atol=1e-12)


def test_the_commanded_currents_come_back() -> None:
    """State feedback on what the filters make of the measured angles and strains of lqr_square is the logged current.

    The run has every second sample; filters need all, so that samples between are interpolated: to 5 % of the spread.
    """
    given, run = controllers(), measured_run("lqr_square")
    h, t = given["sample_time_s"], run["t_s"] - run["t_s"][0]
    fine = np.arange(0.0, 10.0, h)
    angle, strain, reference = (np.interp(fine, t, run[c]) for c in ("theta1_rad", "strain1", "ref1_rad"))
    turned, bent = EulerFilter((2 * np.pi * 40, 0.9), h, float(angle[0])), EulerFilter(DEFLECTION, h, float(strain[0]))
    K, found = np.array(given["lqr"]["K1"]), []
    for a, s, r in zip(angle, strain, reference):
        deflection, bending = bent.said
        found.append(K @ np.array([r - a, -deflection, -turned.said[1], -bending]))
        turned.tell(float(a))
        bent.tell(given["deflection_per_strain"]["stage1"] * float(s))
    late = fine > 2.0
    wanted = np.interp(fine, t, run["i1_cmd_A"])
    assert nrmse(np.clip(found, -0.94, 0.94)[late], wanted[late]) < 0.05


def test_lqg_holds_between_its_samples() -> None:
    lqg = Lqg(controllers()["lqg"], 0.002)
    goal = np.array([0.1, 0.0, 0.0, 0.0])
    asked = [lqg.current(np.zeros(4), goal) for _ in range(6)]
    assert asked[:5] == [asked[0]] * 5 != asked[1:]
    assert asked[0] == pytest.approx(0.1 * 9.078460179221032)


@pytest.mark.slow
def test_a_short_closed_loop_follows() -> None:
    """Angles of the first 0.8 s are near what was measured."""
    _, measured, said = closed_loop(load_rig("2dsfl-from-staircase"), "lqr_square", duration=0.8)
    assert said.shape == measured.shape
    assert np.abs(said[:, 0] - measured[:, 0]).max() < 0.05


def test_arms_that_ship_have_their_calibration() -> None:
    identified = [rig for rig in RIGS if "from" in rig or "without" in rig]
    assert sorted(CALIBRATIONS) == sorted(identified)
    for rig in identified:
        robot = load_rig(rig)
        assert all(link.joint.friction.coulomb > 0 for link in robot.links)
    for path in fits.STIFFNESS:
        found = [load_rig(f"2dsfl-from-{run}").paths()[path] for run in ("square", "staircase")]
        assert max(found) / min(found) < 1.1


def test_a_balance_gives_back_the_drives() -> None:
    """Currents made from known numbers: the balance finds them again."""
    robot = load_rig("2dsfl-from-square")
    constants = fits.balance(robot, "lqr_square")
    again = fits.with_drives(robot, constants).paths()
    for path, value in robot.paths().items():
        if "motor" in path or "friction" in path:
            assert again[path] == pytest.approx(value, rel=1e-3), path


def test_the_start_of_the_bar() -> None:
    """The hub slows down right behind the flank: the rate there is less than that before, which is the steady one."""
    rates = [bar.window("a15_f10", before=before).qd0["bar"] for before in (True, False)]  # type: ignore[index,call-overload]
    assert abs(rates[0]) == pytest.approx(np.deg2rad(277), rel=0.1)
    assert abs(rates[1]) < 0.5 * abs(rates[0])


@pytest.mark.full
def test_the_staircase_gives_the_arm_that_ships() -> None:
    """Stiffness, with the damping that its halves had chosen, fitted anew."""
    found = fits._fitted("lqg_staircase", load_rig("2dsfl-from-staircase").paths()[fits.DAMPING[0]], True)
    shipped = load_rig("2dsfl-from-staircase").paths()
    for path in fits.STIFFNESS:
        assert found[path] == pytest.approx(shipped[path], rel=2e-3)


@pytest.mark.full
def test_the_square_gives_the_arm_that_ships() -> None:
    """Link 2, with the stiffness of link 1 from the data sheet, which its halves do not tell from a fitted one."""
    shipped = load_rig("2dsfl-from-square").paths()
    assert shipped[fits.STIFFNESS[0]] == load_rig("2dsfl-nominal").paths()[fits.STIFFNESS[0]]
    found = fits._fitted("lqr_square", shipped[fits.DAMPING[0]], False)
    assert found[fits.STIFFNESS[1]] == pytest.approx(shipped[fits.STIFFNESS[1]], rel=2e-3)
    assert found.calibration == pytest.approx(CALIBRATIONS["2dsfl-from-square"], rel=0.02)


def test_what_is_not_told_apart_is_not_fitted() -> None:
    """The stiffness of the data sheet within 2 % of the best, then the middle damping; else what predicts better."""
    assert fits.chosen({(0.02, True): 0.249, (0.02, False): 0.257, (0.03, False): 0.2489, (0.04, False): 0.2486}) == (
        0.04,
        False,
    )
    assert fits.chosen({(0.01, True): 0.2, (0.02, True): 0.143, (0.03, True): 0.143, (0.03, False): 0.34}) == (
        0.03,
        True,
    )


@pytest.mark.full
@pytest.mark.parametrize("left_out", bar.RUNS)
def test_two_runs_give_the_bar_that_ships(left_out: str) -> None:
    """Fitted anew from where it ended, on the two runs that the third is predicted by."""
    rig = f"ist-bar-without-{left_out[:3]}"
    robot = load_rig(rig)
    found = bar.fit_once([name for name in bar.RUNS if name != left_out], robot)
    for path in bar.FITTED[:6]:
        assert found[path] == pytest.approx(robot.paths()[path], rel=0.01), path
    assert found["input.bar.offset"] == pytest.approx(CALIBRATIONS[rig]["input.bar.offset"], rel=0.02)
