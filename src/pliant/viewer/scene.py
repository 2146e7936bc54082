"""The arm as a moving drawing: centre lines, sections and strain of every link over time, in numbers.

Deformation is kept apart from rigid motion, so that a picture may magnify it or leave it out: each link has its joint
motion, the shape of its straight body, and what its amplitudes add to it. `Scene.lines` puts them together. The page,
the viewer and the movies all draw from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.quaternions import to_matrix
from pliant.arrays import Array
from pliant.compute.llvm.kernel import Kernel
from pliant.errors import ModelError
from pliant.mechanics.links.attachments import Place
from pliant.mechanics.links.chain import ChainLink, FrameMap
from pliant.mechanics.links.frames import frame_of
from pliant.mechanics.links.linear_body import LinearBody
from pliant.mechanics.links.stiffened_body import StiffenedBody
from pliant.model.model import Model
from pliant.robot.files.text_table import payload_mass
from pliant.robot.parts.link import Link
from pliant.robot.parts.rigid_body import inertia_matrix
from pliant.robot.parts.visuals import Visual
from pliant.robot.pieces import in_pieces
from pliant.robot.tree import BASE
from pliant.simulation.runs.coupled_lines import touch_histories
from pliant.simulation.runs.internal_forces import RunHistory, interpolated_states
from pliant.simulation.runs.results import Result
from pliant.viewer.body_surfaces import surface_of
from pliant.viewer.placed_link import PlacedLink, SceneBox, SceneLink, ScenePlace
from pliant.viewer.scene_fittings import Fitting, SceneFrame, Touched, fittings

STATIONS = 25
"""Stations along a link that bends."""
BASE_EDGES, BODY_EDGES = (0.06, 0.6), (0.02, 0.15)
"""Least and largest edge of the box of a free base, and of a rigid body without a length, as parts of the reach."""
SLIMMEST = 0.005
"""Least radius of a drawn link, as a part of the reach of the arm: thinner ones would not be seen."""


@dataclass(frozen=True)
class Scene:
    """An arm over time.

    Attributes
    ----------
    t : (F,)
    links : tuple of SceneLink
    up : (3,)
        Against gravity; z without it.
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
        What is drawn in place of sections, by the name of the link; that of the base is "base".
    fittings : tuple of Fitting
        What is drawn besides links: of loops, couplings and contacts.
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
        """Whether a floor is drawn: not below what flies without gravity."""
        return not (self.flies and self.weightless)

    def base(self, placed: Sequence[PlacedLink]) -> Array:
        """(F, 3) where the base is, which a camera may follow."""
        return placed[0].joint[:, :3, 3] if self.flies else np.zeros((len(self), 3))

    def lines(self, magnification: float = 1.0) -> Iterator[PlacedLink]:
        """Links from the base outwards with deformations times `magnification`; 0 is the rigid arm."""
        at: dict[int, tuple[Array, ...]] = {-1: (np.broadcast_to(np.eye(4), (len(self), 4, 4)),)}
        for number, link in enumerate(self.links):
            value = link.motor + magnification * (link.joint - link.motor)
            root = at[link.parent][link.port] @ link.origin @ _moved(link, value)
            R, p = root[:, :3, :3], root[:, :3, 3]
            local = link.straight + magnification * link.shift
            points = np.einsum("fij,fsj->fsi", R, np.broadcast_to(local, (len(self), *local.shape[1:]))) + p[:, None]
            sections = R[:, None] @ exponentials(magnification * link.turn)
            tip = np.array(root)
            tip[:, :3, :3] = sections[:, -1] @ link.end
            tip[:, :3, 3] = points[:, -1]
            at[number] = (tip, *(root @ _place(place, magnification, len(self)) for place in link.places))
            yield PlacedLink(link, points, sections, root, at[number], magnification)

    def torn(self, magnification: float) -> float:
        """Metres by which pins of loops are drawn open, or spheres off what they touch, at most, with deformations
        so many times larger."""
        if not (self.pins or self.spheres):
            return 0.0
        drawn, true = list(self.lines(magnification)), list(self.lines())
        gaps = [a.at(drawn) - b.at(drawn) for a, b in self.pins] + [
            one.at(drawn) - one.at(true) for one in self.spheres
        ]
        return max(float(np.linalg.norm(gap[:, :3, 3], axis=1).max()) for gap in gaps)

    @property
    def largest_strain(self) -> float:
        """Over all links and times."""
        return max((float(link.strain.max()) for link in self.links if link.strain.size), default=0.0)

    @cached_property
    def largest_stress(self) -> float:
        """Of all bodies from files, over all times, Pa."""
        shown = [link.surface for link in self.links if link.surface is not None]
        found = (surface.von_mises(frame).max() for surface in shown for frame in range(len(surface.c)))
        return float(max(found, default=0.0))


