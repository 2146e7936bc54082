"""Beams that shear: Timoshenko's closed forms, no locking, sections that turn by psi = v' - gamma."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import pliant
from arms import UNEQUAL, unequal_beam
from pliant import Beam, Joint, Link, Robot, Section, Shapes
from pliant.cli.info import describe
from pliant.errors import UnsupportedModel
from pliant.loads import Wrench
from pliant.mechanics import build_chain
from pliant.mechanics.links.stations import shape_curvature
from pliant.mechanics.shapes.builder import link_shapes
from pliant.robot import Lump, TipLoad
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.cross_sections.sections import area_moments, shear_coefficients, tapered_moments

THICK = Beam(
    length=0.6, mass_per_length=30.0, EI_y=2.0e5, EI_z=5.0e5, GA_y=1.1e8, GA_z=0.8e8, rotary=(0.03, 0.075), GJ=1e5,
    polar_inertia=0.105,
)  # fmt: skip
"""Shear takes a fifth of what it bends by; no number is another's."""
PLANES = {"bending_y": ("EI_z", "GA_y", 1), "bending_z": ("EI_y", "GA_z", 0)}  # rigidity, shear, place in `rotary`


def elements(count: int, **more: Any) -> Shapes:
    return Shapes(method="elements", count=count, bending_y=True, bending_z=True, **more)


def clamped(beam: Beam, shapes: Shapes, tip: float = 0.0) -> Robot:
    return unequal_beam(shapes, beam, joint=Joint(type="fixed"), tip=Lump(mass=tip))


def timoshenko(beam: Beam, plane: str, count: int, tip: float = 0.0) -> np.ndarray:
    """First frequencies, Hz, of the clamped beam with a mass at its tip: the exact solution of v' = psi + V/GA,
    psi' = M/EI, M' = -V - j w^2 psi, V' = -mu w^2 v leaves no moment at the tip, and the force of the mass."""
    EI, GA = (getattr(beam, name) for name in PLANES[plane][:2])
    j, mu = beam.rotary[PLANES[plane][2]], beam.mass_per_length

    def left(w: np.ndarray) -> np.ndarray:
        A = np.zeros((len(w), 4, 4))
        A[:, 0, 1], A[:, 0, 3], A[:, 1, 2], A[:, 2, 3] = 1, 1 / GA, 1 / EI, -1
        A[:, 2, 1], A[:, 3, 0] = -j * w**2, -mu * w**2
        values, vectors = np.linalg.eig(A * beam.length)
        T = (vectors @ (np.exp(values)[:, :, None] * np.linalg.inv(vectors)))[:, :, 2:].real
        return np.linalg.det(np.stack([T[:, 2], T[:, 3] - (tip * w**2)[:, None] * T[:, 0]], axis=1))

    grid = np.linspace(0.05, 60.0, 240) * np.sqrt(EI / mu) / beam.length**2
    signs = pairwise(np.sign(left(grid)))
    brackets = [ends for ends, (one, other) in zip(pairwise(grid), signs) if one != other]
    roots = [brentq(lambda w: left(np.array([w]))[0], *ends, rtol=1e-10) for ends in brackets[:count]]
    assert len(roots) == count
    return np.array(roots) / (2 * np.pi)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("F", "M"), [((800.0, -500.0), 0.0), ((700.0, 0.0), -60.0)])
