"""Compiled dynamics as CasADi functions. Graphs for IPOPT, acados and do-mpc call the kernels and their derivatives.

A `casadi.Callback` hands buffers to a kernel. First derivatives are those of `forward_dynamics_derivatives`, gradients
those of the vjp kernel, and what second-order solvers ask, changes of a gradient along a direction, the hvp kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.model.model import Model

COMPILED_FUNCTIONS = ("forward_dynamics", "inverse_dynamics")
Evaluate = Callable[[list[Array]], Sequence[Array]]
Derive = Callable[..., "CompiledFunction"]


@dataclass
class Derivations:
    """Derivatives of a function: makers of its Jacobian, of products with directions and with rows, and the pattern of
    each output by each input."""

    jacobian: Derive | None = None
    forward: Derive | None = None
    reverse: Derive | None = None
    pattern: Callable[[int, int], ca.Sparsity] | None = None


@dataclass
class Ports:
    """Names of what goes in and comes out, how many numbers each has, and the patterns of the outputs."""

    in_names: Sequence[str]
    in_shapes: Sequence[tuple[int, int]]
    out_names: Sequence[str]
    out_patterns: Sequence[ca.Sparsity]
    kept: list[CompiledFunction] = field(default_factory=list)


class CompiledFunction(ca.Callback):
    """A function of dense arrays, evaluated by kernels."""

    def __init__(self, name: str, ports: Ports, evaluate: Evaluate, by: Derivations | None = None) -> None:
        super().__init__()
        self.ports, self.evaluate, self.by = ports, evaluate, by or Derivations()
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self.ports.in_shapes)

    def get_n_out(self) -> int:
        return len(self.ports.out_patterns)

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(*self.ports.in_shapes[i])

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return self.ports.out_patterns[i]

    def get_name_in(self, i: int) -> str:
        return self.ports.in_names[i]

    def get_name_out(self, i: int) -> str:
        return self.ports.out_names[i]

    def has_jac_sparsity(self, oind: int, iind: int) -> bool:
        return self.by.pattern is not None

    def get_jac_sparsity(self, oind: int, iind: int, symmetric: bool) -> ca.Sparsity:
        assert self.by.pattern is not None
        return self.by.pattern(oind, iind)

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Sequence[memoryview | None], res: Sequence[memoryview | None]) -> int:
        """Arrays in CasADi's order, column by column, to the kernel and back."""
        given = [
            np.zeros(rows * columns) if buffer is None else np.frombuffer(buffer)
            for buffer, (rows, columns) in zip(arg, self.ports.in_shapes)
        ]
        for buffer, value in zip(res, self.evaluate(given)):
            if buffer is not None:
                np.frombuffer(buffer)[:] = value.ravel()
        return 0

    def has_jacobian(self) -> bool:
        return self.by.jacobian is not None

    def get_jacobian(self, *given: object) -> CompiledFunction:
        return self._kept(self.by.jacobian, *given)

    def has_forward(self, count: int) -> bool:
        return self.by.forward is not None

    def get_forward(self, *given: object) -> CompiledFunction:
        return self._kept(self.by.forward, *given)

    def has_reverse(self, count: int) -> bool:
        return self.by.reverse is not None

    def get_reverse(self, *given: object) -> CompiledFunction:
        return self._kept(self.by.reverse, *given)

    def _kept(self, make: Derive | None, *given: object) -> CompiledFunction:
        """Keep a derivative as long as the function. CasADi holds no reference to its Python side."""
        assert make is not None
        self.ports.kept.append(make(*given))
        return self.ports.kept[-1]


def compiled_function(model: Model, name: str, count: int) -> CompiledFunction:
    """`forward_dynamics` or `inverse_dynamics` of an arm without quaternions at `count` states, with exact first and
    second derivatives."""
    third, rest = ("tau", model.n_joints) if name == "forward_dynamics" else ("qdd", model.n)
    names = ["q", "qd", third, *(["p"] if model.parameters else [])]
    sizes = [model.n, model.n, rest, len(model.parameters)][: len(names)]
    n, m = model.n, len(names)
    out = "qdd" if name == "forward_dynamics" else "force"
    call = {kind: model.kernel(f"{name}{kind}") for kind in ("", "_derivatives", "_vjp", "_hvp")}  # type: ignore[arg-type]
    state = [(size, count) for size in sizes]

    def dense(rows: int, columns: int) -> ca.Sparsity:
        return ca.Sparsity.dense(rows, columns * count)

    def blocks(rows: int, columns: int, number: int = count) -> ca.Sparsity:
        """A block for each state: no state depends on another."""
        return ca.diagcat(*[ca.Sparsity.dense(rows, columns)] * number)

    def states(given: list[Array]) -> list[Array]:
        return [x.reshape(count, size) for x, size in zip(given, sizes)]

    def values(given: list[Array]) -> list[Array]:
        return [call[""](*states(given))]

    def jacobian(title: str, inames: Sequence[str], onames: Sequence[str], _: object) -> CompiledFunction:
        def evaluate(given: list[Array]) -> list[Array]:
            return [np.swapaxes(block, -1, -2) for block in call["_derivatives"](*states(given))[1:]]

        ports = Ports(inames, [*state, (n, count)], onames, [blocks(n, size) for size in sizes])
        return CompiledFunction(title, ports, evaluate)

    def reverse(rows: int, title: str, inames: Sequence[str], onames: Sequence[str], _: object) -> CompiledFunction:
        def evaluate(given: list[Array]) -> Sequence[Array]:
            return call["_vjp"](*states(given), given[-1].reshape(rows, count, n))  # type: ignore[no-any-return]

        def pattern(output: int, given: int) -> ca.Sparsity:
            if given < m:
                return ca.repmat(blocks(sizes[output], sizes[given]), rows, 1)
            if given == m:  # the value of the function, which nothing depends on
                return ca.Sparsity(sizes[output] * count * rows, n * count)
            return blocks(sizes[output], n, count * rows)

        def forward(
            columns: int, title: str, inames: Sequence[str], onames: Sequence[str], _: object
        ) -> CompiledFunction:
            def evaluate(given: list[Array]) -> list[Array]:
                at, w, changes = states(given), given[m + 1].reshape(rows, count, n), given[2 * m + 2 :]
                d = [x.reshape(columns, 1, count, size) for x, size in zip(changes, sizes)]
                second = call["_hvp"](*at, w, *d)
                return [a + b for a, b in zip(second, call["_vjp"](*at, changes[-1].reshape(columns, rows, count, n)))]

            shapes = [*state, (n, count), (n, count * rows), *((size, count * rows) for size in sizes)]
            changes = [(a, b * columns) for a, b in shapes[: m + 2]]
            ports = Ports(inames, [*shapes, *changes], onames, [dense(size, rows * columns) for size in sizes])
            return CompiledFunction(title, ports, evaluate)

        ports = Ports(inames, [*state, (n, count), (n, count * rows)], onames, [dense(size, rows) for size in sizes])
        return CompiledFunction(title, ports, evaluate, Derivations(forward=forward, pattern=pattern))

    ports = Ports(names, state, [out], [dense(n, 1)])
    by = Derivations(jacobian=jacobian, reverse=reverse, pattern=lambda _, given: blocks(n, sizes[given]))
    return CompiledFunction(name, ports, values, by)
