"""Sinks for the histories of a batch, slice by slice: memory, or a NetCDF or Zarr file that is written atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from pliant.arrays import Array
from pliant.base.writing import unfinished
from pliant.errors import ModelError, PliantError, extra, install
from pliant.model.model import Model
from pliant.simulation.batch.batch_equations import DeviceArray
from pliant.simulation.batch.result import ABOUT, BatchStats, attributes, dataset
from pliant.simulation.runs.files import digest, saved

SPARE = 0.8
"""Part of the free memory that a result may take."""
Shapes: TypeAlias = dict[str, tuple[int, ...]]
"""Shapes of the histories of one arm, by name."""
Histories: TypeAlias = dict[str, DeviceArray]
"""Histories of arms (b, ...) by name, in NumPy or CuPy arrays."""
Summary: TypeAlias = dict[str, Array]
"""Numbers of arms (b,) by name."""


class Sink(Protocol):
    """Destination of histories: takes slices of arms in rising order."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""

    def put(self, first: int, arrays: Histories, parameters: Array, summary: Summary) -> None:
        """Take histories, parameters and numbers of arms `first`, `first` + 1, ..."""

    def finish(self, stats: BatchStats) -> Histories:
        """Complete the result; return the histories in memory, none if they are on disk."""

    def abort(self) -> None:
        """Leave nothing half-written."""


class Memory:
    """Histories in arrays (B, N, ...)."""

    path: Path | None = None

    def __init__(self, arms: int, shapes: Shapes, dtype: DTypeLike) -> None:
        size = arms * sum(int(np.prod(shape)) for shape in shapes.values()) * np.dtype(dtype).itemsize
        free = _free_memory()
        if free is not None and size > SPARE * free:
            raise ModelError(
                f"store: the result of {arms} arms takes {size / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; "
                "give a path (store='runs.nc' or 'runs.zarr') or a larger output_step"
            )
        self.arrays: Histories = {name: np.empty((arms, *shape), dtype=dtype) for name, shape in shapes.items()}

    def put(self, first: int, arrays: Histories, parameters: Array, summary: Summary) -> None:
        """Copy a slice."""
        for name, values in arrays.items():
            self.arrays[name][first : first + len(values)] = values

    def finish(self, stats: BatchStats) -> Histories:
        """The arrays."""
        return self.arrays

    def abort(self) -> None:
        """Nothing to undo."""


class Device:
    """Histories as arrays of the device, joined at the end."""

    path: Path | None = None

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.slices: list[Histories] = []

    def put(self, first: int, arrays: Histories, parameters: Array, summary: Summary) -> None:
        """Keep a slice."""
        self.slices.append(arrays)

    def finish(self, stats: BatchStats) -> Histories:
        """The slices, joined along the arms."""
        if len(self.slices) == 1:
            return dict(self.slices[0])
        return {name: self.module.concatenate([s[name] for s in self.slices]) for name in self.slices[0]}

    def abort(self) -> None:
        """Nothing to undo."""


class NetCDF:
    """Histories in one file, with a chunk for each slice."""

    def __init__(self, path: Path, model: Model, t: Array, names: tuple[str, ...], arms: int, shapes: Shapes,
                 dtype: DTypeLike, slice_size: int) -> None:  # fmt: skip
        import h5netcdf
        import h5py

        self.path, self.model = path, model
        self._partial = unfinished(path)
        self._digest = digest.ContentDigest()
        with _written(self):
            self.file = h5netcdf.File(self._partial, "w")
            columns = saved.columns(model)
            sizes = {name: len(values) for name, values in columns.items()}
            self.file.dimensions = {"arm": arms, "time": len(t), **sizes, "parameter": len(names)}
            for name, shape in shapes.items():
                chunk = (min(slice_size, arms), *shape)
                axes = ("arm", "time", *((list(columns)[-1 if name == "qd" else 0],) if len(shape) == 2 else ()))
                self.file.create_variable(name, axes, dtype, chunks=chunk, fletcher32=True)
            self.file.create_variable("parameters", ("arm", "parameter"), float, fletcher32=len(names) > 0)
            for name, kind in (
                ("status", "i1"),
                ("ended", float),
                ("limit", "i2"),
                ("steps", float),
                ("refused", float),
                ("energy_error", float),
            ):
                self.file.create_variable(name, ("arm",), kind, fletcher32=True)
            text = h5py.string_dtype()
            for name, kind, values in (
                ("time", float, np.asarray(t, dtype=float)),
                ("arm", "i8", np.arange(arms)),
                *((axis, text, np.array(values, dtype=object)) for axis, values in columns.items()),
                ("parameter", text, np.array(names, dtype=object)),
            ):
                self.file.create_variable(name, (name,), kind, data=values, fletcher32=kind is not text)
                self._digest.add(name, values)
            for name in ABOUT.keys() & self.file.variables.keys():
                self.file.variables[name].attrs.update(ABOUT[name])

    def put(self, first: int, arrays: Histories, parameters: Array, summary: Summary) -> None:
        """Write a slice."""
        last = first + len(parameters)
        with _written(self):
            for name, values in {**arrays, "parameters": parameters, **summary}.items():
                variable = self.file.variables[name]
                variable[first:last] = values
                self._digest.add(name, np.asarray(values, dtype=variable.dtype))
            self.file.flush()

    def finish(self, stats: BatchStats) -> Histories:
        """Sign the file and give it its name."""
        with _written(self):
            self.file.attrs.update(_signed(self._digest, attributes(self.model, stats)))
            self.file.close()
            digest.seal(self._partial)
            os.replace(self._partial, self.path)
        return {}

    def abort(self) -> None:
        """Remove what was written."""
        with suppress(Exception):
            self.file.close()
        self._partial.unlink(missing_ok=True)


