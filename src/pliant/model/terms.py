"""Results of functions of a model that have several parts, such as energies and derivatives, as named tuples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pliant.arrays import Array


class Energy(NamedTuple):
    """Energies in joules; each has the leading axes of the state."""

    kinetic: Array
    gravity: Array
    strain: Array

    @property
    def total(self) -> Array:
        """Sum of the three."""
        return self.kinetic + self.gravity + self.strain


@dataclass(frozen=True, eq=False)
class Modes:
    """Natural modes of an arm about a state of rest, from the lowest frequency up.

    Attributes
    ----------
    frequencies : (k,) array
        Hz, undamped; negative where the arm leaves the state instead of vibrating about it.
    shapes : (n, k) array
        Mode shapes Phi with Phi^T M Phi = 1; rows of what is held are zero.

    Examples
    --------
    >>> print(pliant.load("two-link").model().modes().frequencies.round(2))
    [ 2.13 16.37]
    """

    frequencies: Array
    shapes: Array
    _ratios: Callable[[], Array] = field(repr=False)

    @cached_property
    def damping(self) -> Array:
        """(k,) parts of the critical damping; NaN where a mode has no frequency. Computed when first asked for."""
        return self._ratios()

    @property
    def omega(self) -> Array:
        """(k,) angular frequencies, rad/s, negative as `frequencies` are."""
        return 2 * np.pi * self.frequencies


class ForwardDerivatives(NamedTuple):
    """Accelerations and their derivatives by displacements along the speeds, by rates and by torques."""

    qdd: Array
    dq: Array
    dqd: Array
    dtau: Array


class ForwardDerivativesOfParameters(NamedTuple):
    """The same, and by the parameters of the model."""

    qdd: Array
    dq: Array
    dqd: Array
    dtau: Array
    dp: Array


class InverseDerivatives(NamedTuple):
    """Forces and their derivatives by displacements along the speeds, by rates and by accelerations."""

    force: Array
    dq: Array
    dqd: Array
    dqdd: Array


class InverseDerivativesOfParameters(NamedTuple):
    """The same, and by the parameters of the model."""

    force: Array
    dq: Array
    dqd: Array
    dqdd: Array
    dp: Array


class DrivenTorques(NamedTuple):
    """Torques `tau` that drive the actuated coordinates as asked, accelerations `qdd` of all coordinates, and the
    `multipliers` of loops. Each has the leading axes of the state."""

    tau: Array
    qdd: Array
    multipliers: Array


class StateSpace(NamedTuple):
    """x' = A x + B u, y = C x + D u about a state, with x = [q; qd] and u the torques; of an arm with loops q and qd
    are those of `Model.independent`."""

    A: Array
    B: Array
    C: Array
    D: Array


class Matrices(NamedTuple):
    """Terms of M qdd + h + c + K q + d = S tau; each has the leading axes of the state.

    `h` are velocity terms, `c` gravity (and, for a sliding beam, how its strain energy changes with length), `K` the
    stiffness of links and drives, `d` dampers and friction.
    """

    M: Array
    h: Array
    c: Array
    K: Array
    d: Array


class PartitionedMatrices(NamedTuple):
    """Terms of [TG95] (26): r are joints and motors, f the N amplitudes; `h`, `c`, `d` are (..., n), `K` (..., N, N).

    `c` is the gradient of the potential energy apart from K q_f: gravity, springs of drives, dV/dl of sliding beams.
    `d` are dampers and friction, on the left-hand side.
    """

    M_rr: Array
    M_rf: Array
    M_ff: Array
    h: Array
    c: Array
    K: Array
    d: Array


class ScrewMatrices(NamedTuple):
    """Terms of M qdd + C qd + K q + g + d = S tau, linear in the elastic states, [CE21] (111), (112).

    `g` is gravity, `d` dampers and friction. Where `smallest_eigenvalue` of M is not positive, the deflections have
    left the range of a linear model.
    """

    M: Array
    C: Array
    K: Array
    g: Array
    d: Array
    smallest_eigenvalue: Array


class DenocMatrices(NamedTuple):
    """Matrices of [MS07], rows of `GIM`, `U`, `D` and columns of `N_d` in the order of `coordinates` (no motors).

    The generalized inertia matrix is GIM = N_d^T N_l^T M N_l N_d (plus reflected rotors) = U diag(D) U^T.
    """

    N_l: Array
    N_d: Array
    M: Array
    GIM: Array
    U: Array
    D: Array
    coordinates: tuple[str, ...]
