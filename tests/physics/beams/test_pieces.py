"""`pieces: k` is the beam cut by hand, seen as one link: same equations, same places, same forces, same damping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pliant
from arms import random_robot
from evaluation import evaluate, relative
from pliant import Beam, Joint, Link, Robot, Section, Shapes
from pliant.compute import Tape
from pliant.errors import ModelError
from pliant.export.fmu.variables import outputs
from pliant.figures.run_panels import attitudes
from pliant.loads import Distributed, Wrench
from pliant.mechanics import build_chain
from pliant.mechanics.links.builders.build_chain import robot_shapes
from pliant.mechanics.links.section_forces import InternalForces
from pliant.model.automatic_shapes.piece_choice import chosen_pieces
from pliant.robot import DH, Drive, Frame, Friction, Lump, Origin, Payload, RigidBody
from pliant.robot.parts.beam import beam_properties
from pliant.robot.pieces import in_pieces
from pliant.sweeps.metrics import Histories, peak_deflection
from trees import random_tree, tree_state

FORMULATIONS = ("lagrange", "denoc", "gibbs-appell", "recursive-lagrange")
STIFF = {"EI_y": 31.0, "EI_z": 17.0, "GJ": 9.0, "EA": 4e4}
LONG = {"length": 1.7, "mass_per_length": 0.9, **STIFF, "polar_inertia": 2e-3, "rotary": (6e-4, 9e-4)}
ALL = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True, axial=True)
PLANE = Shapes(method="elements", count=1, bending_y=True)
ACROSS = Shapes(method="elements", count=1, bending_z=True)
BOTH = Shapes(method="elements", count=1, bending_y=True, torsion=True)
THREE = Shapes(method="elements", count=3, bending_y=True)
JOINT = Joint(
    axis=(0.2, -0.9, 0.4), origin=Origin(xyz=(0.1, -0.2, 0.3), rpy=(0.3, -0.5, 0.2)), friction=Friction(viscous=0.2),
    hub=Lump(mass=0.6, com=(0.02, 0.01, -0.03), inertia=(0.01, 0.02, 0.015)),
    drive=Drive(stiffness=900.0, rotor_inertia=2e-3, gear_ratio=7.0, damping=0.4),
)  # fmt: skip
TIP = Lump(mass=0.3, com=(0.05, 0.02, -0.01), inertia=(0.004, 0.006, 0.005))
FORE = Link(
    name="fore", joint=Joint(axis=(0, 0.6, 0.8), origin=Origin(xyz=(0.05, 0.1, 0), rpy=(0.4, 0, 0.1))),
    rigid=RigidBody(mass=1.1, com=(0.2, 0.03, 0.01), inertia=(0.01, 0.05, 0.04), tip=(0.4, 0.1, 0)),
)  # fmt: skip
FINGER = Link(
    name="finger", parent="boom", at={"x": 1.1}, joint=Joint(axis=(0, 1, 0)), rigid=RigidBody.slender_rod(0.5, 0.3)
)  # fmt: skip


def arm(count: int | None = 3, shapes: Shapes = ALL, *, beam: dict[str, Any] | None = None, **more: Any) -> Robot:
    """A boom with all that a link may have, and what hangs on it."""
    boom = Link(name="boom", joint=JOINT, beam=Beam(**(beam or LONG), pieces=count), shapes=shapes, tip=TIP)
    frames = [Frame(name="eye", link="boom", x=0.8, origin=Origin(xyz=(0, 0.1, 0.05), rpy=(0.1, 0.2, 0.3)))]
    payloads = [Payload(mass=0.7, com=(0.03, 0, 0.1)), Payload(link="boom", mass=0.2, com=(0, 0.1, 0))]
    given = {"links": [boom, FORE, FINGER], "payload": payloads, "frames": frames, "gravity": (0.5, -1.0, -9.0)}
    return Robot(name="arm", **{**given, **more})


def by_hand(count: int) -> Robot:
    """The same arm as links on fixed joints."""
    part = Beam(**{**LONG, "length": LONG["length"] / count})
    links = [Link(name="boom", joint=JOINT, beam=part, shapes=ALL)]
    links += [Link(name=f"boom_{k}", joint=Joint(type="fixed"), beam=part, shapes=ALL) for k in range(2, count + 1)]
    links[-1] = links[-1].model_copy(update={"tip": TIP})
    step = LONG["length"] / count
    own = [int(x // step) for x in (1.1, 0.8)]
    finger = FINGER.model_copy(update={"parent": links[own[0]].name})
    finger = Link.from_dict({**finger.model_dump(exclude_unset=True), "at": {"x": 1.1 - own[0] * step}})
    eye = Frame(name="eye", link=links[own[1]].name, x=0.8 - own[1] * step,
                origin=Origin(xyz=(0, 0.1, 0.05), rpy=(0.1, 0.2, 0.3)))  # fmt: skip
    payloads = [Payload(mass=0.7, com=(0.03, 0, 0.1)), Payload(link=links[-1].name, mass=0.2, com=(0, 0.1, 0))]
    return Robot(name="hand", gravity=(0.5, -1.0, -9.0), links=[*links, FORE, finger], payload=payloads, frames=[eye])


def state(model: pliant.Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd = tree_state(model.chain, 3, 0.03)
    return q, qd, rng.normal(size=model.n_joints)


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("count", [3, pytest.param(5, marks=pytest.mark.full)])
def test_pieces_are_links_on_fixed_joints(count: int, rng: np.random.Generator) -> None:
    one, other = (robot.model("denoc", stiffening="second-order") for robot in (arm(count), by_hand(count)))
    assert one.coordinates[:4] == ("boom", "fore", "finger", "boom.motor")
    assert one.coordinates[4] == "boom.1.bending_y.1"
    assert one.coordinates[-1] == f"boom.{count}.axial.1"
    q, qd, tau = state(one, rng)
    assert one.forward_dynamics(q, qd, tau) == pytest.approx(other.forward_dynamics(q, qd, tau), rel=1e-12)
    for frame in ("tip", "eye", "finger.tip", "fore.root", "boom.root"):
        assert one.pose(q, frame=frame) == pytest.approx(other.pose(q, frame=frame), abs=1e-14)
    assert one.pose(q, frame="boom.tip") == pytest.approx(other.pose(q, frame=f"boom_{count}.tip"), abs=1e-14)
    own = [f"{link}.{place}" for link in ("boom", "fore", "finger") for place in ("root", "tip")]
    assert one.frames == ("tip", "base", "eye", *own)


@pytest.mark.slow_cases("at2", "at3", "tip")
@pytest.mark.parametrize("at", ["tip", "root", {"x": 0.4}, {"x": 1.1}])
def test_who_names_no_parent_hangs_on_the_link_before(at: Any) -> None:
    boom, _, finger = arm(3, PLANE).links
    named = Link.from_dict({**finger.model_dump(exclude_none=True), "at": at})
    silent = named.model_copy(update={"parent": None})
    one, other = (Robot(name="r", links=[boom, link]).model(stiffening="off") for link in (named, silent))
    q = np.linspace(0.01, 0.02, one.n)
    assert other.pose(q, frame="finger.tip") == pytest.approx(one.pose(q, frame="finger.tip"), abs=1e-15)


@pytest.mark.full
def test_formulations_agree() -> None:
    _agree(0, small=True)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40))
def test_formulations_agree_on_many(seed: int) -> None:
    _agree(seed)


def _agree(seed: int, small: bool = False) -> None:
    """A random chain or tree, whose beams are in pieces where they may be, by all formulations."""
    chosen = np.random.default_rng((seed, 5))
    robot = random_tree(seed, 2 + seed % 2, flying=seed % 5 == 4) if seed % 2 else random_robot(seed, 2)
    links = tuple(_cut(link, chosen, small) for link in robot.links)
    robot = robot.model_copy(update={"links": links})
    chain = build_chain(robot, stiffening="second-order")
    assert len(chain.links) > len(robot.bodies)
    q, qd = tree_state(chain, seed)
    tau = np.random.default_rng(seed).normal(size=chain.n_joints)
    first, *others = (evaluate(chain, name, q, qd, tau) for name in FORMULATIONS)
    for other in others:
        assert max(relative(other[what], first[what]) for what in first) < 1e-9


def _cut(link: Link, chosen: np.random.Generator, small: bool) -> Link:
    """The link in two or three pieces, some of them turned; with its own shapes or with a cubic in each piece."""
    if link.beam is None or link.shapes is None or link.beam.slides:
        return link
    if link.shapes.boundary == "pinned" or link.shapes.tip_load not in (None, "auto"):
        return link
    curve = {"curvature": (0.2, -0.3), "twist": 0.4} if chosen.random() < 0.4 else {}
    cubic = {"method": "elements", "count": 1, "bending_y": True, "torsion": True}
    beam, shapes = (part.model_dump(exclude_none=True) for part in (link.beam, link.shapes))
    count = 2 if small else int(chosen.integers(2, 4))
    update = {
        "beam": {**beam, "pieces": count, **curve},
        "shapes": cubic if small or chosen.random() < 0.5 else shapes,
    }
    return Link.from_dict({**link.model_dump(exclude_none=True), **update})


# ------------------------------------------------------------------------------------------- what users ask of the link


@pytest.fixture(scope="module")
def run() -> pliant.Result:
    model = arm(3, BOTH).model(stiffening="second-order")
    push = Wrench(force=(3.0, -2.0, 4.0), link="boom", x=1.2)
    return pliant.simulate(model, 0.06, q0={"boom": 0.4, "fore": -0.3}, loads=[push], output_step=0.01)


def test_energy_is_kept(run: pliant.Result) -> None:
    assert np.abs(run.energy_balance).max() < 1e-9 * np.ptp(run.energy.gravity)


STATIONS = {0.3: 0.3, "middle": 0.85, 1.7 / 3: 1.7 / 3, 1.2: 1.2, "tip": 1.7}


@pytest.fixture(scope="module")
def framed(run: pliant.Result) -> pliant.Model:
    """The arm with a frame at each station."""
    frames = [{"name": f"here{k}", "link": "boom", "x": x} for k, x in enumerate(STATIONS.values())]
    return run.robot.replace({"frames": frames}).model(stiffening="second-order")


@pytest.mark.slow_cases("0.3")
@pytest.mark.parametrize("x", STATIONS)
def test_deflection_is_that_of_the_link(run: pliant.Result, framed: pliant.Model, x: Any) -> None:
    """From the frame at the root: where the section is, less where it was."""
    straight, frame = STATIONS[x], f"here{list(STATIONS).index(x)}"
    for k in (2, -1):
        root, here = (framed.pose(run.q[k], frame=name) for name in ("boom.root", frame))
        own = np.linalg.solve(root, here)
        assert run.deflection("boom", x)[k] == pytest.approx(own[:3, 3] - [straight, 0, 0], abs=1e-12)
        assert Rotation.from_rotvec(run.rotation("boom", x)[k]).as_matrix() == pytest.approx(own[:3, :3], abs=1e-12)


@pytest.mark.slow
def test_section_forces_are_continuous_where_pieces_meet(run: pliant.Result) -> None:
    """But for the finger's reaction they do not jump; moments over stiffnesses are curvatures."""
    joint = 2 * 1.7 / 3
    before, after = (np.column_stack(run.internal("boom", x)) for x in (joint - 1e-7, joint + 1e-7))
    size = np.abs(before).max(axis=0)
    assert np.abs(after - before).max(axis=0) == pytest.approx(0, abs=1e-4 * size.max())
    bent = np.column_stack(run.internal("boom", 0.5))[:, 3:] / [9.0, 31.0, 17.0]
    assert run.curvature("boom", 0.5) == pytest.approx(bent, rel=1e-9)
    reaction = run.reaction("boom")
    assert reaction.force.shape == (len(run), 3)


