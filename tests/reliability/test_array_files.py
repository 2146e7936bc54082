"""Saved runs of strangers that name other files, pipes or code: refused before a value is read."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pliant
from pliant.base.array_files import HEADER, SAID, check_hdf5, check_zarr
from pliant.batch import BatchResult
from pliant.errors import ModelError
from pliant.simulation.runs.files import digest
from pliant.studio.file_panel import uploaded

from . import sound
from .judge import watchdog

SECRET = b"0123456789abcdef" * 4000


def said(words: str) -> Any:
    """One line with these words."""
    return pytest.raises(ModelError, match=rf"\A[^\n]*{words}[^\n]*\Z")


# ------------------------------------------------------------------------------------------------------------- HDF5


def _outside(make: Callable[[Any, Any, Path], Any]) -> Callable[[Any, str, Path], None]:
    """Put a data set in the place of another, on its axes."""

    def edit(file: Any, name: str, secret: Path) -> None:
        shape, axes = file[name].shape, [axis[0].name for axis in file[name].dims]
        del file[name]
        made = make(file, (name, shape), secret)
        for axis, scale in zip(made.dims, axes):
            axis.attach_scale(file[scale])

    return edit


def _external(file: Any, what: Any, secret: Path) -> Any:
    return file.create_dataset(*what, "<f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def _virtual(file: Any, what: Any, secret: Path) -> Any:
    layout = h5py.VirtualLayout(what[1], "<f8")
    layout[:] = h5py.VirtualSource(str(secret), "x", what[1])
    return file.create_virtual_dataset(what[0], layout)


def _link(link: Callable[[Path], Any]) -> Callable[[Any, str, Path], None]:
    def edit(file: Any, name: str, secret: Path) -> None:
        del file[name]
        file[name] = link(secret)

    return edit


def _deep(file: Any, name: str, secret: Path) -> None:
    _external(file.create_group("a/b"), ("c", (3,)), secret)


def _filtered(file: Any, name: str, secret: Path) -> None:
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((4,))
    made.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, (4,))  # LZF of h5py: a filter from outside HDF5
    h5py.h5d.create(file.id, b"packed", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4,)), made)


HDF5: dict[str, tuple[Callable[[Any, str, Path], None], str]] = {
    "external data": (_outside(_external), "`/{}` has its values in another file"),
    "virtual data": (_outside(_virtual), "`/{}` has its values in another file"),
    "external link": (_link(lambda secret: h5py.ExternalLink(str(secret), "/")), "`/{}` is a link"),
    "soft link": (_link(lambda secret: h5py.SoftLink("/time")), "`/{}` is a link"),
    "deep": (_deep, "`/a/b/c` has its values in another file"),
    "filter": (_filtered, "`/packed` is packed by filter 32000"),
}  # fmt: skip


def _sealed(path: Path, kind: str, name: str, secret: Path) -> str:
    """Edit a file as a stranger can, who seals it again; the words by which it must be refused."""
    with h5py.File(path, "r+") as file:
        HDF5[kind][0](file, name, secret)
    digest.seal(path)
    return HDF5[kind][1].format(name)


@pytest.mark.parametrize("kind", HDF5)
def test_runs_hold_their_values(kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    path = sound.result().save(tmp_path / "run.nc")
    check_hdf5(path)
    words = _sealed(path, kind, "tau", tmp_path / "secret")
    with said(f"run.nc: {words}"):
        pliant.Result.load(path)
    many = sound.batch().save(tmp_path / "many.nc")
    with said(f"many.nc: {_sealed(many, kind, 'q', tmp_path / 'secret')}"):
        BatchResult.load(many)


def test_an_upload_holds_its_values(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    path = sound.result().save(tmp_path / "run.nc")
    words = _sealed(path, "external data", "tau", tmp_path / "secret")
    with said(rf"\Amine.nc: {words}"), uploaded("mine.nc", path.read_bytes()) as (shelf, name):
        shelf.read(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
@pytest.mark.parametrize("kind", ["external data", "external link", "virtual data"])
def test_a_named_pipe_is_not_waited_for(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = sound.result().save(tmp_path / "run.nc")
    words = _sealed(path, kind, "tau", tmp_path / "pipe")
    with watchdog(5.0), said(words):
        pliant.Result.load(path)


def test_groups_that_hold_each_other_end(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a/b/c"] = np.zeros(3)
        file["a/b/again"] = file["a"]
        file["a/all"] = file["/"]
    check_hdf5(tmp_path / "a.h5")


# ------------------------------------------------------------------------------------------------------------- Zarr


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Runs as Zarr folders of both versions."""
    pytest.importorskip("zarr", reason="the zarr extra is not installed")
    folder = tmp_path_factory.mktemp("zarr")
    found = {}
    for version in (2, 3):
        data = sound.result().dataset
        found[version] = folder / f"run{version}.zarr"
        data.to_zarr(found[version], zarr_format=version)
    return found


@pytest.fixture
def copied(folders: dict[int, Path], tmp_path: Path) -> Callable[[int], Path]:
    return lambda version: Path(shutil.copytree(folders[version], tmp_path / "run.zarr"))


def _edited(path: Path, **new: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | new))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("version", [2, 3])
def test_zarr_folders_are_read(copied: Callable[[int], Path], version: int) -> None:
    path = copied(version)
    assert np.array_equal(pliant.Result.load(path).q, sound.result().q)
    assert check_zarr(path) >= sound.result().dataset.nbytes


