"""Dynamics, controller, torques, loads and prescribed motion as one expression xdot = f(t, x, p), compiled once per
combination.

x = [free coordinates, their rates, controller states, drive states, roots that the run carries, work done on the arm];
p = [held torques (m), piece of sampled torques (5 m, if any), pieces of series, numbers of controller and motion,
parameters].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arrays import Array
from pliant.base.content import content
from pliant.base.derived import Derived, Same, shared_property, symbolic_property
from pliant.base.signatures import checked, require_loads
from pliant.base.tuning import form, numbers_of
from pliant.compute.integrate.problem import Problem
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape import one_sided_time
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import ModelError, UnsupportedModel, warn_user
from pliant.model.model import Model
from pliant.robot.parts.loops import WORLD
from pliant.simulation.runs.piece_tables import PieceTable, pattern, series_in, series_table
from pliant.simulation.runs.sharp_inputs import CALLED_CELLS, Sharp, Signals, sharp_times

if TYPE_CHECKING:
    from pliant.simulation.runs.composed_equations import ComposedEquations

TABLE_WIDTH = 5
"""Numbers a sampled torque holds per joint: the cubic of the piece at hand, and the time it starts."""
LARGEST_RATES = 15_000
"""Instructions of f: beyond, an exact Jacobian, which has some seven times as many, takes more than about ten seconds
to trace and compile."""
QUICK_JACOBIAN = 15_000
"""Instructions of an exact Jacobian beyond which it is compiled quickly: a run asks for it once a step, beside eight
evaluations of f and a factorisation."""
LARGEST_JACOBIAN = 400_000
"""Instructions of f times states: the same where the accelerations are differentiated through their elimination."""
MOST_SAMPLES = 1e8
"""Of a controller: beyond, it is memory that ends the run."""
EDGE = 1e-12
"""Of a run: a break so near to its start or end is no break."""
CONTINUOUS = "a prescribed coordinate has to be continuous (its rate may jump)"
LOOKS, OBLIQUE = 1000, 0.381966
"""Times at which a prescribed path is looked at for jumps that nobody has declared, and where the first of them lies in
its share of the run: not where a kink would be put."""
HALVINGS = 60
"""Of the time between two of them: more than there are numbers between."""
BESIDE = 1e-3
"""Of that time: how far from a jump it is looked at."""
LEAST_JUMP = 1e-5
"""Of a position or a rate: a jump below it is not looked for."""
ARMS_SAMPLED = 16
"""Arms of a batch with parameters of their own whose inputs are sampled for short features."""
SAME = 1e-9
"""Of a position or a rate on either side of a break: more than round-off."""


@checked
@dataclass(frozen=True)
class Event:
    """A condition g(t, q, qd), in CasADi operations, whose zero crossing is found exactly on the dense output.

    `direction` is +1 for rising, -1 for falling, 0 for both; `stop` ends the run there, `cut` a step of it.

    Parameters
    ----------
    name : str
        By which the result names it.
    condition : function
        g(t, q, qd) in CasADi operations.
    direction : int
        +1 for rising, -1 for falling, 0 for both.
    stop : bool
        End the run there.
    fatal : bool
        Count that end as a failure of the run.
    cut : bool
        End a step there and go on, without a note of it: the equations have a kink there, as where a spring touches.
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
    condition: Callable[[Any, Any, Any], Any]
    direction: int = 0
    stop: bool = True
    fatal: bool = False
    cut: bool = False


