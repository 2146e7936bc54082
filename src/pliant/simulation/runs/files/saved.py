"""Files of runs, written and read in one place: each names the robot, options and versions that made it.

One run and a batch of runs keep different arrays and share everything else: the attributes that make a file readable
alone, atomic writing, and the messages about a file that is missing, foreign, newer or damaged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.base.array_files import check_hdf5, check_zarr
from pliant.base.reading import require_regular
from pliant.base.writing import atomic_write
from pliant.errors import ModelError, PliantError, warn_user
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.robot.files.error_messages import short
from pliant.robot.files.file_paths import NOWHERE
from pliant.simulation.runs.files.digest import NAME, digest, seal, sealed
from pliant.version import VERSION

if TYPE_CHECKING:
    import xarray as xr
    from _typeshed import DataclassInstance

FORMAT = 2
"""With a digest of the content; format 1, of pliant 0.1, had none."""
UNCHECKED = 1
OTHER_FORMATS = (".zarr", ".csv", ".json", ".mat", ".npy", ".npz", ".parquet", ".pickle", ".pkl", ".yaml", ".yml")
"""Endings of other formats, under which NetCDF is not written."""
HEAD = 20_000
"""Bytes of a NetCDF file besides its arrays, about."""

MOST_PACKED = 1000
"""Bytes of arrays per byte of a Zarr folder that holds more than a gigabyte of them."""


@cache
def versions() -> dict[str, str]:
    """Versions of pliant and of the libraries that decide the bits of a result."""
    from importlib.metadata import version

    return {"pliant": VERSION} | {name: version(name) for name in ("casadi", "numpy", "llvmlite")}


def attributes(
    robot: Robot, options: Mapping[str, Any], made_by: Mapping[str, str], **stats: DataclassInstance
) -> dict[str, object]:
    """Attributes that make a file readable alone; `stats` is one dataclass under the name of its attribute."""
    ((key, value),) = stats.items()
    parts = {"robot": robot.to_dict(), "options": options, key: asdict(value), "versions": made_by}
    return {"format": FORMAT, **{name: json.dumps(part) for name, part in parts.items()}}


def columns(model: Model) -> dict[str, list[str]]:
    """Names of the columns of a file, by axis: those of coordinates, and last those of speeds, which share the axis
    unless a joint has a quaternion."""
    named = {"coordinate": list(model.coordinates)}
    return named if model.layout.plain else named | {"speed": list(model.speeds)}


def with_digest(data: xr.Dataset) -> xr.Dataset:
    """The dataset with the digest of its content, which readers of its file compare with the content they find."""
    return data.assign_attrs({NAME: digest(data)})


def write(data: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write NetCDF with checksums. A killed process leaves either the old file or the new one, never half of one."""
    target = Path(path)
    if target.suffix.lower() in OTHER_FORMATS:
        raise ModelError(
            f"{target.name}: got the ending {target.suffix}, expected .nc or .h5: runs are saved as NetCDF, which is "
            "HDF5; for others, `.dataset` is an xarray.Dataset, with `to_zarr` and its kin"
        )
    summed = {name: {"fletcher32": True} for name, v in data.variables.items() if v.size and v.dtype.kind not in "OUS"}
    with atomic_write(target, data.nbytes + HEAD) as partial:
        data.to_netcdf(partial, engine="h5netcdf", encoding=summed)
        seal(partial)
    return target


@dataclass(frozen=True)
class Saved:
    """A file that was opened: its arrays, and the robot, options, statistics and versions of its run."""

    source: Path
    data: xr.Dataset
    robot: Robot
    options: dict[str, Any]
    stats: dict[str, Any]
    versions: dict[str, str]

    def real(self, name: str, shape: tuple[int, ...]) -> Array:
        """Real numbers of a file; raises an error if they have another shape than its other arrays demand."""
        array = np.asarray(self.data[name])
        if array.dtype.kind not in "fiu":
            raise TypeError(f"{name} holds {array.dtype.name}, expected real numbers")
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
        return array.astype(float)


