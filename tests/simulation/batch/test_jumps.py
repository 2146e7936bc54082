"""A step reference at t = 0.5 s, by every way to run: one run through the jump is two runs joined there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

from arms import random_robot
from pliant import simulate, simulate_batch
from pliant.control import PD, MeasuredMotion, Trajectory, natural_gains
from pliant.control.controllers.controller import actuated
from pliant.errors import ModelError
from pliant.model import Model
from pliant.robot import load
from pliant.simulation.runs.equations.composition import compose

JUMP, END = 0.5, 0.62
COMPARISONS: dict[str, Callable[[Any], Any]] = {
    ">=": lambda t: t >= JUMP,
    ">": lambda t: t > JUMP,
    "never": lambda t: t < -1.0,
    "always": lambda t: t > -1.0,
}
ADAPTIVE, FIXED = ("dopri5", "dop853", "rodas5p", "adams", "bdf"), ("rk4", "midpoint")
PACKS = ("packs rk4", "packs dopri5", "cuda rk4", "cuda dopri5")
BUNDLED = ("boom", "canadarm2", "crane-4dof", "lab-arm", "puma", "rrp", "space-arm", "spin-up", "two-link")
RANDOM = ("random 3", "random 11", "random 17")
TOO_LONG, SLIDING = ("canadarm2",), ("rrp",)
RTOL = 1e-7
ROUND_OFF = 1e-10


class Step(Trajectory):
    """A reference that stands at `before`, then at `after`."""

    def __init__(self, before: Any, after: Any, later: Callable[[Any], Any], declared: bool) -> None:
        self.n, self.before, self.after, self.later = len(before), ca.DM(before), ca.DM(after), later
        self.breaks = (JUMP,) if declared else ()

    def expression(self, t: Any) -> Any:
        """(n, 1) positions."""
        return ca.if_else(self.later(t), self.after, self.before)


class Case(NamedTuple):
    """An arm, where it starts, its references and the step that a fixed method takes."""

    model: Model
    q0: Any
    gains: tuple[Any, Any]
    before: Any
    after: Any
    step: float


@cache
def case(name: str) -> Case:
    kind, _, seed = name.partition(" ")
    robot = random_robot(int(seed), 3, drives=True, elements=False) if kind == "random" else load(name)
    model = robot.model(stiffening="off")
    q0 = model.chain.rest()
    m = model.n_joints
    q0[:m] += 0.1 * np.linspace(1.0, 0.3, m) * (np.array([j.type != "prismatic" for j in _joints(robot)]))
    for joint in model.joints:
        if f"{joint}.motor" in model.coordinates:
            q0[model.index(f"{joint}.motor")] = q0[model.index(joint)]
    before, gains = q0[:m].copy(), natural_gains(model, q0, 5.0 / (2 * np.pi))
    step = np.clip(0.7 / _fastest(model, q0, *gains), 1e-5, 2e-3)  # friction is steep only where nothing moves
    return Case(model, q0, gains, before, before + 0.02, float(step))


def _fastest(model: Model, q: Any, kp: Any, kd: Any) -> float:
    """Largest eigenvalue of the loop, 1/s."""
    acting = actuated(model)
    linear = model.linearize(q, np.zeros(model.n), np.zeros(model.n_joints))
    feedback = np.zeros((model.n_joints, 2 * model.n))
    feedback[:, acting], feedback[:, [model.n + k for k in acting]] = np.diag(kp), np.diag(kd)
    return float(np.abs(np.linalg.eigvals(linear.A - linear.B @ feedback)).max())


def _joints(robot: Any) -> list[Any]:
    return [link.joint for link in robot.links if link.joint.type != "fixed"]


class Ends(NamedTuple):
    """Last coordinates and rates, and the number of steps."""

    q: Any
    qd: Any
    steps: int


def run(c: Case, method: str, law: Any, t_end: float, q: Any, qd: Any, **options: Any) -> Ends:
    """One run by any way."""
    where, _, kind = method.rpartition(" ")
    if where:
        device = {"device": "cuda"} if where == "cuda" else {}
        given = {"step": c.step} if kind == "rk4" else {"rtol": RTOL, "atol": RTOL / 100}
        batch = simulate_batch(c.model, t_end, q, qd, controller=law, method=kind, output_step=t_end, limits=False,
                               **device, **given, **options)  # fmt: skip
        return Ends(batch.q[0, -1], batch.qd[0, -1], int(batch.steps[0]))
    given = {"step": c.step} if method in FIXED else {"rtol": RTOL, "atol": RTOL / 100}
    result = simulate(c.model, t_end, q, qd, controller=law, method=method, output_step=t_end, limits=False,
                      progress=False, **given, **options)  # fmt: skip
    return Ends(result.q[-1], result.qd[-1], result.stats.steps)


@cache
def joined(name: str, method: str) -> Ends:
    """Two runs without a jump, the second from where the first ends."""
    c = case(name)
    first = run(c, method, law(name, "never"), JUMP, c.q0, np.zeros(c.model.n))
    second = run(c, method, law(name, "always"), END - JUMP, first.q, first.qd)
    return Ends(second.q, second.qd, first.steps + second.steps)


@cache
def law(name: str, comparison: str, declared: bool = True) -> PD:
    """A controller whose reference steps: one object a case, so that it is compiled once."""
    c = case(name)
    return PD(*c.gains, Step(c.before, c.after, COMPARISONS[comparison], declared), gravity="none")


def off(found: Any, wanted: Any) -> float:
    """Largest difference, relative to the largest number, in units of the tolerance."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max()) / RTOL


