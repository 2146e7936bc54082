"""Rest, steady spin and small vibrations about them: loads that follow the arm, motors that are held, joints that spin.

References: Beck's column, Southwell coefficients, the rotating beam of Wright et al. (1982), a rotor in its own axes, a
governor with a spring."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_beam, unequal_two_link
from pliant import Beam, Joint, Link, RigidBody, Robot, Shapes
from pliant.errors import ModelError
from pliant.loads import Wrench
from pliant.robot import Drive, Lump, Origin

BETA = 1.8751040687119611  # first root of the clamped beam
L, MU, EI_Y, EI_Z = 1.3, 2.1, 70.0, 160.0
PLAIN = Beam(length=L, mass_per_length=MU, EI_y=EI_Y, EI_z=EI_Z)


def clamped_mode(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope d/d(eta) of the first clamped mode, in closed form."""
    sigma = (np.cosh(BETA) + np.cos(BETA)) / (np.sinh(BETA) + np.sin(BETA))
    x = BETA * eta
    value = np.cosh(x) - np.cos(x) - sigma * (np.sinh(x) - np.sin(x))
    return value, BETA * (np.sinh(x) + np.sin(x) - sigma * (np.cosh(x) - np.cos(x)))


def test_southwell_coefficients() -> None:
    """One mode: w^2 = w0^2 + c W^2 out of the plane of rotation, and (c - 1) W^2 in it; c by quadrature."""
    model = unequal_beam(Shapes(bending_y=1, bending_z=1), PLAIN).model(stiffening="second-order")
    eta, weight = np.polynomial.legendre.leggauss(40)
    eta, weight = (eta + 1) / 2, weight / 2
    value, slope = clamped_mode(eta)
    c = (weight @ ((1 - eta**2) / 2 * slope**2)) / (weight @ value**2)
    assert c == pytest.approx(1.193, abs=1e-3)
    rate = 6.0
    still = 2 * np.pi * model.frequencies()
    q = model.equilibrium([0.4], rates=[rate])
    assert np.abs(q[1:]).max() < 1e-12
    found = 2 * np.pi * model.frequencies(q, rates=[rate])
    out_of_plane, in_plane = still  # EI_y is the smaller one
    expected = [np.sqrt(out_of_plane**2 + c * rate**2), np.sqrt(in_plane**2 + (c - 1) * rate**2)]
    assert found == pytest.approx(expected, rel=1e-8)
    assert 2 * np.pi * model.frequencies(q) == pytest.approx(still, rel=1e-12)


WRIGHT = {1.0: (3.6817, 22.1810, 61.8418), 12.0: (13.1702, 37.6031, 79.6145)}
"""Flapping frequencies over sqrt(EI / mu L^4) of a clamped beam, hub of no radius, by spin rate in the same unit."""


@pytest.mark.parametrize("spin", [pytest.param(1.0, marks=pytest.mark.full), 12.0])
@pytest.mark.parametrize("plane", ["bending_y", "bending_z"])
def test_rotating_beam_of_wright(plane: str, spin: float) -> None:
    """Out of the plane of rotation, and in it, where squares are less by that of the spin."""
    model = unequal_beam(Shapes(**{plane: 4}), PLAIN).model(stiffening="second-order")
    unit = np.sqrt((EI_Y if plane == "bending_z" else EI_Z) / (MU * L**4))
    rates = {"arm": spin * unit}
    found = 2 * np.pi * model.frequencies(rates=rates)
    flapping = np.sqrt((found / unit) ** 2 + (spin**2 if plane == "bending_y" else 0.0))
    assert flapping[:2] == pytest.approx(WRIGHT[spin][:2], rel=2e-3)  # with seven shapes three to 1e-4
    poles = np.linalg.eigvals(model.linearize(np.zeros(model.n), rates, joints="locked").A)
    assert np.sort(poles.imag[poles.imag > 0]) == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize("rate", [5.0, 15.0, 30.0])
