"""Couplings between frames: forces by virtual work, energy, hydraulics against equations that are integrated
elsewhere, and that every way to run an arm has them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from coupled_arms import CRANE_START, EYE, LIFT, PIVOT, boom, crane, lift_length, strung
from pliant import Frame, Joint, Link, RigidBody, Robot
from pliant.mechanics.constraints.coupling_laws import TautCable
from pliant.mechanics.links.builders.build_laws import line_drive
from pliant.robot import Coupling, Cylinder, Loop, LoopJoint

G = 9.81


def moment(angle: float) -> float:
    """Of the boom's weight about its joint, by hand."""
    return 150.0 * G * (1.3 * np.cos(angle) - 0.1 * np.sin(angle))


@pytest.mark.parametrize("angle", [0.1, 0.5, 0.9])
def test_a_cylinder_carries_what_virtual_work_says(angle: float) -> None:
    """f dL = weight dz; its pressures hold that force, and stay where they are."""
    run = pliant.simulate(boom().model(), 1.0, {"boom": angle}, rtol=1e-10, method="rodas5p")
    L, slope = lift_length(angle)
    assert run["lift.length"][0] == pytest.approx(L, rel=1e-14)
    assert run["lift.force"][0] == pytest.approx(moment(angle) / slope, rel=1e-10)
    a, b = run["lift.pressure_a"], run["lift.pressure_b"]
    assert 8e-3 * a - 5e-3 * b == pytest.approx(np.full(len(run), moment(angle) / slope), rel=1e-9)
    assert np.ptp(a) < 1e-9 * a[0]
    assert np.ptp(run["boom"]) < 1e-12
    assert a[0] + b[0] == pytest.approx(2e7)


def test_flexible_booms_rest_on_their_cylinders() -> None:
    """Nothing moves from a start at equilibrium with closed valves, whatever bends; leakage lets the arm move."""
    run = pliant.simulate(crane().model(), 0.5, CRANE_START, equilibrium=True, rtol=1e-9)
    assert np.abs(run.qdd[0]).max() < 1e-6
    for name in ("lift.pressure_a", "lift.pressure_b", "reach.pressure_a", "reach.pressure_b"):
        assert np.ptp(run[name]) < 1e-9 * 2e7
    assert np.abs(run.q[0, 2:]).max() > 1e-4
    assert np.ptp(run.q, axis=0).max() < 1e-9
    leaking = pliant.simulate(boom(leakage=1e-11).model(), 1.0, {"boom": 0.5})
    assert abs(leaking["boom"][-1] - 0.5) > 1e-3
    assert np.ptp(leaking["lift.pressure_a"] - leaking["lift.pressure_b"]) > 1e5


def radau(opening: Any, t: np.ndarray, bandwidth: float, leakage: float) -> np.ndarray:
    """The boom on its cylinder, written down anew in pascals: angle, rate, two pressures, spool."""
    inertia = 90.0 + 150.0 * (1.3**2 + 0.1**2)
    (A, B), stroke, dead = LIFT["areas"], LIFT["stroke"], LIFT["dead_length"]

    def root(dp: float) -> float:
        return dp / (dp * dp + 1e8) ** 0.25

    def rates(time: float, x: np.ndarray) -> list[float]:
        angle, rate, a, b, u = x
        L, slope = lift_length(angle)
        v, K = slope * rate, 1e-3 / np.sqrt(1e6)
        leak = leakage * (a - b)
        if u >= 0:
            into_a, into_b = K * u * root(2e7 - a), -K * u * root(b)
        else:
            into_a, into_b = K * u * root(a), -K * u * root(2e7 - b)
        pa = 1.4e9 / (0.05 * A * stroke + A * (L - dead)) * (into_a - A * v - leak)
        pb = 1.4e9 / (0.05 * B * stroke + B * (stroke - L + dead)) * (into_b + B * v + leak)
        if pa < 0:
            pa *= min(max(a / 1e5, 0.0), 1.0)
        if pb < 0:
            pb *= min(max(b / 1e5, 0.0), 1.0)
        spool = 2 * np.pi * bandwidth * (np.clip(opening(time), -1, 1) - u)
        return [rate, (slope * (a * A - b * B) - moment(angle)) / inertia, pa, pb, spool]

    _, slope = lift_length(0.5)
    force = moment(0.5) / slope
    a = (force + B * 2e7) / (A + B)
    start = [0.5, 0.0, a, 2e7 - a, 0.0]
    ends = [0.0, 0.15, 0.3, float(t[-1])]
    found = [np.array(start)[:, None]]
    for first, last in pairwise(ends):
        rows = t[(t > first) & (t <= last)]
        part = solve_ivp(rates, (first, last), found[-1][:, -1], "Radau", rows, rtol=1e-9, atol=[1e-11] * 2 + [0.01] * 2
                         + [1e-11])  # fmt: skip
        assert part.success
        found.append(part.y)
    return np.hstack(found)


