"""The stepping loops are compiled for the processor of the kernels: `PLIANT_CPU` told to Numba."""

from __future__ import annotations

import os
import warnings

from pliant.kernels import target

OWN_VARIABLES = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""Numba's own choice; whoever sets one of them is left alone."""


def follow_kernels() -> None:
    """Tell Numba what `PLIANT_CPU` stands for, before it compiles anything; Numba's cache is keyed by it.

    Numba has one target a process. Where another was in use before the first run, that one stays, with a warning.
    """
    if target.requested() is None or any(name in os.environ for name in OWN_VARIABLES):
        return
    from numba import config
    from numba.core.registry import cpu_target

    wanted = target.machine()
    config.CPU_NAME, config.CPU_FEATURES = wanted.cpu, wanted.features  # type: ignore[attr-defined]
    _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    if (cpu, features) != (wanted.cpu, wanted.features):
        warnings.warn(
            f"{target.VARIABLE} came too late for the stepping loops: Numba was in use before and compiles for {cpu}. "
            f"Run pliant first, or set {' and '.join(OWN_VARIABLES)}.",
            stacklevel=2,
        )
