"""The reference rods themselves: against closed forms, published numbers and each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc, fresnel

from exact_cases import (
    ANSYS,
    BEND,
    BEND_SIMO_VU_QUOC,
    BEND_START,
    BEND_TIPS,
    EXUDYN,
    PRINCETON,
    PRINCETON_ANGLES,
    SPIN_UP,
    SPIN_UP_LAGS,
    SPIN_UP_TIMES,
    History,
    elbow_frame,
    flying_spaghetti,
    princeton,
    robot_arm,
    rolled_up,
    simo_spin_up,
)
from exact_rods import CurvatureRod, PlanarRod, Rod, TipLoad, bent_rod, peak_lag, spin_up_angle, spun_rod

UNEQUAL = Rod(1.3, 0.7, 1.9, 1.1)
START = np.array([UNEQUAL.length, 0.0, 0.0])

# ------------------------------------------------------------------------------------------------ at rest, in space


def curved(curvature: object) -> Rod:
    return Rod(UNEQUAL.length, UNEQUAL.EI_y, UNEQUAL.EI_z, UNEQUAL.GJ, curvature)  # type: ignore[arg-type]


def test_small_loads_bend_and_twist_as_in_textbooks() -> None:
    """Signs and planes: EI_z resists y, EI_y resists z; moments about y push the end towards -z."""
    L, small = UNEQUAL.length, 1e-6
    bent = bent_rod(UNEQUAL, TipLoad((0, small, 2 * small), (3 * small, 0, 0)), steps=1)
    expected = [small * L**3 / 3 / UNEQUAL.EI_z, 2 * small * L**3 / 3 / UNEQUAL.EI_y]
    assert (bent.tip - START)[1:] == pytest.approx(expected, rel=1e-5)
    assert Rotation.from_matrix(bent.attitude[-1]).as_rotvec()[0] == pytest.approx(3 * small * L / UNEQUAL.GJ, rel=1e-5)
    turned = bent_rod(UNEQUAL, TipLoad(moment=(0, small, small)), steps=1).tip - START
    assert turned[1:] == pytest.approx([small * L**2 / 2 / UNEQUAL.EI_z, -small * L**2 / 2 / UNEQUAL.EI_y], rel=1e-5)


@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("turns", [0.5, 0.75, 1.0])
def test_roll_up_to_a_full_circle(turns: float, follows: bool) -> None:
    L = UNEQUAL.length
    moment = (0.0, 0.0, 2 * np.pi * turns * UNEQUAL.EI_z / L)
    bent = bent_rod(UNEQUAL, TipLoad(moment=moment, moment_follows=follows), points=9)
    angle = 2 * np.pi * turns * bent.x / L
    radius = L / (2 * np.pi * turns)
    arc = np.column_stack([radius * np.sin(angle), radius * (1 - np.cos(angle)), 0 * angle])
    assert np.abs(bent.place - arc).max() < 1e-9 * L
    assert bent.tip[:2] == pytest.approx(rolled_up(turns, L), abs=1e-9)


@pytest.mark.parametrize("load", [0.3, 2.0, 10.0])
def test_elastica_under_a_force_that_keeps_its_direction(load: float) -> None:
    """Elliptic integrals: sqrt(P L^2/EI) = K(k) - F(a, k), k^2 = (1 + sin theta)/2, sin a = 1/(k sqrt 2)."""

    def parts(theta: float) -> tuple[float, float]:
        m = (1 + np.sin(theta)) / 2
        return float(m), float(np.arcsin(1 / np.sqrt(2 * m)))

    def missed(theta: float) -> float:
        m, a = parts(theta)
        return float(ellipk(m) - ellipkinc(a, m) - np.sqrt(load))

    theta = brentq(missed, 1e-9, np.pi / 2 - 1e-9, xtol=1e-14)
    m, a = parts(theta)
    L = UNEQUAL.length
    expected = L * np.array([np.sqrt(2 * np.sin(theta) / load), 1 - 2 / np.sqrt(load) * (ellipe(m) - ellipeinc(a, m))])
    force = load * UNEQUAL.EI_z / L**2
    assert np.abs(bent_rod(UNEQUAL, TipLoad((0, force, 0))).tip[:2] - expected).max() < 1e-8 * L


def test_a_round_rod_under_a_moment_fixed_in_space_is_a_helix() -> None:
    """Equal stiffness in bending and torsion: sections turn evenly about the axis of the moment."""
    rod, moment = Rod(1.3, 0.7, 0.7, 0.7), np.array([1.1, -1.7, 2.3])
    bent = bent_rod(rod, TipLoad(moment=tuple(moment)), points=7)
    size = np.linalg.norm(moment)
    axis, along = moment / size, np.array([1.0, 0.0, 0.0])
    angle = size * bent.x / 0.7
    rise, across = axis * (axis @ along), along - axis * (axis @ along)
    helix = np.outer(bent.x, rise) + 0.7 / size * (
        np.outer(np.sin(angle), across) + np.outer(1 - np.cos(angle), np.cross(axis, along))
    )
    assert np.abs(bent.place - helix).max() < 1e-9


def test_pure_bending_of_a_curved_rod() -> None:
    """Curvatures add: 1/r0 + M/EI; the same moment the other way makes the arc straight."""
    rod, L, k = curved((0.0, 0.0, 0.9)), UNEQUAL.length, 0.9 + 1.5 / UNEQUAL.EI_z
    expected = [np.sin(k * L) / k, (1 - np.cos(k * L)) / k, 0.0]
    assert np.abs(bent_rod(rod, TipLoad(moment=(0, 0, 1.5))).tip - expected).max() < 1e-9
    assert np.abs(bent_rod(rod, TipLoad(moment=(0, 0, -0.9 * UNEQUAL.EI_z))).tip - START).max() < 1e-9


def test_signs_of_curvature_and_twist() -> None:
    """Without load: kappa_z > 0 bends towards +y, kappa_y > 0 towards -z; with a twist the rod is a helix."""
    free = TipLoad()
    assert bent_rod(curved((0.0, 0.0, 0.1)), free).tip[1] > 0.08
    assert bent_rod(curved((0.0, 0.1, 0.0)), free).tip[2] < -0.08
    kappa = np.array([2.0, 0.4, 0.7])
    bent = bent_rod(curved(lambda x: kappa), free)
    assert np.abs(bent.attitude[-1] - Rotation.from_rotvec(kappa * UNEQUAL.length).as_matrix()).max() < 1e-10


def test_a_curvature_that_grows_along_the_rod() -> None:
    """kappa_z = c x makes a clothoid, Fresnel's integrals."""
    c, L = 3.0, UNEQUAL.length
    unit = np.sqrt(np.pi / c)
    sine, cosine = fresnel(L / unit)
    tip = bent_rod(curved(lambda x: (0.0, 0.0, c * x)), TipLoad()).tip
    assert np.abs(tip - [unit * cosine, unit * sine, 0.0]).max() < 1e-9


