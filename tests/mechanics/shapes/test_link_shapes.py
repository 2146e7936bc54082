"""Shapes of described links: order, names, loads, tapered sections, the table of frequencies, refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid

from pliant.errors import ModelError
from pliant.mechanics.shapes import (
    PINNED,
    bending_modes,
    clamped_free_roots,
    clamped_mass_roots,
    frequency_table,
    link_shapes,
    mass_matrix,
    pinned_shapes,
    rod_roots,
    stiffness_matrix,
)
from pliant.robot import Beam, Joint, Link, RigidBody, Section, Shapes, TipLoad
from pliant.robot.parts.beam import beam_properties

UNIFORM = {"length": 2.0, "mass_per_length": 3.0, "EI_y": 700.0, "EI_z": 500.0, "GJ": 90.0, "EA": 1e6}
UNIFORM["polar_inertia"] = 0.02
MATERIAL = {"E": 7e10, "G": 2.7e10, "density": 2700}


def link(shapes, joint=None, **beam):
    return Link(name="upper", joint=joint or Joint(), beam=Beam(**(UNIFORM | beam)), shapes=Shapes(**shapes))


def tapered(shapes, **section):
    table = {"shape": "rectangle", "x": [0, 1], "width": 0.02, "height": [0.04, 0.02]} | section
    beam = Beam(length=1.5, material=MATERIAL, section=Section(**table))
    return Link(name="blade", beam=beam, shapes=Shapes(**shapes))


def hand_frequencies(robot_link):
    return link_shapes(robot_link).frequencies(beam_properties(robot_link.beam))


def test_rigid_links_have_no_shapes():
    assert link_shapes(Link(name="a", rigid=RigidBody(mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)))) is None
    assert link_shapes(Link(name="a", beam=Beam(**UNIFORM))) is None
    assert link_shapes(link({"bending_y": 0})) is None
    assert frequency_table(Link(name="a", beam=Beam(**UNIFORM))) == ()


def test_order_names_and_powers():
    shapes = link_shapes(link({"bending_y": 2, "bending_z": 1, "torsion": 1, "axial": 1}))
    assert shapes.names == ("bending_y.1", "bending_y.2", "bending_z.1", "torsion.1", "axial.1")
    assert shapes.fields == ("bending_y", "bending_y", "bending_z", "torsion", "axial")
    assert shapes.powers == (0,) * 5
    assert shapes.size == 5
    assert shapes.depends_on == ()
    np.testing.assert_array_equal(shapes.evaluate([0.5], 1)[0, :2], bending_modes(2).evaluate([0.5], 1)[0])


def test_elements_node_by_node():
    shapes = link_shapes(link({"method": "elements", "count": 3, "bending_y": True, "torsion": True}))
    assert shapes.names == (*(f"bending_y.{j}" for j in range(1, 7)), "torsion.1", "torsion.2", "torsion.3")
    assert shapes.powers == (0, 1, 0, 1, 0, 1, 0, 0, 0)
    assert shapes.integrals.tip.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1]


def test_frequencies_of_uniform_modes():
    found = hand_frequencies(link({"bending_y": 2, "bending_z": 2, "torsion": 1, "axial": 1}))
    beta2 = clamped_free_roots(2) ** 2 / 4
    rod = rod_roots(1) / 2
    expected = [
        *(beta2 * np.sqrt(500 / 3)),
        *(beta2 * np.sqrt(700 / 3)),
        *(rod * np.sqrt(90 / 0.02)),
        *(rod * np.sqrt(1e6 / 3)),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_rotary_inertia_lowers_each_plane_by_its_own():
    """One mode: k / (m + j (psi', psi') / L^2), with j_z where v bends about z and j_y where w bends about y."""
    mode = bending_modes(1)
    eta = np.linspace(0, 1, 20001)
    slopes = trapezoid(mode.evaluate(eta, 1)[:, 0] ** 2, eta)
    found = hand_frequencies(link({"bending_y": 1, "bending_z": 1}, rotary=(0.05, 0.2)))
    plain = hand_frequencies(link({"bending_y": 1, "bending_z": 1}))
    expected = plain / np.sqrt(1 + np.array([0.2, 0.05]) * slopes / (3.0 * 2.0**2))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_as_many_amplitudes_as_the_description_says():
    for shapes in (
        {"method": "elements", "count": 3, "bending_y": True, "bending_z": True, "torsion": True},
        {"method": "elements", "count": 4, "reduce": 3, "bending_y": True, "axial": True},
        {"method": "elements", "count": 2, "reduce": 3, "bending_y": True, "axial": True},
        {"bending_y": 2, "bending_z": 1, "torsion": 1, "axial": 3},
    ):
        assert Shapes(**shapes).number == link_shapes(link(shapes)).size


def test_boundary_load_of_each_field():
    load = TipLoad(mass=2.0, inertia=(0.05, 0.4, 0.6), first_moment=0.3)
    shapes = {"boundary": "clamped-mass", "bending_y": 2, "bending_z": 2, "torsion": 2, "axial": 2}
    given = link(shapes | {"tip_load": load})
    found = hand_frequencies(given)
    M, D = 2 / (3 * 2), 0.3 / (3 * 4)
    expected = [
        *(clamped_mass_roots(2, M, 0.6 / 24, D) ** 2 / 4 * np.sqrt(500 / 3)),  # v turns about z
        *(clamped_mass_roots(2, M, 0.4 / 24, D) ** 2 / 4 * np.sqrt(700 / 3)),  # w turns about y
        *(rod_roots(2, 0.05 / (0.02 * 2)) / 2 * np.sqrt(90 / 0.02)),
        *(rod_roots(2, M) / 2 * np.sqrt(1e6 / 3)),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert link_shapes(given).depends_on == ("tip_load", "length", "mass_per_length", "polar_inertia")
    auto = link(shapes | {"tip_load": "auto"})
    np.testing.assert_array_equal(link_shapes(auto, load).evaluate([0.7]), link_shapes(given).evaluate([0.7]))
    with pytest.raises(ModelError, match="auto"):
        link_shapes(auto)


def test_scalar_inertia_serves_both_planes_and_leaves_torsion_free():
    load = TipLoad(mass=1.0, inertia=0.5)
    shapes = link_shapes(
        link({"boundary": "clamped-mass", "tip_load": load, "bending_y": 1, "bending_z": 1, "torsion": 1})
    )
    y, z, torsion = shapes.parts
    assert y.load == z.load
    assert not torsion.load


def test_load_does_not_touch_clamped_free_shapes():
    free = link({"boundary": "clamped-free", "bending_y": 2})
    np.testing.assert_array_equal(link_shapes(free, TipLoad(mass=5)).evaluate([0.4]), link_shapes(free).evaluate([0.4]))


@pytest.mark.parametrize(("axis", "field"), [((0, 0, 1), "bending_y"), ((0, -1, 0), "bending_z")])
def test_pinned_shapes_live_in_the_plane_the_joint_turns(axis, field):
    shapes = link_shapes(link({"boundary": "pinned", field: 2, "torsion": 1}, Joint(axis=axis)))
    assert shapes.fields == (field, field, "torsion")
    for derivative in (0, 1):  # the root moves and turns with the joint
        np.testing.assert_allclose(shapes.evaluate([0.0], derivative)[0, :2], 0, atol=1e-12)
    many = link_shapes(link({"boundary": "pinned", field: 9}, Joint(axis=axis))).integrals
    np.testing.assert_array_equal(many.gram, np.eye(9))  # to the last bit, so that a trace folds the products away
    np.testing.assert_array_equal(many.stiffness, np.diag(np.diag(many.stiffness)))


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_pinned_shapes_span_pinned_modes_and_carry_a_torque(count):
    """With the turning of the joint they make every pinned mode, and their curvature at the root is not zero."""
    shapes, modes = pinned_shapes(count), bending_modes(count - 1, PINNED)
    eta = np.linspace(0, 1, 60)
    span = np.column_stack([eta, shapes.evaluate(eta)])
    found = span @ np.linalg.lstsq(span, modes.evaluate(eta), rcond=None)[0]
    np.testing.assert_allclose(found, modes.evaluate(eta), atol=1e-10)
    assert np.abs(shapes.evaluate(0.0, 2)).max() > 1
    K, M = stiffness_matrix(shapes), mass_matrix(shapes)
    np.testing.assert_allclose(M, np.eye(count), atol=1e-11)
    np.testing.assert_allclose(K, np.diag(np.diag(K)), atol=1e-11 * K.max())
    assert (np.diff(np.diag(K)) > 0).all()
    assert (shapes.evaluate(1.0) > 0).all()


def test_pinned_elements_are_refused():
    with pytest.raises(ModelError, match="pinned"):
        link_shapes(link({"boundary": "pinned", "method": "elements", "count": 2, "bending_y": True}))


def test_depth_taper_to_half_of_a_described_section():
    """Published 3.8238, 18.3173, 47.2648: sqrt(EI_0/mu_0)/L^2 of the root section; dimensions are interpolated."""
    found = hand_frequencies(tapered({"method": "elements", "count": 32, "bending_z": True}))[:3]
    unit = np.sqrt(7e10 * 0.04**2 / 12 / 2700) / 1.5**2
    np.testing.assert_allclose(
        found / unit, [3.8238, 18.3173, 47.2648], rtol=0, atol=2e-4
    )  # last digit and 1e-4 by mesh


def test_ritz_modes_of_a_tapered_beam_converge_from_above():
    exact = hand_frequencies(tapered({"method": "elements", "count": 64, "bending_z": True}))[0]
    found = [hand_frequencies(tapered({"bending_z": n}))[0] for n in (1, 2, 4, 8, 16)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(exact, rel=1e-4)
    assert found[-1] > exact * (1 - 1e-7)  # the mesh itself errs by 1e-8


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_craig_bampton_keeps_k_of_each_field(k):
    own = link({"method": "elements", "count": 4, "reduce": k, "bending_y": True, "bending_z": True, "axial": True})
    shapes = link_shapes(own)
    assert [part.shapes.size for part in shapes.parts] == [k, k, min(k, 4)]
    assert shapes.powers == (0,) * shapes.size
    assert (shapes.integrals.tip > 0).all()
    assert all(
        (np.diff(hand_frequencies(own)[np.array(shapes.fields) == name]) > 0).all() for name in set(shapes.fields)
    )


def test_rotary_inertia_lowers_the_frequency_alike_for_modes_and_elements():
    rotary = (3 * 1e-3, 3 * 4e-3)
    modes, elements = (
        hand_frequencies(link(s, rotary=rotary))
        for s in (
            {"bending_y": 8, "bending_z": 8},
            {"method": "elements", "count": 16, "bending_y": True, "bending_z": True},
        )
    )
    plain = hand_frequencies(link({"bending_y": 1, "bending_z": 1}))
    np.testing.assert_allclose(modes[[0, 8]], elements[[0, 32]], rtol=1e-5)
    assert (modes[[0, 8]] < plain * (1 - 1e-4)).all()


def test_frequency_table_side_by_side():
    rows = frequency_table(link({"bending_y": 2, "torsion": 1}))
    assert [(row.field, row.number) for row in rows] == [("bending_y", 1), ("bending_y", 2), ("torsion", 1)]
    for row in rows:
        assert row.elements == pytest.approx(row.modes, rel=5e-4)  # linear torsion elements: (beta h)^2/24
        assert row.modes_hz == pytest.approx(row.modes / (2 * np.pi))
        assert row.elements >= row.modes
    mirrored = frequency_table(link({"method": "elements", "count": 8, "bending_y": True}))
    assert len(mirrored) == 8
    assert mirrored[0].modes == rows[0].modes
    assert mirrored[0].elements_hz == pytest.approx(rows[0].modes_hz, rel=1e-5)


def test_frequency_table_of_loaded_tapered_and_pinned_links():
    load = TipLoad(mass=0.5, inertia=0.02, first_moment=0.05)
    loaded = frequency_table(link({"boundary": "clamped-mass", "tip_load": "auto", "bending_y": 2}), load)
    assert loaded[1].elements == pytest.approx(loaded[1].modes, rel=1e-5)
    blade = frequency_table(tapered({"method": "elements", "count": 6, "bending_z": True, "axial": True}))
    assert blade[0].modes == pytest.approx(blade[0].elements, rel=1e-3)
    pinned = frequency_table(link({"boundary": "pinned", "bending_y": 3}))
    assert pinned[1].modes_hz == pytest.approx(pinned[1].elements_hz, rel=1e-4)


def test_loaded_ritz_modes_of_a_tapered_beam():
    load = {"boundary": "clamped-mass", "tip_load": TipLoad(mass=1.0, inertia=0.01, first_moment=0.05)}
    modes = hand_frequencies(tapered(load | {"bending_z": 6}))
    elements = hand_frequencies(tapered(load | {"method": "elements", "count": 32, "bending_z": True}))
    np.testing.assert_allclose(modes[:2], elements[:2], rtol=1e-3)


@pytest.mark.parametrize("given", [link({"bending_y": 2, "torsion": 1}), tapered({"bending_z": 1})])
def test_shapes_pickle(given):
    shapes = link_shapes(given)
    copy = pickle.loads(pickle.dumps(shapes))
    np.testing.assert_array_equal(copy.evaluate([0.3]), shapes.evaluate([0.3]))
    np.testing.assert_array_equal(copy.integrals.gram, shapes.integrals.gram)


def test_integrals_follow_the_split_of_a_symbolic_modulus():
    """A tapered beam whose modulus is a symbol has it in the scalar, so the integral must not contain it."""
    blade = tapered({"bending_z": 2})
    shapes, split = link_shapes(blade), beam_properties(blade.beam)
    view = replace(split, profile=replace(split.profile, E=1.0))
    found = shapes.integrals_for(view)
    np.testing.assert_allclose(7e10 * found.stiffness, shapes.integrals.stiffness, rtol=1e-12)
    np.testing.assert_array_equal(found.gram, shapes.integrals.gram)
    uniform = link({"bending_y": 1})
    shapes = link_shapes(uniform)
    assert shapes.integrals_for(beam_properties(uniform.beam)) is shapes.integrals
