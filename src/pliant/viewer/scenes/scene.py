"""The arm as a moving drawing: axes, sections and strain of every link over time, as numbers.

`scene_of` makes the `Scene` of a run, `make_scene` that of any states, in four steps:

1. Two functions of the model give, for every link, where its stations are when it is straight, how far each station is
   displaced, and how its section turns (`deformations.py`).
2. The length of the stretched arm sizes everything that has no size of its own (`_reach`).
3. Each link gets its drawn section, its strain, and a box or a surface where it has no axis to draw (`_link`).
4. Loops, couplings and contacts get fittings (`pliant.viewer.scenes.scene_fittings`).

Deformation is kept apart from rigid motion, so that a picture may magnify it or leave it out. `Scene.lines` puts both
together for one magnification. The page, the viewer and the movies all draw from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.algebra.quaternions import to_matrix
from pliant.arrays import Array
from pliant.base.later import LaterModule
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.robot.mass_sum import payload_mass
from pliant.robot.parts.bodies.rigid_body import inertia_matrix
from pliant.robot.parts.bodies.visuals import Visual
from pliant.robot.parts.joint_types import JOINT_TYPES
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces
from pliant.robot.tree import BASE
from pliant.simulation.runs.equations.coupled_lines import touch_histories
from pliant.simulation.runs.quantities.internal_forces import RunHistory, interpolated_states
from pliant.simulation.runs.results import Result
from pliant.viewer.scenes.body_surfaces import surface_of
from pliant.viewer.scenes.placed_link import PlacedLink, SceneBox, SceneLink, ScenePlace
from pliant.viewer.scenes.scene_fittings import Fitting, SceneFrame, Touched, fittings

if TYPE_CHECKING:
    import casadi as ca

    from pliant.viewer.scenes import deformations
else:  # it makes expressions
    deformations = LaterModule("pliant.viewer.scenes.deformations")

BASE_EDGES, BODY_EDGES = (0.06, 0.6), (0.02, 0.15)
"""Least and largest edge of the box of a free base, and of a rigid body without a length, as parts of the reach."""
SLIMMEST = 0.005
"""Least radius of a drawn link, as a part of the reach of the arm: thinner ones would not be seen."""
LADDER = (1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0)
"""Magnifications to choose from."""
SEEN = 0.1
"""Part of the reach by which magnified deflections move a point of the arm at most."""
TORN = 0.02
"""Part of the reach by which pins of loops may be drawn open, and contacts apart."""


@dataclass(frozen=True)
class Scene:
    """An arm over time.

    Attributes
    ----------
    t : (F,)
    links : tuple of SceneLink
    up : (3,)
        Unit vector against gravity; z if there is no gravity.
    reach : float
        Length of the stretched arm, which sizes everything that has no size of its own.
    thickened : bool
        Whether some link is drawn thicker than it is.
    payload : float
        Mass in kg.
    flies : bool
        Whether the base is free, and so the first link.
    weightless : bool
        Whether there is no gravity.
    visuals : dict
        Visuals drawn in place of sections, by the name of the link; that of the base is "base".
    fittings : tuple of Fitting
        Drawn parts of loops, couplings and contacts.
    pins : tuple of pairs of SceneFrame
        Frames that loops hold at one place.
    spheres : tuple of SceneFrame
        Frames that may touch something.
    """

    t: Array
    links: tuple[SceneLink, ...]
    up: Array
    reach: float
    thickened: bool
    payload: float
    flies: bool = False
    weightless: bool = False
    visuals: dict[str, tuple[Visual, ...]] = field(default_factory=dict)
    fittings: tuple[Fitting, ...] = ()
    pins: tuple[tuple[SceneFrame, SceneFrame], ...] = ()
    spheres: tuple[SceneFrame, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    @property
    def standing(self) -> bool:
        """Whether a floor is drawn: none for an arm that flies without gravity."""
        return not (self.flies and self.weightless)

    @property
    def skinned(self) -> bool:
        """Return whether some link is drawn by visuals or by a surface of its own."""
        return bool(self.visuals) or any(link.surface is not None for link in self.links)

    def base(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 3) position of the base, which a camera may follow."""
        return placed[0].joint[:, :3, 3] if self.flies else np.zeros((len(self), 3))

    def lines(self, magnification: float = 1.0) -> Iterator[PlacedLink]:
        """Links from the base outwards with deformations times `magnification`; 0 is the rigid arm."""
        ports: dict[int, tuple[Array, ...]] = {-1: (np.broadcast_to(np.eye(4), (len(self), 4, 4)),)}
        for number, link in enumerate(self.links):
            value = link.motor + magnification * (link.joint - link.motor)
            root = ports[link.parent][link.port] @ link.origin @ _moved(link, value)
            placed = _placed(link, root, magnification)
            ports[number] = placed.ports
            yield placed

    def torn(self, magnification: float) -> float:
        """Largest distance (m) by which pins of loops are drawn open, or spheres are drawn away from their true place,
        at a magnification."""
        if not (self.pins or self.spheres):
            return 0.0
        drawn, true = list(self.lines(magnification)), list(self.lines())
        gaps = [a.at(drawn) - b.at(drawn) for a, b in self.pins] + [
            one.at(drawn) - one.at(true) for one in self.spheres
        ]
        return max(float(np.linalg.norm(gap[:, :3, 3], axis=1).max()) for gap in gaps)

    @property
    def largest_strain(self) -> float:
        """Largest strain of all links over time."""
        return max((float(link.strain.max()) for link in self.links if link.strain.size), default=0.0)

    @cached_property
    def largest_stress(self) -> float:
        """Largest von Mises stress of all bodies from files over time, Pa."""
        shown = [link.surface for link in self.links if link.surface is not None]
        found = (surface.von_mises(frame).max() for surface in shown for frame in range(len(surface.c)))
        return float(max(found, default=0.0))


