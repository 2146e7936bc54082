"""Residuals of all recordings in units of their noise, and their slopes, as `least_squares` wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.stages import say
from pliant.errors import SimulationError
from pliant.identification.calibration import titles_of
from pliant.identification.response import Prediction, Response
from pliant.identification.unknowns import Unknowns

FIRST_NOISE = 0.01
"""Noise of a channel before it is known, as a fraction of the deviation of its readings."""
LEAST_NOISE = 1e-7
"""Least noise as a fraction of the deviation: less cannot be told from the error of the integrator."""


class Residuals:
    """Residuals of a fit. Rows are readings, recording by recording and channel by channel; then priors; then the ridge
    of early stages."""

    def __init__(self, responses: Sequence[Response], fitted: Unknowns, loss: str, loss_scale: float) -> None:
        self.responses, self.fitted, self.loss, self.loss_scale = responses, fitted, loss, loss_scale
        self.titles = titles_of([r.recording for r in responses])
        self.columns = self._columns()
        self.set_noise(None)
        self.evaluations = 0
        self._until = [np.inf] * len(responses)
        self._ridge: tuple[float, Array] = (0.0, np.zeros(0))
        self._kept: tuple[bytes, list[Prediction]] | None = None
        self.nearest: Array | None = None
        self._least = np.inf
        self.when_nearer: Callable[[Array], None] = lambda u: None

    @staticmethod
    def _first_noise(response: Response, channel: str) -> float:
        known = response.recording.sigma(channel)
        spread = float(np.std(response.recording.reading(channel)[1]))
        return known if known is not None else FIRST_NOISE * (spread or 1.0)

    def _columns(self) -> list[list[int]]:
        """Places of the fitted numbers that each recording depends on, in the order of its slopes."""
        found, first = [], self.fitted.P
        for response in self.responses:
            own = range(first, first + len(response.free))
            shared = [self.fitted.names.index(number.name) for number in response.fitted]
            found.append([*range(self.fitted.P), *own, *shared])
            first = own.stop
        return found

    def numbers(self, k: int, values: Array) -> tuple[Array, Array, Array]:
        """Parameters, start values and calibration of a recording."""
        response, own = self.responses[k], values[self.columns[k]]
        ends = np.cumsum([response.P, len(response.free)])
        parameters, start, calibration = np.split(own, ends)
        return parameters, start, calibration

    # ------------------------------------------------------------------------------------------ settings

    def set_noise(self, noise: list[list[float]] | None) -> None:
        """Set the standard deviation by recording and channel; None: that known before the fit."""
        if noise is None:
            noise = [[self._first_noise(r, c) for c in r.recording.channels] for r in self.responses]
        self.noise = [list(row) for row in noise]

    def noise_found(self) -> list[list[float]]:
        """Copy of the present noise."""
        return [list(row) for row in self.noise]

    def likelihood_cost(self, u: Array) -> float:
        """Minus the logarithm of the likelihood, but for a constant."""
        cost = 0.5 * float(self.rho(self.values(u) ** 2)[0].sum())
        return cost + sum(len(r) * float(np.log(self.noise[k][c])) for k, c, r in self._blocks(u))

    def window(self, fraction: float) -> None:
        """Fit the first part of each recording alone (at least a few readings)."""
        self._kept = None
        for k, response in enumerate(self.responses):
            times = response.recording.times()
            least = times[min(len(times) - 1, 4 + len(self.fitted.names))]
            self._until[k] = np.inf if fraction >= 1 else max(fraction * response.recording.t_end, float(least))

    def ridge(self, weight: float, u: Array) -> None:
        """Hold the numbers near `u` with a weight."""
        self._ridge = (weight, u.copy())
        self._least = np.inf  # another measure, which begins at the nearest values so far

    def must_run(self, u: Array) -> None:
        """Raise `SimulationError` with a reason where the start itself cannot be simulated."""
        try:
            self._predict(u)
        except SimulationError as error:
            raise SimulationError(f"identify: the arm cannot be simulated at the start of the fit: {error}") from error

    def update_noise(self, u: Array) -> float:
        """Estimate noise that was not given from the residuals of its channel; return the largest relative change."""
        change, total = 0.0, sum(len(r) for _, _, r in self._blocks(u))
        freedom = max(1.0, total - len(u)) / total
        for k, c, r in self._blocks(u):
            recording = self.responses[k].recording
            channel = recording.channels[c]
            if recording.sigma(channel) is not None:
                continue
            spread = float(np.std(recording.reading(channel)[1])) or 1.0
            size = np.sqrt(np.mean(r**2) / freedom) if self.loss == "linear" else 1.4826 * np.median(np.abs(r))
            new = max(float(size), LEAST_NOISE * spread)
            change = max(change, abs(new / self.noise[k][c] - 1.0))
            self.noise[k][c] = new
        return change

    # ---------------------------------------------------------------------------------------- evaluation

    def _predict(self, u: Array) -> list[Prediction]:
        key = u.tobytes()
        if self._kept is None or self._kept[0] != key:
            self.evaluations += 1
            say(f"identifying: {self.evaluations} runs of the model")
            values, found = u * self.fitted.scale, []
            if not self.fitted.allowed(values):
                raise SimulationError("identify: these numbers are no arm's")
            for k, response in enumerate(self.responses):
                parameters, start, calibration = self.numbers(k, values)
                scale = self.fitted.scale[self.columns[k]]
                found.append(response.predict(parameters, start, scale, self._until[k], calibration))
            self._kept = (key, found)
        return self._kept[1]

    def _blocks(self, u: Array) -> Iterator[tuple[int, int, Array]]:
        """Recording, channel and residuals measured - predicted."""
        for k, prediction in enumerate(self._predict(u)):
            for c, rows in self._rows(k, prediction):
                _, values = self._reading(k, c)
                yield k, c, values - prediction.y[rows, c]

    def blocks(self, u: Array) -> Iterator[slice]:
        """Rows of each channel of each recording in `weighted`."""
        first = 0
        for _, _, r in self._blocks(u):
            yield slice(first, first + len(r))
            first += len(r)

    def _reading(self, k: int, c: int) -> tuple[Array, Array]:
        recording = self.responses[k].recording
        return recording.reading(recording.channels[c], self._until[k])

    def _rows(self, k: int, prediction: Prediction) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Channels of a recording, and the rows of its prediction at the times of their readings."""
        for c in range(len(self.responses[k].recording.channels)):
            yield c, np.searchsorted(prediction.t, self._reading(k, c)[0])

    def weighted(self, u: Array) -> tuple[Array, Array]:
        """Residuals (predicted - measured) / noise of the readings alone, and their slopes (M, K) by u."""
        parts = [-r / self.noise[k][c] for k, c, r in self._blocks(u)]
        J = np.zeros((sum(map(len, parts)), len(u)))
        row = 0
        for k, prediction in enumerate(self._predict(u)):
            for c, rows in self._rows(k, prediction):
                J[row : row + len(rows), self.columns[k]] = prediction.slope[rows, c] / self.noise[k][c]
                row += len(rows)
        return np.concatenate(parts), J

    def prior(self, u: Array) -> tuple[Array, Array]:
        """Rows of priors and ridge."""
        mean, deviation = self.fitted.prior.T
        known = np.flatnonzero(~np.isnan(mean))
        scale = self.fitted.scale[known]
        values = (u[known] * scale - mean[known]) / deviation[known]
        slopes = np.zeros((len(known), len(u)))
        slopes[np.arange(len(known)), known] = scale / deviation[known]
        weight, center = self._ridge
        if weight:
            values = np.concatenate([values, weight * (u - center)])
            slopes = np.vstack([slopes, weight * np.eye(len(u))])
        return values, slopes

    def values(self, u: Array) -> Array:
        """All residuals; NaN where the arm cannot be simulated, which makes the fit take a smaller step."""
        try:
            data, _ = self.weighted(u)
        except SimulationError:
            data = np.full(sum(len(self._reading(k, c)[0]) for k, r in enumerate(self.responses)
                               for c in range(len(r.recording.channels))), np.nan)  # fmt: skip
        found = np.concatenate([data, self.prior(u)[0]])
        self._remember(u, found)
        return found

    def _remember(self, u: Array, found: Array) -> None:
        """Remember the values with the least cost so far as `nearest`."""
        cost = float(self.rho(found**2)[0].sum())
        if cost < self._least:
            self._least, self.nearest = cost, u.copy()
            self.when_nearer(self.nearest)

    def slopes(self, u: Array) -> Array:
        """Slopes (M, K) of all residuals."""
        return np.vstack([self.weighted(u)[1], self.prior(u)[1]])

    def rho(self, z: Array) -> Array:
        """Loss of squared residuals and its first two derivatives; priors are always plain squares."""
        out = np.vstack([z, np.ones_like(z), np.zeros_like(z)])
        soft = len(self.prior(np.zeros(len(self.fitted.names)))[0])
        count = len(z) - soft
        out[:, :count] = loss_function(self.loss, z[:count], self.loss_scale)
        return out

    # ------------------------------------------------------------------------------------------- reading

    def channels(self, u: Array) -> Iterator[tuple[int, str, tuple[Array, Array, Array, float]]]:
        """Recording, channel name, and (times, measured, fitted, noise)."""
        for k, c, r in list(self._blocks(u)):
            times, values = self._reading(k, c)
            yield k, self.responses[k].recording.channels[c], (times, values, values - r, self.noise[k][c])

    def rates(self, u: Array) -> Iterator[tuple[int, Array]]:
        """Recording and dy/dt / noise of its rows, in the order of `weighted`."""
        for k, prediction in enumerate(self._predict(u)):
            parts = [prediction.rate[rows, c] / self.noise[k][c] for c, rows in self._rows(k, prediction)]
            yield k, np.concatenate(parts)

    def sample_step(self, title: str) -> float:
        """Typical time between readings of a recording."""
        return float(np.median(np.diff(self.responses[self.titles.index(title)].recording.times())))


def loss_function(name: str, z: Array, scale: float) -> Array:
    """(3, M): rho(z), rho', rho'' for squared residuals z, by the formulas of scipy.optimize.least_squares."""
    s = z / scale**2
    if name == "linear":
        rho = np.array([s, np.ones_like(s), np.zeros_like(s)])
    elif name == "soft_l1":
        t = 1 + s
        rho = np.array([2 * (t**0.5 - 1), t**-0.5, -0.5 * t**-1.5])
    elif name == "cauchy":
        rho = np.array([np.log1p(s), 1 / (1 + s), -1 / (1 + s) ** 2])
    else:
        inside, t = s <= 1, np.maximum(s, 1.0)
        rho = np.array(
            [np.where(inside, s, 2 * t**0.5 - 1), np.where(inside, 1.0, t**-0.5), np.where(inside, 0.0, -0.5 * t**-1.5)]
        )
    rho[0] *= scale**2
    rho[2] /= scale**2
    return rho
