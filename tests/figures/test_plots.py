"""Figures of runs: what they show, where they go, and that they leave the world as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.drawing.figure_data import Curve, Panel, Quantity
from pliant.drawing.panel_drawing import PALE, panels_figure
from pliant.errors import ModelError, PliantError
from pliant.figures.run_panels import tip_shift
from pliant.figures.spectrum import amplitudes
from pliant.simulation.runs.results import Result
from pliant.view import FIGURES, compare, mode_shapes, plot
from pliant.viewer.page import page


@pytest.fixture(scope="module")
def result() -> Result:
    model = pliant.load("two-link").model()
    sensors = [pliant.control.Encoder("upper", sample_time=0.02), pliant.control.Tachometer("fore")]
    start = [-np.pi / 2, 0.1, 0, 0]
    return pliant.simulate(model, 0.5, start, method="dop853", output_step=0.001, sensors=sensors)


@pytest.fixture(scope="module")
def driven() -> Result:
    """Five joints or fewer, elastic drives, bending in two planes."""
    model = pliant.load("lab-arm").model(stiffening="off")
    sensors = [pliant.control.TipPosition(sample_time=0.01)]
    return pliant.simulate(model, 0.1, torque=np.full(model.n_joints, 0.5), method="dop853", sensors=sensors)


@pytest.mark.slow_cases("deflections", "energy", "error", "path", "spectrogram", "spectrum", "tip")
@pytest.mark.parametrize("name", [name for name in FIGURES if name != "attitude"])  # that one: test_free_flight
def test_every_figure_is_drawn_with_units(result: Result, driven: Result, name: str, tmp_path: Path) -> None:
    png, svg = tmp_path / f"{name}.png", tmp_path / f"{name}.svg"
    for run, path in ((result, png), (driven, svg)):
        figure = plot(run, name, path=path)
        drawn = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        for axes in figure.axes:
            assert "(" in axes.get_ylabel(), "an axis without a unit"
        assert all(axes.lines or axes.collections for axes in drawn), "empty axes"
        assert "(" in drawn[-1].get_xlabel()
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert svg.read_text().startswith("<?xml")


@pytest.mark.slow
def test_png_has_200_dots_per_inch(result: Result, tmp_path: Path) -> None:
    from PIL import Image

    figure = plot(result, "energy", path=[tmp_path / "energy.png", tmp_path / "energy.svg"])
    assert (tmp_path / "energy.svg").read_text().startswith("<?xml")
    width, height = figure.get_size_inches()
    assert Image.open(tmp_path / "energy.png").size == (int(width * 200), int(height * 200))


def test_joints_are_in_degrees(result: Result) -> None:
    upper, fore = plot(result, "joints").axes
    assert upper.get_ylabel() == "upper\nangle (deg)"
    assert np.array_equal(upper.lines[0].get_ydata(), np.degrees(result["upper"]))
    assert np.allclose(fore.lines[0].get_ydata(), np.degrees(result["fore"]), rtol=1e-15)


def test_deflections_are_of_end_and_middle_in_millimetres(result: Result) -> None:
    axes = plot(result, "deflections").axes[1]
    end, middle = (line.get_ydata() for line in axes.lines[:2])
    assert axes.get_ylabel() == "fore\ndeflection (mm)"
    assert np.array_equal(end, 1e3 * result.deflection("fore", "tip")[:, 1])
    assert np.array_equal(middle, 1e3 * result.deflection("fore", "middle")[:, 1])


def test_energies_and_their_balance(result: Result) -> None:
    upper, lower = plot(result, "energy").axes
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in upper.lines}
    total = drawn["kinetic"] + drawn["gravity"] + drawn["strain"]
    assert np.allclose(drawn["total"], total, atol=1e-12 * np.abs(total).max() + 1e-15)
    assert drawn["gravity"][0] == 0.0
    assert np.array_equal(lower.lines[0].get_ydata(), result.energy_balance)


def test_lines_are_told_apart_without_color(driven: Result) -> None:
    for name in ("deflections", "energy"):
        for axes in plot(driven, name).axes:
            named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
            dashes = [str(line.get_linestyle()) + str(line._dash_pattern) for line in named]
            assert len(set(dashes)) == len(dashes)


def test_an_overview_and_pages_of_several(result: Result) -> None:
    assert len(plot(result).axes) == 7  # two joints, one path, two links, two of energy
    assert len(plot(result, "joints", "torques", "path").axes) == 5
    assert len(result.plot("tip").axes) == 3


def test_wind_up_of_drives_is_shown(driven: Result) -> None:
    axes = plot(driven, "joints").axes[-1]
    assert axes.get_ylabel() == "wind-up (deg)"
    assert np.allclose(axes.lines[0].get_ydata(), np.degrees(driven["base.motor"] - driven["base"]), rtol=1e-12)


def test_a_spectrum_has_the_height_of_a_sine() -> None:
    t = np.linspace(0, 4, 2001)
    values = np.column_stack([0.003 * np.sin(2 * np.pi * 5 * t), 0 * t, 2.0 + 0.1 * t])
    f, height = amplitudes(t, values)
    peak = int(np.argmax(height))
    assert f[peak] == pytest.approx(5.0, abs=0.25)  # the spacing of the lines
    assert height[peak] == pytest.approx(0.003, rel=0.01)  # what leaks from a window of 20 periods


def test_the_spectrum_peaks_where_the_arm_vibrates_and_marks_it(result: Result) -> None:
    f, height = amplitudes(result.t, tip_shift(result))
    own = result.model.frequencies(result.q[-1], "free")
    above = f > 10.0  # the pendulum motions are slower
    peak = f[above][np.argmax(height[above])]
    assert np.abs(own - peak).min() < 2 * f[1]  # lines are 2 Hz apart
    marks = [line.get_xdata()[0] for line in plot(result, "spectrum").axes[0].lines[1:]]
    assert {round(value, 6) for value in own if value > 0} <= {round(float(value), 6) for value in marks}


def test_tip_deflection_of_a_bent_link() -> None:
    """Of one link it is what the link's own end does, turned into base axes."""
    robot = pliant.load("spin-up")
    run = pliant.simulate(robot.model(stiffening="off"), 0.01, {"arm": 0.3, "arm.bending_y.1": 0.02}, method="dop853")
    own = run.deflection("arm", "tip")
    c, s = np.cos(run["arm"]), np.sin(run["arm"])
    turned = np.column_stack([-s * own[:, 1], c * own[:, 1]])
    assert np.allclose(tip_shift(run)[:, :2], turned, atol=1e-14)


