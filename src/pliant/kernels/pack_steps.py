"""Runge-Kutta steps of one pack of states in LLVM IR: fixed steps, and steps with an error control lane by lane.

The state of a pack lives in scratch memory, one row a component, one lane a state:

    in = [t, x, w, p]   the inputs of the right-hand side      x     the state at the last step
    k                   slopes, one block of n rows a stage    own   t, h, steps taken, steps refused
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.kernels.lanes import Lanes
from pliant.kernels.pack_text import Text

OWN = 4
"""Rows of a pack's own: time, step, steps taken, steps refused."""
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
LEAST_STEP = 1e-14
"""Steps below this fraction of the time are a breakdown."""


@dataclass(frozen=True)
class Layout:
    """Rows of a pack's scratch memory, in packs."""

    n: int
    n_in: int
    slopes: int
    work: int
    reads_time: bool

    @property
    def sizes(self) -> dict[str, int]:
        return {"in": self.n_in, "x": self.n, "k": self.n * self.slopes, "own": OWN, "work": self.work}

    @property
    def total(self) -> int:
        return sum(self.sizes.values())

    def pointers(self, text: Text, scratch: str) -> dict[str, str]:
        """Where each buffer starts."""
        found, start = {}, 0
        for name, size in self.sizes.items():
            found[name] = text.at(scratch, start)
            start += size
        return found


STEPS = (
    "internal void @steps(ptr noalias %scratch, double %t, double %h, double %early, double %late, i64 %count, "
    "ptr %settings) noinline"
)


def _body(text: Text, layout: Layout, at: dict[str, str], time: str, k: str) -> None:
    """Slopes k at a time, which is kept inside the segment."""
    if layout.reads_time:
        inside = text.larger(text.smaller(time, text.splat("%late")), text.splat("%early"))
        text.store(inside, at["in"])
    text.do(f"call void @body(ptr {at['in']}, ptr {k}, ptr {at['work']})")


def rk4(layout: Layout, lanes: Lanes, fma: bool) -> str:
    """`void @steps(scratch, t, h, early, late, count, settings)`: `count` classical steps of size `h` from `t`."""
    text = Text(lanes, fma)
    at = layout.pointers(text, "%scratch")
    n, xs, c = layout.n, text.at(at["in"], 1), lanes.constant
    k, total = at["k"], text.at(at["k"], n)
    h = text.splat("%h")
    half, third, sixth = (text.binary("fmul", h, c(f)) for f in (1 / 2, 1 / 3, 1 / 6))
    with text.loop("%count") as i:
        number = text.let(f"sitofp i64 {i} to double")
        for stage, (clock, weight, ahead) in enumerate(
            ((0.0, sixth, half), (0.5, third, half), (0.5, third, h), (1.0, sixth, h))
        ):
            shifted = text.let(f"fadd double {number}, {Lanes(1).constant(clock)}")
            advance = text.let(f"fmul double {shifted}, %h")
            _body(text, layout, at, text.splat(text.let(f"fadd double %t, {advance}")), k)
            with text.loop(n) as j:
                slope, x = text.load(k, j), text.load(at["x"], j)
                gathered = text.fma(weight, slope, x if stage == 0 else text.load(total, j))
                if stage < 3:
                    text.store(gathered, total, j)
                    text.store(text.fma(ahead, slope, x), xs, j)
                else:
                    text.store(gathered, at["x"], j)
                    text.store(gathered, xs, j)
    text.do("ret void")
    return text.function(STEPS)


def _combination(
    text: Text, lanes: Lanes, k: str, n: int, j: str, weights: NDArray[np.float64], start: str | None
) -> str:
    """start + sum of weights times slopes, at row j; rows of slopes are n apart."""
    result = start
    for stage in np.flatnonzero(weights).tolist():
        row = text.let(f"add i64 {j}, {stage * n}")
        slope, weight = text.load(k, row), lanes.constant(float(weights[stage]))
        result = text.binary("fmul", weight, slope) if result is None else text.fma(weight, slope, result)
    assert result is not None
    return result


