"""Timings along a path that leave an arm still: what modes along the way say, against simulations and differences."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import unequal_two_link
from pliant.control.planning import plan_motion
from pliant.control.planning.paths.joint_paths import JointPath, hermite_pieces, shares
from pliant.control.planning.paths.path_modes import PathModes, Timed, middles
from pliant.control.planning.paths.path_shaping import PathTask
from pliant.control.planning.paths.path_timing import Followed, Timing, TimingSearch, fastest_timing, way_rows
from pliant.control.planning.paths.path_torques import PathTorques
from pliant.control.planning.search.motion_bounds import MotionBounds
from pliant.control.planning.search.motion_search import Unsolved
from pliant.control.planning.search.time_limited import Watch
from pliant.control.trajectories.splines import Piecewise
from pliant.planning import JointMotion, plan, residual_vibration

BOUNDS = MotionBounds.none(2)
LIMITS = {"speed_limit": [2.0, 3.0], "acceleration_limit": [8.0, 12.0], "jerk_limit": [80.0, 150.0]}
LIMITED = MotionBounds(BOUNDS.lower, BOUNDS.upper, *(np.array(x) for x in LIMITS.values()))
N = 24


@pytest.fixture(scope="module")
def model():
    return unequal_two_link().replace({"payload.mass": 1.5}).model()


@pytest.fixture(scope="module")
def path():
    u = np.linspace(0, 1, 61)
    q = np.stack([-1.1 + 0.6 * u, 0.3 - 0.6 * u + 0.25 * np.sin(np.pi * u) ** 2], axis=1)
    return JointPath.of(u, q, ("upper", "fore"))[0]


@pytest.fixture(scope="module")
def modes(model, path):
    return PathModes(model, path)


@pytest.fixture(scope="module")
def smooth(path):
    return Timing.smooth(path, LIMITED, N)


def at(modes: PathModes, timing: Timing, more: float = 1.0) -> Timed:
    steps = int(more * modes.steps(timing.T))
    tau = middles(steps)
    rows = tuple(np.column_stack([way_rows(tau, len(timing.a) - 1, k), np.zeros(steps)]) for k in range(3))
    y = np.append(timing.a, timing.T)
    return Timed(timing.T, *(each @ y for each in rows), rows)


def test_way_of_linear_accelerations() -> None:
    """An acceleration that rises and falls once: the way and its derivatives in closed form."""
    tau = np.array([0.0, 0.25, 0.5, 1.0])
    a = np.array([0.0, 1.0, 0.0])  # 2 tau up to one half, then back
    expected = ([0, 1 / 192, 1 / 24, 1 / 4], [0, 1 / 16, 1 / 4, 1 / 2], [0, 0.5, 1, 0], [0, 2, 2, -2])
    for order, values in enumerate(expected):
        np.testing.assert_allclose(way_rows(tau, 2, order) @ a, values, atol=1e-15)
    settled = Timing(np.array([0.0, 1.0, 0.5, -2.0, 0.0]), 2.0).settled()
    ends = [(way_rows(np.ones(1), 4, order) @ settled.a).item() for order in (0, 1)]
    np.testing.assert_allclose(ends, [1, 0], atol=1e-14)


def test_polynomials_between_states() -> None:
    t = np.array([0.0, 0.4, 1.0, 1.1])
    x = [np.polynomial.Polynomial([1, -2, 3, 0.5, -1, 2]).deriv(k)(t)[:, None] for k in range(3)]
    motion = Piecewise(hermite_pieces(t, *x), 1.1)
    fine = np.linspace(0, 1.1, 50)
    np.testing.assert_allclose(
        motion(fine)[0][:, 0], np.polynomial.Polynomial([1, -2, 3, 0.5, -1, 2])(fine), rtol=1e-11
    )


def test_modes_along_a_path_are_those_of_the_simulated_arm(model, path, modes, smooth) -> None:
    """Of motions that ring, and of different phases at the end: to a few hundredths, which is what second order in the
    deflection is worth."""
    for T in (0.6, 0.8, 1.0):
        quick = Timing(smooth.a, T)
        found = residual_vibration(model, quick.on(path), T)
        seen, computed = modes.swings(found), modes.left(at(modes, quick)).swings
        assert found.peak > 0.3
        assert np.hypot(*seen.reshape(2, -1)).max() == pytest.approx(found.peak, rel=0.02)
        assert np.abs(computed - seen).max() < 0.04 * found.peak


def test_a_beam_that_turns_about_its_own_axis() -> None:
    """Vibrations in its two planes push each other by 2 m Omega, whatever their stiffness; the places of rest stay, so
    that no acceleration pushes any."""
    beam = pliant.Beam(length=1.7, mass_per_length=2.3, EI_y=90.0, EI_z=140.0)
    shapes = pliant.Shapes(bending_y=1, bending_z=1)
    link = pliant.Link(
        name="mast",
        joint=pliant.Joint(axis=(1, 0, 0), hub={"mass": 1.0, "inertia": (0.4, 0.3, 0.2)}),
        beam=beam,
        shapes=shapes,
    )
    model = pliant.Robot(name="mast", gravity=(0, 0, 0), links=[link]).model(stiffening="off")
    u, way = np.linspace(0, 1, 21), 0.9
    modes = PathModes(model, JointPath.of(u, 0.2 + way * u[:, None], ("mast",))[0])
    for pose, axes in zip(modes.poses, modes.axes):
        g, h, G = pose.forces(model, axes)
        np.testing.assert_allclose(np.abs(G), 2 * way * np.array([[0, 1], [1, 0]]), atol=1e-9)
        assert G[0, 1] == pytest.approx(-G[1, 0])
        np.testing.assert_allclose([g, h], 0.0, atol=1e-9)
    np.testing.assert_allclose(modes.omega, 3.5160153 / 1.7**2 * np.sqrt([90.0 / 2.3, 140.0 / 2.3]), rtol=1e-6)


def test_slopes_of_what_is_left(modes, smooth) -> None:
    slopes = modes.left(at(modes, smooth, 4)).slopes
    rng = np.random.default_rng(2)
    for direction in (np.append(np.zeros(N + 1), 1.0), np.append(0, [*rng.normal(size=N - 1), 0, 0.1])):
        sides = [
            modes.left(at(modes, Timing(smooth.a + s * direction[:-1], smooth.T + s * direction[-1]), 4)).swings
            for s in (1e-5, -1e-5)
        ]
        np.testing.assert_allclose((sides[0] - sides[1]) / 2e-5, slopes @ direction, rtol=5e-3, atol=1e-5)


def test_slopes_of_all_conditions(model, path, modes, smooth) -> None:
    """Limits on a bent path by the chain rule, torques, and the modes with what a simulation found beside."""
    arm = Followed(modes, 0.1, 1e-3)
    arm.beside[:] = 0.01
    search = TimingSearch(path, LIMITED, [arm], smooth, PathTorques(modes, path, np.array([200.0, 60.0])))
    x, moved = search.start, smooth.a + np.random.default_rng(3).normal(size=N + 1) * (np.arange(N + 1) % N > 0)
    step = np.append(Timing(moved, 1.0).settled().a - smooth.a, 1.0) / search.scale  # beyond its end a path stands
    change = search.constraints(x + 1e-6 * step) - search.constraints(x - 1e-6 * step)
    np.testing.assert_allclose(change / 2e-6, search.jacobian(x) @ step, rtol=2e-3, atol=2e-3)


def test_a_correction_is_what_a_simulation_shows(model, path, modes, smooth) -> None:
    """Conditions at the timing that was simulated: its swings, and its torques at the moments that are looked at."""
    quick, most = Timing(smooth.a, 1.0), np.array([200.0, 60.0])
    search = TimingSearch(path, LIMITED, [Followed(modes, 0.1, 1e-3)], quick, PathTorques(modes, path, most))
    run = residual_vibration(model, quick.on(path), 1.0)
    search.correct(quick, [run])
    g, P = search.constraints(search.start), modes.steps(1.0)
    tau = np.stack([np.interp(middles(P), run.run.t, column) for column in run.run.tau.T[:2]], axis=1) / most
    np.testing.assert_allclose(g[-tau.size :], tau.ravel(), atol=1e-12)
    swings = modes.swings(run) / 0.1
    np.testing.assert_allclose(g[-tau.size - 4 : -tau.size], swings, atol=1e-12)  # all four are felt


def test_the_fastest_timing_is_that_of_constant_jerks() -> None:
    """A straight path, and nothing that rings: the seven phases."""
    bounds = MotionBounds(*(np.array([x]) for x in (-np.inf, np.inf, 1.0, 2.0, 8.0)))
    path = JointPath.of(np.linspace(0, 1, 50), np.linspace(0, 1, 50)[:, None], ("a",))[0]
    search = TimingSearch(path, bounds, (), Timing.smooth(path, bounds, 40))
    with pytest.raises(Unsolved, match="within time_limit"):
        fastest_timing(search, Watch(1e-9))
    found = fastest_timing(search)
    assert abs(found.T / bounds.shortest(np.ones(1)) - 1) < 0.01
    assert max(shares(found.on(path), bounds).values()) <= 1 + 1e-3


def test_torques_along_a_path(model, path, modes, smooth) -> None:
    """Those of the simulated arm, which swings; a correction makes them the same."""
    quick = Timing(smooth.a, 1.0)
    found, timed = residual_vibration(model, quick.on(path), 1.0), at(modes, quick)
    tau = middles(len(timed.s))
    torques, most = PathTorques(modes, path, np.array([200.0, 60.0])), np.array([200.0, 60.0])
    computed = torques.shares(timed, modes.left(timed))[0]
    seen = np.stack([np.interp(tau, found.run.t, column) for column in found.run.tau.T[:2]], axis=1) / most
    assert np.ptp(seen, axis=0).min() > 1.0
    np.testing.assert_allclose(computed, seen, atol=0.3)  # of a tip that swings by 0.39 m
    torques.correct(found, computed)
    np.testing.assert_allclose(torques.shares(timed, modes.left(timed))[0], seen, atol=1e-12)


@pytest.fixture(scope="module")
def given(path):
    s = np.linspace(0, 1, 41)
    return JointMotion(("upper", "fore"), 0.9 * s, path.at(10 * s**3 - 15 * s**4 + 6 * s**5))


@pytest.mark.full
@pytest.mark.parametrize("error", [0.0, 0.2])
def test_a_trajectory_gets_the_fastest_timing(model, given, error: float) -> None:
    found = plan(model, trajectory=given, payload_error=error, progress=False, **LIMITS)
    assert found.method == "timing"
    assert found.compared["as described"].ratio < 1 / 20
    assert all(both.ratio < 1 / 5 for both in found.compared.values())
    assert max(found.shares.values()) <= 1 + 1e-5
    assert found.duration < 1.3
    again = residual_vibration(model, found.trajectory, found.duration)
    assert again.peak < found.compared["as described"].plain.peak / 20
    there = given.at(np.linspace(0, 0.9, 4001))
    assert max(np.linalg.norm(there - q, axis=1).min() for q in found.motion.q) < 1e-3


def test_a_timing_leaves_an_arm_still(model, given) -> None:
    """Few intervals and a straight path; the run is another one than those of the search."""
    straight = JointMotion(
        given.joints, given.t, given.q[:1] + np.outer(np.linspace(0, 1, 41), given.q[-1] - given.q[0])
    )
    found = plan(model, trajectory=straight, progress=False, intervals=14, **LIMITS)
    assert found.method == "timing"
    assert max(found.shares.values()) <= 1 + 1e-5
    least = LIMITED.shortest(given.q[-1] - given.q[0])
    assert found.duration < least + 0.25 / found.frequency  # half of what a shaper of two impulses would add
    assert (
        residual_vibration(model, found.trajectory, found.duration).peak
        < found.compared["as described"].plain.peak / 20
    )


def test_shapers_where_no_timing_is_found(model, given, monkeypatch) -> None:
    def none(*_) -> None:
        raise Unsolved("none")

    monkeypatch.setattr(plan_motion, "timed", none)
    monkeypatch.setattr(PathTask, "shaped", lambda task, way: (way.on(task.path), task.runs(way.on(task.path))))
    assert plan(model, trajectory=given, progress=False, **LIMITS).method == "shapers"


@pytest.mark.full
def test_a_free_base_is_left_still() -> None:
    """Modes that three shapers did not serve."""
    model = pliant.load("free-flyer").model()
    start, goal = [0, 0, 0, 0, 0.4, -0.8, 0.2, 0, 0], [0, 0, 0, 0.25, 0.6, -0.5, 0.1, 0.1, 0]
    found = plan(model, start, goal, progress=False)
    assert found.compared["as described"].ratio < 1 / 20
    assert found.duration < 1.15 * found.plain.end
