"""The studio: its computing without a page, its files, and its page without a browser."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.interpolate import make_interp_spline
from typer.testing import CliRunner

import pliant
from linkages import four_bar
from pliant.cli import app
from pliant.simulation.runs.equations import composed_equations
from pliant.studio import file_panel
from pliant.studio import maps_panel as studio_maps
from pliant.studio import numbers_panel as studio_numbers
from pliant.studio import run as studio_run
from pliant.studio.choices import Choices, positioned
from pliant.studio.file_panel import uploaded
from pliant.studio.files import Shelf
from pliant.studio.numbers_panel import History
from pliant.studio.run import Workshop, saved_run, scenario, tip_error
from pliant.studio.starts import STARTS, first_choices, limits_of
from pliant.studio.studio import Visit
from pliant.studio.texts import comparison, frequencies, readout, summary
from pliant.viewer.browser import server as viewer
from pliant.viewer.browser.charts import PLOTS
from pliant.viewer.browser.readout import at_time
from pliant.viewer.browser.server import start_server
from pliant.viewer.browser.viewer_scene import KEPT

from .test_studio_uploads import Sender

PLAIN = Choices.of(pliant.load("two-link"))
DRIVEN = pliant.load("two-link").model_copy(
    update={
        "links": tuple(
            link.model_copy(
                update={
                    "joint": pliant.Joint(drive=pliant.robot.Drive(stiffness=4e3, rotor_inertia=1e-3, gear_ratio=50))
                }
            )
            for link in pliant.load("two-link").links
        )
    }
)
MOVE = replace(PLAIN, controller="pd", maneuver="move", goal=(0.5, -0.5))


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop()


@pytest.mark.parametrize("controller", ["pd", "lqr"])
def test_a_linkage_moves_under_a_controller(workshop: Workshop, controller: str) -> None:
    """What is actuated goes to its goal, all else follows; its scenario is the same run."""
    choices = replace(Choices.of(four_bar()), start=(0.7,), goal=(1.0,), controller=controller, maneuver="move",
                      move_time=0.5, duration=3.0)  # fmt: skip
    run = workshop.run(choices)
    assert run.result["crank"][-1] == pytest.approx(1.0, abs=0.02)
    assert np.abs(run.result.model.gaps(run.result.q)).max() < 1e-7
    assert scenario(choices).controller is not None


def test_moved_slider_does_not_compile(workshop: Workshop) -> None:
    """A new 5 s run of the two-link arm answers within half a second."""
    assert workshop.run(PLAIN).compiled
    took = []
    for stiffness in (2.0, 0.5, 0.7):
        began = time.perf_counter()
        again = workshop.run(replace(PLAIN, stiffness=stiffness, payload=0.4, damping=0.01, gravity=0.5))
        took.append(time.perf_counter() - began)
        assert not again.compiled
    assert min(took) < 0.5  # 0.02 s on a quiet machine; the least, for a machine that others use as well


def test_a_changed_structure_that_is_known_traces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of modes, in a studio that was started anew: equations of its run are found, not made."""
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
    changed = replace(MOVE, modes=2, duration=0.5)
    first = Workshop().run(changed)

    def refused(*given: Any) -> None:
        raise AssertionError("traced")

    monkeypatch.setattr(composed_equations.ComposedEquations, "__init__", refused)
    again = Workshop().run(changed)
    assert np.array_equal(again.result.q, first.result.q)
    with pytest.raises(AssertionError, match="traced"):
        Workshop().run(replace(changed, modes=3))


@pytest.mark.slow_cases("1.0-0.0-0.02")
@pytest.mark.parametrize(("stiffness", "payload", "damping"), [(0.4, 0.8, 0.0), (1.0, 0.0, 0.02)])
def test_values_reach_the_run(workshop: Workshop, stiffness: float, payload: float, damping: float) -> None:
    """A model that keeps them as inputs gives the run of a robot that has them built in (whose dampers would be others
    with another stiffness and payload)."""
    choices = replace(PLAIN, stiffness=stiffness, payload=payload, damping=damping, gravity=0.6, duration=0.5)
    built_in = {"beam.EI_y": 1000.0 * stiffness, "beam.EI_z": 1000.0 * stiffness, "shapes.damping": damping}
    robot = pliant.load("two-link").replace(
        {f"links.{link}.{path}": value for link in ("upper", "fore") for path, value in built_in.items()}
        | {"payload.mass": payload, "gravity.1": -9.81 * 0.6}
    )
    direct = pliant.simulate(robot.model(), 0.5)
    run = workshop.run(choices)
    np.testing.assert_allclose(run.result.q[-1], direct.q[-1], atol=1e-7)  # rtol 1e-8, over some 200 steps
    np.testing.assert_allclose(
        run.frequencies, robot.model().frequencies(direct.q[0]), rtol=1e-9
    )  # of the same numbers


