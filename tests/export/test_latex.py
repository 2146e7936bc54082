"""LaTeX of small arms: it renders, it says what the model computes, and it refuses what nobody would read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from exported import model
from pliant.errors import ModelError
from pliant.export import export
from pliant.export.contents import export_name
from pliant.export.targets.latex import coordinate_symbols, equations_text


def lines() -> list[str]:
    found = equations_text(model("lagrange"))
    return [e.text for e in found.abbreviations] + [e.text for part in found.terms.values() for e in part]


def test_every_equation_renders() -> None:
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    assert len(lines()) > 10
    for line in lines():
        assert parser.parse(f"${line}$").width > 0


def value(text: str, known: dict[str, float]) -> float:
    """A second reading of the mathematics: LaTeX back to Python."""
    names = {name: f"x{k}" for k, name in enumerate(sorted(known, key=len, reverse=True))}
    for name, short in names.items():
        text = text.replace(name, f" {short} ")
    text = text.replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\,", " * ").replace(r"\cdot", "*")
    text = re.sub(r"\\(sin|cos|tanh)", r"np.\1", text)
    text = re.sub(r"\^\{([^}]*)\}", r"**(\1)", text)
    text = re.sub(r"\\sqrt\{([^}]*)\}", r"np.sqrt(\1)", text)
    return float(eval(text, {"np": np, **{names[k]: v for k, v in known.items()}}))


def test_equations_mean_what_the_model_computes() -> None:
    m = model("lagrange")
    q, qd, qdd = np.array([0.4, 0.02]), np.array([0.7, -0.3]), np.array([1.1, 0.5])
    found = equations_text(m, digits=17)
    names = coordinate_symbols(m)
    assert names == (r"\theta_{1}", r"\delta_{1,1}")
    known = dict(zip([*names, r"\dot{\theta}_{1}", r"\dot{\delta}_{1,1}"], [*q, *qd]))
    for equation in found.abbreviations:
        known[equation.left] = value(equation.right, known)
    terms = {e.left: value(e.right, known) for part in found.terms.values() for e in part}

    def vector(name: str) -> np.ndarray:
        return np.array([terms.get(f"{name}_{{{i}}}", 0.0) for i in (1, 2)])

    def matrix(name: str) -> np.ndarray:
        upper = [[terms.get(f"{name}_{{{min(i, j)},{max(i, j)}}}", 0.0) for j in (1, 2)] for i in (1, 2)]
        return np.array(upper)

    left = matrix("M") @ qdd + vector("h") + vector("c") + matrix("K") @ q + vector("d")
    assert left == pytest.approx(m.inverse_dynamics(q, qd, qdd), rel=1e-12)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_document_compiles(tmp_path: Path) -> None:
    m = model("lagrange")
    folder = export(m, "latex", tmp_path / "out")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{export_name(m)}.tex"]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def test_document_is_balanced(tmp_path: Path) -> None:
    m = model("lagrange")
    text = (export(m, "latex", tmp_path / "out") / f"{export_name(m)}.tex").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert body.count("{") == body.count("}")
    assert body.count(r"\left(") == body.count(r"\right)")
    assert re.findall(r"\\begin\{([^}]*)\}", body).count("align*") == body.count(r"\end{align*}")
    assert r"single link \& hub" in body
    assert m.robot.digest() in text


def test_large_arms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="operations, more than anybody reads"):
        export(model("lab-arm"), "latex", tmp_path / "out")
    assert not (tmp_path / "out").exists()
