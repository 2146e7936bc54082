from pathlib import Path
from typing import Any

from pliant.model import Model


def export_fmu(model: Model, path: str | Path, **o: Any) -> Path:
    raise NotImplementedError
