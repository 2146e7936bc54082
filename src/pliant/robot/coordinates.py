"""Layout of the vectors of an arm: names and places of its coordinates and speeds, inputs, and quaternions.

`Coordinates` is the base class of whatever knows this layout. A subclass supplies the names, the freedoms of the joints
(`all_shafts`), the joints with quaternions (`balls`), the rows that close loops (`closing`), the couplings and facts
about the links (`link_facts`); all else follows from these. There are two subclasses: the chain of links in
`mechanics`, with its equations, and `Layout`, plain data that is kept in a file, for reading states and naming columns
without equations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError, UnsupportedModel
from pliant.robot.stations import LinkFact

MEGA = 1e6

# ---------------------------------------------------------------------------------------- parts that coordinates name


class MotorPlace(Protocol):
    """Motor of an elastic drive: number of its speed and place of its coordinate."""

    @property
    def index(self) -> int:
        """Number of its speed."""

    @property
    def place(self) -> int:
        """Place of its coordinate."""


class StatePart(Protocol):
    """Part of an arm that may have states in a run: a freedom of a joint, or a coupling."""

    @property
    def name(self) -> str:
        """Name of the freedom or of the coupling."""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states that it has in a run, of friction, gear and motor, say."""


class DrivenFreedom(StatePart, Protocol):
    """One freedom of a joint that a torque may drive: number of its speed, place of its coordinate, and its motor."""

    @property
    def index(self) -> int:
        """Number of its speed."""

    @property
    def place(self) -> int | None:
        """Place of its coordinate; an axis of a spherical joint has none."""

    @property
    def turns(self) -> bool:
        """Whether it is an angle."""

    @property
    def actuated(self) -> int:
        """Number of the speed that its torque acts on: of its motor, or its own."""

    @property
    def drive(self) -> MotorPlace | None:
        """Motor of its elastic drive, if it has one."""

    @property
    def passive(self) -> bool:
        """Whether no torque drives it."""


class CoupledFrames(StatePart, Protocol):
    """Coupling between two frames."""

    @property
    def commanded(self) -> bool:
        """Whether it is an input of runs."""


S = TypeVar("S", bound=DrivenFreedom)


class BallJoint(NamedTuple):
    """A joint with a quaternion, "spherical" or "free": places of its coordinates, numbers of its speeds."""

    owner: str
    kind: str
    places: tuple[int, ...]
    indices: tuple[int, ...]


# ------------------------------------------------------------------------------------------------------- coordinates


