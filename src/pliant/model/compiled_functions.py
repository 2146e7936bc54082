"""Compiled dynamics as CasADi functions: IPOPT, acados' and do-mpc's graphs call the kernels, and their derivatives.

A `casadi.Callback` hands buffers to a kernel. First derivatives are those of `forward_dynamics_derivatives`, gradients
those of the vjp kernel, and what second-order solvers ask, changes of a gradient along a direction, the hvp kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.arrays import Array

if TYPE_CHECKING:
    from pliant.model.model import Model

COMPILED_FUNCTIONS = ("forward_dynamics", "inverse_dynamics")
Shapes = Sequence[tuple[int, int]]
Evaluate = Callable[[list[Array]], Sequence[Array]]
Derive = Callable[..., Any]


@dataclass
class Derivations:
    """How a function is differentiated: makers of a Jacobian, of products with directions, of products with rows."""

    jacobian: Derive | None = None
    forward: Derive | None = None
    reverse: Derive | None = None


@dataclass
class Ports:
    """Names and shapes of what goes in and comes out."""

    in_names: Sequence[str]
    in_shapes: Shapes
    out_names: Sequence[str]
    out_shapes: Shapes
    kept: list[Any] = field(default_factory=list)


class CompiledFunction(ca.Callback):
    """A function of dense arrays, evaluated by kernels."""

    def __init__(self, name: str, ports: Ports, evaluate: Evaluate, by: Derivations | None = None) -> None:
        super().__init__()
        self.ports, self.evaluate, self.by = ports, evaluate, by or Derivations()
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self.ports.in_shapes)

    def get_n_out(self) -> int:
        return len(self.ports.out_shapes)

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(*self.ports.in_shapes[i])

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(*self.ports.out_shapes[i])

    def get_name_in(self, i: int) -> str:
        return self.ports.in_names[i]

    def get_name_out(self, i: int) -> str:
        return self.ports.out_names[i]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Sequence[Any], res: Sequence[Any]) -> int:
        """Arrays in CasADi's order, column by column, to the kernel and back."""
        given = []
        for buffer, (rows, columns) in zip(arg, self.ports.in_shapes):
            flat = np.zeros(rows * columns) if buffer is None else np.frombuffer(buffer)
            given.append(flat if columns == 1 else flat.reshape(columns, rows))
        for buffer, value in zip(res, self.evaluate(given)):
            if buffer is not None:
                np.frombuffer(buffer)[:] = value.ravel()
        return 0

    def has_jacobian(self) -> bool:
        return self.by.jacobian is not None

    def get_jacobian(self, *given: Any) -> Any:
        return self._kept(self.by.jacobian, *given)

    def has_forward(self, count: int) -> bool:
        return self.by.forward is not None

    def get_forward(self, *given: Any) -> Any:
        return self._kept(self.by.forward, *given)

    def has_reverse(self, count: int) -> bool:
        return self.by.reverse is not None

    def get_reverse(self, *given: Any) -> Any:
        return self._kept(self.by.reverse, *given)

    def _kept(self, make: Derive | None, *given: Any) -> Any:
        """A derivative lives as long as the function: CasADi holds no reference to its Python side."""
        assert make is not None
        self.ports.kept.append(make(*given))
        return self.ports.kept[-1]


def compiled_function(model: Model, name: str) -> CompiledFunction:
    """`forward_dynamics` or `inverse_dynamics` of an arm without quaternions, with exact first and second
    derivatives."""
    third, rest = ("tau", model.n_joints) if name == "forward_dynamics" else ("qdd", model.n)
    names = ["q", "qd", third, *(["p"] if model.parameters else [])]
    sizes = [model.n, model.n, rest, len(model.parameters)][: len(names)]
    n, count = model.n, len(names)
    out = "qdd" if name == "forward_dynamics" else "force"
    kernels = {kind: model.kernel(f"{name}{kind}") for kind in ("", "_derivatives", "_vjp", "_hvp")}  # type: ignore[arg-type]
    state = [(size, 1) for size in sizes]

    def jacobian(title: str, inames: Any, onames: Any, _: Any) -> CompiledFunction:
        def evaluate(given: list[Array]) -> list[Array]:
            return [block.T for block in kernels["_derivatives"](*given[:count])[1:]]

        return CompiledFunction(title, Ports(inames, [*state, (n, 1)], onames, [(n, s) for s in sizes]), evaluate)

    def reverse(rows: int, title: str, inames: Any, onames: Any, _: Any) -> CompiledFunction:
        def evaluate(given: list[Array]) -> list[Array]:
            return [np.asarray(x) for x in kernels["_vjp"](*given[:count], given[-1].reshape(rows, n))]

        def forward(columns: int, title: str, inames: Any, onames: Any, _: Any) -> CompiledFunction:
            shapes = [*state, (n, 1), (n, rows), *((s, rows) for s in sizes)]
            changes = [(s, columns) for s in sizes] + [(n, columns), (n, rows * columns)]

            def evaluate(given: list[Array]) -> list[Array]:
                at, w = given[:count], given[count + 1].reshape(1, rows, n)
                behind = given[2 * count + 2 :]
                d = [x.reshape(columns, 1, size) for x, size in zip(behind, sizes)]
                dw = behind[-1].reshape(columns, rows, n)
                second = kernels["_hvp"](*at, w, *d)
                return [a + b for a, b in zip(second, kernels["_vjp"](*at, dw))]

            ports = Ports(inames, [*shapes, *changes], onames, [(s, rows * columns) for s in sizes])
            return CompiledFunction(title, ports, evaluate)

        ports = Ports(inames, [*state, (n, 1), (n, rows)], onames, [(s, rows) for s in sizes])
        return CompiledFunction(title, ports, evaluate, Derivations(forward=forward))

    ports = Ports(names, state, [out], [(n, 1)])
    return CompiledFunction(
        name, ports, lambda given: [kernels[""](*given)], Derivations(jacobian=jacobian, reverse=reverse)
    )
