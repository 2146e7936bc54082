"""Arms with sliding links: the recursion against the energy judge, rigid limit, damping, free motion."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

from arms import random_robot
from pliant.mechanics import FORMULATIONS, build_chain, equations
from pliant.mechanics.formulations.generalized_forces import passive, strain_energy
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import gravity_energy, kinetic_energy
from pliant.robot import Beam, Drive, Friction, Joint, Link, Lump, Origin, RigidBody, Robot, Shapes
from sliding_oracle import PAYLOAD, arm, functions

TWO = {"bending_y": 2}
FOLLOWED = {**TWO, "boundary": "clamped-mass", "tip_load": "auto"}
Q, QD = np.array([0.0, 0.6, 0.02, -0.005]), np.array([1.0, 0.5, 0.1, -0.2])


# -------------------------------------------------------------------------------------------------- formulations agree


KINDS = {
    "clamped-free": {"bending_y": 2, "bending_z": 1, "damping": 0.01},
    "clamped-mass": {"bending_y": 1, "bending_z": 1, "boundary": "clamped-mass", "tip_load": "auto", "damping": 0.01},
    "elements": {"method": "elements", "count": 2, "bending_y": True},
    "rigid": None,
}


def sliding_link(rng: np.random.Generator, name: str, kind: str, drive: Drive | None) -> Link:
    total = float(rng.uniform(1.0, 2.0))
    shapes = KINDS[kind]
    return Link(
        name=name,
        joint=Joint(
            type="prismatic", axis=(1.0, 0.0, 0.0), drive=drive, friction=Friction(viscous=0.3),
            origin=Origin(xyz=tuple(rng.normal(size=3) * 0.2), rpy=tuple(rng.normal(size=3))),
            hub=Lump(mass=0.4, inertia=(0.01, 0.02, 0.03), com=(0.02, -0.01, 0.03)),
        ),
        beam=Beam(
            length=0.5 * total, total_length=total, slides=True, mass_per_length=float(rng.uniform(0.5, 2.0)),
            EI_y=float(rng.uniform(50, 200)), EI_z=float(rng.uniform(50, 200)), polar_inertia=0.02,
        ),
        shapes=Shapes(**shapes) if shapes else None,
        tip=Lump(mass=0.2, inertia=(0.01, 0.01, 0.01), com=(0.03, 0.01, 0.0)),
    )  # fmt: skip


def neighbors() -> list[Link]:
    """A bending link to carry a sliding one, and a rigid one to be carried."""
    beam = Beam(length=0.8, mass_per_length=1.5, EI_z=80.0, polar_inertia=0.01)
    turn = Joint(axis=(0.0, 1.0, 0.0), origin=Origin(xyz=(0.1, 0.0, 0.2), rpy=(0.3, -0.2, 0.5)))
    body = RigidBody(mass=0.8, com=(0.2, 0.01, 0.0), inertia=(0.01, 0.02, 0.03), tip=(0.4, 0.0, 0.1))
    first = Link(name="first", beam=beam, shapes=Shapes(boundary="clamped-free", bending_y=1))
    return [first, Link(name="last", joint=turn, rigid=body)]


def sliding_robot(
    seed: int, place: str, kind: str, drive: Drive | None = None, links: list[Link] | None = None
) -> Robot:
    """An arm with a sliding link in its middle, at its end, or both."""
    rng = np.random.default_rng(seed)
    links = neighbors() if links is None else links
    if place in ("middle", "both"):
        links.insert(1, sliding_link(rng, "inner", kind, drive))
    if place in ("end", "both"):
        links.append(sliding_link(rng, "outer", kind, None if place == "both" else drive))
    payload = Lump(mass=0.3, inertia=(0.01, 0.02, 0.02), com=(0.05, 0.02, 0.01))
    return Robot(name="random", gravity=tuple(rng.normal(size=3) * 5), links=links, payload=payload)


def sliding_state(chain: Chain, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=chain.n) * 0.02, rng.normal(size=chain.n) * 0.4
    q[: chain.n_joints], qd[: chain.n_joints] = rng.normal(size=(2, chain.n_joints))
    for index, (low, high) in chain.travels().items():
        q[index] = low + (high - low) * rng.uniform(0.2, 0.9)
    return q, qd, rng.normal(size=chain.n_joints)


DRIVES = {
    "direct": None,
    "rotor": Drive(rotor_inertia=0.01, gear_ratio=4.0),
    "elastic": Drive(stiffness=200.0, rotor_inertia=0.01, gear_ratio=4.0, damping=0.1),
}


def inertial(chain: Chain, formulation: str, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Velocity and gravity terms alone: the strain, which is larger, is the same for all and would hide a fault."""
    Q_, QD_ = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    f = ca.Function("h", [Q_, QD_], [FORMULATIONS[formulation].inertial_forces(chain, Q_, QD_)], {"cse": True})
    return np.array(f(q, qd)).ravel()


