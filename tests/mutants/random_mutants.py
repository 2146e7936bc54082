"""Bugs that nobody chose: one small change of the syntax tree each, drawn by a seed, in the text as it stands."""

from __future__ import annotations

import ast
import functools
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutants.planting import SOURCE, Mutant

ROOMS = (
    "mechanics.actuation",
    "mechanics.bodies",
    "mechanics.constraints",
    "mechanics.derivatives",
    "mechanics.formulations",
    "mechanics.links",
    "mechanics.loads",
    "mechanics.shapes",
    "mechanics.sliding",
    "control",
    "model",
    "simulation.runs",
    "integrators",
    "compute.nmpc",
    "identification",
)
"""Where random bugs are planted by default."""

ON_DEVICES = {"cuda"}
"""Folders whose source runs on graphics processors, which random bugs leave alone."""

KINDS = {
    "sign": 4,
    "constant": 4,
    "dropped term": 4,
    "operator": 2,
    "index": 2,
    "comparison": 2,
    "swapped arguments": 1,
}
"""How often each kind of change is drawn: arguments that are exchanged fail by their types as a rule."""

MARK = "speed alone"
"""In a comment of a line: its numbers change how long something takes, and no result."""

SWAPPED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "//"}
WRITTEN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@",
           ast.Pow: "**", ast.And: "and", ast.Or: "or", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
           ast.Eq: "==", ast.NotEq: "!=", ast.Is: r"is(?!\s+not)", ast.IsNot: r"is\s+not", ast.In: r"(?<!not )in",
           ast.NotIn: r"not\s+in"}  # fmt: skip
OPPOSITE = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
            ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
NEXT_TO = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
SYMMETRIC = {"fmin", "fmax", "min", "max", "minimum", "maximum", "hypot", "dot", "sum1", "isclose", "allclose", "gcd",
             "isinstance", "issubclass", "hasattr", "cast", "logical_and", "logical_or", "union", "merge"}  # fmt: skip
"""Functions whose arguments may be exchanged, or cannot be exchanged by mistake."""
TELLING = re.compile(r"(Error|Warning|Unsupported\w*|warn\w*|clash|announce\w*|progress\w*|stage|Field|TypeVar|print)$")
"""Functions that are given messages."""
FIGURES = re.compile(r"figure|view|__init__")
"""Files that draw, or hand on names."""


@dataclass(frozen=True)
class Change:
    """Another text for one part of a file, by its bytes."""

    kind: str
    start: int
    end: int
    new: str


def drawn(count: int, seed: int, rooms: tuple[str, ...] = ROOMS, source: Path = SOURCE) -> list[Mutant]:
    """`count` mutants, spread over the rooms by the root of their size, over kinds of changes as KINDS says, one in
    a line."""
    draw = random.Random(seed)
    sites = {room: _sites(source, room) for room in rooms}
    weights = {room: sum(len(places) for places in kinds.values()) ** 0.5 for room, kinds in sites.items()}
    found: dict[tuple[str, int], Mutant] = {}
    for room in _spread(count, weights):
        for _ in range(1000):
            path, change = draw.choice(sites[room][draw.choices(list(KINDS), list(KINDS.values()))[0]])
            mutant = _mutant(path, source, room, change)
            place = (mutant.file, _line(mutant)) if mutant else ("", 0)
            if mutant is not None and place not in found:
                found[place] = mutant
                break
    return list(found.values())


def _spread(count: int, weights: dict[str, float]) -> list[str]:
    """Rooms by turns, as often as their weights say."""
    whole, met = sum(weights.values()), dict.fromkeys(weights, 0)
    out = []
    for k in range(count):
        room = max(weights, key=lambda name: (k + 1) * weights[name] / whole - met[name])
        met[room] += 1
        out.append(room)
    return out


def _line(mutant: Mutant) -> int:
    return int(mutant.name.split()[0].rsplit(":", 1)[1])


