"""The array types that annotations share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]
Booleans = NDArray[np.bool_]
