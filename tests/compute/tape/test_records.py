"""Records by recipe: what is known of a function without tracing it, and when nothing is believed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.base.content import content
from pliant.compute import Kernel, Recorded, recalled
from pliant.compute.llvm import cache
from pliant.compute.tape import trace_cache as records
from pliant.control import PD

SOURCE = Path(pliant.__file__).parent


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "cache"))
    return cache.location()


def asked(answers: list[Any]) -> Callable[[], Any]:
    return lambda: answers.pop(0)


def test_a_record_is_made_once() -> None:
    answers = [{"n": 3, "values": [0.1, 1e-300]}, "another"]
    first, second = (recalled("recipe", asked(answers)) for _ in range(2))
    assert first == second == {"n": 3, "values": [0.1, 1e-300]}
    assert recalled("another recipe", asked(answers)) == "another"


def test_without_a_recipe_nothing_is_kept(own_cache: Path) -> None:
    answers = [1, 2]
    assert [recalled(None, asked(answers)) for _ in range(2)] == [1, 2]
    assert not own_cache.exists() or not list(own_cache.iterdir())


@pytest.mark.parametrize("changed", ["code", "processor"])
def test_a_record_of_other_code_or_of_another_processor_is_not_believed(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [1, 2]
    recalled("recipe", asked(answers))
    if changed == "code":
        monkeypatch.setattr(records, "code_stamp", lambda: "another")
    else:
        monkeypatch.setattr(records, "machine", lambda: "another")
    assert recalled("recipe", asked(answers)) == 2


def test_nothing_is_kept_where_nothing_is_known_about_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "code_stamp", lambda: None)
    answers = [1, 2]
    assert [recalled("recipe", asked(answers)) for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("damage", [b"", b"{", b"pliant object 1\n" + bytes(32) + b'"planted"'])
def test_a_damaged_record_is_made_again(own_cache: Path, damage: bytes) -> None:
    answers = [1, 2]
    records.code_stamp()
    before = set(own_cache.glob("*.pliant")) if own_cache.exists() else set()
    recalled("recipe", asked(answers))
    (file,) = set(own_cache.glob("*.pliant")) - before
    file.write_bytes(damage)
    assert recalled("recipe", asked(answers)) == 2


def function() -> ca.Function:
    x = ca.SX.sym("x", 3)
    return ca.Function("f", [x], [ca.sin(x) * x[0], x.T], ["state"], ["y", "z"])


def refused() -> Any:
    raise AssertionError("traced")


def test_a_known_function_is_not_traced() -> None:
    x = np.array([0.1, 0.7, -2.0])
    told = Recorded(function, "f", lambda f: {"length": f.n_instructions()})
    y, z = Kernel(told)(x)
    again = Recorded(refused, "f", lambda f: refused())
    assert (again.name, again.in_names, again.in_sizes, again.out_sizes) == (
        "f",
        ("state",),
        [(3, 1)],
        [(3, 1), (1, 3)],
    )
    assert again.remarks == {"length": function().n_instructions()}
    assert again.n_instructions() == told.n_instructions()
    kernel = Kernel(again)
    np.testing.assert_array_equal(kernel(x)[0], y)
    np.testing.assert_array_equal(kernel(x)[1], z)
    np.testing.assert_array_equal(y, np.sin(x) * x[0])
    with pytest.raises(AssertionError, match="traced"):
        _ = kernel.function  # its expressions were asked for


def test_a_known_function_without_object_code_is_traced(own_cache: Path) -> None:
    x = np.array([0.1, 0.7, -2.0])
    assert Recorded(function, "f").n_instructions() > 0
    calls: list[int] = []
    kernel = Kernel(Recorded(lambda: (calls.append(1), function())[1], "f"))
    assert calls == []
    np.testing.assert_array_equal(kernel(x)[0], np.sin(x) * x[0])
    assert calls == [1]
    assert cache.entries() >= 2


def test_what_is_interpreted_is_kept_for_its_recipe(own_cache: Path) -> None:
    x = np.array([0.1, 0.7, -2.0])
    first = Kernel(Recorded(function, "f"), "vm")(x)
    other = Kernel(Recorded(lambda: ca.Function("g", [s := ca.SX.sym("state", 3)], [2 * s]), "g"), "vm")(x)
    again = Kernel(Recorded(refused, "f"), "vm")(x)
    for one, two in zip(first, again):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(Kernel(Recorded(refused, "g"), "vm")(x), other)
    np.testing.assert_array_equal(other, 2 * x)


# ------------------------------------------------------------------------------------------------------ processes

ARM = """
name: arm with everything
gravity: [0.5, 1.0, -9.81]
links:
- name: shoulder
  joint: {axis: [0, 1, 0], friction: {coulomb: 1.5, viscous: 0.3}, limits: {lower: -2.0, upper: 1.9, speed: 3.0}}
  beam: {length: 1.3, mass_per_length: 2.1, EI_z: 900.0, EI_y: 1700.0, GJ: 600.0, polar_inertia: 2.0e-3}
  shapes: {bending_y: 2, bending_z: 1, torsion: 1, damping: 0.01}
