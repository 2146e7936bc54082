"""Exports of an arm whose speeds are not the rates of its coordinates: a satellite with a spherical joint."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest

import pliant
from exported import assert_close, build, call, expected, imported, inputs, needs_compiler
from free_flyer import satellite
from mock_up import VERSIONS, Unit
from pliant.errors import UnsupportedModel
from pliant.export import export
from pliant.export.contents import function, usual
from pliant.export.typical_states import reference_states
from pliant.model import Model, read_state
from pliant.model.coordinate_units import coordinate_units, speed_units

FEW = ("forward_dynamics", "tip_pose", "jacobian", "rates")


@cache
def flyer() -> Model:
    return satellite().model(stiffening="off")


def wanted(name: str, values: list[np.ndarray]) -> list[np.ndarray]:
    """What the model itself gives; rates from its own chain."""
    if name != "rates":
        return expected(flyer(), name, values)
    q, qd = ca.SX.sym("q", flyer().n_q), ca.SX.sym("qd", flyer().n)
    return [np.array(ca.Function("rates", [q, qd], [flyer().chain.rates(q, qd)])(*values)).ravel()]


def test_units_of_coordinates_and_speeds() -> None:
    """Quaternions have none; their speeds are angular ones first."""
    m = flyer()
    q, v = dict(zip(m.coordinates, coordinate_units(m))), dict(zip(m.speeds, speed_units(m)))
    assert [q[f"base.{x}"] for x in ("x", "z", "qw", "qz")] == ["m", "m", "1", "1"]
    assert [v[f"base.{x}"] for x in ("wx", "wz", "vx", "vz")] == ["rad/s", "rad/s", "m/s", "m/s"]
    assert (q["upper.qx"], v["upper.wy"]) == ("1", "rad/s")
    assert (q["fore"], q["fore.motor"], v["fore.motor"]) == ("rad", "rad", "rad/s")
    assert (q["panel.torsion.1"], v["panel.bending_y.1"]) == ("rad", "m/s")


def test_rates_are_written_where_they_are_needed() -> None:
    assert "rates" in usual(flyer())
    assert "rates" not in usual(pliant.load("two-link").model())


@needs_compiler
def test_c_reproduces_the_model(tmp_path: Path) -> None:
    """And the folder's own test passes."""
    m = flyer()
    folder = export(m, "c", tmp_path / "out", functions=FEW)
    library, states = build(folder, m), reference_states(m, count=2, seed=7)
    assert np.linalg.norm(states["q"][:, 3:7], axis=1) == pytest.approx(1.0)
    for f in FEW:
        for k in range(2):
            values = [x[k] for x in inputs(m, f, states)]
            for found, right in zip(call(library, m, f, values), wanted(f, values)):
                assert_close(found, right, 1e-11)
    assert f"#define SATELLITE_N_Q {m.n_q}\n" in (folder / "satellite.h").read_text()
    assert "q[3] = 1.0;" in (folder / "README.md").read_text()
    done = subprocess.run(["make", "check", "CFLAGS=-O0 -std=c99"], cwd=folder, capture_output=True, text=True)
    assert "all values right" in done.stdout


@pytest.mark.slow
def test_python_and_casadi_reproduce_the_model(tmp_path: Path) -> None:
    m, states = flyer(), reference_states(flyer(), count=2, seed=3)
    module = imported(export(m, "python", tmp_path / "p", functions=FEW) / "satellite.py")
    assert m.speeds == module.SPEEDS
    folder = export(m, "casadi", tmp_path / "c", functions=FEW)
    about = json.loads((folder / "model.json").read_text())
    assert about["speed_units"] == list(speed_units(m))
    for f in FEW:
        values = [x[0] for x in inputs(m, f, states)]
        (right,) = wanted(f, values)
        assert_close(getattr(module, f)(*values), right, 1e-11)
        loaded = np.array(ca.Function.load(str(folder / f"{f}.casadi"))(*values))
        assert_close(loaded.reshape(right.shape), right, 1e-11)


