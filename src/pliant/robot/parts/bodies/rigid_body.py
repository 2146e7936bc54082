"""Lumps and rigid bodies: mass, center of mass, and inertia that a real body could have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from pliant.arrays import Array
from pliant.robot.files.error_messages import fault
from pliant.robot.parts.angles import Matrix, Numeric
from pliant.robot.parts.fields import Angles, Description, NonNegative, Vector, number, sequence

_SLACK = 1e-9  # relative; rounding of computed data, with room. A plate typed with few digits can exceed it


def inertia_matrix(inertia: Sequence[Numeric]) -> Matrix:
    """The 3x3 matrix, as nested lists, of 3 (diagonal), 6 (xx, yy, zz, xy, xz, yz) or 3x3 numbers or symbols."""
    if len(inertia) == 6:
        xx, yy, zz, xy, xz, yz = (inertia[k] for k in range(6))
        return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    if hasattr(inertia[0], "__len__"):
        return [[inertia[i][j] for j in range(3)] for i in range(3)]
    return [[inertia[0], 0.0, 0.0], [0.0, inertia[1], 0.0], [0.0, 0.0, inertia[2]]]


def _read(value: object) -> tuple[float, ...]:
    """3, 6 or 3x3 numbers as 3 or 6."""
    items = sequence(value, "an inertia of 3, 6 or 3x3 numbers")
    if len(items) == 3 and all(isinstance(row, (list, tuple)) for row in items):
        if any(len(row) != 3 for row in items):
            raise fault("an inertia of 3, 6 or 3x3 numbers")
        A = np.array([[number(entry) for entry in row] for row in items])
        if np.abs(A - A.T).max() > _SLACK * np.abs(A).max():
            raise fault("a symmetric 3x3 inertia")
        items = [A[0, 0], A[1, 1], A[2, 2], A[0, 1], A[0, 2], A[1, 2]]
        items = items[:3] if not any(items[3:]) else items
    if len(items) not in (3, 6):
        raise fault("an inertia of 3, 6 or 3x3 numbers")
    return tuple(number(entry) for entry in items)


def _principal(inertia: tuple[float, ...]) -> tuple[Array, float]:
    """Principal moments, ascending, and the slack that rounding deserves."""
    moments = np.linalg.eigvalsh(np.array(inertia_matrix(inertia), dtype=float))
    slack = _SLACK * float(np.abs(moments).max())
    if moments[0] < -slack:
        raise fault("an inertia without negative principal moments", f"the smallest here is {moments[0]:.4g}")
    return moments, slack


def body_inertia(value: object) -> tuple[float, ...]:
    """An inertia that a body can have: principal moments of 0 or more, none above the sum of the others."""
    inertia = _read(value)
    moments, slack = _principal(inertia)
    if moments[2] > moments[0] + moments[1] + slack:
        raise fault(
            "principal moments that obey the triangle inequality",
            f"{moments[2]:.4g} exceeds {moments[0]:.4g} + {moments[1]:.4g}, which no body has: check the values, "
            "or that they are about the center of mass",
        )
    return inertia


def lump_inertia(value: object) -> tuple[float, ...]:
    """An inertia that a lump can have: that of a body, or a moment about one axis (rotor, tip of a planar arm)."""
    inertia = _read(value)
    moments, slack = _principal(inertia)
    return inertia if abs(moments[1]) <= slack else body_inertia(inertia)


_SCHEMA = {
    "title": "3, 6 or 3x3 numbers",
    "type": "array",
    "description": "3 (diagonal), 6 (xx, yy, zz, xy, xz, yz) or 3x3 numbers, kg m^2",
    "minItems": 3,
    "maxItems": 6,
}
BodyInertia = Annotated[tuple[float, ...], BeforeValidator(body_inertia), WithJsonSchema(_SCHEMA)]
LumpInertia = Annotated[tuple[float, ...], BeforeValidator(lump_inertia), WithJsonSchema(_SCHEMA)]

_ORIGIN = (0.0, 0.0, 0.0)


class Lump(Description):
    """A hub, a tip load or the payload: a small rigid body on a frame.

    `inertia` is about the lump's center of mass `com`, along the axes of the frame it sits on. A moment about one axis
    alone is allowed: it is the rotor's spin inertia, or what a planar problem states.

    Examples
    --------
    >>> pliant.robot.Lump(mass=2.0, inertia=[0.01, 0.01, 0.02]).mass
    2.0
    """

    mass: NonNegative = Field(0.0, description="kg, of the lump", examples=[0.5])
    inertia: LumpInertia = Field(_ORIGIN, description="kg m^2, about com", examples=[[0.01, 0.01, 0.02]])
    com: Vector = Field(_ORIGIN, description="m, from the frame's origin", examples=[[0.0, 0.0, 0.05]])


class Payload(Lump):
    """Payload of an arm: a lump on the tip frame of a link.

    Examples
    --------
    >>> pliant.robot.Payload(link="fore", mass=2.0).mass
    2.0
    """

    link: str | None = Field(None, description="that carries it; the last by default", examples=["fore"])


class RigidBody(Description):
    """A link that does not bend: mass, center of mass and inertia (about `com`) in the frame after the joint.

    `tip` and `tip_rpy` place the tip frame, on which the next link hangs.

    Examples
    --------
    >>> pliant.RigidBody(mass=3.0, com=[0.25, 0, 0], inertia=[0.01, 0.06, 0.06], tip=[0.5, 0, 0]).tip
    (0.5, 0.0, 0.0)
    """

    mass: NonNegative = Field(description="kg, of the body", examples=[3.5])
    com: Vector = Field(_ORIGIN, description="m, center of mass in the frame after the joint", examples=[[0.1, 0, 0]])
    inertia: BodyInertia = Field(_ORIGIN, description="kg m^2, about com", examples=[[0.01, 0.02, 0.02]])
    tip: Vector = Field(_ORIGIN, description="m, origin of the tip frame", examples=[[0.24, 0, 0]])
    tip_rpy: Angles = Field(
        _ORIGIN, description="rad, how the tip frame is turned: Rz Ry Rx", examples=[["pi/2", 0, 0]]
    )

    @classmethod
    def slender_rod(cls, mass: float, length: float) -> Self:
        """A thin uniform rod along +x.

        Parameters
        ----------
        mass : float
            Mass, kg.
        length : float
            Length, m.

        Returns
        -------
        RigidBody
            With its tip at (length, 0, 0).

        Examples
        --------
        >>> pliant.RigidBody.slender_rod(mass=3.0, length=1.0).inertia
        (0.0, 0.25, 0.25)
        """
        moment = mass * length**2 / 12.0
        return cls(mass=mass, com=(length / 2.0, 0.0, 0.0), inertia=(0.0, moment, moment), tip=(length, 0.0, 0.0))

    @classmethod
    def bent_rod(cls, mass: float, a: float, b: float, alpha: float | str = 0.0, payload: float = 0.0) -> Self:
        """The bent slender rod of a DH row, [MS07] eqs. (9)-(11): `b` along z, `a` along x, a point mass at its end.

        Parameters
        ----------
        mass : float
            Mass of the rod, spread evenly over `a + b`, kg.
        a, b : float
            DH length and offset, m.
        alpha : float or str
            DH twist, which turns the tip frame about x.
        payload : float
            Point mass at the tip, kg.

        Returns
        -------
        RigidBody
            With its tip at (a, 0, b).

        Notes
        -----
        About the joint's origin the inertia is `C3 (1 - z z^T) + C4 (1 - x x^T) - C5 (z x^T + x z^T)` with
        `C5 = rho a^2 b / 2`; the paper prints `rho a^2 b`.

        Examples
        --------
        >>> pliant.RigidBody.bent_rod(mass=10.0, a=0.5, b=0.2).tip
        (0.5, 0.0, 0.2)
        """
        reach = abs(a) + abs(b) or 1.0
        m_a, m_b = mass * (abs(a) / reach), mass * (abs(b) / reach)
        C3 = m_b * b**2 / 3.0 + m_a * b**2
        C4 = m_a * a**2 / 3.0
        C5 = m_a * a * b / 2.0
        total = mass + payload
        w_a, w_b, w_p = (part / total if total else 0.0 for part in (m_a, m_b, payload))
        x = w_a * a / 2.0 + w_p * a
        z = w_b * b / 2.0 + w_a * b + w_p * b
        xx = C3 + payload * b**2 - total * z**2
        zz = C4 + payload * a**2 - total * x**2
        xz = -C5 - payload * a * b + total * x * z
        inertia = (xx, xx + zz, zz, 0.0, xz, 0.0) if xz else (xx, xx + zz, zz)
        return cls(mass=total, com=(x, 0.0, z), inertia=inertia, tip=(a, 0.0, b), tip_rpy=(alpha, 0.0, 0.0))
