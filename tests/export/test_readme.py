"""What the README of an exported folder shows runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pliant
from exported import STRICT, model, needs_compiler
from pliant.export import export
from pliant.export.contents import export_name
from pliant.robot import Robot


def blocks(folder: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (folder / "README.md").read_text(), re.S)


@pytest.mark.slow_cases("python-functions0")
@pytest.mark.parametrize("functions", [["mass_matrix"], ["bias", "forward_dynamics"]])
@pytest.mark.parametrize("to", ["python", "casadi"])
def test_python(to: str, functions: list[str], tmp_path: Path) -> None:
    folder = export(model("parameters"), to, tmp_path / "out", functions=functions)
    (code,) = blocks(folder, "python")
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)


@pytest.mark.slow_cases("functions0")
@needs_compiler
@pytest.mark.parametrize("functions", [["linearize"], ["mass_matrix", "forward_dynamics"]])
def test_c(functions: list[str], tmp_path: Path) -> None:
    m = model("parameters")
    folder = export(m, "c", tmp_path / "out", functions=functions)
    (code,) = blocks(folder, "c")
    include, *lines = code.splitlines()
    (folder / "sample.c").write_text("\n".join([include, "int main(void) {", *lines, "return 0; }", ""]))
    command = ["cc", *STRICT, "sample.c", f"{export_name(m)}.c", "-lm", "-o", "sample"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    subprocess.run(["./sample"], cwd=folder, check=True)
    (modelica,) = blocks(folder, "modelica")
    declared = re.search(r'external "C" (\w+)\((.*)\)', modelica)
    assert declared is not None
    header = (folder / f"{export_name(m)}.h").read_text()
    prototype = re.search(rf"void {declared[1]}\((.*)\);", header)
    assert prototype is not None  # the same arguments in the same order
    assert re.findall(r"(\w+)\[", prototype[1]) == declared[2].split(", ")


@pytest.mark.slow_cases("c")
@pytest.mark.parametrize("to", ["c", "python", "latex", "casadi", "cuda"])
def test_it_says_which_model_and_how_to_write_it_again(to: str, tmp_path: Path) -> None:
    m = model("lagrange")
    text = (export(m, to, tmp_path / "out") / "README.md").read_text()
    assert m.robot.digest() in text
    assert "formulation lagrange" in text
    for name in (*m.coordinates, *m.joints):
        assert name in text
    command = re.search(r"`from pliant.export import export; export\((.*), PATH\)`", text)
    assert command is not None
    expression = command[1].rpartition(", ")[0].replace("robot.yaml", str(tmp_path / "out" / "robot.yaml"))
    again = eval(expression, {"pliant": pliant})  # what the README asks a reader to type
    assert again.options == m.options
    assert isinstance(again.robot, Robot)
    assert again.robot.digest() == m.robot.digest()