def examine(name: str, method: str, comparison: str, declared: bool) -> None:
    """One run beside two joined ones. rodas5p controls no rates. On stiff arms adams runs for ten thousand steps at the
    edge of its stability, where the last bit decides on steps, and rates are what it leaves of fast vibrations."""
    c, wanted = case(name), joined(name, method)
    found = run(c, method, law(name, comparison, declared), END, c.q0, np.zeros(c.model.n))
    about = (name, method, comparison, declared)
    if method in FIXED or method.endswith("rk4"):
        assert max(off(found.q, wanted.q), off(found.qd, wanted.qd)) < ROUND_OFF / RTOL, about
        return
    allowed = 10.0 if declared else 100.0
    assert off(found.q, wanted.q) <= allowed, about
    assert off(found.qd, wanted.qd) <= (100.0 if method == "adams" else allowed) or method == "rodas5p", about
    more = 0.02 * wanted.steps if method in ("adams", "bdf") else 0.0  # their past decides on step and order
    assert found.steps <= wanted.steps + max(5 if declared else 40, more), about


WAYS = ((">=", True), (">", True), (">=", False), (">", False))


@pytest.mark.slow_cases("two-link")
@pytest.mark.parametrize("name", ["two-link"])
def test_a_step_reference(device: Any, name: str) -> None:
    for method in (*ADAPTIVE, *FIXED, *PACKS):
        for comparison, declared in WAYS[:: 3 if method in PACKS else 1]:  # packs compile for each
            examine(name, method, comparison, declared)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in (*BUNDLED, *RANDOM) if name != "two-link"])
def test_every_arm(device: Any, name: str) -> None:
    for method in (*ADAPTIVE, *FIXED, *PACKS):
        if (method == "cuda dopri5" and name in TOO_LONG) or (method in ("adams", "bdf") and name in SLIDING):
            continue  # adaptive steps on a device take shorter equations; SUNDIALS has no ends of travel
        for comparison, declared in (WAYS[0], WAYS[-1]):
            examine(name, method, comparison, declared)


# ------------------------------------------------------------------------------------- what no reading finds, pulses


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rodas5p"])
@pytest.mark.parametrize("breaks", [(), (JUMP,)])
def test_a_python_function_that_jumps(method: str, breaks: tuple[float, ...]) -> None:
    """Its jump is found while the run goes on, or declared."""
    c = case("two-link")
    hold = c.model.inverse_dynamics(c.q0, np.zeros(c.model.n), np.zeros(c.model.n))[: c.model.n_joints]
    torques = hold, hold + 0.02 * c.gains[0]
    options: dict[str, Any] = {"method": method, "rtol": RTOL, "atol": RTOL / 100, "progress": False}
    first = simulate(c.model, JUMP, c.q0, torque=torques[0], **options)
    second = simulate(c.model, END - JUMP, first.q[-1], first.qd[-1], torque=torques[1], **options)
    calls: list[float] = []

    def torque(t: float, q: Any, qd: Any) -> Any:
        calls.append(t)
        return torques[int(t >= JUMP)]

    found = simulate(c.model, END, c.q0, torque=torque, breaks=breaks, **options)
    assert off(found.q[-1], second.q[-1]) <= (10 if breaks else 100)
    attempts = [run.stats.steps + run.stats.rejected for run in (found, first, second)]
    assert attempts[0] <= attempts[1] + attempts[2] + (5 if breaks else 40)
    assert calls


