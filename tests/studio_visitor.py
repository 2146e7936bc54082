"""A visitor of the studio: finds controls by their labels in a real browser, uses every one of them, and looks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from browser import Tab
from pliant.studio import run as studio_run
from pliant.studio.choices import positioned
from pliant.studio.file_panel import NAMES
from pliant.studio.texts import vibrations
from pliant.viewer.browser.charts import CLOCK, PLOTS
from pliant.viewer.browser.viewer_meshes import Ball

SLOW = 90_000
"""ms: first pictures take long where WebGL is drawn by the processor and others use it too."""
SCENE = "canvas[data-engine]"
SUMMARY = re.compile(r"run (\d+): tip")
CHARTS = "Object.values(globalThis.__viserTestpoints?.uplots ?? {}).map(({ chart }) => chart)"
LABELS = f"{CHARTS}.map((chart) => chart.series.map((s) => s.label))"
COLUMNS = f"{CHARTS}.map((chart) => chart.data.map((c) => Array.from(c)))"
CLOCKS = f"""
{CHARTS}.filter((chart) => chart.series.at(-1).label === "t").flatMap(
  ({{ data }}) => Array.from(data[0]).filter((_, k) => data.at(-1)[k] === 0))
"""
"""Where the lines of the clock stand, in seconds: the whole columns would take long to come over."""


class Visitor:
    """Does what a user does: finds controls by their labels, clicks, types, reads; remembers what was used."""

    def __init__(self, studio: Any, tab: Tab) -> None:
        self.studio, self.tab, self.page = studio, tab, tab.page
        self.used: set[str] = set()

    # ------------------------------------------------------------------------------------------------- hands

    def row(self, label: str) -> Any:
        """The line of the panel that a label begins."""
        self.used.add(label)
        name = self.page.locator("label:visible", has_text=re.compile(f"^{re.escape(label)}$")).first
        return name.locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")

    def control(self, label: str) -> Any:
        """The field, box or list of a line."""
        return self.row(label).locator("input:visible, textarea:visible").first

    def labels(self) -> set[str]:
        """Labels that are seen."""
        return set(self.page.locator("label:visible").all_inner_texts())

    def tab_of(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click(timeout=SLOW)

    def press(self, name: str) -> None:
        self.used.add(name)
        self.page.get_by_role("button", name=name, exact=True).click(timeout=SLOW)

    def choose(self, label: str, option: str) -> None:
        self.control(label).click(timeout=SLOW)
        self.page.get_by_role("option", name=option, exact=True).click(timeout=SLOW)

    def type(self, label: str, value: str) -> None:
        field = self.control(label)
        field.fill(value, timeout=SLOW)
        field.press("Enter")

    def tick(self, label: str, wanted: bool = True) -> None:
        self.control(label).set_checked(wanted, timeout=SLOW)

    def slide(self, label: str, part: float) -> None:
        """Click on the track of a slider, `part` of the way along, wherever the fonts of the machine put it: playwright
        scrolls to it first, and fails where something else lies over it."""
        track = self.row(label).locator(".mantine-Slider-track")
        box = track.bounding_box()
        track.click(position={"x": part * box["width"], "y": box["height"] / 2}, timeout=SLOW)

    # -------------------------------------------------------------------------------------------------- eyes

    def text(self) -> str:
        return str(self.page.locator("body").inner_text())

    def reads(self, words: str, seconds: float = 60.0) -> None:
        self.page.get_by_text(words).first.wait_for(timeout=1e3 * seconds)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 90.0) -> None:
        """Wait for something that the server knows."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not within {seconds} s: {what}; the page: {self.text()[:600]}"
            self.page.wait_for_timeout(20)

    def numbers(self) -> tuple[int, float, float]:
        """Of the page: the run, the tip's distance at the end (mm), and the lowest frequency (Hz; NaN if rigid)."""
        text = str(self.page.get_by_text(SUMMARY).first.inner_text())  # of all of the page it would take long
        run = SUMMARY.search(text)
        tip = re.search(r"([\d.e+-]+) (m|mm|µm) at the end", text)
        frequency = re.search(r"frequencies: ([\d.e+-]+|none)", text)
        assert None not in (run, tip, frequency), text[:600]
        lowest = np.nan if frequency[1] == "none" else float(frequency[1])
        return int(run[1]), float(tip[1]) * {"m": 1e3, "mm": 1.0, "µm": 1e-3}[tip[2]], lowest

    def after(self, action: Callable[[], Any], seconds: float = 90.0) -> tuple[int, float, float]:
        """Do it, wait for the page to show a later run, and read its numbers."""
        before, end = self.numbers()[0], time.monotonic() + seconds
        action()
        self.until(lambda: self.studio.count > before, "another run", seconds)
        while (seen := self.numbers())[0] <= before:
            assert time.monotonic() < end, self.text()[:600]
            self.page.wait_for_timeout(50)
        return seen

    def picture(self) -> Any:
        """(H, W, 3) pixels of the scene."""
        return self.tab.picture(SCENE)

    def settled_picture(self) -> Any:
        """Of the scene, once two pictures are alike."""
        before = self.picture()
        for _ in range(40):
            self.page.wait_for_timeout(150)
            now = self.picture()
            if np.abs(now - before).max() < 8:
                return now
            before = now
        return before

    def differs(self, before: Any, level: int, pixels: int, what: str) -> Any:
        """Wait for a picture of the scene in which so many pixels differ by so much; then for it to settle."""
        self.until(lambda: (np.abs(self.picture() - before).max(axis=2) > level).sum() > pixels, what)
        return self.settled_picture()

    def chart_labels(self) -> list[list[str]]:
        """Of the curves of each chart, x first."""
        return list(self.page.evaluate(LABELS))

    def clock_lines(self) -> list[float]:
        """Of every chart on the page, where a line of the clock's color stands: pixels from the left."""
        wanted, found = np.array(list(bytes.fromhex(CLOCK[1:]))), []
        for k in range(self.page.locator(".uplot canvas").count()):
            pixels = self.tab.picture(f".uplot canvas >> nth={k}")
            hits = (np.abs(pixels - wanted).max(axis=2) < 60).sum(axis=0)
            if hits.max(initial=0) > 40:
                found.append(float(hits.argmax()))
        return found


