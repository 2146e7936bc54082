"""Tapes as plain data: kept in a file, and run by an interpreter without a compile and without CasADi."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.errors import UnsupportedModel

if TYPE_CHECKING:
    from pliant.compute.tape.tape import Tape
    from pliant.compute.tape.value_numbering import Ints

OF_ONE = (
    *("neg", "exp", "log", "sqrt", "sq", "twice", "sin", "cos", "tan", "asin", "acos", "atan", "not", "fabs", "sign"),
    *("erf", "inv", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1"),
)
"""Operations with one operand, by their names on a tape. `floor` and `ceil` are no instructions of some processors."""
OF_TWO = (
    *("add", "sub", "mul", "div", "pow", "lt", "le", "eq", "ne", "and", "or", "fmod", "copysign", "if_else_zero"),
    *("fmin", "fmax", "atan2", "hypot", "remainder"),
)
"""Operations with two operands."""
NUMBERS = {name: number for number, name in enumerate((*OF_ONE, *OF_TWO))} | {"constpow": len(OF_ONE) + 4}
"""Numbers of the operations in a plain tape."""
_SIZES = struct.Struct("<4q")


@dataclass(frozen=True, eq=False)
class PlainTape:
    """Operations on a list of values: inputs, constants, then the results of the operations, one behind the other.

    Attributes
    ----------
    n_in : int
        Number of inputs.
    constants : (c,) float64
        The first is the zero that outputs without a value have.
    rows : (n, 3) int32
        Number of each operation, and the places of its operands; of one operand, the second place has no meaning.
    outputs : (n_out,) int32
        Places of the outputs.
    """

    n_in: int
    constants: NDArray[np.float64]
    rows: Ints
    outputs: Ints

    @classmethod
    def of(cls, tape: Tape) -> PlainTape:
        """Return the plain data of a tape without calls."""
        from pliant.compute.tape.operations import CONST, INPUT, NAMES

        is_input, is_constant = tape.op == INPUT, tape.op == CONST
        works = ~(is_input | is_constant)
        codes, kinds = np.unique(tape.op[works], return_inverse=True)
        unknown = {NAMES[code] for code in codes.tolist()} - NUMBERS.keys()
        if unknown:
            raise UnsupportedModel(f"operations: got {', '.join(sorted(unknown))}, which the interpreter does not have")
        constants = np.append(0.0, tape.constant[is_constant])
        places = np.zeros(len(tape.op) + 1, dtype=np.int32)  # the last one is that of -1, no value
        places[:-1][is_input] = tape.a[is_input]
        places[:-1][is_constant] = tape.n_in + np.arange(1, len(constants))
        places[:-1][works] = tape.n_in + len(constants) + np.arange(int(works.sum()))
        places[-1] = tape.n_in
        numbers = np.array([NUMBERS[NAMES[code]] for code in codes.tolist()], dtype=np.int32)
        rows = np.column_stack([numbers[kinds.ravel()], places[tape.a[works]], places[tape.b[works]]])
        return cls(tape.n_in, constants, rows, places[tape.outputs])

    def packed(self) -> bytes:
        """Bytes of a file."""
        number, a, b = self.rows.T
        sizes = _SIZES.pack(self.n_in, len(self.constants), len(self.rows), len(self.outputs))
        parts = (self.constants, number.astype(np.uint8), a, b, self.outputs)
        return zlib.compress(sizes + b"".join(part.tobytes() for part in parts), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> PlainTape:
        """Return the tape of these bytes."""
        content = zlib.decompress(data)
        n_in, n_constants, length, n_out = _SIZES.unpack_from(content)
        constants = np.frombuffer(content, np.float64, n_constants, _SIZES.size)
        at = _SIZES.size + constants.nbytes
        number = np.frombuffer(content, np.uint8, length, at)
        places: Ints = np.frombuffer(content, np.int32, 2 * length + n_out, at + length)
        rows = np.column_stack([number.astype(np.int32), *places[: 2 * length].reshape(2, length)])
        return cls(n_in, constants, rows, places[2 * length :])
