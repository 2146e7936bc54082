"""What takes long is told while it lasts."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

import pliant
from pliant import stages
from pliant.kernels import records


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 0.03)
    monkeypatch.setattr(stages, "EVERY", 0.01)


def until(heard: list[str], words: str) -> None:
    """Wait for a word; a stage that says nothing fails by the clock of the test."""
    end = time.monotonic() + 10.0
    while not any(words in text for text in heard):
        assert time.monotonic() < end, heard
        time.sleep(0.005)


def test_the_innermost_stage_is_told_and_the_end() -> None:
    heard: list[str] = []
    with stages.listening(heard.append), stages.stage("outside"):
        until(heard, "outside (0 s)")
        with stages.stage("inside"):
            until(heard, "inside (0 s)")
    assert heard[0] == "outside (0 s)"
    assert heard[-1] == ""


def test_what_is_quick_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE", 60.0)
    heard: list[str] = []
    with stages.listening(heard.append), stages.stage("quick"):
        pass
    assert heard == []


def test_a_failure_ends_a_stage() -> None:
    heard: list[str] = []

    def failing() -> None:
        with stages.stage("failing"):
            until(heard, "failing")
            raise ZeroDivisionError

    with stages.listening(heard.append):
        with pytest.raises(ZeroDivisionError):
            failing()
        assert heard[-1] == ""
        heard.clear()
        with stages.stage("next"):
            until(heard, "next (0 s)")


def test_each_thread_has_listeners_of_its_own() -> None:
    """Two visitors of a page hear of their own runs alone, and a thread without one of none."""
    heard: dict[str, list[str]] = {"one": [], "two": []}

    def visit(name: str) -> None:
        with stages.listening(heard[name].append), stages.stage(name):
            until(heard[name], name)

    threads = [threading.Thread(target=visit, args=(name,)) for name in heard]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, texts in heard.items():
        assert {text.partition(" (")[0] for text in texts} == {name, ""}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_in_a_terminal_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with stages.stage("compiling"):
        end = time.monotonic() + 10.0
        while "compiling" not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    lines = screen.getvalue().split("\r")
    assert lines[1].rstrip() == "pliant: compiling (0 s)"
    assert lines[-2] == " " * stages.WIDTH  # nothing stays
    assert lines[-1] == ""


def test_nothing_is_written_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with stages.stage("compiling"):
        time.sleep(0.06)
    assert file.getvalue() == ""


def test_a_first_run_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building, tracing and compiling, with the arm's name; with progress=False nothing."""
    monkeypatch.setattr(records, "code_stamp", lambda: None)  # nothing is known
    monkeypatch.setattr(stages, "PATIENCE", 0.0)
    monkeypatch.setattr(stages, "EVERY", 0.001)
    robot = pliant.load("crane-4dof").replace({"name": "a crane"})
    heard: list[str] = []
    with stages.listening(heard.append):
        model = robot.model()
        assert any(text.startswith("building a crane") for text in heard)
        pliant.simulate(model, 0.01)
    assert any(text.startswith("tracing a run of a crane") for text in heard)
    heard.clear()
    with stages.listening(heard.append):
        pliant.simulate(robot.model("lagrange", stiffening=False), 0.01, limits=False, progress=False)
    assert not any("run of" in text for text in heard)
