"""What masters and solvers ask of a unit: derivatives, dependencies, limits, tuned parameters, saved states."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant
from arms import unequal_two_link
from exported import needs_compiler
from mock_up import Unit
from pliant.export import export
from pliant.export.targets.fmu import platform_folder
from pliant.model import Model
from pliant.robot import Drive, Limits, Robot

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
pytestmark = needs_compiler

VERSIONS = ("3.0", "2.0")
START = [0.2, 0.3, 0.3, 0.004, -0.002]  # joints, motor, amplitudes
PATHS = ("links.upper.beam.EI_z", "payload.mass")


@cache
def robot() -> Robot:
    return unequal_two_link().replace(
        {
            "links.upper.joint.limits": Limits(upper="85 deg"),
            "links.fore.joint.limits": Limits(lower=-0.5, upper=1.1),
            "links.fore.joint.drive": Drive(stiffness=900.0, rotor_inertia=3e-3, gear_ratio=6.0),
        }
    )


@cache
def arm() -> Model:
    return robot().model(parameters=PATHS)


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Unit]:
    folder = tmp_path_factory.mktemp("clients")
    options = {"q0": START, "compilers": ["cc -O0"]}
    return {v: Unit(export(arm(), "fmu", folder / f"arm{v[0]}", fmi=v, **options), folder) for v in VERSIONS}


@pytest.fixture(params=VERSIONS)
def unit(request: pytest.FixtureRequest, units: dict[str, Unit]) -> Unit:
    return units[request.param]


def test_validation_passes(unit: Unit) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(f"{unit.folder}.fmu") == []


# --------------------------------------------------------------------------------------------------------- derivatives


def state(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    n = arm().n
    return 0.1 * rng.normal(size=n), rng.normal(size=n), 10 * rng.normal(size=2), np.array([1300.0, 0.7])


def ours(q: np.ndarray, qd: np.ndarray, tau: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Rates of the states by states, torques and parameters."""
    n = arm().n
    _, by_q, by_qd, by_tau, by_p = arm().forward_dynamics_derivatives(q, qd, tau, p=p)
    upper = np.hstack([np.zeros((n, n)), np.eye(n), np.zeros((n, 4))])
    return np.vstack([upper, np.hstack([by_q, by_qd, by_tau, by_p])])


def at(unit: Unit, running: Any, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, p: np.ndarray) -> None:
    """Set a state."""
    for name, value in zip((*(f"torque.{j}" for j in arm().joints), *PATHS), (*tau, *p)):
        unit.set(running, name, value)
    unit.rates(running, np.concatenate([q, qd]))


def test_casadi_has_our_jacobian(unit: Unit, tmp_path: Path, rng: np.random.Generator) -> None:
    """`DaeBuilder` reads the unit, and its Jacobian, one color at a time, is ours; backwards too."""
    folder = tmp_path / "unit"
    shutil.copytree(unit.folder, folder)
    if unit.version == "2.0" and platform_folder("2.0") != "linux64":  # the only name that CasADi looks for
        shutil.copytree(folder / "binaries" / platform_folder("2.0"), folder / "binaries" / "linux64")
    builder, (q, qd, tau, p) = ca.DaeBuilder("arm", str(folder), {"debug": False}), state(rng)
    f, x = builder.create("f", ["x", "u", "p"], ["ode"]), np.concatenate([q, qd])
    assert builder.x()[: arm().n] == ["upper", "fore", "fore.motor", "upper.bending_y[1]", "fore.bending_y[1]"]
    right, value = ours(q, qd, tau, p), f(x, tau, p)
    assert np.array(value).ravel()[arm().n :] == pytest.approx(arm().forward_dynamics(q, qd, tau, p=p), rel=1e-9)
    found = np.hstack([block.full() for block in f.jacobian()(x, tau, p, value)])
    assert np.abs(found - right).max() <= 1e-9 * np.abs(right).max()
    w = rng.normal(size=2 * arm().n)
    back = np.concatenate([block.full().ravel() for block in f.reverse(1)(x, tau, p, value, w)])
    assert np.abs(back - right.T @ w).max() <= 1e-9 * np.abs(right.T @ w).max()
    nominal = robot().replace(dict(zip(PATHS, p))).model().linearize(q, qd, tau)
    assert np.abs(found[:, : 2 * arm().n] - nominal.A).max() <= 1e-9 * np.abs(nominal.A).max()