def test_oil_flows_as_pressures_say(rng: np.random.Generator) -> None:
    """Rates of pressures and spool, in pascals by hand; the drops at the edges lie below and above the laminar one."""
    supply, tank, flow, drop, laminar = 9e6, 3e5, 7e-4, 6e5, 4e4
    robot = boom(
        {"flow": flow, "pressure_drop": drop, "laminar": laminar, "bandwidth": 15.0},
        supply=supply, tank=tank, bulk_modulus=1.1e9, leakage=3e-11, dead_volumes=(4e-4, 3e-4),
    )  # fmt: skip
    drive = line_drive(robot.couplings[0])
    assert drive is not None
    command, L, rate, y = ca.SX.sym("u"), ca.SX.sym("L"), ca.SX.sym("v"), ca.SX.sym("y", 3)
    found = ca.Function("rates", [command, L, rate, y], [ca.vertcat(*drive.rates(command, L, rate, ca.vertsplit(y)))])
    (A, B), dead = LIFT["areas"], LIFT["dead_length"]

    def edge(fall: float) -> float:
        """Through an open edge: the root of the drop far above the laminar one, in proportion far below."""
        return flow / np.sqrt(drop) * fall / (fall**2 + laminar**2) ** 0.25

    for k in range(24):
        u, spool, x, v = rng.uniform(-1.5, 1.5), rng.uniform(-1, 1), rng.uniform(0.1, 0.8), 0.1 * rng.normal()
        near = laminar * 10.0 ** rng.uniform(-1.0, 1.0)  # of one side to the pump, of the other to the tank
        a, b = (supply - near, tank + 2 * near) if k % 2 else (tank + near, supply - 2 * near)
        if spool > 0:
            into_a, into_b = spool * edge(supply - a), -spool * edge(b - tank)
        else:
            into_a, into_b = spool * edge(a - tank), -spool * edge(supply - b)
        past = 3e-11 * (a - b)  # from the higher pressure to the lower
        rise = (1.1e9 / (4e-4 + A * x) * (into_a - A * v - past),
                1.1e9 / (3e-4 + B * (LIFT["stroke"] - x)) * (into_b + B * v + past))  # fmt: skip
        expected = [rise[0] / 1e6, rise[1] / 1e6, 2 * np.pi * 15.0 * (np.clip(u, -1, 1) - spool)]
        assert np.array(found(u, dead + x, v, [a / 1e6, b / 1e6, spool])).ravel() == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_a_step_of_the_valve_against_equations_integrated_elsewhere() -> None:
    """Up, stop, down: the valve of a run beside SciPy's Radau."""
    model = boom({"bandwidth": 20.0}, leakage=2e-13).model()
    times, values = [0.0, 0.15, 0.3], [[0.9], [0.0], [-0.7]]
    run = pliant.simulate(
        model, 0.5, {"boom": 0.5}, torque=(times, values, "hold"), method="rodas5p", rtol=1e-10, atol=1e-12
    )

    def opening(t: float) -> float:
        return values[int(np.searchsorted(times, t, side="left") - 1) if t > 0 else 0][0]

    other = radau(opening, run.t, 20.0, 2e-13)
    assert run["boom"].max() > 0.53
    for name, row in (("boom", 0), ("lift.pressure_a", 2), ("lift.pressure_b", 3), ("lift.valve", 4)):
        wide = np.abs(other[row]).max()
        assert np.abs(run[name] - other[row]).max() < 1e-6 * wide, name
    assert np.abs(run.energy_balance).max() < 1e-6 * max(run.energy.kinetic.max(), 1.0)


