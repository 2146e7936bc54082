"""Plain tapes: packed and unpacked, and interpreted with the bits of CasADi's virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel, Recorded
from pliant.compute.llvm.interpreter import interpret
from pliant.compute.tape.plain_tape import PlainTape
from pliant.compute.tape.tape import Tape


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))


def virtual(f: ca.Function, rows: np.ndarray) -> np.ndarray:
    """Outputs (N, n_out) of a function of one column by CasADi itself."""
    return np.array([np.concatenate([np.array(y.full()).ravel() for y in f.call([row])]) for row in rows])


@pytest.mark.parametrize("seed", range(4))
def test_interpreter_equals_the_virtual_machine(random_graph: Any, seed: int) -> None:
    f = random_graph(seed)
    given = [np.random.default_rng(seed).normal(size=(30, f.numel_in(i))) for i in range(f.n_in())]
    kernel = Kernel(Recorded(lambda: f, f"graph {seed}"), "vm")
    found, alone = kernel(*given), kernel(*(x[7] for x in given))
    for one, single, expected in zip(found, alone, Kernel(f, "vm")(*given), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-10)  # as in test_bits.py
        np.testing.assert_array_equal(one[7], single)


def test_packed_tapes_are_the_same_tapes() -> None:
    x = ca.SX.sym("x", 3)
    f = ca.Function("f", [x], [ca.vertcat(2.5 * x[0], 0.0, x[2], ca.sin(x[1]) / 3), ca.SX(2, 2)])
    tape = PlainTape.of(Tape.as_written(f))
    again = PlainTape.unpacked(tape.packed())
    assert (tape.n_in, len(tape.outputs)) == (again.n_in, len(again.outputs)) == (3, 8)
    for name in ("constants", "rows", "outputs"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tape, name))
    rows = np.array([[1.0, 2.0, 3.0], [-0.5, 0.1, 4.0]])
    np.testing.assert_array_equal(interpret(again, rows), virtual(f, rows))


def test_a_function_without_operations() -> None:
    x = ca.SX.sym("x", 2)
    f = ca.Function("f", [x], [ca.vertcat(x[1], 0.0, 7.0, x[0]), ca.SX(0, 1)])
    tape = PlainTape.unpacked(PlainTape.of(Tape.as_written(f)).packed())
    np.testing.assert_array_equal(interpret(tape, np.array([[1.5, -2.0]])), [[-2.0, 0.0, 7.0, 1.5]])
    assert interpret(tape, np.zeros((0, 2))).shape == (0, 4)


def test_called_functions_are_written_out() -> None:
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [ca.sin(x) * x], {"never_inline": True})
    f = ca.Function("f", [x], [inner(inner(x)) + 1])
    rows = np.array([[0.3], [-1.2]])
    np.testing.assert_array_equal(interpret(PlainTape.of(Tape.as_written(f)), rows), virtual(f, rows))


def refused() -> Any:
    raise AssertionError("traced")


def test_a_kept_tape_needs_no_trace() -> None:
    A, x = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3)
    f = ca.Function("product", [A, x], [A @ x, ca.sum1(x)], ["A", "x"], ["y", "sum"])
    given = np.arange(6.0).reshape(2, 3), np.array([[0.1, 0.7, -2.0], [1.0, 2.0, 3.0]])
    first = Kernel(Recorded(lambda: f, "product"), "vm")(*given)
    again = Kernel(Recorded(refused, "product"), "vm")
    for one, two, expected in zip(first, again(*given), Kernel(f, "vm")(*given), strict=True):
        assert one.shape == expected.shape
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(again.interpreted(*given)[0], first[0])


def test_a_kept_tape_needs_no_casadi() -> None:
    x = ca.SX.sym("x", 2)
    recorded = Recorded(lambda: ca.Function("f", [x], [ca.sin(x) * x[0]]), "sines")
    assert isinstance(recorded.interpreted, PlainTape)
    assert isinstance(Recorded(refused, "sines").interpreted, PlainTape)


def test_what_has_no_tape_is_kept_as_text() -> None:
    x = ca.MX.sym("x", 2)
    root = ca.rootfinder("root", "newton", {"x": (u := ca.SX.sym("u")), "p": (v := ca.SX.sym("v")), "g": u**3 - v})
    f = ca.Function("f", [x], [root(x0=1.0, p=x[0])["x"] + x[1]])
    first = Kernel(Recorded(lambda: f, "root"), "vm")(np.array([8.0, 1.0]))
    again = Kernel(Recorded(refused, "root"), "vm")(np.array([8.0, 1.0]))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, [3.0], rtol=1e-12)
