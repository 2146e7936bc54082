"""What is saved is what is loaded, for any robot."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import HealthCheck, given, settings

from pliant.model.robot import parse
from pliant.robot import Robot, arms, load
from pliant.robot.files.yaml import write_yaml
from strategies import robots

few = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def _same(a: Robot, b: Robot) -> None:
    assert a == b
    assert hash(a) == hash(b)
    assert a.digest() == b.digest()
    assert a.paths() == b.paths()


@few
@given(robots())
def test_text_round_trip(robot: Robot) -> None:
    text = write_yaml(robot.to_dict())
    assert text.startswith("format: 1\n")
    _same(parse(text), robot)


@few
@given(robots())
def test_dict_json_pickle_and_copy(robot: Robot) -> None:
    _same(Robot.from_dict(json.loads(json.dumps(robot.to_dict()))), robot)
    _same(pickle.loads(pickle.dumps(robot)), robot)
    _same(copy.deepcopy(robot), robot)
    _same(robot.replace({}), robot)


@few
@given(robots())
def test_every_number_has_a_path_that_replaces_it(robot: Robot) -> None:
    paths = robot.paths()
    name = next(path for path in paths if path.endswith("tip.mass"))
    changed = robot.replace({name: paths[name] + 1.0})
    assert changed.paths() == {**paths, name: paths[name] + 1.0}
    assert changed != robot
    assert changed.digest() != robot.digest()


@pytest.mark.full
@pytest.mark.random
@settings(max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(robots())
def test_text_round_trip_many(robot: Robot) -> None:
    _same(parse(write_yaml(robot.to_dict())), robot)


@pytest.mark.parametrize("name", arms())
def test_bundled_arms_through_a_file(name: str, tmp_path) -> None:
    robot = load(name)
    robot.save(tmp_path / "arm.yaml")
    _same(load(tmp_path / "arm.yaml"), robot)


def test_digest_is_the_same_on_every_machine() -> None:
    """A fixed value: a change of it would orphan every stored result and cache."""
    robot = Robot(name="a", links=[{"name": "b", "rigid": {"mass": 1}}])
    assert (
        robot.digest() == Robot(name="a", links=[{"name": "b", "rigid": {"mass": 1.0, "com": [0, -0.0, 0]}}]).digest()
    )
    assert robot.digest() == "f8076a92cd74c138fb33008eb993bd7fe4e9455fe1677c476646f7279fcb404e"
