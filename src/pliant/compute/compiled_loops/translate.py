"""Translate plain Python functions over numbers and pointers to LLVM IR.

The subset is: integers, floats, booleans, pointers, named tuples of these; `for` over `range`, `while`, `if`, early
return; `min`, `max`, `abs` and a few functions of `math`; the primitives of `compute.compiled_loops.primitives`; calls
of other functions of the same kind in any file, also with keywords. Kinds of values follow from those of the arguments,
so that one function serves numbers and lanes of a pack. Constants, and arguments that are known when translating, are
computed then, and branches on them are removed. Everything else raises `Untranslatable` with its line.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias, TypeGuard

from pliant.compute.compiled_loops import primitives
from pliant.compute.llvm.lanes import Lanes

ONE = Lanes(1)
PLAIN = 'nounwind "no-builtins"'
"""Attributes of functions: they raise nothing, and a loop that copies does not become a call of the C library."""
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Mod: "rem"}
Operand: TypeAlias = Any
"""A `Value`, or a Python object that is known when translating."""
PYTHON: dict[type, Callable[..., Operand]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.USub: operator.neg, ast.Not: operator.not_,
}  # fmt: skip
COMPARISON = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
POINTERS = {"doubles": "float", "integers": "int", "packs": "lane"}
"""Kinds of pointers, and the kinds that they point to."""
ANNOTATIONS = {"int": "int", "float": "float", "bool": "bool", "Doubles": "doubles", "Integers": "integers"}


class Untranslatable(TypeError):
    """A construct outside the subset."""


@dataclass(frozen=True)
class Value:
    """A value that is known only when the code runs: its kind, and its name in LLVM IR."""

    kind: str
    name: str


class Module:
    """LLVM IR of an entry function and of all that it calls, one translation for each combination of argument kinds.

    Parameters
    ----------
    lanes : Lanes
        Width of a pack.
    fma : bool
        Whether the primitive `fma` rounds once.
    flags : str
        Freedom of LLVM in arithmetic: "contract" fuses products and sums.
    attributes : str
        Attributes of every function, as LLVM spells them.
    external : iterable of functions
        Functions that another module defines under their own names.
    """

    def __init__(
        self, lanes: Lanes = ONE, fma: bool = False, flags: str = "contract", attributes: str = PLAIN,
        external: Iterable[Callable[..., object]] = (),
    ) -> None:  # fmt: skip
        self.lanes, self.fma, self.flags, self.attributes = lanes, fma, flags, attributes
        self.external = set(external)
        self.texts: list[str] = []
        self.declared: dict[str, None] = {}
        self.notes: list[str] = []
        self._instances: dict[tuple[object, ...], tuple[str, str | None]] = {}

    def entry(self, name: str, function: Callable[..., object], **known: object) -> None:
        """Translate `function` under a name of its own; arguments that are not `known` have the kinds annotated."""
        arguments: list[Operand] = []
        for argument in definition(function).args.args:
            if argument.arg in known:
                arguments.append(known[argument.arg])
            else:
                arguments.append(Value(ANNOTATIONS[ast.unparse(argument.annotation)], ""))  # type: ignore[arg-type]
        self.instance(function, arguments, name)

    def text(self) -> str:
        """The whole module."""
        return "\n".join([*self.declared, *self.texts, f"attributes #0 = {{ {self.attributes} }}", *self.notes, ""])

    def short_loop(self) -> str:
        """Return the metadata for the jump back of a short loop: LLVM takes one vector at a time."""
        own = f"!{len(self.notes) + 1}"
        self.notes.append(f'{own} = distinct !{{{own}, !{{!"llvm.loop.interleave.count", i32 1}}}}')
        return f", !llvm.loop {own}"

    def type(self, kind: str | None) -> str:
        """LLVM's name of a kind; None is `void`."""
        lanes: dict[str | None, str] = {None: "void", "lane": self.lanes.type, "mask": self.lanes.bool_type}
        return {**lanes, "int": "i64", "float": "double", "bool": "i1"}.get(kind, "ptr")

    def instance(
        self, function: Callable[..., object], arguments: list[Operand], name: str = ""
    ) -> tuple[str, str | None]:
        """Translate a function for arguments of these kinds; return its name and the kind of its result."""
        key = (function, *map(_description, arguments))
        if key not in self._instances:
            writer = _Writer(self, function, arguments)
            own = name or f"{function.__name__}.{len(self._instances)}"
            result = writer.body()
            head = f"define {'' if name else 'internal '}{self.type(result)} @{own}({', '.join(writer.parameters)})"
            head += " #0 noinline" if getattr(function, "called", False) else " #0"
            self.texts.append("\n".join([f"{head} {{", "entry:", *writer.rooms, *writer.lines, "}"]))
            self._instances[key] = own, result
        return self._instances[key]