def _inverse_fifth_root(text: Text, lanes: Lanes, x: str) -> str:
    """x^(-1/5) to a thousandth for x in the ordinary range: the exponent by its bits, then Newton's steps."""
    T, I, c = lanes.type, lanes.int_type, lanes.constant
    one = struct.unpack("<q", struct.pack("<d", 1.0))[0]
    bits = text.let(f"bitcast {T} {x} to {I}")
    fifth = text.let(f"sdiv {I} {bits}, {lanes.int_constant(5)}")
    y = text.let(f"bitcast {I} {text.let(f'sub {I} {lanes.int_constant(one + one // 5)}, {fifth}')} to {T}")
    for _ in range(2):  # y <- y (6 - x y^5) / 5
        square = text.binary("fmul", y, y)
        fifth_power = text.binary("fmul", text.binary("fmul", square, square), y)
        rest = text.binary("fsub", c(1.2), text.binary("fmul", text.binary("fmul", c(0.2), x), fifth_power))
        y = text.binary("fmul", y, rest)
    return y


def _scaled_square(text: Text, value: str, size: str, settings: tuple[str, str]) -> str:
    rtol, atol = settings
    ratio = text.binary("fdiv", value, text.fma(rtol, size, atol))
    return text.binary("fmul", ratio, ratio)


def dopri5(
    layout: Layout,
    lanes: Lanes,
    fma: bool,
    A: NDArray[np.float64],
    clock: NDArray[np.float64],
    error: NDArray[np.float64],
) -> str:
    """`void @steps(scratch, t, end, count, settings)`: every lane to time `end` by steps of its own.

    `settings` = [rtol, atol, largest step, largest number of steps]. A lane whose step vanishes or that takes too many
    gets NaN and is through.
    """
    text = Text(lanes, fma)
    at = layout.pointers(text, "%scratch")
    n, xs, c, k = layout.n, text.at(at["in"], 1), lanes.constant, at["k"]
    rtol, atol, largest, most = (text.splat(text.load("%settings", i, "double")) for i in range(4))
    norm = text.let(f"alloca {lanes.type}, align 64")
    start, end = text.splat("%t"), text.splat("%h")
    text.store(start, at["own"], 0)
    _body(text, layout, at, start, k)
    _first_step(text, lanes, at, n, (rtol, atol), largest)
    with text.forever() as leave:
        t, h = text.load(at["own"], 0), text.load(at["own"], 1)
        active = text.compare("olt", t, end)
        some = text.any(active)
        text.leave(text.let(f"xor i1 {some}, true"), leave)
        left = text.binary("fsub", end, t)
        last = text.compare("ole", left, text.binary("fmul", h, c(1.001)))
        step = text.select(last, left, h)
        for stage in range(1, len(clock)):
            with text.loop(n) as j:
                slope = _combination(text, lanes, k, n, j, A[stage], None)
                text.store(text.fma(step, slope, text.load(at["x"], j)), xs, j)
            _body(text, layout, at, text.fma(c(float(clock[stage])), step, t), text.at(k, stage * n))
        text.store(c(0.0), norm)
        with text.loop(n) as j:
            defect = text.binary("fmul", step, _combination(text, lanes, k, n, j, error, None))
            size = text.larger(text.unary("fabs", text.load(at["x"], j)), text.unary("fabs", text.load(xs, j)))
            text.store(text.binary("fadd", text.load(norm), _scaled_square(text, defect, size, (rtol, atol))), norm)
        _judge(text, lanes, layout, at, norm, (t, h, step, end), (active, last), (largest, most))
    text.do("ret void")
    return text.function(STEPS)


