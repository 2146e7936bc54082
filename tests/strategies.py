"""Random valid robots for hypothesis: every kind of joint, body, section and shape."""

from __future__ import annotations

from hypothesis import strategies as st

from pliant.robot import (
    DH,
    MATERIALS,
    Beam,
    Drive,
    Friction,
    Joint,
    Limits,
    Link,
    Lump,
    Material,
    Origin,
    RigidBody,
    Robot,
    Section,
    Shapes,
    TipLoad,
)

positive = st.floats(1e-6, 1e9)
small = st.floats(1e-3, 10.0)
number = st.floats(-1e3, 1e3)
vector = st.tuples(number, number, number)
angle = st.one_of(st.floats(-7, 7), st.sampled_from(["pi/2", "-pi", "90 deg", "-(30+15) deg"]))
ANY = st.deferred(lambda: st.builds(lambda a, b, c: [b + c, a + c, a + b], positive, positive, positive))  # triangle
inertia = st.one_of(ANY, st.just([0.0, 0.0, 0.0]), st.builds(lambda d: [*d, 0.0, 0.0, 0.0], ANY))
lump = st.builds(Lump, mass=st.floats(0, 1e4), inertia=inertia, com=vector)
rigid = st.builds(
    RigidBody, mass=st.floats(0, 1e4), com=vector, inertia=inertia, tip=vector, tip_rpy=st.tuples(angle, angle, angle)
)
drive = st.one_of(
    st.builds(Drive, rotor_inertia=st.floats(0, 1), gear_ratio=positive),
    st.builds(Drive, stiffness=positive, rotor_inertia=positive, damping=st.floats(0, 10)),
)
friction = st.builds(Friction, viscous=st.floats(0, 9), coulomb=st.floats(0, 9), coulomb_speed=small)
limits = st.builds(lambda a, b: Limits(lower=min(a, b), upper=max(a, b)), number, number)
origin = st.builds(Origin, xyz=vector, rpy=st.tuples(angle, angle, angle))
row = st.builds(DH, a=number, alpha=angle, d=number, theta=angle)
axis = vector.filter(lambda v: sum(x * x for x in v) > 1e-6)


@st.composite
def joints(draw: st.DrawFn) -> Joint:
    kind = draw(st.sampled_from(["revolute", "prismatic", "fixed"]))
    if kind == "fixed":
        return Joint(type=kind, origin=draw(origin), hub=draw(lump))
    place = draw(
        st.one_of(st.builds(lambda o, a: {"origin": o, "axis": a}, origin, axis), st.builds(lambda r: {"dh": r}, row))
    )
    return Joint(
        type=kind,
        hub=draw(lump),
        drive=draw(st.none() | drive),
        friction=draw(friction),
        limits=draw(st.none() | limits),
        **place,
    )


@st.composite
def sections(draw: st.DrawFn) -> Section:
    shape = draw(st.sampled_from(["rod", "tube", "box", "rectangle", "i", "channel", "tee", "angle", "polygon"]))
    x = draw(st.none() | st.just([0, 0.25, 1])) if shape in ("rod", "tube", "box", "rectangle") else None
    d = draw(small)
    column = d if x is None else [2 * d, 1.5 * d, d]
    dims = {
        "rod": {"diameter": column},
        "tube": {"outer_diameter": column, "inner_diameter": 0.7 * d},
        "box": {"width": column, "height": 1.2 * d, "thickness": 0.1 * d},
        "rectangle": {"width": column, "height": 0.5 * d},
        "angle": {"width": d, "height": 0.7 * d, "thickness": 0.1 * d},
        "polygon": {
            "points": [(0, 0), (d, 0), (0, 2 * d)],
            "holes": [[(0.1 * d, 0.1 * d), (0.2 * d, 0.1 * d), (0.1 * d, 0.3 * d)]],
        },
    } | {name: {"width": d, "height": 1.2 * d, "flange": 0.1 * d, "web": 0.08 * d} for name in ("i", "channel", "tee")}
    return Section(
        shape=shape,
        x=x,
        rotation=draw(st.none() | angle),
        offset=draw(st.none() | st.tuples(small, small)),
        **dims[shape],
    )


material = st.sampled_from(list(MATERIALS)) | st.builds(Material, E=positive, G=positive, density=positive)
rotary = st.none() | st.tuples(small, small)
beams = st.one_of(
    st.builds(
        Beam, length=small, mass_per_length=positive, EI_y=positive, EI_z=positive, GJ=positive, EA=positive,
        polar_inertia=small, rotary=rotary,
    ),
    st.builds(Beam, length=small, material=material, section=sections(), rotary=rotary | st.just("section")),
)  # fmt: skip
load = st.just("auto") | st.builds(
    lambda m, j, f: TipLoad(mass=m, inertia=j, first_moment=f * (m * min(j[1:])) ** 0.5),
    small, st.tuples(small, small, small), st.floats(-1, 1),
)  # fmt: skip


@st.composite
def shapes(draw: st.DrawFn) -> Shapes:
    common = {"damping": draw(st.floats(0, 1))}
    if draw(st.integers(0, 3)) == 0:
        accuracy = draw(st.none() | st.floats(1e-3, 0.2))
        return Shapes(
            method="auto", accuracy=accuracy, band=draw(st.none() | small), torsion=draw(st.booleans()), **common
        )
    if draw(st.booleans()):
        common |= {"boundary": "clamped-mass", "tip_load": draw(load)}
    names = ("bending_y", "bending_z", "torsion", "axial")
    if draw(st.booleans()):
        counts = {name: draw(st.integers(0, 4)) for name in names}
        return Shapes(normalize=draw(st.sampled_from(["unit", "tip"])), **counts, **common)
    switches = {name: draw(st.booleans()) for name in names}
    reduce = draw(st.none() | st.integers(1, 5))
    return Shapes(method="elements", count=draw(st.integers(1, 9)), reduce=reduce, **switches, **common)


@st.composite
def links(draw: st.DrawFn, index: int) -> Link:
    name = draw(st.sampled_from(["link", "Upper", "_x", "no", "null", "e1"])) + f"_{index}"
    if draw(st.booleans()):
        return Link(name=name, joint=draw(joints()), rigid=draw(rigid), tip=draw(lump))
    return Link(name=name, joint=draw(joints()), beam=draw(beams), shapes=draw(st.none() | shapes()), tip=draw(lump))


title = st.text(min_size=1, max_size=60).filter(lambda t: t.isprintable() and t == t.strip()) | st.sampled_from(
    ["1e5", "null", "on", "- a", "a: b", "'", "0x10", "12:30", "2020-01-01", "~", "# x", "<<", ".nan", "π & Ü"]
)


@st.composite
def robots(draw: st.DrawFn) -> Robot:
    count = draw(st.integers(1, 3))
    chain = [draw(links(k)) for k in range(count)]
    return Robot(name=draw(title), gravity=draw(vector), links=chain, payload=draw(lump))
