"""Three ways to hold a tape in a kernel, by its length:

* `registers`: the state and all live values fit registers; plain code, the compiler decides;
* `shared`: one kernel that keeps at most K values in registers and the others in shared memory (`cuda.allocate`);
* `chunks`: beyond what the instruction cache holds, several kernels per stage, values that cross in global memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.compute.cuda.program import Nodes
from pliant.compute.cuda.text import Precision

BLOCK = 128
SHARED_BYTES = 227 * 1024
"""Shared memory of a multiprocessor that blocks may use, at compute capability 9.0."""
REGISTER_VALUES = {"double": 110, "single": 200}
"""Number of states and live values that fit registers."""
LONGEST_KERNEL = {"double": 8000, "single": 9000}
"""Operations that one kernel may have before it outgrows the instruction cache."""
LONGEST_UNROLLED = 400
"""Operations up to which writing out all four stages is faster."""
CHUNK = 4500


@dataclass(frozen=True)
class CudaForm:
    """A form of the kernel for a tape.

    Attributes
    ----------
    strategy : "registers", "shared" or "chunks"
    blocks : int
        Blocks that share a multiprocessor.
    values : int or None
        Values that are kept in registers; None leaves it to the compiler.
    unroll : int
        Stages written out, 1 or 4.
    """

    strategy: str
    blocks: int
    values: int | None
    unroll: int = 1
    chunk: int = CHUNK


def choose(nodes: Nodes, n: int, precision: Precision, closing: Nodes | None = None) -> CudaForm:
    """Choose the form that measurements on an H200 recommend for a tape of this size. The tape that closes loops runs
    once a step, so that its length matters little."""
    name = precision.name
    if max(nodes.most_live, closing.most_live if closing else 0) + 2 * n <= REGISTER_VALUES[name]:
        return CudaForm("registers", 3, None, 4 if len(nodes.nodes) <= LONGEST_UNROLLED else 1)
    if len(nodes.nodes) > LONGEST_KERNEL[name]:
        return CudaForm("chunks", 2, 100) if name == "double" else CudaForm("chunks", 3, 128)
    if name == "double":
        return CudaForm("shared", 1, 110)
    return CudaForm("shared", 2, None if nodes.most_live < 270 else 220)
