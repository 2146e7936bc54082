"""Any kernel as CUDA source over rows, compiled as C++ for this processor."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from arms import unequal_two_link
from cuda_shim import COMPILER, FakeCupy
from pliant.compute import Kernel
from pliant.compute.cuda import device as cuda_device
from pliant.compute.cuda import device_rows
from pliant.compute.cuda import rows as cuda_rows
from pliant.errors import ModelError
from pliant.learning.products import products

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cuda_device, device_rows):
        monkeypatch.setattr(module, "cupy", lambda: FakeCupy())
    monkeypatch.setattr(cuda_rows, "shared_bytes", lambda: 232448)


@pytest.mark.slow_cases("value")
@pytest.mark.parametrize("product", ["value", "vjp"])
def test_rows_are_those_of_the_kernel(product: str, rng: np.random.Generator) -> None:
    """Three outputs, an input that all states share, several leading axes."""
    found = products(unequal_two_link().model(), "forward_dynamics")
    kernel = found.kernel(product)
    rows = cuda_rows.device_code(kernel.function, kernel.signature)
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
    rows = cuda_rows.device_code(f, kernel.signature)
    given = [rng.normal(size=(7, 2, 3)), rng.normal(size=(7, 3))]
    for a, b in zip(rows(given, (7,)), kernel(*given)):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    assert rows([x[:0] for x in given], (0,))[0].shape == (0, 3)


def test_columns_are_those_of_the_kernel(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Matrices of derivatives: groups of columns, slices of a batch whose last is shorter, torques that all share."""
    monkeypatch.setattr(device_rows, "SLICE", 64)
    model = unequal_two_link().model()
    kernel = model.kernel("forward_dynamics_derivatives")
    given = [0.1 * rng.normal(size=(5, 30, size)) for size in (model.n, model.n, model.n_joints)]
    given[2] = given[2][:1, :1]
    for a, b in zip(kernel.on_device(given), kernel(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max())
    assert [x.shape for x in kernel.on_device([x[:0] for x in given[:2]] + [given[2]])][1] == (0, 30, 4, 4)


class OnDevice:
    """An array as a device has it: only its interface says where it is."""

    __cuda_array_interface__: dict[str, object] = {}

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array


def test_a_model_takes_arrays_of_a_device_where_they_are(rng: np.random.Generator) -> None:
    model = unequal_two_link().model()
    q, qd, tau = (0.1 * rng.normal(size=(40, size)) for size in (model.n, model.n, model.n_joints))
    found = model.forward_dynamics(OnDevice(q), OnDevice(qd), tau)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, model.forward_dynamics(q, qd, tau), rtol=1e-9, atol=1e-9)
    with pytest.raises(ModelError, match=r"q: got an array of shape \(40, 1\), expected real numbers of shape"):
        model.forward_dynamics(OnDevice(q[:, :1]), OnDevice(qd), tau)  # type: ignore[arg-type]
