"""What comes out of a batch: datasets, whole files, single arms, device arrays; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import pliant
from batch_arms import starts
from pliant.batch import BatchResult, simulate_batch
from pliant.control.controllers.joint_controllers import PD
from pliant.control.sensing.sampled import Sampled
from pliant.simulation.batch import store as batch_store
from pliant.simulation.runs.files import digest as digest_module
from pliant.simulation.runs.files.digest import digest


def test_dataset_has_the_batch_axis_first(model) -> None:
    batch = simulate_batch(model, 0.1, starts(model, 3), step=1e-3, output_step=0.02)
    data = batch.dataset
    assert data["q"].dims == ("arm", "time", "coordinate")
    assert data["q"].shape == (3, 6, model.n)
    assert list(data["coordinate"].values) == list(model.coordinates)
    np.testing.assert_allclose(data["time"], np.linspace(0, 0.1, 6))
    assert batch.stats.evaluations == 3 * 100 * 4


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_a_stored_batch_is_what_memory_would_hold(model, tmp_path, monkeypatch, suffix) -> None:
    if suffix == "zarr":
        pytest.importorskip("zarr")
    options = {"torque": np.arange(40.0).reshape(20, 2), "step": 1e-3, "output_step": 0.01}
    expected = simulate_batch(model, 0.05, starts(model, 20), **options)
    path = tmp_path / f"runs.{suffix}"
    monkeypatch.setattr("pliant.simulation.batch.batch_run._Run._slice_size", lambda *_: 7)  # three slices
    stored = simulate_batch(model, 0.05, starts(model, 20), store=path, **options)
    assert stored.path == path
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    loaded = BatchResult.load(path)
    for batch in (stored, loaded):
        np.testing.assert_array_equal(batch.q, expected.q)
        np.testing.assert_array_equal(batch.qd, expected.qd)
        np.testing.assert_array_equal(batch.status, expected.status)
    assert loaded.model.coordinates == model.coordinates
    np.testing.assert_allclose(loaded.tip, expected.tip, rtol=1e-12)
    again = BatchResult.load(expected.save(tmp_path / "saved.nc"))
    np.testing.assert_array_equal(again.q, expected.q)
    for name in again.dataset.variables:
        assert loaded.dataset[name].attrs.keys() == again.dataset[name].attrs.keys(), name
        assert loaded.dataset[name].dims == again.dataset[name].dims, name
    for batch in (loaded, again):
        assert batch.dataset.attrs["digest"] == digest(batch.dataset)


def test_a_batch_that_cannot_be_read_is_named(tmp_path) -> None:
    pytest.importorskip("zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(pliant.ModelError, match=r"empty\.zarr: not a readable batch file"):
        BatchResult.load(tmp_path / "empty.zarr")
    with pytest.raises(pliant.ModelError, match=r"nothing\.nc: no such batch file"):
        BatchResult.load(tmp_path / "nothing.nc")


@pytest.mark.parametrize("where", ["put", "finish"])
def test_a_full_disk_leaves_nothing(model, tmp_path, monkeypatch, where) -> None:
    (tmp_path / "runs.nc").write_text("an older file")

    def full(*arguments, **more) -> None:
        raise OSError(28, "No space left on device")

    if where == "put":
        monkeypatch.setattr("h5netcdf.Variable.__setitem__", full)
    else:
        monkeypatch.setattr(batch_store.os, "replace", full)
    with pytest.raises(pliant.PliantError, match=r"runs\.nc.*No space"):
        simulate_batch(model, 0.01, starts(model, 4), step=1e-3, store=tmp_path / "runs.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["runs.nc"]
    assert (tmp_path / "runs.nc").read_text() == "an older file"


def test_an_interrupted_batch_leaves_nothing(model, tmp_path) -> None:
    def interrupt(fraction: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_batch(model, 0.01, starts(model, 40), step=1e-3, store=tmp_path / "runs.nc", progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(model, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pliant.PliantError, match="cannot write"):
        simulate_batch(model, 0.01, starts(model, 4), step=1e-3, store=tmp_path / "file" / "runs.nc")


def test_progress_counts_to_one(model, monkeypatch) -> None:
    monkeypatch.setattr("pliant.simulation.batch.batch_run.LEAST_STEPS", 100)
    seen: list[float] = []
    simulate_batch(model, 0.01, starts(model, 100), step=1e-3, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) > 3
    assert seen[-1] == 1.0


def test_one_arm_by_itself(model) -> None:
    batch = simulate_batch(model, 0.05, starts(model, 3), torque=[1.0, 2.0], step=1e-3, output_step=0.01)
    one = batch.arm(1)
    np.testing.assert_array_equal(one.q, batch.q[1])
    np.testing.assert_allclose(one.tau, np.broadcast_to([1.0, 2.0], (6, 2)))
    assert one.tip.shape == (6, 3)
    with pytest.raises(pliant.ModelError, match="below 3"):
        batch.arm(3)


def test_an_arm_that_breaks_down_is_reported_and_the_others_go_on(model) -> None:
    q0 = starts(model, 3)
    torque = np.array([[0.0, 0.0], [1e9, -1e9], [0.0, 0.0]])
    with pytest.warns(UserWarning, match="1 of 3 arms broke down"):
        batch = simulate_batch(model, 0.1, q0, torque=torque, step=1e-3)
    assert batch.status.tolist() == [0, 1, 0]
    assert batch.ended[1] < 0.1
    assert np.isnan(batch.q[1, -1]).all()
    others = simulate_batch(model, 0.1, q0[[0, 2]], step=1e-3).q
    np.testing.assert_allclose(batch.q[[0, 2]], others, rtol=0, atol=1e-12)  # a torque of zero is compiled away there
    with pytest.raises(pliant.SimulationError, match="every arm") as caught:
        simulate_batch(model, 0.1, q0[:2], torque=[1e9, -1e9], step=1e-3)
    assert caught.value.result.status.tolist() == [1, 1]


class OnDevice(np.ndarray):
    """An array that says it lives on a CUDA device."""

    __cuda_array_interface__: dict = {}


def test_device_arrays_stay_on_the_device(device, model) -> None:
    q0 = starts(model, 300)
    there = simulate_batch(model, 0.01, q0.view(OnDevice), step=1e-3, device="cuda")
    np.testing.assert_allclose(there.q, simulate_batch(model, 0.01, q0, step=1e-3).q, rtol=0, atol=1e-12)
    assert np.isnan(there.q).sum() == 0
    with pytest.raises(pliant.ModelError, match="device='cuda'"):
        simulate_batch(model, 0.01, q0.view(OnDevice), step=1e-3)


def test_device_histories_come_in_slices(device, model, monkeypatch) -> None:
    """Memory for a few arms at a time."""
    q0 = starts(model, 50)
    whole = simulate_batch(model, 0.01, q0, step=1e-3, device="cuda")
    monkeypatch.setattr(type(device.cuda.Device()), "mem_info", (20_000, 10**9))
    seen: list[float] = []
    sliced = simulate_batch(model, 0.01, q0, step=1e-3, device="cuda", progress=seen.append)
    assert len(seen) > 5
    np.testing.assert_array_equal(sliced.q, whole.q)


def test_without_a_gpu(model, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(pliant.PliantError, match=r"'\.\[gpu\]"):
        simulate_batch(model, 0.01, starts(model, 2), step=1e-3, device="cuda")


GOOD = {"step": 1e-3}
REFUSED = [
    ({"q0": np.zeros((3, 5))}, r"q0: got shape \(3, 5\)"),
    ({"q0": np.zeros((2, 3, 4))}, r"q0: got shape \(2, 3, 4\)"),
    ({"q0": np.zeros((0, 4))}, r"q0: got shape \(0, 4\)"),
    ({"q0": np.full((2, 4), np.nan)}, "q0: got a number that is not finite"),
    ({"q0": [["a"] * 4]}, "q0: got list"),
    ({"q0": np.zeros((3, 4)), "qd0": np.zeros((2, 4))}, "q0 3, qd0 2"),
    ({"torque": np.zeros((4, 2)), "q0": np.zeros((3, 4))}, "torque 4"),
    ({"torque": np.zeros(3)}, r"torque: got shape \(3,\)"),
    ({"torque": ([0, 1], np.zeros((3, 2)))}, "torque: got times"),
    ({"torque": ([0, 1], np.zeros((2, 2)), "spline")}, "spline"),
    ({"p": np.zeros((2, 1))}, "no parameters"),
    ({"step": None, "method": "rk4"}, "step"),
    ({"step": -1.0}, "step: got -1.0"),
    ({"method": "euler"}, "method: got 'euler'"),
    ({"device": "tpu"}, "device: got 'tpu'"),
    ({"precision": "half"}, "precision: got 'half'"),
    ({"precision": "single"}, "single"),
    ({"output_step": 0.0}, "output_step"),
    ({"store": "runs.csv"}, r"\.csv"),
    ({"store": 3}, "store: got 3"),
    ({"method": "dopri5", "rtol": 0.0}, "rtol"),
    ({"method": "dopri5", "precision": "single", "device": "cuda", "rtol": 1e-9}, "rtol"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input_is_refused_by_name(model, wrong, message) -> None:
    with pytest.raises(pliant.PliantError, match=message):
        simulate_batch(model, 0.01, **{"q0": np.zeros((2, 4)), **GOOD, **wrong})


def test_what_a_batch_cannot_compile_is_refused(model) -> None:
    with pytest.raises(pliant.UnsupportedModel, match="Python function"):
        simulate_batch(model, 0.01, np.zeros((2, 4)), torque=lambda t, q, qd: np.zeros(2), step=1e-3)
    law = Sampled(PD(kp=1.0, kd=1.0, reference=[0.0, 0.0], gravity="none"), sample_time=1e-3)
    with pytest.raises(pliant.UnsupportedModel, match="sampled"):
        simulate_batch(model, 0.01, np.zeros((2, 4)), controller=law, step=1e-3, device="cuda")


def test_a_result_too_large_for_memory_asks_for_a_path(model, monkeypatch) -> None:
    monkeypatch.setattr(batch_store, "_free_memory", lambda: 10_000)
    with pytest.raises(pliant.ModelError, match="give a path"):
        simulate_batch(model, 0.1, starts(model, 100), step=1e-3)


def test_a_digest_read_in_pieces_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(700.0).reshape(100, 7)
    data = xr.Dataset({"rows": (("a", "b"), rows), "one": 3.0}, attrs={"by": "test"})
    whole = digest(data)
    for chunks in (None, (8, 7)):
        data["rows"].encoding["chunksizes"] = chunks
        monkeypatch.setattr(digest_module, "PIECE", 56 * 20)  # twenty rows
        assert digest(data) == whole
    data["rows"][83, 4] += 1.0
    assert digest(data) != whole
