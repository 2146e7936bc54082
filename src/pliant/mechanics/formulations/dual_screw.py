"""Kane's method on dual screws, linear in all elastic states at each step [CE21] sections IV-D and V.

Partial velocities are the columns of the projecting matrices P-check, velocities those of the Jacobian form P-hat;
wrenches of inertia and gravity are projected on the former. Orders kept are those of section V: M is affine in the
amplitudes, the generalized forces hold terms up to first order in amplitudes and their rates taken together.

Two routes lead to the same equations. `matrices` is the paper's: P-hat, dP-hat/dt by the operators (76)-(79), M, C, K
of (112) and the dual gravity wrenches (123) of `gravity_forces`. `inertial_forces` is the economical one: (dP-hat/dt) u
and gravity travel outwards as one dual acceleration, so that C is never formed.

Notes
-----
The integrals over a beam (106), (112) are closed: a section's screws are U-hat of the link frame's screws plus its own
shape values, so M, C and tau need only the dual moments of the body (`DualBody`). The sections' rotary inertia follows
the energy that all formulations share, J(wd + thetadd) + w x J(w + thetad) on the frame and J(wd + thetadd) on the
section. The paper's (104) has thetad x J(w + thetad) + J(w x thetad) besides on the frame, and projects the gyroscopic
moment on the section too, although its J does not turn with the section. Printed (105) moreover lacks the lower wedge
before J-hat and I-hat before n-hat.
A matrix M that is linear in the amplitudes may lose its definiteness when they are large: see `smallest_eigenvalue`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from pliant.algebra.dual import Dual, axial, columns, cross, expand, project, skew, trace
from pliant.algebra.inertia import symmetric
from pliant.algebra.rotations import SX
from pliant.errors import ModelError
from pliant.mechanics.formulations.dual_screw_kinematics import (
    PlacedScrews,
    Screws,
    accelerations,
    base_vector,
    derivative,
    station_shape,
    walk,
)
from pliant.mechanics.formulations.generalized_forces import strain_energy
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import Moments
from pliant.options import AxesName


def mass_matrix(chain: Chain, q: SX) -> SX:
    """(n, n) inertia matrix M = sum P-check^T D-hat P-check of (112), affine in the amplitudes."""
    M = ca.SX(chain.n, chain.n)
    for placed, body, link in inertias(chain, q, ca.SX.zeros(chain.n)):
        frame = list(placed.indices)
        M[frame, frame] += symmetric(_projected(placed.P, body.times(placed.P)))
        if link is not None and link.flexible:
            own, block = list(link.body_indices), _projected(placed.P, body.coupling)
            M[own, own] += body.gram
            M[frame, own] += block
            M[own, frame] += block.T
    return ca.densify(M)


def inertial_forces(chain: Chain, q: SX, qd: SX) -> SX:
    """(n,) velocity and gravity terms C u - tau_g of (111), (109)."""
    h = ca.SX.zeros(chain.n)
    motions = accelerations(chain, q, qd)
    for (placed, body, link), (omega, alpha, a) in zip(inertias(chain, q, qd), motions, strict=True):
        W = skew(omega)
        wrench = body.wrench(alpha, a, skew(alpha) + W @ W, W + W).turned_with(omega, body)
        h[:] += generalized(chain, placed, link, wrench)
    return ca.densify(h)


def matrices(chain: Chain, q: SX, qd: SX) -> tuple[SX, SX, SX]:
    """M, C and K of M u-dot + C u + K q = tau, (111), (112), for a base at rest.

    Rotors, dampers and friction are not in them; gravity is in tau, see `gravity_forces`.
    """
    K = ca.jacobian(ca.gradient(strain_energy(chain, q), q), q)
    return mass_matrix(chain, q), coriolis_matrix(chain, q, qd), ca.densify(K)


def coriolis_matrix(chain: Chain, q: SX, qd: SX) -> SX:
    """(n, n) centrifugal and Coriolis matrix C of (112), with C u to first order in amplitudes and rates."""
    C = ca.SX(chain.n, chain.n)
    for placed, body, link in inertias(chain, q, qd):
        P, u = placed.jacobian_form(), placed.rates(qd)
        P_dot, omega = derivative(P, u), P.omega @ u
        W = skew(omega)
        for k, index in enumerate(placed.indices):
            alpha, W_k = P_dot.omega[:, k], skew(P.omega[:, k])
            a = P_dot.v[:, k] + W @ P.v[:, k]
            C[:, index] += generalized(chain, placed, link, body.wrench(alpha, a, skew(alpha) + W @ W_k, W_k))
        if link is not None and link.flexible:
            C[:, list(link.body_indices)] += _amplitude_columns(chain, placed, link, q, omega)
    return ca.densify(C)


def _amplitude_columns(chain: Chain, placed: PlacedScrews, link: ChainLink, q: SX, omega: Dual) -> SX:
    """(n, k) columns of the link's own amplitudes: forces of omega x rd per unit rate, the part W-hat^I of (108)."""
    cd, zero = ca.SX.sym("cd", len(link.body_indices)), Dual.of(ca.SX(3, 1))
    body = dual_body(link, chain.body(link, q), cd)
    wrench = body.wrench(zero, zero, skew(zero), skew(omega)).turned_with(omega, body)
    return ca.jacobian(generalized(chain, placed, link, wrench), cd)


