"""Object code for systems that this machine is not, by LLVM alone: its format, and what it asks of the system."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import llvmlite.binding as binding
import pytest

import pliant
from pliant.compute.compiled_loops.translate import Module
from pliant.compute.llvm import emit_calls, fastcall, interpreter, llvm, xla
from pliant.compute.llvm.lanes import LIBRARY_BINARY, LIBRARY_UNARY, PREFIX
from pliant.compute.llvm.target import Machine, Processor, described
from pliant.compute.tape.tape import Tape
from pliant.integrators.step_loops.explicit_loop import run_explicit

binding.initialize_all_targets()
binding.initialize_all_asmprinters()

TRIPLES = {
    "x86_64-unknown-linux-gnu": "ELF",
    "aarch64-unknown-linux-gnu": "ELF",
    "x86_64-pc-windows-msvc": "COFF",
    "aarch64-pc-windows-msvc": "COFF",
    "x86_64-apple-macosx10.15": "Mach-O",
    "arm64-apple-macosx11.0": "Mach-O",
}
CODE = {"x86_64": {"ELF": 62, "COFF": 0x8664, "Mach-O": 0x01000007},
        "aarch64": {"ELF": 183, "COFF": 0xAA64, "Mach-O": 0x0100000C}}  # fmt: skip
"""Numbers of the architectures in the three formats."""
LIBRARY = {PREFIX + name for name in (*LIBRARY_UNARY, *LIBRARY_BINARY, *llvm.MEMORY)}
WINDOWS = {llvm.STACK_PROBE, "_fltused"}
"""The second is a mark that says "here are floating-point numbers", to which no code refers."""


def target(triple: str, cpu: str = "generic") -> Machine:
    return described(Processor(triple, "", "").named(cpu))


def kind(data: bytes) -> tuple[str, int]:
    """Format and architecture of an object file."""
    if data[:4] == b"\x7fELF":
        return "ELF", struct.unpack_from("<H", data, 18)[0]
    if data[:4] == b"\xcf\xfa\xed\xfe":  # 64 bits, little end first
        return "Mach-O", struct.unpack_from("<I", data, 4)[0]
    return "COFF", struct.unpack_from("<H", data, 0)[0]


def undefined(data: bytes) -> set[str]:
    """Symbols that an object file expects from elsewhere."""
    return {"ELF": _elf, "COFF": _coff, "Mach-O": _mach_o}[kind(data)[0]](data)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def _elf(data: bytes) -> set[str]:
    offset, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * k) for k in range(count)]
    (table,) = [section for section in sections if section[1] == 2]
    names = sections[table[6]][4]
    symbols = [struct.unpack_from("<IBBHQQ", data, table[4] + 24 * k) for k in range(1, table[5] // 24)]
    return {_text(data, names + symbol[0]) for symbol in symbols if symbol[3] == 0}


def _coff(data: bytes) -> set[str]:
    start, count = struct.unpack_from("<II", data, 8)
    found, k = set(), 0
    while k < count:
        name, value, section, _, storage, more = struct.unpack_from("<8sIhHBB", data, start + 18 * k)
        if section == 0 and value == 0 and storage == 2:  # external
            far = name[:4] == b"\0\0\0\0"
            place = start + 18 * count + struct.unpack("<I", name[4:])[0]
            found.add(_text(data, place) if far else name.rstrip(b"\0").decode())
        k += 1 + more
    return found


def _mach_o(data: bytes) -> set[str]:
    commands, offset = struct.unpack_from("<I", data, 16)[0], 32
    found: set[str] = set()
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, offset)
        if command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from("<IIII", data, offset + 8)
            for k in range(count):
                name, type_, *_ = struct.unpack_from("<IBBHQ", data, symbols + 16 * k)
                if type_ & 0x0E == 0 and type_ & 0x01:  # undefined, external
                    found.add(_text(data, names + name).removeprefix("_"))
        offset += size
    return found


@pytest.fixture(scope="module")
def tapes() -> dict[str, Tape]:
    """A short tape, and one in several parts."""
    arm = pliant.load("two-link")
    more = arm.replace(dict.fromkeys(("links.upper.shapes.bending_y", "links.fore.shapes.bending_y"), 6))
    kernels = {
        name: robot.model(stiffening="off").kernel("forward_dynamics")
        for name, robot in (("short", arm), ("parts", more))
    }
    found = {name: Tape.from_function(kernel.function) for name, kernel in kernels.items()}
    assert len(found["short"]) < llvm.PART_LENGTH < len(found["parts"])
    return found


@pytest.mark.slow_cases(
    "best-aarch64-pc-windows-msvc",
    "generic-aarch64-unknown-linux-gnu",
    "generic-arm64-apple-macosx11.0",
    "generic-x86_64-apple-macosx10.15",
    "generic-x86_64-unknown-linux-gnu",
)
@pytest.mark.parametrize("triple", TRIPLES)
@pytest.mark.parametrize("cpu", ["generic", "best"])
def test_object_code(tapes: dict[str, Tape], triple: str, cpu: str) -> None:
    machine = target(triple)
    if cpu == "best":
        machine = target(triple, {"x86_64": "skylake-avx512", "aarch64": "neoverse-n1"}[machine.architecture])
    for name, tape in tapes.items():
        for entry in ("single", "batch"):
            data = llvm.object_code(emit_calls.source(tape, entry, machine, llvm.PART_LENGTH), machine)
            assert kind(data) == (TRIPLES[triple], CODE[machine.architecture][TRIPLES[triple]])
            allowed = LIBRARY | (WINDOWS if "windows" in triple else set())
            assert undefined(data) <= allowed, (name, entry)
            if not machine.fma:
                assert {PREFIX + "sin", PREFIX + "cos"} <= undefined(data)  # the reader of symbols reads


@pytest.mark.parametrize("triple", TRIPLES)
@pytest.mark.parametrize("cpu", ["generic", "best"])
def test_the_handler_of_xla_asks_for_memory_alone(tapes: dict[str, Tape], triple: str, cpu: str) -> None:
    """Atomic counters are instructions, not calls."""
    machine, tape = target(triple), tapes["short"]
    if cpu == "best":
        machine = target(triple, {"x86_64": "skylake-avx512", "aarch64": "neoverse-n1"}[machine.architecture])
    beside = xla.handler(tape.in_sizes, tape.out_sizes, len(tape), (0, 3))
    found = undefined(llvm.object_code(emit_calls.source(tape, "batch", machine, llvm.PART_LENGTH) + beside, machine))
    assert found <= LIBRARY | (WINDOWS if "windows" in triple else set())
    assert {PREFIX + name for name in llvm.MEMORY} <= found


@pytest.mark.parametrize("triple", TRIPLES)
def test_the_interpreter_asks_for_mathematics_alone(triple: str) -> None:
    machine = target(triple)
    data = llvm.object_code(interpreter.source(machine), machine)
    assert undefined(data) <= LIBRARY | (WINDOWS if "windows" in triple else set())
    assert {PREFIX + name for name in (*LIBRARY_UNARY, *LIBRARY_BINARY)} <= undefined(data)


@pytest.mark.parametrize("triple", TRIPLES)
def test_the_fast_call_asks_nothing(triple: str) -> None:
    """It finds Python and NumPy by the addresses of its table."""
    data = llvm.object_code(fastcall.SOURCE, target(triple))
    assert undefined(data) <= (WINDOWS if "windows" in triple else set())


@pytest.mark.slow_cases("arm64-apple-macosx11.0", "x86_64-pc-windows-msvc")
@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "arm64-apple-macosx11.0"])
def test_stepping_loops_ask_nothing(triple: str) -> None:
    """Neither to copy and clear memory nor for a power: the same bits with every C library."""
    module = Module()
    module.entry("loop", run_explicit, watch=False)
    data = llvm.object_code("", target(triple), 2, module.text())
    assert kind(data)[0] == TRIPLES[triple]
    assert undefined(data) <= (WINDOWS if "windows" in triple else set())


def test_windows_gets_what_large_frames_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = undefined(llvm.object_code(fastcall.SOURCE, target("x86_64-pc-windows-msvc")))
    assert llvm.STACK_PROBE in asked
    given, address = {}, ctypes.CFUNCTYPE(None)(lambda: None)

    class Library:
        def __getattr__(self, name: str) -> Any:
            return address

    monkeypatch.setattr(llvm.platform, "system", lambda: "Windows")
    monkeypatch.setattr(llvm.ctypes, "CDLL", lambda name: Library())
    monkeypatch.setattr(binding, "add_symbol", given.__setitem__)
    llvm._register_library.__wrapped__()
    assert given.keys() == LIBRARY | {llvm.STACK_PROBE}
