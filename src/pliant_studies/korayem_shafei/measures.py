"""Numbers of [KS09] that verdicts depend on, from the runs and from the printed formulas."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.mechanics.formulations.published import korayem_shafei as published
from pliant.model.model import Model
from pliant.model.robot import load
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Measured
from pliant_studies.evaluation import inverse_dynamics, mass_matrix
from pliant_studies.korayem_shafei.arms import LINKS, counted_arm
from pliant_studies.korayem_shafei.misprints import EQUATIONS, printed_change
from pliant_studies.korayem_shafei.runs import Runs

RANGE = [(n, n_f, m) for n in range(2, 11) for n_f in range(1, n + 1) for m in range(1, 7)]
"""Arms (links, flexible ones, modes each) over which operations are compared."""
SHORT = 0.5
"""Seconds over which peaks are compared: later peaks depend on the phase of the highest modes."""
FEW = (6, 2, 2)
"""An arm with few flexible links."""


def measure(runs: Runs) -> Measured:
    """Every number that a verdict depends on, by topic."""
    return {
        "formulation": _formulation(runs.settings["fields"]),
        "printed rotation": {str(fields): _printed_rotation(fields) for fields in (1, 2)},
        "printed": _printed(runs.settings["fields"]),
        "rigid": _rigid_limit(),
        "swing": _swing(runs),
        "independent": {name: _independent(runs, name) for name in runs.independent},
        "elements": _against_elements(runs),
        "counts": _counts(runs),
    }


# ------------------------------------------------------------------------------------------------- formulation


def _formulation(fields: int) -> Measured:
    """Differences of corrected Gibbs-Appell from the energy formulation for a random spatial arm."""
    robot = counted_arm(3, 3, fields)
    model, energy = robot.model("gibbs-appell", stiffening="off"), robot.model("lagrange", stiffening="off")
    states = {"straight": _random(model, 0.0), "bent": _random(model, 0.01)}
    M, reference = (mass_matrix(m, states["bent"][0]) for m in (model, energy))
    return {
        **{name: _residual(model, energy, *state) for name, state in states.items()},
        "asymmetry": float(np.abs(M - M.T).max() / np.abs(M).max()),
        "direct": float(np.abs(M - reference).max() / np.abs(M).max()),
        "smallest eigenvalue": float(np.linalg.eigvalsh(M).min()),
    }


def _random(model: Model, deflection: float) -> tuple[Array, Array, Array]:
    """Random state and accelerations, with deflections of that size."""
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, model.n))
    q[model.n_joints :] *= deflection
    return q, qd, qdd


def _residual(model: Model, reference: Model, q: Array, qd: Array, qdd: Array) -> float:
    """Relative difference of the forces of two models."""
    ours, theirs = (inverse_dynamics(m, q, qd, qdd) for m in (model, reference))
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _printed_rotation(fields: int) -> list[float]:
    """Errors of the linear rotation E for a deflection, its half and its quarter."""
    robot = counted_arm(3, 3, fields)
    linear, exact = (
        robot.model("gibbs-appell", rotation="linear", stiffening="off"),
        robot.model("gibbs-appell", stiffening="off"),
    )
    return [_residual(linear, exact, *_random(exact, 0.004 * scale)) for scale in (1.0, 0.5, 0.25)]


def _printed(fields: int) -> dict[str, dict[str, float]]:
    """Change of the forces by each printed equation, relative to those from the energies, in space and in the plane."""
    arms = {"spatial arm": counted_arm(3, 3, fields), "planar example": load("two-link")}
    found: dict[str, dict[str, float]] = {equation: {} for equation in EQUATIONS}
    for name, robot in arms.items():
        model = robot.model("gibbs-appell", stiffening="off")
        state = _random(model, 0.01)
        size = np.abs(inverse_dynamics(robot.model("lagrange", stiffening="off"), *state)).max()
        for equation in EQUATIONS:
            found[equation][name] = float(np.abs(printed_change(model, equation, *state)).max() / size)
    return found


def _rigid_limit() -> float:
    """Relative difference of the forces of four rigid links from those by the recursion of [MS07]."""
    robot = counted_arm(4, 0, 0)
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4))
    return _residual(robot.model("gibbs-appell", stiffening="off"), robot.model("denoc", stiffening="off"), q, qd, qdd)


# ------------------------------------------------------------------------------------------------- the swing


def peak(run: Result, link: str, until: float = np.inf) -> float:
    """Largest end deflection, mm."""
    return float(1e3 * np.abs(run.deflection(link)[run.t <= until, 1]).max())


def _swing(runs: Runs) -> Measured:
    run, degrees = runs.modes, np.degrees(runs.modes.q[:, :2])
    return {
        "drift": float(np.abs(run.energy_balance).max() / run.energy.kinetic.max()),
        "ends": {name: [peak(runs.histories[name], link) for link in LINKS] for name in ("1 mode", "2 modes")},
        "angles": np.concatenate([degrees.min(axis=0), degrees.max(axis=0)]).round(3).tolist(),
    }


def _independent(runs: Runs, name: str) -> Measured:
    """Largest differences of our run from the independent one, over the peak, and the peaks of both."""
    other = runs.independent[name]
    rows, run = len(other.angles), runs.histories[name]
    ends = np.column_stack([run.deflection(link)[:rows, 1] for link in LINKS])
    angles = run.q[:rows, :2]
    return {
        "angles apart (rad)": float(np.abs(angles - other.angles).max()),
        "deflections apart": float((np.abs(ends - other.deflections) / np.abs(other.deflections).max(axis=0)).max()),
        "drift": other.drift,
        "ours": _extremes(angles, ends),
        "theirs": _extremes(other.angles, other.deflections),
    }


def _extremes(angles: Array, ends: Array) -> dict[str, list[float]]:
    """Extreme angles and end deflections of a run."""
    degrees = np.degrees(angles)
    return {
        "least angles (deg)": degrees.min(axis=0).round(4).tolist(),
        "greatest angles (deg)": degrees.max(axis=0).round(4).tolist(),
        "end deflections (mm)": (1e3 * np.abs(ends).max(axis=0)).round(5).tolist(),
    }


# ---------------------------------------------------------------------------------------- modes against elements


def _against_elements(runs: Runs) -> Measured:
    """Differences of modes from two elements per link and from converged elements, and frequencies."""
    compared = {
        name: {other: _apart(runs.histories[name], runs.histories[other]) for other in ("2 elements", "elements")}
        for name in ("1 mode", "2 modes", "3 modes")
    }
    frequencies = {name: values[:4].tolist() for name, values in runs.frequencies.items()}
    return {"compared": compared, "frequencies (Hz)": frequencies}


def _apart(run: Result, other: Result) -> Measured:
    """Largest differences of angles and tip over the first 2 s, and of peaks of the end deflections over `SHORT`."""
    some, rows = run.t <= 2.0 + 1e-9, other.t <= 2.0 + 1e-9
    return {
        "angles (rad)": float(np.abs(run.q[some, :2] - other.q[rows, :2]).max()),
        "tip (mm)": float(1e3 * np.abs(run.tip[some] - other.tip[rows]).max()),
        "peaks": [peak(run, link, SHORT) / peak(other, link, SHORT) - 1 for link in LINKS],
    }


# ------------------------------------------------------------------------------------------------- counts


def _counts(runs: Runs) -> Measured:
    sizes = ((3, 2, 2), (6, 6, 3), (6, 6, 2))
    return {
        "formulas": {str(size): _operations(size) for size in (*sizes, FEW)},
        "gaps": _gaps(),
        "range": _range(),
        "tapes": {str(size): _tape(runs, size) for size in runs.tapes},
    }


def _operations(size: tuple[int, int, int]) -> dict[str, list[float]]:
    """Sums and products by the formulas of Table 2, in its order."""
    methods = {"Book": published.book, "Gibbs-Appell": published.gibbs_appell}
    return {name: [formula(*size).sums, formula(*size).products] for name, formula in methods.items()}


def _gaps() -> dict[str, float]:
    """Largest difference of the sum of Table 1 from Table 2, by the reading of the last term of Step 10."""
    readings = {"42 m^2 n_f^2": 1, "42 m^2 m^2": 2, "42 m^2 n^2": 0}  # which of n, n_f, m is squared
    return {text: max(_gap(size, size[place]) for size in RANGE) for text, place in readings.items()}


def _gap(size: tuple[int, int, int], squared: int) -> float:
    n_f, m = size[1:]
    steps = sum(published.products_by_step(*size).values()) + 42 * m**2 * (squared**2 - n_f**2)
    return abs(steps - published.gibbs_appell(*size).products)


def _range() -> Measured:
    """Number of arms for which Gibbs-Appell needs more, by kind of operation, and by number of links for products."""
    dearer = {size: _dearer(size) for size in RANGE}
    links = sorted({size[0] for size in RANGE})
    return {
        "arms": len(RANGE),
        "more sums": sum(more[0] for more in dearer.values()),
        "more products": sum(more[1] for more in dearer.values()),
        "more in total": sum(more[2] for more in dearer.values()),
        "more products, by links": {
            str(n): [sum(more[1] for size, more in dearer.items() if size[0] == n), sum(size[0] == n for size in RANGE)]
            for n in links
        },
    }


def _dearer(size: tuple[int, int, int]) -> tuple[bool, bool, bool]:
    """Whether Gibbs-Appell needs more sums, more products, and more of both together than Book's method."""
    ours, theirs = published.gibbs_appell(*size), published.book(*size)
    return (
        ours.sums > theirs.sums,
        ours.products > theirs.products,
        ours.sums + ours.products > theirs.sums + theirs.products,
    )


def _tape(runs: Runs, size: tuple[int, int, int]) -> dict[str, list[float]]:
    """Products with divisions, and sums: as published, and as counted on our tapes."""
    formula = published.gibbs_appell(*size)
    return {
        "published": [formula.products, formula.sums],
        **{name: [count.products + (count.divisions or 0), count.sums] for name, count in runs.tapes[size].items()},
    }
