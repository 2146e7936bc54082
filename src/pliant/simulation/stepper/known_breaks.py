"""Times at which a stretch must end because the equations are not smooth there. They are found as far ahead as a run
has come."""

from __future__ import annotations

import math

import numpy as np

from pliant.arrays import Array
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.equations.rate_jumps import Impulses

AHEAD = 4.0
"""Factor on the present time up to which they are searched."""
SAME = 1e-9
"""Part of a step: a break or a sample so near to its end counts as at its end."""


class KnownBreaks:
    """Times at which stretches end. `following(t)` is the next one after t, `known` the time until which all are
    known."""

    def __init__(self, composed: Composition) -> None:
        self._composed = composed
        self.known = 0.0 if composed.is_broken or composed.prescribed else math.inf
        self._times: Array = np.empty(0)
        self._sharp: Array = np.empty(0)
        """Ends of short features of inputs."""
        self._impulses = Impulses.none(len(composed.prescribed))

    def look(self, t: float) -> None:
        """Find all until some time after t."""
        if t < self.known:
            return
        while self.known <= t:  # the windows do not depend on the times asked for
            start, self.known = self.known, max(1.0, AHEAD * self.known)
            kinks = self._composed.kinks(2 * self.known)
            self._sharp = np.append(self._sharp, self._composed.sharp(start, self.known, kinks).times)
        self._times = np.union1d(kinks[kinks < self.known], self._sharp)
        self._impulses = self._composed.impulses(self._times, self.known, self._sharp)

    def following(self, t: float) -> float:
        """Next one after t, or the time until which all are known."""
        k = int(np.searchsorted(self._times, t, side="right"))
        return float(self._times[k]) if k < len(self._times) else self.known

    def jump(self, t: float) -> tuple[Array, Array, Array] | None:
        """Time, and prescribed rates before and after, if these jump at t."""
        found = np.flatnonzero(self._impulses.times == t)
        if not len(found):
            return None
        k = int(found[0])
        times = self._impulses.times[k : k + 1]
        return self._impulses.behind(times), self._impulses.before[k], self._impulses.after[k]
