"""A link as [KS09] sees it: rotation E A, shapes at the next origin, and the integrals B1...B9 of the Gibbs function.

The Gibbs function of a link (13) is a polynomial in the accelerations whose coefficients are the mass integrals
(14)-(22). With `~` the skew matrix of a vector, a~^T b~ = (a.b) 1 - b a^T, every one is read off the body's `Moments`:

    B_2 = (int rd)~                                     B_3 = (int r)~
    B_8 = int r~^T rd~ = tr(P) 1 - P^T                  B_9 = int r~^T r~ = tr(D) 1 - D
    alpha_j = int r x r_j = axial(H_j^T)                beta_j = int r~^T r_j~ = tr(H_j) 1 - H_j^T
    sum_k deltad_k c_jk = int r_j x rd = axial(N_j)     sC_jk = int r_j . r_k

and B_1 = eps deltadd, B_6 = alpha deltadd, while B_4, B_5, B_7 are needed only by their derivatives sC, c, beta (44).
For shapes linear in the amplitudes the moments are the sums (23)-(33) over the constants (34)-(42).

Notes
-----
Beyond the paper, in its own quantities:

* A tip load belongs to the map of its link: it joins eps, alpha, beta, sC as any other mass of the link does.
* A map that is not linear (a load on a turning tip, stiffening, sliding) accelerates at zero second derivatives; the
  integrals of that acceleration are `S_beta`, `T_beta`, `Q_beta` and join S (96), T (97) and Q (102).
* The origin of the next frame may stand off the tip by E d: r_kt is taken there, r_kt(l) + theta_kt x E d.
* A joint that slides is a shape of the link before it: theta = 0, r = E A z, no mass of its own. The base is link 0.
* On a tree a link has several next origins, each with its own r, r_kt, theta_kt; phi and chi become sums over them.
* The tip turns by W deltad, not by thetad, so that rotations need not be small; both agree where one axis turns.
* Rotary inertia of the sections adds `spin` to alpha, and -(spin deltad)~/2 to B_8 so that T gains omega x spin deltad.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi as ca

from pliant.algebra.rotations import SX, Identity, Rotation, axial, compose, skew
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.maps.link_maps import Moments, TipMap


@dataclass(frozen=True)
class Integrals:
    """Integrals of one link in its own axes, for `m` deflection variables.

    `eps` (3, m) of (34), `alpha` (3, m) of (32), `sC` (m, m) of (37); `beta` of (33) and `c` = sum_k deltad_k c_jk of
    (38) have one entry a variable.
    """

    M: SX
    B_2: SX
    B_3: SX
    B_8: SX
    B_9: SX
    eps: SX
    alpha: SX
    beta: tuple[SX, ...]
    c: tuple[SX, ...]
    sC: SX
    S_beta: SX
    T_beta: SX
    Q_beta: SX


@dataclass(frozen=True)
class NextOrigin:
    """Where link i carries another one, in the axes of link i.

    `r` runs from O_i to O_{i+1} (60), `r_modes` and `theta_modes` (3, m) are r_kt and theta_kt there, `rd` and `thetad`
    linear and angular velocity of the frame there in link i, (61) and (64); `r_beta`, `theta_beta` are its relative
    accelerations at zero second derivatives. The last link of a branch has one at its tip, which carries nothing.
    """

    r: SX
    r_modes: SX
    theta_modes: SX
    rd: SX
    thetad: SX
    r_beta: SX
    theta_beta: SX


@dataclass(frozen=True)
class GibbsAppellLink:
    """Link i: `R` is i-1_R_i = E_{i-1} A_i (4), `joints` are indices and axes of its angles, `indices` those of its
    deflection variables.

    `carriage` is the link that carries it, and which of its next origins: (0, 0) is the base's first. `rate` are the
    rates of the deflection variables, `drift` the angular acceleration that the rates of several angles give alone.
    """

    carriage: tuple[int, int]
    joints: tuple[tuple[int, SX], ...]
    drift: SX
    R: Rotation
    indices: tuple[int, ...]
    rate: SX
    next: tuple[NextOrigin, ...]
    integrals: Integrals

    @property
    def joint(self) -> int | None:
        """Index of its only angle."""
        return self.joints[0][0] if self.joints else None

    @property
    def z(self) -> SX:
        """Axis of its only angle."""
        return self.joints[0][1]

    @property
    def r(self) -> SX:
        """Way to its only next origin."""
        return self.next[0].r

    @property
    def r_modes(self) -> SX:
        """Displacements (3, m) of its only next origin."""
        return self.next[0].r_modes

    @property
    def theta_modes(self) -> SX:
        """Rotations (3, m) of its only next origin."""
        return self.next[0].theta_modes

    def second(self, qdd: SX) -> SX:
        """(m,) second derivatives of the deflection variables."""
        return qdd[list(self.indices)] if self.indices else ca.SX(0, 1)


def links_of(chain: Chain, q: SX, qd: SX) -> list[GibbsAppellLink]:
    """Links 0 (the base) to n, so that an index is the paper's."""
    carried: list[list[ChainLink]] = [[] for _ in range(len(chain.links) + 1)]
    carriages = []
    for link in chain.links:
        carrier = 0 if link.parent is None else link.parent + 1
        carriages.append((carrier, len(carried[carrier])))
        carried[carrier].append(link)
    ports = [_ports(chain, link, q, qd) for link in (None, *chain.links)]
    links = [_link(chain, None, carried[0], ports[0], (0, 0), Identity(), q, qd)]
    for number, (link, carriage) in enumerate(zip(chain.links, carriages), 1):
        E = ports[carriage[0]][link.port].R
        R = compose(compose(E, link.joint.origin_rotation), link.joint.turn(chain.joint(link, q)))  # Step 1
        links.append(_link(chain, link, carried[number], ports[number], carriage, R, q, qd))
    return links


