"""A fit says whether what it leaves over is noise: right models are believed, wrong ones told, errors widened."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.identification import Recording, fitting
from pliant.identification.estimate import FITS
from pliant.identification.lack_of_fit import DOUBT, autoregression, degrees_of_freedom, independent, spread_of

from .conftest import FOUR, GAUGES, Q0, START, arm, colored, measure, model, perturbed

THREE = {"links.upper.shapes.bending_y": 3, "links.fore.shapes.bending_y": 3}


@cache
def plain_model() -> pliant.Model:
    return arm().model(parameters=FOUR, stiffening="off")


@cache
def real_model(modes: bool) -> pliant.Model:
    """What is measured: three modes in a beam, or terms of third order, with the four numbers as parameters."""
    return (
        arm().replace(THREE).model(parameters=FOUR) if modes else arm().model(parameters=FOUR, stiffening="third-order")
    )


def readings(real: pliant.Model, seed: int, known: bool, noise: float = 0.01, color: float = 0.0) -> Recording:
    """A run under random torques; noise may be colored, the first-order kind."""
    rng = np.random.default_rng(seed)
    torque = (np.linspace(0, 1, 21), 30 * rng.normal(size=(21, 2)))
    run = pliant.simulate(real, 1.0, Q0, torque=torque, output_step=1 / 400, rtol=1e-9, p=perturbed(seed))
    clean = {"upper": run["upper"], "fore": run["fore"], "tip.x": run.tip[:, 0], "tip.y": run.tip[:, 1]}
    clean |= {name: run.strain(gauge.link, gauge.x, gauge.at) for name, gauge in GAUGES.items()}
    sizes = {name: noise * float(np.std(y)) for name, y in clean.items()}
    noisy = {}
    for name, y in clean.items():
        noisy[name] = y + sizes[name] * colored(rng, len(y), color)
    return Recording(run.t, noisy, sizes if known else None, Q0, torque=torque, sensors=GAUGES, name=f"swing {seed}")


def fitted(model: pliant.Model, recording: Recording) -> pliant.identification.Identification:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pliant.identify(model, recording, FOUR, start=START)


@pytest.mark.full
def test_a_rigid_arm_that_lacks_friction_is_told() -> None:
    """No link of it bends, and no order of stiffening is to blame."""
    rod = pliant.Link(
        name="rod", joint=pliant.Joint(axis=(0, 1, 0)),
        rigid=pliant.RigidBody(mass=1.7, com=(0.31, 0.0, 0.04), inertia=(0.01, 0.06, 0.06)),
    )  # fmt: skip
    path, robot = "links.rod.rigid.mass", pliant.Robot(name="rod", links=[rod])
    rubbed = robot.replace({"links.rod.joint.friction.viscous": 0.2}).model()
    run = pliant.simulate(rubbed, 1.0, [0.4], output_step=0.01)
    recording = Recording(run.t, {"rod": run["rod"]}, q0=[0.4], noise=1e-4)
    with pytest.warns(UserWarning, match="it may lack friction"):
        found = pliant.identify(robot.model(parameters=[path]), recording, [path], start={path: 1.6}, stages=[1.0])
    assert not found.verdict.fits


@pytest.mark.slow_cases("False", "True")
@pytest.mark.parametrize("known", [False, True])
def test_a_right_model_is_believed(known: bool) -> None:
    found = fitted(model(), readings(model(), 4, known))
    assert found.verdict.fits
    assert (found.verdict.chi2_probability is None) is not known
    assert "the residuals are noise" in str(found)
    assert f"chi2 per degree of freedom: {found.chi2:.4g}" in str(found)


@pytest.mark.slow_cases("False-False-stiffening='second-order'")
@pytest.mark.parametrize(
    ("modes", "known", "remedy"),
    [
        pytest.param(True, True, "more shape functions", marks=pytest.mark.full),
        pytest.param(True, False, "more shape functions", marks=pytest.mark.full),
        (False, False, "stiffening='second-order'"),
    ],
)
def test_a_wrong_model_is_told(modes: bool, known: bool, remedy: str) -> None:
    recording = readings(real_model(modes), 1, known)
    with pytest.warns(UserWarning, match="THE MODEL DOES NOT FOLLOW THE READINGS"):
        found = pliant.identify(model() if modes else plain_model(), recording, FOUR, start=START)
    assert not found.verdict.fits
    assert remedy in str(found)
    assert "intervals are widened" in str(found)
    assert found.to_dict()["verdict"]["fits"] is False
    if known:
        assert found.chi2 > 100
        assert "chi2 is" in str(found)


@pytest.mark.slow
def test_errors_are_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = readings(real_model(True), 1, True)
    wide = fitted(model(), recording).standard_errors
    monkeypatch.setattr(fitting, "verdict", lambda *given: FITS)
    assert (wide / fitted(model(), recording).standard_errors).min() > 10


@pytest.mark.slow
def test_tiny_residuals_of_the_integrator_are_not_judged() -> None:
    """Readings without noise: what is left over is smooth, and so small that no sensor would see it."""
    found = fitted(model(), measure(perturbed(5), 5, noise=0.0))
    assert found.verdict.fits


def test_an_autoregression_is_found(rng: np.random.Generator) -> None:
    e, r = rng.normal(size=20_000), np.zeros(20_000)
    for k in range(2, len(r)):
        r[k] = 1.2 * r[k - 1] - 0.6 * r[k - 2] + 0.7 * e[k]
    a, variance = autoregression(r)
    assert a[:2] == pytest.approx([1.2, -0.6], abs=0.05)
    assert variance == pytest.approx(0.49, rel=0.03)


def test_the_spread_of_colored_noise(rng: np.random.Generator) -> None:
    """Against the matrix of its autocovariances, for a slow and a fast slope."""
    N, a = 500, 0.8
    J = np.column_stack([np.linspace(-1, 1, N), np.sin(0.9 * np.arange(N))])
    lag = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    exact = J.T @ (a**lag / (1 - a**2)) @ J
    total = np.zeros((2, 2))
    for _ in range(60):
        total += spread_of(J, colored(rng, N, a) / np.sqrt(1 - a**2)) / 60
    assert np.diag(total) == pytest.approx(np.diag(exact), rel=0.12)
    assert np.diag(exact)[0] > 5 * np.diag(J.T @ J)[0] / (1 - a**2)  # white noise of that size would say much less


def test_readings_that_hang_together_count_for_fewer(rng: np.random.Generator) -> None:
    """Of noise of first order N (1 - a^2) / (1 + a^2): so sure is its size, as many trials of it show."""
    N, a = 4000, 0.8
    worth = N * (1 - a**2) / (1 + a**2)
    squares = [float(np.mean(colored(rng, N, a) ** 2)) for _ in range(400)]
    assert 2 / np.var(squares) == pytest.approx(worth, rel=0.3)  # 2 / n is the variance of a chi-squared over n
    r = colored(rng, N, a)
    assert independent(r) == pytest.approx(worth, rel=0.15)
    assert independent(rng.normal(size=N)) == pytest.approx(N, rel=0.05)
    assert degrees_of_freedom([r, r], 6, fits=False) == int(2 * independent(r)) - 6
    assert degrees_of_freedom([r, r], 6, fits=True) == 2 * N - 6


def inside(found: pliant.identification.Identification, seed: int) -> Any:
    low, high = found.intervals().T
    truth = perturbed(seed)
    return (low <= truth) & (truth <= high)


@pytest.mark.full
def test_colored_noise_widens_the_intervals() -> None:
    """Ten trials: of 40 intervals at most 6 miss (the chance of more is 1e-3); as if it were white, at least 14 do."""
    missed, white = 0, 0
    for seed in range(10):
        recording = readings(model(), seed, False, color=0.8)
        found = fitted(model(), recording)
        assert not found.verdict.fits
        assert 4 < found.freedom < 0.4 * sum(len(channel.t) for channel in found.channels)
        missed += int((~inside(found, seed)).sum())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fitting, "verdict", lambda *given: FITS)
            white += int((~inside(fitted(model(), recording), seed)).sum())
    assert missed <= 6
    assert white >= 14


@pytest.mark.long
@pytest.mark.parametrize("color", [0.0, 0.8])
def test_intervals_hold_what_they_say(color: float) -> None:
    """200 trials, each number 181 to 197 times in its 95 % interval, and all pooled in 93 to 97 %; also where the noise
    is colored and the errors are those of its spectrum."""
    hits, doubted = np.zeros((200, 4)), 0
    for seed in range(200):
        found = fitted(model(), readings(model(), seed, False, color=color))
        hits[seed] = inside(found, seed)
        doubted += not found.verdict.fits
    print(f"inside {hits.sum(axis=0)}, pooled {hits.mean():.3f}, doubted {doubted}")
    assert ((hits.sum(axis=0) >= 181) & (hits.sum(axis=0) <= 197)).all()
    assert 0.93 <= hits.mean() <= 0.97
    assert doubted <= 3 if color == 0.0 else doubted == 200


@pytest.mark.long
@pytest.mark.parametrize("modes", [True, False])
def test_wrong_models_are_told_nearly_always(modes: bool) -> None:
    doubted = 0
    for seed in range(100):
        try:
            found = fitted(model() if modes else plain_model(), readings(real_model(modes), seed, False))
            doubted += not found.verdict.fits
        except pliant.SimulationError:  # no optimum at all, which is told as well
            doubted += 1
    print(f"doubted {doubted} of 100")
    assert doubted >= 95


def test_the_doubt_is_rare() -> None:
    assert DOUBT <= 1e-3
