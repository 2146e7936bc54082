"""[KS09]: a two-link elastic arm by recursive Gibbs-Appell, against finite elements; operation counts."""

from __future__ import annotations

from pliant.studies.korayem_shafei.checks import judge
from pliant.studies.korayem_shafei.figures import illustrate, tabulate
from pliant.studies.korayem_shafei.runs import CHOSEN, GIVEN, perform
from pliant.studies.study import Study

STUDY = Study(
    name="korayem-shafei",
    title="Two-link elastic arm by recursive Gibbs-Appell",
    source="M. H. Korayem, A. M. Shafei: Motion Equations Proper for Forward Dynamics of Robotic Manipulator with "
    "Flexible Links by Using Recursive Gibbs-Appell Formulation (2009) [KS09]",
    summary="The paper derives the equations of n flexible links by Gibbs-Appell with 3x3 algebra only, counts their "
    "operations against Book's method, and simulates two elastic links with one clamped-free mode each, comparing with "
    "finite elements of an earlier paper. Here the same arm swings by our Gibbs-Appell formulation, by a Lagrangian "
    "that shares no code with it, and by finite elements, two per link as in the earlier paper and converged; with "
    "one, two and three modes, with clamped-free and clamped-mass shapes, with and without stiffening. The counts are "
    "evaluated as formulas, over all arms up to ten links, and taken from instruction tapes.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(12, 18),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