def _link(
    chain: Chain, link: ChainLink | None, carried: list[ChainLink], ports: list[TipMap], carriage: tuple[int, int],
    R: Rotation, q: SX, qd: SX,
) -> GibbsAppellLink:  # fmt: skip
    """Link number i from its body, its joint, and the slides of the joints beyond it; None for the base."""
    cd = chain.body_rate(link, qd) if link is not None else ca.SX(0, 1)
    body = _moments(chain, link, ports[0], q, qd)
    indices, rate = link.body_indices if link is not None else (), cd
    for following in carried:
        for k in following.joint.linear:
            indices = (*indices, following.joint_indices[k])
            rate = ca.vertcat(rate, chain.joint_rate(following, qd)[k])
            body = _with_massless_shape(body)
    joints, drift = _angles(chain, link, q, qd)
    return GibbsAppellLink(
        carriage=carriage, joints=joints, drift=drift, R=R, indices=indices, rate=rate,
        next=tuple(_next_origins(chain, carried, ports, cd, rate, q, qd)), integrals=_integrals(body, rate),
    )  # fmt: skip


def _angles(chain: Chain, link: ChainLink | None, q: SX, qd: SX) -> tuple[tuple[tuple[int, SX], ...], SX]:
    """Indices and axes, in link axes, of the angles of a joint, and their drift."""
    if link is None:
        return (), ca.SX(3, 1)
    angle = chain.joint(link, q)
    drift, _ = link.joint.drift(angle, chain.joint_rate(link, qd))
    found = zip(link.joint_indices, link.joint.columns(angle))
    return tuple((index, turn) for k, (index, (turn, _)) in enumerate(found) if k not in link.joint.linear), drift


def _next_origins(
    chain: Chain, carried: list[ChainLink], ports: list[TipMap], cd: SX, rate: SX, q: SX, qd: SX
) -> Iterator[NextOrigin]:
    """Origins of the links that one carries; without any, the one at its tip."""
    done = cd.shape[0]
    if not carried:
        yield _at(ports[0], ca.SX(3, 1), [], done, cd, rate)
    for following in carried:
        port, joint, own = ports[following.port], following.joint, chain.joint(following, q)
        slides = [port.R.apply(direction) for direction in joint.directions(own)]  # E A z
        origin = _at(port, port.R.apply(joint.position(own)), slides, done, cd, rate)
        if joint.kind == "free":
            swing = joint.swing(own, chain.joint_rate(following, qd))
            origin = replace(origin, r_beta=origin.r_beta + port.R.apply(swing))
        done += len(slides)
        yield origin


def _at(port: TipMap, offset: SX, slides: list[SX], done: int, cd: SX, rate: SX) -> NextOrigin:
    """The origin that stands off a port; `slides` are variables from number `done` on."""
    w, Omega = ca.mtimes(port.W, cd), _rotation_rate(port, cd)
    r_modes = port.J - ca.mtimes(skew(offset), port.W)
    r_beta = port.v_beta + ca.mtimes(Omega, offset)
    theta_modes = port.W
    if slides:
        r_beta = r_beta + sum(2 * ca.cross(w, slide * rate[done + k]) for k, slide in enumerate(slides))
    others = rate.shape[0] - cd.shape[0]
    if others:
        before, behind = ca.SX(3, done - cd.shape[0]), ca.SX(3, rate.shape[0] - done - len(slides))
        r_modes, theta_modes = ca.horzcat(r_modes, before, *slides, behind), ca.horzcat(theta_modes, ca.SX(3, others))
    return NextOrigin(
        r=port.p + offset,
        r_modes=r_modes,
        theta_modes=theta_modes,
        rd=ca.mtimes(r_modes, rate),
        thetad=ca.mtimes(theta_modes, rate),
        r_beta=r_beta,
        theta_beta=port.w_beta,
    )


