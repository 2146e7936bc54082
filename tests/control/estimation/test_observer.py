"""Sensors and the Kalman observer: readings against kinematics, estimates that converge, loops that hold with noise."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_are, solve_discrete_are

import pliant
from arms import SLENDER, unequal_beam
from pliant import Shapes
from pliant.control import (
    LQR,
    Accelerometer,
    Encoder,
    Measurement,
    Observer,
    OutputFeedback,
    StrainGauge,
    TipPosition,
)
from pliant.loads import Base, Wrench

JOINTS = [0.0, 0.5]
SENSORS = [Encoder("upper"), Encoder("fore"), StrainGauge("upper"), StrainGauge("fore")]
REGULATOR = LQR(JOINTS, {"joints": 1e4, "flexible": 1e4, "rates": 1e2}, 1e-1)


def test_readings(two_link) -> None:
    rng = np.random.default_rng(5)
    q, qd, tau = rng.normal(size=4) * [1, 1, 0.02, 0.02], rng.normal(size=4), rng.normal(size=2)
    y = Measurement(two_link, [Encoder("fore"), Encoder("upper", rate=True), TipPosition((0, 1))]).ideal(q, qd)[0]
    np.testing.assert_allclose(y, [q[1], qd[0], *two_link.tip_pose(q)[:2, 3]], rtol=1e-13)
    run = pliant.simulate(two_link, 1e-3, q, qd, torque=tau, output_step=1e-3)
    gauge = Measurement(two_link, [StrainGauge("upper", 0.3)]).ideal(q, qd, tau)[0]
    middle, side = (run.strain("upper", 0.3, at)[0] for at in ((0.0, 0.0), (0.01, 0.0)))
    np.testing.assert_allclose(gauge, (middle - side) / 0.01, rtol=1e-9)  # the strain of a run is that of a gauge
    qdd = two_link.forward_dynamics(q, qd, tau)
    h = 2e-5
    path = [two_link.tip_pose(q + s * h * qd + (s * h) ** 2 / 2 * qdd)[:3, 3] for s in (-1, 0, 1)]
    felt = (path[0] - 2 * path[1] + path[2]) / h**2 - [0, -9.81, 0]
    expected = two_link.tip_pose(q)[:3, :3].T @ felt
    reading = Measurement(two_link, [Accelerometer("fore", k) for k in range(3)]).ideal(q, qd, tau)[0]
    np.testing.assert_allclose(reading, expected, atol=1e-5 * np.abs(expected).max())  # h^2/12 x'''' + 1e-16/h^2


def test_accelerometers_feel_loads_and_the_motion_of_the_base(two_link) -> None:
    """An arm that is carried upwards feels more weight; one that is pushed at its tip is faster there."""
    q, qd, tau = np.array([0.3, -0.5, 0.01, 0.02]), np.array([0.5, -1.0, 0.1, 0.2]), np.array([3.0, -2.0])
    sensors = [Accelerometer("fore", k) for k in range(3)]
    at_rest = Measurement(two_link, sensors).ideal(q, qd, tau)[0]
    lifted = Measurement(two_link, sensors, base=Base(acceleration=(0.0, 4.0, 0.0))).ideal(q, qd, tau)[0]
    heavier = two_link.robot.replace({"gravity": (0.0, -13.81, 0.0)}).model()
    np.testing.assert_allclose(lifted, Measurement(heavier, sensors).ideal(q, qd, tau)[0], rtol=1e-12)
    assert np.abs(lifted - at_rest).max() > 0.1
    push = [Wrench(force=lambda t: [10.0 * t, -4.0, 2.0])]
    run = pliant.simulate(two_link, 0.2, q, qd, torque=tau, loads=push, output_step=0.2)
    seen = Measurement(two_link, sensors, push).ideal(run.q[-1], run.qd[-1], tau, t=0.2)[0]
    h = 2e-5
    path = [
        two_link.tip_pose(run.q[-1] + s * h * run.qd[-1] + (s * h) ** 2 / 2 * run.qdd[-1])[:3, 3] for s in (-1, 0, 1)
    ]
    felt = (path[0] - 2 * path[1] + path[2]) / h**2 - [0, -9.81, 0]
    expected = two_link.tip_pose(run.q[-1])[:3, :3].T @ felt
    np.testing.assert_allclose(seen, expected, atol=1e-5 * np.abs(expected).max())


def test_motor_and_link_side() -> None:
    robot = pliant.load("two-link").to_dict()
    robot["links"][0]["joint"] = {"drive": {"stiffness": 2e4, "rotor_inertia": 1e-3, "gear_ratio": 50}}
    model = pliant.Robot.model_validate(robot).model()
    y = Measurement(model, [Encoder("upper"), Encoder("upper", side="link")]).ideal(np.arange(5.0), np.zeros(5))[0]
    np.testing.assert_array_equal(y, [2.0, 0.0])


def test_noise_and_quanta_are_as_stated(two_link) -> None:
    noisy = Measurement(two_link, [Encoder("upper", noise=0.01), Encoder("fore", quantum=0.1)])
    read = noisy.reader(seed=1)
    readings = np.array([read(0.0, np.array([0.3, 0.34, 0, 0]), np.zeros(4), np.zeros(2)) for _ in range(2000)])
    # 2000 draws: standard error of the mean 2.2e-4, of the deviation 1.6 %; 4 sigma each
    assert abs(readings[:, 0].mean() - 0.3) < 9e-4
    assert abs(readings[:, 0].std() / 0.01 - 1) < 0.065
    np.testing.assert_allclose(readings[:, 1], 0.3, rtol=1e-15)
    again = noisy.reader(seed=1)
    np.testing.assert_array_equal(again(0.0, np.array([0.3, 0.34, 0, 0]), np.zeros(4), np.zeros(2)), readings[0])


def test_quanta_are_the_nearest(two_link) -> None:
    """Readings above and below a mark, of either sign: never more than half a quantum off."""
    read = Measurement(two_link, [Encoder("fore", quantum=0.1)]).reader(seed=1)
    given = np.array([0.31, 0.34, 0.36, 0.39, -0.31, -0.36, 0.04])
    found = [read(0.0, np.array([0.0, angle, 0, 0]), np.zeros(4), np.zeros(2))[0] for angle in given]
    np.testing.assert_allclose(found, [0.3, 0.3, 0.4, 0.4, -0.3, -0.4, 0.0], rtol=1e-15, atol=0)


def test_a_quantum_counts_as_its_deviation(two_link) -> None:
    """Rounding to a quantum q errs evenly within q/2 of the truth: like noise of deviation q / sqrt(12)."""
    rng = np.random.default_rng(0)
    q = 3e-3
    truth = rng.uniform(0, 1, 100_000)
    deviation = float(np.std(np.round(truth / q) * q - truth))
    assert deviation == pytest.approx(q / np.sqrt(12), rel=0.01)
    designs = [
        Observer(JOINTS, [Encoder("upper", **given), *SENSORS[1:]], process=10.0, floor=1e-6).design(two_link, 1e-3).L
        for given in ({"quantum": q}, {"noise": q / np.sqrt(12)}, {"noise": q})
    ]
    np.testing.assert_allclose(designs[0], designs[1], rtol=1e-12)
    assert designs[0][0, 0] > 1.5 * designs[2][0, 0]  # it matters


def test_sampled_gain_is_that_of_noise_added_in_small_steps(two_link) -> None:
    """The noise that gathers over a sample, by a thousand steps of its differential equation; the gain by iteration."""
    period = 2e-3
    observer = Observer(JOINTS, SENSORS, process=10.0, floor=1e-3)
    found, continuous = observer.design(two_link, period), observer.design(two_link)
    inverse = np.linalg.inv(two_link.mass_matrix(found.x0[:4]))
    W = np.zeros((8, 8))
    W[4:, 4:] = 100 * inverse @ inverse.T
    steps = 1000
    h = period / steps
    small = expm(continuous.A * h)
    gathered = np.zeros((8, 8))
    for _ in range(steps):  # the mean of both ends of a step: second order
        gathered = small @ (gathered + h / 2 * W) @ small.T + h / 2 * W
    A, C, R = expm(continuous.A * period), continuous.C, 1e-6 * np.eye(4)
    P = solve_discrete_are(A.T, C.T, gathered, R)
    gain = P @ C.T @ np.linalg.inv(C @ P @ C.T + R)
    np.testing.assert_allclose(found.L, gain, rtol=1e-4, atol=1e-5 * np.abs(gain).max())


@pytest.mark.slow
def test_a_gauge_reads_the_curvature_of_a_long_arm() -> None:
    """A tip force bends a cantilever of 1.3 m: F (L - x) / EI at x, in either plane, by elements that are exact."""
    L, x, force = 1.3, 0.4, np.array([0.0, 0.2, -0.3])
    model = unequal_beam(Shapes(method="elements", count=2, bending_y=True, bending_z=True), SLENDER).model()
    load = [Wrench(force=tuple(force))]
    q = model.equilibrium([0.0], load)
    gauges = [StrainGauge("arm", x, plane) for plane in ("bending_y", "bending_z")]
    y = Measurement(model, gauges, load).ideal(q, 0 * q, model.holding_torque(q, load))[0]
    expected = force[1:] * (L - x) / np.array([160.0, 70.0])
    np.testing.assert_allclose(y, expected, rtol=1e-3)  # squares of the slope


def test_gain_is_scipys(two_link) -> None:
    observer = Observer(JOINTS, SENSORS, process=10.0, floor=1e-3).design(two_link)
    inverse = np.linalg.inv(two_link.mass_matrix(observer.x0[:4]))
    W = np.zeros((8, 8))
    W[4:, 4:] = 100 * inverse @ inverse.T
    P = solve_continuous_are(observer.A.T, observer.C.T, W, 1e-6 * np.eye(4))
    np.testing.assert_allclose(observer.L, P @ observer.C.T / 1e-6, rtol=1e-6)
    assert observer.poles.real.max() < 0


def test_output_matrix_against_differences(two_link) -> None:
    measurement = Measurement(two_link, [*SENSORS, TipPosition(), Accelerometer("fore")])
    q = two_link.equilibrium(JOINTS)
    x0, u0 = np.concatenate([q, np.zeros(4)]), two_link.holding_torque(q)
    C, D, y0 = measurement.matrices(x0, u0)
    np.testing.assert_allclose(y0, measurement.ideal(q, np.zeros(4), u0)[0], rtol=1e-12)
    h = 1e-5
    for k in range(8):
        step = h * np.eye(8)[k]
        ends = [measurement.ideal((x0 + s * step)[:4], (x0 + s * step)[4:], u0)[0] for s in (1, -1)]
        np.testing.assert_allclose(C[:, k], (ends[0] - ends[1]) / (2 * h), atol=1e-6 * np.abs(C).max())
    ends = [measurement.ideal(q, np.zeros(4), u0 + s * np.array([1.0, 0]))[0] for s in (1, -1)]
    np.testing.assert_allclose(D[:, 0], (ends[0] - ends[1]) / 2, atol=1e-9 * np.abs(D).max())


def test_estimation_error_converges(two_link) -> None:
    observer = Observer(JOINTS, SENSORS, process=10.0).design(two_link, sample_time=1e-3)
    rest = two_link.equilibrium(JOINTS)
    result = pliant.simulate(
        two_link, 0.5, q0=rest + np.array([0.01, -0.01, 0.002, 0.001]), controller=REGULATOR, output_step=1e-3
    )
    y = observer.measurement.ideal(result.q, result.qd, result.tau)
    estimate = observer.estimate(y, result.tau)
    truth = np.hstack([result.q, result.qd])
    first, last = (np.abs(estimate[k] - truth[k]) for k in (0, -1))
    assert np.abs(observer.poles).max() < 1
    # starts without knowing the rates and amplitudes; what stays is the nonlinearity that the linear filter lacks
    assert last[2:4].max() < 0.01 * np.abs(truth[0, 2:4] - rest[2:4]).max()
    assert last.max() < 0.02 * first.max()


@pytest.mark.parametrize("sample_time", [None, 1e-3])
def test_output_feedback_settles(two_link, sample_time: float | None) -> None:
    rest = two_link.equilibrium(JOINTS)
    controller = OutputFeedback(REGULATOR, Observer(JOINTS, SENSORS, process=10.0), sample_time)
    result = pliant.simulate(two_link, 1.0, q0=rest + np.array([0.05, -0.05, 0.002, 0.001]), controller=controller)
    assert np.abs(result.q[-1] - rest).max() < 0.05 * 0.05


@pytest.mark.slow
def test_noise_in_the_loop_is_survived(two_link) -> None:
    rest = two_link.equilibrium(JOINTS)
    sensors = [
        Encoder("upper", noise=1e-5),
        Encoder("fore", quantum=1e-4),
        StrainGauge("upper", noise=1e-4),
        StrainGauge("fore", noise=1e-4),
        Accelerometer("fore", noise=5.0),
    ]
    controller = OutputFeedback(REGULATOR, Observer(JOINTS, sensors), sample_time=1e-3, delay=5e-4)
    start = rest + np.array([0.02, -0.02, 0, 0])
    runs = [pliant.simulate(two_link, t_end, q0=start, controller=controller) for t_end in (1.0, 0.1)]
    same = runs[0].t <= 0.1  # the noise is seeded, and every run starts afresh
    np.testing.assert_allclose(
        np.interp(runs[0].t[same], runs[1].t, runs[1]["upper"]), runs[0]["upper"][same], atol=1e-6
    )
    assert np.abs(runs[0].q[-1] - rest).max() < 0.05 * 0.02


def test_expression_equals_numbers(two_link) -> None:
    measurement = Measurement(two_link, [*SENSORS, Accelerometer("fore")])
    q, qd, tau = ca.SX.sym("q", 4), ca.SX.sym("qd", 4), ca.SX.sym("tau", 2)
    f = ca.Function("y", [q, qd, tau], [measurement.expression(q, qd, tau)])
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=4) * 0.1, rng.normal(size=4), rng.normal(size=2)
    np.testing.assert_allclose(np.array(f(a, b, c)).ravel(), measurement.ideal(a, b, c)[0], rtol=1e-10)
