"""Beams that slide out of their hub, held against positions alone, closed forms and noted numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics import build_chain
from pliant.mechanics.formulations.generalized_forces import passive, strain_energy
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import kinetic_energy, tip_pose
from pliant.mechanics.shapes import LoadRatios, clamped_mass_roots
from pliant.mechanics.sliding import sliding_material, sliding_shapes
from pliant.mechanics.sliding.sliding_modes import MovingModes
from pliant.robot import Joint, Limits, Lump, Robot, Shapes
from pliant_studies.theodore_ghosal.moving_roots import beta_length_derivatives
from sliding_oracle import EI_Z, HUB, LENGTH, MU, PAYLOAD, SHAPES, TOTAL, arm, functions, gradient, oracle

TWO = {"bending_y": 2}
FOLLOWED = {**TWO, "boundary": "clamped-mass", "tip_load": "auto"}
Q, QD = np.array([0.0, 0.6, 0.02, -0.005]), np.array([1.0, 0.5, 0.1, -0.2])
DIFFERENCES = 3e-10  # fourth-order differences, step 2e-4: round-off 1e-16/2e-4, and 2e-15 times fifth derivatives


def energies(chain: Chain, q: np.ndarray, qd: np.ndarray) -> tuple[float, float]:
    Q_, QD_ = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    f = ca.Function("E", [Q_, QD_], [kinetic_energy(chain, Q_, QD_), strain_energy(chain, Q_)])
    T, V = f(q, qd)
    return float(T), float(V)


def state(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A bent state in the middle of the travel, everything moving."""
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=n) * 0.02, rng.normal(size=n) * 0.3
    q[:2], qd[:2] = (0.7, 0.63), (1.1, 0.8)
    return q, qd


@cache
def followed() -> tuple[Chain, tuple[Any, Any, Any]]:
    """The third link of [TG95] with two modes that follow its payload."""
    chain = build_chain(arm(FOLLOWED, (EI_Z, EI_Z)))
    return chain, functions(chain, "denoc")


# ---------------------------------------------------------------------------------------------------- asserted numbers


def test_numbers_of_clamped_free_modes() -> None:
    M = functions(build_chain(arm(TWO, (EI_Z, EI_Z))), "denoc")[0](Q)
    np.testing.assert_allclose(M[1, 1:], [0.513384601138, 0.002226055600, -0.005163277602], rtol=1e-8)


def test_numbers_of_clamped_mass_modes() -> None:
    chain, (mass, bias, _) = followed()
    np.testing.assert_allclose(mass(Q)[1, 1:3], [0.513407988878, 0.001876370327], rtol=1e-8)
    np.testing.assert_allclose(energies(chain, Q, QD), [0.235074090716, 36.740562320], rtol=1e-8)
    np.testing.assert_allclose(bias(Q, QD)[1], -175.407841, rtol=1e-8)


def test_convective_integrals_of_clamped_free_modes() -> None:
    body = build_chain(arm(TWO)).links[1].body
    convective = np.array(ca.evalf(body.functions.integrals(ca.SX(1.0)).G[0][1]))  # type: ignore[attr-defined]
    np.testing.assert_allclose(convective, [[0.5, 0.654951], [-0.654951, 0.5]], atol=5e-7)  # printed with six digits


@pytest.mark.parametrize(
    ("l", "beta", "omega"),
    [
        (0.3, (1.293678, 4.048742), (1103.45, 10807.8)),
        (0.6, (1.462847, 4.137980), (352.72, 2822.38)),
        (0.8, (1.527278, 4.185122), (216.27, 1623.97)),
        (1.0, (1.573631, 4.225002), (146.94, 1059.24)),
    ],
)
def test_frozen_frequencies_of_the_paper_s_third_link(
    l: float, beta: tuple[float, float], omega: tuple[float, float]
) -> None:
    """[TG95] Table 3 with its payload; the table of the frequencies is rounded to 1.5e-5."""
    chain, (mass, _, _) = followed()
    q = np.array([0.0, l, 0.0, 0.0])
    Q_ = ca.SX.sym("q", 4)
    K = np.array(ca.Function("K", [Q_], [ca.hessian(strain_energy(chain, Q_), Q_)[0]])(q))
    found = np.sqrt(eigh(K[2:, 2:], mass(q)[2:, 2:], eigvals_only=True))
    np.testing.assert_allclose(found, omega, rtol=1.5e-5)
    np.testing.assert_allclose(found, np.square(beta) / l**2 * np.sqrt(EI_Z / MU), rtol=1e-6)


