"""Arguments of a run as users give them, and the inputs p that follow: starts, torques, controllers, loads and breaks.

`simulate`, `simulate_batch`, scenarios and everything that builds on them read their arguments here, in three steps:

1. `read_start` gives coordinates and rates. Prescribed coordinates are put on their paths, amplitudes settle if that is
   wanted, loops are closed, and a jump of a prescribed rate at the start acts as an impulse.
2. `read_torque` takes a torque or a controller: constants, samples, a Python function, or an expression. Expressions
   become part of the composed equations; the others reach them as numbers in p.
3. `Inputs` fills p during a run and gives its values at the rows of the result afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.interrupts import require_time
from pliant.base.later import LaterModule
from pliant.compute.integrate.problem import CompiledTicks, Hold, SampledInput
from pliant.errors import ModelError
from pliant.model.model import Model
from pliant.model.states import EQUILIBRIUM, named_places, read_state
from pliant.model.validity import odd_start, tell
from pliant.options import Interpolation
from pliant.protocols import Bindable, TorqueFunction, TorqueLaw, TorqueTable, TorqueValues
from pliant.simulation.runs.composition import TABLE_WIDTH, Composition, tick_times
from pliant.simulation.runs.piece_tables import PieceTable
from pliant.simulation.runs.rate_jumps import SAME

if TYPE_CHECKING:
    from pliant.control.controllers.controller import Felt
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model import assembly, loop_statics
    from pliant.simulation.runs import coupled_lines
else:  # modules that make expressions, and import CasADi
    assembly, loop_statics = (LaterModule(f"pliant.model.{name}") for name in ("assembly", "loop_statics"))
    coupled_lines = LaterModule("pliant.simulation.runs.coupled_lines")

KINDS = get_args(Interpolation)


# ----------------------------------------------------------------------------------------------------------- start


def read_start(
    model: Model, q0: StateLike | None = None, qd0: StateLike | None = None, equilibrium: bool = False,
    loads: Sequence[Load] = (), p: ArrayLike | None = None, many: bool = False,
    placed: Mapping[int, tuple[float, float]] | None = None, before: Mapping[int, float] | None = None,
) -> tuple[Array, Array, Array | None]:  # fmt: skip
    """Coordinates and rates at the start, (n,), or (A, n) of many arms; see `pliant.model.read_state`. Third, the work
    of a jump at the start, None where nothing jumps.

    Prescribed coordinates have the position and the rate that `placed` gives, and motors that are not given stand and
    turn with them. A prescribed rate that `qd0` names, or else that of `before`, holds before the start: if it differs
    from that of `placed`, the jump acts as an impulse on everything that is free. Without `before` nothing jumps. With
    `equilibrium`, amplitudes and motors that are not named settle first, under gravity and the loads at t = 0;
    "equilibrium" for `q0` means the same.
    """
    if isinstance(q0, str) and q0 == EQUILIBRIUM:
        q0, equilibrium = None, True
    q, _ = _placed(model, q0, "q0", many, placed or {}, None)
    qd, jumps = _placed(model, qd0, "qd0", many, placed or {}, before)
    tell(model, odd_start(model, q, "q0"))
    if equilibrium:
        q, q0 = _settled(model, q, q0, loads, p, many)
    if model.constraints:
        q, qd = _closed(model, q, qd, (q0, qd0), placed or {}, p, many)
    if model.layout.commanded:
        coupled_lines.require_strokes(model, *_each(model, q, p))
    if not jumps:
        return q, qd, None
    return _struck(model, q, qd, {k: jumps.get(k, np.zeros(qd.shape[:-1])) for k in placed or {}}, p, many)


def _settled(
    model: Model, q: Array, q0: StateLike | None, loads: Sequence[Load], p: ArrayLike | None, many: bool
) -> tuple[Array, StateLike | None]:
    """A start at rest, and `q0` for what follows; where loops are closed, names of the coordinates that stay."""
    given, values = _each(model, q, p)
    if any(coupling.states for coupling in model.layout.commanded):
        own = assembly.named_speeds(model, q0, "q0")
        rest = np.array([loop_statics.rest_on_couplings(model, x, loads, v, own) for x, v in zip(given, values)])
    else:
        places = model.layout.shaft_places() if model.layout.is_open else slice(None)
        rest = np.array([model.equilibrium(x[places], loads, v) for x, v in zip(given, values)])
    balls = [k for link in model.chain.links if link.joint.is_ball for k in link.joint_places]
    kept = [*unsettled(model, q0), *([] if model.constraints else balls)]
    rest[:, kept] = given[:, kept]
    return rest if many else rest[0], names_that_stay(model, q0, True) if model.constraints else q0


def unsettled(model: Model, q0: StateLike | None) -> list[int]:
    """Places of coordinates that do not settle because `q0` names them. Joints of an arm with loops are not among them:
    they stay only as far as the loops allow."""
    named = sorted(named_places(model, q0, "q0")) if isinstance(q0, Mapping) else []
    if not model.constraints:
        return named
    joints = {shaft.place for shaft in model.layout.all_shafts}
    joints |= {k for link in model.chain.links for k in link.joint_places}
    return [k for k in named if k not in joints]


def names_that_stay(
    model: Model, q0: StateLike | None, settled: bool, further: Collection[str] = ()
) -> dict[str, float]:
    """Coordinates that do not give way where loops are closed, in the form of a start by name: those that a start
    gives, and `further` ones. After a start that `settled`, all motors are among them."""
    own = assembly.named_speeds(model, q0, "q0")
    own |= {shaft.actuated for shaft in model.layout.driven} if settled else assembly.motors_given(model, q0, own)
    names = (*(model.speeds[k] for k in sorted(own)), *further)
    return dict.fromkeys([name for name in names if name in model.coordinates], 0.0)


def _each(model: Model, x: Array, p: ArrayLike | None) -> tuple[Array, Array]:
    """States (A, n) and parameters (A, P), one row for each arm; a single row serves all arms of the other."""
    values = np.atleast_2d(model.values(p) if p is None or np.ndim(p) < 2 else np.asarray(p, dtype=float))
    rows = np.atleast_2d(x)
    count = max(len(rows), len(values))
    return np.broadcast_to(rows, (count, rows.shape[1])), np.broadcast_to(values, (count, values.shape[1]))


def _closed(
    model: Model,
    q: Array,
    qd: Array,
    given: tuple[StateLike | None, StateLike | None],
    placed: Mapping[int, tuple[float, float]],
    p: ArrayLike | None,
    many: bool,
) -> tuple[Array, Array]:
    """Starts with closed loops; arms that start alike are closed once."""
    where, values = _each(model, q, p)
    rates, found = np.broadcast_to(qd, (len(where), model.n)), {}
    keys = [x.tobytes() + v.tobytes() + u.tobytes() for x, v, u in zip(where, rates, values)]
    for key, x, v, u in zip(keys, where, rates, values):
        if key not in found:
            *found[key], told = assembly.closed_start(model, x, v, given, placed, u)
            tell(model, told)
    q, qd = (np.array([found[key][k] for key in keys]) for k in (0, 1))
    return (q, qd) if many else (q[0], qd[0])


def _struck(
    model: Model, q: Array, qd: Array, jumps: Mapping[int, Array], p: ArrayLike | None, many: bool
) -> tuple[Array, Array, Array]:
    """Coordinates and rates after a jump of prescribed rates at the start, and its work.

    Free rates change by d_f = -M_ff^-1 M_fp d_p, then as far as the loops let them.
    """
    where, values = _each(model, q, p)
    held = list(jumps)
    free = [k for k in range(model.n) if k not in jumps]
    change = np.zeros((len(where), model.n))
    change[:, held] = np.stack([np.broadcast_to(jump, len(where)) for jump in jumps.values()], axis=1)
    M = np.stack([model.mass_matrix(x, v) for x, v in zip(where, values)])
    if free:
        pushed = np.einsum("aij,aj->ai", M[:, free], change)
        change[:, free] = -np.linalg.solve(M[:, free][:, :, free], pushed[..., None])[..., 0]
    if model.constraints:
        struck = [assembly.mechanism(model, v).struck(x, d, held) for x, v, d in zip(where, values, change)]
        change = np.array(struck)
    work = np.einsum("ai,aij,aj->a", qd + change / 2, M, change)
    after = qd + change
    return (np.array(where), after, work) if many else (q, after[0], work[0])


def _placed(
    model: Model, given: StateLike | None, name: str, many: bool, placed: Mapping[int, tuple[float, float]],
    before: Mapping[int, float] | None,
) -> tuple[Array, dict[int, Array]]:  # fmt: skip
    """A state with prescribed coordinates on their paths, and motors that are not given with them; second, jumps of
    prescribed rates, by speed. A rate that jumps has its value before the start."""
    state = read_state(model, given, name, many)
    if not placed:
        return state, {}
    moving = name.startswith("qd")
    names = model.speeds if moving else model.coordinates
    named = _given_places(model, given, name, state.shape[-1])
    chosen = set(named) if isinstance(given, Mapping) else set()  # an array is the state of another run, no choice
    jumps: dict[int, Array] = {}
    for index, (position, rate) in placed.items():
        at = names.index(model.speeds[index])
        earlier = state[..., at].copy() if at in chosen else np.asarray((before or {}).get(index, rate))
        state[..., at] = rate if moving else position
        if before is not None and (np.abs(rate - earlier) > SAME * max(1.0, abs(rate))).any():
            state[..., at], jumps[index] = earlier, rate - earlier
        named.add(at)
    return (model.layout.following if moving else model.layout.followed)(state, named), jumps


def _given_places(model: Model, given: StateLike | None, name: str, size: int) -> set[int]:
    """Places of a state that are given: by name, or all of them by an array of all numbers."""
    if isinstance(given, Mapping):
        return named_places(model, given, name)
    whole = given is not None and np.shape(given)[-1] == size > model.n_joints
    return set(range(size)) if whole else set()


# --------------------------------------------------------------------------------------------------------- torques


class SampledTorque(PieceTable):
    """Torques as cubics in time, constant before the first and after the last sample.

    Each piece has 5 m numbers, as the composition reads them: coefficients of rising powers of (t - start), then start.
    A is 1 or the number of arms.
    """

    @classmethod
    def of(cls, times: Array, values: Array, kind: str) -> SampledTorque:
        """Make pieces from samples (A, K, m) at times (K,), linear or cubic in between, or held."""
        A, K, m = values.shape
        side_by_side = values.transpose(1, 0, 2).reshape(K, A * m)
        cubic = np.zeros((K + 1, 4, A * m))
        cubic[0, 0], cubic[1:, 0] = side_by_side[0], side_by_side
        if kind == "linear":
            cubic[1:-1, 1] = np.diff(side_by_side, axis=0) / np.diff(times)[:, None]
        elif kind == "cubic":
            from scipy.interpolate import CubicSpline

            cubic[1:-1] = np.moveaxis(CubicSpline(times, side_by_side).c[::-1], 0, 1)
        pieces = np.empty((A, K + 1, TABLE_WIDTH, m))
        pieces[:, :, :4] = cubic.reshape(K + 1, 4, A, m).transpose(2, 0, 1, 3)
        pieces[:, :, 4] = np.concatenate([[0.0], times])[None, :, None]
        return cls(np.concatenate([[-np.inf], times]), pieces.reshape(A, K + 1, TABLE_WIDTH * m))


@dataclass(frozen=True)
class TorqueInput:
    """A torque or controller as given: at most one of these is set. Constants are (A, m), A = 1 for all arms alike."""

    traced: TorqueLaw | Bindable | None = None
    constant: Array | None = None
    samples: SampledTorque | None = None
    function: TorqueFunction | None = None

    @property
    def arms(self) -> int:
        """Number of arms that it gives values for; 1 serves any number of arms."""
        return len(self.constant) if self.constant is not None else len(self.samples.pieces) if self.samples else 1


def read_torque(model: Model, given: Any, name: str, many: bool = False) -> TorqueInput:
    """Read one argument `torque` or `controller`, of one arm or of many."""
    if given is None:
        return TorqueInput()
    if hasattr(given, "expression") or hasattr(given, "bind"):
        return TorqueInput(traced=given)
    if callable(given):
        return TorqueInput(function=given)
    if _is_table(given, many):
        return TorqueInput(samples=SampledTorque.of(*_samples(model, given, name, many)))
    return TorqueInput(constant=np.atleast_2d(_columns(model, given, name, (1, 2) if many else (1,))))


def one_table(*given: TorqueInput) -> SampledTorque | None:
    """Samples among torque and controller; raises `ModelError` if there are two."""
    found = [one.samples for one in given if one.samples is not None]
    if len(found) > 1:
        raise ModelError("torque and controller are both samples; add them up and give one")
    return found[0] if found else None


def looked_up(composed: Composition, *given: TorqueInput) -> PieceTable | None:
    """Pieces of all inputs that are looked up by the time: samples among torque and controller, then series."""
    torque, series = one_table(*given), composed.table
    return torque.beside(series) if torque is not None and series is not None else torque or series


def _is_table(given: object, many: bool) -> TypeGuard[TorqueTable]:
    """Return whether a torque is samples: times and values, and perhaps the kind of interpolation."""
    if not (isinstance(given, tuple) and len(given) in (2, 3) and np.ndim(given[0]) == 1):
        return False
    return isinstance(given[1], Mapping) or np.ndim(given[1]) in ((2, 3) if many else (2,))


def _columns(model: Model, given: TorqueValues, name: str, axes: tuple[int, ...]) -> Array:
    """(..., m) finite numbers from an array, or from a mapping of joints and couplings to numbers or arrays (...,)."""
    m, names = model.layout.n_inputs, model.layout.inputs
    forms = {1: f"({m},)", 2: f"(arms, {m})", 3: f"(arms, K, {m})"}
    expected = f"finite numbers {' or '.join(forms[k] for k in axes)}, or numbers by name: {', '.join(names)}"
    unknown = [key for key in given if key not in names] if isinstance(given, Mapping) else []
    if unknown:
        raise ModelError(f"{name}: got {unknown[0]!r}, expected one of {', '.join(names)}")
    try:
        if isinstance(given, Mapping):
            parts = np.broadcast_arrays(*(np.asarray(given.get(joint, 0.0), dtype=float) for joint in names))
            array = np.stack(parts, axis=-1)
        else:
            array = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{name}: got {type(given).__name__}, expected {expected}; or samples, a function, an expression"
        ) from error
    if array.ndim not in axes or array.shape[-1] != m or array.size == 0 != m:
        raise ModelError(f"{name}: got shape {array.shape}, expected {expected}")
    if not np.isfinite(array).all():
        raise ModelError(f"{name}: not finite at {np.argwhere(~np.isfinite(array))[0].tolist()}, expected {expected}")
    return array


def _samples(model: Model, given: TorqueTable, name: str, many: bool) -> tuple[Array, Array, str]:
    """Times (K,), values (A, K, m) and the kind of interpolation, checked."""
    times, kind = np.asarray(given[0], dtype=float), given[2] if len(given) == 3 else "linear"
    values = _columns(model, given[1], name, (2, 3) if many else (2,))
    rising = len(times) >= 2 and np.isfinite(times).all() and (np.diff(times) > 0).all()
    if values.shape[-2] != len(times) or not rising:
        raise ModelError(
            f"{name}: got times {times.shape} and values {values.shape}, expected at least 2 finite, strictly rising "
            "times (K,) and K values of each joint"
        )
    if kind not in KINDS:
        raise ModelError(f"{name}: samples are {kind!r} in between, expected one of {', '.join(KINDS)}")
    return times, values if values.ndim == 3 else values[None], kind


class Inputs:
    """Inputs p of the composed equations during a run: held torques, samples, Python functions.

    Functions and a sampled controller are called every `period` seconds, and their torques held. Without a period,
    functions are called at every stage of the integrator, by `callback`.
    """

    def __init__(
        self,
        model: Model,
        composed: Composition,
        given: list[TorqueInput],
        p: ArrayLike | None,
        sample_time: float | None,
    ) -> None:
        m = model.layout.n_inputs
        self.model, self.composed = model, composed
        self.functions = [g.function for g in given if g.function is not None]
        self.constant = sum((g.constant[0] for g in given if g.constant is not None), start=np.zeros(m))
        self.table, self.parameters = looked_up(composed, *given), model.values(p)
        self.p = np.concatenate([self.constant, self._rows(np.zeros(1))[0], composed.numbers, self.parameters])
        self.samples = None if self.table is None else self._sampled(self.table)
        self.held: list[tuple[float, Array]] = []
        self.sampler = composed.sampler()
        called = bool(self.functions) or self.sampler is not None
        self.period = (sample_time or composed.sample_time) if called else None
        self.ticks: CompiledTicks | None = None
        self._compiled = composed.ticks and not self.functions and sample_time is None
        at_stages = bool(self.functions) and self.period is None
        self.callback = self._stage if at_stages else None
        self.n_callback = m if at_stages else 0

    def hold(self, t_end: float) -> Hold | None:
        """Calls at the sample times of a run, None where nothing is sampled."""
        if self.period is None:
            return None
        times = tick_times(self.period, t_end)
        if self._compiled:
            self._times, self.ticks = times, self._new_ticks(len(times))
            return Hold(self.ticks, times, self.ticks)

        def sample(t: float, x: Array, p: Array) -> None:
            value = self.sample(t, x, p)
            p[: len(value)] = value
            self.held.append((t, value))

        return Hold(sample, times)

    def _new_ticks(self, count: int) -> CompiledTicks:
        """The sampled controller in compiled code, with its memory at the start."""
        c, kernel = self.composed, self.composed.tick_kernel
        return CompiledTicks(
            address=kernel.address,
            sizes=(c.size, len(self.p)),
            memory=np.concatenate([self.constant, c.tick_start]),
            noise=c.controller.draws(count),
            held=c.m,
            owner=kernel,
        )

    def _sampled(self, table: PieceTable) -> SampledInput:
        """Pieces of the table, each held in p from its start on."""
        starts = table.starts.copy()
        starts[0] = min(0.0, starts[1]) - 1.0  # before any run
        return SampledInput(starts, table.pieces[0], first=self.model.layout.n_inputs)

    def _rows(self, t: Array) -> Array:
        """(N, n_held) inputs that are looked up at these times."""
        return np.zeros((len(t), 0)) if self.table is None else self.table.pieces[0, self.table.piece(t)]

    def torque(self, t: float, q: Array, qd: Array) -> Array:
        """Sum of the Python functions and constants."""
        total = self.constant.copy()
        for function in self.functions:
            value = np.asarray(function(t, q, qd), dtype=float)
            if value.shape != total.shape:
                raise ModelError(f"torque function returned shape {value.shape} at t = {t:g}; expected {total.shape}")
            total += value
        return total

    def called_over(self, q: Array, qd: Array) -> Callable[[Array], Array]:
        """Torques (N, m) of the Python functions at times (N,), the arm held at a state."""

        def values(times: Array) -> Array:
            found = np.zeros((len(times), len(self.constant)))
            try:
                for row, t in zip(found, times.tolist()):
                    require_time()
                    row[:] = self.torque(t, q.copy(), qd.copy())
            except Exception:  # the run raises it, if it comes to this time
                found[:] = 0.0
            return found

        return values

    def _stage(self, t: float, x: Array, p: Array) -> None:
        """Put the torques of the functions into p at a stage of the integrator."""
        q, qd = self.composed.full_state(t, x)
        p[:] = self.torque(t, q, qd)

    def sample(self, t: float, x: Array, p: Array) -> Array:
        """Torques at a sample: sum of constants, functions and controller."""
        q, qd = self.composed.full_state(t, x)
        value = self.torque(t, q, qd)
        if self.sampler is not None:
            felt = [self._felt(t, x, p, value)] if getattr(self.composed.controller, "senses", False) else []
            value = value + self.sampler(t, q, qd, *felt)
        return value

    def _felt(self, t: float, x: Array, p: Array, others: Array) -> Felt:
        """Loads, motion of the base and accelerations that sensors feel at a sample."""
        from pliant.control.controllers.controller import Felt

        split = len(p) - len(self.parameters)
        values = p[split:].copy()  # a stepper may have changed them

        def accelerations(command: Array) -> Array:
            given = np.concatenate([others + command, p[len(others) : split]])[None]
            _, _, qdd, _ = self.composed.torques(np.array([t]), x[None], given, values)
            return np.asarray(qdd[0])

        return Felt(self.composed.loads, self.composed.base, accelerations, values)

    def at_start(self, q: Array, qd: Array) -> Array:
        """All of p at t = 0."""
        return np.concatenate([self.history(np.zeros(1), q[None], qd[None])[0], self.parameters])

    def history(self, t: Array, q: Array, qd: Array) -> Array:
        """(N, ...) p without the parameters at the rows of the result: held torques, samples, numbers."""
        m = self.model.layout.n_inputs
        held = np.tile(self.constant, (len(t), 1))
        if (ticked := self._ticked()) is not None:
            times, values = ticked
            held = values[np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)]
        elif self.functions:
            held = np.array([self.torque(float(a), b, c) for a, b, c in zip(t, q, qd)]).reshape(len(t), m)
        numbers = self.composed.numbers
        return np.hstack([held, self._rows(t), np.broadcast_to(numbers, (len(t), len(numbers)))])

    def _ticked(self) -> tuple[Array, Array] | None:
        """Times (K,) at which torques were set so far, and these (K, m)."""
        if self.ticks is not None and (count := int(self.ticks.count[0])):
            return self._times[:count], self.ticks.log[:count]
        if self.held:
            return np.array([time for time, _ in self.held]), np.stack([value for _, value in self.held])
        return None


def read_breaks(given: Sequence[float]) -> list[float]:
    """Times at which the user wants a step to end, checked."""
    found = np.asarray(given, dtype=float)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ModelError(f"breaks: got {given!r}, expected finite times in seconds")
    return [float(t) for t in found]


def listed(loads: Any) -> tuple[Load, ...]:
    """Loads as a tuple, also where one is given alone."""
    return tuple(loads) if isinstance(loads, list | tuple) else (loads,)
