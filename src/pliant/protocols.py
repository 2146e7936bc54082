"""Protocols of the inputs of a run: torques, controllers, prescribed motions, states. Loads are `pliant.loads.Load`.

`simulate`, `simulate_batch`, `Recording`, scenarios and analyses share these annotations. A protocol asks for methods
only, so that a user's own class works like one of `pliant.control`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression
from pliant.model.model import Model
from pliant.options import Interpolation

if TYPE_CHECKING:
    from pliant.mechanics.links.chain import BaseMotion


class TorqueLaw(Protocol):
    """Joint torques as an expression, which is compiled into the run."""

    def expression(self, t: Expression, q: Expression, qd: Expression) -> Expression:
        """(n_joints, 1) torques at time `t` (s) in the state `q`, `qd`, each (n, 1)."""


class Bindable(Protocol):
    """A controller, such as those of `pliant.control`. A run binds it to its model."""

    def bind(self, model: Model) -> TorqueLaw:
        """Return the law for this model; raise `ModelError` if sizes do not fit."""


class PositionLaw(Protocol):
    """Position of one coordinate over time, such as one component of a trajectory of `pliant.control`."""

    def expression(self, t: Expression) -> Expression:
        """(1, 1) position (rad or m) at time `t` (s)."""


class MovingBase(Protocol):
    """Motion of the base, such as `pliant.loads.Base`."""

    def expression(self, t: Expression, gravity: Expression) -> BaseMotion:
        """Velocity and acceleration of the base at time `t` (s); `gravity` is (3, 1), in inertial axes."""


TorqueFunction: TypeAlias = Callable[[float, Array, Array], ArrayLike]
"""A Python function of (t, q, qd) that returns (n_joints,) torques."""
TorqueValues: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""Torques of all joints, or by name; joints that are not named get none."""
TorqueTable: TypeAlias = tuple[ArrayLike, TorqueValues] | tuple[ArrayLike, TorqueValues, Interpolation]
"""Times (K,), torques (K, n_joints) or (K,) by joint, and the interpolation between them."""
Torque: TypeAlias = TorqueValues | TorqueTable | TorqueFunction | TorqueLaw
Control: TypeAlias = Torque | Bindable
PrescribedMotion: TypeAlias = PositionLaw | Callable[[Expression], Expression]
State: TypeAlias = ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]]
"""(n,) coordinates or rates, or some of them by name."""
