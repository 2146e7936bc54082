"""Dynamics inside JAX (extra `[jax]`): functions of a model under `jit`, `vmap`, `grad`, `jacfwd`, `jacrev`, `hessian`.

    import jax, pliant.jax
    jax.config.update("jax_enable_x64", True)
    qdd = pliant.jax.forward_dynamics(model)
    gradient = jax.jit(jax.grad(lambda tau: (qdd(q, qd, tau) ** 2).sum()))

Every call is one compiled kernel: JAX's compiler calls it through XLA's foreign function interface, with batches in
SIMD packs on XLA's threads. Derivatives are kernels as well (`pliant.learning.products`), up to second order.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.base.signatures import checked
from pliant.compute.cuda.device import cupy
from pliant.compute.llvm.xla import api_version, compile_handler
from pliant.compute.tape.arguments import Shape, describe
from pliant.errors import ModelError, PliantError, UnsupportedModel, install, warn_user
from pliant.learning.products import GIVES, OPERANDS, TRANSPOSES, DerivativeProducts, products, require_steps, rk4_step
from pliant.model.model import Model

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    raise UnsupportedModel(f"pliant.jax needs jax ({error}); {install('jax')}") from None

__all__ = ["energy", "forward_dynamics", "interface", "inverse_dynamics", "pose", "step", "tip_pose"]

Function = Callable[..., Any]

HEADER = "xla/ffi/api/c_api.h"


# ------------------------------------------------------------------------------------------ for users


@checked
def forward_dynamics(model: Model) -> Function:
    """Accelerations as a function of JAX arrays.

    Parameters
    ----------
    model : Model
        With `parameters`, the function takes them as its last argument.

    Returns
    -------
    callable
        `(q, qd, tau)` or `(q, qd, tau, p)` to qdd, arrays `(..., n)`. Leading axes are broadcast; `p` is nominal if
        left out.

    Examples
    --------
    >>> qdd = pliant.jax.forward_dynamics(pliant.load("two-link").model())  # doctest: +SKIP
    >>> jax.jacfwd(qdd)(q, qd, tau).shape  # doctest: +SKIP
    (4, 4)
    """
    return _function(model, "forward_dynamics")


@checked
def inverse_dynamics(model: Model) -> Function:
    """Generalized forces as a function of JAX arrays.

    Parameters
    ----------
    model : Model
        As in `forward_dynamics`.

    Returns
    -------
    callable
        `(q, qd, qdd)` or `(q, qd, qdd, p)` to forces `(..., n)`.

    Examples
    --------
    >>> force = pliant.jax.inverse_dynamics(pliant.load("two-link").model())  # doctest: +SKIP
    >>> force(q, qd, qdd).shape  # doctest: +SKIP
    (4,)
    """
    return _function(model, "inverse_dynamics")


@checked
def energy(model: Model) -> Function:
    """Energies as a function of JAX arrays.

    Parameters
    ----------
    model : Model
        As in `forward_dynamics`.

    Returns
    -------
    callable
        `(q, qd)` or `(q, qd, p)` to `(..., 3)`: kinetic, gravity and strain energy, J.

    Examples
    --------
    >>> energy = pliant.jax.energy(pliant.load("two-link").model())  # doctest: +SKIP
    >>> jax.hessian(lambda qd: energy(q, qd)[0])(qd)  # the mass matrix  # doctest: +SKIP
    """
    return _function(model, "energy")


@checked
def tip_pose(model: Model) -> Function:
    """Pose of the distal frame of the last link as a function of JAX arrays.

    Parameters
    ----------
    model : Model
        As in `forward_dynamics`.

    Returns
    -------
    callable
        `q` or `(q, p)` to homogeneous transforms `(..., 4, 4)`.

    Examples
    --------
    >>> tip = pliant.jax.tip_pose(pliant.load("two-link").model())  # doctest: +SKIP
    >>> jax.jacfwd(lambda q: tip(q)[:3, 3])(q).shape  # doctest: +SKIP
    (3, 4)
    """
    return _function(model, "tip_pose")


@checked
def pose(model: Model, frame: str = "tip") -> Function:
    """Pose of a frame as a function of JAX arrays.

    Parameters
    ----------
    model : Model
        As in `forward_dynamics`.
    frame : str
        One of `model.frames`.

    Returns
    -------
    callable
        `q` or `(q, p)` to homogeneous transforms `(..., 4, 4)`.

    Examples
    --------
    >>> elbow = pliant.jax.pose(pliant.load("two-link").model(), "fore.root")  # doctest: +SKIP
    >>> elbow(q).shape  # doctest: +SKIP
    (4, 4)
    """
    return _function(model, "tip_pose" if frame == "tip" else f"pose {frame}")


@checked
def step(model: Model, h: float) -> Function:
    """One step of the classical Runge-Kutta method as a function of JAX arrays; torques are held over the step.

    Parameters
    ----------
    model : Model
        As in `forward_dynamics`.
    h : float
        Length of the step, s.

    Returns
    -------
    callable
        `(q, qd, tau)` or `(q, qd, tau, p)` to `(q, qd)` at the end of the step. Quaternions have length one there.

    Examples
    --------
    >>> step = pliant.jax.step(pliant.load("two-link").model(), 1e-3)  # doctest: +SKIP
    >>> q, qd = jax.jit(step)(q, qd, tau)  # doctest: +SKIP
    """
    plain = model.layout.plain
    rates = (lambda q, qd: qd) if plain else _function(model, "rates")
    unit = (lambda q: q) if plain else _function(model, "normalized")
    require_steps(model)
    one = rk4_step(_function(model, "forward_dynamics"), rates, unit, h)
    return lambda q, qd, tau, p=None: one(jnp.asarray(q), jnp.asarray(qd), tau, p)


def interface() -> Literal["ffi", "callback"]:
    """Interface between JAX and the kernels: XLA's foreign function interface, or a callback into Python where this
    version of JAX has no known one (slower, with a warning).

    Returns
    -------
    "ffi" or "callback"

    Examples
    --------
    >>> pliant.jax.interface()  # doctest: +SKIP
    'ffi'
    """
    return "callback" if _version() is None else "ffi"


# ------------------------------------------------------------------------------------------ functions


def _function(model: Model, name: str) -> Function:
    found = products(model, name)
    nominal = model.nominal_parameters

    def function(*arrays: ArrayLike, p: ArrayLike | None = None) -> jax.Array:
        _require_double()
        interface()  # tested before the first trace ends
        complete = found.completed(arrays, p, nominal)
        given = [_array(*item) for item in zip(found.signature.in_names, found.inputs, complete)]
        return _bind(found, "value", _aligned(given, found.inputs))[0]

    function.__name__ = function.__qualname__ = name.replace(" ", "_")
    return function


def _require_double() -> None:
    if not jax.config.read("jax_enable_x64"):
        raise PliantError(
            "pliant.jax: JAX is set to single precision, and pliant computes in double precision; say "
            'jax.config.update("jax_enable_x64", True) before the first array is made'
        )


def _array(name: str, shape: Shape, given: ArrayLike) -> jax.Array:
    array = jnp.asarray(given)
    if array.dtype.kind not in "fiu":
        raise ModelError(
            f"{name}: got an array of type {array.dtype}, expected real numbers of shape {describe(shape)}"
        )
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise ModelError(f"{name}: got an array of shape {array.shape}, expected {describe(shape)}")
    return array.astype(np.float64)


def _aligned(arrays: Sequence[jax.Array], shapes: Sequence[Shape]) -> list[jax.Array]:
    """Arrays with the same number of axes before those of one state."""
    lead = max(array.ndim - len(shape) for array, shape in zip(arrays, shapes))
    return [
        jnp.reshape(array, (1,) * (lead + len(shape) - array.ndim) + array.shape)
        for array, shape in zip(arrays, shapes)
    ]


# ------------------------------------------------------------------------------- the one primitive


#: A product of a function; each operand has the same number of axes before those of one state, of full length or 1.
_product = Primitive("pliant")
_product.multiple_results = True


def _bind(found: DerivativeProducts, product: str, arrays: Sequence[jax.Array]) -> list[jax.Array]:
    result: list[jax.Array] = _product.bind(*arrays, found=found, product=product)
    return result


def _lead(found: DerivativeProducts, product: str, arrays: Sequence[jax.Array]) -> Shape:
    axes = [x.shape[: len(x.shape) - len(shape)] for x, shape in zip(arrays, found.operands(product))]
    try:
        return np.broadcast_shapes(*axes)
    except ValueError:
        raise ModelError(
            f"{found.signature.name}: the batch axes of the arrays do not fit together: {', '.join(map(str, axes))}. "
            "Give equal axes, or 1."
        ) from None


def _abstract(*arrays: jax.Array, found: DerivativeProducts, product: str) -> list[jax.Array]:
    lead = _lead(found, product, arrays)
    return [jax.core.ShapedArray(lead + shape, np.dtype(np.float64)) for shape in found.results(product)]


def _batched(
    arrays: Sequence[jax.Array], axes: Sequence[int | None], *, found: DerivativeProducts, product: str
) -> tuple[list[jax.Array], list[int]]:
    moved = [jnp.expand_dims(x, 0) if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes)]
    results = _bind(found, product, moved)
    return results, [0] * len(results)


def _zeros(group: str, found: DerivativeProducts, axes: int) -> list[jax.Array]:
    shapes = found.inputs if group == "u" else found.outputs
    return [jnp.zeros((1,) * axes + shape) for shape in shapes]


def _filled(values: Sequence[jax.Array], group: str, found: DerivativeProducts, axes: int) -> list[jax.Array]:
    """Changes or cotangents, with one row of zeros for those that are none."""
    zeros = _zeros(group, found, axes)
    return [zero if isinstance(x, ad.Zero) else x for x, zero in zip(values, zeros)]


def _change(
    arrays: Sequence[jax.Array], changes: Sequence[jax.Array], *, found: DerivativeProducts, product: str
) -> tuple[list[jax.Array], list[Any]]:
    results = _bind(found, product, arrays)
    axes = arrays[0].ndim - len(found.inputs[0])
    groups, moved = found.groups(product, arrays), found.groups(product, changes)
    total: list[jax.Array] | None = None
    for k, (group, change) in enumerate(zip("u" + OPERANDS[product], moved)):
        if all(isinstance(x, ad.Zero) for x in change):
            continue
        rule = found.change(product, k)
        source = {**{str(k): g for k, g in enumerate(groups)}, "d": _filled(change, group, found, axes)}
        part = _bind(found, rule[0], [x for key in rule[1] for x in source[key]])
        total = part if total is None else [a + b for a, b in zip(total, part)]
    if total is None:
        return results, [ad.Zero.from_primal_value(x) for x in results]
    return results, [jnp.broadcast_to(x, y.shape) for x, y in zip(total, results)]


def _transposed(
    cotangents: Sequence[jax.Array], *arrays: jax.Array, found: DerivativeProducts, product: str
) -> list[jax.Array]:
    groups = found.groups(product, arrays)
    first = arrays[0].aval if ad.is_undefined_primal(arrays[0]) else arrays[0]
    axes = len(first.shape) - len(found.inputs[0])
    back: list[jax.Array] = []
    for k, group in enumerate(groups):
        wanted = [ad.is_undefined_primal(x) for x in group]
        rule = TRANSPOSES[product][k]
        if not any(wanted) or all(isinstance(ct, ad.Zero) for ct in cotangents):
            back += [ad.Zero(x.aval) if want else None for x, want in zip(group, wanted)]
            continue
        assert rule is not None, "a product is linear behind its first group alone"
        source = {**{str(j): g for j, g in enumerate(groups)}, "c": _filled(cotangents, GIVES[product], found, axes)}
        part = _bind(found, rule[0], [x for key in rule[1] for x in source[key]])
        back += [_summed(y, x.aval.shape) if want else None for y, x, want in zip(part, group, wanted)]
    return back


def _summed(x: jax.Array, shape: Shape) -> jax.Array:
    """Sum of a cotangent over the states that shared an operand of this shape."""
    shared = tuple(k for k, (have, want) in enumerate(zip(x.shape, shape)) if want == 1 and have != 1)
    return jnp.sum(x, axis=shared, keepdims=True) if shared else jnp.broadcast_to(x, shape)


# ------------------------------------------------------------------------------------ how it is run


@functools.cache
def _compiled(found: DerivativeProducts, product: str) -> Function:
    return jax.jit(lambda *arrays: _bind(found, product, arrays))  # type: ignore[no-any-return]


def _now(*arrays: jax.Array, found: DerivativeProducts, product: str) -> list[jax.Array]:
    if any(device.platform in ("gpu", "cuda") for x in arrays if isinstance(x, jax.Array) for device in x.devices()):
        return _on_device(found, product, arrays)
    result: list[jax.Array] = _compiled(found, product)(*arrays)
    return result


def _on_device(found: DerivativeProducts, product: str, arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Compute with CUDA arrays outside of `jit`: CuPy reads them in place by DLPack."""
    cp = cupy()
    place = next(x for x in arrays if isinstance(x, jax.Array)).devices().pop()
    given = [cp.from_dlpack(jax.device_put(x, place)) for x in arrays]
    made = found.on_device(product, given)
    cp.cuda.get_current_stream().synchronize()
    return [jax.dlpack.from_dlpack(y) for y in made]


