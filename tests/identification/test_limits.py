"""What the data cannot tell, what was known beforehand, and what cannot be right."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant import ModelError, UnsupportedModel
from pliant.identification import Recording, read_csv
from pliant.identification.precision import unresolved_directions
from pliant.identification.unknowns import Other, Unknowns, unknowns
from pliant.robot import Friction, Joint, Link, RigidBody, Robot

from .conftest import FOUR, GAUGES, Q0, START, arm, measure, model, perturbed

PAIR = ("links.fore.tip.mass", "payload.mass")  # two masses at the same point


def changed(recording: Recording, **changes: object) -> Recording:
    return replace(recording, **changes)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_pair_that_cannot_be_told_apart(recording: Recording) -> None:
    with pytest.warns(UserWarning, match=r"cannot be told apart at all"):
        found = pliant.identify(arm(), recording, (FOUR[0], *PAIR), start={PAIR[0]: 0.2, PAIR[1]: 0.2}, clocks="ignore")
    assert len(found.unresolved) == 1
    assert set(found.unresolved[0].weights) == set(PAIR)
    assert np.isinf(found.standard_errors[1:]).all()
    assert np.isfinite(found.standard_errors[0])
    assert "not known" in str(found)
    assert found.to_dict()["parameters"][PAIR[0]]["standard_error"] is None


def test_scales_are_those_of_values_and_of_what_was_known() -> None:
    """A number that starts at 0 is scaled by the deviation that was known, others of the robot by themselves; start
    values and calibrations by the deviation, or by their typical size."""
    paths = ("payload.com.0", "payload.mass")
    others = [Other("q0.upper", 0.4, size=0.3), Other("q0.fore", 0.2, size=0.7)]
    prior = {paths[0]: (0.0, 0.02), paths[1]: (0.8, 0.1), "q0.fore": (0.25, 0.05)}
    found = unknowns(arm(), paths, {}, {}, prior, others)
    np.testing.assert_allclose(found.scale, [0.02, 0.8, 0.3, 0.05])


@pytest.mark.slow
def test_a_prior_tells_them_apart() -> None:
    """With one mass known to 0.01 kg, the other is known about as well, and wholly correlated."""
    truth = np.array([1000.0, 1000.0, 0.5, 0.8])
    recording = measure(truth, 3)
    fixed = arm().replace({FOUR[k]: float(truth[k]) for k in (0, 1, 3)})
    with pytest.warns(UserWarning, match="cannot be told apart"):
        found = pliant.identify(fixed, recording, PAIR, prior={PAIR[0]: (0.2, 0.01)}, start={PAIR[1]: 0.2})
    assert found[PAIR[0]] + found[PAIR[1]] == pytest.approx(0.5, rel=0.01)
    assert found.standard_errors == pytest.approx([0.01, 0.01], rel=0.1)
    assert found.correlation[0, 1] < -0.95


@pytest.mark.full
def test_a_number_without_effect(recording: Recording) -> None:
    """Bending out of the plane does not happen here."""
    with pytest.warns(UserWarning, match="does not depend on it"):
        found = pliant.identify(arm(), recording, (*FOUR, "links.upper.beam.EI_y"), start=START)
    assert list(found.unresolved[0].weights) == ["links.upper.beam.EI_y"]


def test_a_number_without_effect_slows_nothing(rng: np.random.Generator) -> None:
    """Steps of Gauss and Newton arrive in 7 to 10 runs, those to the edge of a trust region in 20 to 40."""
    body = RigidBody(mass=1.3, com=(0.4, 0.1, 0.0), inertia=(0.02, 0.05, 0.07), tip=(0.9, 0.0, 0.0))
    link = Link(name="body", joint=Joint(friction=Friction(viscous=0.3)), rigid=body)
    pendulum = Robot(name="pendulum", gravity=(0.0, -9.81, 0.0), links=[link])
    run = pliant.simulate(pendulum.model(), 2.0, {"body": 0.8}, output_step=0.05)
    measured = run["body"] + 0.005 * rng.normal(size=len(run))
    recording = Recording(run.t, {"body": measured}, noise=0.005, q0={"body": 0.8})
    start = {"links.body.rigid.mass": 1.0, "links.body.joint.friction.viscous": 0.2, "links.body.rigid.inertia.0": 0.02}
    with pytest.warns(UserWarning, match="inertia.0: the data does not depend on it"):
        found = pliant.identify(pendulum, recording, tuple(start), start=start, stages=[1.0])
    assert found.evaluations < 15
    off = (found.estimates - [1.3, 0.3, 0.02]) / found.standard_errors
    assert np.abs(off).max() < 4


def test_long_records_need_little_memory() -> None:
    """A million readings: an M x M matrix anywhere would take 8 TB."""
    rng = np.random.default_rng(0)
    J = rng.normal(size=(1_000_000, 3)) @ np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found, values = unresolved_directions(J, ("a", "b", "c"))
    assert [set(item.weights) for item in found] == [{"b", "c"}]
    assert values[:2] == pytest.approx(np.linalg.norm(J, axis=0)[0] * np.array([2**1.5 / 2**0.5, 1.0]), rel=0.01)


def test_fewer_readings_than_numbers() -> None:
    """One reading leaves one direction open, whatever it says."""
    found, values = unresolved_directions(np.array([[100.0, 0.0]]), ("a", "b"))
    assert [set(item.weights) for item in found] == [{"b"}]
    assert values.tolist() == pytest.approx([100.0, 0.0])


def test_numbers_at_either_bound_are_named() -> None:
    """Near means a small part of their typical size."""
    lower, upper = np.array([-0.2, -5.0, 1.0, -np.inf]), np.array([0.3, 40.0, 3.0, 7.0])
    unknowns = Unknowns(
        ("low", "far", "high", "open"), np.ones(4), lower, upper, np.full((4, 2), np.nan),
        np.array([0.1, 5.0, 2.0, 1.0]), 0, arm(),
    )  # fmt: skip
    assert unknowns.at_bound(np.array([-0.2, 39.0, 3.0, 6.9])) == ("low", "high")
    assert unknowns.at_bound(np.array([0.3, -5.0, 1.01, 7.0])) == ("low", "far", "open")


@pytest.mark.slow
def test_bounds_are_kept(recording: Recording) -> None:
    start = {**START, "payload.mass": 0.2}
    found = pliant.identify(model(), recording, FOUR, start=start, bounds={"payload.mass": (0.0, 0.3)}, clocks="ignore")
    assert found["payload.mass"] == pytest.approx(0.3, rel=1e-3)
    assert found.at_bound == ("payload.mass",)


@pytest.mark.slow
def test_a_late_clock_is_refused() -> None:
    recording = measure(perturbed(2), 2)
    late = changed(recording, t=np.asarray(recording.t) + 0.01)
    with pytest.raises(ModelError, match=r"clock that is 0\.0[019]\d* s .* late"):
        pliant.identify(model(), late, FOUR, start=START)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"readings": {}}, "no readings"),
        ({"readings": {"upper": [0.0, np.nan, 1.0]}, "t": [0.0, 0.1, 0.2]}, r"'upper' is nan at row 1"),
        ({"readings": {"upper": [0.0, 1.0]}, "t": [0.0, 0.1, 0.2]}, "one value for each time"),
        ({"t": [0.0, 0.2, 0.1], "readings": {"upper": [0.0, 1.0, 2.0]}}, "times must rise strictly"),
        ({"t": [1e9, 1e9 + 1, 1e9 + 2], "readings": {"upper": [0.0, 1.0, 2.0]}}, "not the clock of the run"),
        ({"torque": (np.array([0.0, 0.1, 0.2]), np.zeros((3, 2)))}, "torques run from 0 to 0.2 s"),
        ({"noise": {"upper": 0.0}}, "expected a number above 0"),
        ({"noise": {"lower": 1.0}}, "noise of lower"),
    ],
)
def test_bad_readings(recording: Recording, changes: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        changed(recording, **changes)


def test_bad_arguments(recording: Recording) -> None:
    robot = arm()
    for parameters, said in (
        (["links.uper.beam.EI_z"], "did you mean `links.upper.beam.EI_z`"),
        ([], "expected paths"),
        ([FOUR[0], FOUR[0]], "each may be given once"),
    ):
        with pytest.raises(ModelError, match=said):
            pliant.identify(robot, recording, parameters)
    with pytest.raises(ModelError, match="no channel `elbow`"):
        pliant.identify(robot, Recording([0.0, 1.0], {"elbow": [0.0, 0.0]}, name="a"), [FOUR[0]])
    with pytest.raises(ModelError, match="within its bounds"):
        pliant.identify(robot, recording, [FOUR[0]], bounds={FOUR[0]: (1.0, 2.0)})
    with pytest.raises(ModelError, match=r"start: `payload.mass` is not fitted"):
        pliant.identify(robot, recording, [FOUR[0]], start={"payload.mass": 1.0})
    with pytest.raises(ModelError, match="loss: got 'l1'"):
        pliant.identify(robot, recording, [FOUR[0]], loss="l1")
    with pytest.raises(UnsupportedModel, match="Python function"):
        pliant.identify(robot, changed(recording, torque=lambda t, q, qd: np.zeros(2)), [FOUR[0]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,upper\n0,1\n1,nan\n", "line 3, column `upper`: got nan"),
        ("time,upper\n0,1\n1,x\n", "line 3, column `upper`: got 'x'"),
        ("time,upper\n0,1\n1\n", "line 3 has 1 cells"),
        ("time,uper\n0,1\n", "no column `upper`, did you mean `uper`"),
        ("0,1\n1,2\n", "must name the columns"),
        ("time,upper\n", "no rows"),
        ("upper,upper\n0,0\n", "there twice"),
    ],
)
def test_bad_tables(tmp_path, text: str, said: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ModelError, match=said):
        read_csv(tmp_path / "a.csv", ["upper"])


def test_tables_with_gaps(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.csv").write_text("time;upper\n0;1\n1;\n2;3\n")
    values = read_csv(tmp_path / "a.csv", gaps=True)["upper"]
    assert np.array_equal(values, [1.0, np.nan, 3.0], equal_nan=True)


def test_sensors_of_different_rates() -> None:
    """A slow camera beside fast gauges: each channel has its own times."""
    truth = perturbed(4)
    whole = measure(truth, 4)
    t = np.asarray(whole.t)
    readings = {name: (t, y) if name in GAUGES else (t[::4], y[::4]) for name, y in whole.readings.items()}
    given = Recording(t, readings, q0=Q0, torque=whole.torque, sensors=GAUGES)
    found = pliant.identify(model(), given, FOUR, start=START)
    assert found.estimates == pytest.approx(truth, rel=0.02)
    assert [len(c.t) for c in found.channels] == [101, 101, 101, 101, 401, 401]


def test_a_blow_has_no_slope() -> None:
    """A prescribed rate that jumps is an impulse, which slopes do not pass."""
    blow = {"upper": lambda t: ca.if_else(t > 0.05, 0.8 * (t - 0.05), 0.0)}
    t = np.linspace(0.0, 0.1, 11)
    recording = Recording(t, {"fore": np.zeros(11)}, motion=blow, name="blow")
    with pytest.raises(UnsupportedModel, match=r"'blow': a prescribed rate jumps"):
        pliant.identify(arm(), recording, [FOUR[0]])