def _mutant(path: Path, source: Path, room: str, change: Change) -> Mutant | None:
    """Whole lines around the change, as many as it takes to be there once; None where nothing else would be written."""
    data = path.read_bytes()
    old, new = data[change.start : change.end].decode(), change.new
    first, last = data.rfind(b"\n", 0, change.start) + 1, data.find(b"\n", change.end)
    text, file = data.decode(), path.relative_to(source).as_posix()
    begin = first
    while text.count(data[begin:last].decode()) > 1:
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    before = data[begin:last].decode()
    after = data[begin : change.start].decode() + new + data[change.end : last].decode()
    whole = text.replace(before, after)
    try:
        if ast.dump(ast.parse(whole)) == _tree(text):
            return None
    except SyntaxError:
        return None
    line = data.count(b"\n", 0, change.start) + 1
    said = " ".join(f"{file}:{line} {change.kind}: {old} -> {new or 'nothing'}".split())
    return Mutant(said[:150], room, file, before, after, ())


@functools.cache
def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))


@functools.cache
def _sites(source: Path, room: str) -> dict[str, list[tuple[Path, Change]]]:
    found: dict[str, list[tuple[Path, Change]]] = defaultdict(list)
    for path in sorted((source / "pliant" / room.replace(".", "/")).rglob("*.py")):
        if not FIGURES.search(path.stem) and path.parent.name not in ON_DEVICES:
            for change in changes(path.read_text(encoding="utf-8")):
                found[change.kind].append((path, change))
    return found


def changes(text: str) -> list[Change]:
    """All that may be changed in a file."""
    return list(_Sites(text).of(ast.parse(text)))


