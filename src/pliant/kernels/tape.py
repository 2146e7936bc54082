"""The instruction tape of a CasADi function: one directed acyclic graph of scalar operations, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.errors import UnsupportedModel
from pliant.kernels.numbering import Columns, Ints, Numbering
from pliant.kernels.operations import ALIAS, BINARY, CODES, CONST, COUNTED_AS, FREE, INPUT, KINDS, NAMES, OUTPUT

DIV, INV, MUL = CODES["div"], CODES["inv"], CODES["mul"]


@dataclass(frozen=True, eq=False)
class Tape:
    """Scalar operations in an order in which they can be evaluated; value `i` is the result of operation `i`.

    Attributes
    ----------
    op : (n,) int32
        CasADi's op codes; see `pliant.kernels.operations` for names.
    a, b : (n,) int32
        The values an operation works on, -1 where there is none. For an input, `a` is its place among all inputs'
        elements, each input dense and row-major, one after the other.
    constant : (n,) float64
        The number of a constant, 0 elsewhere.
    outputs : (n_out,) int32
        The value of each output element, in the same layout; -1 is a structural zero.
    in_shapes, out_shapes : tuple of (rows, columns)
    in_names, out_names : tuple of str
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

    @classmethod
    def from_function(cls, f: ca.Function, outputs: Sequence[int] | None = None) -> Tape:
        """Read the tape of `f`, without dead code and without an operation done twice.

        Parameters
        ----------
        f : casadi.Function
            An `SX` function, or one that can be expanded to it.
        outputs : sequence of int, optional
            The outputs to keep; all of them by default.
        """
        f = _expanded(f)
        keep = tuple(range(f.n_out())) if outputs is None else tuple(outputs)
        columns, targets = _share_reciprocals(*_number_values(f, keep))
        inputs = range(f.n_in())
        shapes = tuple(map(f.size_in, inputs)), tuple(map(f.size_out, keep))
        names = tuple(map(f.name_in, inputs)), tuple(map(f.name_out, keep))
        return cls(*_without_dead_code(*columns, targets), *shapes, *names)

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
        return len(self.op)

    def count(self) -> dict[str, int]:
        """Number of operations by kind: mul (sq too), add (sub and twice too), div, sqrt, trig (sin, cos), other."""
        counts = dict.fromkeys(KINDS, 0)
        codes, numbers = np.unique(self.op, return_counts=True)
        for code, number in zip(codes.tolist(), numbers.tolist()):
            if NAMES[code] not in FREE:
                counts[COUNTED_AS[NAMES[code]]] += number
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


def _number_values(f: ca.Function, keep: tuple[int, ...]) -> tuple[Columns, Ints]:
    """Turn CasADi's reused work slots into single assignments."""
    in_places = [_row_major(f.size_in(i), f.sparsity_in(i)) for i in range(f.n_in())]
    in_starts = np.cumsum([0] + [f.numel_in(i) for i in range(f.n_in())]).tolist()
    out_places = {i: _row_major(f.size_out(i), f.sparsity_out(i)) for i in keep}
    out_starts = dict(zip(keep, np.cumsum([0] + [f.numel_out(i) for i in keep]).tolist()))
    targets = np.full(sum(f.numel_out(i) for i in keep), -1, dtype=np.int32)
    numbering = Numbering()
    slots = [-1] * f.sz_w()
    for k in range(f.n_instructions()):
        op, source, target = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if op == OUTPUT:
            if target[0] in out_places:
                targets[out_starts[target[0]] + out_places[target[0]][target[1]]] = slots[source[0]]
            continue
        if op == INPUT:
            value = numbering.value(op, in_starts[source[0]] + in_places[source[0]][source[1]])
        elif op == CONST:
            value = numbering.constant(f.instruction_constant(k))
        elif op in ALIAS:
            value = slots[source[0]]
        elif op in NAMES:
            value = numbering.value(op, slots[source[0]], slots[source[1]] if op in BINARY else -1)
        else:
            raise UnsupportedModel(
                f"Operation {op} in the function {f.name()!r} is not a scalar operation that pliant can compile. "
                "Build the function from SX expressions without calls, or evaluate it with backend='vm'."
            )
        slots[target[0]] = value
    return numbering.columns(), targets


def _share_reciprocals(columns: Columns, targets: Ints) -> tuple[Columns, Ints]:
    """Divisions by one value, where there are several, become one reciprocal and products; by a constant, a product.

    A division costs ten multiplications, and an elimination divides a whole row by its pivot: CasADi writes x * (1/d)
    back as x / d.
    """
    op, a, b, constant = (column.tolist() for column in columns)
    divisions = Counter(b[i] for i in range(len(op)) if op[i] == DIV)
    numbering = Numbering()
    new: list[int] = []
    for i in range(len(op)):
        left, right = (new[a[i]] if a[i] >= 0 and op[i] != INPUT else a[i]), (new[b[i]] if b[i] >= 0 else -1)
        if op[i] == DIV and op[b[i]] == CONST and _has_reciprocal(constant[b[i]]):
            new.append(numbering.value(MUL, left, numbering.constant(1.0 / constant[b[i]])))
        elif op[i] == DIV and divisions[b[i]] > 1:
            new.append(numbering.value(MUL, left, numbering.value(INV, right)))
        elif op[i] == CONST:
            new.append(numbering.constant(constant[i]))
        else:
            new.append(numbering.value(op[i], left, right))
    return numbering.columns(), np.array([new[t] if t >= 0 else -1 for t in targets.tolist()], dtype=np.int32)


def _has_reciprocal(number: float) -> bool:
    return 1e-290 < abs(number) < 1e290


def _without_dead_code(
    op: Ints, a: Ints, b: Ints, constant: NDArray[np.float64], targets: Ints
) -> tuple[Ints, Ints, Ints, NDArray[np.float64], Ints]:
    """Keep what an output needs, in the same order."""
    live = np.zeros(len(op) + 1, dtype=bool)
    live[targets] = True  # -1 marks the spare last place
    is_input = op == CODES["input"]
    for i in range(len(op) - 1, -1, -1):
        if live[i] and not is_input[i]:
            live[a[i]] = True
            live[b[i]] = True
    live[-1] = False
    number = np.where(live, np.cumsum(live) - 1, -1).astype(np.int32)
    keep = live[:-1]
    operands = np.where(is_input, a, number[np.where(is_input, -1, a)])
    return op[keep], operands[keep].astype(np.int32), number[b][keep], constant[keep], number[targets]
