"""Measured numbers of [ZZZ] that verdicts depend on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arrays import Array
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Measured
from pliant_studies.evaluation import inverse_dynamics
from pliant_studies.flexible_joints import beam
from pliant_studies.flexible_joints.runs import (
    BOOMS,
    DIVERGED,
    EAS,
    HEAVY,
    INERTIAS,
    READINGS,
    SPIN_UP,
    STIFFNESSES,
    THRESHOLD,
    Runs,
    arm,
    pendulum,
    spinning,
)

FALL_WINDOWS, BRAKED_WINDOWS = (1.25, 1.50, 1.75), (2.50, 3.00)
"""Times (s) at which Canadarm2 is judged."""
TIP = ("u_x", "v_y", "w_z", "theta_x")


def measure(runs: Runs) -> Measured:
    """Every number that a verdict depends on."""
    return {
        "beam": {"frequency (Hz)": float(spinning("zero").frequencies()[0]), "formula": beam.first_frequency()},
        "spins": _spins(runs),
        "threshold": {f"{s:g}": {"diverged": diverged(runs.spins["zero", s])} for s in THRESHOLD},
        "references": {order: {f"{s:g}": _reference(runs, order, s) for o, s in runs.references if o == order}
                       for order in ("first", "high")},
        "recursion": _recursion(runs),
        "shortening": _shortening(runs),
        "stretch": _stretches(runs),
        "joint": _joint(),
        "fall": _fall(runs),
        "braked": _braked(runs),
        "rigid limit": _rigid_limit(runs),
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------- spinning beam


def tip(run: Result) -> Array:
    """Tip deflection u_y (m)."""
    return run.deflection("arm")[:, 1]


def diverged(run: Result) -> bool:
    """Whether the run diverged."""
    return run.stats.status == "event" or bool(np.abs(run.q[:, 1]).max() > DIVERGED)


def residual(run: Result) -> float:
    """Half the range of the tip deflection once the speed is constant (m); of the whole run if it ends before."""
    after = run.t > SPIN_UP + 0.5
    return float(np.ptp(tip(run)[after if after.any() else slice(None)]) / 2)


def _spins(runs: Runs) -> Measured:
    found: Measured = {}
    for (order, speed), run in runs.spins.items():
        if speed not in THRESHOLD:
            values = tip(run)
            found.setdefault(order, {})[f"{speed:g}"] = {
                "diverged": diverged(run),
                "peak (m)": float(values.min()),
                "at (s)": float(run.t[values.argmin()]),
                "residual (m)": residual(run),
            }
    return found


def _reference(runs: Runs, order: str, speed: float) -> dict[str, float]:
    """Peak of the independent model, and the largest difference of both histories over that peak."""
    ours, other = tip(runs.spins[order, speed]), runs.references[order, speed]
    return {"peak (m)": float(other.min()), "apart": float(np.abs(ours - other).max() / np.abs(other).max())}


def _recursion(runs: Runs) -> Measured:
    """Largest difference of the paper's recursion with its Adams method from ours, over the peak."""
    spins = {}
    for speed in runs.settings["speeds"]:
        if f"spin {speed:g}" in runs.recursion:
            ours, theirs = tip(runs.spins["high", speed]), tip(runs.recursion[f"spin {speed:g}"])
            spins[f"{speed:g}"] = float(np.abs(ours - theirs).max() / np.abs(ours).max())
    return {"spin": spins, "equations": _equations(), **_recursive_fall(runs)}


def _recursive_fall(runs: Runs) -> Measured:
    if "fall" not in runs.recursion:
        return {"fall": {}}
    theirs, ours = runs.recursion["fall"], runs.falls["stiffness 2.66 MN m"]
    rows = slice(0, len(theirs))
    fall = {
        "tip": _apart(theirs.tip, ours.tip[rows], ours.tip[0]),
        "first boom": _apart(theirs.deflection(BOOMS[0]), ours.deflection(BOOMS[0])[rows], 0.0),
    }
    return {"fall": fall, "steps": theirs.stats.steps, "seconds": float(theirs.t[-1])}


def _apart(a: Array, b: Array, origin: Array | float) -> float:
    """Largest distance of two paths over the largest distance of the second from `origin`."""
    return float(np.linalg.norm(a - b, axis=1).max() / np.linalg.norm(b - origin, axis=1).max())


