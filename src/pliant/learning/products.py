"""A function of a model with the products of its derivatives, for libraries that differentiate by their own rules.

For y = f(x), x and y each one or several arrays, five functions are closed under differentiation and transposition up
to second order; `pliant.jax` and `pliant.torch` need nothing else:

    value(x)         y
    jvp(x, u)        the change of y along u
    vjp(x, w)        the gradient of w . y
    second(x, u, v)  the change of jvp(x, u) along v, symmetric in u and v
    hvp(x, w, u)     the change of vjp(x, w) along u, that is the second derivative of w . y times u

Where an arm has quaternions, f is computed from normalized ones: f(q / |q|). Its gradient by the four numbers of a
quaternion is then tangent to the unit sphere, the shortest of those that give the same change of y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias, TypeVar, cast

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.base.derived import SYMBOLS
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.arguments import Shape, Signature
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.energies import energies
from pliant.mechanics.links.frames import frame_pose
from pliant.mechanics.links.kinematics import tip_pose
from pliant.model.model import Model
from pliant.options import FunctionName

T = TypeVar("T")
AnyArray: TypeAlias = Any
"""An array of NumPy, CuPy, JAX or PyTorch."""
ArrayFunction: TypeAlias = Callable[..., AnyArray]
ProductName = Literal["value", "jvp", "vjp", "second", "hvp"]

#: Groups of arrays that each product takes behind x: directions of x (u), weights of y (w).
OPERANDS: dict[str, str] = {"value": "", "jvp": "u", "vjp": "w", "second": "uu", "hvp": "wu"}
#: Shape of the results of each product: that of y (w) or of x (u).
GIVES: dict[str, str] = {"value": "w", "jvp": "w", "vjp": "u", "second": "w", "hvp": "u"}

#: The change of a product with its groups of operands: the product that gives it, and the groups that this one takes;
#: "d" stands for the change of the group. Third derivatives are None.
CHANGES: dict[str, list[tuple[str, str] | None]] = {
    "value": [("jvp", "0d")],
    "jvp": [("second", "01d"), ("jvp", "0d")],
    "vjp": [("hvp", "01d"), ("vjp", "0d")],
    "second": [None, ("second", "0d2"), ("second", "01d")],
    "hvp": [None, ("hvp", "0d2"), ("hvp", "01d")],
}
#: The transposes of a product with its groups of operands, in the same form; "c" stands for the cotangent.
TRANSPOSES: dict[str, list[tuple[str, str] | None]] = {
    "value": [None],
    "jvp": [None, ("vjp", "0c")],
    "vjp": [None, ("jvp", "0c")],
    "second": [None, ("hvp", "0c2"), ("hvp", "0c1")],
    "hvp": [None, ("second", "02c"), ("hvp", "01c")],
}
#: Gradients by a group of operands: transposes, and by x itself the transpose of the change along x.
GRADIENTS: dict[str, list[tuple[str, str] | None]] = {
    **TRANSPOSES,
    "value": [("vjp", "0c")],
    "jvp": [("hvp", "0c1"), ("vjp", "0c")],
    "vjp": [("hvp", "01c"), ("jvp", "0c")],
}


class DerivativeProducts:
    """A function and the products of its derivatives, each compiled on first use.

    Parameters
    ----------
    kernel : Kernel
        The function itself.
    made : mapping of str to function, optional
        Functions that return kernels of products, which then need not be derived from `kernel`.
    """

    def __init__(self, kernel: Kernel, made: Mapping[str, Callable[[], Kernel]] | None = None) -> None:
        self._made: dict[str, Callable[[], Kernel]] = {"value": lambda: kernel, **(made or {})}
        self._kernels: dict[str, Kernel] = {}
        self.signature: Signature = kernel.signature
        self._function = kernel.function

    def __repr__(self) -> str:
        return f"DerivativeProducts({self.signature.name})"

    @property
    def inputs(self) -> tuple[Shape, ...]:
        """Shapes of x."""
        return self.signature.in_shapes

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of y."""
        return self.signature.out_shapes

    def operands(self, product: str) -> tuple[Shape, ...]:
        """Shapes of all operands of a product."""
        groups = {"u": self.inputs, "w": self.outputs}
        return self.inputs + tuple(shape for group in OPERANDS[product] for shape in groups[group])

    def results(self, product: str) -> tuple[Shape, ...]:
        """Shapes of the results of a product."""
        return self.inputs if GIVES[product] == "u" else self.outputs

    def groups(self, product: str, operands: Sequence[T]) -> list[list[T]]:
        """Operands of a product by groups: x, then each group behind it."""
        sizes = [len(self.inputs)] + [len(self.inputs if g == "u" else self.outputs) for g in OPERANDS[product]]
        ends = [0, *accumulate(sizes)]
        return [list(operands[start:end]) for start, end in pairwise(ends)]

    def completed(self, arrays: Sequence[AnyArray], p: AnyArray | None, nominal: AnyArray) -> tuple[AnyArray, ...]:
        """Complete the arrays of one value: parameters that are left out, or None, are nominal."""
        names, given = self.signature.in_names, tuple(arrays)
        if given and given[-1] is None:
            given = given[:-1]
        if names[-1] == "p" and len(given) == len(names) - 1:
            given = (*given, nominal if p is None else p)
        if len(given) != len(names):
            raise ModelError(
                f"{self.signature.name}: got {len(given)} arrays, expected {len(names)}: {', '.join(names)}"
            )
        return given

    def change(self, product: str, group: int) -> tuple[str, str]:
        """Product that is the change of this one along a group of operands ("d"), and the groups that it takes."""
        return self._rule(CHANGES[product][group])

    def gradient(self, product: str, group: int) -> tuple[str, str]:
        """Product that is the gradient, by a group of operands, of the results of this one weighted by "c"."""
        return self._rule(GRADIENTS[product][group])

    def _rule(self, rule: tuple[str, str] | None) -> tuple[str, str]:
        if rule is None:
            raise UnsupportedModel(
                f"{self.signature.name}: third derivatives were asked for; pliant has first and second ones"
            )
        return rule

    def kernel(self, product: str) -> Kernel:
        """Compiled function of a product."""
        found = self._kernels.get(product)
        if found is None:
            with SYMBOLS:
                make = self._made.get(product, lambda: self._derived(product))
                found = self._kernels.setdefault(product, make())
        return found

    def on_device(self, product: str, arrays: Sequence[AnyArray]) -> list[AnyArray]:
        """Compute a product of CuPy arrays on their device."""
        return self.kernel(product).on_device(arrays)

    def __call__(self, product: str, *arrays: AnyArray) -> tuple[AnyArray, ...]:
        """Compute a product of NumPy arrays; the result is always a tuple."""
        kernel = self.kernel(product)
        alone = all(x.ndim == len(shape) for x, shape in zip(arrays, kernel.signature.in_shapes))
        result = kernel.fast(*arrays) if alone else None
        if result is None:
            result = kernel(*arrays)
        return result if isinstance(result, tuple) else (result,)

    @cached_property
    def _symbols(self) -> tuple[list[SX], SX, SX]:
        """Symbols of x, all of them as one column, and y as one column."""
        f = self._function
        x = [ca.SX.sym(f.name_in(k), *f.size_in(k)) for k in range(f.n_in())]
        return x, ca.veccat(*x), ca.veccat(*[ca.densify(y) for y in f.call(x)])

    def _derived(self, product: str) -> Kernel:
        f = self._function
        x, X, Y = self._symbols
        if product == "second" and "jvp" in self._made:
            return self._along(self._made["jvp"]().function, len(x))
        u = [ca.SX.sym(f"u_{k}", *f.size_in(k)) for k in range(f.n_in())]
        v = [ca.SX.sym(f"v_{k}", *f.size_in(k)) for k in range(f.n_in())]
        w = [ca.SX.sym(f"w_{k}", *f.size_out(k)) for k in range(f.n_out())]
        if product in ("jvp", "second"):
            given, out = u, ca.jtimes(Y, X, ca.veccat(*u))
        else:
            given, out = w, ca.jtimes(Y, X, ca.veccat(*w), True)
        if product == "second":
            given, out = u + v, ca.jtimes(out, X, ca.veccat(*v))
        elif product == "hvp":
            given, out = w + u, ca.jtimes(out, X, ca.veccat(*u))
        sizes = [f.size_in(k) if GIVES[product] == "u" else f.size_out(k) for k in range(len(self.results(product)))]
        return self._compiled(product, x + given, _pieces(out, sizes))

    def _along(self, jvp: ca.Function, n: int) -> Kernel:
        """Change of a function of (x, u) along a change of x alone."""
        given = [ca.SX.sym(f"g_{k}", *jvp.size_in(k)) for k in range(jvp.n_in())]
        v = [ca.SX.sym(f"v_{k}", *jvp.size_in(k)) for k in range(n)]
        out = ca.jtimes(ca.veccat(*jvp.call(given)), ca.veccat(*given[:n]), ca.veccat(*v))
        return self._compiled("second", given + v, _pieces(out, [jvp.size_out(k) for k in range(jvp.n_out())]))

    def _compiled(self, product: str, given: Sequence[SX], outputs: Sequence[SX]) -> Kernel:
        title = f"{self.signature.name}_{product}"
        dense = ca.cse([ca.densify(y) for y in outputs])
        function = ca.Function(title, list(given), dense)
        return Kernel(function, in_shapes=self.operands(product), out_shapes=self.results(product))


