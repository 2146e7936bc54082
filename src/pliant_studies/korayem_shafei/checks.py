"""Claims of [KS09] and requirements on the formulation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pliant.mechanics.formulations.published import korayem_shafei as published
from pliant_studies.checks import Check, Numbers, below, claimed, reported, required


def judge(numbers: Numbers) -> list[Check]:
    """Every check of the study."""
    return [*_formulation(numbers), *_as_printed(numbers["printed"]), *_swing(numbers), *_independent(numbers),
            *_against_elements(numbers["elements"]), *_counts(numbers["counts"])]  # fmt: skip


# ------------------------------------------------------------------------------------------------- formulation


def _formulation(numbers: Numbers) -> list[Check]:
    found = numbers["formulation"]
    text = (
        "Generalized forces I(Theta) Theta'' - Re of a spatial arm of three links whose axes turn by 90 degrees from "
        "one to the next, each bending in two planes, all rates random, against those of a Lagrangian that is written "
        "from energies and differentiated by machine. The equations are (43) and (44) with the signs and terms "
        "corrected as the page of the formulation lists them."
    )
    return [
        below(
            "A-straight",
            "The corrected equations agree with a Lagrangian, undeformed, all rates moving",
            "(43), (44), Steps 1-10",
            ours=found["straight"],
            limit=1e-10,
            reason="round-off of some thousand operations",
            text=text,
        ),
        below(
            "A-bent",
            "They agree with links deflected",
            "(43), (44), exact rotation",
            ours=found["bent"],
            limit=1e-8,
            reason="round-off; the rotation of a bent tip is the exact one in both",
            text=text,
        ),
        *_printed_rotation(numbers["printed rotation"]),
        required(
            "C",
            "The inertia matrix is symmetric and positive definite; recursive and direct forms agree",
            "Steps 7-10",
            ours={
                "asymmetry": found["asymmetry"],
                "recursive less direct": found["direct"],
                "smallest eigenvalue": found["smallest eigenvalue"],
            },
            limit="1e-12, 1e-10, > 0",
            true=found["asymmetry"] <= 1e-12 and found["direct"] <= 1e-10 and found["smallest eigenvalue"] > 0,
            reason="round-off",
            text="The matrix of Steps 7-10 is compared with the second derivative of the kinetic energy.",
        ),
        below(
            "E-rigid",
            "Without modes the equations are those of rigid links",
            "m_i = 0",
            ours=numbers["rigid"],
            limit=1e-10,
            reason="round-off",
            text="Four rigid links by Gibbs-Appell and by the recursion of [MS07].",
        ),
    ]


def _printed_rotation(errors: Numbers) -> list[Check]:
    ratios = {fields: [a / b for a, b in pairwise(found)] for fields, found in errors.items()}
    claim = "With the printed linear rotation E the error falls fourfold when deflections are halved"
    reason = "E is not orthonormal, E E^T = 1 + O(theta^2): an error of second order is expected"
    limit = "ratios 3.5 to 4.5"
    return [
        required(
            "A-linear",
            f"{claim}: links that bend in one plane",
            "(6)",
            ours=ratios["1"],
            limit=limit,
            true=all(3.5 < r < 4.5 for r in ratios["1"]),
            reason=reason,
            text="The paper's E = 1 + theta~ is kept as an option. Against the exact rotation its error is "
            f"{', '.join(f'{e:.1e}' for e in errors['1'])} for deflections of one, a half and a quarter.",
        ),
        required(
            "A-combined",
            f"{claim}: links that bend in two planes",
            "(6), (63)",
            ours=ratios["2"],
            limit=limit,
            true=all(3.5 < r < 4.5 for r in ratios["2"]),
            reason=reason,
            text="Where rotations about several axes combine, the error falls only twofold: (63) takes thetadot for "
            "the angular velocity, which is (1 + theta~/2 + ...) thetadot, so the printed form is wrong to first "
            "order in the deflection. With the exact rotation, our default, nothing of this is left.",
        ),
    ]


def _as_printed(printed: Numbers) -> list[Check]:
    """Two misprints that matter in space, and not in the paper's own example."""
    space = {equation: change["spatial arm"] for equation, change in printed.items()}
    plane = {f"({equation})": change["planar example"] for equation, change in printed.items()}
    text = (
        "What the printed form changes in the generalized forces of the spatial arm, relative to the largest force "
        "of the Lagrangian. {} the paper's simulation, which is planar, is not touched."
    )
    reason = "round-off: the corrected form agrees with the Lagrangian to that"
    return [
        claimed(
            "B-44",
            "Deflections: the bracket of omega-dot ends with -omega~ B_9 omega",
            "(44)",
            published="-omega~ B_9 omega",
            ours={"change of the forces": space["44"]},
            true=space["44"] < 1e-8,
            tolerance=1e-8,
            reason=reason,
            text=text.format("The sign is a misprint, since (97) and (43) have a plus;"),
        ),
        claimed(
            "B-70",
            "Angular acceleration without omega_k x thetadot_k",
            "(70), Step 2",
            published="no such term",
            ours={"change of the forces": space["70"]},
            true=space["70"] < 1e-8,
            tolerance=1e-8,
            reason=reason,
            text=text.format("(65) has the term;"),
        ),
        required(
            "B-planar",
            "Neither misprint touches the paper's own, planar example",
            "(44), (70)",
            ours=plane,
            limit=1e-12,
            true=max(plane.values()) < 1e-12,
            reason="round-off",
            text="Change of the forces of the two-link arm at a random state of motion. All angular velocities are "
            "parallel, so both terms vanish.",
        ),
    ]


