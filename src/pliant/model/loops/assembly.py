"""Closed positions of an arm with loops, and the rows of its loops that depend on others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded
from pliant.errors import ModelError
from pliant.model.coordinate_units import coordinate_units, speed_units
from pliant.model.states import moved, named_places
from pliant.robot.coordinates import Layout

if TYPE_CHECKING:
    from pliant.algebra.rotations import SX
    from pliant.mechanics.constraints import loop_constraints
    from pliant.mechanics.links.chain import Chain
    from pliant.model.loops import loop_functions
    from pliant.model.model import Model
else:  # the loops of a known arm need no expressions
    loop_constraints = LaterModule("pliant.mechanics.constraints.loop_constraints")
    loop_functions = LaterModule("pliant.model.loops.loop_functions")

CLOSED = 1e-12
"""Gap over the size of an arm below which a loop counts as closed. Newton's steps leave 1e-16."""
MOST_STEPS = 100
LONGEST_STEP = 0.5
"""Radians, or meters over the size of the arm, of one step."""
KICKS = 40
"""Times that a position from which no step leads nearer is left at random, by this much on average."""
KICK = 0.4
NEARER = 0.99
"""Gap over the least one so far, at which a position is nearer: of those that differ by rounding the first stays."""
HALF_TURN = 2.0
"""The same where loops are closed with frames turned by half a turn, from where the search began."""
NEAR = 0.3
"""Radians by which states are moved to see the rank of rows in general."""
BEND = 1e-3
"""Part of the size of the arm by which amplitudes are moved there."""
TRIALS = 4
TAKEN = 1e-9
"""Rest of a gap, over one plus the gap, below which it counts as closed to first order."""
TYPED = 1e-3
"""Radians, meters over the size of the arm, or part of the largest speed. Smaller corrections give no warning, since
numbers are often given with a few digits."""
BENT = 1e-6
"""Part of the size of the arm by which links may bend to close loops without a warning. States of a run need it."""
NEVER = 1e-10
"""Slope of a row, over the size of the arm, at which nothing moves it: rounding leaves 1e-15."""
INDEPENDENT = 1e-5
"""Rest of a row without its part along others, over the row. Below this the row depends on the others. Near a singular
position a closed one is known only to the root of its gap, 1e-6."""
SINGULAR = 1e-6
"""Smallest singular value over the largest of the rows, each of length one: below, a position is singular."""


