"""Five products of a function's derivatives, against differences and each other; no learner is needed for that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from arms import unequal_arm, unequal_two_link
from flyers import small, states
from pliant import Model, ModelError, UnsupportedModel
from pliant.learning.products import CHANGES, GRADIENTS, DerivativeProducts, products, rk4_step

NAMES = ("forward_dynamics", "inverse_dynamics", "energy", "tip_pose", "pose fore.root")


def arm(name: str) -> Model:
    if name == "parameters":
        return unequal_two_link().model(parameters=["links.fore.tip.mass", "links.upper.beam.EI_z"], shapes="nominal")
    return {"unequal": unequal_arm, "free": small}[name]().model()


def cases() -> list[Any]:
    """The dynamics of the large arm compile for ten seconds each."""
    found = [pytest.param("unequal", name, marks=pytest.mark.full) for name in NAMES[:3]]
    found += [("unequal", name) for name in NAMES[3:]] + [("parameters", name) for name in NAMES]
    return found + [("free", name) for name in ("forward_dynamics", "energy", "pose arm.tip", "rates", "normalized")]


def point(model: Model, found: DerivativeProducts, rng: np.random.Generator) -> list[np.ndarray]:
    q, qd = states(model, rng)
    if model.chain.plain:
        q[model.n_joints :] *= 0.3
    x = []
    for name, shape in zip(found.signature.in_names, found.inputs):
        given = {"q": q, "qd": qd, "p": model.nominal_parameters}
        x.append(given[name].reshape(shape) if name in given else rng.normal(size=shape))
    return x


def directions(shapes: tuple, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=shape) for shape in shapes]


def inner(a: list | tuple, b: list | tuple) -> float:
    return float(sum((x * y).sum() for x, y in zip(a, b)))


def moved(x: list, u: list, h: float) -> list:
    return [a + h * b for a, b in zip(x, u)]


def slope(f, h: float) -> list[np.ndarray]:
    """Central differences of order four."""
    pairs = [(f(h), f(-h)), (f(2 * h), f(-2 * h))]
    first, second = ([a - b for a, b in zip(*pair)] for pair in pairs)
    return [(8 * a - b) / (12 * h) for a, b in zip(first, second)]


def scaled(x: list, rng: np.random.Generator) -> list[np.ndarray]:
    """A direction in which nothing leaves what differences can follow: parameters move by parts of themselves."""
    return [rng.normal(size=a.shape) * np.where(np.abs(a) > 10, np.abs(a), 1.0) * 0.1 for a in x]


@pytest.mark.slow_cases("free-forward_dynamics", "parameters-forward_dynamics", "parameters-inverse_dynamics")
@pytest.mark.parametrize(("own", "name"), cases())
def test_products_against_differences_and_each_other(own: str, name: str, rng: np.random.Generator) -> None:
    model = arm(own)
    found = products(model, name)
    x = point(model, found, rng)
    u, v = scaled(x, rng), scaled(x, rng)
    w = directions(found.outputs, rng)
    jvp, vjp = found("jvp", *x, *u), found("vjp", *x, *w)
    second, hvp = found("second", *x, *u, *v), found("hvp", *x, *w, *u)
    # Differences of order four with h = 1e-3: h^4 of the fifth derivative and 1e-16 / h of rounding, both near 1e-10 of
    # the largest entry; the functions vary over lengths of some tenths.
    by_difference = slope(lambda h: found("value", *moved(x, u, h)), 1e-3)
    change = slope(lambda h: found("jvp", *moved(x, v, h), *u), 1e-3)
    for a, b in (*zip(jvp, by_difference), *zip(second, change)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-7 * max(np.abs(b).max(), 1.0))
    # Transposes, and a second derivative that is symmetric: round-off only.
    size = lambda a, b: sum(float(np.abs(x * y).sum()) for x, y in zip(a, b)) + 1.0  # noqa: E731
    assert inner(w, jvp) == pytest.approx(inner(vjp, u), rel=0, abs=1e-10 * size(w, jvp))
    assert inner(w, second) == pytest.approx(inner(hvp, v), rel=0, abs=1e-8 * size(hvp, v))
    again = found("second", *x, *v, *u)
    for a, b in zip(second, again):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * max(np.abs(b).max(), 1.0))


def test_the_gradient_by_a_quaternion_is_tangent(rng: np.random.Generator) -> None:
    """Along the quaternion itself nothing changes, and the derivative along the speeds is the model's own."""
    model = small().model()
    found = products(model, "forward_dynamics")
    x = point(model, found, rng)
    w = rng.normal(size=model.n)
    gradient = found("vjp", *x, w)[0]
    for place in model.chain.quaternions:
        four = slice(place, place + 4)
        assert abs(gradient[four] @ x[0][four]) < 1e-12 * np.abs(gradient).max()
        longer = x[0].copy()
        longer[four] *= 1.7
        for name, rest in (("normalized", ()), ("rates", (x[1],))):
            same = [products(model, name)("value", q, *rest)[0] for q in (longer, x[0])]
            np.testing.assert_allclose(*same, rtol=0, atol=1e-14)
    rates = products(model, "rates")
    for k, expected in enumerate(model.forward_dynamics_vjp(*x, w)[0]):
        along = rates("value", x[0], np.eye(model.n)[k])[0]
        assert gradient @ along == pytest.approx(expected, rel=0, abs=1e-9 * np.abs(gradient).max())


