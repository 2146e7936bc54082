"""Problems of beams that bend by any angle, with their reference values: what beams in pieces are held against.

SI units, radians. Static rods and the spin-up beam are rods of Kirchhoff (`exact_rods`: no stretch, no shear, no rotary
inertia). The histories are those of geometrically exact beams with stretch, shear (GA times what is given, no further
shear factor) and rotary inertia; their numbers stand in physics/exact_beams, whose README says who made them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from exact_rods import Array, PlanarRod, Rod, TipLoad, bent_rod

FOLDER = Path(__file__).parent / "physics" / "exact_beams"

# ---------------------------------------------------------------------------------------- Princeton's beam, at rest

WIDTH, HEIGHT, E, NU = 12.3777e-3, 3.2024e-3, 71.7e9, 0.31  # m along y, m along z, Pa
I_Y, I_Z = WIDTH * HEIGHT**3 / 12, HEIGHT * WIDTH**3 / 12
PRINCETON = Rod(0.508, E * I_Y, E * I_Z, 0.198 * E / (2 * (1 + NU)) * (I_Y + I_Z))
PRINCETON_FORCES = (8.896, 13.345)  # N
PRINCETON_ANGLES = (0, 15, 30, 45, 60, 75, 90)  # degrees between the force and the stiff direction, -y
ANSYS = {  # (uy, uz) of the tip at 8.896 N, m, uy given positive: beams of ANSYS,
    0: (0.0107142, 0.0), 15: (0.0106133, 0.0420823), 30: (0.0101117, 0.0793948), 45: (0.00883723, 0.108988),
    60: (0.00660467, 0.129888), 75: (0.00353889, 0.142194), 90: (0.0, 0.146246),
}  # fmt: skip
"""Obrezkov et al., Nonlinear Dynamics 109 (2022), as quoted in Exudyn's geometricallyExactBeamTest.py."""
EXUDYN = {
    0: (0.0107023, 0.0), 15: (0.0106295, 0.0421374), 30: (0.0101861, 0.0794434), 45: (0.0089529, 0.10897),
    60: (0.0067182, 0.129788), 75: (0.0036079, 0.142032), 90: (0.0, 0.146061),
}  # fmt: skip
"""16 geometrically exact elements, same source."""


def princeton_force(force: float, angle: float) -> tuple[float, float, float]:
    """At the tip, fixed in space; `angle` in degrees."""
    return 0.0, -force * float(np.cos(np.radians(angle))), force * float(np.sin(np.radians(angle)))


@cache
def princeton(force: float, angle: float) -> Array:
    """Displacement (3,) of the tip; uy is negative."""
    return bent_rod(PRINCETON, TipLoad(princeton_force(force, angle))).tip - [PRINCETON.length, 0.0, 0.0]


# --------------------------------------------------------------------------- the bend of Bathe and Bolourchi, at rest

BEND = Rod(100.0 * np.pi / 4, 1e7 / 12, 1e7 / 12, 1e7 / 12, (0.0, 0.0, 1 / 100.0))  # GJ = 2 G I, nu = 0
BEND_START = 100.0 * np.array([np.sqrt(0.5), 1 - np.sqrt(0.5), 0.0])  # tip without load
BEND_TIPS = {300.0: (58.78, 22.25, 40.19), 600.0: (47.15, 15.69, 53.47)}  # force along z: to the digits given
BEND_SIMO_VU_QUOC = {300.0: (58.84, 22.33, 40.08), 600.0: (47.23, 15.79, 53.37)}  # 1986, 8 elements with shear


def rolled_up(turns: float, length: float = 1.0) -> Array:
    """Tip (2,) of a rod rolled up by an end moment 2 pi `turns` EI/L: an arc of a circle."""
    angle = 2 * np.pi * turns
    return length * np.array([np.sinc(angle / np.pi), angle / 2 * np.sinc(angle / (2 * np.pi)) ** 2])


# ----------------------------------------------------------------------------------------------- the spin-up beam

