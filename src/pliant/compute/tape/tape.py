"""The instruction tape of a CasADi function: one directed acyclic graph of scalar operations, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.compute.tape.operations import (
    ALIAS,
    BINARY,
    CALL,
    CODES,
    CONST,
    COUNTED_AS,
    FREE,
    INPUT,
    KINDS,
    NAMES,
    OUTPUT,
    RESULT,
)
from pliant.compute.tape.value_numbering import AsWritten, Columns, Ints, Numbering
from pliant.errors import UnsupportedModel

DIV, INV, MUL = CODES["div"], CODES["inv"], CODES["mul"]
ANGLES = (CODES["sin"], CODES["cos"])


@dataclass(frozen=True, eq=False)
class Call:
    """A call of function number `callee`: `arguments` are the values of all its inputs' elements."""

    callee: int
    arguments: Ints


@dataclass(frozen=True, eq=False)
class Tape:
    """Scalar operations in an order in which they can be evaluated; value `i` is the result of operation `i`.

    Attributes
    ----------
    op : (n,) int32
        CasADi's op codes; see `pliant.compute.tape.operations` for names.
    a, b : (n,) int32
        The values an operation works on, -1 where there is none. For an input, `a` is its place among all inputs'
        elements, each input dense and row-major, one after the other.
    constant : (n,) float64
        The number of a constant, 0 elsewhere.
    outputs : (n_out,) int32
        The value of each output element, in the same layout; -1 is a structural zero.
    in_shapes, out_shapes : tuple of (rows, columns)
    in_names, out_names : tuple of str
    calls : tuple of Call
        Calls of functions, in order: operation "call" has its place here as `a`. Operation "result" has the number of
        the call's value as `a`, and as `b` the place among the results.
    callees : tuple of Tape
        The functions that are called, by number. They call nothing.
    """

    op: Ints
    a: Ints
    b: Ints
    constant: NDArray[np.float64]
    outputs: Ints
    in_shapes: tuple[tuple[int, int], ...]
    out_shapes: tuple[tuple[int, int], ...]
    in_names: tuple[str, ...]
    out_names: tuple[str, ...]
    calls: tuple[Call, ...] = ()
    callees: tuple[Tape, ...] = ()

    @classmethod
    def from_function(cls, f: ca.Function, outputs: Sequence[int] | None = None, calls: bool = False) -> Tape:
        """Read the tape of `f`, without dead code and without an operation done twice.

        Parameters
        ----------
        f : casadi.Function
            An `SX` function, or one that can be expanded to it.
        outputs : sequence of int, optional
            The outputs to keep; all of them by default.
        calls : bool
            Whether functions that `f` calls stay functions; by default they are written out where they are called.
        """
        f = _expanded(f)
        if outputs is None:
            return cls._read(f, None, calls)
        starts = np.cumsum([0, *map(f.numel_out, range(f.n_out()))])
        kept = np.concatenate([np.zeros(0, dtype=int), *(np.arange(starts[k], starts[k + 1]) for k in outputs)])
        found = cls._read(f, kept, calls)
        return replace(found, out_shapes=tuple(map(f.size_out, outputs)), out_names=tuple(map(f.name_out, outputs)))

    @classmethod
    def as_written(cls, f: ca.Function) -> Tape:
        """Read the operations of an `SX` function one by one, as CasADi runs them, in half the time. What it calls is
        written out."""
        reader = _Reader(calls=False, numbering=AsWritten())
        targets, ins, outs = _number_values(f, reader), range(f.n_in()), range(f.n_out())
        shapes = tuple(map(f.size_in, ins)), tuple(map(f.size_out, outs))
        names = tuple(map(f.name_in, ins)), tuple(map(f.name_out, outs))
        return cls(*reader.numbering.columns(), targets, *shapes, *names)

    @classmethod
    def _read(cls, f: ca.Function, kept: NDArray[np.int_] | None, calls: bool) -> Tape:
        """Read the tape of all outputs, or of the elements in `kept`, as one column."""
        reader = _Reader(calls)
        targets = _number_values(f, reader)
        numbering, targets = _share_reciprocals(reader.numbering, targets if kept is None else targets[kept])
        columns, targets, made = _without_dead_code(numbering.columns(), numbering.calls, targets)
        ins, outs = range(f.n_in()), range(f.n_out())
        shapes = tuple(map(f.size_out, outs)) if kept is None else ((len(kept), 1),)
        names = tuple(map(f.name_out, outs)) if kept is None else ("results",)
        in_shapes, in_names = tuple(map(f.size_in, ins)), tuple(map(f.name_in, ins))
        found = cls(*columns, targets, in_shapes, shapes, in_names, names, tuple(made))
        return _with_callees(found, reader.callees) if made else found

    @property
    def n_in(self) -> int:
        """Number of elements of all inputs together."""
        return sum(self.in_sizes)

    @property
    def n_out(self) -> int:
        """Number of elements of all outputs together."""
        return len(self.outputs)

    @property
    def in_sizes(self) -> list[int]:
        """Number of elements of each input."""
        return [rows * columns for rows, columns in self.in_shapes]

    @property
    def out_sizes(self) -> list[int]:
        """Number of elements of each output."""
        return [rows * columns for rows, columns in self.out_shapes]

    def __len__(self) -> int:
        """Number of operations written down: those of a called function count once."""
        return len(self.op) - int(np.isin(self.op, (CALL, RESULT)).sum()) + sum(map(len, self.callees))

    def count(self) -> dict[str, int]:
        """Number of operations by kind: mul (sq too), add (sub and twice too), div, sqrt, trig (sin, cos), other."""
        counts = dict.fromkeys(KINDS, 0)
        codes, numbers = np.unique(self.op, return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist()):
            if NAMES[code] not in FREE:
                counts[COUNTED_AS[NAMES[code]]] += number
        called = [callee.count() for callee in self.callees]
        for call in self.calls:
            for kind, number in called[call.callee].items():
                counts[kind] += number
        return counts


