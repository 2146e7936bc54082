"""Paths, replacement and views: the same robot, numbers or symbols alike."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.robot import Lump, Robot, Shapes, arms, load
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.bodies.rigid_body import inertia_matrix
from pliant.robot.parts.link import tip_rotation
from pliant.robot.symbolic_view import RobotView


@pytest.fixture
def robot() -> Robot:
    return load("canadarm2")


def test_paths_name_what_the_design_names(robot: Robot) -> None:
    paths = robot.paths()
    assert paths["links.upper_boom.beam.EI_z"] == 3.8e6
    assert paths["links.lower_boom.joint.origin.xyz.2"] == 0.475
    assert paths["links.wrist_roll.joint.drive.stiffness"] == 2.66e6
    assert paths["gravity.1"] == -9.81
    assert paths["payload.mass"] == 0.0
    assert all(type(value) is float for value in paths.values())


def test_replace(robot: Robot) -> None:
    changed = robot.replace({"links.upper_boom.beam.EI_z": 1e6, "links.1.beam.EI_y": 2, "gravity.1": 0, "name": "new"})
    assert changed.link("upper_boom").beam.EI_z == 1e6
    assert changed.links[1].beam.EI_y == 2.0
    assert changed.gravity == (0.0, 0.0, 0.0)
    assert changed.name == "new"
    assert robot.link("upper_boom").beam.EI_z == 3.8e6
    parts = robot.replace(
        {"payload": Lump(mass=5), "links.upper_boom.shapes": None, "links.lower_boom.shapes.torsion": 0}
    )
    assert parts.payload.mass == 5
    assert parts.links[0].shapes is None
    assert parts.links[1].shapes == Shapes(boundary="clamped-free", bending_y=3, bending_z=3, axial=3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"links.upper_boom.beam.EI": 1},
            r"no number `links.upper_boom.beam.EI`, did you mean `links.upper_boom.beam.EI_",
        ),
        ({"links.nobody.beam.EI_z": 1}, "no number `links.nobody.beam.EI_z`"),
        ({"links.9.beam.EI_z": 1}, "no number `links.9"),
        ({"links.upper_boom.rigid.mass": 1}, "does not have; replace that part as a whole"),
        (
            {"links.upper_boom.beam.EI_z": -1},
            r"links\[0\].beam.EI_z \(link `upper_boom`\): got -1, expected a number above 0",
        ),
        ({"links.upper_boom.beam.length.x": 1}, "no number"),
        ({"": 1}, "no number"),
        ({3: 1}, "a path is text"),
    ],
)
def test_replace_refuses(robot: Robot, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        robot.replace(changes)


def test_link_and_index(robot: Robot) -> None:
    assert robot.index("wrist_pitch") == 2
    assert robot.link("wrist_pitch") is robot.links[2]
    with pytest.raises(ModelError, match="no link `wrist_pich`, did you mean `wrist_pitch`"):
        robot.link("wrist_pich")


def test_view_shows_symbols_and_numbers(robot: Robot) -> None:
    EI, g, J = casadi.SX.sym("EI"), casadi.SX.sym("g"), casadi.SX.sym("J")
    view = RobotView(robot, {"links.0.beam.EI_z": EI, "gravity.1": g, "links.wrist_yaw.rigid.inertia.1": J})
    assert view.links[0].beam.EI_z is EI
    assert view.links[0].beam.EI_y == 3.8e6
    assert view.links[0].name == "upper_boom"
    assert view.gravity[0] == 0.0
    assert view.gravity[1] is g
    assert view.links[0].rigid is None
    assert view.link("wrist_yaw").rigid.mass == 105.98
    assert inertia_matrix(view.links[3].rigid.inertia)[1][1] is J
    assert beam_properties(view.links[0].beam).EI_z is EI
    assert view.links[0].joint.flexible is True
    assert view.links[0].shapes.number == 12
    assert view.description is robot
    with pytest.raises(AttributeError, match="Beam has no `EIz`"):
        _ = view.links[0].beam.EIz


@pytest.mark.parametrize("name", arms())
def test_a_view_without_symbols_is_the_robot(name: str) -> None:
    robot = load(name)
    view = RobotView(robot)
    for link, seen in zip(robot.links, view.links):
        assert tip_rotation(seen) == tip_rotation(link)
        if link.beam is not None:
            assert beam_properties(seen.beam) == beam_properties(link.beam)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("links.upper_boom.beam.EIz", "did you mean `links.upper_boom.beam.EI_z`"),
        ("links.upper_boom.joint.axis.2", "an axis has unit length"),
        ("links.upper_boom.shapes.bending_y", "no number"),
    ],
)
def test_view_refuses(robot: Robot, path: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        RobotView(robot, {path: casadi.SX.sym("x")})


def test_view_refuses_a_of_a_standard_row() -> None:
    with pytest.raises(ModelError, match="the body supplies a"):
        RobotView(load("rrp"), {"links.boom.joint.dh.a": casadi.SX.sym("a")})


def test_descriptions_are_frozen(robot: Robot) -> None:
    with pytest.raises(ModelError, match=r"Beam.length cannot be set: descriptions are frozen"):
        robot.links[0].beam.length = 3.0


def test_numpy_values_are_numbers(robot: Robot) -> None:
    changed = robot.replace({"links.upper_boom.beam.length": np.float32(7), "gravity": np.array([0, 0, -1])})
    assert changed.links[0].beam.length == 7.0
    assert changed.gravity == (0.0, 0.0, -1.0)
