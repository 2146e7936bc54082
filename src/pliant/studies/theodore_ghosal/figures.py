"""Figures 4-10 of [TG95], the frequency equation, the over-estimated stiffness, and the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.dynamics.published.theodore_ghosal import TABLE_2
from pliant.studies.drawing import FIRST, SECOND, THIRD, grid, legend, shared_legend
from pliant.studies.study import Figure, Table
from pliant.studies.theodore_ghosal.checks import TABLE_1, joint_error, tip_error
from pliant.studies.theodore_ghosal.runs import Runs, reference
from pliant.view.style import zero_line

MODELS = (("modes", "assumed modes", FIRST), ("elements", "finite elements", SECOND))


def illustrate(runs: Runs) -> list[Figure]:
    """One for each figure of the paper, and two of ours."""
    caption = "Fig. {} of the paper: {}. Decoupling until 0.5 s, regulator afterwards."
    return [
        Figure("fig04", caption.format(4, "desired and actual joint positions"), _joints(runs), 4.4),
        Figure("fig05", caption.format(5, "joint position errors"), _joint_errors(runs), 4.4),
        Figure("fig06", caption.format(6, "end-effector position errors"), _tip_errors(runs), 4.4),
        Figure("fig07", caption.format(7, "deflection and rotation at the tip of link 2"), _link(runs, "boom", 2), 4.2),
        Figure(
            "fig08", caption.format(8, "deflection and rotation at the tip of link 3"), _link(runs, "slide", 3), 4.2
        ),
        Figure("fig09", _EIGEN.format(9, "1"), _alone(runs, 0), 3.0),
        Figure("fig10", _EIGEN.format(10, "2"), _alone(runs, 2), 3.0),
        Figure(
            "eigenvalues",
            "The vibrations of the whole closed loop along the motion (eight lowest of each model): "
            "they belong to both links at once.",
            _eigenvalues(runs, slice(1, 9)),
            3.4,
        ),
        _beta(runs),
        _stiffness(runs),
    ]


_EIGEN = (
    "Fig. {} of the paper: imaginary eigenvalues of mode {} of links 2 and 3 along the motion, each link alone with "
    "its boundary load. Under decoupled joints these are what the loop leaves of each link."
)


def _joints(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
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

    return draw


_SCALES = (180 / np.pi, 180 / np.pi, 1.0)


def _joint_errors(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        rows = grid(page, 3, 1)[:, 0]
        for k, (axes, text) in enumerate(zip(rows, ("$e_1$ (deg)", "$e_2$ (deg)", "$e_3$ (mm)"))):
            for name, label, style in MODELS:
                run = runs.run(name)
                axes.plot(run.t, (1e3 if k == 2 else 180 / np.pi) * joint_error(run)[:, k], label=label, **style)
            axes.set_ylabel(text)
        legend(rows[0], 2)

    return draw


def _tip_errors(runs: Runs) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        rows = grid(page, 3, 1, sharey=True)[:, 0]
        for k, (axes, text) in enumerate(zip(rows, "xyz")):
            for name, label, style in MODELS:
                axes.plot(runs.run(name).t, tip_error(runs.run(name))[:, k], label=label, **style)
            zero_line(axes)
            axes.set_ylabel(f"error in {text} (mm)")
        legend(rows[0], 2)

    return draw


def _link(runs: Runs, link: str, number: int) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        made = grid(page, 2, 2)
        for row, (plane, axis) in enumerate((("in plane", 1), ("out of plane", 2))):
            for name, label, style in MODELS:
                run = runs.run(name)
                slope = run.rotation(link)[:, 3 - axis] * (1 if axis == 1 else -1)
                made[row, 0].plot(run.t, 1e3 * run.deflection(link)[:, axis], label=label, **style)
                made[row, 1].plot(run.t, np.degrees(slope), label=label, **style)
            made[row, 0].set_ylabel(f"deflection {plane} (mm)")
            made[row, 1].set_ylabel(f"slope {plane} (deg)")
        shared_legend(page, made[0, 0])

    return draw


def _alone(runs: Runs, column: int) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        axes = page.subplots()
        times = runs.eigenvalues["modes"][:, 0]
        for name, marker, colour, size in (("modes", "o", "#0072B2", 5.5), ("elements", "+", "black", 6.0)):
            for link in (0, 1):
                label = "assumed modes" if name == "modes" else "finite elements"
                axes.plot(times, runs.alone[name][:, link, column], linestyle="none", marker=marker, color=colour,
                          markersize=size, markerfacecolor="none", clip_on=False,
                          label=label if link == 0 else None)  # fmt: skip
        for link, text in ((0, "link 2"), (1, "link 3")):
            axes.annotate(text, (times[-1], runs.alone["modes"][-1, link, column]), xytext=(8, 0),
                          textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlabel("time (s)")
        axes.set_ylabel("imaginary part (rad/s)")
        legend(axes, 2)

    return draw


def _eigenvalues(runs: Runs, columns: slice) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        axes = page.subplots()
        for name, marker, colour, size in (("modes", "o", "#0072B2", 5.5), ("elements", "+", "black", 6.0)):
            table = runs.eigenvalues[name]
            lines = axes.plot(table[:, 0], table[:, columns], linestyle="none", marker=marker, color=colour,
                              markersize=size, markerfacecolor="none", clip_on=False)  # fmt: skip
            lines[0].set_label("assumed modes" if name == "modes" else "finite elements")
        axes.set_yscale("log")
        axes.set_xlabel("time (s)")
        axes.set_ylabel("imaginary part (rad/s)")
        legend(axes, 2)

    return draw


def _beta(runs: Runs) -> Figure:
    def draw(page: Any) -> None:
        made = page.subplots(1, 2, sharex=True)
        b = runs.betas
        for k, axes in enumerate(made):
            axes.plot(b["length"], b["followed"][:, k], label="integrated, (47) corrected", **FIRST)
            axes.plot(b["length"], b["roots"][:, k], "o", color="black", markersize=4, label="roots", clip_on=False)
            axes.plot(b["length"], b["printed"][:, k], label="integrated, (47) as printed", **THIRD)
            axes.set_xlabel("free length $l_3$ (m)")
            axes.set_ylabel(f"$\\beta_{k + 1}$")
        shared_legend(page, made[0])

    return Figure("frequency-equation", "Roots of the frequency equation of link 3 as it slides out: found afresh, and "
                  "integrated by the differential form (45).", draw, 2.8)  # fmt: skip


def _stiffness(runs: Runs) -> Figure:
    def draw(page: Any) -> None:
        left, right = page.subplots(1, 2)
        assert runs.link is not None
        assert runs.damped is not None
        alphas = np.linspace(-0.1, 0.6, 141)
        left.plot(alphas, [runs.link.growth(a) for a in alphas], label="undamped", **FIRST)
        left.plot(alphas, [runs.damped.growth(a) for a in alphas], label="damping 1e-5 K", **SECOND)
        left.axvline(
            runs.link.bound, color="#B04A00", linestyle=(0, (1, 1.3)), linewidth=1.3, label="bound of the Lemma"
        )
        zero_line(left)
        left.set_xlabel("over-estimation $\\alpha$")
        left.set_ylabel("largest real part (1/s)")
        left.legend(loc="upper left")
        for name, label, style in (("1.1", "believes 1.1 K", SECOND), ("0.9", "believes 0.9 K", FIRST)):
            run = runs.run(f"stiffness {name}")
            values = np.abs(run.q[:, 1])
            right.semilogy(run.t, 1e3 * np.maximum.accumulate(values[::-1])[::-1] if name == "0.9" else
                           1e3 * np.maximum.accumulate(values), label=label, **style)  # fmt: skip
        right.set_xlabel("time (s)")
        right.set_ylabel("envelope of the amplitude (mm)")
        right.legend(loc="upper left")

    return Figure("over-estimation", "A controller that over-estimates the stiffness of link 2 alone on its hub: "
                  "growth of the coupled loop against the bound of the Lemma, and two runs.", draw, 2.9)  # fmt: skip


def tabulate(runs: Runs) -> list[Table]:
    """Tables 1 and 2, the roots, thresholds."""
    return [_table_1(runs), _table_2(runs), _roots(runs), _thresholds(runs)]


def _table_1(runs: Runs) -> Table:
    rows: list[list[Any]] = []
    for k in range(6):
        row: list[Any] = [k + 1]
        for name, printed in TABLE_1.items():
            row += [printed[k], float(runs.table_1[name][k])] if k < len(printed) else [None, None]
        rows.append(row)
    head = ["mode", *(f"{name}, {what}" for name in TABLE_1 for what in ("printed", "ours"))]
    return Table("Table 1 of the paper: frequencies of link 2 (rad/s)", head, rows, "The caption of the paper says Hz.")


def _table_2(runs: Runs) -> Table:
    rows = []
    for name, pair in runs.counts.items():
        for kind, count in pair.items():
            operations = TABLE_2[name][kind]
            rows.append([name, kind, operations.products, operations.sums, count.products, count.sums])
    head = ("arm", "shapes", "printed products", "printed sums", "our products", "our sums")
    return Table("Table 2 of the paper: operations of the inertia matrix", head, rows, "Ours by closed-form Lagrange, "
                 "counted from the tape; links of a telescoping arm are integrated by quadrature in it.")  # fmt: skip


def _roots(runs: Runs) -> Table:
    b = runs.betas
    rows = [[*row] for row in np.column_stack([b["length"], b["roots"], b["followed"], b["printed"]])]
    return Table("Roots of the frequency equation of link 3", ("l3 (m)", "beta 1", "beta 2", "integrated 1",
                 "integrated 2", "(47) as printed 1", "(47) as printed 2"), rows)  # fmt: skip


def _thresholds(runs: Runs) -> Table:
    rows = [
        [text, loop.bound, loop.threshold, loop.growth(0.001), loop.growth(0.01), loop.growth(0.1)]
        for text, loop in (("RRP arm at the goal", runs.arm), ("link 2 alone, hub 0.05 kg m^2", runs.link),
                           ("the same, damping 1e-5 K", runs.damped)) if loop is not None
    ]  # fmt: skip
    return Table("Over-estimated stiffness: both thresholds", ("loop", "1/lambda_max(H)", "true threshold",
                 "growth at 0.001 (1/s)", "at 0.01", "at 0.1"), rows)  # fmt: skip
