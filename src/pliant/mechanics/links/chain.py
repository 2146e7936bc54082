"""A tree of links, each a joint (a rigid transform with coordinates) and a body (a map of its own coordinates).

A chain, each link on the tip of the one before, is the plain case and gave the class its name. Coordinates, and
speeds, stand in the order base where it is free, joints, motors, then each link's amplitudes. Formulations walk over
`chain.links`, in which a link stands behind the one that carries it, and read joint and body. They know no robot file:
`build_chain` makes the chain of it. Springs, dampers, friction and drives, which have no inertia, are the same for
every formulation, in `generalized_forces`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar

import casadi as ca
import numpy as np

from pliant.algebra.recursion_steps import OFTEN, Called, Key, StepFunction, Taken, content_of
from pliant.algebra.rotations import SX, Identity, Rotation
from pliant.errors import ModelError
from pliant.mechanics.actuation.gear_springs import GearSpring
from pliant.mechanics.actuation.motor_laws import MotorMap
from pliant.mechanics.actuation.shaft_laws import Placed
from pliant.mechanics.constraints.contact_law import Core, Pressing, StopMap
from pliant.mechanics.constraints.coupling_laws import LineDrive, LineLaw
from pliant.mechanics.links.attachments import Place, place_map
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.maps.linear_body import in_numbers
from pliant.mechanics.links.maps.link_maps import Body, Moments, TipMap
from pliant.options import LoopJointType, RotationName
from pliant.robot.coordinates import BallJoint, Coordinates
from pliant.robot.pieces import BeamPiece
from pliant.robot.stations import LinkFact

T = TypeVar("T")
Step = Callable[..., Any]
"""`step(name, function, *given)` of a joint or of a body."""
MANY_LINKS, MANY_COORDINATES = 20, 100
"""Links, or coordinates, from which on an arm is tried with functions that its links share."""
FEW_AMPLITUDES = 8
"""Amplitudes of a link up to which its numbers, in small matrices, are always arguments of shared functions."""


@dataclass(frozen=True)
class DriveMap:
    """Elastic drive: number of the motor's speed and place of its coordinate, reflected rotor inertia J_r N^2, spring
    and damper to the joint."""

    index: int
    place: int
    rotor: SX
    spring: GearSpring
    damping: SX

    @property
    def stiffness(self) -> SX:
        """Stiffness of the spring, where its teeth touch."""
        return self.spring.stiffness


@dataclass(frozen=True)
class Shaft:
    """Actuation of one freedom, an axis of a joint or the length of a sliding beam: drive, motor, friction and stops.

    `index` is the number of its speed, `place` that of its coordinate; an axis of a spherical joint has a speed alone.
    `rotor` is the reflected rotor inertia of a stiff drive. `laws` are friction and hysteresis; those with a state in a
    run are smooth where no states are given. `motor` makes a torque of a command in a run. `loss` is the part of the
    torque that a moving gear loses, `reversal` the rate over which the loss turns sign. `stops` act at its limits.
    """

    name: str
    index: int
    place: int | None
    turns: bool
    rotor: SX = 0.0
    laws: tuple[Placed, ...] = ()
    drive: DriveMap | None = None
    motor: MotorMap | None = None
    loss: SX = 0.0
    reversal: SX = 1.0
    passive: bool = False
    stops: tuple[StopMap, ...] = ()

    @property
    def actuated(self) -> int:
        """The speed that its torque acts on: of its motor, or its own."""
        return self.index if self.drive is None else self.drive.index

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states that it has in a run: of laws, then of its motor."""
        laws = [state for placed in self.laws for state in placed.states]
        return (*laws, *(() if self.motor is None else self.motor.states))


