"""Study files of `pliant identify`: an arm, the numbers to fit, and the runs, each a CSV file with its inputs.

format: 1
robot: arm.yaml
parameters:
  links.upper.beam.EI_z: {start: 900, bounds: [100, 5000]}
  payload.mass: {prior: [0.5, 0.1]}
  reading.gauge.delay:                     # also gain and offset; of inputs input.upper.gain, .offset and input.delay
runs:
  - data: swing.csv                        # beside this file; the first line names the columns
    columns: {upper: encoder, tip.x: camera_x, gauge: strain_1}
    sensors: {gauge: {strain: upper, x: 0.05, at: [0.01, 0]}}
    torque: {upper: motor}                 # a column, or what a scenario takes
    initial: {q: {upper: -90 deg}}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    model_validator,
)

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.control.trajectories.measured_motion import MeasuredMotion
from pliant.errors import ModelError
from pliant.identification.calibration import is_calibration
from pliant.identification.channels import require_channels
from pliant.identification.estimate import Identification
from pliant.identification.fitting import identify
from pliant.identification.recording import Recording, Strain
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import ClocksName, Interpolation, LossName, MethodName, Station
from pliant.protocols import Torque
from pliant.robot.files.documents import read_document, validated
from pliant.robot.files.error_messages import clash, fault, short_key, suggestion
from pliant.robot.files.file_paths import FilePaths, SearchPaths, paths_of
from pliant.robot.parts.fields import Alternatives, Description, Document, NonNegative, Number, Positive, sequence
from pliant.simulation.runs.files.csv_files import read_csv
from pliant.simulation.scenario.parts import Part, SensorPart
from pliant.simulation.scenario.robots import RobotEntry
from pliant.simulation.scenario.scenario import ModelOptions, Scenario
from pliant.simulation.scenario.values import as_given


def _pair(value: object) -> tuple[object, ...]:
    items = sequence(value, "two numbers")
    if len(items) != 2:
        raise fault(f"two numbers, not {len(items)}")
    return tuple(items)


def _columns(value: object) -> object:
    """Columns by channel; a list names channels whose columns have the same name."""
    if isinstance(value, list | tuple):
        return {str(name): str(name) for name in value}
    return value


Pair = Annotated[tuple[Number, Number], BeforeValidator(_pair)]
_NAMES = Alternatives(({"type": "array", "items": {"type": "string"}},))
_NOTHING = Alternatives(({"type": "null"},))


class UnknownChoice(Description):
    """One number to fit: its start, bounds and prior."""

    start: Number | None = Field(
        None, description="first guess, in the unit of the number; that of the robot by default", examples=[900.0]
    )
    bounds: Pair | None = Field(None, description="least and greatest value", examples=[[100.0, 5000.0]])
    prior: Pair | None = Field(
        None, description="mean and standard deviation of the number from earlier knowledge", examples=[[0.5, 0.1]]
    )


class Gauge(Description):
    """A strain gauge."""

    strain: str = Field(description="link on which it is mounted", examples=["upper"])
    x: Number | Station = Field(0.0, description="m, station on the beam; also tip, middle", examples=[0.05])
    at: Pair = Field(description="m, y and z of the fiber", examples=[[0.01, 0.0]])

    def make(self) -> Strain:
        """Make the channel."""
        return Strain(self.strain, self.x, self.at)


def _which_sensor(value: object) -> str:
    return "<sensor>" if isinstance(value, Part) or (isinstance(value, Mapping) and "type" in value) else "<gauge>"


GaugeOrSensor = Annotated[
    Annotated[Gauge, Tag("<gauge>")] | Annotated[SensorPart, Tag("<sensor>")], Discriminator(_which_sensor)
]


class MotionColumn(Description):
    """Column of measured angles, for a joint that moves as measured."""

    column: str = Field(description="column of the data", examples=["encoder"])
    order: int = Field(
        4, description="degree of local polynomials, or of a spline without `window`", examples=[4], ge=2, le=7
    )
    window: int | None = Field(
        None, description="samples that each local polynomial sees, an odd number", examples=[17], ge=3
    )

    @classmethod
    def read(cls, given: object) -> Self:
        """Read the mapping of a file."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ModelError(f"motion: `{where}`: {first['msg']}") from None

    def make(self, data: str, t: Array, table: Mapping[str, Array]) -> MeasuredMotion:
        """Make the motion from the columns of the file `data`."""
        if not np.isfinite(table[self.column]).all():
            raise ModelError(f"{data}: column `{self.column}` has gaps; a motion needs every row")
        try:
            return MeasuredMotion(t, table[self.column][:, None], self.order, self.window)
        except ModelError as error:
            raise ModelError(f"{data}: motion of column `{self.column}`: {error}") from None


def is_column(given: object) -> bool:
    """True if a motion comes from a column of the data."""
    return isinstance(given, Mapping) and "column" in given


