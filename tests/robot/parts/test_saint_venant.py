"""Torsion constants, shear centers and torsion moduli against closed forms, tables and finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from pliant.errors import ModelError
from pliant.robot import Beam, Section
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.cross_sections.saint_venant import _mesh, _Problem, area_integrals, saint_venant
from pliant.robot.parts.cross_sections.sections import area_moments

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


def differences(section: Section, pieces: int) -> float:
    """J of a box or an angle by differences of the stress function over steps of a part of the wall: lap(u) = -2, u = 0
    outside, one value in a hole, whose cell reaches half a step beyond its edge."""
    h = section.thickness / pieces
    ny, nz, wall = round(section.width / h), round(section.height / h), pieces
    y, z = np.meshgrid(np.arange(1, ny), np.arange(1, nz), indexing="ij")
    hole = (y >= wall) & (y <= ny - wall) & (z >= wall) & (z <= nz - wall)
    outside = (y >= wall) & (z >= wall) if section.shape == "angle" else np.zeros_like(hole)
    hole &= section.shape == "box"
    number = np.full((ny + 1, nz + 1), -1)
    number[1:ny, 1:nz] = np.where(outside, -1, np.where(hole, 0, np.cumsum(~hole & ~outside).reshape(hole.shape)))
    size = number.max() + 1
    right = np.full(size, 2.0 * h**2)
    right[0] = 2.0 * (section.width - 2 * section.thickness + h) * (section.height - 2 * section.thickness + h)
    rows, columns, entries = [], [], []
    for dy, dz in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        here, there = number[1:ny, 1:nz], number[1 + dy : ny + dy, 1 + dz : nz + dz]
        between = (here != there) & (here >= 0)
        inner = between & (there >= 0)
        rows += [here[between], here[inner]]
        columns += [here[between], there[inner]]
        entries += [np.ones(between.sum()), -np.ones(inner.sum())]
    A = scipy.sparse.csc_matrix(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), (size, size)
    )
    if section.shape != "box":
        A, right = A[1:, 1:], right[1:]
    return float(scipy.sparse.linalg.spsolve(A, right) @ right)


def extrapolated(section: Section, pieces: int) -> float:
    """For no steps at all: differences err by h^2, and by h^(4/3) from corners that look inwards."""
    steps = np.array([1.0, 0.5, 0.25])
    found = [differences(section, round(pieces / step)) for step in steps]
    return float(np.linalg.solve(np.column_stack([steps**0, steps ** (4 / 3), steps**2]), found)[0])


@pytest.mark.parametrize(
    ("width", "height", "wall", "pieces"),
    [(0.1, 0.1, 0.01, 4), (0.1, 0.1, 0.045, 9), (0.1, 0.06, 0.02, 8), (0.12, 0.04, 0.004, 4)],
)
def test_box_of_any_wall(width: float, height: float, wall: float, pieces: int) -> None:
    """The formula is good to 0.05 %, and so are the differences, extrapolated. Bredt errs by 5 to 47 %."""
    section = Section(shape="box", width=width, height=height, thickness=wall)
    assert pytest.approx(extrapolated(section, pieces), rel=1e-3) == area_moments(section).J


def test_box_between_thin_and_solid() -> None:
    """Bredt's value for a wall of nothing, the solid bar for one that fills it, and J rises all the way."""
    thin = area_moments(Section(shape="box", width=0.1, height=0.06, thickness=1e-6)).J
    assert thin == pytest.approx(2 * 1e-6 * (0.1 * 0.06) ** 2 / 0.16, rel=1e-4)
    solid = area_moments(Section(shape="rectangle", width=0.1, height=0.1)).J
    assert (
        pytest.approx(solid, rel=5e-4) == area_moments(Section(shape="box", width=0.1, height=0.1, thickness=0.0499)).J
    )
    for ratio in (1.0, 0.97, 0.6, 0.1):
        walls = np.linspace(0.002, 0.499, 200) * ratio
        J = [area_moments(Section(shape="box", width=1.0, height=ratio, thickness=t)).J for t in walls.tolist()]
        assert np.all(np.diff(J) > 0), ratio


def polygon(corners: object, *holes: object) -> Section:
    return Section(shape="polygon", points=corners, holes=list(holes) or None)


