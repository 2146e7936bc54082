"""Inertias that bodies can have, and the rods of paper 003 against quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.errors import ModelError
from pliant.robot import Link, Lump, RigidBody
from pliant.robot.parts.bodies.rigid_body import inertia_matrix


def test_three_ways_to_write_one_inertia() -> None:
    A = [[3.0, 0.1, 0.2], [0.1, 3.5, 0.3], [0.2, 0.3, 4.0]]
    six = [3.0, 3.5, 4.0, 0.1, 0.2, 0.3]
    assert inertia_matrix(A) == inertia_matrix(six) == A
    assert Lump(inertia=A) == Lump(inertia=six) == Lump(inertia=np.array(A))
    assert inertia_matrix((1.0, 2.0, 3.0)) == [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
    assert Lump(inertia=np.diag([1.0, 2.0, 2.5])) == Lump(inertia=(1, 2, 2.5))


@pytest.mark.parametrize("inertia", [(0, 0, 0), (0, 1, 1), (1, 1, 2), (1, 1, 2 + 1e-12)])
def test_possible(inertia: tuple[float, ...]) -> None:
    assert RigidBody(mass=1, inertia=inertia).inertia == inertia


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        ((1, 1, 2.1), "triangle"),
        ((-0.1, 1, 1), "negative"),
        ((1, 1, 1, 2, 0, 0), "negative"),
        ((1, 2), "3, 6 or 3x3"),
        ([[1, 0, 0], [0, 1, 0]], "3, 6 or 3x3"),
        ([[1, 0, 0.5], [0, 1, 0], [0, 0, 1]], "symmetric"),
        (3.0, "3, 6 or 3x3"),
        ((1, 1, float("nan")), "finite"),
        ((1, 1, "a"), "number"),
        ((0, 0, 1), "triangle"),
    ],
)
def test_impossible(inertia: object, words: str) -> None:
    with pytest.raises(ModelError, match=rf"RigidBody: inertia.*{words}"):
        RigidBody(mass=1, inertia=inertia)


def test_a_lump_may_spin_about_one_axis_alone() -> None:
    assert Lump(inertia=(0, 0, 0.181)).inertia == (0.0, 0.0, 0.181)
    with pytest.raises(ModelError, match="triangle"):
        Lump(inertia=(0.001, 0.001, 0.181))


def _points(mass: float, a: float, b: float, payload: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points and masses of the bent rod, b along z, then a along x."""
    t, w = np.polynomial.legendre.leggauss(5)
    t, w = (t + 1) / 2, w / 2
    rho = mass / (abs(a) + abs(b))
    up = np.outer(t * b, [0, 0, 1])
    out = np.outer(t * a, [1, 0, 0]) + np.array([0, 0, b])
    return np.vstack([up, out, [[a, 0, b]]]), np.concatenate([rho * abs(b) * w, rho * abs(a) * w, [payload]])


@pytest.mark.parametrize(
    ("mass", "a", "b", "payload"), [(15.7, 0.432, 0.149, 0), (2, 0.3, -0.2, 0.7), (1, 0, 0.5, 0), (3, 0.4, 0, 1)]
)
def test_bent_rod_is_what_quadrature_says(mass: float, a: float, b: float, payload: float) -> None:
    body = RigidBody.bent_rod(mass, a, b, "pi/2", payload)
    r, m = _points(mass, a, b, payload)
    com = m @ r / m.sum()
    J = sum(mk * ((x @ x) * np.eye(3) - np.outer(x, x)) for mk, x in zip(m, r - com))
    assert body.mass == pytest.approx(mass + payload)
    np.testing.assert_allclose(body.com, com, atol=1e-15)
    # the acceptance check of the corrected C5: closed form equals quadrature to rounding
    np.testing.assert_allclose(inertia_matrix(body.inertia), J, rtol=1e-12, atol=1e-13)
    assert body.tip == (a, 0.0, b)


def test_the_printed_C5_would_fail() -> None:
    """With C5 = rho a^2 b the product of inertia about the joint is twice too large."""
    body = RigidBody.bent_rod(1.0, 0.4, 0.3)
    about_joint = body.inertia[4] - body.mass * body.com[0] * body.com[2]
    rho = 1.0 / 0.7
    assert about_joint == pytest.approx(-rho * 0.4**2 * 0.3 / 2, rel=1e-12)


def test_massless_and_slender_rods() -> None:
    assert RigidBody.bent_rod(0, 0, 0.4).inertia == (0.0, 0.0, 0.0)
    assert RigidBody.bent_rod(2, 0, 0).mass == 2
    rod = RigidBody.slender_rod(3, 2)
    assert rod == RigidBody(mass=3, com=(1, 0, 0), inertia=(0, 1, 1), tip=(2, 0, 0))
    assert Link.bent_rod("a", 1, 0, 1, hub_inertia=0.2).joint.hub.inertia == (0.0, 0.0, 0.2)