class _Sites:
    """A walk over the tree of a file that leaves out what no result depends on."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.quiet = {k for k, line in enumerate(text.splitlines(), 1) if MARK in line.partition("#")[2]}

    def of(self, node: ast.AST) -> Iterator[Change]:
        """Of a node and all below it."""
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name not in ("__repr__", "__str__"):
                for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
                    yield from self.of(part)
            return
        if isinstance(node, ast.Call) and TELLING.search(_called(node)):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from self.of(node.value)
            return
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                yield from self.of(part)
            return
        if getattr(node, "lineno", 0) not in self.quiet:
            yield from self._here(node)
        for part in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Subscript) and isinstance(part, ast.Constant)):  # said by the subscript
                yield from self.of(part)

    def _here(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.BinOp) and not any(map(_is_text, (node.left, node.right))):
            yield from self._binary(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            start, _ = self._span(node)
            kind = "sign" if isinstance(node.op, ast.USub) else "comparison"
            yield Change(kind, start, start + (1 if kind == "sign" else 3), "")
        elif isinstance(node, ast.Compare):
            yield from self._compared(node)
        elif isinstance(node, ast.BoolOp):
            other = "or" if isinstance(node.op, ast.And) else "and"
            yield from self._written("operator", node.values[0], node.values[1], type(node.op), other)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield from self._number(node)
        elif isinstance(node, ast.Subscript):
            yield from self._index(node)
        elif isinstance(node, ast.Call):
            yield from self._arguments(node)
        elif isinstance(node, ast.AugAssign):
            start, end = self._span(node)
            yield Change("dropped term", start, end, "pass")

    def _binary(self, node: ast.BinOp) -> Iterator[Change]:
        op = type(node.op)
        if op in SWAPPED:
            kind = "sign" if op in (ast.Add, ast.Sub) else "operator"
            yield from self._written(kind, node.left, node.right, op, SWAPPED[op])
        (start, end), (first, last) = self._span(node), self._span(node.left)
        if op in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow):
            # from behind the left operand with its parentheses on
            gap = self._gap(node.left, node.right, op)
            if gap is not None:
                yield Change("dropped term", gap[0], end, "")
                if op in (ast.Add, ast.Mult):
                    yield Change("dropped term", start, gap[1], "")
        elif op is ast.MatMult:
            left, right = self.data[first:last].decode(), self.data[slice(*self._span(node.right))].decode()
            gap = self._gap(node.left, node.right, op)
            if gap is not None and "(" not in self.data[last : gap[1]].decode():
                yield Change("swapped arguments", start, end, f"({right}) @ ({left})")

    def _compared(self, node: ast.Compare) -> Iterator[Change]:
        if len(node.ops) == 1:
            op = type(node.ops[0])
            yield from self._written("comparison", node.left, node.comparators[0], op, OPPOSITE[op])
            if op in NEXT_TO and any(_is_count(side) for side in (node.left, node.comparators[0])):
                yield from self._written("comparison", node.left, node.comparators[0], op, NEXT_TO[op])

    def _number(self, node: ast.Constant) -> Iterator[Change]:
        start, end = self._span(node)
        value = node.value
        if isinstance(value, int):
            yield Change("constant", start, end, str(value + 1))
            if value > 0:
                yield Change("constant", start, end, str(value - 1))
        elif isinstance(value, float) and 1e-5 < abs(value) < 1e5:  # what is smaller or larger keeps divisions safe
            yield Change("constant", start, end, repr(1.2 * value))
        elif value == 0.0:
            yield Change("constant", start, end, "0.5")

    def _index(self, node: ast.Subscript) -> Iterator[Change]:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            bounds = [part.lower, part.upper] if isinstance(part, ast.Slice) else [part]
            for bound in bounds:
                if bound is None:
                    continue
                start, end = self._span(bound)
                text = self.data[start:end].decode()
                if isinstance(bound, ast.Constant) and isinstance(bound.value, int):
                    yield Change("index", start, end, str(bound.value + 1))
                    if bound.value > 0:
                        yield Change("index", start, end, str(bound.value - 1))
                elif isinstance(bound, (ast.Name, ast.BinOp)) and isinstance(part, ast.Slice):
                    yield Change("index", start, end, f"{text} + 1")
        if len(parts) == 2 and all(isinstance(part, (ast.Name, ast.Constant)) for part in parts):
            (first, middle), (other, last) = map(self._span, parts)
            texts = self.data[first:middle].decode(), self.data[other:last].decode()
            yield Change("index", first, last, f"{texts[1]}, {texts[0]}")

    def _arguments(self, node: ast.Call) -> Iterator[Change]:
        name = _called(node)
        for one, two in zip(node.args, node.args[1:]):
            if name not in SYMMETRIC and not any(isinstance(x, ast.Starred) or _is_text(x) for x in (one, two)):
                (start, middle), (other, end) = self._span(one), self._span(two)
                texts = [self.data[a:b].decode() for a, b in ((start, middle), (middle, other), (other, end))]
                if "(" not in texts[1] and ")" not in texts[1] and "#" not in texts[1]:
                    yield Change("swapped arguments", start, end, texts[2] + texts[1] + texts[0])

    def _written(self, kind: str, left: ast.expr, right: ast.expr, op: type, new: str) -> Iterator[Change]:
        gap = self._gap(left, right, op)
        if gap is not None:
            yield Change(kind, gap[0], gap[1], new)

    def _gap(self, left: ast.AST, right: ast.AST, op: type) -> tuple[int, int] | None:
        """Where an operator stands between its operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        between = self.data[start:end].decode()
        pattern = WRITTEN[op] if WRITTEN[op][0].isalpha() or "(" in WRITTEN[op] else re.escape(WRITTEN[op])
        found = None if "#" in between else re.search(pattern, between)
        return None if found is None else (start + len(between[: found.start()].encode()), start + found.end())

    def _span(self, node: ast.AST) -> tuple[int, int]:
        line, column, last, stop = (
            getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self.starts[line - 1] + column, self.starts[last - 1] + stop


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_text(node: ast.AST) -> bool:
    """Whether it is made of texts, lists or tuples, which no sign applies to."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_count(node: ast.AST) -> bool:
    """Whether a length: next to it there is another. Next to a number that is measured there is hardly a difference."""
    return isinstance(node, ast.Call) and _called(node) == "len"
