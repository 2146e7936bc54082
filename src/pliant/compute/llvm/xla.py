"""A batch kernel behind XLA's foreign function interface: a handler in LLVM IR that reads the call frame itself.

XLA calls `XLA_FFI_Error *handler(XLA_FFI_CallFrame *)`. The layout is that of `xla/ffi/api/c_api.h`, which JAX ships
(`jax.ffi.include_dir()`); its version is read from there and passed to XLA, which refuses another one. Sizes of the
structs are checked in every call, and `pliant.jax` checks the numbers of a first one.

The last axes of every argument are one state; those before are the batch. An argument with a single state is shared by
all. Long batches are cut into blocks that XLA's threads take one after another. The calling thread takes blocks too,
and waits only for blocks that are being worked on, so that a pool of busy threads delays nothing. A thread that comes
late finds no block left; the memory of the job stays until the last thread has left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import casadi as ca

from pliant.compute.llvm import llvm
from pliant.compute.llvm.entry import BATCH, SCRATCH
from pliant.compute.llvm.lanes import PREFIX
from pliant.compute.llvm.threads import ALIGNMENT, BLOCKS_PER_THREAD, GRAIN, LEAST_SHARED

#: Name of the handler in object code.
HANDLER = "pliant_xla"

# XLA_FFI_CallFrame, with XLA_FFI_Args and XLA_FFI_Rets inside.
EXTENSION, API, CONTEXT, STAGE = 8, 16, 24, 32
ARGS_SIZE, ARGS_COUNT, ARGS, RETS_SIZE, RETS_COUNT, RETS = 40, 56, 72, 80, 96, 112
LIST_BYTES, EXECUTE = 40, 3
# XLA_FFI_Buffer.
BUFFER_BYTES, DTYPE, DATA, RANK, DIMS, F64 = 48, 16, 24, 32, 40, 12
# XLA_FFI_Metadata_Extension and XLA_FFI_Metadata.
METADATA_TYPE, METADATA, MAJOR, MINOR, TRAITS = 1, 24, 24, 28, 32
# XLA_FFI_Api.
ERROR_CREATE, ERROR_DESTROY, SCHEDULE, THREADS, API_BYTES = 48, 64, 136, 144, 152
INVALID_ARGUMENT = 3

# A job: words, then addresses and strides of inputs, addresses of outputs.
NEXT, DONE, OWNERS, COUNT, BLOCK, BLOCKS, TABLES = 0, 8, 16, 24, 32, 40, 64


def api_version(header: str) -> tuple[int, int] | None:
    """Version of the interface that `c_api.h` declares; None where it declares none, or one that is not supported."""
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    numbers = [int(match[1]) for match in found if match]
    return (numbers[0], numbers[1]) if len(numbers) == 2 and numbers[0] == 0 else None


def compile_handler(f: ca.Function, version: tuple[int, int]) -> llvm.Code:
    """Machine code of a kernel for batches with its handler beside it; `address` is that of the handler."""
    in_sizes, out_sizes = [f.numel_in(k) for k in range(f.n_in())], [f.numel_out(k) for k in range(f.n_out())]
    return llvm.compile_function(f, "batch", HANDLER, handler(in_sizes, out_sizes, f.n_instructions(), version))


def handler(in_sizes: Sequence[int], out_sizes: Sequence[int], length: int, version: tuple[int, int]) -> str:
    """LLVM IR of the handler, beside `pliant_batch` of a kernel with these sizes of a state and length of its tape."""
    K, L = len(in_sizes), len(out_sizes)
    strides, outs = TABLES + 8 * K, TABLES + 16 * K
    lines = [
        _SHARED.format(strides=strides, outs=outs, align=ALIGNMENT, pad=ALIGNMENT - 1),
        f'@{HANDLER}.text = private constant [{len(_WRONG) + 1} x i8] c"{_WRONG}\\00"',
        f"define ptr @{HANDLER}(ptr %frame) #0 {{",
        "entry:",
        _load("extension", "frame", EXTENSION, "ptr"),
        "%extended = icmp ne ptr %extension, null",
        "br i1 %extended, label %asked, label %ordinary",
        "asked:",
        _load("kind", "extension", 8, "i32"),
        f"%is.metadata = icmp eq i32 %kind, {METADATA_TYPE}",
        "br i1 %is.metadata, label %tell, label %ordinary",
        "tell:",
        _load("metadata", "extension", METADATA, "ptr"),
        _store("major", "metadata", MAJOR, f"i32 {version[0]}"),
        _store("minor", "metadata", MINOR, f"i32 {version[1]}"),
        _store("traits", "metadata", TRAITS, "i32 0"),
        "ret ptr null",
        "ordinary:",
        _load("stage", "frame", STAGE, "i32"),
        f"%is.run = icmp eq i32 %stage, {EXECUTE}",
        "br i1 %is.run, label %run, label %nothing",
        "nothing:",
        "ret ptr null",
        "run:",
        _load("args.size", "frame", ARGS_SIZE, "i64"),
        _load("args.count", "frame", ARGS_COUNT, "i64"),
        _load("rets.size", "frame", RETS_SIZE, "i64"),
        _load("rets.count", "frame", RETS_COUNT, "i64"),
        *_all_equal(
            "known",
            [("%args.size", LIST_BYTES), ("%args.count", K), ("%rets.size", LIST_BYTES), ("%rets.count", L)],
        ),
        "br i1 %known, label %read, label %wrong",
        "read:",
        f"%job = call ptr @{PREFIX}malloc(i64 {TABLES + 16 * K + 8 * L})",
        _load("args", "frame", ARGS, "ptr"),
        _load("rets", "frame", RETS, "ptr"),
    ]  # fmt: skip
    for k in range(K):
        lines += [*_buffer(f"in{k}", "args", k), _store(f"in{k}.to", "job", TABLES + 8 * k, f"ptr %in{k}.data")]
    for k in range(L):
        lines += [*_buffer(f"out{k}", "rets", k), _store(f"out{k}.to", "job", outs + 8 * k, f"ptr %out{k}.data")]
    first = next(k for k, size in enumerate(out_sizes) if size)
    lines.append(f"%count = udiv i64 %out{first}.elements, {out_sizes[first]}")
    sound = [f"%in{k}.f64" for k in range(K)] + [f"%out{k}.f64" for k in range(L)]
    for k, size in enumerate(in_sizes):
        lines += [
            f"%in{k}.shared = icmp eq i64 %in{k}.elements, {size}",
            f"%in{k}.all = mul i64 %count, {size}",
            f"%in{k}.own = icmp eq i64 %in{k}.elements, %in{k}.all",
            f"%in{k}.fits = or i1 %in{k}.shared, %in{k}.own",
            f"%in{k}.stride = select i1 %in{k}.shared, i64 0, i64 {size}",
            _store(f"stride{k}", "job", strides + 8 * k, f"i64 %in{k}.stride"),
        ]
        sound.append(f"%in{k}.fits")
    for k, size in enumerate(out_sizes):
        lines += [f"%out{k}.all = mul i64 %count, {size}", f"%out{k}.fits = icmp eq i64 %out{k}.elements, %out{k}.all"]
        sound.append(f"%out{k}.fits")
    lines += [
        *_conjunction("sound", sound),
        "br i1 %sound, label %start, label %refuse",
        "refuse:",
        f"call void @{PREFIX}free(ptr %job)",
        "br label %wrong",
        "start:",
        _load("api", "frame", API, "ptr"),
        _load("context", "frame", CONTEXT, "ptr"),
        f"%operations = mul i64 %count, {length}",
        f"%long = icmp uge i64 %operations, {LEAST_SHARED}",
        "br i1 %long, label %ask, label %alone",
        "ask:",
        "%pool = call i64 @pliant_xla_threads(ptr %api, ptr %context)",
        "br label %alone",
        "alone:",
        "%threads = phi i64 [1, %start], [%pool, %ask]",
        "call void @pliant_xla_share(ptr %api, ptr %context, ptr %job, i64 %count, i64 %threads)",
        "ret ptr null",
        "wrong:",
        _load("wrong.api", "frame", API, "ptr"),
        f"%error = call ptr @pliant_xla_error(ptr %wrong.api, ptr @{HANDLER}.text)",
        "ret ptr %error",
        "}",
    ]
    return "\n".join(lines) + "\n"


_WRONG = "pliant: the arguments of this call are laid out otherwise than its kernel expects"


def _place(name: str, of: str, offset: int) -> str:
    return f"%{name}.p = getelementptr i8, ptr %{of}, i64 {offset}"


def _load(name: str, of: str, offset: int, kind: str) -> str:
    return f"{_place(name, of, offset)}\n%{name} = load {kind}, ptr %{name}.p, align {4 if kind == 'i32' else 8}"


def _store(name: str, of: str, offset: int, value: str) -> str:
    return f"{_place(name, of, offset)}\nstore {value}, ptr %{name}.p, align {4 if value[:3] == 'i32' else 8}"


def _conjunction(name: str, values: Sequence[str]) -> list[str]:
    lines, so_far = [], "true"
    for k, value in enumerate(values):
        lines.append(f"%{name}.{k} = and i1 {so_far}, {value}")
        so_far = f"%{name}.{k}"
    return [*lines, f"%{name} = and i1 {so_far}, true"]


def _all_equal(name: str, pairs: Sequence[tuple[str, int]]) -> list[str]:
    lines = [f"%{name}.eq{k} = icmp eq i64 {value}, {number}" for k, (value, number) in enumerate(pairs)]
    return lines + _conjunction(name, [f"%{name}.eq{k}" for k in range(len(pairs))])


def _buffer(name: str, of: str, k: int) -> list[str]:
    """Load data and number of elements of buffer `k`, and whether it holds float64 in the layout above."""
    return [
        _load(name, of, 8 * k, "ptr"),
        _load(f"{name}.size", name, 0, "i64"),
        _load(f"{name}.dtype", name, DTYPE, "i32"),
        _load(f"{name}.data", name, DATA, "ptr"),
        f"%{name}.elements = call i64 @pliant_xla_elements(ptr %{name})",
        f"%{name}.is.f64 = icmp eq i32 %{name}.dtype, {F64}",
        f"%{name}.is.buffer = icmp eq i64 %{name}.size, {BUFFER_BYTES}",
        f"%{name}.f64 = and i1 %{name}.is.f64, %{name}.is.buffer",
    ]


# {{ and }} are braces of the IR; names in single braces are filled in for each kernel.
_SHARED = f"""
declare ptr @{PREFIX}malloc(i64)
declare void @{PREFIX}free(ptr)

