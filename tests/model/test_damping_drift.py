"""Dampers of a ratio stay as they were made: whoever changes a payload is told what ratio the modes have then."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.robot import Robot

ASKED = 0.02
SECTION = {"shape": "box", "width": 0.03, "height": 0.02, "thickness": 0.002}


def arm(mass: float = 0.05, **beam: Any) -> Robot:
    shapes = {"boundary": "clamped-mass", "tip_load": "auto", "bending_y": 2, "bending_z": 1, "damping": ASKED}
    link = {"name": "arm", "joint": {"axis": [0, 0, 1]}, "shapes": shapes,
            "beam": {"length": 1.3, "material": "aluminium", "section": SECTION, **beam}}  # fmt: skip
    return Robot.from_dict({"name": "arm", "gravity": [0, 0, 0], "links": [link], "payload": {"mass": mass}})


def ratios(model: pliant.Model) -> np.ndarray:
    """Of the modes with the joint held, from the rates of decay: eigenvalues of the equations of motion."""
    n, still = model.n, np.zeros(model.n)

    def slopes(of: Any, size: float) -> np.ndarray:
        return np.array([(of(size * e) - of(-size * e))[1:] / (2 * size) for e in np.eye(n)[1:]]).T

    M = model.mass_matrix(still)[1:, 1:]
    K, D = slopes(lambda q: model.bias(q, still), 1e-6), slopes(lambda qd: model.bias(still, qd), 1e-5)
    A = np.block([[np.zeros_like(M), np.eye(n - 1)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    roots = np.linalg.eigvals(A)
    return np.sort(-roots.real / np.abs(roots))[::2]


def told(found: pytest.WarningsRecorder | list[Any]) -> float:
    """The ratio of the warning."""
    (text,) = {str(one.message) for one in found if "dampers stay" in str(one.message)}
    asked, now = re.search(r"got ([\d.]+), .* damp a mode by ([\d.e-]+) now", text).groups()  # type: ignore[union-attr]
    assert float(asked) == ASKED
    return float(now)


def test_a_heavier_payload_is_told_with_both_numbers() -> None:
    """20 kg on a light arm take the ratio from 0.02 to a tenth of it, as the eigenvalues of the arm itself say."""
    model = arm().model(stiffening="off")
    np.testing.assert_allclose(ratios(model), ASKED, rtol=1e-4)
    with pytest.warns(UserWarning, match="dampers stay") as found:
        heavy = model.replace({"payload.mass": 20.0})
    least = ratios(heavy)[0]
    assert 0.09 * ASKED < least < 0.12 * ASKED
    assert told(list(found)) == pytest.approx(least, rel=0.03)  # two digits are told
    anew = arm().replace({"payload.mass": 20.0}).model(stiffening="off")
    np.testing.assert_allclose(ratios(anew), ASKED, rtol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.replace({"payload.mass": 0.051})


@pytest.mark.full
def test_parameters_of_runs_and_batches_are_told() -> None:
    """The worst end of the range counts, whichever row it is in."""
    model = arm().model(stiffening="off", parameters=["payload.mass"], shapes="nominal")
    least = ratios(model.replace({"payload.mass": 20.0}))[0]
    with pytest.warns(UserWarning, match="dampers stay") as found:
        pliant.simulate_batch(model, 1e-3, p=[[0.05], [20.0], [0.05]], step=1e-4)
    assert told(list(found)) == pytest.approx(least, rel=0.03)
    again = arm().model(stiffening="off", parameters=["payload.mass"], shapes="nominal")
    with pytest.warns(UserWarning, match="dampers stay"):
        pliant.simulate(again, 1e-3, p=[20.0])


@pytest.mark.full
def test_damping_ratios_with_parameters_are_told() -> None:
    """Beside the ratio that they give, which is the right one of dampers that stayed."""
    model = arm().model(stiffening="off", parameters=["payload.mass"], shapes="nominal")
    with pytest.warns(UserWarning, match="dampers stay") as found:
        least = float(model.damping_ratios({}, p=[20.0])[0])
    assert told(list(found)) == pytest.approx(least, rel=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.damping_ratios({}, p=[0.05])


def test_parameters_of_steppers_gradients_and_linear_models_are_told() -> None:
    def new() -> pliant.Model:
        return arm().model(stiffening="off", parameters=["payload.mass"], shapes="nominal")

    least = ratios(new().replace({"payload.mass": 20.0}))[0]
    cost: dict[str, Any] = {"terminal": lambda t, q, qd: q[0], "step": 1e-4}
    for call in (
        lambda model: pliant.Stepper(model, p=[20.0]),
        lambda model: pliant.Stepper(model).change({"payload.mass": 20.0}),
        lambda model: pliant.gradient(model, 1e-3, p=[20.0], **cost),
        lambda model: pliant.gradients.gradient_batch(model, 1e-3, p=[[0.05], [20.0]], **cost),
        lambda model: model.linearize(p=[20.0]),
    ):
        with pytest.warns(UserWarning, match="dampers stay") as found:
            call(new())
        assert told(list(found)) == pytest.approx(least, rel=0.03)


@pytest.mark.full
def test_links_in_pieces_are_told_too() -> None:
    model = arm(pieces=3).model(stiffening="off")
    with pytest.warns(UserWarning, match="dampers stay") as found:
        model.replace({"payload.mass": 20.0})
    assert told(list(found)) < 0.2 * ASKED