def operation_count(f: ca.Function, outputs: Sequence[int | str] | None = None) -> dict[str, int]:
    """Operations that `f` needs for the chosen outputs (by number or name), as `Tape.count` sorts them."""
    chosen = None if outputs is None else [f.index_out(o) if isinstance(o, str) else o for o in outputs]
    return Tape.from_function(f, chosen).count()


def _expanded(f: ca.Function) -> ca.Function:
    if f.is_a("SXFunction"):
        return f
    try:
        return f.expand()
    except RuntimeError as error:
        raise UnsupportedModel(
            f"The function {f.name()!r} cannot be written as scalar operations ({str(error).splitlines()[-1]}). "
            "Build it from SX expressions, or evaluate it with backend='vm'."
        ) from error


def _row_major(shape: tuple[int, int], sparsity: ca.Sparsity) -> list[int]:
    """Place of each nonzero (CasADi: column by column) in a dense row-major array."""
    rows, columns = sparsity.get_triplet()
    return [row * shape[1] + column for row, column in zip(rows, columns)]


class _Reader:
    """Turn CasADi's reused work slots into single assignments. Functions that a function calls are written out where
    they are called, or kept as `callees`."""

    def __init__(self, calls: bool, numbering: Numbering | None = None) -> None:
        self.numbering = numbering or Numbering()
        self.callees: list[_Callee] = []
        self._calls, self._numbers = calls, dict[int, int]()

    def read(self, f: ca.Function, given: Sequence[int]) -> list[int]:
        """Values of all nonzeros of the outputs, one after the other; `given` are the values of those of the inputs."""
        slots, numbering = [-1] * f.sz_w(), self.numbering
        in_starts, out_starts = ([0, *np.cumsum([s.nnz() for s in patterns])] for patterns in (
            [f.sparsity_in(i) for i in range(f.n_in())], [f.sparsity_out(i) for i in range(f.n_out())]
        ))  # fmt: skip
        found, called = [-1] * int(out_starts[-1]), called_by(f)
        for k in range(f.n_instructions()):
            op, source, target = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if op == OUTPUT:
                found[out_starts[target[0]] + target[1]] = slots[source[0]]
                continue
            if op == CALL:
                for slot, value in zip(target, self._call(called[k], [slots[s] for s in source], target)):
                    if slot >= 0:
                        slots[slot] = value
                continue
            if op == INPUT:
                value = given[in_starts[source[0]] + source[1]]
            elif op == CONST:
                value = numbering.constant(f.instruction_constant(k))
            elif op in ALIAS:
                value = slots[source[0]]
            elif op in NAMES:
                value = numbering.value(op, slots[source[0]], slots[source[1]] if op in BINARY else -1)
            else:
                raise UnsupportedModel(
                    f"Operation {op} in the function {f.name()!r} is not a scalar operation that pliant can compile. "
                    "Build the function from SX expressions, or evaluate it with backend='vm'."
                )
            slots[target[0]] = value
        return found

    def _call(self, f: ca.Function, given: list[int], used: Sequence[int]) -> list[int]:
        if not f.is_a("SXFunction"):
            raise UnsupportedModel(
                f"The function {f.name()!r} has no scalar operations that pliant can compile. "
                "Build it from SX expressions, or evaluate what calls it with backend='vm'."
            )
        if not self._calls:
            return self.read(f, given)
        callee = self._numbers.setdefault(hash(f), len(self.callees))
        if callee == len(self.callees):
            self.callees.append(_Callee(f))
        angles = (self.numbering.value(op, given[place]) for op, place in self.callees[callee].angles)
        call = self.numbering.call(callee, (*given, *angles))
        return [self.numbering.result(call, k) if slot >= 0 else -1 for k, slot in enumerate(used)]


