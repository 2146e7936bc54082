"""Text of files as text: nothing in it is markup where it is shown.

Names of robots, of files and whatever else a file says come from strangers. Wherever they are put among HTML, Markdown,
LaTeX or the labels of a figure, they pass through `quoted`.
"""

from __future__ import annotations

import html
import re
from typing import Literal

JOINER = "\u2060"
"""A character without width: between the marks of an address it keeps readers of Markdown from making a link."""
_ADDRESS = re.compile(r"(?i)(?<=http:)(?=//)|(?<=https:)(?=//)|(?<=www)(?=\.)|(?<=@)")
Place = Literal["html", "markdown", "latex", "figure"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{mark: f"\\{mark}" for mark in "{}&%$#_"},
}


def quoted(text: str, into: Place) -> str:
    """The text as it has to be written so that a reader of HTML, Markdown, LaTeX or a figure sees it letter by letter.

    Markdown may be that of a page, which runs what stands in braces: marks become character references, and line breaks
    hard ones. Characters that cannot be seen become question marks, since some of them turn the direction of text.
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
    """Letters, and marks that mean nothing inside a line, as they are."""
    line = _ADDRESS.sub(JOINER, line.strip())
    return "".join(
        c if c.isalnum() or c in f" ,;'={JOINER}" or (k and c in "-.") else f"&#{ord(c)};" for k, c in enumerate(line)
    )