def _equations() -> float:
    """Relative difference of generalized forces of Canadarm2 at a random state, by the paper's recursion and by
    automatic differentiation."""
    robot = arm(1)
    rng = np.random.default_rng(3)
    models = [robot.model(name, stiffening="second-order") for name in ("recursive-lagrange", "lagrange")]
    q, qd, qdd = rng.normal(size=(3, models[0].n))
    q[5:] *= 0.1
    forces = [inverse_dynamics(model, q, qd, qdd) for model in models]
    return float(np.abs(forces[0] - forces[1]).max() / np.abs(forces[1]).max())


def _shortening(runs: Runs) -> dict[str, float]:
    y, z = runs.extra["spin about y"].deflection("arm")[:, 2], tip(runs.spins["high", 3.0])
    return {
        "about y (m)": float(np.abs(y).max()),
        "about z (m)": float(np.abs(z).max()),
        "tip mass": off_quadrature(runs.extra["spin with tip mass"], "arm"),
        "first boom": off_quadrature(runs.falls["stiffness 2.66 MN m"], BOOMS[0]),
    }


def off_quadrature(run: Result, link: str) -> float:
    """Relative difference of the shortening of a link at its tip from -1/2 of the integral of the squared slopes.

    Slopes are those of the bending shapes, v' and w'. Rotation vectors of sections are not: to second order twist turns
    them.
    """
    length = run.robot.links[[one.name for one in run.robot.links].index(link)].beam.length  # type: ignore[union-attr]
    x, w = np.polynomial.legendre.leggauss(12)
    slopes = np.array([_sum(run, link, name, (1 + x) / 2, 1) / length for name in ("bending_y", "bending_z")])
    expected = -0.5 * np.einsum("p,ktp->t", length / 2 * w, slopes**2)
    return float(np.abs(run.deflection(link)[:, 0] - axial(run, link) - expected).max() / np.abs(expected).max())


def axial(run: Result, link: str) -> Array:
    """Axial displacement of the tip of a link by its axial shapes alone (m)."""
    return _sum(run, link, "axial", np.ones(1), 0)[:, 0]


def _sum(run: Result, link: str, name: str, eta: Array, derivative: int) -> Array:
    """(N, stations) sum of the shapes of one field, or of their derivatives by eta = x / length."""
    shapes = run.model.link_shapes[[one.name for one in run.robot.links].index(link)]
    assert shapes is not None
    columns = [k for k, kind in enumerate(shapes.fields) if kind == name]
    amplitudes = np.array([run[f"{link}.{shapes.names[k]}"] for k in columns]).reshape(-1, len(run))
    return amplitudes.T @ shapes.evaluate(eta, derivative)[:, columns].T


def _stretches(runs: Runs) -> Measured:
    """Mean stretch at constant speed after 16 s, and its closed form mu w^2 L^3/(3 EA)."""
    found = {}
    for name, speed in (("stretching beam", 8.0), ("literature beam", 6.0)):
        if name in runs.extra:
            run = runs.extra[name]
            data = run.robot.links[0].beam
            assert data is not None
            exact = data.mass_per_length * speed**2 * data.length**3 / (3 * data.EA)  # type: ignore[operator]
            found[name] = {"mean (m)": float(axial(run, "arm")[run.t > 16].mean()), "closed form (m)": float(exact)}
    return found


# -------------------------------------------------------------------------------------------------- flexible joints


def _joint() -> Measured:
    """Resonance of rotor and link on a spring, and errors of the pendulum's frequency with stiffer springs."""
    K, J_1, J_2 = 2.66e6, 0.5, 2.0
    rigid = float(pendulum(None, gravity=9.81).frequencies(joints="free")[0])
    errors = [abs(float(pendulum(k, gravity=9.81).frequencies(joints="free")[0]) / rigid - 1) for k in (1e4, 1e5, 1e6)]
    return {
        "resonance": float(2 * np.pi * pendulum(K, J_1, J_2).frequencies(joints="free")[-1]),
        "closed form": float(np.sqrt(K * (1 / J_1 + 1 / J_2))),
        "errors": errors,
    }


# ------------------------------------------------------------------------------------------------------- Canadarm2


def twist(run: Result, joint: str) -> Array:
    """Torsional angle of a joint: link less motor (rad)."""
    return run[joint] - run[f"{joint}.motor"]


def _at_tip(run: Result) -> dict[str, Array]:
    """Deformations at the tip of the first boom (m, rad)."""
    moved = run.deflection(BOOMS[0])
    return dict(zip(TIP, (*moved.T, run.rotation(BOOMS[0])[:, 0])))


def _rms(values: Array, times: Array, until: float) -> float:
    return float(np.sqrt(np.mean(values[times <= until + 1e-9] ** 2)))


