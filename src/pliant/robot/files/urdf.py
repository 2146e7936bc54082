"""URDF in: the whole tree, or a chain out of it with side branches lumped onto it; a side file makes links flexible."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from pydantic_core import PydanticCustomError

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.robot.beam_axis import BeamAxis
from pliant.robot.description import MOST_LINKS, AnyRobot
from pliant.robot.files.documents import validated
from pliant.robot.files.error_messages import Entries, Place, listed, short, suggestion
from pliant.robot.files.file_paths import FilePaths
from pliant.robot.files.link_mass_split import Rider, split_mass
from pliant.robot.files.unique_names import UniqueNames
from pliant.robot.files.urdf_text import GRAVITY, Element, read_urdf
from pliant.robot.files.urdf_visuals import urdf_visuals
from pliant.robot.mass_sum import MassSum
from pliant.robot.parts.angles import rotation_rpy, rpy_of
from pliant.robot.parts.bodies.rigid_body import inertia_matrix, lump_inertia
from pliant.robot.tree import BASE

SIDE_KEYS = ("format", "name", "gravity", "payload", "frames", "links")
LINK_KEYS = ("beam", "shapes", "tip", "hub", "drive", "friction", "limits", "along")
_TYPES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed", "planar": "planar",
    "floating": "free",
}  # fmt: skip


UNLIMITED = 1e9
"""Size (rad, m, N, ...) from which on a number does not limit anything."""
_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Tree:
    """Links, joints and visuals of a URDF file."""

    name: str
    links: dict[str, Element]
    joints: list[_UrdfJoint]
    source: str
    looks: dict[str, list[Entries]]
    gravity: tuple[float, ...] | None = None

    @cached_property
    def called(self) -> dict[str, str]:
        """Names of the links in the robot, by those in the URDF."""
        return _cleaned(self.links)

    @cached_property
    def joint_names(self) -> dict[str, str]:
        """Names of the joints in the robot, by those in the URDF."""
        return _cleaned([joint.name for joint in self.joints])

    @cached_property
    def carrier(self) -> dict[str, _UrdfJoint]:
        """Joint that carries each link but the root."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def root(self) -> str:
        return next(name for name in self.links if name not in self.carrier)

    @cached_property
    def carried(self) -> dict[str, list[_UrdfJoint]]:
        """Joints on each link."""
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

    @property
    def rotation(self) -> Array:
        return np.array(rotation_rpy(self.rpy), dtype=float)


@dataclass(frozen=True)
class _Kept:
    """Part of a tree that becomes the robot: its joints, each behind the one that carries it."""

    tree: _Tree
    joints: list[_UrdfJoint]

    @cached_property
    def on(self) -> dict[str, list[_UrdfJoint]]:
        """Kept joints on each link."""
        kept = {joint.name for joint in self.joints}
        return {name: [j for j in carried if j.name in kept] for name, carried in self.tree.carried.items()}

    def body(self, name: str) -> MassSum:
        """Mass of a link with all that hangs on it and is not kept."""
        return _mass(self.tree, name) + _branches(self.tree, name, self.on[name])

    def looks(self, name: str) -> list[Entries]:
        """Visuals of a link with all that hangs on it and is not kept."""
        found = list(self.tree.looks.get(name, ()))
        for child, R, p in _beside(self.tree, name, self.on[name]):
            found += _placed(self.tree.looks.get(child, ()), R, p)
        return found


def from_urdf(
    kind: type[AnyRobot],
    raw: bytes | str,
    side: Entries,
    tip: str | None = None,
    source: str = "robot.urdf",
    floating: bool = False,
    paths: FilePaths | None = None,
) -> AnyRobot:
    """A robot from a URDF file.

    Parameters
    ----------
    kind : type
        Class of the robot.
    raw : bytes or str
        The URDF file; bytes are read in the encoding that they declare.
    side : dict
        `links: {link name: {beam, shapes, tip, hub, drive, friction, limits, along}}`, and `name`, `gravity`,
        `payload`, `frames`. A beam lies from the link's frame to the next joint, the farthest of several (or along
        `along`); its length defaults to that distance. Without `mass_per_length` or a section it has the mass of the
        link; with one it replaces it. Joints beside its end hang on the section that is nearest to them.
    tip : str
        Last link of a chain: whatever is not on the way to it is held still and lumped onto the chain. The whole tree
        by default.
    floating : bool
        Whether the root link is a free base; by default it stands, and its mass does not matter.
    paths : FilePaths, optional
        Where its meshes may be.
    """
    read = read_urdf(raw, source)
    tree = _tree(read, source, urdf_visuals(raw, source, paths or FilePaths()))
    kept = _Kept(tree, _chain(tree, tip) if tip is not None else _whole(tree))
    with np.errstate(all="ignore"):  # what is not finite is refused with the robot, and named there
        return _robot(kind, kept, side, floating)


