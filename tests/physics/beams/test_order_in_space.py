"""Pieces that tumble in space converge at the order that they have in a plane: their sections carry their rotary
inertia with them.

Each beam is cut by hand in links on fixed joints, one cubic per piece; its numbers are all different, and the rotary
inertia of its sections is no small part.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.spatial.transform import Rotation

import pliant
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.mechanics import build_chain
from pliant.mechanics.links.section_forces import InternalForces

NUMBERS: dict[str, Any] = {
    "length": 1.0, "mass_per_length": 1.0, "EI_y": 0.9, "EI_z": 0.6, "GJ": 0.5, "polar_inertia": 0.05,
    "rotary": (0.03, 0.02),
}  # fmt: skip
SHEAR = {"GA_y": 40.0, "GA_z": 70.0}
SPACE = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True)


def cut(count: int, gravity: tuple[float, float, float] = (1.0, -1.5, -0.8), **changes: Any) -> Robot:
    """A beam in `count` pieces on a ball joint."""
    numbers = NUMBERS | changes
    beam = Beam(**{**numbers, "length": numbers["length"] / count})
    joints = [Joint(type="spherical"), *[Joint(type="fixed")] * (count - 1)]
    links = [Link(name=f"p{k + 1}", joint=joint, beam=beam, shapes=SPACE) for k, joint in enumerate(joints)]
    return Robot(name="tumbling", gravity=gravity, links=links)


def anywhere(model: Model, seed: int, size: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = model.chain.rest() + size * rng.normal(size=model.chain.n_q)
    q[:4] /= np.linalg.norm(q[:4])
    return q, rng.normal(size=model.n)


# ---------------------------------------------------------------------------------------------------------- the order


def tumbled(count: int, **changes: Any) -> np.ndarray:
    """Path (6, 3) of the end of a beam that starts straight, turning about three axes, and sags as it turns."""
    model = cut(count, **changes).model(stiffening="second-order")
    qd = np.zeros(model.n)
    qd[:3] = 2.5, -1.1, 1.7
    run = pliant.simulate(model, 0.5, None, qd, method="dop853", rtol=1e-6, output_step=0.1)
    return np.asarray(run.tip)


def order(counts: tuple[int, int, int], **changes: Any) -> float:
    """Observed, from the differences of three paths."""
    paths = [tumbled(count, **changes) for count in counts]
    first, second = (np.abs(b - a).max() for a, b in pairwise(paths))
    return float(np.log2(first / second))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:links:UserWarning")
@pytest.mark.parametrize("counts", [(1, 2, 4), pytest.param((2, 4, 8), marks=pytest.mark.full)])
def test_order_of_a_beam_that_tumbles(counts: tuple[int, int, int]) -> None:
    """3 and more; 1 with the inertia of the sections in the axes of each piece's root."""
    assert order(counts) > 2.8


# ------------------------------------------------------------------------------------------ a helix, integrated exactly

KAPPA, KAPPA_RATE, OMEGA = np.array([[0.5, -0.7, 0.9], [0.6, 0.8, -1.1], [1.2, -0.8, 1.9]])


def helix_energy(density: np.ndarray) -> float:
    """Kinetic energy of the sections of a rod that is bent and twisted evenly, R(s) = exp(s kappa), while kappa changes
    and its root turns."""

    def at(s: float) -> Any:
        h = 1e-5
        turn, *near = (Rotation.from_rotvec(s * (KAPPA + d * KAPPA_RATE)).as_matrix() for d in (0.0, h, -h))
        rate = turn.T @ (near[0] - near[1]) / (2 * h)
        omega = turn.T @ OMEGA + [rate[2, 1], rate[0, 2], rate[1, 0]]
        return omega @ (density * omega) / 2

    return float(quad_vec(at, 0.0, 1.0)[0])


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("count", [1, 2])
def test_sections_of_a_helix(count: int) -> None:
    """Pieces with constant curvature are parts of one helix, whose sections turn as they do: their energy is met."""
    h = 1.0 / count
    own = np.array([KAPPA[2] * h**2 / 2, KAPPA[2] * h, -KAPPA[1] * h**2 / 2, -KAPPA[1] * h, KAPPA[0] * h])
    rates = np.array(
        [KAPPA_RATE[2] * h**2 / 2, KAPPA_RATE[2] * h, -KAPPA_RATE[1] * h**2 / 2, -KAPPA_RATE[1] * h, KAPPA_RATE[0] * h]
    )
    model = cut(count, mass_per_length=1e-9).model(stiffening="second-order")
    q, qd = np.concatenate([[1.0, 0, 0, 0], *[own] * count]), np.concatenate([OMEGA, *[rates] * count])
    found = qd @ model.mass_matrix(q) @ qd / 2
    expected = helix_energy(np.array([NUMBERS["polar_inertia"], *NUMBERS["rotary"]]))
    assert found == pytest.approx(expected, rel=1e-4 if count == 1 else 2e-6)


