"""Bodies from files: read with the robot, part of what it is, carried wherever it goes."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from bodies import random_body
from pliant import Joint, Link, ModelError, Robot
from pliant.robot.parts.bodies.imported_body import ImportedBody
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.sweeps import SweepStudy, sweep

FILE = """\
name: arm
links:
  - name: upper
    rigid: {mass: 1.0, tip: [0.4, 0, 0]}
  - name: fore
    body: {file: forearm.npz, damping: 0.01}
"""


@pytest.fixture
def body(rng: np.random.Generator) -> ReducedBody:
    return random_body(rng, further=("elbow", "flange"))


@pytest.fixture
def file(body: ReducedBody, tmp_path: Path) -> Path:
    """A robot file with its body beside it, read from elsewhere."""
    body.save(tmp_path / "forearm.npz")
    (tmp_path / "arm.yaml").write_text(FILE)
    return tmp_path / "arm.yaml"


def test_a_body_is_read_beside_its_robot_file(file: Path, body: ReducedBody) -> None:
    robot = pliant.load(file)
    fore = robot.link("fore").body
    assert fore is not None
    assert fore.reduced == body
    assert fore.file == "forearm.npz"
    assert robot.model().coordinates == ("upper", "fore", "fore.mode.1", "fore.mode.2", "fore.mode.3")


def test_a_link_takes_a_body_or_its_file(body: ReducedBody, tmp_path: Path) -> None:
    path = body.save(tmp_path / "forearm.npz")
    by_path, by_text, by_value = (Link(name="fore", body=given) for given in (path, str(path), body))
    assert by_path == by_text == by_value == Link(name="fore", body=ImportedBody(content=body))
    assert len({hash(link) for link in (by_path, by_text, by_value)}) == 1


def test_the_content_counts_and_not_the_name(file: Path, rng: np.random.Generator) -> None:
    """A renamed file is the same robot, a changed one is another: digests, equality, and what a model recalls."""
    robot = pliant.load(file)
    first = robot.model().frequencies([0.0] * 5)
    (file.parent / "forearm.npz").rename(file.parent / "other.npz")
    file.write_text(FILE.replace("forearm", "other"))
    assert pliant.load(file) == robot
    assert pliant.load(file).digest() == robot.digest()
    random_body(rng).save(file.parent / "other.npz")
    changed = pliant.load(file)
    assert changed != robot
    assert changed.digest() != robot.digest()
    assert np.abs(changed.model().frequencies([0.0] * 5) / first - 1).max() > 1e-3


def test_a_saved_robot_has_its_bodies_beside(file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Written once, left alone where another file has its name, and found again."""
    robot, folder = pliant.load(file), tmp_path_factory.mktemp("elsewhere")
    os.remove(file.parent / "forearm.npz")
    robot.save(folder / "copy.yaml")
    assert "file: forearm.npz" in (folder / "copy.yaml").read_text()
    assert pliant.load(folder / "copy.yaml") == robot
    (folder / "forearm.npz").write_bytes(b"mine")
    robot.save(folder / "again.yaml")
    robot.save(folder / "third.yaml")
    assert (folder / "forearm.npz").read_bytes() == b"mine"
    assert pliant.load(folder / "again.yaml") == robot == pliant.load(folder / "third.yaml")
    assert len(list(folder.glob("*.npz"))) == 2
    scenario = pliant.Scenario(robot=robot, duration=0.1)
    scenario.save(folder / "run.yaml")
    assert pliant.Scenario.load(folder / "run.yaml") == scenario


def test_a_body_made_in_python_is_saved_under_the_name_of_its_link(body: ReducedBody, tmp_path: Path) -> None:
    robot = Robot(name="arm", links=[Link(name="fore", body=body)])
    robot.save(tmp_path / "arm.yaml")
    assert (tmp_path / "fore.npz").exists()
    assert pliant.load(tmp_path / "arm.yaml") == robot


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_results_carry_the_body(file: Path, tmp_path: Path, kind: str) -> None:
    robot = pliant.load(file)
    os.remove(file.parent / "forearm.npz")
    run = pliant.simulate(robot.model(), 0.01, output_step=0.005)
    path = tmp_path / f"run.{kind}"
    run.dataset.to_zarr(path, zarr_format=2) if kind == "zarr" else run.save(path)
    read = pliant.Result.load(path)
    assert read.robot == robot
    assert np.array_equal(read.q, run.q)
    assert read.energy.total == pytest.approx(run.energy.total, rel=1e-12)


