"""Where mechanics and computing meet: the expressions of a formulation become functions of numbers.

A `Model` is a robot, a formulation and a few switches. Each of its functions is traced on first use, in memory once
per content, and handed to a `Kernel`, which compiles it (or takes the object code from the disk cache). What is
asked thousands of times per second is compiled; what is asked once (stiffness, terms by name) runs on CasADi's virtual
machine, and so does linearisation where it would compile for long. The choice depends on the function alone, so that
equal input always gives equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pliant.arrays import Array
from pliant.base.derived import SYMBOLS, Derived
from pliant.base.later import LaterModule
from pliant.base.provided import provided
from pliant.base.signatures import checked
from pliant.base.stages import preparation
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import recalled
from pliant.mechanics.formulations.formulation import Formulation
from pliant.model.damping_drift import drifted
from pliant.model.linearization import SmallMotion
from pliant.model.robot import Robot
from pliant.model.stiffening_order import Effect, Level
from pliant.model.traced import Options
from pliant.model.validity import odd_numbers, tell
from pliant.options import (
    FormulationName,
    RootsName,
    RotationName,
    ShapesName,
    StiffeningChoice,
)
from pliant.robot.coordinates import Layout
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces

if TYPE_CHECKING:
    from pliant.mechanics.formulations import registry
    from pliant.mechanics.shapes.link_shapes import LinkShapes
    from pliant.model import building, stiffening_check
else:  # what makes expressions, which a model whose functions are known goes without
    building, registry = LaterModule("pliant.model.building"), LaterModule("pliant.mechanics.formulations.registry")
    stiffening_check = LaterModule("pliant.model.stiffening_check")


class Model(SmallMotion):
    """Callable dynamics of a robot by one formulation.

    Parameters
    ----------
    robot : Robot
        Numbers are chosen for what it leaves to the model (`shapes: auto`): `choices` says which and why, `robot` of
        the model has them.
    formulation : str or Formulation
        One of `pliant.FORMULATIONS`: "denoc" (the default), "lagrange", ...; or one of your own. A saved run keeps its
        name only, so that only those of `pliant.FORMULATIONS` are rebuilt from a file.
    rotation : "exact" or "linear"
        Rotation of a bent link's tip: exp(theta^), or 1 + theta^ as printed in the papers.
    stiffening : "auto", "second-order", "first-order" or bool
        How far the place of a bent and twisted beam is followed: first order (False, as in the papers), second order
        (shortening, and twist that turns bending into the other plane), or third order (True: dearer, for reference);
        "first-order" keeps of second order what meets the undeformed arm. "auto" is second order, unless weight at
        the worst pose and `limits.speed` of all joints say that it changes no beam by 0.1 %, or the formulation has
        none; `print(model)` tells, and a run warns if leaving it out was wrong. See the page Theory.
    parameters : sequence of str
        Paths of numbers (`links.upper.beam.EI_z`) that stay inputs; every function then takes `p=`, nominal values
        by default.
    shapes : "exact" or "nominal"
        A parameter that would change the shape functions is refused, unless they are to stay those of the nominal
        robot.
    roots : "solved" or "integrated"
        Where the roots beta of the frequency equation of a sliding beam with a load come from in a run: solved for at
        every length, or integrated beside the motion from their rates, [TG95] (45). Only `simulate` and the closed
        loops of `pliant.analysis` carry them; the functions of a model, and controllers that compute with it, solve.

    Notes
    -----
    `M(q) qdd + bias(q, qd) = S tau`. States are `(n,)` or `(..., n)` arrays; batches run in SIMD packs on all
    threads and give the same bits as one state at a time.

    Examples
    --------
    >>> model = pliant.Model(pliant.load("two-link"))
    >>> model.coordinates
    ('upper', 'fore', 'upper.bending_y.1', 'fore.bending_y.1')
    >>> model.mass_matrix(np.zeros(model.n)).shape
    (4, 4)
    """

    @checked
    def __init__(
        self,
        robot: Robot,
        formulation: FormulationName | Formulation = "denoc",
        rotation: RotationName = "exact",
        stiffening: bool | StiffeningChoice = "auto",
        parameters: Sequence[str] = (),
        shapes: ShapesName = "exact",
        roots: RootsName = "solved",
    ) -> None:
        name = formulation if isinstance(formulation, str) else formulation.name
        asked = Options(name, rotation, stiffening, tuple(parameters), shapes, roots)
        registered = isinstance(formulation, str) or registry.FORMULATIONS.get(name) is formulation
        self.recipe = repr(("model", robot.digest(), asked)) if registered else None
        self.form = self.recipe
        self._first: Model | None = None
        with SYMBOLS, preparation(f"building {robot.name}"):
            facts = recalled(self.recipe, lambda: building.settled(robot, asked, formulation))
        self.robot = robot if facts["robot"] is None else Robot.from_dict(facts["robot"])
        self.choices, self.level = tuple(facts["choices"]), Level(*facts["level"])
        self.options = replace(asked, stiffening=self.level.stiffening)
        self.layout, self._nominal = Layout.from_facts(facts["layout"]), np.array(facts["nominal"])
        self._formulation = formulation
        self._kernels: dict[str, Kernel] = {}
        self._fast: dict[str, Callable[..., Any]] = {}
        self.derived = Derived()
        tell(self, odd_numbers(self.robot))

    @property
    def first(self) -> Model:
        """The model that keeps what models that differ in numbers alone have in common, see `replace`."""
        return self if self._first is None else self._first

    @checked
    def replace(self, changes: Mapping[str, Any]) -> Model:
        """The same arm with other numbers, to be asked for again and again: changed numbers become inputs of functions
        and runs, so that from the second change of a number on nothing is traced or compiled.

        Parameters
        ----------
        changes : mapping
            Path to new value, as in `Robot.replace`.

        Returns
        -------
        Model
            Its `robot` has the new numbers; its `parameters` are the paths of all that were changed so far, the new
            numbers their nominal values.

        Notes
        -----
        What was chosen or computed for this model stays: what `auto` took for shapes and pieces, shape functions,
        dampers that follow from a `damping` ratio (a warning says which ratio they have now where it is off by a
        tenth). Only `stiffening="auto"` is asked again, and is second order from then on where the new numbers need it.
        `robot.replace(changes).model()` follows the change in these too, has all numbers as constants of its machine
        code, which runs a little faster, and is traced and compiled for each value. Where nothing of that kind follows,
        the two agree to round-off. A change that is no number, such as another section, is built anew here as well.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> for mass in (1.0, 2.0, 3.0):
        ...     result = pliant.simulate(model.replace({"payload.mass": mass}), 0.1)
        >>> result.model.parameters, result.robot.payload.mass
        (('payload.mass',), 3.0)
        """
        robot, first = self.robot.replace(changes), self.first
        before, after = self.robot.paths(), robot.paths()
        changed = {path: value for path, value in after.items() if before.get(path) != value}
        new = tuple(path for path in changed if path not in self.parameters)
        if before.keys() != after.keys() or self.robot.replace(changed) != robot:  # more than numbers
            _, (_, *asked), _ = self.__reduce__()
            return Model(robot, *asked)
        if new:
            paths, base = (*self.parameters, *new), first
            first = first.derived("with parameters", paths, lambda: base._like(self.level, paths, "nominal"))
        model = first._at(robot, np.array([after[path] for path in first.parameters]))
        return stiffening_check.at_its_numbers(model) if model.level.can_rise else model

    def _like(self, level: Level, parameters: tuple[str, ...], shapes: ShapesName) -> Model:
        """The same arm at another level, or with other parameters."""
        o = self.options
        model = Model(self.robot, self._formulation, o.rotation, level.stiffening, parameters, shapes, o.roots)
        model.level = level
        return model

    def _at(self, robot: Robot, values: Array) -> Model:
        """This model at other values of its parameters, those of `robot`; what is traced and compiled is shared."""
        model = object.__new__(type(self))
        vars(model).update(vars(self), robot=robot, _nominal=values, _first=self, derived=Derived())
        model.recipe = self.recipe and f"{self.recipe} at {robot.digest()}"
        tell(model, odd_numbers(robot) | drifted(model, robot))
        return model

    @property
    def link_shapes(self) -> tuple[LinkShapes | None, ...]:
        """Shape functions of each link, None where it is rigid; of its first piece where it has several."""
        links = (link for link in self.chain.links[self.chain.first :] if link.piece.number == 1)
        return tuple(cast("LinkShapes | None", link.body.shapes) for link in links)

    @property
    def bodies(self) -> tuple[Link, ...]:
        """What the equations are made of, as links: the base where it is free, then every piece of every link."""
        return self.derived("bodies", (), lambda: in_pieces(self.robot).bodies)

    def __repr__(self) -> str:
        o = self.options
        switches = f"formulation={o.formulation!r}, rotation={o.rotation!r}, stiffening={o.stiffening!r}"
        return f"Model({self.robot.name!r}, n={self.n}, {switches})"

    def __str__(self) -> str:
        lines = [repr(self), f"stiffening: {self.level}", *self.choices]
        if self.constraints:
            lines.append(f"loops: {len(self.constraints)} rows ({', '.join(self.constraints)}), freedom {self.freedom}")
        if self.redundant:
            lines.append(f"redundant rows, left out: {', '.join(self.redundant)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(provided("model_html")(self))

    def __reduce__(self) -> tuple[Any, ...]:
        o = self.options
        by = self._formulation
        given = (self.robot, by, o.rotation, self.level.asked, o.parameters, o.shapes, o.roots)
        return type(self), given, {"choices": self.choices, "level": self.level}


def raised(model: Model, found: Effect) -> Model:
    """The same arm with second order, which an effect asks for; what is traced is shared by all such models."""
    level, first, o = Level("second-order", str(found), True), model.first, model.options
    risen = first.derived("second order", (), lambda: first._like(level, o.parameters, o.shapes))
    return risen if first is model else risen._at(model.robot, np.asarray(model.nominal_parameters))
