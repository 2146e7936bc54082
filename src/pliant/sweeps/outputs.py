"""Results of a sweep: a table (CSV, and Parquet with pyarrow), a dataset (NetCDF), a summary figure."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.writing import atomic_write
from pliant.drawing.style import COLORS, WIDTH, figure
from pliant.errors import PliantError, extra, install
from pliant.simulation.runs.files.saved import FORMAT, versions, with_digest, write
from pliant.sweeps.metrics import UNITS
from pliant.sweeps.points import Outcomes
from pliant.sweeps.sweep_file import SweepStudy

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

STATUS = ("finished", "failed", "missing")
MOST_PANELS = 4
CELLS = 400
"""Cells of a panel along its width and height; points in one cell are drawn once."""
MARGINS = (0.85, 0.5, 0.12, 0.25)


@dataclass(frozen=True, eq=False)
class SweepResult:
    """All points of a sweep.

    Attributes
    ----------
    study : SweepStudy
        The study that was run.
    values : (N, d)
        Values of the numbers at `paths`.
    metrics : mapping from names to (N,)
        NaN where a point failed or has not run.
    status : (N,)
        "finished", "failed" or "missing".
    messages : (N,)
        Reason why a point failed.

    Examples
    --------
    >>> study = pliant.sweeps.SweepStudy.from_dict({
    ...     "scenario": {"robot": "two-link", "duration": 0.05, "method": "rk4", "step": 1e-3},
    ...     "vary": {"payload.mass": {"values": [0.0, 1.0]}},
    ...     "metrics": ["energy"],
    ... })
    >>> result = pliant.sweep(study, "out", workers=1)
    >>> result.paths, result.failed
    (('payload.mass',), {})
    >>> sorted(result.columns())
    ['energy', 'message', 'payload.mass', 'point', 'status']
    >>> result.to_csv("table.csv").name, result.to_parquet("table.parquet").name, len(result.plot().axes)
    ('table.csv', 'table.parquet', 1)
    >>> "sweep.nc" in [path.name for path in result.write("out")]
    True
    """

    study: SweepStudy
    values: Array
    metrics: dict[str, Array]
    status: tuple[str, ...]
    messages: tuple[str, ...]

    @classmethod
    def of(cls, study: SweepStudy, outcomes: Iterable[Outcomes]) -> SweepResult:
        """Result from the outcomes of the points.

        Parameters
        ----------
        study : SweepStudy
            The study that was run.
        outcomes : iterable of Outcomes
            Outcomes in any order.

        Returns
        -------
        SweepResult
        """
        values = study.points()
        metrics = {name: np.full(len(values), np.nan) for name in study.metrics}
        status, messages = np.full(len(values), "missing", dtype=object), np.full(len(values), "", dtype=object)
        for found in outcomes:
            for name, column in found.metrics.items():
                metrics.setdefault(name, np.full(len(values), np.nan))[found.points] = column
            status[found.points] = "finished"
            for point, why in found.failed.items():
                status[point], messages[point] = "failed", why
        return cls(study, values, metrics, tuple(status), tuple(messages))

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the numbers that varied."""
        return tuple(self.study.vary)

    @property
    def failed(self) -> dict[int, str]:
        """Failed points, with the reason of each."""
        return {k: self.messages[k] for k, status in enumerate(self.status) if status == "failed"}

    def __len__(self) -> int:
        return len(self.values)

    def columns(self) -> dict[str, Array | NDArray[np.int64] | list[str]]:
        """The table, column by column.

        Returns
        -------
        dict of columns
            Points, numbers that varied, metrics, status and messages.
        """
        varied = dict(zip(self.paths, self.values.T))
        words = {"status": list(self.status), "message": list(self.messages)}
        return {"point": np.arange(len(self)), **varied, **self.metrics, **words}

    @property
    def dataset(self) -> xr.Dataset:
        """Metrics over points as an xarray dataset; over the axes themselves for a grid."""
        import xarray as xr

        attrs = {"format": FORMAT, "study": json.dumps(self.study.to_dict()), "versions": json.dumps(versions())}
        data: dict[str, object]
        if self.study.sample.method != "grid":
            data = {
                name: ("point", column, _unit(name))
                for name, column in (*zip(self.paths, self.values.T), *self.metrics.items())
            }
            return xr.Dataset({**data, "status": ("point", *self._flags)}, {"point": np.arange(len(self))}, attrs)
        lines = {path: axis.grid() for path, axis in self.study.vary.items()}
        shape = tuple(map(len, lines.values()))
        data = {name: (tuple(lines), column.reshape(shape), _unit(name)) for name, column in self.metrics.items()}
        flags, meaning = self._flags
        data["status"] = (tuple(lines), flags.reshape(shape), meaning)
        return xr.Dataset(data, lines, attrs)

    @property
    def _flags(self) -> tuple[NDArray[np.int8], dict[str, object]]:
        """Status as numbers, by the conventions for climate and forecast data."""
        numbers = {name: k for k, name in enumerate(STATUS)}
        flags = np.fromiter(map(numbers.__getitem__, self.status), np.int8, len(self.status))
        return flags, {"flag_values": np.arange(len(STATUS), dtype=np.int8), "flag_meanings": " ".join(STATUS)}

    # --------------------------------------------------------------------------------------------- files

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write table.csv, table.parquet (with pyarrow), sweep.nc and summary.png, each whole or not at all.

        Parameters
        ----------
        folder : str or path
            Existing folder.

        Returns
        -------
        list of path
            The files that were written.
        """
        folder = Path(folder)
        try:
            written = [self.to_csv(folder / "table.csv")]
            if find_spec("pyarrow") is not None:
                written.append(self.to_parquet(folder / "table.parquet"))
            written.append(write(with_digest(self.dataset), folder / "sweep.nc"))
        except OSError as error:
            raise PliantError(
                f"{folder}: the table could not be written ({error.strerror or error}); the points are safe in "
                "points.jsonl: make room and run again"
            ) from error
        if np.isfinite(next(iter(self.metrics.values()), np.full(1, np.nan))).any():
            self.plot(folder / "summary.png")
            written.append(folder / "summary.png")
        return written

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a table with a header; by pyarrow if it is installed, in a seventh of the time.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        path
        """
        path, columns = Path(path), self.columns()
        if find_spec("pyarrow") is not None:
            import pyarrow.csv

            with atomic_write(path) as partial:
                pyarrow.csv.write_csv(pyarrow.table(columns), partial)
            return path
        with atomic_write(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            plain = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values())
            writer.writerows(zip(*plain))
        return path

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as Parquet.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        path

        Raises
        ------
        PliantError
            pyarrow is not installed.
        """
        pyarrow = extra("pyarrow", f"to_parquet: pyarrow is not installed; {install('sweep')}")
        parquet = import_module("pyarrow.parquet")

        with atomic_write(path := Path(path)) as partial:
            parquet.write_table(pyarrow.table(self.columns()), partial)
        return path

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot each metric over each number that varied (the first four of both); crosses mark failed points.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        matplotlib.figure.Figure
        """
        metrics, paths = list(self.metrics)[:MOST_PANELS], self.paths[:MOST_PANELS]

        def draw(page: Figure) -> None:
            axes = page.subplots(len(metrics), len(paths), squeeze=False, sharex="col", sharey="row")
            lost = np.array(self.status) == "failed"
            for row, metric in zip(axes, metrics):
                for axis, k in zip(row, range(len(paths))):
                    seen = _distinct(self.values[:, k], self.metrics[metric])
                    axis.plot(self.values[seen, k], self.metrics[metric][seen], ".", color=COLORS[0], markersize=3)
                    axis.margins(0.05)
                    axis.ticklabel_format(scilimits=(-2, 4), useMathText=False)  # short labels, and no formulas to set
                    if lost.any():
                        foot = np.full(int(lost.sum()), 0.02)
                        axis.plot(
                            self.values[lost, k], foot, "x", color=COLORS[1], transform=axis.get_xaxis_transform()
                        )
                row[0].set_ylabel(f"{metric.replace('_', ' ')} ({UNITS.get(metric, '-')})")
            for axis, name in zip(axes[-1], paths):
                axis.set_xlabel(name)
            page.align_ylabels(axes[:, 0])

        return figure(draw, max(WIDTH, 2.6 * len(paths)), 0.6 + 1.8 * len(metrics), path, MARGINS)


def _distinct(x: Array, y: Array) -> NDArray[np.intp]:
    """Points that can be told apart in the figure: one for each cell of a fine grid."""
    rows = np.flatnonzero(np.isfinite(y))
    cells = (
        [np.floor(CELLS * (a[rows] - a[rows].min()) / (np.ptp(a[rows]) or 1.0)) for a in (x, y)]
        if len(rows)
        else [rows] * 2
    )
    return rows[np.unique(cells[0] * (CELLS + 1) + cells[1], return_index=True)[1]]


def _unit(name: str) -> dict[str, str]:
    return {"units": UNITS[name]} if name in UNITS else {}
