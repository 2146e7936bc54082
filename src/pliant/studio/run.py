"""Computations of the studio: choices become a scenario and a run, without a page or a browser.

Numbers stay inputs of the equations where they can, so that a moved slider runs again without compiling.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.base.derived import SYMBOLS
from pliant.control.controllers.controller import MotionWanted
from pliant.control.registry import CONTROLLERS
from pliant.errors import ModelError, SimulationError
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.mechanics.links.builders.build_chain import shapes_that_change
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.protocols import Control, PrescribedMotion
from pliant.simulation.runs.inputs import read_start
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant.studio.choices import (
    IDEAL,
    NONE,
    Choices,
    check,
    commanded,
    numbers,
    placed_names,
    positioned,
    structure,
)

if TYPE_CHECKING:
    from pliant.simulation.scenario.scenario import Scenario

KEPT = 6
"""Number of compiled models that are kept."""
LAYOUTS = 64
"""Number of arms whose layout is kept."""
RISE = 0.1
"""Part of the time of a move in which commands of couplings rise, and in which they fall."""
Words = dict[str, Any]
"""A part of a scenario file, in its own words."""


@dataclass(frozen=True)
class StudioRun:
    """A finished run, its choices, frequencies (Hz) and computing time, and whether something was compiled for it."""

    choices: Choices
    result: Result
    frequencies: Array
    seconds: float
    compiled: bool


@dataclass(frozen=True)
class _Prepared:
    """A model with its controller and motion, ready for other values of its parameters."""

    model: Model
    controller: Control | None
    motion: dict[str, PrescribedMotion] | None


class Patience:
    """Limit of a run, which ends when it is cancelled, or takes longer than `limit` seconds."""

    def __init__(self, stop: threading.Event, limit: float) -> None:
        self.stop, self.limit, self.began = stop, limit, time.monotonic()

    def check(self) -> None:
        """Raise `SimulationError` if the run has to end; called between its stages and a few times per second."""
        if self.stop.is_set():
            raise SimulationError("the run was cancelled; the last one stays")
        if time.monotonic() - self.began > self.limit:
            raise SimulationError(
                f"the run took more than {self.limit:g} s; shorten it, or start the studio with a larger --limit"
            )


class Workshop:
    """Runs of choices, several at a time if need be, with a memory of compiled models."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._kept: dict[Hashable, _Prepared] = {}
        self._layouts: dict[Hashable, tuple[Robot, list[str]]] = {}

    def run(self, choices: Choices, still: Callable[[], None] = lambda: None) -> StudioRun:
        """Simulate; raises `PliantError` with the reason if the choices make no arm or no run.

        `still` is called now and then, and ends the run by raising.
        """
        began = time.perf_counter()
        check(choices)
        choices.robot.replace(dict(choices.edits))  # raises if they make no robot, before anything is compiled
        still()
        key, prepare, free = self._recipe(choices)
        ready, compiled = self._ready(key, prepare)
        still()
        values = numbers(choices)
        p = np.array([values[path] for path in free])
        result = simulate(
            ready.model, choices.duration, _at(choices, choices.start), equilibrium=choices.maneuver != "release",
            torque=_commands(choices), controller=ready.controller, motion=ready.motion, p=p,
            progress=lambda fraction: still(),
        )  # fmt: skip
        about = result.q[0]
        if choices.maneuver.startswith("move"):
            about = read_start(ready.model, goal_of(choices), equilibrium=True, p=p)[0]
        found = ready.model.frequencies(about, p=p)
        return StudioRun(choices, result, found, time.perf_counter() - began, compiled)

    def knows(self, choices: Choices) -> bool:
        """Whether a run of these choices compiles nothing."""
        with self._lock:
            return (choices.robot, choices.modes, *_paths_key(choices)) in self._layouts and (
                self._recipe(choices)[0] in self._kept
            )

    def _recipe(self, choices: Choices) -> tuple[Hashable, Callable[[], _Prepared], list[str]]:
        """Recipe of the model of an edited arm with its controller: its key, a function that makes it, and the numbers
        that stay inputs. Edited arms become models nowhere else."""
        values = numbers(choices)
        robot, free = self._layout(choices, values)
        built_in = {path: value for path, value in values.items() if path not in free}
        key = (robot, tuple(built_in.items()), tuple(free), _drive_key(choices))
        return key, lambda: self._prepare(choices, robot.replace(built_in), free), free

    def _ready(self, key: Hashable, prepare: Callable[[], _Prepared]) -> tuple[_Prepared, bool]:
        """Compiled model of a key, and whether it was made just now; two runs that want the same share the work."""
        with self._lock:
            if key in self._kept:
                return self._kept[key], False
            turn = self._turns.setdefault(key, threading.Lock())
        try:
            with turn:
                if (known := self._kept.get(key)) is not None:
                    return known, False
                with SYMBOLS:
                    made = prepare()
                with self._lock:
                    self._kept[key] = made
                    while len(self._kept) > KEPT:
                        self._kept.pop(next(iter(self._kept)))
                return made, True
        finally:
            with self._lock:
                self._turns.pop(key, None)

    def _layout(self, choices: Choices, values: dict[str, float]) -> tuple[Robot, list[str]]:
        """Robot with its modes, and the paths that stay inputs; found once for each arm."""
        key = (choices.robot, choices.modes, *_paths_key(choices))
        with self._lock:
            known = self._layouts.get(key)
        if known is None:
            with SYMBOLS:
                robot = structure(choices)
                known = robot, _free_paths(robot, values, choices)
            with self._lock:
                self._layouts[key] = known
                while len(self._layouts) > LAYOUTS:
                    self._layouts.pop(next(iter(self._layouts)))
        return known

    def _prepare(self, choices: Choices, robot: Robot, free: list[str]) -> _Prepared:
        model = robot.model(FORMULATIONS[choices.formulation], stiffening=choices.level, parameters=free)
        from pliant.simulation.scenario.parts import read_part

        controller, motion = drive(choices, model)
        made = None if controller is None else read_part(controller, "controller").make()
        moved = {name: read_part(part, "trajectory").make() for name, part in motion.items()}
        return _Prepared(model, made, moved or None)


