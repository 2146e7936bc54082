"""The arithmetic by which the quick set builds expressions gives what CasADi's own does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from arms import unequal_beam
from pliant import Shapes
from quick_arithmetic import USUAL, make_quick

x, v, w, M = ca.SX.sym("x"), ca.SX.sym("v", 3), ca.SX.sym("w", 3), ca.SX.sym("M", 3, 3)
SPARSE = ca.SX(ca.diagcat(x, 0, v[1]))
PAIRS = [
    *((x, x), (x, v), (v, x), (v, w), (M, M), (M, SPARSE), (SPARSE, x), (SPARSE, M), (x, ca.SX(0)), (ca.SX(1), v)),
    *(
        (v, 2.5),
        (2.5, v),
        (x, 0.0),
        (0.0, x),
        (x, 1),
        (1, x),
        (SPARSE, 2),
        (3, SPARSE),
        (v, True),
        (v, np.float64(0.3)),
    ),
    *(
        (v, np.arange(3.0)),
        (np.float64(0.3), x),
        (v, ca.DM([1, 0, 2])),
        (ca.DM([1, 0, 2]), v),
        (v, ca.SX(3, 1)),
        (M, ca.DM.eye(3)),
    ),
    *((ca.DM.eye(3), M), (v, ca.DM(2)), (v, ca.DM(3, 1)), (v, np.float64(0.0)), (np.float64(1.0), x)),
    *((v, M), (v, ca.MX.sym("m", 3)), (v, "no number"), (v, ca.SX(0, 0))),
]


def answer(f: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[str, str]:
    try:
        made = f(a, b)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return type(error).__name__, ""
    return type(made).__name__, str(ca.Function("f", [x, v, w, M], [made]).serialize())


def both(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> tuple[Any, Any]:
    """By CasADi's arithmetic, and by the quick one."""
    for name, usual in USUAL.items():
        monkeypatch.setattr(ca.SX, name, usual)
    first = make()
    make_quick(monkeypatch)
    return first, make()


@pytest.mark.parametrize("f", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_every_pair_of_operands(f: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    usual, quick = both(monkeypatch, lambda: [answer(f, a, b) for a, b in PAIRS])
    assert quick == usual
    assert sum(kind == "SX" for kind, _ in usual) >= len(PAIRS) - 5


def test_an_arm_has_the_same_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = unequal_beam(Shapes(bending_y=1, bending_z=1, torsion=1))

    def traced() -> str:
        return str(robot.model(stiffening="second-order").kernel("forward_dynamics").function.serialize())

    usual, quick = both(monkeypatch, traced)
    assert quick == usual
