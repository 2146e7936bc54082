"""Serialized CasADi functions of a model, and a script that loads them: for optimal control codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from pliant.base.signatures import checked
from pliant.export.contents import FUNCTIONS, chosen, export_name, function, module_text, provenance
from pliant.export.placing import placed, write_texts
from pliant.export.readme import write_readme
from pliant.export.targets import Target
from pliant.model.coordinate_units import coordinate_units, speed_units
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of


@checked
def export_casadi(
    model: Model | Robot, folder: str | Path, *, functions: Sequence[str] | None = None, force: bool = False
) -> Path:
    """Write a folder with one `FUNCTION.casadi` each, `model.json`, `load_NAME.py`, `README.md` and `robot.yaml`.

    Parameters
    ----------
    model : Model or Robot
        The arm.
    folder : str or path
        Folder to write.
    functions : sequence of str, optional
        Functions of the model; all by default.
    force : bool
        Replace an earlier export.

    Returns
    -------
    path
        The folder.

    Examples
    --------
    >>> folder = pliant.export.export_casadi(pliant.load("two-link").model(), "arm", functions=["mass_matrix"])
    >>> (folder / "mass_matrix.casadi").exists()
    True
    """
    model = model_of(model)
    target, which = Path(folder), chosen(model, functions)
    with placed(target, force) as work:
        for name in which:
            function(model, name).save(str(work / f"{name}.casadi"))
        what = {name: FUNCTIONS[name].what for name in which}
        about = {**provenance(model), "units": list(coordinate_units(model)), "functions": what}
        about |= {} if model.layout.plain else {"speed_units": list(speed_units(model))}
        loader = {f"load_{export_name(model)}.py": module_text(model, "load.py.in")}
        write_texts(work, {"model.json": json.dumps(about, indent=2) + "\n", **loader})
        write_readme(model, "casadi", work, which, casadi=version("casadi"))
    return target


TARGET = Target(write=export_casadi)
