"""Friction, gears and motors against closed forms and against equations written down and integrated elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import pliant
from driven_arms import MOTOR, everything
from pliant import Joint, Link, RigidBody, Robot
from pliant.control import Sine
from pliant.mechanics.actuation.friction.bristle import Bristle
from pliant.mechanics.actuation.friction.dry_friction import DryLevel
from pliant.mechanics.actuation.friction.lugre import LuGre
from pliant.mechanics.actuation.gear_springs import GearSpring, Yielding
from pliant.robot import Drive, Friction, Hysteresis, Motor

PUBLISHED: dict[str, Any] = {
    "law": "lugre", "coulomb": 1.0, "stiction": 1.5, "stribeck_speed": 1e-3, "stiffness": 1e5,
    "micro_damping": np.sqrt(1e5), "viscous": 0.4,
}  # fmt: skip
"""Of Canudas de Wit, Olsson, Astrom and Lischinsky (1995), table I, in N and m."""


def block(mass: float = 1.0, **joint: Any) -> pliant.Model:
    """A block that slides along x."""
    body = RigidBody(mass=mass, com=(0, 0, 0), inertia=(1, 1, 1), tip=(0.1, 0, 0))
    link = Link(name="block", joint=Joint(type="prismatic", axis=(1, 0, 0), **joint), rigid=body)
    return Robot(name="block", gravity=(0, 0, 0), links=[link]).model()


def lugre(v: float, z: float) -> tuple[float, float]:
    """Rate of the bristles and friction, as printed."""
    p = PUBLISHED
    g = p["coulomb"] + (p["stiction"] - p["coulomb"]) * np.exp(-((v / p["stribeck_speed"]) ** 2))
    rate = v - p["stiffness"] * abs(v) / g * z
    return rate, p["stiffness"] * z + p["micro_damping"] * rate + p["viscous"] * v


# ---------------------------------------------------------------------------------------------------------- friction


def test_lugre_bends_before_it_slides() -> None:
    """A force that rises to 0.95 of stiction and back (figure 2 of the paper): the block moves by hundredths of a
    millimetre in a loop, and does not come back to where it was."""
    times, force = [0.0, 5.0, 15.0, 20.0], [[0.0], [1.425], [-1.425], [0.0]]
    run = pliant.simulate(block(friction=Friction(**PUBLISHED)), 20.0, torque=(times, force), rtol=1e-9, atol=1e-12)
    held = np.interp(run.t, times, np.ravel(force))

    def rates(t: float, y: np.ndarray) -> list[float]:
        rate, friction = lugre(y[1], y[2])
        return [y[1], np.interp(t, times, np.ravel(force)) - friction, rate]

    other = solve_ivp(rates, (0, 20.0), [0.0, 0.0, 0.0], "LSODA", run.t, rtol=1e-10, atol=1e-14, max_step=0.05)
    assert np.abs(run.q[:, 0] - other.y[0]).max() < 1e-4 * np.abs(run.q).max()
    assert 1e-5 < np.abs(run.q).max() < 1e-4
    up, down = (run.t < 5) & (held > 0.7), (run.t > 5) & (run.t < 10) & (held > 0.7)
    assert run.q[down, 0].min() > 1.2 * run.q[up, 0].min()


def test_lugre_sticks_and_slips() -> None:
    """Pulled by a spring of 2 N/m whose end moves by 0.1 m/s (figure 4): the first slip where the spring carries 1.5 N,
    then a limit cycle, the one of the printed equations."""
    drive = Drive(stiffness=2.0, rotor_inertia=1.0)
    model = block(friction=Friction(**PUBLISHED), drive=drive)
    run = pliant.simulate(
        model, 40.0, motion={"block.motor": lambda t: 0.1 * t}, rtol=1e-8, atol=1e-10, output_step=0.02
    )

    def rates(t: float, y: np.ndarray) -> list[float]:
        rate, friction = lugre(y[1], y[2])
        return [y[1], 2.0 * (0.1 * t - y[0]) - friction, rate]

    other = solve_ivp(rates, (0, 40.0), [0.0, 0.0, 0.0], "LSODA", run.t, rtol=1e-10, atol=1e-13)
    x, v = run["block"], run.qd[:, model.speed_index("block")]
    assert np.abs(x - other.y[0]).max() < 2e-3 * x.max()
    assert run.t[np.argmax(v > 0.01)] == pytest.approx(1.5 / 2.0 / 0.1, abs=0.2)
    begins = run.t[1:][(v[1:] > 0.01) & (v[:-1] <= 0.01)]
    assert len(begins) >= 3
    periods = np.diff(begins)[1:]
    assert np.ptp(periods) < 0.02 * periods.mean()


def test_dahl_follows_its_exponential() -> None:
    """F = Fc (1 - exp(-stiffness x / Fc)) on the way out, whatever the speed."""
    law = Friction(law="dahl", coulomb=0.7, stiffness=900.0)
    run = pliant.simulate(
        block(1.3, friction=law), 2.0, motion={"block": lambda t: 1e-3 * (1 - ca.cos(0.5 * np.pi * t))}, rtol=1e-10
    )
    inertia = 1.3 * 1e-3 * (0.5 * np.pi) ** 2 * np.cos(0.5 * np.pi * run.t)
    assert np.abs(run.tau[:, 0] - inertia - 0.7 * -np.expm1(-900.0 * run["block"] / 0.7)).max() < 1e-7
    assert run.tau[-1, 0] > 0.6


@pytest.mark.slow_cases("lugre")
@pytest.mark.parametrize("law", ["bristle", "lugre"])
def test_stribeck_curve(law: str) -> None:
    """At constant speed friction is coulomb + (stiction - coulomb) exp(-(v/vs)^2) + viscous v."""
    more = {"stiffness": 4e4, "micro_damping": 10.0} if law == "lugre" else {}
    friction = Friction(law=law, coulomb=0.8, stiction=1.3, stribeck_speed=0.05, viscous=2.0, **more)
    for v in (0.01, 0.04, 0.11):
        run = pliant.simulate(block(friction=friction), 1.0, motion={"block": lambda t, v=v: v * t}, qd0={"block": v})
        assert run.tau[-1, 0] == pytest.approx(0.8 + 0.5 * np.exp(-((v / 0.05) ** 2)) + 2.0 * v, rel=1e-6)


LAWS = {
    "bristle": Bristle(DryLevel(0.8, 1.3, 0.01, 2.0, 1e-3), 1e-5),
    "lugre": LuGre(DryLevel(0.8, 1.3, 0.01, 2.0, 1e-3), 4e4, 100.0),
    "dahl": LuGre(DryLevel(0.8), 4e4, 0.0),
    "bouc-wen": Yielding(500.0, 2e-3, 1.7, 0.5),
    "bouc-wen, slender": Yielding(500.0, 2e-3, 1.0, 0.9),
}


def test_bristles_carry_no_more_than_they_can_at_a_start() -> None:
    """Loads of three times the highest friction, and of a part of it, in both directions."""
    v, load = ca.SX.sym("v"), ca.SX.sym("load")
    law = LAWS["bristle"]
    carried = ca.Function("carried", [v, load], [law.carrying(ca.SX(0), v, load)])
    highest = float(ca.evalf(ca.SX(law.level.highest)))
    for part, expected in ((3.0, 1.0), (-3.0, -1.0), (0.4, 0.4), (-0.7, -0.7)):
        assert float(carried(0.0, part * highest)) == pytest.approx(expected, rel=1e-12)
    assert float(carried(-1.0, 0.0)) == -1.0  # in motion they slip


VISCOUS = {"lugre": 100.0 * 0.5 / 0.8}
"""The least that makes it passive."""


def work(law: Any, viscous: float, rng: np.random.Generator) -> np.ndarray:
    """Taken and not stored since the start of a random motion, with a spring that the law takes away; steps of 5 us."""
    x, v, r = (ca.SX.sym(name) for name in "xvr")
    spring = law.stiffness * x if isinstance(law, Yielding) else 0
    f = ca.Function("f", [x, v, r], [law.force(x, v, r) + spring + viscous * v, law.rate(x, v, r)])
    h, n = 5e-6, 40_000
    t = h * np.arange(n)
    waves = [(rng.uniform(2e-5, 4e-3), rng.uniform(2, 60), rng.uniform(0, 6)) for _ in range(4)]
    motion = sum(a * np.sin(w * t + p) for a, w, p in waves)
    speed = sum(a * w * np.cos(w * t + p) for a, w, p in waves)
    step = ca.Function("step", [r, ca.vertcat(x, v)], [r + h * f(x, v, r)[1], f(x, v, r)[0]])
    bends, forces = (np.array(y).ravel() for y in step.mapaccum(n)(0.0, np.stack([motion - motion[0], speed])))
    stiffness = {Bristle: 1.3 * 1e-5, LuGre: 0.8**2 / 4e4, Yielding: 500.0 * 2e-3**2}[type(law)]
    return np.cumsum(forces * speed) * h - stiffness * bends**2 / 2


@pytest.mark.slow_cases("bouc-wen, slender", "bouc-wen", "bristle", "dahl")
@pytest.mark.parametrize("name", LAWS)
def test_no_law_creates_energy(name: str, rng: np.random.Generator) -> None:
    for _ in range(4):
        lost = work(LAWS[name], VISCOUS.get(name, 0.0), rng)
        assert (lost - np.maximum.accumulate(lost)).min() > -1e-3 * lost.max()


def test_lugre_may_create_energy_outside_its_condition() -> None:
    """Stiction far above coulomb with strong micro-damping: a cycle can give more than it takes, and is warned of."""
    with pytest.warns(UserWarning, match=r"viscous 0.4, expected at least micro_damping .* = 158\.1"):
        block(friction=Friction(**PUBLISHED))
    lax = Hysteresis(fraction=0.4, yield_twist=1e-3, loading=0.3)
    with pytest.warns(UserWarning, match=r"loading 0.3, expected at least 0.5"):
        block(drive=Drive(stiffness=1.0, rotor_inertia=1.0, hysteresis=lax))
    lost = work(Yielding(500.0, 2e-3, 1.0, 0.1), 0.0, np.random.default_rng(1))
    assert (lost - np.maximum.accumulate(lost)).min() < -0.1 * np.abs(lost).max()


# -------------------------------------------------------------------------------------------------------------- gears


def springs() -> list[GearSpring]:
    return [
        GearSpring(800.0, 3e6),
        GearSpring(800.0, 3e6, 4e-3),
        GearSpring(800.0, 3e6, 4e-3, 1.5e-3),
        GearSpring(800.0, 0.0, 4e-3, 0.0, ((0.0, 0.0), (2e-3, 1.6), (5e-3, 6.0), (9e-3, 30.0))),
        GearSpring(8000.0, table=((0.0, 0.0), (2e-3, 16.0), (5e-3, 20.0))),
    ]


@pytest.mark.parametrize("k", range(5))
def test_torque_is_the_slope_of_the_energy(k: int) -> None:
    spring, x = springs()[k], ca.SX.sym("x")
    f = ca.Function("f", [x], [spring.torque(x), ca.gradient(spring.energy(x), x), spring.energy(x)])
    at = np.linspace(-0.013, 0.013, 1001)
    torque, slope, energy = (np.array(y).ravel() for y in f.map(len(at))(at))
    assert np.abs(torque - slope).max() < 1e-9 * np.abs(torque).max()
    assert torque == pytest.approx(-torque[::-1], abs=1e-12)
    assert (np.diff(torque) >= -1e-9).all()
    assert (
        np.abs(
            np.cumsum(torque)[500:] * (at[1] - at[0]) - np.cumsum(torque)[500] * (at[1] - at[0]) - energy[500:]
        ).max()
        < 0.05 * energy.max()
    )
    back = ca.Function("b", [x], [spring.torque(spring.twist_under(x))])
    for wanted in (-20.0, -1.1, 0.4, 7.0, 45.0):
        if not float(spring.smoothing):
            assert float(back(wanted)) == pytest.approx(wanted, rel=1e-9)


def test_a_table_goes_through_its_points() -> None:
    spring, x = springs()[3], ca.SX.sym("x")
    torque = ca.Function("f", [x], [spring.torque(x)])
    for twist, expected in spring.table:
        assert float(torque(twist + 2e-3)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_play_against_its_pieces(damping: float) -> None:
    """Two inertias that meet through play: constant rates in the gap, a half-wave in contact, exactly; and as often as
    the describing function of the dead zone says, within 15 %."""
    k, play, J, rotor, v = 900.0, 6e-3, 0.7, 0.3, 0.4
    drive = Drive(stiffness=k, rotor_inertia=rotor, damping=damping, play=play)
    model = block(J, drive=drive)
    run = pliant.simulate(model, 1.0, qd0={"block": 0.0, "block.motor": v}, rtol=1e-9, atol=1e-12, output_step=1e-3)
    mu = J * rotor / (J + rotor)
    w, zeta = np.sqrt(k / mu), damping / (2 * np.sqrt(k * mu))
    wd = w * np.sqrt(1 - zeta**2)
    twist = np.empty_like(run.t)
    for i, t in enumerate(run.t):
        twist[i] = _twist(float(t), v, play, w, zeta, wd)
    got = run["block.motor"] - run["block"]
    assert np.abs(got - twist).max() < 1e-6 * max(1.0, np.abs(twist).max())
    center = (J * run["block"] + rotor * run["block.motor"]) / (J + rotor)
    assert np.abs(center - rotor / (J + rotor) * v * run.t).max() < 1e-9
    if damping == 0.0:
        A, b = play / 2 + v / w, play / 2
        N = 2 * k / np.pi * (np.pi / 2 - np.arcsin(b / A) - b / A * np.sqrt(1 - (b / A) ** 2))
        period = 4 * b / v + 2 * np.pi / w
        assert 2 * np.pi / np.sqrt(N / mu) == pytest.approx(period, rel=0.15)


def _twist(t: float, v: float, play: float, w: float, zeta: float, wd: float) -> float:
    """Twist after a start in the middle of the play at the rate v, piece by piece."""
    position, rate, side = 0.0, v, 1.0
    while True:
        gap = (side * play / 2 - position) / rate
        if t <= gap:
            return position + rate * t
        t, position = t - gap, side * play / 2
        contact = np.pi / wd
        if t <= contact:
            return position + rate / wd * np.exp(-zeta * w * t) * np.sin(wd * t)
        t, rate, side = t - contact, -rate * np.exp(-zeta * w * contact), -side


def test_kinematic_error_shakes_at_twice_the_motor() -> None:
    """The joint of a heavy rotor at constant speed swings by the error over 1 - (shake / resonance)^2."""
    k, J, N, speed, a, phase = 2000.0, 0.5, 30.0, 0.8, 1e-4, 0.7
    errors = [{"amplitude": a, "cycles": 2, "phase": phase}]
    drive = Drive(stiffness=k, rotor_inertia=1.0, gear_ratio=N, damping=8.0, errors=errors)
    run = pliant.simulate(
        block(J, drive=drive), 6.0, motion={"block.motor": lambda t: speed * t}, qd0={"block": speed}, rtol=1e-9,
        atol=1e-12, output_step=1e-3,
    )  # fmt: skip
    shake = 2 * N * speed
    ratio = (k + 8.0j * shake) / (k - J * shake**2 + 8.0j * shake)
    late = run.t > 3.0
    swings = (run["block"] - speed * run.t)[late]
    waves = np.stack([np.sin(shake * run.t[late]), np.cos(shake * run.t[late]), np.ones(late.sum())], axis=1)
    found = np.linalg.lstsq(waves, swings, rcond=None)[0]
    assert found[0] + 1j * found[1] == pytest.approx(a * ratio * np.exp(1j * phase), rel=1e-3)


def test_hysteresis_takes_the_area_of_its_loop() -> None:
    """Far beyond the yield a cycle takes nearly 4 F_y (X - x_y): the area of the loop of an ideal plastic spring."""
    k, part, yields, X = 500.0, 0.4, 1e-3, 0.05
    drive = Drive(
        stiffness=k, rotor_inertia=1.0, hysteresis=Hysteresis(fraction=part, yield_twist=yields, exponent=8.0)
    )
    model = block(1e7, drive=drive)
    run = pliant.simulate(
        model, 2.0, motion={"block.motor": Sine(amplitude=X, frequency=1.0)}, rtol=1e-10, output_step=1e-3
    )
    twist = run["block.motor"]
    torque = run.tau[:, 0] + (2 * np.pi) ** 2 * twist  # the motor has an inertia of 1
    second = run.t >= 1.0
    area = np.trapezoid(torque[second], twist[second])
    assert torque.max() == pytest.approx((1 - part) * k * X + part * k * yields, rel=1e-3)
    assert area == pytest.approx(4 * part * k * yields * (X - yields), rel=0.02)


def test_a_moving_gear_loses_its_part() -> None:
    """A stiff gear hands on 0.8 of a driving torque, and takes 0.2 more where it is driven."""
    model = block(2.0, drive=Drive(rotor_inertia=0.5, efficiency=0.8))
    for rate in (1.0, -1.0):
        run = pliant.simulate(model, 0.1, torque=[3.0], qd0=[rate])
        assert run.qdd[-1, 0] == pytest.approx((3.0 - 0.2 * 3.0 * rate) / 2.5)


# ------------------------------------------------------------------------------------------------------------- motors


def test_voltage_step_against_its_closed_form() -> None:
    """A winding, an amplifier with a lag, a rotor behind a gear and viscous friction: linear, by expm."""
    N, J, rotor, B, R, L, K, pole = 20.0, 0.4, 2e-3, 0.7, 2.5, 0.02, 0.08 * 0.9, 2 * np.pi * 40.0
    motor = Motor(command="voltage", efficiency=0.9, bandwidth=40.0, offset=0.3, **MOTOR)
    model = block(J, drive=Drive(rotor_inertia=rotor, gear_ratio=N), motor=motor, friction=Friction(viscous=B))
    command = ([0.0, 0.1, 1.0], [[-0.3], [6.0], [6.0]], "hold")
    run = pliant.simulate(model, 0.5, torque=command, method="dopri5", rtol=1e-12, atol=1e-14, output_step=1e-3)
    late = run.t >= 0.1
    A = np.array([
        [0, 1, 0, 0, 0],
        [0, -B / (J + rotor * N**2), N * K / (J + rotor * N**2), 0, 0],
        [0, -0.08 * N / L, -R / L, 1 / L, 0],
        [0, 0, 0, -pole, pole],
        [0, 0, 0, 0, 0],
    ])  # fmt: skip
    start = np.array([0.0, 0.0, 0.0, 0.0, 6.3])
    expected = np.array([expm(A * (t - 0.1)) @ start for t in run.t[late]])
    assert np.abs(run.q[~late]).max() == 0
    assert np.abs(run.q[late, 0] - expected[:, 0]).max() < 1e-8
    assert np.abs(run.qd[late, 0] - expected[:, 1]).max() < 1e-8
    assert np.abs(run.tau[late, 0] - N * K * expected[:, 2]).max() < 1e-8


def test_current_loop_is_a_lag(tmp_path: Path) -> None:
    motor = Motor(command="current", torque_constant=0.08, efficiency=0.75, bandwidth=25.0)
    model = block(2.0, drive=Drive(gear_ratio=50.0), motor=motor)
    command = ([0.0, 0.1, 1.0], [[0.0], [1.5], [1.5]], "hold")
    run = pliant.simulate(model, 0.2, torque=command, rtol=1e-10, atol=1e-12)
    assert run.tau[:, 0] == pytest.approx(50.0 * 0.75 * 0.08 * run["block.current"])
    again = pliant.Result.load(run.save(tmp_path / "run.nc"))
    assert np.array_equal(again["block.current"], run["block.current"])
    expected = 50.0 * 0.75 * 0.08 * 1.5 * -np.expm1(-2 * np.pi * 25.0 * np.maximum(run.t - 0.1, 0.0))
    assert np.abs(run.tau[:, 0] - expected).max() < 1e-7


def test_a_torque_command_becomes_that_torque() -> None:
    motor = Motor(torque_constant=0.08, efficiency=0.75)
    model = block(2.0, drive=Drive(gear_ratio=50.0), motor=motor)
    run = pliant.simulate(model, 0.1, torque=[1.7])
    assert run.tau[:, 0] == pytest.approx(1.7)
    assert run.qdd[-1, 0] == pytest.approx(0.85)


AMPLIFIERS = [
    (command, lag, inductance)
    for command in ("torque", "current", "voltage")
    for lag in (None, 60.0)
    for inductance in (0.0, 0.02)
    if command == "voltage" or lag or not inductance
]


@pytest.mark.parametrize(("command", "lag", "inductance"), AMPLIFIERS)
def test_limits_are_respected(command: str, lag: float | None, inductance: float) -> None:
    """Whatever is asked for, neither the current nor the voltage goes beyond its limit."""
    motor = Motor(
        command=command, bandwidth=lag, current_limit=1.2, voltage_limit=3.5, **MOTOR | {"inductance": inductance}
    )
    model = block(0.4, drive=Drive(rotor_inertia=1e-3, gear_ratio=20.0), motor=motor)
    ask = {"torque": 40.0, "current": 30.0, "voltage": 200.0}[command]
    run = pliant.simulate(
        model, 0.6, torque=([0.0, 0.3, 0.6], [[ask], [-ask], [-ask]], "hold"), rtol=1e-9, output_step=1e-3
    )
    current = run.tau[:, 0] / (20.0 * 0.08)
    emf = 0.08 * 20.0 * run.qd[:, 0]
    voltage = 2.5 * current + emf + inductance * np.gradient(current, run.t)
    assert np.abs(current).max() <= 1.2 * (1 + 1e-9)
    assert np.abs(current).max() > 1.1
    settled = np.abs(run.t - 0.3) > 5e-3
    assert 3.5 * 0.99 < np.abs(voltage[settled]).max() < 3.5 * 1.02


def test_anti_windup_knows_the_current_limit() -> None:
    """The integral of a PID waits while the amplifier gives all it can."""
    motor = Motor(torque_constant=0.1, current_limit=0.5)
    model = block(2.0, drive=Drive(gear_ratio=10.0), motor=motor)
    law = pliant.control.PID(kp=4.0, kd=3.0, ki=2.0, reference=[5.0])
    run = pliant.simulate(model, 20.0, controller=law, output_step=0.1)
    told = pliant.control.PID(kp=4.0, kd=3.0, ki=2.0, reference=[5.0], limit=0.5)
    other = pliant.simulate(block(2.0), 20.0, controller=told, output_step=0.1)
    assert np.abs(run.q - other.q).max() < 1e-5
    assert np.abs(run.tau).max() == 0.5


# ------------------------------------------------------------------------------------------------------------ all alike


def test_the_formulations_agree() -> None:
    runs = [
        pliant.simulate(everything().model(formulation=name), 0.2, torque=[4.0, 1.0], rtol=1e-10, atol=1e-12,
                        output_step=0.02)
        for name in ("denoc", "lagrange", "gibbs-appell")
    ]  # fmt: skip
    for other in runs[1:]:
        assert np.abs(other.q - runs[0].q).max() < 1e-8


def test_power_balances() -> None:
    run = pliant.simulate(everything().model(), 0.3, torque=[4.0, 1.0], rtol=1e-10, atol=1e-12)
    assert np.abs(run.energy_balance).max() < 1e-8
    assert np.abs(run.power_residual).max() < 1e-9


def test_a_batch_has_the_same_bits_in_every_lane() -> None:
    model = everything().model()
    starts = np.tile(model.layout.rest(), (11, 1))
    batch = pliant.simulate_batch(model, 0.05, q0=starts, torque=[4.0, 1.0], method="rk4", step=2e-5)
    ends = np.asarray(batch.q)[:, -1] if np.asarray(batch.q).ndim == 3 else np.asarray(batch.q)
    assert (ends == ends[0]).all()
    one = pliant.simulate(model, 0.05, torque=[4.0, 1.0], method="rk4", step=2e-5)
    assert ends[0] == pytest.approx(one.q[-1], rel=1e-9, abs=1e-11)


def test_a_gear_with_play_rests_on_its_teeth() -> None:
    """Under gravity the motor stands half the play and the bend of the spring ahead of its joint; without a load it
    stands anywhere in the play, also behind a held motor and in a batch."""
    k, play, weight = 900.0, 6e-3, 1.6 * 9.81
    body = RigidBody(mass=1.6, com=(0, 0, 0), inertia=(1, 1, 1), tip=(0.1, 0, 0))
    drive = Drive(stiffness=k, rotor_inertia=0.2, play=play)
    link = Link(name="block", joint=Joint(type="prismatic", axis=(1, 0, 0), drive=drive), rigid=body)
    model = Robot(name="lift", gravity=(-9.81, 0, 0), links=[link]).model()
    q = model.equilibrium([0.3])
    assert q == pytest.approx([0.3, 0.3 + play / 2 + weight / k], abs=1e-12)
    assert model.holding_torque(q) == pytest.approx([weight])
    behind = model.equilibrium([0.3], held="motors")
    assert behind[1] - behind[0] == pytest.approx(play / 2 + weight / k, abs=1e-12)
    held = pliant.simulate_batch(model, 0.01, q0=[[0.3], [0.1]], equilibrium=True, torque=[weight])
    assert np.abs(held.q - held.q[:, :1]).max() < 1e-9
    assert block(1.6, drive=drive).equilibrium([0.3]) == pytest.approx([0.3, 0.3])


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ({"hysteresis": {"fraction": 0.3, "yield_twist": 1e-3}, "play": 1e-3}, "hysteresis.*without `play`"),
        ({"play_smoothing": 1e-3}, "there is no `play`"),
        ({"table": [[0, 0], [1e-3, 2.0], [2e-3, 1.0]]}, "rise from"),
        ({"table": [[0, 0], [1e-3, 2.0]], "hardening": 1.0}, "give one of them"),
        ({"stiffness": None, "play": 1e-3}, "there is no `stiffness`"),
        ({"efficiency": 1.2}, "above 1"),
    ],
)
def test_gears_that_cannot_be(drive: dict[str, Any], message: str) -> None:
    with pytest.raises(pliant.ModelError, match=message):
        Drive(**{"stiffness": 1e3, "rotor_inertia": 1.0} | drive)


@pytest.mark.parametrize(
    ("motor", "message"),
    [
        ({"command": "current"}, "`current` needs `torque_constant`"),
        ({"command": "voltage", "torque_constant": 0.1}, "`voltage` needs `resistance`"),
        ({"torque_constant": 0.1, "inductance": 0.1}, "acts through the voltage"),
        ({"efficiency": 1.5}, "above 1"),
    ],
)
def test_motors_that_cannot_be(motor: dict[str, Any], message: str) -> None:
    with pytest.raises(pliant.ModelError, match=message):
        Motor(**motor)
