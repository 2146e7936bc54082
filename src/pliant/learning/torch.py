"""Dynamics inside PyTorch (extra `[torch]`): functions of a model that autograd differentiates, twice where asked.

    import torch, pliant.torch
    qdd = pliant.torch.forward_dynamics(model)
    (qdd(q, qd, tau) ** 2).sum().backward()

Tensors are float64 and not copied. Every call is one compiled kernel: a batch in SIMD packs on all threads, or one
thread for each state where tensors are on a CUDA device (extra `[gpu]`; arrays pass by DLPack). Backward passes are
kernels as well (`pliant.learning.products`). `torch.func` (`vmap`, `grad`, `jacrev`, `jacfwd`, `hessian`) is
supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pliant.base.signatures import checked
from pliant.compute.cuda.device import cupy
from pliant.compute.tape.arguments import Shape, describe
from pliant.errors import ModelError, UnsupportedModel, install
from pliant.learning.products import DerivativeProducts, products, require_steps, rk4_step
from pliant.model.model import Model

try:
    import torch
    from torch.autograd import forward_ad
except ImportError as error:
    raise UnsupportedModel(f"pliant.torch needs torch ({error}); {install('torch')}") from None

try:  # whether a transform of `torch.func` is active; where PyTorch does not tell, one is assumed
    from torch._C import _are_functorch_transforms_active as transformed
except ImportError:

    def transformed() -> bool:
        return True


__all__ = ["energy", "forward_dynamics", "inverse_dynamics", "pose", "step", "tip_pose"]

Function = Callable[..., Any]
Results = Any
"""A tensor, or a tuple of tensors."""


# ------------------------------------------------------------------------------------------ for users


@checked
def forward_dynamics(model: Model) -> Function:
    """Accelerations as a function of tensors.

    Parameters
    ----------
    model : Model
        With `parameters`, the function takes them as its last argument.

    Returns
    -------
    callable
        `(q, qd, tau)` or `(q, qd, tau, p)` to qdd, tensors `(..., n)` of float64. Leading axes are broadcast; `p` is
        nominal if left out.

    Examples
    --------
    >>> qdd = pliant.torch.forward_dynamics(pliant.load("two-link").model())  # doctest: +SKIP
    >>> qdd(q, qd, tau).sum().backward()  # doctest: +SKIP
    """
    return _function(model, "forward_dynamics")


@checked
def inverse_dynamics(model: Model) -> Function:
    """Generalized forces as a function of tensors.

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
    >>> force = pliant.torch.inverse_dynamics(pliant.load("two-link").model())  # doctest: +SKIP
    >>> force(q, qd, qdd).shape  # doctest: +SKIP
    torch.Size([4])
    """
    return _function(model, "inverse_dynamics")


@checked
def energy(model: Model) -> Function:
    """Energies as a function of tensors.

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
    >>> energy = pliant.torch.energy(pliant.load("two-link").model())  # doctest: +SKIP
    >>> energy(q, qd).sum()  # the total  # doctest: +SKIP
    """
    return _function(model, "energy")


@checked
def tip_pose(model: Model) -> Function:
    """Pose of the distal frame of the last link as a function of tensors.

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
    >>> tip = pliant.torch.tip_pose(pliant.load("two-link").model())  # doctest: +SKIP
    >>> tip(q)[:3, 3]  # doctest: +SKIP
    """
    return _function(model, "tip_pose")


@checked
def pose(model: Model, frame: str = "tip") -> Function:
    """Pose of a frame as a function of tensors.

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
    >>> elbow = pliant.torch.pose(pliant.load("two-link").model(), "fore.root")  # doctest: +SKIP
    >>> elbow(q).shape  # doctest: +SKIP
    torch.Size([4, 4])
    """
    return _function(model, "tip_pose" if frame == "tip" else f"pose {frame}")


@checked
def step(model: Model, h: float) -> Function:
    """One step of the classical Runge-Kutta method as a function of tensors; torques are held over the step.

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
    >>> step = pliant.torch.step(pliant.load("two-link").model(), 1e-3)  # doctest: +SKIP
    >>> q, qd = step(q, qd, tau)  # doctest: +SKIP
    """
    require_steps(model)
    return rk4_step(*_parts(model), h)


# ------------------------------------------------------------------------------------------ functions


def _parts(model: Model) -> tuple[Function, Function, Function]:
    """Accelerations, rates of the coordinates, and coordinates whose quaternions have length one."""
    plain = model.layout.plain
    rates = (lambda q, qd: qd) if plain else _function(model, "rates")
    return _function(model, "forward_dynamics"), rates, (lambda q: q) if plain else _function(model, "normalized")


def _function(model: Model, name: str) -> Function:
    found = products(model, name)
    nominal = torch.from_numpy(model.nominal_parameters)
    placed: dict[torch.device, torch.Tensor] = {}  # nominal parameters on devices
    shapes = tuple(map(torch.Size, found.inputs))

    def function(*tensors: torch.Tensor, p: torch.Tensor | None = None) -> Results:
        given: Sequence[torch.Tensor] = tensors if len(tensors) == len(shapes) else found.completed(tensors, p, nominal)
        for k, shape in enumerate(shapes):
            x = given[k]
            if type(x) is not torch.Tensor or x.dtype is not torch.float64 or not x.is_cpu or x.shape != shape:
                where = getattr(tensors[0], "device", nominal.device) if tensors else nominal.device
                own = placed.setdefault(where, nominal.to(where))
                given = _checked(found, found.completed(tensors, p, own))
                break
        return _run(found, "value", given)

    function.__name__ = function.__qualname__ = name.replace(" ", "_")
    return function


def _checked(found: DerivativeProducts, given: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Check tensors that are not one plain state, and align their axes."""
    for item in zip(found.signature.in_names, found.inputs, given):
        _check(*item)
    devices = {str(x.device) for x in given}
    if len(devices) > 1:
        raise ModelError(f"{found.signature.name}: got tensors on {', '.join(sorted(devices))}, expected one device")
    return _aligned(given, found.inputs)


