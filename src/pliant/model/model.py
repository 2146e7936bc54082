"""Model of a robot: functions of its state, traced by a formulation and compiled.

A `Model` is a robot, a formulation and a few options. Each function is traced on first use and handed to a `Kernel`,
which compiles it or takes the object code from the cache on disk. Functions that are called often are compiled;
stiffness and linearization are, up to a number of instructions; terms by name are interpreted (`recipes.py`). The
choice depends on the function alone, so that equal input gives equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression, StateLike
from pliant.base.derived import SYMBOLS, Derived, shared_property
from pliant.base.later import LaterModule, provided
from pliant.base.signatures import checked, require_loads, shown
from pliant.base.stages import preparation
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import ModelError, warn_user
from pliant.mechanics.formulations.formulation import Formulation
from pliant.model.damping_drift import drifted, drifted_rows
from pliant.model.model_options import Options
from pliant.model.robot import Robot
from pliant.model.states import EQUILIBRIUM, read_state
from pliant.model.stiffening.stiffening_order import Effect, Level, acts, corners, is_checked
from pliant.model.terms import (
    DenocMatrices,
    DrivenTorques,
    Energy,
    ForwardDerivatives,
    ForwardDerivativesOfParameters,
    InverseDerivatives,
    InverseDerivativesOfParameters,
    Matrices,
    Modes,
    PartitionedMatrices,
    ScrewMatrices,
    StateSpace,
)
from pliant.model.validity import odd_numbers, slow, steep, tell
from pliant.options import (
    DerivativesName,
    FormulationName,
    FunctionName,
    HeldName,
    JointsName,
    RotationName,
    ShapesName,
    StiffeningChoice,
)
from pliant.robot.coordinates import Layout
from pliant.robot.parts.link import Link
from pliant.robot.pieces import in_pieces

if TYPE_CHECKING:
    from pliant.mechanics.formulations import dual_screw, registry, terms
    from pliant.mechanics.formulations.motion_equations import Equations
    from pliant.mechanics.links import frames
    from pliant.mechanics.links.chain import Chain
    from pliant.mechanics.loads.wrenches import Load
    from pliant.mechanics.shapes.link_shapes import LinkShapes
    from pliant.model import building, compiled_functions, floating_base, linearization, small_vibrations
    from pliant.model.equilibrium import force_functions, statics, steady_spin
    from pliant.model.loops import assembly, loop_motion
    from pliant.model.stiffening import stiffening_check
else:  # a model whose functions are known from the cache builds no expressions, and imports none of these
    dual_screw, registry, terms = (
        LaterModule(f"pliant.mechanics.formulations.{name}") for name in ("dual_screw", "registry", "terms")
    )
    frames = LaterModule("pliant.mechanics.links.frames")
    (
        assembly, building, compiled_functions, floating_base, force_functions, linearization, loop_motion,
        small_vibrations, statics, steady_spin, stiffening_check,
    ) = (
        LaterModule(f"pliant.{name}")
        for name in (
            "model.loops.assembly", "model.building", "model.compiled_functions", "model.floating_base",
            "model.equilibrium.force_functions", "model.linearization", "model.loops.loop_motion",
            "model.small_vibrations", "model.equilibrium.statics",
            "model.equilibrium.steady_spin", "model.stiffening.stiffening_check",
        )
    )  # fmt: skip

_named: Any = tuple.__new__  # quicker than calling the class, which counts beside a function of a microsecond
FORWARD = {4: ForwardDerivatives, 5: ForwardDerivativesOfParameters}
INVERSE = {4: InverseDerivatives, 5: InverseDerivativesOfParameters}


class Model:
    """Callable dynamics of a robot by one formulation.

    Parameters
    ----------
    robot : Robot
        The model chooses numbers where the robot says `auto` (`shapes: auto`). `model.choices` gives them with reasons,
        and `model.robot` contains them.
    formulation : str or Formulation
        One of `pliant.robot.FORMULATIONS`: "denoc" (the default), "lagrange", ...; or one of your own. A saved run
        keeps only its name, so a file can rebuild only those of `pliant.robot.FORMULATIONS`.
    rotation : "exact" or "linear"
        Rotation of a bent link's tip: exp(theta^), or 1 + theta^ as printed in the papers.
    stiffening : "auto", "second-order" or bool
        Order to which positions on a bent and twisted beam are computed. False is first order, as in the papers.
        "second-order" adds shortening, and twist that turns bending into the other plane. True is third order, slower,
        for reference. "auto" is second order, unless weight at the worst pose and `limits.speed` of all joints change
        no beam by 0.1 %, or the formulation has no second order. `print(model)` shows the choice, and a run warns if
        second order was needed. See the page Theory.
    parameters : sequence of str
        Paths of numbers (`links.upper.beam.EI_z`) that stay inputs; every function then takes `p=`, nominal values
        by default.
    shapes : "exact" or "nominal"
        "exact" raises `ModelError` if a parameter would change the shape functions. "nominal" keeps those of the
        nominal robot.

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
        stiffening: StiffeningChoice = "auto",
        parameters: Sequence[str] = (),
        shapes: ShapesName = "exact",
    ) -> None:
        name = formulation if isinstance(formulation, str) else formulation.name
        asked = Options(name, rotation, stiffening, tuple(parameters), shapes)
        registered = isinstance(formulation, str) or registry.FORMULATIONS.get(name) is formulation
        self.recipe = repr(("model", robot.digest(), asked)) if registered else None
        self.form = self.recipe
        self._first: Model | None = None
        with SYMBOLS, preparation(f"building {robot.name}"):
            facts = recalled(self.recipe, lambda: building.settled(robot, asked, formulation, self.recipe))
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
        """Model that keeps what models that differ only in numbers share; see `replace`."""
        return self if self._first is None else self._first

    @checked
    def replace(self, changes: Mapping[str, Any]) -> Model:
        """Return the same arm with other numbers, for many changes one after the other. Changed numbers become inputs
        of functions and runs, so that from the second change of a number on nothing is traced or compiled.

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
        """Return the same arm with another stiffening level, or with other parameters."""
        o = self.options
        model = Model(self.robot, self._formulation, o.rotation, level.stiffening, parameters, shapes)
        model.level = level
        return model

    def _at(self, robot: Robot, values: Array) -> Model:
        """Return this model at other values of its parameters, those of `robot`. Both share what is traced and
        compiled."""
        model = object.__new__(type(self))
        vars(model).update(vars(self), robot=robot, _nominal=values, _first=self, derived=Derived())
        model.recipe = self.recipe and f"{self.recipe} at {robot.digest()}"
        tell(model, odd_numbers(robot) | drifted(model, robot))
        return model

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
        given = (self.robot, by, o.rotation, self.level.asked, o.parameters, o.shapes)
        return type(self), given, {"choices": self.choices, "level": self.level}

    # -------------------------------------------------------------------------------------------------- names and sizes

    @property
    def n(self) -> int:
        """Number of generalized speeds, and of freedoms: as many as coordinates, unless a joint has a quaternion."""
        return self.layout.n

    @property
    def n_v(self) -> int:
        """Number of generalized speeds."""
        return self.layout.n

    @property
    def n_q(self) -> int:
        """Number of generalized coordinates: each quaternion has one more than its joint has freedoms."""
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
        """Names of the speeds: those of the coordinates. Joints with quaternions have angular and linear velocities in
        the axes of their link instead."""
        return self.layout.speeds

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that torques drive, in the order of the torques."""
        return tuple(shaft.name for shaft in self.layout.shafts)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows that close loops, `loop.row`, in the order of `multipliers`."""
        return self.layout.rows

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of rows of loops that follow from `constraints`, and are left out."""
        return self.layout.dropped

    @property
    def freedom(self) -> int:
        """Number of speeds that loops leave free: all speeds, less `constraints`."""
        return self.n - len(self.constraints)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: `tip` of the last link, `base`, the robot's own, and `NAME.root`, `NAME.tip` of every
        link."""
        return tuple(frames.frame_names(self.chain))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Paths of the numbers that are inputs."""
        return self.options.parameters

    @property
    def nominal_parameters(self) -> Array:
        """Values (P,) of the parameters in the robot."""
        return self._nominal.copy()

    def values(self, p: ArrayLike | None = None) -> Array:
        """Values (P,) of the parameters: those given, or nominal ones.

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
        """Return all coordinates (n_q,) from those given by name, as `q0` of a run. Coordinates that are not given are
        at rest.

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
        return read_state(self, q)

    # -------------------------------------------------------------------------------------------------------- equations

    @property
    def chain(self) -> Chain:
        """Arm as maps between its links."""
        return self.equations.chain

    @property
    def equations(self) -> Equations:
        """The equations of motion as CasADi expressions; `parameter_symbols` are their free symbols."""
        return cast("Equations", self._built[0])

    @property
    def parameter_symbols(self) -> Expression:
        """(P,) CasADi symbols of `parameters`."""
        return cast("Expression", self._built[1])

    @shared_property
    def _built(self) -> tuple[Equations, Expression]:
        with preparation(f"building {self.robot.name}"):
            return building.built(self.robot, self.options, self._formulation, self.layout.rows)

    @property
    def link_shapes(self) -> tuple[LinkShapes | None, ...]:
        """Shape functions of each link, None where it is rigid; of its first piece where it has several."""
        links = (link for link in self.chain.links[self.chain.first :] if link.piece.number == 1)
        return tuple(cast("LinkShapes | None", link.body.shapes) for link in links)

    @property
    def bodies(self) -> tuple[Link, ...]:
        """Links that the equations consist of: the base where it is free, then every piece of every link."""
        return self.derived("bodies", (), lambda: in_pieces(self.robot).bodies)

    @cached_property
    def actuation(self) -> Array:
        """Matrix S (n, n_joints) of `M qdd + bias = S tau`. The torque of a drive acts on its motor, others on their
        joint."""
        S = np.zeros((self.n, self.n_joints))
        for column, shaft in enumerate(self.layout.shafts):
            S[shaft.actuated, column] = 1.0
        return S

    # ----------------------------------------------------------------------------------------------- compiled functions

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
        """Size of a function of this model, and whether its links share functions.

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
        """Return the compiled function behind a method: flat ABI and address for stepping loops, tape for counts.

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
        """Return a function of the model for graphs of CasADi: optimal control with IPOPT, acados or do-mpc.

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
        return compiled_functions.compiled_function(self, function, count)

    def _kernel(self, name: str) -> Kernel:
        kernel = self._kernels.get(name)
        if kernel is None:
            with SYMBOLS:
                kernel = self._kernels.get(name)
                if kernel is None:
                    kernel = self._kernels[name] = self._known(name)
        return kernel

    def _known(self, name: str) -> Kernel:
        """Return a kernel by its recipe. It is traced if there is no record of it."""
        known = Recorded(
            lambda: building.traced(self, name), self.form and f"{self.form} {name}",
            lambda function: building.remarks(self, name, function), f"{name} of {self.robot.name}",
        )  # fmt: skip
        shapes = [tuple(shape) for shape in known.remarks["shapes"]]
        return Kernel(known, known.remarks["backend"], out_shapes=shapes)

    def _call(self, name: str, p: ArrayLike | None, *arrays: ArrayLike, changes: tuple[ArrayLike, ...] = ()) -> Array:
        if p is not None or self._nominal.size:
            arrays = (*arrays, *self._extra(p))
        if changes:
            arrays = arrays + changes
        fast = self._fast.get(name)
        if fast is None:
            fast = self._fast[name] = self._kernel(name).fast
        result = fast(*arrays)  # one plain state; None asks for the checked path: batches, conversion, errors
        return self._kernels[name](*arrays) if result is None else result  # type: ignore[no-any-return]

    _call_many = cast("Callable[..., tuple[Array, ...]]", _call)

    def _extra(self, p: ArrayLike | None) -> tuple[ArrayLike, ...]:
        if not self.parameters:
            if p is not None and np.size(np.asarray(p, dtype=object)):  # of any form, ragged ones too
                raise ModelError("p: this model has no parameters; make it with robot.model(parameters=[...])")
            return ()
        return (self._nominal if p is None else p,)

    # --------------------------------------------------------------------------------------------------------- dynamics

    def mass_matrix(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Inertia matrix `(..., n, n)`, rotors included.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n, n) array
            kg m^2, kg m or kg, by the units of the coordinates.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> M = model.mass_matrix(np.zeros(model.n))
        >>> bool((np.linalg.eigvalsh(M) > 0).all())
        True
        """
        return self._call("mass_matrix", p, q)

    def mass_matrix_inverse(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Inverse of the inertia matrix `(..., n, n)`, from its factors.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n, n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> product = model.mass_matrix_inverse(np.zeros(4)) @ model.mass_matrix(np.zeros(4))
        >>> bool(np.allclose(product, np.eye(4)))
        True
        """
        return self._call("mass_matrix_inverse", p, q)

    def bias(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Gravity, elastic, damping, friction and velocity terms `(..., n)`.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.bias(np.zeros(model.n), np.zeros(model.n)).round(3))
        [ 98.1    24.525 204.023  38.406]
        """
        return self._call("bias", p, q, qd)

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Accelerations `(..., n)` under joint torques `(..., n_joints)`.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n) array
            rad/s^2 or m/s^2.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> states = np.zeros((1000, model.n))  # a thousand states at once
        >>> model.forward_dynamics(states, states, np.zeros((1000, 2))).shape
        (1000, 4)
        """
        return self._call("forward_dynamics", p, q, qd, tau)

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Generalized forces `(..., n)` that give accelerations `qdd`: M qdd + bias.

        Of an arm with loops or passive joints these are the forces of torques and loops together, S tau + J^T
        multipliers; `driven_dynamics` tells them apart.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> q, qd = np.zeros(model.n), np.zeros(model.n)
        >>> qdd = model.forward_dynamics(q, qd, [30.0, 10.0])
        >>> print(model.inverse_dynamics(q, qd, qdd)[:2].round(6))
        [30. 10.]
        """
        return self._call("inverse_dynamics", p, q, qd, qdd)

    def driven_dynamics(
        self, q: ArrayLike, qd: ArrayLike, driven: ArrayLike, p: ArrayLike | None = None
    ) -> DrivenTorques:
        """Torques that give the actuated coordinates these accelerations. Passive joints and amplitudes move as they
        must, and loops stay closed.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        driven : (..., n_joints) array
            Accelerations of the actuated coordinates, in the order of `joints`: motors of elastic drives, else joints.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        DrivenTorques
            `.tau` (..., n_joints), N m or N, `.qdd` (..., n) and `.multipliers` (..., rows).

        Raises
        ------
        ModelError
            Loops leave fewer freedoms than there are actuated joints, which cannot move as they like.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.driven_dynamics(np.zeros(4), np.zeros(4), [1.0, 0.0])
        >>> again = model.forward_dynamics(np.zeros(4), np.zeros(4), found.tau)
        >>> bool(np.allclose(again, found.qdd)), found.qdd[0].item()
        (True, 1.0)
        """
        if self.constraints and self.n_joints > self.layout.mobility:
            raise ModelError(
                f"driven_dynamics: loops leave {self.layout.mobility} freedoms to {self.n_joints} actuated joints "
                f"({', '.join(self.joints)}); make the others passive (`actuated: false`)"
            )
        tau, qdd, *pull = self._call_many("driven_dynamics", p, q, qd, driven)
        return DrivenTorques(tau, qdd, pull[0] if pull else np.zeros((*np.shape(qdd)[:-1], 0)))

    def energy(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Energy:
        """Kinetic, gravity and strain energy, in joules.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        Energy
            `.kinetic`, `.gravity`, `.strain` and `.total`, each with the leading axes of the state, J.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rate = np.array([1.0, 0.0, 0.0, 0.0])
        >>> bool(model.energy(np.zeros(model.n), rate).kinetic > 0)
        True
        """
        values = self._call("energy", p, q, qd)
        return Energy(values[..., 0], values[..., 1], values[..., 2])

    def matrices(
        self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None
    ) -> Matrices | PartitionedMatrices | ScrewMatrices:
        """The terms of the equations of motion by name, as the source of the formulation writes them.

        "lagrange" gives the partitioned form M_rr, M_rf, M_ff, h, c, K of [TG95] (26); "dual-screw" M, C, K of [CE21]
        (112) with the smallest eigenvalue of M (and a warning where it is not positive); all others M, h, c, K. Each
        has the forces `d` of dampers and friction besides.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        Matrices, PartitionedMatrices or ScrewMatrices
            Named arrays.

        Examples
        --------
        >>> model = pliant.load("two-link").model("lagrange")
        >>> model.matrices(np.zeros(model.n), np.zeros(model.n)).M_ff.shape
        (2, 2)
        """
        values = self._call_many("matrices", p, q, qd)
        if self.options.formulation == "lagrange":
            return PartitionedMatrices(*values)
        if self.options.formulation != "dual-screw":
            return Matrices(*values)
        M, C, K, g, d = values
        smallest = dual_screw.smallest_eigenvalue(M)
        if (smallest <= 0).any():
            warn_user(
                f"matrices: the smallest eigenvalue of M is {smallest.min():.3g}; the inertia matrix of 'dual-screw' "
                "is linear in the amplitudes and these are too large for it: use another formulation"
            )
        return ScrewMatrices(M, C, K, g, d, smallest)

    def denoc_matrices(self, q: ArrayLike, p: ArrayLike | None = None) -> DenocMatrices:
        """N_l, N_d, block-diagonal M, generalized inertia matrix and its U D U^T factors of [MS07], for any model.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        DenocMatrices
            Named arrays, and the order of their rows.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.denoc_matrices(np.zeros(model.n))
        >>> bool(np.allclose(found.U @ np.diag(found.D) @ found.U.T, found.GIM))
        True
        """
        names = tuple(self.speeds[k] for k in terms.elimination_order(self.chain))
        N_l, N_d, M, GIM, U, D = self._call_many("denoc_matrices", p, q)
        return DenocMatrices(N_l, N_d, M, GIM, U, D, names)

    # ------------------------------------------------------------------------------------------------------------ loops

    def multipliers(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Forces and moments `(..., rows)` that hold loops together under joint torques, in the order of `constraints`.

        M qdd + bias = S tau + J^T multipliers, with the slopes J of the rows. Each is what the first frame of the loop
        exerts on the second, along or about an axis of the first.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., rows) array
            N or N m.

        Examples
        --------
        >>> pliant.load("two-link").model().multipliers(np.zeros(4), np.zeros(4), np.zeros(2)).shape  # no loops
        (0,)
        """
        if not self.constraints:
            return np.zeros((*_leading(q), 0))
        return self._call("multipliers", p, q, qd, tau)

    def gaps(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Gaps `(..., rows)` of the loops, in the order of `constraints`.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., rows) array
            m or rad.

        Examples
        --------
        >>> pliant.load("two-link").model().gaps(np.zeros(4)).shape  # no loops
        (0,)
        """
        if not self.constraints:
            return np.zeros((*_leading(q), 0))
        return self._call("gaps", p, q)

    @checked
    def assemble(
        self, q: StateLike | None = None, held: Sequence[str] = (), p: ArrayLike | None = None
    ) -> Array:  # fmt: skip
        """Return a closed position (n_q,) near `q`. Steps to it are the smallest as measured by the inertia matrix.

        Parameters
        ----------
        q : as `q0` of `simulate`, optional
            Coordinates that need not close the loops.
        held : sequence of str
            Speeds of coordinates that stay, such as that of a crank. Places of passive joints among them are a first
            guess: they move where the other joints cannot close the loops, and links bend only where no joint can. A
            warning says what moves by more than a milliradian, or a thousandth of the arm's size.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (n_q,) array

        Raises
        ------
        ModelError
            A loop cannot be closed; the message names it and its gap.

        Examples
        --------
        >>> print(pliant.load("two-link").model().assemble({"fore": 0.3}))  # no loops
        [0.  0.3 0.  0. ]
        """
        state, values = read_state(self, q), self.values(p)
        stays = {self.speed_index(name) for name in held}
        if not self.constraints:
            return state
        by = assembly.mechanism(self, values)
        guessed = stays & set(by.passive)
        found = by.closed(state, stays - guessed, guessed)
        given = dict.fromkeys([name for name in held if name in self.coordinates], 0.0)
        tell(self, assembly.told_positions(self, state, found, given, "q", values))
        return found

    @checked
    def independent(
        self, q: StateLike | None = None, joints: JointsName = "free", p: ArrayLike | None = None
    ) -> tuple[str, ...]:
        """Names of speeds that loops leave independent about a closed state. `linearize` gives its equations for these.
        Passive joints are the first to follow from others, then amplitudes, then actuated joints.

        Passive joints follow before amplitudes do, and these before what is actuated.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            A state with closed loops; the default of `linearize` by default.
        joints : "free" or "locked"
            What is held, as in `linearize`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> pliant.load("two-link").model().independent()[:2]  # no loops: all
        ('upper', 'fore')
        """
        model = self._fitted(q, (), p)
        free = model._free(joints == "locked")
        if self.constraints:
            state = statics.state_or_rest(model, q, p)
            free = loop_motion.independent_motion(model, state, np.zeros(self.n), free, p)[0]
        return tuple(self.speeds[k] for k in free)

    # ----------------------------------------------------------------------------------------------------------- frames

    def tip_pose(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Pose `(..., 4, 4)` of the distal frame of the last link, in the base.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 4, 4) array
            Homogeneous transform, lengths in m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.tip_pose(np.zeros(model.n))[:3, 3])
        [2. 0. 0.]
        """
        return self._call("tip_pose", p, q)

    def pose(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Pose `(..., 4, 4)` of a frame, in the base.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`.

        Returns
        -------
        (..., 4, 4) array
            Homogeneous transform, lengths in m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.pose(np.zeros(model.n), frame="fore.root")[:3, 3])
        [1. 0. 0.]
        """
        return self._call(self._framed("pose", frame), p, q)

    def velocity(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Velocity `(..., 6)` [angular; linear] of a frame, in base axes.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`.

        Returns
        -------
        (..., 6) array
            rad/s and m/s.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.velocity(np.zeros(model.n), [1.0, 0.0, 0.0, 0.0], frame="fore.root"))
        [0. 0. 1. 0. 1. 0.]
        """
        J = self.jacobian(q, p, frame)
        return np.asarray(np.einsum("...ij,...j->...i", J, np.asarray(qd, dtype=float)))

    def jacobian(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Jacobian `(..., 6, n)` [angular; linear] of a frame, in base axes.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`; the distal frame of the last link by default.

        Returns
        -------
        (..., 6, n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.jacobian(np.zeros(model.n))[4, :2])  # m/s along y per rad/s
        [2. 1.]
        """
        return self._call(self._framed("jacobian", frame), p, q)

    def _framed(self, function: str, frame: str) -> str:
        """Name of a function of a frame. Functions of the tip keep their own names."""
        if not isinstance(frame, str):
            raise ModelError(f"frame: got {frame!r}, expected one of {', '.join(self.frames)}")
        if frame == "tip":
            return {"pose": "tip_pose"}.get(function, function)
        if frame != "base":
            frames.frame_of(self.chain, frame)
        return f"{function} {frame}"

    # ----------------------------------------------------------------------------------- momentum and a base that flies

    def center_of_mass(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Center of mass `(..., 3)` of everything that moves, in axes that stand still; a fixed base is no part of it.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 3) array
            m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.center_of_mass(np.zeros(model.n)))
        [1. 0. 0.]
        """
        return self._call("center_of_mass", p, q)

    def momentum(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Momentum `(..., 6)` [angular about the center of mass; linear] of everything, in axes that stand still.

        Reaction wheels count like all links. Rotors of drives do not: their reflected inertia is felt by their joint
        alone. On a base that moves as told it is the momentum relative to that base.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        qd : (..., n) array
            Speeds.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 6) array
            N m s and N s.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.momentum(np.zeros(model.n), [1.0, 0.0, 0.0, 0.0])[3:])  # 10 kg, whose center moves at 1 m/s
        [ 0. 10.  0.]
        """
        return self._call("momentum", p, q, qd)

    def coupling_inertia(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Momentum `(..., 6, n - 6)` per unit speed of everything but a free base, while the base does not move.

        Angular about the center of mass of the whole, then linear, in the axes of the base. Without momentum, speeds in
        the null space of the upper three rows leave the attitude of the base as it is (reaction-null motion), those in
        the null space of all six its place as well.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 6, n - 6) array
            kg m^2 and kg m per speed in rad/s; the columns are `speeds[6:]`.

        Raises
        ------
        ModelError
            The base does not fly.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> rod = pliant.RigidBody.slender_rod(2.0, 0.5)
        >>> links = [pliant.Link(name=name, joint=pliant.Joint(axis=[0, 1, 0]), rigid=rod) for name in ("a", "b")]
        >>> model = pliant.Robot(name="flyer", gravity=[0, 0, 0], base=base, links=links).model()
        >>> q = model.state()
        >>> turning = model.coupling_inertia(q)[1]  # all that a planar arm can do to the attitude
        >>> null = np.array([turning[1], -turning[0]])
        >>> speeds = np.zeros(model.n)
        >>> speeds[6:] = null
        >>> speeds[:6] = -np.linalg.solve(model.mass_matrix(q)[:6, :6], model.mass_matrix(q)[:6, 6:] @ null)
        >>> bool(np.abs(model.momentum(q, speeds)).max() < 1e-12), bool(np.abs(speeds[:3]).max() < 1e-12)
        (True, True)
        """
        return floating_base.coupling_inertia(self, q, p)

    def generalised_jacobian(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Velocity `(..., 6, n - 6)` [angular; linear] of a frame per speed of everything but a free base, in axes that
        stand still, where the whole has no momentum: the base gives way to the arm.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`; the distal frame of the last link by default.

        Returns
        -------
        (..., 6, n - 6) array
            The columns are `speeds[6:]`.

        Raises
        ------
        ModelError
            The base does not fly.

        Notes
        -----
        J_m - J_b H_b^-1 H_bm with the blocks of Jacobian and inertia matrix that belong to the base and to the rest
        [UY89]. Amplitudes of flexible links have columns like joints.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> arm = pliant.load("two-link").replace({"base": base, "gravity": [0.0, 0.0, 0.0]})
        >>> model = arm.model()
        >>> model.generalised_jacobian(model.state(), frame="fore.root").shape
        (6, 4)
        """
        return floating_base.generalised_jacobian(self, q, p, frame)

    @checked
    def stored_momentum(self, q: ArrayLike, qd: ArrayLike, joint: str, p: ArrayLike | None = None) -> Array:
        """Momentum `(...,)` along the motion of a joint of all that it carries, dT/dqd: what a reaction wheel stores.

        Of a wheel with the moment J about its axis a on a body that turns with omega it is h = J (Omega + a . omega),
        and the torque of its joint is dh/dt. A wheel that shall store h0 starts at the speed h0 / J - a . omega.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        qd : (..., n) array
            Speeds.
        joint : str
            One of `joints`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (...,) array
            N m s, or N s of a sliding joint.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> wheel = pliant.Link.wheel("wheel", axis=(0, 0, 1), inertia=0.08)
        >>> model = pliant.Robot(name="spinner", gravity=[0, 0, 0], base=base, links=[wheel]).model()
        >>> model.stored_momentum(model.state(), [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 100.0], "wheel").round(6).item()
        8.04
        """
        return floating_base.stored_momentum(self, q, qd, joint, p)

    # -------------------------------------------------------------------------------------- derivatives of the dynamics

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None
    ) -> ForwardDerivatives | ForwardDerivativesOfParameters:
        """Accelerations and their exact derivatives by q, qd and tau, and by the parameters where there are any.

        Arrays on a CUDA device, of CuPy, PyTorch or JAX, are taken where they are, and CuPy arrays given back, by this
        and by all functions of a state.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        ForwardDerivatives
            `.qdd` (..., n), `.dq` and `.dqd` (..., n, n), `.dtau` (..., n, n_joints); `.dp` (..., n, P) of a model with
            parameters. Rows are accelerations.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> qdd, dq, dqd, dtau = model.forward_dynamics_derivatives(np.zeros(4), np.zeros(4), np.zeros(2))
        >>> qdd.shape, dq.shape, dqd.shape, dtau.shape
        ((4,), (4, 4), (4, 4), (4, 2))
        """
        fast = self._fast.get("forward_dynamics_derivatives")
        found = None if fast is None or p is not None else fast(q, qd, tau)
        if found is None:
            found = self._call_many("forward_dynamics_derivatives", p, q, qd, tau)
        return _named(FORWARD[len(found)], found)  # type: ignore[no-any-return]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, p: ArrayLike | None = None
    ) -> InverseDerivatives | InverseDerivativesOfParameters:
        """Generalized forces and their exact derivatives by q, qd and qdd, and by the parameters where there are any.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        InverseDerivatives
            `.force` (..., n), `.dq`, `.dqd` and `.dqdd` (..., n, n), the last the inertia matrix; `.dp` (..., n, P) of
            a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.inverse_dynamics_derivatives(np.zeros(4), np.zeros(4), np.zeros(4))
        >>> bool(np.allclose(found.dqdd, model.mass_matrix(np.zeros(4))))
        True
        """
        found = self._call_many("inverse_dynamics_derivatives", p, q, qd, qdd)
        return _named(INVERSE[len(found)], found)  # type: ignore[no-any-return]

    def forward_dynamics_jvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dtau: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> Array:
        """Change `(..., n)` of the accelerations along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        dq, dqd, dtau : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        (..., n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> along = model.forward_dynamics_jvp(*rest, d, d, np.ones(2))
        >>> by = model.forward_dynamics_derivatives(*rest)
        >>> bool(np.allclose(along, by.dq @ d + by.dqd @ d + by.dtau @ np.ones(2)))
        True
        """
        return self._call("forward_dynamics_jvp", p, q, qd, tau, changes=(dq, dqd, dtau, *self._change(dp)))

    def forward_dynamics_vjp(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, w: ArrayLike, p: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        """`w` times the derivatives of the accelerations: the gradient of w . qdd, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        w : (..., n) array
            Weights of the accelerations.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and tau, and by p of a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, w = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> by_q, by_qd, by_tau = model.forward_dynamics_vjp(*rest, w)
        >>> bool(np.allclose(by_q, w @ model.forward_dynamics_derivatives(*rest).dq))
        True
        """
        return self._call_many("forward_dynamics_vjp", p, q, qd, tau, changes=(w,))

    def forward_dynamics_hvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        w: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dtau: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> tuple[Array, ...]:
        """Second-order products: the change of `forward_dynamics_vjp` along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        w : (..., n) array
            Weights of the accelerations.
        dq, dqd, dtau : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and tau, and by p of a model with parameters: the Hessian of w . qdd
            times the direction.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> [row.shape for row in model.forward_dynamics_hvp(*rest, d, d, d, np.ones(2))]
        [(4,), (4,), (2,)]
        """
        changes = (w, dq, dqd, dtau, *self._change(dp))
        return self._call_many("forward_dynamics_hvp", p, q, qd, tau, changes=changes)

    def inverse_dynamics_jvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dqdd: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> Array:
        """Change `(..., n)` of the forces along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        dq, dqd, dqdd : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        (..., n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> along = model.inverse_dynamics_jvp(*rest, d, d, d)
        >>> by = model.inverse_dynamics_derivatives(*rest)
        >>> bool(np.allclose(along, by.dq @ d + by.dqd @ d + by.dqdd @ d))
        True
        """
        return self._call("inverse_dynamics_jvp", p, q, qd, qdd, changes=(dq, dqd, dqdd, *self._change(dp)))

    def inverse_dynamics_vjp(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, w: ArrayLike, p: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        """`w` times the derivatives of the forces: the gradient of w . force, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        w : (..., n) array
            Weights of the forces.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and qdd, and by p of a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, w = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> by_q, by_qd, by_qdd = model.inverse_dynamics_vjp(*rest, w)
        >>> bool(np.allclose(by_q, w @ model.inverse_dynamics_derivatives(*rest).dq))
        True
        """
        return self._call_many("inverse_dynamics_vjp", p, q, qd, qdd, changes=(w,))

    def inverse_dynamics_hvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        w: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dqdd: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> tuple[Array, ...]:
        """Second-order products: the change of `inverse_dynamics_vjp` along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        w : (..., n) array
            Weights of the forces.
        dq, dqd, dqdd : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and qdd, and by p of a model with parameters: the Hessian of w . force
            times the direction.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> [row.shape for row in model.inverse_dynamics_hvp(*rest, d, d, d, d)]
        [(4,), (4,), (4,)]
        """
        changes = (w, dq, dqd, dqdd, *self._change(dp))
        return self._call_many("inverse_dynamics_hvp", p, q, qd, qdd, changes=changes)

    def _change(self, dp: ArrayLike | None) -> tuple[ArrayLike, ...]:
        """Direction of the parameters in the form that a kernel takes."""
        if self.parameters:
            return (np.zeros(len(self.parameters)) if dp is None else dp,)
        if dp is not None and np.size(dp):
            raise ModelError("dp: this model has no parameters; make it with robot.model(parameters=[...])")
        return ()

    # ------------------------------------------------------------------------------------------- rest and small motions

    @checked
    def frequencies(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    ) -> Array:
        """Natural frequencies in Hz, ascending, undamped, about `q` under its holding torque.

        From the second derivative of the potential energy (gravity included) and the inertia matrix. "locked" holds
        motors where present, else joints; "free" holds nothing, so each free joint adds a zero or a pendulum
        frequency. An unstable direction (negative stiffness) is returned as a negative number. `loads` of
        `pliant.loads`, taken at t = 0, stiffen and soften: with stiffening, a compressed beam buckles where its
        frequency vanishes. Loads that follow the arm may let it flutter: of two motions exp(s t) with one frequency,
        the one that grows is negative, each |s|. With `rates` the arm spins steadily, and what is held spins on.

        Of a free base the first six are exactly zero, whatever follows: its rigid motions, in the order of
        `speeds[:6]`. Gravity, in which it falls, changes nothing; about loads and spins, in which nothing is at rest,
        ask `linearize`.

        Parameters
        ----------
        q : (n,) array, optional
            State about which to linearize. By default static rest with the joints at zero (a sliding beam at its
            length), under gravity and `loads`; with `rates` the steady spin there. A free base under gravity falls: the
            undeformed arm is used.
            Coordinates that a partly given state leaves open are those of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            Coordinates that are held: motors where present, else joints, or none.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        rates : (n_joints,) array or mapping, optional
            Steady rates of the joints, rad/s or m/s, about the state that `equilibrium` gives for them.

        Returns
        -------
        (k,) array
            Hz.

        Examples
        --------
        >>> print(pliant.load("two-link").model().frequencies().round(2))
        [ 2.13 16.37]
        """
        model = self._fitted(q, loads, p, rates)
        state = statics.state_or_rest(model, q, p, loads, rates)
        found = small_vibrations.frequencies(model, state, model._free(joints == "locked"), loads, p, rates)
        tell(model, slow(found) if joints == "locked" else {})
        return found

    @checked
    def modes(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
    ) -> Modes:
        """Natural modes about `q`: frequencies in Hz, damping ratios and shapes.

        Of a free base the first six are its rigid motions, frequencies exactly zero, in the order of `speeds[:6]`:
        turns about the center of mass of the whole, and shifts.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            State about which to linearize. By default static rest with the joints at zero (a sliding beam at its
            length), under gravity and `loads`. A free base under gravity falls: it takes the undeformed arm.
            Coordinates that a partly given state leaves open are those of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            Coordinates that are held, as in `frequencies`.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        Modes

        Examples
        --------
        >>> modes = pliant.load("two-link").model().modes(joints="free")
        >>> modes.frequencies.shape, modes.shapes.shape
        ((4,), (4, 4))
        """
        model = self._fitted(q, loads, p)
        state = statics.state_or_rest(model, q, p, loads)
        found = small_vibrations.modes(model, state, model._free(joints == "locked"), loads, p)
        damping = partial(_mode_damping, model, state, found, p)
        return Modes(small_vibrations.hertz(found[0]), found[1], damping)

    @checked
    def damping_ratios(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        p: ArrayLike | None = None,
    ) -> Array:
        """Part of the critical damping of each mode of the arm, in the order of `frequencies`.

        Links, drives and joint friction together, linearized about rest; to first order in the damping, which is exact
        where it couples no modes. NaN where a mode has no frequency.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            State about which to linearize. By default static rest with the joints at zero (a sliding beam at its
            length), under gravity. A free base under gravity falls: it takes the undeformed arm.
            Coordinates that a partly given state leaves open are those of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            Coordinates that are held, as in `frequencies`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (k,) array

        Examples
        --------
        >>> robot = pliant.load("two-link").replace({"links.fore.shapes.damping": 0.02})
        >>> print(robot.model().damping_ratios().round(4))
        [0.0003 0.039 ]
        """
        model = self._fitted(q, (), p)
        tell(model, drifted_rows(model, p))
        state = statics.state_or_rest(model, q, p)
        return small_vibrations.damping_ratios(model, state, model._free(joints == "locked"), p)

    @checked
    def stiffness(self, q: ArrayLike, loads: Sequence[Load] = (), p: ArrayLike | None = None) -> Array:
        """Hessian (n, n) of the potential energy, gravity included, less the slopes of the forces of `loads`.

        A free base falls with all that it carries, so that gravity holds and bends nothing: it is left out there.

        Parameters
        ----------
        q : (n,) array
            Coordinates.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (n, n) array
            N m, N or N/m, by the units of the coordinates.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> K = model.stiffness(np.zeros(model.n))
        >>> bool(np.allclose(K, K.T))
        True
        """
        if not len(loads):
            return self._call("stiffness", p, q)
        model = self._fitted(q, loads, p)
        return model._call("stiffness", p, q) - force_functions.applied(model, loads, p)(q)[1]

    @checked
    def equilibrium(
        self,
        joints: StateLike,
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        held: HeldName = "joints",
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
        stable: bool = False,
    ) -> Array:
        """Coordinates (n,) at static rest, or in steady spin, with the joints held at the given positions.

        Amplitudes, and motors of elastic drives, settle under gravity and `loads` (of `pliant.loads`, taken at t = 0);
        `holding_torque` of the result keeps the arm there. A free base stays where it is; `equilibrium` raises
        `ModelError` if gravity or loads would move it.

        Parameters
        ----------
        joints : (n_joints,) array
            Positions at which the joints are held, rad or m. Of an arm with loops or passive joints also a whole state,
            or some of it by name: the actuated joints stay there, the others settle from there, loops closed, to a
            rest that is stable.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        held : "joints" or "motors"
            Coordinates with these positions: the joints, or the motors of elastic drives, behind which joints settle.
        rates : (n_joints,) array or mapping, optional
            Rates at which joints spin on, rad/s or m/s; `ModelError` if the arm would not settle.
        stable : bool
            Whether to go on from an unstable rest, such as a straight column above its buckling load, to a stable one:
            the bent column, which needs `pieces` in its beam. Of two mirror images either may be found. By default the
            rest that Newton's method finds from the undeformed arm is returned, and a warning says if it is unstable.
            Arms with loops or passive joints always settle to a stable rest.

        Returns
        -------
        (n,) array

        Examples
        --------
        >>> q = pliant.load("two-link").model().equilibrium([0.0, 0.0])
        >>> q.shape, bool((q[2:] < 0).all())  # both links sag
        ((4,), True)
        """
        model = self._fitted(joints, loads, p, rates, "joints")
        statics.require_no_fall(model, p)
        q = statics.equilibrium(model, joints, loads, p, held, rates, stable)
        statics.require_balance(model, q, loads, p, rates)
        tell(model, steep(model, q))
        return q

    @checked
    def holding_torque(
        self,
        q: ArrayLike,
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    ) -> Array:
        """Torques (n_joints,) that balance the actuated coordinates at rest in `q`, or in steady spin, under `loads`.

        Parameters
        ----------
        q : (n,) array
            Coordinates at rest.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        rates : (n_joints,) array or mapping, optional
            Steady rates of the joints, rad/s or m/s.

        Returns
        -------
        (n_joints,) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> tau = model.holding_torque(model.equilibrium([0.0, 0.0]))
        >>> bool(tau[0] > tau[1] > 0)
        True
        """
        model = self._fitted(q, loads, p, rates)
        if not self.layout.is_open:
            loop_motion.require_held_still(model, rates)
        return statics.holding_torque(
            model, np.asarray(q, dtype=float), steady_spin.steady_rates(model, rates), loads, p
        )

    @checked
    def linearize(
        self,
        q: StateLike | None = None,
        qd: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
        tau: ArrayLike | None = None,
        outputs: Callable[[Expression, Expression], Expression] | None = None,
        p: ArrayLike | None = None,
        loads: Sequence[Load] = (),
        joints: JointsName = "free",
    ) -> StateSpace:
        """Exact linearization about a state; `tau` defaults to the torque that balances the actuated coordinates there.

        `outputs(q, qd)` is a function in CasADi operations; without it y = x.

        Parameters
        ----------
        q : (n,) array, optional
            Coordinates of the state; by default static rest, as in `frequencies`.
        qd : (n,) array, optional
            Rates; zero by default.
        tau : (n_joints,) array, optional
            Torques; those that balance the actuated coordinates by default.
        outputs : function, optional
            y = outputs(q, qd) in CasADi operations; y = x by default. Where loops are closed, q and qd are all
            coordinates and speeds, and x those of `independent(q)`, which the others follow.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0; also those that follow the arm.
        joints : "free" or "locked"
            "locked" holds motors where present, else joints: they stand, or go on at the rates that `qd` gives them,
            and are no part of x.

        Returns
        -------
        StateSpace
            `.A`, `.B`, `.C` and `.D` of x' = A x + B u, y = C x + D u with x = [q; qd] of what is not held.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> system = model.linearize(model.equilibrium([0.0, 0.0]), outputs=lambda q, qd: q[:2])
        >>> system.A.shape, system.B.shape, system.C.shape
        ((8, 8), (8, 2), (2, 8))
        >>> push = pliant.loads.Wrench(force=[-20.0, 0.0, 0.0], axes="section")  # it follows the tip
        >>> model.linearize(model.equilibrium([0.0, 0.0], [push]), loads=[push], joints="locked").A.shape
        (4, 4)
        """
        model = self._fitted(q, loads, p, qd)
        require_loads(loads)
        tell(model, drifted_rows(model, p))
        at, rates = statics.state_or_rest(model, q, p, loads), read_state(model, qd, "qd")
        tau = statics.holding_torque(model, at, rates, loads, p) if tau is None else tau
        free = model._free(joints == "locked")
        return linearization.state_space(model, at, rates, tau, free=free, outputs=outputs, loads=loads, p=p)

    def _fitted(
        self, q: StateLike | None, loads: Sequence[Load] = (), p: ArrayLike | None = None,
        rates: StateLike | None = None, name: str = "q",
    ) -> Model:  # fmt: skip
        """Return this model, or the same with second order where loads, parameters or rates at a state ask for it."""
        if not is_checked(self):
            return self
        require_loads(loads)
        state = None if (isinstance(q, str) and q == EQUILIBRIUM) or (isinstance(q, Sized) and not len(q)) else q
        at, qd = read_state(self, state, name), read_state(self, rates, "rates")
        if self.level.can_rise and not (acts(self, loads) or qd.any() or corners(self, p) is not None):
            return self
        model = stiffening_check.fitted(self, at, loads, p, qd)
        return self if model is self else model._fitted(q, loads, p, rates, name)

    def _free(self, locked: bool) -> list[int]:
        held = {shaft.actuated for shaft in self.layout.shafts} if locked else set()
        return [k for k in range(self.n) if k not in held]


def raised(model: Model, found: Effect) -> Model:
    """Return the same arm with second order, which an effect asks for. All such models share what is traced."""
    level, first, o = Level("second-order", str(found), True), model.first, model.options
    risen = first.derived("second order", (), lambda: first._like(level, o.parameters, o.shapes))
    return risen if first is model else risen._at(model.robot, np.asarray(model.nominal_parameters))


def _place(what: str, given: str, known: tuple[str, ...]) -> int:
    if given not in known:
        raise ModelError(f"{what}: got {given!r}, expected one of {', '.join(known)}")
    return known.index(given)


def _leading(q: ArrayLike) -> tuple[int, ...]:
    """Shape of a batch of states."""
    try:
        return np.asarray(q, dtype=float).shape[:-1]
    except (TypeError, ValueError):
        raise ModelError(f"q: got {shown(q)}, expected (..., n) finite numbers") from None


def _mode_damping(model: Model, state: Array, found: tuple[Array, Array], p: ArrayLike | None) -> Array:
    """Damping ratios of modes that were found, with a warning where dampers have drifted."""
    tell(model, drifted_rows(model, p))
    return small_vibrations.ratios(model, state, found, p)
