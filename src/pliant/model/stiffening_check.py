"""Check of the order that "auto" chose against loads, couplings, spin and replaced numbers, for every entry.

`Level` says what was chosen when the model was made, from weight and `limits.speed`. Here the forces that its links
carry at a state are compared with what they stand. Where the order proves too low, the same model with second order
takes over (`fitted`), or a warning says by how much the model errs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain as joined
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.derived import SYMBOLS, Same
from pliant.dynamics.section_forces import InternalForces
from pliant.model import closed_statics, level_choice, statics
from pliant.model.level import Effect, is_checked, linear_bodies
from pliant.model.level_choice import RootLoads, effects, worst
from pliant.model.model import Model, raised
from pliant.model.validity import tell
from pliant.robot import Link, Robot, in_pieces

STATIONS = (0.0, 0.25, 0.5, 0.75)
"""Sections of a beam at which forces are looked at: a tendon from root to tip does not show at the root."""
POINTS = 2
"""Points of quadrature of the inertia between two of them."""
CORNERS = 32
"""Rows of parameters of a batch that are looked at, those with the extremes."""


def fitted(
    model: Model, q: Array, loads: Sequence[Any] = (), p: ArrayLike | None = None, qd: Array | None = None,
    times: Iterable[float] = (0.0,), told: bool = True,
) -> Model:  # fmt: skip
    """The model, or the same with second order where loads, parameters, couplings or rates ask for it at states
    (n_q,) or (N, n_q). Where there is none, warn, if this shall be `told`."""
    if not is_checked(model):
        return model
    values = _corners(model, p)
    changed = values is not None
    spins = qd is not None and bool(np.any(qd))
    tied = bool(model.robot.couplings or model.robot.contacts) or not model.layout.is_open
    if model.level.can_rise:
        if not (changed or spins or tied or len(loads)):
            return model
        found = _bound(model, values, qd) if changed or spins else None
        if not (found is not None and found.noticed) and (tied or len(loads)):
            found = _at_states(model, q, loads, values, qd, times)
        return model if found is None or not found.noticed else raised(model, found)
    if not told or (not model.level.in_doubt and not _bound(model, values, qd).noticed and not (tied or len(loads))):
        return model
    found = _at_states(model, q, loads, values, qd, times)
    if found is not None:
        tell(model, model.level.doubt(found, "here"))
    return model


def at_its_numbers(model: Model) -> Model:
    """The model, or the same with second order where numbers that were replaced ask for it."""
    found = _bound(model, None, None)
    return raised(model, found) if found.noticed else model


def checked_links(model: Model, chosen: bool = False) -> list[tuple[int, Link]]:
    """Links that second order would change, with their places in the chain; those that are of first order because it
    was `chosen` too."""
    lacking = linear_bodies(model)
    asked = chosen or model.level.in_doubt
    return [(k, link) for k, link in enumerate(model.bodies) if link.name in lacking or (asked and link.amplitudes)]


def worst_effect(model: Model, speeds: Mapping[str, float], robot: Robot | None = None) -> Effect:
    """The largest effect of weight at the worst pose and of joints that turn at these speeds on links that second
    order would change."""
    names = {link.name for _, link in checked_links(model)}
    return worst(in_pieces(model.robot if robot is None else robot), speeds, names)


def with_values(model: Model, values: Array | None) -> Robot:
    """The arm with the numbers of its parameters."""
    if values is None:
        return model.robot
    return model.robot.replace(dict(zip(model.parameters, np.asarray(values, dtype=float).tolist())))


def _corners(model: Model, p: ArrayLike | None) -> Array | None:
    """Rows of parameters with the extremes of each; None where all are those of the robot."""
    if p is None or not model.parameters:
        return None
    values = np.atleast_2d(np.asarray(p, dtype=float))
    if values.shape[1] != len(model.parameters) or not np.isfinite(values).all():
        return None  # which is refused where it is read
    rows = np.unique([*values.argmin(axis=0), *values.argmax(axis=0)])[:CORNERS]
    found = np.unique(values[rows], axis=0)
    return None if len(found) == 1 and np.array_equal(found[0], model.nominal_parameters) else found


def speeds_bound(model: Model, p: ArrayLike | None, qd: Array | None) -> Effect:
    """The largest effect of weight and spin on the links that are checked, whatever the pose: with parameters (P,) or
    (N, P), at rates (n,) or (N, n)."""
    return _bound(model, _corners(model, p), qd)


def _bound(model: Model, values: Array | None, qd: Array | None) -> Effect:
    speeds = {
        name: level_choice.speed_limit(freedom) or 0.0 for name, freedom in in_pieces(model.robot).freedoms.items()
    }
    if qd is not None:
        rates = np.nan_to_num(np.abs(np.atleast_2d(qd))).max(axis=0)
        for shaft in model.chain.shafts:
            if shaft.turns:
                speeds[shaft.name] = max(speeds.get(shaft.name, 0.0), float(rates[shaft.index]))
    robots = [model.robot] if values is None else [with_values(model, row) for row in values]
    return max((worst_effect(model, speeds, robot) for robot in robots), key=lambda effect: effect.size)


# ------------------------------------------------------------------------------------------------ forces at a state


def _at_states(
    model: Model, q: Array, loads: Sequence[Any], values: Array | None, qd: Array | None, times: Iterable[float]
) -> Effect | None:
    """The largest effect of all that acts on the arm in states at rest, or in steady spin."""
    if model.level.can_rise and not all(hasattr(load, "points") for load in loads):
        link = checked_links(model)[0][1]
        return Effect(link.name, "a load that does not say where it acts", np.inf)
    function = _load_function(model, tuple(load for load in loads if hasattr(load, "points")))
    own = [np.asarray(model.nominal_parameters)] if values is None else list(values)
    states = np.atleast_2d(np.asarray(q, dtype=float))[:CORNERS]
    rates = np.zeros((1, model.n)) if qd is None else np.atleast_2d(qd)[:CORNERS]
    found: list[Effect] = []
    for p in own:
        links = {link.name: link for link in in_pieces(with_values(model, None if values is None else p)).bodies}
        for k in range(max(len(states), len(rates))):
            x, v = states[min(k, len(states) - 1)], rates[min(k, len(rates) - 1)]
            held = _held(model, x, loads, p)
            for t in times:
                rows = function.call([t, x, v, np.zeros(model.n), *held, p])
                carried = [np.array(row, dtype=float).T for row in rows]
                found += joined.from_iterable(
                    effects(links[link.name], largest(links[link.name], row))
                    for (_, link), row in zip(checked_links(model), carried)
                )
    return max((effect for effect in found if np.isfinite(effect.size)), key=lambda effect: effect.size, default=None)


def _held(model: Model, q: Array, loads: Sequence[Any], p: Array) -> tuple[Array, Array]:
    """Forces of commanded couplings at rest, and multipliers of the rows that close loops."""
    m, rows = len(model.layout.commanded), len(model.constraints)
    if not rows and not any(coupling.states for coupling in model.layout.commanded):
        return np.zeros(m), np.zeros(rows)
    force = model.bias(q, np.zeros(model.n), p) - statics.applied(model, loads, p)(q)[0]
    J = np.vstack([
        closed_statics.row_slopes(model, q, p, np.zeros(rows)).J, closed_statics.oil_slopes(model, q, p).J
    ])  # fmt: skip
    driven = {shaft.actuated for shaft in model.layout.shafts}
    free = [k for k in range(model.n) if k not in driven]
    pull = closed_statics.directions(model, q, free, J, force, p).multipliers
    return pull[rows:], pull[:rows]


def seen_model(model: Model) -> Model:
    """The model, or one whose modes stand still where those of a link follow the arm: forces inside it are known."""
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
            robot.model_copy(update={"links": tuple(links)}), "denoc", o.rotation, False, o.parameters, "nominal"
        )

    return model.derived("modes that stand still", (), made)


def _load_function(model: Model, loads: tuple[Any, ...]) -> Any:
    """(t, q, qd, qdd, push, multipliers, p) -> what `carried_loads` gives."""
    seen = seen_model(model)
    numbers = [k for k, _ in checked_links(model)]

    def traced() -> Any:
        forces = InternalForces(seen.chain, loads)
        rows = [ca.densify(x) for x in carried_loads(forces, numbers)]
        inputs = [forces.t, forces.q, forces.qd, forces.qdd, forces.push, forces.multipliers]
        return ca.Function("loads", [*inputs, seen.parameter_symbols], rows)

    with SYMBOLS:
        return seen.derived("loads of links", (tuple(numbers), tuple(map(Same, loads))), traced)


def carried_loads(forces: InternalForces, numbers: Sequence[int]) -> list[Any]:
    """(6, sections) force and moment at sections of each of these links, in axes of the section; of one whose sections
    are not followed at its root and tip."""
    found = []
    for k in numbers:
        link, carried = forces.chain.links[k], forces.carried[k]
        if link.body.data is None or link.slides:
            ends = [carried.at_root, carried.at_ports.get(0, carried.at_root)]
            sections = [(f, n) for n, f in ends]
        else:
            sections = forces.sections(k, STATIONS, POINTS)
        found.append(ca.horzcat(*(ca.vertcat(f, n) for f, n in sections)))
    return found


def largest(link: Link, rows: Array, length: float | None = None) -> RootLoads:
    """Largest axial force, moment and torque among rows (N, 6) of force and moment."""
    axis = level_choice.axis_of(link)
    force, moment = rows[:, :3], rows[:, 3:]
    along = moment @ axis
    bending = np.linalg.norm(moment - along[:, None] * axis, axis=1)
    long = level_choice.link_length(link) if length is None else length
    axial, across, twisting = (float(np.max(np.abs(x), initial=0.0)) for x in (force @ axis, bending, along))
    return RootLoads(axial, across, twisting, long)
