"""Any kernel as CUDA source over rows, compiled as C++ for this processor."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from arms import unequal_two_link
from cuda_shim import COMPILER, FakeCupy
from pliant.kernels import Kernel, cuda_rows
from pliant.products import products

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_rows, "cupy", lambda: FakeCupy())
    monkeypatch.setattr(cuda_rows, "shared_bytes", lambda: 232448)


@pytest.mark.parametrize("product", ["value", "vjp"])
def test_rows_are_those_of_the_kernel(product: str, rng: np.random.Generator) -> None:
    """Three outputs, an input that all states share, several leading axes."""
    found = products(unequal_two_link().model(), "forward_dynamics")
    kernel = found.kernel(product)
    rows = cuda_rows.DeviceRows(kernel.function, kernel.signature)
    given = [0.1 * rng.normal(size=(5, 30, *shape)) for shape in found.operands(product)]
    given[1] = given[1][:1, :1]
    expected = kernel(*given)
    made = rows(given, (5, 30))
    for a, b in zip(made, expected if isinstance(expected, tuple) else [expected]):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())  # sums are not fused there


def test_matrices_constants_and_inputs_that_pass_through(rng: np.random.Generator) -> None:
    A, x = ca.SX.sym("A", 2, 3), ca.SX.sym("x", 3)
    f = ca.Function("f", [A, x], [ca.vertcat(ca.mtimes(A, x), 4.0), A.T, x[2], ca.DM.zeros(2)])
    kernel = Kernel(f)
    rows = cuda_rows.DeviceRows(f, kernel.signature)
    given = [rng.normal(size=(7, 2, 3)), rng.normal(size=(7, 3))]
    for a, b in zip(rows(given, (7,)), kernel(*given)):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert rows([x[:0] for x in given], (0,))[0].shape == (0, 3)
