"""Every mistake of a user gets a `ModelError` that names the place, what was given, what was expected and a remedy."""

from __future__ import annotations

import re

import pytest

from pliant.errors import ModelError
from pliant.model.robot import parse
from pliant.robot import Beam, Drive, Joint, Link, RigidBody, Robot, Section, Shapes

GOOD = """
format: 1
name: arm
gravity: [0, -9.81, 0]
links:
  - name: upper
    joint:
      axis: [0, 0, 1]
      drive: {stiffness: 1.0e4, rotor_inertia: 1.0e-3, gear_ratio: 100}
    beam: {length: 1.0, mass_per_length: 5.0, EI_y: 1000, EI_z: 1000, GJ: 800, EA: 1.0e7, polar_inertia: 0.1}
    shapes: {bending_y: 2, torsion: 1, damping: 0.01}
  - name: slide
    joint: {type: prismatic, axis: [1, 0, 0]}
    beam: {length: 1.0, mass_per_length: 5.0, EI_z: 1000, slides: true, total_length: 1.3}
    shapes: {bending_y: 1}
  - name: wrist
    joint: {origin: {rpy: [pi/2, 0, 0]}}
    rigid: {mass: 3.5, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.02], tip: [0.24, 0, 0]}
payload: {mass: 0.5}
"""

