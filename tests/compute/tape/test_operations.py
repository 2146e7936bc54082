"""Every operation against CasADi's virtual machine, for one state and in packs, with equal bits."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel
from pliant.compute.llvm.interpreter import interpret
from pliant.compute.tape.operations import BINARY, NAMES, UNARY
from pliant.compute.tape.plain_tape import NUMBERS, PlainTape
from pliant.compute.tape.tape import Tape
from pliant.errors import UnsupportedModel

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, 1e-300, -1e-300, 1e300, 1e5, -1e5, 3e6, 1e15, 5e-324])

UNIT = {"asin", "acos", "atanh"}
POSITIVE = {"log", "sqrt"}
TAME = {"exp", "sinh", "cosh", "expm1"}

EXPRESSIONS = {
    "neg": lambda x, y: -x, "exp": lambda x, y: ca.exp(x), "log": lambda x, y: ca.log(x),
    "sqrt": lambda x, y: ca.sqrt(x),
    "sq": lambda x, y: x**2, "twice": lambda x, y: 2 * x, "sin": lambda x, y: ca.sin(x), "cos": lambda x, y: ca.cos(x),
    "tan": lambda x, y: ca.tan(x), "asin": lambda x, y: ca.asin(x), "acos": lambda x, y: ca.acos(x),
    "atan": lambda x, y: ca.atan(x), "not": lambda x, y: ca.logic_not(x), "floor": lambda x, y: ca.floor(x),
    "ceil": lambda x, y: ca.ceil(x), "fabs": lambda x, y: ca.fabs(x), "sign": lambda x, y: ca.sign(x),
    "erf": lambda x, y: ca.erf(x), "inv": lambda x, y: 1 / x, "sinh": lambda x, y: ca.sinh(x),
    "cosh": lambda x, y: ca.cosh(x), "tanh": lambda x, y: ca.tanh(x), "asinh": lambda x, y: ca.asinh(x),
    "acosh": lambda x, y: ca.acosh(1 + x**2), "atanh": lambda x, y: ca.atanh(x), "log1p": lambda x, y: ca.log1p(x**2),
    "expm1": lambda x, y: ca.expm1(x),
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "pow": lambda x, y: ca.fabs(x) ** y, "constpow": lambda x, y: ca.fabs(x) ** 2.5, "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "and": lambda x, y: ca.logic_and(x, y), "or": lambda x, y: ca.logic_or(x, y), "fmod": lambda x, y: ca.fmod(x, y),
    "copysign": lambda x, y: ca.copysign(x, y), "if_else_zero": lambda x, y: ca.if_else(x, y, 0),
    "fmin": lambda x, y: ca.fmin(x, y), "fmax": lambda x, y: ca.fmax(x, y), "atan2": lambda x, y: ca.atan2(x, y),
    "hypot": lambda x, y: ca.hypot(x, y), "remainder": lambda x, y: ca.remainder(x, y),
}  # fmt: skip


NOT_INTERPRETED = {"floor", "ceil"}
"""Operations that CasADi's virtual machine interprets, as some processors have no instruction for them."""


def states(name: str, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    x = np.concatenate([rng.normal(size=(count, 2)) * 3, np.array([(a, b) for a in SPECIAL for b in SPECIAL])])
    if name in UNIT:
        return np.clip(x, -0.999, 0.999)
    if name in POSITIVE:
        return np.abs(x) + 1e-10
    return np.clip(x, -50, 50) if name in TAME | {"pow", "constpow"} else x


def function(name: str) -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    return ca.Function(name, [x, y], [EXPRESSIONS[name](x, y)])


def test_every_operation_is_here():
    assert set(EXPRESSIONS) | {"erfinv"} == set(UNARY.values()) | set(BINARY.values())
    assert NUMBERS.keys() == EXPRESSIONS.keys() - NOT_INTERPRETED


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_operation_equals_the_virtual_machine(name):
    f = function(name)
    assert name in [NAMES.get(f.instruction_id(k)) for k in range(f.n_instructions())]
    x = states(name)
    given = x[:, :1], x[:, 1:]
    expected = Kernel(f, "vm")(*given)
    batch = Kernel(f)(*given)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(batch, expected, rtol=1e-13, atol=0)  # one or two units in the last place: 4e-16
    if name not in NOT_INTERPRETED:
        tape = PlainTape.unpacked(PlainTape.of(Tape.as_written(f)).packed())
        np.testing.assert_allclose(interpret(tape, x), expected, rtol=1e-13, atol=0)
    kernel = Kernel(f)
    single = np.array([kernel(a.copy(), b.copy()) for a, b in zip(*given)])
    np.testing.assert_array_equal(single.view(np.int64), batch.view(np.int64))


@pytest.mark.parametrize("exponent", [3, 4, 5, 7, 8, 9, -1, -2, -3, -7, 0.5, 2.5, 1e10])
def test_powers(exponent):
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [ca.constpow(x, exponent)])
    given = np.random.default_rng(1).uniform(0.2, 2.0, size=(100, 1))
    with np.errstate(over="ignore"):
        # repeated squaring up to the 8th power: at most 4 roundings, each magnified by what follows
        np.testing.assert_allclose(Kernel(f)(given), given**exponent, rtol=2e-15 if abs(exponent) < 9 else 1e-13)


def test_an_operation_without_machine_code_says_so():
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [ca.erfinv(x)])
    with pytest.raises(UnsupportedModel, match=r"erfinv.*backend='vm'"):
        Kernel(f)(np.array([0.3]))
    assert Kernel(f, "vm")(np.array([0.3])) == pytest.approx(np.array(f(0.3)).ravel(), rel=1e-15)
    with pytest.raises(UnsupportedModel, match="erfinv, which the interpreter does not have"):
        PlainTape.of(Tape.as_written(f))
    assert Kernel(f).interpreted(np.array([0.3])) == Kernel(f, "vm")(np.array([0.3]))