LADDER = (1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0)
SEEN = 0.1
"""Part of the reach by which deflections move a point of the arm at most where they are drawn larger than they are."""
TORN = 0.02
"""Part of the reach by which pins of loops may be drawn open, and contacts apart."""


def readable_magnification(scene: Scene) -> float:
    """How many times larger deflections are drawn so that they are seen: 1, 2, 5, 10 and so on up to 1000."""
    pairs = zip(scene.lines(), scene.lines(0.0))
    away = max(float(np.linalg.norm(bent.points - rigid.points, axis=-1).max()) for bent, rigid in pairs)
    fitting = (m for m in LADDER if 0.0 < m * away <= SEEN * scene.reach)
    return next((m for m in fitting if scene.torn(m) <= TORN * scene.reach), 1.0)


def scene_of(result: Result, frames: int | Array | None = None) -> Scene:
    """The scene of a run: at so many of its rows evenly spaced in time, at given times, or at all rows."""
    if not len(result):
        raise ModelError("the result has no rows; nothing can be drawn")
    t = frames if isinstance(frames, np.ndarray) else result.t[frame_rows(result.t, frames)]
    try:
        history = result.history.between(t)
    except ModelError:  # a file does not keep its loads
        history = None
    q = interpolated_states(result.model.chain, t, result.t, result.q)
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
    """Rows of a result that stand for evenly spaced frames, first and last among them."""
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
    """The scene of states `q` (F, n) at times `t`, with strains from the section forces of a run where it is given, and
    with forces of its contacts."""
    values = model.nominal_parameters if p is None else np.asarray(p, dtype=float)
    deformed, frames = _deformation(model, np.atleast_2d(q), values)
    reach = _reach(model, deformed)
    payload = dict(zip(model.parameters, values.tolist())).get("payload.mass", payload_mass(model.robot))
    links = [_link(model, k, part, np.atleast_2d(q), reach, history, payload) for k, part in enumerate(deformed)]
    gravity = np.asarray(model.robot.gravity, dtype=float)
    pull = float(np.linalg.norm(gravity))
    up = -gravity / pull if pull else np.array([0.0, 0.0, 1.0])
    sizes = [_true_half(link, np.linspace(0, 1, 5))[0].max() for link in model.robot.links if link.beam is not None]
    slim = any(size < SLIMMEST * reach for size in sizes)
    visuals = {link.name: link.visuals for link in model.robot.links if link.visuals}
    visuals |= {BASE: model.robot.base.visuals} if model.robot.base.visuals else {}
    free = model.robot.base.is_free
    scene = Scene(np.asarray(t), tuple(links), up, reach, slim, float(payload), free, pull == 0.0, visuals)
    if not frames:
        return scene
    parts = fittings(model.robot, frames.__getitem__, list(scene.lines()), reach, touched)
    pins = [loop.between for loop in model.robot.loops if loop.joint.type not in ("distance", "prismatic")]
    spheres = dict.fromkeys(contact.frame for contact in model.robot.contacts)
    return replace(
        scene, fittings=tuple(parts), pins=tuple((frames[a], frames[b]) for a, b in pins),
        spheres=tuple(frames[name] for name in spheres),
    )  # fmt: skip


def _reach(model: Model, deformed: Sequence[_Deformed]) -> float:
    """From the base to the end of the longest stretched branch."""
    ends: list[list[float]] = []
    for link, part in zip(model.chain.links, deformed):
        root = 0.0 if link.parent is None else ends[link.parent][link.port]
        root += float(np.linalg.norm(part.origin[:3, 3]))
        along = [part.straight[0, -1] - part.straight[0, 0], *(place.straight[0] for place in part.places)]
        ends.append([root + float(np.linalg.norm(r)) for r in along])
    return max(map(max, ends)) or 1.0


@dataclass(frozen=True)
class _Deformed:
    """What the kernel gives for one link."""

    origin: Array
    end: Array
    straight: Array
    shift: Array
    turn: Array
    places: tuple[ScenePlace, ...]


