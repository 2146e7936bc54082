"""`validate`: replay the inputs of a recording, and compare its readings with those of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.identification.recording import Recording
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.options import MethodName, SaturationName
from pliant.validation.channel_match import ChannelMatch
from pliant.validation.closeness import nrmse
from pliant.validation.error_shares import ErrorShares, error_shares
from pliant.validation.recording_faults import recording_doubts, recording_faults
from pliant.validation.replay import replayed
from pliant.validation.ring_downs import RingDown, ring_down

OPPOSITE = -0.5
"""Correlation of prediction and measurement below which a sign is swapped rather than a number wrong."""
FEWEST = 64
"""Fewest samples for a spectrum."""
MODES = 2
"""Modes that are fitted where the arm vibrates freely."""
LONGEST_DELAY = 0.1
"""Longest delay that is looked for, s."""


@dataclass(frozen=True)
class Validation:
    """Comparison of a recording with the predictions of a model.

    Parameters
    ----------
    recording : str
        Name of the recording.
    channels : mapping
        `ChannelMatch` by name.
    warnings : tuple of str
        Warnings, one line each.
    shares : mapping
        `ErrorShares` by channel.
    decays : tuple of RingDown
        One for each window in which the arm vibrates freely.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.identification.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> print(pliant.validate(model, read))
    recording
    upper: NRMSE 0.000, fit 100.0 %, lag 0.0 ms
    """

    recording: str
    channels: Mapping[str, ChannelMatch]
    warnings: tuple[str, ...]
    shares: Mapping[str, ErrorShares] = field(default_factory=dict)
    decays: tuple[RingDown, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain data, without the series.

        Returns
        -------
        dict
            For JSON.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
        >>> read = pliant.identification.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
        >>> sorted(pliant.validate(model, read).to_dict())
        ['channels', 'format', 'recording', 'ringing', 'warnings']
        """
        return {
            "format": 1,
            "recording": self.recording,
            "channels": {
                name: {"nrmse": m.nrmse, "fit_percent": m.fit, "correlation": m.correlation, "delay_s": m.delay,
                       "nrmse_undelayed": m.nrmse_undelayed, "shares": self.shares[name].to_dict()}
                for name, m in self.channels.items()
            },
            "ringing": [decay.to_dict() for decay in self.decays],
            "warnings": list(self.warnings),
        }  # fmt: skip

    def __str__(self) -> str:
        rows = [
            f"{match.name}: NRMSE {match.nrmse:.3f}, fit {match.fit:.1f} %, lag {1e3 * match.delay:.1f} ms"
            for match in self.channels.values()
        ]
        return "\n".join([self.recording or "recording", *rows, *self.warnings])