def _first_step(text: Text, lanes: Lanes, at: dict[str, str], n: int, settings: tuple[str, str], largest: str) -> None:
    """Where a lane has no step yet: a hundredth of the scaled state over the scaled slope, [HNW] II.4."""
    c = lanes.constant
    h = text.load(at["own"], 1)
    sums = [text.let(f"alloca {lanes.type}, align 64") for _ in range(2)]
    for place in sums:
        text.store(c(1e-10), place)
    with text.loop(n) as j:
        x = text.load(at["x"], j)
        for place, value in zip(sums, (x, text.load(at["k"], j))):
            square = _scaled_square(text, value, text.unary("fabs", x), settings)
            text.store(text.binary("fadd", text.load(place), square), place)
    guess = text.unary("sqrt", text.binary("fdiv", text.load(sums[0]), text.load(sums[1])))
    guess = text.smaller(text.larger(text.binary("fmul", guess, c(0.01)), c(1e-6)), largest)
    text.store(text.select(text.compare("ole", h, c(0.0)), guess, h), at["own"], 1)


def _judge(
    text: Text, lanes: Lanes, layout: Layout, at: dict[str, str], norm: str, times: tuple[str, str, str, str],
    masks: tuple[str, str], bounds: tuple[str, str],
) -> None:  # fmt: skip
    """Take or refuse the step of each lane, and choose its next one."""
    n, c, B = layout.n, lanes.constant, lanes.bool_type
    t, h, step, end = times
    active, last = masks
    largest, most = bounds
    xs, k = text.at(at["in"], 1), at["k"]
    error = text.unary("sqrt", text.binary("fdiv", text.load(norm), c(float(n))))
    bounded = text.larger(text.smaller(error, c(1e6)), c(1e-6))
    factor = text.binary("fmul", c(SAFETY), _inverse_fifth_root(text, lanes, bounded))
    factor = text.smaller(text.larger(factor, c(SHRINK)), c(GROW))
    good = text.compare("ole", error, c(1.0))
    factor = text.select(text.compare("ord", error, error), factor, c(SHRINK))
    taken = text.let(f"and {B} {good}, {active}")
    with text.loop(n) as j:
        text.store(text.select(taken, text.load(xs, j), text.load(at["x"], j)), at["x"], j)
        final = text.let(f"add i64 {j}, {(layout.slopes - 1) * n}")
        text.store(text.select(taken, text.load(k, final), text.load(k, j)), k, j)
    scaled = text.binary("fmul", step, factor)
    # A step cut short at `end` says nothing against the longer one that was planned.
    cut = text.let(f"and {B} {good}, {last}")
    following = text.smaller(text.select(cut, text.larger(h, scaled), scaled), largest)
    moved = text.select(last, end, text.binary("fadd", t, step))
    time = text.select(taken, moved, t)
    steps = text.load(at["own"], 2)
    steps = text.select(taken, text.binary("fadd", steps, c(1.0)), steps)
    refused = text.load(at["own"], 3)
    bad = text.let(f"xor {B} {good}, {_all_true(lanes)}")
    refused = text.select(text.let(f"and {B} {bad}, {active}"), text.binary("fadd", refused, c(1.0)), refused)
    tiny = text.compare("olt", following, text.binary("fmul", end, c(LEAST_STEP)))
    many = text.compare("oge", text.binary("fadd", steps, refused), most)
    dead = text.let(f"and {B} {active}, {text.let(f'or {B} {tiny}, {many}')}")
    unfinished = text.let(f"and {B} {dead}, {text.compare('olt', time, end)}")
    time = text.select(unfinished, end, time)
    with text.loop(n) as j:
        text.store(text.select(unfinished, c(float("nan")), text.load(at["x"], j)), at["x"], j)
    text.store(time, at["own"], 0)
    text.store(text.select(active, following, h), at["own"], 1)
    text.store(steps, at["own"], 2)
    text.store(refused, at["own"], 3)
    with text.loop(n) as j:
        text.store(text.load(at["x"], j), xs, j)


def _all_true(lanes: Lanes) -> str:
    return "true" if lanes.width == 1 else "<" + ", ".join(["i1 true"] * lanes.width) + ">"
