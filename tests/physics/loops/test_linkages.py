"""Runs of linkages: they stay closed, keep their energy, and move as others say that they move."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from linkages import DOWN, FOUR_BAR, bar, four_bar, four_bar_angles, passive, random_linkage, rubbing, slider_crank
from pliant.errors import SimulationError
from pliant.model.loops.assembly import mechanism
from pliant.robot import Beam, Joint, Link, Loop, LoopJoint, Lump, Origin, RigidBody, Robot, Shapes

FIXED = {"rk4": 1e-3, "midpoint": 1e-3}


def four_bar_work(crank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inertia of the crank with all that it moves, and gravity energy, of a four-bar at angles of its crank."""
    a, step = FOUR_BAR, 1e-5

    def centers(angle: float) -> np.ndarray:
        coupler, rocker = four_bar_angles(angle)
        end = a["crank"] * np.exp(1j * angle)
        whole = angle + coupler
        return np.array([
            end / 2, end + a["coupler"] / 2 * np.exp(1j * whole), a["ground"] + a["rocker"] / 2 * np.exp(1j * rocker),
            1j * angle, 1j * whole, 1j * rocker,
        ])  # fmt: skip

    mass = np.array([4.0 * a[name] for name in ("crank", "coupler", "rocker")])
    turning = np.array([4.0 * a[name] ** 3 / 12 for name in ("crank", "coupler", "rocker")])
    inertia, height = [], []
    for angle in np.atleast_1d(crank):
        slope = (8 * (centers(angle + step) - centers(angle - step))
                 - (centers(angle + 2 * step) - centers(angle - 2 * step))) / (12 * step)  # fmt: skip
        inertia.append(mass @ np.abs(slope[:3]) ** 2 + turning @ np.abs(slope[3:]) ** 2)
        height.append(-DOWN[1] * mass @ centers(angle)[:3].imag)
    return np.array(inertia), np.array(height)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853", "rodas5p", "midpoint"])
def test_a_four_bar_stays_closed_and_keeps_its_energy(method: str) -> None:
    model = four_bar().model()
    run = pliant.simulate(model, 1.0, q0={"crank": 0.7}, method=method, step=FIXED.get(method), output_step=1e-3)
    at_steps = method in FIXED
    assert np.abs(model.gaps(run.q)).max() < (1e-14 if at_steps else 1e-8)  # between steps, by the tolerance
    greatest = run.energy.kinetic.max()
    assert np.abs(run.energy_balance).max() < (1e-3 if method == "midpoint" else 1e-7) * greatest
    assert np.abs(run.power_residual).max() < 1e-6 * greatest


def test_the_crank_moves_by_its_energy_alone() -> None:
    """I(crank) crank'^2 / 2 + V(crank) stays, with I and V of a closed form."""
    run = pliant.simulate(four_bar().model(), 2.0, q0={"crank": 0.7}, rtol=1e-10, atol=1e-12, output_step=0.05)
    inertia, V = four_bar_work(run["crank"])
    E = inertia * run.qd[:, 0] ** 2 / 2 + V
    np.testing.assert_allclose(E, E[0], atol=1e-7 * (V.max() - V.min()))
    assert np.ptp(run["crank"]) > 3.0


@pytest.mark.slow_cases("rk4")
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_steps_end_on_closed_loops(method: str) -> None:
    """Rows at the last step of a run, whatever its method: positions and speeds."""
    model = slider_crank().model()
    for end in (0.1, 0.37):
        run = pliant.simulate(model, end, qd0={"crank": 20.0}, method=method, step=2e-3 if method == "rk4" else None)
        by = mechanism(model, model.nominal_parameters)
        assert np.abs(by.gaps(run.q[-1])[0]).max() < 1e-15  # all rows, also those left out
        assert np.abs(by.slopes(run.q[-1]) @ run.qd[-1]).max() < 1e-13 * np.abs(run.qd[-1]).max()


def test_order_four_is_kept() -> None:
    model = four_bar().model()
    ends = [pliant.simulate(model, 0.4, q0={"crank": 0.7}, method="rk4", step=h).q[-1] for h in (8e-3, 4e-3, 2e-3)]
    exact = pliant.simulate(model, 0.4, q0={"crank": 0.7}, rtol=1e-12, atol=1e-13).q[-1]
    errors = [np.abs(end - exact).max() for end in ends]
    assert 3.6 < np.log2(errors[0] / errors[1]) < 4.6
    assert 3.6 < np.log2(errors[1] / errors[2]) < 4.6