# ------------------------------------------------------------------------------------------------- the swing


def _swing(numbers: Numbers) -> list[Check]:
    swing = numbers["swing"]
    ends = swing["ends"]
    change = max(abs(b / a - 1) for a, b in zip(ends["1 mode"], ends["2 modes"]))
    return [
        below(
            "D-energy",
            "Energy of the free swing is conserved",
            "two-link example",
            ours=swing["drift"],
            limit=1e-8,
            reason="integration at rtol 1e-9; relative to the largest kinetic energy",
            text="No damping and no torque: whatever the energy changes by is the error of the integration.",
        ),
        required(
            "D-whole",
            "A second mode changes the end deflection by less than 10 %",
            "two-link example",
            ours={**ends, "change": change},
            limit=0.1,
            true=change < 0.1,
            reason="one mode would then be enough, as the paper takes it",
            text="Largest end deflections (mm) of both links. One clamped-free mode per link is too few for this "
            "arm, because a clamped-free shape has no moment at its end, where the next link pulls. The paper does "
            "not claim otherwise; it shows one mode only.",
        ),
        reported(
            "response",
            "The response of the flexible arm is highly undesirable",
            "computational simulation",
            ours={"largest end deflections (mm)": ends["1 mode"], "ranges of both angles (deg)": swing["angles"]},
            text="With our reading of gravity the vibration is a fraction of a millimetre on a metre: visible, fast "
            "and undamped, but small. The paper's curves cannot be read any more.",
        ),
    ]


def _independent(numbers: Numbers) -> list[Check]:
    found = numbers["independent"]
    checks = []
    for name, one in found.items():
        far = max(one["angles apart (rad)"], one["deflections apart"])
        checks.append(
            required(
                f"D-independent-{name[0]}",
                f"The swing is that of an independent Lagrangian: {name}",
                "two-link example",
                ours={
                    "angles apart (rad)": one["angles apart (rad)"],
                    "end deflections apart, over their peak": one["deflections apart"],
                    **one["ours"],
                },
                limit=1e-4,
                true=far < 1e-4 and one["drift"] < 1e-6,
                reason="both are integrated, at 1e-9 and 1e-8 relative; a vibration of 60 Hz gathers phase",
                text="Energies of two beams written out by hand in closed form, differentiated by machine and "
                "integrated by another library; it shares no code with our dynamics. Compared are both joint angles "
                "and both end deflections, at every millisecond.",
                reference=one["theirs"],
            )
        )
    return checks


# ---------------------------------------------------------------------------------------- modes against elements


