"""Measured numbers of [CE21] that verdicts depend on."""

from __future__ import annotations

import casadi as ca
import numpy as np

from pliant.algebra.dual import Dual
from pliant.algebra.dual_groups import G1, G2
from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.mechanics.formulations.dual_screw_kinematics import derivative, walk
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.model import Model
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Measured
from pliant_studies.cibicik_egeland import statics
from pliant_studies.cibicik_egeland.runs import FINAL, FLEXIBLE, RATES, START, Runs, arm
from pliant_studies.evaluation import mass_matrix
from pliant_studies.flexible_joints.beam import first_frequency

SLEWING = 3.0
"""Time of the second command (s)."""
FIELDS = {"xy": "bending_y", "xz": "bending_z", "torsion": "torsion"}


def measure(runs: Runs) -> Measured:
    """Every number that a verdict depends on."""
    return {
        "algebra": _algebra(),
        "derivative": _derivative(),
        "matrices": _matrices(runs.models["linear"], runs.models["nonlinear"]),
        "maneuver": _maneuver(runs),
        "statics": {name: _statics(runs.models["nonlinear"], pose)
                    for name, pose in (("start", START), ("final", FINAL))},
        "apart": {name: _apart(runs, name) for name in ("damped", "undamped", *RATES)
                  if _named("linear", name) in runs.histories},
        "haste": _haste(runs),
        "spin": {f"{speed:g}": run.stats.status == "event" for speed, run in runs.spins.items()},
        "first frequency": first_frequency(),
        "times": _times(runs),
        "operations": {name: op["mul"] + op["div"] for name, op in runs.operations.items()},
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------- dual screws


def _number(x: SX) -> Array:
    """Value of an expression without symbols."""
    return np.array(ca.evalf(ca.densify(ca.SX(x))), dtype=float)


def _algebra() -> dict[str, float]:
    """Group identities at random elements, and the dual part of a rotation against a central difference."""
    rng = np.random.default_rng(0)
    Omega, v = (Dual(ca.SX(ca.DM(rng.normal(size=3))), ca.SX(ca.DM(rng.normal(size=3)))) for _ in range(2))
    Y = G2.exp(Omega, v)
    back, v_back = Y.log()
    step = 1e-6
    plus, minus = (_number(G1.exp(Dual.of(Omega.real + s * step * Omega.dual)).A) for s in (1, -1))
    return {
        "inverse": float(np.abs(_number((Y @ Y.inverse).matrix) - np.eye(7)).max()),
        "adjoint": float(np.abs(_number(Y.adjoint) @ _number(Y.inverse.adjoint) - np.eye(12)).max()),
        "logarithm": float(max(np.abs(_number(a.stacked) - _number(b.stacked)).max()
                               for a, b in ((back, Omega), (v_back, v)))),
        "dual part": float(np.abs(_number(G1.exp(Omega).dual.dual) - (plus - minus) / (2 * step)).max()),
    }  # fmt: skip


def _derivative() -> float:
    """dP-hat/dt of the tool frame at a bent state by the operators, against a central difference, over the largest."""
    chain = build_chain(arm(0.0))
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    frame = list(walk(chain, q))[-1].tip
    P = frame.jacobian_form()
    f = ca.Function("P", [q, qd], [ca.densify(P.stacked), ca.densify(derivative(P, frame.rates(qd)).stacked)])
    at, rate = np.random.default_rng(1).normal(size=(2, chain.n))
    at[4:] *= 0.05
    step = 1e-6
    plus, minus = (np.array(f(at + s * step * rate, rate)[0]) for s in (1, -1))
    operators = np.array(f(at, rate)[1])
    return float(np.abs((plus - minus) / (2 * step) - operators).max() / np.abs(operators).max())


def _matrices(linear: Model, exact: Model) -> Measured:
    """Largest differences of generalized forces and of inertia matrices, for elastic states that are halved twice, and
    without elastic states."""
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, linear.n))
    functions = [_forces_and_inertia(model) for model in (linear, exact)]

    def error(scale: float) -> tuple[float, ...]:
        elastic = np.where(np.arange(linear.n) < 4, 1.0, 0.005 * scale)
        one, other = (f(q * elastic, qd * elastic, qdd * elastic, linear.nominal_parameters) for f in functions)
        return tuple(float(np.abs(np.array(a) - np.array(b)).max()) for a, b in zip(one, other))

    errors = [error(scale) for scale in (1.0, 0.5, 0.25)]
    return {"forces": [e[0] for e in errors], "inertia": [e[1] for e in errors], "undeformed": max(error(0.0))}


