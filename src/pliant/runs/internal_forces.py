"""What the structure feels: forces and moments inside the beams, and the wrenches that the joints carry.

Wrenches follow from the balance of everything beyond a section: inertia, weight and loads, summed inwards. This holds
whatever the number of shapes, where the stiffness times the curvature of a few modes would miss near the root and at
loaded sections. Curvature itself is a property of the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.inertia import shift_wrench
from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.dynamics.chain import Chain
from pliant.dynamics.denoc import Motion, body_wrench, euler_matrix, link_wrench, outward_motion
from pliant.dynamics.kinematics import placements
from pliant.errors import ModelError, UnsupportedModel
from pliant.kernels import Kernel
from pliant.loads.stations import fraction, place_of, section_axes, station_rule
from pliant.model import Model
from pliant.robot import RobotView, beam_properties
from pliant.shapes import section_profile


class SectionForces(NamedTuple):
    """Force and moment (N, 3) that the outer part of a beam exerts on the inner part, in the axes of the section."""

    force: Array
    moment: Array

    @property
    def axial(self) -> Array:
        """Axial force, N: EA u', positive for tension."""
        return np.asarray(self.force[:, 0])

    @property
    def shear_y(self) -> Array:
        """Shear force along y, N."""
        return np.asarray(self.force[:, 1])

    @property
    def shear_z(self) -> Array:
        """Shear force along z, N."""
        return np.asarray(self.force[:, 2])

    @property
    def torque(self) -> Array:
        """Torque, N m: GJ phi'."""
        return np.asarray(self.moment[:, 0])

    @property
    def moment_y(self) -> Array:
        """Bending moment about y, N m: -EI_y w''."""
        return np.asarray(self.moment[:, 1])

    @property
    def moment_z(self) -> Array:
        """Bending moment about z, N m: EI_z v''."""
        return np.asarray(self.moment[:, 2])


class Reaction(NamedTuple):
    """Force and moment (N, 3) that a link receives through its joint, about the origin of the link frame."""

    force: Array
    moment: Array


@dataclass(frozen=True)
class RunHistory:
    """States of a run, and what acted on it."""

    model: Model
    t: Array
    q: Array
    qd: Array
    qdd: Array
    parameters: Array
    loads: Sequence[Any] = ()
    base: Any = None

    def reaction(self, joint: str | int, axes: str = "link") -> Reaction:
        """What the link receives through its joint, drive and friction included; in link or base axes."""
        if axes not in ("link", "base"):
            raise ModelError(f"axes: got {axes!r}, expected 'link' or 'base'")
        place = place_of(self.model.chain, joint)

        def wrench(symbols: RunSymbols) -> tuple[SX, SX]:
            n, f = symbols.carried[place].at_root
            R = symbols.rotation(place) if axes == "base" else ca.SX.eye(3)
            return ca.mtimes(R, f), ca.mtimes(R, n)

        return Reaction(*self._over_time(wrench))

    def internal(self, link: str | int, x: float | str) -> SectionForces:
        """Section forces at station `x` (metres, "tip" or "middle")."""
        place, eta = self.station(link, x)
        return SectionForces(*self._over_time(lambda symbols: symbols.section(place, eta)))

    def curvature(self, link: str | int, x: float | str) -> Array:
        """(N, 3) twist phi', and curvatures theta_y' = -w'' and theta_z' = v'', 1/m, as the shapes have them."""
        place, eta = self.station(link, x)
        return self._over_time(lambda symbols: (symbols.curvature(place, eta),))[0]

    def strain(self, link: str | int, x: float | str, at: tuple[float, float] | None = None) -> Array:
        """(N,) strain along x of the fibre at (y, z) metres of a section, from its forces.

        N/EA - y M_z/EI_z + z M_y/EI_y; without `at`, the largest magnitude on the outline of the link's section. A beam
        without EA is not stretched.
        """
        place, eta = self.station(link, x)
        forces, stiff = self.internal(link, x), self._stiffness(place, eta)
        along = forces.axial / stiff["EA"] if stiff["EA"] else np.zeros(len(self.t))
        bent_y, bent_z = (
            getattr(forces, f"moment_{k}") / stiff[f"EI_{k}"] if stiff[f"EI_{k}"] else np.zeros(len(self.t))
            for k in "yz"
        )
        if at is not None:
            return np.asarray(along - at[0] * bent_z + at[1] * bent_y)
        round_section, y, z = _outline(self.model.robot.links[place], eta)
        bending = y * np.hypot(bent_y, bent_z) if round_section else y * np.abs(bent_z) + z * np.abs(bent_y)
        return np.asarray(np.abs(along) + bending)

    def stress(
        self, link: str | int, x: float | str, at: tuple[float, float] | None = None, modulus: float | None = None
    ) -> Array:
        """(N,) stress along x in Pa: `strain` times Young's modulus, that of the link's material by default."""
        beam = self.model.robot.links[place_of(self.model.chain, link)].beam
        if modulus is None:
            if beam is None or beam.material is None:
                raise ModelError(f"link {link!r} has no material; give modulus= in Pa")
            modulus = float(beam.material.E)
        return self.strain(link, x, at) * modulus

    # ---------------------------------------------------------------------------------------------------------

    def station(self, link: str | int, x: float | str) -> tuple[int, float]:
        """Number of a flexible link, and the station as a part of its length."""
        place = place_of(self.model.chain, link)
        chain_link = self.model.chain.links[place]
        if getattr(chain_link.body, "travel", None) is not None:
            raise UnsupportedModel(
                f"link {chain_link.name!r} slides: its section forces are not followed; ask reaction of its joints"
            )
        if not chain_link.flexible:
            raise UnsupportedModel(
                f"link {chain_link.name!r} is rigid: where its mass lies is not known; ask reaction of its joints, or "
                "give its beam shapes"
            )
        return place, fraction(chain_link, x)

    def _stiffness(self, place: int, eta: float) -> dict[str, float]:
        robot = self.model.robot.replace(dict(zip(self.model.parameters, self.parameters.tolist())))
        p = beam_properties(robot.links[place].beam)
        profile = section_profile(p)
        return {name: getattr(p, name) * float(profile(name, np.array([eta]))[0]) for name in ("EI_y", "EI_z", "EA")}

    def _over_time(self, build: Any) -> list[Array]:
        """Values (N, ...) of expressions of the state, over the run."""
        symbols = RunSymbols(self)
        outputs = ca.cse([ca.densify(ca.SX(o)) for o in build(symbols)])
        kernel = Kernel(ca.Function("structure", symbols.inputs, outputs), "vm")
        p = np.tile(self.parameters, (len(self.t), 1))
        found = kernel(self.t[:, None], self.q, self.qd, self.qdd, p)
        return [np.asarray(o).reshape(len(self.t), 3) for o in (found if len(outputs) > 1 else [found])]


