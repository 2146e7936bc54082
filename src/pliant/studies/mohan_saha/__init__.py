"""[MS07]: O(n) forward dynamics by decoupled natural orthogonal complements, and a PUMA driven by its own torques."""

from __future__ import annotations

from pliant.studies.mohan_saha.checks import judge
from pliant.studies.mohan_saha.figures import illustrate, tabulate
from pliant.studies.mohan_saha.runs import CHOSEN, GIVEN, perform
from pliant.studies.study import Study

STUDY = Study(
    name="mohan-saha",
    title="O(n) forward dynamics, and a PUMA driven by feed-forward torques",
    source="Ashish Mohan, S. K. Saha: A recursive, numerically stable, and efficient simulation algorithm for serial "
    "robots, Springer Science + Business Media B.V. (2007) [MS07]",
    summary="The paper derives O(n) forward dynamics from the UDU^T factors of the generalised inertia matrix, counts "
    "its operations, and drives a PUMA by torques computed beforehand. It finds that the recursive algorithm follows "
    "the desired motion longer than a Cholesky solution and concludes that it is numerically more stable. The runs are "
    "repeated here with both algorithms, which share the velocity terms as in the paper, at several tolerances and "
    "steps of the integration, with two readings of the hub inertia, and beside the eigenvalues of the error dynamics.",
    given=GIVEN,
    chosen=CHOSEN,
    steps=(16, 26),
    perform=perform,
    judge=judge,
    illustrate=illustrate,
    tabulate=tabulate,
)
