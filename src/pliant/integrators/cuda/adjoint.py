"""The loop of `adjoint_loop` on a graphics processor: one thread runs one arm, forward and back."""

from __future__ import annotations

import numpy as np

from pliant.algebra.tableau import ExplicitTableau
from pliant.arrays import Array
from pliant.compute.cuda.device import cupy
from pliant.compute.cuda.program import nodes_of
from pliant.compute.cuda.text import DOUBLE, PROLOGUE, CudaOperations
from pliant.compute.tape.tape import Tape
from pliant.errors import UnsupportedModel
from pliant.integrators.packs.adjoint import Adjoints, Differentiated
from pliant.integrators.packs.pack import TimeSegments

BLOCK = 64
LONGEST = 12_000
"""Operations of the product beyond which the compiler of the device takes minutes."""
MEMORY_SHARE = 0.6
"""Part of the free device memory that kept stages may take."""

LOOP = """
extern "C" __global__ void __launch_bounds__(BLK) adjoints(
  double* X, const double* W, long long w_row, long long w_arm, const double* P, long long p_row, long long p_arm,
  const double* T, const double* H, const double* EARLY, const double* LATE, const long long* BEGIN,
  const long long* PIECE, long long segments, double end_time, long long block, long long number,
  const long long* SEGMENT, double* kept, double* starts, double* value, double* by_x, double* by_w, double* by_p,
  long long arms) {
  const long long i = blockIdx.x * (long long)BLK + threadIdx.x;
  if (i >= arms) return;
  const double* p = P + i * p_arm;
  const double* held = W + i * w_arm;
  const long long steps = BEGIN[segments];
  double x[N], xs[N], out[OUT], total[N], costate[N], v[N], gathered_w[BY_W + 1], gathered_p[BY_P + 1];
  for (int j = 0; j < N; ++j) { x[j] = X[j * arms + i]; costate[j] = 0; total[j] = 0; }
  for (int j = 0; j < BY_W; ++j) gathered_w[j] = 0;
  for (int j = 0; j < BY_P; ++j) gathered_p[j] = 0;
  for (long long pass = 0; pass < 2 * number - 1; ++pass) {
    const long long b = pass < number ? pass : 2 * number - 2 - pass;
    const bool keep = pass >= number - 1;
    const long long first = b * block, end = first + block < steps ? first + block : steps;
    long long s = SEGMENT[b];
    for (int j = 0; j < N; ++j) {
      if (pass < number) starts[(b * N + j) * arms + i] = x[j]; else x[j] = starts[(b * N + j) * arms + i];
      xs[j] = x[j];
    }
    for (long long step = first; step < end; ++step) {
      if (step >= BEGIN[s + 1]) ++s;
      const double h = H[s];
      const double* w = held + PIECE[s] * HELDS * w_row;
      double* kept_step = kept + (step - first) * STEP_ROWS * arms + i;
#pragma unroll 1
      for (int stage = 0; stage < STAGES; ++stage) {
        if (keep) for (int j = 0; j < N; ++j) kept_step[(stage * N + j) * arms] = xs[j];
        rates(fmax(fmin(T[s] + (step - BEGIN[s] + CLOCK[stage]) * h, LATE[s]), EARLY[s]), xs, w, w_row, p, p_row, v,
              out);
        const double weight = h * WEIGHT[stage], ahead = h * AHEAD[stage];
        for (int j = 0; j < N; ++j) {
          total[j] = (stage == 0 ? x[j] : total[j]) + weight * out[j];
          if (stage < STAGES - 1) xs[j] = x[j] + ahead * out[j]; else x[j] = xs[j] = total[j];
        }
      }
      for (int turn = 0; turn < TURNS; ++turn) {
        double* q = x + TURN[turn];
        if (keep) for (int j = 0; j < 4; ++j) kept_step[(STAGES * N + 4 * turn + j) * arms] = q[j];
        const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        for (int j = 0; j < 4; ++j) { q[j] /= length; xs[TURN[turn] + j] = q[j]; }
      }
    }
    if (pass == number - 1) {
      ending(end_time, x, held + PIECE[segments - 1] * HELDS * w_row, w_row, p, p_row, v, out);
      value[i] = out[0];
      for (int j = 0; j < N; ++j) { X[j * arms + i] = x[j]; costate[j] = out[1 + j]; }
      for (int j = 0; j < BY_P; ++j) gathered_p[j] = out[1 + N + j];
    }
    if (!keep) continue;
    for (long long step = end - 1; step >= first; --step) {
      if (step < BEGIN[s]) {
        for (int j = 0; j < BY_W; ++j) { by_w[(PIECE[s] * BY_W + j) * arms + i] += gathered_w[j]; gathered_w[j] = 0; }
        --s;
      }
      const double h = H[s];
      const double* w = held + PIECE[s] * HELDS * w_row;
      const double* kept_step = kept + (step - first) * STEP_ROWS * arms + i;
      for (int turn = 0; turn < TURNS; ++turn) {
        double q[4], square = 0, along = 0, *l = costate + TURN[turn];
        for (int j = 0; j < 4; ++j) {
          q[j] = kept_step[(STAGES * N + 4 * turn + j) * arms];
          square += q[j] * q[j];
          along += q[j] * l[j];
        }
        for (int j = 0; j < 4; ++j) l[j] = (l[j] - q[j] * along / square) / sqrt(square);
      }
#pragma unroll 1
      for (int stage = STAGES - 1; stage >= 0; --stage) {
        const double weight = h * WEIGHT[stage], ahead = h * AHEAD[stage];
        for (int j = 0; j < N; ++j) {
          xs[j] = kept_step[(stage * N + j) * arms];
          v[j] = weight * costate[j] + (stage < STAGES - 1 ? ahead * out[j] : 0.0);
        }
        product(fmax(fmin(T[s] + (step - BEGIN[s] + CLOCK[stage]) * h, LATE[s]), EARLY[s]), xs, w, w_row, p, p_row, v,
                out);
        for (int j = 0; j < N; ++j) total[j] = out[j] + (stage == STAGES - 1 ? costate[j] : total[j]);
        for (int j = 0; j < BY_W; ++j) gathered_w[j] += out[N + j];
        for (int j = 0; j < BY_P; ++j) gathered_p[j] += out[N + BY_W + j];
      }
      for (int j = 0; j < N; ++j) costate[j] = total[j];
    }
    for (int j = 0; j < BY_W; ++j) { by_w[(PIECE[s] * BY_W + j) * arms + i] += gathered_w[j]; gathered_w[j] = 0; }
  }
  for (int j = 0; j < N; ++j) by_x[j * arms + i] = costate[j];
  for (int j = 0; j < BY_P; ++j) by_p[j * arms + i] = gathered_p[j];
}
"""