def test_directional_and_adjoint_derivatives(unit: Unit, rng: np.random.Generator) -> None:
    """Rates are those of the model, outputs meet differences, the adjoint is the transpose."""
    q, qd, tau, p = given = state(rng)
    n, names = arm().n, [v.name for v in unit.description.modelVariables]
    known = [unit.references[name] for name in (*names[1 : 1 + 2 * n], *(f"torque.{j}" for j in arm().joints), *PATHS)]
    unknown = [u.variable.valueReference for u in unit.description.derivatives]
    seen = [name for name in names if name.startswith(("tip.", "strain.", "limit."))]
    unknown += [unit.references[name] for name in seen]
    direction = np.concatenate([0.1 * rng.normal(size=2 * n), rng.normal(size=2), [10.0, 0.1]])

    def outputs(running: Any, h: float) -> np.ndarray:
        d = h * direction
        at(unit, running, q + d[:n], qd + d[n : 2 * n], tau + d[2 * n : 2 * n + 2], p + d[2 * n + 2 :])
        return unit.get(running, *seen)

    with unit.instance("model") as running:
        # Richardson's differences: error h^4, and round-off over h
        rough, fine = ((outputs(running, h) - outputs(running, -h)) / (2 * h) for h in (2e-3, 1e-3))
        at(unit, running, *given)
        change = np.array(running.getDirectionalDerivative(unknown, known, direction.tolist()))
        right = ours(*given) @ direction
        assert np.abs(change[: 2 * n] - right).max() <= 1e-11 * np.abs(right).max()
        assert change[2 * n :] == pytest.approx((4 * fine - rough) / 3, rel=1e-6, abs=1e-9)
        assert change[2 * n + seen.index("limit.fore.lower")] == direction[1]
        assert change[2 * n + seen.index("limit.fore.upper")] == -direction[1]
        if unit.version == "3.0":
            w = rng.normal(size=len(unknown)) / np.maximum(np.abs(change), 1e-3)
            back = np.array(running.getAdjointDerivative(unknown, known, w.tolist(), len(known)))
            assert back @ direction == pytest.approx(w @ change, rel=1e-11)
            assert np.count_nonzero(back) == len(known)


def test_wrong_derivatives_are_refused(unit: Unit) -> None:
    with unit.instance("model", log=[]) as running, pytest.raises(Exception, match="DirectionalDerivative"):
        running.getDirectionalDerivative([unit.references["tip.x"]], [unit.references["tip.y"]], [1.0])


def test_dependencies_are_those_of_the_equations(unit: Unit, rng: np.random.Generator) -> None:
    """What is listed covers every derivative that is not zero, and of rates nothing else."""
    root, n = ElementTree.parse(unit.folder / "modelDescription.xml").getroot(), arm().n
    names, first = [v.name for v in unit.description.modelVariables], int(unit.version == "2.0")
    structure = root.find("ModelStructure")
    rows = structure.iter("ContinuousStateDerivative") if first == 0 else structure.find("Derivatives").iter("Unknown")
    key = "valueReference" if first == 0 else "index"
    listed: dict[str, dict[str, str]] = {}
    for row in rows:
        on = [names[int(k) - first] for k in row.get("dependencies").split()]
        listed[names[int(row.get(key)) - first]] = dict(zip(on, row.get("dependenciesKind").split(), strict=True))
    given = [*names[1 : 1 + 2 * n], *(f"torque.{j}" for j in arm().joints), *PATHS]
    nonzero = sum(np.abs(ours(*state(rng))) for _ in range(3)) > 0
    found = np.array([[name in row for name in given] for row in listed.values()])
    assert np.array_equal(found, nonzero)
    assert listed["der(upper)"] == {"der(upper)": "constant"}
    motor = listed["der(fore.motor,2)"]  # rotor and spring alone, by constant numbers
    assert motor == dict.fromkeys(("fore", "fore.motor", "torque.fore"), "constant")
    assert listed["der(fore,2)"]["payload.mass"] == "dependent"
    described = fmpy.read_model_description(f"{unit.folder}.fmu")
    if unit.version == "3.0":
        ends = [e.get("valueReference") for e in structure.iter("EventIndicator")]
        assert [names[int(k)] for k in ends] == ["limit.upper.upper", "limit.fore.lower", "limit.fore.upper"]
    assert described.numberOfEventIndicators == 3
    provided = {"2.0": ["Directional"], "3.0": ["Directional", "Adjoint"]}[unit.version]
    for kind in ("ModelExchange", "CoSimulation"):
        for word in provided:
            assert root.find(kind).get(f"provides{word}Derivative{'s' * (first == 0)}") == "true"


