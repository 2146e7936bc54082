"""The loops of packs as machine code against the same loops run by Python, one lane at a time."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from pliant.algebra.tableaux import explicit
from pliant.compute.compiled_loops.primitives import table
from pliant.compute.llvm.target import machine
from pliant.integrators.packs import pack, pack_loop
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments
from pliant.integrators.packs.pack_loop import Job, PackForm, run_packs

SETTINGS = np.array([1e-6, 1e-8, 0.3, 1e4])
ROW, PIECE = np.array([-1, 0]), np.array([1, 0])
FIXED = TimeSegments(np.array([0.0, 0.4]), np.array([0.1, 0.05]), np.array([4, 6]), ROW, PIECE)
ADAPTIVE = TimeSegments(np.array([0.0, 0.4]), np.array([0.4, 1.1]), np.zeros(2, int), ROW, PIECE)
BOTH = [(explicit("rk4"), FIXED), (explicit("dopri5"), ADAPTIVE)]


def oscillator() -> ca.Function:
    """Van der Pol's with a force that grows in time: sums and products alone, which have one rounding each."""
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("w", 1), ca.SX.sym("p", 1)
    return ca.Function("f", [t, x, w, p], [ca.vertcat(x[1], (p * (1 - x[0] * x[0])) * x[1] - x[0] + w * t)])


def watched() -> ca.Function:
    """The same, and the work of its force as a third state."""
    f = oscillator()
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("w", 1), ca.SX.sym("p", 1)
    return ca.Function("f", [t, x, w, p], [ca.vertcat(f(t, x[:2], w, p), x[0] * x[0] + w * x[1])])


def circle() -> ca.Function:
    """A state nearer to the circle of radius one, by how much it was moved, and what is not positive where the state
    of an arm cannot be closed."""
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("w", 1), ca.SX.sym("p", 1)
    far = x[0] * x[0] + x[1] * x[1] - 1
    return ca.Function("closing", [t, x, w, p], [ca.vertcat(x - (0.5 * far) * x, far * far, p - 0.7)])


def by_python(monkeypatch, f, method, plan, x, w, p, judged=None, ceilings=None, closer=None):
    """Final states, rows and counts."""
    n = x.shape[1]

    def closing(inp, out, work):
        values = np.array(closer(inp[0], [inp[1 + k] for k in range(n)], inp[1 + n], inp[2 + n])).ravel()
        for k in range(n + 2):
            out[k] = float(values[k])

    def body(inp, out, work):
        values = np.array(f(inp[0], [inp[1 + k] for k in range(n)], inp[1 + n], inp[2 + n])).ravel()
        for k in range(n):
            out[k] = float(values[k])

    form = PackForm(method, n, 1, 1, 0, 1, True, judged=judged, closes=closer is not None)
    x, out, counts, scratch = x.copy(), np.zeros((len(x), 1, n)), np.zeros((len(x), 2)), np.zeros(form.starts[-1] + 1)
    early, late = plan.sides()
    ceilings = np.full(len(x), np.inf) if ceilings is None else ceilings
    job = table(Job(x, w, 2, p, 1, out, n, plan.t, plan.h, early, late, plan.count, plan.row, plan.piece, plan.ticks,
                    2, SETTINGS, ceilings, counts, np.zeros(1)))  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(pack_loop, "body", body)
        patch.setattr(pack_loop, "closing", closing)
        run_packs(job.ctypes.data, scratch.ctypes.data, 0, len(x), form)
    return x, out, counts


@pytest.mark.slow_cases("dopri5")
@pytest.mark.parametrize(
    ("method", "plan"), [(explicit("rk4"), FIXED), (explicit("dopri5"), ADAPTIVE)], ids=["rk4", "dopri5"]
)
def test_packs_have_the_bits_of_python(monkeypatch, method, plan) -> None:
    rng = np.random.default_rng(3)
    x, w, p = rng.normal(size=(11, 2)), rng.normal(size=(11, 2, 1)), rng.uniform(0.5, 2, size=(11, 1))
    f = oscillator()
    expected = by_python(monkeypatch, f, method, plan, x, w, p)
    monkeypatch.setattr(pack, "machine", lambda: replace(machine(), fma=False))
    for width in (1, 4):
        end, out = x.copy(), np.zeros((11, 1, 2))
        counts = BatchIntegrator(f, method, width)(end, w, p, plan, out, SETTINGS)
        for found, own in zip((end, out, counts), expected):
            np.testing.assert_array_equal(found, own)
    assert (expected[2][:, 0].min() > 5) == method.adaptive


