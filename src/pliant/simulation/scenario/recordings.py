"""Recording of a scenario by its sensors, written as that of a real arm. A table has the readings. A second file says
what its columns are and what drove the run. `pliant validate` and `pliant identify` read both."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.base.writing import atomic_write
from pliant.control.sensing.sensors import Sensor
from pliant.robot.files.yaml import write_yaml
from pliant.robot.parts.fields import FORMAT
from pliant.simulation.runs.files.digest import csv_comment
from pliant.simulation.runs.results import Result

if TYPE_CHECKING:
    from pliant.simulation.scenario.scenario import Scenario

INSTRUMENT = (*(each.name for each in fields(Sensor)), "resolution")
"""Keys of the errors of a sensor, which are unknown for a real one."""
DRIVES = ("torque", "motion", "controller", "model")
"""Keys of a scenario that a recording file has as well."""


def write_recording(scenario: Scenario, result: Result, path: Path) -> list[Path]:
    """Write the table (`path` with .readings.csv), then the file itself."""
    table = path.with_suffix(".readings.csv")
    content = _table(result)
    with atomic_write(table) as partial:
        partial.write_bytes(csv_comment(content) + content)
    with atomic_write(path) as partial:
        partial.write_text(write_yaml(_said(scenario, result, table.name)), encoding="utf-8")
    return [table, path]


def _table(result: Result) -> bytes:
    """Rows at all times at which a sensor was read. Cells of other sensors are empty."""
    times = np.unique(np.concatenate([one.t for one in result.measured.values()]))
    columns = {"time": times}
    for name, one in result.measured.items():
        columns[name] = np.full(len(times), np.nan)
        columns[name][np.searchsorted(times, one.t)] = one.values
    rows = [",".join("" if np.isnan(v) else f"{v:.17g}" for v in row) for row in np.column_stack([*columns.values()])]
    return "\n".join([",".join(columns), *rows, ""]).encode()


def _said(scenario: Scenario, result: Result, table: str) -> dict[str, object]:
    """Content of the file that describes the table."""
    plain = scenario.to_dict()
    sensors = {
        sensor.label(scenario.built): {key: value for key, value in part.to_dict().items() if key not in INSTRUMENT}
        for sensor, part in zip(scenario.sensing, scenario.sensors)
    }
    noise = {name: one.noise for name, one in result.measured.items() if one.noise}
    clocks = {one.t.tobytes() for one in result.measured.values()}
    found = {
        "format": FORMAT, "data": table, "columns": list(result.measured), "gaps": len(clocks) > 1, "noise": noise,
        "sensors": sensors, "initial": plain.get("initial", {}), **{key: plain[key] for key in DRIVES if key in plain},
    }  # fmt: skip
    return {key: value for key, value in found.items() if value}