# -------------------------------------------------------------------------------------------------------------- limits


CASES = {"lower": ([3.0, 1.0], "fore at its lower limit"), "upper": ([150.0, 80.0], "fore at its upper limit")}


@cache
def crossing(torque: tuple[float, float]) -> tuple[float, np.ndarray]:
    run = pliant.simulate(arm(), 1.0, START, torque=list(torque), rtol=1e-12, atol=1e-14)
    assert run.stats.status == "event"
    return float(run.t[-1]), run.q[-1]


@pytest.mark.parametrize("side", CASES)
def test_a_step_ends_at_a_limit(unit: Unit, side: str) -> None:
    """Where and when `simulate` stops, with the joint in the message; no step goes on from there."""
    torque, words = CASES[side]
    end, q = crossing(tuple(torque))
    log: list[str] = []
    with unit.instance("slave", tolerance=1e-12, log=log, early=unit.version == "3.0") as running:
        for name, value in zip(arm().joints, torque):
            unit.set(running, f"torque.{name}", value)
        reached = _until_it_ends(unit, running, 0.05)
        assert reached == pytest.approx(end, abs=1e-8)
        assert unit.get(running, "upper", "fore") == pytest.approx(q[:2], abs=1e-9)
        assert unit.get(running, "fore")[0] == pytest.approx(q[1], abs=1e-14)
        assert unit.get(running, "time")[0] == reached
        assert len(log) == 1
        assert words in log[0]
        assert _until_it_ends(unit, running, 0.05, reached) == reached
        assert unit.get(running, "fore")[0] == pytest.approx(q[1], abs=1e-14)


def _until_it_ends(unit: Unit, running: Any, step: float, time: float = 0.0) -> float:
    """Communication steps until the unit asks to end, and the time that it reached."""
    for _ in range(40):
        if unit.version == "3.0":
            _, terminate, early, reached = running.doStep(time, step)
            assert early == terminate
            if terminate:
                return float(reached)
            assert reached == time + step
        else:
            status = _status(running, time, step)
            assert running.getBooleanStatus(3) == (status == 2)  # terminated where it is discarded
            if status:
                return float(running.getRealStatus(2))  # last successful time
        time += step
    raise AssertionError("no limit was met")


def _status(running: Any, time: float, step: float) -> int:
    try:
        running.doStep(time, step)
    except fmpy.fmi1.FMICallException as error:
        return int(error.status)
    return 0


def test_a_step_is_discarded_where_it_may_not_end_early(units: dict[str, Unit]) -> None:
    unit = units["3.0"]
    with unit.instance("slave", {"fore": 1.2}, log=[]) as running:
        assert _status(running, 0.0, 0.01) == 2


@pytest.mark.parametrize(("speed", "ends"), [(0.3, True), (0.0, False), (-0.3, False)])
def test_start_at_a_limit(unit: Unit, speed: float, ends: bool) -> None:
    """The rule of runs: at a limit an arm ends if it moves out, at once."""
    start = {"fore": -0.5, "fore.motor": -0.3, "der(fore)": -speed}  # the drive pulls inwards
    with unit.instance("slave", start, log=[], early=unit.version == "3.0") as running:
        time, step = unit.get(running, "time")[0], 1e-4
        if ends:
            assert _until_it_ends(unit, running, step) == time
        else:
            running.doStep(time, step)
            assert unit.get(running, "time")[0] == time + step
    with unit.instance("model", start, log=[]) as running:
        assert _terminates(unit, running) == ends


def _terminates(unit: Unit, running: Any) -> bool:
    """Whether the unit asks to end the run in event mode."""
    running.enterEventMode()
    found = running.updateDiscreteStates() if unit.version == "3.0" else running.newDiscreteStates()
    running.enterContinuousTimeMode()
    return bool(found[1])


@cache
def just_beyond(over: float) -> tuple[float, float]:
    """Where `fore` must start, moving at 0.4 rad/s, to come `over` beyond its upper limit, and when it is there."""
    place, when = 1.0, 0.0
    for _ in range(3):
        q, qd = np.array([0.2, place, place, 0.0, 0.0]), np.array([0.0, 0.4, 0.4, 0.0, 0.0])
        options = {"torque": [0.0, -20.0], "limits": False, "output_step": 1e-5, "rtol": 1e-12, "atol": 1e-14}
        run = pliant.simulate(arm(), 0.02, q, qd, **options)
        k = int(np.flatnonzero(run.qd[:, 1] < 0)[0])
        v, a = run.qd[k - 1 : k + 1, 1], run.qdd[k - 1, 1]
        when = float(run.t[k - 1]) - v[0] / a
        place += 1.1 + over - (run.q[k - 1, 1] - v[0] ** 2 / (2 * a))
    return place, when


