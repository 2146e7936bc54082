"""Tapes that call: written out or called, the same numbers; alone and in batches, the same bits."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel, Tape
from pliant.compute.tape.call_plan import COPY, WORK, CallPlan, lowered
from pliant.compute.tape.operations import CALL


def step() -> ca.Function:
    """Two pairs of numbers and one more to three: not alike in anything."""
    x, y, z = ca.SX.sym("x", 2), ca.SX.sym("y", 2), ca.SX.sym("z")
    first = ca.vertcat(ca.sin(x[0]) * y[1] + z, x[1] / (2 + y[0] ** 2))
    second = z * x[0] - 0.7 * y[1]
    unused = ca.exp(x[0])
    return ca.Function("step", [x, y, z], [first, unused, second], {"never_inline": True})


def walk(count: int, folded: bool) -> ca.Function:
    """A walk out and one back that reads what the way out left; some arithmetic of its own between."""
    f = step()
    call: Any = f if not folded else ca.Function("inline", f.sx_in(), f(*f.sx_in()), {"always_inline": True})
    a, b = ca.SX.sym("a", 2), ca.SX.sym("b", count)
    at, third = a, ca.SX(0.3)
    found = []
    for k in range(count):
        at, _, third = call(at, ca.vertcat(b[k], third), 1.5)
        found.append((at, third))
    total = ca.SX(0)
    for k, (pair, third) in reversed(list(enumerate(found))):
        back, _, total = call(pair, ca.vertcat(third, total), b[k] * total + ca.cos(b[k]))
        total = total + back[1]
    return ca.Function("walk", [a, b], [ca.vertcat(total, found[-1][0], 2.0, 0.0, a[1], total * b[0])])


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_called_equals_written_out(count: int, rng: np.random.Generator) -> None:
    called, folded = walk(count, False), walk(count, True)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=(50, count))
    one, two = Kernel(called), Kernel(folded)
    np.testing.assert_allclose(one(x, y), two(x, y), rtol=1e-12, atol=1e-12)
    alone = np.array([one(*row) for row in zip(x, y)])
    np.testing.assert_array_equal(one(x, y), alone)


def test_what_is_called_is_written_once_and_only_what_is_read() -> None:
    tape = Tape.from_function(walk(40, False), calls=True)
    assert (tape.op == CALL).sum() == len(tape.calls) == 80
    assert len(tape.callees) == 1
    assert tape.callees[0].n_out == 3  # the exponential is never read
    assert len(tape) < 500 < len(Tape.from_function(walk(40, False)))
    assert tape.count()["trig"] == 1 + 40 + 40  # sines of the pairs are shared by both ways; each link has a cosine


def test_work_grows_with_what_is_kept_and_results_are_read_in_place() -> None:
    plans = [lowered(Tape.from_function(walk(count, False), calls=True), True, 500) for count in (20, 40)]
    assert all(isinstance(plan, CallPlan) for plan in plans)
    sizes = [plan.work_size for plan in plans]
    assert sizes[1] - sizes[0] <= 20 * 6
    moved = [row for row in plans[1].rows if row[0] == COPY]  # type: ignore[union-attr]
    assert len(moved) <= 81


def test_no_call_writes_where_it_reads() -> None:
    tape = Tape.from_function(walk(40, False), calls=True)
    plan = lowered(tape, True, 500)
    assert isinstance(plan, CallPlan)
    first, callee = 1 + len(plan.main.parts), tape.callees[0]
    ends = [*plan.starts[0][1:], callee.n_in]
    for kind, results, *runs in (row for row in plan.rows if row[0] >= first):
        assert kind == first
        written = range(results // 4, results // 4 + callee.n_out)
        for place, start, end in zip(runs, plan.starts[0], ends):
            if place % 4 == WORK:
                assert not set(written) & set(range(place // 4, place // 4 + end - start))


def test_what_cannot_be_written_as_operations_is_refused_also_behind_a_call() -> None:
    from pliant.errors import UnsupportedModel

    x = ca.SX.sym("x")
    root = ca.rootfinder("root", "newton", {"x": x, "g": x**3 - 1}, {"never_inline": True})
    f = ca.Function("f", [x], [root(x0=x)["x"]])
    with pytest.raises(UnsupportedModel, match=r"root.*backend='vm'"):
        Tape.from_function(f)
