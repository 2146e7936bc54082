"""Study of a paper: its parameters, its runs, the numbers measured on them, the verdicts, and the folder with all this.

Measuring and judging are apart: `perform` makes every run, `measure` gives every number that a verdict depends on as
plain data, and `judge` is a function of those numbers alone. So a test can plant a wrong number and expect another
verdict, and `numbers.json` has everything that a verdict follows from.
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
from pliant_studies.checks import Check, Measured, Numbers, plain

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Page

Tell = Callable[[str], None]
"""Function that is called with a few words before each step of a study."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: file name, caption, and a function that draws it on an empty page."""

    name: str
    caption: str
    draw: Callable[[Page], None]
    height: float = 2.6
    width: float = WIDTH


@dataclass(frozen=True)
class Table:
    """A table of numbers and text; a note says how to read it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


@dataclass
class StudyRuns:
    """Runs of a study: settings, and the numbers that verdicts depend on; studies add `histories`, which are runs or
    plain arrays."""

    settings: Measured
    numbers: Measured = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Results of a study: checks, figures, tables, histories by name (runs or plain arrays), and measured numbers."""

    checks: Sequence[Check]
    figures: Sequence[Figure]
    tables: Sequence[Table]
    results: Mapping[str, Result | Numbers]
    settings: Numbers = field(default_factory=dict)
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """Reproduction of a paper.

    Attributes
    ----------
    name, title, source : str
        Name on the command line, title of the report, and the paper.
    summary : str
        A paragraph on the work of the paper and of the study.
    given : mapping
        Numbers that the paper states.
    chosen : sequence of pairs
        Names of what the paper does not state, and our choices with reasons.
    steps : (quick, full)
        Number of steps that a study tells.
    perform : function of (quick, tell)
        Makes every run.
    measure : function of the runs
        Gives every number that a verdict depends on and that `perform` has not found.
    judge : function of the numbers
        Gives all checks.
    illustrate, tabulate : functions of the runs
        Give figures and tables.
    """

    name: str
    title: str
    source: str
    summary: str
    given: Numbers
    chosen: Sequence[tuple[str, str]]
    steps: tuple[int, int]
    perform: Callable[[bool, Tell], Any]
    measure: Callable[[Any], Numbers]
    judge: Callable[[Numbers], list[Check]]
    illustrate: Callable[[Any], list[Figure]]
    tabulate: Callable[[Any], list[Table]]

    @classmethod
    def load(cls, name: str) -> Study:
        """Load a study from its folder: texts of study.yaml, with numbers of its modules in braces, and functions."""
        import yaml

        package = f"pliant_studies.{name.replace('-', '_')}"
        parts = ("runs", "measures", "checks", "figures")
        runs, measures, checks, figures = (import_module(f"{package}.{part}") for part in parts)
        about = yaml.safe_load((files(package) / "study.yaml").read_text(encoding="utf-8"))
        known = vars(figures) | vars(runs)
        about["chosen"] = [(what, choice.format_map(known)) for what, choice in about["chosen"].items()]
        return cls(
            name, **about, perform=runs.perform, measure=measures.measure, judge=checks.judge,
            illustrate=figures.illustrate, tabulate=figures.tabulate,
        )  # fmt: skip

    def run(self, quick: bool, tell: Tell) -> Outcome:
        """Run all experiments of the paper, judge and draw them."""
        runs = self.perform(quick, tell)
        tell("measuring")
        runs.numbers |= self.measure(runs)
        numbers = plain(runs.numbers)
        checks, figures, tables = self.judge(numbers), self.illustrate(runs), self.tabulate(runs)
        return Outcome(checks, figures, tables, results=runs.histories, settings=runs.settings, numbers=numbers)


def write_parameters(study: Study, outcome: Outcome, path: Path, quick: bool) -> None:
    """Write the inputs: numbers of the paper, our choices and settings, and every robot that was run."""
    import yaml

    robots = {name: run.robot.to_dict() for name, run in outcome.results.items() if isinstance(run, Result)}
    distinct: dict[str, object] = {}
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
    """Write every check with its verdict."""
    entries = [check.to_dict() for check in outcome.checks]
    names = [entry["id"] for entry in entries]
    if len(set(names)) != len(names):
        raise ValueError(f"{study.name}: two checks share an id")
    _write_json(path, {"study": study.name, "source": study.source, "quick": quick, "checks": entries})


def write_numbers(study: Study, outcome: Outcome, path: Path, quick: bool) -> None:
    """Write every measured number that a verdict depends on."""
    _write_json(path, {"study": study.name, "quick": quick, "numbers": outcome.numbers})


def _write_json(path: Path, data: Mapping[str, object]) -> None:
    text = json.dumps({"format": 1, **data}, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def write_results(outcome: Outcome, path: Path, quick: bool) -> None:
    """Write all histories into one NetCDF file, a group for each; a run has the contents of `Result.save`.

    A quick study keeps coordinates and rates only, since torques, energies and residuals would have to be compiled.
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


def _dataset(arrays: Numbers) -> xr.Dataset:
    """Data set of arrays by name; first axes of equal length share a dimension."""
    import xarray as xr

    variables = {}
    for name, values in arrays.items():
        array = np.asarray(values)
        first = [f"rows_{array.shape[0]}"] if array.ndim else []
        variables[name] = (first + [f"{name}_{k}" for k in range(1, array.ndim)], array)
    return xr.Dataset(variables)
