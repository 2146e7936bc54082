"""Many contacts at once: towers of balls on balls on the ground rest as their weights say, and keep their energy."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Joint, Link, RigidBody, Robot
from pliant.robot import Contact

G = 9.81
RADIUS = 0.05


def tower(count: int, damping: float = 1.0, exponent: float = 1.5) -> Robot:
    """Balls of 1, 2, ... kg above each other, each on a vertical rail of its own; each touches the one below."""
    links, contacts = [], []
    for k in range(count):
        body = RigidBody(mass=k + 1.0, com=(0, 0, 0), inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0))
        rail = Joint(type="prismatic", axis=(0, 0, 1))
        links.append(Link(name=f"ball{k}", parent="base", joint=rail, rigid=body))
        surface = {"type": "plane"} if k == 0 else {"type": "sphere", "radius": RADIUS, "frame": f"ball{k - 1}.tip"}
        law = {"stiffness": 1e5 * (k + 1.0), "exponent": exponent, "damping": damping}
        contacts.append(Contact(name=f"touch{k}", frame=f"ball{k}.tip", radius=RADIUS, surface=surface, **law))
    return Robot(name="tower", links=links, contacts=contacts)


def carried(count: int) -> np.ndarray:
    """Force of each contact, N: the weight of all balls above it."""
    return G * np.arange(1.0, count + 1)[::-1].cumsum()[::-1]


def resting(count: int, exponent: float = 1.5) -> np.ndarray:
    """Heights of the middles, by hand."""
    depth = (carried(count) / (1e5 * np.arange(1.0, count + 1))) ** (1 / exponent)
    return (np.where(np.arange(count) == 0, RADIUS, 2 * RADIUS) - depth).cumsum()


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.full)])
def test_a_tower_at_rest_stays(count: int) -> None:
    """Every contact carries the weight above it."""
    model = tower(count).model()
    q = resting(count)
    np.testing.assert_allclose(model.forward_dynamics(q, np.zeros(count), np.zeros(count)), 0.0, atol=1e-7 * G)
    run = pliant.simulate(model, 0.2, q, rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-9)
    found = [run[f"touch{k}.force"][-1] for k in range(count)]
    np.testing.assert_allclose(found, carried(count), rtol=1e-6)


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.full)])
def test_a_tower_that_falls_settles(count: int) -> None:
    """Dropped with gaps between all balls: hits run through it, energy is balanced, and it comes to rest as by hand."""
    model = tower(count, damping=3.0).model()
    start = RADIUS * np.arange(1, 2 * count, 2) + 0.01 * np.arange(1, count + 1)
    run = pliant.simulate(model, 4.0, start, rtol=1e-7)
    assert np.abs(run.energy_balance).max() < 1e-5
    np.testing.assert_allclose(run.q[-1], resting(count), atol=1e-4)
    assert {name for _, name in run.stats.events} >= {f"touch{k} touches" for k in range(count)}