define internal i64 @pliant_xla_elements(ptr %buffer) #0 {{{{
entry:
{_load("rank", "buffer", RANK, "i64")}
{_load("dims", "buffer", DIMS, "ptr")}
%scalar = icmp eq i64 %rank, 0
br i1 %scalar, label %end, label %axis
axis:
%k = phi i64 [0, %entry], [%k.next, %axis]
%product = phi i64 [1, %entry], [%product.next, %axis]
%dim.p = getelementptr i64, ptr %dims, i64 %k
%dim = load i64, ptr %dim.p, align 8
%product.next = mul i64 %product, %dim
%k.next = add i64 %k, 1
%more = icmp slt i64 %k.next, %rank
br i1 %more, label %axis, label %end
end:
%elements = phi i64 [1, %entry], [%product.next, %axis]
ret i64 %elements
}}}}

define internal ptr @pliant_xla_error(ptr %api, ptr %text) #0 {{{{
%arguments = alloca [4 x i64], align 8
{_store("bytes", "arguments", 0, "i64 28")}
{_store("extension", "arguments", 8, "ptr null")}
{_store("message", "arguments", 16, "ptr %text")}
{_store("code", "arguments", 24, f"i32 {INVALID_ARGUMENT}")}
{_load("create", "api", ERROR_CREATE, "ptr")}
%error = call ptr %create(ptr %arguments)
ret ptr %error
}}}}

