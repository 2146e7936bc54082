"""Quoting of text from files, so that nothing in it acts as markup.

Names of robots, of files and all other text of a file are untrusted. `quoted` escapes them wherever they are put into
HTML, Markdown, LaTeX or the labels of a figure.
"""

from __future__ import annotations

import html
import re
from typing import Literal

JOINER = "\u2060"
"""Character without width. Between the marks of an address it keeps Markdown from making a link."""
_ADDRESS = re.compile(r"(?i)(?<=http:)(?=//)|(?<=https:)(?=//)|(?<=www)(?=\.)|(?<=@)")
Place = Literal["html", "markdown", "latex", "figure"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{mark: f"\\{mark}" for mark in "{}&%$#_"},
}


def quoted(text: str, into: Place) -> str:
    """Return the text escaped so that HTML, Markdown, LaTeX or a figure shows it letter by letter.

    Markdown may be that of a page, which runs text in braces: marks become character references, and line breaks become
    hard ones. Invisible characters become question marks, since some of them reverse the direction of text.
    """
    seen = re.sub(r"[^\S\n ]", " ", text)
    seen = "".join(c if c.isprintable() or c == "\n" else "?" for c in seen)
    if into == "html":
        return html.escape(seen)
    if into == "latex":
        return "".join(_LATEX.get(c, c) for c in seen.replace("\n", " "))
    if into == "figure":
        return seen.replace("$", r"\$")
    return "  \n".join(_markdown_line(line) for line in seen.split("\n"))


def _markdown_line(line: str) -> str:
    """Keep letters, and marks without a meaning inside a line."""
    line = _ADDRESS.sub(JOINER, line.strip())
    return "".join(
        c if c.isalnum() or c in f" ,;'={JOINER}" or (k and c in "-.") else f"&#{ord(c)};" for k, c in enumerate(line)
    )
