"""`python tests/machines`: run the core tests on every machine that this one can be, and say how each did."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder above: this one is the package `machines`

from machines.run import main  # noqa: E402

sys.exit(main())
