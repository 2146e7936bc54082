"""`pliant doctor`: report on the installation, and a self-test."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from dataclasses import asdict
from importlib import metadata
from types import ModuleType

import typer

from pliant.cli.options import Json
from pliant.cli.output import Facts, megabytes, print_json
from pliant.cli.self_test import run_checks
from pliant.compute.llvm import cache
from pliant.errors import PliantError
from pliant.version import installed

PACKAGES = ("pliant", "numpy", "scipy", "casadi", "llvmlite", "pydantic", "xarray", "h5netcdf", "matplotlib")
COMPILERS = ("cc", "gcc", "clang", "cl")


def command(json: Json = False) -> None:
    """Report versions, processor, cache, compiler, GPU and extras, and try every kind of computation."""
    facts = examine()
    if json:
        print_json(facts)
    else:
        for title, text in _lines(facts):
            typer.echo(f"{title:<12}{text}")
    if not facts["self_test"]["passed"]:
        raise PliantError(f"the self-test failed.\n{facts['self_test']['message']}")


def examine() -> Facts:
    """Whole report as plain data."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: installed(name) for name in PACKAGES},
        "processor": _processor(),
        "cache": _cache(),
        "bytecode": _bytecode(),
        "compiler": next((path for name in COMPILERS if (path := shutil.which(name))), None),
        "gpu": _gpu(),
        "extras": _extras(),
        "self_test": _self_test(),
    }


def _processor() -> Facts:
    import llvmlite.binding as binding

    from pliant.compute.llvm.target import machine, requested
    from pliant.compute.llvm.threads import processors

    found = machine()
    return {
        "cpu": found.cpu,
        "target": found.triple,
        "features": found.features,
        "pliant_cpu": requested(),
        "doubles_per_vector": found.width,
        "fused_multiply_add": found.fma,
        "cores": processors(),
        "llvm": ".".join(str(part) for part in binding.llvm_version_info),
    }


def _cache() -> Facts:
    place = cache.location()
    nearest = next(folder for folder in (place, *place.parents) if folder.exists())
    return {
        "location": str(place),
        "kernels": cache.entries(),
        "bytes": cache.size(),
        "writable": nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK) and cache.distrust() is None,
    }


def _bytecode() -> Facts:
    """Number of modules with and without bytecode on disk, and folders of those without, which are compiled at each
    start."""
    files = [(str(m.__file__), str(m.__cached__)) for m in list(sys.modules.values()) if _is_source(m)]
    lost = [file for file, cached in files if not os.path.exists(cached)]
    return {"kept": len(files) - len(lost), "lost": len(lost), "folders": sorted({_package(file) for file in lost})}


def _is_source(module: ModuleType) -> bool:
    """Whether a module is imported from a file of Python source; a script is none, and compiled each time."""
    cached = getattr(module, "__cached__", None)
    return bool(cached) and str(getattr(module, "__file__", "")).endswith(".py")


def _package(file: str) -> str:
    """Outermost folder of the package of a file; for a module without a package, its folder."""
    folder = os.path.dirname(file)
    while os.path.exists(os.path.join(os.path.dirname(folder), "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _gpu() -> Facts:
    """NVIDIA's driver, and the devices that CuPy finds."""
    driver = shutil.which("nvidia-smi") is not None or os.path.exists("/proc/driver/nvidia/version")
    cupy = next((v for name in ("cupy", "cupy-cuda12x", "cupy-cuda13x") if (v := installed(name))), None)
    names: list[str] = []
    if cupy is not None:
        try:
            import cupy as cp

            count = cp.cuda.runtime.getDeviceCount()
            names = [cp.cuda.runtime.getDeviceProperties(k)["name"].decode() for k in range(count)]
        except Exception as error:  # a broken driver raises almost anything, and this command has to report it
            return {"driver": driver, "cupy": cupy, "devices": [], "problem": str(error).splitlines()[0]}
    return {"driver": driver, "cupy": cupy, "devices": names, "problem": None}


def _extras() -> dict[str, bool]:
    """Extras of the package by name, and whether all their packages are installed."""
    found: dict[str, bool] = {}
    for text in metadata.requires("pliant") or []:
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", text)
        name = re.match(r"[A-Za-z0-9._-]+", text)
        if extra and name:
            found[extra[1]] = found.get(extra[1], True) and installed(name[0]) is not None
    return dict(sorted(found.items()))


def _self_test() -> Facts:
    """Results of the self-test, with a message on what failed."""
    checks = run_checks()
    return {
        "passed": not any(check.passed is False for check in checks),
        "message": "\n".join(f"{check.name}: {check.message}" for check in checks if check.passed is False),
        "checks": [asdict(check) for check in checks],
    }


def _verdict(test: Facts) -> str:
    """Result of the self-test in words."""
    checks = test["checks"]
    bad = [check["name"] for check in checks if check["passed"] is False]
    left = [f"; not tried: {check['name']} ({check['message']})" for check in checks if check["passed"] is None]
    tried = f"{len(checks) - len(left)} parts in {sum(check['seconds'] for check in checks):.1f} s"
    return (f"FAILED, {len(bad)} of {tried}: {', '.join(bad)}" if bad else f"passed, {tried}") + "".join(left)


def _start(found: Facts) -> str:
    """Remark on the time of a start, from the facts about bytecode."""
    if not found["lost"]:
        return f"quick: bytecode of all {found['kept']} modules is kept"
    why = " (PYTHONDONTWRITEBYTECODE is set)" if os.environ.get("PYTHONDONTWRITEBYTECODE") else ""
    remedy = " ".join(["python -m compileall -q", *found["folders"]])
    return f"SLOW: {found['lost']} modules are compiled anew at every start{why}; `{remedy}` mends it"


def _lines(facts: Facts) -> list[tuple[str, str]]:
    """Titles and texts of the report."""
    versions, cpu, store, gpu = facts["versions"], facts["processor"], facts["cache"], facts["gpu"]
    asked = cpu["pliant_cpu"]
    found = gpu["problem"] or (", ".join(gpu["devices"]) if gpu["devices"] else "none")
    vectors = f"{cpu['doubles_per_vector']} doubles per vector" + (
        ", fused multiply-add" if cpu["fused_multiply_add"] else ""
    )
    return [
        ("pliant", f"{versions['pliant']}, Python {facts['python']} ({sys.executable})"),
        ("packages", ", ".join(f"{k} {v or 'MISSING'}" for k, v in versions.items() if k != "pliant")),
        ("platform", facts["platform"]),
        ("processor", f"{cpu['cpu']}, {cpu['cores']} cores, {vectors}"),
        ("LLVM", f"{cpu['llvm']}, target {cpu['target']}" + (f", PLIANT_CPU={asked}" if asked else "")),
        ("cache", f"{store['location']}: {store['kernels']} kernels and records, {megabytes(store['bytes'])}, "
                  f"{'writable' if store['writable'] else 'NOT writable: kernels are compiled anew each time'}"),
        ("start", _start(facts["bytecode"])),
        ("compiler", f"{facts['compiler'] or 'none found'} (not needed)"),
        ("GPU", f"{found}; CuPy {gpu['cupy'] or 'not installed'}"),
        ("extras", ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in facts["extras"].items())),
        ("self-test", _verdict(facts["self_test"])),
    ]  # fmt: skip