@dataclass(frozen=True)
class ChainLink:
    """One link: `joint_indices` and `body_indices` number its speeds, `joint_places` and `body_places` its coordinates,
    which differ where joints have quaternions. Those of the joint are empty for a fixed joint, and for a sliding beam
    whose length is a coordinate of the body.

    It hangs at place `port` of link number `parent`: 0 is the tip, others are `places` of that link; the base has no
    number. It is a `piece` of a link of the robot, most often the whole. `root` is the frame behind the joint, with the
    axes of the description. `hub` is fixed to the link frame, `load` to the distal frame. `interfaces` are
    further frames that its body has by name.
    """

    name: str
    joint: JointMap
    body: Body
    hub: Moments | None
    load: Moments | None
    joint_indices: tuple[int, ...]
    body_indices: tuple[int, ...]
    joint_places: tuple[int, ...]
    body_places: tuple[int, ...]
    shafts: tuple[Shaft, ...] = ()
    parent: int | None = None
    port: int = 0
    places: tuple[Place, ...] = ()
    root: Place = field(default_factory=lambda: Place(None))
    piece: BeamPiece = field(default_factory=lambda: BeamPiece(""))
    interfaces: Mapping[str, Place] = field(default_factory=dict)

    @property
    def flexible(self) -> bool:
        """Whether the body has coordinates of its own."""
        return bool(self.body_indices)

    @property
    def slides(self) -> bool:
        """Whether the joint and the beam are one: the first coordinate of the body is the free length."""
        return self.body.travel is not None

    @property
    def length(self) -> SX:
        """Length of a link that does not slide: a number, or an expression of the parameters."""
        return self.body.length(ca.SX.zeros(len(self.body_indices)))

    @cached_property
    def fact(self) -> LinkFact:
        """The link as plain data."""
        length, shapes = ca.SX(1, 1) if self.slides else ca.SX(self.length), self.body.shapes
        return LinkFact(
            name=self.name,
            piece=self.piece,
            parent=self.parent,
            port=self.port,
            ports=1 + len(self.places),
            kind=self.joint.kind,
            axes=self.joint.axes,
            joint_places=self.joint_places,
            body_places=self.body_places,
            fields=None if shapes is None else tuple(shapes.fields),
            length=float(length) if length.is_constant() and not self.slides else None,
            slides=self.slides,
            has_sections=self.body.data is not None,
        )

    def ports(self, c: SX, cd: SX) -> list[TipMap]:
        """Places at which other links hang, the distal frame first."""
        return [self.body.tip(c, cd), *(place_map(self.body, place, c, cd) for place in self.places)]

    def straight(self, c: SX) -> SX:
        """Body coordinates of the undeformed link: a sliding beam keeps its free length."""
        rest = ca.SX.zeros(c.shape)
        if self.slides:
            rest[0] = c[0]
        return rest


def _still() -> SX:
    return ca.SX.zeros(3)


@dataclass(frozen=True)
class BaseMotion:
    """Motion of the base, in its own axes: angular velocity and acceleration, and acceleration of its origin."""

    omega: SX = field(default_factory=_still)
    alpha: SX = field(default_factory=_still)
    a: SX = field(default_factory=_still)

    @property
    def at_rest(self) -> bool:
        """Whether the base stands still."""
        return all(x.is_zero() for x in (self.omega, self.alpha, self.a))


class MovingBase(Protocol):
    """Motion of the base, such as `pliant.loads.Base`."""

    def expression(self, t: SX, gravity: SX) -> BaseMotion:
        """Motion at a time; `gravity` in axes that stand still."""


@dataclass(frozen=True)
class FrameMap:
    """A named frame: a place on a link, the tip where that is None, and a fixed pose from there. Without a link it
    stands still."""

    link: int | None
    place: Place | None
    rotation: Rotation = field(default_factory=Identity)
    origin: SX = field(default_factory=_still)


@dataclass(frozen=True)
class Closure:
    """A closed loop: two frames and the joint that holds them together, with its axis in each of them, or its
    length."""

    name: str
    kind: LoopJointType
    frames: tuple[FrameMap, FrameMap]
    axes: tuple[tuple[float, float, float], tuple[float, float, float]]
    length: SX | None = None


