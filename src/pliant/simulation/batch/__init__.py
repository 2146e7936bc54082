"""Many arms at once: SIMD packs on all threads of the processor, or one thread per arm on a graphics processor."""

from pliant.simulation.batch.batch_equations import equations
from pliant.simulation.batch.result import BatchResult
from pliant.simulation.batch.simulate_batch import simulate_batch

__all__ = ["BatchResult", "equations", "simulate_batch"]