define internal void @pliant_xla_forget(ptr %api, ptr %error) #0 {{{{
%arguments = alloca [3 x i64], align 8
{_store("bytes", "arguments", 0, "i64 24")}
{_store("extension", "arguments", 8, "ptr null")}
{_store("of", "arguments", 16, "ptr %error")}
{_load("destroy", "api", ERROR_DESTROY, "ptr")}
call void %destroy(ptr %arguments)
ret void
}}}}

define internal i64 @pliant_xla_threads(ptr %api, ptr %context) #0 {{{{
entry:
%number = alloca i64, align 8
store i64 1, ptr %number, align 8
{_load("size", "api", 0, "i64")}
%there = icmp uge i64 %size, {API_BYTES}
br i1 %there, label %ask, label %end
ask:
%arguments = alloca [4 x i64], align 8
{_store("bytes", "arguments", 0, "i64 32")}
{_store("extension", "arguments", 8, "ptr null")}
{_store("of", "arguments", 16, "ptr %context")}
{_store("to", "arguments", 24, "ptr %number")}
{_load("threads", "api", THREADS, "ptr")}
%error = call ptr %threads(ptr %arguments)
%failed = icmp ne ptr %error, null
br i1 %failed, label %forget, label %end
forget:
call void @pliant_xla_forget(ptr %api, ptr %error)
store i64 1, ptr %number, align 8
br label %end
end:
%found = load i64, ptr %number, align 8
ret i64 %found
}}}}

