"""Tachometers, torque sensors and cameras."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.base.signatures import checked
from pliant.control.sensing.sensors import Acting, Encoder, Sensor, forces_inside, position_of, shaft_of
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.options import DriveSide
from pliant.robot.parts.angles import rotation_rpy


@checked
@dataclass(frozen=True)
class Tachometer(Sensor):
    """Speed of a joint, on the "link" or on the "motor" side of its drive (rad/s, m/s).

    Parameters
    ----------
    joint : str
        Name of the joint.
    side : "motor" or "link"
        Side of its drive.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> speed = pliant.control.Measurement(model, [pliant.control.Tachometer("fore")])
    >>> print(speed.ideal(np.zeros(4), [0.0, 0.5, 0.0, 0.0]))
    [[0.5]]
    """

    joint: str
    side: DriveSide = "motor"

    @property
    def _encoder(self) -> Encoder:
        return Encoder(self.joint, self.side, rate=True)

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """Speed, rad/s or m/s."""
        return self._encoder.expression(model, q, qd, qdd, acting)

    def reads(self, model: Model) -> tuple[str, int]:
        """Rate of the joint or of its motor."""
        return self._encoder.reads(model)

    def unit(self, model: Model) -> str:
        """Unit of a joint that turns or slides."""
        return self._encoder.unit(model)

    def default_name(self, model: Model) -> str:
        """Name of the rate."""
        return self._encoder.default_name(model)


@checked
@dataclass(frozen=True)
class TorqueSensor(Sensor):
    """Torque (N m) or force (N) that a link receives through its joint, along the axis of the joint.

    The sensor is between gear and link, after drive, friction and gear. For a joint without friction and rotor it reads
    the torque of the drive. Friction and the inertia of the rotor reduce the reading.

    Parameters
    ----------
    joint : str
        Name of the joint.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> rest = model.equilibrium([0.0, 0.0])
    >>> sensor = pliant.control.Measurement(model, [pliant.control.TorqueSensor("upper")])
    >>> held = model.holding_torque(rest)
    >>> bool(abs(sensor.ideal(rest, np.zeros(4), held)[0, 0] / held[0] - 1) < 1e-9)
    True
    """

    joint: str

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """Torque, N m, or force, N."""
        index = shaft_of(model, self.joint).index
        place = next((k for k, link in enumerate(model.chain.links) if index in link.joint_indices), None)
        if place is None:
            raise ModelError(
                f"joint: got {self.joint!r}, the length of a beam that slides, expected a joint with an axis"
            )
        forces = forces_inside(model, acting)
        n, f = forces.carried[place].at_root
        link = forces.chain.links[place]
        turning, sliding = link.joint.columns(forces.carried[place].motion.q)[link.joint_indices.index(index)]
        torque = ca.dot(n, turning) + ca.dot(f, sliding)
        return forces.at(torque, acting.t, q, qd, qdd, acting.push, acting.multipliers)

    def unit(self, model: Model) -> str:
        """Unit of a joint that turns or slides."""
        return "N m" if shaft_of(model, self.joint).turns else "N"

    def default_name(self, model: Model) -> str:
        """Name of the joint with ".sensed_torque"."""
        return f"{self.joint}.sensed_torque"


@checked
@dataclass(frozen=True)
class TipCamera(Sensor):
    """Image position of the tip, or of another frame, in a fixed camera: right and down in the image.

    The z axis of the camera looks ahead, x points right and y down in the image. `position` and `rpy` (URDF's Rz Ry Rx)
    place it in the base. By default it looks down from above, with the x of the base to the right, and y up. With
    `focal` it is a pinhole camera, with pixels from the center of the image. Without `focal` it gives meters, like a
    camera that was calibrated in the plane of motion.

    Parameters
    ----------
    frame : str
        One of `model.frames`.
    position : (float, float, float)
        Position of the camera in the base, m.
    rpy : (float, float, float)
        Angles of its axes, rad.
    focal : float, optional
        Focal length, pixels.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> camera = pliant.control.TipCamera(position=(0.0, -1.0, 4.0), focal=800.0, sample_time=1 / 60, delay=0.02)
    >>> print(pliant.control.Measurement(model, [camera]).ideal(np.zeros(4), np.zeros(4)))  # 2 m right, 1 m up
    [[ 400. -200.]]
    """

    frame: str = "tip"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (np.pi, 0.0, 0.0)
    focal: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("position", "rpy"):
            if len(getattr(self, name)) != 3 or not np.isfinite(getattr(self, name)).all():
                raise ModelError(f"{name}: got {getattr(self, name)!r}, expected three finite numbers")
        if self.focal is not None and not (np.isfinite(self.focal) and self.focal > 0):
            raise ModelError(f"focal: got {self.focal!r}, expected a positive number of pixels")

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """(2, 1) position in the image, meters or pixels."""
        away = position_of(model, q, self.frame) - ca.DM(self.position)
        seen = ca.mtimes(ca.DM(np.array(rotation_rpy(self.rpy))).T, away)  # right, down, ahead
        return seen[:2] if self.focal is None else self.focal * seen[:2] / seen[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """Suffixes right and down."""
        return (".right", ".down")

    def unit(self, model: Model) -> str:
        """Unit: meters or pixels."""
        return "m" if self.focal is None else "px"

    def default_name(self, model: Model) -> str:
        """Name "camera", with the frame unless it is the tip."""
        return "camera" if self.frame == "tip" else f"{self.frame}.camera"
