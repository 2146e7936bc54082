"""`BatchResult`, the histories of many arms with the batch axis first."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.terms import Energy
from pliant.simulation.runs.checks import energy_balance
from pliant.simulation.runs.checks.limits import joint_limits
from pliant.simulation.runs.files import saved
from pliant.simulation.runs.results import Readings, Result, RunStats

if TYPE_CHECKING:
    import xarray as xr

    from pliant.simulation.batch.batch_equations import BatchEquations, DeviceArray

FINISHED, BROKEN, STOPPED, NOT_RUN, AWAY, UNBALANCED, LIMITED = range(7)
STATUS = ("finished", "broke down", "stopped at a limit", "not run", "ran away", energy_balance.STATUS, "stopped")
ENDED = ("finished", "failed", "event", "interrupted", "failed", energy_balance.STATUS, "stopped")
"""Names of the statuses in single runs."""
OLD_PER_ARM = ("status", "ended", "steps", "refused")
PER_ARM = (*OLD_PER_ARM, "limit", "energy_error")
ABOUT: dict[str, dict[str, object]] = {
    "q": {"long_name": "generalized coordinates", "units": "rad or m"},
    "qd": {"long_name": "rates", "units": "rad/s or m/s"},
    "work": {"long_name": "work", "units": "J"},
    "status": {
        "flag_values": np.arange(len(STATUS), dtype=np.int8),
        "flag_meanings": " ".join(words.replace(" ", "_") for words in STATUS),
    },
    "ended": {"long_name": "time of the last row that holds", "units": "s"},
    "limit": {"long_name": "number of the limit at which an arm ended, -1 for none"},
    "energy_error": {"long_name": "error of the energy over the energy that moved", "units": "1"},
    "time": {"units": "s"},
}
"""Attributes of the arrays of a file, by the conventions for climate and forecast data."""


@dataclass(frozen=True)
class BatchStats:
    """Statistics of a whole batch. `evaluations` of the right-hand side are those of all arms together."""

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
    t : (N,)
        Times, s.
    q, qd : (B, N, n)
        Coordinates and rates; NaN after the end of an arm that broke down or met a limit. CuPy arrays where the batch
        was given device arrays.
    arrays : dict
        Histories as they are kept.
    model : Model
        The model of all arms.
    parameters : (B, P)
        Values of `parameter_names`: the model's, then the controller's.
    parameter_names : tuple of str
        Names of the columns of `parameters`.
    status, ended : (B,)
        0 finished, 1 broke down, 2 stopped at a limit, 3 not run (Ctrl-C), 4 ran away: its drives gave it more energy
        than any arm holds, 5 energy error: its energy does not balance, its steps were too long; and the time of the
        last row that holds.
    limit : (B,)
        Number of that limit, -1 for none; `stopped_by` has its name.
    steps, refused : (B,)
        Steps taken and refused by adaptive methods.
    energy_error : (B,)
        Error of the energy as a part of what moved, NaN where it was not judged.
    stats : BatchStats
        Method, device, evaluations and times.
    path : path, optional
        File or folder in which the histories are stored.
    equations, inputs : object
        Equations and inputs of the batch, from which torques are computed.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> batch = pliant.simulate_batch(model, 0.05, q0=np.zeros((3, model.n)), step=1e-3)
    >>> batch.arm(0).q.shape, sorted(batch.summary())[:2]
    ((51, 4), ['ended', 'energy_error'])
    >>> pliant.batch.BatchResult.load(batch.save("batch.nc")).q.shape
    (3, 51, 4)
    """

    t: Array
    arrays: dict[str, DeviceArray]
    model: Model
    parameters: Array
    parameter_names: tuple[str, ...]
    status: NDArray[np.int8]
    ended: Array
    limit: NDArray[np.int16]
    steps: Array
    refused: Array
    energy_error: Array
    stats: BatchStats
    path: Path | None = None
    equations: BatchEquations | None = None
    inputs: Any = field(default=None, repr=False)

    @property
    def q(self) -> DeviceArray:
        """Coordinates (B, N, n)."""
        return self._whole("q")

    @property
    def qd(self) -> DeviceArray:
        """Rates (B, N, n)."""
        return self._whole("qd")

    @property
    def work(self) -> DeviceArray:
        """Work (B, N) done on each arm; only if `simulate_batch` was asked for it."""
        if "work" not in self.arrays and (self.path is None or "work" not in self.dataset):
            raise ModelError("work was not integrated; run simulate_batch(..., work=True)")
        return self._whole("work")

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """(B,) names of the limits at which arms ended, empty where they did not."""
        names = [*(limit.name for limit in joint_limits(self.model)), ""]
        return tuple(names[k] for k in self.limit)

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        bad = int((self.status != FINISHED).sum())
        return f"BatchResult({self.model.robot.name!r}, {len(self)} arms, {len(self.t)} rows, {bad} not finished)"

    # ----------------------------------------------------------------------------------- what follows

    def _whole(self, name: str, chosen: slice | int = slice(None)) -> DeviceArray:
        """Histories of the chosen arms, from memory, device or disk."""
        if self.path is None:
            return self.arrays[name][chosen]
        try:
            return self.dataset[name][chosen].values
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelError(f"{self.path}: {name} cannot be read ({str(error)[:200]}); the file is damaged") from error

    def _host(self, name: str, chosen: slice | int = slice(None)) -> Array:
        """Histories of the chosen arms in NumPy arrays."""
        values = self._whole(name, chosen)
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
        q_and_qd = self._host("q"), self._host("qd")
        stacked = _over_finite(lambda q, qd, p: np.stack(self.model.energy(q, qd, p), axis=-1), self._p(), *q_and_qd)
        return Energy(stacked[..., 0], stacked[..., 1], stacked[..., 2])

    @cached_property
    def tau(self) -> Array:
        """Torques (B, N, n_joints) that acted; for prescribed joints, those that the motion needed."""
        if self.equations is None or self.inputs is None:
            raise ModelError("tau: a batch that was read from a file does not know its torques; run it again")
        values: Array = self.inputs.torques(self._host("q"), self._host("qd"), slice(None))
        return values

    def arm(self, index: int) -> Result:
        """The history of one arm by itself, up to its last valid row.

        Parameters
        ----------
        index : int
            Number of the arm.

        Returns
        -------
        Result
        """
        if not -len(self) <= index < len(self):
            raise ModelError(f"arm: got {index}, expected an index below {len(self)}")
        index %= len(self)
        keep = self.t <= self.ended[index]
        q, qd = self._host("q", index)[keep], self._host("qd", index)[keep]
        has_work = "work" in (self.arrays if self.path is None else self.dataset)
        work = self._host("work", index)[keep] if has_work else np.full(len(q), np.nan)
        s, met = self.stats, self.stopped_by[index]
        stats = RunStats(
            status=ENDED[self.status[index]], message=STATUS[self.status[index]], method=s.method, reason="",
            steps=int(self.steps[index]), rejected=int(self.refused[index]), evaluations=0, jacobians=0,
            factorizations=0, wall=s.wall / len(self),
            events=((float(self.ended[index]), met),) if met else (), energy_error=float(self.energy_error[index]),
        )  # fmt: skip
        count = len(self.model.parameters)
        nothing = np.full(len(q), np.nan)

        def readings() -> tuple[Array, Array, None]:
            if self.inputs is None:
                return np.full((len(q), self.model.layout.n_inputs), np.nan), nothing, None
            return self.inputs.torques(q[None], qd[None], slice(index, index + 1))[0], nothing, None

        return Result(
            t=self.t[keep], q=q, qd=qd, work=work, robot=self.model.robot, options=asdict(self.model.options),
            parameters=self.parameters[index, :count], stats=stats, readings=Readings(readings),
            versions=saved.versions(), built=self.model,
            acted=self.inputs.acting if self.inputs is not None else None,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ files

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The batch as one xarray dataset; read from disk if the batch was stored there."""
        if self.path is not None:
            return saved.open_arrays(self.path)
        arrays = {name: self._host(name) if hasattr(a, "get") else a for name, a in self.arrays.items()}
        summary, names = self.summary(), self.parameter_names
        return saved.with_digest(dataset(self.model, self.t, arrays, self.parameters, names, summary, self.stats))

    def summary(self) -> dict[str, Array]:
        """Status, time of the end, limit, steps and energy error by name, one number per arm.

        Returns
        -------
        dict of (B,) array
        """
        return {name: getattr(self, name) for name in PER_ARM}

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        path
        """
        return saved.write(self.dataset, path)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> BatchResult:
        """Open a batch that was saved or stored; histories are read when they are first used.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        BatchResult
        """
        with saved.reading(path, "batch", "batch_stats", ("q", "qd", "time", "parameters", *OLD_PER_ARM)) as file:
            data, model = file.data, saved.model_of(file.robot, file.options)
            names = tuple(map(str, data["parameter"].values))
            arms, rows = data["parameters"].shape[0], len(data["time"])
            shapes = {"q": (arms, rows, model.n_q), "qd": (arms, rows, model.n), "work": (arms, rows)}
            for name, shape in shapes.items():
                if name in data and (data[name].shape != shape or data[name].dtype.kind != "f"):
                    raise ValueError(f"{name} holds {data[name].dtype} of shape {data[name].shape}, expected {shape}")
            per_arm: dict[str, Any] = {name: file.real(name, (arms,)) for name in PER_ARM if name in data}
            per_arm.setdefault("limit", np.full(arms, -1.0))  # files that are older than the number
            lost = per_arm.pop("energy_error", np.full(arms, np.nan))
            known = {"status": range(len(STATUS)), "limit": range(-1, len(joint_limits(model)))}
            ended = np.nan_to_num(per_arm["ended"], posinf=np.inf)  # NaN for an arm without a valid row
            finite = np.isfinite(list((per_arm | {"ended": ended}).values())).all()
            if not (finite and all(set(per_arm[k]) <= set(known[k]) for k in known)):
                raise ValueError(f"{', '.join(PER_ARM)} are not finite, or a status or a limit is not known")
            per_arm["status"], per_arm["limit"] = per_arm["status"].astype(np.int8), per_arm["limit"].astype(np.int16)
            result = cls(
                t=file.real("time", (rows,)), arrays={}, model=model,
                parameters=file.real("parameters", (arms, len(names))), parameter_names=names, **per_arm,
                energy_error=lost, stats=BatchStats(**file.stats), path=file.source,
            )  # fmt: skip
        result.__dict__["dataset"] = data
        return result


def dataset(
    model: Model, t: Array, arrays: dict[str, Array], parameters: Array, parameter_names: tuple[str, ...],
    summary: dict[str, Array], stats: BatchStats, first: int = 0,
) -> xr.Dataset:  # fmt: skip
    """Histories of arms `first`, `first` + 1, ... with names and units."""
    import xarray as xr

    columns = saved.columns(model)

    def axes(name: str, values: Array) -> tuple[str, ...]:
        return ("arm", "time", [*columns][-1 if name == "qd" else 0])[: np.ndim(values)]

    data: dict[str, Any] = {name: (axes(name, a), a, ABOUT.get(name, {})) for name, a in (arrays | summary).items()}
    data["parameters"] = (("arm", "parameter"), parameters)
    return xr.Dataset(
        data,
        {
            "arm": np.arange(first, first + len(parameters)), "time": ("time", t, ABOUT["time"]),
            **columns, "parameter": np.array(parameter_names, dtype=object),
        },
        attributes(model, stats),
    )  # fmt: skip


def attributes(model: Model, stats: BatchStats) -> dict[str, object]:
    """Attributes that make a file readable alone: robot, options, versions and statistics."""
    return saved.attributes(model.robot, asdict(model.options), saved.versions(), batch_stats=stats)


def _over_finite(function: Callable[..., Array], p: Array | None, *arrays: Array) -> Array:
    """Values of a function of states where these are finite, NaN elsewhere."""
    good = np.isfinite(arrays[0]).all(axis=-1)
    for other in arrays[1:]:
        good &= np.isfinite(other).all(axis=-1)
    chosen = [a[good] for a in arrays]
    values = np.asarray(function(*chosen, None if p is None else np.broadcast_to(p, (*good.shape, p.shape[-1]))[good]))
    out = np.full((*good.shape, *values.shape[1:]), np.nan)
    out[good] = values
    return out
