"""Limits of the model: warnings where an arm leaves the range in which its model holds.

Each finding is a warning, never an error. It is given once per model, with the number and the likely mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.compute.tape.trace_cache import recalled
from pliant.errors import warn_user
from pliant.model.robot import Robot
from pliant.robot.mass_sum import link_mass
from pliant.robot.parts.cross_sections.sections import area_moments, shear_coefficients, tapered_moments
from pliant.robot.parts.link import Link
from pliant.robot.tree import beyond

if TYPE_CHECKING:
    from pliant.mechanics.links.chain import ChainLink
    from pliant.model.model import Model

Findings = dict[str, str]
"""Texts by what they are about: a second number for the same is not told again."""
PLAUSIBLE = {
    "E": (1e6, 1.5e12, "Pa", "soft rubber to diamond", {"GPa": 1e9, "MPa": 1e6}),
    "G": (3e5, 6e11, "Pa", "soft rubber to diamond", {"GPa": 1e9, "MPa": 1e6}),
    "density": (10.0, 2.3e4, "kg/m^3", "foam to osmium", {"g/cm^3": 1e3}),
    "length": (1e-4, 300.0, "m", "a microgripper to the largest boom", {"mm": 1e-3, "cm": 1e-2}),
    "section": (1e-6, 5.0, "m", "a film to the shell of a tower", {"mm": 1e-3, "cm": 1e-2}),
    "start": (-4 * np.pi, 4 * np.pi, "rad", "two turns", {"deg": np.pi / 180}),
}
"""Least and largest number, its unit, what has it, and the units in which it may have been typed."""
SIZES = ("diameter", "outer_diameter", "inner_diameter", "width", "height", "thickness", "flange", "web")
"""Of a section."""
SHEAR = 0.02
"""Part by which shear may lower the first frequency of a link without a warning."""
SLOPE = 0.2
"""Slope of a section, rad, up to which deflections are small: a force at the tip moves it 2 % less than they say."""
SENSIBLE_PIECES = 64
"""Where more would be needed, it is the numbers that are wrong."""
ABSURD = 1e3
"""Slope that no load gives a sound beam, rad."""
SLOWEST = 2e-3
"""Hz; the largest arms in space, with their heaviest payloads, vibrate at 1e-2."""
STATIONS = np.linspace(0.0, 1.0, 9)


def tell(model: Model, findings: Findings) -> None:
    """Warn of each finding, once per model."""
    for name, text in findings.items():
        model.derived("told", name, partial(warn_user, text))


def doubts(robot: Robot) -> Findings:
    """Warnings about the description: numbers that no material has, links that shear would slow down."""
    return odd_numbers(robot) | _shear(robot)


def in_a_run(model: Model, q: ArrayLike) -> Findings:
    """Warnings about the arm and the states (..., n) of its run."""
    return model.derived("doubts", (), partial(doubts, model.robot)) | steep(model, q)


def odd_numbers(robot: Robot) -> Findings:
    """Warnings about moduli and densities that no material has, and sizes that no arm has."""
    found: Findings = {}
    for link in robot.links:
        if link.body is not None:
            found |= _odd(f"links.{link.name}.body, from root to tip", link.body.length or 1.0, "length")
        if link.beam is None:
            continue
        path, beam = f"links.{link.name}.beam", link.beam
        found |= _odd(f"{path}.length", beam.length, "length")
        for name in ("E", "G", "density") if beam.material is not None else ():
            found |= _odd(f"{path}.material.{name}", getattr(beam.material, name), name)
        for name in SIZES if beam.section is not None else ():
            for value in np.atleast_1d(np.array(getattr(beam.section, name), dtype=float)):
                found |= _odd(f"{path}.section.{name}", value, "section")
    return found | _active_laws(robot)


def _active_laws(robot: Robot) -> Findings:
    """Laws of friction and of gears whose numbers let them create energy."""
    found: Findings = {}
    for link in robot.links:
        for freedom in link.joint.freedoms:
            rubbing = {"friction": freedom.friction}
            if freedom.elastic:
                rubbing["drive.friction"] = freedom.drive.friction
            for name, law in rubbing.items():
                least = law.micro_damping * (law.level / law.coulomb - 1) if law.coulomb else 0.0
                path = f"links.{link.name}.joint.{name}"
                if law.viscous < least * (1 - 1e-9):
                    found[path] = (
                        f"{path}: got viscous {law.viscous:g}, expected at least micro_damping (stiction - coulomb) / "
                        f"coulomb = {least:.4g}; below, the law lugre can create energy"
                    )
            bent = freedom.drive.hysteresis if freedom.drive is not None else None
            if bent is not None and bent.loading < 0.5:
                path = f"links.{link.name}.joint.drive.hysteresis"
                found[path] = (
                    f"{path}: got loading {bent.loading:g}, expected at least 0.5; below, a gear that yields "
                    "can create energy"
                )
    return found


def odd_start(model: Model, q: Array, name: str) -> Findings:
    """Angles of joints in states (..., n_q) that were likely meant in degrees."""
    found: Findings = {}
    for shaft in model.layout.shafts:
        if shaft.turns and shaft.place is not None:
            values = np.ravel(q[..., shaft.place])
            found |= _odd(f"{name}[{shaft.name!r}]", values[np.argmax(np.abs(values))], "start")
    return found


def _odd(path: str, value: float, kind: str) -> Findings:
    """Warning about a number outside the plausible range, with the likely mistake. None passes."""
    low, high, unit, kinds, others = PLAUSIBLE[kind]
    if np.isnan(value) or low <= value <= high:
        return {}
    meant = [f"{value:g} {other}" for other, factor in others.items() if low <= value * factor <= high]
    convert = 'write it as "{0}"' if unit == "rad" else "convert it to {1}"
    remedy = f"if {{0}} is meant, {convert}".format(meant[0], unit) if meant else "check the number and its unit"
    return {path: f"{path}: got {value:g} {unit}, expected {low:g} to {high:g} ({kinds}); {remedy}"}


def _shear(robot: Robot) -> Findings:
    found = {}
    for link in robot.links:
        part = 0.0 if link.beam is None or link.beam.shear else shear_part(robot, link)
        if part > SHEAR:
            slides = link.beam is not None and link.beam.slides
            remedy = "take its frequencies as too high by as much" if slides else "add `shear: true` to the beam"
            found[f"shear of {link.name}"] = (
                f"links.{link.name}: got a beam whose first frequency shear would lower by {part:.1%}, expected less "
                f"than {SHEAR:.0%}, since it bends without shear; {remedy}"
            )
    return found


def shear_part(robot: Robot, link: Link) -> float:
    """Part of the first frequency of a clamped link, all beyond it as a mass at its tip, that shear takes; an estimate.

    Flexibilities add up: bending yields by m L^3/(12.36 EI) + M L^3/(3 EI), shear by m L/(2.66 k G A) + M L/(k G A),
    for the mass m of the beam in its first mode and M at its tip. 0 where it has no section or does not bend.
    """
    beam, shapes = link.beam, link.shapes
    if not link.bends or beam is None or beam.section is None or beam.material is None or shapes is None:
        return 0.0
    place = [other.name for other in robot.links].index(link.name)
    own = link_mass(link) - link.joint.hub.mass - link.tip.mass
    further = beyond(robot.links, place)
    tip = link.tip.mass + sum(load.mass for k in further for load in robot.carried(k))
    tip += sum(link_mass(robot.links[k]) for k in further if k != place)
    section = beam.section
    A, I_y, I_z = (area_moments(section) if section.is_drawn else tapered_moments(section, 0.0))[:3]
    planes = zip((shapes.bending_y, shapes.bending_z), (I_z, I_y), shear_coefficients(section))
    masses = (own / 2.66 + tip) / (own / 12.36 + tip / 3)
    modulus = beam.material.E / beam.material.G / beam.length**2
    ratios = [masses * modulus * inertia / (k * A) for bends, inertia, k in planes if bends]
    return float(1 - 1 / np.sqrt(1 + max(ratios, default=0.0)))


def slow(frequencies: ArrayLike) -> Findings:
    """Frequencies, Hz, that no arm has."""
    values = np.asarray(frequencies, dtype=float)
    values = values[(values > 0) & (values < SLOWEST)]
    text = (
        f"frequencies: got {values.min(initial=SLOWEST):.3g} Hz, expected above {SLOWEST:g} Hz; check the units of "
        "stiffness (a modulus in Pa, not in GPa) and of masses"
    )
    return {"frequencies": text} if len(values) else {}


def steep(model: Model, q: ArrayLike) -> Findings:
    """Links whose sections turn beyond small slopes in the states `q` (..., n)."""
    states, found = np.asarray(q, dtype=float), {}
    largest = np.abs(states).reshape(-1, model.n_q).max(axis=0, initial=0.0)
    for beam in bent_beams(model):
        if all(np.abs(piece.slopes).sum(axis=0).max(axis=0) @ largest[piece.places] <= SLOPE for piece in beam.pieces):
            continue  # however the amplitudes add up
        slope, bend = (float(np.max(np.nan_to_num(x), initial=0.0)) for x in beam.turns(states))
        if slope > SLOPE:
            many = beam.enough(slope, bend)
            found[f"slope of {beam.name}"] = (
                f"links.{beam.name}: got a slope of {slope:.3g} rad, expected below {SLOPE:g} rad, to which small "
                f"deflections hold; {_likely(model, slope)}"
                + ("" if beam.slides or many > SENSIBLE_PIECES else f", or write `pieces: {many}` in its beam")
            )
    return found | _turned(model, states)


def _likely(model: Model, slope: float) -> str:
    """Likely causes of a slope: a modulus in a wrong unit bends a beam a billion times too far."""
    if model.level.stiffening == "off" and not model.level.auto and slope > ABSURD:
        return "a link that spins or is pressed needs stiffening='second-order'; otherwise check stiffness and loads"
    unit = " (a modulus in Pa, not in GPa)" if slope > ABSURD else ""
    return f"check stiffness{unit}, masses and loads"


def body_turns(model: Model, q: Array) -> Iterator[tuple[str, tuple[str, ...], Array]]:
    """Yield for each flexible body from a file its link, its frames, and the angle of each frame against the root, rad,
    in states (..., n)."""
    for link in model.robot.links:
        body = None if link.body is None else link.body.reduced
        if body is not None and body.size:
            own = q[..., [model.coordinates.index(f"{link.name}.{name}") for name in body.names]]
            yield link.name, body.frames, np.linalg.norm(np.tensordot(own, body.turn, (-1, 2)), axis=-1)


def _turned(model: Model, states: Array) -> Findings:
    found = {}
    for name, frames, turns in body_turns(model, states):
        largest = np.nan_to_num(turns).reshape(-1, len(frames)).max(axis=0, initial=0.0)
        if largest.max() > SLOPE:
            found[f"turn of {name}"] = (
                f"links.{name}.body: got a turn of {largest.max():.3g} rad of its frame `{frames[largest.argmax()]}`, "
                f"expected below {SLOPE:g} rad, to which a body that is linear in its coordinates holds; check its "
                "units and its loads"
            )
    return found


class BentPiece(NamedTuple):
    """Number and length of a link, places of its amplitudes in q, and for both planes (2, stations, amplitudes) slopes
    per amplitude, and curvatures times the length."""

    number: int
    length: float
    places: list[int]
    slopes: Array
    bends: Array


@dataclass(frozen=True)
class BentBeam:
    """A beam as the user sees it: a link that bends, in one piece or several."""

    name: str
    pieces: tuple[BentPiece, ...]
    slides: bool

    def turns(self, q: Array) -> tuple[Array, Array]:
        """(...,) in states (..., n): the largest slope of a section against the root of its piece, and the largest
        curvature times the length of its piece."""
        slopes, bends = (
            [np.linalg.norm(np.tensordot(q[..., piece.places], table, (-1, 2)), axis=-2) for piece, table in tables]
            for tables in zip(*(((piece, piece.slopes), (piece, piece.bends)) for piece in self.pieces))
        )
        return np.max(slopes, axis=(0, -1)), np.max(bends, axis=(0, -1))

    def enough(self, slope: float, bend: float) -> int:
        """Pieces whose sections turn by less than the limit: as many as there are, where these do."""
        count = len(self.pieces)
        return count if slope <= SLOPE else int(np.ceil(min(count * bend / SLOPE, 1e6)))


def bent_beams(model: Model) -> list[BentBeam]:
    """The beams of an arm that bend, slide or not."""
    return model.derived("slopes", (), partial(_bent_beams, model))


def _bent_beams(model: Model) -> list[BentBeam]:
    kept = recalled(model.recipe and f"{model.recipe} bent beams", partial(_tables, model))
    found: dict[str, list[BentPiece]] = {}
    for name, number, length, places, *tables in kept["pieces"]:
        slopes, bends = map(np.array, tables)
        found.setdefault(name, []).append(BentPiece(number, length, places, slopes, bends))
    return [BentBeam(name, tuple(pieces), name in kept["sliding"]) for name, pieces in found.items()]


def _tables(model: Model) -> dict[str, list[list[object]] | list[str]]:
    """The pieces of all beams that bend, as plain data, and the names of those that slide."""
    pieces, sliding = [], []
    for k, (link, described) in enumerate(zip(model.chain.links, model.bodies)):
        if described.beam is not None and link.body.shapes is not None and len(link.body.shapes.names):
            pieces.append([link.piece.owner, k, described.beam.length, *_piece(link, described.beam.length)])
            sliding += [link.piece.owner] if link.slides else []
    return {"pieces": pieces, "sliding": sliding}


def _piece(link: ChainLink, length: float) -> tuple[list[int], list[object], list[object]]:
    shapes = link.body.shapes
    assert shapes is not None
    planes = np.array([[field == plane for field in shapes.fields] for plane in ("bending_y", "bending_z")])
    scale = planes[:, None, :] * length ** (np.array(shapes.powers) - 1.0)
    slopes, bends = (shapes.evaluate(STATIONS, order) * scale for order in (1, 2))
    return list(link.body_places[-len(shapes.names) :]), slopes.tolist(), bends.tolist()
