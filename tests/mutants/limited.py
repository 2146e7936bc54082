"""pytest with a limit on its processor time, which it says at its end: `python -m mutants.limited SECONDS ...`."""

from __future__ import annotations

import sys
import time

import pytest

SAID = "processor seconds:"


def main(limit: float, arguments: list[str]) -> int:
    """The exit code of pytest; the system ends the process at the limit."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, most))
    code = pytest.main(arguments)
    print(SAID, round(time.process_time(), 2))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
