"""Every function that opens a file is tried with damaged ones; a new one fails here until a list names it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sources import SOURCE, functions, python_files

from .file_kinds import FILE_KINDS
from .opened_files import OPENED, TAKEN, opening, taking
from .readers import READERS

REMEDY = (
    "with the kinds of readers.READERS that damage such files, or with the reason why none does; a new kind goes into "
    "FILE_KINDS of file_kinds.py"
)


def test_every_function_that_opens_a_file_is_in_the_list() -> None:
    found = {name for path in python_files() for name in opening(path)}
    assert found - OPENED.keys() == set(), f"they open files: add them to OPENED of opened_files.py {REMEDY}"
    assert OPENED.keys() - found == set(), "they open nothing any more: take them out of OPENED"


def test_every_public_function_that_takes_a_path_is_in_the_list() -> None:
    found = set(taking())
    assert found - TAKEN.keys() == set(), f"they take paths: add them to TAKEN of opened_files.py {REMEDY}"
    assert TAKEN.keys() - found == set(), "they take no path any more: take them out of TAKEN"


def test_the_lists_name_kinds_and_reasons() -> None:
    for name, entry in (OPENED | TAKEN).items():
        assert entry, name
        assert isinstance(entry, str) or set(entry) <= READERS.keys(), f"{name}: no such kind among {entry}"
    named = {kind for entry in (OPENED | TAKEN).values() if not isinstance(entry, str) for kind in entry}
    assert READERS.keys() - named == {"equations"}, "kinds that reach no reader of the lists"


def test_a_new_reader_is_found(tmp_path: Path) -> None:
    """By each way in which a file may be opened; strings and comments are none."""
    assert "read_csv" in functions(SOURCE / "pliant" / "simulation" / "runs" / "files" / "csv_files.py")
    ways = ["open(p)", "p.read_text()", "np.load(p)", "h5py.File(p)", "meshio.read(p)", "yaml.safe_load(p)",
            "json.load(p)", "zipfile.ZipFile(p)", "gzip.open(p)", "ET.parse(p)", "xr.open_dataset(p)",
            "read_input(p, 3)", "xml.etree.ElementTree.fromstring(p)", "io.open(p)", "p.open()"]  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".py", dir=SOURCE) as file:  # below the source, as the names are
        path = Path(file.name)
        lines = [f"class C:\n    def f{k}(self, p):\n        return [{way}]\n" for k, way in enumerate(ways)]
        path.write_text("".join(lines) + "def g(p):\n    return 'open(p)'  # open(p)\n", encoding="utf-8")
        assert list(opening(path)) == [f"{path.name}::C.f{k}" for k in range(len(ways))]


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_sound_files_are_read(kind: str, tmp_path: Path) -> None:
    """Otherwise a refusal of damaged ones would say nothing."""
    one = FILE_KINDS[kind]
    if not one.installed:
        pytest.skip(f"needs {' and '.join(one.needs)}")
    one.read_sound(tmp_path)
