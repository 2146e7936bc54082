"""Scenario files: what they mean, how they are refused, and that they survive a round trip."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError, PliantError
from pliant.scenario import Outputs, Scenario, schema

BASE = {"robot": "two-link", "duration": 0.02, "method": "dop853"}
ROBOT = "name: one\nlinks: [{name: arm, beam: {length: 1, mass_per_length: 2, EI_z: 50}, shapes: {bending_y: 1}}]\n"

URDF = """<robot name="two"><link name="base"/>
  <link name="fore"><inertial><origin xyz="0.25 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="j1" type="continuous"><parent link="base"/><child link="fore"/><axis xyz="0 0 1"/></joint>
  <joint name="j2" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.5 0 0"/></joint>
</robot>
"""
SIDE = "links: {fore: {beam: {mass_per_length: 3.0, EI_z: 100}, shapes: {bending_y: 1}}}\n"
PD = {"type": "pd", "kp": 100, "kd": 10, "reference": [0, 0]}
LQR = {"type": "lqr", "joints": [0, 0], "Q": {"joints": 100, "rates": 1}, "R": 0.01}
ENCODERS = [{"type": "encoder", "joint": name, "noise": 1e-4} for name in ("upper", "fore")]
CONTROLLERS = {
    "composite": {"type": "composite", "kp": 100, "kd": 20, "reference": [0, 0], "effort": 1e-3},
    "computed-torque": {"type": "computed-torque", "kp": 100, "kd": 20, "reference": [0, 0]},
    "disturbance-observer": {"type": "disturbance-observer", "inner": PD, "gain": 20},
    "limited": {"type": "limited", "controller": PD, "limit": 20},
    "lqr": LQR,
    "output-feedback": {
        "type": "output-feedback",
        "regulator": LQR,
        "observer": {"type": "kalman", "joints": [0, 0], "sensors": ENCODERS},
    },
    "pd": PD,
    "pid": {"type": "pid", "kp": 100, "kd": 10, "ki": 5, "reference": [0, 0]},
    "sampled": {"type": "sampled", "controller": PD, "sample_time": 0.002},
    "switch": {"type": "switch", "phases": [PD, LQR], "until": [{"coordinate": "upper", "below": -0.01}]},
}
"""Each controller in the words of a file."""


def written(folder: Path, text: str) -> Path:
    path = folder / "case.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ModelError) as caught:
        Scenario.load(written(folder, text))
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- meaning


def test_a_run_is_the_call_it_stands_for() -> None:
    scenario = Scenario(**BASE, initial={"q": {"upper": "-90 deg", "fore": 0.1}}, torque={"fore": 0.5})
    result = scenario.run()
    model = pliant.load("two-link").model()
    same = pliant.simulate(model, 0.02, [-np.pi / 2, 0.1, 0, 0], torque=[0.0, 0.5], method="dop853")
    assert np.array_equal(result.q, same.q)  # the same kernel, steps and input: equal bits
    assert np.array_equal(result.tau, same.tau)


def test_the_robot_is_found_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "one.yaml").write_text(ROBOT)
    monkeypatch.chdir("/")
    scenario = Scenario.load(written(tmp_path, "robot: arms/one.yaml\nduration: 1\n"))
    assert scenario.robot == pliant.load(tmp_path / "arms" / "one.yaml")


def test_the_robot_may_stand_in_the_scenario(tmp_path: Path) -> None:
    text = "duration: 1\nrobot:\n" + textwrap.indent(ROBOT, "  ")
    assert Scenario.load(written(tmp_path, text)).robot.links[0].name == "arm"


@pytest.mark.parametrize("given", [[0.1, 0.2], {"upper": 0.1, "fore": 0.2}, [0.1, 0.2, 0.0, 0.0]])
def test_states_by_list_and_by_name(given: object) -> None:
    q, qd = Scenario(**BASE, initial={"q": given, "qd": given}).start()
    assert q.tolist() == qd.tolist() == [0.1, 0.2, 0.0, 0.0]


def test_equilibrium_is_at_rest() -> None:
    scenario = Scenario(**BASE, initial={"q": {"fore": 0.3}, "equilibrium": True})
    q, _ = scenario.start()
    assert np.array_equal(q, scenario.built.equilibrium([0.0, 0.3]))
    assert np.abs(q[2:]).min() > 1e-4  # a horizontal metre of 5 kg/m and EI 1000 sags by millimetres


def test_motors_start_where_their_joints_do() -> None:
    scenario = Scenario(robot="lab-arm", duration=1, initial={"q": {"upper": 0.4}})
    q = dict(zip(scenario.built.coordinates, scenario.start()[0]))
    assert q["upper.motor"] == q["upper"] == 0.4
    assert q["fore.motor"] == 0.0


def test_a_sliding_beam_starts_as_described() -> None:
    scenario = Scenario(robot="rrp", duration=1)
    place = scenario.built.index("slide")
    assert scenario.start()[0][place] == scenario.robot.link("slide").beam.length > 0


def test_samples_are_linear_in_between() -> None:
    torque = {"times": [0, 0.01, 0.02], "values": {"fore": [0, 1, 0]}}
    result = Scenario(**BASE, torque=torque, output_step=0.005).run()
    assert result.tau[:, 1].tolist() == pytest.approx([0, 0.5, 1, 0.5, 0], abs=1e-12)  # rounding of the slope
    assert not result.tau[:, 0].any()


def test_motion_prescribes_a_joint() -> None:
    motion = {"upper": {"type": "cycloidal", "from": 0, "to": "90 deg", "duration": 0.01, "start": 0.005}}
    result = Scenario(**BASE, motion=motion, output_step=0.005).run()
    expected = [0, 0, np.pi / 4, np.pi / 2, np.pi / 2]  # at rest until 5 ms, half-way at 10 ms, there at 15 ms
    assert result["upper"].tolist() == pytest.approx(expected, abs=1e-12)


def test_a_controller_with_a_reference() -> None:
    reference = {"type": "quintic", "from": [0, 0], "to": ["90 deg", 0], "duration": 1}
    controller = {"type": "pd", "kp": [100, 50], "kd": [10, 5], "reference": reference}
    scenario = Scenario(**BASE, controller=controller)
    result = scenario.run()
    assert np.abs(result.tau).max() > 0
    same = pliant.simulate(
        pliant.load("two-link").model(),
        0.02,
        controller=pliant.control.PD([100, 50], [10, 5], pliant.control.Quintic([0, 0], [np.pi / 2, 0], 1.0)),
        method="dop853",
    )
    assert np.array_equal(result.q, same.q)  # the same expression, hence the same kernel


def test_files_can_name_every_controller() -> None:
    elastic = {"feedback-linearization"}  # for drives that yield, which the arm here has not
    assert set(CONTROLLERS) | elastic == set(pliant.control.CONTROLLERS)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_runs_from_a_file(name: str, tmp_path: Path) -> None:
    """Read, checked against the arm, written, read again, run."""
    scenario = Scenario(**BASE, controller=CONTROLLERS[name])
    scenario.save(tmp_path / "saved.yaml")
    assert Scenario.load(tmp_path / "saved.yaml") == scenario
    result = scenario.run()
    assert result.stats.status == "finished"
    assert np.abs(result.tau).max() > 1  # gravity on a horizontal arm of 10 kg asks for some


def test_outputs_are_written(tmp_path: Path) -> None:
    scenario = Scenario(**BASE, outputs={"csv": "sub/a.csv", "figures": "joints"})
    paths = scenario.write(scenario.run(), tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["run.nc", "sub/a.csv", "joints.png"]
    assert all(path.stat().st_size > 100 for path in paths)


# -------------------------------------------------------------------------------------------------------- surroundings


def test_a_load_acts_once() -> None:
    push = {"type": "wrench", "force": [0, -4, 0]}
    with pytest.raises(ModelError, match=r"loads\[1\].*it is loads\[0\] again"):
        Scenario(**BASE, loads=[push, push])
    Scenario(**BASE, loads=[push, {**push, "force": [0, -5, 0]}])


def test_loads_are_those_of_the_library() -> None:
    loads = [
        {"type": "wrench", "force": [0, -4, 0], "link": "fore", "x": 0.4},
        {"type": "wrench", "moment": {"type": "pulse", "height": [0, 0, 2], "duration": 0.005, "start": 0.01}},
        {
            "type": "distributed", "force": [0, 300, 0], "link": "upper", "start": 0.3, "end": 0.8,
            "profile": {"x": [0, 1], "factor": [0, 1]},
        },
    ]  # fmt: skip
    result = Scenario(**BASE, loads=loads).run()
    pulse = pliant.control.Pulse([0, 0, 2], 0.005, begin=0.01)
    direct = pliant.simulate(
        pliant.load("two-link").model(), 0.02, method="dop853",
        loads=[
            pliant.loads.Wrench(force=[0, -4, 0], link="fore", x=0.4),
            pliant.loads.Wrench(moment=pulse.expression),
            pliant.loads.Distributed(force=[0, 300, 0], link="upper", start=0.3, end=0.8, profile=lambda x: x),
        ],
    )  # fmt: skip
    # Steps end where the pulse begins and ends in the first run, not in the second: equal to the tolerance of steps.
    np.testing.assert_allclose(result.q, direct.q, atol=1e-8)
    assert np.abs(result.q - Scenario(**BASE).run().q).max() > 1e-5  # and they do act


def test_a_base_that_is_accelerated_upwards_is_more_gravity() -> None:
    """Exactly so in mechanics: the arm cannot tell. The same kernel but for one constant, hence close to rounding."""
    lifted = Scenario(**BASE, base={"type": "shaken", "acceleration": [0, 9.81, 0]}).run()
    heavy = pliant.load("two-link").replace({"gravity.1": -2 * 9.81})
    assert np.abs(lifted.q - Scenario(**{**BASE, "robot": heavy}).run().q).max() < 1e-9


def test_a_carried_base_moves_by_its_path() -> None:
    path = {"type": "quintic", "from": [0, 0, 0], "to": [0.1, 0, 0], "duration": 0.02}
    result = Scenario(**BASE, base={"type": "carried", "position": path, "rpy": [0.1, -0.2, 0.3]}).run()
    quintic = pliant.control.Quintic([0, 0, 0], [0.1, 0, 0], 0.02)
    model = pliant.load("two-link").model()
    carried = pliant.loads.BasePath(position=quintic.expression, rpy=(0.1, -0.2, 0.3))
    direct = pliant.simulate(model, 0.02, base=carried, method="dop853")
    np.testing.assert_allclose(result.q, direct.q, atol=1e-8)  # steps end at the ends of the path in the first only
    assert np.abs(result.q[-1] - Scenario(**BASE).run().q[-1]).max() > 1e-3


def test_rest_under_a_load() -> None:
    """A held end load sags the arm; it stays at rest when joints are held."""
    load = {"type": "wrench", "force": [0, -20, 0]}
    motion = {name: {"type": "constant", "position": 0} for name in ("upper", "fore")}
    scenario = Scenario(**BASE, loads=[load], initial={"equilibrium": True}, motion=motion)
    result = scenario.run()
    assert np.abs(result.q - result.q[0]).max() < 1e-9
    assert np.abs(scenario.start()[0] - Scenario(**BASE, initial={"equilibrium": True}).start()[0]).max() > 1e-4


@pytest.mark.slow_cases("points")
@pytest.mark.parametrize("engine", ["points", "batch"])
def test_sweeps_keep_the_loads(engine: str, tmp_path: Path) -> None:
    """Thirty newtons at the tip bend the arm by more than its own weight does in a tenth of a second."""
    from pliant.sweeps import SweepStudy, sweep

    peaks = []
    for loads in ((), [{"type": "wrench", "force": [0, -30, 0]}]):
        study = SweepStudy(
            scenario={"robot": "two-link", "duration": 0.1, "loads": loads}, vary={"payload.mass": [0.1, 0.5]},
            metrics=["peak_deflection"], engine=engine,
        )  # fmt: skip
        found = sweep(study, tmp_path / f"{engine}{len(loads)}", workers=1).dataset["peak_deflection"]
        peaks.append(np.asarray(found))
    assert (peaks[1] > 1.3 * peaks[0]).all()


def test_limits_may_be_ignored() -> None:
    joint = {"limits": {"lower": -0.01, "upper": 0.01}}
    arm = {
        "name": "a",
        "links": [{"name": "arm", "joint": joint, "rigid": {"mass": 1, "com": [1, 0, 0], "tip": [1, 0, 0]}}],
    }
    given = {"robot": arm, "duration": 0.1, "initial": {"qd": [1.0]}}
    assert Scenario(**given).run().t[-1] < 0.02
    assert Scenario(**given, limits=False).run().t[-1] == 0.1


def test_a_urdf_file_with_its_side_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "side.yaml").write_text(SIDE)
    monkeypatch.chdir("/")
    text = "robot: {urdf: arm.urdf, flexible: side.yaml, tip: tool}\nduration: 0.01\n"
    scenario = Scenario.load(written(tmp_path, text))
    assert scenario.robot == pliant.load(tmp_path / "arm.urdf", flexible=tmp_path / "side.yaml", tip="tool")
    assert "fore.bending_y.1" in scenario.built.coordinates
    scenario.save(tmp_path / "whole.yaml")  # carries the arm itself
    (tmp_path / "arm.urdf").unlink()
    assert Scenario.load(tmp_path / "whole.yaml") == scenario


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        ("{urdf: none.urdf}", "none.urdf"),
        ("{urdf: arm.urdf, flexibel: side.yaml}", "flexibel"),
        ("{urdf: arm.urdf, flexible: none.yaml}", "none.yaml: cannot be read: no such file"),
        ("{urdf: arm.urdf, tip: hand}", "hand"),
    ],
)
def test_faults_of_a_urdf_robot(tmp_path: Path, robot: str, said: str) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    assert said in refused(tmp_path, f"robot: {robot}\nduration: 1\n")


# --------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("duraton: 5", "unknown key `duraton` (line 4), did you mean `duration`?"),
        ("initial: {qq: 1}", "unknown key `qq` in initial (line 4), did you mean `q`?"),
        (
            "initial: {q: {uper: 3}}",
            "initial.q.uper (line 4): the arm has no coordinate of this name, did you mean `upper`?",
        ),
        ("initial: {q: {upper: 4 degg}}", "initial.q.upper (line 4): got '4 degg', expected an angle"),
        ("initial: {q: [1, 2, 3]}", "expected 2 or 4 numbers"),
        ("initial: {equilibrium: 3}", "expected true or false"),
        ("model: {formulation: denocs}", "did you mean `denoc`?"),
        ("model: {rotatoin: exact}", "did you mean `rotation`?"),
        ("model: {formulation: dual-screw, stiffening: third-order}", "stiffening"),
        ("method: dopp853", "did you mean `dop853`?"),
        ("method: rk4", "missing key `step`"),
        ("rtol: 0", "expected a number above 0"),
        ("step: '1e-3'", "write it without quotes"),
        ("torque: {foree: 2}", "torque.foree (line 4): the arm has no joint of this name, did you mean `fore`?"),
        ("torque: {upper: 90 deg}", "expected a number"),
        ("torque: [1]", "expected 2 numbers"),
        (
            "torque: {times: [0, 1], value: {upper: [0, 1]}}",
            "unknown key `value` in torque (line 4), did you mean `values`?",
        ),
        ("torque: {times: [0, 1], values: {upper: [0]}}", "`values.upper` has 1 numbers for 2 times"),
        ("torque: {times: [1, 0], values: {upper: [0, 0]}}", "rising"),
        ("torque: {times: [0, 1], values: {uper: [0, 1]}}", "did you mean `upper`?"),
        ("motion: {uper: {type: constant, position: 0}}", "did you mean `upper`?"),
        ("motion: {upper: {type: cycliodal}}", "did you mean `cycloidal`?"),
        ("motion: {upper: {from: 0}}", "missing key `type`"),
        ("motion: {upper: {type: constant, positon: 0}}", "did you mean `position`?"),
        ("motion: {upper: {type: cycloidal, from: 0, to: 1, duration: -1}}", "positive"),
        ("motion: {upper: {type: constant, position: [0, 1]}}", "it moves 2 coordinates, expected one"),
        ("controller: {type: comuted-torque}", "did you mean `computed-torque`?"),
        ("controller: {type: pd, kp: [1, 2, 3], kd: 1, reference: [0, 0]}", "controller (line 4): kp"),
        ("controller: {type: pd, kp: 1, kd: 1, reference: {type: quintc}}", "did you mean `quintic`?"),
        (
            "controller: {type: output-feedback, regulator: {type: pd, kp: 1, kd: 1, reference: 0}, observer: 3}",
            "regulator: got",
        ),
        ("loads: {type: wrench, force: [1, 0, 0]}", "expected a list"),
        ("loads: [{type: wench}]", "did you mean `wrench`?"),
        ("loads: [{type: wrench}]", "needs a `force` or a `moment`"),
        ("loads: [{type: wrench, force: [1, 0]}]", "expected 3 finite numbers"),
        ("loads: [{type: wrench, force: [1, 0, 0], link: foree}]", "loads[0] (line 4): link: got 'foree'"),
        ("loads: [{type: wrench, force: [1, 0, 0], x: 7}]", "between 0 and 1 m"),
        ("loads: [{type: wrench, force: [1, 0, 0], axes: world}]", "'base', 'link', 'section' or 'frame'"),
        ("loads: [{type: wrench, force: {type: sine, amplitude: 1, frequency: 2}}]", "has 1 coordinates, expected 3"),
        ("loads: [{type: wrench, force: {type: sinus}}]", "did you mean `sine`?"),
        ("loads: [{type: distributed, force: [1, 0, 0], profile: {x: [0, 1]}}]", "`x` and `factor`"),
        ("base: {type: shaking}", "did you mean `shaken`?"),
        ("base: {type: carried, positon: [0, 0, 0]}", "did you mean `position`?"),
        ("base: {type: shaken, acceleration: 3}", "expected 3 finite numbers"),
        ("limits: maybe", "true or false"),
        ("outputs: {figures: [joint]}", "did you mean `joints`?"),
        ("outputs: {formats: [jpg]}", "expected 'png', 'svg' or 'pdf'"),
        ("outputs: {netcdf: ../x.nc}", "inside the folder of outputs"),
        ("outputs: {csv: /etc/x.csv}", "inside the folder of outputs"),
        ("format: 2", "reads format 1"),
    ],
)
def test_faults_are_named(tmp_path: Path, line: str, said: str) -> None:
    text = refused(tmp_path, f"# a scenario\nrobot: two-link\nduration: 1\n{line}\n")
    assert said in text
    assert text.startswith("case.yaml: ")


def test_a_misspelt_key_is_one_fault(tmp_path: Path) -> None:
    """The right spelling is not reported as missing as well."""
    text = refused(tmp_path, "robot: two-link\nduration: 1\nmotion: {upper: {type: constant, positon: 0}}\n")
    assert "missing" not in text
    assert "faults" not in text


def test_several_faults_come_together(tmp_path: Path) -> None:
    text = refused(tmp_path, "robot: two-lnk\nduration: -1\nmethod: x\ninitial: {q: {upper: north}}\n")
    assert "4 faults" in text


def test_faults_of_an_inline_robot_have_their_place(tmp_path: Path) -> None:
    text = refused(tmp_path, "duration: 1\nrobot:\n" + textwrap.indent(ROBOT.replace("length", "lenght"), "  "))
    assert "unknown key `lenght` in robot.links[0].beam (line 4), did you mean `length`?" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"- a\n", "mapping"),
        (b"\x00\x01", "binary"),
        (b"robot: {", "not valid YAML"),
        (b"robot: \xff\n", "UTF-8"),
        (b"duration: 1\n", "missing key `robot`"),
        (ROBOT.encode(), "describes a robot, not a scenario"),
    ],
)
def test_files_that_are_no_scenario(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "case.yaml"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=said):
        Scenario.load(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        Scenario.load(tmp_path / "none.yaml")
    with pytest.raises(ModelError, match="got a folder, expected a regular file"):
        Scenario.load(tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PliantError, match="could not be written"):
        Scenario(**BASE).save(tmp_path / "file" / "folder.yaml")


# ----------------------------------------------------------------------------------------------------------- round trip


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"initial": {"q": {"upper": "-90 deg"}, "qd": [1, 2], "equilibrium": True}, "name": "a title"},
        {"torque": {"times": [0, 1], "values": {"fore": [0, 1.5]}}, "model": {"stiffening": "third-order"}},
        {"torque": [1, 2], "outputs": {"netcdf": None, "figures": ["tip"]}, "rtol": 1e-6},
        {"motion": {"upper": {"type": "quintic", "from": 0, "to": "pi/2", "duration": 1}}},
        {"loads": [{"type": "wrench", "force": {"type": "sine", "amplitude": [0, 1, 0], "frequency": 2}, "x": 0.5}]},
        {"base": {"type": "carried", "rpy": {"type": "sine", "amplitude": [0, "5 deg", 0], "frequency": 0.1}}},
        {"limits": False},
        {"controller": {"type": "pd", "kp": 1, "kd": [1, 2], "reference": {"type": "constant", "position": [0, 1]}}},
    ],
)
def test_saved_and_loaded_scenarios_are_equal(tmp_path: Path, changes: dict[str, object]) -> None:
    scenario = Scenario(**{**BASE, **changes})
    scenario.save(tmp_path / "saved.yaml")
    loaded = Scenario.load(tmp_path / "saved.yaml")
    assert loaded == scenario
    assert "format: 1" in (tmp_path / "saved.yaml").read_text()


def test_replace_checks_anew() -> None:
    scenario = Scenario(**BASE)
    assert scenario.replace(duration=2.0).duration == 2.0
    assert scenario.duration == 0.02
    with pytest.raises(ModelError, match="above 0"):
        scenario.replace(duration=-1)


def test_the_schema_names_every_key() -> None:
    properties = schema()["properties"]
    assert set(properties) == {"format", *Scenario.model_fields}
    assert set(schema()["$defs"]["Outputs"]["properties"]) == set(Outputs.model_fields)
