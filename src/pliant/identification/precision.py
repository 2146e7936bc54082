"""Precision of a fit: covariance, directions that the data leaves open, and clocks that do not agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.arrays import Array
from pliant.identification.estimate import Unresolved
from pliant.identification.lack_of_fit import degrees_of_freedom, spread_of
from pliant.identification.residuals import Residuals, loss_function
from pliant.identification.unknowns import Unknowns

LOOSE = 0.5
"""Fraction of the values: a direction that is known no better counts as unresolved."""
LOST = 1e-6
"""Fraction of the largest singular value: smaller ones are errors of the integrator."""
PART = 0.2
"""Share in a direction from which a number is named as part of it."""
SIGNIFICANT = 5.0
"""Standard deviations by which a shift of the clock must differ from zero."""


def unresolved_directions(J: Array, names: tuple[str, ...]) -> tuple[tuple[Unresolved, ...], Array]:
    """Directions that the data leaves open, from slopes (M, K) of weighted residuals by *relative* changes; and all
    singular values.

    The readings have unit noise, so a direction of singular value s is known to 1/s of the values.
    """
    R = np.linalg.qr(J, mode="r")  # has the singular values and directions of J, in K rows instead of M
    s, V = np.linalg.svd(R, full_matrices=True)[1:]
    s = np.concatenate([s, np.zeros(J.shape[1] - len(s))])
    found = []
    for value, v in zip(s, V):
        lost = value <= LOST * s[0]
        if lost or value * LOOSE < 1.0:
            v = v * np.sign(v[np.argmax(np.abs(v))])
            weights = {name: float(w) for name, w in zip(names, v) if abs(w) >= PART}
            found.append(Unresolved(weights, np.inf if lost else 1.0 / value))
    return tuple(found), s


def covariance(
    residuals: Residuals, u: Array, unresolved: tuple[Unresolved, ...], fitted: Unknowns, fits: bool = True
) -> Array:
    """(K, K) covariance of u: the inverse information, or the sandwich H^-1 B H^-1 under a robust loss and where the
    model does not fit; B then is the variance that residuals of that size and color cause.

    Numbers that the data leaves open and no prior holds get infinite variance.
    """
    r, J = residuals.weighted(u)
    soft = residuals.prior(u)[1]
    if residuals.loss == "linear":
        H, B = J.T @ J + soft.T @ soft, None
    else:
        _, first, second = loss_function(residuals.loss, r**2, residuals.loss_scale)
        curvature = np.maximum(first + 2 * second * r**2, 0.0)
        H = (J.T * curvature) @ J + soft.T @ soft
        B = (J.T * (first * r) ** 2) @ J + soft.T @ soft
        r = first * r
    if not fits:
        blocks = list(residuals.blocks(u))
        left = degrees_of_freedom([r[rows] for rows in blocks], len(u), fits)
        taken = 1.0 + len(u) / left  # what the fit has taken out of the residuals
        B = soft.T @ soft + taken * sum(spread_of(J[rows], r[rows]) for rows in blocks)
    scale = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    inverse = np.linalg.pinv(H / np.outer(scale, scale), rcond=1e-14, hermitian=True) / np.outer(scale, scale)
    C = inverse if B is None else inverse @ B @ inverse
    held = ~np.isnan(fitted.prior[:, 0])
    for item in unresolved:
        places = [fitted.names.index(name) for name in item.weights]
        if np.isinf(item.deviation) and not any(held[place] for place in places):
            C[places, :] = np.nan
            C[:, places] = np.nan
            C[places, places] = np.inf
    return np.asarray(C)


def clock_offsets(residuals: Residuals, u: Array) -> Iterator[tuple[str, float, float, float]]:
    """Recordings whose residuals a shift in time explains: title, shift, its error, explained part of the squares.

    This is the score test of one more number, the delay d of the readings, y(t - d): dr/dd = -dy/dt, without the part
    that the fitted numbers could explain as well.
    """
    r, J = residuals.weighted(u)
    Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
    row = 0
    for k, rate in residuals.rates(u):
        d = np.zeros(len(r))
        d[row : row + len(rate)] = -rate
        row += len(rate)
        d -= Q @ (Q.T @ d)
        length = float(d @ d)
        if length <= 1e-12 * float(rate @ rate) or length == 0.0:
            continue
        shift, own = -float(d @ r) / length, slice(row - len(rate), row)
        squares = float(r[own] @ r[own])
        left = r + shift * d
        spread = np.sqrt(max(float(left @ left), 1e-300) / len(r))
        if abs(shift) * np.sqrt(length) > SIGNIFICANT * spread:
            explained = (squares - float(left[own] @ left[own])) / squares
            yield residuals.titles[k], shift, spread / np.sqrt(length), explained