def gravity_forces(chain: Chain, q: SX) -> SX:
    """(n,) generalized forces of the dual gravity wrenches (123), (124): the first part of tau in (109)."""
    tau = ca.SX.zeros(chain.n)
    bearing = (
        g
        for link, pair in zip(chain.links, base_vector(chain, q, chain.gravity))
        for g, present in zip(pair, (True, link.load is not None))
        if present
    )
    for (placed, body, link), g in zip(inertias(chain, q, ca.SX.zeros(chain.n)), bearing, strict=True):
        tau[:] += generalized(chain, placed, link, ScrewWrench(cross(body.s, g), g * body.m, body.eps.T @ g))
    return ca.densify(tau)


def external_forces(
    chain: Chain,
    q: SX,
    link: str,
    eta: float,
    force: SX,
    moment: SX,
    axes: AxesName = "base",
) -> SX:
    """(n,) generalized forces P-check^T Pi-hat w of a dual wrench at station `eta` = x / length of a link, (85), (109).

    `axes` says in which frame `force` and `moment` (3,) are given and stay fixed: the base, the link frame, or the
    section that bends away.
    """
    names = [other.name for other in chain.links]
    if link not in names:
        raise ModelError(f"link: got {link!r}, expected one of {', '.join(names)}")
    at = names.index(link)
    frames = list(walk(chain, q))[at]
    shape = station_shape(frames.link.body, chain.body(frames.link, q), eta)
    P = frames.root.P.referred(shape.p)
    indices = [*frames.root.indices, *frames.link.body_indices]
    if frames.link.flexible:
        P = P.followed_by(shape.screws(chain.rotation == "exact"))
    f, n = (_in_link_axes(chain, q, at, ca.SX(x), axes, shape.theta) for x in (force, moment))
    tau = ca.SX.zeros(chain.n)
    tau[indices] += project(P.omega, n) + project(P.v, f)
    return ca.densify(tau)


def _in_link_axes(chain: Chain, q: SX, at: int, x: SX, axes: str, theta: SX) -> Dual:
    """A load of order zero in link axes: the transformation makes its dual part."""
    if axes == "base":
        return list(base_vector(chain, q, x))[at][0]
    if axes not in ("link", "section"):
        raise ModelError(f"axes: got {axes!r}, expected 'base', 'link' or 'section'")
    return Dual(x, ca.cross(theta, x)) if axes == "section" else Dual.of(x)


