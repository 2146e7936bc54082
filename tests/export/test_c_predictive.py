"""A predictive controller in C gives the torques of the one in Python, in the memory that it states."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from exported import STRICT, build, needs_compiler
from pliant.control import MPC, Quintic, StrainBound
from pliant.control.controllers.mpc import SOURCE, STATUS, Pilot
from pliant.errors import ModelError, UnsupportedModel
from pliant.export import export
from pliant.export.c.predictive import CPredictive
from pliant.export.c.text import DOUBLE
from pliant.export.contents import export_name

ASKED = 1e-9
"""Of the largest torque."""
Q = {"joints": 100.0, "rates": 1.0}


class Case(NamedTuple):
    """A controller, the state at which its loop begins, and how many steps that has."""

    mpc: MPC
    start: np.ndarray
    steps: int


@cache
def case(name: str) -> Case:
    """By the arm: torques, their rates, deflections and a speed bounded, of which some cannot be kept at first."""
    if name == "two-link":
        model = unequal_two_link().model(stiffening="off", parameters=("payload.mass",))
        mpc = MPC(
            model, 0.4, 8, [0.4, -0.3], Q, 1e-5, torque=[160.0, 45.0], torque_rate=1500.0, stages=4, damping=2.0,
            positions={"fore.bending_y.1": (-0.0042, 0.02)}, speeds={"upper": 1.2},
            strains=[StrainBound("upper", 0.1, (0.01, 0.0), 3e-3)],
        )  # fmt: skip
        start = np.concatenate([model.equilibrium([0.0, 0.0]), [4.0, 0.0, 0.0, 0.0]])
        return Case(mpc, start, 50)
    model = unequal_arm().model(stiffening="off")
    mpc = MPC(
        model, 1.4, 14, [0.3, 0.2, 0.1], Q, 1e-3, torque=[20.0, 13.5, 10.0], torque_rate=[100.0, 60.0, 120.0], steps=2,
        positions={"boom.bending_y.1": (-0.1, 0.02), "boom.bending_z.1": (-0.17, 0.0)}, speeds={"fore": 1.2},
        damping=1.0, slack_weight=100.0,
    )  # fmt: skip
    start = np.concatenate([model.equilibrium([0.0, 0.0, 0.0]), np.zeros(model.n)])
    start[model.n + model.index("boom.bending_z.1")] = -0.8
    return Case(mpc, start, 50)


def stated_bytes(folder: Path, name: str) -> int:
    return int(re.findall(r"All memory of a controller, (\d+) bytes", (folder / f"{name}.h").read_text())[0])


class Controller:
    """An exported controller in memory of its own, which holds anything before it is reset."""

    def __init__(self, folder: Path, mpc: MPC) -> None:
        name = export_name(mpc.model)
        self.library, self.name = ctypes.CDLL(str(folder / f"{name}.so")), f"{name}_mpc"
        self.memory = np.full(stated_bytes(folder, name) // 8 + 1, np.nan)
        self.memory[-1] = self.guard = 123.25
        self.tau = np.zeros(mpc.model.n_joints)

    def call(self, name: str, *given: Any, result: Any = ctypes.c_int) -> Any:
        function = getattr(self.library, f"{self.name}_{name}")
        kinds = [ctypes.c_double if isinstance(x, float) else ctypes.c_void_p for x in given]
        function.argtypes, function.restype = [ctypes.c_void_p, *kinds], result
        pointers = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in given]
        found = function(self.memory.ctypes.data, *pointers)
        assert self.memory[-1] == self.guard
        return found

    def step(self, x: np.ndarray, t: float) -> tuple[str, str, int]:
        status = self.call("step", t, np.array(x), self.tau)
        return STATUS[status], SOURCE[self.call("source")], self.call("iterations")

    def numbers(self, name: str, *shape: int) -> np.ndarray:
        return np.ctypeslib.as_array(self.call(name, result=ctypes.POINTER(ctypes.c_double)), shape).copy()


@pytest.fixture(scope="module")
def two_link(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the two-link arm, and its library."""
    mpc = case("two-link").mpc
    folder = export(mpc.model, "c", tmp_path_factory.mktemp("mpc") / "out", functions=["tip_pose"], controller=mpc)
    build(folder, mpc.model)
    return folder


