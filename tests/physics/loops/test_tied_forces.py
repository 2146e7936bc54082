"""Forces inside links that couplings, loops and contacts join: by statics, by loads in their place, and by joints that
carry nothing about their axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from coupled_arms import PIVOT, boom, crane, lift_length, strung
from linkages import FOUR_BAR, bar, four_bar, passive, slider_crank
from pliant.loads import Wrench
from pliant.mechanics.links.section_forces import InternalForces
from pliant.robot import Beam, Contact, Joint, Link, Loop, LoopJoint, Origin, RigidBody, Robot, Shapes
from pliant.robot.parts.frames import Frame

G = 9.81


def hung(x: float = 0.6, EI: float = 1e8) -> Robot:
    """A beam of 1 m on a pin, hung on a spring at a part of its length, which holds it level."""
    beam = Beam(length=1.0, mass_per_length=3.0, EI_y=EI, EI_z=EI)
    arm = Link(name="arm", joint=Joint(axis=(0, -1, 0), actuated=False), beam=beam, shapes=Shapes(bending_z=2))
    frames = [
        Frame(name="hook", link="base", origin=Origin(xyz=(x, 0, 0.5))),
        Frame(name="eye", link="arm", x=x),
    ]
    pull = 3.0 * G / 2 / x
    string = {
        "name": "string",
        "between": ["hook", "eye"],
        "spring": {"stiffness": 1e3, "length": 0.5, "preload": pull},
    }
    return Robot(name="hung", links=[arm], frames=frames, couplings=[string], gravity=(0, 0, -G))


def test_a_beam_on_a_string_carries_what_statics_says() -> None:
    """Outside the string the weight of what is beyond; inside, less the lever of the pull; nothing at the pin."""
    x, weight = 0.6, 3.0 * G
    run = pliant.simulate(hung(x).model(), 1e-3, equilibrium=True, output_step=1e-3)
    pull = weight / 2 / x
    assert -run["string.force"][0] == pytest.approx(pull, rel=1e-9)
    for at in (0.0, 0.25, 0.59, 0.61, 0.8):
        outer = weight * (1 - at)
        moment, shear = outer * (1 - at) / 2, outer  # about y, and downwards on what is inside
        if at < x:
            moment, shear = moment - pull * (x - at), shear - pull
        found = run.internal("arm", at)
        assert found.moment_y[0] == pytest.approx(moment, abs=1e-7 * weight)
        assert -found.shear_z[0] == pytest.approx(shear, abs=1e-7 * weight)
    pin, base = run.reaction("arm"), run.reaction("base")
    np.testing.assert_allclose(pin.force[0], [0, 0, weight - pull], atol=1e-7 * weight)
    np.testing.assert_allclose(pin.moment[0], 0.0, atol=1e-7 * weight)
    np.testing.assert_allclose(base.force[0], [0, 0, -weight], atol=1e-9 * weight)  # hook and pin together
    np.testing.assert_allclose(base.moment[0], [0, weight / 2, 0], atol=1e-7 * weight)
    assert run.strain("arm", 0.5, at=(0.0, 0.01))[0] == pytest.approx(0.01 * run.internal("arm", 0.5).moment_y[0] / 1e8)


@pytest.mark.slow
def test_couplings_are_loads_that_act_where_they_are() -> None:
    """A spring with its damper, a cable and a commanded force in motion, against wrenches of the same size."""
    model = strung().model()
    start = {"upper": 0.3, "fore": -0.4, "upper.bending_y.1": 0.01}
    run = pliant.simulate(
        model, 0.1, start, qd0={"upper": 1.0, "fore": -2.0}, torque=[3.0, -2.0, 25.0], output_step=0.05
    )
    bare = model.robot.model_copy(update={"couplings": ()}).model()
    where = {"post": "post", "mid": "mid", "tip": "tip", "fore.tip": "fore.tip"}
    for row in (0, 2):
        q, loads = run.q[row], []
        for coupling in model.robot.couplings:
            a, b = (model.pose(q, frame=where[name])[:3, 3] for name in coupling.between)
            push = run[f"{coupling.name}.force"][row] * (b - a) / np.linalg.norm(b - a)
            for name, sign in zip(coupling.between, (-1, 1)):
                if name != "post":
                    loads.append(Wrench(force=sign * push, frame=name))
        own = run.history.rows(slice(row, row + 1))
        other = replace(own, model=bare, push=np.zeros((1, 0)), loads=loads)
        for link, x in (("upper", 0.0), ("upper", 0.39), ("upper", 0.41), ("fore", 0.0), ("fore", 0.5)):
            for found, expected in zip(own.internal(link, x), other.internal(link, x)):
                np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(own.reaction("fore").moment, other.reaction("fore").moment, atol=1e-9)


def bent_four_bar() -> Robot:
    beam = Beam(length=FOUR_BAR["coupler"], mass_per_length=0.5, EI_y=8.0, EI_z=5.0)
    links = list(four_bar().links)
    links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=2))
    return four_bar(links=links)


def spatial() -> Robot:
    ball = Link(name="rod", joint=Joint(type="spherical", actuated=False), rigid=bar("x", 0.5).rigid)
    follower = bar("follower", 0.4, passive(axis=(0, 1, 0), origin=Origin(xyz=(0.3, 0.4, 0))), parent="base")
    pin = Loop(name="pin", between=("rod.tip", "follower.tip"), joint=LoopJoint(type="spherical"))
    return Robot(name="spatial", links=[bar("crank", 0.15), ball, follower], loops=[pin], gravity=(0, -2, -9))


def on_a_rope() -> Robot:
    """Two rods, the tip of the outer one on a massless rod to the base."""
    rope = Loop(name="rope", between=("base", "outer.tip"), joint=LoopJoint(type="distance", length=0.55))
    links = [bar("inner", 0.4, Joint(axis=(0, 0, 1))), bar("outer", 0.3, passive(axis=(0, 1, 0)))]
    return Robot(name="roped", links=links, loops=[rope], gravity=(0, -2, -9))


def pressed() -> Robot:
    """A rod that slides on a slope and rubs."""
    wall = Frame(name="wall", link="base", origin=Origin(xyz=(0.3, -0.13, 0.0), rpy=(-1.4, 0.2, 0.0)))
    touch = Contact(name="touch", radius=0.03, surface={"frame": "wall"}, stiffness=1e5, friction=0.3, stick_speed=0.1)
    return Robot(name="pressed", links=[bar("crank", 0.2), bar("rod", 0.3, passive())], frames=[wall],
                 contacts=[touch], gravity=(0, -9.81, 0))  # fmt: skip


CASES = {
    "four-bar": (bent_four_bar, {"crank": 0.7}, {"crank": 5.0}, [0.8]),
    "slider-crank": (slider_crank, {"crank": 0.7}, {"crank": 5.0}, [0.8]),
    "spatial": (spatial, None, {"crank": 4.0}, [0.3]),
    "rope": (on_a_rope, {"inner": 0.2}, {"inner": 1.0}, [0.4]),
    "crane": (crane, {"boom": 0.4, "jib": -0.5}, None, [0.3, -0.2]),
}


@pytest.mark.parametrize("name", CASES)
def test_joints_carry_about_their_axes_what_drives_them(name: str) -> None:
    """Their torque, nothing where they are passive; and the base, with all that stands on it, the momentum."""
    make, q0, qd0, torque = CASES[name]
    model = make().model()
    run = pliant.simulate(model, 0.05, q0, qd0, torque=torque, rtol=1e-10, atol=1e-12, output_step=0.025)
    size = np.abs(run.multipliers).max(initial=0.0) + max((np.abs(run[f"{c.name}.force"]).max()
                                                            for c in model.robot.couplings), default=0.0)  # fmt: skip
    assert size > 1.0
    for link in model.robot.links:
        found, axis = run.reaction(link.name), np.array(link.joint.axis)
        driven = run.tau[:, model.joints.index(link.name)] if link.name in model.joints else np.zeros(len(run))
        carried = found.moment if link.joint.type == "spherical" else found.moment @ axis - driven
        np.testing.assert_allclose(carried, 0.0, atol=1e-8 * size)


def test_a_contact_pushes_where_it_touches() -> None:
    model = pressed().model()
    run = pliant.simulate(model, 0.05, {"crank": 0.3, "rod": -0.9}, {"crank": -2.0}, output_step=0.01)
    assert run["touch.force"].max() > 1.0
    np.testing.assert_allclose(run.reaction("rod").moment[:, 2], 0.0, atol=1e-9 * run["touch.force"].max())


def test_a_pin_that_shares_a_weight() -> None:
    """A rod on two pins at rest: each carries half of it, and the strut below is pressed by that and its own."""
    rod = [bar("rod", 1.0), bar("strut", 0.6, passive(origin=Origin(xyz=(1.0, -0.6, 0))), parent="base")]
    pin = Loop(name="pin", between=("rod.tip", "strut.tip"), joint=LoopJoint(type="spherical"))
    model = Robot(name="held", links=rod, loops=[pin], gravity=(0, -G, 0)).model()
    run = pliant.simulate(model, 1e-4, np.array([0.0, np.pi / 2]), output_step=1e-4)
    np.testing.assert_allclose(run.reaction("rod").force[0], [0, 4.0 * G / 2, 0], atol=1e-6)
    np.testing.assert_allclose(run.reaction("strut", "base").force[0], [0, (4.0 / 2 + 2.4) * G, 0], atol=1e-6)
    np.testing.assert_allclose(run.reaction("base").force[0], [0, -6.4 * G, 0], atol=1e-6)


def test_a_cylinder_and_its_pin_carry_the_boom() -> None:
    """The pin takes what the push of the cylinder leaves of the weight."""
    run = pliant.simulate(boom().model(), 1e-3, {"boom": 0.4}, equilibrium=True, output_step=1e-3, method="rodas5p")
    angle, weight = 0.4, 150.0 * G
    L, slope = lift_length(angle)
    lever = 1.3 * np.cos(angle) - 0.1 * np.sin(angle)
    push = weight * lever / slope
    eye = np.array([np.cos(angle) * 1.0 + np.sin(angle) * 0.1, np.sin(angle) * 1.0 - np.cos(angle) * 0.1])
    force = push * (eye - PIVOT) / L
    np.testing.assert_allclose(run.reaction("boom", "base").force[0], [-force[0], 0, weight - force[1]], rtol=1e-6,
                               atol=1e-6 * weight)  # fmt: skip
    np.testing.assert_allclose(run.reaction("base").force[0], [0, 0, -weight], atol=1e-6 * weight)


@pytest.mark.slow
def test_beams_on_couplings_and_in_loops_are_judged() -> None:
    """The soft one is told to bend too far, and the stiff one is not; a soft rod of a four-bar too."""
    soft, stiff = (
        pliant.simulate(hung(EI=EI).model(), 0.01, equilibrium=True, output_step=0.01).validity[0] for EI in (3.0, 1e6)
    )
    assert soft.error is not None
    assert stiff.error is not None
    assert soft.error > 1e-4 > 1e-7 > stiff.error
    run = pliant.simulate(bent_four_bar().model(), 0.05, {"crank": 0.7}, {"crank": 12.0})
    assert [one.link for one in run.validity] == ["coupler"]
    assert run.validity[0].error is not None


LENGTH, PER_LENGTH = 1.2, 0.7
TIP = {
    "wrench": ([3.0, 5.0, -20.0], [1.0, 2.0, 3.0]),
    "link": ([0.0, 0.0, -1.5 * G], [1.5 * G * -0.03, 1.5 * G * 0.05, 0.0]),
    "spring": (7.0 * np.array([0.3, 0.6, -0.2]) / 0.7, [0.0, 0.0, 0.0]),
    "contact": ([0.0, 0.0, 4e4 * 2e-4], [0.0, 0.0, 0.0]),
    "loop": ([0.0, -6.0, 9.0], [0.0, 0.0, 0.0]),  # across: nothing gives way along the beam
}
"""What acts at the tip, and its force and moment by hand, about the tip."""


def ended(what: str) -> tuple[Robot, tuple[Any, ...]]:
    """A level beam with that at its tip, and its loads."""
    beam = Beam(length=LENGTH, mass_per_length=PER_LENGTH, EI_y=4e6, EI_z=3e6)
    links = [Link(name="arm", joint=Joint(axis=(0, 0, 1)), beam=beam, shapes=Shapes(bending_y=1, bending_z=1))]
    frames, more = [Frame(name="end", link="arm", x=LENGTH)], {}
    if what == "link":
        rigid = RigidBody(mass=1.5, com=(0.05, 0.03, 0.01), inertia=(0.01, 0.02, 0.02))
        links.append(Link(name="box", parent="arm", at={"x": LENGTH}, joint=Joint(type="fixed"), rigid=rigid))
    elif what == "spring":
        frames.append(Frame(name="post", link="base", origin=Origin(xyz=(LENGTH + 0.3, 0.6, -0.2))))
        spring = {"stiffness": 30.0, "length": 0.7, "preload": 7.0}
        more["couplings"] = [{"name": "string", "between": ["post", "end"], "spring": spring}]
    elif what == "contact":
        frames.append(Frame(name="floor", link="base", origin=Origin(xyz=(0, 0, -0.01 + 2e-4))))
        floor = {"type": "plane", "frame": "floor"}
        more["contacts"] = [Contact(name="hit", frame="end", radius=0.01, stiffness=4e4, exponent=1.0, surface=floor)]
    elif what == "loop":
        frames.append(Frame(name="pin", link="base", origin=Origin(xyz=(LENGTH, 0, 0))))
        more["loops"] = [Loop(name="pin", between=("pin", "end"), joint=LoopJoint(type="spherical"))]
    loads = (Wrench(force=TIP[what][0], moment=TIP[what][1]),) if what == "wrench" else ()
    return Robot(name="ended", links=links, frames=frames, gravity=(0, 0, -G), **more), loads


@pytest.mark.parametrize("what", TIP)
def test_what_acts_at_the_tip_counts_once(what: str) -> None:
    """Whatever sections are asked for together, and in which order: by statics of what is beyond."""
    robot, loads = ended(what)
    model = robot.model(stiffening="off")
    pull, turn = map(np.array, TIP[what])
    for etas in ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0, 0.5], [1.0, 1.0, 0.99], [0.25, 0.5]):
        forces = InternalForces(model.chain, loads)
        given = [forces.t, forces.q, forces.qd, forces.qdd, forces.push, forces.multipliers]
        rows = ca.horzcat(*(ca.vertcat(*wrench) for wrench in forces.sections(0, etas)))
        at_rest = [np.zeros(symbol.shape) for symbol in given[:-1]]
        closed = pull[1:] if what == "loop" else np.zeros(0)
        found = np.array(ca.Function("sections", given, [rows]).call([*at_rest, closed])[0])
        for eta, wrench in zip(etas, found.T):
            beyond = LENGTH * (1 - eta)
            own = np.array([0.0, 0.0, -PER_LENGTH * beyond * G])
            moment = turn + np.cross([beyond, 0, 0], pull) + np.cross([beyond / 2, 0, 0], own)
            np.testing.assert_allclose(wrench, [*(pull + own), *moment], atol=1e-6)