def _check(name: str, shape: Shape, given: object) -> None:
    if not isinstance(given, torch.Tensor):
        raise ModelError(f"{name}: got {type(given).__name__}, expected a tensor of shape {describe(shape)}")
    if given.dtype is not torch.float64:
        raise ModelError(f"{name}: got a tensor of {given.dtype}, expected torch.float64; convert it with .double()")
    if given.device.type not in ("cpu", "cuda"):
        raise UnsupportedModel(f"{name}: got a tensor on {given.device}, expected cpu or cuda; move it with .cpu()")
    if given.ndim < len(shape) or tuple(given.shape[given.ndim - len(shape) :]) != shape:
        raise ModelError(f"{name}: got a tensor of shape {tuple(given.shape)}, expected {describe(shape)}")


def _aligned(tensors: Sequence[torch.Tensor], shapes: Sequence[Shape]) -> Sequence[torch.Tensor]:
    """Tensors with the same number of axes before those of one state."""
    axes = [tensor.ndim - len(shape) for tensor, shape in zip(tensors, shapes)]
    lead = max(axes)
    if min(axes) == lead:
        return tensors
    return [x.reshape((1,) * (lead - own) + tuple(x.shape)) for x, own in zip(tensors, axes)]


# ----------------------------------------------------------------------------------- what autograd sees


def _run(found: DerivativeProducts, product: str, tensors: Sequence[torch.Tensor]) -> Results:
    """Compute a product: a tensor, or a tuple of them. Inputs that need no gradient bypass autograd; the rule for
    `torch.func` costs 35 us per call more than the plain one."""
    if transformed():
        return _TransformedProduct.apply(found, product, *tensors)
    if (torch.is_grad_enabled() and any(x.requires_grad for x in tensors)) or _forward_mode():
        return _Product.apply(found, product, *tensors)
    return _numbers(found, product, tensors)


def _forward_mode() -> bool:
    return bool(getattr(forward_ad, "_current_level", 0) >= 0)


