"""Paths in files lead to what lies beside and below, and into folders that the user named; all else is refused."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.errors import ModelError
from pliant.identification.study_file import IdentificationStudy
from pliant.model.robot import parse
from pliant.robot import Robot, Visual
from pliant.robot.files import mesh_files
from pliant.robot.files.error_messages import short
from pliant.robot.files.file_paths import NOWHERE, FilePaths
from pliant.robot.files.mesh_files import MOST_FACES, MeshContent, read_mesh
from pliant.robot.files.urdf_meshes import urdf_meshes
from pliant.sweeps import SweepStudy
from pliant.validation.recording_file import RecordingFile
from pliant.viewer.scenes.scene import make_scene
from pliant.viewer.scenes.skins import skins_of

REMEDY = r"--package \w+=FOLDER, in Python search_paths="
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n"
ARM = """
name: arm
links:
  - name: rod
    joint: {axis: [0, 0, 1]}
    rigid: {mass: 1.0, com: [0.5, 0, 0], inertia: [0, 0.1, 0.1]}
    visuals: [{mesh: MESH}]
"""
URDF = """<robot name="a"><link name="ground"/><link name="rod"><visual><geometry>
<mesh filename="MESH"/></geometry></visual><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="ground"/><child link="rod"/></joint></robot>"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a stranger's files beside secrets, seen from a working directory that has them too."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "strange" / "meshes").mkdir(parents=True)
    (tmp_path / "strange" / "meshes" / "rod.obj").write_text(OBJ)
    for secret in ("secret.obj", "secret.yaml", "secret.csv", "secret.npz", "secret.urdf"):
        (tmp_path / secret).write_text(OBJ)
    os.symlink(tmp_path / "secret.obj", tmp_path / "strange" / "link.obj")
    os.symlink(tmp_path, tmp_path / "strange" / "out")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def attacks(house: Path, ending: str = "obj") -> list[str]:
    """Ways out of the folder, to what is there and to what is not."""
    ways = []
    for name in (f"secret.{ending}", f"absent.{ending}"):
        ways += [f"../{name}", f"meshes/../../{name}", f"{house}/{name}", f"file://{house}/{name}", f"file://../{name}"]
        ways += [f"package://../{name}", f"package://strange/../../{name}", f"package://strange/..%2f..%2f{name}"]
        ways += [f"out/{name}", f"package://out/{name}", f"file://..%2f{name}"]
    return [*ways, *(["link.obj"] if ending == "obj" else [])]


def arm(folder: Path, mesh: str) -> Path:
    path = folder / "arm.yaml"
    path.write_text(ARM.replace("MESH", json.dumps(mesh)))
    return path


