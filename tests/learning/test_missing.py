"""Without JAX or PyTorch: the message names the extra."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_the_extra_is_named(library: str) -> None:
    code = f"""
import sys
sys.modules[{library!r}] = None
import pliant
try:
    import pliant.{library}
except pliant.UnsupportedModel as error:
    print(error)
try:
    pliant.{library}
except pliant.UnsupportedModel as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    imported, named = found.splitlines()
    for said in (imported, named):
        assert said.startswith(f"pliant.{library} needs {library}")
        assert said.endswith(f"run: pip install '.[{library}]'")


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_it_is_imported_on_use_only(library: str) -> None:
    """Where it is installed as well."""
    code = (
        f"import sys, pliant; pliant.simulate(pliant.load('two-link').model(), 0.01); print({library!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
