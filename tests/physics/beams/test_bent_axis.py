"""Second- and third-order beams against an integrated rod, the theory of lateral buckling and an exact planar rod."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import pliant
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.mechanics.links.section_forces import InternalForces
from pliant.options import FormulationName
from pliant.robot import Lump, Origin

SPATIAL = Beam(length=0.8, mass_per_length=0.4, EI_y=900.0, EI_z=4.0, GJ=40.0, polar_inertia=1e-4)


def body(level: Any, shapes: Shapes) -> Any:
    robot = Robot(name="beam", links=[Link(name="a", joint=Joint(), beam=SPATIAL, shapes=shapes)])
    return build_chain(robot, stiffening=level).links[0].body  # type: ignore[arg-type]


def integrated_rod(arm: Any, c: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Place (in lengths) and rotation vector of the section at eta: r' = R e_x, R' = R [kappa]x, by Runge and Kutta."""
    fields, turn, L = arm.shapes.fields, arm.shapes.integrals.turn, 0.8

    def theta(x: float, order: int) -> np.ndarray:
        value, slope = (arm.shapes.evaluate(np.array([x]), order + k)[0] for k in (0, 1))
        return np.asarray(
            sum(turn[j] * (value[j] if f == "torsion" else slope[j] / L) * c[j] for j, f in enumerate(fields))
        )

    def rate(x: float, y: np.ndarray) -> np.ndarray:
        R = y[3:].reshape(3, 3)
        return np.concatenate([R[:, 0], np.cross(R, theta(x, 1)).ravel()])

    start = np.concatenate([np.zeros(3), Rotation.from_rotvec(theta(0.0, 0)).as_matrix().ravel()])
    y = solve_ivp(rate, (0, eta), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return y[:3], Rotation.from_matrix(y[3:].reshape(3, 3)).as_rotvec()


@pytest.mark.slow_cases("shapes0-third-order-4", "shapes0-second-order-3")
@pytest.mark.parametrize(("level", "order"), [("second-order", 3), ("third-order", 4)])
@pytest.mark.parametrize(
    "shapes", [Shapes(bending_y=3, bending_z=2, torsion=2), Shapes(boundary="pinned", bending_y=3)]
)
def test_place_and_rotation_of_an_integrated_rod(level: Any, order: int, shapes: Shapes) -> None:
    """Halving the amplitudes divides what is left by 2^order, at a station and at the tip: no term is missing."""
    arm = body(level, shapes)
    unit = [0.8 if f != "torsion" else 1.0 for f in arm.shapes.fields]
    c = np.random.default_rng(1).normal(size=arm.size) * unit / np.array([1, 6, 20, 1, 6, 1, 1])[: arm.size]
    for eta in (0.37, 1.0):
        left = []
        for size in (0.04, 0.02):
            r, theta = (np.array(ca.DM(x)).ravel() for x in arm.point(ca.SX(ca.DM(size * c)), eta))
            place, turned = integrated_rod(arm, size * c, eta)
            left.append([np.abs(r / 0.8 - place).max(), np.abs(theta - turned).max()])
        (r, theta), (r_half, theta_half) = left
        assert r / r_half == pytest.approx(2**order, rel=0.15)
        assert theta < 1e-11 or theta / theta_half == pytest.approx(2**order, rel=0.15)  # exact in a plane


def test_the_tip_of_the_projected_field_is_exact() -> None:
    arm = body("second-order", Shapes(bending_y=3, bending_z=2, torsion=2))
    c = ca.SX(ca.DM(0.03 * np.random.default_rng(3).normal(size=arm.size)))
    exact, kept = (np.array(ca.DM(x)) for x in (arm.point(c, 1.0)[0], arm.mass_point(c, 1.0)[0]))
    np.testing.assert_allclose(kept, exact, atol=1e-14)
    tip = arm.tip(c, ca.SX.zeros(arm.size))
    np.testing.assert_allclose(np.array(ca.DM(tip.p)), exact, atol=1e-14)
    R = Rotation.from_rotvec(np.array(ca.DM(arm.point(c, 1.0)[1])).ravel()).as_matrix()
    np.testing.assert_allclose(np.array(ca.DM(tip.R.matrix)), R, atol=1e-14)


# ------------------------------------------------------------------------- the steel strip: 1.5 x 30 mm, 0.8 m

E, NU, RHO, G0, THICK, WIDE, L = 210e9, 0.3, 7850.0, 9.81, 1.5e-3, 30e-3, 0.8
SOFT, STIFF, AREA = WIDE * THICK**3 / 12, THICK * WIDE**3 / 12, WIDE * THICK
TWIST = WIDE * THICK**3 / 3 * (1 - 192 / np.pi**5 * THICK / WIDE * sum(
    np.tanh(k * np.pi * WIDE / 2 / THICK) / k**5 for k in range(1, 40, 2)))  # fmt: skip
GJ = E / 2 / (1 + NU) * TWIST
BUCKLING = 4.0126 * np.sqrt(E * SOFT * GJ) / L**2  # of the weightless strip, clamped, load at the tip


def strip(load: float, level: Any, weight: float = 1.0, gravity: float = G0) -> Model:
    """The strip on edge: stiff against its weight, with a payload that weighs `load`."""
    beam = Beam(
        length=L, mass_per_length=RHO * AREA * weight, EI_y=E * STIFF, EI_z=E * SOFT, GJ=GJ,
        polar_inertia=RHO * (STIFF + SOFT) * weight,
    )  # fmt: skip
    shapes = Shapes(bending_y=3, bending_z=2, torsion=3, boundary="clamped-mass", tip_load="auto")
    link = Link(name="strip", joint=Joint(type="fixed"), beam=beam, shapes=shapes)
    robot = Robot(name="strip", gravity=(0, 0, -gravity), links=[link], payload=Lump(mass=load / G0))
    return robot.model(stiffening=level)


@cache
def lateral_theory(load: float, weight: float = 1.0) -> float:
    """First lateral frequency in Hz, by a Ritz solution of the classical potential: v and phi as polynomials.

    V = 1/2 int EI v''^2 + GJ phi'^2 + int M phi v'', M = P (L - x) + w (L - x)^2 / 2 the moment in the stiff plane.
    """
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2 * L
    n = 7
    p = np.arange(n)
    v, v2 = x[:, None] ** (p + 2) * L**2, (p + 2) * (p + 1) * x[:, None] ** p
    phi, phi1 = x[:, None] ** (p + 1), (p + 1) * x[:, None] ** p / L
    moment = load * L * (1 - x) + weight * RHO * AREA * G0 * (L * (1 - x)) ** 2 / 2
    K = np.zeros((2 * n, 2 * n))
    M = np.zeros((2 * n, 2 * n))
    K[:n, :n], K[n:, n:] = E * SOFT * v2.T @ (w[:, None] * v2), GJ * phi1.T @ (w[:, None] * phi1)
    K[:n, n:] = v2.T @ ((w * moment)[:, None] * phi)
    K[n:, :n] = K[:n, n:].T
    M[:n, :n] = RHO * AREA * weight * v.T @ (w[:, None] * v) + load / G0 * L**4
    M[n:, n:] = RHO * (SOFT + STIFF) * weight * phi.T @ (w[:, None] * phi)
    value = eigh(K, M, eigvals_only=True)[0]
    return float(np.sign(value) * np.sqrt(abs(value)) / (2 * np.pi))


def test_numbers_of_the_strip() -> None:
    assert pytest.approx(13.56, rel=1e-3) == BUCKLING
    found = [lateral_theory(part * BUCKLING) for part in (0.25, 0.5, 0.75)]
    np.testing.assert_allclose(found, [0.767, 0.507, 0.312], rtol=2e-3)  # Hz, as derived elsewhere


@pytest.mark.parametrize(
    ("part", "level"),
    [
        (0.75, "second-order"),
        *(pytest.param(part, "second-order", marks=pytest.mark.full) for part in (0.25, 0.5)),
        *(pytest.param(part, "third-order", marks=pytest.mark.full) for part in (0.25, 0.5, 0.75)),
    ],
)  # fmt: skip
def test_frequencies_under_a_load_in_the_stiff_plane(part: float, level: Any) -> None:
    """Without the products of twist and curvature they are 4, 16 and 56 % too high."""
    model = strip(part * BUCKLING, level)
    found = model.frequencies(model.equilibrium([]))[0]
    assert found == pytest.approx(lateral_theory(part * BUCKLING), rel=0.015 if level == "third-order" else 0.01)


@pytest.mark.full
def test_buckling_loads_of_the_strip() -> None:
    """With its own weight the strip buckles at 12.75 N, without it at 13.56 N: within 1 %."""
    for weight, expected in ((1.0, 12.75), (1e-3, BUCKLING)):
        signs = [
            (model := strip(expected * (1 + d), "second-order", weight)).frequencies(model.equilibrium([]))[0]
            for d in (-0.01, 0.01)
        ]
        assert signs[0] > 0 > signs[1]


# --------------------------------------------------------------------------------------------- a spinning strip


def spinning_theory(speed: float) -> float:
    """First torsional frequency (rad/s) of the strip spinning flat about its root, by a Ritz solution over sines.

    GJ phi'' + (T I_p/A phi')' - (j_z - j_y) speed^2 phi = j_p phi_tt, T the centrifugal tension.
    """
    x, w = np.polynomial.legendre.leggauss(60)
    x, w = (x + 1) / 2 * L, w / 2 * L
    k = (np.arange(12) + 0.5) * np.pi / L
    phi, slope = np.sin(x[:, None] * k), k * np.cos(x[:, None] * k)
    tension = RHO * AREA * speed**2 * (L**2 - x**2) / 2
    K = slope.T @ ((w * (GJ + tension * (STIFF + SOFT) / AREA))[:, None] * slope)
    gram = phi.T @ (w[:, None] * phi)
    value = eigh(K + RHO * (STIFF - SOFT) * speed**2 * gram, RHO * (STIFF + SOFT) * gram, eigvals_only=True)
    return float(np.sqrt(value[0]))


@pytest.mark.slow_cases("0.86")
@pytest.mark.parametrize("part", [pytest.param(0.3, marks=pytest.mark.full), 0.86])
def test_torsion_of_a_spinning_strip(part: float) -> None:
    """Sections turn with the twist, and tension resists it: the more, the faster it spins."""
    still = spinning_theory(0.0)
    speed = part * still
    beam = Beam(
        length=L, mass_per_length=RHO * AREA, EI_y=E * SOFT, EI_z=E * STIFF, GJ=GJ, polar_inertia=RHO * (STIFF + SOFT)
    )
    link = Link(name="strip", beam=beam, shapes=Shapes(bending_z=1, torsion=4))
    model = Robot(name="spun", gravity=(0, 0, 0), links=[link]).model(stiffening="second-order")
    q0 = {"strip": 0.0, "strip.torsion.1": 1e-3}
    run = pliant.simulate(
        model, 10 * np.pi / still, q0, {"strip": speed}, motion={"strip": lambda t: speed * t}, method="dop853",
        output_step=0.02 / still,
    )  # fmt: skip
    twist = run.q[:, model.coordinates.index("strip.torsion.1")]
    at = np.flatnonzero(twist[1:] * twist[:-1] < 0)
    times = run.t[at] - twist[at] * (run.t[at + 1] - run.t[at]) / (twist[at + 1] - twist[at])
    assert 2 * np.pi / mean_period(times) == pytest.approx(spinning_theory(speed), rel=0.005)


@pytest.mark.parametrize(
    "formulation",
    [pytest.param(name, marks=pytest.mark.full) for name in ("denoc", "gibbs-appell", "recursive-lagrange")],
)
def test_formulations_agree_on_turning_sections(formulation: FormulationName) -> None:
    beam = SPATIAL.model_copy(update={"GJ": 2.0, "polar_inertia": 0.02})
    link = Link(
        name="a", joint=Joint(axis=(0.3, 0.2, 1.0)), beam=beam, shapes=Shapes(bending_y=1, bending_z=1, torsion=2)
    )
    robot = Robot(name="strip", links=[link, link.model_copy(update={"name": "b"})])
    reference, other = (robot.model(name, stiffening="second-order") for name in ("lagrange", formulation))
    q, qd = 0.1 * np.random.default_rng(2).normal(size=(2, reference.n))
    qd[:2] = 3.0
    expected = reference.forward_dynamics(q, qd, [1.0, -2.0])
    assert np.abs(other.forward_dynamics(q, qd, [1.0, -2.0]) - expected).max() < 1e-9 * np.abs(expected).max()


def test_section_forces_close_the_balance() -> None:
    """Summed from the tip to the root they give the wrench that the recursion hands to the joint."""
    beam = SPATIAL.model_copy(update={"GJ": 2.0, "polar_inertia": 0.02})
    shapes = Shapes(bending_y=1, bending_z=1, torsion=2)
    robot = Robot(name="strip", links=[Link(name="a", joint=Joint(axis=(0.3, 0.2, 1.0)), beam=beam, shapes=shapes)])
    forces = InternalForces(build_chain(robot, stiffening="second-order"))
    state = [ca.vertcat(0.3, *x) for x in 0.1 * np.random.default_rng(4).normal(size=(3, 4))]
    found = ca.vertcat(*forces.section(0, 0.0)[::-1]), -ca.vertcat(*forces.carried[0].at_root)
    inner, outer = (np.array(ca.DM(forces.at(x, ca.SX(0), *map(ca.SX, state)))) for x in found)
    np.testing.assert_allclose(inner, outer, atol=1e-7 * np.abs(outer).max())


# ----------------------------------------------------------------------------------- a spatial arm, cut in pieces


def spatial(pieces: int) -> Robot:
    """Two links that bend and twist by some 2 % of their lengths, each cut in pieces or (0) whole with two elements."""
    every = {"method": "elements", "bending_y": True, "bending_z": True, "torsion": True}
    first = Joint(axis=(0, 0, 1), hub=Lump(mass=1.0, inertia=(0.03, 0.03, 0.05)))
    second = Joint(axis=(0, 1, 0), hub=Lump(mass=0.3, inertia=(0.01, 0.01, 0.01)), origin=Origin(rpy=(0.5, 0, 0)))
    links = []
    for name, joint, length, stiff in (
        ("a", first, 1.2, (360.0, 150.0, 108.0)),
        ("b", second, 0.9, (120.0, 210.0, 54.0)),
    ):
        for k in range(pieces or 1):
            beam = Beam(
                length=length / (pieces or 1), mass_per_length=1.1, EI_y=stiff[0], EI_z=stiff[1], GJ=stiff[2],
                polar_inertia=2e-3,
            )  # fmt: skip
            own = joint if k == 0 else Joint(type="fixed")
            links.append(
                Link(name=f"{name}{k}", joint=own, beam=beam, shapes=Shapes(count=1 if pieces else 2, **every))
            )
    payload = Lump(mass=0.25, com=(0.03, 0.05, 0.0), inertia=(0.001, 0.002, 0.003))
    return Robot(name="spatial", gravity=(0, 0, -9.81), links=links, payload=payload)


def tip_path(robot: Robot, level: Any) -> np.ndarray:
    model = robot.model(stiffening=level)
    q0 = model.equilibrium([0.2, 0.4])
    torque = list(model.holding_torque(q0) + np.array([1.2, -0.6]))
    run = pliant.simulate(model, 0.3, q0, torque=torque, rtol=1e-6, output_step=0.03)
    return np.array([model.tip_pose(q)[:3, 3] for q in run.q])


@pytest.mark.full
def test_motion_across_the_planes_is_that_of_pieces() -> None:
    """The same elements, rigidly joined: what differs is geometry alone. Without it 2 % of the motion are missed."""
    cut, whole, plain = (
        tip_path(spatial(pieces), level) for pieces, level in ((2, "second-order"), (0, "second-order"), (0, "off"))
    )
    moved = np.ptp(cut, axis=0)
    assert (np.abs(whole - cut).max(axis=0) < 0.003 * moved).all()
    assert (np.abs(plain - cut).max(axis=0) / moved).max() > 0.02


# ------------------------------------------------------------------------------- one order of place and strain


def clamped(level: Any, tip: Lump | None) -> Model:
    beam = Beam(length=1.3, mass_per_length=0.7, EI_y=9.0, EI_z=5.0)
    link = Link(name="a", joint=Joint(type="fixed"), beam=beam, shapes=Shapes(bending_y=3), tip=tip or Lump())
    return Robot(name="clamped", gravity=(0, 0, 0), links=[link]).model(stiffening=level)


def exact_period(model: Model, tip: Lump | None, c0: np.ndarray) -> float:
    """Period of an exact planar rod with the same curvatures: r' = (cos a, sin a), a = sum psi_j'(x) c_j."""
    shapes, beam = model.link_shapes[0], model.robot.links[0].beam
    assert beam is not None
    assert shapes is not None
    size, mu = beam.length, beam.mass_per_length
    x, w = np.polynomial.legendre.leggauss(24)
    x, w = (x + 1) / 2, w / 2
    slope, curvature = (shapes.evaluate(x, k) / size**k for k in (1, 2))
    end = shapes.evaluate(np.ones(1), 1)[0] / size
    powers = np.polynomial.legendre.legvander(2 * x - 1, 23)
    sums = np.array([np.polynomial.legendre.legval(2 * x - 1, np.polynomial.legendre.legint(row, lbnd=-1)) / 2
                     for row in np.eye(24)]).T @ np.linalg.inv(powers) * size  # fmt: skip
    K = beam.EI_z * size * curvature.T @ (w[:, None] * curvature)
    c = ca.SX.sym("c", 3)
    cd = ca.SX.sym("cd", 3)
    angle = ca.mtimes(ca.DM(slope), c)
    T = ca.SX(0)
    for part in (ca.cos(angle), ca.sin(angle)):
        at = ca.jtimes(ca.mtimes(ca.DM(sums), part), c, cd)
        T += mu * size / 2 * ca.dot(ca.DM(w), at**2)
        if tip is not None:
            T += tip.mass / 2 * (size * ca.dot(ca.DM(w), ca.jtimes(part, c, cd))) ** 2
    if tip is not None:
        T += tip.inertia[2] / 2 * ca.dot(ca.DM(end), cd) ** 2
    M = ca.hessian(T, cd)[0]
    force = ca.gradient(T, c) - ca.jtimes(ca.gradient(T, cd), c, cd) - ca.mtimes(ca.DM(K), c)
    rate = ca.Function("rate", [c, cd], [ca.solve(M, force)])
    y = np.concatenate([c0, np.zeros(3)])

    def crossing(t: float, y: np.ndarray) -> float:
        return float(y[0])

    run = solve_ivp(
        lambda t, y: np.concatenate([y[3:], np.array(rate(y[:3], y[3:]))[:, 0]]), (0, 6.0), y,
        method="DOP853", rtol=1e-10, atol=1e-12, events=crossing,
    )  # fmt: skip
    return mean_period(run.t_events[0])


def mean_period(crossings: np.ndarray) -> float:
    return float(2 * np.polyfit(np.arange(len(crossings)), crossings, 1)[0])


@pytest.mark.slow_cases("tip1")
@pytest.mark.parametrize("tip", [pytest.param(None, marks=pytest.mark.full), Lump(mass=0.45, inertia=(0.0, 0.0, 0.12))])
def test_period_at_a_tenth_of_the_length(tip: Lump | None) -> None:
    """Third-order place goes with quadratic strain: the exact planar rod is met to 1e-4; second order alone is soft by
    0.3 %."""
    periods = {}
    for level in ("second-order", "third-order"):
        model = clamped(level, tip)
        assert model.link_shapes[0] is not None
        vectors = eigh(*_linear(model))[1]
        shape = vectors[:, 0] / (model.link_shapes[0].evaluate(np.ones(1))[0] @ vectors[:, 0])
        c0 = 0.13 * shape
        run = pliant.simulate(model, 6.0, c0, method="dop853", rtol=1e-10, atol=1e-12, output_step=0.01)
        first = run.q[:, 0]
        at = np.flatnonzero(first[1:] * first[:-1] < 0)
        times = run.t[at] - first[at] * (run.t[at + 1] - run.t[at]) / (first[at + 1] - first[at])
        periods[level] = mean_period(times)
    exact = exact_period(model, tip, c0)
    assert periods["third-order"] == pytest.approx(exact, rel=1e-4)
    assert periods["second-order"] / exact - 1 > (5e-4 if tip else 2e-3)


def _linear(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass about rest."""
    zero = np.zeros(model.n)
    columns = [(model.bias(step, zero) - model.bias(-step, zero)) / 2e-5 for step in 1e-5 * np.eye(model.n)]
    return np.array(columns), model.mass_matrix(zero)


# -------------------------------------------------------------------------------------------- definite inertia


@pytest.mark.slow_cases("lab-arm-second-order")
@pytest.mark.parametrize(("name", "level"), [("lab-arm", "second-order"), ("spin-up", "third-order")])
def test_inertia_stays_positive_definite(name: str, level: Any) -> None:
    """M is a square at any deflection: random poses, deflections up to a tenth of each length."""
    model = pliant.load(name).model(stiffening=level)
    assert smallest(model, 40) > 0


@pytest.mark.full
@pytest.mark.parametrize("level", ["second-order", "third-order"])
@pytest.mark.parametrize("name", [name for name in pliant.robot.arms() if name != "puma"])  # which is rigid
def test_inertia_of_all_bundled_arms_stays_positive_definite(name: str, level: Any) -> None:
    assert smallest(pliant.load(name).model(stiffening=level), 200) > 0


def smallest(model: Model, count: int) -> float:
    """Smallest eigenvalue of M, scaled to a unit diagonal, over random states."""
    rng = np.random.default_rng(5)
    least = np.inf
    for _ in range(count):
        q = rng.uniform(-np.pi, np.pi, model.n_q)
        for link, shapes in zip(model.robot.links, model.link_shapes):
            if link.body is not None:
                body = link.body.reduced
                c, tip = rng.normal(size=body.size) / (1 + np.arange(body.size)) ** 2, body.frames.index("tip")
                c *= rng.uniform(0.2, 1.0) * 0.1 * np.abs(body.places[tip]).max() / np.abs(body.moves @ c).max()
                q[[model.coordinates.index(f"{link.name}.{name}") for name in body.names]] = c
            if shapes is None or link.beam is None:
                continue
            length = link.beam.length
            if link.beam.slides:
                length = q[model.index(link.name)] = rng.uniform(link.joint.limits.lower, link.joint.limits.upper)
            c = rng.normal(size=shapes.size) / (1 + np.arange(shapes.size) % 3) ** 2
            values = shapes.evaluate(np.linspace(0, 1, 11)) * [length**p for p in shapes.powers]
            size = rng.uniform(0.2, 1.0) * 0.1
            for field in set(shapes.fields):
                own = np.array([f == field for f in shapes.fields])
                limit = {"torsion": 0.1, "axial": 1e-3 * length}.get(field, size * length)
                c[own] *= limit / np.abs(values[:, own] @ c[own]).max()
            at = [model.coordinates.index(f"{link.name}.{name}") for name in shapes.names]
            q[at] = c
        M = model.mass_matrix(q)
        scale = 1 / np.sqrt(np.diag(M))
        least = min(least, float(np.linalg.eigvalsh(M * scale[:, None] * scale)[0]))
    return least
