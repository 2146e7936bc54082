"""A predictive controller in C: the functions of its nodes, the solver as `loops` prints it, one struct of memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import casadi as ca
import numpy as np

from pliant.arrays import Array
from pliant.compute.compiled_loops.primitives import field_kinds
from pliant.compute.nmpc.real_time_iteration import answered, prepared
from pliant.compute.tape.tape import Tape
from pliant.control.controllers.controller import reference_for
from pliant.control.controllers.mpc import MPC, SOURCE, STATUS, Predicted
from pliant.errors import UnsupportedModel
from pliant.export.c.function import CFunction, c_prototype
from pliant.export.c.loops import LARGEST, CLoops
from pliant.export.c.text import DOUBLE, CReal, array, c_constant, comment
from pliant.export.contents import export_name, identifier, template
from pliant.model.coordinate_units import torque_units
from pliant.model.model import Model

OFFSET, BLIND = 0.05, 3
"""Start of the test, rad or m from the reference, and the step at which nothing is measured."""

DETERMINED = 0.1
"""Part of the tolerance by which a change in the last bit of measurements may move torques; beyond, the test ends."""

SOLVER_STACK = 5120
"""Bytes of stack that the solver takes besides the functions of nodes: five structs, and values that compilers keep."""

GROUPS = {
    "horizon": "the linearized problem, and what the last step tells of itself",
    "plan": "what it remembers between steps",
    "steps": "a step of an interval",
    "program": "the quadratic program",
    "working": "its working set",
}
"""Records of `HorizonSolver`, in its order, and their meaning."""

FROM_CALLER = {("horizon", "measured"): "x", ("horizon", "clock"): "clock"}
"""Arrays that the solver only reads and its caller gives."""


class CPredictive:
    """An `MPC` as functions in C; `functions` has all of them, `NAME_mpc_step` last.

    Parameters
    ----------
    model : Model
        The arm of the export.
    real : CReal
        Type of numbers.
    given : MPC
        The controller.
    """

    def __init__(self, model: Model, real: CReal, given: MPC) -> None:
        if real is not DOUBLE:
            raise UnsupportedModel(
                "precision: got 'single', expected 'double' beside a predictive controller, whose programs are solved "
                "to 1e-11; export the functions of the arm apart from it"
            )
        given.bind(model)  # refuses other coordinates
        self.given, self.model, self.name = given, given.model, f"{export_name(model)}_mpc"
        pilot = given.pilot()
        self.parts = pilot.parts
        self.records: dict[str, Any] = dict(zip(GROUPS, pilot.solver.records))
        self.loops = CLoops(prepared, answered)
        self.called = {
            "slopes": self._function("slopes", self._slopes()),
            "node": self._function("node", self.parts.node.function),
            "end": self._function("end", self.parts.end.function),
            "hold": self._function("hold", self.parts.hold.function, lent=False),
        }
        self.members = self._members()
        if self.bytes > LARGEST:
            raise UnsupportedModel(
                f"controller: its {self.bytes:.3g} bytes are beyond int in C; give it fewer intervals"
            )
        own = f"int {self.name}_step({self.name} *mpc, double t, const double x[{2 * self.model.n}], "
        own += f"double tau[{self.model.n_joints}])"
        deepest = max(f.stack for f in self.called.values())
        self.functions = [*self.called.values(), CFunction(own, [], SOLVER_STACK + deepest, 0)]

    # ------------------------------------------------------------------------------------------------- functions

    def _slopes(self) -> ca.Function:
        """Accelerations and their slopes by q, qd and tau; parameters have their nominal values."""
        f, names = self.model.kernel("forward_dynamics_derivatives").function, ["q", "qd", "tau"]
        given = [ca.SX.sym(x, f.numel_in(k)) for k, x in enumerate(names)]
        known = [ca.DM(self.model.nominal_parameters)] if self.model.parameters else []
        found = [ca.densify(ca.SX(x)) for x in f.call([*given, *known])[:4]]
        return ca.Function("slopes", given, found, names, ["qdd", "by_q", "by_qd", "by_tau"])

    def _function(self, name: str, f: ca.Function, lent: bool = True) -> CFunction:
        """A static function, and its version that takes all inputs, and gives all outputs, in one array."""
        tape = Tape.from_function(f)
        sizes, shapes = dict(zip(tape.in_names, tape.in_sizes)), dict(zip(tape.out_names, tape.out_shapes))
        words = {f"{x}[{k}]": identifier(q) for x in ("q", "x") for k, q in enumerate(self.model.coordinates)}
        prototype = c_prototype(f"{self.name}_{name}", sizes, shapes, DOUBLE)
        found = CFunction.of(prototype, tape, list(shapes), words, lent=lent)
        lines = [f"static {line}" if line == found.prototype else line for line in found.lines]
        size = [f"#define {found.size} {found.work}"] if found.work else []
        return CFunction(found.prototype, [*size, *lines, "", *_flat(found, tape), ""], found.stack, found.work)

    # --------------------------------------------------------------------------------------------------- memory

    def _members(self) -> dict[str, dict[str, int]]:
        """Sizes of the arrays of the struct by record and field. Functions work behind the numbers they are given."""
        n, m, called = self.model.n, self.model.n_joints, self.called
        sizes = {
            group: {f: max(x.size, 1) for f, x in self._arrays(group).items() if self.loops.is_written(type(record), f)}
            for group, record in self.records.items()
        }
        sizes["steps"] |= {"given": 2 * n + m + called["slopes"].work, "found": n + 2 * n * n + n * m}
        sizes["horizon"]["given"] += max(called["node"].work, called["end"].work)
        return sizes

    def _fields(self, group: str) -> dict[str, Any]:
        return dict(zip(field_kinds(type(self.records[group])), self.records[group]))

    def _arrays(self, group: str) -> dict[str, Any]:
        return {f: x for f, x in self._fields(group).items() if isinstance(x, np.ndarray)}

    def _sizes(self, group: str) -> dict[str, int]:
        """Integers of a record. They are kept in memory, not in the code: a compiler that sees them in all loops at
        once writes more code, and may warn of iterations that never come."""
        arrays, whole = self._arrays(group), self._fields(group)
        return {f: int(x) for f, x in whole.items() if f not in arrays and f not in self.called}

    def _number(self, group: str, field: str) -> str:
        return "int" if field_kinds(type(self.records[group]))[field] == "Integers" else "double"

    @property
    def bytes(self) -> int:
        """Bytes of its memory."""
        total = 2
        for group, sizes in self.members.items():
            whole = sum(size for field, size in sizes.items() if self._number(group, field) == "int")
            total += sum(sizes.values()) - whole + -(-(whole + len(self._sizes(group))) // 2)
        return 8 * total

    def _struct(self) -> list[str]:
        """Lines of the struct."""
        lines = ["typedef struct {"]
        for group, sizes in self.members.items():
            lines += [f"    struct {{ /* {GROUPS[group]} */"]
            lines += [f"        int {', '.join(self._sizes(group))};"] if self._sizes(group) else []
            lines += [f"        {self._number(group, field)} {field}[{size}];" for field, size in sizes.items()]
            lines += [f"    }} {group};"]
        return [*lines, "    double t, due; /* of the last preparation; NAN where it is spent */", f"}} {self.name};"]

    def _record(self, group: str) -> list[str]:
        """Lines that set up a record of the solver: pointers to memory, or to constants."""
        constants, fields = [], []
        for field, value in self._fields(group).items():
            text = FROM_CALLER.get((group, field), f"mpc->{group}.{field}")
            if field in self.called:
                text = f"{self.name}_{field}_flat"
            elif text.startswith("mpc") and isinstance(value, np.ndarray) and field not in self.members[group]:
                text = f"{group}_{field}"
                constants += _table(f"static const {self._number(group, field)} {text}", value)
            fields.append(f"    .{field} = {text},")
        lines = [*constants, f"const {type(self.records[group]).__name__} {group} = {{", *fields, "};"]
        return [f"    {line}" for line in lines]

    # ------------------------------------------------------------------------------------------------------ texts

    def declarations(self) -> list[str]:
        """Lines of the header."""
        given, upper = self.given, self.name.upper()
        numbers = {"INTERVALS": given.intervals, "INTERVAL": c_constant(given.interval)}
        numbers |= {"N_OUTPUTS": len(self.parts.outputs)}
        numbers |= {words.upper().replace(" ", "_"): code for code, words in STATUS.items()}
        numbers |= {f"FROM_{words.upper().replace(' ', '_')}": code for code, words in SOURCE.items()}
        return [
            comment(line.replace("*/", "* /") for line in self._about()),
            *(f"#define {upper}_{key} {value}" for key, value in numbers.items()),
            template("mpc.h.in").substitute(
                name=self.name, upper=upper, struct="\n".join(self._struct()), step=self.functions[-1].prototype,
                stack=self.functions[-1].stack, bytes=self.bytes, interval=f"{given.interval:g}",
            ),
        ]  # fmt: skip

    def _about(self) -> list[str]:
        model, given = self.model, self.given
        names = zip(model.joints, torque_units(model), self.parts.torque.T)
        return [
            f"A predictive controller of {given.intervals} intervals of {given.interval:g} s; one step is due in each.",
            f"It predicts {model.robot.name}, SHA-256 {model.robot.digest()}",
            f"States x are [q; qd], {2 * model.n} numbers; times are in s.",
            *(f"tau[{k}]  torque of {x} ({unit}), {_range(*ends)}" for k, (x, unit, ends) in enumerate(names)),
            *(f"slack[{k}]  of {o.name}, {_range(o.low, o.high)}" for k, o in enumerate(self.parts.outputs)),
        ]

    def definitions(self) -> list[str]:
        """Lines of the source."""
        torque = self.parts.torque
        starts = {"holding": np.clip(self.parts.holding, *torque), "low": torque[0], "high": torque[1]}
        sizes = [f"    mpc->{group}.{f} = {x};" for group in GROUPS for f, x in self._sizes(group).items()]
        records = [line for group in GROUPS for line in self._record(group)]
        clock = self.records["horizon"].clock[1:].tolist()
        text = template("mpc.c.in").substitute(
            name=self.name, m=self.model.n_joints, records="\n".join(records),
            clock=", ".join(["mpc->t", *map(c_constant, clock)]), step=self.functions[-1].prototype,
            sizes="\n".join(sizes), prepared=self.loops.names[prepared], answered=self.loops.names[answered],
            starts="\n".join(f"    {x}" for key, v in starts.items() for x in _table(f"static const double {key}", v)),
        )  # fmt: skip
        what = "/* Of the predictive controller: what is predicted, what nodes cost, what is bounded, the safe law. */"
        return [
            "#include <string.h>",
            "",
            what,
            *(line for f in self.called.values() for line in f.lines),
            *self.loops.lines(),
            text,
        ]

    def readme(self) -> str:
        """A section about the controller."""
        rows = [f"| `slack[{k}]` | {o.name} | {_range(o.low, o.high)} |" for k, o in enumerate(self.parts.outputs)]
        table = ["| place | bounded output | |", "|---|---|---|", *rows] if rows else ["No outputs are bounded."]
        return template("readme_mpc.md.in").substitute(
            name=self.name, upper=self.name.upper(), x=2 * self.model.n, m=self.model.n_joints, bytes=f"{self.bytes:,}",
            interval=f"{self.given.interval:g}", outputs="\n".join(table),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- test

    def reference(self, steps: int, tolerance: float) -> tuple[Array, list[Predicted]]:
        """Measured states of a loop that begins beside the reference, once without a measurement; and the answers.

        It ends early where rounding decides the result, as in a program whose bounds are violated at a high price.
        """
        pilot, beside, model = self.given.pilot(), self.given.pilot(), self.model
        start = np.asarray(reference_for(model, self.given.reference)(0.0)[0], dtype=float).ravel() - OFFSET
        x, seen, answers = np.concatenate([model.equilibrium(start), np.zeros(model.n)]), [], []
        for k in range(steps):
            measured, t = np.full_like(x, np.nan) if k == BLIND else x, k * self.given.interval
            answer, other = pilot.step(measured, t), beside.step(np.nextafter(measured, np.inf), t)
            if np.abs(answer.tau - other.tau).max() > DETERMINED * tolerance * np.abs(answer.tau).max():
                break
            seen.append(measured)
            answers.append(answer)
            x = np.concatenate([answer.q[1], answer.qd[1]])
        return np.array(seen), answers

    def test(self, steps: int, tolerance: float) -> tuple[list[str], str]:
        """Arrays and lines of the test program: measurements of a loop, and the torques and codes of the controller."""
        seen, answers = self.reference(steps, tolerance)
        if not answers:
            return [], ""
        status, source = ({words: code for code, words in codes.items()} for codes in (STATUS, SOURCE))
        codes = np.array([[status[a.status], source[a.source]] for a in answers])
        arrays = {"double mpc_x": seen, "double mpc_tau": np.array([a.tau for a in answers]), "int mpc_codes": codes}
        text = template("test_mpc.c.in").substitute(
            name=self.name, upper=self.name.upper(), steps=len(answers), x=2 * self.model.n, m=self.model.n_joints,
            tolerance=c_constant(tolerance),
        )  # fmt: skip
        return ["\n".join(_table(f"static const {x}", values)) for x, values in arrays.items()], text


def _flat(f: CFunction, tape: Tape) -> list[str]:
    """Lines of a version with all inputs in one array, followed by room to work in, and all outputs in another."""
    *ins, end = _starts("given", tape.in_sizes)
    *outs, _ = _starts("found", tape.out_sizes)
    arguments = ", ".join([*ins, *outs, *([end] if f.work else [])])
    return [f"static void {f.name}_flat(double *given, double *found)", "{", f"    {f.name}({arguments});", "}"]


def _starts(name: str, sizes: Iterable[int]) -> list[str]:
    """Addresses at which the parts of an array begin, and at which the last one ends."""
    return [f"{name} + {k}" if k else name for k in (0, *accumulate(sizes))]


def _table(declaration: str, values: Array) -> list[str]:
    """Lines of an initialized array."""
    if values.dtype == float:
        return array(declaration, values).splitlines()
    texts = [str(x) for x in values.ravel().tolist()]
    rows = [f"    {', '.join(texts[k : k + 20])}," for k in range(0, len(texts), 20)]
    return [f"{declaration}[{len(texts)}] = {{", *rows, "};"]


def _range(low: float, high: float) -> str:
    """Bounds in words."""
    return f"within {low:g} and {high:g}" if np.isfinite([low, high]).any() else "not bounded"
