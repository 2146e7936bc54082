"""Free-flying trees in packs and on a device as one at a time: quaternions of length one, the same motion."""

from __future__ import annotations

import numpy as np
import pytest

from flyers import satellite, small, states
from pliant import simulate, simulate_batch
from pliant.batch import BatchResult

TORQUE = [0.3, 0.02, -0.01, 0.03]


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_packs_run_as_single_arms(method: str, rng) -> None:
    model = small(gravity=(0.1, 0.2, -0.5)).model()
    q, qd = states(model, rng, 5)
    options = {"step": 1e-3} if method == "rk4" else {"rtol": 1e-10, "atol": 1e-12}
    batch = simulate_batch(model, 1.0, q, qd, torque=TORQUE, method=method, output_step=0.25, **options)
    for first in model.chain.quaternions:
        assert np.abs(np.linalg.norm(batch.q[..., first : first + 4], axis=-1) - 1).max() < 1e-15
    for k in range(5):
        alone = simulate(model, 1.0, q[k], qd[k], torque=TORQUE, rtol=1e-12, atol=1e-13, output_step=0.25)
        assert np.abs(alone.q - batch.q[k]).max() < 1e-8
        assert np.abs(alone.qd - batch.qd[k]).max() < 1e-8


@pytest.mark.slow_cases("dopri5")
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_device_runs_as_packs_do(device, method: str, rng) -> None:
    model = small(gravity=(0.1, 0.2, -0.5)).model()
    q, qd = states(model, rng, 3)
    options = {"step": 2e-2, "torque": TORQUE, "method": method, "rtol": 1e-9, "atol": 1e-11, "output_step": 0.1}
    here = simulate_batch(model, 0.4, q, qd, **options)
    there = simulate_batch(model, 0.4, q, qd, **options, device="cuda")
    assert np.abs(here.q - there.q).max() < 1e-9
    assert np.abs(np.linalg.norm(there.q[..., 3:7], axis=-1) - 1).max() < 1e-15


@pytest.mark.full
def test_a_flexible_tree_on_a_device(device, rng) -> None:
    """Long enough for several kernels per stage."""
    model = satellite().model()
    q, qd = states(model, rng, 2)
    options = {"step": 1e-4, "output_step": 0.01}
    here = simulate_batch(model, 0.02, q, qd, **options)
    there = simulate_batch(model, 0.02, q, qd, **options, device="cuda")
    assert np.abs(here.q - there.q).max() < 1e-9


def test_files_have_both_kinds_of_names(tmp_path, rng) -> None:
    model = small(gravity=(0.1, 0.2, -0.5)).model()
    q, qd = states(model, rng, 3)
    kept = simulate_batch(model, 0.02, q, qd, step=1e-3)
    kept.save(tmp_path / "kept.nc")
    for name in ("stored.nc", "stored.zarr"):
        if name.endswith("zarr"):
            pytest.importorskip("zarr")
        simulate_batch(model, 0.02, q, qd, step=1e-3, store=tmp_path / name)
        again = BatchResult.load(tmp_path / name)
        assert np.array_equal(again.q, kept.q)
        assert list(again.dataset["speed"].values) == list(model.speeds)
    run = simulate(model, 0.02, q[0], qd[0])
    run.save(tmp_path / "run.nc")
    read = type(run).load(tmp_path / "run.nc")
    assert np.array_equal(read.q, run.q)
    assert np.array_equal(read.qd, run.qd)
    assert np.array_equal(read["base.wx"], run.qd[:, 0])
    run.to_csv(tmp_path / "run.csv")
    assert "base.qz,arm,ball.qw" in (tmp_path / "run.csv").read_text()