# ------------------------------------------------------------------------------------------------------------- beta(l)


LOADS = {
    "payload": ((PAYLOAD / MU, 0.0, 0.0), 4, 1e-11),
    "light": ((1e-3, 0.0, 0.0), 3, 1e-11),
    "heavy": ((150.0, 0.0, 0.0), 3, 1e-9),  # beta1 is 0.2: cos - cosh loses digits like beta^-2
    "body beyond the tip": ((1.5, 0.06, 0.15), 3, 1e-9),
}


@pytest.mark.parametrize("name", LOADS)
def test_roots_follow_the_length(name: str) -> None:
    unit, count, close = LOADS[name]
    modes = MovingModes(count, unit, (0.06, 1.4), LENGTH)
    for l in np.linspace(0.06, 1.4, 9):
        load = LoadRatios(unit[0] / l, unit[1] / l**3, unit[2] / l**2)
        p, first, second = (np.array(x).ravel()[: 3 * count : 3] for x in modes._trace(l))
        roots = clamped_mass_roots(count, load.M, load.J, load.D)
        exact = np.array([beta_length_derivatives(float(b), load, l) for b in roots])
        np.testing.assert_allclose(p, roots, rtol=1e-14)  # Newton has converged
        np.testing.assert_allclose(first, exact[:, 0], rtol=close)
        np.testing.assert_allclose(second, exact[:, 1], rtol=10 * close)


def test_rates_of_the_roots_as_noted() -> None:
    modes = MovingModes(2, (PAYLOAD / MU, 0.0, 0.0), (0.25, 1.35), LENGTH)
    np.testing.assert_allclose(np.array(modes._trace(0.6)[1]).ravel()[::3], [0.3863956685, 0.2571149812], rtol=1e-9)


def test_the_trace_differentiates_like_the_formula() -> None:
    """The energy judge differentiates through the series and Newton's steps, the recursion uses beta' = -f_l/f_beta."""
    modes = MovingModes(3, (PAYLOAD / MU, 0.0, 0.0), (0.06, 1.4), LENGTH)
    l = ca.SX.sym("l")
    p, first, second = modes._trace(l)
    f = ca.Function("f", [l], [ca.jacobian(p[:9], l), first, ca.jacobian(first, l), second])
    for length in (0.07, 0.6, 1.3):
        by_trace, by_formula, by_trace_2, by_formula_2 = (np.array(x).ravel() for x in f(length))
        np.testing.assert_allclose(by_trace, by_formula, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(by_trace_2, by_formula_2, rtol=1e-8, atol=1e-10)


# ----------------------------------------------------------------------------------------------------- positions alone


@pytest.mark.slow_cases("clamped-mass")
@pytest.mark.parametrize("name", SHAPES)
def test_energies_agree_with_positions_of_the_material(name: str) -> None:
    chain, known = oracle(name, gravity=(1.0, -9.0, 3.0), payload=Lump(mass=PAYLOAD, com=(0.05, 0.02, -0.03)))
    if name == "clamped-mass":  # modes of the oracle know a point mass at the tip
        chain, known = oracle(name, gravity=(1.0, -9.0, 3.0))
    q, qd = state(chain.n)
    T, V = energies(chain, q, qd)
    assert pytest.approx(known.kinetic_energy(q, qd), rel=DIFFERENCES) == T
    assert pytest.approx(known.strain_energy(q), rel=1e-12, abs=1e-300) == V


@pytest.mark.slow_cases("clamped-free", "clamped-mass", "elements", "reduced")
@pytest.mark.parametrize("name", SHAPES)
def test_mass_matrix_and_statics_agree_with_positions(name: str) -> None:
    chain, known = oracle(name, gravity=(1.0, -9.0, 3.0))
    q, _ = state(chain.n)
    mass, bias, _ = functions(chain, "denoc")
    np.testing.assert_allclose(mass(q), known.mass_matrix(q), atol=10 * DIFFERENCES * np.abs(mass(q)).max())
    force = gradient(lambda x: known.strain_energy(x) + known.gravity_energy(x), q)
    np.testing.assert_allclose(bias(q, 0 * q), force, atol=DIFFERENCES * np.abs(force).max())


@pytest.mark.slow_cases("clamped-mass")
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "rigid"])
def test_points_and_tip_are_where_the_material_is(name: str) -> None:
    chain, known = oracle(name)
    q, _ = state(chain.n)
    q[0] = 0.0
    Q_ = ca.SX.sym("q", chain.n)
    c = chain.body(chain.links[1], Q_)
    points = [chain.links[1].body.point(c, eta)[0] for eta in (0.0, 0.4, 1.0)]
    f = ca.Function("points", [Q_], [ca.horzcat(*points).T, tip_pose(chain, Q_)])
    found, tip = (np.array(x) for x in f(q))
    np.testing.assert_allclose(found, known.points(q, q[1] * np.array([1.0, 0.6, 0.0])), atol=1e-14)
    np.testing.assert_allclose(tip[:3, 3], found[2], atol=1e-14)
    turn = ca.Function("turn", [Q_], [chain.links[1].body.point(c, 1.0)[1]])(q)
    slope = known.displacement(np.ones(1), q[1], q[2:], 1)[0]
    np.testing.assert_allclose(np.array(turn).ravel(), [0.0, -slope[2], slope[1]], atol=1e-13)


