"""Arms on springs, cables and cylinders, and one that falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant import Beam, Frame, Joint, Link, RigidBody, Robot, Shapes
from pliant.model.robot import parse
from pliant.robot import Cable, Coupling, Cylinder, LineForce, LineSpring
from pliant.robot import Valve as Valve

PIVOT, EYE = np.array([0.4, -0.6]), np.array([1.0, -0.1])
"""Of the lift of a boom, in the plane: foot on the base, eye on the boom."""
LIFT: dict[str, Any] = {"areas": (8e-3, 5e-3), "stroke": 0.9, "dead_length": 0.7}


def boom(valve: dict[str, Any] | None = None, **cylinder: Any) -> Robot:
    """A rigid boom of 150 kg that turns about -y and stands on a cylinder."""
    body = RigidBody(mass=150.0, com=(1.3, 0, 0.1), inertia=(5.0, 90.0, 90.0), tip=(3.0, 0, 0))
    link = Link(name="boom", joint=Joint(axis=(0, -1, 0), actuated=False), rigid=body)
    frames = [
        Frame(name="foot", link="base", origin={"xyz": (PIVOT[0], 0, PIVOT[1])}),
        Frame(name="eye", link="boom", at="root", origin={"xyz": (EYE[0], 0, EYE[1])}),
    ]
    lift = Cylinder(**(LIFT | {"valve": {"flow": 1e-3} | (valve or {})} | cylinder))
    return Robot(name="boom", links=[link], frames=frames, couplings=[{"name": "lift", "between": ["foot", "eye"],
                 "cylinder": lift}])  # fmt: skip


def ball() -> Robot:
    """That falls on the ground and comes back."""
    return parse("""
name: ball
links:
  - name: ball
    joint: {type: prismatic, axis: [0, 0, 1]}
    rigid: {mass: 0.5, inertia: [0.001, 0.001, 0.001]}
contacts:
  - {name: ground, radius: 0.05, stiffness: 1.0e+6, restitution: {value: 0.8, speed: 1.98}, friction: 0.5}
""")


def lift_length(angle: float) -> tuple[float, float]:
    """Length of that cylinder, and its slope, by trigonometry."""
    c, s = np.cos(angle), np.sin(angle)
    eye = np.array([c * EYE[0] - s * EYE[1], s * EYE[0] + c * EYE[1]])
    line = eye - PIVOT
    L = float(np.linalg.norm(line))
    return L, float(line @ np.array([-eye[1], eye[0]])) / L


def crane(flexible: bool = True, **valve: Any) -> Robot:
    """Two booms on two cylinders, which bend."""
    shapes: dict[str, Any] = {"shapes": Shapes(bending_z=2, damping=0.01)} if flexible else {}
    parts = (("boom", 3.0, 40.0, 4e6), ("jib", 2.0, 25.0, 2e6))
    links = [
        Link(name=name, joint=Joint(axis=(0, -1, 0), actuated=False),
             beam=Beam(length=L, mass_per_length=mu, EI_y=EI, EI_z=EI), **shapes)
        for name, L, mu, EI in parts
    ]  # fmt: skip
    frames = [
        Frame(name="foot", link="base", origin={"xyz": (0.4, 0, -0.6)}),
        Frame(name="boom_eye", link="boom", x=1.0, origin={"xyz": (0, 0, -0.1)}),
        Frame(name="boom_top", link="boom", x=1.6, origin={"xyz": (0, 0, 0.25)}),
        Frame(name="jib_eye", link="jib", at="root", origin={"xyz": (0.3, 0, 0.35)}),
    ]
    given = {"valve": {"flow": 1e-3, **valve}}
    reach: dict[str, Any] = {"areas": (6e-3, 4e-3), "stroke": 1.2, "dead_length": 1.2, **given}
    couplings = [
        Coupling(name="lift", between=("foot", "boom_eye"), cylinder=Cylinder(**(LIFT | given))),
        Coupling(name="reach", between=("boom_top", "jib_eye"), cylinder=Cylinder(**reach)),
    ]
    return Robot(name="crane", links=links, frames=frames, couplings=couplings, payload={"mass": 200.0})


CRANE_START = {"boom": 0.4, "jib": -0.5}


def strung(flexible: bool = True) -> Robot:
    """A spatial arm of two links on a spring with its damper, a cable, a constant and a commanded force."""
    beam = Beam(length=0.7, mass_per_length=2.0, EI_y=300.0, EI_z=300.0, GJ=200.0)
    shapes: dict[str, Any] = {"shapes": Shapes(bending_y=1, bending_z=1)} if flexible else {}
    links = [
        Link(name="upper", joint=Joint(axis=(0, 0, 1)), beam=beam, **shapes),
        Link(name="fore", joint=Joint(axis=(0, 1, 0)), beam=beam, **shapes),
    ]
    frames = [Frame(name="post", link="base", origin={"xyz": (0.3, 0.5, 0.4)}), Frame(name="mid", link="upper", x=0.4)]
    couplings = [
        Coupling(name="strut", between=("post", "mid"), spring=LineSpring(stiffness=800.0, length=0.4, preload=15.0),
                 damping=12.0),
        Coupling(name="rope", between=("post", "fore.tip"),
                 cable=Cable(stiffness=3e3, length=0.85, damping=0.4, smoothing=0.02)),
        Coupling(name="ram", between=("mid", "tip"), force=LineForce(value=20.0, commanded=True)),
    ]  # fmt: skip
    return Robot(name="strung", links=links, frames=frames, couplings=couplings)
