"""Loops printed as C do what the same functions do in Python, and what is outside of the subset is refused by line."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from exported import STRICT, needs_compiler
from pliant.compute.compiled_loops import primitives
from pliant.compute.compiled_loops.primitives import FLAT, Doubles, Integers, call, shift
from pliant.compute.compiled_loops.translate import Untranslatable
from pliant.compute.nmpc import real_time_iteration as receding
from pliant.export.c.loops import CLoops

LIMIT, STEPS, LEAST = 2.5, 3, -1


class Given(NamedTuple):
    """Numbers that are read, room for results, places, how many, and a function."""

    x: Doubles
    out: Doubles
    places: Integers
    n: int
    squares: int


def mixed(given: Given, scale: float, up: bool) -> float:
    """Sums, differences, products and quotients; int / int is a float.

    A second paragraph, with */ in it.
    """
    n = given.n
    total = 0.0
    for i in range(n):
        total += scale * (given.x[i] - (1.0 - given.x[n - 1 - i]))
        total -= given.x[i] / 3 - (i + 1) / n
        given.out[i] = -(total - scale) - -given.x[i] * (2 - i)
        given.out[i] /= 2.0
    if up and not scale < 0.0:
        total *= LIMIT
    elif n > STEPS or up:
        total = abs(total) + LEAST
    else:
        total = n
    return total


def counted(given: Given, scale: float, up: bool) -> float:
    """Loops that stop early, go on, and whose bound is changed inside."""
    stop = given.n
    found = 0.0
    for k in range(1, stop):
        stop = k
        if given.x[k] < 0.0:
            continue
        if given.x[k] > LIMIT:
            break
        found += given.x[k]
    for j in range(given.places[0]):
        given.places[0] = 0
        found += j
    k = 0
    while k < STEPS and up:
        given.places[k] += k + stop
        k += 1
    for i in range(2):
        found += i
    for back in range(2):
        i = 1 - back
        found = found * 10.0 + i
    return found


def compared(given: Given, scale: float, up: bool) -> float:
    """min and max take the first unless another is better, NaN and zeros among them."""
    inner = shift(given.x, 1)
    given.out[0] = min(given.x[0], inner[0], scale)
    given.out[1] = max(scale, math.nan)
    given.out[2] = max(math.nan, scale)
    given.out[3] = max(3, given.n) + min(2, 1)
    given.out[4] = math.sqrt(abs(inner[0])) if up == (scale >= 0.0) or given.n != 4 else float(int(scale * 7.0))
    given.out[5] = shift(shift(given.out, 2), given.n - 3)[-1]
    sound = math.isfinite(given.x[0]) and (scale <= 1.0 or up) and not math.isfinite(math.inf)
    if sound:
        return 1.0
    return 0.0


def twice(x: Doubles, out: Doubles, count: int) -> bool:
    """out = 2 x, which pointers are swapped for."""
    source = x
    target = out
    for _k in range(2):
        for j in range(count):
            target[j] = 2.0 * source[j]
        source = out
    return count > 0


def calling(given: Given, scale: float, up: bool) -> float:
    """Functions of ours, and one at an address."""
    call(given.squares, given.x, given.out)
    done = twice(given.out, shift(given.out, 4), 2)
    helped(given)
    if done:
        return largest_of(count=6, double=given.out)
    return scale


def helped(given: Given) -> None:
    """Nothing is returned, early where nothing is left."""
    if given.n > 100:
        return
    given.out[1] += 1.0


def largest_of(double: Doubles, count: int) -> float:
    """An argument whose name is a word of C."""
    found = 0.0
    for j in range(count):
        found = max(found, double[j])
    return found


CASES: list[Callable[..., float]] = [mixed, counted, compared, calling]


def memory() -> dict[str, np.ndarray]:
    return {
        "x": np.array([0.7, -0.3, 1.9, 0.4, 3.1, 0.2]),
        "out": np.zeros(8),
        "places": np.array([3, 5, 7]),
    }


def squares(source: int, sink: int) -> None:
    for k in range(4):
        primitives.doubles(sink)[k] = primitives.doubles(source)[k] ** 2


FLAT_SQUARES = FLAT(squares)


def in_python(function: Callable[..., float], kept: dict[str, np.ndarray], scale: float, up: bool) -> float:
    given = [primitives.doubles(kept["x"].ctypes.data), primitives.doubles(kept["out"].ctypes.data)]
    address = ctypes.cast(FLAT_SQUARES, ctypes.c_void_p).value
    return function(Given(*given, primitives.integers(kept["places"].ctypes.data), 6, address), scale, up)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All of them, compiled with every warning an error."""
    folder = tmp_path_factory.mktemp("loops")
    loops = CLoops(*CASES)
    lines = ["#include <math.h>", "", *loops.lines()]
    for function in CASES:
        lines += [f"double run_{function.__name__}(const Given *given, double scale, int up);"]
        lines += [f"double run_{function.__name__}(const Given *given, double scale, int up)"]
        lines += ["{", f"    return {loops.names[function]}(given, scale, up);", "}"]
    (folder / "loops.c").write_text("\n".join([*lines, ""]), encoding="utf-8")
    command = ["cc", "-O1", *STRICT, "-fPIC", "-shared", "loops.c", "-lm", "-o", "loops.so"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "loops.so"))


