"""Section forces, strains and joint reactions over the time of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.algebra.quaternions import between
from pliant.arrays import Array, Integers
from pliant.base.content import content
from pliant.base.derived import Same
from pliant.base.later import LaterModule
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.protocols import MovingBase
from pliant.robot.coordinates import Coordinates
from pliant.robot.parts.cross_sections.sections import Section
from pliant.robot.stations import locate, place_of, require_sections
from pliant.robot.tree import BASE

if TYPE_CHECKING:
    import casadi as ca

    from pliant.algebra.rotations import SX
    from pliant.mechanics.links import clamped_link, section_forces
    from pliant.mechanics.links.section_forces import InternalForces
    from pliant.mechanics.loads.wrenches import Load
else:  # forces that are known need no expressions
    ca = LaterModule("casadi")
    clamped_link, section_forces = (
        LaterModule(f"pliant.mechanics.links.{name}") for name in ("clamped_link", "section_forces")
    )


class SectionForces(NamedTuple):
    """Force and moment (N, 3) that the outer part of a beam exerts on the inner part, in the axes of the section."""

    force: Array
    moment: Array

    @property
    def axial(self) -> Array:
        """Axial force, N: EA u', positive for tension."""
        return np.asarray(self.force[:, 0])

    @property
    def shear_y(self) -> Array:
        """Shear force along y, N."""
        return np.asarray(self.force[:, 1])

    @property
    def shear_z(self) -> Array:
        """Shear force along z, N."""
        return np.asarray(self.force[:, 2])

    @property
    def torque(self) -> Array:
        """Torque, N m: GJ phi'."""
        return np.asarray(self.moment[:, 0])

    @property
    def moment_y(self) -> Array:
        """Bending moment about y, N m: -EI_y w''."""
        return np.asarray(self.moment[:, 1])

    @property
    def moment_z(self) -> Array:
        """Bending moment about z, N m: EI_z v''."""
        return np.asarray(self.moment[:, 2])


class Reaction(NamedTuple):
    """Force and moment (N, 3) that a link receives through its joint, or the base from what stands on it, about the
    origin of its frame."""

    force: Array
    moment: Array


ALONG = ("qd", "qdd", "push", "multipliers")
"""What a history and `InternalForces` have besides time and coordinates."""


