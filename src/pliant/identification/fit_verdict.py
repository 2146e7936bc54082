"""Whether what a fit leaves over is noise: the outcome of `lack_of_fit.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitVerdict:
    """Whether what a fit leaves over is noise.

    Attributes
    ----------
    fits : bool
        Whether the model follows the readings.
    chi2_probability : float or None
        Of so large a sum of squares by chance, where noise was given; None where all of it was found from residuals.
    white_probability : float or None
        Of so large an autocorrelation by chance, in the worst channel, corrected for their number; None where channels
        are too short to tell.
    reasons : tuple of str
        What speaks against the model, worst first, and what it may lack.

    Examples
    --------
    >>> pliant.identification.FitVerdict(True, 0.4, 0.2, ()).fits
    True
    """

    fits: bool
    chi2_probability: float | None
    white_probability: float | None
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        if self.fits:
            return "the residuals are noise: the model follows the readings"
        return "THE MODEL DOES NOT FOLLOW THE READINGS: " + "; ".join(self.reasons)


FITS = FitVerdict(True, None, None, ())
"""Nothing speaks against the model."""
