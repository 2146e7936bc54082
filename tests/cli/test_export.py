"""`pliant export` and the published counts of `pliant count`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pliant
from pliant.analysis.counts import tape_count
from pliant.mechanics import build_chain

from .conftest import Run


@pytest.mark.parametrize(
    ("to", "file"),
    [
        ("c", "two_link_elastic_arm.c"),
        ("python", "two_link_elastic_arm.py"),
        ("latex", "two_link_elastic_arm.tex"),
        ("casadi", "mass_matrix.casadi"),
        ("cuda", "two_link_elastic_arm.cuh"),
    ],
)
def test_export_writes_a_folder(to: str, file: str, run: Run, tmp_path: Path) -> None:
    only = () if to == "latex" else ("--function", "mass_matrix")
    result = run("export", "two-link", "--to", to, *only)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / f"two_link_elastic_arm_{to}" / file).is_file()
    assert "# two-link elastic arm" in (tmp_path / f"two_link_elastic_arm_{to}" / "README.md").read_text()
    again = run("export", "two-link", "--to", to, *only)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert run("export", "two-link", "--to", to, *only, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("to", "file", "begins"),
    [
        pytest.param("urdf", "two_link_elastic_arm.urdf", "<?xml", marks=pytest.mark.full),
        ("mjcf", "two_link_elastic_arm.xml", "<mujoco"),
    ],
)
def test_export_of_the_robot_itself_writes_a_file(to: str, file: str, begins: str, run: Run, tmp_path: Path) -> None:
    more = ("--bodies", "3") if to == "mjcf" else ()
    result = run("export", "two-link", "--to", to, *more)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / file).read_text().startswith(begins)
    assert "exists already" in run("export", "two-link", "--to", to, *more).stderr
    named = run("export", "two-link", "--to", to, "--parameter", "payload.mass", "--force")
    assert named.exit_code == 2
    assert "expected none" in named.stderr


def test_parameters_become_inputs(run: Run, tmp_path: Path) -> None:
    result = run(
        "export", "two-link", "--to", "python", "--out", "here", "--function", "bias", "--parameter", "payload.mass"
    )
    assert result.exit_code == 0, result.stderr
    assert "def bias(q, qd, p=None):" in (tmp_path / "here" / "two_link_elastic_arm.py").read_text()


def test_a_plant_in_single_precision(run: Run, tmp_path: Path) -> None:
    result = run("export", "two-link", "--to", "c", "--function", "tip_pose", "--precision", "single", "--step", "1e-3")
    assert result.exit_code == 0, result.stderr
    header = (tmp_path / "two_link_elastic_arm_c" / "two_link_elastic_arm.h").read_text()
    assert "void two_link_elastic_arm_step(two_link_elastic_arm_state *s, const float tau[2], float y[5]);" in header


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "fortran"), "fortran"),
        (("--to", "c", "--function", "nothing"), "expected some of"),
        (("--to", "latex", "--function", "bias"), "no meaning for latex"),
        (("--to", "c", "--parameter", "links.nowhere.mass"), "not a number"),
        (("--to", "cuda", "--shared-memory", "0"), "shared_memory: got 0"),
        (("--to", "python", "--precision", "single"), "no meaning for python"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], message: str, run: Run, tmp_path: Path) -> None:
    result = run("export", "two-link", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_count_shows_published_formulas(run: Run) -> None:
    rows = json.loads(run("count", "puma", "--formulation", "denoc", "--json").stdout)["published"]
    found = {row["method"]: row for row in rows}
    assert set(found) == {
        "Book", "Gibbs-Appell", "Mohan-Saha", "Saha", "Featherstone", "Valasek", "Brandle", "Walker-Orin"
    }  # fmt: skip
    assert (found["Mohan-Saha"]["products"], found["Mohan-Saha"]["sums"]) == (910, 767)
    assert all(row["denoc"]["below"] for row in rows)
    ours = found["Mohan-Saha"]["denoc"]
    counted = tape_count(build_chain(pliant.load("puma")), "denoc", ours["function"])
    assert counted.divisions
    assert ours["products"] == counted.products + counted.divisions
    text = run("count", "puma", "--formulation", "denoc").stdout
    assert "published formulas" in text
    assert "no velocity or gravity terms" in text
