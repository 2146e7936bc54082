"""CUDA source of one kernel that evaluates a function for every row of arrays, one thread each."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.compute.cuda.allocate import Allocation, allocate
from pliant.compute.cuda.text import PROLOGUE, CudaOperations


class CudaKernel:
    """Write one kernel: its memory, the operations in it, and the arrays that it reads and writes.

    Parameters
    ----------
    shared : bool
        Whether values and the state are kept in shared memory.
    values : int or None
        Most values in registers; None leaves them to the compiler.
    slots : int
        Values that may be stored in shared memory.
    further : CudaOperations
        Operations that the kernel does beside those of its function.
    """

    def __init__(
        self, operations: CudaOperations, shared: bool, values: int | None, slots: int, block: int, blocks: int,
        further: Sequence[CudaOperations] = (),
    ) -> None:  # fmt: skip
        self.operations, self.shared, self.block, self.blocks, self.slots = operations, shared, block, blocks, slots
        self.allocations: dict[CudaOperations, Allocation] = {}
        if shared and values is not None:
            for each in (operations, *further):
                nodes = each.nodes
                plan = allocate(nodes, 0, len(nodes.nodes), values, slots, nodes.inputs.__contains__)
                self.allocations[each] = plan
        self.first_state = max((plan.fast for plan in self.allocations.values()), default=0)
        self.shared_values = self.first_state + operations.n if shared else 0

    @property
    def n(self) -> int:
        return self.operations.n

    @property
    def T(self) -> str:
        return self.operations.precision.type

    def body(self, of: CudaOperations | None = None) -> list[str]:
        """Lines of the right-hand side, or of the operations given: they read XS and write KS."""
        operations = of or self.operations
        if operations not in self.allocations:
            return operations.plain()
        return operations.allocated(self.allocations[operations], {}, self.slots)

    def memory(self) -> list[str]:
        T = self.T
        if not self.shared:
            return [f"{T} xs[N];", "#define XS(j) xs[j]"]
        lines = [
            f"extern __shared__ {T} memory[];",
            f"volatile {T}* S = memory + threadIdx.x;",
            "#define SLOT(j) S[(j) * BLK]",
            f"#define XS(j) S[({self.first_state} + (j)) * BLK]",
        ]
        slow = max((plan.slow for plan in self.allocations.values()), default=0)
        if slow:
            lines += [f"{T} far_memory[{slow}];", f"volatile {T}* far = far_memory + hidden_zero();"]
            lines += ["#define FAR(j) far[j]"]
        return lines

    def rows(self, name: str, in_sizes: Sequence[int], out_sizes: Sequence[int], repeats: Sequence[int]) -> str:
        """A kernel of one evaluation for every state: input `k` of state i begins at `in<k> + i * row<k>`, and outputs
        stand one row behind the other. `repeats` says how many states in a row share one row of an input."""
        T = self.T
        given = [f"const {T}* __restrict__ in{k}, long long row{k}" for k in range(len(in_sizes))]
        taken = [f"{T}* __restrict__ out{k}" for k in range(len(out_sizes))]
        arguments = ", ".join([*given, *taken, "long long arms"])
        target, place = "", 0  # a place is a number, so that one branch is left
        for k, size in enumerate(out_sizes):
            own = f"out{k} + i * {size} + (j) - {place}"
            target = f"(j) >= {place} ? {own} : ({target})" if target else own
            place += size
        lines = [
            PROLOGUE,
            f"#define BLK {self.block}",
            f"#define N {self.n}",
            f'extern "C" __global__ void __launch_bounds__({self.block}, {self.blocks}) {name}({arguments}) {{',
            "const long long i = blockIdx.x * (long long)BLK + threadIdx.x;",
            "if (i >= arms) return;",
            *self.memory(),
        ]
        place = 0
        for k, size in enumerate(in_sizes):
            row = f"i / {repeats[k]}" if repeats[k] > 1 else "i"
            lines.append(f"for (int j = 0; j < {size}; ++j) XS({place} + j) = in{k}[({row}) * row{k} + j];")
            place += size
        lines += [f"#define KS(j) *({target})", *self.body(), *self.operations.copies(), "}"]
        return "\n".join(lines) + "\n"
