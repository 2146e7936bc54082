"""4-DOF arm [CE21] under PD with gravity of the undeformed arm: the maneuver, and linearized against nonlinear.

The paper gives neither gains nor profile: wn = 6 rad/s, zeta = 1 over the rigid inertia, cycloids of 1.5 s.
"""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.control import PD, Cycloidal, Phases, natural_gains

START = np.array([0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
RAISED = np.array([0, np.pi / 3, np.pi / 3, np.pi / 3])
GOAL = np.array([np.pi / 4, *RAISED[1:]])
REFERENCE = Phases([Cycloidal(START, RAISED, 1.5, 0.5), Cycloidal(RAISED, GOAL, 1.5, 3.0)], [3.0])


def maneuver(formulation: str, t_end: float) -> pliant.Result:
    model = pliant.load("crane-4dof").model(formulation)
    kp, kd = natural_gains(model, START, 6.0 / (2 * np.pi))
    controller = PD(kp, kd, REFERENCE)
    return pliant.simulate(model, t_end, q0=model.equilibrium(START), controller=controller)


@pytest.mark.full
def test_maneuver() -> None:
    runs = {name: maneuver(name, 6.0) for name in ("denoc", "dual-screw")}
    full = runs["denoc"]
    aside = [k for k, name in enumerate(full.coordinates) if "bending_z" in name or "torsion" in name]
    assert len(aside) == 8
    assert np.abs(full.q[full.t < 3.0][:, aside]).max() < 1e-9
    assert np.abs(full.q[full.t > 3.1][:, aside]).max() > 1e-4  # and the slewing does bend it sideways
    np.testing.assert_allclose(full.q[-1, :4], GOAL, atol=0.02)  # the sag's torque is not fed forward
    # static tip deflections at the final pose: 17.4 and 3.17 mm (sum over modes within 3 %)
    np.testing.assert_allclose(np.abs(full.deflection("inner")[-1, 1]), 17.4e-3, rtol=0.03)
    np.testing.assert_allclose(np.abs(full.deflection("outer")[-1, 1]), 3.17e-3, rtol=0.03)
    apart = np.degrees(np.abs(runs["dual-screw"].q[:, :4] - full.q[:, :4]))
    assert 0 < apart.max() < 0.1
    tips = [runs[name].deflection("outer") for name in ("denoc", "dual-screw")]
    assert np.abs(tips[0] - tips[1]).max() < 0.02 * np.abs(tips[0]).max()


@pytest.mark.slow
def test_in_plane_start_stays_in_plane() -> None:
    result = maneuver("dual-screw", 0.8)
    aside = [k for k, name in enumerate(result.coordinates) if "bending_z" in name or "torsion" in name]
    assert np.abs(result.q[:, aside]).max() < 1e-9
    assert np.abs(result.q[-1, 1] - START[1]) > 0.01
