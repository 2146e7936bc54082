"""Print the tables of all problems, expected and got: `PYTHONPATH=tests python -m other_codes.problems`. Ten minutes.

Names of problems as arguments run these alone.
"""

from __future__ import annotations

import importlib
import sys

NAMES = ("space_manipulator", "twisted_beam", "spatial_arm", "four_bar", "rotating_shaft", "lateral_buckling")

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"other_codes.problems.{name}").main()
