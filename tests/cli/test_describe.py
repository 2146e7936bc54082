"""Commands that describe an arm: info, frequencies, count."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from arms import unequal_arm
from linkages import four_bar
from pliant.cli.info import describe
from pliant.cli.output import megabytes
from pliant.compute.llvm import llvm

from .conftest import Run


def test_info_shows_links_coordinates_and_frequencies(run: Run) -> None:
    result = run("info", "two-link")
    assert result.exit_code == 0
    assert "upper" in result.stdout
    assert "4 coordinates: upper, fore, upper.bending_y.1, fore.bending_y.1" in result.stdout
    assert "2.131, 16.37 Hz" in result.stdout
    assert result.stderr == ""


def test_info_as_json_agrees_with_the_library(run: Run) -> None:
    facts = json.loads(run("info", "two-link", "--json").stdout)
    model = pliant.load("two-link").model()
    assert facts["coordinates"] == list(model.coordinates)
    assert facts["mass_kg"] == pytest.approx(10.0, rel=1e-14)  # two links of 1 m and 5 kg/m
    assert facts["frequencies_hz"] == pytest.approx(
        model.frequencies().tolist(), rel=1e-12
    )  # same calls, printed in full
    assert facts["links"][0]["coordinates"] == ["upper", "upper.bending_y.1"]


def test_info_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few numbers, asked once; a mass of the clock is in no cache."""
    robot = pliant.load("two-link").replace({"payload.mass": 0.1 + time.time_ns() % 10**9 / 1e10})
    monkeypatch.setattr(llvm, "compile_function", lambda *given, **options: pytest.fail("compiled"))
    facts = describe(robot)
    assert facts["note"] is None
    assert len(facts["frequencies_hz"]) == len(facts["damping_ratios"]) == 2


@pytest.mark.slow
def test_the_mass_of_an_arm_is_that_of_its_parts(run: Run, tmp_path: Path) -> None:
    """Beams of 1.3 and 0.7 m, hub, tip, hand and payload, added up by hand; sizes in words."""
    file = tmp_path / "arm.yaml"
    unequal_arm().save(file)
    beams = 2.1 * 1.3 + 2700 * (0.03 * 0.05 - 0.026 * 0.046) * 0.7
    assert json.loads(run("info", str(file), "--json").stdout)["mass_kg"] == pytest.approx(
        beams + 0.8 + 0.4 + 0.9 + 0.6, rel=1e-9
    )
    assert [megabytes(size) for size in (1_500, 99_000, 100_000, 2_340_000)] == [
        "1.5 kB",
        "99.0 kB",
        "0.1 MB",
        "2.3 MB",
    ]


def test_info_lists_the_bundled_arms(run: Run) -> None:
    assert [entry["name"] for entry in json.loads(run("info", "--json").stdout)] == pliant.robot.arms()
    assert "two-link elastic arm" in run("info").stdout


@pytest.mark.parametrize(("option", "key"), [("--schema", "links"), ("--scenario-schema", "duration")])
def test_schemas_are_json(run: Run, option: str, key: str) -> None:
    assert key in json.loads(run("info", option).stdout)["properties"]


def test_info_describes_an_arm_that_cannot_be_simulated(run: Run, tmp_path: Path) -> None:
    """A joint that moves no mass is a sound description; only its equations are singular."""
    file = tmp_path / "arm.yaml"
    file.write_text("name: light\nlinks: [{name: a, rigid: {mass: 0, inertia: [0, 0, 0], tip: [1, 0, 0]}}]\n")
    result = run("info", file)
    assert result.exit_code == 0
    assert "light" in result.stdout
    assert "cannot be simulated" in result.stderr
    assert json.loads(run("info", file, "--json").stdout)["frequencies_hz"] is None


def test_info_shows_the_damping_of_the_arm_beside_that_of_its_links(run: Run, tmp_path: Path) -> None:
    robot = pliant.load("two-link").replace({"links.upper.shapes.damping": 0.02, "links.fore.shapes.damping": 0.01})
    file = str(tmp_path / "damped.yaml")
    robot.save(file)
    facts = json.loads(run("info", file, "--json").stdout)
    assert facts["damping_ratios"] == pytest.approx(robot.model().damping_ratios().tolist(), rel=1e-12)
    assert [link["damping"] for link in facts["links"]] == [0.02, 0.01]
    text = run("info", file).stdout
    assert f"their damping ratios: {facts['damping_ratios'][0]:.2g}, " in text
    assert "(links alone: upper 0.02, fore 0.01)" in text
    assert "damping" not in run("info", "two-link").stdout


