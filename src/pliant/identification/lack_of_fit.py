"""Tests whether a model follows its readings: chi-squared where the noise is known, whiteness of residuals where not.

A fit gives estimates and errors for every model; they mean something only if the residuals are noise. Where they are
not, errors are computed anew from the residuals, and runs of the fitted arm show which effects the model lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.errors import PliantError, warn_user
from pliant.identification.estimate import FitVerdict
from pliant.identification.residuals import Residuals
from pliant.model.stiffening.stiffening_order import NOTICED, is_checked
from pliant.simulation.runs.checks.neglected_terms import second_order_effect
from pliant.simulation.runs.inputs import listed
from pliant.simulation.runs.simulation import simulate

if TYPE_CHECKING:
    from pliant.simulation.runs.results import Result

DOUBT = 1e-3
"""Probability, over all channels, that a right model is doubted."""
LAGS = 20
"""Most lags of the autocorrelation that is tested."""
FEWEST = 40
"""Fewest readings of a channel whose residuals are tested."""
FINEST = 1e-5
"""Part of the deviation of a channel: smaller residuals come from the integrator, not from a sensor."""
MOST_TERMS = 30
"""Most terms of an autoregression."""
STRAIGHT = 0.1
"""Slope, rad, below which a beam is nearly straight: it then lacks shapes, not stiffening."""
LOST = 2e-3
"""Part of its length by which the tip of a link may be off in a run without being named."""


def verdict(residuals: Residuals, u: Array, freedom: int) -> FitVerdict:
    """Verdict on the fit at the scaled values `u`."""
    from scipy.special import chdtrc

    sum_of_squares, known, tested, reasons = 0.0, 0, [], []
    for name, r, was_given, fine in _series(residuals, u):
        if was_given:
            sum_of_squares, known = sum_of_squares + float(r @ r), known + len(r)
        if len(r) >= FEWEST and not fine:
            tested.append((_whiteness(r), name, r))
    chance = None
    if known:
        taken = freedom / max(freedom, sum(len(r) for _, r, _, _ in _series(residuals, u)))
        chance = float(chdtrc(max(1.0, known * taken), sum_of_squares))
        if chance < DOUBT:
            size = sum_of_squares / max(1.0, known * taken)
            reasons.append(f"chi2 is {size:.3g} per degree of freedom, where the noise that was given makes it 1")
    white = None
    if tested:
        tested.sort(key=lambda item: item[0])
        white = min(1.0, tested[0][0] * len(tested))
        if white < DOUBT:
            reasons.append(_color(tested[0][1], tested[0][2]))
    if not reasons:
        return FitVerdict(True, chance, white, ())
    return FitVerdict(False, chance, white, (*reasons, *_lacking(residuals, u)))


def _series(residuals: Residuals, u: Array) -> Iterator[tuple[str, Array, bool, bool]]:
    """Channel, residuals in units of its noise, whether the noise was given, and whether they are the integrator's."""
    for k, channel, (_, measured, fitted, noise) in residuals.channels(u):
        r = (measured - fitted) / noise
        if residuals.loss != "linear":  # residuals that the loss takes for outliers
            r = np.clip(r, -3.0 * residuals.loss_scale, 3.0 * residuals.loss_scale)
        fine = float(np.std(measured - fitted)) <= FINEST * float(np.std(measured))
        yield f"{residuals.titles[k]}: {channel}", r, residuals.responses[k].recording.sigma(channel) is not None, fine


