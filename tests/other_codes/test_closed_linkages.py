"""A rigid four-bar and a slider-crank by the constraints of Pinocchio: accelerations and forces on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from linkages import (
    DOWN,
    FOUR_BAR,
    SLIDER_CRANK,
    bar,
    four_bar,
    four_bar_angles,
    passive,
    slider_crank,
    slider_crank_state,
)
from pliant.model.loops.assembly import mechanism
from pliant.robot import Link, Loop, LoopJoint, Origin, RigidBody, Robot

pin = pytest.importorskip("pinocchio")


def twin(robot: Robot) -> tuple[object, list[object]]:
    """Links of a planar robot as a model of Pinocchio, and their joints."""
    model, joints = pin.Model(), {}
    model.gravity.linear = np.array(DOWN)
    before = "base"
    for link in robot.links:
        parent = link.parent or before
        place = np.array(link.joint.origin.xyz)
        if parent != "base":
            place = place + np.array(robot.link(parent).rigid.tip)
        number = model.addJoint(joints.get(parent, 0), pin.JointModelRZ(), pin.SE3(np.eye(3), place), link.name)
        body = link.rigid
        model.appendBodyToJoint(
            number, pin.Inertia(body.mass, np.array(body.com), np.diag(body.inertia)), pin.SE3.Identity()
        )
        joints[link.name], before = number, link.name
    return model, joints


def accelerations(
    model: object, constraints: list[object], q: np.ndarray, qd: np.ndarray, tau: np.ndarray
) -> np.ndarray:
    data = model.createData()
    datas = [constraint.createData() for constraint in constraints]
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-10, 200)
    return np.array(pin.constraintDynamics(model, data, q, qd, tau, constraints, datas, settings))


def along(model: pliant.Model, q: np.ndarray, speed: float) -> np.ndarray:
    found = mechanism(model, model.nominal_parameters).along(q, np.array([speed, 0.0, 0.0]), {0})
    assert found is not None
    return found


@pytest.mark.parametrize("crank", [0.2, 1.3, 2.9, 4.4])
def test_four_bar(crank: float) -> None:
    robot = four_bar()
    model = robot.model()
    q = np.array([crank, *four_bar_angles(crank)])
    qd, tau = along(model, q, 5.0), 1.3
    other, joints = twin(robot)
    ends = [pin.SE3(np.eye(3), np.array([FOUR_BAR[name], 0, 0])) for name in ("coupler", "rocker")]
    closed = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, other, joints["coupler"], ends[0], joints["rocker"], ends[1],
        pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    expected = accelerations(other, [closed], q, qd, np.array([tau, 0.0, 0.0]))
    found = model.forward_dynamics(q, qd, [tau])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("crank", [0.2, 2.0, 4.0])
def test_slider_crank(crank: float) -> None:
    """Lagrange's equation of the crank alone, from masses and a closed form of their motion, differentiated."""
    robot, a = slider_crank(), SLIDER_CRANK
    model = robot.model()
    angles = slider_crank_state(crank)
    q = np.array([crank, angles[0], angles[1]])
    qd = along(model, q, 5.0)

    def centers(angle: float) -> np.ndarray:
        rod, piston, place = slider_crank_state(angle)
        end, whole = a["crank"] * np.exp(1j * angle), angle + rod
        middle = end + a["rod"] / 2 * np.exp(1j * whole)
        return np.array([end / 2, middle, place + 1j * a["offset"], angle, whole, whole + piston])

    rods = [4.0 * a[name] for name in ("crank", "rod")]
    mass = np.array([*rods, 1.2, rods[0] * a["crank"] ** 2 / 12, rods[1] * a["rod"] ** 2 / 12, 1e-3])
    h = 1e-3

    def slope(f, x):
        return (45 * (f(x + h) - f(x - h)) - 9 * (f(x + 2 * h) - f(x - 2 * h)) + f(x + 3 * h) - f(x - 3 * h)) / (60 * h)

    def inertia(angle: float) -> float:
        return float(mass @ np.abs(slope(centers, angle)) ** 2)

    def height(angle: float) -> float:
        return float(-DOWN[1] * mass[:3] @ centers(angle)[:3].imag)

    expected = (1.3 - slope(inertia, crank) * qd[0] ** 2 / 2 - slope(height, crank)) / inertia(crank)
    assert model.forward_dynamics(q, qd, [1.3])[0] == pytest.approx(expected, rel=1e-8)


def closed_in_space(kind: str) -> Robot:
    """A spatial four-bar (revolute, ball, ball, revolute about another axis), or a slider-crank with a guide askew."""
    rod = bar("rod", 0.55, passive(type="spherical"))
    place = Origin(xyz=(0.45, 0.05, 0.1), rpy=(1.1, 0.2, -0.4))
    if kind == "four-bar":
        last = bar("last", 0.3, passive(origin=place), parent="base")
    else:
        slide = passive(type="prismatic", axis=(1, 0, 0), origin=Origin(xyz=(0.4, 0.1, 0.12), rpy=(0.1, 0.3, 0.2)))
        body = RigidBody(mass=0.8, com=(0.01, 0.02, 0.03), inertia=(2e-3, 3e-3, 4e-3))
        last = Link(name="last", joint=slide, rigid=body, parent="base")
    pin_joint = Loop(name="ball", between=("rod.tip", "last.tip"), joint=LoopJoint(type="spherical"))
    return Robot(name=kind, links=[bar("crank", 0.15), rod, last], loops=[pin_joint], gravity=(0.3, -9.0, 1.0))


@pytest.mark.parametrize("crank", [0.4, 2.2, 4.9])
@pytest.mark.parametrize("kind", ["four-bar", "slider-crank"])
def test_linkages_in_space(kind: str, crank: float, rng: np.random.Generator) -> None:
    """Accelerations to 1e-6, by the closed tree of Pinocchio, which is rebuilt from the description."""
    from other_codes.pinocchio_twin import twin as tree_twin

    robot = closed_in_space(kind)
    model, other = robot.model(), tree_twin(robot)
    q = model.assemble({"crank": crank}, held=["crank"])
    qd = mechanism(model, model.nominal_parameters).along(q, rng.normal(size=model.n), {0})
    assert qd is not None
    assert model.freedom == 2  # the rod spins about itself besides
    ends = [other.model.frames[other.frames[name]] for name in ("rod.tip", "last.tip")]
    closed = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, other.model, ends[0].parentJoint, ends[0].placement, ends[1].parentJoint,
        ends[1].placement, pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    named = dict(zip(model.coordinates, q))
    T = other.change(named, model.speeds)
    tau = T @ model.actuation @ [1.3]
    expected = accelerations(other.model, [closed], other.configuration(named), T @ qd, tau)
    found = T @ model.forward_dynamics(q, qd, [1.3])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
