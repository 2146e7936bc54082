"""When this process began to import pliant: source that changed later may not be what runs."""

import time

STARTED = time.time_ns()
