"""A tape prepared for a graphics processor: shared reciprocals, one sine-cosine per angle.

There a division costs about twelve instructions and a branch, a multiplication one. So a / b becomes a * (1/b), and all
divisions by b share one reciprocal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.compute.tape.lower import LARGEST_EXPANDED_POWER, sincos_results
from pliant.compute.tape.operations import NAMES
from pliant.compute.tape.tape import Tape


@dataclass(frozen=True)
class Node:
    """One operation: `results` are the values it defines (two for a sine-cosine), `operands` those it reads."""

    name: str
    results: tuple[int, ...]
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Nodes:
    """Operations in order; values are numbered.

    Attributes
    ----------
    nodes : tuple of Node
    inputs, constants : dict
        Value to its place among the inputs, or to its number; neither is ever computed or stored.
    outputs : tuple of int
        The value of each output, -1 for a structural zero.
    wide : frozenset of int
        Values that a kernel of single precision computes and keeps in double precision.
    """

    nodes: tuple[Node, ...]
    inputs: dict[int, int]
    constants: dict[int, float]
    outputs: tuple[int, ...]
    wide: frozenset[int] = frozenset()

    def width(self, value: int) -> int:
        """Count of numbers that store a value."""
        return 2 if value in self.wide else 1

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Places of the outputs that each computed value fills."""
        found: dict[int, list[int]] = {}
        for place, value in enumerate(self.outputs):
            if value >= 0 and value not in self.inputs and value not in self.constants:
                found.setdefault(value, []).append(place)
        return found

    @cached_property
    def uses(self) -> dict[int, list[int]]:
        """Indices of the operations that read each value, in rising order; constants are left out."""
        found: dict[int, list[int]] = {}
        for i, node in enumerate(self.nodes):
            for value in dict.fromkeys(node.operands):
                if value not in self.constants:
                    found.setdefault(value, []).append(i)
        return found

    @cached_property
    def live(self) -> list[int]:
        """Numbers that are alive behind each operation."""
        count, total = [0] * (len(self.nodes) + 1), []
        for i, node in enumerate(self.nodes):
            for value in node.results:
                if value in self.uses:
                    count[i] += self.width(value)
                    count[self.uses[value][-1]] -= self.width(value)
        running = 0
        for change in count[:-1]:
            running += change
            total.append(running)
        return total

    @property
    def most_live(self) -> int:
        return max(self.live, default=0)


def nodes_of(tape: Tape) -> Nodes:
    """Prepare the operations of a tape for a graphics processor."""
    return _Builder(tape).build()


class _Builder:
    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.nodes: list[Node] = []
        self.inputs: dict[int, int] = {}
        self.constants: dict[int, float] = {}
        self.next = len(tape)
        self.reciprocals: dict[int, int] = {}
        self.angles: set[int] = set()

    def build(self) -> Nodes:
        tape = self.tape
        a, b, constant = tape.a.tolist(), tape.b.tolist(), tape.constant.tolist()
        names = [NAMES[code] for code in tape.op.tolist()]
        pairs = sincos_results(names, a, self.next)
        self.next += 2 * len(pairs)
        for i, name in enumerate(names):
            if name == "input":
                self.inputs[i] = a[i]
            elif name == "const":
                self.constants[i] = constant[i]
            elif name == "div":
                self._add("mul", i, a[i], self._reciprocal(b[i]))
            elif name == "inv":
                self._reciprocal(a[i], i)
            elif name in ("sin", "cos"):
                if a[i] not in self.angles:
                    self.angles.add(a[i])
                    self.nodes.append(Node("sincos", pairs[a[i]], (a[i],)))
            elif name in ("pow", "constpow") and (n := self._whole(b[i])):
                self._add(f"power:{n}", i, a[i])
            elif name in ("sq", "twice"):
                self._add("mul" if name == "sq" else "add", i, a[i], a[i])
            else:
                self._add("pow" if name == "constpow" else name, i, *((a[i],) if b[i] < 0 else (a[i], b[i])))
        return self._finished()

    def _finished(self) -> Nodes:
        """Reciprocals that an `inv` asked for under a second name are read under the first."""
        alias = {value: self.reciprocals[of] for value, of in self._inverses.items() if self.reciprocals[of] != value}
        if not alias:
            return Nodes(tuple(self.nodes), self.inputs, self.constants, tuple(self.tape.outputs.tolist()))
        nodes = [Node(n.name, n.results, tuple(alias.get(v, v) for v in n.operands)) for n in self.nodes]
        outputs = tuple(alias.get(v, v) for v in self.tape.outputs.tolist())
        return Nodes(tuple(nodes), self.inputs, self.constants, outputs)

    @property
    def _inverses(self) -> dict[int, int]:
        found = self.tape.op
        return {
            i: int(self.tape.a[i]) for i in np.flatnonzero([NAMES[code] == "inv" for code in found.tolist()]).tolist()
        }

    def _new(self) -> int:
        self.next += 1
        return self.next - 1

    def _add(self, name: str, result: int, *operands: int) -> None:
        self.nodes.append(Node(name, (result,), operands))

    def _reciprocal(self, value: int, name: int | None = None) -> int:
        if value not in self.reciprocals:
            result = self._new() if name is None else name
            self.reciprocals[value] = result
            if value in self.constants and self.constants[value] != 0.0:
                self.constants[result] = 1.0 / self.constants[value]
            else:
                self._add("inv", result, value)
        return self.reciprocals[value]

    def _whole(self, exponent: int) -> int:
        """The exponent if it is a small whole number, else 0."""
        x = self.constants.get(exponent, 0.0)
        return int(x) if x == int(x) and 0 < abs(x) <= LARGEST_EXPANDED_POWER else 0
