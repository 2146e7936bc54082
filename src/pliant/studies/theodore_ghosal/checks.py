"""Claims of [TG95] and requirements on sliding beams."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.dynamics.published.theodore_ghosal import TABLE_2
from pliant.results import Result
from pliant.studies.checks import NOT_REPRODUCED, Check, below, claimed, compared, reported, required, timed
from pliant.studies.theodore_ghosal.runs import DURATION, EI, RHO_A, Runs, reference

TABLE_1 = {
    "1 el.": (2.0963e2, 2.0654e3),
    "2 el.": (2.0873e2, 1.3186e3, 4.4597e3, 1.2944e4),
    "3 el.": (2.0864e2, 1.3118e3, 3.7067e3, 8.3473e3, 1.5709e4, 3.1318e4),
    "exact": (2.0864e2, 1.3075e3, 3.6611e3, 7.1742e3, 1.1860e4, 1.7716e4),
}
"""As printed; the caption says Hz."""
BETAS = (
    (1.293678, 4.048742), (1.365465, 4.081439), (1.419820, 4.111048), (1.462847, 4.137980),
    (1.497964, 4.162575), (1.527278, 4.185122), (1.552179, 4.205862), (1.573631, 4.225002),
)  # fmt: skip
"""Own independent roots for l3 = 0.3, 0.4, ..., 1.0 m, payload as a point mass."""


def judge(runs: Runs) -> list[Check]:
    """Every check of the study."""
    return [*_frequencies(runs), *_sliding(runs), *_motion(runs), *_loop(runs), *_stiffness(runs), *_counts(runs)]


def _frequencies(runs: Runs) -> list[Check]:
    ours = np.concatenate([runs.table_1[name] for name in TABLE_1])
    printed = np.concatenate([TABLE_1[name] for name in TABLE_1])
    worst = max(float(np.abs(found / exact - 1).max()) for found, exact in runs.loaded.values())
    return [
        compared("A", "Table 1: frequencies of link 2 by one, two, three elements, and exact", "Table 1",
                 printed, np.round(ours, 3), 1.5e-4, "five printed digits, some truncated instead of rounded",
                 f"All 18 numbers agree if read in rad/s; the caption says Hz. EI = {EI} N m^2 and {RHO_A} kg/m give "
                 "208.64 rad/s, which is 33.2 Hz."),
        below("C", "Elements converge to the roots of the frequency equation with a tip load", "(11)", worst, 1e-4,
              "eight cubic elements: relative error of order (beta/8)^4/720",
              "Two lowest frequencies of a beam that carries a mass, a mass with inertia, and a mass with inertia "
              "whose centre lies beyond the tip (first moment D > 0)."),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ sliding beam


def _sliding(runs: Runs) -> list[Check]:
    b = runs.betas
    table = float(np.abs(b["roots"] - np.array(BETAS)).max())
    apart = float(np.abs(b["followed"] - b["roots"]).max())
    printed = float(np.abs(b["printed"] - b["roots"]).max())
    free = runs.run("free")
    drift = float(np.abs(free.energy_balance).max() / free.energy.kinetic[0])
    return [
        below("B-roots", "Roots of the frequency equation of link 3 over its length", "(11), section 4.2", table, 1e-6,
              "six decimals of the reference", "Against independently computed roots for eight lengths."),
        required("B-rate", "Integrating the frequency equation gives the same roots as solving it", "(45)-(47)", apart,
                 1e-6, apart <= 1e-6, "Runge-Kutta with 40 steps per 0.1 m",
                 "The paper proposes to carry beta as a state and to integrate (45) beside the equations of motion. "
                 "With (47) corrected it works as claimed."),
        required("B-printed", "(47) as printed does not", "(47)", printed, "> 1e-3", printed > 1e-3,
                 "m_p^2/(rho A l) has no consistent dimension", "The printed 1 + m_p^2/(rho A l) must read "
                 f"1 + m_p/(rho A l); as printed, beta is off by {printed:.3f} after 0.7 m."),
        below("D", "Energy of the free arm is conserved while its link slides out", "(19), (21), (26)", drift, 1e-6,
              "integration at rtol 1e-9", "No torque, all joints moving, the link slides by 0.3 m. Terms that the "
              "printed (26) lacks (dV/dl in the row of the sliding joint, convective terms) are in ours."),
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- controlled motion


def tip_error(run: Result) -> Any:
    """(N, 3) end-effector position less that of the undeformed arm on the desired path, mm."""
    desired = np.zeros_like(run.q)
    desired[:, :3] = reference()(run.t)[0]
    return 1e3 * (run.tip - run.model.tip_pose(desired)[:, :3, 3])


def joint_error(run: Result) -> Any:
    """(N, 3) joint positions less the desired ones."""
    return run.q[:, :3] - reference()(run.t)[0]


def _motion(runs: Runs) -> list[Check]:
    modes, elements = runs.run("modes"), runs.run("elements")
    tracking = modes.t <= DURATION
    joints = max(float(np.abs(joint_error(r)[tracking]).max()) for r in (modes, elements))
    error = {name: tip_error(runs.run(name)) for name in ("modes", "elements")}
    size = {name: np.linalg.norm(e, axis=1) for name, e in error.items()}
    peaks = {name: float(e[tracking].max()) for name, e in size.items()}
    last = {name: float(e[-1]) for name, e in size.items()}
    settled = {name: float(modes.t[np.flatnonzero(e > 0.1)[-1]]) for name, e in size.items()}
    apart = float(np.abs(error["modes"] - error["elements"])[tracking].max() / peaks["modes"])
    evaluations = {name: runs.run(name).stats.evaluations for name in ("modes", "elements")}
    return [
        required("E-joints", "Joint errors are close to zero while tracking", "Fig. 5", joints, 1e-6, joints <= 1e-6,
                 "decoupling is exact: what remains is the integration", "Both models start on the path and the law "
                 "(31) cancels everything but the double integrators.", "close to zero"),
        compared("E-tracking", "End-effector errors are of the order of 8 mm between 0 and 0.5 s", "Fig. 6, section 5",
                 8.0, peaks["modes"], 0.25, "'of the order of': a quarter for a value read off a curve",
                 f"Largest distance from the desired point: {peaks['modes']:.1f} mm with modes, "
                 f"{peaks['elements']:.1f} mm with elements; single axes {_axes(error['modes'], tracking)} mm. The "
                 "paper states neither profile, gains nor DH table; with alpha2 = -90 deg the error would be twice "
                 "that, with links 2 and 3 in line five times.", rough=True),
        claimed("E-settled", "The regulator brings the error within 0.1 mm between 0.5 and 1 s", "Fig. 6, section 5",
                "0.1 mm", {"at 1 s (mm)": last, "last above 0.1 mm at (s)": settled}, max(last.values()) < 0.1,
                "0.1 mm", "the paper's own number", "Distance from the goal at the end, and when it was last above "
                "0.1 mm. The elements need longer, since their model has more to damp with the same weights."),
        claimed("E-similar", "Modes and elements give similar responses", "Figs. 6-8", "similar", apart, apart <= 0.1,
                "10 % of the peak", "what a reader of the curves would call similar",
                "Largest difference between the end-effector errors of both models while tracking, over the "
                "peak: two elements and two modes a direction."),
        timed("cpu", "The run with finite elements takes longer", "section 5", 2036.89 / 1533.34,
              {"evaluations": evaluations}, runs.times["elements"].over(runs.times["modes"]),
              "times depend on machine and program: only the sign is comparable",
              "Elements over modes; the paper has 1.33. Elements carry more coordinates and higher frequencies, which "
              "shorten the steps."),
    ]  # fmt: skip


def _axes(error: Any, rows: Any) -> str:
    return ", ".join(f"{x:.1f}" for x in np.abs(error[rows]).max(axis=0))


def _loop(runs: Runs) -> list[Check]:
    modes, elements = runs.eigenvalues["modes"][:, 1:], runs.eigenvalues["elements"][:, 1:]
    exact = runs.settings["exact eigenvalues"]
    alone = runs.alone["elements"] / runs.alone["modes"]
    ratio = elements[:, :4] / modes[:, :4]
    boom = modes[:, :2]
    steady = float((boom.max(axis=0) / boom.min(axis=0) - 1).max())
    varied = float((modes[:, 4:].max(axis=0) / modes[:, 4:].min(axis=0)).max())
    how = "from the Jacobian of the closed loop" if exact else "with velocity terms left out (quick run)"
    return [
        claimed("eig-higher", "Frequencies by finite elements are always higher than by modes", "Figs. 9, 10",
                "higher", {"each link alone, elements over modes": [alone.min(), alone.max()],
                           "loop, four lowest": [ratio.min(), ratio.max()]},
                bool(alone.min() >= 1 - 1e-6 and ratio.min() >= 1.0),
                "ratios >= 1", "two elements over-estimate the frequencies of a beam; 1e-6 for round-off",
                "Each link alone, clamped, with its boundary load: elements are never lower than the modes, which are "
                f"exact there. The four lowest vibrations of the loop ({how}): {_higher(ratio)}"),
        claimed("eig-constant", "Frequencies of link 2 do not vary, those of link 3 do", "Figs. 9, 10",
                "time-invariant, time-varying", {"lowest pair varies by": steady, "upper four by a factor": varied},
                steady < 0.05, "5 %", "what looks like a level line in a figure",
                "The lowest pair of vibrations is mainly link 2. It falls as link 3 moves its mass outwards and "
                f"the arm folds: by {100 * steady:.0f} %. Vibrations of link 3 change by a factor of {varied:.0f}. "
                "The vibrations of an arm belong to all its links; 'of link 2' is a simplification."),
    ]  # fmt: skip


def _higher(ratio: Any) -> str:
    if ratio.min() >= 1.0:
        return "never lower either."
    return (
        "not always higher: two clamped-mass modes of link 2 were shaped for a point mass at its tip, and two "
        "elements, with twice the coordinates, represent some vibrations of the arm better, hence lower."
    )


# ------------------------------------------------------------------------------------------ over-estimated stiffness


def _stiffness(runs: Runs) -> list[Check]:
    arm, link, damped = runs.arm, runs.link, runs.damped
    assert arm is not None
    assert link is not None
    assert damped is not None
    zeros = []
    for loop in (arm, link):
        values = np.linalg.eigvals(loop.effective_stiffness(loop.bound))
        zeros.append(float(np.abs(values).min() / np.abs(values).max()))
    growth = {f"alpha {a:+g}": [arm.growth(a), link.growth(a)] for a in (-0.01, 0.0, 0.01)}
    sign = all(growth["alpha +0.01"][k] > 0 > growth["alpha -0.01"][k] for k in (0, 1))
    still = max(abs(x) for x in growth["alpha +0"])
    rise = {name: _growth(runs.run(f"stiffness {name}")) for name in ("1.1", "0.9")}
    return [
        required("F-lemma", "K - H dK becomes singular at alpha = 1/lambda_max(H)", "Lemma, section 4.3",
                 {"bounds (arm, link)": [arm.bound, link.bound], "smallest eigenvalue there": zeros}, 1e-8,
                 max(zeros) <= 1e-8, "round-off, relative to the largest eigenvalue", "The matrix algebra of the "
                 "Lemma is right; alpha is a fraction, not a percentage."),
        required("F-loop", "The linear loop grows for alpha > 0, decays for alpha < 0, is neutral at 0", "(49), (50)",
                 growth, "> 0, < 0, |.| < 1e-10 w", sign and still < 1e-6, "no structural damping; round-off of "
                 "eigenvalues up to 1e4 rad/s",
                 "Largest real part of the eigenvalues (1/s) for the RRP arm at the goal and for link 2 alone on a hub "
                 "of 0.05 kg m^2."),
        claimed("F-destabilises", "Over-estimating the stiffness may destabilise the closed loop", "section 4.3",
                "unstable for alpha lambda_max(H) >= 1", {"amplitude after 1 s over start": rise},
                rise["1.1"] > 2 and rise["0.9"] < 0.5, "factor 2 either way", "growth or decay beyond doubt",
                "Simulated: link 2 alone, released 1 mm off, with a controller that believes 1.1 or 0.9 times its "
                "stiffness. The title claim is right."),
        Check("F-bound", "The loop is stable if alpha lambda_max(H) < 1", "Lemma", {"arm": arm.bound,
              "link": link.bound}, {"true thresholds, undamped (arm, link)": [arm.threshold, link.threshold],
              "link with damping 1e-5 K": damped.threshold}, "same threshold", "the Lemma states an if",
              NOT_REPRODUCED if link.threshold < 0.5 * link.bound else "reproduced",
              "The Lemma looks at the stiffness of (50) alone. (49) and (50) are coupled: the joints move with the "
              "deflection and the loop starts to oscillate with growing amplitude at any alpha > 0 where the links "
              "have no damping, and with stiffness-proportional damping of 1e-5 s at "
              f"{damped.threshold:.4f}, far below {damped.bound:.2f}. The bound is necessary, not sufficient."),
    ]  # fmt: skip


def _growth(run: Result) -> float:
    """Largest amplitude in the last tenth over that in the first tenth."""
    values = np.abs(run.q[:, 1])
    tenth = len(values) // 10
    return float(values[-tenth:].max() / values[:tenth].max())


# ------------------------------------------------------------------------------------------------------- counts


def _counts(runs: Runs) -> list[Check]:
    ours = {name: {kind: [c.products, c.sums] for kind, c in pair.items()} for name, pair in runs.counts.items()}
    printed = {name: {kind: [TABLE_2[name][kind].products, TABLE_2[name][kind].sums] for kind in ours[name]}
               for name in ours}  # fmt: skip
    fewer = {name: pair["elements"][0] < pair["modes"][0] for name, pair in ours.items()}
    return [
        claimed("table-2", "The inertia matrix needs fewer operations with finite elements than with modes", "Table 2",
                printed, ours, all(fewer.values()), "fewer products for every arm",
                "the counts themselves depend on MACSYMA's simplifier and cannot be compared",
                "Products and sums of M(q), closed-form Lagrange, from the tape. The paper's reason, that the tip of "
                "an element model is given by its last node alone, holds for the tip; but M also has integrals over "
                f"the link, and elements have twice the coordinates. Fewer for: "
                f"{', '.join(n for n, yes in fewer.items() if yes) or 'none'}; more for: "
                f"{', '.join(n for n, yes in fewer.items() if not yes) or 'none'}."),
        reported("lag", "The finite-element response lags because its frequencies are over-estimated", "section 5",
                 None, "Not tested: a higher frequency leads, it does not lag; the sentence contradicts itself."),
    ]  # fmt: skip
