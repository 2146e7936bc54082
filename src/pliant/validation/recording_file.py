"""Recording files of `pliant validate`: one measured run, its inputs, and windows in which the arm vibrates freely.

format: 1
data: swing.csv                            # beside this file; the first line names the columns
time: t_s
columns: {gauge: strain_1}                 # channels that are compared
sensors: {gauge: {strain: upper, x: 0.05, at: [0.01, 0]}}
motion: {upper: {column: encoder, order: 4, window: 17}}     # or torque: {upper: current}, or controller:
skip: 1.0
ringing: [[6.6, 7.8]]
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, PrivateAttr

from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.identification.estimate import Identification
from pliant.identification.fitting import identify
from pliant.identification.recording import Recording
from pliant.identification.study_file import MeasuredRun, Pair
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import MethodName
from pliant.robot.files.documents import read_document, validated
from pliant.robot.files.file_paths import FilePaths, SearchPaths, paths_of
from pliant.robot.parts.fields import Document, NonNegative, Positive
from pliant.simulation.scenario.scenario import ModelOptions


class RecordingFile(MeasuredRun, Document):
    """One recording in a file of its own."""

    model: ModelOptions = Field(ModelOptions(), description="which equations", examples=[{"formulation": "denoc"}])
    skip: NonNegative = Field(0.0, description="s, at the start, that are not compared", examples=[1.0])
    ringing: tuple[Pair, ...] = Field(
        (), description="s, starts and ends of what is fitted by decaying sinusoids", examples=[[[6.6, 7.8]]]
    )
    method: MethodName = Field("auto", description="name of the integrator", examples=["dop853"])
    rtol: Positive = Field(1e-6, description="relative local error", examples=[1e-06])
    atol: NonNegative = Field(1e-9, description="absolute local error", examples=[1e-09])
    _paths: FilePaths = PrivateAttr()

    def model_post_init(self, context: Mapping[str, object] | None) -> None:
        """Remember the folders in which files that are named here may be."""
        BaseModel.__setattr__(self, "_paths", paths_of(context))

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str], *, search_paths: SearchPaths | None = None) -> Self:
        """Read a recording file; errors name the lines of faults. `search_paths` are those of `pliant.load`."""
        source = Path(path)
        data, lines = read_document(source, "a recording names data and columns")
        return validated(cls, data, lines, source.name, FilePaths.of_file(source, search_paths))

    def built(self, robot: Robot) -> Model:
        """The arm with the equations of this file."""
        return Model(robot, self.model.formulation, self.model.rotation, self.model.stiffening)

    def recording(self, robot: Robot) -> Recording:
        """The run, read and checked against an arm."""
        return self.read(self._paths, robot, self.model)

    def identified(self, robot: Robot, parameters: tuple[str, ...]) -> tuple[Identification, Recording]:
        """The arm fitted to the first half of the run, and the run with the calibration that was found."""
        whole = self.recording(robot)
        found = identify(
            self.built(robot), self._first_half(whole), parameters, stages=(1.0,), clocks="ignore",
            method=self.method, rtol=self.rtol, atol=self.atol,
        )  # fmt: skip
        return found, replace(whole, calibration={**whole.calibration, **found.calibration})

    def _first_half(self, whole: Recording) -> Recording:
        """The recording from `skip` to the middle of the run."""
        middle = self.middle(whole)
        readings = {}
        for channel in whole.channels:
            t, values = whole.reading(channel, middle)
            late = t >= self.skip
            if late.sum() < 2:
                raise ModelError(f"skip: got {self.skip:g} s, expected less than half of the run, {middle:g} s")
            readings[channel] = t[late], values[late]
        t = whole.times(middle)
        return replace(whole, t=t[t >= self.skip], readings=readings)

    @staticmethod
    def middle(whole: Recording) -> float:
        """Half of the run, s."""
        return 0.5 * whole.t_end
