"""Numbers that change without anything being traced or compiled: gains, goals, starts, tolerances, payloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.base.tuning import form, mapped, numbers_of
from pliant.compute import Recorded
from pliant.compute.llvm import llvm
from pliant.control import (
    LQR,
    PD,
    PID,
    ComputedTorque,
    Cycloidal,
    Limited,
    Phases,
    Pulse,
    Quintic,
    Sampled,
    Samples,
    Shaped,
    Sine,
    Step,
    Switch,
    TipLine,
    Trapezoidal,
    Waypoints,
    zv,
)
from pliant.simulation.runs.equations.composition import Composition, compose


class Counter:
    """What is traced and compiled."""

    def __init__(self) -> None:
        self.traced: list[str] = []
        self.compiled: list[str] = []

    def __call__(self, run: Callable[[], Any]) -> int:
        """How much of it `run` asks for."""
        before = len(self.traced) + len(self.compiled)
        run()
        return len(self.traced) + len(self.compiled) - before


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter:
    counter, trace, compiled = Counter(), Recorded.traced.func, llvm.object_code

    def traced(self: Recorded) -> Any:
        counter.traced.append(self.title)
        return trace(self)

    def object_code(*given: Any, **more: Any) -> bytes:
        counter.compiled.append("code")
        return compiled(*given, **more)

    prop = cached_property(traced)
    prop.__set_name__(Recorded, "traced")
    monkeypatch.setattr(Recorded, "traced", prop)
    monkeypatch.setattr(llvm, "object_code", object_code)
    return counter


def six_joints(shapes: dict[str, Any]) -> pliant.Robot:
    """An arm of the size of a UR5, whose two long links bend."""

    def rigid(name: str, mass: float, length: float, turn: str) -> dict[str, Any]:
        inertia = [mass * length**2 / 12] * 3
        tip = {"tip": [0, 0, length], "tip_rpy": [turn, 0, 0]}
        return {"name": name, "rigid": {"mass": mass, "com": [0, 0, length / 2], "inertia": inertia, **tip}}

    def tube(name: str, length: float, outer: float) -> dict[str, Any]:
        section = {"shape": "tube", "outer_diameter": outer, "inner_diameter": outer - 0.008}
        beam = {"length": length, "material": "aluminium", "section": section}
        return {"name": name, "beam": beam, "shapes": {"boundary": "clamped-free", **shapes}, "tip": {"mass": 1.0}}

    links = [rigid("pan", 3.7, 0.089, "pi/2"), tube("lift", 0.425, 0.06), tube("elbow", 0.392, 0.05)]
    links += [rigid("wrist_1", 1.2, 0.109, "pi/2"), rigid("wrist_2", 1.2, 0.095, "-pi/2")]
    links += [rigid("wrist_3", 0.2, 0.082, "0")]
    return pliant.Robot.from_dict(
        {"format": 1, "name": "six joints", "gravity": [0, 0, -9.81], "links": links, "payload": {"mass": 2.0}}
    )


def tune_six_joints(robot: pliant.Robot, counted: Counter, **options: Any) -> None:
    """Every change of the issue, after one run, reruns without tracing or compiling."""
    model, start = robot.model(**options), np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    goals = start + 0.1, start + 0.2

    def run(gain: float = 500.0, goal: Any = goals[0], q0: Any = start, mass: float | None = None, **more: Any) -> Any:
        arm = model if mass is None else model.replace({"payload.mass": mass})
        controller = PD(gain, gain / 10, Quintic(start, goal, 0.02))
        result = pliant.simulate(arm, 0.01, q0=q0, controller=controller, method="dopri5", **more)
        assert np.isfinite(result.tau).all()
        assert np.isfinite(result.energy_balance).all()
        return result

    assert counted(run) > 0
    assert counted(lambda: run(mass=3.0)) > 0  # the second value of the payload makes it an input
    changes: dict[str, Callable[[], Any]] = {
        "gain": lambda: run(gain=600.0),
        "gain of none": lambda: run(gain=0.0),
        "goal": lambda: run(goal=goals[1]),
        "start": lambda: run(q0=start + 0.05),
        "tolerance": lambda: run(rtol=1e-6, atol=1e-7),
        "payload": lambda: run(mass=4.0),
        "payload and gain": lambda: run(mass=4.5, gain=700.0),
    }
    asked = {name: counted(change) for name, change in changes.items()}
    assert not any(asked.values()), (asked, counted.traced)


def test_a_changed_number_of_an_arm_with_six_joints_compiles_nothing(
    counted: Counter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))  # empty: the first run traces and compiles
    tune_six_joints(six_joints({"bending_z": 1}), counted, stiffening="off")


@pytest.mark.full
def test_so_it_does_with_ten_shapes_and_stiffening(
    counted: Counter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    tune_six_joints(six_joints({"bending_y": 2, "bending_z": 2, "torsion": 1, "damping": 0.01}), counted)


TRAJECTORIES = {
    "cycloid": lambda s: Cycloidal([0.0, 0.1], [0.4 * s, 0.3], 0.9 * s),
    "quintic": lambda s: Quintic([0.0, 0.1 * s], [0.4, 0.3], 0.8, begin=0.1 * s),
    "trapezium": lambda s: Trapezoidal([0.0, 0.0], [0.5, 0.2 * s], 0.9, ramp=0.2 * s),
    "step": lambda s: Step([0.0, 0.0], [0.1 * s, 0.1], 0.3 * s),
    "position": lambda s: [0.3, 0.2 * s],
    "waypoints": lambda s: Waypoints([0.0, 0.4, 0.8 * s], [[0.0, 0.0], [0.2, 0.1 * s], [0.5, 0.4]]),
    "samples": lambda s: Samples([0.0, 0.4 * s, 0.8], [[0.0, 0.0], [0.2, 0.1 * s], [0.5, 0.4]]),
    "shaped": lambda s: Shaped(Step([0.0, 0.0], [0.1, 0.1 * s], 0.2), zv(2.0 * s)),
    "phases": lambda s: Phases([Quintic([0, 0], [0.2, s], 0.2), Sine([0.1, 0.1], s, offset=[0.2, s])], [0.3 * s]),
    "pulse": lambda s: Pulse([0.1, 0.2 * s], 0.3 * s, begin=0.1),
}
CONTROLLERS: dict[str, Callable[[float], Any]] = {
    **{f"PD, {name}": lambda s, r=r: PD([500.0, 200.0 * s], 30.0 * s, r(s)) for name, r in TRAJECTORIES.items()},
    "PD, matrix": lambda s: PD([[500.0, 20.0 * s], [0.0, 200.0]], 30.0, [0.2, 0.1], gravity="measured"),
    "PID": lambda s: PID(500.0, 90.0 * s, 30.0, Quintic([0.0, 0.0], [0.4, 0.3], 0.8), limit=[60.0 * s, 50.0]),
    "computed torque": lambda s: ComputedTorque(90.0 * s, 20.0, Quintic([0.0, 0.0], [0.4, 0.3 * s], 0.8)),
    "LQR": lambda s: LQR([0.0, 0.1 * s], Q={"joints": 100.0 * s, "flexible": 90.0, "rates": 1.0}, R=0.01),
    "limited": lambda s: Limited(PD(400.0, 40.0 * s, [0.2, 0.1]), limit=[30.0, 20.0 * s]),
    "switch": lambda s: Switch([PD(500.0, 50.0, [0.1, 0.0]), PID(400.0 * s, 9.0, 40.0, [0.2, s])], until=[0.4 * s]),
}


@pytest.fixture(scope="module")
def two_link() -> pliant.Model:
    return pliant.load("two-link").model()


def rates(composed: Composition, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the state, and torques, at some times and states."""
    t, x = rng.uniform(0.0, 1.2, size=(20, 1)), 0.3 * rng.normal(size=(20, composed.size))
    p = np.concatenate([np.zeros(2), composed.numbers])
    return composed.rhs(t, x, p), composed.torques(t[:, 0], x, np.tile(p, (20, 1)), np.zeros(0))[0]


