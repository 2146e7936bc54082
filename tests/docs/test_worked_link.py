"""The page of the link worked by hand: every number in its tables is the closed form's and Pliant's."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import pliant
from sources import ROOT

PAGE = ROOT / "docs" / "learn" / "one-link.md"
TEXT = PAGE.read_text(encoding="utf-8")
PRINTED = dict(re.findall(r"^\| `(\w+)` \|.*?\| (-?[\d.]+) \|", TEXT, re.MULTILINE))
GIVEN = dict(re.findall(r"^\| \$\\?(\w+)\$ \| ([\d.]+) \|", TEXT, re.MULTILINE))
RATE = 4.0


def by_hand() -> dict[str, float]:
    """From the numbers of the table of what is given; integrals by quadrature, not by the library's rule."""
    L, mu, EI, hub, payload, g = (float(GIVEN[name]) for name in ("L", "mu", "EI", "J_h", "m_p", "g"))
    beta = brentq(lambda b: np.cosh(b) * np.cos(b) + 1, 1.5, 2.2)
    sigma = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))

    def psi(eta: float) -> float:
        x = beta * eta
        return np.cosh(x) - np.cos(x) - sigma * (np.sinh(x) - np.sin(x))

    def slope(eta: float) -> float:
        x = beta * eta
        return beta * (np.sinh(x) + np.sin(x) - sigma * (np.cosh(x) - np.cos(x)))

    mean, moment = 2 * sigma / beta, 2 / beta**2
    assert mean == pytest.approx(quad(psi, 0, 1)[0], rel=1e-10)
    assert moment == pytest.approx(quad(lambda eta: eta * psi(eta), 0, 1)[0], rel=1e-10)
    M_qq, M_qd = hub + mu * L**3 / 3 + payload * L**2, mu * L**2 * moment + 2 * payload * L
    M_dd, K = mu * L + 4 * payload, EI * beta**4 / L**3
    weight, holding = g * (mu * L * mean + 2 * payload), g * (mu * L**2 / 2 + payload * L)
    q, delta, qd, deltad, tau = 0.4, 0.012, 1.5, -0.2, 2.0
    h_q = 2 * M_dd * delta * deltad * qd + holding * np.cos(q) - weight * delta * np.sin(q)
    h_d = -M_dd * delta * qd**2 + K * delta + weight * np.cos(q)
    qdd, ddd = np.linalg.solve([[M_qq + M_dd * delta**2, M_qd], [M_qd, M_dd]], [tau - h_q, -h_d])
    ratio = payload / (mu * L)
    b = brentq(
        lambda b: 1 + np.cos(b) * np.cosh(b) + ratio * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b)), 0.5, 1.87
    )
    S = mu * L * quad(lambda eta: (1 - eta**2) / 2 * slope(eta) ** 2, 0, 1)[0]
    S += payload * quad(lambda eta: slope(eta) ** 2, 0, 1)[0]
    return {
        "beta": beta, "sigma": sigma, "square": quad(lambda eta: psi(eta) ** 2, 0, 1)[0], "mean": mean,
        "moment": moment, "tip": psi(1), "tip_slope": slope(1), "curvature": beta**4,
        "M_qq": M_qq, "M_qd": M_qd, "M_dd": M_dd, "K": K,
        "held": np.sqrt(K / M_dd) / (2 * np.pi), "free": np.sqrt(K / (M_dd - M_qd**2 / M_qq)) / (2 * np.pi),
        "exact": b**2 * np.sqrt(EI / (mu * L**4)) / (2 * np.pi),
        "weight": weight, "sag": -2 * weight / K, "holding": holding,
        "exact_sag": -g * (mu * L**4 / 8 + payload * L**3 / 3) / EI,
        "h_q": h_q, "h_d": h_d, "qdd": qdd, "ddd": ddd, "S": S,
        "spinning_wrong": np.sqrt(K / M_dd - RATE**2) / (2 * np.pi),
        "spinning": np.sqrt(K / M_dd + RATE**2 * (S / M_dd - 1)) / (2 * np.pi),
    }  # fmt: skip


def by_pliant() -> dict[str, float]:
    """From the arm that the page describes."""
    names: dict = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)), names)
    robot, model = names["robot"], names["model"]
    shape, rest = model.link_shapes[0].integrals, model.equilibrium([0.0])
    M, straight = model.mass_matrix([0.4, 0.0]), [0.0, 0.0]
    stiff = robot.model(stiffening="second-order")
    elements = pliant.Shapes(method="elements", count=8, bending_y=True)
    link = robot.links[0].model_copy(update={"shapes": elements})
    many = robot.model_copy(update={"links": (link,)}).model(stiffening="off")
    h, acceleration = (
        model.bias(names["q"], names["qd"]),
        model.forward_dynamics(*(names[n] for n in ("q", "qd", "tau"))),
    )
    spun, K = stiff.frequencies(straight, rates=[RATE, 0.0])[0], model.stiffness(straight)[1, 1]
    return {
        "beta": float(shape.stiffness[0, 0]) ** 0.25, "square": shape.gram[0, 0], "mean": shape.eps[0],
        "moment": shape.eta_eps[0], "tip": shape.tip[0], "tip_slope": shape.tip_slope[0],
        "curvature": shape.stiffness[0, 0], "M_qq": M[0, 0], "M_qd": M[0, 1], "M_dd": M[1, 1], "K": K,
        "held": model.frequencies(straight)[0],
        "free": model.frequencies(straight, joints="free")[-1],
        "exact": many.frequencies()[0], "weight": model.bias(straight, straight)[1],
        "sag": model.tip_pose(rest)[1, 3], "holding": model.holding_torque(rest)[0],
        "exact_sag": many.tip_pose(many.equilibrium([0.0]))[1, 3],
        "h_q": h[0], "h_d": h[1], "qdd": acceleration[0], "ddd": acceleration[1],
        "S": M[1, 1] + ((2 * np.pi * spun) ** 2 * M[1, 1] - K) / RATE**2,
        "spinning_wrong": model.frequencies(straight, rates=[RATE, 0.0])[0], "spinning": spun,
    }  # fmt: skip


@pytest.mark.slow_cases("by_pliant")
@pytest.mark.parametrize("source", [by_hand, by_pliant])
def test_every_number_of_the_page(source) -> None:
    """To the digits printed."""
    found = source()
    assert set(by_hand()) == set(PRINTED), "the tables and this test name the same numbers"
    assert set(found) >= set(PRINTED) - {"sigma"}  # of the closed form alone; `mean` and `tip_slope` hold it
    faults = {
        name: (PRINTED[name], value)
        for name, value in found.items()
        if abs(value - float(PRINTED[name])) > 0.5000001 * 10.0 ** Decimal(PRINTED[name]).as_tuple().exponent
    }
    assert not faults


def test_the_arm_is_the_one_given() -> None:
    """The numbers of the first table stand in the code."""
    code = "".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    numbers = {float(number) for number in re.findall(r"(?<![\w.])\d+\.?\d*", code)}
    assert set(map(float, GIVEN.values())) <= numbers
    assert len(GIVEN) == 6
