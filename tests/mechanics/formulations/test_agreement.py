"""One test matrix for all formulations: each agrees with the energy judge, and the judge with positions alone."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import trapezoid

from arms import UNEQUAL, random_robot, random_state, sampled, unequal_arm, unequal_beam
from evaluation import evaluate, relative
from oracle import oracle
from pliant.mechanics import FORMULATIONS, build_chain, features
from pliant.robot import Joint, Robot, Shapes

NONLINEAR = [name for name in FORMULATIONS if name not in ("lagrange", "dual-screw")]
FEW = sampled(range(7), 0, 1, 2, 3, 6)
MANY = range(7, 320)
ROUND_OFF = 1e-9  # the promise; measured values stand near 1e-13, accelerations lose digits to the condition of M


def check(seed: int, links: int | None = None, **options: object) -> None:
    """All formulations against the judge on one random robot; M symmetric and positive; forward undoes inverse."""
    compare(random_robot(seed, links, drives=seed % 2 == 0), seed, **options)


def compare(robot: Robot, seed: int, **options: object) -> None:
    chain = build_chain(robot, **options)  # type: ignore[arg-type]
    q, qd, tau = random_state(robot, chain.n, chain.n_joints, seed)
    judge = evaluate(chain, "lagrange", q, qd, tau)
    S = np.array(ca.DM(chain.actuation()))
    for formulation in NONLINEAR:
        if features(chain) - FORMULATIONS[formulation].supports:
            continue
        ours = evaluate(chain, formulation, q, qd, tau)
        for name in judge:
            assert relative(ours[name], judge[name]) < ROUND_OFF, (formulation, name)
        assert np.abs(ours["M"] - ours["M"].T).max() <= 1e-13 * np.abs(ours["M"]).max()
        assert np.linalg.eigvalsh(ours["M"]).min() > 0
        balance = ours["M"] @ ours["qdd"] + ours["bias"] - S @ tau[:, None]
        assert np.abs(balance).max() < 1e-9 * max(np.abs(ours["bias"]).max(), np.abs(ours["M"] @ ours["qdd"]).max())


@pytest.mark.slow_cases("1", "2", "3", "6")
@pytest.mark.parametrize("seed", FEW)
def test_formulations_agree_with_the_judge(seed: int) -> None:
    check(seed, links=1 + seed % 3)


def test_formulations_agree_on_an_arm_unequal_in_everything() -> None:
    """Rotary inertia, torsion, gears, hubs and loads beside the axis, in two beams that are not alike."""
    compare(unequal_arm(), 3)


@pytest.mark.parametrize("stiffening", ["off", pytest.param("second-order", marks=pytest.mark.full)])
def test_formulations_agree_on_beams_that_shear(stiffening: bool | str) -> None:
    """Modes of one beam, elements of the other."""
    shear: dict[str, object] = {"links.boom.beam.GA_y": 3e3, "links.boom.beam.GA_z": 2e3, "links.fore.beam.shear": True}
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, damping=0.02)
    robot = unequal_arm().replace({**shear, "links.fore.shapes": shapes})
    compare(robot, 3, stiffening=stiffening)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", MANY)
def test_formulations_agree_with_the_judge_on_many(seed: int) -> None:
    check(seed, links=1 + seed % 4 if seed % 40 else 8)


@pytest.mark.parametrize(
    ("seed", "level"),
    [(1, "second-order"), pytest.param(1, True, marks=pytest.mark.full), pytest.param(6, True, marks=pytest.mark.full)],
)
def test_stiffened_formulations_agree_with_the_judge(seed: int, level: bool | str) -> None:
    check(seed, links=2, stiffening=level)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(20, 60))
def test_stiffened_formulations_agree_with_the_judge_on_many(seed: int) -> None:
    check(seed, links=1 + seed % 3, stiffening="third-order" if seed % 4 == 0 else "second-order")


@pytest.mark.parametrize(("plane", "axis", "sign"), [("bending_y", (0, 0, 1), 1), ("bending_z", (0, 1, 0), -1)])
def test_rotary_inertia_by_hand(plane: str, axis: tuple[int, int, int], sign: int) -> None:
    """Sections turn by q + v': j L on the joint, j v(L) across, j int v'^2 on the mode; j_z in one plane, j_y in the
    other, where w bends against the turn about y."""
    L, j = 1.3, 0.009 if plane == "bending_y" else 0.004
    shapes = Shapes(**{plane: 1})
    with_it, without = (
        unequal_beam(shapes, UNEQUAL.model_copy(update={"rotary": rotary}), joint=Joint(axis=axis)).model(
            stiffening="off"
        )
        for rotary in ((0.004, 0.009), None)
    )
    q = np.zeros(2)
    mode = with_it.link_shapes[0]
    eta = np.linspace(0, 1, 20001)
    slopes = trapezoid(mode.evaluate(eta, 1)[:, 0] ** 2, eta) / L
    across = sign * j * mode.evaluate([1.0])[0, 0]
    expected = np.array([[j * L, across], [across, j * slopes]])
    np.testing.assert_allclose(with_it.mass_matrix(q) - without.mass_matrix(q), expected, rtol=1e-6)


def test_bending_shortens_by_half_the_square_of_the_slope() -> None:
    """x(eta) = eta L - 1/2 int v'^2 + w'^2 dx, by quadrature of the slopes."""
    robot, L = unequal_beam(Shapes(bending_y=2, bending_z=1)), 1.3
    chain = build_chain(robot, stiffening="third-order")
    shapes, c = robot.model(stiffening="off").link_shapes[0], np.array([0.03, -0.02, 0.04])
    for station in (0.4, 1.0):
        eta = np.linspace(0, station, 20001)
        slope = shapes.evaluate(eta, 1) / L
        v, w = slope[:, :2] @ c[:2], slope[:, 2] * c[2]
        place = ca.Function("place", [(q := ca.SX.sym("c", 3))], [chain.links[0].body.point(q, station)[0]])(c)
        expected = station * L - trapezoid(v**2 + w**2, eta) * L / 2
        assert float(place[0]) == pytest.approx(expected, rel=1e-9)


def without_rotary(seed: int) -> object:
    robot = random_robot(seed, links=2, damping=False)
    changes = {f"links.{link.name}.beam.polar_inertia": 0.0 for link in robot.links if link.beam is not None}
    changes |= {f"links.{link.name}.beam.rotary": None for link in robot.links if link.beam is not None}
    changes |= {f"links.{link.name}.shapes.torsion": 0 for link in robot.links if link.shapes is not None}
    return robot.replace(changes)


@pytest.mark.slow_cases("1-off")
@pytest.mark.parametrize("stiffening", ["off", "second-order"])
@pytest.mark.parametrize("seed", sampled([1, 4, 13], 1))
def test_judge_agrees_with_positions_alone(seed: int, stiffening: bool) -> None:
    robot = without_rotary(seed)
    chain = build_chain(robot, stiffening=stiffening)  # type: ignore[arg-type]
    q, qd, tau = random_state(robot, chain.n, chain.n_joints, seed)  # type: ignore[arg-type]
    ours = evaluate(chain, "lagrange", q, qd, tau)
    M, h, _ = (np.array(x) for x in oracle(robot, chain)(q, qd))  # type: ignore[arg-type]
    assert relative(ours["M"], M) < 1e-11  # 24 Gauss points per element are exact for these shapes
    assert relative(ours["inertial"], h) < 1e-11


@pytest.mark.slow_cases(
    "denoc-planes0-4.0",
    "gibbs-appell-planes0-4.0",
    "gibbs-appell-planes1-2.0",
    "recursive-lagrange-planes0-4.0",
    "recursive-lagrange-planes1-2.0",
)
@pytest.mark.parametrize(("planes", "order"), [(("bending_y",), 4.0), (("bending_y", "bending_z", "torsion"), 2.0)])
@pytest.mark.parametrize("formulation", NONLINEAR)
def test_order_of_the_linear_rotation(formulation: str, planes: tuple[str, ...], order: float) -> None:
    """1 + theta^ errs by theta^2 where each link bends in one plane; with several, thetad is not the angular velocity
    and the error is of first order: the reason why the exact rotation is the default."""
    robot = random_robot(2, links=2, all_flexible=True, prismatic=False)
    fields = {name: int(name in planes) for name in ("bending_y", "bending_z", "torsion", "axial")}
    robot = robot.replace({f"links.{link.name}.shapes": fields for link in robot.links})
    exact, linear = build_chain(robot), build_chain(robot, rotation="linear")
    q, qd, tau = random_state(robot, exact.n, exact.n_joints, 2)

    def error(scale: float) -> float:
        state = q.copy(), qd.copy(), tau
        for part in state[:2]:
            part[exact.n_joints :] *= scale
        a, b = evaluate(exact, formulation, *state), evaluate(linear, formulation, *state)
        return float(np.abs(a["inertial"] - b["inertial"]).max())

    ratio = error(0.02) / error(0.01)
    assert abs(ratio - order) < 0.08 * order  # up to the next power at these deflections


@pytest.mark.slow_cases("gibbs-appell", "lagrange", "recursive-lagrange")
@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "dual-screw"])
def test_forces_are_the_gradient_of_the_energy(formulation: str) -> None:
    from pliant.mechanics.formulations.energies import potential_energy

    robot = random_robot(7, damping=False)
    chain = build_chain(robot)
    q, qd, tau = random_state(robot, chain.n, chain.n_joints, 7)
    Q = ca.SX.sym("q", chain.n)
    slope = np.array(ca.Function("g", [Q], [ca.gradient(potential_energy(chain, Q), Q)])(q))
    assert relative(evaluate(chain, formulation, q, 0 * qd, tau)["bias"], slope) < 1e-12


@pytest.mark.slow_cases("gibbs-appell", "recursive-lagrange")
@pytest.mark.parametrize("formulation", NONLINEAR)
def test_stiff_arm_tends_to_the_rigid_one(formulation: str) -> None:
    """Accelerations of the joints of an arm at static rest: the error falls like 1 / stiffness."""
    robot = random_robot(11, links=2, damping=False, elements=False)
    rigid = robot.replace({f"links.{link.name}.shapes": None for link in robot.links if link.shapes is not None})
    chain = build_chain(rigid)
    qd = np.zeros(chain.n)
    reference = evaluate(chain, formulation, np.full(chain.n, 0.4), qd, np.ones(chain.n_joints))["qdd"]

    def error(factor: float) -> float:
        stiff = robot.replace(
            {
                f"links.{link.name}.beam.{k}": getattr(link.beam, k) * factor
                for link in robot.links
                if link.beam is not None
                for k in ("EI_y", "EI_z", "GJ", "EA")
            }
        )
        made = stiff.model(formulation=formulation, stiffening="off")
        # quasi-static amplitudes under the rigid accelerations: K c = -(bias + M_cq qdd)
        q = np.concatenate([np.full(made.n_joints, 0.4), np.zeros(made.n - made.n_joints)])
        for _ in range(8):
            qdd = np.concatenate([reference[:, 0], np.zeros(made.n - made.n_joints)])
            residual = made.inverse_dynamics(q, np.zeros(made.n), qdd)
            free = slice(made.n_joints, None)
            q[free] -= np.linalg.solve(made.stiffness(q)[free, free], residual[free])
        found = made.forward_dynamics(q, np.zeros(made.n), np.ones(made.n_joints))
        return float(np.abs(found[: made.n_joints] - reference[:, 0]).max())

    first, second = error(1e3), error(1e4)
    assert 8 < first / second < 12.5