define internal void @pliant_xla_work(ptr %job) #0 {{{{
entry:
{_load("count", "job", COUNT, "i64")}
{_load("block", "job", BLOCK, "i64")}
{_place("next", "job", NEXT)}
{_place("done", "job", DONE)}
{_place("ins", "job", TABLES)}
%strides.p = getelementptr i8, ptr %job, i64 {{strides}}
%outs.p = getelementptr i8, ptr %job, i64 {{outs}}
%doubles = call i64 @{SCRATCH}()
%bytes.plain = mul i64 %doubles, 8
%bytes = add i64 %bytes.plain, {{align}}
%memory = call ptr @{PREFIX}malloc(i64 %bytes)
%memory.number = ptrtoint ptr %memory to i64
%padded = add i64 %memory.number, {{pad}}
%aligned = and i64 %padded, -{{align}}
%scratch = inttoptr i64 %aligned to ptr
br label %look
look:
%k = atomicrmw add ptr %next.p, i64 1 seq_cst
%start = mul i64 %k, %block
%some = icmp slt i64 %start, %count
br i1 %some, label %take, label %end
take:
%beyond = add i64 %start, %block
%over = icmp sgt i64 %beyond, %count
%stop = select i1 %over, i64 %count, i64 %beyond
%flag = call i64 @{BATCH}(ptr %ins.p, ptr %strides.p, ptr %outs.p, ptr %scratch, i64 %start, i64 %stop)
%before = atomicrmw add ptr %done.p, i64 1 seq_cst
br label %look
end:
call void @{PREFIX}free(ptr %memory)
ret void
}}}}

define internal void @pliant_xla_leave(ptr %job) #0 {{{{
entry:
{_place("owners", "job", OWNERS)}
%before = atomicrmw sub ptr %owners.p, i64 1 seq_cst
%last = icmp eq i64 %before, 1
br i1 %last, label %empty, label %end
empty:
call void @{PREFIX}free(ptr %job)
br label %end
end:
ret void
}}}}

define internal void @pliant_xla_task(ptr %job) #0 {{{{
call void @pliant_xla_work(ptr %job)
call void @pliant_xla_leave(ptr %job)
ret void
}}}}

define internal void @pliant_xla_share(ptr %api, ptr %context, ptr %job, i64 %count, i64 %threads) #0 {{{{
entry:
%arguments = alloca [5 x i64], align 8
%is.one = icmp sle i64 %threads, 1
%split = mul i64 %threads, {BLOCKS_PER_THREAD}
%wanted = select i1 %is.one, i64 1, i64 %split
%per = mul i64 %wanted, {GRAIN}
%count.up = add i64 %count, %per
%count.upper = sub i64 %count.up, 1
%grains = udiv i64 %count.upper, %per
%block = mul i64 %grains, {GRAIN}
%least = icmp eq i64 %block, 0
%block.some = select i1 %least, i64 {GRAIN}, i64 %block
%up = add i64 %count, %block.some
%upper = sub i64 %up, 1
%blocks = udiv i64 %upper, %block.some
%most = sub i64 %blocks, 1
%others = sub i64 %threads, 1
%fewer = icmp slt i64 %most, %others
%helpers.some = select i1 %fewer, i64 %most, i64 %others
%negative = icmp slt i64 %helpers.some, 0
%helpers = select i1 %negative, i64 0, i64 %helpers.some
%owners = add i64 %helpers, 1
{_store("next", "job", NEXT, "i64 0")}
{_store("done", "job", DONE, "i64 0")}
{_store("owners", "job", OWNERS, "i64 %owners")}
{_store("count", "job", COUNT, "i64 %count")}
{_store("block", "job", BLOCK, "i64 %block.some")}
{_store("blocks", "job", BLOCKS, "i64 %blocks")}
%alone = icmp eq i64 %helpers, 0
br i1 %alone, label %work, label %schedule
schedule:
%h = phi i64 [0, %entry], [%h.next, %scheduled]
{_store("bytes", "arguments", 0, "i64 40")}
{_store("extension", "arguments", 8, "ptr null")}
{_store("of", "arguments", 16, "ptr %context")}
{_store("task", "arguments", 24, "ptr @pliant_xla_task")}
{_store("data", "arguments", 32, "ptr %job")}
{_load("ask", "api", SCHEDULE, "ptr")}
%error = call ptr %ask(ptr %arguments)
%failed = icmp ne ptr %error, null
br i1 %failed, label %forget, label %scheduled
forget:
call void @pliant_xla_forget(ptr %api, ptr %error)
call void @pliant_xla_leave(ptr %job)
br label %scheduled
scheduled:
%h.next = add i64 %h, 1
%more = icmp slt i64 %h.next, %helpers
br i1 %more, label %schedule, label %work
work:
call void @pliant_xla_work(ptr %job)
br label %wait
wait:
%finished = load atomic i64, ptr %done.p seq_cst, align 8
%all = icmp sge i64 %finished, %blocks
br i1 %all, label %end, label %wait
end:
call void @pliant_xla_leave(ptr %job)
ret void
}}}}
"""