@pytest.mark.parametrize("opening", [1.0, -1.0])
def test_cushions_end_the_stroke(opening: float) -> None:
    """A valve that stays open drives the piston into its end, which holds the pump's pressure."""
    run = pliant.simulate(boom().model(), 12.0, {"boom": 0.5}, torque=[opening], method="rodas5p")
    end = 0.7 if opening < 0 else 1.6
    beyond = (run["lift.length"][-1] - end) * np.sign(opening)
    assert 0 < beyond < 3e-3
    a, b = (run[f"lift.pressure_{side}"][-1] for side in "ab")
    assert (a if opening > 0 else b) == pytest.approx(2e7, rel=1e-3)
    _, slope = lift_length(run["boom"][-1])
    assert run["lift.force"][-1] == pytest.approx(moment(run["boom"][-1]) / slope, rel=1e-4)
    assert min(run["lift.pressure_a"].min(), run["lift.pressure_b"].min()) > -1e-3


def test_pressures_do_not_fall_below_zero() -> None:
    """A boom pulled up by a torque on its joint draws no tension from oil behind a closed valve."""
    robot = boom().replace({"links.boom.joint.actuated": True})
    later = ([0.0, 0.02], [[0.0, 0.0], [2e5, 0.0]], "hold")
    run = pliant.simulate(robot.model(), 0.2, {"boom": 0.5}, torque=later, method="rodas5p")
    assert run["lift.pressure_a"].min() >= -1e-3
    assert run["lift.pressure_a"].min() < 1e5


def test_energy_of_springs_and_cables_is_kept() -> None:
    """Springs, cables and constant forces store energy, dampers take it, commanded forces do work."""
    model = strung().model()
    run = pliant.simulate(model, 1.5, {"upper": 0.3, "fore": -0.2}, torque={"ram": 30.0}, rtol=1e-9, atol=1e-11)
    scale = run.energy.kinetic.max()
    assert np.abs(run.energy_balance).max() < 1e-7 * scale
    assert np.abs(run.power_residual).max() < 1e-9 * scale / 1e-3
    assert run["rope.force"].min() < -1.0
    assert run["rope.force"].max() == 0.0
    assert run["ram.force"] == pytest.approx(50.0)
    L, rate = run["strut.length"], np.gradient(run["strut.length"], run.t, edge_order=2)
    assert run["strut.force"][50:-50] == pytest.approx((-800 * (L - 0.4) - 15 - 12 * rate)[50:-50], abs=0.3)


@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("flexible", [False, True])
def test_all_formulations_have_the_same_forces(flexible: bool, rng: np.random.Generator) -> None:
    """Against the derivative of lengths that are measured between frames."""
    robot = strung(flexible)
    names = [name for name in pliant.robot.FORMULATIONS if not (flexible and name == "dual-screw")]
    models, bare = [robot.model(formulation=name) for name in names], robot.replace({"couplings": []}).model()
    n, h = bare.n, 1e-6

    def length(q: np.ndarray, first: str, second: str) -> float:
        return float(np.linalg.norm(bare.pose(q, frame=second)[:3, 3] - bare.pose(q, frame=first)[:3, 3]))

    for _ in range(4):
        q = rng.uniform(-0.5, 0.5, n) * np.where(np.arange(n) < 2, 1.0, 0.05)
        qd, qdd = rng.normal(size=n), rng.normal(size=n)
        found = [model.inverse_dynamics(q, qd, qdd) for model in models]
        assert max(np.abs(x - found[0]).max() for x in found) < 1e-9 * np.abs(found[0]).max()
        ends = [("post", "mid"), ("post", "fore.tip"), ("mid", "tip")]
        J = np.array([[(length(q + h * e, *pair) - length(q - h * e, *pair)) / (2 * h) for e in np.eye(n)]
                      for pair in ends])  # fmt: skip
        L, rate = np.array([length(q, *pair) for pair in ends]), J @ qd
        x = L[1] - 0.85
        taut = 3e3 * (0.0 if x < -0.02 else x if x > 0.02 else (x + 0.02) ** 2 / 0.08)
        pull = [800 * (L[0] - 0.4) + 15 + 12 * rate[0], taut * max(1 + 0.4 * rate[1], 0.0), -20.0]
        assert found[0] == pytest.approx(bare.inverse_dynamics(q, qd, qdd) + J.T @ pull, rel=1e-6, abs=1e-5)
        q_sym = ca.SX.sym("q", n)
        V = ca.Function(
            "V",
            [q_sym],
            [
                ca.gradient(
                    pliant.mechanics.formulations.generalized_forces.strain_energy(models[0].chain, q_sym), q_sym
                )
            ],
        )
        strain = (
            np.array(V(q)).ravel()
            - np.array(
                ca.Function(
                    "V",
                    [q_sym],
                    [
                        ca.gradient(
                            pliant.mechanics.formulations.generalized_forces.strain_energy(bare.chain, q_sym), q_sym
                        )
                    ],
                )(q)
            ).ravel()
        )
        assert strain == pytest.approx(J.T @ [800 * (L[0] - 0.4) + 15, taut, -20.0], rel=1e-6, abs=1e-5)


