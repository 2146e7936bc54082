"""Many arms at once: SIMD packs on all threads of the processor, or one thread per arm on a graphics processor."""

from pliant.batch.batch_equations import equations
from pliant.batch.batches import simulate_batch
from pliant.batch.result import BatchResult

__all__ = ["BatchResult", "equations", "simulate_batch"]
