"""Panel of the maneuver: controller, start and goal of the joints, and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.drawing.figure_data import position_unit
from pliant.studio.choices import MANEUVERS, NONE, Changes, Choices, commanded, controllers, positioned
from pliant.studio.starts import limits_of

if TYPE_CHECKING:
    from viser import GuiApi, GuiFolderHandle

    from pliant.viewer.browser.viewer_meshes import Control


class ManeuverPanel:
    """Controls in the tab that is being built; `changed` is called without arguments."""

    def __init__(self, gui: GuiApi, changed: Callable[[], None]) -> None:
        self.gui, self.changed = gui, changed
        self.controller: Control = gui.add_dropdown("controller", controllers(), initial_value=NONE)
        self.maneuver: Control = gui.add_dropdown("maneuver", MANEUVERS, initial_value="release")
        self.frequency: Control = gui.add_number("loop frequency (Hz)", 1.6, step=0.1)
        self.move_time: Control = gui.add_number("time of the move (s)", 1.0, step=0.1)
        self.duration: Control = gui.add_number("duration (s)", 5.0, step=0.5)
        self.place = gui.add_folder("Joints (deg, m)", expand_by_default=True)
        self.folder: GuiFolderHandle | None = None
        self.joints: list[tuple[float, Control, Control]] = []
        self.commands: list[Control] = []
        for handle in (self.controller, self.maneuver, self.frequency, self.move_time, self.duration):
            handle.on_update(lambda _: changed())

    def fill(self, choices: Choices) -> None:
        """Set all controls to the choices, with sliders for the joints of their arm."""
        self.drive(choices)
        self.frequency.value, self.move_time.value = choices.frequency, choices.move_time
        self.duration.value = choices.duration
        if self.folder is not None:
            self.folder.remove()
        with self.place:
            self.folder = self.gui.add_folder(choices.robot.name)
        with self.folder:
            self.joints = [self._joint(choices, k) for k in range(len(positioned(choices.robot)))]
            self.commands = [self._command(choices, k) for k in range(len(choices.commands))]

    def drive(self, choices: Choices) -> None:
        """Show controller and maneuver."""
        self.controller.value, self.maneuver.value = choices.controller, choices.maneuver

    def _joint(self, choices: Choices, k: int) -> tuple[float, Control, Control]:
        """Factor to the unit of the page, and sliders for start and goal within the limits of the joint."""
        link, freedom = positioned(choices.robot)[k]
        name = freedom.name(link.name)
        unit, scale = position_unit(choices.robot, name)
        usual, step = ((-180.0, 180.0), 1.0) if unit == "deg" else ((-2.0, 2.0), 0.01)
        own = [scale * end for end in limits_of(link, freedom)]
        low, high = (round(end if np.isfinite(end) else other, 6) for end, other in zip(own, usual))
        values = [round(scale * at[k], 6) for at in (choices.start, choices.goal)]
        low, high = min(low, *values), max(high, *values)
        made = [
            self.gui.add_slider(f"{name} {which}", low, high, step, value)
            for which, value in zip(("start", "goal"), values)
        ]
        made[1].visible = freedom.actuated  # what is passive has no goal
        for handle in made:
            handle.on_update(lambda _: self.changed())
        return scale, made[0], made[1]

    def _command(self, choices: Choices, k: int) -> Control:
        """Slider for the command of a valve, or field for a force in newtons."""
        coupling, value = commanded(choices.robot)[k], choices.commands[k]
        made: Control = (
            self.gui.add_number(f"{coupling.name} force (N)", value)
            if coupling.cylinder is None
            else self.gui.add_slider(f"{coupling.name} valve", -1.0, 1.0, 0.05, value)
        )
        made.on_update(lambda _: self.changed())
        return made

    def read(self) -> Changes:
        """Changes of the choices by these controls."""
        return {
            "controller": str(self.controller.value), "maneuver": str(self.maneuver.value),
            "start": tuple(start.value / scale for scale, start, _ in self.joints),
            "goal": tuple(goal.value / scale for scale, _, goal in self.joints),
            "commands": tuple(float(handle.value) for handle in self.commands),
            "frequency": float(self.frequency.value), "move_time": float(self.move_time.value),
            "duration": float(self.duration.value),
        }  # fmt: skip
