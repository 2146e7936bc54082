"""Bodies from meshes to second order: loads stiffen, soften and buckle them as they do beams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

pytest.importorskip("skfem", reason="the mesh extra is not installed")

import pliant
from pliant.bodies import Interface, from_mesh, mesh_model, read_model, reduce_model
from pliant.errors import ModelError
from pliant.mechanics.bodies.second_order_shapes import affine_motions
from pliant.robot.parts.bodies.reduced_body import LINEAR, ReducedBody
from pliant.robot.parts.materials import MATERIALS
from solid_bars import bar

ALUMINIUM = MATERIALS["aluminium"]
SIZE = LENGTH, WIDTH, HEIGHT = 0.8, 0.012, 0.009
BENDING = {"z": ALUMINIUM.E * WIDTH * HEIGHT**3 / 12, "y": ALUMINIUM.E * HEIGHT * WIDTH**3 / 12}
UNIT = {plane: np.sqrt(EI / (ALUMINIUM.density * WIDTH * HEIGHT)) / LENGTH**2 for plane, EI in BENDING.items()}
EULER = np.pi**2 * BENDING["z"] / (4 * LENGTH**2)
WRIGHT = {0.0: (3.5160, 22.0345), 4.0: (5.5850, 24.2733), 8.0: (9.2568, 29.9954)}
"""Wright, Smith, Thresher and Wang (1982): flapping frequencies over sqrt(EI / mu L^4) by spin."""


def ends(kind: Any, length: float = LENGTH) -> tuple[Interface, Interface]:
    return Interface("x = 0", kind), Interface(f"x = {length}", kind)


def meshed(kind: Any = "average", **options: Any) -> ReducedBody:
    return from_mesh(
        bar((16, 1, 1), SIZE), "aluminium", *ends(kind), unit="m", modes=6, stiffening="second-order", **options
    )


def arm(body: ReducedBody, joint: str = "fixed", **options: Any) -> pliant.Robot:
    link = pliant.Link(name="arm", joint=pliant.Joint(type=joint), body=body)
    return pliant.Robot(name="bar", links=[link], gravity=(0, 0, 0), **options)


@pytest.fixture(scope="module")
def body() -> ReducedBody:
    return meshed()


def under(model: Any, force: Any) -> Any:
    """Hz of an arm without joints under a force at its tip that keeps its direction."""
    loads = [pliant.loads.Wrench(force=force, link="arm")]
    return model.frequencies(model.equilibrium([], loads=loads), loads=loads)


@pytest.mark.slow
def test_a_spinning_bar_is_a_spinning_beam(body: ReducedBody) -> None:
    """Out of the plane of rotation, and in it, where squares are less by that of the spin: first frequency to 0.3 %,
    the second to 0.5 %, as near as without spin."""
    model = arm(body, "revolute").model()
    assert model.level.stiffening == "second-order"
    for spin, flapping in WRIGHT.items():
        for plane, softened in (("z", 0.0), ("y", spin**2)):
            found = 2 * np.pi * model.frequencies(rates=[spin * UNIT[plane]]) / UNIT[plane]
            for expected, rtol in zip(np.sqrt(np.square(flapping) - softened), (3e-3, 5e-3)):
                assert np.abs(found / expected - 1).min() < rtol, (plane, spin, expected)


def flapping(spin: float) -> float:
    """First frequency of a clamped beam that flaps at a spin, both over sqrt(EI / mu L^4), by Ritz's method with
    polynomials: EI and the pull mu W^2 (L^2 - x^2) / 2 of the spin."""
    x, weight = np.polynomial.legendre.leggauss(24)
    x, weight = (x + 1) / 2, weight / 2
    k = np.arange(2, 10)[:, None]
    by_slope = spin**2 * ((1 - x**2) / 2 * weight * (k * x ** (k - 1))) @ (k * x ** (k - 1)).T
    bent = k * (k - 1) * x ** (k - 2)
    return float(np.sqrt(eigh((weight * bent) @ bent.T + by_slope, (weight * x**k) @ (x**k).T, eigvals_only=True)[0]))


@pytest.mark.full
def test_a_bar_that_spins_at_twice_its_first_frequency(body: ReducedBody) -> None:
    """In both planes; without second order of the body nothing stiffens, and that is told."""
    model, plain = (arm(one, "revolute").model() for one in (body, replace(body, **LINEAR)))
    assert flapping(8.0) == pytest.approx(WRIGHT[8.0][0], rel=1e-5)
    still = 2 * np.pi * plain.frequencies()[:2]
    for first, plane in zip(still, "zy"):
        spin = 2 * first / UNIT[plane]
        expected = np.sqrt(flapping(spin) ** 2 - (spin**2 if plane == "y" else 0.0))  # "y" is in the plane of rotation
        found = 2 * np.pi * model.frequencies(rates=[2 * first])
        assert np.abs(found / UNIT[plane] / expected - 1).min() < 3e-3
        if plane == "z":
            assert found.min() > 1.3 * first
            with pytest.warns(UserWarning, match="stiffening: got a body without second order for link arm"):
                linear = 2 * np.pi * plain.frequencies(rates=[2 * first])
            assert np.abs(linear / first - 1).min() < 1e-3


@pytest.mark.full
def test_tension_stiffens_and_pressure_buckles(body: ReducedBody) -> None:
    """First frequencies of both planes under a force along the bar are those of the beam, to 0.2 %; without the second
    order nothing changes."""
    shapes = pliant.Shapes(boundary="clamped-free", bending_y=4, bending_z=4)
    section = pliant.Section(shape="rectangle", width=WIDTH, height=HEIGHT)
    beam = pliant.Link(
        name="arm", joint=pliant.Joint(type="fixed"), shapes=shapes,
        beam=pliant.Beam(length=LENGTH, material="aluminium", section=section),
    )  # fmt: skip
    judge = pliant.Robot(name="beam", links=[beam], gravity=(0, 0, 0)).model(stiffening="second-order")
    ours, linear = (arm(body).model(stiffening=level) for level in ("second-order", "off"))
    still = under(linear, [0.0, 0, 0])[:2]
    for part in (-0.5, 0.0, 5.0):
        force = [part * EULER, 0.0, 0.0]
        np.testing.assert_allclose(under(ours, force)[:2], under(judge, force)[:2], rtol=2e-3)
        np.testing.assert_allclose(under(linear, force)[:2], still, rtol=1e-9)
    buckled = under(ours, [-1.01 * EULER, 0.0, 0.0])
    assert buckled[0] < 0 < buckled[1]
    assert under(ours, [-0.98 * EULER, 0.0, 0.0])[0] > 0


@pytest.mark.full
def test_a_strip_buckles_sideways() -> None:
    """Under a force across it, where twist and bending meet: at 4.013 sqrt(EI GJ) / L^2, to 2 %."""
    size = length, width, height = 0.9, 0.003, 0.03
    body = from_mesh(
        bar((24, 1, 4), size), "aluminium", *ends("average", length), unit="m", modes=14, stiffening="second-order"
    )
    twisting = ALUMINIUM.G * height * width**3 / 3 * (1 - 0.63 * width / height)
    force = 4.013 * np.sqrt(ALUMINIUM.E * height * width**3 / 12 * twisting) / length**2
    model = arm(body).model()
    assert under(model, [0.0, 0.0, -0.98 * force])[0] > 0
    assert under(model, [0.0, 0.0, -1.02 * force])[0] < 0


@pytest.mark.slow
@pytest.mark.parametrize("where", ["x = 0.8", "x > 0.59"])
def test_a_rigid_interface_turns_as_one_piece(where: str) -> None:
    """The last quarter of a bar as one rigid piece, with its frame in front or at the end: the force that buckles it is
    that of a bar of three quarters with a rigid lever, tan(k l) = 1 / (k h) with P = EI k^2."""
    from scipy.optimize import brentq

    frame = Interface(where, origin=(LENGTH, 0.0, 0.0))
    body = from_mesh(
        bar((16, 1, 1), SIZE),
        "aluminium",
        Interface("x = 0", "average"),
        frame,
        unit="m",
        modes=6,
        stiffening="second-order",
    )
    lever = LENGTH / 4 if ">" in where else 1e-9
    free = LENGTH - lever
    k = brentq(lambda k: np.cos(k * free) - k * lever * np.sin(k * free), 0.1, np.pi / 2 / free)
    model = arm(body).model()
    assert under(model, [-0.985 * BENDING["z"] * k * k, 0.0, 0.0])[0] > 0
    assert under(model, [-1.015 * BENDING["z"] * k * k, 0.0, 0.0])[0] < 0


def test_shapes_beyond_are_those_of_the_loads(body: ReducedBody) -> None:
    """Geometric stiffness of one newton at the tip is int phi_x . phi_x dx: of the first mode of a beam of unit mass
    4.6478 / (m L); of weight along the bar, int phi_x . phi_x (L - x) mu dx: 1.5708 / L."""
    forms, k = body.beyond_forms, body.size
    pull = -np.tensordot(body.beyond_shift[1, 0], forms, 1)
    weight = -np.tensordot(body.beyond_eps[0], forms, 1)
    for mode in range(2):  # one in each plane
        assert pull[mode, mode] == pytest.approx(4.6478 / (body.mass * LENGTH), rel=5e-3)
        assert weight[mode, mode] == pytest.approx(1.5708 / LENGTH, rel=5e-3)
    assert np.abs(pull[0, 1]) < 1e-6 * pull[0, 0]
    energy = np.linalg.eigvalsh(body.lifted.gram[k:, k:])
    assert energy[0] > -1e-12 * energy[-1]


def test_motions_of_a_frame_that_spins() -> None:
    model = mesh_model(bar((1, 1, 1), SIZE), "aluminium", unit="m")
    found = affine_motions(model, np.array([0.1, 0.2, 0.3])).reshape(-1, 3, 12)
    E, a = np.arange(9.0).reshape(3, 3), np.array([3.0, 5.0, 7.0])
    field = found @ np.concatenate([a, E.T.ravel()])
    np.testing.assert_allclose(field, a + (model.nodes - [0.1, 0.2, 0.3]) @ E.T, atol=1e-14)


def test_files_keep_it_and_older_ones_are_read(body: ReducedBody, tmp_path: Path) -> None:
    again = ReducedBody.read(body.save(tmp_path / "bar.npz"))
    assert again == body
    assert again.beyond == 18
    linear = replace(body, **LINEAR)
    path = linear.save(tmp_path / "linear.npz")
    assert not [name for name in np.load(path).files if name.startswith("beyond")]
    assert linear.digest != body.digest
    entries = dict(np.load(body.save(tmp_path / "part.npz")))
    del entries["beyond_arms"], entries["digest"]
    np.savez(tmp_path / "part.npz", **entries)
    with pytest.raises(ModelError, match=r"part.npz: no entry `beyond_arms`"):
        ReducedBody.read(tmp_path / "part.npz")


@pytest.mark.full
def test_fewer_modes_keep_what_loads_do(body: ReducedBody) -> None:
    few = pliant.robot.ImportedBody(content=body, modes=4)
    assert (few.reduced.size, few.reduced.beyond, body.lowest(0).beyond) == (4, 18, 0)
    model = pliant.Robot(name="x", gravity=(0, 0, 0), links=[
        pliant.Link(name="arm", joint=pliant.Joint(type="fixed"), body=few)]).model()  # fmt: skip
    whole = arm(body).model()
    force = [EULER, 0.0, 0.0]
    np.testing.assert_allclose(under(model, force)[0], under(whole, force)[0], rtol=2e-3)


def test_matrices_alone_do_not_say_it(tmp_path: Path) -> None:
    path = mesh_model(bar((3, 1, 1), SIZE), "aluminium", unit="m").save(tmp_path / "bar.npz")
    with pytest.raises(ModelError, match=r"\Astiffening: needs a mesh; "):
        reduce_model(read_model(path, unit="m", mass_unit="kg"), *ends("rigid"), modes=1, stiffening="second-order")
