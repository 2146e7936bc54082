"""The page holds the numbers of the run: read back from the JSON that stands in it, without a browser."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest

from figures.test_figure_values import SI, rigid_tip, unit_of
from pliant.simulation.runs.results import Result
from pliant.view import plot
from pliant.viewer.colors import RIGID, strain_colors
from pliant.viewer.page import asset, page
from pliant.viewer.scenes.scene import scene_of
from pliant.viewer.scenes.scene_camera import outlook


@pytest.fixture(scope="module")
def held(crooked: Result) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page(crooked), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(float)


def scaled(part: dict[str, Any]) -> np.ndarray:
    return part["scale"] * np.frombuffer(base64.b64decode(part["data"]), "<i2").astype(float)


def expected_panels(run: Result) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """What stands under each tab and title, in SI units, by the name of the line."""
    turning, sliding = ("base", "upper", "fore"), ("rail", "tool")
    columns = {name: run.tau[:, k] for k, name in enumerate(run.joints)}
    e, away = run.energy, run.tip - rigid_tip(run)
    wound = {name: run[f"{name}.motor"] - run[name] for name in ("base", "rail", "fore")}
    stations = {"end": "tip", "middle": "middle"}
    return {
        ("motion", "joint angles"): {name: run[name] for name in turning},
        ("motion", "joint positions"): {name: run[name] for name in sliding},
        ("motion", "wind-up of elastic drives"): {name: wound[name] for name in ("base", "fore")},
        ("motion", "rail: wind-up of elastic drives"): {"rail": wound["rail"]},
        ("motion", "tip from where the rigid arm's would be"): dict(zip("xyz", away.T)),
        **{
            ("motion", f"{link}: deflection"): {
                f"{axis}, {word}": run.deflection(link, place)[:, 1 + k]
                for k, axis in enumerate("yz")
                for word, place in stations.items()
            }
            for link in ("upper", "fore")
        },
        ("tip", "position of the tip"): dict(zip("xyz", run.tip.T)),
        ("energy", "energy since the start"): {
            "total": e.total - e.gravity[0], "kinetic": e.kinetic, "gravity": e.gravity - e.gravity[0],
            "strain": e.strain, "work done": run.work,
        },
        ("energy", "energy gained less work done"): {"balance": run.energy_balance},
        ("torques", "joint torques"): {name: columns[name] for name in turning},
        ("torques", "joint forces"): {name: columns[name] for name in sliding},
    }  # fmt: skip


def test_plots_hold_the_numbers_of_the_run(held: dict[str, Any], crooked: Result) -> None:
    """By tab, title and name, in the unit that stands beside the title; float32 leaves 1e-7."""
    expected = expected_panels(crooked)
    assert [(shown["tab"], shown["title"]) for shown in held["plots"]] == list(expected)
    for shown in held["plots"]:
        wanted = expected[shown["tab"], shown["title"]]
        assert [series["name"] for series in shown["series"]] == list(wanted)
        assert shown["x"] == "time (s)"
        np.testing.assert_allclose(floats(shown["t"]), crooked.t, rtol=1e-7)
        for series in shown["series"]:
            values = wanted[series["name"]]
            got = SI[shown["unit"]] * floats(series["y"])
            np.testing.assert_allclose(got, values, rtol=1e-6, atol=1e-6 * np.abs(values).max(), err_msg=series["name"])


def test_units_of_the_page(held: dict[str, Any]) -> None:
    units = {shown["title"]: shown["unit"] for shown in held["plots"]}
    assert units["joint angles"] == "deg"
    assert units["joint positions"] == "m"
    assert units["joint torques"] == "N m"
    assert units["joint forces"] == "N"
    assert units["wind-up of elastic drives"] == "deg"
    assert units["rail: wind-up of elastic drives"] == "m"


def test_page_and_figures_agree(held: dict[str, Any], crooked: Result) -> None:
    """The same line has the same unit, values and color on the page and in the figure."""
    for name, title in (("joints", "joint angles"), ("torques", "joint torques"), ("energy", "energy since the start")):
        axes = plot(crooked, name).axes[0]
        shown = next(p for p in held["plots"] if p["title"] == title)
        assert unit_of(axes.get_ylabel()) == shown["unit"]
        lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        for line, series in zip(lines, shown["series"], strict=True):
            assert (line.get_label(), line.get_color()) == (series["name"], series["color"])
            np.testing.assert_allclose(floats(series["y"]), line.get_ydata(), rtol=1e-6, atol=1e-4)


# ------------------------------------------------------------------------------------------------------- the scene


def test_links_of_the_page_are_those_of_the_scene(held: dict[str, Any], crooked: Result) -> None:
    """Joints and motors, stations and deformations, each in its place; 16 bits leave 2e-5 of the largest."""
    scene = scene_of(crooked)
    np.testing.assert_allclose(floats(held["t"]), crooked.t, rtol=1e-7)
    assert [link["name"] for link in held["links"]] == [link.name for link in scene.links]
    for shown, link in zip(held["links"], scene.links):
        name = link.name
        motor = f"{name}.motor" if f"{name}.motor" in crooked.coordinates else name
        np.testing.assert_allclose(floats(shown["joint"]), crooked[name], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(floats(shown["motor"]), crooked[motor], rtol=1e-6, atol=1e-7)
        joint = crooked.robot.link(name).joint
        assert shown["kind"] == joint.type
        np.testing.assert_allclose(shown["axes"], [joint.axis])
        np.testing.assert_allclose(shown["origin"], joint.origin.xyz, atol=1e-15)
        np.testing.assert_allclose(np.reshape(shown["rotation"], (3, 3)), link.origin[:3, :3])
        np.testing.assert_allclose(np.reshape(shown["end"], (3, 3)), link.end)
        np.testing.assert_allclose(np.reshape(shown["half"], (-1, 2)), link.half)
        for kind in ("straight", "shift", "turn", "strain"):
            values = getattr(link, kind)
            got = scaled(shown[kind])
            values = values[: len(got) * len(values) // values.size]
            np.testing.assert_allclose(got, values.ravel(), atol=2e-5 * np.abs(values).max() + 1e-12, err_msg=kind)


def test_strain_colors_have_a_scale(held: dict[str, Any], crooked: Result) -> None:
    """The largest strain of all links, in words beside the colors; the colors are those of movies."""
    largest = max(float(scaled(link["strain"]).max()) for link in held["links"])
    assert held["strain"] == pytest.approx(largest, rel=1e-4)
    number, unit = held["strain_text"].split()
    assert float(number) * {"%": 1e-2, "µε": 1e-6}[unit] == pytest.approx(largest, rel=5e-3)
    np.testing.assert_allclose(held["colors"]["strain"], strain_colors(np.linspace(0, 1, 5)))
    np.testing.assert_allclose(held["colors"]["rigid"], RIGID)
    viewer = asset("viewer.js")
    assert "shade(strain[s] / data.strain)" in viewer
    assert '$("barmax").textContent = data.strain_text' in viewer


def test_camera_of_the_page_is_that_of_movies(held: dict[str, Any], crooked: Result) -> None:
    scene = scene_of(crooked)
    seen = outlook(scene, list(scene.lines(held["magnification"])))
    for name, value in vars(seen).items():
        np.testing.assert_allclose(held["camera"][name], value, err_msg=name)
    np.testing.assert_allclose(held["up"], -np.array([1.5, -2.5, -9.0]) / np.linalg.norm([1.5, -2.5, -9.0]))


# ---------------------------------------------------------------------------------------------- tables in words


def test_facts_of_the_run(held: dict[str, Any], crooked: Result) -> None:
    """Each number of the statistics in its row; the arm's numbers by their paths."""
    tables = {title: dict(rows) for title, rows in held["facts"]}
    assert tables["Run"] == {
        "status": "event: tip stopped",
        "duration": f"{crooked.t[-1]:g} s, {len(crooked)} rows",
        "method": "rodas5p (stiff)",
        "steps": "321 (12 rejected)",
        "evaluations": "4567, 89 Jacobians",
        "wall time": "0.678 s",
        "energy balance": f"within {np.abs(crooked.energy_balance).max():.2g} J",
        "event at 0.4 s": "stop",
    }
    assert tables["Model"]["formulation"] == "denoc"
    assert tables["Model"]["coordinates"] == ", ".join(crooked.coordinates)
    robot = next(rows for title, rows in tables.items() if title.startswith("Robot"))
    assert float(robot["links.upper.beam.length"]) == 0.73
    assert float(robot["links.base.joint.drive.gear_ratio"]) == 60.0
    assert float(robot["payload.mass"]) == 0.25
    assert held["title"] == "crooked"
    assert held["subtitle"] == f"{crooked.t[-1]:g} s by denoc and rodas5p, event"
    assert [link["loaded"] for link in held["links"]] == [False] * 4 + [True]


def test_notebook_tables(crooked: Result) -> None:
    """A row for each link: its joint, its body, and the directions in which it bends."""

    def rows(text: str) -> list[list[str]]:
        return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]

    assert rows(crooked.robot._repr_html_())[1:] == [
        ["base", "revolute, elastic drive", "rigid", "–"],
        ["rail", "prismatic, elastic drive", "rigid", "–"],
        ["upper", "revolute", "beam, 0.73 m", "bending_y, bending_z, torsion"],
        ["fore", "revolute, elastic drive", "beam, 0.46 m", "bending_y, bending_z"],
        ["tool", "prismatic", "rigid", "–"],
    ]
    told = dict(rows(crooked._repr_html_()))
    assert told["status"] == "event: tip stopped"
    assert told["steps"] == "321 (12 rejected)"
    assert told["energy balance"] == f"within {np.abs(crooked.energy_balance).max():.2g} J"
    model = dict(rows(crooked.model._repr_html_()))
    assert model["coordinates"] == ", ".join(crooked.coordinates)
    shown = [float(f) for f in model["frequencies, joints locked (Hz)"].split(", ")]
    np.testing.assert_allclose(shown, crooked.model.frequencies()[:6], rtol=1e-3)
