"""CUDA source of a model: device functions, kernels that step many arms, an example, and a loader for CuPy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import casadi as ca
import numpy as np

from pliant.algebra.tableaux import explicit
from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.compute.cuda.forms import BLOCK, CudaForm, choose
from pliant.compute.cuda.program import nodes_of
from pliant.compute.cuda.text import Precision
from pliant.compute.tape.tape import Tape
from pliant.errors import ModelError
from pliant.export.c.check import reference_values
from pliant.export.c.function import elements
from pliant.export.c.text import array, c_constant, c_language, comment
from pliant.export.contents import (
    FUNCTIONS,
    chosen,
    description,
    export_name,
    function,
    labels,
    module_text,
    require_no_drive_states,
    template,
    usual,
)
from pliant.export.placing import placed, write_texts
from pliant.export.readme import write_readme
from pliant.export.statements import write
from pliant.export.targets import Target
from pliant.export.typical_states import reference_states
from pliant.integrators.cuda.source import Source, emit
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.simulation.batch.batch_equations import typical

PRECISIONS = {"double": "double", "single": "float"}
TOLERANCES = {"double": 1e-10, "single": 4e-3}
"""Tolerances of the example, relative to the largest element. A GPU fuses sums with products and takes reciprocals, and
the stiffness of an arm magnifies that: of the bundled arms `canadarm2` differs most, by 1.3e-12 and 4e-4."""

SELDOM = "linearize"
"""Function that is written only on request: the linearization is ten times as long as all others together."""

SHARED_MEMORY = 99
"""KiB that a block may have on every GPU since compute capability 8.0."""

LONGEST_STEP, STEPS = 1e-3, 10
CUDA = c_language("Real", lambda x: f"Real({c_constant(x)})")


@checked
def export_cuda(
    model: Model | Robot, folder: str | Path, *, functions: Sequence[str] | None = None,
    shared_memory: int = SHARED_MEMORY, force: bool = False,
) -> Path:  # fmt: skip
    """Write a folder with device functions and kernels in both precisions; returns the folder.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    folder : str or path
        Folder to write.
    functions : sequence of str, optional
        Device functions of the header beside `forward_dynamics`; all but `linearize` by default.
    shared_memory : int
        KiB of shared memory that a block may use: 99 runs on every GPU since compute capability 8.0, 163 suits 8.0
        and 8.7, 227 suits 9.0 and 10.0. Only long equations need any.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> folder = pliant.export.export_cuda(pliant.load("two-link").model(), "arm", functions=["tip_pose"])
    >>> len(list(folder.glob("*.cuh")))
    1
    """
    model = model_of(model)
    if isinstance(shared_memory, bool) or not isinstance(shared_memory, int) or not 1 <= shared_memory <= 1024:
        raise ModelError(f"shared_memory: got {shared_memory!r}, expected whole KiB from 1 to 1024, such as 99 or 227")
    require_no_drive_states(model, "cuda")
    target, name = Path(folder), export_name(model)
    usually = tuple(name for name in usual(model) if name != SELDOM)
    wanted = chosen(model, functions) if functions is not None and len(functions) else usually
    model.layout.require_open("an export to CUDA")
    needed = ("forward_dynamics",) if model.layout.plain else ("forward_dynamics", "rates")
    which = tuple(dict.fromkeys((*needed, *wanted)))
    with placed(target, force) as work:
        traced = {f: function(model, f) for f in which}
        sources = {precision: stepping(model, precision, 1024 * shared_memory) for precision in PRECISIONS}
        numbers = reference(model, traced["forward_dynamics"])
        tapes = {f: Tape.from_function(traced[f]) for f in which}
        texts = {f"{name}.cuh": header(model, tapes), f"{name}_main.cu": example(model, numbers)}
        texts |= {f"{name}_{precision}.cu": kernels(model, source) for precision, source in sources.items()}
        texts |= {f"load_{name}.py": loader(model, sources)}
        texts |= {"Makefile": template("Makefile.cuda.in").substitute(name=name)}
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in numbers.items()}
        write_texts(work, {**texts, "reference.json": json.dumps(plain, indent=1) + "\n"})
        used = max(source.shared_bytes for source in sources.values())
        limit = f" ({shared_memory} KiB allowed; `--shared-memory 227` suits an H100)" if used else ""
        words = {"shared": f"{used} bytes of" if used else "no", "limit": limit, "step": f"{numbers['h']:g} s"}
        words["rows"] = _sizes(model)["text"]
        words["own_p"] = f"double p[{name}::n_parameters];\n    {name}::nominal(p);\n    " if model.parameters else ""
        write_readme(model, "cuda", work, which, **words)
    return target


# ------------------------------------------------------------------------------------------------------- header


_DECLARATIONS = """\
cudaError_t march(real *x, const real *tau, bool tau_each, const real *p, bool p_each, long long arms, double h,
                  long long steps, cudaStream_t stream = 0);
