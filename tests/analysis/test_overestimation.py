"""Over-estimated stiffness in the decoupling law, [TG95] (48)-(50): the Lemma's bound and the true threshold."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Robot, Shapes
from pliant.analysis import closed_loop_eigenvalues, overestimation
from pliant.control import ComputedTorque
from pliant.robot import Lump

EI = 1165.4916


def link(hub: float, alpha: float = 0.0, damping: float = 0.0) -> Robot:
    """Link 2 of [TG95] alone on a hub, two clamped-free modes, its stiffness wrong by `alpha`."""
    beam = Beam(length=1.0, mass_per_length=0.331, EI_y=EI, EI_z=EI * (1 + alpha))
    shapes = Shapes(bending_y=2, damping=damping)
    made = Link(name="beam", joint=Joint(hub=Lump(inertia=(0, 0, hub))), beam=beam, shapes=shapes)
    return Robot(name="single link", gravity=(0, 0, 0), links=[made])


@pytest.fixture(scope="module")
def light():
    return link(0.05).model()


def test_published_audit_numbers(light) -> None:
    study = overestimation(light, [0.0], 400, 40)
    assert study.bound == pytest.approx(0.46, abs=0.005)
    np.testing.assert_allclose([study.growth(a) for a in (0.001, 0.01, 0.1)], [0.042, 0.43, 5.2], rtol=0.02)
    heavy = overestimation(link(3.2).model(), [0.0], 400, 40)
    assert heavy.growth(0.01) == pytest.approx(0.0066, rel=0.02)


@pytest.mark.parametrize("hub", [0.05, 0.5, 3.2])
def test_lemma_bound_is_where_the_stiffness_turns_singular(hub: float) -> None:
    study = overestimation(link(hub).model(), [0.0], 400, 40)
    spread = np.linalg.eigvals(study.effective_stiffness(study.bound))
    assert np.abs(spread).min() < 1e-8 * np.abs(np.diag(study.K)).max()
    # and it changes sign there
    below, above = (np.linalg.eigvals(study.effective_stiffness(study.bound * s)).real.min() for s in (0.99, 1.01))
    assert below > 0 > above


@pytest.mark.parametrize("hub", [0.05, 0.5, 3.2])
def test_any_overestimation_destabilises_without_damping(hub: float) -> None:
    study = overestimation(link(hub).model(), [0.0], 400, 40)
    assert study.threshold == 0.0
    assert study.growth(0.01) > 0 > study.growth(-0.01)
    assert abs(study.growth(0.0)) < 1e-10


def test_with_damping_a_threshold_appears_far_below_the_bound(light) -> None:
    study = overestimation(light, [0.0], 400, 40, damping=1e-5)
    assert 0.001 < study.threshold < 0.01 < study.bound
    assert study.growth(0.99 * study.threshold) < 0 < study.growth(1.01 * study.threshold)
    table = study.table([-0.1, 0.0, 0.1])
    assert table.shape == (3, 3)
    assert table[2, 1] > 0


@pytest.mark.parametrize("alpha", [0.1, -0.1])
def test_linear_study_is_the_closed_loop_of_the_real_controller(light, alpha: float) -> None:
    controller = ComputedTorque(400, 40, [0.0], estimate=link(0.05, alpha).model())
    found = closed_loop_eigenvalues(light, controller, 0.0, np.zeros(3))
    expected = np.linalg.eigvals(overestimation(light, [0.0], 400, 40).matrix(alpha))
    np.testing.assert_allclose(np.sort(found.real), np.sort(expected.real), atol=1e-8 * np.abs(expected).max())


def test_simulation_grows_and_decays(light) -> None:
    energy = {}
    for alpha in (0.1, 0.0, -0.1):
        controller = ComputedTorque(400, 40, [0.0], estimate=link(0.05, alpha).model())
        result = pliant.simulate(light, 0.6, q0={"beam.bending_y.1": 1e-3}, controller=controller)
        energy[alpha] = result.energy.total[-1] / result.energy.total[0]
    assert energy[0.1] > 10
    assert energy[0.0] == pytest.approx(1, abs=1e-3)  # the exact law leaves the links to vibrate for ever
    assert energy[-0.1] < 0.9


def test_bad_input(light) -> None:
    with pytest.raises(pliant.ModelError, match="joints: got"):
        overestimation(light, [0.0, 1.0], 400, 40)
    with pytest.raises(pliant.ModelError, match="kp: got shape"):
        overestimation(light, [0.0], [1, 2], 40)
    rigid = Robot.model_validate(
        link(0.05).to_dict()
        | {
            "links": [
                {"name": "a", "rigid": {"mass": 1.0, "tip": [1, 0, 0], "com": [0.5, 0, 0], "inertia": [0.1, 0.1, 0.1]}}
            ]
        }
    )
    with pytest.raises(pliant.ModelError, match="no flexible coordinate"):
        overestimation(rigid.model(), [0.0], 400, 40)
