"""Known arms: a second process computes the rest and the run of an arm with the same bits, without building
expressions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import casadi as ca
import pytest

import pliant
from pliant.model.interpreted import interpreted
from pliant.model.loops.assembly import mechanism

DAILY = ("two-link", "lab-arm", "slider-crank", "box-arm")
"""An arm whose functions are compiled, one whose stiffness is interpreted, a mechanism, a body from a file."""
CODE = """
import hashlib, sys, warnings
warnings.simplefilter("ignore")
import pliant
from pliant.compute.llvm import llvm
llvm.LONGEST_OPTIMIZED = 200  # the same bits, compiled sooner
what, *names = sys.argv[1:]
for name in names:
    model = pliant.load(name).model()
    if what == "rest":
        found = model.equilibrium(model.layout.rest()[model.layout.shaft_places()])
    else:
        found = pliant.simulate(model, 0.02).q
    heavy = [m for m in ("casadi", "scipy", "numba", "xarray", "matplotlib") if m in sys.modules]
    print(name, hashlib.sha256(found.tobytes()).hexdigest(), *heavy)
"""


def said(what: str, names: tuple[str, ...]) -> list[list[str]]:
    """For each arm its name, a digest of the result, and heavy libraries that the process has imported by then."""
    command = [sys.executable, "-c", CODE, what, *names]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split() for line in found.splitlines()]


def hold_known(what: str, names: tuple[str, ...]) -> None:
    first, second = said(what, names), said(what, names)
    assert [row[0] for row in second] == list(names)
    assert second == [row[:2] for row in first]  # equal bits, and nothing heavy


def test_the_rest_of_a_known_arm_needs_no_expressions() -> None:
    hold_known("rest", DAILY)


@pytest.mark.full
def test_the_rest_of_every_known_arm_needs_no_expressions() -> None:
    hold_known("rest", tuple(name for name in pliant.robot.arms() if name not in DAILY))


@pytest.mark.full
def test_the_run_of_a_known_mechanism_needs_no_expressions() -> None:
    hold_known("run", ("slider-crank", "hydraulic-crane", "box-arm"))


@pytest.mark.parametrize("name", ["free-flyer", "lab-arm", "rrp", "slider-crank"])
def test_layouts_number_the_joints_as_chains_do(name: str) -> None:
    """Plain data, from which a known arm reads its joints."""
    model = pliant.load(name).model()
    moving = [k for link in model.chain.links for k in link.joint_indices]
    sliding = [shaft.index for shaft in model.chain.all_shafts]
    assert model.layout.joint_speeds == sorted({*moving, *sliding})
    base = model.chain.links[0].joint_indices if model.chain.first else ()
    assert model.layout.base_speeds == list(base)


def test_functions_are_known_by_all_that_they_depend_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))

    def scaled(factor: float, known: str | None) -> float:
        x = ca.SX.sym("x")
        model = pliant.load("two-link").model()  # a new one, which finds no more than the next process would
        kernel = interpreted(model, "scales", lambda: ca.Function("f", [x], [factor * x]), factor, known)
        return float(kernel.interpreted([1.0])[0])

    assert [scaled(2.0, "2"), scaled(3.0, "3"), scaled(2.0, "2")] == [2.0, 3.0, 2.0]
    assert scaled(4.0, "2") == 2.0  # as it is known
    assert [scaled(5.0, None), scaled(6.0, None)] == [5.0, 6.0]


def test_models_of_replaced_numbers_share_the_functions_of_their_loops() -> None:
    first = pliant.load("slider-crank").model()
    other = first.replace({"payload.mass": 2.0})
    shared = other.replace({"payload.mass": 3.0})
    for model in (other, shared):
        model.assemble()
    by, again = (mechanism(model, model.nominal_parameters) for model in (other, shared))
    assert by.names == again.names == mechanism(first, first.nominal_parameters).names
    assert shared.first.derived.count("loops") == 1