class _Evil:
    """Runs when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.putenv, ("PLIANT_EVIL", "1")


def test_pickles_in_a_zarr_folder_are_not_opened(copied: Callable[[int], Path], monkeypatch: Any) -> None:
    """As numcodecs below 0.16 opens them: refused before zarr looks at the folder."""
    pickles = pytest.importorskip("numcodecs.pickles")
    opened: list[Any] = []
    monkeypatch.setattr(pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    monkeypatch.setattr(pickles.Pickle, "decode", lambda *a: opened.append(a))
    path = copied(2)
    name = path / "tau" / ".zarray"
    filters = [{"id": "vlen-utf8"}, {"id": "pickle"}]
    _edited(name, dtype="|O", filters=filters, compressor=None, fill_value="")
    (path / "tau" / "0.0").write_bytes(pickle.dumps(_Evil()))
    with said(r"run.zarr: tau/.zarray: filters .*pickle.* is not read"):
        pliant.Result.load(path)
    assert not opened


WRONG_2: dict[str, dict[str, Any]] = {
    "dtype": {"dtype": "|O"}, "records": {"dtype": [["a", "<f8"]]}, "object": {"dtype": "|V8"},
    "time": {"dtype": "<M8"},
    "filters": {"filters": [{"id": "pickle"}]}, "compressor": {"compressor": {"id": "pickle"}},
    "no name": {"compressor": {}}, "separator": {"dimension_separator": "/../"}, "shape": {"shape": [1e9, 1.5]},
    "negative": {"shape": [-1, 2]}, "chunks": {"chunks": "ab"}, "axes": {"shape": [1] * 100},
}  # fmt: skip
WRONG_3: dict[str, dict[str, Any]] = {
    "codec": {"codecs": [{"name": "numcodecs.pickle", "configuration": {}}]}, "type": {"data_type": "bytes"},
    "record": {"data_type": {"name": "struct", "configuration": {}}}, "node": {"node_type": "other"},
    "storage": {"storage_transformers": [{"name": "x"}]}, "codecs": {"codecs": 5},
    "keys": {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/../"}}},
    "length": {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": -4}}},
}  # fmt: skip


@pytest.mark.parametrize(("version", "kind"), [*((2, kind) for kind in WRONG_2), *((3, kind) for kind in WRONG_3)])
def test_descriptions_of_arrays_are_known_ones(copied: Callable[[int], Path], version: int, kind: str) -> None:
    path = copied(version)
    _edited(path / "tau" / (".zarray" if version == 2 else "zarr.json"), **(WRONG_2 if version == 2 else WRONG_3)[kind])
    with said("run.zarr: tau/"):
        pliant.Result.load(path)


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"a": 1, "a": 2}', b"[" * 100_000, '{"shape": []}'.encode("utf-16")])
def test_descriptions_that_are_none(copied: Callable[[int], Path], raw: bytes) -> None:
    path = copied(2)
    (path / "tau" / ".zarray").write_bytes(raw)
    with said("run.zarr: tau/.zarray: not the description of an array"):
        pliant.Result.load(path)


def test_the_list_of_all_arrays_does_not_count(copied: Callable[[int], Path]) -> None:
    """What was checked is what is read: one that names arrays outside of the folder is not asked."""
    path = copied(2)
    listed = json.loads((path / ".zmetadata").read_text())
    for part in (".zarray", ".zattrs"):
        listed["metadata"][f"../other/{part}"] = listed["metadata"].pop(f"tau/{part}")
    (path / ".zmetadata").write_text(json.dumps(listed))
    assert np.array_equal(pliant.Result.load(path).tau, sound.result().tau)


@pytest.mark.parametrize("name", ["tau/0.0", "tau/.zarray", ".zattrs", "tau"])
def test_links_in_a_zarr_folder_are_not_followed(copied: Callable[[int], Path], tmp_path: Path, name: str) -> None:
    """Also where no digest would tell: in a file of format 1."""
    path = copied(2)
    _edited(path / ".zattrs", format=1)
    (path / name).rename(tmp_path / "secret")
    try:
        (path / name).symlink_to(tmp_path / "secret")
    except OSError:
        pytest.skip("a system that makes no links")
    with said(rf"run.zarr/{name}: got a link, expected a regular file"):
        pliant.Result.load(path)


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_say_their_size(copied: Callable[[int], Path], version: int) -> None:
    """Memory is asked for by what a chunk says of itself: three gigabytes for one of some bytes are refused unread."""
    path = copied(version)
    chunk = next(file for file in sorted(path.rglob("*")) if "time" in file.parts and file.name.isdigit())
    raw = bytearray(chunk.read_bytes())
    if version == 2:  # Blosc
        raw[4:8] = (3 << 30).to_bytes(4, "little")
    else:  # Zstandard, with a size of eight bytes
        raw[4:13] = bytes([0b11100000]) + (3 << 30).to_bytes(8, "little")
    chunk.write_bytes(raw)
    with pytest.raises(ModelError, match=r"damaged: a chunk of 3221225472 bytes, expected \d+$"):
        check_zarr(path)


@pytest.mark.parametrize("codec", ["blosc", "lz4", "zstd"])
@pytest.mark.parametrize("count", [1, 40, 900, 70_000])
def test_sizes_that_compressors_write(codec: str, count: int) -> None:
    """The first bytes of a chunk are understood as the library writes them, whatever they hold."""
    numcodecs = pytest.importorskip("numcodecs")
    packed = bytes(numcodecs.get_codec({"id": codec}).encode(np.arange(count, dtype=float)))
    assert SAID[codec](packed[:HEADER]) == 8 * count