def _pieces(column: SX, sizes: Sequence[tuple[int, int]]) -> list[SX]:
    """Cut a column into matrices."""
    found, place = [], 0
    for rows, columns in sizes:
        found.append(ca.reshape(column[place : place + rows * columns], rows, columns))
        place += rows * columns
    return found


def products(model: Model, name: str) -> DerivativeProducts:
    """Products of a function of a model: "forward_dynamics", "inverse_dynamics", "energy", "tip_pose", "pose FRAME",
    "rates" of the coordinates, or "normalized" coordinates."""
    implicit = model.layout.plain and name in ("forward_dynamics", "inverse_dynamics")
    make: Callable[[Model, str], DerivativeProducts] = _dynamics if implicit else _made
    return model.derived("products", (name,), lambda: make(model, name))


def _made(model: Model, name: str) -> DerivativeProducts:
    sizes = {"q": model.n_q, "qd": model.n, "qdd": model.n, "tau": model.n_joints}
    kind, _, frame = name.partition(" ")
    x = [ca.SX.sym(key, sizes[key]) for key in _INPUTS[kind]]
    y = ca.cse([ca.densify(_EXPRESSIONS[kind](model, frame, *x))])
    labels, title = list(_INPUTS[kind]), "".join(c if c.isalnum() else "_" for c in name)
    if model.parameters and kind not in ("rates", "normalized"):
        x, labels = [*x, model.parameter_symbols], [*labels, "p"]
    function = ca.Function(title, x, y, labels, ["y"])
    if not model.layout.plain:
        function = ca.Function(title, x, function.call([_normalized(model, x[0]), *x[1:]]), labels, ["y"])
    return DerivativeProducts(Kernel(function))


