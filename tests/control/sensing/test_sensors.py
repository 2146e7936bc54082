"""Instruments against closed forms: clocks, delays, digits, noise, low-pass, bridges; torque sensors against inverse
dynamics, a camera against a pinhole; a loop of several rates against a plain simulation of the same loop."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import Joint, Link, Robot
from pliant.control import (
    LQR,
    PD,
    Accelerometer,
    Encoder,
    Measurement,
    Observer,
    OutputFeedback,
    Sampled,
    StrainGauge,
    Tachometer,
    TipCamera,
    TipPosition,
    TorqueSensor,
)  # fmt: skip
from pliant.control.sensing.sensor_chain import Instrument
from pliant.errors import ModelError, UnsupportedModel
from pliant.figures.plots import FIGURES
from pliant.loads import Wrench
from pliant.robot import Drive, Friction, RigidBody

OMEGA, WIDE = 7.0, 0.1
SWING = {"upper": lambda t: WIDE * ca.sin(OMEGA * t), "fore": lambda t: 0.02 * ca.cos(OMEGA * t)}


def swung(two_link: pliant.Model, *sensors: Any, t_end: float = 1.0, **more: Any) -> dict[str, Any]:
    """Readings of an arm whose joints follow known sines."""
    return dict(pliant.simulate(two_link, t_end, motion=SWING, sensors=sensors, output_step=0.05, **more).measured)


# --------------------------------------------------------------------------------------------- clock and delay


@pytest.mark.parametrize("delay", [0.0, 0.0123, 0.1])
def test_a_sine_through_a_delay(two_link: pliant.Model, delay: float) -> None:
    """At the times of the sensor, not at the rows of the result; before the start it is what it is at the start."""
    read = swung(two_link, Encoder("upper", sample_time=0.004, delay=delay), Tachometer("fore", delay=delay))
    np.testing.assert_allclose(read["upper"].t, 0.004 * np.arange(251), rtol=1e-15)
    late = np.maximum(read["upper"].t - delay, 0.0)
    np.testing.assert_allclose(read["upper"].values, WIDE * np.sin(OMEGA * late), atol=1e-14)
    late = np.maximum(np.linspace(0, 1, 21) - delay, 0.0)  # without a clock it is read at the rows
    np.testing.assert_allclose(read["fore.rate"].values, -0.02 * OMEGA * np.sin(OMEGA * late), atol=1e-14)


def test_states_between_the_rows_are_those_of_the_run(two_link: pliant.Model) -> None:
    """A free arm: what is read between its rows is what a run with finer rows has there."""
    given: dict[str, Any] = {"q0": {"upper": 0.3}, "torque": [4.0, 0.0]}
    sensor = TipPosition((0, 1), sample_time=0.003, delay=0.001)
    coarse = pliant.simulate(two_link, 0.3, output_step=0.1, sensors=[sensor], **given)
    fine = pliant.simulate(two_link, 0.3, output_step=0.001, **given)
    assert len(coarse) == 4
    np.testing.assert_allclose(coarse.measured["tip.x"].values[1:], fine.tip[2:-1:3, 0], atol=1e-10)
    bare = pliant.simulate(two_link, 0.3, output_step=0.1, **given)
    np.testing.assert_array_equal(coarse.q, bare.q)  # readings change nothing


def test_a_run_that_stops_is_read_until_then(two_link: pliant.Model) -> None:
    stop = pliant.Event("there", lambda t, q, qd: t - 0.0505)
    run = pliant.simulate(two_link, 0.2, events=[stop], sensors=[Encoder("upper", sample_time=0.01)])
    np.testing.assert_allclose(run.measured["upper"].t, 0.01 * np.arange(6))


# ---------------------------------------------------------------------------------------------------- digits, noise


def test_digits_are_half_a_count_off_at_most(two_link: pliant.Model) -> None:
    (read,) = swung(two_link, Encoder("upper", resolution=1000, sample_time=0.002)).values()
    count, truth = 2 * np.pi / 1000, WIDE * np.sin(OMEGA * read.t)
    np.testing.assert_allclose(read.values / count, np.round(read.values / count), atol=1e-9)
    error = np.abs(read.values - truth).max()
    assert 0.48 * count < error <= 0.5 * count * (1 + 1e-9)
    assert read.noise == pytest.approx(count / np.sqrt(12))


def test_counts_of_a_motor_are_behind_its_gear() -> None:
    robot = pliant.load("two-link").to_dict()
    robot["links"][0]["joint"] = {"drive": {"stiffness": 2e4, "rotor_inertia": 1e-3, "gear_ratio": 50}}
    model = Robot.model_validate(robot).model()
    assert Encoder("upper", resolution=512).digit(model) == pytest.approx(2 * np.pi / 512 / 50, rel=1e-15)
    assert Encoder("upper", "link", resolution=512).digit(model) == pytest.approx(2 * np.pi / 512, rel=1e-15)
    assert Encoder("upper").channels(model) == ("upper.motor",)
    assert Encoder("upper", "link").channels(model) == ("upper",)


def test_gain_and_offset_come_before_noise_and_digits(two_link: pliant.Model) -> None:
    (read,) = swung(two_link, Encoder("upper", gain=1.1, offset=0.03, quantum=1e-3, sample_time=0.01)).values()
    expected = np.round((1.1 * WIDE * np.sin(OMEGA * read.t) + 0.03) / 1e-3) * 1e-3
    np.testing.assert_allclose(read.values, expected, atol=1e-12)


def test_noise_is_as_stated_and_seeded(two_link: pliant.Model) -> None:
    """10,001 draws: the deviation is known to 0.7 %, a correlation to 0.01; four of each."""
    noisy = Encoder("upper", noise=0.01, sample_time=1e-4)
    others = [Encoder("fore", noise=0.01, sample_time=1e-4), Tachometer("upper")]
    alone, beside = swung(two_link, noisy), swung(two_link, *others, noisy)
    np.testing.assert_array_equal(alone["upper"].values, beside["upper"].values)  # whoever else reads
    error = alone["upper"].values - WIDE * np.sin(OMEGA * alone["upper"].t)
    other = beside["fore"].values - 0.02 * np.cos(OMEGA * alone["upper"].t)
    assert abs(error.mean()) < 4e-4
    assert abs(error.std() / 0.01 - 1) < 0.029
    assert abs(np.corrcoef(error[1:], error[:-1])[0, 1]) < 0.04
    assert abs(np.corrcoef(error, other)[0, 1]) < 0.04
    again = swung(two_link, Encoder("upper", noise=0.01, sample_time=1e-4, seed=1))
    assert not np.array_equal(again["upper"].values, alone["upper"].values)


# --------------------------------------------------------------------------------------------------------- low-pass


def test_the_low_pass_of_a_step_and_of_a_ramp(two_link: pliant.Model) -> None:
    """Exact for straight pieces: a ramp, and a step that takes one sample, 1e-5 of the time constant."""
    cutoff, T = 4.0, 1e-5 / (2 * np.pi * 4.0)
    tau = 1 / (2 * np.pi * cutoff)
    step = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    times = np.array([0.0, T, 0.3 * tau, tau, 4 * tau])
    found = Instrument(Encoder("upper", cutoff=cutoff), two_link).read(times, step[:, None])[:, 0]
    np.testing.assert_allclose(found, np.where(times > 0, 1 - np.exp(-(times - T / 2) / tau), 0.0), atol=1e-11)
    times = np.array([0.0, 0.1, 0.11, 0.4])
    found = Instrument(Encoder("upper", cutoff=cutoff), two_link).read(times, 2 + 3 * times[:, None])[:, 0]
    np.testing.assert_allclose(found, 2 + 3 * (times - tau * (1 - np.exp(-times / tau))), rtol=1e-13)


def test_the_low_pass_of_a_sine(two_link: pliant.Model) -> None:
    """Amplitude and phase of 1 / (1 + i w tau), once the start is forgotten; straight pieces err by (w T)^2 / 12."""
    cutoff, T = 3.0, 0.002
    (read,) = swung(two_link, Encoder("upper", cutoff=cutoff, sample_time=T), t_end=2.0).values()
    answer = 1 / (1 + 1j * OMEGA / (2 * np.pi * cutoff))
    late = read.t > 1.0
    expected = (WIDE * answer * np.exp(1j * OMEGA * read.t)).imag
    assert np.abs(read.values - expected)[late].max() < 1.1 * WIDE * abs(answer) * (OMEGA * T) ** 2 / 12


# ------------------------------------------------------------------------------------------------- gauges and torques


def wheatstone(r1: Any, r2: Any, r3: Any, r4: Any) -> Any:
    """V/V of four resistors 350 (1 + r): the middle of r1 above r2 against that of r3 above r4."""
    R = [350.0 * (1 + np.asarray(r)) for r in (r1, r2, r3, r4)]
    return R[0] / (R[0] + R[1]) - R[2] / (R[2] + R[3])


def test_bridges_are_dividers_of_resistors(two_link: pliant.Model) -> None:
    factor, fibre, back = 2.1, (0.4, 0.0), (-0.4, 0.0)  # far out, so that the bridge bends its scale
    gauges = {name: StrainGauge("upper", 0.2, at=fibre, bridge=name, gauge_factor=factor, name=name)
              for name in ("quarter", "half", "full")}  # fmt: skip
    plain = StrainGauge("upper", 0.2, at=fibre)
    run = pliant.simulate(two_link, 0.2, q0={"upper": 0.3}, output_step=0.02, sensors=[plain, *gauges.values()])
    e1, e2 = (run.strain("upper", 0.2, at) for at in (fibre, back))
    assert np.abs(e1).max() > 1e-3
    still = 0 * e1
    read = {name: one.values for name, one in run.measured.items()}
    np.testing.assert_allclose(read["upper.strain"], e1, rtol=1e-9)
    np.testing.assert_allclose(read["quarter"], wheatstone(factor * e1, still, still, still), rtol=1e-9)
    np.testing.assert_allclose(read["half"], wheatstone(factor * e1, factor * e2, still, still), rtol=1e-9)
    np.testing.assert_allclose(
        read["full"], wheatstone(factor * e1, factor * e2, factor * e2, factor * e1), rtol=1e-9
    )  # fmt: skip
    np.testing.assert_allclose(read["full"], factor * e1, rtol=1e-9)  # the textbook's factors: 1, 1/2, 1/4 for small r
    np.testing.assert_allclose(read["half"], factor * e1 / 2, rtol=1e-9)
    np.testing.assert_allclose(read["quarter"], factor * e1 / 4, rtol=2 * np.abs(factor * e1).max())


def test_a_torque_sensor_reads_the_joint_reaction(two_link: pliant.Model, rng: np.random.Generator) -> None:
    """Inverse dynamics says what the joints have to give, loads less."""
    push = Wrench(force=(3.0, -2.0, 0.0))
    run = pliant.simulate(
        two_link, 0.3, q0=[0.3, -0.4], qd0=[0.5, 1.0], torque=(np.linspace(0, 0.3, 4), 5 * rng.normal(size=(4, 2))),
        loads=[push], sensors=[TorqueSensor("upper"), TorqueSensor("fore")], output_step=0.01,
    )  # fmt: skip
    needed = np.array([two_link.inverse_dynamics(q, qd, qdd) for q, qd, qdd in zip(run.q, run.qd, run.qdd)])
    q = ca.SX.sym("q", 4)
    pushed = ca.Function("push", [q], [push.expression(two_link.chain, ca.SX(0), q, ca.SX.zeros(4))])
    for k, joint in enumerate(two_link.joints):
        expected = needed[:, k] - np.array([float(pushed(x)[k]) for x in run.q])
        np.testing.assert_allclose(run.measured[f"{joint}.sensed_torque"].values, expected, atol=1e-7)


def test_a_torque_sensor_is_behind_friction_and_rotor() -> None:
    body = RigidBody(mass=1.3, com=(0.2, 0.05, 0), inertia=(0.02, 0.03, 0.04), tip=(0.4, 0, 0))
    joint = Joint(friction=Friction(viscous=0.7), drive=Drive(rotor_inertia=1e-4, gear_ratio=50.0))
    model = Robot(name="arm", gravity=(0, -9.81, 0), links=[Link(name="upper", joint=joint, rigid=body)]).model()
    run = pliant.simulate(model, 0.3, torque=[4.0], sensors=[TorqueSensor("upper")])
    expected = run.tau[:, 0] - 0.7 * run.qd[:, 0] - 1e-4 * 50.0**2 * run.qdd[:, 0]
    np.testing.assert_allclose(run.measured["upper.sensed_torque"].values, expected, atol=1e-9)


def test_a_sensor_reads_what_acted_until_then(two_link: pliant.Model) -> None:
    """Torques that jump at a reading: the sensor says what was."""
    held = (np.array([0.0, 0.1, 0.2]), np.array([[1.0, 0.0], [5.0, 0.0], [2.0, 0.0]]), "hold")
    run = pliant.simulate(two_link, 0.25, torque=held, sensors=[TorqueSensor("upper", sample_time=0.05)])
    read = run.measured["upper.sensed_torque"].values
    np.testing.assert_allclose(read, [1.0, 1.0, 1.0, 5.0, 5.0, 2.0], atol=1e-7)


# ------------------------------------------------------------------------------------------------------------ camera


def test_a_camera_is_a_pinhole_that_is_late(two_link: pliant.Model) -> None:
    sensor = TipCamera(position=(0.3, -0.2, 3.0), focal=700.0, sample_time=1 / 60, delay=0.025)
    run = pliant.simulate(two_link, 0.5, motion=SWING, output_step=1e-3, sensors=[sensor])
    right, down = run.measured["camera.right"], run.measured["camera.down"]
    assert len(right.t) == 31
    late = np.maximum(right.t - 0.025, 0.0)
    tip = np.column_stack([np.interp(late, run.t, run.tip[:, k]) for k in range(2)])
    np.testing.assert_allclose(right.values, 700 * (tip[:, 0] - 0.3) / 3.0, atol=2e-3)  # pixels; rows of 1 ms
    np.testing.assert_allclose(down.values, -700 * (tip[:, 1] + 0.2) / 3.0, atol=2e-3)
    upright = TipCamera(position=(0.0, -2.0, 0.5), rpy=(-np.pi / 2, 0.0, 0.0))  # along y, image down is -z
    seen = Measurement(two_link, [upright]).ideal(np.zeros(4), np.zeros(4))[0]
    np.testing.assert_allclose(seen, [two_link.tip_pose(np.zeros(4))[0, 3], 0.5], atol=1e-12)


# ----------------------------------------------------------------------------------------------------- several rates

INERTIA, KP, KD = 0.35, 6.0, 2.5
FAST = Encoder("arm", quantum=2e-4, sample_time=0.001, delay=0.003)
SLOW = Tachometer("arm", sample_time=0.010, delay=0.0015, cutoff=30.0, offset=0.01)


def spinner() -> pliant.Model:
    body = RigidBody(mass=1.0, inertia=(0.2, 0.2, INERTIA), tip=(0.1, 0, 0))
    return Robot(name="spinner", gravity=(0, 0, 0), links=[Link(name="arm", rigid=body)]).model()


def by_hand(t_end: float) -> tuple[Any, Any, Any]:
    """The same loop in plain Python: an inertia under held torques, on a grid of 0.5 ms; every 2 ms torques are
    computed, which act 1 ms later."""
    h, n = 5e-4, round(t_end / 5e-4)
    theta, omega, tau, said = 0.4, 0.0, 0.0, 0.0
    angles, speeds, torques, smooth = [], [], [], None
    due: dict[int, float] = {}
    for i in range(n + 1):
        angles.append(theta)
        speeds.append(omega)
        if i % 20 == 0:  # the tachometer: samples every 10 ms of what was 1.5 ms ago
            at = max(i - 3, 0)
            if smooth is None:
                smooth, before, last = speeds[0], speeds[0], 0
            elif at > last:
                a, y, spent = 2 * np.pi * 30.0, speeds[at], (at - last) * h
                slope = (y - before) / spent  # the filter on a straight line, solved by variation of constants
                settled = y - slope / a
                smooth = settled + (smooth - (before - slope / a)) * np.exp(-a * spent)
                before, last = y, at
            said = smooth + 0.01
        if i % 4 == 0:
            measured = round(angles[max((i // 2) * 2 - 6, 0)] / 2e-4) * 2e-4
            due[i + 2] = -KP * measured - KD * said
        tau = due.pop(i, tau)
        torques.append(tau)
        theta, omega = theta + omega * h + tau / INERTIA * h * h / 2, omega + tau / INERTIA * h
    return np.array(angles), np.array(speeds), np.array(torques)


def test_a_loop_of_several_rates() -> None:
    """Controller 2 ms (1 ms late), encoder 1 ms (3 ms late, with digits), tachometer 10 ms (1.5 ms late, low-pass)."""
    model = spinner()
    controller = Sampled(PD(KP, KD, [0.0], gravity="none"), 0.002, delay=0.001, sensors=[FAST, SLOW])
    run = pliant.simulate(model, 1.0, q0=[0.4], controller=controller, output_step=5e-4, rtol=1e-12, atol=1e-13)
    angles, speeds, torques = by_hand(1.0)
    assert np.abs(angles[1800:]).max() < 0.1 * 0.4  # it settles, so that it is a loop at all
    np.testing.assert_allclose(run.q[:, 0], angles, atol=1e-9)
    np.testing.assert_allclose(run.qd[:, 0], speeds, atol=1e-8)
    np.testing.assert_allclose(run.tau[:-1, 0], torques[:-1], atol=1e-8)


def test_what_the_loop_reads_is_what_the_result_says() -> None:
    """The same sensor, with noise, in a controller and beside it: torques are -kp times what was read."""
    model = spinner()
    noisy = Encoder("arm", noise=1e-3, sample_time=0.004, delay=0.006, seed=7)
    controller = Sampled(PD(KP, 0.0, [0.0], gravity="none"), 0.004, sensors=[noisy, Tachometer("arm")])
    run = pliant.simulate(model, 0.4, q0=[0.4], controller=controller, output_step=0.002, sensors=[noisy])
    held = run.tau[:-1:2, 0]
    np.testing.assert_allclose(held, -KP * run.measured["arm"].values[:-1], atol=1e-9)


@pytest.mark.full
def test_an_observer_with_slow_encoders(two_link: pliant.Model) -> None:
    """Clocks of the loop's own rate change nothing; a slower one does."""
    regulator = LQR([0.0, 0.5], {"joints": 1e4, "flexible": 1e4, "rates": 1e2}, 1e-1)

    def settled(**clock: Any) -> Any:
        sensors = [Encoder("upper", **clock), Encoder("fore", **clock), StrainGauge("upper"), StrainGauge("fore")]
        loop = OutputFeedback(regulator, Observer([0.0, 0.5], sensors, process=10.0), sample_time=0.001)
        rest = two_link.equilibrium([0.005, 0.5])
        return pliant.simulate(two_link, 0.1, q0=rest, controller=loop, output_step=0.01).q

    plain = settled()
    np.testing.assert_array_equal(settled(sample_time=0.001), plain)
    slow = settled(sample_time=0.002)
    assert 1e-6 < np.abs(slow - plain).max() < 0.05


