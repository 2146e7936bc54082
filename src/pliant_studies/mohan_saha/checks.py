"""Claims of [MS07] and requirements on the recursion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.mechanics.formulations.published import mohan_saha as published
from pliant_studies.checks import Check, Numbers, below, claimed, compared, required, timed
from pliant_studies.mohan_saha.arms import ALGORITHMS, LEFT
from pliant_studies.mohan_saha.measures import OWN, QUOTED

TABLE_3 = published.TABLE_3
READ_OFF = 0.2
"""Seconds that a duration of Table 3 may be off: a tenth by rounding, a tenth by the limit of what is acceptable."""
TOGETHER = 0.1
"""Seconds within which both algorithms leave the motion together: a third of the least gain in Table 3.

Where round-off is the seed, with the smallest steps, a factor of twenty between two of them is as much."""


def judge(numbers: Numbers) -> list[Check]:
    """Every check of the study."""
    return [*_recursion(numbers), *_table_1(numbers["table 1"]), *_forced(numbers), *_durations(numbers),
            *_explained(numbers), *_cost(numbers)]  # fmt: skip


# ------------------------------------------------------------------------------------------------------ recursion


def _recursion(numbers: Numbers) -> list[Check]:
    solution, rod = numbers["solution"], numbers["rod"]
    return [
        required(
            "A",
            "Recursive, Cholesky and inverse dynamics agree",
            "(30)-(37)",
            ours={"recursive less Cholesky": solution["apart"], "inverse of forward": solution["returned"]},
            limit=1e-11,
            true=max(solution["apart"], solution["returned"]) < 1e-11,
            reason="round-off 1e-16 times the condition number 1e4 of the inertia matrix, and a decade",
            text="Accelerations of 50 random states by both algorithms, and the torques that inverse dynamics gives "
            "back for them. The non-recursive algorithm is the paper's: the same phi, the inertia matrix by (28) and "
            "(29), its Cholesky factors (as L D L^T) and two substitutions.",
        ),
        required(
            "A-motion",
            "Round-off of either algorithm along the desired motion is far below the tolerance",
            "section 5",
            ours=solution["round-off"],
            limit=1e-10,
            true=max(solution["round-off"].values()) < 1e-10,
            reason="a hundredth of the tolerance 1e-8 of the integration",
            text="Accelerations for the torques of the desired motion less the desired accelerations, in rad/s^2, "
            "largest of 501 instants over 10 s. Solving with the matrix costs no accuracy that the integration could "
            "see.",
        ),
        _definite(numbers["inertia matrix"]),
        below(
            "D",
            "The mass matrix of a bent rod in closed form equals quadrature",
            "step 3, C1-C5",
            ours=rod["corrected"],
            limit=1e-12,
            reason="round-off",
            text="With C5 = rho a^2 b/2.",
        ),
        claimed(
            "D-printed",
            "The mass matrix of a bent rod has C5 = rho a^2 b",
            "step 3",
            published="C5 = rho a^2 b",
            ours={"matrix as printed, off quadrature": rod["printed"]},
            true=rod["printed"] < 1e-12,
            tolerance=1e-12,
            reason="round-off",
            text="The matrix with C5 as printed against quadrature along the rod, relative to its largest entry. The "
            "right constant is half of it; the counts do not depend on that.",
        ),
        below(
            "F-cases",
            "Hub, payload and a prismatic joint agree with a Lagrangian",
            "(10), (11)",
            ours=numbers["other joints"],
            limit=1e-11,
            reason="round-off",
            text="A turning and a sliding link with hub and payload. The prismatic rod of (11a), whose length "
            "varies, is replaced by a body of constant inertia.",
        ),
    ]


def _definite(matrix: Numbers) -> Check:
    ours, energy = matrix["ours"], matrix["energy"]
    off = max(matrix["asymmetry"], matrix["off columns"], *(abs(ours[key] / energy[key] - 1) for key in energy))
    return required(
        "B",
        "The generalized inertia matrix is symmetric and positive definite, not singular",
        "(25)",
        ours={**ours, "asymmetry": matrix["asymmetry"], "off the columns of inverse dynamics": matrix["off columns"]},
        limit="1e-8; eigenvalue above zero",
        true=off < 1e-8 and ours["smallest eigenvalue"] > 0,
        reason="round-off 1e-16 times the condition number 1e4, with room for two ways to one number",
        text="At theta = 0: composite inertias against columns of inverse dynamics, which nothing makes symmetric, "
        "and eigenvalues against those of the second derivatives of the kinetic energy. A condition number of 1e4 is "
        "far from singular for numbers with 16 digits, so ill-conditioning cannot explain what the paper saw.",
        reference=energy,
    )


# -------------------------------------------------------------------------------------------------------- Table 1


def _table_1(table: Numbers) -> list[Check]:
    steps, by = table["steps"], table["crossovers"]
    row, cubic = published.PRINTED[OWN], published.PRINTED["Walker-Orin"]
    star, plus = by["products"][OWN], by["each"][OWN]
    at_star, at_plus = (table["operations"].get(str(n), {OWN: [0, 0], "Walker-Orin": [0, 0]}) for n in (star, plus))
    printed_star = {name: published.PRINTED[name].n_star for name in QUOTED}
    printed_plus = {name: published.PRINTED[name].n_plus for name in QUOTED}
    others = {rule: {name: by[rule][name] for name in QUOTED} for rule in by}
    return [
        compared(
            "steps",
            "The fifteen steps add up to (173n - 128) M, (150n - 133) A",
            "section 4.1, Table 1",
            published=[173, -128, 0, 150, -133, 0],
            ours=[*steps["products"], *steps["sums"]],
            relative=0.0,
            reason="integers",
            text="Slope, offset and distance from a straight line of the counts that are printed beside the fifteen "
            "steps, summed for 1 to 29 links.",
        ),
        compared(
            "n-star",
            "In multiplications the algorithm is ahead of the O(n^3) one from 10 links on",
            "Table 1",
            published=[row.n_star, row.products_star, cubic.products_star],
            ours=[star, at_star[OWN][0], at_star["Walker-Orin"][0]],
            relative=0.0,
            reason="integers",
            text="First number of links from which on the formula of the proposed algorithm gives fewer "
            "multiplications than that of Walker and Orin, and both counts there.",
        ),
        compared(
            "n-plus",
            "In multiplications and additions it is ahead from 12 links on",
            "Table 1",
            published=[row.n_plus, row.products_plus, row.sums_plus, cubic.products_plus, cubic.sums_plus],
            ours=[plus, *at_plus[OWN], *at_plus["Walker-Orin"]],
            relative=0.0,
            reason="integers",
            text=f"Fewer of each kind, from {plus} links on, as printed; counted together it would be "
            f"{by['total'][OWN]}.",
        ),
        claimed(
            "n-star-quoted",
            "The other O(n) methods are ahead from 10, 12, 13, 14 links on, in multiplications",
            "Table 1",
            published=printed_star,
            ours=others["products"],
            true=printed_star == others["products"],
            tolerance=0,
            reason="integers",
            text="From the formulas that the paper quotes for them. Brandle's 14 is 15: at 14 links its 3278 "
            "multiplications exceed the 3201 of Walker and Orin. The others are right.",
        ),
        claimed(
            "n-plus-quoted",
            "The other O(n) methods are ahead from 14, 14, 15, 16 links on, in both",
            "Table 1",
            published=printed_plus,
            ours={"fewer of each": others["each"], "fewer in total": others["total"]},
            true=printed_plus in (others["each"], others["total"]),
            tolerance=0,
            reason="integers",
            text="By fewer of each, the reading that gives the paper's own 12, Saha's and Featherstone's 14 follow, "
            "Valasek's 15 would be 16 and Brandle's 16 would be 18, which is 16 by the total. No single reading "
            "gives all four.",
        ),
        *_fewest(table["operations"]),
    ]


def _fewest(operations: Numbers) -> list[Check]:
    long = {n: by for n, by in operations.items() if n != "6"}
    rivals = [name for name in published.METHODS if name not in (OWN, "Walker-Orin")]
    ahead = all(by[OWN][k] < by[name][k] for by in long.values() for name in rivals for k in (0, 1))
    six = operations["6"]
    least = all(six[OWN][k] <= min(count[k] for count in six.values()) for k in (0, 1))
    return [
        claimed(
            "fewest",
            "Of the O(n) algorithms the proposed one is the most efficient",
            "sections 4.1 and 5, Table 1",
            published="fewest operations",
            ours={n: {name: by[name] for name in (OWN, *rivals)} for n, by in long.items()},
            true=ahead,
            tolerance="fewer of each, 10 to 16 links",
            reason="the sizes for which Table 1 prints counts",
            text="Multiplications and additions by the printed formulas: the proposed algorithm has the fewest of "
            "each for every arm of 9 links or more. Saha's general bodies need fewer multiplications up to 8 links "
            "and fewer operations in total up to 6.",
        ),
        claimed(
            "fewest-six",
            "It is the most efficient for the six-link PUMA",
            "abstract, sections 4.1, 4.2",
            published="fewest operations",
            ours=six,
            true=least,
            tolerance="fewest of each, six links",
            reason="the arm that the paper takes to illustrate the advantages",
            text="For six links the proposed 910 multiplications and 767 additions stand against 862 and 797 of "
            "Saha's algorithm and against 633 and 475 of Walker and Orin's O(n^3) method, the cheapest of all up to "
            "9 links. The advantage belongs to long arms.",
        ),
    ]


# ------------------------------------------------------------------------------------------------- the forced PUMA


def _forced(numbers: Numbers) -> list[Check]:
    forced = numbers["forced"]
    quiet, isotropic = (max(forced[key].values()) for key in ("error to 5 s", "isotropic, error to 7.5 s"))
    starts = {name: min(times) for name, times in forced["leaves"].items()}
    power = forced["power matches to"]
    longer = power["recursive"] - power["non-recursive"]
    return [
        required(
            "C-early",
            "Until 5 s the simulated motion follows the desired one",
            "Figs. 5, 6",
            ours=forced["error to 5 s"],
            limit=1e-6,
            true=quiet < 1e-6,
            reason="a hundred times the tolerance: the eigenvalue is still below 3 1/s",
            text="Largest joint error (rad) up to 5 s at the stated tolerance, hub about z.",
        ),
        required(
            "C-divergence",
            "It leaves between 5.2 and 6.5 s, by either algorithm",
            "Figs. 5, 6",
            ours=starts,
            limit="5.2 to 6.5 s",
            true=all(5.2 <= t <= 6.5 for t in starts.values()),
            reason="where the eigenvalue of the error dynamics exceeds 10 1/s",
            text=f"First joint beyond {LEFT} rad. Torques computed beforehand cannot hold an unstable motion.",
        ),
        required(
            "C-isotropic",
            "With isotropic hubs neither algorithm diverges by 7.5 s",
            "Table 2",
            ours=forced["isotropic, error to 7.5 s"],
            limit=LEFT,
            true=isotropic < LEFT,
            reason="the same limit",
            text="Largest joint error (rad) up to 7.5 s. Which inertia a hub has about the other axes decides the "
            "outcome, not how the equations are solved.",
        ),
        required(
            "C-stabilized",
            "A PD controller beside the same torques holds the motion for all 10 s",
            "Fig. 5",
            ours=forced["stabilized"],
            limit=LEFT,
            true=forced["stabilized"] < LEFT,
            reason="the same limit",
            text="Largest joint error (rad). Feedback removes the instability.",
        ),
        required(
            "F",
            "Power is balanced along the run",
            "Fig. 8",
            ours=forced["balance"],
            limit=1e-6,
            true=max(forced["balance"].values()) < 1e-6,
            reason="integration at 1e-8; relative to the kinetic energy",
            text="Energy gained less work done by the torques, both algorithms, over the whole run, diverged part "
            "included: the equations are right all the time.",
        ),
        claimed(
            "power",
            "The recursive algorithm provides a power match for a longer duration",
            "section 5, Fig. 8",
            published="longer",
            ours={**power, "gain (s)": longer},
            true=longer > TOGETHER,
            tolerance=f"more than {TOGETHER} s longer",
            reason="a third of the least gain in Table 3",
            text="Time (s) at which simulated and desired power first differ by a hundredth of the peak. They part "
            "when the motion does, at the same time by both algorithms.",
        ),
    ]


def _durations(numbers: Numbers) -> list[Check]:
    leaves = numbers["forced"]["leaves"]
    default = numbers["tolerance"]["leaves"]["default"]["recursive"]
    mean = {name: float(np.mean(times)) for name, times in leaves.items()}
    gain = mean["recursive"] - mean["non-recursive"]
    return [
        claimed(
            "table-3",
            "Acceptable durations of either algorithm",
            "Table 3",
            published=TABLE_3,
            ours=leaves,
            true=all(_near(leaves[name], TABLE_3[name]) for name in TABLE_3),
            tolerance=f"{READ_OFF} s",
            reason=_READING,
            text=f"With {LEFT} rad as the limit and both tolerances of the integration at 1e-8, joints leave half a "
            "second to a second later than printed, by both algorithms alike.",
        ),
        claimed(
            "table-3-default",
            "Acceptable durations of the recursive algorithm, with the relative tolerance of ode45 left at its default",
            "Table 3",
            published=TABLE_3["recursive"],
            ours=default,
            true=_near(default, TABLE_3["recursive"]),
            tolerance=f"{READ_OFF} s",
            reason=_READING,
            text="The paper gives one tolerance, 1e-8; ode45 has two, and its relative one is 1e-3 unless it is set. "
            f"With 1e-8 as the absolute tolerance only, the durations are the printed ones within {READ_OFF} s. The "
            "non-recursive algorithm has these same durations, not the shorter ones of its column.",
        ),
        claimed(
            "advantage",
            "The recursive algorithm stays accurate longer than the non-recursive one",
            "Table 3, Figs. 6, 7",
            published={name: float(np.mean(t)) for name, t in TABLE_3.items()},
            ours={**mean, "gain (s)": gain},
            true=gain > 0.3,
            tolerance="0.3 s",
            reason="the least gain in Table 3",
            text="Mean durations (s) at a tolerance of 1e-8, read every 0.01 s: both algorithms leave the motion "
            f"together, {abs(gain):.2f} s apart. The local error of the integration is the seed, and the motion makes "
            "it grow (check C-seed); the round-off of either algorithm lies four decades below it (check A-motion). "
            "By the eigenvalue, the printed gain would take an error "
            f"{10 ** numbers['tolerance']['printed gain']:.0f} times larger in one of the two.",
        ),
        _matching(numbers["forced"]),
    ]


def _matching(forced: Numbers) -> Check:
    """Claims that can be seen in Fig. 5."""
    early, late = forced["error by joint"]["5.5 s"], forced["error by joint"]["6 s"]
    calm, loose = [late[k] for k in (0, 1, 3)], [late[k] for k in (2, 4, 5)]
    return claimed(
        "matching",
        "Joints 1, 2 and 4 match the desired motion; 3, 5 and 6 do up to 5.5 s and deviate then",
        "section 4.2, Fig. 5",
        published="1, 2, 4 exactly; 3, 5, 6 up to 5.5 s",
        ours=forced["error by joint"],
        true=max(early) < 1 and max(calm) < 1 < min(loose),
        tolerance="1 deg, over the 6 s that the paper simulates",
        reason="what can be seen in a figure of 180 deg",
        text="Largest errors (deg) of joints 1 to 6. As in the paper, 3, 5 and 6 go while 1, 2 and 4 still match to "
        "the eye. Not exactly: the unstable direction moves every joint, and at "
        f"{forced['leaves']['recursive'][3]:.1f} s joint 4 has left by {LEFT} rad too. Table 3, which lets joints 1, "
        "2 and 4 leave at 5.4 to 5.6 s, contradicts the sentence.",
    )


_READING = "printed to a tenth; the limit is not stated, and one ten times larger or smaller moves times by a tenth"


def _near(ours: ArrayLike, printed: ArrayLike) -> bool:
    return bool(np.abs(np.subtract(ours, printed)).max() <= READ_OFF)


def _explained(numbers: Numbers) -> list[Check]:
    eigenvalue, tolerance, steps = numbers["eigenvalue"], numbers["tolerance"], numbers["steps"]
    first = {name: {a: min(times) for a, times in pair.items()} for name, pair in tolerance["leaves"].items()}
    leaves = {name: pair for name, pair in first.items() if name != "default"}
    later = all(np.diff([pair[a] for pair in leaves.values()]).min() > 0.05 for a in ALGORITHMS)
    carried = [d for by in tolerance["decades"].values() for d in by]
    counts = {what: _spread(by) for what, by in steps["evaluations"].items()}
    return [
        required(
            "C-eigenvalue",
            "The error dynamics have an eigenvalue above 20 1/s at 5.5 s",
            "section 4.2",
            ours=eigenvalue,
            limit="> 20 1/s at 5.5 s",
            true=eigenvalue["5.5 s"] > 20,
            reason="the error then grows by e^20 per second",
            text="Link 3 is 8.8 kg on a rod of 0.02 m, and the wrist has no mass: an inverted pendulum with a rate "
            "of sqrt(3g/2a) = 27 1/s. The paper names a zero eigenvalue; it is a large positive one, of the motion, "
            "and every algorithm must leave it.",
        ),
        required(
            "C-seed",
            "The tolerance decides when the motion is left, and the eigenvalue by how much later",
            "section 5",
            ours={"first joint leaves (s)": leaves, "decades of growth in between": tolerance["decades"]},
            limit="later by more than 0.05 s for each; 2 decades, 25 %",
            true=later and all(abs(d / 2 - 1) < 0.25 for d in carried),
            reason="tolerances are two decades apart; the eigenvalue changes along the way and others join in",
            text="Time at which the first joint leaves, by tolerance of the integration. A hundredth of the "
            "tolerance delays it by as long as the eigenvalue needs to carry an error over two decades (its integral "
            "from one departure to the next): the seed is the local error of the integration, not round-off.",
            reference={"decades between tolerances": 2},
        ),
        _apart(
            "C-tolerance",
            "At every tolerance both algorithms leave together",
            "section 5",
            {**leaves, "1e-3 relative, 1e-8 absolute": first["default"]},
            "Time (s) at which the first joint leaves, by tolerance.",
        ),
        _apart(
            "C-steps",
            "With every largest step both algorithms leave together",
            "section 5",
            steps["leaves"],
            "Time (s) at which the first joint leaves in runs over 10 s, by largest step. Steps below what the "
            "tolerance asks for make the local error smaller and the departure later, for both alike, down to "
            "0.001 s; then the local error has fallen to round-off, and a smaller step delays it no further.",
        ),
        claimed(
            "step-size",
            "The step size has no significant effect on the CPU time",
            "section 5",
            published="no significant effect",
            ours={"most over fewest evaluations": counts, **steps["evaluations"]},
            true=min(counts.values()) < 1.1,
            tolerance="10 %, in one reading of step size",
            reason="more than timing would show",
            text="Evaluations of the equations over 6 s. As the spacing of the output, a step does not touch what "
            "ode45 does in between: no effect, as in the paper. As the largest step allowed, it costs in proportion, "
            f"up to {counts['largest step']:.0f} times as much here; the paper cannot have meant that.",
        ),
    ]


def _apart(id: str, claim: str, where: str, leaves: Numbers, text: str) -> Check:
    """Both algorithms leave at the same time, in every pair of runs."""
    worst = max(abs(pair["recursive"] - pair["non-recursive"]) for pair in leaves.values())
    return required(
        id,
        claim,
        where,
        ours={**leaves, "furthest apart (s)": worst},
        limit=TOGETHER,
        true=worst < TOGETHER,
        reason="a third of the least gain in Table 3",
        text=text,
    )


def _spread(by: Numbers) -> float:
    """Largest over smallest number of evaluations among steps, the larger one of both algorithms."""
    counts = np.array([[pair[a] for a in ALGORITHMS] for pair in by.values()])
    return float((counts.max(axis=0) / counts.min(axis=0)).max())


# ----------------------------------------------------------------------------------------------------------- cost


def _cost(numbers: Numbers) -> list[Check]:
    cost = numbers["cost"]
    counts = numbers["steps"]["evaluations"]["output spacing"]["0.001"]
    saved = 1 - counts["recursive"] / counts["non-recursive"]
    ratio = {n: by["non-recursive"] / by["recursive"] for n, by in cost["by links"].items()}
    median = {name: float(np.median(values)) for name, values in cost["seconds"].items()}
    return [
        required(
            "E-linear",
            "The cost of the recursion grows linearly with the number of links",
            "Table 1",
            ours={"slope": cost["slope"], "largest deviation": cost["bent"]},
            limit=0.02,
            true=cost["bent"] < 0.02,
            reason="the first and last link cost less",
            text="Products of accelerations from given forces on the tape of n bent rods with general twist.",
        ),
        required(
            "E-count",
            "It stays at or below the published 173n - 128",
            "Table 1",
            ours=cost["products"],
            limit=cost["published"],
            true=all(cost["products"][n] <= cost["published"][n] for n in cost["products"]),
            reason="same work: accelerations from given forces",
            text="Our tape for general bent rods with hubs.",
        ),
        claimed(
            "iterations",
            "The recursive algorithm needs fewer iterations of the integration",
            "section 5",
            published="fewer, because its accelerations are smoother",
            ours={**counts, "saved": saved},
            true=saved > 0.01,
            tolerance="1 %",
            reason="round-off moves single steps",
            text="Evaluations of the equations in the forced run over 6 s. They are as good as equal: both "
            "algorithms give the same accelerations.",
        ),
        timed(
            "cpu",
            "The recursive algorithm takes less CPU time for the forced PUMA",
            "section 5, Fig. 9",
            published="less",
            ours={"medians (s)": median, "one evaluation against n, Cholesky over recursive": ratio},
            rounds=cost["ratios"],
            reason="machine dependent",
            text="The forced run over 6 s with steps of at most 0.001 s, as in the paper, by Cholesky over that by "
            "the recursion; both are compiled alike, and the torques are computed within the run.",
        ),
    ]