def _lowered(*arrays: jax.Array, found: DerivativeProducts, product: str) -> list[jax.Array]:
    """Lower a product to one call of its kernel; an operand has all states, or one that all share."""
    lead = _lead(found, product, arrays)
    laid = []
    for x, shape in zip(arrays, found.operands(product)):
        own = x.shape[: x.ndim - len(shape)]
        laid.append(x if own == lead or set(own) <= {1} else jnp.broadcast_to(x, lead + shape))
    results = [jax.ShapeDtypeStruct(lead + shape, np.float64) for shape in found.results(product)]
    version = _version()
    if version is None:
        return list(jax.pure_callback(functools.partial(_host, found, product, lead), results, *laid))
    return list(jax.ffi.ffi_call(_target(found, product, version), results)(*laid))


def _host(found: DerivativeProducts, product: str, lead: Shape, *arrays: jax.Array) -> list[jax.Array]:
    given = [np.asarray(x) for x in arrays]
    return [np.broadcast_to(y, lead + y.shape[len(lead) :]) for y in found(product, *given)]


#: Handlers live as long as the process: XLA keeps their addresses.
_handlers: dict[str, object] = {}
_registering = threading.RLock()


def _target(found: DerivativeProducts, product: str, version: tuple[int, int]) -> str:
    kernel = found.kernel(product)
    return _registered(kernel.function, version)


