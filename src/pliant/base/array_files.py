"""Checks of HDF5 files and Zarr folders before a library reads values: all data must be inside.

HDF5 and Zarr files can name other files and the code that unpacks their values. Both libraries follow such names
without asking. So pliant reads the metadata first, by calls that open nothing else.
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
"""Numbers of the filters of HDF5: deflate, shuffle, fletcher32, szip, nbit, scaleoffset. Others are plugins."""
COMPRESSORS = ("blosc", "zstd", "gzip", "zlib", "lz4", "bz2")
"""Compressors of Zarr arrays of version 2."""
CODECS = ("bytes", "vlen-utf8", "blosc", "zstd", "gzip", "crc32c")
"""Codecs of Zarr arrays of version 3."""
TEXT_FILTER = [{"id": "vlen-utf8"}]
"""Filters of a Zarr array of version 2 with texts of any length. Other arrays have none."""
NUMBERS = {f"{kind}{8 * size}": size for kind in ("int", "uint", "float") for size in (1, 2, 4, 8)} | {"bool": 1}
POINTER = 8
"""Least number of bytes of a text of any length."""
MOST_TEXT = 64 << 20
"""Largest number of bytes of a chunk of texts of any length."""
METADATA = ("zarr.json", ".zarray")
MOST_METADATA = 256 << 20
MOST_AXES = 32
_NUMBERS_2 = re.compile(r"[<>|][biuf]([1248])")
_TEXTS_2 = re.compile(r"[<>|][SU]([0-9]{1,9})")
OWN = "save it with its values in it"

Description = dict[str, Any]
"""Metadata of an array, as JSON."""


def check_hdf5(path: str | os.PathLike[str]) -> None:
    """Check that an HDF5 file holds all its values and needs no plugin filter.

    Raises
    ------
    ModelError
        The file has links other than plain ones, data sets with values in other files, or foreign filters.
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
    """Check that a Zarr folder holds plain files with arrays of numbers and texts in known codecs; return all bytes.

    Raises
    ------
    ModelError
        The folder has links or arrays of objects, or names codecs that pliant does not write.
    """
    require_regular(folder, folder=True)
    return sum(_array_bytes(path, folder) for path in _metadata(folder))


def _metadata(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root, name) for name in names if name.lower() in METADATA)


def _array_bytes(path: Path, folder: Path) -> int:
    """Bytes of the array that a metadata file describes; 0 for a group."""
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


def _compressor(about: Description) -> str:
    """Name of the last compressor of an array; empty if there is none."""
    if "codecs" not in about:
        return str((about.get("compressor") or {"id": ""})["id"])
    names = [codec["name"] if isinstance(codec, dict) else codec for codec in about["codecs"]]
    return next((name for name in reversed(names) if name in COMPRESSORS), "")


def _check_chunks(folder: Path, codec: str, most: int) -> None:
    """Check that no chunk of an array claims to unpack to more than `most` bytes: libraries allocate what a chunk
    claims."""
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
    """Content size of a frame (RFC 8878, 3.1.1.1); 0 if it is not stated."""
    if head[:4] != b"\x28\xb5\x2f\xfd":
        return 0
    about = int.from_bytes(head[4:5], "little")
    single, size = about >> 5 & 1, (0, 2, 4, 8)[about >> 6]
    size = size or single
    first = 5 + (1 - single) + (0, 1, 2, 4)[about & 3]
    said = int.from_bytes(head[first : first + size], "little")
    return said + 256 if size == 2 else said


HEADER = 18
"""Largest number of bytes of a header that states the unpacked size of a chunk."""
SAID = {"blosc": _said_by_blosc, "lz4": _said_by_lz4, "zstd": _said_by_zstd}
"""Compressors whose libraries allocate the size that a chunk states; each function reads it from the header."""


class _Unknown(Exception):
    """Part of a description that pliant does not write."""


def _demand(name: str, given: object, known: bool) -> None:
    if not known:
        raise _Unknown(f"{name} {json.dumps(given)[:80]}")


def _without_repeats(pairs: list[tuple[str, object]]) -> Description:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _chunk(about: Description) -> list[int]:
    found: list[int] = about["chunks"] if "chunks" in about else about["chunk_grid"]["configuration"]["chunk_shape"]
    return found


def _of_version_2(about: Description) -> int:
    """Bytes of an item of an array that `.zarray` describes."""
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


def _of_version_3(about: Description) -> int:
    """Bytes of an item of an array that `zarr.json` describes."""
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