@checked
def validate(
    model: Model | Robot, recording: Recording, p: ArrayLike | None = None, skip: float = 0.0,
    method: MethodName = "auto", rtol: float = 1e-6, atol: float = 1e-9, ringing: Sequence[tuple[float, float]] = (),
    saturation: SaturationName = "auto",
) -> Validation:  # fmt: skip
    """Replay the inputs of a recording and compare its channels with those of the model.

    Parameters
    ----------
    model : Model or Robot
        The arm; its numbers are not fitted.
    recording : Recording
        Inputs (torques, prescribed motion) and readings.
    p : (P,) array, optional
        Values of the model's parameters.
    skip : float
        Seconds at the start that are not compared.
    method : str
        As in `pliant.simulate`.
    rtol, atol : float
        Local error of the run.
    ringing : sequence of (start, end)
        Windows, s, in which the arm vibrates freely: frequencies and damping are fitted to measurement and prediction.
    saturation : "auto", "refuse" or "warn"
        Treatment of a channel that stays at the end of its range. "auto": refused if it is clipped there, a warning if
        the joint may stand still. "refuse": always refused. "warn": always a warning.

    Returns
    -------
    Validation

    Raises
    ------
    ModelError
        The recording has missing samples, an uneven rate, or channels that are constant or clipped; one line for each.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 1.0, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.identification.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> pliant.validate(model, read).channels["upper"].nrmse < 1e-4
    True
    """
    model = model_of(model)
    faults = recording_faults(recording, saturation)
    if faults:
        title = f"recording {recording.name!r}" if recording.name else "recording"
        raise ModelError("\n".join([f"{title}: not fit to be compared", *faults]))
    values = np.asarray(model.values(p))
    found = replayed(model, recording, values, method, rtol, atol)
    first = float(model.frequencies(p=values)[0]) if model.n > model.n_joints else None
    matches, warnings, kept = {}, recording_doubts(recording, saturation), []
    for k, name in enumerate(recording.channels):
        times, measured = recording.reading(name)
        rows = np.searchsorted(found.t, times)
        late = times >= skip
        if late.sum() < 2:
            raise ModelError(f"skip: got {skip:g} s, expected less than the {times[-1]:g} s that {name} was read")
        match = _match(name, times[late], measured[late], found.y[rows[late], k])
        matches[name] = match
        kept.append(rows[late])
        if match.correlation < OPPOSITE:
            warnings.append(
                f"{name}: the measurement is the prediction with its sign swapped (correlation "
                f"{match.correlation:.2f}); check the sign of this channel or of what drives the arm"
            )
    slopes = [found.friction[rows, k] for k, rows in enumerate(kept)]
    shares = {m.name: error_shares(m, first, by) for m, by in zip(matches.values(), slopes)}
    decays = [ring_down(matches.values(), window, model.frequencies(p=values)[:MODES]) for window in ringing]
    return Validation(recording.name, matches, tuple(warnings), shares, tuple(decays))


def _match(name: str, t: Array, measured: Array, predicted: Array) -> ChannelMatch:
    together = np.corrcoef(measured, predicted)[0, 1] if predicted.std() > 0 else 0.0
    delay, least = _delay(t, measured, predicted)
    frequencies, measured_spectrum, predicted_spectrum, coherence = _spectra(t, measured, predicted)
    return ChannelMatch(
        name=name,
        t=t,
        measured=measured,
        predicted=predicted,
        nrmse=nrmse(predicted, measured),
        correlation=float(together),
        delay=delay,
        nrmse_undelayed=least,
        frequencies=frequencies,
        measured_spectrum=measured_spectrum,
        predicted_spectrum=predicted_spectrum,
        coherence=coherence,
    )


def _delay(t: Array, measured: Array, predicted: Array) -> tuple[float, float]:
    """Lag of the measurement at which both agree best, and the NRMSE with it."""
    h = float(np.median(np.diff(t)))
    most = min(LONGEST_DELAY, (t[-1] - t[0]) / 4)
    lags = h / 4 * np.arange(-int(4 * most / h), int(4 * most / h) + 1)
    inner = (t >= t[0] + most) & (t <= t[-1] - most)
    if not inner.any() or measured[inner].std() == 0:
        return 0.0, nrmse(predicted, measured)
    errors = [nrmse(np.interp(t[inner] - lag, t, predicted), measured[inner]) for lag in lags]
    best, now = int(np.argmin(errors)), errors[len(lags) // 2]
    return float(lags[best]), nrmse(predicted, measured) * (float(errors[best] / now) if now else 1.0)


def _spectra(t: Array, measured: Array, predicted: Array) -> tuple[Array, Array, Array, Array]:
    """Frequencies, amplitudes of both, and their coherence; empty for few samples."""
    from scipy.signal import coherence, welch

    if len(t) < FEWEST:
        return (np.empty(0),) * 4
    rate, length = (len(t) - 1) / float(t[-1] - t[0]), max(FEWEST, len(t) // 4)
    frequencies, own = welch(measured, rate, nperseg=length, scaling="spectrum")
    _, said = welch(predicted, rate, nperseg=length, scaling="spectrum")
    with np.errstate(invalid="ignore", divide="ignore"):
        _, together = coherence(measured, predicted, rate, nperseg=length)
    return frequencies, np.sqrt(2 * own), np.sqrt(2 * said), np.nan_to_num(together)
