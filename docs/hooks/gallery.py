"""Makes the gallery of the site from the files in examples/."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

FIRST = ("first_arm", "free_swing", "static_sag", "tip_load")
HEAD = """# Gallery

Each example is one file and one idea; it prints its number and asserts it. All of them run in `make test`.
Get them from the folder `examples/` of the repository.
"""


def on_files(files: Any, config: Any) -> Any:
    """Adds gallery.md to the pages."""
    folder = Path(config["config_file_path"]).parent / "examples"
    paths = sorted(folder.glob("*.py"), key=lambda path: (path.stem not in FIRST, path.stem))
    text = HEAD + "".join(_section(path) for path in paths)
    files.append(File.generated(config, "gallery.md", content=text))
    return files


def _section(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    idea = ast.get_docstring(tree) or path.stem
    lines = source.splitlines()[(tree.body[0].end_lineno or 0) :]
    title = path.stem.replace("_", " ").capitalize()
    code = "\n".join(lines).strip()
    return f'\n## {title}\n\n{idea}\n\n```python title="examples/{path.name}"\n{code}\n```\n'