@pytest.mark.parametrize(("over", "ends"), [(1e-8, True), (-1e-6, False)])
def test_a_joint_that_turns_back_within_a_step(unit: Unit, over: float, ends: bool) -> None:
    """It is beyond its limit for a small part of a step of the integrator, which ends where it left all the same."""
    place, when = just_beyond(over)
    start = {"upper": 0.2, "fore": place, "fore.motor": place, "der(fore)": 0.4, "der(fore.motor)": 0.4}
    start |= {"upper.bending_y[1]": 0.0, "fore.bending_y[1]": 0.0, "torque.fore": -20.0}
    with unit.instance("slave", start, tolerance=1e-10, log=[], early=unit.version == "3.0") as running:
        running.doStep(0.0, 0.5 * when)
        if ends:
            reached = _until_it_ends(unit, running, 0.75 * when, 0.5 * when)
            found = unit.get(running, "fore", "der(fore)")
            assert found[0] == pytest.approx(1.1, abs=1e-14)
            assert found[1] > 0
            assert reached == pytest.approx(when, abs=1e-4)
        else:
            running.doStep(0.5 * when, 0.75 * when)
            assert unit.get(running, "time")[0] == pytest.approx(1.25 * when, rel=1e-12)


def test_limits_are_events_of_model_exchange(unit: Unit) -> None:
    """A solver outside follows the indicators to the limit; there the unit asks to end the run."""
    torque, words = CASES["upper"]
    end, log = crossing(tuple(torque))[0], []
    with unit.instance("model", log=log) as running:
        for name, value in zip(arm().joints, torque):
            unit.set(running, f"torque.{name}", value)

        def indicators(x: np.ndarray) -> np.ndarray:
            unit.rates(running, x)
            found = np.zeros(3)
            running.getEventIndicators(np.ctypeslib.as_ctypes(found), 3)
            return found

        def lowest(t: float, x: np.ndarray) -> float:
            return float(indicators(x).min())

        lowest.terminal = True
        start = np.array([*START, *np.zeros(arm().n)])
        assert indicators(start) == pytest.approx([np.radians(85) - 0.2, 0.8, 0.8], rel=1e-14)
        assert not _terminates(unit, running)
        found = solve_ivp(
            lambda t, x: unit.rates(running, x), (0, 1), start, "DOP853", events=lowest, rtol=1e-12, atol=1e-14
        )
        assert found.t[-1] == pytest.approx(end, abs=1e-8)
        unit.rates(running, found.y[:, -1])
        running.setTime(found.t[-1])
        assert _terminates(unit, running)
        assert words in log[0]
        unit.rates(running, start)
        assert not running.completedIntegratorStep()[0]
        start[1] = 1.101
        unit.rates(running, start)
        assert running.completedIntegratorStep()[0]


def test_fmpy_ends_a_run_at_a_limit(unit: Unit) -> None:
    """With a master's own loop the arm that turned through 181 degrees ends at its 85."""
    columns = [(name, float) for name in ("time", "torque.upper", "torque.fore")]
    inputs = np.array([(t, 400.0, 0.0) for t in (0.0, 1.0)], dtype=columns)
    early = unit.version == "3.0"
    found = fmpy.simulate_fmu(
        str(unit.folder), fmi_type="CoSimulation", stop_time=1.0, output_interval=0.01, input=inputs, output=["upper"],
        start_values={"fore": 0.0, "fore.motor": 0.0}, early_return_allowed=early,
        fmu_instance=unit.loaded("slave", early=early, log=[]),
    )  # fmt: skip
    assert found["time"][-1] < 1.0
    assert np.degrees(found["upper"]).max() <= 85.0 + 1e-9


@pytest.mark.full
def test_units_without_limits(tmp_path: Path) -> None:
    path = export(arm(), "fmu", tmp_path / "free3", limits=False, compilers=[])
    assert fmpy.read_model_description(str(path)).numberOfEventIndicators == 0


# ---------------------------------------------------------------------------------------------------- tuned parameters


TUNED = {"links.upper.beam.EI_z": 500.0, "payload.mass": 0.9}