@pytest.mark.slow
def test_loads_along_the_link() -> None:
    """A load per length over the whole link is its weight; over a part and with a profile, its moment is known."""
    robot = arm(4, links=[Link(name="boom", joint=Joint(axis=(0, 1, 0)), beam=Beam(**LONG, pieces=4), shapes=ACROSS)],
                payload={"mass": 0.0}, frames=[], gravity=(0, 0, 0))  # fmt: skip
    model, rest = robot.model(stiffening="second-order"), np.zeros(9)
    heavy = robot.replace({"gravity": (0.0, 0.0, -9.0)}).model(stiffening="second-order")
    weight = Distributed(force=(0, 0, -9.0 * 0.9), link="boom")
    assert model.equilibrium([0.2], [weight]) == pytest.approx(heavy.equilibrium([0.2]), abs=1e-10)
    part = Distributed(force=(0, 0, 2.0), link="boom", start=0.3, end=1.4, profile=lambda x: x**2)
    assert model.holding_torque(rest, loads=[part]) == pytest.approx([2.0 * (1.4**4 - 0.3**4) / 4], rel=1e-12)


@pytest.mark.full
def test_sensors_and_gauges() -> None:
    model = arm(3).model(stiffening="second-order")
    q = np.zeros(model.n)
    q[model.index("boom.2.bending_y.1")] = 0.01
    gauges = [pliant.control.StrainGauge("boom", x) for x in (0.5, 0.9)]
    sense = pliant.control.Measurement(model, [*gauges, pliant.control.Accelerometer("boom", axis=2)])
    first, second, _ = sense.ideal(q, np.zeros(model.n), np.zeros(3))[0]
    run = pliant.simulate(model, 1e-4, q, rtol=1e-6)
    for reading, x in ((first, 0.5), (second, 0.9)):  # the strain of the link, whichever piece the station is on
        middle, side = (run.strain("boom", x, at)[0] for at in ((0.0, 0.0), (0.01, 0.0)))
        assert reading == pytest.approx((middle - side) / 0.01, rel=1e-8)


