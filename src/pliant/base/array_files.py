"""Files of arrays, checked before a library reads values: HDF5 files and Zarr folders that hold all their data.

HDF5 and Zarr files can name other files and the code that unpacks their values. Both libraries follow such names
without asking, so that the metadata are looked at first, by calls that open nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pliant.base.reading import open_input, read_input, require_regular
from pliant.errors import ModelError

FILTERS = range(1, 7)
"""Numbers of the filters of HDF5 itself: deflate, shuffle, fletcher32, szip, nbit, scaleoffset; others are plugins."""
COMPRESSORS = ("blosc", "zstd", "gzip", "zlib", "lz4", "bz2")
"""Compressors of Zarr arrays of version 2."""
CODECS = ("bytes", "vlen-utf8", "blosc", "zstd", "gzip", "crc32c")
"""Codecs of Zarr arrays of version 3."""
TEXT_FILTER = [{"id": "vlen-utf8"}]
"""Filters of a Zarr array of version 2 that holds texts of any length; no other array has any."""
NUMBERS = {f"{kind}{8 * size}": size for kind in ("int", "uint", "float") for size in (1, 2, 4, 8)} | {"bool": 1}
POINTER = 8
"""Bytes of a text of any length, at least."""
MOST_TEXT = 64 << 20
"""Bytes of a chunk of texts of any length."""
METADATA = ("zarr.json", ".zarray")
MOST_METADATA = 256 << 20
MOST_AXES = 32
_NUMBERS_2 = re.compile(r"[<>|][biuf]([1248])")
_TEXTS_2 = re.compile(r"[<>|][SU]([0-9]{1,9})")
OWN = "save it with its values in it"


def check_hdf5(path: str | os.PathLike[str]) -> None:
    """Check that an HDF5 file has all its values in it, and needs no filter that is a plugin.

    Raises
    ------
    ModelError
        It has links other than plain ones, data sets with values in other files, or foreign filters.
    """
    import h5py
    from h5py import h5d, h5g, h5l, h5o
    from h5py.h5o import open as open_object

    with h5py.File(path, "r") as file:
        waiting, seen = [("", file.id)], set()
        while waiting:
            place, entry = waiting.pop()
            if isinstance(entry, h5d.DatasetID):
                made = entry.get_create_plist()
                if made.get_external_count() or made.get_layout() == h5d.VIRTUAL:
                    raise ModelError(f"`{place}` has its values in another file, which is not opened; {OWN}")
                foreign = [made.get_filter(k)[0] for k in range(made.get_nfilters())]
                if foreign := [number for number in foreign if number not in FILTERS]:
                    raise ModelError(f"`{place}` is packed by filter {foreign[0]}, which is no part of HDF5; {OWN}")
            address = h5o.get_info(entry).addr
            if address in seen or not isinstance(entry, h5g.GroupID):
                continue
            seen.add(address)
            group = h5g.open(entry, b"/") if isinstance(entry, h5py.h5f.FileID) else entry
            for name in list(group):
                inner = f"{place}/{name.decode('utf-8', 'replace')}"[:200]
                if group.links.get_info(name).type != h5l.TYPE_HARD:
                    raise ModelError(f"`{inner}` is a link, which is not followed; {OWN}")
                waiting.append((inner, open_object(group, name)))


def check_zarr(folder: Path) -> int:
    """Check that a Zarr folder holds plain files, and arrays of numbers and texts by known codecs; the bytes of all.

    Raises
    ------
    ModelError
        It has links, or arrays of objects, or names codecs that the writers of runs do not use.
    """
    require_regular(folder, folder=True)
    return sum(_array_bytes(path, folder) for path in _metadata(folder))


def _metadata(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root, name) for name in names if name.lower() in METADATA)


def _array_bytes(path: Path, folder: Path) -> int:
    """Bytes of the array that a file describes; a group has none."""
    place = path.relative_to(folder).as_posix()
    try:
        about = json.loads(read_input(path, MOST_METADATA).decode(), object_pairs_hook=_without_repeats)
        if path.name.lower() == "zarr.json" and about["node_type"] == "group":
            return 0
        size = _of_version_2(about) if path.name.lower() == ".zarray" else _of_version_3(about)
        shape, chunk = about["shape"], _chunk(about)
        for axes in (shape, chunk):
            _demand("axes", axes, len(axes) <= MOST_AXES and all(type(n) is int and 0 <= n < 1 << 63 for n in axes))
        any_length = about.get("dtype") == "|O" or about.get("data_type") == "string"
        _check_chunks(path.parent, _compressor(about), MOST_TEXT if any_length else size * math.prod(chunk))
        return size * max(int(math.prod(shape)), int(math.prod(chunk)))
    except _Unknown as error:
        raise ModelError(f"{place}: {error}, which is not read; save it by `to_zarr` as it comes") from None
    except ModelError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(f"{place}: not the description of an array ({str(error)[:100]})") from None


def _compressor(about: dict[str, Any]) -> str:
    """Codec that packs the bytes of an array last; empty where none does."""
    if "codecs" not in about:
        return str((about.get("compressor") or {"id": ""})["id"])
    names = [codec["name"] if isinstance(codec, dict) else codec for codec in about["codecs"]]
    return next((name for name in reversed(names) if name in COMPRESSORS), "")


def _check_chunks(folder: Path, codec: str, most: int) -> None:
    """Check that no chunk of an array says that it unpacks to more than `most` bytes: memory is asked for by what is
    said."""
    if codec not in SAID:
        return
    for root, _, names in os.walk(folder):
        for name in names:
            if name.startswith(".") or name == "zarr.json":
                continue
            place = Path(root, name)
            with open_input(place) as file:
                said = SAID[codec](file.read(HEADER))
            if said > most:
                name = f"{folder.name}/{place.relative_to(folder).as_posix()}"
                raise ModelError(f"{name}: damaged: a chunk of {said} bytes, expected {most}")


def _said_by_blosc(head: bytes) -> int:
    return int.from_bytes(head[4:8], "little")


def _said_by_lz4(head: bytes) -> int:
    return int.from_bytes(head[:4], "little")


def _said_by_zstd(head: bytes) -> int:
    """Content size of a frame (RFC 8878, 3.1.1.1); 0 where it is not stated."""
    if head[:4] != b"\x28\xb5\x2f\xfd":
        return 0
    about = int.from_bytes(head[4:5], "little")
    single, size = about >> 5 & 1, (0, 2, 4, 8)[about >> 6]
    size = size or single
    first = 5 + (1 - single) + (0, 1, 2, 4)[about & 3]
    said = int.from_bytes(head[first : first + size], "little")
    return said + 256 if size == 2 else said


HEADER = 18
"""Bytes of a chunk that say how large it is when it is unpacked, at most."""
SAID = {"blosc": _said_by_blosc, "lz4": _said_by_lz4, "zstd": _said_by_zstd}
"""Compressors whose libraries ask for memory by what a chunk says: bytes from its first ones."""


class _Unknown(Exception):
    """Part of a description that the writers of runs do not use."""


def _demand(name: str, given: Any, known: bool) -> None:
    if not known:
        raise _Unknown(f"{name} {json.dumps(given)[:80]}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _chunk(about: dict[str, Any]) -> Any:
    return about["chunks"] if "chunks" in about else about["chunk_grid"]["configuration"]["chunk_shape"]


def _of_version_2(about: dict[str, Any]) -> int:
    """Bytes of an item of an array as `.zarray` describes it."""
    kind, packed, filters = about["dtype"], about.get("compressor"), about.get("filters")
    text = kind == "|O"
    plain = isinstance(kind, str) and (_NUMBERS_2.fullmatch(kind) or _TEXTS_2.fullmatch(kind))
    _demand("dtype", kind, text or bool(plain))
    _demand("filters", filters, filters == TEXT_FILTER if text else not filters)
    _demand("compressor", packed, packed is None or packed["id"] in COMPRESSORS)
    _demand("separator", about.get("dimension_separator"), about.get("dimension_separator", ".") in (".", "/"))
    if not plain:
        return POINTER
    return int(plain[1]) * (4 if "U" in kind else 1)


def _of_version_3(about: dict[str, Any]) -> int:
    """Bytes of an item of an array as `zarr.json` describes it."""
    kind = about["data_type"]
    name = kind["name"] if isinstance(kind, dict) else kind
    _demand("data type", kind, name in ("string", "fixed_length_utf32") or name in NUMBERS)
    for codec in about["codecs"]:
        _demand("codec", codec, (codec["name"] if isinstance(codec, dict) else codec) in CODECS)
    _demand("storage transformers", given := about.get("storage_transformers"), not given)
    _demand("node", about["node_type"], about["node_type"] == "array")
    keys = about["chunk_key_encoding"]
    separator = keys.get("configuration", {}).get("separator", "/")
    _demand("names of chunks", keys, keys["name"] in ("default", "v2") and separator in (".", "/"))
    if name == "fixed_length_utf32":
        size = kind["configuration"]["length_bytes"]
        _demand("data type", kind, type(size) is int and 0 <= size < 1 << 31)
        return int(size)
    return NUMBERS.get(name, POINTER)