@pytest.mark.slow_cases("modes", "pd", "shaped")
@pytest.mark.parametrize(
    "choices",
    [
        replace(MOVE, payload=1.0, stiffness=0.5, duration=1.0),
        replace(MOVE, controller="ideal joints", maneuver="move, shaped", duration=1.0),
        replace(MOVE, controller="lqr", goal=(0.1, -0.1), duration=0.5),
        replace(PLAIN, modes=2, duration=0.3),
        pytest.param(
            replace(
                Choices.of(pliant.load("lab-arm")), controller="pd", maneuver="hold", drive_stiffness=0.5, duration=0.2
            ),
            marks=pytest.mark.full,  # compiles the Jacobian of sixteen coordinates
        ),
    ],
    ids=["pd", "shaped", "lqr", "modes", "drives"],
)
def test_saved_scenario_is_the_run(workshop: Workshop, choices: Choices, tmp_path: Path) -> None:
    """The file that the command line takes gives the same motion."""
    scenario(choices).save(tmp_path / "s.yaml")
    again = pliant.Scenario.load(tmp_path / "s.yaml").run()
    run = workshop.run(choices).result
    np.testing.assert_allclose(again.q[-1], run.q[-1], atol=1e-6)  # both to rtol 1e-8, by steps that may differ


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stiffness": 0.0}, "stiffness"),
        ({"payload": -1.0}, "payload"),
        ({"duration": float("nan")}, "duration"),
        ({"maneuver": "move"}, "controller"),
        ({"edits": (("links.upper.beam.length", -1.0),)}, "length"),
        ({"controller": "lqr", "maneuver": "move, shaped"}, "lqr"),
    ],
)
def test_bad_values_are_refused_with_a_reason(workshop: Workshop, changes: dict, said: str) -> None:
    with pytest.raises(pliant.PliantError, match=said):
        workshop.run(replace(PLAIN, **changes))


def test_tip_error_of_a_held_arm(workshop: Workshop) -> None:
    """Joints held exactly, the tip stays at its static sag: largest and last are the same."""
    run = workshop.run(replace(PLAIN, controller="ideal joints", maneuver="hold", duration=0.5))
    model = pliant.load("two-link").model()
    sag = np.linalg.norm(model.tip_pose(model.equilibrium([0.0, 0.0]))[:3, 3] - [2.0, 0, 0])
    assert tip_error(run) == pytest.approx((sag, sag), rel=1e-6)


# ----------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    folder = tmp_path / "mine"
    folder.mkdir()
    pliant.load("two-link").save(folder / "arm.yaml")
    pliant.load("puma").save(tmp_path / "secret.yaml")
    return Shelf(folder)


def test_shelf_lists_and_opens_its_own(shelf: Shelf) -> None:
    assert shelf.names() == (*pliant.robot.arms(), "arm.yaml")
    assert shelf.robot("arm.yaml") == pliant.load("two-link")


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/passwd", "..", "", "a/b.yaml", "arm.yaml\0", "~/x.yaml"])
def test_shelf_opens_nothing_else(shelf: Shelf, name: str) -> None:
    with pytest.raises(pliant.ModelError):
        shelf.robot(name)


def test_saved_runs_open_with_their_arm_and_start(shelf: Shelf, swing: pliant.Result) -> None:
    """Values of parameters, if the run had such, are those of the arm that is shown."""
    swing.save(shelf.folder / "run.nc")
    opened = shelf.read("run.nc")
    assert isinstance(opened, pliant.Result)
    run = saved_run(opened)
    assert np.array_equal(run.result.q, swing.q)
    assert (run.choices.robot, run.choices.start) == (swing.robot, (0.0, 0.0))
    np.testing.assert_allclose(run.frequencies, swing.model.frequencies(swing.q[0]), rtol=1e-9)
    model = pliant.load("two-link").model(parameters=["payload.mass"])
    heavy = pliant.simulate(model, 0.05, p=[0.7], progress=False)
    assert Choices.of_run(heavy).payload == 0.7