# ---------------------------------------------------------------------------------------------------------- the visit


def look_at_the_stage(v: Visitor) -> None:
    """Time, speed, magnification and ghost: each changes the picture as it should."""
    stage, end = v.studio.stage, v.studio.stage.clock.max
    v.type("t (s)", "0")
    v.type("deflection ×", "1")
    first = v.settled_picture()
    background = first[3, 3]
    assert (np.abs(first - background).max(axis=2) > 60).sum() > 200, "nothing is drawn"
    v.type("t (s)", f"{0.5 * end:.3f}")
    v.until(lambda: abs(stage.clock.value - 0.5 * end) < 0.01 * end, "the clock")
    second = v.differs(first, 40, 60, "the arm moves")
    v.type("deflection ×", "60")
    v.until(lambda: stage.magnify.value == 60, "the magnification")
    bends = float(v.studio.plots.away.max()) > 1e-6
    third = v.differs(second, 40, 30, "magnified bending is seen") if bends else second
    v.tick("rigid ghost", False)
    v.until(lambda: not stage.ghost.value, "the ghost")
    if bends:
        v.differs(third, 8, 20, "the ghost goes")
    v.tick("rigid ghost")
    v.type("deflection ×", "1")
    if stage.scene.flies:
        v.tick("follow the base", False)
        v.until(lambda: not stage.follow.value, "the base is not followed")
        v.tick("follow the base")
    v.choose("speed", "0.25")
    v.tick("play")
    before = stage.clock.value
    v.until(lambda: stage.clock.value not in (before, 0.0), "the clock runs")
    v.tick("play", False)
    v.until(lambda: not stage.play.value, "the clock stands")
    v.choose("speed", "1")
    assert isinstance(stage.joints[0], Ball)


