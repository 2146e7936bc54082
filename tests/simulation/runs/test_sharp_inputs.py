"""Short features of inputs over time are met by the steps, against closed forms of one rigid arm."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import pliant
from pliant.robot import Friction, Joint, Link, RigidBody
from pliant.simulation.runs.equations.composition import compose
from pliant.simulation.runs.equations.sharp_inputs import _Cells, sharp_times

WIDTH, IMPULSE = 0.01, 0.7


def in_full(daily: str, *names: str) -> list[Any]:
    """Cases of which all but one are in the full set."""
    return [name if name == daily else pytest.param(name, marks=pytest.mark.full) for name in names]


RAMP = 1e-4
"""Of a result: what a step of rtol = 1e-8 may be off, taken some hundred times, leaves a wide margin; a pulse that is
stepped over is off by all of it."""


@pytest.fixture(scope="module")
def turntable() -> pliant.Model:
    body = RigidBody(mass=2.3, com=[0.41, 0.13, 0.05], inertia=[0.11, 0.23, 0.31], tip=[0.93, 0.0, 0.0])
    arm = Link(name="arm", joint=Joint(axis=[0, 0, 1]), rigid=body)
    return pliant.Robot(name="turntable", gravity=[0.0, 0.0, 0.0], links=[arm]).model()


INERTIA = 0.31 + 2.3 * (0.41**2 + 0.13**2)


def gauss(t: Any, center: Any, width: float = WIDTH, exp: Any = ca.exp) -> Any:
    """A bell of unit area."""
    return exp(-(((t - center) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))


class Torque:
    """A torque over time, of the only joint."""

    def __init__(self, of: Any, **own: Any) -> None:
        self.of = of
        if own:
            self.parameters = own

    def expression(self, t: Any, q: Any, qd: Any) -> Any:
        return ca.vertcat(self.of(t))


def turned(t_end: float, *centers: float) -> float:
    """Angle that pulses at these times leave behind: each I / J from its center of area on."""
    return IMPULSE / INERTIA * sum(t_end - center for center in centers)


TRAIN = [0.5 + 0.25 * k for k in range(16)]
SINGLE = {
    "one": (5.0, [2.3]),
    "far": (60.0, [50.0]),
    "very far": (1000.0, [503.0]),
    "sum": (5.0, [1.3, 1.35, 4.1]),
    "train": (5.0, TRAIN),
}


@pytest.mark.parametrize("case", in_full("sum", *SINGLE))
def test_no_pulse_is_stepped_over(turntable: pliant.Model, case: str) -> None:
    t_end, centers = SINGLE[case]
    width = 0.002 if case == "train" else WIDTH
    torque = Torque(lambda t: IMPULSE * sum(gauss(t, c, width) for c in centers))
    result = pliant.simulate(turntable, t_end, torque=torque)
    assert result.q[-1, 0] == pytest.approx(turned(t_end, *centers), rel=RAMP)
    assert result.qd[-1, 0] == pytest.approx(len(centers) * IMPULSE / INERTIA, rel=RAMP)


@pytest.mark.parametrize("method", [*in_full("batch", "batch", "dopri5", "rodas5p", "bdf", "stepper"), "steps"])
def test_by_every_method(turntable: pliant.Model, method: str) -> None:
    torque, want, rel = Torque(lambda t: IMPULSE * gauss(t, 2.3)), turned(5.0, 2.3), RAMP
    if method == "stepper":
        stepper = pliant.Stepper(turntable, controller=torque, method="dopri5")
        for _ in range(5):
            stepper.step(1.0)
        found = stepper.q[0]
    elif method == "batch":
        center = ca.SX.sym("center")
        moved = Torque(lambda t: IMPULSE * gauss(t, center), center=center)
        centers = np.array([[1.7], [2.3], [4.4]])
        batch = pliant.simulate_batch(turntable, 5.0, controller=moved, p=centers)
        np.testing.assert_allclose(batch.q[:, -1, 0], [turned(5.0, c) for c in centers[:, 0]], rtol=RAMP)
        return
    elif method == "steps":  # cells of a width of the pulse, by fourth order: a per cent
        with pytest.warns(UserWarning, match=r"step: got 0.1 s, but an input changes within 0\.0\d+ s near t = 2\.2"):
            found, rel = pliant.simulate(turntable, 5.0, torque=torque, method="rk4", step=0.1).q[-1, 0], 0.02
    else:
        found = pliant.simulate(turntable, 5.0, torque=torque, method=method).q[-1, 0]
    assert found == pytest.approx(want, rel=rel)


def test_python_functions_and_tables(turntable: pliant.Model) -> None:
    """A bell and a step of Python functions, and a spike of a table between two far nodes."""
    bell = lambda t, q, qd: [IMPULSE * gauss(t, 2.3, exp=np.exp)]  # noqa: E731
    assert pliant.simulate(turntable, 5.0, torque=bell).q[-1, 0] == pytest.approx(turned(5.0, 2.3), rel=RAMP)
    box = lambda t, q, qd: [IMPULSE / WIDTH if 2.3 <= t < 2.3 + WIDTH else 0.0]  # noqa: E731
    want = turned(5.0, 2.3 + WIDTH / 2)
    assert pliant.simulate(turntable, 5.0, torque=box).q[-1, 0] == pytest.approx(want, rel=RAMP)
    times = np.array([0.0, 2.3, 2.3 + WIDTH / 2, 2.3 + WIDTH, 5.0])
    spike = np.array([0.0, 0.0, 2 * IMPULSE / WIDTH, 0.0, 0.0])[:, None]
    assert pliant.simulate(turntable, 5.0, torque=(times, spike)).q[-1, 0] == pytest.approx(want, rel=RAMP)


def test_loads_bases_and_references(turntable: pliant.Model) -> None:
    """A push at the tip; a base that is shoved; a reference of a soft controller: d = J q'' + b q' about it, c = 0."""
    push = pliant.loads.Wrench(moment=lambda t: [0.0, 0.0, IMPULSE * gauss(t, 2.3)])
    assert pliant.simulate(turntable, 5.0, loads=[push]).q[-1, 0] == pytest.approx(turned(5.0, 2.3), rel=RAMP)
    # alpha of the base with zero area twice: rate and angle end at zero but for the first moment of the bell
    base = pliant.loads.Base(angular_velocity=lambda t: [0.0, 0.0, 0.3 * gauss(t, 2.3)])
    found = pliant.simulate(turntable, 5.0, base=base)
    assert found.q[-1, 0] == pytest.approx(-0.3, rel=1e-3)  # the arm stays where it was, the base turns by 0.3 rad
    damper = 2.0

    class Follow:
        """Torque b (r' - q'): the arm takes b r / J of a short stroke r there and back, as an impulse of its rate."""

        def expression(self, t: Any, q: Any, qd: Any) -> Any:
            return ca.vertcat(damper * (0.1 * gauss(t, 2.3) - qd[0]))

    late = pliant.simulate(turntable, 5.0, controller=Follow())
    want = 0.1 * (1 - np.exp(-damper / INERTIA * (5.0 - 2.3)))
    assert late.q[-1, 0] == pytest.approx(want, rel=1e-3)  # of a bell of 10 ms beside 0.4 s: (0.01 / 0.4)^2