def _fall(runs: Runs) -> Measured:
    falls = runs.falls
    drifts = [np.abs(run.energy_balance).max() / run.energy.kinetic.max() for name, run in falls.items()]
    rotors = {f"{reading}, light": [falls[f"rotor {J:g}, {reading}"] for J in INERTIAS] for reading in READINGS}
    rotors["MN m, heavy"] = [falls[f"rotor {J:g}, MN m"] for J in HEAVY]
    printed, physical = falls["rotor 10, MN m"], falls["physical EA"]
    long = falls["long"]
    straight = long.t[np.argmax(long["lower_boom"] > 0)] if (long["lower_boom"] > 0).any() else np.nan
    return {
        "energy": float(max(drifts)),
        "elbow at the end (deg)": float(np.degrees(printed["lower_boom"][-1])),
        "straight at (s)": float(straight),
        "twist": {name: _swept(sweep, [twist(run, BOOMS[0]) for run in sweep]) for name, sweep in rotors.items()},
        "deformation": {name: _deformation(sweep) for name, sweep in rotors.items()},
        "joints": {
            f"{stiffness:.2f} {reading}": _against(falls[f"stiffness {stiffness:.2f} {reading}"],
                                                   falls["rigid joints"], FALL_WINDOWS)
            for reading in READINGS for stiffness in STIFFNESSES
        },
        "no shortening": _against(falls["no shortening"], falls["stiffness 2.66 MN m"], FALL_WINDOWS),
        "EA": {
            "u_x (m)": [float(np.abs(_at_tip(run)["u_x"]).max()) for run in (printed, physical)],
            "v_y (m)": [float(np.abs(_at_tip(run)["v_y"]).max()) for run in (printed, physical)],
            "radius of a thin tube (m)": [float(np.sqrt(2 * 3.8e6 / EA)) for EA in EAS],
        },
    }  # fmt: skip


def _deformation(sweep: Sequence[Result]) -> Measured:
    tips = [_at_tip(run) for run in sweep]
    return {what: _swept(sweep, [values[what] for values in tips]) for what in TIP}


def _swept(sweep: Sequence[Result], curves: Sequence[Array]) -> dict[str, list[float]]:
    """Root mean square of the curve of each run, over each window."""
    return {f"{until:g} s": [_rms(curve, run.t, until) for run, curve in zip(sweep, curves)] for until in FALL_WINDOWS}


def _against(run: Result, other: Result, windows: Sequence[float]) -> dict[str, float]:
    """Largest distance of the tip from that of another run, over the path of the other, up to each time."""
    found = {}
    for until in windows:
        rows = run.t <= until + 1e-9
        found[f"{until:g} s"] = _apart(run.tip[rows], other.tip[rows], other.tip[0])
    return found


def _braked(runs: Runs) -> Measured:
    rigid = runs.braked["rigid joints"]
    names = {f"{K:.2f}": runs.braked[f"stiffness {K:.2f} MN m"] for K in STIFFNESSES}
    everything = {**names, "rigid": rigid}
    return {
        "drop (m)": {name: _drops(run) for name, run in everything.items()},
        "frequency (Hz)": {name: _lowest(run) for name, run in everything.items()},
        "energy": float(max(np.abs(run.energy_balance).max() / run.energy.kinetic.max()
                            for run in runs.braked.values())),
        "no shortening": _against(runs.braked["no shortening"], runs.braked["stiffness 2.66 MN m"], BRAKED_WINDOWS),
        "weight at the shoulder (N m)": float(abs(rigid.model.holding_torque(rigid.q[0])[0])),
    }  # fmt: skip


def _drops(run: Result) -> dict[str, float]:
    """Distance by which the tip falls below its start (m), by duration."""
    way = run.tip[0, 1] - run.tip[:, 1]
    return {f"{until:g} s": float(way[run.t <= until + 1e-9].max()) for until in BRAKED_WINDOWS}


def _lowest(run: Result) -> float:
    """Lowest natural frequency (Hz) at the start, motors held."""
    return float(run.model.frequencies(run.q[0], p=run.parameters)[0])


def _rigid_limit(runs: Runs) -> dict[str, float]:
    """Largest difference of joint angles (rad) from those of the rigid arm, by the factor of every stiffness."""
    if "rigid fall" not in runs.extra:
        return {}
    rigid = runs.extra["rigid fall"].q[:, :5]
    return {f"{k}": float(np.abs(runs.extra[f"fall {k} times stiffer"].q[:, :5] - rigid).max()) for k in (30, 300)}