class RunStart(Description):
    """Start of a run."""

    q: Any = Field(None, description="rad or m, as in a scenario", examples=[{"upper": "-90 deg"}])
    qd: Any = Field(None, description="rad/s or m/s, likewise", examples=[{"upper": 0.5}])
    equilibrium: bool = Field(
        False, description="whether amplitudes and motors settle first", examples=[True], strict=True
    )
    free: tuple[str, ...] = Field(
        (), description="coordinates and rates whose start is fitted as well", examples=[["upper"]]
    )


class MeasuredRun(Description):
    """One measured run: its data and its inputs."""

    data: str = Field(description="CSV file beside this one; its first line names the columns", examples=["swing.csv"])
    name: str | None = Field(None, description="title of the run; that of the file by default", examples=["swing"])
    time: str = Field("time", description="column of times in seconds", examples=["t"])
    columns: Annotated[dict[str, str], BeforeValidator(_columns), _NAMES] = Field(
        description="column of each channel", examples=[{"upper": "encoder", "tip.x": "camera_x"}]
    )
    gaps: bool = Field(
        False, description="whether empty cells mean that this sensor was not read then", examples=[True], strict=True
    )
    noise: dict[str, Positive] = Field(
        {},
        description="standard deviation of each channel, in its unit; estimated otherwise",
        examples=[{"upper": 0.0001}],
    )
    sensors: dict[str, GaugeOrSensor] = Field(
        {},
        description="strain gauges, or sensors as in a scenario, by the name of their channel",
        examples=[{"gauge": {"strain": "upper", "x": 0.05, "at": [0.01, 0]}}],
    )
    initial: RunStart = Field(
        RunStart(), description="state at the start of the run", examples=[{"q": {"upper": "-90 deg"}}]
    )
    torque: Any = Field(
        None,
        description="torques or commands of motors: columns by joint, or as in a scenario",
        examples=[{"upper": "motor"}],
    )
    between: Interpolation = Field("linear", description="interpolation of columns between two rows", examples=["hold"])
    motion: dict[str, Any] = Field(
        {},
        description="prescribed joints: a column of angles and how it is smoothed, or as in a scenario",
        examples=[{"upper": {"column": "encoder", "order": 4, "window": 17}}],
    )
    calibration: dict[str, Number] = Field(
        {}, description="gains, offsets and delays that are known", examples=[{"reading.gauge.delay": 0.004}]
    )
    controller: Any = Field(
        None,
        description="controller, as in a scenario",
        examples=[{"type": "pd", "kp": 400, "kd": 40, "reference": [0, 0]}],
    )

    def read(self, paths: FilePaths, robot: Robot, model: ModelOptions) -> Recording:
        """Read the file and check everything against the arm."""
        driven = {str(k): v for k, v in self.torque.items()} if isinstance(self.torque, Mapping) else {}
        inputs = {joint: column for joint, column in driven.items() if isinstance(column, str)}
        followed = {joint: MotionColumn.read(given) for joint, given in self.motion.items() if is_column(given)}
        wanted = [self.time, *self.columns.values(), *inputs.values(), *(one.column for one in followed.values())]
        table = read_csv(paths.find(self.data), wanted, self.gaps)
        t = table[self.time]
        file = Path(self.data)
        title = self.name or Path(file.stem if file.suffix.lower() == ".gz" else file).stem
        if not np.isfinite(t).all():
            raise ModelError(f"{self.data}: column `{self.time}` has gaps; every row needs a time")
        scenario = self._scenario(robot, model, max(float(t[-1]), 1e-9), bool(inputs))
        q0, qd0 = scenario.start()
        torque = self._torque(scenario, table, t, inputs)
        controller, motion = scenario.driving
        recording = Recording(
            t=t,
            readings={channel: self._series(t, table[column]) for channel, column in self.columns.items()},
            noise=dict(self.noise) or None,
            q0=q0,
            qd0=qd0,
            equilibrium=self.initial.equilibrium,
            free_start=self.initial.free,
            torque=torque,
            controller=controller,
            motion={**motion, **{joint: one.make(self.data, t, table) for joint, one in followed.items()}},
            sensors={key: sensor.make() for key, sensor in self.sensors.items()},
            name=title,
            calibration=dict(self.calibration),
        )
        require_channels(scenario.built, recording)
        return recording

    def _scenario(self, robot: Robot, model: ModelOptions, duration: float, columns: bool) -> Scenario:
        start = {key: value for key, value in self.initial.model_dump().items() if key != "free" and value is not None}
        return Scenario(
            robot=robot, model=model, initial=start, duration=duration, torque=None if columns else self.torque,
            motion={joint: given for joint, given in self.motion.items() if not is_column(given)},
            controller=self.controller,
        )  # fmt: skip

    def _torque(
        self, scenario: Scenario, table: Mapping[str, Array], t: Array, inputs: Mapping[str, str]
    ) -> Torque | None:
        """Torques from the columns `inputs`, or those of the scenario without any."""
        if not inputs:
            given: Torque | None = as_given(scenario.torque)
            return given
        joints = scenario.built.layout.inputs  # and couplings that are commanded
        strange = [joint for joint in self.torque if joint not in joints]
        if strange:
            raise ModelError(f"{self.data}: torque of {', '.join(strange)}; expected joints among {', '.join(joints)}")
        columns = []
        for joint in joints:
            entry = self.torque.get(joint, 0.0)
            values = table[entry] if isinstance(entry, str) else np.full(len(t), float(entry))
            if not np.isfinite(values).all():
                raise ModelError(f"{self.data}: the torque of {joint} has gaps; every row needs one")
            columns.append(values)
        return t, np.column_stack(columns), self.between

    @staticmethod
    def _series(t: Array, values: Array) -> Array | tuple[Array, Array]:
        """Values of a column; with their times where it has gaps."""
        read = np.isfinite(values)
        return values if read.all() else (t[read], values[read])