@dataclass(frozen=True)
class Mechanism:
    """Rows of an arm as functions of numbers: all gaps and whether loops stand the right way round, slopes of the rows,
    and the inertia matrix, by which distances are measured."""

    layout: Layout
    names: tuple[str, ...]
    gaps: Callable[[Array], tuple[Array, Array]]
    slopes: Callable[[Array], Array]
    mass: Callable[[Array], Array]
    joints: tuple[int, ...]
    passive: tuple[int, ...]
    size: float

    @classmethod
    def of(cls, layout: Layout, functions: LoopFunctions, values: Array) -> Mechanism:
        """Return the mechanism of an arm with these values of its parameters."""
        n = layout.n

        def rows(q: Array) -> tuple[Array, Array]:
            g, right = functions.gaps.interpreted(q, values)
            return g, right

        def matrix(kernel: Kernel) -> Callable[[Array], Array]:
            return lambda q: np.reshape(kernel.interpreted(q, values), (-1, n))

        kept = {*(shaft.index for shaft in layout.shafts), *layout.base_speeds}
        joints = layout.joint_speeds
        return cls(
            layout=layout, names=functions.names, gaps=rows, slopes=matrix(functions.slopes),
            mass=matrix(functions.inertia), joints=tuple(joints), passive=tuple(k for k in joints if k not in kept),
            size=max(functions.length.interpreted(values).item(), 1e-3),
        )  # fmt: skip

    def closed(self, q: Array, held: Collection[int] = (), named: Collection[int] = ()) -> Array:
        """The closed position that Newton's steps, the smallest by M, lead to. Speeds that are `held` have no
        displacement, those that are `named` only where the others do not close the loops; see `movable`.

        Raises
        ------
        ModelError
            No closed position is found; the loop that stays open is named.
        """
        tiers, best = self.movable(held, named), (np.inf, q)
        for own in tiers:
            near = best[1] if self._refines(own, named) else q
            rng, best, start = np.random.default_rng(0), (np.inf, near), near
            for _ in range(KICKS + 1 if self._may_close(near, own, tiers) else 1):
                found, gap = self._descend(start, own)
                if gap < NEARER * best[0]:
                    best = gap, found
                closed = gap <= CLOSED * self.size
                if closed and (self.gaps(found)[1] > 0).all():
                    return found
                start = self._kicked(q, own, HALF_TURN, rng) if closed else self._kicked(best[1], own, KICK, rng)
        raise ModelError(self._gap(best[1]))

    def movable(self, held: Collection[int], named: Collection[int] = ()) -> list[list[int]]:
        """Speeds that may give way, in the order in which they are tried: joints that nobody named; passive ones that
        are named, whose places are a first guess; the other joints; links, which bend only where joints alone do not
        close the loops, beside what is not named or passive; all that is not `held`."""
        free = [k for k in range(self.layout.n) if k not in held]
        joints = [k for k in free if k in self.joints]
        guessed = [k for k in free if k not in named or k in self.passive]
        tiers = [[k for k in joints if k not in named], [k for k in joints if k in guessed], joints, guessed, free]
        return [own for k, own in enumerate(tiers) if own not in tiers[:k]]

    def _refines(self, own: Collection[int], named: Collection[int]) -> bool:
        """Return whether these speeds only correct what joints that are not named have left open."""
        return all(k in self.joints and (k not in named or k in self.passive) for k in own)

    def _may_close(self, q: Array, own: list[int], tiers: list[list[int]]) -> bool:
        """Return whether speeds move the rows in as many ways as all joints do. Fewer close them by chance only."""
        joints = [k for k in tiers[-1] if k in self.joints]
        if not set(own) < set(joints):
            return True
        step = np.zeros(self.layout.n)
        step[joints] = NEAR * np.random.default_rng(2).standard_normal(len(joints))
        J = self.slopes(moved(self.layout, q, step))
        return len(independent(J[:, own])) >= len(independent(J[:, joints]))

    def _gap(self, q: Array) -> str:
        """Message that names the loop that is not closed, and by how much."""
        g, right = self.gaps(q)
        loops = list(dict.fromkeys(name.partition(".")[0] for name in self.names))
        if np.abs(g).max() <= CLOSED * self.size:
            loop = loops[int(np.argmin(right))]
            return f"loop `{loop}` closes only with one of its frames turned by half a turn; turn that frame"
        kinds = [(*name.partition(".")[::2], value) for name, value in zip(self.names, g)]
        open_by = {
            (loop, turns): float(np.linalg.norm([x for own, row, x in kinds if own == loop and _turns(row) == turns]))
            for loop in loops
            for turns in (False, True)
        }
        (loop, turns), size = max(open_by.items(), key=lambda item: item[1])
        words = f"turned by {size:.3g} rad against" if turns else f"{size:.3g} m away from"
        return (
            f"loop `{loop}` cannot be closed: one of its frames stays {words} where it should be; check the lengths of "
            "its links and the places of its frames, or start nearer to a closed position"
        )

    def _kicked(self, q: Array, free: list[int], far: float, rng: np.random.Generator) -> Array:
        step = np.zeros(self.layout.n)
        own = [k for k in free if k in self.joints]
        step[own] = far * rng.standard_normal(len(own))
        return moved(self.layout, q, step)

    def _descend(self, q: Array, free: list[int]) -> tuple[Array, float]:
        """Take Newton's steps while they lead nearer. Return the position and its largest gap, infinite where links
        would bend beyond the range of their shapes."""
        g = self.gaps(q)[0]
        for _ in range(MOST_STEPS):
            if not self._is_sound(q):
                return q, np.inf
            step, norm = self._step(q, g, free), np.linalg.norm(g)
            part = min(1.0, LONGEST_STEP * max(1.0, self.size) / max(np.abs(step).max(initial=0.0), 1e-300))
            while part > 1e-6:
                trial = moved(self.layout, q, part * step)
                ahead = self.gaps(trial)[0]
                if np.linalg.norm(ahead) < norm:
                    break
                part /= 2
            else:
                break
            q, g = trial, ahead
        return q, float(np.abs(g).max())

    def _is_sound(self, q: Array) -> bool:
        """Return whether the inertia matrix is positive definite. To second order in amplitudes of 9 rad it is not."""
        try:
            np.linalg.cholesky(self.mass(q))
        except np.linalg.LinAlgError:
            return False
        return True

    def _step(self, q: Array, g: Array, free: list[int]) -> Array:
        A, L = self._weighted(q, free)
        step = np.zeros(self.layout.n)
        step[free] = np.linalg.solve(L.T, np.linalg.lstsq(A, -g, rcond=1e-10)[0])
        return step

    def _weighted(self, q: Array, free: Sequence[int]) -> tuple[Array, Array]:
        """Slopes of the rows by displacements that M measures, J L^-T, and L of M = L L^T.

        Raises
        ------
        ModelError
            M is not positive definite there.
        """
        try:
            L = np.asarray(np.linalg.cholesky(self.mass(q)[np.ix_(free, free)]), dtype=float)
        except np.linalg.LinAlgError:
            raise ModelError(
                "state: the inertia matrix is not positive definite there, so that links are bent beyond all that "
                "their shapes hold for; expected smaller amplitudes"
            ) from None
        return np.linalg.solve(L, self.slopes(q)[:, free].T).T, L

    def rank(self) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """Return the rows to keep, the rows that follow from them, and the number of freedoms left to the joints, from
        states near a closed one."""
        every = list(range(self.layout.n))
        start = self.closed(self.layout.rest())
        states = [start, *self._near(start)]
        moves = np.max([np.abs(self.slopes(q)).max(axis=1) for q in states], axis=0) > NEVER * self.size
        weighted = [self._weighted(q, every)[0] * moves[:, None] for q in states]
        best = most_regular(weighted)
        kept, own = independent(weighted[best]), self.slopes(states[best])[:, list(self.joints)]
        names = self.names
        dropped = tuple(name for k, name in enumerate(names) if k not in kept)
        return tuple(names[k] for k in kept), dropped, len(self.joints) - len(independent(own))

    def _near(self, start: Array) -> list[Array]:
        """Closed states around a closed one. In each of them one joint stays where it was moved to. Otherwise steps of
        all joints would lead back to a singular position, such as that of a linkage that lies flat."""
        rng, found, n = np.random.default_rng(1), [], self.layout.n
        scale = np.full(n, BEND * self.size)
        scale[list(self.joints)] = NEAR
        for k in range(6 * TRIALS if self.joints else 0):
            held = self.joints[k % len(self.joints)]
            q = moved(self.layout, start, scale * rng.standard_normal(n))
            q, gap = self._descend(q, [index for index in range(n) if index != held])
            if gap <= CLOSED * self.size and self._is_sound(q):
                found.append(q)
            if len(found) == TRIALS:
                break
        return found

    def along(self, q: Array, qd: Array, held: Collection[int] = (), named: Collection[int] = ()) -> Array | None:
        """Speeds along the closed loops, the nearest by M. None if those that are `held` cannot be kept. Those that are
        `named` give way in the order of `movable`."""
        change, kept = self.taken_back(q, self.slopes(q) @ np.reshape(qd, (-1, 1)), held, named)
        return qd + change[:, 0] if kept.all() else None

    def taken_back(self, q: Array, gaps: Array, held: Collection[int], named: Collection[int]) -> tuple[Array, Array]:
        """Smallest displacements (n, K) by M that close K small gaps (rows, K) of the loops, and whether each gap
        closes. Speeds give way in the order of `movable`."""
        tiers, J = self.movable(held, named), self.slopes(q)
        found, done = np.zeros((self.layout.n, gaps.shape[1])), np.zeros(gaps.shape[1], dtype=bool)
        room = TAKEN * (1 + np.abs(gaps).max(axis=0, initial=0.0))
        for own in tiers:
            trial = found.copy() if self._refines(own, named) else np.zeros(found.shape)
            A, L = self._weighted(q, own)
            trial[own] += np.linalg.solve(L.T, np.linalg.lstsq(A, -gaps - J @ trial, rcond=1e-10)[0])
            found[:, ~done] = trial[:, ~done]
            done |= np.abs(gaps + J @ found).max(axis=0, initial=0.0) <= room
            if done.all():
                break
        return found, done

    def struck(self, q: Array, change: Array, held: Collection[int]) -> Array:
        """Return the change of all speeds by an impulse on the `held` ones. The momenta of the others stay, and of all
        changes along the loops it is the nearest by M."""
        free = [k for k in range(self.layout.n) if k not in held]
        out, gap = np.array(change), self.slopes(q) @ change
        if free:
            A, L = self._weighted(q, free)
            out[free] += np.linalg.solve(L.T, np.linalg.lstsq(A, -gap, rcond=1e-10)[0])
        if np.abs(self.slopes(q) @ out).max() > 1e-9 * (1 + np.abs(gap).max()):
            raise ModelError("motion: a prescribed rate jumps as loops do not let it; change the motion")
        return out

    def require_regular(self, q: Array, held: Collection[int] = ()) -> None:
        """Raise `ModelError` if the rows that are kept depend on one another in a closed position."""
        free = [k for k in range(self.layout.n) if k not in held]
        own = [self.names.index(name) for name in self.layout.rows]
        A = self._weighted(q, free)[0][own] if free else np.zeros((len(own), 0))
        lengths = np.linalg.norm(A, axis=1)
        left, values, _ = np.linalg.svd(A / np.maximum(lengths, 1e-300)[:, None], full_matrices=False)
        if len(values) < len(own) or values[-1] <= SINGULAR * values[0]:
            row = own[int(np.argmax(np.abs(left[:, -1])))] if len(values) == len(own) else own[-1]
            loop = self.names[row].partition(".")[0]
            raise ModelError(
                f"loop `{loop}`: the position is singular, its joints hold the loop in one direction twice and in "
                "another not at all; start elsewhere"
            )