@functools.cache
def _definitions(module: str) -> dict[str, ast.FunctionDef]:
    """Syntax trees of the functions at the top level of a module, keywords of their calls resolved."""
    home = sys.modules[module]
    tree = _WithoutKeywords(vars(home)).visit(ast.parse(inspect.getsource(home)))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


class _WithoutKeywords(ast.NodeTransformer):
    """Calls of functions and named tuples with all arguments by position, in the order of the parameters."""

    def __init__(self, scope: Mapping[str, object]) -> None:
        self.scope = scope

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        called = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if given and (isinstance(called, FunctionType) or hasattr(called, "_fields")):
            names = tuple(inspect.signature(called).parameters)[len(node.args) :]  # type: ignore[arg-type]
            if sorted(names) == sorted(map(str, given)):
                node.args, node.keywords = [*node.args, *(given[name] for name in names)], []
        return node


def definition(function: Callable[..., object]) -> ast.FunctionDef:
    """Syntax tree of a function, with the arguments of its calls given by position."""
    found = _definitions(function.__module__).get(function.__name__)
    if found is None:
        raise Untranslatable(f"{function.__qualname__}: expected a function at the top level of its file")
    return found


def _is_number(x: object) -> TypeGuard[int | float]:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _is_known(x: object) -> bool:
    return not isinstance(x, Value) and not (isinstance(x, tuple) and any(not _is_known(item) for item in x))


def _description(x: Operand) -> Operand:
    """Part of an argument that a translation depends on: the kind of a run-time value, the value of a known one."""
    if isinstance(x, Value):
        return x.kind
    if _is_number(x):
        return "float" if isinstance(x, float) else "int"
    if not _is_known(x):
        return (type(x), *map(_description, x))
    return "known", repr(x) if isinstance(x, tuple | bool) else id(x)