def look_at_the_plots(v: Visitor) -> None:
    """Each plot can be shown; its curves are those of the run, and its line goes with the clock."""
    v.tab_of("results")
    result, end = v.studio.run.result, float(v.studio.run.result.t[-1])
    for name in PLOTS:
        v.tick(name)
        v.until(lambda name=name: v.studio.plots.folders[name].visible, name)
    v.until(lambda: len(v.chart_labels()) == sum(map(len, v.studio.plots.charts.values())), "charts on the page")
    joints = v.studio.plots.charts["joints"]
    for now in (0.25 * end, 0.75 * end):
        v.type("t (s)", f"{now:.3f}")
        v.reads(f"t = {v.studio.stage.clock.value:.3f} s")
        v.until(lambda now=now: all(abs(at - now) < 2e-3 * end + 1e-3 for at in clock_places(v)), "lines of the clock")
    assert len(clock_places(v)) >= 3
    labels, columns = v.chart_labels(), v.page.evaluate(COLUMNS)
    for chart, handle in joints:
        shown = columns[labels.index([s["label"] for s in handle.series])]
        x, first = (np.array(shown[k], dtype=float) for k in (0, 1))
        name = chart.lines[0].label if len(chart.lines) > 2 else chart.title.rpartition(", ")[2]
        unit, scale = pliant.drawing.figure_data.position_unit(result.robot, name)
        np.testing.assert_allclose(first, scale * np.interp(x, result.t, result[name]), atol=1e-2, err_msg=unit)
    v.page.locator(".uplot").first.scroll_into_view_if_needed()
    early = v.clock_lines()
    v.type("t (s)", f"{0.25 * end:.3f}")
    v.until(lambda: max(clock_places(v)) < 0.3 * end, "lines of the clock")
    v.page.wait_for_timeout(300)
    late = v.clock_lines()
    assert early
    assert late
    assert early[0] - late[0] > 50, "the drawn line does not follow the clock"
    for name in PLOTS:
        v.tick(name, name in ("joints", "deflection"))
    v.until(lambda: len(v.chart_labels()) <= len(joints) + 1, "plots are put away")


def clock_places(v: Visitor) -> list[float]:
    """Where the lines of the clock stand, in seconds."""
    return list(v.page.evaluate(CLOCKS))


def change_everything(v: Visitor) -> None:
    """With running at once switched off: each control reaches the studio, which says that run has to be pressed."""
    v.tick("run at once", False)
    v.until(lambda: not v.studio.live.value, "nothing runs at once")
    v.tab_of("arm")
    sliders = {
        "stiffness ×": ("stiffness", "0.8"), "drive stiffness ×": ("drive_stiffness", "1.5"),
        "damping ratio": ("damping", "0.02"), "gravity ×": ("gravity", "0.9"), "modes per direction": ("modes", "1"),
    }  # fmt: skip
    for label, (name, value) in sliders.items():
        v.type(label, value)
        v.until(lambda name=name, value=value: getattr(v.studio.choices, name) == float(value), label)
    v.reads("press run")
    v.slide("payload (kg)", 0.1)
    v.until(lambda: v.studio.choices.payload > 0, "payload")
    for wanted in (False, True):
        v.tick("geometric stiffening", wanted)
        v.until(lambda wanted=wanted: v.studio.choices.stiffening == wanted, "stiffening")
    for name in ("gibbs-appell", "denoc"):
        v.choose("formulation", name)
        v.until(lambda name=name: v.studio.choices.formulation == name, "formulation")
    v.tab_of("maneuver")
    v.choose("controller", "ideal joints")
    v.choose("maneuver", "hold")
    v.until(lambda: v.studio.choices.maneuver == "hold", "maneuver")
    for label, (name, value) in {
        "loop frequency (Hz)": ("frequency", "1.3"), "time of the move (s)": ("move_time", "0.2"),
        "duration (s)": ("duration", "0.3"),
    }.items():  # fmt: skip
        v.type(label, value)
        v.until(lambda name=name, value=value: getattr(v.studio.choices, name) == float(value), label)
    for k, (link, freedom) in enumerate(positioned(v.studio.choices.robot)):
        scale, start, goal = v.studio.maneuver.joints[k]
        for which, handle in (("start", start), ("goal", goal)):
            if not handle.visible:
                continue
            value = round(0.9 * handle.value + 0.1 * (handle.max if handle.value < handle.max else handle.min), 2)
            label = f"{freedom.name(link.name)} {which}"
            v.type(label, f"{value:g}")
            v.until(lambda k=k, which=which, value=value, scale=scale: near(v, which, k, value / scale), label)
    for k, handle in enumerate(v.studio.maneuver.commands):
        v.type(handle.label, "0.2")
        v.until(lambda k=k: v.studio.choices.commands[k] == 0.2, handle.label)
    v.tick("run at once")


def near(v: Visitor, which: str, k: int, value: float) -> bool:
    return abs(getattr(v.studio.choices, which)[k] - value) < 0.02


