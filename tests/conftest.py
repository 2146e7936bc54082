"""Marks the tests of machines/core.toml as `core` and `smoke`."""

from __future__ import annotations

import pytest

from machines.selection import entries, idle, names


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    table = entries()
    by_node = {entry.node: [other for other in table if other.node == entry.node] for entry in table}
    for item in items:
        named = [entry for name in set(names(item.nodeid)) for entry in by_node.get(name, ())]
        full = item.get_closest_marker("full") is not None
        chosen = [entry for entry in named if entry.kind == "everywhere" or not full]
        for marker in ("core", "smoke"):
            if any(marker == "core" or entry.smoke for entry in chosen):
                item.add_marker(marker)
    if not any("::" in argument for argument in config.args):  # whole files were collected
        lost = idle(table, [item.nodeid for item in items])
        if lost:
            raise pytest.UsageError(f"tests/machines/core.toml names tests that do not exist: {', '.join(lost)}")
