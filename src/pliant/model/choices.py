"""What a description leaves to the model: numbers in place of every `auto`, and a sentence that says why.

`shapes: auto` takes modes of a clamped beam with all that lies beyond lumped at its tip, as many of each field as the
frequencies of the arm need: small vibrations about the straight arm at a few poses, joints locked and free, are
compared with those of the arm whose beams are cut into elements. Modes of a field are nested, so that one assembly
serves all numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import ceil, floor, inf, log10, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Array
from pliant.dynamics import build_chain
from pliant.model.straight_arm import Pencil, StraightArm
from pliant.robot import Link, Robot, Shapes, beam_properties
from pliant.shapes.integrals import FIELDS

ACCURACY = 0.01
"""Of the frequencies, where the description gives none."""
FEWEST = 3
"""Frequencies of the arm that count without a band, or as many as its beams have planes of bending and its joints
elastic drives."""
SAFETY = 0.6
"""Part of the accuracy that is used up at the poses that are looked at; the rest is for all others."""
POSES = 4
"""Besides the one that the description shows."""
SPARE = 3
"""Modes, and shapes of the reference, beyond the half waves that a beam has in the band."""
MOST = 16
"""Modes of a field."""
ELEMENTS = 12
"""Of each beam of the reference, at least."""
GOLDEN = (sqrt(5) - 1) / 2
DIGITS = 3
"""That count where sizes are compared, so that rounding decides nothing."""
STATIONS = np.linspace(0.0, 1.0, 9)

Numbers = dict[tuple[str, str], int]
"""Modes by link and field."""


class Aim(NamedTuple):
    """Frequencies up to `band`, Hz, to `accuracy`; those up to the first few of the arm where the band is None."""

    accuracy: float
    band: float | None


def resolved(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """The robot with numbers in place of every `auto`, and a sentence for each; the same object where there is none."""
    return _chosen(robot) if _asking(robot) else (robot, ())


def _asking(robot: Robot) -> list[Link]:
    return [link for link in robot.links if link.shapes is not None and link.shapes.is_auto]


@lru_cache(maxsize=32)
def _chosen(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    asking = _asking(robot)
    aim = _aim(asking)
    judge = _Judge(robot, aim)
    numbers = judge.choose()
    error = judge.error(numbers)
    made = _with(robot, lambda link: _modes(link, numbers))
    return made, tuple(_sentence(link, numbers, judge.band, error, aim) for link in asking)


def _aim(asking: list[Link]) -> Aim:
    """The strictest of what the links ask for: frequencies are those of the arm."""
    given = [link.shapes for link in asking if link.shapes is not None]
    bands = [shapes.band for shapes in given if shapes.band is not None]
    return Aim(min(shapes.accuracy or ACCURACY for shapes in given), max(bands, default=None))


def _with(robot: Robot, change: Callable[[Link], Link]) -> Robot:
    asking = {link.name for link in _asking(robot)}
    return robot.model_copy(
        update={"links": tuple(change(link) if link.name in asking else link for link in robot.links)}
    )


def _modes(link: Link, numbers: Numbers) -> Link:
    kept = {name: getattr(link.shapes, name) for name in ("damping", "rayleigh", "kelvin_voigt")}
    shapes: dict[str, Any] = {field: numbers[link.name, field] for field in link.fields} | kept
    return link.model_copy(update={"shapes": Shapes(**shapes)})


def _elements(link: Link, kept: int) -> Link:
    """The link as elements, of which the lowest shapes are kept, and all that its tip may do. Those that shear need
    some rotary inertia of their sections: a millionth of what would matter."""
    wanted: dict[str, Any] = dict.fromkeys(link.fields, True)
    shapes = Shapes(method="elements", count=max(ELEMENTS, 2 * kept), reduce=kept, **wanted)
    beam, p = link.beam, beam_properties(link.beam)
    if beam is not None and beam.shearing:
        little = 1e-6 * float(np.mean(_along(p, "mass_per_length"))) * p.length**2
        rotary = "section" if beam.section is not None else tuple(j or little for j in p.rotary)
        beam = beam.model_copy(update={"rotary": rotary})
    return link.model_copy(update={"shapes": shapes, "beam": beam})


def _sentence(link: Link, numbers: Numbers, band: float, error: float, aim: Aim) -> str:
    own = [f"{numbers[link.name, field]} {field}" for field in link.fields if numbers[link.name, field]]
    took = f"{', '.join(own)} (clamped, all beyond at its tip)" if own else "none, it is too stiff to matter"
    head = f"links.{link.name}.shapes: auto took {took}"
    where = f"frequencies of the arm up to {band:.3g} Hz"
    if error <= aim.accuracy:
        return f"{head}, so that {where} are right to {aim.accuracy:.2g}; those looked at err by {error:.2g}"
    return (
        f"{head}, but {where} err by {error:.2g}, expected {aim.accuracy:.2g}; {MOST} modes of a field are the most: "
        "lower `band`, or take `method: elements`"
    )


class _Judge:
    """Compares numbers of modes with elements, at a few poses with joints locked and free."""

    def __init__(self, robot: Robot, aim: Aim) -> None:
        plain = _plain(robot)
        fields = [(link, field) for link in _asking(plain) for field in link.fields]
        if aim.band is None:
            first = _cases(_with(plain, lambda link: _elements(link, FEWEST + SPARE)))
            count = _first(plain)
            band = _above(max(float(_hertz(case)[:count].max(initial=0.0)) for case in first[::2]))
        else:
            band = aim.band
        self.band, self.limit = band, SAFETY * aim.accuracy
        self.most = {(link.name, field): min(MOST, _waves(link, field, band) + SPARE) for link, field in fields}
        kept = max(self.most.values()) + 2
        self.truth = [
            self._counted(_hertz(case)) for case in _cases(_with(plain, lambda link: _elements(link, kept)))
        ]
        self.cases = _cases(_with(plain, lambda link: _modes(link, self.most)))
        self.places = [_places(case.names, self.most) for case in self.cases]

    def _counted(self, hertz: Array) -> Array:
        """Frequencies in the band, at least the first."""
        return hertz[: max(1, int(np.sum(hertz <= self.band * (1 + 1e-9))))]

    def choose(self) -> Numbers:
        """As few modes as the accuracy takes: those that vibrate in the band by themselves, then one after the other
        where the worst frequency misses most, less those that turn out to be idle."""
        numbers = self._in_band()
        while (worst := self._worst(numbers))[0] > self.limit:
            field = self._missing(numbers, *worst[1:])
            if field is None:
                return numbers
            numbers[field] += 1
        for field in reversed(numbers):
            while numbers[field] and self._would_do(numbers | {field: numbers[field] - 1}):
                numbers[field] -= 1
        return numbers

    def error(self, numbers: Numbers) -> float:
        """Part by which the worst frequency is too high."""
        return self._worst(numbers)[0]

    def _in_band(self) -> Numbers:
        end = (2 * pi * self.band) ** 2
        numbers = dict.fromkeys(self.most, 0)
        for case, places in zip(self.cases[::2], self.places[::2]):
            squares = np.diag(case.K) / np.diag(case.M)
            for field, own in places.items():
                low = squares[own].reshape(-1, self.most[field]) <= end
                numbers[field] = max(numbers[field], int(low.sum(axis=1).max()))
        return numbers

    def _would_do(self, numbers: Numbers) -> bool:
        return all(self._miss(k, numbers)[0] <= self.limit for k in range(len(self.cases)))

    def _worst(self, numbers: Numbers) -> tuple[float, int, int]:
        """Largest error, the case that has it and the number of its frequency."""
        found = [(*self._miss(k, numbers), k) for k in range(len(self.cases))]
        error, number, case = max(found, key=lambda each: _rounded(each[0]))
        return error, case, number

    def _miss(self, case: int, numbers: Numbers) -> tuple[float, int]:
        """Largest error of a case, and the number of its frequency."""
        squares, true = self.cases[case].part(self._kept(case, numbers)).modes()[0], self.truth[case]
        found = np.full(len(true), inf)
        found[: len(squares)] = np.sqrt(squares[: len(true)]) / (2 * pi)
        errors = np.maximum(found / true - 1, 0.0)
        worst = int(np.argmax([_rounded(float(error)) for error in errors]))
        return float(errors[worst]), worst

    def _kept(self, case: int, numbers: Numbers) -> Array:
        kept = np.ones(len(self.cases[case].names), dtype=bool)
        for field, places in self.places[case].items():
            kept[[place for k, place in enumerate(places) if k % self.most[field] >= numbers[field]]] = False
        return kept

    def _missing(self, numbers: Numbers, case: int, number: int) -> tuple[str, str] | None:
        """The field whose further modes would lower a frequency most: one below it by itself takes its place, one above
        lowers it to second order in what they meet. None where all of them together would not do much."""
        pencil, kept = self.cases[case], self._kept(case, numbers)
        squares, shapes = pencil.part(kept).modes()
        own = np.diag(pencil.K) / np.diag(pencil.M)
        square, gains = inf, np.zeros(len(own))
        if number < len(squares):
            square = squares[number]
            meets = (pencil.K - square * pencil.M)[:, kept] @ shapes[:, number]
            gains = meets**2 / np.abs(np.diag(pencil.K) - square * np.diag(pencil.M))
        found = {}
        for field, places in self.places[case].items():
            rest = [place for place in places if not kept[place]]
            if rest:
                below = min(square, own.max()) - own[rest].min()
                found[field] = _rounded(max(float(below), float(gains[rest].sum())))
        best = max(found, key=lambda field: found[field], default=None)
        return best if best is not None and found[best] > 1e-3 * self.limit * min(square, own.max()) else None


def _cases(robot: Robot) -> list[Pencil]:
    """At every pose with the joints locked, and with them free."""
    chain = build_chain(robot)
    arm = StraightArm(chain)
    return [pencil for q in poses(robot, chain) for pencil in arm.pencils(q)]


def poses(robot: Robot, chain: Any) -> list[Array]:
    """The arm as it is described, and a few other poses within its limits; what slides without limits stays."""
    freedoms = robot.freedoms
    found = [chain.rest()]
    for k in range(1, POSES + 1):
        q = chain.rest()
        for j, shaft in enumerate(chain.shafts):
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


def _plain(robot: Robot) -> Robot:
    """Without damping, and without shapes that follow the arm: neither moves a frequency of the straight arm."""
    links = []
    for link in robot.links:
        if link.shapes is not None:
            shapes = link.shapes.model_copy(update={"damping": 0.0})
            if shapes.tip_load == "track":
                shapes = shapes.model_copy(update={"tip_load": "auto"})
            link = link.model_copy(update={"shapes": shapes})
        links.append(link)
    return robot.model_copy(update={"links": tuple(links)})


def _waves(link: Link, field: str, band: float) -> int:
    """Half waves that a beam has at the end of the band, rounded up."""
    p, kind, omega = beam_properties(link.beam), FIELDS[field], 2 * pi * band  # type: ignore[index]
    density = "polar_inertia" if field == "torsion" else "mass_per_length"
    mass, stiff = (float(np.mean(_along(p, name))) for name in (density, kind.rigidity))
    k = (mass * omega**2 / stiff) ** 0.25 if field.startswith("bending") else omega * sqrt(mass / stiff)
    return min(MOST, ceil(round(k * float(p.length) / pi, 6)))


def _along(properties: Any, name: str) -> Array:
    scale, profile = float(getattr(properties, name)), properties.profile
    return scale * (np.ones(1) if profile is None else np.asarray(getattr(profile, name)(STATIONS)))


def _first(robot: Robot) -> int:
    """How many frequencies count where nobody gives a band."""
    planes = sum(field.startswith("bending") for link in robot.links for field in link.fields)
    return max(FEWEST, planes + sum(freedom.elastic for freedom in robot.freedoms.values()))


def _hertz(pencil: Pencil) -> Array:
    return np.asarray(np.sqrt(pencil.modes()[0]) / (2 * pi))


def _places(names: tuple[str, ...], fields: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], list[int]]:
    """Where the amplitudes of each field stand; their names begin with that of the link."""
    found: dict[tuple[str, str], list[int]] = {field: [] for field in fields}
    for place, name in enumerate(names):
        parts = name.split(".")
        if len(parts) > 2 and (parts[0], parts[-2]) in found:
            found[parts[0], parts[-2]].append(place)
    return found


def _rounded(value: float) -> float:
    """To a few digits, so that what is equal but for rounding is equal."""
    if not value or not np.isfinite(value):
        return value
    return round(value, DIGITS - 1 - floor(log10(abs(value))))


def _above(value: float) -> float:
    """The next number of few digits."""
    unit = 10.0 ** (floor(log10(value)) - DIGITS + 1)
    return ceil(value / unit * (1 - 1e-9)) * unit