- name: elbow
  joint: {axis: [0, 0, 1], drive: {stiffness: 4000.0, damping: 2.0, rotor_inertia: 2.0e-4, gear_ratio: 60.0}}
  beam: {length: 0.7, mass_per_length: 1.2, EI_z: 350.0, EI_y: 500.0}
  shapes: {bending_y: 1, bending_z: 1}
"""
RUN = """
import hashlib, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pliant
result = pliant.simulate(pliant.load(sys.argv[1]).model(), 0.05)
heavy = ("casadi", "scipy", "numba", "matplotlib", "xarray", "pliant.mechanics.links.chain",
         "pliant.mechanics.shapes.builder")
print(hashlib.sha256(result.q.tobytes() + result.qd.tobytes()).hexdigest(), *[m for m in heavy if m in sys.modules])
"""


def run(code: str, *arguments: object, **environment: str) -> list[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("arm", [pytest.param("two-link", marks=pytest.mark.full), "asymmetric"])
def test_a_second_process_traces_nothing_and_gives_the_same_bits(arm: str, tmp_path: Path) -> None:
    if arm == "asymmetric":
        arm = str(tmp_path / "arm.yaml")
        Path(arm).write_text(ARM, encoding="utf-8")
    (bits, *first), second = run(RUN, arm), run(RUN, arm)
    assert "casadi" in first
    assert second == [bits]
    closed = tmp_path / "closed"
    closed.write_text("no folder", encoding="utf-8")
    assert run(RUN, arm, PLIANT_CACHE_DIR=str(closed))[0] == bits  # nothing can be kept


PAGE = """
import sys, warnings
warnings.simplefilter("ignore")
import pliant
from pliant.mechanics.links import section_forces
traced = []
made = section_forces.InternalForces.sections
section_forces.InternalForces.sections = lambda *given: (traced.append(1), made(*given))[1]
run = pliant.simulate(pliant.load(sys.argv[1]).model(), 0.05)
strain = abs(run.strain("shoulder", 0.1, (0.01, 0.0))).max()
print(strain.hex(), len(traced), len(run.validity))
"""


@pytest.mark.slow
def test_a_second_process_traces_no_forces_inside_links(tmp_path: Path) -> None:
    arm = tmp_path / "arm.yaml"
    arm.write_text(ARM, encoding="utf-8")
    (strain, traced, beams), again = run(PAGE, arm), run(PAGE, arm)
    assert int(traced) > 0
    assert again == [strain, "0", beams]


STAMP = "from pliant.compute.tape.trace_cache import code_stamp; print(code_stamp())"


def test_a_change_of_the_source_is_noticed(tmp_path: Path) -> None:
    copied = tmp_path / "source" / "pliant"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))

    def stamp(code: str = STAMP, *arguments: object) -> str:
        time.sleep(0.2)  # a file that is younger than the process, or nearly so, makes it unknown
        (found,) = run(code, *arguments, PYTHONPATH=str(copied.parent))
        return found

    first = stamp()
    assert first == stamp() != "None"
    file = copied / "mechanics" / "formulations" / "generalized_forces.py"
    text = file.read_bytes()
    file.write_bytes(text.replace(b"\n", b"\n\n", 1))
    assert stamp() != first
    file.write_bytes(text)
    assert stamp() == first  # the content counts, not the time
    (copied / "mechanics" / "more.py").write_text("", encoding="utf-8")
    assert stamp() not in (first, "None")
    later = f"import pathlib, sys, pliant; pathlib.Path(sys.argv[1]).touch(); {STAMP}"
    assert stamp(later, file) == "None"  # what runs may be what stood there before


# -------------------------------------------------------------------------------------------------------- content


class OwnPD(PD):
    pass


def test_equal_content_is_equal_text() -> None:
    model = pliant.load("two-link").model(stiffening="off")
    other = pliant.load("two-link").replace({"links.fore.beam.length": 1.25}).model(stiffening="off")
    made = [PD(kp=[1.0, 2.0], kd=[0.1, 0.2], reference=[0.0, 1.0]) for _ in range(2)]
    assert content(made[0], {"a": np.eye(2)}, model) == content(made[1], {"a": np.eye(2)}, model) is not None
    different = [
        (1, 1.0), (0.0, -0.0), ([1, 2], (1, 2)), ("1", 1), (np.eye(2), np.eye(2).ravel()), (None, False),
        (np.ones(2), np.ones(2, dtype=int)), (made[0], PD(kp=[1.0, 2.0], kd=[0.1, 0.25], reference=[0.0, 1.0])),
        (model, other), (model, model.robot.model("lagrange", stiffening="off")), ({"a": 1}, {"b": 1}),
    ]  # fmt: skip
    for one, another in different:
        assert content(one) != content(another), one


def test_what_nobody_can_look_into_has_no_content() -> None:
    endless: list[Any] = []
    endless.append(endless)
    own = OwnPD(kp=[1.0, 2.0], kd=[0.1, 0.2], reference=[0.0, 1.0])
    for value in (lambda t: t, [print], {"a": object()}, ca.SX.sym("x"), endless, own, np.array([object()])):
        assert content(value) is None