def _robot(kind: type[AnyRobot], kept: _Kept, side: Entries, floating: bool) -> AnyRobot:
    """Make the robot of the kept links and joints, with the entries of the side file."""
    tree, joints, source = kept.tree, kept.joints, kept.tree.source
    names = {joint.child: tree.called[joint.child] for joint in joints}
    if BASE in names.values() and (floating or len(kept.on[tree.root]) > 1):
        raise ModelError(f"{source}: link `{BASE}` is not the root, which is called `{BASE}` here; rename the link")
    extras = _side_links(side, names, source)
    links = [_link(kept, joint) for joint in joints]
    places = {joint.child: link for joint, link in zip(joints, links)}
    riders = {
        joint.child: _make_flexible(kept, joint, places, extras[joint.child])
        for joint in joints
        if joint.child in extras
    }
    links, origins = _in_order(kept, places, riders)
    given = {} if tree.gravity is None else {"gravity": tree.gravity}
    data = {"name": tree.name or "robot", **given, **{k: v for k, v in side.items() if k != "links"}, "links": links}
    lines: dict[Place, int] = {}
    if looks := kept.looks(tree.root):
        data["base"] = {"visuals": looks}
    if floating:
        data["base"], lines[("base",)] = _free_base(kept), tree.links[tree.root].line
    for k, joint in enumerate(origins):
        lines |= {("links", k): tree.links[joint.child].line, ("links", k, "joint"): joint.element.line}
    return validated(kind, data, lines, source)


def _in_order(
    kept: _Kept, places: dict[str, Entries], riders: dict[str, list[Entries]]
) -> tuple[list[Entries], list[_UrdfJoint]]:
    """Links with what rides on them behind each, and the joint that each comes from. Where the last link of the file
    has riders, an empty one at its tip stays the last, which carries the payload and whose tip is that of the arm."""
    found: list[Entries] = []
    origins: list[_UrdfJoint] = []
    taken, before = {link["name"] for link in places.values()}, kept.tree.root
    for joint in kept.joints:
        link, riding = places[joint.child], riders.get(joint.child, [])
        if joint.parent != before:
            link["parent"] = places[joint.parent]["name"] if joint.parent in places else BASE
        if riding and joint is kept.joints[-1]:
            end = {"name": f"{link['name']}_end", "parent": link["name"]}
            riding = [*riding, end | {"joint": {"type": "fixed"}, "rigid": {"mass": 0.0}}]
        for rider in riding:
            while rider["name"] in taken:
                rider["name"] += "_"
            taken.add(rider["name"])
        found += [link, *riding]
        origins += [joint] * (1 + len(riding))
        before = "" if riding else joint.child
    return found, origins


def _free_base(kept: _Kept) -> Entries:
    root = kept.tree.root
    m, com, inertia = kept.body(root).about_com()
    if not m:
        raise ModelError(
            f"{kept.tree.source}: link `{root}` is the root and has no mass, which a free base needs; give it an "
            "`inertial`, or begin the tree at a link that has one"
        )
    return {"type": "free", "mass": m, "com": com, "inertia": inertia.tolist(), "visuals": kept.looks(root)}


def _tree(robot: Element, source: str, looks: dict[str, list[Entries]]) -> _Tree:
    """Links and joints that form one tree."""
    links = {str(link.values["name"]): link for link in robot.all("link")}
    joints = [_UrdfJoint(element) for element in robot.all("joint")]
    tree = _Tree(robot.values.get("name", ""), links, joints, source, looks, robot.values.get(GRAVITY))
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


def _chain(tree: _Tree, tip: str) -> list[_UrdfJoint]:
    """Joints from the root to the tip."""
    if tip not in tree.links:
        raise ModelError(f"{tree.source}: no link `{tip}`{suggestion(tip, tree.links)}")
    chain: list[_UrdfJoint] = []
    while tip in tree.carrier:
        chain.insert(0, tree.carrier[tip])
        tip = chain[0].parent
    if not chain:
        raise ModelError(f"{tree.source}: no joint leads to link `{tip}`")
    return chain