def parallelogram(crank: float, span: float) -> Robot:
    """Two parallel cranks and a rod between their tips, which keeps its direction."""
    rod = RigidBody(mass=1.7, com=(0.1, 0.05, 0), inertia=(0.01, 0.02, 0.03), tip=(span, 0, 0))
    links = [
        bar("a", crank),
        Link(name="rod", joint=passive(), rigid=rod),
        bar("b", crank, passive(origin=Origin(xyz=(span, 0, 0))), parent="base"),
    ]
    pin = Loop(name="pin", between=("rod.tip", "b.tip"))
    return Robot(name="parallelogram", links=links, gravity=DOWN, loops=[pin])


def test_a_parallelogram_is_an_arm_with_lumped_masses() -> None:
    """The rod moves without turning: its mass is a lump on the crank's tip, and the second crank is another first."""
    crank, span = 0.35, 0.5
    mass, turn = 4.0 * crank, 8.0 * crank**3 / 12
    both = RigidBody(mass=2 * mass, com=(crank / 2, 0, 0), inertia=(turn, turn, turn), tip=(crank, 0, 0))
    serial = Robot(name="serial", gravity=DOWN, links=[Link(name="a", rigid=both, tip=Lump(mass=1.7))])
    options = {"rtol": 1e-12, "atol": 1e-13, "output_step": 0.05, "torque": [3.0]}
    closed = pliant.simulate(parallelogram(crank, span).model(), 1.0, q0={"a": 0.9, "rod": -0.9, "b": 0.9}, **options)
    alone = pliant.simulate(serial.model(), 1.0, q0=[0.9], **options)
    for column, sign in (("a", 1), ("rod", -1), ("b", 1)):
        np.testing.assert_allclose(closed[column], sign * alone["a"], atol=1e-10)


def test_a_crank_at_given_speed() -> None:
    """Everything follows from the crank; its torque is dE/dt over its speed, and the multipliers are in it."""
    speed = 6.0
    run = pliant.simulate(
        four_bar().model(), 1.0, motion={"crank": lambda t: 0.7 + speed * t}, rtol=1e-10, atol=1e-12, output_step=0.02
    )
    expected = np.array([[angle, *four_bar_angles(angle)] for angle in 0.7 + speed * run.t])
    np.testing.assert_allclose(np.exp(1j * run.q), np.exp(1j * expected), atol=1e-8)
    step = 1e-4
    ahead, behind = (four_bar_work(run["crank"] + s * step) for s in (1, -1))
    torque = ((ahead[0] - behind[0]) * speed**2 / 2 + ahead[1] - behind[1]) / (2 * step)
    np.testing.assert_allclose(run.tau[:, 0], torque, atol=2e-5 * np.abs(torque).max())
    np.testing.assert_allclose(run.energy_balance, 0.0, atol=1e-8)


def test_multipliers_hang_a_weight() -> None:
    """A rod on two pins at rest: each carries half of it."""
    rod = [bar("rod", 1.0), bar("strut", 0.6, passive(origin=Origin(xyz=(1.0, -0.6, 0))), parent="base")]
    pin = Loop(name="pin", between=("rod.tip", "strut.tip"), joint=LoopJoint(type="spherical"))
    model = Robot(name="held", links=rod, loops=[pin], gravity=DOWN).model()
    q = np.array([0.0, np.pi / 2])
    up = model.multipliers(q, np.zeros(2), [0.0])  # of the rod on the strut, in the axes of the rod
    assert model.constraints == ("pin.x", "pin.y")
    np.testing.assert_allclose(up, [0.0, -4.0 * 9.81 / 2], atol=1e-12)
    np.testing.assert_allclose(model.forward_dynamics(q, np.zeros(2), [0.0]), 0.0, atol=1e-12)


