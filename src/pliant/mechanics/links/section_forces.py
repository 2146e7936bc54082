"""Forces inside the beams and in the joints, as expressions of a state, its rates and accelerations.

Wrenches follow from the balance of everything beyond a section: inertia, weight and loads, summed inwards. This holds
whatever the number of shapes. The stiffness times the curvature of a few modes would be wrong near the root and at
loaded sections (by 4 % at the root under a tip force with two modes, 14 % with one). Curvature and strain are these
forces over the stiffness of the section.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from pliant.algebra.inertia import shift_wrench
from pliant.algebra.rotations import SX
from pliant.errors import UnsupportedModel
from pliant.mechanics.constraints.constraint_wrenches import Tie, ties
from pliant.mechanics.formulations.denoc import Motion, body_wrench, euler_matrix, link_wrench, outward_motion
from pliant.mechanics.links.chain import Arrivals, Chain, ChainLink, MovingBase
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.maps.link_maps import BeamData, is_zero
from pliant.mechanics.links.maps.stiffening import StiffenedBeam
from pliant.mechanics.links.stations import section_axes, station_rule
from pliant.mechanics.shapes.quadrature import Rule
from pliant.robot.stations import require_sections

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load


class Carried(NamedTuple):
    """A link with the wrenches (moment, force) that act at its ports on other links, and at its root on itself."""

    motion: Motion
    at_ports: dict[int, tuple[SX, SX]]
    at_root: tuple[SX, SX]


class Stretches(NamedTuple):
    """Strains of a section: extension u', and (3,) twist and curvatures phi', -w'', v''."""

    extension: SX
    curvature: SX

    def by_field(self) -> dict[str, SX]:
        """v'', w'', phi' and u' by the fields that they belong to."""
        k = self.curvature
        return {"bending_y": k[2], "bending_z": -k[1], "torsion": k[0], "axial": self.extension}

    def strain(self, y: SX, z: SX) -> SX:
        """Strain along the beam of the fibre at (y, z)."""
        return self.extension - y * self.curvature[2] + z * self.curvature[1]


class InternalForces:
    """The wrenches inside a chain whose base may move, under loads that say where they act, couplings, loops and
    contacts.

    Attributes
    ----------
    t, q, qd, qdd : symbols of time, coordinates, rates and accelerations
    push, multipliers : symbols of the forces of couplings that are commanded, and of the rows that close loops
    """

    def __init__(self, chain: Chain, loads: Sequence[Load] = (), base: MovingBase | None = None) -> None:
        n = chain.n
        self.t, self.q, self.qd, self.qdd = (
            ca.SX.sym(*given) for given in (("t", 1), ("q", chain.n_q), ("qd", n), ("qdd", n))
        )  # fmt: skip
        self.push = ca.SX.sym("push", len(chain.commanded))
        self.multipliers = ca.SX.sym("multipliers", len(chain.kept))
        self.chain, self.loads = chain.on(base, self.t), loads

    @cached_property
    def carried(self) -> list[Carried]:
        """The links with the wrenches that they need, base to tip."""
        return self._balance[0]

    @property
    def on_base(self) -> tuple[SX, SX]:
        """Moment about the origin of the base and force that links, couplings, loops and contacts exert on it, in its
        axes."""
        return self._balance[1]

    def at(self, value: SX, t: SX, q: SX, qd: SX, qdd: SX, push: SX | None = None, multipliers: SX | None = None) -> SX:
        """An expression of these symbols at other ones; raises `UnsupportedModel` if it depends on forces that are not
        given."""
        given = [(self.push, push, "commanded couplings"), (self.multipliers, multipliers, "closed loops")]
        for symbol, known, what in given:
            if known is None and symbol.shape[0] and ca.depends_on(value, symbol):
                raise UnsupportedModel(f"forces inside links, as a sensor feels them: not built yet for {what}")
        old = [self.t, self.q, self.qd, self.qdd, *(symbol for symbol, known, _ in given if known is not None)]
        new = [t, q, qd, qdd, *(known for _, known, _ in given if known is not None)]
        return ca.substitute(value, ca.vertcat(*old), ca.vertcat(*new))

    @cached_property
    def _ties(self) -> list[Tie]:
        chain = self.chain
        if not (chain.lines or chain.closures or chain.contacts):
            return []
        return ties(chain, self.q, self.qd, self.push, self.multipliers)

    @cached_property
    def _balance(self) -> tuple[list[Carried], tuple[SX, SX]]:
        """The wrenches that every link needs, summed from tip to base, and what they do to the base."""
        found: list[Carried] = []
        at_base = (ca.SX.zeros(3), ca.SX.zeros(3))
        handed = Arrivals(self.chain, (ca.SX.zeros(3), ca.SX.zeros(3)))
        motions = outward_motion(self.chain, self.q, self.qd, self.qdd)
        for place, motion in reversed(list(enumerate(motions))):
            here = handed.at(place)
            n, f, _ = link_wrench(motion, here)
            n_load, f_load = self._applied(place, 0.0, None, ca.SX.zeros(3), whole=True)
            n, f = n - n_load, f - f_load
            found.append(Carried(motion, here, (n, f)))
            R = motion.link.joint.rotation(motion.q)
            n, f = R.apply(n), R.apply(f)
            wrench = shift_wrench(n, f, motion.link.joint.position(motion.q)), f
            handed.add(place, wrench)
            if motion.link.parent is None:
                at_base = at_base[0] + wrench[0], at_base[1] + wrench[1]
        n, f = (-x for x in (handed.at(0)[0] if self.chain.first else at_base))
        base = 0 if self.chain.first else None
        for n_own, f_own in (self._tied(tie, base) for tie in self._ties if tie.link == base):
            n, f = n + n_own, f + f_own
        return found[::-1], (n, f)

    def rotation(self, place: int) -> SX:
        """(3, 3) from link axes to base axes."""
        return placements(self.chain, self.q)[place].R

    def _applied(
        self, place: int, low: float, high: float | None, about: SX, whole: bool = False
    ) -> tuple[SX, SX]:  # fmt: skip
        """Moment about a point and force of the loads from a section outwards, up to another one, in link axes; loads
        on the frame of the link do not act on the beam and count for the `whole` link only."""
        n, f = ca.SX.zeros(3), ca.SX.zeros(3)
        link = self.chain.links[place]
        for load in self.loads:
            if not hasattr(load, "points"):
                raise UnsupportedModel(
                    f"loads: {type(load).__name__} does not say where it acts; use Wrench or Distributed to see inside"
                )
            for point in load.points(self.chain, self.t, self.q, self.qd, (place, low, high)):
                if point.eta is None:
                    n, f = (n + point.n - ca.cross(about, point.f), f + point.f) if whole else (n, f)
                    continue
                r = link.body.tip(c := self.chain.body(link, self.q), ca.SX.zeros(c.shape)).p
                r = r if point.eta == 1.0 else link.body.point(c, point.eta)[0]
                n, f = n + point.n + ca.cross(r - about, point.f), f + point.f
        for tie in self._ties:
            beyond = whole if tie.eta is None else low <= tie.eta and (high is None or tie.eta < high)
            if tie.link == place and beyond:
                n_own, f_own = self._tied(tie, place)
                n, f = n + n_own - ca.cross(about, f_own), f + f_own
        return n, f

    def _tied(self, tie: Tie, place: int | None) -> tuple[SX, SX]:
        """Moment about the origin of a link, or of what stands still, and force of a tie, in its axes."""
        if place is None:
            return tie.n + ca.cross(tie.point, tie.f), tie.f
        link = placements(self.chain, self.q)[place]
        f = ca.mtimes(link.R.T, tie.f)
        return ca.mtimes(link.R.T, tie.n) + ca.cross(ca.mtimes(link.R.T, tie.point - link.p), f), f

    def section(self, place: int, eta: float) -> tuple[SX, SX]:
        """Force and moment of the outer part on the inner part at a section, in its axes."""
        return self.sections(place, [eta])[0]

    def sections(self, place: int, etas: Sequence[float], points: int | None = None) -> list[tuple[SX, SX]]:
        """Force and moment at several sections, in any order; the balance is summed once, from the tip inwards.

        `points` of quadrature between two sections; exact for the shapes by default.
        """
        carried, link = self.carried[place], self.chain.links[place]
        motion, c = carried.motion, self.chain.body(link, self.q)
        n, f = carried.at_ports[0]
        if link.load is not None:
            n_own, f_own, _ = body_wrench(link.load, ca.SX(0, 1), *motion.at(0))
            n, f = n + n_own, f + f_own
        n, f = motion.tip.R.apply(n), motion.tip.R.apply(f)
        found, about, order = [], motion.tip.p, sorted(range(len(etas)), key=lambda k: etas[k])
        stretches = list(pairwise([*sorted(etas), 1.0]))
        rules = [station_rule(link, low, high, points) for low, high in stretches]
        r, forces, moments = self._inertia(link, motion, rules)
        ends = [*(high for _, high in stretches[:-1]), None]  # what is at the tip itself is beyond the last one alone
        for (low, _), high, rule in zip(reversed(stretches), reversed(ends), reversed(rules)):
            here, _ = link.body.point(c, low)
            n, f = shift_wrench(n, f, about - here), f
            if count := len(rule.eta):
                own, r = r[:, -count:], r[:, :-count]
                pull, forces, spin, moments = (
                    forces[:, -count:], forces[:, :-count], moments[:, -count:], moments[:, :-count]
                )  # fmt: skip
                n = n + ca.sum2(spin + ca.cross(own - ca.repmat(here, 1, count), pull, 1))
                f = f + ca.sum2(pull)
            n_load, f_load = self._applied(place, low, high, here)
            n_hung, f_hung = self._hanging(carried, low, high, here)
            n, f = n - n_load + n_hung, f - f_load + f_hung
            R, about = section_axes(link, c, low), here
            found.append((-ca.mtimes(R.T, f), -ca.mtimes(R.T, n)))
        return [wrench for _, wrench in sorted(zip(order, found[::-1]), key=lambda pair: pair[0])]

    @staticmethod
    def _hanging(carried: Carried, low: float, high: float | None, about: SX) -> tuple[SX, SX]:
        """Moment about a point and force on the links that hang from a section outwards, up to another one, in link
        axes; a link on the root does not act on the beam."""
        n, f = ca.SX.zeros(3), ca.SX.zeros(3)
        for number, place in enumerate(carried.motion.link.places, 1):
            if (
                number in carried.at_ports
                and place.eta is not None
                and low <= place.eta
                and (high is None or place.eta < high)
            ):
                port = carried.motion.ports[number].map
                n_own, f_own = (port.R.apply(x) for x in carried.at_ports[number])
                n, f = n + shift_wrench(n_own, f_own, port.p - about), f + f_own
        return n, f

    def _inertia(self, link: ChainLink, motion: Motion, rules: Sequence[Rule]) -> tuple[SX, SX, SX]:
        """(3, P) places of the points of quadrature, and the force and moment at each of them that accelerate the beam
        and carry its weight."""
        data = section_data(link)
        eta, weight = (np.concatenate([rule[k] for rule in rules]).tolist() for k in range(2))
        if not eta:
            return (ca.SX(3, 0),) * 3
        names = ("mass_per_length", "polar_inertia", "rotary_y", "rotary_z")
        rows = [
            ca.horzcat(*(data.at(name, x) * w * data.length for x, w in zip(eta, weight)))
            for name in names
        ]  # fmt: skip
        places = [link.body.mass_point(self.chain.body(link, self.q), x) for x in eta]
        both = ca.vertcat(ca.horzcat(*(r for r, _ in places)), ca.horzcat(*(ca.SX(theta) for _, theta in places)))
        first, second = (ca.reshape(x, both.shape) for x in self._rates(ca.vec(both)))
        (r, _), (rd, thetad), (rdd, thetadd) = (ca.vertsplit(x, 3) for x in (both, first, second))
        count = len(eta)
        a, omega, alpha = (ca.repmat(x, 1, count) for x in (motion.a, motion.omega, motion.alpha))
        E, mass, inertia = euler_matrix(motion.omega, motion.alpha), ca.repmat(rows[0], 3, 1), ca.vertcat(*rows[1:])
        force = mass * (a + ca.mtimes(E, r) + 2 * ca.cross(omega, rd, 1) + rdd)
        body = link.body
        if isinstance(body, StiffenedBeam) and (turning := body.sections) is not None:
            c = self.chain.body(link, self.q)
            cd, cdd = (self.chain.body_rate(link, x) for x in (self.qd, self.qdd))
            at = [turning.torque(x, body.section(x, c, cd), (cd, cdd), motion.omega, motion.alpha) for x in eta]
            return r, force, ca.horzcat(*(w * data.length * torque for w, torque in zip(weight, at)))
        spin = inertia * (alpha + thetadd) + ca.cross(omega, inertia * (omega + thetad), 1)
        return r, force, spin

    def _rates(self, value: SX) -> tuple[SX, SX]:
        """First and second time derivative along the motion."""
        rate = self.chain.rates(self.q, self.qd)
        first = ca.jtimes(value, self.q, rate)
        return first, ca.jtimes(first, self.q, rate) + ca.jtimes(first, self.qd, self.qdd)

    def stretches(self, place: int, eta: float) -> Stretches:
        """Extension and curvatures at a section."""
        return self._stretches(self.chain.links[place], eta, *self.section(place, eta))

    def all_stretches(self, place: int, etas: Sequence[float], points: int | None = None) -> list[Stretches]:
        """Extension and curvatures at several sections."""
        link = self.chain.links[place]
        return [self._stretches(link, eta, *wrench) for eta, wrench in zip(etas, self.sections(place, etas, points))]

    @staticmethod
    def _stretches(link: ChainLink, eta: float, force: SX, moment: SX) -> Stretches:
        """Forces over stiffnesses; a stiffness that is not given does not yield."""
        data = section_data(link)
        stiff = [data.at(name, eta) for name in ("EA", "GJ", "EI_y", "EI_z")]
        wrench = (force[0], twisting(data, force, moment), moment[1], moment[2])
        found = [ca.SX(0) if is_zero(k) else x / k for x, k in zip(wrench, stiff)]
        return Stretches(found[0], ca.vertcat(*found[1:]))


def twisting(data: BeamData, force: SX, moment: SX) -> SX:
    """Torque about the shear center of a section, from force and moment about its centroid."""
    e_y, e_z = data.shear_center
    return moment[0] - e_y * force[2] + e_z * force[1]


def section_data(link: ChainLink) -> BeamData:
    """Properties of the sections of a flexible link; raises `UnsupportedModel` for links without sections."""
    require_sections(link.fact)
    assert link.body.data is not None
    return link.body.data
