"""Natural frequencies of a link by modes and by elements, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from pliant.arrays import Array
from pliant.mechanics.shapes.builder import Request, link_shapes, requested_shapes
from pliant.mechanics.shapes.link_shapes import LinkShapes
from pliant.options import FieldName
from pliant.robot.parts.beam import BeamProperties, beam_properties
from pliant.robot.parts.link import Link
from pliant.robot.parts.shapes import TipLoad


@dataclass(frozen=True)
class FrequencyRow:
    """One natural frequency of one field of a link, rad/s; None where a method has no such number."""

    field: str
    number: int
    modes: float | None
    elements: float | None

    @property
    def modes_hz(self) -> float | None:
        return None if self.modes is None else self.modes / (2 * pi)

    @property
    def elements_hz(self) -> float | None:
        return None if self.elements is None else self.elements / (2 * pi)


def frequency_table(link: Link, tip_load: TipLoad | None = None, count: int = 16) -> tuple[FrequencyRow, ...]:
    """Frequencies of each flexible field of a link under its own boundary condition and boundary load.

    The link's own method fills its own column with exactly its own shapes. The other column is a reference: `count`
    elements or more, or as many modes as there are rows (eight more if the beam is tapered and modes are Ritz
    functions). Unreduced elements list as many rows as there are elements: the upper half of their spectrum is
    not physical. A rigid link has no rows.
    """
    own, wanted = link_shapes(link, tip_load), link.shapes
    if own is None or wanted is None:
        return ()
    beam = beam_properties(link.beam)
    rows = {part.name: part.shapes.size for part in own.parts}
    if wanted.method == "elements" and wanted.reduce is None and wanted.count is not None:
        rows = {name: min(size, wanted.count) for name, size in rows.items()}
    by_modes = wanted.method == "modes"
    spare = 0 if beam.profile is None else 8

    def other(name: FieldName) -> Request:
        if by_modes:
            return Request("elements", count=max(count, 2 * rows[name]))
        return Request("modes", number=rows[name] + spare)

    mine, theirs = _by_field(own, beam), _by_field(requested_shapes(link, other, tip_load), beam)
    modes, elements = (mine, theirs) if by_modes else (theirs, mine)
    return tuple(
        FrequencyRow(name, j + 1, _entry(modes, name, j), _entry(elements, name, j))
        for name in rows
        for j in range(rows[name])
    )


def _by_field(shapes: LinkShapes | None, beam: BeamProperties) -> dict[str, Array]:
    """Frequencies of each field by name."""
    if shapes is None:
        return {}
    values, fields = shapes.frequencies(beam), np.array(shapes.fields)
    return {name: values[fields == name] for name in dict.fromkeys(shapes.fields)}


def _entry(values: dict[str, Array], name: str, j: int) -> float | None:
    return float(values[name][j]) if name in values and j < len(values[name]) else None
