"""Types of arrays and expressions, shared by annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import casadi as ca

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]
Booleans = NDArray[np.bool_]
AnglesLike = ArrayLike
"""Numbers, or angles as text: ["90 deg", 0.0]."""
StateLike = ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]]
"""Coordinates as `pliant.model.read_state` reads them: `AnglesLike`, by name or not, or "equilibrium"."""
if TYPE_CHECKING:
    Expression = ca.SX
else:  # reading annotations at run time needs no CasADi
    Expression = Any
"""CasADi expression. Numbers (`casadi.DM`, floats) are accepted wherever CasADi accepts them."""
