"""Sweeps: batches equal single points, nothing runs twice, nothing is lost, mistakes are told."""

from __future__ import annotations

import csv
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import trapezoid
from typer.testing import CliRunner

import pliant
from arms import unequal_two_link
from pliant import ModelError, PliantError
from pliant.cli import app
from pliant.robot import Drive
from pliant.robot.files.yaml import write_yaml
from pliant.sweeps import METRICS, SweepStudy, sweep
from pliant.sweeps.journal import Journal, _checksum
from pliant.sweeps.points import Outcomes, Points

from .conftest import BASE, always_dies, dies_once, journalled, study


def test_a_batch_gives_what_single_points_and_rebuilt_robots_give(tmp_path: Path) -> None:
    """The same steps in another order of operations: 1e-9 of the value."""
    batch = sweep(study(), tmp_path / "batch")
    single = sweep(study(engine="points"), tmp_path / "single", workers=1)
    assert batch.status == single.status == ("finished",) * 12
    for name in batch.metrics:
        assert batch.metrics[name] == pytest.approx(single.metrics[name], rel=1e-9, abs=1e-14)
    row = batch.values[7]
    robot = unequal_two_link().replace({"payload.mass": row[0]})
    run = pliant.simulate(
        robot.model(), 0.1, {"upper": -1.5, "fore": row[1]}, torque=[row[2], 0.0], method="rk4", step=1e-3,
        output_step=5e-3,
    )  # fmt: skip
    assert batch.metrics["peak_deflection"][7] == pytest.approx(
        max(np.linalg.norm(run.deflection(link), axis=1).max() for link in ("upper", "fore")), rel=1e-9
    )
    power = np.maximum(run.tau * run.qd[:, :2], 0).sum(axis=1)
    assert batch.metrics["energy"][7] == pytest.approx(trapezoid(power, run.t), rel=1e-9)


@pytest.mark.usefixtures("figure")
def test_what_is_left_behind(tmp_path: Path) -> None:
    result = sweep(study(), tmp_path)
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["payload.mass"]) for row in rows] == result.values[:, 0].tolist()
    assert [float(row["energy"]) for row in rows] == result.metrics["energy"].tolist()
    with xr.open_dataset(tmp_path / "sweep.nc", engine="h5netcdf") as data:
        assert data["energy"].sizes == {"payload.mass": 3, "initial.q.fore": 2, "torque.upper": 2}
        assert data["energy"].sel({"payload.mass": 0.5}).values.ravel() == pytest.approx(
            result.metrics["energy"][4:8], rel=0
        )
        again = SweepStudy.from_dict(json.loads(data.attrs["study"]))
    assert again.digest() == study().digest()
    assert (tmp_path / "summary.png").stat().st_size > 10_000


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet tables need pyarrow (pliant[sweep])")
    result = sweep(study(), tmp_path)
    table = parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert table["energy"] == result.metrics["energy"].tolist()


