"""Computing: instruction tapes, operation counts, machine code and its cache. Nothing here uses a robot."""

from typing import TYPE_CHECKING

from pliant.base.later import later
from pliant.compute.llvm import cache
from pliant.compute.llvm.kernel import Kernel, few_calls
from pliant.compute.llvm.threads import get_threads, set_threads
from pliant.compute.tape.trace_cache import Recorded, recalled

if TYPE_CHECKING:
    from pliant.compute.tape.columns import ColumnFunction
    from pliant.compute.tape.tape import Tape, operation_count

__getattr__ = later(__name__, {"ColumnFunction": "tape.columns", "Tape": "tape.tape", "operation_count": "tape.tape"})

__all__ = [
    "ColumnFunction",
    "Kernel",
    "Recorded",
    "Tape",
    "cache",
    "few_calls",
    "get_threads",
    "operation_count",
    "recalled",
    "set_threads",
]
