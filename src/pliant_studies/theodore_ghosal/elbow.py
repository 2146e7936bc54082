"""A planar arm whose elbow moves the load J_L, M_DL that link 1 carries, [TG95] section 2.1.1."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.control.trajectories.trajectories import Cycloidal
from pliant.mechanics.links.builders.build_chain import inertias_beyond
from pliant.model.model import Model
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_studies.checks import Measured
from pliant_studies.theodore_ghosal.arms import elbow_arm

ANGLES = (0.0, 45.0, 90.0, 135.0)
"""Angles of the elbow, joint 3, in degrees; joint 2 is straight."""
SHAPES = {"mass alone": "point", "load of the straight arm": "straight", "load of the moment": "followed"}
GOAL, DURATION, END = (0.5, 0.5, 2.4), 0.7, 1.0


def model_of(kind: str, count: int = 2) -> Model:
    """Model of the arm; modes that follow the load need `lagrange`, where a shape may depend on any coordinate."""
    return elbow_arm(kind, count).model("lagrange" if kind == "followed" else "denoc", stiffening="off")


def loads() -> list[list[float]]:
    """J_L (kg m^2) and M_DL (kg m) at the tip of link 1 for each angle."""
    robot = elbow_arm("straight")
    found = [inertias_beyond(robot, [0.0, 0.0, np.radians(angle)])[0] for angle in ANGLES]
    return [[float(inertia.A[2, 2]), float(inertia.B[2, 1])] for inertia in found]


def frequencies() -> tuple[Measured, dict[str, Model]]:
    """Three lowest frequencies by fine elements over the angle, and relative errors of two modes per link."""
    models = {name: model_of(kind) for name, kind in SHAPES.items()}
    true = _lowest(model_of("elements", 8))
    errors = {name: np.abs(_lowest(model) / true - 1).max(axis=0).tolist() for name, model in models.items()}
    return {"angles (deg)": list(ANGLES), "load of link 1": loads(), "frequencies": true.tolist(),
            "errors": errors}, models  # fmt: skip


def _lowest(model: Model) -> Array:
    return np.array([2 * np.pi * model.frequencies({"link3": np.radians(angle)})[:3] for angle in ANGLES])


def folded(model: Model) -> Result:
    """Run of the arm that folds at the elbow by a prescribed motion of all joints, and vibrates afterwards."""
    motion = {joint: Cycloidal([0.0], [goal], DURATION) for joint, goal in zip(model.joints, GOAL)}
    return simulate(model, END, motion=motion, method="dop853", rtol=1e-7, atol=1e-9, output_step=2e-3, limits=False,
                    progress=False)  # fmt: skip


def responses(models: dict[str, Model]) -> tuple[Measured, dict[str, Result]]:
    """Largest error of the deflection of link 1 against four elements per link, over its peak."""
    true = folded(model_of("elements", 4))
    runs = {name: folded(model) for name, model in models.items()}
    deflection = true.deflection("link1")[:, 1]
    peak = float(np.abs(deflection).max())
    errors = {
        name: float(np.abs(run.deflection("link1")[:, 1] - deflection).max() / peak) for name, run in runs.items()
    }
    return {"peak (m)": peak, "errors": errors}, {"elements": true, **runs}