class _Writer:
    """One function under translation. Local variables live in memory, which LLVM turns into registers."""

    def __init__(self, module: Module, function: Callable[..., object], arguments: list[Operand]) -> None:
        self.module, self.function, self.tree = module, function, definition(function)
        self.flags = module.flags
        if module.flags and getattr(function, "reassociated", False):
            self.flags += " reassoc"
        self._apart = getattr(function, "apart", False)
        self.lines: list[str] = []
        self.rooms: list[str] = []
        self.parameters: list[str] = []
        self.result: str | None = None
        self._numbers = itertools.count()
        self._block, self._closed = "entry", False
        self._loops: list[tuple[str, str]] = []
        self._variables: dict[str, Value] = {}
        names = [argument.arg for argument in self.tree.args.args]
        if len(names) != len(arguments) or self.tree.args.vararg or self.tree.args.kwonlyargs:
            raise self._refusal(self.tree, f"{len(names)} arguments were expected, {len(arguments)} were given")
        self._known: dict[str, Operand] = dict(zip(names, map(self._parameter, arguments)))
        stores = [n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self._often = {name for name in stores if stores.count(name) > 1 or name in names}

    def body(self) -> str | None:
        """Translate all statements; return the kind of the result."""
        for name in sorted(self._often & self._known.keys()):  # arguments that are assigned to become variables
            self._bind(name, self._known.pop(name))
        self._statements(self.tree.body)
        if not self._closed:
            self._do("ret void" if self.result is None else "unreachable")
        return self.result

    def _refusal(self, node: ast.AST, why: str) -> Untranslatable:
        line = getattr(node, "lineno", 0)
        return Untranslatable(f"{self.function.__module__}.{self.function.__name__}, line {line}: {why}")

    # ----------------------------------------------------------------------------- writing

    def _do(self, line: str) -> None:
        if self._closed:  # behind a return: a block that nothing reaches
            self._label(self._new("dead"))
        self.lines.append(line)

    def _new(self, hint: str = "v") -> str:
        return f"{hint}{next(self._numbers)}"

    def _let(self, kind: str, instruction: str) -> Value:
        name = f"%{self._new()}"
        self._do(f"{name} = {instruction}")
        return Value(kind, name)

    def _label(self, name: str) -> None:
        self._block, self._closed = name, False
        self.lines.append(f"{name}:")

    def _jump(self, line: str) -> None:
        """End the block."""
        if not self._closed:
            self.lines.append(line)
        self._closed = True

    def _go(self, label: str) -> None:
        self._jump(f"br label %{label}")

    def _branch(self, condition: Value, yes: str, no: str) -> None:
        self._jump(f"br i1 {condition.name}, label %{yes}, label %{no}")

    def _parameter(self, argument: Operand) -> Operand:
        if isinstance(argument, Value) or _is_number(argument):
            kind = _description(argument)
            own = " noalias" if self._apart and kind in POINTERS else ""
            self.parameters.append(f"{self.module.type(kind)}{own} %a{len(self.parameters)}")
            return Value(kind, f"%a{len(self.parameters) - 1}")
        if _is_known(argument):
            return argument
        parts = [self._parameter(part) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)

    def _flat(self, argument: Operand) -> list[Value]:
        if isinstance(argument, Value) or _is_number(argument):
            return [self._value(argument)]
        return [] if _is_known(argument) else [value for item in argument for value in self._flat(item)]

    # -------------------------------------------------------------------------------- kinds

    def _value(self, x: Operand, kind: str | None = None) -> Value:
        """Return x as a value of a kind; integers become floats, and floats become lanes, where that kind asks."""
        if isinstance(x, Value):
            return x if kind in (None, x.kind) else self._converted(x, str(kind))
        if not isinstance(x, bool | int | float):
            raise self._refusal(self.tree, f"{x!r} is no number")
        own = "bool" if isinstance(x, bool) else "float" if isinstance(x, float) else "int"
        kind = kind or own
        if kind in ("float", "lane") and own != "bool":
            return Value(kind, (ONE if kind == "float" else self.module.lanes).constant(float(x)))
        if kind == "mask":
            return self._converted(Value("bool", str(x).lower()), kind)
        if kind != own:
            raise self._refusal(self.tree, f"{x!r} was found where a value of kind {kind} was expected")
        return Value(kind, str(x).lower())

    def _converted(self, x: Value, kind: str) -> Value:
        if (x.kind, kind) == ("int", "float"):
            return self._let("float", f"sitofp i64 {x.name} to double")
        if (x.kind, kind) == ("int", "lane"):
            return self._converted(self._converted(x, "float"), "lane")
        if (x.kind, kind) in (("float", "lane"), ("bool", "mask")):
            width, T = self.module.lanes.width, self.module.type(kind)
            if width == 1:
                return Value(kind, x.name)
            one = self._let(kind, f"insertelement {T} undef, {self.module.type(x.kind)} {x.name}, i32 0")
            return self._let(kind, f"shufflevector {T} {one.name}, {T} undef, <{width} x i32> zeroinitializer")
        raise self._refusal(self.tree, f"a value of kind {x.kind} was found where {kind} was expected")

    def _common(self, *items: Operand) -> list[Value]:
        """Convert numbers to values of one kind."""
        kinds = [_description(item) if not isinstance(item, bool) else "bool" for item in items]
        for kind in ("lane", "mask", "float", "int", "bool"):
            if kind in kinds:
                return [self._value(item, kind) for item in items]
        return [self._value(item) for item in items]

    # --------------------------------------------------------------------------- statements

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            handler = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise self._refusal(statement, f"{type(statement).__name__} is not in the subset")
            handler(statement)

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._of(node.value)

    def _assign(self, node: ast.Assign) -> None:
        self._store(node.targets[0], self._of(node.value))

    def _bind(self, target: str, value: Operand) -> None:
        """Give a name its value: known things as they are, numbers in a variable."""
        if target not in self._often and (_is_known(value) or isinstance(value, tuple)):
            self._known[target] = value
            return
        self._known.pop(target, None)
        value = self._value(value, self._variables[target].kind if target in self._variables else None)
        if target not in self._variables:
            self._variables[target] = Value(value.kind, f"%{self._new('room')}")
            self.rooms.append(f"{self._variables[target].name} = alloca {self.module.type(value.kind)}")
        self._do(f"store {self.module.type(value.kind)} {value.name}, ptr {self._variables[target].name}")

    def _store(self, target: ast.expr, value: Operand) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Tuple):
            for item, part in zip(target.elts, value, strict=True):
                self._store(item, part)
        elif isinstance(target, ast.Subscript):
            self._put(self._element(self._of(target.value), self._of(target.slice), target), value)
        else:
            raise self._refusal(target, f"nothing can be assigned to {ast.unparse(target)}")

    def _element(self, base: Operand, index: Operand, node: ast.AST) -> Value:
        """Address of base[index], as a pointer of the same kind."""
        if not (isinstance(base, Value) and base.kind in POINTERS):
            raise self._refusal(node, "only pointers have elements")
        T, at = self.module.type(POINTERS[base.kind]), self._value(index, "int")
        return self._let(base.kind, f"getelementptr {T}, ptr {base.name}, i64 {at.name}")

    def _put(self, place: Value, value: Operand) -> None:
        kind = POINTERS[place.kind]
        self._do(f"store {self.module.type(kind)} {self._value(value, kind).name}, ptr {place.name}, align 8")

    def _get(self, place: Value) -> Value:
        kind = POINTERS[place.kind]
        return self._let(kind, f"load {self.module.type(kind)}, ptr {place.name}, align 8")

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            place = self._element(self._of(node.target.value), self._of(node.target.slice), node)
            self._put(place, self._operation(node.op, self._get(place), self._of(node.value), node))
        else:
            old = self._of(ast.Name(node.target.id, ast.Load()))  # type: ignore[union-attr]
            self._store(node.target, self._operation(node.op, old, self._of(node.value), node))

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            self._jump("ret void")
            return
        value = self._value(self._of(node.value), self.result)
        self.result = value.kind
        self._jump(f"ret {self.module.type(value.kind)} {value.name}")

    def _if(self, node: ast.If) -> None:
        condition = self._of(node.test)
        if _is_known(condition):
            self._statements(node.body if condition else node.orelse)
            return
        yes, no, end = self._new("then"), self._new("else"), self._new("end")
        self._branch(self._value(condition, "bool"), yes, no)
        for label, body in ((yes, node.body), (no, node.orelse)):
            self._label(label)
            self._statements(body)
            self._go(end)
        self._label(end)

    def _while(self, node: ast.While) -> None:
        test, body, out = self._new("while"), self._new("body"), self._new("out")
        self._go(test)
        self._label(test)
        self._branch(self._value(self._of(node.test), "bool"), body, out)
        self._label(body)
        self._repeat(node.body, (test, out))
        self._label(out)

    def _repeat(self, statements: list[ast.stmt], loop: tuple[str, str]) -> None:
        self._loops.append(loop)
        self._statements(statements)
        self._loops.pop()
        self._go(loop[0])

    def _for(self, node: ast.For) -> None:
        source, target = node.iter, node.target
        if not isinstance(source, ast.Call) or node.orelse:
            raise self._refusal(node, "expected `for name in range(...)`")
        if self._of(source.func) is primitives.unrolled:
            for item in self._of(source.args[0]):
                self._known.update(_named(target, item))
                self._statements(node.body)
            return
        if self._of(source.func) is not range or len(source.args) > 2:
            raise self._refusal(node, "expected range(stop) or range(start, stop)")
        bounds = [self._value(self._of(argument), "int").name for argument in source.args]
        start, stop = bounds if len(bounds) == 2 else ("0", bounds[0])
        counter = f"%{self._new('room')}"
        self.rooms.append(f"{counter} = alloca i64")
        self._do(f"store i64 {start}, ptr {counter}")
        test, body, again, out = (self._new(hint) for hint in ("for", "body", "next", "out"))
        self._go(test)
        self._label(test)
        at = self._let("int", f"load i64, ptr {counter}")
        self._branch(self._let("bool", f"icmp slt i64 {at.name}, {stop}"), body, out)
        self._label(body)
        self._store(target, at)
        self._repeat(node.body, (again, out))
        self._label(again)
        self._do(f"store i64 {self._let('int', f'add nsw i64 {at.name}, 1').name}, ptr {counter}")
        self._jump(f"br label %{test}{self.module.short_loop() if self._apart else ''}")
        self._label(out)

    def _break(self, node: ast.Break) -> None:
        self._go(self._loops[-1][1])

    def _continue(self, node: ast.Continue) -> None:
        self._go(self._loops[-1][0])

    # -------------------------------------------------------------------------- expressions

    def _of(self, node: ast.expr) -> Operand:
        """Translate an expression; return a known object, or a run-time `Value`."""
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None or not isinstance(node, ast.expr):
            raise self._refusal(node, f"{ast.unparse(node)} is not in the subset")
        return handler(node)

    def _constant(self, node: ast.Constant) -> Operand:
        return node.value

    def _attribute(self, node: ast.Attribute) -> Operand:
        return getattr(self._of(node.value), node.attr)

    def _tuple(self, node: ast.Tuple) -> Operand:
        return tuple(map(self._of, node.elts))

    def _subscript(self, node: ast.Subscript) -> Operand:
        base, index = self._of(node.value), self._of(node.slice)
        if not isinstance(base, Value) and _is_known(index):
            return _plain(base[index])
        return self._get(self._element(base, index, node))

    def _binop(self, node: ast.BinOp) -> Operand:
        return self._operation(node.op, self._of(node.left), self._of(node.right), node)

    def _name(self, node: ast.Name) -> Operand:
        if node.id in self._known:
            return self._known[node.id]
        if node.id in self._variables:
            variable = self._variables[node.id]
            return self._let(variable.kind, f"load {self.module.type(variable.kind)}, ptr {variable.name}")
        scope = self.function.__globals__
        builtins = scope["__builtins__"]
        for place in (scope, builtins if isinstance(builtins, dict) else vars(builtins)):
            if node.id in place:
                return place[node.id]
        raise self._refusal(node, f"{node.id} has no value here")

    def _operation(self, op: ast.operator, x: Operand, y: Operand, node: ast.AST) -> Operand:
        if _is_known(x) and _is_known(y):
            return _plain(PYTHON[type(op)](x, y))
        name = ARITHMETIC.get(type(op))
        if name is None:
            raise self._refusal(node, f"{type(op).__name__} is not in the subset")
        x, y = self._common(x, y)
        if name == "div" and x.kind == "int":
            x, y = self._value(x, "float"), self._value(y, "float")
        T = self.module.type(x.kind)
        if x.kind in ("float", "lane"):
            return self._let(x.kind, f"f{name} {self.flags} {T} {x.name}, {y.name}")
        if name == "rem":  # the sign of the divisor, as in Python
            rest = self._let("int", f"add i64 {self._let('int', f'srem i64 {x.name}, {y.name}').name}, {y.name}")
            return self._let("int", f"srem i64 {rest.name}, {y.name}")
        return self._let(x.kind, f"{name} nsw {T} {x.name}, {y.name}")

    def _unaryop(self, node: ast.UnaryOp) -> Operand:
        x = self._of(node.operand)
        if _is_known(x):
            return PYTHON[type(node.op)](x)
        T = self.module.type(x.kind)
        if isinstance(node.op, ast.Not):
            return self._let(x.kind, f"xor {T} {x.name}, {self._value(True, x.kind).name}")
        return self._let(x.kind, f"sub nsw {T} 0, {x.name}" if x.kind == "int" else f"fneg {T} {x.name}")

    def _compare(self, node: ast.Compare) -> Operand:
        items = [self._of(item) for item in (node.left, *node.comparators)]
        found: Operand = None
        for op, x, y in zip(node.ops, items, items[1:]):
            one = self._comparison(op, x, y)
            found = one if found is None else self._both("and", found, one)
        return found

    def _comparison(self, op: ast.cmpop, x: Operand, y: Operand) -> Operand:
        if _is_known(x) and _is_known(y):
            return bool(PYTHON[type(op)](x, y))
        x, y = self._common(x, y)
        name, T = COMPARISON[type(op)], self.module.type(x.kind)
        if x.kind in ("float", "lane"):
            ordered = "une" if name == "ne" else f"o{name}"
            return self._let("bool" if x.kind == "float" else "mask", f"fcmp {ordered} {T} {x.name}, {y.name}")
        return self._let("bool", f"icmp {name if name in ('eq', 'ne') else f's{name}'} {T} {x.name}, {y.name}")

    def _both(self, name: str, x: Operand, y: Operand) -> Value:
        """Join two conditions that have been evaluated by `and` or `or`."""
        x, y = self._common(x, y)
        return self._let(x.kind, f"{name} {self.module.type(x.kind)} {x.name}, {y.name}")

    def _boolop(self, node: ast.BoolOp) -> Operand:
        return self._logic(isinstance(node.op, ast.And), node.values)

    def _logic(self, conjunction: bool, nodes: list[ast.expr]) -> Operand:
        """Translate `and` or `or`: scalar operands are evaluated only as needed, those of lanes all."""
        left = self._of(nodes[0])
        if len(nodes) == 1:
            return left
        if _is_known(left):
            return self._logic(conjunction, nodes[1:]) if bool(left) == conjunction else left
        if left.kind == "mask":
            return self._both("and" if conjunction else "or", left, self._logic(conjunction, nodes[1:]))
        more, end, before = self._new("more"), self._new("end"), self._block
        self._branch(left, *((more, end) if conjunction else (end, more)))
        self._label(more)
        right = self._value(self._logic(conjunction, nodes[1:]), "bool")
        after = self._block
        self._go(end)
        self._label(end)
        otherwise = "false" if conjunction else "true"
        return self._let("bool", f"phi i1 [{otherwise}, %{before}], [{right.name}, %{after}]")

    def _ifexp(self, node: ast.IfExp) -> Operand:
        condition = self._of(node.test)
        if _is_known(condition):
            return self._of(node.body if condition else node.orelse)
        if condition.kind == "mask":
            return self._select(condition, self._of(node.body), self._of(node.orelse))
        yes, no, end = self._new("then"), self._new("else"), self._new("end")
        self._branch(condition, yes, no)
        self._label(yes)
        x = self._of(node.body)
        yes = self._block
        self._go(end)
        self._label(no)
        y = self._of(node.orelse)
        both = self._common(x, y)
        if isinstance(x, Value) and both[0] != x:
            raise self._refusal(node, "both sides of `if ... else` must be of one kind")
        x, y = both
        no = self._block
        self._go(end)
        self._label(end)
        return self._let(x.kind, f"phi {self.module.type(x.kind)} [{x.name}, %{yes}], [{y.name}, %{no}]")

    def _select(self, condition: Value, x: Operand, y: Operand) -> Value:
        x, y = self._common(x, y)
        if condition.kind == "mask" and x.kind in ("float", "bool"):
            kind = "lane" if x.kind == "float" else "mask"
            x, y = self._value(x, kind), self._value(y, kind)
        T = self.module.type(x.kind)
        mask = f"{self.module.type(condition.kind)} {condition.name}"
        return self._let(x.kind, f"select {mask}, {T} {x.name}, {T} {y.name}")

    # -------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> Operand:
        function = self._of(node.func)
        arguments = [self._of(argument) for argument in node.args]
        if node.keywords:
            raise self._refusal(node, "arguments are given by their places")
        if function in _CALLS and (function is primitives.in_lanes or not all(map(_is_known, arguments))):
            return _CALLS[function](self, *arguments)
        values = [value for argument in arguments for value in self._flat(argument)]
        if function in self.module.external:
            self.module.declared[f"declare void @{function.__name__}({', '.join(['ptr'] * len(values))})"] = None
            return self._result(function.__name__, None, values)
        if all(map(_is_known, arguments)) or (isinstance(function, type) and issubclass(function, tuple)):
            return _plain(function(*arguments))
        if isinstance(function, FunctionType):
            return self._result(*self.module.instance(function, arguments), values)
        raise self._refusal(node, f"{ast.unparse(node.func)} is not in the subset")

    def _result(self, name: str, kind: str | None, values: list[Value]) -> Value | None:
        given = ", ".join(f"{self.module.type(value.kind)} {value.name}" for value in values)
        text = f"call {self.module.type(kind)} @{name}({given})"
        if kind is not None:
            return self._let(kind, text)
        self._do(text)
        return None

    def _intrinsic(self, name: str, *arguments: Operand) -> Value:
        values = self._common(*arguments)
        if values[0].kind == "int":
            values = [self._value(value, "float") for value in values]
        kind = values[0].kind
        T, lanes = self.module.type(kind), self.module.lanes if kind == "lane" else ONE
        self.module.declared[f"declare {T} {lanes.intrinsic(name)}({', '.join([T] * len(values))})"] = None
        return self._let(kind, f"call {T} {lanes.intrinsic(name)}({', '.join(f'{T} {v.name}' for v in values)})")

    def _extreme(self, op: ast.cmpop, *arguments: Operand) -> Value:
        """min and max as in Python: the first unless a later one is better."""
        best, *others = self._common(*arguments)
        for other in others:
            best = self._select(self._comparison(op, other, best), other, best)
        return best

    def _finite(self, x: Value) -> Value:
        return self._comparison(ast.Lt(), self._intrinsic("fabs", x), math.inf)  # type: ignore[no-any-return]

    def _integer(self, x: Value) -> Value:
        return x if x.kind == "int" else self._let("int", f"fptosi double {self._value(x, 'float').name} to i64")

    def _fused(self, x: Operand, y: Operand, z: Operand) -> Value:
        if self.module.fma:
            return self._intrinsic("fma", x, y, z)
        product = self._operation(ast.Mult(), x, y, self.tree)
        return self._operation(ast.Add(), product, z, self.tree)  # type: ignore[no-any-return]

    def _anywhere(self, mask: Operand) -> Value:
        mask = self._value(mask, "mask")
        lanes = self.module.lanes
        if lanes.width == 1:
            return Value("bool", mask.name)
        self.module.declared[f"declare i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.bool_type})"] = None
        return self._let("bool", f"call i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.bool_type} {mask.name})")

    def _bits(self, x: Value, *operations: tuple[str, int], source: str = "bitcast", sink: str = "bitcast") -> Value:
        """Convert every lane of x to a 64-bit integer, apply operations with numbers to it, and convert it back."""
        lanes = self.module.lanes if x.kind == "lane" else ONE
        name = self._let("int", f"{source} {lanes.type} {x.name} to {lanes.int_type}").name
        for operation, number in operations:
            name = self._let("int", f"{operation} {lanes.int_type} {name}, {lanes.int_constant(number)}").name
        return self._let(x.kind, f"{sink} {lanes.int_type} {name} to {lanes.type}")

    def _whole(self, x: Value, up: bool) -> Value:
        """Round x up or down to a whole number; LLVM's own would call the C library on some processors."""
        cut = self._bits(x, source="fptosi", sink="sitofp")
        beside = self._operation(ast.Add() if up else ast.Sub(), cut, 1.0, self.tree)
        return self._select(self._comparison(ast.Lt() if up else ast.Gt(), cut, x), beside, cut)

    def _pointer(self, kind: str, address: Value) -> Value:
        return self._let(kind, f"inttoptr i64 {address.name} to ptr")

    def _flat_call(self, address: Value, source: Value, sink: Value) -> None:
        function = self._pointer("doubles", address)
        self._do(f"call void {function.name}(ptr {source.name}, ptr {sink.name})")

    def _unpacked(self, table: Value, *records: Operand) -> Operand:
        def read(k: int, kind: str) -> Value:
            entry = self._get(self._element(table, k, self.tree))
            return entry if kind == "int" else self._pointer(kind.lower(), entry)

        return primitives.filled(records, read)


