"""Error estimates of a run for its bent beams: how far sections turned, and what small deflections and few shapes cost.

Two estimates are made of each beam, and the larger one counts. By forces: an exact beam takes the section forces of
some rows of the run, and its tip is compared with that of the model (`known_shapes`, `exact_shape.py`). By shapes: the
share of the last natural shape in the strain energy tells what further shapes would add (`few_shapes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pliant.algebra.natural_modes import natural_modes
from pliant.arrays import Array, Integers
from pliant.base.later import LaterModule
from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded, recalled
from pliant.errors import ModelError, UnsupportedModel
from pliant.model.model import Model
from pliant.model.validity import SENSIBLE_PIECES, BentBeam, bent_beams, body_turns
from pliant.simulation.runs.quantities.exact_shape import KnownShape
from pliant.simulation.runs.quantities.internal_forces import RunHistory

if TYPE_CHECKING:
    from pliant.simulation.runs.quantities import beam_expressions
    from pliant.simulation.runs.results import Result
else:  # it makes expressions
    beam_expressions = LaterModule("pliant.simulation.runs.quantities.beam_expressions")

INSTANTS = 12
"""Rows of a run that are judged, spread over its time, besides those with the largest slope and bend."""
SAFETY = 1.7
"""Factor of the estimate by forces, so that it lies above the true error where loads vary with time: see
tests/physics/test_validity_estimate.py."""
TOLERANCE = 5e-3
"""Error of the tip, as a part of the length, that a sufficient number of pieces may have. Slopes of 0.2 rad cost about
as much."""
READ = 5
"""Outputs of a beam that `beam_expressions.carried` gives."""
ORDER = 3
"""Power of the number of pieces with which the error falls."""


@dataclass(frozen=True)
class Validity:
    """Error estimate of a run for one link.

    Attributes
    ----------
    link : str
        Name of the link.
    pieces : int
        Pieces that it has.
    slope : float
        Largest rotation of a section against the root of its piece by bending, rad; of a body from a file that of one
        of its frames.
    time : float
        Time of that rotation, s.
    error : float or None
        Estimate of the largest error of the link's tip against its root, at equal loads, over the link's length; None
        where it is not judged. Errors that add up over time, as in the phase of a vibration, are not in it.
    source : str
        How the error was found: by "forces" (an exact beam under the forces of the run), by "shapes" (the share of the
        last shape in the strain energy), or "not judged: ..." with the reason.
    enough : int
        Pieces that would do; as many as it has, if these do.
    """

    link: str
    pieces: int
    slope: float
    time: float
    error: float | None
    source: str
    enough: int

    def __str__(self) -> str:
        lost = self.source if self.error is None else f"tip within {self.error:.2g} of its length ({self.source})"
        cut = "" if self.enough <= self.pieces else f"; {self.enough} pieces would do"
        return f"{self.link}: slope up to {self.slope:.3g} rad at {self.time:.4g} s, {lost}{cut}"


def judge(result: Result) -> tuple[Validity, ...]:
    """Estimates for all links of a run that bend."""
    rows = np.flatnonzero(np.isfinite(result.q).all(axis=1))
    if not len(rows):
        return ()
    bodies = (_of_body(name, result.t[rows], turns) for name, _, turns in body_turns(result.model, result.q[rows]))
    return (*(_judged(result, beam, rows) for beam in bent_beams(result.model)), *bodies)


def _of_body(name: str, t: Array, turns: Array) -> Validity:
    """Rotation of the frames of a body from a file; its error is not known."""
    largest = turns.max(axis=1)
    at = int(np.argmax(largest))
    return Validity(
        link=name,
        pieces=1,
        slope=float(largest[at]),
        time=float(t[at]),
        error=None,
        source="not judged: its body is linear",
        enough=1,
    )


def _judged(result: Result, beam: BentBeam, rows: Integers) -> Validity:
    """Estimate for one beam from rows of a run."""
    slope, bend = beam.turns(result.q[rows])
    at, most = int(np.argmax(slope)), float(np.max(bend))
    spread = np.linspace(0, len(rows) - 1, INSTANTS).astype(int)
    error, source = _lost(result, beam, rows[np.unique([*spread, at, int(np.argmax(bend))])])
    fewer = 1.0 if error is None else (error / TOLERANCE) ** (1 / ORDER)
    steepest, count = float(slope[at]), len(beam.pieces)
    enough = max(beam.enough(steepest, most), int(np.ceil(min(fewer, SENSIBLE_PIECES) * count)))
    return Validity(
        link=beam.name,
        pieces=count,
        slope=steepest,
        time=float(result.t[rows[at]]),
        error=error,
        source=source,
        enough=max(count, min(enough, SENSIBLE_PIECES)),
    )


def _lost(result: Result, beam: BentBeam, rows: Integers) -> tuple[float | None, str]:
    """The larger of the two estimates, and its source; None with the reason where there is none."""
    if _tables(result.model, beam) is None:
        return None, "not judged: it slides" if beam.slides else "not judged: its shapes follow the arm"
    try:
        history = result.history
        shapes = known_shapes(history.rows(rows), beam)
    except (ModelError, UnsupportedModel) as reason:
        return None, f"not judged: {str(reason).split(';')[0]}"
    length = float(sum(shapes[0].size))
    tips = [(shape.tip(), shape.place[-1]) for shape in shapes]
    bent = [float(np.linalg.norm(exact - tip)) / length for exact, tip in tips if exact is not None]
    if not bent:
        return None, "not judged: no rest under the forces of the run"
    lost, few = SAFETY * max(bent), few_shapes(history, beam) / length
    return (lost, "forces") if lost >= few else (few, "shapes")


# ------------------------------------------------------------------------------------- by exact kinematics, equal loads


class ShapeTables(NamedTuple):
    """Tables of a beam: whether its root is free, edges of the cells of each piece as parts of its length, (points, 6,
    amplitudes) twist and curvatures per amplitude, (points, 6, 6) directions of strain, by columns, that its shapes
    allow, and the field and the tip displacement of each shape."""

    free: bool
    cells: list[Array]
    bends: Array
    allowed: Array
    fields: Array
    ends: Array


def _tables(model: Model, beam: BentBeam) -> ShapeTables | None:
    """Tables of a beam; None where it slides, or its shapes follow the arm."""

    def read() -> ShapeTables | None:
        recipe = model.recipe and f"{model.recipe} shapes of {beam.name}"
        kept = recalled(recipe, lambda: beam_expressions.shape_tables(model, beam))
        if kept is None:
            return None
        cells, bends, allowed = ([np.array(each) for each in kept[name]] for name in ("cells", "bends", "allowed"))
        fields, ends = np.array(kept["fields"]), np.array(kept["ends"])
        return ShapeTables(kept["free"], cells, _side_by_side(bends), np.concatenate(allowed), fields, ends)

    return model.derived("tables of shapes", beam.name, read)


def known_shapes(history: RunHistory, beam: BentBeam) -> list[KnownShape]:
    """Shape of a beam in each state of a history, with the forces that its sections carry."""
    model, tables = history.model, _tables(history.model, beam)
    assert tables is not None
    beams = [one for one in bent_beams(model) if _tables(model, one) is not None]
    every = history.over_time(
        ("shapes of beams",), lambda forces: [x for one in beams for x in beam_expressions.carried(forces, one)]
    )
    *found, damping = every[READ * [one.name for one in beams].index(beam.name) :][:READ]
    still = np.linalg.lstsq(_stiffness(model, beam, history.parameters), damping.T, rcond=None)[0].T
    damped = np.einsum("nij,tj->tni", tables.bends, still)
    return [_known_shape([x[row] for x in found], tables, damped[row]) for row in range(len(history.t))]


def _stiffness(model: Model, beam: BentBeam, p: Array) -> Array:
    """Stiffness matrix of the amplitudes of all pieces."""

    def make() -> Kernel:
        recipe = model.form and f"{model.form} stiffness of {beam.name}"
        recorded = Recorded(lambda: beam_expressions.stiffness(model, beam), recipe, title=f"beam {beam.name}")
        return Kernel(recorded, "vm")

    size = sum(len(piece.places) for piece in beam.pieces)
    return np.asarray(model.derived("stiffness of a beam", beam.name, make)(p)).reshape(size, size)


def _side_by_side(blocks: list[Array]) -> Array:
    """(sum of rows, 6, sum of columns) with each piece in its own rows and columns."""
    rows, columns = (np.cumsum([0, *(block.shape[axis] for block in blocks)]) for axis in (0, 2))
    whole = np.zeros((rows[-1], 6, columns[-1]))
    for block, row, column in zip(blocks, rows, columns):
        whole[row : row + len(block), :, column : column + block.shape[2]] = block
    return whole


def _known_shape(found: list[Array], tables: ShapeTables, damped: Array) -> KnownShape:
    """Shape of a beam from one row of the outputs of `beam_expressions.carried`."""
    points, ends = found[0].reshape(-1, 25), found[1].reshape(-1, 12)
    place, axes, moment, force, stiff, mass = np.split(points, [3, 12, 15, 18, 24], axis=1)
    omega, (beyond,), lever, pull = np.split(found[3], [3, 4, 7])
    attitude = axes.reshape(-1, 3, 3)
    size = np.concatenate([np.diff(edges) * length for edges, length in zip(tables.cells, found[2])])
    gap, turn = np.zeros((len(size), 3)), np.tile(np.eye(3), (len(size), 1, 1))
    r, R = np.zeros(3), np.eye(3)
    for first, start, end in zip(np.cumsum([0, *(len(edges) - 1 for edges in tables.cells)]), ends[::2], ends[1::2]):
        gap[first], turn[first] = R.T @ (start[:3] - r), R.T @ start[3:].reshape(3, 3)
        r, R = end[:3], end[3:].reshape(3, 3)
    soft = np.divide(1.0, stiff[:-1], out=np.zeros_like(stiff[:-1]), where=stiff[:-1] > 0)
    return KnownShape(
        size=size, gap=gap, turn=turn, compliance=np.einsum("nij,nj,nkj->nik", tables.allowed, soft, tables.allowed),
        damped=damped, place=place, attitude=attitude, force=force, moment=moment,
        mass=np.append(mass[:-1, 0] * np.repeat(size / 2, 2), beyond),
        outward=(omega @ omega) * np.eye(3) - np.outer(omega, omega),
        lever=attitude[-1].T @ lever / beyond if beyond > 0 else np.zeros(3), pull=pull, free=tables.free,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------- by too few shapes


def few_shapes(history: RunHistory, beam: BentBeam) -> float:
    """Estimate of the displacement of the tip that shapes beyond the last one would add, m.

    A force at the tip of a beam bends it by shapes in proportion to their strain energies, which fall like the fourth
    power of their roots. So the estimate is the deflection, times the share of the last natural shape, times the sum of
    the series beyond it over its last term. Only strain energy that this shape exchanges with motion counts: its slow
    part is in the exact beam under the forces of the run, which has all shapes.
    """
    model, tables = history.model, _tables(history.model, beam)
    assert tables is not None
    places = np.array([place for piece in beam.pieces for place in piece.places])
    indices = np.array([model.speeds.index(model.coordinates[place]) for place in places])
    rows = np.isfinite(history.q).all(axis=1)
    c, cd = history.q[rows][:, places], history.qd[rows][:, indices]
    K, M = _stiffness(model, beam, history.parameters), model.mass_matrix(model.layout.rest(), history.parameters)
    energy = float(np.max(np.einsum("ti,ij,tj->t", c, K, c) / 2, initial=0.0))
    lost = 0.0
    for field in ("bending_y", "bending_z"):
        own = np.flatnonzero(tables.fields == field)
        if not len(own) or energy == 0.0:
            continue
        m = M[np.ix_(indices[own], indices[own])]
        squares, X = natural_modes(K[np.ix_(own, own)], m)
        strain, motion = (x * np.max((y[:, own] @ m @ X[:, -1]) ** 2) / 2 for x, y in ((squares[-1], c), (1.0, cd)))
        share = float(min(strain, motion)) / energy
        lost += beyond_shape(len(own)) * share * float(np.max(np.abs(c[:, own] @ tables.ends[own])))
    return lost


def beyond_shape(count: int) -> float:
    """Contributions of all shapes beyond the first `count` to the tip deflection of a clamped beam under a tip force,
    as a part of that of shape number `count`."""
    roots = np.append(1.8751, (np.arange(2, 1000) - 0.5) * np.pi)
    return float(np.sum((roots[count - 1] / roots[count:]) ** 4))
