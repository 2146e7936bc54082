"""Pinned shapes: the arm is the same as with any others, so a fine one with elements tells what is right."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.control import Encoder, Measurement, StrainGauge
from pliant.mechanics.shapes import pinned_free_roots
from pliant.robot import Drive, Limits, Lump, Origin

UPPER = Beam(length=1.3, mass_per_length=2.1, EI_y=700.0, EI_z=1600.0)
FORE = Beam(length=0.8, mass_per_length=1.2, EI_z=180.0)
FINE = Shapes(method="elements", count=8, reduce=6, bending_y=True)
POSE = [0.3, -0.7]


def arm(fore: Shapes, **drive: float) -> Robot:
    """Two unequal beams on joints about z, the outer one with shapes of choice: a hub and a load beside their axes."""
    joint = Joint(
        origin=Origin(xyz=(0.05, -0.02, 0.0), rpy=(0.0, 0.0, 0.2)),
        hub=Lump(mass=0.3, com=(0.02, 0.01, 0.0), inertia=(0.01, 0.02, 0.03)),
        drive=Drive(**drive) if drive else None,
        limits=Limits(lower=-1.2, upper=0.4),
    )
    links = [
        Link(name="upper", beam=UPPER, shapes=FINE),
        Link(name="fore", joint=joint, beam=FORE, shapes=fore),
    ]
    return Robot(name="pinned", gravity=(0.0, -9.81, 0.0), links=links, payload=Lump(mass=0.4, com=(0.03, 0.02, 0.0)))


@cache
def model(count: int | None, *drive: tuple[str, float]) -> pliant.Model:
    """With so many pinned shapes, or fine."""
    return arm(FINE if count is None else Shapes(boundary="pinned", bending_y=count), **dict(drive)).model(
        stiffening="off"
    )


DRIVES: list[tuple[tuple[str, float], ...]] = [
    (),
    (("rotor_inertia", 0.02), ("gear_ratio", 3.0)),
    (("stiffness", 900.0), ("rotor_inertia", 0.002), ("gear_ratio", 7.0)),
]


@pytest.mark.slow_cases("2-0.01-elastic drive", "2-0.01-no drive")
@pytest.mark.parametrize("drive", DRIVES, ids=["no drive", "stiff drive", "elastic drive"])
@pytest.mark.parametrize(("count", "within"), [(2, 1e-2), pytest.param(5, 2e-3, marks=pytest.mark.full)])
def test_rest_and_vibration_of_a_held_arm(count: int, within: float, drive: tuple[tuple[str, float], ...]) -> None:
    """Deflection of the outer link, holding torques and the first three locked frequencies."""
    fine, few = model(None, *drive), model(count, *drive)
    q, q_fine = few.equilibrium(POSE), fine.equilibrium(POSE)
    np.testing.assert_array_equal(q[:2], POSE)
    sag, sag_fine = (m.tip_pose(x)[:3, 3] for m, x in ((few, q), (fine, q_fine)))
    straight = few.tip_pose(np.where(np.arange(few.n) >= few.index("fore.bending_y.1"), 0.0, q))[:3, 3]
    assert np.linalg.norm(sag - sag_fine) < within * np.linalg.norm(sag_fine - straight)
    np.testing.assert_allclose(few.holding_torque(q), fine.holding_torque(q_fine), rtol=within / 10)
    np.testing.assert_allclose(few.frequencies(q)[:3], fine.frequencies(q_fine)[:3], rtol=within)


@pytest.mark.parametrize("drive", [DRIVES[0], DRIVES[2]], ids=["no drive", "elastic drive"])
def test_a_run_that_starts_at_rest_rests(drive: tuple[tuple[str, float], ...]) -> None:
    few = model(2, *drive)
    q = few.equilibrium(POSE)
    run = pliant.simulate(few, 0.1, q, torque=few.holding_torque(q), output_step=0.01)
    assert np.abs(run.tip - run.tip[0]).max() < 1e-8


@pytest.mark.slow
def test_strain_gauges() -> None:
    """At the root, where pinned modes have no curvature, and farther out; what is left is the error of few shapes."""
    for count, within in ((3, 0.03), (8, 0.01)):
        gauges = [StrainGauge("fore", x) for x in (0.0, 0.3)]
        few, fine = (
            Measurement(m, gauges).ideal(q := m.equilibrium(POSE), np.zeros(m.n), m.holding_torque(q))[0]
            for m in (model(count), model(None))
        )
        np.testing.assert_allclose(few, fine, rtol=within)


def test_encoders_and_limits_are_those_of_the_hub() -> None:
    """A torque drives the hub to its limit: at the same time as that of a fine arm, and there both encoders read it."""
    ends = []
    for m in (model(4), model(None)):
        q = m.equilibrium([0.0, 0.0])
        run = pliant.simulate(m, 1.0, q, torque=m.holding_torque(q) + np.array([0.0, 4.0]), rtol=1e-7)
        assert run.stats.events[-1][1] == "fore at its upper limit"
        sides = [Encoder("fore", side=side) for side in ("motor", "link")]
        np.testing.assert_allclose(Measurement(m, sides).ideal(run.q[-1], run.qd[-1]), 0.4, atol=1e-6)
        ends.append(run.t[-1])
    assert ends[0] == pytest.approx(ends[1], rel=2e-3)


def test_prescribed_hub() -> None:
    """The joint itself follows a path; the torque that this takes is that of a fine arm."""
    path: dict[str, Any] = {"fore": lambda t: 0.6 * t**2, "upper": lambda t: 0 * t}
    few, fine = (
        pliant.simulate(m, 0.3, m.equilibrium([0.0, 0.0]), motion=path, rtol=1e-7, output_step=0.1)
        for m in (model(5), model(None))
    )
    np.testing.assert_allclose(few.tau, fine.tau, rtol=0.02)
    np.testing.assert_allclose(few.tip, fine.tip, atol=1e-4)


def test_a_free_joint_has_the_modes_of_a_pinned_beam() -> None:
    """All but the last shape are exact there: 1e-9 of the roots of tan = tanh."""
    link = Link(name="arm", beam=FORE, shapes=Shapes(boundary="pinned", bending_y=4))
    found = Robot(name="free", gravity=(0, 0, 0), links=[link]).model().frequencies(joints="free")
    assert FORE.EI_z is not None
    assert FORE.mass_per_length is not None
    unit = np.sqrt(FORE.EI_z / FORE.mass_per_length) / FORE.length**2 / (2 * np.pi)
    np.testing.assert_allclose(found[1:4], unit * pinned_free_roots(3) ** 2, rtol=1e-9)
    assert found[0] == 0
    passive = link.model_copy(update={"joint": Joint(limits=Limits(effort=0.0))})
    found = Robot(name="passive", gravity=(0, 0, 0), links=[passive]).model().frequencies(joints="free")
    np.testing.assert_allclose(found[1:], unit * pinned_free_roots(4) ** 2, rtol=1e-9)  # no shape for a torque
