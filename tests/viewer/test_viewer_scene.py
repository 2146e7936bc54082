"""Meshes of the stage, on a server that only keeps what it is given."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pliant
from figures.test_figure_values import rigid_tip
from pliant.viewer.browser.viewer_furniture import PLATE, Furniture, joint_radii, stand
from pliant.viewer.browser.viewer_meshes import CHUNKS, ArmMeshes, Ball
from pliant.viewer.browser.viewer_scene import readable
from pliant.viewer.colors import RIGID, strain_colors
from pliant.viewer.scenes.scene import scene_of
from pliant.viewer.scenes.scene_camera import touched
from pliant.viewer.scenes.scene_tubes import rings, tube_faces


class Server:
    """Keeps meshes by name."""

    def __init__(self) -> None:
        self.meshes: dict[str, SimpleNamespace] = {}
        self.scene = self

    def add_mesh_simple(self, name: str, vertices: Any, faces: Any, **options: Any) -> SimpleNamespace:
        self.meshes[name] = SimpleNamespace(vertices=vertices, faces=faces, **options)
        return self.meshes[name]


def pieces(server: Server, link: str) -> list[SimpleNamespace]:
    return [mesh for name, mesh in server.meshes.items() if name.split("/")[2] == link]


def test_meshes_bend_with_the_run(crooked: pliant.Result) -> None:
    """At a frame, pieces together are the rings of the link, and their colors those of their mean strain."""
    scene, server = scene_of(crooked, 40), Server()
    placed = list(scene.lines())
    arm = ArmMeshes(server, "/arm", placed, None, None)
    arm.largest = scene.largest_strain
    arm.draw(23)
    for part in placed:
        shown, surface = pieces(server, part.link.name), rings(part, min(23, len(part.points) - 1))
        assert len(shown) == (CHUNKS if part.link.flexible else 1)
        begin, count = 0, surface.shape[1]
        for mesh in shown:
            stations = len(mesh.vertices) // count
            expected = surface[begin : begin + stations].reshape(-1, 3)
            np.testing.assert_allclose(mesh.vertices, expected, atol=1e-6)
            if part.link.flexible:
                strain = part.link.strain[23, begin : begin + stations].mean() / scene.largest_strain
                np.testing.assert_allclose(mesh.color, 255 * strain_colors(strain), atol=4)  # steps of eight
            else:
                np.testing.assert_allclose(mesh.color, 255 * RIGID, atol=1)
            begin += stations - 1  # pieces share a ring
        assert begin == len(surface) - 1


def test_pieces_of_a_link_meet_without_lids(crooked: pliant.Result) -> None:
    """Only the ends of a link are closed: a lid inside would shade the surface around it. All faces of the pieces
    together are those of the whole link, and those of a box are flat."""
    server = Server()
    placed = list(scene_of(crooked, 5).lines())
    ArmMeshes(server, "/arm", placed, None, None)
    for part in placed:
        shown, surface = pieces(server, part.link.name), rings(part, 0)
        whole = tube_faces(*surface.shape[:2])
        assert sum(len(mesh.faces) for mesh in shown) == len(whole)
        sides = surface.shape[1]
        for mesh in shown[1:-1]:
            rings_of = np.sort(mesh.faces // sides, axis=1)
            assert (rings_of[:, 0] < rings_of[:, 2]).all()  # every triangle leads from one ring to another
        assert {mesh.flat_shading for mesh in shown} == {not part.link.round}


def test_base_stands_on_the_floor() -> None:
    """The plate lies on the grid; an arm that reaches below its base stands on a post behind the plane it moves in."""
    arm = pliant.load("two-link")
    up, down = (pliant.simulate(arm.model(), 0.05, {"upper": angle}, progress=False) for angle in (1.2, -1.2))
    for run, has_post in ((up, False), (down, True)):
        scene = scene_of(run, 5)
        placed = list(scene.lines())
        base = stand(scene, placed)
        lowest = float((touched(scene, placed, False) @ scene.up).min())
        assert base.has_post == has_post
        assert base.floor < lowest
        assert bool(base.aside.any()) == has_post
        assert abs(base.aside[0]) + abs(base.aside[1]) < 1e-9  # behind: along z, the axis of the joints
        furniture = Furniture(Room(), "/room", scene, placed, base)
        foot = furniture._api.things["/room/foot"]
        bottom = np.array(foot["position"]) @ scene.up - foot["height"] / 2
        floor = np.array(furniture._api.things["/room/floor"]["position"]) @ scene.up
        assert bottom == pytest.approx(floor, abs=1e-9)
        assert ("/room/post" in furniture._api.things) == has_post
        if has_post:
            post = furniture._api.things["/room/post"]
            low = np.array(post["position"]) @ scene.up - post["dimensions"][2] / 2
            assert low == pytest.approx(floor, abs=1e-9)


@pytest.mark.slow
def test_base_reaches_the_first_joint() -> None:
    """Which need not be where the base is: that of this arm lies higher and aside."""
    arm = pliant.load("two-link").replace({"links.upper.joint.origin.xyz": [0.3, 0.4, 0.0]})
    for angle, has_post in ((1.2, False), (-1.2, True)):
        scene = scene_of(pliant.simulate(arm.model(), 0.05, {"upper": angle}, progress=False), 5)
        placed = list(scene.lines())
        base = stand(scene, placed)
        radius = joint_radii(scene, placed)[0]
        assert base.has_post == has_post
        assert base.aside[0] == pytest.approx(0.3)
        assert base.top == pytest.approx(0.4 + radius if has_post else 0.4 - radius - PLATE * scene.reach)


class Room(Server):
    """Keeps the things of a room as well."""

    def __init__(self) -> None:
        super().__init__()
        self.things: dict[str, dict[str, Any]] = {}

    def add_cylinder(self, name: str, radius: float, height: float, color: Any, **options: Any) -> None:
        self.things[name] = {"height": height, **options}

    def add_box(self, name: str, color: Any, dimensions: Any, **options: Any) -> None:
        self.things[name] = {"dimensions": dimensions, **options}

    def add_grid(self, name: str, width: float, height: float, **options: Any) -> None:
        self.things[name] = options


def test_small_deflections_are_magnified_by_a_round_number(crooked: pliant.Result) -> None:
    scene = scene_of(crooked, 9)
    seen = readable(scene)
    bent, rigid = (np.stack([p.tip[:, :3, 3] for p in scene.lines(m)]) for m in (1.0, 0.0))
    part = np.linalg.norm(bent - rigid, axis=-1).max() / scene.reach
    assert (seen == 1.0) == (part >= 0.02 or 2 * part > 0.06)
    soft = replace(scene, links=tuple(replace(k, shift=0.01 * k.shift, turn=0.01 * k.turn) for k in scene.links))
    factor = readable(replace(soft, links=tuple(replace(k, motor=k.joint) for k in soft.links)))
    assert factor in (1, 2, 5, 10, 20, 50, 100)
    assert factor > seen


def test_ghost_and_kept_runs_have_one_color(crooked: pliant.Result) -> None:
    """Whatever they are strained; the end of the ghost is the rigid arm's."""
    scene, server = scene_of(crooked), Server()
    arm = ArmMeshes(server, "/ghost", list(scene.lines(0.0)), (127, 143, 160), 0.3)
    arm.largest = scene.largest_strain
    arm.draw(101)
    assert {mesh.color for mesh in server.meshes.values()} == {(127, 143, 160)}
    assert {mesh.opacity for mesh in server.meshes.values()} == {0.3}
    (tool,) = pieces(server, "tool")
    end = tool.vertices.reshape(2, -1, 3)[-1].mean(axis=0)
    np.testing.assert_allclose(end, rigid_tip(crooked)[101], atol=1e-6)


