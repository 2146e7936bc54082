"""Friction of a joint or of a motor: how it depends on the rate, and how it holds."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pliant.options import FrictionLaw
from pliant.robot.files.error_messages import clash
from pliant.robot.parts.fields import Description, NonNegative, Positive


class Friction(Description):
    """Friction: `viscous * qd`, and dry friction that holds a joint at rest.

    In a run, dry friction has a state: the two sides meet in bristles that bend before they slip. `law` says how.
    `bristle` bends by `bristle` and then slips; `dahl` and `lugre` are the laws of these names, with `stiffness` and,
    of `lugre`, `micro_damping`. A function of a model, which has no such state, and a run with `bristle: 0` have
    `level * tanh(qd / coulomb_speed)` instead, under which a loaded joint creeps. `stiction` is the level at rest; from
    there it falls to `coulomb`, as `exp(-|qd / stribeck_speed| ** stribeck_exponent)` does.

    Examples
    --------
    >>> pliant.Joint(friction=pliant.robot.Friction(viscous=0.2, coulomb=1.0)).friction.coulomb
    1.0
    >>> lugre = {"stiction": 1.5, "stiffness": 1e5, "micro_damping": 300.0}
    >>> pliant.robot.Friction(law="lugre", coulomb=1.0, viscous=0.4, **lugre).level
    1.5
    """

    viscous: NonNegative = Field(0.0, description="N m s/rad (N s/m), torque per rate", examples=[0.1])
    coulomb: NonNegative = Field(0.0, description="N m (N), torque that dry friction has in motion", examples=[1.0])
    coulomb_speed: Positive = Field(
        1e-3, description="rad/s (m/s), the rate over which coulomb friction turns sign", examples=[0.001]
    )
    bristle: NonNegative = Field(
        1e-5, description="rad (m), how far a joint gives before it slips; 0: it creeps", examples=[1e-05]
    )
    stiction: NonNegative | None = Field(
        None, description="N m (N), torque that holds a joint at rest, at least coulomb; equal by default",
        examples=[1.5],
    )  # fmt: skip
    stribeck_speed: Positive | None = Field(
        None, description="rad/s (m/s), over which stiction falls to coulomb; 10 coulomb_speed by default",
        examples=[0.01],
    )  # fmt: skip
    stribeck_exponent: Positive = Field(2.0, description="of the rate in that fall", examples=[2.0])
    law: FrictionLaw = Field("bristle", description="how dry friction holds in a run", examples=["lugre"])
    stiffness: Positive | None = Field(
        None, description="N m/rad (N/m), of the bristles of dahl and lugre", examples=[100000.0]
    )
    micro_damping: NonNegative = Field(
        0.0, description="N m s/rad (N s/m), of the bristles of lugre while they bend", examples=[300.0]
    )

    @property
    def level(self) -> float:
        """Torque at which a joint at rest begins to slip."""
        return self.coulomb if self.stiction is None else self.stiction

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.stiction is not None and self.stiction < self.coulomb:
            raise clash(
                f"`stiction` {self.stiction:g} is below `coulomb` {self.coulomb:g}; friction falls with the rate"
            )
        if self.stiction is None and self.stribeck_speed is not None:
            raise clash("`stribeck_speed` says how fast `stiction` falls, and there is no `stiction`")
        if self.law == "bristle":
            given = [name for name in ("stiffness", "micro_damping") if getattr(self, name)]
            if given:
                raise clash(f"`{given[0]}` belongs to the laws dahl and lugre; set `law`, or give `bristle`")
            return self
        if not self.coulomb or self.stiffness is None:
            missing = "stiffness" if self.coulomb else "coulomb"
            raise clash(f"the law {self.law} needs `{missing}` above 0")
        if self.law == "dahl" and (self.micro_damping or self.stiction is not None):
            wrong = "micro_damping" if self.micro_damping else "stiction"
            raise clash(f"the law dahl has no `{wrong}`; remove it, or choose lugre")
        return self