def test_friction_of_passive_joints_takes_energy() -> None:
    links = list(four_bar().links)
    links[1] = links[1].model_copy(update={"joint": rubbing(links[1].joint, 0.05)})
    run = pliant.simulate(four_bar(links=links).model(), 2.0, q0={"crank": 0.7}, rtol=1e-10, atol=1e-12)
    assert run.energy.total[-1] < run.energy.total[0] - 0.1
    assert np.abs(run.energy_balance).max() < 1e-8


def test_a_flexible_coupler_in_a_loop() -> None:
    """A beam that bends in the plane and across it: the rows that were redundant are not, and the loop stays closed."""
    a = FOUR_BAR
    beam = Beam(length=a["coupler"], mass_per_length=0.5, EI_y=8.0, EI_z=5.0, GJ=4.0, polar_inertia=1e-4)
    links = list(four_bar().links)
    links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=2))
    flat = four_bar(links=links).model()
    assert flat.constraints == ("pin.x", "pin.y")
    assert flat.freedom == 3
    links[1] = links[1].model_copy(update={"shapes": Shapes(bending_y=1, bending_z=2, torsion=1)})
    deep = four_bar(links=links).model()
    assert set(deep.constraints) > {"pin.x", "pin.y", "pin.z"}
    run = pliant.simulate(flat, 0.3, q0={"crank": 0.7}, qd0={"crank": 10.0}, rtol=1e-9, atol=1e-11)
    assert np.abs(flat.gaps(run.q)).max() < 1e-8
    assert np.abs(run.q[0, 3:]).max() == 0.0  # joints alone have closed it
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()


@pytest.mark.full
def test_a_coupler_in_pieces_in_a_loop() -> None:
    """Two pieces carry what one with more shapes carries, stay closed and keep their energy, and so do derivatives."""
    links = list(four_bar().links)

    def bent(pieces: int, shapes: int) -> pliant.Model:
        beam = Beam(length=FOUR_BAR["coupler"], mass_per_length=0.5, EI_y=8.0, EI_z=0.5, pieces=pieces)
        links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=shapes))
        return four_bar(links=links).model()

    model, whole = bent(2, 2), bent(1, 5)
    assert (model.freedom, model.constraints) == (5, ("pin.x", "pin.y"))
    rest = [m.equilibrium({"crank": 0.7, "rocker": 1.6}) for m in (model, whole)]
    assert model.holding_torque(rest[0]) == pytest.approx(whole.holding_torque(rest[1]), rel=2e-5)
    run = pliant.simulate(model, 0.1, q0={"crank": 0.7}, qd0={"crank": 10.0}, rtol=1e-9, atol=1e-11, output_step=1e-3)
    assert np.abs(model.gaps(run.q)).max() < 1e-9
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()
    assert np.abs(run.q[:, 3:]).max() > 1e-3
    q, qd, tau, h = run.q[-1], run.qd[-1], np.array([0.3]), 1e-5
    slope = model.forward_dynamics_derivatives(q, qd, tau).dq[:, 3]
    step = h * np.eye(model.n)[3]
    near, far = (
        (model.forward_dynamics(q + k * step, qd, tau) - model.forward_dynamics(q - k * step, qd, tau)) / (2 * k * h)
        for k in (1, 2)
    )
    np.testing.assert_allclose(slope, (4 * near - far) / 3, atol=1e-8 * np.abs(slope).max())


def test_quaternions_in_a_loop() -> None:
    """A spatial linkage with a ball joint: closed, of unit quaternions, and of one energy."""
    ball = Link(name="rod", joint=Joint(type="spherical", actuated=False), rigid=bar("x", 0.5).rigid)
    follower = bar("follower", 0.4, passive(axis=(0, 1, 0), origin=Origin(xyz=(0.3, 0.4, 0))), parent="base")
    pin = Loop(name="pin", between=("rod.tip", "follower.tip"), joint=LoopJoint(type="spherical"))
    robot = Robot(name="spatial", links=[bar("crank", 0.15), ball, follower], loops=[pin], gravity=(0, -2, -9))
    model = robot.model()
    run = pliant.simulate(model, 0.5, qd0={"crank": 8.0}, rtol=1e-9, atol=1e-11, output_step=0.01)
    assert model.constraints == ("pin.x", "pin.y", "pin.z")
    assert robot.freedom == 2
    assert np.abs(model.gaps(run.q)).max() < 1e-8
    np.testing.assert_allclose(np.linalg.norm(run.q[:, 1:5], axis=1), 1.0, atol=1e-14)
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()


