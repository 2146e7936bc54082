"""Which roundings show: the analysis finds the values that cancel, and foretells the error of single precision."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.compute.cuda.program import nodes_of
from pliant.compute.tape.rounding import AIM, ALLOWED, _errors, widened
from pliant.compute.tape.tape import Tape

X = ca.SX.sym("x", 3)
STATES = np.random.default_rng(0).uniform(0.5, 1.5, size=(6, 4))


def nodes(output: ca.SX):  # type: ignore[no-untyped-def]
    inputs = [ca.SX.sym("t"), X, ca.SX.sym("w", 0), ca.SX.sym("p", 0)]
    return nodes_of(Tape.from_function(ca.Function("f", inputs, [output])))


def expected(output: ca.SX) -> float:
    """Root of the sum of squares that the analysis foretells for the worst state and output."""
    return float(np.sqrt(_errors(nodes(output), STATES)[1].sum(axis=0).max()))


def test_a_sum_of_positive_numbers_needs_no_help() -> None:
    friendly = nodes(ca.vertcat(X[0] + X[1] * X[2], X[0] / X[1], ca.sin(X[2])))
    assert widened(friendly, STATES).wide == frozenset()


def test_what_cancels_is_done_in_double_precision() -> None:
    """x (x + 2) and (x + 1)^2 differ by 1; of the difference less 0.9999 a part in 1e4 is left."""
    square, product = (X[0] + 1) ** 2, X[0] * (X[0] + 2)
    output = ca.vertcat(1e-4 / (square - product - 0.9999), X[1] * X[2])
    found = widened(nodes(output), STATES)
    names = [node.name for node in found.nodes if set(node.results) & found.wide]
    assert len(names) >= 3
    assert "inv" not in names  # behind the cancellation nothing is lost
    other = [node for node in found.nodes if len(node.operands) == 2 and all(v in found.inputs for v in node.operands)]
    assert other[-1].results[0] not in found.wide
    wide = found.wide
    rest = _errors(found, STATES)
    left = [k for k, value in enumerate(rest[0].tolist()) if value not in wide]
    assert np.sqrt(rest[1][left].sum(axis=0).max()) <= AIM < ALLOWED < expected(output)


@pytest.mark.parametrize("name", ["tan", "exp", "log", "sqrt", "atan", "tanh", "asinh"])
def test_functions_without_a_rule_of_their_own(name: str) -> None:
    """One function behind one rounding of size u |x0 x1|: the foretold error is that of the derivative."""
    u = X[0] * X[1]
    y = getattr(ca, name)(u)
    derivative = ca.Function("d", [X], [ca.gradient(y, X)[0] / X[1], u, y])
    found = []
    for state in STATES[:, 1:]:
        d, inner, outer = (float(v) for v in derivative(state))
        found.append(np.hypot(d * inner, outer) / abs(outer) * 2.0**-24)
    assert expected(y) == pytest.approx(max(found), rel=1e-6)  # a difference quotient of step 1e-6


def test_constants_that_are_no_floats_count() -> None:
    """0.1 is rounded once more than 0.125, which is a float."""
    assert expected(X[0] * 0.1) > expected(X[0] * 0.125)
