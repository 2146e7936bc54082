"""Where a load acts: stations of a link, what a section does when coordinates move, and the generalised forces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Expression
from pliant.dynamics.bodies import ROTATIONS
from pliant.dynamics.chain import Chain, ChainLink
from pliant.dynamics.kinematics import placements, twists
from pliant.errors import ModelError, UnsupportedModel
from pliant.options import AxesName
from pliant.shapes import gauss_rule

Vector: TypeAlias = ArrayLike | Expression | Callable[..., ArrayLike | Expression | Sequence[float | Expression]]
"""Three numbers, a function of t, or a function of (t, q, qd)."""


class PointWrench(NamedTuple):
    """Moment `n` and force `f`, in the axes of link number `place`, at the section `eta` = x / length.

    Attributes
    ----------
    place : int
        Number of the link.
    eta : float
        Part of its length.
    n, f : (3, 1) expression
        Moment, N m, and force, N.
    """

    place: int
    eta: float
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


def section_map(link: ChainLink, c: SX, eta: float) -> tuple[SX, SX, SX]:
    """Position r of a section in link axes, and its angular and linear velocity (3, k) per rate of the amplitudes."""
    if eta == 1.0:
        tip = link.body.tip(c, ca.SX.zeros(c.shape))
        return tip.p, tip.W, tip.J
    own = ca.SX.sym("c", c.shape[0])
    r, theta = link.body.point(own, eta)
    J, slope = ca.jacobian(r, own), ca.jacobian(theta, own)
    W = ca.mtimes(_rotation(link)(theta)[1], slope)
    r, W, J = ca.substitute([ca.densify(r), ca.densify(W), ca.densify(J)], [own], [c])
    return r, W, J


def section_rotation(link: ChainLink, c: SX, eta: float) -> SX:
    """(3, 3) rotation from the axes of a section to those of its link; at the tip, from the tip frame."""
    if eta == 1.0:
        return link.body.tip(c, ca.SX.zeros(c.shape)).R.matrix
    return section_axes(link, c, eta)


def section_axes(link: ChainLink, c: SX, eta: float) -> SX:
    """(3, 3) rotation from the axes of a section itself, without a frame fixed beyond it, to those of its link."""
    return _rotation(link)(link.body.point(c, eta)[1])[0].matrix


def _rotation(link: ChainLink) -> Any:
    """How the rotation vector of a section becomes a rotation, in the model of this link."""
    return ROTATIONS[getattr(getattr(link.body, "inner", link.body), "rotation", "exact")]


def from_axes(chain: Chain, place: int, eta: float, axes: AxesName, q: SX) -> SX:
    """(3, 3) rotation into link axes."""
    if axes == "base":
        return list(placements(chain, q))[place].R.T
    link = chain.links[place]
    return ca.SX.eye(3) if axes == "link" else section_rotation(link, chain.body(link, q), eta)


def place_of(chain: Chain, link: str | int) -> int:
    names = [known.name for known in chain.links]
    if isinstance(link, str):
        if link not in names:
            raise ModelError(f"link: got {link!r}, expected one of {', '.join(names)}")
        return names.index(link)
    if not -len(names) <= link < len(names):
        raise ModelError(f"link: got {link}, expected a number below {len(names)}, or one of {', '.join(names)}")
    return range(len(names))[link]


def link_length(link: ChainLink) -> SX:
    """Length of a beam, or distance from joint to tip of a rigid body."""
    data = getattr(getattr(link.body, "inner", link.body), "data", None)
    return data.length if data is not None else ca.norm_2(link.body.tip(ca.SX(0, 1), ca.SX(0, 1)).p)


def fixed_length(link: ChainLink) -> float:
    length = ca.SX(link_length(link))
    if not length.is_constant():
        raise ModelError(
            f"link {link.name!r}: its length is a parameter of the model, so that a station in metres is not a fixed "
            "part of it; use 'tip' or 'middle'"
        )
    return float(length)


def fraction(link: ChainLink, x: float | str) -> float:
    """Station as a part of the length, from metres or a name."""
    slides = link.joint_index is None and link.actuated is not None
    if slides and x != "tip":
        raise UnsupportedModel(f"link {link.name!r} slides: its material passes every station but the tip; use 'tip'")
    if isinstance(x, str):
        if x not in ("tip", "middle"):
            raise ModelError(f"x: got {x!r}, expected a station in metres, 'tip' or 'middle'")
        return 1.0 if x == "tip" else 0.5
    if x == 0.0:
        return 0.0
    length = fixed_length(link)
    if not (np.isfinite(x) and 0 <= x <= length * (1 + 1e-12)):
        raise ModelError(f"x: got {x!r}, expected a station between 0 and {length:g} m of link {link.name!r}")
    return min(float(x) / length, 1.0)


def station_rule(link: ChainLink, low: float, high: float) -> Any:
    """Gauss rule between two stations that is exact for the shapes of the link."""
    parts = [part.shapes for part in getattr(getattr(link.body, "shapes", None), "parts", ())]
    breaks = np.concatenate([[low, high], *(part.breaks for part in parts)])
    return gauss_rule(
        np.unique(breaks[(breaks >= low) & (breaks <= high)]), max((p.wavenumber for p in parts), default=0)
    )


def vector(name: str, given: Vector, t: SX, q: SX | None = None, qd: SX | None = None) -> SX:
    """Three numbers or expressions from what the user gave."""
    try:
        value: Any = given
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


def _arguments(function: Callable[..., Any]) -> int:
    """How many arguments a function needs."""
    parameters = inspect.signature(function).parameters.values()
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