SHAPES: dict[str, Callable[[Any], Any]] = {
    "pulse": lambda t: ca.if_else(ca.logic_and(t >= 0.11, t < 0.17), 1.0, 0.0),
    "saw-tooth": lambda t: ca.fmod(t, 0.045) / 0.045,
    "train": lambda t: ca.if_else(ca.fmod(t, 0.05) < 0.0173, 1.0, -0.4),
    "ramp": lambda t: ca.fmin(t / 0.0713, 1.0),
}


class Shaped:
    """Torques over time."""

    def __init__(self, shape: str, size: Any) -> None:
        self.shape, self.size = shape, ca.DM(size)

    def expression(self, t: Any, q: Any, qd: Any) -> Any:
        """(joints, 1) torques."""
        return self.size * SHAPES[self.shape](t)


@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
def test_pulses_and_saw_teeth(shape: str, damping: float) -> None:
    """Every method gives the same motion, and the work of the torques is the energy of the arm."""
    robot = load("two-link").replace({"links.upper.shapes.damping": damping, "links.fore.shapes.damping": damping})
    model, torque = robot.model(), Shaped(shape, [7.0, 2.0])
    exact = simulate(model, 0.3, torque=torque, method="dop853", rtol=1e-11, atol=1e-13)
    assert np.abs(exact.energy_balance).max() < 1e-9 * exact.energy.kinetic.max()
    for method, given in (("rk4", {"step": 1e-4}), ("dopri5", {}), ("rodas5p", {}), ("adams", {})):
        found = simulate(model, 0.3, torque=torque, method=method, rtol=RTOL, atol=RTOL / 100, **given)
        assert off(found.q, exact.q) <= 100, method
    packs = simulate_batch(model, 0.3, torque=torque, step=1e-4, output_step=0.003)
    assert off(packs.q[0], exact.q[::10]) <= 100


# --------------------------------------------------------------------------------------------------------- impulses


def _starts(speed: float, late: Callable[[Any], Any] = lambda t: t > 0.05) -> Callable[[Any], Any]:
    return lambda t: ca.if_else(late(t), speed * (t - 0.05), 0.0)


@pytest.mark.parametrize("name", ["two-link", pytest.param("random 3", marks=pytest.mark.full)])
def test_a_jump_in_a_prescribed_rate_is_an_impulse(name: str) -> None:
    """Momenta of what is free stay, the kinetic energy gained is the work done."""
    c = case(name)
    model, joint = c.model, c.model.joints[0]
    prescribed = model.index(joint)
    result = simulate(model, 0.1, c.q0, motion={joint: _starts(0.8)}, rtol=1e-9, output_step=0.001)
    at = int(np.searchsorted(result.t, 0.05 - 1e-9))
    before = simulate(model, 0.05, c.q0, motion={joint: lambda t: 0 * t}, rtol=1e-9, output_step=0.001)
    M, free = model.mass_matrix(result.q[at]), [k for k in range(model.n) if k != prescribed]
    change = result.qd[at] - before.qd[-1]
    assert change[prescribed] == pytest.approx(0.8)
    momentum = (M @ change)[free]
    assert np.abs(momentum).max() < 1e-7 * np.abs(M @ change).max()
    assert np.abs(result.energy_balance).max() < 1e-7 * result.energy.kinetic.max()
    gained = result.energy.kinetic[at] - before.energy.kinetic[-1]
    assert gained == pytest.approx((M @ change)[prescribed] * 0.4, rel=1e-6)  # impulse times the mean of the rates


def test_an_impulse_is_the_limit_of_a_fast_start() -> None:
    c = case("two-link")
    joint = c.model.joints[0]
    jump = simulate(c.model, 0.1, c.q0, motion={joint: _starts(0.8)}, rtol=1e-10)
    apart = []
    for ramp in (1e-3, 1e-4):

        def soft(t: Any, ramp: float = ramp) -> Any:
            s = ca.fmin(ca.fmax(t - 0.05, 0.0), ramp)
            return 0.8 * (s**2 / (2 * ramp) + ca.fmax(t - 0.05 - ramp, 0.0))

        found = simulate(c.model, 0.1, c.q0, motion={joint: soft}, rtol=1e-10)
        apart.append(np.abs(found.q[-1] - jump.q[-1]).max())
    assert apart[0] > 8 * apart[1]
    assert apart[1] < 1e-3


