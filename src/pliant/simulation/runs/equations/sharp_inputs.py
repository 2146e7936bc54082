"""Breaks around short features of inputs that depend on the time, so that no step passes over them.

The error estimate of a step samples an input at a dozen times. While an arm rests its steps grow, and a step that
begins before a short pulse and ends after it sees none of it. So the inputs are sampled before a run, and the run is
divided into cells in each of which a polynomial describes all inputs. Steps end at both ends of a cell that is much
shorter than one before it within reach of a step. Around a pulse such cells are about as long as the pulse; smooth
inputs have cells of similar length, so that no steps have to end there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.arrays import Array, Booleans, Integers
from pliant.compute.tape import one_sided_time

Signals = Callable[[Array], Array]
"""Values (N, M) of the inputs at times (N,)."""

CELLS, CALLED_CELLS = 512, 64
"""Cells at first, for compiled inputs and for Python functions, which take microseconds a call."""
MOST = 4
"""Factor by which cells may become more: inputs that change fast everywhere are seen by every step."""
POINTS, DEGREE = 17, 7
"""Samples in a cell, and the degree of its polynomial: about what the stages of one step can tell."""
TOLERANCE = 1e-5
"""Share of the range of an input by which it may differ from the polynomial: smaller features are not looked for."""
CONSTANT = 1e-9
"""Share of its size below which the range of an input is round-off."""
FINEST = 1e-7
"""Share of the run below which a cell is not halved: a jump in it, which the steps narrow down themselves."""
SHORTER = 8.0
"""Factor by which a cell is shorter than one before it, if a step may pass over it."""
REACH = 2.0
"""Reach of a step that begins in a cell, in lengths of the cell."""


def _rest_of(degree: int) -> Array:
    """Matrix that subtracts from samples of a cell their polynomial of least squares."""
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1, 1, POINTS), degree))
    return np.asarray(np.eye(POINTS) - basis @ basis.T)


BEYOND_POLYNOMIAL, BEYOND_LINE = _rest_of(DEGREE), _rest_of(1)


@dataclass(frozen=True)
class Sharp:
    """Times at which steps shall end, and the length of the shortest cell between them, infinite without times."""

    times: Array
    shortest: float = np.inf

    def with_(self, other: Sharp) -> Sharp:
        """The times of both."""
        return Sharp(np.union1d(self.times, other.times), min(self.shortest, other.shortest))


def sharp_times(signals: Signals, start: float, end: float, breaks: Array, cells: int = CELLS) -> Sharp:
    """Ends of short cells within (start, end), without `breaks`, at which steps end anyway."""
    edges = np.concatenate([[start], breaks[(breaks > start) & (breaks < end)], [end]])
    found = _Cells.of(signals, edges, cells)
    if found is None:
        return Sharp(np.empty(0))
    found = found.split(MOST * cells, FINEST * (end - start)).merged()
    first = found.runs()
    a, b = found.a[first], np.append(found.a[first][1:], found.b[-1])
    b = np.minimum(b, edges[np.searchsorted(edges, a, side="right")])
    short = _passed_over(a, b)
    times = np.union1d(a[short], b[short])
    shortest = float((b - a)[short].min()) if short.any() else np.inf
    return Sharp(times[~np.isin(times, edges)], shortest)


def _passed_over(a: Array, b: Array) -> Booleans:
    """Return for each cell whether a step that has grown in an earlier cell might pass over it."""
    out = np.zeros(len(a), dtype=bool)
    reaching: list[tuple[float, float]] = []  # cells before, ever shorter, as (length, time they reach)
    for k, (left, right) in enumerate(zip(a.tolist(), b.tolist())):
        length = right - left
        reaching = [one for one in reaching if one[1] >= left]
        out[k] = bool(reaching) and reaching[0][0] >= SHORTER * length
        reaching = [one for one in reaching if one[0] > length]
        reaching.append((length, right + REACH * length))
    return out


@dataclass(frozen=True)
class _Cells:
    """Cells [a, b], each with its stretch between breaks and its place there, and `values` (n, POINTS): samples of a
    sum of all inputs with uneven weights, each input scaled by its range."""

    a: Array
    b: Array
    stretch: Integers
    place: Integers
    values: Array
    sample: Callable[[Array, Array], Array]

    @classmethod
    def of(cls, signals: Signals, edges: Array, count: int) -> _Cells | None:
        """Make even cells of the stretches between breaks; None where no input changes."""
        lengths = np.diff(edges)
        each = np.exp2(np.ceil(np.log2(np.maximum(1.0, count * lengths / lengths.sum())))).astype(int)
        each[lengths * MOST * count < lengths.sum()] = 0  # no step is longer than such a stretch
        if not each.any():
            return None
        stretch = np.repeat(np.arange(len(each)), each)
        place = np.arange(len(stretch)) - np.repeat(np.cumsum(each) - each, each)
        a = edges[stretch] + lengths[stretch] / each[stretch] * place
        last = place == each[stretch] - 1
        b = np.where(last, edges[stretch + 1], np.append(a[1:], edges[-1]))

        def raw(a: Array, b: Array) -> Array:
            early, late = one_sided_time.after(a)[:, None], one_sided_time.before(b)[:, None]
            times = early + (late - early) * np.linspace(0.0, 1.0, POINTS)
            found = signals(times.ravel())
            return np.asarray(np.nan_to_num(found, posinf=0.0, neginf=0.0)).reshape(len(a), POINTS, -1)

        first = raw(a, b)
        low, high = first.min(axis=(0, 1)), first.max(axis=(0, 1))
        size, span = np.maximum(np.abs(low), np.abs(high)), high - low
        changes = span > CONSTANT * size
        if not changes.any():
            return None
        weights = np.where(changes, (1.0 + np.arange(len(span)) * 0.618034 % 1.0) / np.where(changes, span, 1.0), 0.0)
        return cls(a, b, stretch, place, first @ weights, lambda a, b: raw(a, b) @ weights)

    def described(self) -> Booleans:
        """Return for each cell whether a polynomial describes it."""
        return np.asarray(np.abs(self.values @ BEYOND_POLYNOMIAL).max(axis=1) <= TOLERANCE)

    def split(self, most: int, shortest: float) -> _Cells:
        """Halve cells that no polynomial describes, until there are too many or they are too short."""
        cells: _Cells = self
        open_ = ~self.described()
        while open_.any() and (most := most - int(open_.sum())) >= 0:
            a, b, kept = cells.a[open_], cells.b[open_], ~open_
            middle = a + (b - a) / 2
            left, right = np.concatenate([a, middle]), np.concatenate([middle, b])
            halves = _Cells(
                a=left, b=right, stretch=np.tile(cells.stretch[open_], 2), place=np.full(len(left), -1),
                values=cells.sample(left, right), sample=cells.sample,
            )  # fmt: skip
            cells = cells._taken(kept)._with(halves)
            open_ = np.append(np.zeros(int(kept.sum()), dtype=bool), ~halves.described())
            order = np.argsort(cells.a, kind="stable")
            cells, open_ = cells._taken(order), (open_ & (cells.b - cells.a > 2 * shortest))[order]
        return cells

    def merged(self) -> _Cells:
        """Join two halves that one polynomial describes, and these again."""
        cells = self
        while len(cells.a) > 1:
            pair = np.flatnonzero(
                (cells.place[:-1] % 2 == 0) & (cells.place[1:] == cells.place[:-1] + 1)
                & (cells.stretch[1:] == cells.stretch[:-1])
                & np.isclose((cells.b - cells.a)[1:], (cells.b - cells.a)[:-1], rtol=1e-6)
            )  # fmt: skip
            both = np.concatenate([cells.values[pair, ::2], cells.values[pair + 1, 2::2]], axis=1)
            halves = cells.described()[pair] & cells.described()[pair + 1]
            fits = halves & (np.abs(both @ BEYOND_POLYNOMIAL).max(axis=1, initial=0.0) <= TOLERANCE)
            if not fits.any():
                return cells
            one, both = pair[fits], both[fits]
            values, b, place = cells.values.copy(), cells.b.copy(), cells.place.copy()
            values[one], b[one], place[one] = both, cells.b[one + 1], place[one] // 2
            kept = np.ones(len(cells.a), dtype=bool)
            kept[one + 1] = False
            cells = _Cells(cells.a, b, cells.stretch, place, values, cells.sample)._taken(kept)
        return cells

    def runs(self) -> Integers:
        """Numbers of the cells without those that continue the straight line of the cell before."""
        flat = np.abs(self.values @ BEYOND_LINE).max(axis=1) <= TOLERANCE
        length = self.b - self.a
        slope = (self.values[:, -1] - self.values[:, 0]) / length
        goes_on = (
            flat[1:] & flat[:-1] & (self.stretch[1:] == self.stretch[:-1])
            & (np.abs(self.values[1:, 0] - self.values[:-1, -1]) <= TOLERANCE)
            & (np.abs(np.diff(slope)) * (length[1:] + length[:-1]) <= TOLERANCE)
        )  # fmt: skip
        return np.flatnonzero(~np.append(False, goes_on))

    def _taken(self, which: Booleans | Integers) -> _Cells:
        return replace(self, **{name: getattr(self, name)[which] for name in COLUMNS})

    def _with(self, other: _Cells) -> _Cells:
        columns: dict[str, Any] = {n: np.concatenate([getattr(self, n), getattr(other, n)]) for n in COLUMNS}
        return replace(self, **columns)


COLUMNS = ("a", "b", "stretch", "place", "values")
"""Attributes of cells that have an entry for each."""
