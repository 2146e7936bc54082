"""Sine and cosine in LLVM IR, equal bit for bit in one lane or many, within 1 unit in the last place.

The angle is reduced by a multiple n of pi/2, held as a sum of three doubles; with fused multiply-adds the first
subtraction is exact and the rest leaves a remainder r + e that is good to far more than 53 bits. Two polynomials in r^2
follow (interpolation of the series at Chebyshev nodes of [0, (pi/4)^2]; their error is below 2^-55). Angles beyond
`LIMIT`, infinities and NaN go to the C library, lane by lane.
"""

from __future__ import annotations

from pliant.compute.llvm.lanes import Lanes

#: Largest angle (rad) of the polynomial path; n < 2^20 there.
LIMIT = 1.0e6

TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
HALF_PI = tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")))
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
    T, k = lanes.type, lanes.constant
    last = len(coefficients) - 1
    lines = []
    previous = k(coefficients[last])
    for i in range(last - 1, -1, -1):
        lines.append(f"%{name}{i} = call {T} {lanes.fma}({T} {previous}, {T} %z, {T} {k(coefficients[i])})")
        previous = f"%{name}{i}"
    return lines


def _reduction(lanes: Lanes) -> list[str]:
    """n = round(x / (pi/2)), in the low bits of %shifted; r + e = x - n pi/2."""
    T, k = lanes.type, lanes.constant
    fma = f"call {T} {lanes.fma}"
    return [
        f"%shifted = {fma}({T} %x, {T} {k(TWO_OVER_PI)}, {T} {k(ROUNDER)})",
        f"%n = fsub {T} %shifted, {k(ROUNDER)}",
        f"%m = fneg {T} %n",
        f"%t = {fma}({T} %m, {T} {k(HALF_PI[0])}, {T} %x)",
        f"%w = fmul {T} %m, {k(HALF_PI[1])}",
        f"%w.neg = fneg {T} %w",
        f"%w.rest = {fma}({T} %m, {T} {k(HALF_PI[1])}, {T} %w.neg)",
        f"%r = fadd {T} %t, %w",
        f"%lost = fsub {T} %t, %r",
        f"%e1 = fadd {T} %lost, %w",
        f"%e2 = fadd {T} %e1, %w.rest",
        f"%e = {fma}({T} %m, {T} {k(HALF_PI[2])}, {T} %e2)",
        f"%z = fmul {T} %r, %r",
    ]


def _sine_and_cosine(lanes: Lanes) -> list[str]:
    """sin(r + e) = r + (r^3 S + e (1 - r^2/2)); cos(r + e) = (1 - r^2/2) + (rounding of that + (r^4 C - r e))."""
    T, one = lanes.type, lanes.constant(1.0)
    fma = f"call {T} {lanes.fma}"
    return [
        *_polynomial(lanes, "s", SIN),
        f"%half = fmul {T} %z, {lanes.constant(0.5)}",
        f"%near = fsub {T} {one}, %half",
        f"%es = fmul {T} %e, %near",
        f"%rz = fmul {T} %r, %z",
        f"%s = {fma}({T} %rz, {T} %s0, {T} %es)",
        f"%sine = fadd {T} %r, %s",
        *_polynomial(lanes, "c", COS),
        f"%gap = fsub {T} {one}, %near",
        f"%rest = fsub {T} %gap, %half",
        f"%r.neg = fneg {T} %r",
        f"%rest2 = {fma}({T} %r.neg, {T} %e, {T} %rest)",
        f"%zz = fmul {T} %z, %z",
        f"%c = {fma}({T} %zz, {T} %c0, {T} %rest2)",
        f"%cosine = fadd {T} %near, %c",
    ]


def _quadrant(lanes: Lanes) -> list[str]:
    """Swap sine and cosine for an odd n; the second bit of n changes the sine's sign, that of n + 1 the cosine's."""
    T, I, B, i = lanes.type, lanes.int_type, lanes.bool_type, lanes.int_constant

    def bit(name: str, value: str, mask: int) -> list[str]:
        return [f"%{name}.bit = and {I} {value}, {i(mask)}", f"%{name} = icmp ne {I} %{name}.bit, {i(0)}"]

    return [
        f"%bits = bitcast {T} %shifted to {I}",
        f"%next = add {I} %bits, {i(1)}",
        *bit("swap", "%bits", 1),
        *bit("s.turn", "%bits", 2),
        *bit("c.turn", "%next", 2),
        f"%s.size = select {B} %swap, {T} %cosine, {T} %sine",
        f"%c.size = select {B} %swap, {T} %sine, {T} %cosine",
        f"%s.neg = fneg {T} %s.size",
        f"%c.neg = fneg {T} %c.size",
        f"%s.out = select {B} %s.turn, {T} %s.neg, {T} %s.size",
        f"%c.out = select {B} %c.turn, {T} %c.neg, {T} %c.size",
    ]


def _far_angles(lanes: Lanes) -> list[str]:
    """Take sine and cosine from the C library in lanes whose angle is beyond the limit or not finite."""
    T, B, s = lanes.type, lanes.bool_type, lanes.suffix
    return [
        f"%size = call {T} {lanes.intrinsic('fabs')}({T} %x)",
        f"%far = fcmp ugt {T} %size, {lanes.constant(LIMIT)}",
        *lanes.any("%far", "%some"),
        "br i1 %some, label %large, label %done, !prof !0",
        "large:",
        f"%s.lib = call {T} @lanes_sin_{s}({T} %x)",
        f"%c.lib = call {T} @lanes_cos_{s}({T} %x)",
        f"%s.mix = select {B} %far, {T} %s.lib, {T} %s.out",
        f"%c.mix = select {B} %far, {T} %c.lib, {T} %c.out",
        "br label %done",
        "done:",
        f"%s.end = phi {T} [%s.out, %entry], [%s.mix, %large]",
        f"%c.end = phi {T} [%c.out, %entry], [%c.mix, %large]",
    ]


def _function(lanes: Lanes, body: list[str]) -> str:
    T = lanes.type
    pair = f"{{{T}, {T}}}"
    head = f"define internal {pair} @sincos_{lanes.suffix}({T} %x) noinline #0 {{\nentry:\n"
    result = [
        f"%result.s = insertvalue {pair} undef, {T} %s.end, 0",
        f"%result = insertvalue {pair} %result.s, {T} %c.end, 1",
        f"ret {pair} %result",
    ]
    return head + "\n".join(body + result) + "\n}\n"


def definition(lanes: Lanes, fma: bool) -> str:
    """`{T, T} @sincos_<suffix>(T)`; without a fused multiply-add it only calls the C library."""
    T, s = lanes.type, lanes.suffix
    if not fma:
        names = (("sin", "s"), ("cos", "c"))
        return _function(lanes, [f"%{short}.end = call {T} @lanes_{name}_{s}({T} %x)" for name, short in names])
    body = [*_reduction(lanes), *_sine_and_cosine(lanes), *_quadrant(lanes), *_far_angles(lanes)]
    return _function(lanes, body)