def _on_device(found: DerivativeProducts, product: str, tensors: Sequence[torch.Tensor]) -> Results:
    """Compute with CUDA tensors: CuPy reads them in place by DLPack, in PyTorch's own stream."""
    cp, place = cupy(), tensors[0].device
    stream = cp.cuda.ExternalStream(torch.cuda.current_stream(place).cuda_stream)
    with cp.cuda.Device(place.index or 0), stream:
        made = found.on_device(product, [cp.from_dlpack(x.detach()) for x in tensors])
        results = tuple(map(torch.from_dlpack, made))
    return results[0] if len(results) == 1 else results


def _numbers(found: DerivativeProducts, product: str, tensors: Sequence[torch.Tensor]) -> Results:
    if not tensors[0].is_cpu:
        return _on_device(found, product, tensors)
    results = found(product, *[x.numpy() for x in tensors])
    if len(results) == 1:
        return torch.from_numpy(results[0])
    return tuple(map(torch.from_numpy, results))


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """A product of a function; each operand has the same number of axes before those of one state."""

    @staticmethod
    def forward(ctx: Any, found: DerivativeProducts, product: str, *tensors: torch.Tensor) -> Results:
        ctx.found, ctx.product = found, product
        ctx.save_for_backward(*tensors)
        if _forward_mode():
            ctx.save_for_forward(*tensors)
        return _numbers(found, product, [x.detach() for x in tensors])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        found, product = ctx.found, ctx.product
        groups = found.groups(product, ctx.saved_tensors)
        wanted = found.groups(product, ctx.needs_input_grad[2:])
        source = {**{str(k): group for k, group in enumerate(groups)}, "c": [x.contiguous() for x in cotangents]}
        gradients: list[torch.Tensor | None] = [None, None]
        for k, (group, wants) in enumerate(zip(groups, wanted)):
            if not any(wants):
                gradients += [None] * len(group)
                continue
            rule = found.gradient(product, k)
            part = _listed(_run(found, rule[0], [x for key in rule[1] for x in source[key]]))
            gradients += [x.sum_to_size(y.shape) if want else None for x, y, want in zip(part, group, wants)]
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, *changes: torch.Tensor | None) -> Results:
        found, product = ctx.found, ctx.product
        groups, moved = found.groups(product, ctx.saved_tensors), found.groups(product, changes[2:])
        total: list[torch.Tensor] | None = None
        for k, (group, change) in enumerate(zip(groups, moved)):
            if all(x is None for x in change):
                continue
            rule = found.change(product, k)
            filled = [torch.zeros_like(y) if x is None else x for x, y in zip(change, group)]
            source = {**{str(j): g for j, g in enumerate(groups)}, "d": filled}
            part = _listed(_run(found, rule[0], [x for key in rule[1] for x in source[key]]))
            total = part if total is None else [a + b for a, b in zip(total, part)]
        assert total is not None
        return total[0] if len(total) == 1 else tuple(total)


class _TransformedProduct(_Product):
    """A product of a function for the transforms of `torch.func`."""

    @staticmethod
    def forward(  # type: ignore[override]
        found: DerivativeProducts, product: str, *tensors: torch.Tensor
    ) -> Results:
        return _numbers(found, product, [x.detach() for x in tensors])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Results) -> None:
        ctx.found, ctx.product = inputs[:2]
        ctx.save_for_backward(*inputs[2:])
        ctx.save_for_forward(*inputs[2:])

    @staticmethod
    def vmap(
        info: Any, axes: tuple[int | None, ...], found: DerivativeProducts, product: str, *tensors: torch.Tensor
    ) -> tuple[Results, int | tuple[int, ...]]:
        moved = [x.unsqueeze(0) if axis is None else x.movedim(axis, 0) for x, axis in zip(tensors, axes[2:])]
        result = _run(found, product, moved)
        return result, 0 if isinstance(result, torch.Tensor) else (0,) * len(result)


def _listed(result: Results) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)
