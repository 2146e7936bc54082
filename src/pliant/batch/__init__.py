"""Many arms at once: SIMD packs on all threads of the processor, or one thread an arm on a graphics processor."""

from pliant.batch.inputs import equations
from pliant.batch.result import BatchResult
from pliant.batch.run import simulate_batch

__all__ = ["BatchResult", "equations", "simulate_batch"]
