"""A CasADi function as a fast, checked function of NumPy arrays."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pliant.arrays import Array
from pliant.base.derived import SYMBOLS
from pliant.compute.llvm import entry, llvm, threads
from pliant.compute.llvm.fastcall import fast_call
from pliant.compute.llvm.interpreter import interpret
from pliant.compute.tape.arguments import Shape, Signature, batch_shape, plain, refuse_non_finite, rows
from pliant.compute.tape.plain_tape import PlainTape
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError, PliantError

if TYPE_CHECKING:
    import casadi as ca

    from pliant.compute.cuda.device_rows import DeviceColumns, DeviceRows
    from pliant.compute.llvm.vm import VirtualMachine
    from pliant.compute.tape.columns import ColumnFunction
    from pliant.compute.tape.tape import Tape

Backend = Literal["llvm", "vm"]

#: Fewer states than this run one by one until batch code exists.
LEAST_BATCH = 32

_SINGLE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_BATCH = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)


class Kernel:
    """A CasADi function, compiled on first use, for one state or for a batch of states.

    `kernel(*arrays)` takes one array for each input, of the input's shape behind any batch axes, `(..., n)`; batch axes
    are broadcast. It returns one array, or a tuple of them where the function has several outputs. A batch gives the
    same bits as its states one by one, with any number of threads. Arrays on a CUDA device stay there, and the results
    are CuPy arrays; numbers that are not finite give NaN there instead of an error.

    Parameters
    ----------
    f : casadi.Function, ColumnFunction or Recorded
        Dense inputs; outputs of any sparsity.
    backend : {"llvm", "vm"}
        Machine code of the function, or an interpreter where compiling takes longer than it saves.
    in_shapes, out_shapes : sequence of shapes, optional
        Shapes of one state's inputs and outputs. By default a column `(n, 1)` is `(n,)`, anything else `(r, c)`.
    names : sequence of str, optional
        Names of the inputs in messages; CasADi's own by default.
    longest_optimized : int
        Instructions beyond which code is compiled without optimization: ten times faster to compile, 1.7 times slower
        to run, with the same bits.
    """

    def __init__(
        self,
        f: llvm.Compilable,
        backend: Backend = "llvm",
        *,
        in_shapes: Sequence[Shape] | None = None,
        out_shapes: Sequence[Shape] | None = None,
        names: Sequence[str] | None = None,
        longest_optimized: int = llvm.LONGEST_OPTIMIZED,
    ) -> None:
        if backend not in ("llvm", "vm"):
            raise ModelError(f"backend: got {backend!r}, expected 'llvm' or 'vm'")
        self._known, self._longest = Recorded.of(f), longest_optimized
        self._code: llvm.Code | None = None
        known = self._known
        few = _FEW_CALLS.get() and not self.is_cached()
        self.backend: Backend = "vm" if few or backend == "vm" else "llvm"
        shapes = _shapes("in_shapes", in_shapes, known.in_sizes), _shapes("out_shapes", out_shapes, known.out_sizes)
        self.signature = Signature(known.name, _names(known.in_names, names), *shapes)
        self._fast: Callable[..., Any] = _refuse
        self._batch: BatchCode | None = None
        self._on_devices: dict[int, DeviceRows | DeviceColumns] = {}

    @property
    def function(self) -> ca.Function:
        """The function itself, traced if it was not."""
        return self._known.function

    @functools.cached_property
    def tape(self) -> Tape:
        """The scalar operations of the function."""
        from pliant.compute.tape.tape import Tape

        return Tape.from_function(self.function)

    def n_instructions(self) -> int:
        """Number of instructions of the function, of all its tapes if it has groups of columns."""
        return self._known.n_instructions()

    def code_length(self) -> int:
        """Number of instructions that are compiled: those of a called function count once."""
        return self._known.code_length()

    def n_calls(self) -> int:
        """Number of calls of functions that links share."""
        return self._known.n_calls()

    def interpreted(self, *arrays: Any) -> Any:
        """Return the outputs without compiling, as the backend "vm" computes them; the last bits differ from those of
        machine code."""
        given = plain(self.signature, arrays)
        outputs = self._interpreted(given, batch_shape(self.signature, given))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    @property
    def address(self) -> int:
        """Address of `void f(const double *in, double *out)` for one state; it is valid while this kernel lives.

        `in` holds all inputs and `out` all outputs, dense and row-major, one after the other; they must not overlap.
        """
        return self._single_code().address

    def is_cached(self) -> bool:
        """Whether the machine code for a first call is in the cache."""
        return self._code is not None or llvm.is_cached(self._known, longest=self._longest)

    @property
    def fast(self) -> Callable[..., Any]:
        """A builtin function for one plain state (float64 arrays); it gives None where `kernel(...)` must be called.

        It may be kept for loops that count nanoseconds, and owns what it needs.
        """
        if self.backend == "llvm" and self._fast is _refuse:
            self._fast = self._fast_path()
        return self._fast

    def __call__(self, *arrays: Any) -> Any:
        result = self._fast(*arrays)
        if result is None:
            result = self._checked(arrays)
        return result

    def __repr__(self) -> str:
        ins = ", ".join(f"{n}{s}" for n, s in zip(self.signature.in_names, self.signature.in_shapes))
        outs = ", ".join(map(str, self.signature.out_shapes))
        return f"Kernel({self.signature.name}: {ins} -> {outs}; {self.backend})"

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[Any, ...]]:
        s = self.signature
        return _rebuild, (_text(self._known.traced), self.backend, s.in_shapes, s.out_shapes, s.in_names)

    def _checked(self, given: Sequence[Any]) -> Any:
        """Evaluate with checks: the first call, arguments to convert, batches, errors."""
        if any(hasattr(x, "__cuda_array_interface__") for x in given):
            outputs = self.on_device(given)
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        arrays = plain(self.signature, given)
        leading = batch_shape(self.signature, arrays)
        if self.backend == "vm":
            refuse_non_finite(self.signature, arrays)
            outputs = self._interpreted(arrays, leading)
        elif self._batch is None and math.prod(leading) < LEAST_BATCH:
            refuse_non_finite(self.signature, arrays)
            outputs = self._one_by_one(arrays, leading)
        else:
            outputs, finite = self._batch_code()(arrays, leading)
            if not finite:
                refuse_non_finite(self.signature, arrays)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def on_device(self, given: Sequence[Any]) -> list[Any]:
        """Outputs as CuPy arrays on the current CUDA device; arguments that are elsewhere are copied to it."""
        from pliant.compute.cuda.device import cupy

        cp = cupy()
        arrays = plain(self.signature, given, cp)
        leading, device = batch_shape(self.signature, arrays), int(cp.cuda.Device().id)
        if device not in self._on_devices:
            from pliant.compute.cuda.rows import device_code

            with SYMBOLS, llvm.lock:
                self._on_devices[device] = device_code(self._known.traced, self.signature)
        return self._on_devices[device](arrays, leading)

    def _interpreted(self, arrays: Sequence[Array], leading: Shape) -> list[Array]:
        """Evaluate by the interpreter of tapes, or by CasADi's virtual machine where no tape is kept."""
        form = self._form
        if isinstance(form, PlainTape):
            return self._outputs(interpret(form, self._rows(arrays, leading)), leading)
        return form(arrays, leading)

    @functools.cached_property
    def _form(self) -> PlainTape | VirtualMachine:
        """Operations that the interpreter runs."""
        form = self._known.interpreted
        if isinstance(form, PlainTape):
            return form
        from pliant.compute.llvm.vm import VirtualMachine

        return VirtualMachine(form, self.signature)

    def _single_code(self) -> llvm.Code:
        if self._code is None:
            with llvm.lock:
                if self._code is None:
                    self._code = llvm.compile_function(self._known, "single", longest=self._longest)
        return self._code

    def _batch_code(self) -> BatchCode:
        if self._batch is None:
            with llvm.lock:
                if self._batch is None:
                    code = llvm.compile_function(self._known, "batch", longest=self._longest)
                    self._batch = BatchCode(code, self.signature, self._known.n_instructions())
        return self._batch

    def _one_by_one(self, arrays: Sequence[Array], leading: Shape) -> list[Array]:
        """Evaluate a few states by the code for one state, which has the same bits, without a second compile."""
        evaluate = _SINGLE(self.address)
        source = self._rows(arrays, leading)
        target = np.empty((len(source), sum(self.signature.out_sizes)))
        for x, y in zip(source, target):
            evaluate(x.ctypes.data, y.ctypes.data)
        if self._fast is _refuse:
            self._fast = self._fast_path()
        return self._outputs(target, leading)

    def _outputs(self, rows: Array, leading: Shape) -> list[Array]:
        """Cut the outputs of all states, (N, n_out), into those of the function."""
        ends = list(itertools.accumulate(self.signature.out_sizes))
        pieces = (rows[:, start:end] for start, end in zip([0, *ends], ends))
        return [piece.reshape(leading + shape) for piece, shape in zip(pieces, self.signature.out_shapes)]

    def _rows(self, arrays: Sequence[Array], leading: Shape) -> Array:
        """Return the inputs of all states, (N, n_in)."""
        count = math.prod(leading)
        given = [
            np.broadcast_to(x, leading + shape).reshape(count, size)
            for x, shape, size in zip(arrays, self.signature.in_shapes, self.signature.in_sizes)
        ]
        return np.concatenate([np.empty((count, 0)), *given], axis=1)

    def _fast_path(self) -> Callable[..., Any]:
        """The function for plain single states from now on."""
        return fast_call(self._single_code(), self.signature.in_shapes, self.signature.out_shapes) or _no_fast_path


