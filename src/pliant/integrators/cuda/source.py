"""CUDA source of many runs of xdot = f(t, x, w, p), written from the same tape as the code for this machine.

One thread runs one arm, and the stepping loop is inside the kernel. `compute.cuda.forms` chooses how a kernel holds
the tape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array
from pliant.compute.cuda.forms import BLOCK, LONGEST_KERNEL, SHARED_BYTES, CudaForm, choose
from pliant.compute.cuda.program import Nodes, nodes_of
from pliant.compute.cuda.text import CudaOperations, Precision
from pliant.compute.tape.rounding import widened
from pliant.compute.tape.tape import Tape
from pliant.errors import UnsupportedModel
from pliant.integrators.cuda import chunks as cuda_chunks
from pliant.integrators.cuda import steps as cuda_steps


@dataclass(frozen=True)
class Source:
    """CUDA source, and the names and sizes needed to launch it."""

    text: str
    choice: CudaForm
    precision: Precision
    sizes: tuple[int, int, int]
    adaptive: bool
    shared_bytes: int
    kernels: tuple[str, ...]
    clock: tuple[float, ...] = ()
    """Times of the stages of chunks, in units of a step."""
    slots: int = 0
    """Numbers that a thread keeps in global memory between chunks."""
    closing: tuple[str, ...] = ()
    """Kernels of chunks that close loops behind a step."""

    block: int = BLOCK


def emit_evaluation(
    tape: Tape, precision: str = "double", shared_bytes: int = SHARED_BYTES, states: Array | None = None
) -> Source:
    """Source of one evaluation of f for every arm: `steps` writes xdot to its `out` and leaves the state alone."""
    numbers = Precision(precision)
    n, held, own = tape.in_sizes[1:]
    operations = CudaOperations(_nodes(tape, numbers, states), numbers, (n, held, own))
    chosen = choose(operations.nodes, n, numbers)
    slots = 0 if chosen.strategy == "registers" else max(0, _slots(chosen, numbers, n, shared_bytes))
    writer = cuda_steps.StepKernel(operations, slots > 0, chosen.values, slots, BLOCK, chosen.blocks)
    shared = writer.shared_values * BLOCK * numbers.size
    return Source(
        text=writer.evaluate(), choice=replace(chosen, strategy="shared" if slots else "registers"), precision=numbers,
        sizes=(n, held, own), adaptive=False, shared_bytes=shared, kernels=("steps",),
    )  # fmt: skip


def emit(
    tape: Tape,
    method: ExplicitTableau,
    precision: str = "double",
    choice: CudaForm | None = None,
    shared_bytes: int = SHARED_BYTES,
    states: Array | None = None,
    quaternions: tuple[int, ...] = (),
    closing: Tape | None = None,
    approach: Tape | None = None,
) -> Source:
    """Source for steps of a method, adaptive where it has an error estimate.

    `tape` has the inputs (t, x, w, p) and the output xdot. In single precision, operations whose rounding would matter
    at the typical inputs `states`, one row each, are done in double precision. `quaternions` says where quaternions
    begin in x: their length is made one after every step. `closing` has the same inputs; it gives a state nearer to
    closed loops, the distance that it was moved, and the least part of a row that the others leave. `approach` has the
    same inputs too; it gives gaps and speeds of bodies that adaptive steps must not leap over.
    """
    numbers = Precision(precision)
    n, held, own = tape.in_sizes[1:]
    nodes = _nodes(tape, numbers, states)
    operations = CudaOperations(nodes, numbers, (n, held, own), quaternions)
    closer: CudaOperations | None = None
    if closing is not None:
        closer = CudaOperations(_nodes(closing, numbers, states), numbers, (n, held, own), quaternions)
    met: CudaOperations | None = None
    if approach is not None and method.adaptive:
        met = CudaOperations(_nodes(approach, numbers, states), numbers, (n, held, own), quaternions)
    chosen = choice or choose(nodes, n, numbers, closer.nodes if closer else None)
    if chosen.strategy == "chunks":
        if method.adaptive:
            raise UnsupportedModel(
                f"These equations have {len(nodes.nodes)} operations; adaptive steps on a GPU take up to "
                f"{LONGEST_KERNEL[precision]}. Use method='rk4', or device='cpu'."
            )
        slots, stages = _slots(chosen, numbers, 0, shared_bytes), method.low_storage
        chunks = cuda_chunks.source(
            operations, chosen.values or 100, slots, BLOCK, chosen.blocks, chosen.chunk, stages, closer
        )
        names = tuple(f"chunk{k}" for k in range(chunks.count))
        return Source(
            text=chunks.text, choice=chosen, precision=numbers, sizes=(n, held, own), adaptive=False,
            shared_bytes=chunks.shared * BLOCK * numbers.size, kernels=names,
            clock=tuple(clock for clock, _, _ in stages), slots=chunks.slots,
            closing=("close_loops",) if closer else (),
        )  # fmt: skip
    slots = _slots(chosen, numbers, n, shared_bytes) if chosen.strategy == "shared" else 0
    if slots < 0:  # a state too large for shared memory stays in local memory
        chosen, slots = replace(chosen, strategy="registers"), 0
    writer = cuda_steps.StepKernel(
        operations, chosen.strategy == "shared", chosen.values, slots, BLOCK, chosen.blocks, closer, met
    )
    text = writer.adaptive(method) if method.adaptive else writer.fixed(method, chosen.unroll)
    return Source(
        text=text, choice=chosen, precision=numbers, sizes=(n, held, own), adaptive=method.adaptive,
        shared_bytes=writer.shared_values * BLOCK * numbers.size, kernels=("steps",),
    )  # fmt: skip


def _nodes(tape: Tape, precision: Precision, states: Array | None) -> Nodes:
    nodes = nodes_of(tape)
    return nodes if states is None or precision.name == "double" else widened(nodes, states)


def _slots(choice: CudaForm, precision: Precision, n: int, shared_bytes: int) -> int:
    """Number of values that a thread may store in shared memory beside its state."""
    return shared_bytes // choice.blocks // (BLOCK * precision.size) - 1 - n
