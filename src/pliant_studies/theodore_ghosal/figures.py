"""Figures 4-10 of [TG95], the branches of the loop, the frequency equation, a wrong stiffness, the elbow; tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.drawing.style import Look, time_axis, zero_line
from pliant.mechanics.formulations.published.theodore_ghosal import TABLE_2
from pliant_studies.drawing import FIRST, MANY, SECOND, THIRD, grid, legend, shared_legend
from pliant_studies.study import Figure, Table
from pliant_studies.theodore_ghosal.checks import TABLE_1
from pliant_studies.theodore_ghosal.measures import DEFLECTIONS, joint_error, tip_error
from pliant_studies.theodore_ghosal.runs import Runs, reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Page

MODELS = (("modes", "assumed modes", FIRST), ("elements", "finite elements", SECOND))
COLORS = {"link 2": "#0072B2", "link 3": "#B04A00"}
GREY: Look = {"color": "0.75", "linewidth": 0.8, "zorder": 0}


def illustrate(runs: Runs) -> list[Figure]:
    """Figures of the paper, and some of ours."""
    caption = "Fig. {} of the paper: {}. Decoupling until 0.5 s, regulator afterwards."
    tip = "deflection and rotation at the tip of link {}, in the plane of both links and square to it"
    left_out = "" if runs.settings["velocity terms in eigenvalues"] else " with velocity terms left out"
    figures = [
        Figure("fig04", caption.format(4, "desired and actual joint positions"), partial(_joints, runs), 4.4),
        Figure("fig05", caption.format(5, "joint position errors"), partial(_joint_errors, runs), 4.4),
        Figure("fig06", caption.format(6, "end-effector position errors"), partial(_tip_errors, runs), 4.4),
        Figure("fig07", caption.format(7, tip.format(2)), partial(_link, runs, "link 2"), 4.2),
        Figure("fig08", caption.format(8, tip.format(3)), partial(_link, runs, "link 3"), 4.2),
        Figure("fig09", _EIGEN.format(9, 1, left_out), partial(_sorted, runs, 0), 3.4),
        Figure("fig10", _EIGEN.format(10, 2, left_out), partial(_sorted, runs, 1), 3.4),
        Figure("eigenvalues", "The lowest vibrations of the closed loop along the motion by assumed modes, each "
               "followed from time to time by its shape; the color tells which link has the larger share. Where two "
               "come near each other they exchange their shapes instead of crossing.", partial(_branches, runs), 3.6),
        Figure("frequency-equation", "Roots of the frequency equation of link 3 as it slides out: found afresh, and "
               "integrated by the differential form (45).", partial(_beta, runs), 2.8),
        Figure("over-estimation", "A controller that over-estimates the stiffness of link 2 alone on its hub: growth "
               "of the coupled loop against the bound of the Lemma, and two runs.", partial(_stiffness, runs), 3.1),
        Figure("elbow", "Tip of link 1 of a planar arm that folds at its elbow within 0.7 s and rings afterwards: two "
               "modes per link whose shapes know the mass beyond alone, the whole load of the straight arm, or the "
               "load of the moment; below, the largest difference from the elements so far.",
               partial(_elbow, runs), 4.2),
    ]  # fmt: skip
    return figures if runs.elbows else figures[:-1]


_EIGEN = (
    "Fig. {} of the paper: imaginary eigenvalues of mode {} of links 2 and 3 along the motion, from the Jacobian of "
    "the closed loop{}; a vibration belongs to the link and plane with the largest share of its kinetic energy. Grey: "
    "all vibrations by assumed modes, in plane and out of plane, followed by their shapes. A step between grey lines "
    "is where two of them change places."
)


def _joints(runs: Runs, page: Page) -> None:
    run = runs.run("modes")
    desired = reference()(run.t)[0]
    rows = grid(page, 3, 1)[:, 0]
    for k, (axes, text, scale) in enumerate(zip(rows, ("$q_1$ (deg)", "$q_2$ (deg)", "$l_3$ (m)"), _SCALES)):
        axes.plot(run.t, scale * desired[:, k], label="desired", **FIRST)
        axes.plot(run.t, scale * run.q[:, k], label="actual (modes)", **SECOND)
        other = runs.run("elements")
        axes.plot(other.t, scale * other.q[:, k], label="actual (elements)", **THIRD)
        axes.set_ylabel(text)
    legend(rows[0], 3)


_SCALES = (180 / np.pi, 180 / np.pi, 1.0)


def _joint_errors(runs: Runs, page: Page) -> None:
    rows = grid(page, 3, 1)[:, 0]
    for k, (axes, text) in enumerate(zip(rows, ("$e_1$ (deg)", "$e_2$ (deg)", "$e_3$ (mm)"))):
        for name, label, style in MODELS:
            run = runs.run(name)
            axes.plot(run.t, (1e3 if k == 2 else 180 / np.pi) * joint_error(run)[:, k], label=label, **style)
        zero_line(axes)
        axes.set_ylabel(text)
    legend(rows[0], 2)


def _tip_errors(runs: Runs, page: Page) -> None:
    rows = grid(page, 3, 1, sharey=True)[:, 0]
    for k, (axes, text) in enumerate(zip(rows, "xyz")):
        for name, label, style in MODELS:
            axes.plot(runs.run(name).t, tip_error(runs.run(name))[:, k], label=label, **style)
        zero_line(axes)
        axes.set_ylabel(f"error in {text} (mm)")
    legend(rows[0], 2)


def _link(runs: Runs, link: str, page: Page) -> None:
    made = grid(page, 2, 2)
    for row, plane in enumerate(("in plane", "out of plane")):
        body, axis = DEFLECTIONS[f"{link}, {plane}"]
        for name, label, style in MODELS:
            run = runs.run(name)
            slope = run.rotation(body)[:, 3 - axis] * (1 if axis == 1 else -1)
            made[row, 0].plot(run.t, 1e3 * run.deflection(body)[:, axis], label=label, **style)
            made[row, 1].plot(run.t, np.degrees(slope), label=label, **style)
        made[row, 0].set_ylabel(f"deflection {plane} (mm)")
        made[row, 1].set_ylabel(f"slope {plane} (deg)")
        for axes in made[row]:
            zero_line(axes)
    shared_legend(page, made[0, 0])


# --------------------------------------------------------------------------------------------- vibrations of the loop


def _sorted(runs: Runs, mode: int, page: Page) -> None:
    made = page.subplots(1, 2, sharey=True)
    for axes, plane in zip(made, ("in plane", "out of plane")):
        modes = runs.loops["modes"]
        axes.plot(modes.t, modes.branches, **GREY)
        for name, label, marker, size in (
            ("modes", "assumed modes", "o", 4.5),
            ("elements", "finite elements", "+", 6),
        ):
            loop = runs.loops[name]
            some = slice(None, None, max(1, len(loop.t) // 20))
            for link, color in COLORS.items():
                axes.plot(loop.t[some], loop.sorted[link, plane][some, mode], linestyle="none", marker=marker,
                          color=color if name == "modes" else "black", markerfacecolor="none", markersize=size,
                          label=f"{link}, {label}" if name == "modes" else label if link == "link 2" else None,
                          )  # fmt: skip
        axes.set_yscale("log")
        axes.set_title(plane, fontsize=9)
        time_axis(axes)
    drawn = [values[:, mode] for values in runs.loops["modes"].sorted.values()]
    made[0].set(ylim=(0.75 * np.min(drawn), 1.35 * np.max(drawn)), ylabel="imaginary part (rad/s)")
    shared_legend(page, made[0])


def _branches(runs: Runs, page: Page) -> None:
    from matplotlib.lines import Line2D

    axes = page.subplots()
    loop = runs.loops["modes"]
    axes.plot(loop.t, loop.branches, **GREY)
    for (link, _), values in loop.sorted.items():
        axes.plot(loop.t, values, linestyle="none", marker="o", markersize=2.6, color=COLORS[link])
    axes.set(yscale="log", ylim=(0.8 * loop.branches.min(), 1.25 * loop.branches.max()))
    axes.set_ylabel("imaginary part (rad/s)")
    time_axis(axes)
    dots = [Line2D([], [], linestyle="none", marker="o", markersize=4, color=c) for c in COLORS.values()]
    page.legend(dots, list(COLORS), loc="outside upper left", ncols=2, frameon=False)


def _beta(runs: Runs, page: Page) -> None:
    made = page.subplots(1, 2, sharex=True)
    b = runs.roots
    for k, axes in enumerate(made):
        axes.plot(b["length"], b["followed"][:, k], label="integrated, (47) corrected", **FIRST)
        axes.plot(b["length"], b["roots"][:, k], "o", color="black", markersize=4, label="roots", clip_on=False)
        axes.plot(b["length"], b["printed"][:, k], label="integrated, (47) as printed", **THIRD)
        axes.set(xlabel="free length $l_3$ (m)", ylabel=f"$\\beta_{k + 1}$")
    shared_legend(page, made[0])


def _stiffness(runs: Runs, page: Page) -> None:
    left, right = page.subplots(1, 2)
    link, damped = runs.overestimated["link"], runs.overestimated["damped link"]
    alphas = np.linspace(-0.1, 0.6, 141)
    left.plot(alphas, [link.growth(a) for a in alphas], label="undamped", **FIRST)
    left.plot(alphas, [damped.growth(a) for a in alphas], label="damping 1e-5 K", **SECOND)
    left.axvline(link.bound, color="#B04A00", linestyle=(0, (1, 1.3)), linewidth=1.3, label="bound of the Lemma")
    zero_line(left)
    left.set(xlabel="over-estimation $\\alpha$", ylabel="largest real part (1/s)")
    for name, label, style in (("1.1", "believes 1.1 K", MANY[1]), ("0.9", "believes 0.9 K", MANY[2])):
        run = runs.run(f"stiffness {name}")
        values = 1e3 * np.abs(run.q[:, 1])
        envelope = np.maximum.accumulate(values[::-1])[::-1] if name == "0.9" else np.maximum.accumulate(values)
        right.semilogy(run.t[:-20], envelope[:-20], label=label, **style)
    right.set(ylabel="envelope of the amplitude (mm)", xlim=(0.0, 1.0))
    time_axis(right)
    handles, labels = (a + b for a, b in zip(left.get_legend_handles_labels(), right.get_legend_handles_labels()))
    page.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False)


def _elbow(runs: Runs, page: Page) -> None:
    upper, lower = grid(page, 2, 1)[:, 0]
    true = runs.elbows["elements"]
    deflection = 1e3 * true.deflection("link1")[:, 1]
    upper.plot(true.t, deflection, label="four elements per link", **MANY[0])
    zero_line(upper)
    upper.set_ylabel("deflection (mm)")
    for (name, run), style in zip([(n, r) for n, r in runs.elbows.items() if n != "elements"], MANY[1:]):
        upper.plot(run.t, 1e3 * run.deflection("link1")[:, 1], label=f"modes, {name}", **style)
        error = np.maximum.accumulate(np.abs(1e3 * run.deflection("link1")[:, 1] - deflection))
        lower.semilogy(run.t[5:], error[5:], **style)
    lower.set_ylabel("largest difference (mm)")
    shared_legend(page, upper)


# ------------------------------------------------------------------------------------------------------- tables


def tabulate(runs: Runs) -> list[Table]:
    """Tables 1 and 2 of the paper, and tables of roots, integrated roots, boundary loads and thresholds."""
    return [
        _table_1(runs), _table_2(runs), _roots(runs), _integrated(runs), *_loads(runs), _thresholds(runs),
    ]  # fmt: skip


def _table_1(runs: Runs) -> Table:
    rows: list[list[object]] = []
    for k in range(6):
        row: list[object] = [k + 1]
        for name, printed in TABLE_1.items():
            row += [printed[k], runs.numbers["table 1"][name][k]] if k < len(printed) else [None, None]
        rows.append(row)
    head = ["mode", *(f"{name}, {what}" for name in TABLE_1 for what in ("printed", "ours"))]
    return Table("Table 1 of the paper: frequencies of link 2 (rad/s)", head, rows, "The caption of the paper says Hz.")


def _table_2(runs: Runs) -> Table:
    rows = []
    for name, pair in runs.numbers["counts"].items():
        for kind, count in pair.items():
            printed = TABLE_2[name][kind]
            rows.append([name, kind, printed.products, printed.sums, *count.get("written out", (None, None)),
                         *count["common terms once"]])  # fmt: skip
    head = ("arm", "shapes", "printed products", "printed sums", "products, written out", "sums, written out",
            "products, common terms once", "sums, common terms once")  # fmt: skip
    return Table("Table 2 of the paper: operations of the inertia matrix", head, rows, "Ours by closed-form Lagrange.")


def _roots(runs: Runs) -> Table:
    b = runs.roots
    columns = ("length", "roots", "boundary", "followed", "printed")
    rows = [[*row] for row in np.column_stack([b[name] for name in columns])]
    head = (
        "l3 (m)",
        *(f"{text} {k}" for text in ("(11)", "determinant", "integrated", "(47) as printed") for k in (1, 2)),
    )
    return Table("Roots of the frequency equation of link 3", head, rows, "All ours; the determinant is that of the "
                 "four boundary conditions.")  # fmt: skip


def _integrated(runs: Runs) -> Table:
    rows = [
        [rtol, row["steps"], row["beta off"], *(row["tip off (m)"][kind] for kind in ("solved", "integrated"))]
        for rtol, row in runs.numbers["integrated roots"]["by tolerance"].items()
    ]
    head = ("rtol", "steps", "beta off", "tip off, solved (m)", "tip off, integrated (m)")
    return Table("Roots solved for, and integrated beside the motion", head, rows, "RRP arm under a joint controller, "
                 "against a run at rtol 1e-11 that solves for the roots.")  # fmt: skip


def _loads(runs: Runs) -> list[Table]:
    if "boundary load" not in runs.numbers:
        return []
    rows = [[name, *(100 * x for x in errors)] for name, errors in runs.numbers["boundary load"].items()]
    note = "Against fine elements, joints held; the load is what shapes the modes of link 2."
    head = ("shapes", "1", "2", "3", "4")
    return [Table("Errors (%) of the four lowest frequencies of the RRP arm along the motion", head, rows, note)]


def _thresholds(runs: Runs) -> Table:
    texts = {
        "arm": "RRP arm at the goal",
        "link": "link 2 alone, hub 0.05 kg m^2",
        "damped link": "the same, damping 1e-5 K",
    }
    rows = [
        [texts[name], loop.bound, loop.threshold, loop.growth(0.001), loop.growth(0.01), loop.growth(0.1)]
        for name, loop in runs.overestimated.items()
    ]
    return Table("Over-estimated stiffness: both thresholds", ("loop", "1/lambda_max(H)", "true threshold",
                 "growth at 0.001 (1/s)", "at 0.01", "at 0.1"), rows)  # fmt: skip