def test_frequencies_of_links_and_arm(run: Run) -> None:
    facts = json.loads(run("frequencies", "two-link", "--json").stdout)
    row = facts["links"]["upper"][0]
    exact = 1.8751040687119611**2 * math.sqrt(1000 / 5)  # clamped-free, EI 1000, 5 kg/m, 1 m
    assert row["modes_rad_per_s"] == pytest.approx(exact, rel=1e-12)
    assert row["modes_hz"] == pytest.approx(exact / (2 * math.pi), rel=1e-12)
    assert row["elements_hz"] == pytest.approx(row["modes_hz"], rel=1e-6)  # 16 elements: error about (beta h)^4 / 720
    assert facts["arm"]["hz"] == pytest.approx(pliant.load("two-link").model().frequencies().tolist(), rel=1e-12)
    assert facts["arm"]["rad_per_s"] == pytest.approx([2 * math.pi * f for f in facts["arm"]["hz"]], rel=1e-12)


def test_frequencies_elsewhere(run: Run) -> None:
    """By order and by name, with joints free: gravity makes two pendulum frequencies of the hanging arm."""
    model = pliant.load("two-link").model()
    hanging = np.array([-np.pi / 2, 0.0, 0.0, 0.0])
    expected = model.frequencies(hanging, "free")
    for at in ("-90 deg, 0", "upper=-pi/2", "upper=-90 deg,fore=0"):
        facts = json.loads(run("frequencies", "two-link", f"--at={at}", "--joints", "free", "--json").stdout)
        assert facts["arm"]["hz"] == pytest.approx(expected.tolist(), rel=1e-9)  # -pi/2 typed and computed alike


@pytest.mark.slow
def test_frequencies_table_and_automatic_tip_load(run: Run) -> None:
    """The jib of the crane has `tip_load: auto`: its payload of 300 kg must be seen by the table."""
    result = run("frequencies", "boom")
    assert result.exit_code == 0
    assert "link jib, clamped-mass" in result.stdout
    facts = json.loads(run("frequencies", "boom", "--json").stdout)
    row = facts["links"]["jib"][0]
    assert row["modes_hz"] == pytest.approx(row["elements_hz"], rel=1e-6)  # both under the same load, or 5 times apart


def test_frequencies_of_a_rigid_arm(run: Run) -> None:
    result = run("frequencies", "puma")
    assert result.exit_code == 0
    assert "nothing bends" in result.stdout


def test_motors_follow_their_joints(run: Run) -> None:
    """A joint moved without its motor would wind up the drive and shift nothing but the frequencies' place."""
    at = json.loads(run("frequencies", "lab-arm", "--at", "upper=0.5", "--json").stdout)["arm"]["q"]
    assert at["upper"] == at["upper.motor"] == 0.5


@pytest.mark.slow
def test_count_lists_every_formulation(run: Run) -> None:
    facts = json.loads(run("count", "two-link", "--json").stdout)
    assert set(facts["counts"]) | set(facts["refused"]) == set(pliant.robot.FORMULATIONS)
    model = pliant.load("two-link").model()
    assert facts["counts"]["denoc"]["forward_dynamics"] == dict(model.operation_count("forward_dynamics"))
    table = run("count", "two-link").stdout
    assert "forward dynamics" in table
    assert "sin, cos" in table


def test_count_says_who_refuses(run: Run) -> None:
    result = run("count", "two-link", "--stiffening", "--formulation", "dual-screw")
    assert result.exit_code == 2
    assert "stiffening" in result.stderr


def test_frequencies_of_a_linkage(run: Run, tmp_path: Path) -> None:
    """Loops are closed with what `--at` names where it is, at rest too; what is known of the arm is told."""
    file = tmp_path / "four-bar.yaml"
    four_bar().save(file)
    expected = four_bar().model().frequencies({"crank": 0.7}, joints="free").tolist()
    for more in ((), ("--rest",)):
        facts = json.loads(
            run("frequencies", str(file), "--at", "crank=0.7", "--joints", "free", "--json", *more).stdout
        )
        assert facts["arm"]["hz"] == pytest.approx(expected, rel=1e-9)
    assert json.loads(run("info", str(file), "--json").stdout)["note"] is None
