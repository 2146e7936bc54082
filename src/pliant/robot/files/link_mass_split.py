"""Split the mass of a URDF link between its beam and a rigid lump that rides on the beam.

A beam of constant section has its mass on a straight line. Mass, center and inertia of a link rarely fit that line, so
the beam takes as much as it can and a lump takes the rest: their sum is the inertial of the file. The lump has to be a
possible body. Its second moments `[[m, s], [s, D]]` with `D = int r r^T dm` (4 x 4) may have no negative eigenvalue,
which is positive mass, positive inertia and the triangle inequality in one condition, and a bound on the beam's mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import ValidationError

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.files.error_messages import Entries
from pliant.robot.lumped_segments import rigid_beam
from pliant.robot.mass_sum import MassSum
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.bodies.rigid_body import Lump

LEAST = 1e-4
"""Part of the mass of a link below which its beam is called massless."""
ROUNDING = 1e-12
"""Part of mass, and of mass times length squared, that is taken for rounding."""
MARGIN = 1e-9
"""Part of the possible mass that the beam leaves, so that rounding does not make the lump impossible."""


@dataclass(frozen=True)
class Rider:
    """A rigid body on the section at `x` of a beam, m from its root; `body` is about the root, in the beam's axes.
    `spin` is a moment about one axis alone, which no body has."""

    x: float
    body: MassSum
    spin: MassSum

    @property
    def lump(self) -> Entries:
        """Mass, center and inertia in the frame of the section, as they stand in a robot file."""
        m, com, inertia = self.body.about_com()
        com = com - [self.x, 0.0, 0.0] if m else np.zeros(3)
        com, inertia = (
            np.where(np.abs(v) > 1e-14 * np.abs(scale).max(), v, 0.0)
            for v, scale in ((com, [*com, self.x]), (inertia, self.body.I))
        )
        return {"mass": m, "com": com.tolist(), "inertia": inertia.tolist()}

    def link(self, name: str, parent: str, length: float) -> Entries:
        """A link on a fixed joint, as it stands in a robot file."""
        joint: Entries = {"type": "fixed"}
        if self.spin:
            joint["hub"] = {"inertia": self.spin.I.tolist()}
        at: str | Entries = "tip" if self.x >= length else {"x": self.x} if self.x else "root"
        return {"name": name, "parent": parent, "at": at, "joint": joint, "rigid": self.lump}


def split_mass(beam: Entries, stated: Entries, inertial: MassSum, where: str) -> Rider | None:
    """Give a beam its share of the mass of its link, and return what rides on it with the rest, if there is a rest.

    Parameters
    ----------
    beam : dict
        Beam of the side file with its length; `mass_per_length`, `polar_inertia` and `rotary` are filled in where they
        are not given.
    stated : dict
        May have `hub` and `tip` of the side file, which are parts of the link.
    inertial : MassSum
        The link in the file, about its root in the axes of the beam.
    where : str
        Names the link in messages.
    """
    if {"material", "section"} & set(beam):
        return None  # these replace the inertial
    if beam.get("slides"):
        _spread(beam, inertial, where)
        return None
    if not inertial.m:
        if "mass_per_length" not in beam:
            raise ModelError(
                f"{where} has no mass in this file; give its beam `mass_per_length`, or `material` and `section`"
            )
        return _rider(MassSum.nothing(), inertial, 0.0, 0.0) if inertial else None
    try:
        known = Beam.model_validate({"mass_per_length": 1.0, **beam})
        parts = [Lump.model_validate(stated[key]) if key in stated else Lump() for key in ("hub", "tip")]
    except ValidationError:
        beam.setdefault("mass_per_length", 1.0)
        return None  # refused with the robot, all faults at once
    length, given = known.length, "mass_per_length" in beam
    if known.curved:
        raise ModelError(
            f"{where} is a curved beam, whose mass is on no straight line; give `material` and `section`, which "
            "replace the inertial"
        )
    hub, tip = (MassSum.lump(part) for part in parts)
    whole = inertial - hub - tip.moved(np.eye(3), np.array([length, 0.0, 0.0]))
    own = f"{where} has {_kg(whole.m)}" + (" without the `hub` and `tip` of the side file" if stated else "")
    if not whole.m > 0.0:
        raise ModelError(f"{own}, which leaves nothing for its beam; lower their mass")
    body, spin = whole.split()
    share = _Share(beam, body, length)
    most = share.most()
    if given:
        assert known.mass_per_length is not None
        mass = known.mass_per_length * length
        if not share.possible(mass):
            left = whole.m - mass
            raise ModelError(
                f"{own} and its beam {_kg(mass)} (`mass_per_length` times length): the rest of {_kg(left)} would be no "
                f"possible body (mass, inertia or triangle inequality); give `mass_per_length` of at most "
                f"{most / length:.4g} kg/m, or leave it out"
            )
    else:
        part = float(body.s[0]) / (body.m * length)
        if not 0.0 < part < 1.0:
            raise ModelError(
                f"{own} with its center of mass at {part * length:.4g} m along the beam of {length:.4g} m, not within "
                "it; turn the beam by `along`, or give `material` and `section`, which replace the inertial"
            )
        mass = min(most, 2.0 * min(part, 1.0 - part) * body.m)  # beyond, the lump would leave the beam
        if share.fits(body.m):
            mass = body.m
        elif mass < LEAST * body.m:
            raise ModelError(
                f"{own}, of which its beam could carry at most {_kg(max(most, 0.0))}: {share.text}, so hardly any mass "
                "can lie on the beam's axis; correct the inertia, turn the beam by `along`, or give `material` and "
                "`section`, which replace the inertial"
            )
    beam |= share.entries(mass) | ({"mass_per_length": known.mass_per_length} if given else {})
    rest = body - rigid_beam(Beam.model_validate(beam))
    return _rider(rest, spin, length, body.m, float(np.clip(body.s[0] / body.m, 0.0, length)))


class _Share:
    """Share of a body's mass that a uniform beam can take."""

    def __init__(self, given: Entries, body: MassSum, length: float) -> None:
        self.given, self.body, self.length = given, body, length
        m, self.com, inertia = body.about_com()
        second = (np.trace(inertia) / 2.0 * np.eye(3) - inertia) / m
        self.second = second
        sides = np.maximum(np.diag(second)[1:], 0.0)
        tilt = abs(second[1, 2]) / max(float(np.sqrt(sides.prod())), 1e-300)
        self.sides = sides * max(1.0 - tilt, 0.0) if sides.all() else sides  # diag(sides) is below the block
        one, two = rigid_beam(self.beam(m)), rigid_beam(self.beam(m / 2.0))
        self.per_mass = (self._moments(one) - self._moments(two)) / (m / 2.0)
        self.available = self._moments(body) - (2.0 * self._moments(two) - self._moments(one))

    @property
    def text(self) -> str:
        """Place and spread of the mass in numbers, for messages."""
        y, z = self.com[1:]
        spread = np.sqrt(np.maximum(np.diag(self.second), 0.0))
        return (
            f"its center is at [{y:.4g}, {z:.4g}] m beside the axis and its inertia is that of mass spread by only "
            f"[{', '.join(f'{x:.4g}' for x in spread)}] m (standard deviations along and beside it)"
        )

    def entries(self, mass: float) -> Entries:
        """Entries of the beam: sections have the spread that the body has beside its center."""
        y, z = (mass / self.length * self.sides).tolist()
        found: Entries = {"mass_per_length": mass / self.length}
        if self.given.get("polar_inertia") is None and y + z:
            found["polar_inertia"] = y + z
            if self.given.get("rotary") is None:
                found["rotary"] = [z, y]
        return found

    def beam(self, mass: float) -> Beam:
        """The beam with this mass."""
        return Beam.model_validate({**self.given, **self.entries(mass)})

    def _moments(self, body: MassSum) -> Array:
        """Second moments (4, 4), lengths in those of the beam and masses in that of the body."""
        s, L = body.s / self.length, self.length
        D = (np.trace(body.I) / 2.0 * np.eye(3) - body.I) / L**2
        return np.block([[np.array([[body.m]]), s[None]], [s[:, None], D]]) / self.body.m

    def most(self) -> float:
        """Largest mass of the beam that leaves a possible body, kg."""
        try:
            C = np.linalg.cholesky(self.available + ROUNDING * np.eye(4))
        except np.linalg.LinAlgError:
            return 0.0
        X = np.linalg.solve(C, np.linalg.solve(C, self.per_mass).T)
        return (1.0 - MARGIN) / float(np.linalg.eigvalsh(X)[-1])

    def possible(self, mass: float) -> bool:
        """Whether a beam of this mass leaves a possible body, or nothing."""
        rest = self.available - mass * self.per_mass
        return bool(np.linalg.eigvalsh(rest)[0] > -ROUNDING)

    def fits(self, mass: float) -> bool:
        """Whether a beam of this mass leaves nothing."""
        return bool(np.abs(self.available - mass * self.per_mass).max() < ROUNDING)


