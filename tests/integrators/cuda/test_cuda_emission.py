"""CUDA source from a tape, compiled as C++ for this processor: every strategy gives what the kernel for one state
gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from cuda_shim import COMPILER, FakeCupy
from integrators.packs.test_pack_loop import ADAPTIVE, FIXED, SETTINGS, circle, oscillator
from pliant.algebra.tableaux import explicit
from pliant.compute import Kernel
from pliant.compute.cuda.allocate import Compute, Reload, Store, allocate
from pliant.compute.cuda.device import cupy
from pliant.compute.cuda.forms import CudaForm, choose
from pliant.compute.cuda.program import Nodes, nodes_of
from pliant.compute.cuda.text import Precision
from pliant.compute.tape.tape import Tape
from pliant.errors import PliantError, UnsupportedModel
from pliant.integrators.cuda import device_integrator
from pliant.integrators.cuda import source as cuda
from pliant.integrators.cuda.chunks import crossing, cuts, recompute
from pliant.integrators.cuda.source import emit, emit_evaluation
from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
CHOICES = (
    CudaForm("registers", 3, None), CudaForm("registers", 3, None, 4), CudaForm("shared", 1, None),
    CudaForm("shared", 1, 12),    CudaForm("chunks", 1, 12, chunk=40), CudaForm("chunks", 2, 100, chunk=70),
)  # fmt: skip
CLOSED = [
    pytest.param(method, plan, c, id=f"{name}-{c.strategy}-{c.values}-{c.unroll}")
    for name, method, plan in (("rk4", explicit("rk4"), FIXED), ("dopri5", explicit("dopri5"), ADAPTIVE))
    for c in CHOICES
    if c.strategy != "chunks" or not method.adaptive
]
# Two steps of a well-conditioned equation: roundings differ (fused sums, reciprocals), some hundred operations deep.
DOUBLE = 1e-12
# 2^-24 a rounding, some hundred of them, and an unfused sum may cancel one digit.
SINGLE = 1e-4


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_integrator, "cupy", lambda: FakeCupy())


def oscillators(n: int = 4, smooth: bool = False) -> ca.Function:
    """Coupled pendulums: divisions, sines of states, time, held inputs and parameters, a rate that is a state; and
    a switch, unless smooth."""
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)
    w, p = ca.SX.sym("w", n), ca.SX.sym("p", 2)
    force = w - p[0] * ca.sin(q) * ca.cos(q) - 0.1 * v + ca.sin(3 * t)
    for k in range(1, n):
        pull = p[1] * (q[k] - q[k - 1]) / (2 + ca.cos(q[k]) ** 2) + ca.tanh(v[k]) / (2 + ca.cos(q[k]) ** 2)
        force[k] -= pull
        force[k - 1] += pull
    if not smooth:
        force += ca.if_else(q > 0, q**3, ca.fmin(v, 1.0)) + (2 + q) ** -2
    force += ca.sqrt(1 + q**2)
    return ca.Function("f", [t, ca.vertcat(v, q), w, p], [ca.vertcat(force / (1 + q**2), v)])


@pytest.fixture(scope="module")
def tape() -> Tape:
    return Tape.from_function(oscillators())


def batch(rng: np.random.Generator, arms: int = 130) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rng.normal(size=(arms, 8)), rng.normal(size=(arms, 2, 4)), rng.uniform(1, 2, size=(arms, 2))


PLAN = TimeSegments(
    np.array([0.0, 0.02, 0.05]), np.array([0.01, 0.015, 0.01]), np.array([2, 2, 1]), np.array([0, -1, 1]),
    np.array([0, 1, 1]),
)  # fmt: skip


def reference(x: np.ndarray, w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The plan by NumPy and the kernel for one state."""
    f = Kernel(oscillators())
    x, rows = x.copy(), []
    for t, h, count, row, piece in zip(PLAN.t, PLAN.h, PLAN.count, PLAN.row, PLAN.piece):
        for step in range(count):
            now = t + step * h
            k1 = f(np.array([now]), x, w[:, piece], p)
            k2 = f(np.array([now + h / 2]), x + h / 2 * k1, w[:, piece], p)
            k3 = f(np.array([now + h / 2]), x + h / 2 * k2, w[:, piece], p)
            k4 = f(np.array([now + h]), x + h * k3, w[:, piece], p)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if row >= 0:
            rows.append(x)
    return np.stack(rows, axis=1)


