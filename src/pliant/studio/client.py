"""Page of one visitor of the studio: panels, the run that is shown, and the thread that computes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pliant.base.derived import SYMBOLS
from pliant.base.quoting import quoted
from pliant.base.stages import listening
from pliant.errors import PliantError
from pliant.model.robot import Robot
from pliant.simulation.runs.results import Result
from pliant.studio.arm_panel import ArmPanel
from pliant.studio.choices import Choices, fitting
from pliant.studio.file_panel import FilePanel, uploaded
from pliant.studio.files import Shelf
from pliant.studio.maneuver_panel import ManeuverPanel
from pliant.studio.maps_panel import MapsPanel, map_figure, picture
from pliant.studio.numbers_panel import NumbersPanel
from pliant.studio.run import Patience, StudioRun, Workshop, saved_run
from pliant.studio.saving import ENDINGS, content, write
from pliant.studio.starts import first_choices
from pliant.studio.texts import comparison, readout, summary
from pliant.viewer.browser.plot_column import PlotColumn
from pliant.viewer.browser.upload_limits import bound_uploads
from pliant.viewer.browser.viewer_scene import Stage
from pliant.viewer.colors import KEPT
from pliant.viewer.scenes.scene import Scene, scene_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pliant.studio.files import Found
    from pliant.viewer.browser.viewer_meshes import Control, Page

MOST_KEPT = len(KEPT)
FRAMES_PER_SECOND = 40
SETTLE = 0.3
"""Seconds that a run waits if it has to be compiled: a slider that is being dragged asks for many."""

Job = Callable[[Callable[[], None]], None]
"""Something that takes long. It gets a function to call now and then, which raises if the job is to end."""


class Visit:
    """Visit of the studio, with one arm at a time and at most one run; other visits do not wait for it.

    A request of the page is noted at once, and a thread of the visit computes the last one only. So no slider and no
    button ever waits for a run. `page` is viser's handle of the visitor, or of the server for all visitors.
    """

    def __init__(self, page: Page, shelf: Shelf, workshop: Workshop, name: str, found: Found, limit: float) -> None:
        self.page, self.shelf, self.workshop, self.limit = page, shelf, workshop, limit
        self.lock = threading.RLock()  # controls that the studio sets call back in the same thread
        self.run: StudioRun | None = None
        self.count = 0
        self.kept: list[StudioRun] = []
        self.refreshing = False
        self.name, self.choices = name, begin(found)
        self._wanted: Job | None = None
        self._wake, self._stop, self._idle, self._closed = (threading.Event() for _ in range(4))
        with self.lock:
            self._build()
            self._fill()
            self._begin(found)
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    # ------------------------------------------------------------------------------------------------ the page

    def _build(self) -> None:
        """Make the panels."""
        gui = self.page.gui
        self.status = gui.add_markdown("**ready**")
        self.short = gui.add_markdown(summary(None, 0))
        self.button = gui.add_button("run", color="blue")
        self.cancel = gui.add_button("cancel", disabled=True)
        self.live: Control = gui.add_checkbox("run at once", True, hint="when something changes")
        self.stage = Stage(self.page)
        self.plots = PlotColumn(self.page)
        self.stage.watch(self.plots.move)
        tabs = gui.add_tab_group()
        with tabs.add_tab("arm"):
            self.arm = ArmPanel(gui, self.shelf, self.name, lambda: self.safely(self._open), self.changed)
        with tabs.add_tab("numbers"):
            self.numbers = NumbersPanel(gui, self.safely, self.changed)
        with tabs.add_tab("maneuver"):
            self.maneuver = ManeuverPanel(gui, self.changed)
        with tabs.add_tab("results"):
            self.keep = gui.add_button("keep for comparison")
            self.forget = gui.add_button("forget kept runs")
            self.beside = gui.add_markdown(comparison(None, {}))
            self.readout = gui.add_markdown(readout(None))
            with gui.add_folder("Plots"):
                self.boxes = self.plots.choices()
        with tabs.add_tab("maps"):
            self.maps = MapsPanel(gui, self._draw_map)
        with tabs.add_tab("file"):
            self.file = FilePanel(gui, self._receive, self._save, self._send)
        bound_uploads(self.page, lambda text: self._say("not possible", text))
        self.button.on_click(lambda _: self.safely(self.collect_and_run))
        self.cancel.on_click(lambda _: self.give_up())
        self.keep.on_click(lambda _: self.safely(self.keep_run))
        self.forget.on_click(lambda _: self.safely(self.forget_runs))

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Set controls without a request: their callbacks are ignored meanwhile."""
        before, self.refreshing = self.refreshing, True
        try:
            yield
        finally:
            self.refreshing = before

    def _fill(self) -> None:
        """Set the controls of all panels to the choices."""
        with self._quietly():
            for panel in (self.arm, self.maneuver, self.numbers, self.maps):
                panel.fill(self.choices)

    # ------------------------------------------------------------------------------------------------- actions

    def safely(self, action: Callable[[], None]) -> None:
        """Do something while nothing else changes the page; an error becomes a message, and the last good run stays."""
        with self.lock:
            if not self.refreshing:
                self._attempt(action)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except PliantError as error:
            self._say("not possible", str(error))
        except Exception as error:  # the page must survive unforeseen errors
            self._say("failed", f"{type(error).__name__}: {error}")

    def _say(self, title: str, text: str) -> None:
        self.status.content = f"**{title}**: {quoted(text, 'markdown')}"

    def changed(self) -> None:
        """Follow a changed control that a run depends on: run again at once, or tell the user to press run."""

        def follow() -> None:
            before = self.choices
            self.collect()
            if self.choices == before:
                return  # a field that loses the focus sends its value once more
            if self.live.value:
                self._go()
            else:
                self._say("changed", "press run")

        self.safely(follow)

    def collect(self) -> None:
        """Read all controls into the choices, and adapt a controller and a maneuver that do not go together."""
        read = {**self.arm.read(), **self.maneuver.read(), **self.numbers.read()}
        self.choices, note = fitting(replace(self.choices, **read), self.choices)
        if note:
            with self._quietly():
                self.maneuver.drive(self.choices)
            self._say("changed", note)

    def collect_and_run(self) -> None:
        """Run the choices of all controls."""
        self.collect()
        self._go()

    def _open(self) -> None:
        """Open the arm or file that was chosen from the list."""
        name = str(self.arm.arm.value)
        try:
            self._enter(name, self.shelf.read(name))
        finally:
            self._list_files()  # chooses the arm that is shown, also after an error

    def _receive(self, name: str, data: bytes) -> None:
        """Open a file from the machine of the browser."""

        def take() -> None:
            with uploaded(name, data) as (shelf, alone):
                found = shelf.read(alone)
            self._enter(name, found)
            self._list_files()

        self.safely(take)

    def _enter(self, name: str, found: Found) -> None:
        """Change to another arm, scenario or run."""
        self.choices = begin(found)
        self.name = name
        self._fill()
        self._stop.set()  # the run of the previous arm is of no use
        self._begin(found)

    def _begin(self, found: Found) -> None:
        """Show a saved run; run an arm or a scenario."""
        if isinstance(found, Result):
            self._do(lambda still: self._finish(saved_run(found)))
        else:
            self._go()

    def _list_files(self) -> None:
        with self._quietly():
            self.arm.list(self.name)

    def _go(self) -> None:
        """Request a run of the choices; the current one is finished first."""
        wanted = self.choices
        self._do(lambda still: self._compute(wanted, still))

    def _do(self, job: Job) -> None:
        self._wanted = job
        self._idle.clear()
        self._wake.set()

    def give_up(self) -> None:
        """Cancel the current job and the one that waits."""
        with self.lock:
            self._wanted = None
            self._stop.set()
            self._say("cancelled", "the last run stays")

    def _work(self) -> None:
        """Do jobs as they are requested, in the thread of the visit."""
        while self._wake.wait() and not self._closed.is_set():
            with self.lock:
                self._wake.clear()
                self._stop.clear()
                job, self._wanted = self._wanted, None
            if job is not None:
                self._attempt(partial(self._carry_out, job))
            with self.lock:
                if self._wanted is None:
                    self._idle.set()

    def _carry_out(self, job: Job) -> None:
        """Do a job, with messages on its progress and the cancel button enabled."""
        self.cancel.disabled = False
        try:
            with listening(lambda text: self._say("running", text) if text else None):
                job(Patience(self._stop, self.limit).check)
        finally:
            self.cancel.disabled = True

    def _compute(self, wanted: Choices, still: Callable[[], None]) -> None:
        """Run choices, unless something else is requested before they are compiled."""
        self._say("running", "a new arm or maneuver is compiled first" if self.run is None else "…")
        if self.run is not None and not self.workshop.knows(wanted) and self._wake.wait(SETTLE):
            return  # there is a newer request
        self._finish(self.workshop.run(wanted, still))

    def _finish(self, run: StudioRun) -> None:
        with self.lock:
            self.run = run
            self.count += 1
            self._show()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until no job runs or waits; return whether that took less than `seconds`."""
        return self._idle.wait(seconds)

    def keep_run(self) -> None:
        """Keep the run that is shown beside those that follow."""
        if self.run is not None:
            self.kept = [*self.kept, self.run][-MOST_KEPT:]
            self._show()
            self._say("kept", f"{len(self.kept)} of {MOST_KEPT} runs are overlaid")

    def forget_runs(self) -> None:
        """Forget all kept runs."""
        self.kept.clear()
        if self.run is not None:
            self._show()

    def _draw_map(self) -> None:
        """Request the map that is chosen."""

        def ask() -> None:
            run, wanted = self._shown(), self.maps.wanted()

            def job(still: Callable[[], None]) -> None:
                self._say("running", "the arm is looked at in many poses")
                with SYMBOLS:
                    drawn = picture(map_figure(run, *wanted))
                still()
                with self.lock:
                    self.maps.show(drawn)
                self._say("done", f"map of {', '.join(wanted[1])}")

            self._do(job)

        self.safely(ask)

    def _save(self, kind: str, name: str) -> None:
        """Request a file of the run in the folder of the studio."""

        def ask() -> None:
            run = self._shown()
            path = self.shelf.path(name, ENDINGS[kind], writing=True)
            magnification = float(self.stage.magnify.value)

            def job(still: Callable[[], None]) -> None:
                self._say("running", f"writing {name}")
                write(kind, run, path, magnification, still)
                hint = f"; run it with: pliant simulate {name}" if kind == "scenario" else ""
                with self.lock:
                    self._list_files()
                self._say("saved", name + hint)

            self._do(job)

        self.safely(ask)

    def _send(self, kind: str, name: str) -> None:
        """Request a file of the run for the browser."""

        def ask() -> None:
            run = self._shown()
            self.shelf.path(name, ENDINGS[kind])
            magnification = float(self.stage.magnify.value)

            def job(still: Callable[[], None]) -> None:
                self._say("running", f"writing {name}")
                self.page.send_file_download(
                    name, content(kind, name, run, magnification, still), save_immediately=True
                )
                self._say("sent", name)

            self._do(job)

        self.safely(ask)

    def _shown(self) -> StudioRun:
        """Run that is shown; raises `PliantError` if there is none."""
        if self.run is None:
            raise PliantError("there is no run yet; press run")
        return self.run

    # ------------------------------------------------------------------------------------------------ showing

    def _show(self) -> None:
        """Show the run in all panels."""
        run = self._shown()
        kept = {f"kept {k + 1}": one for k, one in enumerate(self.kept)}
        self.stage.show(_scene(run), tuple(_scene(one) for one in self.kept), keep_time=bool(self.stage.play.value))
        self.short.content, self.readout.content = summary(run, self.count), readout(run)
        self.beside.content = comparison(run, kept)
        self.numbers.show(run)
        self.plots.show(run.result, {label: one.result for label, one in kept.items()})
        how = "compiled and run" if run.compiled else "run"
        stats = run.result.stats
        self._say("done", f"{how} in {run.seconds:.2f} s ({stats.method}, {stats.steps} steps)")

    def close(self) -> None:
        """End the run and the clock, since the visitor has left."""
        self._closed.set()
        self._stop.set()
        self._wake.set()
        self.stage.close()


def begin(found: Found) -> Choices:
    """First choices for an arm, a scenario or a run that was opened."""
    if isinstance(found, Robot):
        return first_choices(found)
    return Choices.of_run(found) if isinstance(found, Result) else Choices.of_scenario(found)


def _scene(run: StudioRun) -> Scene:
    """Scene of a run with as many frames as its duration needs."""
    duration = float(run.result.t[-1] - run.result.t[0])
    return scene_of(run.result, int(np.clip(FRAMES_PER_SECOND * duration, 60, 600)))
