"""Units of coordinates, speeds and torques of a model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pliant.compute.tape.trace_cache import recalled

if TYPE_CHECKING:
    from pliant.model.model import Model


def coordinate_units(model: Model) -> tuple[str, ...]:
    """Unit of each coordinate: rad or m, and 1 of quaternions and of bodies from files."""

    def known() -> tuple[str, ...]:
        return tuple(recalled(model.form and f"{model.form} units", partial(_units, model)))

    return model.first.derived("units", (), known)


def _units(model: Model) -> list[str]:
    units = ["m"] * model.n_q
    for link in model.chain.links:
        shapes = link.body.shapes
        for place in link.joint_places[-4:] if link.joint.is_ball else ():
            units[place] = "1"
        for shaft in link.shafts:
            if shaft.place is not None:
                moved = shaft.place if shaft.drive is None else shaft.drive.place
                units[shaft.place] = units[moved] = "rad" if shaft.turns else "m"
        for place in link.body_places if shapes is None and not link.slides else ():  # shapes scaled as in their file
            units[place] = "1"
        own = link.body_places[-len(shapes.names) :] if shapes is not None else ()
        for index, field, power in zip(own, shapes.fields if shapes else (), shapes.powers if shapes else ()):
            units[index] = "rad" if field == "torsion" or power == 1 else "m"
    return units


def torque_units(model: Model) -> tuple[str, ...]:
    """Unit of each joint's torque or force."""
    return tuple("N.m" if shaft.turns else "N" for shaft in model.layout.shafts)


def commands(model: Model) -> tuple[tuple[str, str], ...]:
    """Kind of command and its unit: for each joint "torque", "current" or "voltage", for each coupling "force" or
    "valve"."""
    kinds = ["torque" if shaft.motor is None else shaft.motor.command for shaft in model.chain.shafts]
    units = {"current": "A", "voltage": "V"}
    joints = ((kind, units.get(kind, unit)) for kind, unit in zip(kinds, torque_units(model)))
    return (*joints, *(("valve", "1") if line.states else ("force", "N") for line in model.layout.commanded))


def speed_units(model: Model) -> tuple[str, ...]:
    """Unit of each speed: rad/s or m/s."""
    named = dict(zip(model.coordinates, coordinate_units(model)))
    units = [f"{named.get(name, 'm')}/s" for name in model.speeds]
    for ball in model.layout.balls:
        for index in ball.indices[:3]:
            units[index] = "rad/s"
    return tuple(units)
