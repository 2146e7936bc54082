"""Many arms at once: SIMD packs on all threads of the processor, or one thread per arm on a graphics processor."""

from pliant.simulation.batch.batch_equations import equations
from pliant.simulation.batch.batch_run import simulate_batch
from pliant.simulation.batch.result import BatchResult

__all__ = ["BatchResult", "equations", "simulate_batch"]
