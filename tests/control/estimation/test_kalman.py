"""Filters along the nonlinear model: against linear theory, consistency over seeded runs, unknown payloads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are
from scipy.stats import chi2

import pliant
from arms import two_links
from pliant import Frame, Joint, Link, Payload, RigidBody, Robot, Shapes
from pliant.control import Belief, Encoder, KalmanFilter, Measurement, MovingHorizon, StrainGauge, TipPosition
from pliant.control.estimation.kalman import discretized
from pliant.errors import ModelError, UnsupportedModel
from pliant.robot import Coupling

PERIOD = 4e-3
FINE = 8
KINDS = ["extended", *(pytest.param(kind, marks=pytest.mark.full) for kind in ("unscented", "horizon"))]


def estimator(kind: str, model: pliant.Model, sensors: list, **options) -> KalmanFilter:
    if kind == "horizon":
        return MovingHorizon(model, sensors, PERIOD, window=6, **options)
    return KalmanFilter(model, sensors, PERIOD, kind=kind, **options)


def arm(shapes: int = 1, damping: float = 0.01, mass: float = 0.8) -> Robot:
    robot = two_links(Shapes(bending_y=shapes, damping=damping))
    return Robot(**{**robot.to_dict(), "payload": Payload(mass=mass)})


def sensors(noise: float = 2e-4) -> list:
    return [
        Encoder("upper", noise=noise), Encoder("fore", noise=noise),
        StrainGauge("upper", x=0.05, noise=3e-4), StrainGauge("fore", x=0.05, noise=3e-4),
    ]  # fmt: skip


def swing(times: np.ndarray, model: pliant.Model) -> np.ndarray:
    """(N, 2) torques that carry the arm and swing it."""
    rest = model.holding_torque(model.equilibrium([0.3, -0.4]))
    wave = np.column_stack([25 * np.sin(5 * times) * np.exp(-times), -8 * np.sin(8 * times + 0.4)])
    return rest + wave


def truth(model: pliant.Model, tau: np.ndarray, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, n) coordinates and rates at the samples, under torques that change `FINE` times between two of them."""
    times = PERIOD / FINE * np.arange(len(tau))
    run = pliant.simulate(model, times[-1], q0, torque=(times, tau, "hold"), output_step=PERIOD)
    rows = np.searchsorted(run.t, times[::FINE] - 1e-9)
    return run.q[rows], run.qd[rows]


def camera(noise: float = 1e-3) -> TipPosition:
    """A picture every 16 ms, known 12 ms later."""
    return TipPosition((0, 1), noise=noise, sample_time=4 * PERIOD, delay=3 * PERIOD)


def arriving(kalman: KalmanFilter, y: np.ndarray) -> np.ndarray:
    """Readings (N, m) by the moments that they are of, in the rows of the moments at which they arrive."""
    rows = np.arange(len(y))[:, None] - kalman.late
    return np.where(rows >= 0, np.take_along_axis(y, np.maximum(rows, 0), axis=0), np.nan)


def test_transition_of_a_linear_system(rng: np.random.Generator) -> None:
    A = rng.normal(size=(5, 5)) * np.array([1.0, 30.0, 1.0, 1.0, 5.0])
    A[3, 3] = -4e3  # stiff: exp(-A h) of the textbook formula would grow by 1e17
    half = rng.normal(size=(5, 2))
    F, Q = discretized(A, half @ half.T, 0.01)
    assert pytest.approx(expm(0.01 * A), abs=1e-9 * np.abs(F).max()) == F
    nodes, weights = np.polynomial.legendre.leggauss(60)
    times, weights = 0.005 * (nodes + 1), 0.005 * weights
    direct = sum(w * expm(t * A) @ half @ half.T @ expm(t * A).T for t, w in zip(times, weights))
    assert pytest.approx(direct, rel=1e-6, abs=1e-9 * np.abs(Q).max()) == Q


