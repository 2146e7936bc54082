"""Internal forces: statics by hand, reactions against torques, two ways to the same root moment, stress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from arms import SLENDER, UNEQUAL, random_robot, random_state, unequal_beam
from beams import EI_Y, EI_Z, LENGTH, MU, cantilever, modes
from pliant import Beam, Joint, Link, Result, Robot, Section, Shapes
from pliant.loads import Base, Distributed, Wrench
from pliant.mechanics.links.stations import shape_curvature
from pliant.robot import Lump

ELEMENTS = Shapes(method="elements", count=2, bending_y=True, bending_z=True)


def at_rest(robot: Robot, loads: list[Any], **options: Any) -> Result:
    """A run that stays at its equilibrium."""
    model = robot.model(**options)
    q0 = model.equilibrium(np.zeros(model.n_joints), loads)
    held = {name: (lambda t: 0 * t) for name in model.joints}
    return pliant.simulate(model, 0.01, q0, motion=held, loads=loads, method="dop853", output_step=0.005)


@pytest.mark.slow_cases("shapes1")
@pytest.mark.parametrize("shapes", [modes(2), ELEMENTS])
def test_statics_by_hand(shapes: Shapes) -> None:
    """Weight along the beam, a payload and a force in the middle: shear and moment of the textbook at every station."""
    g, m, F = 9.81, 0.3, 2.0
    robot = cantilever(shapes, gravity=(0, -g, 0)).replace({"payload": Lump(mass=m)})
    run = at_rest(robot, [Wrench(force=(0, F, 0), x=1.2, axes="link")], stiffening="off")
    for x in (0.0, 0.5, 1.1, 1.3, LENGTH):
        forces, left, beyond = run.internal("arm", x), LENGTH - x, max(1.2 - x, 0.0)
        # in the axes of the bent section: the cosine of its slope stands in for the small difference
        assert forces.shear_y == pytest.approx(-g * (MU * left + m) + F * (x <= 1.2), rel=1e-2)
        moment = -g * (MU * left**2 / 2 + m * left) + F * beyond
        assert forces.moment_z == pytest.approx(moment, rel=1e-3, abs=1e-9)
        assert np.abs(forces.moment_y).max() < 1e-12
    root = run.internal("arm", 0.0)
    assert root.moment_z == pytest.approx(-g * (MU * LENGTH**2 / 2 + m * LENGTH) + F * 1.2, rel=2e-4)  # second order
    reaction = run.reaction("arm")  # the run itself rests to its tolerance
    assert reaction.moment == pytest.approx(-root.moment, abs=1e-9)
    assert reaction.force == pytest.approx(-root.force, abs=1e-9)
    assert reaction.moment[:, 2] == pytest.approx(run.tau[:, 0], abs=1e-9)
    assert run.reaction("arm", axes="base").force[:, 1] == pytest.approx(g * (MU * LENGTH + m) - F, rel=1e-6)


def of_the_shapes(run: Result, x: float) -> Any:
    """Curvature of the drawn shape of the one link, at the end of a run."""
    link, eta = run.model.chain.links[0], x / LENGTH
    return np.array(ca.DM(shape_curvature(link, run.model.chain.body(link, ca.SX(run.q[-1])), eta))).ravel()


def test_curvature_follows_from_the_forces_and_not_from_a_few_modes() -> None:
    """A force at the tip: EI v'' = F (L - x). Modes give F L sum +-4 / beta_i^2 at the root, 4 % off with two."""
    exact = 1e-3 * LENGTH / EI_Z
    run = at_rest(cantilever(modes(2)), [Wrench(force=(0, 1e-3, 0))])
    assert run.curvature("arm", 0.0)[-1, 2] == pytest.approx(exact, rel=1e-5)
    drawn = 4 / 1.8751040687**2 - 4 / 4.6940911330**2
    assert of_the_shapes(run, 0.0)[2] / exact == pytest.approx(drawn, rel=1e-4)  # up to squares of the slope
    assert run.strain("arm", 0.0, at=(0.01, 0.0))[-1] == pytest.approx(-0.01 * exact, rel=1e-5)


@pytest.mark.slow
def test_stations_are_read_alike(tmp_path: Path) -> None:
    """Metres, names, and what is refused: for deflections, section forces and loads."""
    run = at_rest(cantilever(modes(2)), [Wrench(force=(0, 1e-3, 0))], stiffening="off")
    for ask in (run.deflection, run.internal, run.curvature):
        np.testing.assert_array_equal(ask("arm", "middle"), ask("arm", LENGTH / 2))
        for wrong in (-0.1, 1.01 * LENGTH, float("inf"), "root"):
            with pytest.raises(pliant.ModelError, match="x: got"):
                ask("arm", wrong)
    beam, bent = cantilever(modes(2)), {"arm.bending_y.1": 1e-3}
    found = pliant.simulate(
        beam.model(parameters=["links.arm.beam.length"], stiffening="off"), 0.01, bent, p=[2 * LENGTH]
    )
    whole = pliant.simulate(beam.replace({"links.arm.beam.length": 2 * LENGTH}).model(stiffening="off"), 0.01, bent)
    x = 1.5 * LENGTH
    np.testing.assert_allclose(found.deflection("arm", x), whole.deflection("arm", x), rtol=0, atol=1e-9)
    sliding = pliant.load("rrp").model(stiffening="off")
    name = sliding.joints[-1]
    run = pliant.simulate(sliding, 0.001)
    assert run.deflection(name, "middle").shape == (1001, 3)
    with pytest.raises(pliant.ModelError, match="'tip' or 'middle' of its free length"):
        run.deflection(name, 0.3)
    with pytest.raises(pliant.UnsupportedModel, match="use 'tip'"):
        pliant.simulate(sliding, 0.001, loads=Wrench(force=(0, 1, 0), x="middle"))
    with pytest.raises(pliant.UnsupportedModel, match="section forces are not followed"):
        run.strain(name, "middle")


def test_internal_moment_of_elements_is_stiffness_times_curvature() -> None:
    """Under a tip force elements are exact, so that EI v'' is the moment everywhere."""
    run = at_rest(cantilever(ELEMENTS), [Wrench(force=(0, 1e-3, 2e-3))], stiffening="off")
    for x in (0.0, 0.7, 1.9):
        forces, curvature, drawn = run.internal("arm", x), run.curvature("arm", x), of_the_shapes(run, x)
        assert forces.moment_z == pytest.approx(EI_Z * drawn[2], rel=1e-5)  # up to squares of the slope
        assert forces.moment_y == pytest.approx(EI_Y * drawn[1], rel=1e-5)
        np.testing.assert_allclose(curvature[-1, 1:], drawn[1:], rtol=1e-5)
        assert forces.moment_z == pytest.approx(1e-3 * (LENGTH - x), rel=1e-5)
        assert forces.moment_y == pytest.approx(-2e-3 * (LENGTH - x), rel=1e-5)


@pytest.mark.slow_cases("3-off")
@pytest.mark.parametrize(
    ("seed", "stiffening"),
    [(3, "off"), *(pytest.param(k, "third-order", marks=pytest.mark.full) for k in range(12))],
)
def test_reactions_of_a_moving_arm(seed: int, stiffening: Any) -> None:
    """Along its axis a joint carries its torque; at the root of a beam points give what the moments give."""
    robot = random_robot(seed, 2, drives=seed % 2 == 0)
    model = robot.model(stiffening=stiffening)
    q, qd, tau = random_state(robot, model.n, model.n_joints, seed)
    loads = [
        Wrench(force=(1, 2, 3), moment=(0.1, 0.2, 0.3)),
        Wrench(force=lambda t: (ca.sin(t), 0, 1), link=0, x="middle", axes="link"),
        Distributed(force=(0, 0, -2), link=0, axes="section"),
    ]
    base = Base(acceleration=(1, 0, 0), angular_velocity=(0.1, 0.2, 0.3))
    run = pliant.simulate(model, 0.01, q, qd, tau, loads=loads, base=base, method="dop853", output_step=0.005)
    for link, described in zip(model.chain.links, robot.links):
        reaction = run.reaction(link.name)
        scale = max(np.abs(reaction.moment).max(), np.abs(reaction.force).max())
        if link.joint_indices:
            carried = reaction.moment if described.joint.type == "revolute" else reaction.force
            along = carried @ np.array(described.joint.axis)
            assert along == pytest.approx(shaft(run, link, described), abs=1e-10 * scale)
        if link.flexible:
            root = run.internal(link.name, 0.0)
            if link.hub is None:
                assert root.moment == pytest.approx(-reaction.moment, abs=1e-10 * scale)
                assert root.force == pytest.approx(-reaction.force, abs=1e-10 * scale)


def shaft(run: Result, link: Any, described: Any) -> np.ndarray:
    """Torque that reaches the link, from what is known of the drive."""
    (k,) = link.joint_indices
    friction = described.joint.friction.viscous * run.qd[:, k]
    if link.shafts[0].drive is None:
        return np.asarray(run.tau[:, k] - friction)
    motor, drive = link.shafts[0].actuated, described.joint.drive
    twist, rate = run.q[:, motor] - run.q[:, k], run.qd[:, motor] - run.qd[:, k]
    return np.asarray(drive.stiffness * twist + drive.damping * rate - friction)


def test_root_forces_of_an_unequal_beam_that_turns_and_swings() -> None:
    """Material points from the root outwards, with their Coriolis accelerations, need what the joint gives."""
    tip = Lump(mass=0.4, com=(0.03, 0.04, -0.02), inertia=(0.003, 0.004, 0.005))
    robot = unequal_beam(Shapes(bending_y=2, bending_z=1), SLENDER, joint=Joint(axis=(0.36, 0.48, 0.8)), tip=tip)
    model = robot.replace({"gravity": (1.5, -2.5, -9.0)}).model()
    q, qd = np.array([0.3, 0.04, -0.02, 0.03]), np.array([4.0, 2.0, -1.5, 1.0])
    run = pliant.simulate(model, 0.01, q, qd, [3.0], method="dop853", output_step=0.005)
    root, reaction = run.internal("arm", 0.0), run.reaction("arm")
    assert root.force == pytest.approx(-reaction.force, abs=1e-9 * np.abs(reaction.force).max())
    assert root.moment == pytest.approx(-reaction.moment, abs=1e-9 * np.abs(reaction.moment).max())


def test_strain_and_stress_of_sections() -> None:
    """M c / I at the outer fibre of tube and box, and at a fibre of one's choice."""
    force = (0.0, 30.0, 40.0)
    for section, radius in (
        (Section(shape="tube", outer_diameter=0.05, inner_diameter=0.04), 0.025),
        (Section(shape="box", width=0.06, height=0.04, thickness=0.004), None),
    ):
        beam = Beam(length=1.0, material="steel", section=section)
        shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True)
        robot = Robot(name="s", gravity=(0, 0, 0), links=[Link(name="arm", beam=beam, shapes=shapes)])
        run = at_rest(robot, [Wrench(force=force)])
        E = beam.material.E
        p = pliant.robot.beam_properties(beam)
        y, z = 30.0 * 0.6 / p.EI_z, 40.0 * 0.6 / p.EI_y  # curvatures at x = 0.4
        largest = radius * np.hypot(y, z) if radius else 0.03 * y + 0.02 * z
        assert run.strain("arm", 0.4) == pytest.approx(largest, rel=1e-2)
        assert run.stress("arm", 0.4) == pytest.approx(E * largest, rel=1e-2)
        assert run.strain("arm", 0.4, at=(0.01, -0.02)) == pytest.approx(-0.01 * y + 0.02 * z, rel=1e-2)