def _registered(function: ca.Function, version: tuple[int, int]) -> str:
    """Name of a kernel in XLA: a digest of its content, so that a program that JAX kept on disk finds the same one."""
    name = f"pliant_{function.name()}_{hashlib.sha256(function.serialize().encode()).hexdigest()[:24]}"
    with _registering:
        if name in _handlers:
            return name
        code = compile_handler(function, version)
        pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(code.address)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(pointer), platform="cpu")
        _handlers[name] = (code, pointer)
    return name


@functools.cache
def _version() -> tuple[int, int] | None:
    """Version of the interface that handlers are written for, if a test call gives the right numbers; else None."""
    try:
        version = api_version((Path(jax.ffi.include_dir()) / HEADER).read_text(encoding="utf-8"))
        if version is not None and _answers(version):
            return version
        reason = "its foreign function interface is not one that is known here"
    except Exception as error:
        reason = f"its foreign function interface does not answer ({error})"
    warn_user(
        f"pliant.jax: JAX {jax.__version__} calls kernels through Python, which is slower, since {reason}",
        RuntimeWarning,
    )
    return None


def _answers(version: tuple[int, int]) -> bool:
    """Whether a small kernel reads its arguments and writes its results where JAX keeps them."""
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 3)
    name = _registered(ca.Function("probe", [x, y], [x[0] - 2 * x[1] * y, ca.vertcat(y[2], x)]), version)
    given = np.arange(1.0, 11.0).reshape(5, 2), np.array([[0.5, -1.0, 3.0]])
    shapes = [jax.ShapeDtypeStruct((5, 3), np.float64)] * 2
    with jax.ensure_compile_time_eval(), jax.default_device(jax.devices("cpu")[0]):
        first, second = jax.jit(lambda x, y: jax.ffi.ffi_call(name, shapes)(x, y))(*given)
    expected = given[0][:, :1] - 2 * given[0][:, 1:] * given[1], np.c_[np.full(5, 3.0), given[0]]
    return all(np.array_equal(a, b) for a, b in zip((first, second), expected))


def _refused(*arrays: jax.Array, **parameters: object) -> NoReturn:
    raise UnsupportedModel(
        "pliant.jax: under jit there are kernels for the CPU only; leave jit out where arrays are on a CUDA device, or "
        "put them on the CPU"
    )


_product.def_impl(_now)
_product.def_abstract_eval(_abstract)
ad.primitive_jvps[_product] = _change
ad.primitive_transposes[_product] = _transposed
batching.primitive_batchers[_product] = _batched
mlir.register_lowering(_product, mlir.lower_fun(_lowered, multiple_results=True), platform="cpu")
mlir.register_lowering(_product, _refused)  # on any other platform
