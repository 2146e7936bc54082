"""Modes with all interfaces held, from the lowest up, by shift and invert."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.base.stages import say
from pliant.errors import ModelError, PliantError
from pliant.mechanics.bodies.element_model import SparseMatrix
from pliant.mechanics.bodies.held_stiffness import HeldStiffness

DENSE = 120
"""Degrees of freedom up to which matrices are dense; also where a third of all modes is wanted."""
CHUNK = 16
MOST_MODES = 400
EQUAL = 1e-6
"""Squares of frequencies that differ by less, of their size, are of one multiple mode and stay together."""

NEGATIVE = 1e-9
"""Least eigenvalue of a mass matrix, of its largest: rounding."""
NO_ENERGY = "mass: negative or zero in a shape, expected a matrix that gives every motion kinetic energy"


def fixed_interface_modes(
    held: HeldStiffness, mass: SparseMatrix, number: int | None, frequency: float | None
) -> tuple[Array, Array]:
    """Squares (m,) of frequencies in rad/s and modes (free, m) of unit mass: `number` of them, or all up to Hz.

    Those found are taken out of the space and the rest is asked again, until the lowest of the rest lies above what is
    wanted: a copy of a multiple mode, which the Lanczos method may pass over, turns up then.
    """
    limit = np.inf if frequency is None else (2 * np.pi * frequency) ** 2
    wanted = held.free.size if number is None else min(number, held.free.size)
    if wanted == 0:
        return np.zeros(0), np.zeros((held.free.size, 0))
    if held.free.size <= (DENSE if number is None else max(DENSE, 3 * wanted + 6)):
        squares, modes = _dense(held, mass)
        return _cut(squares, modes, wanted, limit)
    squares, modes = np.zeros(0), np.zeros((held.free.size, 0))
    ask = min(wanted + 2, CHUNK if number is None else MOST_MODES)
    while True:
        say(f"modes with the interfaces held: {len(squares)} found")
        more, shapes = _lowest(held, mass, modes, ask)
        complete = min(wanted, len(squares)) and more[0] > min(limit, _last(squares, wanted)) * (1 + EQUAL)
        order = np.argsort(np.append(squares, more), kind="stable")
        squares = np.append(squares, more)[order]
        modes = np.concatenate([modes, shapes], axis=1)[:, order]
        if complete and (len(squares) > wanted or squares[-1] > limit):
            return _cut(squares, modes, wanted, limit)
        if len(squares) > MOST_MODES:
            raise PliantError(
                f"more than {MOST_MODES} modes with the interfaces held below {frequency or np.inf:g} Hz; "
                "lower `frequency`, or say a number of `modes`"
            )
        ask = 3 if len(squares) > wanted or squares[-1] > limit else CHUNK


def _last(squares: Array, wanted: int) -> float:
    return float(squares[wanted - 1]) if len(squares) >= wanted else np.inf


def _cut(squares: Array, modes: Array, wanted: int, limit: float) -> tuple[Array, Array]:
    """The wanted modes, and the copies of the last if it is a multiple one."""
    below = int(np.count_nonzero(squares <= limit))
    count = min(wanted, below)
    while 0 < count < below and squares[count] <= squares[count - 1] * (1 + EQUAL):
        count += 1
    return squares[:count], modes[:, :count]


def _lowest(held: HeldStiffness, mass: SparseMatrix, known: Array, count: int) -> tuple[Array, Array]:
    """The lowest modes without those that are known, by the Lanczos method."""
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    size = held.free.size
    heavy = mass @ known
    solves = 0

    def inverse(force: Array) -> Array:
        nonlocal solves
        solves += 1
        if solves % 10 == 0:
            say(f"modes with the interfaces held: {known.shape[1]} found, {solves} solutions for more")
        u = held.solve(force.reshape(size))
        return np.asarray(u - known @ (heavy.T @ u))

    operator = LinearOperator((size, size), matvec=inverse, dtype=float)
    start = np.sin(np.arange(1, size + 1) * 1.6180339887)  # the same on every machine, and like no mode
    try:
        squares, modes = eigsh(
            LinearOperator((size, size), matvec=lambda u: u, dtype=float), min(count, size - 1), M=mass, sigma=0.0,
            OPinv=operator, v0=start, ncv=min(max(2 * count + 1, 20), size),
        )  # fmt: skip
    except ArpackNoConvergence as error:
        raise PliantError(f"modes with the interfaces held: did not converge ({error}); ask for fewer") from None
    except ArpackError as error:  # numbers out of its range
        raise ModelError(
            f"modes with the interfaces held: {error}; are stiffness and mass in one system of units?"
        ) from None
    order = np.argsort(squares)
    modes = modes[:, order] - known @ (heavy.T @ modes[:, order])
    return squares[order], modes / np.sqrt(modal_masses(mass, modes))


def modal_masses(mass: SparseMatrix, shapes: Array) -> Array:
    """(k,) masses of shapes by columns; each must be above 0."""
    found = np.einsum("ij,ij->j", shapes, mass @ shapes)
    if not (found > 0).all():
        raise ModelError(NO_ENERGY)
    return np.asarray(found)


def _dense(held: HeldStiffness, mass: SparseMatrix) -> tuple[Array, Array]:
    """All modes of a small model; directions without mass have none."""
    weight, axes = np.linalg.eigh(mass.toarray())
    if not -weight[0] <= NEGATIVE * weight[-1]:
        raise ModelError(NO_ENERGY)
    heavy = weight > 1e-12 * weight[-1]
    if not heavy.any():
        return np.zeros(0), np.zeros((len(weight), 0))
    C = axes[:, heavy] * np.sqrt(weight[heavy])  # M = C C^T
    flexible = held.solve(C)
    inverse, Y = np.linalg.eigh(C.T @ flexible)
    sound = inverse > 1e-12 * inverse.max()
    squares, modes = 1 / inverse[sound], flexible @ Y[:, sound] / inverse[sound]
    return squares[::-1], modes[:, ::-1]
