"""Quantities of a result as panels, which figures, pages and movies draw."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.algebra.quaternions import angles
from pliant.arrays import Array
from pliant.drawing.figure_data import Curve, Panel, Quantity, Span, energy_unit, length_unit, position_unit
from pliant.robot.coordinates import BallJoint
from pliant.simulation.runs.results import Result

DIRECTIONS = {"axial": 0, "bending_y": 1, "bending_z": 2}
"""Number of the axis along which each field displaces the axis of a link."""


# ------------------------------------------------------------------------------------------------------------- joints


def joints(result: Result) -> list[Panel]:
    """Angles of revolute joints, travels of prismatic ones."""
    words = {"deg": ("joint angles", Quantity("angle", "deg")), "m": ("joint positions", Quantity("travel", "m"))}
    return _of_joints(result, positions(result), words, True, "free")


def positions(result: Result) -> dict[str, Array]:
    """Positions of all joints that have one: a spherical joint has an attitude instead."""
    return {name: result[name] for name in result.robot.freedoms if name in result.coordinates}


def wind_up(result: Result) -> list[Panel]:
    """Wind-up of elastic drives: position of the motor less that of the joint."""
    wound = {
        name: result[f"{name}.motor"] - values
        for name, values in positions(result).items()
        if f"{name}.motor" in result.coordinates
    }
    words = {unit: ("wind-up of elastic drives", Quantity("wind-up", unit)) for unit in ("deg", "m")}
    return _of_joints(result, wound, words, True, "around zero")


def torques(result: Result) -> list[Panel]:
    """Torques of revolute joints, forces of prismatic ones."""
    words = {"deg": ("joint torques", Quantity("torque", "N m")), "m": ("joint forces", Quantity("force", "N"))}
    return _of_joints(result, dict(zip(result.joints, result.tau.T)), words, False, "around zero")


def _of_joints(
    result: Result, values: Mapping[str, Array], words: Mapping[str, tuple[str, Quantity]], positions: bool, span: Span
) -> list[Panel]:
    """One panel for revolute joints, another for prismatic ones; a joint has the same line in all panels."""
    found: dict[str, list[Curve]] = {}
    order = list(result.robot.freedoms)
    for name, series in values.items():
        unit, scale = position_unit(result.robot, name)
        curve = Curve(name, result.t, scale * series if positions else series, order.index(name))
        found.setdefault(unit, []).append(curve)
    return [
        Panel(*words[unit], tuple(curves), of=curves[0].label if len(curves) == 1 else "", span=span)
        for unit, curves in found.items()
    ]


# ----------------------------------------------------------------------------------- a free base, spherical joints


def attitudes(result: Result) -> dict[str, Array]:
    """Roll, pitch and yaw (N, 3) of a free base and of spherical and free joints, by the name of the link."""
    return {name: angles(result.q[:, list(ball.places[-4:])]) for name, ball in _balls(result).items()}


def _balls(result: Result) -> dict[str, BallJoint]:
    """Joints with a quaternion, by the name of their link."""
    return {ball.owner: ball for ball in result.model.layout.balls}


def attitude(result: Result) -> list[Panel]:
    """Attitude of each link whose joint has a quaternion: angles Rz Ry Rx against the frame that it hangs on, position
    there, and angular velocity."""
    found = []
    for name, turned in attitudes(result).items():
        ball = _balls(result)[name]
        speeds = result.qd[:, list(ball.indices)]
        shown: dict[str, tuple[Quantity, Array, tuple[str, ...]]] = {
            "attitude": (Quantity("angle", "deg"), np.degrees(turned), ("roll", "pitch", "yaw"))
        }
        if ball.kind == "free":
            shown["position"] = (Quantity("position", "m"), result.q[:, list(ball.places[:3])], tuple("xyz"))
        axes = tuple(f"about own {axis}" for axis in "xyz")
        shown["angular velocity"] = (Quantity("angular velocity", "rad/s"), speeds[:, :3], axes)
        found += [
            Panel(
                title,
                quantity,
                tuple(Curve(*each) for each in zip(labels, [result.t] * 3, values.T, range(3))),
                of=name,
            )
            for title, (quantity, values, labels) in shown.items()
        ]
    return found


# -------------------------------------------------------------------------------------------------------- deflections


def deflections(result: Result) -> list[Panel]:
    """Deflection of the end and the middle of each flexible link in its own root frame; along the axis only if nothing
    else moves. A body from a file has that of its end, along all axes."""
    found = []
    layout = result.model.layout
    whole = (known for known in layout.links[layout.first :] if known.piece.number == 1)
    for link, known in zip(result.robot.links, whole):
        fields = [name for name in DIRECTIONS if name in (known.fields or ())]
        drawn = [DIRECTIONS[name] for name in fields if name != "axial" or len(fields) == 1]
        places = {"end": "tip", "middle": "middle"}
        if link.body is not None and link.amplitudes:
            drawn, places = [0, 1, 2], {"end": "tip"}
        if drawn:
            shifts = {place: result.deflection(link.name, x) for place, x in places.items()}
            values = {f"{'xyz'[k]}, {place}": shift[:, k] for k in drawn for place, shift in shifts.items()}
            unit, scale = length_unit(*values.values())
            curves = tuple(Curve(label, result.t, scale * shift, k) for k, (label, shift) in enumerate(values.items()))
            found.append(Panel("deflection", Quantity("deflection", unit), curves, of=link.name, span="around zero"))
    return found or [Panel("deflection", Quantity("deflection", "mm"), note="no link of this arm bends")]


def rigid_states(result: Result) -> Array:
    """(N, n_q) coordinates of the rigid arm whose joints have the positions of the motors, or else of the joints."""
    rigid, layout = np.array(result.q), result.model.layout
    for link in layout.links:
        rigid[:, list(link.body_places[link.slides :])] = 0.0
    for shaft in layout.all_shafts:
        if shaft.drive is not None:
            rigid[:, shaft.place] = result.q[:, shaft.drive.place]
    return rigid


def tip_shift(result: Result) -> Array:
    """(N, 3) displacement of the tip from that of the rigid arm, in base axes."""
    parameters = result.parameters if len(result.parameters) else None
    return np.asarray(result.tip - result.model.tip_pose(rigid_states(result), parameters)[:, :3, 3])


AWAY = "tip from where the rigid arm's would be"


def tip_deflection(result: Result) -> list[Panel]:
    """Displacement of the tip by bending links and elastic drives, along the axes of the base."""
    away = tip_shift(result)
    unit, scale = length_unit(away)
    return [Panel(AWAY, Quantity("tip deflection", unit), _xyz(result, scale * away), span="around zero")]


def tip_error(runs: Mapping[str, Result], unit: str | None = None) -> list[Panel]:
    """Distance of the tip from that of the rigid arm, for one run or several; by default in a unit that suits it."""
    away = {label: np.linalg.norm(tip_shift(run), axis=1) for label, run in runs.items()}
    own, scale = length_unit(*away.values()) if unit is None else (unit, {"m": 1.0, "mm": 1e3, "µm": 1e6}[unit])
    curves = (Curve(label, runs[label].t, scale * size, k) for k, (label, size) in enumerate(away.items()))
    return [Panel(AWAY, Quantity("tip error", own), tuple(curves), span="from zero")]


# ---------------------------------------------------------------------------------------------------------------- tip


def tip(result: Result) -> list[Panel]:
    """Coordinates of the tip in the base."""
    return [Panel("position of the tip", Quantity("tip position", "m"), _xyz(result, result.tip))]


def path(result: Result) -> list[Panel]:
    """Path of the tip: in its plane if it stays in one of the base planes, else in two views."""
    tip = result.tip
    reach = np.ptp(tip, axis=0)
    flat = int(np.argmin(reach))
    planes = [(0, 2), (0, 1)]
    if reach[flat] <= 1e-6 * max(float(reach.max()), 1e-12):
        planes = [next((a, b) for a, b in ((0, 1), (0, 2), (1, 2)) if flat not in (a, b))]
    parts = {"path": tip, "start": tip[:1], "end": tip[-1:]}
    return [
        Panel(
            "path of the tip", Quantity(f"tip {'xyz'[b]}", "m"),
            tuple(Curve(name, part[:, a], part[:, b], name) for name, part in parts.items()),
            x=Quantity(f"tip {'xyz'[a]}", "m"), span="equal",
        )
        for a, b in planes
    ]  # fmt: skip


def _xyz(result: Result, values: Array) -> tuple[Curve, ...]:
    return tuple(Curve(name, result.t, column, k) for k, (name, column) in enumerate(zip("xyz", values.T)))


# ------------------------------------------------------------------------------------------------------------- energy


def energy(result: Result) -> list[Panel]:
    """Energies, potential energy counted from the start, and the energy gained less the work done on the arm."""
    e = result.energy
    gravity = e.gravity - e.gravity[0]
    values = {"total": e.kinetic + gravity + e.strain, "kinetic": e.kinetic, "gravity": gravity, "strain": e.strain}
    if np.abs(result.work).max() > 1e-9 * max(float(e.kinetic.max()), 1e-300):
        values["work done"] = result.work
    unit, scale = energy_unit(*values.values())
    curves = tuple(Curve(label, result.t, scale * series, label) for label, series in values.items())
    balance = (Curve("balance", result.t, result.energy_balance, "balance"),)
    return [
        Panel("energy since the start", Quantity("energy since start", unit), curves, span="around zero"),
        Panel("energy gained less work done", Quantity("balance", "J"), balance, span="around zero"),
    ]


# ------------------------------------------------------------------------------------------------------------ sensors


def sensors(result: Result) -> list[Panel]:
    """Readings of sensors, those of one unit in one panel; a reading is held until the next."""
    found: dict[str, list[Curve]] = {}
    for k, one in enumerate(result.measured.values()):
        x, y = np.repeat(one.t, 2)[1:], np.repeat(one.values, 2)[:-1]
        found.setdefault(one.unit or "1", []).append(Curve(one.name, x, y, k))
    return [
        Panel("as measured", Quantity("reading", unit), tuple(curves), of=curves[0].label if len(curves) == 1 else "")
        for unit, curves in found.items()
    ] or [Panel("as measured", Quantity("reading", "1"), note="no sensor has read this run")]