def test_a_pretwisted_rod_under_a_small_force() -> None:
    """Compliance of sections that turn along the rod, by quadrature: w'' = (Iy or Iz turned) M / E."""
    L, twist, small = UNEQUAL.length, 1.2, 1e-6
    bent = bent_rod(curved(lambda x: (twist, 0.0, 0.0)), TipLoad((0, small, 0)), steps=1).tip
    x, w = np.polynomial.legendre.leggauss(30)
    x, w = (x + 1) * L / 2, w * L / 2
    c, s = np.cos(twist * x), np.sin(twist * x)  # moment about z, seen from the section: (s, c) about y, z
    about_z, about_y = s**2 / UNEQUAL.EI_y + c**2 / UNEQUAL.EI_z, s * c * (1 / UNEQUAL.EI_y - 1 / UNEQUAL.EI_z)
    expected = [small * w @ (about_z * (L - x) ** 2), -small * w @ (about_y * (L - x) ** 2)]
    assert bent[1:] == pytest.approx(expected, rel=1e-5)


def test_moments_balance_along_the_rod() -> None:
    bent = bent_rod(PRINCETON, TipLoad((-3.0, -9.0, 8.0), (0.2, -0.1, 0.3)), points=5)
    arms = bent.tip - bent.place
    assert np.abs(bent.moment - np.cross(arms, bent.force) - [0.2, -0.1, 0.3]).max() < 1e-8


def test_loads_at_the_end_are_those_asked_for() -> None:
    """Fixed in the base, or in the axes of the end section, which has turned by more than a radian."""
    force, moment = (0.3, 0.8, -0.5), (0.4, -0.6, 0.9)
    for follows in ((False, False), (True, False), (False, True)):
        bent = bent_rod(curved((0.3, -0.2, 0.5)), TipLoad(force, moment, *follows))
        R = bent.attitude[-1]
        assert Rotation.from_matrix(R).magnitude() > 1.0
        for asked, found, turns in zip((force, moment), (bent.force, bent.moment[-1]), follows, strict=True):
            assert (R.T @ found if turns else found) == pytest.approx(asked, abs=1e-8)