@pytest.mark.parametrize("kind", KINDS)
def test_at_rest_it_is_the_linear_filter(kind: str) -> None:
    """Covariance settles at the solution of the discrete Riccati equation about the rest state."""
    model = arm(damping=0.1).model()
    q = model.equilibrium([0.3, -0.4])
    tau = model.holding_torque(q)
    kalman = estimator(kind, model, sensors(), process=2.0)
    x = np.concatenate([q, np.zeros(model.n)])
    _, F, Q = kalman.transition(x, tau)
    y, C = kalman.reading(x, tau)
    R = np.diag(kalman._noise**2)
    P = solve_discrete_are(F.T, C.T, Q, R)
    after = P - P @ C.T @ np.linalg.solve(C @ P @ C.T + R, C @ P)
    settled = kalman.over(np.tile(y, (60, 1)), np.tile(tau, (60, 1)), Belief(x, after))
    assert settled.covariance[-1] == pytest.approx(after, rel=2e-2, abs=2e-3 * np.abs(after).max())
    assert settled.q[-1] == pytest.approx(q, abs=2e-5)  # points around it see what bends


def by_van_loan(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Transition over a sample, and what white noise adds to the covariance, from one exponential."""
    d = len(A)
    whole = expm(PERIOD * np.block([[-A, W], [np.zeros((d, d)), A.T]]))
    F = whole[d:, d:].T
    return F, F @ whole[:d, d:]


@pytest.mark.parametrize("kind", ["extended", "unscented"])
def test_of_a_linear_arm_it_is_the_linear_filter(kind: str) -> None:
    """Two carts on each other, with springs: prediction and correction by matrices, white forces and all."""
    links = [
        Link(name=name, joint=Joint(type="prismatic", axis=(1, 0, 0)),
             rigid=RigidBody(mass=mass, com=(0, 0, 0), inertia=(1e-3, 1e-3, 1e-3), tip=(0, 0, 0)))
        for name, mass in (("cart", 3.0), ("rider", 1.3))
    ]  # fmt: skip
    walls = [Frame(name=f"behind_{name}", link=name, origin={"xyz": (-2.0, 0, 0)}) for name in ("base", "cart")]
    struts = [
        Coupling(name=f"strut_{wall}", between=(f"behind_{wall}", f"{name}.tip"), damping=c,
                 spring={"stiffness": k, "length": 2.0})
        for wall, name, k, c in (("base", "cart", 700.0, 4.0), ("cart", "rider", 900.0, 0.5))
    ]  # fmt: skip
    model = Robot(name="carts", gravity=(0, 0, 0), links=links, frames=walls, couplings=struts).model()
    inverse = np.linalg.inv([[4.3, 1.3], [1.3, 1.3]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ np.diag([700.0, 900.0]), -inverse @ np.diag([4.0, 0.5])]])
    process, noise = np.array([6.0, 2.0]), np.array([3e-3, 5e-3])
    W = np.zeros((4, 4))
    W[2:, 2:] = inverse @ np.diag(process**2) @ inverse
    F, Q = by_van_loan(A, W)
    seen = [Encoder("cart", noise=noise[0]), Encoder("rider", noise=noise[1])]
    kalman = estimator(kind, model, seen, process=process)
    half = np.array([[0.02, 0, 0, 0], [-0.01, 0.015, 0, 0], [0.3, 0.1, 0.2, 0], [0.1, -0.2, 0.1, 0.4]])
    x, P, tau, y = np.array([0.05, -0.02, 0.3, -0.4]), half @ half.T, np.array([5.0, -3.0]), np.array([0.048, -0.024])
    ahead = kalman.predict(Belief(x, P), tau)
    push = np.linalg.solve(A, (F - np.eye(4))[:, 2:] @ inverse @ tau)
    assert ahead.mean == pytest.approx(F @ x + push, rel=1e-9)
    assert ahead.covariance == pytest.approx(F @ P @ F.T + Q, rel=1e-8, abs=1e-8 * P.min(where=P > 0, initial=1.0))
    assert (np.diag(Q)[2:] > 0.1 * np.diag(P)[2:]).all()
    known = kalman.correct(Belief(x, P), y, tau)
    C, R = np.eye(4)[:2], np.diag(noise**2)
    after = np.linalg.inv(np.linalg.inv(P) + C.T @ np.linalg.solve(R, C))
    assert known.covariance == pytest.approx(after, rel=1e-6, abs=1e-8 * P.max())
    assert known.mean == pytest.approx(x + after @ C.T @ np.linalg.solve(R, y - C @ x), rel=1e-6)


def test_a_horizon_fits_all_its_readings_best(rng: np.random.Generator) -> None:
    """Of a pendulum whose tip is far from where it is believed to be: the least weighted squares over all states of the
    window, of equations by hand. What has left the window counts by them too, linear about its last state."""
    m, inertia, (cx, cy), (tx, ty) = 1.7, 0.21, (0.31, 0.12), (0.65, -0.2)
    body = RigidBody(mass=m, com=(cx, cy, 0), inertia=(0.15, 0.1, inertia), tip=(tx, ty, 0))
    robot = Robot(
        name="pendulum",
        gravity=(0, -9.81, 0),
        links=[Link(name="bob", joint=Joint(friction={"viscous": 0.4}), rigid=body)],
    )
    J, density, wide = inertia + m * (cx**2 + cy**2), 0.8, 0.1
    kalman = MovingHorizon(
        robot.model(), [TipPosition((0, 1), noise=wide)], 0.05, process=density, window=5, iterations=30
    )

    def ahead(x: np.ndarray, about: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Linear about a state, exact over the sample: the next state, its slope, and what white torques add."""
        c, s = np.cos(about[0]), np.sin(about[0])
        A = np.array([[0.0, 1.0], [m * 9.81 * (s * cx + c * cy) / J, -0.4 / J]])
        f = np.array([about[1], (tau - 0.4 * about[1] - m * 9.81 * (c * cx - s * cy)) / J])
        nodes, weights = np.polynomial.legendre.leggauss(8)
        times = 0.025 * (nodes + 1)
        b = np.array([0.0, density / J])
        Q = sum(0.025 * w * np.outer(expm(t * A) @ b, expm(t * A) @ b) for t, w in zip(times, weights))
        step = sum(0.025 * w * expm(t * A) @ f for t, w in zip(times, weights))
        F = expm(0.05 * A)
        return about + step + F @ (x - about), F, Q

    def seen(x: np.ndarray) -> np.ndarray:
        c, s = np.cos(x[0]), np.sin(x[0])
        return np.array([c * tx - s * ty, s * tx + c * ty])

    def slope(x: np.ndarray) -> np.ndarray:
        c, s = np.cos(x[0]), np.sin(x[0])
        return np.array([[-s * tx - c * ty, 0.0], [c * tx - s * ty, 0.0]])

    def left(path: np.ndarray, before: Belief, y: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """By how much the least weighted squares, linear about a path of states, lie beside it."""
        size = path.size
        rows, errors = [], []

        def count(weight: np.ndarray, error: np.ndarray, *slopes: tuple[int, np.ndarray]) -> None:
            row = np.zeros((len(error), size))
            for k, part in slopes:
                row[:, 2 * k : 2 * k + 2] = part
            half = np.linalg.cholesky(weight)
            rows.append(np.linalg.solve(half, row))
            errors.append(np.linalg.solve(half, error))

        count(before.covariance, path[0] - before.mean, (0, np.eye(2)))
        for k, (x, z) in enumerate(zip(path, y)):
            count(wide**2 * np.eye(2), seen(x) - z, (k, slope(x)))
            if k + 1 < len(path):
                there, F, Q = ahead(x, x, tau[k])
                count(Q, path[k + 1] - there, (k, -F), (k + 1, np.eye(2)))
        return np.linalg.lstsq(np.vstack(rows), -np.concatenate(errors), rcond=None)[0]

    start, tau = Belief(np.array([0.3, 0.0]), np.diag([0.6, 1.5]) ** 2), np.linspace(2.0, -1.0, 8)
    y = np.array([seen(np.array([1.1 - 0.2 * k, 0.0])) for k in range(8)]) + wide * rng.normal(size=(8, 2))
    running = kalman.running(start)
    for k in range(8):
        oldest = running.path[0].mean if k >= 5 else None
        before = running.before
        found = running.update(y[k], tau[k : k + 1])
        if oldest is not None:  # linear about its last state it was read, and went ahead
            C = slope(oldest)
            P = np.linalg.inv(np.linalg.inv(before.covariance) + C.T @ C / wide**2)
            miss = y[k - 5] - seen(oldest) - C @ (before.mean - oldest)
            mean, F, Q = ahead(before.mean + P @ C.T @ miss / wide**2, oldest, tau[k - 5])
            assert running.before.mean == pytest.approx(mean, rel=1e-8)
            assert running.before.covariance == pytest.approx(F @ P @ F.T + Q, rel=1e-7)
        path = np.array([belief.mean for belief in running.path])
        first = max(0, k - 4)
        assert np.abs(left(path, running.before, y[first : k + 1], tau[first:k])).max() < 1e-9
        assert np.array_equal(found.mean, path[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_as_large_as_is_said(kind: str, rng: np.random.Generator) -> None:
    """The right model, torques with white noise, noisy readings: squares of errors and surprises as chi-squared."""
    model = arm().model()
    count, runs, density = 60, 8, np.array([0.6, 0.3])
    process = np.concatenate([density, np.zeros(model.n - 2)])
    kalman = estimator(kind, model, sensors(), process=process)
    times = PERIOD * np.arange(count)
    rest = model.equilibrium([0.3, -0.4])
    spread = np.concatenate([[0.01, 0.01, 2e-3, 2e-3], [0.05, 0.05, 0.01, 0.01]])
    errors, surprises = [], []
    for _ in range(runs):
        tau = swing(times, model)
        pushed = np.repeat(tau, FINE, axis=0)[: FINE * (count - 1) + 1]
        pushed = pushed + rng.normal(size=pushed.shape) * density / np.sqrt(PERIOD / FINE)
        q, qd = truth(model, pushed, rest)
        y = np.array([kalman.reading(np.concatenate(x), u)[0] for *x, u in zip(q, qd, tau)])
        y = y + rng.normal(size=y.shape) * kalman._noise
        guess = rest + spread[:4] * rng.normal(size=4)
        mean = np.concatenate([guess, spread[4:] * rng.normal(size=4)])
        found = kalman.over(y, tau, Belief(mean, np.diag(spread**2)))
        errors.append(found.nees(q, qd)[[20, 40, 59]].mean())
        surprises.append(found.nis[5:].mean())
    low, high = chi2.ppf([0.005, 0.995], 8 * runs * 2) / (runs * 2)  # three samples of a run count as two
    assert low < np.mean(errors) < high
    low, high = chi2.ppf([0.005, 0.995], 4 * runs * 55) / (runs * 55)
    assert low < np.mean(surprises) < high


@pytest.mark.parametrize("kind", KINDS)
def test_a_payload_is_weighed_in_one_swing(kind: str, rng: np.random.Generator) -> None:
    """Half again as heavy as believed; encoders and gauges alone, 1.2 s."""
    true = arm(mass=1.2).model()
    model = arm(mass=0.8).model(parameters=["payload.mass"], shapes="nominal")
    times = PERIOD * np.arange(300)
    tau = swing(times, true)
    q0 = true.equilibrium([0.3, -0.4])
    q, qd = truth(true, np.repeat(tau, FINE, axis=0)[: FINE * 299 + 1], q0)
    kalman = estimator(kind, model, sensors(), process=0.05, unknown={"payload.mass": 0.4})
    y = np.array([kalman.reading(np.concatenate([*x, [0.8]]), u)[0] for *x, u in zip(q, qd, tau)])
    y = y + rng.normal(size=y.shape) * kalman._noise
    found = kalman.over(y, tau, kalman.start(model.equilibrium([0.3, -0.4]), spread=0.02))
    assert found.numbers[-1, 0] == pytest.approx(1.2, rel=0.02)
    assert abs(found.numbers[-1, 0] - 1.2) < 4 * found.spread()[-1, -1]


def test_readings_that_are_missing_are_left_out() -> None:
    model = arm().model()
    kalman = KalmanFilter(model, sensors(), PERIOD, process=0.5)
    q = model.equilibrium([0.3, -0.4])
    tau, belief = model.holding_torque(q), kalman.start(q, spread=0.01)
    y, _ = kalman.reading(belief.mean, tau)
    none = kalman.correct(belief, np.full(4, np.nan), tau)
    assert none.covariance is belief.covariance
    some = kalman.correct(belief, np.where([True, False, True, True], y, np.nan), tau)
    assert np.trace(some.covariance) < np.trace(belief.covariance)
    assert some.covariance[1, 1] > kalman.correct(belief, y, tau).covariance[1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_camera_counts_at_the_moment_that_it_saw(kind: str, rng: np.random.Generator) -> None:
    """At each sample as if nobody had waited: the filter of prompt readings, over all that has arrived by then."""
    model = arm().model()
    count, tau = 22, swing(PERIOD * np.arange(22), model)
    q, qd = truth(model, np.repeat(tau, FINE, axis=0)[: FINE * (count - 1) + 1], model.equilibrium([0.3, -0.4]))
    seen = [*sensors(), camera()]
    late = estimator(kind, model, seen, process=0.5)
    y = late._measurement.ideal(q, qd, tau) + rng.normal(size=(count, 6)) * late._noise
    start = late.start(model.equilibrium([0.28, -0.37]), spread=0.03)
    found = late.over(arriving(late, y), tau, start)
    horizon = kind == "horizon"  # linear about what was fitted before; it counts the readings of its last moment
    assert horizon or found.readings.tolist() == [4 + 2 * (k % 4 == 0 and k > 0) for k in range(count)]

    prompt = estimator(kind, model, [*sensors(), TipPosition((0, 1), noise=1e-3)], process=0.5)
    for k in (3, 4, 11, 12, 13, 21):
        known = y[: k + 1].copy()
        known[[i for i in range(k + 1) if (i + 3) % 4 or i + 3 > k], 4:] = np.nan
        whole = prompt.over(known, tau[: k + 1], start)
        assert found.q[k] == pytest.approx(whole.q[-1], abs=1e-7 if horizon else 1e-12)
        assert found.covariance[k] == pytest.approx(whole.covariance[-1], rel=1e-3, abs=1e-7 if horizon else 1e-12)
        assert horizon or found.nis[: k + 1].sum() == pytest.approx(whole.nis.sum(), rel=1e-9)
    blind = estimator(kind, model, sensors(), process=0.5).over(y[:, :4], tau, start)
    assert np.linalg.det(found.covariance[-1]) < 0.7 * np.linalg.det(blind.covariance[-1])


@pytest.mark.slow_cases("extended-4")
@pytest.mark.parametrize(
    ("kind", "runs"),
    [
        ("extended", 4),
        pytest.param("extended", 100, marks=pytest.mark.full),
        pytest.param("unscented", 100, marks=[pytest.mark.full, pytest.mark.long]),
        pytest.param("horizon", 100, marks=[pytest.mark.full, pytest.mark.long]),
    ],
)
def test_of_an_arm_that_is_another(kind: str, runs: int, rng: np.random.Generator) -> None:
    """The arm bends in three shapes a link and is damped four times as much; the filter knows one shape. Errors inside
    three deviations in 97 to 100 %, mean NEES between 0.3 and 1.5 of its dimension, tip within a third of what encoders
    and a rigid arm say."""
    true, model = arm(shapes=3, damping=0.02).model(), arm(shapes=1, damping=0.005).model()
    same = [true.coordinates.index(name) for name in model.coordinates]
    count = 125
    tau = swing(PERIOD * np.arange(count), true)
    q, qd = truth(true, np.repeat(tau, FINE, axis=0)[: FINE * (count - 1) + 1], true.equilibrium([0.3, -0.4]))
    kalman = estimator(kind, model, [*sensors(), camera()], process=0.5)
    y = Measurement(true, kalman.sensors).ideal(q, qd, tau)
    spread = np.array([0.01, 0.01, 2e-3, 2e-3, 0.05, 0.05, 0.01, 0.01])
    rest = np.concatenate([model.equilibrium([0.3, -0.4]), np.zeros(4)])
    tip, rigid = Measurement(true, [TipPosition()]).ideal(q, qd), Measurement(model, [TipPosition()])
    inside, errors, missed = [], [], []
    for _ in range(runs):
        noisy = arriving(kalman, y + rng.normal(size=y.shape) * kalman._noise)
        found = kalman.over(noisy, tau, Belief(rest + spread * rng.normal(size=8), np.diag(spread**2)))
        inside.append(found.inside(q[:, same], qd[:, same]))
        errors.append(found.nees(q[:, same], qd[:, same]).mean() / 8)
        missed.append(np.linalg.norm(rigid.ideal(found.q, found.qd) - tip))
    encoders = np.hstack([q[:, :2], np.zeros((count, 2))])
    assert 0.97 <= np.mean(inside) <= 1.0
    assert 0.3 < np.mean(errors) < 1.5
    assert np.sqrt(np.mean(np.square(missed))) < np.linalg.norm(rigid.ideal(encoders, 0 * encoders) - tip) / 3


def test_gain_and_offset_are_expected_of_a_reading() -> None:
    model = arm().model()
    plain = KalmanFilter(model, [Encoder("upper", noise=1e-4)], PERIOD)
    skew = KalmanFilter(model, [Encoder("upper", noise=1e-4, gain=1.1, offset=0.02)], PERIOD)
    x = np.concatenate([model.equilibrium([0.3, -0.4]), np.zeros(4)])
    (y, C), (read, slope) = (each.reading(x, np.zeros(2)) for each in (plain, skew))
    assert read == pytest.approx(1.1 * y + 0.02)
    assert slope == pytest.approx(1.1 * C)


def test_refusals() -> None:
    model = arm().model()
    with pytest.raises(ModelError, match="is no parameter"):
        KalmanFilter(model, sensors(), PERIOD, unknown={"payload.mass": 1.0})
    with pytest.raises(ModelError, match="needs `noise`"):
        KalmanFilter(model, [Encoder("upper")], PERIOD)
    with pytest.raises(ModelError, match="process"):
        KalmanFilter(model, sensors(), PERIOD, process=-1.0)
    kalman = KalmanFilter(model, sensors(), PERIOD)
    with pytest.raises(ModelError, match="expected \\(N, 4\\)"):
        kalman.over(np.zeros((3, 2)), np.zeros((3, 2)), kalman.start())
    with pytest.raises(ModelError, match="moving horizon"):
        MovingHorizon(model, sensors(), PERIOD, kind="unscented")
    with pytest.raises(ModelError, match="expected a multiple"):
        KalmanFilter(model, [TipPosition(noise=1e-3, delay=3e-3)], PERIOD)
    with pytest.raises(ModelError, match="at least 4, with the latest reading"):
        MovingHorizon(model, [camera()], PERIOD, window=3)
    with pytest.raises(UnsupportedModel, match="low-pass"):
        KalmanFilter(model, [Encoder("upper", noise=1e-4, cutoff=20.0)], PERIOD)
