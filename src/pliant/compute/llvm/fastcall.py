"""One checked call of a kernel from Python in a few hundred nanoseconds: a builtin function written in LLVM IR.

It reads each argument as NumPy's own C interface does (`PyArrayObject_fields`): an exact `ndarray` of float64,
C-contiguous, of the right shape and with finite numbers. Then it makes the output array and runs the kernel. Anything
else gives `None`, and the caller takes the slow path, which converts arguments or raises errors. Offsets are checked on
real arrays before the first use; an interpreter with another layout gets no fast call.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.compute.llvm import llvm

Shape = tuple[int, ...]

#: Most elements of all inputs together; they are copied to the stack.
MOST_ELEMENTS = 8192
#: Most elements of all outputs together where there are several; they pass through the stack.
MOST_RESULTS = 16_384
#: Most axes of an input or output.
MOST_AXES = 4

# Bytes into a PyArrayObject, and into its PyArray_Descr: there kind, letter, byte order, flags and number of the type.
TYPE, DATA, AXES, DIMENSIONS, DESCRIPTION, FLAGS = 8, 16, 24, 32, 56, 64
NUMBER_TYPE = 24
#: C-contiguous and aligned.
WANTED_FLAGS = 0x0001 | 0x0100
#: Place of PyArray_New in NumPy's table of functions, and NumPy's number of float64.
PYARRAY_NEW, NPY_DOUBLE = 93, 12
#: METH_FASTCALL of CPython.
METH_FASTCALL = 0x0080

# Words of the table that a fast call reads: fixed ones, then for each input and for each output its axes, its size and
# its shape.
KERNEL, COUNT, ELEMENTS, ARRAY_TYPE, FLOAT64, NEW, INCREF, NONE, TUPLE, SET_ITEM, DECREF, RESULTS, OUTPUTS = range(13)
INPUTS = OUTPUTS + 1
WORDS_PER_ARRAY = 2 + MOST_AXES

NAME = "pliant_fast_call"


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Words(np.ndarray[Any, Any]):
    """The table of a fast call; the builtin function owns it, and it owns the machine code that it points to."""

    code: llvm.Code


def fast_call(code: llvm.Code, in_shapes: Sequence[Shape], out_shapes: Sequence[Shape]) -> Callable[..., Any] | None:
    """A builtin function of one array for each input; it returns the output array, a tuple of several, or None where it
    does not take the arguments. Without a fast call for these shapes, the result is None."""
    elements, results = (sum(math.prod(shape) for shape in shapes) for shapes in (in_shapes, out_shapes))
    fits = elements <= MOST_ELEMENTS and all(len(shape) <= MOST_AXES for shape in (*in_shapes, *out_shapes))
    few = len(out_shapes) == 1 or (len(out_shapes) > 1 and results <= MOST_RESULTS)
    if not (fits and few) or not _layout_is_known():
        return None
    interface = _interface()
    words = [code.address, len(in_shapes), elements, *interface.words, results, len(out_shapes)]
    for shape in (*in_shapes, *out_shapes):
        words += [len(shape), math.prod(shape), *shape, *[0] * (MOST_AXES - len(shape))]
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    table = np.array(words, dtype=np.int64).view(_Words)
    table.code = code
    function: Callable[..., Any] = make(interface.definition, table, None)
    return function


class _Interface:
    """Addresses in this process that every fast call needs; it owns the compiled function."""

    def __init__(self) -> None:
        self.code = llvm.compile_text(SOURCE, NAME)
        self._method = _MethodDefinition(b"kernel", self.code.address, METH_FASTCALL, None)
        self.definition = ctypes.addressof(self._method)
        float64 = ctypes.c_int64.from_address(id(np.dtype(np.float64)) + NUMBER_TYPE).value
        calls = [_address(name) for name in ("PyTuple_New", "PyTuple_SetItem", "Py_DecRef")]
        self.words = (id(np.ndarray), float64, _array_new(), _address("Py_IncRef"), id(None), *calls)


@functools.cache
def _made_once() -> _Interface:
    return _Interface()


def _interface() -> _Interface:
    """The one interface of this process, made under a lock: of two made at the same time only the later would be kept,
    and the calls of the other would point into freed memory."""
    with llvm.lock:
        return _made_once()


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _array_new() -> int:
    core = "numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core"
    umath = importlib.import_module(f"{core}._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(umath._ARRAY_API, None)
    return ctypes.c_void_p.from_address(table + PYARRAY_NEW * ctypes.sizeof(ctypes.c_void_p)).value or 0


@functools.cache
def _layout_is_known() -> bool:
    """Whether arrays read through the offsets above agree with NumPy."""
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    if sys.implementation.name != "cpython" or free_threaded or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    number_type = ctypes.string_at(id(np.dtype(np.float64)) + NUMBER_TYPE, 8)
    if number_type[:2] != b"fd" or int.from_bytes(number_type[4:], sys.byteorder) != NPY_DOUBLE:
        return False
    base = np.zeros((4, 6))
    arrays = (base, base[0], base[:, 0], base[::2], base.astype(np.float32), np.zeros(()))
    return all(_reads_right(array) for array in arrays)


def _reads_right(array: Array | NDArray[np.float32]) -> bool:
    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(id(array) + offset).value

    axes = ctypes.c_int.from_address(id(array) + AXES).value
    if word(TYPE) != id(np.ndarray) or word(DATA) != array.ctypes.data or axes != array.ndim:
        return False
    shape = tuple((ctypes.c_int64 * axes).from_address(word(DIMENSIONS))) if axes else ()
    flags = ctypes.c_int.from_address(id(array) + FLAGS).value
    contiguous = (flags & WANTED_FLAGS) == WANTED_FLAGS
    return shape == array.shape and word(DESCRIPTION) == id(array.dtype) and contiguous == array.flags.c_contiguous


def _word(name: str, index: int, kind: str = "i64") -> str:
    return f"%{name}.p = getelementptr i64, ptr %table, i64 {index}\n%{name} = load {kind}, ptr %{name}.p, align 8"


def _field(name: str, offset: int, kind: str, of: str = "object") -> str:
    return f"%{name}.p = getelementptr i8, ptr %{of}, i64 {offset}\n%{name} = load {kind}, ptr %{name}.p, align 4"


#: No strides, no data, no item size, no flags, no parent.
_REST_OF_NEW = "ptr null, ptr null, i32 0, i32 0, ptr null"

SOURCE = f"""
define internal ptr @new_array(ptr %new, ptr %array.type, ptr %words) nounwind alwaysinline {{
%axes = load i64, ptr %words, align 8
%shape = getelementptr i64, ptr %words, i64 2
%axes32 = trunc i64 %axes to i32
%out = call ptr %new(ptr %array.type, i32 %axes32, ptr %shape, i32 {NPY_DOUBLE}, {_REST_OF_NEW})
ret ptr %out
}}
define ptr @{NAME}(ptr %self, ptr %args, i64 %given) nounwind {{
entry:
{_field("table", DATA, "ptr", of="self")}
{_word("kernel", KERNEL, "ptr")}
{_word("count", COUNT)}
{_word("elements", ELEMENTS)}
{_word("array.type", ARRAY_TYPE, "ptr")}
{_word("float64", FLOAT64)}
%fits = icmp eq i64 %given, %count
br i1 %fits, label %start, label %refuse
start:
%values = alloca double, i64 %elements, align 16
%lonely = icmp eq i64 %count, 0
br i1 %lonely, label %evaluate, label %argument
argument:
%k = phi i64 [0, %start], [%k.next, %copied]
%to = phi ptr [%values, %start], [%to.next, %copied]
%bad = phi double [0.0, %start], [%bad.end, %copied]
%object.p = getelementptr ptr, ptr %args, i64 %k
%object = load ptr, ptr %object.p, align 8
{_field("type", TYPE, "ptr")}
%is.array = icmp eq ptr %type, %array.type
br i1 %is.array, label %array, label %refuse
array:
{_field("description", DESCRIPTION, "ptr")}
{_field("number", NUMBER_TYPE, "i64", of="description")}
{_field("flags", FLAGS, "i32")}
{_field("axes32", AXES, "i32")}
{_field("dimensions", DIMENSIONS, "ptr")}
{_field("data", DATA, "ptr")}
%axes = sext i32 %axes32 to i64
%offset = mul i64 %k, {WORDS_PER_ARRAY}
%place = add i64 %offset, {INPUTS}
%want.p = getelementptr i64, ptr %table, i64 %place
%want.axes = load i64, ptr %want.p, align 8
%size.p = getelementptr i64, ptr %want.p, i64 1
%size = load i64, ptr %size.p, align 8
%want.shape = getelementptr i64, ptr %want.p, i64 2
%is.double = icmp eq i64 %number, %float64
%masked = and i32 %flags, {WANTED_FLAGS}
%is.plain = icmp eq i32 %masked, {WANTED_FLAGS}
%is.flat = icmp eq i64 %axes, %want.axes
%both = and i1 %is.double, %is.plain
%all = and i1 %both, %is.flat
br i1 %all, label %shape, label %refuse
shape:
%axis = phi i64 [0, %array], [%axis.next, %extent]
%axes.left = icmp slt i64 %axis, %axes
br i1 %axes.left, label %extent, label %copy
extent:
%has.p = getelementptr i64, ptr %dimensions, i64 %axis
%has = load i64, ptr %has.p, align 8
%needs.p = getelementptr i64, ptr %want.shape, i64 %axis
%needs = load i64, ptr %needs.p, align 8
%axis.next = add i64 %axis, 1
%equal = icmp eq i64 %has, %needs
br i1 %equal, label %shape, label %refuse
copy:
%i = phi i64 [0, %shape], [%i.next, %element]
%bad.end = phi double [%bad, %shape], [%bad.next, %element]
%left = icmp slt i64 %i, %size
br i1 %left, label %element, label %copied
element:
%x.p = getelementptr double, ptr %data, i64 %i
%x = load double, ptr %x.p, align 8
%to.p = getelementptr double, ptr %to, i64 %i
store double %x, ptr %to.p, align 8
%nought = fsub double %x, %x
%bad.next = fadd double %bad.end, %nought
%i.next = add i64 %i, 1
br label %copy
copied:
%to.next = getelementptr double, ptr %to, i64 %size
%k.next = add i64 %k, 1
%more = icmp slt i64 %k.next, %count
br i1 %more, label %argument, label %finite
finite:
%is.finite = fcmp oeq double %bad.end, 0.0
br i1 %is.finite, label %evaluate, label %refuse
evaluate:
{_word("new", NEW, "ptr")}
{_word("outputs", OUTPUTS)}
%behind = mul i64 %count, {WORDS_PER_ARRAY}
%place.out = add i64 %behind, {INPUTS}
%out.p = getelementptr i64, ptr %table, i64 %place.out
%alone = icmp eq i64 %outputs, 1
br i1 %alone, label %one, label %many
one:
%out = call ptr @new_array(ptr %new, ptr %array.type, ptr %out.p)
%failed = icmp eq ptr %out, null
br i1 %failed, label %end, label %run
run:
{_field("target", DATA, "ptr", of="out")}
call void %kernel(ptr %values, ptr %target)
br label %end
end:
ret ptr %out
many:
{_word("results", RESULTS)}
{_word("tuple.new", TUPLE, "ptr")}
{_word("set.item", SET_ITEM, "ptr")}
%all.results = alloca double, i64 %results, align 16
call void %kernel(ptr %values, ptr %all.results)
%tuple = call ptr %tuple.new(i64 %outputs)
%no.tuple = icmp eq ptr %tuple, null
br i1 %no.tuple, label %done, label %output
output:
%o = phi i64 [0, %many], [%o.next, %filled]
%o.p = phi ptr [%out.p, %many], [%o.p.next, %filled]
%from = phi ptr [%all.results, %many], [%from.next, %filled]
%array.new = call ptr @new_array(ptr %new, ptr %array.type, ptr %o.p)
%no.array = icmp eq ptr %array.new, null
br i1 %no.array, label %drop, label %fill
fill:
{_field("filled.data", DATA, "ptr", of="array.new")}
%o.size.p = getelementptr i64, ptr %o.p, i64 1
%o.size = load i64, ptr %o.size.p, align 8
br label %cells
cells:
%c = phi i64 [0, %fill], [%c.next, %cell]
%c.more = icmp slt i64 %c, %o.size
br i1 %c.more, label %cell, label %set.one
cell:
%c.from = getelementptr double, ptr %from, i64 %c
%c.to = getelementptr double, ptr %filled.data, i64 %c
%c.x = load double, ptr %c.from, align 8
store double %c.x, ptr %c.to, align 8
%c.next = add i64 %c, 1
br label %cells
set.one:
%set = call i32 %set.item(ptr %tuple, i64 %o, ptr %array.new)
br label %filled
filled:
%o.next = add i64 %o, 1
%o.p.next = getelementptr i64, ptr %o.p, i64 {WORDS_PER_ARRAY}
%from.next = getelementptr double, ptr %from, i64 %o.size
%o.more = icmp slt i64 %o.next, %outputs
br i1 %o.more, label %output, label %done
drop:
{_word("decref", DECREF, "ptr")}
call void %decref(ptr %tuple)
br label %done
done:
%answer = phi ptr [null, %many], [%tuple, %filled], [null, %drop]
ret ptr %answer
refuse:
{_word("incref", INCREF, "ptr")}
{_word("none", NONE, "ptr")}
call void %incref(ptr %none)
ret ptr %none
}}
"""
