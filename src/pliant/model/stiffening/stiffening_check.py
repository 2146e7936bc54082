"""Check of the order that "auto" chose, against loads, couplings, spin and replaced numbers.

`Level` says what was chosen when the model was made, from weight and `limits.speed`. Here the forces that its links
carry at a state are compared with what they stand. Where the order proves too low, the same model with second order
takes over (`fitted`), or a warning says by how much the model errs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain as joined
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.content import content
from pliant.base.derived import Same
from pliant.base.later import LaterModule
from pliant.compute.llvm.kernel import Kernel
from pliant.model.equilibrium import force_functions
from pliant.model.interpreted import interpreted
from pliant.model.loops import loop_motion
from pliant.model.model import Model, raised
from pliant.model.robot import Robot
from pliant.model.stiffening import stiffening_choice
from pliant.model.stiffening.stiffening_choice import RootLoads, effects, worst
from pliant.model.stiffening.stiffening_order import CORNERS, Effect, acts, corners, is_checked, linear_bodies
from pliant.model.validity import tell
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces

if TYPE_CHECKING:
    from pliant.mechanics.links.chain import MovingBase
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.stiffening import link_loads
else:  # the check of a known arm needs no expressions
    link_loads = LaterModule("pliant.model.stiffening.link_loads")

FEW = 9
"""Times spread over a run at which forces are looked at, besides those at which loads and motions are largest."""


class Path(NamedTuple):
    """Position, rate and acceleration (N,) of a coordinate that is prescribed, by its place and the number of its
    speed."""

    place: int
    speed: int
    x: Array
    v: Array
    a: Array


class Course(NamedTuple):
    """Times (N,) at which forces are looked at, the motion of the base, and what is prescribed at these times."""

    times: Array = np.zeros(1)
    base: MovingBase | None = None
    paths: tuple[Path, ...] = ()

    def rows(self, rows: int | slice | Sequence[int]) -> Course:
        """The course at some of its times."""
        paths = (Path(path.place, path.speed, *(values[rows] for values in path[2:])) for path in self.paths)
        return Course(self.times[rows], self.base, tuple(paths))

    def placed(self, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """(N, ...) coordinates, rates and accelerations at its times, of an arm that otherwise stays as it is."""
        count = len(self.times)
        states = np.tile(q, (count, 1)), np.tile(qd, (count, 1)), np.zeros((count, len(qd)))
        for path in self.paths:
            for rows, column, values in zip(states, (path.place, path.speed, path.speed), path[2:]):
                rows[:, column] = values
        return states


AT_START = Course()


def fitted(
    model: Model, q: Array, loads: Sequence[Load] = (), p: ArrayLike | None = None, qd: Array | None = None,
    course: Course = AT_START, told: bool = True,
) -> Model:  # fmt: skip
    """Return the model, or the same with second order where loads, parameters, couplings, rates or prescribed motion
    need it at states (n_q,) or (N, n_q). If it has no second order, warn, provided the warning shall be `told`."""
    if not is_checked(model):
        return model
    values = corners(model, p)
    changed = values is not None
    spins = bool(course.paths) or (qd is not None and bool(np.any(qd)))
    acted = acts(model, loads) or course.base is not None or bool(course.paths)
    if model.level.can_rise:
        if not (changed or spins or acted):
            return model
        found = _bound(model, values, qd, course.paths) if changed or spins else None
        if not (found is not None and found.noticed) and acted:
            found = _at_states(model, q, loads, values, qd, course)
        return model if found is None or not found.noticed else raised(model, found)
    if not told or (not model.level.in_doubt and not _bound(model, values, qd).noticed and not acted):
        return model
    found = _at_states(model, q, loads, values, qd, course)
    if found is not None:
        tell(model, model.level.doubt(found, "here"))
    return model


def at_its_numbers(model: Model) -> Model:
    """Return the model, or the same with second order where replaced numbers need it."""
    found = _bound(model, None, None)
    return raised(model, found) if found.noticed else model


def checked_links(model: Model, chosen: bool = False) -> list[tuple[int, Link]]:
    """Links that second order would change, with their places in the chain. With `chosen`, include those of first order
    by choice."""
    lacking = linear_bodies(model)
    asked = chosen or model.level.in_doubt
    return [(k, link) for k, link in enumerate(model.bodies) if link.name in lacking or (asked and link.amplitudes)]


def worst_effect(
    model: Model, speeds: Mapping[str, float], robot: Robot | None = None,
    accelerations: Mapping[str, float] | None = None,
) -> Effect:  # fmt: skip
    """The largest effect of weight at the worst pose, of joints that turn at these speeds, and of their accelerations,
    on links that second order would change."""
    names = {link.name for _, link in checked_links(model)}
    return worst(in_pieces(model.robot if robot is None else robot), speeds, names, accelerations)


def with_values(model: Model, values: Array | None) -> Robot:
    """Return the arm with the numbers of its parameters."""
    if values is None:
        return model.robot
    return model.robot.replace(dict(zip(model.parameters, np.asarray(values, dtype=float).tolist())))


def speeds_bound(model: Model, p: ArrayLike | None, qd: Array | None, qdd: Array | None = None) -> Effect:
    """Largest effect of weight and spin on the links that are checked, at any pose. Parameters are (P,) or (N, P),
    rates and accelerations of joints (n,) or (N, n)."""
    return _bound(model, corners(model, p), qd, accelerations=qdd)


def _bound(
    model: Model, values: Array | None, qd: Array | None, paths: Sequence[Path] = (),
    accelerations: Array | None = None,
) -> Effect:  # fmt: skip
    speeds = {
        name: stiffening_choice.speed_limit(freedom) or 0.0 for name, freedom in in_pieces(model.robot).freedoms.items()
    }
    pushed: dict[str, float] = {}
    fastest, hardest = _largest(model, qd), _largest(model, accelerations)
    for path in paths:
        fastest[path.speed] = max(fastest[path.speed], float(np.nan_to_num(np.abs(path.v), posinf=0.0).max()))
    for shaft in model.layout.shafts:
        if shaft.turns:
            speeds[shaft.name] = max(speeds.get(shaft.name, 0.0), float(fastest[shaft.index]))
        pushed[shaft.name] = float(hardest[shaft.index])
    robots = [model.robot] if values is None else [with_values(model, row) for row in values]
    return max((worst_effect(model, speeds, robot, pushed) for robot in robots), key=lambda effect: effect.size)


def _largest(model: Model, rows: Array | None) -> Array:
    """Largest magnitudes (n,) of rows (N, n) or (n,), zero if there are none."""
    return np.zeros(model.n) if rows is None else np.nan_to_num(np.abs(np.atleast_2d(rows))).max(axis=0)


# ------------------------------------------------------------------------------------------------ forces at a state


def _at_states(
    model: Model, q: Array, loads: Sequence[Load], values: Array | None, qd: Array | None, course: Course
) -> Effect | None:
    """The largest effect of all that acts on the arm in states at rest, in steady spin, or in prescribed motion."""
    if model.level.can_rise and not all(hasattr(load, "points") for load in loads):
        link = checked_links(model)[0][1]
        return Effect(link.name, "a load that does not say where it acts", np.inf)
    acting = tuple(load for load in loads if hasattr(load, "points"))
    functions = LoadFunctions.of(model, acting, course.base)
    own = [np.asarray(model.nominal_parameters)] if values is None else list(values)
    states = np.atleast_2d(np.asarray(q, dtype=float))[:CORNERS]
    rates = np.zeros((1, model.n)) if qd is None else np.atleast_2d(qd)[:CORNERS]
    found: list[Effect] = []
    for p in own:
        links = {link.name: link for link in in_pieces(with_values(model, None if values is None else p)).bodies}
        for k in range(max(len(states), len(rates))):
            x, v = states[min(k, len(states) - 1)], rates[min(k, len(rates) - 1)]
            here = course.rows(_telling(course, functions.signals, p))
            rows = _carried_over(functions.forces, here, x, v, (*_held(model, x, loads, p), p))
            found += joined.from_iterable(
                effects(links[link.name], largest(links[link.name], row.reshape(-1, 6)))
                for (_, link), row in zip(checked_links(model), rows)
            )
    return max((effect for effect in found if np.isfinite(effect.size)), key=lambda effect: effect.size, default=None)


def _carried_over(forces: Kernel, course: Course, q: Array, qd: Array, held: tuple[Array, ...]) -> list[Array]:
    """Forces and moments (N, sections, 6) of each link that is checked, at these times; zero where not finite."""
    count = len(course.times)
    found = forces.interpreted(course.times[:, None], *course.placed(q, qd), *held)
    rows = found if isinstance(found, tuple) else (found,)
    return [np.nan_to_num(row.reshape(count, 6, -1).swapaxes(1, 2), posinf=0.0, neginf=0.0) for row in rows]


def _telling(course: Course, signals: Kernel, p: Array) -> list[int]:
    """Numbers of the times at which an input that depends on time alone is largest or least, and of some times spread
    over all."""
    count = len(course.times)
    inputs = [signals.interpreted(course.times[:, None], p).T] if sum(signals.signature.out_sizes) else []
    inputs += [np.array([path.x, path.v, path.v**2, path.a]) for path in course.paths]
    if not inputs:
        return [0]
    rows = np.nan_to_num(np.vstack(inputs), posinf=0.0, neginf=0.0)
    peaks = {*rows.argmax(axis=1).tolist(), *rows.argmin(axis=1).tolist()}
    return sorted(peaks | set(np.linspace(0, count - 1, FEW).astype(int).tolist()))


def _held(model: Model, q: Array, loads: Sequence[Load], p: Array) -> tuple[Array, Array]:
    """Forces of commanded couplings at rest, and multipliers of the rows that close loops."""
    m, rows = len(model.layout.commanded), len(model.constraints)
    if not rows and not any(coupling.states for coupling in model.layout.commanded):
        return np.zeros(m), np.zeros(rows)
    force = model.bias(q, np.zeros(model.n), p) - force_functions.applied(model, loads, p)(q)[0]
    J = np.vstack([
        loop_motion.row_slopes(model, q, p, np.zeros(rows)).J, loop_motion.oil_slopes(model, q, p).J
    ])  # fmt: skip
    driven = {shaft.actuated for shaft in model.layout.shafts}
    free = [k for k in range(model.n) if k not in driven]
    pull = loop_motion.directions(model, q, free, J, force, p).multipliers
    return pull[rows:], pull[:rows]


def seen_model(model: Model) -> Model:
    """Return the model, or one with fixed modes if the modes of a link follow the arm. Only then are the forces inside
    it known."""
    robot = model.robot
    following = [k for k, link in enumerate(robot.links) if link.shapes is not None and link.shapes.tip_load == "track"]
    if not following:
        return model

    def made() -> Model:
        links = list(robot.links)
        for k in following:
            shapes = links[k].shapes.model_copy(update={"tip_load": "auto"})  # type: ignore[union-attr]
            links[k] = links[k].model_copy(update={"shapes": shapes})
        o = model.options
        return type(model)(
            robot.model_copy(update={"links": tuple(links)}), "denoc", o.rotation, "off", o.parameters, "nominal"
        )

    return model.derived("modes that stand still", (), made)


class LoadFunctions(NamedTuple):
    """Functions (t, q, qd, qdd, push, multipliers, p) -> forces in the links, and (t, p) -> those inputs in it that
    depend on time and parameters alone."""

    forces: Kernel
    signals: Kernel

    @classmethod
    def of(cls, model: Model, loads: tuple[Load, ...], base: MovingBase | None) -> LoadFunctions:
        """Return the functions of the links that are checked."""
        seen, numbers = seen_model(model), tuple(k for k, _ in checked_links(model))
        key, known = (numbers, tuple(map(Same, loads)), Same(base)), content(numbers, list(loads), base, by="form")
        traced = cache(lambda: link_loads.load_functions(seen, loads, base, numbers))
        return cls(
            interpreted(seen, "loads of links", lambda: traced()[0], key, known),
            interpreted(seen, "inputs of loads", lambda: traced()[1], key, known),
        )


def largest(link: Link, rows: Array, length: float | None = None) -> RootLoads:
    """Largest axial force, moment and torque among rows (N, 6) of force and moment."""
    axis = stiffening_choice.axis_of(link)
    force, moment = rows[:, :3], rows[:, 3:]
    along = moment @ axis
    bending = np.linalg.norm(moment - along[:, None] * axis, axis=1)
    long = stiffening_choice.link_length(link) if length is None else length
    axial, across, twisting = (float(np.max(np.abs(x), initial=0.0)) for x in (force @ axis, bending, along))
    return RootLoads(axial, across, twisting, long)
