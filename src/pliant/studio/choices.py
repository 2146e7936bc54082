"""Choices of a user of the studio, checks of them, and the arm that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.control.registry import CONTROLLERS
from pliant.errors import ModelError
from pliant.model.automatic_shapes.choices import resolved
from pliant.model.robot import Robot
from pliant.options import StiffeningChoice
from pliant.robot.closed_chains import looped
from pliant.robot.mass_sum import link_mass, payload_mass
from pliant.robot.parameters import plain
from pliant.robot.parts.couplings import Coupling
from pliant.robot.parts.joint import Freedom
from pliant.robot.parts.link import Link

if TYPE_CHECKING:
    from pliant.simulation.runs.results import Result
    from pliant.simulation.scenario.scenario import Scenario

NONE, IDEAL = "none", "ideal joints"
USUAL = "pd"
"""The controller where one is needed."""
MANEUVERS = ("release", "hold", "move", "move, shaped")
STIFFNESSES = (".beam.EI_y", ".beam.EI_z", ".beam.GJ", ".beam.material.E", ".beam.material.G")
DAMPING, PAYLOAD = ".shapes.damping", "payload.mass"
MOVE = np.radians(30)
"""Angle from start to goal of a revolute joint, until the user chooses another."""
Changes = dict[str, Any]
"""Values of `Choices` by name."""


@dataclass(frozen=True)
class Choices:
    """Everything that a user of the page chooses; factors multiply the values of the robot file.

    Positions `start` and `goal` are in radians (meters of a prismatic joint), one for each joint that has a slider.
    `edits` are other values for numbers of the robot, by their paths; factors multiply those. `commands` of couplings
    act during a move.
    """

    robot: Robot
    stiffness: float = 1.0
    drive_stiffness: float = 1.0
    gravity: float = 1.0
    payload: float = 0.0
    damping: float = 0.0
    modes: int = 0
    stiffening: bool = True
    formulation: str = "denoc"
    controller: str = NONE
    maneuver: str = "release"
    start: tuple[float, ...] = ()
    goal: tuple[float, ...] = ()
    commands: tuple[float, ...] = ()
    frequency: float = 1.6
    """Frequency of the closed loop, Hz."""
    move_time: float = 1.0
    duration: float = 5.0
    edits: tuple[tuple[str, float], ...] = ()

    @property
    def level(self) -> StiffeningChoice:
        """Choice of geometric stiffening, as a model takes it."""
        return "auto" if self.stiffening else "off"

    @classmethod
    def of(cls, robot: Robot, **changes: Any) -> Choices:
        """Choices for a robot, with its own payload, damping and number of modes."""
        flexible = [link.shapes for link in robot.links if link.shapes is not None]
        moving = positioned(robot)
        start = tuple(float(link.beam.length) if link.beam and link.beam.slides else 0.0 for link, _ in moving)
        usual: Changes = {
            "payload": float(payload_mass(robot)),
            "damping": max((float(s.damping) for s in flexible), default=0.0),
            "modes": max((int(s.bending_y) for s in flexible if s.method == "modes"), default=0),
            "start": start,
            "goal": tuple(x + MOVE * (free.turns and free.actuated) for x, (_, free) in zip(start, moving)),
            "commands": (0.0,) * len(commanded(robot)),
        }
        return cls(robot, **(usual | changes))

    @classmethod
    def of_scenario(cls, given: Scenario) -> Choices:
        """Choices with the arm, start, equations and duration of a scenario, but without its controller."""
        q, built = given.start()[0], given.built
        return replace(
            cls.of(given.robot),
            start=tuple(float(q[built.index(name)]) for name in placed_names(given.robot)),
            duration=float(given.duration),
            formulation=given.model.formulation,
            stiffening=given.model.stiffening != "off",
        )

    @classmethod
    def of_run(cls, run: Result) -> Choices:
        """Choices with the arm, start, equations and duration of a saved run, but without its controller."""
        values = dict(zip(run.model.parameters, run.parameters.tolist()))
        robot = run.robot.replace(values) if values else run.robot
        return replace(
            cls.of(robot),
            start=tuple(float(run[name][0]) for name in placed_names(robot)),
            duration=float(run.t[-1] - run.t[0]) or cls.duration,
            formulation=str(run.options["formulation"]),
            stiffening=run.options["stiffening"] != "off",
        )


def positioned(robot: Robot) -> list[tuple[Link, Freedom]]:
    """Joints with a slider for their position: all but spherical and free ones, and passive ones that follow from a
    loop."""
    following = looped(robot)
    return [
        (link, free)
        for link in robot.links
        if link.joint.type != "spherical"
        for free in link.joint.freedoms
        if free.actuated or link.name not in following
    ]


def placed_names(robot: Robot) -> list[str]:
    """Names of the coordinates with a slider."""
    return [freedom.name(link.name) for link, freedom in positioned(robot)]


def commanded(robot: Robot) -> list[Coupling]:
    """Couplings that take commands."""
    return [coupling for coupling in robot.couplings if coupling.commanded]


@cache
def controllers() -> tuple[str, ...]:
    """Names of controllers to choose from: none, those with `in_studio`, the usual one first, and ideal joints."""
    offered = [name for name, kind in CONTROLLERS.items() if getattr(kind, "in_studio", False)]
    return (NONE, *sorted(offered, key=lambda name: name != USUAL), IDEAL)


def follows_paths(controller: str) -> bool:
    """Whether a controller follows a path, instead of only settling at a goal."""
    return controller == IDEAL or (controller != NONE and CONTROLLERS[controller].follows_paths)


def check(choices: Choices) -> None:
    """Raise `ModelError` for choices that make no sense."""
    for name in ("stiffness", "drive_stiffness", "frequency", "move_time", "duration"):
        value = getattr(choices, name)
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name.replace('_', ' ')}: got {value!r}, expected a positive number")
    for name in ("payload", "damping"):
        value = getattr(choices, name)
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(f"{name}: got {value!r}, expected zero or a positive number")
    balls = [link.name for link in choices.robot.links if link.joint.type == "spherical"]
    if balls and choices.controller != NONE:
        raise ModelError(f"controller: the spherical joint of {balls[0]} has no position to hold; choose none")
    if choices.controller == NONE and choices.maneuver != "release":
        raise ModelError(f"maneuver {choices.maneuver!r} needs a controller; choose {_either(controllers()[1:])}")
    if choices.maneuver == "move, shaped" and not follows_paths(choices.controller):
        others = _either([name for name in controllers() if follows_paths(name)])
        raise ModelError(
            f"{choices.controller} settles at a goal and follows no path; choose {others} for a shaped move"
        )


def structure(choices: Choices) -> Robot:
    """Robot with the chosen number of modes, which changes its coordinates; numbers in place of `auto`."""
    robot = resolved(choices.robot)[0]
    if not choices.modes:
        return robot
    links = []
    for link in robot.links:
        shapes = link.shapes
        if shapes is not None and shapes.method == "modes":
            wanted = {name: choices.modes for name in ("bending_y", "bending_z") if getattr(shapes, name)}
            link = link.model_copy(update={"shapes": shapes.model_copy(update=wanted)})
        links.append(link)
    return Robot.model_validate({**robot.to_dict(), "links": [plain(link) for link in links]})


def numbers(choices: Choices) -> dict[str, float]:
    """Values of the numbers that sliders and edits set, by path."""
    found: dict[str, float] = {}
    edits = dict(choices.edits)
    paths = choices.robot.paths()
    for path, nominal in paths.items():
        value = edits.get(path, nominal)
        if path.endswith(STIFFNESSES):
            found[path] = value * choices.stiffness
        elif path.endswith(".drive.stiffness"):
            found[path] = value * choices.drive_stiffness
        elif path.endswith(DAMPING):
            found[path] = choices.damping
        elif path.startswith("gravity.") and value:
            found[path] = value * choices.gravity
        elif path in edits:
            found[path] = value
    return found | ({PAYLOAD: choices.payload} if PAYLOAD in paths else {})


def editable(robot: Robot) -> dict[str, float]:
    """Numbers of the robot that may be edited one by one; payload and damping have sliders of their own, and an axis
    keeps its length."""
    return {
        path: value
        for path, value in robot.paths().items()
        if path != PAYLOAD and not path.endswith(DAMPING) and ".joint.axis." not in path
    }


def fitting(wanted: Choices, before: Choices) -> tuple[Choices, str]:
    """Choices whose controller and maneuver go together, and a note on what was changed. The one that was just chosen
    stays, the other follows."""
    needs, held = wanted.maneuver != "release", wanted.controller != NONE
    if needs and not held:
        if wanted.maneuver != before.maneuver:
            return replace(wanted, controller=USUAL), f"{wanted.maneuver} needs a controller: {USUAL}"
        return replace(wanted, maneuver="release"), "without a controller the arm is released"
    if wanted.maneuver == "move, shaped" and not follows_paths(wanted.controller):
        if wanted.maneuver != before.maneuver:
            return replace(wanted, controller=USUAL), f"a shaped move needs a path to follow: {USUAL}"
        return replace(wanted, maneuver="move"), f"{wanted.controller} follows no path: move"
    return wanted, ""


def _either(names: Sequence[str]) -> str:
    """Names as a list such as "pd, lqr or ideal joints"."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def heaviest_payload(robot: Robot) -> float:
    """Largest payload of the slider, kg: the mass of the links, or twice the robot's payload, rounded up."""
    wanted = max(sum(float(link_mass(link)) for link in robot.links), 2 * float(payload_mass(robot)), 0.1)
    scale = 10.0 ** np.floor(np.log10(wanted))
    return float(np.ceil(wanted / scale - 1e-9) * scale)
