"""Four numbers of the two-link arm come back from noisy readings, within the errors that the fit itself states."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import norm
from scipy.stats import t as student

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.identification.precision import covariance
from pliant.identification.residuals import Residuals, loss_function

from .conftest import FOUR, START, measure, model, perturbed


def trial(seed: int, t_end: float = 2.0, rows: int = 2000) -> tuple[np.ndarray, np.ndarray, bool]:
    """Relative errors, whether each number lies in its own interval, and whether all lie in the simultaneous ones."""
    truth = perturbed(seed)
    found = pliant.identify(model(), measure(truth, seed, t_end=t_end, rows=rows), FOUR, start=START)
    assert not found.unresolved
    low, high = found.intervals().T
    low_all, high_all = found.intervals(simultaneous=True).T
    errors = np.abs(found.estimates / truth - 1)
    return errors, (low <= truth) & (truth <= high), bool(((low_all <= truth) & (truth <= high_all)).all())


def test_a_handful() -> None:
    """Within 1 % at 1 % noise; of 2 x 4 intervals at most 3 miss (the chance of more is 4e-4)."""
    outcomes = [trial(seed, 1.0, 400) for seed in range(2)]
    assert max(errors.max() for errors, _, _ in outcomes) < 0.01
    assert sum((~inside).sum() for _, inside, _ in outcomes) <= 3


@pytest.mark.full
def test_a_hundred() -> None:
    """Each number is in its 95 % interval in at least 90 of 100 trials, and all four in the simultaneous ones."""
    outcomes = [trial(seed) for seed in range(100)]
    inside = np.array([o[1] for o in outcomes]).sum(axis=0)
    together = sum(o[2] for o in outcomes)
    worst = max(o[0].max() for o in outcomes)
    print(f"inside {inside}, together {together}, largest error {worst:.2%}")
    assert inside.min() >= 90
    assert together >= 90
    assert worst < 0.01


def test_known_noise_is_judged(recording: pliant.identification.Recording) -> None:
    """With the right noise chi2 is about 1 (deviation sqrt(2/2400) = 3 %), with a tenth of it about 100."""
    sizes = {name: 0.01 * float(np.std(recording.readings[name])) for name in recording.channels}
    for factor, expected in ((1.0, 1.0), (0.1, 100.0)):
        noise = {name: factor * size for name, size in sizes.items()}
        given = pliant.identification.Recording(
            recording.t, recording.readings, noise, recording.q0, torque=recording.torque, sensors=recording.sensors
        )
        found = pliant.identify(model(), given, FOUR, start=START)
        assert found.chi2 == pytest.approx(expected, rel=0.15)


@pytest.mark.slow
def test_outliers() -> None:
    """One reading in fifty is nonsense: a robust loss stays within 1 %, squares do not."""
    truth = perturbed(5)
    clean = measure(truth, 5)
    rng = np.random.default_rng(5)
    spoilt = {}
    for name, values in clean.readings.items():
        bad = rng.random(len(values)) < 0.02
        spoilt[name] = np.where(bad, values + 2 * np.std(values), values)
    given = pliant.identification.Recording(clean.t, spoilt, q0=clean.q0, torque=clean.torque, sensors=clean.sensors)
    robust = pliant.identify(model(), given, FOUR, start=START, loss="cauchy")
    plain = pliant.identify(model(), given, FOUR, start=START)
    errors = [np.abs(found.estimates / truth - 1).max() for found in (robust, plain)]
    assert errors[0] < 0.01 < errors[1]


@pytest.mark.slow
def test_unknown_noise_counts_the_fitted_numbers() -> None:
    """Four numbers fitted to 28 readings: sum of squares over 24, shared by the channels, and chi2 of one."""
    found = pliant.identify(model(), measure(perturbed(3), 3, t_end=0.6, gauges=False, rows=6), FOUR, start=START)
    count = sum(len(channel.t) for channel in found.channels)
    assert count == 28
    for channel in found.channels:
        squares = float(np.mean(channel.residual**2))
        assert channel.noise == pytest.approx(np.sqrt(squares * count / (count - 4)), rel=0.02)  # the fit stops at 1 %
    assert found.chi2 == pytest.approx(1.0, rel=0.02)


def test_noise_and_intervals_under_a_robust_loss() -> None:
    """Noise of a normal distribution has the deviation 1.4826 median(|r|); intervals are Student's."""
    recording = measure(perturbed(2), 2, t_end=0.5, gauges=False, rows=50)
    found = pliant.identify(model(), recording, FOUR, start=START, loss="soft_l1")
    for channel in found.channels:
        expected = np.median(np.abs(channel.residual)) / norm.ppf(0.75)
        assert channel.noise == pytest.approx(expected, rel=0.02)  # the fit stops at 1 %
    np.testing.assert_allclose(found.standard_errors**2, np.diag(found.covariance), rtol=1e-12)
    freedom = sum(len(channel.t) for channel in found.channels) - 4
    for together, tail in ((False, 0.1), (True, 0.1 / 4)):
        half = student.ppf(1 - tail / 2, freedom) * found.standard_errors
        low, high = found.intervals(0.9, simultaneous=together).T
        np.testing.assert_allclose([low, high], [found.estimates - half, found.estimates + half], rtol=1e-9)


