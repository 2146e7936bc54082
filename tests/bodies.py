"""Bodies for tests: made of random points, and of beams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from arms import random_robot
from pliant.mechanics import build_chain
from pliant.robot import Link, Robot
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.link import BodyFrame
from pliant.viewer.scenes.scene_tubes import tube_faces


@dataclass(frozen=True)
class Points:
    """Points of mass `m` at `X` that move by `phi` and turn by `theta` (points, 3, k), with inertia `j` (points, 3,
    3): what a body is made of."""

    m: np.ndarray
    X: np.ndarray
    phi: np.ndarray
    j: np.ndarray
    theta: np.ndarray

    def kinetic_energy(self, omega: Any, v: Any, c: Any, cd: Any) -> float:
        """Of all points, one by one, while the frame turns at `omega` and moves at `v`."""
        place = self.X + self.phi @ c
        speed = v + np.cross(omega, place) + self.phi @ cd
        turning = omega + self.theta @ cd
        return float((self.m @ (speed**2).sum(axis=1) + np.einsum("na,nab,nb->", turning, self.j, turning)) / 2)


def rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 3, 3)."""
    Q, R = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    Q = Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]
    return Q * np.sign(np.linalg.det(Q))[:, None, None]


def random_points(rng: np.random.Generator, k: int, count: int = 9) -> Points:
    a = rng.normal(size=(count, 3, 3)) * 0.03
    return Points(
        rng.uniform(0.05, 0.5, count), rng.normal(size=(count, 3)) * [0.6, 0.2, 0.3],
        rng.normal(size=(count, 3, k)), a @ a.transpose(0, 2, 1), rng.normal(size=(count, 3, k)),
    )  # fmt: skip


def body_of(points: Points, rng: np.random.Generator, further: tuple[str, ...] = ("elbow",)) -> ReducedBody:
    """The body of some points, its stiffness, damping and frames at random."""
    m, X, phi, j, theta = points.m, points.X, points.phi, points.j, points.theta
    k, frames = phi.shape[2], ("root", "tip", *further)
    turned = np.einsum("naj,nab,nbk->jk", theta, j, theta)
    J = j.sum(axis=0)
    a, d = rng.normal(size=(2, k, k))
    still = np.zeros((1, 3, k))
    return ReducedBody(
        mass=float(m.sum()), first=m @ X, second=np.einsum("n,na,nb->ab", m, X, X) + np.trace(J) / 2 * np.eye(3) - J,
        eps=np.einsum("n,naj->aj", m, phi), arms=np.einsum("n,na,nbj->jab", m, X, phi),
        products=np.einsum("n,nai,nbj->ijab", m, phi, phi),
        gram=np.einsum("n,nai,naj->ij", m, phi, phi) + turned, spin=np.einsum("nab,nbj->aj", j, theta),
        stiffness=400 * (a @ a.T + np.eye(k)), damping=0.2 * d @ d.T, names=tuple(f"mode.{i + 1}" for i in range(k)),
        frames=frames, places=np.vstack([np.zeros(3), rng.normal(size=(len(frames) - 1, 3)) * 0.5]),
        axes=np.concatenate([np.eye(3)[None], rotations(rng, len(frames) - 1)]),
        shift=np.concatenate([still, rng.normal(size=(len(frames) - 1, 3, k))]),
        turn=np.concatenate([still, rng.normal(size=(len(frames) - 1, 3, k))]),
    )  # fmt: skip


def random_body(rng: np.random.Generator, k: int = 3, **options: Any) -> ReducedBody:
    return body_of(random_points(rng, k), rng, **options)


def lifted_points(rng: np.random.Generator, k: int = 3, count: int = 2) -> tuple[Points, ReducedBody]:
    """A body that knows where it is to second order, and its points with all shapes, of which the last are those."""
    points = random_points(rng, k + count)
    points = replace(points, theta=points.theta * (np.arange(k + count) < k))
    body = body_of(replace(points, phi=points.phi[:, :, :k], theta=points.theta[:, :, :k]), rng)
    m, own, forms = points.m, points.phi[:, :, k:], rng.normal(size=(count, k, k))
    moved = rng.normal(size=(2, len(body.frames), 3, count))
    moved[:, 0] = 0.0
    return points, replace(
        body, beyond_forms=forms + forms.transpose(0, 2, 1), beyond_eps=np.einsum("n,naj->aj", m, own),
        beyond_arms=np.einsum("n,na,nbj->jab", m, points.X, own),
        beyond_products=np.einsum("n,nai,nbj->ijab", m, own, points.phi),
        beyond_shift=moved[0], beyond_turn=moved[1],
    )  # fmt: skip


