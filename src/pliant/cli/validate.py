"""`pliant validate`: compare a measured run with the simulation of an arm."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.base.writing import atomic_write
from pliant.cli.options import Json, Packages, robot_of, search_paths
from pliant.cli.output import Facts, fresh_folder, print_json, table
from pliant.errors import ModelError
from pliant.options import SaturationName
from pliant.version import plugins

if TYPE_CHECKING:
    from pliant.model.robot import Robot
    from pliant.validation.recording_file import RecordingFile
    from pliant.validation.validate import Validation


def command(
    recording: Annotated[
        Path,
        typer.Argument(
            metavar="RECORDING", help="Recording file (YAML: data, columns, inputs), or the name of a shipped one."
        ),
    ],
    robot: Annotated[
        str, typer.Option(metavar="ARM", help="Robot file, name of a bundled arm, or name of a shipped rig.")
    ],
    identify: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="Fit this number of the arm, or a calibration such as reading.CHANNEL.delay, to the first half of the "
            "run and report the second; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the outputs; out/NAME of the recording by default.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    saturation: Annotated[
        SaturationName,
        typer.Option(
            help="Channels that stay at an end of their range: raise an error for clipped ones, for all, or for none."
        ),
    ] = "auto",
    json: Json = False,
    package: Packages = None,
) -> None:
    """Simulate an arm with the inputs of a recording, and compare the readings of its sensors with the simulation.

    The recording gives a motion (from encoders), torques or commands, or a controller. Writes a page with figures
    (validation.html) and the numbers (validation.json); with --identify also the fitted arm (arm.yaml).
    """
    from pliant.validation.recording_file import RecordingFile

    source = _recording(recording)
    chosen = RecordingFile.load(source, search_paths=search_paths(package))
    arm = _robot(robot, package)
    chosen.recording(arm)  # raises before a folder is made
    folder = fresh_folder(out if out is not None else Path("out") / source.stem, force)
    try:
        facts, found = _compared(chosen, arm, tuple(identify or ()), folder, source.stem, saturation)
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    if json:
        print_json(facts)
        return
    _tell(found, folder, bool(identify))


def _recording(given: Path) -> Path:
    """Path of a recording file, or of a shipped one by its name."""
    if given.exists() or given.suffix:
        return given
    shipped = _measured()
    if str(given) not in shipped.SHIPPED_RECORDINGS:
        known = ", ".join(shipped.SHIPPED_RECORDINGS)
        raise ModelError(f"{given}: no such file, and no shipped recording; expected {known}")
    return Path(shipped.recording_path(str(given)))


def _robot(name: str, packages: list[str] | None) -> Robot:
    """Robot of a file, bundled arm or measured arm."""
    from pliant.robot.files.error_messages import suggestion
    from pliant.robot.files.robot_files import arms

    if Path(name).suffix or name in arms():
        return robot_of(name, packages)
    shipped = _measured()
    if name in shipped.RIGS:
        rig: Robot = shipped.load_rig(name)
        return rig
    if Path(name).exists():
        return robot_of(name, packages)
    raise ModelError(f"no file, no bundled arm and no rig `{name}`{suggestion(name, (*arms(), *shipped.RIGS))}")


def _measured() -> ModuleType:
    """Measured arms and their recordings, from the package of the studies."""
    found: ModuleType = plugins("pliant.rigs")["measured"].load()
    return found


def _compared(
    chosen: RecordingFile, arm: Robot, numbers: tuple[str, ...], folder: Path, title: str, saturation: SaturationName
) -> tuple[Facts, Validation]:
    """Compare, fit first if there are numbers to fit, and write the files; return all numbers and the comparison."""
    from pliant.validation.validate import validate
    from pliant.validation.validation_page import validation_page

    settings: Facts = {
        "method": chosen.method, "rtol": chosen.rtol, "atol": chosen.atol, "saturation": saturation,
    }  # fmt: skip
    run = chosen.recording(arm)
    skip, after, notes = chosen.skip, None, []
    facts: Facts = {}
    if numbers:
        fitted, calibrated = chosen.identified(arm, numbers)
        skip = chosen.middle(run)
        notes = [f"Identified on the run up to {skip:g} s, compared behind it.", *str(fitted).splitlines()]
        ringing = [window for window in chosen.ringing if window[0] >= skip]
        after = validate(chosen.built(fitted.robot), calibrated, skip=skip, ringing=ringing, **settings)
        fitted.robot.save(folder / "arm.yaml")
        facts = {"identified": fitted.to_dict(), "after": after.to_dict()}
    ringing = [window for window in chosen.ringing if window[0] >= skip]
    before = validate(chosen.built(arm), run, skip=skip, ringing=ringing, **settings)
    facts = {"robot": arm.name, **before.to_dict(), **facts}
    with atomic_write(folder / "validation.html") as partial:
        partial.write_text(validation_page(title, arm.name, before, after, notes), encoding="utf-8")
    with atomic_write(folder / "validation.json") as partial:
        partial.write_text(json_text.dumps(facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return facts, before if after is None else after


def _tell(found: Validation, folder: Path, identified: bool) -> None:
    head = ("channel", "NRMSE", "fit %", "lag ms", "rigid %", "first mode %", "above %", "friction %", "delay %")
    rows = []
    for name, match in found.channels.items():
        s = found.shares[name]
        parts = (
            "-" if v is None else f"{100 * v:.0f}"
            for v in (s.rigid_motion, s.first_mode, s.higher, s.friction, s.delay)
        )
        rows.append((name, f"{match.nrmse:.3f}", f"{match.fit:.1f}", f"{1e3 * match.delay:.1f}", *parts))
    table(head, rows, title="second half of the run, identified on the first" if identified else "")
    for warning in found.warnings:
        typer.echo(warning)
    for name in ("validation.html", "validation.json", *(["arm.yaml"] if identified else [])):
        typer.echo(f"wrote {folder / name}")
