"""Couplings and contacts of a run as functions of its state, from expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from pliant.mechanics.constraints.contact_forces import gap, normal_and_friction, touch
from pliant.mechanics.constraints.couplings import line_pushes, lines

if TYPE_CHECKING:
    from pliant.model.model import Model


def line_function(model: Model) -> ca.Function:
    """Return the function (q, qd, p) -> lengths of couplings, their rates, and forces that push apart by themselves."""
    chain, q, qd = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
    at = lines(chain, q, qd)
    force = line_pushes(chain, q, qd, ca.SX.zeros(len(chain.commanded)))
    found = [ca.densify(x) for x in (at.L, at.rate, ca.vertcat(*force))]
    return ca.Function("lines", [q, qd, model.parameter_symbols], found, ["q", "qd", "p"], ["L", "rate", "force"])


def touch_function(model: Model) -> ca.Function:
    """Return the function (q, qd, p) -> gaps, normal forces, sizes of friction, normals and pushes of contacts."""
    chain, q, qd = model.chain, ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n)
    numbers = range(len(chain.contacts))
    normals = [touch(chain, q, qd, k).normal for k in numbers]
    pairs = [normal_and_friction(chain, q, qd, k) for k in numbers]
    gaps = ca.vertcat(*(gap(chain, q, k) for k in numbers))
    forces, friction = ca.vertcat(*(F for F, _ in pairs)), ca.vertcat(*(ca.norm_2(f) for _, f in pairs))
    pushes = ca.vertcat(*(F * n + f for n, (F, f) in zip(normals, pairs)))
    found = [ca.densify(x) for x in (gaps, forces, friction, ca.vertcat(*normals), pushes)]
    names = ["g", "F", "f", "n", "push"]
    return ca.Function("contacts", [q, qd, model.parameter_symbols], found, ["q", "qd", "p"], names)
