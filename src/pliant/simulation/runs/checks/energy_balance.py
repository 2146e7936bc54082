"""Energy balance of runs: one rule by which single runs, batches and steppers tell that their steps were too long.

The energy of an arm changes by the work that is done on it, and by nothing else. With K kinetic energy, V gravity and
strain energy, W the work integrated along the run,

    error = max |K + V - W - (K + V - W at the start)|,     moved = max K + (max V - min V) + sum |change of W|,

a run has gone wrong where its error exceeds 1 % of what moved. Steps that are too long, an obstacle that was passed
through or a pulse that was stepped over show up here, whatever the error estimate of the method said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.model.terms import Energy
from pliant.robot.gaps import may_touch
from pliant.robot.mass_sum import robot_mass

ALLOWED = 0.01
"""Error of the energy, as a part of what moved."""
STATIC = 1e-4
"""Part of the gravity and strain energy that counts as moved: below, an arm stands still."""
SLOW = 1e-12
"""J/kg that count as moved: an arm at a micrometer per second, where there is neither gravity nor strain."""
SINGLE_STATIC = 1e-2
"""Part of the gravity and strain energy that counts as moved in single precision, whose rounding is 1e-7 of every
energy."""
ROWS = 250
"""Rows of a run that are judged, evenly spaced; all of them where the arm may touch something, which is brief."""
MOST_INTERPRETED = 1e6
"""Instructions times states that are interpreted to judge the energy. Measured on two x86-64 cores: up to 0.02 s, and
some 6 us per instruction to read the tape of a new arm, where a compile takes 90 us."""
STATUS = "energy error"
"""Status of a run that came to its end with more than the allowed error."""


@dataclass
class EnergyBalance:
    """Error of the energy of arms, (B,), and what moved in them, from states that are added as they come.

    Parameters
    ----------
    model : Model
    precision : str
        "double" or "single".
    """

    model: Model
    precision: str = "double"
    error: Array = field(default_factory=lambda: np.zeros(1), init=False)
    at: Array = field(default_factory=lambda: np.zeros(1), init=False)
    """Time of the largest error, s."""
    _most: Array | None = field(default=None, init=False)
    """(6, B) largest kinetic energy, V, -V, magnitudes of gravity and of strain energy, and work, J."""
    _reference: Array | None = field(default=None, init=False)

    def add(self, t: Array, energy: Energy, work: Array, worked: Array) -> None:
        """Take up rows: times (N,), and by arm and row (B, N) energies, work since the start, and the sum of the
        magnitudes of the work done. Rows of NaN, after the end of an arm, do not count."""
        with np.errstate(invalid="ignore"):  # arms that break down have energies beyond all numbers
            total = energy.total - work
            if self._reference is None:
                self._reference = total[:, 0]
            off = np.fmax(np.abs(total - self._reference[:, None]), 0.0)
        if not self.seen:
            self.error, self.at = np.zeros(len(total)), np.full(len(total), float(t[0]))
        largest = off.argmax(axis=1)
        found = off[np.arange(len(off)), largest]
        self.at = np.where(found > self.error, t[largest], self.at)
        self.error = np.maximum(self.error, found)
        kinetic, gravity, strain = energy
        rest = gravity + strain
        seen = np.array([kinetic, rest, -rest, np.abs(gravity), np.abs(strain), worked])
        most = np.fmax.reduce(seen, axis=2, initial=-np.inf)
        self._most = most if self._most is None else np.maximum(self._most, most)

    @property
    def seen(self) -> bool:
        """True if there are rows to judge by."""
        return self._most is not None

    def restart(self) -> None:
        """Take the next rows as a new beginning, after the energy was changed from outside; moved energy is kept."""
        self._reference = None

    @property
    def moved(self) -> Array:
        """(B,) energy that moved, J."""
        if self._most is None:
            raise RuntimeError("no rows were taken up")
        kinetic, top, bottom, gravity, strain, worked = self._most
        static = STATIC if self.precision == "double" else SINGLE_STATIC
        mass = float(self.model.derived("mass", (), partial(robot_mass, self.model.robot)))
        floor = static * (gravity + strain) + SLOW * mass
        return np.asarray(kinetic + top + bottom + worked + floor)

    @property
    def part(self) -> Array:
        """(B,) error over what moved."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.error / np.maximum(self.moved, np.finfo(float).tiny))

    def finding(self, arm: int = 0) -> str:
        """Message about an arm whose error is too large."""
        return (
            f"energy: got an error of {self.error[arm]:.3g} J at t = {self.at[arm]:.6g} s in a run that moved "
            f"{self.moved[arm]:.3g} J, expected below {ALLOWED:.0%}; {self._remedy()}"
        )

    def _remedy(self) -> str:
        """Advice against an error of the energy."""
        if self.model.options.rotation == "linear":
            return 'rotation="linear" does not conserve energy; take rotation="exact"'
        return "its steps are too long: give a smaller `step`, or a smaller `rtol` to a method that has one"


def balance_of(
    model: Model, t: Array, q: Array, qd: Array, work: Array, p: Array | None, precision: str = "double"
) -> EnergyBalance:
    """Judge the energy of finished histories: q and qd (B, N, n), work (B, N), parameters (B, P) or (P,)."""
    found = EnergyBalance(model, precision)
    worked = np.zeros(work.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        np.abs(work[:, 1:] - work[:, :-1]).cumsum(axis=1, out=worked[:, 1:])
    if not touches(model) and len(t) > ROWS:
        rows = np.arange(0, len(t), -(-len(t) // ROWS))
        rows = rows if rows[-1] == len(t) - 1 else np.append(rows, len(t) - 1)
        t, q, qd, work, worked = t[rows], q[:, rows], qd[:, rows], work[:, rows], worked[:, rows]
    own = p if p is None or np.ndim(p) == 1 else p[:, None]
    good = np.asarray(np.isfinite(q).all(axis=2) & np.isfinite(qd).all(axis=2))
    if good.all():
        energy = energies_to_judge(model, q, qd, own)
    else:  # rows behind the end of an arm
        q, qd = (np.where(good[..., None], x, x[:, :1]) for x in (q, qd))
        energy = Energy(*(np.where(good, part, np.nan) for part in energies_to_judge(model, q, qd, own)))
    found.add(t, energy, work, worked)
    return found


def energies_to_judge(model: Model, q: Array, qd: Array, p: Array | None) -> Energy:
    """Energies of states (B, ..., n), without a compile for few states of one arm. Their number alone decides which
    way, so that equal runs are judged by equal bits."""
    kernel = model.kernel("energy")
    if len(q) > 1 or np.prod(q.shape[:-1]) * kernel.n_instructions() > MOST_INTERPRETED:
        return model.energy(q, qd, p)
    given = (model.nominal_parameters if p is None else p,) if model.parameters else ()
    values = kernel.interpreted(q, qd, *given)
    return Energy(values[..., 0], values[..., 1], values[..., 2])


def touches(model: Model) -> bool:
    """True if the arm has contacts or stops, which act now and then."""
    return model.derived("touching", (), partial(may_touch, model.robot))
