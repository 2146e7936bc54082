"""Arms inside JAX: transforms of all kinds against the model's own numbers and against differences."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

from arms import unequal_arm, unequal_two_link
from flyers import small, states

jax = pytest.importorskip("jax", reason="jax is not installed (pliant[jax]; make test-learning)")
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import pliant  # noqa: E402
import pliant.jax as own  # noqa: E402
from pliant.learning.products import products  # noqa: E402

jax.config.update("jax_enable_x64", True)


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return unequal_two_link().model()


def point(model: pliant.Model, rng: np.random.Generator, *lead: int) -> tuple:
    q = rng.normal(size=(*lead, model.n)) * 0.02
    q[..., : model.n_joints] = rng.normal(size=(*lead, model.n_joints))
    return q, 0.3 * rng.normal(size=(*lead, model.n)), rng.normal(size=(*lead, model.n_joints))


def close(a, b, part: float = 1e-10) -> None:
    """To a part of the largest entry; kernels of first derivatives agree to round-off of what they add."""
    np.testing.assert_allclose(a, b, rtol=0, atol=part * np.abs(b).max())


def test_the_interface_is_that_of_xla() -> None:
    assert own.interface() == "ffi"


def test_values_have_the_bits_of_the_model(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng, 50)
    for f in (own.forward_dynamics(model), jax.jit(own.forward_dynamics(model))):
        assert np.array_equal(f(q, qd, tau), model.forward_dynamics(q, qd, tau))
        assert np.array_equal(f(q[3], qd[3], tau[3]), model.forward_dynamics(q[3], qd[3], tau[3]))
    assert np.array_equal(own.inverse_dynamics(model)(q, qd, qd), model.inverse_dynamics(q, qd, qd))
    assert np.array_equal(own.tip_pose(model)(q), model.tip_pose(q))
    assert np.array_equal(own.pose(model, "fore.root")(q), model.pose(q, frame="fore.root"))
    energies = own.energy(model)(q, qd)
    assert np.array_equal(energies[:, 0], model.energy(q, qd).kinetic)


def test_many_states_in_threads(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng, 8192)
    assert np.array_equal(jax.jit(own.forward_dynamics(model))(q, qd, tau), model.forward_dynamics(q, qd, tau))


def test_vmap_is_a_batch(model: pliant.Model, rng: np.random.Generator) -> None:
    """Nested, with states that are shared, along any axis."""
    q, qd, tau = point(model, rng, 6)
    f = own.forward_dynamics(model)
    expected = model.forward_dynamics(q[None, :], qd[2], tau[:, None])
    found = jax.jit(jax.vmap(jax.vmap(f, (0, None, None)), (None, None, 0)))(q, qd[2], tau)
    assert np.array_equal(found, expected)
    assert np.array_equal(jax.vmap(f, (1, None, None), 1)(q.T, qd[2], tau[3]), expected[3].T)
    with pytest.raises(pliant.ModelError, match="batch axes of the arrays do not fit together"):
        f(q, qd[:5], tau)


def test_gradients_through_jit(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    cost = lambda *x: (jnp.sin(f(*x) / 50) ** 2).sum()  # noqa: E731
    inside, outside = jax.jit(jax.grad(cost, (0, 1, 2))), jax.grad(jax.jit(cost), (0, 1, 2))
    for a, b in zip(inside(q, qd, tau), outside(q, qd, tau)):
        close(a, b)
    expected = model.forward_dynamics_derivatives(q, qd, tau)
    for k in range(3):
        close(jax.jacfwd(f, k)(q, qd, tau), expected[k + 1])
        close(jax.jacrev(f, k)(q, qd, tau), expected[k + 1])
    many = jax.vmap(jax.jacrev(f))(*point(model, rng, 9))
    assert many.shape == (9, 4, 4)


def test_second_derivatives_four_ways(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    cost = lambda q, qd: (f(q, qd, tau) ** 2).sum()  # noqa: E731
    expected = jax.hessian(cost, (0, 1))(q, qd)
    ways = [(jax.jacfwd, jax.jacfwd), (jax.jacrev, jax.jacrev), (jax.jacrev, jax.jacfwd)]
    for outer, inner in ways:
        found = outer(inner(cost, (0, 1)), (0, 1))(q, qd)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
            close(a, b, 1e-9)
    h, e = 1e-4, np.eye(4)
    slopes = [(jax.grad(cost)(q + h * v, qd) - jax.grad(cost)(q - h * v, qd)) / (2 * h) for v in e]
    close(expected[0][0], np.array(slopes), 1e-5)  # central differences of order two
    check_grads(jax.jit(lambda q, qd: f(q, qd, tau) / 100), (q, qd), order=2, rtol=1e-3)


def test_third_derivatives_are_refused(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    with pytest.raises(pliant.UnsupportedModel, match="third derivatives"):
        jax.jacfwd(jax.hessian(lambda q: f(q, qd, tau).sum()))(q)


def test_the_mass_matrix_is_a_hessian(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, _ = point(model, rng)
    energy = own.energy(model)
    close(jax.hessian(lambda qd: energy(q, qd)[0])(qd), model.mass_matrix(q), 1e-12)
    jacobian = jax.jacfwd(lambda q: own.tip_pose(model)(q)[:3, 3])(q)
    close(jacobian, model.jacobian(q)[3:], 1e-12)


def test_inverse_dynamics_of_another_arm(rng: np.random.Generator) -> None:
    model = unequal_arm().model()
    q, qd, _ = point(model, rng)
    qdd = rng.normal(size=model.n)
    f = own.inverse_dynamics(model)
    for k, expected in enumerate(model.inverse_dynamics_derivatives(q, qd, qdd)[1:]):
        close(jax.jacfwd(f, k)(q, qd, qdd), expected)
        close(jax.jacrev(f, k)(q, qd, qdd), expected)


def test_parameters(rng: np.random.Generator) -> None:
    model = unequal_two_link().model(parameters=["payload.mass"])
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    assert np.array_equal(f(q, qd, tau), model.forward_dynamics(q, qd, tau))
    p = np.array([0.7])
    assert np.array_equal(f(q, qd, tau, p), model.forward_dynamics(q, qd, tau, p=p))
    assert np.array_equal(f(q, qd, tau, p=p), model.forward_dynamics(q, qd, tau, p=p))
    close(jax.jacrev(f, 3)(q, qd, tau, p), model.forward_dynamics_derivatives(q, qd, tau, p=p)[4])
    shared = jax.grad(lambda p: jax.vmap(f, (0, 0, 0, None))(*point(model, rng, 5), p).sum())(p)
    assert shared.shape == (1,)


def test_a_step_is_that_of_simulate(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    h, count = 1e-3, 20
    step = own.step(model, h)
    run = jax.jit(lambda q, qd: jax.lax.fori_loop(0, count, lambda _, x: step(*x, tau), (q, qd)))
    found = run(q, qd)
    result = pliant.simulate(model, count * h, q, qd, torque=tau, method="rk4", step=h)
    close(found[0], result.q[-1], 1e-12)
    close(found[1], result.qd[-1], 1e-11)
    final = lambda tau: jax.lax.scan(lambda x, _: (step(*x, tau), None), (q, qd), length=count)[0][0]  # noqa: E731
    close(jax.jacrev(final)(tau), jax.jacfwd(final)(tau))


def test_free_bases_and_balls(rng: np.random.Generator) -> None:
    model = small().model()
    q, qd = states(model, rng)
    tau = rng.normal(size=model.n_joints)
    f = own.forward_dynamics(model)
    close(f(q, qd, tau), model.forward_dynamics(q, qd, tau), 1e-13)
    close(jax.jacrev(f)(q, qd, tau), jax.jacfwd(f)(q, qd, tau))
    check_grads(lambda q: f(q, qd, tau), (q,), order=2, rtol=1e-3)
    step = jax.jit(own.step(model, 1e-3))
    x = (q, qd)
    for _ in range(10):
        x = step(*x, tau)
    result = pliant.simulate(model, 0.01, q, qd, torque=tau, method="rk4", step=1e-3)
    close(x[0], result.q[-1], 1e-9)  # stages see quaternions of length one here, and nearly so there: fourth order
    for place in model.chain.quaternions:
        assert np.linalg.norm(x[0][place : place + 4]) == pytest.approx(1.0, abs=1e-15)


def test_what_does_not_fit_is_named(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    with pytest.raises(pliant.ModelError, match=r"qd: got an array of shape \(3,\), expected \(..., 4\)"):
        f(q, qd[:3], tau)
    with pytest.raises(pliant.ModelError, match="tau: got an array of type complex128"):
        f(q, qd, tau + 0j)
    with pytest.raises(pliant.ModelError, match="forward_dynamics: got 2 arrays, expected 3"):
        f(q, qd)
    assert np.isnan(f(q * np.nan, qd, tau)).any()  # as JAX has it: no error from inside compiled code


def test_single_precision_is_one_clear_error() -> None:
    code = """