@pytest.mark.parametrize(("ratio", "k", "stress"), [(1.0, 0.140577, 0.20817), (4.0, 0.280813, 0.28167)])
def test_polygon_that_is_a_rectangle(ratio: float, k: float, stress: float) -> None:
    """J = k a b^3 and T / tau = k_1 a b^2 of Timoshenko and Goodier; the polygon turned by 20 degrees."""
    c, s = np.cos(0.35), np.sin(0.35)
    corners = (np.array(SQUARE) * [ratio, 1.0]) @ np.array([[c, s], [-s, c]])
    section = polygon(corners + np.array([3.0, -2.0]))
    assert pytest.approx(k * ratio, rel=2e-4) == area_moments(section).J
    assert saint_venant(section.loops()).modulus == pytest.approx(stress * ratio, rel=2e-3)
    assert section.turn == pytest.approx(0.35 if ratio > 1 else 0.0, abs=1e-9)
    assert sorted(area_moments(section)[1:3]) == pytest.approx([ratio / 12, ratio**3 / 12], rel=1e-12)


def test_polygon_that_is_a_triangle() -> None:
    """Equilateral: J = sqrt(3) a^4 / 80, T / tau = a^3 / 20, exactly."""
    section = polygon([[0, 0], [2.0, 0], [1.0, 3**0.5]])
    assert pytest.approx(3**0.5 * 16 / 80, rel=2e-4) == area_moments(section).J
    assert saint_venant(section.loops()).modulus == pytest.approx(8 / 20, rel=1e-2)
    assert area_moments(section).shear_center == (0.0, 0.0)


def test_polygon_that_is_a_tube() -> None:
    """A ring of 60 corners each way round, with its hole, tends to the tube."""
    angle = np.linspace(0, 2 * np.pi, 61)[:-1]
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    section = polygon(ring * 0.05, ring * 0.03)
    tube = area_moments(Section(shape="tube", outer_diameter=0.1, inner_diameter=0.06))
    for name in ("A", "I_y", "I_z", "J"):
        assert getattr(area_moments(section), name) == pytest.approx(getattr(tube, name), rel=0.01), name
    # an edge between two corners is stressed more than the arc would be: the modulus errs to the safe side
    assert 0.88 * tube.J / 0.05 < saint_venant(section.loops()).modulus < tube.J / 0.05


def test_box_as_a_polygon() -> None:
    """The formula of the box and the finite elements judge each other."""
    for wall in (0.02, 0.1, 0.3):
        hole = [[wall, wall], [1 - wall, wall], [1 - wall, 1 - wall], [wall, 1 - wall]]
        formula = area_moments(Section(shape="box", width=1.0, height=1.0, thickness=wall))
        assert pytest.approx(formula.J, rel=1e-3) == area_moments(polygon(SQUARE, hole)).J, wall


def test_box_of_two_cells() -> None:
    """No shear flows through a web in the middle: Bredt's formula of the whole, and the open walls' t^3 / 3."""
    t, cell = 0.01, [[0.01, 0.01], [0.995, 0.01], [0.995, 0.99], [0.01, 0.99]]
    section = polygon([[0, 0], [2, 0], [2, 1], [0, 1]], cell, np.array(cell) + np.array([0.995, 0.0]))
    bredt = 4 * (1.99 * 0.99) ** 2 / (2 * (1.99 + 0.99) / t)
    assert pytest.approx(bredt, rel=0.01) == area_moments(section).J
    assert area_moments(section).shear_center == (0.0, 0.0)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(40))
