"""Exports of a model: C, CUDA, NumPy, LaTeX, CasADi files, functional mock-up units, URDF and MuJoCo models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pliant.base.later import later
from pliant.base.signatures import checked
from pliant.export.targets import export_target
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import ExportName

if TYPE_CHECKING:
    from pliant.export.targets.c import export_c
    from pliant.export.targets.casadi import export_casadi
    from pliant.export.targets.cuda import export_cuda
    from pliant.export.targets.fmu import export_fmu
    from pliant.export.targets.latex import export_latex
    from pliant.export.targets.python import export_python

    EXPORTS: dict[str, Callable[..., Path]]

_functions = later(
    __name__, {f"export_{name}": f"targets.{name}" for name in ("c", "casadi", "cuda", "fmu", "latex", "python")}
)


def __getattr__(name: str) -> Any:
    """Return `EXPORTS`, the functions of all targets by their names, or one of these functions by its own name."""
    if name == "EXPORTS":
        return {each: export_target(each).write for each in get_args(ExportName)}
    return _functions(name)


@checked
def export(model: Model | Robot, to: ExportName, path: str | Path, *, force: bool = False, **options: Any) -> Path:
    """Write `model` as `to` (a key of `EXPORTS`): a folder, or for "fmu", "urdf" and "mjcf" a file.

    What exists at `path` stays unless `force`, which replaces a file, or the files that an earlier export wrote to a
    folder, and nothing else there. An export that fails leaves nothing behind. `options` are those of the function
    behind the name: `functions=` (C, Python, CasADi, CUDA), `precision=`, `step=` and the parts of a plant, or an `MPC`
    as `controller=` (C), `shared_memory=` (CUDA), `digits=`, `limit=` (LaTeX), `fmi=`, `q0=`, `qd0=`, `limits=` and
    `compilers=` (units), `bodies=` and `error=` (MJCF).

    Parameters
    ----------
    model : Model or Robot
        Of a robot, the default model of the target.
        The arm.
    to : str
        A key of `EXPORTS`: "c", "python", "latex", "casadi", "cuda", "fmu", "urdf" or "mjcf".
    path : str or path
        Folder to write, or the file of a unit.
    force : bool
        Replace an earlier export.
    **options : object
        Options of the function behind the name.

    Returns
    -------
    path
        The folder or file that was written.

    Examples
    --------
    >>> from pliant.export import export
    >>> folder = export(pliant.load("two-link").model(), "python", "arm", functions=["mass_matrix"])
    >>> sorted(path.name for path in folder.iterdir())
    ['README.md', 'pliant-export.json', 'robot.yaml', 'two_link_elastic_arm.py']
    """
    target = export_target(to)
    return target.write(target.model_of(model), path, force=force, **options)


__all__ = [
    "EXPORTS",
    "export",
    "export_c",
    "export_casadi",
    "export_cuda",
    "export_fmu",
    "export_latex",
    "export_python",
]
