"""Bodies from meshes: read, assembled, reduced."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.errors import ModelError, warn_user
from pliant.mechanics.bodies.craig_bampton import UNITS, reduce_model
from pliant.mechanics.bodies.element_model import ElementModel
from pliant.mechanics.bodies.interfaces import Interface
from pliant.mechanics.bodies.mesh_reading import SolidMesh, read_solid_mesh
from pliant.mechanics.bodies.repeated_elements import without_repeats
from pliant.mechanics.bodies.solid_elements import solid_model
from pliant.options import BodyStiffeningName, LengthUnit
from pliant.robot.files.error_messages import suggestion
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.materials import MATERIALS, Material

LONGEST, SHORTEST = 50.0, 0.002
"""Meters between which links are; others look like a wrong unit."""


@work("mesh_model", "assembling a mesh")
@checked
def mesh_model(
    mesh: str | os.PathLike[str] | SolidMesh, material: str | Material, *, unit: LengthUnit, size: float | None = None
) -> ElementModel:
    """Stiffness and mass of a solid by quadratic elements.

    Parameters
    ----------
    mesh : str, path or SolidMesh
        File that meshio reads by itself (Gmsh `.msh`, VTK, Abaqus and CalculiX `.inp`, Nastran `.bdf`, ...), of
        tetrahedra or hexahedra; linear ones are raised to quadratic ones, and those that stand twice count once, with
        a warning. A closed surface (STL) is filled by TetGen.
    material : str or Material
        Name of a known material, or a `Material`; it must be isotropic.
    unit : 'm', 'cm', 'mm' or 'in'
        Of lengths in the file.
    size : float, optional
        Edge length of tetrahedra that fill a surface, in the unit of the file.

    Returns
    -------
    ElementModel

    Examples
    --------
    >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
    >>> pliant.bodies.mesh_model(bar, "steel", unit="m").freedoms
    3
    """
    if size is not None and not 0 < size < np.inf:
        raise ModelError(f"size: got {size:g}, expected a length above 0")
    chosen = _material(material)
    found = mesh if isinstance(mesh, SolidMesh) else read_solid_mesh(mesh, size)
    _suspect(found, unit)
    found = without_repeats(found)
    return solid_model(found, chosen, UNITS[unit])


@checked
def from_mesh(
    mesh: str | os.PathLike[str] | SolidMesh,
    material: str | Material,
    root: str | Interface,
    tip: str | Interface,
    frames: Mapping[str, str | Interface] | None = None,
    *,
    unit: LengthUnit,
    modes: int | None = None,
    frequency: float | None = None,
    damping: float = 0.0,
    stiffening: BodyStiffeningName = "off",
    size: float | None = None,
) -> ReducedBody:
    """Reduce a meshed solid to a body of few coordinates.

    Parameters
    ----------
    mesh : str, path or SolidMesh
        File that meshio reads, of tetrahedra or hexahedra, or a closed surface (STL), which TetGen fills.
    material : str or Material
        Name of a known material, or a `Material`; it must be isotropic.
    root, tip : str or Interface
        Where it is held and where the next link hangs: a group of the file, or an expression such as `z < 0.001`.
    frames : mapping of str to str or Interface, optional
        Further interfaces by name.
    unit : 'm', 'cm', 'mm' or 'in'
        Of lengths in the file and in expressions.
    modes : int, optional
        Number of modes with all interfaces held; 6 where neither this nor `frequency` is given.
    frequency : float, optional
        Hz: all modes with the interfaces held up to it, and shapes for the inertia of those beyond (12 for two
        interfaces): frequencies up to half of it are right to 0.1 %, however the body is held.
    damping : float
        Ratio to critical damping of every coordinate.
    stiffening : "off" or "second-order"
        Whether the body knows where it is to second order, so that loads stiffen and soften it.
    size : float, optional
        Edge length of tetrahedra that fill a surface, in the unit of the file.

    Returns
    -------
    ReducedBody
        Its method `save` writes the file that a link takes as `body: {file: forearm.npz}`.

    Examples
    --------
    >>> bar = pliant.bodies.brick_mesh(np.linspace(0, 0.4, 5), [-0.01, 0.01], [-0.005, 0.005])
    >>> body = pliant.bodies.from_mesh(bar, "aluminium", "x = 0", "x = 0.4", unit="m", modes=2)
    >>> body.frames
    ('root', 'tip')
    """
    model = mesh_model(mesh, material, unit=unit, size=size)
    return reduce_model(
        model, root, tip, frames, modes=modes, frequency=frequency, damping=damping, stiffening=stiffening, unit=unit
    )


def _material(given: str | Material) -> Material:
    if isinstance(given, Material):
        return given
    if given not in MATERIALS:
        raise ModelError(f"material: got {given!r}, expected a known one{suggestion(given, MATERIALS)}")
    return MATERIALS[given]


def _suspect(mesh: SolidMesh, unit: str) -> None:
    length = UNITS[unit] * float(np.ptp(mesh.points[np.unique(mesh.cells)], axis=0).max())
    if not SHORTEST <= length <= LONGEST:
        name = mesh.about.partition(":")[0]
        other = "mm" if length > LONGEST else "m"
        warn_user(f"{name}: {length:.3g} m long in all with the unit {unit!r}; is it in {other!r}?")
