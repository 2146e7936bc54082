"""Figures 4-9 of [MS07], figures of the eigenvalue that explains them, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import time_axis, zero_line
from pliant.mechanics.formulations.published import mohan_saha as published
from pliant_bench.timing import Timings
from pliant_studies.drawing import FIRST, SECOND, THIRD, grid, legend, letter, shared_legend
from pliant_studies.mohan_saha.arms import ALGORITHMS, LEFT, desired
from pliant_studies.mohan_saha.measures import acceptable, error, power_of
from pliant_studies.mohan_saha.runs import EVALUATIONS, Runs
from pliant_studies.study import Figure, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Page

END = 7.0
"""End of figures of diverged angles (s): later the arm tumbles."""


def illustrate(runs: Runs) -> list[Figure]:
    """Figures of the paper, and others that explain them."""
    return [
        Figure("fig04", "Fig. 4 of the paper: joint torques for the desired motion.", partial(_torques, runs), 4.4),
        Figure("fig05", "Fig. 5 of the paper: desired and simulated joint angles, recursive algorithm; the first "
               f"leaves the desired motion at {min(acceptable(runs.run('about z', 'recursive'))):.1f} s.",
               partial(_angles, runs), 4.6),
        Figure("fig06", "Fig. 6 of the paper: distance of the simulated joint angles from the desired ones, both "
               "algorithms, on a logarithmic scale: straight lines are exponential growth.",
               partial(_errors, runs), 4.6),
        Figure("fig07", "Fig. 7 of the paper: acceleration of joint 3, recursive and non-recursive; simulated to 6 s, "
               "when it has left the frame.", partial(_acceleration, runs), 3.6),
        Figure("fig08", "Fig. 8 of the paper: desired and simulated power.", partial(_power, runs), 2.8),
        Figure("fig09", "Fig. 9 of the paper: time of the forced run over 6 s by either algorithm, in rounds taken in "
               "turns; bars are medians, marks the rounds from first (top) to last.", partial(_cpu, runs), 1.7),
        Figure("cost", "Time of one evaluation of the forward dynamics, velocity terms included (the least of five "
               "rounds), and products of accelerations from given forces counted on the tape, against the number of "
               "links.", partial(_cost, runs), 2.9),
        Figure("tolerance", "When the motion is left: largest joint error by tolerance of the integration, both "
               "algorithms, and the growth that the eigenvalue of the error dynamics predicts.",
               partial(_tolerance, runs), 3.0),
        Figure("eigenvalue", "Why the motion is left: largest real part of the eigenvalues of the error dynamics along "
               "the desired motion, and the joint error with either hub.", partial(_eigenvalue, runs), 4.2),
    ]  # fmt: skip


def _torques(runs: Runs, page: Page) -> None:
    run = runs.run("about z", "recursive")
    made = grid(page, 3, 2)
    for k, axes in enumerate(made.flat):
        axes.plot(run.t, run.tau[:, k], color="black", linewidth=1.2)
        zero_line(axes)
        axes.set_ylabel(f"$\\tau_{k + 1}$ (N m)")


def _angles(runs: Runs, page: Page) -> None:
    run = runs.run("about z", "recursive")
    shown = run.t <= END
    path = desired()(run.t)[0]
    made = grid(page, 3, 2)
    for k, axes in enumerate(made.flat):
        axes.plot(run.t, np.degrees(path[:, k]), label="desired", **FIRST)
        axes.plot(run.t[shown], np.degrees(run.q[shown, k]), label="simulated", **SECOND)
        axes.set(ylim=(-60, 240), ylabel=f"$\\theta_{k + 1}$ (deg)")
    shared_legend(page, made[0, 0])


def _errors(runs: Runs, page: Page) -> None:
    made = grid(page, 3, 2, sharey=True)
    for k, axes in enumerate(made.flat):
        for name, style in zip(ALGORITHMS, (FIRST, SECOND)):
            run = runs.run("about z", name)
            shown = (run.t <= END) & (run.t > 0)
            size = np.maximum(np.abs(error(run)[shown, k]), 1e-16)
            axes.semilogy(run.t[shown], size, label=name, **style)
        axes.axhline(0.01, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.set_ylabel(f"$|e_{k + 1}|$ (rad)")
    made[0, 0].set_ylim(1e-13, 30)
    shared_legend(page, made[0, 0])


def _acceleration(runs: Runs, page: Page) -> None:
    rows = page.subplots(2, 1, sharex=True)
    for axes, name in zip(rows, ALGORITHMS):
        run = runs.run("about z", name)
        shown = run.t <= 6.0
        assert run.qdd is not None
        axes.plot(run.t, desired()(run.t)[2][:, 2], label="desired", **FIRST)
        axes.plot(run.t[shown], run.qdd[shown, 2], label="simulated", **SECOND)
        axes.set(ylim=(-0.6, 0.4), ylabel="$\\ddot\\theta_3$ (rad/s²)")
        letter(axes, name)
    legend(rows[0], 2)
    time_axis(rows[-1])


def _power(runs: Runs, page: Page) -> None:
    axes = page.subplots()
    run = runs.run("about z", "recursive")
    wanted = power_of(run)
    axes.plot(run.t, wanted, label="desired", **FIRST)
    for name, style in zip(ALGORITHMS, (SECOND, THIRD)):
        one = runs.run("about z", name)
        shown = one.t <= END
        power = np.einsum("tj,tj->t", one.tau, one.qd)
        axes.plot(one.t[shown], power[shown], label=f"simulated, {name}", **style)
    span = float(np.ptp(wanted))
    axes.set(ylim=(wanted.min() - 0.4 * span, wanted.max() + 0.4 * span), ylabel="power (W)")
    time_axis(axes)
    legend(axes, 3)


def _cpu(runs: Runs, page: Page) -> None:
    """Draw medians as bars, every round as a mark."""
    axes = page.subplots()
    for height, name, color in zip((1, 0), ALGORITHMS, (FIRST["color"], "0.75")):
        values = [1e3 * value for value in runs.cpu[name].values]
        axes.barh(height, np.median(values), 0.6, color=color)
        places = height + np.linspace(0.2, -0.2, len(values))
        axes.plot(values, places, "o", markersize=3.5, color="white", markeredgecolor="black", markeredgewidth=0.8)
    axes.set_yticks((1, 0), list(ALGORITHMS))
    axes.set(ylim=(-0.5, 1.5), xlim=(0, 1.1e3 * max(max(runs.cpu[name].values) for name in ALGORITHMS)))
    axes.set_xlabel("time of the forced run over 6 s (ms)")


def _cost(runs: Runs, page: Page) -> None:
    left, right = page.subplots(1, 2)
    sizes = list(runs.times)
    for name, style, marker in zip(ALGORITHMS, (FIRST, SECOND), ("o", "s")):
        times = [1e6 / EVALUATIONS * runs.times[n][name].least for n in sizes]
        left.plot(sizes, times, marker=marker, markersize=3.5, label=name, **style)
        counted = [n for n in runs.counts if name in runs.counts[n]]
        right.loglog(counted, [runs.counts[n][name].products for n in counted], marker=marker, markersize=3.5, **style)
    right.loglog(list(runs.counts), [published.proposed(n).products for n in runs.counts], **THIRD)
    left.plot([], [], label="173 n − 128, printed", **THIRD)
    right.set_xticks(list(runs.counts), [str(n) for n in runs.counts])
    right.minorticks_off()
    left.set_ylabel("time of one evaluation (µs)")
    left.set_ylim(bottom=0)
    right.set_ylabel("products")
    for axes in (left, right):
        axes.set_xlabel("number of links n")
        axes.margins(x=0.05)
    shared_legend(page, left)


def _tolerance(runs: Runs, page: Page) -> None:
    axes = page.subplots()
    names = [name for name in runs.tolerances if name != "default"]
    for name, color in zip(names, ("#B9D9EE", "#7FB8DD", "#3E86BC", "#164F7C")):
        for algorithm, style in zip(ALGORITHMS, (FIRST, SECOND)):
            run = runs.tolerances[name][algorithm]
            shown = (run.t >= 4.5) & (run.t <= 6.6)
            size = np.abs(error(run)).max(axis=1)[shown]
            label = f"tolerance $10^{{{round(np.log10(float(name)))}}}$" if algorithm == "recursive" else None
            axes.semilogy(run.t[shown], size, label=label, **{**style, "color": color if label else "black"})
    times, slope = _predicted(runs)
    axes.semilogy([], [], label="non-recursive, the same", **SECOND)
    axes.semilogy(times, slope, label="slope by the eigenvalue", **THIRD)
    axes.axhline(LEFT, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set(ylim=(1e-14, 20), xlim=(4.5, 6.6), ylabel="largest joint error (rad)")
    time_axis(axes)
    shared_legend(page, axes)


def _predicted(runs: Runs) -> tuple[Array, Array]:
    """Times and error that grows by the eigenvalue, up to the departure at the stated tolerance."""
    table = runs.growth["about z"]
    end = min(acceptable(runs.tolerances["1e-08"]["recursive"]))
    times = np.linspace(5.3, end, 100)
    rate = np.interp(times, table[:, 0], table[:, 1])
    grown = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(times))])
    return times - 0.06, LEFT * np.exp(grown - grown[-1])


def _eigenvalue(runs: Runs, page: Page) -> None:
    top, bottom = page.subplots(2, 1, sharex=True)
    for hub, style in (("about z", SECOND), ("isotropic", FIRST)):
        table = runs.growth[hub]
        top.plot(table[:, 0], table[:, 1], label=f"hub inertia {hub}", **style)
        run = runs.run(hub, "recursive")
        size = np.maximum(np.abs(error(run)).max(axis=1), 1e-16)
        shown = run.t > 0
        bottom.semilogy(run.t[shown], size[shown], **style)
    top.set_ylabel("largest real part (1/s)")
    bottom.set_ylabel("largest joint error (rad)")
    legend(top, 2)
    time_axis(bottom)


def tabulate(runs: Runs) -> list[Table]:
    """Tables 1 and 3 of the paper, and tables of tolerances, steps and times."""
    return [_table_1(), _table_3(runs), _tolerances(runs), _steps(runs), _times(runs)]


def _table_1() -> Table:
    rows = []
    for name, formula in published.METHODS.items():
        printed = published.PRINTED[name]
        ours = (None, None, None) if name == "Walker-Orin" else tuple(
            published.crossover(name, rule) for rule in (published.fewer_products, published.fewer_in_total,
                                                         published.fewer_of_each))  # fmt: skip
        rows.append([name, formula(6).products, formula(6).sums, printed.n_star, ours[0], printed.n_plus, *ours[1:]])
    return Table("Table 1 of the paper: operations and crossovers", ("method", "products, n = 6", "sums, n = 6",
                 "n* printed", "n* by the formulas", "n+ printed", "n+ in total", "n+ of each"), rows)  # fmt: skip


def _table_3(runs: Runs) -> Table:
    rows: list[list[object]] = []
    for name in ALGORITHMS:
        rows.append([f"{name}, printed", *published.TABLE_3[name]])
        for limit in (0.001, 0.01, 0.1):
            rows.append([f"{name}, ours, {limit:g} rad", *acceptable(runs.run("about z", name), limit)])
    return Table("Table 3 of the paper: acceptable durations (s)", ("algorithm", *(f"theta {k}" for k in range(1, 7))),
                 rows, "Hub inertia about z, tolerance 1e-8. The end of the run stands where a joint never left."
                 )  # fmt: skip


def _tolerances(runs: Runs) -> Table:
    labels = {"default": "1e-3 relative, 1e-8 absolute"}
    rows = [[labels.get(name, name), algorithm, run.stats.evaluations, *acceptable(run)]
            for name, pair in runs.tolerances.items() for algorithm, run in pair.items()]  # fmt: skip
    return Table("When joints leave the motion (s), by tolerance of the integration", ("tolerance", "algorithm",
                 "evaluations", *(f"theta {k}" for k in range(1, 7))), rows,
                 "Runs over 7 s, sampled every millisecond. The end of the run stands where a joint never left."
                 )  # fmt: skip


def _steps(runs: Runs) -> Table:
    rows = [
        [step, name, run.stats.evaluations, min(acceptable(run)),
         *(runs.evaluations[what][step][name] for what in ("largest step", "output spacing"))]
        for step, pair in runs.steps.items() for name, run in pair.items()
    ]  # fmt: skip
    return Table("Step-size study", ("step (s)", "algorithm", "evaluations, 10 s", "first joint leaves (s)",
                 "evaluations, 6 s", "evaluations, 6 s, as output spacing"), rows,
                 "The step is the largest one allowed, except in the last column.")  # fmt: skip


def _times(runs: Runs) -> Table:
    rows = [["PUMA, 6 s", *(1e3 * runs.cpu[name].median for name in ALGORITHMS), "ms", _ratio(runs.cpu)]]
    rows += [[f"{n} rods, one evaluation", *(1e6 / EVALUATIONS * pair[name].median for name in ALGORITHMS), "µs",
              _ratio(pair)] for n, pair in runs.times.items()]  # fmt: skip
    return Table("Times, medians of rounds taken in turns", ("what", *ALGORITHMS, "unit",
                 "non-recursive over recursive, least to greatest"), rows)  # fmt: skip


def _ratio(pair: Mapping[str, Timings]) -> str:
    ratio = pair["non-recursive"].over(pair["recursive"])
    return f"{ratio.median:.2f} ({min(ratio.values):.2f} to {max(ratio.values):.2f})"