def test_a_cable_does_not_push() -> None:
    """Its pull is the slope of its energy, smooth, and never negative, however fast it shortens."""
    law, L, v = TautCable(2e3, 1.0, 0.5, 0.01), ca.SX.sym("L"), ca.SX.sym("v")
    f = ca.Function("f", [L, v], [law.pull(L) + law.resisting(L, v), law.pull(L) - ca.gradient(law.energy(L), L)])
    x, rate = (part.ravel()[None] for part in np.meshgrid(np.linspace(0.9, 1.1, 81), np.linspace(-9, 9, 19)))
    force, wrong = (np.array(part) for part in f(x, rate))
    assert force.min() == 0.0
    assert force.max() > 100.0
    assert np.abs(wrong).max() < 1e-12
    assert float(f(1.0, 0.0)[0]) == pytest.approx(2e3 * 0.01 / 4)


def test_two_cylinders_side_by_side_share_a_load() -> None:
    """Half the force each."""
    one = boom()
    double = Robot.from_dict(
        one.to_dict() | {"couplings": [c.model_copy(update={"name": n}).model_dump() for c in one.couplings
                                       for n in ("left", "right")]}
    )  # fmt: skip
    run = pliant.simulate(double.model(), 0.2, {"boom": 0.5}, rtol=1e-10)
    assert run["left.force"] == pytest.approx(run["right.force"], rel=1e-3)
    assert run["left.force"][0] == pytest.approx(moment(0.5) / lift_length(0.5)[1] / 2, rel=1e-3)


def test_batches_and_steppers_have_cylinders() -> None:
    """An arm alone and among others to the bit; a stepper and a single run to rounding."""
    model = boom({"bandwidth": 20.0}).model()
    q0 = np.array([[0.4], [0.5], [0.6]])
    given: dict[str, Any] = {"torque": [0.4], "method": "rk4", "step": 1e-4, "output_step": 0.05}
    batch = pliant.simulate_batch(model, 0.2, q0, **given)
    alone = pliant.simulate_batch(model, 0.2, q0[1:2], **given)
    assert np.array_equal(batch.q[1], alone.q[0])
    run = pliant.simulate(model, 0.2, q0[1], **given)
    assert np.abs(batch.q[1] - run.q).max() < 1e-10
    stepper = pliant.Stepper(model, q0={"boom": 0.5})
    assert 1e-6 < stepper.step_length < 1e-3
    stepper.step(0.2, [0.4])
    assert stepper.q == pytest.approx(run.q[-1], abs=1e-6)


def test_an_own_step_resolves_a_cable_that_is_slack() -> None:
    """A weight on a cable: sqrt(k / m) once it is taut, though nothing holds it at rest; and a damper that is fast."""
    body = RigidBody(mass=2.0, inertia=(0.1, 0.1, 0.1))
    link = Link(name="weight", joint=Joint(type="prismatic", axis=(0, 0, 1)), rigid=body)
    top = Frame(name="top", link="base", origin={"xyz": (0, 0, 1.0)})
    rope = {"name": "rope", "between": ["top", "tip"], "cable": {"stiffness": 5e4, "length": 1.5}}
    given = {"name": "hung", "links": [link], "frames": [top]}
    step = pliant.Stepper(Robot(**given, couplings=[rope]).model()).step_length
    assert step == pytest.approx(0.4 / (1.3 * np.sqrt(5e4 / 2.0)), rel=1e-9)
    damped = Robot(**given, couplings=[rope | {"damping": 4e3}]).model()
    assert pliant.Stepper(damped).step_length == pytest.approx(0.4 / (4e3 / 2.0), rel=1e-9)