def body_of_beam(link: Link) -> ReducedBody:
    """The integrals of a beam with its shapes, and its tip, as a body; its damping is left out."""
    alone = Link(name=link.name, beam=link.beam, shapes=link.shapes)
    beam = build_chain(Robot(name="alone", links=[alone])).links[0].body
    c, k = ca.SX.sym("c", len(beam.names)), len(beam.names)
    at = beam.moments(c, ca.SX.zeros(k))
    outputs = [at.s, at.D, at.eps, at.gram, at.spin, *at.H, beam.numbers.end, beam.numbers.turn, beam.numbers.shift]
    f = ca.Function("f", [c], [ca.densify(ca.SX(x)) for x in [*outputs, ca.hessian(beam.strain_energy(c), c)[0]]])
    (s, D, eps, gram, spin, *H, end, turn, shift, K), *moved = (
        [np.array(x) for x in f(state)] for state in (np.zeros(k), *np.eye(k))
    )
    arms = np.array(H)
    products = np.array([np.array(row[5 : 5 + k]) - arms for row in moved])
    still = np.zeros((3, k))
    return ReducedBody(
        mass=float(ca.DM(at.m)), first=s.ravel(), second=D, eps=eps, arms=arms, products=products, gram=gram,
        stiffness=K, damping=np.zeros((k, k)), names=beam.names, frames=("root", "tip"),
        places=np.vstack([np.zeros(3), end.ravel()]), axes=np.stack([np.eye(3)] * 2),
        shift=np.stack([still, shift]), turn=np.stack([still, turn]), spin=spin,
    )  # fmt: skip


def random_arm(seed: int, links: int = 3, *, tree: bool = False, drives: bool = False) -> Robot:
    """A random robot, most of whose links are random bodies in place of what they were; on a `tree` links hang on any
    frame of the one before."""
    rng = np.random.default_rng((seed, 30))
    chain = random_robot(seed, links, drives=drives)
    made: list[Link] = []
    for k, link in enumerate(chain.links):
        changes: dict[str, Any] = {}
        if rng.random() < 0.7 or k == 0:
            body = random_body(rng, int(rng.integers(1, 4)))
            changes = {"beam": None, "rigid": None, "shapes": None, "body": {"content": body, "damping": 0.02}}
        if tree and k and made[-1].body is not None:
            changes["at"] = BodyFrame(frame="elbow") if rng.random() < 0.7 else "root"
        made.append(Link(**{name: getattr(link, name) for name in type(link).model_fields} | changes))
    return Robot(name=f"bodies-{seed}", gravity=chain.gravity, links=made, payload=chain.payload)


def drawn_bar(
    length: float = 0.8, sides: tuple[float, float] = (0.02, 0.03), modulus: float = 70e9, stations: int = 25
) -> ReducedBody:
    """A bar that bends in two planes as a beam does, with its surface and the stress of bending on it."""
    half = np.array(sides) / 2
    section = {"shape": "rectangle", "width": sides[0], "height": sides[1]}
    beam = {"length": length, "material": {"E": modulus, "G": 26e9, "density": 2700.0}, "section": section}
    link = Link(name="bar", beam=beam, shapes={"bending_y": 2, "bending_z": 2, "boundary": "clamped-free"})
    shapes = Robot(name="bar", links=[link]).model(stiffening="off").link_shapes[0]
    eta = np.repeat(np.linspace(0.0, 1.0, stations), 4)
    across = np.tile(half * [[1, -1], [1, 1], [-1, 1], [-1, -1]], (stations, 1))
    value, slope, bend = (shapes.evaluate(eta, order) / length**order for order in range(3))
    in_y = np.array([field == "bending_y" for field in shapes.fields])
    moves = np.zeros((len(eta), 3, len(in_y)))
    moves[:, 1], moves[:, 2] = value * in_y, value * ~in_y
    lever = np.where(in_y, across[:, :1], across[:, 1:])
    moves[:, 0], stress = -lever * slope, np.zeros((len(eta), 6, len(in_y)))
    stress[:, 0] = -modulus * lever * bend
    body = body_of_beam(link)
    return replace(
        body, vertices=np.column_stack([eta * length, across]), triangles=tube_faces(stations, 4).astype(int),
        moves=moves, stress=stress, about="a bar that bends as a beam does",
    )  # fmt: skip