def run_and_cancel(v: Visitor, seconds: float) -> None:
    """The button runs what was chosen; another ends a run without an end, whatever the arm would take for one."""
    v.after(lambda: v.press("run"), seconds)
    assert v.studio.run.result.t[-1] == 0.3
    v.studio.wait()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studio_run, "simulate", endless)
        v.press("run")
        v.until(lambda: not v.studio.cancel.disabled, "a long run")
        v.press("cancel")
        v.until(lambda: v.studio.wait(0.0), "the end of the long run")
    v.reads("cancelled")


def endless(*_: Any, progress: Callable[[float], None], **__: Any) -> None:
    while True:
        progress(0.0)
        time.sleep(0.01)


def compare_runs(v: Visitor) -> None:
    """A kept run stays beside the next, in the scene, in the plots and in a table."""
    v.tab_of("results")
    v.press("keep for comparison")
    v.reads("runs are overlaid")
    v.tab_of("arm")
    v.after(lambda: v.type("stiffness ×", "0.3"))
    v.tab_of("results")
    v.reads("tips apart")
    v.until(lambda: "kept 1" in str(v.chart_labels()), "kept curves")
    v.press("forget kept runs")
    v.until(lambda: "kept 1" not in str(v.chart_labels()), "no kept curves")


def edit_numbers(v: Visitor, seconds: float) -> None:
    """A number in place: the frequencies in the page follow, and go back with undo."""
    v.tab_of("numbers")
    panel = v.studio.numbers
    links = v.studio.choices.robot.links
    beams = [link.name for link in links if link.beam is not None and not link.beam.slides]  # whose length is their own
    for part in (links[-1].name, *beams[:1]):  # all others hang on the first, which bends slowest
        v.choose("part", part)
        v.until(lambda part=part: all(path.startswith(f"links.{part}.") for path in panel.fields), "part")
    few = {field.label for field in panel.fields.values()}
    v.tick("zeros too")
    v.until(lambda: len(panel.fields) > len(few), "zeros")
    every = {field.label for field in panel.fields.values()}
    v.until(lambda: every <= v.labels(), "zeros on the page")
    v.tick("zeros too", False)
    v.until(lambda: len(panel.fields) == len(few), "no zeros")
    v.until(lambda: every & v.labels() == few, "no zeros on the page")  # what is typed into fields that go is lost
    path = f"links.{part}.beam.length" if beams else next(iter(panel.fields))
    label, old = path.removeprefix(f"links.{part}."), panel.fields[path].value
    first = v.numbers()[2]
    changed = v.after(lambda: v.type(label, f"{1.05 * old:.6g}"), seconds)
    assert v.studio.choices.edits == ((path, float(f"{1.05 * old:.6g}")),)
    if beams:
        assert changed[2] != first, "another length has other frequencies"
        assert f"{changed[2]:g}" == f"{vibrations(v.studio.run)[0]:.4g}"
        assert f"{changed[2]:g}" in v.page.locator("table:visible", has_text="mode").first.inner_text()
    back = v.after(lambda: v.press("undo"), seconds)
    assert v.studio.choices.edits == ()
    assert back[2] == first or not beams
    again = v.after(lambda: v.press("redo"), seconds)
    assert again[2] == changed[2] or not beams
    v.after(lambda: v.press("undo"), seconds)


def draw_maps(v: Visitor, seconds: float) -> None:
    """A picture of the frequencies over a joint, and of the damping of a loop; a spin is drawn or refused in words."""
    v.tab_of("maps")
    panel, joints = v.studio.maps, v.studio.maps.first.options
    v.choose("of joint", joints[0])
    if len(joints) > 1:
        v.choose("of joint", joints[-1])
    v.choose("and joint", "none")
    v.type("vibration", "1")
    v.type("up to (rev/min)", "20")
    for kind in ("frequency", "damping under pd", "spin"):
        v.choose("map", kind)
        v.until(lambda kind=kind: panel.kind.value == kind, "kind of map")
        before = panel.image.image
        v.studio.status.content = ""
        v.press("draw the map")
        v.until(lambda: re.search("map of|not possible", v.studio.status.content), "a map", seconds)
        assert "failed" not in v.studio.status.content
        assert (panel.image.image is not before) == ("map of" in v.studio.status.content)