@pytest.mark.slow
def test_results_are_kept(tmp_path: Path) -> None:
    """Pressures, forces and lengths after saving; columns of a table by their names."""
    run = pliant.simulate(boom().model(), 0.1, {"boom": 0.5}, torque={"lift": 0.3})
    again = pliant.Result.load(run.save(tmp_path / "run.nc"))
    for name in ("lift.pressure_a", "lift.pressure_b", "lift.force", "lift.length"):
        assert np.array_equal(again[name], run[name]), name
    assert "lift.force" in run.to_csv(tmp_path / "run.csv").read_text().splitlines()[1].split(",")
    assert Robot.from_dict(run.robot.to_dict()) == run.robot
    bends = pliant.simulate(crane().model(), 0.02, CRANE_START, equilibrium=True)
    assert "crane" in Path(bends.to_html(tmp_path / "run.html")).read_text()
    assert [one.link for one in bends.validity] == ["boom", "jib"]
    assert max(one.error for one in bends.validity) < 1e-4


def test_numbers_of_couplings_are_parameters() -> None:
    """Stiffness, areas and pressures may be symbols of a model."""
    model = strung().model(parameters=["couplings.0.spring.stiffness", "couplings.1.cable.length"])
    q, zero = np.full(model.n, 0.05), np.zeros(model.n)
    at = [model.bias(q, zero, [k, 0.85]) for k in (800.0, 900.0, 1000.0)]
    assert at[2] - at[1] == pytest.approx(at[1] - at[0])
    assert np.abs(at[1] - at[0]).max() > 1.0
    lifted = boom().model(parameters=["couplings.0.cylinder.supply", "couplings.0.cylinder.areas.0"])
    run = pliant.simulate(lifted, 0.05, {"boom": 0.5}, p=[1.8e7, 9e-3])
    assert run["lift.pressure_a"][0] + run["lift.pressure_b"][0] == pytest.approx(1.8e7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"between": ["foot", "eyes"]}, "frame `eyes`, which is not there, did you mean `eye`"),
        ({"between": ["eye", "eye"]}, "name two frames"),
        ({"name": "boom"}, "called like a joint or a coupling"),
        ({"cylinder": None}, "give `spring`"),
        ({"cylinder": {**LIFT, "valve": {"flow": 1e-3}, "areas": [8e-3, -5e-3]}}, "above 0"),
        ({"cylinder": {**LIFT, "valve": {"flow": 1e-3}, "areas": [5e-3, 8e-3]}}, "exchange them"),
        ({"cylinder": {**LIFT, "valve": {"flow": 1e-3}, "supply": 1e5, "tank": 2e5}}, "not below `supply`"),
        ({"cylinder": {**LIFT, "valve": {"flow": 1e-3}, "boar": 0.1}}, "boar"),
        ({"force": {"commanded": True}}, "both commanded"),
    ],
)
def test_couplings_that_cannot_be(change: dict[str, Any], words: str) -> None:
    """Each in one line that says what to do."""
    given = boom().to_dict()
    given["couplings"][0] |= change
    with pytest.raises(pliant.ModelError, match=words) as error:
        Robot.from_dict(given)
    assert len(str(error.value).strip().splitlines()) <= 2


def test_starts_and_uses_that_cannot_be() -> None:
    """A cylinder shorter than its dead length, exports that have no states."""
    model = boom().model()
    with pytest.raises(
        pliant.ModelError, match=r"cylinder lift is 0\.6\d* m long there, expected 0\.7 \(its dead_length\)"
    ):
        pliant.simulate(model, 0.1, {"boom": -0.25})
    with pytest.raises(pliant.UnsupportedModel, match="couplings"):
        strung().to_mjcf()
    with pytest.raises(pliant.ModelError, match="expected one of lift"):
        pliant.simulate(model, 0.1, {"boom": 0.5}, torque={"lfit": 1.0})
    grounded = Robot.from_dict(
        strung().to_dict()
        | {"couplings": [Coupling(name="s", between=("world", "tip"), damping=1.0).model_dump(exclude_none=True)]}
    )
    with pytest.raises(pliant.ModelError, match="held by the world; hold it by the base"):
        pliant.simulate(grounded.model(), 0.01, base=pliant.loads.Base(acceleration=[1.0, 0, 0]))