@pytest.mark.slow
def test_damping_is_that_of_the_whole_link() -> None:
    """Root held, all beyond at its tip: every mode has the ratio, and the mass damps as that of the link does."""
    shapes = Shapes(method="elements", count=1, bending_y=True, bending_z=True, torsion=True, damping=0.03)
    joint = Joint(origin=Origin(rpy=(0.2, 0.1, 0.4)))
    fore = FORE.model_copy(update={"joint": Joint(axis=(0, 0.6, 0.8))})
    boom = Link(name="boom", joint=joint, beam=Beam(**LONG, pieces=3), shapes=shapes, tip=TIP)
    model = Robot(name="r", links=[boom, fore], gravity=(0, 0, 0), payload={"mass": 0.4}).model(stiffening="off")
    assert model.damping_ratios() == pytest.approx(0.03, rel=1e-9)
    whole = [Shapes(method="elements", count=n, bending_y=True, rayleigh=(0.7, 1e-4)) for n in (1, 3)]
    beams = [Beam(**LONG, pieces=3), Beam(**LONG)]
    links = [Link(name="boom", joint=joint, beam=beam, shapes=s, tip=TIP) for beam, s in zip(beams, whole)]
    one, other = (Robot(name="r", links=[link, fore], gravity=(0, 0, 0)).model(stiffening="off") for link in links)
    assert one.damping_ratios() == pytest.approx(other.damping_ratios(), rel=1e-9)
    assert one.frequencies() == pytest.approx(other.frequencies(), rel=1e-9)
    own = [pliant.analysis.link_frequencies(model, "boom", load=0.3) for model in (one, other)]
    assert own[0] == pytest.approx(own[1], rel=1e-9)