@needs_compiler
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("scale", "up"), [(0.6, True), (-0.6, True), (1.5, False), (-1.5, False)])
def test_c_does_what_python_does(function: Any, scale: float, up: bool, library: ctypes.CDLL) -> None:
    double, whole = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int)

    class GivenInC(ctypes.Structure):
        _fields_ = [("x", double), ("out", double), ("places", whole), ("n", ctypes.c_int), ("squares", FLAT)]

    wanted, found = memory(), memory()
    places = found["places"].astype(np.int32)
    pointers = [found[name].ctypes.data_as(double) for name in ("x", "out")]
    run = getattr(library, f"run_{function.__name__}")
    run.argtypes, run.restype = [ctypes.c_void_p, ctypes.c_double, ctypes.c_int], ctypes.c_double
    given = GivenInC(*pointers, places.ctypes.data_as(whole), 6, FLAT_SQUARES)
    result = run(ctypes.byref(given), scale, up)
    assert result == in_python(function, wanted, scale, up)
    np.testing.assert_array_equal(found["out"], wanted["out"])
    np.testing.assert_array_equal(places, wanted["places"])


def test_the_text_is_for_people() -> None:
    text = "\n".join(CLoops(*CASES).lines())
    assert "#define TEST_C_LOOPS_LIMIT 2.5" in text
    assert "#define TEST_C_LOOPS_LEAST (-1)" in text
    assert "/* Sums, differences, products and quotients; int / int is a float.\n\n   A second paragraph" in text
    assert "with * / in it. */" in text
    assert "static double test_c_loops_largest_of(const double *double_, int count)" in text
    assert "void (*squares)(double *, double *);" in text


def test_what_nothing_writes_to_is_constant() -> None:
    """Through calls, shifted pointers and variables that stand for others."""
    loops = CLoops(receding.prepared, receding.answered)
    kept = {(r.__name__, f) for r in loops.records for f in r._fields if loops.is_written(r, f)}
    assert {("Plan", "x"), ("Horizon", "Gamma"), ("Horizon", "miss"), ("WorkingSet", "row"), ("Steps", "W")} <= kept
    read = {("Horizon", "least"), ("Horizon", "measured"), ("Horizon", "clock"), ("Steps", "tableau")}
    assert not kept & (read | {("QuadraticProgram", "width"), ("QuadraticProgram", "weight")})


# ------------------------------------------------------------------------------------------------------------ refused


def a_list(x: Doubles) -> float:
    """Has no kind."""
    y = [1.0]
    return y[0]


