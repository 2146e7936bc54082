"""CUDA kernels with the whole stepping loop inside: fixed steps in the short form of a method, or an embedded pair with
steps chosen for each thread.

Numbers come from the tableau, decisions from `step_control`. The loops are written here and not translated from those
of the packs, since the places of state, slopes and sums (registers, shared memory, blocks of `UPDATE` components) were
tuned on the device.
"""

from __future__ import annotations

from collections.abc import Sequence

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array
from pliant.compute.cuda.kernel_source import CudaKernel
from pliant.compute.cuda.text import DOUBLE, PROLOGUE, CudaOperations, by_stage
from pliant.integrators.cuda.c_functions import controller
from pliant.integrators.step_control import (
    LEAST_FIRST,
    LEAST_MEMORY,
    MOST_CLOSING,
    NEARLY_CLOSED,
    NEARLY_CLOSED_SINGLE,
    REACH,
    SINGULAR,
    SINGULAR_SINGLE,
    TINY,
    exponents,
)

SLOPES = "k[stage * N + (j)]"
"""Place of the slopes of a stage of adaptive steps."""
UPDATE = 12
"""Components updated together: all loads first, then all stores."""


def _now(kind: str, time: str) -> str:
    """A line that sets the time of an evaluation, kept inside the segment."""
    return f"const {kind} NOW = fmax(fmin({time}, late), early); (void)NOW;"


def closing_rounds(closing: CudaOperations, body: Sequence[str], write: str, unroll: int = 1) -> list[str]:
    """Lines of Newton's steps towards closed loops, as in `pack_loop.close_loops`: `body` computes the nearer state in
    `closed`, `write` stores its component j, called `next`. A state that cannot be closed becomes NaN."""
    double, number = closing.precision.name == "double", closing.precision.number
    near = number(NEARLY_CLOSED if double else NEARLY_CLOSED_SINGLE)
    singular = number(SINGULAR if double else SINGULAR_SINGLE)
    return [
        f"for (int left = {MOST_CLOSING - 1}; left >= 0; --left) {{",
        "{", *body, *closing.copies(), "}",
        f"const bool near = closed[N] <= {near}, sound = closed[N + 1] > {singular} && (near || left > 0);",
        f"#pragma unroll {unroll}",
        "for (int j = 0; j < N; ++j) {",
        f'const {closing.precision.type} next = sound ? closed[j] : nan(""); {write} }}',
        "if (near || !sound) break;",
        "}",
    ]  # fmt: skip


