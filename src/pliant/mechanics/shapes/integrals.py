"""Modal integrals: the numbers of the shapes of a beam that enter its dynamics, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from pliant.algebra.canonical import canonical, canonical_products
from pliant.arrays import Array
from pliant.mechanics.shapes.quadrature import Rule, ShapeSet, Weight, gauss_rule, shear_angles
from pliant.mechanics.shapes.tip_load import FREE, LoadRatios
from pliant.options import FieldName

DensityName = Literal["mass_per_length", "polar_inertia", "rotary_y", "rotary_z"]


class FieldKind(NamedTuple):
    """Displacement `axis` and rotation `turn` of a section by a field, per shape value (in bending `turn` per slope).

    `rigidity` and `shear` name its stiffnesses, `spin` the inertia of the section that its rotation carries.
    """

    axis: tuple[int, int, int]
    turn: tuple[int, int, int]
    rigidity: str
    spin: DensityName | None
    shear: str | None = None


FIELDS: dict[FieldName, FieldKind] = {
    "bending_y": FieldKind((0, 1, 0), (0, 0, 1), "EI_z", "rotary_z", "GA_y"),
    "bending_z": FieldKind((0, 0, 1), (0, -1, 0), "EI_y", "rotary_y", "GA_z"),
    "torsion": FieldKind((0, 0, 0), (1, 0, 0), "GJ", "polar_inertia"),
    "axial": FieldKind((1, 0, 0), (0, 0, 0), "EA", None),
}
SPINS: tuple[DensityName, ...] = ("polar_inertia", "rotary_y", "rotary_z")


@dataclass(frozen=True)
class Field:
    """Shapes of one field with the boundary load that shaped them, in units of the beam's scalar density."""

    name: FieldName
    shapes: ShapeSet
    load: LoadRatios = FREE


@dataclass(frozen=True)
class SectionProfile:
    """Profiles of the properties of a tapered beam over eta: a physical value is scalar times profile.

    `weights` maps `mass_per_length`, `polar_inertia`, `rotary_y`, `rotary_z`, `EI_y`, `EI_z`, `GJ`, `EA`, `GA_y`,
    `GA_z` to functions of eta; a missing one is 1. `breaks` are the stations between which they are smooth.
    """

    weights: dict[str, Weight] = field(default_factory=dict)
    breaks: tuple[float, ...] = (0.0, 1.0)

    def __call__(self, name: str, eta: Array) -> Array:
        weight = self.weights.get(name)
        return np.ones_like(eta) if weight is None else np.asarray(weight(eta), dtype=float) + np.zeros_like(eta)


UNIFORM = SectionProfile()


