"""JSON schema of the side file of a URDF file: what makes its links bend."""

from __future__ import annotations

from pydantic.json_schema import JsonSchemaValue

from pliant.robot.description import RobotDescription
from pliant.robot.files.urdf import LINK_KEYS, SIDE_KEYS
from pliant.robot.parts.fields import document_schema


def side_schema() -> JsonSchemaValue:
    """Keys of robot files, placed as `pliant.load(urdf, flexible=...)` reads them."""
    whole = document_schema(RobotDescription)
    joint, link = (whole["$defs"][name]["properties"] for name in ("Joint", "Link"))
    known = {**joint, **link, "along": joint["axis"]}
    entry = _mapping({key: known[key] for key in LINK_KEYS})
    links = {
        "type": "object",
        "additionalProperties": entry,
        "description": "by the name that the URDF file gives them",
    }
    own = {**whole["properties"], "links": links}
    return {"$schema": whole["$schema"], "$defs": whole["$defs"], **_mapping({key: own[key] for key in SIDE_KEYS})}


def _mapping(properties: JsonSchemaValue) -> JsonSchemaValue:
    return {"type": "object", "properties": properties, "additionalProperties": False}
