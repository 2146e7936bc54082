"""The page of a run, opened by a real browser from disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from browser import Tab
from crooked import made_up_run
from figures.test_figure_values import rigid_tip
from pliant.viewer.page import facts, page, page_data, to_html
from pliant.viewer.scenes.scene import scene_of


@pytest.fixture(scope="module")
def run_page(swing: pliant.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swing.to_html(tmp_path_factory.mktemp("page") / "run.html")


@pytest.fixture(scope="module")
def opened(tab: Tab, run_page: Path) -> Tab:
    tab.page.goto(run_page.as_uri())
    tab.until("globalThis.pliantView && pliantView.ready")
    return tab


def seen(tab: Tab) -> np.ndarray:
    tab.page.wait_for_timeout(150)  # the next animation frame, drawn in software
    return tab.picture("#view")


def changed(one: np.ndarray, two: np.ndarray) -> int:
    """Pixels that differ by more than the noise of smoothing."""
    return int((np.abs(one - two).max(axis=2) > 40).sum())


def test_scene_draws_and_moves(opened: Tab) -> None:
    """Saturated pixels are the arm; another time moves it; nothing but the file is loaded, nothing goes wrong."""
    opened.page.evaluate("pliantView.seek(0.0)")
    first = seen(opened)
    assert ((first.max(axis=2) - first.min(axis=2)) > 60).sum() > 300
    opened.page.evaluate("pliantView.seek(0.5)")
    assert changed(first, seen(opened)) > 1000
    assert opened.page.evaluate("pliantView.drawn()")
    assert all(url.startswith(("file:", "blob:", "data:")) for url in opened.requests)
    assert opened.troubles == []


@pytest.mark.parametrize("row", [0, 300, 1000])
def test_page_and_model_agree_on_the_tip(opened: Tab, swing: pliant.Result, row: int) -> None:
    """The page composes joints and deflections itself: float32 angles and 16-bit deflections leave 1e-5 m."""
    opened.page.evaluate(f"pliantView.seek({swing.t[row]})")
    opened.page.evaluate("pliantView.magnify(1)")
    nearest = np.abs(swing.tip - opened.page.evaluate("pliantView.tip()")).max(axis=1).argmin()
    # 600 frames of 1001 rows: between frames the page interpolates linearly, 2e-4 m at this speed
    np.testing.assert_allclose(opened.page.evaluate("pliantView.tip()"), swing.tip[row], atol=3e-4)
    assert abs(int(nearest) - row) <= 1


def test_it_plays_by_itself_where_motion_is_wanted(opened: Tab) -> None:
    page = opened.page
    assert not page.evaluate("pliantView.state.playing")
    try:
        page.emulate_media(reduced_motion="no-preference")
        page.reload()
        opened.until("globalThis.pliantView && pliantView.state.place > 5")
        page.locator("#time").fill("1.0")  # somebody looks closer
        page.wait_for_timeout(150)
        assert page.inner_text("#clock") == "1.000 s"
    finally:
        page.emulate_media(reduced_motion="reduce")
        page.reload()
        opened.until("globalThis.pliantView && pliantView.ready")


def test_controls(opened: Tab) -> None:
    """Play, scrub, speed, magnification, cameras, ghost and tabs."""
    page = opened.page
    page.select_option("#speed", "4")
    page.click("#play")
    opened.until("pliantView.state.place > 5")
    page.click("#play")
    place = page.evaluate("pliantView.state.place")
    page.wait_for_timeout(150)
    assert page.evaluate("pliantView.state.place") == place
    page.locator("#time").fill("1.0")
    assert page.inner_text("#clock") == "1.000 s"
    plain = seen(opened)
    page.locator("#magnify").fill("1")
    assert page.inner_text("#times") == "10"
    assert changed(plain, seen(opened)) > 1000
    page.locator("#magnify").fill("0")
    with_ghost = seen(opened)
    page.click("#ghost")
    assert changed(with_ghost, seen(opened)) > 100
    before = seen(opened)
    page.click("[data-camera=top]")
    assert changed(before, seen(opened)) > 500
    page.click("[data-tab=energy]")
    assert page.locator("#plots h2:visible").all_inner_texts()[0].startswith("energy")
    page.click("[data-tab=run]")
    assert "dop853" in page.inner_text("#facts")
    assert "links.upper.beam.EI_z" in page.inner_text("#facts")
    assert opened.troubles == []


def test_plots_seek_and_zoom_together(opened: Tab) -> None:
    """A click moves the arm to that time; dragging in one plot zooms all of them."""
    page = opened.page
    page.click("[data-tab=motion]")
    area = page.locator(".u-over").first.bounding_box()
    assert area is not None
    page.mouse.click(area["x"] + 0.4 * area["width"], area["y"] + 30)
    assert float(page.inner_text("#clock").split()[0]) == pytest.approx(0.8, abs=0.02)  # one pixel is 6 ms
    page.mouse.move(area["x"] + 0.25 * area["width"], area["y"] + 30)
    page.mouse.down()
    page.mouse.move(area["x"] + 0.50 * area["width"], area["y"] + 30, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    shown = "[...document.querySelectorAll('.cursor')].filter((e) => e.offsetParent)"
    lefts = page.evaluate(f"{shown}.map((e) => parseFloat(e.style.left) / e.parentElement.clientWidth)")
    assert len(lefts) == 4  # joint angles, the tip, and two links
    np.testing.assert_allclose(lefts, 0.6, atol=0.03)  # 0.8 s in the new stretch from 0.5 to 1.0 s
    assert opened.troubles == []


@pytest.mark.full
def test_size_of_two_thousand_rows_of_five_links(crooked: pliant.Result, tmp_path: Path) -> None:
    """Under 5 MB, whatever the number of rows."""
    result = made_up_run(rows=2001)
    result.__dict__["model"] = crooked.model  # what was traced for the one serves the other
    assert to_html(result, tmp_path / "run.html").stat().st_size < 5e6


def data_of(text: str) -> dict[str, Any]:
    held = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert held is not None
    return dict(json.loads(held.group(1)))


def test_names_cannot_leave_their_place() -> None:
    """A title of markup is text, and cannot end the script that holds the data."""
    result = pliant.simulate(pliant.load("spin-up").model(stiffening="off"), 0.1)
    text = page(result, "</script><script>alert(1)</script> @@DATA@@")
    assert "<script>alert" not in text
    assert data_of(text)["title"].startswith("</script>")


@pytest.mark.slow
def test_a_payload_that_is_a_parameter_shows_what_the_run_had() -> None:
    """It comes out of an array: NumPy's truth is none that JSON knows."""
    model = pliant.load("two-link").model(parameters=["payload.mass"])
    for mass, loaded in ((2.0, True), (0.0, False)):
        data = data_of(page(pliant.simulate(model, 0.01, p=[mass])))
        assert [link["loaded"] for link in data["links"]] == [False, loaded]