def test_parameters_are_tuned_between_steps(unit: Unit) -> None:
    """Half a run as the nominal arm, half as the changed one, from where the first one was; outputs follow at once."""
    h = 0.05
    first = pliant.simulate(arm(), h, START, rtol=1e-12, atol=1e-14)
    changed = robot().replace(TUNED).model()
    second = pliant.simulate(changed, h, first.q[-1], first.qd[-1], rtol=1e-12, atol=1e-14)
    with unit.instance("slave", tolerance=1e-11) as running:
        running.doStep(0.0, h)
        before = unit.get(running, "der(fore,2)", "strain.upper.bending_y")
        for name, value in TUNED.items():
            unit.set(running, name, value)
        after = unit.get(running, "der(fore,2)", "strain.upper.bending_y")
        running.doStep(h, h)
        found = unit.get(running, "upper", "fore", "fore.motor", "upper.bending_y[1]", "fore.bending_y[1]")
    expected = changed.forward_dynamics(first.q[-1], first.qd[-1], np.zeros(2))
    assert after[0] == pytest.approx(expected[1], rel=1e-6)
    assert abs(after - before).min() > 1e-3 * abs(before).min()
    assert np.abs(found - second.q[-1]).max() < 1e-8


def test_parameters_are_tuned_in_event_mode(unit: Unit) -> None:
    with unit.instance("model") as running:
        x = np.array([*START, *np.linspace(-0.5, 0.4, arm().n)])
        unit.rates(running, x)
        running.enterEventMode()
        for name, value in TUNED.items():
            unit.set(running, name, value)
        _terminates(unit, running)
        found, strain = unit.rates(running), unit.get(running, "strain.upper.bending_y")[0]
        unit.set(running, "payload.mass", 0.2)
        assert unit.get(running, "strain.upper.bending_y")[0] != strain
    changed = robot().replace(TUNED).model()
    expected = changed.forward_dynamics(x[: arm().n], x[arm().n :], np.zeros(2))
    assert found[arm().n :] == pytest.approx(expected, rel=1e-10)


# -------------------------------------------------------------------------------------------------------- saved states


def test_everything_is_restored(unit: Unit) -> None:
    """Bit for bit, from memory and from bytes in another instance: states, torques, parameters, and step lengths."""
    three = unit.version == "3.0"
    read = [v.name for v in unit.description.modelVariables]

    def go_on(running: Any) -> np.ndarray:
        rows = []
        for k in range(3):
            running.doStep(0.1 + 0.01 * k, 0.01)
            rows.append(unit.get(running, *read))
        return np.array(rows)

    with unit.instance("slave") as running, unit.instance("slave", {"payload.mass": 3.0}) as other:
        for name, value in {**TUNED, "torque.upper": 12.0, "torque.fore": -3.0}.items():
            unit.set(running, name, value)
        running.doStep(0.0, 0.1)
        saved = running.getFMUState()
        data = running.serializeFMUState(saved) if three else running.serializeFMUstate(saved)
        there = unit.get(running, *read)
        expected = go_on(running)
        unit.set(running, "payload.mass", 0.1)
        running.setFMUState(saved)
        assert np.array_equal(unit.get(running, *read), there)
        assert np.array_equal(go_on(running), expected)
        again = other.deserializeFMUState(data) if three else other.deSerializeFMUstate(data)
        other.setFMUState(again)
        assert np.array_equal(go_on(other), expected)
        twice = other.serializeFMUState(again) if three else other.serializeFMUstate(again)
        assert bytes(twice) == bytes(data)
        running.setFMUState(saved)
        unit.set(running, "torque.upper", 11.0)
        assert not np.array_equal(go_on(running), expected)
        with pytest.raises(Exception, match=r"[Ss]erialize"):
            other.deserializeFMUState(bytes(len(data))) if three else other.deSerializeFMUstate(bytes(len(data)))
        running.freeFMUState(saved)
        other.freeFMUState(again)


def test_model_exchange_is_restored(unit: Unit) -> None:
    with unit.instance("model") as running:
        x = np.array([*START, *np.linspace(-0.5, 0.4, arm().n)])
        unit.set(running, "payload.mass", 0.6)
        running.setTime(0.3)
        expected, saved = unit.rates(running, x), running.getFMUState()
        unit.set(running, "payload.mass", 0.1)
        running.setTime(0.4)
        assert not np.array_equal(unit.rates(running, 2 * x), expected)
        running.setFMUState(saved)
        assert np.array_equal(unit.rates(running), expected)
        assert unit.get(running, "time", "payload.mass").tolist() == [0.3, 0.6]
        running.freeFMUState(saved)