@dataclass(frozen=True)
class LineMap:
    """A coupling: two frames, the laws that act along the line between them, and the drive that is commanded there.
    `grounded` where one of them stands still whatever the base does."""

    name: str
    frames: tuple[FrameMap, FrameMap]
    laws: tuple[LineLaw, ...]
    drive: LineDrive | None = None
    grounded: bool = False

    @property
    def commanded(self) -> bool:
        """Whether it has an input."""
        return self.drive is not None

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states that it has in a run."""
        return () if self.drive is None else self.drive.states

    def own(self, states: Mapping[tuple[str, str], SX]) -> list[SX]:
        """Its states among those of all."""
        return [states[self.name, state] for state in self.states]


@dataclass(frozen=True)
class ContactMap:
    """A sphere about the first frame that may touch a surface on the second. `grounded` as in `LineMap`."""

    name: str
    frames: tuple[FrameMap, FrameMap]
    radius: SX
    core: Core
    law: Pressing
    friction: SX
    stick_speed: SX
    grounded: bool = False


@dataclass(frozen=True)
class Damper:
    """Damping across the pieces of a link: the forces against the speeds of its amplitudes are `matrix` times these."""

    indices: tuple[int, ...]
    matrix: SX


@dataclass(frozen=True)
class Chain(Coordinates[Shaft]):
    """The arm as maps: the argument of every formulation. `first` is the number of the first link: 1 where the base is
    free, and so the body before it. `kept` are the rows of the closures that do not follow from others."""

    links: tuple[ChainLink, ...]
    gravity: SX
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    rotation: RotationName
    stiffening: bool | str
    frames: Mapping[str, FrameMap] = field(default_factory=dict)
    first: int = 0
    base: BaseMotion = field(default_factory=BaseMotion)
    dampers: tuple[Damper, ...] = ()
    steps: Called | None = None
    closures: tuple[Closure, ...] = ()
    kept: tuple[str, ...] = ()
    lines: tuple[LineMap, ...] = ()
    contacts: tuple[ContactMap, ...] = ()

    @property
    def closing(self) -> tuple[str, ...]:
        """Names of the rows that close loops."""
        return self.kept

    def joint_step(self, name: str, function: Callable[..., T], link: ChainLink, *given: object) -> T:
        """`function(joint, *given)` of a step of a recursion, which joints with the same axes may share."""
        if self.steps is None:
            return function(link.joint, *given)
        joint, _ = self._kinds[id(link)]
        return self.steps((name, joint.form), partial(_step, function, joint.put), joint.numbers, *given)

    def body_step(self, name: str, function: Callable[..., T], link: ChainLink, *given: object) -> T:
        """`function(link, *given)` of a step that knows no joint, which links with the same fields may share."""
        if self.steps is None:
            return function(link, *given)
        _, body = self._kinds[id(link)]
        return self.steps((name, body.form), partial(_step, function, body.put), body.numbers, *given)

    def link_step(self, name: str, function: Callable[..., T], link: ChainLink, *given: object) -> T:
        """`function(of_joint, of_body, *given)` of a step of a link, in terms of steps of its joint and of its body:
        two functions, so that bodies may share theirs whatever joint they hang on, but one where the body is rigid and
        there is little in it."""
        if self.steps is None or link.body_indices:
            of_joint, of_body = (
                lambda name, step, *given, take=take: take(name, step, link, *given)
                for take in (self.joint_step, self.body_step)
            )
            return function(of_joint, of_body, *given)
        joint, body = self._kinds[id(link)]

        def both(own: tuple[object, ...], others: tuple[object, ...], *rest: object) -> T:
            made = joint.put(*own), body.put(*others)
            return function(*(lambda name, step, *given, of=of: step(of, *given) for of in made), *rest)

        return self.steps((name, joint.form, body.form), both, joint.numbers, body.numbers, *given)

    @cached_property
    def _kinds(self) -> dict[int, tuple[LinkKind, LinkKind]]:
        """Kind of the joint and of the body of each link, by the link's identity."""
        large = [link for link in self.links if len(link.body_indices) > FEW_AMPLITUDES]
        contents = {id(link.body): content_of(link.body) for link in large}
        counts, found = Counter(contents.values()), {}
        for link in self.links:
            joint, content = link.joint, contents.get(id(link.body))
            repeated = content is not None and (len(counts) == 1 or counts[content] >= OFTEN)
            whole = repeated or bool(link.places)  # numbers that others have too may stand in what they share
            form, numbers, body = in_numbers(link.body, whole)
            own = Taken((joint.origin_rotation, joint.origin)), Taken((numbers, link.hub, link.load))
            fields = content if repeated else content_of(form), content_of(link.places)
            found[id(link)] = (
                LinkKind((joint.kind, joint.axes), own[0], partial(_joint_of, joint)),
                LinkKind(fields, own[1], partial(_link_of, link, body)),
            )
        return found

    @property
    def long(self) -> bool:
        """Whether functions that its links share may be worth their calls."""
        return len(self.links) >= MANY_LINKS or self.n >= MANY_COORDINATES

    def settled(self, build: Callable[[], T]) -> T:
        """Return what `build` gives, which takes steps of this chain, once the kinds of steps are settled."""
        return build() if self.steps is None else self.steps.settled(build)

    @cached_property
    def traced(self) -> dict[Key, StepFunction]:
        """Steps of its links that were traced, for `Called`."""
        return {}

    @cached_property
    def link_facts(self) -> tuple[LinkFact, ...]:
        """The links as plain data."""
        return tuple(link.fact for link in self.links)

    @cached_property
    def all_shafts(self) -> tuple[Shaft, ...]:
        """Freedoms that torques drive, and passive ones."""
        return tuple(shaft for link in self.links for shaft in link.shafts)

    @property
    def couplings(self) -> tuple[LineMap, ...]:
        """Couplings between two frames."""
        return self.lines

    @property
    def commanded(self) -> tuple[LineMap, ...]:
        """Couplings that have inputs."""
        return tuple(line for line in self.lines if line.commanded)

    @cached_property
    def balls(self) -> tuple[BallJoint, ...]:
        """Joints with quaternions."""
        balls = (link for link in self.links if link.joint.is_ball)
        names = self.coordinates
        return tuple(
            BallJoint(names[x.joint_places[0]].rpartition(".")[0], x.joint.kind, x.joint_places, x.joint_indices)
            for x in balls
        )

    def rates(self, q: SX, speeds: SX) -> SX:
        """(n_q,) rates of the coordinates, G(q) speeds."""
        if self.plain:
            return speeds
        out = ca.SX.zeros(self.n_q)
        for link in self.links:
            if link.joint_indices:
                out[list(link.joint_places)] = link.joint.rates(self.joint(link, q), self.joint_rate(link, speeds))
            if link.body_indices:
                out[list(link.body_places)] = self.body_rate(link, speeds)
            for shaft in link.shafts:
                if shaft.drive is not None:
                    out[shaft.drive.place] = speeds[shaft.actuated]
        return out

    def jacobian(self, value: SX, q: SX) -> SX:
        """Derivatives of an expression of the coordinates `q`, symbols, by displacements along the speeds (columns)."""
        by_q = ca.jacobian(value, q)
        if self.plain:
            return by_q
        speeds = ca.SX.sym("speeds", self.n)
        return ca.mtimes(by_q, ca.jacobian(self.rates(q, speeds), speeds))

    def turning(self, speeds: SX) -> SX:
        """(n, n) matrix A of d/dt displacement = change of speeds + A displacement: axes that turn carry displacements
        along."""
        A = ca.SX(self.n, self.n)
        for link in self.links:
            if link.joint.is_ball:
                w, v = list(link.joint_indices[:3]), list(link.joint_indices[3:])
                spin = -ca.skew(speeds[w])
                A[w, w] = spin
                if v:
                    A[v, v], A[v, w] = spin, -ca.skew(speeds[v])
        return A

    def gradient(self, value: SX, q: SX) -> SX:
        """(n,) derivatives of an expression of the coordinates `q`, symbols, by displacements along the speeds."""
        return self.along_speeds(ca.gradient(value, q), q)

    def along_speeds(self, by_q: SX, q: SX) -> SX:
        """(n,) derivatives by displacements along the speeds from those by the coordinates `q`."""
        if self.plain:
            return by_q
        speeds = ca.SX.sym("speeds", self.n)
        return ca.jtimes(self.rates(q, speeds), speeds, by_q, True)

    def rest(self) -> np.ndarray:
        """(n_q,) coordinates of the undeformed arm: zero, but for sliding beams, which have no zero length, and
        quaternions."""
        q = np.zeros(self.n_q)
        for link in self.links:
            q[list(link.body_places)] = link.body.rest
        q[self.quaternions] = 1.0
        return self.followed(q)

    def travels(self) -> dict[int, tuple[float, float]]:
        """Travel of each coordinate that is a free length."""
        found = ((link.body_places, link.body.travel) for link in self.links)
        return {indices[0]: travel for indices, travel in found if travel is not None}

    def on(self, base: MovingBase | None, t: SX) -> Chain:
        """The arm on a base that moves as `base` of `pliant.loads` says; the same arm without one."""
        if base is None:
            return self
        if not hasattr(base, "expression"):
            raise ModelError(f"base: got {type(base).__name__}, expected pliant.loads.Base(...) or BasePath(...)")
        parts: list[LineMap | ContactMap] = [*self.lines, *self.contacts]
        for line in parts:
            if line.grounded:
                raise ModelError(f"base: got a motion, but {line.name} is held by the world; hold it by the base")
        if self.first:
            raise ModelError("base: got a motion, but the base of this arm is free and moves by itself; leave it out")
        return replace(self, base=base.expression(t, self.gravity))

    def joint(self, link: ChainLink, q: SX) -> SX:
        """The joint coordinates of a link in `q`."""
        return q[list(link.joint_places)] if link.joint_places else ca.SX(0, 1)

    def joint_rate(self, link: ChainLink, speeds: SX) -> SX:
        """The speeds of the joint of a link, or their rates."""
        return speeds[list(link.joint_indices)] if link.joint_indices else ca.SX(0, 1)

    def body(self, link: ChainLink, q: SX) -> SX:
        """The body coordinates of a link in `q`."""
        return q[list(link.body_places)] if link.body_places else ca.SX(0, 1)

    def body_rate(self, link: ChainLink, speeds: SX) -> SX:
        """The rates of the body coordinates of a link, or their rates."""
        return speeds[list(link.body_indices)] if link.body_indices else ca.SX(0, 1)

    def actuation(self) -> SX:
        """(n, n_joints) matrix S of `M qdd + bias = S tau`: a drive's torque acts on its motor, else on its joint."""
        S = ca.SX(self.n, self.n_joints)
        for column, shaft in enumerate(self.shafts):
            S[shaft.actuated, column] = 1
        return S