# old text, new text, what the message must hold
MISTAKES = [
    ("length: 1.0, mass_per_length: 5.0, EI_y", "lenght: 1.0, mass_per_length: 5.0, EI_y",
     "unknown key `lenght` in links[0].beam (link `upper`, line 10), did you mean `length`?"),
    ("mass: 3.5, ", "", "missing key `mass` in links[2].rigid (link `wrist`"),
    ("name: arm\n", "", "missing key `name`"),
    ("name: arm\n", "name: arm\nlink: []\n", "unknown key `link`"),
    ("length: 1.0, mass_per_length: 5.0, EI_y", "length: -1.0, mass_per_length: 5.0, EI_y",
     "links[0].beam.length (link `upper`, line 10): got -1.0, expected a number above 0"),
    ("length: 1.0, mass_per_length: 5.0, EI_y", "length: 0, mass_per_length: 5.0, EI_y", "got 0, expected a number"),
    ("length: 1.0, mass_per_length: 5.0, EI_y", "length: .nan, mass_per_length: 5.0, EI_y", "got NaN, expected"),
    ("EA: 1.0e7", "EA: .inf", "got infinity, expected a finite"),
    ("EA: 1.0e7", "EA: 1e999", "expected a finite"),
    ("EA: 1.0e7", "EA: " + "9" * 5000, "expected a finite"),
    ("EA: 1.0e7", "EA: '1.0e7'", "write it without quotes"),
    ("EA: 1.0e7", "EA: yes", "got 'yes', expected a number"),
    ("EA: 1.0e7", "EA: [1]", "got [1], expected a number"),
    ("EA: 1.0e7", "EA: {a: 1}", "got a mapping, expected a number"),
    ("EI_z: 1000, GJ", "EI_z: -1000, GJ", "links[0].beam.EI_z"),
    ("GJ: 800, ", "", "missing key `GJ` in beam: `shapes.torsion` needs it"),
    ("polar_inertia: 0.1", "polar_inertia: 0", "`beam.polar_inertia` must be above 0 for torsion"),
    ("axis: [0, 0, 1]", "axis: [0, 0, 0]", "expected an axis that is not of zero length; [0, 0, 1]"),
    ("axis: [0, 0, 1]", "axis: [0, 1]", "expected three numbers, not 2"),
    ("gravity: [0, -9.81, 0]", "gravity: -9.81", "gravity (line 4): got -9.81, expected three numbers"),
    ("gravity: [0, -9.81, 0]", "gravity: [0, down, 0]", "gravity[1] (line 4): got 'down', expected a number"),
    ("inertia: [0.01, 0.02, 0.02]", "inertia: [0.01, 0.02, 0.9]", "triangle inequality"),
    ("inertia: [0.01, 0.02, 0.02]", "inertia: [-0.01, 0.02, 0.02]", "negative principal moments"),
    ("mass: 3.5", "mass: -3.5", "links[2].rigid.mass (link `wrist`, line 18): got -3.5, expected a number of 0"),
    ("payload: {mass: 0.5}", "payload: 0.5", "payload (line 19): got 0.5, expected a mapping"),
    ("    rigid: {", "    shapes: {bending_y: 1}\n    rigid: {", "`shapes` on a rigid link; remove them"),
    ("    rigid: {", "    beam: {length: 1, mass_per_length: 1}\n    rigid: {", "both given"),
    ("joint: {type: prismatic, axis: [1, 0, 0]}", "joint: {type: prismatic}", "a beam that slides needs `joint:"),
    ("joint: {type: prismatic, axis: [1, 0, 0]}", "joint: {axis: [1, 0, 0]}", "not a revolute joint"),
    ("total_length: 1.3", "total_length: 0.3", "`total_length` 0.3 is less than the free `length` 1"),
    ("axis: [1, 0, 0]}", "axis: [1, 0, 0], limits: {upper: 2}}", "less than `joint.limits.upper` 2"),
    ("axis: [1, 0, 0]}", "axis: [1, 0, 0], limits: {lower: 0}}", "must be above 0"),
    (", total_length: 1.3", "", "needs `total_length`"),
    ("slides: true, ", "", "`total_length` is for a beam that slides"),
    ("slides: true", "slides: 1", "true or false"),
    ("name: wrist", "name: upper", "links need different names; `upper` stands 2 times"),
    ("name: wrist", "name: up.per", "links[2].name"),
    ("name: wrist", "name: 3", "got 3, expected a name of letters"),
    ("name: wrist", "name: ''", "expected a name of letters"),
    ("name: wrist", 'name: "a\\nb"', "expected a name of letters"),
    ("name: wrist", "name: " + "w" * 65, "expected a name of letters"),
    ("name: wrist", "name: Mü", "expected a name of letters"),
    ("name: arm", 'name: "a\\0b"', "printable"),
    ("name: arm", "name: " + "a" * 201, "1 to 200"),
    ("stiffness: 1.0e4", "stiffness: -1", "joint.drive.stiffness"),
    ("stiffness: 1.0e4", "stiffness: 0", "above 0"),
    ("gear_ratio: 100", "gear_ratio: 0", "above 0"),
    ("rotor_inertia: 1.0e-3, ", "", "needs `rotor_inertia` above 0"),
    ("stiffness: 1.0e4", "damping: 2", "use friction.viscous"),
    ("joint:\n      axis: [0, 0, 1]", "joint:\n      type: fixed", "a fixed joint has no `drive`"),
    ("joint:\n      axis: [0, 0, 1]", "joint:\n      type: revolut", "did you mean `revolute`?"),
    ("origin: {rpy: [pi/2, 0, 0]}", "origin: {rpy: [import os, 0, 0]}", "an angle such as 1.2, pi/2 or 90 deg"),
    ("origin: {rpy: [pi/2, 0, 0]}", "origin: {rpy: [pi/2, 0, 0]}, dh: {a: 1}", "`origin` and `dh` both place"),
    ("origin: {rpy: [pi/2, 0, 0]}", "axis: [1, 0, 0], dh: {a: 1}", "a `dh` row moves about z"),
    ("origin: {rpy: [pi/2, 0, 0]}", "limits: {lower: 1, upper: 0}", "`lower` 1 is above `upper` 0"),
    ("bending_y: 2,", "bending_y: -2,", "links[0].shapes.bending_y"),
    ("bending_y: 2,", "bending_y: 1.5,", "whole number"),
    ("bending_y: 2,", "bending_y: true,", "switch for elements"),
    ("bending_y: 2,", "bending_y: 2, count: 3,", "belong to `method: elements`"),
    ("bending_y: 2,", "method: elements, bending_y: true,", "missing key `count`"),
    ("bending_y: 2,", "method: elements, count: 4, bending_y: 3,", "true or false for elements"),
    ("bending_y: 2,", "method: elements, count: 4000, bending_y: true,", "from 1 to 500"),
    ("bending_y: 2,", "method: elements, count: 500, bending_y: true,", "`count` 500 without `reduce`"),
    ("bending_y: 2,", "boundary: clamped-mass, bending_y: 2,", "`boundary: clamped-mass` and `tip_load`"),
    ("bending_y: 2,", "tip_load: auto, bending_y: 2,", "go together"),
    ("bending_y: 2,", "boundary: clamped-mass, tip_load: aut, bending_y: 2,", "got 'aut', expected 'auto'"),
    ("bending_y: 2,", "boundary: clamped-mass, tip_load: {mass: 1, first_moment: 2}, bending_y: 2,", "first_moment^2"),
    ("bending_y: 2,", "boundary: clamped-mass, tip_load: {mas: 1}, bending_y: 2,", "`mas` in links[0].shapes.tip_load"),
    ("bending_y: 2,", "boundary: pinned, bending_z: 2,", "only `bending_y` may be given"),
    ("damping: 0.01", "damping: 2", "from 0 to 1"),
    ("format: 1", "format: 2", "reads format 1"),
    ("format: 1", "format: true", "reads format 1"),
]  # fmt: skip


def test_the_good_file_is_good() -> None:
    assert [link.name for link in parse(GOOD).links] == ["upper", "slide", "wrist"]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES)
