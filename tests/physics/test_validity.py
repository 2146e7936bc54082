"""Numbers that no arm has, shear, slopes: told once, with the number and the likely mistake."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import pliant
from pliant import Beam, Joint, Link, Material, Robot, Section, Shapes
from pliant.cli.info import describe
from pliant.loads import Wrench
from pliant.model.validity import bent_beams, doubts, shear_part, slow, steep
from pliant.robot import MATERIALS, Lump
from pliant.robot.parts.cross_sections.sections import area_moments, shear_coefficients
from pliant.simulation.runs.quantities.error_estimate import SAFETY

TUBE = Section(shape="tube", outer_diameter=0.04, inner_diameter=0.036)


def arm(
    material: Any = "cfrp", length: float = 0.8, section: Section = TUBE, payload: float = 0.0, **robot: Any
) -> Robot:
    beam = Beam(length=length, material=material, section=section)
    link = Link(name="arm", beam=beam, shapes=Shapes(bending_y=1, bending_z=1))
    return Robot(name="one", links=[link], payload=Lump(mass=payload), **robot)


def told(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("E", 210.0, "got 210 Pa, expected 1e\\+06 to 1.5e\\+12 .*; if 210 GPa is meant"),
        ("E", 210e3, ".*if 210000 MPa is meant"),
        ("E", 210e12, ".*check the number and its unit"),
        ("G", 80.8, "got 80.8 Pa.*if 80.8 GPa is meant"),
        ("density", 7.85, "got 7.85 kg/m\\^3, expected 10 to 23000 .*; if 7.85 g/cm\\^3 is meant"),
    ],
)
def test_numbers_that_no_material_has(name: str, value: float, words: str) -> None:
    steel = {"E": 210e9, "G": 80.8e9, "density": 7850.0}
    robot = arm(Material(**steel | {name: value}))
    with pytest.warns(UserWarning, match=f"links.arm.beam.material.{name}: {words}"):
        robot.model()
    assert not doubts(arm(Material(**steel)))
    for known in MATERIALS:
        assert not [text for text in doubts(arm(known)) if "material" in text], known


def timoshenko(robot: Robot, k: float) -> float:
    """First frequency, rad/s, of a clamped beam that bends and shears, with a mass at its tip: root of its own
    equations, EI psi' = M, w' = psi - Q/(k G A), without rotary inertia."""
    beam = robot.links[0].beam
    A, _, I, _, _ = area_moments(beam.section)
    E, G, mu = beam.material.E, beam.material.G, beam.material.density * A

    def free_end(omega: float) -> float:
        B = np.zeros((4, 4))  # w, psi, M, Q
        B[0, 1], B[0, 3] = 1.0, 1 / (k * G * A)
        B[1, 2], B[2, 3], B[3, 0] = 1 / (E * I), -1.0, -mu * omega**2
        end = scipy.linalg.expm(B * beam.length)
        rows = [end[2, 2:], end[3, 2:] - robot.payload.mass * omega**2 * end[0, 2:]]
        return float(np.linalg.det(rows))

    guess = np.sqrt(E * I / beam.length**3 / (mu * beam.length / 12.36 + robot.payload.mass / 3))
    return float(scipy.optimize.brentq(free_end, 0.5 * guess, 1.1 * guess))


@pytest.mark.parametrize(("length", "payload"), [(0.5, 0.0), (1.0, 0.0), (0.5, 1.0), (0.4, 0.1)])
def test_what_shear_takes_of_a_carbon_tube(length: float, payload: float) -> None:
    """Against Timoshenko's beam: 7 % of the first frequency at 0.5 m, 2 % at 1 m; E/G is 24."""
    robot = arm("cfrp", length, payload=payload)
    assert robot.links[0].beam.material.E / robot.links[0].beam.material.G == 24.0
    k = shear_coefficients(TUBE)[0]
    exact = 1 - timoshenko(robot, k) / timoshenko(robot, 1e6)
    assert shear_part(robot, robot.links[0]) == pytest.approx(exact, rel=0.05)


def test_shear_is_told_once_in_a_run_and_by_info() -> None:
    robot = arm("cfrp", 0.5)
    facts = describe(robot)
    assert [text for text in facts["warnings"] if "shear" in text]
    model = robot.model()
    texts = told(lambda: pliant.simulate(model, 0.01, method="rk4", step=1e-4))
    assert len(texts) == 1
    assert texts[0].startswith("links.arm: got a beam whose first frequency shear would lower by 6.")
    assert "less than 2%" in texts[0]
    assert not told(lambda: pliant.simulate(model, 0.01, method="rk4", step=1e-4))
    again = robot.model()
    assert len(told(lambda: pliant.simulate_batch(again, 0.01, q0=np.zeros((2, again.n)), step=1e-4))) == 1
    assert describe(arm("steel", 0.8))["warnings"] == []


