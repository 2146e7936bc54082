"""Links from finite elements: meshes and matrices of other programs, reduced to what an arm takes.

`from_mesh` makes a `ReducedBody` out of a mesh and a material; `read_model` reads stiffness, mass and nodes that another
program wrote, and `reduce_model` reduces them. `body: {file: forearm.npz}` of a link takes what `save` wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.later import later

if TYPE_CHECKING:
    from pliant.bodies.craig_bampton import reduce_model
    from pliant.bodies.element_model import ElementModel
    from pliant.bodies.interfaces import Interface
    from pliant.bodies.matrix_files import read_model
    from pliant.bodies.meshed import from_mesh, mesh_model
    from pliant.robot.reduced_body import ReducedBody

__all__ = ["ElementModel", "Interface", "ReducedBody", "from_mesh", "mesh_model", "read_model", "reduce_model"]

_find = later(
    "pliant.bodies",
    {
        "ElementModel": "element_model",
        "Interface": "interfaces",
        "from_mesh": "meshed",
        "mesh_model": "meshed",
        "read_model": "matrix_files",
        "reduce_model": "craig_bampton",
    },
)


def __getattr__(name: str) -> object:
    """Imports on first use."""
    if name == "ReducedBody":
        from pliant.robot.reduced_body import ReducedBody

        return ReducedBody
    return _find(name)
