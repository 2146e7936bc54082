"""Makes the page of all keys from the descriptions themselves: a key that a file may have is on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel

from pliant.identification.study_file import IdentificationStudy, MotionColumn
from pliant.options import SectionShape
from pliant.robot import MATERIALS, Robot
from pliant.robot.files.urdf import LINK_KEYS, SIDE_KEYS
from pliant.robot.parts.cross_sections.section_shapes import section_shape
from pliant.robot.parts.keys import Key, keys, parts, prose, written
from pliant.scenario import REGISTRY, Part, Scenario
from pliant.simulation.scenario.parts import part_keys
from pliant.simulation.scenario.robots import UrdfRobot
from pliant.sweeps import METRICS, SweepStudy
from pliant.validation.recording_file import RecordingFile

HEAD = """# Keys of all files

Every key that a file may have, made from the code that reads them. The constructors in Python have the same names:
`pliant.Beam(length=1.2, ...)` is `beam: {length: 1.2, ...}`. SI units and radians; where two units stand, the one in
brackets is that of a joint that slides. A key that is not *required* may be left out. An *angle* is a number or text
such as `pi/2` and `90 deg`.

`help(pliant.Beam)` shows the same in Python. Editors show it as you type: [how](how-to/describe.md#let-an-editor-help).
"""
DOCUMENTS: dict[str, tuple[type[BaseModel], str]] = {
    "Robot files": (Robot, "What `pliant.load` reads: [Describe an arm](how-to/describe.md)."),
    "Scenario files": (Scenario, "What `pliant simulate` runs: [Write a scenario file](how-to/scenario.md)."),
    "Study files of sweeps": (SweepStudy, "What `pliant sweep` runs: [Sweeps](sweeps.md)."),
    "Study files of identification": (
        IdentificationStudy, "What `pliant identify` fits: [Fit to measurements](identification.md)."
    ),
    "Recording files": (
        RecordingFile, "What `pliant validate` holds against an arm: [From a rig to a model](how-to/rig.md)."
    ),
}  # fmt: skip
READ_BY_HAND: dict[type[BaseModel], tuple[type[BaseModel], ...]] = {
    Scenario: (UrdfRobot,), IdentificationStudy: (MotionColumn,)
}  # fmt: skip
"""Parts that a file may have in place of something else, which no field names."""


def on_files(files: Any, config: Any) -> Any:
    """Adds keys.md to the pages."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "keys.md", content=page()))
    return files


def page() -> str:
    """Files one after the other; a part that two of them have stands at the first."""
    text, told = HEAD, [Part]
    for title, (document, words) in DOCUMENTS.items():
        own = [part for part in (*parts(document), *READ_BY_HAND.get(document, ())) if part not in told]
        told += own
        text += f"\n## {title}\n\n{words}\n" + "".join(map(_part, own))
        text += {Robot: _robots, Scenario: _scenarios, SweepStudy: _sweeps}.get(document, str)()
    return _linked(text, [part.__name__ for part in told if part is not Part])


def _part(part: type[BaseModel]) -> str:
    rows = ((f"`{key.name}`", key.text, key.unit, _values(key), _code(written(key.example))) for key in keys(part))
    return f"\n### {part.__name__}\n\n{prose(part)}\n\n" + _table("key what unit values example", rows)


def _values(key: Key) -> str:
    if key.default is ...:
        return f"{key.admits}; **required**"
    return key.admits + (f"; default `{default}`" if (default := written(key.default)) else "")


def _robots() -> str:
    materials = ((f"`{name}`", f"{m.E:g}", f"{m.G:g}", f"{m.density:g}") for name, m in MATERIALS.items())
    sections = ((f"`{name}`", _names(section_shape(name).dimensions)) for name in get_args(SectionShape))
    return f"""
### Materials by name

E and G in Pa, density in kg/m^3.

{_table("name E G density", materials)}
### Sections by shape

{_table("shape keys", sections)}
### Side files of URDF

The file of `flexible=`, beside a URDF file: [how](how-to/urdf.md). Its keys are {_names(SIDE_KEYS)}; `links` maps
names of links to {_names(LINK_KEYS)}. All are those of a robot file, but for `along`: the direction of the beam in the
axes of the URDF link, three numbers, by default towards the next joint.
"""


def _scenarios() -> str:
    return "".join(
        f"\n### {kind.capitalize()} by type\n\n" + _table("type key default what", _part_rows(kind))
        for kind in REGISTRY
    )


def _part_rows(kind: Any) -> Iterable[Iterable[str]]:
    for name, maker in REGISTRY[kind].items():
        for k, (key, (said, default)) in enumerate(part_keys(maker, kind).items()):
            shown = "required" if default is ... else _code(written(default))
            yield f"`{name}`" if k == 0 else "", f"`{key}`", shown, said


def _sweeps() -> str:
    first = {name: " ".join((metric.__doc__ or "").split("\n\n")[0].split()) for name, metric in METRICS.items()}
    return "\n### Metrics by name\n\n" + _table("name what", ((f"`{name}`", words) for name, words in first.items()))


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    lines = [head.split(), ["---"] * len(head.split()), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _linked(text: str, names: list[str]) -> str:
    """Names of parts among the values of a key lead to them."""
    link = re.compile(rf"\b({'|'.join(names)})\b")

    def row(line: str) -> str:
        cells = line.split(" | ")
        if len(cells) == 5:
            cells[3] = link.sub(lambda match: f"[{match[1]}](#{match[1].lower()})", cells[3])
        return " | ".join(cells)

    return "\n".join(map(row, text.split("\n")))