def compare(given: Case, controller: Controller, seed: int = 0) -> list[tuple[str, str, int]]:
    """Torques, status, source, plan and slack along a noisy loop with failing measurements."""
    mpc, steps = given.mpc, given.steps
    pilot, rng, x, told, slack = mpc.pilot(), np.random.default_rng(seed), given.start, [], 0.0
    blind = {steps // 4, steps // 4 + 1, *range(steps // 2, steps // 2 + mpc.intervals + 3)}
    found, wanted = [], []
    controller.call("reset", None)
    for k in range(steps):
        seen, t = x if k not in blind else np.full_like(x, np.inf), k * mpc.interval
        if k % 3 == 0:  # ahead of the measurement, or not
            controller.call("prepare", t)
        answer = pilot.step(seen, t)
        told.append(controller.step(seen, t))
        assert told[-1][:2] == (answer.status, answer.source)
        found.append(controller.tau.copy())
        wanted.append(answer.tau)
        states = np.hstack([answer.q, answer.qd])
        assert np.abs(controller.numbers("states", *states.shape) - states).max() <= ASKED * np.abs(states).max()
        torques = controller.numbers("torques", *answer.torques.shape)
        assert np.abs(torques - answer.torques).max() <= ASKED * np.abs(answer.torques).max()
        slack = max(slack, _same_slack(pilot, controller))
        x = states[1] * (1 + 1e-3 * rng.normal(size=len(x)))
    assert np.abs(np.array(found) - wanted).max() <= ASKED * np.abs(wanted).max()
    assert slack > 1e-3
    return told


def _same_slack(pilot: Pilot, controller: Controller) -> float:
    """The largest slack, of half the width of its bounds."""
    units = np.array([o.unit for o in pilot.parts.outputs])
    own, wanted = controller.numbers("slack", len(units)), pilot.solver.slack
    assert (np.abs(own - wanted) <= ASKED * units).all()
    return float((wanted / units).max())


def assert_all_is_met(told: list[tuple[str, str, int]]) -> None:
    """Programs with bounds that bind, plans that are shifted and used up, and a first plan behind that."""
    sources = [source for _, source, _ in told]
    assert {"plan", "shifted plan", "safe law"} == set(sources)
    assert sources.index("safe law") < len(sources) - 1 - sources[::-1].index("plan")
    assert sum(count > 0 for status, _, count in told if status == "solved") >= 5


@needs_compiler
def test_torques_are_those_of_python(two_link: Path) -> None:
    given = case("two-link")
    told = compare(given, Controller(two_link, given.mpc))
    assert_all_is_met(told)
    assert ("solved", "plan", 0) in told  # no bound binds


@needs_compiler
@pytest.mark.full
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_an_arm_in_space(optimized: str, tmp_path: Path) -> None:
    """Eleven coordinates, an elastic drive and a slide, bending in two planes and twisting."""
    given = case("space")
    folder = export(given.mpc.model, "c", tmp_path / "out", functions=["tip_pose"], controller=given.mpc)
    build(folder, given.mpc.model, optimized=optimized)
    assert_all_is_met(compare(given, Controller(folder, given.mpc)))


@needs_compiler
@pytest.mark.full
@pytest.mark.parametrize("optimized", ["-O1", "-O2", "-O3", "-Os"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_every_compiler_agrees(compiler: str, optimized: str, two_link: Path, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    given, folder = case("two-link"), shutil.copytree(two_link, tmp_path / "out")
    build(folder, given.mpc.model, compiler, optimized)
    assert_all_is_met(compare(given, Controller(folder, given.mpc)))


@needs_compiler
def test_two_controllers_share_nothing(two_link: Path) -> None:
    """One that another one is stepped beside, and one that is copied, go on as one alone."""
    given = case("two-link")
    mpc, x, far = given.mpc, given.start, given.start + 0.05
    alone, first, other = (Controller(two_link, mpc) for _ in range(3))
    for controller in (alone, first, other):
        controller.call("reset", None)
    for k in range(4):
        alone.step(x, k * mpc.interval)
        first.step(x, k * mpc.interval)
        other.step(far, k * mpc.interval)
        if k == 2:
            other.memory[:] = first.memory
            other.step(x, 3 * mpc.interval)
            wanted = other.tau.copy()
    np.testing.assert_array_equal(first.tau, alone.tau)
    np.testing.assert_array_equal(first.tau, wanted)


@needs_compiler
def test_rates_start_where_reset_says(two_link: Path) -> None:
    given = case("two-link")
    mpc, acting = given.mpc, np.array([500.0, 3.0])  # clipped to the bounds
    pilot, controller = mpc.pilot(), Controller(two_link, mpc)
    pilot.reset(acting)
    controller.call("reset", acting)
    controller.step(given.start, 0.0)
    wanted = pilot.step(given.start, 0.0).tau
    assert np.abs(controller.tau - wanted).max() <= ASKED * np.abs(wanted).max()
    far = 1500.0 * mpc.interval
    assert np.abs(controller.tau - [160.0, 3.0]).max() <= far * (1 + 1e-12)


@needs_compiler
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_nothing_is_allocated_and_memory_and_stack_are_as_stated(two_link: Path) -> None:
    """The object calls the mathematics and copies of memory alone, and has no variables."""
    model = case("two-link").mpc.model
    name, header = export_name(model), (two_link / f"{export_name(model)}.h").read_text()
    stated = stated_bytes(two_link, name)
    (two_link / "size.c").write_text(f'#include "{name}.h"\nextern int x[sizeof({name}_mpc) == {stated}U ? 1 : -1];\n')
    for command in ([*STRICT, "-c", "size.c"], ["-O2", *STRICT, "-fstack-usage", "-c", f"{name}.c"]):
        subprocess.run(["cc", *command], cwd=two_link, check=True, capture_output=True)
    lines = subprocess.run(["nm", f"{name}.o"], cwd=two_link, check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-2:] for line in lines.splitlines()]
    outside = {symbol for kind, symbol in symbols if kind == "U"}
    assert outside <= {"sin", "cos", "sincos", "sqrt", "memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}
    assert not [symbol for kind, symbol in symbols if kind in "bBdDC" and not symbol.endswith("_parts")]
    rows = [line.split("\t") for line in (two_link / f"{name}.su").read_text().splitlines()]
    frames = {where.split(":")[-1]: int(size) for where, size, _ in rows if not where.endswith("tip_pose")}
    deepest = sum(sorted(frames.values())[-6:])  # no chain of calls has more frames that count
    promised = int(re.findall(r"At most (\d+) bytes of stack. \*/\nint \w+_mpc_step", header)[0])
    assert deepest <= promised <= 2 * deepest


@needs_compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_folder_tests_itself_and_can_fail(two_link: Path) -> None:
    flags = f"CFLAGS=-O1 {' '.join(STRICT)} -fsanitize=address,undefined -fno-sanitize-recover=all"
    made = subprocess.run(["make", "check", flags, "STACK="], cwd=two_link, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "all values right" in made.stdout
    source = two_link / f"{export_name(case('two-link').mpc.model)}.c"
    text = source.read_text()
    try:
        source.write_text(text.replace("9.81", "9.81001"))
        made = subprocess.run(["make", "check", "CFLAGS=-O0"], cwd=two_link, capture_output=True, text=True)
    finally:
        source.write_text(text)
    assert made.returncode != 0
    assert "mpc_step: tau" in made.stdout


def test_files_say_what_they_hold(two_link: Path) -> None:
    mpc = case("two-link").mpc
    name = export_name(mpc.model)
    header, readme = (two_link / f"{name}.h").read_text(), (two_link / "README.md").read_text()
    assert "tau[1]  torque of fore (N.m), within -45 and 45" in header
    assert "slack[1]  of rate of upper, within -1.2 and 1.2" in header
    assert mpc.model.robot.digest() in header
    assert f"#define {name.upper()}_MPC_INTERVAL 0.05" in header
    assert f"#define {name.upper()}_MPC_FROM_SAFE_LAW 2" in header
    assert "| `slack[2]` | strain of upper at 0.1 | within -0.003 and 0.003 |" in readme
    assert "Projections" not in (two_link / f"{name}.c").read_text()
    assert (
        "/* Step the multipliers until no row is violated; return the status. */"
        in (two_link / f"{name}.c").read_text()
    )


@needs_compiler
@pytest.mark.full
def test_paths_and_costs_of_ones_own(tmp_path: Path) -> None:
    """A moving reference, a path of the tip, and a cost that is a function; no bounds; an arm believed lighter."""
    arm = unequal_two_link().model(stiffening="off")
    lighter = unequal_two_link().replace({"links.fore.beam.mass_per_length": 5.0}).model(stiffening="off")
    mpc = MPC(
        lighter, 0.3, 6, Quintic([0.0, 0.0], [0.3, -0.2], 0.5), Q, 1e-4, tip=[1.7, 0.3, 0.0], tip_weight=20.0,
        cost=lambda t, q, qd, tau: 0.1 * qd[0] * qd[1],
    )  # fmt: skip
    folder = export(arm, "c", tmp_path / "out", functions=["tip_pose"], controller=mpc)
    build(folder, arm)
    controller, pilot = Controller(folder, mpc), mpc.pilot()
    controller.call("reset", None)
    x = np.concatenate([arm.equilibrium([0.05, 0.0]), np.zeros(4)])
    for k in range(20):
        answer = pilot.step(x, k * mpc.interval)
        assert controller.step(x, k * mpc.interval)[:2] == ("solved", "plan")
        assert np.abs(controller.tau - answer.tau).max() <= ASKED * np.abs(answer.tau).max()
        x = np.concatenate([answer.q[1], answer.qd[1]])


@needs_compiler
def test_long_functions_work_in_memory_of_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = case("two-link")
    monkeypatch.setattr("pliant.export.c.function.LONGEST_FUNCTION", 1)
    monkeypatch.setattr("pliant.export.c.function.PART", 40)
    folder = export(given.mpc.model, "c", tmp_path / "out", functions=["tip_pose"], controller=given.mpc)
    source = (folder / f"{export_name(given.mpc.model)}.c").read_text()
    assert "_MPC_SLOPES_WORK" in source
    assert "_MPC_END_WORK" in source
    build(folder, given.mpc.model)
    compare(given, Controller(folder, given.mpc))


def test_the_test_ends_where_rounding_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its steps here; fewer where no bit may differ, and none where nothing is good enough."""
    mpc = case("two-link").mpc
    controller = CPredictive(mpc.model, DOUBLE, mpc)
    seen, answers = controller.reference(12, ASKED)
    assert len(seen) == len(answers) == 12
    assert [a.source for a in answers].count("shifted plan") == 1
    monkeypatch.setattr("pliant.export.c.predictive.DETERMINED", 0.0)
    assert len(controller.reference(12, ASKED)[1]) < 12
    monkeypatch.setattr("pliant.export.c.predictive.DETERMINED", -1.0)
    assert controller.test(12, ASKED) == ([], "")


# ------------------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"precision": "single"}, UnsupportedModel, "expected 'double' beside a predictive controller"),
        ({"step": 1e-3}, UnsupportedModel, "a plant holds no predictive controller"),
        ({"q0": [0.0, 0.0]}, ModelError, "step: got None beside parts of a plant"),
    ],
)
def test_what_cannot_be_exported_is_refused(given: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    mpc = case("two-link").mpc
    with pytest.raises(error, match=message):
        export(mpc.model, "c", tmp_path / "out", functions=["tip_pose"], controller=mpc, **given)
    assert list(tmp_path.iterdir()) == []


def test_another_arm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected a run of an arm with the same coordinates"):
        export(pliant.load("puma").model(), "c", tmp_path / "out", controller=case("two-link").mpc)