def test_latex_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=r"latex: base has a quaternion.*export C or Python"):
        export(flyer(), "latex", tmp_path / "out")


# ---------------------------------------------------------------------------------------------------------------- units


START = {
    "base": {"position": [0.3, -0.1, 0.2], "rpy": [0.4, -0.2, 1.1]},
    "upper": {"rpy": [0.1, 0.5, -0.3]},
    "fore": 0.4,
}
MOVING = {
    "base": {"angular": [0.2, -0.1, 0.3], "linear": [0.1, 0.0, -0.2]},
    "upper.wy": 0.6,
    "fore": -0.5,
    "wheel": 4.0,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The unit in a version of the standard, compiled quickly."""
    folder, options = tmp_path_factory.mktemp("flying"), {"q0": START, "qd0": MOVING, "compilers": ["cc -O0"]}
    return cache(lambda version: export(flyer(), "fmu", folder / f"arm{version[0]}", fmi=version, **options))


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_unit_flies_as_the_run(version: str, written: Callable[[str], Path], tmp_path: Path) -> None:
    """Co-simulation over a fifth of a second ends where `simulate` does."""
    fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
    from fmpy.validation import validate_fmu

    m, unit = flyer(), Unit(written(version), tmp_path)
    assert validate_fmu(str(written(version))) == []
    names = [f"base.{x}" for x in ("x", "y", "z", "qw", "qx", "qy", "qz")] + ["speed.base.wx", "speed.fore", "tip.x"]
    found = fmpy.simulate_fmu(
        str(unit.folder), fmi_type="CoSimulation", stop_time=0.2, step_size=0.1, output_interval=0.1, output=names,
        relative_tolerance=1e-10, fmu_instance=unit.loaded("slave"),
    )  # fmt: skip
    start = read_state(m, START), read_state(m, MOVING, "qd0")
    run = pliant.simulate(m, 0.2, *start, rtol=1e-11, atol=1e-13)
    last = np.array([found[name][-1] for name in names])
    right = [*run.q[-1, :7], run.qd[-1, m.speed_index("base.wx")], run.qd[-1, m.speed_index("fore")], run.tip[-1, 0]]
    np.testing.assert_allclose(last, right, atol=2e-7)
    assert np.abs(last[:7] - start[0][:7]).max() > 0.01


@pytest.mark.slow
@needs_compiler
def test_states_of_a_unit_have_their_derivatives_in_order(written: Callable[[str], Path]) -> None:
    """The list of derivatives names the rate of each state, first those of the coordinates."""
    m = flyer()
    with zipfile.ZipFile(written("2.0")) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    variables = list(root.iter("ScalarVariable"))  # indices count from 1
    listed = [variables[int(d.get("index", "")) - 1] for d in root.find("ModelStructure/Derivatives")]
    places = [int(v.find("Real").get("derivative", "")) - 1 for v in listed]
    assert places == list(range(1, 1 + m.n_q + m.n))
    assert listed[3].get("name") == "der(base.qw)"
    assert listed[m.n_q].get("name") == "der(speed.base.wx)"
    assert float(variables[4].find("Real").get("start", "")) == pytest.approx(read_state(m, START)[3])


@pytest.mark.slow_cases("2.0")
@needs_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_derivatives_of_a_unit_with_quaternions(
    version: str, written: Callable[[str], Path], tmp_path: Path, rng: np.random.Generator
) -> None:
    """By all numbers of the state, those of quaternions too: differences of the rates, and the transpose."""
    pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
    m, unit = flyer(), Unit(written(version), tmp_path)
    size = m.n_q + m.n
    known, unknown = list(range(1, 1 + size)), [u.variable.valueReference for u in unit.description.derivatives]
    x, d = np.concatenate([read_state(m, START), read_state(m, MOVING, "qd0")]), rng.normal(size=size)
    with unit.instance("model") as running:
        # Richardson's differences: error h^4, and round-off over h
        rough, fine = (
            (unit.rates(running, x + h * d) - unit.rates(running, x - h * d)) / (2 * h) for h in (4e-4, 2e-4)
        )
        unit.rates(running, x)
        found = np.array(running.getDirectionalDerivative(unknown, known, d.tolist()))
        expected = (4 * fine - rough) / 3
        assert np.abs(found - expected)[: m.n_q].max() < 1e-8
        assert np.abs(found - expected).max() < 1e-7 * np.abs(expected).max()
        if version == "3.0":
            w = rng.normal(size=size)
            back = np.array(running.getAdjointDerivative(unknown, known, w.tolist(), size))
            assert back @ d == pytest.approx(w @ found, rel=1e-10)


# ----------------------------------------------------------------------------------------------------------------- CUDA


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(flyer(), "cuda", tmp_path_factory.mktemp("cuda") / "out", functions=["forward_dynamics"])


@pytest.mark.slow
def test_cuda_reference_is_a_run(cuda: Path) -> None:
    """What the exported program compares with: x has n_q + n rows, and ten steps end where `simulate` does."""
    m = flyer()
    numbers = json.loads((cuda / "reference.json").read_text())
    x, end = np.array(numbers["x"]), np.array(numbers["x_end"])
    assert x.shape[1] == m.n_q + m.n
    run = pliant.simulate(
        m, 10 * numbers["h"], q0=x[0, : m.n_q], qd0=x[0, m.n_q :], torque=np.array(numbers["tau"][0]), rtol=1e-12,
        atol=1e-14,
    )  # fmt: skip
    # steps of a tenth of the shortest time: ten errors of 0.1^5 / 120
    np.testing.assert_allclose(end[0], [*run.q[-1], *run.qd[-1]], rtol=0.0, atol=1e-6 * np.abs(end[0]).max())
    header = (cuda / "satellite.cuh").read_text()
    assert f"n = {m.n}, n_q = {m.n_q}" in header
    assert "rates(at, rate, moved);" in header


STEP = r"""
#include "satellite.cuh"
#include <cstdio>
int main()
{
    double q[] = {%s}, qd[] = {%s};
    const double given[] = {%s};
    for (int k = 0; k < %d; ++k)
        satellite::rk4_step(0.0, %s, q, qd, [&](double, const double *, const double *, double *tau) {
            for (int j = 0; j < satellite::n_joints; ++j) tau[j] = given[j];
        });
    for (int j = 0; j < satellite::n_q; ++j) std::printf("%%.17g\n", q[j]);
    for (int j = 0; j < satellite::n; ++j) std::printf("%%.17g\n", qd[j]);
}
"""


@needs_compiler
def test_cuda_step_on_the_processor(cuda: Path) -> None:
    """The header's step, compiled for the processor, ends where the reference does."""
    m = flyer()
    numbers = json.loads((cuda / "reference.json").read_text())
    x = numbers["x"][0]
    words = [", ".join(map(repr, part)) for part in (x[: m.n_q], x[m.n_q :], numbers["tau"][0])]
    (cuda / "step.cpp").write_text(STEP % (*words, numbers["steps"], repr(numbers["h"])))
    subprocess.run(["c++", "-std=c++17", "-O0", "step.cpp", "-o", "step"], cwd=cuda, check=True)
    done = subprocess.run([str(cuda / "step")], capture_output=True, text=True, check=True)
    end = np.array([float(line) for line in done.stdout.split()])
    assert_close(end, np.array(numbers["x_end"][0]), 1e-11)


def test_linearisation_is_the_models() -> None:
    """In small displacements along the speeds, with the axes that carry them along."""
    m = flyer()
    states = [reference_states(m)[x][0] for x in ("q", "qd", "tau")]
    A, B = (np.array(x) for x in function(m, "linearize")(*states))
    space = m.linearize(*states)
    assert_close(A, space.A, 1e-11)
    assert_close(B, space.B, 1e-11)
    assert np.abs(A[: m.n, : m.n]).max() > 0.1
