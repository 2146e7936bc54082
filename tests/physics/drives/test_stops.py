"""Stops of joints: what they give back, what they hold, and that every way to run an arm meets them."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from pliant import Beam, Joint, Link, RigidBody, Robot, Shapes
from pliant.mechanics.constraints.contact_law import Pressing
from pliant.robot import Limits, Restitution, Stop


def slider(stop: Stop | None, gravity: float = 0.0, **limits: Any) -> pliant.Model:
    """A block of 2 kg that slides along x, and upwards against gravity."""
    body = RigidBody(mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1), tip=(0.1, 0, 0))
    ends = Limits(stop=stop, **({"upper": 0.5} | limits))
    joint = Joint(type="prismatic", axis=(1, 0, 0), limits=ends)
    return Robot(name="block", gravity=(-gravity, 0, 0), links=[Link(name="block", joint=joint, rigid=body)]).model()


def swing(damping: float = 0.3) -> Robot:
    """A flexible arm of two links that falls on the stops of both joints."""
    stop = Stop(stiffness=2e3, damping=damping)
    beam = Beam(length=0.8, mass_per_length=1.2, EI_y=400.0, EI_z=400.0)
    links = [
        Link(name="upper", joint=Joint(axis=(0, 1, 0), limits=Limits(lower=-0.4, upper=0.5, stop=stop)), beam=beam,
             shapes=Shapes(bending_z=2)),
        Link(name="fore", joint=Joint(axis=(0, 1, 0), limits=Limits(lower=-0.3, stop=stop)), beam=beam,
             shapes=Shapes(bending_z=1)),
    ]  # fmt: skip
    return Robot(name="swing", links=links)


@pytest.mark.parametrize("value", [0.05, 0.3, 0.6, 0.8, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("speed", [0.1, 2.0])
def test_a_hit_gives_back_what_was_asked(value: float, speed: float) -> None:
    """A block that hits its stop leaves it with the part of its speed that the file says."""
    stop = Stop(stiffness=3e4, restitution=Restitution(value=value, speed=speed))
    for sign, ends in ((1, {"upper": 0.5}), (-1, {"lower": -0.5, "upper": None})):
        model = slider(stop, **ends)
        run = pliant.simulate(model, 2.0 * 0.2 / (value * speed), {"block": sign * 0.45}, {"block": sign * speed})
        assert run.stats.status == "finished"
        assert run.qd[-1, 0] == pytest.approx(-sign * value * speed, rel=1e-5)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.2])
def test_the_damping_holds_for_every_exponent(exponent: float) -> None:
    """The law integrated elsewhere, from touch to where it lets go."""
    rest = Restitution(value=0.7, speed=1.3)

    def rates(t: float, y: np.ndarray) -> list[float]:
        u = max(y[0], 0.0)
        return [y[1], -1e5 * u**exponent * max(1 + rest.damping * y[1], 0.0)]

    def leaves(t: float, y: np.ndarray) -> float:
        return float(y[0])

    leaves.terminal, leaves.direction = True, -1  # type: ignore[attr-defined]
    run = solve_ivp(rates, (0, 1.0), [0.0, 1.3], "DOP853", rtol=1e-12, atol=1e-14, events=leaves)
    assert -run.y[1, -1] / 1.3 == pytest.approx(0.7, rel=1e-8)
    law, u = Pressing(1e5, rest.damping, exponent), ca.SX.sym("u")
    slope = ca.Function("f", [u], [ca.gradient(law.energy(u), u) - law.elastic(u)])
    assert [abs(float(slope(x))) for x in (-0.01, 0.003)] == pytest.approx([0.0, 0.0], abs=1e-10)


def test_a_stop_never_pulls(rng: np.random.Generator) -> None:
    """However fast the joint leaves it, and it never gives energy."""
    law, u, v = Pressing(1e4, 0.8), ca.SX.sym("u"), ca.SX.sym("v")
    whole = ca.Function("f", [u, v], [law.elastic(u) + law.resisting(u, v), law.resisting(u, v) * v])
    force, lost = whole(rng.uniform(-0.1, 0.1, 400)[None], rng.normal(scale=3.0, size=400)[None])
    assert np.array(force).min() == 0.0
    assert np.array(lost).min() >= 0.0
    assert np.array(lost).max() > 1.0


def test_a_stop_holds_a_load() -> None:
    """A block that falls comes to rest where the stop carries its weight, and swings there as the stop does."""
    model = slider(Stop(stiffness=4e3, damping=2.0), 9.81, lower=-0.2, upper=None)
    run = pliant.simulate(model, 20.0, rtol=1e-10, atol=1e-12)
    rest = -0.2 - 2.0 * 9.81 / 4e3
    assert run["block"][-1] == pytest.approx(rest, abs=1e-7)
    assert model.holding_torque([rest]) == pytest.approx([0.0], abs=1e-9)
    assert model.holding_torque([-0.1]) == pytest.approx([2.0 * 9.81])
    assert model.frequencies([rest], "free") == pytest.approx([np.sqrt(4e3 / 2.0) / (2 * np.pi)])
    A = model.linearize([rest]).A
    assert A[1] == pytest.approx([-4e3 / 2.0, -9.81 * 2.0], rel=1e-9)  # weight times damping over mass


def test_energy_is_kept_without_damping_and_lost_with_it() -> None:
    """The energy in the stop counts as strain; work is what the stop and torques leave."""
    for damping in (0.0, 0.5):
        run = pliant.simulate(swing(damping).model(), 1.5, rtol=1e-9, atol=1e-11, method="dop853")
        scale = run.energy.kinetic.max()
        assert np.abs(run.energy_balance).max() < 1e-6 * scale
        assert (np.abs(run["upper"]).max() > 0.5) or run["upper"].min() < -0.4
        assert (run.work[-1] < -0.01 * scale) == (damping > 0)
        assert np.abs(run.power_residual).max() < 1e-9 * scale / 1e-3


@pytest.mark.parametrize("bends", [False, True])
def test_all_formulations_meet_the_stops(bends: bool, rng: np.random.Generator) -> None:
    """To rounding, beyond the limits and within them; of bending links those that have second order."""
    robot = swing() if bends else swing().replace({"links.upper.shapes": None, "links.fore.shapes": None})
    models = [
        robot.model(formulation=name) for name in pliant.robot.FORMULATIONS if not (bends and name == "dual-screw")
    ]
    free, met = robot.replace({"links.upper.joint.limits": None}).model(), 0
    for _ in range(20):
        q, qd = rng.uniform(-0.9, 0.9, 5) * [1, 1, 0.01, 0.01, 0.01], rng.normal(size=5)
        given = q[: free.n], qd[: free.n], rng.normal(size=2)
        found = [model.forward_dynamics(*given) for model in models]
        assert max(np.abs(a - found[0]).max() for a in found) < 1e-9 * np.abs(found[0]).max()
        met += not np.allclose(found[0], free.forward_dynamics(*given))
    assert 3 < met < 20


def test_batches_and_steppers_have_the_same_bits() -> None:
    """An arm alone and among others to the bit, a single run to rounding."""
    model, q0 = swing().model(), {"upper": 0.2, "fore": 0.1}
    run = pliant.simulate(model, 0.8, q0, method="rk4", step=2e-4)
    assert run["upper"].max() > 0.5
    batch = pliant.simulate_batch(model, 0.8, np.tile([0.2, 0.1], (3, 1)), method="rk4", step=2e-4)
    assert np.abs(batch.q[1, -1] - run.q[-1]).max() < 1e-10
    alone = pliant.simulate_batch(model, 0.8, [[0.2, 0.1]], method="rk4", step=2e-4)
    assert np.array_equal(alone.q[0], batch.q[1])
    stepper = pliant.Stepper(model, q0=q0, step=2e-4)
    for _ in range(8):
        stepper.step(0.1)
    assert np.allclose(stepper.q, run.q[-1], rtol=1e-9)
    block = slider(Stop(stiffness=2e4))
    assert pliant.Stepper(block).step_length < 0.4 / np.sqrt(2e4 / 2.0)


def test_limits_without_a_stop_end_a_run() -> None:
    """As ever; and with one a run goes on."""
    ended = pliant.simulate(slider(None), 1.0, qd0={"block": 1.0})
    assert ended.stats.status == "event"
    assert ended.t[-1] == pytest.approx(0.5)
    assert pliant.simulate(slider(Stop(stiffness=1e5)), 1.0, qd0={"block": 1.0}).stats.status == "finished"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"stop": {"stiffness": 1e4}}, "give `lower` or `upper`"),
        ({"upper": 1.0, "stop": {"stiffness": 0.0}}, "stiffness"),
        ({"upper": 1.0, "stop": {"stiffness": 1e4, "damping": -1.0}}, "damping"),
        ({"upper": 1.0, "stop": {"stiffness": 1e4, "damping": 1.0, "restitution": {"value": 0.5, "speed": 1.0}}},
         "give one of them"),
        ({"upper": 1.0, "stop": {"stiffness": 1e4, "restitution": {"value": 1.5, "speed": 1.0}}}, "above 1"),
        ({"upper": 1.0, "stop": {"stifness": 1e4}}, "stiffness"),
    ],
)  # fmt: skip
def test_stops_that_cannot_be(limits: dict[str, Any], words: str) -> None:
    """Each in one line that says what to do."""
    with pytest.raises(pliant.ModelError, match=words) as error:
        Limits(**limits)
    assert len(str(error.value).splitlines()) <= 2


def test_a_restitution_is_a_constant() -> None:
    """Stiffness and damping may be parameters of a model."""
    robot = swing()
    model = robot.model(parameters=["links.upper.joint.limits.stop.stiffness", "links.upper.joint.limits.upper"])
    q = [0.52, 0, 0, 0, 0]
    assert model.bias(q, np.zeros(5), [1e3, 0.51])[0] - model.bias(q, np.zeros(5), [1e3, 0.6])[0] == pytest.approx(10.0)
    bouncing = robot.replace({"links.upper.joint.limits.stop": {"stiffness": 1e3, "restitution": {"value": 0.5,
                              "speed": 1.0}}})  # fmt: skip
    with pytest.raises(pliant.ModelError, match="give `damping` instead"):
        bouncing.model(parameters=["links.upper.joint.limits.stop.restitution.value"])
