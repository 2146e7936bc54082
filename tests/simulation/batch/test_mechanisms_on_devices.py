"""Loops, couplings and contacts on the GPU's source: what packs on this processor give, and one arm at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coupled_arms import ball, boom, strung
from linkages import bar, four_bar, passive, random_linkage
from pliant.batch import simulate_batch
from pliant.compute.cuda import forms
from pliant.errors import SimulationError, UnsupportedModel
from pliant.robot import Contact, Frame, Joint, Link, Loop, Origin, RigidBody, Robot, load

SAME = 1e-10
"""Runs of some fifty steps: roundings of some hundred operations, which loops do not let grow."""
CRANKS = np.array([0.7, 1.0, 1.5, 2.0, 2.5])
STRATEGIES: dict[str, Any] = {
    "registers": {},
    "shared": {"REGISTER_VALUES": {"double": 0, "single": 0}},
    "chunks": {"REGISTER_VALUES": {"double": 0, "single": 0}, "LONGEST_KERNEL": {"double": 50, "single": 50}},
}


def close(given: Any, expected: Any, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(given, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.slow_cases("chunks", "registers")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_loops_stay_closed_over_parameters(device, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths vary from arm to arm: each closes its own loop, however its equations are held."""
    for name, value in STRATEGIES[strategy].items():
        monkeypatch.setattr(forms, name, value)
    model = four_bar(name=strategy).model(parameters=["links.rocker.joint.origin.xyz.0", "links.coupler.rigid.mass"])
    p = np.column_stack([np.linspace(0.48, 0.52, 5), np.linspace(1.0, 2.0, 5)])
    run = {"q0": {"crank": CRANKS}, "p": p, "torque": [0.5], "step": 1e-3, "output_step": 0.05}
    gpu = simulate_batch(model, 0.05, device="cuda", **run)
    cpu = simulate_batch(model, 0.05, **run)
    close(gpu.q, cpu.q)
    close(gpu.qd, cpu.qd)
    assert np.abs([model.gaps(q, v) for q, v in zip(gpu.q, p)]).max() < 1e-15


@pytest.mark.slow
def test_adaptive_steps_with_loops(device) -> None:
    """A step is judged before it is closed, and the next one begins with slopes of the closed state."""
    model = four_bar().model()
    run = {"q0": {"crank": CRANKS}, "torque": [0.5], "method": "dopri5", "output_step": 0.1}
    gpu, cpu = simulate_batch(model, 0.3, device="cuda", **run), simulate_batch(model, 0.3, **run)
    np.testing.assert_array_equal(gpu.steps, cpu.steps)
    np.testing.assert_array_equal(gpu.refused, cpu.refused)
    close(gpu.q, cpu.q, 1e-9)
    assert np.abs(model.gaps(gpu.q)).max() < 1e-15


@pytest.mark.slow
def test_single_precision_closes_loops_as_far_as_it_can(device) -> None:
    model = four_bar().model()
    run = {"q0": {"crank": CRANKS}, "torque": [0.5], "step": 1e-3, "output_step": 0.05}
    gpu = simulate_batch(model, 0.05, device="cuda", precision="single", **run)
    close(gpu.q, simulate_batch(model, 0.05, **run).q, 1e-4)
    assert np.abs(model.gaps(gpu.q.astype(float))).max() < 1e-6


def test_arms_that_lock_end(device) -> None:
    """A linkage of three equal bars, which turns no further than to where two of them lie in line."""
    last = passive(origin=Origin(xyz=(0.5, 0, 0)))
    links = [bar("a", 0.3), bar("b", 0.3, passive()), bar("c", 0.3, last, parent="base")]
    model = Robot(name="locks", links=links, loops=[Loop(name="pin", between=("b.tip", "c.tip"))]).model()
    run = {"q0": {"a": 1.0}, "motion": {"a": lambda t: 1.0 + 2.0 * t}, "step": 1e-3, "output_step": 0.1}
    with pytest.raises(SimulationError, match=r"every arm broke down, the first at t = 0\.3"):
        simulate_batch(model, 2.0, device="cuda", **run)