def _whole(tree: _Tree) -> list[_UrdfJoint]:
    """All joints, branch by branch."""
    if not tree.joints:
        raise ModelError(f"{tree.source}: no joint leads to a link; an arm has at least one")
    found: list[_UrdfJoint] = []
    waiting = tree.carried[tree.root][::-1]
    while waiting:
        found.append(waiting.pop())
        waiting += tree.carried[found[-1].child][::-1]
    return found


def _mass(tree: _Tree, name: str) -> MassSum:
    inertial = tree.links[name].one("inertial")
    if inertial is None:
        return MassSum.nothing()
    moments = inertial.one("inertia")
    assert moments is not None  # the reader refuses an inertial without it
    numbers = tuple(moments.values[key] for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    try:
        lump_inertia(numbers)
    except PydanticCustomError as error:
        about = error.context or {}
        expected = f"expected {about['expected']}; {about['remedy']}"
        raise ModelError(f"{tree.source}: inertia{moments.aside}: got {short(numbers)}, {expected}") from None
    R = np.array(rotation_rpy(inertial.get("origin", "rpy", _ZERO)), dtype=float)
    p = np.array(inertial.get("origin", "xyz", _ZERO))
    return MassSum.of(inertial.get("mass", "value"), p, R @ np.array(inertia_matrix(numbers), dtype=float) @ R.T)


def _branches(tree: _Tree, name: str, kept: list[_UrdfJoint]) -> MassSum:
    """Mass of all links that hang on link `name` by other joints, at joint position zero, in the frame of `name`."""
    return sum((_mass(tree, child).moved(R, p) for child, R, p in _beside(tree, name, kept)), MassSum.nothing())


def _beside(tree: _Tree, name: str, kept: list[_UrdfJoint]) -> Iterator[tuple[str, Array, Array]]:
    """Links that hang on link `name` by other joints, at joint position zero, with their poses in its frame."""
    open_ends = [(joint, np.eye(3), np.zeros(3)) for joint in tree.carried[name] if joint not in kept]
    while open_ends:
        joint, R, p = open_ends.pop()
        p = p + R @ joint.xyz
        R = R @ joint.rotation
        yield joint.child, R, p
        open_ends += [(further, R, p) for further in tree.carried[joint.child]]


def _placed(looks: Iterable[Entries], R: Array, p: Array | float = 0.0) -> list[Entries]:
    """Visuals in another frame, in which theirs is turned by R and stands at p."""
    found = []
    for look in looks:
        own = np.array(rotation_rpy(look["origin"]["rpy"]), dtype=float)
        found.append({**look, "origin": {"xyz": R @ np.array(look["origin"]["xyz"]) + p, "rpy": rpy_of(R @ own)}})
    return found


def _link(kept: _Kept, joint: _UrdfJoint) -> Entries:
    """Entries of a rigid link in a robot file. Its tip frame is at the next joint, if there is exactly one."""
    where = f"{kept.tree.source}: line {joint.element.line}: joint `{joint.name}`"
    if joint.element.one("mimic") is not None:
        raise ModelError(f"{where}: mimic joints are not supported; fix it, or choose a tip beside it")
    whole, spin = kept.body(joint.child).split()
    m, com, inertia = whole.about_com()
    alone = joint.parent != kept.tree.root and len(kept.on[joint.parent]) == 1
    at = np.zeros(3) if alone else joint.xyz  # it stands at the tip of the link before, which is where the joint is
    place: Entries = {"type": _TYPES[joint.type], "origin": {"xyz": at, "rpy": joint.rpy}}
    if joint.type != "fixed":
        place["name"] = kept.tree.joint_names[joint.name]
    if spin:
        place["hub"] = {"inertia": spin.I.tolist()}
    if joint.type in ("planar", "floating"):
        _refuse_axes(joint, where)
    elif joint.type != "fixed":
        place |= {"axis": joint.element.get("axis", "xyz", (1.0, 0.0, 0.0)), **_dynamics(joint)}
    following = kept.on[joint.child]
    end = following[0].xyz if len(following) == 1 else np.zeros(3)
    body: Entries = {"mass": m, "com": com, "inertia": inertia.tolist(), "tip": end}
    link = {"name": kept.tree.called[joint.child], "joint": place, "rigid": body, "visuals": kept.looks(joint.child)}
    if joint.type == "planar":
        _lay_flat(link, joint, where)
    return link


def _refuse_axes(joint: _UrdfJoint, where: str) -> None:
    """Refuse friction and limits of a planar or floating joint, which has no axis for them."""
    for tag in ("dynamics", "limit"):
        element = joint.element.one(tag)
        if element is not None and any(element.values.values()):
            raise ModelError(f"{where}: type {joint.type} has no axis for `{tag}`; remove it")


def _lay_flat(link: Entries, joint: _UrdfJoint, where: str) -> None:
    """Turn the frame of a planar joint so that z is its axis: `O A Planar(q) A^T`, with A in the origin and A^T in the
    tip frame."""
    place, body = link["joint"], link["rigid"]
    axis = np.array(joint.element.get("axis", "xyz", (1.0, 0.0, 0.0)), dtype=float)
    if not axis.any():
        raise ModelError(
            f"{where}: got an axis of zero length, expected the normal of the plane; 0 0 1 is the usual one"
        )
    turn = _frame_along(np.roll(axis / np.abs(axis).max(), 1), where)
    A = np.roll(turn, -1, axis=(0, 1))  # takes z to the axis as `turn` takes x to that of rolled names
    if not np.array_equal(A, np.eye(3)):
        inertia = A.T @ np.array(body["inertia"]) @ A
        body |= {"com": A.T @ body["com"], "inertia": ((inertia + inertia.T) / 2.0).tolist()}
        body |= {"tip": A.T @ body["tip"], "tip_rpy": rpy_of(A.T)}
        if "hub" in place:
            place["hub"] = {"inertia": (A.T @ np.array(place["hub"]["inertia"]) @ A).tolist()}
        _turn(place, A)
        link["visuals"] = _placed(link["visuals"], A.T)


def _dynamics(joint: _UrdfJoint) -> Entries:
    e = joint.element
    found: Entries = {}
    if e.one("dynamics") is not None:
        found["friction"] = {
            "viscous": e.get("dynamics", "damping", 0.0),
            "coulomb": e.get("dynamics", "friction", 0.0),
        }
    if e.one("limit") is not None:
        bounded = joint.type != "continuous"
        found["limits"] = {
            "lower": _bound(e.get("limit", "lower", 0.0)) if bounded else None,
            "upper": _bound(e.get("limit", "upper", 0.0)) if bounded else None,
            "speed": _bound(e.get("limit", "velocity")) or None,
            "effort": _bound(e.get("limit", "effort")) or None,
        }
    return found


def _bound(value: float | None) -> float | None:
    """Return a limit, or None for a number so large that it limits nothing: the format requires some number."""
    return None if value is None or abs(value) >= UNLIMITED else value


def _side_links(side: Entries, names: dict[str, str], source: str) -> dict[str, Entries]:
    """Entries of the side file for each link, by its name in the URDF."""
    for key in side:
        if key not in SIDE_KEYS:
            raise ModelError(f"side file of {source}: unknown key `{key}`{suggestion(str(key), SIDE_KEYS)}")
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
            if key not in LINK_KEYS:
                raise ModelError(
                    f"side file of {source}: unknown key `{key}` in links.{name}{suggestion(key, LINK_KEYS)}"
                )
    return links


def _make_flexible(kept: _Kept, joint: _UrdfJoint, places: dict[str, Entries], extra: Entries) -> list[Entries]:
    """Add the entries of the side file to a link; a beam turns its frame so that x points along the beam. Return links
    that ride on the beam with the mass that it cannot have."""
    tree, name = kept.tree, joint.child
    link, where = places[name], f"{tree.source}: link `{name}`"
    ends = [(places[further.child], further.xyz) for further in kept.on[name]]
    spin = link["joint"].pop("hub", None)  # a beam and its lump share it with the rest of the link
    if spin is not None and not {"beam", "hub"} & set(extra):
        link["joint"]["hub"] = spin
    link["joint"] |= {key: extra[key] for key in ("hub", "drive", "friction") if key in extra}
    if "limits" in extra:  # URDF has no place for some of them: they stand beside its own
        own, more = link["joint"].get("limits", {}), extra["limits"]
        link["joint"]["limits"] = {**own, **more} if isinstance(more, dict) else more
    link |= {key: extra[key] for key in ("shapes", "tip") if key in extra}
    if "beam" not in extra:
        return [_rotor(link["name"], spin)] if spin is not None and "hub" in extra else []
    turned = "tip_rpy" in link.pop("rigid")
    end = max((place for _, place in ends), key=lambda place: float(np.linalg.norm(place)), default=np.zeros(3))
    B = _frame_along(extra.get("along", end if end.any() else (1.0, 0.0, 0.0)), where)
    if link["joint"]["type"] == "planar" and (turned or not np.array_equal(B, np.eye(3))):
        raise ModelError(f"{where} is a beam on a planar joint, whose axes it would turn; put a fixed joint between")
    beam = dict(extra["beam"]) if isinstance(extra["beam"], dict) else extra["beam"]
    if isinstance(beam, dict) and "length" not in beam and not beam.get("slides"):
        if not end.any():
            raise ModelError(f"{where}: the chain ends here, so its beam needs a `length`")
        if "curvature" in beam:
            raise ModelError(f"{where} is a curved beam, which needs its `length` along the curve")
        beam["length"] = float(np.linalg.norm(end))
    length = beam.get("length", 0.0) if isinstance(beam, dict) else 0.0
    length = float(length) if isinstance(length, (int, float)) else 0.0
    axis = BeamAxis.of(beam, length)
    riders = _riders(kept, link, name, beam, extra, B, axis) if isinstance(beam, dict) else []
    link["beam"] = beam
    _turn(link["joint"], B)
    link["visuals"] = _placed(link["visuals"], B.T)
    for carried, place in ends:
        along = B.T @ place
        x = length if len(ends) == 1 else axis.nearest(along)
        if x < length * (1 - 1e-12):
            carried["at"] = {"x": x} if x > length * 1e-12 else "root"
        R, shift = axis.straightened(x)
        rest = R @ along + shift - np.array([x, 0.0, 0.0])
        _hang(carried["joint"], B @ R.T, np.where(np.abs(rest) < 1e-12 * np.linalg.norm(end), 0.0, rest))
    return riders


def _rotor(name: str, hub: Entries) -> Entries:
    """A link that turns with a rigid one and has a moment that no body has, beside the hub that is stated."""
    place = {"type": "fixed", "hub": hub}
    return {"name": f"{name}_rotor", "parent": name, "at": "root", "joint": place, "rigid": {"mass": 0.0}}


def _riders(
    kept: _Kept, link: Entries, name: str, beam: Entries, extra: Entries, B: Array, axis: BeamAxis
) -> list[Entries]:
    """Share the mass of a link between its beam, its hub or tip, and links that ride on the beam: one with the rest of
    its own, and one for each body beside the chain, on the section nearest to its joint."""
    tree, none = kept.tree, np.zeros(3)
    where = f"{tree.source}: link `{name}`"
    beside = [
        (branch, body.moved(B.T, none))
        for branch in tree.carried[name]
        if branch not in kept.on[name]
        and (body := (_mass(tree, branch.child) + _branches(tree, branch.child, [])).moved(branch.rotation, branch.xyz))
    ]
    if beside and beam.get("slides"):
        raise ModelError(f"{where} carries bodies off the chain; a beam that slides would lose their mass")
    stated: Entries = {key: extra[key] for key in ("hub", "tip") if key in extra}
    own = split_mass(beam, stated, _mass(tree, name).moved(B.T, none), where)
    length = axis.length
    found: list[Entries] = []
    if own is not None and not own.spin and own.x in (0.0, length) and ("tip" if own.x else "hub") not in stated:
        (link if own.x else link["joint"])["tip" if own.x else "hub"] = own.lump
    elif own is not None:
        found.append(own.link(f"{link['name']}_lump", link["name"], length))
    for branch, body in beside if length > 0.0 else ():
        x = axis.nearest(B.T @ branch.xyz)
        found.append(
            Rider(x, *body.moved(*axis.straightened(x)).split()).link(tree.called[branch.child], link["name"], length)
        )
    return found


def _turn(joint: Entries, B: Array) -> None:
    """Turn the frame after the joint by B: `O Rot(a, q) B = (O B) Rot(B^T a, q)`."""
    R = np.array(rotation_rpy(joint["origin"]["rpy"]), dtype=float)
    joint["origin"]["rpy"] = rpy_of(R @ B)
    if "axis" in joint:
        axis = B.T @ np.array(joint["axis"], dtype=float)
        joint["axis"] = np.where(np.abs(axis) < 1e-12, 0.0, axis)


def _hang(joint: Entries, B: Array, offset: Array) -> None:
    """Express the next joint's place in the turned frame."""
    R = np.array(rotation_rpy(joint["origin"]["rpy"]), dtype=float)
    joint["origin"] = {"xyz": offset, "rpy": rpy_of(B.T @ R)}


def _frame_along(direction: ArrayLike, where: str) -> Array:
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


def _cleaned(names: Collection[str]) -> dict[str, str]:
    """Names that Pliant accepts for URDF names, all different; a name that it accepts already stays."""
    given = UniqueNames(name for name in names if _clean(name) == name)
    return {name: given.give(_clean(name), _clean(name) == name) for name in names}


def _clean(name: str) -> str:
    """Name of letters, digits and _ for a URDF name."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    return text if not text[0].isdigit() else f"_{text}"
