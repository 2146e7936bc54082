"""Scenario of one run: frozen, checked as a whole when it is read, runnable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

import casadi as ca
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.base.writing import atomic_write, inside
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.errors import ModelError, PliantError
from pliant.integrators.methods import has_fixed_steps
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.options import FigureFormat, FigureName, FormulationName, MethodName, RotationName, StiffeningChoice
from pliant.protocols import Bindable, MovingBase
from pliant.robot.files.documents import read_document, validated
from pliant.robot.files.error_messages import clash, fault
from pliant.robot.files.file_paths import FilePaths, SearchPaths
from pliant.robot.files.robot_files import has_files, with_files
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.fields import (
    FORMAT,
    Alternatives,
    Description,
    Document,
    NonNegative,
    Positive,
    document_schema,
    sequence,
)
from pliant.simulation.runs.inputs import read_start
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant.simulation.scenario.parts import (
    BasePart,
    ControllerPart,
    LoadPart,
    SensorPart,
    TrajectoryPart,
    Trouble,
    raise_together,
)
from pliant.simulation.scenario.recordings import write_recording
from pliant.simulation.scenario.robots import RobotEntry
from pliant.simulation.scenario.values import StateValues, Torque, TorqueSamples, as_given, unknown_names


def _file_name(value: object) -> str:
    """A relative path that stays inside the folder of outputs."""
    path = PurePosixPath(value) if isinstance(value, str) and value.strip() else PurePosixPath("/")
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in str(value) or "\0" in str(value):
        raise fault("a file name inside the folder of outputs, such as run.nc")
    return str(path)


def _names(value: object) -> list[object]:
    return [value] if isinstance(value, str) else sequence(value, "a list of names")


def _steps(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise fault("a whole number of steps, 1 or more")
    return value


Steps = Annotated[int, BeforeValidator(_steps), WithJsonSchema({"type": "integer", "minimum": 1})]
FileName = Annotated[str, BeforeValidator(_file_name)]
_ONE = Alternatives(({"type": "string"},))


class ModelOptions(Description):
    """Options of the equations: see `pliant.Model`.

    Examples
    --------
    >>> pliant.scenario.ModelOptions(formulation="lagrange").rotation
    'exact'
    """

    formulation: FormulationName = Field("denoc", description="formulation of the equations", examples=["lagrange"])
    rotation: RotationName = Field("exact", description="rotation of the tip of a bent link", examples=["linear"])
    stiffening: StiffeningChoice = Field(
        "auto", description="order to which bent beams are followed", examples=["second-order"]
    )


class Initial(Description):
    """State at the start, by name or as lists; zero for all that is not given.

    Examples
    --------
    >>> pliant.scenario.Initial(q={"upper": "90 deg"}, equilibrium=True).equilibrium
    True
    """

    q: StateValues | None = Field(
        None,
        description="rad or m, by name, or a list of all joints or all coordinates; poses of free joints by parts",
        examples=[{"upper": "-90 deg"}],
    )
    qd: StateValues | None = Field(None, description="rad/s or m/s, likewise", examples=[{"upper": 0.5}])
    equilibrium: bool = Field(
        False,
        description="whether amplitudes and motors settle first, under gravity and the loads at t = 0",
        examples=[True],
        strict=True,
    )


class Outputs(Description):
    """Files that a run leaves in its folder.

    Examples
    --------
    >>> pliant.scenario.Outputs(figures=["joints", "energy"]).formats
    ('png',)
    """

    netcdf: FileName | None = Field(
        "run.nc", description="file of the whole result; Result.load reads it", examples=["run.nc"]
    )
    csv: FileName | None = Field(None, description="file of a table with a header", examples=["run.csv"])
    recording: FileName | None = Field(
        None,
        description="file of the readings of sensors, for validate and identify; its table is written beside it",
        examples=["rig.yaml"],
    )
    page: FileName | None = Field(
        None, description="file of one page with the arm in 3-D and plots", examples=["arm.html"]
    )
    figures: Annotated[tuple[FigureName, ...], BeforeValidator(_names), _ONE] = Field(
        (), description="names of figures", examples=[["joints", "energy"]]
    )
    formats: Annotated[tuple[FigureFormat, ...], BeforeValidator(_names), _ONE] = Field(
        ("png",), description="formats of figures", examples=[["png", "pdf"]]
    )


class Scenario(Document):
    """One run of one arm, as a file describes it.

    Examples
    --------
    >>> import pliant
    >>> scenario = pliant.Scenario(robot="two-link", duration=0.1, initial={"q": {"upper": "-90 deg"}})
    >>> scenario.run().stats.status
    'finished'
    """

    name: str | None = Field(None, description="a title", examples=["free swing"])
    robot: RobotEntry = Field(description="a file, a bundled arm, or the robot itself", examples=["two-link"])
    model: ModelOptions = Field(
        ModelOptions(), description="options of the equations", examples=[{"formulation": "denoc"}]
    )
    initial: Initial = Field(Initial(), description="the state at the start", examples=[{"q": {"upper": "-90 deg"}}])
    duration: Positive = Field(description="s, duration of the run", examples=[5.0])
    torque: Torque | None = Field(
        None, description="N m or N, by joint: constants, or samples {times, values}", examples=[{"upper": 2.0}]
    )
    motion: dict[str, TrajectoryPart] = Field(
        {},
        description="prescribed joints or motors by name",
        examples=[{"upper": {"type": "cycloidal", "from": 0, "to": "90 deg", "duration": 2}}],
    )
    controller: ControllerPart | None = Field(
        None,
        description="controller, by type and parameters",
        examples=[{"type": "pd", "kp": [400, 200], "kd": [40, 20], "reference": [0, 0]}],
    )
    loads: tuple[LoadPart, ...] = Field(
        (), description="wrenches and distributed loads", examples=[[{"type": "wrench", "force": [0, -20, 0]}]]
    )
    base: BasePart | None = Field(
        None,
        description="motion of the base: shaken or carried",
        examples=[{"type": "shaken", "acceleration": [0.5, 0, 0]}],
    )
    sensors: tuple[SensorPart, ...] = Field(
        (),
        description="sensors that read the run, each with its own clock",
        examples=[[{"type": "encoder", "joint": "upper", "resolution": 4096, "sample_time": 0.001}]],
    )
    limits: bool = Field(
        True,
        description="whether the run stops where a joint leaves the limits of the robot file",
        examples=[False],
        strict=True,
    )
    method: MethodName = Field("auto", description="name of the integrator", examples=["dop853"])
    rtol: Positive = Field(1e-8, description="relative local error", examples=[1e-08])
    atol: NonNegative = Field(1e-10, description="absolute local error", examples=[1e-10])
    step: Positive | None = Field(
        None, description="s, step of fixed-step methods; largest step of adaptive ones", examples=[0.001]
    )
    output_step: Positive | None = Field(
        None,
        description="s, time between rows of the result; a thousandth of the duration by default",
        examples=[0.002],
    )
    breaks: tuple[NonNegative, ...] = Field((), description="s, further times at which steps end", examples=[[0.5]])
    time_limit: Positive | None = Field(
        None, description="s, time that the run may take by the clock, compiling included", examples=[60.0]
    )
    max_steps: Steps | None = Field(
        None, description="greatest number of integrator steps, refused ones included", examples=[1000000]
    )
    outputs: Outputs = Field(Outputs(), description="files that the run writes", examples=[{"csv": "run.csv"}])

    # -------------------------------------------------------------------------------------------------------- checking

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Check names against the arm, once the arm itself is sound."""
        try:
            built = self.built
        except PliantError as error:
            raise clash(str(error)) from None
        raise_together(list(self._troubles(built)))
        return self

    def _troubles(self, built: Model) -> Iterator[Trouble]:
        joints, names, inputs = built.joints, built.coordinates, built.layout.inputs
        for key, known in (("q", names), ("qd", built.speeds)):
            known = (*known, *(link.piece.owner for link in built.chain.links if link.joint.is_ball))
            for place, error, given in unknown_names(
                getattr(self.initial, key), known, "coordinate", (built.n_joints, len(known))
            ):
                yield ("initial", key, *place), error, given
        torque = self.torque.values if isinstance(self.torque, TorqueSamples) else self.torque
        inner = ("torque", "values") if isinstance(self.torque, TorqueSamples) else ("torque",)
        for place, error, given in unknown_names(torque, inputs, "joint", (len(inputs),)):
            yield (*inner, *place), error, given
        movable = [*joints, *(name for name in names if name.endswith(".motor"))]
        for place, error, given in unknown_names(self.motion, movable, "joint or motor", ()):
            yield ("motion", *place), error, given
        controller, motion = self.driving
        for name, trajectory in motion.items():
            if getattr(trajectory, "n", 1) != 1:
                yield (
                    ("motion", name),
                    clash(f"it moves {trajectory.n} coordinates, expected one: give numbers, not lists"),
                    None,
                )
        for k, load in enumerate(self.loads):
            if load in self.loads[:k]:
                words = (
                    f"it is loads[{self.loads.index(load)}] again and would act twice; remove it, or give one of twice"
                )
                yield ("loads", k), clash(f"{words} the size"), None
        yield from self._misfits(built, controller, **self.surroundings)
        yield from self._sensor_troubles(built)
        if has_fixed_steps(self.method) and self.step is None:
            yield (
                ("step",),
                clash(f"missing key `step`: method {self.method!r} has a fixed step; give it in seconds"),
                None,
            )

    def _sensor_troubles(self, built: Model) -> Iterator[Trouble]:
        """Sensors that do not suit this arm, and recordings that cannot describe their sensors."""
        names: list[str] = []
        for k, sensor in enumerate(self.sensing):
            try:
                own = Measurement(built, [sensor]).channels
            except PliantError as error:
                yield ("sensors", k), clash(str(error)), None
                continue
            for name in own:
                if name in names:
                    yield ("sensors", k), clash(f"another sensor is called {name!r} too; give it a `name`"), None
            names += own
        if self.outputs.recording is not None:
            if not self.sensors:
                yield ("outputs", "recording"), clash("a recording needs `sensors`, which read the run"), None
            for key in ("loads", "base"):
                if getattr(self, key):
                    yield (
                        ("outputs", "recording"),
                        clash(f"a recording file has no `{key}`; use pliant.identification.Recording in Python"),
                        None,
                    )

    def _misfits(
        self, built: Model, controller: Bindable | None, loads: tuple[Load, ...], base: MovingBase | None
    ) -> Iterator[Trouble]:
        """Parts that are valid by themselves but do not suit this arm."""
        t, q, qd = (ca.SX.sym(name, size) for name, size in (("t", 1), ("q", built.n_q), ("qd", built.n)))
        trials: list[tuple[tuple[int | str, ...], Callable[[], object]]] = []
        if controller is not None:
            trials.append((("controller",), lambda: controller.bind(built)))
        for k, load in enumerate(loads):
            trials.append((("loads", k), partial(load.expression, built.chain, t, q, qd)))
        if base is not None:
            trials.append((("base",), lambda: base.expression(t, ca.SX.zeros(3))))
        for place, attempt in trials:
            try:
                attempt()
            except PliantError as error:
                yield place, clash(str(error)), None
            except (AttributeError, TypeError, ValueError) as error:
                yield place, clash(f"its parts do not fit together: {error}"), None

    # --------------------------------------------------------------------------------------------------------- running

    @cached_property
    def built(self) -> Model:
        """Model of the run."""
        return Model(self.robot, self.model.formulation, self.model.rotation, self.model.stiffening)

    @cached_property
    def driving(self) -> tuple[Any, dict[str, Any]]:
        """Controller and prescribed motion as objects; made once, so that a second run finds them compiled."""
        controller = None if self.controller is None else self.controller.make()
        return controller, {name: part.make() for name, part in self.motion.items()}

    @cached_property
    def surroundings(self) -> dict[str, Any]:
        """Loads and base as objects, by the names of the arguments of `simulate`."""
        base = None if self.base is None else self.base.make()
        return {"loads": tuple(part.make() for part in self.loads), "base": base}

    @cached_property
    def sensing(self) -> tuple[Sensor, ...]:
        """Sensors as objects."""
        return tuple(part.make() for part in self.sensors)

    def start(self) -> tuple[Array, Array]:
        """Return q and qd (n,) at the start, as `simulate` reads them.

        Returns
        -------
        q, qd : (n,) array

        Examples
        --------
        >>> q, qd = pliant.Scenario(robot="two-link", duration=0.1, initial={"q": {"upper": 0.5}}).start()
        >>> print(q)
        [0.5 0.  0.  0. ]
        """
        initial = self.initial
        loads = self.surroundings["loads"]
        q, qd, _ = read_start(self.built, initial.q, initial.qd, initial.equilibrium, loads)
        return q, qd

    def run(self, progress: bool | Callable[[float], None] | None = None) -> Result:
        """Simulate; see `pliant.simulate` for what it returns and raises.

        Parameters
        ----------
        progress : bool or callable, optional
            As in `pliant.simulate`.

        Returns
        -------
        Result
        """
        controller, motion = self.driving
        return simulate(
            self.built,
            self.duration,
            self.initial.q,
            self.initial.qd,
            torque=as_given(self.torque),
            controller=controller,
            motion=motion or None,
            method=self.method,
            rtol=self.rtol,
            atol=self.atol,
            step=self.step,
            output_step=self.output_step,
            progress=progress,
            **self.surroundings,
            limits=self.limits,
            breaks=self.breaks,
            equilibrium=self.initial.equilibrium,
            sensors=self.sensing,
            time_limit=self.time_limit,
            max_steps=self.max_steps,
        )

    def write(self, result: Result, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """Write the outputs that the scenario asks for into a folder; returns their paths, data first.

        Parameters
        ----------
        result : Result
            Of `run`.
        folder : str or path
            Where to; made if it does not exist.

        Returns
        -------
        list of path
            Data first.

        Examples
        --------
        >>> scenario = pliant.Scenario(robot="two-link", duration=0.05, outputs={"netcdf": None, "csv": "run.csv"})
        >>> [path.name for path in scenario.write(scenario.run(), "out")]
        ['run.csv']
        """
        target, written = Path(folder), []
        require_inside(self.outputs, target)
        if self.outputs.netcdf is not None:
            written.append(result.save(target / self.outputs.netcdf))
        if self.outputs.csv is not None:
            written.append(result.to_csv(target / self.outputs.csv))
        if self.outputs.recording is not None:
            written += write_recording(self, result, target / self.outputs.recording)
        if self.outputs.page is not None:
            written.append(result.to_html(target / self.outputs.page, self.name))
        for name in self.outputs.figures:
            paths = [target / f"{name}.{format}" for format in self.outputs.formats]
            result.plot(name, path=paths)
            written += paths
        return written

    # ----------------------------------------------------------------------------------------------------------- files

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], *, search_paths: SearchPaths | None = None) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : str or path
            A YAML file; files that it names are looked for beside it and below.
        search_paths : mapping, optional
            Further folders that it may read, by name, as for `pliant.load`.

        Returns
        -------
        Scenario

        Raises
        ------
        ModelError
            With the file, the line, what was given and expected, and a remedy; several faults at once.

        Examples
        --------
        >>> pliant.Scenario(robot="two-link", duration=0.1).save("run.yaml")
        >>> pliant.Scenario.load("run.yaml").duration
        0.1
        """
        return read_scenario(Path(path), FilePaths.of_file(path, search_paths))

    def replace(self, **changes: object) -> Self:
        """Return the scenario with some entries changed, checked anew.

        Parameters
        ----------
        **changes : object
            New values by the names of the fields.

        Returns
        -------
        Scenario

        Examples
        --------
        >>> pliant.Scenario(robot="two-link", duration=0.1).replace(duration=0.2).duration
        0.2
        """
        return type(self)(**{**{key: getattr(self, key) for key in type(self).model_fields}, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the form of a scenario file, with the robot written out.

        Returns
        -------
        dict

        Examples
        --------
        >>> pliant.Scenario(robot="two-link", duration=0.1).to_dict()["duration"]
        0.1
        """
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return {"format": FORMAT, **plain}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a scenario file that `load` reads back as an equal scenario.

        Parameters
        ----------
        path : str or path
            The file.

        Examples
        --------
        >>> scenario = pliant.Scenario(robot="two-link", duration=0.1)
        >>> scenario.save("run.yaml")
        >>> pliant.Scenario.load("run.yaml") == scenario
        True
        """
        data = self.to_dict()
        if has_files(self.robot):
            data["robot"] = with_files(self.robot, Path(path).absolute().parent)
        with atomic_write(Path(path)) as partial:
            partial.write_text(write_yaml(data), encoding="utf-8")


def require_inside(outputs: Outputs, folder: Path) -> None:
    """Raise an error for outputs that a link would take out of their folder."""
    for name in (outputs.netcdf, outputs.csv, outputs.recording, outputs.page):
        if name is not None:
            inside(folder, name)


def read_scenario(path: Path, paths: FilePaths) -> Scenario:
    """Read the scenario of a file. `paths` gives the folders that it may read."""
    data, lines = read_document(path, "a scenario file has at least `robot` and `duration`")
    if "links" in data and "robot" not in data:
        raise ModelError(
            f"{path.name}: it describes a robot, not a scenario; write a file with `robot: {path.name}` and "
            "`duration: 5` (s) beside it and run that"
        )
    return validated(Scenario, data, lines, path.name, paths)


def schema() -> dict[str, Any]:
    """JSON schema of a scenario file, for editors.

    Returns
    -------
    dict

    Examples
    --------
    >>> pliant.scenario.schema()["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    return document_schema(Scenario)
