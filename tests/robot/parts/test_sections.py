"""Section constants against quadrature over the area, tapers against their dimensions, symbols against numbers."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.robot import Beam, Link, Robot, Section
from pliant.robot.mass_sum import beam_mass
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.cross_sections.sections import area_moments
from pliant.robot.symbolic_view import RobotView

SECTIONS = {
    "rod": Section(shape="rod", diameter=0.03),
    "tube": Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04),
    "rectangle": Section(shape="rectangle", width=0.02, height=0.05),
    "box": Section(shape="box", width=0.06, height=0.1, thickness=0.003),
}


def _inside(section: Section, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    r = np.hypot(y, z)
    if section.shape == "rod":
        return r <= section.diameter / 2
    if section.shape == "tube":
        return (r <= section.outer_diameter / 2) & (r > section.inner_diameter / 2)
    full = (abs(y) <= section.width / 2) & (abs(z) <= section.height / 2)
    if section.shape == "rectangle":
        return full
    wall = section.thickness
    return full & ~((abs(y) < section.width / 2 - wall) & (abs(z) < section.height / 2 - wall))


@pytest.mark.parametrize("name", SECTIONS)
def test_area_moments_by_counting_squares(name: str) -> None:
    section = SECTIONS[name]
    side = np.linspace(-0.06, 0.06, 1201)
    side = (side[1:] + side[:-1]) / 2
    y, z = np.meshgrid(side, side)
    cell = (side[1] - side[0]) ** 2 * _inside(section, y, z)
    moments = area_moments(section)
    counted = cell.sum(), (cell * z**2).sum(), (cell * y**2).sum()
    # 0.1 mm squares against walls of 3 mm or more: boundary cells are worth up to 1 per cent
    np.testing.assert_allclose(moments[:3], counted, rtol=0.01)


def test_tube_of_paper_004() -> None:
    """A 706.86 mm^2, I 181132 mm^4, mu 5.550 kg/m, EI 38037.7, GJ 29271 N m^2 (audit)."""
    beam = beam_properties(Beam(length=2, material="steel", section=SECTIONS["tube"], rotary="section"))
    assert pytest.approx(706.86e-6, rel=1e-5) == beam.EA / 210e9
    assert beam.EI_y == beam.EI_z == pytest.approx(38037.7, rel=5e-6)  # the audit rounds I to 181132 mm^4
    assert pytest.approx(29271, rel=2e-5) == beam.GJ  # to the digits printed
    assert beam.mass_per_length == pytest.approx(5.5488, rel=1e-5)
    assert beam.polar_inertia == pytest.approx(2 * 7850 * 181132e-12, rel=1e-5)
    assert beam.rotary == pytest.approx((7850 * 181132e-12,) * 2, rel=1e-5)
    assert beam.profile is None


@pytest.mark.parametrize(("ratio", "k"), [(1, 0.140577), (2, 0.228682), (10, 0.312326)])
def test_torsion_of_a_rectangle(ratio: float, k: float) -> None:
    """J = k a b^3, Timoshenko and Goodier, table of Saint-Venant's torsion; either way round."""
    for width, height in [(ratio * 0.01, 0.01), (0.01, ratio * 0.01)]:
        J = area_moments(Section(shape="rectangle", width=width, height=height)).J
        assert pytest.approx(k * ratio * 0.01**4, rel=5e-5) == J


def test_inertias_of_a_section_that_is_not_square() -> None:
    """Per length: density times I_y about y, I_z about z, and the sum of both about the axis; of a taper likewise."""
    beam = beam_properties(Beam(length=1.3, material="steel", section=SECTIONS["rectangle"], rotary="section"))
    j_y, j_z = 7850 * 0.02 * 0.05**3 / 12, 7850 * 0.05 * 0.02**3 / 12
    assert beam.rotary == pytest.approx((j_y, j_z), rel=1e-14)
    assert beam.polar_inertia == pytest.approx(j_y + j_z, rel=1e-14)
    table = Section(shape="rectangle", x=[0, 1], width=[0.03, 0.01], height=[0.06, 0.04])
    taper = beam_properties(Beam(length=1.3, material="steel", section=table, rotary="section"))
    middle = taper.profile  # at half of the length it is the rectangle of above
    assert middle.rotary(0.5) == pytest.approx((j_y, j_z), rel=1e-14)
    assert middle.polar_inertia(0.5) == pytest.approx(j_y + j_z, rel=1e-14)
    for name in ("EI_y", "EI_z", "GJ", "EA", "mass_per_length"):
        assert getattr(taper, name) * getattr(middle, name)(0.5) == pytest.approx(getattr(beam, name), rel=1e-14), name


def test_width_bends_in_y() -> None:
    wide = beam_properties(Beam(length=1, material="steel", section=Section(shape="rectangle", width=0.2, height=0.01)))
    assert wide.EI_z == pytest.approx(400 * wide.EI_y)


