"""Records: results of traces kept as plain data, in front of the cache of object code.

A recipe is text that determines a result: the content of a robot, options, the name of a function. With the digest of
the code (`code_stamp`) and the processor it is the key of a record, which lies with the object code and is trusted by
the same rules. A function with a record is known (its inputs and outputs, its length, the digest of its tape) without
being traced. Expressions are made only on demand, or when there is no object code.

The digest is that of Pliant's source and of the libraries whose numbers enter a trace, so that a changed line anywhere
is noticed. Reading all files at every start would take longer than most starts: sizes, times and inodes of files tell
whether they have changed since they were read last, as in the index of Git.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base.derived import SYMBOLS
from pliant.base.stages import preparation
from pliant.base.started import STARTED
from pliant.compute.llvm import cache
from pliant.compute.llvm.target import machine
from pliant.compute.tape.plain_tape import PlainTape
from pliant.errors import UnsupportedModel

if TYPE_CHECKING:
    import casadi as ca

    from pliant.compute.tape.columns import ColumnFunction

Size = tuple[int, int]
LIBRARIES = ("numpy", "scipy", "casadi", "pydantic")
ROOT = Path(__file__).parents[2]
COARSE = 100_000_000
"""Nanoseconds by which the times of files may lag behind the clock."""
_TAPE = b"tape"
"""First bytes of a record that has a tape."""


def recalled(recipe: str | None, make: Callable[[], object]) -> Any:
    """Return the plain data kept for this recipe, or made now by `make`: mappings, lists, text and numbers.

    Without a recipe, or where the digest of the code is unknown, nothing is kept.
    """
    return json.loads(_kept(recipe, lambda: json.dumps(make()).encode()))


def is_recalled(recipe: str | None) -> bool:
    """Whether plain data is kept for this recipe."""
    stamp = None if recipe is None else code_stamp()
    return stamp is not None and cache.read(_key(recipe, stamp)) is not None


def _key(recipe: str | None, stamp: str) -> str:
    return hashlib.sha256(repr(("record", recipe, stamp, machine())).encode()).hexdigest()


def _kept(recipe: str | None, make: Callable[[], bytes]) -> bytes:
    stamp = None if recipe is None else code_stamp()
    data = cache.read(_key(recipe, stamp)) if stamp else None
    if data is None:
        data = make()
        _keep(recipe, data)
    return data


def _keep(recipe: str | None, data: bytes) -> None:
    stamp = None if recipe is None else code_stamp()
    if stamp:
        cache.write(_key(recipe, stamp), data)


class Recorded:
    """A function to compile, known by its record; it is traced when its expressions are asked for.

    Parameters
    ----------
    trace : function without arguments
        Makes the casadi.Function or the ColumnFunction.
    recipe : str, optional
        Text that determines the function, beside Pliant's own code; without one the function is traced at once.
    remark : function, optional
        Gives, from the traced function, more plain data to keep with its record (`remarks`).
    title : str
        Name of the function in messages to the user.
    """

    def __init__(
        self, trace: Callable[[], ca.Function | ColumnFunction], recipe: str | None = None,
        remark: Callable[[Any], dict[str, object]] | None = None, title: str = "a function",
    ) -> None:  # fmt: skip
        self._trace, self._remark, self.recipe, self.title = trace, remark, recipe, title

    @classmethod
    def of(cls, f: ca.Function | ColumnFunction | Recorded) -> Recorded:
        """Wrap a function that is traced already; a `Recorded` is returned as it is."""
        return f if isinstance(f, cls) else cls(lambda: f)  # type: ignore[arg-type, return-value]

    @cached_property
    def traced(self) -> ca.Function | ColumnFunction:
        """The function as it is compiled."""
        with SYMBOLS, preparation(f"tracing {self.title}"):
            return self._trace()

    @property
    def function(self) -> ca.Function:
        """The whole as one CasADi function."""
        return getattr(self.traced, "function", self.traced)  # type: ignore[arg-type]

    @cached_property
    def interpreted(self) -> PlainTape | ca.Function:
        """The whole function for an interpreter: its tape, kept for the recipe, or the function itself for CasADi's
        virtual machine, where there is no recipe or no tape."""
        if self.recipe is None:
            return self.function
        kept = _kept(f"{self.recipe} interpreted", self._packed)
        if kept.startswith(_TAPE):
            return PlainTape.unpacked(kept.removeprefix(_TAPE))
        if "traced" in vars(self):
            return self.function
        import casadi as ca

        with SYMBOLS:
            return ca.Function.deserialize(zlib.decompress(kept).decode())

    def _packed(self) -> bytes:
        """The tape of the function as bytes, or the text of one that has none."""
        from pliant.compute.tape.tape import Tape

        f = self.function
        if f.is_a("SXFunction"):
            with contextlib.suppress(UnsupportedModel):
                return _TAPE + PlainTape.of(Tape.as_written(f)).packed()
        return zlib.compress(f.serialize().encode(), 1)

    @cached_property
    def _record(self) -> dict[str, Any]:
        return recalled(self.recipe, self._describe)  # type: ignore[no-any-return]

    def _describe(self) -> dict[str, Any]:
        f, ins, outs = self.function, range(self.function.n_in()), range(self.function.n_out())
        found: dict[str, Any] = {
            "name": f.name(),
            "names": [f.name_in(i) for i in ins],
            "lengths": _lengths(self.traced),
        }
        found |= {"ins": [f.size_in(i) for i in ins], "outs": [f.size_out(i) for i in outs]}
        found |= {"remarks": {} if self._remark is None else self._remark(self.traced)}
        return found

    @property
    def remarks(self) -> dict[str, Any]:
        """Plain data from `remark`, kept with the record."""
        return dict(self._record["remarks"])

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(self._record["name"])

    @property
    def in_names(self) -> tuple[str, ...]:
        """Names of its inputs."""
        return tuple(self._record["names"])

    @property
    def in_sizes(self) -> list[Size]:
        """Rows and columns of each input."""
        return [(rows, columns) for rows, columns in self._record["ins"]]

    @property
    def out_sizes(self) -> list[Size]:
        """Rows and columns of each output."""
        return [(rows, columns) for rows, columns in self._record["outs"]]

    def n_instructions(self) -> int:
        """Number of instructions that run: those of a called function count at each call."""
        return int(self._record["lengths"][0])

    def code_length(self) -> int:
        """Number of instructions that are compiled: those of a called function count once."""
        return int(self._record["lengths"][1])

    def n_calls(self) -> int:
        """Number of calls of functions that links share."""
        return int(self._record["lengths"][2])

    @cached_property
    def digest(self) -> str:
        """Digest that differs between different functions. It is kept once it was asked for: what is interpreted has
        none."""
        if "digest" not in self._record:
            self._record["digest"] = _digest(self.traced)
            _keep(self.recipe, json.dumps(self._record).encode())
        return str(self._record["digest"])


def _lengths(f: ca.Function | ColumnFunction) -> tuple[int, int, int]:
    """Instructions that run, instructions that are compiled, and calls."""
    if hasattr(f, "serialized") or not (f.is_a("SXFunction") and f.find_functions()):
        return int(f.n_instructions()), int(f.n_instructions()), 0
    from pliant.compute.tape.tape import called_by

    called = list(called_by(f).values())
    kinds = {hash(one): int(one.n_instructions()) for one in called}
    own = int(f.n_instructions()) - len(called)
    return own + sum(kinds[hash(one)] for one in called), own + sum(kinds.values()), len(called)


def _digest(f: ca.Function | ColumnFunction) -> str:
    """Digest of CasADi's serialized text, which follows from the tape and takes less time to make."""
    text: str = f.serialized() if hasattr(f, "serialized") else f.serialize()
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_stamp() -> str | None:
    """Digest of the code of this process; None if it is unknown, because the source is not in files or was changed
    after the process had begun to import it."""
    try:
        files = sorted(_files(ROOT))
        seen = [(name, *_facts(facts)) for name, facts in files]
        libraries = [_library(name) for name in LIBRARIES]
    except OSError:
        return None
    if any(max(facts.st_mtime_ns, facts.st_ctime_ns) > STARTED - COARSE for _, facts in files):
        return None
    key = hashlib.sha256(repr(("source", str(ROOT), seen)).encode()).hexdigest()
    known = cache.read(key)
    if known is None:
        known = source_digest([name for name, _ in files]).encode()
        cache.write(key, known)
    return hashlib.sha256(repr((known, libraries)).encode()).hexdigest()


def source_digest(names: list[str], root: Path = ROOT) -> str:
    """Digest of the content of files."""
    found = hashlib.sha256()
    for name in names:
        content = (root / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _files(folder: Path, inside: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Python files below a folder, with their paths relative to it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.name.endswith(".py"):
                yield name, entry.stat()
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(Path(entry.path), f"{name}/")


def _facts(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _library(name: str) -> tuple[object, ...]:
    """Name, place and file facts of an installed library, without importing it."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return (name,)
    return name, found.origin, *_facts(os.stat(found.origin))
