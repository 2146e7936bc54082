"""Arms inside PyTorch: its own judges of gradients, transforms of `torch.func`, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from arms import unequal_arm, unequal_two_link
from flyers import small, states

torch = pytest.importorskip("torch", reason="torch is not installed (pliant[torch]; make test-learning)")
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import pliant  # noqa: E402
import pliant.torch as own  # noqa: E402


@pytest.fixture(scope="module")
def model() -> pliant.Model:
    return unequal_two_link().model(parameters=["payload.mass"])


def point(model: pliant.Model, rng: np.random.Generator, *lead: int, grad: bool = False) -> list:
    q = rng.normal(size=(*lead, model.n)) * 0.02
    q[..., : model.n_joints] = rng.normal(size=(*lead, model.n_joints))
    x = [q, 0.3 * rng.normal(size=(*lead, model.n)), rng.normal(size=(*lead, model.n_joints))]
    return [torch.tensor(a, requires_grad=grad) for a in x]


def close(a, b, part: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=part * np.abs(np.asarray(b)).max())


def softened(f, scale: float):
    """Outputs of order one, and amplitudes that a step of 1e-6 does not throw far: what gradcheck expects."""
    weights = torch.tensor([1.0, 1.0, 0.01, 0.01], dtype=torch.float64)
    return lambda q, *rest: f(q * weights, *rest) / scale


def test_values_have_the_bits_of_the_model(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng, 40)
    a, b, c = (x.numpy() for x in (q, qd, tau))
    f = own.forward_dynamics(model)
    assert np.array_equal(f(q, qd, tau), model.forward_dynamics(a, b, c))
    assert np.array_equal(f(q[3], qd[3], tau[3]), model.forward_dynamics(a[3], b[3], c[3]))
    assert np.array_equal(f(q[:, None], qd[2], tau), model.forward_dynamics(a[:, None], b[2], c))
    p = torch.tensor([0.7], dtype=torch.float64)
    assert np.array_equal(f(q, qd, tau, p), model.forward_dynamics(a, b, c, p=[0.7]))
    assert np.array_equal(f(q, qd, tau, p=p), f(q, qd, tau, p))
    assert np.array_equal(own.inverse_dynamics(model)(q, qd, qd), model.inverse_dynamics(a, b, b))
    assert np.array_equal(own.tip_pose(model)(q), model.tip_pose(a))
    assert np.array_equal(own.pose(model, "fore.root")(q), model.pose(a, frame="fore.root"))
    assert np.array_equal(own.energy(model)(q, qd)[:, 2], model.energy(a, b).strain)


@pytest.mark.parametrize(
    ("name", "scale"), [("forward_dynamics", 1e3), ("inverse_dynamics", 10.0), ("energy", 10.0), ("tip_pose", 1.0)]
)
def test_judges_of_pytorch(model: pliant.Model, rng: np.random.Generator, name: str, scale: float) -> None:
    """Batches whose axes are broadcast; backward, backward of backward, and forward mode."""
    q, qd, tau = point(model, rng, 3)
    p = torch.tensor([0.7], dtype=torch.float64)
    third = {"forward_dynamics": [tau[0]], "inverse_dynamics": [qd[:, None] * 2]}.get(name, [])
    x = ([q] if name == "tip_pose" else [q, qd[:1], *third]) + [p]
    for a in x:
        a.requires_grad_()
    f = softened(getattr(own, name)(model), scale)
    assert gradcheck(f, x, check_forward_ad=True)
    assert gradgradcheck(f, x)


def test_jacobians_are_those_of_the_model(model: pliant.Model, rng: np.random.Generator) -> None:
    x = point(model, rng)
    f = own.forward_dynamics(model)
    expected = model.forward_dynamics_derivatives(*(a.numpy() for a in x))
    for k in range(3):
        close(torch.func.jacrev(f, k)(*x), expected[k + 1])
        close(torch.func.jacfwd(f, k)(*x), expected[k + 1])
        close(torch.autograd.functional.jacobian(f, tuple(x))[k], expected[k + 1])


def test_transforms_of_torch_func(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng, 6)
    f = own.forward_dynamics(model)
    assert torch.equal(torch.func.vmap(f, (0, None, 0))(q, qd[1], tau), f(q, qd[1], tau))
    nested = torch.func.vmap(torch.func.vmap(f, (0, None, None)), (None, None, 1))(q, qd[2], tau.T)
    assert torch.equal(nested, f(q[None], qd[2], tau[:, None]))
    many = torch.func.vmap(torch.func.jacrev(f))(q, qd, tau)
    close(many[4], torch.func.jacfwd(f)(q[4], qd[4], tau[4]))
    cost = lambda q: (f(q, qd[0], tau[0]) ** 2).sum()  # noqa: E731
    hessian = torch.func.hessian(cost)(q[0])
    close(torch.func.jacrev(torch.func.jacrev(cost))(q[0]), hessian, 1e-9)
    close(torch.func.jacfwd(torch.func.jacfwd(cost))(q[0]), hessian, 1e-9)
    close(torch.autograd.functional.hessian(cost, q[0]), hessian, 1e-9)


def test_third_derivatives_are_refused(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    with pytest.raises(pliant.UnsupportedModel, match="third derivatives"):
        torch.func.jacrev(torch.func.hessian(lambda q: f(q, qd, tau).sum()))(q)


def test_a_step_is_that_of_simulate(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    tau.requires_grad_()
    step, h, count = own.step(model, 1e-3), 1e-3, 20
    x = (q, qd)
    for _ in range(count):
        x = step(*x, tau)
    result = pliant.simulate(model, count * h, q.numpy(), qd.numpy(), torque=tau.detach().numpy(), method="rk4", step=h)
    close(x[0].detach(), result.q[-1], 1e-12)
    (gradient,) = torch.autograd.grad(x[0][1], tau)
    e = np.array([1e-2, 0.0])
    ends = [
        pliant.simulate(
            model, count * h, q.numpy(), qd.numpy(), torque=tau.detach().numpy() + s * e, method="rk4", step=h
        )
        for s in (1, -1)
    ]
    assert gradient[0].item() == pytest.approx((ends[0].q[-1, 1] - ends[1].q[-1, 1]) / 2e-2, rel=1e-6)


def test_free_bases_and_balls(rng: np.random.Generator) -> None:
    model = small().model()
    q, qd = (torch.tensor(x, requires_grad=True) for x in states(model, rng))
    tau = torch.tensor(rng.normal(size=model.n_joints), requires_grad=True)
    f = own.forward_dynamics(model)
    assert gradcheck(f, (q, qd, tau))
    assert gradgradcheck(f, (q, qd, tau))
    moved, _ = own.step(model, 1e-3)(q, qd, tau)
    for place in model.chain.quaternions:
        assert torch.linalg.norm(moved[place : place + 4]).item() == pytest.approx(1.0, abs=1e-15)


def test_what_is_refused(model: pliant.Model, rng: np.random.Generator) -> None:
    q, qd, tau = point(model, rng)
    f = own.forward_dynamics(model)
    with pytest.raises(pliant.ModelError, match=r"q: got a tensor of torch.float32.*\.double\(\)"):
        f(q.float(), qd, tau)
    with pytest.raises(pliant.ModelError, match="qd: got ndarray, expected a tensor"):
        f(q, qd.numpy(), tau)
    with pytest.raises(pliant.ModelError, match=r"tau: got a tensor of shape \(1,\), expected \(..., 2\)"):
        f(q, qd, tau[:1])
    with pytest.raises(pliant.UnsupportedModel, match=r"q: got a tensor on meta, expected cpu or cuda"):
        f(q.to("meta"), qd, tau)
    with pytest.raises(pliant.ModelError, match="expected finite numbers"):
        f(q * torch.nan, qd, tau)


def test_all_parts_of_an_arm_that_is_unequal(rng: np.random.Generator) -> None:
    model = unequal_arm().model()
    x = point(model, rng)
    for name in ("forward_dynamics", "inverse_dynamics"):
        third = x[2] if name == "forward_dynamics" else torch.tensor(rng.normal(size=model.n))
        given = (x[0], x[1], third)
        expected = getattr(model, f"{name}_derivatives")(*(a.numpy() for a in given))
        for k in range(3):
            close(torch.func.jacrev(getattr(own, name)(model), k)(*given), expected[k + 1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_tensors_on_a_cuda_device(model: pliant.Model, rng: np.random.Generator) -> None:
    """They stay there, and numbers are those of the CPU but for roundings."""
    pytest.importorskip("cupy", reason="CUDA tensors need CuPy (pliant[gpu])")
    x = point(model, rng, 300)
    f = own.forward_dynamics(model)
    there = [a.cuda().requires_grad_() for a in x]
    found = f(*there)
    assert found.is_cuda
    close(found.detach().cpu(), f(*x), 1e-9)
    here = [a.requires_grad_() for a in x]
    gradients = torch.autograd.grad((found**2).sum(), there, create_graph=True)
    expected = torch.autograd.grad((f(*here) ** 2).sum(), here, create_graph=True)
    for a, b in zip(gradients, expected):
        close(a.detach().cpu(), b.detach(), 1e-8)
    (twice,) = torch.autograd.grad(gradients[0].sum(), there[0])
    (wanted,) = torch.autograd.grad(expected[0].sum(), here[0])
    close(twice.cpu(), wanted, 1e-7)
    many = torch.func.vmap(torch.func.jacrev(f))(*(a.detach() for a in there))
    close(many[7].cpu(), torch.func.jacrev(f)(*(a[7].detach() for a in x)), 1e-8)
    with pytest.raises(pliant.ModelError, match="expected one device"):
        f(there[0], x[1], x[2])
