"""The reference: every key of every file has its words, unit and example, stands on the page of keys and in `help`, and
is in the JSON schema with which editors complete it."""

from __future__ import annotations

import inspect
import json
import re
import runpy
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel, TypeAdapter

import pliant
from bodies import random_body
from pliant.cli.schema import DOCUMENTS, schema_of
from pliant.options import SectionShape
from pliant.robot.description import RobotDescription
from pliant.robot.files.yaml import read_yaml
from pliant.robot.parts.fields import Description, Document
from pliant.robot.parts.keys import Key, documented, keys, parts, prose, written
from pliant.scenario import REGISTRY, Part
from pliant.simulation.scenario.parts import part_keys
from sources import ROOT

PAGE = runpy.run_path(str(ROOT / "docs" / "hooks" / "keys.py"))["page"]()
UNITLESS = {
    "Beam.pieces", "Drive.gear_ratio", "Joint.axis", "JointAxis.axis", "LoopJoint.axis", "LoopJoint.axes",
    "Shapes.bending_y",
    "Shapes.bending_z", "Shapes.torsion", "Shapes.axial", "Shapes.damping", "Shapes.damping_per_amplitude",
    "Shapes.rayleigh", "Shapes.count", "Scenario.max_steps",
    "Shapes.reduce", "Shapes.accuracy", "Scenario.rtol", "Scenario.atol", "Sample.count", "Sample.seed", "Axis.count",
    "Axis.values", "Axis.from", "Axis.to", "Axis.mean", "Axis.deviation", "Link.at", "Frame.at", "UnknownChoice.start",
    "UnknownChoice.bounds", "UnknownChoice.prior", "MeasuredRun.noise", "IdentificationStudy.loss_scale",
    "IdentificationStudy.restarts",
    "IdentificationStudy.rtol", "IdentificationStudy.atol",
    "Drive.efficiency", "Drive.table", "Friction.stribeck_exponent", "GearError.cycles", "Hysteresis.exponent",
    "Hysteresis.fraction", "Hysteresis.loading", "Motor.efficiency", "Motor.offset", "Restitution.value",
    "Contact.exponent", "Contact.friction", "Contact.stiffness", "Visual.scale", "Visual.color",
    "MeasuredRun.calibration", "MotionColumn.order", "MotionColumn.window", "RecordingFile.calibration",
    "RecordingFile.noise",
    "RecordingFile.rtol", "RecordingFile.atol",
    "ImportedBody.damping", "ImportedBody.modes", "ImportedBody.rayleigh",
}  # fmt: skip
"""Counts, ratios, directions, places, pairs of two units, and numbers in the unit of what they vary or fit."""


def descriptions(base: type[Description] = Description) -> list[type[Description]]:
    """All that pliant has; tests make some of their own."""
    own = [one for one in base.__subclasses__() if one.__module__.startswith("pliant")]
    return [*own, *(found for one in own for found in descriptions(one))]


TOLD = [one for one in descriptions() if one not in (Document, Part, RobotDescription)]
KEYS = {f"{part.__name__}.{key.name}": (part, key) for part in TOLD for key in keys(part)}


def section(part: type[BaseModel]) -> str:
    """What the page says of a part."""
    return re.split(r"\n##+ ", PAGE.partition(f"\n### {part.__name__}\n")[2])[0]


def test_the_page_has_every_part_and_every_key() -> None:
    """Of every file that pliant reads, also of one that is added."""
    documents = {one for one in descriptions() if issubclass(one, Document)}
    assert documents == {
        Document,
        RobotDescription,
        *DOCUMENTS.values(),
    }
    missing = [name for name, (part, key) in KEYS.items() if f"| `{key.name}` | " not in section(part)]
    assert missing == []
    assert len(KEYS) > 190, "the list of keys has shrunk: are all files read?"


def test_every_key_has_words_and_an_example() -> None:
    assert [name for name, (_, key) in KEYS.items() if not key.text or key.example is None] == []