# ------------------------------------------------------------------------------------------------------ files, faults


def test_a_file_and_a_table_have_them(two_link: pliant.Model, tmp_path: Any) -> None:
    run = pliant.simulate(two_link, 0.1, sensors=[Encoder("upper", sample_time=0.03, noise=1e-3), TipPosition((1,))])
    again = pliant.Result.load(run.save(tmp_path / "run.nc")).measured
    assert list(again) == ["upper", "tip.y"]
    for name, one in run.measured.items():
        np.testing.assert_array_equal([*again[name].t, *again[name].values], [*one.t, *one.values])
        assert (again[name].unit, again[name].noise) == (one.unit, one.noise) != ("", 0.0)
    table = pliant.identification.read_csv(run.to_csv(tmp_path / "run.csv"))
    last = run.measured["upper"].values[np.minimum((run.t / 0.03 + 1e-9).astype(int), 3)]
    np.testing.assert_allclose(table["measured.upper"], last, rtol=1e-11)
    assert [panel.y.unit for panel in FIGURES["sensors"].panels(run)] == ["rad", "m"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Encoder("upper", resolution=0.0), "resolution: got 0.0, expected a positive number"),
        (lambda: Encoder("upper", resolution=100.0, quantum=0.1), "beside `quantum`"),
        (lambda: Encoder("upper", delay=-1.0), "delay: got -1.0, expected zero or a positive"),
        (lambda: Encoder("upper", cutoff=0.0), "cutoff: got 0.0, expected a positive"),
        (lambda: Encoder("upper", sample_time=np.inf), "sample_time: got inf"),
        (lambda: Encoder("upper", offset=np.inf), "offset: got inf, expected a finite"),
        (lambda: Encoder("upper", name="a,b"), "name: got 'a,b'"),
        (lambda: StrainGauge("upper", bridge="full"), "bridge: got 'full' without a fiber"),
        (lambda: StrainGauge("upper", at=(0.1, 0.0), gauge_factor=0.0), "gauge_factor: got 0.0"),
        (lambda: TipCamera(focal=-1.0), "focal: got -1.0"),
    ],
)
def test_sensors_that_cannot_be(make: Any, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert words in str(caught.value)


def test_what_does_not_fit_together_is_told(two_link: pliant.Model) -> None:
    pd = PD(10.0, 1.0, [0.0, 0.0])
    encoders = [Encoder("upper"), Encoder("fore")]
    rest = [Encoder("fore"), Tachometer("upper"), Tachometer("fore")]
    for controller, words in (
        (Sampled(pd, 0.01, sensors=encoders), "none reads the rate of upper, which the controller needs"),
        (Sampled(pd, 0.01, sensors=[StrainGauge("upper")]), "got StrainGauge, expected encoders and tachometers"),
        (Sampled(pd, 0.01, sensors=[Encoder("upper", delay=0.01 / np.pi), *rest]), "have no common tick"),
    ):
        with pytest.raises(ModelError, match=words):
            controller.bind(two_link)
    with pytest.raises(ModelError, match=r"two of them are called 'upper\.strain'"):
        pliant.simulate(two_link, 0.1, sensors=[StrainGauge("upper", 0.1), StrainGauge("upper", 0.2)])
    with pytest.raises(ModelError, match=r"expected at most 1e\+07 readings"):
        pliant.simulate(two_link, 0.1, sensors=[Encoder("upper", sample_time=1e-12)])
    with pytest.raises(UnsupportedModel, match=r"Stepper: the Accelerometer 'fore\.acceleration_y' has"):
        _ = pliant.Stepper(two_link, sensors=[Accelerometer("fore", delay=0.1)]).outputs
