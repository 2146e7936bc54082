"""The studio as a user meets it: a real browser, real clicks and keys, and what the page then says and shows.

One page serves all tests, in the order of a visit; each begins with the arm at rest on the stage, whatever came before.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant import stages
from pliant.cli import app
from pliant.kernels import records

from .conftest import Tab

SLOW = 90_000
"""ms: first pictures take long where WebGL is drawn by the processor and others use it too."""


class Visitor:
    """Does what a user does: finds controls by their labels, clicks, types, reads."""

    def __init__(self, studio: Any, tab: Tab) -> None:
        self.studio, self.tab, self.page = studio, tab, tab.page

    def row(self, label: str) -> Any:
        """The line of the panel that a label begins."""
        name = self.page.locator("label:visible", has_text=re.compile(f"^{re.escape(label)}$")).first
        return name.locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")

    def control(self, label: str) -> Any:
        """The field, box or list of a line."""
        return self.row(label).locator("input:visible, textarea:visible").first

    def text(self) -> str:
        return str(self.page.locator("body").inner_text())

    def reads(self, words: str, seconds: float = 60.0) -> None:
        self.page.get_by_text(words).first.wait_for(timeout=1e3 * seconds)

    def tab_of(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click(timeout=SLOW)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click(timeout=SLOW)

    def choose(self, label: str, option: str) -> None:
        self.control(label).click(timeout=SLOW)
        self.page.get_by_role("option", name=option, exact=True).click(timeout=SLOW)

    def type(self, label: str, value: str) -> None:
        field = self.control(label)
        field.fill(value, timeout=SLOW)
        field.press("Enter")

    def slide(self, label: str, part: float) -> None:
        """Click on the track of a slider, `part` of the way along."""
        box = self.row(label).locator(".mantine-Slider-track").bounding_box()
        self.page.mouse.click(box["x"] + part * box["width"], box["y"] + box["height"] / 2)

    def numbers(self) -> tuple[int, float, float]:
        """Of the page: the run, the tip's distance at the end (mm), and the lowest frequency (Hz)."""
        text = self.text()
        run = re.search(r"run (\d+): tip", text)
        tip = re.search(r"([\d.e+-]+) (m|mm|µm) at the end", text)
        frequency = re.search(r"frequencies: ([\d.e+-]+)", text)
        assert None not in (run, tip, frequency), text[:600]
        return int(run[1]), float(tip[1]) * {"m": 1e3, "mm": 1.0, "µm": 1e-3}[tip[2]], float(frequency[1])

    def after(self, action: Any, seconds: float = 90.0) -> tuple[int, float, float]:
        """Do it, wait for the page to show a later run, and read its numbers."""
        before, end = self.numbers()[0], time.monotonic() + seconds
        action()
        while True:
            try:
                seen = self.numbers()
            except AssertionError:  # between two texts
                seen = (before, 0.0, 0.0)
            if seen[0] > before:
                return seen
            assert time.monotonic() < end, self.text()[:600]
            time.sleep(0.01)

    def picture(self) -> Any:
        """(H, W, 3) pixels of the scene."""
        return self.tab.picture("canvas >> nth=0")


