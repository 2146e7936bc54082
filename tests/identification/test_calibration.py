"""Gains, offsets and delays of inputs and readings: exact slopes, found again from noisy runs, told where they make no
sense; bounds that the description has; fits that go on where they stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.control import Encoder, StrainGauge
from pliant.identification import Recording, Strain
from pliant.identification.calibration import _table, calibration_number
from pliant.identification.lagging import lagged
from pliant.identification.residuals import Residuals
from pliant.identification.response import Response
from pliant.identification.resuming import FitProgress
from pliant.identification.unknowns import unknowns
from pliant.validation import validate

PATH = "links.upper.beam.EI_z"
TRUE = {
    "reading.upper.gain": 1.05, "reading.gauge.offset": 2e-5, "reading.gauge.delay": 0.0031,
    "input.fore.gain": 0.8, "input.fore.offset": 0.7, "input.delay": 0.0061,
}  # fmt: skip
GAUGE = Strain("upper", 0.05, (0.01, 0.0))
T_END = 1.0


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return pliant.load("two-link").model(parameters=(PATH,))


def commands(kind: str = "linear") -> tuple[Any, Any, str]:
    rows = 20 * np.random.default_rng(3).normal(size=(21, 2))
    return np.linspace(0, T_END, 21), rows, kind


def calibrated_by_hand(model: pliant.Model, kind: str = "linear") -> dict[str, Any]:
    """What an arm does whose drives and sensors are as TRUE says, and what is read of it, without `Response`."""
    t, rows, _ = commands(kind)
    late = (t + TRUE["input.delay"], rows * [1.0, 0.8] + [0.0, 0.7], kind)
    run = pliant.simulate(model, T_END, torque=late, output_step=0.0001, rtol=1e-10, atol=1e-12)
    at = np.linspace(0, T_END, 401)
    gauge = run.strain("upper", GAUGE.x, GAUGE.at)
    return {
        "t": at, "upper": 1.05 * np.interp(at, run.t, run["upper"]), "fore": np.interp(at, run.t, run["fore"]),
        "gauge": np.interp(np.maximum(at - 0.0031, 0.0), run.t, gauge) + 2e-5,
    }  # fmt: skip


def recorded(read: dict[str, Any], kind: str = "linear", **more: Any) -> Recording:
    readings = {name: read[name] for name in ("upper", "fore", "gauge")}
    return Recording(read["t"], readings, torque=commands(kind), sensors={"gauge": GAUGE}, name="swing", **more)


@pytest.mark.slow_cases("hold", "linear")
@pytest.mark.parametrize("kind", ["linear", "hold"])
def test_a_known_calibration_is_applied(model: pliant.Model, kind: str) -> None:
    """The gauge feels accelerations, which a held command makes jump: between two rows of 0.1 ms they are interpolated
    here."""
    read = calibrated_by_hand(model, kind)
    found = validate(model, recorded(read, kind, calibration=TRUE), rtol=1e-9)
    limits = {"upper": 1e-5, "fore": 1e-5, "gauge": 1e-4 if kind == "linear" else 2e-2}
    assert {name: found.channels[name].nrmse < limit for name, limit in limits.items()} == dict.fromkeys(limits, True)
    assert validate(model, recorded(read, kind)).channels["upper"].nrmse > 0.05


@pytest.mark.slow
def test_slopes_are_those_of_differences(model: pliant.Model) -> None:
    """Differences of second order with h = 1e-3 of each size; the slope by the delay of the inputs is itself one."""
    read = calibrated_by_hand(model)
    fitted = [calibration_number(name) for name in TRUE]
    made = Response(model, recorded(read), "dop853", 1e-11, 1e-13, fitted)
    p, values = model.nominal_parameters, np.array(list(TRUE.values()))
    scale = np.array([*p, 1.0, 1e-4, 0.0025, 1.0, 10.0, 0.0025])
    exact = made.predict(p, np.zeros(0), scale, calibration=values).slope
    for k in range(len(values)):
        ends = []
        for way in (1e-3, -1e-3):
            moved = values.copy()
            moved[k] += way * scale[1 + k]
            ends.append(made.predict(p, np.zeros(0), scale, calibration=moved).y)
        difference = (ends[0] - ends[1]) / 2e-3
        largest = np.abs(difference).max(axis=0)
        off = np.abs(exact[:, :, 1 + k] - difference)
        tolerance = 0.02 if list(TRUE)[k] == "input.delay" else 2e-3
        kinks = off > tolerance * largest + 1e-9  # a delayed reading has a kink where the command has one
        assert kinks.mean() < 0.07, list(TRUE)[k]
        assert largest.max() > 0


@pytest.mark.slow
def test_they_are_found_again(model: pliant.Model, rng: np.random.Generator) -> None:
    """Of seven 95 % intervals at most two miss (the chance of more is 4e-3), and all estimates are near."""
    read = calibrated_by_hand(model)
    noise = {name: 0.002 * float(np.std(read[name])) for name in ("upper", "fore", "gauge")}
    noisy = read | {name: read[name] + size * rng.normal(size=401) for name, size in noise.items()}
    truth = {PATH: model.robot.paths()[PATH], **TRUE}
    found = pliant.identify(model, recorded(noisy, noise=noise), tuple(truth), start={PATH: 1.1 * truth[PATH]})
    low, high = found.intervals().T
    wanted = np.array(list(truth.values()))
    assert ((low <= wanted) & (wanted <= high)).sum() >= 5
    np.testing.assert_allclose(found.estimates, wanted, rtol=0.05, atol=1e-5)
    assert list(found.calibration) == list(TRUE)
    again = validate(model, replace(recorded(read), calibration=found.calibration), p=[found[PATH]])
    assert again.channels["gauge"].nrmse < 0.01


def test_one_number_of_two_recordings_and_one_of_each(model: pliant.Model) -> None:
    """A gain that both share, an offset that each has for itself."""
    read = calibrated_by_hand(model)
    offsets = {"first": 0.01, "second": -0.03}
    runs = [
        Recording(read["t"], {"fore": 1.2 * read["fore"] + offset}, torque=commands(), name=name,
                  calibration={n: v for n, v in TRUE.items() if n.startswith("input")})
        for name, offset in offsets.items()
    ]  # fmt: skip
    names = ("reading.fore.gain", *(f"{name}: reading.fore.offset" for name in offsets))
    found = pliant.identify(model.robot.model(), runs, names)
    np.testing.assert_allclose(found.estimates, [1.2, 0.01, -0.03], rtol=1e-4)


WRONG = {
    "reading.upper.size": r"`reading.upper.size`: expected reading.CHANNEL.gain",
    "input.upper.delay": r"`input.upper.delay`: expected reading",
    "input.wrist.gain": "the arm has no joint 'wrist'",
    "reading.uper.gain": "no recording has the channel 'uper'.*upper",
    "sing: reading.upper.gain": "no recording 'sing'.*swing",
}


@pytest.mark.parametrize("name", WRONG)
def test_names_that_make_no_sense(model: pliant.Model, name: str) -> None:
    with pytest.raises(pliant.ModelError, match=WRONG[name]):
        pliant.identify(model, recorded(calibrated_by_hand(model)), (PATH, name))


def test_inputs_that_are_no_samples(model: pliant.Model) -> None:
    t = np.linspace(0, 1, 50)
    with pytest.raises(pliant.ModelError, match="no recording has a torque"):
        pliant.identify(model, Recording(t, {"upper": t}), (PATH, "input.upper.gain"))
    driven = Recording(t, {"upper": t}, torque=pliant.control.PD([1.0, 1.0], [0.1, 0.1], [0.0, 0.0]))
    with pytest.raises(pliant.ModelError, match="need a torque or command that was given as samples"):
        pliant.identify(model, driven, (PATH, "input.upper.gain"))
    with pytest.raises(pliant.ModelError, match="which was not read"):
        Recording(t, {"upper": t}, calibration={"reading.fore.gain": 1.0})


# ------------------------------------------------------------------------------------------------- physical bounds

HUB = [f"links.upper.joint.hub.inertia.{k}" for k in range(3)]


def hub_arm(turning: float) -> pliant.Robot:
    robot = pliant.load("two-link")
    return robot.replace({"links.upper.joint.hub": {"mass": 1.0, "inertia": [turning, turning, turning]}})


def hub_run(turning: float) -> Recording:
    torque = (np.array([0.0, 0.3, 0.6]), np.array([[30.0, 0.0], [-20.0, 5.0], [0.0, 0.0]]))
    run = pliant.simulate(hub_arm(turning).model(), 0.6, torque=torque, output_step=0.005)
    return Recording(run.t, {"upper": run["upper"]}, noise=1e-5, torque=torque)


@pytest.mark.slow
def test_a_moment_of_inertia_stops_at_the_triangle() -> None:
    """The data ask for 1.0, the other two moments, 0.1 each, allow 0.2: the fit ends there and says so."""
    found = pliant.identify(hub_arm(0.1).model(), hub_run(1.0), [HUB[2]], clocks="ignore", stages=[1.0])
    assert found[HUB[2]] == pytest.approx(0.2, rel=1e-3)
    assert found.at_bound == (HUB[2],)
    assert found.robot.paths()[HUB[2]] == found[HUB[2]]


def test_bounds_are_those_of_the_description() -> None:
    """A moment of inertia between difference and sum of the two others, a mass above zero, a place anywhere."""
    arm = hub_arm(0.1).replace({HUB[0]: 0.15})
    place = "links.upper.joint.hub.com.0"
    found = unknowns(arm, (HUB[2], "links.upper.joint.hub.mass", place), {}, {}, {}, ())
    np.testing.assert_allclose(found.lower[:2], [0.05, 0.0], atol=1e-6)
    assert found.upper[0] == pytest.approx(0.25, rel=1e-9)
    assert [*found.upper[1:], found.lower[2]] == [np.inf, np.inf, -np.inf]


@pytest.mark.slow
def test_moments_of_inertia_that_move_together() -> None:
    """Only the third acts in the plane; the others are unresolved, and whatever the fit tries, it ends with an arm."""
    with pytest.warns(UserWarning, match="does not depend on it"):
        found = pliant.identify(hub_arm(0.1).model(), hub_run(0.4), HUB[1:], clocks="ignore", stages=[1.0])
    J = [found.robot.paths()[path] for path in HUB]
    assert J[2] <= (J[0] + J[1]) * (1 + 2e-9)  # the description itself leaves 1e-9 of the largest open


# ------------------------------------------------------------------------------------------------- going on


def test_a_fit_goes_on_where_it_stopped(model: pliant.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = recorded(calibrated_by_hand(model), noise={"upper": 1e-4, "fore": 1e-4, "gauge": 1e-7})
    names, start, kept = (PATH, *TRUE), {PATH: 1.3 * model.robot.paths()[PATH]}, tmp_path / "fit.json"
    whole = pliant.identify(model, recording, names, start=start)
    window, count = Residuals.window, []

    def stop_at_the_last(self: Residuals, fraction: float) -> None:
        count.append(fraction)
        if fraction == 1.0 and count.count(1.0) == 1:
            raise KeyboardInterrupt
        window(self, fraction)

    with monkeypatch.context() as patch:
        patch.setattr(Residuals, "window", stop_at_the_last)
        with pytest.raises(pliant.Interrupted):
            pliant.identify(model, recording, names, start=start, resume=kept)
    with pytest.raises(pliant.ModelError, match="belongs to another fit"):
        pliant.identify(model, recording, names, start={PATH: 900.0}, resume=kept)
    seen: list[float] = []
    monkeypatch.setattr(Residuals, "window", lambda self, f: (seen.append(f), window(self, f))[1])
    reached, rounds = FitProgress.reached, list[int]()

    def noted(self: FitProgress, u: Any, noise: Any, **where: int) -> None:
        rounds.extend(count for what, count in where.items() if what == "round")
        reached(self, u, noise, **where)

    monkeypatch.setattr(FitProgress, "reached", noted)
    found = pliant.identify(model, recording, names, start=start, resume=kept)
    assert set(seen) == {1.0}
    assert rounds[0] == 1  # rounds that are over, so that none is made twice
    assert found.evaluations < whole.evaluations
    np.testing.assert_allclose(found.estimates, whole.estimates, rtol=1e-4, atol=1e-8)
    assert not kept.exists()


def test_a_damaged_record_is_told(model: pliant.Model, tmp_path: Path) -> None:
    kept = tmp_path / "fit.json"
    kept.write_text("{}")
    with pytest.raises(pliant.ModelError, match=r"fit\.json: damaged, or no record of a fit"):
        pliant.identify(model, recorded(calibrated_by_hand(model)), (PATH,), resume=kept)


# ------------------------------------------------------------------------------------------------------- low-pass


@pytest.mark.slow
def test_a_lag_is_the_low_pass_of_a_sensor(model: pliant.Model) -> None:
    """A gauge with a cutoff of 15 Hz, a delay and a clock of its own, beside an encoder with another: known, the replay
    has its readings; fitted from nothing, it is found to 1 %."""
    lag, drive = 1 / (2 * np.pi * 15.0), commands()
    gauge = StrainGauge("upper", 0.05, at=(0.01, 0.0), cutoff=15.0, delay=0.002, sample_time=0.004, name="gauge")
    sensors = [Encoder("upper", sample_time=0.005), gauge]
    run = pliant.simulate(model, T_END, torque=drive, sensors=sensors, rtol=1e-9, atol=1e-11, output_step=0.1)
    known = {"reading.gauge.delay": 0.002, "reading.gauge.lag": lag}
    read = Recording.of(run, torque=drive, calibration=known)
    assert validate(model, read, rtol=1e-9, atol=1e-11).channels["gauge"].nrmse < 1e-6
    assert validate(model, replace(read, calibration={})).channels["gauge"].nrmse > 0.1
    found = pliant.identify(
        model, replace(read, calibration={"reading.gauge.delay": 0.002}), ("reading.gauge.lag",), clocks="ignore"
    )
    assert found["reading.gauge.lag"] == pytest.approx(lag, rel=0.01)


@pytest.mark.parametrize("lag", [0.0, 0.003, 0.05])
def test_slopes_by_a_lag(lag: float, rng: np.random.Generator) -> None:
    times = np.cumsum(np.append(0.0, rng.uniform(0.0, 0.01, 60)))
    values = rng.normal(size=(61, 2))
    times[3], values[3] = times[2], values[2]  # as of two captures before a delay has passed
    slope, h = lagged(times, values, lag)[1], 1e-7
    ahead, behind = (lagged(times, values, at)[0][:, 0] for at in (lag + h, max(lag - h, 0.0)))
    np.testing.assert_allclose(slope, (ahead - behind) / (h if lag == 0.0 else 2 * h), rtol=1e-3, atol=0.02)
    np.testing.assert_allclose(lagged(times, values, 1e6)[0], np.tile(values[0], (61, 1)), atol=1e-5)
    np.testing.assert_allclose(lagged(times, values, 0.0)[0][4:], values[4:])


def test_torques_as_samples_keep_how_they_are_interpolated() -> None:
    times, rows = np.linspace(0, 1, 5), np.ones((5, 2))
    for kind in ("cubic", "hold", "linear"):
        assert _table((times, rows, kind), ["a", "b"], 1.0)[2] == kind
    assert _table((times, rows), ["a", "b"], 1.0)[2] == "linear"
