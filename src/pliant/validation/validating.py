"""`validate`: replay what acted on an arm, and compare what was read with what the model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.identification import Recording
from pliant.identification.response import Response
from pliant.model import Model
from pliant.signatures import checked
from pliant.validation.closeness import nrmse
from pliant.validation.recording_faults import recording_faults

OPPOSITE = -0.5
"""Correlation of prediction and measurement at which a sign is swapped rather than a number wrong."""
FEWEST = 64
"""Samples of a spectrum."""
LONGEST_DELAY = 0.1
"""Seconds, among which a delay is looked for."""


@dataclass(frozen=True)
class ChannelMatch:
    """One channel, measured and predicted.

    Parameters
    ----------
    name : str
        Of the channel.
    t, measured, predicted : (N,)
        Times, and values at them.
    nrmse : float
        Error over the spread of the measurement.
    correlation : float
        From -1 to 1.
    delay : float
        Seconds by which the measurement lags behind the prediction where both agree best.
    nrmse_undelayed : float
        The error then.
    frequencies : (F,)
        Hz; empty for few samples, as what follows.
    measured_spectrum, predicted_spectrum : (F,)
        Amplitudes.
    coherence : (F,)
        From 0 to 1.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> round(pliant.validate(model, read).channels["upper"].fit)
    100
    """

    name: str
    t: Array
    measured: Array
    predicted: Array
    nrmse: float
    correlation: float
    delay: float
    nrmse_undelayed: float
    frequencies: Array
    measured_spectrum: Array
    predicted_spectrum: Array
    coherence: Array

    @property
    def fit(self) -> float:
        """100 (1 - NRMSE)."""
        return 100.0 * (1.0 - self.nrmse)


@dataclass(frozen=True)
class Validation:
    """What a model says of a recording.

    Parameters
    ----------
    recording : str
        Its name.
    channels : mapping
        `ChannelMatch` by name.
    warnings : tuple of str
        One line each.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> print(pliant.validate(model, read))
    recording
    upper: NRMSE 0.000, fit 100.0 %, lag 0.0 ms
    """

    recording: str
    channels: Mapping[str, ChannelMatch]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        rows = [
            f"{match.name}: NRMSE {match.nrmse:.3f}, fit {match.fit:.1f} %, lag {1e3 * match.delay:.1f} ms"
            for match in self.channels.values()
        ]
        return "\n".join([self.recording or "recording", *rows, *self.warnings])


@checked
def validate(
    model: Model, recording: Recording, p: ArrayLike | None = None, skip: float = 0.0, method: str = "auto",
    rtol: float = 1e-6, atol: float = 1e-9,
) -> Validation:  # fmt: skip
    """Replay the inputs of a recording and compare its channels with those of the model.

    Parameters
    ----------
    model : Model
        The arm; its numbers are taken as they are.
    recording : Recording
        What acted (torques, prescribed motion) and what was read.
    p : (P,) array, optional
        Values of the model's parameters.
    skip : float
        Seconds at the start that are not compared.
    method : str
        As in `pliant.simulate`.
    rtol, atol : float
        Local error of the run.

    Returns
    -------
    Validation

    Raises
    ------
    ModelError
        The recording has samples missing, no even rate, or channels that are constant or saturated; each in one line.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 1.0, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> pliant.validate(model, read).channels["upper"].nrmse < 1e-4
    True
    """
    faults = recording_faults(recording)
    if faults:
        title = f"recording {recording.name!r}" if recording.name else "recording"
        raise ModelError("\n".join([f"{title}: not fit to be compared", *faults]))
    response = Response(model, recording, method, rtol, atol)
    values = np.asarray(model.values(p))
    found = response.predict(values, response.start_values(values), np.ones(response.size))
    matches, warnings = {}, []
    for k, name in enumerate(recording.channels):
        times, measured = recording.reading(name)
        rows = np.searchsorted(found.t, times)
        late = times >= skip
        if late.sum() < 2:
            raise ModelError(f"skip: got {skip:g} s, expected less than the {times[-1]:g} s that {name} was read")
        match = _match(name, times[late], measured[late], found.y[rows[late], k])
        matches[name] = match
        if match.correlation < OPPOSITE:
            warnings.append(
                f"{name}: the measurement is the prediction with its sign swapped (correlation "
                f"{match.correlation:.2f}); check the sign of this channel or of what drives the arm"
            )
    return Validation(recording.name, matches, tuple(warnings))


def _match(name: str, t: Array, measured: Array, predicted: Array) -> ChannelMatch:
    together = np.corrcoef(measured, predicted)[0, 1] if predicted.std() > 0 else 0.0
    delay, least = _delay(t, measured, predicted)
    return ChannelMatch(
        name, t, measured, predicted, nrmse(predicted, measured), float(together), delay, least,
        *_spectra(t, measured, predicted),
    )  # fmt: skip


def _delay(t: Array, measured: Array, predicted: Array) -> tuple[float, float]:
    """By how much the measurement lags where both agree best, and the NRMSE then."""
    h = float(np.median(np.diff(t)))
    most = min(LONGEST_DELAY, (t[-1] - t[0]) / 4)
    lags = h / 4 * np.arange(-int(4 * most / h), int(4 * most / h) + 1)
    inner = (t >= t[0] + most) & (t <= t[-1] - most)
    if not inner.any() or measured[inner].std() == 0:
        return 0.0, nrmse(predicted, measured)
    errors = [nrmse(np.interp(t[inner] - lag, t, predicted), measured[inner]) for lag in lags]
    best = int(np.argmin(errors))
    return float(lags[best]), float(errors[best])


def _spectra(t: Array, measured: Array, predicted: Array) -> tuple[Array, Array, Array, Array]:
    from scipy.signal import coherence, welch

    if len(t) < FEWEST:
        return (np.empty(0),) * 4
    rate, length = (len(t) - 1) / float(t[-1] - t[0]), max(FEWEST, len(t) // 4)
    frequencies, own = welch(measured, rate, nperseg=length, scaling="spectrum")
    _, said = welch(predicted, rate, nperseg=length, scaling="spectrum")
    with np.errstate(invalid="ignore", divide="ignore"):
        _, together = coherence(measured, predicted, rate, nperseg=length)
    return frequencies, np.sqrt(2 * own), np.sqrt(2 * said), np.nan_to_num(together)