def _forces_and_inertia(model: Model) -> ca.Function:
    """Generalized forces and inertia matrix at a state and accelerations, on CasADi's virtual machine."""
    symbols = [ca.SX.sym(name, model.n) for name in ("q", "qd", "qdd")]
    found = [model.equations.inverse_dynamics(*symbols), ca.densify(model.equations.mass_matrix(symbols[0]))]
    return ca.Function("equations", [*symbols, model.parameter_symbols], found)


# ---------------------------------------------------------------------------------------------------------- maneuver


def tip(run: Result, link: str, axis: int) -> Array:
    """Tip deflection (mm) of a link along y (1) or z (2)."""
    return 1e3 * run.deflection(link)[:, axis]


def twist(run: Result, link: str) -> Array:
    """Torsion at the tip of a link (mrad)."""
    return 1e3 * run.rotation(link)[:, 0]


def _maneuver(runs: Runs) -> Measured:
    """Numbers of the phases of the maneuver."""
    linear, both = runs.histories["linear"], [runs.histories[name] for name in ("linear", "nonlinear")]
    before, at = linear.t < SLEWING, int(np.argmin(np.abs(linear.t - 2.95)))
    across = {f"{link} {what}": [np.abs(_across(run, link, what)) for run in both]
              for link in FLEXIBLE for what in ("xz", "torsion")}  # fmt: skip
    xy = [tip(linear, link, 1) for link in FLEXIBLE]
    rates = [linear.qd[:, linear.model.index(f"{link}.bending_y.1")] for link in FLEXIBLE]
    torque = linear.tau
    return {
        "before slewing (m, rad)": {name: float(max(v[before].max() for v in pair)) for name, pair in across.items()},
        "after slewing (m, rad)": {name: float(min(v[~before].max() for v in pair)) for name, pair in across.items()},
        "swing before 0.5 s (mm)": [_swing(v[linear.t <= 0.5]) for v in xy],
        "largest rate to 0.5 s": [float(np.abs(v[linear.t <= 0.5]).max()) for v in rates],
        "largest rate to 3 s": [float(np.abs(v[(linear.t > 0.5) & before]).max()) for v in rates],
        "at 2.95 s (mm)": [float(v[at]) for v in xy],
        "at 6 s (mm)": [float(v[-1]) for v in xy],
        "moved by slewing (mm)": [float(np.abs(v[~before] - v[at]).max()) for v in xy],
        "largest torque (N m)": np.abs(torque).max(axis=0).tolist(),
        "torque still moving after 4 s": (
            np.abs(torque[linear.t > 4] - torque[-1]).max(axis=0) / np.ptp(torque, axis=0)).tolist(),
    }  # fmt: skip


def _swing(values: Array) -> float:
    """Distance by which a curve falls back from its largest value; zero for a mere rise to rest."""
    return float(values.max() - values[values.argmax() :].min())


def _across(run: Result, link: str, what: str) -> Array:
    """Tip deflection in xz (m) or torsion (rad) of a link."""
    return 1e-3 * (tip(run, link, 2) if what == "xz" else twist(run, link))