def test_finished_points_never_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken off in the middle (a line cut short besides), then gone on with."""
    ran: list[int] = []
    real = Points.run

    def counted(self: Points, point: int) -> Outcomes:
        ran.append(point)
        if len(ran) == 6:
            raise KeyboardInterrupt
        return real(self, point)

    monkeypatch.setattr(Points, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        sweep(study(engine="points"), tmp_path, workers=1)
    with (tmp_path / "points.jsonl").open("a") as file:
        file.write('{"points": [5], "met')
    result = sweep(study(engine="points"), tmp_path, workers=1)
    assert ran == [*range(6), *range(5, 12)]  # the sixth was broken off
    assert result.status == ("finished",) * 12
    count = len(ran)
    sweep(study(engine="points"), tmp_path, workers=1)
    assert len(ran) == count


def test_a_failed_point_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    """A step beyond stability for the stiffest arm alone."""
    vary = {"links.upper.beam.EI_z": [1000.0, 1e13]}
    result = sweep(study(vary=vary, engine="points"), tmp_path / "a", workers=1)
    assert result.status == ("finished", "failed")
    assert "broke down" in result.failed[1]
    assert np.isnan(result.metrics["energy"][1])
    batch = sweep(study(vary=vary), tmp_path / "b")
    assert batch.status == ("finished", "failed")


@pytest.mark.full
def test_loads_a_shaken_base_and_limits_act_in_a_batch_too(tmp_path: Path) -> None:
    """A torque drives the arm into its limit, the force bends it without one; both engines see it."""
    robot = pliant.load("two-link").to_dict()
    robot["links"][0]["joint"] = {"limits": {"lower": -3.0, "upper": -1.45}}
    scenario = {
        **BASE["scenario"],
        "robot": robot,
        "loads": [{"type": "wrench", "link": "fore", "force": [400.0, 0.0, 0.0]}],
        "base": {"type": "shaken", "acceleration": [1.0, 0.0, 0.0]},
    }
    vary = {"torque.upper": [300.0, 0.0]}
    batch = sweep(study(scenario=scenario, vary=vary), tmp_path / "batch")
    single = sweep(study(scenario=scenario, vary=vary, engine="points"), tmp_path / "single", workers=1)
    assert batch.status == single.status == ("failed", "finished")
    assert "stopped at a limit, upper at its upper limit, at t = " in batch.failed[0]
    assert "stopped at a limit, upper at its upper limit, at t = " in single.failed[0]
    plain = sweep(study(vary=vary), tmp_path / "plain")
    for name in ("peak_deflection", "peak_speed"):
        if name in batch.metrics:
            assert batch.metrics[name][1] == pytest.approx(single.metrics[name][1], rel=1e-9)
            assert batch.metrics[name][1] != pytest.approx(plain.metrics[name][1], rel=0.1)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process by a POSIX signal")
def test_a_killed_process_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_TEST_MARKER", str(tmp_path / "marker"))
    vary = {"payload.mass": [0.0, 0.5, 1.0]}
    result = sweep(study(vary=vary), tmp_path / "out", workers=2, function=dies_once)
    assert (tmp_path / "marker").exists()
    assert result.status == ("finished",) * 3
    assert result.metrics["mass_again"].tolist() == [0.0, 0.5, 1.0]
    assert sorted(journalled(tmp_path / "out")) == [0, 1, 2]


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="kills a process by a POSIX signal")
def test_a_point_that_kills_is_given_up(tmp_path: Path) -> None:
    vary = {"payload.mass": [0.0, 1.0]}
    result = sweep(study(vary=vary), tmp_path, workers=2, function=always_dies)
    assert "died" in result.failed[1]


def test_a_gain(tmp_path: Path) -> None:
    """A gain is no input of the model: the scenario is made anew for each value."""
    scenario = {
        **BASE["scenario"], "duration": 0.02,
        "controller": {"type": "pd", "kp": [50, 20], "kd": 2, "reference": {"type": "constant", "position": [0, 0]}},
    }  # fmt: skip
    chosen = study(scenario=scenario, vary={"controller.kp.0": [10.0, 1000.0]}, metrics=["peak_torque"])
    assert Points(chosen).shared is None
    torque = sweep(chosen, tmp_path, workers=1).metrics["peak_torque"]
    assert torque[1] > 10 * torque[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vary": {"payload.mas": [1.0]}}, "did you mean `payload.mass`"),
        ({"vary": {}}, "a mapping from paths to ranges"),
        ({"metrics": ["peak_deflektion"]}, "did you mean `peak_deflection`"),
        ({"sample": {"method": "sobol"}}, "needs a `count`"),
        ({"vary": {"payload.mass": {"from": 0, "to": 1}}}, "`count`"),
        ({"scenario": "nowhere.yaml"}, "no such file"),
    ],
)
def test_mistakes_in_a_study(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        study(**changes)


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ModelError, match="not a sweep"):
        sweep(study(), tmp_path / "other")
    sweep(study(), tmp_path / "a")
    with pytest.raises(ModelError, match="another study"):
        sweep(study(vary={"payload.mass": [3.0]}), tmp_path / "a")
    assert len(sweep(study(vary={"payload.mass": [3.0]}), tmp_path / "a", force=True)) == 1
    with pytest.raises(ModelError, match="'batch' cannot run"):
        sweep(study(vary={"duration": [0.1, 0.2]}, engine="batch"), tmp_path / "c")


@pytest.mark.parametrize("journal", [None, "{} of others\n", "one line of others", '{"format": 3'])
def test_a_folder_of_others_stays(tmp_path: Path, journal: str | None) -> None:
    """With `force` too: only what a sweep wrote is replaced."""
    (tmp_path / "table.csv").write_text("mine")
    if journal is not None:
        (tmp_path / "points.jsonl").write_text(journal)
    for force in (False, *([True] if journal != '{"format": 3' else [])):
        with pytest.raises(ModelError, match=r"not a sweep|line 1 is damaged"):
            sweep(study(), tmp_path, force=force)
        assert (tmp_path / "table.csv").read_text() == "mine"
        assert {path.name for path in tmp_path.iterdir()} <= {"table.csv", "points.jsonl"}
        assert journal is None or (tmp_path / "points.jsonl").read_text() == journal


def test_a_head_that_a_crash_cut_short(tmp_path: Path) -> None:
    """The journal begins anew, and `force` takes the folder for that of a sweep."""
    Journal(tmp_path, "x", ["energy"], 2).close()
    whole = (tmp_path / "points.jsonl").read_bytes()
    for count in (0, 5, len(whole) - 1):
        (tmp_path / "points.jsonl").write_bytes(whole[:count])
        Journal(tmp_path, "x", ["energy"], 2).close()
        assert (tmp_path / "points.jsonl").read_bytes() == whole
    (tmp_path / "points.jsonl").write_bytes(whole[:5])
    assert len(sweep(study(vary={"payload.mass": [3.0]}), tmp_path, force=True)) == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"points": [0, 1], "metrics": {"energy": [1.0]}, "failed": {}}',
        '{"points": [99], "metrics": {"energy": [1.0]}, "failed": {}}',
        '{"points": [0], "metrics": [], "failed": {}}',
        '{"points": [0]}',
        "[]",
        "rubbish",
    ],
)
def test_a_damaged_journal(tmp_path: Path, line: str) -> None:
    """Lines without a checksum, and with the right one."""
    journal = Journal(tmp_path, "x", ["energy"], 12)
    journal.record(Outcomes([0], {"energy": [1.0]}))
    journal.close()
    path = tmp_path / "points.jsonl"
    sound, lines = path.read_text(), [line]
    with suppress(ValueError):
        lines.append(json.dumps({**dict(json.loads(line)), "check": _checksum(json.loads(line))}))
    for damaged in lines:
        path.write_text(sound + damaged + "\n")
        with pytest.raises(ModelError, match="line 3 is damaged"):
            Journal(tmp_path, "x", ["energy"], 12)


def test_a_point_is_not_written_twice(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "x", ["energy"], 3)
    journal.record(Outcomes([0], {"energy": [1.0]}, {1: "broke"}))
    journal.record(Outcomes([0, 2], {"energy": [5.0, 3.0]}, {1: "broke again"}))
    journal.close()
    again = Journal(tmp_path, "x", ["energy"], 3)
    again.close()
    assert again.outcomes == [Outcomes([0], {"energy": [1.0]}, {1: "broke"}), Outcomes([2], {"energy": [3.0]})]
    retried = Journal(tmp_path, "x", ["energy"], 3, retry=True)
    retried.close()
    assert retried.known == {0, 2}


def test_a_full_disk(tmp_path: Path) -> None:
    """Nothing half-written: the journal ends with the last whole line."""
    journal = Journal(tmp_path, "x", ["energy"], 2)
    journal.record(Outcomes([0], {"energy": [1.0]}))
    before = journal.path.read_bytes()

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def flush(self) -> None:
            self.file.flush()
            raise OSError(28, "No space left on device")

    journal._file = Full(journal._file)  # type: ignore[assignment]
    with pytest.raises(PliantError, match=r"No space left on device.*what was finished before is kept"):
        journal.record(Outcomes([1], {"energy": [2.0]}))
    journal.close()
    assert journal.path.read_bytes() == before


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(write_yaml({"format": 1, **BASE}))
    result = CliRunner().invoke(app, ["sweep", "s.yaml", "--json"])
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["points"] == 12
    assert set(facts["metrics"]) == {"peak_deflection", "settling_time", "residual_vibration", "energy"}
    for arguments, said in (
        (["sweep", "s.yaml", "--function", "nowhere:f"], "cannot be imported"),
        (["sweep", "no.yaml"], "no such file"),
        (["sweep", "s.yaml", "--workers", "0"], "expected at least 1"),
    ):
        wrong = CliRunner().invoke(app, arguments)
        assert wrong.exit_code == 2
        assert said in wrong.stderr


def test_metrics_of_a_known_motion() -> None:
    """A straight run of the tip that stops half-way: settled there, nothing left, and energy of a constant power."""
    from pliant.sweeps.metrics import Histories

    model = pliant.load("two-link").model()
    t = np.linspace(0, 2, 201)
    q = np.zeros((1, 201, model.n))
    q[0, :, 0] = np.minimum(t, 1.0) * 0.1
    qd = np.gradient(q, t, axis=1)
    tau = np.tile([3.0, 0.0], (1, 201, 1))
    h = Histories(model, t, q, qd, tau, np.zeros((1, 0)))
    assert METRICS["settling_time"](h)[0] == pytest.approx(0.98, abs=0.02)
    assert METRICS["residual_vibration"](h)[0] == pytest.approx(0.0, abs=1e-15)
    assert METRICS["energy"](h)[0] == pytest.approx(0.3, rel=1e-3)  # 3 N m over 0.1 rad; the corner is differences
    assert METRICS["peak_deflection"](h)[0] == 0.0
    assert METRICS["peak_torque"](h)[0] == 3.0
    assert METRICS["peak_speed"](h)[0] == pytest.approx(0.2, rel=1e-4)


def test_energy_of_a_prescribed_joint_is_that_of_its_link_side() -> None:
    """The torque of a motion acts on the joint, not on the motor behind it."""
    from pliant.sweeps.metrics import Histories

    model = (
        pliant.load("two-link").replace({"links.upper.joint.drive": Drive(stiffness=9e3, rotor_inertia=1.0)}).model()
    )
    t = np.linspace(0, 1, 101)
    rates = np.zeros((1, 101, model.n))
    rates[..., model.index("upper")], rates[..., model.index("upper.motor")] = 0.2, 0.7
    given = model, t, 0 * rates, rates, np.tile([3.0, 0.0], (1, 101, 1)), np.zeros((1, 0))
    assert METRICS["energy"](Histories(*given))[0] == pytest.approx(2.1, rel=1e-12)
    assert METRICS["energy"](Histories(*given, moved=("upper",)))[0] == pytest.approx(0.6, rel=1e-12)


@pytest.mark.parametrize("step", [0.02, 0.1])
def test_settled_at_the_first_row_that_stays(step: float) -> None:
    """Rows that swing ever less about where they end: counted by hand, to the row."""
    from pliant.sweeps.metrics import Histories

    model = pliant.load("two-link").model()
    t = np.arange(0, 3, step)
    q = np.zeros((1, len(t), model.n))
    q[0, :, 0] = 0.4 * np.exp(-2.5 * t) * np.cos(9 * t)
    h = Histories(model, t, q, 0 * q, np.zeros((1, len(t), 2)), np.zeros((1, 0)))
    away = np.linalg.norm(h.tip[0] - h.tip[0, -1], axis=1)
    late = [k for k in range(len(t)) if (away[k:] <= 0.02 * away.max()).all()]
    assert METRICS["settling_time"](h)[0] == t[late[0]]
    assert 0 < late[0] < len(t) - 1
    moving = Histories(model, t, np.cumsum(np.ones_like(q), axis=1) * step, 0 * q, np.zeros((1, len(t), 2)), h.p)
    assert METRICS["settling_time"](moving)[0] == t[-1]


def test_energy_is_what_the_motors_give() -> None:
    """Half of the run drives with 2 N m at 0.3 rad/s, half of it brakes with as much: braking gives nothing back."""
    from pliant.sweeps.metrics import Histories

    model = pliant.load("two-link").model()
    t = np.linspace(0, 2, 401)
    q, qd, tau = np.zeros((1, 401, model.n)), np.zeros((1, 401, model.n)), np.zeros((1, 401, 2))
    qd[0, :, 1], tau[0, :, 1] = 0.3, np.where(t < 1, 2.0, -2.0)
    found = METRICS["energy"](Histories(model, t, q, qd, tau, np.zeros((1, 0))))[0]
    assert found == pytest.approx(0.6, rel=5e-3)  # the row of the change
