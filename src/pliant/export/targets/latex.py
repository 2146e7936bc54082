"""Equations of motion of small arms in LaTeX: M, h, c, K, d of M qdd + h + c + K q + d = S tau, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.base.quoting import quoted
from pliant.base.signatures import checked
from pliant.compute.tape.operations import NAMES
from pliant.compute.tape.tape import Tape
from pliant.errors import ModelError, UnsupportedModel
from pliant.export.contents import description, export_name, parameter_unit, template
from pliant.export.placing import placed
from pliant.export.readme import write_readme
from pliant.export.targets import Target
from pliant.mechanics.formulations.terms import general
from pliant.model.coordinate_units import coordinate_units
from pliant.model.model import Model
from pliant.model.robot import Robot

LARGEST = 400
"""Most operations of equations that people can read."""


@dataclass(frozen=True)
class Equation:
    """One line: `left = right`."""

    left: str
    right: str

    @property
    def text(self) -> str:
        """Mathematics without delimiters."""
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class EquationsText:
    """Abbreviations of shared terms in the order in which they can be evaluated, then the elements of each term."""

    abbreviations: list[Equation]
    terms: dict[str, list[Equation]]


@checked
def export_latex(
    model: Model | Robot, folder: str | Path, *, digits: int = 6, limit: int = LARGEST, force: bool = False
) -> Path:
    """Write a folder with `NAME.tex`, a document of its own, `README.md` and `robot.yaml`.

    Arms of more than `limit` operations are refused.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    folder : str or path
        Folder to write.
    digits : int
        Digits of numbers.
    limit : int
        Most operations.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> model = pliant.load("two-link").model("lagrange", stiffening="off")
    >>> folder = pliant.export.export_latex(model, "arm", digits=4)
    >>> len(list(folder.glob("*.tex")))
    1
    """
    model = TARGET.model_of(model)
    if not 1 <= digits <= 17:
        raise ModelError(f"digits: got {digits}, expected 1 to 17, which is all that a number has")
    target, name = Path(folder), export_name(model)
    with placed(target, force) as work:
        (work / f"{name}.tex").write_text(document(model, equations_text(model, digits, limit)), encoding="utf-8")
        write_readme(model, "latex", work, ())
    return target


def equations_text(model: Model, digits: int = 6, limit: int = LARGEST) -> EquationsText:
    """The equations as text: upper triangles of M and K, elements of h, c and d that are not zero."""
    model.layout.require_open("an export to LaTeX")
    n = model.n
    for link in model.chain.links:
        if link.joint.is_ball:
            raise UnsupportedModel(
                f"latex: {link.piece.owner} has a quaternion, so that speeds are not rates of q, in which these "
                "equations are written; export C or Python"
            )
    q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    terms = dict(zip("MhcKd", general(model.equations, q, qd)))
    given = [q, qd, model.parameter_symbols]
    tape = Tape.from_function(ca.Function("terms", given, ca.cse([ca.densify(ca.SX(x)) for x in terms.values()])))
    operations = sum(tape.count().values())
    if operations > limit:
        raise ModelError(
            f"latex: the equations of {model.robot.name!r} need {operations} operations, more than anybody reads "
            f"(limit={limit}); take stiffening='off', fewer shapes or links, export C or Python, or raise limit="
        )
    names = coordinate_symbols(model)
    symbols = [*names, *(rf"\dot{{{s.split('_')[0]}}}_{s.split('_', 1)[1]}" for s in names)]
    symbols += [f"p_{{{k + 1}}}" for k in range(len(model.parameters))]
    writer = _Writer(tape, symbols, digits)
    values = writer.values()
    found: dict[str, list[Equation]] = {}
    start = 0
    for name, expression in terms.items():
        shape = expression.shape
        found[name] = _elements(name, shape, values[start : start + shape[0] * shape[1]])
        start += shape[0] * shape[1]
    return EquationsText(writer.abbreviations, found)


def _elements(name: str, shape: tuple[int, int], values: Sequence[str]) -> list[Equation]:
    """Lines of one term: the upper triangle of a matrix; zeros are left out."""
    rows, columns = shape
    out = []
    for i in range(rows):
        for j in range(i if columns > 1 else 0, columns):
            index = f"{i + 1},{j + 1}" if columns > 1 else f"{i + 1}"
            if values[i * columns + j] != "0":
                out.append(Equation(f"{name}_{{{index}}}", values[i * columns + j]))
    return out


def coordinate_symbols(model: Model) -> tuple[str, ...]:
    r"""Symbols of the coordinates: \theta_i and d_i of joints, \varphi_i of motors, \delta_{i,j} of amplitudes."""
    symbols = [""] * model.n
    for i, link in enumerate(model.chain.links, 1):
        own = [k for k in link.body_indices if k not in {shaft.index for shaft in link.shafts}]
        for j, index in enumerate(own, 1):
            symbols[index] = rf"\delta_{{{i},{j}}}"
        for j, shaft in enumerate(link.shafts, 1):
            number = f"{i}" if len(link.shafts) == 1 else f"{i},{j}"
            symbols[shaft.index] = rf"\theta_{{{number}}}" if shaft.turns else f"d_{{{number}}}"
            if shaft.drive is not None:
                symbols[shaft.actuated] = rf"\varphi_{{{number}}}"
    return tuple(symbols)


SUM, PRODUCT, SIGN, ATOM = 1, 2, 3, 4


@dataclass(frozen=True)
class _Text:
    text: str
    binds: int

    def inside(self, least: int) -> str:
        return self.text if self.binds >= least else rf"\left({self.text}\right)"

    def factor(self) -> str:
        """Text of the value as a factor behind a sign or another factor."""
        bare = self.binds >= PRODUCT and not self.text.startswith("-")
        return self.text if bare else rf"\left({self.text}\right)"


class _Writer:
    """Values of a tape as mathematics; a shared value of some size becomes an abbreviation a_k."""

    def __init__(self, tape: Tape, symbols: Sequence[str], digits: int) -> None:
        self.tape, self.symbols, self.digits = tape, symbols, digits
        self.abbreviations: list[Equation] = []

    def values(self) -> list[str]:
        """Text of every output element."""
        uses = np.zeros(len(self.tape) + 1, dtype=int)
        inner = self.tape.op != _CODE["input"]
        np.add.at(uses, self.tape.a[inner], 1)
        np.add.at(uses, self.tape.b, 1)
        texts: list[_Text] = []
        for i, (op, a, b) in enumerate(zip(self.tape.op.tolist(), self.tape.a.tolist(), self.tape.b.tolist())):
            name = NAMES[op]
            if name == "input":
                texts.append(_Text(self.symbols[a], ATOM))
            elif name == "const":
                texts.append(self._number(float(self.tape.constant[i])))
            else:
                value = self._operation(name, texts[a], texts[b] if b >= 0 else None)
                shared = uses[i] > 1 and name not in _SHORT and not self._scaled_symbol(name, a, b)
                texts.append(self._abbreviated(value) if shared else value)
        return [texts[k].text if k >= 0 else "0" for k in self.tape.outputs.tolist()]

    def _scaled_symbol(self, name: str, a: int, b: int) -> bool:
        """Whether a value is a number times a coordinate, which is shorter than any abbreviation."""
        kinds = {NAMES[self.tape.op[k]] for k in (a, b)}
        return name == "mul" and kinds == {"const", "input"}

    def _abbreviated(self, value: _Text) -> _Text:
        """Abbreviation for a value, with its equation added to the list."""
        name = f"a_{{{len(self.abbreviations) + 1}}}"
        self.abbreviations.append(Equation(name, value.text))
        return _Text(name, ATOM)

    def _number(self, x: float) -> _Text:
        text = f"{abs(x):.{self.digits}g}"
        if "e" in text:
            mantissa, exponent = text.split("e")
            text = rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
        binds = PRODUCT if "cdot" in text else ATOM
        return _Text(f"-{text}", SIGN if binds == ATOM else SUM) if x < 0 else _Text(text, binds)

    def _operation(self, name: str, x: _Text, y: _Text | None) -> _Text:
        if name == "neg":
            return _Text(f"-{x.inside(PRODUCT if x.binds == PRODUCT else ATOM)}", SUM)
        if name == "sq":
            return _Text(f"{_based(x)}^{{2}}", PRODUCT + 1)
        if name == "twice":
            return _Text(rf"2\,{x.factor()}", PRODUCT)
        if name == "inv":
            return _Text(rf"\frac{{1}}{{{x.text}}}", PRODUCT)
        if name == "sqrt":
            return _Text(rf"\sqrt{{{x.text}}}", PRODUCT + 1)
        if name in _FUNCTIONS:
            return _Text(rf"{_FUNCTIONS[name]}\left({x.text}\right)", PRODUCT + 1)
        if y is None or name not in ("add", "sub", "mul", "div", "constpow", "pow"):
            raise UnsupportedModel(f"latex: the operation {name} has no mathematical notation here; export C or Python")
        if name == "add":
            return _Text(f"{x.text} {y.text}" if y.text.startswith("-") else f"{x.text} + {y.text}", SUM)
        if name == "sub":
            return _Text(f"{x.text} - {y.factor()}", SUM)
        if name == "mul":
            first, second = (y, x) if _is_number(y) and not _is_number(x) else (x, y)
            between = r" \cdot " if _is_number(second) else r"\,"
            return _Text(f"{first.inside(PRODUCT)}{between}{second.factor()}", PRODUCT)
        if name == "div":
            return _Text(rf"\frac{{{x.text}}}{{{y.text}}}", PRODUCT)
        return _Text(f"{_based(x)}^{{{y.text}}}", PRODUCT + 1)


_SHORT = frozenset({"sin", "cos", "neg", "sq", "twice"})
_CODE = {name: code for code, name in NAMES.items()}
_FUNCTIONS = {
    **{name: f"\\{name}" for name in ("sin", "cos", "tan", "exp", "log", "tanh", "sinh", "cosh")},
    **{"fabs": r"\mathrm{abs}", "sign": r"\mathrm{sign}"},
}


def _is_number(x: _Text) -> bool:
    return x.text[:1].isdigit()


def _based(x: _Text) -> str:
    r"""The base of a power: \left( ... \right) around everything but a bare symbol."""
    bare = x.binds == ATOM and "^" not in x.text
    return x.text if bare else rf"\left({x.text}\right)"


# ---------------------------------------------------------------------------------------------------- document


def document(model: Model, equations: EquationsText) -> str:
    """A whole LaTeX document."""
    titles = {
        "M": "Inertia matrix $M$ (symmetric)",
        "h": "Velocity terms $h$",
        "c": "Gravity $c$",
        "K": "Stiffness $K$ (symmetric)",
        "d": "Dampers and friction $d$",
    }
    sections = []
    if equations.abbreviations:
        sections.append(_section("Abbreviations", equations.abbreviations))
    sections += [_section(titles[name], lines) for name, lines in equations.terms.items() if lines]
    return template("equations.tex.in").substitute(
        comment="\n".join(f"% {line}" for line in description(model)),
        title=quoted(model.robot.name, "latex"),
        symbols="\n".join(_symbol_rows(model)),
        actuation=_matrix(model.actuation),
        sections="\n\n".join(sections),
    )


def _section(title: str, lines: Sequence[Equation]) -> str:
    rows = " \\\\\n".join(rf"  {line.left} &= {line.right}" for line in lines)
    return f"\\section*{{{title}}}\n\\begin{{align*}}\n{rows}\n\\end{{align*}}"


def _symbol_rows(model: Model) -> list[str]:
    rows = [
        rf"${symbol}$ & \verb|{name}| & {unit} \\"
        for symbol, name, unit in zip(coordinate_symbols(model), model.coordinates, coordinate_units(model))
    ]
    for k, path in enumerate(model.parameters):
        rows.append(rf"$p_{{{k + 1}}}$ & \verb|{path}| & {parameter_unit(path)} \\")
    return rows


def _matrix(S: Array) -> str:
    rows = [" & ".join(f"{x:.6g}" for x in row) for row in np.atleast_2d(S)]
    return "\\begin{pmatrix}" + " \\\\ ".join(rows) + "\\end{pmatrix}"


TARGET = Target(write=export_latex, formulation="lagrange", stiffening="off")
