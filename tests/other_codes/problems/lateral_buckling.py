"""Lateral buckling of a thin beam pulled by a crank: problem of Bauchau, Betsch, Cardona and others (2016).

A clamped strip of aluminium, 1 m long, 100 mm high and 10 mm thick, is pulled down at its end by a link of 0.25 m on a
crank of 0.05 m that turns by half a turn in 0.4 s. Crank and link stand 0.1 mm beside the strip: it buckles sideways,
snaps, and comes back.

The data are those of the problem in a public model of it (Project Chrono, demo of beams and constraints). Ours: crank
and link are rigid bars (the strip is 700 times softer), its torsion constant is Saint-Venant's.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from other_codes.exudyn_space import Section, SpaceModel
from other_codes.problems.table import Row, show
from pliant import Joint, Link, RigidBody, Robot, Shapes
from pliant.loads import Wrench
from pliant.robot import Frame, Loop, LoopJoint, Origin

L, H, K, BESIDE = 1.0, 0.25, 0.05, 1e-4  # m
E, NU, DENSITY, T = 73e9, 0.3, 2700.0, 0.4
PUSH = (0.0, -2600.0, 1.0)
"""N, on the end of the strip alone, at rest."""
STRIP = Section.rectangle(0.1, 0.01, E, E / (2 * (1 + NU)), DENSITY)
DIAMETERS = {"crank": 0.048, "link": 0.024}


def bar(name: str, length: float) -> dict[str, Any]:
    """Mass, center of mass and inertia of a round bar."""
    r = DIAMETERS[name] / 2
    mass = DENSITY * np.pi * r**2 * length
    across = mass * (length**2 / 12 + r**2 / 4)
    return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (mass * r**2 / 2, across, across)}


def machine(pieces: int) -> Robot:
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)
    links = [
        Link(name="strip", joint=Joint(type="fixed"), beam=STRIP.beam(L, pieces=pieces), shapes=shapes),
        Link(name="crank", parent="base", joint=Joint(origin=Origin(xyz=(L - K, -H, BESIDE))),
             rigid=RigidBody(**bar("crank", K), tip=(K, 0, 0))),
        Link(name="link", joint=Joint(actuated=False), rigid=RigidBody(**bar("link", H), tip=(H, 0, 0))),
    ]  # fmt: skip
    frames = [
        Frame(name="beside", link="strip", origin=Origin(xyz=(0, 0, BESIDE))),
        Frame(name="middle", link="strip", x=L / 2),
    ]
    ball = Loop(name="ball", between=("beside", "link.tip"), joint=LoopJoint(type="spherical"))
    return Robot(name="buckling", gravity=(0, 0, 0), links=links, frames=frames, loops=[ball])


def crank_angle(t: Any) -> Any:
    return -np.pi * (1 - ca.cos(np.pi * t / T)) / 2


def ours(pieces: int, output_step: float = 1e-3, t_end: float = T) -> tuple[np.ndarray, int]:
    """Sideways displacement (N,) of the middle of the strip, m, and the number of coordinates."""
    model = machine(pieces).model(stiffening="second-order")
    run = pliant.simulate(
        model, t_end, {"link": np.pi / 2}, motion={"crank": crank_angle}, method="rodas5p", rtol=1e-5, atol=1e-8,
        output_step=output_step,
    )  # fmt: skip
    return run.pose("middle")[:, 2, 3], model.n


def theirs(elements: int, step: float, output_step: float = 1e-3, t_end: float = T) -> tuple[np.ndarray, int]:
    """The same by Exudyn; an even number of elements."""
    space, upright = SpaceModel(), Rotation.from_rotvec([0, 0, np.pi / 2])
    strip = space.beam((0, 0, 0), Rotation.identity(), L, STRIP, elements)
    crank = space.node((L - K, -H, BESIDE), Rotation.identity())
    link = space.node((L, -H, BESIDE), upright)
    for name, node, length in (("crank", crank, K), ("link", link, H)):
        own = bar(name, length)
        space.body(node, own["mass"], own["inertia"], own["com"])
    space.join(None, strip[0])
    space.join(None, crank, angle=lambda t: float(crank_angle(t)))
    space.join(crank, link, (1, 1, 1, 1, 1, 0))
    space.join(strip[-1], link, (1, 1, 1, 0, 0, 0), at=(L, 0, BESIDE))
    space.watch("middle", strip[elements // 2], "Displacement")
    return space.run(t_end, step, output_step)["middle"][:, 2], space.size()


def at_rest(pieces: int, force: tuple[float, float, float]) -> float:
    """Sideways displacement, m, of the end of the strip alone, under a force there."""
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)
    link = Link(name="strip", joint=Joint(type="fixed"), beam=STRIP.beam(L, pieces=pieces), shapes=shapes)
    model = Robot(name="strip", gravity=(0, 0, 0), links=[link]).model(stiffening="second-order")
    return float(model.tip_pose(model.equilibrium([], [Wrench(force=force)]))[2, 3])


def at_rest_in_exudyn(elements: int, force: tuple[float, float, float]) -> float:
    """The same."""
    space = SpaceModel()
    nodes = space.beam((0, 0, 0), Rotation.identity(), L, STRIP, elements)
    space.join(None, nodes[0])
    space.add("LoadForceVector", markerNumber=space.on(nodes[-1]), loadVector=list(force))
    space.watch("end", nodes[-1], "Displacement")
    return float(space.rest(10)["end"][2])


def snaps(sideways: np.ndarray, output_step: float = 1e-3) -> float:
    """First time, s, at which the middle is 20 mm off."""
    after = int(np.flatnonzero(np.abs(sideways) > 0.02)[0])
    return float(np.interp(0.02, np.abs(sideways[after - 1 : after + 1]), output_step * np.array([after - 1, after])))


def rows() -> list[Row]:
    """Near its critical load the strip magnifies what pushes it sideways, and errors with it: both codes are
    extrapolated from two runs, whose errors fall with the square. In motion the instant of the snap and its
    size are compared. Four pieces are too stiff: they snap 3.5 ms late, and the vibration stays behind by as much."""
    few, many = (at_rest(pieces, PUSH) for pieces in (4, 8))
    coarse, fine = (at_rest_in_exudyn(count, PUSH) for count in (16, 32))
    expected = fine + (fine - coarse) / 3
    theirs_moving, (mine, size) = theirs(32, 5e-4)[0], ours(4)
    peak = float(np.abs(theirs_moving).max())
    return [
        Row("sideways under 2600 N, m, 4 and 8 pieces extrapolated", expected, many + (many - few) / 3,
            0.006 * expected, "Exudyn, 16 and 32 elements, extrapolated"),
        Row(f"snaps at, s, 4 pieces, {size} coordinates", snaps(theirs_moving), snaps(mine), 5e-3,
            "Exudyn, 32 elements"),
        Row("largest displacement of the middle, m", peak, float(np.abs(mine).max()), 0.02 * peak,
            "Exudyn, 32 elements"),
    ]  # fmt: skip


def main() -> None:
    show("Lateral buckling of a strip pulled by a crank", rows())


if __name__ == "__main__":
    main()
