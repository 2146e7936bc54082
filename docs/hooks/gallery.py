"""Makes the gallery of the site from the files in examples/: a picture of each, its idea, and the script to run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

FIRST = ("first_arm", "free_swing", "static_sag", "tip_load", "urdf_arm")
NAMES = {"urdf": "URDF", "lqr": "LQR", "casadi": "CasADi"}
HEAD = """# Gallery

Each example is one file and shows one idea. It prints a result and checks it by `assert`. Its function `picture` draws
the picture. Choose an example by its picture, read it, and run it: `python first_arm.py`. The tests run all examples.
The files are also in the folder `examples/` of the repository.

"""


def on_files(files: Any, config: Any) -> Any:
    """Adds gallery.md to the pages, and the examples with all that they read to the files of the site."""
    folder = Path(config["config_file_path"]).parent / "examples"
    paths = sorted(folder.glob("*.py"), key=lambda path: (path.stem not in FIRST, path.stem))
    pictures = Path(config["docs_dir"]) / "images" / "gallery"
    shown = [path for path in paths if (pictures / f"{path.stem}.png").exists()]
    cards = "".join(f'<a href="#{_anchor(path)}">{_picture(path)}<br>{_title(path)}</a>\n' for path in shown)
    text = f'{HEAD}<div class="gallery">\n{cards}</div>\n' + "".join(_section(path, path in shown) for path in paths)
    files.append(File.generated(config, "gallery.md", content=text))
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files.append(File.generated(config, f"examples/{path.relative_to(folder)}", abs_src_path=str(path)))
    return files


def _title(path: Path) -> str:
    words = path.stem.replace("_", " ").capitalize().split()
    return " ".join(NAMES.get(word.lower(), word) for word in words)


def _anchor(path: Path) -> str:
    return path.stem.replace("_", "-")


def _picture(path: Path) -> str:
    return f'<img src="../images/gallery/{path.stem}.png" alt="{_title(path)}" loading="lazy">'


def _section(path: Path, shown: bool) -> str:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    idea = ast.get_docstring(tree) or path.stem
    lines = source.splitlines()[(tree.body[0].end_lineno or 0) :]
    code = "\n".join(lines).strip()
    picture = f'![{_title(path)}](images/gallery/{path.stem}.png){{ width="420" }}\n\n' if shown else ""
    return (
        f"\n## {_title(path)} {{#{_anchor(path)}}}\n\n{picture}{idea}\n\n"
        f"Run it: [{path.name}](examples/{path.name})\n\n"
        f'```python title="examples/{path.name}"\n{code}\n```\n'
    )