@pytest.mark.slow_cases(
    "PD, cycloid", "PD, position", "PD, samples", "PD, shaped", "PD, step", "PD, trapezium", "PD, waypoints"
)
@pytest.mark.parametrize("name", CONTROLLERS)
def test_inputs_give_what_constants_give(name: str, two_link: pliant.Model, rng: np.random.Generator) -> None:
    first, second = (
        compose(two_link, None, CONTROLLERS[name](scale), {}, (), None, False, tuned=True) for scale in (1.0, 1.25)
    )
    assert second.first is first.first, "a changed number makes another function"
    folded = compose(two_link, None, CONTROLLERS[name](1.25), {}, (), None, False)
    seed = int(rng.integers(1 << 30))
    for ours, theirs in zip(*(rates(c, np.random.default_rng(seed)) for c in (second, folded))):
        assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()
    others = rates(first, np.random.default_rng(seed))
    assert np.abs(others[0] - rates(folded, np.random.default_rng(seed))[0]).max() > 1e-3
    assert set(second.breaks(1.2).round(9)) == set(folded.breaks(1.2).round(9))
    assert first.rhs.n_instructions() < folded.rhs.n_instructions() + 60 + 4 * len(first.given)


def test_weight_at_a_goal_is_computed_once_for_a_run(two_link: pliant.Model) -> None:
    controller = PD(500.0, 50.0, [0.3, 0.2])
    tuned, folded = (compose(two_link, None, controller, {}, (), None, False, tuned) for tuned in (True, False))
    assert tuned.rhs.n_instructions() <= folded.rhs.n_instructions() + 4