def _function(name: str, tape: Tape, own: int) -> list[str]:
    """A tape as a function of the device; entries of p beyond `own` are those of v."""
    n, held = tape.in_sizes[1:3]
    nodes = nodes_of(tape)
    operations = CudaOperations(nodes, DOUBLE, (n, held, sum(tape.in_sizes[3:])))
    lines = []
    for place, value in enumerate(nodes.outputs):  # outputs that no operation computes
        if value < 0 or value in nodes.constants:
            lines.append(f"k[{place}] = {DOUBLE.number(nodes.constants.get(value, 0.0))};")
        elif value in nodes.inputs:
            lines.append(f"k[{place}] = {operations.input(value)};")
    return [
        f"#define OWN(j) ((j) < {own} ? p[((j) < {own} ? (j) : 0) * p_row] : v[(j) < {own} ? 0 : (j) - {own}])",
        f"__device__ void {name}(const double NOW, const double* x, const double* w, long long w_row, const double* p,",
        "  long long p_row, const double* v, double* k) {",
        *operations.plain(), *lines, "}", "#undef OWN",
    ]  # fmt: skip


def source(run: Differentiated, method: ExplicitTableau) -> str:
    """CUDA source of a run forward and back."""
    if run.closing is not None:
        raise UnsupportedModel("device: gradients on a GPU are not built yet for closed loops; use device='cpu'")
    tapes = {name: Tape.from_function(getattr(run, name)) for name in ("rates", "product", "ending")}
    longest = max(len(tape) for tape in tapes.values())
    if longest > LONGEST:
        raise UnsupportedModel(
            f"device: the derivatives of these equations have {longest} operations, expected at most {LONGEST} for "
            "gradients on a GPU; use device='cpu'"
        )
    n, held, own = tapes["rates"].in_sizes[1:]
    clock, weight, ahead = zip(*method.low_storage)
    sizes = {
        "BLK": BLOCK, "N": n, "HELDS": held, "STAGES": len(clock), "TURNS": len(run.quaternions), "BY_W": run.by_w,
        "BY_P": run.by_p, "OUT": max(n + run.by_w + run.by_p, 1 + n + run.by_p),
        "STEP_ROWS": len(clock) * n + 4 * len(run.quaternions),
    }  # fmt: skip
    tables = [
        f"__constant__ double {name}[] = {{{', '.join(map(DOUBLE.number, values))}}};"
        for name, values in (("CLOCK", clock), ("WEIGHT", weight), ("AHEAD", ahead))
    ]
    turns = ", ".join(map(str, run.quaternions or (0,)))
    lines = [PROLOGUE, *(f"#define {name} {size}" for name, size in sizes.items()), *tables]
    lines += [f"__constant__ int TURN[] = {{{turns}}};"]
    lines += ["#define XS(j) x[j]", "#define HELD(j) w[(j) * w_row]", "#define KS(j) k[j]"]
    for name, tape in tapes.items():
        lines += _function(name, tape, own)
    return "\n".join(lines) + LOOP


