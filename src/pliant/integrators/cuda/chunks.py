"""A long tape as several CUDA kernels per stage, each short enough for the instruction cache.

Cuts are made where few values live. Values that cross a cut, the state and the slopes lie in global memory as
[block][slot][thread], so that every access is coalesced and every offset is known at compile time. Values that cost
little are computed again rather than brought across. The last kernel also updates the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from pliant.compute.cuda.allocate import allocate, linear_scan
from pliant.compute.cuda.program import Node, Nodes
from pliant.compute.cuda.text import PROLOGUE, CudaOperations, by_stage
from pliant.integrators.cuda.steps import closing_rounds

UPDATE = 12
CHEAP = 32
"""Largest cost, in operations, of a value that is computed again rather than brought from memory."""
SIMPLE = frozenset(("add", "sub", "mul", "neg", "fmin", "fmax", "fabs"))
COST = {"sincos": 30, "inv": 6, "sqrt": 15}
"""Operations that count for more than one; functions of the library are never cheap."""
WINDOW = 0.25
"""Cuts are sought within this fraction of a chunk before its full length."""

ACCESS = """
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
__device__ __forceinline__ double pull(const double* a) {
  double x; asm volatile("ld.global.cg.f64 %0, [%1];" : "=d"(x) : "l"(a)); return x;
}
__device__ __forceinline__ float pull(const float* a) {
  float x; asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(a)); return x;
}
__device__ __forceinline__ void push(double* a, double x) {
  asm volatile("st.global.cg.f64 [%0], %1;" :: "l"(a), "d"(x));
}
__device__ __forceinline__ void push(float* a, float x) {
  asm volatile("st.global.cg.f32 [%0], %1;" :: "l"(a), "f"(x));
}
#else
template <class T> inline T pull(const T* a) { return *a; }
template <class T> inline void push(T* a, T x) { *a = x; }
#endif
"""


@dataclass(frozen=True)
class Chunks:
    """Text of `count` kernels, and the slots that a thread needs in global and in shared memory."""

    text: str
    count: int
    slots: int
    shared: int


def cuts(nodes: Nodes, length: int) -> list[int]:
    """Zero, then the ends of chunks of at most `length` operations; cuts are made where fewest values live."""
    total = len(nodes.nodes)
    pieces = max(1, -(-total // length))
    found, start = [0], 0
    for piece in range(1, pieces):
        ideal = start + (total - start) // (pieces - piece + 1)
        low = max(start + 1, ideal - int(WINDOW * (ideal - start)))
        high = min(start + length, total - 1)
        start = min(range(low, high + 1), key=lambda i: (nodes.live[i - 1], abs(i - ideal)))
        found.append(start)
    return [*found, total]


def crossing(nodes: Nodes, ends: list[int]) -> dict[int, tuple[int, ...]]:
    """Slots of the values that one chunk computes and another reads."""
    chunk_of: dict[int, int] = {}
    for chunk, (first, last) in enumerate(pairwise(ends)):
        for node in nodes.nodes[first:last]:
            chunk_of |= dict.fromkeys(node.results, chunk)
    found: dict[int, tuple[int, ...]] = {}
    spans: list[list[int]] = []
    for value, born in chunk_of.items():
        uses = nodes.uses.get(value, [])
        dies = max((c for c in range(len(ends) - 1) if uses and ends[c] <= uses[-1]), default=born)
        if dies > born:
            found[value] = tuple(range(len(spans), len(spans) + nodes.width(value)))
            spans += [[born, dies] for _ in found[value]]
    slots, _ = linear_scan(spans, range(len(spans)), len(spans))
    return {value: tuple(slots[k] for k in own) for value, own in found.items()}


def recompute(nodes: Nodes, ends: list[int], most: int = CHEAP) -> tuple[Nodes, list[int]]:
    """Compute values that cost little again in each chunk that needs them, instead of letting them cross.

    A value is cheap where at most `most` operations lead to it from the state and from values that cross anyway.
    """
    made = {value: i for i, node in enumerate(nodes.nodes) for value in node.results}
    fresh = max(made, default=0) + 1
    found: list[Node] = list(nodes.nodes[: ends[1]])
    new_ends = [0, len(found)]
    wide = set(nodes.wide)
    for first, last in pairwise(ends[1:]):
        chunk = nodes.nodes[first:last]
        cheap = _cheap(nodes, made, first, chunk, most)
        names: dict[int, int] = {}
        for node in chunk:
            for value in node.operands:
                for index in cheap.get(value, ()):
                    if not names.keys() & set(nodes.nodes[index].results):
                        again = nodes.nodes[index]
                        copies = tuple(range(fresh, fresh + len(again.results)))
                        fresh += len(copies)
                        found.append(Node(again.name, copies, tuple(names.get(v, v) for v in again.operands)))
                        names |= dict(zip(again.results, copies))
                        wide.update(copies if nodes.wide.intersection(again.results) else ())
            found.append(Node(node.name, node.results, tuple(names.get(v, v) for v in node.operands)))
        new_ends.append(len(found))
    return replace(nodes, nodes=tuple(found), wide=frozenset(wide)), new_ends


def _cheap(nodes: Nodes, made: dict[int, int], first: int, chunk: tuple[Node, ...], most: int) -> dict[int, list[int]]:
    """Operations, in order, that compute each cheap value again in a chunk that starts at `first`."""
    needed = {v for node in chunk for v in node.operands if made.get(v, first) < first}
    kept: set[int] = set()
    cheap: dict[int, list[int]] = {}
    for value in sorted(needed, key=made.__getitem__):
        cone: set[int] = set()
        waiting = [value]
        while waiting and len(cone) <= most:
            at = waiting.pop()
            if at in made and at not in kept and made[at] not in cone:
                cone.add(made[at])
                waiting += nodes.nodes[made[at]].operands
        cost = sum(COST.get(nodes.nodes[i].name, 1 if nodes.nodes[i].name in SIMPLE else 30) for i in cone)
        if waiting or cost > most:
            kept.add(value)
        else:
            cheap[value] = sorted(cone)
    return cheap


def source(
    operations: CudaOperations, values: int, fast_slots: int, block: int, blocks: int, length: int,
    stages: tuple[tuple[float, float, float], ...], closing: CudaOperations | None = None,
) -> Chunks:  # fmt: skip
    """Write kernels `chunk0`, `chunk1`, ..., with `fill` and `drain`, which bring states in and out, and `close_loops`,
    which closes loops behind a step."""
    n, T = operations.n, operations.precision.type
    nodes, ends = recompute(operations.nodes, cuts(operations.nodes, length))
    turned = () if closing else operations.quaternions  # `close_loops` makes their length one
    operations = CudaOperations(nodes, operations.precision, (n, operations.held, operations.own), turned)
    cross = crossing(nodes, ends)
    slots = 4 * n + max((slot for own in cross.values() for slot in own), default=-1) + 1
    lines = [PROLOGUE, ACCESS, f"#define BLK {block}", f"#define N {n}", f"#define SLOTS {slots}"]
    lines += [
        "#define XS(j) pull(g + (N + (j)) * BLK)",
        "#define CROSS(j) pull(g + (4 * N + (j)) * BLK)",
        "#define SEND(j, v) push(g + (4 * N + (j)) * BLK, v)",
        "#define HELD(j) held[(j) * held_row + i * held_arm]",
        "#define OWN(j) own[(j) * own_row + i * own_arm]",
        "#define SLOT(j) S[(j) * BLK]",
        "#define FAR(j) far[j]",
        *_transfer(T, block),
    ]
    shared = 0
    for chunk, (first, last) in enumerate(pairwise(ends)):
        plan = allocate(nodes, first, last, values, fast_slots, lambda v: v in nodes.inputs or v in cross)
        shared = max(shared, plan.fast)
        lines += _head(f"chunk{chunk}", T, block, blocks, plan.slow)
        lines += [_stores(line) for line in operations.allocated(plan, cross, fast_slots)]
        if chunk == len(ends) - 2:
            lines += _update(operations, stages)
        lines.append("}")
    if closing:
        nodes = closing.nodes
        plan = allocate(nodes, 0, len(nodes.nodes), values, fast_slots, nodes.inputs.__contains__)
        shared = max(shared, plan.fast)
        lines += _close(
            closing, closing.allocated(plan, {}, fast_slots), _head("close_loops", T, block, blocks, plan.slow)
        )
    return Chunks(text="\n".join(lines) + "\n", count=len(ends) - 1, slots=slots, shared=shared)


BOTH = "push(g + {0} * BLK, {1}); push(g + (N + {0}) * BLK, {1});"
"""A component of the state is stored where steps begin and where the equations read."""


def _close(closing: CudaOperations, body: list[str], head: list[str]) -> list[str]:
    """The kernel `close_loops`, which runs once a step, so that its length matters little."""
    T = closing.precision.type
    return [
        *head,
        f"{T} closed_memory[N + 2];",
        f"volatile {T}* closed = closed_memory + hidden_zero();",
        "#define KS(j) closed[j]",
        *closing_rounds(closing, body, BOTH.format("j", "next")),
        *_turned(closing),
        "}",
    ]


def _turned(operations: CudaOperations) -> list[str]:
    """Lines that normalize the quaternions of the state."""
    T, made_one = operations.precision.type, [BOTH.format("{0}", "q{0} / LENGTH")]
    pulled = [
        f"const {T} q{j} = pull(g + {j} * BLK);" for first in operations.quaternions for j in range(first, first + 4)
    ]
    return [*pulled, *operations.normalized("q{0}", made_one)]


def _stores(line: str) -> str:
    """Turn `KS(j) = v;` into a store to global memory; leave other lines as they are."""
    if not line.startswith("KS("):
        return line
    place, value = line[3:-1].split(") = ")
    return f"push(g + (3 * N + {place}) * BLK, {value});"


def _transfer(T: str, block: int) -> list[str]:
    """Kernels that bring the states of a tile in and out."""
    where = ["const long long i = first + blockIdx.x * (long long)BLK + threadIdx.x;", "if (i >= arms) return;",
             f"{T}* g = G + (long long)blockIdx.x * SLOTS * BLK + threadIdx.x;"]  # fmt: skip
    head = f'extern "C" __global__ void __launch_bounds__({block}) '
    arguments = f"{T}* G, {T}* X, long long first, long long arms"
    return [
        f"{head}fill({arguments}) {{", *where,
        "for (int j = 0; j < N; ++j) { g[j * BLK] = g[(N + j) * BLK] = X[j * arms + i]; } }",
        f"{head}drain({arguments}) {{", *where,
        "for (int j = 0; j < N; ++j) X[j * arms + i] = g[j * BLK]; }",
    ]  # fmt: skip


def _head(name: str, T: str, block: int, blocks: int, slow: int) -> list[str]:
    lines = [
        f'extern "C" __global__ void __launch_bounds__({block}, {blocks}) {name}(',
        f"  {T}* G, const {T}* __restrict__ held, long long held_row, long long held_arm,",
        f"  const {T}* __restrict__ own, long long own_row, long long own_arm,",
        "  long long first, long long arms, double now, double h, int stage) {",
        "const long long i = first + blockIdx.x * (long long)BLK + threadIdx.x;",
        "if (i >= arms) return;",
        f"{T}* g = G + (long long)blockIdx.x * SLOTS * BLK + threadIdx.x;",
        f"extern __shared__ {T} memory[];",
        f"volatile {T}* S = memory + threadIdx.x; (void)S;",
        f"const {T} NOW = now; (void)NOW;",
    ]
    far = [f"{T} far_memory[{slow}];", f"volatile {T}* far = far_memory + hidden_zero();"]
    return lines + (far if slow else [])


def _update(operations: CudaOperations, stages: tuple[tuple[float, float, float], ...]) -> list[str]:
    """Lines that update the state behind a stage, in the short form of the method; slots are [x, xs, sum, k]."""
    nodes, n, T = operations.nodes, operations.n, operations.precision.type
    number = operations.precision.number

    def slope(place: int, start: int) -> str:
        value = nodes.outputs[place]
        if value < 0:
            return number(0.0)
        if value in nodes.constants:
            return number(nodes.constants[value])
        if value in nodes.inputs:
            return operations.input(value) if nodes.inputs[value] - 1 >= start or nodes.inputs[value] > n else "copied"
        return f"pull(g + (3 * N + {place}) * BLK)"

    _, weight, ahead = zip(*stages)
    last = len(stages) - 1
    part = "h * {}".format
    lines = [f"const {T} weight = {by_stage(weight, part)}, ahead = {by_stage(ahead, part)};"]
    for place in range(n):
        if slope(place, place // UPDATE * UPDATE) == "copied":
            lines.append(f"push(g + (3 * N + {place}) * BLK, ({T}){operations.input(nodes.outputs[place])});")
    for start in range(0, n, UPDATE):
        rows = range(start, min(start + UPDATE, n))
        lines.append("{")
        for j in rows:
            text = slope(j, start)
            text = f"pull(g + (3 * N + {j}) * BLK)" if text == "copied" else text
            lines.append(f"const {T} k{j} = {text}, x{j} = pull(g + {j} * BLK);")
            lines.append(f"const {T} s{j} = (stage == 0 ? x{j} : pull(g + (2 * N + {j}) * BLK)) + weight * k{j};")
        for j in rows:
            lines.append(f"if (stage < {last}) {{ push(g + (2 * N + {j}) * BLK, s{j}); "
                         f"push(g + (N + {j}) * BLK, x{j} + ahead * k{j}); }}")  # fmt: skip
            lines.append(f"else {{ push(g + {j} * BLK, s{j}); push(g + (N + {j}) * BLK, s{j}); }}")
        lines.append("}")
    turned = _turned(operations)
    return [*lines, f"if (stage == {last}) {{", *turned, "}"] if turned else lines