def _paths_key(choices: Choices) -> tuple[Hashable, ...]:
    """Key of everything besides the arm that decides which numbers stay inputs."""
    return _knows_robot(choices), tuple(path for path, _ in choices.edits)


def _free_paths(robot: Robot, values: dict[str, float], choices: Choices) -> list[str]:
    """Paths that can stay inputs. None can if the gains follow from the arm; others cannot if they change shapes."""
    return [] if _knows_robot(choices) else [path for path in values if _stays_free(robot, path)]


def _knows_robot(choices: Choices) -> bool:
    """Whether the controller depends on the numbers of the arm."""
    return choices.controller not in (NONE, IDEAL) and not CONTROLLERS[choices.controller].knows_no_robot


def _stays_free(robot: Robot, path: str) -> bool:
    try:
        return not shapes_that_change(robot, path)
    except ModelError:  # a number that cannot be a symbol
        return False


def _drive_key(choices: Choices) -> Hashable:
    """Key of what is compiled with the arm; a released arm starts anywhere."""
    c = choices
    driven = (c.maneuver, c.start, c.goal, c.frequency, c.move_time) if c.controller != NONE else ()
    return (c.formulation, c.stiffening, c.controller, *driven)


def drive(choices: Choices, model: Model) -> tuple[Words | None, dict[str, Words]]:
    """Controller and prescribed motion, in the words of a scenario file."""
    driven = [k for k, (_, freedom) in enumerate(positioned(choices.robot)) if freedom.actuated]
    names = [placed_names(choices.robot)[k] for k in driven]
    start, goal = ([positions[k] for k in driven] for positions in (choices.start, choices.goal))
    path: Words = {"type": "constant", "position": start}
    if choices.maneuver.startswith("move"):
        path = {"type": "quintic", "from": start, "to": goal, "duration": choices.move_time}
    shaper = None
    if choices.maneuver == "move, shaped":
        lowest = model.frequencies(read_start(model, goal_of(choices), equilibrium=True)[0])
        shaper = {"type": "zv", "frequency": float(lowest[lowest > 0][0])}
    if choices.controller == NONE:
        return None, {}
    if choices.controller != IDEAL:
        wanted = MotionWanted(
            start=start,
            goal=goal,
            moves=choices.maneuver.startswith("move"),
            reference=path if shaper is None else {"type": "shaped", "trajectory": path, "shaper": shaper},
            frequency=choices.frequency,
        )
        return {"type": choices.controller, **CONTROLLERS[choices.controller].offered(model, wanted)}, {}
    motion = {}
    for k, joint in enumerate(names):
        still = path["type"] == "constant"
        own = {**path, "position": start[k]} if still else {**path, "from": start[k], "to": goal[k]}
        motor = f"{joint}.motor"
        motion[motor if motor in model.coordinates else joint] = (
            own if shaper is None else {"type": "shaped", "trajectory": own, "shaper": shaper}
        )
    return None, motion