@pytest.mark.full
def test_a_pulse_on_an_arm_that_sticks() -> None:
    """Dry friction holds the arm until the pulse exceeds it; from there J w is the impulse of both."""
    friction = Friction(coulomb=0.5, bristle=1e-7)
    body = RigidBody(mass=2.3, com=[0.41, 0.13, 0.05], inertia=[0.11, 0.23, 0.31], tip=[0.93, 0.0, 0.0])
    arm = Link(name="arm", joint=Joint(axis=[0, 0, 1], friction=friction), rigid=body)
    model = pliant.Robot(name="dry", gravity=[0.0, 0.0, 0.0], links=[arm]).model()
    found = pliant.simulate(model, 5.0, torque=Torque(lambda t: IMPULSE * gauss(t, 2.3))).q[-1, 0]
    t = np.linspace(2.2, 5.0, 280_001)
    excess = IMPULSE * gauss(t, 2.3, exp=np.exp) - 0.5
    slips = np.argmax(excess > 0)
    momentum = np.cumsum(excess[slips:]) * 1e-5
    stroke = momentum[: np.argmax(momentum < 0)].sum() * 1e-5 / INERTIA
    assert found == pytest.approx(stroke, rel=1e-3)  # the root of what bristles give, 1e-7 of 0.6 rad


