"""A functional mock-up unit in the hands of FMPy."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pliant.export.fmu import platform_folder


class Unit:
    """An unpacked unit and its value references."""

    def __init__(self, path: Path, folder: Path) -> None:
        from fmpy import read_model_description

        self.version = "3.0" if "3" in path.stem else "2.0"
        self.description = read_model_description(str(path))
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        self.folder = folder / path.stem
        with zipfile.ZipFile(path) as archive:
            archive.extractall(self.folder)

    def loaded(self, kind: str) -> Any:
        """An instance that is not yet initialised. FMPy finds no binary by itself where it does not know the processor
        (aarch64 on Linux), so that it is told which one."""
        from fmpy import fmi2, fmi3

        three = self.version == "3.0"
        name = self.description.coSimulation.modelIdentifier
        library = next((self.folder / "binaries" / platform_folder(self.version)).iterdir())
        class_ = {
            "slave": fmi3.FMU3Slave if three else fmi2.FMU2Slave,
            "model": fmi3.FMU3Model if three else fmi2.FMU2Model,
        }[kind]
        token = "instantiationToken" if three and hasattr(self.description, "instantiationToken") else "guid"
        unit = class_(
            guid=getattr(self.description, token), unzipDirectory=str(self.folder), modelIdentifier=name,
            instanceName="one", libraryPath=str(library),
        )  # fmt: skip
        unit.instantiate()
        return unit

    @contextmanager
    def instance(self, kind: str, start: dict[str, float] | None = None) -> Iterator[Any]:
        """A running one."""
        unit = self.loaded(kind)
        if self.version == "3.0":
            unit.enterInitializationMode(startTime=0.0, tolerance=1e-9)
        else:
            unit.setupExperiment(startTime=0.0, tolerance=1e-9)
            unit.enterInitializationMode()
        for variable, value in (start or {}).items():
            self.set(unit, variable, value)
        unit.exitInitializationMode()
        try:
            yield unit
        finally:
            unit.terminate()
            unit.freeInstance()

    def get(self, unit: Any, *names: str) -> np.ndarray:
        references = [self.references[name] for name in names]
        return np.array(unit.getFloat64(references) if self.version == "3.0" else unit.getReal(references))

    def set(self, unit: Any, name: str, value: float) -> None:
        setter = unit.setFloat64 if self.version == "3.0" else unit.setReal
        setter([self.references[name]], [float(value)])

    def run(
        self, unit: Any, steps: int, step: float, torque: Callable[[np.ndarray, np.ndarray], np.ndarray], *read: str
    ) -> np.ndarray:
        """Co-simulation with a controller outside: torques set before each step and held; rows of `read`."""
        rows = [self.get(unit, *read)]
        for k in range(steps):
            state = self.get(unit, "upper", "fore", "der(upper)", "der(fore)")
            for name, value in zip(("upper", "fore"), torque(state[:2], state[2:])):
                self.set(unit, f"torque.{name}", value)
            unit.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
            rows.append(self.get(unit, *read))
        return np.array(rows)