def test_numbers_have_units() -> None:
    numbers = {name for name, (_, key) in KEYS.items() if re.search(r"(number|angle)(?!`)", key.admits)}
    assert {name for name in numbers if not KEYS[name][1].unit} == UNITLESS


@pytest.mark.parametrize("part", TOLD, ids=lambda part: part.__name__)
def test_examples_may_stand_in_a_file(part: type[Description], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As their fields read them, and as an editor does; bodies are read from where they stand."""
    if part is pliant.Link:
        random_body(np.random.default_rng(0)).save(tmp_path / "forearm.npz")
        monkeypatch.chdir(tmp_path)
    jsonschema = pytest.importorskip("jsonschema", reason="check-jsonschema brings it (the dev extra)")
    whole = part.model_json_schema()
    fields = {field.alias or name: field for name, field in part.model_fields.items()}
    for key in keys(part):
        field = fields[key.name]
        TypeAdapter(Annotated[field.annotation, *field.metadata, None]).validate_python(key.example)
        own = {**whole["properties"][key.name], "$defs": whole.get("$defs", {})}
        assert jsonschema.Draft202012Validator(own).is_valid(key.example), key.name


FILES = [
    *(("robot", path) for path in sorted((ROOT / "src" / "pliant" / "robot" / "arms").glob("*.yaml"))),
    *(("scenario", path) for path in sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))),
]


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda given: getattr(given, "stem", given))
def test_editors_accept_sound_files_and_see_mistakes(kind: Any, path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="check-jsonschema brings it (the dev extra)")
    data, _ = read_yaml(path.read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator(schema_of(kind))
    check.validate(data)
    assert not check.is_valid({**data, "lnks": 1})


@pytest.mark.parametrize(
    ("kind", "sound", "wrong"),
    [
        ("robot", {"links": [{"name": "a", "shapes": "auto", "beam": {"slides": True, "total_length": 1.3}}]},
         {"links": [{"name": "a", "beam": {"length": 0}}]}),
        ("robot", {"links": [{"name": "a", "joint": {"axes": [[0, 0, 1], {"axis": [0, 1, 0]}]}}]},
         {"links": [{"name": "a", "joint": {"type": "hinge"}}]}),
        ("side", {"links": {"arm": {"beam": {"EI_y": 10, "EI_z": 10}, "shapes": "auto", "along": [0, 0, 1]}}},
         {"links": {"arm": {"beem": {}}}}),
        ("scenario", {"motion": {"a": {"type": "cycloidal", "from": 0, "to": "90 deg", "duration": 2}}},
         {"motion": {"a": {"type": "cycloidal", "from": 0, "to": 1, "durration": 2}}}),
        ("scenario", {"torque": {"times": [0, 1], "values": {"a": [0, 1]}}, "robot": {"urdf": "a.urdf"}},
         {"robot": {"urdf": 3}}),
        ("sweep", {"vary": {"payload.mass": [1, 2]}, "scenario": "a.yaml", "metrics": "energy"}, {"metrics": "enrgy"}),
        ("identification", {"parameters": ["payload.mass"], "robot": "arm.yaml"}, {"parameters": {"payload.mass": 3}}),
    ],
)  # fmt: skip
def test_other_forms_are_known_to_editors(kind: Any, sound: dict[str, Any], wrong: dict[str, Any]) -> None:
    """Short forms that a file may use, and mistakes beside them."""
    jsonschema = pytest.importorskip("jsonschema", reason="check-jsonschema brings it (the dev extra)")
    schema = {**schema_of(kind), "required": []}
    check = jsonschema.Draft202012Validator(schema)
    check.validate(sound)
    assert not check.is_valid(wrong)


def test_parts_of_scenarios_have_words_and_stand_on_the_page() -> None:
    for kind, makers in REGISTRY.items():
        own = re.split(r"\n##+ ", PAGE.partition(f"\n### {kind.capitalize()} by type\n")[2])[0]
        for name, maker in makers.items():
            assert f"| `{name}` | " in own, name
            for key, (said, _) in part_keys(maker, kind).items():
                assert f"| `{key}` | " in own, f"{name}.{key}"
                assert said, f"{name}.{key}: its docstring does not say what it is"


def test_materials_and_sections_are_listed() -> None:
    names = [*pliant.robot.MATERIALS, *get_args(SectionShape)]
    assert [name for name in names if f"| `{name}` | " not in PAGE] == []
    assert f"| `steel` | {210e9:g} | {80.8e9:g} | 7850 |" in PAGE


# ------------------------------------------------------------------------------------------------------------ in Python


@pytest.mark.parametrize("part", TOLD, ids=lambda part: part.__name__)
def test_help_shows_the_fields(part: type[Description]) -> None:
    """Names and defaults in the signature, kinds and units in the docstring, and nothing of the library beneath."""
    signature = inspect.signature(part)
    assert list(signature.parameters) == [name for name, field in part.model_fields.items() if not field.exclude]
    assert not re.search("Annotated|Validator|pydantic", str(signature))
    said = documented(part)
    assert list(said) == [key.name for key in keys(part)]
    assert all(key.unit in said[key.name] and key.text.split()[0] in said[key.name] for key in keys(part))
    assert ">>>" not in prose(part)


def test_a_key_in_words() -> None:
    """What is read off a field: unit, words, range, default; and what a beam's docstring makes of it."""
    found = {key.name: key for key in keys(pliant.robot.Drive)}
    assert found["stiffness"].unit == "N m/rad (N/m)"
    assert (found["gear_ratio"].unit, found["gear_ratio"].admits, found["gear_ratio"].default) == (
        "",
        "number > 0",
        1.0,
    )
    shapes = {key.name: key.admits for key in keys(pliant.Shapes)}
    assert shapes["accuracy"] == "number from 0.001 to 0.2"
    assert shapes["tip_load"] == "TipLoad or `auto`, `track`"
    assert {key.name: key for key in keys(pliant.Link)}["name"].default is ...
    assert "\nlength : number > 0\n    m, " in pliant.Beam.__doc__
    assert "\nshear : true or false, default false\n" in pliant.Beam.__doc__
    assert pliant.robot.BeamStation in parts(pliant.Robot)
    assert isinstance(found["damping"], Key)


@pytest.mark.parametrize(
    ("value", "text"),
    [(..., ""), (None, ""), (True, "true"), (0.0, "0"), (1e-10, "1e-10"), (7e10, "7e10"), ((0, 1.5), "[0, 1.5]"),
     ({"a": [1]}, "{a: [1]}"), (pliant.robot.Origin(), "{}"), ("pi/2", "pi/2")],
)  # fmt: skip
def test_values_are_written_as_in_files(value: Any, text: str) -> None:
    assert written(value) == text


def test_dir_has_all_that_the_pages_name() -> None:
    """What a reader may type after `pliant.` is completed: all names of README, tutorial, how-tos and examples."""
    pages = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in (*pages, *(ROOT / "examples").glob("*.py")))
    named = set(re.findall(r"(?<![\w.])(?<!from )pliant\.([A-Za-z_]+)", text))
    assert named - {*dir(pliant), *pliant._LEARNERS} == set()


def test_the_command_writes_a_schema_and_says_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from pliant.cli import app

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["schema", "robot", "--out", "robot.schema.json"])
    assert done.exit_code == 0
    assert done.stdout == "# yaml-language-server: $schema=robot.schema.json\n"
    assert json.loads((tmp_path / "robot.schema.json").read_text(encoding="utf-8")) == schema_of("robot")
    assert json.loads(CliRunner().invoke(app, ["schema", "side"]).stdout) == schema_of("side")
    page = (ROOT / "docs" / "how-to" / "describe.md").read_text(encoding="utf-8")
    assert done.stdout in page
    described = schema_of("robot")["$defs"]["Beam"]
    assert "Examples" not in described["description"]
    assert described["properties"]["length"]["examples"] == [1.2]
