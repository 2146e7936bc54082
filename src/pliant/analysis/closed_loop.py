"""Closed-loop eigenvalues, exact from the composed equations, at a state or along a motion; vibrations link by link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.algebra.rotations import SX
from pliant.arrays import Array, Complex, StateLike
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.control.controllers.controller import Controller
from pliant.control.trajectories.trajectories import Trajectory, numbers
from pliant.errors import ModelError
from pliant.mechanics.links.clamped_link import held, vibrations
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.states import read_state
from pliant.robot.parts.shapes import TipLoad
from pliant.robot.stations import places_of
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start
from pliant.simulation.runs.equations.composition import compose


@checked
def closed_loop_matrix(
    model: Model | Robot,
    controller: Controller,
    t: float,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    z: ArrayLike | None = None,
) -> Array:
    """Jacobian of the closed loop x' = f(t, x), x = [q; qd; z], at a state: exact, no differences.

    `z` are the controller's own states, its initial ones by default. The matrix is (2n + n_z, 2n + n_z); Coulomb
    friction that holds adds its states behind (`friction.bristle`), not bent here.

    Parameters
    ----------
    model : Model or Robot
        The arm that is driven.
    controller : Controller
        Controller of `pliant.control`, not sampled.
    t : float
        Time, s.
    q : (n,) array
        Coordinates.
    qd : (n,) array, optional
        Rates; zero by default.
    z : (n_z,) array, optional
        States of the controller; its initial ones by default.

    Returns
    -------
    (2n + n_z, 2n + n_z) array

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.PD(500.0, 50.0, [0.0, 0.0])
    >>> pliant.analysis.closed_loop_matrix(model, controller, 0.0, np.zeros(model.n)).shape
    (8, 8)
    """
    model = model_of(model)
    model = fitted_to_start(model, q, qd)
    return ClosedLoop(model, controller).matrix(t, q, np.zeros(model.n) if qd is None else qd, z)


class ClosedLoop:
    """The composed closed loop and its Jacobian, which CasADi interprets: it is large and called seldom."""

    def __init__(self, model: Model, controller: Controller) -> None:
        model.layout.require_plain("the closed loop")
        self.composed = compose(model, None, controller, {}, (), None, False, tuned=True)
        if self.composed.sample_time is not None:
            raise ModelError(
                "a sampled controller has no closed-loop matrix in continuous time; bind it without sampling"
            )
        self.jacobian = self.composed.first.derived(
            "interpreted jacobian", (), lambda: Kernel(self.composed.jacobian.function, "vm")
        )
        self.n = model.n

    def matrix(self, t: float, q: ArrayLike, qd: ArrayLike, z: ArrayLike | None = None) -> Array:
        """Jacobian d f / d x at a state."""
        x = self.composed.start(numbers("q", q, self.n), numbers("qd", qd, self.n))
        if z is not None:
            x[2 * self.n : 2 * self.n + self.composed.n_states] = numbers("z", z, self.composed.n_states)
        at = np.array([float(t)])
        J, _ = self.jacobian(at, x, self.composed.inputs_at(at)[0])
        size = len(x) - 1  # the last state is the work done, which drives nothing
        return np.asarray(J).reshape(len(x), len(x))[:size, :size]


@checked
def closed_loop_eigenvalues(
    model: Model | Robot,
    controller: Controller,
    t: float,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    z: ArrayLike | None = None,
) -> Complex:
    """Eigenvalues (rad/s) of `closed_loop_matrix`, sorted by imaginary then real part.

    Parameters
    ----------
    model : Model or Robot
        The arm that is driven.
    controller : Controller
        Controller of `pliant.control`, not sampled.
    t : float
        Time, s.
    q : (n,) array
        Coordinates.
    qd : (n,) array, optional
        Rates; zero by default.
    z : (n_z,) array, optional
        States of the controller; its initial ones by default.

    Returns
    -------
    (2n + n_z,) complex array
        Eigenvalues, 1/s.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.PD(500.0, 50.0, [0.0, 0.0])
    >>> values = pliant.analysis.closed_loop_eigenvalues(model, controller, 0.0, model.equilibrium([0.0, 0.0]))
    >>> bool(values.real.max() < 0)
    True
    """
    model = model_of(model)
    found = np.linalg.eigvals(closed_loop_matrix(model, controller, t, q, qd, z)).astype(complex)
    return np.asarray(found[np.lexsort((found.real, found.imag))])


@dataclass(frozen=True)
class EigenvalueHistory:
    """Eigenvalues (N, k) of the loop at times `t` (N,), and the link each vibration belongs to.

    `links` (N, k) holds, for each eigenvalue, the name of the link with the largest share of its kinetic energy, or ""
    for motions of joints and controller states. `shapes` (N, n, k) are the coordinates in the eigenvectors.

    Attributes
    ----------
    t : (N,)
        Times, s.
    values : (N, k) complex
        Eigenvalues, 1/s.
    links : (N, k)
        Names of links, or "".
    shapes : (N, n, k) complex
        Coordinates in the eigenvectors.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.PD(500.0, 50.0, [0.0, 0.0])
    >>> move = pliant.control.Quintic([0.0, 0.0], [0.5, 0.5], 1.0)
    >>> history = pliant.analysis.eigenvalues_along(model, controller, [0.0, 0.5, 1.0], move)
    >>> history.frequencies("upper", count=1).shape
    (3, 1)
    """

    t: Array
    values: Complex
    links: NDArray[np.str_]
    shapes: Complex

    def frequencies(self, link: str, count: int | None = None) -> Array:
        """(N, count) imaginary parts > 0 of the vibrations of a link, rising, over 2 pi.

        Parameters
        ----------
        link : str
            Name of the link.
        count : int, optional
            Number of vibrations; by default as many as there are at every time.

        Returns
        -------
        (N, count) array
            Frequencies, Hz.
        """
        rows = []
        for values, names in zip(self.values, self.links):
            vibrates = values.imag > 1e-3 * np.abs(values)  # pairs, not the rounding of a double real root
            rows.append(np.sort(values.imag[(names == link) & vibrates]))
        shortest = min(len(row) for row in rows)
        return np.array([row[: shortest if count is None else min(count, shortest)] for row in rows]) / (2 * np.pi)


@checked
def eigenvalues_along(
    model: Model | Robot, controller: Controller, times: ArrayLike, path: Trajectory | tuple[ArrayLike, ArrayLike]
) -> EigenvalueHistory:
    """Closed-loop eigenvalues along a motion, [TG95] Figs. 9 and 10.

    `path` is a joint trajectory (links undeformed) or states `(q, qd)`, each (N, n), such as those of a result.

    Parameters
    ----------
    model : Model or Robot
        The arm that is driven.
    controller : Controller
        Controller of `pliant.control`, not sampled.
    times : (N,) array
        Times, s.
    path : Trajectory, or pair of (N, n) arrays
        Trajectory of the joints (links undeformed), or the states (q, qd).

    Returns
    -------
    EigenvalueHistory

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> controller = pliant.control.PD(500.0, 50.0, [0.0, 0.0])
    >>> states = np.zeros((2, model.n)), np.zeros((2, model.n))
    >>> pliant.analysis.eigenvalues_along(model, controller, [0.0, 1.0], states).values.shape
    (2, 8)
    """
    model = model_of(model)
    at = np.atleast_1d(np.asarray(times, dtype=float))
    q, qd = _states(model, at, path)
    model = fitted_to_start(model, q, qd, many=True)
    loop = ClosedLoop(model, controller)
    values, links, shapes = [], [], []
    for t, position, rate in zip(at, q, qd):
        found, vectors = np.linalg.eig(loop.matrix(float(t), position, rate))
        order = np.lexsort((found.real, found.imag))
        values.append(found[order].astype(complex))
        shapes.append(vectors[: model.n, order].astype(complex))
        links.append(_owners(model, position, shapes[-1]))
    return EigenvalueHistory(at, np.array(values), np.array(links), np.array(shapes))


def _states(model: Model, at: Array, path: Trajectory | tuple[ArrayLike, ArrayLike]) -> tuple[Array, Array]:
    """Coordinates and rates along a path."""
    q, qd = np.zeros((len(at), model.n)), np.zeros((len(at), model.n))
    if isinstance(path, Trajectory):
        joints, rates, _ = path(at)
        if joints.shape[1] != model.n_joints:
            raise ModelError(f"path: it moves {joints.shape[1]} coordinates, expected {model.n_joints}")
        q[:, : model.n_joints], qd[:, : model.n_joints] = joints, rates
        return q, qd
    q, qd = (np.asarray(x, dtype=float) for x in path)
    if q.shape != (len(at), model.n) or qd.shape != q.shape:
        raise ModelError(f"path: shapes {q.shape} and {qd.shape}, expected ({len(at)}, {model.n}) twice")
    return q, qd


def _owners(model: Model, q: Array, vectors: Complex) -> NDArray[np.str_]:
    """Link whose amplitudes have the largest share of the kinetic energy of each vector, "" where joints have it."""
    M = model.mass_matrix(q)
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(model.coordinates):
        groups.setdefault("" if "." not in name or name.endswith(".motor") else name.split(".")[0], []).append(k)
    names = list(groups)
    shares = []
    for name in names:
        rows = groups[name]
        part = vectors[rows]
        shares.append(np.real(np.einsum("ik,ij,jk->k", part.conj(), M[np.ix_(rows, rows)], part)))
    return np.asarray(np.array(names)[np.argmax(np.array(shares), axis=0)])


@checked
def link_frequencies(
    model: Model | Robot, link: str, q: StateLike | None = None, load: TipLoad | float | None = None
) -> Array:
    """Frequencies (Hz) of one link alone: clamped at its root, with its boundary load at the tip.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    link : str
        Name of the link.
    q : (n,), optional
        State: its free length matters for a sliding beam.
    load : TipLoad or mass, optional
        Load at the tip; by default the `tip_load` of the link's shapes, or no load without one.

    Returns
    -------
    (k,) array
        Rising frequencies, Hz.

    Notes
    -----
    The frequencies follow from the kinetic energy of the link and of the load, T = (M yd^2 + 2 D yd y'd + J y'd^2) / 2,
    and the strain energy over the link's own shapes. With modes and with elements these are Rayleigh quotients, never
    below the exact frequencies.

    Examples
    --------
    >>> print(pliant.analysis.link_frequencies(pliant.load("two-link").model(), "upper").round(2))
    [7.91]
    """
    model = model_of(model)
    from scipy.linalg import eigh

    places = places_of(model.layout, link)
    state = read_state(model, q)
    make = _link_matrices if len(places) == 1 else _piece_matrices
    matrices = model.derived("link vibrations", places[0], lambda: make(model, places))
    c = state[[k for place in places for k in model.layout.links[place].body_places]]
    found = matrices(c, model.nominal_parameters, _load(model.bodies[places[-1]], load))
    K, M = (np.array(x, dtype=float) for x in found)
    return np.asarray(np.sqrt(eigh(K, M, eigvals_only=True)) / (2 * np.pi))


def _piece_matrices(model: Model, places: list[int]) -> ca.Function:
    """Stiffness and mass of one straight link in pieces, with a load (M, D, J) at its tip."""
    alone = held(model.chain, places)
    c, load = ca.SX.sym("c", alone.n_q), ca.SX.sym("load", 3)
    stiffness, mass, tip = vibrations(alone)
    zero = ca.SX.zeros(1, alone.n)
    y, slope = ca.vertcat(zero, tip[4:, :]), ca.vertcat(zero, tip[2, :], -tip[1, :])
    mass = mass + _loaded(tip[3:, :], y, slope, load)
    return ca.Function("link", [c, model.parameter_symbols, load], [stiffness, ca.densify(mass)])


def _loaded(J: SX, y: SX, slope: SX, load: SX) -> SX:
    """Mass that a load (M, D, J) at the tip adds: `J`, `y` and `slope` are rates of the tip per amplitude."""
    mass = load[0] * ca.mtimes(J.T, J)
    return mass + load[1] * (ca.mtimes(y.T, slope) + ca.mtimes(slope.T, y)) + load[2] * ca.mtimes(slope.T, slope)


def _link_matrices(model: Model, places: list[int]) -> ca.Function:
    """Stiffness and mass of one link over its own shapes, with a load (M, D, J) at its tip."""
    link = model.chain.links[places[0]]
    skip = int(link.slides)  # a free length comes first
    size = len(link.body_indices) - skip
    if size <= 0:
        raise ModelError(f"links.{link.name}: it has no shapes and does not vibrate")
    c, load = ca.SX.sym("c", len(link.body_indices)), ca.SX.sym("load", 3)
    still = ca.SX.zeros(c.shape)
    tip = link.body.tip(c, still)
    zero = ca.SX.zeros(1, size)
    y = ca.vertcat(zero, tip.J[1:, skip:])
    slope = ca.vertcat(zero, tip.W[2, skip:], -tip.W[1, skip:])  # y' along the axis of each deflection
    mass = link.body.moments(c, still).gram[skip:, skip:] + _loaded(tip.J[:, skip:], y, slope, load)
    stiffness = ca.hessian(link.body.strain_energy(c), c)[0][skip:, skip:]
    outputs = [ca.densify(stiffness), ca.densify(mass)]
    return ca.Function("link", [c, model.parameter_symbols, load], outputs)


def _load(link: Any, load: TipLoad | float | None) -> tuple[float, float, float]:
    """Mass M, first moment D and moment of inertia J at the tip."""
    if load is None:
        given = getattr(link.shapes, "tip_load", None)
        load = given if isinstance(given, TipLoad) else TipLoad()
    if not isinstance(load, TipLoad):
        load = TipLoad(mass=float(load))
    inertia = load.inertia
    J = float(inertia) if np.ndim(inertia) == 0 else float(np.asarray(inertia)[2])  # type: ignore[arg-type]
    return float(load.mass), float(load.first_moment), J
