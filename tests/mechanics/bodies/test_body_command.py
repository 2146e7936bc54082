"""`pliant body`: from a mesh file to a body file, and what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("skfem", reason="the mesh extra is not installed")
meshio: Any = pytest.importorskip("meshio", reason="the mesh extra is not installed")

from pliant.bodies import mesh_model  # noqa: E402
from pliant.cli import app  # noqa: E402
from pliant.robot.parts.bodies.reduced_body import ReducedBody  # noqa: E402
from solid_bars import bar  # noqa: E402


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    mesh = bar((4, 1, 1), (400.0, 12.0, 9.0))
    meshio.write("bar.vtk", meshio.Mesh(mesh.points, [("hexahedron", mesh.cells)]))
    return lambda *words: CliRunner().invoke(app, ["body", *map(str, words)])


ENDS = ("--root", "x = 0", "--tip", "x = 400")


def test_from_mesh_to_body_to_numbers(run: Callable[..., Any]) -> None:
    made = run("mesh", "bar.vtk", "--material", "aluminium", *ENDS, "--unit", "mm", "--frame", "middle=x = 200",
               "--average", "middle", "--modes", 2, "--damping", 0.01, "-o", "bar.npz")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "225 degrees of freedom" not in made.stdout  # messages are on the other stream
    assert "GB of memory" in made.stderr
    body = ReducedBody.read("bar.npz")
    assert (body.size, body.frames) == (14, ("root", "tip", "middle"))
    assert "middle 'x = 200' (average); 2 modes" in body.about
    assert body.damping[0, 0] == pytest.approx(0.02 * body.stiffness[0, 0] ** 0.5)
    facts = json.loads(run("info", "bar.npz", "--json").stdout)
    assert facts["mass"] == pytest.approx(2700 * 0.4 * 0.012 * 0.009)
    assert facts["center"] == pytest.approx([0.2, 0, 0])
    assert facts["frames"]["middle"] == pytest.approx([0.2, 0, 0])
    assert len(facts["hz"]) == 14
    shown = run("info", "bar.npz").stdout
    assert "mass 0.11664 kg" in shown
    assert "mode.14" in shown
    assert facts["stiffening"] == "off"
    again = run("mesh", "bar.vtk", "--material", "steel", *ENDS, "--unit", "mm", "-o", "bar.npz")
    assert (again.exit_code, "--force replaces it" in again.stderr) == (2, True)
    before = Path("bar.vtk").read_bytes()
    again = run("mesh", "bar.vtk", "--material", "steel", *ENDS, "--unit", "mm", "-o", "bar.vtk", "--force")
    assert (again.exit_code, "is no body file, and stays" in again.stderr) == (2, True)
    assert Path("bar.vtk").read_bytes() == before


def test_matrices_and_a_material_in_numbers(run: Callable[..., Any]) -> None:
    mesh_model("bar.vtk", "steel", unit="mm").save("bar.npz")
    made = run("reduce", "bar.npz", "--root", "x = 0", "--tip", "x = 0.4", "--unit", "m", "--mass-unit", "kg")
    assert made.exit_code == 0, made.output
    one = ReducedBody.read("bar.body.npz")
    made = run("mesh", "bar.vtk", "--material", "E=210e9,G=80.8e9,density=7850", *ENDS, "--unit", "mm")
    assert made.exit_code == 2  # it is there
    made = run("mesh", "bar.vtk", "--material", "E=210e9,G=80.8e9,density=7850", *ENDS, "--unit", "mm", "--force")
    assert made.exit_code == 0, made.output
    two = ReducedBody.read("bar.body.npz")
    assert one.frequencies[:6] == pytest.approx(two.frequencies[:6])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mesh", "bar.vtk", "--material", "steel", *ENDS), "Missing option '--unit'"),
        (("mesh", "none.vtk", "--material", "steel", *ENDS, "--unit", "mm"), "none.vtk: cannot be read"),
        (("mesh", "bar.vtk", "--material", "E=1,G=x,density=1", *ENDS, "--unit", "mm"), "--material: got 'E=1,G=x"),
        (("mesh", "bar.vtk", "--material", "steel", *ENDS, "--unit", "mm", "--frame", "x"), "--frame: got 'x'"),
        (("mesh", "bar.vtk", "--material", "steel", *ENDS, "--unit", "mm", "--average", "y"), "no interface 'y'"),
        (("info", "bar.vtk"), "bar.vtk: not a file of arrays"),
    ],
)
def test_mistakes(run: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_second_order_is_asked_for(run: Callable[..., Any]) -> None:
    made = run(
        "mesh", "bar.vtk", "--material", "steel", *ENDS, "--unit", "mm", "--modes", 1, "--stiffening", "second-order"
    )
    assert made.exit_code == 0, made.output
    assert "known to second order" in made.stdout
    assert json.loads(run("info", "bar.body.npz", "--json").stdout)["stiffening"] == "second-order"
