"""A body from integrals over its mass: points at X + sum phi_j(X) c_j, whatever the shapes phi_j are.

With the integrals of a `ReducedBody`, arms_j = int X phi_j^T and products_ij = int phi_i phi_j^T, all moments are
polynomials in the coordinates:

    H_j = arms_j + sum_i c_i products_ij        N_j = sum_i cd_i products_ij
    D = second + A^T + sum_j c_j H_j            P = sum_j cd_j H_j            A = sum_j c_j arms_j

Stations are the numbers of its frames: 0 is the root, 1 the tip, from 2 on the others; between root and tip they are
those of the straight line that is drawn where there is nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.canonical import canonical, canonical_products
from pliant.algebra.rotations import SX, Identity, Rotation
from pliant.arrays import Array
from pliant.mechanics.links.maps.link_maps import Body, LinearBeam, Moments, RigidMap, TipMap, is_zero, linear_tip
from pliant.options import RotationName
from pliant.robot.parts.bodies.reduced_body import ReducedBody


@dataclass(frozen=True)
class BodyNumbers:
    """Numbers of a linear body of k coordinates that enter its equations.

    `mass`, `first` (3,) and `second` (3, 3) moment; `eps` (3, k); `arms` (9, k) and `products` (9 k, k) with the
    matrices arms_j and products_ij as columns; `inertia` (k, k) of the coordinates and `spin` (3, k); place of the
    undeformed `end`, `turn` and `shift` (3, k) of the tip; `stiffness`, `damping` (k, k).
    """

    mass: SX
    first: SX
    second: SX
    eps: SX
    arms: SX
    products: SX
    inertia: SX
    spin: SX
    end: SX
    turn: SX
    shift: SX
    stiffness: SX
    damping: SX


@dataclass(frozen=True)
class LinearBody:
    """A body whose displacement is linear in its coordinates, from its integrals.

    `end_rotation` leads from the tip frame to the axes of the link. 2 `ratio` times `damped` is the damping of its
    ratio, see `modal_damping`. The numbers in its equations may be `known`, as symbols.
    """

    reduced: ReducedBody
    rotation: RotationName
    end_rotation: Rotation = field(default_factory=Identity)
    ratio: SX = 0.0
    rayleigh: tuple[SX, SX] = (0.0, 0.0)
    damped: Array = field(default_factory=lambda: np.zeros((0, 0)))
    known: BodyNumbers | None = None
    is_linear: ClassVar[bool] = True
    data: ClassVar[None] = None
    shapes: ClassVar[None] = None
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.reduced.names

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.reduced.size

    @property
    def rest(self) -> np.ndarray:
        return np.zeros(self.size)

    def length(self, c: SX) -> SX:
        return ca.SX(float(np.linalg.norm(self.reduced.places[1])))

    @cached_property
    def numbers(self) -> BodyNumbers:
        """Numbers that enter its equations."""
        return self.known or self._numbers()

    def _numbers(self) -> BodyNumbers:
        body, k = _rounded(self.reduced), self.size
        arms = np.transpose(body["arms"], (2, 1, 0)).reshape(9, k)  # columns of arms_j one below the other
        products = np.transpose(body["products"], (1, 3, 2, 0)).reshape(9 * k, k)
        inertia, stiffness = constants(body["gram"]), constants(body["stiffness"])
        damping = constants(body["damping"])
        if len(self.damped) and not is_zero(self.ratio):
            damping = damping + 2 * self.ratio * constants(self.damped)
        for factor, matrix in zip(self.rayleigh, (inertia, stiffness)):
            damping = damping if is_zero(factor) else damping + factor * matrix
        return BodyNumbers(
            mass=ca.SX(self.reduced.mass),
            first=ca.densify(constants(body["first"])),
            second=ca.densify(constants(body["second"])),
            eps=constants(body["eps"]),
            arms=constants(arms),
            products=constants(products),
            inertia=inertia,
            spin=constants(body["spin"]),
            end=ca.densify(constants(body["places"][1])),
            turn=constants(body["turn"][1]),
            shift=constants(body["shift"][1]),
            stiffness=stiffness,
            damping=damping,
        )

    def moments(self, c: SX, cd: SX) -> Moments:
        numbers, k = self.numbers, self.size
        if not k:
            return Moments(numbers.mass, numbers.first, numbers.second)
        bent, rates = (ca.reshape(ca.mtimes(numbers.products, x), 9, k) for x in (c, cd))
        H = numbers.arms + bent
        swept, A = _matrix(ca.mtimes(H, c)), _matrix(ca.mtimes(numbers.arms, c))
        D = numbers.second + swept + A.T
        return Moments(
            m=numbers.mass, s=numbers.first + ca.mtimes(numbers.eps, c), D=ca.densify(ca.triu2symm(ca.triu(D))),
            eps=ca.densify(numbers.eps), H=_matrices(H), gram=ca.densify(numbers.inertia),
            spin=ca.densify(numbers.spin), N=_matrices(rates), P=ca.densify(_matrix(ca.mtimes(H, cd))),
            b_beta=ca.SX(k, 1),
        )  # fmt: skip

    def tip(self, c: SX, cd: SX) -> TipMap:
        return linear_tip(self.numbers, self.rotation, self.end_rotation, c, cd)

    def strain_energy(self, c: SX) -> SX:
        return ca.mtimes([c.T, self.numbers.stiffness, c]) / 2 if self.size else ca.SX(0)

    def dissipation(self, c: SX, cd: SX) -> SX:
        return ca.densify(ca.mtimes(self.numbers.damping, cd))

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        frame, part = (1, eta) if eta < 1 else (int(eta), 1.0)
        body = _rounded(self.reduced)
        place, shift, turn = (constants(part * body[name][frame]) for name in ("places", "shift", "turn"))
        return ca.densify(place) + ca.mtimes(shift, c), ca.densify(ca.mtimes(turn, c))

    mass_point = point


@lru_cache(maxsize=64)
def _rounded(body: ReducedBody) -> dict[str, Array]:
    """Numbers of a body without round-off, by their natural sizes."""
    norm = np.sqrt(np.diag(body.gram))
    mass, spread = np.sqrt(body.mass), np.sqrt(np.trace(body.second))
    pairs = norm[:, None] * norm
    scales: dict[str, ArrayLike] = {
        "first": mass * spread, "second": spread**2, "eps": mass * norm, "arms": (spread * norm)[:, None, None],
        "products": pairs[:, :, None, None], "spin": spread * norm, "places": np.abs(body.places).max(),
        "shift": _largest(body.shift), "turn": _largest(body.turn),
    }  # fmt: skip
    found = {name: canonical(getattr(body, name), scale) for name, scale in scales.items()}
    symmetric = {name: getattr(body, name) for name in ("gram", "stiffness", "damping")}
    return found | {name: canonical_products((value + value.T) / 2) for name, value in symmetric.items()}


def _largest(shapes: Array) -> Array:
    """(k,) largest entry of what each coordinate does to the frames."""
    return np.asarray(np.abs(shapes).max(axis=(0, 1), initial=0.0))


def constants(array: Array) -> SX:
    """Constant expressions of numbers, zeros left out."""
    return ca.SX(ca.sparsify(ca.DM(np.atleast_1d(array))))


def _matrix(column: SX) -> SX:
    return ca.reshape(column, 3, 3)


def _matrices(columns: SX) -> list[SX]:
    return [_matrix(columns[:, j]) for j in range(columns.shape[1])]


def in_numbers(body: Body, whole: bool) -> tuple[object, tuple[object, ...], Callable[..., Body]]:
    """A body as its form, the numbers (or symbols) in its equations, and the function that makes a body of others.

    Bodies of the same form have the same equations. Where that is not known, and where the `whole` body is asked for,
    the form is the body itself.
    """
    if whole:
        return body, (), lambda: body
    if isinstance(body, LinearBeam | LinearBody):
        own = body.integrals.axis if isinstance(body, LinearBeam) else body.size
        form = (type(body).__name__, own, body.rotation, body.end_rotation)
        return form, (body.numbers,), lambda numbers: replace(body, known=numbers)
    if isinstance(body, RigidMap):
        return "rigid", (body.inertia, body.tip_position, body.tip_rotation, body.root), RigidMap
    return body, (), lambda: body
