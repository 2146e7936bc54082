"""What pliant does without and a user asks for: messages name an extra of ours that brings it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
OPTIONAL = {
    "control": "control", "zarr": "zarr", "pyarrow": "sweep", "distributed": "sweep", "cupy": "gpu", "viser": "studio",
    "imageio_ffmpeg": "video", "gymnasium": "rl", "jax": "jax", "torch": "torch",
}  # fmt: skip


def test_every_install_command_names_an_extra() -> None:
    """No bare package, whose version nobody chose; no extra that is not there."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"pip install (\\?[\"'\w][^\s;,.`]*)", text):
            name = re.fullmatch(r"""\\?['"]pliant\[(\w+)\]\\?['"].*""", match[1])
            if name is None or name[1] not in EXTRAS:
                found.append(f"{path.name}: {match[0]}")
    assert found == []


def test_extras_bring_what_is_asked_for() -> None:
    for module, name in OPTIONAL.items():
        assert any(entry.replace("-", "_").startswith(module) for entry in EXTRAS[name]), module


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pliant import PliantError
    from pliant.sweeps.outputs import SweepResult

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PliantError, match=r"pip install 'pliant\[sweep\]'"):
        SweepResult.to_parquet(None, tmp_path / "table.parquet")  # type: ignore[arg-type]
