"""Names that are markup, in everything that a browser shows: each is read as it is, and nothing in it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pliant
from browser import STILL, Tab
from hostile import NAMES
from pliant.base.quoting import JOINER

SLOW = 90.0
FOREIGN = """
[...document.querySelectorAll("body *")].filter((e) =>
  e.matches("[onerror], [onload], a[href*='evil'], a[href^='javascript'], img[src='x'], img[src*='evil']")
).map((e) => e.outerHTML.slice(0, 200))
"""


def _arm(name: str) -> pliant.Robot:
    return pliant.load("two-link").model_copy(update={"name": name})


@pytest.fixture(scope="module")
def runs() -> list[pliant.Result]:
    """Also with hostile words where a file of a stranger may have them."""
    found = []
    for name in NAMES:
        run = pliant.simulate(_arm(name).model(stiffening="off"), 0.05, progress=False)
        run.options["formulation"] = name
        found.append(run)
    return found


@pytest.fixture
def page(chromium: Any) -> Iterator[Tab]:
    opened = chromium.new_page(**STILL)
    yield Tab(opened)
    opened.close()


def _nothing_ran(tab: Tab) -> None:
    tab.page.wait_for_timeout(300)
    assert tab.page.evaluate("globalThis.pwned") is None
    assert tab.page.evaluate(FOREIGN) == []
    assert not [url for url in tab.requests if "evil" in url or url.endswith("/x")]


def _shows(tab: Tab, text: str, where: str = "body") -> None:
    """Some element, without what cannot be seen, reads so."""
    seen = f"(e) => e.innerText.replaceAll({json.dumps(JOINER)}, '').replace(/\\s+/g, ' ').includes({json.dumps(text)})"
    tab.until(f"[...document.querySelectorAll({json.dumps(where)})].some({seen})", SLOW)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("k", [pytest.param(k, marks=[pytest.mark.full] * (k != 3)) for k in range(len(NAMES))])
def test_the_page_of_a_run(page: Tab, runs: list[pliant.Result], k: int, tmp_path: Path) -> None:
    path = runs[k].to_html(tmp_path / "run.html")
    page.page.goto(path.as_uri())
    page.until("document.getElementById('title').textContent.length > 0")
    assert page.page.locator("#title").inner_text() == NAMES[k]
    assert page.page.title() == NAMES[k]
    _nothing_ran(page)


@pytest.mark.slow
def test_notebooks(page: Tab, runs: list[pliant.Result]) -> None:
    """Robot, model and result on one page."""
    shown = [
        block for run in runs[:1] for block in (run.robot._repr_html_(), run.model._repr_html_(), run._repr_html_())
    ]
    page.page.set_content("".join(shown))
    titles = page.page.locator("b").all_inner_texts()
    expected = [f"{what}{name}" for name in NAMES[:1] for what in ("", "model of ", "run of ")]
    assert [_squeezed(title) for title in titles] == expected
    _nothing_ran(page)


@pytest.mark.slow
@pytest.mark.parametrize("k", [pytest.param(k, marks=[pytest.mark.full] * (k != 1)) for k in range(len(NAMES))])
def test_the_viewer(page: Tab, runs: list[pliant.Result], k: int) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.viewer.browser.server import address, view

    server = view(runs[k], 8495)
    try:
        page.page.goto(address(server))
        _shows(page, NAMES[k], "strong")
        _nothing_ran(page)
    finally:
        server.stop()


@pytest.mark.full
@pytest.mark.parametrize("k", range(len(NAMES)))
def test_the_studio(page: Tab, k: int, tmp_path: Path) -> None:
    """The arm's name, and a file that is refused with its name and words in the message."""
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.studio.studio import Studio, address

    _arm(NAMES[k]).save(tmp_path / "arm.yaml")
    made = Studio(tmp_path, "arm.yaml", port=8496)
    try:
        page.page.goto(address(made.server))
        page.page.get_by_text("done").first.wait_for(timeout=1e3 * SLOW)
        (visit,) = made.visits.values()
        visit._say("not possible", NAMES[k])
        _shows(page, f"not possible: {NAMES[k]}")
        page.page.get_by_role("tab", name="maneuver", exact=True).click(timeout=1e3 * SLOW)
        _shows(page, NAMES[k])
        _nothing_ran(page)
    finally:
        made.close()


def test_figures_set_the_name(runs: list[pliant.Result], tmp_path: Path) -> None:
    """Dollars in a name are no formula: Matplotlib would refuse a wrong one."""
    pliant.view.compare(runs[2], runs[4], path=tmp_path / "two.png")
