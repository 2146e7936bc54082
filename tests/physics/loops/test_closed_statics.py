"""Rest of linkages: holding torques by virtual work, beams and passive joints that settle, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from linkages import DOWN, FOUR_BAR, SLIDER_CRANK, bar, four_bar, four_bar_angles, passive, slider_crank
from pliant import loads
from pliant.errors import ModelError, UnsupportedModel
from pliant.robot import Beam, Drive, Joint, Link, Robot, Shapes

CRANKS = (0.2, 1.3, 2.9, 4.4)


def turning(crank: float) -> np.ndarray:
    """Angles of crank, coupler and rocker of the four-bar against the ground, and their slopes by the crank's."""
    a, (coupler, rocker) = FOUR_BAR, four_bar_angles(crank)
    angles = np.array([crank, crank + coupler, rocker])
    arms = np.array([a["crank"], a["coupler"], -a["rocker"]]) * 1j * np.exp(1j * angles)
    A = np.array([[arms[1].real, arms[2].real], [arms[1].imag, arms[2].imag]])
    return np.array([angles, [1.0, *np.linalg.solve(A, -np.array([arms[0].real, arms[0].imag]))]])


def weight(crank: float) -> float:
    """dV / d crank of the rods of the four-bar."""
    a, (angles, slopes) = FOUR_BAR, turning(crank)
    rise = np.cos(angles) * slopes
    lengths = np.array([a[name] for name in ("crank", "coupler", "rocker")])
    own = 4.0 * lengths * lengths / 2 * rise  # mass and half a length
    return float(9.81 * (own.sum() + 4.0 * lengths[1] * lengths[0] * rise[0]))


@pytest.mark.parametrize("crank", CRANKS)
def test_a_four_bar_is_held_by_virtual_work(crank: float) -> None:
    model = four_bar().model()
    coupler, rocker = four_bar_angles(crank)
    q = model.equilibrium([crank, coupler + 0.1, rocker - 0.1])
    np.testing.assert_allclose(np.exp(1j * q), np.exp(1j * np.array([crank, *four_bar_angles(crank)])), atol=1e-12)
    tau = model.holding_torque(q)
    assert tau[0] == pytest.approx(weight(crank), abs=1e-10)
    assert np.abs(model.forward_dynamics(q, np.zeros(3), tau)).max() < 1e-11


@pytest.mark.parametrize("crank", CRANKS)
def test_a_pushed_piston_is_held_by_virtual_work(crank: float) -> None:
    model, a = slider_crank(gravity=(0, 0, 0)).model(), SLIDER_CRANK
    q = model.equilibrium([crank])
    tau = model.holding_torque(q, [loads.Wrench(force=(-30.0, 7.0, 0.0))])  # the guide carries what is across it
    rod = np.arcsin((a["offset"] - a["crank"] * np.sin(crank)) / a["rod"])
    slope = -a["crank"] * np.sin(crank) + a["crank"] * np.cos(crank) * np.tan(rod)
    assert tau[0] == pytest.approx(30.0 * slope, abs=1e-10)


def bending_four_bar(**crank: object) -> pliant.Model:
    beam = Beam(length=FOUR_BAR["coupler"], mass_per_length=3.0, EI_y=8.0, EI_z=5.0, GJ=4.0, polar_inertia=1e-4)
    links = list(four_bar().links)
    links[0] = bar("crank", FOUR_BAR["crank"], Joint(**crank))
    links[1] = Link(name="coupler", joint=passive(), beam=beam, shapes=Shapes(bending_y=2))
    return four_bar(links=links).model()


def test_a_bent_coupler_is_held_by_virtual_work() -> None:
    """The energy of the arm at rest changes with the crank by the work of its torque, whatever settles beside it."""
    model, step = bending_four_bar(), 1e-3

    def energy(crank: float) -> float:
        q = model.equilibrium({"crank": crank, "rocker": 1.6})
        return float(model.energy(q, np.zeros(model.n)).total)

    q = model.equilibrium({"crank": 0.7, "rocker": 1.6})
    tau = model.holding_torque(q)
    slope = (8 * (energy(0.7 + step) - energy(0.7 - step)) - energy(0.7 + 2 * step) + energy(0.7 - 2 * step)) / (
        12 * step
    )
    assert np.abs(q[3:]).max() > 1e-3
    assert tau[0] == pytest.approx(slope, abs=1e-9)
    assert np.abs(model.forward_dynamics(q, np.zeros(model.n), tau)).max() < 1e-8
    assert np.abs(model.gaps(q)).max() < 1e-14


@pytest.mark.parametrize("held", ["joints", "motors"])
def test_an_elastic_drive_gives_way_in_a_loop(held: str) -> None:
    drive = Drive(gear_ratio=50, rotor_inertia=1e-5, stiffness=300.0)
    model = bending_four_bar(drive=drive)
    q = model.equilibrium({"crank": 0.7, "rocker": 1.6}, held=held)
    tau = model.holding_torque(q)
    joint, motor = q[model.index("crank")], q[model.index("crank.motor")]
    assert (joint if held == "joints" else motor) == 0.7
    assert tau[0] == pytest.approx(300.0 * (motor - joint), rel=1e-10)
    assert abs(tau[0]) > 0.5
    assert np.abs(model.forward_dynamics(q, np.zeros(model.n), tau)).max() < 1e-7


def test_passive_joints_hang() -> None:
    """Of a tree: a rod that is pushed sideways while it hangs, from whatever side it starts."""
    model = Robot(name="two", links=[bar("a", 0.4), bar("b", 0.3, passive())], gravity=DOWN).model()
    push = loads.Wrench(force=(5.0, 0.0, 0.0))
    hanging = np.arctan2(-4.0 * 0.3 * 9.81 / 2, 5.0)
    for start in (0.0, 1.2, np.pi / 2 - 0.3, -2.5):
        q = model.equilibrium({"a": 0.3, "b": start}, [push])
        assert np.exp(1j * (q[1] + 0.3)) == pytest.approx(np.exp(1j * hanging), abs=1e-12)
    assert model.holding_torque(q, [push])[0] == pytest.approx(
        9.81 * 0.2 * np.cos(0.3) * 1.6 + 0.4 * (5.0 * np.sin(0.3) + 1.2 * 9.81 * np.cos(0.3)), abs=1e-10
    )


def test_a_run_starts_at_rest() -> None:
    model = bending_four_bar()
    q = model.equilibrium({"crank": 0.7, "rocker": 1.6})
    run = pliant.simulate(
        model, 0.2, q0={"crank": 0.7}, equilibrium=True, torque=model.holding_torque(q), output_step=0.1
    )
    np.testing.assert_allclose(run.q, np.tile(q, (3, 1)), atol=1e-9)


def test_what_has_no_rest_is_refused() -> None:
    model = four_bar().model()
    with pytest.raises(ModelError, match=r"q: loop `pin` is open by 0\.\d+ there; close it by q = model.assemble"):
        model.holding_torque(np.zeros(3))
    with pytest.raises(UnsupportedModel, match="steady spins are not built for closed loops"):
        model.equilibrium([0.7], rates=[1.0])
    with pytest.raises(UnsupportedModel, match="steady spins are not built for closed loops"):
        model.holding_torque(model.assemble({"crank": 0.7}), rates=[1.0])
    both = four_bar(
        links=[*four_bar().links[:2], bar("rocker", 0.35, Joint(origin={"xyz": (0.5, 0, 0)}), parent="base")]
    )
    with pytest.raises(ModelError, match="loop `pin`"):
        both.model().equilibrium([0.7, 0.3])
