"""Pages of text, tables and figures: HTML that needs no other file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from importlib.resources import files


def page(title: str, body: str) -> str:
    """Complete HTML document."""
    style = (files("pliant.drawing") / "report.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def picture(name: str, caption: str, png: bytes) -> str:
    """HTML of a figure with its caption."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure id="{escape(name, quote=True)}"><img alt="{escape(caption, quote=True)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{escape(caption)}</figcaption></figure>'
    )


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """HTML of a table; all columns but the first are numbers."""
    first, *others = map(escape, head)
    top = f"<th>{first}</th>" + "".join(f'<th class="number">{cell}</th>' for cell in others)
    lines = (
        f"<tr><td>{escape(str(row[0]))}</td>"
        + "".join(f'<td class="number">{escape(str(cell))}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><tr>{top}</tr>{"".join(lines)}</table></div>'
