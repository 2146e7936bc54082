"""The tests of this folder with JAX, PyTorch and Stable-Baselines3: `make test-learning`.

Neither is in the development environment: PyTorch, as PyPI has it for x86-64, is some 2.6 GB to download. They get an
environment of their own under `build/learning`, which is kept until `pyproject.toml` changes. With `--if-room`, as
`make test-full` calls it, too little disk or no network is a reason to skip; it is said, and nothing fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "learning"
#: Bytes that the environment may take with CUDA's libraries, which come with PyTorch on x86-64, and what pip unpacks.
NEEDED = 14e9
WHAT = ("tests/learning", "tests/docs/test_examples.py", "tests/docs/test_docs.py")
CHOSEN = "learning or neural or policy or jax or torch"


def python() -> Path:
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return PLACE / folder / name


def prepare() -> str:
    """Make the environment where it is not there or older than pyproject.toml; gives the reason why it could not."""
    stamp = PLACE / "installed"
    if stamp.exists() and stamp.stat().st_mtime > (ROOT / "pyproject.toml").stat().st_mtime:
        return ""
    PLACE.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(PLACE).free
    if not python().exists():
        if free < NEEDED:
            return f"{free / 1e9:.0f} GB are free, and an environment with PyTorch may need {NEEDED / 1e9:.0f}"
        venv.create(PLACE, with_pip=True)
    install = [python(), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    done = subprocess.run([*install, "-e", ".[jax,torch,sb3]", "pytest>=8.2", "hypothesis>=6.100"], cwd=ROOT)
    if done.returncode:
        return f"pip could not install pliant[jax,torch,sb3] (exit code {done.returncode})"
    stamp.touch()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--if-room", action="store_true", help="skip, with the reason, where it cannot be installed")
    given = parser.parse_args()
    reason = prepare()
    if reason:
        print(f"test-learning: {'skipped' if given.if_room else 'failed'}: {reason}")
        return 0 if given.if_room else 1
    command = [python(), "-m", "pytest", "-p", "no:cacheprovider", "-rs", *WHAT, "-k", CHOSEN]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "cpu"}).returncode


if __name__ == "__main__":
    sys.exit(main())
