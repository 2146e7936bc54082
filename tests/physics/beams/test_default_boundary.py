"""Modes without a named boundary are those of the loaded link: two of them are as good as many elements."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pliant
from arms import UNEQUAL
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.identification import fitting
from pliant.mechanics.links.builders.build_chain import shapes_that_change
from pliant.robot import Lump, Origin

FORE = Beam(length=0.8, mass_per_length=1.2, EI_y=40.0, EI_z=55.0, GJ=30.0, polar_inertia=0.002)
ELEMENTS = Shapes(method="elements", count=8, reduce=5, bending_y=True, bending_z=True)
NUMBERS = re.compile(r"gravity|beam|tip|hub|origin|viscous|payload")


def arm(shapes: Shapes, payload: float = 3.0) -> Robot:
    """Two unequal beams on crossed joints with a load beside the axis."""
    elbow = Joint(axis=(0, 1, 0), origin=Origin(xyz=(0.05, 0.02, -0.04), rpy=(-0.4, 0.2, 0.3)))
    links = [
        Link(name="upper", beam=UNEQUAL, shapes=shapes),
        Link(name="fore", joint=elbow, beam=FORE, shapes=shapes),
    ]
    return Robot(name="loaded", gravity=(0, 0, 0), links=links, payload=Lump(mass=payload, com=(0.03, 0.02, 0.01)))


def frequencies(**shapes: Any) -> np.ndarray:
    return arm(Shapes(bending_y=2, bending_z=2, **shapes)).model(stiffening="off").frequencies()[:4]


@pytest.mark.slow
def test_two_modes_of_each_plane_suffice() -> None:
    """The first four frequencies within 0.5 %; two clamped-free modes err by 3 to 10 %."""
    fine = arm(ELEMENTS).model(stiffening="off").frequencies()[:4]
    assert np.abs(frequencies() / fine - 1).max() < 5e-3
    assert (frequencies(boundary="clamped-free") / fine - 1).max() > 0.03


def test_it_is_the_boundary_load_of_what_lies_beyond() -> None:
    np.testing.assert_array_equal(frequencies(), frequencies(boundary="clamped-mass", tip_load="auto"))


@pytest.mark.slow
def test_nothing_beyond_gives_clamped_free_modes() -> None:
    """And so do beams that slide, whose modes would have to follow their length, and elements."""
    slides = Beam(mass_per_length=2.1, EI_z=160.0, slides=True, total_length=1.5, length=0.9)
    joint = Joint(type="prismatic", axis=(1, 0, 0))
    for link, payload in (
        (Link(name="a", beam=FORE, shapes=Shapes(bending_y=2)), 0.0),
        (Link(name="a", joint=joint, beam=slides, shapes=Shapes(bending_y=2)), 3.0),
        (Link(name="a", beam=FORE, shapes=Shapes(method="elements", count=4, reduce=2, bending_y=True)), 3.0),
    ):
        assert link.shapes is not None
        named = link.model_copy(update={"shapes": link.shapes.model_copy(update={"boundary": "clamped-free"})})
        mine, theirs = (
            Robot(name="a", links=[x], payload=Lump(mass=payload)).model(stiffening="off") for x in (link, named)
        )
        assert mine.link_shapes[0] is not None
        assert theirs.link_shapes[0] is not None
        eta = np.linspace(0, 1, 9)
        np.testing.assert_array_equal(mine.link_shapes[0].evaluate(eta), theirs.link_shapes[0].evaluate(eta))


@pytest.mark.slow
def test_a_parameter_gives_the_rebuilt_arm_or_is_refused() -> None:
    """Every number of the arm at once: what is accepted as a parameter moves the arm as the rebuilt one moves. A
    payload is not: it shapes the modes of every link before it."""
    robot = arm(Shapes(bending_y=2, bending_z=2))
    values = {path: 1.2 * value + 0.05 for path, value in robot.paths().items() if NUMBERS.search(path)}
    refused = {path for path in values if shapes_that_change(robot, path)}
    assert {
        "payload.mass",
        "links.upper.beam.length",
        "links.fore.beam.mass_per_length",
        "links.upper.tip.mass",
    } <= refused
    accepted = {path: value for path, value in values.items() if path not in refused}
    assert {"links.upper.beam.EI_y", "links.upper.joint.hub.mass", "gravity.2"} <= accepted.keys()
    model = robot.model(parameters=list(accepted), stiffening="off")
    rebuilt = robot.replace(accepted).model(stiffening="off")
    q, qd, tau = np.linspace(-0.02, 0.03, model.n), np.linspace(0.3, -0.2, model.n), np.array([1.0, 2.0])
    ours = model.forward_dynamics(q, qd, tau, list(accepted.values()))
    np.testing.assert_allclose(ours, rebuilt.forward_dynamics(q, qd, tau), rtol=1e-8)
    with pytest.raises(pliant.ModelError, match=r"'payload.mass' changes the shape functions of upper, fore; rebuild"):
        robot.model(parameters=["payload.mass"])


def test_nominal_shapes_are_those_of_the_described_arm() -> None:
    """With `shapes="nominal"` a payload may be a parameter: frequencies stay near those of the arm that carries it."""
    robot, paths = arm(Shapes(bending_y=2, bending_z=2)), ["payload.mass", "links.upper.beam.length"]
    model = robot.model(parameters=paths, stiffening="off", shapes="nominal")
    shapes = model.link_shapes[0]
    assert shapes is not None
    assert any(part.load for part in shapes.parts)
    fine = arm(ELEMENTS, 4.0).model(stiffening="off").frequencies()[:4]
    found = model.frequencies(p=[4.0, robot.paths()["links.upper.beam.length"]])[:4]
    np.testing.assert_allclose(found, fine, rtol=5e-3)


def test_a_fit_of_a_robot_keeps_its_shapes_and_one_of_a_model_what_it_says() -> None:
    robot = arm(Shapes(bending_y=1))
    paths = ["payload.mass"]
    assert fitting._model(robot, paths, paths).options.shapes == "nominal"
    with pytest.raises(pliant.ModelError, match="changes the shape functions of upper, fore"):
        fitting._model(robot.model(stiffening="off"), paths, paths)


@pytest.mark.slow_cases("1000000.0")
@pytest.mark.parametrize("mass", [1e3, 1e6])
def test_loads_of_any_size(mass: float) -> None:
    link = Link(name="a", beam=FORE, shapes=Shapes(bending_y=3))
    fine = Link(name="a", beam=FORE, shapes=Shapes(method="elements", count=8, bending_y=True))
    mine, theirs = (
        Robot(name="a", gravity=(0, 0, 0), links=[x], payload=Lump(mass=mass)).model(stiffening="off").frequencies()[:2]
        for x in (link, fine)
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-3)


def test_bundled_arms_name_their_boundary() -> None:
    """Those of papers, so that their numbers are the papers'."""
    for name in pliant.robot.arms():
        for link in pliant.load(name).links:
            if link.shapes is not None and link.shapes.method == "modes":
                assert link.shapes.boundary is not None
