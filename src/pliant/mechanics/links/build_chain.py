"""From the description to the chain: the only place that reads a robot.

Every number is read through a `RobotView`, so that chosen ones arrive as symbols and the rest fold into the
expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from pliant.algebra.canonical import canonical
from pliant.algebra.inertia import Inertia, zero
from pliant.algebra.rotations import SX, Identity, Rotation, compose, constant
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.actuation.friction import friction_on
from pliant.mechanics.actuation.joint_laws import (
    core,
    gear_spring,
    line_drive,
    line_laws,
    motor_map,
    pressing,
    stops,
    yielding,
)
from pliant.mechanics.actuation.modal_damping import length_damping, modal_damping, shared_damping, slowest_rate
from pliant.mechanics.formulations.motion_equations import MOST_DENSE
from pliant.mechanics.links.attachments import Place, place_map
from pliant.mechanics.links.chain import (
    Chain,
    ChainLink,
    Closure,
    ContactMap,
    Damper,
    DriveMap,
    FrameMap,
    LineMap,
    Shaft,
)
from pliant.mechanics.links.clamped_link import held, vibrations
from pliant.mechanics.links.frames import frame_of
from pliant.mechanics.links.joints import JointMap
from pliant.mechanics.links.linear_body import LinearBody
from pliant.mechanics.links.link_maps import BeamData, Body, LinearBeam, Moments, RigidMap, is_zero, lump
from pliant.mechanics.links.pose_dependent_links import with_tracked_modes
from pliant.mechanics.links.stiffened_body import StiffenedBody
from pliant.mechanics.links.stiffening import FLAT, StiffenedBeam, lift
from pliant.mechanics.links.turning_sections import SLENDER, CarriedSections, TurningSections
from pliant.mechanics.shapes.builder import link_shapes
from pliant.mechanics.shapes.integrals import FIELDS, SPINS
from pliant.mechanics.shapes.link_shapes import LinkShapes, section_profile, shear_ratio
from pliant.mechanics.shapes.quadrature import gauss_rule
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_links import sliding_beam, sliding_link
from pliant.mechanics.sliding.sliding_shapes import FixedShapes
from pliant.mechanics.sliding.sliding_stiffening import StiffenedSlidingBeam
from pliant.options import RotationName, StiffeningName
from pliant.robot.parts.angles import rotation_rpy
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.joint import Freedom, origin_transform, tip_rotation
from pliant.robot.parts.joint_types import JOINT_TYPES
from pliant.robot.parts.link import BodyFrame, Link
from pliant.robot.parts.loops import WORLD
from pliant.robot.parts.rigid_body import inertia_matrix
from pliant.robot.parts.shapes import TipLoad
from pliant.robot.pieces import BeamPiece, in_one_piece
from pliant.robot.robot import RobotDescription
from pliant.robot.symbolic_view import RobotView
from pliant.robot.tree import parents


def build_chain(
    robot: RobotDescription,
    rotation: RotationName = "exact",
    stiffening: bool | StiffeningName = False,
    symbols: Mapping[str, SX] | None = None,
    functions: Callable[[Link, TipLoad | None], LinkShapes | None] = link_shapes,
) -> Chain:
    """The chain of a robot; numbers at the paths of `symbols` become those symbols, `functions` are those of a link."""
    view = RobotView(robot, symbols or {})
    robot = view.description  # from here on that of the pieces
    beyond = _beyond_tips(robot)
    shapes = [functions(link, load) for link, load in zip(robot.links, _tip_loads(robot, beyond))]
    order = _Coordinates(robot, view.pieces, [_own_names(link, found) for link, found in zip(robot.links, shapes)])
    hanging = _Hanging(view, stiffening)
    links = [_base(view.base, robot.bodies[0], order)] if robot.base.is_free else []
    payloads, last = view.payloads, robot.links[-1].name
    carried = [[one for one in payloads if link.name == (one.link or last)] for link in robot.links]
    for i, (link, nominal) in enumerate(zip(view.links, robot.links)):
        made = _chain_link(link, nominal, view.pieces[i], shapes[i], carried[i], order, rotation, stiffening)
        if shapes[i] is not None:
            made = replace(made, body=_damped(made.body, link.shapes, nominal, view.pieces[i], beyond[i]))
        elif link.body is not None and made.flexible and not is_zero(link.body.damping):
            made = replace(made, body=_damped_body(made.body, beyond[i]))
        links.append(hanging.placed(i, made))
    gravity = ca.SX(ca.vertcat(*view.gravity))
    chain = Chain(
        tuple(links), gravity, order.coordinates, order.speeds, rotation, stiffening, _frames(view), hanging.first
    )
    chain = replace(chain, dampers=tuple(_dampers(chain, view, beyond)), closures=_closures(view, chain))
    chain = replace(chain, lines=_lines(view, chain), contacts=_contacts(view, chain))
    return with_tracked_modes(robot, chain, lambda q, place: inertias_beyond(robot, q, place)[place])


class _Coordinates:
    """Order of coordinates and speeds: the base where it is free, joints, motors, then each link's amplitudes."""

    def __init__(self, robot: RobotDescription, pieces: Sequence[BeamPiece], names: list[tuple[str, ...]]) -> None:
        coordinates = [name for body in robot.bodies for name in body.joint.coordinates(body.name)]
        speeds = [name for body in robot.bodies for name in body.joint.speeds(body.name)]
        motors = [f"{name}.motor" for name, freedom in robot.freedoms.items() if freedom.elastic]
        own = [f"{piece.label}.{name}" for piece, found in zip(pieces, names) for name in found]
        self.coordinates, self.speeds = (*coordinates, *motors, *own), (*speeds, *motors, *own)
        self.place, self.index = (
            {name: k for k, name in enumerate(names)} for names in (self.coordinates, self.speeds)
        )

    def of(self, names: Sequence[str], speeds: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Numbers of some speeds, and places of some coordinates."""
        return tuple(self.index[name] for name in speeds), tuple(self.place[name] for name in names)


def _own_names(link: Link, shapes: LinkShapes | None) -> tuple[str, ...]:
    """Of the coordinates of its body, without its name."""
    if link.body is not None:
        return link.body.reduced.names
    return () if shapes is None else shapes.names


class _Hanging:
    """Where links hang: the number of the one that carries each, and its places besides the tip."""

    def __init__(self, view: Any, stiffening: bool | StiffeningName) -> None:
        self.links, self.parents = view.links, parents(view.description.links)
        self.first = int(view.description.base.is_free)
        self.places: list[list[Any]] = [[] for _ in self.links]
        self.ports = []
        for link, parent in zip(view.description.links, self.parents):
            if parent is None or link.at == "tip":
                self.ports.append(0)
                continue
            if link.at != "root" and stiffening == "first-order":
                raise UnsupportedModel(
                    f"links.{link.name}: first-order stiffening has no stations; hang the link on the tip, or use "
                    'stiffening="second-order"'
                )
            if link.at not in self.places[parent]:
                self.places[parent].append(link.at)
            self.ports.append(1 + self.places[parent].index(link.at))

    def placed(self, i: int, link: ChainLink) -> ChainLink:
        """Link number `i` with its place in the tree."""
        own = self.links[i]
        places, root = tuple(_place(own, at) for at in self.places[i]), _place(own, "root")
        parent, first = self.parents[i], self.first
        carrier = (0 if first else None) if parent is None else first + parent
        return replace(link, parent=carrier, port=self.ports[i], places=places, root=root)


def _frames(view: Any) -> dict[str, FrameMap]:
    bodies, found = view.description.bodies, {}
    for frame in view.frames:
        names = [body.name for body in bodies]
        number = names.index(frame.link) if frame.link in names else None
        rotation, place = constant(ca.blockcat(rotation_rpy(frame.origin.rpy))), None
        if number is None:
            pass
        elif frame.at != "tip":
            first = len(bodies) - len(view.links)
            place = Place(None) if number < first else _place(view.links[number - first], frame.at)
        found[frame.name] = FrameMap(number, place, rotation, ca.SX(ca.vertcat(*frame.origin.xyz)))
    return found


def _closures(view: Any, chain: Chain) -> tuple[Closure, ...]:
    found = []
    for loop, given in zip(view.loops, view.description.loops):
        first, second = (frame_of(chain, name) for name in given.between)
        length = None if given.joint.length is None else ca.SX(loop.joint.length)
        found.append(Closure(given.name, given.joint.type, (first, second), given.joint.directions, length))
    return tuple(found)


def _lines(view: Any, chain: Chain) -> tuple[LineMap, ...]:
    found = []
    for coupling in view.couplings:
        first, second = (frame_of(chain, name) for name in coupling.between)
        laws, drive = tuple(line_laws(coupling)), line_drive(coupling)
        found.append(LineMap(coupling.name, (first, second), laws, drive, WORLD in coupling.between))
    return tuple(found)


def _contacts(view: Any, chain: Chain) -> tuple[ContactMap, ...]:
    found = []
    for contact, given in zip(view.contacts, view.description.contacts):
        first, second = (frame_of(chain, name) for name in given.between)
        law, grounded = pressing(contact, contact.exponent), WORLD in given.between
        found.append(
            ContactMap(
                given.name, (first, second), contact.radius, core(contact.surface), law, contact.friction,
                contact.stick_speed, grounded,
            )
        )  # fmt: skip
    return tuple(found)


def _place(link: Any, at: Any) -> Place:
    """A place on a link: its root, a section of its beam, a frame of its body."""
    name = getattr(at, "frame", None)
    if name is None:
        return Place(station(link, at), _turn(link, -1))
    R, _ = link.body.pose(name)
    return Place(float(link.body.reduced.frames.index(name)), constant(ca.SX(ca.DM(R))))


def station(link: Any, at: Any) -> float | None:
    """Part of the length of a beam at which a place is; None for the frame of the link itself."""
    if at == "root":
        return None
    length = ca.SX(beam_properties(link.beam).length)
    if not length.is_constant():
        raise ModelError(
            f"links.{link.name}.beam.length: cannot be a parameter while something sits at a station of the beam"
        )
    return min(float(at.x) / float(length), 1.0)


def _check_stations(view: Any) -> None:
    """Refuses a length that is a symbol of a beam on whose stations something sits."""
    links = view.description.links
    for link, parent in zip(links, parents(links)):
        if parent is not None and link.at != "tip":
            _place(view.links[parent], link.at)
    _frames(view)


def robot_shapes(robot: RobotDescription) -> list[LinkShapes | None]:
    """Shape functions of every link in one piece, with the boundary load of `tip_load: auto` taken from what lies
    beyond at its reference, q = 0 by default."""
    return [link_shapes(link, load) for link, load in zip(in_one_piece(robot).links, tip_loads(robot))]


def tip_loads(robot: RobotDescription) -> list[TipLoad | None]:
    """What shapes the functions of each link in one piece: the numbers that `tip_load: auto` stands for, None where it
    is not asked."""
    whole = in_one_piece(robot)
    return _tip_loads(whole, _beyond_tips(whole))


def _tip_loads(robot: RobotDescription, found: list[Inertia]) -> list[TipLoad | None]:
    return [_tip_load(beyond) if _is_auto(link) else None for link, beyond in zip(robot.links, found)]


def shapes_that_change(robot: RobotDescription, path: str) -> list[str]:
    """Names of the links whose shape functions depend on the number at `path`: those with a load at the tip, whose
    ratios do, and those that shear, whose ratio of shear to bending does. Raises `ModelError` for a number that cannot
    be a symbol."""
    symbol = ca.SX.sym("p")
    view = RobotView(robot, {path: symbol})
    _check_stations(view)
    changed = []
    for link, nominal, piece, beyond in zip(view.links, view.description.links, view.pieces, _beyond_tips(view)):
        if nominal.shapes is None:
            continue
        ratios = _shear_ratios(link, nominal)
        if _is_auto(nominal) or nominal.shapes.tip_load is not None:
            b, load = beam_properties(link.beam), link.shapes.tip_load
            mass, J, D = (
                (beyond.C[0, 0], ca.diag(beyond.A), beyond.B[2, 1])
                if _is_auto(nominal)
                else (load.mass, load.inertia, load.first_moment)
            )
            J = ca.vertcat(*J) if isinstance(J, tuple) else J
            per_length = b.mass_per_length * b.length
            ratios += [mass / per_length, J / per_length / b.length**2, D / per_length / b.length]
            if nominal.shapes.torsion:
                ratios.append(J / (b.polar_inertia * b.length))
        if any(ca.depends_on(ca.SX(ratio), symbol) for ratio in ratios) and piece.owner not in changed:
            changed.append(piece.owner)
    return changed


def _shear_ratios(link: Any, nominal: Any) -> list[Any]:
    """What shapes the functions of a beam that shears; modes of one also know the rotary inertia of its sections, whose
    radius follows from the section unless it is given."""
    own = beam_properties(nominal.beam)
    names = [name for name in FIELDS if name in nominal.fields and shear_ratio(name, own)]
    if not names:
        return []
    beam = beam_properties(link.beam)
    given = nominal.shapes.method != "elements" and isinstance(nominal.beam.rotary, tuple)
    turned = [j / (beam.mass_per_length * beam.length**2) for j in beam.rotary] if given else []
    return [shear_ratio(name, beam) for name in names] + turned


def _is_auto(link: Any) -> bool:
    """Whether the load beyond shapes the functions: asked for, or by default of modes on a beam of fixed length."""
    if link.shapes is None or link.shapes.boundary is None:
        return link.shapes is not None and link.shapes.method != "elements" and not link.beam.slides
    return link.shapes.tip_load in ("auto", "track")


def _beyond_tips(robot: Any) -> list[Inertia]:
    """For every link, the inertia at its tip of its tip lump and of everything beyond, at its reference; nothing where
    no link bends, since nobody asks."""
    if all(link.shapes is None and link.body is None for link in robot.links):
        return [zero()] * len(robot.links)
    found = inertias_beyond(robot)
    for i in range(len(robot.links)):
        shapes = robot.links[i].shapes
        if shapes is not None and shapes.reference is not None:
            found[i] = inertias_beyond(robot, shapes.reference, i)[i]
    return found


def inertias_beyond(robot: Any, q: Any = None, first: int = 0) -> list[Inertia]:
    """For the links from `first` on (and empty ones before), the inertia at the tip of the tip lump and of all beyond.

    In the axes of the link, in which its beam bends: a tip frame that `tip_rpy` or a standard DH row turns has others.
    Beams are straight; the moving joints stand at `q`, numbers or symbols, or all at zero.
    """
    counts = np.cumsum([0, *(len(link.joint.freedoms) for link in robot.links)]).tolist()
    found = [zero() for _ in robot.links]
    at_tip, at_frame = ([zero() for _ in robot.links] for _ in range(2))
    carriers = parents(robot.links)
    for i in reversed(range(first, len(robot.links))):
        link = robot.links[i]
        load = _moments(link.tip)
        for payload in robot.carried(i):
            load = load.added(_moments(payload))
        beyond = at_tip[i] + Inertia.rigid(load.m, load.s, load.D)
        found[i] = beyond.rotated(_end(link))
        own = None if q is None or counts[i] == counts[i + 1] else q[counts[i] : counts[i + 1]]
        before, parent = _rigid_inertia_before(link, beyond, at_frame[i], own), carriers[i]
        if parent is None:
            continue
        if link.at == "tip":
            at_tip[parent] = at_tip[parent] + before
        else:
            carrier = robot.links[parent]
            place = place_map(_held_body(carrier), _place(carrier, link.at), *_NONE)
            at_frame[parent] = at_frame[parent] + before.rotated(place.R).shifted(place.p)
    return found


_NONE = ca.SX(0, 1), ca.SX(0, 1)


def _tip_load(beyond: Inertia) -> TipLoad:
    """Mass, inertia about the tip and first moment outward along the beam."""
    A, B, m = (np.array(ca.DM(x)) for x in (beyond.A, beyond.B, beyond.C[0, 0]))
    return TipLoad(mass=float(m[0, 0]), inertia=tuple(np.diag(A).tolist()), first_moment=float(B[2, 1]))


def _rigid_inertia_before(link: Any, beyond: Inertia, beside: Inertia, q: Any = None) -> Inertia:
    """Inertia in the frame that this link hangs on of everything from it outwards, its joint at `q` or at zero;
    `beside` is what hangs on it elsewhere than at its tip, about its frame."""
    slides = link.beam is not None and link.beam.slides
    body = _held_body(link, None if q is None else q[0])
    tip = body.tip(*_NONE)
    own = body.moments(*_NONE).added(_hub(link))
    total = Inertia.rigid(own.m, own.s, own.D) + beyond.rotated(tip.R).shifted(tip.p) + beside
    joint = _joint(link, link)
    moved = joint.rest if q is None or slides or joint.is_ball else ca.SX(ca.DM(q) if isinstance(q, tuple) else q)
    return total.rotated(joint.rotation(moved)).shifted(joint.position(moved))


def _chain_link(
    link: Any,
    nominal: Any,
    piece: BeamPiece,
    shapes: LinkShapes | None,
    payloads: Sequence[Any],
    order: _Coordinates,
    rotation: RotationName,
    stiffening: bool | StiffeningName,
) -> ChainLink:
    load = _moments(link.tip)
    for payload in payloads:
        load = load.added(_moments(payload))
    body, hub, carried = _body(link, nominal, shapes, load, rotation, stiffening)
    shafts = tuple(_shaft(nominal.name, freedom, order) for freedom in link.joint.freedoms)
    own = [f"{piece.label}.{name}" for name in _own_names(nominal, shapes)]
    moving, stands = order.of(nominal.joint.coordinates(nominal.name), nominal.joint.speeds(nominal.name))
    bending, bent = order.of(own, own)
    if piece.count > 1:
        body = _undamped(body)
    made = ChainLink(
        name=piece.label,
        joint=_joint(link, nominal),
        body=body,
        hub=None if hub is None or _is_empty(hub) else hub,
        load=None if carried is None or _is_empty(carried) else carried,
        joint_indices=moving,
        body_indices=bending,
        joint_places=stands,
        body_places=bent,
        shafts=shafts,
        piece=piece,
        interfaces=_interfaces(nominal),
    )
    return sliding_link(made) if isinstance(body, SlidingBeam) else made


def _base(base: Any, nominal: Link, order: _Coordinates) -> ChainLink:
    """The body of a free base."""
    joint, name = JointMap("free", (), Identity(), ca.SX.zeros(3)), nominal.name
    moving, stands = order.of(nominal.joint.coordinates(name), nominal.joint.speeds(name))
    body = RigidMap(_moments(base), ca.SX.zeros(3))
    return ChainLink(name, joint, body, None, None, moving, (), stands, (), piece=BeamPiece(name))


def _shaft(link: str, freedom: Freedom, order: _Coordinates) -> Shaft:
    """What acts on one coordinate of a joint; `freedom` is a view."""
    name, friction, drive = freedom.name(link), freedom.friction, freedom.drive
    rotor = 0.0 if drive is None else drive.rotor_inertia * drive.gear_ratio**2
    index, place = order.index[name], order.place.get(name)
    laws = [friction_on(friction, "friction", index)]
    elastic, reversal = None, friction.coulomb_speed
    if freedom.elastic:
        at, stands = order.index[f"{name}.motor"], order.place[f"{name}.motor"]
        elastic = DriveMap(at, stands, rotor, gear_spring(drive), drive.damping)
        laws.append(friction_on(drive.friction, "motor_friction", at))
        laws += yielding(drive, (at, index), (stands, order.place[name]))
        reversal = drive.friction.coulomb_speed
    return Shaft(
        name, index, place, freedom.turns, 0.0 if elastic is not None else rotor, tuple(laws), elastic,
        motor_map(freedom), 0.0 if drive is None else 1 - drive.efficiency, reversal, not freedom.actuated,
        stops(freedom.limits, index, place),
    )  # fmt: skip


def _body(
    link: Any,
    nominal: Any,
    shapes: LinkShapes | None,
    load: Moments,
    rotation: RotationName,
    stiffening: bool | StiffeningName,
) -> tuple[Body, Moments | None, Moments | None]:
    """The body, and the hub and load that are not part of it: a rigid link takes both in."""
    hub = _hub(link)
    if nominal.body is not None:
        given = link.body
        rayleigh = (given.rayleigh[0], given.rayleigh[1])
        plain = LinearBody(given.reduced, rotation, _end(link), given.damping, rayleigh)
        if not (stiffening and plain.reduced.beyond):
            return plain, hub, load
        return StiffenedBody(plain, LinearBody(plain.reduced.lifted, rotation, plain.end_rotation)), hub, load
    if nominal.beam is not None and nominal.beam.slides:
        return _sliding_beam(link, nominal, shapes, rotation, stiffening), hub, load
    if shapes is None:
        rigid = _rigid_body(link)
        whole = rigid.inertia.added(hub).added(moved(load, rigid.tip_rotation, rigid.tip_position))
        return RigidMap(whole, rigid.tip_position, rigid.tip_rotation, rigid.root), None, None
    return _beam(link, nominal, shapes, rotation, stiffening), hub, load


def _joint(link: Any, nominal: Any) -> JointMap:
    R, p = origin_transform(link.joint)
    has_axes = not JOINT_TYPES[nominal.joint.type].is_ball
    axes, turn = [unit(freedom.axis) for freedom in nominal.joint.freedoms if has_axes], _turn(link)
    if not isinstance(turn, Identity):
        turned = (np.array(ca.DM(turn.unapply(ca.SX(ca.DM(axis))))).ravel().tolist() for axis in axes)
        axes = [unit((x, y, z)) for x, y, z in turned]
    return JointMap(nominal.joint.type, tuple(axes), compose(constant(ca.blockcat(R)), turn), ca.SX(ca.vertcat(*p)))


def _turn(link: Any, sense: int = 1) -> Rotation:
    """From the axes of a link, which are the principal ones of its section, to the frame after the joint, or back."""
    section = None if link.beam is None else link.beam.section
    return constant(ca.blockcat(rotation_rpy((0.0 if section is None else sense * section.turn, 0.0, 0.0))))


def _hub(link: Any) -> Moments:
    """Moments of the hub in the axes of the link."""
    return moved(_moments(link.joint.hub), _turn(link, -1), ca.SX(3, 1))


def _end(link: Any) -> Rotation:
    """From the tip frame of a straight link to its axes."""
    return compose(_turn(link, -1), constant(ca.blockcat(tip_rotation(link))))


def _interfaces(link: Link) -> dict[str, Place]:
    """Frames of its body beyond root and tip."""
    if link.body is None:
        return {}
    return {name: _place(link, BodyFrame(frame=name)) for name in link.body.reduced.frames[2:]}


def _held_body(link: Any, length: Any = None) -> Body:
    """The link with its body held as it is when nothing acts; a beam that slides at a free `length`."""
    if link.body is not None:
        return LinearBody(link.body.reduced.lowest(0), "exact", _end(link))
    return _rigid_body(link, length)


def _rigid_body(link: Any, length: Any = None) -> RigidMap:
    """The link with its beam, if it has one, held straight; a beam that slides at a free `length`."""
    end = _end(link)
    if link.beam is None:
        body = link.rigid
        return RigidMap(
            lump(body.mass, ca.SX(ca.vertcat(*body.com)), ca.SX(ca.blockcat(inertia_matrix(body.inertia)))),
            ca.SX(ca.vertcat(*body.tip)), end,
        )  # fmt: skip
    data = _beam_data(link)
    if link.beam.slides:
        beam = sliding_beam(link, link, data, None, "exact", end)
        return (beam if length is None else replace(beam, rest_length=length)).held()
    L, mu = data.length, data.mass_per_length * data.length
    mass, first, second, spin = _beam_integrals(link.beam)
    j = ca.vertcat(*(value * L * weight for value, weight in zip((data.polar_inertia, *data.rotary), spin)))
    D = ca.diag(ca.vertcat(mu * L * L * second, 0, 0)) + ca.sum1(j) / 2 * ca.SX.eye(3) - ca.diag(j)
    ex = ca.SX(ca.DM([1, 0, 0]))
    root = ca.SX(ca.vertcat(*data.offset))
    inertia = Moments(mu * mass, ex * (mu * L * first), ca.densify(D)).shifted(root, ca.SX(0, 1))
    return RigidMap(inertia, root + ex * L, end, root)


def _beam_integrals(beam: Any) -> tuple[float, float, float, tuple[float, ...]]:
    """int g, int g eta, int g eta^2 of the mass profile and the means of the rotary profiles: 1, 1/2, 1/3 if
    uniform."""
    profile = section_profile(beam_properties(beam))
    eta, w = gauss_rule(profile.breaks)
    g = w * profile("mass_per_length", eta)
    mass, first, second = canonical([g.sum(), g @ eta, g @ eta**2]).tolist()
    return mass, first, second, tuple(canonical([w @ profile(name, eta) for name in SPINS]).tolist())


def _beam_data(link: Any) -> BeamData:
    b = beam_properties(link.beam)
    zeta, growth, alpha, beta = 0.0, 0.0, 0.0, 0.0
    if link.shapes is not None:
        zeta, growth = link.shapes.damping, link.shapes.damping_per_amplitude
        alpha, beta = (link.shapes.rayleigh[k] for k in range(2))
        beta = beta + link.shapes.kelvin_voigt  # stress E (strain + time strain rate) damps by time times stiffness
    return BeamData(
        b.length, b.mass_per_length, b.EI_y, b.EI_z, b.GJ, b.EA, b.polar_inertia, tuple(b.rotary), zeta, growth,
        (alpha, beta), section_profile(b), b.shear_centre, (link.joint.offset, *b.offset), b.GA_y, b.GA_z,
    )  # fmt: skip


def _beam(
    link: Any, nominal: Any, shapes: LinkShapes, rotation: RotationName, stiffening: bool | StiffeningName
) -> Body:
    """The flexible body."""
    if nominal.shapes.boundary == "pinned" and not isinstance(_turn(link), Identity):
        raise UnsupportedModel(
            f"links.{nominal.name}: pinned shapes bend in the plane that the joint turns, and the principal axes of "
            "this section are turned from it; use boundary: clamped-free"
        )
    end, properties, data = _end(link), beam_properties(link.beam), _beam_data(link)
    integrals = shapes.integrals_for(properties)
    if not stiffening:
        return LinearBeam(data, shapes, integrals, rotation, end)
    if shapes.size > MOST_DENSE:
        raise UnsupportedModel(
            f"links.{nominal.name}.shapes: got {shapes.size} amplitudes, expected at most {MOST_DENSE} with "
            "stiffening, which couples all of them; use fewer elements, or reduce"
        )
    known = beam_properties(nominal.beam)
    flat = FLAT * (known.EI_y + known.EI_z) > known.GJ
    lifted, integrals, axis, forms = lift(shapes, integrals, section_profile(properties), stiffening, flat)
    sections = None
    if stiffening != "first-order":
        if flat and nominal.shapes.torsion:
            sections = TurningSections.of(data, shapes)
        elif _carries_sections(known, shapes):
            sections = CarriedSections.of(data, shapes)
    return StiffenedBeam(LinearBeam(data, lifted, integrals, rotation, end), shapes, axis, forms, sections)


def _carries_sections(beam: Any, shapes: LinkShapes) -> bool:
    """Whether sections turn with their rotary inertia: where it is given, does not vanish beside the link's own, and
    the sections turn in space."""
    largest = max(beam.polar_inertia, *beam.rotary)
    turning = shapes.integrals.turn.any(axis=0).sum()
    return any(beam.rotary) and turning > 1 and largest > SLENDER * beam.mass_per_length * beam.length**2


def _damped(body: Body, given: Any, nominal: Any, piece: BeamPiece, beyond: Inertia) -> Body:
    """The body with the damping of its ratio, which is made of nominal numbers; of links in pieces see `_dampers`."""
    grows = not is_zero(given.damping_per_amplitude)
    if grows and (isinstance(body, SlidingBeam) or piece.count > 1 or nominal.shapes.tip_load == "track"):
        raise UnsupportedModel(
            f"links.{nominal.name}.shapes.damping_per_amplitude: not built for beams that slide, are in pieces, or "
            "whose shapes follow their load (track); leave it out"
        )
    if piece.count > 1 or (is_zero(given.damping) and not grows):
        return body
    shapes: Any = body.shapes
    data = _beam_data(nominal)
    if isinstance(body, SlidingBeam):
        fixed = isinstance(body.functions, FixedShapes)
        return replace(body, damped=length_damping(replace(body, data=data), beyond)) if fixed else body
    plain = LinearBeam(data, shapes, shapes.integrals_for(beam_properties(nominal.beam)), "exact")
    (C,) = modal_damping(plain, beyond, plain.rest)
    slowest = slowest_rate(plain, beyond, plain.rest) if grows else 1.0
    if isinstance(body, StiffenedBeam):
        return replace(body, inner=replace(body.inner, damped=C, slowest=slowest))
    assert isinstance(body, LinearBeam)
    return replace(body, damped=C, slowest=slowest)


def _damped_body(body: Any, beyond: Inertia) -> Any:
    """A body from a file with the damping of its ratio."""
    if isinstance(body, StiffenedBody):
        return replace(body, linear=_damped_body(body.linear, beyond))
    return replace(body, damped=modal_damping(body, beyond, body.rest)[0])


def _undamped(body: Body) -> Body:
    """A piece without the damping that acts across all pieces of its link: that of the ratio and that of the mass."""
    inner = body.inner if isinstance(body, StiffenedBeam) else body
    if not isinstance(inner, LinearBeam):
        return body
    inner = replace(inner, data=replace(inner.data, damping=0.0, rayleigh=(0.0, inner.data.rayleigh[1])))
    return replace(body, inner=inner) if isinstance(body, StiffenedBeam) else inner


def _dampers(chain: Chain, view: Any, beyond: list[Inertia]) -> Iterator[Damper]:
    """Damping by a ratio, and by the mass, of links in pieces: of all pieces as one."""
    symbols, values = ([pair[k] for pair in view.nominal] for k in range(2))
    for i, (link, piece) in enumerate(zip(view.links, view.pieces)):
        if piece.number > 1 or piece.count == 1 or link.shapes is None:
            continue
        zeta, alpha = link.shapes.damping, link.shapes.rayleigh[0]
        if is_zero(zeta) and is_zero(alpha):
            continue
        last = i + piece.count - 1
        alone = held(chain, range(chain.first + i, chain.first + last + 1))
        D = alpha * vibrations(alone)[1]
        if not is_zero(zeta):
            numbers = ca.Function("link", symbols, vibrations(alone, beyond[last])[:2]).call(values)
            D = D + 2 * zeta * ca.sparsify(ca.DM(shared_damping(*(np.array(x) for x in numbers))))
        own = [index for k in range(i, last + 1) for index in chain.links[chain.first + k].body_indices]
        yield Damper(tuple(own), D)


def _sliding_beam(
    link: Any, nominal: Any, shapes: LinkShapes | None, rotation: RotationName, stiffening: bool | StiffeningName
) -> SlidingBeam:
    if stiffening == "first-order" and shapes is not None:
        raise UnsupportedModel(
            f'links.{nominal.name}: a beam that slides has no "first-order" stiffening; use "second-order"'
        )
    kind = StiffenedSlidingBeam if stiffening and shapes is not None else SlidingBeam
    end = _end(link)
    return sliding_beam(link, nominal, _beam_data(link), shapes, rotation, end, kind)


def _moments(body: Any) -> Moments:
    """Moments of a hub, a tip or the payload about its frame."""
    return lump(body.mass, ca.SX(ca.vertcat(*body.com)), ca.SX(ca.blockcat(inertia_matrix(body.inertia))))


def _is_empty(body: Moments) -> bool:
    return bool(ca.SX(body.m).is_zero() and body.D.is_zero())


def moved(body: Moments, R: Rotation, p: SX) -> Moments:
    """A rigid lump of a frame at pose `R`, `p`, seen from the frame that the pose is given in."""
    s = R.apply(body.s)
    D = R.congruence(body.D) + ca.mtimes(p, s.T) + ca.mtimes(s, p.T) + body.m * ca.mtimes(p, p.T)
    return Moments(body.m, s + body.m * p, ca.densify(D))


def unit(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    """The axis of length one, with components within 1e-12 of 0 and 1 made exact."""
    a = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    a[np.abs(a) < 1e-12] = 0.0
    a[np.abs(np.abs(a) - 1.0) < 1e-12] = np.sign(a[np.abs(np.abs(a) - 1.0) < 1e-12])
    return float(a[0]), float(a[1]), float(a[2])
