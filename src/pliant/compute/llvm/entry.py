"""Entry points of a kernel in LLVM IR: one state, or rows of states gathered into packs and scattered again."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.compute.llvm.lanes import Lanes

#: Names of the entry points in object code.
SINGLE, BATCH, SCRATCH = "pliant_single", "pliant_batch", "pliant_scratch"


def single(work_size: int) -> str:
    """`void pliant_single(const double *in, double *out)`."""
    return (
        f"define void @{SINGLE}(ptr noalias nocapture %in, ptr noalias nocapture %out) #0 {{\n"
        f"%work = alloca [{max(work_size, 1)} x double], align 64\n"
        "call void @body(ptr %in, ptr %out, ptr %work)\nret void\n}\n"
    )


def scratch(work_size: int, n_in: int, n_out: int, lanes: Lanes) -> str:
    """`int64 pliant_scratch(void)`: doubles of scratch memory that `pliant_batch` needs."""
    size = (work_size + n_in + n_out) * lanes.width
    return f"define i64 @{SCRATCH}() #0 {{\nret i64 {size}\n}}\n"


def batch(work_size: int, in_sizes: Sequence[int], out_sizes: Sequence[int], lanes: Lanes) -> str:
    """`int64 pliant_batch(const double **in, int64 *stride, double **out, double *scratch, int64 start, int64 stop)`.

    Row `i` of input `k` starts at `in[k] + i * stride[k]` (a stride of 0 shares one row among all states), row `i` of
    output `k` at `out[k] + i * size`. Lanes beyond `stop` repeat the last state. The result is 1 where any input was
    not finite, and 0 otherwise.
    """
    w, T = lanes.width, lanes.type
    n_in, n_out = sum(in_sizes), sum(out_sizes)
    lines = [
        f"define i64 @{BATCH}(ptr %ins, ptr %strides, ptr %outs, ptr noalias %scratch, i64 %start, i64 %stop) #0 {{",
        "entry:",
        f"%in = getelementptr {T}, ptr %scratch, i64 0",
        f"%out = getelementptr {T}, ptr %scratch, i64 {n_in}",
        f"%work = getelementptr {T}, ptr %scratch, i64 {n_in + n_out}",
        "%last = sub i64 %stop, 1",
        "%some = icmp slt i64 %start, %stop",
        "br i1 %some, label %pack, label %end",
        "pack:",
        "%i = phi i64 [%start, %entry], [%i.next, %packed]",
        f"%bad = phi {T} [{lanes.constant(0.0)}, %entry], [BAD, %packed]",
    ]
    for lane in range(w):
        lines += [
            f"%ahead{lane} = add i64 %i, {lane}",
            f"%over{lane} = icmp sgt i64 %ahead{lane}, %last",
            f"%row{lane} = select i1 %over{lane}, i64 %last, i64 %ahead{lane}",
        ]
    block, bad, place = "pack", "%bad", 0
    for k, size in enumerate(in_sizes):
        if size:
            lines += _gather(k, size, place, block, bad, lanes)
            block, bad, place = f"gathered{k}", f"%bad{k}.next", place + size
    lines.append("call void @body(ptr %in, ptr %out, ptr %work)")
    place = 0
    for k, size in enumerate(out_sizes):
        if size:
            lines += _scatter(k, size, place, block, lanes)
            block, place = f"scattered{k}", place + size
    lines += [
        "br label %packed",
        "packed:",
        f"%i.next = add i64 %i, {w}",
        "%more = icmp slt i64 %i.next, %stop",
        "br i1 %more, label %pack, label %end",
        "end:",
        f"%sum = phi {T} [{lanes.constant(0.0)}, %entry], [BAD, %packed]",
        f"%nan = fcmp uno {T} %sum, %sum",
        *lanes.any("%nan", "%any"),
        "%flag = zext i1 %any to i64",
        "ret i64 %flag",
        "}",
    ]
    return "\n".join(lines).replace("BAD", bad) + "\n" + scratch(work_size, n_in, n_out, lanes)


def _rows(array: str, k: int, lanes: Lanes, stride: str) -> list[str]:
    """Lines that compute the start of each lane's row of array `k`."""
    lines = [
        f"%{array}{k}.p = getelementptr ptr, ptr %{array}s, i64 {k}",
        f"%{array}{k} = load ptr, ptr %{array}{k}.p, align 8",
    ]
    for lane in range(lanes.width):
        lines += [
            f"%{array}{k}.o{lane} = mul i64 %row{lane}, {stride}",
            f"%{array}{k}.r{lane} = getelementptr double, ptr %{array}{k}, i64 %{array}{k}.o{lane}",
        ]
    return lines