def test_urdf_opens_with_the_side_file_of_its_name(shelf: Shelf) -> None:
    """Beside the URDF; alone it is rigid. Side files are not offered as arms."""
    pliant.load("two-link").to_urdf(shelf.folder / "arm.urdf")
    assert all(link.shapes is None for link in shelf.robot("arm.urdf").links)
    side = "links: {upper: {beam: {EI_y: 900, EI_z: 700}, shapes: {bending_y: 1}}}\n"
    (shelf.folder / "arm.flexible.yaml").write_text(side)
    assert [link.name for link in shelf.robot("arm.urdf").links if link.shapes is not None] == ["upper"]
    assert shelf.names() == (*pliant.robot.arms(), "arm.urdf", "arm.yaml")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("arm.exe", b"", "ends in"),
        ("../../etc/passwd.yaml", b"links: [", r"\Apasswd.yaml: "),
        ("arm.urdf", b"<robot", r"\Aarm.urdf: "),
        ("run.nc", b"no run", r"\Arun.nc: "),
        ("s.yaml", b"robot: arm.yaml\nduration: 1\n", "arm.yaml"),
        ("s.yaml", b"robot: ../secret.yaml\nduration: 1\n", "outside"),
    ],
)
def test_uploads_are_data(shelf: Shelf, name: str, content: bytes, said: str) -> None:
    """They lie alone in a folder, so that they can name no other file; what is no arm is refused."""
    with pytest.raises(pliant.PliantError, match=said), uploaded(name, content) as (alone, file):
        alone.read(file)


def test_uploads_have_a_bound() -> None:
    with pytest.raises(pliant.ModelError, match="64 MiB"), uploaded("a.nc", bytes(file_panel.MOST + 1)):
        pass


def test_side_files_do_not_lead_out(shelf: Shelf) -> None:
    (shelf.folder / "s.yaml").write_text("robot: {urdf: a.urdf, flexible: ../secret.yaml}\nduration: 1\n")
    with pytest.raises(pliant.ModelError, match="outside"):
        shelf.read("s.yaml")


def test_scenario_gives_its_start_and_equations(shelf: Shelf) -> None:
    text = "robot: arm.yaml\nduration: 2\ninitial: {q: {upper: 0.5}}\nmodel: {stiffening: third-order}\n"
    (shelf.folder / "s.yaml").write_text(text)
    chosen = Choices.of_scenario(shelf.read("s.yaml"))
    assert (chosen.start, chosen.duration, chosen.stiffening) == ((0.5, 0.0), 2.0, True)


def test_links_do_not_lead_out(shelf: Shelf) -> None:
    os.symlink(shelf.folder.parent / "secret.yaml", shelf.folder / "inner.yaml")
    assert "inner.yaml" not in shelf.names()
    with pytest.raises(pliant.ModelError):
        shelf.robot("inner.yaml")


def test_scenario_does_not_lead_out(shelf: Shelf) -> None:
    (shelf.folder / "s.yaml").write_text("robot: ../secret.yaml\nduration: 1\n")
    with pytest.raises(pliant.ModelError, match="outside"):
        shelf.robot("s.yaml")


def test_saving_does_not_overwrite(shelf: Shelf) -> None:
    with pytest.raises(pliant.ModelError, match="exists"):
        shelf.path("arm.yaml", writing=True)


def test_command_line_says_what_is_wrong(tmp_path: Path) -> None:
    runner = CliRunner()
    for arguments in (["studio", "nothing.yaml"], ["view", str(tmp_path / "nothing.nc")]):
        answer = runner.invoke(app, arguments)
        assert answer.exit_code == 2
        assert "no such" in answer.output


@pytest.mark.slow
def test_view_writes_pages_and_movies(swing: pliant.Result, tmp_path: Path) -> None:
    swing.save(tmp_path / "run.nc")
    answer = CliRunner().invoke(app, ["view", str(tmp_path / "run.nc"), "--html", str(tmp_path / "run.html")])
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "run.html").stat().st_size > 1e5


