"""A Dask cluster of this machine: a killed worker loses nothing; a scheduler that is not there is an error."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pliant import ModelError
from pliant.sweeps import sweep

from .conftest import journalled, study

distributed = pytest.importorskip("distributed", reason="clusters need Dask (pliant[sweep])")
VARY = {"payload.mass": {"from": 0.0, "to": 2.0, "count": 200}}


@pytest.mark.full
def test_two_workers_one_of_them_killed(tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        killed = []

        def kill_once(done: int, total: int) -> None:
            if done >= 60 and not killed:
                victim = next(iter(cluster.workers.values()))
                os.kill(victim.process.pid, signal.SIGKILL)
                killed.append(done)

        result = sweep(study(vary=VARY), tmp_path, scheduler=cluster.scheduler_address, progress=kill_once)
    assert killed
    assert result.status == ("finished",) * 200
    assert sorted(journalled(tmp_path)) == list(range(200))


def test_nobody_there(tmp_path: Path) -> None:
    from pliant.sweeps.engines import on_cluster

    with pytest.raises(ModelError, match=r"'tcp://127.0.0.1:9' cannot be reached"):
        list(on_cluster(study(), [0], "tcp://127.0.0.1:9", None, patience=1.0))
    with pytest.raises(ModelError, match="cannot be reached"):
        list(on_cluster(study(), [0], "nonsense://", None, patience=1.0))
    with pytest.raises(ValueError, match="No clients found"):  # a client left behind would be asked by every save
        distributed.default_client()
