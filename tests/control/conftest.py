"""Arms shared by the tests of control: built once, because tracing and compiling them costs more than most tests."""

from __future__ import annotations

import pytest

from arms import unequal_two_link
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.robot import Lump


def slewing_beam(hub: float = 0.5, EI: float = 10.0, modes: int = 1, damping: float = 0.0) -> Robot:
    """One flexible link of 0.331 kg/m that turns in the horizontal plane."""
    link = Link(
        name="beam",
        joint=Joint(hub=Lump(inertia=(0, 0, hub))),
        beam=Beam(length=1.0, mass_per_length=0.331, EI_y=EI, EI_z=EI),
        shapes=Shapes(bending_y=modes, damping=damping),
    )
    return Robot(name="slewing beam", gravity=(0, 0, 0), links=[link])


@pytest.fixture(scope="session")
def two_link() -> Model:
    return unequal_two_link().model()


@pytest.fixture(scope="session")
def beam() -> Model:
    return slewing_beam().model()
