"""Machine code: functions are compiled to object code, and object code is loaded into memory.

Loading object code from the cache needs this module alone; the modules that write LLVM IR are imported only when a
function has to be compiled.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.base.derived import SYMBOLS
from pliant.base.interrupts import abandonable
from pliant.base.stages import preparation
from pliant.compute.llvm import cache, entry, module_pieces
from pliant.compute.llvm.lanes import LIBRARY_BINARY, LIBRARY_UNARY, PREFIX
from pliant.compute.llvm.target import Machine, machine
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import UnsupportedModel

if TYPE_CHECKING:
    import casadi as ca

    from pliant.compute.tape.columns import ColumnFunction

    Compilable = ca.Function | ColumnFunction | Recorded

#: Steps in one function. Shorter parts compile faster, longer ones run 1-3 % faster; measured on 250 ... 65,000 steps.
PART_LENGTH = 500
EMITTERS = (
    "tape/tape",
    "tape/operations",
    "tape/value_numbering",
    "tape/lower",
    "tape/call_plan",
    "tape/columns",
    "llvm/lanes",
    "llvm/sincos",
    "llvm/emit",
    "llvm/emit_calls",
    "llvm/entry",
)
"""Modules that determine the emitted code."""
#: Tapes longer than this are compiled without optimization: ten times faster, code 1.7 times slower, the same bits.
LONGEST_OPTIMIZED = 150_000

LENGTH_BYTES = 8
"""Bytes of the length before each of several objects."""
#: Functions of the C library, beside mathematics, that handlers call.
MEMORY = ("malloc", "free")
#: Function that code for Windows calls to touch the pages of a large stack frame in order.
STACK_PROBE = "__chkstk"

#: One thread at a time uses LLVM. A fork waits for it, so that a child never inherits an unfinished compile.
lock = threading.RLock()
#: Held while LLVM compiles, which goes on when Ctrl-C has ended the wait for it.
native = threading.RLock()
if hasattr(os, "register_at_fork"):
    for each in (native, lock, SYMBOLS):  # the last one is asked for first
        os.register_at_fork(before=each.acquire, after_in_parent=each.release, after_in_child=each.release)


@dataclass(frozen=True, eq=False)
class Code:
    """Machine code in memory; it lives as long as this object."""

    address: int
    engine: Any

    def number(self, name: str) -> int:
        """Result of the function `name`, which takes no arguments."""
        return int(ctypes.CFUNCTYPE(ctypes.c_int64)(self.engine.get_function_address(name))())


def compile_function(
    f: Compilable, kind: str, name: str = "", beside: str = "", longest: int = LONGEST_OPTIMIZED
) -> Code:
    """Load the machine code of `f` from the cache, or compile it and store it there.

    Its address is that of the entry point, or of the function `name` of further LLVM IR, given as `beside`. Tapes
    longer than `longest` are not optimized.
    """
    with lock:
        target, known = machine(), Recorded.of(f)
        key, opt = _function_key(known, kind, target, beside, longest)
        name = name or (entry.SINGLE if kind == "single" else entry.BATCH)

        def text() -> str:
            from pliant.compute.llvm.emit_calls import function_source

            return function_source(known.traced, kind, target, PART_LENGTH) + beside

        with preparation(f"compiling {known.name}, {known.code_length():,} instructions"):
            return _cached(key, name, text, target, opt)


def compile_text(text: str, name: str, loops: str = "") -> Code:
    """Machine code of the function `name` of a module in LLVM IR and of translated `loops`, cached in the same way."""
    with lock:
        target = machine()
        key = _key(target, name, 2, hashlib.sha256(f"{text}\n{loops}".encode()).hexdigest())
        with preparation(f"compiling {name}"):
            return _cached(key, name, lambda: text, target, 2, lambda: loops)


def compile_loops(recipe: str | None, name: str, translate: Callable[[], str], optimized: bool = True) -> Code:
    """Machine code of loops alone; with a record for `recipe` they are not translated again. What a person has written
    in LLVM IR needs not be `optimized`."""
    with lock:
        target, loops = machine(), functools.cache(translate)
        with preparation("compiling the stepping loop"):
            digest = recalled(recipe, lambda: hashlib.sha256(loops().encode()).hexdigest())
            text, translated = (str, loops) if optimized else (loops, str)
            return _cached(_key(target, name, 2, digest), name, text, target, 2, translated)


@functools.cache
def compiled_loop(function: Callable[..., int], **known: bool) -> Callable[..., int]:
    """Compile a stepping loop, a function of integers that returns one; it is translated when there is no object code
    of it, and runs without Python's lock.

    `known` arguments become constants of the code.
    """
    name = f"pliant_{function.__name__}"

    def translate() -> str:
        from pliant.compute.compiled_loops.translate import Module

        module = Module()
        module.entry(name, function, **known)
        return module.text()

    own = function.__module__.startswith("pliant.")  # a change of other code would not be noticed
    recipe = repr((function.__module__, function.__qualname__, sorted(known.items()))) if own else None
    code = compile_loops(recipe, name, translate)
    given = function.__code__.co_argcount - len(known)
    found = ctypes.CFUNCTYPE(*[ctypes.c_int64] * (given + 1))(code.address)
    found.code = code  # type: ignore[attr-defined]  # lives as long as the function
    return found


def is_cached(f: Compilable, kind: str = "single", longest: int = LONGEST_OPTIMIZED) -> bool:
    """Whether object code of `f` is in the cache, so that its first call will not compile."""
    with lock:
        return cache.read(_function_key(f, kind, machine(), "", longest)[0]) is not None


def _function_key(
    f: Compilable, kind: str, target: Machine, beside: str = "", longest: int = LONGEST_OPTIMIZED
) -> tuple[str, int]:
    """Key and optimization level. `LONGEST_OPTIMIZED` is read at the call, and limits `longest`."""
    known = Recorded.of(f)
    opt = 2 if known.code_length() <= min(longest, LONGEST_OPTIMIZED) else 0
    return _key(target, kind, opt, hashlib.sha256((known.digest + beside).encode()).hexdigest()), opt


def _key(target: Machine, kind: str, opt: int, digest: str) -> str:
    import llvmlite
    import llvmlite.binding as binding

    versions = (llvmlite.__version__, binding.llvm_version_info, emitter(), PART_LENGTH, module_pieces.LENGTH)
    return hashlib.sha256(repr((target, target.code_model, versions, kind, opt, digest)).encode()).hexdigest()


def _cached(
    key: str, name: str, text: Callable[[], str], target: Machine, opt: int, loops: Callable[[], str] = str
) -> Code:
    data = cache.read(key)
    if data is None:
        first, *others = module_pieces.cut(text(), target.attributes)
        beside = {first: loops()}

        def compiled() -> bytes:
            with native:
                made = cache.read(key)  # of an abandoned compile that has finished since
                if made is None:
                    objects = module_pieces.compiled(
                        [first, *others], lambda each: object_code(each, target, opt, beside.get(each, ""))
                    )
                    made = joined(objects)
                    cache.write(key, made)
                return made

        data = abandonable(compiled)
    return _load(data, name, target)


def object_code(text: str, target: Machine, opt: int = 2, loops: str = "") -> bytes:
    """Compile LLVM IR. No pass runs over `text`, since a tape has no dead or repeated code; all passes of LLVM run over
    `loops`, which are translated word by word."""
    import llvmlite.binding as binding

    target_machine, context = target.target_machine(opt), binding.create_context()

    def parsed(part: str) -> Any:
        module = binding.parse_assembly(part, context)
        module.triple, module.data_layout = target.triple, str(target_machine.target_data)
        return module

    module = parsed(text)
    if loops:
        alone = not text  # loops beside a kernel work on packs: vectors already
        options = binding.create_pipeline_tuning_options(speed_level=3 if alone else 2)
        options.loop_vectorization = options.slp_vectorization = alone
        options.loop_unrolling = not alone  # a fifth of the compile time, and no faster: kernels do the long work
        builder, stepping = binding.create_pass_builder(target_machine, options), parsed(loops)
        builder.getModulePassManager().run(stepping, builder)
        module.link_in(stepping)
    return _emitted(target_machine, module)


def _emitted(target_machine: Any, module: Any) -> bytes:
    """Object code of a module. llvmlite locks LLVM for all other threads meanwhile; modules in contexts of their own do
    not need that, hence its C function is called without the lock, if it can be reached."""
    from llvmlite.binding import ffi

    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return bytes(target_machine.emit_object(module))
    with ffi.OutputString() as error:
        buffer = emit(target_machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def joined(objects: Iterable[bytes]) -> bytes:
    """Join several objects to one, each behind its length."""
    return b"".join(len(each).to_bytes(LENGTH_BYTES, "little") + each for each in objects)


def separate(data: bytes) -> list[bytes]:
    """Objects that `joined` has put together."""
    objects, place = [], 0
    while place < len(data):
        size = int.from_bytes(data[place : place + LENGTH_BYTES], "little")
        objects.append(data[place + LENGTH_BYTES : place + LENGTH_BYTES + size])
        place += LENGTH_BYTES + size
    return objects


def _load(data: bytes, name: str, target: Machine) -> Code:
    import llvmlite.binding as binding

    _register_library()
    # The engine's module lives in the global context, since a context of its own could be collected before the engine.
    empty = binding.parse_assembly("", binding.get_global_context())
    engine = binding.create_mcjit_compiler(empty, target.target_machine(2))
    for each in separate(data):
        engine.add_object_file(binding.ObjectFileRef.from_data(each))
    engine.finalize_object()
    return Code(engine.get_function_address(name), engine)


@functools.cache
def emitter() -> str:
    """Hash of the modules that determine the emitted code, so that objects of another version are never used."""
    sources = (Path(__file__).parents[1].joinpath(f"{name}.py").read_bytes() for name in EMITTERS)
    return hashlib.sha256(b"".join(sources)).hexdigest()


@functools.cache
def _register_library() -> None:
    """Tell LLVM the addresses of the C library's functions, under names of our own."""
    import llvmlite.binding as binding

    library = _c_library()
    for name in (*LIBRARY_UNARY, *LIBRARY_BINARY, *MEMORY):
        function = getattr(library, name, None)
        if function is None:
            raise UnsupportedModel(f"The C library of this system has no {name}(). Use backend='vm'.")
        binding.add_symbol(PREFIX + name, ctypes.cast(function, ctypes.c_void_p).value)
    if platform.system() == "Windows":
        probe = getattr(ctypes.CDLL("ntdll"), STACK_PROBE)
        binding.add_symbol(STACK_PROBE, ctypes.cast(probe, ctypes.c_void_p).value)


def _c_library() -> ctypes.CDLL:
    names = {"Linux": ("libm.so.6", None), "Windows": ("ucrtbase", "msvcrt")}.get(platform.system(), (None,))
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise UnsupportedModel("The C mathematics library was not found on this system. Use backend='vm'.")
