"""Planar flexible arms against Exudyn's geometrically exact cable elements.

Stiffened Euler-Bernoulli beams keep deflections d to second order in the kinematics and curvature to first, so that
what is left against an exact beam is of third order: a number times d^3 / L^2, which the tests below measure (it falls
at least sixfold when the motion is halved) and then use as their tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.robot import Lump
from pliant_bench.peers import PeerRun, PlanarArm

from .runs import ours

pytest.importorskip("exudyn", reason="exudyn is not installed: pip install '.[bench]'")

from pliant_bench import two_link
from pliant_bench.exudyn_beams import Discretization, simulate

T = 0.4
BEAM = Beam(length=1.0, mass_per_length=2.0, EI_y=100.0, EI_z=100.0)
THIRD_ORDER = 4.0  # times d^3 / L^2; 2.4 to 2.6 measured for the single link
FINE = Discretization(elements=6, step=4e-4, tolerance=1e-6)  # halving both moves nothing by 3e-6 m


def loaded(shapes: int) -> Shapes:
    return Shapes(bending_y=shapes, boundary="clamped-mass", tip_load="auto")


def single_link(payload: Lump, gravity: float = -9.81) -> Robot:
    """A hub of 0.2 kg m^2, a beam with a first frequency of a few hertz, a payload."""
    shapes = loaded(3) if payload.mass else Shapes(bending_y=3)
    link = Link(name="arm", joint=Joint(hub=Lump(inertia=(0, 0, 0.2))), beam=BEAM, shapes=shapes)
    return Robot(name="single", gravity=(0, gravity, 0), links=[link], payload=payload)


def differences(
    robot: Robot, angles: list[float], pulse: list[float], cut: Discretization = FINE, stiffening: Any = "third-order"
) -> tuple[float, float, PeerRun]:
    """Of angles and deflections under one period of a sine at every joint; our run."""

    def torque(t: float) -> list[float]:
        return [size * np.sin(2 * np.pi * t / T) for size in pulse]

    mine = ours(robot, T, angles, torque, stiffening=stiffening)
    theirs = simulate(PlanarArm.of(robot), T, angles, torques=torque, cut=cut)
    return *theirs.against(mine), mine


@pytest.mark.parametrize(
    "payload",
    [
        Lump(mass=0.5, inertia=(0.01, 0.01, 0.01)),
        pytest.param(Lump(mass=0.5), marks=pytest.mark.full),
        pytest.param(Lump(), marks=pytest.mark.full),
    ],
    ids=["body", "point", "none"],
)
def test_single_link_with_hub_and_payload(payload: Lump) -> None:
    angle, deflection, mine = differences(single_link(payload), [-np.pi / 2], [6.0])
    d = np.abs(mine.deflections).max()
    assert d > 0.015  # a motion worth comparing
    assert np.ptp(mine.angles) > 0.08
    assert deflection < THIRD_ORDER * d**3
    assert angle < THIRD_ORDER * d**3


@pytest.mark.slow
def test_what_second_order_leaves_is_of_third_order_and_third_order_takes_it() -> None:
    """Without gravity the motion scales with the torque, and half of it leaves less than a sixth of the difference;
    with terms of third order what is left is the peers' own elements."""
    robot = single_link(Lump(mass=0.5, inertia=(0.01, 0.01, 0.01)), gravity=0.0)
    large, small = (differences(robot, [0.0], [size], stiffening="second-order")[:2] for size in (6.0, 3.0))
    third = differences(robot, [0.0], [6.0], stiffening="third-order")[:2]
    for k in range(2):
        assert large[k] > 6 * small[k]
        assert third[k] < large[k] / 4


@pytest.mark.full
def test_payload_inertia_and_hub_are_felt() -> None:
    """The test above would fail without either: each moves the tip by more than its tolerance."""
    body = single_link(Lump(mass=0.5, inertia=(0.01, 0.01, 0.01)))
    whole = differences(body, [-np.pi / 2], [6.0])[2]
    allowed = THIRD_ORDER * np.abs(whole.deflections).max() ** 3
    for change in ({"payload.inertia": (0, 0, 0)}, {"links.arm.joint.hub.inertia": (0, 0, 0.19)}):
        other = ours(body.replace(change), T, [-np.pi / 2], lambda t: [6.0 * np.sin(2 * np.pi * t / T)])
        assert other.against(whole)[1] > 2 * allowed


