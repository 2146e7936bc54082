"""Read and write joint trajectories: tables (CSV), and the text form of a ROS `JointTrajectory`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.reading import read_input
from pliant.base.signatures import checked
from pliant.base.writing import atomic_write
from pliant.control.trajectories.splines import timed_rows
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError
from pliant.robot.files.error_messages import suggestion
from pliant.robot.files.yaml import read_yaml, write_yaml
from pliant.simulation.runs.files.csv_files import read_csv

MOST_BYTES = 64 << 20
"""Largest size of a text file."""
WRAPPERS = ("joint_trajectory", "trajectory", "goal")
"""Keys under which other messages hold a trajectory: a plan of MoveIt, a goal of a controller."""
POINT_KEYS = ("positions", "velocities", "accelerations", "effort", "time_from_start")
MESSAGE_KEYS = ("header", "joint_names", "points")


@checked
@dataclass(frozen=True)
class JointMotion:
    """Motion of joints as samples.

    Parameters
    ----------
    joints : tuple of str
        Names, in the order of the columns.
    t : (K,) array
        Times, rising, from 0, s.
    q : (K, m) array
        Positions, rad or m.
    qd, qdd : (K, m) array, optional
        Rates and accelerations.
    tau : (K, m) array, optional
        Torques or forces, N m or N.

    Examples
    --------
    >>> move = pliant.planning.JointMotion(("a",), [0.0, 1.0], [[0.0], [2.0]])
    >>> print(move.at([0.5]))
    [[1.]]
    """

    joints: tuple[str, ...]
    t: Array
    q: Array
    qd: Array | None = None
    qdd: Array | None = None
    tau: Array | None = None

    def __post_init__(self) -> None:
        if not len(self.joints) or not all(isinstance(name, str) for name in self.joints):
            raise ModelError(f"joints: got {self.joints!r}, expected names")
        for name in ("q", "qd", "qdd", "tau"):
            if (given := getattr(self, name)) is None:
                continue
            t, rows = timed_rows(name, self.t, given)
            if rows.shape[1] != len(self.joints):
                raise ModelError(f"{name}: got {rows.shape[1]} columns, expected {len(self.joints)}, one per joint")
            object.__setattr__(self, name, rows)
            object.__setattr__(self, "t", t)

    def in_order(self, joints: Sequence[str]) -> JointMotion:
        """Return the same motion with these joints as columns; raise `ModelError` if it has others.

        Parameters
        ----------
        joints : sequence of str

        Returns
        -------
        JointMotion

        Examples
        --------
        >>> move = pliant.planning.JointMotion(("b", "a"), np.array([0.0, 1.0]), np.array([[0.0, 1.0], [2.0, 3.0]]))
        >>> print(move.in_order(["a", "b"]).q[1])
        [3. 2.]
        """
        for name in self.joints:
            if name not in joints:
                raise ModelError(f"trajectory: the arm has no joint `{name}`{suggestion(name, joints)}")
        missing = [name for name in joints if name not in self.joints]
        if missing:
            raise ModelError(f"trajectory: joint `{missing[0]}` is missing; expected all of {', '.join(joints)}")
        order = [self.joints.index(name) for name in joints]
        qd, qdd, tau = (None if x is None else x[:, order] for x in (self.qd, self.qdd, self.tau))
        return JointMotion(joints=tuple(joints), t=self.t, q=self.q[:, order], qd=qd, qdd=qdd, tau=tau)

    def at(self, t: ArrayLike) -> Array:
        """Return positions at times.

        With rates they are polynomials through positions, rates and accelerations; without, a cubic spline that is at
        rest at its ends.

        Parameters
        ----------
        t : (N,) array
            Seconds.

        Returns
        -------
        (N, m) array

        Examples
        --------
        >>> move = pliant.planning.JointMotion(("a",), np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
        >>> print(move.at(np.array([0.5])))
        [[0.5]]
        """
        from scipy.interpolate import BPoly, make_interp_spline

        if self.qd is not None:
            given = [x for x in (self.q, self.qd, self.qdd) if x is not None]
            return np.asarray(BPoly.from_derivatives(self.t, np.stack(given, axis=1))(numbers("t", t)))
        still = [(1, np.zeros(self.q.shape[1]))]
        return np.asarray(make_interp_spline(self.t, self.q, k=3, bc_type=(still, still))(numbers("t", t)))

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a table with columns `time`, each joint, and `NAME.rate`, `NAME.acceleration`, `NAME.torque` if known.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path

        Examples
        --------
        >>> move = pliant.planning.JointMotion(("a",), np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
        >>> print(move.to_csv("move.csv").read_text().splitlines()[0])
        time,a
        """
        parts = {"": self.q, ".rate": self.qd, ".acceleration": self.qdd, ".torque": self.tau}
        kept = {word: x for word, x in parts.items() if x is not None}
        head = ["time", *(f"{name}{word}" for word in kept for name in self.joints)]
        rows = np.column_stack([self.t, *kept.values()])
        lines = [",".join(head), *(",".join(f"{x:.12g}" for x in row) for row in rows)]
        return _written(path, "\n".join(lines) + "\n")

    def to_ros(self, path: str | os.PathLike[str]) -> Path:
        """Write the text form of a ROS 2 `trajectory_msgs/JointTrajectory`.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path

        Examples
        --------
        >>> move = pliant.planning.JointMotion(("a",), np.array([0.0, 1.0]), np.array([[0.0], [1.0]]))
        >>> pliant.planning.read_trajectory(move.to_ros("move.yaml")).joints
        ('a',)
        """
        columns = dict(zip(POINT_KEYS, (self.q, self.qd, self.qdd, self.tau)))
        points = []
        for k, t in enumerate(self.t):
            numbers_of = {name: [] if x is None else np.round(x[k], 12).tolist() for name, x in columns.items()}
            nanoseconds = round(float(t) * 1e9)
            time = {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
            points.append({**numbers_of, "time_from_start": time})
        header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
        return _written(path, write_yaml({"header": header, "joint_names": list(self.joints), "points": points}))


def _written(path: str | os.PathLike[str], text: str) -> Path:
    """Write text to a file, and return its path."""
    target = Path(path)
    with atomic_write(target) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


@checked
def read_trajectory(path: str | os.PathLike[str]) -> JointMotion:
    """Read a joint trajectory: a table (`.csv`, `.csv.gz`), else the text form of a ROS `JointTrajectory`.

    Parameters
    ----------
    path : path
        A table has `time` and a column for each joint; columns with a dot in their names (`upper.rate`) are not read.
        The text form may be that of ROS 1 or 2, and be part of a plan or a goal (`joint_trajectory:`, `trajectory:`).

    Returns
    -------
    JointMotion

    Raises
    ------
    ModelError
        Something is missing, unknown or no number, or times do not rise. The message gives the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("move.csv").write_text("time,upper\\n0.0,0.1\\n0.5,0.2\\n") > 0
    True
    >>> pliant.planning.read_trajectory("move.csv").joints
    ('upper',)
    """
    source = Path(path)
    if source.suffix.lower() in (".csv", ".gz"):
        table = read_csv(source)
        if "time" not in table:
            raise ModelError(f"{source.name}: no column `time`{suggestion('time', table)}")
        joints = [name for name in table if name != "time" and "." not in name]
        if not joints:
            raise ModelError(f"{source.name}: no column of a joint beside `time`")
        q = np.stack([table[name] for name in joints], axis=1)
        return _from_start(source.name, joints, t=table["time"], q=q)
    raw = read_input(source, MOST_BYTES, "cut it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{source.name}: not a text file in UTF-8 ({error})") from None
    return _from_ros(text, source.name)


def _from_start(
    file: str, joints: Sequence[str], *, t: Array, q: Array,
    qd: Array | None = None, qdd: Array | None = None, tau: Array | None = None,
) -> JointMotion:  # fmt: skip
    """Return the motion of a file, with times from the first point on."""
    if len(t) < 2:
        raise ModelError(f"{file}: got {len(t)} points, expected two at least")
    if not (rises := np.diff(t) > 0).all():
        k = int(np.argmin(rises))
        raise ModelError(f"{file}: times must rise: point {k + 2} is at {t[k + 1]:g} s, the one before at {t[k]:g} s")
    return JointMotion(joints=tuple(joints), t=t - t[0], q=q, qd=qd, qdd=qdd, tau=tau)


def _from_ros(text: str, file: str) -> JointMotion:
    """Return the motion in the text of a ROS message."""
    try:
        data, lines = read_yaml(text.rstrip().removesuffix("---"))  # `ros2 topic echo` ends messages so
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None
    place: tuple[str | int, ...] = ()
    while isinstance(data, dict) and (inner := next((key for key in WRAPPERS if key in data), None)):
        data, place = data[inner], (*place, inner)
    if not isinstance(data, dict) or "points" not in data:
        raise ModelError(f"{file}: expected a JointTrajectory with `joint_names` and `points`, or a table named .csv")
    for key in data:
        if key not in MESSAGE_KEYS:
            raise ModelError(f"{file}: unknown key `{key}`{suggestion(str(key), MESSAGE_KEYS)}")
    names, points = data.get("joint_names"), data["points"]
    if not isinstance(names, list) or not names or len(set(map(str, names))) < len(names):
        raise ModelError(f"{file}: joint_names: expected a list of different names, got {names!r}")
    if not isinstance(points, list) or len(points) < 2:
        raise ModelError(f"{file}: points: expected a list of two points at least")
    rows = []
    for k, point in enumerate(points):
        line = lines.get((*place, "points", k))
        rows.append(_Point.read(point, len(names), f"{file}: line {line}: points[{k}]"))
    qd, qdd, tau = (_columns(file, name, rows) for name in POINT_KEYS[1:4])
    t, q = np.array([row.time for row in rows]), np.array([row.of["positions"] for row in rows])
    return _from_start(file, list(map(str, names)), t=t, q=q, qd=qd, qdd=qdd, tau=tau)


def _columns(file: str, name: str, rows: Sequence[_Point]) -> Array | None:
    """Return numbers (K, m) under a key of all points, or None if no point has them."""
    given = [row.of[name] for row in rows]
    if not any(given):
        return None
    if not all(given):
        raise ModelError(f"{file}: points[{given.index([])}] has no {name}, others have; give them for all or none")
    return np.array(given)


@dataclass(frozen=True)
class _Point:
    """Point of a ROS message: its time, s, and numbers under each of the first four `POINT_KEYS`."""

    time: float
    of: dict[str, list[float]]

    @classmethod
    def read(cls, point: object, m: int, where: str) -> _Point:
        """Return a point of m joints; `where` begins messages of errors."""
        if not isinstance(point, dict):
            raise ModelError(f"{where}: expected positions and time_from_start")
        for key in point:
            if key not in POINT_KEYS:
                raise ModelError(f"{where}: unknown key `{key}`{suggestion(str(key), POINT_KEYS)}")
        found = {}
        for name in POINT_KEYS[:4]:
            given = point.get(name) or []
            sound = isinstance(given, list) and all(_is_number(x) for x in given)
            if not sound or (len(given) != m and (given or name == "positions")):
                raise ModelError(f"{where}: {name}: got {given!r}, expected {m} finite numbers, one per joint")
            found[name] = [float(x) for x in given]
        return cls(time=_seconds(point.get("time_from_start"), where), of=found)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _seconds(given: object, where: str) -> float:
    """Return the seconds of a duration of ROS 1 or 2, or of a plain number."""
    if _is_number(given):
        return float(given)
    if isinstance(given, Mapping):
        for whole, parts in (("sec", "nanosec"), ("secs", "nsecs")):
            if whole in given and set(given) <= {whole, parts}:
                both = given[whole], given.get(parts, 0)
                if all(_is_number(x) for x in both):
                    return float(both[0]) + 1e-9 * float(both[1])
    raise ModelError(f"{where}: time_from_start: got {given!r}, expected seconds, or `sec` and `nanosec`")