def said(call: Callable[..., object], *arguments: object, **options: object) -> str:
    with pytest.raises(ModelError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def drawn(robot: pliant.Robot) -> int:
    """Triangles of its visuals."""
    return sum(len(visual.content.faces) for link in robot.links for visual in link.visuals if visual.content)


# ------------------------------------------------------------------------------------------------------------- refused


def test_a_robot_file_leads_nowhere_else(house: Path) -> None:
    """One line that says the file, the name and the remedy; the same whether something is there or not."""
    found = {}
    for way in attacks(house):
        found[way] = said(pliant.load, arm(house / "strange", way))
        assert "\n" not in found[way]
        assert found[way].startswith("arm.yaml: links[0].visuals[0] (link `rod`, line 7): ")
        assert short(way) in found[way]
        assert "outside the folder" in found[way] or "no folder of the package" in found[way]
        assert "--package" in found[way]
        assert "search_paths" in found[way]
    assert {t.replace("absent", "secret") for t in found.values()} == {t for t in found.values() if "absent" not in t}


@pytest.mark.filterwarnings("ignore:.*no such mesh")
def test_percent_signs_of_a_robot_file_are_letters(house: Path) -> None:
    assert drawn(pliant.load(arm(house / "strange", "..%2fsecret.obj"))) == 0


@pytest.mark.parametrize("key", ["body", "bodies of scenarios"])
def test_a_body_leads_nowhere_else(house: Path, key: str) -> None:
    robot = "{name: a, links: [{name: rod, body: {file: WAY}}]}"
    text, load = (robot, pliant.load) if key == "body" else (f"robot: {robot}\nduration: 1", pliant.Scenario.load)
    for way in attacks(house, "npz"):
        path = house / "strange" / "case.yaml"
        path.write_text(text.replace("WAY", json.dumps(way)))
        assert "outside the folder" in (message := said(load, path)) or "no folder of the package" in message


def test_a_urdf_leads_nowhere_else(house: Path) -> None:
    """The arm is read, its mesh is not; asked for its meshes, it is refused."""
    path = house / "strange" / "arm.urdf"
    for way in [*attacks(house), "..%2fsecret.obj", "%2e%2e/secret.obj", "meshes%2f..%2f..%2fabsent.obj"]:
        path.write_text(URDF.replace("MESH", way))
        with pytest.warns(UserWarning, match=rf"1 meshes are not drawn .*{REMEDY}"):
            assert drawn(pliant.load(path)) == 0
        assert "link `rod`: visual:" in said(urdf_meshes, path)


def test_a_text_without_a_folder_reads_packages_only(house: Path) -> None:
    for way in ("secret.obj", "strange/meshes/rod.obj", f"{house}/secret.obj"):
        with pytest.warns(UserWarning, match="lies outside all named folders"):
            assert drawn(pliant.load(URDF.replace("MESH", way))) == 0
    assert "outside all named folders" in said(parse, ARM.replace("MESH", "secret.obj"))
    named = parse(ARM.replace("MESH", "package://s/meshes/rod.obj"), search_paths={"s": house / "strange"})
    assert drawn(named) == 2
    named = pliant.load(URDF.replace("MESH", "package://s/meshes/rod.obj"), search_paths={"s": house / "strange"})
    assert drawn(named) == 2


@pytest.mark.parametrize(
    ("text", "load", "ending"),
    [
        ("{robot: WAY, duration: 1}", pliant.Scenario.load, "yaml"),
        ("{robot: {urdf: WAY}, duration: 1}", pliant.Scenario.load, "urdf"),
        ("{robot: {urdf: arm.urdf, flexible: WAY}, duration: 1}", pliant.Scenario.load, "yaml"),
        ("{scenario: WAY, vary: {payload.mass: [0, 1]}}", SweepStudy.load, "yaml"),
        ("{scenario: {robot: WAY, duration: 1}, vary: {payload.mass: [0, 1]}}", SweepStudy.load, "yaml"),
        ("{robot: WAY, parameters: [payload.mass], runs: []}", IdentificationStudy.load, "yaml"),
    ],
)
def test_other_files_lead_nowhere_else(house: Path, text: str, load: Callable[[Path], object], ending: str) -> None:
    (house / "strange" / "arm.urdf").write_text(URDF.replace("MESH", "meshes/rod.obj"))
    path = house / "strange" / "case.yaml"
    messages = set()
    for way in attacks(house, ending):
        path.write_text(text.replace("WAY", json.dumps(way)))
        messages.add(message := said(load, path))
        assert "outside the folder" in message or "no folder of the package" in message
        assert "--package" in message
    assert {m.replace("absent", "secret") for m in messages} == {m for m in messages if "absent" not in m}


def test_recordings_lead_nowhere_else(house: Path) -> None:
    path, robot = house / "strange" / "case.yaml", pliant.load("two-link")
    study = "robot: two-link\nparameters: [payload.mass]\nruns: [{data: WAY, columns: [upper]}]\n"
    for way in attacks(house, "csv"):
        path.write_text("{data: WAY, columns: [upper]}".replace("WAY", json.dumps(way)))
        read = RecordingFile.load(path)
        assert "--package" in said(read.recording, robot)
        path.write_text(study.replace("WAY", json.dumps(way)))
        fit = IdentificationStudy.load(path)
        assert "--package" in said(fit.recordings)


def test_the_working_directory_is_no_place_to_look(house: Path) -> None:
    """What a scenario names lies beside it, not where the command was started."""
    pliant.load("two-link").save(house / "here.yaml")
    path = house / "strange" / "case.yaml"
    for given in ("here.yaml", "{urdf: secret.urdf}"):
        path.write_text(f"robot: {given}\nduration: 1\n")
        assert "no " in said(pliant.Scenario.load, path)
    path.write_text("robot: two-link\nduration: 1\n")
    (house / "two-link").write_text("name: not the bundled one\n")
    assert pliant.Scenario.load(path).robot.name == "two-link elastic arm"


@pytest.mark.filterwarnings("ignore:.*no such mesh")
def test_an_absent_mesh_is_not_looked_for_again(house: Path) -> None:
    """A robot that was read and changed does not find in the working directory what was not beside its file."""
    robot = pliant.load(arm(house / "strange", "secret.obj"))
    assert drawn(robot) == drawn(robot.replace({"payload.mass": 1.0})) == 0


# ------------------------------------------------------------------------------------------------------------- allowed


def test_users_name_folders(house: Path) -> None:
    (house / "lab").mkdir()
    (house / "lab" / "rod.obj").write_text(OBJ)
    for way in ("package://lab/rod.obj", "../lab/rod.obj", f"{house}/lab/rod.obj", f"file://{house}/lab/rod.obj"):
        path = arm(house / "strange", way)
        assert drawn(pliant.load(path, search_paths={"lab": house / "lab"})) == 2
        done = CliRunner().invoke(app, ["info", str(path), "--package", "lab=lab"])
        assert (done.exit_code, done.stderr) == (0, ""), done.output
        done = CliRunner().invoke(app, ["info", str(path)])
        assert done.exit_code == 2
        assert "--package lab=FOLDER" in done.stderr or "--package NAME=FOLDER" in done.stderr
    way = "package://lab/../secret.obj"
    assert "outside" in said(pliant.load, arm(house / "strange", way), search_paths={"lab": house / "lab"})


def test_folders_are_passed_on(house: Path) -> None:
    """From a study to its scenario to its robot to its mesh."""
    (house / "lab" / "deep").mkdir(parents=True)
    (house / "lab" / "rod.obj").write_text(OBJ)
    arm(house / "lab" / "deep", "../rod.obj")
    (house / "lab" / "case.yaml").write_text("robot: deep/arm.yaml\nduration: 1e-3\n")
    path, folders = house / "strange" / "study.yaml", {"lab": house / "lab"}
    path.write_text("scenario: ../lab/case.yaml\nvary: {payload.mass: [0, 1]}\n")
    assert drawn(SweepStudy.load(path, search_paths=folders).scenario.robot) == 2
    path.write_text("robot: package://lab/deep/arm.yaml\nparameters: [payload.mass]\nruns: []\n")
    assert drawn(IdentificationStudy.load(path, search_paths=folders).robot) == 2
    path.write_text("robot: ../lab/deep/arm.yaml\nduration: 1e-3\n")
    assert drawn(pliant.Scenario.load(path, search_paths=folders).robot) == 2
    assert drawn(pliant.Scenario.load(house / "lab" / "case.yaml").robot) == 2  # all below the file that was named


@pytest.mark.parametrize(
    ("text", "command", "later"),
    [
        ("{robot: WAY, duration: 1}", ["simulate", "case.yaml", "--formulation", "none"], "formulation"),
        ("{scenario: {robot: WAY, duration: 1}, vary: {payload.mass: [0]}}", ["sweep", "case.yaml", "--workers", "0"],
         "workers"),
        ("{robot: WAY, parameters: [payload.mass], runs: []}", ["identify", "case.yaml"], "Recording"),
        ("{data: ../lab/none.csv, columns: [upper]}", ["validate", "case.yaml", "--robot", "two-link"], "no such file"),
    ],
)  # fmt: skip
def test_every_command_takes_folders(house: Path, text: str, command: list[str], later: str) -> None:
    """With the folder it comes to the next mistake."""
    (house / "lab").mkdir()
    arm(house / "lab", "rod.obj")
    (house / "strange" / "case.yaml").write_text(text.replace("WAY", "../lab/arm.yaml"))
    os.chdir(house / "strange")
    bare = CliRunner().invoke(app, command)
    named = CliRunner().invoke(app, [*command, "--package", f"lab={house}/lab"])
    assert (bare.exit_code, named.exit_code) == (2, 2), named.output
    assert "outside the folder" in bare.stderr
    assert "outside" not in named.stderr
    assert later in named.stderr


@pytest.mark.parametrize("given", ["lab", "=lab", "lab=", "a/b=lab", "lab=absent", "..=lab"])
def test_what_is_no_folder_by_name_is_said(house: Path, given: str) -> None:
    (house / "lab").mkdir()
    done = CliRunner().invoke(app, ["info", str(arm(house / "strange", "x.obj")), "--package", given])
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1


def ros(house: Path, package: str) -> Path:
    """`urdf/` beside `meshes/`, as in a ROS package."""
    for folder in ("urdf", "meshes"):
        (house / package / folder).mkdir(parents=True)
    (house / package / "meshes" / "rod.obj").write_text(OBJ)
    (house / package / "package.xml").write_text("<package><name>my_arm</name></package>")
    return house / package / "urdf" / "arm.urdf"


@pytest.mark.parametrize("way", ["../meshes/rod.obj", "package://my_arm/meshes/rod.obj", "FILE/meshes/rod.obj"])
@pytest.mark.parametrize("package", ["my_arm", "my_arm-main"])
def test_the_package_of_a_file_counts_as_named(house: Path, package: str, way: str) -> None:
    path = ros(house, package)
    path.write_text(URDF.replace("MESH", way.replace("FILE", f"file://{house}/{package}")))
    assert drawn(pliant.load(path)) == 2
    (house / package / "package.xml").unlink()
    with pytest.warns(UserWarning, match=REMEDY):
        assert drawn(pliant.load(path)) == 0
    assert drawn(pliant.load(path, search_paths={"my_arm": house / package})) == 2


@pytest.mark.parametrize("way", ["package://my_arm/meshes/rod.obj", "file://HOUSE/share/my_arm/meshes/rod.obj"])
@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_packages_of_the_environment_count_as_named(
    house: Path, monkeypatch: pytest.MonkeyPatch, variable: str, way: str
) -> None:
    ros(house, "share/my_arm")
    path = house / "strange" / "arm.urdf"
    path.write_text(URDF.replace("MESH", way.replace("HOUSE", str(house))))
    with pytest.warns(UserWarning, match=REMEDY):
        pliant.load(path)
    entry = house if variable == "AMENT_PREFIX_PATH" else house / "share"
    monkeypatch.setenv(variable, os.pathsep.join(["", str(entry)]))
    assert drawn(pliant.load(path)) == 2
    path.write_text(URDF.replace("MESH", "package://my_arm/../../secret.obj"))
    with pytest.warns(UserWarning, match="lies outside"):
        pliant.load(path)


def test_packages_that_were_installed_by_links(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`colcon build --symlink-install`: every file of the installed package is a link into its source."""
    source, share = ros(house, "src/my_arm"), house / "install" / "share" / "my_arm"
    (share / "meshes").mkdir(parents=True)
    for name in ("package.xml", "meshes/rod.obj"):
        os.symlink(source.parents[1] / name, share / name)
    os.symlink(house / "secret.obj", share / "meshes" / "other.obj")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(house / "install"))
    path = house / "strange" / "arm.urdf"
    path.write_text(URDF.replace("MESH", "package://my_arm/meshes/rod.obj"))
    assert drawn(pliant.load(path)) == 2
    path.write_text(URDF.replace("MESH", "package://my_arm/meshes/other.obj"))
    with pytest.warns(UserWarning, match="lies outside"):
        pliant.load(path)


def test_the_user_names_what_the_user_likes(house: Path) -> None:
    """The top file by a link or from elsewhere, a side file, a mesh in Python."""
    os.symlink(arm(house / "strange", "meshes/rod.obj"), house / "linked.yaml")
    with pytest.warns(UserWarning, match="'meshes/rod.obj': no such mesh; it is not drawn"):  # seen from the link
        assert drawn(pliant.load("strange/../linked.yaml")) == 0
    assert drawn(pliant.load(arm(house, "strange/meshes/rod.obj"))) == 2
    (house / "strange" / "arm.urdf").write_text(URDF.replace("MESH", "meshes/rod.obj"))
    (house / "side.yaml").write_text("links: {}\n")
    assert drawn(pliant.load(house / "strange" / "arm.urdf", flexible=house / "side.yaml")) == 2
    for given in (house / "secret.obj", "secret.obj", "strange/../secret.obj"):
        assert len(Visual(mesh=str(given)).content.faces) == 2  # type: ignore[union-attr]


def test_files_that_users_name_in_python_stay_files(house: Path) -> None:
    """A scenario that is made in Python names any robot, whose file reads no more than others do."""
    arm(house / "strange", "meshes/rod.obj")
    assert drawn(pliant.Scenario(robot="strange/arm.yaml", duration=1).robot) == 2
    assert drawn(pliant.Scenario(robot=str(house / "strange" / "arm.yaml"), duration=1).robot) == 2
    arm(house / "strange", "../secret.obj")
    assert "outside the folder" in said(pliant.Scenario, robot="strange/arm.yaml", duration=1)
    study = {"scenario": "strange/case.yaml", "vary": {"payload.mass": [0, 1]}}
    (house / "strange" / "case.yaml").write_text("robot: ../secret.yaml\nduration: 1\n")
    assert "outside the folder" in said(SweepStudy.from_dict, study)
    (house / "puma").mkdir()
    assert pliant.Scenario(robot="puma", duration=1).robot == pliant.load("puma")


def test_one_root_alone(house: Path) -> None:
    """As the studio has it: no package, no environment, nothing above."""
    path = ros(house, "my_arm")
    paths = FilePaths.within(path.parent, "copy it")
    for way in ("../meshes/rod.obj", "package://my_arm/meshes/rod.obj", "package://meshes/rod.obj"):
        assert "copy it" in said(paths.find, way)


# ------------------------------------------------------------------------------------------------------------- carried


def test_results_carry_meshes_by_content(house: Path) -> None:
    """No path of this machine is in the file, and elsewhere it is drawn as here."""
    path = arm(house / "strange", f"{house}/strange/meshes/rod.obj")
    run = pliant.simulate(pliant.load(path).model(), 0.01, output_step=0.005)
    assert run.robot.links[0].visuals[0].mesh == "rod.obj"
    assert str(house) not in json.dumps(run.robot.to_dict())
    run.save(house / "run.nc")
    for file in (path, house / "strange" / "meshes" / "rod.obj"):
        file.unlink()
    read = pliant.Result.load(house / "run.nc")
    assert read.robot == run.robot
    (skin,) = skins_of(make_scene(read.model, read.t[:1], read.q[:1]))
    assert len(skin.faces) >= 2
    assert run.robot.digest() == read.robot.digest()
    (visual,) = run.robot.links[0].visuals
    for name in (str(house / "secret.obj"), "secret.obj"):  # a run that was forged, or is older
        look = visual.model_copy(update={"mesh": name, "content": None})
        link = run.robot.links[0].model_copy(update={"visuals": (look,)})
        forged = run.robot.model_copy(update={"links": (link,)})
        replace(run, robot=forged, built=None).save(house / "run.nc")
        assert drawn(pliant.Result.load(house / "run.nc").robot) == 0


def test_a_saved_run_opens_no_file(house: Path) -> None:
    """A mesh that a run names without its content is absent, whatever lies there, and a body is refused."""
    data = pliant.load(arm(house / "strange", "meshes/rod.obj")).to_dict()
    (visual,) = data["links"][0]["visuals"]
    for name in (str(house / "secret.obj"), "secret.obj", "../secret.obj"):
        data["links"][0]["visuals"] = [{"mesh": name}]
        read = saved(data)
        assert (drawn(read), read.links[0].visuals[0].mesh) == (0, "secret.obj")
    data["links"][0]["visuals"] = [{**visual, "mesh": "../../evil.obj"}]
    assert saved(data).links[0].visuals[0].mesh == "evil.obj"  # a copy of the robot writes it beside, not there
    data["links"] = [{"name": "rod", "body": {"file": str(house / "secret.npz")}}]
    with pytest.raises(ValueError, match="cannot be read: no such file"):
        saved(data)


def saved(data: dict) -> pliant.Robot:
    """As files of runs are read."""
    return pliant.Robot.model_validate(data, context={"files": NOWHERE})


@pytest.mark.parametrize("name", ["meshes/rod.obj", "rod.stl"])
def test_a_saved_robot_has_its_meshes_beside(house: Path, name: str) -> None:
    """Under their names below it, once; a file of that name with other content stays."""
    folder, other = house / "strange", house / "other"
    MeshContent.read(folder / "meshes" / "rod.obj").save(folder / name)
    robot = pliant.load(arm(folder, name))
    other.mkdir()
    for copy in ("copy.yaml", "again.yaml"):
        robot.save(other / copy)
        assert f"mesh: {name}" in (other / copy).read_text()
        assert pliant.load(other / copy) == robot
    (other / name).write_text("mine")
    robot.save(other / "third.yaml")
    assert (other / name).read_text() == "mine"
    assert pliant.load(other / "third.yaml") == robot
    assert pliant.load(other / "third.yaml").digest() == robot.digest()
    scenario = pliant.Scenario(robot=robot, duration=0.1)
    scenario.save(other / "run.yaml")
    assert pliant.Scenario.load(other / "run.yaml") == scenario
    assert len(list(other.rglob("rod*"))) == 2
    assert pliant.Robot.from_dict(robot.to_dict()) == robot


def test_a_saved_robot_follows_no_link_out(house: Path) -> None:
    robot = pliant.load(arm(house / "strange", "meshes/rod.obj"))
    (house / "other").mkdir()
    os.symlink(house / "strange", house / "other" / "meshes")
    assert "by a link" in said(robot.save, house / "other" / "arm.yaml")
    assert not (house / "strange" / "rod.obj").exists()


def test_a_mesh_that_cannot_be_read_is_told_once(house: Path) -> None:
    (house / "strange" / "bad.stl").write_text("solid")
    with pytest.warns(UserWarning, match=r"bad\.stl: got no triangles, expected a mesh in STL; it is not drawn"):
        robot = pliant.load(arm(house / "strange", "bad.stl"))
    assert drawn(robot) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.obj", OBJ.replace("v 1 0 0", "v 1_0 0 0")),
        ("a.obj", OBJ.replace("v 1 0 0", "v \uff11 0 0")),
        ("a.obj", OBJ.replace("f 1 2 3", "f 0_1 2 3")),
        ("a.stl", "solid a_b\nvertex 0 0 0\nvertex 1_0 0 0\nvertex 0 1 0\nendsolid"),
    ],
)
def test_numbers_of_meshes(house: Path, name: str, text: str) -> None:
    """Names may have underscores, numbers have not."""
    (house / name).write_text(text, encoding="utf-8")
    assert "got no triangles, expected a mesh" in said(MeshContent.read, house / name)
    (house / name).write_text("# a_b\n" + text.replace("1_0", "1").replace("\uff11", "1").replace("0_1", "1"))
    assert len(MeshContent.read(house / name).faces) == (1 if name == "a.stl" else 2)


def test_a_mesh_that_is_not_there_is_told_once(house: Path) -> None:
    """When its robot file is read: neither by what is made of the robot nor by a saved run."""
    with pytest.warns(UserWarning, match=r"\A'gone\.stl': no such mesh; it is not drawn\Z") as told:
        robot = pliant.load(arm(house / "strange", "gone.stl"))
    assert len(told) == 1
    assert told[0].filename == __file__
    assert drawn(robot.replace({"gravity.0": 1.0})) == 0
    Robot.model_validate(robot.to_dict(), context={"files": NOWHERE})


@pytest.mark.parametrize("cut", [lambda raw: raw[:-1], lambda raw: raw[:4], lambda raw: raw[:-4] + b"\xff" * 4])
def test_a_damaged_text_of_a_mesh_is_refused(house: Path, cut: Callable[[bytes], bytes]) -> None:
    content = MeshContent.read(house / "secret.obj")
    assert MeshContent.from_text(content.text()) == content
    damaged = base64.b64encode(cut(base64.b64decode(content.text()))).decode()
    assert "not the text of a mesh" in said(Visual, mesh="a.obj", content=damaged)
    assert "not the text of a mesh" in said(Visual, mesh="a.obj", content="é")


# -------------------------------------------------------------------------------------------------- many and long names


@pytest.mark.parametrize("scheme", ["", "file://", "file:///", "package://strange/", "package://"])
@pytest.mark.parametrize(
    "long", ["a/" * 40_000 + "x.obj", "a" * 256 + ".obj", "é" * 128 + ".obj", "x/" * 2047 + "x.obj"]
)
def test_names_longer_than_systems_take(house: Path, scheme: str, long: str) -> None:
    """They are refused before the system is asked for their folders."""
    paths = FilePaths.of_file(house / "strange" / "arm.yaml")
    took = process_time()
    assert "expected the name of a file" in said(paths.find, scheme + long) or scheme == "package://"
    assert process_time() - took < 0.1
    assert "expected the name of a file" in said(pliant.load, arm(house / "strange", long))


def test_the_longest_names_are_looked_for(house: Path) -> None:
    paths = FilePaths.of_file(house / "strange" / "arm.yaml")
    for name in ("a" * 251 + ".obj", "x/" * 2045 + "x.obj"):
        assert paths.look_for(name) is None
    assert paths.look_for("x/" * 100 + "../" * 100 + "meshes/rod.obj") == house / "strange" / "meshes" / "rod.obj"


@pytest.mark.parametrize(
    "way", ["package://p{}/m.obj", "m{}.obj", "meshes/m{}.obj", "package://deep/{}/m.obj", "out/{}"]
)
def test_many_names_ask_the_system_little(house: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    paths, count, asked = FilePaths.of_file(house / "strange" / "arm.yaml"), 100, 0
    (house / "strange" / "deep" / "er").mkdir(parents=True)
    ask = os.lstat

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal asked
        asked += 1
        return ask(*given, **options)

    monkeypatch.setattr(os, "lstat", counted)
    for number in range(count):
        with suppress(ModelError):
            paths.look_for(way.format(number))
    assert asked < 12 * count + 100


def test_a_folder_that_becomes_a_link_is_noticed(house: Path) -> None:
    """Though it was a folder when names of the file were first looked for."""
    paths = FilePaths.of_file(house / "strange" / "arm.yaml")
    assert paths.find("meshes/rod.obj").is_file()
    (house / "strange" / "meshes").rename(house / "strange" / "moved")
    (house / "strange" / "meshes").symlink_to(house)
    assert "lies outside" in said(paths.find, "meshes/secret.obj")


# ------------------------------------------------------------------------------------------------------- crowded meshes


def test_a_crowd_of_triangles_is_made_coarser(tmp_path: Path) -> None:
    """The same triangle many times, of a few points, and triangles of random points: 8,000 are kept at most."""
    path, rng = tmp_path / "crowd.obj", np.random.default_rng(1)
    corners = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\n"
    path.write_text(corners + ("f " + "1 2 3 " * 2_000 + "\n") * 5 + "f 3 2 1\nf 1 3 4\n")
    assert len(read_mesh(path)[1]) == 3  # one from both sides, and another
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in rng.random((300, 3)))
    path.write_text(points + "".join(f"f {a} {b} {c}\n" for a, b, c in rng.integers(1, 301, (20_000, 3))))
    points_kept, kept = read_mesh(path)
    assert 500 < len(kept) <= MOST_FACES
    assert len({tuple(sorted(map(tuple, points_kept[face].tolist()))) for face in kept}) > len(kept) / 3


@pytest.mark.parametrize(
    ("name", "text", "said_of"),
    [
        ("line.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 200_000, "1 MiB in a line"),
        ("faces.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 101, "100 triangles"),
        ("fan.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 3 " * 40, "100 triangles"),
        ("points.obj", "v 0 0 0\n" * 301, "100 triangles"),
        ("text.stl", "solid\n" + "vertex 0 0 0\n" * 301, "100 triangles"),
    ],
)
def test_a_mesh_beyond_what_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said_of: str
) -> None:
    monkeypatch.setattr(mesh_files, "MOST_READ", 100)
    (tmp_path / name).write_text(text)
    assert f"{name}: got more than {said_of}; no mesh" in said(read_mesh, tmp_path / name)


def test_a_torn_vertex_is_no_mesh(tmp_path: Path) -> None:
    for text in ("vertex 0 0 0\nvertex 1 0 0\nvertex 0 1", "vertex 0 0 0\nvertex 1 0 0\nvertex"):
        (tmp_path / "torn.stl").write_text(f"solid\n{text}")
        assert "got no triangles" in said(read_mesh, tmp_path / "torn.stl")
