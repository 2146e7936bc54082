"""python -m benchmarks [dynamics|simulation|...] [--quick]"""

from __future__ import annotations

import argparse
import importlib
import platform
from pathlib import Path

RUNNABLE = ("dynamics", "simulation", "batch", "sweeps", "gradients")
NAMES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem in RUNNABLE)


def main() -> None:
    """Run the benchmarks asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="a smoke run: small sizes, no meaning in the numbers")
    options = parser.parse_args()
    print(f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}")
    for name in options.names or NAMES:
        print(f"\n## {name}")
        importlib.import_module(f"benchmarks.{name}").main(options.quick)


if __name__ == "__main__":
    main()
