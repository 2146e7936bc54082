"""Runtime argument checks, derived from type annotations.

The signature of a public function states what it takes: a `Model`, a number, numbers, one of the names of an option, a
path. `@checked` raises `ModelError` for anything else. The message names the argument, what was given and what is
expected. So the function itself may trust types and checks values only. An annotation that `@checked` does not know
(`Any`, a protocol, an alias) admits everything.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import os
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeGuard, TypeVar, get_args, get_origin

import numpy as np

from pliant.errors import ModelError

F = TypeVar("F", bound=Callable[..., Any])
Test = Callable[[object], bool]
WIDTH = 80
LONGEST_NAME = 200


def checked(target: F) -> F:
    """Return the function, or the class with its constructor, that checks its arguments against their annotations."""
    if isinstance(target, type):
        modules = [vars(sys.modules[base.__module__]) for base in target.__mro__]  # also for inherited fields
        target.__init__ = _held(target.__init__, lambda: ChainMap(*modules))  # type: ignore[misc]
        return target
    return _held(target, lambda: getattr(inspect.unwrap(target), "__globals__", {}))  # not those of the decorator


def _held(target: F, names: Callable[[], Mapping[str, object]]) -> F:
    """Return the function that checks its arguments. The first call looks up the `names` of the annotations."""
    signature = inspect.signature(target)
    texts = {
        name: f"Sequence[{p.annotation}]" if p.kind is p.VAR_POSITIONAL else str(p.annotation)
        for name, p in signature.parameters.items()
        if p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD
    }

    @functools.cache
    def tests() -> dict[str, Test]:  # at the first call, when every name of the module is there
        return {name: _test(ast.parse(text, mode="eval").body, names()) for name, text in texts.items()}

    @functools.wraps(target)
    def held(*given: object, **named: object) -> object:
        try:
            arguments = signature.bind(*given, **named).arguments
        except TypeError:
            _refuse_unknown(target, signature, named)
            return target(*given, **named)  # Python's own words about a call that does not fit
        for name, test in tests().items():
            if name in arguments and not test(arguments[name]):
                words = _words(texts[name], names())
                meant = near(arguments[name], [word.strip("'") for word in words if word.startswith("'")])
                remedy = f"; did you mean {meant!r}?" if meant else _made_of(arguments[name], words)
                raise ModelError(f"{name}: got {shown(arguments[name])}, expected {_listed(words)}{remedy}")
        return target(*given, **named)

    return held  # type: ignore[return-value]


ELSEWHERE = {
    "kv": "kd", "Kp": "kp", "Kd": "kd", "Ki": "ki", "dt": "step", "h": "step", "timestep": "step", "Ts": "sample_time",
    "ts": "sample_time", "tf": "t_end", "t_final": "t_end", "T": "t_end", "duration": "t_end", "x0": "q0", "v0": "qd0",
    "dq0": "qd0", "u": "torque", "tau": "torque", "forces": "loads", "force": "loads", "external_forces": "loads",
    "effort": "torque_limit", "velocity_limit": "speed_limit", "integrator": "method", "solver": "method",
    "tolerance": "rtol", "tol": "rtol", "urdf": "model", "robot": "model", "arm": "model", "t_end": "duration",
}  # fmt: skip
"""Names of arguments in other programs, with ours."""


def _refuse_unknown(target: Callable[..., Any], signature: inspect.Signature, named: Iterable[str]) -> None:
    """Raise `TypeError` for a keyword that the function does not have, with the one that was probably meant."""
    known = list(signature.parameters)
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return
    for name in named:
        if name not in known:
            other = ELSEWHERE.get(name)
            meant = other if other in known else near(name, [each for each in known if each != "self"])
            if meant:
                function = target.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; did you mean {meant!r}?")


def _made_of(value: object, words: Sequence[str]) -> str:
    """Advice that makes what was expected of the value that was given."""
    kinds = {word.rpartition(" ")[2] for word in words}
    if isinstance(value, str | os.PathLike) and {"Model", "Robot"} & kinds:
        return f"; call pliant.load({os.fspath(value)!r})" + ("" if "Robot" in kinds else ".model()")
    if "Model" in kinds and callable(getattr(value, "model", None)):
        return "; call its model()"
    return ""


def shown(value: object) -> str:
    """Return a short text for a given value."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.name} of shape {value.shape}"
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | str | bytes | list | tuple | dict):
        try:
            text = repr(value[:WIDTH] if isinstance(value, str | bytes | list | tuple) else value)
        except ValueError:  # an integer of more digits than Python prints
            return "a huge number"
        return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
    return f"an object of type {type(value).__name__}"


