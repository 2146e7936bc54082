"""Inertia of a body to first order in its amplitudes and their rates, for dual screws [CE21] (97)-(108)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from pliant.algebra.dual import Dual, axial, columns, cross, expand, trace
from pliant.algebra.rotations import SX
from pliant.mechanics.formulations.dual_screw_kinematics import Screws
from pliant.mechanics.links.chain import ChainLink
from pliant.mechanics.links.link_maps import Moments


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
