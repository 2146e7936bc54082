"""Operation counts of an arm, taken from the tape, beside the published formulas evaluated for the same arm.

Every row describes what it counts. A published count is compared with a tape that does at least the same work; if the
published count leaves out work that the tape contains, the row says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca

from pliant.algebra.rotations import SX
from pliant.compute.tape.tape import Tape
from pliant.mechanics.formulations.formulation import Formulation
from pliant.mechanics.formulations.generalized_forces import rotors
from pliant.mechanics.formulations.motion_equations import Equations, solve_positive
from pliant.mechanics.formulations.published import korayem_shafei, mohan_saha, theodore_ghosal
from pliant.mechanics.formulations.published.korayem_shafei import Operations
from pliant.mechanics.formulations.registry import FORMULATIONS, equations
from pliant.mechanics.formulations.terms import partition
from pliant.mechanics.links.chain import Chain
from pliant.options import FormulationName

FUNCTIONS: dict[str, str] = {
    "inertia matrix": "M(q)",
    "right-hand side": "gravity, velocity, elastic and damping terms",
    "forming": "inertia matrix and right-hand side, common terms once; the linear system is not solved",
    "inverse dynamics": "generalized forces from q, qd, qdd",
    "accelerations": "qdd from q and given generalized forces: no velocity, gravity or elastic terms",
    "forward dynamics": "qdd from q, qd, tau: everything",
}
"""Functions that are counted, with descriptions. Numbers of the robot are constants, structural zeros are used."""


@dataclass(frozen=True)
class Count:
    """Operations of one method for one function; divisions are separate on the tape, part of the products in print."""

    method: str
    function: str
    products: float
    sums: float
    divisions: int | None = None
    trig: int | None = None
    counts: str = ""

    @property
    def published(self) -> bool:
        """Whether the numbers come from a printed formula or table."""
        return self.divisions is None

    def below(self, other: Count) -> bool:
        """Whether both products (with divisions) and sums are fewer than those of `other`."""
        mine, theirs = (c.products + (c.divisions or 0) for c in (self, other))
        return mine < theirs and self.sums < other.sums


@dataclass(frozen=True)
class CountComparison:
    """A published count, and the tape that does at least the same work."""

    published: Count
    tape: Count

    @property
    def below(self) -> bool:
        """Whether the tape needs fewer products and fewer sums."""
        return self.tape.below(self.published)


@dataclass(frozen=True)
class ArmSize:
    """Sizes of an arm that the published formulas use.

    `n` moving joints, `n_f` flexible links, `m` the fewest amplitudes of a flexible link (`uniform`: all have as
    many), `joints` letters such as RRP, `flexible` places of the flexible links, `loaded` whether the last link carries
    a load, `slides` whether a beam slides.
    """

    n: int
    n_f: int
    m: int
    uniform: bool
    joints: str
    flexible: tuple[int, ...]
    loaded: bool
    slides: bool


def arm_size(chain: Chain) -> ArmSize:
    """Sizes of a chain."""
    amplitudes = set(partition(chain)[1])
    moving = [link for link in chain.links if link.shafts]
    counts = [len(amplitudes & set(link.body_indices)) for link in moving]
    flexible = tuple(k for k, count in enumerate(counts) if count)
    return ArmSize(
        n=len(moving),
        n_f=len(flexible),
        m=min((counts[k] for k in flexible), default=0),
        uniform=len({counts[k] for k in flexible}) <= 1,
        joints="".join("R" if shaft.turns else "P" for shaft in chain.shafts),
        flexible=flexible,
        loaded=bool(moving) and moving[-1].load is not None,
        slides=any(link.slides for link in moving),
    )


# ----------------------------------------------------------------------------------------------- from the tape


def tape_count(chain: Chain, formulation: FormulationName | Formulation, function: str) -> Count:
    """Count of one function (a key of `FUNCTIONS`) by one formulation."""
    q, qd, x = ca.SX.sym("q", chain.n_q), ca.SX.sym("qd", chain.n), ca.SX.sym("x", chain.n)
    by = equations(chain, formulation)
    outputs = ca.cse([ca.densify(y) for y in _EXPRESSIONS[function](by, q, qd, x)])
    f = ca.Function("f", [q, qd, x], outputs, {"allow_free": True})
    if f.has_free():
        f = ca.Function("f", [q, qd, x, ca.vertcat(*f.free_sx())], outputs)
    counts = Tape.from_function(f).count()
    rest = "".join(f"; {counts[kind]} {kind}" for kind in ("sqrt", "other") if counts[kind])
    text = FUNCTIONS[function] + rest
    return Count(by.formulation.name, function, counts["mul"], counts["add"], counts["div"], counts["trig"], text)


def _accelerations(e: Equations, q: SX, qd: SX, x: SX) -> list[SX]:
    """Accelerations from given generalized forces `x`, as [MS07] counts them."""
    if e.formulation.forward is None:
        return [solve_positive(e.mass_matrix(q), x)]
    weightless, rotor = replace(e.chain, gravity=ca.SX.zeros(3)), rotors(e.chain)
    qdd = ca.SX(e.formulation.forward(weightless, q, ca.SX.zeros(e.chain.n), x, rotor, {}))
    for shaft in e.chain.driven:
        qdd[shaft.actuated] = x[shaft.actuated] / rotor[shaft.actuated]
    return [qdd]


_EXPRESSIONS: dict[str, Callable[[Equations, SX, SX, SX], list[SX]]] = {
    "inertia matrix": lambda e, q, qd, x: [e.mass_matrix(q)],
    "right-hand side": lambda e, q, qd, x: [e.bias(q, qd)],
    "forming": lambda e, q, qd, x: [e.mass_matrix(q), e.bias(q, qd)],
    "inverse dynamics": lambda e, q, qd, x: [e.inverse_dynamics(q, qd, x)],
    "accelerations": _accelerations,
    "forward dynamics": lambda e, q, qd, x: [e.forward_dynamics(q, qd, x[: e.chain.n_joints])],
}


# ---------------------------------------------------------------------------------------------- from the papers


def published_counts(chain: Chain) -> list[Count]:
    """Counts by the printed formulas and tables that fit the arm; each row describes what it counts."""
    size = arm_size(chain)
    return [*_flexible(size), *_rigid(size), *_tables(size)]


def _flexible(size: ArmSize) -> list[Count]:
    """Counts of [KS09] Table 2: forming I(Theta) and Re of revolute arms."""
    if "P" in size.joints or not size.n:
        return []
    text = f"[KS09] n = {size.n}, n_f = {size.n_f}, m = {size.m}: I(Theta) and Re formed, not solved; no trig"
    if not size.uniform:
        text += "; m is the fewest amplitudes of a flexible link, so this is a lower bound"
    methods = {"Book": korayem_shafei.book, "Gibbs-Appell": korayem_shafei.gibbs_appell}
    return [_row(name, "forming", f(size.n, size.n_f, size.m), text) for name, f in methods.items()]


def _rigid(size: ArmSize) -> list[Count]:
    """Counts of [MS07] Table 1: accelerations of rigid revolute arms from given forces."""
    if "P" in size.joints or size.n_f or not size.n:
        return []
    text = "[MS07] general DH arm of rigid {}, qdd from given forces: no velocity or gravity terms, no trig"
    bodies = {"Mohan-Saha": "bent rods without payload and hub"}
    return [
        _row(name, "accelerations", f(size.n), text.format(bodies.get(name, "bodies")))
        for name, f in mohan_saha.METHODS.items()
    ]


def _tables(size: ArmSize) -> list[Count]:
    """Counts of [TG95] Table 2: arms with two flexible outer links; joints P are sliding beams."""
    fits = size.n in (2, 3) and size.flexible == (size.n - 2, size.n - 1) and ("P" in size.joints) == size.slides
    arms = [size.joints, f"{size.joints} with payload"] if size.loaded else [size.joints]
    rows = []
    for arm in arms if fits else []:
        for column, operations in theodore_ghosal.TABLE_2.get(arm, {}).items():
            what = theodore_ghosal.WHAT[column]
            text = f"[TG95] {arm}, {column}, counted for two modes or elements per plane: {what}"
            rows.append(_row(f"{_NAMES[column]} ({arm})", what, operations, text))
    return rows


_NAMES = {
    "book": "Book",
    "li-sankar": "Li-Sankar",
    "modes": "Theodore-Ghosal, modes",
    "elements": "Theodore-Ghosal, elements",
}


def _row(method: str, function: str, operations: Operations, text: str) -> Count:
    return Count(method, function, operations.products, operations.sums, counts=text)


def compare(chain: Chain, formulation: FormulationName = "denoc") -> list[CountComparison]:
    """Compare every published count that fits the arm with the tape of the same function by `formulation`.

    `denoc` never forms the equations: a count of forming is compared with its whole forward dynamics, which solves them
    too.
    """
    whole = FORMULATIONS[formulation].forward is not None
    tapes: dict[str, Count] = {}
    found = []
    for row in published_counts(chain):
        function = "forward dynamics" if row.function == "forming" and whole else row.function
        tape = tapes.setdefault(function, tapes.get(function) or tape_count(chain, formulation, function))
        found.append(CountComparison(row, tape))
    return found
