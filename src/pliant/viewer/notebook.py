"""Robots, models and results in a notebook: a short table, and a picture of the arm."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import Any

import numpy as np

from pliant.base.quoting import quoted
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.simulation.runs.results import Result
from pliant.viewer.page import run_facts
from pliant.viewer.scenes.scene import Scene, make_scene, scene_of
from pliant.viewer.video_drawing import FrameDrawing

FRAMES = 60


def robot_html(robot: Robot) -> str:
    """Table of links, joints and bending directions, with a picture of the arm as described."""
    rows = []
    for link in robot.bodies:
        body = "rigid" if link.beam is None else f"beam, {link.beam.length:g} m"
        body = body if link.body is None else f"body, {link.body.length:g} m"
        bends = ", ".join(link.fields) if link.body is None else f"{link.amplitudes} coordinates"
        bends += " (auto)" if link.shapes is not None and link.shapes.is_auto else ""
        rows.append(
            (link.name, f"{link.joint.type}{', elastic drive' if link.joint.flexible else ''}", body, bends or "–")
        )
    model = robot.model()
    scene = make_scene(model, np.zeros(1), model.layout.rest()[None])
    return _block(robot.name, ("link", "joint", "body", "bends in"), rows, picture(scene, 0))


def model_html(model: Model) -> str:
    """Table of the choices of a model, and its frequencies."""
    o = model.options
    frequencies = ", ".join(f"{f:.4g}" for f in model.frequencies()[6 * model.layout.first :][:6]) or "none: rigid"
    rows = [
        ("formulation", o.formulation), ("rotation", o.rotation), ("stiffening", str(model.level)),
        ("coordinates", ", ".join(model.coordinates)), ("inputs", ", ".join(model.parameters) or "none"),
        ("frequencies, joints locked (Hz)", frequencies), *(("chosen", text) for text in model.choices),
    ]  # fmt: skip
    return _block(f"model of {model.robot.name}", None, rows)


def result_html(result: Result) -> str:
    """Table of statistics of a run, with a picture of the arm at its end and the path of its tip."""
    wanted = ("status", "duration", "method", "steps", "wall time", "energy balance")
    rows = [row for row in run_facts(result) if row[0] in wanted]
    rows.append(("look further", "result.plot(), result.to_html('run.html'), result.to_video('run.mp4')"))
    scene = scene_of(result, FRAMES)
    return _block(f"run of {result.robot.name}", None, rows, picture(scene, len(scene) - 1))


def picture(scene: Scene, frame: int) -> str:
    """Picture of the arm at a frame, with the path of its tip until then, as a PNG in base64."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6, 2.8), dpi=110)
    canvas: Any = FigureCanvasAgg(figure)  # most of its methods have no types
    FrameDrawing(figure.add_axes((0, 0, 1, 1)), scene, ghost=len(scene) > 1).show(frame)
    buffer = io.BytesIO()
    canvas.print_png(buffer)
    return base64.b64encode(buffer.getvalue()).decode()


def _block(title: str, head: Iterable[str] | None, rows: Iterable[Iterable[str]], image: str = "") -> str:
    """HTML of a title, a table and a picture side by side."""

    def line(cells: Iterable[str], tag: str) -> str:
        inner = "".join(f"<{tag} style='text-align:left'>{quoted(cell, 'html')}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    table = (line(head, "th") if head else "") + "".join(line(row, "td") for row in rows)
    shown = f"<img alt='the arm' src='data:image/png;base64,{image}'>" if image else ""
    return (
        "<div style='display:flex;gap:1em;align-items:center'>"
        f"<div><b>{quoted(title, 'html')}</b><table>{table}</table></div>{shown}</div>"
    )
