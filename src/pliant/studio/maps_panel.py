"""Panel of maps: vibrations of the shown arm over its pose, and over the speed of a joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.campbell import campbell
from pliant.analysis.map_figures import campbell_figure, pose_figure
from pliant.analysis.pose_maps import damping_map, frequency_map
from pliant.arrays import Array
from pliant.control.controllers.joint_controllers import PD, natural_gains
from pliant.errors import ModelError
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.studio.choices import Choices
from pliant.studio.run import StudioRun, edited_robot, goal_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from viser import GuiApi

    from pliant.viewer.browser.viewer_meshes import Control

NONE = "none"
KINDS = ("frequency", "damping under pd", "spin")
POSES = 13
"""Positions of each joint in a map; three times as many of a single one."""
SPEEDS = 25
TURN, SLIDE = np.radians(150), 0.5
"""Range of a joint without limits, to either side: rad, or m."""
DOTS = 180
"""Dots per inch of the picture."""


class MapsPanel:
    """Controls in the tab that is being built; `asked` is called when a map is wanted."""

    def __init__(self, gui: GuiApi, asked: Callable[[], None]) -> None:
        gui.add_markdown("How the vibrations of this arm change from pose to pose, or with the speed of a spin.")
        self.kind = gui.add_dropdown("map", KINDS, initial_value=KINDS[0])
        self.first: Control = gui.add_dropdown("of joint", (NONE,), initial_value=NONE)
        self.second: Control = gui.add_dropdown("and joint", (NONE,), initial_value=NONE)
        self.mode = gui.add_number("vibration", 1, min=1, max=99, step=1)
        self.speed = gui.add_number("up to (rev/min)", 60.0, min=0.001)
        self.draw = gui.add_button("draw the map")
        self.image = gui.add_image(np.full((2, 2, 3), 255, dtype=np.uint8), label="")
        self.image.visible = False
        self.draw.on_click(lambda _: asked())

    def fill(self, choices: Choices) -> None:
        """Offer the joints of another arm."""
        names = tuple(free.name(link.name) for link in choices.robot.links for free in link.joint.freedoms
                      if free.actuated and link.joint.type != "spherical")  # fmt: skip
        self.first.options = names or (NONE,)
        self.second.options = (NONE, *names)
        self.first.value, self.second.value = (names or (NONE,))[-1], NONE
        self.image.visible = False

    def wanted(self) -> tuple[str, list[str], int, float]:
        """Kind, joints, number of the vibration, and the greatest speed, rad/s."""
        joints = [name for name in dict.fromkeys([str(self.first.value), str(self.second.value)]) if name != NONE]
        return str(self.kind.value), joints, int(self.mode.value), float(self.speed.value) * np.pi / 30

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a map that has been drawn."""
        self.image.image = picture
        self.image.visible = True


def map_figure(run: StudioRun, kind: str, joints: list[str], mode: int, speed: float) -> Figure:
    """Map of the arm of a run, about the goal of its move."""
    model, p = run.result.model, run.result.parameters if len(run.result.parameters) else None
    if not joints:
        raise ModelError("map: expected a joint; choose one")
    goal = goal_of(run.choices)
    at = {name: goal[name] for name in model.joints if name in goal}
    if kind == "spin":
        found = campbell(model, joints[0], np.linspace(0.0, speed, SPEEDS), at, p=p)
        return campbell_figure(found, (1, 2, 3), mode + 2, None)
    count = POSES if len(joints) == 2 else 3 * POSES
    positions = {name: _range(run, name, count) for name in joints}
    if kind == "frequency":
        poses = frequency_map(model, positions, at, p=p)
        if mode > poses.values.shape[-1]:
            raise ModelError(f"vibration: got {mode}, expected 1 to {poses.values.shape[-1]} of this arm")
        return pose_figure(poses, "frequency", mode, None, stacked=True)
    if p is not None:  # a loop is linearized about the arm's own numbers
        model = edited_robot(run.choices).model(FORMULATIONS[run.choices.formulation], stiffening=run.choices.level)
    start = np.array([at.get(name, 0.0) for name in model.joints])
    kp, kd = natural_gains(model, start, run.choices.frequency)
    loop = damping_map(model, lambda pose: PD(kp, kd, pose), positions, at)
    return pose_figure(loop, "damping", 1, None, stacked=True)


def _range(run: StudioRun, name: str, count: int) -> Array:
    """Positions between the limits of a joint, or about its position at the goal."""
    for link in run.choices.robot.links:
        for free in link.joint.freedoms:
            if free.name(link.name) == name:
                here = goal_of(run.choices).get(name, 0.0)
                reach = TURN if free.turns else SLIDE
                lower, upper = (getattr(free.limits, side, None) for side in ("lower", "upper"))
                low, high = -reach if free.turns else here - reach, reach if free.turns else here + reach
                return np.linspace(low if lower is None else lower, high if upper is None else upper, count)
    raise ModelError(f"map: there is no joint {name!r}")


def picture(drawn: Figure) -> NDArray[np.uint8]:
    """(H, W, 3) pixels of a figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(drawn)  # most of its methods have no types
    drawn.set_dpi(DOTS)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3]
