"""Dynamics, controller, torques, loads and prescribed motion as one function xdot = f(t, x, p), compiled once per
combination.

x = [free coordinates, their rates, controller states, drive states, roots that the run carries, work done on the arm];
p = [held torques (m), piece of sampled torques (5 m, if any), pieces of series, numbers of controller and motion,
parameters].

`compose` gives the `Composition` of a model and what drives it. A composition knows its functions by recipe and makes
expressions (`composed_equations.py`) only where no compiled code is kept. Besides f and its Jacobian it has what a run
needs before, during and after integration: the state at the start, times at which steps end (breaks, switches, short
features of inputs), impulses (`rate_jumps.py`), ticks of a sampled controller, and the histories that are read from
states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.arrays import Array, Expression
from pliant.base.content import content
from pliant.base.derived import Derived, Same, shared_property, symbolic_property
from pliant.base.signatures import checked, require_loads
from pliant.base.tuning import form, numbers_of
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape import one_sided_time
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import ModelError, UnsupportedModel, warn_user
from pliant.integrators.problem import Problem
from pliant.model.model import Model
from pliant.protocols import Bindable, MovingBase, PrescribedMotion, TorqueLaw
from pliant.robot.gaps import has_gaps
from pliant.robot.parts.loop_joints import WORLD
from pliant.simulation.runs.equations.piece_tables import PieceTable, pattern, series_in, series_table
from pliant.simulation.runs.equations.rate_jumps import LOOKS, Impulses, MotionJumps
from pliant.simulation.runs.equations.sharp_inputs import CALLED_CELLS, Sharp, Signals, sharp_times

if TYPE_CHECKING:
    import casadi as ca

    from pliant.compute.tape.columns import ColumnFunction
    from pliant.mechanics.loads.wrenches import Load
    from pliant.simulation.runs.equations.composed_equations import ComposedEquations

TABLE_WIDTH = 5
"""Numbers of a sampled torque per joint: the cubic of the present piece, and the time at which it starts."""
LARGEST_RATES = 15_000
"""Instructions of f beyond which an exact Jacobian, which has some seven times as many, takes more than about ten
seconds to trace and compile."""
QUICK_JACOBIAN = 15_000
"""Instructions of an exact Jacobian beyond which it is compiled quickly: a run needs it once a step, beside eight
evaluations of f and a factorization."""
LARGEST_JACOBIAN = 400_000
"""Instructions of f times states: the same limit where accelerations are differentiated through their elimination."""
MOST_SAMPLES = 1e8
"""Samples of a controller in a run, at most: more would fill the memory."""
EDGE = 1e-12
"""Part of a run: a break nearer than this to its start or end is no break."""
ARMS_SAMPLED = 16
"""Arms of a batch with parameters of their own whose inputs are sampled for short features."""


@checked
@dataclass(frozen=True)
class Event:
    """A condition g(t, q, qd), in CasADi operations, whose zero crossing is found exactly on the dense output.

    `direction` is +1 for rising, -1 for falling, 0 for both; `stop` ends the run there, `cut` a step of it.

    Parameters
    ----------
    name : str
        Its name in the result.
    condition : function
        g(t, q, qd) in CasADi operations.
    direction : int
        +1 for rising, -1 for falling, 0 for both.
    stop : bool
        End the run there.
    fatal : bool
        Count that end as a failure of the run.
    cut : bool
        End a step there and go on, without recording it: the equations have a kink there, as where a spring touches.
        Methods with fixed steps pass over it.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> falls = pliant.Event("fallen", lambda t, q, qd: q[0] + 0.1, direction=-1)
    >>> result = pliant.simulate(model, 1.0, events=[falls])
    >>> result.stats.status, round(float(result.q[-1, 0]), 9)
    ('event', -0.1)
    """

    name: str
    condition: Callable[[Expression, Expression, Expression], Expression]
    direction: int = 0
    stop: bool = True
    fatal: bool = False
    cut: bool = False


def compose(
    model: Model,
    torque: Any,
    controller: Any,
    motion: Mapping[str, PrescribedMotion],
    loads: tuple[Load, ...],
    base: MovingBase | None,
    has_table: bool,
    tuned: bool = False,
    looked_up: bool = False,
    closed: bool = False,
) -> Composition:
    """The composition of these parts, from the model's last few if they are the same objects.

    Gains, goals and other numbers of controller and motion are constants of f, or inputs of f if it is to be `tuned`.
    Long series are written out in f, or are inputs that the caller looks up by the time (`looked_up`, see
    `Composition.table`). Arms with loops are refused unless the caller closes the loops after every step (`closed`).
    Torque and controller are laws or None; other forms of them are inputs p, see `inputs.py`.
    """
    if not closed:
        model.layout.require_tree("this use of a run")
    if base is not None:
        for loop in model.robot.loops:
            if WORLD in loop.between:
                raise UnsupportedModel(
                    f"loop `{loop.name}`: not built for the world beside a base that moves; hold `base`"
                )
    require_loads(loads if base is None else (*loads, base))
    paths = tuple((name, Same(path)) for name, path in sorted(motion.items(), key=lambda item: item[0]))
    key = (*map(Same, (torque, controller, base)), paths, tuple(map(Same, loads)), has_table, tuned, looked_up)
    parts = RunParts(torque=torque, controller=controller, motion=dict(motion), loads=loads, base=base)
    return model.derived("compositions", key, lambda: Composition(model, parts, has_table, tuned, looked_up))


class RunParts(NamedTuple):
    """Parts of a run besides the arm, as the caller gives them."""

    torque: TorqueLaw | None
    controller: Bindable | TorqueLaw | None
    motion: dict[str, PrescribedMotion]
    loads: tuple[Load, ...]
    base: MovingBase | None


class Composition:
    """The functions that make a run and read it, by recipe; `equations` has the expressions, made when asked for.

    `free` numbers the speeds that are not `prescribed`, `free_places` are those of their coordinates; `moving` counts
    both. Compositions that differ only in the tunable numbers, `given`, share what the `first` of them made.
    """

    def __init__(
        self, model: Model, parts: RunParts, has_table: bool, tuned: bool = False, looked_up: bool = False
    ) -> None:
        self.model, self.has_table, self.derived = model, has_table, Derived()
        self.torque, _, self.motion, self.loads, self.base = parts
        self.series = series_in(parts) if looked_up else ()
        series_pattern = pattern(parts) if looked_up else ""
        by = "series_form" if self.series else "recipe"
        known = None if model.recipe is None else content(*parts, has_table, series_pattern, by=by)
        self.recipe = None if known is None else f"{model.recipe} {known}"
        law: Any = parts.controller
        self.controller = law = law.bind(model) if hasattr(law, "bind") else law
        numbers_form = form((law, self.motion)) if tuned else None
        self.given = np.zeros(0) if numbers_form is None else numbers_of((law, self.motion))
        self._count_coordinates()
        self._count_states(law)
        if self.sample_time is not None and looked_up:  # the controller is asked with numbers, not by f
            self.series = series_in((self.torque, self.motion, self.loads, self.base))
        self._first: Composition | None = None
        if self.given.size:
            self._share(f"{numbers_form}", series_pattern)

    def _count_coordinates(self) -> None:
        """Set which coordinates are prescribed and which are free."""
        model = self.model
        self.n, self.n_q, self.m = model.n, model.n_q, model.layout.n_inputs
        self.prescribed = {prescribed_index(model, name): (name, path) for name, path in self.motion.items()}
        held = {model.speeds[k] for k in self.prescribed}
        self.free = [k for k in range(self.n) if k not in self.prescribed]
        self.free_places = [k for k, name in enumerate(model.coordinates) if name not in held]
        self.moving = len(self.free_places) + len(self.free)
        self.quaternions = tuple(self.free_places.index(k) for k in model.layout.quaternions)

    def _count_states(self, law: object) -> None:
        """Set the number of states of controller and drives; a sampled controller has none in f."""
        self.sample_time: float | None = getattr(law, "sample_time", None)
        self.ticks = self.sample_time is not None and hasattr(law, "ticking")
        self.n_states = 0 if self.sample_time is not None else int(getattr(law, "n_states", 0))
        self.n_drive_states = len(self.model.layout.drive_states)

    def _share(self, numbers_form: str, series_pattern: str) -> None:
        """Find the first composition of this form, and the recipe of all of them: numbers are inputs, not content."""
        model, fixed = self.model, (self.torque, self.loads, self.base)
        rest = [content(part, by="form") or Same(part) for part in (self.torque, *self.loads, self.base)]
        known = None if model.form is None else content(*fixed, self.has_table, series_pattern, by="form")
        self.recipe = None if known is None else f"{model.form} {known} {numbers_form}"
        key = (numbers_form, *rest, self.has_table, series_pattern)
        first = model.first.derived("forms of runs", key, lambda: self)
        self._first = None if first is self else first

    @property
    def first(self) -> Composition:
        """Composition of this form that keeps what all of them share."""
        return self if self._first is None else self._first

    @shared_property
    def _numbers_kernel(self) -> Kernel:
        return Kernel(self._recorded("numbers", lambda: self.equations.numbers()), longest_optimized=0)

    @symbolic_property
    def numbers(self) -> Array:
        """Entries of p that follow from gains, goals and other numbers of controller and motion."""
        return np.asarray(self._numbers_kernel(self.given)) if self.given.size else self.given

    @property
    def n_p(self) -> int:
        """Number of inputs p."""
        return int(self.inputs_at(np.zeros(1)).shape[1])

    @symbolic_property
    def table(self) -> PieceTable | None:
        """Pieces of the series, by the time; None where there are none."""
        return series_table(self.series)

    @property
    def n_held(self) -> int:
        """Number of inputs that are looked up by the time: sampled torques and series."""
        return (TABLE_WIDTH * self.m if self.has_table else 0) + self.n_series

    @property
    def n_series(self) -> int:
        """Number of inputs that are pieces of series."""
        return 0 if self.table is None else int(self.table.pieces.shape[2])

    def series_at(self, times: Array) -> Array:
        """(N, n_series) pieces that hold at these times, and right after them."""
        if self.table is None:
            return np.zeros((len(times), 0))
        return np.asarray(self.table.pieces[0, self.table.piece(times)])

    def inputs_at(self, times: Array) -> Array:
        """(N, n_p) p at these times without torques, under nominal parameters."""
        torques = np.zeros(self.m * (1 + TABLE_WIDTH if self.has_table else 1))
        fixed = np.concatenate([self.numbers, self.model.nominal_parameters])
        each = [np.broadcast_to(part, (len(times), len(part))) for part in (torques, fixed)]
        return np.hstack([each[0], self.series_at(times), each[1]])

    @shared_property
    def equations(self) -> ComposedEquations:
        """Expressions of the run; making them imports CasADi."""
        from pliant.simulation.runs.equations.composed_equations import ComposedEquations

        return ComposedEquations(self)

    @property
    def size(self) -> int:
        """Number of states: free coordinates and rates, controller, drives, work."""
        return self.moving + self.n_states + self.n_drive_states + 1

    def place(self, index: int) -> int:
        """Place of a prescribed coordinate, from the number of its speed."""
        return self.model.index(self.model.speeds[index])

    # ---------------------------------------------------------------------------------------- running

    def _recorded(self, name: str | None, trace: Callable[[], ca.Function | ColumnFunction]) -> Recorded:
        """Function of the composition, recorded by its name; without a name it has no recipe."""
        recipe = None if self.recipe is None or name is None else f"{self.recipe} {name}"
        return Recorded(trace, recipe, title=f"a run of {self.model.robot.name}")

    @property
    def function(self) -> ca.Function:
        """f as a CasADi function."""
        function: ca.Function = self.equations.function
        return function

    @shared_property
    def rhs(self) -> Kernel:
        """f(t, x, p)."""
        return Kernel(self._recorded("rhs", lambda: self.function))

    def _switches(self, t_end: float) -> Sequence[float]:
        """Times until `t_end` at which f switches."""
        kept = self._kept_switches
        if not (kept["times"] or kept["indicators"]):
            return ()
        from pliant.compute.tape.switches import Switches

        return [float(t) for t in Switches.from_record(kept).until(t_end)]

    @shared_property
    def _kept_switches(self) -> dict[str, object]:
        recipe = self.recipe and f"{self.recipe} switches"

        def found() -> dict[str, object]:
            inputs = self.equations.time_inputs().numel_out(0)
            record: dict[str, object] = self.equations.switches.to_record()
            return record | {"inputs": inputs}

        return recalled(recipe, found)  # type: ignore[no-any-return]

    @property
    def implicit(self) -> bool:
        """True if df/dx follows from inverse dynamics. Nothing is prescribed then, no loop is closed, and no
        joint has a quaternion, of whose length the two ways take a different view."""
        return self.model.layout.plain and not (self.prescribed or self.model.layout.rows)

    @shared_property
    def jacobian(self) -> Kernel:
        """df/dx and df/dt, exact."""
        recorded = self._recorded("jacobian", lambda: self.equations.jacobian())
        return Kernel(recorded, longest_optimized=QUICK_JACOBIAN)

    def problem(self) -> Problem:
        """Problem for the integrators; a Jacobian that would take long to compile is left to differences."""
        size, length, layout = self.size, self.rhs.n_instructions(), self.model.layout
        exact = length <= LARGEST_RATES if self.implicit else length * size < LARGEST_JACOBIAN
        return Problem(
            rhs=self.rhs.address,
            n=size,
            n_parameters=self.n_p,
            jacobian=(lambda: self.jacobian.address) if exact else None,
            n_positions=len(self.free) if layout.plain else 0,
            expression=lambda: self.function,
            owner=self,
            quaternions=self.quaternions,
            closing=self.closing.address if layout.rows else 0,
            approach=self.approach.address if self.meets else 0,
            meets=self.meets,
        )

    @property
    def meets(self) -> int:
        """Number of gaps to what the arm may meet: contacts, stops, cables, ends of cylinders."""
        return self.approach.signature.out_sizes[0] // 2 if may_meet(self.model) else 0

    @shared_property
    def approach(self) -> Kernel:
        """Gaps to what the arm may meet, and speeds past it; see `mechanics.constraints.clearances`."""
        return Kernel(self._recorded("approach", lambda: self.equations.approach()))

    @shared_property
    def closing(self) -> Kernel:
        """State nearer to closed loops, by how much it was moved, and the least part of a row that the others leave."""
        return Kernel(self._recorded("closing", lambda: self.equations.closing()))

    def tolerances(self, atol: float) -> Array:
        """Absolute tolerance of each state: work is a quadrature and limits no step, unless it is the only state."""
        out = np.full(self.size, float(atol))
        if len(out) > 1:
            out[-1] = np.inf
        return out

    def start(self, q0: Array, qd0: Array, p: Array | None = None) -> Array:
        """Initial state; prescribed coordinates start on their paths whatever `q0` says. Under inputs `p`, friction
        starts loaded as the arm asks, and amplifiers at their command."""
        z0 = np.zeros(self.n_states)
        if self.n_states and hasattr(self.controller, "initial_state"):
            z0 = np.asarray(self.controller.initial_state, dtype=float)
        x = np.concatenate([q0[self.free_places], qd0[self.free], z0, np.zeros(self.n_drive_states), [0.0]])
        if self.n_drive_states and p is not None:
            x[self.moving + self.n_states : -1] = self._load_kernel(np.zeros(1), x, p)
        return x

    @shared_property
    def _load_kernel(self) -> Kernel:
        return Kernel(self._recorded("load", lambda: self.equations.read("load", ["loaded"])), longest_optimized=0)

    @symbolic_property
    def on_paths(self) -> dict[int, tuple[float, float]]:
        """Position and rate of the prescribed coordinates at the start."""
        if not self.prescribed:
            return {}
        x, v, _ = self._motion(one_sided_time.after(np.zeros(1)))
        return dict(zip(self.prescribed, zip(x[0].tolist(), v[0].tolist())))

    @symbolic_property
    def before_start(self) -> dict[int, float]:
        """Rates of the prescribed coordinates before the start, as their paths say."""
        if not self.prescribed:
            return {}
        _, v, _ = self._motion(one_sided_time.before(np.zeros(1)))
        return dict(zip(self.prescribed, v[0].tolist()))

    @shared_property
    def _motion_kernel(self) -> Kernel:
        return Kernel(self._recorded("motion", lambda: self.equations.motion()), longest_optimized=0)

    def _motion(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, rates and accelerations (K, paths) of what is prescribed."""
        x, v, a = self._motion_kernel(times[:, None], self.inputs_at(times))
        return x, v, a

    def fastest(self, t_end: float) -> float:
        """Largest sum of the magnitudes of prescribed rates until a time, rad/s and m/s."""
        rates = np.abs(self._motion(np.linspace(0.0, t_end, LOOKS))[1]).sum(axis=1)
        return float(np.nan_to_num(rates, nan=np.inf).max())

    def kinks(self, t_end: float, declared: Sequence[float] = ()) -> Array:
        """Times at which f is not smooth, so that steps end there: declared by the caller or by a part, or read from
        the comparisons of the time in f itself."""
        found = [float(b) for b in declared]
        for part in self._driving:
            found += [float(b) for b in getattr(part, "breaks", ())]
        found = [*found, *self._switches(t_end)]
        edge = EDGE * t_end
        times = np.array(sorted({b for b in found if edge < b < t_end - edge}))
        apart = times[1:] > one_sided_time.after(times[:-1])  # the two sides of a comparison may be one rounding apart
        return times[np.append(True, apart)] if len(times) else times

    def breaks(
        self, t_end: float, declared: Sequence[float] = (), own: Array | None = None, called: Signals | None = None,
        fixed_step: float | None = None,
    ) -> Array:  # fmt: skip
        """Times at which steps end: kinks, and the ends of short features of inputs that depend on the time.

        `own` (P,) or (A, P) are the parameters of the run or of the arms of a batch; `called` gives Python functions at
        times (N,). Warn of a fixed step that is longer than such a feature.
        """
        kinks = self.kinks(t_end, declared)
        found = self.sharp(0.0, t_end, kinks, own)
        if called is not None:
            found = found.with_(sharp_times(called, 0.0, t_end, np.union1d(kinks, found.times), CALLED_CELLS))
        if fixed_step is not None and fixed_step > found.shortest:
            warn_user(
                f"step: got {fixed_step:g} s, but an input changes within {found.shortest:.2g} s near t = "
                f"{found.times[0]:.6g} s; steps end around it, but may be too long to follow it; give step="
                f"{found.shortest / 4:.1g} or less"
            )
        if self.prescribed and len(found.times):
            self._jumps.require_declared(kinks, t_end)  # a jump may lie inside a feature, which hides it
        return np.union1d(kinks, found.times)

    def sharp(self, start: float, end: float, kinks: Array, own: Array | None = None) -> Sharp:
        """Ends of short features of compiled inputs between two times; in a batch, inputs of its first arms."""
        found = Sharp(np.empty(0))
        if not self._kept_switches["inputs"] or (own is None and self.own_symbols):
            return found
        given = np.atleast_2d(self.model.nominal_parameters if own is None else own)
        for numbers in np.unique(given, axis=0)[:ARMS_SAMPLED] if len(given) > 1 else given:
            found = found.with_(sharp_times(partial(self._inputs_over, numbers), start, end, kinks))
        return found

    def _inputs_over(self, own: Array, times: Array) -> Array:
        """(N, M) inputs that depend on the time, under these parameters."""
        p = self.inputs_at(times)
        fixed = p[:, : p.shape[1] - len(self.model.nominal_parameters)]
        rows = np.hstack([fixed, np.broadcast_to(own, (len(times), len(own)))])
        with np.errstate(all="ignore"):
            return np.asarray(self._time_inputs(times[:, None], rows))

    @shared_property
    def _time_inputs(self) -> Kernel:
        return Kernel(self._recorded("time inputs", lambda: self.equations.time_inputs()), longest_optimized=0)

    @property
    def own_symbols(self) -> tuple[Expression, ...]:
        """Symbols of numbers that arms of a batch have of their own, after the parameters of the model."""
        given: dict[str, Expression] = {}
        for part in (self.torque, self.controller):
            given |= getattr(part, "parameters", {}) if isinstance(getattr(part, "parameters", None), dict) else {}
        return tuple(given.values())

    @property
    def is_broken(self) -> bool:
        """True if steps may have to end at some time: f switches, has inputs that depend on the time, or declares
        breaks."""
        kept = self._kept_switches
        known = kept["times"] or kept["indicators"] or kept["inputs"]
        return bool(known) or any(len(getattr(part, "breaks", ())) for part in self._driving)

    @property
    def _driving(self) -> tuple[object, ...]:
        """Parts that drive the run, each of which may declare `breaks`."""
        return (*self.motion.values(), self.torque, self.controller, *self.loads, self.base)

    @property
    def _jumps(self) -> MotionJumps:
        """Prescribed motion, to be searched for jumps; series are polynomials between their breaks and have none."""
        undeclared = [k for k, (_, path) in enumerate(self.prescribed.values()) if not series_in(path)]
        return MotionJumps(self._motion, [self.model.speeds[index] for index in self.prescribed], undeclared)

    def impulses(self, breaks: Array, t_end: float | None = None, features: Array | None = None) -> Impulses:
        """Jumps of prescribed rates at these times. Until `t_end`, a jump elsewhere raises `ModelError`; short
        `features` are among the times, and a jump between their ends is one elsewhere."""
        if self.prescribed and t_end is not None:
            self._jumps.require_declared(breaks if features is None else np.setdiff1d(breaks, features), t_end)
        return self._jumps.impulses(breaks)

    @shared_property
    def impulse_kernel(self) -> Kernel:
        """State after a jump, a function of t, x, p and the prescribed rates before and after."""
        return Kernel(self._recorded("impulse", lambda: self.equations.impulse()), "vm")

    def tick_times(self, t_end: float) -> Array:
        """Times at which a sampled controller may act in a run."""
        return tick_times(float(self.sample_time or 0.0), t_end)

    @shared_property
    def tick_kernel(self) -> Kernel:
        """Tick of a sampled controller: held torques and memory, a function of t, x, p, noise and memory."""
        return Kernel(self._recorded("tick", lambda: self.equations.tick_function()))

    @symbolic_property
    def tick_start(self) -> Array:
        """Memory of a sampled controller at the start. In `tick_kernel`, torques to which it adds its own stand before
        it."""
        import casadi as ca

        from pliant.control.controllers.controller import Felt

        t, q, qd = ca.SX.sym("t"), ca.SX.sym("q", self.n_q), ca.SX.sym("qd", self.n)
        return np.asarray(self.controller.ticking(t, q, qd, Felt(self.loads, self.base, lambda tau: qd)).start)

    def sampler(self) -> Callable[[float, Array, Array], Array] | None:
        """New function of a sampled controller that is called at its sample times; it may have a memory."""
        if self.controller is None or self.sample_time is None:
            return None
        sampler: Callable[[float, Array, Array], Array] = self.controller.sampler()
        return sampler

    def event_kernel(self, events: tuple[Event, ...]) -> Kernel:
        """g(t, x, p) of all events."""
        known = content(events)
        recorded = self._recorded(known and f"events {known}", lambda: self.equations.events(events))
        return self.first.derived("events", known or tuple(map(Same, events)), lambda: Kernel(recorded))

    # ---------------------------------------------------------------------------------------- reading

    @shared_property
    def _coordinate_kernel(self) -> Kernel:
        return Kernel(self._recorded("coordinates", lambda: self.equations.read("coordinates", ["q", "qd"])), "vm")

    def full_state(self, t: float, x: Array) -> tuple[Array, Array]:
        """All coordinates and rates of one state."""
        if not self.prescribed:
            return x[: self.n_q].copy(), x[self.n_q : self.moving].copy()
        q, qd = self._coordinate_kernel(np.array([t]), x, self.inputs_at(np.array([t]))[0])
        return q, qd

    def histories(self, t: Array, x: Array) -> tuple[Array, Array, Array]:
        """q (N, n_q), qd (N, n), and controller states, states of drives and work (N, ...)."""
        rest = x[:, self.moving :]
        if not self.prescribed:
            return x[:, : self.n_q].copy(), x[:, self.n_q : self.moving].copy(), rest
        q, qd = self._coordinate_kernel(t[:, None], x, self.inputs_at(t))
        return q, qd, rest

    @shared_property
    def _torque_kernel(self) -> Kernel:
        what = ["tau", "residual", "qdd", "multipliers"]
        return Kernel(self._recorded("torques", lambda: self.equations.read("torques", what)), "vm")

    def torques(self, t: Array, x: Array, inputs: Array, parameters: Array) -> tuple[Array, Array, Array, Array]:
        """(N, m) torques that acted, or that prescribed motion needed, the power residual (N,), accelerations (N, n),
        multipliers of closed loops (N, rows); parameters are (P,) or (N, P).

        The residual is dE/dt with the formulation's own accelerations, less the power of torques, loads and dampers.
        """
        p = np.hstack([inputs, np.broadcast_to(parameters, (len(t), parameters.shape[-1]))])
        shapes = (len(t), self.m), (len(t),), (len(t), self.n), (len(t), len(self.model.layout.rows))
        found = self._torque_kernel(t[:, None], x, p)
        tau, residual, qdd, multipliers = (np.asarray(a).reshape(shape) for a, shape in zip(found, shapes))
        return tau, residual, qdd, multipliers

    def state_name(self, index: int) -> str:
        """Name of a component of the state, for messages."""
        f = len(self.free_places)
        if index < self.moving:
            if index < f:
                return self.model.coordinates[self.free_places[index]]
            return f"{self.model.speeds[self.free[index - f]]} (rate)"
        if index == self.size - 1:
            return "work"
        names = [f"controller state {k + 1}" for k in range(self.n_states)]
        names += self.model.layout.drive_states
        return names[index - self.moving]


def tick_times(period: float, t_end: float) -> Array:
    """(K,) times, every `period` seconds until `t_end`; raises `ModelError` if there are too many."""
    if t_end > period * MOST_SAMPLES:
        raise ModelError(
            f"sample_time: got {period:g} s for a run of {t_end:g} s; expected at most {MOST_SAMPLES:g} samples"
        )
    return np.arange(0.0, t_end * (1 + 1e-12), period)


def prescribed_index(model: Model, name: str) -> int:
    """Number of the speed of a coordinate that a motion may prescribe."""
    allowed = [shaft.name for shaft in model.layout.shafts if shaft.place is not None]
    allowed += [name for name in model.coordinates if name.endswith(".motor")]
    if name not in allowed:
        raise ModelError(f"motion: {name!r} is not a joint or a motor; expected one of {', '.join(allowed)}")
    return model.speed_index(name)


def may_meet(model: Model) -> bool:
    """Return whether something acts on the arm only beyond a gap: contacts, stops, cables, ends of cylinders."""
    return model.derived("gaps", (), partial(has_gaps, model.robot))