def test_files_keep_the_multipliers(tmp_path) -> None:
    run = pliant.simulate(four_bar().model(), 0.1, q0={"crank": 0.7}, output_step=0.01)
    again = pliant.Result.load(run.save(tmp_path / "run.nc"))
    assert run.multipliers.shape == (11, 2)
    np.testing.assert_array_equal(again.multipliers, run.multipliers)
    np.testing.assert_array_equal(again.q, run.q)


def test_starts_that_do_not_close_are_moved_and_told() -> None:
    model = four_bar().model()
    with pytest.warns(UserWarning, match=r"q0: the loops do not close there; .*: rocker by 0\.1\d* rad, coupler by"):
        run = pliant.simulate(model, 0.01, q0={"crank": 0.7, "coupler": 0.0, "rocker": 1.5})
    assert np.abs(model.gaps(run.q)).max() < 1e-9
    run = pliant.simulate(model, 0.01, q0={"crank": 0.7}, qd0={"crank": 3.0})
    assert run.q[0, 0] == 0.7
    assert run.qd[0, 0] == 3.0


def test_a_position_that_becomes_singular_ends_the_run() -> None:
    """A crank that is too long for its rocker is driven to where the linkage locks."""
    links = [
        bar("a", 0.3),
        bar("b", 0.3, passive()),
        bar("c", 0.3, passive(origin=Origin(xyz=(0.5, 0, 0))), parent="base"),
    ]
    model = Robot(name="locks", links=links, loops=[Loop(name="pin", between=("b.tip", "c.tip"))]).model()
    with pytest.raises(SimulationError, match="loop pin"):
        pliant.simulate(model, 2.0, q0={"a": 1.0}, motion={"a": lambda t: 1.0 + 2.0 * t}, method="rk4", step=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12))
def test_random_linkages_keep_their_energy(seed: int) -> None:
    robot, q = random_linkage(seed)
    model = robot.model(stiffening="off")
    if model.freedom < 1:
        pytest.skip("a structure")
    run = pliant.simulate(model, 0.2, q0=q, rtol=1e-9, atol=1e-11, output_step=0.01, limits=False)
    assert np.abs(model.gaps(run.q)).max() < 1e-8
    assert np.abs(run.energy_balance).max() < 1e-7 * run.energy.kinetic.max()


def test_steps_take_their_slopes_on_closed_loops() -> None:
    """A run of many steps is that of runs of one step each, which begin where the one before has closed its loops."""
    model, step = four_bar().model(), 0.02
    whole = pliant.simulate(model, 5 * step, q0={"crank": 0.7}, method="rk4", step=step, output_step=step)
    q, qd = whole.q[0], whole.qd[0]
    for k in range(5):
        one = pliant.simulate(model, step, q0=q, qd0=qd, method="rk4", step=step, output_step=step)
        q, qd = one.q[-1], one.qd[-1]
        np.testing.assert_allclose(q, whole.q[k + 1], atol=1e-13)
        np.testing.assert_allclose(qd, whole.qd[k + 1], rtol=1e-11, atol=1e-11)


@pytest.mark.full
def test_a_million_steps_drift_nowhere() -> None:
    """Over a hundred turns of the crank of a four-bar, in steps of 1 ms."""
    model = four_bar(gravity=(0, 0, 0)).model()
    run = pliant.simulate(
        model, 1000.0, q0={"crank": 0.7}, qd0={"crank": 6.0}, method="rk4", step=1e-3, output_step=1.0
    )
    assert run.stats.steps == 1_000_000
    rounding = np.spacing(np.abs(run.q).max(axis=1))  # of the angles, 1e-12 rad after 700 turns
    assert (np.abs(model.gaps(run.q)).max(axis=1) < 1e-14 + rounding).all()
    turns = np.abs(run.q[:, 0] - run.q[0, 0]) / (2 * np.pi)
    assert turns[-1] > 600
    assert np.abs(run.energy_balance[turns < 100]).max() < 1e-7 * run.energy.kinetic.max()  # of RK4, it grows on
