"""What a study is: parameters, runs that measure, a judge that compares, and the folder that the outcome is written to.

Measuring and judging are apart: `perform` makes every run, `measure` gives every number that a verdict rests on, plain
data; `judge` is a function of those numbers alone. So a wrong number can be planted, and the verdict must turn; and
whoever doubts a verdict finds in `numbers.json` all that it follows from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pliant.base.writing import atomic_write
from pliant.drawing.style import WIDTH
from pliant.simulation.runs.results import Result
from pliant_studies.checks import Check, plain

if TYPE_CHECKING:
    import xarray as xr

Tell = Callable[[str], None]
"""Called with a few words before each step of a study."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: file name, caption, and what draws it on an empty page."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    height: float = 2.6
    width: float = WIDTH


@dataclass(frozen=True)
class Table:
    """A table of numbers and text; a note says how to read it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass
class StudyRuns:
    """What was run: settings, and the numbers that verdicts rest on; studies add `histories`, runs or plain arrays."""

    settings: dict[str, Any]
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a study found: checks, figures, tables, histories by name (runs or plain arrays), and measured numbers."""

    checks: Sequence[Check]
    figures: Sequence[Figure]
    tables: Sequence[Table]
    results: Mapping[str, Result | Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A paper to reproduce.

    Attributes
    ----------
    name, title, source : str
        Name on the command line, title of the report, and the paper.
    summary : str
        A paragraph: what the paper did and what is done here.
    given : mapping
        Numbers that the paper states.
    chosen : sequence of (what the paper does not state, our choice and why)
    steps : (quick, full)
        How often a run tells of its progress.
    perform : function of (quick, tell)
        Makes every run.
    measure : function of the runs
        Every number that a verdict rests on, where it was not found on the way.
    judge : function of the numbers
        All checks.
    illustrate, tabulate : functions of the runs
        Figures and tables.
    """

    name: str
    title: str
    source: str
    summary: str
    given: Mapping[str, Any]
    chosen: Sequence[tuple[str, str]]
    steps: tuple[int, int]
    perform: Callable[[bool, Tell], Any]
    measure: Callable[[Any], Mapping[str, Any]]
    judge: Callable[[Mapping[str, Any]], list[Check]]
    illustrate: Callable[[Any], list[Figure]]
    tabulate: Callable[[Any], list[Table]]

    @classmethod
    def load(cls, name: str) -> Study:
        """The study of a folder: what its study.yaml states, with numbers of its files in braces, and what those do."""
        import yaml

        package = f"pliant_studies.{name.replace('-', '_')}"
        parts = ("runs", "measures", "checks", "figures")
        runs, measures, checks, figures = (import_module(f"{package}.{part}") for part in parts)
        about = yaml.safe_load((files(package) / "study.yaml").read_text(encoding="utf-8"))
        known = vars(figures) | vars(runs)
        about["chosen"] = [(what, choice.format_map(known)) for what, choice in about["chosen"].items()]
        return cls(name, **about, perform=runs.perform, measure=measures.measure, judge=checks.judge,
                   illustrate=figures.illustrate, tabulate=figures.tabulate)  # fmt: skip

    def run(self, quick: bool, tell: Tell) -> Outcome:
        """All experiments of the paper, judged and drawn."""
        runs = self.perform(quick, tell)
        tell("measuring")
        runs.numbers |= self.measure(runs)
        numbers = plain(runs.numbers)
        checks, figures, tables = self.judge(numbers), self.illustrate(runs), self.tabulate(runs)
        return Outcome(checks, figures, tables, runs.histories, runs.settings, numbers)


def write_parameters(study: Study, outcome: Outcome, path: Path, quick: bool) -> None:
    """What went in: the paper's numbers, our choices, our settings, and every robot that was run."""
    import yaml

    robots = {name: run.robot.to_dict() for name, run in outcome.results.items() if isinstance(run, Result)}
    distinct: dict[str, Any] = {}
    for name, robot in robots.items():
        same = next((other for other, known in distinct.items() if known == robot), None)
        distinct[name] = f"the robot of {same}" if same else robot
    data = {
        "format": 1,
        "study": study.name,
        "source": study.source,
        "quick": quick,
        "given": study.given,
        "chosen": [{"not stated": what, "our choice": choice} for what, choice in study.chosen],
        "settings": outcome.settings,
        "robots": distinct,
    }
    with atomic_write(path) as partial:
        text = yaml.safe_dump(plain(data), sort_keys=False, allow_unicode=True, width=110)
        partial.write_text(text, encoding="utf-8")


def write_checks(study: Study, outcome: Outcome, path: Path, quick: bool) -> None:
    """Every claim with its verdict."""
    entries = [check.to_dict() for check in outcome.checks]
    names = [entry["id"] for entry in entries]
    if len(set(names)) != len(names):
        raise ValueError(f"{study.name}: two checks share an id")
    _write_json(path, {"study": study.name, "source": study.source, "quick": quick, "checks": entries})


def write_numbers(study: Study, outcome: Outcome, path: Path, quick: bool) -> None:
    """Every measured number that a verdict rests on."""
    _write_json(path, {"study": study.name, "quick": quick, "numbers": outcome.numbers})


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps({"format": 1, **data}, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def write_results(outcome: Outcome, path: Path, quick: bool) -> None:
    """All histories in one NetCDF file, a group for each; a run's group is what `Result.save` writes.

    A quick study keeps coordinates and rates only: torques, energies and residuals would have to be compiled first.
    """
    mode: Literal["w", "a"] = "w"
    with atomic_write(path) as partial:
        for name, result in outcome.results.items():
            data = _run(result, quick) if isinstance(result, Result) else _dataset(result)
            data.to_netcdf(partial, group=name.replace(" ", "_"), mode=mode, engine="h5netcdf")
            mode = "a"


def _run(run: Result, quick: bool) -> xr.Dataset:
    import xarray as xr

    if not quick:
        return run.dataset
    columns = ("time", "coordinate")
    return xr.Dataset(
        {"q": (columns, run.q), "qd": (columns, run.qd)},
        {"time": ("time", run.t, {"units": "s"}), "coordinate": list(run.coordinates)},
        {"robot": json.dumps(run.robot.to_dict()), "options": json.dumps(run.options)},
    )


def _dataset(arrays: Mapping[str, Any]) -> xr.Dataset:
    """Arrays by name; the first axes of equal length share a dimension."""
    import xarray as xr

    variables = {}
    for name, values in arrays.items():
        array = np.asarray(values)
        first = [f"rows_{array.shape[0]}"] if array.ndim else []
        variables[name] = (first + [f"{name}_{k}" for k in range(1, array.ndim)], array)
    return xr.Dataset(variables)
