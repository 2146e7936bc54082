"""Computing: instruction tapes, operation counts, machine code and its cache. Nothing here knows a robot."""

from typing import TYPE_CHECKING

from pliant.kernels import cache
from pliant.kernels.kernel import Kernel, few_calls
from pliant.kernels.records import Recorded, recalled
from pliant.kernels.threads import get_threads, set_threads
from pliant.later import later

if TYPE_CHECKING:
    from pliant.kernels.columns import ColumnFunction
    from pliant.kernels.tape import Tape, operation_count

__getattr__ = later(__name__, {"ColumnFunction": "columns", "Tape": "tape", "operation_count": "tape"})

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
