"""Instruction sets: what `PLIANT_CPU` may ask for, what is emitted for it, and a cache folder that machines share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as binding
import numpy as np
import pytest

from pliant.compute import Kernel
from pliant.compute.llvm import emit_calls, llvm, target
from pliant.compute.llvm.target import Processor, chosen, covers, described, has, machine
from pliant.errors import ModelError, PliantError

binding.initialize_all_targets()
binding.initialize_all_asmprinters()

INTEL = Processor("x86_64-unknown-linux-gnu", "skylake-avx512", "+64bit")
ARM = Processor("aarch64-unknown-linux-gnu", "neoverse-n1", "")
FEATURES = ("avx512f", "avx512fp16", "sse4a", "xop")


@pytest.mark.parametrize(
    ("given", "width", "fma"),
    [
        ("generic", 2, False),
        ("haswell", 4, True),
        ("skylake-avx512", 8, True),
        ("x86-64-v2", 2, False),
        ("-avx512f", 4, True),
        ("-avx512f,-fma", 4, False),
        (" haswell , -avx ", 2, False),
        ("generic,+avx2", 4, False),
        ("generic,+fma", 4, True),
    ],
)
def test_packs_follow_the_target(given: str, width: int, fma: bool) -> None:
    found = described(chosen(given, INTEL, FEATURES))
    assert (found.width, found.fma) == (width, fma)
    assert found.pack(100_000).width == width


@pytest.mark.parametrize("given", ["generic", "cortex-a53", "neoverse-n1", "-lse", "generic,+lse"])
def test_arm_has_one_vector_unit(given: str) -> None:
    found = described(chosen(given, ARM, ()))
    assert (found.width, found.fma) == (2, True)


@pytest.mark.parametrize(
    ("host", "given", "why"),
    [
        (INTEL, "hasswell", "LLVM knows no x86_64 processor 'hasswell'"),
        (INTEL, "neoverse-n1", "LLVM knows no x86_64 processor 'neoverse-n1'"),
        (INTEL, "i386", "LLVM knows no x86_64 processor 'i386'"),
        (INTEL, 'haswell"', "LLVM knows no x86_64 processor"),
        (INTEL, "-nonsense", "'-nonsense' is no feature"),
        (INTEL, "haswell,avx", "'avx' is no feature"),
        (INTEL, "-sse2", "'-sse2' is no feature beyond the baseline"),
        (INTEL, "-64bit", "'-64bit' is no feature beyond the baseline"),
        (INTEL, "haswell,,-fma", "'' is no feature"),
        (INTEL, "+avx512fp16", "this machine's skylake-avx512 has no avx512fp16"),
        (INTEL, "bdver1", "has no sse4a, xop; `bdver1,-sse4a,-xop` would do"),
        (INTEL, "+soft-float", "has no soft-float"),
        (INTEL, "+32bit-mode", "has no 32bit-mode"),
        (ARM, "haswell", "LLVM knows no aarch64 processor 'haswell'"),
        (ARM, "-neon", "'-neon' is no feature beyond the baseline"),
        (ARM, "generic,+sve", "this machine's neoverse-n1 has no sve"),
        (ARM, "neoverse-v1", "has no bf16,"),
    ],
)
def test_refused_with_the_reason(host: Processor, given: str, why: str) -> None:
    with pytest.raises(ModelError, match="PLIANT_CPU: ") as refused:
        chosen(given, host, () if host is ARM else FEATURES)
    message = str(refused.value)
    assert repr(given) in message
    assert "expected `generic`" in message
    assert why in message


def test_coverage_is_an_order() -> None:
    generic, haswell = (INTEL.named(name) for name in ("generic", "haswell"))
    assert [covers(a, b) for a in (generic, haswell, INTEL) for b in (generic, haswell, INTEL)] == [
        *(True, False, False),
        *(True, True, False),
        *(True, True, True),
    ]
    assert has(haswell, "fma")
    assert not has(haswell.changed("-avx"), "fma")  # what depends on a feature goes with it


def test_removing_and_adding_again() -> None:
    assert has(INTEL.changed("-avx512f", "+avx512f"), "avx512f")
    assert not has(INTEL.changed("-avx512f"), "avx512bw")


@pytest.mark.parametrize(
    ("given", "present", "absent"),
    [
        ("generic", "mulpd", ("zmm", "ymm", "vfmadd", "vmulpd")),
        ("haswell", "vfmadd", ("zmm", "%k1")),
        ("-avx512f", "vfmadd", ("zmm", "%k1", "xmm16", "ymm16")),
        ("-fma", "ymm", ("zmm", "vfmadd", "vfmsub", "vfnmadd")),
    ],
)
def test_emitted_code_stays_within_its_target(random_graph, given: str, present: str, absent: tuple[str, ...]) -> None:
    found = described(chosen(given, INTEL, FEATURES))
    tape = Kernel(random_graph(0)).tape
    for kind in ("single", "batch"):
        module = binding.parse_assembly(
            emit_calls.source(tape, kind, found, llvm.PART_LENGTH), binding.create_context()
        )
        module.triple = found.triple
        text = found.target_machine(2).emit_assembly(module)
        assert kind == "single" or present in text
        assert [mark for mark in absent if mark in text] == []
        assert not re.search(r"call\S*\s+\S*\bfma\b", text)  # never the library's slow fma()


def test_the_host_covers_itself() -> None:
    """What is emitted without `PLIANT_CPU` passes the question that every other target must pass."""
    assert covers(machine(), machine())
    assert described(machine()) == machine()


SCRIPT = """
import casadi as ca, numpy as np
from pliant.compute import Kernel
from pliant.compute.llvm import llvm
from pliant.compute.llvm.target import machine
seen, original = [], llvm.object_code
llvm.object_code = lambda text, *rest: seen.append(text) or original(text, *rest)
x = ca.SX.sym("x", 8)
y = x
for k in range(60):
    y = ca.sin(y) * x[k % 8] + ca.vertcat(y[1:], y[0]) / (k + 1)
