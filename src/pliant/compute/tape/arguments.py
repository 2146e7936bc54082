"""Arguments of a kernel: converted to arrays of float64, checked, and laid out in rows; errors name the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError

Shape = tuple[int, ...]
MOST_STATES = 10**10


@dataclass(frozen=True)
class Signature:
    """Names and shapes of one state's inputs and outputs."""

    name: str
    in_names: tuple[str, ...]
    in_shapes: tuple[Shape, ...]
    out_shapes: tuple[Shape, ...]

    @property
    def in_sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.in_shapes]

    @property
    def out_sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.out_shapes]


def describe(shape: Shape) -> str:
    """Write a shape of one state behind any batch axes, as in `(..., 4)`."""
    return f"(..., {', '.join(map(str, shape))})" if shape else "(...)"


def plain(signature: Signature, given: Sequence[object], library: Any = np) -> list[Any]:
    """Convert every input to an array of float64, of NumPy or of CuPy, whose last axes have the right shape."""
    if len(given) != len(signature.in_names):
        names = ", ".join(signature.in_names) or "none"
        raise ModelError(f"{signature.name}: got {len(given)} inputs, expected {len(signature.in_names)}: {names}")
    return [_plain(library, *item) for item in zip(signature.in_names, signature.in_shapes, given)]


def _plain(library: Any, name: str, shape: Shape, given: object) -> Any:
    try:
        array = library.asarray(given)
    except (ValueError, TypeError) as error:
        raise _refused(name, shape, f"{type(given).__name__} that is no array ({error})") from error
    if array.dtype.kind not in "fiu":
        raise _refused(name, shape, f"an array of type {array.dtype}")
    axes = array.ndim - len(shape)
    if axes < 0 or array.shape[axes:] != shape:
        raise _refused(name, shape, f"an array of shape {array.shape}")
    if array.dtype == np.float64:
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _refused(name: str, shape: Shape, given: str) -> ModelError:
    return ModelError(f"{name}: got {given}, expected real numbers of shape {describe(shape)}")


def batch_shape(signature: Signature, arrays: Sequence[Array]) -> Shape:
    """The common leading axes of all inputs."""
    leading = [array.shape[: array.ndim - len(shape)] for array, shape in zip(arrays, signature.in_shapes)]
    try:
        shape = leading[0] if len(set(leading)) == 1 else np.broadcast_shapes(*leading)
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in zip(signature.in_names, leading))
        raise ModelError(
            f"{signature.name}: the batch axes of the inputs do not fit together: {listed}. Give equal axes, or 1."
        ) from None
    if math.prod(shape) > MOST_STATES:
        raise ModelError(
            f"{signature.name}: the answers for {math.prod(shape)} states do not fit into memory; give fewer at a time."
        )
    return shape


def rows(array: Array, shape: Shape, leading: Shape) -> tuple[Array, int]:
    """Lay out an array with one state per row; return it and the distance of rows in elements (0: all share one)."""
    own = array.shape[: array.ndim - len(shape)]
    size = math.prod(shape)
    if math.prod(own) == 1:
        return np.ascontiguousarray(array), 0
    if own != leading:
        array = np.broadcast_to(array, leading + shape)
    elif len(own) == 1:
        aligned = array.strides[0] % array.itemsize == 0 and array.flags.aligned
        if array[0].flags.c_contiguous and aligned:
            return array, array.strides[0] // array.itemsize
    return np.ascontiguousarray(array), size


def refuse_non_finite(signature: Signature, arrays: Sequence[Array]) -> None:
    """Raise for the first number that is not finite."""
    for name, array in zip(signature.in_names, arrays):
        finite = np.isfinite(array)
        if not finite.all():
            index = tuple(int(i) for i in np.argwhere(~finite)[0])
            raise ModelError(f"{name}: got {array[index]} at index {list(index)}, expected finite numbers")