@dataclass(frozen=True)
class LinkKind:
    """Kind of a joint, or of a link without it: the form that it shares with others, its own numbers, and the function
    that makes it of numbers."""

    form: Hashable
    numbers: Taken
    put: Callable[..., object]


def _step(function: Callable[..., T], put: Callable[..., object], numbers: tuple[object, ...], *given: object) -> T:
    return function(put(*numbers), *given)


def _joint_of(joint: JointMap, rotation: Rotation, origin: SX) -> JointMap:
    return replace(joint, origin_rotation=rotation, origin=origin)


def _link_of(
    link: ChainLink, body: Callable[..., Body], own: tuple[object, ...], hub: Moments | None, load: Moments | None
) -> ChainLink:
    return replace(link, body=body(*own), hub=hub, load=load)


class Arrivals(Generic[T]):
    """Inertias, or wrenches (moment, force), that links hand inwards, summed where they hang on the same port."""

    def __init__(self, chain: Chain, nothing: T) -> None:
        self._links, self._nothing = chain.links, nothing
        self._found: list[dict[int, T]] = [{} for _ in chain.links]

    def add(self, i: int, value: T) -> None:
        """Add what link number `i` hands on, in the frame that it hangs on."""
        link = self._links[i]
        if link.parent is not None:
            here = self._found[link.parent]
            here[link.port] = _sum(here[link.port], value) if link.port in here else value

    def at(self, i: int) -> dict[int, T]:
        """Sums at the ports of link number `i`; at its tip there is always one."""
        return {0: self._nothing, **self._found[i]}


def _sum(first: Any, second: Any) -> Any:
    return tuple(x + y for x, y in zip(first, second)) if isinstance(first, tuple) else first + second