def readable_magnification(scene: Scene) -> float:
    """Factor by which deflections are drawn larger so that they are seen: 1, 2, 5, 10 and so on up to 1000."""
    pairs = zip(scene.lines(), scene.lines(0.0))
    away = max(float(np.linalg.norm(bent.points - rigid.points, axis=-1).max()) for bent, rigid in pairs)
    fitting = (m for m in LADDER if 0.0 < m * away <= SEEN * scene.reach)
    return next((m for m in fitting if scene.torn(m) <= TORN * scene.reach), 1.0)


# -------------------------------------------------------------------------------------------------- making a scene


def scene_of(result: Result, frames: int | Array | None = None) -> Scene:
    """Scene of a run: at so many of its rows evenly spaced in time, at given times, or at all rows."""
    if not len(result):
        raise ModelError("the result has no rows; nothing can be drawn")
    t = frames if isinstance(frames, np.ndarray) else result.t[frame_rows(result.t, frames)]
    try:
        history = result.history.between(t)
    except ModelError:  # a file does not keep its loads
        history = None
    q = interpolated_states(result.model.layout, t, result.t, result.q)
    return make_scene(result.model, t, q, result.parameters, history, _touched(result, t))


def _touched(result: Result, t: Array) -> Touched | None:
    """Contacts of a run at given times."""
    if not result.robot.contacts:
        return None
    found = touch_histories(result.model, result.q, result.qd, result.parameters)

    def at(x: Array) -> Array:
        columns = [np.interp(t, result.t, column) for column in x.reshape(len(x), -1).T]
        return np.stack(columns, axis=1).reshape(len(t), *x.shape[1:])

    return Touched(at(found["normal"]), at(found["push"]))


def frame_rows(t: Array, frames: int | None) -> NDArray[np.intp]:
    """Rows of a result nearest to evenly spaced times, first and last among them."""
    if frames is None or frames >= len(t):
        return np.arange(len(t))
    wanted = np.linspace(t[0], t[-1], max(frames, 2))
    after = np.clip(np.searchsorted(t, wanted), 1, len(t) - 1)
    return np.unique(np.where(wanted - t[after - 1] < t[after] - wanted, after - 1, after))


def make_scene(
    model: Model,
    t: Array,
    q: Array,
    p: Array | None = None,
    history: RunHistory | None = None,
    touched: Touched | None = None,
) -> Scene:
    """Scene of states `q` (F, n) at times `t`, with strains from the section forces of a run where it is given, and
    with forces of its contacts."""
    q, robot = np.atleast_2d(q), model.robot
    values = model.nominal_parameters if p is None else np.asarray(p, dtype=float)
    deformed, frames = _deformation(model, q, values)
    reach = _reach(model, deformed)
    payload = dict(zip(model.parameters, values.tolist())).get("payload.mass", payload_mass(model.robot))
    gravity = np.asarray(robot.gravity, dtype=float)
    pull = float(np.linalg.norm(gravity))
    widest = [_true_half(link, np.linspace(0, 1, 5))[0].max() for link in robot.links if link.beam is not None]
    scene = Scene(
        t=np.asarray(t),
        links=tuple(_link(model, k, part, q, reach, history, payload) for k, part in enumerate(deformed)),
        up=-gravity / pull if pull else np.array([0.0, 0.0, 1.0]),
        reach=reach,
        thickened=any(size < SLIMMEST * reach for size in widest),
        payload=float(payload),
        flies=robot.base.is_free,
        weightless=pull == 0.0,
        visuals=_visuals(robot),
    )
    return _with_fittings(scene, robot, frames, touched) if frames else scene


