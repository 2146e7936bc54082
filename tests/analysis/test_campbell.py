"""Vibrations over speed and over pose: published values of rotating beams, closed forms, other ways to the same."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from arms import two_links, unequal_beam
from pliant import Beam, Joint, Shapes
from pliant.analysis import Campbell, campbell, closed_loop_eigenvalues, damping_map, frequency_map
from pliant.control import PD, PID
from pliant.errors import ModelError
from pliant.robot import Lump

L, MU, EI_Y, EI_Z = 1.3, 2.1, 70.0, 160.0
PLAIN = Beam(length=L, mass_per_length=MU, EI_y=EI_Y, EI_z=EI_Z)
WRIGHT = np.array([
    [3.5160, 22.0345], [3.6817, 22.1810], [4.1373, 22.6149], [4.7973, 23.3203], [5.5850, 24.2733], [6.4495, 25.4461],
    [7.3604, 26.8091], [8.2996, 28.3341], [9.2568, 29.9954], [10.2257, 31.7705], [11.2023, 33.6404],
])  # fmt: skip
"""Wright, Smith, Thresher and Wang (1982): flapping frequencies over sqrt(EI / mu L^4), at spin 0, 1 ... 10."""


@pytest.mark.parametrize("plane", ["bending_y", "bending_z"])
def test_the_diagram_of_a_rotating_beam(plane: str) -> None:
    """Out of the plane of rotation, and in it, where squares are less by that of the spin: 0.5 %."""
    model = unequal_beam(Shapes(**{plane: 5}), PLAIN).model(stiffening="second-order")
    unit = np.sqrt((EI_Y if plane == "bending_z" else EI_Z) / (MU * L**4))
    spins = np.arange(11.0)
    found = campbell(model, "arm", spins * unit)
    expected = np.sqrt(WRIGHT**2 - (spins[:, None] ** 2 if plane == "bending_y" else 0.0))
    assert 2 * np.pi * found.frequencies[:, :2] / unit == pytest.approx(expected, rel=5e-3)
    assert np.abs(found.damping).max() < 1e-8


def test_vibrations_are_followed_where_they_cross() -> None:
    """Out of the plane of rotation spin stiffens, in it hardly: the curves cross, and each keeps its plane."""
    beam = Beam(length=L, mass_per_length=MU, EI_y=0.95 * EI_Z, EI_z=EI_Z)
    shapes = Shapes(bending_y=2, bending_z=2)
    both = unequal_beam(shapes, beam).model(stiffening="second-order")
    speeds = np.linspace(0.0, 60.0, 25)
    found = campbell(both, "arm", speeds)
    alone = [
        campbell(unequal_beam(Shapes(**{plane: 2}), beam).model(stiffening="second-order"), "arm", speeds).frequencies
        for plane in ("bending_z", "bending_y")
    ]
    assert (np.diff(np.sign(alone[0][:, 0] - alone[1][:, 0])) != 0).any()  # they cross
    assert found.frequencies[:, 0] == pytest.approx(alone[0][:, 0], rel=1e-6)
    assert found.frequencies[:, 1] == pytest.approx(alone[1][:, 0], rel=1e-6)


def test_a_rotor_in_its_own_axes_grows_between_its_frequencies() -> None:
    joint = Joint(axis=(1, 0, 0), hub=Lump(mass=0.2, inertia=(0.01, 0.01, 0.01)))
    robot = unequal_beam(Shapes(bending_y=1, bending_z=1), PLAIN, joint=joint)
    model = robot.replace({"gravity": (-9.0, 0.0, 0.0)}).model()
    low, high = (2 * np.pi * model.frequencies()).tolist()
    found = campbell(model, "arm", [0.0, 0.5 * low, (low + high) / 2, 1.5 * high])
    assert (found.damping.min(axis=1) < -1e-3).tolist() == [False, False, True, False]


def test_speeds_of_so_many_swings_per_turn() -> None:
    """f = 2 + v / 10 Hz: one swing per turn at v / 2 pi = 2 + v / 10."""
    speeds = np.linspace(0.0, 60.0, 7)
    found = Campbell("arm", speeds, 2j * np.pi * (2 + speeds / 10)[:, None])
    ((mode, speed),) = found.crossings()
    assert mode == 0
    assert speed == pytest.approx(2 / (1 / (2 * np.pi) - 0.1), rel=1e-12)
    assert found.crossings(order=0.5) == []


def test_a_map_is_the_frequencies_at_rest_in_each_pose() -> None:
    model = two_links(Shapes(bending_y=1, bending_z=1)).model()
    first, second = model.joints[:2]
    found = frequency_map(model, {first: [0.1, 0.4], second: [-0.3, 0.2, 0.9]})
    q = model.equilibrium([0.4, -0.3])
    assert found.frequencies[1, 0] == pytest.approx(np.abs(model.frequencies(q)), rel=1e-7)
    assert found.tip[1, 0] == pytest.approx(model.tip_pose(q)[:3, 3], abs=1e-12)
    one = frequency_map(model, {second: [-0.3, 0.2]}, at={first: 0.4})
    assert one.frequencies[0] == pytest.approx(found.frequencies[1, 0], rel=1e-12)


@pytest.mark.parametrize("states", [False, True])
def test_a_damping_map_is_the_loop_in_each_pose(states: bool) -> None:
    model = two_links(Shapes(bending_y=1)).model()
    first, second = model.joints[:2]

    def hold(goal: np.ndarray) -> pliant.control.Controller:
        return PID(400.0, 90.0, 20.0, goal) if states else PD(400.0, 20.0, goal)

    found = damping_map(model, hold, {first: [0.0, 0.5], second: [0.2, 1.1]})
    q = model.equilibrium([0.5, 1.1])
    poles = closed_loop_eigenvalues(model, hold(np.array([0.5, 1.1])), 0.0, q)
    assert found.values.shape[-1] == (len(poles) + 1) // 2
    swings = poles[poles.imag > 1e-6 * np.abs(poles)]
    assert found.least_damping[1, 1] == pytest.approx((-swings.real / np.abs(swings)).min(), rel=1e-9)
    wild = damping_map(model, lambda goal: PD(400.0, -5.0, goal), {first: [0.0, 0.5]})
    assert (wild.least_damping < 0).all()


def test_refusals() -> None:
    model = two_links(Shapes(bending_y=1)).model()
    with pytest.raises(ModelError, match="expected one of"):
        campbell(model, "elbw", [0.0, 1.0])
    with pytest.raises(ModelError, match="rise"):
        campbell(model, model.joints[0], [1.0, 1.0])
    with pytest.raises(ModelError, match="one or two"):
        frequency_map(model, {})
    with pytest.raises(ModelError, match="rise or fall"):
        frequency_map(model, {model.joints[0]: [0.0, 1.0, 0.5]})
    with pytest.raises(ModelError, match="show: got 'torque'"):
        frequency_map(model, {model.joints[0]: [0.0, 1.0]}).plot("torque")


def test_a_rigid_arm_has_nothing_to_draw() -> None:
    model = pliant.load("puma").model()
    with pytest.raises(pliant.ModelError, match="the arm is rigid with its joints held"):
        pliant.analysis.campbell(model, model.joints[0], [0.0, 1.0])
    with pytest.raises(pliant.ModelError, match="the arm is rigid with its joints held"):
        pliant.analysis.frequency_map(model, {model.joints[-1]: [0.0, 1.0]})


def test_figures(tmp_path) -> None:
    model = two_links(Shapes(bending_y=1)).model()
    first, second = model.joints[:2]
    both = frequency_map(model, {first: [0.0, 0.5], second: [0.2, 1.1]})
    assert [axes.get_xlabel() for axes in both.plot(path=tmp_path / "map.png").axes][:2] == [
        f"{first} (deg)",
        "tip x (m)",
    ]
    one = frequency_map(model, {second: [0.2, 1.1]})
    assert one.plot("damping").axes[0].get_ylabel() == "least damping (%)"
    beam = unequal_beam(Shapes(bending_y=2), PLAIN).model(stiffening="second-order")
    frequencies, damping = campbell(beam, "arm", [0.0, 5.0, 10.0]).plot(orders=(1, 4)).axes
    assert [line.get_label() for line in frequencies.lines][-2:] == ["1 per turn", "4 per turn"]
    assert damping.get_xlabel() == "speed of arm (rev/min)"
