"""`python tests/mutants`: plant every bug of the lists, one at a time, and say which of them the tests caught."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder above: this one is the package `mutants`

from mutants.command import main  # noqa: E402

sys.exit(main())