class StepKernel(CudaKernel):
    """Write one kernel that runs whole segments.

    Parameters
    ----------
    closing : CudaOperations, optional
        Operations that bring a state nearer to closed loops, after every step.
    approach : CudaOperations, optional
        Gaps and speeds of bodies that adaptive steps must not leap over, as in `step_loops.contact_steps`.
    """

    def __init__(
        self, operations: CudaOperations, shared: bool, values: int | None, slots: int, block: int, blocks: int,
        closing: CudaOperations | None = None, approach: CudaOperations | None = None,
    ) -> None:  # fmt: skip
        further = [each for each in (closing, approach) if each is not None]
        super().__init__(operations, shared, values, slots, block, blocks, further)
        self.closing, self.approach = closing, approach

    def memory(self) -> list[str]:
        """Lines that declare the state, kept values and, where loops are closed, the nearer state."""
        lines, T = super().memory(), self.T
        if not self.closing:
            return lines
        if not self.shared:
            return [*lines, f"{T} closed[N + 2];"]
        return [*lines, f"{T} closed_memory[N + 2];", f"volatile {T}* closed = closed_memory + hidden_zero();"]

    def _closed(self) -> list[str]:
        """Lines that close the loops of the state in XS at the time NOW."""
        if self.closing is None:
            return []
        body = self.body(self.closing)
        return [
            "#undef KS",
            "#define KS(j) closed[j]",
            *closing_rounds(self.closing, body, "XS(j) = next;", 1 if self.shared else self.n),
            "#undef KS",
        ]

    def slope(self, place: int, start: int = 0) -> str:
        """The slope of component `place` behind the body; inputs are read in place, those of x only from `start` on."""
        nodes = self.operations.nodes
        value = nodes.outputs[place]
        if value < 0:
            return self.operations.precision.number(0.0)
        if value in nodes.constants:
            return self.operations.precision.number(nodes.constants[value])
        if value in nodes.inputs and not 1 <= nodes.inputs[value] <= start:
            return self.operations.input(value)
        return f"KS({place})"

    def _kept(self) -> list[str]:
        """Lines that store slopes which are inputs, where the state is overwritten before they are read."""
        nodes = self.operations.nodes
        places = [place for place, value in enumerate(nodes.outputs) if value in nodes.inputs]
        kept = [place for place in places if self.slope(place, place // UPDATE * UPDATE) == f"KS({place})"]
        return [f"KS({place}) = {self.slope(place)};" for place in kept]

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

    # ------------------------------------------------------------------------ one evaluation

    def evaluate(self) -> str:
        """A kernel that writes the slopes at t0 to `out`."""
        lines = self._head("steps", "double h, long long count") + self.memory()
        lines += ["#pragma unroll 1", "for (int j = 0; j < N; ++j) XS(j) = STATE(j);"]
        lines += [_now(self.T, "t0"), "#define KS(j) out[(j) * arms + i]"]
        lines += [*self.body(), *self.operations.copies(), "}"]
        return "\n".join(lines) + "\n"

    # --------------------------------------------------------------------------- fixed steps

    def fixed(self, method: ExplicitTableau, unroll: int) -> str:
        """A kernel of `count` steps of length h from t0."""
        T, (clock, weight, ahead) = self.T, zip(*method.low_storage)
        last = len(clock) - 1
        parts = {v: f"h{k}" for k, v in enumerate(dict.fromkeys((*weight, *ahead)))}
        lines = self._head("steps", "double h, long long count") + self.memory()
        lines += [f"const {T} {', '.join(f'{name} = h * {DOUBLE.number(v)}' for v, name in parts.items())};"]
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
            f"for (int stage = 0; stage <= {last}; ++stage) {{",
            f"const {T} weight = {by_stage(weight, parts.__getitem__)}, ahead = {by_stage(ahead, parts.__getitem__)};",
        ]
        if self.operations.reads_time:
            lines.append(_now(T, f"t0 + (step + ({by_stage(clock, DOUBLE.number)})) * h"))
        lines += ["{", *self.body(), "}"]
        lines += self._update_shared(last) if self.shared else self._update_registers(last)
        lines += ["}"]
        if self.closing:
            lines += ["{", _now(T, "t0 + (step + 1) * h"), *self._closed(), "}", "#define KS(j) k[j]"]
            lines += [f"#pragma unroll {1 if self.shared else self.n}", "for (int j = 0; j < N; ++j) x[j] = XS(j);"]
        lines += [*self.operations.normalized("x[{0}]", ["x[{0}] = XS({0}) = x[{0}] / LENGTH;"]), "}"]
        lines += [f"#pragma unroll {1 if self.shared else self.n}"]
        lines += ["for (int j = 0; j < N; ++j) {", f"const {T} last = XS(j);"]
        lines += ["STATE(j) = last;", "if (out) out[j * arms + i] = last;", "}", "}"]
        return "\n".join(lines) + "\n"

    def _update_registers(self, last: int) -> list[str]:
        return [
            *self.operations.copies(),
            "#pragma unroll",
            "for (int j = 0; j < N; ++j) {",
            "sum[j] = (stage == 0 ? x[j] : sum[j]) + weight * k[j];",
            f"if (stage < {last}) xs[j] = x[j] + ahead * k[j]; else xs[j] = x[j] = sum[j];",
            "}",
        ]

    def _update_shared(self, last: int) -> list[str]:
        lines = self._kept()
        for start in range(0, self.n, UPDATE):
            rows = range(start, min(start + UPDATE, self.n))
            lines.append("{")
            for j in rows:
                lines.append(f"const {self.T} k{j} = {self.slope(j, start)}, x{j} = x[{j}];")
                lines.append(f"const {self.T} s{j} = (stage == 0 ? x{j} : sum[{j}]) + weight * k{j};")
            for j in rows:
                lines.append(f"if (stage < {last}) {{ sum[{j}] = s{j}; XS({j}) = x{j} + ahead * k{j}; }}")
                lines.append(f"else {{ x[{j}] = s{j}; XS({j}) = s{j}; }}")
            lines.append("}")
        return lines

    # ------------------------------------------------------------------------ adaptive steps

    def adaptive(self, method: ExplicitTableau) -> str:
        """A kernel that takes every thread to time `end` by steps of its own. `control` keeps numbers of each thread
        between launches: step, last error, whether the last step was refused, steps taken, steps refused."""
        T, number = self.T, self.operations.precision.number

        def table(name: str, values: Array) -> str:
            flat = ", ".join(number(float(v)) for v in values.ravel())
            return f"__constant__ {T} {name}[{values.size}] = {{{flat}}};"

        extra = f"double end, double rtol, double atol, double largest, double most, {T}* __restrict__ control"
        lines = self._head("steps", extra)
        tables = [table("TABLE", method.A), table("CLOCK", method.c), table("ERROR", method.error)]
        lines[1:1] = [*tables, controller(self.operations.precision, meets=self.approach is not None)]
        lines += self.memory()
        gaps = 0 if self.approach is None else len(self.approach.nodes.outputs) // 2
        lines += [f"{T} near[{2 * gaps}], ahead[{2 * gaps}];"] if gaps else []
        lines += [
            f"#define STAGES {method.stages}",
            f"{T} k[STAGES * N];",
            f"#define KS(j) {SLOPES}",
            f"double t = t0; {T} h = control[i], previous = control[arms + i], again = control[2 * arms + i];",
            f"{T} taken = control[3 * arms + i], refused = control[4 * arms + i];",
            f"{T} step = 0; bool last = false, fresh = true; int stage = 0;",
            "for (int j = 0; j < N; ++j) XS(j) = STATE(j);",
            "while (true) {",
            _now(T, "t + CLOCK[stage] * (double)step"),
            "{", *self.body(), "}", *self.operations.copies(),
            "if (fresh) {", *self._first_step(), *self._look("near"), "fresh = false; stage = 0; }",
            "else if (stage == STAGES - 1) {", *self._judge(*exponents(method.order), gaps), "stage = 0;",
            "if (fresh && t < end) continue; }",
            "if (stage == 0) {",
            "if (!(t < end)) break;",
            f"last = t + {number(REACH)} * h >= end;",
            f"step = last ? ({T})(end - t) : h;",
            "}",
            "++stage;",
            "for (int j = 0; j < N; ++j) {",
            f"{T} slope = 0;",
            "for (int l = 0; l < stage; ++l) slope += TABLE[stage * STAGES + l] * k[l * N + j];",
            "XS(j) = STATE(j) + step * slope;",
            "}",
            "}",
            "for (int j = 0; j < N; ++j) if (out) out[j * arms + i] = STATE(j);",
            "control[i] = h; control[arms + i] = previous; control[2 * arms + i] = again;",
            "control[3 * arms + i] = taken; control[4 * arms + i] = refused;",
            "}",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _norms(self, **sums: tuple[str, str]) -> list[str]:
        """Lines of root mean squares of errors `scaled(...)` over all components."""
        T, f = self.T, self.operations.precision.suffix
        lines = [f"{T} {name} = 0;" for name in sums]
        lines += ["for (int j = 0; j < N; ++j) {", f"const {T} x = STATE(j);"]
        for name, (what, after) in sums.items():
            size = f"scaled(value, x, {after}, ({T})rtol, ({T})atol)"
            lines.append(f"{{ {what} const {T} e = {size}; {name} += e * e; }}")
        return [*lines, "}", *(f"{name} = sqrt{f}({name} / N);" for name in sums)]

    def _first_step(self) -> list[str]:
        T, number = self.T, self.operations.precision.number
        values = {"state": (f"const {T} value = x;", "x"), "rate": (f"const {T} value = k[j];", "x")}
        return [
            "if (!(h > 0)) {",
            *self._norms(**values),
            f"h = smaller(larger(first_step(state, rate), {number(LEAST_FIRST)}), ({T})largest); }}",
        ]

    def _look(self, name: str) -> list[str]:
        """Lines that evaluate gaps and speeds at the state in XS."""
        if self.approach is None:
            return []
        body = [*self.body(self.approach), *self.approach.copies()]
        return ["#undef KS", f"#define KS(j) {name}[j]", "{", *body, "}", "#undef KS", f"#define KS(j) {SLOPES}"]

    def _allowed(self, gaps: int) -> list[str]:
        """Lines that compute `allowed`: below the step where it leaps over something, above it elsewhere."""
        if not gaps:
            return []
        T, one = self.T, self.operations.precision.number(1.0)
        return [
            *self._look("ahead"),
            f"{T} allowed = 2 * step;",
            f"for (int g = 0; g < {gaps}; ++g) {{",
            f"const {T} speed = larger(near[{gaps} + g], ahead[{gaps} + g]);",
            f"if (leaps(near[g], ahead[g], speed, step, {one})) allowed = smaller(allowed, reach(near[g], speed)); }}",
        ]

    def _judge(self, alpha: float, beta: float, gaps: int) -> list[str]:
        T, number = self.T, self.operations.precision.number
        defect = f"{T} value = 0; for (int l = 0; l < STAGES; ++l) value += ERROR[l] * k[l * N + j]; value *= step;"
        return [
            *self._norms(error=(defect, f"({T})XS(j)")),
            *self._allowed(gaps),
            f"const bool good = error <= 1{' && allowed >= step' if gaps else ''};",
            f"const {T} ratio = step_ratio(error, previous, again > 0, {number(alpha)}, {number(beta)});",
            f"h = smaller(next_step(step, h, ratio), ({T})largest);",
            *(["if (error <= 1 && allowed < step) h = allowed;"] if gaps else []),
            "again = good ? 0 : 1;",
            "if (good) {",
            f"t = last ? end : t + (double)step; taken += 1; previous = larger(error, {number(LEAST_MEMORY)});",
            *self._settled(),
            *([f"for (int g = 0; g < {2 * gaps}; ++g) near[g] = ahead[g];"] if gaps else []),
            "for (int j = 0; j < N; ++j) { STATE(j) = XS(j); k[j] = k[(STAGES - 1) * N + j]; }",
            "} else refused += 1;",
            f"if (t < end && (h < end * {number(TINY)} || taken + refused >= most)) {{",
            'for (int j = 0; j < N; ++j) STATE(j) = nan(""); t = end; }',
        ]

    def _settled(self) -> list[str]:
        """Lines that close loops, whose slopes are then evaluated again, and normalize quaternions with their rates."""
        closed = ["{", _now(self.T, "t"), *self._closed(), "}", f"#define KS(j) {SLOPES}", "fresh = true;"]
        scale = ["XS({0}) = XS({0}) / LENGTH;", "k[(STAGES - 1) * N + {0}] /= LENGTH;"]
        return [*(closed if self.closing else []), *self.operations.normalized("XS({0})", scale)]
