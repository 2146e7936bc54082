"""`pliant studio`: a page where a user picks an arm, turns sliders, runs it, watches and compares."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.dynamics import FORMULATIONS
from pliant.errors import PliantError
from pliant.quoting import quoted
from pliant.robot import Robot
from pliant.stages import listening
from pliant.view.figure_data import position_unit
from pliant.view.gate import LOCAL
from pliant.view.run_panels import tip_error
from pliant.view.scene import Scene, scene_of
from pliant.view.stage import KEPT, Stage
from pliant.view.studio_choices import CONTROLLERS, MANOEUVRES, Choices, heaviest_payload, positioned, with_robot
from pliant.view.studio_files import Shelf
from pliant.view.studio_run import Patience, StudioRun, Workshop, scenario
from pliant.view.studio_texts import readout, summary
from pliant.view.style import COLOURS
from pliant.view.viewer import address, start_server, viser

if TYPE_CHECKING:
    from pliant.scenario import Scenario

LIMIT = 60.0
"""Seconds that a run may take: somebody else may want the processor."""
MOST_KEPT = len(KEPT)
FRAMES_PER_SECOND = 40


class Visit:
    """The page of one visitor: an arm at a time, and at most one run; others do not wait for it.

    What the page asks for is noted at once and computed by a thread of the visit, the last wish only, so that no slider
    and no button ever waits for a run. `page` is viser's handle of the visitor (or of the server: of all at once).
    """

    def __init__(self, page: Any, shelf: Shelf, workshop: Workshop, name: str, choices: Choices, limit: float) -> None:
        self.page, self.shelf, self.workshop, self.limit = page, shelf, workshop, limit
        self.lock = threading.RLock()  # what the studio sets itself calls back in the same thread
        self.run: StudioRun | None = None
        self.count = 0
        self.kept: list[StudioRun] = []
        self.joint_folder: Any = None
        self.chart: Any = None
        self.refreshing = False
        self.name, self.choices = name, choices
        self._wanted: Choices | None = None
        self._wake, self._stop, self._idle, self._closed = (threading.Event() for _ in range(4))
        with self.lock:
            self._build(self.name)
            self._fill()
            self._go()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    # ------------------------------------------------------------------------------------------------ the page

    def _build(self, name: str) -> None:
        gui = self.page.gui
        self.status = gui.add_markdown("**ready**")
        self.short = gui.add_markdown("")
        self.button = gui.add_button("run", color="blue")
        self.cancel = gui.add_button("cancel", disabled=True)
        self.live = gui.add_checkbox("run at once", True, hint="when a slider of the arm moves")
        self.stage = Stage(self.page)
        tabs = gui.add_tab_group()
        with tabs.add_tab("arm"):
            self._arm_tab(name)
        with tabs.add_tab("manoeuvre"):
            self._manoeuvre_tab()
        with tabs.add_tab("results"):
            self.keep = gui.add_button("keep for comparison")
            self.forget = gui.add_button("forget kept runs")
            self.charts = gui.add_folder("Tip from the rigid arm's (mm)")
            self.readout = gui.add_markdown("")
        with tabs.add_tab("file"):
            gui.add_markdown("Writes a scenario into the folder of the studio, for `pliant simulate`.")
            self.file = gui.add_text("file name", "studio.yaml")
            self.save = gui.add_button("save scenario")
        self._connect()

    def _arm_tab(self, name: str) -> None:
        gui, names = self.page.gui, self.shelf.names()
        self.arm = gui.add_dropdown("arm or file", names, initial_value=name if name in names else names[0])
        self.arm.on_update(lambda _: self._safely(self._open))
        self.sliders = {
            "stiffness": gui.add_slider("stiffness ×", 0.05, 5.0, 0.05, 1.0, hint="EI and GJ of all beams"),
            "drive_stiffness": gui.add_slider("drive stiffness ×", 0.05, 5.0, 0.05, 1.0),
            "payload": gui.add_slider("payload (kg)", 0.0, 1.0, 0.01, 0.0, hint="mass at the tip"),
            "damping": gui.add_slider("damping ratio", 0.0, 0.1, 0.001, 0.0),
            "gravity": gui.add_slider("gravity ×", 0.0, 2.0, 0.05, 1.0),
            "modes": gui.add_slider("modes per direction", 0, 6, 1, 0, hint="0 keeps the file's shapes"),
        }
        self.stiffening = gui.add_checkbox("geometric stiffening", True)
        self.formulation = gui.add_dropdown("formulation", tuple(FORMULATIONS), initial_value="denoc")

    def _manoeuvre_tab(self) -> None:
        gui = self.page.gui
        self.controller = gui.add_dropdown("controller", CONTROLLERS, initial_value="none")
        self.manoeuvre = gui.add_dropdown("manoeuvre", MANOEUVRES, initial_value="release")
        self.bandwidth = gui.add_number("loop frequency (rad/s)", 10.0, step=1.0)
        self.move_time = gui.add_number("time of the move (s)", 1.0, step=0.1)
        self.duration = gui.add_number("duration (s)", 5.0, step=0.5)
        self.joints_place = gui.add_folder("Joints (deg, m)", expand_by_default=True)

    def _connect(self) -> None:
        self.button.on_click(lambda _: self._safely(self._collect_and_run))
        self.cancel.on_click(lambda _: self._give_up())
        self.keep.on_click(lambda _: self._safely(self._keep_run))
        self.forget.on_click(lambda _: self._safely(self._forget_runs))
        self.save.on_click(lambda _: self._safely(self._save))
        quick = [*self.sliders.values(), self.stiffening]
        for handle in quick:
            handle.on_update(lambda _: self._moved())

    def _moved(self) -> None:
        """A slider is dragged through many values; while one run goes on, only the last of them matters."""
        with self.lock:
            if self.live.value and not self.refreshing:
                self._attempt(self._collect_and_run)

    def _fill(self) -> None:
        """Show what the choices say."""
        self.refreshing = True
        try:
            c = self.choices
            payload = self.sliders["payload"]
            payload.max = heaviest_payload(c.robot)
            payload.step = payload.max / 200
            for name, handle in self.sliders.items():
                handle.value = getattr(c, name)
            self.stiffening.value, self.formulation.value = c.stiffening, c.formulation
            self.controller.value, self.manoeuvre.value = c.controller, c.manoeuvre
            self.bandwidth.value, self.move_time.value, self.duration.value = c.bandwidth, c.move_time, c.duration
            if self.joint_folder is not None:
                self.joint_folder.remove()
            with self.joints_place:
                self.joint_folder = self.page.gui.add_folder(c.robot.name)
            with self.joint_folder:
                moving = positioned(c.robot)
                self.joints = [self._joint(link, free.name(link.name), k) for k, (link, free) in enumerate(moving)]
        finally:
            self.refreshing = False

    def _joint(self, link: Any, name: str, k: int) -> tuple[float, Any, Any]:
        unit, scale = position_unit(self.choices.robot, name)
        longest = float(link.beam.total_length) if link.beam and link.beam.slides else 2.0
        low, high, step = (-180.0, 180.0, 1.0) if unit == "deg" else (0.0, longest, 0.01)
        gui, c = self.page.gui, self.choices
        start = gui.add_slider(f"{name} start", low, high, step, round(scale * c.start[k], 6))
        goal = gui.add_slider(f"{name} goal", low, high, step, round(scale * c.goal[k], 6))
        return scale, start, goal

    # ------------------------------------------------------------------------------------------------- actions

    def _safely(self, action: Any) -> None:
        """Do it while nothing else changes the page; what goes wrong becomes a message, and the last good run stays."""
        with self.lock:
            self._attempt(action)

    def _attempt(self, action: Any) -> None:
        try:
            action()
        except PliantError as error:
            self._say("not possible", str(error))
        except Exception as error:  # the page must survive what nobody foresaw
            self._say("failed", f"{type(error).__name__}: {error}")

    def _say(self, title: str, text: str) -> None:
        self.status.content = f"**{title}**: {quoted(text, 'markdown')}"

    def _open(self) -> None:
        if self.refreshing:
            return
        name = str(self.arm.value)
        try:
            self.choices = self._chosen(name)
            self.name = name
        finally:
            self._list_files()  # which shows again the arm that is on the stage
        self.kept.clear()
        self._fill()
        self._stop.set()  # a run of the arm before is of no use
        self._go()

    def _chosen(self, name: str) -> Choices:
        """What to begin with for an arm or a file."""
        found = self.shelf.open(name)
        return with_robot(self.choices, found) if isinstance(found, Robot) else Choices.of_scenario(found)

    def _list_files(self) -> None:
        """The arms and files that there are now; the one on the stage is chosen."""
        self.refreshing = True
        try:
            names = self.shelf.names()
            self.arm.options = names if self.name in names else (*names, self.name)
            self.arm.value = self.name
        finally:
            self.refreshing = False

    def _collect_and_run(self) -> None:
        values = {name: handle.value for name, handle in self.sliders.items()}
        self.choices = replace(
            self.choices, **values, stiffening=bool(self.stiffening.value), formulation=str(self.formulation.value),
            controller=str(self.controller.value), manoeuvre=str(self.manoeuvre.value),
            start=tuple(start.value / scale for scale, start, _ in self.joints),
            goal=tuple(goal.value / scale for scale, _, goal in self.joints),
            bandwidth=float(self.bandwidth.value), move_time=float(self.move_time.value),
            duration=float(self.duration.value),
        )  # fmt: skip
        self._go()

    def _go(self) -> None:
        """Ask for a run of the choices; one that goes on is finished first."""
        self._wanted = self.choices
        self._idle.clear()
        self._wake.set()

    def _give_up(self) -> None:
        """Of the button: end the run that goes on, and forget what waits."""
        with self.lock:
            self._wanted = None
            self._stop.set()

    def _work(self) -> None:
        """The thread of the visit."""
        while self._wake.wait() and not self._closed.is_set():
            with self.lock:
                self._wake.clear()
                self._stop.clear()
                wanted, self._wanted = self._wanted, None
            if wanted is not None:
                self._attempt(lambda wanted=wanted: self._compute(wanted))
            with self.lock:
                if self._wanted is None:
                    self._idle.set()

    def _compute(self, wanted: Choices) -> None:
        self.cancel.disabled = False
        self._say("running", "a new arm or manoeuvre is compiled first" if self.run is None else "…")
        try:
            with listening(lambda text: self._say("running", text) if text else None):
                run = self.workshop.run(wanted, Patience(self._stop, self.limit).check)
        finally:
            self.cancel.disabled = True
        with self.lock:
            self.run = run
            self.count += 1
            self._show()

    def wait(self, seconds: float = 60.0) -> bool:
        """Until nothing runs and nothing waits."""
        return self._idle.wait(seconds)

    def _keep_run(self) -> None:
        if self.run is not None:
            self.kept = [*self.kept, self.run][-MOST_KEPT:]
            self._show()
            self._say("kept", f"{len(self.kept)} of {MOST_KEPT} runs are overlaid")

    def _forget_runs(self) -> None:
        self.kept.clear()
        self._show()

    def _save(self) -> None:
        path = self.shelf.path(str(self.file.value), writing=True)
        scenario(self.choices).save(path)
        self._list_files()
        self._say("saved", f"{path.name}; run it with: pliant simulate {path.name}")

    # ------------------------------------------------------------------------------------------------ showing

    def _show(self) -> None:
        assert self.run is not None
        run = self.run
        self.stage.show(_scene(run), tuple(_scene(other) for other in self.kept), keep_time=bool(self.stage.play.value))
        self.short.content, self.readout.content = summary(run, self.count), readout(run)
        self._plot()
        how = "compiled and run" if run.compiled else "run"
        stats = run.result.stats
        self._say("done", f"{how} in {run.seconds:.2f} s ({stats.method}, {stats.steps} steps)")

    def _plot(self) -> None:
        runs = {"now": self.run, **{f"kept {k + 1}": run for k, run in enumerate(self.kept)}}
        (panel,) = tip_error({name: run.result for name, run in runs.items() if run is not None}, "mm")
        t = np.linspace(0.0, max(float(curve.x[-1]) for curve in panel.curves), 600)
        columns = tuple(np.interp(t, curve.x, curve.y, right=np.nan) for curve in panel.curves)
        if self.chart is not None and len(self.chart.data) == 1 + len(columns):
            self.chart.data = (t, *columns)
            return
        uplot = viser().uplot
        lines = [uplot.Series(label=c.label, stroke=colour, width=1.5) for c, colour in zip(panel.curves, COLOURS)]
        if self.chart is not None:
            self.chart.remove()
        with self.charts:
            self.chart = self.page.gui.add_uplot(
                (t, *columns), (uplot.Series(label=str(panel.x)), *lines),
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                aspect=1.6, legend=uplot.Legend(show=True),
            )  # fmt: skip

    def close(self) -> None:
        """The visitor has gone: end the run and the clock."""
        self._closed.set()
        self._stop.set()
        self._wake.set()
        self.stage.close()


class Studio:
    """A folder of arms and scenarios for visitors, each with a page of its own; `server` is viser's."""

    def __init__(
        self,
        folder: Path,
        first: str | None = None,
        port: int = 8080,
        host: str = LOCAL[0],
        token: str | None = None,
        limit: float = LIMIT,
    ) -> None:
        self.shelf, self.workshop, self.limit = Shelf(folder), Workshop(), limit
        self.name = first or "two-link"
        self.first = first_choices(self.shelf.open(self.name))  # a file that cannot be read needs no server
        self.visits: dict[int, Visit] = {}
        self.server = start_server(port, host, "pliant studio", token)
        self.server.on_client_disconnect(self._leave)
        self.server.on_client_connect(self._enter)

    def visit(self, page: Any) -> Visit:
        """A page for whoever looks at it."""
        return Visit(page, self.shelf, self.workshop, self.name, self.first, self.limit)

    def _enter(self, client: Any) -> None:
        self.visits[client.client_id] = self.visit(client)
        if client.client_id not in self.server.get_clients():  # gone while its page was made
            self._leave(client)

    def _leave(self, client: Any) -> None:
        visit = self.visits.pop(client.client_id, None)
        if visit is not None:
            visit.close()

    def close(self) -> None:
        """Stop the server."""
        for visit in list(self.visits.values()):
            visit.close()
        self.server.stop()


def first_choices(found: Robot | Scenario) -> Choices:
    """What a visit begins with."""
    return Choices.of(found) if isinstance(found, Robot) else Choices.of_scenario(found)


def _scene(run: StudioRun) -> Scene:
    duration = float(run.result.t[-1])
    return scene_of(run.result, int(np.clip(FRAMES_PER_SECOND * duration, 60, 600)))


def studio(
    folder: Path,
    first: str | None = None,
    port: int = 8080,
    host: str = LOCAL[0],
    token: str | None = None,
    limit: float = LIMIT,
) -> Studio:
    """Start the studio for a folder; `address(studio.server)` says where it is."""
    return Studio(folder, first, port, host, token, limit)


__all__ = ["LIMIT", "Studio", "Visit", "address", "studio"]
