"""Functions translated to machine code against the same functions run by Python, bit for bit where nothing is fused."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from pliant.compute.compiled_loops.primitives import (  # fmt: skip
    Doubles,
    Integers,
    any_lane,
    apart,
    doubles,
    exponent,
    floor,
    fma,
    integers,
    packs,
    power_of_two,
    shift,
    significand,
    unpack,
    unrolled,
)
from pliant.compute.compiled_loops.translate import Module, Untranslatable
from pliant.compute.llvm import llvm
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.llvm.llvm import compiled_loop
from pliant.integrators import step_control


def machine_code(function, width=1, **known):
    """The function compiled with no freedom in its arithmetic."""
    module = Module(Lanes(width), flags="")
    module.entry("entry", function, **known)
    code = llvm.compile_text("", "entry", module.text())
    found = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(code.address)
    found.code = code
    return found


def both(function, x, size, width=1):
    """What Python and the machine write to `out`, and return, for the numbers x."""
    results = []
    for run in (function, machine_code(function, width)):
        given, out = np.array(x, dtype=float), np.zeros(size)
        results.append((run(given.ctypes.data, out.ctypes.data, len(x)), out))
    return results


def arithmetic(given: int, out: int, n: int) -> int:
    x, y = doubles(given), doubles(out)
    for k in range(n - 1):
        a, b = x[k], x[k + 1]
        y[8 * k] = a + b * a - b / (a * a + 1.0)
        y[8 * k + 1] = max(a, b, 0.25) - min(a, b)
        y[8 * k + 2] = abs(a) if a < b else -b
        y[8 * k + 3] = math.sqrt(abs(a)) + k / 3
        y[8 * k + 4] = exponent(abs(a)) + significand(abs(a))
        y[8 * k + 5] = power_of_two(floor(a)) * fma(a, b, 1.0)
        y[8 * k + 6] = math.ceil(3.0 * a) % 7 + (k - 2) % 5
        y[8 * k + 7] = step_control.power(abs(a) + 0.01, b)
    return n


def control(given: int, out: int, n: int) -> int:
    x = doubles(given)
    y = doubles(out)
    count = 0
    total = 0.0
    for k in range(1, n):
        if x[k] < 0.0:
            if x[k] < -1.0 and x[k - 1] > 0.0:
                continue
            total -= x[k]
        elif x[k] > 1.5 or not x[k - 1] < 1.0:
            y[k] = -1.0
        else:
            total += 1.0
        while count < 3 and total > count:
            count += 1
            if -1.0 < x[k] < -0.9:
                break
        y[k] += total
        if total > 0.9 * n:
            return -count
    return count


class Sizes(NamedTuple):
    count: int
    source: Doubles
    counters: Integers


def halved(sizes: Sizes, by: float) -> float:
    """A record handed on."""
    return sizes.source[sizes.count - 1] / by


def records(table: int, out: int, n: int) -> int:
    sizes, more = unpack(integers(table), Sizes, Sizes)
    y = shift(doubles(out), 1)
    y[0] = halved(sizes, 2.0) + halved(more, 4.0)
    if sizes.source[0] > 0.0:
        y[1] = 2.0 * sizes.source[0]
    more.counters[0] += 7
    return sizes.counters[1] + n


WEIGHTS = (0.5, 0.0, -3.0)


def written_out(given: int, out: int, n: int) -> int:
    total = 0.0
    for k, weight in unrolled(tuple(enumerate(WEIGHTS))):
        if weight != 0.0:
            total += weight * doubles(given)[k]
    doubles(out)[0] = total
    return len(WEIGHTS)


@pytest.mark.parametrize("function", [arithmetic, control, written_out], ids=lambda f: f.__name__)
def test_the_machine_does_what_python_does(function, rng) -> None:
    for _ in range(20):
        x = rng.normal(size=9)
        (a, y), (b, z) = both(function, x, 80)
        assert a == b
        np.testing.assert_array_equal(y, z)


def test_records_are_read_from_a_table() -> None:
    first, second, counters = np.array([3.0, 5.0]), np.array([7.0]), np.array([1, 2])
    table = np.array([2, first.ctypes.data, counters.ctypes.data, 1, second.ctypes.data, counters.ctypes.data])
    y, z = [], []
    for run, found in ((records, y), (machine_code(records), z)):
        out = np.zeros(3)
        found.append(run(table.ctypes.data, out.ctypes.data, 3))
        found.append(out)
    np.testing.assert_array_equal(y[1], [0.0, 2.5 + 1.75, 6.0])
    np.testing.assert_array_equal(z[1], y[1])
    assert y[0] == z[0] == 5
    assert counters[0] == 1 + 2 * 7


def in_lanes(given: int, out: int, n: int) -> int:
    x, y = packs(doubles(given)), packs(doubles(out))
    rounds = 0
    for k in range(n):
        a, h = x[2 * k], abs(x[2 * k + 1])
        ratio = step_control.step_ratio(h, 0.5, a > 0.0, 0.17, 0.04)
        y[k] = step_control.next_step(h, 1.0, ratio) + step_control.first_step(h, a) + step_control.power(h, a)
        y[k] += step_control.scaled(a, h, 2.0, 1e-3, k) if not (a < 0.0 or h > 1.0) else fma(a, h, n)
        while any_lane(y[k] < 3.0 and h < 2.0):
            y[k] = y[k] + (1.0 if y[k] < 3.0 and h < 2.0 else 0.0)
            rounds += 1
    return rounds


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_lanes_have_the_bits_of_single_numbers(width, rng) -> None:
    """Each lane for itself by Python; a lane that is through waits for the others without a change."""
    x = np.abs(rng.normal(scale=1.5, size=(6, width)))  # one step in five is above 2, where a lane waits at once
    x[::2] *= rng.choice([-1.0, 1.0], size=(3, width))
    out = np.zeros((3, width))
    machine_code(in_lanes, width)(x.ctypes.data, out.ctypes.data, 3)
    for lane in range(width):
        alone, own = np.ascontiguousarray(x[:, lane]), np.zeros(3)
        in_lanes(alone.ctypes.data, own.ctypes.data, 3)
        np.testing.assert_array_equal(out[:, lane], own)


def test_powers(rng) -> None:
    """Degrees 9 and 6 of the two series leave 1e-7."""
    for x in 10.0 ** rng.uniform(-12, 12, size=200):
        for y in (-0.17, 0.04, -0.10625, 0.025, 1.0, -1.0):
            assert step_control.power(float(x), y) == pytest.approx(x**y, rel=2e-7)


def outside(given: int, out: int, n: int) -> int:
    return [n][0]


def mixed(given: int, out: int, n: int) -> int:
    x = 1
    x = 2.5
    return x


def two_kinds(given: int, out: int, n: int) -> int:
    if n > 2:
        return 1
    return n > 1


def unknown(given: int, out: int, n: int) -> int:
    return sorted(n)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (outside, r"\[n\] is not in the subset"),
        (mixed, "2.5 was found where"),
        (two_kinds, "bool was found where int was expected"),
        (unknown, "sorted is not in the subset"),
    ],
)
def test_what_is_not_in_the_subset_is_refused(function, said) -> None:
    with pytest.raises(Untranslatable, match=said):
        machine_code(function)


def test_a_change_of_a_number_that_stands_elsewhere_is_noticed(monkeypatch) -> None:
    """The key of the cache is the translation, with all that it found in other files."""
    texts = []
    for grow in (8.0, 5.0):
        monkeypatch.setattr(step_control, "GROW", grow)
        module = Module()
        module.entry("entry", in_lanes)
        texts.append(module.text())
    assert texts[0] != texts[1]


def test_a_translation_is_the_same_in_every_process() -> None:
    """Python shuffles its sets anew in each, and a loop that is not found in the cache is compiled again."""
    code = (
        "from pliant.integrators.step_loops.explicit_loop import run_explicit\n"
        "from pliant.compute.compiled_loops.translate import Module\n"
        "module = Module(); module.entry('loop', run_explicit, watch=True); print(module.text())"
    )
    texts = [
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")  # the two put the same set in different orders
    ]
    assert texts[0].stdout == texts[1].stdout != b""


def test_one_function_is_compiled_once() -> None:
    assert compiled_loop(written_out) is compiled_loop(written_out)
    assert compiled_loop(written_out)(np.ones(3).ctypes.data, np.zeros(1).ctypes.data, 3) == 3


def with_keywords(given: int, out: int, n: int) -> int:
    sizes = Sizes(n, counters=integers(given), source=doubles(given))
    doubles(out)[0] = halved(by=2.0, sizes=sizes)
    return n


def without_keywords(given: int, out: int, n: int) -> int:
    sizes = Sizes(n, doubles(given), integers(given))
    doubles(out)[0] = halved(sizes, 2.0)
    return n


def missing(given: int, out: int, n: int) -> int:
    return halved(by=2.0)


def test_keywords_are_arguments_in_the_order_of_parameters() -> None:
    texts = []
    for function in (with_keywords, without_keywords):
        module = Module()
        module.entry("entry", function)
        texts.append(sorted(module.text().splitlines()))
    assert texts[0] == texts[1]
    (a, y), (b, z) = both(with_keywords, [3.0, 8.0], 1)
    assert (a, *y) == (b, *z) == (2, 4.0)
    with pytest.raises(Untranslatable, match="arguments are given by their places"):
        machine_code(missing)


@apart
def add_twice(c: Doubles, b: Doubles, count: int) -> None:
    for j in range(count):
        c[j] += 2.0 * b[j]


def sums(address: int, count: int) -> int:
    numbers = doubles(address)
    add_twice(numbers, shift(numbers, count), count)
    return 0


def test_what_lies_apart_is_said_of_pointers_and_loops() -> None:
    """The same numbers, whatever the length; pointers of the marked function alone are said to lie apart."""
    module = Module()
    module.entry("entry", sums)
    assert "(ptr noalias %a0, ptr noalias %a1, i64 %a2)" in module.text()
    assert module.text().count("noalias") == 2
    assert module.text().count("!llvm.loop") == 1
    for count in (0, 1, 3, 4, 7, 33):
        x = np.arange(2.0 * count)
        compiled_loop(sums)(x.ctypes.data, count)
        assert x[:count].tolist() == [j + 2.0 * (count + j) for j in range(count)]
