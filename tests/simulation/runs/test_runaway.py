"""Unstable loops: they stop soon, say which joint and why, and leave a result; what is merely fast goes on."""

from __future__ import annotations

import time

import casadi
import numpy as np
import pytest

import pliant
from pliant.control import PD
from pliant.errors import SimulationError

SOFT = """
format: 1
name: soft arm
gravity: [0, -9.81, 0]
links:
  - name: upper
    beam: {length: 0.8, material: aluminium, section: {shape: tube, outer_diameter: 0.05, inner_diameter: 0.044}}
    shapes: {boundary: clamped-mass, tip_load: auto, bending_y: 3, bending_z: 2, torsion: 1}
  - name: lower
    beam: {length: 0.6, material: aluminium, section: {shape: tube, outer_diameter: 0.04, inner_diameter: 0.036}}
    shapes: {method: elements, count: 2, bending_y: true, bending_z: true}
payload: {mass: 0.5}
"""
MOST_SECONDS = 5.0
JOINTS = 2
WRONG = {
    "torque of the speed": ({"torque": lambda t, q, qd: 500.0 * qd[:JOINTS]}, "500 N m s/rad with its own speed"),
    "negative kp": ({"controller": PD(-1000.0, 1.0, [0.0] * JOINTS)}, r"1000 N m/rad with its own position.*\(kp\)"),
    "negative kd": ({"controller": PD(1000.0, -100.0, [0.0] * JOINTS)}, r"100 N m s/rad with its own speed.*\(kd\)"),
}


@pytest.fixture(scope="module")
def soft_arm(tmp_path_factory: pytest.TempPathFactory) -> pliant.Model:
    path = tmp_path_factory.mktemp("soft") / "soft.yaml"
    path.write_text(SOFT)
    return pliant.load(path).model()


@pytest.fixture(scope="module")
def hanging() -> pliant.Model:
    return pliant.load("two-link").model()


@pytest.fixture(scope="module")
def planar() -> pliant.Model:
    return pliant.load("two-link").replace({"gravity": [0, 0, 0]}).model()


@pytest.mark.slow_cases("negative kd-hanging", "torque of the speed-hanging")
@pytest.mark.parametrize("arm", ["hanging", pytest.param("soft_arm", marks=pytest.mark.full)])
@pytest.mark.parametrize("case", WRONG)
def test_an_unstable_loop_stops_and_says_why(request: pytest.FixtureRequest, arm: str, case: str, tmp_path) -> None:
    """The soft arm has 16 coordinates, some of them stiff: it ran for minutes, or ended with a riddle."""
    (drives, why), model = WRONG[case], request.getfixturevalue(arm)
    begin = time.process_time()
    with pytest.raises(SimulationError, match=rf"ran away.*Joint '(fore|lower)': its torque grows by {why}") as caught:
        pliant.simulate(model, 0.5, q0=[0.3, 0.3], **drives)
    assert time.process_time() - begin < MOST_SECONDS
    kept = caught.value.result
    for riddle in ("coordinate", "first to go", "work"):
        assert riddle not in str(caught.value)
        assert riddle not in kept.stats.message
    assert kept.stats.status == "failed"
    assert len(kept) >= 50
    assert np.isfinite(kept.q).all()
    kept.plot("joints", "energy", path=tmp_path / "end.png")
    assert (tmp_path / "end.png").stat().st_size > 1000


def test_the_energy_at_the_stop_is_that_of_the_rule(planar: pliant.Model) -> None:
    """10 kg at 300 m/s are 450 kJ, and 1 rad/s at the start allows 400 m/s."""
    for rates, most in (([0.0, 0.0], 4.5e5), ([1.0, 0.0], 8e5)):
        with pytest.raises(SimulationError, match="ran away") as caught:
            pliant.simulate(planar, 1.0, q0=[0.3, 0.3], qd0=rates, controller=PD(-1000.0, 1.0, [0.0, 0.0]))
        assert most < caught.value.result.work[-1] < 1.1 * most


def test_the_wrong_one_of_several_gains_is_named(planar: pliant.Model) -> None:
    with pytest.raises(SimulationError, match="Joint 'upper': its torque grows by 300 N m s/rad"):
        pliant.simulate(planar, 5.0, q0=[0.3, 0.3], controller=PD(100.0, [-300.0, 10.0], [0.0, 0.0]))


def test_a_loop_without_a_wrong_sign_names_its_growth(planar: pliant.Model) -> None:
    def twisted(t, q, qd):
        return np.array([500.0 * q[1], -500.0 * q[0]])

    with pytest.raises(SimulationError, match=r"it took most of the power; .* unstable pole at [\d.]+ 1/s"):
        pliant.simulate(planar, 20.0, q0=[0.01, 0.0], torque=twisted)