def test_a_large_surface_goes_into_a_file_of_results(
    body: ReducedBody, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Megabytes, which an attribute of HDF5 takes only where it is stored apart."""
    drawn = surfaced(body, rng, 4000)
    run = pliant.simulate(Robot(name="arm", links=[Link(name="fore", body=drawn)]).model(), 0.01, output_step=0.005)
    run.save(tmp_path / "run.nc")
    assert pliant.Result.load(tmp_path / "run.nc").robot.link("fore").body.reduced == drawn  # type: ignore[union-attr]


def surfaced(body: ReducedBody, rng: np.random.Generator, count: int) -> ReducedBody:
    entries: dict[str, Any] = {**body._entries(), "mass": body.mass, "names": body.names, "frames": body.frames}
    entries |= {
        "vertices": rng.normal(size=(count, 3)), "triangles": rng.integers(0, count, (2 * count, 3)),
        "moves": rng.normal(size=(count, 3, body.size)), "stress": rng.normal(size=(count, 6, body.size)), "about": "",
    }  # fmt: skip
    return ReducedBody(**entries)


@pytest.mark.slow
def test_robots_with_bodies_go_through_processes(file: Path, tmp_path: Path) -> None:
    robot = pliant.load(file)
    assert pickle.loads(pickle.dumps(robot)) == robot
    study = {
        "scenario": {"robot": robot, "duration": 0.01, "output_step": 0.005},
        "vary": {"links.fore.body.damping": [0.0, 0.02]}, "engine": "points",
    }  # fmt: skip
    os.remove(file.parent / "forearm.npz")
    found = sweep(SweepStudy(**study), tmp_path / "out", workers=2)
    assert found.status == ("finished",) * 2


def test_numbers_of_a_body_are_replaced_and_are_parameters(file: Path) -> None:
    robot = pliant.load(file)
    other = robot.replace({"links.fore.body.damping": 0.05})
    assert other.link("fore").body.reduced == robot.link("fore").body.reduced  # type: ignore[union-attr]
    model = robot.model(parameters=["links.fore.body.damping"])
    q, qd = np.zeros(5), np.arange(5.0)
    assert model.bias(q, qd, p=[0.05]) == pytest.approx(other.model().bias(q, qd), rel=1e-12)
    few = robot.replace({"links.fore.body.modes": 2})
    assert few.model().n == 4
    rigid = robot.replace({"links.fore.body.modes": 0})
    assert rigid.model().n == 2


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"body": {"damping": 0.1}}, "missing key `file`"),
        ({"body": {"file": "no.npz"}}, "no.npz: cannot be read"),
        ({"body": {"file": "arm.yaml"}}, "arm.yaml: not a file of arrays"),
        ({"body": {"file": "forearm.npz", "modes": 9}}, "`modes` 9 is more than the 3 coordinates"),
        ({"body": {"file": "forearm.npz", "modes": -1}}, "expected a whole number from 0"),
        ({"body": {"file": "forearm.npz"}, "rigid": {"mass": 1.0}}, "`rigid` and `body` are both given"),
        ({"body": {"file": "forearm.npz"}, "shapes": "auto"}, "`shapes` on a body from a file, which has its own"),
        ({"body": {"file": "forearm.npz"}, "joint": {"offset": 0.1}}, "a body has its frames instead"),
        ({"body": {"content": "UEsD"}}, "content: not a file of arrays"),
        ({"body": {"content": "!"}}, "content: not the text of a body"),
        ({}, "missing key `beam`, `rigid` or `body`"),
    ],
)
def test_mistakes(file: Path, link: dict[str, Any], said: str) -> None:
    from pliant.robot.files.yaml import write_yaml

    file.write_text(write_yaml({"name": "arm", "links": [{"name": "fore", **link}]}))
    with pytest.raises(ModelError) as raised:
        pliant.load(file)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("at", "said"), [("flang", "did you mean `flange`?"), ("elbow", "only a body from a file has frames")]
)
def test_frames_that_are_not_there(body: ReducedBody, at: str, said: str) -> None:
    on = "fore" if at == "flang" else "hand"
    links = [
        Link(name="fore", body=body), Link(name="hand", rigid={"mass": 1.0}, joint=Joint(type="fixed")),
        Link(name="eye", rigid={"mass": 0.1}, parent=on, at={"frame": at}),
    ]  # fmt: skip
    with pytest.raises(ModelError) as raised:
        Robot(name="arm", links=links)
    assert said in str(raised.value)


def test_urdf_has_the_body_rigid_and_mjcf_refuses_it(file: Path) -> None:
    robot = pliant.load(file).replace({"payload.mass": 0.7})  # which stands on the tip frame
    rigid = pliant.load(robot.to_urdf()).model()
    plain = robot.replace({"links.fore.body.modes": 0}).model()
    assert rigid.mass_matrix([0.3, 0.4]) == pytest.approx(plain.mass_matrix([0.3, 0.4]), rel=1e-9)
    assert rigid.pose([0.3, 0.4]) == pytest.approx(plain.pose([0.3, 0.4]), abs=1e-9)
    with pytest.raises(pliant.UnsupportedModel, match="link `fore` is a body from a file that bends"):
        robot.to_mjcf(bodies=2)
    assert "<body" in robot.replace({"links.fore.body.modes": 0}).to_mjcf(bodies=2)


def test_no_record_holds_objects(tmp_path: Path) -> None:
    """A file that would run code when it is read."""
    np.savez(tmp_path / "bad.npz", format=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ModelError, match="not a file of arrays"):
        ReducedBody.read(tmp_path / "bad.npz")


def _whole() -> ReducedBody:
    return random_body(np.random.default_rng(5))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: {"damping": -b.damping}, "its damping gives energy"),
        (lambda b: {"axes": np.stack([b.axes[0], *(1.001 * b.axes[1:])])}, "not of length 1 and at right angles"),
        (lambda b: {"axes": np.stack([b.axes[0], *(b.axes[1:] * [1, 1, -1])])}, "left-handed frame"),
        (lambda b: {"mass": 1e-9}, "not those of any distribution of masses"),
        (lambda b: {"second": 0.2 * b.second}, "not those of any distribution of masses"),
        (lambda b: {"first": 3 * b.first}, "not those of any distribution of masses"),
        (lambda b: {"products": -b.products}, "not those of any distribution of masses"),
        (lambda b: {"products": 1.01 * b.products, "spin": 0 * b.spin}, "not the traces of `products`"),
        (lambda b: {"gram": 1.01 * b.gram, "spin": 0 * b.spin}, "not the traces of `products`"),
        (lambda b: {"gram": 1e6 * b.gram}, "e-07 of the inertia of `gram`"),
        (lambda b: {"eps": 4 * b.eps}, "negative kinetic energy"),
        (lambda b: {"stiffness": 1e300 * b.stiffness}, "`stiffness` has numbers that are not finite, or beyond"),
        (lambda b: {"second": 1e308 * np.eye(3)}, "`second` has numbers that are not finite, or beyond"),
        (lambda b: {"mass": 1e308}, "mass must be above 0"),
    ],
)
def test_bodies_that_physics_does_not_have(change, words) -> None:
    """Each entry has the right shape and finite numbers, and no body has them."""
    with pytest.raises(ModelError, match=words):
        replace(_whole(), **change(_whole()))


@pytest.mark.parametrize("name", ["eps", "arms", "products"])
@pytest.mark.parametrize("factor", [-1.0, 1e6])
def test_shapes_beyond_first_order_that_physics_does_not_have(name: str, factor: float) -> None:
    body, name = stiffened(), f"beyond_{name}"
    with pytest.raises(ModelError, match="are not those of its masses"):
        replace(body, **{name: factor * getattr(body, name)})
    mixed = body.beyond_products.copy()
    mixed[1, body.size] *= 1.01
    with pytest.raises(ModelError, match="`beyond_products` is not symmetric"):
        replace(body, beyond_products=mixed)


@cache
def stiffened() -> ReducedBody:
    """A tapered bar of bricks to second order, no two of its sides equal."""
    bar = pliant.bodies.brick_mesh(np.linspace(0, 0.37, 4), [-0.012, 0.02], [-0.006, 0.003])
    model = pliant.bodies.mesh_model(bar, "aluminium", unit="m")
    return pliant.bodies.reduce_model(model, "x = 0", "x = 0.37", modes=1, stiffening="second-order")


def _npz(path: Path, **entries: Any) -> Path:
    np.savez(path, **entries)
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": np.zeros(1, dtype=[("a", "i4")])}, "expected numbers or text"),
        ({"format": np.array([1, 1])}, "`format` is"),
        ({"format": np.array("one")}, "`format` is"),
        ({"first": np.array(["a", "b", "c"])}, "could not convert|convert"),
        ({"mass": np.array([1.0, 2.0])}, "mass|array"),
        ({"mass": np.array(1.0 + 2.0j)}, "expected numbers or text"),
        ({"triangles": np.full((1, 3), 0.5)}, "vertex|triangle"),
    ],
)
def test_entries_of_another_kind(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    whole = _whole()
    entries = {"format": 1, **whole._entries(), **change}
    with pytest.raises(ModelError, match=words):
        ReducedBody.read(_npz(tmp_path / "body.npz", **entries))


def test_an_entry_that_stands_twice(tmp_path: Path) -> None:
    path = _npz(tmp_path / "body.npz", format=1, **_whole()._entries())
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("mass.npy", archive.read("first.npy"))
    with pytest.raises(ModelError, match=r"`mass\.npy` is there twice"):
        ReducedBody.read(path)


def test_a_billion_names_without_a_letter(tmp_path: Path) -> None:
    """A file of some hundred bytes that says how many entries without size it has."""
    entries = {name: value for name, value in _whole()._entries().items() if name != "names"}
    path = _npz(tmp_path / "body.npz", format=1, **entries)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<U0", "fortran_order": False, "shape": (10**9,)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("names.npy", head.getvalue())
    with pytest.raises(ModelError, match="1000000000 entries without size"):
        ReducedBody.read(path)