def test_a_thrown_link_goes_by_its_name() -> None:
    """A free joint: poses and attitudes are those of the link, in runs, scenarios and plots; so are the deflection that
    sweeps know and the strains of an FMU."""
    link = Link(name="boom", joint=Joint(type="free"), beam=Beam(**LONG, pieces=2), shapes=PLANE)
    model = Robot(name="thrown", links=[link]).model()
    run = pliant.simulate(model, 0.02, q0={"boom": {"position": [1, 2, 3], "rpy": [0.1, 0.2, 0.3]}}, output_step=0.01)
    assert run.q[0, :3].tolist() == [1.0, 2.0, 3.0]
    assert attitudes(run)["boom"][0] == pytest.approx([0.1, 0.2, 0.3])
    given = {"robot": run.robot, "duration": 0.01, "initial": {"q": {"boom": {"rpy": [0, 0, 1]}}}}
    assert pliant.scenario.Scenario(**given).robot == run.robot
    strains = [output.name for output in outputs(model, InternalForces(model.chain))]
    assert strains[3:] == ["strain.boom.bending_y"]
    q = model.chain.rest()
    q[model.index("boom.1.bending_y.2")] = 0.1
    bent = pliant.simulate(model, 1e-6, q0=q, output_step=1e-6)
    largest = np.linalg.norm(bent.deflection("boom"), axis=1).max()
    assert largest > 0.08  # the second piece is turned by it
    histories = Histories(model, bent.t, bent.q[None], bent.qd[None], bent.tau[None], np.zeros((1, 0)))
    assert peak_deflection(histories) == pytest.approx([largest])