class LoopFunctions(NamedTuple):
    """Names of all rows of an arm, its gaps, their slopes and the inertia matrix as functions of q and p, and the
    length of the arm as a function of p."""

    names: tuple[str, ...]
    gaps: Kernel
    slopes: Kernel
    inertia: Kernel
    length: Kernel

    @classmethod
    def of(cls, built: Callable[[], tuple[Chain, SX]], form: str | None, title: str) -> LoopFunctions:
        """Return the functions of the chain and the parameters that `built` gives. They are known by the recipe `form`
        of its equations."""

        def rows(_: object) -> dict[str, object]:
            return {"rows": loop_constraints.row_names(built()[0])}

        traces = {
            "gaps": lambda: loop_functions.all_gaps(*built()),
            "slopes": lambda: loop_functions.slopes_of_gaps(*built()),
            "inertia": lambda: loop_functions.inertia(*built()),
            "length": lambda: loop_functions.length(*built()),
        }
        known = {
            name: Recorded(trace, form and f"{form} {name} of loops", rows if name == "gaps" else None, title)
            for name, trace in traces.items()
        }
        kernels = {name: Kernel(function, "vm") for name, function in known.items()}
        return cls(names=tuple(known["gaps"].remarks["rows"]), **kernels)


def mechanism(model: Model, p: Array) -> Mechanism:
    """Return the mechanism of a model at these values of its parameters."""

    def known() -> LoopFunctions:
        return LoopFunctions.of(
            lambda: (model.chain, model.parameter_symbols), model.form, f"loops of {model.robot.name}"
        )

    functions = model.first.derived("loops", (), known)
    return model.derived("mechanism", p.tobytes(), lambda: Mechanism.of(model.layout, functions, p))