def test_a_rotor_in_its_own_axes(rate: float) -> None:
    """A beam that turns about its own line: (wy^2 - W^2 - w^2)(wz^2 - W^2 - w^2) = 4 W^2 w^2; unstable in between."""
    joint = Joint(axis=(1, 0, 0), hub=Lump(mass=0.2, inertia=(0.01, 0.01, 0.01)))
    robot = unequal_beam(Shapes(bending_y=1, bending_z=1, damping=0.02), PLAIN, joint=joint)
    model = robot.replace({"gravity": (-9.0, 0.0, 0.0)}).model()
    wz, wy = (2 * np.pi * model.frequencies()).tolist()
    assert 5.0 < wz < 15.0 < wy < 30.0
    a, b = wy**2 - rate**2, wz**2 - rate**2
    squares = np.roots([1.0, -(a + b + 4 * rate**2), a * b]).real
    expected = np.sort(np.sign(squares) * np.sqrt(np.abs(squares)))
    assert 2 * np.pi * model.frequencies(rates=[rate]) == pytest.approx(expected, rel=1e-8)


def test_a_governor_with_a_spring() -> None:
    """A hinge on a spindle, its motor held: k (x - x_m) = m W^2 (e + r cos x) r sin x - m g r cos x, with inertia."""
    m, r, e, k, rate, held, g = 1.7, 0.6, 0.2, 40.0, 4.0, -0.3, 9.81
    spindle = Link(
        name="spindle", rigid=RigidBody(mass=3.0, inertia=(0.1, 0.1, 0.1), tip=(e, 0, 0)), joint=Joint(axis=(0, 0, 1))
    )
    arm = Link(
        name="arm", rigid=RigidBody(mass=m, com=(r, 0, 0), inertia=(0, 0, 0), tip=(r, 0, 0)),
        joint=Joint(axis=(0, -1, 0), drive=Drive(stiffness=k, rotor_inertia=0.2)),
    )  # fmt: skip
    model = Robot(name="governor", gravity=(0, 0, -g), links=[spindle, arm]).model()
    q = model.equilibrium([0.7, held], held="motors", rates={"spindle": rate})
    assert q[[0, 2]] == pytest.approx([0.7, held], abs=1e-15)
    x = q[1]
    torque = -m * rate**2 * (e + r * np.cos(x)) * r * np.sin(x) - m * g * r * np.cos(x)
    assert k * (x - held) == pytest.approx(torque, rel=1e-10)
    assert abs(x - held) > 0.1
    by_x = -m * rate**2 * r * (-r * np.sin(x) ** 2 + (e + r * np.cos(x)) * np.cos(x)) + m * g * r * np.sin(x)
    assert (2 * np.pi * model.frequencies(q, rates={"spindle": rate})) ** 2 == pytest.approx(
        [(k - by_x) / (m * r**2)], rel=1e-9
    )
    motion = {"spindle": lambda t: 0.7 + rate * t, "arm.motor": lambda t: held + 0 * t}
    run = pliant.simulate(model, 1.0, q, motion=motion)
    assert np.abs(run["arm"] - x).max() < 1e-9


def test_a_spin_that_does_not_settle_is_refused() -> None:
    model = unequal_two_link().model(stiffening="off")  # gravity across the axis
    with pytest.raises(ModelError, match=r"rates: forces on the arm change as upper turns"):
        model.equilibrium([0.2, 0.3], rates=[2.0, 0.0])
    with pytest.raises(ModelError, match=r"rates: forces on the arm change"):
        model.frequencies(rates=[2.0, 0.0])
    level = unequal_two_link().replace({"gravity": (0.0, 0.0, -9.81)}).model(stiffening="off")
    with pytest.raises(ModelError, match=r"rates: forces on the arm change as fore turns"):
        level.equilibrium([0.2, 0.3], rates=[2.0, 1.0])  # an elbow that turns changes the shape of the arm
    with pytest.raises(ModelError, match=r"rates: got one of 'upper.bending_y.1'"):
        level.equilibrium([0.2, 0.3], rates=[2.0, 0.0, 1.0, 0.0])
    assert level.equilibrium([0.2, 0.3], rates=[2.0, 0.0]).shape == (4,)


