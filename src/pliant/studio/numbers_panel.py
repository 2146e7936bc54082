"""Panel of numbers: fields for every number of the arm, with undo, and the frequencies that follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.base.quoting import quoted
from pliant.model.robot import Robot
from pliant.studio.choices import Changes, Choices, editable
from pliant.studio.run import StudioRun
from pliant.studio.texts import frequencies

if TYPE_CHECKING:
    from viser import GuiApi, GuiFolderHandle

    from pliant.viewer.browser.viewer_meshes import Control

TOGETHER = 1.5
"""Seconds: values of one number that follow each other more quickly are one change, since they were being typed."""
DIGITS = 12
"""Digits kept of a number that is typed. By default a page keeps seven after the point, which makes 0 of 1e-9."""
ARM = "the whole arm"
Edits = tuple[tuple[str, float], ...]


class History:
    """Changes of numbers, with undo and redo."""

    def __init__(self) -> None:
        self.edits: Edits = ()
        self._past: list[Edits] = []
        self._future: list[Edits] = []
        self._last: tuple[str, float] = ("", -np.inf)

    def put(self, path: str, value: float, nominal: float, now: float | None = None) -> None:
        """Note another value; `nominal`, that of the file, is no edit."""
        at = time.monotonic() if now is None else now
        if self._last[0] != path or at - self._last[1] > TOGETHER:
            self._past.append(self.edits)
        self._last, self._future = (path, at), []
        others = {key: old for key, old in self.edits if key != path}
        self.edits = tuple(sorted((others | ({path: value} if value != nominal else {})).items()))

    def undo(self) -> None:
        """Return to the numbers before the last change."""
        self._turn(self._past, self._future)

    def redo(self) -> None:
        """Return to the numbers before the last undo."""
        self._turn(self._future, self._past)

    def _turn(self, source: list[Edits], target: list[Edits]) -> None:
        self._last = ("", -np.inf)
        if source:
            target.append(self.edits)
            self.edits = source.pop()

    @property
    def ways(self) -> tuple[bool, bool]:
        """Whether there is something to undo, and to redo."""
        return bool(self._past), bool(self._future)


class NumbersPanel:
    """Controls in the tab that is being built; actions of the user go through `safely`, then `changed` is called."""

    def __init__(self, gui: GuiApi, safely: Callable[[Callable[[], None]], None], changed: Callable[[], None]) -> None:
        self.gui, self.safely, self.changed = gui, safely, changed
        self.history = History()
        self.robot: Robot | None = None
        self.before: StudioRun | None = None
        self.shown: StudioRun | None = None
        self.table = gui.add_markdown(frequencies(None, None))
        self.undo = gui.add_button("undo", disabled=True)
        self.redo = gui.add_button("redo", disabled=True)
        self.list = gui.add_markdown("")
        self.part: Control = gui.add_dropdown("part", (ARM,), initial_value=ARM)
        self.zeros = gui.add_checkbox("zeros too", False, hint="numbers that are zero in the file")
        self.place = gui.add_folder("Numbers (SI units)")
        self.folder: GuiFolderHandle | None = None
        self.fields: dict[str, Control] = {}
        self._filling = False
        self.undo.on_click(lambda _: safely(lambda: self._travel(self.history.undo)))
        self.redo.on_click(lambda _: safely(lambda: self._travel(self.history.redo)))
        self.part.on_update(lambda _: safely(self._lay_out))
        self.zeros.on_update(lambda _: safely(self._lay_out))

    def fill(self, choices: Choices) -> None:
        """Show the numbers of another arm."""
        self.history, self.robot, self.before, self.shown = History(), choices.robot, None, None
        self._filling = True
        try:
            parts = tuple(dict.fromkeys(_split(choices.robot, path)[0] for path in editable(choices.robot)))
            self.part.options = parts
            self.part.value = next((link.name for link in choices.robot.links if link.beam is not None), parts[0])
        finally:
            self._filling = False
        self._lay_out()

    def read(self) -> Changes:
        """Edits, as a change of the choices."""
        return {"edits": self.history.edits}

    def show(self, run: StudioRun) -> None:
        """Show the frequencies of a new run, beside those before the last change."""
        self.table.content = frequencies(self.before, run)
        self.shown = run

    def _lay_out(self) -> None:
        """Make fields for the numbers of the chosen part."""
        if self._filling or self.robot is None:
            return
        edits = dict(self.history.edits)
        if self.folder is not None:
            self.folder.remove()
        with self.place:
            self.folder = self.gui.add_folder(str(self.part.value))
        fields = {}
        with self.folder:
            for path, nominal in editable(self.robot).items():
                part, short = _split(self.robot, path)
                if part == self.part.value and (nominal or path in edits or self.zeros.value):
                    fields[path] = self._field(path, short, edits.get(path, nominal))
        self.fields = fields
        self._tell()

    def _field(self, path: str, short: str, value: float) -> Control:
        """Field for a number, with steps and digits that suit its size."""
        lead = int(np.floor(np.log10(abs(value)))) if value else 0
        field: Control = self.gui.add_number(short, value, step=10.0 ** (lead - 3))
        field.precision = max(DIGITS - 1 - lead, 0)
        field.on_update(lambda _: self.safely(lambda: self._edit(path, float(field.value))))
        return field

    def _edit(self, path: str, value: float) -> None:
        """Take over a number that was typed."""
        if self._filling or self.robot is None:
            return
        known = editable(self.robot)[path]
        if dict(self.history.edits).get(path, known) == value:
            return
        self.robot.replace({path: value})  # raises if it makes no robot, before anything else happens
        self.before = self.shown
        self.history.put(path, value, known)
        self._tell()
        self.changed()

    def _travel(self, way: Callable[[], None]) -> None:
        """Undo or redo, and show the numbers that follow."""
        if self.robot is None:
            return
        self.before = self.shown
        way()
        values, self._filling = editable(self.robot) | dict(self.history.edits), True
        try:
            for path, field in self.fields.items():
                field.value = values[path]
        finally:
            self._filling = False
        self._tell()
        self.changed()

    def _tell(self) -> None:
        """List the edits, and enable the buttons that have something to do."""
        back, forth = self.history.ways
        self.undo.disabled, self.redo.disabled = not back, not forth
        if self.robot is None or not self.history.edits:
            self.list.content = "No number differs from the file."
            return
        file = editable(self.robot)
        rows = "".join(f"| {quoted(p, 'markdown')} | {file[p]:.6g} | **{v:.6g}** |\n" for p, v in self.history.edits)
        self.list.content = f"| number | file | now |\n|---|---|---|\n{rows}"


def _split(robot: Robot, path: str) -> tuple[str, str]:
    """Link of a path, or the arm as a whole, and the rest of the path."""
    for link in robot.links:
        if path.startswith(f"links.{link.name}."):
            return link.name, path.removeprefix(f"links.{link.name}.")
    return ARM, path
