"""`modelDescription.xml` of a functional mock-up unit, in FMI 3.0 and 2.0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree as ET

from pliant.arrays import Array
from pliant.export.contents import description
from pliant.export.fmu.functions import CONSTANT, DEPENDENT, INDEPENDENT, TUNABLE
from pliant.export.fmu.variables import Variable
from pliant.model.model import Model
from pliant.version import VERSION

BASE_UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1}, "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2}, "N.m2": {"kg": 1, "m": 3, "s": -2}, "kg": {"kg": 1}, "kg/m": {"kg": 1, "m": -1},
    "kg.m": {"kg": 1, "m": 1}, "kg.m2": {"kg": 1, "m": 2}, "1/m": {"m": -1}, "rad/m": {"rad": 1, "m": -1}, "1": {},
    "1/s": {"s": -1}, "1/s2": {"s": -2}, "A": {"A": 1}, "A/s": {"A": 1, "s": -1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1}, "V/s": {"kg": 1, "m": 2, "s": -4, "A": -1},
    "MPa": {"kg": 1, "m": -1, "s": -2, "factor": 10**6}, "MPa/s": {"kg": 1, "m": -1, "s": -3, "factor": 10**6},
}  # fmt: skip
"""Every unit an exported arm may use, in SI base units."""


def sources(fmi: str) -> tuple[str, ...]:
    """Source files to compile."""
    return "model.c", "derivatives.c", "fmi3.c" if fmi == "3.0" else "fmi2.c"


def description_xml(
    model: Model, name: str, token: str, variables: Sequence[Variable], on: Dependencies, fmi: str
) -> bytes:
    """Content of `modelDescription.xml`."""
    root = ET.Element("fmiModelDescription", fmiVersion=fmi, modelName=model.robot.name)
    root.set("instantiationToken" if fmi == "3.0" else "guid", token)
    root.set("description", "; ".join(line for line in description(model)[:4] if line))
    root.set("generationTool", f"pliant {VERSION}")
    root.set("variableNamingConvention", "structured")
    if fmi == "2.0":
        root.set("numberOfEventIndicators", str(sum(v.indicator for v in variables)))
    for kind in ("ModelExchange", "CoSimulation"):
        element = ET.SubElement(root, kind, modelIdentifier=name)
        for ability in _ABILITIES[fmi] + _ABILITIES[kind, fmi]:
            element.set(ability, "true")
        if fmi == "2.0":
            files = ET.SubElement(element, "SourceFiles")
            for source in sources(fmi):
                ET.SubElement(files, "File", name=source)
    _units(root, variables)
    categories = ET.SubElement(root, "LogCategories")
    ET.SubElement(categories, "Category", name="logStatusError", description="Errors")
    ET.SubElement(categories, "Category", name="logStatusDiscard", description="Joints that leave their limits")
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", tolerance="1e-8", stepSize="1e-3")
    listed = ET.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        own = _attributes(reference, variable)
        if fmi == "3.0":
            ET.SubElement(listed, "Float64", own | _values(variable, 0))
        else:
            ET.SubElement(ET.SubElement(listed, "ScalarVariable", own), "Real", _values(variable, 1))
    _structure(root, variables, on, fmi)
    return _text(root)


_ABILITIES: dict[str | tuple[str, str], tuple[str, ...]] = {
    "2.0": ("canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"),
    "3.0": (
        "canGetAndSetFMUState", "canSerializeFMUState", "providesDirectionalDerivatives", "providesAdjointDerivatives"
    ),
    ("ModelExchange", "2.0"): (),
    ("ModelExchange", "3.0"): ("needsCompletedIntegratorStep",),
    ("CoSimulation", "2.0"): ("canHandleVariableCommunicationStepSize",),
    ("CoSimulation", "3.0"): ("canHandleVariableCommunicationStepSize", "mightReturnEarlyFromDoStep"),
}  # fmt: skip
"""Capabilities of a unit; FMI 2 calls steps of an integrator completed unless told not to."""


def build_description(name: str) -> bytes:
    """`buildDescription.xml` of FMI 3.0: how to compile the sources."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    files = ET.SubElement(configuration, "SourceFileSet", language="C99")
    for source in sources("3.0"):
        ET.SubElement(files, "SourceFile", name=source)
    return _text(root)


