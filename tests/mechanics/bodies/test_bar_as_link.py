"""A slender bar meshed in three dimensions, as a link of an arm, against the beam that it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

pytest.importorskip("skfem", reason="the mesh extra is not installed")

import pliant
from pliant.bodies import Interface, from_mesh, mesh_model, reduce_model
from pliant.mechanics.bodies.interfaces import place_interface
from solid_bars import HEIGHT, LENGTH, WIDTH, bar

PAYLOAD: dict[str, Any] = {"mass": 0.05, "com": (0.01, 0.012, 0.0), "inertia": (2e-5, 2e-5, 3e-5)}


@pytest.fixture(scope="module")
def arms() -> tuple[Any, Any]:
    """L/h = 44; the payload hangs beside the axis, so that the bar twists too."""
    ends = (Interface("x = 0", "average"), Interface(f"x = {LENGTH}", "average"))
    body = from_mesh(bar((16, 2, 2)), "aluminium", *ends, unit="m", modes=6)
    link = pliant.Link(name="bar", body=pliant.robot.ImportedBody(content=body))
    beam = pliant.Beam(
        length=LENGTH, material="aluminium", section=pliant.Section(shape="rectangle", width=WIDTH, height=HEIGHT)
    )
    shapes = pliant.Shapes(boundary="clamped-mass", tip_load="auto", bending_y=4, bending_z=4, torsion=2)
    other = pliant.Link(name="bar", beam=beam, shapes=shapes)
    made = [pliant.Robot(name="x", links=[one], payload=pliant.Payload(**PAYLOAD)) for one in (link, other)]
    return made[0].model(), made[1].model(stiffening="off")


def test_frequencies_with_a_payload(arms: tuple[Any, Any]) -> None:
    """Three in each plane to 1 %, torsion among them to 2 %."""
    meshed, beam = (np.array(model.frequencies(np.zeros(model.n_q)))[:7] for model in arms)
    np.testing.assert_allclose(meshed[:6], beam[:6], rtol=0.01)
    np.testing.assert_allclose(meshed[6], beam[6], rtol=0.02)


def test_sag(arms: tuple[Any, Any]) -> None:
    """Under its own weight and that of the payload, to 1 %, in deflection and in twist."""
    poses = [model.tip_pose(model.equilibrium([0.0])) for model in arms]
    np.testing.assert_allclose(poses[0][2, 3], poses[1][2, 3], rtol=0.01)
    np.testing.assert_allclose(poses[0][2, 0], poses[1][2, 0], rtol=0.01)
    np.testing.assert_allclose(poses[0][2, 1], poses[1][2, 1], rtol=0.02)


@pytest.mark.full
def test_a_slew(arms: tuple[Any, Any]) -> None:
    """A turn by 1 rad in 0.3 s: deflections of the tip over time to 2 % of their peak."""
    found = []
    for model in arms:
        motion = {"bar": pliant.control.Quintic(start=[0.0], goal=[1.0], duration=0.3)}
        run = pliant.simulate(model, 0.5, motion=motion, output_step=0.0025, rtol=1e-7, atol=1e-9)
        angle = run.q[:, 0]
        tip = np.array([model.tip_pose(q)[:3, 3] for q in run.q])
        found.append(-np.sin(angle) * tip[:, 0] + np.cos(angle) * tip[:, 1])
    assert np.abs(found[0] - found[1]).max() < 0.02 * np.abs(found[1]).max()


def test_frequencies_with_a_payload_against_the_full_mesh() -> None:
    """To 0.5 % up to half the cut-off: the payload as a rigid mass on the tip of the whole mesh, the root held."""
    model, cut = mesh_model(bar((10, 1, 1)), "aluminium", unit="m"), 2500.0
    ends = [Interface("x = 0"), Interface(f"x = {LENGTH}")]
    root, tip = (place_interface(model, "x", one, 1.0) for one in ends)
    c, m = np.array(PAYLOAD["com"]), PAYLOAD["mass"]
    C = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    load = np.block([[m * np.eye(3), -m * C], [m * C, np.diag(PAYLOAD["inertia"]) - m * C @ C]])
    within = [(3 * place.nodes[:, None] + np.arange(3)).ravel() for place in (root, tip)]
    free = np.setdiff1d(np.arange(model.size), np.concatenate(within))
    T = np.concatenate([np.eye(model.size)[:, free], tip.motions(model)], axis=1)
    M = T.T @ (model.mass @ T)
    M[-6:, -6:] += load
    full = np.sqrt(eigh(T.T @ (model.stiffness @ T), M, eigvals_only=True, subset_by_index=(0, 11))) / (2 * np.pi)
    body = reduce_model(model, *ends, frequency=cut)
    link = pliant.Link(name="bar", body=pliant.robot.ImportedBody(content=body))
    arm = pliant.Robot(name="x", links=[link], payload=pliant.Payload(**PAYLOAD)).model()
    found = np.array(arm.frequencies(np.zeros(arm.n_q)))[:12]
    below = full < cut / 2
    assert below.sum() >= 5
    np.testing.assert_allclose(found[below], full[below], rtol=0.005)