class IdentificationStudy(Document):
    """A study of identification, as a file has it."""

    name: str | None = Field(None, description="title of the study", examples=["stiffness of the lab arm"])
    robot: RobotEntry = Field(description="the arm, as in a scenario", examples=["lab-arm"])
    model: ModelOptions = Field(
        ModelOptions(), description="options of the equations", examples=[{"formulation": "denoc"}]
    )
    parameters: Annotated[dict[str, Annotated[UnknownChoice, _NOTHING]], _NAMES] = Field(
        description="numbers to fit, by path; a list takes all defaults",
        examples=[{"links.upper.beam.EI_z": {"start": 900, "bounds": [100, 5000]}}],
    )
    runs: tuple[MeasuredRun, ...] = Field(
        description="the recordings", examples=[[{"data": "swing.csv", "columns": ["upper"]}]]
    )
    loss: LossName = Field(
        "linear", description="loss of the residuals; all but linear are robust against outliers", examples=["soft_l1"]
    )
    loss_scale: Positive = Field(
        2.0, description="residual in standard deviations from which a robust loss takes effect", examples=[2.0]
    )
    restarts: int = Field(
        0, description="further fits from scattered starts, of which the best counts", examples=[3], ge=0
    )
    clocks: ClocksName = Field(
        "check",
        description="whether to raise an error for readings that a shift in time would explain",
        examples=["ignore"],
    )
    method: MethodName = Field("auto", description="name of the integrator", examples=["dop853"])
    rtol: Positive = Field(1e-7, description="relative local error", examples=[1e-07])
    atol: NonNegative = Field(1e-9, description="absolute local error", examples=[1e-09])
    _paths: FilePaths = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if isinstance(data.get("parameters"), list):
            data["parameters"] = {str(path): {} for path in data["parameters"]}
        if isinstance(data.get("parameters"), dict):
            data["parameters"] = {key: {} if value is None else value for key, value in data["parameters"].items()}
        return data

    def model_post_init(self, context: Mapping[str, object] | None) -> None:
        """Remember the folders in which files that are named here may be."""
        BaseModel.__setattr__(self, "_paths", paths_of(context))

    @model_validator(mode="after")
    def _check(self) -> Self:
        paths = self.robot.paths()
        for path in self.parameters:
            if path not in paths and not is_calibration(path):
                raise clash(f"parameters: no number `{short_key(path)}` in the robot{suggestion(path, paths)}")
        for k, run in enumerate(self.runs):
            if run in self.runs[:k]:
                raise clash(f"runs[{k}] is runs[{self.runs.index(run)}] again and would count twice; remove it")
        return self

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], *, search_paths: SearchPaths | None = None) -> Self:
        """Read a study file; errors name the lines of faults. `search_paths` are those of `pliant.load`."""
        source = Path(path)
        data, lines = read_document(source, "a study names a robot, parameters and runs")
        return validated(cls, data, lines, source.name, FilePaths.of_file(source, search_paths))

    def recordings(self) -> list[Recording]:
        """All runs, read and checked."""
        return [run.read(self._paths, self.robot, self.model) for run in self.runs]

    def run(self, resume: Path | None = None) -> Identification:
        """Fit the numbers; see `pliant.identify`."""
        o = self.model
        chosen = self.parameters
        return identify(
            Model(self.robot, o.formulation, o.rotation, o.stiffening), self.recordings(), tuple(chosen),
            start={k: c.start for k, c in chosen.items() if c.start is not None},
            bounds={k: c.bounds for k, c in chosen.items() if c.bounds is not None},
            prior={k: c.prior for k, c in chosen.items() if c.prior is not None},
            loss=self.loss, loss_scale=self.loss_scale, restarts=self.restarts, clocks=self.clocks,
            method=self.method, rtol=self.rtol, atol=self.atol, resume=resume,
        )  # fmt: skip
