"""`pliant simulate`: runs, overrides, outputs, mistakes, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pliant
from sources import ROOT

from .conftest import Run

Write = Callable[..., Path]
SHORT = """
    format: 1
    robot: two-link
    initial: {q: {upper: -90 deg, fore: 5 deg}}
    duration: 0.05
    method: dop853
"""
EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))


def test_a_run_leaves_its_files(run: Run, scenario: Write) -> None:
    file = scenario(SHORT + "    outputs: {netcdf: a.nc, csv: a.csv, figures: [joints, energy], formats: [png, svg]}\n")
    result = run("simulate", file, "--out", "there")
    assert result.exit_code == 0, result.stderr
    names = {"a.nc", "a.csv", "joints.png", "joints.svg", "energy.png", "energy.svg"}
    assert {path.name for path in Path("there").iterdir()} == names
    loaded = pliant.Result.load("there/a.nc")
    assert loaded.stats.status == "finished"
    assert loaded.t[-1] == 0.05
    assert Path("there/a.csv").read_text().splitlines()[1].startswith("time,upper,fore,")
    for name in names:
        assert str(Path("there") / name) in result.stdout


def test_the_summary_for_programs(run: Run, scenario: Write) -> None:
    result = run("simulate", scenario(SHORT), "--json", "--t-end", "0.02", "--method", "rk4", "--step", "1e-4")
    facts = json.loads(result.stdout)
    assert facts["status"] == "finished"
    assert (facts["t_end"], facts["method"], facts["steps"]) == (0.02, "rk4", 200)
    assert facts["files"] == [str(Path("out") / "case" / "run.nc")]
    assert facts["range"]["upper"][0] <= -np.pi / 2 <= facts["range"]["upper"][1]
    run = pliant.Result.load(facts["files"][0])
    assert facts["tip_end"] == pytest.approx(run.tip[-1].tolist(), rel=1e-12)
    assert facts["range"]["fore"] == pytest.approx([run["fore"].min(), run["fore"].max()], rel=1e-12)


def test_overrides_are_checked_like_the_file(run: Run, scenario: Write) -> None:
    for option, value, said in (
        ("--method", "dopp853", "did you mean `dop853`?"),
        ("--t-end", "-1", "expected a number above 0"),
        ("--formulation", "denocs", "did you mean `denoc`?"),
    ):
        result = run("simulate", scenario(SHORT), option, value)
        assert result.exit_code == 2
        assert said in result.stderr


def test_formulation_may_be_chosen(run: Run, scenario: Write) -> None:
    facts = json.loads(run("simulate", scenario(SHORT), "--formulation", "lagrange", "--json").stdout)
    assert facts["formulation"] == "lagrange"


def test_a_break_down_keeps_what_was_computed(run: Run, scenario: Write) -> None:
    """The sliding link of the RRP arm runs out of its travel: exit code 1, and a file up to that moment."""
    given = "robot: rrp\nmodel: {stiffening: off}\ninitial: {qd: {slide: 1}}\nduration: 5\nmethod: dop853\n"
    result = run("simulate", scenario(given))
    assert result.exit_code == 1
    assert "end of its travel" in result.stderr
    kept = pliant.Result.load("out/case/run.nc")
    assert 0 < kept.t[-1] < 5


def test_a_blow_up_is_a_failure_not_a_mistake(run: Run, scenario: Write) -> None:
    """A fixed step far beyond stability: the message names the coordinate that went first."""
    result = run("simulate", scenario(SHORT.replace("0.05", "20").replace("dop853", "rk4") + "    step: 0.05\n"))
    assert result.exit_code == 1
    assert "the run broke down" in result.stderr
    # Several coordinates overflow in the same step; which one is found first hangs on rounding.
    assert re.search(r"first to go: (upper|fore)(\.bending_y\.1)?( \(rate\))?\)", result.stderr), result.stderr


def test_an_unstable_loop_is_told_and_kept(run: Run, scenario: Write) -> None:
    loop = "    controller: {type: pd, kp: -1000, kd: 1, reference: [0, 0]}\n"
    result = run("simulate", scenario(SHORT.replace("0.05", "5") + loop))
    assert result.exit_code == 1
    assert re.search(r"the arm ran away: .* Joint '(upper|fore)': its torque grows by 1000 N m/rad", result.stderr)
    assert "what had been computed is in out/case/run.nc" in result.stderr
    kept = pliant.Result.load("out/case/run.nc")
    assert kept.stats.status == "failed"
    assert 0.05 < kept.t[-1] < 5.0


def test_a_warning_is_a_line(run: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from pliant.scenario import Scenario

    real = Scenario.run

    def warned(self: Scenario, progress: object = None) -> object:
        warnings.warn("a stiff coordinate", stacklevel=1)
        return real(self, progress)

    monkeypatch.setattr(Scenario, "run", warned)
    result = run("simulate", scenario(SHORT))
    assert result.exit_code == 0
    assert "warning: a stiff coordinate\n" in result.stderr


def test_an_output_folder_that_cannot_be(run: Run, scenario: Write, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in ("file", "file/below"):
        result = run("simulate", scenario(SHORT), "--out", folder)
        assert result.exit_code == 2
        assert "choose another folder" in result.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_an_output_folder_without_permission(run: Run, scenario: Write, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    result = run("simulate", scenario(SHORT), "--out", "closed")
    assert result.exit_code == 2


def test_progress_in_a_log(run: Run, scenario: Write) -> None:
    result = run("simulate", scenario(SHORT), "--progress", "--json")
    assert "% done" in result.stderr
    json.loads(result.stdout)


@pytest.mark.skipif(os.name != "posix", reason="SIGINT to a child process is a matter of POSIX")
@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.full)], ids=["once", "twice"])
def test_ctrl_c_leaves_a_readable_partial_result(scenario: Write, tmp_path: Path, again: bool) -> None:
    """A real process is interrupted in the middle of a run of minutes; an impatient second Ctrl-C does no harm."""
    file = scenario(SHORT.replace("0.05", "1e4") + "    output_step: 0.1\n")
    child = subprocess.Popen(
        [sys.executable, "-c", "from pliant.cli import main; main()", "simulate", str(file), "--progress"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    try:
        assert child.stderr is not None
        assert "% done" in child.stderr.readline()  # the run has begun
        time.sleep(0.3)  # some ten simulated seconds, or one on a busy machine; the rows are 0.1 s apart
        child.send_signal(signal.SIGINT)
        if again:
            folder = tmp_path / "out" / "case"
            while child.poll() is None and not any(folder.glob("*.part")):
                pass
            child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130, err
    assert "interrupted at t =" in err
    assert "Traceback" not in err
    kept = pliant.Result.load(tmp_path / "out" / "case" / "run.nc")
    assert kept.stats.status == "interrupted"
    assert 0 < kept.t[-1] < 1e4
    assert np.isfinite(kept.q).all()
    assert "interrupted" in out


def test_ctrl_c_before_the_run_begins(run: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.simulation.scenario.scenario.simulate", interrupted)
    result = run("simulate", scenario(SHORT))
    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"


@pytest.mark.slow_cases("ship-crane", "slender")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_sound(run: Run, path: Path) -> None:
    """Every example is read whole and runs for a moment; its figures are drawn by `make demo` and the gallery."""
    chosen = pliant.Scenario.load(path)
    short = chosen.replace(duration=0.02, outputs={}, output_step=None)
    assert short.run().stats.status == "finished"


@pytest.mark.slow
def test_a_page_and_where_it_is(run: Run, scenario: Write, tmp_path: Path) -> None:
    """The scenario may ask for it; `view --html` writes it too and says its address, without a browser here."""
    file = scenario(SHORT + "    outputs: {page: arm.html}\n")
    assert run("simulate", str(file), "--out", str(tmp_path / "out")).exit_code == 0
    assert "pliantView" in (tmp_path / "out" / "arm.html").read_text(encoding="utf-8")
    done = run("view", str(tmp_path / "out" / "run.nc"), "--html", str(tmp_path / "again.html"))
    assert f"the arm in 3-D: {(tmp_path / 'again.html').as_uri()}; open that address" in done.stderr


@pytest.mark.parametrize(
    ("terminal", "surroundings", "looks"),
    [(True, {"DISPLAY": ":0"}, True), (True, {"WAYLAND_DISPLAY": "w"}, True), (False, {"DISPLAY": ":0"}, False),
     (True, {"DISPLAY": ":0", "CI": "true"}, False), (True, {}, False)],
)  # fmt: skip
def test_a_page_opens_only_where_somebody_looks(
    terminal: bool, surroundings: dict[str, str], looks: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pliant.cli import view

    opened: list[str] = []
    monkeypatch.setattr(view.sys, "platform", "linux")
    monkeypatch.setattr(view.sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(view.webbrowser, "open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    view.say_page(tmp_path / "arm.html", browser=True)
    view.say_page(tmp_path / "arm.html", browser=False)
    assert opened == ([(tmp_path / "arm.html").as_uri()] if looks else [])


@pytest.mark.slow
def test_a_bundled_arm_by_its_name(run: Run) -> None:
    """As the studio begins with it, with a page; a file of that name comes first."""
    facts = json.loads(run("simulate", "slider-crank", "--t-end", "0.02", "--json").stdout)
    folder = Path("out") / "slider-crank"
    assert facts["files"] == [str(folder / "run.nc"), str(folder / "slider-crank.html")]
    assert facts["robot"] == "flexible slider-crank"
    assert facts["range"]["crank"][0] == pytest.approx(np.pi / 6)
    assert facts["range"]["crank"][1] > np.pi / 6
    Path("two-link").write_text("robot: puma\nduration: 0.001\n")
    assert json.loads(run("simulate", "two-link", "--json").stdout)["robot"] == "PUMA, six rigid links"
    assert run("simulate", "slider-crunk").exit_code != 0


@pytest.mark.parametrize(
    ("name", "given", "names"),
    [
        ("ur5_like.urdf", ("--flexible", "ur5_like_side.yaml"), "forearm_link.bending_y.1"),
        ("ur5_like.urdf", (), "shoulder_pan_joint"),
        ("arm.yaml", (), "arm.bending_y.1"),
    ],
)
def test_an_arm_is_simulated_by_its_file(
    run: Run, tmp_path: Path, name: str, given: tuple[str, ...], names: str
) -> None:
    """The motion with which the studio begins, with a page."""
    for path in (ROOT / "examples" / "urdf").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    pliant.load("spin-up").save(tmp_path / "arm.yaml")
    told = run("simulate", name, *given, "--t-end", 0.05)
    assert told.exit_code == 0, told.output
    stem = name.split(".")[0]
    assert (tmp_path / "out" / stem / f"{stem}.html").exists()
    assert names in pliant.Result.load(tmp_path / "out" / stem / "run.nc").coordinates


def test_options_of_arms_are_refused_with_scenarios(run: Run, tmp_path: Path) -> None:
    (tmp_path / "swing.yaml").write_text("robot: two-link\nduration: 0.1\n")
    told = run("simulate", "swing.yaml", "--tip", "fore")
    assert told.exit_code == 2
    assert "--tip: swing.yaml is a scenario" in told.stderr