def _visuals(robot: Robot) -> dict[str, tuple[Visual, ...]]:
    """Visuals of links and of the base, by name."""
    found = {link.name: link.visuals for link in robot.links if link.visuals}
    return found | ({BASE: robot.base.visuals} if robot.base.visuals else {})


def _with_fittings(scene: Scene, robot: Robot, frames: Mapping[str, SceneFrame], touched: Touched | None) -> Scene:
    """A scene with what is drawn of loops, couplings and contacts, and the frames that a magnification may tear."""
    parts = fittings(robot, frames.__getitem__, list(scene.lines()), scene.reach, touched)
    pins = [loop.between for loop in robot.loops if loop.joint.type not in ("distance", "prismatic")]
    spheres = dict.fromkeys(contact.frame for contact in robot.contacts)
    return replace(
        scene,
        fittings=tuple(parts),
        pins=tuple((frames[a], frames[b]) for a, b in pins),
        spheres=tuple(frames[name] for name in spheres),
    )


# --------------------------------------------------------------------------- 1. displacements and rotations of links


@dataclass(frozen=True)
class _Deformed:
    """A link at all states: its axis, what its amplitudes add to it, and fixed poses before and behind."""

    origin: Array
    end: Array
    straight: Array
    shift: Array
    turn: Array
    places: tuple[ScenePlace, ...]


def _deformation(model: Model, q: Array, p: Array) -> tuple[list[_Deformed], dict[str, SceneFrame]]:
    """All links at all states; and the frames of loops, couplings and contacts by name."""
    moving, fixed = _kernels(model)
    points = iter([np.asarray(x).reshape(len(q), -1, 3) for x in moving(q, np.tile(p, (len(q), 1)))])
    numbers = iter(fixed(q[0], p))
    found, frames, ports = [], {}, [link.ports for link in model.layout.links]
    for name, (number, has_port) in _seats(model).items():
        port = 0
        if number is not None and has_port:  # behind the ports at which other links hang
            port, ports[number] = ports[number], ports[number] + 1
        frames[name] = (-1 if number is None else number, port)
    for count in ports:  # in the order of `moving_parts` and `fixed_parts`
        shift, turn, straight = next(points), next(points), next(points)
        origin, end = _pose(next(numbers), next(numbers)), next(numbers)
        places = []
        for _ in range(count - 1):
            moved, turned, at = (next(points)[:, 0] for _ in range(3))
            places.append(ScenePlace(straight=at, shift=moved, turn=turned, end=next(numbers)))
        found.append(_Deformed(origin, end, straight, shift, turn, tuple(places)))
    return found, {name: SceneFrame(*at, _pose(next(numbers), next(numbers))) for name, at in frames.items()}


def _kernels(model: Model) -> tuple[Kernel, Kernel]:
    """Moving and fixed parts as functions of (q, p), made once for each model."""

    def made(name: str, trace: Callable[[], ca.Function]) -> Kernel:
        recipe = model.form and f"{model.form} scene {name}"
        return Kernel(Recorded(trace, recipe, title=f"a picture of {model.robot.name}"), "vm")

    def both() -> tuple[Kernel, Kernel]:
        moving = made("moving", lambda: deformations.moving_parts(model))
        return moving, made("fixed", lambda: deformations.fixed_parts(model))

    return model.derived("scene", (), both)


def _seats(model: Model) -> dict[str, tuple[int | None, bool]]:
    """Frames that loops, couplings and contacts hold, by name: number of the link, and whether it has a port there."""
    robot = model.robot
    if not (robot.loops or robot.couplings or robot.contacts):
        return {}
    kept = recalled(model.form and f"{model.form} scene seats", lambda: deformations.seats(model))
    return {name: (link, has_port) for name, (link, has_port) in kept.items()}


# ------------------------------------------------------------------------------------------------- 2. size of the arm


