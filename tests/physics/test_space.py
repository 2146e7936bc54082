"""Free-flying arms: momentum, generalized Jacobian, reactions on the base, wheels, thrusters, free-free vibration."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.errors import ModelError
from pliant.mechanics import FORMULATIONS, Equations
from pliant.robot import BaseBody, Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes
from pliant.robot.parts.bodies.rigid_body import inertia_matrix

BODY = BaseBody(type="free", mass=31.0, com=(0.02, 0.05, -0.04), inertia=(2.1, 3.2, 2.6, 0.1, -0.2, 0.15))
NONLINEAR = ("denoc", "lagrange", "gibbs-appell", "recursive-lagrange")


def flyer(gravity: Any = (0.0, 0.0, 0.0), base: BaseBody = BODY) -> Robot:
    """A body with a flexible arm of two joints, a flexible panel and a skew wheel."""
    beam = Beam(
        length=1.2, mass_per_length=2.3, EI_y=310.0, EI_z=420.0, GJ=150.0, polar_inertia=3e-3, rotary=(2e-3, 1e-3)
    )
    panel = Beam(length=1.7, mass_per_length=1.1, EI_y=90.0, EI_z=700.0)
    hub = Lump(inertia=(0.02, 0.015, 0.01), mass=0.4, com=(0.01, 0.0, 0.02))
    links = [
        Link(
            name="upper", joint=Joint(axis=(0, 1, 0), origin=Origin(xyz=(0.3, 0.1, 0.2)), hub=hub), beam=beam,
            shapes=Shapes(bending_y=1, bending_z=1, torsion=1), tip=Lump(mass=0.5, inertia=(0.01, 0.02, 0.015)),
        ),
        Link(name="fore", joint=Joint(axis=(0, 0.6, 0.8)), rigid=RigidBody.slender_rod(2.0, 0.7)),
        Link(
            name="panel", parent="base", joint=Joint(type="fixed", origin=Origin(xyz=(-0.2, 0.3, 0), rpy=(0, 0, 1.5))),
            beam=panel, shapes=Shapes(bending_y=1, bending_z=2),
        ),
        Link.wheel("wheel", axis=(1.0, 2.0, -2.0), inertia=0.08, mass=1.5, origin=Origin(xyz=(0.05, -0.1, 0.07))),
    ]  # fmt: skip
    return Robot(name="flyer", gravity=gravity, base=base, links=links)


@cache
def model(formulation: str = "denoc", stiffening: Any = "off") -> Any:
    return flyer().model(formulation, stiffening=stiffening)


def some_state(model: Any, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng((seed, 2250))
    q = model.state({"base": {"position": rng.normal(size=3), "quaternion": rng.normal(size=4)}})
    q[7:] = 0.03 * rng.normal(size=model.n_q - 7)
    q[model.index("upper")], q[model.index("fore")] = rng.uniform(-2, 2, 2)
    return q, rng.normal(size=model.n)


@pytest.mark.slow_cases("second-order")
@pytest.mark.parametrize("stiffening", ["off", "second-order"])
def test_momentum_is_that_of_the_rows_of_the_base(stiffening: Any) -> None:
    """Linear momentum R (M v)_v; angular momentum R (M v)_w, moved from the base to the center of mass."""
    m = model(stiffening=stiffening)
    q, qd = some_state(m)
    body, R = (m.mass_matrix(q) @ qd)[:6], m.pose(q, frame="base")[:3, :3]
    linear = R @ body[3:]
    angular = R @ body[:3] - np.cross(m.center_of_mass(q) - q[:3], linear)
    assert m.momentum(q, qd) == pytest.approx(np.concatenate([angular, linear]), rel=1e-12, abs=1e-12)
    many = m.momentum(np.tile(q, (3, 1)), np.tile(qd, (3, 1)))
    assert many.shape == (3, 6)
    assert (many == m.momentum(q, qd)).all()


def test_the_center_of_mass_moves_with_the_linear_momentum() -> None:
    """Mass times the difference of positions, along a run under internal torques; and the mass by hand."""
    m = model()
    q, qd = some_state(m, 1)
    run = pliant.simulate(m, 2e-3, q, 0.3 * qd, torque=[1.0, -2.0, 0.5], output_step=1e-3, rtol=1e-11, atol=1e-13)
    mass = 31.0 + 1.2 * 2.3 + 0.4 + 0.5 + 2.0 + 1.7 * 1.1 + 1.5
    places = m.center_of_mass(run.q)
    assert mass * (places[2] - places[0]) / 2e-3 == pytest.approx(run.momentum[1, 3:], abs=1e-8)


def test_momentum_on_a_fixed_base() -> None:
    """That of a rod about its end, m w L/2 at its center and m L^2/12 w about it; a parameter moves it."""
    rod = Robot(name="rod", links=[Link(name="rod", rigid=RigidBody.slender_rod(3.0, 0.8))])
    m = rod.model(parameters=["links.rod.rigid.mass"])
    assert m.momentum([0.0], [2.0]) == pytest.approx([0, 0, 2.0 * 3 * 0.64 / 12, 0, 2.0 * 3 * 0.4, 0])
    assert m.momentum([0.0], [2.0], p=[6.0])[4] == pytest.approx(2.0 * 6 * 0.4)
    assert m.center_of_mass([np.pi / 2]) == pytest.approx([0, 0.4, 0], abs=1e-15)


def test_internal_torques_keep_the_momentum() -> None:
    """Under torques of arm and wheel, bending and spinning, about the center of mass and in axes that stand still."""
    m = model()
    q, qd = some_state(m, 2)
    run = pliant.simulate(
        m, 1.0, q, 0.3 * qd, torque=[2.0, -1.0, 0.7], output_step=0.1, rtol=1e-11, atol=1e-13, limits=False
    )
    drift = np.abs(run.momentum - run.momentum[0])
    assert np.linalg.norm(run.momentum[0, :3]) > 0.5
    assert np.ptp(run["upper"]) > 0.1
    assert drift.max() < 1e-9 * np.abs(run.momentum[0]).max()


@pytest.mark.full
def test_a_free_flyer_keeps_its_momentum_over_200_s() -> None:
    """The bundled one, tumbling, its wheels spinning, arm and wheels driven: to 1e-9 at rtol 1e-11."""
    m = pliant.load("free-flyer").model(stiffening="off")
    qd = np.zeros(m.n)
    qd[:9] = [0.01, -0.02, 0.03, 0.05, 0.02, -0.01, 100.0, -50.0, 80.0]
    t = np.linspace(0.0, 200.0, 401)
    size = np.array([0.02, 0.01, 0.02, 0.5, 0.4, 0.3, 0.1, 0.05, 0.02])
    tau = size * np.sin(np.outer(t, [0.1, 0.05, 0.07, 0.3, 0.2, 0.25, 1.0, 0.5, 0.7]))
    run = pliant.simulate(
        m, 200.0, m.state({"upper": -0.8, "fore": 1.2}), qd, torque=(t, tau, "cubic"), output_step=10.0, rtol=1e-11,
        atol=1e-13, limits=False,
    )  # fmt: skip
    assert run.stats.status == "finished"
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9 * np.abs(run.momentum[0]).max()


def test_generalised_jacobian() -> None:
    """The velocity of a frame whose base gives way as momentum asks; a heavy base gives none."""
    m = model()
    q, _ = some_state(m, 3)
    rates = np.random.default_rng(5).normal(size=m.n - 6)
    M = m.mass_matrix(q)
    speeds = np.concatenate([-np.linalg.solve(M[:6, :6], M[:6, 6:] @ rates), rates])
    assert np.abs(m.momentum(q, speeds)).max() < 1e-12
    for frame in ("tip", "upper.tip", "base"):
        found = m.generalised_jacobian(q, frame=frame)
        assert found.shape == (6, m.n - 6)
        assert found @ rates == pytest.approx(m.velocity(q, speeds, frame=frame), abs=1e-12)
    assert (m.generalised_jacobian(np.stack([q, q]))[1] == m.generalised_jacobian(q)).all()
    heavy = flyer(base=BaseBody(type="free", mass=1e9, inertia=(1e9, 1e9, 1e9))).model(stiffening="off")
    assert heavy.generalised_jacobian(q) == pytest.approx(heavy.jacobian(q)[:, 6:], abs=1e-6)


def test_reaction_null_motion() -> None:
    """Speeds in the null space of the angular rows of the coupling inertia leave the attitude, of all rows the base."""
    m = model()
    q, _ = some_state(m, 4)
    H, M = m.coupling_inertia(q), m.mass_matrix(q)
    for rows, still in ((H[:3], slice(0, 3)), (H, slice(0, 6))):
        null = np.linalg.svd(rows)[2][len(rows) :].T
        assert null.shape == (m.n - 6, m.n - 6 - len(rows))
        base = -np.linalg.solve(M[:6, :6], M[:6, 6:] @ null)
        assert np.abs(base[still]).max() < 1e-12
    assert np.abs(base).max() < 1e-12
    rates = np.concatenate([np.zeros((6, m.n - 6)), np.eye(m.n - 6)])
    R = m.pose(q, frame="base")[:3, :3]
    whole = np.array([m.momentum(q, rate) for rate in rates.T]).T
    assert np.vstack([R @ H[:3], R @ H[3:]]) == pytest.approx(whole, abs=1e-12)


def test_what_flies_is_asked_of_a_free_base_alone() -> None:
    fixed = pliant.load("two-link").model()
    for function in (fixed.generalised_jacobian, fixed.coupling_inertia):
        with pytest.raises(ModelError, match=r"got a base that does not fly, expected base: {type: free"):
            function(np.zeros(4))


def base_balance(run: Any, force: Any, moment: Any, gravity: Any = (0.0, 0.0, 0.0)) -> tuple[Any, Any]:
    """What the base needs for its motion besides gravity and an outer wrench about its origin, in its own axes."""
    c, I = np.array(BODY.com), np.array(inertia_matrix(BODY.inertia))
    R = run.pose("base")[:, :3, :3]
    w, v, alpha = run.qd[:, :3], run.qd[:, 3:6], run.qdd[:, :3]
    a = run.qdd[:, 3:6] + np.cross(w, v) + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    f = BODY.mass * (a - np.einsum("tji,j->ti", R, gravity)) - force
    n = alpha @ I + np.cross(w, w @ I) + BODY.mass * np.cross(c, a - np.einsum("tji,j->ti", R, gravity)) - moment
    return f, n


def test_the_arm_pulls_on_a_free_base_as_its_motion_says() -> None:
    """Newton for the center of mass of the base and Euler about it, with a thruster off the center and gravity."""
    m = flyer(gravity=(0.3, -1.0, 2.0)).model(stiffening="off")
    q, qd = some_state(m, 6)
    thrust, nozzle = np.array([3.0, -1.0, 2.0]), np.array([-0.4, 0.2, 0.1])
    jet = pliant.loads.Wrench(force=thrust, moment=np.cross(nozzle, thrust), link="base", axes="link")
    run = pliant.simulate(m, 0.02, q, 0.5 * qd, torque=[2.0, -1.0, 0.7], loads=[jet], output_step=0.01)
    f, n = base_balance(run, thrust, np.cross(nozzle, thrust), (0.3, -1.0, 2.0))
    found = run.reaction("base")
    assert np.abs(f).max() > 1.0
    assert found.force == pytest.approx(f, abs=1e-9 * np.abs(f).max())
    assert found.moment == pytest.approx(n, abs=1e-9 * np.abs(n).max())
    turned = run.reaction("base", axes="base").force
    assert turned == pytest.approx(np.einsum("tij,tj->ti", run.pose("base")[:, :3, :3], f), abs=1e-9 * np.abs(f).max())


def test_the_arm_pulls_on_a_fixed_base() -> None:
    """At rest it is the weight, and its moment about the origin; two links stand on it."""
    rods = [
        Link(
            name=name, parent="base", joint=Joint(axis=(0, 1, 0), origin=Origin(xyz=place)),
            rigid=RigidBody.slender_rod(mass, 1.0),
        )
        for name, place, mass in (("left", (0.1, 0.3, 0.0), 2.0), ("right", (0.1, -0.2, 0.0), 5.0))
    ]  # fmt: skip
    m = Robot(name="two", links=rods, gravity=(0, 0, -10.0)).model()
    run = pliant.simulate(m, 0.01, torque=m.holding_torque([0.0, 0.0]), output_step=0.01)
    for axes in ("link", "base"):
        found = run.reaction("base", axes)
        assert found.force[-1] == pytest.approx([0.0, 0.0, -70.0], abs=1e-9)
        assert found.moment[-1] == pytest.approx([-20 * 0.3 + 50 * 0.2, 70 * 0.6, 0.0], abs=1e-9)


# ------------------------------------------------------------------------------------------------ wheels


def gyrostat(I: Any, a: Any, J: float, w: Any, wheel: float, torque: float, t_end: float) -> Any:
    """Angular velocity and h of I wd + w x (I w + h a) = -hd a, hd = torque: the body with the wheel locked in I less
    its moment about the axis."""
    from scipy.integrate import solve_ivp

    def rates(t: float, x: Any) -> Any:
        w, h = x[:3], x[3]
        return [*np.linalg.solve(I, -torque * a - np.cross(w, I @ w + h * a)), torque]

    start = [*w, J * (wheel + a @ w)]
    return solve_ivp(rates, (0, t_end), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, -2.0, 2.0)])
def test_a_wheel_is_a_gyrostat(axis: Any) -> None:
    """A body with a spinning, driven wheel against the closed form; torque on the base -hd - w x h."""
    a, J, torque = np.array(axis) / np.linalg.norm(axis), 0.3, 0.4
    base = BaseBody(type="free", mass=20.0, inertia=(3.0, 4.0, 5.0, 0.2, -0.3, 0.1))
    m = Robot(
        name="gyrostat", gravity=(0, 0, 0), base=base, links=[Link.wheel("wheel", axis=axis, inertia=J)]
    ).model()  # fmt: skip
    run = pliant.simulate(
        m, 2.0, qd0=[0.3, -0.5, 0.7, 0, 0, 0, 12.0], torque=[torque], output_step=1.0, rtol=1e-11, atol=1e-13
    )
    I = np.array(inertia_matrix(base.inertia))
    end = gyrostat(I, a, J, [0.3, -0.5, 0.7], 12.0, torque, 2.0)
    assert run.qd[-1, :3] == pytest.approx(end[:3], abs=1e-9)
    stored = m.stored_momentum(run.q, run.qd, "wheel")
    assert stored[-1] == pytest.approx(end[3], abs=1e-9)
    assert stored == pytest.approx(J * (run.qd[:, 6] + run.qd[:, :3] @ a), abs=1e-12)
    on_base = run.reaction("base").moment
    assert on_base == pytest.approx(-torque * a - np.cross(run.qd[:, :3], stored[:, None] * a), abs=1e-9)
    assert run.momentum == pytest.approx(np.tile(run.momentum[0], (len(run), 1)), abs=1e-9)
    whole = I @ np.array([0.3, -0.5, 0.7]) + stored[0] * a
    assert run.momentum[0, :3] == pytest.approx(whole, abs=1e-12)


def test_formulations_agree_with_wheels_and_panels() -> None:
    """Accelerations of a free-flying tree with a wheel that has a moment about its axis alone."""
    chain = model().chain
    state = *some_state(model(), 7), np.array([1.0, -2.0, 0.5])
    symbols = [ca.SX.sym("x", len(x)) for x in state]
    found = {
        name: np.array(
            ca.Function("f", symbols, [Equations(chain, FORMULATIONS[name]).forward_dynamics(*symbols)])(*state)
        )
        for name in NONLINEAR
    }
    right = found.pop("lagrange")
    for name, ours in found.items():
        assert np.abs(ours - right).max() < 1e-9 * np.abs(right).max(), name


# --------------------------------------------------------------------------------------- vibration and rest


def two_panels(base: BaseBody, length: float = 2.0, **shapes: Any) -> Robot:
    """Equal beams to either side of a body, in one line."""
    beam = Beam(length=length, mass_per_length=1.5, EI_z=70.0)
    links = [
        Link(
            name=name, parent="base", joint=Joint(type="fixed", origin=Origin(rpy=(0.0, 0.0, turn))), beam=beam,
            shapes=Shapes(**shapes),
        )
        for name, turn in (("left", 0.0), ("right", "180 deg"))
    ]  # fmt: skip
    return Robot(name="panels", gravity=(0, 0, 0), base=base, links=links)


def test_two_beams_on_nothing_are_a_free_free_beam() -> None:
    """(beta L)^2 sqrt(EI / mu L^4) with cos cosh = 1; the six rigid motions are exact zeros."""
    robot = two_panels(
        BaseBody(type="free", mass=1e-7, inertia=(1e-7, 1e-7, 1e-7)), method="elements", count=12, bending_y=1
    )
    found = 2 * np.pi * robot.model(stiffening="off").frequencies()
    roots = np.array([4.730040744862704, 7.853204624095838, 10.995607838001671])
    assert (found[:6] == 0.0).all()
    assert found[6:9] == pytest.approx(roots**2 * np.sqrt(70.0 / 1.5) / 16.0, rel=4e-5)


def test_a_heavy_base_clamps_its_panels() -> None:
    """1.875^2, 4.694^2; and each twice."""
    robot = two_panels(BaseBody(type="free", mass=1e9, inertia=(1e9, 1e9, 1e9)), bending_y=2)
    found = 2 * np.pi * robot.model(stiffening="off").frequencies()
    roots = np.array([1.8751040687119611, 4.694091132974175])
    assert (found[:6] == 0.0).all()
    assert found[6:] == pytest.approx(np.repeat(roots**2 * np.sqrt(70.0 / 1.5) / 4.0, 2), rel=1e-7)


@pytest.mark.parametrize("joints", ["locked", "free"])
def test_modes_of_a_free_base(joints: Any) -> None:
    """Orthogonal, the first six rigid: shifts, and turns about the center of mass; the others without momentum."""
    m = model()
    q, _ = some_state(m, 8)
    modes = m.modes(q, joints)
    squares, Phi = modes.omega**2, modes.shapes
    M, K = m.mass_matrix(q), m.stiffness(q)
    assert (squares[:6] == 0).all()
    assert (squares[6:8] == 0).all() == (joints == "free")
    assert np.abs(Phi.T @ M @ Phi - np.eye(len(squares))).max() < 1e-12
    assert np.abs(Phi.T @ K @ Phi - np.diag(squares)).max() < 1e-12 * squares.max()
    assert np.abs(Phi[:3, 3:6]).max() == np.abs(Phi[6:, :6]).max() == 0
    assert np.abs([m.momentum(q, shape) for shape in Phi[:, 6:].T]).max() < 1e-12
    assert np.abs([m.momentum(q, shape)[3:] for shape in Phi[:, :3].T]).max() < 1e-12
    found = pliant.analysis.controllability(m, q, joints)
    assert [found.owner(k) for k in range(6)] == list(m.speeds[:6])
    with pytest.raises(ModelError, match="a free base does not rest under them"):
        m.frequencies(q, loads=[pliant.loads.Wrench(force=(1.0, 0.0, 0.0))])


def test_gravity_changes_no_frequency_of_what_falls() -> None:
    falling = flyer(gravity=(0.0, 0.0, -9.81)).model(stiffening="off")
    assert (falling.frequencies() == model().frequencies()).all()


def test_a_shaper_leaves_the_rigid_motions_out() -> None:
    robot = two_panels(BaseBody(type="free", mass=40.0, inertia=(9.0, 8.0, 7.0)), bending_y=2)
    model = robot.model(stiffening="off")
    shaper = pliant.control.shaper_for(model, [], kind="zv")
    assert shaper.times[-1] == pytest.approx(0.5 / model.frequencies()[6])


def test_rest_of_a_free_base() -> None:
    """It stays; a pull between two places bends what lies between; one pull alone, and gravity, are refused."""
    m = model()
    push = pliant.loads.Wrench(force=(3.0, 0.0, 0.0), link="upper", x=0.6, axes="base")
    pull = pliant.loads.Wrench(force=(-3.0, 0.0, 0.0), link="upper", x=0.3, axes="base")
    assert (m.equilibrium([0.3, 0.2, 0.0])[:7] == [0, 0, 0, 1, 0, 0, 0]).all()
    with pytest.raises(ModelError, match="loads: what acts on the free base does not add up to zero"):
        m.equilibrium([0.3, 0.2, 0.0], loads=[push, pull])
    straight = [
        pliant.loads.Wrench(force=(sense * 3.0, 0.0, 0.0), link="upper", x=x, axes="link")
        for sense, x in ((1.0, 1.0), (-1.0, 0.2))
    ]
    assert m.equilibrium([0.3, 0.2, 0.0], loads=straight).shape == (m.n_q,)
    assert (m.equilibrium([0.3, 0.2, 0.0], rates={"wheel": 30.0})[:7] == [0, 0, 0, 1, 0, 0, 0]).all()
    with pytest.raises(ModelError, match="rates: what acts on the free base"):
        m.equilibrium([0.3, 0.2, 0.0], rates={"upper": 3.0})
    falling = flyer(gravity=(0.0, 0.0, -9.81))
    assert str(falling).endswith("; the free base falls under this gravity")
    with pytest.raises(ModelError, match=r"gravity: got .* on a free base, which falls; set gravity to \[0, 0, 0\]"):
        falling.model(stiffening="off").equilibrium([0.3, 0.2, 0.0])
