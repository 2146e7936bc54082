"""Controllers that use the model of a flexible arm, each held to its claim against the nonlinear flexible arm."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import two_links
from pliant import Joint, Link, Payload, RigidBody, Robot, Shapes
from pliant.analysis import closed_loop_eigenvalues
from pliant.control import (
    PD,
    CollisionMonitor,
    Composite,
    ComputedTorque,
    DisturbanceObserver,
    FeedbackLinearization,
    Quintic,
    Step,
)
from pliant.errors import ModelError, UnsupportedModel
from pliant.loads import Wrench
from pliant.robot import Drive, Origin


def elastic_arm(damping: float = 0.0, stiffness: float = 1.0) -> Robot:
    """Two rigid links behind elastic drives, unequal in everything, one axis across the other."""
    drives = [
        Drive(stiffness=900.0 * stiffness, rotor_inertia=2e-4, gear_ratio=60.0, damping=damping),
        Drive(stiffness=350.0 * stiffness, rotor_inertia=1e-4, gear_ratio=45.0, damping=damping),
    ]
    bodies = [
        RigidBody(mass=3.1, com=(0.21, 0.02, -0.01), inertia=(0.01, 0.06, 0.07), tip=(0.45, 0.0, 0.03)),
        RigidBody(mass=1.7, com=(0.15, -0.01, 0.02), inertia=(0.004, 0.03, 0.033), tip=(0.35, 0.0, 0.0)),
    ]
    joints = [
        Joint(axis=(0, 0, 1), drive=drives[0], origin=Origin(rpy=(np.pi / 2, 0.0, 0.0))),
        Joint(axis=(0, 0.6, 0.8), drive=drives[1]),
    ]
    links = [Link(name=n, rigid=b, joint=j) for n, b, j in zip(("upper", "fore"), bodies, joints)]
    return Robot(name="elastic arm", links=links, payload=Payload(mass=0.4))


class TestFeedbackLinearization:
    def test_the_error_is_that_of_four_equal_poles(self) -> None:
        """From rest off the goal: e = e0 (1 + wt + (wt)^2/2 + (wt)^3/6) exp(-wt), each joint by itself."""
        model = elastic_arm().model()
        goal, w = np.array([0.7, -0.4]), np.array([9.0, 13.0])
        start = np.array([0.3, 0.1])
        tau = model.holding_torque(model.equilibrium(start))
        q0 = model.equilibrium(start)  # joints at the start, motors wound up, so that y'' = y''' = 0
        assert np.abs(model.forward_dynamics(q0, np.zeros(4), tau)).max() < 1e-9
        run = pliant.simulate(
            model, 1.2, q0, controller=FeedbackLinearization(w, goal), output_step=0.02, rtol=1e-10, atol=1e-12
        )
        wt = run.t[:, None] * w
        expected = (goal - start) * (1 + wt + wt**2 / 2 + wt**3 / 6) * np.exp(-wt)
        assert goal - run.q[:, :2] == pytest.approx(expected, abs=1e-7)

    def test_a_path_is_followed_exactly(self) -> None:
        model = elastic_arm().model()
        path = pliant.control.Sine([0.2, 0.3], 0.5)
        r, rd, rdd = (x[0] for x in path(np.array([0.0])))
        controller = FeedbackLinearization(25.0, path)
        run = pliant.simulate(model, 4.0, model.equilibrium(r), controller=controller, rtol=1e-9, atol=1e-11)
        late = run.t > 2.5
        assert np.abs(run.q[late, :2] - path(run.t[late])[0]).max() < 1e-6
        assert np.abs(rdd).max() < 1e-9 or np.abs(rd).max() > 0  # the path moves at once

    def test_who_is_refused(self) -> None:
        with pytest.raises(UnsupportedModel, match="derivative 3"):
            FeedbackLinearization(9.0, [0.0, 0.0]).bind(elastic_arm(damping=2.0).model())(0.0, np.zeros(4), np.zeros(4))
        with pytest.raises(UnsupportedModel, match="no elastic drive"):
            FeedbackLinearization(9.0, [0.0, 0.0]).bind(two_links(Shapes(bending_y=1)).model())
        with pytest.raises(ModelError, match="positive"):
            FeedbackLinearization(0.0, [0.0, 0.0]).bind(elastic_arm().model())


class TestGravityOfTheEquilibrium:
    @pytest.mark.slow
    def test_joints_end_where_they_are_desired(self) -> None:
        """The weight of the undeformed arm leaves an error, that of the arm at rest none; both are stable."""
        robot = two_links(Shapes(bending_y=2, bending_z=1, damping=0.05))
        model = robot.model()
        goal = np.array([0.6, -0.5])
        ends = {}
        for gravity in ("reference", "equilibrium"):
            run = pliant.simulate(model, 12.0, controller=PD(150.0, 90.0, goal, gravity=gravity), method="rodas5p")
            ends[gravity] = np.abs(run.q[-1, :2] - goal).max()
            assert np.abs(run.qd[-1]).max() < 1e-4
        assert ends["equilibrium"] < 1e-6
        assert ends["reference"] > 30 * ends["equilibrium"]

    def test_the_torque_is_that_of_statics(self) -> None:
        for robot in (two_links(Shapes(bending_y=2, bending_z=1)), elastic_arm()):
            model = robot.model()
            goal = np.array([0.6, -0.5])
            law = PD(60.0, 25.0, goal, gravity="equilibrium").bind(model)
            q = model.equilibrium(goal)
            assert law(0.0, q, np.zeros(model.n)) == pytest.approx(model.holding_torque(q), rel=1e-6)


class TestComposite:
    def tracking(self, stiffness: float) -> float:
        model = elastic_arm(stiffness=stiffness).model()
        move = Quintic([0.0, 0.0], [0.8, -0.6], 1.0)
        controller = Composite(kp=100.0, kd=20.0, reference=move, effort=1e-3)
        run = pliant.simulate(model, 1.0, "equilibrium", controller=controller, method="rodas5p")
        return float(np.abs(run.q[:, 2:] - move(run.t)[0]).max())

    def test_the_error_falls_with_the_stiffness(self) -> None:
        """It is of the order of e = 1 / sqrt(stiffness): four times the stiffness leaves at most half the error."""
        errors = [self.tracking(s) for s in (1.0, 4.0, 16.0)]
        assert errors[1] < 0.55 * errors[0]
        assert errors[2] < 0.55 * errors[1]

    @pytest.mark.parametrize("flexible", ["drives", "links"])
    def test_what_bends_is_damped(self, flexible: str) -> None:
        """Harder than by the computed torque of the rigid arm alone, to which a great effort comes down."""
        robot = elastic_arm() if flexible == "drives" else two_links(Shapes(bending_y=1))
        model = robot.replace({"gravity": (0.0, 0.0, 0.0)}).model()
        goal = np.array([0.3, 0.5])

        def least(effort: float) -> float:
            poles = closed_loop_eigenvalues(model, Composite(1.0, 2.0, goal, effort), 0.0, model.equilibrium(goal))
            fast = poles[np.abs(poles.imag) > 8.0]
            assert (poles.real < 0).all()
            return float((-fast.real / np.abs(fast)).min())

        assert least(1e-3) > 2.5 * least(1e6)

    def test_nothing_bends(self) -> None:
        with pytest.raises(UnsupportedModel, match="nothing of this arm bends"):
            Composite(1.0, 1.0, np.zeros(6)).bind(pliant.load("puma").model())


class TestDisturbances:
    def test_a_constant_push_is_cancelled(self) -> None:
        """PD without an integral sags under a push at the tip; less its residual, it does not."""
        model = two_links(Shapes(bending_y=1, damping=0.05)).replace({"gravity": (0.0, 0.0, 0.0)}).model()
        goal = np.array([0.4, -0.3])
        push = Wrench(force=[0.0, 3.0, -4.0])
        hold = PD(150.0, 40.0, goal)
        q0 = model.equilibrium(goal)
        plain, helped = (
            pliant.simulate(model, 15.0, q0, controller=c, loads=[push], method="rodas5p")
            for c in (hold, DisturbanceObserver(hold, gain=20.0))
        )
        assert np.abs(plain.q[-1, :2] - goal).max() > 1e-3
        assert np.abs(helped.q[-1, :2] - goal).max() < 1e-6

    def test_the_residual_follows_a_push_as_a_first_order_lag(self) -> None:
        """r' = L (d - r), with d = J^T f on the joints, of an arm that moves and bends."""
        model = two_links(Shapes(bending_y=1, bending_z=1)).model()
        start = 0.4
        push = Wrench(force=Step([0.0, 0.0, 0.0], [1.0, 2.0, -3.0], start).expression)
        move = Quintic([0.0, 0.2], [0.7, -0.5], 1.0)
        q0, controller = model.equilibrium([0.0, 0.2]), PD(300.0, 40.0, move)
        run = pliant.simulate(
            model, 1.0, q0, controller=controller, loads=[push], output_step=5e-4, rtol=1e-9, atol=1e-11
        )
        t, L = run.t, np.array([30.0, 55.0])
        found = CollisionMonitor(model, L, 0.5).residual(run)
        d = np.array([model.jacobian(q)[3:, :2].T @ np.array([1.0, 2.0, -3.0]) for q in run.q])
        d[t < start] = 0.0
        expected = np.zeros_like(d)
        for k, h in enumerate(np.diff(t)):
            expected[k + 1] = expected[k] + (1 - np.exp(-L * h)) * (d[k + 1] - expected[k])
        assert found == pytest.approx(expected, abs=0.02 * np.abs(d).max())
        assert np.abs(found[t < start]).max() < 1e-2

    def test_a_collision_is_told_at_once_and_no_motion_is_taken_for_one(self) -> None:
        model = two_links(Shapes(bending_y=1, bending_z=1)).model()
        move = Quintic([0.0, 0.2], [0.9, -0.5], 0.8)
        hit = Wrench(force=Step([0.0, 0.0, 0.0], [0.0, -25.0, 0.0], 0.37).expression)
        monitor, q0 = CollisionMonitor(model, gain=100.0, threshold=1.0), model.equilibrium([0.0, 0.2])
        free, struck = (
            pliant.simulate(model, 1.0, q0, controller=PD(300.0, 40.0, move), loads=loads, output_step=1e-3)
            for loads in ([], [hit])
        )
        assert monitor.first(free) is None
        told = monitor.first(struck)
        assert told is not None
        assert 0.37 < told < 0.38

    def test_refusals(self) -> None:
        model = two_links(Shapes(bending_y=1)).model()
        with pytest.raises(ModelError, match="positive"):
            DisturbanceObserver(PD(1.0, 1.0, [0.0, 0.0]), gain=-1.0).bind(model)
        inner = pliant.control.Sampled(PD(1.0, 1.0, [0.0, 0.0]), 0.01)
        with pytest.raises(ModelError, match="sampled"):
            DisturbanceObserver(inner, gain=1.0).bind(model)


def test_computed_torque_of_elastic_drives_follows_motors_only() -> None:
    """What the linearization of the link side is for: exact motors leave the links ringing."""
    model = elastic_arm().model()
    goal = np.array([0.7, -0.4])
    run = pliant.simulate(model, 1.5, controller=ComputedTorque(400.0, 40.0, goal))
    assert np.ptp(run.q[run.t > 1.0, :2], axis=0).max() > 0.01
