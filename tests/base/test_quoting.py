"""Names of robots are text in every notation: what a reader of it sees is the name, letter by letter."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import pliant
from hostile import NAMES
from pliant.base.quoting import JOINER, quoted
from pliant.export import export


def _read_latex(text: str) -> str:
    """What TeX would set; anything else that it would obey fails."""
    words = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~"}
    found, rest = "", text
    while rest:
        word = next((w for w in words if rest.startswith(w)), None)
        if word is not None:
            found, rest = found + words[word], rest[len(word) :]
        elif rest[0] == "\\":
            assert rest[1] in "{}&%$#_", rest
            found, rest = found + rest[1], rest[2:]
        else:
            assert rest[0] not in "{}&%$#_^~\\", rest
            found, rest = found + rest[0], rest[1:]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_sees_the_name(name: str) -> None:
    assert _read_latex(quoted(name, "latex")) == name
    written = quoted(name, "html")
    assert not set(written) & set("<>\"'")
    assert html.unescape(written) == name
    written = quoted(name, "markdown")
    assert html.unescape(written).replace(JOINER, "") == name
    assert not set(re.sub(r"&#\d+;", "", written)) & set('\\`*_{}[]<>()#|!&$~:@/"')
    assert not re.match(r"\s|[-+.\d]+[.)]? |=", written)
    plain = quoted(name, "figure")
    assert plain.count("$") == plain.count(r"\$")


def test_what_cannot_be_seen() -> None:
    """Characters that turn the direction of text, ends of lines that are none, and nulls."""
    assert quoted("a\u202eb\0c\u2028d\te", "html") == "a?b?c d e"
    assert quoted("first\nsecond", "markdown") == "first  \nsecond"
    assert quoted("first\nsecond", "latex") == "first second"


@pytest.mark.parametrize("name", NAMES[:3])
def test_exports_carry_the_name_as_text(name: str, tmp_path: Path) -> None:
    arm = pliant.load("two-link").model_copy(update={"name": name})
    folder = export(arm.model("lagrange", stiffening="off"), "latex", tmp_path / "tex")
    (source,) = folder.glob("*.tex")
    lines = source.read_text(encoding="utf-8").splitlines()
    title = next(line for line in lines if line.startswith(r"\title{"))
    assert quoted(name, "latex") in title
    assert all(line.startswith("%") for line in lines if name in line and line != title)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert quoted(name, "markdown") in readme.splitlines()[0]
