"""`Result`, the history of a run: it carries its robot, options and versions, so that its file is readable alone."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pliant.algebra.quaternions import rotation_vectors
from pliant.arrays import Array
from pliant.base import stages
from pliant.base.later import LaterModule, provided
from pliant.base.signatures import checked
from pliant.base.writing import atomic_write
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.model.terms import Energy
from pliant.robot.stations import locate
from pliant.simulation.runs.checks.energy_balance import ALLOWED
from pliant.simulation.runs.files import saved
from pliant.simulation.runs.files.digest import csv_comment
from pliant.simulation.runs.quantities.measured_series import MeasuredSeries

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from pliant.integrators.solution import Solution
    from pliant.mechanics.loads.wrenches import Load
    from pliant.protocols import MovingBase
    from pliant.simulation.runs.equations import coupled_lines
    from pliant.simulation.runs.quantities import error_estimate, internal_forces
    from pliant.simulation.runs.quantities.error_estimate import Validity
    from pliant.simulation.runs.quantities.internal_forces import Reaction, RunHistory, SectionForces
else:  # modules that make expressions, and import CasADi
    coupled_lines, internal_forces, error_estimate = (
        LaterModule(f"pliant.{name}")
        for name in (
            "simulation.runs.equations.coupled_lines",
            "simulation.runs.quantities.internal_forces",
            "simulation.runs.quantities.error_estimate",
        )
    )


MEASURED, CLOCK = "measured.", "time."
"""Prefixes of the name of a channel in files, for its values and for its times."""


@dataclass(frozen=True)
class RunStats:
    """Statistics of a run. `status` is "finished", "event", "stopped" by a limit of time or steps, "interrupted",
    "failed", or "energy error" if it reached its end with an energy that does not balance. `energy_error` is that error
    as a part of the energy that moved.

    `wall` are the seconds of the integration; building, tracing and compiling took `compile` seconds more.
    """

    status: str
    message: str
    method: str
    reason: str
    steps: int
    rejected: int
    evaluations: int
    jacobians: int
    factorizations: int
    wall: float
    crawling: bool = False
    events: tuple[tuple[float, str], ...] = ()
    loads: tuple[str, ...] = ()
    compile: float = 0.0
    energy_error: float = math.nan


class Readings:
    """Torques (N, m), power residual (N,), accelerations (N, n) and multipliers of loops (N, rows) of a run, evaluated
    when first asked for."""

    def __init__(self, compute: Callable[[], tuple[Array | None, ...]]) -> None:
        self._compute = compute

    @classmethod
    def of(cls, *values: Array | None) -> Readings:
        """Readings that are already numbers."""
        return cls(lambda: values)

    @cached_property
    def values(self) -> tuple[Array | None, ...]:
        """The arrays."""
        return self._compute()

    def __reduce__(self) -> tuple[object, ...]:
        return Readings.of, self.values


@dataclass(frozen=True)
class Result:
    """States and torques over time, and everything that follows from them.

    Attributes
    ----------
    t : (N,)
        Times, s.
    q, qd : (N, n)
        Coordinates in the order of `coordinates`, and rates in that of `speeds`.
    work : (N,)
        Work done on the arm since the start by torques, loads and the motion of the base, less what dampers and
        friction took, integrated along the run, J.
    robot, options : Robot, dict
        The arm, and the options of its model.
    parameters : (P,)
        Values of the model's parameters.
    stats : RunStats
        Status, method, steps and times.
    readings : Readings
        Torques, power residual and accelerations, evaluated when first asked for.
    versions : dict
        Versions of the libraries that decide the bits.
    built : Model, optional
        The model of the run, where there was one; a file has only its robot and options.
    acted : (loads, base), optional
        Loads and motion of the base that acted on the arm; a file does not keep them.
    drives : (N, k), optional
        States of friction, gears and motors, where the arm has some; `result["shoulder.current"]` has one by name.
    measured : dict
        Readings of sensors, a `MeasuredSeries` by the name of its channel, each with times of its own.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> result = pliant.simulate(model, 0.1, output_step=0.01)
    >>> result.deflection("upper").shape, result.rotation("upper", "middle").shape
    ((11, 3), (11, 3))
    >>> result.internal("upper", 0.0).moment_z.shape, result.reaction("fore").force.shape
    ((11,), (11, 3))
    >>> result.curvature("upper").shape, result.strain("upper", at=(0.01, 0.0)).shape
    ((11, 3), (11,))
    >>> result.stress("upper", at=(0.01, 0.0), modulus=70e9).shape
    (11,)
    >>> path = result.save("run.nc")
    >>> again = pliant.Result.load(path).acting(loads=())
    >>> bool(np.array_equal(again.q, result.q))
    True
    >>> result.to_csv("run.csv").name, result.to_html("run.html").name
    ('run.csv', 'run.html')
    >>> len(result.plot("joints").axes) > 0, len(result.compare(again).axes) > 0
    (True, True)
    """

    t: Array
    q: Array
    qd: Array
    work: Array
    robot: Robot
    options: dict[str, Any]
    parameters: Array
    stats: RunStats
    readings: Readings = field(repr=False)
    versions: dict[str, str] = field(default_factory=dict)
    built: Model | None = field(default=None, repr=False)
    acted: tuple[tuple[Load, ...], MovingBase | None] | None = field(default=None, repr=False)
    drives: Array | None = None
    measured: dict[str, MeasuredSeries] = field(default_factory=dict, repr=False)

    @classmethod
    def from_run(
        cls, model: Model, solution: Solution, q: Array, qd: Array, work: Array, parameters: Array,
        events: tuple[str, ...], readings: Readings, loads: Sequence[Load] = (), base: MovingBase | None = None,
        drives: Array | None = None,
    ) -> Result:  # fmt: skip
        """Make a result from an integration, finished or broken.

        Parameters
        ----------
        model : Model
            The arm.
        solution : Solution
            Result of the integrator.
        q, qd : (N, n) array
            Coordinates and rates.
        work : (N,) array
            Work done on the arm, J.
        parameters : (P,) array
            Values of the model's parameters.
        events : tuple of str
            Names of the events that occurred.
        readings : Readings
            Torques, power residual, accelerations and multipliers, evaluated later.
        loads : sequence of Load
            Loads that acted.
        base : MovingBase, optional
            Motion of the base.
        drives : (N, k) array, optional
            States of friction, gears and motors.

        Returns
        -------
        Result
        """
        s = solution.stats
        log = tuple((float(time), name) for time, name in zip(solution.events.t, events))
        stats = RunStats(
            status=solution.status, message=solution.message, method=s.method, reason=s.reason, steps=s.steps,
            rejected=s.rejected, evaluations=s.rhs, jacobians=s.jacobians, factorizations=s.factorizations,
            wall=s.wall, crawling=s.crawling, events=log,
            loads=tuple(type(part).__name__ for part in (*loads, base) if part is not None),
        )  # fmt: skip
        return cls(
            t=solution.t, q=q, qd=qd, work=work, robot=model.robot, options=asdict(model.options),
            parameters=parameters, stats=stats, readings=readings, versions=saved.versions(),
            built=model, acted=(tuple(loads), base), drives=drives,
        )  # fmt: skip

    @property
    def tau(self) -> Array:
        """(N, n_joints) torques that acted; for prescribed joints, torques that the motion needed. Couplings that are
        commanded have further columns: their forces (N), positive where they push apart, in the order of
        `model.layout.inputs`."""
        return cast("Array", self.readings.values[0])

    @property
    def power_residual(self) -> Array:
        """(N,) dE/dt with the formulation's own accelerations, less the power of torques, loads and dampers."""
        return cast("Array", self.readings.values[1])

    @property
    def qdd(self) -> Array | None:
        """(N, n) accelerations."""
        return self.readings.values[2]

    @property
    def multipliers(self) -> Array:
        """(N, rows) forces (N) and moments (N m) that hold loops together, in the order of `model.constraints`: those
        that the first frame of a loop exerts on the second, in the axes of the first."""
        found = self.readings.values[3] if len(self.readings.values) > 3 else None
        return np.zeros((len(self), 0)) if found is None else np.asarray(found)

    # ------------------------------------------------------------------------------------------ names

    @cached_property
    def model(self) -> Model:
        """The model of the run, rebuilt from robot and options when the result was loaded from a file."""
        if self.built is not None:
            return self.built
        made = saved.model_of(self.robot, self.options)
        if self.q.shape[1] != made.n_q or self.qd.shape[1] != made.n or self.tau.shape[1] != made.layout.n_inputs:
            raise ModelError(
                f"the result has {self.q.shape[1]} coordinates and {self.tau.shape[1]} torques, its robot "
                f"{made.n_q} and {made.layout.n_inputs}; the file is damaged, or was changed"
            )
        return made

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of q."""
        return self.model.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the columns of qd."""
        return self.model.speeds

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the columns of tau."""
        return self.model.joints

    @checked
    def __getitem__(self, name: str) -> Array:
        """History (N,) of one coordinate by name, of a speed that is no rate of a coordinate, of a state of a drive,
        of `NAME.length` (m) and `NAME.force` (N, apart) of a coupling, or of `NAME.gap` (m), `NAME.force` and
        `NAME.friction` (N) of a contact."""
        within = self.model.layout.drive_states
        if self.drives is not None and name in within:
            return np.asarray(self.drives[:, within.index(name)])
        coupling, _, what = name.rpartition(".")
        if what in ("length", "force") and coupling in [one.name for one in self.model.layout.couplings]:
            return self._line(coupling, what)
        touching = [one.name for one in self.robot.contacts]
        if coupling in touching and what in ("gap", "force", "friction"):
            found = coupled_lines.touch_histories(self.model, self.q, self.qd, self.parameters)
            return np.asarray(found[what][:, touching.index(coupling)])
        if name in self.speeds and name not in self.coordinates:
            return np.asarray(self.qd[:, self.model.speed_index(name)])
        return np.asarray(self.q[:, self.model.index(name)])

    def _line(self, name: str, what: str) -> Array:
        """Length of a coupling, or the whole force by which it pushes its ends apart."""
        layout = self.model.layout
        L, _, force = coupled_lines.line_histories(self.model, self.q, self.qd, self.parameters)
        k = [one.name for one in layout.couplings].index(name)
        if what == "length":
            return np.asarray(L[:, k])
        return np.asarray(force[:, k] + (self.tau[:, layout.inputs.index(name)] if name in layout.inputs else 0.0))

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        end = f"{len(self)} rows to t = {self.t[-1]:g} s" if len(self) else "empty"
        return f"Result({self.robot.name!r}, {end}, {self.stats.method}, {self.stats.status})"

    def __str__(self) -> str:
        lost = [self.stats.message] if self.stats.energy_error > ALLOWED else []
        return "\n  ".join([repr(self), *lost, *map(str, self.validity)])

    # ----------------------------------------------------------------------------------- what follows

    @cached_property
    def tip_pose(self) -> Array:
        """Pose (N, 4, 4) of the distal frame of the last link, in the base."""
        return self.model.tip_pose(self.q, self.parameters)

    def pose(self, frame: str = "tip") -> Array:
        """Pose (N, 4, 4) of a frame, in the base.

        Parameters
        ----------
        frame : str
            One of `model.frames`.

        Returns
        -------
        (N, 4, 4) array

        Examples
        --------
        >>> result = pliant.simulate(pliant.load("two-link").model(), 0.1)
        >>> bool(np.array_equal(result.pose("tip"), result.tip_pose))
        True
        """
        return self.model.pose(self.q, self.parameters, frame)

    @property
    def tip(self) -> Array:
        """Position (N, 3) of the tip, in the base."""
        return np.asarray(self.tip_pose[:, :3, 3])

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, gravity, strain and total energy, each (N,)."""
        return self.model.energy(self.q, self.qd, self.parameters)

    @cached_property
    def momentum(self) -> Array:
        """(N, 6) momentum [angular about the center of mass; linear], in axes that stand still, N m s and N s."""
        return self.model.momentum(self.q, self.qd, self.parameters)

    @property
    def energy_balance(self) -> Array:
        """(N,) energy gained since the start less work done on the arm: zero but for the error of the integrator. Work
        of a jump at the start is in the first row of `work`, and the first row of `energy` is right after the jump."""
        total = self.energy.total
        return np.asarray(total - total[0] - (self.work - self.work[0]))

    @checked
    def deflection(self, link: str | int, x: float | str = "tip") -> Array:
        """Displacement of a section in the link's own root frame.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.

        Returns
        -------
        (N, 3) array
            m.
        """
        return self._station(link, x)[0]

    @checked
    def rotation(self, link: str | int, x: float | str = "tip") -> Array:
        """Rotation vector of a section in the link's own root frame: to first order theta_z is the slope v'.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.

        Returns
        -------
        (N, 3) array
            rad.
        """
        return self._station(link, x)[1]

    def _station(self, link: str | int, x: float | str) -> tuple[Array, Array]:
        model = self.model
        place, eta = locate(
            model.layout, link, x, lambda place: internal_forces.length_of(model, self.parameters, place)
        )

        def make() -> Kernel:
            recipe = model.recipe and f"{model.recipe} station {place} {eta!r}"
            title = f"a station of {self.robot.name}"
            return Kernel(Recorded(lambda: internal_forces.station_shift(model, place, eta), recipe, title=title), "vm")

        kernel = model.derived("stations", (place, eta), make)
        shift, turn = kernel(self.q, np.tile(self.parameters, (len(self), 1)))
        return shift, turn if turn.shape[1] == 3 else rotation_vectors(turn.reshape(-1, 3, 3))

    @cached_property
    def validity(self) -> tuple[Validity, ...]:
        """Slope of the sections of each link that bends, and the error of small deflections and few shapes.

        The estimate takes some rows of the run and the forces in each of them, and computes where an exact beam under
        the same forces would have its tip. An estimate from the share of the last shape in the strain energy counts
        where it is larger. Computed when first asked for.
        """
        return error_estimate.judge(self)

    # ----------------------------------------------------------------------------------- internal forces

    @checked
    def internal(self, link: str | int, x: float | str = 0.0) -> SectionForces:
        """Forces and moments inside a beam at station `x` (meters from the root, "tip", "middle"), each over time.

        Forces of the outer part on the inner part, in section axes: `.axial`, `.shear_y`, `.shear_z`, `.torque`,
        `.moment_y` (-EI_y w''), `.moment_z` (EI_z v''), each (N,). At the root it is minus the reaction of the joint,
        less the inertia of the hub.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.

        Returns
        -------
        SectionForces
            N and N m.
        """
        return self.history.internal(link, x)

    @checked
    def reaction(self, joint: str | int, axes: str = "link") -> Reaction:
        """`.force` and `.moment` (N, 3) that a link receives through its joint, about its origin, in link or base axes.

        Along the axis of a joint without friction and rotor, this is its torque. `reaction("base")` is what the base,
        fixed or free, receives from all that stands on it, about its origin.

        Parameters
        ----------
        joint : str or int
            Name or number of the link that the joint carries; "base" for the base.
        axes : "link" or "base"
            In which the vectors are given: those of the link, or those that stand still. Of the base, "link" is its
            own axes, which turn where it flies.

        Returns
        -------
        Reaction
            `.force`, N, and `.moment`, N m.
        """
        return self.history.reaction(joint, axes)

    @checked
    def curvature(self, link: str | int, x: float | str = 0.0) -> Array:
        """Twist phi' and curvatures -w'', v'' (N, 3) at a station, 1/m: section moments over stiffnesses.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.

        Returns
        -------
        (N, 3) array
            1/m.
        """
        return self.history.curvature(link, x)

    @checked
    def strain(self, link: str | int, x: float | str = 0.0, at: tuple[float, float] | None = None) -> Array:
        """Strain (N,) along the beam of the fiber at (y, z); without `at`, the largest on the section's outline.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.
        at : (float, float), optional
            Fiber (y, z), m from the neutral axis; the outermost one by default.

        Returns
        -------
        (N,) array
        """
        return self.history.strain(link, x, at)

    @checked
    def stress(
        self,
        link: str | int,
        x: float | str = 0.0,
        at: tuple[float, float] | None = None,
        modulus: float | None = None,
    ) -> Array:
        """Stress (N,) in Pa: `strain` times Young's modulus, that of the material by default.

        Parameters
        ----------
        link : str or int
            Name or number of the link.
        x : float, "tip" or "middle"
            Station, m from the root.
        at : (float, float), optional
            Fiber (y, z), m from the neutral axis; the outermost one by default.
        modulus : float, optional
            Young's modulus, Pa; that of the material by default.

        Returns
        -------
        (N,) array
            Pa.
        """
        return self.history.stress(link, x, at, modulus)

    @checked
    def shear_stress(self, link: str | int, x: float | str = 0.0) -> Array:
        """Largest shear stress (N,) of torsion in Pa: the torque about the shear center over `Section.torsion_modulus`.

        The shear stress of bending is not in it; at a sharp corner that looks inwards the fillet decides.

        Parameters
        ----------
        link : str or int
            Name or number of a link whose beam has a section.
        x : float, "tip" or "middle"
            Station, m from the root.

        Returns
        -------
        (N,) array
            Pa.

        Examples
        --------
        >>> beam = pliant.Beam(length=1.0, material="steel", section=pliant.Section(shape="rod", diameter=0.01))
        >>> arm = pliant.Robot(name="arm", links=[pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(torsion=1))])
        >>> pliant.simulate(arm.model(), 0.01, output_step=0.01).shear_stress("arm").shape
        (2,)
        """
        return self.history.shear_stress(link, x)

    def acting(self, loads: Sequence[Load] = (), base: MovingBase | None = None) -> Result:
        """The result with the loads and base motion of its run given again: a file does not keep them.

        Parameters
        ----------
        loads : sequence of Load
            Loads of the run.
        base : MovingBase, optional
            Motion of the base in the run.

        Returns
        -------
        Result
            The same history.
        """
        return replace(self, acted=(tuple(loads), base))

    @property
    def history(self) -> RunHistory:
        """States, accelerations and all that acted, for section forces."""
        acting = self.acted
        if acting is None:
            if self.stats.loads:
                raise ModelError(
                    f"this run had {', '.join(self.stats.loads)}, which a file does not keep; "
                    "give them again: result.acting(loads=[...], base=...)"
                )
            acting = ((), None)
        qdd = self.qdd
        if qdd is None:
            qdd = self.model.forward_dynamics(self.q, self.qd, self.tau, self.parameters)
        commanded = self.tau[:, self.model.n_joints :]
        loads, base = acting
        return internal_forces.RunHistory(
            model=self.model, t=self.t, q=self.q, qd=self.qd, qdd=qdd, parameters=self.parameters, push=commanded,
            multipliers=self.multipliers, loads=loads, base=base,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ files

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The result as one xarray dataset, with units, coordinates by name, and robot, options and versions as
        attributes."""
        import xarray as xr

        energy = self.energy
        columns, axes = saved.columns(self.model), ["x", "y", "z"]

        def series(values: Array, unit: str, text: str) -> tuple[str, Array, dict[str, str]]:
            return ("time", values, {"units": unit, "long_name": text})

        data = xr.Dataset(
            {
                "q": (("time", "coordinate"), self.q, {"long_name": "generalized coordinates", "units": "rad or m"}),
                "qd": (("time", [*columns][-1]), self.qd, {"long_name": "rates", "units": "rad/s or m/s"}),
                "tau": (("time", "joint"), self.tau, {"long_name": "joint torques", "units": "N m or N"}),
                "tip": (("time", "axis"), self.tip, {"long_name": "tip position", "units": "m"}),
                "kinetic": series(energy.kinetic, "J", "kinetic energy"),
                "gravity": series(energy.gravity, "J", "gravity energy"),
                "strain": series(energy.strain, "J", "strain energy"),
                "work": series(self.work, "J", "work done on the arm"),
                "power_residual": series(self.power_residual, "W", "power residual of the formulation"),
                "parameters": (("parameter",), self.parameters),
                **self._accelerations([*columns][-1]),
                **self._multipliers(),
                **({} if self.drives is None else {"drives": (("time", "drive_state"), self.drives)}),
                **{f"{MEASURED}{name}": _as_variable(one) for name, one in self.measured.items()},
            },
            {
                "time": ("time", self.t, {"units": "s"}),
                **columns,
                "joint": list(self.model.layout.inputs),
                "axis": axes,
                **({} if self.drives is None else {"drive_state": list(self.model.layout.drive_states)}),
                **{f"{CLOCK}{name}": (f"{CLOCK}{name}", one.t, {"units": "s"}) for name, one in self.measured.items()},
                "parameter": list(self.options["parameters"]),
                **({"row": list(self.model.constraints)} if self.model.constraints else {}),
            },
            saved.attributes(self.robot, self.options, self.versions, stats=self.stats),
        )
        return saved.with_digest(data)

    def _accelerations(self, axis: str) -> dict[str, object]:
        text = {"long_name": "accelerations", "units": "rad/s2 or m/s2"}
        return {} if self.qdd is None else {"qdd": (("time", axis), self.qdd, text)}

    def _multipliers(self) -> dict[str, object]:
        text = {"long_name": "forces that close loops", "units": "N or N m"}
        return {"multipliers": (("time", "row"), self.multipliers, text)} if self.model.constraints else {}

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF. A killed process leaves either the old file or the new one, never half of one.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        path
        """
        return saved.write(self.dataset, path)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Result
        """
        needed = ("q", "qd", "tau", "work", "power_residual", "parameters")
        with saved.reading(path, "result", "stats", needed) as file, file.data as data:
            n_q, n, m = (data[name].shape[-1] for name in ("q", "qd", "tau"))
            rows = len(data["time"])
            stats = dict(file.stats)
            stats["events"] = tuple((float(t), str(name)) for t, name in stats["events"])
            stats["loads"] = tuple(stats.get("loads", ()))
            readings = Readings.of(
                file.real("tau", (rows, m)),
                file.real("power_residual", (rows,)),
                file.real("qdd", (rows, n)) if "qdd" in data else None,
                file.real("multipliers", (rows, data["multipliers"].shape[-1])) if "multipliers" in data else None,
            )
            channels = [str(name).removeprefix(MEASURED) for name in data.data_vars if str(name).startswith(MEASURED)]
            return cls(
                t=file.real("time", (rows,)),
                q=file.real("q", (rows, n_q)),
                qd=file.real("qd", (rows, n)),
                work=file.real("work", (rows,)),
                robot=file.robot,
                options=file.options,
                parameters=file.real("parameters", (len(file.options["parameters"]),)),
                stats=RunStats(**stats),
                readings=readings,
                versions=file.versions,
                drives=file.real("drives", data["drives"].shape) if "drives" in data else None,
                measured={one.name: one for one in map(partial(_of_variable, file), channels)},
            )

    @checked
    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write time, coordinates, rates, torques, tip and energies as columns with a header; the latest reading of
        each sensor is `measured.NAME`.

        The first line is a comment with a digest of the rest, `# pliant format 2 sha256 ...`, which `read_csv` checks.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        path
        """
        header = ["time", *self.coordinates]
        header += [f"{name}.rate" if name in self.coordinates else name for name in self.speeds]
        header += [f"{name}.{'torque' if name in self.joints else 'force'}" for name in self.model.layout.inputs]
        header += ["tip.x", "tip.y", "tip.z", "kinetic", "gravity", "strain"]
        header += [f"{MEASURED}{name}" for name in self.measured]
        energy = np.column_stack([self.energy.kinetic, self.energy.gravity, self.energy.strain])
        read = [one.held(self.t) for one in self.measured.values()]
        table = np.column_stack([self.t, self.q, self.qd, self.tau, self.tip, energy, *read])
        text = io.StringIO()
        np.savetxt(text, table, delimiter=",", header=",".join(header), comments="", fmt="%.12g")
        content = text.getvalue().encode()
        target = Path(path)
        with atomic_write(target) as partial:
            partial.write_bytes(csv_comment(content) + content)
        return target

    @stages.work("plot", "drawing a figure")  # it includes the import of Matplotlib
    def plot(self, *what: str, **options: object) -> Figure:
        """Figure of the run: see `pliant.view.plot`.

        Parameters
        ----------
        *what : str
            Names of figures: "joints", "attitude", "deflections", "path", "tip", "energy", "torques", "spectrum",
            "spectrogram", "error", "sensors". Several stand on one page; none gives an overview.
        **options : object
            `path`, where to write it, or `ax`, axes of yours to draw on.

        Returns
        -------
        matplotlib.figure.Figure
            `result.plot().show()` opens it, and so does `plt.show()` in a script that uses pyplot.
        """
        figure: Figure = provided("plot")(self, *what, **options)
        return figure

    @stages.work("compare", "drawing a figure")
    def compare(self, other: Result, **options: object) -> Figure:
        """Figure of this run and another one: see `pliant.view.compare`.

        Parameters
        ----------
        other : Result
            Of an arm with the same joints.
        **options : object
            `labels` and `path`.

        Returns
        -------
        matplotlib.figure.Figure
        """
        figure: Figure = provided("compare")(self, other, **options)
        return figure

    @stages.work("to_html", "writing a page")
    def to_html(self, path: str | os.PathLike[str], title: str | None = None) -> Path:
        """Write the run as one page with the arm in 3-D and plots: see `pliant.view.to_html`.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, optional
            The name of the robot by default.

        Returns
        -------
        path
        """
        written: Path = provided("to_html")(self, path, title)
        return written

    @stages.work("to_video", "drawing a movie")
    def to_video(self, path: str | os.PathLike[str], **options: object) -> Path:
        """Write the run as a movie, .mp4 or .gif: see `pliant.view.to_video`.

        Parameters
        ----------
        path : str or path
            The file, .mp4 or .gif.
        **options : object
            `fps`, `speed` and `magnification`.

        Returns
        -------
        path

        Examples
        --------
        >>> result = pliant.simulate(pliant.load("two-link").model(), 0.08)
        >>> result.to_video("run.gif", fps=25).name
        'run.gif'
        """
        written: Path = provided("to_video")(self, path, **options)
        return written

    def _repr_html_(self) -> str:
        return str(provided("result_html")(self))


def _as_variable(one: MeasuredSeries) -> tuple[str, Array, dict[str, object]]:
    """A channel as a file keeps it."""
    text = {"units": one.unit, "long_name": f"{one.name} as measured", "noise": one.noise}
    return f"{CLOCK}{one.name}", one.values, text


def _of_variable(file: saved.Saved, name: str) -> MeasuredSeries:
    """Read a channel from a file."""
    attributes = file.data[f"{MEASURED}{name}"].attrs
    t = file.real(f"{CLOCK}{name}", file.data[f"{CLOCK}{name}"].shape)
    values = file.real(f"{MEASURED}{name}", t.shape)
    return MeasuredSeries(name, t, values, str(attributes["units"]), float(attributes["noise"]))