@pytest.mark.slow_cases(
    "double-1e-12-chunks-12-1",
    "double-1e-12-registers-None-1",
    "double-1e-12-shared-None-1",
    "single-0.0001-chunks-100-1",
    "single-0.0001-chunks-12-1",
    "single-0.0001-registers-None-1",
    "single-0.0001-registers-None-4",
    "single-0.0001-shared-12-1",
    "single-0.0001-shared-None-1",
)
@needs_compiler
@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.strategy}-{c.values}-{c.unroll}")
@pytest.mark.parametrize(("precision", "tolerance"), [("double", DOUBLE), ("single", SINGLE)])
def test_every_strategy_steps_as_the_kernel_does(device, tape, choice, precision, tolerance) -> None:
    x, w, p = batch(np.random.default_rng(1))
    integrator = device_integrator.DeviceIntegrator(emit(tape, explicit("rk4"), precision, choice=choice))
    if choice.strategy == "chunks":
        integrator.tile = 1  # several tiles
    X = integrator.states(x)
    out, _ = integrator(X, w, p, PLAN, 2)
    expected = reference(x, w, p)
    np.testing.assert_allclose(out.transpose(2, 0, 1), expected, rtol=0, atol=tolerance * np.abs(expected).max())
    np.testing.assert_array_equal(X.T, out[1].T)


@pytest.mark.slow_cases("registers-None-1", "shared-None-1")
@needs_compiler
@pytest.mark.parametrize(
    "choice",
    [pytest.param(c, marks=() if c in CHOICES[::2] else pytest.mark.full) for c in CHOICES],
    ids=lambda c: f"{c.strategy}-{c.values}-{c.unroll}",
)
def test_wide_values_keep_their_digits_wherever_they_are_stored(device, choice, monkeypatch) -> None:
    """A pivot of 1e-4 is left of numbers about 1. All in double precision, only inputs and outputs are rounded, which
    is a part in 1e6; with every third value in single precision, or all, the digits are gone."""
    n = 4
    t, x, w, p = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("w", 0), ca.SX.sym("p", 0)
    y = [ca.sin(x[k]) * 3 + ca.cos(x[k - 1]) / 7 for k in range(n)]
    z = [(y[k] + 1.0) ** 2 - y[k] * (y[k] + 2.0) - 0.9999 + 1e-5 * x[k] for k in range(n)]
    f = ca.Function("f", [t, x, w, p], [ca.vertcat(*(1e-4 / value for value in z))])
    tape, arms = Tape.from_function(f), np.random.default_rng(6).normal(size=(40, n)).astype(np.float32)
    nothing = np.zeros((1, 1, 0)), np.zeros((1, 0))
    plan = TimeSegments(
        np.zeros(1), np.full(1, 0.1), np.ones(1, dtype=int), np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    )
    expected = np.empty((40, 1, n))
    BatchIntegrator(f, explicit("rk4"))(arms.astype(float), *nothing, plan, expected, np.zeros(4))

    def error(chosen: Callable[[int], bool]) -> float:
        def some(nodes: Nodes, states: np.ndarray) -> Nodes:
            return replace(
                nodes, wide=frozenset(v for k, node in enumerate(nodes.nodes) if chosen(k) for v in node.results)
            )

        monkeypatch.setattr(cuda, "widened", some)
        integrator = device_integrator.DeviceIntegrator(
            emit(tape, explicit("rk4"), "single", choice=choice, states=np.zeros((1, n + 1)))
        )
        return float(np.abs(integrator(integrator.states(arms), *nothing, plan, 1)[0][0].T - expected[:, 0]).max())

    assert error(lambda k: True) < 1e-6
    assert error(lambda k: k % 3 > 0) > 1e-5
    assert error(lambda k: False) > 1e-5