def near(given: object, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant: one with few typing errors, the same beginning, or a word in
    common. Names that merely share letters, as `width` and `twist` do, are not near."""
    if not isinstance(given, str) or not 0 < len(typed := _plain(given)) <= LONGEST_NAME:
        return None
    names, found = list(known), {}
    for name, plain in zip(names, map(_plain, names)):
        most = (len(typed) > 1) + len(typed) // 7 + (len(typed) > 3 and typed[:3] == plain[:3])
        if abs(len(plain) - len(typed)) <= most and (slips := _slips(typed, plain)) <= most:
            found[name] = slips
    if found:
        return min(found, key=found.__getitem__)
    begun = [name for name in names if _begins(typed, _plain(name), 2) or _begins(_plain(name), typed, 3)]
    worded = [name for name in names if _name_words(given) & _name_words(name)]
    return min(begun, key=len) if begun else worded[0] if len(worded) == 1 else None


def _plain(name: str) -> str:
    """Return the lower-case letters and digits of a name."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _name_words(name: str) -> set[str]:
    """Return the words of three letters or more in a name."""
    return {word for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 2}


def _begins(start: str, whole: str, least: int) -> bool:
    return len(start) >= least and whole.startswith(start)


def _slips(one: str, other: str) -> int:
    """Edit distance: number of letters to add, drop, change or swap with a neighbor."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            found = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            swapped = i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b
            row.append(min(found, before[j - 2] + 1) if swapped else found)
        before, last = last, row
    return last[-1]


def require_loads(loads: Iterable[object]) -> None:
    """Check that loads and motions of the base have a method `expression`."""
    for load in loads:
        if not hasattr(load, "expression"):
            raise ModelError(f"loads, base: got {shown(load)}, expected objects of pliant.loads such as Wrench or Base")


# --------------------------------------------------------------------------------------------------- annotations


def _test(node: ast.expr, names: Mapping[str, object]) -> Test:
    """Test of a value against an annotation."""
    if isinstance(node, ast.BinOp):
        left, right = _test(node.left, names), _test(node.right, names)
        return lambda value: left(value) or right(value)
    if isinstance(node, ast.Constant):
        return (lambda value: value is None) if node.value is None else _anything
    inner: list[Test] = []
    if isinstance(node, ast.Subscript):
        parts = _parts(node)
        inner = [_test(part, names) for part in parts if not _is_dots(part)]
        if len(inner) < len(parts):  # tuple[int, ...]
            return _container("Sequence", inner)
        node = node.value
    if isinstance(node, ast.Attribute):
        return (lambda value: isinstance(value, os.PathLike)) if node.attr == "PathLike" else _anything
    if not isinstance(node, ast.Name):
        return _anything
    if node.id in PLAIN:
        return PLAIN[node.id]
    if node.id in ("Sequence", "Iterable", "Mapping", "tuple"):
        return _container(node.id, inner)
    kind = names.get(node.id)
    if get_origin(kind) is Literal:
        return lambda value: isinstance(value, str) and value in get_args(kind)
    if not isinstance(kind, type) or kind is Any or getattr(kind, "_is_protocol", False):
        return _anything
    return lambda value: isinstance(value, kind)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _container(name: str, inner: list[Test]) -> Test:
    """Test of a mapping, sequence, iterable or tuple and its entries."""
    if name == "Mapping":
        key, entry = inner if len(inner) == 2 else (_anything, _anything)
        return lambda value: isinstance(value, Mapping) and all(key(k) and entry(v) for k, v in value.items())
    if name == "Iterable":
        each = inner[0] if inner else _anything
        return lambda value: (
            isinstance(value, Iterable)
            and getattr(value, "ndim", 1) != 0
            and (not _is_sequence(value) or all(map(each, value)))
        )
    if name == "Sequence":
        item = inner[0] if inner else _anything
        return lambda value: _is_sequence(value) and (item is _anything or all(map(item, value)))
    return lambda value: (
        isinstance(value, list | tuple) and len(value) == len(inner) and all(t(v) for t, v in zip(inner, value))
    )


def _anything(value: object) -> bool:
    return True


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return (isinstance(value, Sequence) and not isinstance(value, bytes)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


def _is_number(value: object) -> bool:
    """Return True for a real number or an array without axes; not for a bool, NaN or an integer of over 64 bits."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    if isinstance(value, Integral) and not -(2**63) <= int(value) < 2**63:  # NumPy takes it for an object
        return False
    return not math.isnan(float(value))


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1))