@pytest.mark.parametrize("late", [lambda t: t > 0.05, lambda t: t >= 0.05])
def test_impulses_in_every_way_to_run(device: Any, late: Callable[[Any], Any]) -> None:
    c = case("two-link")
    motion = {c.model.joints[0]: _starts(0.8, late)}
    exact = simulate(c.model, 0.1, c.q0, motion=motion, method="dop853", rtol=1e-11, atol=1e-13, output_step=0.01)
    for method in ("rodas5p", "adams"):
        found = simulate(c.model, 0.1, c.q0, motion=motion, method=method, rtol=1e-8, output_step=0.01)
        assert np.abs(found.qd - exact.qd).max() < 1e-5 * np.abs(exact.qd).max()
        assert np.abs(found.energy_balance).max() < 1e-6 * exact.energy.kinetic.max()
    for options in ({"step": 1e-4}, {"method": "dopri5", "rtol": 1e-8}, {"step": 1e-4, "device": "cuda"}):
        batch = simulate_batch(c.model, 0.1, c.q0, motion=motion, output_step=0.01, work=True, **options)
        assert np.abs(batch.qd[0] - exact.qd).max() < 1e-5 * np.abs(exact.qd).max()
        gained = exact.energy.total - exact.energy.total[0]
        assert np.abs(batch.work[0] - gained).max() < 1e-5 * exact.energy.kinetic.max()


def test_an_arm_that_broke_before_an_impulse_leaves_the_others_alone(device: Any) -> None:
    c = case("two-link")
    qd = np.zeros((3, c.model.n))
    qd[1, 2] = 1e200
    motion = {c.model.joints[0]: _starts(0.8)}
    for where in ("cpu", "cuda"):
        with pytest.warns(UserWarning, match="1 of 3 arms broke down"):
            batch = simulate_batch(c.model, 0.1, c.q0, qd, motion=motion, step=1e-4, device=where)
        assert np.isfinite(batch.q).all(axis=(1, 2)).tolist() == [True, False, True]
        assert np.array_equal(batch.q[0], batch.q[2])


def test_fast_motion_late_in_a_run_is_no_jump() -> None:
    """Between the two sides of a break at 1e6 s lie 2e-9 s, in which a joint may move on."""
    c = case("two-link")
    composed = compose(c.model, None, None, {"upper": lambda t: ca.sin(50 * t)}, (), None, False)
    assert len(composed.impulses(np.array([0.3, 1e4, 1e6])).times) == 0


def test_a_prescribed_position_cannot_jump() -> None:
    c = case("two-link")
    with pytest.raises(ModelError, match=r"motion\['upper'\]: jumps from 0 to 0.1 at t = 0.05 s"):
        simulate(c.model, 0.1, motion={"upper": lambda t: ca.if_else(t > 0.05, 0.1, 0.0)})


@pytest.mark.parametrize("breaks", [["soon"], [np.inf], [[0.1]]])
def test_breaks_are_times(breaks: Any) -> None:
    with pytest.raises(ModelError, match="breaks"):
        simulate(case("two-link").model, 0.1, breaks=breaks)


def test_series_are_looked_up_on_a_device(device: Any) -> None:
    """As in packs: pieces of a measured motion, one arm beside another with other numbers."""
    model = load("two-link").model(parameters=["payload.mass"], stiffening="off")
    t = np.linspace(0, 0.1, 101)
    motion = MeasuredMotion(t, np.column_stack([0.2 * np.sin(9 * t), -0.1 * np.sin(7 * t)]), order=5).motion(model)
    options: dict[str, Any] = {"motion": motion, "p": [[0.1], [0.5]], "step": 2.5e-4, "output_step": 0.02}
    packs, found = (simulate_batch(model, 0.1, device=where, **options) for where in ("cpu", "cuda"))
    assert np.abs(found.q - packs.q).max() < 1e-12
    assert np.abs(packs.q[0] - packs.q[1]).max() > 1e-5
