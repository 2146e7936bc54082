"""Number of pieces that `pieces: auto` takes, and `shapes: auto` where no number is given. It is the smallest with
which no piece bends by more than `SLOPE`.

Each beam is a cantilever with all that it carries stretched out beyond it. Its weight and that of the rest act across
it, with the speed, the acceleration and the force at the far end that `expected` gives. This is the worst pose, and
more. Slopes are those of small deflections, which are an upper bound. In total a beam turns by half a turn at most.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from pliant.arrays import Array
from pliant.model.robot import Robot
from pliant.model.stiffening.stiffening_choice import reaches
from pliant.robot.description import Expected
from pliant.robot.parts.beam import MOST_PIECES, BeamProperties, beam_properties
from pliant.robot.parts.link import Link
from pliant.robot.tree import beyond

Distance = TypeVar("Distance", float, Array)
"""Distance from the base, m, of one mass or of the stations of a beam."""
SLOPE = 0.15
"""rad, within a piece: what small deflections leave out of it is then some 1e-3 of its length; a run warns at 0.2."""
FULL = np.pi
"""rad, by which a beam turns at most under a load that stays as it is."""
POINTS = 401
DIGITS = 9
"""Digits that count, so that rounding decides nothing."""


def chosen_pieces(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """Return the robot with numbers in place of `pieces: auto`, and a sentence for each."""
    links, told = [], []
    for k, link in enumerate(robot.links):
        if link.beam is not None and _asks(link):
            slopes = _slopes(robot, k) if link.bends else np.zeros(POINTS)
            count = _count(slopes)
            if link.beam.curved:
                count = max(count, link.beam.model_copy(update={"pieces": None}).parts)
            if count > 1 or link.beam.pieces == "auto":
                told.append(_sentence(robot, link, slopes, count))
                link = link.model_copy(update={"beam": link.beam.model_copy(update={"pieces": count})})
        links.append(link)
    return (robot.model_copy(update={"links": tuple(links)}), tuple(told)) if told else (robot, ())


def _asks(link: Link) -> bool:
    """Return whether the model chooses the pieces: the beam says `auto`, or says nothing and leaves its shapes to the
    model."""
    assert link.beam is not None
    silent = link.beam.pieces is None and link.shapes is not None and link.shapes.is_auto
    return link.beam.pieces == "auto" or silent


def _count(slopes: Array) -> int:
    """Fewest pieces of equal length in each of which the slope grows by no more than is allowed."""
    eta = np.linspace(0.0, 1.0, len(slopes))
    for count in range(1, MOST_PIECES):
        ends = np.interp(np.linspace(0.0, 1.0, count + 1), eta, slopes)
        if round(float(np.diff(ends).max()), DIGITS) <= SLOPE:
            return count
    return MOST_PIECES


def _slopes(robot: Robot, place: int) -> Array:
    """Slope (POINTS,) along a beam under all that may act across it."""
    link, expected = robot.links[place], robot.expected or Expected()
    assert link.beam is not None
    starts, ends, lumps = reaches(robot)
    weight = float(np.linalg.norm(robot.gravity))

    def pull(r: Distance) -> Distance:  # centrifugal forces act across a beam that does not point away from their axis
        return weight + (expected.acceleration + expected.speed**2 / 2) * r

    further = set(beyond(robot.links, place))
    carried = [(link.tip.mass, ends[place])]
    carried += [(mass, far) for owner, mass, far, own in lumps if owner in further and not (own and owner == place)]
    L, far_end = float(link.beam.length), max([ends[k] for k in further])
    x = np.linspace(0.0, L, POINTS)
    p = beam_properties(link.beam)
    load = _along(p, "mass_per_length") * pull(starts[place] + x)
    force = sum(mass * pull(far) for mass, far in carried) + expected.force
    moment = sum(mass * pull(far) * (far - ends[place]) for mass, far in carried)
    moment += expected.force * (far_end - ends[place])
    shear = force + _from_the_tip(load, x)
    bent = moment + _from_the_tip(shear, x)
    planes = [stiffness for field, stiffness in (("bending_y", "EI_z"), ("bending_z", "EI_y")) if field in link.fields]
    curvature = bent / np.min([_along(p, name) for name in planes], axis=0) if planes else np.zeros(POINTS)
    slope = np.concatenate([[0.0], np.cumsum((curvature[1:] + curvature[:-1]) / 2 * np.diff(x))])
    return np.asarray(slope * min(1.0, FULL / max(slope[-1], 1e-300)))


def _from_the_tip(values: Array, x: Array) -> Array:
    """Integral from each station to the tip."""
    steps = (values[1:] + values[:-1]) / 2 * np.diff(x)
    return np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])


def _along(properties: BeamProperties, name: str) -> Array:
    scale, profile = float(getattr(properties, name)), properties.profile
    eta = np.linspace(0.0, 1.0, POINTS)
    return scale * (np.ones(POINTS) if profile is None else np.asarray(getattr(profile, name)(eta)))


def _sentence(robot: Robot, link: Link, slopes: Array, count: int) -> str:
    expected = robot.expected or Expected()
    causes = ["weight in the worst pose"] if any(robot.gravity) else []
    units = {"speed": "rad/s", "acceleration": "rad/s^2", "force": "N at the end"}
    causes += [f"{getattr(expected, name):g} {unit}" for name, unit in units.items() if getattr(expected, name)]
    ends = np.interp(np.linspace(0.0, 1.0, count + 1), np.linspace(0.0, 1.0, len(slopes)), slopes)
    found = f"may turn its end by {slopes[-1]:.2g} rad, {np.diff(ends).max():.2g} rad within a piece"
    why = f"{' and '.join(causes) or 'nothing that is known'} {found}"
    return f"links.{link.name}.beam.pieces: auto took {count}: {why}, expected at most {SLOPE:g}"
