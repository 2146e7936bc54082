"""`pliant plan`: a motion of an arm without residual vibration."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.base.writing import atomic_write
from pliant.cli.options import Flexible, Json, Packages, RobotFile, Tip, positions_of, robot_of
from pliant.cli.output import Facts, fresh_folder, number, print_json, table
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.control.planning.plan_motion import Plan

Limit = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Limit instead of the robot file's: one number, or one per joint.")
]


def command(
    file: RobotFile,
    start: Annotated[
        str | None,
        typer.Option(metavar="POSITIONS", help='Joint positions at the start, in order or by name: "0.1,90 deg".'),
    ] = None,
    goal: Annotated[str | None, typer.Option(metavar="POSITIONS", help="Joint positions at the end.")] = None,
    trajectory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Motion instead of start and goal: a table (CSV) or the text of a ROS JointTrajectory."
        ),
    ] = None,
    payload: Annotated[
        float | None, typer.Option(help="Mass of the payload in kg, instead of the described one.")
    ] = None,
    payload_error: Annotated[float, typer.Option(help="Relative error of the payload, such as 0.2.")] = 0.0,
    stiffness_error: Annotated[float, typer.Option(help="Relative error of stiffnesses.")] = 0.0,
    speed_limit: Limit = None,
    acceleration_limit: Limit = None,
    jerk_limit: Limit = None,
    torque_limit: Limit = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the outputs; out/NAME of the arm by default.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    sample_time: Annotated[
        float | None, typer.Option(help="Seconds between two rows of the motion, such as 0.004; 200 rows by default.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Most seconds of the search.")] = None,
    json: Json = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
) -> None:
    """Find a motion without residual vibration, within limits of speed, acceleration, jerk and torque.

    Writes the motion with feedforward torques (motion.csv, and motion.yaml as a ROS JointTrajectory), a figure
    (motion.png) and the numbers (motion.json). Commands are positions of motors, as drives see them.
    """
    from pliant.control.planning.plan_motion import plan, require_ticks
    from pliant.control.planning.trajectory_files import read_trajectory

    robot = robot_of(file, package, flexible, tip)
    model = robot.model()
    given = None if trajectory is None else read_trajectory(trajectory)
    begin, end = (
        None if text is None else positions_of(model, text, name)
        for name, text in (("--start", start), ("--goal", goal))
    )
    limits = {
        "speed_limit": speed_limit, "acceleration_limit": acceleration_limit, "jerk_limit": jerk_limit,
        "torque_limit": torque_limit,
    }  # fmt: skip
    chosen: Facts = {key: _numbers(key.replace("_", "-"), text) for key, text in limits.items()}
    if sample_time is not None:
        require_ticks(sample_time)  # before the search, which may take minutes
    folder = fresh_folder(out if out is not None else Path("out") / f"{Path(file).stem}-plan", force)
    try:
        found = plan(
            model, begin, end, given, payload=payload, payload_error=payload_error, stiffness_error=stiffness_error,
            time_limit=time_limit, **chosen,
        )  # fmt: skip
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    _write(found, folder, sample_time)
    if json:
        print_json({"robot": robot.name, **found.to_dict()})
        return
    _tell(found, folder)


def _numbers(name: str, text: str | None) -> list[float] | float | None:
    """One number, or one for each joint, from the text of an option."""
    if text is None:
        return None
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise ModelError(f"--{name} {text!r}: expected a number, or one per joint with commas between") from None
    return found[0] if len(found) == 1 else found


FILES = ("motion.csv", "motion.yaml", "motion.png", "motion.json")


def _write(found: Plan, folder: Path, sample_time: float | None) -> None:
    found.to_csv(folder / "motion.csv", sample_time)
    found.to_ros(folder / "motion.yaml", sample_time)
    found.plot(folder / "motion.png")
    with atomic_write(folder / "motion.json") as partial:
        partial.write_text(json_text.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _tell(found: Plan, folder: Path) -> None:
    head = ("arm", "plain mm", "shaped mm", "ratio")
    rows = [
        (name, number(1e3 * both.plain.peak, 3), number(1e3 * both.shaped.peak, 3), f"{both.ratio:.4f}")
        for name, both in found.compared.items()
    ]
    table(head, rows, title="largest swing of the tip after the end")
    taken = ", ".join(f"{name} {100 * share:.0f} %" for name, share in found.shares.items())
    typer.echo(f"plain {found.plain.end:.4g} s, shaped {found.duration:.4g} s by {found.method}")
    typer.echo(f"of the limits: {taken}")
    for name in FILES:
        typer.echo(f"wrote {folder / name}")