def closed_start(
    model: Model,
    q: Array,
    qd: Array,
    given: tuple[StateLike | None, StateLike | None],
    placed: Collection[int],
    p: Array,
) -> tuple[Array, Array, dict[str, str]]:
    """Return a start with closed loops, and warnings about it.

    Speeds that are `placed` belong to prescribed coordinates, which do not give way. What a user has `given` by name
    gives way as `Mechanism.movable` says.
    """
    by, named, fast = mechanism(model, p), *(named_speeds(model, x, kind) for x, kind in zip(given, ("q0", "qd0")))
    found = by.closed(q, placed, named)
    by.require_regular(found, placed)
    rates = by.along(found, qd, placed, fast)
    if rates is None:
        raise ModelError("qd0: no speeds of the free joints go with those that are prescribed; change the motion")
    told = told_positions(model, q, found, given[0], "q0", p) | _told_rates(model, qd, rates, given[1])
    stand = motors_given(model, given[0], {*placed, *named})
    found = model.layout.followed(found, [model.index(model.speeds[k]) for k in stand])
    return found, model.layout.following(rates, motors_given(model, given[1], {*placed, *fast})), told


def closed_near(model: Model, q: Array, given: StateLike | None, name: str, p: Array) -> tuple[Array, dict[str, str]]:
    """Return the closed position near q, of which a user has `given` something by name, and warnings about it."""
    found = closed_with(model, q, p, named_speeds(model, given, "q0"))
    return found, told_positions(model, q, found, given, name, p)


def closed_with(model: Model, q: Array, p: Array, named: Collection[int]) -> Array:
    """Return the closed position near q, with the speeds of the coordinates that are named."""
    return mechanism(model, p).closed(q, (), named)


def named_speeds(model: Model, given: StateLike | None, name: str) -> set[int]:
    """Speeds of the coordinates that a start gives by name, or as positions of the actuated joints."""
    if isinstance(given, Mapping):
        places = named_places(model, given, name)
        if name == "qd0":
            return places
        found = {model.coordinates[k] for k in places}
        balls = {k for ball in model.layout.balls if places & {*ball.places} for k in ball.indices}
        return balls | {k for k, speed in enumerate(model.speeds) if speed in found}
    few = given is not None and not isinstance(given, str) and np.shape(given)[-1] < len(model.speeds)
    return {shaft.index for shaft in model.layout.shafts} if few else set()


