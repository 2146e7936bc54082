"""Slopes of predicted readings against differences, for every kind of channel and unknown."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import SLENDER, unequal_beam
from pliant.identification import Recording, Strain
from pliant.identification.response import Response
from pliant.loads import Wrench

PATHS = ("links.upper.beam.EI_z", "payload.mass", "links.fore.beam.length", "links.upper.shapes.damping")


def response(equilibrium: bool) -> Response:
    robot = pliant.load("two-link").replace({"payload.mass": 0.5, "links.upper.shapes.damping": 0.02})
    t = np.linspace(0.01, 0.3, 30)
    channels = ("upper", "fore.rate", "upper.bending_y.1", "tip.x", "tip.y", "gauge", "own")
    recording = Recording(
        t, {name: np.zeros(30) for name in channels}, q0={"upper": 0.3, "fore": 0.2}, equilibrium=equilibrium,
        free_start=("fore", "upper.bending_y.1.rate"), torque=(np.array([0.0, 0.1, 0.4]), np.eye(3)[:, :2] * 20),
        sensors={"gauge": Strain("upper", 0.1, (0.01, 0.0)), "own": lambda t, q, qd: q[0] * qd[1] + t},
    )  # fmt: skip
    return Response(robot.model(parameters=PATHS), recording, "dop853", 1e-11, 1e-13)


@pytest.mark.slow_cases("False", "True")
@pytest.mark.parametrize("equilibrium", [False, True])
def test_slopes_are_exact(equilibrium: bool) -> None:
    """Differences of fourth order with h = 1e-4 of the value.

    Truncation is h^4 of the fifth derivative; the error of a run, 1e-11, becomes 1e-11 / h = 1e-7 of the readings. The
    smallest slopes are 1e-3 of them.
    """
    made = response(equilibrium)
    p, start = made.model.nominal_parameters, np.array([0.2, 0.0])
    scale = np.array([*p, 0.01, 0.01])
    exact = made.predict(p, start, scale).slope
    u = np.concatenate([p, start]) / scale
    for k in range(len(u)):
        ends = {}
        for steps in (-2, -1, 1, 2):
            v = u.copy()
            v[k] += steps * 1e-4
            ends[steps] = made.predict(v[:4] * scale[:4], v[4:] * scale[4:], scale).y
        difference = (8 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / 12e-4
        largest = np.abs(difference).max(axis=0)
        assert (np.abs(exact[:, :, k] - difference).max(axis=0) <= 1e-4 * largest + 1e-9).all()


@pytest.mark.slow
def test_readings_are_those_of_a_run() -> None:
    made = response(False)
    r = made.recording
    run = pliant.simulate(
        made.model, 0.3, r.q0, torque=r.torque, output_step=0.01, rtol=1e-11, atol=1e-13, method="dop853"
    )
    y = made.predict(made.model.nominal_parameters, np.array([0.2, 0.0]), np.ones(6)).y
    expected = np.column_stack([
        run["upper"], run.qd[:, 1], run["upper.bending_y.1"], run.tip[:, :2], run.strain("upper", 0.1, (0.01, 0.0)),
        run["upper"] * run.qd[:, 1] + run.t,
    ])[1:]  # fmt: skip
    # two runs of tolerance 1e-11 with different steps
    assert np.abs(y - expected).max(axis=0) / np.abs(expected).max(axis=0) == pytest.approx(0.0, abs=1e-7)


def test_a_strain_across_both_planes() -> None:
    """A beam let go under gravity and a force across its planes: -y M_z / EI_z + z M_y / EI_y + N / EA of a fibre."""
    robot = unequal_beam(pliant.Shapes(bending_y=1, bending_z=1), SLENDER).replace({"gravity": (1.0, -6.0, -8.0)})
    model = robot.model(parameters=["links.arm.beam.EI_z"])
    at, t, push = (0.012, -0.03), np.linspace(0.02, 0.1, 5), [Wrench(force=(2.0, 5.0, -3.0))]
    gauge = {"gauge": Strain("arm", 0.4, at)}
    recording = Recording(t, {"gauge": np.zeros(5)}, q0={"arm": 0.3}, sensors=gauge, loads=push)
    made = Response(model, recording, "dop853", 1e-10, 1e-12)
    y = made.predict(model.nominal_parameters, np.zeros(0), np.ones(1)).y[:, 0]
    exact = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}
    run = pliant.simulate(model, 0.1, {"arm": 0.3}, output_step=0.02, loads=push, **exact)
    forces = run.internal("arm", 0.4)
    expected = -at[0] * forces.moment_z / 160.0 + at[1] * forces.moment_y / 70.0 + forces.axial / 3e4
    assert y == pytest.approx(expected[1:], rel=1e-5)
    assert run.strain("arm", 0.4, at) == pytest.approx(expected, rel=1e-12)