def test_restarts_leave_a_valley_beside_the_right_one() -> None:
    """Seven periods of a beam that is taken for 30 % too soft: one of them too few fits them next best."""
    beam = Beam(length=0.7, mass_per_length=0.9, EI_y=40.0, EI_z=55.0)
    link = Link(name="rod", joint=Joint(type="fixed"), beam=beam, shapes=Shapes(bending_y=1))
    rod = Robot(name="rod", gravity=(0, 0, 0), links=[link]).model(stiffening="off", parameters=["links.rod.beam.EI_z"])
    (name,), f = rod.coordinates, float(rod.frequencies()[0])
    run = pliant.simulate(rod, 7 / f, {name: 0.02}, output_step=0.05 / f)
    noisy = run[name] + 1e-5 * np.random.default_rng(0).normal(size=len(run.t))
    recording = pliant.identification.Recording(run.t, {name: noisy}, noise=1e-5, q0={name: 0.02})
    start = {rod.parameters[0]: 0.7 * 55.0}
    alone, best = (
        pliant.identify(rod, recording, rod.parameters, start=start, stages=[1.0], restarts=count) for count in (0, 7)
    )
    assert alone.estimates[0] < 45.0
    assert best.estimates[0] == pytest.approx(55.0, rel=1e-3)


def test_a_prior_is_one_more_reading() -> None:
    """(value - mean) / deviation of those that have one, and its slope by differences; a ridge adds its own rows."""
    prior = np.array([[np.nan, np.nan], [3.0, 0.25], [-2.0, 4.0]])
    fitted = SimpleNamespace(prior=prior, scale=np.array([2.0, 5.0, 0.5]))
    u = np.array([1.0, 0.7, -3.0])
    for ridge in (0.0, 0.3):
        given = SimpleNamespace(fitted=fitted, _ridge=(ridge, np.array([0.9, 0.6, -2.0])))
        values, slopes = Residuals.prior(given, u)  # type: ignore[arg-type]
        expected = [(0.7 * 5.0 - 3.0) / 0.25, (-3.0 * 0.5 + 2.0) / 4.0, *([0.03, 0.03, -0.3] if ridge else [])]
        np.testing.assert_allclose(values, expected, rtol=1e-12)
        ends = [[Residuals.prior(given, u + s * h)[0] for s in (1, -1)] for h in 1e-3 * np.eye(3)]  # type: ignore[arg-type]
        np.testing.assert_allclose(slopes, np.array([(a - b) / 2e-3 for a, b in ends]).T, atol=1e-9)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy"])
def test_losses_are_those_of_scipy(loss: str) -> None:
    r, scale = np.linspace(-5, 5, 11), 1.7
    theirs = least_squares(lambda x: r + 0 * x[0], [0.0], loss=loss, f_scale=scale, max_nfev=1).cost
    assert loss_function(loss, r**2, scale)[0].sum() / 2 == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(("loss", "scale"), [("soft_l1", 1.7), ("huber", 1.7), ("cauchy", 12.0)])
def test_covariance_under_a_robust_loss(loss: str, scale: float) -> None:
    """H^-1 B H^-1 with the curvature of the cost and the squares of its slopes, both by differences."""
    rng = np.random.default_rng(4)
    J, y = rng.normal(size=(40, 2)) * [1.0, 3.0], rng.normal(size=40) * 3
    at = np.array([0.1, -0.2])

    def costs(u: np.ndarray) -> np.ndarray:
        return np.asarray(loss_function(loss, (J @ u - y) ** 2, scale)[0] / 2)

    h = 1e-4
    steps = h * np.eye(2)
    slopes = np.array([(costs(at + s) - costs(at - s)) / (2 * h) for s in steps])
    H = np.array(
        [[(costs(at + a + b) - costs(at + a - b) - costs(at - a + b) + costs(at - a - b)).sum() / (4 * h * h)
          for b in steps] for a in steps]
    )  # fmt: skip
    expected = np.linalg.inv(H) @ (slopes @ slopes.T) @ np.linalg.inv(H)
    residuals = SimpleNamespace(
        weighted=lambda u: (J @ u - y, J), prior=lambda u: (np.zeros(0), np.zeros((0, 2))), loss=loss, loss_scale=scale
    )
    fitted = SimpleNamespace(prior=np.full((2, 2), np.nan), names=("a", "b"))
    found = covariance(residuals, at, (), fitted)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # differences


def test_start_and_rest_are_fitted_too() -> None:
    """A lumped drive and an unknown start of one joint; the arm begins at rest under its own weight."""
    robot = pliant.load("two-link").replace({"payload.mass": 1.0})
    paths = ("links.upper.beam.EI_z", "payload.mass")
    truth = np.array([800.0, 1.3])
    real = robot.replace(dict(zip(paths, truth))).model()
    q0 = real.equilibrium([0.2, 0.5])
    run = pliant.simulate(real, 0.6, q0, qd0={"fore": 0.35}, output_step=0.005)
    rng = np.random.default_rng(1)
    readings = {
        name: y + 1e-3 * rng.normal(size=len(y)) for name, y in (("upper", run["upper"]), ("tip.y", run.tip[:, 1]))
    }
    given = pliant.identification.Recording(
        run.t, readings, 1e-3, q0={"upper": 0.2, "fore": 0.5}, equilibrium=True, free_start=["fore.rate"], name="drop"
    )
    found = pliant.identify(robot, given, paths)
    assert found.parameters == (*paths, "drop: fore.rate")
    z = (found.estimates - [*truth, 0.35]) / found.standard_errors
    assert np.abs(z).max() < 4
    assert found["payload.mass"] == pytest.approx(1.3, rel=0.01)