def _loop(name: str, size: int, before: str, after: str, phis: list[str], body: list[str]) -> list[str]:
    """A loop `for j in range(size)`, from block `before` to block `after`."""
    return [
        f"br label %{name}",
        f"{name}:",
        f"%{name}.j = phi i64 [0, %{before}], [%{name}.next, %{name}]",
        *phis,
        *body,
        f"%{name}.next = add i64 %{name}.j, 1",
        f"%{name}.more = icmp slt i64 %{name}.next, {size}",
        f"br i1 %{name}.more, label %{name}, label %{after}",
        f"{after}:",
    ]


def _gather(k: int, size: int, place: int, block: str, bad: str, lanes: Lanes) -> list[str]:
    """Copy input `k` of every lane into the pack; x - x is NaN where x is not finite, and stays so in the sum."""
    T, name = lanes.type, f"gather{k}"
    lines = [
        f"%stride{k}.p = getelementptr i64, ptr %strides, i64 {k}",
        f"%stride{k} = load i64, ptr %stride{k}.p, align 8",
    ]
    lines += _rows("in", k, lanes, f"%stride{k}")
    body, pack = [], "undef"
    for lane in range(lanes.width):
        at, x, filled = f"%{name}.a{lane}", f"%{name}.x{lane}", f"%{name}.v{lane}"
        body += [
            f"{at} = getelementptr double, ptr %in{k}.r{lane}, i64 %{name}.j",
            f"{x} = load double, ptr {at}, align 8",
        ]
        if lanes.width > 1:
            body.append(f"{filled} = insertelement {T} {pack}, double {x}, i32 {lane}")
            pack = filled
        else:
            pack = x
    body += [
        f"%{name}.place = add i64 %{name}.j, {place}",
        f"%{name}.to = getelementptr {T}, ptr %in, i64 %{name}.place",
        f"store {T} {pack}, ptr %{name}.to, align 8",
        f"%{name}.nought = fsub {T} {pack}, {pack}",
        f"%bad{k}.next = fadd {T} %bad{k}, %{name}.nought",
    ]
    phis = [f"%bad{k} = phi {T} [{bad}, %{block}], [%bad{k}.next, %{name}]"]
    return lines + _loop(name, size, block, f"gathered{k}", phis, body)


def _scatter(k: int, size: int, place: int, block: str, lanes: Lanes) -> list[str]:
    """Copy output `k` of every lane from the pack to its row."""
    T, name = lanes.type, f"scatter{k}"
    lines = _rows("out", k, lanes, str(size))
    body = [
        f"%{name}.place = add i64 %{name}.j, {place}",
        f"%{name}.from = getelementptr {T}, ptr %out, i64 %{name}.place",
        f"%{name}.pack = load {T}, ptr %{name}.from, align 8",
    ]
    for lane in range(lanes.width):
        x = f"%{name}.pack"
        if lanes.width > 1:
            x = f"%{name}.x{lane}"
            body.append(f"{x} = extractelement {T} %{name}.pack, i32 {lane}")
        at = f"%{name}.a{lane}"
        body += [
            f"{at} = getelementptr double, ptr %out{k}.r{lane}, i64 %{name}.j",
            f"store double {x}, ptr {at}, align 8",
        ]
    return lines + _loop(name, size, block, f"scattered{k}", [], body)
