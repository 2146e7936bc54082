"""URDF in: a chain out of the tree, side branches lumped onto it, chosen links made flexible by a side file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic_core import PydanticCustomError

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.angles import rotation_rpy, rpy_of
from pliant.robot.faults import Place, listed, short, suggestion
from pliant.robot.files import validated
from pliant.robot.lumps import body_inertia, inertia_matrix
from pliant.robot.robot import MOST_LINKS, Robot
from pliant.robot.urdf_text import Element, read_urdf

_SIDE_KEYS = ("format", "name", "gravity", "payload", "links")
_LINK_KEYS = ("beam", "shapes", "tip", "hub", "drive", "friction", "along")
_TYPES = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}


@dataclass(frozen=True)
class _Mass:
    """Mass, first moment and inertia about a frame's origin, in that frame's axes; they add."""

    m: float
    s: Array
    I: Array

    @classmethod
    def of(cls, m: float, com: Array, inertia: Array) -> _Mass:
        return cls(m, m * com, inertia + m * (com @ com * np.eye(3) - np.outer(com, com)))

    def __add__(self, other: _Mass) -> _Mass:
        return _Mass(self.m + other.m, self.s + other.s, self.I + other.I)

    def moved(self, R: Array, p: Array) -> _Mass:
        """Seen from a frame in which the present one stands at `p`, turned by `R`."""
        m, com, inertia = self.about_com()
        return _Mass.of(m, R @ com + p, R @ inertia @ R.T)

    def about_com(self) -> tuple[float, Array, Array]:
        com = self.s / self.m if self.m else np.zeros(3)
        return self.m, com, self.I - self.m * (com @ com * np.eye(3) - np.outer(com, com))


_ZERO = (0.0, 0.0, 0.0)
_NOTHING = _Mass(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class _Tree:
    """Links and joints by name, the joint that carries each link, and the joints on each."""

    name: str
    links: dict[str, Element]
    joints: list[_UrdfJoint]
    source: str

    @cached_property
    def carrier(self) -> dict[str, _UrdfJoint]:
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def carried(self) -> dict[str, list[_UrdfJoint]]:
        found: dict[str, list[_UrdfJoint]] = {name: [] for name in self.links}
        for joint in self.joints:
            found[joint.parent].append(joint)
        return found


@dataclass(frozen=True)
class _UrdfJoint:
    """A joint element, and the links that it joins."""

    element: Element

    @property
    def name(self) -> str:
        return str(self.element.values["name"])

    @property
    def type(self) -> str:
        return str(self.element.values["type"])

    @property
    def parent(self) -> str:
        return str(self.element.get("parent", "link"))

    @property
    def child(self) -> str:
        return str(self.element.get("child", "link"))

    @property
    def xyz(self) -> Array:
        return np.array(self.element.get("origin", "xyz", _ZERO))

    @property
    def rpy(self) -> tuple[float, ...]:
        return tuple(self.element.get("origin", "rpy", _ZERO))


def from_urdf(raw: bytes | str, side: dict[str, Any], tip: str | None = None, source: str = "robot.urdf") -> Robot:
    """A robot from a URDF file.

    Parameters
    ----------
    raw : bytes or str
        The URDF file; bytes are read in the encoding that they declare.
    side : dict
        `links: {link name: {beam, shapes, tip, hub, drive, friction, along}}`, and `name`, `gravity`, `payload`. A beam
        lies from the link's frame to the next joint (or along `along`); its length defaults to that distance. It
        replaces the link's own mass.
    tip : str
        Last link of the chain; needed where the tree has several ends. Whatever is not on the way to it is held still
        and lumped onto the chain.
    """
    tree = _tree(read_urdf(raw, source), source)
    chain = _chain(tree, tip)
    with np.errstate(all="ignore"):  # what is not finite is refused with the robot, and named there
        return _robot(tree, chain, side)


def _robot(tree: _Tree, chain: list[_UrdfJoint], side: dict[str, Any]) -> Robot:
    """The robot of a chain, with what the side file says."""
    source = tree.source
    names = {joint.child: _clean(joint.child) for joint in chain}
    extras = _side_links(side, names, source)
    links: list[dict[str, Any]] = []
    for before, joint, following in zip([None, *chain], chain, [*chain[1:], None]):
        links.append(_link(tree, before, joint, following))
    for index, joint in enumerate(chain):
        if joint.child in extras:
            where = f"{source}: link `{joint.child}`"
            following = chain[index + 1] if index + 1 < len(chain) else None
            if "beam" in extras[joint.child] and _branches(tree, joint.child, following).m:
                raise ModelError(f"{where} carries bodies off the chain; as a beam it would lose their mass")
            _make_flexible(links, index, extras[joint.child], where)
    data = {"name": tree.name or "robot", **{k: v for k, v in side.items() if k != "links"}, "links": links}
    lines: dict[Place, int] = {}
    for k, joint in enumerate(chain):
        lines |= {("links", k): tree.links[joint.child].line, ("links", k, "joint"): joint.element.line}
    return validated(Robot, data, lines, source)


def _tree(robot: Element, source: str) -> _Tree:
    """Links and joints that form one tree."""
    links = {str(link.values["name"]): link for link in robot.all("link")}
    joints = [_UrdfJoint(element) for element in robot.all("joint")]
    tree = _Tree(robot.values.get("name", ""), links, joints, source)
    if len(joints) > MOST_LINKS:
        raise ModelError(f"{source}: {len(joints)} joints; expected at most {MOST_LINKS}")
    faults = [
        f"{joint.element.owner} (line {joint.element.line}): no link `{name}`{suggestion(name, links)}"
        for joint in joints
        for name in (joint.parent, joint.child)
        if name not in links
    ]
    parents: dict[str, _UrdfJoint] = {}
    for joint in joints:
        if parents.setdefault(joint.child, joint) is not joint:
            faults.append(f"link `{joint.child}` has two parents (line {joint.element.line}); only trees are supported")
    if faults:
        raise ModelError(listed(faults, source))
    roots = [name for name in links if name not in parents]
    if len(roots) > 1:
        raise ModelError(f"{source}: two roots, `{roots[0]}` and `{roots[1]}`; join them, or remove one")
    reached = roots[:]
    for name in reached:
        reached += [joint.child for joint in tree.carried[name]]
    if len(reached) < len(links):
        raise ModelError(f"{source}: the joints form a loop; only trees are supported")
    return tree


def _chain(tree: _Tree, tip: str | None) -> list[_UrdfJoint]:
    """Joints from the root to the tip."""
    if tip is None:
        ends = [name for name in tree.links if not tree.carried[name]]
        if len(ends) != 1:
            raise ModelError(
                f"{tree.source}: the tree has {len(ends)} ends; choose one with `tip`: {', '.join(sorted(ends))}"
            )
        tip = ends[0]
    if tip not in tree.links:
        raise ModelError(f"{tree.source}: no link `{tip}`{suggestion(tip, tree.links)}")
    chain: list[_UrdfJoint] = []
    while tip in tree.carrier:
        chain.insert(0, tree.carrier[tip])
        tip = chain[0].parent
    if not chain:
        raise ModelError(f"{tree.source}: no joint leads to link `{tip}`")
    return chain


def _mass(tree: _Tree, name: str) -> _Mass:
    inertial = tree.links[name].one("inertial")
    if inertial is None:
        return _NOTHING
    moments = inertial.one("inertia")
    assert moments is not None  # the reader refuses an inertial without it
    numbers = tuple(moments.values[key] for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    try:
        body_inertia(numbers)
    except PydanticCustomError as error:
        about = error.context or {}
        expected = f"expected {about['expected']}; {about['remedy']}"
        raise ModelError(f"{tree.source}: inertia{moments.aside}: got {short(numbers)}, {expected}") from None
    R = np.array(rotation_rpy(inertial.get("origin", "rpy", _ZERO)), dtype=float)
    p = np.array(inertial.get("origin", "xyz", _ZERO))
    return _Mass.of(inertial.get("mass", "value"), p, R @ np.array(inertia_matrix(numbers), dtype=float) @ R.T)


def _branches(tree: _Tree, name: str, avoid: _UrdfJoint | None) -> _Mass:
    """Everything that hangs on link `name` off the chain, at joint position zero, in the frame of `name`."""
    total = _NOTHING
    open_ends = [(joint, np.eye(3), np.zeros(3)) for joint in tree.carried[name] if joint is not avoid]
    while open_ends:
        joint, R, p = open_ends.pop()
        p = p + R @ joint.xyz
        R = R @ np.array(rotation_rpy(joint.rpy), dtype=float)
        total = total + _mass(tree, joint.child).moved(R, p)
        open_ends += [(further, R, p) for further in tree.carried[joint.child]]
    return total


def _link(tree: _Tree, before: _UrdfJoint | None, joint: _UrdfJoint, following: _UrdfJoint | None) -> dict[str, Any]:
    """One link as it stands in a robot file: rigid, its tip frame where the next joint is."""
    where = f"{tree.source}: line {joint.element.line}: joint `{joint.name}`"
    if joint.type not in _TYPES:
        raise ModelError(f"{where}: type {joint.type} is not supported; use {', '.join(_TYPES)}")
    if joint.element.one("mimic") is not None:
        raise ModelError(f"{where}: mimic joints are not supported; fix it or choose another tip")
    m, com, inertia = (_mass(tree, joint.child) + _branches(tree, joint.child, following)).about_com()
    at = joint.xyz if before is None else np.zeros(3)  # the others stand at the tip of the link before them
    place: dict[str, Any] = {"type": _TYPES[joint.type], "origin": {"xyz": at, "rpy": joint.rpy}}
    if joint.type != "fixed":
        place |= {"axis": joint.element.get("axis", "xyz", (1.0, 0.0, 0.0)), **_dynamics(joint)}
    end = following.xyz if following is not None else np.zeros(3)
    inertia = (inertia + inertia.T) / 2.0
    body = {"mass": m, "com": com, "inertia": inertia.tolist(), "tip": end}
    return {"name": _clean(joint.child), "joint": place, "rigid": body}


def _dynamics(joint: _UrdfJoint) -> dict[str, Any]:
    e = joint.element
    found: dict[str, Any] = {}
    if e.one("dynamics") is not None:
        found["friction"] = {
            "viscous": e.get("dynamics", "damping", 0.0),
            "coulomb": e.get("dynamics", "friction", 0.0),
        }
    if e.one("limit") is not None:
        bounded = joint.type != "continuous"
        found["limits"] = {
            "lower": e.get("limit", "lower", 0.0) if bounded else None,
            "upper": e.get("limit", "upper", 0.0) if bounded else None,
            "speed": e.get("limit", "velocity") or None,
            "effort": e.get("limit", "effort") or None,
        }
    return found


def _side_links(side: dict[str, Any], names: dict[str, str], source: str) -> dict[str, dict[str, Any]]:
    """What the side file says of each link, by the name in the URDF."""
    for key in side:
        if key not in _SIDE_KEYS:
            raise ModelError(f"side file of {source}: unknown key `{key}`{suggestion(str(key), _SIDE_KEYS)}")
    links = side.get("links") or {}
    if not isinstance(links, dict):
        raise ModelError(
            f"side file of {source}: links: expected a mapping of link names, got a {type(links).__name__}"
        )
    for name, extra in links.items():
        if name not in names:
            raise ModelError(f"side file of {source}: no link `{name}` on the chain{suggestion(str(name), names)}")
        if not isinstance(extra, dict):
            raise ModelError(f"side file of {source}: links.{name}: expected a mapping")
        for key in extra:
            if key not in _LINK_KEYS:
                raise ModelError(
                    f"side file of {source}: unknown key `{key}` in links.{name}{suggestion(key, _LINK_KEYS)}"
                )
    return links


def _make_flexible(links: list[dict[str, Any]], index: int, extra: dict[str, Any], where: str) -> None:
    """Add what the side file says to link `index`; a beam turns its frame so that x points along the beam."""
    link = links[index]
    link["joint"] |= {key: extra[key] for key in ("hub", "drive", "friction") if key in extra}
    link |= {key: extra[key] for key in ("shapes", "tip") if key in extra}
    if "beam" not in extra:
        return
    end = np.array(link.pop("rigid")["tip"], dtype=float)
    B = _frame_along(extra.get("along", end if end.any() else (1.0, 0.0, 0.0)), where)
    beam = dict(extra["beam"]) if isinstance(extra["beam"], dict) else extra["beam"]
    if isinstance(beam, dict) and "length" not in beam and not beam.get("slides"):
        if not end.any():
            raise ModelError(f"{where}: the chain ends here, so its beam needs a `length`")
        beam["length"] = float(np.linalg.norm(end))
    link["beam"] = beam
    _turn(link["joint"], B)
    if index + 1 < len(links):
        length = beam.get("length", 0.0) if isinstance(beam, dict) else 0.0
        rest = B.T @ end - np.array([length if isinstance(length, (int, float)) else 0.0, 0.0, 0.0])
        _hang(links[index + 1]["joint"], B, np.where(np.abs(rest) < 1e-12 * np.linalg.norm(end), 0.0, rest))


def _turn(joint: dict[str, Any], B: Array) -> None:
    """Let the frame after the joint be turned by B: `O Rot(a, q) B = (O B) Rot(B^T a, q)`."""
    R = np.array(rotation_rpy(joint["origin"]["rpy"]), dtype=float)
    joint["origin"]["rpy"] = rpy_of(R @ B)
    if "axis" in joint:
        axis = B.T @ np.array(joint["axis"], dtype=float)
        joint["axis"] = np.where(np.abs(axis) < 1e-12, 0.0, axis)


def _hang(joint: dict[str, Any], B: Array, offset: Array) -> None:
    """Express the next joint's place in the turned frame."""
    R = np.array(rotation_rpy(joint["origin"]["rpy"]), dtype=float)
    joint["origin"] = {"xyz": offset, "rpy": rpy_of(B.T @ R)}


def _frame_along(direction: Any, where: str) -> Array:
    """A rotation whose x axis points along `direction`, by the shortest turn from x."""
    try:
        u = np.array(direction, dtype=float)
    except (TypeError, ValueError):
        u = np.zeros(3)
    norm = float(np.linalg.norm(u)) if u.shape == (3,) else 0.0
    if not 0.0 < norm < np.inf:
        raise ModelError(f"{where}: `along` must be three numbers, not all zero")
    u = u / norm
    if u[0] < -1.0 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    v = np.array([0.0, -u[2], u[1]])  # x cross u
    V = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    B: Array = np.eye(3) + V + V @ V / (1.0 + u[0])
    return B


def _clean(name: str) -> str:
    """A URDF name as ours: letters, digits and _."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    return text if not text[0].isdigit() else f"_{text}"