def test_axial_force_of_a_spinning_beam() -> None:
    """Tension mu w^2 (L^2 - x^2)/2 + m w^2 L, without any axial shape."""
    w, m = 3.0, 0.2
    robot = cantilever(modes(1)).replace({"payload": Lump(mass=m)})
    model = robot.model(stiffening="second-order")
    run = pliant.simulate(model, 0.01, motion={"arm": lambda t: w * t}, method="dop853", output_step=0.005)
    for x in (0.0, 0.8, LENGTH):
        tension = MU * w**2 * (LENGTH**2 - x**2) / 2 + m * w**2 * LENGTH
        assert run.internal("arm", x).axial == pytest.approx(tension, rel=1e-6)
        assert run.strain("arm", x, at=(0.0, 0.0)) == pytest.approx(tension / 1e5, rel=1e-6)


def test_section_inertia_of_a_spinning_beam() -> None:
    """A beam carried round an oblique axis: what its mass and its sections need, w x (J w) and J alpha, by hand."""
    mu, L, (j_y, j_z), j_x = 2.1, 1.3, (0.04, 0.09), 0.15
    beam = UNEQUAL.model_copy(update={"polar_inertia": j_x, "rotary": (j_y, j_z)})
    w, wx, wz = 3.0, 1.8, 2.4
    robot = unequal_beam(Shapes(bending_y=1), beam, joint=Joint(axis=(0.6, 0.0, 0.8)))
    run = pliant.simulate(robot.model(), 0.01, motion={"arm": lambda t: w * t}, method="dop853", output_step=0.005)
    for x in (0.0, 0.4, 1.1):
        lever = (L**3 - x**3) / 3 - x * (L**2 - x**2) / 2  # of the mass beyond x, about x
        expected = wx * wz * (mu * lever - (j_x - j_z) * (L - x))  # the plane of w and the beam, in which it is rigid
        assert run.internal("arm", x).moment_y == pytest.approx(expected, rel=1e-9)
        assert np.abs(run.internal("arm", x).moment_z).max() < 1e-12
    along = unequal_beam(Shapes(bending_y=1), beam, joint=Joint(axis=(1.0, 0.0, 0.0)))
    run = pliant.simulate(along.model(), 0.01, motion={"arm": lambda t: 2.5 * t**2}, method="dop853", output_step=0.005)
    for x in (0.0, 0.4, 1.1):
        assert run.internal("arm", x).torque == pytest.approx(-j_x * 5.0 * (L - x), rel=1e-9)