def _kernels(model: Model) -> tuple[Kernel, Any]:
    """Displacements, rotations and straight stations of all links as one kernel, and what does not move; made once."""

    def make() -> tuple[Kernel, Any]:
        q, moving, fixed, frames = ca.SX.sym("q", model.n_q), [], [], _frame_maps(model)
        for number, link in enumerate(model.chain.links):
            c = model.chain.body(link, q)
            bent = [link.body.point(c, eta) for eta in _stations(link)]
            axis, turn = ca.vertcat(*(b[0] for b in bent)), ca.vertcat(*(ca.SX(b[1]) for b in bent))
            rest = link.straight(c)
            straight = ca.substitute(axis, c, rest) if link.flexible else axis
            moving += [axis - straight, turn, straight]
            tip = link.body.tip(rest, ca.SX.zeros(c.shape))
            fixed += [link.joint.origin_rotation.matrix, link.joint.origin, tip.R.matrix]
            for place in _places(number, link, frames):
                r, theta = (ca.SX.zeros(3),) * 2 if place.eta is None else link.body.point(c, place.eta)
                unbent = ca.substitute(ca.SX(r), c, rest) if link.flexible else ca.SX(r)
                moving += [r - unbent, theta, unbent]
                fixed.append(place.end.matrix)
        fixed += [x for frame in frames.values() for x in (frame.rotation.matrix, frame.origin)]
        p = model.parameter_symbols
        function = ca.Function("scene", [q, p], [ca.densify(ca.SX(x)) for x in moving])
        return Kernel(function, "vm"), ca.Function("fixed", [q, p], [ca.densify(ca.SX(x)) for x in fixed])

    return model.derived("scene", (), make)