def motors_given(model: Model, given: StateLike | None, own: Collection[int]) -> set[int]:
    """Motors of elastic drives that a start gives: those among the speeds `own`, or all by a whole state. Others stand
    and turn with their joints."""
    motors = {shaft.actuated for shaft in model.layout.driven}
    is_whole = not (given is None or isinstance(given, str | Mapping)) and np.shape(given)[-1] >= model.n
    return motors if is_whole else motors & set(own)


def told_positions(
    model: Model, q: Array, found: Array, given: StateLike | None, name: str, p: Array
) -> dict[str, str]:
    """Return warnings where given joints had to move to a closed position, or links to bend."""
    by, units = mechanism(model, p), np.array(coordinate_units(model))
    change = np.abs(found - q) / np.where(units == "m", by.size, 1.0)
    bends = {name for k, name in enumerate(model.speeds) if k not in by.joints}
    order = np.argsort(-change)
    far = [
        k for k in order if change[k] > TYPED and k in _given_places(model, given) and model.coordinates[k] not in bends
    ]
    bent = [k for k in order if change[k] > BENT and model.coordinates[k] in bends]

    def moves(places: list[int]) -> str:
        return ", ".join(f"{model.coordinates[k]} by {abs(found - q)[k]:.3g} {units[k]}" for k in places[:3])

    out = {}
    if far:
        key = f"assembly {model.coordinates[far[0]]} {np.log10(change[far[0]]):.0f}"  # ten times as far is told again
        out[key] = f"{name}: the loops do not close there; moved to the nearest closed position: {moves(far)}"
    if bent:
        out[f"assembly of links {np.log10(change[bent[0]]):.0f}"] = (
            f"{name}: joints alone do not close the loops there; links are bent: {moves(bent)}; check the lengths of "
            "the links and the joints that are held"
        )
    return out


def _told_rates(model: Model, qd: Array, rates: Array, given: StateLike | None) -> dict[str, str]:
    """Return a warning where given speeds had to change so that loops stay closed."""
    change, whole = np.abs(rates - qd), max(np.abs(qd).max(), np.abs(rates).max())
    own = set(range(model.n)) if _is_whole(given, model.n) else named_speeds(model, given, "qd0")
    far = sorted((k for k in own if change[k] > TYPED * whole), key=lambda k: -change[k])
    changes = ", ".join(f"{model.speeds[k]} by {change[k]:.3g} {speed_units(model)[k]}" for k in far[:3])
    text = f"qd0: the loops do not move so; changed to the nearest speeds that they have: {changes}"
    return {f"rates {model.speeds[far[0]]}": text} if far else {}


def _given_places(model: Model, given: StateLike | None) -> set[int]:
    """Places of the coordinates that a user gives."""
    if isinstance(given, Mapping):
        return named_places(model, given, "q0")
    if given is None or isinstance(given, str):
        return set()
    return set(range(model.n_q)) if _is_whole(given, model.n_q) else set(model.layout.shaft_places())


def _is_whole(given: StateLike | None, size: int) -> bool:
    """Return whether a user gives all numbers of a state."""
    return not (given is None or isinstance(given, str | Mapping)) and np.shape(given)[-1:] == (size,)


def most_regular(matrices: Sequence[Array]) -> int:
    """Number of the matrix whose rows have the greatest rank. Among several, the one whose rows differ most."""

    def regular(A: Array) -> tuple[int, float]:
        values = np.linalg.svd(_unit_rows(A), compute_uv=False)
        rank = int((values > INDEPENDENT).sum())
        return rank, float(values[rank - 1]) if rank else 0.0

    return max(range(len(matrices)), key=lambda k: regular(matrices[k]))


def independent(A: Array) -> list[int]:
    """Numbers of the rows, in their order, that do not depend on rows before them."""
    kept: list[int] = []
    basis = np.zeros((0, A.shape[1]))
    for k, row in enumerate(_unit_rows(A)):
        rest = row
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > INDEPENDENT:
            kept.append(k)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
    return kept


def _unit_rows(A: Array) -> Array:
    """Rows of length one, but for those that are zero beside the longest."""
    lengths = np.linalg.norm(A, axis=1)
    return A / np.where(lengths > INDEPENDENT * lengths.max(initial=0.0), lengths, np.inf)[:, None]


def _turns(row: str) -> bool:
    return row.startswith(("turn", "twist"))
