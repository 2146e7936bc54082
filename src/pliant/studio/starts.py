"""First choices of the studio for an arm: a pose, a motion and times that show its behavior.

Bundled arms have theirs in a table, by the name of the robot, so that a copy in a file begins alike. Any other arm
moves its joints a little within their limits, by ideal joints.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.model.robot import Robot
from pliant.robot.parts.joint import Freedom
from pliant.robot.parts.link import Link
from pliant.studio.choices import Changes, Choices, commanded, placed_names, positioned

STEP = np.radians(30)
"""Angle from start to goal of a revolute joint, where nothing else is known."""
SLIDE = 0.2
"""Travel of a prismatic joint, m."""

_IDEAL: Changes = {"controller": "ideal joints", "maneuver": "move"}
_PD: Changes = {"controller": "pd", "maneuver": "move"}
STARTS: dict[str, Changes] = {
    "long-reach crane boom": {
        **_IDEAL, "joints": {"column": (0, 60), "boom": (25, 45), "jib": (-50, -30)}, "move_time": 4.0, "duration": 8.0,
    },
    "arm with a perforated box": {
        **_IDEAL, "joints": {"upper": (60, 20), "fore": (-90, -30)}, "move_time": 0.4, "duration": 1.0,
    },
    "Canadarm2, five links": {
        **_IDEAL, "move_time": 4.0, "duration": 6.0, "joints": {
            "upper_boom": (72, 85), "lower_boom": (-72, -60), "wrist_pitch": (0, -20), "wrist_yaw": (0, 20),
            "wrist_roll": (0, 0),
        },
    },
    "4-DOF flexible crane arm": {
        **_IDEAL, "move_time": 1.5, "duration": 4.0,
        "joints": {"slew": (0, 60), "inner": (30, 10), "outer": (60, 80), "tool": (30, 60)},
    },
    "flexible slider-crank": {**_IDEAL, "joints": {"crank": (30, 750)}, "move_time": 0.6, "duration": 1.0},
    "free-flying arm": {
        **_IDEAL, "move_time": 12.0, "duration": 20.0, "joints": {
            **{f"wheel_{axis}": (0, 0) for axis in "xyz"}, "shoulder": (0, 25), "upper": (-40, -20), "fore": (80, 55),
            "wrist_pitch": (-40, -30), "wrist_yaw": (0, 0), "hand": (0, 0),
        },
    },
    "hydraulic crane": {
        **_IDEAL, "joints": {"column": (0, 50), "boom": (25, 25), "jib": (-60, -60)}, "move_time": 2.5, "duration": 5.0,
        "commands": {"lift": 0.5, "fold": -0.35},
    },
    "carbon laboratory arm": {
        **_IDEAL, "joints": {"base": (0, 60), "upper": (60, 30), "fore": (-90, -40)}, "move_time": 0.6, "duration": 2.0,
    },
    "parallelogram arm": {
        **_IDEAL, "move_time": 0.8, "duration": 2.0,
        "joints": {"turret": (0, 50), "crank": (0, -15), "upper": (0, -40)},
    },
    "planar five-bar": {
        **_IDEAL, "joints": {"right": (0, 30), "left": (0, -25)}, "move_time": 0.25, "duration": 0.8,
    },
    "PUMA, six rigid links": {
        **_IDEAL, "move_time": 1.0, "duration": 2.0, "joints": {
            "waist": (0, 60), "shoulder": (-45, -60), "elbow": (90, 110), "forearm": (0, 0), "pitch": (30, 30),
            "roll": (0, 90),
        },
    },
    "RRP arm with a sliding link": {
        **_PD, "joints": {"waist": (0, 90), "boom": (0, 45), "slide": (0.3, 0.9)}, "frequency": 2.4, "move_time": 0.5,
        "duration": 2.0,
    },
    "space arm": {
        **_PD, "frequency": 0.32, "move_time": 10.0, "duration": 20.0, "joints": {
            "shoulder_yaw": (0, 45), "upper": (40, 60), "fore": (-80, -60), "wrist_pitch": (0, 20), "wrist_yaw": (0, 0),
            "wrist_roll": (0, 0),
        },
    },
    "spin-up beam": {**_PD, "joints": {"arm": (0, 90)}, "frequency": 0.48, "move_time": 6.0, "duration": 12.0},
    "two-link elastic arm": {
        "controller": "none", "maneuver": "release", "joints": {"upper": (0, 30), "fore": (0, 30)}, "duration": 5.0,
    },
}  # fmt: skip
"""First choices by the name of the robot: start and goal of each joint with a slider (degrees, m of a prismatic one),
commands of couplings during the move, controller and times."""


def first_choices(robot: Robot) -> Choices:
    """First choices for an arm."""
    plain = Choices.of(robot)
    known = STARTS.get(robot.name)
    if known is None or list(known["joints"]) != placed_names(robot):
        return _careful(plain)
    scales = [np.pi / 180 if freedom.turns else 1.0 for _, freedom in positioned(robot)]
    start, goal = (tuple(float(s * pair[k]) for s, pair in zip(scales, known["joints"].values())) for k in (0, 1))
    commands = tuple(known.get("commands", {}).get(one.name, 0.0) for one in commanded(robot))
    others = {key: value for key, value in known.items() if key not in ("joints", "commands")}
    return replace(plain, start=start, goal=goal, commands=commands, **others)


def _careful(plain: Choices) -> Choices:
    """Small move within the limits; an arm with a spherical joint is released, since nothing holds that joint."""
    ends = [_ends(link, freedom, at) for (link, freedom), at in zip(positioned(plain.robot), plain.start)]
    start, goal = (tuple(float(pair[k]) for pair in ends) for k in (0, 1))
    held = ends and not any(link.joint.type == "spherical" for link in plain.robot.links)
    return replace(plain, start=start, goal=goal, duration=4.0, **(_IDEAL if held else {}))


def _ends(link: Link, freedom: Freedom, at: float) -> tuple[float, float]:
    """Start and goal of a joint: its position inside its limits, and a step from there in the direction with room; a
    passive joint stays."""
    low, high = limits_of(link, freedom)
    start, step = float(np.clip(at, low, high)), STEP if freedom.turns else SLIDE
    if not freedom.actuated:
        return start, start
    if start + step <= high:
        return start, start + step
    return start, max(start - step, low)


def limits_of(link: Link, freedom: Freedom) -> tuple[float, float]:
    """Least and largest position of a joint, rad or m; a sliding beam stays in its hub."""
    own = (None, None) if freedom.limits is None else (freedom.limits.lower, freedom.limits.upper)
    low, high = (end if given is None else float(given) for given, end in zip(own, (-np.inf, np.inf)))
    if link.beam is not None and link.beam.slides and not freedom.turns:
        low, high = max(low, 0.0), min(high, float(link.beam.total_length or np.inf))
    return low, high
