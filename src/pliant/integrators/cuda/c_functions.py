"""The step controller as CUDA and as C: functions of `integrators.step_control`, written from their Python source."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

from pliant.compute.compiled_loops.translate import Untranslatable, definition
from pliant.compute.cuda.text import Precision
from pliant.integrators import step_control

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: "&&", ast.Or: "||", ast.Not: "!", ast.USub: "-",
}  # fmt: skip
CONTROLLER = (step_control.scaled, step_control.step_ratio, step_control.next_step, step_control.first_step)
MEETING = (step_control.reach, step_control.leaps)


def controller(precision: Precision, kind: str = "__device__ __forceinline__", meets: bool = False) -> str:
    """Write the functions that an adaptive loop calls, each declared as `kind`; with `meets`, also those of a loop
    whose steps must not leap over gaps."""
    T = precision.type
    extremes = [
        f"{kind} {T} {name}({T} a, {T} b) {{ return b {sign} a ? b : a; }}"
        for name, sign in (("larger", ">"), ("smaller", "<"))
    ]
    called = (*CONTROLLER, *MEETING) if meets else CONTROLLER
    return "\n".join([*extremes, *(_Function(function, precision, kind).text() for function in called)])


class _Function:
    """One function of numbers and conditions, without branches."""

    def __init__(self, function: Callable[..., object], precision: Precision, kind: str) -> None:
        self.function, self.precision, self.kind, self.tree = function, precision, kind, definition(function)

    def text(self) -> str:
        T = self.precision.type
        given = [(a.arg, "int" if ast.unparse(a.annotation or a) == "bool" else T) for a in self.tree.args.args]
        head = f"{self.kind} {T} {self.tree.name}({', '.join(f'{kind} {name}' for name, kind in given)})"
        return f"{head} {{ {' '.join(map(self._statement, self.tree.body[1:]))} }}"

    def _statement(self, node: ast.stmt) -> str:
        if isinstance(node, ast.Return) and node.value is not None:
            return f"return {self._of(node.value)};"
        if isinstance(node, ast.Assign):
            kind = "int" if isinstance(node.value, ast.Compare | ast.BoolOp) else self.precision.type
            return f"const {kind} {ast.unparse(node.targets[0])} = {self._of(node.value)};"
        raise Untranslatable(f"{self.tree.name}, line {node.lineno}: expected an assignment or a result")

    def _of(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return self.precision.number(float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            value = self.function.__globals__.get(node.id)
            return node.id if value is None else self.precision.number(value)
        if isinstance(node, ast.BinOp):
            return f"({self._of(node.left)} {OPERATORS[type(node.op)]} {self._of(node.right)})"
        if isinstance(node, ast.UnaryOp):
            return f"({OPERATORS[type(node.op)]}{self._of(node.operand)})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return f"({self._of(node.left)} {OPERATORS[type(node.ops[0])]} {self._of(node.comparators[0])})"
        if isinstance(node, ast.BoolOp):
            return f"({f' {OPERATORS[type(node.op)]} '.join(map(self._of, node.values))})"
        if isinstance(node, ast.IfExp):
            return f"({self._of(node.test)} ? {self._of(node.body)} : {self._of(node.orelse)})"
        if isinstance(node, ast.Call):
            return self._call(ast.unparse(node.func), [self._of(argument) for argument in node.args])
        raise Untranslatable(f"{self.tree.name}, line {node.lineno}: {ast.unparse(node)}")

    def _call(self, name: str, given: list[str]) -> str:
        f = self.precision.suffix
        if name == f"{math.__name__}.isfinite":
            return f"({given[0]} - {given[0]} == 0)"
        known = {"abs": f"fabs{f}", "max": "larger", "min": "smaller", "power": f"pow{f}"}
        return f"{known[name]}({', '.join(given)})"