def test_prescribed_motion_is_tuned(two_link: pliant.Model, counted: Counter) -> None:
    def run(goal: float) -> pliant.Result:
        motion = {"upper": Cycloidal([0.1], [goal], 0.05)}
        return pliant.simulate(two_link, 0.05, motion=motion)

    run(0.2).tau.sum()
    assert counted(lambda: run(0.3).tau.sum()) == 0
    assert run(0.3).q[-1, 0] == pytest.approx(0.3, abs=1e-14)
    assert run(0.3).q[0, 0] == pytest.approx(0.1, abs=1e-14)
    starts = [
        compose(two_link, None, None, {"upper": Cycloidal([start], [0.3], 0.05)}, (), None, False, tuned=True).on_paths
        for start in (0.1, 0.2)
    ]
    assert [placed[0][0] for placed in starts] == pytest.approx([0.1, 0.2], abs=1e-14)


def test_a_line_of_the_tip_is_tuned(two_link: pliant.Model) -> None:
    first, second = (
        TipLine(two_link, [[1.2, 0.5, 0.0], [x, 0.8, 0.0]], 1.0, guess=[0.0, 0.8], samples=6) for x in (1.0, 1.1)
    )
    assert form(first) == form(second) is not None


def test_sampled_controllers_are_tuned(two_link: pliant.Model, counted: Counter) -> None:
    def run(gain: float) -> pliant.Result:
        return pliant.simulate(two_link, 0.05, controller=Sampled(PD(gain, 5.0, [0.1, 0.0]), sample_time=0.01))

    weak = run(50.0)
    assert counted(lambda: run(80.0)) == 0
    assert np.abs(run(80.0).q - weak.q).max() > 1e-6
    law = PD(80.0, 5.0, [0.1, 0.0]).bind(two_link)
    assert law(0.0, np.zeros(4), np.zeros(4)) == pytest.approx(run(80.0).tau[0], rel=1e-12)


class Own(Quintic):
    """A motion of a user's own, which does with its numbers what no symbol can."""

    def law(self, u: Any) -> Any:
        return u if self.duration > 1.0 else super().law(u)


