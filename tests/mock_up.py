"""A functional mock-up unit in the hands of FMPy."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pliant.export.targets.fmu import platform_folder

VERSIONS = (pytest.param("3.0", marks=pytest.mark.full), "2.0")
"""Of the standard; of a large arm the newer one, which has adjoint derivatives to compile, is for the full tests."""


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

    def loaded(self, kind: str, early: bool = False, log: list[str] | None = None) -> Any:
        """An instance that is not yet initialized. FMPy finds no binary by itself where it does not know the processor
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
        unit.instantiate(**self._options(kind, early, log))
        return unit

    def _options(self, kind: str, early: bool, log: list[str] | None) -> dict[str, Any]:
        """Early return, and a list for the messages of the unit."""
        from fmpy import fmi2

        found: dict[str, Any] = {"earlyReturnAllowed": early} if early else {}
        if log is None:
            return found
        if self.version == "3.0":
            return found | {"logMessage": lambda environment, status, category, text: log.append(text.decode())}
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda e, name, status, kind, text: log.append(text.decode()))
        return {"callbacks": callbacks}

    @contextmanager
    def instance(
        self, kind: str, start: dict[str, float] | None = None, tolerance: float = 1e-9, **options: Any
    ) -> Iterator[Any]:
        """A running one."""
        unit = self.loaded(kind, **options)
        if self.version == "3.0":
            unit.enterInitializationMode(startTime=0.0, tolerance=tolerance)
        else:
            unit.setupExperiment(startTime=0.0, tolerance=tolerance)
            unit.enterInitializationMode()
        for variable, value in (start or {}).items():
            self.set(unit, variable, value)
        unit.exitInitializationMode()
        try:
            yield unit
        finally:
            unit.terminate()
            unit.freeInstance()

    def rates(self, unit: Any, x: np.ndarray | None = None) -> np.ndarray:
        """Derivatives of the states of model exchange, which are set before where they are given."""
        found = np.zeros(len(self.description.derivatives))
        if x is not None:
            unit.setContinuousStates(np.ctypeslib.as_ctypes(np.array(x)), len(found))
        get = unit.getContinuousStateDerivatives if self.version == "3.0" else unit.getDerivatives
        get(np.ctypeslib.as_ctypes(found), len(found))
        return found

    def get(self, unit: Any, *names: str) -> np.ndarray:
        references = [self.references[name] for name in names]
        return np.array(unit.getFloat64(references) if self.version == "3.0" else unit.getReal(references))

    def set(self, unit: Any, name: str, value: float) -> None:
        setter = unit.setFloat64 if self.version == "3.0" else unit.setReal
        setter([self.references[name]], [float(value)])

    def run(
        self, unit: Any, steps: int, step: float, torque: Callable[[np.ndarray, np.ndarray], np.ndarray], *read: str
    ) -> np.ndarray:
        """Co-simulation with a controller outside: commands set before each step and held; rows of `read`."""
        rows = [self.get(unit, *read)]
        commands = [v.name for v in self.description.modelVariables if v.causality == "input"]
        for k in range(steps):
            state = self.get(unit, "upper", "fore", "der(upper)", "der(fore)")
            for name, value in zip(commands, torque(state[:2], state[2:])):
                self.set(unit, name, value)
            unit.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
            rows.append(self.get(unit, *read))
        return np.array(rows)
