"""Figures 4-15 of [KS09], figures of convergence, and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import time_axis
from pliant.mechanics.formulations.published import korayem_shafei as published
from pliant.simulation.runs.results import Result
from pliant_studies.drawing import FIRST, MANY, SECOND, legend, letter
from pliant_studies.korayem_shafei.arms import LINKS
from pliant_studies.korayem_shafei.measures import RANGE, SHORT, peak
from pliant_studies.korayem_shafei.runs import Runs
from pliant_studies.study import Figure, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page

LABELS = ("modes (one per link, Gibbs-Appell)", "finite elements (converged)")
Quantity = Callable[[Result], Array]


def illustrate(runs: Runs) -> list[Figure]:
    """Figures of the paper, and ours on convergence."""
    found = []
    for number, (text, label, quantity) in enumerate(_quantities(), start=4):
        fast = number >= 8
        caption = f"Fig. {number} of the paper: {text}; one clamped-free mode per link against finite elements"
        caption += ", the first half second." if fast else "."
        draw = partial(_draw, runs, label, quantity, SHORT if fast else np.inf)
        found.append(Figure(f"fig{number:02d}", caption, draw, 2.3))
    return [
        *found,
        Figure("convergence", "What convergence looks like: end deflection of the first link over the first half "
               "second, more modes and better ones against finite elements. One mode misses the frequency, two the "
               "details.", partial(_truncation, runs), 5.6),
        Figure("stiffening", "End deflections of both links between 1.5 and 2 s, with and without stiffening: the "
               "weight that the links carry raises the frequencies by a fraction of a percent, which has grown into a "
               "phase by then. No number of modes makes up for it.", partial(_stiffening, runs), 3.8),
        Figure("advantage", "Where Gibbs-Appell is cheaper than Book's method by the formulas of Table 2: ratio of "
               "products for arms of n links, n_f of them flexible with m modes each. Blue is cheaper; the line is "
               "where the advantage ends. Grey: no such arm.", _advantage, 4.4),
    ]  # fmt: skip


def _quantities() -> list[tuple[str, str, Quantity]]:
    ordinal = {"upper": "first", "fore": "second"}
    symbols = iter(["u3", "u4", "w3", "w4", "u5", "u6", "w5", "w6"])
    found: list[tuple[str, str, Quantity]] = [
        ("angular displacement of the first joint", "$\\theta_1$ (deg)", lambda r: np.degrees(r.q[:, 0])),
        ("angular displacement of the second joint", "$\\theta_2$ (deg)", lambda r: np.degrees(r.q[:, 1])),
        ("X position of the end effector", "X (m)", lambda r: r.tip[:, 0]),
        ("Y position of the end effector", "Y (m)", lambda r: r.tip[:, 1]),
    ]
    for link in LINKS:
        for what, unit in (("flexural displacement", "mm"), ("angular displacement", "mrad")):
            for place, station in (("in the middle", "middle"), ("at the end", "tip")):
                symbol = next(symbols)
                label = f"${symbol[0]}_{symbol[1]}$ ({unit})"
                found.append((f"{what} {place} of the {ordinal[link]} link", label, _station(link, station, unit)))
    return found


def _station(link: str, station: str, unit: str) -> Quantity:
    if unit == "mm":
        return lambda run: 1e3 * run.deflection(link, station)[:, 1]
    return lambda run: 1e3 * run.rotation(link, station)[:, 2]


def _draw(runs: Runs, label: str, quantity: Quantity, until: float, page: Page) -> None:
    axes = page.subplots()
    for run, text, style in zip((runs.modes, runs.elements), LABELS, (FIRST, SECOND)):
        rows = run.t <= until
        axes.plot(run.t[rows], quantity(run)[rows], label=text, **style)
    axes.set_ylabel(label)
    legend(axes, 2)
    time_axis(axes)


def _truncation(runs: Runs, page: Page) -> None:
    """Draw the end deflection of the upper link with more and better shapes."""
    names = ("1 mode", "2 modes", "3 modes", "3 loaded modes")
    texts = ("1 clamped-free mode", "2 clamped-free modes", "3 clamped-free modes", "3 clamped-mass modes")
    rows = page.subplots(4, 1, sharex=True, sharey=True)
    for axes, name, text in zip(rows, names, texts):
        for run, label, style in zip((runs.histories[name], runs.elements), ("modes", "finite elements"),
                                     (FIRST, SECOND)):  # fmt: skip
            some = run.t <= 0.5
            axes.plot(run.t[some], 1e3 * run.deflection("upper")[some, 1], label=label, **style)
        letter(axes, text)
        axes.set_ylabel("$u_4$ (mm)")
    legend(rows[0], 2)
    time_axis(rows[-1])


def _stiffening(runs: Runs, page: Page) -> None:
    lines = [("3 modes", "3 modes, without stiffening"), ("3 modes stiffened", "3 modes, with stiffening")]
    if "elements stiffened" in runs.histories:
        lines += [("elements", "elements, without"), ("elements stiffened", "elements, with")]
    rows = page.subplots(2, 1, sharex=True)
    for axes, link in zip(rows, LINKS):
        for (name, label), style in zip(lines, MANY):
            run = runs.histories[name]
            some = (run.t >= 1.5) & (run.t <= 2.0)
            axes.plot(run.t[some], 1e3 * run.deflection(link)[some, 1], label=label, **style)
        axes.set_ylabel(f"{link} (mm)")
    legend(rows[0], len(lines))
    time_axis(rows[-1])


def _advantage(page: Page) -> None:
    """Draw the ratio of products of Gibbs-Appell to Book's method, for every arm of the range."""
    from matplotlib.colors import TwoSlopeNorm

    ratio = {size: published.gibbs_appell(*size).products / published.book(*size).products for size in RANGE}
    norm = TwoSlopeNorm(0.0, np.log2(min(ratio.values())), np.log2(max(ratio.values())))
    panels = page.subplots(2, 3, sharex=True, sharey=True)
    for m, axes in enumerate(panels.flat, start=1):
        cells = np.full((10, 9), np.nan)  # flexible links from 1, links from 2
        for (n, n_f, modes), value in ratio.items():
            if modes == m:
                cells[n_f - 1, n - 2] = np.log2(value)
        image = axes.pcolormesh(np.arange(1.5, 11), np.arange(0.5, 11), cells, cmap="RdBu_r", norm=norm,
                                edgecolors="white", linewidth=0.4)  # fmt: skip
        axes.set_facecolor("0.88")  # more flexible links than links
        _border(axes, cells)
        axes.set_title(f"m = {m}", loc="left", fontsize=9)
        axes.set(xticks=range(2, 11, 2), yticks=range(2, 11, 2), aspect="equal")
    for axes in panels[-1]:
        axes.set_xlabel("links n")
    for axes in panels[:, 0]:
        axes.set_ylabel("flexible links $n_f$")
    bar = page.colorbar(image, ax=panels, shrink=0.8, aspect=30)
    marks = (0.2, 0.5, 1, 2, 3)
    bar.set_ticks([float(np.log2(mark)) for mark in marks], labels=[f"{mark:g}" for mark in marks])
    bar.set_label("products, Gibbs-Appell over Book")


