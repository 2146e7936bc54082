"""Runs: energy, published peaks, torques given in every way, prescribed motion, breakdowns, events."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import Event, ModelError, SimulationError, simulate

START = (-np.pi / 2, np.radians(5))


def two_link(modes: int = 1, **options: Any) -> pliant.Model:
    robot = pliant.load("two-link")
    return robot.replace({f"links.{link.name}.shapes.bending_y": modes for link in robot.links}).model(**options)


def start(model: pliant.Model) -> np.ndarray:
    return np.concatenate([START, np.zeros(model.n - 2)])


@pytest.fixture(scope="module")
def swing() -> pliant.Result:
    model = two_link()
    return simulate(model, 5.0, start(model), method="dop853", rtol=1e-10, atol=1e-12, output_step=1e-3)


def test_energy_is_conserved(swing: pliant.Result) -> None:
    assert np.abs(swing.energy_balance).max() < 1e-8 * swing.energy.kinetic.max()
    assert np.abs(swing.power_residual).max() < 1e-10 * swing.energy.kinetic.max() / 1e-3


@pytest.mark.parametrize(("modes", "upper", "lower"), [(1, 0.171e-3, 0.243e-3), (2, 0.184e-3, 0.254e-3)])
def test_peaks_of_the_two_link_arm(modes: int, upper: float, lower: float) -> None:
    """Peaks of an independent Lagrangian over 5 s: what the first mode of each link contributes to the end
    deflection."""
    model = two_link(modes, stiffening="off")
    run = simulate(model, 5.0, start(model), rtol=1e-9, output_step=1e-3)
    names = [link.name for link in run.robot.links]
    for name, shapes, peak in zip(names, model.link_shapes, (upper, lower)):
        first = run[f"{name}.bending_y.1"] * shapes.integrals.tip[0]
        assert np.abs(first).max() == pytest.approx(peak, rel=0.02)
    degrees = np.degrees(run.q[:, :2])
    assert degrees.min(axis=0) == pytest.approx([-92.84, -4.95], rel=0.02)
    assert degrees.max(axis=0) == pytest.approx([-87.24, 5.00], rel=0.02)


@pytest.mark.parametrize("method", ["dopri5", "rodas5p", "adams", "bdf", "auto"])
def test_methods_agree(swing: pliant.Result, method: str) -> None:
    model = two_link()
    run = simulate(model, 0.5, start(model), method=method, rtol=1e-9, atol=1e-11, output_step=1e-3)
    reference = swing.q[: len(run)]
    assert np.abs(run.q - reference).max() < 2e-6  # multistep methods control the local error only


class Wave:
    """A traced torque."""

    def expression(self, t, q, qd):
        return ca.vertcat(ca.sin(5 * t), 0.5 - 0.1 * qd[1])


def test_torque_as_function_and_as_expression() -> None:
    model = two_link()
    options = {"method": "dop853", "rtol": 1e-9, "output_step": 1e-2}
    traced = simulate(model, 1.0, start(model), torque=Wave(), **options)
    called = simulate(model, 1.0, start(model), torque=lambda t, q, qd: [np.sin(5 * t), 0.5 - 0.1 * qd[1]], **options)
    assert np.abs(traced.q - called.q).max() < 1e-12
    assert np.allclose(traced.tau, called.tau, atol=1e-12)
    assert np.abs(traced.energy_balance).max() < 1e-7 * traced.energy.kinetic.max()


def test_torque_as_samples_runs_like_the_expression() -> None:
    model = two_link()

    class Sine:
        def expression(self, t, q, qd):
            return ca.vertcat(ca.sin(5 * t), 0.5)

    times = np.linspace(0, 1, 101)
    values = np.column_stack([np.sin(5 * times), np.full(101, 0.5)])
    options = {"method": "dop853", "rtol": 1e-9, "output_step": 1e-2}
    traced = simulate(model, 1.0, start(model), torque=Sine(), **options)
    linear = simulate(model, 1.0, start(model), torque=(times, values), **options)
    cubic = simulate(model, 1.0, start(model), torque=(times, values, "cubic"), **options)
    held = simulate(model, 1.0, start(model), torque=lambda t, q, qd: [np.sin(5 * t), 0.5], sample_time=0.01, **options)
    same = simulate(model, 1.0, start(model), torque=(times, values, "hold"), **options)
    assert np.abs(traced.q - cubic.q).max() < 1e-7  # spline error h^4/384 |u''''| = 1.6e-8 N m
    assert np.abs(traced.q - linear.q).max() < 1e-3  # h^2/8 |u''| = 3e-4 N m
    assert np.abs(held.q - same.q).max() < 1e-9
    assert np.array_equal(held.tau[:-1], same.tau[:-1])


def test_samples_may_come_as_a_controller() -> None:
    model = two_link()
    table = (np.array([0.0, 0.2]), np.ones((2, 2)))
    assert np.array_equal(
        simulate(model, 0.2, start(model), controller=table).q, simulate(model, 0.2, start(model), torque=table).q
    )


def test_constant_torques_and_controllers_add_up() -> None:
    model = two_link()
    both = simulate(model, 0.2, start(model), torque=[1.0, 0.5], controller=Wave())
    sum_ = simulate(model, 0.2, start(model), torque=lambda t, q, qd: [1 + np.sin(5 * t), 1.0 - 0.1 * qd[1]])
    assert np.abs(both.q - sum_.q).max() < 1e-7
    assert np.allclose(both.tau, sum_.tau, atol=1e-6)


def test_torque_of_prescribed_motion_reproduces_it() -> None:
    model = two_link()
    path = lambda t: START[0] + 0.3 * (1 - ca.cos(3 * t))  # noqa: E731
    options = {"method": "dop853", "rtol": 1e-10, "atol": 1e-12, "output_step": 5e-4}
    moved = simulate(model, 1.0, start(model), motion={model.joints[0]: path}, **options)
    assert moved.q[:, 0] == pytest.approx(START[0] + 0.3 * (1 - np.cos(3 * moved.t)), abs=1e-12)
    free = simulate(model, 1.0, moved.q[0], moved.qd[0], torque=(moved.t, moved.tau, "cubic"), **options)
    assert np.abs(free.q - moved.q).max() < 1e-8
    assert np.abs(moved.energy_balance).max() < 1e-8 * moved.energy.kinetic.max()


def test_motor_may_be_prescribed() -> None:
    model = pliant.load("lab-arm").model(stiffening="off")
    motor = next(name for name in model.coordinates if name.endswith(".motor"))
    rest = model.equilibrium(np.zeros(model.n_joints))
    run = simulate(model, 0.05, rest, motion={motor: lambda t: 0.1 * ca.sin(10 * t)}, method="dopri5")
    assert run[motor] == pytest.approx(0.1 * np.sin(10 * run.t), abs=1e-12)
    assert np.abs(run.energy_balance).max() < 1e-5 * run.energy.kinetic.max()


# ------------------------------------------------------------------------------------------ the forced PUMA


def forced_puma(hub: str, t_end: float) -> pliant.Result:
    """Feed-forward torque of theta_i = (pi/T) t - 1/2 sin(2 pi t/T), T = 10 s, integrated open loop ([MS07] (38))."""
    robot = pliant.load("puma")
    if hub == "isotropic":
        for link in robot.links:
            J = link.joint.hub.inertia[2]
            robot = robot.replace({f"links.{link.name}.joint.hub.inertia": (J, J, J)})
    model = robot.model()
    T = 10.0

    class FeedForward:
        def expression(self, t, q, qd):
            path = ca.repmat(np.pi / T * t - 0.5 * ca.sin(2 * np.pi * t / T), 6, 1)
            rate = ca.jacobian(path, t)
            return model.equations.inverse_dynamics(path, rate, ca.jacobian(rate, t))

    return simulate(model, t_end, torque=FeedForward(), method="dopri5", rtol=1e-8, atol=1e-8, output_step=0.01)


def error_of(run: pliant.Result) -> np.ndarray:
    path = np.pi / 10 * run.t - 0.5 * np.sin(2 * np.pi * run.t / 10)
    return np.abs(run.q - path[:, None]).max(axis=1)


def test_forced_puma_diverges_because_the_motion_is_unstable() -> None:
    """Link 3 is an inverted pendulum on a 0.02 m rod: any integrator must leave the path just after 5 s."""
    run = forced_puma("about z", 6.5)
    error = error_of(run)
    assert error[run.t <= 5.0].max() < 1e-3
    left = run.t[np.argmax(error > 0.01)]
    assert error.max() > 0.01
    assert 5.2 < left < 6.5


def test_forced_puma_with_isotropic_hubs_stays_on_its_path() -> None:
    assert error_of(forced_puma("isotropic", 7.5)).max() < 0.01


# ------------------------------------------------------------------------------------------ events, breakdowns, input


def test_event_stops_the_run_exactly() -> None:
    model = two_link()
    stop = Event("passes the vertical", lambda t, q, qd: q[1], direction=-1)
    run = simulate(model, 5.0, start(model), events=[stop], method="dop853")
    assert run.stats.status == "event"
    assert run.stats.events[-1][1] == "passes the vertical"
    assert run.t[-1] == run.stats.events[-1][0] < 1.0
    assert abs(run.q[-1, 1]) < 1e-9


def test_joint_limit_stops_the_run() -> None:
    robot = pliant.load("two-link")
    name = robot.links[0].name
    model = robot.replace({f"links.{name}.joint.limits": {"lower": -2.0, "upper": -1.4}}).model()
    run = simulate(model, 5.0, [-1.5, 0, 0, 0], [3.0, 0, 0, 0])
    assert run.stats.status == "event"
    assert "upper limit" in run.stats.events[-1][1]
    assert run.q[-1, 0] <= -1.4 + 1e-9


def test_blow_up_names_time_and_coordinate_and_keeps_the_rest() -> None:
    model = two_link()

    class Explosive:
        def expression(self, t, q, qd):
            return ca.vertcat(qd[0] ** 3, 0)

    with pytest.raises(SimulationError, match=r"by t = 0\.17.* Joint 'upper': its torque grows") as caught:
        simulate(model, 5.0, start(model), [1.0, 0, 0, 0], torque=Explosive())
    partial = caught.value.result
    assert len(partial) > 1
    assert np.isfinite(partial.q[:-1]).all()


def test_exception_in_a_torque_function_reaches_the_user() -> None:
    model = two_link()

    def broken(t, q, qd):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        simulate(model, 1.0, start(model), torque=broken)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": -1.0}, "t_end"),
        ({"t_end": float("nan")}, "t_end"),
        ({"method": "euler"}, "dop853"),
        ({"q0": [0, 0, 0]}, "q0.*4"),
        ({"q0": {"elbow": 1.0}}, "elbow"),
        ({"torque": [1, 2, 3]}, "torque.*2"),
        ({"torque": "strong"}, "torque"),
        ({"torque": (np.array([0.0, 0.0]), np.zeros((2, 2)))}, "rising"),
        ({"motion": {"nothing": lambda t: t}}, "nothing"),
        ({"output_step": 0.0}, "output_step"),
    ],
)
def test_wrong_arguments_are_named(options: dict, message: str) -> None:
    model = two_link()
    with pytest.raises(ModelError, match=message):
        simulate(model, **{"t_end": 1.0, **options})


def test_amplitudes_cannot_be_prescribed() -> None:
    model = two_link()
    with pytest.raises(ModelError, match="not a joint or a motor"):
        simulate(model, 1.0, motion={model.coordinates[2]: lambda t: t})


def test_models_with_parameters_run_at_given_values() -> None:
    robot = pliant.load("two-link")
    path = f"links.{robot.links[0].name}.beam.EI_z"
    model = robot.model(parameters=[path])
    stiff = simulate(model, 0.3, start(model), p=[2000.0])
    rebuilt = robot.replace({path: 2000.0}).model()
    assert np.abs(stiff.q - simulate(rebuilt, 0.3, start(rebuilt)).q).max() < 1e-9
    assert np.allclose(stiff.energy.total, stiff.energy.total[0], rtol=1e-6)


def test_hopeless_torque_ends_with_an_error() -> None:
    model = two_link()
    with pytest.raises(SimulationError, match="first to go"):
        simulate(model, 5.0, start(model), torque=[1e150, 0.0], method="dop853")


def test_partial_result_of_a_blow_up_can_be_saved(tmp_path) -> None:
    model = two_link()
    with pytest.raises(SimulationError) as caught:
        simulate(model, 5.0, start(model), method="rk4", step=0.05)
    path = caught.value.result.save(tmp_path / "partial.nc")
    assert np.isfinite(pliant.Result.load(path).q).all()


def test_every_joint_of_a_rigid_arm_may_be_prescribed() -> None:
    model = pliant.load("puma").model()
    run = simulate(model, 1.0, motion={name: lambda t: 0.3 * ca.sin(t) for name in model.joints})
    assert run.q == pytest.approx(np.repeat(0.3 * np.sin(run.t)[:, None], 6, axis=1), abs=1e-12)
    assert run.tau == pytest.approx(
        model.inverse_dynamics(run.q, run.qd, np.repeat(-0.3 * np.sin(run.t)[:, None], 6, axis=1)), abs=1e-9
    )


def test_rows_are_where_they_were_asked_for() -> None:
    model = pliant.load("two-link").model()
    np.testing.assert_allclose(pliant.simulate(model, 0.02, output_step=0.005).t, [0, 0.005, 0.01, 0.015, 0.02])
    np.testing.assert_allclose(pliant.simulate(model, 0.012, output_step=0.005).t, [0, 0.005, 0.01, 0.012])
    np.testing.assert_allclose(pliant.simulate(model, 0.01, output_step=0.03).t, [0, 0.01])
    np.testing.assert_allclose(pliant.simulate(model, 0.01).t, np.linspace(0, 0.01, 1001))