@dataclass(frozen=True)
class RunHistory:
    """States of a run, and all that acted on it."""

    model: Model
    t: Array
    q: Array
    qd: Array
    qdd: Array
    parameters: Array
    push: Array
    """(N, k) forces of couplings that are commanded."""
    multipliers: Array
    """(N, rows) forces and moments that close loops."""
    loads: Sequence[Load] = ()
    base: MovingBase | None = None

    def between(self, t: Array) -> RunHistory:
        """The history at other times, linear between rows."""
        q = interpolated_states(self.model.layout, t, self.t, self.q)
        others: dict[str, Any] = {name: interpolated(t, self.t, getattr(self, name)) for name in ALONG}
        return replace(self, t=t, q=q, **others)

    def rows(self, rows: Integers) -> RunHistory:
        """The history at some of its rows."""
        others = {name: getattr(self, name)[rows] for name in ALONG}
        return replace(self, t=self.t[rows], q=self.q[rows], **others)

    def reaction(self, joint: str | int, axes: str = "link") -> Reaction:
        """Force and moment that a link receives through its joint, drive and friction included, in link or base axes;
        for the base, those that all links on it exert."""
        if axes not in ("link", "base"):
            raise ModelError(f"axes: got {axes!r}, expected 'link' or 'base'")
        layout = self.model.layout
        on_base = joint == BASE and all(link.name != BASE for link in layout.links[layout.first :])
        place = 0 if on_base else place_of(layout, joint)

        def wrench(forces: InternalForces) -> list[SX]:
            n, f = forces.on_base if on_base else forces.carried[place].at_root
            turned = axes == "base" and (layout.first or not on_base)
            R = forces.rotation(place) if turned else ca.SX.eye(3)
            return [ca.mtimes(R, f), ca.mtimes(R, n)]

        return Reaction(*self.over_time(("reaction", place, axes, on_base), wrench))

    def internal(self, link: str | int, x: float | str) -> SectionForces:
        """Section forces at station `x` (meters, "tip" or "middle")."""
        place, eta = self.station(link, x)
        return SectionForces(*self.over_time(("section", place, eta), lambda forces: forces.section(place, eta)))

    def curvature(self, link: str | int, x: float | str) -> Array:
        """(N, 3) twist phi', and curvatures theta_y' = -w'' and theta_z' = v'', 1/m: moments over stiffnesses."""
        place, eta = self.station(link, x)
        return self.over_time(
            ("curvature", place, eta), lambda forces: [forces.stretches(place, eta).curvature]
        )[0]  # fmt: skip

    def strain(self, link: str | int, x: float | str, at: tuple[float, float] | None = None) -> Array:
        """(N,) strain along x of the fiber at (y, z) meters of a section, from its forces.

        N/EA - y M_z/EI_z + z M_y/EI_y; without `at`, the largest magnitude on the outline of the link's section. A beam
        without EA is not stretched.
        """
        place, eta = self.station(link, x)
        section = self._section(place, "give the fiber as at=(y, z) in meters") if at is None else None
        if section is not None and not section.is_drawn:
            return self.largest_strains(place, [eta], *section.half_sizes(np.array([eta])))[:, 0]
        fibres: tuple[Any, ...] = (at,) if section is None else tuple(map(tuple, section.outline().tolist()))

        def strains(forces: InternalForces) -> list[SX]:
            found = forces.stretches(place, eta)
            return [ca.vertcat(*(found.strain(*fibre) for fibre in fibres))]

        found = self.over_time(("strain", place, eta, fibres), strains)[0]
        return np.asarray(found[:, 0] if at is not None else np.abs(found).max(axis=1))

    def _section(self, place: int, otherwise: str) -> Section:
        """Section of a link's beam; raises `ModelError` if it has none, with advice what to do `otherwise`."""
        link = self.model.bodies[place]
        if link.beam is None or link.beam.section is None:
            raise ModelError(f"link {link.name!r} has no section; {otherwise}")
        return link.beam.section

    def shear_stress(self, link: str | int, x: float | str) -> Array:
        """(N,) largest shear stress of the torque about the shear center, Pa."""
        place, eta = self.station(link, x)
        modulus = self._section(place, "divide internal(...).torque by its torsion modulus").torsion_modulus(eta)

        def torque(forces: InternalForces) -> list[SX]:
            data = section_forces.section_data(forces.chain.links[place])
            return [section_forces.twisting(data, *forces.section(place, eta))]

        found = self.over_time(("torque", place, eta), torque)[0]
        return np.asarray(np.abs(found[:, 0]) / modulus)

    def largest_strains(
        self, place: int, etas: Sequence[float], half: Array, is_round: bool, points: int | None = None
    ) -> Array:
        """(N, S) largest strain on the outline of sections in rising order, of half width and height `half` (S, 2)."""

        def stretches(forces: InternalForces) -> list[SX]:
            found = forces.all_stretches(place, etas, points)
            return [ca.horzcat(*(ca.vertcat(one.extension, one.curvature[1:]) for one in found)).T]

        found = self.over_time(("stretches", place, tuple(etas), points), stretches)[0]
        along, y, z = np.moveaxis(np.abs(found.reshape(len(self.t), -1, 3)), 2, 0)
        bent = np.hypot(half[:, 0] * z, half[:, 1] * y) if is_round else half[:, 0] * z + half[:, 1] * y
        return np.asarray(along + bent)

    def stress(
        self, link: str | int, x: float | str, at: tuple[float, float] | None = None, modulus: float | None = None
    ) -> Array:
        """(N,) stress along x in Pa: `strain` times Young's modulus, that of the link's material by default."""
        beam = self.model.bodies[place_of(self.model.layout, link)].beam
        if modulus is None:
            if beam is None or beam.material is None:
                raise ModelError(f"link {link!r} has no material; give modulus= in Pa")
            modulus = float(beam.material.E)
        return self.strain(link, x, at) * modulus

    def station(self, link: str | int, x: float | str) -> tuple[int, float]:
        """Number of a flexible piece of a link that does not slide, and the station as a part of its length."""
        place, eta = locate(self.model.layout, link, x, partial(length_of, self.model, self.parameters))
        require_sections(self.model.layout.links[place])
        return place, eta

    def over_time(self, what: tuple[Any, ...], build: Callable[[InternalForces], Sequence[SX]]) -> list[Array]:
        """Values (N, size) of expressions over the run. Their kernel is kept with the model by the name `what`."""

        def trace() -> ca.Function:
            forces = section_forces.InternalForces(self.model.chain, self.loads, self.base)
            outputs = ca.cse([ca.densify(ca.vec(ca.SX(o).T)) for o in build(forces)])
            inputs = [forces.t, forces.q, *(getattr(forces, name) for name in ALONG), self.model.parameter_symbols]
            return ca.Function("internal_forces", inputs, outputs)

        known = content(what, list(self.loads), self.base)
        recipe = self.model.recipe and known and f"{self.model.recipe} internal forces {known}"
        recorded = Recorded(trace, recipe, title=f"forces inside {self.model.robot.name}")
        key = (*what, tuple(map(Same, self.loads)), Same(self.base))
        kernel = self.model.derived("internal forces", key, lambda: Kernel(recorded, "vm"))
        p = np.tile(self.parameters, (len(self.t), 1))
        found = kernel(self.t[:, None], self.q, *(getattr(self, name) for name in ALONG), p)
        return [np.asarray(o).reshape(len(self.t), -1) for o in (found if isinstance(found, tuple | list) else [found])]


