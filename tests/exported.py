"""Models that the export tests share, and how exported code is built and called."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant.export.contents import FUNCTIONS, export_name
from pliant.model import Model
from pliant.robot import Beam, Friction, Joint, Link, Lump, Robot, Shapes

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc) on this machine")

ROUND_OFF = 1e-12
"""Relative to the largest element: the same operations in the same order, but for fused multiply-adds."""

LONGEST_WORK = 20_000
"""Numbers that any exported function may ask for; the calling conventions of C let others leave them alone."""

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")


def single_link() -> Robot:
    """One bending beam with a payload, friction and damping."""
    link = Link(
        name="arm",
        joint=Joint(hub=Lump(inertia=(0, 0, 0.1)), friction=Friction(viscous=0.1, coulomb=0.2, bristle=0.0)),
        beam=Beam(length=1.3, mass_per_length=2.0, EI_y=7, EI_z=12),
        shapes=Shapes(bending_y=1, damping=0.01, damping_per_amplitude=0.3),
    )
    return Robot(name="single link & hub", gravity=(0, -9.81, 0), links=[link], payload=Lump(mass=0.3))


@cache
def model(name: str) -> Model:
    """By name: with parameters, spatial and rigid, by closed form, with elastic drives."""
    if name == "parameters":
        return unequal_two_link().model(parameters=("links.upper.beam.EI_z", "payload.mass"))
    if name == "lagrange":
        return single_link().model("lagrange")
    return pliant.load(name).model()


def inputs(model: Model, name: str, states: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Arguments of an exported function."""
    return [states[x] for x in (*FUNCTIONS[name].inputs, *(("p",) if model.parameters else ()))]


def expected(model: Model, name: str, values: list[np.ndarray]) -> list[np.ndarray]:
    """What the model itself gives for one state."""
    p = {"p": values[-1]} if model.parameters else {}
    given = values[: len(FUNCTIONS[name].inputs)]
    if name == "energy":
        return [np.array(model.energy(*given, **p)).ravel()]
    if name == "linearize":
        if p:
            model = model.robot.replace(dict(zip(model.parameters, values[-1]))).model(model.options.formulation)
        space = model.linearize(*given)
        return [space.A, space.B]
    return [getattr(model, name)(*given, **p)]


def build(folder: Path, model: Model, compiler: str = "cc", optimized: str = "-O0") -> ctypes.CDLL:
    """Shared library of an exported C folder, compiled with every warning an error."""
    name = export_name(model)
    library = folder / f"{name}.so"
    command = [compiler, optimized, *STRICT, "-fPIC", "-shared", f"{name}.c", "-lm", "-o", library.name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(
    library: ctypes.CDLL, model: Model, name: str, values: list[np.ndarray], kind: type = float
) -> list[np.ndarray]:
    """Call an exported C function for one state; one that asks for an array to work in gets it."""
    outputs = [np.full(shape, np.nan, kind) for shape in FUNCTIONS[name].outputs(model).values()]
    arrays = [*(np.ascontiguousarray(x, dtype=kind) for x in values), *outputs]
    work = np.full(LONGEST_WORK, np.nan)
    getattr(library, f"{export_name(model)}_{name}")(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, work)))
    return [x.astype(float) for x in outputs]


def imported(path: Path) -> ModuleType:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float = ROUND_OFF) -> None:
    """To `tolerance` of the largest element."""
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()