def test_any_polygon_is_cut_and_solved(seed: int) -> None:
    """Stars of 4 to 20 corners with up to two holes: triangles cover the area, and J is below the polar moment."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 21))
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False) + rng.uniform(0, 0.5 * 2 * np.pi / count, count)
    star = rng.uniform(0.6, 1.5, (count, 1)) * np.column_stack([np.cos(angle), np.sin(angle)])
    turn = np.linspace(0, 2 * np.pi, 5)[:-1]
    hole = 0.08 * np.column_stack([np.cos(turn), np.sin(turn)])
    section = polygon(star, *[hole, hole + np.array([0.0, 0.2])][: int(rng.integers(0, 3))])
    loops = [np.array(loop) for loop in section.loops()]
    problem = _Problem(_mesh(loops, 1000), loops)
    assert (problem.area > 0).all()
    assert problem.area.sum() == pytest.approx(area_moments(section).A, rel=1e-9)
    A, I_y, I_z, J, _ = area_moments(section)
    assert (
        0 < J < min(I_y + I_z, A**2 / (2 * np.pi) * 1.001)
    )  # Polya: no section of its area is stiffer than the circle


def test_angle_by_differences() -> None:
    section = Section(shape="angle", width=0.06, height=0.1, thickness=0.01)
    assert pytest.approx(extrapolated(section, 8), rel=2e-3) == area_moments(section).J


@pytest.mark.parametrize("t", [0.1, 0.02])
def test_open_walls(t: float) -> None:
    """J = sum b t^3 / 3 less 0.105 t^4 for each end of a wall, and more for each joint: 0.26 t^4 (El Darwish and
    Johnston) to 0.37 t^4 (Roark) where a web meets the middle of a flange, 0.13 t^4 to 0.19 t^4 at a corner. The shear
    stress on a long side is T t / J, and up to T D / J facing a web, where a circle of D = 1.25 t has room."""
    walls = {
        "i": (3 - 2 * t, 4, 2, 0.26, 0.37),
        "tee": (2 - t, 3, 1, 0.26, 0.37),
        "channel": (3 - 2 * t, 4, 2, 0.13, 0.19),
    }
    for shape, (length, ends, joints, least, most) in walls.items():
        section = Section(shape=shape, width=1.0, height=1.0, flange=t, web=t)
        J, bare = area_moments(section).J, length * t**3 / 3 - 0.105 * ends * t**4
        assert bare + joints * least * t**4 - 1e-3 * J < J < bare + joints * most * t**4, shape
        assert J / (1.25 * t) < saint_venant(section.loops()).modulus < 1.001 * J / t, shape


def test_shear_center_of_thin_profiles() -> None:
    """Channel: 3 b^2 / (6 b + h) before the web's middle line; tee and angle: where the middle lines meet; Z: none."""
    t = 0.01
    b, h = 0.5 - t / 2, 1.0 - t
    channel = Section(shape="channel", width=0.5, height=1.0, flange=t, web=t)
    web = channel.outline()[:, 0].min() + t / 2
    e_y, e_z = area_moments(channel).shear_center
    assert e_y == pytest.approx(web - 3 * b**2 / (6 * b + h), abs=2e-3)
    assert e_z == 0.0
    tee = Section(shape="tee", width=1.0, height=0.8, flange=t, web=t)
    e_y, e_z = area_moments(tee).shear_center
    assert e_y == 0.0
    assert e_z == pytest.approx(tee.outline()[:, 1].max() - t / 2, abs=2e-3)
    angle = Section(shape="angle", width=0.6, height=1.0, thickness=t)
    meeting = np.array(angle.loops()[0][0]) + t / 2
    c, s = np.cos(angle.turn), np.sin(angle.turn)
    expected = (c * meeting[0] + s * meeting[1], c * meeting[1] - s * meeting[0])
    assert area_moments(angle).shear_center == pytest.approx(expected, abs=2e-3)
    z = [[0, 0], [1, 0], [1, 0.1], [0.1, 0.1], [0.1, 1.1], [-0.9, 1.1], [-0.9, 1.0], [0, 1.0]]
    assert area_moments(polygon(z)).shear_center == pytest.approx((0, 0), abs=1e-4)


def test_shear_center_of_a_slit_tube() -> None:
    """A thin ring open on one side twists about a point two radii from its middle, on the other side."""
    angle = np.linspace(1e-3, 2 * np.pi - 1e-3, 49)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    section = polygon(np.vstack([1.02 * ring, 0.98 * ring[::-1]]))
    moments = area_moments(section)
    assert moments.shear_center == pytest.approx((-2.0, 0.0), abs=0.02)  # the centroid is the middle
    assert pytest.approx(2 * np.pi * 0.04**3 / 3, rel=0.015) == moments.J  # chords are thinner, and two ends are free


