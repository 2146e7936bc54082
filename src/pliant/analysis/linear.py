"""Analyses of the linear model: frequency response, controllability and observability of modes, participation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Array, Expression, StateLike
from pliant.base.signatures import checked, shown
from pliant.control.sensing.sensors import Measurement, Sensor
from pliant.errors import ModelError, PliantError, install
from pliant.model.coordinate_units import speed_units
from pliant.model.equilibrium import statics
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.terms import StateSpace
from pliant.options import JointsName
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start


@checked
def to_control(system: StateSpace, model: Model | None = None, outputs: Sequence[str] | None = None) -> Any:
    """The system as `control.StateSpace` of python-control, with names of states, inputs and outputs if the model is
    given.

    Parameters
    ----------
    system : StateSpace
        Result of `Model.linearize`, joints free or locked.
    model : Model, optional
        Model for names: states are `NAME` and `NAME.rate`, inputs the joints. Outputs that are the states have their
        names, each with its unit: `slide [m]`, `slide_rate [m/s]`; python-control has no dots there.
    outputs : sequence of str, optional
        Names of the outputs, where `linearize` was given a function; without them they are numbered.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    UnsupportedModel
        python-control is not installed.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> plant = pliant.analysis.to_control(model.linearize(np.zeros(model.n)), model)
    >>> plant.output_labels[:3]
    ['upper [rad]', 'fore [rad]', 'upper_bending_y_1 [m]']
    """
    try:
        import control  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        control = None
    if not hasattr(control, "StateSpace"):  # missing, or another module of that name
        raise PliantError(f"to_control: python-control is missing; {install('control')}")
    names: dict[str, list[str]] = {}
    if outputs is not None:
        if isinstance(outputs, str) or len(outputs) != len(system.C):
            raise ModelError(f"outputs: got {shown(outputs)}, expected {len(system.C)} names")
        names["outputs"] = list(outputs)
    if model is not None:
        states = _states(model, len(system.A) // 2)
        names |= {"inputs": [name.replace(".", "_") for name in model.joints], "states": list(states)}
        if outputs is None and np.array_equal(system.C, np.eye(len(states))):
            names["outputs"] = [f"{name.replace('.', '_')} [{unit}]" for name, unit in states.items()]
    return control.StateSpace(*(np.asarray(x) for x in system), **names)


def _states(model: Model, count: int) -> dict[str, str]:
    """Units of the states of a linear system by name: of all coordinates, or of those that locked joints leave."""
    units = dict(zip(model.speeds, speed_units(model)))
    if count < len(units):
        held = {shaft.actuated for shaft in model.chain.shafts}
        units = {name: unit for k, (name, unit) in enumerate(units.items()) if k not in held}
    if count != len(units):
        raise ModelError(f"system: got {2 * count} states, expected {2 * model.n} as the model has")
    return {name: unit.removesuffix("/s") for name, unit in units.items()} | {
        f"{name}.rate": unit for name, unit in units.items()
    }


@checked
def frequency_response(
    system: StateSpace | Model,
    frequencies: ArrayLike,
    q: StateLike | None = None,
    outputs: Callable[[Expression, Expression], Expression] | None = None,
) -> NDArray[np.complex128]:
    """Transfer matrix (N, outputs, inputs) C (i w - A)^-1 B + D at `frequencies` in Hz.

    The system is a linear system, or a model that is linearized about `q`, with `outputs(q, qd)` as for `linearize`.

    Parameters
    ----------
    system : StateSpace or Model
        System that is excited.
    frequencies : (N,) array
        Frequencies, Hz.
    q : (n,) array, optional
        State at which a model is linearized; static rest by default, as in `Model.frequencies`.
    outputs : function, optional
        Outputs of a model: y = outputs(q, qd) in CasADi operations.

    Returns
    -------
    (N, outputs, inputs) complex array

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> pliant.analysis.frequency_response(model, [1.0, 2.0], outputs=lambda q, qd: q[0]).shape
    (2, 1, 2)
    """
    if isinstance(system, Model):
        system = system.linearize(q, outputs=outputs)
    A, B, C, D = system
    w = 2j * np.pi * np.atleast_1d(np.asarray(frequencies, dtype=float))
    if w.ndim != 1 or not np.isfinite(w).all():
        raise ModelError(f"frequencies: got {shown(frequencies)}, expected finite numbers, in Hz")
    identity = np.eye(len(A))
    return np.array([C @ np.linalg.solve(s * identity - A, B) + D for s in w])


@dataclass(frozen=True)
class Controllability:
    """How torques move the natural modes of an arm, and how sensors see them; a row of every table for each mode.

    Attributes
    ----------
    frequencies : (k,) Hz
    shapes : (n, k)
        Mode shapes with unit modal mass.
    control : (k, m)
        Cosine, in the inertia metric, between the mode and the motion that each torque starts: 0 cannot move it, 1
        moves nothing else. A torque moves joints, so modes are those with joints free.
    observe : (k, s) or None
        Amplitude of each reading in a unit-energy vibration of the mode, over its largest for any mode.
    participation : (k, n)
        Share of each coordinate in the kinetic energy of the mode; rows sum to 1 (shares of coupled coordinates may be
        negative).
    coordinates : names of the columns of `participation`

    Examples
    --------
    >>> encoder = pliant.control.Encoder("upper")
    >>> found = pliant.analysis.controllability(pliant.load("two-link").model(), sensors=[encoder])
    >>> found.uncontrollable(), found.unobservable(), found.owner(3)
    ([], [], 'fore.bending_y.1')
    """

    frequencies: Array
    shapes: Array
    control: Array
    observe: Array | None
    participation: Array
    coordinates: tuple[str, ...]

    def uncontrollable(self, tolerance: float = 1e-9) -> list[int]:
        """Rows of modes that no torque can move.

        Parameters
        ----------
        tolerance : float
            Largest cosine that counts as zero.

        Returns
        -------
        list of int
        """
        return [k for k, row in enumerate(self.control) if np.abs(row).max(initial=0.0) < tolerance]

    def unobservable(self, tolerance: float = 1e-9) -> list[int]:
        """Rows of modes that no sensor sees.

        Parameters
        ----------
        tolerance : float
            Largest share that counts as zero.

        Returns
        -------
        list of int
        """
        if self.observe is None:
            raise ModelError("unobservable: got no sensors, expected some; pass sensors=[...] to controllability")
        return [k for k, row in enumerate(self.observe) if np.abs(row).max(initial=0.0) < tolerance]

    def owner(self, mode: int) -> str:
        """Coordinate with the largest share of a mode.

        Parameters
        ----------
        mode : int
            Row of the tables.

        Returns
        -------
        str
            Name of the coordinate.
        """
        return self.coordinates[int(np.argmax(self.participation[mode]))]


@checked
def controllability(
    model: Model | Robot,
    q: StateLike | None = None,
    joints: JointsName = "free",
    sensors: Sequence[Sensor] | None = None,
) -> Controllability:
    """Controllability, observability and participation of the natural modes about `q`.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    q : (n,) array, the joints alone, or a mapping, optional
        State at which to linearize; static rest by default, as in `Model.frequencies`.
    joints : "free" or "locked"
        Whether joints move or are held.
    sensors : sequence of Sensor, optional
        Sensors whose view of the modes is computed.

    Returns
    -------
    Controllability

    Examples
    --------
    >>> pliant.analysis.controllability(pliant.load("two-link").model()).participation.shape
    (4, 4)
    """
    model = model_of(model)
    model.layout.require_open("controllability (model.modes goes without)")
    model = fitted_to_start(model, q, None)
    state = statics.state_or_rest(model, q)
    found = model.modes(state, joints)
    Phi = found.shapes
    M, S = model.mass_matrix(state), model.actuation
    reach = np.linalg.solve(M, S)
    norm = np.sqrt(np.einsum("im,im->m", S, reach))
    control = (Phi.T @ S) / norm
    observe = None
    if sensors is not None:
        measurement = Measurement(model, sensors)
        C, _, _ = measurement.matrices(np.concatenate([state, np.zeros(model.n)]), model.holding_torque(state))
        w = np.maximum(found.omega, 0.0)
        amplitude = np.where(w > 0, 1 / np.where(w > 0, w, 1.0), 1.0)  # unit energy: amplitude 1/w, rate 1
        seen = np.hypot(C[:, : model.n] @ Phi * amplitude, C[:, model.n :] @ Phi).T
        observe = seen / np.maximum(seen.max(axis=0, keepdims=True, initial=0.0), np.finfo(float).tiny)
    share = (Phi * (M @ Phi)).T
    return Controllability(found.frequencies, Phi, control, observe, share, model.speeds)