def compose(
    model: Model,
    torque: Any,
    controller: Any,
    motion: Mapping[str, Any],
    loads: tuple[Any, ...],
    base: Any,
    has_table: bool,
    tuned: bool = False,
    looked_up: bool = False,
    closed: bool = False,
) -> Composition:
    """The composition of these parts, from the model's last few if they are the same objects.

    Gains, goals and other numbers of controller and motion are constants of f, or its inputs if it is to be `tuned`.
    Long series are written out in f, or inputs that whoever steps it `looked_up` by the time (`Composition.table`).
    Arms with loops are for those who close them after every step, and say so: `closed`.
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
    given = (model, torque, controller, dict(motion), loads, base, has_table, tuned, looked_up)
    return model.derived("compositions", key, lambda: Composition(*given))


class Composition:
    """The functions that make a run and read it, by recipe; `equations` has the expressions, made when asked for.

    `free` numbers the speeds that are not `prescribed`, `free_places` are those of their coordinates; `moving` counts
    both. Compositions that differ in `given` alone, the tunable numbers, share what the `first` of them made.
    """

    def __init__(
        self,
        model: Model,
        torque: Any,
        controller: Any,
        motion: dict[str, Any],
        loads: tuple[Any, ...],
        base: Any,
        has_table: bool,
        tuned: bool,
        looked_up: bool = False,
    ) -> None:
        parts = (torque, controller, motion, loads, base)
        self.series = series_in(parts) if looked_up else ()
        shared = pattern(parts) if looked_up else ""
        by = "series_form" if self.series else "recipe"
        known = None if model.recipe is None else content(*parts, has_table, shared, by=by)
        self.recipe = None if known is None else f"{model.recipe} {known}"
        controller = controller.bind(model) if hasattr(controller, "bind") else controller
        open_parts = form((controller, motion)) if tuned else None
        self.given = np.zeros(0) if open_parts is None else numbers_of((controller, motion))
        self._first: Composition | None = None
        self.model, self.torque, self.controller, self.has_table = model, torque, controller, has_table
        self.derived = Derived()
        self.n, self.m = model.n, model.layout.n_inputs
        self.prescribed = {prescribed_index(model, name): (name, path) for name, path in motion.items()}
        self.motion, self.loads, self.base = motion, loads, base
        self.free = [k for k in range(self.n) if k not in self.prescribed]
        held = {model.speeds[k] for k in self.prescribed}
        self.free_places = [k for k, name in enumerate(model.coordinates) if name not in held]
        self.n_q, self.moving = model.n_q, len(self.free_places) + len(self.free)
        self.quaternions = tuple(self.free_places.index(k) for k in model.layout.quaternions)
        self.sample_time = getattr(controller, "sample_time", None)
        if self.sample_time is not None:  # it is asked with numbers, not by f
            self.series = series_in((torque, motion, loads, base)) if looked_up else ()
        self.ticks = self.sample_time is not None and hasattr(controller, "ticking")
        self.n_states = 0 if self.sample_time is not None else int(getattr(controller, "n_states", 0))
        self.n_drive_states = len(model.layout.drive_states)
        if self.given.size:
            rest = [content(part, by="form") or Same(part) for part in (torque, *loads, base)]
            known = None if model.form is None else content(torque, loads, base, has_table, shared, by="form")
            self.recipe = None if known is None else f"{model.form} {known} {open_parts}"
            first = model.first.derived("forms of runs", (open_parts, *rest, has_table, shared), lambda: self)
            self._first = None if first is self else first

    @property
    def first(self) -> Composition:
        """The one of this form that keeps what they share."""
        return self if self._first is None else self._first

    @shared_property
    def _numbers_kernel(self) -> Kernel:
        return Kernel(self._known("numbers", lambda: self.equations.numbers()), longest_optimised=0)

    @symbolic_property
    def numbers(self) -> Array:
        """What of p follows from gains, goals and other numbers of controller and motion."""
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
        """Number of inputs that are looked up: of sampled torques and of series."""
        return (TABLE_WIDTH * self.m if self.has_table else 0) + self.n_series

    @property
    def n_series(self) -> int:
        """Number of those of series."""
        return 0 if self.table is None else int(self.table.pieces.shape[2])

    def series_at(self, times: Array) -> Array:
        """(N, n_series) pieces that hold at these times, and right behind them."""
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
        """What is composed, as expressions."""
        from pliant.simulation.runs.composed_equations import ComposedEquations

        return ComposedEquations(self)

    @property
    def n_roots(self) -> int:
        """Number of roots that the run carries."""
        return int(self.equations.roots.size) if self.model.options.roots == "integrated" else 0

    @property
    def size(self) -> int:
        """Number of states: what moves, controller, drives, roots, work."""
        return self.moving + self.n_states + self.n_drive_states + self.n_roots + 1

    def place(self, index: int) -> int:
        """Place of a prescribed coordinate, from the number of its speed."""
        return self.model.index(self.model.speeds[index])

    # ---------------------------------------------------------------------------------------- running

    def _known(self, name: str | None, trace: Callable[[], Any]) -> Recorded:
        """A function of the composition, by its name and what else it follows from; None where that is not known."""
        recipe = None if self.recipe is None or name is None else f"{self.recipe} {name}"
        return Recorded(trace, recipe, title=f"a run of {self.model.robot.name}")

    @property
    def function(self) -> Any:
        """f as a CasADi function."""
        return self.equations.function

    @shared_property
    def rhs(self) -> Kernel:
        """f(t, x, p)."""
        return Kernel(self._known("rhs", lambda: self.function))

    def _switches(self, t_end: float) -> Sequence[float]:
        """Times until `t_end` at which f switches."""
        kept = self._kept_switches
        if not (kept["times"] or kept["indicators"]):
            return ()
        from pliant.compute.tape.switches import Switches

        return [float(t) for t in Switches.from_record(kept).until(t_end)]

    @shared_property
    def _kept_switches(self) -> dict[str, Any]:
        recipe = self.recipe and f"{self.recipe} switches"

        def found() -> dict[str, Any]:
            inputs = self.equations.time_inputs().numel_out(0)
            record: dict[str, Any] = self.equations.switches.to_record()
            return record | {"inputs": inputs}

        return recalled(recipe, found)  # type: ignore[no-any-return]

    @property
    def implicit(self) -> bool:
        """Whether df/dx follows from inverse dynamics: nothing is prescribed, no roots are carried, no loop is closed,
        and no joint has a quaternion, of whose length the two ways take a different view."""
        return self.model.layout.plain and not (self.prescribed or self.n_roots or self.model.layout.rows)

    @shared_property
    def jacobian(self) -> Kernel:
        """df/dx and df/dt, exact."""
        known = self._known("jacobian", lambda: self.equations.jacobian())
        return Kernel(known, longest_optimised=QUICK_JACOBIAN)

    def problem(self) -> Problem:
        """What the steppers integrate; a Jacobian that would take long to compile is left to differences."""
        size, length = self.size, self.rhs.n_instructions()
        exact = length <= LARGEST_RATES if self.implicit else length * size < LARGEST_JACOBIAN
        return Problem(
            self.rhs.address, size, self.n_p, (lambda: self.jacobian.address) if exact else None,
            len(self.free) if self.model.layout.plain else 0, lambda: self.function, self, self.quaternions,
            closing=self.closing.address if self.model.layout.rows else 0,
            approach=self.approach.address if self.meets else 0, meets=self.meets,
        )  # fmt: skip

    @property
    def meets(self) -> int:
        """Number of gaps beyond which alone something acts."""
        return self.approach.signature.out_sizes[0] // 2 if may_meet(self.model) else 0

    @shared_property
    def approach(self) -> Kernel:
        """How near the arm is to what it may meet, see `dynamics.approaching`."""
        return Kernel(self._known("approach", lambda: self.equations.approach()))

    @shared_property
    def closing(self) -> Kernel:
        """A state nearer to closed loops, by how much it was moved, the least part of a row that the others leave."""
        return Kernel(self._known("closing", lambda: self.equations.closing()))

    def tolerances(self, atol: float) -> Array:
        """Absolute tolerance of each state: work is a quadrature and holds no step back, unless it is all there is."""
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
        q = np.array(q0, dtype=float)
        q[[self.place(k) for k in self.prescribed]] = [position for position, _ in self.on_paths.values()]
        roots = self.equations.roots.start(q) if self.n_roots else np.zeros(0)
        x = np.concatenate([q0[self.free_places], qd0[self.free], z0, np.zeros(self.n_drive_states), roots, [0.0]])
        if self.n_drive_states and p is not None:
            first = self.moving + self.n_states
            x[first : first + self.n_drive_states] = self._load_kernel(np.zeros(1), x, p)
        return x

    @shared_property
    def _load_kernel(self) -> Kernel:
        return Kernel(self._known("load", lambda: self.equations.read("load", ["loaded"])), longest_optimised=0)

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
        return Kernel(self._known("motion", lambda: self.equations.motion()), longest_optimised=0)

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
        for part in (*self.motion.values(), self.torque, self.controller, *self.loads, self.base):
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
        """Times at which steps end: those, and the ends of short features of inputs that depend on the time.

        `own` (P,) or (A, P) are the parameters of the run or of the arms of a batch; `called` gives Python functions at
        times (N,). Warns of a fixed step that is longer than such a feature.
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
            self._refuse_jumps(kinks, t_end)  # which stand between the ends of a feature that hides them
        return np.union1d(kinks, found.times)

    def sharp(self, start: float, end: float, kinks: Array, own: Array | None = None) -> Sharp:
        """Ends of short features of compiled inputs between two times; of a batch, those of its first arms."""
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
        return Kernel(self._known("time inputs", lambda: self.equations.time_inputs()), longest_optimised=0)

    @property
    def own_symbols(self) -> tuple[Any, ...]:
        """Symbols of numbers that arms of a batch have of their own, behind the parameters of the model."""
        given: dict[str, Any] = {}
        for part in (self.torque, self.controller):
            given |= getattr(part, "parameters", {}) if isinstance(getattr(part, "parameters", None), dict) else {}
        return tuple(given.values())

    @property
    def is_broken(self) -> bool:
        """Whether there may be such times at all."""
        parts = (*self.motion.values(), self.torque, self.controller, *self.loads, self.base)
        kept = self._kept_switches
        known = kept["times"] or kept["indicators"] or kept["inputs"]
        return bool(known) or any(len(getattr(part, "breaks", ())) for part in parts)

    def impulses(self, breaks: Array, t_end: float | None = None, features: Array | None = None) -> Impulses:
        """Where prescribed rates jump, of these times; one elsewhere until `t_end` is refused, also between the ends
        of short `features`, which are among the times."""
        if self.prescribed and t_end is not None:
            self._refuse_jumps(breaks if features is None else np.setdiff1d(breaks, features), t_end)
        return self._impulses(breaks)

    def _impulses(self, breaks: Array) -> Impulses:
        if not self.prescribed or not len(breaks):
            return Impulses.none(len(self.prescribed))
        early, late = one_sided_time.before(breaks), one_sided_time.after(breaks)
        x0, v0, a0 = self._motion(early)
        x1, v1, a1 = self._motion(late)
        between = (late - early)[:, None]
        for at, k in np.argwhere(_jumps(x0, x1, between * (np.abs(v0) + np.abs(v1)))):
            raise ModelError(
                f"{self._path_name(k)}: jumps from {x0[at, k]:.6g} to {x1[at, k]:.6g} at t = {breaks[at]:.6g} s; "
                f"{CONTINUOUS}"
            )
        found = _jumps(v0, v1, between * (np.abs(a0) + np.abs(a1))).any(axis=1)
        return Impulses(breaks[found], v0[found], v1[found])

    def _path_name(self, k: int) -> str:
        """Of the k-th prescribed path, for messages."""
        return f"motion[{self.model.speeds[list(self.prescribed)[k]]!r}]"

    def _refuse_jumps(self, breaks: Array, t_end: float) -> None:
        """Refuse jumps of prescribed positions and rates between two breaks, where nobody has declared them."""
        unknown = [k for k, (_, path) in enumerate(self.prescribed.values()) if not series_in(path)]
        if not unknown:  # series are polynomials between their breaks
            return
        first, last = one_sided_time.after(np.append(0.0, breaks)), one_sided_time.before(np.append(breaks, t_end))
        looks = t_end * (np.arange(LOOKS) + OBLIQUE) / LOOKS
        times = np.union1d(looks, np.concatenate([first, last]))
        stretch = np.searchsorted(breaks, times)
        inside = (first[stretch] <= times) & (times <= last[stretch])
        times, stretch = times[inside], stretch[inside]
        within = stretch[:-1] == stretch[1:]
        for what, order in (("position", 0), ("rate", 1)):
            left, right = times[:-1][within], times[1:][within]
            early, late = self._motion(left), self._motion(right)
            with np.errstate(invalid="ignore"):  # a path may be infinite at a kink
                moved = (right - left)[:, None] * (np.abs(early[order + 1]) + np.abs(late[order + 1]))
                doubtful = _jumps(early[order], late[order], moved)[:, unknown]
            for at, k in np.argwhere(doubtful):
                path = unknown[k]
                found = _narrowed(partial(self._component, order, path), left[at], right[at])
                if found is not None:
                    raise ModelError(self._undeclared(what, path, *found))

    def _component(self, order: int, path: int, times: Array) -> Array:
        """Positions, rates or accelerations (K,) of one path."""
        return self._motion(times)[order][:, path]

    def _undeclared(self, what: str, path: int, at: float, before: float, after: float) -> str:
        do = f"give breaks=[{at:.9g}], or a motion with a continuous rate" if what == "rate" else CONTINUOUS
        return (
            f"{self._path_name(path)}: its {what} jumps by {after - before:.6g}, from {before:.6g} to {after:.6g}, at "
            f"t = {at:.9g} s, which is not declared; {do}"
        )

    @shared_property
    def impulse_kernel(self) -> Kernel:
        """The state behind a jump, a function of t, x, p and the prescribed rates before and after."""
        return Kernel(self._known("impulse", lambda: self.equations.impulse()), "vm")

    def tick_times(self, t_end: float) -> Array:
        """Times at which a sampled controller may act in a run."""
        return tick_times(float(self.sample_time or 0.0), t_end)

    @shared_property
    def tick_kernel(self) -> Kernel:
        """What a sampled controller does at a tick: held torques and memory, of t, x, p, noise and memory."""
        return Kernel(self._known("tick", lambda: self.equations.tick_function()))

    @symbolic_property
    def tick_start(self) -> Array:
        """What a sampled controller remembers at the start; what it adds its torques to stands before it."""
        import casadi as ca

        from pliant.control.controllers.controller import Felt

        t, q, qd = ca.SX.sym("t"), ca.SX.sym("q", self.n_q), ca.SX.sym("qd", self.n)
        return np.asarray(self.controller.ticking(t, q, qd, Felt(self.loads, self.base, lambda tau: qd)).start)

    def sampler(self) -> Callable[[float, Array, Array], Array] | None:
        """The sampled controller as a function called at its sample times; fresh, because it may have a memory."""
        if self.controller is None or self.sample_time is None:
            return None
        sampler: Callable[[float, Array, Array], Array] = self.controller.sampler()
        return sampler

    def event_kernel(self, events: tuple[Event, ...]) -> Kernel:
        """g(t, x, p) of all events."""
        known = content(events)
        recorded = self._known(known and f"events {known}", lambda: self.equations.events(events))
        return self.first.derived("events", known or tuple(map(Same, events)), lambda: Kernel(recorded))

    # ---------------------------------------------------------------------------------------- reading

    @shared_property
    def _coordinate_kernel(self) -> Kernel:
        return Kernel(self._known("coordinates", lambda: self.equations.read("coordinates", ["q", "qd"])), "vm")

    def full_state(self, t: float, x: Array) -> tuple[Array, Array]:
        """All coordinates and rates of one state."""
        if not self.prescribed:
            return x[: self.n_q].copy(), x[self.n_q : self.moving].copy()
        q, qd = self._coordinate_kernel(np.array([t]), x, self.inputs_at(np.array([t]))[0])
        return q, qd

    def histories(self, t: Array, x: Array) -> tuple[Array, Array, Array]:
        """q (N, n_q), qd (N, n), and controller states, carried roots and work (N, ...)."""
        rest = x[:, self.moving :]
        if not self.prescribed:
            return x[:, : self.n_q].copy(), x[:, self.n_q : self.moving].copy(), rest
        q, qd = self._coordinate_kernel(t[:, None], x, self.inputs_at(t))
        return q, qd, rest

    @shared_property
    def _torque_kernel(self) -> Kernel:
        return Kernel(
            self._known("torques", lambda: self.equations.read("torques", ["tau", "residual", "qdd", "multipliers"])),
            "vm",
        )

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
        names += self.equations.roots.names if self.n_roots else ()
        return names[index - self.moving]


