"""A beam that is clamped beside its axis: `joint.offset` in place of a rigid link without mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from arms import BOX, UNEQUAL
from pliant import Beam, Joint, Link, RigidBody, Robot, Shapes, simulate
from pliant.errors import ModelError
from pliant.robot import Drive, Lump, Origin

OFFSETS = (0.079, -0.06)
FORMULATIONS = ("denoc", "dual-screw", "gibbs-appell", "lagrange", "recursive-lagrange")


def arm(dummies: bool, **beams: Any) -> Robot:
    """Two beams on oblique axes, hubs and loads beside them, the second on a station of the first."""
    joints = [
        Joint(
            axis=(0.36, 0.48, 0.8), origin=Origin(xyz=(0.1, -0.2, 0.3), rpy=(0.3, -0.5, 0.7)),
            hub=Lump(mass=0.8, com=(0.02, -0.05, 0.03), inertia=(0.02, 0.03, 0.04)),
            drive=Drive(rotor_inertia=0.002, gear_ratio=7.0),
        ),
        Joint(axis=(0.0, 0.6, 0.8), origin=Origin(xyz=(0.05, 0.02, -0.04), rpy=(-0.4, 0.2, 1.1))),
    ]  # fmt: skip
    bodies: list[dict[str, Any]] = [
        {"beam": UNEQUAL, "shapes": Shapes(bending_y=2, bending_z=1, torsion=1, damping=0.01),
         "tip": Lump(mass=0.4, com=(0.03, 0.04, -0.02), inertia=(0.003, 0.004, 0.005))},
        {"beam": Beam(length=0.7, material="aluminium", section=BOX, rotary="section", **beams),
         "shapes": Shapes(bending_y=1, bending_z=2)},
    ]  # fmt: skip
    links = []
    for name, joint, offset, body in zip(("boom", "fore"), joints, OFFSETS, bodies):
        if dummies:
            root = RigidBody(mass=0.0, tip=(offset, 0.0, 0.0))
            links += [
                Link(name=f"{name}_hub", joint=joint, rigid=root),
                Link(name=name, joint=Joint(type="fixed"), **body),
            ]
        else:
            links.append(Link(name=name, joint=joint.model_copy(update={"offset": offset}), **body))
    frames = [{"name": "gauge", "link": "fore", "x": 0.2}]
    return Robot(name="offset arm", gravity=(1.5, -2.5, -9.0), links=links, payload=Lump(mass=0.6), frames=frames)


def states(model: Any, rng: Any) -> tuple[Any, Any, Any]:
    size = np.array([1.0] * model.n_joints + [0.01] * (model.n - model.n_joints))
    return size * rng.normal(size=model.n), size * rng.normal(size=model.n), rng.normal(size=model.n_joints)


DAILY = [("denoc", "off"), ("lagrange", "off"), ("denoc", "second-order")]
CASES = [
    *DAILY,
    *(pytest.param(name, "off", marks=pytest.mark.full) for name in FORMULATIONS if name not in DAILY[0] + DAILY[1]),
]


@pytest.mark.slow_cases("denoc-off", "denoc-second-order", "lagrange-off")
@pytest.mark.parametrize(("formulation", "stiffening"), CASES)
def test_an_offset_is_a_rigid_link_without_mass(formulation: Any, stiffening: Any, rng: Any) -> None:
    own, other = (arm(dummies).model(formulation=formulation, stiffening=stiffening) for dummies in (False, True))
    q, qd, tau = states(own, rng)
    wanted = other.forward_dynamics(q, qd, tau)
    assert np.abs(own.forward_dynamics(q, qd, tau) - wanted).max() < 1e-12 * np.abs(wanted).max()
    M = other.mass_matrix(q)
    assert np.abs(own.mass_matrix(q) - M).max() < 1e-12 * np.abs(M).max()
    qdd = rng.normal(size=own.n)
    needed = other.inverse_dynamics(q, qd, qdd)
    assert np.abs(own.inverse_dynamics(q, qd, qdd) - needed).max() < 1e-12 * np.abs(needed).max()
    for frame in ("tip", "gauge", "boom.tip"):
        assert np.abs(own.pose(q, frame=frame) - other.pose(q, frame=frame)).max() < 1e-13
        assert np.abs(own.velocity(q, qd, frame=frame) - other.velocity(q, qd, frame=frame)).max() < 1e-12


@pytest.mark.slow
def test_frequencies_rest_and_energies_agree(rng: Any) -> None:
    own, other = (arm(dummies).model(stiffening="off") for dummies in (False, True))
    np.testing.assert_allclose(own.frequencies(), other.frequencies(), rtol=1e-10)
    np.testing.assert_allclose(own.equilibrium([0.3, -0.5]), other.equilibrium([0.3, -0.5]), rtol=1e-9, atol=1e-12)
    runs = [
        simulate(model, 0.05, {"boom" if k == 0 else "boom_hub": 0.4}, output_step=0.01)
        for k, model in enumerate((own, other))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    np.testing.assert_allclose(runs[0].energy.total, runs[1].energy.total, rtol=1e-9)
    np.testing.assert_allclose(runs[0].strain("fore", 0.3), runs[1].strain("fore", 0.3), atol=1e-9)


@pytest.mark.slow
def test_a_beam_in_pieces_is_clamped_there_too(rng: Any) -> None:
    own, other = (arm(dummies, pieces=3).model(stiffening="off") for dummies in (False, True))
    q, qd, tau = states(own, rng)
    wanted = other.forward_dynamics(q, qd, tau)
    assert np.abs(own.forward_dynamics(q, qd, tau) - wanted).max() < 1e-11 * np.abs(wanted).max()


@pytest.mark.slow
def test_an_offset_is_a_number_like_others(rng: Any) -> None:
    model = arm(False).model(parameters=["links.boom.joint.offset"], stiffening="off")
    q, qd, tau = states(model, rng)
    fixed = arm(False).replace({"links.boom.joint.offset": 0.2}).model(stiffening="off")
    np.testing.assert_allclose(
        model.forward_dynamics(q, qd, tau, [0.2]), fixed.forward_dynamics(q, qd, tau), rtol=1e-11
    )
    assert pliant.Robot.from_dict(arm(False).to_dict()) == arm(False)


def test_exports_have_it(rng: Any) -> None:
    """A rigid arm read back from URDF has the inertia of the one that was written."""
    stiff = Robot(
        name="stiff",
        links=[link.model_copy(update={"shapes": None}) for link in arm(False).links],
        payload=Lump(mass=0.6),
    )
    own, back = stiff.model(), pliant.load(stiff.to_urdf()).model()
    q = rng.normal(size=2)
    rotors = np.diag([0.002 * 49.0, 0.0])
    np.testing.assert_allclose(back.mass_matrix(q), own.mass_matrix(q) - rotors, rtol=1e-9, atol=1e-12)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "rigid": ({"joint": {"offset": 0.1}, "rigid": {"mass": 1.0}}, "a rigid body has its `com` and `tip`"),
    "slides": (
        {"joint": {"type": "prismatic", "axis": [1, 0, 0], "offset": 0.1},
         "beam": {"length": 1.0, "mass_per_length": 1.0, "EI_z": 1.0, "slides": True, "total_length": 2.0}},
        "a beam that slides; move the joint by `origin`",
    ),
    "pinned": (
        {"joint": {"offset": 0.1}, "beam": {"length": 1.0, "mass_per_length": 1.0, "EI_z": 1.0},
         "shapes": {"boundary": "pinned", "bending_y": 1}},
        "pinned shapes turn about the root of the beam",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_where_it_makes_no_sense(name: str) -> None:
    given, message = WRONG[name]
    with pytest.raises(ModelError, match=message):
        Robot.from_dict({"name": "arm", "links": [{"name": "link", **given}]})
