"""Papers reproduced: each study runs the experiments of one paper, draws its figures and judges its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pliant.errors import ModelError, PliantError
from pliant.studies.checks import Check
from pliant.studies.study import Study

NAMES = ("korayem-shafei", "theodore-ghosal", "flexible-joints", "mohan-saha", "cibicik-egeland")
"""Studies by name, in the order of their papers."""


def study(name: str) -> Study:
    """A study by name."""
    if name not in NAMES:
        raise ModelError(f"study: got {name!r}, expected one of {', '.join(NAMES)}")
    found: Study = import_module(f"pliant.studies.{name.replace('-', '_')}").STUDY
    return found


def reproduce(
    names: Sequence[str],
    out: str | Path,
    quick: bool = False,
    tell: Callable[[str, str], Any] | None = None,
) -> dict[str, list[Check]]:
    """Run studies and write a folder for each below `out`, with an index page over all.

    Parameters
    ----------
    names : sequence of str
        From `NAMES`.
    out : path
        Each study gets a folder there: parameters.yaml, results.nc, figures, checks.json, report.html.
    quick : bool
        Fewer and shorter runs.
    tell : function of (study, step), optional
        Called before each step.

    Returns
    -------
    dict of lists of Check
        By study.
    """
    from pliant.studies.report import index

    chosen = [study(name) for name in names]
    target = Path(out)
    found: dict[str, list[Check]] = {}
    for one in chosen:
        found[one.name] = _run(one, target / one.name, quick, tell)
    _write(target / "index.html", index(chosen, found, quick))
    return found


def _run(one: Study, folder: Path, quick: bool, tell: Callable[[str, str], Any] | None) -> list[Check]:
    from pliant.studies.drawing import plainly
    from pliant.studies.report import report
    from pliant.studies.study import write_checks, write_parameters, write_results
    from pliant.view.style import figure

    outcome = one.run(quick, lambda step: tell(one.name, step) if tell else None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_parameters(one, outcome, folder / "parameters.yaml", quick)
        write_results(outcome, folder / "results.nc")
        write_checks(one, outcome, folder / "checks.json", quick)
    except OSError as error:
        raise PliantError(f"{folder}: cannot write there ({error.strerror or error})") from error
    for drawn in outcome.figures:
        if tell:
            tell(one.name, f"drawing {drawn.name}")
        figure(plainly(drawn.draw), drawn.width, drawn.height, [folder / f"{drawn.name}.{kind}" for kind in ("png", "svg")])
    _write(folder / "report.html", report(one, outcome, folder, quick))
    return list(outcome.checks)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PliantError(f"{path}: cannot write there ({error.strerror or error})") from error