kernel = Kernel(ca.Function("f", [x], [y]))
state = np.linspace(0.1, 0.8, 8)
one, many = kernel(state), kernel(np.tile(state, (64, 1)))
assert (many == one).all()
print(len(seen), machine().width, *map(float.hex, one))
"""


def _child(code: str, cpu: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PLIANT_CPU": cpu, "PLIANT_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_machines_that_share_a_cache_folder_compile_their_own(tmp_path: Path) -> None:
    """Two feature sets in turn: each compiles once, finds its own again, and computes right."""
    answers: dict[str, list[str]] = {}
    for turn in (1, 2):
        for cpu in ("", "generic"):
            done = _child(SCRIPT, cpu, tmp_path)
            assert done.returncode == 0, done.stderr
            compiled, _, *numbers = done.stdout.split()
            assert int(compiled) == (3 if turn == 1 else 0), (cpu, turn)  # one state, many, and the call interface
            assert answers.setdefault(cpu, numbers) == numbers
    found = [np.array([float.fromhex(x) for x in numbers]) for numbers in answers.values()]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
    assert len(list(tmp_path.glob("*/*.pliant"))) == 6


def test_a_wrong_name_is_an_error_of_the_user(tmp_path: Path) -> None:
    code = f"import sys; from {PliantError.__module__} import PliantError\ntry:\n" + "\n".join(
        f"    {line}" for line in SCRIPT.strip().splitlines()
    )
    done = _child(code + "\nexcept PliantError as error: sys.exit(f'refused: {error}')", "pdp-11", tmp_path)
    assert done.returncode == 1
    assert "refused: PLIANT_CPU: got 'pdp-11', expected `generic`" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_variable_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine()
    monkeypatch.setenv(target.VARIABLE, "no such processor")
    assert machine() is before
