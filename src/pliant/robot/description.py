"""Description of a robot: its base, links in a chain or a tree, gravity, payloads, frames, loops and contacts."""

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
from pliant.robot.parts.bodies.rigid_body import Lump, Payload, RigidBody
from pliant.robot.parts.contacts import Contact
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.fields import FORMAT, Description, Document, NonNegative, Vector, sequence
from pliant.robot.parts.frames import Frame
from pliant.robot.parts.joint import Freedom, Joint
from pliant.robot.parts.link import Link
from pliant.robot.parts.loop_joints import Loop, check_ends
from pliant.robot.tree import BASE, check_place, outwards, parents

MOST_LINKS = 1000


def _title(value: object) -> str:
    if isinstance(value, str) and 1 <= len(value) <= 200 and value.isprintable() and value == value.strip():
        return value
    raise fault("a name of 1 to 200 printable characters without space at its ends")


def _links(value: object) -> list[object]:
    entries = sequence(value, "a list of links")
    if not 1 <= len(entries) <= MOST_LINKS:
        raise fault(f"1 to {MOST_LINKS} links, not {len(entries)}")
    return entries


Title = Annotated[str, BeforeValidator(_title), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200})]
Links = Annotated[tuple[Link, ...], BeforeValidator(_links)]


def _payload(value: object) -> object:
    """Make a payload of a lump, which then sits on the last link."""
    return Payload(mass=value.mass, inertia=value.inertia, com=value.com) if type(value) is Lump else value


def _how_many(value: object) -> str:
    return "<many>" if isinstance(value, (list, tuple)) else "<one>"


class Expected(Description):
    """Loads of an arm besides its own weight, which `pieces: auto` takes into account.

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
            from pliant.robot.cylinder_bodies import with_halves

            self.__dict__.update(with_halves(self))
            self._check_tree()
        return self

    def _check_tree(self) -> None:
        """Check names and places of all parts, and put the links in order."""
        self._check_link_names()
        self.__dict__["links"] = outwards(self.links)
        self._check_link_places()
        self._check_payloads()
        self._check_frames()
        for kind, parts in (("loop", self.loops), ("coupling", self.couplings), ("contact", self.contacts)):
            if parts:
                check_ends(kind, parts, self.links, self.frames)
        self._check_part_names()
        self._check_joint_names()
        self._check_references()

    def _check_link_names(self) -> None:
        """Every link has a name of its own."""
        names = [link.name for link in self.links]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise clash(f"links need different names; `{double[0]}` stands {names.count(double[0])} times, rename one")

    def _check_link_places(self) -> None:
        """Every link is attached to a place that its parent has."""
        for link, parent in zip(self.links, parents(self.links)):
            if parent is not None:
                check_place(self.links[parent], link.at, f"link `{link.name}` hangs")
            elif link.at not in ("tip", "root"):
                raise clash(f"link `{link.name}` hangs on the base, which has no stations; remove `at`")

    def _check_payloads(self) -> None:
        """Every payload is on a link that exists."""
        names = [link.name for link in self.links]
        for payload in self.payloads:
            if payload.link is not None and payload.link not in names:
                raise clash(f"a payload on link `{payload.link}`, which is not there{suggestion(payload.link, names)}")
        if self.base.is_free and BASE in names:
            raise clash("a link called `base` and a free base; give the link another name")

    def _check_frames(self) -> None:
        """Every frame has a name of its own, and sits on a place that its link has."""
        taken, bodies = {BASE, "tip"}, {body.name: body for body in self.bodies}
        for frame in self.frames:
            on_base = frame.link == BASE and BASE not in bodies
            if on_base and frame.at not in ("tip", "root"):
                raise clash(f"frame `{frame.name}` sits on the base, which has no stations; remove `at`")
            if frame.link not in bodies and not on_base:
                meant = suggestion(frame.link, [link.name for link in self.links])
                raise clash(f"frame `{frame.name}` on link `{frame.link}`, which is not there{meant}")
            if frame.name in taken:
                raise clash(f"frames need different names, and neither `base` nor `tip`; `{frame.name}` is taken")
            taken.add(frame.name)
            if not on_base:
                check_place(bodies[frame.link], frame.at, f"frame `{frame.name}` sits")

    def _check_part_names(self) -> None:
        """Every coupling and every contact has a name that no freedom of a joint has."""
        taken = {*self.freedoms}
        for kind, parts in (("coupling", self.couplings), ("contact", self.contacts)):
            for part in parts:
                if part.name in taken:
                    raise clash(f"{kind} `{part.name}` is called like a joint or a coupling; rename one")
                taken.add(part.name)

    def _check_joint_names(self) -> None:
        """Every coordinate has a name of its own."""
        names = [link.joint.name or link.name for link in self.links if link.joint.moves]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise clash(f"joints need different names; `{double[0]}` stands {names.count(double[0])} times, rename one")
        if self.base.is_free and BASE in names:
            raise clash("a joint called `base` and a free base; give the joint another name")

    def _check_references(self) -> None:
        """`shapes.reference` of a link has a position for every moving joint."""
        moving = len(self.freedoms)
        for link in self.links:
            reference = None if link.shapes is None else link.shapes.reference
            if reference is not None and len(reference) != moving:
                raise clash(
                    f"`shapes.reference` of link `{link.name}` has {len(reference)} positions; "
                    f"expected one for each of the {moving} moving joints"
                )

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
        """Freedoms of all joints, by the names of their coordinates, in the order of the torques."""
        return {freedom.name(link.name): freedom for link in self.links for freedom in link.joint.freedoms}

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """Payloads as a tuple, whether the description has one or several."""
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
        content = {"format": FORMAT, **_without_files(plain(self, full=True))}
        text = json.dumps(content, sort_keys=True, allow_nan=False, default=lambda content: content.digest)
        return hashlib.sha256(text.encode()).hexdigest()


FILES = ("body.file", ".mesh")
"""Names of files, whose content counts in their place; the part before the dot is empty for an entry of a list."""


def _without_files(tree: Any, part: str = "") -> Any:
    """Plain data without the names of files; `part` is the key of the mapping `tree`."""
    if isinstance(tree, dict):
        return {name: _without_files(entry, name) for name, entry in tree.items() if f"{part}.{name}" not in FILES}
    return [_without_files(entry) for entry in tree] if isinstance(tree, list) else tree


AnyRobot = TypeVar("AnyRobot", bound=RobotDescription)
"""A description, or a robot with equations of motion."""