class Coordinates(Generic[S]):
    """Facts that follow from the names and places of coordinates and speeds."""

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]

    @property
    def all_shafts(self) -> Sequence[S]:
        """Freedoms of joints with a torque or with friction, in their order; some may be passive."""
        raise NotImplementedError

    @property
    def balls(self) -> tuple[BallJoint, ...]:
        """Joints with quaternions."""
        raise NotImplementedError

    @property
    def closing(self) -> Sequence[str]:
        """Names of the rows that close loops."""
        raise NotImplementedError

    @property
    def couplings(self) -> Sequence[CoupledFrames]:
        """Couplings between two frames."""
        raise NotImplementedError

    @property
    def link_facts(self) -> Sequence[LinkFact]:
        """The links as plain data, from the base outwards."""
        raise NotImplementedError

    def rest(self) -> Array:
        """(n_q,) coordinates of the undeformed arm: zero, but for sliding beams, which have no zero length, and
        quaternions."""
        raise NotImplementedError

    def travels(self) -> dict[int, tuple[float, float]]:
        """Travel of each coordinate that is a free length."""
        raise NotImplementedError

    # sizes

    @property
    def n(self) -> int:
        """Number of generalized speeds, and of freedoms."""
        return len(self.speeds)

    @property
    def n_q(self) -> int:
        """Number of generalized coordinates: a quaternion has one more than the rotation has freedoms."""
        return len(self.coordinates)

    @property
    def n_joints(self) -> int:
        """Number of torques."""
        return len(self.shafts)

    @property
    def n_inputs(self) -> int:
        """Number of inputs of a run."""
        return len(self.inputs)

    # inputs and states of runs

    @cached_property
    def shafts(self) -> tuple[S, ...]:
        """Freedoms of joints that torques drive, in their order."""
        return tuple(shaft for shaft in self.all_shafts if not shaft.passive)

    @property
    def joint_speeds(self) -> list[int]:
        """Numbers of the speeds of all joints, also of those that slide along a beam; those of motors are none."""
        balls = (index for ball in self.balls for index in ball.indices)
        return sorted({*(shaft.index for shaft in self.all_shafts), *balls})

    @property
    def driven(self) -> list[S]:
        """Shafts behind elastic drives."""
        return [shaft for shaft in self.shafts if shaft.drive is not None]

    @property
    def commanded(self) -> Sequence[CoupledFrames]:
        """Couplings that have inputs."""
        return [coupling for coupling in self.couplings if coupling.commanded]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of a run: torques of joints, then commands of couplings."""
        return (*(shaft.name for shaft in self.shafts), *(coupling.name for coupling in self.commanded))

    @property
    def state_parts(self) -> list[StatePart]:
        """Parts that may have states in a run, in their order: freedoms of joints, then couplings."""
        return [*self.all_shafts, *self.couplings]

    @property
    def drive_states(self) -> list[str]:
        """Names of the states that friction, gears, motors and couplings have in a run, in their order."""
        return [f"{part.name}.{state}" for part in self.state_parts for state in part.states]

    @property
    def drive_units(self) -> list[float]:
        """Unit of each of these states in SI units: pressures are counted in megapascals, near to the size of other
        states, so that one tolerance fits all."""
        return [MEGA if name.rpartition(".")[2].startswith("pressure_") else 1.0 for name in self.drive_states]

    # quaternions, places of joints, motors behind their joints

    @property
    def plain(self) -> bool:
        """Whether the speeds are the rates of the coordinates: no joint has a quaternion."""
        return not self.balls

    @property
    def quaternions(self) -> list[int]:
        """Places at which quaternions begin."""
        return [ball.places[-4] for ball in self.balls]

    def shaft_places(self) -> list[int]:
        """Places of the positions of the joints, in the order of the torques; refuses spherical joints."""
        for shaft in self.shafts:
            if shaft.place is None:
                raise ModelError(
                    f"joints: {shaft.name} is a speed without a position, since its joint has a quaternion; give "
                    "states by name or as a whole, and torques as a function of the state"
                )
        return [shaft.place for shaft in self.shafts if shaft.place is not None]

    def followed(self, q: np.ndarray, given: Collection[int] = ()) -> np.ndarray:
        """Put the motors of elastic drives where their joints are, in states (..., n_q) and in place; leave those at
        the places `given`."""
        for shaft in self.shafts:
            if shaft.drive is not None and shaft.drive.place not in given:
                q[..., shaft.drive.place] = q[..., shaft.place]
        return q

    def following(self, speeds: np.ndarray, given: Collection[int] = ()) -> np.ndarray:
        """Make the motors of elastic drives as fast as their joints, in speeds (..., n) and in place; leave those of
        the numbers `given`."""
        for shaft in self.shafts:
            if shaft.drive is not None and shaft.drive.index not in given:
                speeds[..., shaft.drive.index] = speeds[..., shaft.index]
        return speeds

    # checks: `what` is the function that does not support the arm

    @property
    def is_open(self) -> bool:
        """Whether all joints are actuated, and no loops are closed."""
        return not (self.closing or any(shaft.passive for shaft in self.all_shafts))

    def require_open(self, what: str) -> None:
        """Raise `UnsupportedModel` where there are loops or passive joints."""
        self.require_tree(what)
        passive = [shaft.name for shaft in self.all_shafts if shaft.passive]
        if passive:
            raise UnsupportedModel(f"{what}: not built yet for passive joints, and this arm has {', '.join(passive)}")

    def require_tree(self, what: str) -> None:
        """Raise `UnsupportedModel` where there are loops."""
        loops = dict.fromkeys(name.partition(".")[0] for name in self.closing)
        if loops:
            raise UnsupportedModel(f"{what}: not built yet for closed loops, and this arm has {', '.join(loops)}")

    def require_uncoupled(self, what: str) -> None:
        """Raise `UnsupportedModel` where there are couplings."""
        if self.couplings:
            names = ", ".join(coupling.name for coupling in self.couplings)
            raise UnsupportedModel(f"{what}: not built yet for couplings, and this arm has {names}")

    def require_plain(self, what: str) -> None:
        """Raise `UnsupportedModel` where a joint has a quaternion."""
        for ball in self.balls:
            raise UnsupportedModel(
                f"{what} takes arms whose speeds are the rates of their coordinates, and {ball.owner!r} has "
                "a quaternion; let the base stand (`base: {type: fixed}`), and use universal or revolute joints"
            )

    def check_travel(self, q: ArrayLike) -> None:
        """Raise `ModelError` where a free length in `q` (..., n_q) has left its travel."""
        state = np.asarray(q, dtype=float)
        for index, (low, high) in self.travels().items():
            l = state[..., index]
            outside = ~((l >= low) & (l <= high))
            if outside.any():
                raise ModelError(
                    f"{self.coordinates[index]}: free length {np.ravel(l)[np.ravel(outside)][0]:g} m is outside its "
                    f"travel {low:g} to {high:g} m; stop the motion before the end, or give the beam a longer "
                    "total_length"
                )


# -------------------------------------------------------------------------------------------------------- plain data


@dataclass(frozen=True)
class MotorFact:
    """A motor as plain data."""

    index: int
    place: int


@dataclass(frozen=True)
class ShaftFact:
    """A freedom that a torque may drive, as plain data."""

    name: str
    index: int
    place: int | None
    turns: bool
    states: tuple[str, ...]
    drive: MotorFact | None
    passive: bool = False

    @property
    def actuated(self) -> int:
        """Number of the speed that its torque acts on: of its motor, or its own."""
        return self.index if self.drive is None else self.drive.index


@dataclass(frozen=True)
class CouplingFact:
    """A coupling as plain data."""

    name: str
    commanded: bool
    states: tuple[str, ...]


@dataclass(frozen=True)
class Layout(Coordinates[ShaftFact]):
    """The coordinates of an arm as plain data. Where it has loops: `rows` that close them, by name, those `dropped`
    that follow from these, and the `mobility`, the number of freedoms that its joints are left with."""

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    torques: tuple[ShaftFact, ...]
    turning: tuple[BallJoint, ...]
    undeformed: tuple[float, ...]
    lengths: tuple[tuple[int, float, float], ...]
    first: int
    links: tuple[LinkFact, ...]
    rows: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    mobility: int = 0
    lines: tuple[CouplingFact, ...] = ()

    @classmethod
    def of(cls, arm: Coordinates[S], first: int) -> Layout:
        """Layout of a chain; `first` is the number of its first link, 1 where the base is free."""
        return cls(
            coordinates=arm.coordinates,
            speeds=arm.speeds,
            torques=tuple(_shaft_fact(shaft) for shaft in arm.all_shafts),
            turning=arm.balls,
            undeformed=tuple(arm.rest().tolist()),
            lengths=tuple((place, *travel) for place, travel in arm.travels().items()),
            first=first,
            links=tuple(arm.link_facts),
            lines=tuple(CouplingFact(one.name, one.commanded, one.states) for one in arm.couplings),
        )

    def facts(self) -> dict[str, Any]:
        """Plain data for a file."""
        return asdict(self)

    @classmethod
    def from_facts(cls, kept: Mapping[str, Any]) -> Layout:
        """Layout from the plain data in a file, in which tuples have become lists."""
        return cls(
            coordinates=tuple(kept["coordinates"]),
            speeds=tuple(kept["speeds"]),
            torques=tuple(_read_shaft(shaft) for shaft in kept["torques"]),
            turning=tuple(BallJoint(owner, kind, tuple(q), tuple(v)) for owner, kind, q, v in kept["turning"]),
            undeformed=tuple(kept["undeformed"]),
            lengths=tuple((place, low, high) for place, low, high in kept["lengths"]),
            first=kept["first"],
            links=tuple(map(LinkFact.from_facts, kept["links"])),
            rows=tuple(kept["rows"]),
            dropped=tuple(kept["dropped"]),
            mobility=kept["mobility"],
            lines=tuple(CouplingFact(**one | {"states": tuple(one["states"])}) for one in kept["lines"]),
        )

    @property
    def all_shafts(self) -> tuple[ShaftFact, ...]:
        """Freedoms of joints with a torque or with friction, in their order; some may be passive."""
        return self.torques

    @property
    def balls(self) -> tuple[BallJoint, ...]:
        """Joints with quaternions."""
        return self.turning

    @property
    def closing(self) -> tuple[str, ...]:
        """Names of the rows that close loops."""
        return self.rows

    @property
    def couplings(self) -> tuple[CouplingFact, ...]:
        """Couplings between two frames."""
        return self.lines

    @property
    def link_facts(self) -> tuple[LinkFact, ...]:
        """The links as plain data, from the base outwards."""
        return self.links

    @property
    def base_speeds(self) -> list[int]:
        """Numbers of the speeds of a free base; none of one that stands."""
        return list(self.turning[0].indices) if self.first else []

    def rest(self) -> Array:
        """(n_q,) coordinates of the undeformed arm."""
        return np.array(self.undeformed)

    def travels(self) -> dict[int, tuple[float, float]]:
        """Travel of each coordinate that is a free length."""
        return {place: (low, high) for place, low, high in self.lengths}


def _shaft_fact(shaft: DrivenFreedom) -> ShaftFact:
    motor = None if shaft.drive is None else MotorFact(shaft.drive.index, shaft.drive.place)
    return ShaftFact(
        name=shaft.name,
        index=shaft.index,
        place=shaft.place,
        turns=shaft.turns,
        states=shaft.states,
        drive=motor,
        passive=shaft.passive,
    )


def _read_shaft(kept: Mapping[str, Any]) -> ShaftFact:
    motor = None if kept["drive"] is None else MotorFact(**kept["drive"])
    return ShaftFact(**{**kept, "drive": motor, "states": tuple(kept["states"])})
