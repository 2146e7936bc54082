"""URDF text to a tree of elements that are all known: nothing twice, nothing misspelled, every number finite.

`KINDS` lists the elements and attributes that are read, and those that are skipped because they say nothing about
masses, frames and joints. One error reports all faults, each with its line. Elements and attributes of vendors, which
resemble none of the format, cause one warning for a file.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from pliant.base.signatures import near
from pliant.errors import ModelError, warn_user
from pliant.robot.files.error_messages import Entries, listed, short, short_key, suggestion

if TYPE_CHECKING:
    from xml.etree import ElementTree

MOST_ELEMENTS = 100_000
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
TEXT, NUMBER, VECTOR = "a name", "a finite number", "three finite numbers"
GRAVITY = "pliant:gravity"
"""Attribute of the robot element that Pliant adds, m/s^2 in base axes: the format has no gravity."""
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Kind:
    """Attributes and elements that may stand in an element.

    `attributes` by what they hold, of which `needs` must be there; elements of `once` and `many`, of which `needs` must
    be there too; elements of `passes` and attributes of `ignored` are not read.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    once: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
KINDS = {
    "robot": Kind(
        {"name": TEXT, GRAVITY: VECTOR}, many=("link", "joint"), ignored=("version",),
        passes=("material", "transmission", "gazebo", "ros2_control", "sensor"),
    ),
    "link": Kind(
        {"name": TEXT}, once=("inertial",), needs=("name",), ignored=("type",),
        passes=("visual", "collision", "contact", "self_collision_checking", "sensor"),
    ),
    "joint": Kind(
        {"name": TEXT, "type": TEXT}, once=("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
        needs=("name", "type", "parent", "child"), passes=("calibration", "safety_controller", "hardwareInterface"),
    ),
    "inertial": Kind(once=("origin", "mass", "inertia"), needs=("mass", "inertia")),
    "origin": Kind({"xyz": VECTOR, "rpy": VECTOR}),
    "mass": Kind({"value": NUMBER}, needs=("value",)),
    "inertia": Kind(dict.fromkeys(_MOMENTS, NUMBER), needs=_MOMENTS),
    "parent": Kind({"link": TEXT}, needs=("link",)),
    "child": Kind({"link": TEXT}, needs=("link",)),
    "axis": Kind({"xyz": VECTOR}, needs=("xyz",)),
    "limit": Kind(
        {"lower": NUMBER, "upper": NUMBER, "effort": NUMBER, "velocity": NUMBER},
        ignored=("acceleration", "deceleration", "jerk"),
    ),
    "dynamics": Kind({"damping": NUMBER, "friction": NUMBER}),
    "mimic": Kind({"joint": TEXT, "multiplier": NUMBER, "offset": NUMBER}, needs=("joint",)),
}  # fmt: skip


@dataclass
class Element:
    """An element, the line where it begins, its attributes as texts, and the elements in it that are read."""

    tag: str
    line: int
    owner: str
    texts: dict[str, str]
    children: list[Element] = field(default_factory=list)
    values: Entries = field(default_factory=dict)

    def all(self, tag: str) -> list[Element]:
        """Elements in this one that have a tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """Element in this one that has a tag, or None."""
        return next(iter(self.all(tag)), None)

    def get(self, tag: str, key: str, default: object = None) -> Any:
        """Attribute `key` of the element in this one that has a tag, or `default`."""
        child = self.one(tag)
        return default if child is None else child.values.get(key, default)

    @property
    def aside(self) -> str:
        """Place of the element for messages, such as ` (joint `j1`, line 12)`."""
        return f" ({self.owner}, line {self.line})" if self.owner else f" (line {self.line})"


def read_urdf(raw: bytes | str, source: str) -> Element:
    """The robot element of a URDF file.

    Parameters
    ----------
    raw : bytes or str
        The file; bytes are read in the encoding that they declare.
    source : str
        Its name.

    Raises
    ------
    ModelError
        With all faults and their lines.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ModelError(f"{source}: line {error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have, or not as one byte per letter
        raise ModelError(f"{source}: line {reader.line}: not valid XML: {error}") from None
    except ModelError as error:
        raise ModelError(f"{source}: line {reader.line}: {error}") from None
    faults, unread = reader.faults, reader.unread
    if reader.root is not None and reader.root.tag == "robot":
        _check(reader.root, faults, unread)
    if faults:
        raise ModelError(listed(faults, source))
    if unread:
        told = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in unread.items())
        warn_user(f"{source}: not read, since it is no part of URDF: {told}")
    assert reader.root is not None  # expat refuses a file without an element
    return reader.root


def all_elements(raw: bytes | str, source: str) -> ElementTree.Element:
    """The whole tree of a URDF file that `read_urdf` accepts, with what that leaves out."""
    from xml.etree import ElementTree

    try:
        return ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:  # a prefix that nobody declared; `read_urdf` takes prefixes as letters
        raise ModelError(f"{source}: not valid XML: {error}; declare the prefix by xmlns, or remove it") from None


class _Reader:
    """Build elements as expat meets them; elements that are not read or unknown are skipped with all in them."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.root: Element | None = None
        self.faults: list[str] = []
        self.unread = Counter[str]()
        self._open: list[Element] = []
        self._skipped = self._count = 0

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def _doctype(self, *_: object) -> None:
        raise ModelError("XML entities are not supported in a URDF file")

    def _start(self, tag: str, texts: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise ModelError(f"more than {MOST_ELEMENTS} elements, which no robot has")
        if self._skipped or not self._known(tag):
            self._skipped += 1
            return
        above = self._open[-1] if self._open else None
        named = f"{tag} `{short_key(texts.get('name', ''))}`" if tag in ("link", "joint") else ""
        element = Element(tag, self.line, named or (above.owner if above else ""), texts)
        if above is None:
            self.root = element
        else:
            above.children.append(element)
        self._open.append(element)

    def _known(self, tag: str) -> bool:
        if tag.startswith("xacro:"):
            raise ModelError(
                f"`{short_key(tag)}`: macros of xacro are not read; expand them first: xacro arm.xacro > arm.urdf"
            )
        if not self._open:
            if tag != "robot":
                self.faults.append(f"got element `{short_key(tag)}` (line {self.line}), expected `robot`")
            return tag == "robot"
        above = self._open[-1]
        kind = KINDS[above.tag]
        if tag in kind.once or tag in kind.many:
            return True
        if tag not in kind.passes and ":" not in tag:
            known = (*kind.once, *kind.many, *kind.passes)
            if near(tag, known) is None:
                self.unread[f"element `{short_key(tag)}` in {above.tag}"] += 1
                return False
            here = Element(tag, self.line, above.owner, {})
            self.faults.append(f"unknown element `{short_key(tag)}` in {above.tag}{here.aside}{suggestion(tag, known)}")
        return False

    def _end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
        else:
            self._open.pop()

    def _text(self, text: str) -> None:
        if not self._skipped and self._open and text.strip():
            here = Element("", self.line, self._open[-1].owner, {})
            self.faults.append(f"text in {self._open[-1].tag}{here.aside}: got {short(text.strip())}, expected none")


def _check(element: Element, faults: list[str], unread: Counter[str]) -> None:
    """Read the attributes of an element and of all in it; `faults` collects what is wrong, `unread` what is unknown."""
    stack = [element]
    while stack:
        e = stack.pop()
        kind = KINDS[e.tag]
        _read_attributes(e, kind, faults, unread)
        tags = [child.tag for child in e.children]
        for tag in kind.once:
            if tags.count(tag) > 1:
                faults.append(f"element `{tag}` stands twice in {e.tag}{e.all(tag)[1].aside}")
        for name in kind.needs:
            if name in kind.once and name not in tags:
                faults.append(f"missing element `{name}` in {e.tag}{e.aside}")
        stack += reversed(e.children)
    for tag in ("link", "joint"):
        _refuse_twins(element.all(tag), faults)


def _read_attributes(e: Element, kind: Kind, faults: list[str], unread: Counter[str]) -> None:
    for key, text in e.texts.items():
        if key in kind.attributes:
            _read_attribute(e, key, text, kind.attributes[key], faults)
        elif key not in kind.ignored and ":" not in key and key != "xmlns":
            known = (*kind.attributes, *kind.ignored)
            if near(key, known) is None:
                unread[f"`{short_key(key)}` of {e.tag}"] += 1
            else:
                faults.append(f"unknown attribute `{short_key(key)}` in {e.tag}{e.aside}{suggestion(key, known)}")
    meant = "".join(faults)
    for name in kind.needs:
        if (
            name in kind.attributes
            and name not in e.texts
            and f"in {e.tag}{e.aside}, did you mean `{name}`?" not in meant
        ):
            faults.append(f"missing attribute `{name}` in {e.tag}{e.aside}")


def _read_attribute(e: Element, key: str, text: str, what: str, faults: list[str]) -> None:
    where = f"{e.tag}.{key}{e.aside}"
    if "${" in text or "$(" in text:
        faults.append(f"{where}: got {short(text)}, which xacro expands; run xacro first: xacro arm.xacro > arm.urdf")
        return
    if what == TEXT:
        e.values[key] = text
        if not text.strip():
            faults.append(f"{where}: got {short(text)}, expected a name")
        elif (e.tag, key) == ("joint", "type") and text not in JOINT_TYPES:
            near = suggestion(text, JOINT_TYPES)
            faults.append(
                f"{where}: got {short(text)}, expected one of {', '.join(JOINT_TYPES)}{near if '?' in near else ''}"
            )
        return
    numbers = numbers_of(text, 1 if what == NUMBER else 3)
    if numbers is None:
        faults.append(f"{where}: got {short(text)}, expected {what}")
        return
    e.values[key] = numbers[0] if what == NUMBER else numbers
    if (e.tag, key) == ("mass", "value") and numbers[0] < 0.0:
        faults.append(f"{where}: got {numbers[0]}, expected a number of 0 or more")


def numbers_of(text: str, count: int) -> tuple[float, ...] | None:
    """Read `count` finite numbers; None if the text is something else."""
    words = text.split()
    numbers = tuple(float(word) for word in words if _NUMBER.fullmatch(word))
    sound = len(words) == count == len(numbers) and all(map(math.isfinite, numbers))
    return numbers if sound else None


def _refuse_twins(elements: list[Element], faults: list[str]) -> None:
    first: dict[str, Element] = {}
    for e in elements:
        before = first.setdefault(e.texts.get("name", ""), e)
        if before is not e and "name" in e.texts:
            faults.append(f"{e.owner} stands twice, in lines {before.line} and {e.line}")