def _statics(model: Model, pose: tuple[float, ...]) -> Measured:
    """Deflections at rest (mm) and torques that carry the undeformed arm (N m), by the model and by formulas."""
    q = model.equilibrium(pose)
    bent = []
    for k, link in enumerate(FLEXIBLE, start=1):
        shape = model.link_shapes[k]
        assert shape is not None
        columns = [j for j, kind in enumerate(shape.fields) if kind == "bending_y"]
        amplitudes = [q[model.index(f"{link}.{shape.names[j]}")] for j in columns]
        bent.append(float(1e3 * np.dot(amplitudes, shape.integrals.tip[columns])))
    return {
        "deflections (mm)": bent,
        "formula (mm)": [1e3 * x for x in statics.deflections(pose)],
        "torques (N m)": np.abs(model.holding_torque(np.concatenate([pose, 0 * q[4:]]))[1:]).tolist(),
        "levers (N m)": statics.torques(pose),
    }


def _named(model: str, name: str) -> str:
    """Name of the history of a model under a controller or without damping; the first controller has none."""
    return model if name in ("damped", next(iter(RATES))) else f"{model}, {name}"


def _apart(runs: Runs, name: str) -> Measured:
    """Largest difference of linear and nonlinear curves over the range of each, as in Figs. 6 to 10."""
    linear, exact = (runs.histories[_named(model, name)] for model in ("linear", "nonlinear"))
    found: Measured = {
        "angles": _ratio(linear.q[:, :4], exact.q[:, :4]),
        "rates": _ratio(linear.qd[:, :4], exact.qd[:, :4]),
        "torques": _ratio(linear.tau, exact.tau),
        "angles (deg)": np.degrees(np.abs(linear.q[:, :4] - exact.q[:, :4]).max(axis=0)).tolist(),
    }
    for what, kind in FIELDS.items():
        columns = [k for k, name_ in enumerate(exact.coordinates) if f".{kind}." in name_]
        found[what] = _ratio(linear.q[:, columns], exact.q[:, columns])
        found[f"{what} rates"] = _ratio(linear.qd[:, columns], exact.qd[:, columns])
    return found


def _ratio(a: Array, b: Array) -> list[float]:
    """Largest difference of the columns over the range of the second."""
    return [float(x) for x in np.abs(a - b).max(axis=0) / np.ptp(b, axis=0)]


def _haste(runs: Runs) -> Measured:
    """End of the run of each model with hasty gains, and the least eigenvalue of both inertia matrices there."""
    if "linear, hasty" not in runs.histories:
        return {}
    linear, exact = (runs.histories[f"{name}, hasty"] for name in ("linear", "nonlinear"))
    last = linear.q[-1]
    return {
        "linear ends (s)": float(linear.t[-1]),
        "nonlinear ends (s)": float(exact.t[-1]),
        "xz of link 2 (mm)": float(np.abs(tip(linear, "inner", 2)[-1])),
        "least eigenvalue": {name: float(np.linalg.eigvalsh(mass_matrix(runs.models[name], last))[0])
                             for name in ("linear", "nonlinear")},
        "at the start": float(np.linalg.eigvalsh(mass_matrix(runs.models["linear"], linear.q[0]))[0]),
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- times


def _times(runs: Runs) -> Measured:
    """Ratios of times of each round, medians in seconds, and numbers of instructions."""
    ways, times = runs.derivatives, runs.times
    operators, rule, sweep = (ways[name] for name in ("operators", "chain rule", "one sweep"))
    return {
        "forming": list(rule.forming.over(operators.forming).values),
        "forming by one sweep": list(sweep.forming.over(operators.forming).values),
        "evaluating": list(rule.evaluating.over(operators.evaluating).values),
        "evaluating one sweep": list(sweep.evaluating.over(operators.evaluating).values),
        "seconds to form": {name: way.forming.median for name, way in ways.items()},
        "seconds to evaluate": {name: way.evaluating.median for name, way in ways.items()},
        "instructions": {name: way.instructions for name, way in ways.items()},
        "matrices over linear": list(times["matrices"].over(times["linear"]).values),
        "recursion over linear": list(times["nonlinear"].over(times["linear"]).values),
        "seconds": {name: samples.median for name, samples in times.items()},
    }