def test_shear_of_other_sections() -> None:
    """Half of a thin box stands along the force; a solid bar has 5/6, a round one 0.886, a thin tube 0.53 (Cowper)."""
    box = Section(shape="box", width=0.1, height=0.1, thickness=0.001)
    assert shear_coefficients(box) == pytest.approx((0.5, 0.5), abs=0.01)
    assert shear_coefficients(Section(shape="rectangle", width=0.1, height=0.02)) == pytest.approx(
        (5 / 6,) * 2, rel=0.03
    )
    assert shear_coefficients(Section(shape="rod", diameter=0.1)) == pytest.approx((0.886,) * 2, rel=1e-3)
    thin = Section(shape="tube", outer_diameter=1.0, inner_diameter=0.999)
    assert shear_coefficients(thin) == pytest.approx((0.53,) * 2, rel=2e-3)
    beam = Section(shape="i", width=0.1, height=0.2, flange=0.0085, web=0.0056)
    A = area_moments(beam).A
    assert shear_coefficients(beam) == pytest.approx((2 * 0.1 * 0.0085 / A, 0.2 * 0.0056 / A))
    for section in (
        Section(shape="polygon", points=[[0, 0], [1, 0], [0, 1]]),
        Section(shape="tee", width=1, height=1, flange=0.1, web=0.1),
        Section(shape="angle", width=1, height=1, thickness=0.1),
    ):
        assert all(0.3 < k < 0.9 for k in shear_coefficients(section))


def test_a_beam_that_rests_far_below() -> None:
    """A modulus of 210: the beam of 0.8 m rests some 1e8 m below its joint, and says so, once."""
    robot = arm(Material(E=210.0, G=80.8e9, density=7850.0))
    with pytest.warns(UserWarning, match="210 GPa"):
        model = robot.model()
    texts = told(lambda: model.equilibrium([0.0]))
    assert len(texts) == 1
    assert texts[0].startswith("links.arm: got a slope of")
    assert "expected below 0.2 rad" in texts[0]
    assert "pieces" not in texts[0]  # no number of them would do
    assert not told(lambda: model.equilibrium([0.1]))


def test_slow_frequencies() -> None:
    with pytest.warns(UserWarning, match="material.E"):
        model = arm(Material(E=210.0, G=80.8e9, density=7850.0), length=3.0).model()
    texts = told(lambda: model.frequencies({}))
    assert len(texts) == 1
    assert texts[0].startswith("frequencies: got 0.000")
    assert not slow([0.0, -1e-5, 0.01])  # a joint that is free, an arm that has buckled, the largest in space


def test_slopes_of_a_run() -> None:
    """The limit by the elastica: a force that bends to 0.2 rad, linearly, moves the tip 2 % less than it says."""
    moment = 0.4  # P L^2 / EI: a slope of 0.2 rad at the tip

    def bent(_: float, y: np.ndarray) -> list[float]:
        return [np.sin(y[1]), y[2], -moment * np.cos(y[1])]

    def end(root: float) -> Any:
        return scipy.integrate.solve_ivp(bent, (0, 1), [0.0, 0.0, root], rtol=1e-10).y[:, -1]

    root = scipy.optimize.brentq(lambda root: end(root)[2], 0.1, moment)
    assert end(root)[0] == pytest.approx(moment / 3, rel=0.02)
    assert end(root)[0] < 0.985 * moment / 3

    robot = arm("steel", 1.5, Section(shape="rectangle", width=0.002, height=0.02), gravity=(0, 0, 0))
    model = robot.model()
    calm, wild = np.zeros(model.n), np.zeros(model.n)
    slope = model.chain.links[0].body.shapes.evaluate(1.0, 1)[0, 0] / 1.5
    calm[1], wild[1] = 0.19 / slope, 0.21 / slope
    assert not steep(model, calm)
    assert not steep(model, np.full((3, model.n), np.nan))
    text = steep(model, np.stack([calm, wild]))["slope of arm"]
    assert "slope of 0.21 rad" in text
    assert text.endswith("or write `pieces: 3` in its beam")  # 0.54 rad, were it bent all over as at the root
    texts = told(lambda: pliant.simulate(model, 0.01, wild, method="rk4", step=1e-4))
    assert len(texts) == 1
    many = robot.model()
    texts = told(lambda: pliant.simulate_batch(many, 0.01, q0=np.stack([calm, wild]), step=1e-4))
    assert len(texts) == 1
    assert "links.arm: got a slope of 0.2" in texts[0]


