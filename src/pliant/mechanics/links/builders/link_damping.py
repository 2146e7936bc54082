"""Damping of links by a ratio, when a chain is built: see `modal_damping` for the matrix.

It is made of the numbers of the nominal arm: of a link with its root held, and with all that lies `beyond` its tip
lumped there. A beam in pieces is damped as one link, across its pieces, by a `Damper`: its pieces themselves are left
with the damping of their strain alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from pliant.algebra.inertia import Inertia
from pliant.algebra.rotations import SX
from pliant.errors import UnsupportedModel
from pliant.mechanics.actuation.modal_damping import length_damping, modal_damping, shared_damping, slowest_rate
from pliant.mechanics.links.builders.build_links import LinkSource
from pliant.mechanics.links.builders.link_geometry import beam_data
from pliant.mechanics.links.chain import Chain, ChainLink, Damper
from pliant.mechanics.links.clamped_link import held, vibrations
from pliant.mechanics.links.maps.linear_body import LinearBody
from pliant.mechanics.links.maps.link_maps import Body, LinearBeam, is_zero
from pliant.mechanics.links.maps.stiffened_body import StiffenedBody
from pliant.mechanics.links.maps.stiffening import StiffenedBeam
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_shapes import FixedShapes
from pliant.robot.parts.beam import beam_properties
from pliant.robot.symbolic_view import RobotView


def damped_link(link: ChainLink, source: LinkSource, beyond: Inertia) -> ChainLink:
    """The link with the damping of its ratio."""
    if source.piece.count > 1:
        link = replace(link, body=_without_shared_damping(link.body))
    if source.shapes is not None:
        return replace(link, body=_damped_beam(link.body, source, beyond))
    imported = source.view.body
    if imported is None or not link.flexible or is_zero(imported.damping):
        return link
    return replace(link, body=_damped_body(link.body, beyond))


def _damped_beam(body: Body, source: LinkSource, beyond: Inertia) -> Body:
    """A beam with shapes, with the damping of its ratio; a piece as it is."""
    given, nominal, piece = source.view.shapes, source.nominal, source.piece
    assert given is not None
    assert nominal.shapes is not None
    assert source.shapes is not None
    grows = not is_zero(given.damping_per_amplitude)
    if grows and (isinstance(body, SlidingBeam) or piece.count > 1 or nominal.shapes.tip_load == "track"):
        raise UnsupportedModel(
            f"links.{nominal.name}.shapes.damping_per_amplitude: not built for beams that slide, are in pieces, or "
            "whose shapes follow their load (track); leave it out"
        )
    if piece.count > 1 or (is_zero(given.damping) and not grows):
        return body
    data = beam_data(nominal)
    if isinstance(body, SlidingBeam):
        fixed = isinstance(body.functions, FixedShapes)
        return replace(body, damped=length_damping(replace(body, data=data), beyond)) if fixed else body
    plain = LinearBeam(data, source.shapes, source.shapes.integrals_for(beam_properties(nominal.beam)), "exact")
    (C,) = modal_damping(plain, beyond, plain.rest)
    slowest = slowest_rate(plain, beyond, plain.rest) if grows else 1.0
    if isinstance(body, StiffenedBeam):
        return replace(body, inner=replace(body.inner, damped=C, slowest=slowest))
    assert isinstance(body, LinearBeam)
    return replace(body, damped=C, slowest=slowest)


def _damped_body(body: Body, beyond: Inertia) -> Body:
    """A body from a file with the damping of its ratio."""
    if isinstance(body, StiffenedBody):
        linear = _damped_body(body.linear, beyond)
        assert isinstance(linear, LinearBody)
        return replace(body, linear=linear)
    assert isinstance(body, LinearBody)
    return replace(body, damped=modal_damping(body, beyond, body.rest)[0])


# ---------------------------------------------------------------------------------------------------------- pieces


def _without_shared_damping(body: Body) -> Body:
    """A piece without the damping that acts across all pieces of its link: that of the ratio and that of the mass."""
    inner = body.inner if isinstance(body, StiffenedBeam) else body
    if not isinstance(inner, LinearBeam):
        return body
    inner = replace(inner, data=replace(inner.data, damping=0.0, rayleigh=(0.0, inner.data.rayleigh[1])))
    return replace(body, inner=inner) if isinstance(body, StiffenedBeam) else inner


def dampers(chain: Chain, view: RobotView, beyond: Sequence[Inertia]) -> Iterator[Damper]:
    """Damping by a ratio, and by the mass, of links in pieces: of all pieces as one."""
    for i, (link, piece) in enumerate(zip(view.links, view.pieces)):
        if piece.number > 1 or piece.count == 1 or link.shapes is None:
            continue
        zeta, alpha = link.shapes.damping, link.shapes.rayleigh[0]
        if is_zero(zeta) and is_zero(alpha):
            continue
        last = i + piece.count - 1
        places = range(chain.first + i, chain.first + last + 1)
        alone = held(chain, places)
        D = alpha * vibrations(alone)[1]
        if not is_zero(zeta):
            D = D + 2 * zeta * _ratio_damping(alone, beyond[last], view)
        own = [index for place in places for index in chain.links[place].body_indices]
        yield Damper(tuple(own), D)


def _ratio_damping(alone: Chain, beyond: Inertia, view: RobotView) -> SX:
    """(k, k) damping of the ratio one of a link whose root is held, with the nominal numbers of all parameters."""
    symbols, values = ([pair[k] for pair in view.nominal] for k in range(2))
    K, M, _ = vibrations(alone, beyond)
    numbers = ca.Function("link", symbols, [K, M]).call(values)
    return ca.sparsify(ca.DM(shared_damping(*(np.array(x) for x in numbers))))