def _against_elements(numbers: Numbers) -> list[Check]:
    compared, frequencies = numbers["compared"], numbers["frequencies (Hz)"]
    one = compared["1 mode"]
    angles = max(found["angles (rad)"] for found in one.values())
    misses = {name: _relative(frequencies[name][2:], frequencies["elements"][2:]) for name in compared}
    peaks = {name: {to: max(map(abs, found["peaks"])) for to, found in c.items()} for name, c in compared.items()}
    three = _relative(frequencies["3 modes"], frequencies["elements"])
    low = {name: frequencies[name][2:] for name in (*compared, "2 elements", "elements")}
    return [
        claimed(
            "elements-angles",
            "Joint angles and tip by one mode agree with finite elements",
            "Figs. 4-7",
            published="good concordance",
            ours={to: {key: found[key] for key in ("angles (rad)", "tip (mm)")} for to, found in one.items()},
            true=angles <= 1e-3,
            tolerance="1e-3 rad over 2 s",
            reason="angles are of order 0.1 rad: a percent, the width of a line",
            text="One clamped-free mode per link against two elements per link and against converged ones. The slow "
            "swing is that of two rigid links, nearly.",
        ),
        claimed(
            "elements-flexure",
            "Flexural displacements by one mode agree with finite elements",
            "Figs. 8-15",
            published="good concordance",
            ours={"peaks off": {to: found["peaks"] for to, found in one.items()}, "vibrations (Hz)": low},
            true=min(peaks["1 mode"].values()) <= 0.1 and misses["1 mode"] <= 0.1,
            tolerance="10 % of peaks over 0.5 s, against either, and of two frequencies",
            reason="the eye tells curves apart by some percent of their peak; a frequency that is 10 % off has lost "
            "its phase after five periods",
            text=_flexure(one, low),
        ),
        claimed(
            "more-modes",
            "More accurate results are obtained by using more mode shapes",
            "computational simulation",
            published="more accurate",
            ours={"frequencies off": misses, "largest peak off": peaks},
            true=misses["1 mode"] > misses["2 modes"] > misses["3 modes"] and peaks["3 modes"]["elements"] <= 0.1,
            tolerance="errors of frequencies fall; peaks 10 % off converged elements",
            reason="frequencies of a Ritz series converge from above",
            text="First two frequencies of vibration against converged elements: "
            f"{', '.join(f'{100 * miss:.1f} % off with {name}' for name, miss in misses.items())}. Two modes cure "
            "what one misses.",
        ),
        required(
            "frequencies",
            "The first four frequencies by three modes and by elements lie within 1 %",
            "two-link example",
            ours={"3 modes (Hz)": frequencies["3 modes"]},
            limit=0.01,
            true=three < 0.01,
            reason="two pendulum motions are exact; the lowest vibrations of a Ritz series converge from above",
            text="Frequencies of the hanging arm with free joints, without stiffening: 0.43 and 1.14 Hz are the "
            "double pendulum, then come the bending vibrations. All numbers stand in the table of frequencies.",
            reference={"elements (Hz)": frequencies["elements"]},
        ),
        _stiffening(frequencies),
    ]


