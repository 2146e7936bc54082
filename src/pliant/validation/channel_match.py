"""One channel of a recording beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.arrays import Array


@dataclass(frozen=True)
class ChannelMatch:
    """Measured and predicted values of one channel, and how well they agree.

    Parameters
    ----------
    name : str
        Name of the channel.
    t, measured, predicted : (N,)
        Times, and values at them.
    nrmse : float
        Error over the spread of the measurement.
    correlation : float
        Correlation of both, from -1 to 1.
    delay : float
        Lag of the measurement behind the prediction at which both agree best, s.
    nrmse_undelayed : float
        Error with the measurement shifted by this lag.
    frequencies : (F,)
        Frequencies of the spectra, Hz. Spectra are empty for few samples.
    measured_spectrum, predicted_spectrum : (F,)
        Amplitudes.
    coherence : (F,)
        Coherence of both, from 0 to 1.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], output_step=0.01)
    >>> read = pliant.identification.Recording(run.t, {"upper": run["upper"]}, torque=[5.0, 0.0])
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
