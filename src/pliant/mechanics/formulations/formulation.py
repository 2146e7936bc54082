"""Definition of a formulation, as the registry lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pliant.algebra.rotations import SX
    from pliant.mechanics.links.chain import Chain


@dataclass(frozen=True)
class Formulation:
    """One way to the equations: inertia matrix and inertial forces of the links, and shortcuts where the source has
    them.

    `forward(chain, q, qd, force, rotor, held)` and `inverse(chain, q, qd, qdd)` default to solving and multiplying
    with the matrix.
    `supports` names the features of a chain beyond plain links that it can carry (see `features`).
    """

    name: str
    source: str
    mass_matrix: Callable[[Chain, SX], SX]
    inertial_forces: Callable[[Chain, SX, SX], SX]
    forward: Callable[[Chain, SX, SX, SX, SX, Mapping[int, SX]], SX] | None = None
    inverse: Callable[[Chain, SX, SX, SX], SX] | None = None
    supports: frozenset[str] = frozenset()