def test_what_a_run_says() -> None:
    """Slope, time and error per link that bends, in `validity`, in the text of the result and after reading a file."""
    robot = arm("steel", 1.5, Section(shape="rectangle", width=0.002, height=0.02), gravity=(0, 0, 0))
    model = robot.model(stiffening="off")
    bent = np.zeros(model.n)
    bent[1] = 0.21 / (model.chain.links[0].body.shapes.evaluate(1.0, 1)[0, 0] / 1.5)
    held: dict[str, Any] = {"motion": {"arm": lambda t: 0 * t}, "method": "rk4", "step": 1e-4}
    with pytest.warns(UserWarning, match="slope of 0.21 rad"):
        result = pliant.simulate(model, 0.02, bent, **held)
    (said,) = result.validity
    assert (said.link, said.pieces, said.time, said.enough) == ("arm", 1, 0.0, 3)
    assert said.slope == pytest.approx(0.21, rel=1e-6)
    assert said.error is not None
    deflection = 0.21 / 1.3765  # over the length, of the first mode; it shortens the beam, which this model leaves out
    assert said.error == pytest.approx(SAFETY * 0.581 * deflection**2, rel=0.02)
    assert str(result) == f"{result!r}\n  {said}"
    assert str(said).startswith("arm: slope up to 0.21 rad at 0 s, tip within 0.02")
    assert str(said).endswith("of its length (forces); 3 pieces would do")
    calm = pliant.simulate(model, 0.02, 0.1 * bent, **held).validity[0]
    assert calm.enough == 1
    assert calm.error is not None
    assert calm.error == pytest.approx(0.01 * said.error, rel=0.02)
    assert pliant.simulate(pliant.load("puma").model(), 0.01).validity == ()


def test_what_is_not_judged(tmp_path: Path) -> None:
    """Loads of which nobody says where they act, and those that a file does not keep."""
    robot = arm("steel", 1.5)
    model = robot.model(stiffening="off")
    load = Wrench(force=[0.0, 1.0, 0.0])

    class Unplaced:
        def expression(self, *given: Any) -> Any:
            return load.expression(*given)

    run = pliant.simulate(model, 0.01, loads=[load], method="rk4", step=1e-4)
    assert run.validity[0].error is not None
    again = pliant.Result.load(run.save(tmp_path / "run.nc"))
    assert again.validity[0].error is None
    assert again.validity[0].source == "not judged: this run had Wrench, which a file does not keep"
    assert again.acting([load]).validity[0].error == pytest.approx(run.validity[0].error)
    unplaced = pliant.simulate(model, 0.01, loads=[Unplaced()], method="rk4", step=1e-4).validity[0]
    assert unplaced.source == "not judged: loads: Unplaced does not say where it acts"
    assert unplaced.slope > 0


@pytest.mark.full
def test_a_sliding_beam_is_not_judged() -> None:
    boom, slide = pliant.simulate(pliant.load("rrp").model(), 0.01).validity
    assert boom.error is not None
    assert (slide.link, slide.error, slide.source) == ("slide", None, "not judged: it slides")


def test_a_link_in_pieces_is_one_beam() -> None:
    """By the name of the link, whatever hangs on it and how."""
    shapes = Shapes(bending_y=1)

    def link(name: str, kind: str, pieces: int, **given: Any) -> Link:
        beam = Beam(length=0.5, mass_per_length=1.0, EI_y=9.0, EI_z=7.0, pieces=pieces)
        return Link(name=name, joint=Joint(type=kind), beam=beam, shapes=shapes, **given)

    links = [link("a", "revolute", 2), link("b", "fixed", 1), link("c", "fixed", 3, parent="a", at={"x": 0.2})]
    found = bent_beams(Robot(name="three", links=links).model(stiffening="off"))
    assert [(beam.name, [piece.number for piece in beam.pieces]) for beam in found] == [
        ("a", [0, 1]), ("b", [2]), ("c", [3, 4, 5]),
    ]  # fmt: skip


def test_bundled_arms() -> None:
    """What they warn of is known: carbon tubes shear."""
    found = {name: list(doubts(pliant.load(name))) for name in pliant.robot.arms()}
    assert {name: texts for name, texts in found.items() if texts} == {"lab-arm": ["shear of upper", "shear of fore"]}
