"""Roots of the frequency equation as states of a run: beta is integrated beside the motion, [TG95] (40), (45).

    d beta_i/dt = -(df/dl)/(df/dbeta) dl/dt

from the roots at the start. Nothing brings beta back to the root: errors of integration add up.
Planes of a link that carry the same load have the same roots, and share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_modes import MovingModes, Roots
from pliant.mechanics.sliding.sliding_shapes import FollowedShapes
from pliant.options import RootsName


@dataclass(frozen=True)
class CarriedRoots:
    """A chain whose roots are symbols, with their values at a start and their rates.

    Attributes
    ----------
    chain : Chain
        Its expressions hold the symbols until `closed` puts states and lengths in their place.
    modes : tuple of ((place of the free length in q, its number in qd), MovingModes)
        All modes with roots of their own, in the order of the states.
    names : tuple of str
        Name of each state: "slide.root.1", ...
    """

    chain: Chain
    modes: tuple[tuple[tuple[int, int], MovingModes], ...]
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.names)

    def start(self, q: Array) -> Array:
        """(size,) roots at a state."""
        return np.concatenate([modes.roots(float(q[at])) for (at, _), modes in self.modes] or [np.zeros(0)])

    def rates(self, beta: SX, q: SX, qd: SX) -> SX:
        """(size,) rates of the roots."""
        found, place = [], 0
        for (at, index), modes in self.modes:
            found += [modes.slopes(beta[place + k], q[at])[0] * qd[index] for k in range(modes.count)]
            place += modes.count
        return ca.vertcat(*found, ca.SX(0, 1))

    def closed(self, expressions: Sequence[SX], beta: SX, q: SX) -> list[SX]:
        """Expressions of the chain with the roots `beta`, known at the lengths in `q`; derivatives come before."""
        if not self.modes:
            return list(expressions)
        old = [symbol for _, modes in self.modes for symbol in modes.symbols]
        new, place = [], 0
        for (at, _), modes in self.modes:
            new += [beta[place : place + modes.count], q[at]]
            place += modes.count
        return list(ca.substitute(list(expressions), old, new))


def carried_roots(chain: Chain) -> CarriedRoots:
    """The chain with a symbol for every root that moves with a free length."""
    links, modes, names = list(chain.links), [], []
    for place, link in enumerate(chain.links):
        if isinstance(link.body, SlidingBeam) and isinstance(link.body.functions, FollowedShapes):
            links[place], found = _with_symbols(link, link.body, link.body.functions)
            modes += [((link.body_places[0], link.body_indices[0]), one) for one in found]
            names += [f"{link.name}.root.{k + 1}" for k in range(sum(one.count for one in found))]
    return CarriedRoots(replace(chain, links=tuple(links)), tuple(modes), tuple(names))


def without_states(chain: Chain) -> CarriedRoots:
    """The chain as it is: roots are solved for."""
    return CarriedRoots(chain, (), ())


def _with_symbols(link: ChainLink, body: SlidingBeam, shapes: FollowedShapes) -> tuple[ChainLink, list[MovingModes]]:
    made = {
        modes: replace(modes, carried=Roots(ca.SX.sym(f"{link.name}.beta", modes.count), ca.SX.sym(f"{link.name}.at")))
        for modes in dict.fromkeys(shapes.planes)
    }
    shapes = FollowedShapes(shapes.shapes, tuple(made[modes] for modes in shapes.planes))
    return replace(link, body=replace(body, carried=shapes)), list(made.values())


def check_roots(chain: Chain, roots: RootsName) -> None:
    """Raise `ModelError` if the roots are to be integrated and the arm has none that move."""
    if roots == "integrated" and not carried_roots(chain).size:
        raise ModelError(
            "roots: 'integrated' needs a beam that slides and has clamped-mass modes with a tip_load; this arm has no "
            "roots that move with a free length: use roots='solved'"
        )