@pytest.mark.parametrize(
    ("method", "plan"), [(explicit("rk4"), FIXED), (explicit("dopri5"), ADAPTIVE)], ids=["rk4", "dopri5"]
)
def test_packs_close_their_states_lane_by_lane(monkeypatch, method, plan) -> None:
    """Lanes that are closed at once are not moved on with their neighbors; one that cannot be closed is NaN."""
    rng = np.random.default_rng(3)
    x, w, p = rng.normal(size=(11, 2)), rng.normal(size=(11, 2, 1)), rng.uniform(0.5, 2, size=(11, 1))
    x /= np.linalg.norm(x, axis=1)[:, None]
    expected = by_python(monkeypatch, oscillator(), method, plan, x, w, p, closer=circle())
    monkeypatch.setattr(pack, "machine", lambda: replace(machine(), fma=False))
    for width in (1, 4):
        end, out = x.copy(), np.zeros((11, 1, 2))
        counts = BatchIntegrator(oscillator(), method, width, closing=circle())(end, w, p, plan, out, SETTINGS)
        for found, own in zip((end, out, counts), expected):
            np.testing.assert_array_equal(found, own)
    sound = p[:, 0] > 0.7
    assert 0 < sound.sum() < 11
    assert np.isnan(end[~sound]).all()
    np.testing.assert_allclose(np.linalg.norm(end[sound], axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "plan"), [(explicit("rk4"), FIXED), (explicit("dopri5"), ADAPTIVE)], ids=["rk4", "dopri5"]
)
def test_packs_tick_where_a_segment_says_so(method, plan) -> None:
    """x' = u; a tick sets u = memory + w x + t and counts: of two segments both tick, or the second alone."""
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", 1), ca.SX.sym("w", 1), ca.SX.sym("p", 3)
    f = ca.Function("f", [t, x, w, p], [p[0] + 0 * p[1]])
    tick = ca.Function("tick", [t, x, w, p], [ca.vertcat(p[2] + w * x + t, p[2] + 1)])
    packs = BatchIntegrator(f, method, 4, tick=tick, ticks=(1, 1))
    lengths, begun = (0.4, 0.3 if method.name == "rk4" else 0.7), np.linspace(-1.0, 2.0, 6)
    pieces = np.broadcast_to(np.array([[2.0], [3.0]]), (6, 2, 1))  # the first segment looks up the second piece
    for ticks in ([1, 1], [0, 1]):
        own, end = np.tile([0.5, 7.0, 10.0], (6, 1)), begun[:, None].copy()
        packs(
            end, np.ascontiguousarray(pieces), own, replace(plan, tick=np.array(ticks)), np.zeros((6, 1, 1)), SETTINGS
        )
        u, memory, wanted = 0.5, 10.0, begun.copy()
        for at, length, piece, does in zip((0.0, 0.4), lengths, (3.0, 2.0), ticks):
            if does:
                u, memory = memory + piece * wanted + at, memory + 1
            wanted = wanted + length * u
        np.testing.assert_allclose(end[:, 0], wanted, rtol=1e-12)
        np.testing.assert_array_equal(own[:, 1:], np.tile([7.0, memory], (6, 1)))


def test_packs_take_slopes_of_closed_states() -> None:
    """A state that turns, from outside the circle: the first step is closed by far, and the next one begins there."""
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("w", 1), ca.SX.sym("p", 1)
    f = ca.Function("f", [t, x, w, p], [ca.vertcat(x[1], -x[0])])
    end, held = np.array([[1.3, 0.0]]), np.ones((1, 2, 1))
    packs = BatchIntegrator(f, explicit("dopri5"), closing=circle())
    counts = packs(end, held, held[0, :1], ADAPTIVE, np.zeros((1, 1, 2)), SETTINGS)
    np.testing.assert_allclose(end[0], [np.cos(1.1), -np.sin(1.1)], atol=1e-5)
    assert counts[0, 1] == 0  # a slope from elsewhere is refused until the step is next to nothing


def test_a_state_that_is_watched_ends_its_run_and_changes_no_other(monkeypatch) -> None:
    """Beyond its ceiling a run is at infinity, over breaks too; below, states and steps have the bits that they have
    without the watched one."""
    rng = np.random.default_rng(4)
    x, w, p = rng.normal(size=(9, 2)), rng.normal(size=(9, 2, 1)), rng.uniform(0.5, 2, size=(9, 1))
    monkeypatch.setattr(pack, "machine", lambda: replace(machine(), fma=False))
    plain, free = np.zeros((9, 1, 2)), np.zeros((9, 1, 3))
    counts = BatchIntegrator(oscillator(), explicit("dopri5"), 4)(x.copy(), w, p, ADAPTIVE, plain, SETTINGS)
    f = BatchIntegrator(watched(), explicit("dopri5"), 4, judged=2)
    start = np.column_stack([x, np.zeros(9)])
    steps = f(start.copy(), w, p, ADAPTIVE, free, SETTINGS)
    np.testing.assert_array_equal(free[:, :, :2], plain)
    np.testing.assert_array_equal(steps, counts)
    work = free[:, 0, 2]
    ceilings = np.where(np.arange(9) % 3 == 0, 0.3 * work, 1.1 * np.abs(work))
    away = work > ceilings
    assert away.any() != away.all()
    out = np.zeros((9, 1, 3))
    fewer = f(start.copy(), w, p, ADAPTIVE, out, SETTINGS, ceilings)
    assert np.isposinf(out[away]).all()
    assert (fewer[away].sum(axis=1) < steps[away].sum(axis=1)).all()
    np.testing.assert_array_equal(out[~away], free[~away])
    expected = by_python(monkeypatch, watched(), explicit("dopri5"), ADAPTIVE, start, w, p, 2, ceilings)
    np.testing.assert_array_equal(out, expected[1])
    np.testing.assert_array_equal(fewer, expected[2])


def test_the_short_form_of_a_method() -> None:
    """Kutta's weights; Dormand's and Prince's stages need all slopes before them."""
    assert explicit("rk4").low_storage == ((0.0, 1 / 6, 0.5), (0.5, 1 / 3, 0.5), (0.5, 1 / 3, 1.0), (1.0, 1 / 6, 1.0))
    with pytest.raises(ValueError, match="tableau dopri5: a stage needs more"):
        _ = explicit("dopri5").low_storage


@pytest.mark.parametrize("method", [explicit("rk4"), explicit("dopri5")], ids=["rk4", "dopri5"])
def test_a_step_in_plain_python(method) -> None:
    """xdot = t x from x(0) = 1 is exp(t^2 / 2); one step of 0.1 is off by the power order + 1 of it."""
    found = method.step(lambda t, x: t * x, 0.0, 1.0, 0.1)
    assert found == pytest.approx(np.exp(0.005), abs=0.1 ** (method.order + 1))
