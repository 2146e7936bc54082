"""CasADi's own virtual machine behind the interface of a kernel, for functions without a tape that is kept: no compile,
about a tenth of the speed."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.tape.arguments import Shape, Signature


class VirtualMachine:
    """Evaluate a CasADi function state by state."""

    def __init__(self, f: ca.Function, signature: Signature) -> None:
        # CasADi stores columns, we store rows: transpose on the way in and out.
        inputs = [ca.MX.sym(f.name_in(i), f.size2_in(i), f.size1_in(i)) for i in range(f.n_in())]
        results = f.call([x.T for x in inputs])
        self._function = ca.Function(f.name(), inputs, [ca.densify(y).T for y in results])
        self._signature = signature
        self._lock = threading.Lock()

    def __call__(self, arrays: Sequence[Array], leading: Shape) -> list[Array]:
        """Outputs of all states; inputs have to be finite."""
        sizes, out_sizes = self._signature.in_sizes, self._signature.out_sizes
        count = math.prod(leading)
        given = [
            np.broadcast_to(array, leading + shape).reshape(count, size)
            for array, shape, size in zip(arrays, self._signature.in_shapes, sizes)
        ]
        outputs = [np.empty((count, size)) for size in out_sizes]
        with self._lock:
            buffer: Any
            buffer, evaluate = self._function.buffer()
            state, result = [np.empty(size) for size in sizes], [np.empty(size) for size in out_sizes]
            for k, x in enumerate(state):
                buffer.set_arg(k, x.data)
            for k, y in enumerate(result):
                buffer.set_res(k, y.data)
            for i in range(count):
                for x, rows in zip(state, given):
                    x[:] = rows[i]
                evaluate()
                for y, rows in zip(result, outputs):
                    rows[i] = y
        return [output.reshape(leading + shape) for output, shape in zip(outputs, self._signature.out_shapes)]
