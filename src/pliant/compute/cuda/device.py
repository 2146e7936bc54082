"""The graphics processor through CuPy, and its arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

from pliant.errors import PliantError, extra, install

DeviceArray: TypeAlias = Any
"""An array of CuPy, which has no types."""


def cupy() -> Any:
    """Import CuPy and check that a device answers; otherwise raise an error that says what is missing."""
    cp = extra("cupy", f"device='cuda': CuPy is not installed; {install('gpu')}. Or use device='cpu'.")
    try:
        count = cp.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise PliantError(f"device='cuda': the CUDA driver does not answer ({error}). Use device='cpu'.") from error
    if count == 0:
        raise PliantError("device='cuda': no CUDA device was found. Use device='cpu'.")
    return cp


def shared_bytes() -> int:
    """Shared memory that a block may have on the current device."""
    return int(cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def is_device_array(array: object) -> bool:
    """Whether an array lives on a CUDA device."""
    return hasattr(array, "__cuda_array_interface__")