class Carried(NamedTuple):
    """A link with the wrenches (moment, force) that it hands to its tip frame and needs at its root."""

    motion: Motion
    at_tip: tuple[SX, SX]
    at_root: tuple[SX, SX]


class RunSymbols:
    """The state as symbols, and the wrenches that follow."""

    def __init__(self, run: RunHistory) -> None:
        model, n = run.model, run.model.n
        self.loads, self.robot = run.loads, model.robot
        self.t, self.q, self.qd = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("qd", n)
        self.qdd, self.p = ca.SX.sym("qdd", n), model.parameter_symbols
        self.inputs = [self.t, self.q, self.qd, self.qdd, self.p]
        self.symbols = dict(zip(model.parameters, ca.vertsplit(self.p) if model.parameters else []))
        base = run.base
        self.chain: Chain = (
            model.chain if base is None else replace(model.chain, base=base.expression(self.t, model.chain.gravity))
        )
        self.carried = self._inwards()

    def _inwards(self) -> list[Carried]:
        """The wrenches that every link needs, tip to base."""
        found = []
        n, f = ca.SX.zeros(3), ca.SX.zeros(3)
        motions = outward_motion(self.chain, self.q, self.qd, self.qdd)
        for place in reversed(range(len(motions))):
            motion, at_tip = motions[place], (n, f)
            n, f, _ = link_wrench(motion, n, f)
            n_load, f_load = self._applied(place, 0.0, ca.SX.zeros(3))
            n, f = n - n_load, f - f_load
            found.append(Carried(motion, at_tip, (n, f)))
            R = motion.link.joint.rotation(motion.q)
            n, f = R.apply(n), R.apply(f)
            n = shift_wrench(n, f, motion.link.joint.position(motion.q))
        return found[::-1]

    def rotation(self, place: int) -> SX:
        """(3, 3) from link axes to base axes."""
        return list(placements(self.chain, self.q))[place].R

    def _applied(self, place: int, eta: float, about: SX) -> tuple[SX, SX]:
        """Moment about a point and force of the loads from a section outwards, in link axes."""
        n, f = ca.SX.zeros(3), ca.SX.zeros(3)
        link = self.chain.links[place]
        for load in self.loads:
            if not hasattr(load, "points"):
                raise UnsupportedModel(
                    f"loads: {type(load).__name__} does not say where it acts; use Wrench or Distributed to see inside"
                )
            for point in load.points(self.chain, self.t, self.q, self.qd, (place, eta)):
                r = link.body.tip(c := self.chain.body(link, self.q), ca.SX.zeros(c.shape)).p
                r = r if point.eta == 1.0 else link.body.point(c, point.eta)[0]
                n, f = n + point.n + ca.cross(r - about, point.f), f + point.f
        return n, f

    def section(self, place: int, eta: float) -> tuple[SX, SX]:
        """Force and moment of the outer part on the inner part at a section, in its axes."""
        carried, link = self.carried[place], self.chain.links[place]
        motion, c = carried.motion, self.chain.body(link, self.q)
        about, _ = link.body.point(c, eta)
        n, f = self._material(place, eta, motion, about)
        n_tip, f_tip = carried.at_tip
        if link.load is not None:
            n_own, f_own, _ = body_wrench(link.load, ca.SX(0, 1), motion.omega_tip, motion.alpha_tip, motion.a_tip)
            n_tip, f_tip = n_tip + n_own, f_tip + f_own
        n_tip, f_tip = motion.tip.R.apply(n_tip), motion.tip.R.apply(f_tip)
        n, f = n + shift_wrench(n_tip, f_tip, motion.tip.p - about), f + f_tip
        n_load, f_load = self._applied(place, eta, about)
        R = section_axes(link, c, eta)
        return -ca.mtimes(R.T, f - f_load), -ca.mtimes(R.T, n - n_load)

    def _material(self, place: int, eta: float, motion: Motion, about: SX) -> tuple[SX, SX]:
        """Moment about the section and force that the beam beyond it needs for its acceleration and against gravity."""
        n, f = ca.SX.zeros(3), ca.SX.zeros(3)
        if eta >= 1.0:
            return n, f
        link = self.chain.links[place]
        beam = beam_properties(RobotView(self.robot, self.symbols).links[place].beam)
        profile, rule = section_profile(beam), station_rule(link, eta, 1.0)
        E = euler_matrix(motion.omega, motion.alpha)
        names = ("mass_per_length", "polar_inertia", "rotary_y", "rotary_z")
        values = np.column_stack([profile(name, rule.eta) for name in names]) * rule.weight[:, None]
        scalars = [beam.mass_per_length, beam.polar_inertia, *beam.rotary]
        for station, row in zip(rule.eta.tolist(), values.tolist()):
            m, *j = (value * scalar * beam.length for value, scalar in zip(row, scalars))
            r, theta = link.body.point(self.chain.body(link, self.q), station)
            (rd, rdd), (thetad, thetadd) = self._rates(r), self._rates(theta)
            force = m * (motion.a + ca.mtimes(E, r) + 2 * ca.cross(motion.omega, rd) + rdd)
            inertia = ca.diag(ca.vertcat(*j))
            spin = ca.mtimes(inertia, motion.alpha + thetadd)
            spin += ca.cross(motion.omega, ca.mtimes(inertia, motion.omega + thetad))
            n, f = n + ca.cross(r - about, force) + spin, f + force
        return n, f

    def _rates(self, value: SX) -> tuple[SX, SX]:
        """First and second time derivative along the motion."""
        first = ca.jtimes(value, self.q, self.qd)
        return first, ca.jtimes(first, self.q, self.qd) + ca.jtimes(value, self.q, self.qdd)

    def curvature(self, place: int, eta: float) -> SX:
        """(phi', -w'', v'') at a station."""
        link = self.chain.links[place]
        body = link.body
        if not hasattr(body, "shapes") or getattr(body, "follows", False):
            raise UnsupportedModel(f"link {link.name!r}: the curvature of shapes that follow the arm is not available")
        shapes, L = body.shapes, beam_properties(RobotView(self.robot, self.symbols).links[place].beam).length
        first, second = (shapes.evaluate(np.array([eta]), order)[0] for order in (1, 2))
        c, out = self.chain.body(link, self.q), ca.SX.zeros(3)
        for j, (field, power) in enumerate(zip(shapes.fields, shapes.powers)):
            slope, bent = float(first[j]) * L ** (power - 1), float(second[j]) * L ** (power - 2)
            if field == "torsion":
                out[0] += slope * c[j]
            elif field == "bending_y":
                out[2] += bent * c[j]
            elif field == "bending_z":
                out[1] -= bent * c[j]
        return out


def _outline(link: Any, eta: float) -> tuple[bool, float, float]:
    """Whether a section is round, and its half width and half height at a station."""
    section = None if link.beam is None else link.beam.section
    if section is None:
        raise ModelError(f"link {link.name!r} has no section; give the fibre as at=(y, z) in metres")

    def size(value: Any) -> float:
        return float(np.interp(eta, section.x, value)) if isinstance(value, tuple) else float(value)

    if section.shape in ("rod", "tube"):
        radius = size(section.diameter if section.shape == "rod" else section.outer_diameter) / 2
        return True, radius, radius
    return False, size(section.width) / 2, size(section.height) / 2


__all__ = ["Reaction", "RunHistory", "SectionForces"]