def test_classes_of_others_are_left_as_they_are(two_link: pliant.Model) -> None:
    move = Own([0.0, 0.0], [0.2, 0.1], 0.05)
    assert mapped(move, lambda number: 2 * number) is move
    assert numbers_of(PD(5.0, 1.0, move).bind(two_link)).size == 4  # its gains alone
    result = pliant.simulate(two_link, 0.01, controller=PD(500.0, 50.0, move))
    folded = compose(two_link, None, PD(500.0, 50.0, move), {}, (), None, False)
    assert result.tau[0] == pytest.approx(folded.torques(np.zeros(1), result_state(result), np.zeros((1, 2)),
                                                         np.zeros(0))[0][0], rel=1e-12)  # fmt: skip


def result_state(result: pliant.Result) -> np.ndarray:
    return np.concatenate([result.q[0], result.qd[0], [0.0]])[None]


def test_what_is_told_apart() -> None:
    assert form(Quintic([0.0], [1.0], 1.0)) != form(Quintic([0.0, 0.0], [1.0, 1.0], 1.0))
    assert form(Pulse([1.0], 1.0)) != form(Pulse([1.0], 1.0, shape="rectangle"))
    model = pliant.load("two-link").model()
    laws = [PD(kp, 1.0, [0.0, 0.0]).bind(model) for kp in (1.0, [0.0, 3.0], [[1.0, 0.0], [0.0, 2.0]])]
    assert len({form(law) for law in laws}) == 1
    others = [PD([[1.0, 0.5], [0.0, 2.0]], 1.0, [0.0, 0.0]), PD(1.0, 1.0, [0.0, 0.0], limit=9.0)]
    assert len({form(law.bind(model)) for law in others} | {form(laws[0])}) == 3


# --------------------------------------------------------------------------------------------------- numbers of the arm


@pytest.fixture(scope="module")
def plain_arm() -> pliant.Robot:
    """No damping ratio, shapes of a free tip: nothing but equations follows the payload."""
    robot = pliant.load("two-link")
    return robot.replace({f"links.{link.name}.shapes.damping": 0.0 for link in robot.links})


def test_a_replaced_number_gives_what_a_model_built_anew_gives(plain_arm: pliant.Robot) -> None:
    changes = {"payload.mass": 1.5, "links.upper.beam.EI_z": 2.0 * plain_arm.paths()["links.upper.beam.EI_z"]}
    model = plain_arm.model(stiffening="off")
    tuned, anew = model.replace(changes), plain_arm.replace(changes).model(stiffening="off")
    assert tuned.robot == anew.robot
    assert set(tuned.parameters) == set(changes)
    move = PD(500.0, 50.0, Quintic([0.0, 0.0], [0.2, 0.1], 0.1))
    runs = [pliant.simulate(each, 0.1, controller=move, method="rk4", step=1e-4) for each in (tuned, anew)]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12 * np.abs(runs[1].q).max()
    assert np.abs(runs[0].tau - runs[1].tau).max() < 1e-10 * np.abs(runs[1].tau).max()
    assert np.abs(runs[0].energy.total - runs[1].energy.total).max() < 1e-10 * np.abs(runs[1].energy.total).max()
    assert tuned.frequencies(np.zeros(4)) == pytest.approx(anew.frequencies(np.zeros(4)), rel=1e-9)


def test_values_do_not_mix(plain_arm: pliant.Robot) -> None:
    model = plain_arm.model(stiffening="off")
    light, heavy = (model.replace({"payload.mass": mass}) for mass in (1.0, 9.0))
    again = heavy.replace({"payload.mass": 1.0})
    q = np.array([0.1, 0.2, 0.01, 0.01])
    assert (light.mass_matrix(q) == again.mass_matrix(q)).all()
    assert heavy.mass_matrix(q)[0, 0] - light.mass_matrix(q)[0, 0] > 1.0
    assert model.robot.payload.mass == plain_arm.payload.mass != light.robot.payload.mass
    assert light.first is heavy.first is again.first


def test_a_change_of_more_than_numbers_builds_anew() -> None:
    model = pliant.load("two-link").model()
    other = model.replace({"links.upper.shapes.bending_y": 2})
    assert (other.parameters, other.n) == ((), model.n + 1)