@needs_compiler
@pytest.mark.parametrize(("method", "plan", "choice"), CLOSED)
def test_every_strategy_closes_states_as_packs_do(device, method, plan, choice) -> None:
    """Each arm until it is closed, then no further; one that cannot be closed is NaN. Slopes are those of closed
    states."""
    rng = np.random.default_rng(3)
    x, w, p = rng.normal(size=(11, 2)), rng.normal(size=(11, 2, 1)), rng.uniform(0.5, 2, size=(11, 1))
    f, closing = oscillator(), circle()
    source = emit(Tape.from_function(f), method, choice=choice, closing=Tape.from_function(closing))
    integrator = device_integrator.DeviceIntegrator(source)
    out, counts = integrator(integrator.states(x), w, p, plan, 1, tuple(SETTINGS))
    expected, end = np.zeros((11, 1, 2)), x.copy()
    steps = BatchIntegrator(f, method, closing=closing)(end, w, p, plan, expected, SETTINGS)
    sound = p[:, 0] > 0.7
    assert 0 < sound.sum() < 11
    assert np.isnan(out[0][:, ~sound]).all()
    # roundings of ten steps; those of an adaptive one decide its length, and its error is that of the tolerance
    np.testing.assert_allclose(out[0].T[sound], expected[sound, 0], rtol=0, atol=1e-7 if method.adaptive else 1e-12)
    if method.adaptive:
        np.testing.assert_array_equal(counts.T[sound], steps[sound])


@needs_compiler
def test_inputs_shared_by_all_arms(device, tape) -> None:
    x, w, p = batch(np.random.default_rng(2), 5)
    integrator = device_integrator.DeviceIntegrator(emit(tape, explicit("rk4")))
    out, _ = integrator(integrator.states(x), w[:1], p[:1], PLAN, 2)
    expected = reference(x, np.repeat(w[:1], 5, axis=0), np.repeat(p[:1], 5, axis=0))
    np.testing.assert_allclose(out.transpose(2, 0, 1), expected, rtol=0, atol=DOUBLE * np.abs(expected).max())


@pytest.mark.slow_cases("shared")
@needs_compiler
@pytest.mark.parametrize(
    "choice", [CudaForm("registers", 3, None), CudaForm("shared", 1, 12)], ids=lambda c: c.strategy
)
def test_adaptive_steps_take_the_decisions_of_the_packs(device, choice) -> None:
    """The same control on both: numbers of steps agree but where an error sits on the edge, states to the tolerance."""
    x, w, p = batch(np.random.default_rng(3), 20)
    pair = explicit("dopri5")
    ends = np.array([0.1, 0.4, 0.5])
    plan = TimeSegments(
        np.array([0.0, 0.1, 0.4]), ends, np.zeros(3, dtype=int), np.array([0, -1, 1]), np.array([0, 1, 1])
    )
    settings = (1e-8, 1e-10, 0.5, 1e5)
    f = oscillators(smooth=True)
    integrator = device_integrator.DeviceIntegrator(emit(Tape.from_function(f), pair, choice=choice))
    out, counts = integrator(integrator.states(x), w, p, plan, 2, settings)
    host = np.empty((20, 2, 8))
    host_counts = BatchIntegrator(f, pair)(x.copy(), w, p, plan, host, np.array(settings))
    assert np.abs(counts.T - host_counts).max() <= 2
    assert host_counts[:, 0].min() >= 10
    # Global error of some tens of steps at a local tolerance of 1e-8; a step of another size changes it by as much.
    np.testing.assert_allclose(out.transpose(2, 0, 1), host, rtol=0, atol=1e-6)