def test_taper_interpolates_dimensions() -> None:
    section = Section(shape="rectangle", x=[0, 2, 4], width=0.1, height=[0.4, 0.2, 0.0])
    beam = Beam(length=4, material="steel", section=section)
    got = beam_properties(beam)
    assert (got.mass_per_length, got.EI_y, got.EI_z, got.GJ, got.EA, got.polar_inertia) == (1, 1, 1, 1, 1, 1)
    assert got.rotary == (0.0, 0.0)
    eta = np.array([0.0, 0.25, 0.5, 0.9, 1.0])
    h = 0.4 * (1 - eta)
    np.testing.assert_allclose(got.profile.EI_y(eta), 210e9 * 0.1 * h**3 / 12, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got.profile.mass_per_length(eta), 7850 * 0.1 * h, rtol=1e-12, atol=1e-12)
    assert got.profile.GJ(1.0) == 0.0
    assert got.profile.breaks == (0.0, 0.5, 1.0)
    assert beam_mass(beam) == pytest.approx(7850 * 0.1 * 0.2 * 4, rel=1e-12)
    fractions = Section(shape="rectangle", x=[0, 0.5, 1], width=0.1, height=[0.4, 0.2, 0.0])
    assert Beam(length=4, material="steel", section=fractions) == beam


def test_given_inertias_of_a_tapered_beam_stay_constant() -> None:
    section = Section(shape="rod", x=[0, 1], diameter=[0.2, 0.1])
    got = beam_properties(Beam(length=1, material="steel", section=section, polar_inertia=0.3, rotary=[0.1, 0.2]))
    assert got.polar_inertia * got.profile.polar_inertia(0.7) == 0.3
    assert tuple(s * p for s, p in zip(got.rotary, got.profile.rotary(0.7))) == (0.1, 0.2)
    own = beam_properties(Beam(length=1, material="steel", section=section, rotary="section"))
    j = 7850 * np.pi * 0.1**4 / 64
    assert own.rotary[0] * own.profile.rotary(1.0)[0] == pytest.approx(j)
    assert own.polar_inertia * own.profile.polar_inertia(1.0) == pytest.approx(2 * j)


@pytest.mark.parametrize("name", SECTIONS)
def test_symbols_give_the_same_numbers(name: str) -> None:
    section = SECTIONS[name]
    robot = Robot(name="r", links=[Link(name="a", beam=Beam(length=1.5, material="steel", section=section))])
    dims = {path: value for path, value in robot.paths().items() if ".section." in path or ".material." in path}
    symbols = {path: casadi.SX.sym(path) for path in dims}
    got = beam_properties(RobotView(robot, symbols).links[0].beam)
    want = beam_properties(robot.links[0].beam)
    names = ("mass_per_length", "EI_y", "EI_z", "GJ", "EA", "polar_inertia")
    f = casadi.Function("f", list(symbols.values()), [casadi.vertcat(*(getattr(got, n) for n in names))])
    np.testing.assert_allclose(f(*dims.values()).full().ravel(), [getattr(want, n) for n in names], rtol=1e-14)


def test_symbols_of_a_tapered_beam() -> None:
    section = Section(shape="rod", x=[0, 1], diameter=[0.2, 0.1])
    robot = Robot(name="r", links=[Link(name="a", beam=Beam(length=1.5, material="steel", section=section))])
    E, L = casadi.SX.sym("E"), casadi.SX.sym("L")
    got = beam_properties(RobotView(robot, {"links.a.beam.material.E": E, "links.a.beam.length": L}).links[0].beam)
    assert got.EI_y is E
    assert got.length is L
    assert got.mass_per_length == 1.0
    assert got.profile.EI_y(0.0) == pytest.approx(np.pi * 0.2**4 / 64)
    view = RobotView(robot, {"links.a.beam.section.diameter.1": E})
    with pytest.raises(ModelError, match="tapered"):
        beam_properties(view.links[0].beam)


@pytest.mark.parametrize("table", [{}, {"x": [0, 1]}], ids=["uniform", "table"])
def test_rotary_inertia_of_a_stubby_beam_counts_by_default(table: dict[str, list[float]]) -> None:
    """Steel rod of 60 mm: from 0.5 m down (8.5 diameters), where the first frequency falls by 0.2 %; a number wins."""
    rod = Section(shape="rod", diameter=0.06, **table)

    def rotary(length: float, **given: Any) -> float:
        found = beam_properties(Beam(length=length, material="steel", section=rod, **given))
        return float(found.rotary[0] * (1.0 if found.profile is None else found.profile.rotary(0.5)[0]))

    j = 7850 * np.pi * 0.06**4 / 64
    assert rotary(0.5) == rotary(2.0, rotary="section") == pytest.approx(j)
    assert rotary(0.52) == rotary(0.5, rotary=(0.0, 0.0)) == 0.0


def test_rotary_inertia_by_default_follows_symbols() -> None:
    robot = Robot(name="a", links=[Link(name="a", beam=Beam(length=0.3, material="steel", section=SECTIONS["tube"]))])
    density = casadi.SX.sym("density")
    view = RobotView(robot, {"links.a.beam.material.density": density})
    assert casadi.depends_on(beam_properties(view.links[0].beam).rotary[0], density)