@pytest.mark.slow_cases("10.8571--1.08132-0.519469", "5.71429--0.920201-0.753904")
@pytest.mark.parametrize(
    ("force", "ux", "uy"),
    [(1.14286, -0.0831662, 0.362185), (5.71429, -0.920201, 0.753904), (10.8571, -1.08132, 0.519469)],
)
def test_force_that_follows(force: float, ux: float, uy: float) -> None:
    """Integrated from the end inwards, EA L^2/EI = 1.2e5: what stretch leaves, F/EA."""
    load = TipLoad((0, force, 0), force_follows=True)
    tip = bent_rod(Rod(1.0, 1.0, 1.0, 1.0), load, steps=max(4, int(force / 2))).tip
    assert np.abs(tip - [1 + ux, uy, 0]).max() < force / 1.2e5


PRINTED = {15: (0.010640, 0.042191), 45: (0.008976, 0.109110), 75: (0.003621, 0.142215), 90: (0.0, 0.146249)}


@pytest.mark.parametrize("angle", PRINTED)
def test_princeton_to_the_digits_given(angle: int) -> None:
    assert princeton(8.896, angle)[1:] * [-1, 1] == pytest.approx(PRINTED[angle], abs=5.1e-7)


@pytest.mark.parametrize("angle", PRINCETON_ANGLES)
def test_princeton_beside_beams_of_others(angle: int) -> None:
    """They shear and stretch: up to 0.3 % of |u|."""
    ours = princeton(8.896, angle)
    for theirs in (ANSYS[angle], EXUDYN[angle]):
        assert np.linalg.norm(ours[1:] * [-1, 1] - theirs) < 0.003 * np.linalg.norm(ours)


@pytest.mark.parametrize("force", BEND_TIPS)
def test_bend_of_bathe_and_bolourchi(force: float) -> None:
    tip = bent_rod(BEND, TipLoad((0, 0, force))).tip
    assert tip == pytest.approx(BEND_TIPS[force], abs=0.0051)
    published = np.array(BEND_SIMO_VU_QUOC[force])
    assert np.linalg.norm(tip - published) < 0.005 * np.linalg.norm(published - BEND_START)
    assert bent_rod(BEND, TipLoad()).tip == pytest.approx(BEND_START, abs=1e-8)


# ---------------------------------------------------------------------------------------- turned root, in the plane


def test_frequencies_of_a_clamped_beam() -> None:
    rod = CurvatureRod(SPIN_UP, 10)
    flexible = [rod.accelerations(1e-7 * e, 0 * e, 0.3, 0.0, 0.0) / 1e-7 for e in np.eye(10)]
    found = np.sort(np.sqrt(-np.linalg.eigvals(np.array(flexible).T).real))[:3]
    roots = np.array([1.875104069, 4.694091133, 7.854757438])
    expected = roots**2 * np.sqrt(SPIN_UP.EI / SPIN_UP.mass_per_length / SPIN_UP.length**4)
    assert found == pytest.approx(expected, rel=1e-8)


def test_accelerations_are_those_of_lagrange() -> None:
    """The energies differentiated by CasADi, at a bent, moving state and a root that turns."""
    rod = CurvatureRod(PlanarRod(1.3, 0.7, 2.1), 4)
    y = ca.SX.sym("y", 5)
    yd = ca.SX.sym("yd", 5)  # q, phi
    psi = ca.DM(rod.turns) @ y[:4] + y[4]
    speed = [ca.jtimes(ca.DM(rod.sums) @ part, y, yd) for part in (ca.cos(psi), ca.sin(psi))]
    T = sum(0.7 / 2 * ca.dot(ca.DM(rod.weights), v**2) for v in speed)
    V = y[:4].T @ ca.DM(rod.stiffness) @ y[:4] / 2
    momentum = ca.gradient(T, yd)
    rest = ca.jtimes(momentum, y, yd) - ca.gradient(T - V, y)
    terms = ca.Function("terms", [y, yd], [ca.jacobian(momentum, yd), rest, T + V])
    rng = np.random.default_rng(3)
    at, rates = rng.normal(size=(2, 5))
    M, bias, energy = (np.array(x) for x in terms(at, rates))
    turning = 1.7
    expected = np.linalg.solve(M[:4, :4], -bias[:4, 0] - M[:4, 4] * turning)
    found = rod.accelerations(at[:4], rates[:4], at[4], rates[4], turning)
    assert found == pytest.approx(expected, rel=1e-9)
    assert rod.energy(at[:4], rates[:4], at[4], rates[4]) == pytest.approx(float(energy[0, 0]), rel=1e-12)


def test_energy_of_a_large_swing_is_kept() -> None:
    """Root held, released with its end turned by 1.6 rad, for a period."""
    rod = CurvatureRod(SPIN_UP, 3)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], rod.accelerations(y[:3], y[3:], 0.0, 0.0, 0.0)])

    start = np.array([0.2, -0.2, 0.0, 0.0, 0.0, 0.0])  # no curvature at the end
    run = solve_ivp(rate, (0.0, 2.2), start, method="DOP853", rtol=1e-9, atol=1e-11)
    energy = [rod.energy(y[:3], y[3:], 0.0, 0.0) for y in run.y.T]
    assert rod.tip(run.y[:3])[1].min() < -0.5 * SPIN_UP.length
    assert np.ptp(energy) < 1e-7 * energy[0]