import jax, numpy as np, pliant, pliant.jax
f = pliant.jax.forward_dynamics(pliant.load("two-link").model())
try:
    jax.jit(f)(np.zeros(4), np.zeros(4), np.zeros(2))
except pliant.PliantError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 'jax.config.update("jax_enable_x64", True)' in said


def test_a_callback_where_the_interface_is_another(
    model: pliant.Model, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slower, said once, and the same numbers."""
    monkeypatch.setattr(own, "api_version", lambda text: None)
    own._version.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="calls kernels through Python"):
            assert own.interface() == "callback"
        fresh = unequal_two_link().model()
        q, qd, tau = point(fresh, rng, 5)
        f = own.forward_dynamics(fresh)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(
                jax.jit(jax.vmap(f, (0, None, 0)))(q, qd[1], tau), model.forward_dynamics(q, qd[1], tau)
            )
            close(jax.jacrev(f)(q[0], qd[0], tau[0]), model.forward_dynamics_derivatives(q[0], qd[0], tau[0])[1])
    finally:
        own._version.cache_clear()
    assert products(fresh, "forward_dynamics").signature.name == "forward_dynamics"


def test_arrays_on_a_cuda_device(model: pliant.Model, rng: np.random.Generator) -> None:
    """Outside of jit they stay there; under jit they are refused by name."""
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("no CUDA device")
    pytest.importorskip("cupy", reason="CUDA arrays need CuPy (pliant[gpu])")
    x = point(model, rng, 300)
    f = own.forward_dynamics(model)
    there = [jax.device_put(a, device) for a in x]
    found = f(*there)
    assert found.devices() == {device}
    close(np.asarray(found), model.forward_dynamics(*x), 1e-9)
    gradient = jax.grad(lambda q: (f(q, *there[1:]) ** 2).sum())(there[0])
    close(np.asarray(gradient), jax.grad(lambda q: (f(q, *x[1:]) ** 2).sum())(x[0]), 1e-8)
    with pytest.raises(pliant.UnsupportedModel, match="under jit there are kernels for the CPU only"):
        jax.jit(f)(*there)