@needs_compiler
def test_an_arm_that_breaks_down_ends_in_nan_and_the_others_go_on(device) -> None:
    """xdot = x^2 from x = 1 has no value at t = 1."""
    x = ca.SX.sym("x")
    f = ca.Function("f", [ca.SX.sym("t"), x, ca.SX.sym("w", 0), ca.SX.sym("p", 0)], [x**2])
    pair, nothing = explicit("dopri5"), (np.zeros((1, 1, 0)), np.zeros((1, 0)))
    plan = TimeSegments(
        np.array([0.0, 0.5]), np.array([0.5, 1.5]), np.zeros(2, dtype=int), np.arange(2), np.zeros(2, dtype=int)
    )
    settings, start = (1e-8, 1e-10, 1.0, 1e4), np.array([[1.0], [-1.0], [0.1]])
    integrator = device_integrator.DeviceIntegrator(emit(Tape.from_function(f), pair))
    device_out = integrator(integrator.states(start), *nothing, plan, 2, settings)[0].transpose(2, 0, 1)
    host_out = np.empty((3, 2, 1))
    BatchIntegrator(f, pair)(start.copy(), *nothing, plan, host_out, np.array(settings))
    for out in (device_out, host_out):
        assert np.isnan(out[0, 1, 0])
        expected = 1 / (1 / start[:, 0] - 0.5)
        np.testing.assert_allclose(out[:, 0, 0], expected, rtol=1e-6)  # some ten steps at 1e-8 each
        np.testing.assert_allclose(out[1:, 1, 0], 1 / (1 / start[1:, 0] - 1.5), rtol=1e-6)


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
def test_one_evaluation(device, tape, precision) -> None:
    x, w, p = batch(np.random.default_rng(4))
    integrator = device_integrator.DeviceIntegrator(emit_evaluation(tape, precision))
    plan = TimeSegments(
        np.array([0.3]), np.zeros(1), np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    )
    out, _ = integrator(integrator.states(x), w, p, plan, 1)
    expected = Kernel(oscillators())(np.array([0.3]), x, w[:, 0], p)
    tolerance = DOUBLE if precision == "double" else SINGLE
    np.testing.assert_allclose(out[0].T, expected, rtol=0, atol=tolerance * np.abs(expected).max())


UNARY = ("exp", "log", "sqrt", "tan", "asin", "acos", "atan", "floor", "ceil", "fabs", "sign", "erf", "sinh", "cosh",
         "tanh", "asinh", "acosh", "atanh", "log1p", "expm1")  # fmt: skip


@needs_compiler
def test_every_operation(device) -> None:
    """One state an operation, at an argument in its domain."""
    x = ca.SX.sym("x", len(UNARY) + 10)
    y = [getattr(ca, name)(x[k]) for k, name in enumerate(UNARY)]
    a, b = x[-2], x[-1]
    y += [ca.power(a, b), ca.fmod(a, b), ca.atan2(a, b), ca.hypot(a, b), ca.fmax(a, b), ca.logic_and(a > b, a != 0),
          ca.logic_or(a < b, a == 0), ca.logic_not(a), a**5, a**-3]  # fmt: skip
    f = ca.Function("f", [ca.SX.sym("t"), x, ca.SX.sym("w", 0), ca.SX.sym("p", 0)], [ca.vertcat(*y)])
    start = np.full((1, len(UNARY) + 10), 0.4)
    start[0, UNARY.index("acosh")] = 1.7
    start[0, -2:] = 1.3, 0.7
    integrator = device_integrator.DeviceIntegrator(emit_evaluation(Tape.from_function(f)))
    plan = TimeSegments(
        np.zeros(1), np.zeros(1), np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    )
    out, _ = integrator(integrator.states(start), np.zeros((1, 1, 0)), np.zeros((1, 0)), plan, 1)
    expected = np.array(f(0, start[0], [], [])).ravel()
    np.testing.assert_allclose(out[0, :, 0], expected, rtol=1e-14)  # two C libraries, each within a unit or two


