"""Print the arms of some seeds: `python tests/combinations [--small] 14 27`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from combinations.generator import arm

small = "--small" in sys.argv
for seed in sys.argv[1 + small :]:
    print(arm(int(seed), small).text)
