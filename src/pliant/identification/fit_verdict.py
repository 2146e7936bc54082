"""Verdict on a fit: whether its residuals are noise. `lack_of_fit.py` computes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitVerdict:
    """Whether the residuals of a fit are noise.

    Attributes
    ----------
    fits : bool
        Whether the model follows the readings.
    chi2_probability : float or None
        Probability of so large a sum of squares by chance, where noise was given; None where all of it was found from
        residuals.
    white_probability : float or None
        Probability of so large an autocorrelation by chance, in the worst channel, corrected for the number of
        channels; None where channels are too short to tell.
    reasons : tuple of str
        Reasons against the model, worst first, and effects that it may lack.

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
"""Verdict where nothing speaks against the model."""