def compare(robot: Robot, seed: int, formulation: str = "denoc") -> None:
    chain = build_chain(robot)
    q, qd, tau = sliding_state(chain, seed)
    ours, judge = functions(chain, formulation), functions(chain, "lagrange")
    M, expected = ours[0](q), judge[0](q)
    np.testing.assert_allclose(M, expected, atol=1e-12 * np.abs(expected).max())
    h, expected = (inertial(chain, name, q, qd) for name in (formulation, "lagrange"))
    np.testing.assert_allclose(h, expected, atol=1e-10 * np.abs(expected).max())
    assert np.linalg.eigvalsh(M)[0] > 0
    bias = ours[1](q, qd)
    force = np.array(ca.evalf(ca.densify(chain.actuation()))) @ tau
    np.testing.assert_allclose(M @ ours[2](q, qd, tau) + bias, force, atol=1e-9 * np.abs(bias).max())


@pytest.mark.slow_cases("end-clamped-free", "middle-elements", "middle-rigid")
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        *(("end", "clamped-free"), ("end", "clamped-mass"), ("middle", "elements"), ("middle", "rigid")),
        pytest.param("middle", "clamped-free", marks=pytest.mark.full),
        pytest.param("middle", "clamped-mass", marks=pytest.mark.full),
        pytest.param("end", "elements", marks=pytest.mark.full),
        pytest.param("end", "rigid", marks=pytest.mark.full),
    ],
)
def test_recursion_agrees_with_the_energy_judge(place: str, kind: str) -> None:
    compare(sliding_robot(11, place, kind), 5)


@pytest.mark.slow_cases("rotor")
@pytest.mark.parametrize("drive", ["rotor", "elastic"])
def test_recursion_agrees_with_drives(drive: str) -> None:
    compare(sliding_robot(4, "end", "clamped-free", DRIVES[drive]), 6)


@pytest.mark.slow_cases("lagrange")
@pytest.mark.parametrize(
    "name",
    ["denoc", "lagrange", *(pytest.param(n, marks=pytest.mark.full) for n in ("gibbs-appell", "recursive-lagrange"))],
)
def test_the_rotor_of_a_slide_adds_its_reflected_inertia(name: str) -> None:
    """J N^2 on the slide and nowhere else, whichever way the equations are made."""
    geared, direct = (build_chain(sliding_robot(4, "end", "clamped-free", drive)) for drive in (DRIVES["rotor"], None))
    q, qd, tau = sliding_state(geared, 6)
    added = functions(geared, name)[0](q) - functions(direct, name)[0](q)
    slide = next(iter(geared.travels()))
    expected = np.zeros_like(added)
    expected[slide, slide] = 0.01 * 4.0**2
    np.testing.assert_allclose(added, expected, atol=1e-12)
    M, bias, _ = functions(direct, name)  # and in the recursion that forms no matrix
    qdd = functions(geared, name)[2](q, qd, tau)
    force = np.array(ca.evalf(ca.densify(direct.actuation()))) @ tau
    left = (M(q) + expected) @ qdd + bias(q, qd)
    np.testing.assert_allclose(left, force, atol=1e-9 * np.abs(bias(q, qd)).max())


