"""Loads as wrenches on sections, and the generalized forces that follow."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Expression
from pliant.errors import ModelError
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import placements, twists
from pliant.mechanics.links.stations import section_map, section_rotation
from pliant.options import WrenchAxesName

Vector: TypeAlias = ArrayLike | Expression | Callable[..., ArrayLike | Expression | Sequence[float | Expression]]
"""Three numbers, a function of t, or a function of (t, q, qd)."""
Stretch = tuple[int, float, float | None]
"""Number of a link, and the sections as parts of its length between which something acts; None: the tip included."""


class PointWrench(NamedTuple):
    """Moment `n` and force `f`, in the axes of link number `place`, at the section `eta` = x / length.

    Attributes
    ----------
    place : int
        Number of the link.
    eta : float or None
        Part of its length; None for the frame of the link itself, before any section.
    n, f : (3, 1) expression
        Moment, N m, and force, N.
    """

    place: int
    eta: float | None
    n: SX
    f: SX


def generalised_forces(chain: Chain, q: SX, points: Iterable[PointWrench]) -> SX:
    """(n,) Q_k = sum f . dv/dqd_k + n . domega/dqd_k over the loaded sections."""
    rates = ca.SX.sym("rates", chain.n)
    motions = list(twists(chain, q, rates))
    power = ca.SX(0)
    for point in points:
        motion = motions[point.place]
        r, W, J = section_map(motion.link, chain.body(motion.link, q), point.eta)
        power += ca.dot(point.f, motion.v + ca.cross(motion.omega, r) + ca.mtimes(J, motion.cd))
        power += ca.dot(point.n, motion.omega + ca.mtimes(W, motion.cd))
    return ca.densify(ca.gradient(power, rates))


def from_axes(chain: Chain, place: int, eta: float | None, axes: WrenchAxesName, q: SX) -> SX:
    """(3, 3) rotation into link axes."""
    if axes == "base":
        return list(placements(chain, q))[place].R.T
    link = chain.links[place]
    return ca.SX.eye(3) if axes == "link" or eta is None else section_rotation(link, chain.body(link, q), eta)


def vector(name: str, given: Vector, t: SX, q: SX | None = None, qd: SX | None = None) -> SX:
    """(3, 1) expression from numbers, expressions or a function that a user gave."""
    try:
        value: SX = given
        if callable(given):
            value = given(t) if q is None or _arguments(given) == 1 else given(t, q, qd)
        value = ca.SX(ca.vertcat(*value)) if isinstance(value, list | tuple | np.ndarray) else ca.SX(value)
    except Exception as error:
        raise ModelError(
            f"{name}: expected three numbers, or a function of t or of (t, q, qd) in CasADi operations that returns "
            f"three; it raised {error}"
        ) from error
    if value.shape == (1, 3):
        value = value.T
    if value.shape != (3, 1):
        raise ModelError(f"{name}: shape {value.shape}; expected three numbers")
    if value.is_constant() and not np.isfinite(np.array(ca.DM(value), dtype=float)).all():
        raise ModelError(f"{name}: got {given!r}; expected finite numbers")
    return value


def _arguments(function: Callable[..., object]) -> int:
    """Number of arguments that a function needs."""
    parameters = inspect.signature(function).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
