"""Runs and robots of the measured arms, by name."""

from __future__ import annotations

from pathlib import Path

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.model.robot import Robot, load
from pliant.simulation.runs.files.csv_files import read_csv

HERE = Path(__file__).parent
MEASURED_RUNS = {
    "lqr_square": "quanser_2dsfl",
    "lqg_staircase": "quanser_2dsfl",
    "a05_f08": "ist_bar",
    "a10_f08": "ist_bar",
    "a15_f10": "ist_bar",
}
"""Runs by name, and the rig of each."""
SHIPPED_RECORDINGS = ("square-from-encoders", "staircase-from-encoders", "square-from-currents", "bar-from-voltage")
"""Recording files of these runs, for `pliant validate`."""
RIGS = ("2dsfl-nominal", "2dsfl-estimated", "2dsfl-from-square", "2dsfl-from-staircase", "ist-bar",
        "ist-bar-without-a05", "ist-bar-without-a10", "ist-bar-without-a15")  # fmt: skip
"""Robots of the rigs: by the data sheet, as published, and as identified on one run (of the bar, on two)."""
CALIBRATIONS: dict[str, dict[str, float]] = {
    "2dsfl-from-square": {"reading.strain1.delay": 0.007767, "reading.strain2.delay": 0.006217},
    "2dsfl-from-staircase": {"reading.strain1.delay": 0.00766, "reading.strain2.delay": 0.003087},
    "ist-bar-without-a05": {"input.delay": 0.0, "input.bar.offset": -0.01653},
    "ist-bar-without-a10": {"input.delay": 0.0, "input.bar.offset": -0.007663},
    "ist-bar-without-a15": {"input.delay": 0.0003962, "input.bar.offset": -0.01656},
}
"""Delays of gauges (s) and offsets of inputs that were identified together with a robot, for `Recording`."""


@checked
def measured_run(name: str) -> dict[str, Array]:
    """Columns of a run by name: `t_s` in seconds, angles in rad, currents in A, voltages in V, strains without unit.

    Parameters
    ----------
    name : str
        One of `MEASURED_RUNS`.

    Returns
    -------
    dict of (N,) arrays
        NaN where nothing was measured.

    Examples
    --------
    >>> from pliant_studies.measured import measured_run
    >>> run = measured_run("a05_f08")
    >>> sorted(run), len(run["t_s"])
    (['deflection_rad', 't_s', 'theta_rad', 'voltage_V'], 5001)
    """
    if name not in MEASURED_RUNS:
        raise ModelError(f"name: got {name!r}, expected one of {', '.join(MEASURED_RUNS)}")
    return read_csv(HERE / MEASURED_RUNS[name] / f"{name}.csv.gz", gaps=True)


@checked
def recording_path(name: str) -> Path:
    """Path of a recording file, for `pliant validate` or as an example for your own.

    Parameters
    ----------
    name : str
        One of `SHIPPED_RECORDINGS`.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pliant_studies.measured import recording_path
    >>> recording_path("bar-from-voltage").name
    'bar-from-voltage.yaml'
    """
    if name not in SHIPPED_RECORDINGS:
        raise ModelError(f"name: got {name!r}, expected one of {', '.join(SHIPPED_RECORDINGS)}")
    return HERE / f"{name}.yaml"


@checked
def load_rig(name: str) -> Robot:
    """Robot of a rig.

    Parameters
    ----------
    name : str
        One of `RIGS`.

    Returns
    -------
    Robot

    Examples
    --------
    >>> from pliant_studies.measured import load_rig
    >>> load_rig("2dsfl-nominal").links[0].joint.offset
    0.079
    """
    if name not in RIGS:
        raise ModelError(f"name: got {name!r}, expected one of {', '.join(RIGS)}")
    return load(HERE / f"{name}.yaml")
