"""Exported CUDA, compiled as C++ for this processor, reproduces the model; its host code and loader do as they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pliant
from cuda_shim import COMPILER, SHIM, FakeCupy
from exported import ROUND_OFF, assert_close, expected, imported, inputs, model
from pliant.compute.cuda.forms import CudaForm
from pliant.errors import ModelError, UnsupportedModel
from pliant.export import export
from pliant.export.contents import FUNCTIONS, export_name, usual
from pliant.export.targets.cuda import TOLERANCES, stepping
from pliant.export.typical_states import reference_states
from pliant.model import Model

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
# 2^-24 a rounding, some hundred of them, and sums that cancel a digit or two.
SINGLE = 1e-4
FEW = ["mass_matrix"]

RUNTIME = """
#include <cmath>
#include <cstdlib>
#include <cstring>
typedef int cudaError_t; typedef int cudaStream_t; typedef int cudaEvent_t;
enum { cudaSuccess, cudaFuncAttributeMaxDynamicSharedMemorySize, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
template <class F> int cudaFuncSetAttribute(F, int, int) { return 0; }
inline int cudaGetLastError() { return 0; }
inline int cudaMalloc(void **p, size_t size) { *p = std::malloc(size); return 0; }
inline int cudaFree(void *p) { std::free(p); return 0; }
inline int cudaMemcpy(void *to, const void *from, size_t size, int) { std::memcpy(to, from, size); return 0; }
inline int cudaEventCreate(int *e) { *e = 0; return 0; }
inline int cudaEventRecord(int, int) { return 0; }
inline int cudaEventSynchronize(int) { return 0; }
inline int cudaEventElapsedTime(float *ms, int, int) { *ms = 1; return 0; }
inline const char *cudaGetErrorString(int) { return ""; }
"""
"""What the host code calls of CUDA's runtime, on this processor."""


def loaded(folder: Path, m: Model, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The exported loader with this processor in the place of a GPU."""
    cupy = ModuleType("cupy")
    cupy.__getattr__ = FakeCupy().__getattr__  # type: ignore[method-assign]
    cupy.RawModule = FakeCupy.RawModule  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return imported(folder / f"load_{export_name(m)}.py")


def integrated(m: Model, x: np.ndarray, tau: np.ndarray, h: float, steps: int, p: np.ndarray | None) -> np.ndarray:
    """Classical steps on the model itself."""
    given = {} if p is None else {"p": p}

    def rates(x: np.ndarray) -> np.ndarray:
        return np.hstack([x[:, m.n :], m.forward_dynamics(x[:, : m.n], x[:, m.n :], tau, **given)])

    for _ in range(steps):
        k1 = rates(x)
        k2 = rates(x + h / 2 * k1)
        k3 = rates(x + h / 2 * k2)
        k4 = rates(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def states(m: Model, arms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Other states than those inside the export."""
    given = reference_states(m, count=arms, seed=7)
    return np.hstack([given["q"], given["qd"]]), given["tau"], given["p"] if m.parameters else None


@pytest.mark.slow_cases("parameters-single-0.0001")
@needs_compiler
@pytest.mark.parametrize(
    ("name", "precision", "tolerance"),
    [
        ("parameters", "double", ROUND_OFF),
        ("parameters", "single", SINGLE),
        pytest.param("puma", "double", ROUND_OFF, marks=pytest.mark.full),
        pytest.param("puma", "single", SINGLE, marks=pytest.mark.full),
    ],
)
def test_kernels_reproduce_the_model(
    name: str, precision: str, tolerance: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = model(name)
    arm = loaded(export(m, "cuda", tmp_path / "out", functions=FEW), m, monkeypatch).load(precision)
    x, tau, p = states(m, 130)  # more than a block
    wanted = m.forward_dynamics(x[:, : m.n], x[:, m.n :], tau, **({} if p is None else {"p": p}))
    assert_close(arm.accelerations(x, tau, p), wanted, tolerance)
    end = integrated(m, x, tau, 1e-4, 3, p)
    assert np.abs(end - x).max() > 1e-3 * np.abs(x).max()
    assert_close(arm.march(x, tau, 1e-4, 3, p), end, tolerance)
    shared = arm.march(x, tau[0], 1e-4, 3)  # one torque and the nominal parameters for all
    nominal = None if p is None else np.tile(m.nominal_parameters, (130, 1))
    assert_close(shared, integrated(m, x, np.tile(tau[0], (130, 1)), 1e-4, 3, nominal), tolerance)
    with pytest.raises(ValueError, match="tau: got shape"):
        arm.march(x, tau[:, :1], 1e-4, 3, p)


@needs_compiler
def test_values_in_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long equations are held in one kernel, however little shared memory they may use."""
    monkeypatch.setattr("pliant.export.targets.cuda.choose", lambda *_: CudaForm("chunks", 2, 100))
    arm = loaded(export(model("puma"), "cuda", tmp_path / "out", functions=FEW), model("puma"), monkeypatch).load()
    assert arm.shared > 0
    x, tau, _ = states(model("puma"), 3)
    assert_close(arm.march(x, tau, 1e-3, 2), integrated(model("puma"), x, tau, 1e-3, 2, None))


@pytest.mark.full
@pytest.mark.parametrize(("precision", "limit"), [("double", 99), ("single", 49.5)])  # two blocks share in single
def test_a_long_arm_keeps_to_the_shared_memory_it_may_use(precision: str, limit: float) -> None:
    source = stepping(pliant.load("lab-arm").model(stiffening="off"), precision, 99 * 1024)
    assert source.choice.strategy == "shared"
    assert 0 < source.shared_bytes <= limit * 1024
    assert source.kernels == ("steps",)


@pytest.mark.slow_cases("parameters")
@needs_compiler
@pytest.mark.parametrize("name", ["parameters", pytest.param("lagrange", marks=pytest.mark.full)])
def test_device_functions_reproduce_the_model(name: str, tmp_path: Path) -> None:
    """The header in plain C++, every warning an error: all functions, and a step with a torque law of one's own."""
    m = model(name)
    folder = export(m, "cuda", tmp_path / "out", functions=usual(m))
    given = {k: v[0] for k, v in reference_states(m, count=1, seed=7).items()}
    lines = [f'#include "{export_name(m)}.cuh"', "#include <cstdio>", f"namespace arm = {export_name(m)};"]
    lines += [f"double {k}[] = {{{', '.join(map(repr, [*v.tolist(), 0.0]))}}};" for k, v in given.items()]
    lines += ["int main() {", "double a[4096], b[4096]; int i;"]
    sizes = []
    for f in usual(m):
        shapes = list(FUNCTIONS[f].outputs(m).values())
        arguments = [*FUNCTIONS[f].inputs, *(["p"] if m.parameters else []), *("ab"[: len(shapes)])]
        lines.append(f"arm::{f}({', '.join(arguments)});")
        lines += [f'for (i = 0; i < {np.prod(s)}; i++) printf("%.17g\\n", {o}[i]);' for s, o in zip(shapes, "ab")]
        sizes += [(f, s) for s in shapes]
    law = "[](double t, const double *x, const double *v, double *u) { for (int j = 0; j < arm::n_joints; ++j) "
    law += "u[j] = t - x[j] - v[j]; }"
    lines += [f"arm::rk4_step(0.5, 1e-3, q, qd, {'p, ' if m.parameters else ''}{law});"]
    lines += [f'for (i = 0; i < {m.n}; i++) printf("%.17g\\n", {k}[i]);' for k in ("q", "qd")] + ["}"]
    (folder / "try.cpp").write_text("\n".join(lines))
    command = [COMPILER, "-O0", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "try.cpp", "-o", "try"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    done = subprocess.run(["./try"], cwd=folder, check=True, capture_output=True, text=True)
    found = np.array(done.stdout.split(), dtype=float)
    position = 0
    for f in usual(m):
        values = inputs(m, f, given)
        for (_, shape), wanted in zip([s for s in sizes if s[0] == f], expected(m, f, values)):
            size = int(np.prod(shape))
            assert_close(found[position : position + size].reshape(wanted.shape), wanted)
            position += size
    assert_close(found[position:], _step(m, given, 0.5, 1e-3))


def _step(m: Model, given: dict[str, np.ndarray], t: float, h: float) -> np.ndarray:
    """One classical step under u = t - q - qd of the joints."""
    p, n, k = ({"p": given["p"]} if m.parameters else {}), m.n, m.n_joints

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        q, qd = x[:n], x[n:]
        return np.concatenate([qd, m.forward_dynamics(q, qd, t - q[:k] - qd[:k], **p)])

    x = np.concatenate([given["q"], given["qd"]])
    k1 = rates(t, x)
    k2 = rates(t + h / 2, x + h / 2 * k1)
    k3 = rates(t + h / 2, x + h / 2 * k2)
    k4 = rates(t + h, x + h * k3)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def on_the_processor(code: str) -> str:
    """Launches as loops over threads, and CUDA's runtime as above."""
    launch = r"(\w+)<<<(\w+), (\w+), [^>]*>>>\(([^;]*)\);"
    loops = r"for (blockIdx.x = 0; blockIdx.x < (int)\2; ++blockIdx.x) for (threadIdx.x = 0; threadIdx.x < \3; "
    loops += r"++threadIdx.x) \1(\4);"
    return re.sub(launch, loops, code.replace("#include <cuda_runtime.h>", '#include "runtime.h"'))


@pytest.mark.slow_cases("double")
@needs_compiler
@pytest.mark.parametrize("precision", ["double", pytest.param("single", marks=pytest.mark.full)])
def test_example_checks_itself(precision: str, tmp_path: Path) -> None:
    """The program and the launches, kernels run thread after thread; a wrong number is found."""
    m = model("parameters")
    name = export_name(m)
    folder = export(m, "cuda", tmp_path / "out", functions=FEW)
    (folder / "runtime.h").write_text("#pragma once\n#define __host__\n#define __CUDACC__ 1\n" + SHIM + RUNTIME)
    body = "".join((folder / f"{name}_{part}.cu").read_text() for part in (precision, "main"))
    # the kernels' own assembly is for GPUs alone
    body = body.replace(
        "#if defined(__CUDACC__) || defined(__CUDACC_RTC__)\n__device__ __forceinline__ double", "#if 0\ndouble"
    )
    run = _compiled(folder, '#include "runtime.h"\n' + on_the_processor(body), precision)
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all values right" in done.stdout
    worst = [float(x) for x in re.findall(r"difference (\S+) of", done.stdout)]
    assert len(worst) == 2
    assert max(worst) <= (ROUND_OFF if precision == "double" else SINGLE) < TOLERANCES[precision]
    wrong = body.replace("9.81", "5.0")
    assert wrong != body
    done = _compiled(folder, '#include "runtime.h"\n' + on_the_processor(wrong), precision)()
    assert done.returncode == 1
    assert "values wrong" in done.stdout


def _compiled(folder: Path, text: str, precision: str) -> Callable[[], subprocess.CompletedProcess[str]]:
    (folder / "example.cpp").write_text(text.replace("extern __shared__", "static"))
    kind = ["-DREAL=float"] if precision == "single" else []
    command = [COMPILER, "-O1", "-w", "-std=c++17", *kind, "example.cpp", "-o", "example"]
    subprocess.run(command, cwd=folder, check=True)
    return lambda: subprocess.run(["./example", "200", "5"], cwd=folder, capture_output=True, text=True)


def test_files_say_which_model_they_hold(tmp_path: Path) -> None:
    m = model("parameters")
    folder = export(m, "cuda", tmp_path / "out", functions=FEW)
    name = export_name(m)
    files = {f"{name}.cuh", f"{name}_double.cu", f"{name}_single.cu", f"{name}_main.cu", f"load_{name}.py", "README.md"}
    for file in files:
        text = (folder / file).read_text()
        for part in (m.robot.digest(), "denoc", "upper.bending_y.1", "links.upper.beam.EI_z", pliant.__version__):
            assert part in text, file
    assert {path.name for path in folder.iterdir()} == {
        *files,
        "Makefile",
        "pliant-export.json",
        "reference.json",
        "robot.yaml",
    }
    assert f"{name}_double.o" in (folder / "Makefile").read_text()
    assert "void linearize(" not in (folder / f"{name}.cuh").read_text()
    numbers = json.loads((folder / "reference.json").read_text())
    assert np.shape(numbers["x_end"]) == (3, 8)


@pytest.mark.parametrize("size", [0, 2000, 1.5, True])
def test_bad_shared_memory_is_named(size: object, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="shared_memory: got"):
        export(model("parameters"), "cuda", tmp_path / "out", shared_memory=size)
    assert list(tmp_path.iterdir()) == []


def test_friction_with_a_state_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=r"cuda: Coulomb friction of \w+, .*friction\.bristle to 0"):
        export(pliant.load("lab-arm").model(stiffening="off"), "cuda", tmp_path / "arm")
