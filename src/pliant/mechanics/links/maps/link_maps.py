"""A link is a map: what a body's own coordinates `c` do to its points, its tip and its strain energy.

The rest of the library sees a body only through the protocol `Body`. A formulation needs `moments` (mass integrals and
their rates), `tip` (pose of the distal frame and its rate), `strain_energy`, `dissipation` and `point`. Other modules
read what it is made of (`data`, `shapes`) and where it may be (`rest`, `travel`, `length`). Bodies whose displacement
is linear in `c` have moments that are polynomials with constant coefficients, the modal integrals; every other map is
integrated by quadrature inside the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.canonical import canonical
from pliant.algebra.rotations import SX, Identity, Rotation, axial, compose, exponential, exponential_bias, linear
from pliant.mechanics.shapes.integrals import UNIFORM, Field, ModalIntegrals, SectionProfile
from pliant.options import RotationName

Floats = Sequence[float] | np.ndarray
ROTATIONS: dict[RotationName, Callable[[SX], tuple[Rotation, SX]]] = {"exact": exponential, "linear": linear}
"""How the rotation vector of a section becomes a rotation: see `pliant.algebra.rotations`."""


@dataclass(frozen=True)
class Moments:
    """Mass integrals of a body about the origin of its frame, in its own axes; `phi_j = dr/dc_j`, `rd = sum phi_j
    cd_j`.

    `m`; `s = int r`; `D = int r r^T`; `eps` (3, k) `= int phi_j`; `H_j = int r phi_j^T`; `gram` (k, k) `= int phi_j
    . phi_k` with the sections' rotary part; `spin` (3, k) `= int j theta_j`, the rotary coupling to the frame's
    rotation. Rates: `N_j = int rd phi_j^T`; `P = int r rd^T`; and, for maps that are not linear, the integrals of
    the acceleration
    `beta = (dJ/dt) cd`: `f_beta = int beta`, `X_beta = int beta r^T`, `b_beta_j = int phi_j . beta`.
    """

    m: SX
    s: SX
    D: SX
    eps: SX = field(default_factory=lambda: ca.SX(3, 0))
    H: Sequence[SX] = ()
    gram: SX = field(default_factory=lambda: ca.SX(0, 0))
    spin: SX = field(default_factory=lambda: ca.SX(3, 0))
    N: Sequence[SX] = ()
    P: SX = field(default_factory=lambda: ca.SX(3, 3))
    f_beta: SX = field(default_factory=lambda: ca.SX(3, 1))
    X_beta: SX = field(default_factory=lambda: ca.SX(3, 3))
    b_beta: SX = field(default_factory=lambda: ca.SX(0, 1))

    def coupling(self) -> SX:
        """(3, k) angular coupling `int r x phi_j + spin_j` of the frame's rotation with the coordinates."""
        columns = [axial(H.T) for H in self.H]
        return ca.horzcat(*columns) + self.spin if columns else ca.SX(3, 0)

    def modal_forces(self, E: SX, W: SX) -> SX:
        """(k,) forces `int phi_j . (E r + W rd)` of the points' accelerations on the coordinates."""
        rows = [ca.trace(ca.mtimes(E, H)) + ca.trace(ca.mtimes(W, N)) for H, N in zip(self.H, self.N)]
        return ca.vertcat(*rows)

    def shifted(self, o: SX, cd: SX) -> Moments:
        """Moments of the same body, moved by a constant `o` in the axes of its frame."""
        across = ca.mtimes(o, self.s.T)
        return replace(
            self, s=self.s + self.m * o, D=self.D + across + across.T + self.m * ca.mtimes(o, o.T),
            H=[H + ca.mtimes(o, self.eps[:, j].T) for j, H in enumerate(self.H)],
            P=self.P + ca.mtimes(o, ca.mtimes(self.eps, cd).T), X_beta=self.X_beta + ca.mtimes(self.f_beta, o.T),
        )  # fmt: skip

    def added(self, lump: Moments) -> Moments:
        """Moments of the body with a lump that is fixed to its frame."""
        return replace(self, m=self.m + lump.m, s=self.s + lump.s, D=self.D + lump.D)


@dataclass(frozen=True)
class TipMap:
    """Distal frame in the axes of the link frame: rotation `R`, position `p`, and their Jacobians.

    Angular velocity of the tip is `omega + W cd`, its velocity `v + omega x p + J cd`; `w_beta = (dW/dt) cd`,
    `v_beta = (dJ/dt) cd`.
    """

    R: Rotation
    p: SX
    W: SX
    J: SX
    w_beta: SX
    v_beta: SX


