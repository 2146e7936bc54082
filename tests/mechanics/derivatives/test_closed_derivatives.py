"""Derivatives of closed linkages: against differences of their accelerations, of high order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pliant
from linkages import FOUR_BAR, bar, four_bar, passive, slider_crank
from pliant.model.loops.assembly import mechanism
from pliant.model.states import displaced
from pliant.robot import Beam, Joint, Link, Loop, LoopJoint, Origin, Robot, Shapes


def bending() -> Robot:
    """A four-bar whose coupler and rocker bend: nine coordinates, so that columns are solved one by one."""
    links = list(four_bar().links)
    for k, name in ((1, "coupler"), (2, "rocker")):
        beam = Beam(length=FOUR_BAR[name], mass_per_length=2.0, EI_y=80.0, EI_z=50.0)
        links[k] = Link(name=name, joint=links[k].joint, parent=links[k].parent, beam=beam, shapes=Shapes(bending_y=3))
    return four_bar(links=links)


def spatial() -> Robot:
    """A ball joint in the loop."""
    ball = Link(name="rod", joint=Joint(type="spherical", actuated=False), rigid=bar("x", 0.5).rigid)
    follower = bar("follower", 0.4, passive(axis=(0, 1, 0), origin=Origin(xyz=(0.3, 0.4, 0))), parent="base")
    pin = Loop(name="pin", between=("rod.tip", "follower.tip"), joint=LoopJoint(type="spherical"))
    return Robot(name="spatial", links=[bar("crank", 0.15), ball, follower], loops=[pin], gravity=(0, -2, -9))


ARMS: dict[str, Callable[[], Robot]] = {
    "four-bar": four_bar, "slider-crank": slider_crank, "bending": bending, "spatial": spatial,
}  # fmt: skip
PARAMETERS = {"four-bar": ["links.rocker.rigid.mass"], "slider-crank": ["links.crank.rigid.mass", "gravity.1"]}


def difference(f: Callable[[float], np.ndarray], h: float = 2e-3) -> np.ndarray:
    """f'(0) to eighth order."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return np.asarray(sum(w * (f(k * h) - f(-k * h)) for k, w in weights.items()) / h)


def scale(model: pliant.Model) -> np.ndarray:
    """(n,) what counts as one: radians of joints, centimetres of amplitudes."""
    return np.where(["." in name and "bending" in name for name in model.speeds], 0.01, 1.0)


def state(model: pliant.Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A closed position, speeds along it, and a torque."""
    q = model.assemble({"crank": 0.8}, held=["crank"])
    qd = mechanism(model, model.nominal_parameters).along(q, scale(model) * rng.normal(size=model.n))
    return q, qd, rng.normal(size=model.n_joints)


@pytest.mark.slow_cases("bending-denoc", "spatial-denoc")
@pytest.mark.parametrize("formulation", ["denoc", pytest.param("lagrange", marks=pytest.mark.full)])
@pytest.mark.parametrize("arm", ARMS)
def test_derivatives_are_those_of_the_accelerations(arm: str, formulation: str, rng: np.random.Generator) -> None:
    model = ARMS[arm]().model(formulation, parameters=PARAMETERS.get(arm, []))
    q, qd, tau = state(model, rng)
    p = model.nominal_parameters
    found = model.forward_dynamics_derivatives(q, qd, tau)
    np.testing.assert_allclose(found.qdd, model.forward_dynamics(q, qd, tau), rtol=1e-12, atol=1e-10)

    def along(dq: np.ndarray, dqd: np.ndarray, dtau: np.ndarray, dp: np.ndarray) -> np.ndarray:
        return difference(
            lambda s: model.forward_dynamics(
                displaced(model, q, s * dq), qd + s * dqd, tau + s * dtau, p + s * dp if len(p) else None
            )
        )

    sizes = (model.n, model.n, model.n_joints, len(p))
    for k, slope in enumerate(found[1:]):
        for j in range(sizes[k]):
            step = [np.zeros(size) for size in sizes]
            step[k][j] = 1.0 if k > 1 else scale(model)[j]
            expected, found_here = along(*step), slope[:, j] * step[k][j]
            np.testing.assert_allclose(found_here, expected, atol=1e-8 * max(1.0, np.abs(found_here).max()))


@pytest.mark.slow_cases("bending", "spatial")
@pytest.mark.parametrize("arm", ARMS)
def test_products_are_those_of_the_derivatives(arm: str, rng: np.random.Generator) -> None:
    model = ARMS[arm]().model(parameters=PARAMETERS.get(arm, []))
    q, qd, tau = state(model, rng)
    by = model.forward_dynamics_derivatives(q, qd, tau)
    w, dq, dqd, dtau = (rng.normal(size=size) for size in (model.n, model.n, model.n, model.n_joints))
    dq, dqd, dp = scale(model) * dq, scale(model) * dqd, rng.normal(size=len(model.parameters))
    d = (dq, dqd, dtau, dp)[: len(by) - 1]
    along = model.forward_dynamics_jvp(q, qd, tau, dq, dqd, dtau, dp=dp if len(dp) else None)
    size = np.abs(along).max()
    np.testing.assert_allclose(along, sum(A @ x for A, x in zip(by[1:], d)), atol=1e-10 * size)
    for row, A in zip(model.forward_dynamics_vjp(q, qd, tau, w), by[1:]):
        np.testing.assert_allclose(row, w @ A, atol=1e-10 * max(1.0, np.abs(w @ A).max()))

    def rows(s: float) -> np.ndarray:
        p = (model.nominal_parameters + s * dp,) if len(dp) else ()
        return np.concatenate(
            model.forward_dynamics_vjp(displaced(model, q, s * dq), qd + s * dqd, tau + s * dtau, w, *p)
        )

    second = np.concatenate(model.forward_dynamics_hvp(q, qd, tau, w, dq, dqd, dtau, dp=dp if len(dp) else None))
    if model.layout.plain:  # else directions turn with what they move
        np.testing.assert_allclose(second, difference(rows), atol=1e-7 * np.abs(second).max())
