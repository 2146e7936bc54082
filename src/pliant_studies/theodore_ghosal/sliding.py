"""Frequency equation of link 3 as it slides out: its roots by four ways, and beside a motion of the arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.polynomial import chebyshev

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.control.controllers.joint_controllers import PD, natural_gains
from pliant.control.trajectories.trajectories import Cycloidal
from pliant.mechanics.formulations.motion_equations import Equations
from pliant.mechanics.formulations.registry import FORMULATIONS
from pliant.mechanics.shapes.roots import clamped_mass_roots
from pliant.mechanics.sliding.sliding_body import SlidingBeam
from pliant.mechanics.sliding.sliding_modes import MovingModes, clenshaw
from pliant.mechanics.sliding.sliding_shapes import FollowedShapes
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.simulation.runs.equations.composition import compose
from pliant.simulation.runs.results import Result
from pliant.simulation.runs.simulation import simulate
from pliant_studies.checks import Measured
from pliant_studies.theodore_ghosal.arms import PAYLOAD, RHO_A, with_modes
from pliant_studies.theodore_ghosal.moving_roots import beta_length_derivatives, follow_beta, load_at_length

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
LENGTHS = np.round(np.linspace(0.3, 1.0, 8), 10)
START, GOAL, DURATION = (0.0, 0.0, 0.3), (np.pi, np.pi / 2, 1.0), 0.5
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9)
TIGHT = 1e-11
BANDWIDTH = 60.0
"""Bandwidth (rad/s) of the joint controller, which knows nothing of modes: only the arm's equations contain roots."""
DEGREE = 19
"""Degree of the series in the free length by which the arm is given roots; it is 1e-12 off."""


def roots_of_link_3() -> dict[str, Array]:
    """Two roots over the free length: by the frequency equation, by the boundary conditions, and by integrating the
    differential form (45), with (47) corrected and as printed."""
    loads = PAYLOAD / (RHO_A * LENGTHS)
    roots = np.array([clamped_mass_roots(2, load) for load in loads])

    followed, printed = (
        np.column_stack([follow_beta(b, rate, LENGTHS, substeps=40) for b in roots[0]])
        for rate in (length_rate, printed_rate)
    )
    boundary = np.array([roots_of_boundary_matrix(2, load) for load in loads])
    return {"length": LENGTHS, "roots": roots, "boundary": boundary, "followed": followed, "printed": printed}


def length_rate(length: float, beta: float) -> float:
    """Rate (45) of a root with the free length, with (47) corrected."""
    return beta_length_derivatives(beta, load_at_length(length, RHO_A, PAYLOAD), length)[0]


def printed_rate(length: float, beta: float) -> float:
    """Rate (45) with (46) and (47) as printed: with m_p^2 in place of m_p."""
    s, c, sh, ch = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    load = PAYLOAD / (RHO_A * length)
    f_1 = load / length * beta * (sh * c - ch * s)
    f_2 = (1 + load * PAYLOAD) * (sh * c - ch * s) - 2 * load * beta * sh * s
    return float(f_1 / f_2)


def roots_of_boundary_matrix(count: int, M: float) -> Array:
    """Zeros of the determinant of the four boundary conditions on y = a cos + b sin + c cosh + d sinh.

    Independent of (11): clamped at 0; at 1 no moment, y'' = 0, and the shear force of the mass, y''' = -M beta^4 y.
    """
    from scipy.optimize import brentq

    def determinant(beta: float) -> float:
        c, s, ch, sh = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
        pull = M * beta
        rows = [
            [1, 0, 1, 0],
            [0, 1, 0, 1],
            [-c, -s, ch, sh],
            [s + pull * c, -c + pull * s, sh + pull * ch, ch + pull * sh],
        ]
        return float(np.linalg.det(np.array(rows)) / ch)

    grid = np.linspace(0.2, 3.5 * count, 60 * count)
    values = [determinant(beta) for beta in grid]
    brackets = [(a, b) for a, b, u, v in zip(grid, grid[1:], values, values[1:]) if u * v < 0]
    return np.array([brentq(determinant, a, b, xtol=1e-14, rtol=1e-14) for a, b in brackets[:count]])


# ------------------------------------------------------------------------------------------- solved or integrated


def joint_controller(model: Model) -> PD:
    """PD on the joints along the motion of the paper."""
    kp, kd = natural_gains(model, GOAL, BANDWIDTH / (2 * np.pi))
    return PD(kp, kd, Cycloidal(START, GOAL, DURATION), gravity="none")


def moved(model: Model, law: PD, rtol: float) -> Result:
    """Run of the motion of the paper under the joint controller."""
    return simulate(model, DURATION, START, controller=law, method="dop853", rtol=rtol, atol=1e-2 * rtol,
                    output_step=1e-2, progress=False)  # fmt: skip


