"""Exports of arms with loops, cylinders, stops and contacts: the numbers of the model, and the steps of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from coupled_arms import ball, boom, strung
from export.test_c_plant import Built
from exported import assert_close, build, call, imported, inputs, needs_compiler
from linkages import bar, four_bar
from pliant.control import PD, Encoder, TipPosition
from pliant.errors import UnsupportedModel
from pliant.export import export
from pliant.export.contents import export_name, usual
from pliant.export.typical_states import reference_states
from pliant.model import Model
from pliant.robot import Contact, Frame, Joint, Limits, Link, RigidBody, Robot, Stop

ALONG_A_RUN = 1e-9
QUICK = {"compilers": ["cc -O0"]}


def stopped() -> Robot:
    """A bar that falls on its stop."""
    joint = pliant.Joint(limits=Limits(lower=-0.3, stop=Stop(stiffness=500.0, damping=0.2)))
    return Robot(name="stopped bar", gravity=(0, -9.81, 0), links=[bar("bar", 0.5, joint)])


def test_functions_of_a_linkage_in_python(tmp_path: Path) -> None:
    """Accelerations under the forces of closed loops, their multipliers and gaps, at any state."""
    model = four_bar().model(parameters=("links.coupler.rigid.mass",))
    names = usual(model)
    assert {"multipliers", "gaps"} <= set(names)
    assert "linearize" not in names
    folder = export(model, "python", tmp_path / "out")
    module, states = imported(folder / f"{export_name(model)}.py"), reference_states(model)
    for name in ("forward_dynamics", "multipliers", "gaps", "mass_matrix"):
        given = [x[1] for x in inputs(model, name, states)]
        own = getattr(model, name)(*given[:-1], p=given[-1])
        assert_close(np.asarray(getattr(module, name)(*given)).reshape(np.shape(own)), own)


@needs_compiler
@pytest.mark.parametrize("make", [four_bar, ball, stopped, pytest.param(strung, marks=pytest.mark.full)])
def test_functions_in_c(make: Any, tmp_path: Path) -> None:
    model = make().model()
    names = [name for name in usual(model) if name != "linearize"]
    folder = export(model, "c", tmp_path / "out", functions=names)
    library, states = build(folder, model), reference_states(model)
    for name in names:
        given = [x[0] for x in inputs(model, name, states)]
        found = call(library, model, name, given)[0]
        assert_close(found.ravel(), np.ravel(np.array(getattr(model, name)(*given))))


PLANTS: dict[str, tuple[Any, float, int, dict[str, Any]]] = {
    "loops": (four_bar, 1e-3, 400, {"q0": {"crank": 0.7}, "controller": PD(5.0, 0.5, [1.2], gravity="none")}),
    "cylinder": (lambda: boom({"bandwidth": 20.0}), 1e-4, 400, {"q0": {"boom": 0.5}}),
    "contact": (ball, 1e-4, 2500, {"q0": {"ball": 0.1}}),
    "stop": (stopped, 1e-3, 600, {}),
    "springs": (strung, 1e-3, 300, {}),
}


@needs_compiler
@pytest.mark.parametrize("kind", PLANTS)
def test_a_plant_steps_as_the_stepper_does(kind: str, tmp_path: Path) -> None:
    """States, pressures among them, and readings along a run, loops closed at every step."""
    make, step, steps, given = PLANTS[kind]
    compare(make().model(), tmp_path / "out", step, steps, **given)


def compare(model: Model, folder: Path, step: float, steps: int, **given: Any) -> None:
    given["sensors"] = [TipPosition(), *(Encoder(joint, rate=True) for joint in model.joints)]
    export(model, "c", folder, functions=["tip_pose"], step=step, **given)
    plant, stepper = Built(folder, model), pliant.Stepper(model, step=step, limits=False, **given)
    u, rows, moved = np.linspace(0.3, -0.2, model.layout.n_inputs), [], 0.0
    start = stepper.q
    for k in range(steps):
        pushed = u * np.cos(0.01 * k)
        plant.step(pushed)
        stepper.step(step, pushed)
        rows.append([np.concatenate([plant.x, plant.y]), np.concatenate([*stepper.state, stepper.outputs])])
        moved = max(moved, np.abs(stepper.q - start).max())
        if model.constraints:
            assert np.abs(model.gaps(plant.x[: model.n_q])).max() < 1e-15
    found, wanted = np.moveaxis(np.array(rows), 1, 0)
    assert moved > 1e-3
    size, rates = np.abs(wanted).max(axis=0), slice(model.n_q, model.n_q + model.n)
    size[rates] = np.maximum(size[rates], 0.1 * size[rates].max())  # modes ring together, small and large
    assert (np.abs(found - wanted).max(axis=0) <= ALONG_A_RUN * size + 1e-15).all()


@needs_compiler
@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "steps", "q0"),
    [("slider-crank", 200, {"crank": 0.4}), ("hydraulic-crane", 800, {"boom": 0.4, "jib": -1.0})],
)
def test_bundled_mechanisms_step_in_c(name: str, steps: int, q0: dict[str, float], tmp_path: Path) -> None:
    compare(pliant.load(name).model(), tmp_path / "out", 5e-5, steps, q0=q0)


@needs_compiler
def test_a_plant_that_locks_is_not_a_number(tmp_path: Path) -> None:
    """A ground that is longer than all bars together: no loop closes over it."""
    model = four_bar().model(parameters=("links.rocker.joint.origin.xyz.0",))
    export(model, "c", tmp_path / "out", functions=["tip_pose"], step=1e-3, q0={"crank": 0.7})
    plant = Built(tmp_path / "out", model)
    plant.step(np.zeros(1))
    assert np.isfinite(plant.x).all()
    plant.state.p[0] = 2.0
    plant.step(np.zeros(1))
    assert np.isnan(plant.x).all()


def test_a_urdf_file_says_what_it_has_not() -> None:
    """The open tree: loops with a warning, all else in its first comment."""
    with pytest.warns(
        UserWarning, match="to_urdf: URDF has no closed loops; the file holds the open tree, without pin"
    ):
        text = four_bar().to_urdf()
    assert "loop pin: between coupler.tip and rocker.tip" in text
    assert "link rocker: that its joint is passive" in text
    assert "coupling lift: between foot and eye" in boom().to_urdf()
    assert "contact ground: between tip and world" in ball().to_urdf()
    assert pliant.load(boom().to_urdf()).links[0].name == "boom"


def test_functions_that_an_arm_has_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match="multipliers is of arms with closed loops, and this one has none"):
        export(ball().model(), "python", tmp_path / "a", functions=["multipliers"])
    with pytest.raises(UnsupportedModel, match="linearize is not exported where loops are closed"):
        export(four_bar().model(), "python", tmp_path / "b", functions=["linearize"])


# ------------------------------------------------------------------------------------------------- mock-up units


def unit_of(model: Model, folder: Path, version: str = "3.0", **given: Any) -> Any:
    pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
    from mock_up import Unit

    return Unit(export(model, "fmu", folder / f"arm{version[0]}", fmi=version, **given, **QUICK), folder / "unpacked")


def stepped(unit: Any, running: Any, names: tuple[str, ...], step: float, steps: int) -> np.ndarray:
    rows = [unit.get(running, *names)]
    for k in range(steps):
        running.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
        rows.append(unit.get(running, *names))
    return np.array(rows).reshape(steps + 1, -1)


UNITS: dict[str, tuple[Any, dict[str, float], tuple[str, ...], float, int]] = {
    "loops": (four_bar, {"crank": 0.7}, ("crank", "coupler", "rocker", "der(rocker)"), 0.01, 50),
    "contact": (ball, {"ball": 0.1}, ("ball", "der(ball)"), 0.01, 40),
    "stop": (stopped, {}, ("bar", "der(bar)"), 0.01, 80),
}


@needs_compiler
def test_a_unit_leaps_over_no_post(tmp_path: Path) -> None:
    """A link that coasts into a post 4 mm thick and back, in one communication step."""
    body = RigidBody(mass=1.7, com=(0.3, 0.0, 0.0), inertia=(7e-3, 0.05, 0.055), tip=(0.6, 0.0, 0.0))
    link = Link(name="a", joint=Joint(axis=(0, 0, 1)), rigid=body)
    post = Frame(name="post", link="base", origin={"xyz": (0.0, 0.6, 0.0)})
    surface = {"type": "capsule", "radius": 0.002, "length": 0.2, "frame": "post"}
    touch = Contact(name="hit", radius=0.01, stiffness=1e7, surface=surface)
    model = Robot(name="coasting", gravity=(0, 0, 0), links=[link], frames=[post], contacts=[touch]).model()
    start = {"q0": {"a": 0.1}, "qd0": {"a": 2.1}}
    unit = unit_of(model, tmp_path, **start)
    with unit.instance("slave", tolerance=1e-10) as running:
        rows = stepped(unit, running, ("a", "der(a)"), 1.5, 1)
    run = pliant.simulate(model, 1.5, **start, rtol=1e-10, atol=1e-12)
    assert rows[-1, 1] == pytest.approx(-2.1, rel=1e-6)
    assert rows[-1] == pytest.approx([run.q[-1, 0], run.qd[-1, 0]], rel=1e-6)


@needs_compiler
@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("version", ["3.0", pytest.param("2.0", marks=pytest.mark.full)])
def test_co_simulation_follows_a_run(kind: str, version: str, tmp_path: Path) -> None:
    make, q0, names, step, steps = UNITS[kind]
    model = make().model()
    unit = unit_of(model, tmp_path, version, q0=q0)
    with unit.instance("slave", tolerance=1e-12) as running:
        rows = stepped(unit, running, names, step, steps)
    run = pliant.simulate(model, steps * step, q0 or None, output_step=step, method="dopri5", rtol=1e-12, atol=1e-14)
    # a step of the run ends where the ball touches; the unit steps over the kink as its tolerance allows
    same = 1e-8 if kind == "contact" else ALONG_A_RUN
    for name, column in zip(names, rows.T):
        plain = name.removeprefix("der(").removesuffix(")")
        series = run.qd[:, model.speeds.index(plain)] if name != plain else run[name]
        assert np.abs(column - series).max() < same * max(1.0, np.abs(series).max()), name
    if kind == "loops":
        assert np.abs(model.gaps(rows[:, :3])).max() < 1e-14
        assert np.abs(rows[:, 0] - rows[0, 0]).max() > 0.5


@pytest.mark.slow_cases("2.0")
@needs_compiler
@pytest.mark.parametrize("version", ["3.0", "2.0"])
def test_a_unit_closes_its_loops(version: str, tmp_path: Path) -> None:
    """A start value that opens them is closed; a solver that lets them drift is asked to take closed states."""
    model = four_bar().model(parameters=("links.coupler.rigid.mass",))
    unit = unit_of(model, tmp_path, version, q0={"crank": 0.7})
    n = 2 * model.n
    with unit.instance("model", {"crank": 0.75}) as running:
        states = np.empty(n)
        pointer = np.ctypeslib.as_ctypes(states)
        running.getContinuousStates(pointer, n)
        assert np.abs(model.gaps(states[:3])).max() < 1e-14
        assert states[0] == 0.75
        own = states.copy()
        assert not completed(running)
        states[2] += 1e-5
        running.setContinuousStates(pointer, n)
        assert completed(running)
        running.enterEventMode()
        changed = running.updateDiscreteStates()[3] if version == "3.0" else running.newDiscreteStates()[3]
        assert changed
        running.getContinuousStates(pointer, n)
        assert np.abs(model.gaps(states[:3])).max() < 1e-14
        assert 0 < np.abs(states - own).max() < 1e-4


def completed(running: Any) -> bool:
    found = running.completedIntegratorStep()
    return bool(found[0] if isinstance(found, tuple) else found)


@pytest.mark.slow
@needs_compiler
def test_derivatives_of_a_linkage_in_a_unit(tmp_path: Path) -> None:
    """Along closed directions and others: those of the constrained accelerations, by differences."""
    model = four_bar().model(parameters=("links.coupler.rigid.mass",))
    unit = unit_of(model, tmp_path, q0={"crank": 0.7}, qd0={"crank": 2.0})
    n = 2 * model.n
    with unit.instance("model") as running:
        unit.set(running, "torque.crank", 0.8)
        states = np.empty(n)
        running.getContinuousStates(np.ctypeslib.as_ctypes(states), n)
        known, unknown = list(range(1, n + 1)), [u.variable.valueReference for u in unit.description.derivatives]
        d = np.array([0.3, -0.2, 0.1, 1.0, -2.0, 0.5])
        rough, fine = (
            (unit.rates(running, states + h * d) - unit.rates(running, states - h * d)) / (2 * h) for h in (4e-4, 2e-4)
        )
        expected = (4 * fine - rough) / 3  # error h^4
        unit.rates(running, states)
        change = np.array(running.getDirectionalDerivative(unknown, known, d.tolist()))
        assert np.abs(change - expected).max() < 1e-8 * np.abs(expected).max()
        w = np.linspace(-1.0, 2.0, n)
        back = np.array(running.getAdjointDerivative(unknown, known, w.tolist(), n))
        assert back @ d == pytest.approx(w @ change, rel=1e-10)


@needs_compiler
@pytest.mark.full
def test_a_unit_of_the_hydraulic_crane_is_valid(tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
    from fmpy.validation import validate_fmu

    path = export(pliant.load("slider-crank").model(), "fmu", tmp_path / "arm", q0={"crank": 0.4}, **QUICK)
    assert validate_fmu(str(path)) == []
    assert fmpy.simulate_fmu(str(path), stop_time=0.01)["crank"][0] == pytest.approx(0.4)
