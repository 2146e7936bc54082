"""A batch gives what one arm at a time gives: on packs, on the GPU's source, over parameters, torques and motion."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import random_robot
from batch_arms import spatial, starts, two_links
from pliant.batch import equations, simulate_batch
from pliant.compute import Kernel, set_threads
from pliant.compute.tape.tape import Tape
from pliant.control.controllers.joint_controllers import PD, PID
from pliant.integrators.cuda.device_integrator import DeviceIntegrator
from pliant.integrators.cuda.source import emit_evaluation
from pliant.integrators.packs.pack import TimeSegments
from pliant.simulation.batch.batch_equations import typical
from pliant_bench.arms import arm

#: Runs of a hundred steps: roundings of some hundred operations per stage, amplified by stiff modes.
SAME = 1e-10


def close(given, expected, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def alone(model, q0, i, **options):
    return pliant.simulate(model, 0.05, q0[i], method="rk4", step=1e-3, output_step=0.01, limits=False, **options)


FULL = [pytest.param(seed, marks=pytest.mark.full) for seed in (2, 4, 6, 7, 8, 9, 10)]


@pytest.mark.slow_cases("1", "5")
@pytest.mark.parametrize("seed", [1, 5, *FULL])
def test_random_arms_on_packs_on_the_gpu_and_one_by_one(device, seed) -> None:
    """Spatial, rigid and flexible mixed, prismatic joints, elastic drives, stiffening, a controller in the loop."""
    robot = random_robot(seed, links=1 + seed % 2, drives=seed % 2 == 1, elements=False)
    model = robot.model(stiffening="second-order" if seed % 3 == 1 else "off")
    law = PD(kp=20.0, kd=2.0, reference=np.full(model.n_joints, 0.1), gravity="none") if seed % 2 else None
    q0 = starts(model, 3, seed)
    run = {"step": 1e-4, "output_step": 0.005, "controller": law}
    cpu = simulate_batch(model, 0.01, q0, **run)
    gpu = simulate_batch(model, 0.01, q0, device="cuda", **run)
    close(gpu.q, cpu.q)
    close(gpu.qd, cpu.qd)
    for i in range(3):
        one = pliant.simulate(model, 0.01, q0[i], method="rk4", controller=law, step=1e-4, output_step=0.005)
        close(cpu.q[i], one.q)
        close(cpu.qd[i], one.qd)


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("seed", [1, 5])
def test_single_precision_of_one_step(device, seed) -> None:
    """Single precision steps as double does, to a part in 2000 of the largest change."""
    model = random_robot(seed, links=1, drives=seed % 2 == 1, elements=False).model(stiffening="off")
    q0 = starts(model, 8, seed)
    run = {"step": 1e-3, "output_step": 1e-3, "device": "cuda"}
    double = simulate_batch(model, 1e-3, q0, **run)
    single = simulate_batch(model, 1e-3, q0, precision="single", **run)
    assert single.q.dtype == np.float32
    change = np.abs(double.qd[:, 1] - double.qd[:, 0]).max()
    np.testing.assert_allclose(single.qd[:, 1], double.qd[:, 1], rtol=0, atol=5e-4 * change)


def single_error(model: pliant.Model, helped: bool, controller: PD | None = None) -> float:
    """Largest error of single precision in one evaluation, of the largest acceleration of that state."""
    f = equations(model, controller=controller)
    x = f.start(*(np.float32(a) for a in typical(model, 64)), np)
    tape = Tape.from_function(f.function)
    integrator = DeviceIntegrator(
        emit_evaluation(tape, "single", states=f.typical_inputs(np.zeros(0)) if helped else None)
    )
    plan = TimeSegments(
        np.zeros(1), np.zeros(1), np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    )
    out, _ = integrator(integrator.states(x), np.zeros((1, 1, 0)), np.zeros((1, 0)), plan, 1)
    exact = Kernel(f.function)(np.zeros(1), x, np.zeros(0), np.zeros(0))
    return float((np.abs(out[0].T - exact) / np.abs(exact).max(axis=1, keepdims=True)).max())


ALLOWED = 2e-3


@pytest.mark.slow_cases("4")
@pytest.mark.parametrize("seed", [1, 4, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(10, 40))])
def test_single_precision_of_one_evaluation(device, seed) -> None:
    """Random arms of modes: spatial, sliding joints, elastic drives, stiffening, a controller."""
    robot = random_robot(seed, links=1 + seed % 4, drives=seed % 2 == 1, elements=False)
    model = robot.model(stiffening="second-order" if seed % 3 == 1 and seed % 4 < 2 else "off")
    law = PD(kp=20.0, kd=2.0, reference=np.full(model.n_joints, 0.1), gravity="none") if seed % 2 else None
    assert single_error(model, True, law) < ALLOWED


@pytest.mark.parametrize("links", [3, pytest.param(6, marks=pytest.mark.full)])
def test_pivots_that_lose_digits(device, links) -> None:
    """Three modes isolate a joint from what lies behind: its pivot is a small difference. Left alone, it shows."""
    model = arm(links, 3).model(stiffening="off")
    alone, helped = single_error(model, False), single_error(model, True)
    assert helped < ALLOWED / 2
    assert alone > 2 * helped


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_adaptive_steps_reach_their_tolerance(device, model, where) -> None:
    q0 = starts(model, 3)
    batch = simulate_batch(model, 0.2, q0, method="dopri5", rtol=1e-9, atol=1e-11, output_step=0.05, device=where)
    assert (batch.steps > 10).all()
    for i in range(3):
        one = pliant.simulate(model, 0.2, q0[i], method="dop853", rtol=1e-12, atol=1e-14, output_step=0.05)
        close(batch.q[i], one.q, 1e-6)  # some hundred steps of 1e-9 each


def test_every_arm_has_a_step_of_its_own(model) -> None:
    """An arm at rest next to one that swings takes fewer steps, and the same as it takes alone."""
    q0 = np.zeros((2, model.n))
    q0[:, 0] = -np.pi / 2
    q0[1, 0], q0[1, 2] = 1.0, 0.02
    options = {"method": "dopri5", "output_step": 0.1, "rtol": 1e-7}
    both = simulate_batch(model, 0.1, q0, **options)
    assert both.steps[0] < both.steps[1]
    for i in range(2):
        np.testing.assert_array_equal(simulate_batch(model, 0.1, q0[i : i + 1], **options).q[0], both.q[i])


@pytest.mark.slow_cases("cuda")
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_parameters_equal_rebuilding_the_robot(device, where) -> None:
    robot = spatial()
    paths = ["links.upper.beam.EI_z", "links.fore.beam.mass_per_length", "payload.mass", "links.fore.beam.length"]
    rng = np.random.default_rng(2)
    nominal = np.array([robot.paths()[path] for path in paths])
    p = nominal * rng.uniform(0.8, 1.2, size=(3, 4)) + [0, 0, 0.2, 0]
    model = robot.model(parameters=paths, stiffening="off")
    q0 = starts(model, 3)
    batch = simulate_batch(model, 0.02, q0, p=p, step=1e-3, output_step=0.01, device=where)
    assert batch.parameter_names == tuple(paths)
    for i in range(3):
        rebuilt = robot.replace(dict(zip(paths, p[i]))).model(stiffening="off")
        one = simulate_batch(rebuilt, 0.02, q0[i], step=1e-3, output_step=0.01)
        close(batch.q[i], one.q[0])
        close(batch.qd[i], one.qd[0])
        close(batch.tip[i], one.tip[0])


def test_drive_stiffness_and_gravity_as_parameters() -> None:
    robot = random_robot(3, links=1, drives=True, elements=False)
    paths = ["links.link0.joint.drive.stiffness", "gravity.2"]
    if any(path not in robot.paths() for path in paths):
        paths = [p for p in robot.paths() if p.endswith("drive.stiffness") or p.startswith("gravity")][:2]
    model = robot.model(parameters=paths, stiffening="off")
    p = np.array([[robot.paths()[path] * f for path in paths] for f in (0.9, 1.1)])
    batch = simulate_batch(model, 0.01, starts(model, 2), p=p, step=1e-3)
    for i in range(2):
        rebuilt = robot.replace(dict(zip(paths, p[i]))).model(stiffening="off")
        close(batch.q[i], simulate_batch(rebuilt, 0.01, starts(model, 2)[i], step=1e-3).q[0])


class Spring:
    """tau = -k q - c qd with gains that stay symbols."""

    def __init__(self) -> None:
        self.parameters = {"k": ca.SX.sym("k"), "c": ca.SX.sym("c")}

    def expression(self, t, q, qd):
        return -self.parameters["k"] * q[:2] - self.parameters["c"] * qd[:2]


class FixedSpring:
    def __init__(self, k: float, c: float) -> None:
        self.k, self.c = k, c

    def expression(self, t, q, qd):
        return -self.k * q[:2] - self.c * qd[:2]


def test_gains_of_a_controller_as_parameters(model) -> None:
    gains = np.array([[30.0, 1.0], [60.0, 3.0]])
    batch = simulate_batch(model, 0.05, starts(model, 2), controller=Spring(), p=gains, step=1e-3, output_step=0.01)
    assert batch.parameter_names == ("k", "c")
    for i in range(2):
        one = alone(model, starts(model, 2), i, controller=FixedSpring(*gains[i]))
        close(batch.q[i], one.q)
        close(batch.tau[i], one.tau)


KINDS = ("linear", "cubic", "hold")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_samples_of_their_own_for_every_arm(device, model, kind, where) -> None:
    rng = np.random.default_rng(4)
    times, values = np.array([0.005, 0.012, 0.031, 0.04]), rng.normal(size=(2, 4, 2)) * 10
    q0 = starts(model, 2)
    batch = simulate_batch(model, 0.05, q0, torque=(times, values, kind), step=1e-3, output_step=0.01, device=where)
    for i in range(2):
        one = alone(model, q0, i, torque=(times, values[i], kind))
        close(batch.q[i], one.q)
        close(batch.tau[i], one.tau, 1e-9)


def test_constants_and_shared_samples_add_up(model) -> None:
    times, values = np.array([0.0, 0.05]), np.array([[1.0, 2.0], [3.0, -2.0]])
    constant, q0 = np.array([[1.0, 0.0], [5.0, -1.0]]), starts(model, 2)
    batch = simulate_batch(model, 0.05, q0, torque=(times, values), controller=constant, step=1e-3, output_step=0.01)
    for i in range(2):
        one = alone(model, q0, i, torque=(times, values), controller=constant[i])
        close(batch.q[i], one.q)
        close(batch.tau[i], one.tau)


def test_samples_that_end_before_the_run(model) -> None:
    """Held at their first and last values outside, of each arm its own."""
    times, q0 = np.array([0.01, 0.02, 0.03]), starts(model, 2)
    values = np.array([[[4.0, 1.0], [2.0, -1.0], [9.0, 6.0]], [[-3.0, 0.0], [1.0, 1.0], [-8.0, 2.0]]])
    batch = simulate_batch(model, 0.05, q0, torque=(times, values), step=1e-3, output_step=0.01)
    for i in range(2):
        np.testing.assert_allclose(batch.tau[i][[0, 1, 2, 3, 5]], values[i][[0, 0, 1, 2, 2]], atol=1e-12)
        close(batch.q[i], alone(model, q0, i, torque=(times, values[i])).q)


def test_two_constants_add_up(model) -> None:
    """Torques that are constant beside a controller that is: each arm has the sum of its own."""
    torque, constant, q0 = np.array([7.0, -3.0]), np.array([[1.0, 0.5], [5.0, -1.0]]), starts(model, 2)
    batch = simulate_batch(model, 0.05, q0, torque=torque, controller=constant, step=1e-3, output_step=0.01)
    for i in range(2):
        close(batch.q[i], alone(model, q0, i, torque=torque + constant[i]).q)
        np.testing.assert_allclose(batch.tau[i], np.tile(torque + constant[i], (len(batch.t), 1)), rtol=1e-14)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_prescribed_motion_and_the_torque_it_needs(device, model, where) -> None:
    motion = {"upper": lambda t: 0.3 * ca.sin(4 * t)}
    q0 = starts(model, 2)
    batch = simulate_batch(model, 0.05, q0, motion=motion, step=1e-3, output_step=0.01, device=where)
    for i in range(2):
        one = alone(model, q0, i, motion=motion)
        close(batch.q[i], one.q)
        close(batch.qd[i], one.qd)
        close(batch.tau[i], one.tau, 1e-8)  # accelerations of a stiff arm, ten digits below its states


def test_a_controller_with_states(model) -> None:
    law = PID(kp=40.0, ki=10.0, kd=4.0, reference=[0.2, -0.1], gravity="none", limit=30.0)
    q0 = starts(model, 2)
    batch = simulate_batch(model, 0.05, q0, controller=law, step=1e-3, output_step=0.01)
    close(batch.q[1], alone(model, q0, 1, controller=law).q)
    with pytest.raises(pliant.UnsupportedModel, match="states of the controller"):
        _ = batch.tau


def test_work_balances_energy(model) -> None:
    batch = simulate_batch(model, 0.1, starts(model, 2), torque=[3.0, 1.0], step=2e-4, work=True)
    gained = batch.energy.total - batch.energy.total[:, :1]
    # Fourth-order steps at a sixtieth of the fastest period; the balance is theirs.
    close(gained, batch.work, 1e-5)


def test_bits_do_not_depend_on_threads_or_neighbors(model) -> None:
    q0 = starts(model, 37)
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append(simulate_batch(model, 0.02, q0, step=1e-3).q)
    set_threads(None)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(simulate_batch(model, 0.02, q0[20:21], step=1e-3).q[0], found[0][20])


def test_order_four(model) -> None:
    """Halving the step divides the error by sixteen."""
    q0 = starts(model, 1)
    exact = pliant.simulate(model, 0.05, q0[0], method="dop853", rtol=1e-13, atol=1e-15, output_step=0.05).q[-1]
    errors = [np.abs(simulate_batch(model, 0.05, q0, step=h).q[0, -1] - exact).max() for h in (1e-3, 5e-4, 2.5e-4)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.7).all(), (orders, errors)


def test_two_links_hold_limits_of_the_file() -> None:
    """Both limits are crossed: `status` says so, and rows behind are blank."""
    model = two_links(pliant.robot.Limits(lower=-0.5, upper=0.5)).model()
    q0 = np.zeros((2, model.n))
    batch = simulate_batch(model, 0.6, q0, torque=np.array([[60.0, 12.0], [500.0, 0.0]]), step=1e-3, output_step=0.01)
    assert batch.status.tolist()[1] == 2
    last = np.searchsorted(batch.t, batch.ended[1])
    assert np.abs(batch.q[1, : last + 1, :2]).max() <= 0.5
    assert np.isnan(batch.q[1, last + 1 :]).all()
    free = simulate_batch(model, 0.6, q0, torque=[500.0, 0.0], step=1e-3, output_step=0.01, limits=False)
    assert np.abs(free.q[0, last + 1, :2]).max() > 0.5


def test_one_joint_with_a_constant_torque() -> None:
    """CasADi slices a 1 x 1 symbol into a row: the parts of p are joined, never cut."""
    model = pliant.load("spin-up").model()
    batch = simulate_batch(model, 0.1, np.zeros((3, model.n)), torque=[0.5], step=1e-3)
    single = pliant.simulate(model, 0.1, torque=[0.5], method="rk4", step=1e-3)
    assert np.abs(batch.q[0, -1] - single.q[-1]).max() < 1e-10