def tick_times(period: float, t_end: float) -> Array:
    """(K,) times at which something is asked every `period` seconds until `t_end`."""
    if t_end > period * MOST_SAMPLES:
        raise ModelError(
            f"sample_time: got {period:g} s for a run of {t_end:g} s; expected at most {MOST_SAMPLES:g} samples"
        )
    return np.arange(0.0, t_end * (1 + 1e-12), period)


@dataclass(frozen=True)
class Impulses:
    """Times at which prescribed rates jump, and these rates (K, paths) before and after."""

    times: Array
    before: Array
    after: Array
    at_start: bool = False
    """Whether one has happened there already, before the first row."""

    @classmethod
    def none(cls, paths: int) -> Impulses:
        """No jump at all."""
        return cls(np.empty(0), np.empty((0, paths)), np.empty((0, paths)))

    def until(self, t: float) -> Impulses:
        """Those of a run whose last stretch begins at t."""
        kept = self.times <= t
        return Impulses(self.times[kept], self.before[kept], self.after[kept], self.at_start)

    def behind(self, t: Array) -> Array:
        """Times, those of an impulse moved behind it."""
        return np.where(np.isin(t, self.times) | (self.at_start & (t == 0.0)), one_sided_time.after(t), t)


def _jumps(before: Array, after: Array, moved: Array) -> Any:
    """Where two values, some roundings of the time apart, differ by more than it `moved` in that time."""
    return np.abs(after - before) > moved + SAME * np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))


