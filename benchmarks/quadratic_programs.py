"""The quadratic programs of predictive control by our active-set method and by other solvers.

    python benchmarks/quadratic_programs.py [--quick]

Programs are those of `pliant bench mpc`, condensed: 1/2 z^T z + g^T z with rows low <= G z <= high, at the second step,
where bounds are met, and far from all bounds. Weights of slacks are larger than any multiplier here, so that soft rows
are rows, and others get them as hard ones. OSQP and PIQP (installed by pip), DAQP, qpOASES, HPIPM and PIQP as CasADi's
wheel brings them; those that are absent are left out. Each is asked for 1e-9, is given its memory ahead where it can
be, and begins cold. Seconds are the least of many, taken in turns; the error is that of the conditions of a solution:
the largest violated row, and the slope that multipliers of met rows leave, both relative.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pliant.compute.compiled_loops.primitives import table
from pliant.compute.llvm.llvm import compiled_loop
from pliant.compute.nmpc.quadratic_program import run_program
from pliant_bench.mpc import six_links, two_link
from pliant_bench.mpc_peers import Begun
from pliant_bench.timing import Effort, alternating

Answer = Callable[[], np.ndarray]
MET = 1e-6


class Program(NamedTuple):
    """Of n variables; `own` solves it as a step does."""

    g: np.ndarray
    G: np.ndarray
    low: np.ndarray
    high: np.ndarray
    own: Answer

    def error(self, z: np.ndarray) -> float:
        """By how much a point misses the conditions of a solution."""
        from scipy.optimize import nnls

        if not np.isfinite(z).all():
            return float("inf")
        length = np.maximum(np.linalg.norm(self.G, axis=1), 1e-300)
        room = np.minimum(np.abs(self.low), np.abs(self.high)) / length
        scale = max(float(np.abs(self.g).max()), float(room.min()))
        over, under = (self.G @ z - self.high) / length, (self.low - self.G @ z) / length
        rows = self.G / length[:, None]
        normals = np.vstack([rows[over > -MET * scale], -rows[under > -MET * scale]])
        left = nnls(normals.T, -(z + self.g))[1] if len(normals) else np.linalg.norm(z + self.g)
        return float(max(over.max(), under.max(), left, 0.0) / scale)


def programs(quick: bool) -> dict[str, Program]:
    """By name."""
    found = {}
    for given in [two_link()] if quick else [two_link(), six_links()]:
        begun = Begun.of(given.posed(), given.start)
        for name, joints in (("bounds met", None), ("none met", given.start + given.by)):
            found[f"{begun.mpc.model.n} coordinates, {name}"] = condensed(begun, joints)
    return found


def condensed(begun: Begun, joints: np.ndarray | None) -> Program:
    """The program of the second step, or of one at rest near the goal."""
    pilot = begun.mpc.pilot()
    if joints is None:
        pilot.solver.plan[:] = begun.plan
        pilot.step(begun.later, begun.mpc.interval)
    else:
        near = joints - 0.002
        pilot.step(np.concatenate([begun.mpc.model.equilibrium(near), np.zeros(begun.mpc.model.n)]), 0.0)
    program, working = pilot.solver._program, pilot.solver._working
    given, solve = table(program, working), compiled_loop(run_program)

    def own() -> np.ndarray:
        program.y[:] = 0.0
        solve(given.ctypes.data)
        return np.asarray(program.z)

    own.alive = pilot  # type: ignore[attr-defined]
    G, low, high = (np.array(x, dtype=float) for x in (program.G, program.low, program.high))
    return Program(np.array(program.g), G.reshape(program.rows, program.n), low, high, own)


# ------------------------------------------------------------------------------------------------------------ others


def by_casadi(plugin: str, **options: Any) -> Callable[[Program], Answer]:
    """A solver that CasADi's wheel brings, through its `conic`."""

    def posed(given: Program) -> Answer:
        import casadi as ca

        n = len(given.g)
        shapes = {"h": ca.Sparsity.diag(n), "a": ca.Sparsity.dense(*given.G.shape)}
        if plugin in ("qpoases", "daqp"):
            shapes["h"] = ca.Sparsity.dense(n, n)
        solver = ca.conic("program", plugin, shapes, {"error_on_fail": False, "print_time": False, **options})
        H = ca.DM(ca.densify(ca.DM.eye(n))) if shapes["h"].is_dense() else ca.DM.eye(n)
        g, a, low, high = (ca.DM(x) for x in (given.g, given.G, given.low, given.high))

        def run() -> np.ndarray:
            return np.array(solver(h=H, g=g, a=a, lba=low, uba=high)["x"]).ravel()

        return run

    return posed