def _stations(link: ChainLink) -> list[float]:
    """Parts of the length at which a link is drawn; of a body from a file its frames, in their order from root to
    tip."""
    if isinstance(link.body, LinearBody | StiffenedBody) and link.flexible:
        places = link.body.reduced.places
        further = sorted(range(2, len(places)), key=lambda k: float(places[k] @ places[1]))
        return [0.0, *(map(float, further) if further else (0.5,)), 1.0]
    count = max(3, STATIONS // link.piece.count) if link.flexible else 2
    return [float(eta) for eta in np.linspace(0.0, 1.0, count)]


def _deformation(model: Model, q: Array, p: Array) -> tuple[list[_Deformed], dict[str, SceneFrame]]:
    """Stations, displacements and rotations of all links at all states; and frames of loops, couplings and contacts."""
    moving, fixed = _kernels(model)
    shapes = [np.asarray(x).reshape(len(q), -1, 3) for x in moving(q, np.tile(p, (len(q), 1)))]
    each, numbers = iter(shapes), iter([np.array(x, dtype=float) for x in fixed(q[0], p)])
    found, maps = [], _frame_maps(model)
    for number, link in enumerate(model.chain.links):
        shift, turn, straight = next(each), next(each), next(each)
        origin = np.eye(4)
        origin[:3, :3], origin[:3, 3], end = next(numbers), next(numbers).ravel(), next(numbers)
        places = []
        for _ in _places(number, link, maps):
            moved, turned, at = (next(each)[:, 0] for _ in range(3))
            places.append(ScenePlace(at, moved, turned, next(numbers)))
        found.append(_Deformed(origin, end, straight, shift, turn, tuple(places)))
    frames, ports = {}, [1 + len(link.places) for link in model.chain.links]
    for name, frame in maps.items():
        pose, port = np.eye(4), 0
        pose[:3, :3], pose[:3, 3] = next(numbers), next(numbers).ravel()
        if frame.link is not None and frame.place is not None:
            port, ports[frame.link] = ports[frame.link], ports[frame.link] + 1
        frames[name] = SceneFrame(-1 if frame.link is None else frame.link, port, pose)
    return found, frames


def _frame_maps(model: Model) -> dict[str, FrameMap]:
    """Frames that loops, couplings and contacts hold, by name."""
    robot = model.robot
    parts: list[Any] = [*robot.loops, *robot.couplings, *robot.contacts]
    names = dict.fromkeys(name for part in parts for name in part.between)
    return {name: frame_of(model.chain, name) for name in names}


def _places(number: int, link: ChainLink, frames: Mapping[str, FrameMap]) -> list[Place]:
    """Of a link besides its tip: where others hang, then those of frames."""
    own = [frame.place for frame in frames.values() if frame.link == number and frame.place is not None]
    return [*link.places, *own]


def _link(
    model: Model, place: int, part: _Deformed, q: Array, reach: float, history: RunHistory | None, payload: float
) -> SceneLink:
    chain_link, link = model.chain.links[place], model.bodies[place]
    joint = q[:, list(chain_link.joint_places)]
    drives = {shaft.place: shaft.drive.place for shaft in chain_link.shafts if shaft.drive is not None}
    motor = q[:, [drives.get(k, k) for k in chain_link.joint_places]]
    straight, shift, turn = part.straight, part.shift, part.turn
    if not chain_link.flexible:
        straight, shift, turn = straight[:1], shift[:1], turn[:1]
    eta = np.linspace(0.0, 1.0, straight.shape[1])
    true, is_round = _true_half(link, eta)
    half = drawn_half(true, reach)
    size = true if true.max() > 0 else half
    surface = None if link.body is None else surface_of(link.body.reduced, q[:, list(chain_link.body_places)])
    if link.body is not None:
        strain = np.zeros((1, straight.shape[1]))
    elif history is not None and chain_link.body.data is not None and not chain_link.slides:
        strain = history.largest_strains(place, eta.tolist(), size, is_round, points=3)
    else:
        strain = _drawn_strain(straight, turn, size, is_round)
    if link.beam is not None and link.beam.slides and link.beam.total_length is not None:
        behind = _with_sleeve(straight, shift, turn, strain, half, float(link.beam.total_length))
        straight, shift, turn, strain, half = behind
    kind, flies = chain_link.joint.kind, place < model.layout.first
    carried = () if flies else in_pieces(model.robot).carried(place - model.layout.first)
    return SceneLink(
        link.name, kind, -1 if chain_link.parent is None else chain_link.parent, chain_link.port,
        np.asarray(chain_link.joint.axes, dtype=float).reshape(-1, 3), len(chain_link.joint.slides), part.origin,
        part.end, joint, motor, straight, shift, turn, strain, half, is_round, part.places,
        _box(link, reach, BASE_EDGES if flies else BODY_EDGES), kind not in ("fixed", "free") or chain_link.slides,
        bool(carried) and (payload > 0 if len(model.robot.payloads) == 1 else any(one.mass for one in carried)),
        BASE if flies else chain_link.piece.owner or link.name, surface,
    )  # fmt: skip


def _box(link: Link, reach: float, edges: tuple[float, float]) -> SceneBox | None:
    """The homogeneous box of the mass and inertia of a body without a length; its edges are kept in a range."""
    body = link.rigid
    if body is None or any(body.tip) or not body.mass:
        return None
    moments, axes = np.linalg.eigh(np.array(inertia_matrix(body.inertia), dtype=float))
    squares = 6 * (moments.sum() - 2 * moments) / float(body.mass)
    least, most = (part * reach for part in edges)
    return SceneBox(np.array(body.com, dtype=float), axes, np.clip(np.sqrt(np.maximum(squares, 0)), least, most))


def _with_sleeve(straight: Array, shift: Array, turn: Array, strain: Array, half: Array, total: float) -> Any:
    """A sliding beam with its material inside the sleeve: one station more, behind the mouth."""
    behind = straight[:, :1] + (straight[:, -1:, :1] - straight[:, :1, :1] - total) * np.array([1.0, 0.0, 0.0])
    none = np.zeros_like(behind)
    return (
        np.concatenate([behind, straight], axis=1), np.concatenate([none, shift], axis=1),
        np.concatenate([none, turn], axis=1), np.concatenate([none[..., 0], strain], axis=1),
        np.concatenate([half[:1], half]),
    )  # fmt: skip


def _true_half(link: Link, eta: Array) -> tuple[Array, bool]:
    """(S, 2) half width and height of the link's own section, zero where it has none, and whether it is round."""
    section = None if link.beam is None else link.beam.section
    if section is None:
        return np.zeros((len(eta), 2)), True

    return section.half_sizes(eta)


def drawn_half(true: Array, reach: float) -> Array:
    """Half sizes to draw: the true ones, enlarged where the link would be too slim to be seen."""
    least, widest = SLIMMEST * reach, float(true.max())
    if widest == 0.0:
        return np.full_like(true, 2 * least)
    return np.asarray(true * max(1.0, least / widest))


def _drawn_strain(straight: Array, turn: Array, half: Array, is_round: bool) -> Array:
    """Largest bending strain of each section of the drawn shape, by differences along the axis: of sliding beams, whose
    section forces are not followed, and of arms of which only a state is known."""
    if turn.shape[1] < 3:
        return np.zeros(turn.shape[:2])
    x = straight[..., 0]
    eta = np.linspace(0.0, 1.0, turn.shape[1])
    length = (x[:, -1] - x[:, 0])[:, None, None]
    bent = np.gradient(turn, eta, axis=1, edge_order=2)[..., 1:] / length
    y, z = np.abs(bent[..., 0]), np.abs(bent[..., 1])
    return np.asarray(np.hypot(half[:, 0] * z, half[:, 1] * y) if is_round else half[:, 0] * z + half[:, 1] * y)


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


def _place(place: ScenePlace, magnification: float, frames: int) -> Array:
    """(F, 4, 4) pose of a place in its link."""
    out = np.tile(np.eye(4), (frames, 1, 1))
    out[:, :3, :3] = exponentials(magnification * place.turn) @ place.end
    out[:, :3, 3] = place.straight + magnification * place.shift
    return out


def exponentials(theta: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    angle = np.linalg.norm(theta, axis=-1)[..., None, None]
    K = np.zeros((*theta.shape[:-1], 3, 3))
    K[..., 2, 1], K[..., 0, 2], K[..., 1, 0] = theta[..., 0], theta[..., 1], theta[..., 2]
    K = K - np.swapaxes(K, -1, -2)
    return np.asarray(np.eye(3) + np.sinc(angle / np.pi) * K + np.sinc(angle / (2 * np.pi)) ** 2 / 2 * (K @ K))
