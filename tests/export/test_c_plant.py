"""The plant of a C export steps as `Stepper` does, inside the memory that it states."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from driven_arms import everything
from exported import ROUND_OFF, STRICT, build, needs_compiler
from pliant.control import (
    LQR,
    PD,
    PID,
    Encoder,
    Observer,
    OutputFeedback,
    Sampled,
    StrainGauge,
    Tachometer,
    TipPosition,
)
from pliant.errors import ModelError, UnsupportedModel
from pliant.export import export
from pliant.export.contents import export_name
from pliant.loads import Wrench
from pliant.model import Model
from pliant.robot import Friction, Joint, Link, Robot

LOOKED = 20
"""Steps between two looks at the sensors, which take longer than the steps."""

KINDS = {"double": (ctypes.c_double, np.float64), "float": (ctypes.c_float, np.float32)}


class Built:
    """An exported plant, compiled and loaded."""

    def __init__(self, folder: Path, model: Model, **options: Any) -> None:
        name = export_name(model)
        header = (folder / f"{name}.h").read_text()
        members = re.findall(r"^    (double|float) (\w+)\[(\d+)\];", header, re.M)
        fields = [(key, KINDS[kind][0] * int(size)) for kind, key, size in members]
        self.State = type("State", (ctypes.Structure,), {"_fields_": [*fields, ("steps", ctypes.c_ulonglong)]})
        self.kind = KINDS[members[0][0]][1]
        self.library, self.name, self.n, self.n_q = build(folder, model, **options), name, model.n, model.n_q
        self.y = np.zeros(int(re.findall(r"_N_READINGS (\d+)", header)[0]), self.kind)
        self.state = self.State()
        getattr(self.library, f"{name}_init")(ctypes.byref(self.state))

    def step(self, tau: np.ndarray) -> None:
        given = np.ascontiguousarray(tau, self.kind)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (given, self.y)]
        getattr(self.library, f"{self.name}_step")(ctypes.byref(self.state), *pointers)

    @property
    def x(self) -> np.ndarray:
        return np.array(self.state.x[: self.n_q + self.n], dtype=float)


def compare(model: Model, folder: Path, tolerance: float, steps: int, precision: str = "double", **given: Any) -> None:
    """Coordinates, rates and readings of both, each relative to the largest of its kind in the run; half-way the first
    parameter changes."""
    export(model, "c", folder, functions=["tip_pose"], precision=precision, **given)
    plant, stepper = Built(folder, model), pliant.Stepper(model, limits=False, **given)
    tau, rows = np.linspace(0.3, -0.2, model.n_joints), []
    for k in range(steps):
        pushed = tau * np.cos(0.01 * k)
        if model.parameters and k == steps // 2:
            plant.state.p[0] = 0.7
            stepper.change({model.parameters[0]: 0.7})
        plant.step(pushed)
        stepper.step(given["step"], pushed)
        if k % LOOKED == LOOKED - 1:
            own = [plant.x[: model.n_q], plant.x[model.n_q :], plant.y.astype(float)]
            rows.append([own, [*stepper.state, stepper.outputs]])
    for quantity in range(3):
        found, wanted = (np.array([row[side][quantity] for row in rows]) for side in (0, 1))
        assert np.abs(wanted).max() > 1e-3
        assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()


def observed(model: Model) -> OutputFeedback:
    sensors = [*(Encoder(joint) for joint in model.joints), StrainGauge("upper", 0.1)]
    return OutputFeedback(
        LQR([0.1, -0.1], Q=1.0, R=0.01), Observer([0.1, -0.1], sensors, floor=1e-3), sample_time=2e-3, delay=1e-3
    )


def rough() -> Robot:
    """The two-link arm with friction that holds."""
    robot = unequal_two_link()
    upper, fore = robot.links
    joint = Joint(hub=upper.joint.hub, friction=Friction(viscous=0.3, coulomb=0.4, bristle=1e-3))
    held = Link(name="upper", joint=joint, beam=upper.beam, shapes=upper.shapes, tip=upper.tip)
    return Robot(name="rough arm", gravity=robot.gravity, links=[held, fore])


def seen(gain: float = 1.0, **clock: Any) -> list[Any]:
    """Encoders with digits, and tachometers."""
    joints = ("upper", "fore")
    return [*(Encoder(j, quantum=1e-3, gain=gain) for j in joints), *(Tachometer(j, **clock) for j in joints)]


LAWS = {
    "PD": lambda m: PD(50.0, 5.0, [0.3, -0.2]),
    "PID": lambda m: PID(50.0, 20.0, 5.0, [0.3, -0.2]),
    "sampled, late": lambda m: Sampled(PID(50.0, 20.0, 5.0, [0.3, -0.2]), sample_time=2e-3, delay=3e-3),
    "sampled": lambda m: Sampled(PD(50.0, 5.0, [0.3, -0.2]), sample_time=3e-3),
    "observer": observed,
    "sampled, by sensors": lambda m: Sampled(PD(50.0, 5.0, [0.3, -0.2]), sample_time=3e-3, sensors=seen(1.02)),
    "sampled, by slow sensors": lambda m: Sampled(
        PD(50.0, 5.0, [0.3, -0.2]), 3e-3, sensors=seen(1.02, delay=1e-3, sample_time=2e-3, cutoff=40.0)
    ),
}


@needs_compiler
@pytest.mark.parametrize(
    "law", [law if law == "sampled, late" else pytest.param(law, marks=pytest.mark.full) for law in LAWS]
)
def test_a_plant_steps_as_the_stepper_does(law: str, tmp_path: Path) -> None:
    model = unequal_two_link().model(parameters=("payload.mass",))
    given: dict[str, Any] = {"step": 1e-3, "controller": LAWS[law](model), "q0": [0.2, -0.1]}
    given["loads"] = [Wrench(force=[0.3, -0.7, 0.0])]
    given["sensors"] = [Encoder("fore", quantum=1e-3), TipPosition((0, 1)), StrainGauge("upper", 0.2)]
    compare(model, tmp_path / "out", ROUND_OFF, 1000, **given)


@pytest.mark.slow_cases("single-0.0001")
@needs_compiler
@pytest.mark.parametrize(
    ("precision", "tolerance"), [pytest.param("double", ROUND_OFF, marks=pytest.mark.full), ("single", 1e-4)]
)
def test_friction_that_holds(precision: str, tolerance: float, tmp_path: Path) -> None:
    model = rough().model()
    compare(model, tmp_path / "out", tolerance, 1000, precision, step=5e-4, controller=LAWS["PD"](model))


@needs_compiler
@pytest.mark.full
def test_drives_with_all_their_states(tmp_path: Path) -> None:
    model = everything().model()
    sensors = [TipPosition(), *(Encoder(joint, rate=True) for joint in model.joints)]
    compare(model, tmp_path / "out", ROUND_OFF, 1000, step=2e-5, sensors=sensors)


@needs_compiler
@pytest.mark.full
@pytest.mark.parametrize(("precision", "tolerance"), [("double", ROUND_OFF), ("single", 1e-4)])
@pytest.mark.parametrize("arm", ["elastic drives", "free-flyer"])
def test_other_arms_step_too(arm: str, precision: str, tolerance: float, tmp_path: Path) -> None:
    model = (unequal_arm() if arm == "elastic drives" else pliant.load(arm)).model()
    sensors = [TipPosition(), *(Encoder(joint, rate=True) for joint in model.joints)]
    compare(model, tmp_path / "out", tolerance, 1000, precision, step=2e-4, sensors=sensors)


@needs_compiler
def test_a_load_that_jumps_between_steps(tmp_path: Path) -> None:
    """The step before a jump sees nothing of it, the one behind sees it whole, as in `Stepper`."""
    model = unequal_two_link().model()
    pushed = Wrench(force=lambda t: ca.vertcat(0.0, ca.if_else(t >= 0.03, 5.0, 0.0), 0.0))
    compare(model, tmp_path / "out", ROUND_OFF, 60, step=1e-3, loads=[pushed])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"controller": PD(1.0, 1.0, [0.0, 0.0])}, ModelError, "step: got None"),
        ({"step": 1e-3, "controller": lambda t, q, qd: q[:2]}, UnsupportedModel, "a Python function"),
        ({"step": 1e-3, "controller": Sampled(PD(1.0, 1.0, [0.0, 0.0]), 2.5e-3)}, ModelError, "expected a part of"),
        ({"step": -1.0}, ModelError, "step: got -1.0"),
    ],
)
def test_what_cannot_be_stepped_is_refused(given: dict[str, Any], error: type, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        export(unequal_two_link().model(), "c", tmp_path / "out", functions=["tip_pose"], **given)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------- toolchains


def stated_stack(folder: Path, name: str) -> dict[str, int]:
    """Bytes by function, as the header says."""
    found = re.findall(
        r"At most (\d+) bytes of stack. \*/\n(?:#define.*\n)?void (\w+)\(", (folder / f"{name}.h").read_text()
    )
    return {function: int(size) for size, function in found}


def used_stack(folder: Path, name: str, *compiler: str) -> dict[str, int]:
    """Bytes by function, with those of the deepest that it calls, as a compiler says."""
    command = [*compiler, "-O2", *STRICT, "-fstack-usage", "-c", f"{name}.c", "-o", "measured.o"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in (folder / "measured.su").read_text().splitlines()]
    frames = {where.split(":")[-1]: int(size) for where, size, _ in rows}
    parts = {f: [size for g, size in frames.items() if re.fullmatch(rf"{f}_\d+", g)] for f in frames}
    used = {f: size + max(parts[f], default=0) for f, size in frames.items()}
    called = [used[f"{name}_{f}"] for f in ("state_rates", "readings", "sample") if f"{name}_{f}" in used]
    return used | {f"{name}_step": frames[f"{name}_step"] + max(called)}


COMPILERS = {
    "gcc": ("gcc",),
    "clang": ("clang",),
    "arm": ("arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard"),
}


@pytest.mark.parametrize("compiler", ["gcc", *(pytest.param(c, marks=pytest.mark.full) for c in ("clang", "arm"))])
@pytest.mark.parametrize("arm", ["two-link", pytest.param("lab-arm", marks=pytest.mark.full)])
@pytest.mark.parametrize("precision", ["double", pytest.param("single", marks=pytest.mark.full)])
def test_the_stack_is_what_the_header_says(compiler: str, arm: str, precision: str, tmp_path: Path) -> None:
    if shutil.which(COMPILERS[compiler][0]) is None:
        pytest.skip(f"no {COMPILERS[compiler][0]} on this machine")
    model = (unequal_two_link() if arm == "two-link" else pliant.load(arm)).model()
    functions = ["forward_dynamics", "jacobian"]
    folder, name = tmp_path / "out", export_name(model)
    export(model, "c", folder, functions=functions, precision=precision, step=2e-4, controller=LAWS["PD"](model)
           if arm == "two-link" else None)  # fmt: skip
    stated, used = stated_stack(folder, name), used_stack(folder, name, *COMPILERS[compiler])
    assert {"state_rates", "readings", "step", *functions} <= {f.removeprefix(f"{name}_") for f in stated}
    for f, size in stated.items():
        assert used[f] <= size
        if arm == "two-link":  # functions in parts read values again rather than keep them, how many differs
            assert size <= 2 * used[f] + 256


@needs_compiler
@pytest.mark.full
@pytest.mark.parametrize("precision", ["double", "single"])
def test_sanitizers_find_nothing(precision: str, tmp_path: Path) -> None:
    model = unequal_two_link().model(parameters=("payload.mass",))
    given = {"step": 1e-3, "controller": LAWS["sampled, late"](model)}
    folder = export(model, "c", tmp_path / "out", precision=precision, **given)
    flags = "-O1 -g -std=c99 -Wall -Wextra -Wconversion -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
    made(folder, "test", f"CFLAGS={flags}", "STACK=")


def made(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all values right" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_every_compiler_builds_and_checks(compiler: str, precision: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    model = unequal_two_link().model(parameters=("payload.mass",))
    folder = export(model, "c", tmp_path / "out", precision=precision, step=1e-3, controller=LAWS["sampled"](model))
    made(folder, "test", f"CC={compiler}")


@pytest.mark.full
@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_cortex_m7_in_qemu_finds_all_values_right(precision: str, tmp_path: Path) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on this machine")
    model = unequal_two_link().model(parameters=("payload.mass",))
    folder = export(
        model, "c", tmp_path / "out", precision=precision, step=1e-3, controller=LAWS["sampled, late"](model)
    )
    made(folder, "qemu")
    source = folder / f"{export_name(model)}.c"
    source.write_text(source.read_text().replace("9.81", "9.82"))
    assert subprocess.run(["make", "qemu"], cwd=folder, capture_output=True, timeout=300).returncode != 0
