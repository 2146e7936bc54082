"""Exported C compiles without a warning, tests itself, and reproduces the model."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from exported import assert_close, build, call, expected, inputs, model, needs_compiler
from pliant.errors import ModelError
from pliant.export import export
from pliant.export.c.function import LONGEST_FUNCTION
from pliant.export.c.text import c_constant
from pliant.export.contents import export_name, usual
from pliant.export.typical_states import reference_states

MODELS = ["parameters", "puma", "lagrange"]


@pytest.mark.slow_cases("lagrange", "parameters")
@needs_compiler
@pytest.mark.parametrize("name", MODELS)
def test_c_reproduces_the_model(name: str, tmp_path: Path) -> None:
    m = model(name)
    library = build(export(m, "c", tmp_path / "out"), m)
    states = reference_states(m, count=2, seed=7)  # other states than those of the embedded test
    for f in usual(m):
        for k in range(2):
            values = [x[k] for x in inputs(m, f, states)]
            for found, wanted in zip(call(library, m, f, values), expected(m, f, values)):
                assert_close(found, wanted)


@needs_compiler
@pytest.mark.parametrize(
    "name", ["parameters", *(pytest.param(n, marks=pytest.mark.full) for n in ("puma", "lab-arm"))]
)
def test_single_precision_agrees(name: str, tmp_path: Path) -> None:
    m = model(name)
    functions = ["forward_dynamics", "inverse_dynamics", "mass_matrix", "tip_pose"]
    library = build(export(m, "c", tmp_path / "out", functions=functions, precision="single"), m)
    states = reference_states(m, count=8, seed=7)
    for f in functions:
        for k in range(8):
            values = [x[k].astype(np.float32).astype(float) for x in inputs(m, f, states)]
            found, wanted = call(library, m, f, values, np.float32), expected(m, f, values)
            assert_close(found[0], wanted[0], 1e-5)


@needs_compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_driver_passes_and_can_fail(tmp_path: Path) -> None:
    m = model("parameters")
    folder = export(m, "c", tmp_path / "out", functions=["mass_matrix", "bias", "tip_pose"])
    done = subprocess.run(["make", "check"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all values right" in done.stdout
    source = folder / f"{export_name(m)}.c"
    source.write_text(source.read_text().replace("9.81", "9.8100001"))
    done = subprocess.run(["make", "check"], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0
    assert "bias" in done.stdout


@needs_compiler
def test_long_functions_are_cut_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = model("parameters")
    assert LONGEST_FUNCTION > 100
    monkeypatch.setattr("pliant.export.c.function.LONGEST_FUNCTION", 20)
    monkeypatch.setattr("pliant.export.c.function.PART", 7)
    folder = export(m, "c", tmp_path / "out", functions=["forward_dynamics"])
    assert "forward_dynamics_parts" in (folder / f"{export_name(m)}.c").read_text()
    values = [x[0] for x in inputs(m, "forward_dynamics", reference_states(m))]
    found = call(build(folder, m), m, "forward_dynamics", values)
    assert_close(found[0], expected(m, "forward_dynamics", values)[0])


def test_files_say_which_model_they_hold(tmp_path: Path) -> None:
    m = model("parameters")
    folder = export(m, "c", tmp_path / "out", functions=["mass_matrix"])
    for name in (f"{export_name(m)}.h", f"{export_name(m)}.c", f"{export_name(m)}_test.c"):
        text = (folder / name).read_text()
        for part in (m.robot.digest(), "formulation=denoc", "q[2]  upper.bending_y.1 (m)", "links.upper.beam.EI_z"):
            assert part in text
    source = (folder / f"{export_name(m)}.c").read_text()
    assert re.search(r"const double cos_fore = cos\(q\[1\]\);", source)
    assert (folder / "robot.yaml").is_file()


def test_unknown_function_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="frobenius"):
        export(model("parameters"), "c", tmp_path / "out", functions=["frobenius"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("x", [1.0, -2.5, 1e300, 5e-324, 0.1, 3e22, -0.0])
def test_constants_survive(x: float) -> None:
    text = c_constant(x)
    assert float(text) == x
    assert re.search(r"[.e]", text)
