"""A tape as statements that people can read: values used once are written in place, shared ones get names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pliant.compute.tape.operations import NAMES
from pliant.compute.tape.tape import Tape
from pliant.errors import UnsupportedModel

ADD, MUL, UNARY, ATOM = 1, 2, 3, 4
"""Precedence of an expression, from the loosest."""

LONGEST_INLINE = 56
"""Characters beyond which an expression gets a name of its own, so that a line holds at most two such."""


@dataclass(frozen=True)
class Language:
    """A language that statements are written in: operations other than + - * /, and constants.

    `calls` maps an operation to a template of its operands, which puts parentheses where they are needed.
    """

    calls: dict[str, str]
    constant: Callable[[float], str]
    number: str = ""
    """Type of the results, in a language with several."""


@dataclass(frozen=True)
class Statements:
    """Assignments in order, then one expression per output element. `used` has the inputs that occur, `wide` the names
    of values in double precision among values in single precision."""

    assignments: list[tuple[str, str]]
    outputs: list[str]
    used: frozenset[str]
    wide: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Text:
    text: str
    binds: int
    wide: bool = False
    number: float | None = None

    def inside(self, least: int) -> str:
        return self.text if self.binds >= least else f"({self.text})"


def write(
    tape: Tape, language: Language, inputs: Sequence[Sequence[str]], labels: dict[str, str],
    wide: Collection[int] = (), wide_language: Language | None = None,
) -> Statements:  # fmt: skip
    """Statements of a tape.

    Parameters
    ----------
    inputs : sequence of sequence of str
        Text of each element of each input, such as `q[0]`.
    labels : dict
        Short words for elements, so that the sine of `q[0]` may be called `sin_upper`.
    wide, wide_language
        Values of the tape that are computed in double precision, and the language for them.
    """
    elements = [name for group in inputs for name in group]
    return _Writer(tape, language, elements, labels, frozenset(wide), wide_language or language).run()


class _Writer:
    def __init__(
        self, tape: Tape, language: Language, inputs: list[str], labels: dict[str, str], wide: frozenset[int],
        wide_language: Language,
    ) -> None:  # fmt: skip
        self.tape, self.language, self.inputs, self.labels = tape, language, inputs, labels
        self.wide, self.wide_language = wide, wide_language
        self.wide_names: set[str] = set()
        self.assignments: list[tuple[str, str]] = []
        self.taken: set[str] = set()
        self.used: set[str] = set()
        self.uses = self._count_uses()

    def _count_uses(self) -> list[int]:
        """Number of times that each value is read; a square reads its operand twice."""
        uses = np.zeros(len(self.tape) + 1, dtype=int)
        for op, a, b in zip(self.tape.op.tolist(), self.tape.a.tolist(), self.tape.b.tolist()):
            name = NAMES[op]
            if name in ("input", "const"):
                continue
            uses[a] += 2 if name in _TWICE_READ else 1
            if b >= 0:
                uses[b] += 1
        np.add.at(uses, self.tape.outputs, 1)
        return list(uses[:-1])

    def run(self) -> Statements:
        values: list[_Text] = []
        tape = self.tape
        rows = zip(tape.op.tolist(), tape.a.tolist(), tape.b.tolist(), tape.constant.tolist())
        for i, (op, a, b, constant) in enumerate(rows):
            name = NAMES[op]
            if name == "input":
                self.used.add(self.inputs[a])
                values.append(_Text(self.inputs[a], ATOM))
            elif name == "const":
                text = self.language.constant(constant)
                values.append(_Text(text, UNARY if text.startswith("-") else ATOM, number=constant))
            else:
                value = self._value(name, i, values[a], values[b] if b >= 0 else None)
                values.append(self._named(name, value, values[a]) if self._wants_name(i, value) else value)
        zero = self.language.constant(0.0)
        outputs = [self._narrow(values[k]).text if k >= 0 else zero for k in tape.outputs.tolist()]
        return Statements(self.assignments, outputs, frozenset(self.used), frozenset(self.wide_names))

    def _value(self, name: str, i: int, x: _Text, y: _Text | None) -> _Text:
        """An operation in the precision of the most precise of its operands and its result."""
        if not (i in self.wide or x.wide or (y is not None and y.wide)):
            return self._operation(name, x, y, self.language)
        y = y and self._constant_in(y)
        value = replace(self._operation(name, self._wide(x), y, self.wide_language), wide=True)
        return value if i in self.wide else self._narrow(value)

    def _narrow(self, x: _Text) -> _Text:
        return _Text(f"({self.language.number}){x.inside(ATOM)}", ATOM) if x.wide else x

    def _wide(self, x: _Text) -> _Text:
        """A first operand in double precision; C then converts a second one."""
        if x.wide or x.number is not None:
            return self._constant_in(x)
        return _Text(f"({self.wide_language.number}){x.inside(ATOM)}", ATOM)

    def _constant_in(self, x: _Text) -> _Text:
        """A constant with its digits in double precision; other operands stay."""
        if x.number is None:
            return x
        text = self.wide_language.constant(x.number)
        return _Text(text, UNARY if text.startswith("-") else ATOM)

    def _wants_name(self, i: int, value: _Text) -> bool:
        bare = value.text[1:]
        negated_atom = value.text.startswith("-") and (bare in self.taken or bare in self.used)
        return (self.uses[i] > 1 and not negated_atom) or len(value.text) > LONGEST_INLINE

    def _named(self, operation: str, value: _Text, operand: _Text) -> _Text:
        label = self.labels.get(operand.text)
        name = f"{operation}_{label}" if operation in ("sin", "cos") and label else f"t{len(self.assignments) + 1}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.assignments.append((name, value.text))
        self.wide_names |= {name} if value.wide else set()
        return _Text(name, ATOM, value.wide)

    def _operation(self, name: str, x: _Text, y: _Text | None, language: Language) -> _Text:
        if name == "neg":
            return _Text(f"-{x.inside(ATOM)}", UNARY)
        if name == "sq":
            return _Text(f"{x.inside(MUL + 1)}*{x.inside(MUL + 1)}", MUL)
        if name == "twice":
            return _Text(f"{language.constant(2.0)}*{x.inside(MUL + 1)}", MUL)
        if name == "inv":
            return _Text(f"{language.constant(1.0)}/{x.inside(ATOM)}", MUL)
        if y is not None and name in _INFIX:
            sign, binds = _INFIX[name]
            return _Text(f"{x.inside(binds)}{sign}{y.inside(ATOM if y.binds == UNARY else binds + 1)}", binds)
        if name not in language.calls:
            raise UnsupportedModel(f"export: the operation {name} cannot be written in this language")
        return _Text(language.calls[name].format(x.text, y.text if y else ""), ATOM)


_INFIX = {"add": (" + ", ADD), "sub": (" - ", ADD), "mul": ("*", MUL), "div": ("/", MUL)}
_TWICE_READ = frozenset({"sq"})