def test_a_crank_at_given_speed(device) -> None:
    """Loops are closed where the prescribed crank is at the end of a step."""
    model = four_bar().model()
    run = {"motion": {"crank": lambda t: 0.7 + 5.0 * t}, "step": 1e-3, "output_step": 0.05}
    gpu, cpu = simulate_batch(model, 0.1, device="cuda", **run), simulate_batch(model, 0.1, **run)
    close(gpu.q, cpu.q)
    assert np.abs(model.gaps(gpu.q)).max() < 1e-15


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 4, 5, 8, 11])
def test_random_linkages(device, seed: int) -> None:
    """Spatial trees that bend, fly, and have quaternions in their loops."""
    robot, q0 = random_linkage(seed)
    model = robot.model(stiffening="off")
    run = {"q0": np.tile(q0, (2, 1)), "step": 1e-5, "output_step": 1e-4}
    gpu, cpu = simulate_batch(model, 1e-4, device="cuda", **run), simulate_batch(model, 1e-4, **run)
    close(gpu.q, cpu.q)
    close(gpu.qd, cpu.qd, 1e-9)


COUPLED: dict[str, tuple[Any, dict[str, Any], float]] = {
    "cylinder": (lambda: boom({"bandwidth": 20.0}), {"q0": {"boom": [0.4, 0.5]}, "torque": [[0.6], [-0.3]]}, 2e-4),
    "springs and cables": (strung, {"q0": {"fore": [0.3, 0.5]}, "torque": [1.0, 0.5, 30.0]}, 2e-4),
    "contact": (ball, {"q0": {"ball": [0.06, 0.055]}}, 2e-5),
}


@pytest.mark.parametrize("kind", COUPLED)
def test_couplings_and_contacts(device, kind: str) -> None:
    """Pressures, springs, cables and hits, each arm from its own start."""
    make, given, step = COUPLED[kind]
    run = {**given, "step": step, "output_step": 0.025}
    model = make().model()
    gpu, cpu = simulate_batch(model, 0.05, device="cuda", **run), simulate_batch(model, 0.05, **run)
    close(gpu.q, cpu.q, 1e-9)
    assert np.abs(cpu.q[1] - cpu.q[0]).max() > 1e-4


@pytest.mark.parametrize("strategy", ["registers", "shared"])
def test_threads_leap_over_no_post(device, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that coasts into a post by adaptive steps, whichever way the kernel holds its values, as packs do."""
    for name, value in STRATEGIES[strategy].items():
        monkeypatch.setattr(forms, name, value)
    body = RigidBody(mass=1.7, com=(0.3, 0.0, 0.0), inertia=(7e-3, 0.05, 0.055), tip=(0.6, 0.0, 0.0))
    link = Link(name="a", joint=Joint(axis=(0, 0, 1)), rigid=body)
    post = Frame(name="post", link="base", origin={"xyz": (0.0, 0.6, 0.0)})
    surface = {"type": "sphere", "radius": 0.003, "frame": "post"}
    touch = Contact(name="hit", radius=0.01, stiffness=1e7, surface=surface)
    model = Robot(name="coasting", gravity=(0, 0, 0), links=[link], frames=[post], contacts=[touch]).model()
    run: dict[str, Any] = {"q0": [0.1], "qd0": [[0.9], [1.7], [3.1]], "output_step": 0.9}
    gpu, cpu = simulate_batch(model, 1.8, device="cuda", **run), simulate_batch(model, 1.8, **run)
    close(cpu.qd[:, -1, 0], -np.array([0.9, 1.7, 3.1]), 1e-5)
    close(gpu.q, cpu.q, 1e-5)  # each by its own decisions, at tolerances of 1e-8
    assert gpu.energy_error.max() < 1e-5


def test_starts_on_the_device_are_refused(device) -> None:
    class OnDevice(np.ndarray):
        __cuda_array_interface__: dict[str, Any] = {}

    start = np.zeros((1, 3)).view(OnDevice)
    with pytest.raises(UnsupportedModel, match=r"a start in arrays of a CUDA device.*: not built yet for closed loops"):
        simulate_batch(four_bar().model(), 0.1, start, step=1e-3, device="cuda")


@pytest.mark.full
def test_single_precision_of_a_bent_mechanism(device) -> None:
    model = load("slider-crank").model(stiffening="off")
    run = {"q0": {"crank": [0.5, 1.2]}, "step": 1e-4, "output_step": 0.05}
    gpu = simulate_batch(model, 0.05, device="cuda", precision="single", **run)
    cpu = simulate_batch(model, 0.05, **run)
    close(gpu.q - cpu.q[:, :1], cpu.q - cpu.q[:, :1], 1e-3)
    assert np.abs(model.gaps(gpu.q[:, -1].astype(float))).max() < 1e-6
