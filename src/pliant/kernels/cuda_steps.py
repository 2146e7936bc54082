"""CUDA kernels that hold the whole stepping loop: classical Runge-Kutta, or an embedded pair with a step a thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.kernels.cuda_allocate import Allocation, allocate
from pliant.kernels.cuda_text import PROLOGUE, CudaOperations
from pliant.kernels.pack_steps import GROW, LEAST_STEP, SAFETY, SHRINK

UPDATE = 12
"""Components updated together: all loads first, then all stores."""


def _now(kind: str, time: str) -> str:
    """The time of an evaluation, kept inside the segment."""
    return f"const {kind} NOW = fmax(fmin({time}, late), early); (void)NOW;"


class CudaKernel:
    """Writes one kernel that runs whole segments.

    Parameters
    ----------
    shared : bool
        Whether values and the state are kept in shared memory.
    values : int or None
        Most values in registers; None leaves it to the compiler.
    slots : int
        Values that may be stored in shared memory.
    """

    def __init__(
        self, operations: CudaOperations, shared: bool, values: int | None, slots: int, block: int, blocks: int
    ) -> None:
        self.operations, self.shared, self.block, self.blocks, self.slots = operations, shared, block, blocks, slots
        nodes = operations.nodes
        self.allocation: Allocation | None = None
        if shared and values is not None:
            self.allocation = allocate(nodes, 0, len(nodes.nodes), values, slots, nodes.inputs.__contains__)
        fast = self.allocation.fast if self.allocation else 0
        self.first_state = fast
        self.shared_values = fast + operations.n if shared else 0

    @property
    def n(self) -> int:
        return self.operations.n

    @property
    def T(self) -> str:
        return self.operations.precision.type

    def body(self) -> list[str]:
        """The right-hand side: reads XS, writes KS."""
        if self.allocation is None:
            return self.operations.plain()
        return self.operations.allocated(self.allocation, {}, self.slots)

    def slope(self, place: int, start: int = 0) -> str:
        """The slope of component `place` behind the body; inputs are read where they are, from `start` on."""
        nodes = self.operations.nodes
        value = nodes.outputs[place]
        if value < 0:
            return self.operations.precision.number(0.0)
        if value in nodes.constants:
            return self.operations.precision.number(nodes.constants[value])
        if value in nodes.inputs and not 1 <= nodes.inputs[value] <= start:
            return self.operations.input(value)
        return f"KS({place})"

    def _copies(self, always: bool) -> list[str]:
        """Slopes that no operation computed: stored as such where asked or where the state is overwritten too soon."""
        lines = []
        for place, value in enumerate(self.operations.nodes.outputs):
            start = place // UPDATE * UPDATE
            plain = value < 0 or value in self.operations.nodes.constants or value in self.operations.nodes.inputs
            if plain and (always or self.slope(place, start) == f"KS({place})"):
                lines.append(f"KS({place}) = {self.slope(place)};")
        return lines

    def _head(self, name: str, extra: str) -> list[str]:
        T = self.T
        return [
            PROLOGUE,
            f"#define BLK {self.block}",
            f"#define N {self.n}",
            f'extern "C" __global__ void __launch_bounds__({self.block}, {self.blocks}) {name}(',
            f"  {T}* __restrict__ X, const {T}* __restrict__ held, long long held_row, long long held_arm,",
            f"  const {T}* __restrict__ own, long long own_row, long long own_arm, long long arms,",
            f"  {T}* __restrict__ out, double t0, double early, double late, {extra}) {{",
            "const long long i = blockIdx.x * (long long)BLK + threadIdx.x;",
            "if (i >= arms) return;",
            "#define HELD(j) held[(j) * held_row + i * held_arm]",
            "#define OWN(j) own[(j) * own_row + i * own_arm]",
            "#define STATE(j) X[(j) * arms + i]",
        ]

    def _memory(self) -> list[str]:
        T = self.T
        if not self.shared:
            return [f"{T} xs[N];", "#define XS(j) xs[j]"]
        lines = [
            f"extern __shared__ {T} memory[];",
            f"volatile {T}* S = memory + threadIdx.x;",
            "#define SLOT(j) S[(j) * BLK]",
            f"#define XS(j) S[({self.first_state} + (j)) * BLK]",
        ]
        if self.allocation and self.allocation.slow:
            lines += [f"{T} far_memory[{self.allocation.slow}];", f"volatile {T}* far = far_memory + hidden_zero();"]
            lines += ["#define FAR(j) far[j]"]
        return lines

    # ------------------------------------------------------------------------ one evaluation

    def evaluate(self) -> str:
        """The slopes at t0, written to `out`."""
        lines = self._head("march", "double h, long long count") + self._memory()
        lines += ["#pragma unroll 1", "for (int j = 0; j < N; ++j) XS(j) = STATE(j);"]
        lines += [_now(self.T, "t0"), "#define KS(j) out[(j) * arms + i]"]
        lines += [*self.body(), *self._copies(always=True), "}"]
        return "\n".join(lines) + "\n"

    # --------------------------------------------------------------------------- fixed steps

    def rk4(self, unroll: int) -> str:
        """`count` classical steps of size h from t0."""
        T = self.T
        lines = self._head("march", "double h, long long count") + self._memory()
        lines += [f"const {T} h2 = h / 2, h3 = h / 3, h6 = h / 6, h1 = h;"]
        if self.shared:
            lines += [
                f"{T} run_memory[3 * N];",
                f"volatile {T} *k = run_memory + hidden_zero(), *sum = k + N, *x = sum + N;",
            ]
        else:
            lines += [f"{T} x[N], sum[N], k[N];"]
        lines += [
            "#define KS(j) k[j]",
            f"#pragma unroll {1 if self.shared else self.n}",
            f"for (int j = 0; j < N; ++j) {{ const {T} start = STATE(j); x[j] = start; XS(j) = start; }}",
            "for (long long step = 0; step < count; ++step) {",
            f"#pragma unroll {unroll}",
            "for (int stage = 0; stage < 4; ++stage) {",
            f"const {T} weight = stage == 0 || stage == 3 ? h6 : h3, ahead = stage < 2 ? h2 : h1;",
        ]
        if self.operations.reads_time:
            lines.append(_now(T, "t0 + (step + (stage == 0 ? 0.0 : stage == 3 ? 1.0 : 0.5)) * h"))
        lines += ["{", *self.body(), "}"]
        lines += self._update_shared() if self.shared else self._update_registers()
        lines += ["}", "}"]
        lines += [f"#pragma unroll {1 if self.shared else self.n}"]
        lines += ["for (int j = 0; j < N; ++j) {", f"const {T} last = XS(j);"]
        lines += ["STATE(j) = last;", "if (out) out[j * arms + i] = last;", "}", "}"]
        return "\n".join(lines) + "\n"

    def _update_registers(self) -> list[str]:
        return [
            *self._copies(always=True),
            "#pragma unroll",
            "for (int j = 0; j < N; ++j) {",
            "sum[j] = (stage == 0 ? x[j] : sum[j]) + weight * k[j];",
            "if (stage < 3) xs[j] = x[j] + ahead * k[j]; else xs[j] = x[j] = sum[j];",
            "}",
        ]

    def _update_shared(self) -> list[str]:
        lines = self._copies(always=False)
        for start in range(0, self.n, UPDATE):
            rows = range(start, min(start + UPDATE, self.n))
            lines.append("{")
            for j in rows:
                lines.append(f"const {self.T} k{j} = {self.slope(j, start)}, x{j} = x[{j}];")
                lines.append(f"const {self.T} s{j} = (stage == 0 ? x{j} : sum[{j}]) + weight * k{j};")
            for j in rows:
                lines.append(f"if (stage < 3) {{ sum[{j}] = s{j}; XS({j}) = x{j} + ahead * k{j}; }}")
                lines.append(f"else {{ x[{j}] = s{j}; XS({j}) = s{j}; }}")
            lines.append("}")
        return lines

    # ------------------------------------------------------------------------ adaptive steps

    def adaptive(self, A: NDArray[np.float64], clock: NDArray[np.float64], error: NDArray[np.float64]) -> str:
        """Every thread to time `end` by steps of its own; `control` holds step, steps taken and steps refused."""
        T, number = self.T, self.operations.precision.number
        stages = len(clock)

        def table(name: str, values: NDArray[np.float64]) -> str:
            flat = ", ".join(number(float(v)) for v in values.ravel())
            return f"__constant__ {T} {name}[{values.size}] = {{{flat}}};"

        extra = f"double end, double rtol, double atol, double largest, double most, {T}* __restrict__ control"
        lines = self._head("march", extra)
        lines[1:1] = [table("TABLE", A), table("CLOCK", clock), table("ERROR", error)]
        lines += self._memory()
        lines += [
            f"#define STAGES {stages}",
            f"{T} k[STAGES * N];",
            "#define KS(j) k[stage * N + (j)]",
            f"double t = t0; {T} h = control[i], taken = control[arms + i], refused = control[2 * arms + i];",
            f"{T} step = 0; bool last = false, fresh = true; int stage = 0;",
            "for (int j = 0; j < N; ++j) XS(j) = STATE(j);",
            "while (true) {",
            _now(T, "t + CLOCK[stage] * (double)step"),
            "{", *self.body(), "}", *self._copies(always=True),
            "if (fresh) {", *self._first_step(), "fresh = false; stage = 0; }",
            "else if (stage == STAGES - 1) {", *self._judge(), "stage = 0; }",
            "if (stage == 0) {",
            "if (!(t < end)) break;",
            f"const {T} left = end - t;",
            f"last = left <= h * {number(1.001)};",
            "step = last ? left : h;",
            "}",
            "++stage;",
            "for (int j = 0; j < N; ++j) {",
            f"{T} slope = 0;",
            "for (int l = 0; l < stage; ++l) slope += TABLE[stage * STAGES + l] * k[l * N + j];",
            "XS(j) = STATE(j) + step * slope;",
            "}",
            "}",
            "for (int j = 0; j < N; ++j) if (out) out[j * arms + i] = STATE(j);",
            "control[i] = h; control[arms + i] = taken; control[2 * arms + i] = refused;",
            "}",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _first_step(self) -> list[str]:
        T, f = self.T, self.operations.precision.suffix
        number = self.operations.precision.number
        return [
            f"if (!(h > 0)) {{ {T} states = {number(1e-10)}, slopes = {number(1e-10)};",
            "for (int j = 0; j < N; ++j) {",
            f"const {T} x = STATE(j), scale = ({T})atol + ({T})rtol * fabs{f}(x), a = x / scale, b = k[j] / scale;",
            "states += a * a; slopes += b * b; }",
            f"h = sqrt{f}(states / slopes) * {number(0.01)};",
            f"h = h > {number(1e-6)} ? h : {number(1e-6)}; h = h < ({T})largest ? h : ({T})largest; }}",
        ]

    def _judge(self) -> list[str]:
        T, f, number = self.T, self.operations.precision.suffix, self.operations.precision.number
        return [
            f"{T} norm = 0;",
            "for (int j = 0; j < N; ++j) {",
            f"{T} defect = 0; for (int l = 0; l < STAGES; ++l) defect += ERROR[l] * k[l * N + j];",
            f"const {T} a = fabs{f}(STATE(j)), b = fabs{f}(XS(j)), size = a > b ? a : b;",
            f"const {T} ratio = step * defect / (({T})atol + ({T})rtol * size); norm += ratio * ratio; }}",
            f"norm = sqrt{f}(norm / N);",
            "const bool good = norm <= 1;",
            f"{T} factor = norm <= {number(1e-6)} ? {number(GROW)} : {number(SAFETY)} * pow{f}(norm, {number(-0.2)});",
            f"factor = factor > {number(GROW)} ? {number(GROW)} : factor;",
            f"if (!(factor >= {number(SHRINK)})) factor = {number(SHRINK)};",
            f"{T} next = step * factor;",
            "if (good && last && h > next) next = h;",
            f"if (next > ({T})largest) next = largest;",
            "if (good) {",
            "t = last ? end : t + (double)step; taken += 1;",
            "for (int j = 0; j < N; ++j) { STATE(j) = XS(j); k[j] = k[(STAGES - 1) * N + j]; }",
            "} else refused += 1;",
            "h = next;",
            f"if (t < end && (h < end * {number(LEAST_STEP)} || taken + refused >= most || h != h)) {{",
            'for (int j = 0; j < N; ++j) STATE(j) = nan(""); t = end; }',
        ]
