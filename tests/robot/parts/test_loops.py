"""Loops and passive joints as a file describes them."""

from __future__ import annotations

import pytest

import pliant
from linkages import bar, four_bar, passive, slider_crank
from pliant.errors import ModelError
from pliant.model.robot import parse
from pliant.robot import Frame, Joint, Loop, LoopJoint, Origin, Robot


@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_round_trip(make, tmp_path) -> None:
    robot = make()
    assert Robot.from_dict(robot.to_dict()) == robot
    robot.save(tmp_path / "arm.yaml")
    assert pliant.load(tmp_path / "arm.yaml") == robot
    assert robot.digest() != robot.replace({"loops": []}).digest()


def test_arms_without_loops_keep_their_digests() -> None:
    assert "loops" not in pliant.load("two-link").to_dict()
    plain = bar("a", 1.0)
    robot = Robot(name="one", links=[plain])
    stated = Robot(name="one", links=[bar("a", 1.0, Joint(actuated=True))], loops=[])
    assert robot.digest() == stated.digest()
    assert robot.digest() != Robot(name="one", links=[bar("a", 1.0, passive())]).digest()


FILE = """
name: four-bar
links:
  - {{name: crank, rigid: {{mass: 1, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.1], tip: [0.2, 0, 0]}}}}
  - {{name: rod, joint: {{actuated: false}}, rigid: {{mass: 1, inertia: [0.1, 0.1, 0.1], tip: [0.2, 0, 0]}}}}
frames: [{{name: pivot, link: base, origin: {{xyz: [0.3, 0, 0]}}}}]
loops:
  - {loop}
"""


def read(loop: str) -> Robot:
    return parse(FILE.format(loop=loop))


def test_a_frame_on_the_base() -> None:
    robot = read("{name: pin, between: [rod.tip, pivot], joint: {type: revolute, axis: [0, 0, 2]}}")
    assert robot.loops[0].joint.axis == (0.0, 0.0, 1.0)
    pose = Robot(name="one", links=robot.links[:1], frames=robot.frames).model().pose([0.0], frame="pivot")
    assert pose[:3, 3].tolist() == [0.3, 0.0, 0.0]
    assert robot.link("rod").joint.actuated is False


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        ("{name: pin, between: [rod.top, pivot]}", "frame `rod.top`, which is not there, did you mean `rod.tip`"),
        ("{name: pin, between: [rod.tip]}", "two names of frames"),
        ("{name: pin, between: [pivot, pivot]}", "to itself"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: hinge}}", "line 8"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: spherical, axis: [0, 0, 1]}}", "has no `axis`"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: distance}}", "needs its `length`"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: distance, length: -1}}", "a number above 0"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: revolute, length: 1}}", "has no `length`"),
        ("{name: a, between: [rod.tip, pivot], joint: {type: universal, axes: [[0, 0, 1], [0, 0, 2]]}}", "parallel"),
        ("{name: pin, between: [rod.tip, pivot], joint: {type: revolute, axis: [0, 0, 0]}}", "zero length"),
    ],
)
def test_bad_loops_are_told(loop: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(loop)
    assert words in str(caught.value)


def test_names_of_loops_differ() -> None:
    pin = Loop(name="pin", between=("coupler.tip", "rocker.tip"))
    with pytest.raises(ModelError, match="`pin` stands twice"):
        four_bar(loops=[pin, pin])


def test_passive_joints_have_no_drive() -> None:
    with pytest.raises(ModelError, match="has no `drive`"):
        Joint(actuated=False, drive={"rotor_inertia": 0.1})
    with pytest.raises(ModelError, match="remove `actuated`"):
        Joint(type="fixed", actuated=False)


def test_frames_on_a_base_that_stands() -> None:
    with pytest.raises(ModelError, match="no stations"):
        four_bar(frames=[Frame(name="pivot", link="base", x=0.2)])
    assert LoopJoint(type="universal").directions == ((0, 0, 1), (0, 1, 0))
    assert Frame(name="pivot", link="base", origin=Origin(xyz=(1, 0, 0))).at == "tip"