def save_and_open(v: Visitor, folder: Path, seconds: float, video: bool) -> None:
    """Every file arrives in the folder and by the browser, and is what it says; an arm and a run open again."""
    names = {"scenario": "mine.yaml", "robot": "copy.yaml", "run": "mine.nc", "page": "mine.html"}
    taken = save_and_take(v, folder, names | ({"video": "mine.gif"} if video else {}), seconds)
    result = v.studio.run.result
    assert np.array_equal(pliant.Result.load(folder / "mine.nc").q, result.q)
    assert pliant.Scenario.load(folder / "mine.yaml").duration == float(result.t[-1])
    assert pliant.load(folder / "copy.yaml").name == result.robot.name
    assert b"</html>" in taken["page"]
    if video:
        assert taken["video"].startswith(b"GIF89a")
    open_again(v, folder, "mine.nc", seconds)
    assert np.array_equal(v.studio.run.result.q, result.q)


def save_and_open_a_scenario(v: Visitor, folder: Path, seconds: float) -> None:
    """The same of what takes no time to write; test_studio.py writes the others."""
    result = v.studio.run.result
    save_and_take(v, folder, {"scenario": "mine.yaml"}, seconds)
    assert pliant.Scenario.load(folder / "mine.yaml").duration == float(result.t[-1])
    open_again(v, folder, "mine.yaml", seconds)
    assert v.studio.run.result.robot.name == result.robot.name
    assert v.studio.choices.duration == float(result.t[-1])


def save_and_take(v: Visitor, folder: Path, names: dict[str, str], seconds: float) -> dict[str, bytes]:
    """Save each kind into the folder and by the browser, which gets the same bytes but of a run, which has its time."""
    taken: dict[str, bytes] = {}
    v.tab_of("file")
    for kind, name in names.items():
        v.choose("what", kind)
        v.until(lambda kind=kind: v.control("file name").input_value() == NAMES[kind], "the usual name")
        v.type("file name", name)
        v.until(lambda name=name: v.studio.file.file.value == name, "file name")
        v.press("save into the folder")
        v.until(lambda name=name: (folder / name).exists(), name, seconds)
        v.until(lambda: "saved" in v.studio.status.content, "saved", seconds)
        with v.page.expect_download(timeout=1e3 * seconds) as waiting:
            v.press("download")
        assert waiting.value.suggested_filename == name
        taken[kind] = Path(waiting.value.path()).read_bytes()
        assert kind == "run" or taken[kind] == (folder / name).read_bytes()
    return taken


def open_again(v: Visitor, folder: Path, name: str, seconds: float) -> None:
    """From the machine of the browser, then from the list."""
    v.used.add("open a file")
    sent = {"name": f"sent{Path(name).suffix}", "mimeType": "text/plain", "buffer": (folder / name).read_bytes()}
    v.after(lambda: v.page.locator("input[type=file]").set_input_files(sent), seconds)
    v.tab_of("arm")
    v.after(lambda: v.choose("arm or file", name), seconds)
    v.until(lambda: v.studio.name == name, "the file")


def everything_was_used(v: Visitor) -> None:
    """No control of the page was left out; of the fields of numbers, which are alike, one stands for all."""
    from viser import GuiMarkdownHandle

    numbers = {field.label for field in v.studio.numbers.fields.values()}
    handles = v.studio.page.gui._gui_input_handle_from_uuid.values()
    labels = {handle.label for handle in handles if not isinstance(handle, GuiMarkdownHandle) and handle.visible}
    assert labels - v.used - numbers == set()


def brief_visit(visitor: Visitor, folder: Path, limit: float) -> None:
    """What most visitors do: look, change, run, edit, save."""
    look_at_the_stage(visitor)
    look_at_the_plots(visitor)
    change_everything(visitor)
    run_and_cancel(visitor, limit)
    edit_numbers(visitor, limit)
    save_and_open_a_scenario(visitor, folder, limit)


def whole_visit(visitor: Visitor, folder: Path, limit: float, video: bool) -> None:
    """Every control is used, and what it does is looked at; runs may take `limit` seconds."""
    look_at_the_stage(visitor)
    look_at_the_plots(visitor)
    change_everything(visitor)
    run_and_cancel(visitor, limit)
    compare_runs(visitor)
    edit_numbers(visitor, limit)
    draw_maps(visitor, limit)
    save_and_open(visitor, folder, limit, video=video)
    everything_was_used(visitor)
