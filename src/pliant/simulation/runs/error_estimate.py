"""Error estimates of a run for its bent beams: how far sections turned, and what small deflections and few shapes cost.

Two estimates are made of each beam, and the larger one counts. By forces: an exact beam takes the section forces of
some rows of the run, and its tip is compared with that of the model (`known_shapes`, `exact_shape.py`). By shapes: the
share of the last natural shape in the strain energy tells what further shapes would add (`few_shapes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from pliant.algebra.pencil import natural_modes
from pliant.algebra.rotations import SX
from pliant.arrays import Array, Integers
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.formulations.denoc import euler_matrix
from pliant.mechanics.formulations.generalized_forces import dissipation
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.kinematics import Placement, placements
from pliant.mechanics.links.link_maps import ROTATIONS
from pliant.mechanics.links.section_forces import InternalForces
from pliant.mechanics.links.stations import section_axes
from pliant.model.model import Model
from pliant.model.validity import SENSIBLE_PIECES, BentBeam, bent_beams, body_turns
from pliant.robot.parts.joint_types import JOINT_TYPES
from pliant.simulation.runs.exact_shape import GAUSS, KnownShape
from pliant.simulation.runs.internal_forces import RunHistory

if TYPE_CHECKING:
    from pliant.simulation.runs.results import Result

STRAINS = {
    "GJ": "torsion",
    "EI_y": "bending_z",
    "EI_z": "bending_y",
    "EA": "axial",
    "GA_y": "bending_y",
    "GA_z": "bending_z",
}
"""Stiffnesses in the order of the strains (kappa, nu) that they resist, and the fields whose shapes allow these."""
CELLS = 6
"""Least number of cells of a beam: its tip is then found to 1e-6 of its length at deflections of 0.4."""
INSTANTS = 12
"""Rows of a run that are judged, spread over its time, besides those with the largest slope and bend."""
SAFETY = 1.7
"""Factor of the estimate by forces, so that it lies above the true error where loads vary with time: see
tests/physics/test_validity_estimate.py."""
TOLERANCE = 5e-3
"""Error of the tip, as a part of the length, that a sufficient number of pieces may have. Slopes of 0.2 rad cost about
as much."""
READ = 5
"""Outputs of a beam that `_carried` gives."""
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
    if not _judgeable(result.model, beam):
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


def known_shapes(history: RunHistory, beam: BentBeam) -> list[KnownShape]:
    """Shape of a beam in each state of a history, with the forces that its sections carry."""
    chain, numbers = history.model.chain, [piece.number for piece in beam.pieces]
    beams = {one.name: one for one in bent_beams(history.model) if _judgeable(history.model, one)}
    every = history.over_time(
        ("shapes of beams",), lambda forces: [x for one in beams.values() for x in _carried(forces, one)]
    )
    *found, damping = every[READ * list(beams).index(beam.name) :][:READ]
    cells = [_cells(chain.links[k], len(numbers)) for k in numbers]
    still = np.linalg.lstsq(_stiffness(history.model, beam, history.parameters), damping.T, rcond=None)[0].T
    bends = _side_by_side(
        [_bends(chain.links[k], piece.length, edges) for k, piece, edges in zip(numbers, beam.pieces, cells)]
    )
    damped = np.einsum("nij,tj->tni", bends, still)
    free = not JOINT_TYPES[chain.links[numbers[0]].joint.kind].holds
    allowed = np.concatenate([_allowed(chain.links[k], edges) for k, edges in zip(numbers, cells)])
    return [
        _known_shape([x[row] for x in found], cells, allowed, damped[row], free) for row in range(len(history.t))
    ]  # fmt: skip


def _bends(link: ChainLink, length: float, edges: Array) -> Array:
    """(points, 6, amplitudes) twist and curvatures per amplitude of a link."""
    shapes = link.body.shapes
    assert shapes is not None
    powers, names = np.array(shapes.powers, dtype=float), np.array(shapes.fields)
    first, second = (shapes.evaluate(np.array(_points(edges)), k) * length ** (powers - k) for k in (1, 2))
    rows = [first * (names == "torsion"), -second * (names == "bending_z"), second * (names == "bending_y")]
    return np.stack([*rows, *[np.zeros_like(first)] * 3], axis=1)


def _side_by_side(blocks: list[Array]) -> Array:
    """(sum of rows, 6, sum of columns) with each piece in its own rows and columns."""
    rows, columns = (np.cumsum([0, *(block.shape[axis] for block in blocks)]) for axis in (0, 2))
    whole = np.zeros((rows[-1], 6, columns[-1]))
    for block, row, column in zip(blocks, rows, columns):
        whole[row : row + len(block), :, column : column + block.shape[2]] = block
    return whole


def _judgeable(model: Model, beam: BentBeam) -> bool:
    """Return whether a beam can be judged. A beam that slides cannot, nor one whose shapes follow the arm."""
    return not (beam.slides or any(model.chain.links[piece.number].body.follows for piece in beam.pieces))


def _cells(link: ChainLink, pieces: int) -> Array:
    """Edges of the cells of a piece, as parts of its length."""
    assert link.body.shapes is not None
    assert link.body.data is not None
    most = max(link.body.shapes.fields.count(field) for field in link.body.shapes.fields)
    count = max(-(-CELLS // pieces), -(-most // 2))
    return np.unique([*np.linspace(0.0, 1.0, count + 1), *link.body.data.profile.breaks])


def _points(edges: Array) -> list[float]:
    """Gauss points of cells."""
    found = edges[:-1, None] + np.diff(edges)[:, None] * GAUSS
    return [float(x) for x in found.ravel()]


def _allowed(link: ChainLink, edges: Array) -> Array:
    """(points, 6, 6) directions of strain, by columns, that the shapes of a link allow."""
    assert link.body.shapes is not None
    assert link.body.data is not None
    columns = np.diag([float(field in link.body.shapes.fields) for field in STRAINS.values()])
    e_y, e_z = link.body.data.shear_centre
    columns[4:, 0] = columns[0, 0] * np.array([e_z, -e_y])  # twist is about the shear center
    return np.tile(columns, (2 * len(edges) - 2, 1, 1))


def _carried(forces: InternalForces, beam: BentBeam) -> list[SX]:
    """Points of a beam in axes of its root, as `_known_shape` reads them in its order, and forces of damping."""
    chain, frames = forces.chain, placements(forces.chain, forces.q)
    numbers = [piece.number for piece in beam.pieces]
    root, last = frames[numbers[0]], forces.carried[numbers[-1]].motion
    points, ends, lengths, damping = [], [], [], []
    resisted = dissipation(chain, forces.q, forces.qd)
    for k in numbers:
        link, frame = chain.links[k], frames[k]
        data, c = link.body.data, chain.body(link, forces.q)
        assert data is not None
        turn, shift = ca.mtimes(root.R.T, frame.R), ca.mtimes(root.R.T, frame.p - root.p)
        etas = _points(_cells(link, len(numbers)))
        wrenches = [*forces.sections(k, etas, 2), *([forces.section(k, 1.0)] if k == numbers[-1] else [])]
        for eta, (f, n) in zip([*etas, 1.0], wrenches):
            r, theta = link.body.point(c, eta)
            R, place = ca.mtimes(turn, ROTATIONS[link.body.rotation](theta)[0].matrix), shift + ca.mtimes(turn, r)
            section = (data.at(name, eta) for name in (*STRAINS, "mass_per_length"))
            points.append(ca.vertcat(place, ca.vec(R.T), ca.mtimes(R, n), ca.mtimes(R, f), *section))
        start, end = (link.body.point(x, eta)[0] for x, eta in ((ca.SX.zeros(c.shape), 0.0), (c, 1.0)))
        for r, R in ((start, ca.SX.eye(3)), (end, section_axes(link, c, 1.0))):
            ends.append(ca.vertcat(shift + ca.mtimes(turn, r), ca.vec(ca.mtimes(turn, R).T)))
        lengths.append(data.length)
        damping.append(resisted[list(link.body_indices)])
    mass, first = _hanging(chain, forces.q, frames, numbers[-1])
    omega, alpha, a = last.at(0)
    tip_turn = ca.mtimes(root.R.T, frames[numbers[-1]].R_tip)
    moment = ca.mtimes(root.R.T, first - mass * frames[numbers[-1]].p_tip)
    pull = -mass * ca.mtimes(tip_turn, a)
    pull -= ca.mtimes([tip_turn, euler_matrix(omega, alpha), tip_turn.T, moment])
    turning = forces.carried[numbers[0]].motion.omega
    return [
        ca.horzcat(*points).T, ca.horzcat(*ends).T, ca.vertcat(*lengths), ca.vertcat(turning, mass, moment, pull),
        ca.vertcat(*damping),
    ]  # fmt: skip


def _hanging(chain: Chain, q: SX, frames: list[Placement], last: int) -> tuple[SX, SX]:
    """Mass of all that the tip of a link carries, and its first moment in base axes."""
    outer = {k for k, link in enumerate(chain.links) if link.parent == last and link.port == 0}
    for k, link in enumerate(chain.links):
        outer |= {k} if link.parent in outer else set()
    parts = [(chain.links[last].load, frames[last].R_tip, frames[last].p_tip)]
    for k in sorted(outer):
        link, frame, c = chain.links[k], frames[k], chain.body(chain.links[k], q)
        own = (link.body.moments(c, ca.SX.zeros(c.shape)), link.hub)
        parts += [(part, frame.R, frame.p) for part in own] + [(link.load, frame.R_tip, frame.p_tip)]
    mass, first = ca.SX(0), ca.SX.zeros(3)
    for part, R, p in parts:
        if part is not None:
            mass, first = mass + part.m, first + ca.mtimes(R, part.s) + part.m * p
    return mass, first


def _known_shape(
    found: list[Array], cells: list[Array], allowed: Array, damped: Array, free: bool
) -> KnownShape:  # fmt: skip
    """Shape of a beam from one row of the outputs of `_carried`."""
    points, ends = found[0].reshape(-1, 25), found[1].reshape(-1, 12)
    place, axes, moment, force, stiff, mass = np.split(points, [3, 12, 15, 18, 24], axis=1)
    omega, (beyond,), lever, pull = np.split(found[3], [3, 4, 7])
    attitude = axes.reshape(-1, 3, 3)
    size = np.concatenate([np.diff(edges) * length for edges, length in zip(cells, found[2])])
    gap, turn = np.zeros((len(size), 3)), np.tile(np.eye(3), (len(size), 1, 1))
    r, R = np.zeros(3), np.eye(3)
    for first, start, end in zip(np.cumsum([0, *(len(edges) - 1 for edges in cells)]), ends[::2], ends[1::2]):
        gap[first], turn[first] = R.T @ (start[:3] - r), R.T @ start[3:].reshape(3, 3)
        r, R = end[:3], end[3:].reshape(3, 3)
    soft = np.divide(1.0, stiff[:-1], out=np.zeros_like(stiff[:-1]), where=stiff[:-1] > 0)
    return KnownShape(
        size=size, gap=gap, turn=turn, compliance=np.einsum("nij,nj,nkj->nik", allowed, soft, allowed),
        damped=damped, place=place, attitude=attitude, force=force, moment=moment,
        mass=np.append(mass[:-1, 0] * np.repeat(size / 2, 2), beyond),
        outward=(omega @ omega) * np.eye(3) - np.outer(omega, omega),
        lever=attitude[-1].T @ lever / beyond if beyond > 0 else np.zeros(3), pull=pull, free=free,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------- by too few shapes


def few_shapes(history: RunHistory, beam: BentBeam) -> float:
    """Estimate of the displacement of the tip that shapes beyond the last one would add, m.

    A force at the tip of a beam bends it by shapes in proportion to their strain energies, which fall like the fourth
    power of their roots. So the estimate is the deflection, times the share of the last natural shape, times the sum of
    the series beyond it over its last term. Only strain energy that this shape exchanges with motion counts: its slow
    part is in the exact beam under the forces of the run, which has all shapes.
    """
    model = history.model
    places, indices = (
        np.concatenate([getattr(model.chain.links[piece.number], name) for piece in beam.pieces]).astype(int)
        for name in ("body_places", "body_indices")
    )
    rows = np.isfinite(history.q).all(axis=1)
    c, cd = history.q[rows][:, places], history.qd[rows][:, indices]
    K, M = _stiffness(model, beam, history.parameters), model.mass_matrix(model.layout.rest(), history.parameters)
    energy = float(np.max(np.einsum("ti,ij,tj->t", c, K, c) / 2, initial=0.0))
    fields, ends = (np.concatenate(x) for x in zip(*_ends(model, beam)))
    lost = 0.0
    for field in ("bending_y", "bending_z"):
        own = np.flatnonzero(fields == field)
        if not len(own) or energy == 0.0:
            continue
        m = M[np.ix_(indices[own], indices[own])]
        squares, X = natural_modes(K[np.ix_(own, own)], m)
        strain, motion = (x * np.max((y[:, own] @ m @ X[:, -1]) ** 2) / 2 for x, y in ((squares[-1], c), (1.0, cd)))
        share = float(min(strain, motion)) / energy
        lost += beyond_shape(len(own)) * share * float(np.max(np.abs(c[:, own] @ ends[own])))
    return lost


def beyond_shape(count: int) -> float:
    """Contributions of all shapes beyond the first `count` to the tip deflection of a clamped beam under a tip force,
    as a part of that of shape number `count`."""
    roots = np.append(1.8751, (np.arange(2, 1000) - 0.5) * np.pi)
    return float(np.sum((roots[count - 1] / roots[count:]) ** 4))


def _stiffness(model: Model, beam: BentBeam, p: Array) -> Array:
    """Stiffness matrix of the amplitudes of all pieces."""

    def make() -> ca.Function:
        blocks = []
        for piece in beam.pieces:
            c = ca.SX.sym("c", len(piece.places))
            blocks.append(ca.hessian(model.chain.links[piece.number].body.strain_energy(c), c)[0])
        return ca.Function("stiffness", [model.parameter_symbols], [ca.densify(ca.diagcat(*blocks))])

    return np.array(model.derived("stiffness of a beam", beam.name, make)(p), dtype=float)


def _ends(model: Model, beam: BentBeam) -> list[tuple[list[str], Array]]:
    """Fields of the amplitudes of each piece, and how far each moves the tip of the whole beam across."""
    found, beyond = [], 0.0
    for piece in reversed(beam.pieces):
        shapes = model.chain.links[piece.number].body.shapes
        assert shapes is not None
        value, slope = (
            shapes.evaluate(np.ones(1), order)[0] * piece.length ** (np.array(shapes.powers, dtype=float) - order)
            for order in (0, 1)
        )
        found.append((list(shapes.fields), value + beyond * slope))
        beyond += piece.length
    return found[::-1]