def test_an_arm_in_steady_spin_stays_there() -> None:
    """What `equilibrium` gives with rates is a state of the run: joints prescribed, amplitudes at rest."""
    robot = unequal_two_link().replace({"gravity": (0.0, 0.0, -9.81)})
    model, push = robot.model(stiffening="off"), Wrench(force=(0.0, 4.0, 0.0), axes="section")
    q = model.equilibrium([0.2, 0.7], [push], rates=[3.0, 0.0])
    motion = {"upper": lambda t: 0.2 + 3.0 * t, "fore": lambda t: 0.7 + 0 * t}
    run = pliant.simulate(model, 0.5, q, motion=motion, loads=push)
    assert np.abs(run.q[:, 2:] - q[2:]).max() < 1e-9
    assert run.tau == pytest.approx(np.tile(model.holding_torque(q, [push], rates=[3.0, 0.0]), (len(run), 1)), abs=1e-6)
    assert np.abs(q[2:]).max() > 1e-3
    still = model.equilibrium([0.2, 0.7], [push])
    assert np.abs(q[2:] - still[2:]).max() > 1e-3


# ------------------------------------------------------------------------------------------------ follower loads


@cache
def column() -> pliant.Model:
    return unequal_beam(Shapes(bending_y=4), PLAIN).model(stiffening="second-order")


def beck(load: float) -> tuple[pliant.Model, list[Wrench]]:
    """A clamped column under a compressive force that follows its tip, in units of EI / L^2."""
    return column(), [Wrench(force=(-load * EI_Z / L**2, 0.0, 0.0), axes="section")]


@pytest.mark.parametrize(("load", "flutters"), [(19.9, False), (20.2, True)])
def test_frequencies_of_becks_column(load: float, flutters: bool) -> None:
    """It flutters from 20.05 on, at 11.02 of the unit of frequency."""
    model, loads = beck(load)
    unit = np.sqrt(EI_Z / (MU * L**4))
    found = 2 * np.pi * model.frequencies(loads=loads) / unit
    assert (found < 0).sum() == flutters
    first = np.sort(np.abs(found))[:2]
    assert np.abs(first - 11.02).max() < (0.2 if flutters else 1.2)
    poles = np.linalg.eigvals(model.linearize(loads=loads, joints="locked").A)
    assert (poles.real.max() > 1e-3) == flutters
    assert np.sort(np.abs(poles)[poles.imag > 0]) / unit == pytest.approx(np.sort(np.abs(found)), rel=1e-7)


def test_the_message_for_follower_loads_points_to_what_works() -> None:
    model, loads = beck(5.0)
    with pytest.raises(ModelError, match=r"model\.frequencies\(q, loads=loads\) or model\.linearize\(q, loads=loads\)"):
        model.modes(loads=loads)
    assert model.frequencies(np.zeros(model.n), loads=loads).shape == (4,)
    assert model.linearize(np.zeros(model.n), loads=loads).A.shape == (10, 10)


def test_linearize_under_loads_predicts_a_run() -> None:
    """Slopes by differences of the accelerations of `lagrange`, a dead load and a follower at once; torques balance."""
    model = unequal_arm().model(stiffening="off")
    loads = [Wrench(force=(1.0, 2.0, -3.0)), Wrench(force=(0.0, 4.0, 1.0), moment=(0.1, 0.2, 0.3), axes="section")]
    q = model.equilibrium([0.3, -0.5, 0.1], loads)
    system = model.linearize(q, loads=loads)
    reference = unequal_arm().model(formulation="lagrange", stiffening="off")
    tau = model.holding_torque(q, loads)

    state, e = ca.SX.sym("x", 2 * model.n), reference.equations
    half = state[: model.n], state[model.n :]
    force = ca.mtimes(e.chain.actuation(), ca.DM(tau)) + sum(
        load.expression(e.chain, ca.SX(0), *half) for load in loads
    )
    accelerations = ca.Function("f", [state], [e.accelerations(*half, force)])

    def rates(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[model.n :], np.array(accelerations(x)).ravel()])

    x = np.concatenate([q, np.zeros(model.n)])
    assert np.abs(rates(x)).max() < 1e-8
    rng = np.random.default_rng(1)
    for _ in range(3):
        d = rng.normal(size=2 * model.n) * np.concatenate([np.full(model.n, 1e-2), np.ones(model.n)])
        h = 1e-4
        slope = (8 * (rates(x + h * d) - rates(x - h * d)) - (rates(x + 2 * h * d) - rates(x - 2 * h * d))) / (12 * h)
        assert np.abs(slope - system.A @ d).max() < 1e-6 * np.abs(slope).max()


