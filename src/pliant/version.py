"""The version, in one place: `pyproject.toml`, files that pliant writes and `pliant.__version__` read it here."""

VERSION = "0.1.0"