class BatchCode:
    """Machine code for batches of one kernel: rows of states in packs, packs in blocks, blocks in threads."""

    def __init__(self, code: llvm.Code, signature: Signature, tape_length: int) -> None:
        self._code = code
        self._function = _BATCH(code.address)  # releases the interpreter's lock while it runs
        self._signature = signature
        self._scratch_size = code.number(entry.SCRATCH)
        self._tape_length = tape_length

    def __call__(self, arrays: Sequence[Array], leading: Shape) -> tuple[list[Array], bool]:
        """Outputs of all states, and whether all inputs were finite."""
        count = math.prod(leading)
        try:
            outputs = [np.empty(leading + shape) for shape in self._signature.out_shapes]
        except (MemoryError, ValueError) as error:  # NumPy has both words for more than there can be
            raise PliantError(
                f"{self._signature.name}: the answers for {count} states do not fit into memory; give fewer at a time"
            ) from error
        if count == 0:
            return outputs, True
        laid = [rows(array, shape, leading) for array, shape in zip(arrays, self._signature.in_shapes)]
        sources = np.array([array.ctypes.data for array, _ in laid], dtype=np.int64)
        strides = np.array([stride for _, stride in laid], dtype=np.int64)
        targets = np.array([output.ctypes.data for output in outputs], dtype=np.int64)
        tables = (sources.ctypes.data, strides.ctypes.data, targets.ctypes.data)
        many = count * self._tape_length >= threads.LEAST_SHARED
        call = functools.partial(self._function, *tables)
        most = threads.get_threads() if many else 1
        return outputs, threads.in_blocks(call, self._scratch_size, count, threads.GRAIN, most)


