"""[CE21]: a 4-DOF arm with two flexible links by dual screws, linear in elastic states, against nonlinear models."""

from __future__ import annotations

from pliant.studies.cibicik_egeland.checks import judge
from pliant.studies.cibicik_egeland.figures import illustrate, tabulate
from pliant.studies.cibicik_egeland.runs import CHOSEN, GIVEN, perform
from pliant.studies.study import Study

STUDY = Study(
    name="cibicik-egeland",
    title="A 4-DOF flexible arm by dual screws: linearised against nonlinear",
    source="Andrej Cibicik, Olav Egeland: Kinematics and Dynamics of Flexible Robotic Manipulators Using Dual Screws, "
    "IEEE Transactions on Robotics, doi:10.1109/TRO.2020.3014519 [CE21]",
    summary="The paper derives equations that are linear in all elastic states by dual screws and Kane's method, and "
    "simulates a manoeuvre of 6 s with the linearised and with a nonlinear model: the curves lie on each other and the "
    "linearised model is faster. The manoeuvre is repeated here with our dual-screw formulation and our exact O(n) "
    "recursion, with the gains that we had to choose and with others; times and the cost of derivatives are "
    "compared, time with time.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(8, 14),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