def _dynamics(model: Model, name: str) -> DerivativeProducts:
    """Products by the implicit formula, in a fifth fewer operations. It serves arms without quaternions: with these its
    derivatives are along the speeds, and second derivatives along speeds do not commute."""
    made = {key: partial(model.kernel, cast(FunctionName, f"{name}_{key}")) for key in ("jvp", "vjp", "hvp")}
    return DerivativeProducts(model.kernel(cast(FunctionName, name)), made)


def _normalized(model: Model, q: SX) -> SX:
    """Coordinates with normalized quaternions."""
    unit = ca.SX(q)
    for place in model.layout.quaternions:
        unit[place : place + 4] = q[place : place + 4] / ca.norm_2(q[place : place + 4])
    return unit


_INPUTS: dict[str, tuple[str, ...]] = {
    "forward_dynamics": ("q", "qd", "tau"), "inverse_dynamics": ("q", "qd", "qdd"), "energy": ("q", "qd"),
    "tip_pose": ("q",), "pose": ("q",), "rates": ("q", "qd"), "normalized": ("q",),
}  # fmt: skip
_EXPRESSIONS: dict[str, Callable[..., SX]] = {
    "forward_dynamics": lambda model, _, q, qd, tau: model.equations.forward_dynamics(q, qd, tau),
    "inverse_dynamics": lambda model, _, q, qd, qdd: model.equations.tree_forces(q, qd, qdd),
    "energy": lambda model, _, q, qd: energies(model.chain, q, qd),
    "tip_pose": lambda model, _, q: tip_pose(model.chain, q),
    "pose": lambda model, frame, q: frame_pose(model.chain, q, frame),
    "rates": lambda model, _, q, qd: model.chain.rates(q, qd),
    "normalized": lambda model, _, q: q,
}


def require_steps(model: Model) -> None:
    """Refuse arms whose loops would have to be closed after a step."""
    if model.constraints:
        model.layout.require_open("a step as a function (pliant.Stepper takes steps of it)")


def rk4_step(
    accelerations: ArrayFunction, rates: ArrayFunction, unit: ArrayFunction, h: float
) -> Callable[..., tuple[AnyArray, AnyArray]]:
    """Function from (q, qd, tau, p) to (q, qd) a step later by the classical Runge-Kutta method, for any library."""

    def step(q: AnyArray, qd: AnyArray, tau: AnyArray, p: AnyArray | None = None) -> tuple[AnyArray, AnyArray]:
        def slopes(q: AnyArray, qd: AnyArray) -> tuple[AnyArray, AnyArray]:
            return rates(q, qd), accelerations(q, qd, tau, p)

        a, b = slopes(q, qd)
        c, d = slopes(q + h / 2 * a, qd + h / 2 * b)
        e, f = slopes(q + h / 2 * c, qd + h / 2 * d)
        g, k = slopes(q + h * e, qd + h * f)
        return unit(q + h / 6 * (a + 2 * (c + e) + g)), qd + h / 6 * (b + 2 * (d + f) + k)

    return step