def test_mistakes(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean `joints`"):
        plot(result, "joint")
    with pytest.raises(ModelError, match=r"ends in \.png"):
        plot(result, "joints", path=tmp_path / "x.jpeg")
    (tmp_path / "file").write_text("")
    with pytest.raises(PliantError, match="could not be written"):
        plot(result, "joints", path=tmp_path / "file" / "x.png")
    with pytest.raises(ModelError, match="no shapes"):
        mode_shapes(pliant.load("puma"), 0)
    with pytest.raises(ModelError, match="its joints are"):
        compare(result, pliant.simulate(pliant.load("spin-up").model(), 0.01))


def test_a_run_cut_off_at_once_can_be_drawn() -> None:
    run = pliant.simulate(pliant.load("two-link").model(), 1e-3, output_step=1e-3)
    for name in FIGURES:
        plot(run, name)


def test_rigid_arms_have_no_deflections() -> None:
    run = pliant.simulate(pliant.load("puma").model(), 0.01)
    texts = [text.get_text() for text in plot(run, "deflections").axes[0].texts]
    assert texts == ["no link of this arm bends"]
    for name in FIGURES:
        plot(run, name)


@pytest.mark.slow
def test_arms_without_joints_can_be_drawn() -> None:
    """A beam on a wall vibrates; nothing turns."""
    beam = pliant.Beam(length=0.7, mass_per_length=1.3, EI_y=20.0, EI_z=50.0)
    link = pliant.Link(name="boom", joint=pliant.Joint(type="fixed"), beam=beam, shapes=pliant.Shapes(bending_y=1))
    run = pliant.simulate(pliant.Robot(name="wall", links=(link,)).model(), 0.05, {"boom.bending_y.1": 0.01})
    for name in FIGURES:
        plot(run, name)
    assert plot(run, "torques").axes[0].texts[0].get_text() == "no joint of this arm moves"
    page(run)


def test_comparison(result: Result) -> None:
    other = pliant.simulate(pliant.load("two-link").model("lagrange"), 0.3, result.q[0], method="dop853")
    figure = compare(result, other)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["denoc", "lagrange"]
    apart = figure.axes[-1].lines[0].get_ydata()
    assert np.max(apart) < 1.0  # micrometres: two formulations of one arm, the second interpolated linearly
    assert len(apart) == 301  # as far as both runs reach


@pytest.mark.parametrize(("arm", "link"), [("boom", "boom"), ("boom", "jib"), ("two-link", "upper")])
def test_mode_shapes(arm: str, link: str) -> None:
    """Clamped at the root, positive at the tip, mode k with k - 1 nodes; frequencies in the legend."""
    robot = pliant.load(arm)
    for axes in mode_shapes(robot, link).axes:
        curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
        for k, line in enumerate(curves):
            values = np.asarray(line.get_ydata())
            assert abs(values[0]) < 1e-12
            assert values[-1] > 0
            assert np.count_nonzero(np.diff(np.sign(values[2:]))) == k
        assert "Hz" in axes.get_legend().get_texts()[0].get_text()


@pytest.mark.slow
def test_nothing_global_changes_and_nothing_pops_up() -> None:
    """Drawing neither loads pyplot nor touches its settings; importing the view does not load matplotlib."""
    code = """
import sys, pliant, pliant.view
assert "matplotlib" not in sys.modules
import matplotlib
def settings():
    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}  # to ask for it loads pyplot
before = settings()
run = pliant.simulate(pliant.load("spin-up").model(stiffening='off'), 0.01)
figure = run.plot()
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
assert figure._repr_png_()[:4] == b"\\x89PNG"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_svg_is_the_same_every_time(result: Result, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plot(result, "joints", path=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_frequency_map_follows_the_arm(tmp_path):
    """The elbow folded back brings the fore link's mass to the root: the lowest frequency rises."""
    from pliant.view import frequency_map

    model = pliant.load("two-link").model()
    values = np.array([0.0, np.pi])
    figure = frequency_map(model, "fore", values, path=tmp_path / "map.png")
    straight, folded = figure.axes[0].lines[0].get_ydata()
    assert folded > 1.5 * straight
    assert (tmp_path / "map.png").stat().st_size > 5000
    with pytest.raises(ModelError, match="joint"):
        frequency_map(model, "elbow", values)


# ------------------------------------------------------------------------------------------------- scripts and pyplot

WINDOW = """
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backend_bases import FigureManagerBase

class Manager(FigureManagerBase):
    @classmethod
    def start_main_loop(cls):
        print("waits")

    def show(self):
        print("shown", len(self.canvas.figure.axes))

class FigureCanvas(FigureCanvasAgg):
    manager_class = Manager

FigureManager = Manager
"""
"""A backend whose windows say what they do."""


def script(code: str, folder: Path, backend: str = "module://window") -> list[str]:
    """What a script with windows prints."""
    (folder / "window.py").write_text(WINDOW)
    head = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import matplotlib
matplotlib.use({backend!r})
import numpy as np, pliant
run = pliant.simulate(pliant.load("spin-up").model(stiffening='off'), 0.01)
"""
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_script_shows_its_figures(tmp_path: Path) -> None:
    """`plt.show()` shows what `plot` drew, in the order of the calls; what went to a file is not kept."""
    code = """
import matplotlib.pyplot as plt
first, second = run.plot("tip"), run.plot("energy")
run.plot("joints", path="joints.png")
assert plt.get_fignums() == [first.number, second.number]
plt.show()
"""
    assert script(code, tmp_path) == ["shown 3", "shown 2", "waits"]


@pytest.mark.slow
def test_a_figure_shows_itself(tmp_path: Path) -> None:
    """Also one that was drawn before anybody used pyplot."""
    assert script('run.plot("tip").show()', tmp_path) == ["shown 3", "waits"]
    code = """
import warnings, pliant.view
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    run.plot("tip").show()
print([str(one.message) for one in caught])
"""
    (said,) = script(code, tmp_path, "agg")
    assert said == """["no display here: write the figure to a file, plot(..., path='run.png')"]"""


@pytest.mark.slow
def test_notebooks_show_a_figure_once(tmp_path: Path) -> None:
    """Their backend shows what pyplot knows, and the cell shows what it returns."""
    code = """
import matplotlib.pyplot as plt
plt.get_backend = lambda: "module://matplotlib_inline.backend_inline"
run.plot("tip")
print(plt.get_fignums())
"""
    assert script(code, tmp_path) == ["[]"]


def test_a_figure_is_drawn_on_axes_of_the_user(result: Result) -> None:
    from matplotlib.figure import Figure

    page = Figure()
    one = page.subplots()
    assert result.plot("joints", ax=one) is page
    assert [line.get_label() for line in one.lines] == ["upper", "fore"]
    assert np.array_equal(one.lines[1].get_ydata(), np.degrees(result["fore"]))
    assert len({str(line.get_color()) for line in one.lines}) == 2
    assert (one.get_xlabel(), one.get_ylabel()) == ("time (s)", "angle (deg)")
    several = Figure().subplots(1, 2)
    plot(result, "energy", ax=several)
    assert np.array_equal(several[1].lines[0].get_ydata(), result.energy_balance)
    with pytest.raises(ModelError, match="expected 2 pairs of axes, one for each panel of 'energy'"):
        plot(result, "energy", ax=one)
    with pytest.raises(ModelError, match="ax: goes with one name"):
        plot(result, ax=one)
    with pytest.raises(ModelError, match="expected 1 pairs of axes"):
        plot(result, "error", ax=3)


def test_names_of_figures_stand_in_help_and_in_the_error(result: Result) -> None:
    for words in (plot.__doc__, Result.plot.__doc__):
        assert [name for name in FIGURES if f'"{name}"' not in words] == []
    with pytest.raises(ModelError) as caught:
        plot(result, "xyzzy")
    assert [name for name in FIGURES if name not in str(caught.value)] == []


# ------------------------------------------------------------------------------------------------------------ hairballs


def panel(*curves: np.ndarray) -> Panel:
    t = np.linspace(0.0, 1.0, len(curves[0]))
    return Panel("p", Quantity("y", "m"), tuple(Curve(str(k), t, y, k) for k, y in enumerate(curves)))


def test_what_swings_too_often_is_pale_with_its_mean_over_it() -> None:
    """Three hundred swings over a slow one: the mean is the slow one; few swings, and rounding, stay as they are."""
    t = np.linspace(0.0, 1.0, 6001)
    slow, small = np.sin(2 * np.pi * 2 * t), 1e-9 * np.sin(2 * np.pi * 300 * t)
    drawn = panel(slow + 0.5 * np.sin(2 * np.pi * 300 * t), slow, small)
    crowded, clear, rounded = (drawn.midline(curve) for curve in drawn.curves)
    assert crowded is not None
    assert np.abs(crowded - slow)[100:-100].max() < 0.02  # four swings are 1/75 s, over which the slow one bends
    assert clear is None
    assert rounded is None
    axes = panels_figure([drawn]).axes[0]
    assert [line.get_label() for line in axes.lines if line.get_alpha() is None] == ["0", "1", "2"]
    assert np.array_equal(axes.lines[0].get_ydata(), drawn.curves[0].y)
    assert axes.lines[0].get_alpha() == PALE