@pytest.mark.full
def test_a_prescribed_bump_moves_what_hangs_behind() -> None:
    """A joint that nods by 0.05 rad within 10 ms, and back: against steps that are told to be short."""
    body = RigidBody(mass=1.7, com=[0.3, 0.02, 0.01], inertia=[0.02, 0.05, 0.06], tip=[0.7, 0.0, 0.0])
    links = [Link(name=n, joint=Joint(axis=[0, 0, 1]), rigid=body) for n in ("first", "second")]
    model = pliant.Robot(name="pair", gravity=[0.0, 0.0, 0.0], links=links).model()
    motion = {"first": lambda t: 0.05 * ca.tanh((t - 2.3) / WIDTH)}
    found, fine = (pliant.simulate(model, 4.0, motion=motion, **given) for given in ({}, {"step": 1e-3}))
    assert abs(fine.q[-1, 1] - fine.q[0, 1]) > 0.01
    assert found.q[-1, 1] == pytest.approx(fine.q[-1, 1], rel=1e-5)


@pytest.mark.full
def test_gradients_see_the_pulse(turntable: pliant.Model) -> None:
    start = {"terminal": lambda t, q, qd: q[0], "with_respect_to": ["q0"]}
    torque = Torque(lambda t: IMPULSE * gauss(t, 2.3))
    found = pliant.gradient(turntable, 5.0, torque=torque, method="dopri5", **start)
    assert found.value == pytest.approx(turned(5.0, 2.3), rel=RAMP)


def test_smooth_inputs_cost_no_step(turntable: pliant.Model) -> None:
    """Sines, chirps, ramps and polynomials between declared breaks are described by cells of like length."""
    none = np.empty(0)
    smooth = {
        "sine": lambda t: np.sin(7 * t),
        "chirp": lambda t: np.sin(2 * t + t**2),
        "ramp": lambda t: 3 * t,
        "still": lambda t: 2 + 0 * t,
    }
    for name, f in smooth.items():
        assert len(sharp_times(lambda t, f=f: f(t)[:, None], 0.0, 10.0, none).times) == 0, name
    move = lambda t: np.where(t < 3, 0.0, np.where(t < 4, (t - 3) ** 3 * (10 - 15 * (t - 3) + 6 * (t - 3) ** 2), 1.0))  # noqa: E731
    assert len(sharp_times(lambda t: move(t)[:, None], 0.0, 10.0, np.array([3.0, 4.0])).times) == 0
    assert not compose(turntable, None, None, {}, (), None, False).is_broken


def test_cells_are_as_short_as_what_they_describe() -> None:
    """Around a bell, and on both sides of a jump that nobody declared; a low bell beside a high one too."""
    bells = lambda t: np.stack([gauss(t, 2.3, exp=np.exp), 1e-3 * gauss(t, 7.1, exp=np.exp)], 1)  # noqa: E731
    found = sharp_times(bells, 0.0, 10.0, np.empty(0))
    for center in (2.3, 7.1):
        near = found.times[np.abs(found.times - center) < 6 * WIDTH]
        assert np.diff(near).max() < 3 * WIDTH
        assert near[0] < center - 2 * WIDTH
        assert near[-1] > center + 2 * WIDTH
    jump = sharp_times(lambda t: np.sign(t - np.pi)[:, None], 0.0, 10.0, np.empty(0)).times
    assert jump[jump < np.pi].max() > np.pi - 1e-4
    assert jump[jump > np.pi].min() < np.pi + 1e-4


def test_cells_end_at_the_breaks_of_their_own_stretch() -> None:
    """Also before a stretch that is too short for a step, which has no cells."""
    edges = np.array([0.0, 0.3, 0.3 + 1e-9, 1.0])
    cells = _Cells.of(lambda t: np.sin(9.0 * t)[:, None], edges, 16)
    assert cells is not None
    ends = np.flatnonzero(np.diff(cells.stretch, append=99))
    np.testing.assert_array_equal(cells.b[ends], edges[cells.stretch[ends] + 1])
    assert set(cells.stretch) == {0, 2}
