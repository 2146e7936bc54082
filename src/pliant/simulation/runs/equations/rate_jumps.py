"""Jumps of prescribed rates: where they are allowed, they act as impulses; elsewhere they are errors.

A prescribed position has to be continuous. Its rate may jump at a break, which is an impulse on everything that is
free; `MotionJumps.impulses` finds these. A jump that nobody has declared would be stepped over, so that
`MotionJumps.require_declared` searches for jumps between the breaks and raises an error with the time of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pliant.arrays import Array, Booleans
from pliant.compute.tape import one_sided_time
from pliant.errors import ModelError

CONTINUOUS = "a prescribed coordinate has to be continuous (its rate may jump)"
LOOKS, OBLIQUE = 1000, 0.381966
"""Times at which a prescribed path is searched for jumps that nobody has declared, and where the first of them lies in
its share of the run: not where a kink would be put."""
HALVINGS = 60
"""Halvings of the time between two looks: more than there are numbers between."""
BESIDE = 1e-3
"""Distance from a jump at which its size is measured, as a part of the time between two looks."""
LEAST_JUMP = 1e-5
"""Smallest jump of a position or a rate that is searched for, as a part of its size or of 1, whichever is larger."""
SAME = 1e-9
"""Difference of a position or a rate on the two sides of a break that counts as round-off, as a part of its size or of
1, whichever is larger."""


@dataclass(frozen=True)
class Impulses:
    """Times at which prescribed rates jump, and these rates (K, paths) before and after."""

    times: Array
    before: Array
    after: Array
    at_start: bool = False
    """Whether one has happened at the start already, before the first row."""

    @classmethod
    def none(cls, paths: int) -> Impulses:
        """No jump at all."""
        return cls(np.empty(0), np.empty((0, paths)), np.empty((0, paths)))

    def until(self, t: float) -> Impulses:
        """Impulses of a run whose last stretch begins at t."""
        kept = self.times <= t
        return Impulses(self.times[kept], self.before[kept], self.after[kept], self.at_start)

    def behind(self, t: Array) -> Array:
        """Times, with those of an impulse moved right after it."""
        return np.where(np.isin(t, self.times) | (self.at_start & (t == 0.0)), one_sided_time.after(t), t)


@dataclass(frozen=True)
class MotionJumps:
    """Prescribed motion of a run, as far as it may jump.

    Attributes
    ----------
    motion : function
        Positions, rates and accelerations (K, paths) at times (K,).
    names : sequence of str
        Name of the speed of each path, for messages.
    undeclared : sequence of int
        Paths that may jump anywhere; the others are polynomials between their breaks.
    """

    motion: Callable[[Array], tuple[Array, Array, Array]]
    names: Sequence[str]
    undeclared: Sequence[int]

    def impulses(self, breaks: Array) -> Impulses:
        """Jumps of the rates at these breaks; raises `ModelError` if a position jumps."""
        if not self.names or not len(breaks):
            return Impulses.none(len(self.names))
        early, late = one_sided_time.before(breaks), one_sided_time.after(breaks)
        x0, v0, a0 = self.motion(early)
        x1, v1, a1 = self.motion(late)
        between = (late - early)[:, None]
        for at, k in np.argwhere(_jumps(x0, x1, between * (np.abs(v0) + np.abs(v1)))):
            raise ModelError(
                f"{self._title(k)}: jumps from {x0[at, k]:.6g} to {x1[at, k]:.6g} at t = {breaks[at]:.6g} s; "
                f"{CONTINUOUS}"
            )
        found = _jumps(v0, v1, between * (np.abs(a0) + np.abs(a1))).any(axis=1)
        return Impulses(breaks[found], v0[found], v1[found])

    def require_declared(self, breaks: Array, t_end: float) -> None:
        """Raise `ModelError` if a position or a rate jumps between two breaks."""
        if not self.undeclared:
            return
        left, right = _neighbors(breaks, t_end)
        early, late = self.motion(left), self.motion(right)
        for what, order in (("position", 0), ("rate", 1)):
            with np.errstate(invalid="ignore"):  # a path may be infinite at a kink
                moved = (right - left)[:, None] * (np.abs(early[order + 1]) + np.abs(late[order + 1]))
                doubtful = _jumps(early[order], late[order], moved)[:, self.undeclared]
            for at, k in np.argwhere(doubtful):
                path = self.undeclared[k]
                found = _narrowed(partial(self._component, order, path), left[at], right[at])
                if found is not None:
                    raise ModelError(self._message(what, path, *found))

    def _component(self, order: int, path: int, times: Array) -> Array:
        """Positions, rates or accelerations (K,) of one path."""
        return self.motion(times)[order][:, path]

    def _title(self, path: int) -> str:
        """Name of a prescribed path in messages."""
        return f"motion[{self.names[path]!r}]"

    def _message(self, what: str, path: int, at: float, before: float, after: float) -> str:
        """Message about a jump that nobody has declared."""
        do = f"give breaks=[{at:.9g}], or a motion with a continuous rate" if what == "rate" else CONTINUOUS
        return (
            f"{self._title(path)}: its {what} jumps by {after - before:.6g}, from {before:.6g} to {after:.6g}, at "
            f"t = {at:.9g} s, which is not declared; {do}"
        )


def _neighbors(breaks: Array, t_end: float) -> tuple[Array, Array]:
    """Times (K,) and the next ones (K,) between which a path is searched, each pair between the same two breaks."""
    first, last = one_sided_time.after(np.append(0.0, breaks)), one_sided_time.before(np.append(breaks, t_end))
    looks = t_end * (np.arange(LOOKS) + OBLIQUE) / LOOKS
    times = np.union1d(looks, np.concatenate([first, last]))
    stretch = np.searchsorted(breaks, times)
    inside = (first[stretch] <= times) & (times <= last[stretch])
    times, stretch = times[inside], stretch[inside]
    within = stretch[:-1] == stretch[1:]
    return times[:-1][within], times[1:][within]


def _jumps(before: Array, after: Array, moved: Array) -> Booleans:
    """Return whether two values, some roundings of the time apart, differ by more than they `moved` in that time."""
    return np.asarray(
        np.abs(after - before) > moved + SAME * np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))
    )


def _narrowed(f: Callable[[Array], Array], left: float, right: float) -> tuple[float, float, float] | None:
    """Time between two times at which a function jumps, to the last bits, and its values on both sides; None where it
    is steep only, and changes the less the nearer one looks. It may have lost its digits right beside a kink."""
    far = (right - left) * BESIDE
    for _ in range(HALVINGS):
        middle = left + (right - left) / 2
        if not left < middle < right:
            break
        values = np.nan_to_num(f(np.array([left, middle, right])), posinf=0.0, neginf=0.0)
        left, right = (left, middle) if abs(values[1] - values[0]) >= abs(values[2] - values[1]) else (middle, right)
    outer = np.diff(f(np.array([left - far, right + far])))
    before, after = f(np.array([left - far / 10, right + far / 10]))
    size = abs(after - before)
    is_jump = size > np.abs(outer[0]) / 2 and size > LEAST_JUMP * max(1.0, abs(before), abs(after))
    return (right, float(before), float(after)) if is_jump else None
