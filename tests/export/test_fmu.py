"""Functional mock-up units: valid, equal to `simulate` with a controller outside, tunable, and free of shared state."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mock_up
import pliant
from arms import unequal_beam, unequal_two_link
from coupled_arms import boom
from driven_arms import everything
from exported import model, needs_compiler
from mock_up import Unit
from pliant import Joint, Shapes
from pliant.control import PD, Sampled
from pliant.errors import ModelError, PliantError
from pliant.export import export
from pliant.export.compiling import find_compiler
from pliant.export.targets.fmu import platform_folder
from pliant.robot import Drive, Friction
from pliant.robot.parts.beam import beam_properties
from pliant.simulation.runs.quantities.internal_forces import RunHistory

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
pytestmark = needs_compiler

START = [-np.pi / 2, 0.2, 0.0, 0.0]
VERSIONS = ("3.0", "2.0")
JOINTS = ("upper", "fore")
QUICK = {"compilers": ["cc -O0"]}


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The two-link arm with two parameters, in both versions of the standard."""
    folder = tmp_path_factory.mktemp("fmu")
    return {v: export(model("parameters"), "fmu", folder / f"arm{v[0]}", fmi=v, q0=START, **QUICK) for v in VERSIONS}


@pytest.fixture(params=VERSIONS)
def unit(request: pytest.FixtureRequest, units: dict[str, Path], tmp_path: Path) -> Unit:
    return Unit(units[request.param], tmp_path)


GOAL, GAIN, RATE = np.array([-1.2, 0.5]), 80.0, 15.0  # gains of a stable sampled loop


