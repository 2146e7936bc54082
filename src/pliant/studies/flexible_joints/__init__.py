"""[ZZZ]: dynamic stiffening of a spinning beam, and Canadarm2 with flexible links and joints dropping under gravity."""

from __future__ import annotations

from pliant.studies.flexible_joints.checks import judge
from pliant.studies.flexible_joints.figures import illustrate, tabulate
from pliant.studies.flexible_joints.runs import CHOSEN, GIVEN, perform
from pliant.studies.study import Study

STUDY = Study(
    name="flexible-joints",
    title="Dynamic stiffening, and Canadarm2 with flexible links and flexible joints",
    source="Advances in Mechanical Engineering 5 (2013), article 216014, doi:10.1155/2013/216014: dynamics of spatial "
    "manipulators of n flexible links and n flexible joints, with longitudinal shortening, by recursive 4x4 Lagrange "
    "[ZZZ]",
    summary="The paper spins up a flexible beam to several speeds with and without the shortening that bending causes "
    "(zero-order and high-order coupling models), then drops a five-link Canadarm2 with flexible booms and flexible "
    "joints under gravity for several rotor inertias and joint stiffnesses. Both are run here, by our recursion and "
    "by the paper's, and the beam by an independent model as well. The lost table of link data is filled from the "
    "public model of the arm. What the paper leaves open, the motors and two units, is run in both readings.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(28, 39),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