class _Callee:
    """A called function, and the sines and cosines of its inputs, which the caller computes: once for all functions of
    one joint, and several together."""

    def __init__(self, f: ca.Function) -> None:
        self._function, reader = f, _Reader(calls=False)
        self._numbering, self._targets = _share_reciprocals(reader.numbering, _number_values(f, reader))
        rows = self._numbering.rows
        self._turned = [i for i, (op, a, _, _) in enumerate(rows) if op in ANGLES and rows[a][0] == INPUT]
        self.angles = [(rows[i][0], rows[rows[i][1]][1]) for i in self._turned]

    def tape(self, kept: NDArray[np.int_]) -> Tape:
        """Tape of the results in `kept`."""
        f, (op, a, b, constant) = self._function, self._numbering.columns()
        ins = range(f.n_in())
        op[self._turned] = INPUT
        a[self._turned] = sum(map(f.numel_in, ins)) + np.arange(len(self._turned))
        columns, targets, _ = _without_dead_code((op, a, b, constant), (), self._targets[kept])
        shapes, names = (*map(f.size_in, ins), (len(self._turned), 1)), (*map(f.name_in, ins), "angles")
        return Tape(*columns, targets, shapes, ((len(kept), 1),), names, ("results",))


def called_by(f: ca.Function) -> dict[int, ca.Function]:
    """Functions that `f` calls, by the number of the calling instruction."""
    calls = [k for k in range(f.n_instructions()) if f.instruction_id(k) == CALL] if f.find_functions() else []
    steps: Any = f.instructions_sx().nz if calls else None
    return {k: steps[k].which_function() for k in calls}


def _number_values(f: ca.Function, reader: _Reader) -> Ints:
    """The value of each output element, row-major."""
    starts = np.cumsum([0] + [f.numel_in(i) for i in range(f.n_in())]).tolist()
    given = [
        start + place for i, start in enumerate(starts[:-1]) for place in _row_major(f.size_in(i), f.sparsity_in(i))
    ]
    inputs = _InputValues(reader.numbering, given)
    found = reader.read(f, inputs)  # type: ignore[arg-type]  # numbered when they are read
    targets, first, start = np.full(sum(map(f.numel_out, range(f.n_out()))), -1, dtype=np.int32), 0, 0
    for i in range(f.n_out()):
        places = _row_major(f.size_out(i), f.sparsity_out(i))
        targets[np.array(places, dtype=int) + start] = found[first : first + len(places)]
        first, start = first + len(places), start + f.numel_out(i)
    return targets