@pytest.fixture(scope="module")
def visitor(tab: Tab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.view.studio import Studio, address

    folder = tmp_path_factory.mktemp("studio")
    (folder / "broken.yaml").write_text("name: x\nlinks: [{name: a, beam: {length: -1, mass_per_length: 1}}]\n")
    studio = Studio(folder, "two-link", port=8471)
    page = tab.page
    page.set_viewport_size({"width": 780, "height": 900})  # the whole panel, and a scene small enough to draw
    page.goto(address(studio.server))
    page.get_by_text("done").first.wait_for(timeout=SLOW)
    (visit,) = studio.visits.values()
    visit.stage.play.value = False  # pictures are compared
    yield Visitor(visit, tab)
    studio.close()


def test_stiffness_slider(visitor: Visitor) -> None:
    """A stiffer arm rings faster: with the joints locked, as the root of the stiffness."""
    first = visitor.numbers()
    stiff = visitor.after(lambda: visitor.slide("stiffness ×", 0.8))
    factor = visitor.studio.choices.stiffness
    assert 3.5 < factor < 4.5  # eight tenths of the way from 0.05 to 5
    assert stiff[2] / first[2] == pytest.approx(np.sqrt(factor), rel=1e-3)  # four digits stand in the page
    assert stiff[1] != first[1]
    assert visitor.row("stiffness ×").get_by_role("slider").get_attribute("aria-valuenow") == f"{factor:g}"


def test_a_new_structure_says_what_is_done_and_then_shows_it(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing in the cache, the page tells of tracing and compiling while they last."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(records, "code_stamp", lambda: None)
    monkeypatch.setattr(stages, "PATIENCE", 0.02)
    monkeypatch.setattr(stages, "EVERY", 0.02)
    told: list[str] = []
    say = visitor.studio._say
    monkeypatch.setattr(visitor.studio, "_say", lambda *words: (told.append(" ".join(words)), say(*words)))
    coordinates = visitor.studio.run.result.model.n

    def change() -> None:
        visitor.type("modes per direction", "2")
        visitor.reads("two-link elastic arm (", 30.0)  # what is done with it, and the seconds

    try:
        visitor.after(change)
        assert visitor.studio.run.result.model.n == coordinates + 2
        stage = re.compile(r"running.* (building|preparing|tracing|compiling) .* \(\d+ s\)")
        assert any(stage.search(text) for text in told), told
    finally:
        visitor.after(lambda: visitor.type("modes per direction", "0"))


def test_payload_slider(visitor: Visitor) -> None:
    after = visitor.after(lambda: visitor.slide("payload (kg)", 0.5))
    chosen = visitor.studio.choices
    assert chosen.payload == pytest.approx(5.0, abs=0.3)
    stiff = {
        f"links.{name}.beam.{key}": 1000 * chosen.stiffness for name in ("upper", "fore") for key in ("EI_y", "EI_z")
    }
    robot = pliant.load("two-link").replace({**stiff, "payload.mass": chosen.payload})
    assert after[2] == pytest.approx(robot.model().frequencies(np.zeros(4))[0], rel=1e-3)  # four digits


def test_stiffening_is_ticked(visitor: Visitor) -> None:
    assert visitor.studio.run.result.options["stiffening"] == "second-order"
    visitor.after(lambda: visitor.control("geometric stiffening").uncheck(timeout=SLOW))
    assert visitor.studio.run.result.options["stiffening"] is False
    visitor.after(lambda: visitor.control("geometric stiffening").check(timeout=SLOW))


def test_a_controlled_move(visitor: Visitor) -> None:
    """Controller, manoeuvre, goal and duration are chosen; run is pressed; the joints arrive."""
    visitor.tab_of("manoeuvre")
    visitor.choose("controller", "pd")
    visitor.choose("manoeuvre", "move")
    visitor.type("duration (s)", "8")
    visitor.after(lambda: visitor.press("run"))
    assert "from the goal" in visitor.text()
    result = visitor.studio.run.result
    assert result.t[-1] == 8.0
    # The goal that the sliders start with; gains made for the bare arm carry 5 kg, and it swings for a while.
    assert result.q[-1, :2] == pytest.approx(np.radians([30, 30]), abs=0.1)


def test_runs_are_overlaid(visitor: Visitor) -> None:
    """A kept run stays beside the next, in the scene and in the plot."""
    visitor.tab_of("results")
    visitor.press("keep for comparison")
    visitor.reads("runs are overlaid")
    visitor.reads("kept 1")
    visitor.tab_of("arm")
    visitor.after(lambda: visitor.slide("stiffness ×", 0.05))
    assert len(visitor.studio.kept) == 1
    visitor.tab_of("results")
    assert "largest strain energy" in visitor.text()
    visitor.press("forget kept runs")
    visitor.page.get_by_text("kept 1").wait_for(state="detached", timeout=SLOW)


def test_saved_scenario_runs_on_the_command_line(visitor: Visitor) -> None:
    visitor.tab_of("file")
    visitor.type("file name", "mine.yaml")
    visitor.press("save scenario")
    visitor.reads("pliant simulate mine.yaml")
    path = visitor.studio.shelf.folder / "mine.yaml"
    answer = CliRunner().invoke(app, ["simulate", str(path), "--t-end", "0.2", "--out", str(path.parent / "out")])
    assert answer.exit_code == 0, answer.output
    assert pliant.Result.load(path.parent / "out" / "run.nc").t[-1] == 0.2
    visitor.press("save scenario")
    visitor.reads("it exists already")
    visitor.type("file name", "../../outside.yaml")
    visitor.press("save scenario")
    visitor.reads("expected the name of a file in")


def test_bad_files_and_values_are_answered(visitor: Visitor) -> None:
    """A message that names the fault; the arm on the stage, and its name, stay."""
    run = visitor.studio.run
    visitor.tab_of("arm")
    visitor.choose("arm or file", "broken.yaml")
    visitor.reads("broken.yaml: ")
    visitor.reads("beam.length")
    visitor.tab.until("[...document.querySelectorAll('input')].some((e) => e.value === 'two-link')")
    visitor.tab_of("manoeuvre")
    visitor.type("duration (s)", "-1")
    visitor.press("run")
    visitor.reads("got -1.0, expected a positive number")
    assert visitor.studio.run is run
    visitor.type("duration (s)", "3")
    visitor.after(lambda: visitor.press("run"))


def test_the_scene_is_drawn_and_moves(visitor: Visitor) -> None:
    """Pixels differ from the background, and between two times."""
    seen = []
    for now in ("0", "1"):
        visitor.type("t (s)", now)  # the number beside the slider
        visitor.page.wait_for_timeout(1500)
        seen.append(visitor.picture())
    assert visitor.studio.stage.clock.value == 1.0
    background = seen[0][3, 3]
    dark = np.abs(seen[0] - background).max(axis=2) > 60
    assert dark.sum() > 300
    assert (np.abs(seen[0] - seen[1]).max(axis=2) > 60).sum() > 150


WATCH = """
globalThis.pliantTimes = [];
let pressed = 0, seen = null;
document.addEventListener("pointerdown", () => { pressed = performance.now(); }, true);
document.addEventListener("mousedown", () => { pressed = pressed || performance.now(); }, true);
new MutationObserver(() => {
  const run = /run (\\d+): tip/.exec(document.body.textContent)?.[1];
  if (!run || run === seen) return;
  if (seen && pressed) pliantTimes.push(performance.now() - pressed);
  seen = run;
  pressed = 0;
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


@pytest.mark.full  # the default set times the computing alone, in test_studio.py
def test_slider_to_new_data_in_the_page(visitor: Visitor, record_property: Any) -> None:
    """From the press on a slider to the numbers of a new run of 5 s in the page, by the page's own clock.

    Half a second is the promise, on a machine that draws by its graphics card. Here one processor draws, computes and
    runs other tests, so the bound is four times that, for the least of six; what was measured is printed and recorded.
    """
    visitor.tab_of("manoeuvre")
    visitor.choose("controller", "none")
    visitor.choose("manoeuvre", "release")
    visitor.type("duration (s)", "5")
    visitor.after(lambda: visitor.press("run"))
    visitor.tab_of("arm")
    visitor.page.evaluate(WATCH)
    for part in (0.9, 0.3, 0.5, 0.7, 0.4, 0.6, 0.8):  # the first, far from 1, tells the watch where counting starts
        visitor.after(lambda part=part: visitor.slide("stiffness ×", part))
        assert not visitor.studio.run.compiled
        assert visitor.studio.run.result.t[-1] == 5.0
    took = [1e-3 * t for t in visitor.page.evaluate("pliantTimes")]
    assert len(took) == 6
    said = f"slider to numbers in the page: least {min(took):.3f} s, median {statistics.median(took):.3f} s"
    print(said)
    record_property("measured", said)
    assert min(took) < 2.0


TELL = """
globalThis.pliantTold = [];
globalThis.pliantShown = [];
let asked = 0, told = false, before = /run (\\d+): tip/.exec(document.body.textContent)?.[1];
document.addEventListener("input", () => { asked = performance.now(); told = false; }, true);
new MutationObserver(() => {
  if (!asked) return;
  const text = document.body.textContent, run = /run (\\d+): tip/.exec(text)?.[1];
  if (!told && /running: /.test(text)) { told = true; pliantTold.push(performance.now() - asked); }
  if (run && run !== before) { before = run; pliantShown.push(performance.now() - asked); asked = 0; }
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


@pytest.mark.full
def test_a_new_structure_of_the_lab_arm_by_the_clock_of_the_page(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    """From the new number to the word that it runs (within 1 s, with an empty cache) and to the numbers of the new
    run (within 2 s, where both structures are known)."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    visitor.tab_of("arm")
    visitor.after(lambda: visitor.choose("arm or file", "lab-arm"), 180.0)
    visitor.page.wait_for_timeout(1000)  # the controls of the new arm
    visitor.page.evaluate(TELL)
    for modes in ("1", "2", "1", "2", "1", "2"):  # the file has two
        visitor.after(lambda modes=modes: visitor.type("modes per direction", modes), 60.0)
    told, shown = (np.array(visitor.page.evaluate(f"pliant{name}")) / 1e3 for name in ("Told", "Shown"))
    assert len(shown) == 6
    said = f"lab arm: word after {told[0]:.2f} s cold, numbers after {shown[0]:.2f} s cold, {max(shown[2:]):.2f} s warm"
    print(said)
    record_property("measured", said)
    assert told[0] < 1.0
    assert max(shown[2:]) < 2.0


def test_nothing_went_wrong_and_nothing_was_fetched(visitor: Visitor) -> None:
    assert all("127.0.0.1" in url or url.startswith(("data:", "blob:")) for url in visitor.tab.requests)
    assert visitor.tab.troubles == []


def test_page_is_ended_with_the_folder_unharmed(visitor: Visitor) -> None:
    """The visit wrote nothing but one scenario and what the command line made of it (tests may share the visit out)."""
    folder: Path = visitor.studio.shelf.folder
    assert {path.name for path in folder.iterdir()} <= {"broken.yaml", "mine.yaml", "out"}
