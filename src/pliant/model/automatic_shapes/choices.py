"""Choice of shapes and pieces: numbers in place of every `auto`, and a sentence that gives the reason.

`shapes: auto` takes modes of a clamped beam with all that lies beyond lumped at its tip, as many of each field as the
frequencies of the arm need: small vibrations about the straight arm at a few poses, joints locked and free, are
compared with those of beams that may bend as polynomials do, which know no boundary. Modes are combinations of these,
so that one assembly serves all numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import ceil, floor, inf, log10, pi, sqrt
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.shapes.builder import link_shapes, series_shapes, tapers
from pliant.mechanics.shapes.integrals import FIELDS
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.model.automatic_shapes.piece_choice import chosen_pieces
from pliant.model.automatic_shapes.supported_arm import SupportedVibration
from pliant.model.automatic_shapes.undeformed_modes import StraightArm, Vibration
from pliant.model.robot import Robot
from pliant.robot.parts.beam import BeamProperties, beam_properties
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.link import BeamStation, Link
from pliant.robot.parts.loop_joints import Loop
from pliant.robot.parts.shapes import Shapes, TipLoad
from pliant.robot.pieces import in_pieces
from pliant.robot.tree import parents

ACCURACY = 0.01
"""Relative accuracy of the frequencies, where the description gives none."""
FEWEST = 3
"""Frequencies of the arm that count without a band, or as many as its beams have planes of bending and its joints
elastic drives."""
SAFETY = 0.5
"""Part of the accuracy that may be used at the poses that are looked at. The rest is for all others."""
POSES = 8
"""Poses besides the one of the description."""
TOUCHING = 3
"""Poses from which each contact is brought to touch."""
WAVES = {True: 3, False: 1}
"""Half waves, in bending and otherwise, of a beam whose band is not yet known."""
SPARE = {True: 5, False: 3}
"""Modes beyond the half waves that a beam has in the band."""
MOST = 16
"""Modes of a field, at most."""
MOST_NAMES = 4
"""Names of couplings in a sentence, fewer than this."""
NEAR = 1.25
"""Factor on the smallest error that modes can reach, allowed where that error is too large."""
BEYOND = 1.15
"""Factor on the band up to which frequencies are looked at: at other poses they may be in it."""
ELEMENTS = 12
"""Elements of a tapered beam, at least."""
LITTLE = 0.02
"""Part of the allowed error. Further modes that would gain less are not taken."""
PER_WAVE = {True: 4, False: 8}
"""Elements per half wave of a link in pieces that are enough, in bending and otherwise: they err by 0.1 and 0.6 %."""
GOLDEN = (sqrt(5) - 1) / 2
DIGITS = 3
"""Digits that count where sizes are compared, so that rounding decides nothing."""
STATIONS = np.linspace(0.0, 1.0, 9)

Case = Vibration | SupportedVibration
"""A pose, with joints locked or free."""
Numbers = dict[tuple[str, str], int]
"""Modes by link and field."""


class Aim(NamedTuple):
    """Frequencies up to `band`, Hz, to `accuracy`; those up to the first few of the arm where the band is None."""

    accuracy: float
    band: float | None


def resolved(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """Return the robot with numbers in place of every `auto`, and a sentence for each; the same object if there is
    none."""
    robot, pieces = chosen_pieces(robot)
    robot, shapes = _chosen(robot) if _asking(robot) else (robot, ())
    return robot, (*pieces, *shapes)


def _asking(robot: Robot) -> list[Link]:
    return [link for link in robot.links if link.shapes is not None and link.shapes.is_auto]


@lru_cache(maxsize=32)
def _chosen(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    aim, cut = _aim(_asking(robot)), [link for link in _asking(robot) if link.pieces > 1]
    robot = _replaced(robot, cut, lambda link: _elements(link, 1))
    asking = _asking(robot)
    judge = _Judge(robot, aim)
    numbers = judge.choose()
    made, error = _replaced(robot, asking, lambda link: _described(link, numbers)), judge.error(numbers)
    if cut:
        made, error = _with_elements(made, cut, judge.band, aim)
    chosen = ((link, made.link(link.name).shapes) for link in (*asking, *cut))
    pulls = _pulls(robot)
    return made, tuple(
        _sentence(link, shapes, judge.band, error, aim) + pulls for link, shapes in chosen if shapes is not None
    )


def _with_elements(robot: Robot, cut: list[Link], band: float, aim: Aim) -> tuple[Robot, float]:
    """Return the robot with as few elements in each piece of some links as meet the accuracy, and the remaining
    error."""
    most = {link.name: _most_elements(link, band) for link in cut}
    truth = [
        hertz[: max(1, int(np.sum(hertz <= BEYOND * band)))]
        for hertz in _looked_at(_replaced(robot, cut, lambda link: _elements(link, 2 * most[link.name], axial=True)))
    ]
    for count in range(1, max(most.values()) + 1):
        for axial in (False, True):
            made = _replaced(robot, cut, lambda link: _elements(link, min(count, most[link.name]), axial))  # noqa: B023
            found = (np.abs(own[: len(true)] / true - 1).max() for own, true in zip(_looked_at(made), truth))
            error = max(map(float, found))
            if error <= SAFETY * aim.accuracy:
                return made, error
    return made, error


def _looked_at(robot: Robot) -> list[Array]:
    """Frequencies, Hz, at all poses, with the joints locked and free."""
    return [_hertz(case) for case in _vibrations(robot, build_chain(_plain(robot)))]


def _vibrations(robot: Robot, chain: Chain) -> list[Case]:
    """Vibrations at every pose, with the joints locked and with them free."""
    arm = StraightArm(chain)
    shown, *others = poses(robot, chain)
    if arm.supports is None:
        return [case for q in (shown, *others) for case in arm.vibrations(q)]
    close, looked = arm.supports.closed, (shown, *others)
    closed = [q for q in map(close, looked) if q is not None] or [shown]
    touching = [(k, close(q, k)) for k in range(len(chain.contacts)) for q in looked[:TOUCHING]]
    cases = [case for q in closed for case in arm.vibrations(q)]
    return [*cases, *(case for k, q in touching if q is not None for case in arm.vibrations(q, k))]


def _most_elements(link: Link, band: float) -> int:
    """Elements in a piece that are enough in any case: so many per half wave in the band."""
    needed = (PER_WAVE[field.startswith("bending")] * _waves(link, field, band) for field in link.fields)
    return max(1, ceil(max(needed) / link.pieces))


def _elements(link: Link, count: int, axial: bool = False) -> Link:
    """A link in pieces with so many elements in each; stretch, whose frequencies are the highest, only if asked."""
    fields = [field for field in link.fields if axial or field != "axial"] or list(link.fields)
    return _shaped(link, method="elements", count=count, **dict.fromkeys(fields, True))


def _aim(asking: list[Link]) -> Aim:
    """Strictest aim of all links, since frequencies belong to the whole arm."""
    given = [link.shapes for link in asking if link.shapes is not None]
    bands = [shapes.band for shapes in given if shapes.band is not None]
    return Aim(min(shapes.accuracy or ACCURACY for shapes in given), max(bands, default=None))


def _replaced(robot: Robot, some: list[Link], change: Callable[[Link], Link]) -> Robot:
    own = {link.name: link for link in some}
    links = tuple(change(own[link.name]) if link.name in own else link for link in robot.links)
    return robot.model_copy(update={"links": links}) if own else robot


def _described(link: Link, numbers: Numbers) -> Link:
    """Return the link with numbers of modes. A tapered beam gets as many shapes of each field, reduced from
    elements."""
    own: dict[str, int] = {field: numbers[link.name, field] for field in link.fields}
    if not tapers(link) or not any(own.values()):
        return _shaped(link, **own)
    most, fields = max(own.values()), {field: bool(number) for field, number in own.items()}
    return _shaped(link, method="elements", count=max(ELEMENTS, 2 * most), reduce=max(most, 2), **fields)


def _shaped(link: Link, **shapes: object) -> Link:
    """The link with these shapes, and the damping that was asked for."""
    kept = {
        name: getattr(link.shapes, name) for name in ("damping", "damping_per_amplitude", "rayleigh", "kelvin_voigt")
    }
    return link.model_copy(update={"shapes": Shapes(**shapes, **kept)})


def _sentence(link: Link, shapes: Shapes, band: float, error: float, aim: Aim) -> str:
    fields = [field for field in link.fields if getattr(shapes, field)]
    if not fields:
        took = "none, it is too stiff to matter"
    elif link.pieces > 1:
        each = "one element" if shapes.count == 1 else f"{shapes.count} elements"
        took = f"{each} of {', '.join(fields)} in each of its {link.pieces} pieces"
    elif shapes.method == "elements":
        took = f"{shapes.reduce} each of {', '.join(fields)}, from {shapes.count} elements since it tapers"
    else:
        numbers = ", ".join(f"{getattr(shapes, field)} {field}" for field in fields)
        took = f"{numbers}, clamped with all beyond at its tip"
    head = f"links.{link.name}.shapes: auto took {took}"
    where = f"frequencies of the arm up to {band:.3g} Hz"
    if error <= aim.accuracy:
        return f"{head}, so that {where} are right to {_percent(aim.accuracy)}; those looked at: {_percent(error)}"
    return (
        f"{head}, but {where} err by {_percent(error)}, expected {_percent(aim.accuracy)}, and more modes would help "
        "little; lower `band`, or where links hang along a beam give it `pieces`"
    )


def _pulls(robot: Robot) -> str:
    """Sentence about couplings, which are not looked at. Their forces stiffen or soften beams, and turn with the
    arm."""
    names = [one.name for one in robot.couplings]
    if not names:
        return ""
    which = ", ".join(names) if len(names) < MOST_NAMES else f"{len(names)} of them"
    return (
        f"; forces of couplings ({which}) are not counted: where they press or stretch beams hard, compare with one "
        "more mode of each field"
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %"


class _Judge:
    """Comparison of numbers of modes with the exact beams, at a few poses with joints locked and free."""

    def __init__(self, robot: Robot, aim: Aim) -> None:
        plain = _plain(robot)
        fields = [(link, field) for link in _asking(plain) for field in link.fields]
        self.limit = SAFETY * aim.accuracy
        self.most = {(link.name, field): _most(link, field, aim.band) for link, field in fields}
        self.cases = _cases(plain, self.most)
        self.band = aim.band or self._first(_how_many(plain))
        needed = {(link.name, field): _most(link, field, self.band) for link, field in fields}
        if any(number > self.most[field] for field, number in needed.items()):
            self.most = needed
            self.cases = _cases(plain, needed)
        self.truth = [self._counted(_hertz(case)) for case in self.cases]
        self.places = [_places(case.names, self.most) for case in self.cases]

    def _first(self, count: int) -> float:
        """The largest frequency, joints locked, that is one of the first few at some pose."""
        return _above(max(float(_hertz(case)[:count].max()) for case in self.cases[::2] if not case.touching))

    def _counted(self, hertz: Array) -> Array:
        """Frequencies that are in the band, or may come into it at another pose; at least the first."""
        return hertz[: max(1, int(np.sum(hertz <= BEYOND * self.band)))]

    def choose(self) -> Numbers:
        """Return the fewest modes that meet the accuracy. Begin with those that vibrate in the band by themselves. Add
        one after the other where the worst arm errs most, then take away those that prove idle. Where the accuracy
        cannot be met, return the fewest that come near the best."""
        numbers, limit = self._in_band(), self.limit
        while (worst := self._worst(numbers))[0] > limit:
            field = self._missing(numbers, worst[1])
            if field is None:
                limit = NEAR * worst[0]
            else:
                numbers[field] += 1
        for field in reversed(numbers):
            while numbers[field] and self._would_do(numbers | {field: numbers[field] - 1}, limit):
                numbers[field] -= 1
        return numbers

    def error(self, numbers: Numbers) -> float:
        """Part by which the worst frequency is too high."""
        return self._worst(numbers)[0]

    def _in_band(self) -> Numbers:
        end = (2 * pi * self.band) ** 2
        numbers = dict.fromkeys(self.most, 0)
        for case, places in zip(self.cases[::2], self.places[::2]):
            squares = case.own
            for field, own in places.items():
                low = squares[own[:, : self.most[field]]] <= end
                numbers[field] = max(numbers[field], int(low.sum(axis=1).max()))
        return numbers

    def _would_do(self, numbers: Numbers, limit: float) -> bool:
        return all(self._errors(k, numbers).max() <= limit for k in range(len(self.cases)))

    def _worst(self, numbers: Numbers) -> tuple[float, int]:
        """Largest error, and the case that has it."""
        errors = [float(self._errors(k, numbers).max()) for k in range(len(self.cases))]
        case = max(range(len(errors)), key=lambda k: _rounded(errors[k]))
        return errors[case], case

    def _errors(self, case: int, numbers: Numbers) -> Array:
        """Part by which each frequency in the band is too high; infinity where there is none in its place."""
        return _too_high(self.cases[case].squares(self._kept(case, numbers)), self.truth[case])

    def _kept(self, case: int, numbers: Numbers) -> Array:
        kept = np.ones(len(self.cases[case].names), dtype=bool)
        for field, places in self.places[case].items():
            kept[places[:, numbers[field] :]] = False
        return kept

    def _missing(self, numbers: Numbers, case: int) -> tuple[str, str] | None:
        """The field whose further modes would lower one of the frequencies most, from the first that is too high.

        A mode below it by itself takes its place, those above lower it to second order in what they meet. None where
        all of them together would not do much."""
        looked, kept = self.cases[case], self._kept(case, numbers)
        own = looked.own
        high = np.flatnonzero(self._errors(case, numbers) > self.limit)[0]
        squares, meets = looked.pulls(kept, len(self.truth[case]))
        squares, meets = squares[high:], meets[:, high:]
        gains = meets**2 / np.maximum(np.abs(1 - squares / own[:, None]), 1e-6) / squares
        found = {}
        for field, places in self.places[case].items():
            if numbers[field] < self.most[field]:
                rest = places[:, numbers[field] : self.most[field]].ravel()
                top = squares.max() if len(squares) + high >= len(self.truth[case]) else own.max()
                below = 1 - own[rest].min() / top
                found[field] = _rounded(max(float(below), float(gains[rest].sum(axis=0).max(initial=0.0))))
        best = max(found, key=lambda field: found[field], default=None)
        return best if best is not None and found[best] > LITTLE * self.limit else None


def _too_high(squares: Array, true: Array) -> Array:
    """Part by which the first frequencies are above the true ones, Hz; infinity where there are too few."""
    found = np.full(len(true), inf)
    found[: len(squares)] = np.sqrt(squares[: len(true)]) / (2 * pi)
    return np.maximum(found / true - 1, 0.0)


def _cases(robot: Robot, most: Numbers) -> list[Case]:
    """Vibrations at every pose, with the joints locked and with them free. Each field has polynomials for half as many
    modes again."""

    def functions(link: Link, load: TipLoad | None) -> LinkShapes | None:
        if link.shapes is None or not link.shapes.is_auto:
            return link_shapes(link, load)
        name = link.name.partition(".")[0]
        return series_shapes(link, lambda field: 3 * most[name, field] // 2, load, _stations(cut, link))

    cut = in_pieces(robot)
    return _vibrations(robot, build_chain(robot, functions=functions))


def poses(robot: Robot, chain: Chain) -> list[Array]:
    """Pose of the description, and a few others within the limits. Joints that slide without limits stay."""
    freedoms = robot.freedoms
    found = [chain.rest()]
    for k in range(1, POSES + 1):
        q = chain.rest()
        for j, shaft in enumerate((*chain.shafts, *(one for one in chain.all_shafts if one.passive))):
            freedom = freedoms[shaft.name]
            if shaft.place is None or shaft.place in chain.travels():
                continue
            low, high = (-pi, pi) if freedom.turns else (0.0, 0.0)
            if freedom.limits is not None:
                low = low if freedom.limits.lower is None else freedom.limits.lower
                high = high if freedom.limits.upper is None else freedom.limits.upper
            q[shaft.place] = low + (high - low) * ((0.5 + k * (j + 1) * GOLDEN) % 1.0)
        found.append(chain.followed(q))
    return found


def _stations(robot: Robot, link: Link) -> tuple[float, ...]:
    """Stations of a link, as parts of its length, at which others are attached, or couplings, loops and contacts
    act."""
    places = [other.at for other, parent in zip(robot.links, parents(robot.links)) if parent is not None
              and robot.links[parent].name == link.name]  # fmt: skip
    parts: tuple[Coupling | Loop | Contact, ...] = (*robot.couplings, *robot.loops, *robot.contacts)
    held = {end for part in parts for end in part.between}
    places += [frame.at for frame in robot.frames if frame.link == link.name and frame.name in held]
    found = {
        round(at.x / link.beam.length, 9) for at in places if isinstance(at, BeamStation) and link.beam is not None
    }
    return tuple(sorted(part for part in found if 0.02 < part < 0.98))


def _plain(robot: Robot) -> Robot:
    """Return the robot without damping and without shapes that follow the arm. Neither moves a frequency of the
    straight arm."""
    links = []
    for link in robot.links:
        if link.shapes is not None:
            shapes = link.shapes.model_copy(update={"damping": 0.0, "damping_per_amplitude": 0.0})
            if shapes.tip_load == "track":
                shapes = shapes.model_copy(update={"tip_load": "auto"})
            link = link.model_copy(update={"shapes": shapes})
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})


def _most(link: Link, field: str, band: float | None) -> int:
    """Most modes of a field that are looked at: as many half waves as the beam has in the band, and some more."""
    bends = field.startswith("bending")
    waves = WAVES[bends] if band is None else _waves(link, field, band)
    return min(MOST, waves + SPARE[bends])


def _waves(link: Link, field: str, band: float) -> int:
    """Half waves that a beam has at the end of the band, rounded up."""
    p, kind, omega = beam_properties(link.beam), FIELDS[field], 2 * pi * band  # type: ignore[index]
    density = "polar_inertia" if field == "torsion" else "mass_per_length"
    mass, stiff = (float(np.mean(_along(p, name))) for name in (density, kind.rigidity))
    k = (mass * omega**2 / stiff) ** 0.25 if field.startswith("bending") else omega * sqrt(mass / stiff)
    return ceil(round(min(k * float(p.length) / pi, MOST), 6))


def _along(properties: BeamProperties, name: str) -> Array:
    scale, profile = float(getattr(properties, name)), properties.profile
    return scale * (np.ones(1) if profile is None else np.asarray(getattr(profile, name)(STATIONS)))


def _how_many(robot: Robot) -> int:
    """Number of frequencies that count where no band is given."""
    planes = sum(field.startswith("bending") for link in robot.links for field in link.fields)
    return max(FEWEST, planes + sum(freedom.elastic for freedom in robot.freedoms.values()))


def _hertz(case: Case) -> Array:
    return np.asarray(np.sqrt(case.squares()) / (2 * pi))


def _places(names: tuple[str, ...], fields: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Array]:
    """Places of the amplitudes of each field, a row for each body of the link. Their names begin with its name."""
    rows: dict[tuple[str, str], dict[str, list[int]]] = {field: {} for field in fields}
    for place, name in enumerate(names):
        body, _, field = name.rpartition(".")[0].rpartition(".")
        own = rows.get((body.partition(".")[0], field))
        if own is not None:
            own.setdefault(body, []).append(place)
    return {field: np.array(list(own.values())) for field, own in rows.items()}


def _rounded(value: float) -> float:
    """Round to a few digits, so that numbers that differ by rounding alone are equal."""
    if not value or not np.isfinite(value):
        return value
    return round(value, DIGITS - 1 - floor(log10(abs(value))))


def _above(value: float) -> float:
    """Round up to a number of few digits."""
    unit = 10.0 ** (floor(log10(value)) - DIGITS + 1)
    return ceil(value / unit * (1 - 1e-9)) * unit