def test_a_link_by_itself_is_whole() -> None:
    """Its table of frequencies and its mode shapes: three pieces are three elements."""
    made = [Link(name="boom", beam=Beam(**LONG, pieces=n), shapes=s) for n, s in ((3, PLANE), (None, THREE))]
    one, other = (robot_shapes(Robot(name="r", links=[link]))[0] for link in made)
    assert one is not None
    assert other is not None
    beam = beam_properties(made[0].beam)
    assert one.frequencies(beam) == pytest.approx(other.frequencies(beam), rel=1e-12)


@pytest.mark.slow
def test_parameters_speak_of_the_link(rng: np.random.Generator) -> None:
    """Length, stiffness, mass, damping, tip and payload as inputs: as if the robot had them."""
    wanted = {
        "links.boom.beam.length": 1.5, "links.boom.beam.EI_z": 20.0, "links.boom.beam.mass_per_length": 1.1,
        "links.boom.shapes.damping": 0.02, "links.boom.tip.mass": 0.5, "links.boom.joint.hub.mass": 0.8,
        "payload.0.mass": 0.9,
    }  # fmt: skip
    damped = BOTH.model_copy(update={"damping": 0.01, "rayleigh": (0.3, 1e-5)})
    robot = arm(3, damped, frames=[], payload=[Payload(mass=0.7)], links=[arm(3, damped).links[0], FORE])
    model = robot.model(parameters=list(wanted), stiffening="off")
    q, qd, tau = state(model, rng)
    fitted = {**wanted, "links.boom.shapes.damping": 0.0}  # dampers are fitted once, to the nominal arm
    p = np.array(list(fitted.values()))
    changed = robot.replace(fitted).model(stiffening="off")
    assert model.forward_dynamics(q, qd, tau, p) == pytest.approx(changed.forward_dynamics(q, qd, tau), rel=1e-10)
    nominal = robot.model(stiffening="off").forward_dynamics(q, qd, tau)
    assert model.forward_dynamics(q, qd, tau) == pytest.approx(nominal, rel=1e-12)
    with pytest.raises(ModelError, match="says how pieces of the beam stand"):
        curved(twist=0.3).model(parameters=["links.boom.beam.twist"])


# ------------------------------------------------------------------------------------------------------- how it is cut


def test_one_piece_is_the_beam_itself() -> None:
    """The same tape, whatever else the arm has."""
    tapes = [Tape.from_function(arm(n, PLANE).model().kernel("forward_dynamics").function) for n in (None, 1)]
    for column in ("op", "a", "b", "constant", "outputs"):
        np.testing.assert_array_equal(getattr(tapes[0], column), getattr(tapes[1], column))
    robot = pliant.load("two-link")
    assert in_pieces(robot) is robot