def _reach(model: Model, deformed: Sequence[_Deformed]) -> float:
    """Length from the base to the end of the longest stretched branch."""
    ends: list[list[float]] = []
    for link, part in zip(model.layout.links, deformed):
        root = 0.0 if link.parent is None else ends[link.parent][link.port]
        root += float(np.linalg.norm(part.origin[:3, 3]))
        along = [part.straight[0, -1] - part.straight[0, 0], *(place.straight[0] for place in part.places)]
        ends.append([root + float(np.linalg.norm(r)) for r in along])
    return max(map(max, ends)) or 1.0


# ------------------------------------------------------------------------------------------- 3. what a link looks like


def _link(
    model: Model, number: int, part: _Deformed, q: Array, reach: float, history: RunHistory | None, payload: float
) -> SceneLink:
    """One link as it is drawn, with a sleeve where it slides."""
    known, link = model.layout.links[number], model.bodies[number]
    joint = q[:, list(known.joint_places)]
    drives = {shaft.place: shaft.drive.place for shaft in model.layout.all_shafts if shaft.drive is not None}
    motor = q[:, [drives.get(k, k) for k in known.joint_places]]
    frames = slice(None) if known.flexible else slice(1)
    straight, shift, turn = part.straight[frames], part.shift[frames], part.turn[frames]
    true, is_round = _true_half(link, np.linspace(0.0, 1.0, straight.shape[1]))
    half = drawn_half(true, reach)
    size = true if true.max() > 0 else half
    is_base = number < model.layout.first
    made = SceneLink(
        name=link.name,
        kind=known.kind,
        parent=-1 if known.parent is None else known.parent,
        port=known.port,
        axes=np.asarray(known.axes, dtype=float).reshape(-1, 3),
        sliding=JOINT_TYPES[known.kind].slides,
        origin=part.origin,
        end=part.end,
        joint=joint,
        motor=motor,
        straight=straight,
        shift=shift,
        turn=turn,
        strain=_strain(model, number, straight, turn, size, is_round, history),
        half=half,
        round=is_round,
        places=part.places,
        box=_box(link, reach, BASE_EDGES if is_base else BODY_EDGES),
        marked=known.kind not in ("fixed", "free") or known.slides,
        loaded=not is_base and _is_loaded(model, number, payload),
        owner=BASE if is_base else known.piece.owner or link.name,
        surface=None if link.body is None else surface_of(link.body.reduced, q[:, list(known.body_places)]),
    )
    if link.beam is not None and link.beam.slides and link.beam.total_length is not None:
        return _with_sleeve(made, float(link.beam.total_length))
    return made


def _is_loaded(model: Model, number: int, payload: float) -> bool:
    """Whether the tip of a link carries a payload that has mass."""
    carried = in_pieces(model.robot).carried(number - model.layout.first)
    return bool(carried) and (payload > 0 if len(model.robot.payloads) == 1 else any(one.mass for one in carried))


def _box(link: Link, reach: float, edges: tuple[float, float]) -> SceneBox | None:
    """Homogeneous box of the mass and inertia of a body without a length; its edges are kept in a range."""
    body = link.rigid
    if body is None or any(body.tip) or not body.mass:
        return None
    moments, axes = np.linalg.eigh(np.array(inertia_matrix(body.inertia), dtype=float))
    squares = 6 * (moments.sum() - 2 * moments) / float(body.mass)
    least, most = (part * reach for part in edges)
    return SceneBox(np.array(body.com, dtype=float), axes, np.clip(np.sqrt(np.maximum(squares, 0)), least, most))


def _with_sleeve(link: SceneLink, total: float) -> SceneLink:
    """A sliding beam of length `total` with its material inside the sleeve: one station more, behind the mouth."""
    straight = link.straight
    behind = straight[:, :1] + (straight[:, -1:, :1] - straight[:, :1, :1] - total) * np.array([1.0, 0.0, 0.0])
    none = np.zeros_like(behind)
    return replace(
        link,
        straight=np.concatenate([behind, straight], axis=1),
        shift=np.concatenate([none, link.shift], axis=1),
        turn=np.concatenate([none, link.turn], axis=1),
        strain=np.concatenate([none[..., 0], link.strain], axis=1),
        half=np.concatenate([link.half[:1], link.half]),
    )


def _true_half(link: Link, eta: Array) -> tuple[Array, bool]:
    """(S, 2) half width and height of the link's own section, zero where it has none, and whether it is round."""
    section = None if link.beam is None else link.beam.section
    return (np.zeros((len(eta), 2)), True) if section is None else section.half_sizes(eta)


