"""Figures show the numbers of the run: read back from what was drawn, label by label, in the unit that stands there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pliant
from crooked import crooked_robot
from pliant.drawing.figure_data import energy_unit, length_unit, strain_text
from pliant.figures.spectrum import amplitudes
from pliant.simulation.runs.results import Result
from pliant.view import compare, frequency_map, mode_shapes, plot

SI = {"deg": np.pi / 180, "m": 1.0, "mm": 1e-3, "µm": 1e-6, "J": 1.0, "kJ": 1e3, "mJ": 1e-3, "N m": 1.0, "N": 1.0}
"""What one of a unit is in SI, written down here again."""


def unit_of(text: str) -> str:
    found = re.search(r"\(([^()]+)\)$", text)
    assert found is not None, f"no unit: {text!r}"
    return found[1]


def drawn(axes: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """x and y in SI units by label; a lone line has the name in front of the axis."""
    factor = SI[unit_of(axes.get_ylabel())]
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    alone = axes.get_ylabel().split("\n")[0] if len(named) == 1 and "\n" in axes.get_ylabel() else None
    return {
        alone or str(line.get_label()): (np.asarray(line.get_xdata()), factor * np.asarray(line.get_ydata()))
        for line in named
    }


def check(axes: Any, t: np.ndarray, expected: dict[str, np.ndarray]) -> None:
    """Every line, by its label, and no other; times are those of the run."""
    found = drawn(axes)
    assert set(found) == set(expected)
    for label, values in expected.items():
        np.testing.assert_array_equal(found[label][0], t, err_msg=label)
        np.testing.assert_allclose(
            found[label][1], values, rtol=1e-12, atol=1e-12 * np.abs(values).max(), err_msg=label
        )


def legend_is_true(axes: Any) -> None:
    """The sample beside a text looks like the line that has its label."""
    lines = {str(line.get_label()): line for line in axes.lines}
    legend = axes.get_legend()
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(texts) == len(set(texts))
    looks = set()
    for text, sample in zip(texts, legend.get_lines()):
        line = lines[text]
        assert (sample.get_color(), sample.get_linestyle()) == (line.get_color(), line.get_linestyle()), text
        assert sample._unscaled_dash_pattern == line._unscaled_dash_pattern, text
        looks.add((line.get_color(), str(line._unscaled_dash_pattern), line.get_marker()))
    assert len(looks) == len(texts), "two lines look alike"


# ------------------------------------------------------------------------------------------------------------- joints


def test_many_joints_stand_together_by_kind(crooked: Result) -> None:
    """Angles in degrees, travels in metres; below, motor less joint."""
    turning, sliding, twist, stretch = plot(crooked, "joints").axes
    check(turning, crooked.t, {name: crooked[name] for name in ("base", "upper", "fore")})
    check(sliding, crooked.t, {name: crooked[name] for name in ("rail", "tool")})
    check(twist, crooked.t, {name: crooked[f"{name}.motor"] - crooked[name] for name in ("base", "fore")})
    check(stretch, crooked.t, {"rail": crooked["rail.motor"] - crooked["rail"]})
    labels = [axes.get_ylabel() for axes in (turning, sliding, twist, stretch)]
    assert labels == ["angle (deg)", "travel (m)", "wind-up (deg)", "rail\nwind-up (m)"]
    assert stretch.get_xlabel() == "time (s)"
    for axes in (turning, sliding, twist):
        legend_is_true(axes)
    assert {line.get_color() for line in turning.lines}.isdisjoint({line.get_color() for line in sliding.lines})


def test_few_joints_have_axes_of_their_own_in_the_order_of_the_arm(short_crooked: Result) -> None:
    run = short_crooked
    rows = plot(run, "joints").axes
    assert [axes.get_ylabel() for axes in rows] == [
        "base\nangle (deg)", "rail\ntravel (m)", "upper\nangle (deg)", "base\nwind-up (deg)", "rail\nwind-up (m)",
    ]  # fmt: skip
    for axes, name in zip(rows, run.joints):
        check(axes, run.t, {name: run[name]})


def test_torques_by_joint(crooked: Result, short_crooked: Result) -> None:
    """Each joint has its own column; torques in N m, forces in N."""
    turning, sliding = plot(crooked, "torques").axes
    columns = {name: crooked.tau[:, k] for k, name in enumerate(("base", "rail", "upper", "fore", "tool"))}
    check(turning, crooked.t, {name: columns[name] for name in ("base", "upper", "fore")})
    check(sliding, crooked.t, {name: columns[name] for name in ("rail", "tool")})
    assert [axes.get_ylabel() for axes in (turning, sliding)] == ["torque (N m)", "force (N)"]
    legend_is_true(turning)
    rows = plot(short_crooked, "torques").axes
    assert [axes.get_ylabel() for axes in rows] == ["base\ntorque (N m)", "rail\nforce (N)", "upper\ntorque (N m)"]
    for k, axes in enumerate(rows):
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), short_crooked.tau[:, k])


# -------------------------------------------------------------------------------------------------------- deflections


def test_deflections_by_link_direction_and_station(crooked: Result) -> None:
    figure = plot(crooked, "deflections")
    for axes, link in zip(figure.axes, ("upper", "fore")):
        expected = {
            f"{'xyz'[k]}, {word}": crooked.deflection(link, place)[:, k]
            for k in (1, 2)
            for word, place in (("end", "tip"), ("middle", "middle"))
        }
        check(axes, crooked.t, expected)
        assert axes.get_ylabel().startswith(f"{link}\ndeflection (")
    legend_is_true(figure.axes[0])


def rigid_tip(run: Result) -> np.ndarray:
    """Tip of the arm that does not bend, with its joints where the motors are."""
    q = np.zeros_like(run.q)
    for k, name in enumerate(run.joints):
        motor = f"{name}.motor"
        q[:, k] = run[motor if motor in run.coordinates else name]
        if motor in run.coordinates:
            q[:, run.coordinates.index(motor)] = run[motor]
    return np.asarray(run.model.tip_pose(q)[:, :3, 3])


def test_tip_error_is_the_distance_from_the_rigid_arm_at_the_motors(crooked: Result) -> None:
    (axes,) = plot(crooked, "error").axes
    distance = np.linalg.norm(crooked.tip - rigid_tip(crooked), axis=1)
    x, y = drawn(axes)["tip"]
    np.testing.assert_array_equal(x, crooked.t)
    np.testing.assert_allclose(y, distance, rtol=1e-9)
    assert axes.get_ylim()[0] == 0.0
    assert axes.get_xlabel() == "time (s)"


# ---------------------------------------------------------------------------------------------------------------- tip


def test_tip_and_its_path(crooked: Result) -> None:
    for k, axes in enumerate(plot(crooked, "tip").axes):
        assert axes.get_ylabel() == f"{'xyz'[k]}\ntip position (m)"
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), crooked.tip[:, k])
    for axes, (a, b) in zip(plot(crooked, "path").axes, ((0, 2), (0, 1))):
        assert (axes.get_xlabel(), axes.get_ylabel()) == (f"tip {'xyz'[a]} (m)", f"tip {'xyz'[b]} (m)")
        found = drawn(axes)
        for label, rows in (("path", slice(None)), ("start", slice(1)), ("end", slice(-1, None))):
            np.testing.assert_array_equal(found[label][0], crooked.tip[rows, a])
            np.testing.assert_array_equal(found[label][1], crooked.tip[rows, b])
        assert axes.get_aspect() == 1.0


# ------------------------------------------------------------------------------------------------------------- energy


def test_energies_by_label(crooked: Result) -> None:
    """Kinetic and strain as they are, gravity and the total from the start; the balance below."""
    upper, lower = plot(crooked, "energy").axes
    e = crooked.energy
    check(upper, crooked.t, {
        "kinetic": e.kinetic, "strain": e.strain, "gravity": e.gravity - e.gravity[0],
        "total": e.total - e.gravity[0], "work done": crooked.work,
    })  # fmt: skip
    legend_is_true(upper)
    np.testing.assert_array_equal(lower.lines[0].get_ydata(), crooked.energy_balance)
    assert lower.get_ylabel() == "balance (J)"


@pytest.mark.parametrize("size", [0.0, 3e-7, 1.9e-5, 2.1e-5, 4e-3, 0.4, 0.6, 30.0, 2e5])
def test_units_and_factors_belong_together(size: float) -> None:
    values = size * np.array([0.3, -1.0])
    for unit, factor in (length_unit(values), energy_unit(values)):
        assert factor * SI[unit] == pytest.approx(1.0, rel=1e-15)
    assert length_unit(values)[0] == ("m" if size >= 0.5 else "mm" if size >= 2e-5 or size == 0 else "µm")
    assert energy_unit(values)[0] == ("kJ" if size >= 1e4 else "J" if size >= 1e-2 or size == 0 else "mJ")


def test_strain_in_words() -> None:
    assert strain_text(0.01234) == "1.23 %"
    assert strain_text(0.00567) == "5670 µε"
    assert strain_text(4.5e-5) == "45 µε"


# ----------------------------------------------------------------------------------------------------------- spectrum


def test_spectrum_over_hertz(crooked: Result) -> None:
    """Lines lie 1/T apart, as the rows of the run give them; marks are the model's own frequencies at the end."""
    (axes,) = plot(crooked, "spectrum").axes
    x, y = np.asarray(axes.lines[0].get_xdata()), SI[unit_of(axes.get_ylabel())] * np.asarray(axes.lines[0].get_ydata())
    rows, span = len(crooked), crooked.t[-1] - crooked.t[0]
    np.testing.assert_allclose(x, np.arange(len(x)) * (rows - 1) / rows / span, rtol=1e-9)
    _, height = amplitudes(crooked.t, crooked.tip - rigid_tip(crooked))
    np.testing.assert_allclose(y, height[: len(y)], rtol=1e-9)
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel() == "frequency (Hz)"
    marks: dict[str, list[float]] = {"free": [], "locked": []}
    for line in axes.lines[1:]:
        kind = "free" if line._unscaled_dash_pattern[1][0] > 2 else "locked"
        marks[kind].append(float(line.get_xdata()[0]))
    for kind, found in marks.items():
        own = crooked.model.frequencies(crooked.q[-1], kind)
        np.testing.assert_allclose(sorted(found), [f for f in own if 0 < f <= x[-1]], rtol=1e-12)
    legend_is_true(axes)


