"""Equal bits: one state or a batch, whole tapes or many parts, one thread or several."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

from pliant.compute import Kernel, set_threads
from pliant.compute.llvm import emit_calls, llvm
from pliant.compute.llvm.target import Machine, vector_unit

SEEDS = range(6)


def states(f: ca.Function, count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, f.numel_in(i))) * 2 for i in range(f.n_in())]


def one_by_one(kernel: Kernel, arrays: list[np.ndarray]) -> list[np.ndarray]:
    found = [kernel.fast(*[x.copy() for x in state]) for state in zip(*arrays)]
    return [np.array(column) for column in zip(*found)]


def same_bits(found: tuple[np.ndarray, ...], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.view(np.int64), b.view(np.int64))


@pytest.mark.parametrize("seed", SEEDS)
def test_batch_equals_one_by_one(random_graph, seed):
    f = random_graph(seed)
    arrays = states(f, 2000)
    kernel = Kernel(f)
    same_bits(kernel(*arrays), one_by_one(kernel, arrays))


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("seed", range(100, 160))
def test_batch_equals_one_by_one_on_many_graphs(random_graph, seed):
    f = random_graph(seed, length=600)
    arrays = states(f, 3000)
    kernel = Kernel(f)
    same_bits(kernel(*arrays), one_by_one(kernel, arrays))


@pytest.mark.parametrize("seed", SEEDS)
def test_machine_code_equals_the_virtual_machine(random_graph, seed):
    f = random_graph(seed)
    arrays = states(f, 100)
    # 150 operations deep, these graphs magnify the roundings that fusing saves 1e5-fold; wrong code is off by 1e-3.
    for found, expected in zip(Kernel(f)(*arrays), Kernel(f, "vm")(*arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_a_chain_equals_the_virtual_machine(chain):
    f = chain(6)
    arrays = states(f, 200)
    for found, expected in zip(Kernel(f)(*arrays), Kernel(f, "vm")(*arrays), strict=True):
        scale = np.abs(expected).max()  # entries that cancel to zero are held to the size of their neighbors
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14 * scale)


@pytest.mark.parametrize("length", [1, 7, 50])
def test_parts_do_not_change_bits(random_graph, monkeypatch, length):
    f = random_graph(3)
    arrays = states(f, 100)
    whole = Kernel(f)(*arrays)
    monkeypatch.setattr(llvm, "PART_LENGTH", length)
    split = Kernel(f)
    same_bits(split(*arrays), list(whole))
    same_bits(tuple(one_by_one(split, arrays)), list(whole))


def test_optimisation_does_not_change_bits(random_graph, monkeypatch):
    f = random_graph(4)
    arrays = states(f, 100)
    optimized, plain = Kernel(f), Kernel(f)
    sizes = []
    for kernel, longest in ((optimized, 150_000), (plain, 0)):
        monkeypatch.setattr(llvm, "LONGEST_OPTIMIZED", longest)
        kernel(*arrays)
        key, level = llvm._function_key(kernel.function, "batch", llvm.machine())
        assert level == (2 if longest else 0)
        sizes.append(len(llvm.cache.read(key) or b""))
    assert sizes[0] != sizes[1]  # other code
    same_bits(plain(*arrays), list(optimized(*arrays)))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [33, 1000, 4096, 4097])
def test_threads_do_not_change_bits(chain, monkeypatch, threads, count):
    monkeypatch.setattr("pliant.compute.llvm.threads.LEAST_SHARED", 0)
    kernel = Kernel(chain(4))
    arrays = states(kernel.function, count)
    set_threads(threads)
    try:
        found = kernel(*arrays)
    finally:
        set_threads(None)
    same_bits(found, one_by_one(kernel, arrays))


@pytest.mark.parametrize("count", range(1, 12))
def test_tails(chain, count):
    kernel = Kernel(chain(2))
    kernel(*states(kernel.function, 64))  # from here on batch code answers every batch
    arrays = states(kernel.function, count)
    same_bits(kernel(*arrays), one_by_one(kernel, arrays))


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "width", "fma", "marks"),
    [
        ("x86_64-unknown-linux-gnu", "skylake-avx512", "", 8, True, ("zmm", "vfmadd")),
        ("x86_64-unknown-linux-gnu", "haswell", "", 4, True, ("ymm", "vfmadd")),
        ("x86_64-unknown-linux-gnu", "x86-64", "", 2, False, ("xmm", "mulpd")),
        ("aarch64-unknown-linux-gnu", "neoverse-n1", "", 2, True, (".2d", "fmla")),
    ],
)
def test_code_for_other_machines(random_graph, triple, cpu, features, width, fma, marks):
    binding = pytest.importorskip("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = Machine(triple, cpu, features, width, fma)
    tape = Kernel(random_graph(0)).tape
    for kind in ("single", "batch"):
        module = binding.parse_assembly(
            emit_calls.source(tape, kind, target, llvm.PART_LENGTH), binding.create_context()
        )
        module.triple = triple
        text = target.target_machine(2).emit_assembly(module)
        if kind == "batch":
            assert all(mark in text for mark in marks)
        assert not re.search(r"(call|bl)\S*\s+\S*\bfma\b", text)  # never the library's slow fma()


@pytest.mark.parametrize(
    ("architecture", "features", "expected"),
    [
        ("x86_64", {"avx512f": True, "avx": True, "fma": True}, (8, True)),
        ("x86_64", {"avx": True, "fma": True}, (4, True)),
        ("x86_64", {"avx": True, "fma": False}, (4, False)),
        ("x86_64", {}, (2, False)),
        ("aarch64", {"neon": True}, (2, True)),
        ("riscv64", {}, (2, False)),
    ],
)
def test_vector_unit(architecture, features, expected):
    assert vector_unit(architecture, features) == expected