def _narrowed(f: Callable[[Array], Array], left: float, right: float) -> tuple[float, float, float] | None:
    """Where between two times a function jumps, to the last bits, and its values beside; None where it is steep only,
    and changes the less the nearer one looks. It may have lost its digits right beside a kink."""
    far = (right - left) * BESIDE
    for _ in range(HALVINGS):
        middle = left + (right - left) / 2
        if not left < middle < right:
            break
        values = np.nan_to_num(f(np.array([left, middle, right])), posinf=0.0, neginf=0.0)
        left, right = (left, middle) if abs(values[1] - values[0]) >= abs(values[2] - values[1]) else (middle, right)
    outer = np.diff(f(np.array([left - far, right + far])))
    before, after = f(np.array([left - far / 10, right + far / 10]))
    size = abs(after - before)
    is_jump = size > np.abs(outer[0]) / 2 and size > LEAST_JUMP * max(1.0, abs(before), abs(after))
    return (right, float(before), float(after)) if is_jump else None


def prescribed_index(model: Model, name: str) -> int:
    """Number of the speed of a coordinate that a motion may prescribe."""
    allowed = [shaft.name for shaft in model.layout.shafts if shaft.place is not None]
    allowed += [name for name in model.coordinates if name.endswith(".motor")]
    if name not in allowed:
        raise ModelError(f"motion: {name!r} is not a joint or a motor; expected one of {', '.join(allowed)}")
    return model.speed_index(name)


def may_meet(model: Model) -> bool:
    """Whether something acts on the arm beyond a gap alone: contacts, stops, cables, ends of cylinders."""
    lines = (one.cable or one.cylinder for one in model.robot.couplings)
    ends = (freedom.limits for freedom in model.robot.freedoms.values())
    stops = (limits is not None and limits.stop is not None for limits in ends)
    return bool(model.robot.contacts) or any(lines) or any(stops)