_FEW_CALLS: ContextVar[bool] = ContextVar("few calls", default=False)


@contextlib.contextmanager
def few_calls() -> Iterator[None]:
    """Within this context, kernels expect few calls: those without machine code are interpreted."""
    before = _FEW_CALLS.set(True)
    try:
        yield
    finally:
        _FEW_CALLS.reset(before)


def _refuse(*arrays: Any) -> None:
    """Stand in for the fast path before a kernel is compiled: every call takes the checked path."""


def _no_fast_path(*arrays: Any) -> None:
    """Stand in for a missing fast path: every call takes the checked path."""


def _names(own: tuple[str, ...], names: Sequence[str] | None) -> tuple[str, ...]:
    if names is not None and len(names) != len(own):
        raise ModelError(f"names: got {len(names)}, expected {len(own)}, one for each of {', '.join(own)}")
    return own if names is None else tuple(names)


def _shapes(name: str, given: Sequence[Shape] | None, sizes: Sequence[tuple[int, int]]) -> tuple[Shape, ...]:
    """Shapes of one state's arrays, checked against the function's own."""
    if given is None:
        return tuple((rows,) if columns == 1 else (rows, columns) for rows, columns in sizes)
    shapes = tuple(tuple(shape) for shape in given)
    if [math.prod(shape) for shape in shapes] != [rows * columns for rows, columns in sizes]:
        raise ModelError(f"{name}: got {list(shapes)}, expected as many elements as in {list(sizes)}")
    return shapes


def _text(f: ca.Function | ColumnFunction) -> str | ColumnFunction:
    """A form of a function that can be pickled: its text, or a ColumnFunction itself."""
    return f if hasattr(f, "serialized") else f.serialize()  # type: ignore[return-value]


def _rebuild(
    text: str | ColumnFunction, backend: Backend, ins: Sequence[Shape], outs: Sequence[Shape], names: Sequence[str]
) -> Kernel:
    """Make a kernel again from its pickled parts."""
    import casadi as ca

    f = ca.Function.deserialize(text) if isinstance(text, str) else text
    return Kernel(f, backend, in_shapes=ins, out_shapes=outs, names=names)
