"""Recording of one measured run: times, readings by channel, start and inputs of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.sensing.sensors import Sensor
from pliant.errors import ModelError
from pliant.mechanics.loads.wrenches import Load
from pliant.protocols import Control, MovingBase, PrescribedMotion, State, Torque
from pliant.simulation.runs.results import Result

LATE_START = 10.0
"""Durations after zero beyond which a clock that begins so late is not that of the run."""


@checked
@dataclass(frozen=True)
class Strain:
    """A strain gauge along the beam of `link`, at `x` meters from its root ("middle", "tip"), on the fiber (y, z).

    Parameters
    ----------
    link : str
        Name of the link.
    x : float, "middle" or "tip"
        Station, m from its root.
    at : (float, float)
        Fiber (y, z), m from the neutral axis.

    Examples
    --------
    >>> pliant.identification.Strain("upper", 0.05, at=(0.01, 0.0)).x
    0.05
    """

    link: str
    x: float | str = 0.0
    at: tuple[float, float] = (0.0, 0.0)


@checked
@dataclass(frozen=True)
class Recording:
    """Recording of one measured run.

    Parameters
    ----------
    t : (N,) seconds
        Since the start of the run, at which `q0`, `qd0` hold; strictly rising.
    readings : mapping from channel to (N,) values, or to a pair (times, values) where a sensor has its own clock rate
        Channels: a coordinate (`upper`, `upper.motor`), its rate (`upper.rate`), `tip.x`, `tip.y`, `tip.z`, the torque
        of a joint whose motion is prescribed (`upper.torque`), or a key of `sensors`.
    noise : float or mapping from channel to float, optional
        Standard deviation of a reading. Channels without one get it from the residuals of the fit.
    q0, qd0 : as in `pliant.simulate`
    equilibrium : bool
        Amplitudes and motors start at static rest, which moves with the parameters; `q0` then gives the joints.
    free_start : sequence of str
        Coordinates (`upper.bending_y.1`) or rates (`upper.rate`) whose start is unknown and fitted as well.
    torque, controller, motion, loads, base : as in `pliant.simulate`, but for functions in Python, which have no slope
    sensors : mapping, optional
        Further channels: a sensor of `pliant.control` (its readings are called `NAME`, `NAME.x`, ...; its gain, offset,
        delay and clock are ignored), a `Strain`, or a function of (t, q, qd) in CasADi operations that returns one
        value.
    name : str
    calibration : mapping, optional
        Gains, offsets and delays that are known: `reading.CHANNEL.gain`, `.offset`, `.delay`, `.lag` (a reading is gain
        times the value delay seconds ago, behind a low-pass of time constant lag, plus offset), `input.JOINT.gain`,
        `.offset` and `input.delay` of torques or commands. `pliant.identify` fits numbers by the same names.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> recording = pliant.identification.Recording(t, {"upper": np.sin(t)}, noise=1e-3)
    >>> recording.times(until=0.1).shape, recording.sigma("upper")
    ((11,), 0.001)
    >>> times, values = recording.reading("upper", until=0.1)
    >>> values.shape
    (11,)
    """

    t: ArrayLike
    readings: Mapping[str, Any]
    noise: float | Mapping[str, float] | None = None
    q0: State | None = None
    qd0: State | None = None
    equilibrium: bool = False
    free_start: Sequence[str] = ()
    torque: Torque | None = None
    controller: Control | None = None
    motion: Mapping[str, PrescribedMotion] = field(default_factory=dict)
    loads: Sequence[Load] = ()
    base: MovingBase | None = None
    sensors: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    calibration: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.readings:
            raise ModelError(f"{self._title}: no readings; give at least one channel, such as {{'upper': [...]}}")
        own = _clock(self._title, "t", self.t)
        series: dict[str, tuple[Array, Array]] = {}
        for channel, given in self.readings.items():
            pair = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1
            times = _clock(self._title, channel, given[0]) if pair else own
            series[channel] = times, _values(self._title, channel, given[1] if pair else given, times)
        object.__setattr__(self, "t", own)
        object.__setattr__(self, "series", series)
        self._check_clocks()
        self._check_noise()
        self._check_calibration()

    @classmethod
    @checked
    def of(cls, run: Result, sensors: Sequence[Sensor] | None = None, **given: Any) -> Recording:
        """Recording of a simulated run, from the readings of its sensors, as a log of a real run would have it.

        Gains, offsets and delays of the sensors are in the readings and nowhere else: `identify` can fit them, or
        `calibration` states them. A low-pass is a `lag` of 1 / (2 pi cutoff).

        Parameters
        ----------
        run : Result
            Result of `pliant.simulate(..., sensors=...)`.
        sensors : sequence of Sensor, optional
            Sensors of the run, if it was read from a file, which does not keep them.
        **given : object
            Arguments of `Recording`: `torque`, `controller`, `motion`, `q0` and other inputs of the run. Without any of
            the first three the torques that acted are used, linear between the rows of the result. By default `noise`
            is that of the sensors, and the start is that of the run.

        Returns
        -------
        Recording

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> gauge = pliant.control.StrainGauge("upper", 0.05, at=(0.01, 0.0), noise=1e-8, sample_time=0.005)
        >>> run = pliant.simulate(model, 0.5, torque=[5.0, 0.0], sensors=[gauge])
        >>> read = pliant.identification.Recording.of(run, torque=[5.0, 0.0])
        >>> read.channels, read.sigma("upper.strain")
        (('upper.strain',), 1e-08)
        >>> round(pliant.validate(model, read).channels["upper.strain"].fit)
        100
        """
        if not run.measured:
            raise ModelError("run: no sensor has read it; give `sensors` to simulate")
        found = [one.sensor for one in run.measured.values()] if sensors is None else sensors
        known = {sensor.label(run.model): sensor.bare for sensor in found if sensor is not None}
        series = {name: (one.t, one.values) for name, one in run.measured.items()}
        noise = {name: one.noise for name, one in run.measured.items() if one.noise}
        driven = any(given.get(name) is not None for name in ("torque", "controller", "motion"))
        usual = {} if driven else {"torque": (run.t, run.tau)}
        start: dict[str, Any] = (
            {"q0": run.q[0], "qd0": run.qd[0]} if not {"q0", "qd0", "equilibrium"} & set(given) else {}
        )
        clock = max((one.t for one in run.measured.values()), key=len)
        return cls(clock, series, **{"noise": noise or None, "sensors": known, **start, **usual, **given})

    @property
    def _title(self) -> str:
        return f"recording {self.name!r}" if self.name else "recording"

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in the order given."""
        return tuple(self.readings)

    @property
    def t_end(self) -> float:
        """Time of the last reading."""
        return max(float(times[-1]) for times, _ in self._series.values())

    @property
    def _series(self) -> dict[str, tuple[Array, Array]]:
        found: dict[str, tuple[Array, Array]] = self.__dict__["series"]
        return found

    def times(self, until: float = np.inf) -> Array:
        """(M,) all times at which anything was read.

        Parameters
        ----------
        until : float
            Seconds; the end by default.

        Returns
        -------
        (M,) array
        """
        every = np.unique(np.concatenate([times for times, _ in self._series.values()]))
        return np.asarray(every[every <= until])

    def reading(self, channel: str, until: float = np.inf) -> tuple[Array, Array]:
        """Times and values (N,) of a channel.

        Parameters
        ----------
        channel : str
            One of `channels`.
        until : float
            Seconds; the end by default.

        Returns
        -------
        times, values : (N,) array
        """
        times, values = self._series[channel]
        return times[times <= until], values[times <= until]

    def sigma(self, channel: str) -> float | None:
        """Standard deviation of a reading where it was given.

        Parameters
        ----------
        channel : str
            One of `channels`.

        Returns
        -------
        float or None
        """
        if self.noise is None or isinstance(self.noise, float | int):
            return None if self.noise is None else float(self.noise)
        return self.noise.get(channel)

    def _check_clocks(self) -> None:
        """Check that sensors and inputs share the clock of the run."""
        end = self.t_end
        for channel, (times, _) in self._series.items():
            span = max(float(times[-1] - times[0]), float(np.finfo(float).tiny))
            if times[0] < 0.0 or times[0] > LATE_START * span:
                raise ModelError(
                    f"{self._title}: the clock of {channel!r} runs from {times[0]:.9g} to {times[-1]:.9g} s, which is "
                    "not the clock of the run (0 at its start); subtract the time of the start"
                )
        if isinstance(self.torque, tuple) and np.ndim(self.torque[0]) == 1 and np.size(self.torque[0]) > 1:
            clock = _clock(self._title, "torque", self.torque[0])
            slack = 2.0 * float(np.diff(clock).max())
            if clock[0] > slack or clock[-1] < end - slack:
                raise ModelError(
                    f"{self._title}: torques run from {clock[0]:.9g} to {clock[-1]:.9g} s and readings to {end:.9g} s; "
                    "the clocks are not the same, or the torques do not cover the run"
                )

    def _check_calibration(self) -> None:
        from pliant.identification.calibration import calibration_number

        for name, value in self.calibration.items():
            number = calibration_number(name)
            if number.run or (number.side == "reading" and number.of not in self.readings):
                raise ModelError(f"{self._title}: calibration of `{name}`, which was not read")
            if not np.isfinite(value):
                raise ModelError(f"{self._title}: calibration of `{name}` is {value!r}, expected a finite number")

    def _check_noise(self) -> None:
        if isinstance(self.noise, Mapping):
            unknown = sorted(set(self.noise) - set(self.readings))
            if unknown:
                raise ModelError(
                    f"{self._title}: noise of {', '.join(unknown)}, which were not read; "
                    f"expected channels among {', '.join(self.readings)}"
                )
        for channel in self.readings:
            value = self.sigma(channel)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ModelError(f"{self._title}: noise of {channel!r} is {value!r}, expected a number above 0")


