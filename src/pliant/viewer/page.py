"""A run as one HTML file: the arm in three dimensions, plots, parameters and statistics, without a server or network.

`page_data` collects everything that the page shows; the scripts in `web` draw it.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.base.writing import atomic_write
from pliant.drawing.figure_data import Curve, Panel, color_scale
from pliant.drawing.style import line
from pliant.figures import run_panels
from pliant.simulation.runs.results import Result
from pliant.viewer.colors import GHOST, GRID, ORANGE, PATH, RIGID, STEEL, STRAIN, hexadecimal, page_style
from pliant.viewer.scenes.body_skins import BodySkin
from pliant.viewer.scenes.placed_link import SceneLink
from pliant.viewer.scenes.scene import Scene, frame_rows, readable_magnification, scene_of
from pliant.viewer.scenes.scene_camera import outlook
from pliant.viewer.scenes.scene_fittings import Fitting, Pushed, SceneFrame, Spanned
from pliant.viewer.scenes.skins import Skin, skins_of

Data = dict[str, object]
"""Plain data that JSON can hold."""
FRAMES = 600
"""Frames of the moving arm at most; the page interpolates between them."""
ROWS = 1500
"""Points of a line of a plot at most."""
TABS = {
    "motion": (run_panels.joints, run_panels.wind_up, run_panels.tip_deflection, run_panels.deflections),
    "attitude": (run_panels.attitude,),
    "tip": (run_panels.tip,),
    "energy": (run_panels.energy,),
    "torques": (run_panels.torques,),
}
"""Panels of each tab of the page."""


@checked
@work("to_html", "writing a page")
def to_html(result: Result, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write a run as a page that any browser opens, from disk and without a network.

    Deflections are magnified so that they are seen; the page says how much, and has a slider for it.

    Parameters
    ----------
    result : Result
        The run.
    path : str or path
        The file.
    title : str, optional
        The name of the robot by default.

    Returns
    -------
    path

    Examples
    --------
    >>> result = pliant.simulate(pliant.load("two-link").model(), 0.1)
    >>> pliant.view.to_html(result, "run.html").name
    'run.html'
    """
    target = Path(path)
    text = page(result, title)
    with atomic_write(target) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def page(result: Result, title: str | None = None) -> str:
    """HTML text of the page."""
    name = title or result.robot.name
    parts = {
        "TITLE": quoted(name, "html"),
        "UPLOT_CSS": asset("uplot.css"),
        "COLORS": page_style(),
        "STYLE": asset("style.css"),
        "VENDOR": asset("vendor.min.js"),
        "VIEWER": asset("viewer.js"),
        "DATA": _embedded(page_data(result, name)),
    }
    return re.sub("@@([A-Z_]+)@@", lambda mark: parts[mark[1]], asset("page.html"))


def asset(name: str) -> str:
    """Text of a file in `web`."""
    return (files("pliant.viewer") / "web" / name).read_text(encoding="utf-8")