def _border(axes: Axes, cells: Array) -> None:
    """Draw a line between neighbors of which one is cheaper and the other is not."""
    rows, columns = cells.shape
    for i in range(rows):
        for j in range(columns):
            if j + 1 < columns and cells[i, j] * cells[i, j + 1] < 0:
                axes.plot([j + 2.5] * 2, [i + 0.5, i + 1.5], color="black", linewidth=1.4, solid_capstyle="projecting")
            if i + 1 < rows and cells[i, j] * cells[i + 1, j] < 0:
                axes.plot([j + 1.5, j + 2.5], [i + 1.5] * 2, color="black", linewidth=1.4, solid_capstyle="projecting")


def tabulate(runs: Runs) -> list[Table]:
    """Tables of counts, of the range of the advantage, of frequencies and of peaks."""
    return [_steps(), _table_2(runs), _range(runs), _frequencies(runs), _peaks(runs)]


def _steps() -> Table:
    sizes = ((2, 2, 1), (3, 2, 2), (6, 6, 2))
    rows: list[list[object]] = [
        [step, *(published.products_by_step(*size)[step] for size in sizes)] for step in range(1, 11)
    ]
    rows.append(["sum", *(sum(published.products_by_step(*size).values()) for size in sizes)])
    rows.append(["Table 2", *(published.gibbs_appell(*size).products for size in sizes)])
    head = ("step", *(f"n, n_f, m = {size}" for size in sizes))
    return Table("Table 1 of the paper: products by step", head, rows)


def _table_2(runs: Runs) -> Table:
    rows: list[list[object]] = []
    for size, tape in runs.tapes.items():
        for name, formula in (("Book, published", published.book), ("Gibbs-Appell, published", published.gibbs_appell)):
            operations = formula(*size)
            rows.append([str(size), name, operations.products, operations.sums, "forming"])
        for name, count in tape.items():
            rows.append([str(size), f"{name}, our tape", count.products + (count.divisions or 0), count.sums,
                         count.function])  # fmt: skip
    return Table("Table 2 of the paper: operations, and the same from our tapes", ("n, n_f, m", "method", "products",
                 "sums", "counts"), rows, "Divisions count as products. The tapes belong to one arm of that size, "
                 "whose numbers and zeros they use.")  # fmt: skip


def _range(runs: Runs) -> Table:
    rows = [[n, arms, arms - more, more] for n, (more, arms) in
            runs.numbers["counts"]["range"]["more products, by links"].items()]  # fmt: skip
    return Table("Products of Gibbs-Appell against Book's method over all arms of the range", ("links", "arms",
                 "Gibbs-Appell cheaper", "Gibbs-Appell dearer"), rows,
                 "1 to n of the links flexible, 1 to 6 modes each; formulas of Table 2.")  # fmt: skip


def _frequencies(runs: Runs) -> Table:
    rows = [[name, *(values[k] if k < len(values) else None for k in range(6))]
            for name, values in runs.frequencies.items()]  # fmt: skip
    return Table("Frequencies of the hanging arm, joints free (Hz)", ("shapes", "1", "2", "3", "4", "5", "6"), rows,
                 "1 and 2 are the double pendulum. 'loaded' are clamped-mass modes, shaped by what hangs on "
                 "the link.")  # fmt: skip


def _peaks(runs: Runs) -> Table:
    rows = []
    for name, run in runs.histories.items():
        some = run.t <= 2.0 + 1e-9
        apart = np.abs(run.q[some, :2] - runs.elements.q[: some.sum(), :2]).max()
        rows.append([name, run.model.n, *(peak(run, link, SHORT) for link in LINKS), apart])
    return Table("Peaks over the first half second, angles over 2 s", ("shapes", "coordinates", "upper link (mm)",
                 "fore link (mm)", "joint angles off the elements (rad)"), rows)  # fmt: skip