class Body(Protocol):
    """Body of a link: the interface by which all other modules see it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its coordinates, without the link's name."""

    @property
    def rest(self) -> np.ndarray:
        """Coordinates (k,) of the undeformed body as it is described."""

    @property
    def data(self) -> BeamData | None:
        """Properties of its sections; None for a rigid body."""

    @property
    def shapes(self) -> ShapeFunctions | None:
        """Shape functions of its amplitudes, those of the straight arm where they follow it; None without any."""

    @property
    def rotation(self) -> RotationName:
        """How the rotation vector of a section becomes a rotation: a key of `ROTATIONS`."""

    @property
    def travel(self) -> tuple[float, float] | None:
        """Free lengths for which the model of a sliding beam holds; None for a body that does not slide."""

    @property
    def follows(self) -> bool:
        """Whether its shapes follow joints beyond it."""

    @property
    def is_linear(self) -> bool:
        """Whether displacements are linear in the coordinates, as the printed Gibbs-Appell and dual-screw equations
        need."""

    def moments(self, c: SX, cd: SX) -> Moments:
        """Mass integrals at `c`, `cd`."""

    def tip(self, c: SX, cd: SX) -> TipMap:
        """Distal frame at `c`, `cd`."""

    def strain_energy(self, c: SX) -> SX:
        """Elastic energy."""

    def dissipation(self, c: SX, cd: SX) -> SX:
        """Generalized damping forces, positive against the motion."""

    def length(self, c: SX) -> SX:
        """Distance from root to tip along the undeformed axis."""

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        """Position of the axis and rotation vector of the section at station `eta` = x / length."""

    def mass_point(self, c: SX, eta: float) -> tuple[SX, SX]:
        """Point as the mass integrals have it: `point`, or an approximation that the body integrates in its place."""


def lump(mass: SX, com: SX, inertia: SX) -> Moments:
    """Rigid lump of `mass` at `com` with `inertia` about its center; zero mass with inertia is allowed (a disc's
    spin)."""
    s = mass * com
    centroidal = ca.trace(inertia) / 2 * ca.SX.eye(3) - inertia
    return Moments(mass, s, ca.densify(mass * ca.mtimes(com, com.T) + centroidal))


@dataclass(frozen=True)
class RigidMap:
    """A body without coordinates: its moments, and its tip at a fixed pose."""

    inertia: Moments
    tip_position: SX
    tip_rotation: Rotation = field(default_factory=Identity)
    root: SX = field(default_factory=lambda: ca.SX.zeros(3))
    names: tuple[str, ...] = ()
    is_linear: bool = True
    data: ClassVar[None] = None
    shapes: ClassVar[None] = None
    rotation: ClassVar[RotationName] = "exact"
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = False

    @property
    def rest(self) -> np.ndarray:
        return np.zeros(0)

    def length(self, c: SX) -> SX:
        return ca.norm_2(self.tip_position - self.root)

    def moments(self, c: SX, cd: SX) -> Moments:
        return self.inertia

    def tip(self, c: SX, cd: SX) -> TipMap:
        none = ca.SX(3, 0)
        return TipMap(self.tip_rotation, self.tip_position, none, none, ca.SX(3, 1), ca.SX(3, 1))

    def strain_energy(self, c: SX) -> SX:
        return ca.SX(0)

    def dissipation(self, c: SX, cd: SX) -> SX:
        return ca.SX(0, 1)

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        return self.root + (self.tip_position - self.root) * eta, ca.SX.zeros(3)

    mass_point = point


SWING = 3 * np.pi / 8
"""Factor by which drag of an amplitude a takes as much energy as a ratio a would: over a swing sin^2 has the mean 1/2
and |sin|^3 has 4 / (3 pi)."""
STILL = 1e-9
"""m/s: below, the speed of a tip has no direction."""


@dataclass(frozen=True)
class BeamData:
    """Numbers or symbols of a beam that multiply the dimensionless modal integrals."""

    length: SX
    mass_per_length: SX
    EI_y: SX
    EI_z: SX
    GJ: SX
    EA: SX
    polar_inertia: SX
    rotary: tuple[SX, SX]
    damping: SX = 0.0
    growth: SX = 0.0
    rayleigh: tuple[SX, SX] = (0.0, 0.0)
    profile: SectionProfile = UNIFORM
    shear_center: tuple[float, float] = (0.0, 0.0)
    offset: tuple[SX, SX, SX] = (0.0, 0.0, 0.0)
    GA_y: SX = 0.0
    GA_z: SX = 0.0

    def at(self, name: str, eta: float) -> SX:
        """A property of the section at a station: a field of this class, or `rotary_y`, `rotary_z`."""
        value = self.rotary["yz".index(name[-1])] if name.startswith("rotary") else getattr(self, name)
        return value * float(self.profile(name, np.array([eta]))[0])

    def rigidity(self, name: str) -> SX:
        """Stiffness that belongs to a field: `bending_y` goes with `EI_z`."""
        return {"bending_y": self.EI_z, "bending_z": self.EI_y, "torsion": self.GJ, "axial": self.EA}[name]


