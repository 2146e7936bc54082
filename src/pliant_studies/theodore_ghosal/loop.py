"""Vibrations of the closed loop along the motion, sorted by the links and planes that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.closed_loop import eigenvalues_along, link_frequencies
from pliant.arrays import Array, Complex
from pliant.control.controllers.computed_torque import ComputedTorque
from pliant.control.trajectories.trajectories import Trajectory
from pliant.model.model import Model
from pliant.model.states import read_state
from pliant_studies.theodore_ghosal.arms import LINK_3, PAYLOAD, with_elements, with_modes

Places = NDArray[np.intp]

LINKS = {"link 2": "boom", "link 3": "slide"}
PLANES = {
    "in plane": {"boom": "bending_y", "slide": "bending_z"},
    "out of plane": {"boom": "bending_z", "slide": "bending_y"},
}
"""Bending fields of each link in the plane of both links, and square to it; link 3 is square to link 2."""
STAYS = 0.1
"""Share that a vibration must lose to another link before it counts as that link's."""
FASTER = 1e-3
"""Imaginary part over magnitude above which an eigenvalue is a vibration: the joints have a double real one."""


@dataclass(frozen=True)
class Vibrations:
    """Imaginary eigenvalues (rad/s) of the loop at times `t` (N,).

    Attributes
    ----------
    sorted : mapping from (link, plane) to (N, k)
        The k vibrations that belong to a link in a plane, rising: each time those with the largest share of it.
    branches : (N, n)
        All of them, each column one vibration followed from one time to the next by its shape.
    """

    t: Array
    sorted: dict[tuple[str, str], Array]
    branches: Array


def vibrations(model: Model, law: ComputedTorque | None, path: Trajectory, times: Array) -> Vibrations:
    """Vibrations of the loop (35), (36), from the Jacobian of the closed-loop equations in state-space form, section 5.

    Without a law, velocity terms are left out: with decoupled joints the links vibrate as if the joints were held.
    """
    groups = _groups(model)
    states = [read_state(model, joints) for joints in path(times)[0]]
    found: dict[tuple[str, str], list[Array]] = {key: [] for key in groups}
    branches: list[Array] = []
    before, owner = None, None
    for q, (values, vectors) in zip(states, _held(model, states) if law is None else _loop(model, law, path, times)):
        M = model.mass_matrix(q)
        shapes = vectors / np.sqrt(_energy(M, vectors, list(range(model.n))))
        order = np.arange(len(values)) if before is None else _matched(before.conj().T @ M @ shapes)
        before, branch = shapes[:, order], values[order]
        owner = _owners(M, before, list(groups.values()), owner)
        branches.append(branch)
        for k, key in enumerate(groups):
            found[key].append(np.sort(branch[owner == k]))
    return Vibrations(times, {key: np.array(rows) for key, rows in found.items()}, np.array(branches))


def _loop(model: Model, law: ComputedTorque, path: Trajectory, times: Array) -> Iterator[tuple[Array, Array | Complex]]:
    """Imaginary parts of the vibrations of the loop, rising, and their shapes."""
    history = eigenvalues_along(model, law, times, path)
    for values, shapes in zip(history.values, history.shapes):
        rows = np.flatnonzero(values.imag > FASTER * np.abs(values))
        yield values.imag[rows], shapes[:, rows]


def _held(model: Model, states: list[Array]) -> Iterator[tuple[Array, Array | Complex]]:
    """Frequencies and shapes of the arm with its joints held."""
    for q in states:
        modes = model.modes(q)
        yield modes.omega, modes.shapes


def _groups(model: Model) -> dict[tuple[str, str], list[int]]:
    """Coordinates of each link in each plane."""
    return {
        (link, plane): [k for k, c in enumerate(model.coordinates) if c.startswith(f"{name}.{fields[name]}.")]
        for link, name in LINKS.items()
        for plane, fields in PLANES.items()
    }


def _energy(M: Array, shapes: Array | Complex, places: list[int]) -> Array:
    """Kinetic energy of each shape in some coordinates."""
    part = shapes[places]
    return np.real(np.einsum("ik,ij,jk->k", part.conj(), M[np.ix_(places, places)], part))


def _owners(M: Array, shapes: Array | Complex, groups: list[list[int]], last: Places | None) -> Places:
    """Group of each vibration, as many to a group as it has coordinates, such that the sum of all shares is largest.

    A vibration stays with its previous group unless another has clearly more, so that shares near one half do not
    change all the time.
    """
    from scipy.optimize import linear_sum_assignment

    share = np.array([_energy(M, shapes, places) for places in groups])
    share /= share.sum(axis=0)
    if last is not None:
        share[last, np.arange(len(last))] += STAYS
    slots = np.repeat(np.arange(len(groups)), [len(places) for places in groups])
    return np.asarray(slots[linear_sum_assignment(-share[slots].T)[1]])


def _matched(overlap: Array | Complex) -> Places:
    """New shape that resembles each previous one most."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(-np.abs(overlap))[1])


# ------------------------------------------------------------------------------------------------------- numbers


def compared_loops(modes: Vibrations, elements: Vibrations) -> dict[str, list[float]]:
    """Least and greatest ratio of elements to modes, for the first two vibrations of each link in each plane."""
    found = {}
    for link, plane in modes.sorted:
        for k in (0, 1):
            ratio = elements.sorted[link, plane][:, k] / modes.sorted[link, plane][:, k]
            found[f"{link}, mode {k + 1}, {plane}"] = [float(ratio.min()), float(ratio.max())]
    return found


def variations(loop: Vibrations, link: str) -> dict[str, float]:
    """Ratio of greatest to least value of the first two vibrations of a link in each plane, along the motion."""
    return {
        f"mode {k + 1}, {plane}": float(values[:, k].max() / values[:, k].min())
        for (name, plane), values in loop.sorted.items()
        if name == link
        for k in (0, 1)
    }


def links_alone(modes: Model, elements: Model, path: Trajectory, times: Array) -> dict[str, list[float]]:
    """Least and greatest ratio of elements to modes, for the four lowest frequencies of each link alone and clamped."""
    found = {}
    for link, load in (("boom", LINK_3 + PAYLOAD), ("slide", PAYLOAD)):
        rows = []
        for joints in path(times)[0]:
            low, high = (link_frequencies(model, link, joints, load)[:4] for model in (modes, elements))
            rows.append(high / low)
        found[link] = [float(np.min(rows)), float(np.max(rows))]
    return found


def boundary_load_errors(path: Trajectory) -> dict[str, list[float]]:
    """Largest relative error of each of the four lowest frequencies along the motion, joints held, by fine elements."""
    robots = {"two modes, mass alone": with_modes(2, False), "two modes, mass and J_L": with_modes(2, True)}
    robots |= {f"{n} modes, mass alone": with_modes(n, False) for n in (3, 4, 6)}
    robots |= {"3 modes, mass and J_L": with_modes(3, True)}
    robots |= {"two elements": with_elements(2), "four elements": with_elements(4)}
    joints = path(np.linspace(0.0, 0.5, 11))[0]
    true = _lowest(with_elements(8).model(stiffening="off"), joints)
    return {
        name: np.abs(_lowest(robot.model(stiffening="off"), joints) / true - 1).max(axis=0).tolist()
        for name, robot in robots.items()
    }


def _lowest(model: Model, joints: Array) -> Array:
    return np.array([model.frequencies(row)[:4] for row in joints])
