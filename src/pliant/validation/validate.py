"""`validate`: replay what acted on an arm, and compare what was read with what the model says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.identification.recording import Recording
from pliant.model.model import Model
from pliant.options import MethodName, SaturationName
from pliant.validation.channel_match import ChannelMatch
from pliant.validation.closeness import nrmse
from pliant.validation.error_shares import ErrorShares, error_shares
from pliant.validation.recording_faults import recording_doubts, recording_faults
from pliant.validation.replay import replayed
from pliant.validation.ring_downs import RingDown, ring_down

OPPOSITE = -0.5
"""Correlation of prediction and measurement at which a sign is swapped rather than a number wrong."""
FEWEST = 64
"""Samples of a spectrum."""
MODES = 2
"""That are looked for where the arm rings."""
LONGEST_DELAY = 0.1
"""Seconds, among which a delay is looked for."""


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
    shares : mapping
        `ErrorShares` by channel.
    decays : tuple of RingDown
        One for each window in which the arm rings.

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
    shares: Mapping[str, ErrorShares] = field(default_factory=dict)
    decays: tuple[RingDown, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the series.

        Returns
        -------
        dict
            For JSON.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
        >>> read = pliant.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
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
    model: Model, recording: Recording, p: ArrayLike | None = None, skip: float = 0.0, method: MethodName = "auto",
    rtol: float = 1e-6, atol: float = 1e-9, ringing: Sequence[tuple[float, float]] = (),
    saturation: SaturationName = "auto",
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
    ringing : sequence of (start, end)
        Seconds between which the arm is left to itself: frequencies and damping are fitted to what was measured and to
        what was predicted.
    saturation : "auto", "refuse" or "warn"
        What of a channel that stays at the end of its range: refused if it is clipped there, a warning if the joint
        may stand still; always refused; or always a warning.

    Returns
    -------
    Validation

    Raises
    ------
    ModelError
        The recording has samples missing, no even rate, or channels that are constant or clipped; each in one line.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 1.0, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
    >>> pliant.validate(model, read).channels["upper"].nrmse < 1e-4
    True
    """
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
    best, now = int(np.argmin(errors)), errors[len(lags) // 2]
    return float(lags[best]), nrmse(predicted, measured) * (float(errors[best] / now) if now else 1.0)


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