class Zarr:
    """Histories in a folder of chunks, one for each slice."""

    def __init__(self, path: Path, model: Model, t: Array, names: tuple[str, ...]) -> None:
        extra("zarr", f"store: Zarr is not installed; give a path that ends in .nc, or {install('zarr')}")
        self.path, self.model, self.t, self.names = path, model, t, names
        self._digest = digest.ContentDigest()
        self._partial = unfinished(path)
        self._partial.unlink()

    def put(self, first: int, arrays: Histories, parameters: Array, summary: Summary) -> None:
        """Append a slice."""
        nothing = BatchStats("", "", "", 0, 0.0, 0.0)
        piece = dataset(self.model, self.t, arrays, parameters, self.names, summary=summary, stats=nothing, first=first)
        for axis in saved.columns(self.model):
            piece[axis] = piece[axis].astype(str)
        piece["parameter"] = piece["parameter"].astype(str)
        with _written(self):
            if first == 0:
                chunks = {name: {"chunks": values.shape} for name, values in arrays.items()}
                piece.to_zarr(self._partial, mode="w", encoding=chunks, zarr_format=2)
            else:
                piece.to_zarr(self._partial, append_dim="arm", zarr_format=2)
        for name, variable in piece.variables.items():
            if first == 0 or "arm" in variable.dims:
                self._digest.add(str(name), variable.values)

    def finish(self, stats: BatchStats) -> Histories:
        """Give the folder its attributes and its name."""
        import zarr

        group = zarr.open_group(self._partial, mode="a")
        group.attrs.update(_signed(self._digest, attributes(self.model, stats)))
        zarr.consolidate_metadata(self._partial)
        if self.path.exists():
            shutil.rmtree(self.path)
        os.replace(self._partial, self.path)
        return {}

    def abort(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self._partial, ignore_errors=True)


def sink(store: str | os.PathLike[str], model: Model, t: Array, names: tuple[str, ...], arms: int, shapes: Shapes,
         dtype: DTypeLike, slice_size: int) -> Sink:  # fmt: skip
    """Sink for the argument `store`: "memory", or a path that ends in .nc or .zarr."""
    if isinstance(store, str) and store == "memory":
        return Memory(arms, shapes, dtype)
    if not isinstance(store, str | os.PathLike):
        raise ModelError(f"store: got {store!r}, expected 'memory' or a path that ends in .nc or .zarr")
    path = Path(store)
    if path.suffix == ".zarr":
        return Zarr(path, model, t, names)
    if path.suffix in (".nc", ".h5", ".netcdf"):
        return NetCDF(path, model, t, names, arms, shapes, dtype, slice_size)
    raise ModelError(f"store: {str(path)!r} ends in {path.suffix!r}; expected .nc (NetCDF) or .zarr")


def _signed(found: digest.ContentDigest, attrs: dict[str, object]) -> dict[str, Any]:
    """Attributes with the digest of the content."""
    return {**attrs, digest.NAME: found.text(attrs)}


@contextmanager
def _written(to: NetCDF | Zarr) -> Iterator[None]:
    """Leave nothing behind if the disk refuses, and raise `PliantError`."""
    try:
        yield
    except OSError as error:
        to.abort()
        raise PliantError(f"{to.path}: could not be written ({error}); nothing was changed") from error


def _free_memory() -> int | None:
    """Bytes of memory that are free, None where the system does not tell."""
    with suppress(OSError), open("/proc/meminfo", encoding="utf-8") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable")), None)
    return None
