"""Parts of which a chain is built: loads at tips, dampers of links in pieces, twisting moments, sliding dampers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.mechanics import build_chain
from pliant.mechanics.links.builders.boundary_loads import inertias_at_tips
from pliant.mechanics.links.kinematics import placements
from pliant.mechanics.links.section_forces import twisting
from pliant.simulation.runs.quantities.beam_expressions import _hanging

BEAM = {"length": 0.9, "mass_per_length": 0.7, "EI_y": 30.0, "EI_z": 50.0}


def rod(name: str, mass: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "rigid": {"mass": mass, "com": [0.2, 0.1, 0.0], "tip": [0.5, 0.0, 0.0]}, **more}


def test_a_tip_that_carries_two_links_carries_both() -> None:
    links = [{"name": "boom", "beam": BEAM, "shapes": {"bending_z": 2}}, rod("left", 1.3, parent="boom"),
             rod("right", 0.8, parent="boom"), rod("hand", 0.4, parent="right")]  # fmt: skip
    robot = pliant.Robot.from_dict({"name": "fork", "links": links, "payload": {"mass": 0.1, "link": "hand"}})
    found = [float(ca.evalf(ca.SX(one.C[0, 0]))) for one in inertias_at_tips(robot)]
    assert found[0] == pytest.approx(1.3 + 0.8 + 0.4 + 0.1)


def test_every_link_in_pieces_has_its_damper() -> None:
    """The ratio of its first mode with all that is before it held: to some percent, as for the first link."""
    links = [
        rod("base", 2.0),
        {"name": "fore", "beam": {**BEAM, "pieces": 3}, "shapes": {"bending_z": 1, "damping": 0.03}},
    ]
    model = pliant.Robot.from_dict({"name": "late", "gravity": [0, 0, 0], "links": links}).model()
    assert model.damping_ratios()[0] == pytest.approx(0.03, rel=0.02)


def test_a_twisting_moment_is_about_the_shear_center() -> None:
    rng = np.random.default_rng(3)
    force, moment, (e_y, e_z) = rng.normal(size=3), rng.normal(size=3), (0.31, -0.17)
    found = twisting(SimpleNamespace(shear_center=(e_y, e_z)), ca.SX(force), ca.SX(moment))  # type: ignore[arg-type]
    expected = moment - np.cross([0.0, e_y, e_z], force)
    assert float(ca.evalf(found)) == pytest.approx(expected[0], rel=1e-12)


def test_what_hangs_on_a_tip_is_all_that_is_beyond() -> None:
    links = [rod("a", 1.0), rod("b", 2.0, joint={"hub": {"mass": 0.3, "com": [0, 0.1, 0]}}), rod("c", 4.0)]
    chain = build_chain(pliant.Robot.from_dict({"name": "three", "links": links, "payload": {"mass": 8.0}}))
    q = ca.SX(ca.DM([0.2, -0.5, 0.9]))
    mass, first = _hanging(chain, q, placements(chain, q), 0)
    assert float(ca.evalf(mass)) == pytest.approx(2.0 + 0.3 + 4.0 + 8.0)
    frames = placements(chain, q)
    centers = [(2.0, frames[1], [0.2, 0.1, 0]), (0.3, frames[1], [0, 0.1, 0]), (4.0, frames[2], [0.2, 0.1, 0])]
    expected = sum(m * np.array(ca.evalf(f.p + ca.mtimes(f.R, ca.DM(c)))) for m, f, c in centers)
    expected = expected + 8.0 * np.array(ca.evalf(frames[2].p_tip))
    np.testing.assert_allclose(np.array(ca.evalf(first)), expected, rtol=1e-12)


def test_a_sliding_beam_is_damped_by_its_ratio_at_every_length() -> None:
    """D = 2 zeta K / omega of each mode, omega that of the link with its load."""
    robot = pliant.load("rrp").replace({"links.slide.shapes.damping": 0.04})
    model = robot.model(stiffening="off")
    body: Any = next(link.body for link in build_chain(robot).links if link.slides)
    for length in (0.35, 0.6, 0.9):
        D, K = (np.diag(np.array(ca.evalf(f(ca.SX(length))))) for f in (body.damping, body.stiffness))
        q = model.layout.rest()
        q[model.index("slide")] = length
        omega = 2 * np.pi * pliant.analysis.link_frequencies(model, "slide", q)
        np.testing.assert_allclose(np.sort(D / K), np.sort(2 * 0.04 / omega), rtol=1e-6)
