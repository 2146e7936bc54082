"""Files that are no robot files: empty, huge, binary, exploding, or just strange YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from pliant.errors import ModelError, PliantError
from pliant.model.robot import parse
from pliant.robot import Robot, arms, load
from pliant.robot.files.yaml import MOST_BYTES, read_yaml, write_yaml

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} [{','.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(9)
)
MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} {{<<: [{','.join(['*' + chr(97 + k)] * 9)}]}}\n" for k in range(9)
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"null\n", "the file is empty"),
        (b"- a\n- b\n", "expected a mapping, got list; a robot file has at least `name` and `links`"),
        (b"just text", "got str"),
        (b"\x00\x01\x02", "a binary file"),
        (b"name: arm\nlinks: \xff\xfe\n", "line 2 is not UTF-8"),
        (b"name: \x07\n", "not a text file in YAML"),
        (b"a" * (MOST_BYTES + 1), "larger than 1 MiB"),
        (BOMB.encode(), "aliases written out"),
        (MERGE_BOMB.encode(), "aliases written out"),
        (b"name: &a [*a]\n", "contains itself"),
        (b"name: *nobody\n", "line 1, column 7: not valid YAML"),
        (b"[" * 5000, "nested deeper than 30 levels"),
        (b"a:\n" + b"".join(b" " * k + b"- \n" for k in range(1, 60)), "levels|YAML"),
        (b"name: a\nname: b\n", "line 2, column 1: key `name` stands twice"),
        (b"name: {a: 1\n", "not valid YAML"),
        (b"name: 'a\n", "not valid YAML"),
        (b"a: b: c\n", "not valid YAML"),
        (b"\tname: a\n", "not valid YAML"),
        (b"--- 1\n--- 2\n", "not valid YAML"),
        (b"!!python/object/apply:os.system ['true']\n", "is not supported"),
        (b"name: !!timestamp x\n", "is not supported"),
        (b"name: !!binary x\n", "is not supported"),
        (b"? [a]\n: 1\n", "a key must be text"),
        (b"{}", "missing key `name`"),
        (b"1: 2\nname: a\nlinks: []\n", "unknown key `1`"),
        (b"<<: 3\n", "not valid YAML"),
    ],
)
def test_no_robot_file(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        load(path)
    assert "arm.yaml: " in str(caught.value)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for source, words in [
        (tmp_path / "none.yaml", "no file and no bundled arm"),
        ("pumma", "did you mean `puma`"),
        (tmp_path, "got a folder, expected a regular file"),
        ("a\0b", "no file"),
        ("x" * 5000, "no file"),
        ("", "expected a file name"),
        (None, "expected a file name"),
        (3, "expected a file name"),
    ]:
        with pytest.raises(ModelError, match=words):
            load(source)


def test_a_file_wins_over_a_bundled_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boom").mkdir()
    assert load("boom").name == "long-reach crane boom"
    Robot(name="mine", links=[{"name": "a", "rigid": {"mass": 1}}]).save("puma")
    assert load("puma").name == "mine"


def test_save_says_where_it_failed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PliantError, match="could not be written"):
        load("two-link").save(tmp_path / "file" / "arm.yaml")


def test_flexible_and_tip_are_for_urdf() -> None:
    with pytest.raises(ModelError, match="are for URDF"):
        load("puma", tip="x")


def test_yaml_1_2_scalars() -> None:
    data, lines = read_yaml(
        "a: 1e4\nb: 1.0E-3\nc: on\nd: 010\ne: .5\nf: 1_000\ng: 12:30\nh: ~\ni: -7\nj: +.inf\nk: 0x1F\n"
    )
    assert data == {
        "a": 1e4, "b": 1e-3, "c": "on", "d": 10, "e": 0.5, "f": "1_000", "g": "12:30", "h": None, "i": -7,
        "j": float("inf"), "k": "0x1F",
    }  # fmt: skip
    assert lines["c",] == 3


def test_aliases_and_merge_keys_within_reason() -> None:
    data, _ = read_yaml("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n")
    assert data == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 1, "y": 2}}


@pytest.mark.parametrize("text", ["1e5", "on", "null", "0x1", "1:2", "a: b", "- x", "#", "'\"", "true", "", " ", "é\n"])
def test_text_stays_text(text: str) -> None:
    assert read_yaml(write_yaml({"a": text, text or "k": 1.0}))[0] == {"a": text, text or "k": 1.0}


def test_byte_order_mark_and_windows_lines() -> None:
    text = "format: 1\r\nname: a\r\nlinks: [{name: b, rigid: {mass: 1}}]\r\n"
    assert parse(text).name == "a"


def test_bundled_arms_are_listed() -> None:
    assert set(arms()) >= {
        "boom", "box-arm", "canadarm2", "crane-4dof", "five-bar", "free-flyer", "hydraulic-crane", "lab-arm",
        "parallelogram", "puma", "rrp", "slider-crank", "space-arm", "spin-up", "two-link",
    }  # fmt: skip