def _relative(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Largest relative difference."""
    return float(max(abs(a / b - 1) for a, b in zip(ours, theirs)))


def _flexure(one: Numbers, low: Numbers) -> str:
    converged, two = one["elements"]["peaks"], one["2 elements"]["peaks"]
    return (
        f"With one mode the peak end deflections over 0.5 s are {-100 * converged[0]:.0f} % (first link) and "
        f"{-100 * converged[1]:.0f} % (second link) below those of converged elements, {-100 * two[0]:.0f} % and "
        f"{-100 * two[1]:.0f} % below those of two elements per link, and the vibrations are at {low['1 mode'][0]:.0f} "
        f"and {low['1 mode'][1]:.0f} Hz where elements have {low['elements'][0]:.0f} and {low['elements'][1]:.0f}. A "
        "clamped-free shape has no moment at its end, where the next link pulls. Gravity is our reading, and so "
        "are joints without torques; neither gravity nor torques given in time would change the frequencies by so much."
    )


def _stiffening(frequencies: Numbers) -> Check:
    plain, stiff = frequencies["3 modes"][2:], frequencies["3 modes stiffened"][2:]
    shift = [b / a - 1 for a, b in zip(plain, stiff)]
    left = [abs(a / b - 1) for a, b in zip(plain, frequencies["elements"][2:])]
    return required(
        "stiffening",
        "Gravity tension raises the 26 and 45 Hz vibrations; more modes do not replace it",
        "two-link example",
        ours={
            "without (Hz)": plain,
            "with stiffening (Hz)": stiff,
            "shift": shift,
            "three modes against elements, both without": left,
        },
        limit="shift > 0 and > what modes leave",
        true=all(s > max(0.0, r) for s, r in zip(shift, left)),
        reason="weight pulls on both hanging links",
        text="The hanging links carry weight, and tension stiffens a beam against bending. A model of first order in "
        "the deflections, as the paper's, has no such term. The shift is larger than what three modes leave against "
        "elements, and it stays however many modes or elements are taken: only the shortening of the bent beam "
        '(stiffening="third-order") brings it in.',
    )


# ------------------------------------------------------------------------------------------------- counts


def _counts(counts: Numbers) -> list[Check]:
    gaps, formulas = counts["gaps"], counts["formulas"]
    return [
        _quoted(
            "E-quoted",
            "The numbers quoted for n = 3, n_f = 2, m = 2 follow from the formulas",
            (3, 2, 2),
            2,
            formulas["(3, 2, 2)"],
            "All four do; '2134M' is a number of sums.",
        ),
        _quoted(
            "E-headed",
            "The numbers quoted for n = 6, n_f = 6, m = 3 follow from the formulas",
            (6, 6, 2),
            3,
            formulas["(6, 6, 3)"],
            f"They do not; they are those of m = 2, for which the formulas give {_text(formulas['(6, 6, 2)'])}.",
        ),
        claimed(
            "E-steps",
            "The products of the ten steps add up to those of Table 2",
            "Tables 1 and 2",
            published="sum of ten rows",
            ours={"largest gap, by the last term of Step 10": gaps},
            true=gaps["42 m^2 n_f^2"] == 0,
            tolerance=0,
            reason="identities of polynomials",
            text="Over 324 arms. They do with the last term of Step 10 as 42 m^2 n_f^2; as 42 m^2 m^2 or 42 m^2 n^2, "
            "which is what can be read, they do not.",
        ),
        *_cheaper(formulas, counts["range"]),
        *_tapes(counts["tapes"]),
    ]


def _quoted(id: str, claim: str, key: tuple[int, int, int], m: int, formula: Numbers, text: str) -> Check:
    """Sums and products of both methods as printed in a column of Table 2, against the formulas for its heading."""
    names = {"Book": "book", "Gibbs-Appell": "gibbs-appell"}
    quoted = {name: published.QUOTED[(method, *key)] for name, method in names.items()}
    printed = {name: [one.sums, one.products] for name, one in quoted.items()}
    return claimed(
        id,
        claim,
        f"Table 2, column m = {m}",
        published=printed,
        ours=dict(formula),
        true=printed == dict(formula),
        tolerance=0,
        reason="integers",
        text=text,
    )


def _text(formula: Numbers) -> str:
    return ", ".join(f"{name} {sums:.0f} sums and {prod:.0f} products" for name, (sums, prod) in formula.items())


def _cheaper(formulas: Numbers, over: Numbers) -> list[Check]:
    quoted = {size: formulas[size] for size in ("(3, 2, 2)", "(6, 6, 3)")}
    fewer = all(one["Gibbs-Appell"][k] < one["Book"][k] for one in quoted.values() for k in (0, 1))
    few, arms = formulas["(6, 2, 2)"], over["arms"]
    return [
        claimed(
            "cheaper-quoted",
            "Gibbs-Appell needs fewer operations than Book's method for the two typical cases",
            "Table 2",
            published="fewer",
            ours=quoted,
            true=fewer,
            tolerance="sums and products",
            reason="formulas of Table 2",
            text="By the printed formulas, with m = 3 as headed, for both columns.",
        ),
        claimed(
            "cheaper",
            "As a general comparison, Gibbs-Appell needs fewer operations than Book's method",
            "after Table 2, conclusion",
            published="fewer",
            ours={**over, "(6, 2, 2)": few},
            true=over["more products"] == 0 and over["more sums"] == 0,
            tolerance="no arm needs more",
            reason="2 to 10 links, 1 to all of them flexible, 1 to 6 modes each",
            text=f"By the paper's own formulas Gibbs-Appell needs more products in {over['more products']} of {arms} "
            f"arms, more sums in {over['more sums']}, more of both together in {over['more in total']}. It is ahead "
            "for every arm of two or three links; its term in n^2, which does not know which links are flexible, "
            "outweighs the rest where few of many links are: six links of which two are flexible, two modes each, "
            f"take {few['Gibbs-Appell'][1]:.0f} products against {few['Book'][1]:.0f}. Its term in m^2 n_f^2 does so "
            "where many links have many modes. A figure shows where the advantage ends.",
        ),
    ]


def _tapes(tapes: Numbers) -> list[Check]:
    forming, solving = (
        all(row[method][k] < row["published"][k] for row in tapes.values() for k in (0, 1))
        for method in ("gibbs-appell", "denoc")
    )
    return [
        required(
            "tape-forming",
            "Our Gibbs-Appell, counted from its tape, needs fewer operations than published",
            "Table 2",
            ours=dict(tapes),
            limit="products and sums",
            true=forming,
            reason="both form I(Theta) and Re; the tape knows the numbers and zeros of one arm, the formulas do not",
            text="Steps 1-10 traced for an arm of this size whose axes turn by 90 degrees from link to link. The "
            "tape is specialized to that arm, so this is no proof against the formulas of a general one.",
        ),
        required(
            "tape-solving",
            "The O(n) recursion solves the equations in fewer operations than are published for forming them",
            "Table 2",
            ours=dict(tapes),
            limit="products and sums",
            true=solving,
            reason="the tape does strictly more work: it also solves for the accelerations",
            text="The recursion of [MS07] carried to flexible links eliminates amplitudes link by link.",
        ),
    ]