def interpolated(t: Array, rows: Array, values: Array) -> Array:
    """Columns of a history at other times, linear in between."""
    columns = [np.interp(t, rows, column) for column in values.T]
    return np.column_stack(columns) if columns else np.zeros((len(t), 0))


def interpolated_states(arm: Coordinates[Any], t: Array, rows: Array, q: Array) -> Array:
    """Coordinates at other times: linear in between, and quaternions turn evenly."""
    found = interpolated(t, rows, q)
    after = np.clip(np.searchsorted(rows, t), 1, max(len(rows) - 1, 1))
    for ball in arm.balls if len(rows) > 1 else ():
        step = np.maximum(rows[after] - rows[after - 1], 1e-300)  # an event has two rows at one time
        part, places = np.clip((t - rows[after - 1]) / step, 0.0, 1.0)[:, None], list(ball.places[-4:])
        own = q[:, places]
        found[:, places] = between(own[after - 1], own[after], part)
    return found


def length_of(model: Model, parameters: Array, place: int) -> float:
    """Length of a piece of a link, by its number, under these parameters."""
    length = ca.SX(model.chain.links[place].length)
    return float(ca.Function("length", [model.parameter_symbols], [length])(parameters))


def station_shift(model: Model, place: int, eta: float) -> ca.Function:
    """Displacement and rotation vector of a station of a link in its own root frame, a function of q and p; for a link
    in pieces the rotation matrix, by rows, instead of the vector."""
    link = model.chain.links[place]
    q, p = ca.SX.sym("q", model.n_q), model.parameter_symbols
    if link.piece.count > 1:
        shift, turn = clamped_link.section_shift(model.chain, q, place, eta)
        return ca.Function("station", [q, p], [ca.densify(shift), ca.densify(ca.vec(turn.T))])
    c = model.chain.body(link, q)
    r, theta = link.body.point(c, eta)
    straight, _ = link.body.point(link.straight(c), eta)
    return ca.Function("station", [q, p], [ca.densify(r - straight), ca.densify(ca.SX(theta))])


__all__ = ["Reaction", "RunHistory", "SectionForces"]
