"""A joint may have a name: its coordinates, motors and poses are called by it; those of a URDF file have theirs."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import rest_to_rest
from sources import ROOT

URDF = """<robot name="arm">
  <link name="ground"/>
  <link name="upper_link"><inertial><origin xyz="0.4 0 0"/><mass value="4"/>
    <inertia ixx="0.01" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore_link"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="shoulder-lift" type="continuous"><parent link="ground"/><child link="upper_link"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper_link"/><child link="fore_link"/><origin xyz="0.8 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2.5" effort="90" velocity="3"/></joint>
  <joint name="flange" type="fixed"><parent link="fore_link"/><child link="tool"/><origin xyz="0.5 0 0"/></joint>
</robot>"""
SIDE = {
    "links": {
        "upper_link": {
            "beam": {"EI_y": 900, "EI_z": 700},
            "shapes": {"bending_z": 1},
            "drive": {"stiffness": 5e3, "rotor_inertia": 1e-4, "gear_ratio": 100},
        }
    }
}


def rod(name: str, joint: pliant.Joint) -> pliant.Link:
    body = pliant.RigidBody(mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.03, 0.03), tip=(0.5, 0, 0))
    return pliant.Link(name=name, joint=joint, rigid=body)


def test_coordinates_of_a_urdf_are_called_as_its_joints() -> None:
    """In their order, cleaned as links are; motors by the joint, amplitudes by the link."""
    model = pliant.load(URDF, flexible=SIDE).model()
    assert model.joints == ("shoulder_lift", "elbow")
    assert model.coordinates == ("shoulder_lift", "elbow", "shoulder_lift.motor", "upper_link.bending_z.1")
    assert model.state({"elbow": 0.3})[1] == 0.3
    run = pliant.simulate(model, 0.01, q0={"elbow": 0.3})
    assert run["elbow"][0] == 0.3
    assert run.deflection("upper_link").shape == (len(run), 3)


def test_fixed_joints_need_no_name_and_keep_none() -> None:
    assert pliant.load(URDF).link("tool").joint.name is None


def test_names_survive_files() -> None:
    robot = pliant.load(URDF, flexible=SIDE)
    again = pliant.load(robot.to_urdf())
    assert again.model().coordinates == ("shoulder_lift", "elbow")
    assert pliant.Robot(**robot.to_dict()) == robot
    unnamed = pliant.load("two-link")
    assert pliant.load(unnamed.to_urdf()).model().joints == unnamed.model().joints


def test_a_joint_with_several_axes_and_one_with_a_quaternion() -> None:
    wrist = pliant.Joint(type="universal", name="wrist", axes=[{"friction": {"coulomb": 0.1}}, {}])
    ball = pliant.Joint(type="spherical", name="ball")
    model = pliant.Robot(name="arm", links=[rod("hand", wrist), rod("eye", ball)]).model()
    assert model.coordinates == ("wrist.first", "wrist.second", "ball.qw", "ball.qx", "ball.qy", "ball.qz")
    turned = model.state({"ball": {"rpy": [0, 0, np.pi]}, "wrist.second": 0.2})
    np.testing.assert_allclose(turned, [0, 0.2, 0, 0, 0, 1], atol=1e-12)


def test_a_search_that_smooths_friction_finds_the_link_of_a_joint() -> None:
    """Coulomb friction of a named joint is smoothed for the search, by the path of its link."""
    joint = pliant.Joint(name="shoulder", friction=pliant.robot.Friction(coulomb=0.2))
    model = pliant.Robot(name="arm", gravity=(0, 0, 0), links=[rod("upper", joint)]).model()
    move = rest_to_rest(model, [0.0], [0.5], duration=1.0)
    assert move.trajectory.coordinates == ("shoulder",)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ([rod("a", pliant.Joint(name="b")), rod("b", pliant.Joint())], "`b` stands 2 times"),
        ([rod("a", pliant.Joint(name="j")), rod("b", pliant.Joint(name="j"))], "`j` stands 2 times"),
    ],
)
def test_names_that_stand_twice_are_refused(links: list[pliant.Link], said: str) -> None:
    with pytest.raises(pliant.ModelError, match=f"joints need different names; {said}"):
        pliant.Robot(name="arm", links=links)


def test_a_joint_called_base_beside_a_free_base_is_refused() -> None:
    """`q0={"base": ...}` is its pose."""
    with pytest.raises(pliant.ModelError, match="called `base` and a free base"):
        pliant.Robot(
            name="arm",
            base={"type": "free", "mass": 1, "inertia": [1, 1, 1]},
            links=[rod("a", pliant.Joint(name="base"))],
        )


def test_a_name_has_letters_digits_and_underscores() -> None:
    with pytest.raises(pliant.ModelError, match="letters, digits and _"):
        pliant.Joint(name="elbow.x")


def test_the_worked_arm_of_the_how_to() -> None:
    """The page shows the whole side file; it gives the arm what it says, and the joints their names."""
    folder = ROOT / "examples" / "urdf"
    side = folder / "ur5_like_side.yaml"
    assert f"```yaml\n{side.read_text('utf-8')}```" in (ROOT / "docs" / "how-to" / "urdf.md").read_text("utf-8")
    arm = pliant.load(folder / "ur5_like.urdf", flexible=side, tip="tool0")
    assert [name.removesuffix("_joint") for name in arm.freedoms] == [
        "shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"
    ]  # fmt: skip
    upper, fore = arm.link("upper_arm_link"), arm.link("forearm_link")
    assert upper.beam.length == pytest.approx(0.425)
    lump = arm.link("upper_arm_link_lump")
    assert upper.beam.mass_per_length * upper.beam.length + lump.rigid.mass == pytest.approx(5.2)  # of the URDF
    assert fore.beam.section.outer_diameter == 0.040
    assert fore.joint.friction.viscous == 1.5
    assert arm.link("shoulder_link").joint.drive.stiffness == 2e4
    assert (arm.payload.mass, arm.frames[0].name) == (2.0, "camera")
