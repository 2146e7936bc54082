"""Loops of `compute.compiled_loops.translate` as readable C99: the same source, printed in place of compiled.

The subset is that of `translate`, without packs and what only translation needs: integers, floats, booleans,
pointers, records of these; `for` over `range`, `while`, `if`, `break`, `continue`, `return`; `min`, `max`, `abs`,
`math.sqrt`, `math.isfinite`, `int` and `float`; `shift` and `call`; calls of other functions of the kind. Kinds of
arguments and results are as annotated, that of a variable follows from the first value assigned to it. Everything else
raises `Untranslatable` with its line.

A function `copy` of the file `dense` becomes `dense_copy`, a record a struct that is passed by its address, an integer
`int`, a boolean 0 or 1. What nothing writes to is `const`.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import NamedTuple, TypeAlias

from pliant.compute.compiled_loops import primitives
from pliant.compute.compiled_loops.translate import ANNOTATIONS, PYTHON, Untranslatable, definition
from pliant.export.c.text import c_constant
from pliant.export.contents import C_KEYWORDS

Record: TypeAlias = type[tuple[object, ...]]
"""A NamedTuple class, which becomes a struct."""
Kind: TypeAlias = str | Record | None
"""Kind of a value: a key of `TYPES`, a record, or None for nothing."""
Translated: TypeAlias = Callable[..., object]
"""A function that is printed."""
CHOICE, OR, AND, COMPARED, ADDED, MULTIPLIED, UNARY, ATOM = range(8)
"""Precedence of an expression, from the loosest."""
WIDEST = 110
LARGEST = 2**31 - 1
TYPES = {"int": "int", "float": "double", "bool": "int", "doubles": "double *", "integers": "int *"}
POINTED = {"doubles": "float", "integers": "int"}
SIGNS: dict[type, tuple[str, int]] = {
    ast.Add: (" + ", ADDED), ast.Sub: (" - ", ADDED), ast.Mult: ("*", MULTIPLIED), ast.Div: ("/", MULTIPLIED),
}  # fmt: skip
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_EXTREME = "static {0} {1}({0} x, {0} y)\n{{\n    return y {2} x ? y : x;\n}}"
EXTREMES: dict[tuple[object, str], tuple[str, str]] = {
    (extreme, kind): (name, _EXTREME.format(TYPES[kind], name, sign))
    for extreme, sign, word in ((min, "<", "least"), (max, ">", "greatest"))
    for kind, name in (("float", word), ("int", f"{word}_int"))
}
"""Functions for min and max of two numbers, by kind: as in Python, the first unless the other is better."""


@dataclass(frozen=True)
class CExpression:
    """An expression: its text, kind and precedence, and for a pointer the variable whose memory it points into."""

    text: str
    kind: Kind
    binds: int = ATOM
    place: str = ""

    def inside(self, least: int) -> str:
        """Text for a place that needs precedence `least`: in parentheses if it binds less tightly."""
        return self.text if self.binds >= least else f"({self.text})"


class CSignature(NamedTuple):
    """Name of a function in C, kinds of its arguments by name, and of its result."""

    name: str
    arguments: dict[str, Kind]
    result: Kind


class CLoops:
    """C source of functions and of all functions that they call.

    Parameters
    ----------
    *entries : functions
        Functions with annotated arguments and results.
    """

    def __init__(self, *entries: Translated) -> None:
        first = _Printing(frozenset())
        for entry in entries:
            first.printed(entry)
        self.written = _reached(first.flows, first.written)
        self._found = _Printing(self.written)
        self.names = {entry: self._found.printed(entry).name for entry in entries}
        self.records: tuple[Record, ...] = tuple(self._found.records)

    def lines(self) -> list[str]:
        """Lines of named numbers, structs, and functions, each behind those that it calls."""
        found = self._found
        lines = [f"#define {name} {value}" for name, value in found.numbers.items()]
        lines += ["" for _ in lines[:1]]
        for record in self.records:
            lines += [*_comment(record.__doc__), "typedef struct {"]
            lines += [f"    {self.declared(record, field)};" for field in primitives.field_kinds(record)]
            lines += [f"}} {record.__name__};", ""]
        for text in (*found.helpers.values(), *found.texts):
            lines += [text, ""]
        return lines

    def is_written(self, record: Record, field: str) -> bool:
        """Whether a function writes to what a field of a record points to."""
        return f"{record.__name__}.{field}" in self.written

    def declared(self, record: Record, field: str) -> str:
        """Declaration of a field of a struct."""
        if (record, field) in self._found.addresses:
            return f"void (*{_own(field)})(double *, double *)"
        kind = ANNOTATIONS[primitives.field_kinds(record)[field]]
        return _declared(kind, _own(field), kind in POINTED and not self.is_written(record, field))


def _reached(flows: Iterable[tuple[str, str]], written: set[str]) -> frozenset[str]:
    """Variables whose memory is written to, with those that pointers to it came from."""
    sources: dict[str, set[str]] = {}
    for source, target in flows:
        sources.setdefault(target, set()).add(source)
    found, left = set(written), list(written)
    while left:
        new = sources.get(left.pop(), set()) - found
        found |= new
        left += new
    return frozenset(found)


def _own(name: str) -> str:
    return f"{name}_" if name in C_KEYWORDS else name


def _declared(kind: Kind, name: str, constant: bool = False) -> str:
    """Declaration of a variable, a field or an argument; a record is passed by its address."""
    assert kind is not None
    text = TYPES[kind] if isinstance(kind, str) else f"{kind.__name__} *"
    const = "const " if constant or not isinstance(kind, str) else ""
    return f"{const}{text}{'' if text.endswith('*') else ' '}{name}"


def _comment(text: str | None) -> list[str]:
    """A docstring as a comment."""
    parts = inspect.cleandoc((text or "").replace("*/", "* /")).split("\n\n")
    words = [line for part in parts for line in ("", *textwrap.wrap(" ".join(part.split()), WIDEST - 6))][1:]
    lines = [f"   {line}".rstrip() for line in words]
    return ["\n".join(lines).replace("  ", "/*", 1) + " */"] if words else []


class _Printing:
    """Functions printed so far with the numbers, helpers and records that they need, and the memory they write to."""

    def __init__(self, mutable: frozenset[str]) -> None:
        self.mutable = mutable
        self.numbers: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.records: dict[Record, None] = {}
        self.addresses: set[tuple[Record, str]] = set()
        self.flows: list[tuple[str, str]] = []
        self.written: set[str] = set()
        self.texts: list[str] = []
        self._printed: dict[Translated, CSignature] = {}
        self._begun: list[Translated] = []

    def printed(self, function: Translated) -> CSignature:
        """Signature of a function in C; the function is printed unless it was before."""
        if function not in self._printed:
            if function in self._begun:
                raise Untranslatable(f"{function.__module__}.{function.__name__}: calls itself")
            self._begun.append(function)
            printer = _Printer(self, function)
            self.texts.append("\n".join(printer.lines()))
            self._printed[function] = printer.signature
        return self._printed[function]


class _Scopes:
    """Places where the variables of a function are declared; some are counters of loops.

    A counter that its loop alone changes is declared by the loop. Another variable is declared at its first assignment
    if this precedes all other uses in its block, and at the top of the function otherwise.
    """

    def __init__(self, tree: ast.FunctionDef, refusal: Callable[[ast.AST, str], Untranslatable]) -> None:
        self.refusal = refusal
        self.arguments = {argument.arg for argument in tree.args.args}
        self._mentions: dict[str, list[tuple[tuple[int, ...], ast.stmt]]] = {}
        self._loops: list[tuple[tuple[int, ...], ast.For, str]] = []
        self._blocks = 0
        self._walk(tree.body, (), frozenset())
        self.inline: dict[ast.stmt, str] = {}
        self.at_top: list[str] = []
        for name, mentions in self._mentions.items():
            self._place(name, mentions)

    def _walk(self, body: list[ast.stmt], path: tuple[int, ...], counters: frozenset[str]) -> None:
        for statement in body:
            inner = counters
            if isinstance(statement, ast.For):
                inner = counters | {self._counter(statement, path, counters)}
            parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
            if isinstance(statement, ast.For):
                parts.remove(statement.target)
            for node in (node for part in parts for node in ast.walk(part)):
                if isinstance(node, ast.Name) and node.id not in counters:
                    self._mentions.setdefault(node.id, []).append((path, statement))
            for block in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
                self._blocks += 1
                self._walk(block, (*path, self._blocks), inner)

    def _counter(self, loop: ast.For, path: tuple[int, ...], counters: frozenset[str]) -> str:
        if not isinstance(loop.target, ast.Name):
            raise self.refusal(loop, "expected `for name in range(...)`")
        name = loop.target.id
        stores = (n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        if name in counters or name in self.arguments or any(node.id == name for node in stores):
            raise self.refusal(loop, f"{name} counts a loop, and is something else as well")
        self._loops.append((path, loop, name))
        return name

    def _place(self, name: str, mentions: list[tuple[tuple[int, ...], ast.stmt]]) -> None:
        stores = [(path, s) for path, s in mentions if _assigned(s) == name]
        counted = [(path, loop) for path, loop, counter in self._loops if counter == name]
        if not stores and counted:
            raise self.refusal(mentions[0][1], f"{name} counts a loop, and is looked at outside of it")
        if not stores or name in self.arguments:
            return
        block = stores[0][0]
        first = mentions[0][1] is stores[0][1] and isinstance(stores[0][1], ast.Assign)
        first = first and all(path[: len(block)] == block for path, _ in mentions)
        own = [node for node in ast.walk(stores[0][1]) if isinstance(node, ast.Name) and node.id == name]
        taken = any(path[: len(block)] == block and loop.lineno > stores[0][1].lineno for path, loop in counted)
        if first and len(own) == 1 and not taken:
            self.inline[stores[0][1]] = name
        elif counted:
            raise self.refusal(stores[0][1], f"{name} counts a loop, and is something else as well")
        else:
            self.at_top.append(name)


def _assigned(statement: ast.stmt) -> str | None:
    """Name of the variable that a statement assigns to, or None."""
    target: object = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return target.id if isinstance(target, ast.Name) and not isinstance(statement, ast.For) else None


class _Printer:
    """Print one function as C: one method for each node of its syntax tree, named like the class of the node."""

    def __init__(self, module: _Printing, function: Translated) -> None:
        self.module, self.function, self.tree = module, function, definition(function)
        self.home = function.__module__.rpartition(".")[2]
        self.name = f"{self.home}_{function.__name__}"
        self.kinds: dict[str, Kind] = {}
        self._taken = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.refusal(self.tree, "arguments are given by their places, all of them")
        self.result = self._annotated(self.tree.returns, self.tree)
        for argument in arguments.args:
            self.kinds[argument.arg] = self._annotated(argument.annotation, argument)
        self.signature = CSignature(self.name, dict(self.kinds), self.result)
        self.scopes = _Scopes(self.tree, self.refusal)

    def refusal(self, node: ast.AST, why: str) -> Untranslatable:
        """Error that names the function and the line."""
        line = getattr(node, "lineno", self.tree.lineno)
        return Untranslatable(f"{self.function.__module__}.{self.function.__name__}, line {line}: {why}")

    def _annotated(self, annotation: ast.expr | None, node: ast.AST) -> Kind:
        """Kind, record or None that an annotation stands for."""
        text = "" if annotation is None else ast.unparse(annotation)
        if text in ANNOTATIONS or text == "None":
            return ANNOTATIONS.get(text)
        record = self.function.__globals__.get(text)
        if not (isinstance(record, type) and issubclass(record, tuple) and hasattr(record, "_fields")):
            raise self.refusal(node, f"got {text or 'no annotation'}, expected {', '.join(ANNOTATIONS)} or a record")
        self.module.records[record] = None
        return record

    def lines(self) -> list[str]:
        """Lines of the whole function."""
        names = [argument.arg for argument in self.tree.args.args]
        body = self._block(self.tree.body, 1)
        read = {node.id for node in ast.walk(ast.Module(self.tree.body, [])) if isinstance(node, ast.Name)}
        head = [f"    (void){_own(name)};" for name in names if name not in read]
        head += [f"    {self._variable(name)};" for name in self.scopes.at_top]
        given = ", ".join(self._variable(name) for name in names) or "void"
        assert self.result is None or isinstance(self.result, str)
        result = "void" if self.result is None else TYPES[self.result]
        return [
            *_comment(ast.get_docstring(self.tree)),
            *_wrapped(f"static {result} {self.name}({given})", 0),
            "{",
            *head,
            *body,
            "}",
        ]

    def _variable(self, name: str) -> str:
        kind = self.kinds[name]
        constant = kind in POINTED and f"{self.name}.{name}" not in self.module.mutable
        return _declared(kind, _own(name), constant)

    # --------------------------------------------------------------------------------------------------- statements

    def _block(self, body: list[ast.stmt], depth: int) -> list[str]:
        lines: list[str] = []
        for statement in body:
            handler = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise self.refusal(statement, f"{type(statement).__name__} is not in the subset")
            lines += handler(statement, depth)
        return lines

    def _expr(self, node: ast.Expr, depth: int) -> list[str]:
        if isinstance(node.value, ast.Constant):
            return []
        return _wrapped(f"{self._of(node.value).text};", depth)

    def _assign(self, node: ast.Assign, depth: int) -> list[str]:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Name | ast.Subscript):
            raise self.refusal(node, f"nothing can be assigned to {', '.join(map(ast.unparse, node.targets))}")
        value = self._of(node.value)
        if isinstance(target, ast.Subscript):
            return _wrapped(f"{self._stored(target, value)} = {value.text};", depth)
        self._bind(target.id, value, node)
        if self.scopes.inline.get(node) == target.id:
            return _wrapped(f"{self._variable(target.id)} = {value.text};", depth)
        return _wrapped(f"{_own(target.id)} = {value.text};", depth)

    def _bind(self, name: str, value: CExpression, node: ast.AST) -> None:
        if not isinstance(value.kind, str):
            raise self.refusal(node, f"{name}: expected a number or a pointer")
        self._require(value, self.kinds.setdefault(name, value.kind), node)
        if value.kind in POINTED:
            self.module.flows.append((value.place, f"{self.name}.{name}"))

    def _stored(self, target: ast.Subscript, value: CExpression) -> str:
        place = self._subscript(target)
        self.module.written.add(self._of(target.value).place)
        self._require(value, place.kind, target)
        return place.text

    def _augassign(self, node: ast.AugAssign, depth: int) -> list[str]:
        if type(node.op) not in SIGNS:
            raise self.refusal(node, f"{type(node.op).__name__} is not in the subset")
        old, value = self._of(node.target), self._of(node.value)
        kind = self._arithmetic(type(node.op), old, value, node)
        self._require(CExpression("", kind), old.kind, node)
        if isinstance(node.target, ast.Subscript):
            self._stored(node.target, value)
        return _wrapped(f"{old.text} {SIGNS[type(node.op)][0].strip()}= {value.text};", depth)

    def _return(self, node: ast.Return, depth: int) -> list[str]:
        if node.value is None:
            return [f"{'    ' * depth}return;"]
        value = self._of(node.value)
        self._require(value, self.result, node)
        return _wrapped(f"return {value.text};", depth)

    def _if(self, node: ast.If, depth: int) -> list[str]:
        inner = "    " * depth
        lines = [*_wrapped(f"if ({self._condition(node.test)}) {{", depth), *self._block(node.body, depth + 1)]
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            first, *rest = self._if(node.orelse[0], depth)
            return [*lines, f"{inner}}} else {first.strip()}", *rest]
        if node.orelse:
            lines += [f"{inner}}} else {{", *self._block(node.orelse, depth + 1)]
        return [*lines, f"{inner}}}"]

    def _while(self, node: ast.While, depth: int) -> list[str]:
        if node.orelse:
            raise self.refusal(node, "`while` has no `else`")
        head = _wrapped(f"while ({self._condition(node.test)}) {{", depth)
        return [*head, *self._block(node.body, depth + 1), f"{'    ' * depth}}}"]

    def _for(self, node: ast.For, depth: int) -> list[str]:
        source, target = node.iter, node.target
        if not isinstance(source, ast.Call) or self._global(source.func) is not range or node.orelse:
            raise self.refusal(node, "expected `for name in range(...)`")
        if not 1 <= len(source.args) <= 2 or source.keywords:
            raise self.refusal(node, "expected range(stop) or range(start, stop)")
        *start, stop = [self._of(argument) for argument in source.args]
        for bound in (*start, stop):
            self._require(bound, "int", node)
        name, lines, last = ast.unparse(target), [], stop.inside(ADDED)
        self.kinds[name] = "int"
        if not self._stays(source.args[-1], node):  # Python evaluates it once
            last = next(x for k in itertools.count(1) if (x := f"stop{k}") not in self._taken)
            self._taken.add(last)
            lines = _wrapped(f"const int {last} = {stop.text};", depth)
        own, begin = _own(name), start[0].text if start else "0"
        lines += _wrapped(f"for (int {own} = {begin}; {own} < {last}; {own}++) {{", depth)
        return [*lines, *self._block(node.body, depth + 1), f"{'    ' * depth}}}"]

    def _stays(self, bound: ast.expr, loop: ast.For) -> bool:
        """Whether a bound keeps its value throughout a loop."""
        changed = {_assigned(s) for top in loop.body for s in ast.walk(top) if isinstance(s, ast.stmt)}
        names = {node.id for node in ast.walk(bound) if isinstance(node, ast.Name)}
        return not (names & changed or any(isinstance(node, ast.Call | ast.Subscript) for node in ast.walk(bound)))

    def _break(self, node: ast.Break, depth: int) -> list[str]:
        return [f"{'    ' * depth}break;"]

    def _continue(self, node: ast.Continue, depth: int) -> list[str]:
        return [f"{'    ' * depth}continue;"]

    # -------------------------------------------------------------------------------------------------- expressions

    def _of(self, node: ast.expr) -> CExpression:
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None or not isinstance(node, ast.expr):
            raise self.refusal(node, f"{ast.unparse(node)} is not in the subset")
        return handler(node)  # type: ignore[no-any-return]

    def _require(self, value: CExpression, kind: Kind, node: ast.AST) -> None:
        if value.kind != kind and (value.kind, kind) != ("int", "float"):
            names = [x if isinstance(x, str) else getattr(x, "__name__", "nothing") for x in (value.kind, kind)]
            raise self.refusal(node, f"a value of kind {names[0]} was found where {names[1]} was expected")

    def _condition(self, node: ast.expr) -> str:
        found = self._of(node)
        self._require(found, "bool", node)
        return found.text

    def _global(self, node: ast.expr) -> object:
        """Value of a name, or of an attribute of a module, that the function does not define itself."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = self._global(node.value)
            if isinstance(home, ModuleType):
                return getattr(home, node.attr)
        if isinstance(node, ast.Name) and node.id not in self.kinds:
            scope = self.function.__globals__
            builtins = scope["__builtins__"]
            for place in (scope, builtins if isinstance(builtins, dict) else vars(builtins)):
                if node.id in place:
                    return place[node.id]
        raise self.refusal(node, f"{ast.unparse(node)} has no value here")

    def _number(self, x: object, node: ast.AST) -> CExpression:
        if isinstance(x, bool):
            return CExpression(str(int(x)), "bool")
        if isinstance(x, int) and abs(x) <= LARGEST:
            return CExpression(str(x), "int", UNARY if x < 0 else ATOM)
        if isinstance(x, float):
            return CExpression(c_constant(x), "float", UNARY if math.copysign(1.0, x) < 0 else ATOM)
        raise self.refusal(node, f"{x!r} is no number of C")

    def _constant(self, node: ast.Constant) -> CExpression:
        return self._number(node.value, node)

    def _name(self, node: ast.Name) -> CExpression:
        if node.id in self.kinds:
            return CExpression(_own(node.id), self.kinds[node.id], place=f"{self.name}.{node.id}")
        value = self._number(self._global(node), node)
        name = f"{self.home}_{node.id}".upper()
        self.module.numbers[name] = value.inside(ATOM)
        return CExpression(name, value.kind)

    def _attribute(self, node: ast.Attribute) -> CExpression:
        if not (isinstance(node.value, ast.Name) and node.value.id in self.kinds):
            return self._number(self._global(node), node)
        record = self.kinds[node.value.id]
        if record is None or isinstance(record, str) or node.attr not in primitives.field_kinds(record):
            raise self.refusal(node, f"{ast.unparse(node)} is no field of a record")
        kind = ANNOTATIONS[primitives.field_kinds(record)[node.attr]]
        place = f"{record.__name__}.{node.attr}"
        return CExpression(f"{_own(node.value.id)}->{_own(node.attr)}", kind, place=place)

    def _subscript(self, node: ast.Subscript) -> CExpression:
        base, index = self._of(node.value), self._of(node.slice)
        if base.kind not in POINTED:
            raise self.refusal(node, "only pointers have elements")
        self._require(index, "int", node)
        return CExpression(f"{base.inside(ATOM)}[{index.text}]", POINTED[base.kind])

    def _arithmetic(self, op: type, x: CExpression, y: CExpression, node: ast.AST) -> str:
        """Kind of the result of an operation on two numbers."""
        kinds = {x.kind, y.kind}
        if not kinds <= {"int", "float"}:
            raise self.refusal(node, "expected numbers")
        return "float" if "float" in kinds or op is ast.Div else "int"

    def _binop(self, node: ast.BinOp) -> CExpression:
        x, y, op = self._of(node.left), self._of(node.right), type(node.op)
        if op not in SIGNS:
            raise self.refusal(node, f"{op.__name__} is not in the subset")
        kind, (sign, binds) = self._arithmetic(op, x, y, node), SIGNS[op]
        if op is ast.Div and x.kind == y.kind == "int":
            x = CExpression(f"(double){x.inside(UNARY)}", "float", UNARY)
        return CExpression(f"{x.inside(binds)}{sign}{y.inside(binds + 1)}", kind, binds)

    def _unaryop(self, node: ast.UnaryOp) -> CExpression:
        x, negated = self._of(node.operand), isinstance(node.op, ast.Not)
        if type(node.op) not in PYTHON or x.kind not in (("bool",) if negated else ("int", "float")):
            raise self.refusal(node, f"{ast.unparse(node)} is not in the subset")
        return CExpression(f"{'!' if negated else '-'}{x.inside(ATOM)}", x.kind, UNARY)

    def _compare(self, node: ast.Compare) -> CExpression:
        if len(node.ops) > 1:
            raise self.refusal(node, "expected one comparison; join several by `and`")
        x, y, sign = self._of(node.left), self._of(node.comparators[0]), COMPARISONS.get(type(node.ops[0]))
        numbers = {x.kind, y.kind} <= {"int", "float"}
        if sign is None or not (numbers or (x.kind == y.kind == "bool" and sign in ("==", "!="))):
            raise self.refusal(node, f"{ast.unparse(node)} is not in the subset")
        return CExpression(f"{x.inside(ADDED)} {sign} {y.inside(ADDED)}", "bool", COMPARED)

    def _boolop(self, node: ast.BoolOp) -> CExpression:
        parts = [self._of(value) for value in node.values]
        for part in parts:
            self._require(part, "bool", node)
        both = isinstance(node.op, ast.And)
        text = (" && " if both else " || ").join(part.inside(COMPARED) for part in parts)
        return CExpression(text, "bool", AND if both else OR)

    def _ifexp(self, node: ast.IfExp) -> CExpression:
        test, x, y = self._of(node.test), self._of(node.body), self._of(node.orelse)
        self._require(test, "bool", node)
        kind = x.kind if x.kind == y.kind else self._arithmetic(ast.Add, x, y, node)
        if kind not in ("int", "float", "bool"):
            raise self.refusal(node, "expected numbers on both sides of `if ... else`")
        return CExpression(f"{test.inside(OR)} ? {x.inside(OR)} : {y.inside(OR)}", kind, CHOICE)

    # -------------------------------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> CExpression:
        function = self._global(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.refusal(node, "arguments are given by their places")
        if function is primitives.call:
            return self._flat_call(node)
        arguments = [self._of(argument) for argument in node.args]
        if function in _CALLS:
            return _CALLS[function](self, node, *arguments)
        if function in (min, max):
            return self._extreme(node, function, arguments)
        if not isinstance(function, FunctionType) or function.__module__ == primitives.__name__:
            raise self.refusal(node, f"{ast.unparse(node.func)} is not in the subset")
        return self._called(node, function, arguments)

    def _called(self, node: ast.Call, function: FunctionType, arguments: list[CExpression]) -> CExpression:
        name, kinds, result = self.module.printed(function)
        if len(arguments) != len(kinds):
            raise self.refusal(node, f"{len(kinds)} arguments were expected, {len(arguments)} were given")
        for argument, (own, kind) in zip(arguments, kinds.items()):
            self._require(argument, kind, node)
            if kind in POINTED:
                self.module.flows.append((argument.place, f"{name}.{own}"))
        return CExpression(f"{name}({', '.join(argument.text for argument in arguments)})", result)

    def _flat_call(self, node: ast.Call) -> CExpression:
        """Call of a function by its address, which is a field of a record."""
        address = node.args[0]
        is_field = isinstance(address, ast.Attribute) and isinstance(address.value, ast.Name)
        record = self.kinds.get(address.value.id) if is_field else None  # type: ignore[attr-defined]
        if record is None or isinstance(record, str) or len(node.args) != 3:
            raise self.refusal(node, "expected call(record.field, source, sink)")
        called, source, sink = map(self._of, node.args)
        for pointer in (source, sink):
            self._require(pointer, "doubles", node)
            self.module.written.add(pointer.place)
        self.module.addresses.add((record, address.attr))  # type: ignore[attr-defined]
        return CExpression(f"{called.text}({source.text}, {sink.text})", None)

    def _shift(self, node: ast.Call, pointer: CExpression, offset: CExpression) -> CExpression:
        if pointer.kind not in POINTED:
            raise self.refusal(node, "only pointers are shifted")
        self._require(offset, "int", node)
        return CExpression(f"{pointer.inside(ADDED)} + {offset.inside(MULTIPLIED)}", pointer.kind, ADDED, pointer.place)

    def _extreme(self, node: ast.Call, function: object, arguments: list[CExpression]) -> CExpression:
        kind = "int" if all(argument.kind == "int" for argument in arguments) else "float"
        if len(arguments) < 2 or not {argument.kind for argument in arguments} <= {"int", "float"}:
            raise self.refusal(node, "expected two numbers or more")
        name, text = EXTREMES[function, kind]
        self.module.helpers[name] = text
        found = arguments[0].text
        for other in arguments[1:]:
            found = f"{name}({found}, {other.text})"
        return CExpression(found, kind)

    def _of_number(self, node: ast.Call, x: CExpression, text: str, kind: str, binds: int = ATOM) -> CExpression:
        self._require(x, "float", node)
        return CExpression(text, kind, binds)


def _wrapped(text: str, depth: int) -> list[str]:
    """Lines of a statement, broken at `WIDEST` characters."""
    inner = "    " * depth
    return textwrap.wrap(
        text, WIDEST, initial_indent=inner, subsequent_indent=f"{inner}    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


_CALLS: dict[object, Callable[..., CExpression]] = {
    abs: lambda p, node, x: p._of_number(node, x, f"fabs({x.text})", "float"),
    math.sqrt: lambda p, node, x: p._of_number(node, x, f"sqrt({x.text})", "float"),
    math.isfinite: lambda p, node, x: p._of_number(node, x, f"fabs({x.text}) < INFINITY", "bool", COMPARED),
    int: lambda p, node, x: p._of_number(node, x, f"(int){x.inside(UNARY)}", "int", UNARY),
    float: lambda p, node, x: p._of_number(node, x, f"(double){x.inside(UNARY)}", "float", UNARY),
    primitives.shift: _Printer._shift,
}
