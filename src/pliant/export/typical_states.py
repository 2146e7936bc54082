"""States at which exports are compared with the model."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.model.model import Model
from pliant.model.states import normalized


def reference_states(model: Model, count: int = 3, seed: int = 0) -> dict[str, Array]:
    """Seeded states near rest: joints of order one, amplitudes small against their links; torques `tau`, and `inputs`,
    the same with commands of couplings."""
    rng = np.random.default_rng(seed)
    n, chain = model.n, model.chain
    scale = np.where(np.arange(n) < len(chain.all_shafts), 1.0, 1e-2)
    if not chain.plain:
        moving = [shaft.index for shaft in chain.all_shafts]
        moving += [k for link in chain.links for k in link.joint_indices]
        scale = np.where(np.isin(np.arange(n), moving), 1.0, 1e-2)
    q = rng.uniform(0.2, 0.9, (count, n)) * scale
    if not chain.plain:
        q = _turned(model, q, rng)
    qd, qdd = rng.normal(size=(count, n)) * scale, rng.normal(size=(count, n)) * scale
    p = np.tile(model.nominal_parameters, (count, 1)) * rng.uniform(0.95, 1.05, (count, len(model.parameters)))
    inputs = rng.normal(size=(count, model.layout.n_inputs))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": inputs[:, : model.n_joints], "p": p, "inputs": inputs}


def _turned(model: Model, speeds: Array, rng: np.random.Generator) -> Array:
    """Coordinates of joints without quaternions from numbers in the order of the speeds, and any attitudes."""
    found = rng.normal(size=(len(speeds), model.n_q))
    for name, column in zip(model.speeds, speeds.T):
        if name in model.coordinates:
            found[:, model.index(name)] = column
    return normalized(model, found)
