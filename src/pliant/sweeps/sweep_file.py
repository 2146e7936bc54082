"""Study files of `pliant sweep`: a scenario, the numbers that vary, and the metrics of each run.

format: 1
scenario: lift.yaml                        # beside this file, or written out here
vary:
  payload.mass: {from: 0, to: 200, count: 9}
  links.boom.beam.length: [7, 8, 9]
  controller.kd: {from: 1.0e5, to: 1.0e6, scale: log, count: 5}
sample: {method: grid}                     # grid | random | sobol | latin-hypercube, with count and seed
metrics: [peak_deflection, settling_time, residual_vibration, energy]
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError, PliantError
from pliant.options import EngineName
from pliant.robot.files.documents import read_document, validated
from pliant.robot.files.error_messages import clash, fault, short, suggestion
from pliant.robot.files.file_paths import FilePaths, SearchPaths, paths_of
from pliant.robot.parts.fields import ANGLE, FORMAT, Alternatives, Document, sequence
from pliant.simulation.scenario.scenario import Scenario, read_scenario
from pliant.sweeps.metrics import METRICS
from pliant.sweeps.sampling import Axis, Sample, points


def _scenario(value: object, info: ValidationInfo) -> object:
    """Read a scenario from a path relative to the study file, or from the mapping of a scenario file."""
    paths = paths_of(info.context)
    try:
        if isinstance(value, str | os.PathLike):
            path = paths.find(os.fspath(value))
            return read_scenario(path, paths.beside(path))
        if isinstance(value, dict):
            return Scenario.model_validate(value, context=info.context)
    except ModelError as error:
        raise clash(str(error)) from None
    return value


def _axes(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or not value:
        raise fault("a mapping from paths to ranges, such as payload.mass: {from: 0, to: 2, count: 5}")
    return {str(path): {"values": axis} if isinstance(axis, list | tuple) else axis for path, axis in value.items()}


_LIST = {"type": "array", "items": ANGLE}
_METRIC = {"enum": list(METRICS)}
_METRICS = {"title": "name of a metric, or a list", "anyOf": [_METRIC, {"type": "array", "items": _METRIC}]}


class SweepStudy(Document):
    """A sweep, as a study file has it.

    Examples
    --------
    >>> study = pliant.sweeps.SweepStudy.from_dict({
    ...     "scenario": {"robot": "two-link", "duration": 0.05},
    ...     "vary": {"payload.mass": {"from": 0.0, "to": 2.0, "count": 3}},
    ... })
    >>> print(study.points().ravel())
    [0. 1. 2.]
    >>> pliant.sweeps.SweepStudy.from_dict(study.to_dict()).digest() == study.digest()
    True
    """

    name: str | None = Field(None, description="title of the study", examples=["payloads"])
    scenario: Annotated[
        Scenario,
        BeforeValidator(_scenario),
        PlainSerializer(lambda s: s.to_dict()),
        Alternatives(({"type": "string"},)),
    ] = Field(
        description="the run: a file beside this one, or a scenario written out",
        examples=[{"robot": "two-link", "duration": 1.0}],
    )
    vary: Annotated[dict[str, Annotated[Axis, Alternatives((_LIST,))]], BeforeValidator(_axes)] = Field(
        description="ranges of numbers of robot and scenario, by path",
        examples=[{"payload.mass": {"from": 0, "to": 2, "count": 5}}],
    )
    sample: Sample = Field(Sample(), description="choice of the points", examples=[{"method": "sobol", "count": 64}])
    metrics: Annotated[tuple[str, ...], WithJsonSchema(_METRICS)] = Field(
        ("peak_deflection", "settling_time", "residual_vibration", "energy"),
        description="metrics of each run",
        examples=[["peak_deflection", "energy"]],
    )
    engine: EngineName = Field("auto", description="runs one by one, or together in packs", examples=["batch"])

    @field_validator("metrics", mode="before")
    @classmethod
    def _metrics(cls, value: object) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else sequence(value, "a list of names")
        for name in names:
            if not isinstance(name, str) or name not in METRICS:
                raise clash(f"no metric is called {short(name)}{suggestion(str(name), METRICS)}")
        return tuple(dict.fromkeys(names))

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = dict(numbers(self.scenario))
        for path in self.vary:
            if path not in known:
                raise clash(f"vary: the scenario has no number `{path}`{suggestion(path, known)}")
        try:
            self.points()
        except PliantError as error:
            raise clash(str(error)) from None
        return self

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], *, search_paths: SearchPaths | None = None) -> Self:
        r"""Read a study file; errors name the lines of faults.

        Parameters
        ----------
        path : str or path
            A YAML file.
        search_paths : mapping, optional
            Further folders that it and the files that it names may read, by name, as for `pliant.load`.

        Returns
        -------
        SweepStudy

        Examples
        --------
        >>> from pathlib import Path
        >>> text = "scenario: {robot: two-link, duration: 0.1}\nvary: {payload.mass: {values: [0, 1]}}"
        >>> Path("study.yaml").write_text(text) > 0
        True
        >>> pliant.sweeps.SweepStudy.load("study.yaml").points().shape
        (2, 1)
        """
        source = Path(path)
        data, lines = read_document(source, "a study names a scenario and what varies")
        return validated(cls, data, lines, source.name, FilePaths.of_file(source, search_paths))

    def points(self) -> Array:
        """(N, d) values of the numbers that vary, in their order.

        Returns
        -------
        (N, d) array
        """
        return points(self.sample, self.vary)

    def to_dict(self) -> dict[str, object]:
        """Plain data from which an equal study is made.

        Returns
        -------
        dict
        """
        return {"format": FORMAT, **self.model_dump(mode="json", by_alias=True, exclude_defaults=True)}

    def digest(self) -> str:
        """Digest of what determines the points and runs: equal studies have equal digests.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        plain = {key: value for key, value in self.to_dict().items() if key not in ("name", "engine", "metrics")}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def numbers(scenario: Scenario) -> Iterator[tuple[str, float]]:
    """Every number of a scenario with its path: those of the robot as in `robot.paths()`, the rest as in the file."""
    yield from scenario.robot.paths().items()
    yield from ((path, value) for path, value in _leaves(changeable(scenario), ""))


def changeable(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data, without the robot."""
    plain = scenario.to_dict()
    return {key: value for key, value in plain.items() if key not in ("robot", "outputs", "format", "name")}


def _leaves(node: object, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _leaves(value, f"{path}.{index}")
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path, float(node)


def place(tree: dict[str, Any], path: str, value: float) -> None:
    """Set one number of `changeable`, in place."""
    node: Any = tree
    rest = path
    while True:  # keys may have dots of their own: q: {upper.motor: 0}
        if isinstance(node, list):
            head, _, rest = rest.partition(".")
            key: Any = int(head)
        else:
            key = next(k for k in sorted(node, key=lambda k: -len(k)) if rest == k or rest.startswith(f"{k}."))
            rest = rest[len(key) + 1 :]
        if not rest:
            node[key] = value
            return
        node = node[key]


def changed(scenario: Scenario, values: dict[str, float]) -> Scenario:
    """The scenario with some numbers changed, checked anew."""
    robot_paths = scenario.robot.paths()
    tree = changeable(scenario)
    for path, value in values.items():
        if path not in robot_paths:
            place(tree, path, value)
    robot = scenario.robot.replace({path: value for path, value in values.items() if path in robot_paths})
    return Scenario(**{**tree, "robot": robot})
