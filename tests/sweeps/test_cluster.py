"""A Dask cluster of this machine: a killed worker loses nothing; a scheduler that is not there is an error."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
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
    alone = sweep(study(vary=VARY, engine="points"), tmp_path / "alone", workers=1)
    for name, column in alone.metrics.items():
        np.testing.assert_array_equal(result.metrics[name], column)


def test_nobody_there(tmp_path: Path) -> None:
    from pliant.sweeps.engines import on_cluster

    with pytest.raises(ModelError, match=r"'tcp://127.0.0.1:9' cannot be reached"):
        list(on_cluster(study(), [0], "tcp://127.0.0.1:9", None, patience=1.0))
    with pytest.raises(ModelError, match="cannot be reached"):
        list(on_cluster(study(), [0], "nonsense://", None, patience=1.0))
    with pytest.raises(ValueError, match="No clients found"):  # a client left behind would be asked by every save
        distributed.default_client()


class OneAfterTheOther:
    """What `on_cluster` asks of Dask, without processes: tasks run when they are waited for; some are lost."""

    def __init__(self, lost: int) -> None:
        self.tasks: list[tuple[int, ...]] = []
        self.lost, self.loop = lost, None

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 2}

    def submit(self, run: Any, text: str, points: Any, function: Any, **_: Any) -> Any:
        self.tasks.append(tuple(points))
        bad = self.lost in points
        return SimpleNamespace(
            key=len(self.tasks),
            status="error" if bad else "finished",
            result=lambda: run(text, points, function),
            exception=lambda: "a worker died",
        )

    def close(self) -> None: ...


class Stream(list[Any]):
    """`as_completed`, last in, first out."""

    def add(self, future: Any) -> None:
        self.append(future)

    def __iter__(self) -> Any:
        while self:
            yield self.pop()


def test_points_travel_in_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tasks, each point its own outcome; of a bundle that is lost only one point is."""
    from pliant.sweeps.engines import BUNDLES, LARGEST, bundles, on_cluster
    from pliant.sweeps.points import Outcomes

    client = OneAfterTheOther(lost=50)
    double = SimpleNamespace(Client=lambda *_, **__: client, as_completed=lambda *_, **__: Stream())
    monkeypatch.setattr("pliant.sweeps.engines.extra", lambda *_: double)
    monkeypatch.setattr("pliant.sweeps.points.run_point", lambda text, k, function: Outcomes([k], {"m": [k / 7]}))
    small = study(vary={"payload.mass": {"from": 0.0, "to": 2.0, "count": 72}})
    found = list(on_cluster(small, range(72), "tcp://nowhere", None))
    assert all(len(one.of) == 1 for one in found)
    by_point = {one.of[0]: one for one in found}
    assert sorted(by_point) == list(range(72))
    assert by_point.pop(50).failed == {50: "lost on the cluster: a worker died"}
    assert len(client.tasks) == 24 + 3  # three points each, and those of the lost one again
    assert all(one == Outcomes([k], {"m": [k / 7]}) for k, one in by_point.items())
    sizes = [len(bundle) for bundle in bundles(range(10_000), 3)]
    assert max(sizes) == LARGEST
    assert len(list(bundles(range(480), 3))) >= 3 * BUNDLES
    assert [k for bundle in bundles(range(101), 2) for k in bundle] == list(range(101))
