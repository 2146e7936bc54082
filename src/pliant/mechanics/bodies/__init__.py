"""Links from finite elements: meshes and matrices of other programs, reduced to what an arm takes.

`from_mesh` makes a `ReducedBody` out of a mesh and a material; `read_model` reads stiffness, mass and nodes that
another program wrote, and `reduce_model` reduces them. `body: {file: forearm.npz}` of a link takes what `save` wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.base.later import later

if TYPE_CHECKING:
    from pliant.mechanics.bodies.brick_meshes import brick_mesh
    from pliant.mechanics.bodies.craig_bampton import reduce_model
    from pliant.mechanics.bodies.element_model import ElementModel
    from pliant.mechanics.bodies.interfaces import Interface
    from pliant.mechanics.bodies.matrix_files import read_model
    from pliant.mechanics.bodies.mesh_reading import SolidMesh
    from pliant.mechanics.bodies.meshed_bodies import from_mesh, mesh_model

__all__ = [
    "ElementModel",
    "Interface",
    "SolidMesh",
    "brick_mesh",
    "from_mesh",
    "mesh_model",
    "read_model",
    "reduce_model",
]

__getattr__ = later(
    "pliant.bodies",
    {
        "ElementModel": "element_model",
        "Interface": "interfaces",
        "SolidMesh": "mesh_reading",
        "brick_mesh": "brick_meshes",
        "from_mesh": "meshed_bodies",
        "mesh_model": "meshed_bodies",
        "read_model": "matrix_files",
        "reduce_model": "craig_bampton",
    },
)
