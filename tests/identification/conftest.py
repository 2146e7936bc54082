"""A measured two-link arm: four of its numbers are off, and every reading has 1 % noise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant.identification import Recording, Strain

FOUR = (
    "links.upper.beam.EI_z",
    "links.fore.beam.EI_z",
    "payload.mass",
    "links.upper.joint.friction.viscous",
)
START = dict(zip(FOUR, (1000.0, 1000.0, 0.5, 0.8)))
GAUGES = {"gauge.upper": Strain("upper", 0.05, (0.01, 0.0)), "gauge.fore": Strain("fore", 0.05, (0.01, 0.0))}
Q0 = {"upper": -1.0, "fore": 0.3}


@cache
def arm() -> pliant.Robot:
    return unequal_two_link()


@cache
def model() -> pliant.Model:
    """With the four as parameters; fits that share a model share its kernels."""
    return arm().model(parameters=FOUR)


def measure(
    truth: np.ndarray, seed: int, noise: float = 0.01, t_end: float = 1.0, gauges: bool = True, rows: int = 400
) -> Recording:
    """A run under random torques; `noise` is relative to the deviation of each channel."""
    rng = np.random.default_rng(seed)
    torque = (np.linspace(0, t_end, 21), 30 * rng.normal(size=(21, 2)))
    real = arm().replace(dict(zip(FOUR, truth))).model()
    run = pliant.simulate(real, t_end, Q0, torque=torque, output_step=t_end / rows, rtol=1e-10, atol=1e-12)
    readings = {"upper": run["upper"], "fore": run["fore"], "tip.x": run.tip[:, 0], "tip.y": run.tip[:, 1]}
    if gauges:
        readings |= {name: run.strain(gauge.link, gauge.x, gauge.at) for name, gauge in GAUGES.items()}
    noisy = {name: y + noise * np.std(y) * rng.normal(size=y.shape) for name, y in readings.items()}
    sensors = GAUGES if gauges else {}
    return Recording(run.t, noisy, q0=Q0, torque=torque, sensors=sensors, name=f"swing {seed}")


def perturbed(seed: int) -> np.ndarray:
    """The four numbers, each off by up to a fifth from where the fit begins."""
    return np.array(list(START.values())) * np.random.default_rng(1000 + seed).uniform(0.8, 1.2, 4)


def colored(rng: np.random.Generator, count: int, color: float) -> np.ndarray:
    """Noise of unit size whose neighbors correlate by `color`, of the first order."""
    e = rng.normal(size=count)
    for k in range(1, count):
        e[k] = color * e[k - 1] + np.sqrt(1 - color**2) * e[k]
    return e


@pytest.fixture(scope="session")
def recording() -> Recording:
    return measure(perturbed(0), 0)