# ------------------------------------------------------------------------------------- mistakes that energy cannot see


TRACE = MovingModes.__dict__["_trace"].func


def _still(modes: MovingModes) -> ca.Function:
    """The modes with p' = p'' = 0."""
    l = ca.SX.sym("l")
    p, first, second = TRACE(modes)(l)
    return ca.Function("modes", [l], [p, 0 * first, 0 * second])


MISTAKES = {
    "no convective term": (
        "clamped-free",
        lambda m: m.setattr(
            sliding_shapes, "shape_flow", lambda s, p, eta: (s.evaluate(eta), 0 * s.evaluate(eta), 0 * s.evaluate(eta))
        ),
        1e-4,
    ),
    "no beta' in the velocity": ("clamped-mass", lambda m: m.setattr(MovingModes, "_trace", property(_still)), 1e-5),
    "no mass inside": (
        "clamped-free",
        lambda m: m.setattr(
            sliding_material.MaterialPoints, "mass", lambda self, k: self.mu * self.l ** (k + 1) / (k + 1)
        ),
        1e-2,
    ),
}  # fmt: skip


@pytest.mark.slow_cases("no beta' in the velocity", "no mass inside")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_velocity_is_caught_by_positions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each conserves its own energy; only the velocity of the material at fixed s tells."""
    shapes, spoil, size = MISTAKES[name]
    spoil(monkeypatch)
    chain, known = oracle(shapes)
    q, qd = state(chain.n)
    assert abs(energies(chain, q, qd)[0] / known.kinetic_energy(q, qd) - 1) > size


@pytest.mark.slow_cases("no dV/dl")
@pytest.mark.parametrize("share", [-3.0, 0.0], ids=["dV/dl = -3V/l", "no dV/dl"])
def test_a_wrong_stiffness_in_the_row_of_the_length_is_caught(share: float) -> None:
    """[TG95] (26) has no force there at all; -3V/l forgets that the modes change."""
    chain, known = oracle("clamped-mass")
    q, _ = state(chain.n)
    Q_ = ca.SX.sym("q", chain.n)
    right = float(ca.Function("f", [Q_], [passive(chain, Q_, 0 * Q_)])(q)[1])
    exact = gradient(known.strain_energy, q)[1]
    assert right == pytest.approx(exact, rel=DIFFERENCES * 10)
    assert abs(share * known.strain_energy(q) / q[1] / exact - 1) > 1e-2


# ---------------------------------------------------------------------------------------------------------- stiffening


@pytest.mark.slow_cases("shapes1")
@pytest.mark.parametrize("shapes", [{"bending_y": 2, "bending_z": 1, "boundary": "clamped-free"}, FOLLOWED])
def test_a_stiffened_sliding_beam_at_one_length_is_a_fixed_one(shapes: dict[str, Any]) -> None:
    """All of it outside, its length held: inertia, forces and points of a stiffened beam of that length."""
    robot = arm(shapes).replace({"links.arm.beam.total_length": LENGTH})
    beam = robot.links[1].beam.model_copy(update={"slides": False, "total_length": None})
    fixed = robot.links[1].model_copy(update={"beam": beam, "joint": Joint(type="fixed")})
    whole = robot.model_copy(update={"links": [robot.links[0], fixed]})
    sliding, held = (build_chain(given, stiffening="second-order") for given in (robot, whole))
    c = 0.04 * np.random.default_rng(2).normal(size=(2, held.n - 1))
    q, qd = np.hstack([[[0.7], [2.0]], c])
    long, longd = np.insert(q, 1, LENGTH), np.insert(qd, 1, 0.0)
    free = [0, *range(2, sliding.n)]
    (M, bias, _), (M_fixed, bias_fixed, _) = (functions(chain, "denoc") for chain in (sliding, held))
    expected = M_fixed(q)
    np.testing.assert_allclose(M(long)[np.ix_(free, free)], expected, atol=1e-9 * np.abs(expected).max())
    expected = bias_fixed(q, qd)
    np.testing.assert_allclose(bias(long, longd)[free], expected, atol=1e-9 * np.abs(expected).max())
    bodies = ((sliding.links[1].body, long[1:]), (held.links[1].body, q[1:]))
    ends = [ca.DM(body.point(ca.SX(ca.DM(x)), 0.6)[0]) for body, x in bodies]
    np.testing.assert_allclose(np.array(ends[0]), np.array(ends[1]), atol=1e-12)


@pytest.mark.slow
def test_energy_of_a_stiffened_sliding_beam() -> None:
    """It slides out while it swings and bends: the energy is kept, and it is not the motion without stiffening."""
    robot = arm({"bending_y": 2}, (EI_Z, EI_Z))
    runs = []
    for level in ("second-order", "off"):
        model = robot.model(stiffening=level)
        q, qd = np.array([0.0, 0.5, 0.02, 0.0]), np.array([6.0, 0.3, 0.0, 0.0])
        run = pliant.simulate(model, 0.1, q, qd, method="dop853", rtol=1e-10, atol=1e-12)
        assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()
        runs.append(run.q[-1])
    assert np.abs(runs[0] - runs[1]).max() > 1e-3


# ------------------------------------------------------------------------------------------------- travel and refusals


def test_travel_ends_are_errors() -> None:
    chain = build_chain(arm(TWO))
    assert chain.travels() == {1: (0.05 * TOTAL, TOTAL)}
    chain.check_travel(chain.rest())
    q = np.tile(chain.rest(), (3, 1))
    q[1, 1] = 1.31
    with pytest.raises(ModelError, match=r"arm: free length 1\.31 m is outside its travel"):
        chain.check_travel(q)
    with pytest.raises(ModelError, match="free length nan"):
        chain.check_travel(np.full(4, np.nan))


def test_the_robot_may_ask_for_a_shorter_beam() -> None:
    robot = arm(TWO)
    data = robot.model_dump()
    data["links"][1]["joint"]["limits"] = Limits(lower=0.02, upper=1.0).model_dump()
    assert build_chain(Robot(**data)).travels()[1] == (0.02, TOTAL)


@pytest.mark.parametrize(
    ("shapes", "beam", "match"),
    [
        ({"bending_y": 1, "torsion": 1}, {}, "torsion"),
        ({"bending_y": 1, "axial": 1}, {}, "axial"),
        ({"bending_y": 1}, {"rotary": (0.01, 0.01)}, "rotary"),
    ],
)
def test_what_does_not_slide_is_refused(shapes: dict[str, object], beam: dict[str, object], match: str) -> None:
    data = arm(TWO).model_dump()
    data["links"][1]["beam"] |= {"GJ": 10.0, "EA": 1e4, **beam}
    data["links"][1]["shapes"] = Shapes(**shapes).model_dump()
    with pytest.raises(UnsupportedModel, match=rf"links\.arm\..*{match}"):
        build_chain(Robot(**data))


def test_hub_inertia_enters_once() -> None:
    """The frame stays at the mouth: neither the hub nor its inertia moves with the length."""
    mass = functions(build_chain(arm()), "denoc")[0]
    q = np.array([0.0, 0.5])
    inside = MU * ((0.5**3 - (0.5 - TOTAL) ** 3) / 3)
    np.testing.assert_allclose(mass(q), np.diag([HUB + inside + PAYLOAD * 0.25, MU * TOTAL + PAYLOAD]), rtol=1e-14)
