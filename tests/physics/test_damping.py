"""`damping: 0.02` is the ratio of each mode of the link itself, root held and all beyond it lumped at its tip.

The judge is a beam of Hermite elements assembled here: its frequencies, and the eigenvalues -zeta w + i w sqrt(1 -
zeta^2) that a ratio gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from arms import UNEQUAL
from pliant import Beam, Joint, Link, Robot, Section, Shapes
from pliant.robot import Lump, Origin

ZETA = 0.02
PAYLOAD = Lump(mass=10.0, com=(0.04, 0.0, 0.0), inertia=(0.02, 0.05, 0.03))
KINDS: dict[str, dict[str, Any]] = {
    "clamped-free": {"bending_y": 3, "boundary": "clamped-free"},
    "clamped-mass": {"bending_y": 2, "boundary": "clamped-mass", "tip_load": "auto"},
    "pinned": {"bending_y": 4, "boundary": "pinned"},
    "elements": {"method": "elements", "count": 4, "bending_y": True},
    "Craig-Bampton": {"method": "elements", "count": 8, "reduce": 4, "bending_y": True},
    "all fields": {"bending_y": 3, "bending_z": 3, "torsion": 2, "axial": 1},
}


STIFFENED = pytest.param("all fields", "second-order", marks=pytest.mark.full)


def hermite(beam: Beam, load: Lump, count: int = 24) -> np.ndarray:
    """Natural frequencies, rad/s, of a clamped beam with a rigid load, in the plane x-y."""
    assert beam.mass_per_length is not None
    assert beam.EI_z is not None
    h, n = beam.length / count, 2 * count + 2
    j = beam.rotary[1] if isinstance(beam.rotary, tuple) else 0.0
    k = beam.EI_z / h**3 * np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
    )  # fmt: skip
    m = beam.mass_per_length * h / 420 * np.array(
        [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
         [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]
    ) + j / (30 * h) * np.array(
        [[36, 3 * h, -36, 3 * h], [3 * h, 4 * h * h, -3 * h, -h * h],
         [-36, -3 * h, 36, -3 * h], [3 * h, -h * h, -3 * h, 4 * h * h]]
    )  # fmt: skip
    K, M = np.zeros((n, n)), np.zeros((n, n))
    for e in range(count):
        own = slice(2 * e, 2 * e + 4)
        K[own, own] += k
        M[own, own] += m
    first = load.mass * load.com[0]
    M[-2:, -2:] += [[load.mass, first], [first, load.inertia[2] + first * load.com[0]]]
    return np.asarray(np.sqrt(eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)))


def arm(damping: float = ZETA, beam: Beam = UNEQUAL, **kind: Any) -> Robot:
    shapes = Shapes(**kind, damping=damping)
    link = Link(name="arm", beam=beam, shapes=shapes)
    return Robot(name="damped", gravity=(0.0, 0.0, 0.0), links=[link], payload=PAYLOAD)


def held(model: pliant.Model, q: np.ndarray | None = None, p: Any = None) -> np.ndarray:
    """Eigenvalues with the joints held, upper half plane, by rising size."""
    n, free = model.n, slice(model.n_joints, None)
    at = np.zeros(n) if q is None else q
    A = model.linearize(at, p=p).A
    M, K = model.mass_matrix(at, p)[free, free], model.stiffness(at, p=p)[free, free]
    C = -(model.mass_matrix(at, p) @ A[n:, n:])[free, free]
    m = len(M)
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    found = np.linalg.eigvals(A)
    return np.asarray(sorted((x for x in found if x.imag > 0), key=abs))


@pytest.mark.slow_cases("all fields-off", "elements-off")
@pytest.mark.parametrize(
    ("kind", "stiffening"),
    [*((kind, "off") for kind in KINDS), pytest.param("all fields", "second-order", marks=pytest.mark.full)],
)
def test_the_ratio_is_delivered_whatever_the_shapes(kind: str, stiffening: Any) -> None:
    """A payload of four times the beam: the first two modes in the plane, within 5 % of the elements' eigenvalues."""
    omega = hermite(UNEQUAL, PAYLOAD)[:2]
    exact = omega * (-ZETA + 1j * np.sqrt(1 - ZETA**2))
    found = held(arm(**KINDS[kind]).model(stiffening=stiffening))
    nearest = [found[np.argmin(np.abs(found - x))] for x in exact]
    np.testing.assert_allclose(np.real(nearest), exact.real, rtol=0.05)
    np.testing.assert_allclose(-found.real / np.abs(found), ZETA, rtol=1e-9)  # and every other mode of the model


@pytest.mark.slow_cases("Craig-Bampton")
@pytest.mark.parametrize("kind", ["clamped-free", pytest.param("elements", marks=pytest.mark.full), "Craig-Bampton"])
def test_logarithmic_decrement_of_a_run(kind: str) -> None:
    """A plucked arm: successive peaks of its end shrink by exp(-2 pi zeta / sqrt(1 - zeta^2))."""
    shapes = Shapes(**KINDS[kind], damping=ZETA)
    link = Link(name="arm", joint=Joint(type="fixed"), beam=UNEQUAL, shapes=shapes)
    model = Robot(name="plucked", gravity=(0.0, 0.0, 0.0), links=[link], payload=PAYLOAD).model()
    start = model.equilibrium([], [pliant.loads.Wrench(force=(0.0, 1.0, 0.0))])
    period = 2 * np.pi / hermite(UNEQUAL, PAYLOAD)[0]
    end = pliant.simulate(model, 6.1 * period, start, output_step=period / 400, rtol=1e-8).tip[:, 1]
    peaks = [y for x, y, z in zip(end, end[1:], end[2:]) if y > x and y > z and y > 0.01 * end.max()]
    decrement = np.log(np.array(peaks[:-1]) / peaks[1:])
    assert len(decrement) >= 4
    assert np.mean(decrement) == pytest.approx(2 * np.pi * ZETA / np.sqrt(1 - ZETA**2), rel=0.02)


