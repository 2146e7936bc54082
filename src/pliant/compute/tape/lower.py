"""From a tape to the steps of machine code: fused multiply-adds, one sine-cosine per angle, parts of bounded length.

All rounding is decided here, before LLVM sees anything. A product that is used once, in a sum, is fused with it; LLVM
gets no freedom to contract or reorder, and so code for one state and code for a pack of states give equal bits.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from pliant.compute.tape.operations import CALL, CONST, INPUT, NAMES, RESULT
from pliant.compute.tape.tape import Tape

#: Whole exponents up to this size are multiplied out; the error stays below that of a few roundings.
LARGEST_EXPANDED_POWER = 8
Leaves = dict[int, tuple[str, int | float]]


@dataclass(frozen=True)
class Instruction:
    """One step: `results` are the value numbers it defines, `operands` those it reads."""

    name: str
    results: tuple[int, ...]
    operands: tuple[int, ...]


@dataclass
class Block:
    """A run of steps that becomes one function; values shared with other parts stand in slots of a work buffer."""

    steps: list[Instruction]
    reads: dict[int, int] = field(default_factory=dict)
    writes: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """Steps of machine code, in parts that become functions.

    Attributes
    ----------
    parts : list of Block
    leaves : dict
        Value number to `("input", place)`, `("const", number)` or, for a result of a call, `("work", place)`. Leaves
        are read wherever they are needed.
    outputs : dict
        Value number to the output places it fills.
    zeros : list of int
        Output places that hold a structural zero.
    work_size : int
        Slots of the work buffer.
    """

    parts: list[Block]
    leaves: Leaves
    outputs: dict[int, list[int]]
    zeros: list[int]
    work_size: int


def lower(tape: Tape, fma: bool, part_length: int, angle_width: int = 1) -> Program:
    """Plan the machine code of `tape`.

    Parameters
    ----------
    tape : Tape
    fma : bool
        Whether the machine has a fused multiply-add.
    part_length : int
        Longest run of steps in one function.
    angle_width : int
        Most angles that one sine-cosine step takes together.
    """
    leaves = leaves_of(tape)
    steps = angles_first(list(steps_of(tape, fma, leaves, leaves.keys())), leaves, angle_width)
    parts = [Block(steps[k : k + part_length]) for k in range(0, len(steps), part_length)] or [Block([])]
    outputs, zeros = outputs_of(tape)
    return Program(parts=parts, leaves=leaves, outputs=outputs, zeros=zeros, work_size=_assign_slots(parts))


def leaves_of(tape: Tape) -> Leaves:
    """Inputs and constants of a tape, by value number."""
    leaves: Leaves = {}
    for i in np.flatnonzero(tape.op == INPUT).tolist():
        leaves[i] = ("input", int(tape.a[i]))
    for i in np.flatnonzero(tape.op == CONST).tolist():
        leaves[i] = ("const", float(tape.constant[i]))
    return leaves


def outputs_of(tape: Tape) -> tuple[dict[int, list[int]], list[int]]:
    """The output places that each value fills, and those that hold a structural zero."""
    outputs: dict[int, list[int]] = {}
    for place, value in enumerate(tape.outputs.tolist()):
        outputs.setdefault(value, []).append(place)
    zeros = outputs.pop(-1, [])
    return outputs, zeros


def steps_of(tape: Tape, fma: bool, leaves: Leaves, skipped: Container[int]) -> Iterator[Instruction]:
    """The arithmetic of a tape, in order, without the values that are `skipped`."""
    a, b = tape.a.tolist(), tape.b.tolist()
    names = [NAMES[code] for code in tape.op.tolist()]
    fused = _fusions(names, a, b, _uses(tape)) if fma else {}
    absorbed = set(fused.values())
    turned = sincos_results(names, a, len(names))
    done: set[int] = set()
    for i, name in enumerate(names):
        if i in skipped or i in absorbed:
            continue
        if i in fused:
            yield _fused_step(i, name, fused[i], names, a, b)
        elif name in ("sin", "cos"):
            if a[i] not in done:
                done.add(a[i])
                yield Instruction("sincos", turned[a[i]], (a[i],))
        elif name in ("pow", "constpow"):
            yield _power(i, a[i], b[i], leaves)
        else:
            yield Instruction(name, (i,), (a[i],) if b[i] < 0 else (a[i], b[i]))


def _uses(tape: Tape) -> list[int]:
    real = ~np.isin(tape.op, (INPUT, CALL, RESULT))
    read = np.concatenate([tape.a[real], tape.b[real], tape.outputs, *(call.arguments for call in tape.calls)])
    uses: list[int] = np.bincount(read[read >= 0], minlength=len(tape.op)).tolist()
    return uses


def _fusions(names: list[str], a: list[int], b: list[int], uses: list[int]) -> dict[int, int]:
    """Map each sum to the product it absorbs."""
    fused = {}
    for i, name in enumerate(names):
        if name in ("add", "sub") and a[i] != b[i]:
            for operand in (b[i], a[i]):
                if names[operand] in ("mul", "sq") and uses[operand] == 1:
                    fused[i] = operand
                    break
    return fused


def _fused_step(i: int, name: str, product: int, names: list[str], a: list[int], b: list[int]) -> Instruction:
    x, y = a[product], a[product] if names[product] == "sq" else b[product]
    if name == "add":
        return Instruction("fma", (i,), (x, y, a[i] if product == b[i] else b[i]))
    if product == b[i]:
        return Instruction("fnma", (i,), (x, y, a[i]))
    return Instruction("fms", (i,), (x, y, b[i]))


def sincos_results(names: list[str], a: list[int], spare: int) -> dict[int, tuple[int, int]]:
    """Map each angle to the values of its sine and cosine; a spare number stands for one that the tape does not use."""
    found: dict[int, dict[str, int]] = {}
    for i, name in enumerate(names):
        if name in ("sin", "cos"):
            found.setdefault(a[i], {})[name] = i
    pairs = enumerate(found.items())
    return {angle: (p.get("sin", spare + 2 * k), p.get("cos", spare + 2 * k + 1)) for k, (angle, p) in pairs}


def _power(i: int, base: int, exponent: int, leaves: Leaves) -> Instruction:
    """A step for a power; small whole exponents n become products, named `power:n`."""
    kind, number = leaves.get(exponent, ("input", 0))
    if kind == "const" and 0 < abs(number) <= LARGEST_EXPANDED_POWER and float(number).is_integer():
        return Instruction(f"power:{int(number)}", (i,), (base,))
    return Instruction("pow", (i,), (base, exponent))


def angles_first(steps: list[Instruction], leaves: Leaves, angle_width: int) -> list[Instruction]:
    """Move sines and cosines of inputs to the front, while few values are alive, and take several in one step."""
    early = [step for step in steps if step.name == "sincos" and step.operands[0] in leaves]
    rest = [step for step in steps if not (step.name == "sincos" and step.operands[0] in leaves)]
    groups = [early[k : k + angle_width] for k in range(0, len(early), angle_width)]
    return [Instruction("sincos", _joined(s.results for s in g), _joined(s.operands for s in g)) for g in groups] + rest


def _joined(tuples: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(chain.from_iterable(tuples))


def _assign_slots(parts: list[Block]) -> int:
    """Give a slot to every value that crosses parts, and reuse it after its last reader."""
    born = {value: k for k, part in enumerate(parts) for step in part.steps for value in step.results}
    last: dict[int, int] = {}
    for k, part in enumerate(parts):
        for step in part.steps:
            for value in step.operands:
                if value in born:
                    last[value] = k
    dies: dict[int, list[int]] = {}
    free: list[int] = []
    size = 0
    slot: dict[int, int] = {}
    for k, part in enumerate(parts):
        # A slot freed by its last reader k - 1 may be written in part k.
        free.extend(slot[value] for value in dies.get(k - 1, ()))
        crossing = [v for step in part.steps for v in step.results if last.get(v, k) > k]
        for value in crossing:
            if free:
                slot[value] = free.pop()
            else:
                slot[value], size = size, size + 1
            part.writes[value] = slot[value]
            dies.setdefault(last[value], []).append(value)
        used = {v for step in part.steps for v in step.operands if born.get(v, k) < k}
        part.reads = {value: slot[value] for value in sorted(used)}
    return size