def _whiteness(r: Array) -> float:
    """Probability of so large an autocorrelation by chance: the largest of the first lags, for noise of at least unit
    size. (Their sum of squares, after Ljung and Box, has a tail five times too heavy at a few hundred readings.)"""
    from scipy.special import ndtr

    N = len(r)
    lags = np.arange(1, min(LAGS, N // 5) + 1)
    size = max(N, float(r @ r))  # smooth residuals far below the noise are nothing
    rho = np.array([float(r[:-k] @ r[k:]) for k in lags]) / size
    largest = float(np.max(np.abs(rho) * np.sqrt(N * (N + 2) / (N - lags))))
    return min(1.0, 2 * len(lags) * float(ndtr(-largest)))


def _color(name: str, r: Array) -> str:
    """Reason against a model whose residuals of a channel are not white."""
    share = max(0.0, 1.0 - autoregression(r)[1] / float(np.mean(r**2)))
    return (
        f"the residuals of {name} are not white: {100 * share:.0f} % of their variance follows from the readings before"
    )


def autoregression(r: Array) -> tuple[Array, float]:
    """Coefficients a of r[t] = sum a[k] r[t - 1 - k] + e and the variance of e, as many as Akaike's criterion asks."""
    N, most = len(r), min(MOST_TERMS, len(r) // 10)
    gamma = np.array([float(r[: N - k] @ r[k:]) / N for k in range(most + 1)])
    best, a, variance = (float(np.log(max(gamma[0], 1e-300))) * N, np.zeros(0), gamma[0]), np.zeros(0), float(gamma[0])
    for k in range(1, most + 1):  # Levinson and Durbin
        if variance <= 0.0:
            break
        reflection = (gamma[k] - a @ gamma[k - 1 : 0 : -1]) / variance if k > 1 else gamma[1] / variance
        a = np.append(a - reflection * a[::-1], reflection)
        variance *= 1.0 - reflection**2
        criterion = N * float(np.log(max(variance, 1e-300))) + 2 * k
        if criterion < best[0]:
            best = criterion, a, variance
    return best[1], float(best[2])


def _spectrum(r: Array) -> tuple[Array, Array, int]:
    """Power of the autoregression of r, weight of each frequency, and number of frequencies in all."""
    a, variance = autoregression(r)
    size = 2 ** int(np.ceil(np.log2(2 * len(r))))
    power = variance / np.abs(np.fft.rfft(np.concatenate([[1.0], -a]), size)) ** 2
    weight = np.full(len(power), 2.0)
    weight[0] = weight[-1] = 1.0  # those without a partner of negative frequency
    return power, weight, size


def spread_of(J: Array, r: Array) -> Array:
    """(K, K) variance of J^T r for noise with the spectrum of r, which is that of colored residuals."""
    power, weight, size = _spectrum(r)
    waves = np.fft.rfft(J, size, axis=0)
    return np.asarray(((waves.conj().T * (weight * power)) @ waves).real / size)


def independent(r: Array) -> float:
    """Number of independent readings whose sum of squares is as certain as that of r: (tr R)^2 / tr R^2 of its
    covariance R (Satterthwaite)."""
    power, weight, size = _spectrum(r)
    squares = size * float(weight @ power**2)
    return len(r) * float(weight @ power) ** 2 / squares if squares > 0.0 else float(len(r))


def degrees_of_freedom(rows: Sequence[Array], fitted: int, fits: bool) -> int:
    """Degrees of freedom of the residuals of all channels: readings less fitted numbers; where the residuals are not
    white, independent readings that are worth as much, less fitted numbers."""
    count = sum(float(len(r)) if fits else independent(r) for r in rows)
    return max(1, int(count) - fitted)


def _lacking(residuals: Residuals, u: Array) -> Iterator[str]:
    """Effects that the fitted arm lacks, by its runs in these motions."""
    said: dict[str, str] = {}
    for run in _runs(residuals, u):
        stiffened = run.model.options.stiffening != "off"
        effect = None if stiffened else second_order_effect(run.history, chosen=True)
        if effect is not None and effect.size > NOTICED:
            said.setdefault(effect.link, f"{effect}: give the model stiffening='second-order'")
        for link in run.validity:
            if link.error is not None and link.error >= LOST:
                few = link.slope < STRAIGHT or link.source == "shapes"
                remedy = "more shape functions" if few else "a beam in pieces" if stiffened else "stiffening"
                lost = f"may be {100 * link.error:.2g} % of its length off at its tip"
                said.setdefault(link.link, f"{link.link}, bent by up to {link.slope:.2g} rad, {lost}: give it {remedy}")
    yield from (
        said.values()
        if said
        else ("it may lack friction, an elastic drive, shape functions, a delay, or an input that was not recorded",)
    )


def judge_order(residuals: Residuals, u: Array) -> None:
    """Warn where second order, which `stiffening="auto"` left out, would change the fitted arm in a recording."""
    if not any(is_checked(response.model) for response in residuals.responses):
        return
    asked = {run.model.level.reason for run in _runs(residuals, u) if run.model.level.raised}  # other runs tell it
    for reason in asked:
        warn_user(
            f"stiffening: got off (auto), but with the numbers found {reason}, expected less than {NOTICED:.1%}; "
            "identify a model with stiffening='second-order'"
        )


def _runs(residuals: Residuals, u: Array) -> Iterator[Result]:
    """Runs of the fitted arm under the inputs of each recording, as far as it can be simulated."""
    values = u * residuals.fitted.scale
    for k, response in enumerate(residuals.responses):
        r, model = response.recording, response.model
        parameters, start, calibration = residuals.numbers(k, values)
        x = response.start_state(parameters, start)
        try:
            yield simulate(
                model, r.t_end, *response.composed.full_state(0.0, x), torque=response.acting(calibration),
                controller=r.controller, motion=r.motion, loads=listed(r.loads), base=r.base, p=parameters,
                limits=False, progress=False,
            )  # fmt: skip
        except PliantError:
            continue
