"""Functions of pliant that open files, found from the source, and what tries them with damaged ones.

Two lists: functions that open something themselves, by the calls in them, and public functions that take a path. An
entry names kinds of `readers.READERS`, or says in words why nothing is tried.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sources import nodes, short

from .calls import ROOMS

OPENING = {
    "open", "open_input", "read_input", "require_regular", "read_text", "read_bytes", "fdopen", "memmap", "fromfile",
    "loadtxt", "genfromtxt", "open_dataset", "open_dataarray", "open_mfdataset", "load_dataset", "open_zarr",
    "open_group", "open_array", "ZipFile", "GzipFile", "TarFile", "BZ2File", "LZMAFile", "fromstring", "iterparse",
    "read_array", "read_bdf", "read_op2", "read_op4", "loadmat", "read_parquet", "read_table", "read_excel",
    "deserialize", "scandir", "mmap",
}  # fmt: skip
"""Last names of calls that open a file or understand what is in one."""
QUALIFIED = {
    "np.load", "json.load", "json.loads", "pickle.load", "pickle.loads", "h5py.File", "meshio.read", "yaml.load",
    "yaml.safe_load", "yaml.compose", "yaml.parse", "yaml.scan", "yaml.load_all", "tomllib.load", "tomllib.loads",
    "ElementTree.parse", "ET.parse", "ET.XML", "csv.reader", "csv.DictReader", "zlib.decompress", "gzip.decompress",
    "pd.read_csv", "ast.parse", "configparser.ConfigParser", "sqlite3.connect", "request.urlopen", "urlopen",
}  # fmt: skip
"""Whole names, where the last one alone says too little."""

_SUSPECT = re.compile(rf"\b({'|'.join(sorted(OPENING | {name.rsplit('.', 1)[-1] for name in QUALIFIED}))})\(")
OURS = "reads only files that ship with pliant"
OWN = "reads or changes only what the same process has just written"
BENCH = "a benchmark, which reads only what it wrote for itself"
TEXT = "understands text that stands in the source, no file"
SEARCH = "a search and the process that it started for itself, over its own pipes"
NOT = "no file: a name that is called alike"
OPENED: dict[str, tuple[str, ...] | str] = {
    "base/array_files.py::_array_bytes": ("stored_run", "stored_batch"),
    "base/array_files.py::_check_chunks": ("stored_run", "stored_batch"),
    "base/array_files.py::check_hdf5": ("result", "batch", "mesh"),
    "base/array_files.py::check_zarr": ("stored_run", "stored_batch"),
    "base/reading.py::open_input": ("table", "journal", "result"),
    "base/reading.py::read_input": ("table", "trajectory", "body", "manifest"),
    "base/reading.py::require_regular": ("stored_run", "stored_batch", "nastran"),
    "robot/files/robot_files.py::read_file": ("urdf", "upload", "drawn_arm"),
    "robot/files/documents.py::read_document": ("scenario", "sweep", "identify", "side", "recording", "linked"),
    "robot/files/documents.py::read_text": ("robot", "scenario", "sweep", "identify"),
    "cli/simulate.py::_is_arm": ("robot", "scenario"),
    "robot/parts/bodies/reduced_body.py::ReducedBody.read": ("body", "bare_body", "arm_with_body"),
    "robot/parts/bodies/reduced_body.py::_array": ("bare_body", "matrices"),
    "robot/parts/bodies/reduced_body.py::unpacked": ("body", "bare_body", "matrices"),
    "robot/files/urdf_meshes.py::urdf_meshes": ("drawn_arm",),
    "robot/files/urdf_text.py::all_elements": ("drawn_arm", "urdf"),
    "mechanics/bodies/mesh_reading.py::read_solid_mesh": ("mesh", "surface"),
    "mechanics/bodies/library_tasks.py::_mesh": ("mesh", "surface"),
    "mechanics/bodies/library_tasks.py::_nastran": ("nastran",),
    "mechanics/bodies/library_tasks.py::serve": ("mesh", "nastran"),
    "mechanics/bodies/library_tasks.py::from_bytes": "arrays from the process that was started for a file",
    "mechanics/bodies/library_tasks.py::_bound": "the system's own tables",
    "mechanics/bodies/matrix_files.py::_arrays": ("matrices",),
    "mechanics/bodies/matrix_files.py::_abaqus_nodes": ("calculix",),
    "mechanics/bodies/matrix_files.py::_numbers": ("calculix",),
    "mechanics/bodies/matrix_files.py::_nastran": ("nastran",),
    "robot/files/mesh_files.py::_read": ("drawn_mesh", "drawn_arm"),
    "studio/files.py::Shelf._described": ("upload",),
    "simulation/runs/files/csv_files.py::_content": ("table", "packed_table", "run_table"),
    "simulation/runs/files/csv_files.py::_records": ("table", "packed_table", "run_table"),
    "simulation/runs/files/csv_files.py::_rows": ("table", "packed_table", "run_table"),
    "simulation/runs/files/csv_files.py::_unpacked": ("packed_table",),
    "identification/resuming.py::FitProgress._read": ("fit",),
    "control/planning/trajectory_files.py::read_trajectory": ("trajectory",),
    "simulation/runs/files/digest.py::sealed": ("result", "batch"),
    "simulation/runs/files/saved.py::open_arrays": ("result", "batch", "stored_run", "stored_batch"),
    "simulation/runs/files/saved.py::reading": ("result", "batch", "stored_run", "stored_batch"),
    "sweeps/journal.py::Journal._read": ("journal",),
    "sweeps/journal.py::is_journal": ("journal",),
    "sweeps/journal.py::Journal.__init__": ("journal",),
    "compute/llvm/cache.py::_content": ("object",),
    "compute/tape/trace_cache.py::recalled": ("object",),
    "compute/tape/plain_tape.py::PlainTape.unpacked": ("object",),
    "compute/tape/trace_cache.py::Recorded.interpreted": ("object",),
    "export/placing.py::_is_export": "looks for our mark in a file that is to be replaced, whatever else is in it",
    "export/placing.py::_listed": ("manifest",),
    "simulation/batch/store.py::Zarr.finish": OWN,
    "control/planning/search/time_limited.py::_listen": SEARCH,
    "control/planning/search/time_limited.py::serve": SEARCH,
    "export/targets/fmu.py::_zip": OWN,
    "compute/llvm/cache.py::_make": OWN,
    "compute/llvm/cache.py::write": OWN,
    "simulation/runs/files/digest.py::seal": OWN,
    "pliant_studies/report.py::_figure": OWN,
    "sweeps/outputs.py::SweepResult.to_csv": OWN,
    "sweeps/points.py::_runner": "a study that the parent of a worker hands over, as text in memory",
    "studio/saving.py::content": OWN,
    "base/writing.py::atomic_write.__enter__": OWN,
    "base/writing.py::atomic_write.__exit__": OWN,
    "cli/self_test.py::_export": OWN,
    "pliant_bench/first_result.py::_chain": BENCH,
    "pliant_bench/first_result.py::_first_run": BENCH,
    "pliant_bench/first_result.py::_most_memory": BENCH,
    "pliant_bench/rigid_peers.py::RigidChain.from_json": BENCH,
    "pliant_bench/start.py::_run": BENCH,
    "export/contents.py::template": OURS,
    "export/targets/fmu.py::_write_tree": OURS,
    "compute/tape/trace_cache.py::_files": OURS,
    "compute/tape/trace_cache.py::source_digest": OURS,
    "compute/llvm/llvm.py::emitter": OURS,
    "pliant_studies/rigs/loop.py::controllers": OURS,
    "pliant_studies/study.py::Study.load": OURS,
    "viewer/page.py::asset": OURS,
    "drawing/report_page.py::page": OURS,
    "learning/jax.py::_version": "a header of the installed JAX, which is code",
    "simulation/batch/store.py::_free_memory": "the system's own tables",
    "compute/tape/columns.py::_rebuild": "expressions that this process copies in memory",
    "compute/llvm/kernel.py::_rebuild": "expressions that this process copies in memory",
    "compute/compiled_loops/translate.py::_definitions": TEXT,
    "base/signatures.py::_held.tests": TEXT,
    "base/signatures.py::_words": TEXT,
    "cli/__init__.py::_run": "the null device, in place of a closed pipe",
    "compute/llvm/target.py::_without_warnings": "the null device",
    "cli/view.py::say_page": "a page in a browser",
    "cli/view.py::serve": "a page in a browser",
    "robot/files/file_paths.py::_title": ("drawn_arm",),
    "compute/tape/switches.py::Switches.from_record": NOT,
    "model/loops/assembly.py::closed_start": NOT,
    "model/equilibrium/closed_statics.py::settled": NOT,
}  # fmt: skip
"""By file and function: kinds of damaged files that it is tried with, or why with none."""
WRITES = "writes"
MADE = "pliant makes it; the path is where its file is"
TAKEN: dict[str, tuple[str, ...] | str] = {
    "load": ("robot", "urdf", "side", "drawn_arm", "arm_with_body"),
    "parse": ("robot",),
    "Result.load": ("result", "stored_run"),
    "BatchResult.load": ("batch", "stored_batch"),
    "Scenario.load": ("scenario", "linked"),
    "SweepStudy.load": ("sweep", "linked"),
    "sweep": ("sweep", "journal"),
    "identify": ("fit",),
    "plan": ("trajectory",),
    "read_trajectory": ("trajectory",),
    "read_csv": ("table", "packed_table", "run_table"),
    "read_model": ("matrices", "calculix", "nastran"),
    "mesh_model": ("mesh", "surface"),
    "from_mesh": ("mesh", "surface"),
    "export": ("manifest",),
    "export_c": ("manifest",),
    "export_casadi": ("manifest",),
    "export_cuda": ("manifest",),
    "export_fmu": WRITES,
    "export_latex": ("manifest",),
    "export_python": ("manifest",),
    "BatchResult": MADE,
    **dict.fromkeys(
        ["Identification.plot", "Result.save", "Result.to_csv", "Result.to_html", "Result.to_video", "Robot.save",
         "Robot.to_mjcf", "Robot.to_urdf", "Scenario.save", "Scenario.write", "simulate_batch", "Campbell.plot",
         "PoseMap.plot", "BatchResult.save", "ElementModel.save", "JointMotion.to_csv", "JointMotion.to_ros",
         "Plan.plot", "Plan.to_csv", "Plan.to_ros", "SweepResult.plot", "SweepResult.to_csv",
         "SweepResult.to_parquet", "SweepResult.write", "compare", "frequency_map", "mode_shapes", "plot",
         "to_html", "to_video"],
        WRITES,
    ),
}  # fmt: skip
"""Public functions with a path among their arguments, in the same way."""


def taking() -> Iterator[str]:
    """Names of the public functions, methods among them, that take a path."""
    for room in (*ROOMS, "pliant.robot"):
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                own = [(key, part) for key, part in inspect.getmembers(value, callable) if not key.startswith("_")]
                yield from (f"{name}.{key}" for key, part in own if _takes_path(part) and not _inherited(value, key))
            if callable(value) and _takes_path(value):
                yield name


def _inherited(kind: type, key: str) -> bool:
    """From a class that is public itself, or of another package."""
    return key not in vars(kind) and any(
        key in vars(base) and base.__module__.startswith("pliant") for base in kind.__mro__[1:]
    )


def _takes_path(function: Any) -> bool:
    if not str(getattr(function, "__module__", "")).startswith("pliant"):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any("Path" in str(parameter.annotation) for parameter in parameters)


def opening(path: Path) -> list[str]:
    """Names of the functions in a file that open something, in the order of their calls."""
    if not _SUSPECT.search(path.read_text(encoding="utf-8")):  # parsing takes its time
        return []
    calls = [node for node in nodes(path) if isinstance(node, ast.Call) and _opens(node.func)]
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    scopes = [node for node in nodes(path) if isinstance(node, kinds)] if calls else []
    found = {}
    for call in sorted(calls, key=lambda node: node.lineno):
        around = [scope for scope in scopes if scope.lineno <= call.lineno <= (scope.end_lineno or 0)]
        name = ".".join(scope.name for scope in sorted(around, key=lambda scope: scope.lineno))
        found[f"{short(path)}::{name or 'module'}"] = None
    return list(found)


def _opens(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in OPENING or function.id in QUALIFIED
    if not isinstance(function, ast.Attribute):
        return False
    before = function.value
    owner = before.id if isinstance(before, ast.Name) else before.attr if isinstance(before, ast.Attribute) else ""
    return function.attr in OPENING or f"{owner}.{function.attr}" in QUALIFIED
