"""[ZZZ]: dynamic stiffening of a spinning beam, and Canadarm2 with flexible links and joints dropping under gravity."""

from __future__ import annotations

from pliant.studies.flexible_joints.checks import judge
from pliant.studies.flexible_joints.figures import illustrate, tabulate
from pliant.studies.flexible_joints.runs import CHOSEN, GIVEN, perform
from pliant.studies.study import Study

STUDY = Study(
    name="flexible-joints",
    title="Dynamic stiffening, and Canadarm2 with flexible links and flexible joints",
    source="Dynamic modelling and simulation of spatial manipulators with flexible links and flexible joints, by "
    "recursive 4x4 Lagrange with high-order geometric coupling [ZZZ]",
    summary="The paper spins up a flexible beam to several speeds with and without the shortening that bending causes "
    "(zero-order and high-order coupling models), then drops a five-link Canadarm2 with flexible booms and flexible "
    "joints under gravity for several rotor inertias and joint stiffnesses. Both are run here; the lost table of link "
    "data is filled from the public model of the arm.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(21, 34),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
