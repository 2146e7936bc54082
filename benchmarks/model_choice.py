"""Error of each choice of model on five typical arms: the table of the page "Which model is valid for my arm".

    python benchmarks/model_choice.py [WORD ...]     # only arms whose names have one of the words

Joints move as told (rest to rest, cycloidal), so that the error is that of the links alone. It is the largest distance
between the end of the arm and that of the reference (third order, one shape more per field), as a part of the largest
deflection of the reference.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import pliant
from pliant import Beam, Joint, Link, Robot, Section, Shapes
from pliant.control import Cycloidal
from pliant.robot import Lump

STRIP = Beam(length=0.8, material="steel", section=Section(shape="rectangle", width=0.0015, height=0.030))


@dataclass(frozen=True)
class Case:
    """An arm, and from where to where its joints go in how many seconds of the run."""

    robot: Robot
    start: tuple[float, ...]
    goal: tuple[float, ...]
    move: float
    t_end: float
    speed: float = 0.0
    """rad/s; the joints spin up to it instead of going to the goal."""
    more: int = 1
    """Shapes that the reference has more in each field."""


def strip() -> Robot:
    """A steel strip on edge that slews about the vertical, with a payload of a third of its lateral buckling load."""
    shapes = Shapes(bending_y=2, bending_z=1, torsion=2, damping=0.01)
    link = Link(name="strip", joint=Joint(), beam=STRIP, shapes=shapes)
    return Robot(name="strip", gravity=(0, 0, -9.81), links=[link], payload=Lump(mass=0.45))


def cases() -> dict[str, Case]:
    """Five arms that people build."""
    return {
        "laboratory strip, 0.45 kg at 0.8 m": Case(strip(), (0.0,), (0.2,), 2.0, 6.0, more=2),
        "lab-arm, carbon, 1 kg at 1.2 m": Case(pliant.load("lab-arm"), (0, 0.2, -0.4), (1.0, 0.8, -1.2), 0.6, 1.5),
        "boom, steel, 300 kg at 18 m": Case(pliant.load("boom"), (0, 0.3, -0.5), (0.6, 0.9, -1.4), 6.0, 12.0),
        "space-arm, 200 kg at 9 m": Case(
            pliant.load("space-arm"), (0,) * 6, (0.4, 0.3, -0.6, 0.3, 0.2, 0.5), 20.0, 30.0
        ),
        "spin-up, 8 m blade to 4 rad/s": Case(pliant.load("spin-up"), (0.0,), (0.0,), 15.0, 18.0, speed=4.0, more=2),
    }


def with_shapes(robot: Robot, number: Any) -> Robot:
    """The robot with another number of shapes in every field that bends, twists or stretches; never more elements, of
    which a few are exact enough and many are dear in third order."""
    changes: dict[str, Any] = {}
    for link in robot.links:
        if link.shapes is not None and link.shapes.method == "modes":
            for field in ("bending_y", "bending_z", "torsion"):
                if now := getattr(link.shapes, field):
                    changes[f"links.{link.name}.shapes.{field}"] = number(field, now)
        elif link.shapes is not None:
            changes[f"links.{link.name}.shapes.count"] = min(number("count", link.shapes.count), link.shapes.count)
    return robot.replace(changes)


def end(case: Case, robot: Robot, stiffening: Any) -> tuple[Any, Any]:
    """(rows, 3) places of the end of the arm, and those that it would have if no link were bent."""
    model = robot.model(stiffening=stiffening)
    if case.speed:
        T, W = case.move, case.speed
        motion: Any = {
            model.joints[0]: lambda t: W / T * (t**2 / 2 + (T / 2 / np.pi) ** 2 * (ca.cos(2 * np.pi * t / T) - 1))
        }
        t_end = T
    else:
        motion = {name: Cycloidal([a], [b], case.move) for name, a, b in zip(model.joints, case.start, case.goal)}
        t_end = case.t_end
    q0 = model.equilibrium(case.start)
    run = pliant.simulate(model, t_end, q0, motion=motion, rtol=1e-7, atol=1e-9, output_step=t_end / 300,
                          limits=False, progress=False)  # fmt: skip
    straight = run.q.copy()
    straight[:, [k for k, name in enumerate(model.coordinates) if "." in name]] = 0.0
    return run.tip, model.tip_pose(straight)[:, :3, 3]


CHOICES: dict[str, tuple[Any, Any]] = {
    "default": (lambda field, now: now, "auto"),
    "first order, False": (lambda field, now: now, False),
    "one shape per field": (lambda field, now: 1, "auto"),
    "no torsion": (lambda field, now: 0 if field == "torsion" else now, "auto"),
    "third order, True": (lambda field, now: now, True),
}


def errors(case: Case) -> dict[str, float]:
    """Of each choice, as parts of the largest deflection."""
    reference, straight = end(case, with_shapes(case.robot, lambda field, now: now + case.more), True)
    scale = np.linalg.norm(reference - straight, axis=1).max()
    found = {"deflection, m": float(scale)}
    for name, (number, stiffening) in CHOICES.items():
        try:
            tip, _ = end(case, with_shapes(case.robot, number), stiffening)
            found[name] = float(np.linalg.norm(tip - reference, axis=1).max() / scale)
        except pliant.PliantError as error:
            print(f"{name}: {error}")
            found[name] = np.nan
    return found


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    head = ["arm", "deflection, m", *CHOICES]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, case in cases().items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        found = errors(case)
        cells = [f"{found['deflection, m']:.3g}", *(f"{100 * found[choice]:.2g} %" for choice in CHOICES)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
