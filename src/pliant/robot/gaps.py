"""Gaps of an arm: what acts on it only now and then, so that steps must not leap over it."""

from __future__ import annotations

from pliant.robot.description import RobotDescription


def may_touch(robot: RobotDescription) -> bool:
    """Return True if the arm has contacts or stops."""
    ends = (freedom.limits for freedom in robot.freedoms.values())
    return bool(robot.contacts) or any(limits is not None and limits.stop is not None for limits in ends)


def has_gaps(robot: RobotDescription) -> bool:
    """Return True if something acts only beyond a gap: contacts, stops, cables, ends of cylinders."""
    return may_touch(robot) or any(one.cable or one.cylinder for one in robot.couplings)