def solved_and_integrated() -> tuple[Measured, dict[str, Result | dict[str, Array]]]:
    """Numbers and histories of runs that solve for the roots, of roots that are integrated beside them, and of runs of
    the arm that has the integrated roots."""
    robot = with_modes()
    model = robot.model(stiffening="off")
    law = joint_controller(model)
    truth = moved(model, law, TIGHT)
    table: dict[str, Measured] = {}
    for rtol in TOLERANCES:
        run = moved(model, law, rtol)
        beta = integrated_beside(run)
        again = moved(IntegratedRoots.of(robot, run["slide"], beta), law, rtol)
        table[f"{rtol:g}"] = {
            "steps": run.stats.steps,
            "beta off": float(np.abs(beta - true_roots(run["slide"])).max()),
            "tip off (m)": {
                kind: float(np.abs(one.tip - truth.tip).max()) for kind, one in (("solved", run), ("integrated", again))
            },
        }
    known = IntegratedRoots.of(robot, run["slide"], beta, degree=1)
    numbers = {
        "by tolerance": table,
        "operations": {"solved": _operations(model, law), "integrated": _operations(known, law)},
        "travel (m)": float(np.ptp(truth["slide"])),
    }
    return numbers, {"roots solved": run, "roots integrated": {"t": run.t, "length": run["slide"], "beta": beta}}


def true_roots(lengths: Array) -> Array:
    """(N, 2) roots at free lengths, by counting and bisection."""
    return np.array([clamped_mass_roots(2, PAYLOAD / (RHO_A * length)) for length in lengths])


def integrated_beside(run: Result) -> Array:
    """(N, 2) roots along a run: d beta/dt = (d beta/dl) dl/dt from the roots at its start, by the classical Runge-Kutta
    method with as many steps as the run took. Nothing brings beta back to the roots."""
    from scipy.interpolate import CubicHermiteSpline

    length = CubicHermiteSpline(run.t, run["slide"], run.qd[:, list(run.model.speeds).index("slide")])
    speed = length.derivative()

    def rate(t: float, beta: float) -> float:
        return length_rate(float(length(t)), beta) * float(speed(t))

    substeps = ceil(run.stats.steps / (len(run.t) - 1))
    return np.column_stack([follow_beta(b, rate, run.t, substeps) for b in true_roots(run["slide"][:1])[0]])


@dataclass(frozen=True)
class GivenModes(MovingModes):
    """Modes whose roots are given by Chebyshev series over a range of the free length; nothing is solved for."""

    over: tuple[float, float] = (0.0, 1.0)
    series: tuple[tuple[float, ...], ...] = ()

    def root(self, l: SX, mode: int) -> SX:
        low, high = self.over
        return clenshaw(np.array(self.series[mode]), (2 * l - low - high) / (high - low))


@dataclass(frozen=True)
class GivenBeam(SlidingBeam):
    """Sliding beam with given shapes."""

    given: FollowedShapes | None = None

    @cached_property
    def functions(self) -> FollowedShapes | None:
        return self.given


class IntegratedRoots(Model):
    """Arm of the paper with roots of link 3 that are given over its free length."""

    over: tuple[float, float]
    series: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, robot: Robot, lengths: Array, beta: Array, degree: int = DEGREE) -> IntegratedRoots:
        """Model with series of a degree through these roots (N, 2) at free lengths (N,)."""
        # under another name no trace of the plain arm is taken for this one
        denoc = replace(FORMULATIONS["denoc"], name="denoc, integrated roots")
        model = cls(robot, denoc, stiffening="off")
        low, high = model.over = float(lengths.min()), float(lengths.max())
        found = chebyshev.chebfit((2 * lengths - low - high) / (high - low), beta, degree)
        model.series = tuple(tuple(column.tolist()) for column in found.T)
        return model

    @cached_property
    def equations(self) -> Equations:
        """Equations of motion with the given roots."""
        plain = super().equations
        *before, link = plain.chain.links
        assert isinstance(link.body, SlidingBeam)
        shapes = link.body.functions
        assert isinstance(shapes, FollowedShapes)
        modes = tuple(_as(GivenModes, one, over=self.over, series=self.series) for one in shapes.planes)
        body = _as(GivenBeam, link.body, given=FollowedShapes(shapes.shapes, modes))
        return replace(plain, chain=replace(plain.chain, links=(*before, replace(link, body=body))))


def _as(kind: Callable[..., T], source: DataclassInstance, **more: object) -> T:
    """Object of a kind that adds some fields to those of its source."""
    return kind(**{one.name: getattr(source, one.name) for one in fields(source)}, **more)


def _operations(model: Model, law: PD) -> int:
    """Products, sums, divisions, roots and calls of functions in one evaluation of the right-hand side."""
    return sum(compose(model, None, law, {}, (), None, False).rhs.tape.count().values())
