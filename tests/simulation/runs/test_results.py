"""Results as files: read alone, written whole, damaged ones refused."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr

import pliant
from pliant import ModelError, PliantError, Result
from pliant.identification import read_csv
from pliant.simulation.runs.files import saved
from pliant.simulation.runs.files.digest import ContentDigest


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
    assert data.attrs["format"] == 2
    assert data.tip.attrs["units"] == "m"


def test_a_name_of_another_format_is_refused(run: Result, tmp_path: Path) -> None:
    for ending in (".zarr", ".npz", ".CSV"):
        with pytest.raises(pliant.ModelError, match=r"run\.\w+: got the ending .*expected \.nc or \.h5"):
            run.save(tmp_path / f"run{ending}")
    assert not list(tmp_path.iterdir())
    assert Result.load(run.save(tmp_path / "run.h5")).q.shape == run.q.shape


def test_csv_has_a_header(run: Result, tmp_path: Path) -> None:
    path = run.to_csv(tmp_path / "run.csv")
    assert path.read_text(encoding="utf-8").startswith("# pliant format 2 sha256 ")
    table = np.genfromtxt(path, delimiter=",", names=True, deletechars="", replace_space=" ", skip_header=1)
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
        xr.Dataset({"a": ("x", [1.0])}).to_netcdf(path, engine="h5netcdf")
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 3], "text": b"time,q\n0,1\n"}[damage])
    with pytest.raises(ModelError, match=r"run\.nc"):
        Result.load(path)


def _written(data: xr.Dataset, path: Path, digest: str | None = "", **attributes: Any) -> Path:
    """The dataset with other attributes, and with its old digest, another one, or none."""
    changed = data.assign_attrs(attributes)
    if digest != "":
        changed.attrs.pop("digest")
        changed.attrs.update({} if digest is None else {"digest": digest})
    changed.to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize(
    ("given", "words"), [(0, "got 0"), (-1, "got -1"), (3, "got 3.*update pliant"), (1.0, "got 1")]
)
def test_unknown_versions_are_refused_by_name(run: Result, tmp_path: Path, given: float, words: str) -> None:
    with pytest.raises(ModelError, match=rf"run\.nc: format: {words}"):
        Result.load(_written(run.dataset, tmp_path / "run.nc", format=given))


def test_files_of_the_first_format_load_with_one_warning(run: Result, tmp_path: Path) -> None:
    path = _written(run.dataset, tmp_path / "old.nc", digest=None, format=1)
    with pytest.warns(UserWarning, match=r"old\.nc: format 1.*cannot be noticed") as seen:
        again = Result.load(path)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert np.array_equal(again.q, run.q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Result.load(again.save(tmp_path / "new.nc"))


def test_what_was_edited_is_refused(run: Result, tmp_path: Path) -> None:
    """A robot, an option or a number that is not the one that was saved; or no digest at all."""
    data, path = run.dataset, tmp_path / "run.nc"
    heavier = json.dumps(run.robot.replace({"payload.mass": 500.0}).to_dict())
    for attributes in ({"robot": heavier}, {"options": json.dumps({**run.options, "rotation": "linear"})}):
        with pytest.raises(ModelError, match="does not match its digest"):
            Result.load(_written(data, path, **attributes))
    with pytest.raises(ModelError, match="does not match its digest"):
        Result.load(_written(data.assign(q=data.q + 1e-15), path))
    with pytest.raises(ModelError, match="without its digest"):
        Result.load(_written(data, path, digest=None))
    with pytest.raises(ModelError, match="does not match its digest"):
        Result.load(_written(data.assign_attrs(digest=[1, 2]), path))
    assert np.array_equal(Result.load(_written(data, path)).q, run.q)


def test_bytes_are_checked_before_the_file_is_opened(run: Result, tmp_path: Path) -> None:
    """HDF5 itself may loop for ever in a damaged file; other programs do not see the seal behind its end."""
    path = run.save(tmp_path / "run.nc")
    with xr.open_dataset(path, engine="h5netcdf") as data:
        assert np.array_equal(data.q, run.q)
    raw = path.read_bytes()
    assert raw.count(b"two-link elastic arm") == 1
    path.write_bytes(raw.replace(b"two-link elastic arm", b"two-link elastic ark"))
    with pytest.raises(ModelError, match="does not match its digest"):
        Result.load(path)
    path.write_bytes(raw + b"\n")  # without a seal there is still the digest
    assert np.array_equal(Result.load(path).q, run.q)


def test_every_array_has_its_checksum(run: Result, tmp_path: Path) -> None:
    import h5py

    with h5py.File(run.save(tmp_path / "run.nc")) as file:
        plain = [
            name for name, array in file.items() if array.dtype.kind in "fiu" and array.size and not array.fletcher32
        ]
        assert not [name for name in plain if name in run.dataset.variables]
        assert file["q"].fletcher32


def test_a_digest_is_the_same_by_slices(run: Result) -> None:
    """A batch is written slice by slice, and a large file is read so."""
    data = run.dataset
    pieces = ContentDigest()
    for name, variable in data.variables.items():
        for part in np.array_split(variable.values, min(7, max(1, len(variable)))):
            pieces.add(str(name), part)
    assert pieces.text(data.attrs) == data.attrs["digest"]


def test_a_changed_table_is_refused(run: Result, tmp_path: Path) -> None:
    path = run.to_csv(tmp_path / "run.csv")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert np.allclose(read_csv(path)["fore"], run["fore"], rtol=1e-11)
    path.write_bytes("".join(lines).replace("\n", "\r\n").encode())
    assert np.allclose(read_csv(path)["fore"], run["fore"], rtol=1e-11)
    path.write_text("".join([lines[0].replace("format 2", "format 9"), *lines[1:]]), encoding="utf-8")
    with pytest.raises(ModelError, match="format: got 9, expected 2"):
        read_csv(path)
    lines[3] = lines[3].replace("1", "2", 1)
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(ModelError, match="does not match its digest"):
        read_csv(path)
    path.write_text("".join(lines[1:]), encoding="utf-8")  # changed on purpose
    assert len(read_csv(path)["fore"]) == len(run)


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


def test_files_of_runs_say_their_format(tmp_path: Path) -> None:
    run = pliant.simulate(pliant.load("two-link"), 0.01)
    with h5py.File(run.save(tmp_path / "run.nc")) as file:
        assert int(np.ravel(file.attrs["format"])[0]) == 2 == saved.FORMAT
