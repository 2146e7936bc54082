"""States in the forms that users give: by name, for the joints alone, or in full. All functions read them here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.quaternions import SHORTEST, as_numbers, as_quaternion, conjugate, exponential, normalize, product
from pliant.arrays import Array, StateLike
from pliant.errors import ModelError
from pliant.robot.coordinates import BallJoint, Layout
from pliant.robot.parts.angles import in_radians

if TYPE_CHECKING:
    from pliant.model.model import Model

NamedState = Mapping[str, ArrayLike | Mapping[str, ArrayLike]]
"""Coordinates or speeds by name."""
EQUILIBRIUM = "equilibrium"
"""Word for the state at static rest."""


def read_state(model: Model, given: StateLike | None, name: str = "q", many: bool = False) -> Array:
    """Return coordinates, or speeds where `name` begins with "qd" or is "rates", of one arm (n_q,) or of many (1 or A,
    n_q).

    Coordinates that are not given are those of the undeformed arm at rest: zero, except the free lengths of sliding
    beams. "equilibrium" is that arm at static rest, with its joints held. Angles may be text, such as "90 deg". A
    mapping gives coordinates by name, and an array of `n_joints` the joints. Motors of elastic drives that are not
    named then stand (and turn) with their joints. An array of all numbers is taken as it is.

    The pose of a free base or joint may be a mapping with `position` and one of `rpy`, `quaternion` and `rotation`.
    That of a spherical joint has one of the last three. Their speeds may be a mapping with `angular` and `linear`.

    Raises
    ------
    ModelError
        Numbers that do not fit, are not finite, a free length outside its travel, a quaternion of zero length.
    """
    moving = name.startswith(("qd", "rates"))
    layout, names = model.layout, model.speeds if moving else model.coordinates
    rest = np.zeros(model.n) if moving else layout.rest()
    if given is None:
        state = rest
    elif isinstance(given, str) and given == EQUILIBRIUM and not moving:
        state = model.equilibrium(rest[layout.shaft_places()] if layout.is_open else rest)
    elif isinstance(given, Mapping):
        named = _named(model, given, name, moving)
        arms = max((len(value) for value in named.values() if many and value.ndim == 1), default=0)
        state = np.tile(rest, (arms, 1)) if arms else rest
        for index, value in named.items():
            if value.ndim > 0 and value.shape != (arms,):
                raise ModelError(f"{name}[{names[index]!r}]: got shape {value.shape}, expected one number")
            state[..., index] = value
        state = (layout.following if moving else layout.followed)(state, given=named)
    else:
        state = _array(model, given, name, many, len(rest))
        if state.shape[-1] != len(rest):
            joints, state = state, np.tile(rest, (*state.shape[:-1], 1))
            state[..., [shaft.index for shaft in layout.shafts] if moving else layout.shaft_places()] = joints
            state = (layout.following if moving else layout.followed)(state)
    if not np.isfinite(state).all():
        raise ModelError(f"{name}: got a number that is not finite, expected finite numbers")
    if not moving:
        layout.check_travel(state)
        state = normalized(model, state, name)
    return np.atleast_2d(state) if many else state


def normalized(model: Model, q: Array, name: str = "q") -> Array:
    """Scale quaternions of states (..., n_q) to length one, in place. Raise `ModelError` for those of zero length."""
    for ball in model.layout.balls:
        if (np.linalg.norm(q[..., list(ball.places[-4:])], axis=-1) < SHORTEST).any():
            raise ModelError(
                f"{name}: got a quaternion of zero length for {ball.owner!r}, expected (w, x, y, z) of length one"
            )
    return q if model.layout.plain else normalize(q, model.layout.quaternions)


def named_places(model: Model, given: NamedState, name: str) -> set[int]:
    """Places of the coordinates, or numbers of the speeds, that a mapping gives."""
    return set(_named(model, given, name, name.startswith(("qd", "rates"))))


def displaced(model: Model, q: Array, step: Array) -> Array:
    """States (..., n_q) moved by local displacements (..., n), one along each speed."""
    return moved(model.layout, q, step)


def moved(layout: Layout, q: Array, step: Array) -> Array:
    """States (..., n_q) of arms with that layout moved by local displacements (..., n), one along each speed.

    Quaternions turn by the exponential of the angular part, positions of free joints move by the linear part in the
    axes of the link, all others add.
    """
    if layout.plain:
        return np.asarray(q + step)
    moved = np.array(q, dtype=float)
    for ball in layout.balls:
        own, along = list(ball.places), list(ball.indices)
        turned, by = q[..., own[-4:]], step[..., along]
        moved[..., own[-4:]] = product(turned, exponential(by[..., :3]))
        if ball.kind == "free":
            shift = np.concatenate([np.zeros((*by.shape[:-1], 1)), by[..., 3:]], axis=-1)
            moved[..., own[:3]] += product(product(turned, shift), conjugate(turned))[..., 1:]
    turning = {place for ball in layout.balls for place in ball.places}
    others = [place for place in range(layout.n_q) if place not in turning]
    moved[..., others] += step[..., [layout.speeds.index(layout.coordinates[place]) for place in others]]
    return moved


def _named(model: Model, given: NamedState, name: str, moving: bool) -> dict[int, Array]:
    """Numbers by place, with poses and velocities of joints that have quaternions taken apart."""
    balls = {ball.owner: ball for ball in model.layout.balls}
    found: dict[int, Array] = {}
    for key, value in given.items():
        if key in balls:
            indices = balls[key].indices if moving else balls[key].places
            numbers = (_velocity if moving else _pose)(balls[key], value, f"{name}[{key!r}]")
            found.update((index, np.asarray(number)) for index, number in zip(indices, numbers) if number is not None)
        else:
            index = model.speed_index(key) if moving else model.index(key)
            try:
                found[index] = np.asarray(in_radians(value), dtype=float)
            except (TypeError, ValueError) as error:
                raise ModelError(
                    f"{name}[{key!r}]: got {value!r}, expected a number, or an angle as '90 deg'"
                ) from error
    return found


def _pose(ball: BallJoint, given: ArrayLike | Mapping[str, ArrayLike], name: str) -> list[float | None]:
    """Coordinates of a joint with a quaternion; None for what is not given."""
    keys = ("rpy", "quaternion", "rotation")
    free = ball.kind == "free"
    if not isinstance(given, Mapping):
        given = {"quaternion" if np.size(np.asarray(given, dtype=object)) == 4 else "rotation": given}
    known = ("position", *keys) if free else keys
    turns = [key for key in keys if key in given]
    if not set(given) <= set(known) or len(turns) > 1:
        raise ModelError(f"{name}: got {', '.join(map(str, given))}, expected {', '.join(known)}, one turn at most")
    turned: list[float | None] = [None] * 4
    if turns:
        turned = list(as_quaternion(turns[0], given[turns[0]], name))
    place = _three(given["position"], f"{name}['position']") if "position" in given else [None] * 3
    return [*place, *turned] if free else turned


def _velocity(ball: BallJoint, given: ArrayLike | Mapping[str, ArrayLike], name: str) -> list[float | None]:
    """Speeds of a joint with a quaternion; None for what is not given."""
    known = ("angular", "linear") if ball.kind == "free" else ("angular",)
    if not isinstance(given, Mapping):
        given = {"angular": given} if ball.kind == "spherical" else {type(given).__name__: given}
    if not set(given) <= set(known):
        raise ModelError(f"{name}: got {', '.join(map(str, given))}, expected {', '.join(known)}")
    return [x for key in known for x in (_three(given[key], f"{name}[{key!r}]") if key in given else [None] * 3)]


def _three(given: ArrayLike, name: str) -> list[float]:
    return [float(x) for x in as_numbers(given, (3,), name)]


def _array(model: Model, given: ArrayLike, name: str, many: bool, size: int) -> Array:
    """All numbers or those of the joints, with a leading axis where there are many arms."""
    names = model.coordinates if size == model.n_q else model.speeds
    whole = [shaft for shaft in model.layout.shafts if shaft.place is not None or size == model.n]
    joints = len(whole) if len(whole) == model.n_joints else size
    sizes = f"({size},)" if size == joints else f"({size},) or the joints ({joints},)"
    expected = f"{'one state or one per arm, ' if many else ''}{sizes}: {', '.join(names)}"
    try:
        state = np.array(in_radians(given), dtype=float)
    except (TypeError, ValueError, MemoryError) as error:
        raise ModelError(f"{name}: got {type(given).__name__}, expected numbers {expected}") from error
    if state.ndim not in ((1, 2) if many else (1,)) or state.shape[-1] not in (size, joints) or not len(state):
        raise ModelError(f"{name}: got shape {state.shape}, expected {expected}")
    return state