@pytest.mark.slow
def test_loads_beside_the_axis_and_links_beyond() -> None:
    """Bending of both planes and torsion are coupled by what lies beyond, in the reference configuration."""
    box = Section(shape="box", width=0.03, height=0.05, thickness=0.002)
    outer = Link(
        name="outer", joint=Joint(axis=(0, 1, 0), origin=Origin(xyz=(0.05, 0.02, -0.04), rpy=(-0.4, 0.2, 1.1))),
        beam=Beam(length=0.7, material="aluminium", section=box),
    )  # fmt: skip
    shapes = Shapes(bending_y=2, bending_z=2, torsion=1, damping=ZETA)
    inner = Link(name="inner", beam=UNEQUAL, shapes=shapes, tip=Lump(mass=0.4, com=(0.03, 0.04, -0.02)))
    robot = Robot(name="coupled", gravity=(0.0, 0.0, 0.0), links=[inner, outer], payload=Lump(mass=2.0))
    model = robot.model(stiffening="off")
    found = held(model)
    np.testing.assert_allclose(-found.real / np.abs(found), ZETA, rtol=1e-9)
    np.testing.assert_allclose(model.damping_ratios(), ZETA, rtol=1e-9)
    carried = robot.model_copy(update={"links": (outer, inner)})  # the same beam as the last link: less lies beyond it
    np.testing.assert_allclose(carried.model(stiffening="off").damping_ratios(), ZETA, rtol=1e-9)
    turned = held(model, np.array([0.3, 2.0, 0, 0, 0, 0, 0]))
    assert (
        np.abs(-turned.real / np.abs(turned) - ZETA).max() > 1e-3
    )  # elsewhere the dampers are those, the modes others


def test_the_dampers_stay_when_numbers_change() -> None:
    """Their forces are those of the nominal arm whatever payload and stiffness a run has; the ratio scales them."""
    paths = ["payload.mass", "links.arm.beam.EI_z", "links.arm.beam.length", "links.arm.shapes.damping"]
    robot = arm(**KINDS["clamped-free"])
    model = robot.model(parameters=paths, stiffening="off")
    q, p = np.zeros(model.n), model.nominal_parameters
    rate = np.array([0.0, 0.3, -0.2, 0.1])
    expected = robot.model(stiffening="off").bias(q, rate) - robot.model(stiffening="off").bias(q, 0 * rate)
    for factor, scale in (([1, 1, 1, 1], 1.0), ([0.1, 1, 1, 1], 1.0), ([1, 3, 1.2, 1], 1.0), ([1, 1, 1, 2.5], 2.5)):
        changed = p * factor
        found = model.bias(q, rate, changed) - model.bias(q, 0 * rate, changed)
        np.testing.assert_allclose(found[1:], scale * expected[1:], rtol=1e-12)
    rebuilt = robot.replace({"payload.mass": 1.0}).model(stiffening="off")
    np.testing.assert_allclose(rebuilt.damping_ratios()[:2], ZETA, rtol=1e-9)  # another arm has dampers of its own


@pytest.mark.slow_cases("shapes0")
@pytest.mark.parametrize(
    "shapes",
    [{"bending_y": 2}, pytest.param({"method": "elements", "count": 2, "bending_y": True}, marks=pytest.mark.full)],
)
def test_sliding_beams_at_every_length(shapes: dict[str, Any]) -> None:
    """Clamped-free modes and elements under a payload: the ratio at free lengths from 0.1 to 1.4 m."""
    beam = Beam(mass_per_length=2.1, EI_z=160.0, slides=True, total_length=1.5, length=0.9)
    joint = Joint(type="prismatic", axis=(1, 0, 0))
    link = Link(name="arm", joint=joint, beam=beam, shapes=Shapes(**shapes, damping=ZETA))
    model = Robot(name="sliding", gravity=(0.0, 0.0, 0.0), links=[link], payload=PAYLOAD).model()
    for l in (0.1, 0.4, 0.9, 1.4):
        found = held(model, np.array([l, *np.zeros(model.n - 1)]))
        np.testing.assert_allclose(-found.real / np.abs(found), ZETA, rtol=1e-5)


def test_material_laws_are_untouched() -> None:
    """Rayleigh and Kelvin-Voigt damp by mass and stiffness of the link: beta w / 2 and alpha / 2 w of the bare beam."""
    for given, expected in (
        ({"kelvin_voigt": 2e-3}, lambda w: 1e-3 * w),
        ({"rayleigh": (0.0, 2e-3)}, lambda w: 1e-3 * w),
    ):
        found = held(arm(0.0, **KINDS["elements"], **given).model(stiffening="off"))[:3]
        np.testing.assert_allclose(-found.real / np.abs(found), expected(np.abs(found)), rtol=1e-9)
