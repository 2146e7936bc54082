"""Beams whose section has a shear center beside the centroid, or principal axes beside the link's."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import pliant
from evaluation import evaluate, relative
from pliant import Beam, Joint, Link, Robot, Section, Shapes
from pliant.errors import UnsupportedModel
from pliant.loads import Wrench
from pliant.mechanics import FORMULATIONS, build_chain, equations
from pliant.robot import Lump, Origin
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.cross_sections.sections import area_moments

CHANNEL = Section(shape="channel", width=0.05, height=0.08, flange=0.003, web=0.002)
ANGLE = Section(shape="angle", width=0.06, height=0.03, thickness=0.003)
LENGTH = 1.7
FREE: dict[str, Any] = {"gravity": (0.0, 0.0, 0.0)}
ONE = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)


def cantilever(section: Section, shapes: Shapes = ONE, **robot: Any) -> Robot:
    beam = Beam(length=LENGTH, material="aluminium", section=section)
    return Robot(name="one", links=[Link(name="arm", beam=beam, shapes=shapes)], **FREE | robot)


def test_frequencies_of_a_channel() -> None:
    """Bending along z and twist of a clamped channel, coupled by its shear center: roots of the exact solution.

    EI w'''' = omega^2 mu (w - e phi),  GJ phi'' = -omega^2 [(j + mu e^2) phi - mu e w], warping free.
    """
    p = beam_properties(cantilever(CHANNEL).links[0].beam)
    (e, none), mu = p.shear_center, p.mass_per_length
    assert none == 0.0
    assert e < -0.02

    def free_end(omega: float) -> float:
        A, square = np.zeros((6, 6)), omega**2
        A[0, 1] = A[1, 2] = A[2, 3] = A[4, 5] = 1.0
        A[3, [0, 4]] = square * mu / p.EI_y * np.array([1.0, -e])
        A[5, [0, 4]] = square / p.GJ * np.array([mu * e, -(p.polar_inertia + mu * e**2)])
        return float(np.linalg.det(scipy.linalg.expm(A * LENGTH)[np.ix_([2, 3, 5], [2, 3, 5])]))

    grid = np.linspace(1.0, 400.0, 60)
    values = [free_end(x) for x in grid]
    roots = [
        scipy.optimize.brentq(free_end, a, b)
        for a, b, u, v in zip(grid, grid[1:], values, values[1:]) if u * v < 0
    ]  # fmt: skip
    model = cantilever(CHANNEL, Shapes(bending_y=1, bending_z=3, torsion=3)).model(stiffening="off")
    found = model.frequencies(np.zeros(model.n)) * 2 * np.pi
    alone = 1.875104**2 * np.sqrt(p.EI_z / mu) / LENGTH**2
    expected = np.sort([*roots, alone])[:4]  # bending along y, in the plane of symmetry, has a part of its own
    assert found[:4] == pytest.approx(expected, rel=1e-3)  # Ritz functions of the parts alone: three each
    twist = np.pi / 2 * np.sqrt(p.GJ / p.polar_inertia) / LENGTH
    assert min(abs(twist / found[:4] - 1)) > 0.05  # without the coupling


def test_a_force_at_the_centroid_twists_a_channel() -> None:
    """F along z at the tip: twist -e F x / GJ about the shear center, F L^3 / 3 EI + e^2 F L / GJ at the centroid."""
    force = 0.5
    model = cantilever(CHANNEL).model(stiffening="off")
    p = beam_properties(model.robot.links[0].beam)
    e = p.shear_center[0]
    load = Wrench(force=(0.0, 0.0, force), axes="base")
    q = model.equilibrium(np.zeros(1), [load])
    assert model.tip_pose(q)[:3, 3][2] == pytest.approx(force * LENGTH**3 / 3 / p.EI_y + e**2 * force * LENGTH / p.GJ)
    twist = [value for name, value in zip(model.coordinates, q) if "torsion" in name][-1]
    assert twist == pytest.approx(-e * force * LENGTH / p.GJ, rel=1e-9)
    run = pliant.simulate(model, 0.01, q, motion={"arm": lambda t: 0 * t}, loads=[load], method="rodas5p")
    assert run.curvature("arm", 0.4)[:, 0] == pytest.approx(-e * force / p.GJ, rel=1e-3)
    assert run.internal("arm", 0.4).torque == pytest.approx(0.0, abs=1e-3 * abs(e) * force)
    # T t / J at the middle of a flange; the moment F (L - x) stretches the outermost corners
    J = area_moments(CHANNEL).J
    assert run.shear_stress("arm", 0.4) == pytest.approx(abs(e) * force * 0.003 / J, rel=0.1)
    assert run.stress("arm", 0.4) == pytest.approx(70e9 * force * (LENGTH - 0.4) * 0.04 / p.EI_y, rel=1e-3)


def test_stress_of_an_angle_is_largest_at_a_corner_of_its_outline() -> None:
    """Not at the box around it: M_y z / I_y - M_z y / I_z over the corners, in the principal axes."""
    force = np.array([0.2, -0.5])
    model = cantilever(ANGLE).model(stiffening="off")
    loads = [Wrench(force=(0.0, *force.tolist()), axes="base")]
    q = model.equilibrium(np.zeros(1), loads)
    run = pliant.simulate(model, 0.01, q, motion={"arm": lambda t: 0 * t}, loads=loads, method="rodas5p")
    moments, (c, s) = area_moments(ANGLE), (np.cos(ANGLE.turn), np.sin(ANGLE.turn))
    along_y, along_z = c * force[0] + s * force[1], c * force[1] - s * force[0]
    y, z = ANGLE.outline().T
    expected = np.abs((y * along_y / moments.I_z + z * along_z / moments.I_y) * LENGTH).max()
    assert run.stress("arm", 0.0) == pytest.approx(expected, rel=2e-3)  # in the axes of the bent arm


def test_torsion_moduli() -> None:
    """Roark: pi d^3 / 16, 0.208 a^3; Bredt for a thin box; of a taper at the station."""
    assert Section(shape="rod", diameter=0.02).torsion_modulus() == pytest.approx(np.pi * 0.02**3 / 16)
    tube = Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04)
    assert tube.torsion_modulus() == pytest.approx(np.pi * (0.05**4 - 0.04**4) / 16 / 0.05)
    taper = Section(shape="rectangle", x=[0, 1], width=[0.03, 0.01], height=[0.01, 0.03])
    assert taper.torsion_modulus(0.5) == pytest.approx(0.2082 * 0.02**3, rel=2e-3)
    box = Section(shape="box", width=0.1, height=0.06, thickness=0.001)
    assert box.torsion_modulus() == pytest.approx(2 * 0.001 * 0.099 * 0.059, rel=0.03)


def test_a_force_bends_an_angle_askew() -> None:
    """The tip of an angle moves by L^3 / 3 E times the inverse of its inertia about the axes of the link."""
    b, h, t = 0.06, 0.03, 0.003
    y, z = ((b * t * b / 2 + (h - t) * t * t / 2), (b * t * t / 2 + (h - t) * t * (h + t) / 2))
    A = (b + h - t) * t
    y, z = y / A, z / A
    yy = b**3 * t / 12 + b * t * (b / 2 - y) ** 2 + t**3 * (h - t) / 12 + (h - t) * t * (t / 2 - y) ** 2
    zz = t**3 * b / 12 + b * t * (t / 2 - z) ** 2 + (h - t) ** 3 * t / 12 + (h - t) * t * ((h + t) / 2 - z) ** 2
    yz = b * t * (b / 2 - y) * (t / 2 - z) + (h - t) * t * (t / 2 - y) * ((h + t) / 2 - z)
    stiff = Shapes(method="elements", count=1, bending_y=True, bending_z=True)
    force = np.array([0.2, -0.5])
    for axis in ((0.0, 0.0, 1.0), (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)):
        robot = cantilever(ANGLE, stiff)
        robot = robot.replace({"links.arm.joint": Joint(axis=axis)})
        model = robot.model(stiffening="off")
        q = model.equilibrium(np.zeros(1), [Wrench(force=(0.0, *force.tolist()), axes="base")])
        expected = LENGTH**3 / 3 / 70e9 * np.linalg.solve([[yy, yz], [yz, zz]], force)
        assert model.tip_pose(q)[1:3, 3] == pytest.approx(expected, rel=1e-9)
        assert model.tip_pose(np.zeros(model.n))[:3, :3] == pytest.approx(np.eye(3), abs=1e-12)


OFFSET = (0.03, -0.05)


def skew_arm(section: Section, rotation: float | None = None, offset: tuple[float, float] | None = None) -> Robot:
    """Two links with hubs, tips and axes in all directions."""
    shapes = Shapes(boundary="clamped-free", bending_y=1, bending_z=1, torsion=1, damping=0.01)
    beam = Beam(
        length=0.8, material="aluminium", rotary="section",
        section=section.model_copy(update={"rotation": rotation, "offset": offset}),
    )  # fmt: skip
    hub = Lump(mass=0.7, com=(0.01, 0.04, -0.03), inertia=(0.002, 0.003, 0.004))
    first = Link(
        name="first", joint=Joint(axis=(0.0, 0.6, 0.8), hub=hub), beam=beam, shapes=shapes,
        tip=Lump(mass=0.3, com=(0.02, 0.05, -0.04), inertia=(1e-3, 2e-3, 2e-3)),
    )  # fmt: skip
    second = Link(
        name="second", joint=Joint(axis=(0.36, 0.48, 0.8), origin=Origin(xyz=(0.05, 0.02, 0.03), rpy=(0.4, -0.3, 0.9))),
        beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=1, bending_z=1),
    )  # fmt: skip
    payload = Lump(mass=0.6, com=(0.03, -0.02, 0.05), inertia=(1e-3, 2e-3, 2.5e-3))
    return Robot(name="skew", gravity=(1.0, -3.0, -9.0), links=[first, second], payload=payload)


@pytest.mark.slow_cases("section0-off")
@pytest.mark.parametrize(
    ("section", "stiffening"), [(CHANNEL, "off"), pytest.param(ANGLE, "second-order", marks=pytest.mark.full)]
)
def test_formulations_agree(section: Section, stiffening: bool) -> None:
    chain = build_chain(skew_arm(section, 0.3, OFFSET), stiffening=stiffening)
    rng = np.random.default_rng(5)
    q, qd = 0.3 * rng.normal(size=(2, chain.n))
    q[2:] *= 0.05
    tau = rng.normal(size=chain.n_joints)
    judge = evaluate(chain, "lagrange", q, qd, tau)
    for name in FORMULATIONS:
        if name not in ("lagrange", "dual-screw"):
            ours = evaluate(chain, name, q, qd, tau)
            assert all(relative(ours[key], judge[key]) < 1e-9 for key in judge), name


def test_dual_screw_at_the_straight_arm() -> None:
    """Its inertia matrix is linear in the amplitudes: it is the others' where they vanish."""
    chain = build_chain(skew_arm(ANGLE, offset=OFFSET))
    q, none = ca.SX(np.random.default_rng(6).normal(size=chain.n)), ca.SX.zeros(chain.n)
    q[2:] = 0.0
    judge, ours = (equations(chain, name) for name in ("lagrange", "dual-screw"))
    for of in (lambda e: e.mass_matrix(q), lambda e: e.bias(q, none)):
        assert relative(np.array(ca.DM(of(ours))), np.array(ca.DM(of(judge)))) < 1e-9


def test_a_round_section_may_be_turned() -> None:
    """Nothing that can be seen from outside changes: hubs, joints, tips and payload stay where they were."""
    rod = Section(shape="rod", diameter=0.02)
    plain, turned = (skew_arm(rod, angle).model(stiffening="off") for angle in (None, 0.7))
    joints = np.array([0.4, -0.8])
    ours, theirs = (model.equilibrium(joints) for model in (plain, turned))
    assert turned.tip_pose(theirs) == pytest.approx(plain.tip_pose(ours), abs=1e-12)
    assert turned.frequencies(theirs) == pytest.approx(plain.frequencies(ours), rel=1e-9)
    straight = np.append(joints, np.zeros(turned.n - 2))
    inertias = [model.mass_matrix(straight)[:2, :2] for model in (plain, turned)]
    assert inertias[1] == pytest.approx(inertias[0], rel=1e-12)


def test_an_offset_is_a_massless_link_before_the_beam() -> None:
    """Joint and hub on a rigid link that ends at the offset, the beam fixed to it: the same arm, bending or not."""
    for shapes in (Shapes(bending_y=1, torsion=1), None):
        beam = Beam(length=0.8, material="aluminium", section=ANGLE, rotary="section")
        beside = Beam(
            length=0.8, material="aluminium", section=ANGLE.model_copy(update={"offset": OFFSET}), rotary="section"
        )
        hub, tip = (
            Joint(axis=(0.0, 0.6, 0.8), hub=Lump(mass=0.4, com=(0.1, 0.02, 0.0))),
            Lump(mass=0.3, com=(0.0, 0.1, 0.0)),
        )
        whole = Robot(name="one", links=[Link(name="arm", joint=hub, beam=beside, shapes=shapes, tip=tip)])
        rigid = pliant.RigidBody(mass=0.0, tip=(0.0, *OFFSET))
        parts = [
            Link(name="hub", joint=hub, rigid=rigid),
            Link(name="arm", joint=Joint(type="fixed"), beam=beam, shapes=shapes, tip=tip),
        ]  # fmt: skip
        ours, theirs = (robot.model(stiffening="off") for robot in (whole, Robot(name="two", links=parts)))
        rng = np.random.default_rng(3)
        q, qd = 0.1 * rng.normal(size=(2, ours.n))
        assert ours.forward_dynamics(q, qd, [0.3]) == pytest.approx(theirs.forward_dynamics(q, qd, [0.3]), rel=1e-9)
        assert ours.tip_pose(q) == pytest.approx(theirs.tip_pose(q), abs=1e-12)
        assert ours.energy(q, qd).total == pytest.approx(theirs.energy(q, qd).total)


@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("slides", [False, True])
def test_a_turned_rectangle_is_a_rectangle_with_its_sides_exchanged(slides: bool) -> None:
    upright = Section(shape="rectangle", width=0.01, height=0.03)
    flat = Section(shape="rectangle", width=0.03, height=0.01, rotation="90 deg")
    hub = Lump(mass=0.3, com=(0.0, 0.05, 0.02), inertia=(0.01, 0.02, 0.02))
    joint = Joint(type="prismatic", axis=(1, 0, 0), hub=hub) if slides else Joint(hub=hub)
    length = {"length": 1.0, "total_length": 1.3, "slides": True} if slides else {"length": 1.0}
    models = []
    for section in (upright, flat):
        beam = Beam(material="steel", section=section, **length)
        tip = Lump(mass=0.2, com=(0.0, 0.03, 0.05))
        link = Link(name="arm", joint=joint, beam=beam, shapes=Shapes(bending_y=1, bending_z=1), tip=tip)
        models.append(Robot(name="one", links=[link]).model(stiffening="off"))
    states = [model.equilibrium([0.9]) for model in models]
    assert models[1].tip_pose(states[1]) == pytest.approx(models[0].tip_pose(states[0]), abs=1e-12)
    assert models[1].frequencies(states[1]) == pytest.approx(models[0].frequencies(states[0]), rel=1e-9)


def test_what_cannot_be_turned_or_varied() -> None:
    shapes = Shapes(bending_y=1, boundary="pinned")
    with pytest.raises(UnsupportedModel, match="pinned"):
        cantilever(ANGLE, shapes).model(stiffening="off")
    sliding = Beam(
        length=1.0, total_length=1.3, slides=True, material="steel",
        section=Section(shape="rod", diameter=0.02, offset=OFFSET),
    )  # fmt: skip
    slide = Joint(type="prismatic", axis=(1, 0, 0))
    with pytest.raises(UnsupportedModel, match=r"section\.offset: not supported on a beam that slides"):
        Robot(name="s", links=[Link(name="s", joint=slide, beam=sliding, shapes=Shapes(bending_y=1))]).model(
            stiffening="off"
        )
    with pytest.raises(pliant.ModelError, match="cannot be a symbol"):
        cantilever(CHANNEL).model(parameters=["links.arm.beam.section.web"])
    assert area_moments(CHANNEL).shear_center[0] < 0
