"""The handler that XLA calls, called here through a call frame written by hand: no JAX is needed for that."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel
from pliant.compute.llvm import xla

VERSION = (0, 3)
HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
POINTER, WORD, INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
CALL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def structure(name: str, **fields: Any) -> Any:
    """A struct of XLA's, written down field by field as in c_api.h; it begins with its size and an extension."""
    return type(name, (ctypes.Structure,), {"_fields_": [("size", WORD), ("extension", POINTER), *fields.items()]})


Buffer = structure("Buffer", dtype=INT, data=POINTER, rank=WORD, dims=POINTER)
List = structure("List", count=WORD, types=POINTER, items=POINTER)
Frame = structure("Frame", api=POINTER, context=POINTER, stage=INT, args=List, rets=List)
Version = structure("Version", major=INT, minor=INT)
NAMES = (
    "error_create", "error_message", "error_destroy", "register", "stream", "type", "context", "set", "get",
    "allocate", "free", "schedule", "threads",
)  # fmt: skip
Api = structure("Api", version=Version, internal=POINTER, **dict.fromkeys(NAMES, POINTER))
Create = structure("Create", message=ctypes.c_char_p, code=INT)
Schedule = structure("Schedule", context=POINTER, task=POINTER, data=POINTER)
Threads = structure("Threads", context=POINTER, number=ctypes.POINTER(WORD))


class Metadata(ctypes.Structure):
    _fields_ = [("size", WORD), ("version", Version), ("traits", ctypes.c_uint32), ("state", WORD)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [("size", WORD), ("kind", INT), ("next", POINTER), ("metadata", POINTER)]


class Pool:
    """XLA's side: threads that take tasks at once, late, or never, and errors."""

    def __init__(self, threads: int = 1, late: bool = False, fails: bool = False) -> None:
        self.number, self.late, self.fails = threads, late, fails
        self.messages: list[bytes] = []
        self.destroyed: list[int] = []
        self.threads: list[threading.Thread] = []
        self.waiting: list[Any] = []
        calls = {"error_create": self.create, "error_destroy": self.destroy, "schedule": self.schedule,
                 "threads": self.count}  # fmt: skip
        self.calls = {name: CALL(call) for name, call in calls.items()}
        self.api = Api(size=ctypes.sizeof(Api), **{n: ctypes.cast(c, POINTER).value for n, c in self.calls.items()})

    def create(self, address: int) -> int:
        self.messages.append(Create.from_address(address).message)
        return 4711

    def destroy(self, address: int) -> int:
        self.destroyed.append(structure("Destroy", error=POINTER).from_address(address).error)
        return 0

    def count(self, address: int) -> int:
        Threads.from_address(address).number[0] = self.number
        return 0

    def schedule(self, address: int) -> int:
        asked = Schedule.from_address(address)
        task, data = TASK(asked.task), asked.data
        if self.fails:
            return 4712
        if self.late:
            self.waiting.append((task, data))
        else:
            self.threads.append(threading.Thread(target=task, args=(data,)))
            self.threads[-1].start()
        return 0

    def finish(self) -> None:
        for task, data in self.waiting:
            task(data)
        for thread in self.threads:
            thread.join()


def call(code: Any, arrays: list[np.ndarray], outputs: list[np.ndarray], pool: Pool, stage: int = 3) -> int | None:
    kept: list[Any] = []

    def listed(items: list[np.ndarray]) -> Any:
        buffers = []
        for x in items:
            dims = (WORD * x.ndim)(*x.shape)
            kind = 12 if x.dtype == np.float64 else 11
            buffers.append(Buffer(48, None, kind, x.ctypes.data, x.ndim, ctypes.addressof(dims)))
            kept.append(dims)
        pointers = (POINTER * len(items))(*map(ctypes.addressof, buffers))
        kept.extend([buffers, pointers])
        return List(40, None, len(items), None, ctypes.addressof(pointers))

    frame = Frame(152, None, ctypes.addressof(pool.api), None, stage, listed(arrays), listed(outputs))
    return HANDLER(code.address)(ctypes.addressof(frame))


@pytest.fixture(scope="module")
def function() -> ca.Function:
    x, y, z = ca.SX.sym("x", 3), ca.SX.sym("y", 2), ca.SX.sym("z", 0)
    return ca.Function("mixed", [x, y, z], [ca.sin(x) * y[0] - y[1], ca.vertcat(y[1] / (2 + x[0] ** 2), x)])


@pytest.fixture(scope="module")
def code(function: ca.Function) -> Any:
    return xla.compile_handler(function, VERSION)


def given(rng: np.random.Generator, count: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    arrays = [rng.normal(size=(count, 3)), rng.normal(size=(1, 2)), np.zeros((count, 0))]
    return arrays, [np.full((count, 3), np.nan), np.full((count, 4), np.nan)]


def test_offsets_are_those_of_the_structs() -> None:
    assert (Frame.args.offset, Frame.rets.offset) == (xla.ARGS_SIZE, xla.RETS_SIZE)
    assert (Api.schedule.offset, Api.threads.offset, Api.error_create.offset, Api.error_destroy.offset) == (
        xla.SCHEDULE, xla.THREADS, xla.ERROR_CREATE, xla.ERROR_DESTROY,
    )  # fmt: skip
    assert (Buffer.data.offset, Buffer.rank.offset, Buffer.dims.offset) == (xla.DATA, xla.RANK, xla.DIMS)


@pytest.mark.parametrize("count", [0, 1, 5, 33])
def test_numbers_are_those_of_the_kernel(
    function: ca.Function, code: Any, rng: np.random.Generator, count: int
) -> None:
    arrays, outputs = given(rng, count)
    pool = Pool()
    assert call(code, arrays, outputs, pool) is None
    expected = Kernel(function)(*arrays)
    assert all(np.array_equal(a, b) for a, b in zip(outputs, expected))


def test_several_leading_axes_and_one_state_without(function: ca.Function, code: Any, rng: np.random.Generator) -> None:
    arrays = [rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 2)), np.zeros(0)]
    outputs = [np.empty((2, 3, 3)), np.empty((2, 3, 4))]
    assert call(code, arrays, outputs, Pool()) is None
    assert np.array_equal(outputs[1], Kernel(function)(*arrays)[1])
    alone = [np.empty(3), np.empty(4)]
    assert call(code, [arrays[0][1, 2], arrays[1][1, 2], arrays[2]], alone, Pool()) is None
    assert np.array_equal(alone[0], outputs[0][1, 2])