# ------------------------------------------------------------------------------------------------------------ page


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.studio.studio import Studio

    folder = tmp_path_factory.mktemp("studio")
    (folder / "broken.yaml").write_text("links: [{name: a, beam: {length: -1}}]\n")
    made = Studio(folder, "two-link", port=8472)
    visit = made.visit(made.server)  # of whoever looks
    assert visit.wait()
    visit.live.value = False  # runs when told, not when a slider moves
    yield visit
    visit.close()
    made.close()


def test_only_this_machine_reaches_it(studio) -> None:
    assert studio.page.get_host() == "127.0.0.1"


def run_now(studio) -> None:
    """Press run, and wait."""
    studio.safely(studio.collect_and_run)
    assert studio.wait()


def test_a_long_run_is_cancelled(studio) -> None:
    """The button answers while a run goes on that would take days, and the last good run stays."""
    good, count = studio.run, studio.count
    studio.maneuver.duration.value = 1e6
    studio.safely(studio.collect_and_run)
    assert not studio.wait(1.0)
    studio.give_up()
    assert studio.wait(30.0)
    assert "cancelled" in studio.status.content
    assert (studio.run, studio.count) == (good, count)
    studio.maneuver.duration.value = 5.0


def test_a_run_has_a_limit(studio) -> None:
    studio.limit, studio.maneuver.duration.value = 0.5, 1e6
    run_now(studio)
    assert "more than 0.5 s" in studio.status.content
    studio.limit, studio.maneuver.duration.value = 60.0, 5.0


def test_a_visitor_has_one_run_and_nobody_waits_for_it(studio) -> None:
    """While one visitor's run goes on, another's is finished; of many wishes the last one counts."""
    second = start_server(8473)  # a page of its own
    other = Visit(second, studio.shelf, studio.workshop, "two-link", pliant.load("two-link"), 60.0)
    try:
        assert other.wait()
        studio.maneuver.duration.value = 1e6
        studio.safely(studio.collect_and_run)
        assert not studio.wait(0.5)
        count = other.count
        run_now(other)
        assert other.count == count + 1
        assert not studio.wait(0.0)
        for duration in (2.0, 3.0, 0.7):  # pressed again and again while the long one runs
            studio.maneuver.duration.value = duration
            studio.safely(studio.collect_and_run)
        before = studio.count
        studio._stop.set()
        assert studio.wait(30.0)
        assert studio.count == before + 1
        assert studio.run.result.t[-1] == 0.7
    finally:
        other.close()
        second.stop()
        studio.maneuver.duration.value = 5.0


def test_page_survives_bad_values_and_files(studio) -> None:
    """A message each time; the last good run stays."""
    good = studio.run
    studio.arm.sliders["payload"].value = -1.0
    run_now(studio)
    assert "payload" in studio.status.content
    studio.arm.sliders["payload"].value = 0.0
    assert studio.run is good
    studio._save("scenario", "../outside.yaml")
    assert "not possible" in studio.status.content
    assert not (studio.shelf.folder.parent / "outside.yaml").exists()


def test_page_runs_keeps_and_saves(studio) -> None:
    studio.arm.sliders["stiffness"].value = 0.5
    run_now(studio)
    assert "done" in studio.status.content, studio.status.content
    studio.safely(studio.keep_run)
    studio.arm.sliders["stiffness"].value = 1.0
    run_now(studio)
    assert len(studio.kept) == 1
    studio._save("scenario", "saved.yaml")
    assert studio.wait()
    assert "saved" in studio.status.content
    loaded = pliant.Scenario.load(studio.shelf.folder / "saved.yaml")
    assert loaded.duration == 5.0
    studio.safely(studio.forget_runs)


def settled(studio, **choices: float) -> None:
    """Run with these sliders, and stop the clock."""
    studio.stage.play.value = False
    for name, value in choices.items():
        studio.arm.sliders[name].value = value
    run_now(studio)
    assert "done" in studio.status.content, studio.status.content


def distance(result: pliant.Result) -> np.ndarray:
    """Of the tip from that of the two-link arm without deflections, m."""
    q = np.array(result.q)
    q[:, 2:] = 0.0
    return np.linalg.norm(result.tip - result.model.tip_pose(q, result.parameters)[:, :3, 3], axis=1)