def test_a_force_and_a_moment_at_the_tip(count: int, F: tuple[float, float], M: float) -> None:
    """F L^3 / 3 EI + F L / GA and M L^2 / 2 EI, exactly with any number of elements; the tip turns by psi."""
    L, EI_y, EI_z = THICK.length, THICK.EI_y, THICK.EI_z
    model = clamped(THICK, elements(count)).model(stiffening="off")
    q = model.equilibrium([], [Wrench(force=(0, *F), moment=(0, 0, M), axes="link")])
    pose = model.pose(q, frame="arm.tip")
    v = F[0] * L**3 / 3 / EI_z + F[0] * L / THICK.GA_y + M * L**2 / 2 / EI_z
    w = F[1] * L**3 / 3 / EI_y + F[1] * L / THICK.GA_z
    np.testing.assert_allclose(pose[:3, 3], [L, v, w], rtol=1e-10, atol=1e-15)
    turn = [0, -F[1] * L**2 / 2 / EI_y, F[0] * L**2 / 2 / EI_z + M * L / EI_z]
    np.testing.assert_allclose(Rotation.from_matrix(pose[:3, :3]).as_rotvec(), turn, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("tip", [0.0, 9.0])
def test_frequencies_of_a_thick_beam(tip: float) -> None:
    """The first three in each plane within 0.1 % with twelve elements, and to round-off with three modes; the third is
    lowered by a third."""
    exact = {plane: timoshenko(THICK, plane, 3, tip) for plane in PLANES}
    for shapes, near in (
        (elements(12), 1e-3), (Shapes(bending_y=3, bending_z=3), 1e-8), (elements(12, reduce=8), 5e-3),
    ):  # fmt: skip
        link = clamped(THICK, shapes, tip).links[0]
        found = link_shapes(link, TipLoad(mass=tip))
        assert found is not None
        values = found.frequencies(beam_properties(THICK)) / (2 * np.pi)
        for plane, frequencies in exact.items():
            own = values[[name == plane for name in found.fields]][:3]
            np.testing.assert_allclose(own, frequencies, rtol=near)
    stiff = THICK.model_copy(update={"GA_y": None, "GA_z": None, "rotary": (0.0, 0.0)})
    third = clamped(stiff, elements(12), tip).model(stiffening="off").frequencies()[4]
    assert exact["bending_z"][2] < 0.8 * third


def test_frequencies_of_an_arm_with_a_thick_beam() -> None:
    """Modes shaped by the load that lies beyond, in the model as by themselves."""
    found = clamped(THICK, Shapes(bending_y=2, bending_z=2), 9.0).model(stiffening="off").frequencies()
    exact = np.sort([f for plane in PLANES for f in timoshenko(THICK, plane, 2, 9.0)])
    np.testing.assert_allclose(found, exact, rtol=1e-8)


@pytest.mark.slow_cases("1", "4")
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_slender_beam_does_not_lock(count: int) -> None:
    """Length over height 1000: the beam of Euler and Bernoulli to 1e-6."""
    bar = Section(shape="rectangle", width=0.8e-3, height=1e-3)
    found = []
    for shear in (True, False):
        beam = Beam(length=1.0, material="steel", section=bar, rotary="section", shear=shear)
        model = clamped(beam, elements(count)).model(stiffening="off")
        q = model.equilibrium([], [Wrench(force=(0, 1e-3, 2e-3), axes="link")])
        found.append([*model.pose(q, frame="arm.tip")[1:3, 3], *model.frequencies()[:2]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert not np.array_equal(found[0], found[1])


@pytest.mark.slow
def test_a_tapered_beam_with_shear() -> None:
    """The compliance int (L - x)^2 / EI + 1 / GA, with the section's own shear factors."""
    taper = Section(shape="rectangle", width=(0.06, 0.04), height=(0.08, 0.05), x=(0, 0.4))
    beam = Beam(length=0.4, material="cfrp", section=taper, shear=True)
    k, m = shear_coefficients(taper)[0], beam.material

    def compliance(x: float) -> float:
        moments = tapered_moments(taper.model_copy(update={"x": (0.0, 1.0)}), x / 0.4)
        return float((0.4 - x) ** 2 / (m.E * moments.I_z) + 1 / (k * m.G * moments.A))

    exact, left = 100 * quad(compliance, 0, 0.4)[0], []
    for count in (6, 12, 24):
        model = clamped(beam, Shapes(method="elements", count=count, bending_y=True)).model(stiffening="off")
        q = model.equilibrium([], [Wrench(force=(0, 100.0, 0), axes="link")])
        left.append(1 - model.pose(q, frame="arm.tip")[1, 3] / exact)
    assert 0 < left[2] < left[1] / 3 < left[0] / 9
    assert left[1] < 2e-3


@pytest.mark.slow_cases("shapes0")
@pytest.mark.parametrize("shapes", [elements(3), Shapes(bending_y=2, bending_z=2)])
def test_the_moment_inside_is_EI_times_the_rate_of_psi(shapes: Shapes) -> None:
    model = clamped(THICK, shapes).model(stiffening="off")
    loads = [Wrench(force=(0, 80.0, -50.0), axes="link")]
    run = pliant.simulate(model, 1e-3, model.equilibrium([], loads), loads=loads, output_step=1e-3)
    link, near = model.chain.links[0], 1e-5 if shapes.count else 0.05  # few modes: a share of the root moment
    for x in (0.1, 0.35):
        kappa = np.array(ca.DM(shape_curvature(link, ca.SX(run.q[-1]), x / THICK.length))).ravel()
        forces = run.internal("arm", x)
        assert THICK.EI_z * kappa[2] == pytest.approx(forces.moment_z[-1], abs=near * 80 * THICK.length)
        assert THICK.EI_y * kappa[1] == pytest.approx(forces.moment_y[-1], abs=near * 50 * THICK.length)
        assert run.curvature("arm", x)[-1, 2] == pytest.approx(forces.moment_z[-1] / THICK.EI_z)


def test_stations_turn_by_psi() -> None:
    """At the middle of a clamped beam under a tip force: psi = F (L x - x^2 / 2) / EI, v with F x / GA."""
    F, L, x = 700.0, THICK.length, THICK.length / 2
    chain = build_chain(clamped(THICK, elements(3)))
    q = clamped(THICK, elements(3)).model(stiffening="off").equilibrium([], [Wrench(force=(0, F, 0), axes="link")])
    r, theta = (np.array(ca.DM(value)).ravel() for value in chain.links[0].body.point(ca.SX(ca.DM(q)), 0.5))
    assert theta[2] == pytest.approx(F * (L * x - x**2 / 2) / THICK.EI_z, rel=1e-9)
    assert r[1] == pytest.approx(F * (L * x**2 / 2 - x**3 / 6) / THICK.EI_z + F * x / THICK.GA_y, rel=1e-9)


def integrated_rod(arm: Any, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place and rotation vector of the tip: r' = R (e_x + gamma), R' = R [kappa]x, element by element."""
    L = THICK.length
    scale = c * L ** np.array(arm.shapes.powers, dtype=float)
    fields = np.array(arm.shapes.fields)

    def strains(x: float) -> tuple[np.ndarray, np.ndarray]:
        eta = np.array([x])
        slope, bending = (arm.shapes.evaluate(eta, order)[0] * scale for order in (1, 2))
        angle = arm.shapes.shear(eta)[0] * scale / L
        of = {name: fields == name for name in ("bending_y", "bending_z", "torsion")}
        kappa = [slope[of["torsion"]].sum(), -bending[of["bending_z"]].sum() / L, bending[of["bending_y"]].sum() / L]
        return np.array(kappa), np.array([1.0, angle[of["bending_y"]].sum(), angle[of["bending_z"]].sum()])

    def rate(x: float, y: np.ndarray) -> np.ndarray:
        kappa, stretch = strains(x)
        R = y[3:].reshape(3, 3)
        return np.concatenate([R @ stretch * L, np.cross(R, kappa).ravel()])

    y = np.concatenate([np.zeros(3), np.eye(3).ravel()])
    for low, high in pairwise(arm.shapes.parts[0].shapes.breaks):
        y = solve_ivp(rate, (low + 1e-12, high), y, method="DOP853", rtol=1e-11, atol=1e-14).y[:, -1]
    return y[:3], Rotation.from_matrix(y[3:].reshape(3, 3)).as_rotvec()


@pytest.mark.slow_cases("second-order-3")
@pytest.mark.parametrize(("level", "order"), [("second-order", 3), ("third-order", 4)])
def test_the_place_of_a_rod_that_shears(level: bool | str, order: int) -> None:
    """Halving the amplitudes divides what is left of the place by 2^order: shortening is -int psi^2 / 2 + psi gamma."""
    soft = THICK.model_copy(update={"GA_y": 4e6, "GA_z": 3e6})
    arm: Any = build_chain(clamped(soft, elements(2, torsion=True)), stiffening=level).links[0].body  # type: ignore[arg-type]
    c = np.random.default_rng(4).normal(size=arm.size) * np.array([0.2, 0.6, 1.0] * 4 + [1.0] * 2)
    left = []
    for size in (0.04, 0.02):
        r, theta = (np.array(ca.DM(x)).ravel() for x in arm.point(ca.SX(ca.DM(size * c)), 1.0))
        place, turned = integrated_rod(arm, size * c)
        left.append([np.abs(r - place).max(), np.abs(theta - turned).max()])
    for whole, half in zip(*left):
        assert whole / half == pytest.approx(2**order, rel=0.2)
    tip = arm.tip(ca.SX(ca.DM(0.02 * c)), ca.SX.zeros(arm.size))
    np.testing.assert_allclose(np.array(ca.DM(tip.p)).ravel(), r, atol=1e-13)


@pytest.mark.slow_cases("second-order")
@pytest.mark.parametrize("stiffening", ["off", "second-order"])
def test_energy_is_conserved(stiffening: bool | str) -> None:
    beam = UNEQUAL.model_copy(update={"GA_y": 2e4, "GA_z": 1.5e4})
    robot = unequal_beam(Shapes(bending_y=1, bending_z=1, torsion=1), beam).replace({"gravity": (2.0, -9.0, 4.0)})
    model = robot.model(stiffening=stiffening)  # type: ignore[arg-type]
    run = pliant.simulate(model, 0.5, {"arm.bending_y.1": 0.05, "arm.bending_z.1": -0.03}, rtol=1e-10, atol=1e-12)
    energy = run.energy
    assert np.ptp(energy.total) < 1e-7 * energy.kinetic.max()


def test_a_section_brings_its_shear() -> None:
    section = Section(shape="box", width=0.03, height=0.05, thickness=0.002)
    beam = Beam(length=0.3, material="aluminium", section=section)
    assert (beam_properties(beam).GA_y, beam_properties(beam).GA_z) == (0.0, 0.0)
    k, GA = shear_coefficients(section), beam.material.G * area_moments(section).A
    found = beam_properties(beam.model_copy(update={"shear": True}))
    assert (found.GA_y, found.GA_z) == pytest.approx((k[0] * GA, k[1] * GA))
    assert min(found.rotary) > 0  # with shear by default, however long
    assert min(beam_properties(beam.model_copy(update={"length": 9.0, "shear": True})).rotary) > 0


@pytest.mark.parametrize("shapes", [elements(3), elements(2, reduce=5), Shapes(bending_y=2, bending_z=1)])
def test_amplitudes_are_counted_as_they_are_made(shapes: Shapes) -> None:
    for beam in (THICK, THICK.model_copy(update={"GA_y": None})):
        robot = clamped(beam, shapes)
        assert robot.links[0].amplitudes == build_chain(robot).n


def test_the_warning_names_the_remedy_and_ends_with_it() -> None:
    tube = Section(shape="tube", outer_diameter=0.04, inner_diameter=0.036)
    robot = unequal_beam(Shapes(bending_y=1), Beam(length=0.5, material="cfrp", section=tube))
    told = [text for text in describe(robot)["warnings"] if "shear" in text]
    assert told[0].endswith("add `shear: true` to the beam")
    part = float(told[0].split("lower by ")[1].split("%")[0]) / 100
    sheared = robot.replace({"links.arm.beam.shear": True})
    assert not [text for text in describe(sheared)["warnings"] if "shear" in text]
    held = {"links.arm.joint.type": "fixed"}
    lost = 1 - sheared.replace(held).model().frequencies()[0] / robot.replace(held).model().frequencies()[0]
    assert lost == pytest.approx(part, rel=0.1)


@pytest.mark.slow
def test_numbers_that_shape_the_functions() -> None:
    """Phi depends on EI, GA and the length, the mass shapes nothing; nominal shapes take them all."""
    robot = clamped(THICK, elements(8))
    for name in ("GA_y", "EI_z", "length"):
        with pytest.raises(pliant.ModelError, match="changes the shape functions of arm"):
            robot.model(parameters=[f"links.arm.beam.{name}"])
    robot.model(parameters=["links.arm.beam.mass_per_length"])
    kept = robot.model(parameters=["links.arm.beam.GA_y", "links.arm.beam.length"], shapes="nominal")
    changed = robot.replace({"links.arm.beam.GA_y": 1e8, "links.arm.beam.length": 0.58}).model()
    np.testing.assert_allclose(kept.frequencies(p=[1e8, 0.58])[:2], changed.frequencies()[:2], rtol=1e-4)


@pytest.mark.parametrize(
    ("beam", "shapes", "text"),
    [
        ({"shear": True}, {}, "needs `material` and `section`"),
        ({"GA_y": 1e6, "slides": True, "total_length": 0.6}, {}, "a beam that slides does not shear"),
        ({"GA_y": 1e6}, {"method": "elements", "count": 2, "bending_y": True}, "`beam.rotary` must be above 0"),
        ({"GA_y": 1e6, "rotary": (1.0, 0.0)}, {"method": "elements", "count": 2, "bending_y": True}, "must be above 0"),
        ({"GA_y": 1e6}, {"boundary": "pinned", "bending_y": 2}, "pinned on a beam that shears"),
        ({"GA_y": 1e6}, {"boundary": "clamped-mass", "tip_load": "track", "bending_y": 1}, "does not go with shear"),
    ],
)  # fmt: skip
def test_what_is_refused(beam: dict[str, Any], shapes: dict[str, Any], text: str) -> None:
    def made() -> Any:
        own = Beam(length=0.6, mass_per_length=2.0, EI_z=50.0, **beam)
        links = [Link(name="a", beam=own, shapes=Shapes(**shapes)), Link(name="b", beam=own)]
        return Robot(name="refused", links=links, payload=Lump(mass=1.0)).model(stiffening="off")

    with pytest.raises((pliant.ModelError, UnsupportedModel), match=text):
        made()