def _named(target: ast.expr, item: Operand) -> dict[str, Operand]:
    """Map the names of an assignment target, nested or not, to the parts of an item."""
    if isinstance(target, ast.Tuple):
        return {name: x for t, i in zip(target.elts, item, strict=True) for name, x in _named(t, i).items()}
    return {ast.unparse(target): item}


def _plain(x: Operand) -> Operand:
    """Convert a NumPy number to a Python number."""
    return x.item() if hasattr(x, "item") and getattr(x, "shape", None) == () else x


_CALLS: dict[object, Callable[..., Operand]] = {
    abs: lambda writer, x: writer._intrinsic("fabs", x),
    min: lambda writer, *items: writer._extreme(ast.Lt(), *items),
    max: lambda writer, *items: writer._extreme(ast.Gt(), *items),
    int: _Writer._integer,
    float: lambda writer, x: writer._value(x, "float"),
    math.sqrt: lambda writer, x: writer._intrinsic("sqrt", x),
    math.ceil: lambda writer, x: writer._integer(writer._whole(x, up=True)),
    math.isfinite: _Writer._finite,
    primitives.doubles: lambda writer, address: writer._pointer("doubles", address),
    primitives.integers: lambda writer, address: writer._pointer("integers", address),
    primitives.packs: lambda writer, pointer: Value("packs", pointer.name),
    primitives.numbers: lambda writer, pointer: Value("doubles", pointer.name),
    primitives.in_lanes: lambda writer, x: writer._value(x, "lane"),
    primitives.shift: lambda writer, pointer, offset: writer._element(pointer, offset, writer.tree),
    primitives.call: _Writer._flat_call,
    primitives.unpack: _Writer._unpacked,
    primitives.any_lane: _Writer._anywhere,
    primitives.fma: _Writer._fused,
    primitives.floor: lambda writer, x: writer._whole(x, up=False),
    primitives.exponent: lambda writer, x: writer._bits(x, ("lshr", 52), ("sub", 1023), sink="sitofp"),
    primitives.significand: lambda writer, x: writer._bits(x, ("and", (1 << 52) - 1), ("or", 1023 << 52)),
    primitives.power_of_two: lambda writer, x: writer._bits(x, ("add", 1023), ("shl", 52), source="fptosi"),
}
