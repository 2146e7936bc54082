"""Sensors: what an arm's controller can know. Each gives its ideal reading as an expression; noise and steps are added.

A reading is h(q, qd, qdd): accelerations enter for accelerometers, and with them the loads on the arm and the motion of
its base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.control.law import Felt
from pliant.derived import Derived, Same
from pliant.dynamics import equations
from pliant.dynamics.denoc import outward_motion
from pliant.dynamics.frames import frame_motion, frame_of, frame_pose
from pliant.dynamics.kinematics import placements
from pliant.dynamics.section_forces import InternalForces
from pliant.dynamics.stations import locate, places_of
from pliant.errors import ModelError
from pliant.kernels import Kernel
from pliant.model import Model
from pliant.options import DriveSide, PlaneName
from pliant.signatures import checked


class Acting(NamedTuple):
    """What acts on an arm at the time of a reading: loads and motion of the base, objects of `pliant.loads`."""

    t: Any
    loads: tuple[Any, ...] = ()
    base: Any = None


@dataclass(frozen=True, kw_only=True)
class Sensor:
    """`noise` is the standard deviation of a reading, `quantum` the step of its digits (0: none), both in its unit.

    Parameters
    ----------
    noise : float
        Standard deviation of a reading, in its unit.
    quantum : float
        Step of its digits, in its unit; 0 for none.
    """

    noise: float = 0.0
    quantum: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "quantum"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ModelError(f"{name}: got {value!r}, expected zero or a positive number")

    def expression(self, model: Model, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
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


@checked
@dataclass(frozen=True)
class Encoder(Sensor):
    """Angle (or position) of a joint, on the "link" or on the "motor" side of its drive; `rate` reads its speed.

    Parameters
    ----------
    joint : str
        Name of the joint.
    side : "motor" or "link"
        Of its drive.
    rate : bool
        Read the speed (rad/s, m/s) instead of the position.

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

    def expression(self, model: Model, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
        """rad, m, or per second."""
        if self.joint not in model.joints:
            raise ModelError(f"joint: got {self.joint!r}, expected one of {', '.join(model.joints)}")
        shaft = model.chain.shafts[model.joints.index(self.joint)]
        if self.rate:
            return qd[shaft.actuated if self.side == "motor" else shaft.index]
        if shaft.place is None:
            raise ModelError(
                f"joint: got {self.joint!r}, which has no position of its own, expected one that has; read its speed "
                "with rate=True"
            )
        return q[shaft.place if self.side == "link" or shaft.drive is None else shaft.drive.place]


@checked
@dataclass(frozen=True)
class StrainGauge(Sensor):
    """Curvature (1/m) of a beam at station `x` (m from its root), in the plane "bending_y" or "bending_z".

    It is the bending moment that the section carries over EI, as in `Result.strain`, in recordings and exports; the
    strain at a distance d from the neutral axis is d times this. Torques and loads enter at once: at the root of a link
    without a hub the moment is the joint torque itself.

    Parameters
    ----------
    link : str
        Name of the link.
    x : float
        Station, m from its root.
    plane : "bending_y" or "bending_z"
        Plane of the bending.
    frame : str, optional
        In place of `link` and `x`: one of `model.frames`, at whose section the gauge is.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> gauge = pliant.control.Measurement(model, [pliant.control.StrainGauge("upper", 0.0)])
    >>> bool(gauge.ideal(model.equilibrium([0.0, 0.0]), np.zeros(model.n))[0] < 0)  # it sags
    True
    """

    link: str | None = None
    x: float = 0.0
    plane: PlaneName = "bending_y"
    frame: str | None = None

    def expression(self, model: Model, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
        """v'' or w''."""
        name = _one_place(self.link, self.frame)
        if self.frame is None:
            place, eta = locate(model.chain, name, self.x)
        elif self.x:
            raise ModelError(f"frame: got {self.frame!r} beside `x`, expected one place; remove `x`")
        else:
            place, eta = _on_a_link(model, self.frame)
        link, shapes = model.chain.links[place], model.chain.links[place].body.shapes
        if shapes is None or link.slides:
            raise ModelError(f"links.{link.name}: a strain gauge needs a flexible beam of fixed length")
        if self.plane not in shapes.fields:
            raise ModelError(f"plane: links.{link.name} has no {self.plane!r}, it has {', '.join(set(shapes.fields))}")
        key = (Same(acting.base), *map(Same, acting.loads))
        forces = model.derived("forces inside", key, lambda: InternalForces(model.chain, acting.loads, acting.base))
        return forces.at(forces.stretches(place, eta).by_field()[self.plane], acting.t, q, qd, qdd)


@checked
@dataclass(frozen=True)
class TipPosition(Sensor):
    """Position of the tip, or of another frame, in the base (m): the chosen `axes`, all three by default.

    Parameters
    ----------
    axes : tuple of int
        Some of 0, 1, 2.
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

    def expression(self, model: Model, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
        """(len(axes), 1) metres."""
        if not len(self.axes) or any(a not in (0, 1, 2) for a in self.axes):
            raise ModelError(f"axes: got {self.axes!r}, expected some of 0, 1, 2")
        if self.frame == "tip":
            *_, last = placements(model.chain, q)
            return ca.SX(last.p_tip[list(self.axes)])
        return ca.SX(frame_pose(model.chain, q, self.frame)[list(self.axes), 3])


@checked
@dataclass(frozen=True)
class Accelerometer(Sensor):
    """Specific force (m/s^2) at a link's distal end, or at a frame, along an axis of it: acceleration less gravity.

    Parameters
    ----------
    link : str
        Name of the link, at whose distal frame it sits.
    axis : int
        0, 1 or 2: x, y or z of the frame.
    frame : str, optional
        In place of `link`: one of `model.frames`, at whose origin it sits.

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

    def expression(self, model: Model, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
        """Specific force along the axis."""
        if self.axis not in (0, 1, 2):
            raise ModelError(f"axis: got {self.axis!r}, expected 0, 1 or 2")
        name = _one_place(self.link, self.frame)
        chain = model.chain.on(acting.base, acting.t)
        if self.frame is not None:
            return frame_motion(chain, q, qd, qdd, name)[2][self.axis]
        return outward_motion(chain, q, qd, qdd)[places_of(chain, name)[-1]].ports[0].a[self.axis]


def _one_place(link: str | None, frame: str | None) -> str:
    """The name of the link or of the frame on which a sensor sits."""
    if link is not None and frame is not None:
        raise ModelError(f"frame: got {frame!r} beside `link`, expected one place; remove one of them")
    if link is None and frame is None:
        raise ModelError("link: got None, expected the name of a link; name it, or a `frame`")
    return str(frame if link is None else link)


def _on_a_link(model: Model, frame: str) -> tuple[int, float]:
    """Number of the link that a frame sits on, and the part of its length: its own frame is at its root."""
    found = frame_of(model.chain, frame)
    if found.link is None:
        raise ModelError(f"frame: got {frame!r}, which is fixed, expected a frame on a beam; choose another one")
    return found.link, 1.0 if found.place is None else found.place.eta or 0.0


@checked
class Measurement:
    """Several sensors on one model: the stacked reading as an expression, and as numbers with noise and quanta.

    `loads` and `base` are what acts on the arm besides its torques, as in `simulate`.

    Parameters
    ----------
    model : Model
        The arm.
    sensors : sequence of Sensor
        In the order of their readings.
    loads : sequence of Load
        What acts on the arm besides its torques.
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
        self, model: Model, sensors: Sequence[Sensor], loads: Sequence[Any] = (), base: Any = None
    ) -> None:  # fmt: skip
        if not len(sensors):
            raise ModelError("sensors: expected at least one")
        self.model, self.sensors = model, tuple(sensors)
        self._derived = Derived()
        n = model.n
        t, q, qd, qdd = (ca.SX.sym(name, size) for name, size in (("t", 1), ("q", model.n_q), ("qd", n), ("qdd", n)))
        parts = [ca.SX(s.expression(model, q, qd, qdd, Acting(t, tuple(loads), base))) for s in self.sensors]
        y, tau = ca.vertcat(*parts), ca.SX.sym("tau", model.n_joints)
        self.accelerated = bool(ca.depends_on(y, qdd))
        if self.accelerated:
            chain = model.chain.on(base, t)
            force = ca.mtimes(chain.actuation(), tau)
            force += sum((load.expression(chain, t, q, qd) for load in loads), ca.SX.zeros(n))
            y = ca.substitute(y, qdd, equations(chain, model.equations.formulation).accelerations(q, qd, force, {}))
        given = [t, q, qd, tau, model.parameter_symbols]
        self._ideal = ca.Function("reading", given, ca.cse([ca.densify(y)]))
        sizes = [part.shape[0] for part in parts]
        self.size = int(y.shape[0])
        self.noise = np.repeat([s.noise for s in self.sensors], sizes)
        self.quantum = np.repeat([s.quantum for s in self.sensors], sizes)
        self.rough = bool(self.noise.any() or self.quantum.any())

    def felt(self, q: Any, qd: Any, qdd: Any, acting: Acting) -> Any:
        """(k, 1) ideal readings of an arm with accelerations `qdd`, whatever they come from.

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
        >>> measurement.felt(q, qd, qdd, pliant.control.sensors.Acting(0.0)).shape
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
        >>> print(measurement.read(0.0, zero, zero, zero, pliant.control.law.Felt((), None, lambda tau: tau)))
        [0.]
        """
        reading = self.reading(felt.loads, felt.base)
        return np.asarray(reading(np.array([t], dtype=float), q, qd, qdd, self.model.values(felt.parameters)))

    def reading(self, loads: Sequence[Any] = (), base: Any = None) -> Kernel:
        """Ideal readings as a compiled function of time, coordinates, rates, accelerations and parameters.

        Parameters
        ----------
        loads : sequence of Load
            What acts on the arm.
        base : MovingBase, optional
            Motion of the base.

        Returns
        -------
        Kernel
            Of arrays (1,), (n,), (n,), (n,), (P,), and of batches of them; gives (k,).

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

    def expression(self, q: Any, qd: Any, tau: Any, t: Any = 0.0) -> Any:
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

    def ideal(self, q: Any, qd: Any, tau: Any = None, t: Any = 0.0) -> Array:
        """Readings without noise.

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
        """A fresh instrument: a function of (t, q, qd, tau) that reads with noise (seeded) and quanta.

        Parameters
        ----------
        seed : int
            Of the noise.

        Returns
        -------
        function
            Of (t, q, qd, tau), one state; gives (k,) readings.
        """
        rng = np.random.default_rng(seed)

        def read(t: float, q: Array, qd: Array, tau: Array) -> Array:
            return self.add_noise(self.ideal(q, qd, tau, t)[0], rng)

        return read

    def add_noise(self, y: Array, rng: np.random.Generator) -> Array:
        """Noise added, then rounded to the quanta.

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
        noisy = y + self.noise * rng.standard_normal(y.shape)
        step = np.where(self.quantum > 0, self.quantum, 1.0)
        return np.asarray(np.where(self.quantum > 0, np.round(noisy / step) * step, noisy))

    def rounded(self, y: Any) -> Any:
        """Readings rounded to the quanta, as expressions.

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
        parts = zip(ca.vertsplit(ca.SX(y)), self.quantum.tolist())
        return ca.vertcat(*(ca.floor(part / step + 0.5) * step if step else part for part, step in parts))

    def matrices(self, x0: Array, u0: Array) -> tuple[Array, Array, Array]:
        """C, D and the reading y0 of the linearisation about a state.

        Parameters
        ----------
        x0 : (n_q + n,) array
            State [q; qd].
        u0 : (m,) array
            Torques.

        Returns
        -------
        C, D, y0 : (k, 2n), (k, m), (k,) array
            y = y0 + C (x - x0) + D (u - u0), with displacements along the speeds where joints have quaternions.
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