def _kg(mass: float) -> str:
    return f"{mass:.4g} kg"


def _rider(rest: MassSum, spin: MassSum, length: float, mass: float, middle: float = 0.0) -> Rider | None:
    """Rider with the rest of the mass at its center of mass, or at the nearer end of the beam; None without a rest."""
    if abs(rest.m) <= ROUNDING * mass:  # an inertia alone has no center: it rides at that of the link
        rest = MassSum(0.0, np.zeros(3), np.where(np.abs(rest.I) > ROUNDING * mass * length**2, rest.I, 0.0))
    if not rest and not spin:
        return None
    x = float(np.clip(rest.s[0] / rest.m, 0.0, length)) if rest.m else middle
    near = 1e-9 * length
    return Rider(0.0 if x < near else length if x > length - near else x, rest, spin)


def _spread(beam: Entries, inertial: MassSum, where: str) -> None:
    """Spread the mass of a link evenly over a beam that slides, on which nothing can ride."""
    length = beam.get("total_length")
    if "mass_per_length" in beam or not isinstance(length, (int, float)) or isinstance(length, bool) or length <= 0.0:
        return
    m, com, inertia = inertial.about_com()
    if not m:
        raise ModelError(
            f"{where} has no mass in this file; give its beam `mass_per_length`, or `material` and `section`"
        )
    beside = float(np.hypot(com[1], com[2]))
    if beside > 1e-6 * length:
        raise ModelError(
            f"{where} has its center of mass {beside:.4g} m beside the axis of its beam, which slides and can carry no "
            "lump; give its beam `mass_per_length`"
        )
    beam["mass_per_length"] = m / length
    if inertia[0, 0] > 0.0:
        beam.setdefault("polar_inertia", float(inertia[0, 0]) / length)
