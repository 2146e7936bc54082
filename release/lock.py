"""Locks of the development environment, one per Python: every version, with the hashes of its files.

`make lock` renews those of all Pythons on PATH; `make locked` installs one. Made on Linux: other systems may need
packages that are not in them, and pip then says so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "release" / "locks"
OPTIONS = (
    *("--extra", "dev", "--all-build-deps", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--upgrade"),
    *("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--quiet"),
)


COMPILE = """
from piptools.__main__ import cli
from piptools.repositories.pypi import PyPIRepository
download = PyPIRepository._get_file_hash
def listed(self, link):
    return f"sha256:{link.hash}" if link.hash_name == "sha256" else download(self, link)
PyPIRepository._get_file_hash = listed
cli()
"""
"""pip-compile, which takes the hashes that an index lists; left alone, it downloads every file of every platform to
hash it, unless the index answers in the JSON of one particular registry."""


def versions() -> list[str]:
    """Pythons that the project says it runs on."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r"Python :: (3\.\d+)", " ".join(tomllib.loads(text)["project"]["classifiers"]))


def interpreter(version: str) -> str | None:
    """The first on PATH that answers and is the one asked for."""
    for folder in os.get_exec_path():
        path = Path(folder) / f"python{version}"
        if path.is_file():
            found = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
                                   capture_output=True, text=True)  # fmt: skip
            if found.stdout.strip() == version:
                return str(path)
    return None


def lock(version: str, python: str) -> Path:
    """Write the lock of one Python, by pip-tools in an environment of that Python."""
    folder = ROOT / "build" / "lock" / version
    tool = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    subprocess.run(
        [tool, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-tools>=7.5"], check=True
    )
    target = LOCKS / f"py{version}.txt"
    subprocess.run(
        [tool, "-c", COMPILE, "compile", *OPTIONS, "--output-file", target.relative_to(ROOT), "pyproject.toml"],
        check=True, cwd=ROOT, env={**os.environ, "CUSTOM_COMPILE_COMMAND": "make lock"},
    )  # fmt: skip
    return target


def main() -> None:
    for version in versions():
        python = interpreter(version)
        if python is None:
            print(f"Python {version}: not found on PATH; its lock stays as it is")
        else:
            print(f"Python {version}: {lock(version, python).relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
