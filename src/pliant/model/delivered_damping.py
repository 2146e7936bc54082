"""Damping ratios that the modes of links have after numbers changed, beside those that their description asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.base.derived import SYMBOLS
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.mechanics.links.chain import Chain
from pliant.mechanics.shapes.elements import eigenpairs
from pliant.model.robot import Robot

if TYPE_CHECKING:
    from pliant.mechanics.links.maps.link_maps import Body
    from pliant.model.model import Model

OFF = 0.1
"""Part by which a ratio may be off without a warning: damping is seldom known better."""


def findings(model: Model, robot: Robot, asked: dict[str, float]) -> dict[str, str]:
    """Return a warning for each link whose modes are not damped as `asked`, with both numbers, if `model` has the
    numbers of `robot`."""
    out = {}
    with SYMBOLS:
        for name, parts in _delivered(model, robot, set(asked)).items():
            worst = float(max(parts, key=lambda part: abs(np.log(part))))
            if abs(worst - 1) > OFF:
                out[f"damping {name}"] = (
                    f"links.{name}.shapes.damping: got {asked[name]:g}, but its dampers stay those of the numbers that "
                    f"the model was made with, and damp a mode by {asked[name] * worst:.2g} now; make the model anew, "
                    "robot.replace(...).model(), which follows"
                )
    return out


def _delivered(model: Model, robot: Robot, names: set[str]) -> dict[str, Array]:
    """Parts of the ratio that the modes of each link have: of every mode, its root held and all beyond at its tip."""
    made = model.first.chain
    kept = iter([link.body.shapes for link in made.links[made.first :]])
    fresh = build_chain(robot, functions=lambda link, load: next(kept))  # type: ignore[arg-type, return-value]
    symbols, values = model.parameter_symbols, [dict(robot.paths())[path] for path in model.parameters]

    def number(x: SX) -> Array:
        return np.array(ca.Function("number", [symbols], [ca.densify(ca.SX(x))])(values), dtype=float)

    out: dict[str, Array] = {}
    for old, new in zip(made.links, fresh.links):
        name = new.name.partition(".")[0]
        own = getattr(_linear(new.body), "damped", None)
        if name not in names or not isinstance(own, np.ndarray) or not own.size:
            continue
        K = _stiffness(new.body)[: len(own), : len(own)]
        _, modes = eigenpairs(K, own)  # K^-1 C has the modes of the link, and their times 1 / omega
        out[name] = np.einsum("ij,ik,kj->j", modes, number(_linear(old.body).damped), modes)
    return out | _of_pieces(made, fresh, names, number)


def _of_pieces(made: Chain, fresh: Chain, names: set[str], number: Callable[[SX], Array]) -> dict[str, Array]:
    """The least and the largest of links in pieces, whose dampers act across all pieces."""
    out = {}
    for old, new in zip(made.dampers, fresh.dampers):
        name = fresh.speeds[new.indices[0]].partition(".")[0]
        if name in names:
            D, wanted = number(old.matrix), number(new.matrix)
            out[name] = eigenpairs(D, wanted)[0]
    return out


def _linear(body: Body) -> Any:
    """The body of first order inside one beyond it."""
    return getattr(body, "inner", None) or getattr(body, "linear", None) or body


def _stiffness(body: Body) -> Array:
    c = ca.SX.sym("c", len(body.rest))
    hessian = ca.Function("K", [c], [ca.densify(ca.hessian(ca.SX(body.strain_energy(c)), c)[0])])
    return np.array(hessian(ca.DM(body.rest)), dtype=float)
