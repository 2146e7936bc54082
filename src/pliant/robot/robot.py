"""The robot: links in a chain or a tree, what they stand on, gravity and payloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from pliant.base.signatures import checked, shown
from pliant.errors import ModelError
from pliant.robot.files.error_messages import clash, fault, suggestion
from pliant.robot.parameters import canonical, numbers, plain, put
from pliant.robot.parts.base import BaseBody
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.fields import FORMAT, Description, Document, NonNegative, Vector, sequence
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.friction import Friction
from pliant.robot.parts.joint import Freedom, Joint
from pliant.robot.parts.link import Link
from pliant.robot.parts.loops import Loop, check_ends
from pliant.robot.parts.rigid_body import Lump, Payload, RigidBody
from pliant.robot.tree import BASE, check_place, outwards, parents

MOST_LINKS = 1000


def _title(value: Any) -> str:
    if isinstance(value, str) and 1 <= len(value) <= 200 and value.isprintable() and value == value.strip():
        return value
    raise fault("a name of 1 to 200 printable characters without space at its ends")


def _links(value: Any) -> list[Any]:
    entries = sequence(value, "a list of links")
    if not 1 <= len(entries) <= MOST_LINKS:
        raise fault(f"1 to {MOST_LINKS} links, not {len(entries)}")
    return entries


Title = Annotated[str, BeforeValidator(_title), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200})]
Links = Annotated[tuple[Link, ...], BeforeValidator(_links)]


def _payload(value: Any) -> Any:
    """A lump on the last link is a payload."""
    return Payload(mass=value.mass, inertia=value.inertia, com=value.com) if type(value) is Lump else value


def _how_many(value: Any) -> str:
    return "<many>" if isinstance(value, (list, tuple)) else "<one>"


class Expected(Description):
    """What an arm goes through besides its own weight: what `pieces: auto` reckons with.

    Examples
    --------
    >>> pliant.robot.Expected(speed=2.0, force=30.0).acceleration
    0.0
    """

    speed: NonNegative = Field(0.0, description="rad/s, largest angular velocity of a link", examples=[2.0])
    acceleration: NonNegative = Field(
        0.0, description="rad/s^2, largest angular acceleration of a link", examples=[10.0]
    )
    force: NonNegative = Field(0.0, description="N, at the end of the arm, in any direction", examples=[30.0])


OnePayload = Annotated[Payload, BeforeValidator(_payload)]
Payloads = Annotated[
    Annotated[OnePayload, Tag("<one>")] | Annotated[tuple[OnePayload, ...], Tag("<many>")], Discriminator(_how_many)
]


class RobotDescription(Document):
    """Numbers and parts of a robot arm, without what needs its equations of motion; `Robot` adds that.

    Links are kept in an order in which each stands behind the one that carries it.
    """

    name: Title = Field(description="title of the arm", examples=["two-link arm"])
    gravity: Vector = Field((0.0, 0.0, -9.81), description="m/s^2, in base axes", examples=[[0, -9.81, 0]])
    links: Links = Field(
        description="list of links, from the base to the tip", examples=[[{"name": "rod", "rigid": {"mass": 1.0}}]]
    )
    base: BaseBody = Field(
        BaseBody(),
        description="what the arm stands on: fixed, or free with a mass",
        examples=[{"type": "free", "mass": 500.0}],
    )
    payload: Payloads = Field(
        Payload(), description="on the tip frame of a link; one, or a list", examples=[{"mass": 0.5}]
    )
    frames: tuple[Frame, ...] = Field((), description="named places", examples=[[{"name": "camera", "link": "fore"}]])
    loops: tuple[Loop, ...] = Field(
        (),
        description="joints between two frames, which close the tree of links",
        examples=[[{"name": "pin", "between": ["coupler.tip", "pivot"]}]],
    )
    couplings: tuple[Coupling, ...] = Field(
        (),
        description="springs, dampers, forces, cables and cylinders between two frames",
        examples=[[{"name": "strut", "between": ["boom", "base"], "spring": {"stiffness": 2000.0, "length": 0.5}}]],
    )
    contacts: tuple[Contact, ...] = Field(
        (),
        description="spheres on the arm and what they may touch",
        examples=[[{"name": "wipe", "frame": "tip", "radius": 0.02, "stiffness": 1e5}]],
    )
    expected: Expected | None = Field(
        None, description="what `pieces: auto` reckons with: speed, acceleration, force", examples=[{"speed": 2.0}]
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_tree()
        if any(coupling.heavy for coupling in self.couplings):
            from pliant.robot.cylinder_links import with_halves

            self.__dict__.update(with_halves(self))
            self._check_tree()
        return self

    def _check_tree(self) -> None:
        """Links have names of their own, stand in order, and what hangs on them has a place."""
        names = [link.name for link in self.links]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise clash(f"links need different names; `{double[0]}` stands {names.count(double[0])} times, rename one")
        self.__dict__["links"] = outwards(self.links)
        self._check_places()
        self._check_joint_names()
        moving = len(self.freedoms)
        for link in self.links:
            reference = None if link.shapes is None else link.shapes.reference
            if reference is not None and len(reference) != moving:
                raise clash(
                    f"`shapes.reference` of link `{link.name}` has {len(reference)} positions; "
                    f"expected one for each of the {moving} moving joints"
                )

    def _check_joint_names(self) -> None:
        """Every coordinate has a name of its own."""
        names = [link.joint.name or link.name for link in self.links if link.joint.moves]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise clash(f"joints need different names; `{double[0]}` stands {names.count(double[0])} times, rename one")
        if self.base.is_free and BASE in names:
            raise clash("a joint called `base` and a free base; give the joint another name")

    def _check_places(self) -> None:
        """Check that every link, payload and frame is attached to a place that exists."""
        names = [link.name for link in self.links]
        for link, parent in zip(self.links, parents(self.links)):
            if parent is None:
                if link.at not in ("tip", "root"):
                    raise clash(f"link `{link.name}` hangs on the base, which has no stations; remove `at`")
            else:
                check_place(self.links[parent], link.at, f"link `{link.name}` hangs")
        for payload in self.payloads:
            if payload.link is not None and payload.link not in names:
                raise clash(f"a payload on link `{payload.link}`, which is not there{suggestion(payload.link, names)}")
        if self.base.is_free and BASE in names:
            raise clash("a link called `base` and a free base; give the link another name")
        taken, bodies = {BASE, "tip"}, {body.name: body for body in self.bodies}
        for frame in self.frames:
            on_base = frame.link == BASE and BASE not in bodies
            if on_base and frame.at not in ("tip", "root"):
                raise clash(f"frame `{frame.name}` sits on the base, which has no stations; remove `at`")
            if frame.link not in bodies and not on_base:
                raise clash(
                    f"frame `{frame.name}` on link `{frame.link}`, which is not there{suggestion(frame.link, names)}"
                )
            if frame.name in taken:
                raise clash(f"frames need different names, and neither `base` nor `tip`; `{frame.name}` is taken")
            taken.add(frame.name)
            if not on_base:
                check_place(bodies[frame.link], frame.at, f"frame `{frame.name}` sits")
        check_ends("loop", self.loops, self.links, self.frames)
        check_ends("coupling", self.couplings, self.links, self.frames)
        check_ends("contact", self.contacts, self.links, self.frames)
        taken = {*self.freedoms}
        for kind, parts in (("coupling", self.couplings), ("contact", self.contacts)):
            for part in parts:
                if part.name in taken:
                    raise clash(f"{kind} `{part.name}` is called like a joint or a coupling; rename one")
                taken.add(part.name)

    @property
    def bodies(self) -> tuple[Link, ...]:
        """The links, behind a rigid one called `base` on a free joint where the base is free."""
        base = self.base
        if not base.is_free:
            return self.links
        body = RigidBody(mass=base.mass, com=base.com, inertia=base.inertia)
        return (Link(name=BASE, joint=Joint(type="free"), rigid=body, parent=BASE), *self.links)

    @property
    def freedoms(self) -> dict[str, Freedom]:
        """What its joints move by: the coordinates by name, in the order of the torques."""
        return {freedom.name(link.name): freedom for link in self.links for freedom in link.joint.freedoms}

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """All of them."""
        return self.payload if isinstance(self.payload, tuple) else (self.payload,)

    def carried(self, place: int) -> tuple[Payload, ...]:
        """Payloads on a link.

        Parameters
        ----------
        place : int
            Number of the link.

        Returns
        -------
        tuple of Payload

        Examples
        --------
        >>> pliant.load("lab-arm").carried(2)[0].mass
        1.0
        """
        links = self.links
        name, last = links[place].name, place == len(links) - 1
        return tuple(one for one in self.payloads if (last if one.link is None else one.link == name))

    @checked
    def link(self, name: str | int) -> Link:
        """The link called `name`, or so numbered.

        Parameters
        ----------
        name : str or int
            Name of the link, or its number from 0; negative numbers count from the end.

        Returns
        -------
        Link

        Examples
        --------
        >>> pliant.load("two-link").link("upper").beam.length
        1.0
        """
        return self.links[self.index(name)]

    @checked
    def index(self, name: str | int) -> int:
        """Place of the link called `name` in the chain, counted from 0; a number counts from the end if negative.

        Parameters
        ----------
        name : str or int
            Name of the link, or its number; negative numbers count from the end.

        Returns
        -------
        int
            From 0.

        Examples
        --------
        >>> pliant.load("two-link").index("fore")
        1
        """
        names = [link.name for link in self.links]
        if not isinstance(name, str):
            if not -len(names) <= name < len(names):
                raise ModelError(f"link: got {name}, expected one of the {len(names)} links, 0 to {len(names) - 1}")
            return range(len(names))[name]
        if name not in names:
            raise ModelError(f"the robot has no link `{name}`{suggestion(str(name), names)}")
        return names.index(name)

    def paths(self) -> dict[str, float]:
        """Every number of the robot by its path, such as `links.upper.beam.EI_z` or `gravity.2`.

        Returns
        -------
        dict of float
            In the order of the description.

        Examples
        --------
        >>> list(pliant.load("two-link").paths())[:4]
        ['gravity.0', 'gravity.1', 'gravity.2', 'links.upper.joint.axis.0']
        """
        return dict(numbers(self))

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """The robot with some entries changed, checked anew.

        Parameters
        ----------
        changes : mapping
            Path to new value. A path may lead to any number, text or part: `links.upper.shapes` takes `Shapes(...)`.

        Returns
        -------
        Robot
            A new one; descriptions are frozen.

        Examples
        --------
        >>> arm = pliant.load("two-link").replace({"links.upper.beam.EI_z": 2000.0})
        >>> arm.link("upper").beam.EI_z
        2000.0
        """
        if not isinstance(changes, Mapping):
            raise ModelError(f"changes: got {shown(changes)}, expected a mapping from paths to values")
        names = [link.name for link in self.links]
        known = self.paths()
        tree = plain(self, full=True)
        for path, value in changes.items():
            put(tree, canonical(path, names), value, known)
        return type(self).from_dict(tree)

    def to_dict(self) -> dict[str, Any]:
        """Plain mappings, lists and numbers as they stand in a robot file; `Robot.from_dict` is the way back.

        Returns
        -------
        dict

        Examples
        --------
        >>> arm = pliant.load("two-link")
        >>> pliant.Robot.from_dict(arm.to_dict()) == arm
        True
        """
        return {"format": FORMAT, **plain(self)}

    def digest(self) -> str:
        """SHA-256 of the content: equal robots have equal digests, on every machine.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> arm = pliant.load("two-link")
        >>> arm.digest() == arm.replace({"name": arm.name}).digest()
        True
        """
        content = {"format": FORMAT, **_settled(plain(self, full=True))}
        text = json.dumps(content, sort_keys=True, allow_nan=False, default=lambda content: content.digest)
        return hashlib.sha256(text.encode()).hexdigest()


YOUNGER: dict[str, Any] = {
    "GA_y": None, "GA_z": None, "shear": False, "pieces": None, "curvature": None, "twist": None, "beam.x": None,
    "expected": None,
    "bristle": 1e-5, "parent": None, "at": "tip", "axes": [], "frames": [], "link": None, "content": None,
    "accuracy": None, "band": None,
    "joint.name": None, "joint.offset": 0.0, "motor": None, "actuated": True, "loops": [], "stop": None,
    "couplings": [], "contacts": [], "visuals": [], "body": None, "damping_per_amplitude": 0.0,
    "stiction": None, "stribeck_speed": None, "stribeck_exponent": 2.0, "law": "bristle", "friction.stiffness": None,
    "micro_damping": 0.0, "hardening": 0.0, "table": [], "play": 0.0, "play_smoothing": 0.0, "hysteresis": None,
    "limits.acceleration": None, "limits.jerk": None,
    "errors": [], "drive.efficiency": 1.0, "drive.friction": Friction().model_dump(),
    "base": {"type": "fixed", "mass": 0.0, "com": [0.0, 0.0, 0.0], "inertia": [0.0, 0.0, 0.0], "visuals": []},
}  # fmt: skip
"""Entries that are younger than digests, by their name or with the part that they stand in, and their defaults:
digests of robots that do not use them stay."""
FILES = ("body.file", ".mesh")
"""Names of files whose content stands beside them, and counts in their place; what stands in a list has no part."""


def _settled(tree: Any, part: str = "") -> Any:
    """Without younger entries that have their default; `part` is the name of the mapping."""
    if isinstance(tree, dict):
        return {
            name: _settled(entry, name)
            for name, entry in tree.items()
            if all(YOUNGER.get(key, ...) != entry for key in (name, f"{part}.{name}")) and f"{part}.{name}" not in FILES
        }
    return [_settled(entry) for entry in tree] if isinstance(tree, list) else tree


AnyRobot = TypeVar("AnyRobot", bound=RobotDescription)
"""A description, or a robot with equations of motion."""
