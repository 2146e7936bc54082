"""Panel of the arm: the choice of an arm, and sliders that act on all of its links at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.studio.choices import Changes, Choices, heaviest_payload
from pliant.studio.files import Shelf

if TYPE_CHECKING:
    from viser import GuiApi

    from pliant.viewer.browser.viewer_meshes import Control


class ArmPanel:
    """Controls in the tab that is being built; `opened` and `changed` are called without arguments."""

    def __init__(
        self, gui: GuiApi, shelf: Shelf, name: str, opened: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        self.shelf, names = shelf, shelf.names()
        first = name if name in names else names[0]
        self.arm: Control = gui.add_dropdown("arm or file", names, initial_value=first)
        self.sliders: dict[str, Control] = {
            "stiffness": gui.add_slider("stiffness ×", 0.05, 5.0, 0.05, 1.0, hint="EI and GJ of all beams"),
            "drive_stiffness": gui.add_slider("drive stiffness ×", 0.05, 5.0, 0.05, 1.0),
            "payload": gui.add_slider("payload (kg)", 0.0, 1.0, 0.01, 0.0, hint="mass at the tip"),
            "damping": gui.add_slider("damping ratio", 0.0, 0.1, 0.001, 0.0),
            "gravity": gui.add_slider("gravity ×", 0.0, 2.0, 0.05, 1.0),
            "modes": gui.add_slider("modes per direction", 0, 6, 1, 0, hint="0 keeps the file's shapes"),
        }
        self.stiffening: Control = gui.add_checkbox("geometric stiffening", True)
        self.formulation: Control = gui.add_dropdown("formulation", tuple(FORMULATIONS), initial_value="denoc")
        self.arm.on_update(lambda _: opened())
        for handle in (*self.sliders.values(), self.stiffening, self.formulation):
            handle.on_update(lambda _: changed())

    def list(self, name: str) -> None:
        """Offer the arms and files that exist now, and choose the one that is shown."""
        names = self.shelf.names()
        self.arm.options = names if name in names else (*names, name)
        self.arm.value = name

    def fill(self, choices: Choices) -> None:
        """Set all controls to the choices."""
        payload = self.sliders["payload"]
        payload.max = heaviest_payload(choices.robot)
        payload.step = payload.max / 200
        for name, handle in self.sliders.items():
            handle.value = getattr(choices, name)
        self.stiffening.value, self.formulation.value = choices.stiffening, choices.formulation

    def read(self) -> Changes:
        """Changes of the choices by these controls."""
        values = {name: handle.value for name, handle in self.sliders.items()}
        return {**values, "stiffening": bool(self.stiffening.value), "formulation": str(self.formulation.value)}
