"""States as users give them: by name, for the joints alone, or in full. One rule for every function that takes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.model.model import Model


def read_state(model: Model, given: Any, name: str = "q", many: bool = False) -> Array:
    """Coordinates, or rates where `name` begins with "qd" or is "rates", of one arm (n,) or of many (1 or A, n).

    What is not given is that of the undeformed arm at rest: zero, but for the free lengths of sliding beams. A mapping
    gives coordinates by name, an array of `n_joints` the joints; motors of elastic drives that are not named then stand
    (and turn) with their joints. An array of `n` numbers is taken as it is.

    Raises
    ------
    ModelError
        Numbers that do not fit, are not finite, or a free length outside its travel.
    """
    moving = name.startswith(("qd", "rates"))
    rest = np.zeros(model.n) if moving else model.chain.rest()
    if given is None:
        state = rest
    elif isinstance(given, Mapping):
        named = {model.index(key): np.asarray(value, dtype=float) for key, value in given.items()}
        arms = max((len(value) for value in named.values() if many and value.ndim == 1), default=0)
        state = np.tile(rest, (arms, 1)) if arms else rest
        for index, value in named.items():
            if value.ndim > 0 and value.shape != (arms,):
                raise ModelError(f"{name}[{model.coordinates[index]!r}]: got shape {value.shape}, expected one number")
            state[..., index] = value
        state = model.chain.followed(state, given=named)
    else:
        state = _array(model, given, name, many)
        if state.shape[-1] != model.n:
            joints, state = state, np.tile(rest, (*state.shape[:-1], 1))
            state[..., : model.n_joints] = joints
            state = model.chain.followed(state)
    if not np.isfinite(state).all():
        raise ModelError(f"{name}: got a number that is not finite, expected finite numbers")
    if not moving:
        model.chain.check_travel(state)
    return np.atleast_2d(state) if many else state


def _array(model: Model, given: Any, name: str, many: bool) -> Array:
    """(n,) or (n_joints,) numbers, with a leading axis where there are many arms."""
    sizes = f"({model.n},)" if model.n == model.n_joints else f"({model.n},) or the joints ({model.n_joints},)"
    expected = f"{'one state or one per arm, ' if many else ''}{sizes}: {', '.join(model.coordinates)}"
    try:
        state = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: got {type(given).__name__}, expected numbers {expected}") from error
    if (
        state.ndim not in ((1, 2) if many else (1,))
        or state.shape[-1] not in (model.n, model.n_joints)
        or not len(state)
    ):
        raise ModelError(f"{name}: got shape {state.shape}, expected {expected}")
    return state
