"""Result of a fit: estimates, their errors, directions that the data leaves open, and residuals."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Unresolved:
    """A direction in the space of the fitted numbers along which the data says (almost) nothing.

    Attributes
    ----------
    weights : mapping from names to float
        Relative changes: moving all named numbers together by these leaves the readings as they are.
    deviation : float
        Distance, as a fraction of the values, by which the data lets the numbers move; inf if it is not bounded.
    """

    weights: Mapping[str, float]
    deviation: float

    def __str__(self) -> str:
        names = list(self.weights)
        if len(names) == 1:
            return f"{names[0]}: the data does not depend on it"
        shown = ", ".join(f"{name} {weight:+.2f}" for name, weight in self.weights.items())
        how = "at all" if np.isinf(self.deviation) else f"better than {100 * self.deviation:.3g} %"
        return f"{' and '.join(names)} cannot be told apart {how} (relative changes {shown} cancel)"


@dataclass(frozen=True)
class Channel:
    """Readings of one channel of one recording, those of the fitted arm, and the noise found or given.

    Attributes
    ----------
    recording, name : str
        Names of the recording and of the channel.
    t : (N,)
        Times, s.
    measured, fitted : (N,)
        Readings, and those of the fitted arm.
    noise : float
        Standard deviation, found or given.
    """

    recording: str
    name: str
    t: Array
    measured: Array
    fitted: Array
    noise: float

    @property
    def residual(self) -> Array:
        """Measured less fitted."""
        return np.asarray(self.measured - self.fitted)


@dataclass(frozen=True)
class FitVerdict:
    """Verdict on the residuals of a fit: noise or not.

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