def _are_numbers(value: object) -> bool:
    """Return True for everything that NumPy reads as real numbers, and for symbols of CasADi."""
    if type(value).__module__.startswith("casadi") or hasattr(value, "__cuda_array_interface__"):
        return True
    if isinstance(value, str | bytes | Mapping) or value is None:
        return False
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError, OverflowError):
        return False


def _are_angles(value: object) -> bool:
    """Return True for numbers, some of which may be text such as "90 deg"."""
    entries = value if isinstance(value, list | tuple) else ()
    return isinstance(value, str) or _are_numbers(value) or (bool(entries) and all(map(_are_angles, entries)))


def _is_state(value: object) -> bool:
    """Return True for coordinates by name or in a row, or a word for them."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_state(entry) for key, entry in value.items())
    return _are_angles(value)


PLAIN: dict[str, Test] = {
    "float": _is_number,
    "int": _is_whole,
    "bool": _is_switch,
    "str": lambda value: isinstance(value, str),
    "ArrayLike": _are_numbers,
    "Array": _are_numbers,
    "AnglesLike": _are_angles,
    "StateLike": _is_state,
    "Callable": callable,
}
WORDS = {
    "float": "a number", "int": "a whole number", "bool": "True or False", "str": "text", "ArrayLike": "real numbers",
    "Array": "real numbers", "AnglesLike": "numbers, angles such as '90 deg'",
    "StateLike": "numbers, angles such as '90 deg', a mapping of names to them, 'equilibrium'",
    "Callable": "a function", "PathLike": "a path", "None": "None", "Mapping": "a mapping",
    "Sequence": "a list", "Iterable": "a list", "tuple": "a tuple", "Any": "anything", "object": "anything",
}  # fmt: skip


def _words(annotation: str, names: Mapping[str, object]) -> list[str]:
    """Values that an annotation admits, in words of a message: text, a path, None; 'exact', 'linear'."""

    def words(node: ast.expr) -> list[str]:
        if isinstance(node, ast.BinOp):
            return words(node.left) + words(node.right)
        if isinstance(node, ast.Subscript):
            outer = words(node.value)[0]
            if outer in ("a list", "a mapping", "a tuple"):
                named = [w for part in _parts(node) if not _is_dots(part) for w in words(part)]
                joint = " to " if outer == "a mapping" else ", "
                return [f"{outer} ({joint.join(named)})"]
            return [outer]
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", str(getattr(node, "value", "")))
        if get_origin(names.get(name)) is Literal:
            return [repr(option) for option in get_args(names[name])]
        return [WORDS.get(name, f"an object of type {name}")]

    return list(dict.fromkeys(words(ast.parse(annotation, mode="eval").body)))


def _listed(found: list[str]) -> str:
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"
