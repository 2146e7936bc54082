"""The kernel as a function: shapes, conversions, errors, the flat interface, pickling."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import subprocess
import sys
import time

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel, few_calls, get_threads, set_threads
from pliant.compute.llvm import fastcall
from pliant.errors import ModelError

BACKENDS = ["llvm", "vm"]


@pytest.fixture(params=BACKENDS)
def product(request) -> Kernel:
    """A x + 1 y with a matrix input: `A (2, 3)`, `x (3,)`, `y (1,)`."""
    A, x, y = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3), ca.SX.sym("y")
    return Kernel(ca.Function("product", [A, x, y], [A @ x + y], ["A", "x", "y"], ["r"]), request.param)


def test_one_state(product, rng):
    A, x, y = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=1)
    for _ in range(3):  # the first call compiles, the others are fast
        np.testing.assert_allclose(product(A, x, y), A @ x + y, rtol=1e-14)
    assert product(A, x, y).shape == (2,)


@pytest.mark.parametrize(
    ("lead_A", "lead_x", "lead_y"),
    [
        ((), (), (5,)),
        ((5,), (), ()),
        ((4, 1), (1, 50), ()),
        ((3, 40), (40,), (3, 1)),
        ((1,), (1, 1), ()),
        ((0,), (), ()),
        ((2, 0), (1,), ()),
    ],
)
def test_leading_axes_are_broadcast(product, lead_A, lead_x, lead_y, rng):
    A, x, y = rng.normal(size=(*lead_A, 2, 3)), rng.normal(size=(*lead_x, 3)), rng.normal(size=(*lead_y, 1))
    expected = (A @ x[..., None])[..., 0] + y
    found = product(A, x, y)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_anything_that_holds_real_numbers(product):
    A, x, y = np.arange(6).reshape(2, 3), [1, 2, 3], (np.float32(0.5),)
    expected = A @ x + 0.5
    product(A, x, y)
    np.testing.assert_array_equal(product(A, x, y), expected)
    np.testing.assert_array_equal(product(np.asfortranarray(A, dtype=float), x, y), expected)
    np.testing.assert_array_equal(product(A.astype(">f8"), np.array(x, dtype=np.float16), y), expected)


@pytest.mark.parametrize("count", [7, 100])
@pytest.mark.parametrize(
    "cut", [np.s_[:, :3], np.s_[:, 3:6], np.s_[::2, :3], np.s_[::-1, 1:4], np.s_[:, ::2], np.s_[:, 2::-1]]
)
def test_views_of_larger_arrays(product, cut, count, rng):
    A, y = rng.normal(size=(2, 3)), np.zeros(1)
    x = rng.normal(size=(count, 6))[cut]
    np.testing.assert_allclose(product(A, x, y), x @ A.T, rtol=1e-13, atol=1e-14)


def test_unaligned_memory(product, rng):
    raw = np.zeros(100 * 24 + 1, dtype=np.uint8)
    x = raw[1:].view(np.float64).reshape(100, 3)
    x[:] = rng.normal(size=(100, 3))
    A, y = rng.normal(size=(2, 3)), np.zeros(1)
    np.testing.assert_allclose(product(A, x, y), x @ A.T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(product(A, x[0], y), A @ x[0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"x": np.zeros(4)},
            r"x: got an array of shape \(4,\), expected real numbers of shape \(\.\.\., 3\)",
        ),
        ({"x": 1.0}, r"x: got an array of shape \(\), .*\(\.\.\., 3\)"),
        ({"A": np.zeros((3, 2))}, r"A: got an array of shape \(3, 2\), .*\(\.\.\., 2, 3\)"),
        ({"x": np.array([1, 2, np.nan])}, r"x: got nan at index \[2\], expected finite numbers"),
        ({"A": np.array([[1, 2, 3], [4, -np.inf, 6]])}, r"A: got -inf at index \[1, 1\]"),
        ({"x": np.full((40, 3), np.inf)}, r"x: got inf at index \[0, 0\]"),
        ({"x": np.zeros(3, dtype=complex)}, "x: got an array of type complex128, expected real numbers"),
        ({"x": "abc"}, "x: got an array of type <U3"),
        ({"x": [None, 1, 2]}, "x: got an array of type object"),
        ({"x": [True, False, True]}, "x: got an array of type bool"),
        ({"x": [[1, 2], [3]]}, "x: got list that is no array"),
        ({"x": np.zeros((4, 3)), "y": np.zeros((5, 1))}, r"product: the batch axes.*x \(4,\), y \(5,\)"),
    ],
)
def test_wrong_input(product, change, message, warm):
    given = {"A": np.ones((2, 3)), "x": np.ones(3), "y": np.ones(1)}
    if warm:
        product(*given.values())
    with pytest.raises(ModelError, match=message):
        product(*(given | change).values())


def test_non_finite_number_in_the_last_lane_of_a_batch(product):
    x = np.ones((1001, 3))
    x[1000, 2] = np.nan
    with pytest.raises(ModelError, match=r"x: got nan at index \[1000, 2\]"):
        product(np.ones((2, 3)), x, np.ones(1))


def test_wrong_number_of_inputs(product):
    with pytest.raises(ModelError, match="product: got 2 inputs, expected 3: A, x, y"):
        product(np.ones((2, 3)), np.ones(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_and_empty_outputs(backend, rng):
    x = ca.SX.sym("x", 3)
    y = ca.SX(2, 2)
    y[0, 1] = x[0] * x[2]
    kernel = Kernel(ca.Function("f", [x], [x, y, ca.SX(0, 1), ca.SX(0, 3), ca.SX(4.0)]), backend)
    for lead in ((), (5,), (64,), (2, 64)):
        given = rng.normal(size=(*lead, 3))
        found = kernel(given)
        assert [r.shape[len(lead) :] for r in found] == [(3,), (2, 2), (0,), (0, 3), (1,)]
        np.testing.assert_array_equal(found[0], given)
        np.testing.assert_array_equal(found[1][..., 0, 1], given[..., 0] * given[..., 2])
        assert not found[1][..., 1, :].any()
        assert (found[4] == 4).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_inputs_and_no_elements(backend):
    constant = Kernel(ca.Function("f", [], [ca.SX([1.0, 2.0])]), backend)
    np.testing.assert_array_equal(constant(), [1, 2])
    np.testing.assert_array_equal(constant(), [1, 2])
    x, p = ca.SX.sym("x", 2), ca.SX.sym("p", 0)
    kernel = Kernel(ca.Function("f", [x, p], [2 * x]), backend)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(np.ones(2), np.ones(0)), [2, 2])
    np.testing.assert_array_equal(kernel(np.ones((50, 2)), np.ones(0)), np.full((50, 2), 2))
    np.testing.assert_array_equal(kernel(np.ones((50, 2)), np.ones((50, 0))), np.full((50, 2), 2))
    nothing = Kernel(ca.Function("f", [x], []), backend)
    assert nothing(np.ones(2)) == () == nothing(np.ones((50, 2)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_shapes_may_be_chosen(backend):
    x = ca.SX.sym("x")
    kernel = Kernel(ca.Function("f", [x], [x**2, x]), backend, in_shapes=[()], out_shapes=[(), (1, 1)], names=["time"])
    for given in (3.0, np.float64(3), np.array(3.0), np.full(70, 3.0)):
        square, same = kernel(given)
        assert (square.shape, same.shape) == (np.shape(given), (*np.shape(given), 1, 1))
        assert (square == 9).all()
    with pytest.raises(ModelError, match="time: got nan"):
        kernel(np.nan)
    with pytest.raises(ModelError, match="out_shapes"):
        Kernel(kernel.function, out_shapes=[(2,), ()])


def test_flat_interface(rng):
    A, x = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3)
    kernel = Kernel(ca.Function("f", [A, x], [A.T, A @ x]))
    given, found = rng.normal(size=9), np.empty(8)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)(given.ctypes.data, found.ctypes.data)
    matrix = given[:6].reshape(2, 3)
    np.testing.assert_array_equal(found[:6], matrix.T.ravel())
    np.testing.assert_allclose(found[6:], matrix @ given[6:], rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))])
def test_pickling(backend, clone):
    x = ca.SX.sym("x")
    kernel = Kernel(ca.Function("f", [x], [ca.sin(x)]), backend, in_shapes=[()], names=["angle"])
    found = clone(kernel)
    assert found.signature == kernel.signature
    assert found.backend == backend
    np.testing.assert_array_equal(found(0.3), kernel(0.3))


def test_fast_calls_leak_nothing():
    x = ca.SX.sym("x", 3)
    kernel = Kernel(ca.Function("f", [x], [2 * x]))
    given, wrong = np.ones(3), np.ones(4)
    kernel(given)
    before = sys.getrefcount(given), sys.getrefcount(wrong), sys.getrefcount(None), sys.getrefcount(np.ndarray)
    for _ in range(1000):
        assert kernel.fast(given) is not None
        assert kernel.fast(wrong) is None
    after = sys.getrefcount(given), sys.getrefcount(wrong), sys.getrefcount(None), sys.getrefcount(np.ndarray)
    np.testing.assert_allclose(after, before, atol=10)  # other code may come and go
    result = kernel.fast(given)
    assert sys.getrefcount(result) == 2
    assert result.flags.owndata
    assert result.flags.writeable


@pytest.mark.parametrize(
    "wrong",
    [
        np.ones(3, dtype=np.float32),
        np.ones(3, dtype=">f8"),
        np.ones(3, dtype=np.int64),
        np.ones(3, dtype="m8[s]"),
        np.zeros(25, dtype=np.uint8)[1:].view(np.float64),
        np.ones(6)[::2],
        np.ones((1, 3)),
        np.ma.ones(3),
        [1.0, 2.0, 3.0],
        None,
    ],
)
def test_fast_calls_refuse_what_is_not_plain(wrong):
    x = ca.SX.sym("x", 3)
    assert Kernel(ca.Function("f", [x], [x])).fast(wrong) is None


def test_fast_calls_take_what_is_plain():
    x = ca.SX.sym("x", 3)
    fast = Kernel(ca.Function("f", [x], [x])).fast
    frozen = np.ones(3)
    frozen.flags.writeable = False
    for given in (np.ones((2, 3))[1], frozen, pickle.loads(pickle.dumps(np.ones(3))), np.frombuffer(bytes(24))):
        np.testing.assert_array_equal(fast(given), given)


def test_fast_calls_outlive_their_kernel():
    x = ca.SX.sym("x", 3)
    fasts = [Kernel(ca.Function("f", [x], [k * x + ca.sin(x)])).fast for k in range(5)]
    gc.collect()
    [Kernel(ca.Function("g", [x], [ca.cos(x) - k])).address for k in range(5)]  # would reuse memory that was given back
    for k, fast in enumerate(fasts):
        np.testing.assert_allclose(fast(np.ones(3)), k + np.sin(np.ones(3)), rtol=1e-15)


def test_fast_calls_need_the_right_number_of_arguments():
    x = ca.SX.sym("x", 3)
    fast = Kernel(ca.Function("f", [x], [x])).fast
    assert fast() is None
    assert fast(np.ones(3), np.ones(3)) is None


def test_without_fast_calls(monkeypatch, chain, rng):
    state = rng.normal(size=(2, 3))
    expected = Kernel(chain(3))(*state)
    monkeypatch.setattr(fastcall, "_layout_is_known", lambda: False)
    kernel = Kernel(chain(3))
    for _ in range(2):
        for a, b in zip(kernel(*state), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_more_elements_than_the_stack_should_hold():
    x = ca.SX.sym("x", fastcall.MOST_ELEMENTS + 1)
    kernel = Kernel(ca.Function("f", [x], [ca.sum1(x)]))
    for _ in range(2):
        assert kernel(np.ones(fastcall.MOST_ELEMENTS + 1)) == fastcall.MOST_ELEMENTS + 1


def test_what_is_called_a_few_times_is_not_compiled():
    """Unless its code is there already; a number of the clock is in no cache."""
    x, c = ca.SX.sym("x"), time.time_ns() % 10**9 / 1e9
    f = ca.Function("f", [x], [ca.sin(c * x)])
    with few_calls():
        kernel = Kernel(f)
    assert kernel.backend == "vm"
    assert kernel(np.array([0.5])) == pytest.approx(np.sin(c / 2), rel=1e-15)
    Kernel(f)(np.array([0.5]))
    with few_calls():
        assert Kernel(f).backend == "llvm"
    assert Kernel(f).backend == "llvm"


def test_unknown_backend():
    x = ca.SX.sym("x")
    with pytest.raises(ModelError, match="backend: got 'cuda'"):
        Kernel(ca.Function("f", [x], [x]), "cuda")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"])
def test_wrong_number_of_threads(wrong):
    with pytest.raises(ModelError, match="threads"):
        set_threads(wrong)


def test_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("PLIANT_THREADS", "3")
    assert get_threads() == 3
    monkeypatch.setenv("PLIANT_THREADS", "many")
    with pytest.raises(ModelError, match="PLIANT_THREADS"):
        get_threads()


def test_import_is_light():
    code = "import sys, pliant.compute; print([m for m in ('llvmlite', 'scipy') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