@pytest.mark.parametrize("way", ["at once", "late", "failing", "alone"])
def test_threads_share_the_states(function: ca.Function, code: Any, rng: np.random.Generator, way: str) -> None:
    """Whoever comes late finds nothing to do, and memory that is still there."""
    count = 1_000_001 // function.n_instructions() + 1
    arrays, outputs = given(rng, count)
    pool = Pool(1 if way == "alone" else 4, late=way == "late", fails=way == "failing")
    assert call(code, arrays, outputs, pool) is None
    expected = Kernel(function)(*arrays)
    assert all(np.array_equal(a, b) for a, b in zip(outputs, expected))
    assert len(pool.threads) == (3 if way == "at once" else 0)
    assert len(pool.waiting) == (3 if way == "late" else 0)
    assert pool.destroyed == ([4712] * 3 if way == "failing" else [])
    pool.finish()


def test_a_handler_waits_for_blocks_of_others(function: ca.Function, code: Any, rng: np.random.Generator) -> None:
    """Asked for a hundred times: a block that another thread has begun is done when the call ends."""
    count = 1_000_001 // function.n_instructions() + 1
    arrays, _ = given(rng, count)
    expected = Kernel(function)(*arrays)
    for _ in range(100):
        outputs = [np.full((count, 3), np.nan), np.full((count, 4), np.nan)]
        pool = Pool(4)
        assert call(code, arrays, outputs, pool) is None
        assert np.array_equal(outputs[1], expected[1])
        pool.finish()


def test_it_tells_its_version(code: Any) -> None:
    metadata = Metadata(ctypes.sizeof(Metadata))
    extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.addressof(metadata))
    frame = Frame(152, ctypes.addressof(extension))
    assert HANDLER(code.address)(ctypes.addressof(frame)) is None
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (*VERSION, 0)


def test_stages_before_the_run_do_nothing(code: Any, rng: np.random.Generator) -> None:
    arrays, outputs = given(rng, 2)
    assert call(code, arrays, outputs, Pool(), stage=1) is None
    assert np.isnan(outputs[0]).all()


@pytest.mark.parametrize("fault", ["type", "count", "states", "output"])
def test_what_does_not_fit_is_an_error(code: Any, rng: np.random.Generator, fault: str) -> None:
    arrays, outputs = given(rng, 4)
    if fault == "type":
        arrays[0] = arrays[0].astype(np.float32)
    elif fault == "count":
        arrays.pop()
    elif fault == "states":
        arrays[1] = np.zeros((3, 2))
    else:
        outputs[1] = np.zeros((3, 4))
    pool = Pool()
    assert call(code, arrays, outputs, pool) == 4711
    assert b"laid out otherwise" in pool.messages[0]


def test_versions_that_are_known() -> None:
    text = "#define XLA_FFI_API_MAJOR {}\n#define XLA_FFI_API_MINOR {}\n"
    assert xla.api_version(text.format(0, 3)) == (0, 3)
    assert xla.api_version(text.format(1, 0)) is None
    assert xla.api_version("nothing") is None
