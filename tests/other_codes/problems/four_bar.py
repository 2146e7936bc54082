"""Four-bar of flexible bars whose third pin is misaligned: problem of Bauchau, Betsch, Cardona and others (2016).

Bars A-B, B-C and C-D of steel in the xy plane, A at the origin and D at x = 0.24 m on the ground. Pins at A, B and D
turn about z. The pin at C is turned by 5 degrees about y, so that rigid bars could not move: they bend and twist
instead. The crank A-B turns at -0.6 rad/s.

The data are those of the problem in a public model of it (TACS, example of a four-bar). Ours: a start from rest that
reaches the speed in 0.5 s. Compared with Exudyn until the bars come to lie in a line, where the motion may branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from other_codes.exudyn_space import Section, SpaceModel
from other_codes.problems.table import Row, show
from pliant import Joint, Link, Robot, Shapes
from pliant.robot import Frame, Loop, LoopJoint, Origin
from pliant_bench import spin_up

AB, BC, CD = 0.12, 0.24, 0.12  # m
SPEED, RISE, TILT = -0.6, 0.5, np.radians(5.0)
THICK = Section(52.99e6, 16.88e6, 16.88e6, 733.5, 1131.0, 1131.0, 1.997, (85.2e-6, 42.6e-6, 42.6e-6))
THIN = Section(13.25e6, 4.220e6, 4.220e6, 45.84, 70.66, 70.66, 0.4992, (5.324e-6, 2.662e-6, 2.662e-6))


def linkage(pieces: int) -> Robot:
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True, axial=True)

    def bar(name: str, section: Section, length: float, **joint: Any) -> Link:
        parent = {"parent": joint.pop("parent")} if "parent" in joint else {}
        beam = section.beam(length, axial=True, pieces=pieces)
        return Link(name=name, joint=Joint(**joint), beam=beam, shapes=shapes, **parent)

    links = [
        bar("crank", THICK, AB),
        bar("coupler", THICK, BC, actuated=False),
        bar("rocker", THIN, CD, actuated=False, parent="base", origin=Origin(xyz=(BC, 0, 0))),
    ]
    along = Frame(name="c", link="rocker", origin=Origin(rpy=(0, 0, -np.pi / 2)))  # the coupler's axes, at the start
    turned = LoopJoint(type="revolute", axis=(np.sin(TILT), 0, np.cos(TILT)))
    pin = Loop(name="pin", between=("coupler.tip", "c"), joint=turned)
    return Robot(name="four-bar", gravity=(0, 0, 0), links=links, frames=[along], loops=[pin])


def ours(pieces: int, t_end: float, output_step: float) -> tuple[np.ndarray, int]:
    """Places (N, 3) of the pin C, and the number of coordinates."""
    model = linkage(pieces).model(stiffening="second-order")
    turned = spin_up.angle(SPEED, RISE)
    start = {"crank": np.pi / 2, "coupler": -np.pi / 2, "rocker": np.pi / 2}
    run = pliant.simulate(
        model, t_end, start, motion={"crank": lambda t: np.pi / 2 + turned(t)}, method="rodas5p", rtol=1e-5,
        atol=1e-8, output_step=output_step,
    )  # fmt: skip
    return run.pose("coupler.tip")[:, :3, 3], model.n


def theirs(elements: int, step: float, t_end: float, output_step: float) -> tuple[np.ndarray, int]:
    """The same by Exudyn."""
    space, upright = SpaceModel(), Rotation.from_rotvec([0, 0, np.pi / 2])
    crank = space.beam((0, 0, 0), upright, AB, THICK, elements)
    coupler = space.beam((0, AB, 0), Rotation.identity(), BC, THICK, elements)
    rocker = space.beam((BC, 0, 0), upright, CD, THIN, elements)
    turned = spin_up.motion(SPEED, RISE)
    free_z = (1, 1, 1, 1, 1, 0)
    space.join(None, crank[0], angle=lambda t: turned(t)[0])
    space.join(crank[-1], coupler[0], free_z)
    space.join(None, rocker[0], free_z)
    space.join(coupler[-1], rocker[-1], free_z, axes=Rotation.from_rotvec([0, TILT, 0]))
    space.watch("c", coupler[-1])
    found = space.run(t_end, step, output_step, spectral_radius=0.7)
    return found["c"], space.size()


def rows(t_end: float = 2.4, output_step: float = 0.04) -> list[Row]:
    """How far C leaves the plane, until the bars come to lie in a line at 2.85 s, and where it is at the end."""
    mine, size = ours(1, t_end, output_step)
    few, many = (theirs(count, 5e-3, t_end, output_step)[0] for count in (4, 8))
    limit = many + (many - few) / 3  # their error falls with the square of the number of elements
    peak = float(np.abs(limit[:, 2]).max())
    worst = float(np.abs(mine - limit)[:, 2].max())
    source = "Exudyn, 4 and 8 elements a bar, extrapolated"
    return [
        Row(f"largest z of C, m, {size} coordinates", peak, float(np.abs(mine[:, 2]).max()), 2e-3 * peak, source),
        Row("largest difference of z, m", 0.0, worst, 2e-3 * peak, source),
        Row("largest difference in the plane, m", 0.0, float(np.abs(mine - limit)[:, :2].max()), 2e-5, source),
        Row("largest z of C, m, Exudyn, 8 elements", peak, float(np.abs(many[:, 2]).max()), 1e-2 * peak, source),
    ]


def main() -> None:
    show("Four-bar with a misaligned pin", rows())


if __name__ == "__main__":
    main()
