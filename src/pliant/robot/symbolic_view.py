"""Numbers or symbols alike: a view of a robot in which chosen numbers are expressions."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pliant.errors import ModelError
from pliant.robot.description import RobotDescription
from pliant.robot.parameters import canonical, join, key_of, unknown
from pliant.robot.parts.angles import Numeric
from pliant.robot.pieces import BeamPiece, in_pieces, pieces, spread


class View:
    """One part of a robot, read through the symbols: numbers, symbols, further views or tuples of them."""

    __slots__ = ("_path", "_symbols", "description")

    description: Any

    def __init__(self, description: BaseModel, path: str, symbols: Mapping[str, Numeric]) -> None:
        self.description = description
        self._path = path
        self._symbols = symbols

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        kind = type(self.description)
        if name in kind.model_fields:
            return self._wrap(getattr(self.description, name), join(self._path, name))
        member = inspect.getattr_static(kind, name, None)
        if isinstance(member, property) and member.fget is not None:
            return member.fget(self)
        if isinstance(member, types.FunctionType):
            return types.MethodType(member, self)
        raise AttributeError(f"{kind.__name__} has no `{name}`")

    def _wrap(self, value: object, path: str) -> object:
        if isinstance(value, float):
            return self._symbols.get(path, value)
        if isinstance(value, BaseModel):
            return View(value, path, self._symbols)
        if isinstance(value, tuple):
            return tuple(self._wrap(entry, join(path, key_of(entry, k, path))) for k, entry in enumerate(value))
        return value

    def __repr__(self) -> str:
        return f"<view of {self._path or 'robot'}, {len(self._symbols)} symbols>"


class RobotView(View):
    """A robot in pieces in which the numbers at some paths are symbols; everything else reads as in that robot itself.

    Parameters
    ----------
    robot : Robot
        The robot; `view.description` is that of its pieces, the same one where each link is one piece, and
        `view.pieces` says which they are.
    symbols : mapping
        Path to symbol, such as `{"links.upper.beam.EI_z": SX.sym("EI")}`; `view.nominal` has the numbers that they
        stand for.
    """

    __slots__ = ("nominal", "pieces")

    nominal: list[tuple[Numeric, float]]
    pieces: tuple[BeamPiece, ...]

    def __init__(self, robot: RobotDescription, symbols: Mapping[str, Numeric] | None = None) -> None:
        names = [link.name for link in robot.links]
        known = robot.paths()
        chosen = {canonical(path, names): symbol for path, symbol in (symbols or {}).items()}
        for path in chosen:
            if path not in known:
                raise unknown(path, known)
            _refuse_structure(robot, path)
        super().__init__(in_pieces(robot), "", spread(robot, chosen))
        self.pieces = pieces(robot)
        self.nominal = [(symbol, known[path]) for path, symbol in chosen.items()]


def _refuse_structure(robot: RobotDescription, path: str) -> None:
    """Refuse paths of numbers that say how the robot is built, which cannot be symbols."""
    parts = path.split(".")
    if parts[0] == "expected":
        raise ModelError(f"`{path}` cannot be a symbol: it helps to choose the pieces of beams; vary the robot itself")
    if parts[0] == "frames" or parts[2:4] == ["at", "x"]:
        raise ModelError(f"`{path}` cannot be a symbol: it says where something sits; vary the robot itself")
    if parts[2:4] in (["joint", "axis"], ["joint", "axes"]) and "axis" in parts:
        raise ModelError(f"`{path}` cannot be a symbol: an axis has unit length; turn the joint by origin.rpy instead")
    if parts[2:3] == ["beam"] and parts[3] in ("curvature", "twist", "x"):
        raise ModelError(f"`{path}` cannot be a symbol: it says how pieces of the beam stand; vary the robot itself")
    if parts[2:4] == ["beam", "section"]:
        section = robot.link(parts[1]).beam.section  # type: ignore[union-attr]
        if parts[4] == "rotation" or (section.is_drawn and parts[4] != "offset"):  # type: ignore[union-attr]
            raise ModelError(f"`{path}` cannot be a symbol: the section is solved for numbers; vary the robot itself")
    if parts[2:] == ["joint", "dh", "a"]:
        dh = robot.link(parts[1]).joint.dh
        if dh is not None and dh.convention == "standard":
            raise ModelError(
                f"`{path}` cannot be a symbol: with a standard row the body supplies a; vary its length or tip"
            )