class _InputValues:
    """Values of inputs, numbered in the order in which they are read."""

    def __init__(self, numbering: Numbering, places: list[int]) -> None:
        self._numbering, self._places = numbering, places

    def __getitem__(self, k: int) -> int:
        return self._numbering.value(INPUT, self._places[k])


def _share_reciprocals(numbering: Numbering, targets: Ints) -> tuple[Numbering, Ints]:
    """Replace several divisions by one value by a reciprocal and products, and a division by a constant by a product.

    A division costs ten multiplications. An elimination divides a whole row by its pivot, where CasADi writes x * (1/d)
    back as x / d.
    """
    rows = numbering.rows
    divisions = Counter(b for op, _, b, _ in rows if op == DIV)
    if not divisions:
        return numbering, targets
    made = Numbering()
    new: list[int] = []
    for op, a, b, constant in rows:
        if op == CONST:
            new.append(made.constant(constant))
        elif op == INPUT:
            new.append(made.value(op, a))
        elif op == CALL:
            callee, given = numbering.calls[a]
            new.append(made.call(callee, tuple(new[value] for value in given)))
        elif op == RESULT:
            new.append(made.result(new[a], b))
        elif op == DIV and rows[b][0] == CONST and 1e-290 < abs(rows[b][3]) < 1e290:
            new.append(made.value(MUL, new[a], made.constant(1.0 / rows[b][3])))
        elif op == DIV and divisions[b] > 1:
            new.append(made.value(MUL, new[a], made.value(INV, new[b])))
        else:
            new.append(made.value(op, new[a], new[b] if b >= 0 else -1))
    return made, np.array([new[t] if t >= 0 else -1 for t in targets.tolist()], dtype=np.int32)


def _without_dead_code(
    columns: Columns, called: Sequence[tuple[int, tuple[int, ...]]], targets: Ints
) -> tuple[Columns, Ints, list[Call]]:
    """Keep the operations that an output needs, in the same order."""
    op, a, b, constant = columns
    live = np.zeros(len(op) + 1, dtype=bool)
    live[targets] = True  # -1 marks the spare last place
    named, number_b = (op == INPUT) | (op == CALL), op == RESULT  # where `a`, or `b`, is not a value
    for i in range(len(op) - 1, -1, -1):
        if live[i]:
            if op[i] == CALL:
                live[list(called[a[i]][1])] = True
            elif op[i] != INPUT:
                live[a[i]] = True
                live[-1 if number_b[i] else b[i]] = True
    live[-1] = False
    number = np.where(live, np.cumsum(live) - 1, -1).astype(np.int32)
    keep = live[:-1]
    places, calls = a.copy(), list[Call]()
    for i in np.flatnonzero(keep & (op == CALL)).tolist():
        callee, given = called[a[i]]
        places[i] = len(calls)
        calls.append(Call(callee, number[list(given)]))
    first = np.where(named, places, number[np.where(named, -1, a)]).astype(np.int32)
    second = np.where(number_b, b, number[np.where(number_b, -1, b)]).astype(np.int32)
    return (op[keep], first[keep], second[keep], constant[keep]), number[targets], calls


def _with_callees(tape: Tape, callees: list[_Callee]) -> Tape:
    """Add the tapes of called functions, each without the results that the tape does not read."""
    results = np.flatnonzero(tape.op == RESULT)
    owner = np.array([tape.calls[tape.a[c]].callee for c in tape.a[results].tolist()], dtype=int)
    b, made = tape.b.copy(), []
    for k, f in enumerate(callees):
        own = results[owner == k]
        used = np.unique(tape.b[own])
        b[own] = np.searchsorted(used, tape.b[own])
        made.append(f.tape(used))
    return replace(tape, b=b, callees=tuple(made))
