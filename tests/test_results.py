"""Results as files: read alone, written whole, damaged ones refused."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import ModelError, PliantError, Result


@pytest.fixture(scope="module")
def run() -> Result:
    model = pliant.load("two-link").model()
    return pliant.simulate(model, 0.2, {"upper": -1.5, "fore": 0.1}, torque=[1.0, 0.5])


def test_file_is_read_alone(run: Result, tmp_path: Path) -> None:
    again = Result.load(run.save(tmp_path / "run.nc"))
    for name in ("t", "q", "qd", "tau", "work", "power_residual"):
        assert np.array_equal(getattr(again, name), getattr(run, name)), name
    assert again.robot == run.robot
    assert again.options == run.options
    assert again.stats == run.stats
    assert np.array_equal(again.tip, run.tip)
    assert np.array_equal(pickle.loads(pickle.dumps(run)).tau, run.tau)


def test_dataset_names_its_coordinates(run: Result) -> None:
    data = run.dataset
    assert np.array_equal(data.q.sel(coordinate="fore"), run["fore"])
    assert data.attrs["format"] == 1
    assert data.tip.attrs["units"] == "m"


def test_csv_has_a_header(run: Result, tmp_path: Path) -> None:
    path = run.to_csv(tmp_path / "run.csv")
    table = np.genfromtxt(path, delimiter=",", names=True, deletechars="", replace_space=" ")
    assert table.dtype.names[:3] == ("time", "upper", "fore")
    assert np.allclose(table["fore"], run["fore"], rtol=1e-11)


SAVE_FOREVER = """
import sys, pliant
run = pliant.Result.load(sys.argv[1])
print("ready", flush=True)
while True:
    run.save(sys.argv[1])
"""


@pytest.mark.full
def test_killed_while_saving_leaves_a_readable_file(run: Result, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run.nc")
    for delay in (0.0, 0.05, 0.13):
        process = subprocess.Popen([sys.executable, "-c", SAVE_FOREVER, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert np.array_equal(Result.load(path).q, run.q)


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "foreign"])
def test_damaged_files_are_refused(run: Result, tmp_path: Path, damage: str) -> None:
    path = run.save(tmp_path / "run.nc")
    whole = path.read_bytes()
    if damage == "foreign":
        import xarray as xr

        xr.Dataset({"a": ("x", [1.0])}).to_netcdf(path, engine="h5netcdf")
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 3], "text": b"time,q\n0,1\n"}[damage])
    with pytest.raises(ModelError, match=r"run\.nc"):
        Result.load(path)


def test_missing_file_and_unwritable_place(run: Result, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such result"):
        Result.load(tmp_path / "nothing.nc")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PliantError, match="cannot write"):
        run.save(tmp_path / "file" / "run.nc")


@pytest.mark.parametrize(
    ("link", "x"), [("fore", 1.5), ("fore", -0.1), ("elbow", 0.5), ("fore", "end"), ("fore", np.nan)]
)
def test_stations_off_the_arm_are_named(run: Result, link: str, x: object) -> None:
    with pytest.raises(ModelError):
        run.deflection(link, x)
