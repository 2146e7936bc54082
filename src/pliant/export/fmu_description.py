"""`modelDescription.xml` of a functional mock-up unit, in FMI 3.0 and 2.0."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from pliant.export.contents import description
from pliant.export.fmu_variables import Variable
from pliant.model import Model
from pliant.version import VERSION

BASE_UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1}, "rad": {"rad": 1}, "m": {"m": 1}, "rad/s": {"rad": 1, "s": -1}, "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2}, "N.m2": {"kg": 1, "m": 3, "s": -2}, "kg": {"kg": 1}, "kg/m": {"kg": 1, "m": -1},
    "kg.m": {"kg": 1, "m": 1}, "kg.m2": {"kg": 1, "m": 2}, "1/m": {"m": -1}, "rad/m": {"rad": 1, "m": -1}, "1": {},
    "1/s": {"s": -1},
}  # fmt: skip
"""Every unit an exported arm may use, in SI base units."""


def description_xml(model: Model, name: str, token: str, variables: Sequence[Variable], fmi: str) -> bytes:
    """The whole file."""
    root = ET.Element("fmiModelDescription", fmiVersion=fmi, modelName=model.robot.name)
    root.set("instantiationToken" if fmi == "3.0" else "guid", token)
    root.set("description", "; ".join(line for line in description(model)[:4] if line))
    root.set("generationTool", f"pliant {VERSION}")
    root.set("variableNamingConvention", "structured")
    if fmi == "2.0":
        root.set("numberOfEventIndicators", "0")
    state = "canGetAndSetFMUState" if fmi == "3.0" else "canGetAndSetFMUstate"
    serial = "canSerializeFMUState" if fmi == "3.0" else "canSerializeFMUstate"
    for kind in ("ModelExchange", "CoSimulation"):
        element = ET.SubElement(root, kind, {"modelIdentifier": name, state: "true", serial: "true"})
        if kind == "CoSimulation":
            element.set("canHandleVariableCommunicationStepSize", "true")
        if fmi == "2.0":
            files = ET.SubElement(element, "SourceFiles")
            ET.SubElement(files, "File", name="model.c")
            ET.SubElement(files, "File", name="fmi2.c")
    _units(root, variables)
    categories = ET.SubElement(root, "LogCategories")
    ET.SubElement(categories, "Category", name="logStatusError", description="Errors")
    ET.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", tolerance="1e-8", stepSize="1e-3")
    listed = ET.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        own = _attributes(reference, variable)
        if fmi == "3.0":
            ET.SubElement(listed, "Float64", own | _values(variable, 0))
        else:
            ET.SubElement(ET.SubElement(listed, "ScalarVariable", own), "Real", _values(variable, 1))
    _structure(root, variables, fmi)
    return _text(root)


def build_description(name: str) -> bytes:
    """`buildDescription.xml` of FMI 3.0: how to compile the sources."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ET.SubElement(root, "BuildConfiguration", modelIdentifier=name)
    files = ET.SubElement(configuration, "SourceFileSet", language="C99")
    for source in ("model.c", "fmi3.c"):
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


def _unknowns(variables: Sequence[Variable]) -> tuple[list[int], list[int], list[int]]:
    """References of outputs, of state derivatives, and of what is calculated at the start."""
    outputs = [r for r, v in enumerate(variables) if v.causality == "output"]
    rates = {v.derivative: r for r, v in enumerate(variables) if v.derivative is not None}
    derivatives = [rates[state] for state in sorted(rates)]
    initial = [r for r, v in enumerate(variables) if v.initial == "calculated"]
    return outputs, derivatives, initial


def _structure(root: ET.Element, variables: Sequence[Variable], fmi: str) -> None:
    """FMI 3 lists references; FMI 2 groups of indices that count from 1."""
    structure = ET.SubElement(root, "ModelStructure")
    kinds = ("Output", "ContinuousStateDerivative", "InitialUnknown")
    if fmi == "2.0":
        kinds = ("Outputs", "Derivatives", "InitialUnknowns")
    for kind, references in zip(kinds, _unknowns(variables)):
        group = ET.SubElement(structure, kind) if fmi == "2.0" and references else structure
        for reference in references:
            if fmi == "2.0":
                ET.SubElement(group, "Unknown", index=str(reference + 1))
            else:
                ET.SubElement(group, kind, valueReference=str(reference))
