"""Marks the tests of machines/core.toml as `core` and `smoke`, and slow cases as `slow`.

The quick set optimizes short kernels only."""

from __future__ import annotations

import signal
import sys
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from machines.selection import entries, idle, names
from pliant.compute.llvm import llvm
from quick_arithmetic import make_quick

pytest_plugins = ["browser"]
QUICK = ("not full and not slow and not long", "not full and not long")
"""The daily set, and that of the planted bugs."""
LONG = 200
"""Operations from which on a kernel takes LLVM longer to optimize than a test takes to run it."""


@pytest.fixture(scope="session", autouse=True)
def quickly_compiled(request: pytest.FixtureRequest) -> Iterator[None]:
    """In the quick set expressions are built by shorter ways, to the same tapes (test_quick_arithmetic.py), and long
    kernels are compiled as they stand, with the same bits (compute/llvm/test_bits.py); the large set and the core set
    do both as users do."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr in ("", *QUICK):
            patch.setattr(llvm, "LONGEST_OPTIMIZED", LONG)
            make_quick(patch)
        yield


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    """Where a test has brought pyplot in, it knows the figures of all later ones and would keep them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture
def python_handler() -> Iterator[None]:
    """Ctrl-C as a terminal has it: a process in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Numbers of a test's own: the same ones whichever tests ran before it in the same process."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


def pytest_configure(config: pytest.Config) -> None:
    """A test that is named on the command line runs, whatever its markers."""
    daily = config.option.markexpr in QUICK
    asked = "-m" in config.invocation_params.args
    if daily and not asked and config.args and all("::" in argument for argument in config.args):
        config.option.markexpr = ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    table = entries()
    by_node = {entry.node: [other for other in table if other.node == entry.node] for entry in table}
    cases: dict[str, set[str]] = {}
    for item in items:
        named = [entry for name in set(names(item.nodeid)) for entry in by_node.get(name, ())]
        full = item.get_closest_marker("full") is not None
        chosen = [entry for entry in named if entry.kind == "everywhere" or not full]
        _mark_slow(item, cases)
        for marker in ("core", "smoke"):
            if any(marker == "core" or entry.smoke for entry in chosen):
                item.add_marker(marker)
    if not any("::" in argument for argument in config.args):  # whole files were collected
        lost = idle(table, [item.nodeid for item in items])
        if lost:
            raise pytest.UsageError(f"tests/machines/core.toml names tests that do not exist: {', '.join(lost)}")
        unknown = [f"{node}[{case}]" for node, left in cases.items() for case in left]
        if unknown:
            raise pytest.UsageError(f"slow_cases names cases that do not exist: {', '.join(unknown)}")


def _mark_slow(item: pytest.Item, cases: dict[str, set[str]]) -> None:
    """Mark a case that its test calls slow, and take it from those that are still to be found."""
    marker = item.get_closest_marker("slow_cases")
    if marker is not None:
        node, _, case = item.nodeid.partition("[")
        case = case.removesuffix("]")
        if case in marker.args:
            item.add_marker("slow")
        cases.setdefault(node, set(marker.args)).discard(case)
