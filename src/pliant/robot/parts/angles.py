"""Fixed angles: read them (`pi/2`, `90 deg`), and turn them into rotations with exact zeros and ones."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pliant.arrays import Array

SNAP = 1e-12  # a sine or cosine of a fixed angle this near to one of a multiple of 30 or 45 degrees is meant to be it
SIMPLE = (0.0, 0.5, math.sqrt(0.5), math.sqrt(0.75), 1.0)

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(pi|deg|rad)\b|([-+*/()°π]))", re.ASCII)
_LONGEST = 80

Numeric: TypeAlias = Any
"""A number, an array of numbers, or a CasADi expression: an entry of a description, or of a view of one."""
Matrix = list[list[Numeric]]


def parse_angle(text: str) -> float:
    """Radians from `1.57`, `pi/2`, `-3*pi/4`, `90 deg`, `45°`, `(30 + 15) deg`.

    Only numbers, `pi`, the four operations, brackets and a unit are understood; nothing is executed.

    Raises
    ------
    ValueError
        If the text is anything else.
    """
    parser = _Parser(_tokens(text))
    value = parser.sum()
    unit = parser.take({"deg", "rad"})
    if parser.rest():
        raise ValueError(f"cannot read `{text}` as an angle")
    return math.radians(value) if unit == "deg" else value


def in_radians(value: object) -> object:
    """Convert angles as text (`90 deg`) to radians, at any depth of lists; everything else stays as it is."""
    if isinstance(value, str):
        return parse_angle(value)
    return [in_radians(entry) for entry in value] if isinstance(value, list | tuple) else value


def _tokens(text: str) -> list[str]:
    if len(text) > _LONGEST:
        raise ValueError("an angle has at most 80 characters")
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read `{text}` as an angle")
        found.append({"°": "deg", "π": "pi"}.get(match[0].strip(), match[0].strip()))
        at = match.end()
    return found


class _Parser:
    """Recursive descent over at most 80 characters, so never deep."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def rest(self) -> list[str]:
        return self.tokens[self.at :]

    def take(self, wanted: set[str]) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def sum(self) -> float:
        value = self.product()
        while sign := self.take({"+", "-"}):
            term = self.product()
            value = value + term if sign == "+" else value - term
        return value

    def product(self) -> float:
        value = self.factor()
        while sign := self.take({"*", "/"}):
            factor = self.factor()
            if sign == "/" and factor == 0.0:
                raise ValueError("an angle divides by zero")
            value = value * factor if sign == "*" else value / factor
        return value

    def factor(self) -> float:
        if sign := self.take({"+", "-"}):
            return self.factor() if sign == "+" else -self.factor()
        if self.take({"("}):
            value = self.sum()
            if not self.take({")"}):
                raise ValueError("an angle has an open bracket")
            return value
        if self.take({"pi"}):
            return math.pi
        if self.at < len(self.tokens) and (self.tokens[self.at][0].isdigit() or self.tokens[self.at][0] == "."):
            self.at += 1
            return float(self.tokens[self.at - 1])
        raise ValueError("an angle needs a number such as 1.2, pi/2 or 90 deg")


def is_symbol(value: object) -> bool:
    """Whether `value` is an expression rather than a number."""
    return hasattr(value, "is_symbolic")


def _snapped(value: float) -> float:
    """Return the value, or the simple one within rounding of it: sine and cosine of 45 degrees become one number."""
    size = abs(value)
    near = next((simple for simple in SIMPLE if abs(size - simple) <= SNAP), size)
    return math.copysign(near, value) + 0.0


def sine(angle: Numeric) -> Numeric:
    """Sine of a fixed angle or a symbol, exact at multiples of pi/6 and pi/4."""
    if is_symbol(angle):
        import casadi

        return casadi.sin(angle)
    return _snapped(math.sin(angle))


def cosine(angle: Numeric) -> Numeric:
    """Cosine of a fixed angle or a symbol, exact at multiples of pi/6 and pi/4."""
    if is_symbol(angle):
        import casadi

        return casadi.cos(angle)
    return _snapped(math.cos(angle))


def rotation_x(angle: Numeric) -> Matrix:
    """Rotation about x, as nested lists."""
    c, s = cosine(angle), sine(angle)
    return [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]


def rotation_z(angle: Numeric) -> Matrix:
    """Rotation about z, as nested lists."""
    c, s = cosine(angle), sine(angle)
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]


def rotation_rpy(rpy: Sequence[Numeric]) -> Matrix:
    """URDF's fixed-axis rotation `Rz(yaw) Ry(pitch) Rx(roll)` of `rpy = (roll, pitch, yaw)`, as nested lists."""
    c, s = cosine(rpy[1]), sine(rpy[1])
    pitch = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    return matmul(matmul(rotation_z(rpy[2]), pitch), rotation_x(rpy[0]))


def matmul(A: Matrix, B: Matrix) -> Matrix:
    """Product of two 3x3 matrices of numbers or symbols; zeros and ones stay exact."""
    return [[_dot(row, [B[k][j] for k in range(3)]) for j in range(3)] for row in A]


def _dot(a: Sequence[Numeric], b: Sequence[Numeric]) -> Numeric:
    total: Numeric = 0.0
    for left, right in zip(a, b):
        if not (_is_zero(left) or _is_zero(right)):
            total = total + left * right if not _is_zero(total) else left * right
    return total


def _is_zero(value: Numeric) -> bool:
    return not is_symbol(value) and bool(value == 0.0)


def rpy_of(R: Array | Matrix) -> tuple[float, float, float]:
    """`(roll, pitch, yaw)` of a rotation matrix of numbers; roll is 0 where pitch is ±pi/2."""
    sine_pitch = max(-1.0, min(1.0, -float(R[2][0])))
    if abs(sine_pitch) > 1.0 - SNAP:
        return 0.0, math.copysign(math.pi / 2, sine_pitch), math.atan2(-float(R[0][1]), float(R[1][1]))
    return (
        math.atan2(float(R[2][1]), float(R[2][2])),
        math.asin(sine_pitch),
        math.atan2(float(R[1][0]), float(R[0][0])),
    )
