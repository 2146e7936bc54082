"""The plant of a C export steps as `Stepper` does, inside the memory that it states."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from exported import ROUND_OFF, build, needs_compiler
from pliant.control import PD, PID, LQR, Encoder, Observer, OutputFeedback, Sampled, StrainGauge, TipPosition
from pliant.errors import ModelError, UnsupportedModel
from pliant.export import export
from pliant.export.contents import export_name
from pliant.loads import Wrench
from pliant.model import Model
from pliant.robot import Friction

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
    """Coordinates, rates and readings of both, each relative to the largest of its kind in the run."""
    export(model, "c", folder, functions=["tip_pose"], precision=precision, **given)
    plant, stepper = Built(folder, model), pliant.Stepper(model, limits=False, **given)
    tau, rows = np.linspace(0.3, -0.2, model.n_joints), []
    for k in range(steps):
        pushed = tau * np.cos(0.01 * k)
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
    return OutputFeedback(LQR([0.1, -0.1], Q=1.0, R=0.01), Observer([0.1, -0.1], sensors, floor=1e-3), sample_time=2e-3, delay=1e-3)


def rough() -> Any:
    """The two-link arm with friction that holds."""
    robot = unequal_two_link()
    links = [*robot.links]
    joint = links[0].joint.model_copy(update={"friction": Friction(viscous=0.3, coulomb=0.4, bristle=1e-3)})
    links[0] = links[0].model_copy(update={"joint": joint})
    return robot.model_copy(update={"links": links})


LAWS = {
    "PD": lambda m: PD(50.0, 5.0, [0.3, -0.2]),
    "PID": lambda m: PID(50.0, 20.0, 5.0, [0.3, -0.2]),
    "sampled, late": lambda m: Sampled(PID(50.0, 20.0, 5.0, [0.3, -0.2]), sample_time=2e-3, delay=3e-3),
    "sampled": lambda m: Sampled(PD(50.0, 5.0, [0.3, -0.2]), sample_time=3e-3),
    "observer": observed,
}


@needs_compiler
@pytest.mark.parametrize("law", LAWS)
def test_a_plant_steps_as_the_stepper_does(law: str, tmp_path: Path) -> None:
    model = unequal_two_link().model(parameters=("payload.mass",))
    given: dict[str, Any] = {"step": 1e-3, "controller": LAWS[law](model), "q0": [0.2, -0.1]}
    given["loads"] = [Wrench(force=[0.3, -0.7, 0.0])]
    given["sensors"] = [Encoder("fore", quantum=1e-3), TipPosition((0, 1)), StrainGauge("upper", 0.2)]
    compare(model, tmp_path / "out", ROUND_OFF, 1000, **given)