# ------------------------------------------------------------------------------------------------- one model, all rules


@pytest.mark.full
@pytest.mark.parametrize(("count", "level", "shear"), [(1, "third-order", SHEAR), (2, "second-order", SHEAR)])
def test_formulations_agree(count: int, level: Any, shear: dict[str, float]) -> None:
    robot = cut(count, **shear)
    judge = robot.model("lagrange", stiffening=level)
    q, qd = anywhere(judge, 3)
    tau = [0.3, -0.2, 0.5]
    expected = judge.forward_dynamics(q, qd, tau)
    for name in ("denoc", "gibbs-appell", "recursive-lagrange"):
        found = robot.model(name, stiffening=level).forward_dynamics(q, qd, tau)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max(), name


@pytest.mark.slow_cases("0.01")
@pytest.mark.parametrize("stiff", [0.01, pytest.param(0.5, marks=pytest.mark.full)])
def test_sections_stay_rigid_with_linear_rotations(stiff: float) -> None:
    """1 + theta of the papers at the tip stretches sections, whose velocities would not follow from their places: those
    of a strip, and of other beams, turn exactly all the same."""
    found = []
    for name in ("lagrange", "denoc"):
        model = cut(1, GJ=stiff).model(name, rotation="linear", stiffening="second-order")
        found.append(model.forward_dynamics(*anywhere(model, 3), [0.3, -0.2, 0.5]))
    assert np.abs(found[1] - found[0]).max() < 1e-9 * np.abs(found[0]).max()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:links:UserWarning")
def test_energy_is_conserved() -> None:
    """And handed on: the power of gravity is what kinetic and strain energy gain."""
    model = cut(1).model(stiffening="second-order")
    qd = np.zeros(model.n)
    qd[:3] = 2.5, -1.1, 1.7
    run = pliant.simulate(model, 0.3, None, qd, method="dop853", rtol=1e-10, atol=1e-12)
    scale = run.energy.kinetic.max()
    assert np.abs(run.energy.total - run.energy.total[0]).max() < 1e-9 * scale
    assert np.abs(run.power_residual).max() < 1e-9 * scale


def test_section_forces_close_the_balance() -> None:
    """Summed from the end to the root they give the wrench that the recursion hands to the joint."""
    forces = InternalForces(build_chain(cut(1), stiffening="second-order"))
    rng = np.random.default_rng(4)
    q = np.concatenate([[0.8, 0.0, 0.6, 0.0], 0.02 * rng.normal(size=5)])
    state = [ca.SX(ca.DM(x)) for x in (q, rng.normal(size=8), rng.normal(size=8))]
    found = ca.vertcat(*forces.section(0, 0.0)[::-1]), -ca.vertcat(*forces.carried[0].at_root)
    inner, outer = (np.array(ca.DM(forces.at(x, ca.SX(0), *state))) for x in found)
    np.testing.assert_allclose(inner, outer, atol=1e-7 * np.abs(outer).max())


def test_damping_in_proportion_to_mass_knows_the_sections() -> None:
    """Rayleigh's alpha M of the beam at rest, rotary inertia included, and so for a strip that twists."""
    for stiff in (NUMBERS["GJ"], 0.01):
        robot = cut(1, GJ=stiff)
        link = robot.links[0].model_copy(update={"shapes": SPACE.model_copy(update={"rayleigh": (0.7, 0.0)})})
        chain = build_chain(robot.model_copy(update={"links": [link]}), stiffening="second-order")
        body = chain.links[0].body
        rest, rate = ca.SX(5, 1), ca.SX(ca.DM([0.3, -0.2, 0.5, 0.1, 0.7]))
        found = ca.DM(body.dissipation(rest, rate))
        expected = 0.7 * ca.DM(ca.mtimes(body.moments(rest, ca.SX(5, 1)).gram, rate))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [{"rotary": (0.0, 0.0)}, {"rotary": (3e-4, 2e-4), "polar_inertia": 5e-4}],
)
def test_slender_beams_keep_their_tape(changes: dict[str, Any]) -> None:
    """Sections are carried where rotary inertia is given and does not vanish beside the link's own."""
    chains = [build_chain(cut(count, **changes), stiffening="second-order") for count in (1, 2)]
    carried = [chain.links[0].body.sections is not None for chain in chains]  # type: ignore[attr-defined]
    assert carried == [False, any(changes["rotary"])]