def by_hpipm(given: Program) -> Answer:
    """It takes problems of stages alone: variables are inputs u of a first one, from a state that does nothing to one
    x_1 = u, whose rows are bounded."""
    import casadi as ca

    n, rows = len(given.g), len(given.G)
    eye, none = np.eye(n), np.zeros((n, 1))
    a = np.block([[none, eye, -eye], [np.zeros((rows, 1 + n)), given.G]])
    pattern = np.block([[none + 1, eye, eye], [np.zeros((rows, 1 + n)), np.ones((rows, n))]])
    A = ca.DM(ca.sparsify(ca.DM(pattern)).sparsity(), a.T[pattern.T > 0])
    H = ca.diag(ca.DM(np.concatenate([[1.0], np.ones(n), np.zeros(n)])))
    g = np.concatenate([[0.0], given.g, np.zeros(n)])
    own = {"N": 1, "nx": [1, n], "nu": [n, 0], "ng": [0, rows], "hpipm": {"mode": "robust", "iter_max": 100}}
    solver = ca.conic("program", "hpipm", {"h": H.sparsity(), "a": A.sparsity()}, {"error_on_fail": False, **own})
    low, high = np.concatenate([np.zeros(n), given.low]), np.concatenate([np.zeros(n), given.high])
    lbx, ubx = np.full(1 + 2 * n, -np.inf), np.full(1 + 2 * n, np.inf)
    lbx[0] = ubx[0] = 0.0
    parts = {"h": H, "g": g, "a": A, "lba": low, "uba": high, "lbx": lbx, "ubx": ubx}
    parts = {name: ca.DM(x) for name, x in parts.items()}

    def run() -> np.ndarray:
        return np.array(solver(**parts)["x"]).ravel()[1 : 1 + n]

    return run


def by_osqp(given: Program) -> Answer:
    """By pip; matrices stand, vectors are handed in anew."""
    import osqp
    from scipy import sparse

    solver = osqp.OSQP()
    solver.setup(
        sparse.eye(len(given.g), format="csc"), given.g, sparse.csc_matrix(given.G), given.low, given.high,
        verbose=False, eps_abs=1e-9, eps_rel=1e-9, max_iter=100_000,
    )  # fmt: skip

    def run() -> np.ndarray:
        solver.warm_start(x=np.zeros(len(given.g)), y=np.zeros(len(given.G)))
        return np.asarray(solver.solve().x)

    return run


def by_piqp(given: Program) -> Answer:
    """By pip, dense; all matrices are handed in anew, as they change with every step."""
    import piqp

    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    solver.setup(np.eye(len(given.g)), given.g, None, None, given.G, given.low, given.high)

    def run() -> np.ndarray:
        solver.update(P=None, c=given.g, A=None, b=None, G=given.G, h_l=given.low, h_u=given.high)
        solver.solve()
        return np.asarray(solver.result.x)

    return run


def by_daqp(given: Program) -> Answer:
    """By pip; its arrays in C are its own."""
    import daqp

    n, rows = len(given.g), len(given.G)
    H, A = np.eye(n), np.ascontiguousarray(given.G)
    sense = np.zeros(rows, dtype=np.int32)

    def run() -> np.ndarray:
        return np.asarray(daqp.solve(H, given.g, A, given.high.copy(), given.low.copy(), sense)[0])

    return run


SOLVERS: dict[str, tuple[str, Callable[[Program], Answer]]] = {
    "OSQP": ("osqp", by_osqp),
    "PIQP, dense": ("piqp", by_piqp),
    "DAQP": ("daqp", by_daqp),
    "DAQP, by CasADi": ("casadi", by_casadi("daqp")),
    "qpOASES, by CasADi": ("casadi", by_casadi("qpoases", printLevel="none")),
    "PIQP, by CasADi": ("casadi", by_casadi("piqp", piqp={"eps_abs": 1e-9, "eps_rel": 1e-9})),
    "OSQP, by CasADi": (
        "casadi",
        by_casadi("osqp", osqp={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "verbose": False}),
    ),
    "HPIPM, by CasADi": ("casadi", by_hpipm),
}


def main(quick: bool = False) -> None:
    """The table."""
    warnings.simplefilter("ignore")
    effort = Effort(rounds=3 if quick else 9, seconds=0.002 if quick else 0.05, most=20.0)
    for name, given in programs(quick).items():
        print(f"\n{name}: {len(given.g)} variables, {len(given.G)} rows, {rows_met(given)} met\n")
        print("| solver | time | over ours | error |\n|---|---|---|---|")
        tasks: dict[str, Answer] = {"pliant": given.own}
        for solver, (module, posed) in SOLVERS.items():
            if importlib.util.find_spec(module) is None:
                print(f"| {solver} | not installed | | |")
                continue
            try:
                answer = posed(given)
                answer()
            except Exception as error:  # solvers refuse in many ways, and the table says so
                print(f"| {solver} | {type(error).__name__}: {' '.join(str(error).split())[-90:]} | | |")
                continue
            tasks[solver] = answer
        found = alternating(tasks, effort)
        for solver, times in found.items():
            ratio = times.least / found["pliant"].least
            print(f"| {solver} | {1e6 * times.least:.0f} us | {ratio:.2f} | {given.error(tasks[solver]()):.0e} |")


def rows_met(given: Program) -> int:
    """Rows at a bound."""
    value = given.G @ given.own()
    return int(((value > given.high - 1e-7) | (value < given.low + 1e-7)).sum())


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