def test_an_operation_without_gpu_code_is_refused() -> None:
    x = ca.SX.sym("x")
    f = ca.Function("f", [ca.SX.sym("t"), x, ca.SX.sym("w", 0), ca.SX.sym("p", 0)], [ca.erfinv(x)])
    with pytest.raises(UnsupportedModel, match="erfinv"):
        emit(Tape.from_function(f), explicit("rk4"))


def test_adaptive_steps_of_a_tape_in_chunks_are_refused(tape) -> None:
    pair = explicit("dopri5")
    with pytest.raises(UnsupportedModel, match="rk4"):
        emit(tape, pair, choice=CudaForm("chunks", 1, 20))


def test_without_cupy_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(PliantError, match=r"pip install '\.\[gpu\]'"):
        cupy()


# ----------------------------------------------------------------------------------------------------- planning


def test_divisions_share_reciprocals_and_angles_one_sincos() -> None:
    a, b, c = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("c")
    f = ca.Function("f", [a, b, c], [ca.vertcat(a / c - b, b / c + a, ca.sin(a) * b, ca.cos(a) + c)])
    names = [node.name for node in nodes_of(Tape.from_function(f)).nodes]
    assert "div" not in names
    assert names.count("inv") == names.count("sincos") == 1


@pytest.mark.parametrize("registers", [4, 8, 16, 64])
@pytest.mark.parametrize("fast", [0, 3, 100])
@pytest.mark.parametrize("most", [1, 2])
def test_allocation_keeps_its_promises(tape, registers, fast, most) -> None:
    """Never more than K numbers alive; what is loaded from a slot is what was stored there last."""
    nodes = nodes_of(tape)
    if most == 2:
        nodes = replace(nodes, wide=frozenset(v for node in nodes.nodes[::3] for v in node.results))
    plan = allocate(nodes, 0, len(nodes.nodes), registers, fast, nodes.inputs.__contains__)
    slots: dict[int, str] = {}
    value_of: dict[str, int] = {}
    last_use: dict[str, int] = {}
    for k, action in enumerate(plan.actions):
        if isinstance(action, Compute):
            last_use |= {name: k for name in action.operands if name}
        elif isinstance(action, Store):
            last_use[action.name] = k
    alive: set[str] = set()
    for k, action in enumerate(plan.actions):
        if isinstance(action, Reload):
            for spill in action.spills:
                assert value_of[slots[plan.slots[spill]]] == action.value
            alive.add(action.name)
            value_of[action.name] = action.value
        elif isinstance(action, Store):
            assert len(action.spills) == nodes.width(action.value)
            slots |= {plan.slots[spill]: action.name for spill in action.spills}
        else:
            node = nodes.nodes[action.index]
            for name, value in zip(action.operands, node.operands):
                assert (name == "") == (value in nodes.constants)
                assert not name or value_of[name] == value
            value_of |= {f"v{v}": v for v in node.results}
            alive |= {f"v{v}" for v in node.results}
        alive = {name for name in alive if last_use.get(name, -1) > k}
        # A wide result may take the place of a narrow value that was evicted for it: one number more.
        assert sum(nodes.width(value_of[name]) for name in alive) <= max(registers, 3 * most) + most - 1
    assert plan.fast <= fast
    if registers >= nodes.most_live + len(nodes.inputs):
        assert not plan.slots


def test_chunks_cover_the_tape_and_recompute_what_is_cheap(tape) -> None:
    nodes = nodes_of(tape)
    ends = cuts(nodes, 30)
    assert ends[0] == 0
    assert ends[-1] == len(nodes.nodes)
    assert 0 < min(np.diff(ends)) <= max(np.diff(ends)) <= 30
    again, new_ends = recompute(nodes, ends)
    assert len(again.nodes) > len(nodes.nodes)
    assert len(crossing(again, new_ends)) < len(crossing(nodes, ends))


def test_choice_by_size(tape) -> None:
    nodes = nodes_of(tape)
    assert choose(nodes, 8, Precision("double")).strategy == "registers"
    assert choose(nodes, 200, Precision("double")).strategy == "shared"