@contextmanager
def reading(path: str | os.PathLike[str], what: str, stats: str, arrays: Sequence[str]) -> Iterator[Saved]:
    """Open a file of a run or a batch (`what`), and name the file in errors that are raised inside.

    The caller closes `data`, or keeps it to read arrays when they are asked for.
    """
    source = Path(path)
    if not os.path.exists(source):
        raise ModelError(f"{source}: no such {what} file")
    if not (zarr := _is_zarr(source)):
        require_regular(source)
    whole = not zarr and sealed(source)
    data = _opened(source, what)
    try:
        missing = [key for key in ("format", "robot", "options", stats, "versions") if key not in data.attrs]
        missing += [key for key in arrays if key not in data]
        if missing:
            raise ModelError(f"{source}: not a {what} of pliant, it lacks {', '.join(missing)}")
        _check(data, source, what, whole)
        try:
            read = {key: json.loads(data.attrs[key]) for key in ("robot", "options", stats, "versions")}
            robot, options = Robot.model_validate(read["robot"], context={"files": NOWHERE}), read["options"]
            options["parameters"] = tuple(options["parameters"])
            for key in ("formulation", "rotation", "stiffening", "shapes"):
                if not isinstance(options[key], str | bool):
                    raise TypeError(f"options.{key} is {options[key]!r}")
            yield Saved(source, data, robot, options, read[stats], read["versions"])
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError, OSError, RuntimeError) as error:
            raise _damaged(source, what, error) from error
    except BaseException:
        data.close()
        raise


def _check(data: xr.Dataset, source: Path, what: str, whole: bool) -> None:
    """Raise `ModelError` if the format is unknown or the content does not match its digest; a sealed file (`whole`) has
    been checked before."""
    given = data.attrs["format"]
    known = isinstance(given, int | np.integer)
    if not known or given not in (UNCHECKED, FORMAT):
        shown = given.item() if isinstance(given, np.generic) else given
        remedy = "update pliant" if known and given > FORMAT else "the file is damaged, or was changed"
        raise ModelError(f"{source}: format: got {short(shown)}, expected {UNCHECKED} or {FORMAT}; {remedy}")
    if given == UNCHECKED:
        text = f"{source}: format 1, of pliant 0.1, has no digest, so damage to it cannot be noticed"
        warn_user(f"{text}; load and save it once")
        return
    if NAME not in data.attrs:
        raise ModelError(
            f"{source}: a {what} of format {FORMAT} without its digest; the file is damaged, or was changed"
        )
    if whole:
        return
    try:
        found = digest(data)
    except Exception as error:  # damaged files make the libraries raise errors of any type
        raise _damaged(source, what, error) from error
    if found != str(data.attrs[NAME]):
        raise ModelError(f"{source}: the content does not match its digest; the file is damaged, or was changed")


def _damaged(source: Path, what: str, error: Exception) -> ModelError:
    return ModelError(f"{source}: damaged {what} file ({str(error)[:200] or type(error).__name__})")


def _opened(source: Path, what: str) -> xr.Dataset:
    try:
        data = open_arrays(source)
    except PliantError:
        raise
    except Exception as error:  # the libraries raise errors of any type
        raise ModelError(f"{source}: not a readable {what} file ({error}); was it written by pliant?") from error
    if not _is_zarr(source) and data.nbytes > 2 * source.stat().st_size:  # nothing is packed: a shape must be wrong
        data.close()
        raise ModelError(f"{source}: damaged {what} file: arrays of {data.nbytes} bytes, more than the file has")
    return data


def open_arrays(source: Path) -> xr.Dataset:
    """Dataset of a NetCDF file or a Zarr folder; both are checked first to hold all their values themselves."""
    import xarray as xr

    zarr = _is_zarr(source)
    try:
        claimed = check_zarr(source) if zarr else 0
        if not zarr:
            check_hdf5(source)
    except ModelError as error:
        raise ModelError(f"{source}: {str(error).removeprefix(f'{source}: ')}") from None
    if claimed > MOST_PACKED * sum(path.stat().st_size for path in source.rglob("*")) + (1 << 30):
        raise ModelError(f"{source}: damaged: arrays of {claimed} bytes, more than its files can hold")
    if zarr:  # read what was checked: each array describes itself, and a consolidated list is ignored
        return xr.open_dataset(source, engine="zarr", consolidated=False)
    return xr.open_dataset(source, engine="h5netcdf")


def _is_zarr(source: Path) -> bool:
    return source.suffix == ".zarr" and source.is_dir()


def model_of(robot: Robot, options: Mapping[str, Any]) -> Model:
    """Model of a robot with the options of a file."""
    o = options
    return Model(robot, o["formulation"], o["rotation"], o["stiffening"], tuple(o["parameters"]), shapes=o["shapes"])
