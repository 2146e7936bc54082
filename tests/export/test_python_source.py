"""The exported NumPy module stands alone and reproduces the model."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from exported import assert_close, expected, imported, inputs, model
from pliant.export import export
from pliant.export.contents import export_name, usual
from pliant.export.typical_states import reference_states


@pytest.mark.parametrize("name", ["parameters", "puma", "lagrange"])
def test_module_reproduces_the_model(name: str, tmp_path: Path) -> None:
    m = model(name)
    module = imported(export(m, "python", tmp_path / "out") / f"{export_name(m)}.py")
    states = reference_states(m, count=2, seed=7)
    for f in usual(m):
        for k in range(2):
            values = [x[k] for x in inputs(m, f, states)]
            found = getattr(module, f)(*values)
            for one, wanted in zip(found if isinstance(found, tuple) else (found,), expected(m, f, values)):
                assert_close(one, wanted)


def test_arrays_of_states_and_default_parameters(tmp_path: Path) -> None:
    m = model("parameters")
    module = imported(export(m, "python", tmp_path / "out") / f"{export_name(m)}.py")
    q, qd = np.random.default_rng(0).normal(size=(2, 5, 3, 4)) * 0.1
    tau = np.array([1.0, 2.0])  # one torque for all states
    assert_close(module.forward_dynamics(q, qd, tau), m.forward_dynamics(q, qd, np.broadcast_to(tau, (5, 3, 2))))
    assert module.mass_matrix(q).shape == (5, 3, 4, 4)
    with pytest.raises(ValueError, match="expected"):
        module.mass_matrix(np.zeros(3))


def test_module_needs_numpy_alone(tmp_path: Path) -> None:
    m = model("lagrange")
    path = export(m, "python", tmp_path / "out") / f"{export_name(m)}.py"
    tree = ast.parse(path.read_text())
    assert {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names} == {"math", "numpy"}
    code = f"import sys; import {path.stem} as m; print(m.PROVENANCE['robot_sha256'], 'pliant' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [m.robot.digest(), "False"]


def test_a_robot_called_like_a_module_that_its_file_imports(tmp_path: Path) -> None:
    """`numpy.py` would import itself."""
    made = pliant.load("two-link").replace({"name": "NumPy"}).model()
    folder = export(made, "python", tmp_path / "out", functions=["energy"])
    assert sorted(path.name for path in folder.glob("*.py")) == ["numpy_.py"]
