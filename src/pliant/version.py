"""Versions: of pliant, in one place, and of other packages; and what packages add to pliant."""

from importlib import metadata

VERSION = "0.1.0"
"""`pyproject.toml`, files that pliant writes and `pliant.__version__` read it here."""


def installed(name: str) -> str | None:
    """Version of a package, or None if it is not installed."""
    try:
        return VERSION if name == "pliant" else metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def plugins(group: str) -> dict[str, metadata.EntryPoint]:
    """Entry points of a group by name: commands and measured arms that packages add."""
    return {point.name: point for point in metadata.entry_points(group=group)}
