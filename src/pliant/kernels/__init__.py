"""Computing: instruction tapes, operation counts, machine code and its cache. Nothing here knows a robot."""

from pliant.kernels import cache
from pliant.kernels.columns import ColumnFunction
from pliant.kernels.kernel import Kernel
from pliant.kernels.tape import Tape, operation_count
from pliant.kernels.threads import get_threads, set_threads

__all__ = ["ColumnFunction", "Kernel", "Tape", "cache", "get_threads", "operation_count", "set_threads"]