SPIN_UP = PlanarRod(8.0, 0.20188056560, 566.70959280)  # arms/spin-up.yaml
SPIN_UP_TIME = 15.0
SPIN_UP_LAGS = {2.0: 0.2801192, 4.0: 0.5335903, 6.0: 0.7505370, 8.0: 0.9319831, 10.0: 1.0830201}
"""Speed, rad/s -> largest lag of the tip, m; `peak_lag(SPIN_UP, speed)`, the same to 1e-6 with 5 and 6 polynomials. A
history sampled every 0.05 s may miss 5e-5 of the peak."""
SPIN_UP_TIMES = {2.0: 7.019, 4.0: 6.765, 6.0: 6.541, 8.0: 6.345, 10.0: 6.168}  # s, of the peaks


# ----------------------------------------------------------------------------------- histories with shear and so on


@dataclass(frozen=True)
class ExactBeam:
    """Of each beam of a problem: m, N, N m^2, kg/m, kg m. `rotary` is that about y and z; about x it is twice that."""

    length: float
    EA: float
    GA: float
    EI: float
    mass_per_length: float
    rotary: float
    GJ: float | None = None  # of spatial problems


@dataclass(frozen=True)
class History:
    """Times (n,) and displacements (n, k), m, good to `good_to`, m."""

    beam: ExactBeam
    t: Array
    u: Array
    columns: tuple[str, ...]
    good_to: float

    def column(self, name: str) -> Array:
        return self.u[:, self.columns.index(name)]

    @property
    def peak(self) -> float:
        """Largest displacement: what errors are measured by."""
        return float(np.linalg.norm(self.u, axis=1).max())

    def error(self, t: Array, u: Array) -> float:
        """Largest distance of a history u (m, k) at times t (m,), linear in between, from this one, over the peak."""
        own = np.column_stack([np.interp(self.t, t, x) for x in np.asarray(u).T])
        return float(np.linalg.norm(own - self.u, axis=1).max() / self.peak)


def _read(name: str, beam: ExactBeam, columns: tuple[str, ...], good_to: float) -> History:
    path = FOLDER / f"{name}.csv"
    header = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    u = table[:, [header.index(f"{column}_m") for column in columns]]
    return History(beam, table[:, header.index("t_s")], u, columns, good_to)


def simo_spin_up() -> History:
    """Beam of Simo and Vu-Quoc brought to 6 rad/s in 15 s by the law of `exact_rods.spin_up_angle`, to 19.9 s.

    `lag` is the tip's displacement across the direction of the root (negative: it stays behind), `extension` along it.
    The largest lag is 0.5737 m at 6.8 s.
    """
    beam = ExactBeam(10.0, 2.8e7, 1e7, 1.4e4, 1.2, 6e-4)
    return _read("spinup", beam, ("lag", "extension"), 4e-5)


def robot_arm() -> History:
    """Root turned about z at 0.3 rad/s for 5 s, then held, to 9 s: its rate jumps at 0 and at 5 s.

    Displacement of the tip in axes of the base, from the straight beam along x. 12 EI/(GA L^2) = 1.2 %.
    """
    beam = ExactBeam(10.0, 1e4, 1e4, 1e3, 1.0, 10.0)
    return _read("rotation_driven", beam, ("ux", "uy"), 0.002)


def flying_spaghetti() -> History:
    """Free beam, at rest from (0, 0) to (6, -8), in a plane, to 7.5 s. At the end (6, -8), for 2.5 s: force (8, 0) N
    and moment -80 N m about z, both fixed in space.

    Displacement of that end in axes of the base.
    """
    beam = ExactBeam(10.0, 1e4, 1e4, 100.0, 1.0, 10.0)
    return _read("spaghetti_2d", beam, ("ux", "uy"), 0.004)


def elbow_frame(point: Literal["tip", "elbow"] = "tip") -> History:
    """Two beams joined rigidly, from the origin along x to (10, 0, 0), then along y to (10, 10, 0); root clamped. Force
    along z at the elbow, fixed in space: 50 t N up to 1 s, 50 (2 - t) up to 2 s; to 29.85 s.

    Displacement of the free end in axes of the base, or the elbow's along z alone.
    """
    beam = ExactBeam(10.0, 1e6, 1e6, 1e3, 1.0, 10.0, GJ=1e3)
    columns = ("tip_ux", "tip_uy", "tip_uz") if point == "tip" else ("elbow_uz",)
    return _read("elbow_frame", beam, columns, 0.01 if point == "tip" else 0.006)
