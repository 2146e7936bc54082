"""Craig and Bampton's reduction: static shapes of every interface, modes with all of them held, made orthonormal.

With the root held, the shapes are the static ones of every other interface, six each (its frame moves by one, all other
frames stand still, and nothing else is loaded), and the lowest modes with every interface held. Static shapes of the
root are these and rigid motions, which an arm has anyway. Eigenvectors of the small system make them coordinates of
unit mass and no coupling in stiffness.

Where a frequency is given, shapes for the modes that are left out are added: their slow motion is the deflection
K^-1 M psi under the inertia of static shapes and of rigid motions psi, twelve shapes more for two interfaces. Without
these, frequencies at half the cut-off are off by up to 1 %; with them, by less than 1e-4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pliant.algebra.canonical import canonical
from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.base.stages import say, work
from pliant.errors import ModelError
from pliant.mechanics.bodies.body_surface import drawn_surface, rounded
from pliant.mechanics.bodies.element_model import TENSOR, ElementModel, check_free, rigid_motions
from pliant.mechanics.bodies.fixed_modes import EQUAL, MOST_MODES, fixed_interface_modes, modal_masses
from pliant.mechanics.bodies.held_stiffness import HeldStiffness
from pliant.mechanics.bodies.interfaces import HeldNodes, Interface, check_places, interfaces_of, place_interface
from pliant.mechanics.bodies.mass_integrals import mass_integrals
from pliant.mechanics.bodies.second_order_shapes import BeyondShapes, beyond_shapes
from pliant.options import BodyStiffeningName, LengthUnit
from pliant.robot.parts.bodies.reduced_body import ReducedBody

UNITS: dict[str, float] = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
MODES = 6
"""Modes with the interfaces held, by default."""
ROUND_OFF = 1e-11
"""An integral of unit shapes that is smaller, of the most that it could be, is zero by symmetry."""
DEPENDENT = 1e-6
"""Unit shapes whose combination has less mass are the same shape twice."""
GENERIC = 0.3183
"""Share of the largest row, and no simple fraction, that makes a row fit to fix a sign."""


@work("reduce_model", "reducing a body")
@checked
def reduce_model(
    model: ElementModel,
    root: str | Interface,
    tip: str | Interface,
    frames: Mapping[str, str | Interface] | None = None,
    *,
    modes: int | None = None,
    frequency: float | None = None,
    damping: float = 0.0,
    stiffening: BodyStiffeningName = "off",
    unit: LengthUnit = "m",
) -> ReducedBody:
    """Reduce a finite-element model to a body of few coordinates.

    Parameters
    ----------
    model : ElementModel
        Of a free body.
    root, tip : str or Interface
        Where it is held and where the next link hangs: a group of nodes or an expression, rigid; or an `Interface`.
    frames : mapping of str to str or Interface, optional
        Further interfaces by name.
    modes : int, optional
        Number of modes with all interfaces held; 6 where neither this nor `frequency` is given.
    frequency : float, optional
        Hz: all modes with the interfaces held up to it, and shapes for the inertia of those beyond (12 for two
        interfaces): frequencies up to half of it are right to 0.1 %, however the body is held.
    damping : float
        Ratio to critical damping of every coordinate.
    stiffening : "off" or "second-order"
        Whether the body knows where it is to second order, so that loads stiffen and soften it; meshes alone can.
    unit : 'm', 'cm', 'mm' or 'in'
        In which expressions of interfaces are written.

    Returns
    -------
    ReducedBody
        Six coordinates for each interface but the root, one for each mode, and with `frequency` six for each
        interface.

    Examples
    --------
    >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
    >>> model = pliant.bodies.mesh_model(bar, "aluminium", unit="m")
    >>> pliant.bodies.reduce_model(model, "x = 0", "x = 0.4", modes=2).size
    8
    """
    _check_numbers(modes, frequency, damping)
    chosen = interfaces_of(root, tip, frames or {})
    if stiffening != "off" and model.prestress is None:
        raise ModelError("stiffening: needs a mesh; stiffness and mass alone do not say how stress stiffens")
    check_free(model)
    places = [place_interface(model, name, one, UNITS[unit]) for name, one in chosen.items()]
    check_places(model, places)
    say(f"reducing {model.size} degrees of freedom: order and memory of the factor")
    held = HeldStiffness(model, places)
    shapes, squares = body_shapes(held, MODES if modes is None and frequency is None else modes, frequency)
    if stiffening != "off":
        say("second order of the shapes under loads")
    beyond = beyond_shapes(held, shapes) if stiffening != "off" else BeyondShapes.none(model, shapes)
    words = "; ".join(f"{name} {one}" for name, one in chosen.items())
    cut = f"modes up to {frequency:g} Hz" if frequency is not None else f"{modes if modes is not None else MODES} modes"
    about = f"{model.about}; {words}; {cut}{'; second order' if stiffening != 'off' else ''}".removeprefix("; ")
    return _body(model, places, shapes, squares, beyond, damping, about)


def _check_numbers(modes: int | None, frequency: float | None, damping: float) -> None:
    if modes is not None and frequency is not None:
        raise ModelError("modes, frequency: got both, expected one of them")
    if modes is not None and not 0 <= modes <= MOST_MODES - 2:
        raise ModelError(f"modes: got {modes}, expected 0 to {MOST_MODES - 2}")
    if frequency is not None and not 0 < frequency < np.inf:
        raise ModelError(f"frequency: got {frequency:g}, expected Hz above 0")
    if not 0 <= damping < 1:
        raise ModelError(f"damping: got {damping:g}, expected a ratio from 0 to below 1")


def body_shapes(held: HeldStiffness, modes: int | None, frequency: float | None) -> tuple[Array, Array]:
    """Shapes (d n, k) of unit mass, and the squares (k,) of their frequencies with the root held."""
    say("static shapes of the interfaces")
    model, static = held.model, held.static
    _, found = fixed_interface_modes(held, model.mass[held.free][:, held.free], modes, frequency)
    inner = np.zeros((model.size, found.shape[1]))
    inner[held.free] = found
    say("shapes made orthonormal")
    moved = np.concatenate([static, rigid_motions(model, held.places[0].origin)], axis=1)
    slow = _inertial_shapes(model, held, moved, inner) if frequency is not None else inner[:, :0]
    return _orthonormal(model, np.concatenate([static, inner, slow], axis=1))


def _inertial_shapes(model: ElementModel, held: HeldStiffness, moved: Array, modes: Array) -> Array:
    """(d n, at most m): deflections under the inertia of motions (d n, m), without their shares of modes."""
    out = held.deflections(model.mass @ moved)
    out = out - modes @ (modes.T @ (model.mass @ out))
    out /= np.sqrt(np.einsum("ij,ij->j", out, model.mass @ out))
    weight, axes = np.linalg.eigh(out.T @ (model.mass @ out))
    apart = weight > DEPENDENT
    return np.asarray(out @ axes[:, apart] / np.sqrt(weight[apart]))


def _orthonormal(model: ElementModel, shapes: Array) -> tuple[Array, Array]:
    """Eigenvectors of the small system, of unit mass; signs, and turns among equal frequencies, by a rule."""
    from scipy.linalg import eigh

    shapes = shapes / np.sqrt(modal_masses(model.mass, shapes))
    M, K = shapes.T @ (model.mass @ shapes), shapes.T @ (model.stiffness @ shapes)
    if not (np.isfinite(M).all() and np.isfinite(K).all()):
        raise ModelError("stiffness, mass: numbers this large cannot be computed with; are the units right?")
    try:
        squares, vectors = eigh((K + K.T) / 2, (M + M.T) / 2)
    except np.linalg.LinAlgError:
        raise ModelError("interfaces: their shapes depend on each other; ask for fewer modes or interfaces") from None
    if squares[0] <= 0:
        raise ModelError("stiffness: singular with the root held: a shape costs no energy")
    shapes = shapes @ vectors
    starts = np.flatnonzero(np.append(True, np.diff(squares) > EQUAL * squares[1:]))
    for begin, end in zip(starts, [*starts[1:], len(squares)]):
        shapes[:, begin:end] = _settled(shapes[:, begin:end])
    return shapes, squares


def _settled(shapes: Array) -> Array:
    """Shapes of the same space that round-off cannot exchange.

    The first row that is not small among its like is the direction of the first shape, which so is positive there and
    the only one that moves there; the next is found in what is left.
    """
    rows, out = shapes.copy(), []
    for _ in range(shapes.shape[1]):
        size = np.linalg.norm(rows, axis=1)
        row = rows[np.flatnonzero(size > GENERIC * size.max())[0]]
        direction = row / np.linalg.norm(row)
        out.append(direction)
        rows = rows - np.outer(rows @ direction, direction)
    return np.asarray(shapes @ np.transpose(out))


def _body(
    model: ElementModel,
    places: Sequence[HeldNodes],
    shapes: Array,
    squares: Array,
    beyond: BeyondShapes,
    damping: float,
    about: str,
) -> ReducedBody:
    """The reduced body, with all its numbers in the frame of the root."""
    root, k = places[0], len(squares)
    A = root.axes
    every = np.concatenate([shapes, beyond.shapes], axis=1)
    integrals = mass_integrals(model, every, root.origin, A)
    motions = [(place.averages(model) @ every).reshape(2, 3, -1) for place in places[1:]]
    still = np.zeros((2, 3, every.shape[1]))
    shift, turn = np.moveaxis(np.array([still, *(A.T @ motion for motion in motions)]), 1, 0)
    size = np.sqrt(integrals.mass)
    reach = np.sqrt(np.trace(integrals.second))
    norm = np.append(np.ones(k), np.sqrt(np.trace(integrals.products[k:, k:], axis1=2, axis2=3).diagonal()))
    eps = _clean(integrals.eps, size * norm)
    arms = _clean(integrals.arms, reach * norm[:, None, None])
    products = _clean(integrals.products, (norm[:, None] * norm)[:, :, None, None])
    vertices, triangles = drawn_surface(model, k)
    by_node = shapes.reshape(len(model.nodes), -1, k)[:, :3]
    stress = np.zeros((0, 6, k)) if model.stress is None or not len(vertices) else model.stress(vertices, by_node)
    return ReducedBody(
        mass=integrals.mass,
        first=_clean(integrals.first, size * reach),
        second=_clean(integrals.second, reach**2),
        eps=eps[:, :k],
        arms=arms[:k],
        products=products[:k, :k],
        spin=_clean(integrals.spin[:, :k], reach),
        gram=np.eye(k),
        stiffness=np.diag(squares),
        damping=np.diag(2 * damping * np.sqrt(squares)),
        names=tuple(f"mode.{j + 1}" for j in range(k)),
        frames=tuple(place.name for place in places),
        places=_clean(np.array([A.T @ (place.origin - root.origin) for place in places]), reach / size),
        axes=np.array([np.eye(3), *(canonical(A.T @ place.axes) for place in places[1:])]),
        shift=_clean(shift[..., :k]),
        turn=_clean(turn[..., :k]),
        vertices=rounded((model.nodes[vertices] - root.origin) @ A),
        triangles=triangles,
        moves=rounded(np.einsum("ba,nbk->nak", A, by_node[vertices])),
        stress=rounded(turned_stress(stress, A)),
        beyond_forms=_clean(beyond.forms),
        beyond_eps=eps[:, k:],
        beyond_arms=arms[k:],
        beyond_products=products[k:],
        beyond_shift=_clean(shift[..., k:]),
        beyond_turn=_clean(turn[..., k:]),
        about=about,
    )


def _clean(values: Array, scale: float | Array | None = None) -> Array:
    """Values with zeros by symmetry made exact; the scale is the largest of them by default."""
    scale = np.abs(values).max(initial=0.0) if scale is None else scale
    return np.where(np.abs(values) <= ROUND_OFF * scale, 0.0, values)


def turned_stress(stress: Array, axes: Array) -> Array:
    """Stresses (v, 6, k) in other axes, given by columns."""
    tensor = np.einsum("ca,vcdk,db->vabk", axes, stress[:, TENSOR], axes)
    return np.stack([tensor[:, a, b] for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))], axis=1)