def test_a_cylinder_prints_what_it_is() -> None:
    """In the table of an arm, with volumes that were left out."""
    assert "coupling lift: cylinder between foot and eye" in str(boom())
    assert Cylinder(**LIFT, valve={"flow": 1e-3}).volumes == pytest.approx((0.05 * 8e-3 * 0.9, 0.05 * 5e-3 * 0.9))


def test_a_boom_sways_on_its_oil() -> None:
    """Behind a closed valve a cylinder is a spring, beta (A_a^2 / V_a + A_b^2 / V_b); its force turns with the boom."""
    robot, angle, h = boom(), 0.4, 1e-5
    model = robot.model()
    cylinder, body = robot.couplings[0].cylinder, robot.links[0].rigid
    L, slope = lift_length(angle)
    bent = (lift_length(angle + h)[1] - lift_length(angle - h)[1]) / (2 * h)
    inside = L - cylinder.dead_length
    volumes = [dead + area * x for dead, area, x in
               zip(cylinder.volumes, cylinder.areas, (inside, cylinder.stroke - inside))]  # fmt: skip
    oil = cylinder.bulk_modulus * sum(area**2 / volume for area, volume in zip(cylinder.areas, volumes))
    moment = body.mass * 9.81 * (np.cos(angle) * body.com[0] - np.sin(angle) * body.com[2])
    turning = body.mass * 9.81 * (-np.sin(angle) * body.com[0] - np.cos(angle) * body.com[2])
    K = oil * slope**2 - moment / slope * bent + turning
    inertia = body.inertia[1] + body.mass * (body.com[0] ** 2 + body.com[2] ** 2)
    expected = np.sqrt(K / inertia) / (2 * np.pi)
    assert model.frequencies({"boom": angle}) == pytest.approx([expected], rel=1e-9)


@pytest.mark.slow
def test_a_crane_rings_as_it_sways() -> None:
    """Its first frequency in the plane of the booms is that of a run that is struck a little."""
    model = pliant.load("hydraulic-crane").model(stiffening="off")
    run = pliant.simulate(
        model, 3.0, {"boom": 0.4, "jib": -1.0}, {"jib": 0.01}, equilibrium=True, motion={"column": lambda t: 0.0 * t},
        progress=False, output_step=2e-3,
    )  # fmt: skip
    found = run["boom"] - run["boom"].mean()
    crossings = run.t[1:][(found[1:] > 0) & (found[:-1] <= 0)]
    measured = 1 / np.diff(crossings).mean()
    lowest = [f for f in model.frequencies(run.q[0]) if f > 0.1]
    assert min(abs(f / measured - 1) for f in lowest[:3]) < 0.03


# ----------------------------------------------------------------------------------------------- cylinders with mass

HALVES = {"barrel": (14.0, 0.33, 0.6), "rod": (9.0, -0.4, 0.4)}
"""Mass, center of mass along the line from foot or eye, and moment about it."""


def heavy_boom(scale: float = 1.0) -> tuple[pliant.Robot, dict[str, float]]:
    """A boom on a cylinder of two rigid halves on a sliding pair, closed as a loop; and a closed start."""
    plain = boom()

    def half(name: str, joint: pliant.Joint, **more: Any) -> pliant.Link:
        mass, com, inertia = HALVES[name]
        moments = (0.1 * scale * inertia, scale * inertia, scale * inertia)
        body = pliant.RigidBody(mass=scale * mass, com=(com, 0, 0), inertia=moments)
        return pliant.Link(name=name, joint=joint, rigid=body, **more)

    foot = pliant.Joint(axis=(0, -1, 0), actuated=False, origin={"xyz": (PIVOT[0], 0, PIVOT[1])})
    slide = pliant.Joint(type="prismatic", axis=(1, 0, 0), actuated=False)
    links = (*plain.links, half("barrel", foot, parent="base"), half("rod", slide))
    loop = Loop(name="pin", between=("rod.tip", "eye"), joint=LoopJoint(type="spherical"))
    line = np.exp(0.4j) * complex(*EYE) - complex(*PIVOT)
    start = {"boom": 0.4, "barrel": float(np.angle(line)), "rod": abs(line)}
    return plain.model_copy(update={"links": links, "loops": (loop,)}), start


