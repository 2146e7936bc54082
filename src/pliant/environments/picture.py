"""Picture of an arm of an environment, with its goal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.drawing.style import STYLE
from pliant.environments.motion import ArmMotion
from pliant.environments.tasks import Reach, Task
from pliant.viewer.scenes.scene import make_scene
from pliant.viewer.video_drawing import FrameDrawing, faces

SIZE = (640, 480)
"""Width and height, pixels."""


def picture(motion: ArmMotion, task: Task, arm: int) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) of the arm, with its start and target as shadows, and the point that its tip is to reach."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    p = motion.p[arm]
    poses = motion.unbent(np.stack([task.start[arm], task.target[arm]]), np.tile(p, (2, 1)))
    q = np.vstack([motion.q[arm], poses])
    scene = make_scene(motion.model, np.arange(3.0), q, p)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100)
        canvas: Any = FigureCanvasAgg(figure)
        drawing = FrameDrawing(figure.add_axes((0.0, 0.0, 1.0, 1.0)), scene, ghost=False)
        drawing.show(0)
        shadow, colors = faces(list(scene.lines(0.0)), 2, 0.0, drawing.camera, np.zeros(3), ghost=True)
        drawing.shapes.set_verts([*shadow, *(path.vertices[:-1] for path in drawing.shapes.get_paths())])
        drawing.shapes.set_facecolor(np.vstack([colors, drawing.shapes.get_facecolor()]))
        if isinstance(task, Reach):
            at, _ = drawing.camera.project(task.goal[arm][None])
            drawing.axes.plot(*at.T, "x", color="#0072B2", markersize=10, markeredgewidth=2, zorder=6)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba(), dtype=np.uint8)[:, :, :3].copy()
