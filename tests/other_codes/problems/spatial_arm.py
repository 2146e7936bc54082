"""Arm of two links in space, with unequal bending, torsion, an offset payload and elastic drives, under gravity.

All numbers are ours. The first joint turns about z, the second about an axis tilted by 0.4 rad about the upper link;
both have gears that twist. The arm starts straight, gravity acts at once, one motor swings the arm and the other nearly
holds the fore link up.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from other_codes.exudyn_space import Section, SpaceModel
from other_codes.problems.table import Row, show
from pliant import Joint, Link, Robot, Shapes
from pliant.robot import Drive, Lump, Origin

E, G, DENSITY, GRAVITY, HEIGHT, TILT = 70e9, 26.3e9, 2700.0, (0.0, 0.0, -9.81), 0.3, 0.4
LENGTHS = (0.9, 0.65)
SECTIONS = (Section.rectangle(0.024, 0.014, E, G, DENSITY), Section.rectangle(0.016, 0.010, E, G, DENSITY))
ELBOW: dict[str, Any] = {"mass": 0.4, "com": (0.01, 0.03, -0.02), "inertia": (4e-4, 6e-4, 5e-4)}
PAYLOAD: dict[str, Any] = {"mass": 0.7, "com": (0.05, 0.08, -0.04), "inertia": (2e-3, 3e-3, 4e-3)}
DRIVES = (
    Drive(stiffness=900.0, damping=1.2, rotor_inertia=2e-4, gear_ratio=80.0),
    Drive(stiffness=400.0, damping=0.5, rotor_inertia=1e-4, gear_ratio=60.0),
)
END, OUTPUT_STEP = 1.0, 5e-3
MODES = Shapes(bending_y=3, bending_z=3, torsion=2, boundary="clamped-mass", tip_load="auto")
ELEMENTS = Shapes(method="elements", count=2, bending_y=True, bending_z=True, torsion=True)
CUBIC = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)


def torques(t: Any) -> list[Any]:
    """N m, link side."""
    return [5.0 * ca.sin(5.0 * t), -5.0 + 0 * t]


def arm(shapes: Shapes, pieces: int | None = None, stiff: bool = False) -> Robot:
    """`stiff`: with rigid gears, whose rotors turn with the joints."""
    drives = [drive.model_copy(update={"stiffness": None, "damping": 0.0}) if stiff else drive for drive in DRIVES]
    upper, fore = (section.beam(length, pieces=pieces) for section, length in zip(SECTIONS, LENGTHS, strict=True))
    links = [
        Link(name="upper", joint=Joint(origin=Origin(xyz=(0, 0, HEIGHT)), drive=drives[0]), beam=upper, shapes=shapes,
             tip=Lump(**ELBOW)),
        Link(name="fore", joint=Joint(origin=Origin(rpy=(TILT, 0, 0)), axis=(0, 1, 0), drive=drives[1]), beam=fore,
             shapes=shapes),
    ]  # fmt: skip
    return Robot(name="spatial", gravity=GRAVITY, links=links, payload=Lump(**PAYLOAD))


def ours(robot: Robot, stiffening: Any = "second-order") -> tuple[np.ndarray, int]:
    """Places (N, 3) of the end, and the number of coordinates."""
    model = robot.model(stiffening=stiffening)
    run = pliant.simulate(
        model, END, torque=lambda t, q, qd: torques(t), method="rodas5p", rtol=1e-6, atol=1e-8,
        output_step=OUTPUT_STEP,
    )  # fmt: skip
    return run.tip_pose[:, :3, 3], model.n


def theirs(elements: int, step: float) -> tuple[np.ndarray, int]:
    """The same by Exudyn."""
    space, tilted = SpaceModel(GRAVITY), Rotation.from_rotvec([TILT, 0, 0])
    upper = space.beam((0, 0, HEIGHT), Rotation.identity(), LENGTHS[0], SECTIONS[0], elements)
    fore = space.beam((LENGTHS[0], 0, HEIGHT), tilted, LENGTHS[1], SECTIONS[1], elements)
    space.body(upper[-1], ELBOW["mass"], ELBOW["inertia"], ELBOW["com"])
    space.body(fore[-1], PAYLOAD["mass"], PAYLOAD["inertia"], PAYLOAD["com"])
    about_y = tilted * Rotation.from_rotvec([-np.pi / 2, 0, 0])
    for k, (ends, axes) in enumerate([((None, upper[0]), Rotation.identity()), ((upper[-1], fore[0]), about_y)]):
        drive = DRIVES[k]
        space.join(*ends, (1, 1, 1, 1, 1, 0), axes=axes)
        space.drive(
            *ends, axes, drive.stiffness, drive.damping, drive.rotor_inertia * drive.gear_ratio**2,
            lambda t, k=k: float(torques(t)[k]),
        )  # fmt: skip
    space.watch("end", fore[-1])
    return space.run(END, step, OUTPUT_STEP)["end"], space.size()


def rows() -> list[Row]:
    """Differences of the path of the end over 1 s, beside what flexibility moves it by."""
    few, many = (theirs(count, 1e-3)[0] for count in (8, 16))
    limit = many + (many - few) / 3  # their error falls with the square of the number of elements
    rigid, _ = ours(arm(Shapes(), stiff=True))

    def off(path: np.ndarray, other: np.ndarray = limit) -> float:
        return float(np.linalg.norm(path - other, axis=1).max())

    moved, source = off(rigid), "Exudyn, 8 and 16 elements a link, extrapolated"
    found = [Row("Exudyn, 16 elements: largest difference, m", 0.0, off(many), 4e-3 * moved, source)]
    for name, shapes in {"2 elements a link": ELEMENTS, "3 + 3 + 2 modes a link": MODES}.items():
        path, size = ours(arm(shapes))
        found.append(Row(f"{name}, {size} coordinates: largest difference, m", 0.0, off(path), 4e-3 * moved, source))
    return [Row("what flexibility moves the end by, m", 0.055, moved, 0.002, "the rigid arm"), *found]


def main() -> None:
    show("Spatial arm with elastic drives", rows())


if __name__ == "__main__":
    main()