def test_spectrogram_is_over_time_and_frequency(crooked: Result) -> None:
    """A column is the spectrum of the stretch around its time; white lines are the arm's own at that time."""
    axes, bar = plot(crooked, "spectrogram").axes
    (mesh,) = axes.collections
    values = SI[unit_of(bar.get_ylabel())] * np.asarray(mesh.get_array())
    count = 2 * (len(crooked) // 9)
    starts = list(range(0, len(crooked) - count + 1, count // 8))
    assert values.shape[1] == len(starts)
    assert values.shape[0] != len(starts)
    away = crooked.tip - rigid_tip(crooked)
    for k in (0, 5, len(starts) - 1):
        rows = slice(starts[k], starts[k] + count)
        f, height = amplitudes(crooked.t[rows], away[rows])
        np.testing.assert_allclose(values[:, k], height[: len(values)], rtol=1e-9)
    corners = mesh.get_coordinates()
    middles = np.array([crooked.t[k + count // 2] for k in starts])
    np.testing.assert_allclose(corners[0, 1:-1, 0], (middles[1:] + middles[:-1]) / 2, rtol=1e-12)
    f = amplitudes(crooked.t[:count], away[:count])[0][: len(values)]
    np.testing.assert_allclose(corners[1:-1, 0, 1], (f[1:] + f[:-1]) / 2, rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "frequency (Hz)")
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), middles)
    own = [crooked.model.frequencies(crooked.q[starts[k] + count // 2], "free") for k in (0, -1)]
    curve = np.asarray(axes.lines[0].get_ydata())
    assert np.abs(own[0] - curve[0]).min() < 1e-9
    assert np.abs(own[1] - curve[-1]).min() < 1e-9


# ------------------------------------------------------------------------------------- comparison, maps and shapes


def test_comparison_by_label(short_crooked: Result) -> None:
    """Two runs, each over its own times; the distance between the tips where both are."""
    from dataclasses import replace

    other = replace(short_crooked, q=1.1 * short_crooked.q, t=short_crooked.t.copy())
    other.__dict__["model"] = short_crooked.model
    figure = compare(short_crooked, other, labels=("before", "after"))
    for axes, name in zip(figure.axes, short_crooked.joints):
        check(axes, short_crooked.t, {"before": short_crooked[name], "after": 1.1 * short_crooked[name]})
        assert axes.get_ylabel().startswith(f"{name}\n")
    legend_is_true(figure.axes[0])
    last = figure.axes[-1]
    apart = SI[unit_of(last.get_ylabel())] * np.asarray(last.lines[0].get_ydata())
    np.testing.assert_allclose(apart, np.linalg.norm(other.tip - short_crooked.tip, axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.slow_cases("upper-deg")
@pytest.mark.parametrize(("joint", "unit"), [("upper", "deg"), ("rail", "m")])
def test_frequency_map_by_mode(joint: str, unit: str) -> None:
    """Hz at rest over the joint's position while another stands where it is told; the motor winds up its spring."""
    model = crooked_robot(3).model()
    values = np.array([-0.4, 0.1, 0.7])
    at = {"rail": 0.3, "rail.motor": 0.3} if joint == "upper" else {"upper": 0.4}
    (axes,) = frequency_map(model, joint, values, at=at, count=3).axes
    assert axes.get_xlabel() == f"{joint} ({unit})"
    assert axes.get_ylabel() == "frequency, joints locked (Hz)"
    for k, value in enumerate(values):
        there = {**at, joint: value}
        q = model.equilibrium([there.get(name, 0.0) for name in model.joints])
        poles = np.linalg.eigvals(model.linearize(q, joints="locked").A)
        own = np.sort(np.abs(poles[poles.imag > 0])) / (2 * np.pi)
        for mode, line in enumerate(axes.lines):
            assert line.get_label() == f"mode {mode + 1}"
            assert SI[unit] * line.get_xdata()[k] == pytest.approx(value, rel=1e-12)
            assert line.get_ydata()[k] == pytest.approx(own[mode], rel=1e-9)
    legend_is_true(axes)


def test_mode_shapes_have_the_frequencies_of_their_plane() -> None:
    """Clamped-free: beta^2 sqrt(EI / mu L^4), with EI_z for bending along y; over metres from the root."""
    robot = crooked_robot().replace({"links.upper.shapes.boundary": "clamped-free"})
    beam = pliant.robot.beam_properties(robot.link("upper").beam)
    beta = np.array([1.8751040687, 4.6940911330, 7.8547574382])
    figure = mode_shapes(robot, "upper")
    assert [axes.get_ylabel().split("\n")[0] for axes in figure.axes] == ["bending_y", "bending_z", "torsion"]
    for axes, EI, count in zip(figure.axes, (beam.EI_z, beam.EI_y), (2, 3)):
        own = beta[:count] ** 2 * np.sqrt(EI / beam.mass_per_length / 0.73**4) / (2 * np.pi)
        lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        assert [str(line.get_label()) for line in lines] == [f"{k + 1}: {f:.4g} Hz" for k, f in enumerate(own)]
        assert [text.get_text() for text in axes.get_legend().get_texts()] == [line.get_label() for line in lines]
        np.testing.assert_allclose(lines[0].get_xdata()[[0, -1]], [0.0, 0.73], rtol=1e-12)
        for k, line in enumerate(lines):  # unit mean square, k nodes
            y = np.asarray(line.get_ydata())
            assert np.mean((y[1:] ** 2 + y[:-1] ** 2) / 2) == pytest.approx(1.0, rel=1e-3)
            assert np.count_nonzero(np.diff(np.sign(y[2:]))) == k
    assert figure.axes[-1].get_legend() is not None  # one shape alone has its frequency too
    assert figure.axes[-1].get_xlabel() == "distance from the root (m)"


def test_overview_has_each_figure_whole(short_crooked: Result) -> None:
    """Axes of a page of several are those of the single figures."""
    page = plot(short_crooked, "torques", "energy")
    alone = [*plot(short_crooked, "torques").axes, *plot(short_crooked, "energy").axes]
    assert [axes.get_ylabel() for axes in page.axes] == [axes.get_ylabel() for axes in alone]
    for one, two in zip(page.axes, alone):
        assert len(one.lines) == len(two.lines)
        for a, b in zip(one.lines, two.lines):
            np.testing.assert_array_equal(a.get_ydata(), b.get_ydata())
