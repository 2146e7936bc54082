"""The types of arrays and expressions that annotations share."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]
Booleans = NDArray[np.bool_]
Expression = ca.SX
"""Symbols and what is computed from them; numbers (`casadi.DM`, floats) pass for one wherever CasADi takes them."""