class DeviceAdjoints:
    """Runs forward and back on the current device, with the interface of `AdjointIntegrator`."""

    def __init__(self, run: Differentiated, method: ExplicitTableau) -> None:
        self.cp = cupy()
        self.run, self.n = run, run.rates.size1_out(0)
        self.step_rows = len(method.low_storage) * self.n + 4 * len(run.quaternions)
        try:
            module = self.cp.RawModule(code=source(run, method), options=("--std=c++17",))
            self.kernel = module.get_function("adjoints")
        except UnsupportedModel:
            raise
        except Exception as error:
            raise UnsupportedModel(f"The GPU code of these gradients could not be compiled: {error}") from error

    def rows(self, steps: int, block: int) -> int:
        """Numbers that a run keeps when stages are kept for `block` steps."""
        return block * self.step_rows + -(-steps // block) * self.n

    @property
    def room(self) -> float:
        """Bytes that kept stages may take."""
        return float(MEMORY_SHARE * self.cp.cuda.Device().mem_info[0])

    def __call__(self, x: Array, w: Array, p: Array, plan: TimeSegments, t_end: float, block: int) -> Adjoints:
        """Costs and gradients, in slices of arms whose kept stages fit the device."""
        steps = int(plan.count.sum())
        most = max(BLOCK, int(self.room / (8 * self.rows(steps, block))))
        slices = [slice(first, first + most) for first in range(0, len(x), most)]
        inputs = [[a if len(a) == 1 else a[s] for a in (w, p)] for s in slices]
        parts = [self._slice(x[s], W, P, plan, t_end, block) for s, (W, P) in zip(slices, inputs)]
        names = ("value", "end", "by_x", "by_w", "by_p")
        return Adjoints(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _slice(self, x: Array, w: Array, p: Array, plan: TimeSegments, t_end: float, block: int) -> Adjoints:
        cp, B, pieces = self.cp, len(x), w.shape[1]
        begin = np.concatenate([[0], np.cumsum(plan.count)])
        first = np.arange(0, begin[-1], block)
        segment = (np.searchsorted(begin, first, side="right") - 1).astype(np.int64)
        columns = [cp.array(np.ascontiguousarray(a.reshape(len(a), -1).T)) for a in (x, w, p)]
        X, W, P = columns
        strides = [(np.int64(a.shape[1]), np.int64(a.shape[1] > 1)) for a in (W, P)]
        times = [cp.array(a) for a in (plan.t, plan.h, *plan.sides())]
        counts = [cp.array(np.asarray(a, dtype=np.int64)) for a in (begin, plan.piece, segment)]
        kept = cp.empty(block * self.step_rows * B)
        starts = cp.empty(len(first) * self.n * B)
        filled = [cp.zeros(size) for size in ((B,), (self.n, B), (pieces * self.run.by_w, B), (self.run.by_p, B))]
        arguments = (X, W, *strides[0], P, *strides[1], *times, counts[0], counts[1], np.int64(len(plan.t)),
                     np.float64(t_end), np.int64(block), np.int64(len(first)), counts[2], kept, starts, *filled,
                     np.int64(B))  # fmt: skip
        self.kernel((-(-B // BLOCK),), (BLOCK,), arguments)
        value, by_x, by_w, by_p, end = (np.asarray(cp.asnumpy(a)) for a in (*filled, X))
        return Adjoints(value, end.T, by_x.T, by_w.T.reshape(B, pieces, self.run.by_w), by_p.T)