def test_shear_center_of_a_half_disc() -> None:
    """8 a / 5 pi from the middle of the straight side (Timoshenko and Goodier, no lateral contraction)."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 61)
    section = polygon(np.column_stack([np.cos(angle), np.sin(angle)]))
    e_y, e_z = area_moments(section).shear_center
    assert e_y == pytest.approx(8 / (5 * np.pi) - 4 / (3 * np.pi), abs=1e-3)
    assert e_z == 0.0


def test_principal_axes_of_an_angle() -> None:
    """Moments about the principal axes and their angle from those about the drawn ones, by rectangles."""
    b, h, t = 0.1, 0.06, 0.008
    parts = [((0, b), (0, t)), ((0, t), (t, h))]
    area = [(y1 - y0) * (z1 - z0) for (y0, y1), (z0, z1) in parts]
    middle = [((y0 + y1) / 2, (z0 + z1) / 2) for (y0, y1), (z0, z1) in parts]
    c = np.average(middle, axis=0, weights=area)
    own = [np.diag([(y1 - y0) ** 2, (z1 - z0) ** 2]) / 12 for (y0, y1), (z0, z1) in parts]
    S = sum(A * (o + np.outer(m - c, m - c)) for A, o, m in zip(area, own, middle))
    section = Section(shape="angle", width=b, height=h, thickness=t)
    cos, sin = np.cos(section.turn), np.sin(section.turn)
    turned = np.array([[cos, sin], [-sin, cos]]) @ S @ np.array([[cos, -sin], [sin, cos]])
    moments = area_moments(section)
    assert turned[0, 1] == pytest.approx(0, abs=1e-12 * np.trace(S))
    assert (moments.I_z, moments.I_y) == pytest.approx((turned[0, 0], turned[1, 1]), rel=1e-12)
    assert abs(section.turn) <= np.pi / 4
    equal = Section(shape="angle", width=b, height=b, thickness=t)
    assert equal.turn == np.pi / 4
    assert Section(shape="angle", width=b, height=b, thickness=t, rotation="-45 deg").turn == 0.0


def test_integrals_of_a_section_do_not_hang_on_its_place_or_order() -> None:
    section = Section(shape="tee", width=0.05, height=0.07, flange=0.006, web=0.004)
    corners = np.array(section.loops()[0])
    for start, shift in itertools.product((0, 3), ([0.0, 0.0], [0.4, -0.2])):
        moved = polygon((np.roll(corners, start, axis=0) + shift)[::-1])
        assert area_integrals(moved.loops())[2:] == pytest.approx(area_integrals(section.loops())[2:], abs=1e-16)
        assert pytest.approx(area_moments(section).J, rel=2e-3) == area_moments(moved).J


def test_beam_of_a_drawn_section() -> None:
    section = Section(shape="channel", width=0.05, height=0.1, flange=0.006, web=0.004)
    beam, moments = Beam(length=1.0, material="steel", section=section, rotary="section"), area_moments(section)
    got = beam_properties(beam)
    assert (got.EI_y, got.EI_z, got.EA) == pytest.approx((210e9 * moments.I_y, 210e9 * moments.I_z, 210e9 * moments.A))
    assert (80.8e9 * moments.J, 7850 * (moments.I_y + moments.I_z)) == pytest.approx((got.GJ, got.polar_inertia))
    assert got.shear_center == moments.shear_center


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shape": "i", "width": 0.1, "height": 0.1, "flange": 0.06, "web": 0.01}, "`flange` must be below"),
        ({"shape": "tee", "width": 0.1, "height": 0.1, "flange": 0.02, "web": 0.1}, "`web` below"),
        ({"shape": "angle", "width": 0.1, "height": 0.1, "thickness": 0.1}, "below `width` and `height`"),
        ({"shape": "angle", "x": [0, 1], "width": 0.1, "height": 0.1, "thickness": 0.01}, "without `x`"),
        ({"shape": "polygon", "points": [[0, 0], [1, 0]]}, "3 to 200 corners"),
        ({"shape": "polygon", "points": [[0, 0], [1, 1], [2, 2]]}, "on a line"),
        ({"shape": "polygon", "points": [[0, 0], [1, 1], [1, 0], [0, 1]]}, "cross each other|on a line"),
        ({"shape": "polygon", "points": SQUARE, "holes": [[[0.5, 0.5], [2, 0.5], [0.5, 0.6]]]}, "inside the polygon"),
        ({"shape": "polygon", "points": SQUARE, "holes": [[[2, 2], [3, 2], [2, 3]]]}, "inside the polygon"),
        ({"shape": "rod", "diameter": 0.1, "holes": [SQUARE]}, "to a polygon"),
        ({"shape": "rod", "diameter": 0.1, "points": SQUARE}, "does not belong to a rod"),
        ({"shape": "polygon"}, "missing key `points`"),
    ],
)
def test_mistakes(given: dict[str, object], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Section(**given)