def test_a_cylinder_with_mass_carries_its_halves() -> None:
    """At rest by virtual work, 1e-10; its valve closed, nothing moves."""
    robot, start = heavy_boom()
    run = pliant.simulate(robot.model(), 0.05, start, method="rodas5p", progress=False)
    body = robot.links[0].rigid

    def height(angle: float) -> float:
        line = np.exp(1j * angle) * complex(*EYE) - complex(*PIVOT)
        u = line / abs(line)
        found = body.mass * (np.exp(1j * angle) * complex(body.com[0], body.com[2])).imag
        found += HALVES["barrel"][0] * HALVES["barrel"][1] * u.imag
        return 9.81 * float(found + HALVES["rod"][0] * (line + HALVES["rod"][1] * u).imag)

    h = 1e-3  # sixth order
    weights = {1: 45, 2: -9, 3: 1}
    slope = sum(w * (height(0.4 + k * h) - height(0.4 - k * h)) for k, w in weights.items()) / (60 * h)
    assert run["lift.force"][0] == pytest.approx(slope / lift_length(0.4)[1], rel=1e-10)
    assert np.abs(run["boom"] - 0.4).max() < 1e-9


@pytest.mark.slow
def test_a_cylinder_with_hardly_any_mass_is_one_with_none() -> None:
    """Through a step of the valve; and with mass it lifts otherwise."""
    opening = ([0.0, 0.05, 0.2], [[0.0], [0.6], [0.0]], "hold")
    options: dict[str, Any] = {"torque": opening, "method": "rodas5p", "output_step": 0.01, "progress": False}
    light, heavy = (pliant.simulate(robot.model(), 0.3, start, **options)
                    for robot, start in (heavy_boom(1e-7), heavy_boom()))  # fmt: skip
    none = pliant.simulate(boom().model(), 0.3, {"boom": 0.4}, **options)
    assert none["boom"][-1] > 0.45
    np.testing.assert_allclose(light["boom"], none["boom"], atol=1e-7)
    assert np.abs(heavy["boom"] - none["boom"]).max() > 1e-5
    assert np.abs(heavy.energy_balance).max() < 1e-5 * heavy.energy.kinetic.max()
    assert np.abs(heavy.model.gaps(heavy.q)).max() < 1e-10


def bent_boom(scale: float | None) -> pliant.Model:
    """A boom that bends, on a cylinder without mass, or of two halves of their masses by `scale`."""
    beam = pliant.Beam(length=3.0, mass_per_length=40.0, EI_y=4e5, EI_z=4e5)
    joint = pliant.Joint(axis=(0, -1, 0), actuated=False)
    link = pliant.Link(name="boom", joint=joint, beam=beam, shapes=pliant.Shapes(bending_z=2, damping=0.01))
    robot = boom() if scale is None else heavy_boom(scale)[0]
    eye = pliant.Frame(name="eye", link="boom", x=1.0, origin={"xyz": (0, 0, -0.1)})
    return robot.model_copy(update={"links": (link, *robot.links[1:]), "frames": (robot.frames[0], eye)}).model()


@pytest.mark.slow
def test_a_cylinder_in_a_loop_starts_at_rest() -> None:
    """What is named stays, the halves follow as the boom bends, and nothing moves behind the closed valve."""
    start = heavy_boom()[1]
    none = pliant.simulate(bent_boom(None), 0.02, {"boom": 0.4}, equilibrium=True, method="rodas5p", progress=False)
    for scale in (1.0, 1e-7):
        model = bent_boom(scale)
        q0 = model.assemble(start, held=["boom"])
        for given in (start, q0):  # by name, and as a whole
            run = pliant.simulate(model, 0.02, given, equilibrium=True, method="rodas5p", progress=False)
            assert run["boom"][0] == pytest.approx(0.4, abs=1e-14)
            assert np.abs(model.gaps(run.q[0])).max() < 1e-13
            assert np.abs(run.q - run.q[0]).max() < 1e-8
            assert np.abs(run["boom.bending_z.1"][0]) > 1e-3
    np.testing.assert_allclose(run["boom.bending_z.1"][0], none["boom.bending_z.1"][0], rtol=1e-6)
    assert run["lift.force"][0] == pytest.approx(none["lift.force"][0], rel=1e-6)
    angle = run["barrel"][0] - start["barrel"]
    assert 1e-4 < abs(angle) < 0.1  # it turned as the eye sank