class ShapeFunctions(Protocol):
    """Shape functions as a linear beam uses them; `pliant.mechanics.shapes.LinkShapes` is one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each amplitude."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Field of each amplitude."""

    @property
    def powers(self) -> tuple[int, ...]:
        """Power of the length that makes an amplitude physical."""

    @property
    def parts(self) -> tuple[Field, ...]:
        """The functions of each field."""

    def evaluate(self, eta: ArrayLike, derivative: int = 0) -> np.ndarray:
        """Shape values, or derivatives in eta, at each station."""


@dataclass(frozen=True)
class BeamNumbers:
    """Numbers of a linear beam of k amplitudes that enter its equations.

    `mass`, first (`lever`) and second (`square`) moment along x; `gram` (k, k) of the shapes and `first` (k,), `arm`
    (k,), their integrals and those times x, all without axes; `inertia` (k, k) of the amplitudes; `rotary` inertia of
    the frame (3, 3) and its coupling `spin` (3, k); places of the undeformed `root` and `end`; `turn` and `shift`
    (3, k) of the tip; `stiffness`, `damping`, `drag`, each (k, k).
    """

    mass: SX
    lever: SX
    square: SX
    gram: SX
    first: SX
    arm: SX
    inertia: SX
    rotary: SX
    spin: SX
    root: SX
    end: SX
    turn: SX
    shift: SX
    stiffness: SX
    damping: SX
    drag: SX


