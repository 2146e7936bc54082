"""Marks the tests of machines/core.toml as `core` and `smoke`."""

from __future__ import annotations

import pytest

from machines.selection import entries, idle, names


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    table = entries()
    core, smoke = {entry.node for entry in table}, {entry.node for entry in table if entry.smoke}
    for item in items:
        if not item.get_closest_marker("full"):
            for marker, chosen in (("core", core), ("smoke", smoke)):
                if not chosen.isdisjoint(names(item.nodeid)):
                    item.add_marker(marker)
    if not any("::" in argument for argument in config.args):  # whole files were collected
        lost = idle(table, [item.nodeid for item in items])
        if lost:
            raise pytest.UsageError(f"tests/machines/core.toml names tests that do not exist: {', '.join(lost)}")