def _integrals(body: Moments, rate: SX) -> Integrals:
    """B_2...B_9 and the modal sums from the moments, (14)-(33)."""
    one = ca.SX.eye(3)
    spin = ca.mtimes(body.spin, rate)
    return Integrals(
        M=body.m,
        B_2=skew(ca.mtimes(body.eps, rate)),  # (24)
        B_3=skew(body.s),  # (25)
        B_8=ca.trace(body.P) * one - body.P.T - skew(spin) / 2,  # (30)
        B_9=ca.trace(body.D) * one - body.D,  # (31)
        eps=body.eps,
        alpha=body.coupling(),  # (32)
        beta=tuple(ca.trace(H) * one - H.T for H in body.H),  # (33)
        c=tuple(axial(N) for N in body.N),
        sC=body.gram,
        S_beta=body.f_beta, T_beta=axial(body.X_beta), Q_beta=body.b_beta,
    )  # fmt: skip


def _ports(chain: Chain, link: ChainLink | None, q: SX, qd: SX) -> list[TipMap]:
    """Places at which others hang on a link; None for the base."""
    if link is None:
        none = ca.SX(3, 0)
        return [TipMap(Identity(), ca.SX(3, 1), none, none, ca.SX(3, 1), ca.SX(3, 1))]
    return link.ports(chain.body(link, q), chain.body_rate(link, qd))


def _moments(chain: Chain, link: ChainLink | None, tip: TipMap, q: SX, qd: SX) -> Moments:
    """Moments of body, hub and load about the link's origin."""
    if link is None:
        return Moments(ca.SX(1, 1), ca.SX(3, 1), ca.SX(3, 3))
    cd = chain.body_rate(link, qd)
    body = link.body.moments(chain.body(link, q), cd)
    body = body.added(link.hub) if link.hub is not None else body
    return loaded(body, link.load, tip, cd) if link.load is not None else body


def loaded(body: Moments, load: Moments, tip: TipMap, cd: SX) -> Moments:
    """The body with a load on its tip frame: points r = p + rho, r_j = J_j + W_j x rho, with rho = E rho_load."""
    m, p, s, D = load.m, tip.p, tip.R.apply(load.s), tip.R.congruence(load.D)
    w, pd, Omega = ca.mtimes(tip.W, cd), ca.mtimes(tip.J, cd), _rotation_rate(tip, cd)
    J, W = ([A[:, j] for j in range(A.shape[1])] for A in (tip.J, tip.W))
    eps = m * tip.J - ca.mtimes(skew(s), tip.W)
    H = [
        ca.mtimes(p, eps[:, j].T) + ca.mtimes(s, J[j].T) - ca.mtimes(D, skew(W[j])) for j in range(len(J))
    ]  # int r r_j^T
    inertia = ca.trace(D) * ca.SX.eye(3) - D
    lever = ca.mtimes([tip.J.T, skew(s), tip.W])
    gram = m * ca.mtimes(tip.J.T, tip.J) - lever - lever.T + ca.mtimes([tip.W.T, inertia, tip.W])
    momentum, spread = m * pd + ca.cross(w, s), ca.mtimes(pd, s.T) + ca.mtimes(skew(w), D)
    f_beta = m * tip.v_beta + ca.mtimes(Omega, s)
    X_tip = ca.mtimes(tip.v_beta, s.T) + ca.mtimes(Omega, D)  # int beta rho^T
    H_total = [own + added for own, added in zip(body.H, H, strict=True)]
    return Moments(
        m=body.m + m, s=body.s + m * p + s,
        D=body.D + m * ca.mtimes(p, p.T) + ca.mtimes(p, s.T) + ca.mtimes(s, p.T) + D,
        eps=body.eps + eps, H=H_total, gram=body.gram + gram, spin=body.spin,
        N=[own + ca.mtimes(momentum, J[j].T) - ca.mtimes(spread, skew(W[j])) for j, own in enumerate(body.N)],
        P=body.P + sum(H[j] * cd[j] for j in range(len(H))),
        f_beta=body.f_beta + f_beta, X_beta=body.X_beta + ca.mtimes(f_beta, p.T) + X_tip,
        b_beta=body.b_beta + ca.mtimes(tip.J.T, f_beta) + ca.mtimes(tip.W.T, axial(X_tip)),
    )  # fmt: skip


def _rotation_rate(tip: TipMap, cd: SX) -> SX:
    """Omega with rhodd = Omega rho for a vector fixed to the distal frame, at zero second derivatives."""
    w = skew(ca.mtimes(tip.W, cd))
    return ca.mtimes(w, w) + skew(tip.w_beta)


def _with_massless_shape(body: Moments) -> Moments:
    """One more deflection variable that moves no mass of the link itself."""
    none, empty = ca.SX(3, 1), ca.SX(3, 3)
    return Moments(
        m=body.m, s=body.s, D=body.D, eps=ca.horzcat(body.eps, none), H=(*body.H, empty),
        gram=ca.diagcat(body.gram, ca.SX(1, 1)), spin=ca.horzcat(body.spin, none), N=(*body.N, empty), P=body.P,
        f_beta=body.f_beta, X_beta=body.X_beta, b_beta=ca.vertcat(body.b_beta, ca.SX(1, 1)),
    )  # fmt: skip
