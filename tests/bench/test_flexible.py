"""Curves and comparisons of the flexible arm, with engines that are given rather than run."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.mechanics.shapes import clamped_mass_roots
from pliant_bench import flexible
from pliant_bench.equal_accuracy import OURS, PAIRS, CommonMotion, Setting
from pliant_bench.findings import Report
from pliant_bench.flexible import ASKED, EXUDYN
from pliant_bench.lumped_chain import segments
from pliant_bench.peers import PeerRun, PlanarArm, PlanarLink

T = np.linspace(0.0, 2.0, 21)
EXACT = PeerRun("exact", T, np.zeros((21, 2)), np.zeros((21, 2)), 0.0, 0.0)
MOTION = CommonMotion("flexible", "two-link", "released", 2.0, EXACT, "none", flexible._error)


def setting(engine: str, label: str, angle: float, deflection: float, wall: float) -> Setting:
    """An engine that is off by so much and takes so long for 2 s."""
    angles, deflections = np.zeros((21, 2)), np.zeros((21, 2))
    angles[7, 1], deflections[13, 0] = -angle, deflection
    return Setting(engine, label, lambda: PeerRun(engine, T, angles, deflections, wall, 0.5))


def measured(settings: list[Setting]) -> tuple[Report, dict[Setting, flexible.Point]]:
    report = Report()
    return report, MOTION.curve(report, settings, rounds=3)


def test_error_is_the_worse_of_angle_and_deflection_and_time_that_of_a_simulated_second() -> None:
    off_angle, off_end = setting(OURS, "a", 2e-4, 3e-6, 0.5), setting(OURS, "b", 1e-5, 6e-5, 0.2)
    _, points = measured([off_angle, off_end])
    assert points[off_angle].error == pytest.approx(2.0)
    assert points[off_end].error == pytest.approx(2.0)
    assert points[off_end].deflection_error == pytest.approx(6e-5)
    assert points[off_angle].seconds.values == (0.25, 0.25, 0.25)


def test_a_setting_that_fails_is_named_and_left_out() -> None:
    def broken() -> PeerRun:
        raise RuntimeError("Newton did not converge\nat t = 0.3")

    good, bad = setting(OURS, "good", 0.0, 0.0, 1.0), Setting(EXUDYN, "coarse", broken)
    report, points = measured([good, bad])
    assert list(points) == [good]
    assert report.failures == ["flexible: Exudyn, coarse FAILED, Newton did not converge"]


@pytest.mark.parametrize(
    ("our_wall", "our_deflection", "met"),
    [(0.1, 2e-5, True), (0.15, 2e-5, False), (0.1, 2.5e-5, False)],
    ids=["fast and accurate", "too slow", "less accurate than the rival"],
)
def test_limit_is_judged_at_equal_or_better_accuracy(our_wall: float, our_deflection: float, met: bool) -> None:
    settings = [
        setting(OURS, "coarse", 1e-3, 1e-3, 0.001),
        setting(OURS, "fine", 1e-5, our_deflection, our_wall),
        setting(EXUDYN, "coarse", 1e-3, 1e-3, 0.5),
        setting(EXUDYN, "cheapest within", 1e-5, 2.4e-5, 2.2),
        setting(EXUDYN, "fine", 1e-6, 1e-6, 60.0),
    ]
    report, points = measured(settings)
    MOTION.compare(report, points, EXUDYN, PAIRS, ASKED[EXUDYN])
    (found,) = report.comparisons
    assert found.asked == ASKED[EXUDYN] == 20.0
    assert found.peer.engine == "Exudyn, cheapest within"
    assert found.ours.engine == "pliant, fine"
    assert len(found.ratio.values) == PAIRS
    assert found.ratio.median == pytest.approx(2.2 / our_wall)
    assert found.met is met


def test_verdict_on_the_curve_names_what_is_not_beaten() -> None:
    ours = setting(OURS, "ours", 1e-5, 1e-6, 1.0)
    report, points = measured([ours, setting(EXUDYN, "slow", 1e-5, 3e-6, 2.0), setting(EXUDYN, "quick", 1e-3, 0, 0.1)])
    flexible._judge(report, list(points.values()))
    ((text, met),) = report.verdicts
    assert not met
    assert "quick" in text
    assert "slow" not in text
    assert "within 0.1 of the allowed error" in report.notes[-1]


def test_lumped_chain_tends_to_the_beam() -> None:
    """Rods and springs in place of a beam with a tip mass: the roots of its frequency equation, in second order."""
    L, mu, EI, tip = 1.3, 2.1, 160.0, 0.8
    arm = PlanarArm((PlanarLink(L, mu, EI, None, 1e6, tip, 0.02),), (0.0, 0.0))  # a hub that does not turn
    exact = clamped_mass_roots(2, tip / (mu * L), 0.02 / (mu * L**3)) ** 2 * np.sqrt(EI / mu) / L**2 / (2 * np.pi)
    errors = []
    for elements in (8, 16):
        chain = segments(arm, elements)
        found = chain.frequencies(np.zeros(chain.n))
        errors.append(np.abs(found[1:3] / exact - 1).max())
        assert chain.mass.sum() == pytest.approx(mu * L + tip, rel=1e-12)
        assert chain.length.sum() == pytest.approx(L, rel=1e-12)
        whole = mu * L**3 / 3 + tip * L**2 + 0.02 + 1e6  # about the hub, when nothing is bent
        assert chain.mass_matrix(np.zeros(chain.n))[0, 0] == pytest.approx(whole, rel=1e-14)
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