def drawn_half(true: Array, reach: float) -> Array:
    """Half sizes to draw: the true ones, enlarged where the link would be too slim to be seen."""
    least, widest = SLIMMEST * reach, float(true.max())
    if widest == 0.0:
        return np.full_like(true, 2 * least)
    return np.asarray(true * max(1.0, least / widest))


def _strain(
    model: Model, number: int, straight: Array, turn: Array, half: Array, is_round: bool, history: RunHistory | None
) -> Array:
    """(F, S) largest bending strain of each section: from section forces where a run gives them, else from the drawn
    shape; zero for a body from a file, whose surface has stress."""
    known = model.layout.links[number]
    if model.bodies[number].body is not None:
        return np.zeros((1, straight.shape[1]))
    if history is not None and known.has_sections and not known.slides:
        eta = np.linspace(0.0, 1.0, straight.shape[1])
        return history.largest_strains(number, eta.tolist(), half, is_round, points=3)
    return _drawn_strain(straight, turn, half, is_round)


def _drawn_strain(straight: Array, turn: Array, half: Array, is_round: bool) -> Array:
    """Largest bending strain of each section of the drawn shape, by differences along the axis. It serves sliding
    beams, whose section forces are not followed, and arms of which only a state is known."""
    if turn.shape[1] < 3:
        return np.zeros(turn.shape[:2])
    x = straight[..., 0]
    eta = np.linspace(0.0, 1.0, turn.shape[1])
    length = (x[:, -1] - x[:, 0])[:, None, None]
    bent = np.gradient(turn, eta, axis=1, edge_order=2)[..., 1:] / length
    y, z = np.abs(bent[..., 0]), np.abs(bent[..., 1])
    return np.asarray(np.hypot(half[:, 0] * z, half[:, 1] * y) if is_round else half[:, 0] * z + half[:, 1] * y)


# ---------------------------------------------------------------------------------------------------- poses over time


def _placed(link: SceneLink, root: Array, magnification: float) -> PlacedLink:
    """A link in the base, from the frames (F, 4, 4) behind its joint."""
    R, p = root[:, :3, :3], root[:, :3, 3]
    local = link.straight + magnification * link.shift
    points = np.einsum("fij,fsj->fsi", R, np.broadcast_to(local, (len(root), *local.shape[1:]))) + p[:, None]
    sections = R[:, None] @ exponentials(magnification * link.turn)
    tip = np.array(root)
    tip[:, :3, :3] = sections[:, -1] @ link.end
    tip[:, :3, 3] = points[:, -1]
    ports = (tip, *(root @ _port(place, magnification, len(root)) for place in link.places))
    return PlacedLink(link, points, sections, root, ports, magnification)


def _moved(link: SceneLink, value: Array) -> Array:
    """(F, 4, 4) motion of the joint at positions (F, k)."""
    out = np.tile(np.eye(4), (len(value), 1, 1))
    if link.kind in ("spherical", "free"):
        out[:, :3, :3] = to_matrix(value[:, -4:])
        out[:, :3, 3] = value[:, :-4] if link.kind == "free" else 0.0
        return out
    out[:, :3, 3] = value[:, : link.sliding] @ link.axes[: link.sliding]
    for k in range(link.sliding, len(link.axes)):
        out[:, :3, :3] = out[:, :3, :3] @ exponentials(link.axes[k] * value[:, k, None])
    return out


def _port(place: ScenePlace, magnification: float, frames: int) -> Array:
    """(F, 4, 4) pose of a port in its link."""
    out = np.tile(np.eye(4), (frames, 1, 1))
    out[:, :3, :3] = exponentials(magnification * place.turn) @ place.end
    out[:, :3, 3] = place.straight + magnification * place.shift
    return out


def _pose(rotation: Array, origin: Array) -> Array:
    """(4, 4) pose from a rotation (3, 3) and a position of three numbers."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation, origin.ravel()
    return out


def exponentials(theta: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    angle = np.linalg.norm(theta, axis=-1)[..., None, None]
    K = np.zeros((*theta.shape[:-1], 3, 3))
    K[..., 2, 1], K[..., 0, 2], K[..., 1, 0] = theta[..., 0], theta[..., 1], theta[..., 2]
    K = K - np.swapaxes(K, -1, -2)
    return np.asarray(np.eye(3) + np.sinc(angle / np.pi) * K + np.sinc(angle / (2 * np.pi)) ** 2 / 2 * (K @ K))