def _embedded(data: Data) -> str:
    """JSON text that cannot end the script element around it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def page_data(result: Result, title: str) -> Data:
    """Everything that the page shows, as plain data; arrays are base64 of float32, or of int16 with a scale."""
    scene = scene_of(result, FRAMES)
    magnification, skins = readable_magnification(scene), skins_of(scene) if scene.skinned else ()
    hidden = {number for skin in skins for number in skin.links}
    shown, largest = color_scale(scene.largest_strain, scene.largest_stress)
    placed, o = list(scene.lines(magnification)), result.options
    seen, follows = outlook(scene, placed), vars(outlook(scene, placed, follow=True)) if scene.flies else None
    return {
        "title": title,
        "subtitle": f"{result.t[-1]:g} s by {o['formulation']} and {result.stats.method}, {result.stats.status}",
        "note": _note(result, scene),
        "magnification": magnification,
        "t": _floats(scene.t),
        "up": scene.up.tolist(),
        "reach": scene.reach,
        "camera": _plain(vars(seen)),
        "follow": None if follows is None else _plain(follows),
        "standing": scene.standing,
        "colors": {
            "strain": STRAIN.tolist(),
            "rigid": RIGID.tolist(),
            "ghost": hexadecimal(GHOST),
            "path": hexadecimal(PATH),
            "steel": hexadecimal(STEEL),
            "orange": hexadecimal(ORANGE),
            "grid": [hexadecimal(color) for color in GRID],
        },
        "strain": scene.largest_strain,
        "stress": scene.largest_stress,
        "strain_name": shown,
        "strain_text": largest,
        "links": [_link(link, k in hidden) for k, link in enumerate(scene.links)],
        "skins": [_skin(skin) for skin in skins],
        "fittings": [_fitting(part) for part in scene.fittings],
        "plots": [
            _plot(tab, panel)
            for tab, quantities in TABS.items()
            for quantity in quantities
            for panel in quantity(result)
            if panel.curves
        ],
        "facts": facts(result),
    }


def _note(result: Result, scene: Scene) -> str:
    """Remark on links that are not drawn as they are; "" if all are."""
    unsized = [link.name for link in result.robot.links if link.beam is not None and link.beam.section is None]
    if unsized:
        return "links without a section are drawn with a radius of 1 % of the reach, and their strain is that of it"
    return "slender links are drawn thicker than they are" if scene.thickened else ""


def _plain(parts: Mapping[str, object]) -> Data:
    return {name: np.asarray(value).tolist() for name, value in parts.items()}


def _skin(skin: Skin) -> Data:
    faces = _faces(skin.faces)
    if isinstance(skin, BodySkin):
        surface = skin.surface
        shapes = {"moves": _scaled(surface.moves[None]), "stress": _scaled(surface.stress[None])}
        return {
            "name": skin.name, "links": list(skin.links), "faces": faces, "offset": _floats(surface.points),
            "color": skin.color.tolist(), "bends": skin.bends, "body": {"c": _floats(surface.c), **shapes},
        }  # fmt: skip
    return {
        "name": skin.name,
        "links": list(skin.links),
        "faces": faces,
        "link": _floats(skin.link.astype(float)),
        "station": _floats(skin.station),
        "offset": _floats(skin.offset),
        "color": skin.color.tolist(),
        "bends": skin.bends,
    }


def _fitting(part: Fitting) -> Data:
    points, faces = part.mesh
    place: Data = {"kind": type(part.place).__name__.lower()}
    if isinstance(part.place, Spanned):
        place |= {"frames": [_frame(one) for one in part.place.frames]}
        place |= {"begin": part.place.begin, "end": part.place.end}
    else:
        place["frames"] = [_frame(part.place.frame)]
    if isinstance(part.place, Pushed):
        place |= {"radius": part.place.radius, "scale": part.place.scale}
        place |= {"normal": _scaled(part.place.normal), "force": _scaled(part.place.force)}
    return {
        "name": part.name, "points": _floats(points), "faces": _faces(faces), "color": part.color, "place": place,
    }  # fmt: skip


def _frame(frame: SceneFrame) -> Data:
    R, p = frame.pose[:3, :3], frame.pose[:3, 3]
    return {"link": frame.link, "port": frame.port, "R": R.ravel().tolist(), "p": p.tolist()}


def _link(link: SceneLink, covered: bool) -> Data:
    return {
        "name": link.name,
        "covered": covered,
        "kind": link.kind,
        "marked": link.marked,
        "loaded": link.loaded,
        "bends": link.flexible,
        "box": None if link.box is None else _plain(vars(link.box)),
        "joint_size": link.joint_size,
        "parent": link.parent,
        "port": link.port,
        "places": [
            {
                "straight": _scaled(place.straight),
                "shift": _scaled(place.shift),
                "turn": _scaled(place.turn),
                "end": place.end.ravel().tolist(),
            }
            for place in link.places
        ],
        "axes": link.axes.tolist(),
        "axis": link.axis.tolist(),
        "sliding": link.sliding,
        "origin": link.origin[:3, 3].tolist(),
        "rotation": link.origin[:3, :3].ravel().tolist(),
        "end": link.end.ravel().tolist(),
        "stations": link.straight.shape[1],
        "joint": _floats(link.joint),
        "motor": _floats(link.motor),
        "straight": _scaled(link.straight),
        "shift": _scaled(link.shift),
        "turn": _scaled(link.turn),
        "strain": _scaled(link.strain),
        "half": link.half.ravel().tolist(),
        "round": link.round,
    }


def _plot(tab: str, panel: Panel) -> Data:
    t = panel.curves[0].x
    rows = frame_rows(t, ROWS)
    return {
        "tab": tab,
        "title": f"{panel.of}: {panel.title}" if panel.of else panel.title,
        "unit": panel.y.unit,
        "x": str(panel.x),
        "t": _floats(t[rows]),
        "series": [
            {
                "name": curve.label,
                "color": line(curve.role)["color"],
                "y": _floats(curve.y[rows]),
                **_middle(panel, curve),
            }
            for curve in panel.curves
        ],
    }


def _middle(panel: Panel, curve: Curve) -> dict[str, str]:
    """Mean line of a curve that swings too often to be followed itself, if it does."""
    middle = panel.midline(curve)
    return {} if middle is None else {"middle": _floats(middle[frame_rows(curve.x, ROWS)])}


def _floats(values: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _faces(faces: NDArray[np.int64] | NDArray[np.uint32]) -> str:
    return base64.b64encode(np.ascontiguousarray(faces, dtype="<u4").tobytes()).decode()


def _scaled(values: Array) -> Data:
    """Numbers as int16 with one scale: the error is 3e-5 of the largest, far below what can be seen. One frame stands
    for all where all are alike."""
    values = values[:1] if (values == values[:1]).all() else values
    scale = float(np.abs(values).max(initial=0.0)) / 32767 or 1.0
    return {"scale": scale, "data": base64.b64encode(np.round(values / scale).astype("<i2").tobytes()).decode()}


def run_facts(result: Result) -> list[tuple[str, str]]:
    """Statistics of a run, by name."""
    s = result.stats
    balance = float(np.abs(result.energy_balance).max(initial=0.0))
    return [
        ("status", f"{s.status}{': ' + s.message if s.message else ''}"),
        ("duration", f"{result.t[-1]:g} s, {len(result)} rows"),
        ("method", f"{s.method}{f' ({s.reason})' if s.reason else ''}"),
        ("steps", f"{s.steps} ({s.rejected} rejected)"),
        ("evaluations", f"{s.evaluations}" + (f", {s.jacobians} Jacobians" if s.jacobians else "")),
        ("wall time", f"{s.wall:.3g} s" + (f", after {s.compile:.3g} s of compiling" if s.compile >= 0.01 else "")),
        ("energy balance", f"within {balance:.2g} J"),
        *((f"event at {t:.6g} s", name) for t, name in s.events),
    ]


def facts(result: Result) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tables with titles: statistics of the run, how far links bent, the model, numbers of the robot that are not zero,
    and versions."""
    o = result.options
    model = [(name, str(o[name])) for name in ("formulation", "rotation", "stiffening")]
    model.append(("coordinates", ", ".join(result.coordinates)))
    model += [(name, f"{value:.6g}") for name, value in zip(o["parameters"], result.parameters)]
    robot = [(path, f"{value:.6g}") for path, value in result.robot.paths().items() if value]
    links = [(one.link, str(one).removeprefix(f"{one.link}: ")) for one in result.validity]
    return [
        ("Run", run_facts(result)),
        *([("Links within what the model holds for", links)] if links else []),
        ("Model", model),
        ("Robot, SI units (what is not listed is zero)", robot),
        ("Versions", list(result.versions.items())),
    ]