def drawn(studio, name: str) -> tuple[Any, dict[str, np.ndarray]]:
    """The first chart of a plot, and its columns by label, without the points of vertical lines."""
    _, handle = studio.plots.charts[name][0]
    x = handle.data[0]
    own = np.concatenate([[True], np.diff(x) > 0]) & np.concatenate([np.diff(x) > 0, [True]])
    labels = [series["label"] for series in handle.series]
    return handle, {label: column[own] for label, column in zip(labels, handle.data)}


def test_plots_show_this_run_and_kept_ones(studio) -> None:
    """The tip error of each by its label and in the color of its shadow on the stage."""
    settled(studio, stiffness=0.4)
    studio.safely(studio.keep_run)
    settled(studio, stiffness=1.0)
    studio.boxes["tip error"].value = True
    handle, columns = drawn(studio, "tip error")
    unit = {"mm": 1e3, "m": 1.0}[re.search(r"\((\w+)\)", handle.axes[1]["label"])[1]]
    t = columns["time (s)"]
    for run, label in ((studio.run, "this run"), (studio.kept[-1], "kept 1")):
        expected = unit * np.interp(t, run.result.t, distance(run.result))
        np.testing.assert_allclose(columns[label], expected, rtol=1e-9, atol=1e-9)
    assert np.abs(columns["this run"] - columns["kept 1"]).max() > 1e-3 * unit
    red, green, blue = KEPT[0]
    assert handle.series[2]["stroke"].lower() == f"#{red:02x}{green:02x}{blue:02x}"
    table = studio.beside.content
    assert "| this run | kept 1 |" in table
    apart = np.linalg.norm(studio.run.result.tip - _at(studio.run.result.t, studio.kept[-1].result), axis=1).max()
    assert f"| tips apart |  | {1e3 * apart:.3g} mm |" in table
    studio.boxes["tip error"].value = False
    studio.safely(studio.forget_runs)


def _at(t: np.ndarray, run: pliant.Result) -> np.ndarray:
    return make_interp_spline(run.t, run.tip, 3)(t)


def test_plots_follow_the_clock(studio) -> None:
    """A line at its time in every plot over time, the numbers there, and the spectrum of the stretch around it."""
    settled(studio)
    studio.boxes["spectrum"].value = True
    result, seen = studio.run.result, []
    for now in (1.0, 4.0):
        studio.stage.clock.value = now
        for name in ("joints", "deflection", "energy"):
            _, handle = studio.plots.charts[name][0]
            line = handle.data[-1]
            assert handle.data[0][line == 0.0].tolist() == [now]
            assert (line[line > 0] > 1).all()  # above the picture
            assert handle.series[-1]["scale"] == "line"
        upper = np.degrees(np.interp(now, result.t, result["upper"]))
        assert f"t = {now:.3f} s" in studio.plots.now.content
        assert f"upper {upper:.4g} °" in studio.plots.now.content.replace("&#45;", "-")
        seen.append(drawn(studio, "spectrum")[1]["around t"])
    assert np.abs(seen[0] - seen[1]).max() > 0.1 * seen[0].max()
    _, spectrum = studio.plots.charts["spectrum"][0]
    marked = spectrum.data[0][spectrum.data[-1] == 0.0]
    own = np.concatenate([result.model.frequencies(result.q[-1], j, p=result.parameters) for j in ("free", "locked")])
    np.testing.assert_allclose(marked, np.sort(own[(own > 0) & (own <= marked[-1] * 1.001)]), rtol=1e-9)
    studio.boxes["spectrum"].value = False


