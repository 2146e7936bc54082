"""The panel of the arm: which one, and sliders that act on all of its links at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.studio.choices import Choices, heaviest_payload
from pliant.studio.files import Shelf


class ArmPanel:
    """Controls in the tab that is being built; `opened` and `changed` are called with nothing."""

    def __init__(
        self, gui: Any, shelf: Shelf, name: str, opened: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        self.shelf, names = shelf, shelf.names()
        self.arm = gui.add_dropdown("arm or file", names, initial_value=name if name in names else names[0])
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
        self.arm.on_update(lambda _: opened())
        for handle in (*self.sliders.values(), self.stiffening, self.formulation):
            handle.on_update(lambda _: changed())

    def list(self, name: str) -> None:
        """The arms and files that there are now; the one on the stage is chosen."""
        names = self.shelf.names()
        self.arm.options = names if name in names else (*names, name)
        self.arm.value = name

    def fill(self, choices: Choices) -> None:
        """Show what the choices say."""
        payload = self.sliders["payload"]
        payload.max = heaviest_payload(choices.robot)
        payload.step = payload.max / 200
        for name, handle in self.sliders.items():
            handle.value = getattr(choices, name)
        self.stiffening.value, self.formulation.value = choices.stiffening, choices.formulation

    def read(self) -> dict[str, Any]:
        """What the controls say, as changes of the choices."""
        values = {name: handle.value for name, handle in self.sliders.items()}
        return {**values, "stiffening": bool(self.stiffening.value), "formulation": str(self.formulation.value)}