def outside(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return GAIN * (GOAL - q) - RATE * qd


def still(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.zeros(2)


@pytest.mark.slow_cases("3.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_validation_passes(version: str, units: dict[str, Path]) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(units[version])) == []


@pytest.mark.slow_cases("2.0")
@pytest.mark.parametrize("version", mock_up.VERSIONS)
def test_friction_holds_in_a_unit(version: str, tmp_path: Path) -> None:
    """One joint is stuck under gravity, one slides: states of friction are those of `simulate`, at the start too."""
    friction = {"coulomb_speed": 0.05, "bristle": 1e-3}
    robot = unequal_two_link().replace(
        {
            "gravity": (0.0, -1.0, 0.0),
            "links.upper.joint.friction": Friction(coulomb=30.0, **friction),
            "links.fore.joint.friction": Friction(coulomb=0.5, **friction),
        }
    )
    arm = robot.model()
    path = export(arm, "fmu", tmp_path / f"arm{version[0]}", fmi=version, q0=[0.2, 0.1, 0.0, 0.0], **QUICK)
    held = Unit(path, tmp_path / "unpacked")
    names = ("upper", "fore", "upper.friction", "fore.friction")
    step, steps = 0.02, 25
    with held.instance("slave") as running:
        rows = held.run(running, steps, step, still, *names)
        assert held.get(running, "der(upper)")[0] == pytest.approx(0.0, abs=0.05)
    run = pliant.simulate(arm, steps * step, [0.2, 0.1], output_step=step, rtol=1e-9)
    assert np.abs(rows[:, :2] - run.q[:, :2]).max() < 1e-5
    assert np.abs(rows[:, 0] - 0.2).max() < 2e-3
    assert rows[-1, 1] < 0.05
    assert rows[0, 2] < -0.01
    assert rows[-1, 3] == pytest.approx(-1.0, abs=1e-3)
    with held.instance("model") as running:
        states, rates = np.empty(10), np.empty(10)
        running.getContinuousStates(*_pointers(running, states))
        derivatives = running.getContinuousStateDerivatives if version == "3.0" else running.getDerivatives
        derivatives(*_pointers(running, rates))
        known, unknown = list(range(1, 11)), [u.variable.valueReference for u in held.description.derivatives]
        d = np.array([0.3, -0.2, 0.01, 0.02, 1.0, -2.0, 0.5, 0.4, 0.3, 0.7])
        x = states + np.array([0, 0, 0, 0, 2e-3, -1e-3, 0.0, 0.0, 0.1, 0.3])  # friction has a kink at rest
        # Richardson's differences: error h^4, and round-off over h
        rough, fine = (
            (held.rates(running, x + h * d) - held.rates(running, x - h * d)) / (2 * h) for h in (4e-5, 2e-5)
        )
        held.rates(running, x)
        change = np.array(running.getDirectionalDerivative(unknown, known, d.tolist()))
        expected = (4 * fine - rough) / 3
        assert np.abs(change - expected)[8:].max() < 1e-6 * np.abs(expected[8:]).max()
        assert np.abs(change - expected).max() < 1e-6 * np.abs(expected).max()
        if version == "3.0":
            w = np.linspace(-1.0, 2.0, 10)
            back = np.array(running.getAdjointDerivative(unknown, known, w.tolist(), 10))
            assert back @ d == pytest.approx(w @ change, rel=1e-10)
    assert states[8:] == pytest.approx(rows[0, 2:], abs=1e-12)
    assert rates[:4] == pytest.approx(states[4:8], abs=1e-15)
    assert rates[4:8] == pytest.approx(run.qdd[0], rel=1e-9, abs=1e-9)


@needs_compiler
def test_drives_in_a_unit(tmp_path: Path) -> None:
    """Friction, a gear that yields, amplifiers and windings: as in `simulate`, commanded in volts and amperes."""
    arm = everything().model()
    held = Unit(export(arm, "fmu", tmp_path / "arm3", fmi="3.0", **QUICK), tmp_path / "unpacked")
    inputs = [v for v in held.description.modelVariables if v.causality == "input"]
    assert [(v.name, v.unit) for v in inputs if v.name != "time"] == [("voltage.upper", "V"), ("current.fore", "A")]
    names = ("upper", "fore", "upper.current", "upper.hysteresis", "fore.friction", "upper.motor_friction")
    step, steps = 2e-3, 40
    with held.instance("slave") as running:
        rows = held.run(running, steps, step, still, *names)
    run = pliant.simulate(arm, steps * step, output_step=step, rtol=1e-9)
    for name, column in zip(names, rows.T):
        assert np.abs(column - run[name]).max() < 1e-4 * max(1.0, np.abs(run[name]).max()), name


@needs_compiler
def test_a_cylinder_in_a_unit(tmp_path: Path) -> None:
    """Pressures in megapascals, commanded by the opening of its valve, as in `simulate`."""
    arm = boom({"bandwidth": 20.0}).model()
    held = Unit(export(arm, "fmu", tmp_path / "arm3", fmi="3.0", q0={"boom": 0.5}, **QUICK), tmp_path / "unpacked")
    inputs = [v for v in held.description.modelVariables if v.causality == "input"]
    assert [(v.name, v.unit) for v in inputs if v.name != "time"] == [("valve.lift", "1")]
    names, step, steps = ("boom", "lift.pressure_a", "lift.pressure_b", "lift.valve"), 1e-3, 50
    with held.instance("slave") as running:
        held.set(running, "valve.lift", 0.6)
        rows = [held.get(running, *names)]
        for k in range(steps):
            running.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
            rows.append(held.get(running, *names))
    run = pliant.simulate(arm, steps * step, {"boom": 0.5}, torque=[0.6], output_step=step, rtol=1e-9)
    for name, column, unit in zip(names, np.array(rows).T, (1.0, 1e6, 1e6, 1.0)):
        assert np.abs(unit * column - run[name]).max() < 1e-4 * np.abs(run[name]).max(), name


def _pointers(running: Any, values: np.ndarray) -> tuple[Any, int]:
    import ctypes

    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), len(values)


def test_matches_simulate_with_a_controller_outside(unit: Unit) -> None:
    """PD at 1 kHz outside the unit, held in between; the same sampled law in `simulate`."""
    step, steps = 1e-3, 400
    read = ("upper", "fore", "upper.bending_y[1]", "fore.bending_y[1]", "tip.x", "tip.y")
    with unit.instance("slave") as running:
        found = unit.run(running, steps, step, outside, *read)
    m = model("parameters")
    controller = Sampled(PD(kp=GAIN, kd=RATE, reference=GOAL, gravity="none"), sample_time=step)
    result = pliant.simulate(m, steps * step, q0=START, controller=controller, output_step=step, rtol=1e-10, atol=1e-12)
    assert result.q.shape[0] == steps + 1
    assert np.abs(found[:, :4] - result.q).max() < 1e-6
    assert np.abs(found[:, 4:6] - result.tip[:, :2]).max() < 1e-6
    assert np.abs(result.q - result.q[0]).max() > 0.1  # something moved


UNEQUAL_LINK = unequal_beam(
    Shapes(bending_y=2, bending_z=1, torsion=1),
    joint=Joint(axis=(0.36, 0.48, 0.8), drive=Drive(stiffness=400.0, rotor_inertia=0.002, gear_ratio=7.0)),
)


def root_strains(m: pliant.Model, q: Any, qd: Any, tau: Any) -> dict[str, float]:
    """Section forces over stiffnesses at the root of every link, by the names of the outputs."""
    qdd = m.forward_dynamics(q, qd, tau)
    run = RunHistory(
        m, np.zeros(1), q[None], qd[None], qdd[None], m.nominal_parameters, np.zeros((1, 0)), np.zeros((1, 0))
    )
    found = {}
    for link in m.robot.links:
        if link.shapes is not None:
            forces, p = run.internal(link.name, 0.0), beam_properties(link.beam)
            values = {
                "bending_y": (forces.moment_z, p.EI_z), "bending_z": (-forces.moment_y, p.EI_y),
                "torsion": (forces.torque, p.GJ), "axial": (forces.axial, p.EA),
            }  # fmt: skip
            found |= {f"strain.{link.name}.{field}": x[0] / k for field, (x, k) in values.items() if k}
    return found


@pytest.mark.full
@pytest.mark.parametrize("stiffening", ["third-order", "second-order"])
def test_strain_of_a_stiffened_arm(stiffening, tmp_path: Path) -> None:
    """On an arm with no two numbers alike: the strains of the run itself."""
    m = UNEQUAL_LINK.model(stiffening=stiffening)
    unit = Unit(export(m, "fmu", tmp_path / "arm3"), tmp_path)
    rng = np.random.default_rng(4)
    q, qd, tau = 0.01 * rng.normal(size=m.n), rng.normal(size=m.n), rng.normal(size=m.n_joints)
    with unit.instance("model") as running:
        for name, value in zip(m.joints, tau):
            unit.set(running, f"torque.{name}", value)
        states = np.concatenate([q, qd])
        running.setContinuousStates(np.ctypeslib.as_ctypes(states), len(states))
        names = [name for name in unit.references if name.startswith("strain.")]
        found = dict(zip(names, np.atleast_1d(unit.get(running, *names))))
    expected = root_strains(m, q, qd, tau)
    assert len(found) == 3
    assert found == pytest.approx({name: expected[name] for name in found}, rel=1e-9)


@pytest.fixture(scope="module")
def unequal(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Unit]:
    """A link whose length is not one, with several modes, two planes, torsion and a motor, compiled or not."""
    folder, m = tmp_path_factory.mktemp("unequal"), UNEQUAL_LINK.model(stiffening="off")

    def unit(version: str, compilers: tuple[str, ...]) -> Unit:
        name = f"arm{version[0]}{'' if compilers else '_sources'}"
        return Unit(export(m, "fmu", folder / name, fmi=version, compilers=compilers), folder)

    return cache(unit)


@pytest.mark.parametrize("version", mock_up.VERSIONS)
def test_strains_of_an_unequal_arm(unequal: Callable[..., Unit], version: str) -> None:
    """Strains of section forces over stiffnesses; and the accelerations."""
    unit, m = unequal(version, ("cc -O0",)), UNEQUAL_LINK.model(stiffening="off")
    q, qd = np.linspace(0.05, 0.15, m.n), np.linspace(-0.4, 0.3, m.n)
    with unit.instance("model") as running:
        states, rates = np.concatenate([q, qd]), np.zeros(2 * m.n)
        derivatives = running.getContinuousStateDerivatives if version == "3.0" else running.getDerivatives
        running.setContinuousStates(np.ctypeslib.as_ctypes(states), 2 * m.n)
        expected = root_strains(m, q, qd, np.zeros(1))
        for field in ("bending_y", "bending_z", "torsion"):
            assert unit.get(running, f"strain.arm.{field}") == pytest.approx(expected[f"strain.arm.{field}"], rel=1e-9)
        derivatives(np.ctypeslib.as_ctypes(rates), 2 * m.n)
    assert rates == pytest.approx(np.concatenate([qd, m.forward_dynamics(q, qd, np.zeros(1))]), rel=1e-9)


@pytest.mark.slow_cases("3.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_derivative_names_its_variable(unequal: Callable[..., Unit], version: str) -> None:
    """`der(x)` is the derivative of x, and is listed as such: FMI 3 by value reference, FMI 2 by place from 1."""
    unit = unequal(version, ("cc -O0",) if version == "2.0" else ())
    root = ElementTree.parse(unit.folder / "modelDescription.xml").getroot()
    listed = list(root.find("ModelVariables"))
    names = [variable.get("name") for variable in listed]
    count = UNEQUAL_LINK.model(stiffening="off").n
    if version == "3.0":
        by_number = {variable.get("valueReference"): variable.get("name") for variable in listed}
        numbers = {variable.get("name"): variable.get("derivative") for variable in listed}
        structure = [e.get("valueReference") for e in root.find("ModelStructure").iter("ContinuousStateDerivative")]
    else:
        by_number = {str(k): name for k, name in enumerate(names, start=1)}
        numbers = {variable.get("name"): variable.find("Real").get("derivative") for variable in listed}
        structure = [e.get("index") for e in root.find("ModelStructure/Derivatives").iter("Unknown")]
    rates = {name: by_number[number] for name, number in numbers.items() if number is not None}
    expected = {f"der({name})": name for name in names[1 : 1 + count]}
    expected |= {f"der({name},2)": f"der({name})" for name in names[1 : 1 + count]}
    assert rates == expected
    assert sorted(by_number[number] for number in structure) == sorted(expected)


def test_model_exchange_gives_the_accelerations(unit: Unit) -> None:
    m = model("parameters")
    q, qd, tau = np.array([0.3, -0.5, 0.01, 0.02]), np.array([1.0, 2.0, 0.1, -0.2]), np.array([3.0, -1.0])
    with unit.instance("model") as running:
        for name, value in zip(("upper", "fore"), tau):
            unit.set(running, f"torque.{name}", value)
        states, rates = np.concatenate([q, qd]), np.zeros(8)
        derivatives = running.getContinuousStateDerivatives if unit.version == "3.0" else running.getDerivatives
        running.setContinuousStates(np.ctypeslib.as_ctypes(states), 8)
        derivatives(np.ctypeslib.as_ctypes(rates), 8)
        nominals = np.zeros(8)
        running.getNominalsOfContinuousStates(np.ctypeslib.as_ctypes(nominals), 8)
        assert nominals.tolist() == [1.0, 1.0, 0.01, 0.01, 1.0, 1.0, 1.0, 1.0]
        assert unit.get(running, "tip.x", "tip.y", "tip.z") == pytest.approx(m.tip_pose(q)[:3, 3], rel=1e-12, abs=1e-12)
        strains = unit.get(running, "strain.upper.bending_y", "strain.fore.bending_y")
    qdd = m.forward_dynamics(q, qd, tau)
    assert rates[:4] == pytest.approx(qd)
    assert rates[4:] == pytest.approx(qdd, rel=1e-11)
    expected = root_strains(m, q, qd, tau)
    assert strains == pytest.approx([expected[f"strain.{name}.bending_y"] for name in JOINTS], rel=1e-9)


class Implicit:
    """SciPy's LSODA in the place of FMPy's CVode, which comes without a library for some platforms."""

    def __init__(self, nx: int, get_x: Any, set_x: Any, get_dx: Any, set_time: Any, relativeTolerance: float,
                 **_: Any) -> None:  # fmt: skip
        self.x, self.dx, self.calls = np.zeros(nx), np.zeros(nx), (get_x, set_x, get_dx, set_time)
        self.tolerance = relativeTolerance

    def step(self, t: float, t_next: float) -> tuple[bool, list[int], float]:
        get_x, set_x, get_dx, set_time = self.calls
        x, dx = (np.ctypeslib.as_ctypes(a) for a in (self.x, self.dx))

        def rates(t: float, state: np.ndarray) -> np.ndarray:
            set_time(t)
            self.x[:] = state
            set_x(x, len(state))
            get_dx(dx, len(state))
            return self.dx.copy()

        get_x(x, len(self.x))
        end = solve_ivp(rates, (t, t_next), self.x.copy(), "LSODA", rtol=self.tolerance, atol=1e-3 * self.tolerance)
        rates(t_next, end.y[:, -1])
        return False, [], t_next


def has_cvode() -> bool:
    from fmpy import platform_tuple

    return (Path(fmpy.__file__).parent / "sundials" / platform_tuple).is_dir()


SOLVERS = [
    pytest.param("CVode", marks=pytest.mark.skipif(not has_cvode(), reason="FMPy has no CVode for this platform")),
    "LSODA",
]


@pytest.mark.parametrize("solver", SOLVERS)
def test_model_exchange_integrated_by_fmpy(unit: Unit, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FMPy's own loop: its tolerance of 1e-9 leaves 1e-6 after half a second; with a changed parameter and start."""
    if solver == "LSODA":
        monkeypatch.setitem(sys.modules, "fmpy.sundials", SimpleNamespace(CVodeSolver=Implicit))
    changed, torque = {"payload.mass": 0.8}, [1.0, 0.5]
    inputs = np.array(
        [(t, *torque) for t in (0.0, 0.5)], dtype=[("time", float), *((f"torque.{j}", float) for j in JOINTS)]
    )
    read = ["upper", "fore", "upper.bending_y[1]", "fore.bending_y[1]", "tip.x", "tip.y"]
    found = fmpy.simulate_fmu(
        str(unit.folder), fmi_type="ModelExchange", solver="CVode", stop_time=0.5, output_interval=0.05,
        relative_tolerance=1e-9, input=inputs, output=read, start_values={**changed, "der(fore)": 0.3},
        fmu_instance=unit.loaded("model"),
    )  # fmt: skip
    robot = model("parameters").robot.replace(changed)
    result = pliant.simulate(
        robot.model(), 0.5, START, {"fore": 0.3}, torque=torque, output_step=0.05, rtol=1e-11, atol=1e-13
    )
    assert found["time"] == pytest.approx(result.t, abs=1e-12)
    states = np.column_stack([found[name] for name in read])
    assert np.abs(states - np.hstack([result.q, result.tip[:, :2]])).max() < 1e-6
    assert np.abs(result.q - result.q[0]).max() > 0.1


def test_model_exchange_with_a_controller_outside(unit: Unit) -> None:
    """A law without a sample time: the solver outside asks it at every evaluation."""
    with unit.instance("model") as running:
        rates = np.zeros(8)
        derivatives = running.getContinuousStateDerivatives if unit.version == "3.0" else running.getDerivatives

        def rhs(t: float, x: np.ndarray) -> np.ndarray:
            running.setTime(t)
            running.setContinuousStates(np.ctypeslib.as_ctypes(x.copy()), 8)
            state = unit.get(running, "upper", "fore", "der(upper)", "der(fore)")
            for name, value in zip(JOINTS, outside(state[:2], state[2:])):
                unit.set(running, f"torque.{name}", value)
            derivatives(np.ctypeslib.as_ctypes(rates), 8)
            return rates.copy()

        times = np.linspace(0, 0.4, 9)
        found = solve_ivp(rhs, (0, 0.4), [*START, 0, 0, 0, 0], "LSODA", times, rtol=1e-10, atol=1e-12)
    controller = PD(kp=GAIN, kd=RATE, reference=GOAL, gravity="none")
    result = pliant.simulate(
        model("parameters"), 0.4, START, controller=controller, output_step=0.05, rtol=1e-11, atol=1e-13
    )
    assert np.abs(found.y[:4].T - result.q).max() < 1e-6
    assert np.abs(result.q - result.q[0]).max() > 0.1


def test_changed_parameters_take_effect(unit: Unit) -> None:
    """A heavier, softer arm: the unit moves like the changed robot, not like the nominal one."""
    changed = {"links.upper.beam.EI_z": 400.0, "payload.mass": 0.8}
    with unit.instance("slave", changed) as running:
        found = unit.run(running, 20, 0.01, still, "upper", "fore")
    with unit.instance("slave") as running:
        nominal = unit.run(running, 20, 0.01, still, "upper", "fore")
    robot = model("parameters").robot.replace(changed)
    expected = pliant.simulate(robot.model(), 0.2, q0=START, output_step=0.01, rtol=1e-10, atol=1e-12)
    assert np.abs(found - expected.q[:, :2]).max() < 1e-6
    assert np.abs(found - nominal).max() > 1e-4


def test_start_values_take_effect(unit: Unit) -> None:
    with unit.instance("slave", {"upper": 0.7, "der(fore)": -0.4}) as running:
        assert unit.get(running, "upper", "fore", "der(fore)") == pytest.approx([0.7, START[1], -0.4])


def test_two_instances_do_not_disturb_each_other(unit: Unit) -> None:
    with unit.instance("slave") as alone:
        expected = unit.run(alone, 10, 0.01, still, "upper", "fore")
    with unit.instance("slave") as one, unit.instance("slave", {"payload.mass": 2.0, "upper": 1.0}) as other:
        rows = []
        for k in range(10):
            one.doStep(k * 0.01, 0.01)
            other.doStep(k * 0.01, 0.01)
            rows.append([unit.get(one, "upper", "fore"), unit.get(other, "upper", "fore")])
    found = np.array(rows)
    assert np.array_equal(found[:, 0], expected[1:])  # to the bit
    assert np.abs(found[:, 1] - found[:, 0]).min() > 1e-3


def test_state_can_be_saved_and_restored(units: dict[str, Path], tmp_path: Path) -> None:
    unit = Unit(units["3.0"], tmp_path)
    with unit.instance("slave") as running:
        running.doStep(0.0, 0.05)
        saved = running.getFMUState()
        running.doStep(0.05, 0.05)
        first = unit.get(running, "upper", "fore")
        running.setFMUState(saved)
        running.doStep(0.05, 0.05)
        assert np.array_equal(unit.get(running, "upper", "fore"), first)
        running.freeFMUState(saved)


def initialize(unit: Unit, running: Any) -> None:
    if unit.version == "3.0":
        running.enterInitializationMode(startTime=0.0)
    else:
        running.setupExperiment(startTime=0.0)
        running.enterInitializationMode()


def test_calls_out_of_order_are_errors(unit: Unit) -> None:
    """By the state machine of the standard; an instance goes on as it was."""
    log: list[str] = []
    running = unit.loaded("slave", log=log)

    def refused(words: str, call: Callable[..., Any], *given: Any) -> None:
        log.clear()
        with pytest.raises(Exception, match="failed with status 3"):
            call(*given)
        assert words in log[0]

    def step(time: float, length: float = 0.01) -> np.ndarray:
        running.doStep(time, length)
        return unit.get(running, "upper", "fore")

    for call in (step, lambda t: unit.get(running, "upper"), lambda t: running.exitInitializationMode(),
                 lambda t: running.terminate()):  # fmt: skip
        refused("before the initialization", call, 0.0)
    initialize(unit, running)
    unit.set(running, "upper", 0.7)
    assert unit.get(running, "upper") == [0.7]
    refused("during the initialization", step, 0.0)
    refused("during the initialization", initialize, unit, running)
    running.exitInitializationMode()
    unit.set(running, "payload.mass", 2.0)  # which is tunable
    for time, length, words in ((0.5, 0.01, "begin"), (-0.01, 0.01, "begin"), (np.nan, 0.01, "begin"),
                                (0.0, -0.01, "negative"), (0.0, np.nan, "negative"),
                                (0.0, 0.0, "zero"), (0.0, np.inf, "not finite")):  # fmt: skip
        refused(words, step, time, length)
    first = step(0.0)
    refused("begin", step, 0.0)
    second = step(0.01 * (1 + 1e-15))  # a master adds up
    assert (second != first).all()
    running.terminate()
    assert np.array_equal(unit.get(running, "upper", "fore"), second)
    for call in (step, lambda t: unit.set(running, "upper", 0.1), lambda t: running.terminate()):
        refused("behind the end", call, 0.02)
    running.reset()
    refused("before the initialization", step, 0.02)
    initialize(unit, running)
    for name, value in (("upper", 0.7), ("payload.mass", 2.0)):
        unit.set(running, name, value)
    running.exitInitializationMode()
    assert np.array_equal(step(0.0), first)
    running.freeInstance()


def test_times_that_no_run_has_are_refused(unit: Unit) -> None:
    """A start that is no number, a stop before it, and steps beyond the stop, which a saved state knows too."""
    log: list[str] = []

    def begin(start: float, stop: float) -> Any:
        running = unit.loaded("slave", log=log)
        if unit.version == "3.0":
            running.enterInitializationMode(startTime=start, stopTime=stop)
        else:
            running.setupExperiment(startTime=start, stopTime=stop)
            running.enterInitializationMode()
        running.exitInitializationMode()
        return running

    for start, stop, words in ((np.nan, 1.0, "start time"), (np.inf, 1.0, "start time"), (0.0, np.nan, "stop time"),
                               (0.5, 0.4, "stop time")):  # fmt: skip
        log.clear()
        with pytest.raises(Exception, match="failed with status 3"):
            begin(start, stop)
        assert words in log[0]
    running, saved = begin(0.5, 0.53), None
    for k in range(3):
        saved = running.getFMUState() if k == 0 and unit.version == "3.0" else saved
        running.doStep(0.5 + k * 0.01, 0.01 * (1 + 1e-12))  # a master adds up
        for beyond in (0.02 - k * 0.01 + 0.001, 1.0):
            log.clear()
            with pytest.raises(Exception, match="failed with status 3"):
                running.doStep(0.51 + k * 0.01, beyond)
            assert "beyond the stop time" in log[0]
    if saved is not None:
        running.setFMUState(saved)
        with pytest.raises(Exception, match="failed with status 3"):
            running.doStep(0.5, 0.04)
        running.doStep(0.5, 0.03)
    running.freeInstance()


def test_model_exchange_keeps_to_its_modes(unit: Unit) -> None:
    log: list[str] = []
    running = unit.loaded("model", log=log)
    states = np.zeros(8)
    new_states = running.updateDiscreteStates if unit.version == "3.0" else running.newDiscreteStates
    for call in (lambda: running.setContinuousStates(*_pointers(running, states)), lambda: unit.rates(running),
                 running.enterContinuousTimeMode, lambda: running.setTime(0.1)):  # fmt: skip
        with pytest.raises(Exception, match="failed with status 3"):
            call()
        assert "before the initialization" in log.pop()
    initialize(unit, running)
    running.exitInitializationMode()
    new_states()
    running.enterContinuousTimeMode()
    running.setTime(0.1)
    unit.rates(running, states)
    with pytest.raises(Exception, match="failed with status 3"):
        new_states()
    assert "outside event mode" in log.pop()
    running.enterEventMode()
    new_states()
    running.terminate()
    running.freeInstance()


def test_wrong_settings_are_refused(units: dict[str, Path], tmp_path: Path) -> None:
    unit = Unit(units["3.0"], tmp_path)
    with unit.instance("slave") as running, pytest.raises(Exception, match="SetFloat64"):
        unit.set(running, "tip.x", 1.0)


def test_description(units: dict[str, Path]) -> None:
    m = model("parameters")
    with zipfile.ZipFile(units["3.0"]) as archive:
        names = set(archive.namelist())
        text = archive.read("modelDescription.xml").decode()
        page = archive.read("documentation/index.html").decode()
    for part in (m.robot.digest(), "strain.fore.bending_y", "torque.upper", "payload.mass", platform_folder("3.0")):
        assert part in page
    assert {"sources/model.c", "sources/fmi3.c", "resources/robot.yaml", "sources/buildDescription.xml"} <= names
    assert m.robot.digest() in text
    assert "formulation=denoc" in text
    by_name = {v.name: v for v in fmpy.read_model_description(str(units["3.0"])).modelVariables}
    assert by_name["links.upper.beam.EI_z"].causality == "parameter"
    assert by_name["links.upper.beam.EI_z"].unit == "N.m2"
    assert float(by_name["links.upper.beam.EI_z"].start) == 1400.0
    assert float(by_name["upper"].start) == START[0]
    assert (by_name["torque.fore"].causality, by_name["torque.fore"].unit) == ("input", "N.m")
    assert by_name["upper.bending_y[1]"].causality == "local"
    assert float(by_name["upper.bending_y[1]"].nominal) == 0.01
    assert by_name["upper"].nominal is None
    assert by_name["strain.upper.bending_y"].unit == "1/m"


def test_same_model_same_file(units: dict[str, Path], tmp_path: Path) -> None:
    again = export(model("parameters"), "fmu", tmp_path / "again.fmu", q0=START, compilers=[])
    with zipfile.ZipFile(units["3.0"]) as first, zipfile.ZipFile(again) as second:
        for name in ("modelDescription.xml", "sources/model.c"):
            assert first.read(name) == second.read(name)


def test_existing_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "arm.fmu").write_text("mine")
    with pytest.raises(PliantError, match="exists already"):
        export(model("parameters"), "fmu", tmp_path / "arm")
    assert (tmp_path / "arm.fmu").read_text() == "mine"


def test_missing_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(PliantError, match="no C compiler"):
        find_compiler()
    with pytest.raises(PliantError, match="install gcc"):
        export(model("parameters"), "fmu", tmp_path / "arm")
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="fmi"):
        export(model("parameters"), "fmu", tmp_path / "arm", fmi="1.0")
    with pytest.raises(ModelError, match="q0"):
        export(model("parameters"), "fmu", tmp_path / "arm", q0=[1.0])


WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")


def test_wrapper_has_no_warnings(units: dict[str, Path], tmp_path: Path) -> None:
    for version, wrapper in (("3.0", "fmi3.c"), ("2.0", "fmi2.c")):
        unit = Unit(units[version], tmp_path)
        command = ["cc", "-std=c99", *WARNINGS, "-fsyntax-only", "model.c", "derivatives.c", wrapper]
        done = subprocess.run(command, cwd=unit.folder / "sources", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
