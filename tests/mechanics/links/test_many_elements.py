"""Many elements in one link: the work grows no faster than the matrices, or the arm is refused with the reason."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.algebra.inertia import zero
from pliant.compute import Kernel, Tape
from pliant.compute.llvm.emit import MOST_FILLED, body
from pliant.compute.llvm.lanes import Lanes
from pliant.compute.tape.lower import lower
from pliant.mechanics import FORMULATIONS
from pliant.mechanics.formulations.denoc import body_blocks, outward_motion

BEAM = pliant.Beam(length=1.0, mass_per_length=2.0, EI_y=100.0, EI_z=100.0)


def arm(count: int, **options: object) -> pliant.Robot:
    shapes = pliant.Shapes(method="elements", count=count, bending_y=True, **options)
    return pliant.Robot(name="arm", links=[pliant.Link(name="arm", beam=BEAM, shapes=shapes)])


def test_elements_couple_to_their_neighbors_alone() -> None:
    """The gram of n elements has O(n) entries, and so has the work of eliminating them."""
    for count in (5, 10):
        chain = arm(count).model(stiffening="off").chain
        q = ca.SX.sym("q", chain.n)
        motion = outward_motion(chain, q, ca.SX.zeros(chain.n), None)[0]
        gram = body_blocks(motion, {0: zero()})[2]
        assert gram.nnz() == 10 * count - 6  # value and slope of a node couple at the tip alone


def test_operations_grow_as_the_elements_do() -> None:
    few, many = (
        Tape.from_function(arm(n).model(stiffening="off").kernel("forward_dynamics").function) for n in (6, 12)
    )
    assert len(many) < 2.6 * len(few)


def test_outputs_that_are_nothing_are_written_by_short_functions() -> None:
    """LLVM takes a time that grows with the square of a function's length: 50 s for the matrix of 60 elements."""
    x, size = ca.SX.sym("x", 3), 60
    M = ca.SX.zeros(size, size)
    M[0, 0], M[5, 7], M[7, 5] = x[0] * x[1], x[2], 3.5
    for k in range(size - 2):
        M[k, size - 1] += k - 2.0
    f = ca.Function("f", [x], [ca.densify(M)])
    text = body(lower(Tape.from_function(f), True, 500), Lanes(1), True, 1)
    assert max(function.count("store") for function in text.split("define ")) <= MOST_FILLED
    given = np.array([1.25, -2.5, 7.0])
    expected = np.array(f(given))
    kernel = Kernel(f)
    for found in (kernel(given), kernel(np.tile(given, (40, 1)))[17]):
        assert found.tobytes() == expected.tobytes()
    out = np.full(size * size, np.nan)  # what memory held before is gone from every place, the last among them
    pointer = ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(None, pointer, pointer)(kernel.address)
    call(given.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
    assert out.tobytes() == expected.tobytes()


def test_many_elements_are_right() -> None:
    """The first two frequencies of a clamped beam; accelerations against the inertia matrix and the bias."""
    model = arm(16).model(stiffening="off")
    exact = np.array([1.8751040687, 4.6940911330]) ** 2 * np.sqrt(100.0 / 2.0) / (2 * np.pi)
    np.testing.assert_allclose(model.frequencies()[:2], exact, rtol=1e-5)  # the error of elements, (4.7 / 16)^4 / 1440
    rng = np.random.default_rng(1)
    q, qd, tau = 1e-3 * rng.normal(size=model.n), rng.normal(size=model.n), np.array([2.0])
    qdd, bias = model.forward_dynamics(q, qd, tau), model.bias(q, qd)
    applied = np.concatenate([tau, np.zeros(model.n - 1)])
    np.testing.assert_allclose(model.mass_matrix(q) @ qdd + bias, applied, atol=1e-9 * np.abs(bias).max())


@pytest.mark.slow
def test_reduced_elements_may_be_many() -> None:
    few, many = (arm(count, reduce=3).model().frequencies() for count in (40, 250))
    np.testing.assert_allclose(many, few, rtol=1e-5)  # rounding of the finer matrices


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "denoc"])
def test_formulations_that_would_not_end_are_refused(formulation: str) -> None:
    with pytest.raises(pliant.UnsupportedModel, match="more than 60 amplitudes in one link; use one of: denoc"):
        arm(31).model(formulation, stiffening="off")


def test_many_elements_are_not_stiffened() -> None:
    """Terms of second order couple all amplitudes: 60 of them take 13 s to build, 120 minutes."""
    assert arm(30).model("denoc").options.stiffening == "second-order"
    assert "more than 60 amplitudes" in arm(31).model().level.reason
    with pytest.raises(pliant.UnsupportedModel, match="got 62 amplitudes, expected at most 60 with stiffening"):
        arm(31).model(stiffening="second-order")
