"""The harness: times in turns, ratios from what was measured, verdicts, tables; peers are not needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import install
from pliant_bench import findings, first_result, session, start, timing
from pliant_bench.arms import arm, rigid_chain, states
from pliant_bench.extended import evaluate, relative_error
from pliant_bench.figure import draw, undercut
from pliant_bench.findings import Comparison, Point, Report, Side, Start
from pliant_bench.markdown import duration, markdown, times
from pliant_bench.rigid_peers import RigidChain
from pliant_bench.timing import Effort, Timings, alternating

HOUR = 3600.0


def comparison(ours: Timings, peer: Timings, **options: object) -> Comparison:
    sides = Side("pliant, call", ours, options.pop("error", 1e-9)), Side("Peer 1.0", peer, options.pop("theirs", 1e-8))  # type: ignore[arg-type]
    return Comparison("rigid", "6R", "task", "evaluation", *sides, "judge, rad", **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- times


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless a task moves it."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    return now


def test_rivals_take_turns_and_times_are_those_of_one_call(clock: list[float]) -> None:
    order: list[str] = []

    def task(name: str, seconds: float) -> None:
        order.append(name)
        clock[0] += seconds

    found = alternating(
        {"slow": lambda: task("slow", 3e-3), "fast": lambda: task("fast", 1e-3)}, Effort(rounds=6, seconds=3e-3)
    )
    assert np.allclose(found["slow"].values, 3e-3)
    assert np.allclose(found["fast"].values, 1e-3)
    assert found["slow"].over(found["fast"]).median == pytest.approx(3.0)
    rounds = "".join(name[0] for name in order).rstrip()[-24:]  # one slow call and three fast ones per round
    assert rounds == "sffffffs" * 3  # whoever began last time comes second


def test_many_short_calls_are_timed_by_the_call(clock: list[float]) -> None:
    def task() -> None:
        clock[0] += 2e-5

    found = alternating({"short": task}, Effort(rounds=3, seconds=4e-3))  # 200 calls in bursts of 40
    np.testing.assert_allclose(found["short"].values, 2e-5, rtol=1e-6)


def test_long_rounds_are_fewer(clock: list[float]) -> None:
    def task() -> None:
        clock[0] += HOUR

    assert len(alternating({"long": task}, Effort(rounds=15, most=60.0))["long"].values) == timing.FEWEST


def test_a_slow_spell_leaves_the_ratio_alone() -> None:
    spell = np.array([1.0, 1.0, 7.0, 7.0, 7.0])  # the machine slows down for three of five rounds
    ours, peer = Timings(tuple(spell)), Timings(tuple(4.0 * spell))
    assert peer.over(ours).median == 4.0
    assert peer.over(ours).quartiles == (4.0, 4.0)
    with pytest.raises(ValueError, match="5 rounds over 1"):
        peer.over(Timings((1.0,)))


# ---------------------------------------------------------------------------------------------- verdicts and tables


def test_verdict_needs_the_ratio_and_where_asked_the_accuracy() -> None:
    ours, peer = Timings((1.0, 1.1, 0.9)), Timings((30.0, 33.0, 27.0))
    assert comparison(ours, peer).met is None
    assert comparison(ours, peer, asked=30.0).met is True
    assert comparison(ours, peer, asked=30.1).met is False
    assert comparison(ours, peer, asked=20.0, accuracy=1.0, error=0.9, theirs=1.2).met is True
    assert comparison(ours, peer, asked=20.0, accuracy=1.0, error=1.1, theirs=1.2).met is False  # not accurate enough
    assert comparison(ours, peer, asked=20.0, accuracy=1.0, error=0.9, theirs=0.8).met is False  # the peer is better


def filled() -> Report:
    found = Report("x86_64 some, 4 doubles per vector")
    found.comparisons += [
        comparison(Timings((2e-6, 2e-6, 4e-6)), Timings((8e-6, 6e-6, 20e-6)), asked=3.5),
        comparison(Timings((1e-3,)), Timings((2e-3,)), asked=5.0),
    ]
    one = Timings((1.0,))
    found.starts.append(Start("pliant, cold cache", "6R", one, one, None, one, Timings((2e8,))))
    found.points.append(Point("pliant", "3 modes", 1e-5, 1e-6, Timings((0.1,)), 0.1))
    found.verdicts.append(("curve below all", False))
    found.note("Exudyn: left out")
    return found


def test_json_holds_the_rounds_that_its_ratios_come_from() -> None:
    data = json.loads(json.dumps(filled().to_dict(), allow_nan=False))
    for c in data["comparisons"]:
        ratios = np.array(c["peer"]["seconds"]["rounds"]) / np.array(c["ours"]["seconds"]["rounds"])
        assert c["ratio"]["median"] == pytest.approx(np.median(ratios))
        assert c["met"] == (np.median(ratios) >= c["asked"])
    assert [v["met"] for v in data["verdicts"]] == [True, False, False]
    for line in (*data["comparisons"], *data["starts"], *data["points"]):
        assert line["machine"] == "x86_64 some, 4 doubles per vector"
    assert all("(x86_64 some, 4 doubles per vector)" in v["asked"] for v in data["verdicts"])


def test_page_has_every_number_and_says_what_is_not_met() -> None:
    page = markdown(filled(), {"machine": "some machine", "versions": {}, "quick": False})
    tables = [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for lines in tables:
        assert len({line.count(" | ") for line in lines}) == 1
    ratios, starts, points = tables
    assert "| 4 x (3.5–4.5) |" in ratios[2]
    assert "| 3.5 x | met |" in ratios[2]
    assert "| 5 x | **NOT MET** |" in ratios[3]
    for lines in tables:
        assert all(line.endswith("| x86_64 some, 4 doubles per vector |") for line in lines[2:])
    assert "200 MB" in starts[2]
    assert "| – |" in starts[2]  # no run of its own
    assert "3 modes" in points[2]
    assert "**NOT MET**: curve below all" in page
    assert "Exudyn: left out" in page
    assert "mean nothing" not in page
    assert "mean nothing" in markdown(filled(), {"quick": True})


def test_units_fit_the_number() -> None:
    assert duration(Timings((2.5e-7,))) == "250 ns (250–250)"
    assert duration(Timings((0.0125,))) == "12.5 ms (12.5–12.5)"
    assert duration(Timings((90.0,))) == "90 s (90–90)"
    assert times(Timings((1.0, 2.0, 3.0))) == "2 x (1.5–2.5)"


def test_a_rival_point_is_undercut_only_by_one_better_in_both(tmp_path: Path) -> None:
    def point(engine: str, error: float, seconds: float) -> Point:
        return Point(engine, "", error * 1e-4, error * 3e-5, Timings((seconds,)), error)

    points = [point("pliant", 0.1, 1.0), point("pliant", 1.0, 0.1)]
    beaten = [point("rival", 0.2, 2.0), point("rival", 1.0, 0.2)]
    fast, exact = point("rival", 5.0, 0.05), point("rival", 0.05, 50.0)
    assert undercut([*points, *beaten], "pliant", "rival") == []
    assert undercut([*points, *beaten, fast, exact], "pliant", "rival") == [fast, exact]
    draw([*points, *beaten], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------------------------------------- peers


def test_absent_and_broken_peers_do_not_stop_the_bench() -> None:
    found, asked = Report(), []
    found.ask("rigid", "Nobody", "no_such_library", lambda: asked.append("absent"))
    found.ask("rigid", "Nobody", "no_such_library", lambda: asked.append("absent"))

    def broken() -> None:
        raise AttributeError("renamed in 2.0\nand more")

    found.ask("rigid", "NumPy", "numpy", broken)
    found.ask("rigid", "NumPy", "numpy", lambda: asked.append("there"))
    assert asked == ["there"]
    assert found.notes == [f"Nobody: left out, no_such_library not installed; {install('bench')}"]
    assert found.failures == ["rigid: NumPy FAILED, AttributeError: renamed in 2.0"]

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.ask("rigid", "NumPy", "numpy", interrupted)


def test_extended_precision_agrees_with_the_judge() -> None:
    """`lagrange` shares no recursion with `denoc`; 1e-12 is rounding of its long expressions."""
    robot = arm(3)
    state = [x[0] for x in states(3, 3)]
    exact = evaluate(robot.model(), "forward_dynamics", *state)
    assert exact.dtype == np.longdouble
    assert relative_error(robot.model("lagrange").forward_dynamics(*state), exact) < 1e-12
    assert relative_error(robot.model().forward_dynamics(*state), exact) < 1e-14
    assert relative_error(exact * (1 + 1e-10), exact) == pytest.approx(1e-10, rel=1e-3)


def test_peers_get_the_numbers_of_the_arm() -> None:
    chain = rigid_chain(arm(3))
    assert RigidChain.from_json(chain.to_json()) == chain
    first, second, _ = chain.joints
    assert first.offset == (0.0, 0.0, 0.0)
    assert second.offset == (1.0, 0.0, 0.0)
    assert np.allclose(np.reshape(second.rotation, (3, 3)) @ (0, 0, 1), (0, -1, 0))  # turned by 90 degrees about x
    assert second.mass == 5.0
    assert np.allclose(second.com, (0.5, 0, 0))
    assert np.allclose(np.reshape(second.inertia, (3, 3)), np.diag((0.01, 0.42, 0.42)))
    with pytest.raises(pliant.UnsupportedModel, match="link0"):
        rigid_chain(arm(2, modes=1))


@pytest.mark.parametrize("robot", [arm(6), pliant.load("puma")], ids=["6R", "PUMA"])
def test_twin_in_pinocchio_has_our_accelerations(robot: pliant.Robot) -> None:
    pin = pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    from pliant_bench.rigid_peers import pinocchio_arm

    state = [x[0] for x in states(6, 6)]
    exact = evaluate(robot.model(), "forward_dynamics", *state)
    assert relative_error(pin.aba(*pinocchio_arm(rigid_chain(robot)), *state), exact) < 1e-13  # rounding


def test_process_of_a_peer_never_imports_pliant(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio", reason="pinocchio (extra bench) is not installed")
    (tmp_path / "chain.json").write_text(rigid_chain(arm(6)).to_json())
    code = (
        f"import runpy, sys; sys.argv[1:] = ['pinocchio', {str(tmp_path)!r}]; "
        f"runpy.run_path({first_result.__file__!r}, run_name='__main__'); print('pliant' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    measured, imported = done.stdout.splitlines()
    assert imported == "False"
    facts = json.loads(measured)
    assert facts["run"] is None
    assert facts["build"] > 0
    assert 1e7 < facts["memory"] < 1e9  # Python with NumPy takes tens of megabytes


def test_process_that_fails_becomes_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "NAMES", {})
    monkeypatch.setattr(start, "first_result", type("script", (), {"__file__": "no_such_file.py"}))
    found = Report()
    start.measure(found, timing.QUICK)
    assert found.starts == []
    assert [line.split(" FAILED")[0] for line in found.failures] == [
        "start: NumPy", "start: pliant", "start: pliant, cold cache", "start: pliant, warm cache"
    ]  # fmt: skip
    assert "no_such_file.py" in found.failures[0]
    assert found.verdicts == []


def test_a_start_is_held_against_the_process_of_another() -> None:
    """Medians of ratios, round by round; a peer that is absent gives no verdict."""

    def made(*seconds: float) -> Start:
        one = Timings((1.0, 1.0, 1.0))
        return Start("", "", one, one, None, Timings(seconds), None)

    numpy, own = start._Case("NumPy", "", "", ""), start._Case("pliant", "", "two-link", "", (2.0, "NumPy"))
    absent = start._Case("pliant", "", "boom", "", (2.0, "Pinocchio"))
    for seconds, met in (((1.9, 3.8, 8.0), True), ((2.1, 4.2, 1.0), False)):
        found = start._verdicts({numpy: made(1.0, 2.0, 4.0), own: made(*seconds), absent: made(9.0, 9.0, 9.0)})
        assert [verdict for _, verdict in found] == [met]
        assert "at most 2 x NumPy, two-link" in found[0][0]


def test_every_part_has_a_module_and_a_name() -> None:
    for part in session.PARTS:
        assert (Path(findings.__file__).parent / f"{part}.py").exists()
    assert session.chosen(()) == list(session.PARTS)
    assert session.chosen(("start", "rigid")) == ["rigid", "start"]
