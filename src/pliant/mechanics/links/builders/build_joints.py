"""Coordinates of an arm, and what acts on each of its freedoms: friction, gear, motor and stops.

Joints as maps are made by `link_geometry.joint_map`. Here is the actuation of a freedom, an axis of a joint or the
length of a beam that slides. The rotor of a stiff drive is added to the inertia of its freedom, as J_r N^2. An elastic
drive has a motor coordinate of its own behind its spring.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pliant.algebra.rotations import SX
from pliant.mechanics.actuation.friction import friction_on
from pliant.mechanics.links.builders.build_laws import gear_spring, motor_map, stops, yielding
from pliant.mechanics.links.chain import DriveMap, Shaft
from pliant.robot.description import RobotDescription
from pliant.robot.parts.drives.gear import Drive
from pliant.robot.parts.joint import Freedom


class CoordinateOrder:
    """Order of coordinates and speeds: the base where it is free, joints, motors, then the `amplitudes` of all links.

    `place` and `index` are the numbers of coordinates and of speeds by name.
    """

    def __init__(self, robot: RobotDescription, amplitudes: Iterable[str]) -> None:
        motors = [f"{name}.motor" for name, freedom in robot.freedoms.items() if freedom.elastic]
        behind = (*motors, *amplitudes)
        self.coordinates = (*(name for body in robot.bodies for name in body.joint.coordinates(body.name)), *behind)
        self.speeds = (*(name for body in robot.bodies for name in body.joint.speeds(body.name)), *behind)
        self.place = {name: k for k, name in enumerate(self.coordinates)}
        self.index = {name: k for k, name in enumerate(self.speeds)}

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Places of coordinates."""
        return tuple(self.place[name] for name in names)

    def indices(self, names: Sequence[str]) -> tuple[int, ...]:
        """Numbers of speeds."""
        return tuple(self.index[name] for name in names)


def shaft(link: str, freedom: Freedom, order: CoordinateOrder) -> Shaft:
    """Actuation of one freedom of the joint of a link; the parts of `freedom` may be views."""
    name, drive, limits = freedom.name(link), freedom.drive, freedom.limits
    index, place = order.index[name], order.place.get(name)
    rotor = 0.0 if drive is None else drive.rotor_inertia * drive.gear_ratio**2
    elastic = _elastic_drive(name, drive, rotor, order) if freedom.elastic else None
    laws = [friction_on(freedom.friction, "friction", index)]
    if elastic is not None:
        laws.append(friction_on(drive.friction, "motor_friction", elastic.index))
        laws += yielding(drive, (elastic.index, index), (elastic.place, order.place[name]))
    return Shaft(
        name=name,
        index=index,
        place=place,
        turns=freedom.turns,
        rotor=rotor if elastic is None else 0.0,
        laws=tuple(laws),
        drive=elastic,
        motor=None if freedom.motor is None else motor_map(freedom),
        loss=0.0 if drive is None else 1 - drive.efficiency,
        reversal=(freedom.friction if elastic is None else drive.friction).coulomb_speed,
        passive=not freedom.actuated,
        stops=() if limits is None or limits.stop is None or place is None else stops(limits, index, place),
    )


def _elastic_drive(name: str, drive: Drive, rotor: SX, order: CoordinateOrder) -> DriveMap:
    """Drive of the freedom `name` whose motor has a coordinate behind its spring."""
    motor = f"{name}.motor"
    return DriveMap(
        index=order.index[motor],
        place=order.place[motor],
        rotor=rotor,
        spring=gear_spring(drive),
        damping=drive.damping,
    )
