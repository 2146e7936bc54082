"""Time at which this process began to import pliant, and Ctrl-C from then on.

Source that changed after this time may not be the code that runs. A command that is interrupted while it imports
modules has nothing to lose, and libraries may take an interrupt for an error of their own. So it ends at once. Before
this module is imported, Python handles Ctrl-C.
"""

import _signal  # type: ignore[import-not-found] # `signal` imports modules that take longer than all else here
import os
import sys
import time
from types import FrameType

STARTED = time.time_ns()
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def leave(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C in a command that is starting: print one line and exit."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _is_command(words: list[str]) -> bool:
    """Return True for `python -m pliant` and for the script `pliant` beside its Python."""
    script = os.path.splitext(os.path.abspath(words[1]))[0] if len(words) > 1 else ""
    beside = script == os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "pliant")
    return beside or ("-m" in words and words[words.index("-m") + 1 :][:1] == ["pliant"])


if _is_command(sys.orig_argv) and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, leave)