def test_batches_have_the_bits_of_single_states(rng: np.random.Generator) -> None:
    found = products(unequal_two_link().model(), "forward_dynamics")
    q, qd, tau = rng.normal(size=(40, 4)) * 0.1, rng.normal(size=(40, 4)), rng.normal(size=(1, 2))
    many = found("vjp", q, qd, tau, np.ones((1, 4)))
    one = found("vjp", q[7], qd[7], tau[0], np.ones(4))
    assert all(np.array_equal(a[7], b) for a, b in zip(many, one))


def test_what_is_missing_or_too_much_is_named() -> None:
    found = products(arm("parameters"), "energy")
    nominal = np.zeros(2)
    assert found.completed((1, 2), None, nominal) == (1, 2, nominal)
    assert found.completed((1, 2, None), None, nominal) == (1, 2, nominal)
    assert found.completed((1, 2), 3, nominal) == (1, 2, 3)
    with pytest.raises(ModelError, match="energy: got 1 arrays, expected 3: q, qd, p"):
        found.completed((1,), None, nominal)
    with pytest.raises(UnsupportedModel, match="third derivatives"):
        found.change("hvp", 0)
    with pytest.raises(UnsupportedModel, match="third derivatives"):
        found.gradient("second", 0)


def test_the_tables_speak_of_the_same_groups() -> None:
    """Every rule hands a product as many arrays, of the same shapes, as it takes."""
    found = products(unequal_arm().model(), "energy")
    for table, letter in ((CHANGES, "d"), (GRADIENTS, "c")):
        for product, rules in table.items():
            groups = found.groups(product, found.operands(product))
            for k, rule in enumerate(rules):
                if rule is None:
                    continue
                special = groups[k] if letter == "d" else list(found.results(product))
                source = {**{str(j): group for j, group in enumerate(groups)}, letter: special}
                handed = tuple(shape for key in rule[1] for shape in source[key])
                assert handed == found.operands(rule[0]), (product, k)
                given = found.results(product) if letter == "d" else tuple(groups[k])
                assert found.results(rule[0]) == given, (product, k)


def test_a_step_has_order_four(rng: np.random.Generator) -> None:
    """Of numbers alone; `simulate` is what it should become."""
    model = unequal_two_link().model()
    q, qd = states(model, rng)
    q[2:] *= 0.3
    tau = rng.normal(size=2)
    found = products(model, "forward_dynamics")

    def error(count: int) -> float:
        step = rk4_step(
            lambda q, qd, tau, p: found("value", q, qd, tau)[0], lambda q, qd: qd, lambda q: q, 0.002 / count
        )
        x = (q, qd)
        for _ in range(count):
            x = step(*x, tau)
        return float(np.abs(x[1] - exact).max())

    exact = pliant.simulate(model, 0.002, q, qd, torque=tau, rtol=1e-12, atol=1e-14).qd[-1]
    assert error(2) / error(4) == pytest.approx(16.0, rel=0.25)
