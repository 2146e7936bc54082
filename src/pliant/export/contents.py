"""Contents of an export: functions of a model by name, units of every variable, and the provenance of the model."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from string import Template

import casadi as ca

from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.derivatives.differentials import SolvedColumns
from pliant.model.coordinate_units import coordinate_units, speed_units, torque_units
from pliant.model.model import Model
from pliant.model.recipes import EXPRESSIONS, column_function
from pliant.version import VERSION


@dataclass(frozen=True)
class ExportSignature:
    """A function of an export: a description, its inputs, and the names and shapes of its outputs."""

    what: str
    inputs: tuple[str, ...]
    outputs: Callable[[Model], dict[str, tuple[int, ...]]]


FUNCTIONS: dict[str, ExportSignature] = {
    "forward_dynamics": ExportSignature(
        "accelerations qdd under joint torques tau", ("q", "qd", "tau"), lambda m: {"qdd": (m.n,)}
    ),
    "inverse_dynamics": ExportSignature(
        "generalized forces M qdd + bias that give accelerations qdd", ("q", "qd", "qdd"), lambda m: {"force": (m.n,)}
    ),
    "mass_matrix": ExportSignature("inertia matrix M, rotors included", ("q",), lambda m: {"M": (m.n, m.n)}),
    "bias": ExportSignature(
        "gravity, elastic, damping, friction and velocity terms", ("q", "qd"), lambda m: {"bias": (m.n,)}
    ),
    "energy": ExportSignature("kinetic, gravity and strain energy (J)", ("q", "qd"), lambda m: {"energy": (3,)}),
    "tip_pose": ExportSignature("4 x 4 pose of the distal frame in the base", ("q",), lambda m: {"pose": (4, 4)}),
    "jacobian": ExportSignature(
        "Jacobian [angular; linear] of the distal frame in base axes", ("q",), lambda m: {"J": (6, m.n)}
    ),
    "rates": ExportSignature("rates of the coordinates q at speeds qd", ("q", "qd"), lambda m: {"rates": (m.n_q,)}),
    "linearize": ExportSignature(
        "A and B of x' = A x + B tau about a state, x = [q; qd]",
        ("q", "qd", "tau"),
        lambda m: {"A": (2 * m.n, 2 * m.n), "B": (2 * m.n, m.n_joints)},
    ),
    "multipliers": ExportSignature(
        "forces and moments of the rows that close loops",
        ("q", "qd", "tau"),
        lambda m: {"multipliers": (len(m.constraints),)},
    ),
    "gaps": ExportSignature(
        "how far the rows of closed loops are open", ("q",), lambda m: {"gaps": (len(m.constraints),)}
    ),
}
"""Every function that can be exported."""


ONLY = {
    "multipliers": "of arms with closed loops, and this one has none",
    "gaps": "of arms with closed loops, and this one has none",
    "linearize": "not exported where loops are closed, since its states follow from one another; model.linearize gives "
    "its equations in independent coordinates",
}
"""Functions that not every arm has, and the reason."""


def usual(model: Model) -> tuple[str, ...]:
    """All functions that the arm has; without `rates` where speeds are the rates of the coordinates."""
    loops, plain = bool(model.constraints), model.layout.plain
    has = {"rates": not plain, "multipliers": loops, "gaps": loops, "linearize": not loops}
    return tuple(name for name in FUNCTIONS if has.get(name, True))


def chosen(model: Model, functions: Sequence[str] | None) -> tuple[str, ...]:
    """The functions asked for, all by default."""
    for name in functions or ():
        if name not in FUNCTIONS:
            raise ModelError(f"functions: got {name!r}, expected some of {', '.join(FUNCTIONS)}")
        if name in ONLY and name not in usual(model):
            raise UnsupportedModel(f"functions: {name} is {ONLY[name]}")
    return tuple(functions) if functions else usual(model)


def input_sizes(model: Model, name: str) -> dict[str, int]:
    """Inputs of a function and how many numbers each has; parameters are a last input `p`."""
    sizes = {"q": model.n_q, "qd": model.n, "qdd": model.n, "tau": model.n_joints}
    found = {x: sizes[x] for x in FUNCTIONS[name].inputs}
    return {**found, "p": len(model.parameters)} if model.parameters else found


def function(model: Model, name: str) -> ca.Function:
    """CasADi function of the model with the inputs and outputs of `FUNCTIONS`; parameters are a last input `p`."""
    signature, sizes = FUNCTIONS[name], input_sizes(model, name)
    given = [ca.SX.sym(x, sizes[x]) for x in signature.inputs]
    if name == "rates":
        values = [model.chain.rates(*given)]
    else:
        built = EXPRESSIONS[name].build(model.equations, *given)
        if isinstance(built, SolvedColumns):
            inputs = dict(zip((*signature.inputs, "p"), (*given, model.parameter_symbols)))
            whole = column_function(name, inputs, built).function.expand()
            built = whole.call(list(inputs.values()))
        values = list(built)
    if name == "linearize":
        A21, A22, B2, A11 = values
        A = ca.blockcat([[A11, ca.SX.eye(model.n)], [A21, A22]])
        values = [A, ca.vertcat(ca.SX.zeros(model.n, model.n_joints), B2)]
    outputs = ca.cse([ca.densify(ca.SX(x)) for x in values])
    given += [model.parameter_symbols] if model.parameters else []
    return ca.Function(name, given, outputs, list(sizes), list(signature.outputs(model)))


def require_no_drive_states(model: Model, what: str) -> None:
    """Refuse arms whose drives have states in a run, for an export that steps without such states."""
    names = [
        shaft.name for shaft in model.layout.shafts if not all(state.startswith("friction") for state in shaft.states)
    ]
    if names:
        raise UnsupportedModel(
            f"{what}: the drive of {', '.join(names)} has states in a run ({', '.join(model.layout.drive_states)}), "
            "which this export has not; export an fmu, or take the motor, the hysteresis or its friction away"
        )
    model.layout.require_uncoupled(what)
    names = [shaft.name for shaft in model.layout.shafts if shaft.states]
    if names:
        raise UnsupportedModel(
            f"{what}: Coulomb friction of {', '.join(names)} has a state in a run, which this export has not; set "
            f"links.{names[0]}.joint.friction.bristle to 0 for smooth friction, under which a loaded joint creeps"
        )


def shown(functions: Sequence[str]) -> str:
    """Name of the function that examples call."""
    return "forward_dynamics" if "forward_dynamics" in functions else functions[0]


def template(name: str) -> Template:
    """A text of the package with $placeholders."""
    return Template((files("pliant.export") / "templates" / name).read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------------- names


def module_text(model: Model, file: str, **words: object) -> str:
    """A template of a Python file, filled; its docstring describes the model."""
    about = "\n".join(line.replace("\\", "/").replace('"', "'") for line in description(model))
    return template(file).substitute(description=about, **words)


def labels(model: Model) -> dict[str, str]:
    """Names of coordinates, by which sines and cosines are called."""
    return {f"q[{k}]": identifier(name) for k, name in enumerate(model.coordinates)}


def identifier(text: str) -> str:
    """`text` as a name that C and Python accept."""
    name = re.sub(r"[^0-9a-zA-Z]+", "_", text).strip("_").lower() or "arm"
    name = f"_{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN else name


C_KEYWORDS = frozenset(
    [
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"),
        *("float", "for", "goto", "if", "inline", "int", "long", "main", "register", "restrict", "return", "short"),
        *("signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile"),
        *("while", "asm", "bool", "catch", "class", "constexpr", "delete", "explicit", "export", "friend", "mutable"),
        *("namespace", "new", "operator", "private", "protected", "public", "template", "this", "throw", "typename"),
        *("using", "virtual", "alignas", "alignof", "and", "bitand", "bitor", "compl", "concept", "decltype", "false"),
        *("noexcept", "not", "nullptr", "or", "requires", "true", "typeid", "typeof", "xor", "linux", "unix"),
    ]
)
"""Reserved names of C and C++, for the namespace of the CUDA export; the last two are macros of GNU."""
C_LIBRARY = frozenset(
    [
        *("abort", "abs", "access", "acos", "acosh", "alarm", "asin", "asinh", "atan", "atan2", "atanh", "bsearch"),
        *("calloc", "cbrt", "ceil", "clock", "close", "connect", "cos", "cosh", "cuda", "difftime", "div", "dup"),
        *("erf", "erfc", "errno", "exit", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin"),
        *("fmod", "fork", "free", "frexp", "gamma", "getenv", "hypot", "ilogb", "index", "isinf", "isnan", "j0", "j1"),
        *("jn", "kill", "labs", "ldexp", "ldiv", "lgamma", "link", "log", "log2", "log10", "log1p", "logb", "lrint"),
        *("lround", "malloc", "memcpy", "memset", "modf", "nan", "nice", "open", "pause", "perror", "pipe", "pow"),
        *("printf", "putchar", "puts", "qsort", "raise", "rand", "random", "read", "realloc", "remainder", "remove"),
        *("remquo", "rename", "rint", "round", "scanf", "select", "send", "signal", "sin", "sincos", "sinh", "sleep"),
        *("sqrt", "srand", "std", "stderr", "stdin", "stdout", "strlen", "sync", "system", "tan", "tanh", "tgamma"),
        *("time", "timer", "tmpfile", "trunc", "uint", "ulong", "ungetc", "unlink", "ushort", "wait", "write", "y0"),
        *("y1", "yn"),
    ]
)
"""Global functions, variables and types of C libraries, which the namespace of the CUDA export may not be called."""
INCLUDED = frozenset(["casadi", "numpy", "stdbool", "stdint", "stdio", "stdlib", *sys.stdlib_module_names])
"""Modules and headers that exported files include; an exported file of the same name would hide them."""
TAKEN = C_KEYWORDS | C_LIBRARY | INCLUDED


def export_name(model: Model) -> str:
    """Name of the files and prefix of the functions: that of the robot."""
    name = identifier(model.robot.name)
    return name if name[0] != "_" else f"arm{name}"


# ------------------------------------------------------------------------------------------------------- units


def parameter_unit(path: str) -> str:
    """Unit of a number of the robot by its path, empty where it has none or several."""
    for part in reversed(path.split(".")):
        if part in _UNITS:
            return _UNITS[part]
    return ""


_UNITS = {
    **{"length": "m", "total_length": "m", "xyz": "m", "com": "m", "a": "m", "d": "m", "rpy": "rad", "alpha": "rad"},
    **{"mass": "kg", "mass_per_length": "kg/m", "EI_y": "N.m2", "EI_z": "N.m2", "GJ": "N.m2", "EA": "N"},
    **{"GA_y": "N", "GA_z": "N"},
    **{"polar_inertia": "kg.m", "rotary": "kg.m", "inertia": "kg.m2", "rotor_inertia": "kg.m2", "gravity": "m/s2"},
    **{"tip_rpy": "rad", "theta": "rad", "tip": "m"},
}


# -------------------------------------------------------------------------------------------------- provenance


def provenance(model: Model) -> dict[str, object]:
    """Identity of the model: version, digest of the robot, options, coordinates and parameters."""
    return {
        "pliant": VERSION,
        "robot": model.robot.name,
        "robot_sha256": model.robot.digest(),
        "options": asdict(model.options),
        "coordinates": list(model.coordinates),
        **({} if model.layout.plain else {"speeds": list(model.speeds)}),
        "joints": list(model.joints),
        "parameters": dict(zip(model.parameters, model.nominal_parameters.tolist())),
    }


def _speed_lines(model: Model) -> list[str]:
    """Lines about qd, where it is not the rates of q."""
    if model.layout.plain:
        return []
    return [
        *(f"qd[{k}]  speed {name} ({unit})" for k, (name, unit) in enumerate(zip(model.speeds, speed_units(model)))),
        "Quaternions are w, x, y, z and may have any length; angular and linear speeds of their joints are in the axes",
        "of the moved frame. `rates` gives the rates of q; `linearize` has small displacements along the speeds for q.",
    ]


def description(model: Model) -> list[str]:
    """Lines of a comment about the model: options, coordinates, torques, parameters and their units."""
    o = model.options
    units = coordinate_units(model)
    lines = [
        f"{model.robot.name}: equations of motion M(q) qdd + bias(q, qd) = S tau",
        f"Written by pliant {VERSION}; SI units, radians; matrices are row-major.",
        f"Robot SHA-256 {model.robot.digest()}",
        f"Options formulation={o.formulation}, rotation={o.rotation}, stiffening={o.stiffening}, shapes={o.shapes}",
        "",
        *(f"q[{k}]  {name} ({unit})" for k, (name, unit) in enumerate(zip(model.coordinates, units))),
        *_speed_lines(model),
        *(f"tau[{k}]  torque of {name} ({u})" for k, (name, u) in enumerate(zip(model.joints, torque_units(model)))),
    ]
    for k, (path, value) in enumerate(zip(model.parameters, model.nominal_parameters)):
        unit = parameter_unit(path)
        lines.append(f"p[{k}]  {path}, nominal {float(value)!r}" + (f" {unit}" if unit else ""))
    if model.constraints:
        lines.append(f"Closed loops: rows {', '.join(model.constraints)}. q and qd have to be closed.")
    if model.layout.commanded:
        names = ", ".join(coupling.name for coupling in model.layout.commanded)
        lines.append(f"Without its command, {names} does not push in functions of q, qd and tau.")
    if any(state.startswith("friction") for shaft in model.layout.all_shafts for state in shaft.states):
        lines.append(
            "Coulomb friction is smooth in these functions, coulomb tanh(qd / coulomb_speed); in a run it holds."
        )
    return [line.replace("*/", "* /") for line in lines]
