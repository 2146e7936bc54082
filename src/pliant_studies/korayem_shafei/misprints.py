"""Two equations of [KS09] as they are printed, and the forces of an arm with them."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.gibbs_appell import gibbs_derivatives, outward_motion
from pliant.mechanics.formulations.gibbs_appell_links import NextOrigin, links_of
from pliant.mechanics.links.chain import Chain
from pliant.model.model import Model

EQUATIONS = ("44", "70")


def printed_change(model: Model, equation: str, q: NDArray[np.float64], qd: NDArray[np.float64],
                   qdd: NDArray[np.float64]) -> NDArray[np.float64]:  # fmt: skip
    """(n,) generalized forces with the printed equation less those with the corrected one."""
    symbols = [ca.SX.sym(name, model.n) for name in ("q", "qd", "qdd")]
    change = _CHANGES[equation](model.chain, *symbols)
    function = ca.Function("change", symbols, [ca.densify(change)])
    return np.array(function(q, qd, qdd), dtype=float).ravel()


def _sign_of_44(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """Change by -omega~ B_9 omega in place of +omega~ B_9 omega, in the equations of the deflections only."""
    links = links_of(chain, q, qd)
    motions = outward_motion(chain, links, qd, qdd)
    out, beyond = ca.SX.zeros(chain.n), ca.SX.zeros(3)
    for j in reversed(range(len(links) - 1)):
        after, omega = links[j + 1], motions[j + 1].omega
        beyond = after.R.apply(beyond + ca.cross(omega, ca.mtimes(after.integrals.B_9, omega)))
        if links[j].indices:
            out[list(links[j].indices)] = -2 * ca.mtimes(links[j].theta_modes.T, beyond)
    return out


def _term_of_70(chain: Chain, q: SX, qd: SX, qdd: SX) -> SX:
    """Change without omega x thetad in the angular acceleration of the next link."""
    links = links_of(chain, q, qd)
    motions = outward_motion(chain, links, qd, qdd)
    printed = [
        replace(link, next=tuple(_without_70(origin, motion.omega) for origin in link.next))
        for link, motion in zip(links, motions)
    ]
    return gibbs_derivatives(chain, printed, qd, qdd) - gibbs_derivatives(chain, links, qd, qdd)


def _without_70(origin: NextOrigin, omega: SX) -> NextOrigin:
    return replace(origin, theta_beta=origin.theta_beta - ca.cross(omega, origin.thetad))


_CHANGES = {"44": _sign_of_44, "70": _term_of_70}