@pytest.mark.slow
def test_tapered_and_stubby_beams_keep_their_sections() -> None:
    """Mass, rotary inertia by default of the whole, and the bending of a taper under a small load."""
    box = Section(shape="box", x=[0, 0.4, 1], width=[0.06, 0.05, 0.03], height=0.04, thickness=[0.004, 0.003, 0.002],
                  rotation=0.3, offset=(0.01, -0.02))  # fmt: skip
    fine = Shapes(method="elements", count=12, bending_y=True, bending_z=True)
    taper = {"length": 0.9, "material": "steel", "section": box}
    links = [
        Link(name="boom", beam=Beam(**taper, pieces=n), shapes=s)
        for n, s in ((None, fine), (5, fine.model_copy(update={"count": 3})))
    ]
    made = [Robot(name="taper", links=[link]) for link in links]
    one, cut = (robot.model(stiffening="off") for robot in made)
    assert cut.robot.link("boom").beam == made[1].link("boom").beam
    load = [Wrench(force=(0, 1.0, 2.0))]
    tips = [model.tip_pose(model.equilibrium([0.0], load)) for model in (one, cut)]
    assert tips[1] == pytest.approx(tips[0], abs=2e-8)
    assert cut.frequencies()[:4] == pytest.approx(one.frequencies()[:4], rel=1e-3)
    stubby = Section(shape="rod", diameter=0.2)
    for length, expected in ((1.0, "section"), (9.0, (0.0, 0.0))):  # pieces are shorter than the diameter is wide
        beam = Beam(length=length, material="steel", section=stubby, pieces=20)
        part = in_pieces(Robot(name="r", links=[Link(name="boom", beam=beam, shapes=ALL)])).links[3].beam
        assert part is not None
        assert part.rotary == expected


@pytest.mark.slow
def test_standard_rows_keep_their_ends(rng: np.random.Generator) -> None:
    row = Joint(dh=DH(a=1.7, alpha=0.7, d=0.2, theta=0.3, convention="standard"))
    made = [Link(name="boom", joint=row, beam=Beam(**LONG, pieces=n), shapes=PLANE) for n in (None, 4)]
    whole, cut = (Robot(name="row", links=[link, FORE]).model() for link in made)
    assert cut.tip_pose(np.zeros(cut.n)) == pytest.approx(whole.tip_pose(np.zeros(whole.n)), abs=1e-14)


