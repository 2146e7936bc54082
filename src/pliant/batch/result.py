"""Histories of many arms as one object, with the batch axis first."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.model import Energy, Model
from pliant.replacing import replacing
from pliant.results import FORMAT, HEAD, Readings, Result, RunStats, _versions
from pliant.robot import Robot

if TYPE_CHECKING:
    import xarray as xr

    from pliant.batch.inputs import BatchEquations

Array = NDArray[np.float64]
FINISHED, BROKEN, STOPPED = 0, 1, 2
STATUS = ("finished", "broke down", "stopped at a limit")


@dataclass(frozen=True)
class BatchStats:
    """How a batch went, as a whole; `evaluations` of the right-hand side are those of all arms together."""

    method: str
    device: str
    precision: str
    evaluations: int
    wall: float
    compile: float


@dataclass(frozen=True, eq=False)
class BatchResult:
    """States of B arms at N common times.

    Attributes
    ----------
    t : (N,) seconds
    q, qd : (B, N, n)
        Coordinates and rates; NaN behind the end of an arm that broke down or met a limit. CuPy arrays where the
        batch was given device arrays.
    parameters : (B, P)
        Values of `parameter_names`: the model's, then the controller's.
    status, ended : (B,)
        0 finished, 1 broke down, 2 stopped at a limit; and the time of the last row that holds.
    steps, refused : (B,)
        Steps taken and refused by adaptive methods.
    """

    t: Array
    arrays: dict[str, Any]
    model: Model
    parameters: Array
    parameter_names: tuple[str, ...]
    status: NDArray[np.int8]
    ended: Array
    steps: Array
    refused: Array
    stats: BatchStats
    path: Path | None = None
    equations: BatchEquations | None = None
    inputs: Any = field(default=None, repr=False)

    @property
    def q(self) -> Any:
        """Coordinates (B, N, n)."""
        return self.arrays["q"] if self.path is None else self.dataset["q"].values

    @property
    def qd(self) -> Any:
        """Rates (B, N, n)."""
        return self.arrays["qd"] if self.path is None else self.dataset["qd"].values

    @property
    def work(self) -> Any:
        """Work (B, N) done on each arm; only where the batch was asked for it."""
        if "work" not in self.arrays and (self.path is None or "work" not in self.dataset):
            raise ModelError("work was not integrated; run simulate_batch(..., work=True)")
        return self.arrays["work"] if self.path is None else self.dataset["work"].values

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        bad = int((self.status != FINISHED).sum())
        return f"BatchResult({self.model.robot.name!r}, {len(self)} arms, {len(self.t)} rows, {bad} not finished)"

    # ----------------------------------------------------------------------------------- what follows

    def _host(self, name: str) -> Array:
        values = getattr(self, name)
        return np.asarray(values.get() if hasattr(values, "get") else values, dtype=float)

    def _history(self, name: str, index: int) -> Array:
        values = self.arrays[name][index] if self.path is None else self.dataset[name][index].values
        return np.asarray(values.get() if hasattr(values, "get") else values, dtype=float)

    def _p(self) -> Array | None:
        count = len(self.model.parameters)
        return self.parameters[:, None, :count] if count else None

    @cached_property
    def tip(self) -> Array:
        """Position (B, N, 3) of the tip, in the base."""
        return _over_finite(lambda q, p: self.model.tip_pose(q, p)[..., :3, 3], self._p(), self._host("q"))

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, gravity and strain energy, each (B, N)."""
        stacked = _over_finite(
            lambda q, qd, p: np.stack(self.model.energy(q, qd, p), axis=-1),
            self._p(),
            self._host("q"),
            self._host("qd"),
        )
        return Energy(stacked[..., 0], stacked[..., 1], stacked[..., 2])

    @cached_property
    def tau(self) -> Array:
        """Torques (B, N, n_joints) that acted; for prescribed joints, what the motion needed."""
        if self.equations is None or self.inputs is None:
            raise ModelError("tau: a batch that was read from a file does not know its torques; run it again")
        values: Array = self.inputs.torques(self._host("q"), self._host("qd"), slice(None))
        return values

    def arm(self, index: int) -> Result:
        """The history of one arm by itself, up to its last valid row."""
        if not -len(self) <= index < len(self):
            raise ModelError(f"arm: got {index}, expected an index below {len(self)}")
        index %= len(self)
        keep = self.t <= self.ended[index]
        q, qd = self._history("q", index)[keep], self._history("qd", index)[keep]
        has_work = "work" in (self.arrays if self.path is None else self.dataset)
        work = self._history("work", index)[keep] if has_work else np.full(len(q), np.nan)
        s = self.stats
        stats = RunStats(
            ("finished", "failed", "event")[self.status[index]], STATUS[self.status[index]], s.method, "",
            int(self.steps[index]), int(self.refused[index]), 0, 0, 0, s.wall / len(self),
        )  # fmt: skip
        count = len(self.model.parameters)
        nothing = np.full(len(q), np.nan)

        def readings() -> tuple[Array, Array, None]:
            if self.inputs is None:
                return np.full((len(q), self.model.n_joints), np.nan), nothing, None
            return self.inputs.torques(q[None], qd[None], slice(index, index + 1))[0], nothing, None

        result = Result(
            self.t[keep], q, qd, work, self.model.robot, asdict(self.model.options), self.parameters[index, :count],
            stats, Readings(readings), _versions(),
        )  # fmt: skip
        result.__dict__["model"] = self.model
        if self.inputs is not None:
            result.__dict__["_acting"] = self.inputs.acting
        return result

    # ------------------------------------------------------------------------------------------ files

    @cached_property
    def dataset(self) -> xr.Dataset:
        """Everything as one xarray dataset; read from disk where the batch was stored there."""
        import xarray as xr

        if self.path is not None:
            engine = "zarr" if self.path.suffix == ".zarr" else "h5netcdf"
            return xr.open_dataset(self.path, engine=engine)
        arrays = {name: self._host(name) if hasattr(a, "get") else a for name, a in self.arrays.items()}
        return dataset(self.model, self.t, arrays, self.parameters, self.parameter_names, self.summary(), self.stats)

    def summary(self) -> dict[str, Any]:
        """What there is one number of an arm."""
        return {"status": self.status, "ended": self.ended, "steps": self.steps, "refused": self.refused}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF, whole or not at all."""
        target = Path(path)
        with replacing(target, self.dataset.nbytes + HEAD) as partial:
            self.dataset.to_netcdf(partial, engine="h5netcdf")
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BatchResult:
        """Open a batch that was saved or stored; histories are read when they are asked for."""
        import xarray as xr

        source = Path(path)
        if not os.path.exists(source):
            raise ModelError(f"{source}: no such batch file")
        try:
            data = xr.open_dataset(source, engine="zarr" if source.suffix == ".zarr" else "h5netcdf")
            options, stats = json.loads(data.attrs["options"]), json.loads(data.attrs["batch_stats"])
            robot = Robot.model_validate(json.loads(data.attrs["robot"]))
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(f"{source}: not a readable batch ({error}); was it written by pliant?") from error
        model = Model(robot, options["formulation"], options["rotation"], options["stiffening"],
                      tuple(options["parameters"]), options["shapes"])  # fmt: skip
        per_arm: dict[str, Any] = {k: np.asarray(data[k].values) for k in ("status", "ended", "steps", "refused")}
        parameters, names = (
            np.asarray(data["parameters"].values, dtype=float),
            tuple(map(str, data["parameter"].values)),
        )
        t = np.asarray(data["time"].values)
        result = cls(t, {}, model, parameters, names, **per_arm, stats=BatchStats(**stats), path=source)
        result.__dict__["dataset"] = data
        return result


def dataset(
    model: Model, t: Array, arrays: dict[str, Any], parameters: Array, parameter_names: tuple[str, ...],
    summary: dict[str, Any], stats: BatchStats, first: int = 0,
) -> xr.Dataset:  # fmt: skip
    """Histories of arms `first`, `first` + 1, ... with names and units."""
    import xarray as xr

    text = {"q": ("generalised coordinates", "rad or m"), "qd": ("rates", "rad/s or m/s"), "work": ("work", "J")}
    axes = {"q": ("arm", "time", "coordinate"), "qd": ("arm", "time", "coordinate"), "work": ("arm", "time")}
    data: dict[str, Any] = {
        name: (axes[name], values, {"long_name": text[name][0], "units": text[name][1]})
        for name, values in arrays.items()
    }
    data["parameters"] = (("arm", "parameter"), parameters)
    data |= {name: (("arm",), values) for name, values in summary.items()}
    data["status"] = (("arm",), summary["status"], {"flag_values": [0, 1, 2], "flag_meanings": "; ".join(STATUS)})
    count = len(parameters)
    return xr.Dataset(
        data,
        {
            "arm": np.arange(first, first + count), "time": ("time", t, {"units": "s"}),
            "coordinate": list(model.coordinates), "parameter": np.array(parameter_names, dtype=object),
        },
        attributes(model, stats),
    )  # fmt: skip


def attributes(model: Model, stats: BatchStats) -> dict[str, Any]:
    """What makes a file readable alone."""
    return {
        "format": FORMAT, "robot": json.dumps(model.robot.to_dict()), "options": json.dumps(asdict(model.options)),
        "batch_stats": json.dumps(asdict(stats)), "versions": json.dumps(_versions()),
    }  # fmt: skip


def _over_finite(function: Any, p: Array | None, *arrays: Array) -> Array:
    """A function of states where they are finite, NaN elsewhere."""
    good = np.isfinite(arrays[0]).all(axis=-1)
    for other in arrays[1:]:
        good &= np.isfinite(other).all(axis=-1)
    chosen = [a[good] for a in arrays]
    values = np.asarray(function(*chosen, None if p is None else np.broadcast_to(p, (*good.shape, p.shape[-1]))[good]))
    out = np.full((*good.shape, *values.shape[1:]), np.nan)
    out[good] = values
    return out
