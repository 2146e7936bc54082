"""Points of a sweep: run one and return its numbers. One model serves all points where possible."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError, PliantError, UnsupportedModel
from pliant.model.model import Model
from pliant.model.states import read_state
from pliant.protocols import Torque
from pliant.simulation.runs.checks.energy_balance import STATUS as UNBALANCED
from pliant.simulation.runs.inputs import read_torque
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant.simulation.scenario.scenario import Scenario
from pliant.simulation.scenario.values import as_given
from pliant.sweeps.metrics import METRICS, Histories
from pliant.sweeps.sweep_file import SweepStudy, changed

UserFunction = Callable[[Result], Mapping[str, float]]


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of some points: the metrics of those that finished, column by column, and why the others failed."""

    points: list[int]
    metrics: dict[str, list[float]]
    failed: dict[int, str] = field(default_factory=dict)

    @classmethod
    def failure(cls, points: Iterable[int], reason: str) -> Outcomes:
        """Outcomes of points that all failed for one reason."""
        return cls([], {}, {int(point): reason for point in points})

    @property
    def of(self) -> list[int]:
        """All points, finished and failed."""
        return [*self.points, *self.failed]

    def without(self, known: set[int]) -> Outcomes:
        """Outcomes of the points that are not in `known`."""
        if known.isdisjoint(self.of):
            return self
        rows = [row for row, point in enumerate(self.points) if point not in known]
        columns = {name: [column[row] for row in rows] for name, column in self.metrics.items()}
        failed = {point: why for point, why in self.failed.items() if point not in known}
        return Outcomes([self.points[row] for row in rows], columns, failed)


class Points:
    """Run points of a study."""

    def __init__(self, study: SweepStudy, function: UserFunction | None = None) -> None:
        self.study, self.function = study, function
        self.paths = tuple(study.vary)

    @cached_property
    def values(self) -> Array:
        """Values (N, d) of the numbers that vary."""
        return self.study.points()

    @cached_property
    def robot_paths(self) -> tuple[str, ...]:
        """Paths of the numbers of the robot that vary."""
        known = self.study.scenario.robot.paths()
        return tuple(path for path in self.paths if path in known)

    @cached_property
    def shared(self) -> Model | None:
        """One model for all points with the varying numbers as parameters; None if something else varies."""
        s = self.study.scenario
        others = [path for path in self.paths if path not in self.robot_paths]
        if not all(path.startswith(("initial.q.", "initial.qd.", "torque.")) for path in others):
            return None
        if any(path.startswith("torque.values") or path.startswith("torque.times") for path in others):
            return None
        if s.initial.equilibrium or (s.controller is not None and not s.controller.knows_no_robot):
            return None
        if any(link.beam is not None and link.beam.slides for link in s.robot.links):
            return None
        o = s.model
        try:
            return Model(s.robot, o.formulation, o.rotation, o.stiffening, self.robot_paths)
        except (ModelError, UnsupportedModel):  # such as a number that changes the shape functions
            return None

    def inputs(self, rows: Array) -> tuple[Array, Array, Torque | None, Array]:
        """q0, qd0, torque and p of points of a shared model, each with one row per point."""
        s, model = self.study.scenario, self.shared
        assert model is not None
        torque: Torque | None = as_given(s.torque)
        given = {
            "initial.q.": _named(s.initial.q, model.coordinates),
            "initial.qd.": _named(s.initial.qd, model.speeds),
            "torque.": _named(torque, model.layout.inputs)
            if any(path.startswith("torque.") for path in self.paths)
            else {},
        }
        known = {"torque.": model.layout.inputs, "initial.q.": model.coordinates, "initial.qd.": model.speeds}
        columns = dict(zip(self.paths, rows.T))
        for path, column in columns.items():
            for head, values in given.items():
                if path.startswith(head):
                    name, names = path.removeprefix(head), known[head]
                    values[names[int(name)] if name.isdigit() else name] = column
        q, qd = (
            np.broadcast_to(read_state(model, given[head], name, many=True), (len(rows), len(known[head])))
            for head, name in (("initial.q.", "q0"), ("initial.qd.", "qd0"))
        )
        applied = read_torque(model, given["torque."] or torque, "torque", many=True).constant
        if applied is not None:
            torque = np.broadcast_to(applied, (len(rows), model.layout.n_inputs))
        p = (
            np.column_stack([columns[path] for path in self.robot_paths])
            if self.robot_paths
            else np.zeros((len(rows), 0))
        )
        return q, qd, torque, p

    # -------------------------------------------------------------------------------------------- running

    def run(self, point: int) -> Outcomes:
        """Run one point; an error in it becomes its outcome."""
        try:
            result = self._simulate(self.values[point])
            if result.stats.status == "event":
                met = result.stats.events[-1][1]
                return Outcomes.failure([point], f"the run stopped at a limit, {met}, at t = {result.t[-1]:.6g} s")
            if result.stats.status in (UNBALANCED, "stopped"):
                return Outcomes.failure([point], result.stats.message)
            return Outcomes([point], {name: [value] for name, value in self.measure(result).items()})
        except PliantError as error:
            return Outcomes.failure([point], str(error))
        except (ArithmeticError, ValueError, TypeError, KeyError, IndexError) as error:  # of a user's function
            return Outcomes.failure([point], f"{type(error).__name__}: {error}")

    def measure(self, result: Result) -> dict[str, float]:
        """All metrics of a run."""
        h = replace(Histories.of(result), moved=tuple(self.study.scenario.motion))
        found = {name: float(METRICS[name](h)[0]) for name in self.study.metrics}
        if self.function is not None:
            found |= {str(key): float(value) for key, value in self.function(result).items()}
        return found

    def _simulate(self, row: Array) -> Result:
        model = self.shared
        if model is None:
            return changed(self.study.scenario, dict(zip(self.paths, row.tolist()))).run(progress=False)
        self.study.scenario.robot.replace({path: float(row[self.paths.index(path)]) for path in self.robot_paths})
        q, qd, torque, p = self.inputs(row[None])
        s = self.study.scenario
        controller, motion = s.driving
        applied = torque[0] if isinstance(torque, np.ndarray) and torque.ndim == 2 else torque
        return simulate(
            model, s.duration, q0=q[0], qd0=qd[0], torque=applied, controller=controller, motion=motion or None,
            method=s.method, rtol=s.rtol, atol=s.atol, step=s.step, output_step=s.output_step, progress=False,
            **s.surroundings, limits=s.limits, p=p[0], breaks=s.breaks, time_limit=s.time_limit,
            max_steps=s.max_steps,
        )  # fmt: skip


def _named(given: Any, names: Sequence[str]) -> dict[str, Any]:
    """Values by name, from a mapping or from a list in order."""
    return dict(zip(names, given)) if isinstance(given, tuple) else dict(given or {})


@lru_cache(maxsize=4)
def _runner(study: str, function: UserFunction | None) -> Points:
    """Points of a study, kept by each worker so that a model is traced and compiled once."""
    return Points(SweepStudy.from_dict(json.loads(study)), function)


def run_point(study: str, point: int, function: UserFunction | None = None) -> Outcomes:
    """Run a point of the study in this JSON text; workers call it."""
    return _runner(study, function).run(point)


def run_points(study: str, points: Sequence[int], function: UserFunction | None = None) -> list[Outcomes]:
    """Run several points one after the other, each with its own outcome."""
    return [run_point(study, point, function) for point in points]


__all__ = ["Outcomes", "Points", "Scenario", "run_point", "run_points"]