@pytest.mark.parametrize(
    ("beam", "shapes", "words"),
    [
        ({"slides": True, "total_length": 3.0, "pieces": 2}, {"bending_y": 1}, "a beam that slides is one piece"),
        ({"slides": True, "total_length": 3.0, "twist": 0.1}, {"bending_y": 1}, "a beam that slides is straight"),
        ({"pieces": 3}, {"bending_y": 2, "boundary": "pinned"}, "pinned shapes are those of a whole beam"),
        ({"pieces": 3}, {"bending_y": 2, "boundary": "clamped-mass", "tip_load": "track"}, "use `auto`"),
        ({"pieces": 3}, {"bending_y": 2, "boundary": "clamped-mass", "tip_load": {"mass": 1.0}}, "use `auto`"),
        ({"pieces": 1, "curvature": [0, 0.2]}, {"bending_y": 2}, "needs 2 `pieces` or more"),
        ({"pieces": 0}, {"bending_y": 2}, "a whole number from 1 to 200"),
        ({"pieces": True}, {"bending_y": 2}, "a whole number from 1 to 200"),
        ({"curvature": [0, [0.1, 0.2]]}, {"bending_y": 2}, "go together"),
        ({"curvature": [0, [0.1, 0.2]], "x": [0, 0.5, 1.0]}, {"bending_y": 2}, "equally many numbers"),
        ({"curvature": [0, [0.1, 0.2]], "x": [0, 1.5]}, {"bending_y": 2}, "it must end at the `length` 1.7"),
        ({"curvature": [0.1]}, {"bending_y": 2}, "two entries"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(beam: dict[str, Any], shapes: dict[str, Any], words: str) -> None:
    joint = {"type": "prismatic", "axis": [1, 0, 0]} if beam.get("slides") else {}
    with pytest.raises(ModelError, match=words):
        Link.from_dict({"name": "boom", "joint": joint, "beam": {**LONG, **beam}, "shapes": shapes})


# --------------------------------------------------------------------------------------------- curved and twisted beams


def curved(count: int | None = None, **given: Any) -> Robot:
    link = Link(name="boom", joint=Joint(type="fixed"), beam=Beam(**LONG, pieces=count, **given), shapes=PLANE)
    return Robot(name="curved", links=[link], gravity=(0, 0, 0))


@pytest.mark.slow_cases("given1")
@pytest.mark.parametrize("given", [
    {"curvature": (0.3, 0.5), "twist": 0.4},
    {"curvature": ((0.1, 0.9), 0.2), "twist": (0.0, -0.7), "x": (0.0, 1.7)},
])  # fmt: skip
def test_a_curve_is_where_its_equation_says(given: dict[str, Any]) -> None:
    """R' = R [twist, kappa_y, kappa_z]x, r' = R e_x, by an integrator: second order in the pieces, axes exact."""

    def rhs(s: float, y: np.ndarray) -> np.ndarray:
        R = y[:9].reshape(3, 3)
        kappa = [np.interp(s / 1.7, (0, 1), np.broadcast_to(x, 2)) for x in (given["twist"], *given["curvature"])]
        return np.concatenate([(R @ np.cross(np.eye(3), kappa)).ravel(), R[:, 0]])

    y = solve_ivp(rhs, (0, 1.7), np.concatenate([np.eye(3).ravel(), np.zeros(3)]), rtol=1e-11, atol=1e-12).y[:, -1]
    errors = []
    for count in (8, 16):
        model = curved(count, **given).model(stiffening="off")
        pose = model.tip_pose(np.zeros(model.n))
        assert pose[:3, :3] == pytest.approx(y[:9].reshape(3, 3), abs=1e-8)
        errors.append(np.linalg.norm(pose[:3, 3] - y[9:]))
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] == pytest.approx((15 / 7) ** 2, rel=0.1)


@pytest.mark.slow
def test_which_way_a_curve_goes() -> None:
    """kappa_z > 0 towards +y, kappa_y > 0 towards -z; without `pieces`, one more than tenths of a radian."""
    for curvature, sign in (((0.0, 0.4), (1, 0)), ((0.4, 0.0), (0, -1))):
        model = curved(curvature=curvature).model()
        assert len(model.chain.links) == 1 + 7
        assert np.sign(model.tip_pose(np.zeros(model.n))[1:3, 3].round(12)) == pytest.approx(sign)


@pytest.mark.parametrize(("speed", "acceleration"), [(4.0, 0.0), (0.0, 9.0), (2.0, 5.0)])
def test_an_outer_beam_is_cut_for_what_turns_it_about_the_base(speed: float, acceleration: float) -> None:
    """A load that grows from the base on, along a cantilever that begins 1.4 m out, by its polynomials."""
    a, L, mu, EI = 1.4, 1.1, 0.6, 7.0
    inner = Link(name="inner", beam=Beam(length=a, mass_per_length=2.0, EI_y=9e3, EI_z=9e3))
    beam = Beam(length=L, mass_per_length=mu, EI_y=EI, EI_z=19.0, pieces="auto")
    outer = Link(name="outer", beam=beam, shapes=Shapes(bending_z=1))
    expected = {"speed": speed, "acceleration": acceleration, "force": 0.0}
    cut, _ = chosen_pieces(Robot(name="arm", gravity=(0, 0, 0), links=[inner, outer], expected=expected))
    x = np.polynomial.Polynomial([0.0, 1.0])
    load = mu * (acceleration + speed**2 / 2) * (a + x)
    shear = load.integ()(L) - load.integ()
    slope = ((shear.integ()(L) - shear.integ()) / EI).integ()
    fewest = next(n for n in range(1, 40) if np.diff(slope(np.linspace(0, L, n + 1)) - slope(0.0)).max() <= 0.15)
    assert fewest > 3
    assert cut.links[1].beam is not None
    assert cut.links[1].beam.pieces == fewest
