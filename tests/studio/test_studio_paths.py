"""The studio reads its folder alone: what files name elsewhere is neither opened nor told from what is not there."""

from __future__ import annotations

import builtins
import json
import os
import warnings
from pathlib import Path

import pytest

from pliant.errors import ModelError
from pliant.model.robot import bundled
from pliant.studio.file_panel import uploaded
from pliant.studio.files import Shelf

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
URDF = """<robot name="a"><link name="ground"/><link name="rod"><visual><geometry>
<mesh filename="WAY"/></geometry></visual><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="ground"/><child link="rod"/></joint></robot>"""
ROBOT = "{name: a, links: [{name: rod, PART}]}"
MESH = ROBOT.replace("PART", "rigid: {mass: 1.0}, visuals: [{mesh: WAY}]")
BODY = ROBOT.replace("PART", "body: {file: WAY}")
TEXTS = [
    ("case.yaml", "{robot: WAY, duration: 1}", "secret.yaml"),
    ("case.yaml", "{robot: {urdf: WAY}, duration: 1}", "secret.urdf"),
    ("case.yaml", MESH, "secret.obj"),
    ("case.yaml", f"{{robot: {MESH}, duration: 1}}", "secret.obj"),
    ("case.yaml", BODY, "secret.npz"),
    ("case.yaml", f"{{robot: {BODY}, duration: 1}}", "secret.npz"),
    ("case.urdf", URDF, "secret.obj"),
]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files that are nobody's business, and the folder of a studio in it: a ROS package."""
    for name in ("mine", "pkg"):
        (tmp_path / name).mkdir()
    for name in ("secret.yaml", "secret.urdf", "secret.obj", "secret.npz"):
        (tmp_path / name).write_text(OBJ)
        (tmp_path / "pkg" / name).write_text(OBJ)
    os.symlink(tmp_path, tmp_path / "mine" / "out")
    os.symlink(tmp_path / "package.xml", tmp_path / "mine" / "package.xml")
    (tmp_path / "package.xml").write_text("<name>pkg</name>")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ways(server: Path, name: str) -> list[str]:
    """From a file of the studio, or one that was sent to it, to the folders of the server."""
    found = [f"../{name}", f"{server}/{name}", f"file://{server}/{name}", f"file://..%2f{name}"]
    return [*found, f"package://pkg/{name}", f"package://mine/../{name}", f"package://../{name}"]


def read(shelf: Shelf | None, name: str, text: str) -> str:
    """What is said of a file of the studio; without one, of a file that is sent to it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if shelf is None:
                with uploaded(name, text.encode()) as (alone, file):
                    alone.read(file)
            else:
                shelf.read(name)
        except ModelError as error:
            return str(error)
    return " ".join(str(warning.message) for warning in caught)


@pytest.fixture
def touched(server: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths on the server outside its folder that were opened or asked about."""
    found: list[str] = []

    def spied(real):  # type: ignore[no-untyped-def]
        def call(path, *arguments, **options):  # type: ignore[no-untyped-def]
            place = os.path.abspath(path) if isinstance(path, str | os.PathLike) else ""
            if place.startswith(f"{server}/") and not f"{place}/".startswith(f"{server}/mine/"):
                found.append(place)
            return real(path, *arguments, **options)

        return call

    for module, name in ((os, "open"), (os, "stat"), (os, "lstat"), (builtins, "open")):
        monkeypatch.setattr(module, name, spied(getattr(module, name)))
    return found


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("file", "text", "name"), TEXTS)
def test_nothing_outside_is_touched(
    server: Path, touched: list[str], own: bool, file: str, text: str, name: str
) -> None:
    """Neither by what lies in the folder nor by what is sent; and the words do not depend on what is there."""
    shelf, words = Shelf(server / "mine") if own else None, {}
    for target in (name, name.replace("secret", "absent")):
        for way in [*ways(server, target), *([f"out/{target}", f"package://out/{target}"] if own else [])]:
            written = text.replace("WAY", way if file.endswith("urdf") else json.dumps(way))
            (server / "mine" / file).write_text(written)
            said = read(shelf, file, written)
            assert "copy it into its folder" in said
            words.setdefault(target, []).append(said.replace("absent", "secret"))
    first, second = words.values()
    assert first == second
    assert touched == []


@pytest.mark.parametrize("name", ["secret.yaml", "pkg/secret.yaml", "absent.yaml", "package.xml"])
def test_the_working_directory_is_nobodys(server: Path, touched: list[str], name: str) -> None:
    """What a file names is not looked for where the server was started."""
    for text in (f"{{robot: {name}, duration: 1}}", f"{{robot: {{urdf: {name}}}, duration: 1}}"):
        said = read(None, "case.yaml", text)
        assert "no file" in said or "no such file" in said
    assert touched == []


def test_bundled_arms_are_those_of_pliant(server: Path, touched: list[str]) -> None:
    (server / "two-link").mkdir()
    touched.clear()
    with uploaded("case.yaml", b"robot: two-link\nduration: 1\n") as (alone, file):
        assert alone.read(file).robot == Shelf(server / "mine").read("two-link") == bundled("two-link")
    assert touched == []


def test_a_side_file_leads_nowhere_else(server: Path, touched: list[str]) -> None:
    (server / "mine" / "arm.urdf").write_text(URDF.replace("WAY", "rod.obj"))
    (server / "mine" / "rod.obj").write_text(OBJ)
    for target in ("secret.yaml", "absent.yaml"):
        for way in ways(server, target):
            text = f"{{robot: {{urdf: arm.urdf, flexible: {json.dumps(way)}}}, duration: 1}}"
            (server / "mine" / "case.yaml").write_text(text)
            assert "copy it into its folder" in read(Shelf(server / "mine"), "case.yaml", text)
    assert touched == []


def test_what_lies_in_the_folder_is_read(server: Path, touched: list[str]) -> None:
    """Meshes beside the arm and below, also by the name of the folder as a package."""
    (server / "mine" / "meshes").mkdir()
    (server / "mine" / "meshes" / "rod.obj").write_text(OBJ)
    for way in ("meshes/rod.obj", "package://mine/meshes/rod.obj", f"file://{server}/mine/meshes/rod.obj"):
        (server / "mine" / "arm.urdf").write_text(URDF.replace("WAY", way))
        (visual,) = Shelf(server / "mine").robot("arm.urdf").links[0].visuals
        assert len(visual.content.faces) == 1
    assert touched == []


@pytest.mark.parametrize("name", ["x" * 300 + ".yaml", "x" * 251 + ".yaml", "é" * 126 + ".yaml"])
def test_names_longer_than_systems_take(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path)
    for ask in (lambda: shelf.path(name, writing=True), lambda: shelf.read(name)):
        with pytest.raises(ModelError, match=r"\Afile: got '.{1,60}, expected the name of a file in"):
            ask()
    assert shelf.path("x" * 250 + ".yaml").parent == tmp_path
