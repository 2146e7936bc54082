"""Report of a study, and the index page: HTML that needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from pliant.drawing.report_page import page, picture
from pliant_studies.checks import FAILS, HOLDS, NOT_REPRODUCED, REPORTED, REPRODUCED, Check, plain
from pliant_studies.study import Figure, Outcome, Study, Table

SIGNS = {REPRODUCED: "✓", NOT_REPRODUCED: "✗", REPORTED: "·", HOLDS: "✓", FAILS: "✗"}
CLASSES = {REPRODUCED: "good", NOT_REPRODUCED: "bad", REPORTED: "plain", HOLDS: "good", FAILS: "bad"}


def report(study: Study, outcome: Outcome, folder: Path, quick: bool) -> str:
    """Report of one study; figures are read from `folder` and embedded."""
    parts = [
        f"<h1>{escape(study.title)}</h1>",
        f'<p class="source">{escape(study.source)}</p>',
        f"<p>{escape(study.summary)}</p>",
        _quick_note(quick),
        '<nav><a href="#verdicts">Verdicts</a><a href="#claims">Claims</a><a href="#figures">Figures</a>'
        '<a href="#tables">Tables</a><a href="#choices">What the paper does not state</a></nav>',
        '<h2 id="verdicts">Verdicts</h2>',
        tally(outcome.checks),
        _overview(outcome.checks),
        '<h2 id="claims">Claim by claim</h2>',
        *(_claim(check) for check in outcome.checks),
        '<h2 id="figures">Figures</h2>',
        *(_figure(figure, folder) for figure in outcome.figures),
        '<h2 id="tables">Tables</h2>',
        *(_table(table) for table in outcome.tables),
        '<h2 id="choices">What the paper does not state, and our choice</h2>',
        _table(Table("", ("not stated", "our choice"), study.chosen)),
        '<h2 id="given">What the paper states</h2>',
        _table(Table("", ("quantity", "value"), [(key, value) for key, value in study.given.items()])),
        '<p class="note">Beside this page: <a href="parameters.yaml">parameters.yaml</a>, '
        '<a href="results.nc">results.nc</a>, <a href="checks.json">checks.json</a>, every figure as PNG and SVG.</p>',
    ]
    return page(study.title, "\n".join(parts))


def index(studies: Sequence[Study], checks: Mapping[str, Sequence[Check]], quick: bool) -> str:
    """Index page of all studies."""
    rows = []
    for study in studies:
        rows.append(
            f'<h3><a href="{study.name}/report.html">{escape(study.title)}</a></h3>'
            f'<p class="source">{escape(study.source)}</p>{tally(checks[study.name])}'
        )
    body = (
        "<h1>Reproduction of the papers</h1><p>Each study runs the experiments of a paper, draws its figures, and "
        "holds every claim against what came out. A claim is reproduced, or not reproduced and why;"
        " where the paper gives no number, ours is reported. Requirements of our own hold or do not.</p>"
        + _quick_note(quick)
        + "\n".join(rows)
    )
    return page("Reproduction of the papers", body)


def tally(checks: Sequence[Check]) -> str:
    """Number of checks by verdict."""
    found = [(verdict, sum(check.verdict == verdict for check in checks)) for verdict in SIGNS]
    return "<p>" + " ".join(badge(verdict, f"{count} × ") for verdict, count in found if count) + "</p>"


def badge(verdict: str, before: str = "") -> str:
    """Verdict with its sign, so that it can be read without color."""
    return f'<span class="badge {CLASSES[verdict]}">{before}{SIGNS[verdict]} {escape(verdict)}</span>'


def _quick_note(quick: bool) -> str:
    if not quick:
        return ""
    return (
        '<p class="note">This is a quick run: fewer speeds, coarser elements, shorter durations. '
        "The full run is made without <code>--quick</code>.</p>"
    )


def _overview(checks: Sequence[Check]) -> str:
    rows = "".join(
        f'<tr><td>{badge(check.verdict)}</td><td><a href="#{escape(check.id)}">{escape(check.claim)}</a></td>'
        f"<td>{escape(check.where)}</td></tr>"
        for check in checks
    )
    return f"<table><tr><th>verdict</th><th>claim</th><th>where</th></tr>{rows}</table>"


def _claim(check: Check) -> str:
    facts = [("where", check.where), ("published", check.published), ("ours", check.ours)]
    facts += [("our reference", check.reference), ("tolerance", check.tolerance), ("because", check.reason)]
    lines = " &nbsp;·&nbsp; ".join(f"<b>{name}</b> {escape(show(value))}" for name, value in facts if value is not None)
    return (
        f'<h3 id="{escape(check.id)}">{escape(check.claim)}</h3>\n<p class="facts">{badge(check.verdict)} {lines}</p>\n'
        f"<p>{escape(check.text)}</p>"
    )


def _figure(figure: Figure, folder: Path) -> str:
    return picture(figure.name, figure.caption, (folder / f"{figure.name}.png").read_bytes())


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(str(text))}</th>" for text in table.head)
    rows = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in table.rows)
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'{title}<div class="wide"><table><tr>{head}</tr>{rows}</table></div>{note}'


def _cell(value: object) -> str:
    numeric = value is None or (isinstance(plain(value), int | float) and not isinstance(value, bool))
    kind = ' class="number"' if numeric else ""
    return f"<td{kind}>{escape(show(value))}</td>"


def show(value: object) -> str:
    """Number, list or mapping as text for a reader."""
    value = plain(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ") if abs(value) >= 10000 else str(value)
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list):
        return ", ".join(show(entry) for entry in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {show(entry)}" for key, entry in value.items())
    return str(value)