@pytest.mark.slow
def test_a_stiff_rod_follows_its_root() -> None:
    """Quasistatic: inertia forces mu a x bend a cantilever by 11/120 mu a L^5/EI at its end."""
    rod = PlanarRod(1.0, 1.0, 1e3)
    motion = spin_up_angle(0.2, 2.0)
    t, tip, _ = spun_rod(rod, motion, 0.6, shapes=3, rtol=1e-6, t=np.array([0.2, 0.4, 0.6]))
    expected = [11 / 120 * motion(at)[2] / 1e3 for at in t]
    assert -tip[1] == pytest.approx(expected, abs=2e-3 * max(expected))  # (2 pi/T / first frequency)^2 = 8e-4


@pytest.mark.slow
def test_few_polynomials_meet_the_table() -> None:
    """Four at 10 rad/s, near the peak: 3.5e-5 measured; the table itself is the large set's."""
    motion = spin_up_angle(10.0, 15.0)
    _, tip, _ = spun_rod(SPIN_UP, motion, 6.3, shapes=4, rtol=1e-6, t=np.linspace(5.9, 6.3, 81))
    assert -tip[1].min() == pytest.approx(SPIN_UP_LAGS[10.0], rel=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("speed", SPIN_UP_LAGS)
def test_table_of_lags(speed: float) -> None:
    """Converged: 5 and 6 polynomials, looser and finer steps agree with each other and with the table to 1e-6."""
    for shapes, rtol in ((5, 1e-8), (6, 1e-9)):
        lag, t = peak_lag(SPIN_UP, speed, shapes=shapes, rtol=rtol)
        assert lag == pytest.approx(SPIN_UP_LAGS[speed], rel=1e-6)
        assert t == pytest.approx(SPIN_UP_TIMES[speed], abs=0.0021)


@pytest.mark.full
def test_elements_of_exudyn_lag_alike() -> None:
    """Cubic cable elements with the beam's own EA, 10 rad/s in 15 s: within 0.1 %, seen every 0.02 s."""
    pytest.importorskip("exudyn", reason="exudyn is not installed: pip install '.[bench]'")
    from pliant_bench.spin_up import exudyn_run

    lag = -exudyn_run(10.0, 15.0, elements=16).deflections.min()
    assert lag == pytest.approx(SPIN_UP_LAGS[10.0], rel=1e-3)


# -------------------------------------------------------------------------------------------------------- histories


READERS = [
    (simo_spin_up, 19.9, 0.57404),
    (robot_arm, 9.0, 16.686),
    (flying_spaghetti, 7.5, 11.291),
    (elbow_frame, 29.85, 12.178),
    (partial(elbow_frame, "elbow"), 29.85, 6.1088),
]


@pytest.mark.parametrize(("read", "end", "peak"), READERS)
def test_histories_are_read(read: Callable[[], History], end: float, peak: float) -> None:
    history = read()
    assert history.t[-1] == end
    assert history.u.shape == (len(history.t), len(history.columns))
    assert np.isfinite(history.u).all()
    assert history.peak == pytest.approx(peak, rel=1e-4)
    assert history.error(history.t, history.u) == 0.0
    off = history.u.copy()
    off[len(off) // 2, 0] += 0.01 * history.peak
    assert history.error(history.t, off) == pytest.approx(0.01)


def test_numbers_of_simo_and_vu_quoc() -> None:
    """Largest lag 0.5737 m at 6.8 s; steady stretch mu w^2 L^3 / 3 EA = 5.14e-4 m."""
    history = simo_spin_up()
    lag = -history.column("lag")
    assert (lag.max(), history.t[lag.argmax()]) == pytest.approx((0.5737, 6.8), rel=1e-4)
    steady = history.column("extension")[history.t > 17].mean()
    assert steady == pytest.approx(1.2 * 6.0**2 * 10.0**3 / (3 * 2.8e7), rel=2e-3)


@pytest.mark.full
def test_spin_up_of_simo_and_vu_quoc_without_stretch_and_shear() -> None:
    """The inextensible rod lags like their beam to 1e-4 of the peak over 15 s: shear and stretch are that small."""
    history = simo_spin_up()
    t = history.t[history.t <= 15.0]
    rod = PlanarRod(history.beam.length, history.beam.mass_per_length, history.beam.EI)
    _, tip, _ = spun_rod(rod, spin_up_angle(6.0, 15.0), t[-1], shapes=5, t=t)
    assert np.abs(tip[1] - history.column("lag")[: len(t)]).max() < 1e-3 * 0.5737