def test_maps_are_of_the_arm_on_the_stage(studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frequencies over a joint, with what the sliders say of it; the damping of its loop; a spin that is not steady
    is refused in words."""
    settled(studio, stiffness=4.0, payload=0.0)
    panel, shown = studio.maps, []
    monkeypatch.setattr(studio_maps, "pose_figure", lambda found, *given, **how: shown.append(found) or Figure())
    panel.first.value, panel.second.value, panel.mode.value = "fore", "none", 1
    studio._draw_map()
    assert studio.wait()
    assert "map of fore" in studio.status.content
    assert panel.image.visible
    poses = shown.pop()
    k = len(poses.positions[0]) // 3
    robot = pliant.load("two-link")
    model = robot.replace({path: 4 * value for path, value in robot.paths().items() if ".beam.EI_" in path}).model()
    joints = [studio.choices.goal[0], poses.positions[0][k]]
    assert poses.frequencies[k, 0] == pytest.approx(model.frequencies(model.equilibrium(joints))[0], rel=1e-6)
    panel.kind.value = "damping under pd"
    studio._draw_map()
    assert studio.wait()
    assert (shown.pop().least_damping > -1e-3).all()
    panel.kind.value = "spin"
    studio._draw_map()
    assert studio.wait()
    assert "not possible" in studio.status.content
    panel.kind.value = "frequency"
    settled(studio, stiffness=1.0, payload=0.0)


@pytest.mark.slow
def test_numbers_are_edited_and_undone(studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new value runs at once; its frequency is that of the arm with it; undo and redo go back and forth."""
    monkeypatch.setattr(studio_numbers, "TOGETHER", 600.0)
    settled(studio, stiffness=1.0, payload=0.0)
    studio.live.value = True
    try:
        first = studio.run.frequencies[0]
        panel = studio.numbers
        panel.part.value = "fore"
        panel.fields["links.fore.beam.mass_per_length"].value = 2.5
        assert studio.wait()
        lighter = pliant.load("two-link").replace({"links.fore.beam.mass_per_length": 2.5})
        expected = lighter.model().frequencies(np.zeros(4))[0]
        assert studio.run.frequencies[0] == pytest.approx(expected, rel=1e-9)
        assert f"| 1 | {first:.4g} | **{expected:.4g}** |" in panel.table.content
        assert "| **2.5** |" in panel.list.content
        panel.fields["links.fore.beam.mass_per_length"].value = 3.5  # typed on: one change
        assert studio.wait()
        assert not studio.run.compiled
        studio.safely(lambda: panel._travel(panel.history.undo))
        assert studio.wait()
        assert studio.choices.edits == ()
        assert studio.run.frequencies[0] == pytest.approx(first, rel=1e-9)
        assert panel.fields["links.fore.beam.mass_per_length"].value == 5.0
        studio.safely(lambda: panel._travel(panel.history.redo))
        assert studio.wait()
        assert studio.choices.edits == (("links.fore.beam.mass_per_length", 3.5),)
        before = studio.run
        panel.fields["links.fore.beam.length"].value = -1.0
        assert "length" in studio.status.content
        assert studio.run is before
        studio.safely(lambda: panel._travel(panel.history.undo))
        assert studio.wait()
    finally:
        studio.live.value = False


def test_the_viewer_has_plots_that_follow_the_clock(swing: pliant.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same column as in the studio: charts of the run, boxes that choose them, a line at the time. It takes no
    file: it has no button for one."""
    made: list[Any] = []
    for kind in (viewer.Stage, viewer.PlotColumn):
        monkeypatch.setattr(viewer, kind.__name__, lambda server, kind=kind: made.append(kind(server)) or made[-1])
    server = viewer.view(swing, port=8473)
    stage, plots = made
    try:
        stage.play.value = False
        boxes = {handle.label: handle for handle in server.gui._gui_input_handle_from_uuid.values()}
        assert set(PLOTS) <= boxes.keys()
        boxes["torques"].value = True
        assert plots.charts["torques"]
        stage.clock.value = 1.25
        for name in ("joints", "deflection", "energy", "torques"):
            _, handle = plots.charts[name][0]
            assert handle.data[0][handle.data[-1] == 0.0].tolist() == [1.25]
        x, first = plots.charts["joints"][0][1].data[:2]
        np.testing.assert_allclose(first, np.degrees(np.interp(x, swing.t, swing["upper"])), atol=1e-2)
        assert "t = 1.250 s" in plots.now.content
        page = Sender(server)
        page.start(stage.clock, 2, 1)
        assert page.states == {}
    finally:
        stage.close()
        server.stop()


@pytest.mark.parametrize("value", [1.234567e-9, 0.0141234, 3.14159, 2.345678e6, 0.0])
def test_fields_of_numbers_keep_what_is_typed(studio, value: float) -> None:
    """The page rounds to `precision` digits after the point: six digits of any size stay."""
    with studio.numbers.folder:
        field = studio.numbers._field("payload.mass", "mass", value)
    typed = 1.05 * value or 1.23456e-3
    assert round(typed, field.precision) == pytest.approx(typed, rel=1e-6)
    field.remove()


def test_history_joins_what_is_typed() -> None:
    history = History()
    for value, now in ((1.0, 0.0), (1.2, 0.5), (1.25, 1.0), (3.0, 9.0)):
        history.put("a", value, 5.0, now)
    history.put("b", 2.0, 7.0, 9.1)
    assert history.edits == (("a", 3.0), ("b", 2.0))
    seen = []
    while history.ways[0]:
        history.undo()
        seen.append(history.edits)
    assert seen == [(("a", 3.0),), (("a", 1.25),), ()]
    history.redo()
    assert history.edits == (("a", 1.25),)
    history.put("a", 5.0, 5.0, 20.0)
    assert history.edits == ()
    assert history.ways == (True, False)


def test_changes_ask_for_a_run(studio) -> None:
    """Where they do not run at once; what does not go together is made to."""
    count, maneuver = studio.count, studio.maneuver
    maneuver.maneuver.value = "move"
    assert (maneuver.controller.value, studio.choices.controller) == ("pd", "pd")
    assert "press run" in studio.status.content
    maneuver.controller.value = "none"
    assert maneuver.maneuver.value == "release"
    maneuver.controller.value = "lqr"
    maneuver.maneuver.value = "move, shaped"
    assert maneuver.controller.value == "pd"
    maneuver.controller.value = "lqr"
    assert maneuver.maneuver.value == "move"
    assert studio.count == count
    maneuver.controller.value = "none"
    studio._say("seen", "all of it")
    studio.changed()  # a field that is left tells its value once more
    assert "seen" in studio.status.content


@pytest.mark.slow_cases("page", "run", "scenario", "video")
@pytest.mark.parametrize("kind", ["scenario", "robot", "run", "page", "video"])
def test_everything_is_saved(studio, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the folder, and the same as bytes for the browser; nothing is written over."""
    studio.maneuver.duration.value = 0.2
    settled(studio, payload=0.25)
    name = {"scenario": "s.yaml", "robot": "r.yaml", "run": "r.nc", "page": "p.html", "video": "v.gif"}[kind]
    studio._save(kind, name)
    assert studio.wait()
    assert "saved" in studio.status.content, studio.status.content
    path = studio.shelf.folder / name
    check = {
        "scenario": lambda: pliant.Scenario.load(path).duration == 0.2,
        "robot": lambda: float(pliant.load(path).payload.mass) == 0.25,
        "run": lambda: np.array_equal(pliant.Result.load(path).q, studio.run.result.q),
        "page": lambda: b"two-link" in path.read_bytes(),
        "video": lambda: path.read_bytes().startswith(b"GIF89a"),
    }
    assert check[kind]()
    sent: dict[str, bytes] = {}
    monkeypatch.setattr(studio.page, "send_file_download", lambda name, data, **_: sent.update({name: data}))
    studio._send(kind, name)
    assert studio.wait()
    if kind != "run":  # whose file tells when it was written
        assert sent == {name: path.read_bytes()}
    assert len(sent[name]) > 100
    studio._save(kind, name)
    assert "exists already" in studio.status.content
    studio.maneuver.duration.value = 5.0


def test_a_movie_is_cancelled(studio) -> None:
    """Long work of any kind ends by the button; no file is left."""
    settled(studio)
    studio._save("video", "long.gif")
    end = time.monotonic() + 30
    while studio.cancel.disabled and time.monotonic() < end:
        time.sleep(0.01)
    studio.give_up()
    assert studio.wait(30.0)
    assert "cancelled" in studio.status.content
    assert not (studio.shelf.folder / "long.gif").exists()


def test_what_a_page_sends_is_bounded(studio) -> None:
    """Of the page of a visitor; test_studio_uploads.py has what a page may try."""
    sender = Sender(studio.page)
    sender.start(studio.file.upload, file_panel.MOST + 1, 1)
    assert "not possible" in studio.status.content
    assert "MiB" in studio.status.content
    assert sender.states == {}


def test_readouts_are_never_empty(studio) -> None:
    texts = (
        studio.short, studio.readout, studio.beside, studio.numbers.table, studio.numbers.list, studio.plots.now,
        studio.status,
    )  # fmt: skip
    assert all(text.content.strip() for text in texts)
    fresh = [summary(None, 0), readout(None), comparison(None, {}), frequencies(None, None), at_time(None, 0.0)]
    assert all(fresh)


@pytest.mark.parametrize("name", pliant.robot.arms())
def test_bundled_arms_have_a_start_of_their_own(name: str) -> None:
    """By their joints, within their limits, and it moves or falls."""
    robot = pliant.load(name)
    first = first_choices(robot)
    joints = [freedom.name(link.name) for link, freedom in positioned(robot)]
    assert list(STARTS[robot.name]["joints"]) == joints
    for at in (first.start, first.goal):
        for value, (link, freedom) in zip(at, positioned(robot), strict=True):
            low, high = limits_of(link, freedom)
            assert low <= value <= high
    assert first.start != first.goal
    assert first.move_time < first.duration


def test_other_arms_start_inside_their_limits() -> None:
    robot = pliant.load("boom").model_copy(update={"name": "mine"})
    first = first_choices(robot)
    assert (first.controller, first.maneuver) == ("ideal joints", "move")
    assert first.goal[2] < first.start[2] == 0.0  # the jib may only go down from there


def test_joint_sliders_are_degrees(studio) -> None:
    _, start, goal = studio.maneuver.joints[1]
    start.value, goal.value = 30.0, -60.0
    settled(studio)
    assert studio.choices.start == pytest.approx((0.0, np.pi / 6))
    assert studio.choices.goal[1] == pytest.approx(-np.pi / 3)
    assert studio.run.result.q[0, 1] == pytest.approx(np.pi / 6)
    start.value = 0.0


def test_stage_shows_the_arm_at_the_time_of_its_clock(studio) -> None:
    """Payload at the tip, second joint at the elbow, first at the base."""
    settled(studio, payload=0.3)
    result, stage = studio.run.result, studio.stage
    stage.magnify.value = 1.0
    for wanted in (0.0, 0.8, 5.0):
        stage.clock.value = wanted
        stage.draw()
        away = np.linalg.norm(result.tip - stage.loads[-1].mesh.vertices.mean(axis=0), axis=1)
        assert away.min() < 1e-5
        assert result.t[away.argmin()] == pytest.approx(wanted, abs=0.014)  # frames are 25 ms apart
        np.testing.assert_allclose(stage.joints[0].mesh.vertices.mean(axis=0), 0.0, atol=1e-6)
        elbow = stage.joints[1].mesh.vertices.mean(axis=0)
        assert np.linalg.norm(elbow) == pytest.approx(1.0, abs=0.02)
    assert stage.loads[-1].mesh.visible
    assert stage.clock.max == 5.0


def test_numbers_in_words(studio) -> None:
    """Largest and last distance, frequencies and energies, as the run has them."""
    settled(studio, stiffness=0.7)
    run = studio.run
    largest, last = 1e3 * distance(run.result).max(), 1e3 * distance(run.result)[-1]
    text = studio.short.content
    assert f"**{last:.3g} mm** at the end, {largest:.3g} mm at most" in text
    assert f"**{', '.join(f'{f:.4g}' for f in run.frequencies[:4])} Hz** at the start" in text
    assert f"strain energy at most: {run.result.energy.strain.max():.3g} J" in text
    table = studio.readout.content
    assert f"| largest strain energy | {run.result.energy.strain.max():.3g} J |" in table
    assert f"| largest kinetic energy | {run.result.energy.kinetic.max():.3g} J |" in table
    assert f"| energy balance | {np.abs(run.result.energy_balance).max():.1g} J |" in table


def test_arms_are_built_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """CasADi crashes where two threads compute with symbols; twenty visitors who came together did that."""
    choices = [Choices.of(pliant.load(name)) for name in ("two-link", "spin-up")]
    inside, most = 0, 0

    def alone(function: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            time.sleep(0.05)  # in which another thread would come in
            try:
                return function(*args, **kwargs)
            finally:
                inside -= 1

        return called

    monkeypatch.setattr(studio_run, "_free_paths", alone(lambda *_: []))
    monkeypatch.setattr(studio_run.Workshop, "_prepare", alone(lambda *_: None))
    monkeypatch.setattr(studio_run, "_at", lambda *_: 1 / 0)  # far enough
    shops = [studio_run.Workshop() for _ in range(2)]

    def come(k: int) -> None:
        with suppress(ZeroDivisionError, AttributeError):
            shops[k % 2].run(choices[k // 2 % 2])

    threads = [threading.Thread(target=come, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
