"""Places of a bent body to second order: shapes of its deflections under loads, and amplitudes of these shapes.

A displacement u strains a body by eps(u) + grad u^T grad u / 2. The strain of second order relaxes by a displacement u2
without force. A load f, whose stress with the root held is sigma_f, does work on it:

    f . u2 = - c^T K_f c / 2,        K_f = int sigma_f : grad phi_i^T grad phi_j

which is the geometric stiffness of that load. So u2 is known as far as these loads see it: forces and moments at every
interface, and the inertia of accelerations a + E X, which are those of a frame that moves and spins in any way. It is
projected on the deflections chi = K^-1 f of these loads, in the sense of energy: u2 = sum chi_a b_a(c), with chi of
unit energy and b_a = c^T forms_a c / 2.

An interface turns as exp(theta), its nodes go by theta x (theta x r) / 2 beyond first order; the forces on them there,
those of the load itself taken off where the load is inertia, add to K_f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.mechanics.bodies.element_model import ElementModel
from pliant.mechanics.bodies.held_stiffness import HeldStiffness
from pliant.mechanics.bodies.interfaces import HeldNodes

DEPENDENT = 1e-8
"""Part of the energy of a load's deflection below which it follows from the loads before it."""


@dataclass(frozen=True, eq=False)
class BeyondShapes:
    """Shapes (d n, b) of unit energy, and the forms (b, k, k) of the coordinates that say how far each is taken."""

    shapes: Array
    forms: Array

    @classmethod
    def none(cls, model: ElementModel, shapes: Array) -> BeyondShapes:
        """No shapes: those of a body that is linear."""
        return cls(np.zeros((model.size, 0)), np.zeros((0, shapes.shape[1], shapes.shape[1])))


def beyond_shapes(held: HeldStiffness, shapes: Array) -> BeyondShapes:
    """Shapes and forms of second order of a body with shapes (d n, k), its root held."""
    model = held.model
    assert model.prestress is not None
    inertia = model.mass @ affine_motions(model, held.places[0].origin)
    S = held.static
    stiff = S.T @ (model.stiffness @ S)
    at_frames = S @ np.linalg.inv((stiff + stiff.T) / 2)
    deflected = np.concatenate([at_frames, held.deflections(inertia) + at_frames @ (S.T @ inertia)], axis=1)
    forces = model.stiffness @ deflected
    T = _independent(deflected.T @ forces)
    forces[:, at_frames.shape[1] :] -= inertia
    chosen, forces = deflected @ T, forces @ T
    forms = model.prestress(chosen.reshape(-1, 3, T.shape[1]), shapes.reshape(-1, 3, shapes.shape[1]))
    for place in held.places[1:]:
        forms = forms + _turned_interface(model, place, forces, shapes)
    return BeyondShapes(chosen, -(forms + forms.transpose(0, 2, 1)) / 2)


def affine_motions(model: ElementModel, origin: Array) -> Array:
    """(3 n, 12): along each axis, by one and by each of the three distances from a point."""
    arms = np.concatenate([np.ones((len(model.nodes), 1)), model.nodes - origin], axis=1)
    return np.asarray(np.einsum("nb,ca->ncba", arms, np.eye(3)).reshape(-1, 12))


def _independent(energy: Array) -> Array:
    """(a, b): combinations of loads, each with those before it, whose deflections are of unit energy and without work
    on each other."""
    found: list[Array] = []
    for unit in np.eye(len(energy)):
        rest = unit
        for _ in range(2):  # twice is enough for round-off
            for other in found:
                rest = rest - other * (other @ energy @ rest)
        own = rest @ energy @ rest
        if own > DEPENDENT * (unit @ energy @ unit):
            found.append(rest / np.sqrt(own))
    return np.stack(found, axis=1)


def _turned_interface(model: ElementModel, place: HeldNodes, forces: Array, shapes: Array) -> Array:
    """(b, k, k): work of forces (d n, b) on what nodes of an interface do beyond first order while it turns."""
    turn = (place.averages(model) @ shapes)[3:]
    arms = model.nodes[place.nodes] - place.origin
    S = np.einsum("nab,nc->bac", forces.reshape(len(model.nodes), 3, -1)[place.nodes], arms)
    S = S - np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    return np.asarray(turn.T @ S @ turn)
