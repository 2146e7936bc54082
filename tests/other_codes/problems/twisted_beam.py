"""Beams twisted by 90 degrees, with a force at the free end: a large one, and the two small ones of MacNeal and Harder.

The large problem is that of Wang, Sprague, Jonkman, Johnson and Jonkman (Wind Energy 20, 2017): 10 m long, section
0.5 m by 0.25 m, 4 MN at the end, across the wide side of the root. Its data and values of geometrically exact
beams, of degree 17, and of solid elements are public with the regression tests of OpenFAST's BeamDyn and of Kynema.

Here x is along the beam, y along the short side of the root section and z along its long one.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from other_codes.exudyn_space import Section, SpaceModel
from other_codes.problems.table import Row, show
from pliant import Joint, Link, Robot, Shapes
from pliant.loads import Wrench

LARGE = (10.0, Section.rectangle(0.25, 0.5, 200e9, 79.3e9, 7850.0, GJ=0.141872656e9))  # torsion as the tests have it
FORCE = (0.0, 0.0, 4e6)
EXACT = (-1.141526000, 1.718053346, 3.593213240)
"""m: one spectral element with 18 nodes; signs follow our axes."""
SOLID = (-1.134192, 1.714467, 3.58423)

SMALL = (12.0, Section.rectangle(1.1, 0.32, 29e6, 29e6 / 2.44, 7.3e-4))
MACNEAL = {(0.0, 1.0, 0.0): (1, 0.001754), (0.0, 0.0, 1.0): (2, 0.005424)}
"""Unit force -> axis and displacement, inches: root section 1.1 along y, so that the force along z, which the wide side
of the free end bears, is in the plane of theirs."""


def ours(problem: tuple[float, Section], force: tuple[float, float, float], pieces: int) -> np.ndarray:
    """Displacement (3,) of the end."""
    length, section = problem
    beam = section.beam(length, axial=True, pieces=pieces, twist=np.pi / 2 / length)
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True, axial=True)
    link = Link(name="beam", joint=Joint(type="fixed"), beam=beam, shapes=shapes)
    model = Robot(name="twisted", gravity=(0, 0, 0), links=[link]).model(stiffening="second-order")
    q = model.equilibrium([], [Wrench(force=force)])
    return np.asarray(model.tip_pose(q)[:3, 3] - [length, 0.0, 0.0])


def theirs(problem: tuple[float, Section], force: tuple[float, float, float], elements: int) -> np.ndarray:
    """The same by Exudyn."""
    (length, section), space = problem, SpaceModel()
    nodes = space.beam((0, 0, 0), Rotation.identity(), length, section, elements, twist=np.pi / 2 / length)
    space.join(None, nodes[0])
    space.add("LoadForceVector", markerNumber=space.on(nodes[-1]), loadVector=list(force))
    space.watch("end", nodes[-1], "Displacement")
    return space.rest(10)["end"]


def large(pieces: int = 16) -> list[Row]:
    """Errors fall with the square of the number of pieces, 0.25 % of the displacement with 16."""
    got, size = ours(LARGE, FORCE, pieces), np.linalg.norm(EXACT)
    allowed = 0.0025 * (16 / pieces) ** 2 * size
    return [
        Row(f"u_{axis}, m, {pieces} pieces", EXACT[k], got[k], allowed, "exact beam, 18 nodes")
        for k, axis in enumerate("xyz")
    ]


def second_code(elements: int = 64) -> list[Row]:
    got, size = theirs(LARGE, FORCE, elements), np.linalg.norm(EXACT)
    return [
        Row(f"u_{axis}, m, Exudyn, {elements} elements", EXACT[k], got[k], 2e-4 * size, "exact beam, 18 nodes")
        for k, axis in enumerate("xyz")
    ]


def small(pieces: int = 8) -> list[Row]:
    rows = []
    for force, (axis, expected) in MACNEAL.items():
        got = float(ours(SMALL, force, pieces)[axis])
        rows.append(Row(f"u_{'xyz'[axis]}, in, {pieces} pieces", expected, got, 0.01 * expected, "MacNeal and Harder"))
    return rows


def main() -> None:
    show("Beam twisted by 90 degrees, 4 MN", [*large(16), *second_code()])
    show("Twisted beam of MacNeal and Harder, unit forces", small())


if __name__ == "__main__":
    main()
