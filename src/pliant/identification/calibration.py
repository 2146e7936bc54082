"""Gains, offsets and delays between an arm and its recording.

An input acts as `gain * command(t - delay) + offset`. A reading is `gain * y(t - delay) + offset`, where y has passed a
low-pass of first order with the time constant `lag`.

Names: `reading.CHANNEL.gain`, `.offset`, `.delay`, `.lag`; `input.JOINT.gain`, `.offset`; `input.delay`, of all inputs.
They hold for every recording that has the channel or the input; `RUN: reading.CHANNEL.offset` holds for one recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.identification.recording import Recording
from pliant.options import Interpolation
from pliant.protocols import Torque
from pliant.robot.files.error_messages import suggestion

NEUTRAL = {"gain": 1.0, "offset": 0.0, "delay": 0.0, "lag": 0.0}
"""Values of an ideal sensor or drive."""
TIMES = ("delay", "lag")
"""Kinds in seconds, which are never negative."""
SIDES = ("reading", "input")


@dataclass(frozen=True)
class CalibrationNumber:
    """One number of a calibration. It belongs to the recording `run`, "" for all, and to `of`: a channel, a joint, or
    "" for all joints."""

    name: str
    run: str
    side: str
    of: str
    kind: str

    @property
    def neutral(self) -> float:
        """Value of an ideal sensor or drive."""
        return NEUTRAL[self.kind]

    @property
    def own(self) -> str:
        """Name without the recording."""
        return self.name.removeprefix(f"{self.run}: ") if self.run else self.name


def is_calibration(name: str) -> bool:
    """Return whether a name is that of a reading or an input, not of a number of the robot."""
    return name.partition(": ")[2].startswith(SIDES) if ": " in name else name.split(".")[0] in SIDES


def calibration_number(name: str) -> CalibrationNumber:
    """Number of a calibration by its name."""
    run, _, own = name.rpartition(": ")
    side, _, rest = own.partition(".")
    of, _, kind = rest.rpartition(".")
    known = side in SIDES and kind in NEUTRAL and not (side == "input" and kind == "lag")
    if not known or bool(of) == (side == "input" and kind == "delay"):
        raise ModelError(
            f"`{name}`: expected reading.CHANNEL.gain, .offset, .delay or .lag, input.JOINT.gain or .offset, or "
            "input.delay"
        )
    return CalibrationNumber(name, run, side, of, kind)


def concerns(number: CalibrationNumber, recording: Recording, title: str, joints: Sequence[str]) -> bool:
    """Return whether a recording has the channel or the input of a number."""
    if number.run and number.run != title:
        return False
    if number.side == "reading":
        return number.of in recording.channels
    return recording.torque is not None and (not number.of or number.of in joints)


def require_use(numbers: Sequence[CalibrationNumber], recordings: Sequence[Recording], joints: Sequence[str]) -> None:
    """Raise `ModelError` where no recording has the channel or the input of a number."""
    titles = titles_of(recordings)
    for number in numbers:
        if any(concerns(number, r, title, joints) for r, title in zip(recordings, titles)):
            continue
        if number.run and number.run not in titles:
            raise ModelError(f"`{number.name}`: no recording {number.run!r}{suggestion(number.run, titles)}")
        if number.side == "reading":
            channels = list(dict.fromkeys(c for r in recordings for c in r.channels))
            raise ModelError(
                f"`{number.name}`: no recording has the channel {number.of!r}{suggestion(number.of, channels)}"
            )
        if number.of and number.of not in joints:
            raise ModelError(f"`{number.name}`: the arm has no joint {number.of!r}{suggestion(number.of, joints)}")
        raise ModelError(f"`{number.name}`: no recording has a torque or command as input")


def titles_of(recordings: Sequence[Recording]) -> list[str]:
    """Names of recordings, numbered where they have none."""
    return [recording.name or f"run {k + 1}" for k, recording in enumerate(recordings)]


def typical_size(number: CalibrationNumber, recordings: Sequence[Recording]) -> float:
    """Scale of a number: 1 for a gain, the spread of a channel or input for an offset, the time between samples for a
    delay or lag."""
    if number.kind == "gain":
        return 1.0
    steps, spreads = [], []
    for recording in recordings:
        steps.append(float(np.median(np.diff(recording.times()))))
        if number.side == "reading" and number.of in recording.channels:
            spreads.append(float(np.std(recording.reading(number.of)[1])))
        elif number.side == "input" and recording.torque is not None:
            spreads.append(float(np.std(_values(recording.torque, number.of))))
    found = min(steps) if number.kind in TIMES else max(spreads, default=0.0)
    return found or 1.0


def _values(torque: Torque, joint: str) -> Array:
    """Samples of an input, of one joint where they are named; zero where it is not given by samples."""
    values = torque[1] if isinstance(torque, tuple) and len(torque) in (2, 3) else torque
    values = values.get(joint, 0.0) if isinstance(values, Mapping) else values
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.zeros(1)


def calibrated_torque(
    torque: Torque | None, joints: Sequence[str], values: Mapping[str, float], t_end: float
) -> Torque | None:
    """Torques that acted: the recorded samples with gain, offset and delay; the recorded torque if none is given."""
    used = {name: value for name, value in values.items() if name.startswith("input.")}
    if not used:
        return torque
    times, rows, kind = _table(torque, joints, t_end)
    gains, offsets = (
        [used.get(f"input.{joint}.{what}", NEUTRAL[what]) for joint in joints] for what in ("gain", "offset")
    )
    return times + used.get("input.delay", 0.0), rows * gains + offsets, kind


def _table(torque: Any, joints: Sequence[str], t_end: float) -> tuple[Array, Array, Interpolation]:
    """Times, values (K, m), and the interpolation between them."""
    if hasattr(torque, "expression") or hasattr(torque, "bind") or callable(torque) or torque is None:
        raise ModelError("gains, offsets and delays of inputs need a torque or command that was given as samples")
    sampled = isinstance(torque, tuple) and len(torque) in (2, 3) and np.ndim(torque[0]) == 1
    given = torque[1] if sampled else torque
    if isinstance(given, Mapping):
        given = np.stack(np.broadcast_arrays(*(np.asarray(given.get(j, 0.0), dtype=float) for j in joints)), axis=-1)
    rows = np.asarray(given, dtype=float)
    if sampled:
        return np.asarray(torque[0], dtype=float), rows, torque[2] if len(torque) == 3 else "linear"
    return np.array([0.0, t_end]), np.tile(rows, (2, 1)), "linear"
