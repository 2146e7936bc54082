"""A problem to integrate: the equations as addresses of compiled functions, inputs, jumps and events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pliant.arrays import Array, Expression
from pliant.compute.compiled_loops.primitives import FLAT
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import ModelError

if TYPE_CHECKING:
    import casadi as ca

StageCallback = Callable[[float, Array, Array], None]


@dataclass(frozen=True)
class Problem:
    """The ordinary differential equation dx/dt = f(t, x, p).

    Parameters
    ----------
    rhs : int
        Address of ``void f(const double *in, double *out)`` with in = [t, x (n), p (n_parameters)], out = [dx/dt (n)].
    n, n_parameters : int
        Sizes of x and p.
    jacobian : int or function without arguments that returns one, optional
        Address with the same input and out = [df/dx (n x n, row by row), df/dt (n)]. A function is called only when an
        implicit method runs. Without `jacobian` implicit methods use differences of `rhs`.
    n_positions : int
        The first `n_positions` derivatives are exactly the next `n_positions` states (q' = v), which halves the linear
        systems of implicit methods. By `rodas5p` the tolerance is then applied to everything but those rates.
    expression : casadi.Function or function without arguments that returns one, optional
        f(t, x, p) -> dx/dt, needed by the SUNDIALS methods alone.
    owner : object
        Kept alive as long as the problem, e.g. the kernels whose addresses these are.
    quaternions : tuple of int
        Where quaternions begin in x. Their length is made one after every step; f must not depend on it, except for
        their own rates, which are proportional to it.
    closing : int
        Address with the same input and out = [x (n), moved, least]: a state nearer to closed loops, the distance that
        it was moved, and the least part of a constraint's row that the others leave. It is called after every step; 0
        means that there are no loops.
    approach : int
        Address with the same input and out = [gaps, speeds], each (meets): gaps between bodies that act on one another
        on the far side of the gap alone, in widths that a step may pass unseen, and the speeds at which they move past
        one another, which bound the rates of the gaps. Steps end where a gap opens or closes. 0 means that there are
        none.
    meets : int
        Number of gaps.
    ceiling : float
        A run whose last state exceeds it ends there, as one that ran away.
    """

    rhs: int
    n: int
    n_parameters: int = 0
    jacobian: int | Callable[[], int] | None = None
    n_positions: int = 0
    expression: ca.Function | Callable[[], ca.Function] | None = None
    owner: object = field(default=None, repr=False)
    quaternions: tuple[int, ...] = ()
    ceiling: float = np.inf
    closing: int = 0
    approach: int = 0
    meets: int = 0

    def __post_init__(self) -> None:
        if self.n < 1 or self.n_parameters < 0 or not 0 <= 2 * self.n_positions <= self.n:
            raise ModelError(
                f"Problem: n = {self.n}, n_parameters = {self.n_parameters}, n_positions = {self.n_positions}; "
                "expected n >= 1, n_parameters >= 0 and 0 <= 2 n_positions <= n"
            )

    @classmethod
    def traced(
        cls, name: str, t: Expression, x: Expression, p: Expression, xdot: Expression, largest: float = np.inf,
        closing: Expression | None = None, approach: Expression | None = None,
    ) -> Problem:  # fmt: skip
        """Make a problem from expressions. The exact Jacobian, if it is not too large, is compiled when a method asks
        for it. `closing` and `approach` are the expressions behind the addresses of these names."""
        import casadi as ca

        xdot = ca.densify(xdot)
        function = ca.Function(name, [t, x, p], ca.cse([xdot]), ["t", "x", "p"], ["xdot"])
        kept = [Kernel(function)]

        def jacobian() -> int:
            slopes = [ca.densify(ca.jacobian(xdot, x)), ca.densify(ca.jacobian(xdot, t))]
            kept.append(Kernel(ca.Function(f"{name}_slopes", [t, x, p], ca.cse(slopes))))
            return kept[-1].address

        def address(what: str, expression: Expression | None) -> int:
            if expression is None:
                return 0
            kept.append(Kernel(ca.Function(f"{name}_{what}", [t, x, p], ca.cse([ca.densify(expression)]))))
            return kept[-1].address

        n, exact = x.shape[0], function.n_instructions() * x.shape[0] < largest
        return cls(
            rhs=kept[0].address, n=n, n_parameters=p.shape[0], jacobian=jacobian if exact else None, n_positions=0,
            expression=lambda: function, owner=kept, closing=address("closing", closing),
            approach=address("approach", approach), meets=0 if approach is None else approach.shape[0] // 2,
        )  # fmt: skip

    def jacobian_address(self) -> int:
        """Address of the Jacobian, 0 if there is none."""
        if self.jacobian is None:
            return 0
        return int(self.jacobian() if callable(self.jacobian) else self.jacobian)


@dataclass(frozen=True)
class SampledInput:
    """Piecewise constant input: p[first : first + m] = values[k] from times[k] until times[k + 1].

    Before times[0] the first row holds, after the last time the last one. Steps end exactly on the times.
    """

    times: Array
    values: Array
    first: int = 0

    def __post_init__(self) -> None:
        times = np.ascontiguousarray(self.times, dtype=float)
        values = np.ascontiguousarray(self.values, dtype=float)
        if times.ndim != 1 or values.ndim != 2 or len(times) != len(values) or len(times) == 0:
            raise ModelError(
                f"SampledInput: times {times.shape}, values {values.shape}; expected (K,) and (K, m) with K >= 1"
            )
        if not (np.diff(times) > 0).all() or not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise ModelError("SampledInput: times must rise strictly, and times and values be finite")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)


class CompiledTicks:
    """A compiled function called at the times of a `Hold`.

    At the k-th time it gets [t, x, p, noise[k], memory] and gives the first entries of p from there on, which are kept
    in `log`, and its new memory.

    Parameters
    ----------
    address : int
        ``void f(const double *in, double *out)``.
    sizes : (n, n_parameters)
        Lengths of x and p.
    memory : (M,)
        Memory at the start.
    noise : (K, k)
        Further inputs, a row for each time.
    held : int
        Number of entries of p that it sets.
    owner : object
        Kept alive as long as this object.
    """

    def __init__(
        self, address: int, sizes: tuple[int, int], memory: Array, noise: Array, held: int, owner: object = None
    ) -> None:
        self.address, self.owner, self.held, self.noise = address, owner, held, np.ascontiguousarray(noise)
        self.n, self.inputs = sizes
        self.given = np.concatenate([np.zeros(1 + sum(sizes) + noise.shape[1]), memory])
        self.found = np.zeros(held + len(memory))
        self.log = np.zeros((len(noise), held))
        self.count = np.zeros(1, np.int64)

    def __call__(self, t: float, x: Array, p: Array) -> None:
        """Call the function once, from Python."""
        at, first = int(self.count[0]), 1 + self.n + self.inputs
        own = first + self.noise.shape[1]
        self.given[:own] = np.concatenate([[t], x, p, self.noise[at]])
        FLAT(self.address)(self.given.ctypes.data, self.found.ctypes.data)
        p[: self.held] = self.log[at] = self.found[: self.held]
        self.given[own:] = self.found[self.held :]
        self.count[0] = at + 1


@dataclass(frozen=True)
class Hold:
    """A Python function called at `times` only, its effect on p held in between.

    `function(t, x, p)` gets views of the state and of all of p, and changes p in place. With `ticks` the compiled loops
    call them at the times; `function`, which then calls the same code, serves the start and jumps of the state.
    """

    function: StageCallback
    times: Array
    ticks: CompiledTicks | None = None

    def __post_init__(self) -> None:
        times = np.ascontiguousarray(self.times, dtype=float)
        if times.ndim != 1 or not (np.diff(times) > 0).all() or not np.isfinite(times).all():
            raise ModelError(f"Hold: times of shape {times.shape}; expected finite, strictly rising times")
        object.__setattr__(self, "times", times)


@dataclass(frozen=True)
class Jumps:
    """Times at which the state itself jumps: `function(k, x, p)` gives the state behind the k-th of them."""

    function: Callable[[int, Array, Array], Array]
    times: Array


@dataclass(frozen=True)
class Events:
    """Functions g(t, x, p) whose sign changes are found on the dense output.

    Parameters
    ----------
    address : int
        ``void g(const double *in, double *out)``, in = [t, x, p], out = [g (count)].
    count : int
    direction : sequence of int
        +1 rising, -1 falling, 0 both, for each function (one number serves all).
    terminal : sequence of int
        1 where the run stops there; 2 where a step of an adaptive method ends and the run goes on, which is not logged.
    """

    address: int
    count: int
    direction: npt.ArrayLike = 0
    terminal: npt.ArrayLike = True
    owner: object = field(default=None, repr=False)

    def each(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Repeat `direction` or `terminal` for every event."""
        return np.array(np.broadcast_to(values, (self.count,)), dtype=np.int64)
