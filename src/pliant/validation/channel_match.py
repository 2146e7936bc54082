"""One channel of a recording beside what the model predicts for it."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.arrays import Array

OPPOSITE = -0.5
"""Correlation of prediction and measurement at which a sign is swapped rather than a number wrong."""
FEWEST = 64
"""Samples of a spectrum."""
MODES = 2
"""That are looked for where the arm rings."""
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