@pytest.mark.slow
def test_notices_of_the_libraries_are_kept() -> None:
    text = page(pliant.simulate(pliant.load("spin-up").model(stiffening="off"), 0.1))
    assert "three.js authors" in text
    assert "Leon Sorokin" in text
    assert text.count("Permission is hereby granted") >= 2


def test_facts_say_how_the_run_went(swing: pliant.Result) -> None:
    tables = dict(facts(swing))
    assert dict(tables["Run"])["status"].startswith("finished")
    assert dict(tables["Model"])["formulation"] == "denoc"
    links = dict(tables["Links within what the model holds for"])
    assert links == {said.link: str(said).split(": ", 1)[1] for said in swing.validity}
    assert all(text.startswith("slope up to ") for text in links.values())


def test_folder_that_cannot_be_written(swing: pliant.Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(pliant.PliantError, match="could not be written"):
        swing.to_html(tmp_path / "file" / "run.html")


@pytest.mark.slow
@pytest.mark.parametrize("row", [3, 70, 149])
def test_asymmetric_arm_and_its_ghost(crooked_tab: Tab, crooked: pliant.Result, row: int) -> None:
    """The tip stands where the model has it, that of the ghost where motors would put a rigid arm; plots read degrees.

    Rows are frames here, so that nothing is interpolated; 16 bits leave some micrometres.
    """
    page = crooked_tab.page
    page.evaluate(f"pliantView.seek({float(crooked.t[row])!r})")
    np.testing.assert_allclose(page.evaluate("pliantView.tip(1)"), crooked.tip[row], atol=1e-4)
    np.testing.assert_allclose(page.evaluate("pliantView.tip(0)"), rigid_tip(crooked)[row], atol=1e-4)
    read = page.evaluate(
        "[...document.querySelectorAll('#plots .u-legend')].map((e) => [...e.querySelectorAll('.u-series')]"
        ".map((r) => [r.querySelector('.u-label').textContent, r.querySelector('.u-value').textContent]))"
    )
    angles = {label.rstrip(": "): float(value) for label, value in read[0]}
    assert angles["time (s)"] == pytest.approx(crooked.t[row], rel=1e-3)
    for name in ("base", "upper", "fore"):
        assert angles[name] == pytest.approx(np.degrees(crooked[name][row]), rel=1e-3, abs=1e-3)
    assert crooked_tab.troubles == []


def test_scale_of_the_strain_stands_in_the_page(crooked_tab: Tab, crooked: pliant.Result) -> None:
    largest = max(float(link.strain.max()) for link in scene_of(crooked).links)
    number, unit = crooked_tab.page.inner_text("#barmax").split()
    assert float(number) * {"%": 1e-2, "µε": 1e-6}[unit] == pytest.approx(largest, rel=5e-3)
    assert crooked_tab.page.is_visible("#legend")


@pytest.fixture(scope="module")
def crooked_tab(chromium: Any, crooked: pliant.Result, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    path = crooked.to_html(tmp_path_factory.mktemp("crooked") / "run.html")
    with Tab.showing(chromium, path) as tab:
        yield tab


@pytest.mark.slow
def test_a_page_chooses_the_magnification_and_says_it(tab: Tab, tmp_path: Path) -> None:
    """An arm that hangs with a kink of 5 degrees bends by half a millimetre, of which two hundred times is seen."""
    run = pliant.simulate(pliant.load("two-link").model(), 0.3, {"upper": -np.pi / 2, "fore": np.radians(5)})
    tab.page.goto(run.to_html(tmp_path / "run.html").as_uri())
    tab.until("globalThis.pliantView && pliantView.ready")
    chosen = tab.page.evaluate("pliantView.state.magnification")
    away = np.linalg.norm(run.tip - rigid_tip(run), axis=1).max()
    assert 0.2 / 2.5 < chosen * away <= 0.2  # m, a tenth of the reach; steps of the ladder are 2.5 at most
    assert f"deflections are drawn {chosen:g} times larger" in tab.page.locator("#note").inner_text()
    assert tab.page.locator("#times").inner_text() == f"{chosen:g}"
    tab.page.evaluate("pliantView.magnify(1)")
    assert "deflections are drawn as they are" in tab.page.locator("#note").inner_text()


@pytest.mark.slow
def test_a_crowded_curve_of_a_page_is_pale_with_its_mean_over_it(tab: Tab, tmp_path: Path) -> None:
    """Of what swings hundreds of times, a thin line is dark: without it, hardly anything is."""
    run = pliant.simulate(pliant.load("two-link").model(), 5.0, {"upper": -np.pi / 2, "fore": np.radians(5)})
    plots = page_data(run, "run")["plots"]
    index = next(k for k, plot in enumerate(plots) if "fore: deflection" in plot["title"])
    assert all("middle" in series for series in plots[index]["series"])
    tab.page.goto(run.to_html(tmp_path / "run.html").as_uri())
    tab.until("globalThis.pliantView && pliantView.ready")
    canvas = tab.page.locator("#plots canvas").nth(index)
    canvas.scroll_into_view_if_needed()
    tab.page.wait_for_timeout(300)
    shown = tab.picture(f"#plots canvas >> nth={index}")
    color = shown.max(axis=2) - shown.min(axis=2)
    dark, pale = (color > 120).mean(), ((color > 25) & (color <= 120)).mean()
    assert 0.002 < dark < pale / 2
