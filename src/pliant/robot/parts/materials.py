"""Materials of beams, and a few by name."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from pliant.robot.files.error_messages import fault, suggestion
from pliant.robot.parts.fields import Description, Positive


class Material(Description):
    """Young's modulus, shear modulus and density.

    Examples
    --------
    >>> pliant.Beam(length=1.0, material="steel", section=pliant.Section(shape="rod", diameter=0.01)).material.density
    7850.0
    >>> pliant.Material(E=3.5e9, G=1.3e9, density=1240.0).short_form() is None
    True
    """

    name: str = Field("", description="for tables and files", examples=["PLA"], max_length=100)
    E: Positive = Field(description="Pa, Young's modulus along the beam", examples=[3500000000.0])
    G: Positive = Field(description="Pa, shear modulus", examples=[1300000000.0])
    density: Positive = Field(description="kg/m^3, mass per volume", examples=[1240.0])

    def short_form(self) -> str | None:
        """Short form for files: the name of a known material.

        Returns
        -------
        str or None
            Name of a known material, or None where the numbers have to be written.
        """
        return self.name if MATERIALS.get(self.name) == self else None


#: Usual engineering values at room temperature; `cfrp` is a wound tube with most fibers along the beam.
MATERIALS = {
    material.name: material
    for material in (
        Material(name="steel", E=210e9, G=80.8e9, density=7850.0),
        Material(name="stainless", E=193e9, G=75e9, density=8000.0),
        Material(name="aluminium", E=70e9, G=26.3e9, density=2700.0),
        Material(name="titanium", E=114e9, G=42.4e9, density=4430.0),
        Material(name="magnesium", E=45e9, G=17e9, density=1780.0),
        Material(name="cfrp", E=120e9, G=5e9, density=1600.0),
        Material(name="gfrp", E=40e9, G=4e9, density=2000.0),
    )
}


def _named(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in MATERIALS:
        raise fault(f"a known material{suggestion(value, MATERIALS)}", "or a mapping with E, G and density")
    return MATERIALS[value]


_SCHEMA = {"anyOf": [{"enum": list(MATERIALS)}, Material.model_json_schema()]}
MaterialOrName = Annotated[Material, BeforeValidator(_named), WithJsonSchema(_SCHEMA)]