cudaError_t accelerations(const real *x, const real *tau, bool tau_each, const real *p, bool p_each, long long arms,
                          real *out, cudaStream_t stream = 0);"""


def header(model: Model, tapes: Mapping[str, Tape]) -> str:
    """Text of the header: device functions as templates over the type of a number."""
    name = export_name(model)
    declared = "\n".join(_DECLARATIONS.replace("real", real) for real in PRECISIONS.values())
    parts = [_nominal(model)] if model.parameters else []
    parts += [_function(model, f, tape) for f, tape in tapes.items()]
    clock, weight, _ = zip(*explicit("rk4").low_storage)
    words = _sizes(model)
    step = template("cuda_step.cuh.in" if model.layout.plain else "cuda_turning_step.cuh.in").substitute(
        ahead=_shares(clock), weight=_shares(weight), stages=len(clock), pass_p=_pass_p(model), upper=name.upper(),
        given_p=" const Real *p," if model.parameters else "",
    )  # fmt: skip
    return template("cuda.cuh.in").substitute(
        comment=comment(description(model)), name=name, upper=name.upper(), guard=f"{name.upper()}_CUH",
        digest=model.robot.digest(), n=words["declared"], n_joints=model.n_joints, n_parameters=len(model.parameters),
        functions="\n\n".join(parts), step=step.rstrip("\n"), declarations=declared, all_rows=words["text"],
    )  # fmt: skip


def _sizes(model: Model) -> dict[str, str]:
    """Words for the size of a state, which is 2n unless the arm has quaternions."""
    if model.layout.plain:
        return {
            "declared": f"{model.n}", "text": "2n", "q": "n", "all": "2 * n", "python": "2 * len(COORDINATES)",
            "speeds": "len(COORDINATES)", "named": "",
        }  # fmt: skip
    return {
        "declared": f"{model.n}, n_q = {model.n_q}", "text": "n_q + n", "q": "n_q",
        "all": f"{export_name(model)}::n_q + n", "python": "len(COORDINATES) + len(SPEEDS)", "speeds": "len(SPEEDS)",
        "named": f"\nSPEEDS = {list(model.speeds)!r}",
    }  # fmt: skip


def _function(model: Model, name: str, tape: Tape) -> str:
    """One device function; matrices are row-major."""
    signature, body = FUNCTIONS[name], write(tape, CUDA, elements(tape), labels(model))
    shapes = signature.outputs(model)
    given = [f"const Real *{x}" for x in tape.in_names] + [f"Real *{x}" for x in shapes]
    sizes = ", ".join(f"{x} {' x '.join(map(str, shape))}" for x, shape in shapes.items())
    values = iter(body.outputs)
    return "\n".join([
        f"/* {signature.what}: {sizes}. */",
        "template <typename Real>",
        f"{export_name(model).upper()}_FUNCTION void {name}({', '.join(given)})",
        "{",
        *(f"    (void){x};" for x in tape.in_names),
        *(f"    const Real {target} = {text};" for target, text in body.assignments),
        *(f"    {x}[{k}] = {next(values)};" for x, size in zip(shapes, tape.out_sizes) for k in range(size)),
        "}",
    ])  # fmt: skip


def _shares(values: Sequence[float]) -> str:
    """Products of h and each of the values, one per stage."""
    return ", ".join(f"h * Real({c_constant(value)})" for value in values)


def _nominal(model: Model) -> str:
    lines = [f"    p[{k}] = Real({c_constant(x)});" for k, x in enumerate(model.nominal_parameters.tolist())]
    head = f"template <typename Real>\n{export_name(model).upper()}_FUNCTION void nominal(Real *p)"
    return "\n".join(["/* The nominal parameters. */", head, "{", *lines, "}"])


def _pass_p(model: Model) -> str:
    return " p," if model.parameters else ""


# ------------------------------------------------------------------------------------------------------ kernels


def stepping(model: Model, precision: str, shared_bytes: int) -> Source:
    """The kernel that steps many arms, in one piece even for long equations."""
    n = model.n_q
    x, tau, p = ca.SX.sym("x", n + model.n), ca.SX.sym("tau", model.n_joints), model.parameter_symbols
    qdd = model.equations.forward_dynamics(x[:n], x[n:], tau)
    rates = ca.cse(ca.densify(ca.vertcat(model.chain.rates(x[:n], x[n:]), qdd)))
    tape = Tape.from_function(ca.Function("f", [ca.SX.sym("t"), x, tau, p], [rates], ["t", "x", "w", "p"], ["xdot"]))
    choice = choose(nodes_of(tape), n + model.n, Precision(precision))
    if choice.strategy == "chunks":
        choice = CudaForm("shared", 1, 110) if precision == "double" else CudaForm("shared", 2, 220)
    given = {} if model.layout.plain else reference_states(model, 8)
    q, qd = typical(model) if model.layout.plain else (given["q"], given["qd"])
    rest = [np.zeros((len(q), model.n_joints)), np.tile(model.nominal_parameters, (len(q), 1))]
    states = np.column_stack([np.zeros(len(q)), q, qd, *rest])
    return emit(tape, explicit("rk4"), precision, choice=choice, shared_bytes=shared_bytes, states=states)


_GATHER = "\n    for (int j = 0; j < NAME::n_parameters; ++j) p[j] = own[j * own_row + i * own_arm];"


def _gather_x(model: Model) -> str:
    """Lines that read q and qd of an arm."""
    name = export_name(model)
    if model.layout.plain:
        both = f"{{ q[j] = x[j * arms + i]; qd[j] = x[({name}::n + j) * arms + i]; }}"
        return f"    for (int j = 0; j < {name}::n; ++j) {both}"
    return (
        f"    for (int j = 0; j < {name}::n_q; ++j) q[j] = x[j * arms + i];\n"
        f"    for (int j = 0; j < {name}::n; ++j) qd[j] = x[({name}::n_q + j) * arms + i];"
    )


def kernels(model: Model, source: Source) -> str:
    """Source of one precision: the emitted kernel under its own name, one for accelerations, and their launches."""
    name, precision = export_name(model), source.precision.name
    text = source.text.replace(" steps(", f" {name}_march_{precision}(", 1)
    macros = sorted(set(re.findall(r"#define (\w+)", text)))
    held = "values in registers" if source.choice.strategy == "registers" else "values in registers and shared memory"
    space, line = (f"{PRECISIONS[precision]} p[{name}::n_parameters];", _GATHER) if model.parameters else ("", "")
    return template("cuda.cu.in").substitute(
        comment=comment(description(model)), name=name, precision=precision, real=PRECISIONS[precision],
        kernel="\n".join([text, *(f"#undef {macro}" for macro in macros), ""]), strategy=held, block=source.block,
        shared=source.shared_bytes, pass_p=_pass_p(model), own=f" {space}" if space else "",
        gather=line.replace("NAME", name), n_q=_sizes(model)["q"], gather_x=_gather_x(model),
    )  # fmt: skip


def loader(model: Model, sources: Mapping[str, Source]) -> str:
    """A Python module that compiles and launches the kernels through CuPy."""
    words = _sizes(model)
    return module_text(
        model, "cuda_load.py.in", name=export_name(model), tolerance_double=TOLERANCES["double"], block=BLOCK,
        tolerance_single=TOLERANCES["single"], shared={k: s.shared_bytes for k, s in sources.items()},
        coordinates=list(model.coordinates), joints=list(model.joints), parameters=list(model.parameters),
        nominal=model.nominal_parameters.tolist(),
        **{f"size_{key}": words[key] for key in ("text", "python", "speeds", "named")},
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- numbers to compare with


class Reference(TypedDict):
    """Numbers of the example: states, torques, parameters, expected accelerations, and states after `steps` of `h`."""

    x: Array
    tau: Array
    p: Array
    qdd: Array
    h: float
    steps: int
    x_end: Array


def reference(model: Model, f: ca.Function) -> Reference:
    """States, their accelerations, and the states after `STEPS` classical steps, evaluated by CasADi."""
    given = reference_states(model)
    tau, p = given["tau"], given["p"]
    fixed, n_q = [tau, *([p] if model.parameters else [])], model.n_q
    turning = None if model.layout.plain else function(model, "rates")

    def rates(t: float, x: Array) -> Array:
        q, qd = x[:, :n_q], x[:, n_q:]
        moved = qd if turning is None else reference_values(turning, [q, qd, *fixed[1:]])[0]
        return np.hstack([moved, reference_values(f, [q, qd, *fixed])[0]])

    start = np.hstack([given["q"], given["qd"]])
    h, x = _short_step(model, f, start[0], [value[0] for value in fixed]), start
    for _ in range(STEPS):
        x = explicit("rk4").step(rates, 0.0, x, h)
    return {"x": start, "tau": tau, "p": p, "qdd": rates(0.0, start)[:, n_q:], "h": h, "steps": STEPS, "x_end": x}


def _short_step(model: Model, f: ca.Function, x: Array, fixed: Sequence[Array]) -> float:
    """A step well inside the region of stability: a tenth of the shortest time constant of the linearized arm."""
    n = model.n
    if model.layout.plain:
        derivative = f.factory("df", f.name_in(), ["jac:qdd:q", "jac:qdd:qd"])
        A21, A22 = (np.array(a) for a in derivative(x[:n], x[n:], *fixed))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [A21, A22]])
    else:
        A = np.array(function(model, "linearize")(x[: model.n_q], x[model.n_q :], *fixed)[0])
    fastest = float(np.abs(np.linalg.eigvals(A)).max())
    return min(LONGEST_STEP, float(f"{0.1 / max(fastest, 1e-3):.0e}"))


def example(model: Model, numbers: Reference) -> str:
    """A program that checks itself and times a run."""
    arrays = {
        "x_given": numbers["x"],
        "tau_given": numbers["tau"],
        "p_given": numbers["p"],
        "qdd_expected": numbers["qdd"],
        "x_expected": numbers["x_end"],
    }
    return template("cuda_main.cu.in").substitute(
        comment=comment(description(model)), name=export_name(model), states=len(numbers["x"]), steps=numbers["steps"],
        h=c_constant(numbers["h"]), rows=_sizes(model)["all"],
        tolerance_double=TOLERANCES["double"], tolerance_single=TOLERANCES["single"],
        arrays="\n\n".join(array(f"static const double {name}", values) for name, values in arrays.items()),
    )  # fmt: skip


TARGET = Target(write=export_cuda)