@dataclass(frozen=True)
class Identification:
    """The outcome of `identify`.

    Attributes
    ----------
    robot : Robot
        The arm with the estimates.
    parameters : tuple of str
        Names of all fitted numbers: paths of the robot, unknown start values, gains, offsets and delays.
    estimates, standard_errors : (K,)
        Estimates and their standard errors, in the units of the numbers.
    covariance, correlation : (K, K)
        Covariance and correlation of the estimates.
    start : (K,)
        Values at which the fit began.
    unresolved : tuple of Unresolved
        Directions that the data leaves open; empty if all is well. Errors of the numbers involved are inf.
    singular_values : (K,)
        Singular values of the scaled slopes: small where the data says little.
    channels : tuple of Channel
        Readings, fit and noise.
    chi2 : float
        Sum of squared residuals in units of their noise, per reading less fitted numbers; about 1 if the noise was
        given rightly and the model is able to follow.
    freedom : int
        Degrees of freedom: readings less fitted numbers; where residuals are not white, independent readings that are
        worth as much.
    at_bound : tuple of str
        Numbers that ended on a bound, for which the errors do not hold.
    evaluations : int
        Runs of the arm.
    message : str
        Message of the optimizer at the end of the fit.
    notes : tuple of str
        Further remarks.
    verdict : FitVerdict
        Whether the residuals are noise. Where they are not, the errors are those that residuals of this size and color
        leave open; effects that the model lacks may have moved the estimates further.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.2, q0={"upper": 0.3}, output_step=0.01)
    >>> recording = pliant.identification.Recording(run.t, {"upper": run["upper"]}, noise=1e-4, q0={"upper": 0.3})
    >>> found = pliant.identify(model, recording, ["payload.mass"], start={"payload.mass": 0.2}, stages=[1.0])
    >>> abs(found.values["payload.mass"]) < 1e-3
    True
    >>> found.intervals(0.95).shape, sorted(found.to_dict())[:3]
    ((1, 2), ['at_bound', 'chi2', 'correlation'])
    >>> len(found.plot().axes)
    2
    """

    robot: Robot
    parameters: tuple[str, ...]
    estimates: Array
    covariance: Array
    start: Array
    unresolved: tuple[Unresolved, ...]
    singular_values: Array
    channels: tuple[Channel, ...]
    chi2: float
    freedom: int
    at_bound: tuple[str, ...]
    evaluations: int
    message: str
    notes: tuple[str, ...] = field(default=())
    verdict: FitVerdict = FITS

    def __getitem__(self, name: str) -> float:
        """Estimate by name."""
        return float(self.estimates[self._index(name)])

    def _index(self, name: str) -> int:
        if name not in self.parameters:
            raise ModelError(f"parameter: got {name!r}, expected one of {', '.join(self.parameters)}")
        return self.parameters.index(name)

    @property
    def standard_errors(self) -> Array:
        """(K,) standard deviations of the estimates."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def correlation(self) -> Array:
        """(K, K); NaN for numbers without a finite error."""
        error = self.standard_errors
        with np.errstate(invalid="ignore"):
            out = self.covariance / np.outer(error, error)
        np.fill_diagonal(out, 1.0)
        return np.asarray(out)

    @property
    def values(self) -> dict[str, float]:
        """Estimates by name."""
        return dict(zip(self.parameters, self.estimates.tolist()))

    @property
    def calibration(self) -> dict[str, float]:
        """Gains, offsets and delays of inputs and readings that were fitted, as `Recording` takes them."""
        return {name: value for name, value in self.values.items() if name.split(".")[0] in ("reading", "input")}

    def intervals(self, level: float = 0.95, simultaneous: bool = False) -> Array:
        """(K, 2) confidence intervals of each number; `simultaneous` ones hold all at once (Bonferroni).

        Parameters
        ----------
        level : float
            Probability, such as 0.95.
        simultaneous : bool
            Whether all intervals are to hold at once.

        Returns
        -------
        (K, 2) array
        """
        from scipy.special import stdtrit

        tail = (1.0 - level) / (2.0 * (len(self.parameters) if simultaneous else 1))
        half = float(stdtrit(self.freedom, 1.0 - tail)) * self.standard_errors
        return np.column_stack([self.estimates - half, self.estimates + half])

    def to_dict(self) -> dict[str, object]:
        """Plain data; infinite errors are None.

        Returns
        -------
        dict
            For JSON.
        """
        finite = np.isfinite(self.standard_errors)
        intervals = self.intervals()
        return {
            "format": 1,
            "robot": self.robot.name,
            "parameters": {
                name: {
                    "estimate": float(self.estimates[k]),
                    "standard_error": float(self.standard_errors[k]) if finite[k] else None,
                    "interval_95": intervals[k].tolist() if finite[k] else None,
                    "start": float(self.start[k]),
                }
                for k, name in enumerate(self.parameters)
            },
            "correlation": [[None if np.isnan(v) else v for v in row] for row in self.correlation.tolist()],
            "unresolved": [
                {"weights": dict(u.weights), "deviation": None if np.isinf(u.deviation) else u.deviation}
                for u in self.unresolved
            ],
            "noise": {f"{c.recording}: {c.name}": c.noise for c in self.channels},
            "chi2": self.chi2,
            "verdict": {
                "fits": self.verdict.fits,
                "chi2_probability": self.verdict.chi2_probability,
                "white_probability": self.verdict.white_probability,
                "reasons": list(self.verdict.reasons),
            },
            "at_bound": list(self.at_bound),
            "notes": list(self.notes),
            "evaluations": self.evaluations,
            "message": self.message,
        }

    def __str__(self) -> str:
        width = max(len(name) for name in self.parameters)
        lines = [f"{'parameter':{width}}  {'estimate':>12}  {'95 % interval':>28}  {'error':>8}"]
        for name, value, error, (low, high) in zip(
            self.parameters, self.estimates, self.standard_errors, self.intervals()
        ):
            known = np.isfinite(error)
            span = f"[{low:.6g}, {high:.6g}]" if known else "not known"
            relative = f"{100 * error / abs(value):.2g} %" if known and value else "-"
            lines.append(f"{name:{width}}  {value:12.6g}  {span:>28}  {relative:>8}")
        found = self.verdict.chi2_probability is None
        how = "noise found from the residuals" if found else f"probability {self.verdict.chi2_probability:.2g}"
        lines.append(f"chi2 per degree of freedom: {self.chi2:.4g} of {self.freedom} ({how})")
        lines.append(str(self.verdict))
        if not self.verdict.fits:
            lines.append("intervals are widened by what is left over; the estimates themselves may be off by more")
        lines += [f"the data cannot tell: {item}" for item in self.unresolved]
        lines += [f"{name} ended on its bound: its error does not hold" for name in self.at_bound]
        lines += list(self.notes)
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Figure of measured and fitted readings with the residuals below, channel by channel.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from pliant.identification.figures import residuals

        return residuals(self, path)
