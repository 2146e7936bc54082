"""Independent derivations: positions of material points only, no velocities, no moments, no recursion.

M = sum_k m_k J_k^T J_k over quadrature points of every beam (and six points of every lump), with J the derivative of
the position in the base.

`oracle` takes positions from the chain and differentiates them in CasADi: Christoffel symbols give the velocity terms,
the gradient of the weight gives gravity. Joints without quaternions only.

`by_differences` shares nothing with the library but shape functions and names: positions in NumPy, rotations by SciPy,
derivatives by differences of eighth order along the motion at constant speeds, on which a free joint follows a screw.
Along it the second difference of a position is its acceleration at rest of the speeds, a_k, so that
bias = sum_k m_k J_k^T (a_k - g) + stiffness + friction, without a derivative of M and without a quaternion's rate.

Rotations are exact. Sections of a beam may have rotary inertia in `by_differences` alone, by points off the axis; the
library keeps that of a bent beam to first order in the bending, so that the two agree where the beam is straight.
"""

from __future__ import annotations

import itertools
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from pliant.mechanics.links.chain import Chain
from pliant.mechanics.links.kinematics import placements
from pliant.robot import Link, Robot
from pliant.robot.parts.beam import beam_properties

FIRST = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
"""Weights of f(k h) - f(-k h), over h, in a first derivative of eighth order."""
SECOND = {0: -205 / 144, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
"""Weights of f(k h) + f(-k h), over h^2, in a second one."""
STEP = 0.008
"""s: ten roundings over its square leave 1e-10 m/s^2; terms of tenth order, at the rates of the tests, leave less."""
RULE = np.polynomial.legendre.leggauss(10)
Array = np.ndarray


def material_points(robot: Robot, chain: Chain, q: ca.SX) -> list[tuple[float, ca.SX]]:
    """(mass, position in the base) of everything that has mass."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    found: list[tuple[float, ca.SX]] = []
    for place, link in zip(placements(chain, q), robot.links):
        found += [(m, place.p + place.R @ r) for m, r in lump_points(link.joint.hub)]
        if link.beam is not None:
            b = beam_properties(link.beam)
            breaks = np.linspace(0, 1, 1 + (link.shapes.count if link.shapes is not None and link.shapes.count else 1))
            for left, right in itertools.pairwise(breaks):
                for node, weight in zip(nodes, weights):
                    eta = (left + right) / 2 + (right - left) / 2 * node
                    r, _ = place.link.body.mass_point(chain.body(place.link, q), float(eta))
                    found.append((b.mass_per_length * b.length * weight * (right - left) / 2, place.p + place.R @ r))
        else:
            body = link.rigid
            found += [(m, place.p + place.R @ r) for m, r in _inertia_points(body.mass, body.com, body.inertia)]
        found += [(m, place.p_tip + place.R_tip @ r) for m, r in lump_points(link.tip)]
        for payload in robot.carried(robot.links.index(link)):
            found += [(m, place.p_tip + place.R_tip @ r) for m, r in lump_points(payload)]
    return found


def lump_points(lump: object) -> list[tuple[float, ca.DM]]:
    """Six points with the mass, center and (diagonal) inertia of a lump."""
    return _inertia_points(lump.mass, lump.com, lump.inertia) if lump.mass else []  # type: ignore[attr-defined]


def _inertia_points(mass: float, com: tuple[float, ...], inertia: tuple[float, ...]) -> list[tuple[float, ca.DM]]:
    I = np.asarray(inertia, dtype=float)
    D = I.sum() / 2 - I  # int x^2, int y^2, int z^2
    assert (D >= -1e-12).all()
    offsets = np.sqrt(np.maximum(D, 0.0) * 3 / mass)
    points = []
    for k in range(3):
        for sign in (1.0, -1.0):
            r = np.array(com, dtype=float)
            r[k] += sign * offsets[k]
            points.append((mass / 6, ca.DM(r)))
    return points


def oracle(robot: Robot, chain: Chain) -> ca.Function:
    """(q, qd) -> mass matrix, inertial forces, kinetic energy."""
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    M, V = ca.SX.zeros(chain.n, chain.n), ca.SX(0)
    for m, r in material_points(robot, chain, q):
        J = ca.jacobian(r, q)
        M += m * J.T @ J
        V -= m * ca.dot(chain.gravity, r)
    T = qd.T @ M @ qd / 2
    h = ca.jtimes(M @ qd, q, qd) - ca.gradient(T, q) + ca.gradient(V, q)
    return ca.Function("oracle", [q, qd], [M, h, T])


# ------------------------------------------------------------------------------ nothing but positions


def by_differences(robot: Robot, chain: Chain, q: Array, speeds: Array) -> tuple[Array, Array]:
    """Mass matrix and bias, of a robot without drives and damped beams, to some 1e-10 of their largest entries."""
    bodies = Bodies(robot, chain)
    h = STEP
    J = np.array([
        sum(w * (bodies.moved(q, unit, k * h) - bodies.moved(q, unit, -k * h)) for k, w in FIRST.items()) / h
        for unit in np.eye(chain.n)
    ])  # fmt: skip
    a = sum(w * (bodies.moved(q, speeds, k * h) + bodies.moved(q, speeds, -k * h)) for k, w in SECOND.items()) / h**2
    M = np.einsum("ikx,jkx,k->ij", J, J, bodies.masses)
    bias = np.einsum("ikx,kx,k->i", J, a - np.array(robot.gravity), bodies.masses)
    return M, bias + bodies.springs(q) + bodies.friction(speeds)


class Bodies:
    """All material points of a robot, by its description, and where they are. Rotations are (3, 3) matrices."""

    def __init__(self, robot: Robot, chain: Chain) -> None:
        self.robot, self.chain = robot, chain
        self.at = {name: k for k, name in enumerate(chain.coordinates)}
        shapes = {link.name: link.body.shapes for link in chain.links}
        self.beams = {
            link.name: Slices(link, shapes[link.name], robot) for link in robot.links if link.beam is not None
        }
        self.masses = np.concatenate([mass for mass, _ in self._points(chain.rest())])

    def moved(self, q: Array, speeds: Array, t: float) -> Array:
        """Positions (points, 3) after a time `t` at constant speeds."""
        out, path = q.copy(), dict(zip(self.chain.speeds, speeds * t))
        for name, k in self.at.items():
            out[k] += path.get(name, 0.0)
            ball, _, last = name.rpartition(".")
            if last == "qw":
                turn, here = np.array([path[f"{ball}.{x}"] for x in ("wx", "wy", "wz")]), self._turn(q, ball)
                x, y, z, w = Rotation.from_matrix(here @ _turned(turn)).as_quat()
                out[k : k + 4] = w, x, y, z
                if f"{ball}.vx" in path:
                    out[k - 3 : k] = q[k - 3 : k] + here @ _screw(turn) @ [
                        path[f"{ball}.{v}"] for v in ("vx", "vy", "vz")
                    ]
        return np.concatenate([positions for _, positions in self._points(out)])

    def _points(self, q: Array) -> list[tuple[Array, Array]]:
        """(masses, positions) body by body."""
        robot, found = self.robot, []

        def add(R: Array, p: Array, points: list[tuple[float, Any]]) -> None:
            if points:
                offsets = np.array([np.ravel(r) for _, r in points], dtype=float)
                found.append((np.array([m for m, _ in points]), p + offsets @ R.T))

        places: dict[tuple[str, Any], tuple[Array, Array]] = {("base", "tip"): (np.eye(3), np.zeros(3))}
        if robot.base.is_free:
            R, p = places["base", "tip"] = self._turn(q, "base"), self._of(q, "base", "xyz")
            add(R, p, _inertia_points(robot.base.mass, robot.base.com, robot.base.inertia))
        for k, link in enumerate(robot.links):
            assert link.joint.dh is None
            R, p = places[link.parent or (robot.links[k - 1].name if k else "base"), link.at]
            p, R = p + R @ link.joint.origin.xyz, R @ _angles(link.joint.origin.rpy)
            R, p = places[link.name, "root"] = self._across(link, q, R, p)
            add(R, p, lump_points(link.joint.hub))
            if link.beam is None:
                add(R, p, _inertia_points(link.rigid.mass, link.rigid.com, link.rigid.inertia))
                places[link.name, "tip"] = R @ _angles(link.rigid.tip_rpy), p + R @ link.rigid.tip
            else:
                slices = self.beams[link.name]
                turns, r = slices.sections(self._amplitudes(link, q))
                turns, r = R @ turns, p + r @ R.T
                places |= {(link.name, place): (turns[n], r[n]) for n, place in enumerate(slices.places)}
                first = len(slices.places)
                every = r[first:, None, :] + np.einsum("sij,soj->soi", turns[first:], slices.offsets)
                found.append((slices.masses.ravel(), every.reshape(-1, 3)))
            for load in (link.tip, *robot.carried(k)):
                add(*places[link.name, "tip"], lump_points(load))
        return found

    def _across(self, link: Link, q: Array, R: Array, p: Array) -> tuple[Array, Array]:
        """Behind a joint."""
        name, joint = link.name, link.joint
        if joint.type == "free":
            p = p + R @ self._of(q, name, "xyz")
        if joint.type in ("free", "spherical"):
            return R @ self._turn(q, name), p
        axis, (x, y, z) = joint.axis, np.eye(3)
        slides = {"prismatic": {name: axis}, "cylindrical": {f"{name}.slide": axis},
                  "planar": {f"{name}.x": x, f"{name}.y": y}}  # fmt: skip
        both = dict(zip((f"{name}.first", f"{name}.second"), (own.axis for own in joint.axes)))
        turns = {"revolute": {name: axis}, "cylindrical": {f"{name}.turn": axis}, "planar": {f"{name}.angle": z},
                 "universal": both}  # fmt: skip
        for whole, along in slides.get(joint.type, {}).items():
            p = p + q[self.at[whole]] * (R @ along)
        for whole, about in turns.get(joint.type, {}).items():
            R = R @ _turned(q[self.at[whole]] * np.array(about))
        return R, p

    def _of(self, q: Array, name: str, parts: Any) -> Array:
        return q[[self.at[f"{name}.{part}"] for part in parts]]

    def _turn(self, q: Array, name: str) -> Array:
        return Rotation.from_quat(self._of(q, name, ("qx", "qy", "qz", "qw"))).as_matrix()

    def _amplitudes(self, link: Link, q: Array) -> Array:
        return self._of(q, link.name, self.beams[link.name].names)

    def springs(self, q: Array) -> Array:
        """Forces of bent and twisted beams."""
        out = np.zeros(self.chain.n)
        for link in self.robot.links:
            if link.beam is not None:
                beam = self.beams[link.name]
                rows = [self.chain.speeds.index(f"{link.name}.{name}") for name in beam.names]
                out[rows] += beam.stiffness() @ self._amplitudes(link, q)
        return out

    def friction(self, speeds: Array) -> Array:
        """Viscous friction of the joints."""
        out = np.zeros(self.chain.n)
        for name, freedom in self.robot.freedoms.items():
            k = self.chain.speeds.index(name)
            out[k] = freedom.friction.viscous * speeds[k]
        return out


class Slices:
    """A beam in slices, at the Gauss points between its nodes, behind the places on which others hang."""

    def __init__(self, link: Link, shapes: Any, robot: Robot) -> None:
        self.b, self.shapes, self.names = beam_properties(link.beam), shapes, () if shapes is None else shapes.names
        L, count = self.b.length, 1 if link.shapes is None else link.shapes.count or 1
        nodes, weights = np.polynomial.legendre.leggauss(24)
        piece = L / count
        self.places = [
            "tip",
            *(other.at for other in robot.links if other.parent == link.name and hasattr(other.at, "x")),
        ]
        at_places = [L if place == "tip" else place.x for place in self.places]
        self.x = np.array([*at_places, *(piece * (k + (1 + x) / 2) for k in range(count) for x in nodes)])
        self.slices = np.tile(weights, count) * piece / 2
        points = [self._around(dx) for dx in self.slices]
        self.masses, self.offsets = (np.array([[x[k] for x in point] for point in points]) for k in range(2))
        self.values, self.slopes = (self._functions(order) for order in (0, 1))

    def _around(self, dx: float) -> list[tuple[float, Any]]:
        """Points of a slice: on the axis, or around it where the section has rotary inertia."""
        dm, inertia = self.b.mass_per_length * dx, [j * dx for j in (self.b.polar_inertia, *self.b.rotary)]
        points = _inertia_points(dm, (0.0, 0.0, 0.0), inertia) if self.b.rotary[0] else [(dm, np.zeros(3))]
        return [(m, np.ravel(r)) for m, r in points]

    def _functions(self, order: int) -> dict[str, Array]:
        """(stations, amplitudes) of displacements and twist, or of their derivatives in x."""
        L, none = self.b.length, np.zeros((len(self.x), len(self.names)))
        if self.shapes is None:
            return dict.fromkeys(("bending_y", "bending_z", "torsion", "axial"), none)
        psi = self.shapes.evaluate(self.x / L, order) * L ** (np.array(self.shapes.powers, dtype=float) - order)
        fields = np.array(self.shapes.fields)
        return {field: psi * (fields == field) for field in ("bending_y", "bending_z", "torsion", "axial")}

    def sections(self, c: Array) -> tuple[Array, Array]:
        """Rotations (stations, 3, 3) and places (stations, 3) in the axes of the link."""
        v, slope = ({field: psi @ c for field, psi in found.items()} for found in (self.values, self.slopes))
        turn = np.column_stack([v["torsion"], -slope["bending_z"], slope["bending_y"]])
        return _turned(turn), np.column_stack([self.x + v["axial"], v["bending_y"], v["bending_z"]])

    def stiffness(self) -> Array:
        """Of the energy 1/2 int EI v''^2 dx and its like."""
        K, first = np.zeros((len(self.names), len(self.names))), len(self.places)
        bent, stretched = self._functions(2), self._functions(1)
        for psi, modulus in (
            (bent["bending_y"], self.b.EI_z), (bent["bending_z"], self.b.EI_y),
            (stretched["torsion"], self.b.GJ), (stretched["axial"], self.b.EA),
        ):  # fmt: skip
            K += modulus * psi[first:].T @ (self.slices[:, None] * psi[first:])
        return K


def _turned(turn: Array) -> Array:
    return np.asarray(Rotation.from_rotvec(turn).as_matrix())


def _angles(rpy: Any) -> Array:
    return np.asarray(Rotation.from_euler("xyz", rpy).as_matrix())  # about fixed axes: Rz Ry Rx


def _screw(turn: Array) -> Array:
    """int_0^1 exp(s turn^) ds: a frame that turns by `turn` and moves at a constant velocity in its own axes moves by
    this times the path."""
    nodes, weights = RULE
    return np.einsum("k,kij->ij", weights / 2, _turned(np.outer((1 + nodes) / 2, turn)))
