"""The bundled arms stand where their papers say: tip positions, masses, constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pliant.model.robot import schema
from pliant.robot import Link, Robot, arms, load
from pliant.robot.mass_sum import link_mass
from pliant.robot.parts.beam import beam_properties
from pliant.robot.parts.joint import origin_transform
from pliant.robot.parts.link import tip_rotation


def _turn(axis: tuple[float, ...], q: float) -> np.ndarray:
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(q) * K + (1 - math.cos(q)) * K @ K


def poses(robot: Robot, q: list[float]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Tip frames of the undeformed links in base axes; a sliding beam ends at its position."""
    R, p, found = np.eye(3), np.zeros(3), []
    for link, value in zip(robot.links, q):
        R0, p0 = origin_transform(link.joint)
        p = p + R @ np.array(p0)
        R = R @ np.array(R0)
        slides = link.beam is not None and link.beam.slides
        if link.joint.type == "revolute":
            R = R @ _turn(link.joint.axis, value)
        elif link.joint.type == "prismatic" and not slides:
            p = p + R @ np.array(link.joint.axis) * value
        end = [value if slides else link.beam.length, 0, 0] if link.beam is not None else link.rigid.tip
        p = p + R @ np.array(end)
        R = R @ np.array(tip_rotation(link))
        found.append((R, p))
    return found


def _tip(name: str, q: list[float]) -> np.ndarray:
    return poses(load(name), q)[-1][1]


NEAR = {"atol": 1e-12}  # metres; rounding of a few products


def test_two_link_hangs_along_gravity() -> None:
    np.testing.assert_allclose(_tip("two-link", [-math.pi / 2, 0]), [0, -2, 0], **NEAR)


def test_rrp_is_the_dh_chain_of_the_audit() -> None:
    """d1 = 0.1, alpha1 = 90; a2 = 1, alpha2 = 90; d3 = l: standard rows, beam of link 3 along z of the last."""
    q1, q2, l = 0.4, 0.7, 0.6

    def row(theta: float, d: float, a: float, alpha: float) -> np.ndarray:
        c, s, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
        return np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])

    T = row(q1, 0.1, 0, math.pi / 2) @ row(q2, 0, 1, math.pi / 2) @ row(0, l, 0, 0)
    R, p = poses(load("rrp"), [q1, q2, l])[-1]
    np.testing.assert_allclose(p, T[:3, 3], **NEAR)
    np.testing.assert_allclose(R[:, 0], T[:3, 2], **NEAR)  # our beam axis is the paper's z
    np.testing.assert_allclose(R[:, 1], T[:3, 1], **NEAR)  # our y is the paper's y


def test_rrp_masses() -> None:
    robot = load("rrp")
    assert link_mass(robot.link("slide")) == pytest.approx(0.4303, rel=1e-12)
    assert robot.link("boom").shapes.tip_load.mass == pytest.approx(0.4303 + 0.0828, rel=1e-12)


def test_spin_up_frequency() -> None:
    """0.46326 Hz by the closed form 1.8751^2 sqrt(EI / mu L^4) (audit)."""
    beam = load("spin-up").links[0].beam
    omega = 1.8751040687119611**2 * math.sqrt(beam.EI_z / (beam.mass_per_length * beam.length**4))
    assert omega == pytest.approx(2.91074, rel=2e-6)  # digits printed
    assert pytest.approx(6.8952e10 * 7.2968e-5, rel=1e-9) == beam.EA


def test_canadarm2_reach_and_constants() -> None:
    robot = load("canadarm2")
    q = [0.4 * math.pi, -0.4 * math.pi, 0, 0, 0]
    want = 7.11 * np.array([math.cos(0.4 * math.pi), math.sin(0.4 * math.pi), 0])
    want += [7.11 + 0.5692 + 0.7026 + 1.3589, 0, 0.475]
    np.testing.assert_allclose(_tip("canadarm2", q), want, **NEAR)
    assert link_mass(robot.links[0]) == pytest.approx(314.88, rel=1e-9)
    assert link_mass(robot.links[1]) == pytest.approx(279.20, rel=1e-9)
    assert [link.shapes.number if link.shapes else 0 for link in robot.links] == [12, 12, 0, 0, 0]
    assert all(link.joint.flexible for link in robot.links)
    beam = robot.links[1].beam
    torsion = math.sqrt(beam.GJ / beam.polar_inertia) / (4 * beam.length)
    assert torsion == pytest.approx(40.9, rel=2e-3)  # Hz, three digits in the audit