def test_ball_stands_where_it_is_put() -> None:
    server = Server()
    ball = Ball(server, "/joint", 0.03, (1, 2, 3))
    ball.put(np.array([0.4, -0.2, 0.9]))
    away = np.linalg.norm(ball.mesh.vertices - np.array([0.4, -0.2, 0.9]), axis=1)
    np.testing.assert_allclose(away, 0.03, rtol=1e-5)


def test_arm_is_removed_whole(crooked: pliant.Result) -> None:
    server, gone = Server(), []
    arm = ArmMeshes(server, "/arm", list(scene_of(crooked, 5).lines()), None, None)
    for name, mesh in server.meshes.items():
        mesh.remove = lambda name=name: gone.append(name)
    arm.remove()
    assert sorted(gone) == sorted(server.meshes)


@pytest.mark.parametrize("other", ["half", "round"])
def test_layout_tells_other_sections_apart(crooked: pliant.Result, other: str) -> None:
    from pliant.viewer.browser.viewer_meshes import layout

    placed = list(scene_of(crooked, 5).lines())
    changes: dict[str, Any] = {"half": {"half": 2 * placed[2].link.half}, "round": {"round": True}}
    changed = [*placed[:2], replace(placed[2], link=replace(placed[2].link, **changes[other])), *placed[3:]]
    assert layout(changed) != layout(placed)
    assert layout(list(scene_of(crooked, 9).lines())) == layout(placed)