def smallest_eigenvalue(M: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smallest eigenvalue of inertia matrices (..., n, n): at or below zero the linearized model has left its range."""
    return np.asarray(np.linalg.eigvalsh(M)[..., 0])


def inertias(chain: Chain, q: SX, qd: SX) -> Iterator[tuple[PlacedScrews, DualBody, ChainLink | None]]:
    """All bodies, base to tip: frame, dual moments, and the link whose amplitudes move them (None for a tip load)."""
    for frames in walk(chain, q):
        link = frames.link
        yield frames.root, dual_body(link, chain.body(link, q), chain.body_rate(link, qd)), link
        if link.load is not None:
            yield frames.tip, rigid_body(link.load), None


def generalized(chain: Chain, placed: PlacedScrews, link: ChainLink | None, wrench: ScrewWrench) -> SX:
    """(n,) P-check^T of a wrench, and its part on the link's own amplitudes, to first order."""
    out = ca.SX(chain.n, 1)
    if placed.indices:
        out[list(placed.indices)] = _projected(placed.P, Screws(wrench.moment, wrench.force))
    if link is not None and link.flexible:
        out[list(link.body_indices)] = wrench.modal.value
    return out


def _projected(P: Screws, w: Screws) -> SX:
    """P-check^T of moments and forces: the swap Pi-hat of (102) is the pairing of omega with moment."""
    return project(P.omega, w.omega) + project(P.v, w.v)


@dataclass(frozen=True)
class ScrewWrench:
    """Dual moment and force at a frame, (80), and the forces on the amplitudes of the body itself."""

    moment: Dual
    force: Dual
    modal: Dual

    def turned_with(self, omega: Dual, body: DualBody) -> ScrewWrench:
        """Add the moment omega x J thetad of sections that turn against the frame."""
        spin_rate = Dual.first_order(ca.mtimes(body.spin, body.cd))
        return ScrewWrench(self.moment + cross(omega, spin_rate), self.force, self.modal)


@dataclass(frozen=True)
class DualBody:
    """Moments of a body about its frame to first order (symbols as in `Moments`), and its rates `cd`."""

    m: SX
    s: Dual
    D: Dual
    eps: Dual
    H: tuple[Dual, ...]
    gram: SX
    spin: SX
    N: tuple[Dual, ...]
    P: Dual
    cd: SX

    @property
    def coupling(self) -> Screws:
        """(3, k) and (3, k): moment and force per unit acceleration of each amplitude."""
        return Screws(columns([axial(H.T) for H in self.H], 3) + self.spin, self.eps)

    def times(self, X: Screws) -> Screws:
        """D-hat X of (102), (107), integrated over the body: moments and forces of accelerations at its frame."""
        inertia = Dual(*(ca.trace(D) * ca.SX.eye(3) - D for D in (self.D.real, self.D.dual)))
        return Screws(inertia @ X.omega + cross(self.s, X.v), X.v * self.m - cross(self.s, X.omega))

    def wrench(self, alpha: Dual, a: Dual, E: Dual, B: Dual) -> ScrewWrench:
        """The bracket of (110), integrated: points accelerate by a + E r + B rd, sections by alpha."""
        s_rate = Dual.first_order(ca.mtimes(self.eps.real, self.cd))
        moment = cross(self.s, a) + axial(E @ self.D) + axial(B @ self.P.T)
        force = a * self.m + E @ self.s + B @ s_rate
        modal = [
            self.eps[:, j].T @ a + trace(E @ H) + Dual.of(self.spin[:, j].T) @ alpha + trace(B @ N)
            for j, (H, N) in enumerate(zip(self.H, self.N, strict=True))
        ]
        return ScrewWrench(moment, force, columns(modal, 1).T)


def dual_body(link: ChainLink, c: SX, cd: SX) -> DualBody:
    """Moments of a link's body, with the hub fixed to its frame, expanded about c = 0, cd = 0."""
    k = c.shape[0]
    z, zd = ca.SX.sym("c", k), ca.SX.sym("cd", k)
    body = link.body.moments(z, zd)
    if link.hub is not None:
        body = body.added(link.hub)

    def first(expression: SX) -> Dual:
        return expand(ca.SX(expression), ca.vertcat(z, zd), ca.vertcat(c, cd))

    return DualBody(
        m=body.m, s=first(body.s), D=first(body.D), eps=first(body.eps), H=tuple(first(H) for H in body.H),
        gram=first(body.gram).real, spin=first(body.spin).real, N=tuple(first(N) for N in body.N), P=first(body.P),
        cd=cd,
    )  # fmt: skip


def rigid_body(body: Moments) -> DualBody:
    """Moments of a lump, which have no first-order part."""
    return DualBody(
        m=body.m, s=Dual.of(body.s), D=Dual.of(ca.sparsify(body.D)), eps=columns([], 3), H=(), gram=ca.SX(0, 0),
        spin=ca.SX(3, 0), N=(), P=Dual.of(ca.SX(3, 3)), cd=ca.SX(0, 1),
    )  # fmt: skip
