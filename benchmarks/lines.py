"""Lines of code of the package, room by room: without docstrings, comments and blank lines.

python benchmarks/lines.py [folder]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

NOTHING = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def lines(text: str) -> int:
    """Lines that hold a token which is neither a comment nor part of a docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            first = node.body[0]
            documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in NOTHING for line in range(token.start[0], token.end[0] + 1)}
    return len(code - documented)


def main(folder: Path) -> None:
    """Print the table."""
    rooms: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        rooms[path.relative_to(folder).parts[0]] += lines(path.read_text(encoding="utf-8"))
    for name, count in rooms.most_common():
        print(f"{count:7,} {name}")
    print(f"{rooms.total():7,} in all")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "pliant")
