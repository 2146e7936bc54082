"""Reproduction of papers: each study runs the experiments of one paper, draws its figures and judges its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pliant.base.writing import atomic_write
from pliant.errors import ModelError, PliantError
from pliant_studies.checks import Check
from pliant_studies.study import Study

NAMES = ("korayem-shafei", "theodore-ghosal", "flexible-joints", "mohan-saha", "cibicik-egeland", "rigs")
"""Studies by name, in the order of their papers; then measured arms."""

Listener = Callable[[str, str], None]
"""Function that is called with the name of a study and a few words on its next step."""


def study(name: str) -> Study:
    """Study by name."""
    if name not in NAMES:
        raise ModelError(f"study: got {name!r}, expected one of {', '.join(NAMES)}")
    return Study.load(name)


def reproduce(
    names: Sequence[str], out: str | Path, quick: bool = False, tell: Listener | None = None, jobs: int = 1
) -> dict[str, list[Check]]:
    """Run studies and write a folder for each below `out`, with an index page.

    Parameters
    ----------
    names : sequence of str
        Names from `NAMES`.
    out : path
        Each study gets a folder there: parameters.yaml, results.nc, figures, numbers.json,
        checks.json, report.html.
    quick : bool
        Fewer and shorter runs.
    tell : function of (study, step), optional
        Called before each step.
    jobs : int
        Number of studies that run at a time, each in its own process if more than one.

    Returns
    -------
    dict of lists of Check
        Checks by the name of the study.
    """
    from pliant_studies.report import index

    chosen, target = [study(name) for name in names], Path(out)
    with _writing(target):
        target.mkdir(parents=True, exist_ok=True)
    if jobs > 1 and len(chosen) > 1:
        from pliant_studies.parallel import run_together

        found = run_together([one.name for one in chosen], target, quick, tell, jobs)
    else:
        found = {one.name: run_study(one.name, target, quick, tell) for one in chosen}
    with _writing(target / "index.html") as page, atomic_write(page) as partial:
        partial.write_text(index(chosen, found, quick), encoding="utf-8")
    return found


def run_study(name: str, target: Path, quick: bool, tell: Listener | None) -> list[Check]:
    """Run one study and write its folder below `target`."""
    from pliant.drawing.style import figure
    from pliant_studies.drawing import plainly
    from pliant_studies.report import report
    from pliant_studies.study import write_checks, write_numbers, write_parameters, write_results

    one, folder = study(name), target / name
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    outcome = one.run(quick, lambda step: tell(name, step) if tell else None)
    with _writing(folder):
        write_parameters(one, outcome, folder / "parameters.yaml", quick)
        write_results(outcome, folder / "results.nc", quick)
        write_checks(one, outcome, folder / "checks.json", quick)
        write_numbers(one, outcome, folder / "numbers.json", quick)
    for drawn in outcome.figures:
        if tell:
            tell(name, f"drawing {drawn.name}")
        files = [folder / f"{drawn.name}.{kind}" for kind in ("png", "svg")]
        figure(plainly(drawn.draw), drawn.width, drawn.height, files)
    with _writing(folder / "report.html") as page, atomic_write(page) as partial:
        partial.write_text(report(one, outcome, folder, quick), encoding="utf-8")
    return list(outcome.checks)


@contextmanager
def _writing(place: Path) -> Iterator[Path]:
    try:
        yield place
    except OSError as error:
        raise PliantError(f"{place}: cannot write there ({error.strerror or error})") from error