def test_a_sampled_loop_that_runs_away(planar: pliant.Model) -> None:
    with pytest.raises(SimulationError, match="grows by 20 N m s/rad with its own speed") as caught:
        pliant.simulate(planar, 20.0, qd0=[0.1, 0.0], controller=lambda t, q, qd: 20.0 * qd[:2], sample_time=0.01)
    assert 1 < len(caught.value.result) < 1001


@pytest.mark.parametrize("method", ["rk4", "rodas5p", "bdf"])
def test_every_kind_of_method_stops(planar: pliant.Model, method: str) -> None:
    step = {"step": 1e-4} if method == "rk4" else {}
    with pytest.raises(SimulationError, match=r"ran away.*own position"):
        pliant.simulate(planar, 0.5, [0.3, 0.3], controller=PD(-1000.0, 1.0, [0.0, 0.0]), method=method, **step)


def test_fast_motion_by_constant_torques_is_no_runaway(planar: pliant.Model) -> None:
    """Drives that do not see the motion cannot run away, however fast the arm gets."""
    run = pliant.simulate(planar, 0.3, torque=[2e5, 0.0], output_step=0.1)
    assert run.work[-1] > 4.5e5
    assert run.stats.status == "finished"


def test_a_long_fall_is_no_runaway() -> None:
    """Gravity is no drive: a free base falls for 100 s, its joint in a loop."""
    base = {"type": "free", "mass": 5.0, "inertia": [1.0, 1.0, 1.0]}
    rod = {"name": "rod", "rigid": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1], "tip": [1.0, 0.0, 0.0]}}
    model = pliant.Robot(name="falling", gravity=(0, 0, -9.81), base=base, links=[rod]).model()
    loop = PD(10.0, 10.0, [0.5], gravity="none")
    run = pliant.simulate(model, 100.0, controller=loop, output_step=10.0)
    assert run.stats.status == "finished"
    assert np.abs(run.qd).max() > 900.0


def test_an_arm_without_mass_has_no_scale() -> None:
    hub = {"name": "hub", "rigid": {"mass": 0.0, "inertia": [1.0, 1.0, 1.0], "tip": [1.0, 0.0, 0.0]}}
    robot = pliant.Robot(name="hub", gravity=(0, 0, 0), links=[hub])
    run = pliant.simulate(robot.model(), 1.0, qd0=[0.1], torque=lambda t, q, qd: 2.0 * qd, output_step=0.1)
    assert run.qd[-1, 0] == pytest.approx(0.1 * np.exp(2.0), rel=1e-6)


WHEELS = {
    "hub": {"rigid": {"mass": 1e-6, "inertia": [0, 0, 0]}, "joint": {"hub": {"inertia": [0.0, 0.0, 0.5]}}},
    "body": {"rigid": {"mass": 1e-6, "inertia": [0.5, 0.5, 0.5]}},
    "rotor": {"rigid": {"mass": 1e-6}, "joint": {"drive": {"rotor_inertia": 5e-5, "gear_ratio": 100.0}}},
}


@pytest.mark.parametrize("kind", WHEELS)
def test_a_rig_of_pure_inertia_has_one(kind: str) -> None:
    """A loop on a test rig of 1e-6 kg was taken for a runaway at 0.2 J; one that runs away still is."""
    robot = pliant.Robot(name="rig", gravity=(0, 0, 0), links=[{"name": "wheel", **WHEELS[kind]}])
    model, goal = robot.model(), PD(50.0, 5.0, [3.0])
    run = pliant.simulate(model, 1.0, controller=goal, output_step=0.1)
    assert run.stats.status == "finished"
    assert run.work.max() > 1.0
    with pytest.raises(SimulationError, match="ran away"):
        pliant.simulate(model, 20.0, q0=[0.1], controller=PD(50.0, -5.0, [0.0]), output_step=0.1)


def test_a_stepper_stops_too(planar: pliant.Model) -> None:
    arm = pliant.Stepper(planar, controller=PD(1000.0, -100.0, [0.0, 0.0]), q0=[0.3, 0.3])
    for again in (False, True):
        if again:
            arm.reset([0.3, 0.3])
        with pytest.raises(SimulationError, match=r"step: the arm ran away: .*Joint 'fore'.*own speed"):
            arm.step(0.1)


# ------------------------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize("steps", [{}, {"step": 1e-3}], ids=["dopri5", "rk4"])
def test_an_arm_of_a_batch_runs_away_alone(planar: pliant.Model, steps: dict[str, float]) -> None:
    """At rest at the goal an arm stays there, whatever the sign of the gain; the others go, each from its own rates."""
    starts = {"q0": [[0.0, 0.0], [0.3, 0.3], [0.3, 0.3]], "qd0": [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]}
    with pytest.warns(UserWarning, match=r"2 of 3 arms ran away \(the first: 1 at t = "):
        batch = pliant.simulate_batch(
            planar, 1.0, controller=PD(-1000.0, 1.0, [0.0, 0.0]), work=True, **starts, **steps
        )
    assert batch.status.tolist() == [0, 4, 4]
    assert np.isfinite(batch.q[0]).all()
    for arm, most in ((1, 4.5e5), (2, 8e5)):
        kept = batch.t <= batch.ended[arm]
        assert np.isfinite(batch.q[arm, kept]).all()
        assert np.isnan(batch.q[arm, ~kept]).all()
        assert batch.work[arm, kept].max() < most
        assert 0 < batch.ended[arm] < 1.0
    assert (batch.arm(1).stats.status, batch.arm(1).stats.message) == ("failed", "ran away")