def test_results_from_files(tmp_path: Path) -> None:
    load = Wrench(force=(0, 1, 0))
    run = pliant.simulate(cantilever(modes(1)).model(), 0.1, loads=[load], method="dop853", output_step=0.05)
    again = Result.load(run.save(tmp_path / "run.nc"))
    with pytest.raises(pliant.ModelError, match=r"Wrench.*acting"):
        again.internal("arm")
    known = again.acting([load])
    assert np.abs(known.internal("arm").moment - run.internal("arm").moment).max() == 0.0


def test_bad_questions() -> None:
    run = pliant.simulate(pliant.load("two-link").model(), 0.01, method="dop853", output_step=0.005)
    name = run.robot.links[0].name
    for ask, words in (
        (lambda: run.internal("nowhere"), ("nowhere", name)),
        (lambda: run.internal(name, 99.0), ("99", "between 0 and")),
        (lambda: run.strain(name), ("section", "at=(y, z)")),
        (lambda: run.stress(name, at=(0, 0)), ("material", "modulus")),
        (lambda: run.reaction(name, axes="tip"), ("tip", "base")),
    ):
        with pytest.raises(pliant.ModelError) as caught:
            ask()
        assert all(word in str(caught.value) for word in words)
    rigid = pliant.simulate(pliant.load("puma").model(), 0.01, method="dop853", output_step=0.005)
    with pytest.raises(pliant.UnsupportedModel, match=r"rigid.*reaction"):
        rigid.internal(0)