@dataclass(frozen=True)
class LinearBeam:
    """Beam along +x whose displacement is a sum of shapes: `r = x e_x + sum axis_j psi_j(x/L) c_j`.

    r is the centroid; v and w of the bending shapes are those of the shear center, about which twist turns the section.
    2 zeta `damped` is the damping of its ratio zeta, on as many amplitudes as that has rows, and `slowest` (rad/s) its
    first frequency: see `modal_damping`. The numbers in its equations may be `known`, as symbols.
    """

    data: BeamData
    shapes: ShapeFunctions
    integrals: ModalIntegrals
    rotation: RotationName
    end_rotation: Rotation = field(default_factory=Identity)
    damped: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    slowest: float = 1.0
    is_linear: bool = True
    known: BeamNumbers | None = None
    travel: ClassVar[None] = None
    follows: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.shapes.names

    @property
    def rest(self) -> np.ndarray:
        return np.zeros(self.size)

    def length(self, c: SX) -> SX:
        return self.data.length

    @property
    def size(self) -> int:
        """Number of amplitudes."""
        return len(self.shapes.names)

    def _scale(self, j: int) -> SX:
        """Power of the length that makes amplitude `j` physical (nodal slopes)."""
        return self.data.length ** self.shapes.powers[j] if self.shapes.powers[j] else 1.0

    def turn_columns(self, values: Floats, slopes: Floats) -> SX:
        """(3, k) rotation of a section per amplitude, from shape values and slopes d/d(eta) there."""
        turn = self.integrals.turn
        columns = []
        for j, name in enumerate(self.shapes.fields):
            tv = values[j] if name == "torsion" else slopes[j] / self.data.length
            columns.append(ca.SX(ca.DM(turn[j])) * (tv * self._scale(j)))
        return ca.densify(ca.horzcat(*columns))

    def shift_columns(self, values: Floats) -> SX:
        """(3, k) displacement of the axis per amplitude, from shape values there."""
        axis = self.integrals.axis
        return ca.densify(ca.horzcat(*(ca.SX(ca.DM(axis[j])) * (values[j] * self._scale(j)) for j in range(self.size))))

    @cached_property
    def numbers(self) -> BeamNumbers:
        """Numbers that enter its equations."""
        return self.known or self._numbers()

    def _numbers(self) -> BeamNumbers:
        I, L = self.integrals, self.data.length
        mu = self.data.mass_per_length * L
        scale = ca.vertcat(*(self._scale(j) for j in range(self.size)))
        gram = mu * ca.SX(ca.DM(I.gram)) * ca.mtimes(scale, scale.T)
        rotary, spin, spin_gram = self._rotary()
        inertia = ca.densify(gram * ca.DM(I.axis @ I.axis.T) + spin_gram)
        turn, shift = self.turn_columns(I.tip, I.tip_slope), self.shift_columns(I.tip)
        stiffness = self._stiffness()
        return BeamNumbers(
            mass=ca.SX(mu * I.mass),
            lever=ca.SX(mu * L * I.first),
            square=ca.SX(mu * L * L * I.second),
            gram=ca.SX(gram),
            first=ca.SX(mu * scale * ca.DM(I.eps)),
            arm=ca.SX(L * (mu * scale * ca.DM(I.eta_eps))),
            inertia=ca.SX(inertia),
            rotary=ca.SX(rotary),
            spin=ca.densify(spin),
            root=self.undeformed(0.0),
            end=self.undeformed(1.0),
            turn=ca.SX(turn),
            shift=ca.SX(shift),
            stiffness=ca.SX(stiffness),
            damping=ca.SX(self._damping(inertia, stiffness)),
            drag=ca.SX(self._drag()),
        )

    def moments(self, c: SX, cd: SX) -> Moments:
        k, I, numbers = self.size, self.integrals, self.numbers
        gram, eps = numbers.gram, numbers.first
        along = [[j for j in range(k) if I.axis[j][a]] for a in range(3)]  # amplitudes that move points along x, y, z
        moved, rates = (self._sums(gram, along, rate) for rate in (c, cd))
        H, N = ([ca.SX(3, 3) for _ in range(k)] for _ in range(2))
        D, P, s = ca.SX.zeros(3, 3), ca.SX.zeros(3, 3), ca.SX.zeros(3)
        D[0, 0], s[0] = numbers.square, numbers.lever
        for b, own in enumerate(along):
            if not own:
                continue
            axis, lever = ca.DM(I.axis[own, b]), ca.DM(I.axis[own, b]) * numbers.arm[own]
            s[b] = ca.mac((axis * eps[own]).T, c[own], s[b])
            for a in range(3):
                dyad, rate = moved[a][own] * axis, rates[a][own] * axis
                if a <= b:
                    terms = [dyad * c[own]] if a else [dyad * c[own], lever * c[own] * (2 if b == 0 else 1)]
                    in_turn = ca.vec(ca.horzcat(*terms).T)  # one amplitude after the other
                    D[a, b] = ca.sum1(ca.vertcat(D[a, b], in_turn))
                if a == 0:
                    dyad = dyad + lever
                P[a, b] = ca.mtimes(dyad.T, cd[own])
                for i, j in enumerate(own):
                    H[j][a, b], N[j][a, b] = dyad[i], rate[i]
        spin0, root = numbers.rotary, numbers.root
        moments = Moments(
            m=numbers.mass, s=s, D=ca.triu2symm(ca.triu(D)) + ca.trace(spin0) / 2 * ca.SX.eye(3) - spin0,
            eps=ca.densify(ca.DM(I.axis.T) * ca.repmat(eps.T, 3, 1)), H=H, gram=numbers.inertia,
            spin=numbers.spin, N=N, P=P, b_beta=ca.SX(k, 1),
        )  # fmt: skip
        return moments if is_zero(root) else moments.shifted(root, cd)

    def undeformed(self, eta: float) -> SX:
        """(3,) place of the undeformed axis."""
        x, y, z = self.data.offset
        return ca.SX(ca.vertcat(x + eta * self.data.length, y, z))

    def _sums(self, gram: SX, along: list[list[int]], rate: SX) -> list[SX]:
        """int (sum_i phi_i rate_i) psi_j for every amplitude j, along x, y and z."""
        axis, none = self.integrals.axis, ca.SX(self.size, 1)
        return [
            ca.mtimes(gram[:, own], rate[own] * ca.DM(axis[own, a])) if own else none for a, own in enumerate(along)
        ]

    def _rotary(self) -> tuple[SX, SX, SX]:
        """Rotary inertia of the sections: of the frame (3, 3), its coupling (3, k) and of the amplitudes (k, k)."""
        k, I, b = self.size, self.integrals, self.data
        j_axis = (b.polar_inertia, *b.rotary)
        factor = ca.SX(ca.vertcat(*(
            self._scale(j) if self.shapes.fields[j] == "torsion" else self._scale(j) / b.length for j in range(k)
        )))  # fmt: skip
        columns = ca.repmat(factor, 1, k)
        whole = ca.diag(ca.vertcat(*(j_axis[d] * b.length * I.spin_mass[d] for d in range(3))))
        spin, gram = ca.SX(3, k), ca.SX(k, k)
        for d in range(3):
            if is_zero(j_axis[d]):
                continue
            spin[d, :] = (j_axis[d] * b.length * ca.SX(ca.DM(I.spin[:, d])) * factor).T
            gram += j_axis[d] * b.length * ca.SX(ca.DM(I.spin_gram[d])) * columns * columns.T
        return whole, spin, gram

    def station(self, eta: float) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes d/d(eta) of the shapes at a station."""
        found = (self.shapes.evaluate(np.array([eta]), derivative)[0] for derivative in (0, 1))
        values, slopes = (canonical(x, norm) for x, norm in zip(found, self.integrals.norms))
        return values, slopes

    def tip(self, c: SX, cd: SX) -> TipMap:
        return linear_tip(self.numbers, self.rotation, self.end_rotation, c, cd)

    def stiffness(self) -> SX:
        """(k, k) stiffness matrix of the amplitudes."""
        return self.numbers.stiffness

    def _stiffness(self) -> SX:
        constants, fields = self.integrals.stiffness, self.shapes.fields
        K = ca.SX(self.size, self.size)
        for j, i in np.argwhere(constants).tolist():
            power = 3 if fields[j].startswith("bending") else 1
            spring = (
                ca.SX(self.data.rigidity(fields[j])) / self.data.length**power
            )  # endless for no length, and refused
            K[j, i] = spring * float(constants[j, i]) * self._scale(j) * self._scale(i)
        for j, i in np.argwhere(self.integrals.shear).tolist():
            spring = (self.data.GA_y if fields[j] == "bending_y" else self.data.GA_z) / self.data.length
            K[j, i] += spring * float(self.integrals.shear[j, i]) * self._scale(j) * self._scale(i)
        return K

    def damping(self) -> SX:
        """(k, k) damping matrix: modal ratio, plus Rayleigh's alpha M + beta K."""
        return self.numbers.damping

    def _damping(self, inertia: SX, stiffness: SX) -> SX:
        D, own = ca.SX(self.size, self.size), len(self.damped)
        D[:own, :own] = 2 * self.data.damping * ca.sparsify(ca.DM(self.damped))
        alpha, beta = self.data.rayleigh
        if not is_zero(alpha):
            D = D + alpha * inertia
        return D + beta * stiffness if not is_zero(beta) else D

    def _drag(self) -> SX:
        """(k, k) gain of the damping matrix with the speed of the tip, s/m times that of the ratio one."""
        D, own = ca.SX(self.size, self.size), len(self.damped)
        if not is_zero(self.data.growth):
            per_speed = self.data.growth * SWING / (self.slowest * self.data.length)
            D[:own, :own] = 2 * per_speed * ca.sparsify(ca.DM(self.damped))
        return D

    def strain_energy(self, c: SX) -> SX:
        return ca.mtimes([c.T, self.stiffness(), c]) / 2

    def dissipation(self, c: SX, cd: SX) -> SX:
        found: SX = ca.mtimes(self.damping(), cd)
        if not is_zero(self.numbers.drag):
            speed = ca.sqrt(ca.sumsqr(ca.mtimes(self.numbers.shift, cd)) + STILL**2)
            found = found + speed * ca.mtimes(self.numbers.drag, cd)
        return ca.densify(found)

    def point(self, c: SX, eta: float) -> tuple[SX, SX]:
        values, slopes = self.station(eta)
        r = self.undeformed(eta) + ca.mtimes(self.shift_columns(values), c)
        return r, ca.mtimes(self.turn_columns(values, slopes), c)

    mass_point = point


class TipNumbers(Protocol):
    """Tip of a body that is linear in its coordinates."""

    @property
    def end(self) -> SX:
        """Place (3,) of the undeformed tip."""

    @property
    def turn(self) -> SX:
        """(3, k) rotation of the tip per coordinate."""

    @property
    def shift(self) -> SX:
        """(3, k) displacement of the tip per coordinate."""


def linear_tip(numbers: TipNumbers, rotation: RotationName, end_rotation: Rotation, c: SX, cd: SX) -> TipMap:
    """Distal frame of a body that is linear in its coordinates; its axes are turned by `end_rotation`."""
    turn, J = numbers.turn, numbers.shift
    theta = ca.mtimes(turn, c)
    R, A = ROTATIONS[rotation](theta)
    W = ca.mtimes(A, turn)
    w_beta = exponential_bias(theta, ca.mtimes(turn, cd)) if rotation == "exact" else ca.SX.zeros(3)
    p = numbers.end + ca.mtimes(J, c)
    return TipMap(compose(R, end_rotation), p, W, J, w_beta, ca.SX(3, 1))


def is_zero(value: SX) -> bool:
    """Whether a number or symbol is the constant zero."""
    return bool(ca.SX(value).is_zero())