@pytest.mark.full
def test_locked_joints_are_no_part_of_the_linear_system() -> None:
    model = unequal_arm().model(stiffening="off")
    q = model.equilibrium([0.3, -0.5, 0.1])
    whole, locked = model.linearize(q), model.linearize(q, joints="locked", outputs=lambda q, qd: q[0])
    held = [model.index(name) for name in ("boom.motor", "fore", "hand")]
    free = [k for k in range(model.n) if k not in held]
    assert locked.A.shape == (2 * len(free), 2 * len(free))
    assert locked.C.shape == (1, 2 * len(free))
    assert locked.C[0].nonzero()[0].tolist() == [free.index(0)]
    assert np.abs(locked.B).max() == 0.0
    M = model.mass_matrix(q)
    rows = [model.n + k for k in free]
    freed = np.linalg.solve(M[np.ix_(free, free)], (M @ whole.A[model.n :])[free])
    assert locked.A[len(free) :] == pytest.approx(freed[:, [*free, *rows]], rel=1e-8, abs=1e-6)


def test_motors_held_at_rest() -> None:
    """Joints settle behind the springs of their drives: a run with the motors held stays there."""
    model = unequal_arm().model(stiffening="off")
    given = np.array([0.3, -0.5, 0.1])
    q = model.equilibrium(given, held="motors")
    motor = model.index("boom.motor")
    assert q[[motor, 1, 2]] == pytest.approx(given, abs=1e-15)
    tau = model.holding_torque(q)
    assert 400.0 * (q[motor] - q[0]) == pytest.approx(tau[0], rel=1e-9)
    assert abs(q[0] - given[0]) > 1e-4
    names = {"boom.motor": given[0], "fore": given[1], "hand": given[2]}
    motion: dict[str, Any] = {name: (lambda t, x=x: x + 0 * t) for name, x in names.items()}
    run = pliant.simulate(model, 0.2, q, motion=motion)
    assert np.abs(run.q - q).max() < 1e-8
    stiff = unequal_two_link().model(stiffening="off")
    assert np.array_equal(stiff.equilibrium([0.2, 0.3], held="motors"), stiff.equilibrium([0.2, 0.3]))


def test_hub_and_offsets_in_spin() -> None:
    """A payload beside the axis bends a spinning beam: the tip force m W^2 (distances) balances the shapes' springs."""
    link = Link(
        name="arm", beam=PLAIN, shapes=Shapes(bending_y=3), tip=Lump(mass=0.4, com=(0.0, 0.05, 0.0)),
        joint=Joint(origin=Origin(xyz=(0.1, 0.2, 0.3), rpy=(0.0, 0.0, 0.4))),
    )  # fmt: skip
    model = Robot(name="spun", gravity=(0, 0, 0), links=[link]).model()
    rate = 3.0
    q = model.equilibrium([0.2], rates=[rate])
    qd = np.array([rate, 0.0, 0.0, 0.0])
    h = 1e-6
    reference = Robot(name="spun", gravity=(0, 0, 0), links=[link]).model(formulation="lagrange")

    def potential(c: np.ndarray) -> float:
        state = np.concatenate([[0.2], c])
        energy = reference.energy(state, qd)
        return float(energy.strain - energy.kinetic)  # of the axes that turn

    slope = [(potential(q[1:] + h * d) - potential(q[1:] - h * d)) / (2 * h) for d in np.eye(3)]
    assert np.abs(slope).max() < 1e-6
    assert np.abs(q[1:]).max() > 1e-4
