"""The load that `tip_load: auto` reads off an arm: in the axes of the beam, whichever way its tip frame is turned."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.mechanics.links.builders.build_chain import tip_loads
from pliant.robot import DH, Beam, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes, load

BEAM = Beam(length=1.0, mass_per_length=0.3, EI_y=900.0, EI_z=1200.0)
AUTO = Shapes(boundary="clamped-mass", tip_load="auto", bending_y=2, bending_z=2)


def arm(turn: float) -> Robot:
    """A beam whose tip frame is turned about x, and a rod across its tip that does not turn with it."""
    rod = Link(
        name="rod", joint=Joint(type="fixed", origin=Origin(rpy=(-turn, 0, 0))),
        rigid=RigidBody(mass=0.5, com=(0, 0.4, 0), inertia=(0.02, 0, 0.02)),
    )  # fmt: skip
    standard = DH(alpha=turn, convention="standard")
    beam = Link(name="beam", joint=Joint(dh=standard), beam=BEAM, shapes=AUTO)
    return Robot(name="turned tip", gravity=(0, 0, 0), links=[beam, rod], payload=Lump(mass=0.1))


def test_a_turned_tip_frame_does_not_turn_the_load() -> None:
    expected = tip_loads(arm(0.0))[0]
    assert expected is not None
    assert expected.inertia == pytest.approx((0.1, 0.0, 0.1))
    for turn in (0.4, np.pi / 2):
        found = tip_loads(arm(turn))[0]
        assert found is not None
        assert found.inertia == pytest.approx(expected.inertia)
        assert np.allclose(
            arm(turn).model(stiffening="off").frequencies(), arm(0.0).model(stiffening="off").frequencies(), rtol=1e-9
        )


@pytest.mark.slow
def test_two_modes_that_know_the_load_meet_elements() -> None:
    """[TG95]: link 3 lies across the tip of link 2, whose standard DH row turns the tip frame by 90 degrees."""
    arm = load("rrp").replace({"links.boom.shapes.tip_load": "auto"})
    fine = Shapes(method="elements", count=2, bending_y=True, bending_z=True)
    elements = arm.replace(dict.fromkeys(("links.boom.shapes", "links.slide.shapes"), fine))
    found, true = (robot.model(stiffening="off").frequencies()[:4] for robot in (arm, elements))
    assert np.abs(found / true - 1).max() < 2e-3  # 28 % for a point mass
