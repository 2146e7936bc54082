"""Stepping loops as machine code: a Python function of integers, translated when there is no object code of it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from pliant.compute.llvm.llvm import compile_loops


@functools.cache
def compiled(function: Callable[..., int], **known: bool) -> Callable[..., int]:
    """Compile a function of integers that returns one, cached as kernels are; it runs without Python's lock.

    `known` arguments become constants of the code.
    """
    name = f"pliant_{function.__name__}"

    def translate() -> str:
        from pliant.compute.loops.translate import Module

        module = Module()
        module.entry(name, function, **known)
        return module.text()

    own = function.__module__.startswith("pliant.")  # a change of other code would not be noticed
    recipe = repr((function.__module__, function.__qualname__, sorted(known.items()))) if own else None
    code = compile_loops(recipe, name, translate)
    given = function.__code__.co_argcount - len(known)
    found = ctypes.CFUNCTYPE(*[ctypes.c_int64] * (given + 1))(code.address)
    found.code = code  # type: ignore[attr-defined]  # lives as long as the function
    return found
