"""Numbers of [MS07] that verdicts depend on, from the runs and from the printed formulas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pliant.arrays import Array, Integers
from pliant.mechanics.formulations.published import mohan_saha as published
from pliant.model.robot import Robot
from pliant.robot.parts.bodies.rigid_body import Lump, RigidBody
from pliant.robot.parts.joint import Joint, Origin
from pliant.robot.parts.link import Link
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Measured
from pliant_studies.evaluation import inverse_dynamics, mass_matrix
from pliant_studies.mohan_saha.arms import ALGORITHMS, LEFT, desired, puma
from pliant_studies.mohan_saha.runs import Runs

OWN = "Mohan-Saha"
QUOTED = tuple(name for name in published.METHODS if name not in (OWN, "Walker-Orin"))
COMPARED = (6, *range(10, 17))
"""Numbers of links: the arm that is simulated, and those at which Table 1 prints counts."""


def measure(runs: Runs) -> Measured:
    """Every number that a verdict depends on, by topic."""
    return {
        "solution": _solution(),
        "inertia matrix": _inertia_matrix(),
        "rod": _rod(),
        "other joints": _other_joints(),
        "table 1": _table_1(),
        "forced": _forced(runs),
        "tolerance": _tolerance(runs),
        "steps": _steps(runs),
        "eigenvalue": _eigenvalue(runs),
        "cost": _cost(runs),
    }


def error(run: Result) -> Array:
    """(N, 6) simulated less desired joint angles."""
    return np.asarray(run.q - desired()(run.t)[0])


def acceptable(run: Result, limit: float = LEFT) -> list[float]:
    """Times at which each joint first leaves the desired motion by more than `limit` rad; the end if it never does."""
    beyond = np.abs(error(run)) > limit
    return [float(run.t[column.argmax()] if column.any() else run.t[-1]) for column in beyond.T]


def power_of(run: Result) -> Array:
    """Desired power: torque times desired rates."""
    return np.asarray(np.einsum("tj,tj->t", run.tau, desired()(run.t)[1]))


# ------------------------------------------------------------------------------------------------------ recursion


def _solution() -> Measured:
    """Errors of accelerations by both algorithms, for random states and for the desired motion."""
    models = [puma("about z").model(formulation) for formulation in ALGORITHMS.values()]
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 50, 6))
    tau = 10.0 * rng.normal(size=(50, 6))
    first, second = (model.forward_dynamics(q, qd, tau) for model in models)
    back = models[0].inverse_dynamics(q, qd, first)
    path = desired()(np.linspace(0.0, 10.0, 501))
    torque = models[0].inverse_dynamics(*path)
    off = {
        name: float(np.abs(model.forward_dynamics(path[0], path[1], torque) - path[2]).max())
        for name, model in zip(ALGORITHMS, models)
    }
    return {"apart": _largest(first - second, first), "returned": _largest(back - tau, tau), "round-off": off}


def _largest(difference: Array, scale: Array) -> float:
    """Largest entry of a row over the largest of its scale, over all rows."""
    return float((np.abs(difference).max(axis=1) / np.abs(scale).max(axis=1)).max())


def _inertia_matrix() -> Measured:
    """Inertia matrix at theta = 0 by composite inertias, by columns of inverse dynamics, and by second derivatives of
    the energy."""
    robot, rest = puma("about z"), np.zeros(6)
    model = robot.model(stiffening="off")
    M, energy = mass_matrix(model, rest), mass_matrix(robot.model("lagrange", stiffening="off"), rest)
    forces = model.inverse_dynamics(np.zeros((7, 6)), np.zeros((7, 6)), np.vstack([rest, np.eye(6)]))
    columns = (forces[1:] - forces[0]).T
    scale = np.abs(M).max()
    return {
        "asymmetry": float(np.abs(columns - columns.T).max() / scale),
        "off columns": float(np.abs(M - columns).max() / scale),
        **{name: _spectrum(matrix) for name, matrix in (("ours", M), ("energy", energy))},
    }


def _spectrum(M: Array) -> dict[str, float]:
    """Smallest eigenvalue and condition of a matrix."""
    values = np.linalg.eigvalsh(M)
    return {"smallest eigenvalue": float(values[0]), "condition": float(values[-1] / values[0])}


def _rod() -> dict[str, float]:
    """Error of M_i of a bent rod in closed form, with C5 corrected and as printed, against quadrature along the rod."""
    rho, a, b, theta = 7.0, 0.4, 0.3, 0.7
    x = np.array([np.cos(theta), np.sin(theta), 0.0])
    points, weights = np.polynomial.legendre.leggauss(6)
    M = np.zeros((6, 6))
    for length, place in ((b, lambda s: np.array([0, 0, s])), (a, lambda s: np.array([0, 0, b]) + s * x)):
        for s, w in zip(length * (1 + points) / 2, length * weights / 2):
            J = np.hstack([np.eye(3), np.cross(np.eye(3), place(s)).T])
            M += rho * w * J.T @ J
    forms = {"corrected": False, "printed": True}
    return {
        name: float(np.abs(published.rod_mass_matrix(rho, a, b, theta, printed) - M).max() / np.abs(M).max())
        for name, printed in forms.items()
    }


def _other_joints() -> float:
    """Relative difference of the forces of an arm with hub, payload and prismatic joint from those by its energies."""
    body = RigidBody(mass=3.0, com=(0.2, 0.05, 0.1), inertia=(0.02, 0.05, 0.06), tip=(0.4, 0, 0))
    slide = Joint(type="prismatic", axis=(1, 0, 0), origin=Origin(rpy=(0.3, -0.2, 0.5)))
    turn = Joint(hub=Lump(mass=1.0, inertia=(0.1, 0.2, 0.3)))
    robot = Robot(name="RP", payload=Lump(mass=2.0, inertia=(0.01, 0.02, 0.03)),
                  links=[Link(name="turn", joint=turn, rigid=body),
                         Link(name="slide", joint=slide, rigid=body)])  # fmt: skip
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 2))
    ours, theirs = (inverse_dynamics(robot.model(f, stiffening="off"), q, qd, qdd) for f in ("denoc", "lagrange"))
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


# -------------------------------------------------------------------------------------------------------- Table 1


def _table_1() -> Measured:
    """Steps, crossovers and operations by the printed formulas."""
    n = np.arange(1, 30)
    totals = [published.proposed(int(k)) for k in n]
    steps = {kind: _line(n, [getattr(t, kind) for t in totals]) for kind in ("products", "sums")}
    rules = {"products": published.fewer_products, "each": published.fewer_of_each, "total": published.fewer_in_total}
    names = (OWN, *QUOTED)
    operations = {str(k): {name: [f(k).products, f(k).sums] for name, f in published.METHODS.items()} for k in COMPARED}
    crossovers = {rule: {name: published.crossover(name, by) for name in names} for rule, by in rules.items()}
    return {"steps": steps, "crossovers": crossovers, "operations": operations}


def _line(n: Integers, values: list[float]) -> list[float]:
    """Slope and offset of numbers on a straight line, and their largest distance from it."""
    slope, offset = values[1] - values[0], 2 * values[0] - values[1]
    return [slope, offset, float(np.abs(slope * n + offset - values).max())]


# ------------------------------------------------------------------------------------------------- the forced PUMA


def _forced(runs: Runs) -> Measured:
    both = {name: runs.run("about z", name) for name in ALGORITHMS}
    isotropic = {name: runs.run("isotropic", name) for name in ALGORITHMS}
    return {
        "error to 5 s": {name: _worst(run, 5.0) for name, run in both.items()},
        "leaves": {name: acceptable(run) for name, run in both.items()},
        "isotropic, error to 7.5 s": {name: _worst(run, 7.5) for name, run in isotropic.items()},
        "error by joint": {f"{until:g} s": _by_joint(both["recursive"], until) for until in (5.5, 6.0)},
        "stabilized": _worst(runs.histories["stabilized"], np.inf),
        "balance": {
            name: float(np.abs(run.energy_balance).max() / run.energy.kinetic.max()) for name, run in both.items()
        },
        "power matches to": {name: _power_matches(run) for name, run in both.items()},
    }


def _worst(run: Result, until: float) -> float:
    """Largest joint error up to a time."""
    return float(np.abs(error(run)[run.t <= until]).max())


def _by_joint(run: Result, until: float) -> list[float]:
    """Largest error of each joint up to a time, in degrees."""
    return np.degrees(np.abs(error(run)[run.t <= until]).max(axis=0)).tolist()  # type: ignore[no-any-return]


def _power_matches(run: Result) -> float:
    """Time at which simulated and desired power first differ by a hundredth of the peak."""
    wanted = power_of(run)
    apart = np.abs(np.einsum("tj,tj->t", run.tau, run.qd) - wanted) > 0.01 * np.abs(wanted).max()
    return float(run.t[apart.argmax()])


def _tolerance(runs: Runs) -> Measured:
    """Times at which joints leave, by tolerance, and growth of an error by the eigenvalue between departures."""
    leaves = {name: {a: acceptable(run) for a, run in pair.items()} for name, pair in runs.tolerances.items()}
    stated = [name for name in leaves if name != "default"]
    decades = {
        a: [_decades(runs.growth["about z"], *(min(leaves[name][a]) for name in pair)) for pair in pairwise(stated)]
        for a in ALGORITHMS
    }
    printed = (float(np.mean(published.TABLE_3[a])) for a in reversed(ALGORITHMS))
    return {"leaves": leaves, "decades": decades, "printed gain": _decades(runs.growth["about z"], *printed)}


def _decades(growth: Array, begin: float, end: float) -> float:
    """Decades by which an error grows from one time to another, by the eigenvalue."""
    times = np.linspace(begin, end, 101)
    return float(np.trapezoid(np.interp(times, growth[:, 0], growth[:, 1]), times) / np.log(10))


def _steps(runs: Runs) -> Measured:
    leaves = {f"{step:g}": {a: min(acceptable(run)) for a, run in pair.items()} for step, pair in runs.steps.items()}
    counted = {what: {f"{step:g}": pair for step, pair in by.items()} for what, by in runs.evaluations.items()}
    return {"leaves": leaves, "evaluations": counted}


def _eigenvalue(runs: Runs) -> dict[str, float]:
    """Largest real part (1/s) of the eigenvalues of the error dynamics at some times, and with isotropic hubs up to
    7.5 s."""
    table, other = runs.growth["about z"], runs.growth["isotropic"]
    at = {f"{t:g} s": float(np.interp(t, table[:, 0], table[:, 1])) for t in (2.5, 5.0, 5.5, 6.5)}
    return {**at, "isotropic": float(other[other[:, 0] <= 7.5, 1].max())}


# ----------------------------------------------------------------------------------------------------------- cost


def _cost(runs: Runs) -> Measured:
    counted = {n: by["recursive"].products + (by["recursive"].divisions or 0) for n, by in runs.counts.items()}
    n, products = np.array(list(counted)), np.array(list(counted.values()))
    slope, offset = np.polyfit(n, products, 1)
    return {
        "products": {str(k): int(count) for k, count in counted.items()},
        "published": {str(k): published.proposed(k).products for k in counted},
        "slope": float(slope),
        "bent": float(np.abs(products / (slope * n + offset) - 1).max()),
        "seconds": {name: list(runs.cpu[name].values) for name in ALGORITHMS},
        "ratios": list(runs.cpu["non-recursive"].over(runs.cpu["recursive"]).values),
        "by links": {str(k): {a: pair[a].median for a in ALGORITHMS} for k, pair in runs.times.items()},
    }