def _clock(title: str, name: str, given: Any) -> Array:
    try:
        times = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{title}: times of {name!r} are no numbers") from None
    if times.ndim != 1 or len(times) < 2:
        raise ModelError(f"{title}: times of {name!r} have shape {times.shape}, expected (N,) with N >= 2")
    if not np.isfinite(times).all():
        raise ModelError(f"{title}: times of {name!r} are not finite at row {int(np.argmin(np.isfinite(times)))}")
    steps = np.diff(times)
    if not (steps > 0).all():
        row = int(np.argmax(steps <= 0)) + 1
        raise ModelError(
            f"{title}: the clock of {name!r} goes from {times[row - 1]:.9g} to {times[row]:.9g} s at row {row}; times "
            "must rise strictly: were two clocks mixed, or rows written twice?"
        )
    return times


def _values(title: str, channel: str, given: Any, times: Array) -> Array:
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{title}: {channel!r} holds what is no number; expected one for each time") from None
    if values.shape != times.shape:
        raise ModelError(
            f"{title}: {channel!r} has shape {values.shape} for {len(times)} times; give one value for each time, or "
            "the pair (times, values) if the sensor has a clock of its own"
        )
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ModelError(
            f"{title}: {channel!r} is {values[row]} at row {row} (t = {times[row]:.6g} s); leave such rows out: give "
            "the pair (times, values) for this channel"
        )
    return values
