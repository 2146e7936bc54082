"""Distance of a prediction from a measurement: normalized root mean square error and fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError


def _pair(predicted: ArrayLike, measured: ArrayLike) -> tuple[Array, Array]:
    """Both as (N,) arrays of finite numbers."""
    try:
        y, m = np.asarray(predicted, dtype=float), np.asarray(measured, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError("predicted, measured: expected numbers") from error
    if y.ndim != 1 or y.shape != m.shape or not len(m):
        raise ModelError(f"predicted, measured: got shapes {y.shape} and {m.shape}, expected two of the same (N,)")
    if not (np.isfinite(y).all() and np.isfinite(m).all()):
        raise ModelError("predicted, measured: expected finite numbers")
    return y, m


def _ratio(error: float, spread: float) -> float:
    if spread == 0.0:
        raise ModelError("measured: got a constant, against which no error can be scaled")
    return float(np.sqrt(error / spread))


@checked
def nrmse(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Root mean square of the error over the standard deviation of the measurement.

    Parameters
    ----------
    predicted, measured : (N,)
        Values at the same times.

    Returns
    -------
    float
        0 is perfect, 1 is as good as the mean.

    Examples
    --------
    >>> pliant.validation.nrmse([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    0.0
    >>> pliant.validation.nrmse([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    1.0
    """
    return pooled_nrmse([predicted], [measured])


@checked
def pooled_nrmse(predicted: Sequence[ArrayLike], measured: Sequence[ArrayLike]) -> float:
    """NRMSE over several windows: all squared errors over all squared deviations from each window's own mean.

    Parameters
    ----------
    predicted, measured : sequence of (N,)
        One entry for each window.

    Returns
    -------
    float

    Examples
    --------
    >>> pliant.validation.pooled_nrmse([[0.0, 1.0], [5.0, 5.0]], [[0.0, 1.0], [5.0, 7.0]])
    1.2649110640673518
    """
    if len(predicted) != len(measured) or not len(measured):
        raise ModelError(f"predicted, measured: got {len(predicted)} and {len(measured)} windows, expected as many")
    pairs = [_pair(y, m) for y, m in zip(predicted, measured)]
    return _ratio(sum(float(((y - m) ** 2).sum()) for y, m in pairs),
                  sum(float(((m - m.mean()) ** 2).sum()) for _, m in pairs))  # fmt: skip


@checked
def fit_percent(predicted: ArrayLike, measured: ArrayLike) -> float:
    """100 (1 - NRMSE): 100 is perfect, 0 as good as the mean.

    Parameters
    ----------
    predicted, measured : (N,)
        Values at the same times.

    Returns
    -------
    float

    Examples
    --------
    >>> pliant.validation.fit_percent([1.0, 2.0], [1.0, 2.0])
    100.0
    """
    return 100.0 * (1.0 - nrmse(predicted, measured))
