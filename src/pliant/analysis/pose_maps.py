"""Frequencies of an arm, and the damping of a loop around it, from pose to pose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.analysis.closed_loop import ClosedLoop
from pliant.analysis.poles import damping, natural, require_vibrations, vibrations
from pliant.arrays import Array, Complex, StateLike
from pliant.base.signatures import checked
from pliant.control.controllers.controller import Controller
from pliant.control.trajectories.trajectories import numbers
from pliant.errors import ModelError
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.states import read_state
from pliant.options import JointsName

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.drawing.style import Paths


@dataclass(frozen=True)
class PoseMap:
    """Vibrations of an arm at every pose of one or two joints, K of the first and L of the second.

    Attributes
    ----------
    robot : Robot
        The arm.
    joints : tuple of str
        One or two joints that go through `positions`.
    positions : tuple of arrays
        Positions (K,) and (L,), rad or m.
    values : (K, k) or (K, L, k) complex array
        Eigenvalues at static rest, 1/s: one of each pair, by absolute value.
    tip : (K, 3) or (K, L, 3) array
        Positions of the tip at rest, m.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> found = pliant.analysis.frequency_map(model, {"upper": [0.0, 0.5], "fore": [0.0, 1.0, 2.0]})
    >>> found.frequencies.shape, found.tip.shape
    ((2, 3, 2), (2, 3, 3))
    """

    robot: Robot
    joints: tuple[str, ...]
    positions: tuple[Array, ...]
    values: Complex
    tip: Array

    @property
    def frequencies(self) -> Array:
        """Natural frequencies, Hz, in the shape of `values`."""
        return natural(self.values)

    @property
    def damping(self) -> Array:
        """Damping ratios in the shape of `values`, negative for growing vibrations."""
        return damping(self.values)

    @property
    def least_damping(self) -> Array:
        """Least damping of all vibrations at a pose, (K,) or (K, L): the loop is unstable where it is negative."""
        return np.asarray(np.nanmin(self.damping, axis=-1))

    def plot(self, show: str = "frequency", mode: int = 1, path: Paths = None) -> Figure:
        """Draw the map over both joints, and over the places of the tip; for one joint, curves over its position.

        Parameters
        ----------
        show : "frequency" or "damping"
            Draw a frequency, or the least damping of all vibrations.
        mode : int
            Number of the vibration whose frequency is drawn, from 1.
        path : str, path or list of them, optional
            File to write.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> found = pliant.analysis.frequency_map(pliant.load("two-link").model(), {"fore": [0.0, 1.0]})
        >>> found.plot("damping").axes[0].get_ylabel()
        'least damping (%)'
        """
        from pliant.analysis.map_figures import pose_figure

        if show not in ("frequency", "damping"):
            raise ModelError(f"show: got {show!r}, expected frequency or damping")
        if not 1 <= mode <= self.values.shape[-1]:
            raise ModelError(f"mode: got {mode!r}, expected 1 to {self.values.shape[-1]}")
        return pose_figure(self, show, mode, path)


@checked
def frequency_map(
    model: Model | Robot,
    positions: Mapping[str, ArrayLike],
    at: StateLike | None = None,
    joints: JointsName = "locked",
    loads: Sequence[Load] = (),
    p: ArrayLike | None = None,
) -> PoseMap:
    """Frequencies and damping of an arm at static rest in every pose of one or two joints.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    positions : mapping
        One or two joints by name, and the positions that each goes through, rad or m.
    at : positions of the other joints, optional
        Positions for `Model.equilibrium`; the straight arm by default.
    joints : "locked" or "free"
        Whether joints are held or move while the arm vibrates.
    loads : sequence of Load
        Objects of `pliant.loads`, taken at t = 0.
    p : (P,) array, optional
        Values of the model's parameters; nominal by default.

    Returns
    -------
    PoseMap

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> bent = pliant.analysis.frequency_map(model, {"fore": [0.0, 1.5]})
    >>> bool(bent.frequencies[1, 0] > bent.frequencies[0, 0])  # folded, the arm is stiffer
    True
    """
    model = model_of(model)

    def about(pose: Array) -> tuple[Complex, Array]:
        q = model.equilibrium(pose, loads, p)
        found = vibrations(model.linearize(q, loads=loads, joints=joints, p=p).A)[0]
        require_vibrations(found)
        return found, model.tip_pose(q, p)[:3, 3]

    return _map(model, positions, at, about)


@checked
def damping_map(
    model: Model | Robot,
    controller: Callable[[Array], Controller],
    positions: Mapping[str, ArrayLike],
    at: StateLike | None = None,
) -> PoseMap:
    """Vibrations of a closed loop that holds the arm, in every pose of one or two joints.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    controller : function
        Returns the controller, not sampled, that holds given positions (n_joints,).
    positions : mapping
        One or two joints by name, and the positions that each goes through, rad or m.
    at : positions of the other joints, optional
        Positions for `Model.equilibrium`; the straight arm by default.

    Returns
    -------
    PoseMap
        States of the controller are among its vibrations.

    Notes
    -----
    The arm is linearized at rest in the pose. A controller that sags, as PD without gravity does, rests nearby.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> hold = lambda goal: pliant.control.PD(500.0, 50.0, goal)
    >>> loop = pliant.analysis.damping_map(model, hold, {"fore": [0.0, 1.0]})
    >>> bool((loop.least_damping > 0).all())
    True
    """
    model = model_of(model)

    def about(pose: Array) -> tuple[Complex, Array]:
        q = model.equilibrium(pose)
        A = ClosedLoop(model, controller(pose)).matrix(0.0, q, np.zeros(model.n))
        return vibrations(A)[0], model.tip_pose(q)[:3, 3]

    return _map(model, positions, at, about)


def _map(
    model: Model, positions: Mapping[str, ArrayLike], at: StateLike | None,
    about: Callable[[Array], tuple[Complex, Array]],
) -> PoseMap:  # fmt: skip
    if not 1 <= len(positions) <= 2:
        raise ModelError(f"positions: got {len(positions)} joints, expected one or two")
    names, grids = tuple(positions), []
    for name, given in positions.items():
        if name not in model.joints:
            raise ModelError(f"positions: got {name!r}, expected one of {', '.join(model.joints)}")
        grid = numbers(f"positions[{name!r}]", given)
        steps = np.diff(grid)
        if len(grid) < 2 or not ((steps > 0).all() or (steps < 0).all()):
            raise ModelError(f"positions[{name!r}]: expected two or more numbers (K,) that rise or fall")
        grids.append(grid)
    pose = read_state(model, at)[model.layout.shaft_places()]
    places = [model.joints.index(name) for name in names]
    found = []
    for here in product(*grids):
        pose[places] = here
        found.append(about(pose.copy()))
    shape = tuple(map(len, grids))
    values, tips = (np.array(part).reshape(*shape, -1) for part in zip(*found))
    return PoseMap(model.robot, names, tuple(grids), values, tips)
