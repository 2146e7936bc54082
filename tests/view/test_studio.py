"""The studio: its computing without a page, its files, and its page without a browser."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.view.studio_choices import Choices
from pliant.view.studio_files import Shelf
from pliant.view.studio_run import Workshop, scenario, tip_error

PLAIN = Choices.of(pliant.load("two-link"))
DRIVEN = pliant.load("two-link").model_copy(
    update={
        "links": tuple(
            link.model_copy(
                update={"joint": pliant.Joint(drive=pliant.Drive(stiffness=4e3, rotor_inertia=1e-3, gear_ratio=50))}
            )
            for link in pliant.load("two-link").links
        )
    }
)
MOVE = replace(PLAIN, controller="pd", manoeuvre="move", goal=(0.5, -0.5))


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop()


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


def test_values_reach_the_run(workshop: Workshop) -> None:
    """A model that keeps them as inputs gives the run of a robot that has them built in."""
    choices = replace(PLAIN, stiffness=0.4, payload=0.8, damping=0.02, gravity=0.6, duration=0.5)
    robot = pliant.load("two-link").replace(
        {f"links.{link}.{path}": value for link in ("upper", "fore")
         for path, value in {"beam.EI_y": 400.0, "beam.EI_z": 400.0, "shapes.damping": 0.02}.items()}
        | {"payload.mass": 0.8, "gravity.1": -9.81 * 0.6}
    )  # fmt: skip
    direct = pliant.simulate(robot.model(), 0.5)
    run = workshop.run(choices)
    np.testing.assert_allclose(run.result.q[-1], direct.q[-1], atol=1e-7)  # rtol 1e-8, over some 200 steps
    np.testing.assert_allclose(
        run.frequencies, robot.model().frequencies(direct.q[0]), rtol=1e-9
    )  # of the same numbers


@pytest.mark.parametrize(
    "choices",
    [
        replace(MOVE, payload=1.0, stiffness=0.5, duration=1.0),
        replace(MOVE, controller="ideal joints", manoeuvre="move, shaped", duration=1.0),
        replace(MOVE, controller="lqr", goal=(0.1, -0.1), duration=0.5),
        replace(PLAIN, modes=2, duration=0.3),
        pytest.param(
            replace(
                Choices.of(pliant.load("lab-arm")), controller="pd", manoeuvre="hold", drive_stiffness=0.5, duration=0.2
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
        ({"manoeuvre": "move"}, "controller"),
        ({"controller": "lqr", "manoeuvre": "move, shaped"}, "lqr"),
    ],
)
def test_bad_values_are_refused_with_a_reason(workshop: Workshop, changes: dict, said: str) -> None:
    with pytest.raises(pliant.PliantError, match=said):
        workshop.run(replace(PLAIN, **changes))


def test_tip_error_of_a_held_arm(workshop: Workshop) -> None:
    """Joints held exactly, the tip stays at its static sag: largest and last are the same."""
    run = workshop.run(replace(PLAIN, controller="ideal joints", manoeuvre="hold", duration=0.5))
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
    assert shelf.names() == (*pliant.arms(), "arm.yaml")
    assert shelf.robot("arm.yaml") == pliant.load("two-link")


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/passwd", "..", "", "a/b.yaml", "arm.yaml\0", "~/x.yaml"])
def test_shelf_opens_nothing_else(shelf: Shelf, name: str) -> None:
    with pytest.raises(pliant.ModelError):
        shelf.robot(name)


def test_results_are_for_the_viewer(shelf: Shelf) -> None:
    with pytest.raises(pliant.ModelError, match="pliant view"):
        shelf.open("run.nc")


def test_side_files_do_not_lead_out(shelf: Shelf) -> None:
    (shelf.folder / "s.yaml").write_text("robot: {urdf: a.urdf, flexible: ../secret.yaml}\nduration: 1\n")
    with pytest.raises(pliant.ModelError, match="outside"):
        shelf.open("s.yaml")


def test_scenario_gives_its_start_and_equations(shelf: Shelf) -> None:
    text = "robot: arm.yaml\nduration: 2\ninitial: {q: {upper: 0.5}}\nmodel: {stiffening: true}\n"
    (shelf.folder / "s.yaml").write_text(text)
    chosen = Choices.of_scenario(shelf.open("s.yaml"))
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


def test_view_writes_pages_and_movies(swing: pliant.Result, tmp_path: Path) -> None:
    swing.save(tmp_path / "run.nc")
    answer = CliRunner().invoke(app, ["view", str(tmp_path / "run.nc"), "--html", str(tmp_path / "run.html")])
    assert answer.exit_code == 0, answer.output
    assert (tmp_path / "run.html").stat().st_size > 1e5


# ------------------------------------------------------------------------------------------------------------ page


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    from pliant.view.studio import Studio

    folder = tmp_path_factory.mktemp("studio")
    (folder / "broken.yaml").write_text("links: [{name: a, beam: {length: -1}}]\n")
    made = Studio(folder, "two-link", port=8472)
    made.live.value = False  # runs when told, not by itself in a thread of the server
    yield made
    made.close()


def test_only_this_machine_reaches_it(studio) -> None:
    assert studio.server.get_host() == "127.0.0.1"


def test_page_survives_bad_values_and_files(studio) -> None:
    """A message each time; the last good run stays."""
    good = studio.run
    studio.sliders["payload"].value = -1.0
    studio._safely(studio._collect_and_run)
    assert "payload" in studio.status.content
    studio.sliders["payload"].value = 0.0
    assert studio.run is good
    studio.file.value = "../outside.yaml"
    studio._safely(studio._save)
    assert "not possible" in studio.status.content
    assert not (studio.shelf.folder.parent / "outside.yaml").exists()


def test_page_runs_keeps_and_saves(studio) -> None:
    studio.sliders["stiffness"].value = 0.5
    studio._safely(studio._collect_and_run)
    assert "done" in studio.status.content, studio.status.content
    studio._safely(studio._keep_run)
    studio.sliders["stiffness"].value = 1.0
    studio._safely(studio._collect_and_run)
    assert len(studio.kept) == 1
    studio.file.value = "saved.yaml"
    studio._safely(studio._save)
    assert "saved" in studio.status.content
    loaded = pliant.Scenario.load(studio.shelf.folder / "saved.yaml")
    assert loaded.duration == 5.0
    studio._safely(studio._forget_runs)
