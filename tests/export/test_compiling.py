"""Binaries of units: for the platform that the compiler says, for several in one file, or none at all."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pliant
from exported import model, needs_compiler, single_link
from pliant.cli import app
from pliant.errors import PliantError
from pliant.export import export
from pliant.export.compiling import Platform, compiler_of, target_platform
from pliant.export.contents import export_name
from pliant.model import Model

posix = pytest.mark.skipif(os.name != "posix", reason="shell scripts")


def arm() -> Model:
    """A single link, which compiles at once."""
    return model("lagrange")


@pytest.mark.parametrize(
    ("triple", "three", "two", "extension"),
    [
        ("x86_64-linux-gnu", "x86_64-linux", "linux64", ".so"),
        ("x86_64-pc-linux-musl", "x86_64-linux", "linux64", ".so"),
        ("aarch64-unknown-linux-gnu", "aarch64-linux", "aarch64-linux", ".so"),
        ("arm-linux-gnueabihf", "aarch32-linux", "aarch32-linux", ".so"),
        ("x86_64-w64-mingw32", "x86_64-windows", "win64", ".dll"),
        ("i686-w64-mingw32", "x86-windows", "win32", ".dll"),
        ("x86_64-pc-windows-msvc", "x86_64-windows", "win64", ".dll"),
        ("x86_64-apple-darwin23.1.0", "x86_64-darwin", "darwin64", ".dylib"),
        ("arm64-apple-darwin23.1.0", "aarch64-darwin", "aarch64-darwin", ".dylib"),
        ("riscv64-linux-gnu", "riscv64-linux", "riscv64-linux", ".so"),
    ],
)
def test_folder_and_extension_of_a_platform(triple: str, three: str, two: str, extension: str) -> None:
    platform = Platform.of(triple)
    assert (platform.folder("3.0"), platform.folder("2.0"), platform.extension) == (three, two, extension)


def test_flags_change_the_platform() -> None:
    assert Platform.of("x86_64-linux-gnu", ["-O2", "-m32"]).folder("2.0") == "linux32"


@needs_compiler
def test_the_compiler_of_this_machine_is_for_this_machine() -> None:
    assert target_platform(compiler_of("cc")) == Platform.here()


def says(folder: Path, name: str, triple: str) -> str:
    """A compiler that calls its target so, and whose output, named last, is empty."""
    path = folder / name
    text = f'#!/bin/sh\n[ "$*" = -dumpmachine ] && echo {triple} && exit\nfor last; do :; done\n: > "$last"\n'
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def binaries(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if name.startswith("binaries/")}


@pytest.mark.slow
@posix
@needs_compiler
def test_several_platforms_in_one_file(tmp_path: Path) -> None:
    """Each where its compiler says; a library for Windows was one of this machine before."""
    m, one, other = arm(), says(tmp_path, "a", "x86_64-w64-mingw32 "), says(tmp_path, "b", "riscv64-linux-gnu")
    with pytest.raises(PliantError, match="does not say for which platform"):
        export(m, "fmu", tmp_path / "arm", compilers=["cc", says(tmp_path, "c", "I am a compiler")])
    name = export_name(m)
    path = export(m, "fmu", tmp_path / "arm", compilers=["cc -O0", one, other])
    own = f"binaries/{Platform.here().folder('3.0')}/{name}{Platform.here().extension}"
    assert binaries(path) == {own, f"binaries/x86_64-windows/{name}.dll", f"binaries/riscv64-linux/{name}.so"}
    with zipfile.ZipFile(path) as archive:
        assert "x86_64-windows, riscv64-linux" in archive.read("documentation/index.html").decode()
    with pytest.raises(PliantError, match="both compile for riscv64-linux"):
        export(m, "fmu", tmp_path / "two", compilers=[other, other])
    assert not (tmp_path / "two.fmu").exists()


@posix
def test_cc_may_be_a_cross_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", says(tmp_path, "cross", "x86_64-w64-mingw32"))
    path = export(arm(), "fmu", tmp_path / "arm", fmi="2.0")
    assert binaries(path) == {f"binaries/win64/{export_name(arm())}.dll"}


MAGIC = {"x86_64-linux-gnu-gcc": (b"\x7fELF", "linux64"), "x86_64-w64-mingw32-gcc": (b"MZ", "win64")}


@pytest.mark.full
@pytest.mark.parametrize("compiler", MAGIC)
def test_cross_compilers(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    path = export(arm(), "fmu", tmp_path / "arm", fmi="2.0", compilers=[f"{compiler} -O0 -Wall -Wextra -Werror"])
    (name,) = binaries(path)
    magic, folder = MAGIC[compiler]
    assert name.split("/")[1] == folder
    with zipfile.ZipFile(path) as archive:
        assert archive.read(name).startswith(magic)


def test_sources_alone_need_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    single_link().save(tmp_path / "arm.yaml")
    given = ["export", str(tmp_path / "arm.yaml"), "--to", "fmu", "--out", str(tmp_path / "a"), "--sources-only"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        names = set(archive.namelist())
    assert {f"sources/{file}" for file in ("model.c", "derivatives.c", "fmi3.c", "fmu_instance.h")} <= names
    assert not any(name.startswith("binaries/") for name in names)


@posix
def test_compilers_on_the_command_line(tmp_path: Path) -> None:
    compiler = says(tmp_path, "cross", "x86_64-w64-mingw32")
    file = tmp_path / "arm.yaml"
    single_link().save(file)
    given = ["export", str(file), "--to", "fmu", "--out", str(tmp_path / "a"), "--compiler", compiler, "--no-limits"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert len(binaries(tmp_path / "a.fmu")) == 1
    assert CliRunner().invoke(app, [*given, "--sources-only", "--force"]).exit_code != 0


@pytest.mark.full
@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake on this machine")
@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_fmpy_compiles_the_sources(fmi: str, tmp_path: Path) -> None:
    pytest.importorskip("fmpy", reason="fmpy is not installed (extra: fmu)")
    from fmpy.build import build_platform_binary
    from fmpy.validation import validate_fmu

    path, folder = export(arm(), "fmu", tmp_path / "arm", fmi=fmi, compilers=[]), tmp_path / "unpacked"
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    build_platform_binary(folder, configuration="Debug")
    assert [file.stem for file in (folder / "binaries").rglob("*") if file.is_file()] == [export_name(arm())]


DRIVER = r"""
#include "fmi3.c"
#include <assert.h>
static void heard(void *e, fmi3Status status, const char *category, const char *text)
{ (void)e, (void)status, (void)category; printf("%s\n", text); }
int main(void)
{
    bool event, terminate = false, early;
    double reached, time = 0.0, seed = 1.0, change[3], back[3], before, after;
    const uint32_t upper = Q, tip[3] = {OUTPUTS, OUTPUTS + 1, OUTPUTS + 2};
    void *s = fmi3InstantiateCoSimulation("a", MODEL_TOKEN, "", false, false, false, true, NULL, 0, NULL, heard, NULL);
    void *saved = NULL, *other = NULL;
    size_t size;
    uint8_t *bytes;
    assert(s && !fmi3InstantiateCoSimulation("a", "{}", "", false, false, false, true, NULL, 0, NULL, heard, NULL));
    fmi3EnterInitializationMode(s, true, 1e-9, 0.0, false, 0.0);
    fmi3ExitInitializationMode(s);
    fmi3DoStep(s, 0.0, 0.01, true, &event, &terminate, &early, &reached);
    assert(fmi3GetDirectionalDerivative(s, tip, 3, &upper, 1, &seed, 1, change, 3) == fmi3OK);
    assert(fmi3GetAdjointDerivative(s, tip, 1, &upper, 1, &seed, 1, back, 1) == fmi3OK);
    assert(fabs(back[0] - change[0]) < 1e-9);
    assert(fmi3GetFMUState(s, &saved) == fmi3OK && fmi3GetFMUState(s, &saved) == fmi3OK);
    assert(fmi3SerializedFMUStateSize(s, saved, &size) == fmi3OK && (bytes = malloc(size)) != NULL);
    assert(fmi3SerializeFMUState(s, saved, bytes, size) == fmi3OK);
    fmi3DoStep(s, 0.01, 0.01, true, &event, &terminate, &early, &reached);
    fmi3GetFloat64(s, &upper, 1, &before, 1);
    assert(fmi3DeserializeFMUState(s, bytes, size, &other) == fmi3OK && fmi3SetFMUState(s, other) == fmi3OK);
    fmi3DoStep(s, 0.01, 0.01, true, &event, &terminate, &early, &reached);
    fmi3GetFloat64(s, &upper, 1, &after, 1);
    assert(memcmp(&before, &after, sizeof before) == 0);
    for (time = 0.02; !terminate && time < 3.0; time += 0.01) {
        assert(fmi3DoStep(s, time, 0.01, true, &event, &terminate, &early, &reached) == fmi3OK);
    }
    assert(terminate && early);
    fmi3FreeFMUState(s, &saved);
    fmi3FreeFMUState(s, &other);
    free(bytes);
    fmi3FreeInstance(s);
    return saved || other;
}
"""


@pytest.mark.full
@needs_compiler
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers_and_warnings(compiler: str, tmp_path: Path) -> None:
    """An arm with limits is saved, restored, differentiated and swung to its limit: no fault, and nothing leaks."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    robot = pliant.load("two-link").replace({"links.upper.joint.limits": pliant.robot.Limits(lower=-1.0, upper=1.0)})
    for fmi in ("2.0", "3.0"):
        folder = tmp_path / fmi
        path = export(robot.model(), "fmu", tmp_path / f"arm{fmi[0]}", fmi=fmi, q0=[0.5, 0.3, 0.0, 0.0], compilers=[])
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        sources = ["model.c", "derivatives.c", f"fmi{fmi[0]}.c"]
        strict = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-c"]
        done = subprocess.run([compiler, *strict, *sources], cwd=folder / "sources", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    (folder / "sources" / "main.c").write_text(DRIVER, encoding="utf-8")
    checked = ["-std=c99", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [compiler, *checked, "main.c", "model.c", "derivatives.c", "-lm", "-o", "run"]
    done = subprocess.run(command, cwd=folder / "sources", capture_output=True, text=True)
    if "sanitizer" in done.stderr or "asan" in done.stderr:
        pytest.skip("no sanitizers on this machine")
    assert done.returncode == 0, done.stderr
    done = subprocess.run([str(folder / "sources" / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "upper at its " in done.stdout