def test_crane_stands_upright_at_zero_and_bends_about_y() -> None:
    """R12 = Rx(-90) Rz(-90) Rz(q2): x2 up at q2 = 0, z2 along y1, angles from the vertical."""
    R, p = poses(load("crane-4dof"), [0, 0, 0, 0])[1]
    np.testing.assert_array_equal(R[:, 0], [0, 0, 1])
    np.testing.assert_array_equal(R[:, 2], [0, 1, 0])
    np.testing.assert_allclose(p, [0, 0, 2.26], **NEAR)
    R1, _ = poses(load("crane-4dof"), [0, math.pi / 6, 0, 0])[1]
    np.testing.assert_allclose(R1[:, 0], [math.sin(math.pi / 6), 0, math.cos(math.pi / 6)], **NEAR)


@pytest.mark.parametrize(("q2", "q3", "moments"), [(30, 120, (262.90, 75.53, 0.0)), (60, 60, (455.36, 130.82, 0.0))])
def test_crane_holding_torques(q2: float, q3: float, moments: tuple[float, ...]) -> None:
    """|T2|, |T3|, |T4| of the audit from weights and levers: checks masses, lengths, angles and gravity together."""
    robot = load("crane-4dof")
    q = [0.0, math.radians(q2), math.radians(q3), math.radians(180 - q2 - q3)]
    frames = poses(robot, q)
    starts = [np.zeros(3), *(p for _, p in frames[:-1])]
    weights, centers = [], []
    for link, start, (R, _) in zip(robot.links, starts, frames):
        own = link.rigid.com if link.rigid is not None else (link.beam.length / 2, 0, 0)
        weights.append(link_mass(link) * 9.81)
        centers.append(start + R @ np.array(own))
    for joint, want in zip((1, 2, 3), moments):
        got = sum(w * (c[0] - starts[joint][0]) for w, c in list(zip(weights, centers))[joint:])
        assert abs(got) == pytest.approx(want, rel=5e-4, abs=1e-9)  # the audit rounds the masses to 11.10 and 9.99 kg


def test_puma_is_made_of_bent_rods() -> None:
    a, b = (0, 0.432, 0.02, 0, 0, 0), (0.20, 0.149, 0, 0.432, 0, 0.056)
    alpha = ("-pi/2", 0, "pi/2", "-pi/2", "pi/2", 0)
    m, hub = (10.521, 15.7612, 8.767, 0, 0, 0), (0, 0, 0, 0.181, 0.0735, 0.0141)
    robot = load("puma")
    for k, link in enumerate(robot.links):
        want = Link.bent_rod(link.name, m[k], a[k], b[k], alpha[k], hub[k])
        assert link == want
    # at zero angles z1 = z, z2 = z3 = y (alpha1), z4 = z again (alpha3), z5 = y, z6 = z
    np.testing.assert_allclose(_tip("puma", [0] * 6), [0.432 + 0.02, 0.149, 0.20 + 0.432 + 0.056], **NEAR)


@pytest.mark.parametrize("name", arms())
def test_every_arm_prints_and_has_sane_beams(name: str) -> None:
    robot = load(name)
    text = str(robot)
    assert text.splitlines()[0] == robot.name
    assert all(link.name in text for link in robot.links)
    more = (*robot.loops, *robot.couplings, *robot.contacts)
    assert len(text.splitlines()) == len(robot.bodies) + 4 + len(more)
    for link in robot.links:
        if link.beam is not None:
            assert beam_properties(link.beam).length == link.beam.length
            assert link_mass(link) > 0.0


def test_schema_is_json_and_knows_the_keys() -> None:
    import json

    text = json.dumps(schema())
    for key in ('"format"', '"mass_per_length"', '"rotor_inertia"', '"tip_load"', '"convention"', '"outer_diameter"'):
        assert key in text
    assert schema()["required"] == ["name", "links"]


# ------------------------------------------------------------------------------------------------- mechanisms of ours


def test_the_slider_crank_closes_as_its_triangle_says() -> None:
    """Crank 0.14 m, rod 0.42 m, guide 20 mm beside the axis; the piston counts from 0.56 m."""
    model = load("slider-crank").model(stiffening="off")
    for crank in (0.3, 1.1, -0.9):
        q = model.assemble({"crank": crank}, held=["crank"])
        tilt = math.asin((0.02 - 0.14 * math.sin(crank)) / 0.42)
        assert q[model.index("piston")] == pytest.approx(
            0.14 * math.cos(crank) + 0.42 * math.cos(tilt) - 0.56, abs=1e-12
        )
        assert q[model.index("rod")] == pytest.approx(tilt - crank, abs=1e-12)
    first = model.frequencies(model.assemble({"crank": 0.3}, held=["crank"]))[0]
    beam = load("slider-crank").links[1].beam
    EI, mu = beam_properties(beam).EI_z, beam_properties(beam).mass_per_length
    pinned = math.pi / 2 / 0.42**2 * math.sqrt(EI / mu)
    assert first == pytest.approx(pinned, rel=0.01)  # what carries it pulls and turns a little


