"""URDF in: a chain out of the tree, side branches lumped onto it, chosen links made flexible by a side file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.angles import rotation_rpy, rpy_of
from pliant.robot.faults import suggestion
from pliant.robot.lumps import inertia_matrix
from pliant.robot.robot import MOST_LINKS, Robot

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


_NOTHING = _Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def from_urdf(text: str, side: dict[str, Any], tip: str | None = None, source: str = "robot.urdf") -> Robot:
    """A robot from URDF text.

    Parameters
    ----------
    text : str
        The URDF file.
    side : dict
        `links: {link name: {beam, shapes, tip, hub, drive, friction, along}}`, and `name`, `gravity`, `payload`. A beam
        lies from the link's frame to the next joint (or along `along`); its length defaults to that distance. It
        replaces the link's own mass.
    tip : str
        Last link of the chain; needed where the tree has several ends. Whatever is not on the way to it is held still
        and lumped onto the chain.
    """
    tree = _parse(text, source)
    chain = _chain(tree, tip, source)
    with np.errstate(all="ignore"):  # what is not finite is refused with the robot, and named there
        return _robot(tree, chain, side, source)


def _robot(tree: Any, chain: list[Any], side: dict[str, Any], source: str) -> Robot:
    """The robot of a chain, with what the side file says."""
    names = {joint.child: _clean(joint.child) for joint in chain}
    extras = _side_links(side, names, source)
    links: list[dict[str, Any]] = []
    for joint, following in zip(chain, [*chain[1:], None]):
        links.append(_link(tree, joint, following, source))
    for index, joint in enumerate(chain):
        if joint.child in extras:
            where = f"{source}: link `{joint.child}`"
            following = chain[index + 1].child if index + 1 < len(chain) else None
            if "beam" in extras[joint.child] and _branches(tree, joint.child, following).m:
                raise ModelError(f"{where} carries bodies off the chain; as a beam it would lose their mass")
            _make_flexible(links, index, extras[joint.child], where)
    data = {"name": tree.name or "robot", **{k: v for k, v in side.items() if k != "links"}, "links": links}
    try:
        return Robot.from_dict(data)
    except ModelError as error:
        raise ModelError(f"{source}: {str(error).removeprefix('Robot: ')}") from None


def _parse(text: str, source: str) -> Any:
    try:
        from urdf_parser_py import urdf
        from urdf_parser_py.xml_reflection import core
    except ImportError:
        raise ModelError(f"{source}: reading URDF needs urdf_parser_py: pip install 'pliant[urdf]'") from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError(f"{source}: XML entities are not supported in a URDF file")
    core.on_error = lambda message: None  # it prints hints about attributes that do not matter here
    try:
        tree = urdf.URDF.from_xml_string(text.encode())
    except Exception as error:  # the parser raises whatever its parts raise, assertions included
        raise ModelError(f"{source}: not valid URDF: {str(error).splitlines()[0] if str(error) else error!r}") from None
    return tree


def _chain(tree: Any, tip: str | None, source: str) -> list[Any]:
    """Joints from the root to the tip."""
    parents: dict[str, Any] = {}
    for joint in tree.joints:
        if joint.child in parents:
            raise ModelError(f"{source}: link `{joint.child}` has two parents; only trees are supported")
        if joint.child not in tree.link_map or joint.parent not in tree.link_map:
            raise ModelError(f"{source}: joint `{joint.name}` names a link that does not exist")
        parents[joint.child] = joint
    ends = [link.name for link in tree.links if link.name not in {joint.parent for joint in tree.joints}]
    if tip is None:
        if len(ends) != 1:
            raise ModelError(
                f"{source}: the tree has {len(ends)} ends; choose one with `tip`: {', '.join(sorted(ends))}"
            )
        tip = ends[0]
    if tip not in tree.link_map:
        raise ModelError(f"{source}: no link `{tip}`{suggestion(tip, [link.name for link in tree.links])}")
    chain: list[Any] = []
    while tip in parents:
        chain.insert(0, parents[tip])
        tip = chain[0].parent
        if len(chain) > len(tree.joints):
            raise ModelError(f"{source}: the joints form a loop; only trees are supported")
    if not chain:
        raise ModelError(f"{source}: no joint leads to link `{tip}`")
    if len(tree.joints) > MOST_LINKS:
        raise ModelError(f"{source}: {len(tree.joints)} joints; expected at most {MOST_LINKS}")
    return chain


def _pose(origin: Any) -> tuple[Array, Array]:
    if origin is None:
        return np.eye(3), np.zeros(3)
    rpy = origin.rpy if origin.rpy is not None else (0.0, 0.0, 0.0)
    xyz = origin.xyz if origin.xyz is not None else (0.0, 0.0, 0.0)
    return np.array(rotation_rpy(rpy), dtype=float), np.array(xyz, dtype=float)


def _mass(tree: Any, name: str) -> _Mass:
    inertial = tree.link_map[name].inertial
    if inertial is None:
        return _NOTHING
    R, p = _pose(inertial.origin)
    i = inertial.inertia
    numbers = (i.ixx, i.iyy, i.izz, i.ixy, i.ixz, i.iyz) if i is not None else (0.0, 0.0, 0.0)
    return _Mass.of(float(inertial.mass or 0.0), p, R @ np.array(inertia_matrix(numbers), dtype=float) @ R.T)


def _branches(tree: Any, name: str, avoid: str | None) -> _Mass:
    """Everything that hangs on link `name` off the chain, at joint position zero, in the frame of `name`."""
    total = _NOTHING
    for joint_name, child in tree.child_map.get(name, ()):
        if child != avoid:
            R, p = _pose(tree.joint_map[joint_name].origin)
            total = total + (_mass(tree, child) + _branches(tree, child, None)).moved(R, p)
    return total


def _link(tree: Any, joint: Any, following: Any, source: str) -> dict[str, Any]:
    """One link as it stands in a robot file: rigid, its tip frame where the next joint is."""
    if joint.type not in _TYPES:
        raise ModelError(f"{source}: joint `{joint.name}`: type {joint.type} is not supported; use {', '.join(_TYPES)}")
    if joint.mimic is not None:
        raise ModelError(
            f"{source}: joint `{joint.name}`: mimic joints are not supported; fix it or choose another tip"
        )
    p = _pose(joint.origin)[1]
    rpy = joint.origin.rpy if joint.origin is not None and joint.origin.rpy is not None else (0.0, 0.0, 0.0)
    branches = _branches(tree, joint.child, following.child if following is not None else None)
    m, com, inertia = (_mass(tree, joint.child) + branches).about_com()
    place: dict[str, Any] = {"type": _TYPES[joint.type], "origin": {"xyz": p, "rpy": tuple(rpy)}}
    if joint.type != "fixed":
        place |= {"axis": joint.axis if joint.axis is not None else (1.0, 0.0, 0.0), **_dynamics(joint)}
    end = _pose(following.origin)[1] if following is not None else np.zeros(3)
    if following is not None and following.origin is not None:  # the next joint then stands at this tip
        following.origin.xyz = [0.0, 0.0, 0.0]
    inertia = (inertia + inertia.T) / 2.0
    body = {"mass": m, "com": com, "inertia": inertia.tolist(), "tip": end}
    return {"name": _clean(joint.child), "joint": place, "rigid": body}


def _dynamics(joint: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if joint.dynamics is not None:
        found["friction"] = {"viscous": joint.dynamics.damping or 0.0, "coulomb": joint.dynamics.friction or 0.0}
    if joint.limit is not None:
        bounded = joint.type != "continuous"
        found["limits"] = {
            "lower": joint.limit.lower if bounded else None,
            "upper": joint.limit.upper if bounded else None,
            "speed": joint.limit.velocity or None,
            "effort": joint.limit.effort or None,
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
