"""Compiled dynamics inside graphs of CasADi: values, first and second derivatives are those of the plain expression."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from arms import unequal_two_link
from flyers import small
from pliant import Model
from pliant.errors import ModelError, UnsupportedModel


def graph(f: ca.Function, sizes: list[int], weights: NDArray, count: int) -> ca.Function:
    """All that optimizers ask: values, Jacobian, gradient and Hessian of a cost."""
    x = ca.MX.sym("x", sum(sizes) * count)
    y = f(*ca.vertsplit(ca.reshape(x, sum(sizes), count), np.cumsum([0, *sizes]).tolist()))
    cost = ca.dot(ca.DM(weights), y[:, -1]) + ca.sumsqr(y) * x[0]
    return ca.Function("all", [x], [y, ca.jacobian(y, x), ca.gradient(cost, x), ca.hessian(cost, x)[0]])


@pytest.mark.slow_cases("forward_dynamics-1")
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_dynamics"])
def test_derivatives_are_those_of_the_plain_expression(function: str, count: int, rng: np.random.Generator) -> None:
    model = Model(unequal_two_link(), stiffening="off", parameters=["payload.mass"])
    sizes = [model.n, model.n, model.n_joints if function == "forward_dynamics" else model.n, 1]
    x, weights = 0.3 * rng.normal(size=(count, sum(sizes))), rng.normal(size=model.n)
    x[:, -1] = 0.7
    compiled, traced = (model.casadi(function, kind, count) for kind in ("compiled", "traced"))  # type: ignore[arg-type]
    found, exact = (graph(f, sizes, weights, count)(x.ravel()) for f in (compiled, traced))
    for a, b in zip(found, exact, strict=True):
        assert a.nnz() == b.nnz() or count == 1  # the blocks of other states are known to be zero
        np.testing.assert_allclose(np.array(a), np.array(b), atol=1e-10 * np.abs(np.array(b)).max())


def test_a_solver_goes_as_far_with_kernels() -> None:
    """Newton's steps of IPOPT, with exact second derivatives, towards accelerations of a given size."""
    model = Model(unequal_two_link(), stiffening="off")
    solved = []
    for kind in ("compiled", "traced"):
        f = model.casadi("forward_dynamics", kind)  # type: ignore[arg-type]
        tau = ca.MX.sym("tau", 2)
        qdd = f(np.array([0.3, -0.4, 0.01, 0.02]), np.array([0.5, 0.2, 0.0, 0.1]), tau)
        problem = {"x": tau, "f": ca.sumsqr(tau) / 1e4, "g": qdd[:2]}
        quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.tol": 1e-12}
        result = ca.nlpsol("solver", "ipopt", problem, quiet)(lbg=[1.0, -2.0], ubg=[1.0, -2.0])
        solved.append(np.array(result["x"]).ravel())
    np.testing.assert_allclose(*solved, rtol=1e-9)


def test_what_cannot_be_compiled_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="traced"):
        Model(unequal_two_link()).casadi("energy")
    with pytest.raises(UnsupportedModel, match="quaternion"):
        Model(small()).casadi("forward_dynamics")
