"""Sine and cosine in LLVM IR, equal bit for bit in one lane or many, within 1 unit in the last place.

The angle is reduced by a multiple n of pi/2, held as a sum of three doubles; with fused multiply-adds the first
subtraction is exact and the rest leaves a remainder r + e that is good to far more than 53 bits. Two polynomials in r^2
follow (interpolation of the series at Chebyshev nodes of [0, (pi/4)^2]; their error is below 2^-55). Angles beyond
`LIMIT`, infinities and NaN go to the C library, lane by lane.
"""

from __future__ import annotations

from pliant.kernels.lanes import Lanes

#: Largest angle (rad) of the polynomial path; n < 2^20 there.
LIMIT = 1.0e6

TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
HALF_PI = tuple(float.fromhex(x) for x in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))
#: Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits.
ROUNDER = 1.5 * 2.0**52

#: (sin r / r - 1) / r^2 and (cos r - 1 + r^2 / 2) / r^4 in powers of r^2.
SIN = tuple(
    float.fromhex(x)
    for x in (
        "-0x1.5555555555555p-3",
        "0x1.1111111110bb2p-7",
        "-0x1.a01a019e83aa1p-13",
        "0x1.71de379688fc3p-19",
        "-0x1.ae600b0196bc4p-26",
        "0x1.5e0b1991284d2p-33",
    )
)
COS = tuple(
    float.fromhex(x)
    for x in (
        "0x1.5555555555555p-5",
        "-0x1.6c16c16c16967p-10",
        "0x1.a01a019f4eafap-16",
        "-0x1.27e4fa17d97fdp-22",
        "0x1.1eeb68e8ab8d4p-29",
        "-0x1.907da3000171dp-37",
    )
)


def _polynomial(lanes: Lanes, name: str, coefficients: tuple[float, ...]) -> list[str]:
    """Horner's scheme in %z, the result in %{name}0."""
    T, c = lanes.type, lanes.constant
    last = len(coefficients) - 1
    lines = []
    previous = c(coefficients[last])
    for k in range(last - 1, -1, -1):
        lines.append(f"%{name}{k} = call {T} {lanes.fma}({T} {previous}, {T} %z, {T} {c(coefficients[k])})")
        previous = f"%{name}{k}"
    return lines


def definition(lanes: Lanes) -> str:
    """`{T, T} @sincos(T)`, with its way out for large angles."""
    T, I, B, c, i = lanes.type, lanes.int_type, lanes.bool_type, lanes.constant, lanes.int_constant
    pair = f"{{{T}, {T}}}"
    fma = f"call {T} {lanes.fma}"
    body = [
        # n = round(x / (pi/2)); r + e = x - n pi/2
        f"%shifted = {fma}({T} %x, {T} {c(TWO_OVER_PI)}, {T} {c(ROUNDER)})",
        f"%n = fsub {T} %shifted, {c(ROUNDER)}",
        f"%m = fneg {T} %n",
        f"%t = {fma}({T} %m, {T} {c(HALF_PI[0])}, {T} %x)",
        f"%w = fmul {T} %m, {c(HALF_PI[1])}",
        f"%w.neg = fneg {T} %w",
        f"%w.rest = {fma}({T} %m, {T} {c(HALF_PI[1])}, {T} %w.neg)",
        f"%r = fadd {T} %t, %w",
        f"%lost = fsub {T} %t, %r",
        f"%e1 = fadd {T} %lost, %w",
        f"%e2 = fadd {T} %e1, %w.rest",
        f"%e = {fma}({T} %m, {T} {c(HALF_PI[2])}, {T} %e2)",
        f"%z = fmul {T} %r, %r",
        # sin(r + e) = r + (r^3 S(r^2) + e (1 - r^2/2))
        *_polynomial(lanes, "s", SIN),
        f"%half = fmul {T} %z, {c(0.5)}",
        f"%near = fsub {T} {c(1.0)}, %half",
        f"%es = fmul {T} %e, %near",
        f"%rz = fmul {T} %r, %z",
        f"%s = {fma}({T} %rz, {T} %s0, {T} %es)",
        f"%sine = fadd {T} %r, %s",
        # cos(r + e) = (1 - r^2/2) + (rounding of that + (r^4 C(r^2) - r e))
        *_polynomial(lanes, "c", COS),
        f"%gap = fsub {T} {c(1.0)}, %near",
        f"%rest = fsub {T} %gap, %half",
        f"%re = fmul {T} %r, %e",
        f"%rest2 = fsub {T} %rest, %re",
        f"%zz = fmul {T} %z, %z",
        f"%cr = {fma}({T} %zz, {T} %c0, {T} %rest2)",
        f"%cosine = fadd {T} %near, %cr",
        # quadrant: odd n swaps, the next bit changes signs
        f"%bits = bitcast {T} %shifted to {I}",
        f"%odd = and {I} %bits, {i(1)}",
        f"%swap = icmp ne {I} %odd, {i(0)}",
        f"%s.abs = select {B} %swap, {T} %cosine, {T} %sine",
        f"%c.abs = select {B} %swap, {T} %sine, {T} %cosine",
        f"%next = add {I} %bits, {i(1)}",
        f"%s.up = shl {I} %bits, {i(62)}",
        f"%c.up = shl {I} %next, {i(62)}",
        f"%s.sign = and {I} %s.up, {i(-(2**63))}",
        f"%c.sign = and {I} %c.up, {i(-(2**63))}",
        f"%s.int = bitcast {T} %s.abs to {I}",
        f"%c.int = bitcast {T} %c.abs to {I}",
        f"%s.flip = xor {I} %s.int, %s.sign",
        f"%c.flip = xor {I} %c.int, %c.sign",
        f"%s.out = bitcast {I} %s.flip to {T}",
        f"%c.out = bitcast {I} %c.flip to {T}",
        f"%size = call {T} {lanes.intrinsic('fabs')}({T} %x)",
        f"%far = fcmp ugt {T} %size, {c(LIMIT)}",
        *lanes.any("%far", "%some"),
        "br i1 %some, label %large, label %done, !prof !0",
        "large:",
        f"%s.lib = call {T} @lanes_sin({T} %x)",
        f"%c.lib = call {T} @lanes_cos({T} %x)",
        f"%s.mix = select {B} %far, {T} %s.lib, {T} %s.out",
        f"%c.mix = select {B} %far, {T} %c.lib, {T} %c.out",
        "br label %done",
        "done:",
        f"%s.end = phi {T} [%s.out, %entry], [%s.mix, %large]",
        f"%c.end = phi {T} [%c.out, %entry], [%c.mix, %large]",
        f"%p = insertvalue {pair} undef, {T} %s.end, 0",
        f"%q = insertvalue {pair} %p, {T} %c.end, 1",
        f"ret {pair} %q",
    ]
    return f"define internal {pair} @sincos({T} %x) noinline #0 {{\nentry:\n" + "\n".join(body) + "\n}\n"


def library_definition(lanes: Lanes) -> str:
    """The same function by the C library alone, for machines without a fused multiply-add."""
    T = lanes.type
    pair = f"{{{T}, {T}}}"
    body = [
        f"%s = call {T} @lanes_sin({T} %x)",
        f"%c = call {T} @lanes_cos({T} %x)",
        f"%p = insertvalue {pair} undef, {T} %s, 0",
        f"%q = insertvalue {pair} %p, {T} %c, 1",
        f"ret {pair} %q",
    ]
    return f"define internal {pair} @sincos({T} %x) noinline #0 {{\nentry:\n" + "\n".join(body) + "\n}\n"
