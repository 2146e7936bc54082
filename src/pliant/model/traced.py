"""Functions of a model by name: traced on first use, compiled, called with numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression, StateLike
from pliant.base.derived import SYMBOLS, Derived, shared_property
from pliant.base.later import LaterModule
from pliant.base.signatures import checked
from pliant.base.stages import preparation
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError
from pliant.mechanics.formulations.formulation import Formulation
from pliant.model.robot import Robot
from pliant.model.states import read_state
from pliant.options import (
    DerivativesName,
    FormulationName,
    FunctionName,
    RootsName,
    RotationName,
    ShapesName,
    StiffeningChoice,
)  # fmt: skip
from pliant.robot.coordinates import Layout

if TYPE_CHECKING:
    from pliant.mechanics.formulations.motion_equations import Equations
    from pliant.mechanics.links.chain import Chain
    from pliant.model import building, compiled_functions
    from pliant.model.model import Model
else:  # what makes expressions, which a model whose functions are known goes without
    building, compiled_functions = (LaterModule(f"pliant.model.{name}") for name in ("building", "compiled_functions"))


@dataclass(frozen=True)
class Options:
    """What, besides the robot, determines a model."""

    formulation: str = "denoc"
    rotation: RotationName = "exact"
    stiffening: bool | StiffeningChoice = False
    parameters: tuple[str, ...] = ()
    shapes: ShapesName = "exact"
    roots: RootsName = "solved"


class Traced:
    """A robot and options, the names and sizes of what goes in and comes out, and the functions that were traced."""

    robot: Robot
    options: Options
    layout: Layout
    derived: Derived
    form: str | None
    _formulation: FormulationName | Formulation
    _nominal: Array
    _kernels: dict[str, Kernel]
    _fast: dict[str, Callable[..., Any]]

    @property
    def _model(self) -> Model:
        """This model as a whole, for what asks several of its parts."""
        return cast("Model", self)

    @property
    def chain(self) -> Chain:
        """The arm as maps."""
        return self.equations.chain

    @shared_property
    def _built(self) -> tuple[Equations, Expression]:
        with preparation(f"building {self.robot.name}"):
            return building.built(self._model.robot, self.options, self._formulation, self.layout.rows)

    @property
    def equations(self) -> Equations:
        """The equations of motion as CasADi expressions; `parameter_symbols` are their free symbols."""
        return cast("Equations", self._built[0])

    @property
    def parameter_symbols(self) -> Expression:
        """(P,) CasADi symbols of `parameters`."""
        return cast("Expression", self._built[1])

    @property
    def n(self) -> int:
        """Number of generalised speeds, and of freedoms: as many as coordinates, unless a joint has a quaternion."""
        return self.layout.n

    @property
    def n_v(self) -> int:
        """Number of generalised speeds."""
        return self.layout.n

    @property
    def n_q(self) -> int:
        """Number of generalised coordinates: each quaternion has one more than its joint has freedoms."""
        return self.layout.n_q

    @property
    def n_joints(self) -> int:
        """Number of moving joints, and of torques."""
        return self.layout.n_joints

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates: a free base, joints, motors, amplitudes."""
        return self.layout.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds: those of the coordinates, but for joints with quaternions, whose speeds are angular and
        linear velocities in the axes of their link."""
        return self.layout.speeds

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of what torques drive, in their order."""
        return tuple(shaft.name for shaft in self.layout.shafts)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows that close loops, `loop.row`, in the order of `multipliers`; `redundant` ones follow from
        them."""
        return self.layout.rows

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of the rows of loops that hang on `constraints`, and were left out."""
        return self.layout.dropped

    @property
    def freedom(self) -> int:
        """Number of speeds that loops leave: all of them, less `constraints`."""
        return self.n - len(self.constraints)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Paths of the numbers that are inputs."""
        return self.options.parameters

    @property
    def nominal_parameters(self) -> Array:
        """(P,) their values in the robot."""
        return self._nominal.copy()

    def values(self, p: ArrayLike | None = None) -> Array:
        """(P,) values of the parameters: those given, or nominal ones.

        Parameters
        ----------
        p : (P,) array, optional
            Values of all parameters.

        Returns
        -------
        (P,) array

        Examples
        --------
        >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
        >>> print(model.values(), model.values([2.0]))
        [0.] [2.]
        """
        if p is None:
            return self.nominal_parameters
        given = np.asarray(p, dtype=float)
        if given.shape != self._nominal.shape:
            raise ModelError(
                f"p: shape {given.shape}; expected ({len(self.parameters)},): {', '.join(self.parameters) or 'none'}"
            )
        return given

    @checked
    def index(self, coordinate: str) -> int:
        """Place of a coordinate by name.

        Parameters
        ----------
        coordinate : str
            One of `coordinates`.

        Returns
        -------
        int

        Examples
        --------
        >>> pliant.load("two-link").model().index("fore")
        1
        """
        return _place("coordinate", coordinate, self.coordinates)

    @checked
    def speed_index(self, speed: str) -> int:
        """Number of a speed by name.

        Parameters
        ----------
        speed : str
            One of `speeds`.

        Returns
        -------
        int

        Examples
        --------
        >>> pliant.load("two-link").model().speed_index("fore")
        1
        """
        return _place("speed", speed, self.speeds)

    @checked
    def state(self, q: StateLike | None = None) -> Array:
        """All coordinates (n_q,) from those given by name, as `q0` of a run: what is not given is at rest.

        Parameters
        ----------
        q : (n_q,) array, the joints alone, or a mapping, optional
            `{"base": {"position": [...], "rpy": [...]}, "elbow": 0.3}`, say; the undeformed arm at rest by default.

        Returns
        -------
        (n_q,) array

        Examples
        --------
        >>> print(pliant.load("two-link").model().state({"fore": 0.3}))
        [0.  0.3 0.  0. ]
        """
        return read_state(self._model, q)

    @checked
    def operation_count(self, function: FunctionName = "forward_dynamics") -> dict[str, int]:
        """Multiplications, additions, divisions, trigonometric calls on the tape of a function of this model.

        Parameters
        ----------
        function : str
            A method of this class that is traced: "mass_matrix", "bias", "forward_dynamics", ...

        Returns
        -------
        dict of int
            By kind: "mul", "add", "div", "sqrt", "trig", "other".

        Examples
        --------
        >>> sorted(pliant.load("two-link").model().operation_count())
        ['add', 'div', 'mul', 'other', 'sqrt', 'trig']
        """
        return self._kernel(function).tape.count()

    @checked
    def statistics(self, function: FunctionName = "forward_dynamics") -> dict[str, int]:
        """How large a function of this model is, and whether its links share functions.

        The recursion of a long arm (20 links or 100 coordinates, and 25,000 instructions) calls one function for each
        kind of link, with the numbers of each link as data: what is compiled grows with the kinds, not with the links.

        Parameters
        ----------
        function : str
            As in `operation_count`.

        Returns
        -------
        dict of int
            "coordinates"; "instructions" that one evaluation runs; "compiled", those that machine code is made of;
            "calls" of shared functions, 0 where every link is written out.

        Examples
        --------
        >>> found = pliant.load("two-link").model().statistics()
        >>> found["coordinates"], found["calls"], found["compiled"] == found["instructions"]
        (4, 0, True)
        """
        known = self._kernel(function)
        return {
            "coordinates": self.n, "instructions": known.n_instructions(), "compiled": known.code_length(),
            "calls": known.n_calls(),
        }  # fmt: skip

    @checked
    def kernel(self, function: FunctionName) -> Kernel:
        """The compiled function behind a method: flat ABI and address for stepping loops, tape for counts.

        Parameters
        ----------
        function : str
            As in `operation_count`.

        Returns
        -------
        Kernel

        Examples
        --------
        >>> kernel = pliant.load("two-link").model().kernel("mass_matrix")
        >>> kernel(np.zeros(4)).shape
        (4, 4)
        """
        return self._kernel(function)

    @checked
    def casadi(self, function: FunctionName, derivatives: DerivativesName = "compiled", count: int = 1) -> Any:
        """A function of the model for graphs of CasADi: optimal control with IPOPT, acados or do-mpc.

        Parameters
        ----------
        function : str
            As in `operation_count`. Compiled: "forward_dynamics" or "inverse_dynamics" of an arm without quaternions.
        derivatives : "compiled" or "traced"
            "compiled": kernels evaluate the function, its first and its second derivatives; call it with `MX`. It must
            be kept as long as a graph uses it. "traced": the plain expression, which CasADi differentiates itself and
            which also takes `SX`.
        count : int
            Number of states, side by side in columns: all nodes of a horizon in one call of the batch kernel. Solvers
            are told that no state depends on another.

        Returns
        -------
        casadi.Function
            Of the inputs of the method, and of `p` where the model has parameters.

        Examples
        --------
        >>> import casadi as ca
        >>> model = pliant.load("two-link").model()
        >>> f = model.casadi("forward_dynamics")
        >>> q = ca.MX.sym("q", 4)
        >>> ca.Function("slope", [q], [ca.jacobian(f(q, 0, 0), q)])(0).shape
        (4, 4)
        >>> model.casadi("forward_dynamics", count=20)(np.zeros((4, 20)), np.zeros((4, 20)), np.zeros((2, 20))).shape
        (4, 20)
        """
        if derivatives == "traced":
            traced = self._kernel(function).function
            return traced if count == 1 else traced.map(count)
        known = compiled_functions.COMPILED_FUNCTIONS
        if function not in known:
            raise ModelError(
                f"function: got {function!r}, expected {' or '.join(known)}; with derivatives='traced' any"
            )
        self.layout.require_plain("a compiled function for CasADi")
        return compiled_functions.compiled_function(self._model, function, count)

    def _kernel(self, name: str) -> Kernel:
        kernel = self._kernels.get(name)
        if kernel is None:
            with SYMBOLS:
                kernel = self._kernels.get(name)
                if kernel is None:
                    kernel = self._kernels[name] = self._known(name)
        return kernel

    def _known(self, name: str) -> Kernel:
        """A kernel by its recipe; it is traced when there is no record of it."""
        known = Recorded(
            lambda: building.traced(self._model, name), self.form and f"{self.form} {name}",
            lambda function: building.remarks(self._model, name, function), f"{name} of {self.robot.name}",
        )  # fmt: skip
        shapes = [tuple(shape) for shape in known.remarks["shapes"]]
        return Kernel(known, known.remarks["backend"], out_shapes=shapes)

    def _extra(self, p: ArrayLike | None) -> tuple[ArrayLike, ...]:
        if not self.parameters:
            if p is not None and np.size(np.asarray(p, dtype=object)):  # of any form, ragged ones too
                raise ModelError("p: this model has no parameters; make it with robot.model(parameters=[...])")
            return ()
        return (self._nominal if p is None else p,)

    def _call(self, name: str, p: ArrayLike | None, *arrays: ArrayLike, changes: tuple[ArrayLike, ...] = ()) -> Any:
        if p is not None or self._nominal.size:
            arrays = (*arrays, *self._extra(p))
        if changes:
            arrays = arrays + changes
        fast = self._fast.get(name)
        if fast is None:
            fast = self._fast[name] = self._kernel(name).fast
        result = fast(*arrays)  # one plain state; None asks for the checked path: batches, conversion, errors
        return self._kernels[name](*arrays) if result is None else result


def _place(what: str, given: str, known: tuple[str, ...]) -> int:
    if given not in known:
        raise ModelError(f"{what}: got {given!r}, expected one of {', '.join(known)}")
    return known.index(given)