def goal_of(choices: Choices) -> dict[str, float]:
    """Positions of the joints at the goal, by name; passive ones stay at the start."""
    ends = zip(positioned(choices.robot), choices.start, choices.goal)
    return _at(choices, tuple(goal if freedom.actuated else start for (_, freedom), start, goal in ends))


def _at(choices: Choices, positions: tuple[float, ...]) -> dict[str, float]:
    """Positions of the joints with sliders, by name."""
    return dict(zip(placed_names(choices.robot), positions))


def _commands(choices: Choices) -> tuple[list[float], dict[str, list[float]]] | None:
    """Times and values of the commands of couplings: they rise, stay, and fall to zero at the end of a move."""
    if not any(choices.commands):
        return None
    T, names = choices.move_time, [coupling.name for coupling in commanded(choices.robot)]
    values = {name: [0.0, value, value, 0.0] for name, value in zip(names, choices.commands)}
    return [0.0, RISE * T, (1 - RISE) * T, T], values


def edited_robot(choices: Choices) -> Robot:
    """Arm with the values of all sliders and edits, as it is saved."""
    with SYMBOLS:
        return structure(choices).replace(numbers(choices))


def saved_run(result: Result) -> StudioRun:
    """Run from a file, as if it had been made here."""
    began = time.perf_counter()
    p = result.parameters if len(result.parameters) else None
    with SYMBOLS:
        found = result.model.frequencies(result.q[0], p=p)
    return StudioRun(Choices.of_run(result), result, found, time.perf_counter() - began, False)


def scenario(choices: Choices) -> Scenario:
    """Scenario of the choices, with which `pliant simulate` makes the same run."""
    from pliant.simulation.scenario.scenario import Scenario

    check(choices)
    plain, values = structure(choices), numbers(choices)
    robot, free = plain.replace(values), _free_paths(plain, values, choices)
    nominal = plain.replace({k: value for k, value in values.items() if k not in free})  # the arm of the gains
    model = nominal.model(FORMULATIONS[choices.formulation], stiffening=choices.level)
    controller, motion = drive(choices, model)
    data: Words = {
        "robot": robot.to_dict(),
        "model": {"formulation": choices.formulation, "stiffening": model.options.stiffening},
        "initial": {"q": _at(choices, choices.start), "equilibrium": choices.maneuver != "release"},
        "duration": choices.duration,
    }
    if controller is not None:
        data["controller"] = controller
    if motion:
        data["motion"] = motion
    if (commands := _commands(choices)) is not None:
        data["torque"] = dict(zip(("times", "values"), commands))
    return Scenario(**data)


def tip_error(run: StudioRun) -> tuple[float, float]:
    """Largest and last distance (m) of the tip from that of the rigid arm, which stands at the goal of a move, or else
    at the joints. For a move, the largest after the time of the move.
    """
    from pliant.figures.run_panels import rigid_states, tip_shift

    result, choices = run.result, run.choices
    if choices.maneuver == "release":
        away = np.linalg.norm(tip_shift(result), axis=1)
    else:
        goal, q = choices.goal if choices.maneuver.startswith("move") else choices.start, rigid_states(result)
        for (_, freedom), name, at in zip(positioned(choices.robot), placed_names(choices.robot), goal):
            if freedom.actuated:
                q[:, result.model.index(name)] = at
        extra = (result.parameters,) if len(result.parameters) else ()
        away = np.linalg.norm(result.tip - result.model.tip_pose(q, *extra)[:, :3, 3], axis=1)
    arrived = result.t >= choices.move_time if choices.maneuver.startswith("move") else result.t >= 0
    return float(away[arrived].max(initial=away[-1])), float(away[-1])
