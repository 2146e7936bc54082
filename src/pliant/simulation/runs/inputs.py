"""Arguments of a run as users give them, and the inputs p that follow: starts, torques, controllers, loads and breaks.

`simulate`, `simulate_batch`, scenarios and the code that uses them read their arguments here, in three steps:

1. `read_start` returns coordinates and rates. It puts prescribed coordinates on their paths, lets amplitudes settle if
   asked, and closes loops. A jump of a prescribed rate at the start acts as an impulse.
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
from pliant.errors import ModelError
from pliant.integrators.problem import CompiledTicks, Hold, SampledInput
from pliant.model.model import Model
from pliant.model.states import EQUILIBRIUM, named_places, read_state
from pliant.model.validity import odd_start, tell
from pliant.options import Interpolation
from pliant.protocols import Bindable, TorqueFunction, TorqueLaw, TorqueTable, TorqueValues
from pliant.simulation.runs.equations.composition import TABLE_WIDTH, Composition, tick_times
from pliant.simulation.runs.equations.piece_tables import PieceTable
from pliant.simulation.runs.equations.rate_jumps import SAME

if TYPE_CHECKING:
    from pliant.control.controllers.controller import Felt
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model.equilibrium import loop_statics
    from pliant.model.loops import assembly
    from pliant.simulation.runs.equations import coupled_lines
else:  # modules that make expressions, and import CasADi
    assembly, loop_statics = (
        LaterModule(f"pliant.{name}") for name in ("model.loops.assembly", "model.equilibrium.loop_statics")
    )
    coupled_lines = LaterModule("pliant.simulation.runs.equations.coupled_lines")

KINDS = get_args(Interpolation)


# ----------------------------------------------------------------------------------------------------------- start


def read_start(
    model: Model, q0: StateLike | None = None, qd0: StateLike | None = None, equilibrium: bool = False,
    loads: Sequence[Load] = (), p: ArrayLike | None = None, many: bool = False,
    placed: Mapping[int, tuple[float, float]] | None = None, before: Mapping[int, float] | None = None,
) -> tuple[Array, Array, Array | None]:  # fmt: skip
    """Return coordinates and rates at the start, (n,), or (A, n) of many arms, and the work of a jump there.

    `pliant.model.read_state` says how states are given. The work is None where nothing jumps.

    Prescribed coordinates take position and rate from `placed`. Motors that are not given stand and turn with their
    joints. The rate before the start is the one that `qd0` names, or else that of `before`. If it differs from the rate
    in `placed`, the jump acts as an impulse on everything that is free. Without `before` nothing jumps.

    With `equilibrium`, amplitudes and motors that are not named settle first, under gravity and the loads at t = 0.
    "equilibrium" for `q0` means the same.
    """
    if isinstance(q0, str) and q0 == EQUILIBRIUM:
        q0, equilibrium = None, True
    paths = placed or {}
    q, _ = _placed(model, q0, "q0", many=many, placed=paths, before=None)
    qd, jumps = _placed(model, qd0, "qd0", many=many, placed=paths, before=before)
    tell(model, odd_start(model, q, "q0"))
    if equilibrium:
        q, q0 = _settled(model, q, q0, loads=loads, p=p, many=many)
    if model.constraints:
        q, qd = _closed(model, q, qd, given=(q0, qd0), placed=paths, p=p, many=many)
    if model.layout.commanded:
        coupled_lines.require_strokes(model, *_each(model, q, p))
    if not jumps:
        return q, qd, None
    no_jump = np.zeros(qd.shape[:-1])
    jumps = {speed: jumps.get(speed, no_jump) for speed in paths}
    return _struck(model, q, qd, jumps=jumps, p=p, many=many)


def _settled(
    model: Model, q: Array, q0: StateLike | None, loads: Sequence[Load], p: ArrayLike | None, many: bool
) -> tuple[Array, StateLike | None]:
    """Return a start at rest, and `q0` for the steps that follow: where loops are closed, the coordinates that stay."""
    starts, parameters = _each(model, q, p)
    has_cylinders = any(coupling.states for coupling in model.layout.commanded)
    if has_cylinders:
        named = assembly.named_speeds(model, q0, "q0")
        rest = np.array([loop_statics.rest_on_couplings(model, x, loads, v, named) for x, v in zip(starts, parameters)])
    else:
        places = model.layout.shaft_places() if model.layout.is_open else slice(None)
        rest = np.array([model.equilibrium(x[places], loads, v) for x, v in zip(starts, parameters)])
    kept = unsettled(model, q0)
    if not model.constraints:
        kept += [place for link in model.chain.links if link.joint.is_ball for place in link.joint_places]
    rest[:, kept] = starts[:, kept]
    given = names_that_stay(model, q0, settled=True) if model.constraints else q0
    return rest if many else rest[0], given


def unsettled(model: Model, q0: StateLike | None) -> list[int]:
    """Places of coordinates that do not settle because `q0` names them.

    Joints of an arm with loops are not among them: they stay only as far as the loops allow.
    """
    named = sorted(named_places(model, q0, "q0")) if isinstance(q0, Mapping) else []
    if not model.constraints:
        return named
    joints = {shaft.place for shaft in model.layout.all_shafts}
    joints |= {k for link in model.chain.links for k in link.joint_places}
    return [k for k in named if k not in joints]


def names_that_stay(
    model: Model, q0: StateLike | None, settled: bool, further: Collection[str] = ()
) -> dict[str, float]:
    """Coordinates that do not give way where loops are closed, in the form of a start by name.

    These are the coordinates that `q0` gives, and `further` ones. After a start that `settled`, all motors are among
    them.
    """
    speeds = assembly.named_speeds(model, q0, "q0")
    motors = {shaft.actuated for shaft in model.layout.driven}
    speeds |= motors if settled else assembly.motors_given(model, q0, speeds)
    names = (*(model.speeds[k] for k in sorted(speeds)), *further)
    return dict.fromkeys([name for name in names if name in model.coordinates], 0.0)


def _each(model: Model, x: Array, p: ArrayLike | None) -> tuple[Array, Array]:
    """Return states (A, n) and parameters (A, P), one row for each arm. A single row of one serves all of the other."""
    one_for_all = p is None or np.ndim(p) < 2
    parameters = np.atleast_2d(model.values(p) if one_for_all else np.asarray(p, dtype=float))
    states = np.atleast_2d(x)
    arms = max(len(states), len(parameters))
    return np.broadcast_to(states, (arms, states.shape[1])), np.broadcast_to(parameters, (arms, parameters.shape[1]))


def _closed(
    model: Model,
    q: Array,
    qd: Array,
    given: tuple[StateLike | None, StateLike | None],
    placed: Mapping[int, tuple[float, float]],
    p: ArrayLike | None,
    many: bool,
) -> tuple[Array, Array]:
    """Return starts with closed loops. Arms that start alike are closed once."""
    states, parameters = _each(model, q, p)
    rates = np.broadcast_to(qd, (len(states), model.n))
    closed: dict[bytes, tuple[Array, Array]] = {}
    keys = [x.tobytes() + v.tobytes() + u.tobytes() for x, v, u in zip(states, rates, parameters)]
    for key, x, v, u in zip(keys, states, rates, parameters):
        if key not in closed:
            closed_q, closed_qd, findings = assembly.closed_start(model, x, v, given, placed, u)
            closed[key] = closed_q, closed_qd
            tell(model, findings)
    q, qd = (np.array(part) for part in zip(*(closed[key] for key in keys)))
    return (q, qd) if many else (q[0], qd[0])


def _struck(
    model: Model, q: Array, qd: Array, jumps: Mapping[int, Array], p: ArrayLike | None, many: bool
) -> tuple[Array, Array, Array]:
    """Return coordinates and rates after a jump of prescribed rates at the start, and the work of the jump.

    The momenta of what is free do not change: free rates change by d_f = -M_ff^-1 M_fp d_p. Loops then take the part of
    the change that would open them.
    """
    states, parameters = _each(model, q, p)
    arms, prescribed = len(states), list(jumps)
    free = [k for k in range(model.n) if k not in jumps]
    change = np.zeros((arms, model.n))
    change[:, prescribed] = np.stack([np.broadcast_to(jump, arms) for jump in jumps.values()], axis=1)
    M = np.stack([model.mass_matrix(x, v) for x, v in zip(states, parameters)])
    if free:
        M_free = M[:, free]
        impulse = np.einsum("aij,aj->ai", M_free, change)  # M_fp d_p, as free rates have not changed yet
        change[:, free] = -np.linalg.solve(M_free[:, :, free], impulse[..., None])[..., 0]
    if model.constraints:
        struck = [assembly.mechanism(model, v).struck(x, d, prescribed) for x, v, d in zip(states, parameters, change)]
        change = np.array(struck)
    mean_rate = qd + change / 2
    work = np.einsum("ai,aij,aj->a", mean_rate, M, change)
    after = qd + change
    return (np.array(states), after, work) if many else (q, after[0], work[0])


def _placed(
    model: Model, given: StateLike | None, name: str, *, many: bool, placed: Mapping[int, tuple[float, float]],
    before: Mapping[int, float] | None,
) -> tuple[Array, dict[int, Array]]:  # fmt: skip
    """Return a state with prescribed coordinates on their paths, and jumps of prescribed rates, by speed.

    Motors that are not given follow their joints. A rate that jumps has its value before the start.
    """
    state = read_state(model, given, name, many)
    if not placed:
        return state, {}
    are_rates = name.startswith("qd")
    names = model.speeds if are_rates else model.coordinates
    known = _given_places(model, given, name, state.shape[-1])
    named = set(known) if isinstance(given, Mapping) else set()  # an array is the state of another run, no choice
    jumps: dict[int, Array] = {}
    for speed, (position, rate) in placed.items():
        place = names.index(model.speeds[speed])
        earlier = state[..., place].copy() if place in named else np.asarray((before or {}).get(speed, rate))
        jump = rate - earlier
        state[..., place] = rate if are_rates else position
        if before is not None and (np.abs(jump) > SAME * max(1.0, abs(rate))).any():
            state[..., place], jumps[speed] = earlier, jump
        known.add(place)
    follow = model.layout.following if are_rates else model.layout.followed
    return follow(state, known), jumps


def _given_places(model: Model, given: StateLike | None, name: str, size: int) -> set[int]:
    """Places of a state that a user gives: some by name, or all by an array of all numbers."""
    if isinstance(given, Mapping):
        return named_places(model, given, name)
    is_whole = given is not None and np.shape(given)[-1] == size > model.n_joints
    return set(range(size)) if is_whole else set()


# --------------------------------------------------------------------------------------------------------- torques


class SampledTorque(PieceTable):
    """Torques as cubics in time, constant before the first and after the last sample.

    Each piece has 5 m numbers, as the composition reads them: coefficients of rising powers of (t - start), then start.
    A is 1 or the number of arms.
    """

    @classmethod
    def of(cls, times: Array, values: Array, kind: str) -> SampledTorque:
        """Make pieces from samples (A, K, m) at times (K,): linear or cubic in between, or held."""
        arms, count, m = values.shape
        columns = values.transpose(1, 0, 2).reshape(count, arms * m)  # one for each arm and input
        coefficients = np.zeros((count + 1, 4, arms * m))  # of each piece; the first one is before all samples
        coefficients[0, 0], coefficients[1:, 0] = columns[0], columns
        if kind == "linear":
            coefficients[1:-1, 1] = np.diff(columns, axis=0) / np.diff(times)[:, None]
        elif kind == "cubic":
            from scipy.interpolate import CubicSpline

            rising_powers = CubicSpline(times, columns).c[::-1]
            coefficients[1:-1] = np.moveaxis(rising_powers, 0, 1)
        pieces = np.empty((arms, count + 1, TABLE_WIDTH, m))
        pieces[:, :, :4] = coefficients.reshape(count + 1, 4, arms, m).transpose(2, 0, 1, 3)
        pieces[:, :, 4] = np.concatenate([[0.0], times])[None, :, None]
        starts = np.concatenate([[-np.inf], times])
        return cls(starts, pieces.reshape(arms, count + 1, TABLE_WIDTH * m))


@dataclass(frozen=True)
class TorqueInput:
    """A torque or controller as a user gives it; at most one field is set.

    Constants are (A, m), with A = 1 for all arms alike.
    """

    traced: TorqueLaw | Bindable | None = None
    constant: Array | None = None
    samples: SampledTorque | None = None
    function: TorqueFunction | None = None

    @property
    def arms(self) -> int:
        """Number of arms that it gives values for; 1 serves any number of arms."""
        if self.constant is not None:
            return len(self.constant)
        return 1 if self.samples is None else len(self.samples.pieces)


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
    constant = _columns(model, given, name, axes=(1, 2) if many else (1,))
    return TorqueInput(constant=np.atleast_2d(constant))


def one_table(*given: TorqueInput) -> SampledTorque | None:
    """Samples among torque and controller; raises `ModelError` if there are two."""
    found = [one.samples for one in given if one.samples is not None]
    if len(found) > 1:
        raise ModelError("torque and controller are both samples; add them up and give one")
    return found[0] if found else None


def looked_up(composed: Composition, *given: TorqueInput) -> PieceTable | None:
    """Pieces of all inputs that are looked up by the time: samples of torque or controller, then series."""
    samples, series = one_table(*given), composed.table
    if samples is None or series is None:
        return samples or series
    return samples.beside(series)


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
    times = np.asarray(given[0], dtype=float)
    values = _columns(model, given[1], name, axes=(2, 3) if many else (2,))
    kind = given[2] if len(given) == 3 else "linear"
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

    Functions and a sampled controller are called every `period` seconds, and their torques are held in between. Without
    a period, the integrator calls the functions at every stage, by `callback`.
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
        self.functions = [drive.function for drive in given if drive.function is not None]
        self.constant = sum((drive.constant[0] for drive in given if drive.constant is not None), start=np.zeros(m))
        self.table, self.parameters = looked_up(composed, *given), model.values(p)
        self.p = np.concatenate([self.constant, self._rows(np.zeros(1))[0], composed.numbers, self.parameters])
        self.samples = None if self.table is None else self._sampled(self.table)
        self.held: list[tuple[float, Array]] = []
        self.sampler = composed.sampler()
        is_called = bool(self.functions) or self.sampler is not None
        self.period = (sample_time or composed.sample_time) if is_called else None
        self.ticks: CompiledTicks | None = None
        self._compiled = composed.ticks and not self.functions and sample_time is None
        at_stages = bool(self.functions) and self.period is None
        self.callback = self._stage if at_stages else None
        self.n_callback = m if at_stages else 0

    def hold(self, t_end: float) -> Hold | None:
        """Return the calls at the sample times of a run, None where nothing is sampled."""
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
            has_sensors = getattr(self.composed.controller, "senses", False)
            felt = [self._felt(t, x, p, others=value)] if has_sensors else []
            value = value + self.sampler(t, q, qd, *felt)
        return value

    def _felt(self, t: float, x: Array, p: Array, others: Array) -> Felt:
        """Loads, motion of the base and accelerations that sensors feel at a sample."""
        from pliant.control.controllers.controller import Felt

        split = len(p) - len(self.parameters)
        parameters = p[split:].copy()  # a stepper may have changed them

        def accelerations(command: Array) -> Array:
            inputs = np.concatenate([others + command, p[len(others) : split]])[None]
            _, _, qdd, _ = self.composed.torques(np.array([t]), x[None], inputs, parameters)
            return np.asarray(qdd[0])

        return Felt(self.composed.loads, self.composed.base, accelerations, parameters)

    def at_start(self, q: Array, qd: Array) -> Array:
        """Return all of p at t = 0."""
        inputs = self.history(np.zeros(1), q[None], qd[None])[0]
        return np.concatenate([inputs, self.parameters])

    def history(self, t: Array, q: Array, qd: Array) -> Array:
        """Return p (N, ...) without the parameters at the rows of the result: held torques, samples, numbers."""
        m, ticked = self.model.layout.n_inputs, self._ticked()
        if ticked is not None:
            times, values = ticked
            last_tick = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
            torques = values[last_tick]
        elif self.functions:
            torques = np.array([self.torque(float(a), b, c) for a, b, c in zip(t, q, qd)]).reshape(len(t), m)
        else:
            torques = np.tile(self.constant, (len(t), 1))
        numbers = np.broadcast_to(self.composed.numbers, (len(t), len(self.composed.numbers)))
        return np.hstack([torques, self._rows(t), numbers])

    def _ticked(self) -> tuple[Array, Array] | None:
        """Times (K,) at which torques were set so far, and these (K, m)."""
        if self.ticks is not None and (count := int(self.ticks.count[0])):
            return self._times[:count], self.ticks.log[:count]
        if self.held:
            return np.array([time for time, _ in self.held]), np.stack([value for _, value in self.held])
        return None


def read_breaks(given: Sequence[float]) -> list[float]:
    """Check and return the times at which the user wants a step to end."""
    found = np.asarray(given, dtype=float)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ModelError(f"breaks: got {given!r}, expected finite times in seconds")
    return [float(t) for t in found]


def listed(loads: Any) -> tuple[Load, ...]:
    """Loads as a tuple, also where one is given alone."""
    return tuple(loads) if isinstance(loads, list | tuple) else (loads,)
