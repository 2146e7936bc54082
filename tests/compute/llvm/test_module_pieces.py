"""Long modules are compiled in pieces: the same bits, whatever number of pieces and of threads."""

import re

import casadi as ca
import numpy as np
import pytest
from llvmlite.binding import ffi

from compute.tape.test_columns import grouped
from pliant.compute import Kernel, set_threads
from pliant.compute.llvm import cache, llvm, module_pieces
from pliant.compute.llvm.emit_calls import function_source
from pliant.compute.llvm.target import machine

PARTS = re.compile(r"^define .*@(body_part\d+)\(", re.MULTILINE)


def long_function():
    """Some thousand steps, with sines and a function of the C library."""
    x = ca.SX.sym("x", 6)
    y = x
    for k in range(120):
        y = ca.vertcat(ca.sin(y[0] + k), y[1] * y[2] - y[3], ca.tanh(y[4]), y[5] * y[0] + y[1], y[2] - y[5], y[3] + 0.1)
        y = y / (1 + ca.sumsqr(y))
    return ca.Function("long", [x], [y])


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setattr(cache, "read", lambda key: None)
    monkeypatch.setattr(cache, "write", lambda key, data: None)


def _shorten(monkeypatch, length):
    """What the parts call is no small part of short pieces."""
    monkeypatch.setattr(module_pieces, "LENGTH", length)
    monkeypatch.setattr(module_pieces, "MOST_COPIED", 100.0)


def evaluated(f, states):
    kernel = Kernel(f)
    return [[kernel(x) for x in states], kernel(states)]


@pytest.mark.slow_cases("columns-1", "tape-1", "tape-3")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("f", "size"), [(long_function(), 6), (grouped((6, 2, 6)), 2)], ids=["tape", "columns"])
def test_pieces_have_the_bits_of_the_whole(f, size, threads, uncached, monkeypatch, rng):
    states, seen, original = rng.normal(size=(37, size)), [], llvm.object_code
    exact = evaluated(f, states)
    _shorten(monkeypatch, len(function_source(f, "single", machine(), llvm.PART_LENGTH)) // 4)
    monkeypatch.setattr(llvm, "object_code", lambda text, *rest: seen.append(text) or original(text, *rest))
    set_threads(threads)
    try:
        found = evaluated(f, states)
    finally:
        set_threads(None)
    assert len(seen) >= 4  # of one state and of packs, in two pieces at least
    np.testing.assert_equal(found, exact)


def test_every_part_stands_in_one_piece(monkeypatch):
    text, target = function_source(long_function(), "single", machine(), llvm.PART_LENGTH), machine()
    assert module_pieces.cut(text, target.attributes) == [text]
    _shorten(monkeypatch, len(text) // 4)
    cut = module_pieces.cut(text, target.attributes)
    defined = [PARTS.findall(each) for each in cut]
    assert sorted(name for names in defined for name in names) == sorted(PARTS.findall(text))
    assert len(cut) >= 3
    assert all(defined)
    assert max(map(len, cut)) < 0.6 * len(text)


def test_objects_are_joined_and_separated(rng):
    objects = [rng.bytes(size) for size in (0, 1, 1000)]
    assert llvm.separate(llvm.joined(objects)) == objects


def test_object_code_is_the_same_under_the_lock_of_llvmlite(monkeypatch):
    text, emit = (
        function_source(long_function(), "single", machine(), llvm.PART_LENGTH),
        ffi.lib.LLVMPY_TargetMachineEmitToMemory,
    )
    free = llvm.object_code(text, machine())
    monkeypatch.setitem(ffi.lib._fntab, "LLVMPY_TargetMachineEmitToMemory", lambda *given: emit(*given))
    assert llvm.object_code(text, machine()) == free
