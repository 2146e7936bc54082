"""Pinned beam with a heavy tip under a bang-bang torque: the space manipulator of DETC2007-35511.

Given: 3.372 m, 2.82 kg/m, sqrt(EI/mu) = 5.974 m^2/s, a tip mass of 5.18 beam masses, 4.85 N m one way and back. The
reported rings are 0.85 Hz in runs with modes and 0.75 Hz in runs of exact beams. The paper is not at hand: the duration
of the torque, inertias of tip body and hub, and the settings of its exact beams are not known. Ours: no such inertia,
and a torque of 4 s each way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

import pliant
from other_codes.problems.table import Row, show
from pliant import Beam, Joint, Link, Model, Robot, Shapes
from pliant.robot import Lump
from pliant_bench.exudyn_beams import Discretization, simulate
from pliant_bench.peers import PlanarArm

L, MU, C, TIP, TORQUE = 3.372, 2.82, 5.974, 5.18, 4.85
AXIAL = 1e7  # N, of Exudyn's beams, which stretch: 40 Hz with the mass at the tip
EI, MASS = C**2 * MU, TIP * MU * L
HALF = 4.0
"""s, of the torque one way; the ring is listened to after twice that, for as long again."""
MODES = Shapes(bending_y=4, boundary="clamped-mass", tip_load="auto")
ELEMENTS = Shapes(method="elements", count=4, bending_y=True)
CUBIC = Shapes(method="elements", count=1, bending_y=True)


def exact_frequency(tip_inertia: float = 0.0, hub_inertia: float = 0.0) -> float:
    """First frequency, Hz, of the beam with a pinned root: from its differential equation."""

    def left(f: float) -> float:
        w = 2 * np.pi * f
        b = np.sqrt(w / C)

        def row(x: float, order: int) -> Any:
            cos, sin, cosh, sinh = np.cos(b * x), np.sin(b * x), np.cosh(b * x), np.sinh(b * x)
            rows = [cos, sin, cosh, sinh], [-sin, cos, sinh, cosh], [-cos, -sin, cosh, sinh], [sin, -cos, sinh, cosh]
            return b**order * np.array(rows[order])

        ends = [
            row(0, 0),
            EI * row(0, 2) + hub_inertia * w**2 * row(0, 1),
            EI * row(L, 2) - tip_inertia * w**2 * row(L, 1),
            EI * row(L, 3) + MASS * w**2 * row(L, 0),
        ]
        return float(np.linalg.det(np.array([end / np.abs(end).max() for end in ends])))

    grid = np.linspace(0.2, 1.2, 201)
    signs = np.array([left(f) for f in grid])
    first = int(np.flatnonzero(signs[:-1] * signs[1:] < 0)[0])
    return float(brentq(left, grid[first], grid[first + 1]))


def arm(shapes: Shapes, pieces: int | None = None, tip_inertia: float = 0.0) -> Robot:
    beam = Beam(length=L, mass_per_length=MU, EI_y=EI, EI_z=EI, pieces=pieces)
    payload = Lump(mass=MASS, inertia=(tip_inertia, tip_inertia, tip_inertia))
    return Robot(
        name="manipulator", gravity=(0, 0, 0), links=[Link(name="arm", joint=Joint(), beam=beam, shapes=shapes)],
        payload=payload,
    )  # fmt: skip


def first_frequency(model: Model) -> float:
    """Hz, of the arm free to turn, straight."""
    found = np.asarray(model.frequencies(q=np.zeros(model.n), joints="free"))
    return float(found[found > 1e-2][0])


def torque(t: float) -> float:
    return TORQUE if t < HALF else -TORQUE if t < 2 * HALF else 0.0


def ring(t: np.ndarray, deflection: np.ndarray) -> float:
    """Frequency, Hz, of the slowest ring once the motor stands: that of the sine which fits best in a Hann window."""
    late = t > 2 * HALF
    t, d = t[late] - 2 * HALF, deflection[late]
    weight = np.sin(np.pi * t / t[-1])

    def left(f: float) -> float:
        columns = np.column_stack([np.ones_like(t), np.cos(2 * np.pi * f * t), np.sin(2 * np.pi * f * t)])
        return float(np.linalg.lstsq(columns * weight[:, None], d * weight, rcond=None)[1][0])

    grid = np.linspace(0.6, 1.0, 81)
    best = grid[int(np.argmin([left(f) for f in grid]))]
    return float(minimize_scalar(left, bounds=(best - 0.01, best + 0.01), method="bounded").x)


def ours(robot: Robot, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Times (N,) and deflections (N,) of the tip from the tangent at the root, m."""
    times = [0.0, HALF, 2 * HALF]
    run = pliant.simulate(
        robot.model(stiffening="second-order"), 4 * HALF, method="rodas5p", rtol=1e-7, atol=1e-9, output_step=0.01,
        torque=(times, [[scale * TORQUE], [-scale * TORQUE], [0.0]], "hold"),
    )  # fmt: skip
    return run.t, run.deflection("arm")[:, 1]


def theirs(elements: int, kind: str = "ancf", step: float = 2e-3, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The same by Exudyn: cubic cable elements, or linear ones with shear (`exact`)."""
    cut = Discretization(
        elements=elements, step=step, kind=kind, solver="generalized-alpha", axial_stiffness=AXIAL,  # type: ignore
        tolerance=1e-6,
    )  # fmt: skip
    run = simulate(
        PlanarArm.of(arm(CUBIC)), 4 * HALF, [0.0], torques=lambda t: [scale * torque(t)], output_step=0.01, cut=cut
    )
    return run.t, run.deflections[:, 0]


def linear() -> list[Row]:
    """Frequencies at rest: modes with the tip load of the arm to 5e-6; four cubics, which are too stiff, to 3e-4."""
    exact, models = exact_frequency(), {"4 modes": arm(MODES), "4 elements": arm(ELEMENTS), "4 pieces": arm(CUBIC, 4)}
    rows = [
        Row(
            f"first frequency, Hz, {name}",
            exact,
            first_frequency(robot.model()),
            allowed * exact,
            "differential equation",
        )
        for (name, robot), allowed in zip(models.items(), (1e-4, 4e-4, 4e-4), strict=True)
    ]
    heavy = brentq(lambda J: exact_frequency(tip_inertia=J) - 0.75, 0.5, 2.0)
    got = first_frequency(arm(ELEMENTS, tip_inertia=heavy).model())
    return [*rows, Row(f"with a tip inertia of {heavy:.3f} kg m^2, Hz", 0.75, got, 1e-3, "differential equation")]


def moving() -> list[Row]:
    """The slow ring after the torque, as large as it is given and at a tenth of it."""
    rows, source = [], "Exudyn, 8 cable elements"
    for scale in (0.1, 1.0):
        expected = ring(*theirs(8, scale=scale))
        for name, robot in {"4 modes": arm(MODES), "4 pieces": arm(CUBIC, 4)}.items():
            got = ring(*ours(robot, scale))
            rows.append(Row(f"ring, Hz, {scale:g} of the torque, {name}", expected, got, 3e-3, source))
    return rows


def main() -> None:
    show("Space manipulator, at rest", linear())
    show("Space manipulator, after 4 s of torque each way", moving())


if __name__ == "__main__":
    main()