def loaded_two_link(shapes: int) -> Robot:
    """Hubs at both joints, a lump at the elbow, a payload."""
    upper = Link(
        name="upper", joint=Joint(hub=Lump(inertia=(0, 0, 0.1))), beam=BEAM, shapes=loaded(shapes),
        tip=Lump(mass=0.3, inertia=(0.002, 0.002, 0.002)),
    )  # fmt: skip
    hub = Lump(mass=0.4, inertia=(0.05, 0.05, 0.05))
    fore = Link(name="fore", joint=Joint(hub=hub), beam=BEAM, shapes=loaded(shapes))
    payload = Lump(mass=0.5, inertia=(0.004, 0.004, 0.004))
    return Robot(name="loaded two-link", gravity=(0, -9.81, 0), links=[upper, fore], payload=payload)


@pytest.mark.full
def test_two_links_with_lumps_and_torques() -> None:
    """Elbow and payload with inertia, hanging, under torques; deflections of 27 and 18 mm.

    Four shapes per link leave 1e-4 m, three leave 1.4e-4 m; without stiffening the weight below misses and 9e-3 m are
    left.
    """
    stiff = Discretization(elements=8, step=2e-4, tolerance=1e-4, axial_stiffness=1e8)
    angle, deflection, mine = differences(loaded_two_link(4), [-np.pi / 2, 0.3], [10.0, -4.0], stiff)
    assert np.abs(mine.deflections).max() > 0.02
    assert deflection < 1.5e-4
    assert angle < 3e-4
    unstiffened = differences(loaded_two_link(4), [-np.pi / 2, 0.3], [10.0, -4.0], stiff, stiffening="off")
    assert unstiffened[1] > 20 * deflection


@pytest.mark.slow
def test_released_two_link_arm_begins_alike() -> None:
    """The bundled arm from (-90, 5) deg: the limits of the 2 s run hold over its first 0.2 s with few elements."""
    mine = two_link.pliant_run(5, 5, step=4e-4, t_end=0.2)
    theirs = two_link.exudyn_run(8, 2e-4, t_end=0.2)
    angle, deflection = theirs.against(mine)
    assert angle < two_link.ANGLE
    assert deflection < two_link.DEFLECTION
    assert np.abs(mine.deflections).max() > 5 * two_link.DEFLECTION


@pytest.mark.full
def test_released_two_link_arm_converges_to_one_motion() -> None:
    """2 s: pliant with 21 coordinates, Exudyn with 2 x 12 elements at 50 us, MuJoCo with 2 x 16 springs at 80 us.

    Three ways to one motion. Angles alone would be too weak: they pass while the 45 Hz vibration is out of phase.
    """
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[bench]'")
    converged = two_link.reference()
    peers = (two_link.exudyn_run(12, 5e-5), two_link.mujoco_run(16, 8e-5))
    cheap = two_link.pliant_run(5, 6, step=4e-4)
    for run in (*peers, cheap):
        angle, deflection = run.against(converged)
        assert angle < two_link.ANGLE, run.peer
        assert deflection < two_link.DEFLECTION, run.peer
    assert peers[0].against(peers[1])[1] < two_link.DEFLECTION  # the peers among themselves


@pytest.mark.full
def test_without_stiffening_the_vibration_runs_out_of_phase() -> None:
    """The limits can fail: the same shapes without stiffening miss the deflections tenfold."""
    from pliant.simulation.runs.simulation import simulate as run

    model = two_link.robot(5, 6).model(stiffening="off")
    q0 = np.zeros(model.n)
    q0[:2] = two_link.START
    free = run(model, two_link.DURATION, q0=q0, method="rk4", step=4e-4, output_step=two_link.OUTPUT_STEP)
    held = two_link.pliant_run(5, 6, step=4e-4)
    assert np.abs(free.deflection("upper")[:, 1] - held.deflections[:, 0]).max() > 5 * two_link.DEFLECTION
