"""Names of options stand once: signatures, checks and registries agree on them."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any, get_args

import pytest

import pliant
from pliant import options
from pliant.base.signatures import checked
from pliant.control.controllers.task_space import LAWS
from pliant.control.trajectories.input_shaping import SHAPERS
from pliant.drawing.style import FORMATS
from pliant.environments import TASKS
from pliant.export import EXPORTS
from pliant.export.targets.cuda import PRECISIONS
from pliant.integrators import METHODS
from pliant.mechanics import FORMULATIONS
from pliant.mechanics.links.maps.link_maps import ROTATIONS
from pliant.mechanics.shapes.integrals import FIELDS
from pliant.model import EXPRESSIONS, Options
from pliant.scenario import ModelOptions
from pliant.simulation.runs.inputs import KINDS
from pliant.view import FIGURES
from sources import python_files

REGISTRIES = {
    "FormulationName": FORMULATIONS, "RotationName": ROTATIONS, "FunctionName": EXPRESSIONS, "FieldName": FIELDS,
    "MethodName": METHODS, "PrecisionName": PRECISIONS, "Interpolation": KINDS,
    "ShaperName": SHAPERS, "LineLaw": LAWS, "ExportName": EXPORTS, "TaskName": TASKS, "FigureName": FIGURES,
    "FigureFormat": FORMATS,
}  # fmt: skip
"""What has something to offer under each name."""


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_registry_has_every_name(name: str) -> None:
    assert sorted(get_args(getattr(options, name))) == sorted(REGISTRIES[name])


def test_no_set_of_names_stands_twice() -> None:
    """Neither in this module nor spelt out anew elsewhere in the source."""
    sets = {name: get_args(value) for name, value in vars(options).items() if typing.get_origin(value)}
    twice = {frozenset(names) for names in sets.values() if list(sets.values()).count(names) > 1}
    assert not twice
    found = []
    for path in python_files():
        for text in re.findall(r"Literal\[([^\]]*)\]", path.read_text(encoding="utf-8")):
            names = tuple(re.findall(r'"([^"]*)"', text))
            if path.name != "options.py" and any(set(names) == set(known) for known in sets.values()):
                found.append(f"{path.name}: {text}")
    assert found == []


def test_robot_model_has_the_signature_of_model() -> None:
    """Names, order, types and defaults; the options of a saved model and of a scenario have the same defaults."""
    door, model = inspect.signature(pliant.Robot.model), inspect.signature(pliant.Model)
    asked = list(door.parameters.values())[1:]
    assert asked == list(model.parameters.values())[1:]
    defaults = {p.name: p.default for p in asked}
    kept = {name: field.default for name, field in Options.__dataclass_fields__.items()}
    assert defaults == kept | {"stiffening": "auto"}  # of which a model keeps what it took
    assert {name: field.default for name, field in ModelOptions.model_fields.items()}.items() <= defaults.items()


JointsName, RotationName = options.JointsName, options.RotationName


@checked
def chosen(rotation: RotationName = "exact", other: JointsName | int | None = None) -> str:
    return rotation


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rotation": "Exact"}, "rotation: got 'Exact', expected 'exact' or 'linear'; did you mean 'exact'?"),
        ({"rotation": 1}, "rotation: got 1, expected 'exact' or 'linear'"),
        ({"rotation": None}, "rotation: got None, expected 'exact' or 'linear'"),
        ({"rotation": ["exact"]}, "rotation: got ['exact'], expected 'exact' or 'linear'"),
        ({"other": "loose"}, "other: got 'loose', expected 'locked', 'free', a whole number or None"),
    ],
)
def test_a_wrong_name_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(pliant.ModelError, match=f"^{re.escape(message)}$"):
        chosen(**given)


def test_right_names_pass() -> None:
    assert chosen() == "exact"
    assert [chosen("linear", other) for other in ("locked", "free", 3, None)] == ["linear"] * 4


def test_arguments_are_held_inside_what_tells_of_the_work() -> None:
    """A decorator around a function does not hide where its annotations mean something."""
    with pytest.raises(pliant.ModelError, match="result: got 5, expected an object of type Result"):
        pliant.view.plot(5)