def test_the_fore_arm_of_the_parallelogram_keeps_its_direction() -> None:
    """It follows the crank alone: 10 deg below the horizontal where that is zero, whatever the upper arm does."""
    model = load("parallelogram").model(stiffening="off")
    for turret, crank, upper in ((0.0, 0.0, 0.0), (0.4, 0.0, -0.6), (0.4, 0.0, 0.3), (0.0, -0.5, 0.3)):
        q = model.assemble({"turret": turret, "crank": crank, "upper": upper}, held=["turret", "crank", "upper"])
        x = model.pose(q, frame="tip")[:3, 0]
        angle = math.radians(-10) + crank
        wanted = [math.cos(angle) * math.cos(turret), math.cos(angle) * math.sin(turret), math.sin(angle)]
        np.testing.assert_allclose(x, wanted, atol=1e-10)
        assert np.abs(model.gaps(q)).max() < 1e-12


def test_the_five_bar_meets_where_its_circles_do() -> None:
    model = load("five-bar").model(stiffening="off")
    for right, left in ((0.0, 0.0), (0.5, -0.4), (-0.3, 0.2)):
        q = model.assemble({"right": right, "left": left}, held=["right", "left"])
        a, b = math.radians(50) + right, math.radians(120) + left
        elbows = [complex(0.125, 0) + 0.28 * np.exp(1j * a), complex(-0.125, 0) + 0.30 * np.exp(1j * b)]
        tool = complex(*model.pose(q, frame="tip")[:2, 3])
        assert abs(tool - elbows[0]) == pytest.approx(0.40, abs=1e-12)
        assert abs(tool - elbows[1]) == pytest.approx(0.42, abs=1e-12)
        assert tool.imag > max(elbow.imag for elbow in elbows)
    assert load("five-bar").freedom == 2


def test_the_cylinders_of_the_crane_carry_what_virtual_work_says() -> None:
    """Rigid, at rest: force times the slope of the length is the moment of the weight about each joint; and both are
    far from the 20 MPa of the pump."""
    import pliant

    robot = load("hydraulic-crane")
    rigid = robot.replace({f"links.{name}.shapes": None for name in ("boom", "jib")})
    boom, jib = math.radians(25), math.radians(-60)
    run = pliant.simulate(rigid.model(), 1e-3, {"boom": boom, "jib": jib}, equilibrium=True, progress=False)
    g, mu = 9.81, [link_mass(link) for link in robot.links[1:]]  # of beam and tip

    def heights(a: float, b: float) -> float:
        tip, hand = 3.3 * math.sin(a), 3.3 * math.sin(a) + 2.4 * math.sin(a + b)
        return g * ((mu[0] - 18) * tip / 2 + 18 * tip + mu[1] * (tip + hand) / 2 + 400 * hand)

    def lengths(a: float, b: float) -> np.ndarray:
        def turned(angle: float, x: float, z: float) -> complex:
            return np.exp(1j * angle) * complex(x, z)

        tip = turned(a, 3.3, 0)
        lift = turned(a, 1.1, -0.12) - complex(0.30, 0.75 - 1.9)
        fold = tip + turned(a + b, -0.27, 0.225) - turned(a, 2.2, 0.14)
        return np.array([abs(lift), abs(fold)])

    h = 1e-5
    slopes = [(lengths(boom + h, jib) - lengths(boom - h, jib)) / (2 * h),
              (lengths(boom, jib + h) - lengths(boom, jib - h)) / (2 * h)]  # fmt: skip
    moments = [(heights(boom + h, jib) - heights(boom - h, jib)) / (2 * h),
               (heights(boom, jib + h) - heights(boom, jib - h)) / (2 * h)]  # fmt: skip
    np.testing.assert_allclose([run["lift.length"][0], run["fold.length"][0]], lengths(boom, jib), rtol=1e-12)
    forces = np.linalg.solve(np.array(slopes), moments)
    np.testing.assert_allclose([run["lift.force"][0], run["fold.force"][0]], forces, rtol=1e-8)
    for name in ("lift", "fold"):
        assert 0 < run[f"{name}.pressure_a"][0] < 20e6
        assert 0 < run[f"{name}.pressure_b"][0] < 20e6