def test_a_batch_that_runs_away_says_where_to_look(planar: pliant.Model, tmp_path) -> None:
    with pytest.raises(SimulationError, match=r"every arm ran away.* sign of a gain") as caught:
        pliant.simulate_batch(planar, 1.0, q0=[[0.3, 0.3], [0.2, 0.1]], controller=PD(-1000.0, 1.0, [0.0, 0.0]))
    kept = caught.value.result
    assert pliant.batch.BatchResult.load(kept.save(tmp_path / "batch.nc")).status.tolist() == [4, 4]


def test_arms_of_a_batch_that_are_merely_fast_go_on(planar: pliant.Model) -> None:
    """Constant torques see nothing of the motion; and a loop that holds has the steps that it has without a watch."""
    fast = pliant.simulate_batch(planar, 0.3, torque=[[2e5, 0.0]], work=True, output_step=0.1)
    assert fast.work[0, -1] > 4.5e5
    starts = [[0.3, 0.3], [0.2, 0.1]]
    held = pliant.simulate_batch(planar, 0.3, q0=starts, controller=PD(1000.0, 100.0, [0.0, 0.0]))
    assert held.status.tolist() == fast.status.tolist() * 2 == [0, 0]


@pytest.mark.full
def test_a_batch_of_stiff_arms_that_run_away_ends_soon(soft_arm: pliant.Model) -> None:
    """It ran for more than 300 s."""
    loop = PD(-1000.0, 1.0, [0.0] * JOINTS)
    pliant.simulate_batch(soft_arm, 1e-4, q0=[[0.0, 0.0]], controller=loop, output_step=1e-4)  # compiled
    begin = time.process_time()
    with pytest.raises(SimulationError, match="every arm ran away"):
        pliant.simulate_batch(soft_arm, 0.5, q0=[[0.3, 0.3]], controller=loop)
    assert time.process_time() - begin < MOST_SECONDS


@pytest.mark.parametrize("entry", ["run", "batch", "stepper"])
def test_a_motion_that_drives_links_away_ends_soon(entry: str) -> None:
    """A rod that first order lets bend outwards in a spin; one that turns below its first frequency goes on."""
    beam = pliant.Beam(length=1.3, mass_per_length=0.8, EI_y=9.0, EI_z=7.0)
    link = pliant.Link(name="rod", beam=beam, shapes=pliant.Shapes(bending_y=1, bending_z=1))
    model = pliant.Robot(name="rod", gravity=(0, 0, -9.81), links=[link]).model(stiffening="off")
    first = 2 * np.pi * float(model.frequencies()[0])

    def call(rate: float) -> None:
        motion = {"rod": lambda t: rate * t + 0.02 * casadi.sin(9 * t)}
        if entry == "run":
            pliant.simulate(model, 2.0, motion=motion, progress=False)
        elif entry == "batch":
            pliant.simulate_batch(model, 2.0, motion=motion, progress=False)
        else:
            pliant.Stepper(model, motion=motion, method="dop853").step(2.0)

    begin = time.process_time()
    with pytest.raises(SimulationError, match=r"ran away|every arm") as caught:
        call(4 * first)
    assert time.process_time() - begin < MOST_SECONDS
    if entry != "batch":
        assert "Joint 'rod', whose motion is prescribed" in str(caught.value)
        assert "stiffening='second-order'" in str(caught.value)
    call(0.3 * first)


def test_a_fast_prescribed_motion_is_no_runaway() -> None:
    """A carriage that is led to 900 m/s, nine times the energy at which one that stood at first has run away."""
    cart = pliant.Link(
        name="cart", joint=pliant.Joint(type="prismatic", axis=(1, 0, 0)),
        rigid={"mass": 1.3, "com": [0.0, 0.1, 0.0], "inertia": [0.01, 0.02, 0.03]},
    )  # fmt: skip
    beam = pliant.Beam(length=0.4, mass_per_length=0.8, EI_y=900.0, EI_z=700.0)
    link = pliant.Link(name="rod", beam=beam, shapes=pliant.Shapes(bending_y=1))
    model = pliant.Robot(name="cart", gravity=(0, 0, 0), links=[cart, link]).model(stiffening="off")
    law = PD(0.0, 0.0, [0.0, 0.0])
    run = pliant.simulate(model, 1.0, controller=law, motion={"cart": lambda t: 450.0 * t**2}, progress=False)
    assert run.stats.status == "finished"
    assert run.work[-1] > 9 * (1.3 + 0.32) * 300**2 / 2 * 0.99