def _text(root: ET.Element) -> bytes:
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _units(root: ET.Element, variables: Sequence[Variable]) -> None:
    used = dict.fromkeys(v.unit for v in variables if v.unit)
    definitions = ET.SubElement(root, "UnitDefinitions")
    for unit in used:
        element = ET.SubElement(definitions, "Unit", name=unit)
        ET.SubElement(element, "BaseUnit", {key: str(power) for key, power in BASE_UNITS[unit].items()})


def _attributes(reference: int, v: Variable) -> dict[str, str]:
    attributes = {"name": v.name, "valueReference": str(reference), "causality": v.causality}
    attributes |= {"variability": v.variability, "description": v.description}
    if v.initial is not None and v.causality not in ("input", "parameter"):
        attributes["initial"] = v.initial
    return attributes


def _values(v: Variable, first: int) -> dict[str, str]:
    """Attributes of a number; variables are counted from `first`."""
    start, nominal = (None if x is None else repr(float(x)) for x in (v.start, v.nominal))
    derivative = None if v.derivative is None else str(v.derivative + first)
    found = {"unit": v.unit or None, "start": start, "nominal": nominal, "derivative": derivative}
    return {name: text for name, text in found.items() if text is not None}


def _unknowns(variables: Sequence[Variable]) -> tuple[list[int], ...]:
    """References of outputs, of state derivatives, of variables calculated at the start, and of event indicators."""
    outputs = [r for r, v in enumerate(variables) if v.causality == "output"]
    rates = {v.derivative: r for r, v in enumerate(variables) if v.derivative is not None}
    derivatives = [rates[state] for state in sorted(rates)]
    initial = [r for r, v in enumerate(variables) if v.initial == "calculated" and not v.indicator]
    return outputs, derivatives, initial, [r for r, v in enumerate(variables) if v.indicator]


_KINDS = {CONSTANT: "constant", TUNABLE: "tunable", DEPENDENT: "dependent"}


@dataclass(frozen=True)
class Dependencies:
    """Dependencies of each variable on others: the rows and columns of `kinds` by their references."""

    variables: Sequence[Variable]
    kinds: Array
    limited: Sequence[int]

    @cached_property
    def _given(self) -> list[int]:
        """References of the columns: states, torques and parameters."""
        return [r for r, v in enumerate(self.variables) if v.initial == "exact"]

    @cached_property
    def _followed(self) -> list[int]:
        """References of the rows: all calculated variables but the distances to limits."""
        return [r for r, v in enumerate(self.variables) if v.initial == "calculated" and not v.indicator]

    def of(self, reference: int, initial: bool) -> dict[int, str]:
        """Kinds of dependency of a variable, by reference; at the `initial` time a factor is constant or dependent.

        Tunable parameters are listed: tools that ask for many directional derivatives at once group by these lists.
        """
        variable = self.variables[reference]
        if variable.indicator:
            nth = [r for r, v in enumerate(self.variables) if v.indicator].index(reference)
            return {1 + self.limited[nth]: "constant"}
        if variable.initial == "exact":
            return {reference: "constant"}
        row = dict(zip(self._given, self.kinds[self._followed.index(reference)].tolist()))
        found = {r: _KINDS[kind] for r, kind in row.items() if kind != INDEPENDENT}
        return {r: "dependent" if initial and kind == "tunable" else kind for r, kind in found.items()}


def _structure(root: ET.Element, variables: Sequence[Variable], on: Dependencies, fmi: str) -> None:
    """Write dependencies: FMI 3 lists references, FMI 2 groups of indices from 1 and no indicators."""
    structure, two = ET.SubElement(root, "ModelStructure"), fmi == "2.0"
    kinds: tuple[str, ...] = ("Output", "ContinuousStateDerivative", "InitialUnknown", "EventIndicator")
    if two:
        kinds = ("Outputs", "Derivatives", "InitialUnknowns")
    for kind, references in zip(kinds, _unknowns(variables)):
        group = ET.SubElement(structure, kind) if two and references else structure
        for reference in references:
            found = on.of(reference, kind.startswith("Initial"))
            if two:
                unknown = ET.SubElement(group, "Unknown", index=str(reference + 1))
            else:
                unknown = ET.SubElement(group, kind, valueReference=str(reference))
            unknown.set("dependencies", " ".join(str(r + two) for r in found))
            unknown.set("dependenciesKind", " ".join(found.values()))