@dataclass(frozen=True)
class ModalIntegrals:
    """Integrals over eta in [0, 1] of the m shapes of a link, weighted with the profile g (1 for a uniform beam).

    The caller supplies powers of L and the scalar properties. The eps_j, C_j, C_jk of [KS09] are made of `eps`,
    `eta_eps`, `gram`.

    Attributes
    ----------
    axis, turn : (m, 3)
        Direction of displacement and of section rotation of each shape. Twist moves the centroid by (0, e_z, -e_y) m
        per rad about a shear center (e_y, e_z).
    mass, first, second : float
        Integrals of g, g eta, g eta^2.
    eps, eta_eps : (m,)
        Integrals of g psi_j and g eta psi_j; 0 for torsion about the centroid.
    gram : (m, m)
        Integrals of g psi_j psi_k, also between different fields; 0 for torsion about the centroid.
    spin_mass : (3,)
        Integrals of the profiles of section inertia about x, y, z.
    spin : (m, 3)
        Integrals of that profile times the section's turn (psi for torsion, psi' for bending, signed as in `turn`).
    spin_gram : (3, m, m)
        Integrals of that profile times products of turns about the same axis.
    stiffness : (m, m)
        Integrals of rigidity profile times psi'' psi'' (bending) or psi' psi'; 0 between fields.
    shear : (m, m)
        Integrals of shear stiffness profile times products of shear angles; 0 for shapes that do not shear.
    tip, tip_slope : (m,)
        psi_j(1), psi_j'(1).
    """

    axis: Array
    turn: Array
    mass: float
    first: float
    second: float
    eps: Array
    eta_eps: Array
    gram: Array
    spin_mass: Array
    spin: Array
    spin_gram: Array
    stiffness: Array
    shear: Array
    tip: Array
    tip_slope: Array
    fields: tuple[Field, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def norms(self) -> tuple[Array, Array]:
        """Root of the mean square of each shape and, for bending, of its slope: natural scales of its integrals."""
        shape = np.sqrt(np.diag(self.gram) + np.diag(self.spin_gram[0]))
        return shape, np.maximum(shape, np.sqrt(np.diagonal(self.spin_gram, axis1=1, axis2=2).max(axis=0)))

    def canonical(self) -> ModalIntegrals:
        """The same with round-off taken out: see `pliant.algebra.canonical`."""
        norm, slope = self.norms
        spins = np.sqrt(self.spin_mass * np.diagonal(self.spin_gram, axis1=1, axis2=2).T)
        mass, first, second = canonical([self.mass, self.first, self.second]).tolist()
        return replace(
            self,
            mass=mass,
            first=first,
            second=second,
            eps=canonical(self.eps, norm * np.sqrt(mass)),
            eta_eps=canonical(self.eta_eps, norm * np.sqrt(second)),
            gram=canonical_products(self.gram),
            spin_mass=canonical(self.spin_mass),
            spin=canonical(self.spin, spins),
            spin_gram=canonical_products(self.spin_gram),
            stiffness=canonical_products(self.stiffness),
            shear=canonical_products(self.shear),
            tip=canonical(self.tip, norm),
            tip_slope=canonical(self.tip_slope, slope),
        )

    def without_spin(self) -> ModalIntegrals:
        """The same for sections without rotary inertia."""
        return replace(self, spin_mass=0 * self.spin_mass, spin=0 * self.spin, spin_gram=0 * self.spin_gram)


def blocks(fields: Sequence[Field]) -> list[slice]:
    """Place of each field among the coordinates of the link."""
    ends = np.cumsum([0, *(f.shapes.size for f in fields)])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def modal_integrals(
    fields: Sequence[Field], profile: SectionProfile = UNIFORM, shear_center: tuple[float, float] = (0.0, 0.0)
) -> ModalIntegrals:
    """Compute all integrals of a link with one Gauss rule that is exact to rounding for all its shapes; zeros, equal
    values and simple fractions are exact."""
    breaks = np.concatenate([profile.breaks, [0.0, 1.0], *(f.shapes.breaks for f in fields)])
    rule = gauss_rule(breaks, max((f.shapes.wavenumber for f in fields), default=0.0))
    kinds = [FIELDS[f.name] for f in fields for _ in range(f.shapes.size)]
    axis = np.array([kind.axis for kind in kinds], dtype=float).reshape(-1, 3)
    turn = np.array([kind.turn for kind in kinds], dtype=float).reshape(-1, 3)
    psi, slope, strain = (_columns(fields, rule, kind) for kind in ("value", "slope", "strain"))
    torsion = turn[:, 0] != 0
    axis[torsion, 1:] = shear_center[1], -shear_center[0]
    moved = np.where(axis.any(axis=1), psi, 0.0)
    g = rule.weight * profile("mass_per_length", rule.eta)
    turned = np.where(torsion, psi, slope)
    spins = [_spin(turned * turn[:, d], rule.weight * profile(name, rule.eta)) for d, name in enumerate(SPINS)]
    spin_mass, spin, spin_gram = (np.stack(rows) for rows in zip(*spins))
    gram = moved.T @ (g[:, None] * moved)
    stiffness = _stiffness(fields, strain, rule, profile, "rigidity")
    angle = np.hstack([np.zeros((len(rule.eta), 0)), *(shear_angles(f.shapes, rule.eta) for f in fields)])
    tip, tip_slope = (_columns(fields, Rule(np.ones(1), np.ones(1)), kind)[0] for kind in ("value", "slope"))
    return ModalIntegrals(
        axis=axis,
        turn=turn,
        mass=float(g.sum()),
        first=float(g @ rule.eta),
        second=float(g @ rule.eta**2),
        eps=g @ moved,
        eta_eps=(g * rule.eta) @ moved,
        gram=gram,
        spin_mass=spin_mass,
        spin=spin.T,
        spin_gram=spin_gram,
        stiffness=stiffness,
        shear=_stiffness(fields, angle, rule, profile, "shear"),
        tip=tip,
        tip_slope=tip_slope,
        fields=tuple(fields),
    ).canonical()


def _columns(fields: Sequence[Field], rule: Rule, kind: str) -> Array:
    """Values, slopes or strains of all shapes at the points of a rule, shape (points, m)."""
    wanted = [{"value": 0, "slope": 1, "strain": f.shapes.order}[kind] for f in fields]
    columns = [f.shapes.evaluate(rule.eta, k) for f, k in zip(fields, wanted)]
    return np.hstack([np.zeros((len(rule.eta), 0)), *columns])


def _spin(turned: Array, g: Array) -> tuple[Array, Array, Array]:
    """Integrals of g, of g times the turns about one axis, and of g times their products."""
    about = np.flatnonzero(turned.any(axis=0))
    product = np.zeros((turned.shape[1], turned.shape[1]))
    product[np.ix_(about, about)] = turned[:, about].T @ (g[:, None] * turned[:, about])
    return g.sum(), g @ turned, product


def _stiffness(
    fields: Sequence[Field], strain: Array, rule: Rule, profile: SectionProfile, kind: Literal["rigidity", "shear"]
) -> Array:
    """Integrals of products of strains within each field, under the profile of its rigidity or shear stiffness."""
    K = np.zeros((strain.shape[1], strain.shape[1]))
    for f, block in zip(fields, blocks(fields)):
        g = rule.weight * profile(getattr(FIELDS[f.name], kind), rule.eta)
        K[block, block] = strain[:, block].T @ (g[:, None] * strain[:, block])
    return K


def loaded_mass(f: Field, gamma: Array, tip: Array, tip_slope: Array) -> Array:
    """Mass of one field with its boundary load, from its own block of the Gram matrix and its tip values."""
    ends = np.vstack([tip, tip_slope])
    return np.asarray(gamma + ends.T @ f.load.matrix @ ends)
