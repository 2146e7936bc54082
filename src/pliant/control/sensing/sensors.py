"""Sensors of an arm. Each gives its ideal reading as an expression, and states its errors and its clock.

An ideal reading is h(q, qd, qdd). Accelerometers, strain gauges and torque sensors depend on accelerations, and so on
loads and on the motion of the base. The reading at the time t is

    gain * y(t - delay) + offset + noise, rounded to the quantum,

with y after a low-pass of first order. It is taken every `sample_time` and held in between; see `sensor_chain.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.base.derived import Derived, Same, symbolic_property
from pliant.base.signatures import checked
from pliant.compute.llvm.kernel import Kernel
from pliant.control.controllers.controller import Felt
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.denoc import outward_motion
from pliant.mechanics.formulations.registry import equations
from pliant.mechanics.links.chain import MovingBase, Shaft
from pliant.mechanics.links.frames import frame_motion, frame_of, frame_pose
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.section_forces import InternalForces, Stretches
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.options import BridgeName, DriveSide, PlaneName
from pliant.robot.stations import locate, places_of


class Acting(NamedTuple):
    """Inputs of an arm at the time of a reading: loads and motion of the base, objects of `pliant.loads`. If known,
    also forces of commanded couplings and multipliers of loops."""

    t: SX
    loads: tuple[Load, ...] = ()
    base: MovingBase | None = None
    push: SX | None = None
    multipliers: SX | None = None


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """Base class of sensors: errors of a reading, and its clock. All parameters have a neutral default.

    Parameters
    ----------
    noise : float
        Standard deviation of a reading, in its unit.
    quantum : float
        Rounding step of a reading, in its unit; 0 for none.
    gain : float
        Factor on the true value.
    offset : float
        Constant error, in its unit.
    delay : float
        Seconds by which a reading is late.
    sample_time : float, optional
        Seconds between two readings; by default a reading is taken at every call.
    cutoff : float, optional
        Cutoff frequency, Hz, of a low-pass of first order before noise and rounding.
    seed : int
        Seed of the noise. Seed and name determine every draw.
    name : str, optional
        Name of the channel; by default it is made from the quantity.
    """

    noise: float = 0.0
    quantum: float = 0.0
    gain: float = 1.0
    offset: float = 0.0
    delay: float = 0.0
    sample_time: float | None = None
    cutoff: float | None = None
    seed: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        for each in fields(self):  # lists of a file become tuples, so that sensors are hashable
            value = getattr(self, each.name)
            if isinstance(value, list):
                object.__setattr__(self, each.name, tuple(value))
        for name in ("noise", "quantum", "delay", "seed"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ModelError(f"{name}: got {value!r}, expected zero or a positive number")
        for name in ("sample_time", "cutoff"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ModelError(f"{name}: got {value!r}, expected a positive number, or none")
        for name in ("gain", "offset"):
            if not np.isfinite(getattr(self, name)):
                raise ModelError(f"{name}: got {getattr(self, name)!r}, expected a finite number")
        if self.name is not None and (not self.name.strip() or set(self.name) & set('/\\,;"\t\n')):
            raise ModelError(f"name: got {self.name!r}, expected one without , ; / and quotes")

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """(k, 1) ideal reading.

        Parameters
        ----------
        model : Model
            The arm.
        q, qd, qdd : (n, 1) expression
            Coordinates, rates and accelerations.
        acting : Acting
            Time, loads and motion of the base.

        Returns
        -------
        expression
            (k, 1).
        """
        raise NotImplementedError

    @property
    def bare(self) -> Self:
        """Same sensor without errors, clock and name."""
        neutral: dict[str, Any] = {each.name: each.default for each in fields(Sensor)}
        return replace(self, **neutral)

    @property
    def clocked(self) -> bool:
        """True if a reading depends on more than this instant: the sensor has a clock, a delay or a low-pass."""
        return self.sample_time is not None or self.delay > 0 or self.cutoff is not None

    @property
    def parts(self) -> tuple[str, ...]:
        """Suffixes of the name for each of the k readings."""
        return ("",)

    def unit(self, model: Model) -> str:
        """Unit of its readings.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        str

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> pliant.control.Encoder("upper", rate=True).unit(model)
        'rad/s'
        """
        return ""

    def label(self, model: Model) -> str:
        """Its name, or the default name.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        str

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> pliant.control.Encoder("upper", name="shoulder").label(model)
        'shoulder'
        """
        return self.name or self.default_name(model)

    def default_name(self, model: Model) -> str:
        """Name of its channel if it has no `name`.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        str

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> pliant.control.Encoder("upper", name="shoulder").default_name(model)
        'upper'
        """
        return type(self).__name__.lower()

    def channels(self, model: Model) -> tuple[str, ...]:
        """Names of its k readings.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> pliant.control.TipPosition((0, 1)).channels(model)
        ('tip.x', 'tip.y')
        """
        return tuple(f"{self.label(model)}{part}" for part in self.parts)

    def digit(self, model: Model) -> float:
        """Rounding step of a reading, in its unit; 0 for none.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        float

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> round(pliant.control.Encoder("upper", resolution=4096).digit(model), 6)
        0.001534
        """
        return self.quantum

    def reads(self, model: Model) -> tuple[str, int] | None:
        """("q", place) or ("qd", index) of the coordinate or rate that it reads, which a controller may use in place of
        the true one; None for other sensors.

        Parameters
        ----------
        model : Model
            The arm.

        Returns
        -------
        tuple or None

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> pliant.control.Encoder("fore", rate=True).reads(model)
        ('qd', 1)
        """
        return None


@checked
@dataclass(frozen=True)
class Encoder(Sensor):
    """Angle (or position) of a joint, on the "link" or on the "motor" side of its drive; `rate` reads its speed.

    Angles of motors are those after the gear, as everywhere in pliant. `resolution` counts on the shaft that carries
    the encoder.

    Parameters
    ----------
    joint : str
        Name of the joint.
    side : "motor" or "link"
        Side of its drive.
    rate : bool
        Read the speed (rad/s, m/s) instead of the position.
    resolution : float, optional
        Counts per turn (per meter of a sliding joint), in place of `quantum`. On the motor side it counts turns of the
        motor's own shaft, before the gear.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> both = pliant.control.Measurement(model, [pliant.control.Encoder("upper"), pliant.control.Encoder("fore")])
    >>> print(both.ideal([0.1, 0.2, 0.0, 0.0], np.zeros(model.n)))
    [[0.1 0.2]]
    """

    joint: str
    side: DriveSide = "motor"
    rate: bool = False
    resolution: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.resolution
        if counts is None:
            return
        if not (np.isfinite(counts) and counts > 0):
            raise ModelError(f"resolution: got {counts!r}, expected a positive number of counts per turn")
        if self.quantum or self.rate:
            beside = "quantum" if self.quantum else "rate"
            raise ModelError(f"resolution: got {counts!r} beside `{beside}`, expected one of them; remove one")

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """Position in rad or m, or its rate per second."""
        kind, place = self.reads(model)
        return (q if kind == "q" else qd)[place]

    def reads(self, model: Model) -> tuple[str, int]:
        """Coordinate of the joint or of its motor, or its rate."""
        shaft = shaft_of(model, self.joint)
        if self.rate:
            return "qd", shaft.actuated if self.side == "motor" else shaft.index
        if shaft.place is None:
            raise ModelError(
                f"joint: got {self.joint!r}, which has no position of its own, expected one that has; read its speed "
                "with rate=True"
            )
        return "q", shaft.place if self.side == "link" or shaft.drive is None else shaft.drive.place

    def unit(self, model: Model) -> str:
        """Unit of a joint that turns or slides."""
        return ("rad" if shaft_of(model, self.joint).turns else "m") + ("/s" if self.rate else "")

    def default_name(self, model: Model) -> str:
        """Name of the coordinate or of its rate."""
        kind, place = self.reads(model)
        return model.coordinates[place] if kind == "q" else f"{model.speeds[place]}.rate"

    def digit(self, model: Model) -> float:
        """One count, after the gear."""
        if self.resolution is None:
            return self.quantum
        shaft = shaft_of(model, self.joint)
        drive = model.robot.freedoms[self.joint].drive
        ratio = 1.0 if drive is None or self.side == "link" else float(drive.gear_ratio)
        return (2 * np.pi if shaft.turns else 1.0) / (self.resolution * ratio)


def shaft_of(model: Model, joint: str) -> Shaft:
    """Return the freedom of a joint by its name; raise `ModelError` if there is none."""
    if joint not in model.joints:
        raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(model.joints)}")
    return model.chain.shafts[model.joints.index(joint)]


@checked
@dataclass(frozen=True)
class StrainGauge(Sensor):
    """Strain gauge at station `x` (m from the root of a beam): the curvature (1/m) in the plane "bending_y" or
    "bending_z"; with `at` the strain of a fiber; with a `bridge` volts per volt of its excitation.

    The curvature is the bending moment of the section over EI, as in `Result.strain`, in recordings and exports.
    Torques and loads act at once: at the root of a link without a hub the moment is the joint torque.

    A quarter bridge has one gauge, on the fiber `at` (y, z). A half bridge has a second one, on the opposite fiber
    (-y, -z), which cancels tension. A full bridge has two of each. With r = gauge_factor * strain of a gauge, a full
    bridge gives (r1 - r2) / (2 + r1 + r2). A half bridge gives half of it, a quarter bridge half of it with r2 = 0.

    Parameters
    ----------
    link : str
        Name of the link.
    x : float
        Station, m from its root.
    plane : "bending_y" or "bending_z"
        Plane of the bending.
    frame : str, optional
        One of `model.frames`, in place of `link` and `x`. The gauge is at its section.
    at : (float, float), optional
        Fiber (y, z), m from the neutral axis.
    bridge : "quarter", "half" or "full", optional
        Wiring of the gauges; needs `at`.
    gauge_factor : float
        Relative change of the resistance of a gauge, per strain.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> gauge = pliant.control.Measurement(model, [pliant.control.StrainGauge("upper", 0.0)])
    >>> bool(gauge.ideal(model.equilibrium([0.0, 0.0]), np.zeros(model.n))[0] < 0)  # it sags
    True
    >>> wired = pliant.control.StrainGauge("upper", 0.05, at=(0.01, 0.0), bridge="full", gauge_factor=2.1)
    >>> wired.unit(model)
    'V/V'
    """

    link: str | None = None
    x: float = 0.0
    plane: PlaneName = "bending_y"
    frame: str | None = None
    at: tuple[float, float] | None = None
    bridge: BridgeName | None = None
    gauge_factor: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at is not None and (len(self.at) != 2 or not np.isfinite(self.at).all()):
            raise ModelError(f"at: got {self.at!r}, expected the fiber (y, z) in meters")
        if self.bridge is not None and self.at is None:
            raise ModelError(f"bridge: got {self.bridge!r} without a fiber, expected `at`: (y, z) in meters")
        if not (np.isfinite(self.gauge_factor) and self.gauge_factor > 0):
            raise ModelError(f"gauge_factor: got {self.gauge_factor!r}, expected a positive number")

    def unit(self, model: Model) -> str:
        """Unit of a curvature, a strain or a bridge."""
        return "1/m" if self.at is None else "V/V" if self.bridge else "1"

    def default_name(self, model: Model) -> str:
        """Name of the link or the frame, with ".strain"."""
        return f"{_one_place(self.link, self.frame)}.strain"

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """Curvature v'' or w'', a strain, or V/V."""
        name = _one_place(self.link, self.frame)
        if self.frame is None:
            place, eta = locate(model.layout, name, self.x)
        elif self.x:
            raise ModelError(f"frame: got {self.frame!r} beside `x`, expected one place; remove `x`")
        else:
            place, eta = _on_a_link(model, self.frame)
        link, shapes = model.chain.links[place], model.chain.links[place].body.shapes
        if shapes is None or link.slides:
            raise ModelError(f"links.{link.name}: a strain gauge needs a flexible beam of fixed length")
        if self.at is None and self.plane not in shapes.fields:
            raise ModelError(f"plane: links.{link.name} has no {self.plane!r}, it has {', '.join(set(shapes.fields))}")
        forces = forces_inside(model, acting)
        value = self._reading(forces.stretches(place, eta))
        return forces.at(value, acting.t, q, qd, qdd, acting.push, acting.multipliers)

    def _reading(self, stretches: Stretches) -> SX:
        """Reading at a section that is stretched and bent."""
        if self.at is None:
            return stretches.by_field()[self.plane]
        y, z = self.at
        strain = stretches.strain(y, z)
        if self.bridge is None:
            return strain
        r1 = self.gauge_factor * strain
        r2 = 0.0 if self.bridge == "quarter" else self.gauge_factor * stretches.strain(-y, -z)
        return (r1 - r2) / (2 + r1 + r2) * (1.0 if self.bridge == "full" else 0.5)


def forces_inside(model: Model, acting: Acting) -> InternalForces:
    """Wrenches inside an arm; its model keeps them."""
    key = (Same(acting.base), *map(Same, acting.loads))
    return model.derived("forces inside", key, lambda: InternalForces(model.chain, acting.loads, acting.base))


@checked
@dataclass(frozen=True)
class TipPosition(Sensor):
    """Position of the tip, or of another frame, in the base (m): the chosen `axes`, all three by default.

    Parameters
    ----------
    axes : tuple of int
        Subset of 0, 1, 2.
    frame : str
        One of `model.frames`.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> tip = pliant.control.Measurement(model, [pliant.control.TipPosition((0, 1))])
    >>> print(tip.ideal(np.zeros(model.n), np.zeros(model.n)))
    [[2. 0.]]
    """

    axes: tuple[int, ...] = (0, 1, 2)
    frame: str = "tip"

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """(len(axes), 1) position, m."""
        if not len(self.axes) or any(a not in (0, 1, 2) for a in self.axes):
            raise ModelError(f"axes: got {self.axes!r}, expected some of 0, 1, 2")
        return position_of(model, q, self.frame)[list(self.axes)]

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(f".{'xyz'[axis]}" for axis in self.axes)

    def unit(self, model: Model) -> str:
        """Unit: meters."""
        return "m"

    def default_name(self, model: Model) -> str:
        """Name of the frame."""
        return self.frame


def position_of(model: Model, q: SX, frame: str) -> SX:
    """(3, 1) position of the tip or of another frame, in the base."""
    if frame == "tip":
        *_, last = placements(model.chain, q)
        return ca.SX(last.p_tip)
    return ca.SX(frame_pose(model.chain, q, frame)[:3, 3])


@checked
@dataclass(frozen=True)
class Accelerometer(Sensor):
    """Specific force (m/s^2) at the end of a link, or at a frame, along one of its axes: acceleration less gravity.

    Parameters
    ----------
    link : str
        Name of the link. The sensor is at its distal frame.
    axis : int
        0, 1 or 2: x, y or z of the frame.
    frame : str, optional
        One of `model.frames`, in place of `link`. The sensor is at its origin.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensor = pliant.control.Accelerometer("fore", axis=1)
    >>> rest = model.equilibrium([0.0, 0.0])
    >>> reading = pliant.control.Measurement(model, [sensor]).ideal(rest, np.zeros(model.n), model.holding_torque(rest))
    >>> print((reading / 9.81).round(2))  # at rest it reads gravity
    [[1.]]
    """

    link: str | None = None
    axis: int = 1
    frame: str | None = None

    def unit(self, model: Model) -> str:
        """Unit of an acceleration."""
        return "m/s^2"

    def default_name(self, model: Model) -> str:
        """Name of the link or the frame, with the axis."""
        return f"{_one_place(self.link, self.frame)}.acceleration_{'xyz'[self.axis]}"

    def expression(self, model: Model, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """Specific force along the axis."""
        if self.axis not in (0, 1, 2):
            raise ModelError(f"axis: got {self.axis!r}, expected 0, 1 or 2")
        name = _one_place(self.link, self.frame)
        chain = model.chain.on(acting.base, acting.t)
        if self.frame is not None:
            return frame_motion(chain, q, qd, qdd, name)[2][self.axis]
        return outward_motion(chain, q, qd, qdd)[places_of(chain, name)[-1]].ports[0].a[self.axis]


def rounded(y: Array, quantum: Array | float) -> Array:
    """Round to multiples of the quantum where there is one."""
    step = np.where(np.asarray(quantum) > 0, quantum, 1.0)
    return np.asarray(np.where(np.asarray(quantum) > 0, np.round(y / step) * step, y), dtype=float)


def _one_place(link: str | None, frame: str | None) -> str:
    """Return the name of the link or of the frame that carries a sensor; raise `ModelError` unless there is one."""
    if link is not None and frame is not None:
        raise ModelError(f"frame: got {frame!r} beside `link`, expected one place; remove one of them")
    if link is None and frame is None:
        raise ModelError("link: got None, expected the name of a link; name it, or a `frame`")
    return str(frame if link is None else link)


def _on_a_link(model: Model, frame: str) -> tuple[int, float]:
    """Index of the link that carries a frame, and the part of its length; the frame of a link is at its root."""
    found = frame_of(model.chain, frame)
    if found.link is None:
        raise ModelError(f"frame: got {frame!r}, which is fixed, expected a frame on a beam; choose another one")
    return found.link, 1.0 if found.place is None else found.place.eta or 0.0


@checked
class Measurement:
    """Several sensors on one model: the stacked reading as an expression, and as numbers with noise and rounding.

    Parameters
    ----------
    model : Model
        The arm.
    sensors : sequence of Sensor
        Sensors in the order of their readings.
    loads : sequence of Load
        Loads on the arm, as in `simulate`.
    base : MovingBase, optional
        Motion of the base.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> sensors = [pliant.control.Encoder(joint, noise=1e-3, quantum=1e-4) for joint in model.joints]
    >>> measurement = pliant.control.Measurement(model, sensors)
    >>> print(measurement.ideal([0.1, 0.2, 0.0, 0.0], np.zeros(4)))
    [[0.1 0.2]]
    >>> read = measurement.reader(seed=1)
    >>> bool(np.abs(read(0.0, np.zeros(4), np.zeros(4), np.zeros(2))).max() < 0.01)
    True
    >>> C, D, y0 = measurement.matrices(np.zeros(8), np.zeros(2))
    >>> C.shape, D.shape, y0.shape
    ((2, 8), (2, 2), (2,))
    """

    def __init__(
        self, model: Model, sensors: Sequence[Sensor], loads: Sequence[Load] = (), base: MovingBase | None = None
    ) -> None:  # fmt: skip
        if not len(sensors):
            raise ModelError("sensors: expected at least one")
        self.model, self.sensors, self.loads, self.base = model, tuple(sensors), tuple(loads), base
        self._derived = Derived()
        self._symbols = (ca.SX.sym("t"), ca.SX.sym("q", model.n_q), ca.SX.sym("qd", model.n), ca.SX.sym("qdd", model.n))
        t, q, qd, qdd = self._symbols
        acting = Acting(t, self.loads, base)
        parts = [ca.SX(s.expression(model, q, qd, qdd, acting)) for s in self.sensors]
        self._y = ca.vertcat(*parts)
        self.accelerated = bool(ca.depends_on(self._y, qdd))
        self.sizes = [int(part.shape[0]) for part in parts]
        self.size = sum(self.sizes)
        self.noise = self._of_each(lambda s: s.noise)
        self.quantum = self._of_each(lambda s: s.digit(model))
        self.gain, self.offset = self._of_each(lambda s: s.gain), self._of_each(lambda s: s.offset)
        self.rough = bool((self.noise.any() or self.quantum.any() or self.offset.any()) or (self.gain != 1).any())

    def _of_each(self, number: Callable[[Sensor], float]) -> Array:
        """(k,) a number of each sensor, repeated for its readings."""
        return np.repeat([float(number(sensor)) for sensor in self.sensors], self.sizes)

    @symbolic_property
    def _ideal(self) -> ca.Function:
        """Ideal readings as a function of time, coordinates, rates, torques and parameters."""
        (t, q, qd, qdd), y, model = self._symbols, self._y, self.model
        tau = ca.SX.sym("tau", model.n_joints)
        if self.accelerated:
            chain = model.chain.on(self.base, t)
            force = ca.mtimes(chain.actuation(), tau)
            force += sum((load.expression(chain, t, q, qd) for load in self.loads), ca.SX.zeros(model.n))
            y = ca.substitute(y, qdd, equations(chain, model.equations.formulation).accelerations(q, qd, force, {}))
        return ca.Function("reading", [t, q, qd, tau, model.parameter_symbols], ca.cse([ca.densify(y)]))

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the k readings; raises `ModelError` if two are equal."""
        found = [name for sensor in self.sensors for name in sensor.channels(self.model)]
        twice = sorted({name for name in found if found.count(name) > 1})
        if twice:
            raise ModelError(f"sensors: two of them are called {twice[0]!r}; give one a `name` of its own")
        if len(found) != self.size:
            raise ModelError(
                f"sensors: {len(found)} names for {self.size} readings; give each reading one of its `parts`"
            )
        return tuple(found)

    def require_instant(self, who: str) -> Measurement:
        """Return itself; raise `UnsupportedModel` if a sensor has a clock, a delay or a low-pass.

        Parameters
        ----------
        who : str
            Name of the caller, for the message.

        Returns
        -------
        Measurement

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Encoder("upper")])
        >>> measurement.require_instant("Stepper") is measurement
        True
        """
        for sensor in self.sensors:
            if sensor.clocked:
                raise UnsupportedModel(
                    f"{who}: the {type(sensor).__name__} {sensor.label(self.model)!r} has a sample_time, delay or "
                    "cutoff, and readings here are of this instant; leave them out, or read it in `simulate`"
                )
        return self

    def felt(self, q: SX, qd: SX, qdd: SX, acting: Acting) -> SX:
        """(k, 1) ideal readings of an arm with given accelerations `qdd`.

        Parameters
        ----------
        q, qd, qdd : (n, 1) expression
            Coordinates, rates and accelerations.
        acting : Acting
            Time, loads and motion of the base.

        Returns
        -------
        expression
            (k, 1).

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Accelerometer("fore")])
        >>> q, qd, qdd = (casadi.SX.sym(name, 4) for name in ("q", "qd", "qdd"))
        >>> measurement.felt(q, qd, qdd, pliant.control.sensing.sensors.Acting(0.0)).shape
        (1, 1)
        """
        return ca.vertcat(*(s.expression(self.model, q, qd, qdd, acting) for s in self.sensors))

    def read(self, t: float, q: Array, qd: Array, qdd: Array, felt: Felt) -> Array:
        """Ideal readings in a run, as numbers.

        Parameters
        ----------
        t : float
            Time, s.
        q, qd, qdd : (n,) array
            Coordinates, rates and accelerations.
        felt : Felt
            Loads, motion of the base, and values of the parameters.

        Returns
        -------
        (k,) array

        Examples
        --------
        >>> model, zero = pliant.load("two-link").model(), np.zeros(4)
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Encoder("fore")])
        >>> from pliant.control.controllers.controller import Felt
        >>> print(measurement.read(0.0, zero, zero, zero, Felt((), None, lambda tau: tau)))
        [0.]
        """
        reading = self.reading(felt.loads, felt.base)
        return np.asarray(reading(np.array([t], dtype=float), q, qd, qdd, self.model.values(felt.parameters)))

    def reading(self, loads: Sequence[Load] = (), base: MovingBase | None = None) -> Kernel:
        """Return ideal readings as a compiled function of time, coordinates, rates, accelerations and parameters.

        Parameters
        ----------
        loads : sequence of Load
            Loads on the arm.
        base : MovingBase, optional
            Motion of the base.

        Returns
        -------
        Kernel
            Function of arrays (1,), (n,), (n,), (n,), (P,), or of batches of them, that returns (k,).

        Examples
        --------
        >>> model, zero = pliant.load("two-link").model(), np.zeros(4)
        >>> reading = pliant.control.Measurement(model, [pliant.control.TipPosition()]).reading()
        >>> print(reading(np.zeros(1), zero, zero, zero, np.zeros(0)).round(3))
        [2. 0. 0.]
        """

        def made() -> Kernel:
            t, x = ca.SX.sym("t"), ca.SX.sym("q", self.model.n_q)
            v, a = (ca.SX.sym(name, self.model.n) for name in ("qd", "qdd"))
            y, names = ca.SX(self.felt(x, v, a, Acting(t, tuple(loads), base))), ["t", "q", "qd", "qdd", "p"]
            given = [t, x, v, a, self.model.parameter_symbols]
            return Kernel(ca.Function("reading", given, ca.cse([ca.densify(y)]), names, ["y"]))

        return self._derived("readings", (Same(base), *map(Same, loads)), made)

    def expression(self, q: SX, qd: SX, tau: SX, t: SX = 0.0) -> SX:
        """(k, 1) ideal readings under torques `tau`.

        Parameters
        ----------
        q, qd : (n, 1) expression
            Coordinates and rates.
        tau : (m, 1) expression
            Joint torques.
        t : expression
            Time, s, at which loads act.

        Returns
        -------
        expression
            (k, 1).

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Encoder("upper")])
        >>> q, qd, tau = (casadi.SX.sym(name, size) for name, size in (("q", 4), ("qd", 4), ("tau", 2)))
        >>> measurement.expression(q, qd, tau).shape
        (1, 1)
        """
        return self._ideal(t, q, qd, tau, self.model.parameter_symbols)

    def ideal(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike | None = None, t: ArrayLike = 0.0) -> Array:
        """Return readings without noise.

        Parameters
        ----------
        q, qd : (n,) or (N, n) array
            States.
        tau : (m,) or (N, m) array, optional
            Joint torques, for accelerometers; zero by default.
        t : float or (N,) array
            Time, s, at which loads act.

        Returns
        -------
        (N, k) array
            One row for one state.
        """
        q, qd = np.atleast_2d(np.asarray(q, dtype=float)), np.atleast_2d(np.asarray(qd, dtype=float))
        tau = np.zeros((len(q), self.model.n_joints)) if tau is None else np.atleast_2d(np.asarray(tau, dtype=float))
        times = np.broadcast_to(np.asarray(t, dtype=float), (len(q),))[:, None]
        p = np.tile(self.model.nominal_parameters, (len(q), 1))
        return np.array(self._ideal(times.T, q.T, qd.T, tau.T, p.T), dtype=float).T

    def reader(self, seed: int = 0) -> Callable[[float, Array, Array, Array], Array]:
        """Return a new function of (t, q, qd, tau) that reads with noise and rounding.

        Parameters
        ----------
        seed : int
            Seed of the noise.

        Returns
        -------
        function
            Function of (t, q, qd, tau), one state, that returns (k,) readings.
        """
        rng = np.random.default_rng(seed)

        def read(t: float, q: Array, qd: Array, tau: Array) -> Array:
            return self.add_noise(self.ideal(q, qd, tau, t)[0], rng)

        return read

    def add_noise(self, y: Array, rng: np.random.Generator) -> Array:
        """Apply gain, offset, noise and rounding to ideal readings, without clocks.

        Parameters
        ----------
        y : (..., k) array
            Ideal readings.
        rng : numpy.random.Generator
            Source of the noise.

        Returns
        -------
        (..., k) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Encoder("upper", quantum=0.25)])
        >>> print(measurement.add_noise(np.array([0.3]), np.random.default_rng(0)))
        [0.25]
        """
        noisy = self.gain * y + self.offset + self.noise * rng.standard_normal(y.shape)
        return rounded(noisy, self.quantum)

    def rounded(self, y: SX) -> SX:
        """Readings with gain and offset, rounded to the quanta, as expressions.

        Parameters
        ----------
        y : (k, 1) expression
            Readings.

        Returns
        -------
        expression
            (k, 1).

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> measurement = pliant.control.Measurement(model, [pliant.control.Encoder("upper", quantum=0.25)])
        >>> measurement.rounded(casadi.SX(0.3))
        SX(0.25)
        """
        read = ca.DM(self.gain) * ca.SX(y) + ca.DM(self.offset)
        parts = zip(ca.vertsplit(read), self.quantum.tolist())
        return ca.vertcat(*(ca.floor(part / step + 0.5) * step if step else part for part, step in parts))

    def matrices(self, x0: Array, u0: Array) -> tuple[Array, Array, Array]:
        """Return C, D and the reading y0 of the linearization about a state.

        Parameters
        ----------
        x0 : (n_q + n,) array
            State [q; qd].
        u0 : (m,) array
            Torques.

        Returns
        -------
        C, D, y0 : (k, 2n), (k, m), (k,) array
            y = y0 + C (x - x0) + D (u - u0), with displacements along the speeds for joints with quaternions.
        """
        model, chain = self.model, self.model.chain
        q, qd, u = (ca.SX.sym(*given) for given in (("q", model.n_q), ("qd", model.n), ("u", model.n_joints)))
        y, p = self.expression(q, qd, u), model.parameter_symbols
        by_state = ca.horzcat(chain.jacobian(y, q), ca.jacobian(y, qd))
        f = ca.Function("output", [q, qd, u, p], [ca.densify(by_state), ca.densify(ca.jacobian(y, u)), y])
        state = np.asarray(x0, dtype=float)
        C, D, y0 = (
            np.array(v, dtype=float)
            for v in f(state[: model.n_q], state[model.n_q :], u0, model.nominal_parameters)
        )  # fmt: skip
        return C, D, y0.ravel()
