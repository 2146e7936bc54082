"""[TG95]: an RRP arm with a sliding flexible link, assumed modes against finite elements, model-based control."""

from __future__ import annotations

from pliant.studies.study import Study
from pliant.studies.theodore_ghosal.checks import judge
from pliant.studies.theodore_ghosal.figures import illustrate, tabulate
from pliant.studies.theodore_ghosal.runs import CHOSEN, GIVEN, perform

STUDY = Study(
    name="theodore-ghosal",
    title="Assumed modes against finite elements on an RRP arm with a sliding link",
    source="R. J. Theodore, A. Ghosal: Comparison of the assumed modes and finite element models for flexible "
    "multilink manipulators, Int. J. Robotics Research 14 (1995) [TG95]",
    summary="The paper compares assumed modes and finite elements on an arm whose third link slides out of its hub, "
    "under a decoupling controller that hands over to a linear quadratic regulator. Its frequencies, operation counts, "
    "the frequency equation of the sliding beam with its roots solved for and integrated beside the motion, the "
    "controlled motion, the eigenvalues of the loop sorted by link, and the effect of an over-estimated stiffness are "
    "computed again here; a planar arm shows what a boundary load that moves with the elbow does.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(11, 15),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