@pytest.mark.slow_cases("denoc", "gibbs-appell", "recursive-lagrange")
@pytest.mark.parametrize("name", [name for name, f in FORMULATIONS.items() if "sliding beams" in f.supports])
def test_every_formulation_that_slides_agrees(name: str) -> None:
    compare(sliding_robot(7, "middle", "clamped-free"), 8, name)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["middle", "end", "both"])
def test_recursion_agrees_on_many(place: str, kind: str, seed: int) -> None:
    links = list(random_robot(seed, 2, elements=False).links)
    compare(sliding_robot(100 + seed, place, kind, list(DRIVES.values())[seed % 3], links), seed)


def test_linear_rotation_keeps_the_inertia_of_the_judge() -> None:
    chain = build_chain(sliding_robot(2, "end", "clamped-free"), rotation="linear")
    q, _, _ = sliding_state(chain, 1)
    expected = functions(chain, "lagrange")[0](q)
    np.testing.assert_allclose(functions(chain, "denoc")[0](q), expected, atol=1e-9 * np.abs(expected).max())


# -------------------------------------------------------------------------------------------------------------- limits


def test_a_rigid_sliding_beam_is_a_rigid_prismatic_link() -> None:
    sliding = sliding_robot(8, "middle", "rigid")
    link = sliding.links[1]
    beam = link.beam
    assert beam is not None
    total, mu = float(beam.total_length or 0), float(beam.mass_per_length or 0)
    sleeve = Link(
        name="sleeve",
        joint=Joint(type="fixed", origin=link.joint.origin, hub=link.joint.hub),
        rigid=RigidBody(mass=0.0, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0), tip=(0.0, 0.0, 0.0)),
    )
    across = mu * total**3 / 12
    rod = Link(
        name="inner",
        joint=Joint(type="prismatic", axis=(1.0, 0.0, 0.0), friction=link.joint.friction),
        rigid=RigidBody(
            mass=mu * total, com=(-total / 2, 0.0, 0.0), inertia=(0.02 * total, across, across), tip=(0.0, 0.0, 0.0)
        ),
        tip=link.tip,
    )
    prismatic = sliding.model_copy(update={"links": (sliding.links[0], sleeve, rod, *sliding.links[2:])})
    chain, plain = build_chain(sliding), build_chain(prismatic)
    assert chain.coordinates == plain.coordinates
    q, qd, tau = sliding_state(chain, 3)
    for ours, theirs, given in zip(functions(chain, "denoc"), functions(plain, "denoc"), ((q,), (q, qd), (q, qd, tau))):
        expected = theirs(*given)
        np.testing.assert_allclose(ours(*given), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.slow_cases("clamped-mass-0.1", "clamped-mass-0.6", "clamped-mass-1.2")
@pytest.mark.parametrize("l", [0.1, 0.6, 1.2])
@pytest.mark.parametrize("shapes", [TWO, FOLLOWED], ids=["clamped-free", "clamped-mass"])
def test_modal_damping_keeps_its_ratio_at_every_length(shapes: dict[str, object], l: float) -> None:
    """Bare with clamped-free modes, with a payload with clamped-mass ones: every mode is damped by 2 zeta omega."""
    payload = Lump() if shapes is TWO else Lump(mass=PAYLOAD)
    chain = build_chain(arm({**shapes, "damping": 0.03}, payload=payload))
    q = np.array([0.0, l, 0.0, 0.0])
    Q_, QD_ = ca.SX.sym("q", 4), ca.SX.sym("qd", 4)
    f = ca.Function(
        "KC", [Q_], [ca.hessian(strain_energy(chain, Q_), Q_)[0], ca.jacobian(passive(chain, Q_, QD_), QD_)]
    )
    K, C = (np.array(x)[2:, 2:] for x in f(q))
    M = functions(chain, "denoc")[0](q)[2:, 2:]
    squares, Phi = eigh(K, M)
    np.testing.assert_allclose(
        Phi.T @ C @ Phi, np.diag(2 * 0.03 * np.sqrt(squares)), atol=1e-9 * np.sqrt(squares.max())
    )


def test_symbols_reach_the_trace() -> None:
    robot = arm(TWO)
    changed = {"links.arm.beam.EI_z": 500.0, "links.arm.beam.mass_per_length": 0.5, "links.arm.beam.total_length": 1.5}
    symbols = {path: ca.SX.sym(path) for path in changed}
    q, qd = ca.SX.sym("q", 4), ca.SX.sym("qd", 4)
    bias = equations(build_chain(robot, symbols=symbols), "denoc").bias(q, qd)
    f = ca.Function("bias", [q, qd, ca.vertcat(*symbols.values())], [bias])
    expected = functions(build_chain(robot.replace(changed)), "denoc")[1](Q, QD)
    np.testing.assert_allclose(np.array(f(Q, QD, list(changed.values()))).ravel(), expected, rtol=1e-12)


# --------------------------------------------------------------------------------------------------------- free motion


def run(chain: Chain, q: np.ndarray, qd: np.ndarray, end: float, rtol: float = 1e-10) -> tuple[np.ndarray, float]:
    """End state, and the largest change of the total energy over the run beside the kinetic energy at its start."""
    n = chain.n
    forward = functions(chain, "denoc")[2]
    Q_, QD_ = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    T = kinetic_energy(chain, Q_, QD_)
    E = ca.Function("E", [Q_, QD_], [T + strain_energy(chain, Q_) + gravity_energy(chain, Q_), T])
    rest = np.zeros(chain.n_joints)
    run = solve_ivp(
        lambda t, x: np.concatenate([x[n:], forward(x[:n], x[n:], rest)]),
        (0, end), np.concatenate([q, qd]), "DOP853", rtol=rtol, atol=1e-12,
    )  # fmt: skip
    energy = np.array([float(E(x[:n], x[n:])[0]) for x in run.y.T])
    return run.y[:, -1], float(np.abs(energy - energy[0]).max() / float(E(q, qd)[1]))


@pytest.mark.slow_cases("clamped-free", "clamped-mass", "elements")
@pytest.mark.parametrize("name", ["clamped-free", "clamped-mass", "elements", "rigid"])
def test_energy_of_a_free_beam_that_slides_out(name: str) -> None:
    """The soft case of the notes: rtol 1e-10 leaves 1e-12 of the energy (stiff elements included)."""
    shapes = {"elements": {"method": "elements", "count": 1, "bending_y": True}, "rigid": None}.get(
        name, FOLLOWED if name == "clamped-mass" else TWO
    )
    chain = build_chain(arm(shapes, EI=(10.0, 10.0)))
    q, qd = np.zeros(chain.n), np.zeros(chain.n)
    q[1], qd[:2] = 0.4, (2.0, 1.0)
    end, drift = run(chain, q, qd, 0.5)
    assert drift < 1e-11
    if name == "rigid":
        np.testing.assert_allclose(end[:2], [0.98676928, 0.90674222], atol=1e-8)
    if name == "clamped-mass":  # against the converged Ritz solution: the error of two modes, 3.4e-4 of a peak of 0.03
        Q_ = ca.SX.sym("q", chain.n)
        tip = ca.Function("tip", [Q_], [chain.links[1].body.point(chain.body(chain.links[1], Q_), 1.0)[0]])
        assert float(tip(end[: chain.n])[1]) == pytest.approx(-0.0101301, abs=1.5e-5)
        np.testing.assert_allclose(end[:2], [0.9888700, 0.9047596], atol=2e-5)


@pytest.mark.slow
def test_energy_of_an_arm_with_a_child_on_the_sliding_tip() -> None:
    robot = sliding_robot(3, "middle", "clamped-free")
    chain = build_chain(_conservative(robot))
    q, qd, _ = sliding_state(chain, 2)
    q[chain.n_joints :] = 0.0
    q[list(chain.travels())] = chain.rest()[list(chain.travels())]
    assert run(chain, q, 0.5 * qd, 0.1)[1] < 1e-11


def _conservative(robot: Robot) -> Robot:
    data = robot.model_dump()
    for link in data["links"]:
        link["joint"]["friction"] = {}
        if link["shapes"]:
            link["shapes"]["damping"] = 0.0
    return Robot(**data)