def test_mistakes_in_files(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(ModelError) as caught:
        parse(GOOD.replace(old, new, 1), source="arm.yaml")
    text = str(caught.value)
    assert text.startswith("arm.yaml: ")
    assert words in text
    assert len(text) < 400
    assert "pydantic" not in text


@pytest.mark.parametrize(
    ("links", "words"),
    [([], "1 to 1000 links, not 0"), (None, "a list of links"), ("abc", "a list of links"), ([3], "links[0]: got 3"),
     ([None], "a mapping"), ({}, "a list of links"), ([{"name": "a"}], "missing key `beam`, `rigid` or `body`")],
)  # fmt: skip
def test_empty_and_wrong_chains(links: object, words: str) -> None:
    with pytest.raises(ModelError, match=re.escape(words)):
        Robot.from_dict({"name": "a", "links": links})


def test_too_many_links() -> None:
    with pytest.raises(ModelError, match="1 to 1000 links"):
        Robot(name="a", links=[{"name": f"l{k}", "rigid": {"mass": 1}} for k in range(1001)])


def test_several_faults_at_once() -> None:
    text = (
        GOOD.replace("EI_y: 1000", "EIy: 1000")
        .replace("mass: 3.5", "mass: -1")
        .replace("gear_ratio: 100", "gear_ratio: x")
    )
    with pytest.raises(ModelError) as caught:
        parse(text)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("3 faults")
    assert len(lines) == 4
    assert all(any(place in line for line in lines) for place in ("`EIy`", "rigid.mass", "drive.gear_ratio"))


def test_very_many_faults_stay_readable() -> None:
    with pytest.raises(ModelError) as caught:
        Robot(name="a", links=[{"name": f"l{k}", "rigid": {"mass": -1}} for k in range(500)])
    lines = str(caught.value).splitlines()
    assert len(lines) == 14
    assert lines[-1].strip() == "... and 488 more"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Beam(lenght=1), "Beam: unknown key `lenght`, did you mean `length`"),
        (lambda: Beam(length=1), "missing key `mass_per_length`"),
        (lambda: Beam(length=1, material="steel"), "`material` and `section` go together"),
        (lambda: Beam(length=1, material="steal", section={"shape": "rod", "diameter": 1}), "did you mean `steel`"),
        (lambda: Beam(length=1, EA=1, material="steel", section={"shape": "rod", "diameter": 1}), "`EA` follows from"),
        (lambda: Beam(length=1, mass_per_length=1, rotary="section"), "needs `material` and `section`"),
        (lambda: Beam(length=1, mass_per_length=1, rotary=[1]), r"two numbers \[j_y, j_z\]"),
        (lambda: Beam(length=2, material="steel", section={"shape": "rod", "x": [0, 3], "diameter": 1}), "ends at 3"),
        (lambda: Section(shape="rod"), "missing key `diameter`: a rod needs diameter"),
        (lambda: Section(shape="rod", diameter=1, width=1), "`width` does not belong to a rod"),
        (lambda: Section(shape="rod", diameter=[1, 1]), "no `x`"),
        (lambda: Section(shape="rod", x=[0, 1], diameter=[1, 1, 1]), "`diameter` has 3 numbers, `x` has 2"),
        (lambda: Section(shape="rod", x=[0, 1, 1], diameter=[1, 1, 1]), "rising numbers"),
        (lambda: Section(shape="rod", x=[0.1, 1], diameter=[1, 1]), "rising numbers from 0"),
        (lambda: Section(shape="rod", x=[0, 1], diameter=[0, 1]), "above 0"),
        (lambda: Section(shape="tube", outer_diameter=1, inner_diameter=1), "must be below `outer_diameter`"),
        (lambda: Section(shape="box", width=1, height=1, thickness=0.5), "twice the `thickness`"),
        (lambda: Section(shape="pipe"), "'rod', 'tube', 'rectangle', 'box', 'i'"),
        (lambda: Drive(stiffness=1), "rotor_inertia"),
        (lambda: Joint(type="fixed", friction={"viscous": 1}), "a fixed joint has no `friction`"),
        (lambda: Joint(axis=[1e-200, 0, 0]), "zero length"),
        (lambda: Joint(axis=[1.7e308, 1.7e308, 0]), r"at most 1e\+100"),
        (lambda: RigidBody(mass=True), "got True, expected a number"),
        (lambda: RigidBody(mass=10**400), "expected a finite number"),
        (lambda: RigidBody(mass=None), "got nothing, expected a number"),
        (lambda: Shapes(method="element"), "did you mean `elements`"),
        (lambda: Link(name="a", rigid=RigidBody(mass=1), beam=Beam(length=1, mass_per_length=1)), "both given"),
        (lambda: Link(name="a", joint=Joint(type="prismatic"), beam=Beam(length=1, mass_per_length=1, EI_z=1),
                      shapes=Shapes(boundary="pinned", bending_y=1)), "needs a revolute joint"),
    ],
)  # fmt: skip
def test_mistakes_in_python(make: object, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()