def a_pair(x: Doubles) -> None:
    """Two at once."""
    a, b = 1.0, 2.0
    x[0] = a + b


def a_power(x: Doubles) -> float:
    """Of a number."""
    return x[0] ** 2


def a_step(x: Doubles) -> None:
    """In a range."""
    for k in range(0, 4, 2):
        x[k] = 0.0


def over_items(x: Doubles) -> None:
    """Of a tuple."""
    for k in (1, 2):
        x[k] = 0.0


def after_the_loop(x: Doubles) -> int:
    """A counter."""
    for k in range(3):
        x[k] = 0.0
    return k


def counter_changed(x: Doubles) -> None:
    """Inside its loop."""
    for k in range(3):
        k += 1
        x[k] = 0.0


def counter_kept(x: Doubles) -> int:
    """A variable that a loop takes over."""
    k = 7
    for k in range(3):
        x[k] = 0.0
    return k


def narrowed(x: Doubles) -> int:
    """A float for an int."""
    k = 0
    k = x[0]
    return k


def a_number_as_condition(x: Doubles, n: int) -> None:
    """As C has it."""
    if n:
        x[0] = 0.0


def chained(x: Doubles) -> bool:
    """Comparisons."""
    return 0.0 < x[0] < 1.0


def unknown(x: Doubles) -> float:
    """Function."""
    return math.sin(x[0])


def by_name(x: Doubles) -> None:
    """A name that the function does not have."""
    largest_of(x, number=2)


def too_few(x: Doubles) -> None:
    """Arguments."""
    largest_of(x)


def without_kind(x) -> None:  # type: ignore[no-untyped-def]
    """Of an argument."""
    x[0] = 0.0


def itself(x: Doubles, k: int) -> None:
    """Calls itself."""
    itself(x, k)


def an_address(x: Doubles, function: int) -> None:
    """That is no field."""
    call(function, x, x)


def too_large(x: Doubles) -> int:
    """For int."""
    return 3000000000


def for_packs(x: Doubles) -> float:
    """A primitive of lanes."""
    return primitives.in_lanes(x[0])


@pytest.mark.parametrize(
    ("function", "line", "why"),
    [
        (a_list, 2, "is not in the subset"), (a_pair, 2, "nothing can be assigned to"), (a_power, 2, "Pow is not"),
        (a_step, 2, "range"), (over_items, 2, "expected `for name in range"), (after_the_loop, 4, "outside of it"),
        (counter_changed, 2, "something else as well"), (counter_kept, 2, "something else as well"),
        (narrowed, 3, "kind float was found where int"), (a_number_as_condition, 2, "kind int was found where bool"),
        (chained, 2, "join several by `and`"), (unknown, 2, "math.sin is not in the subset"),
        (by_name, 2, "given by their places"), (too_few, 2, "2 arguments were expected, 1 were given"),
        (without_kind, 0, "got no annotation"), (an_address, 2, "call(record.field, source, sink)"),
        (too_large, 2, "3000000000 is no number"), (for_packs, 2, "in_lanes is not in the subset"),
    ],
)  # fmt: skip
def test_what_is_outside_of_the_subset_is_refused_by_line(function: Any, line: int, why: str) -> None:
    first = function.__code__.co_firstlineno
    with pytest.raises(Untranslatable) as refused:
        CLoops(function)
    assert f"{__name__}.{function.__name__}, line {first + line}: " in str(refused.value)
    assert why in str(refused.value)


def test_recursion_is_refused() -> None:
    with pytest.raises(Untranslatable, match="itself: calls itself"):
        CLoops(itself)


def test_every_reached_function_stands_before_its_callers() -> None:
    text = "\n".join(CLoops(receding.answered).lines())
    assert text.index("static double dense_dot(") < text.index("static int quadratic_program_solve_program(")
    assert text.index("static int quadratic_program_solve_program(") < text.index(
        "static int real_time_iteration_answered("
    )
    assert text.count("static double quadratic_program_reach(") == text.count("static int collocation_kept(") == 1
