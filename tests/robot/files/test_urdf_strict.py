"""URDF is read as strictly as our own files: nothing twice, nothing misspelt, every number finite; faults by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError
from pliant.robot import load
from pliant.robot.files.urdf_meshes import urdf_meshes
from pliant.robot.files.urdf_text import KINDS
from sources import ROOT

from .test_urdf import ARM

FORE = '<link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arm.urdf"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<link name="tool"/>', '<link name="tool"/><link name="fore"/>', "`fore` stands twice, in lines 5 and 9"),
        ('<joint name="j2"', '<joint name="j1"', r"joint `j1` stands twice, in lines 10 and 14"),
        ('<mass value="3"/>', '<mass value="3"/><mass value="500"/>', "`mass` stands twice in inertial .*line 3"),
        (FORE, FORE + "</inertial><inertial>", "`inertial` stands twice in link .*`fore`, line 5"),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="1 0 0"/>', "`axis` stands twice .*line 12"),
        ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 1"/><origin xyz="0 0 0.1"/>', "`origin` stands twice in joint"),
        ('rpy="0.1 0.2 0.3"', 'ryp="0.1 0.2 0.3"', "`ryp` in origin .joint `j1`, line 11.*mean `rpy`"),
        ('<origin xyz="0.2 0 0"/>', '<origin xzy="0.2 0 0"/>', "attribute `xzy` in origin .*did you mean `xyz`"),
        ("<axis xyz", "<axes xyz", r"unknown element `axes` in joint \(joint `j1`, line 12\), did you mean `axis`"),
        ("inertial>", "inertials>", "`inertials` in link .link `upper-arm`, line 3.*mean `inertial`"),
        ('<link name="camera"', '<lnk name="camera"', "not valid XML"),
        ('<link name="tool"/>', '<lnk name="tool"/>', r"element `lnk` in robot \(line 9\), did you mean `link`"),
        ('value="1.5"', 'value="nan"', r"mass\.value \(link `fore`, line 5\): got 'nan', expected a finite number"),
        ('value="1.5"', 'value="1e999"', r"mass\.value .*got '1e999', expected a finite number"),
        ('value="1.5"', 'value="1_5"', "expected a finite number"),
        ('value="1.5"', 'value="1,5"', "expected a finite number"),
        ('value="1.5"', 'value=""', "expected a finite number"),
        ('value="1.5"', 'value="-1.5"', "got -1.5, expected a number of 0 or more"),
        ('rpy="0.1 0.2 0.3"', 'rpy="0.1 inf 0.3"', "expected three finite numbers"),
        ('rpy="0.1 0.2 0.3"', 'rpy="0.1 0.2"', "expected three finite numbers"),
        ('rpy="0.1 0.2 0.3"', 'rpy="0.1 0.2 0.3 0.4"', "expected three finite numbers"),
        ('<link name="base"/>', '<link name="base"><inertial><mass value="nan"/><inertia ixx="1" iyy="1" izz="1" '
         'ixy="0" ixz="0" iyz="0"/></inertial></link>', r"mass\.value \(link `base`, line 2\)"),
        ('ixy="0" ixz="0" iyz="0"', 'ixy="0" ixz="0"', "missing attribute `iyz` in inertia"),
        ('<mass value="1.5"/>', "", r"missing element `mass` in inertial \(link `fore`, line 5\)"),
        ('<mass value="1.5"/>', "<mass>1.5</mass>", "missing attribute `value` in mass"),
        ('<axis xyz="0 1 0"/>', "<axis/>", "missing attribute `xyz` in axis"),
        ('<child link="fore"/>', "", "missing element `child` in joint"),
        (' type="continuous"', "", "missing attribute `type` in joint"),
        (' type="continuous"', ' type="continous"', "got 'continous', expected one of .*did you mean `continuous`"),
        ('name="tool"', 'name=""', "link.name .* expected a name"),
        ('<link name="tool"/>', '<link name="tool">fore</link>', "text in link .* line 9.*got 'fore', expected none"),
        ('parent link="upper-arm"', 'parent link="uper-arm"', "no link `uper-arm`, did you mean `upper-arm`"),
        ('<link name="tool"/>', '<link name="tool"/><link name="loose"/>', "two roots, `base` and `loose`"),
        ('<link name="tool"/>', '<xacro:include filename="a"/><link name="tool"/>', "xacro .*expand"),
        ("</robot>", "</robot><robot/>", "not valid XML"),
        ('name="j1" type', 'name="j1" name="j9" type', r"line 10.*not valid XML: duplicate attribute"),
        ("<robot name", "<sdf name", "not valid XML"),
        ('<robot name="test arm"', '<robot nam="test arm"', "unknown attribute `nam` in robot.*did you mean `name`"),
        ("<dynamics damping", '<dynamics D="1" dampingg', "`dampingg` in dynamics.*did you mean `damping`"),
        ('friction="0.2"', 'friciton="0.2" mu_coulomb="1"', "`friciton` in dynamics.*did you mean `friction`"),
        ('effort="50"', 'efort="50"', "unknown attribute `efort` in limit.*did you mean `effort`"),
        ('ixx="0.3"', 'ixx="9"', r"inertia \(link `upper-arm`, line 4\).*triangle"),
        ('<inertia ixx="0.001"', '<inertia ixx="-0.001"', r"inertia \(link `camera`, line 8\).*negative principal"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_read(path: Path, old: str, new: str, words: str) -> None:
    assert old in ARM
    path.write_text(ARM.replace(old, new, 2 if old == "inertial>" else 1), encoding="utf-8")  # both tags
    with pytest.raises(ModelError, match=words) as caught:
        load(path, tip="tool")
    assert str(caught.value).startswith("arm.urdf: ")


def test_all_faults_at_once(path: Path) -> None:
    path.write_text(ARM.replace("rpy=", "ryp=").replace('value="1.5"', 'value="nan"'), encoding="utf-8")
    with pytest.raises(ModelError, match="5 faults") as caught:
        load(path, tip="tool")
    assert str(caught.value).count("`ryp`") == 4
    assert "line 5" in str(caught.value)


def test_faults_of_the_robot_have_lines(path: Path) -> None:
    """What only the arm as a whole can tell: here a range that is empty."""
    path.write_text(ARM.replace('lower="-1"', 'lower="5"'), encoding="utf-8")
    with pytest.raises(ModelError, match=r"links\[0\]\.joint.*link `upper_arm`, line 10"):
        load(path, tip="tool")


def test_what_vendors_add_is_told_once(path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """As in the file of a Panda: numbers of its own in `dynamics`, settings of a simulator in elements of their own."""
    path.write_text(ARM, encoding="utf-8")
    plain = load(path, tip="tool")
    assert not recwarn.list
    text = ARM.replace("<dynamics ", '<dynamics D="1" K="7000" mu_coulomb="0" mu_viscous="16" ')
    text = text.replace('<link name="tool"/>', '<mujoco><compiler a="1"/></mujoco><link name="tool" weight_class="2"/>')
    path.write_text(text.replace('<link name="camera"', '<link weight_class="1" name="camera"'), encoding="utf-8")
    assert load(path, tip="tool") == plain
    assert [str(warning.message) for warning in recwarn.list] == [
        "arm.urdf: not read, since it is no part of URDF: element `mujoco` in robot, `weight_class` of link (2 times), "
        "`D` of dynamics, `K` of dynamics, `mu_coulomb` of dynamics, `mu_viscous` of dynamics"
    ]


EXTENSIONS = {
    "robot": '<material name="m"><color rgba="1 0 0 1"/></material><transmission name="t"><type>x</type></transmission>'
    '<gazebo reference="fore"><selfCollide>1</selfCollide></gazebo><ros2_control name="a" type="system"/>'
    '<sensor name="s"/><drake:collision_filter_group name="a"/>',
    "link": '<visual><origin xyz="0 0 0"/><origin xyz="0 0 0"/><geometry><box size="1 1 1"/></geometry></visual>'
    "<visual/>"
    "<collision/><collision/><contact/><self_collision_checking/><sensor/>",
    "joint": '<calibration rising="0"/><safety_controller k_velocity="1"/><hardwareInterface/>',
}


def test_extensions_pass(path: Path) -> None:
    """They say nothing about masses and frames; the page of the documentation has the same lists. A visual is drawn."""
    path.write_text(ARM, encoding="utf-8")
    plain = load(path, tip="tool")
    text = ARM.replace(
        '<link name="camera">', EXTENSIONS["robot"] + '<link name="camera" type="laser">' + EXTENSIONS["link"]
    )
    text = text.replace('<parent link="base"/>', '<parent link="base"/>' + EXTENSIONS["joint"])
    text = text.replace("<robot ", '<robot xmlns:drake="http://drake.mit.edu" version="1.0" drake:a="b" ')
    text = text.replace('velocity="3"', 'velocity="3" acceleration="4" jerk="5"').replace(
        "<robot", "<!-- note --><robot"
    )
    path.write_text(text, encoding="utf-8")
    dressed = load(path, tip="tool")
    assert [len(link.visuals) for link in dressed.links].count(1) == 1
    bare = tuple(link.model_copy(update={"visuals": ()}) for link in dressed.links)
    assert dressed.model_copy(update={"links": bare}) == plain


def test_the_page_lists_what_passes() -> None:
    page = (ROOT / "docs" / "how-to" / "urdf.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        for word in (name, *kind.attributes, *kind.passes, *kind.ignored):
            assert f"`{word}`" in page, f"{word} of {name}"


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "utf-16", "windows-1252", "us-ascii"])
def test_the_encoding_that_the_file_declares(path: Path, encoding: str) -> None:
    name = "Prüfling" if encoding != "us-ascii" else "Pruefling"
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + ARM.replace("test arm", name)
    path.write_bytes(text.encode(encoding))
    assert load(path, tip="tool").name == name


@pytest.mark.parametrize(
    ("declared", "raw", "words"),
    [
        ("utf-8", "Prüfling".encode("latin-1"), "line 2.*not valid XML: not well-formed"),
        ("no-such", b"arm", "unknown encoding"),
        ("utf-7", b"arm", "not valid XML"),
    ],
)
def test_encodings_that_cannot_be(path: Path, declared: str, raw: bytes, words: str) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>\n'.encode()
    path.write_bytes(head + ARM.encode().replace(b"test arm", raw))
    with pytest.raises(ModelError, match=words):
        load(path, tip="tool")


def test_a_long_branch_is_lumped(path: Path) -> None:
    """900 links beside the chain, one on the other."""
    count = 900
    body = (
        '<inertial><mass value="0.01"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="b{k}">{body}</link>' for k in range(count))
    joints = "".join(
        f'<joint name="k{k}" type="fixed"><parent link="{f"b{k - 1}" if k else "fore"}"/><child link="b{k}"/>'
        '<origin xyz="0.001 0 0"/></joint>'
        for k in range(count)
    )
    path.write_text(ARM.replace("</robot>", links + joints + "</robot>"), encoding="utf-8")
    body_of_fore = load(path, tip="tool").link("fore").rigid
    assert body_of_fore.mass == pytest.approx(1.9 + 9.0)
    x = (1.5 * 0.2 + 0.01 * 0.001 * sum(range(1, count + 1))) / 10.9
    np.testing.assert_allclose(body_of_fore.com, [x, 0, 0.4 * 0.1 / 10.9], rtol=1e-12)


def test_a_branch_of_a_branch_is_turned_with_it(path: Path) -> None:
    """A lens 0.3 m before a camera that is turned by a quarter about z: beside the forearm, not before it."""
    nothing = '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
    lens = f'<link name="lens"><inertial><mass value="2"/>{nothing}</inertial>'
    text = ARM.replace(
        '<origin xyz="0 0 0.1"/></joint>', '<origin xyz="0 0 0.1" rpy="0 0 1.5707963267948966"/></joint>'
    )
    joint = '<joint name="jl" type="fixed"><parent link="camera"/><child link="lens"/><origin xyz="0.3 0 0"/></joint>'
    path.write_text(text.replace("</robot>", f"{lens}</link>{joint}</robot>"), encoding="utf-8")
    body = load(path, tip="tool").link("fore").rigid
    np.testing.assert_allclose(body.com, np.array([1.5 * 0.2, 2 * 0.3, 2.4 * 0.1]) / 3.9, atol=1e-15)


def test_a_prefix_that_nobody_declared(path: Path) -> None:
    """A vendor's element passes unread if its prefix is declared."""
    text = ARM.replace("</robot>", '<xi:include href="other.urdf"/></robot>')
    path.write_text(text, encoding="utf-8")
    for read in (lambda: load(path, tip="tool"), lambda: urdf_meshes(path)):
        with pytest.raises(ModelError, match=r"arm\.urdf: .*unbound prefix.*declare the prefix"):
            read()


def test_the_fields_own_parser_agrees(path: Path) -> None:
    """The same numbers as urdf_parser_py reads, link by link and joint by joint."""
    urdf = pytest.importorskip("urdf_parser_py.urdf", reason="a package without a wheel")
    path.write_text(ARM, encoding="utf-8")
    theirs, ours = urdf.URDF.from_xml_string(ARM.encode()), pliant.load(path, tip="tool")
    for name, link in (("upper-arm", ours.links[0]), ("tool", ours.links[2])):
        inertial = theirs.link_map[name].inertial
        assert link.rigid.mass == (inertial.mass if inertial else 0.0)
    joint = theirs.joint_map["j1"]
    assert ours.links[0].joint.axis == tuple(joint.axis)
    assert ours.links[0].joint.limits.speed == joint.limit.velocity
    assert ours.links[0].joint.origin.rpy == tuple(joint.origin.rpy)
    assert ours.links[0].joint.friction.viscous == joint.dynamics.damping
