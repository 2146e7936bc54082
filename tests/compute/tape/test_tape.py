"""The tape: single assignment, no dead or repeated work, honest counts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Tape, operation_count
from pliant.compute.tape.operations import BINARY, CODES, NAMES
from pliant.errors import UnsupportedModel


def evaluate(tape: Tape, values: np.ndarray) -> np.ndarray:
    """A tape of sums, products, sines and cosines, evaluated by hand."""
    rules = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sq": np.square, "sin": np.sin,
        "cos": np.cos, "neg": np.negative, "twice": lambda x: x + x, "inv": lambda x: 1 / x,
    }  # fmt: skip
    found: list[float] = []
    for op, a, b, constant in zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist(), tape.constant.tolist()):
        if NAMES[op] == "input":
            found.append(values[a])
        elif NAMES[op] == "const":
            found.append(constant)
        else:
            operands = (found[a], found[b]) if op in BINARY else (found[a],)
            found.append(rules[NAMES[op]](*operands))
    return np.array([found[i] if i >= 0 else 0.0 for i in tape.outputs])


def test_values_are_single_assignments_and_outputs_row_major(chain):
    f = chain(3)
    tape = Tape.from_function(f)
    x = np.random.default_rng(0).normal(size=6)
    expected = np.concatenate([np.array(y).ravel() for y in f(x[:3], x[3:])])  # NumPy ravels row by row
    # The same operations in the same order: only commuted operands and shared values, hence a few roundings at most.
    np.testing.assert_allclose(evaluate(tape, x), expected, rtol=1e-14, atol=1e-14)
    operands = np.where(tape.op == CODES["input"], -1, tape.a)
    assert (operands < np.arange(len(tape))).all()
    assert (tape.b < np.arange(len(tape))).all()


def test_matrix_inputs_are_row_major():
    x = ca.SX.sym("x", 2, 3)
    tape = Tape.from_function(ca.Function("f", [x], [x[0, 2], x[1, 0]]))
    assert tape.a[tape.outputs].tolist() == [2, 3]


def test_structural_zeros_of_sparse_outputs():
    x = ca.SX.sym("x")
    y = ca.SX(2, 2)
    y[1, 0] = x
    tape = Tape.from_function(ca.Function("f", [x], [y]))
    assert tape.outputs.tolist() == [-1, -1, 0, -1]


def test_dead_code_is_removed():
    x = ca.SX.sym("x", 2)
    f = ca.Function("f", [x], [ca.sin(x[0]), x[0] * x[1] / 3])
    assert len(Tape.from_function(f, outputs=[0])) == 2
    assert operation_count(f, outputs=[0]) == {"mul": 0, "add": 0, "div": 0, "sqrt": 0, "trig": 1, "other": 0}
    assert operation_count(f, outputs=["o1"])["mul"] == 2  # a division by a constant is a product


def test_repeated_work_is_done_once():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    f = ca.Function("f", [x, y], [x * y + ca.cos(x), y * x - ca.cos(x)])
    assert operation_count(f) == {"mul": 1, "add": 2, "div": 0, "sqrt": 0, "trig": 1, "other": 0}


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        (lambda x, y: x * y, "mul"),
        (lambda x, y: x**2, "mul"),
        (lambda x, y: x - y, "add"),
        (lambda x, y: 2 * x, "add"),
        (lambda x, y: x / y, "div"),
        (lambda x, y: 1 / x, "div"),
        (lambda x, y: ca.sqrt(x), "sqrt"),
        (lambda x, y: ca.sin(x), "trig"),
        (lambda x, y: ca.exp(x), "other"),
        (lambda x, y: ca.tan(x), "other"),
        (lambda x, y: -x, None),
    ],
)
def test_each_operation_is_counted_once(expression, kind):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    counts = operation_count(ca.Function("f", [x, y], [expression(x, y)]))
    assert {name: n for name, n in counts.items() if n} == ({kind: 1} if kind else {})


def test_mx_functions_are_expanded():
    x = ca.MX.sym("x", 2)
    assert operation_count(ca.Function("f", [x], [ca.dot(x, x)]))["mul"] == 2


def test_what_cannot_be_expanded_is_refused():
    x = ca.MX.sym("x")
    root = ca.rootfinder("r", "newton", {"x": x, "g": x**3 - 1})
    f = ca.Function("f", [x], [root(x0=x)["x"]])
    with pytest.raises(UnsupportedModel, match="backend='vm'"):
        Tape.from_function(f)


def test_divisions_by_one_value_share_a_reciprocal():
    x = ca.SX.sym("x", 3)
    f = ca.Function("f", [x], [x[0] / x[2], x[1] / x[2], x[0] / x[1]])
    assert operation_count(f) == {"mul": 2, "add": 0, "div": 2, "sqrt": 0, "trig": 0, "other": 0}


ROUNDED = 1 + 4 * 2.0**-52  # what four roundings may make of one


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        (lambda x, y: ROUNDED * x, lambda x, y: x),
        (lambda x, y: -ROUNDED * x, lambda x, y: -x),
        (lambda x, y: 2 * ROUNDED * x, lambda x, y: 2 * x),
        (lambda x, y: 0.3 * x + 0.3 * ROUNDED * x * y, lambda x, y: 0.3 * x + 0.3 * x * y),
        (lambda x, y: y + (0.7 * x - 0.7 * ROUNDED * x), lambda x, y: y),
        (lambda x, y: y - (0.7 * x - 0.7 * ROUNDED * x), lambda x, y: y),
        (lambda x, y: (0.7 * x - 0.7 * ROUNDED * x) - y, lambda x, y: -y),
        (lambda x, y: ca.sin(x) * (0.7 * y - 0.7 * ROUNDED * y), lambda x, y: 0 * x),
        (lambda x, y: (x * y + 0.5) * ROUNDED - (x * y + 0.5 * ROUNDED), lambda x, y: 0 * x),
    ],
)
def test_constants_that_are_equal_but_for_rounding_are_one(expression, same):
    """With its identities: a product by one or zero, a difference of equals are no operations."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    found, right = (Tape.from_function(ca.Function("f", [x, y], [f(x, y)])) for f in (expression, same))
    assert found.count() == right.count()
    np.testing.assert_allclose(
        evaluate(found, np.array([0.7, -1.3])), evaluate(right, np.array([0.7, -1.3])), rtol=1e-14
    )


def test_constants_that_differ_are_kept():
    """A payload of 1e-13 of an arm is no rounding."""
    x, small = ca.SX.sym("x"), 1 + 1e-13
    tape = Tape.from_function(ca.Function("f", [x], [3.7 * small * x - 3.7 * x]))
    assert tape.count()["mul"] == 2
    assert evaluate(tape, np.array([2.0]))[0] == pytest.approx(7.4e-13, rel=5e-3)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 0.0, 5e-324, 1e-300, -1.7e308, 1e17 / 3, 1 / 3])
def test_constants_of_any_size_pass(number):
    x = ca.SX.sym("x")
    tape = Tape.from_function(ca.Function("f", [x], [x + number]))
    assert evaluate(tape, np.array([0.0]))[0] == pytest.approx(number, nan_ok=True)
