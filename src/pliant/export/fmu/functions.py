"""The functions of a functional mock-up unit: rates and outputs, their exact derivatives, and their dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.export.fmu.variables import Output
from pliant.mechanics.constraints.clearances import approaches
from pliant.mechanics.derivatives.differentials import closed_solver
from pliant.mechanics.formulations.generalized_forces import applied_forces, drive_rates, torques
from pliant.mechanics.links.section_forces import InternalForces
from pliant.model.model import Model
from pliant.simulation.runs.equations.composition import may_meet

INDEPENDENT, CONSTANT, TUNABLE, DEPENDENT = range(4)
"""Kinds of dependency: none, by a constant factor, by a factor that follows from the parameters, or any other."""


@dataclass(frozen=True)
class UnitFunctions:
    """Equations of a unit in the symbols of its state: x = (q, qd, r), r the states of friction, gears and motors."""

    model: Model
    given: InternalForces
    outputs: tuple[Output, ...]

    @cached_property
    def symbols(self) -> dict[str, SX]:
        """Symbols of the inputs of the equations by name: states, torques, parameters."""
        model = self.model
        r, tau = ca.SX.sym("r", len(model.layout.drive_states)), ca.SX.sym("tau", model.layout.n_inputs)
        return {"q": self.given.q, "qd": self.given.qd, "r": r, "tau": tau, "p": model.parameter_symbols}

    @cached_property
    def rates(self) -> SX:
        """Accelerations, and rates of the states of drives."""
        q, qd, r, tau, _ = self.symbols.values()
        chain = self.model.chain
        force = applied_forces(chain, q, torques(chain, tau, qd, r))
        qdd = self.model.equations.accelerations(q, qd, force, {}, r)
        return ca.densify(ca.vertcat(qdd, drive_rates(chain, q, qd, r, tau)))

    @cached_property
    def values(self) -> SX:
        """Outputs, in q, qd, the accelerations and p."""
        return ca.cse(ca.densify(ca.vertcat(*(output.expression for output in self.outputs))))

    @cached_property
    def turned(self) -> SX:
        """Rates of the coordinates."""
        return self.model.chain.rates(self.given.q, self.given.qd)

    @cached_property
    def evaluated(self) -> list[ca.Function]:
        """Functions that a step needs: `accelerations` and `outputs`; `rates` where speeds are not rates of q;
        `closing` and `starting` (which holds actuated freedoms) where loops are closed; `approach` where the arm may
        meet something."""
        by, q, qd = self.symbols, self.given.q, self.given.qd
        found = [
            _function("accelerations", by, {"qdd": self.rates}),
            _function("outputs", self._seen, {"y": self.values}),
        ]
        if not self.model.layout.plain:
            found.append(_function("rates", {"q": q, "qd": qd}, {"rates": self.turned}))
        if self.model.constraints:
            actuated = [shaft.actuated for shaft in self.model.chain.shafts]
            found += [self._closer("closing", []), self._closer("starting", actuated)]
        if self.meets:
            by = {"q": q, "qd": qd, "p": self.model.parameter_symbols}
            found.append(_function("approach", by, {"gaps": self._gaps}))
        return found

    @cached_property
    def _gaps(self) -> SX:
        """Gaps between the arm and what it may meet, and their rates."""
        return approaches(self.model.chain, self.given.q, self.given.qd)

    @property
    def meets(self) -> int:
        """Number of gaps that a step must not leap over."""
        return int(self._gaps.numel()) // 2 if may_meet(self.model) else 0

    def _closer(self, name: str, held: list[int]) -> ca.Function:
        """Function for a state nearer to closed loops, by how much it moved, and the least part of a row that is not
        in the span of the others."""
        q, qd, p = self.given.q, self.given.qd, self.model.parameter_symbols
        closed = ca.vertcat(*self.model.equations.closer(q, qd, held))
        return _function(name, {"q": q, "qd": qd, "p": p}, {"closed": closed})

    @property
    def _seen(self) -> dict[str, SX]:
        """Symbols that outputs are functions of."""
        return {"q": self.given.q, "qd": self.given.qd, "qdd": self.given.qdd, "p": self.model.parameter_symbols}

    # ------------------------------------------------------------------------------------------------ derivatives

    def changes(self) -> list[ca.Function]:
        """Functions `NAME_change`: change of accelerations, outputs and rates along a direction."""
        return [function for function, _ in self._products]

    def gradients(self) -> list[ca.Function]:
        """Functions `NAME_gradient`: gradient of the values of accelerations, outputs and rates, weighted by w."""
        return [function for _, function in self._products]

    @cached_property
    def _products(self) -> list[tuple[ca.Function, ca.Function]]:
        """Pairs of `NAME_change` and `NAME_gradient`. Accelerations have theirs by the implicit formula: at the solved
        accelerations and multipliers the residual is 0, and M dqdd is its change."""
        by, qdd, chain, e = self.symbols, self.given.qdd, self.model.chain, self.model.equations
        q, qd, r, tau, _ = by.values()
        force, loops = applied_forces(chain, q, torques(chain, tau, qd, r)), ca.SX.zeros(len(chain.kept))
        closed = ca.SX.sym("multipliers", len(chain.kept))
        residual = ca.cse(ca.vertcat(force, loops) - e.residual(q, qd, ca.vertcat(qdd, closed), r))
        drives, n = drive_rates(chain, q, qd, r, tau), chain.n
        factor, acting = closed_solver(e, q), e.constrained(q, qd, force, {}, r).multipliers

        d = _directions(by)
        slope = ca.vertcat(factor.solve(_along(residual, by, d))[:n], _along(drives, by, d))
        of_drives, w = ca.SX.sym("v", drives.numel()), ca.SX.sym("w", n)
        gradient = _against(residual, by, factor.solve(ca.vertcat(w, loops))) + _against(drives, by, of_drives)
        w = ca.vertcat(w, of_drives)
        slope, gradient = ca.substitute([slope, gradient], [closed], [acting])
        at = {**by, "qdd": qdd}
        found = [
            (
                _function("accelerations_change", {**at, **d}, {"dqdd": slope}),
                _function("accelerations_gradient", {**at, "w": w}, _pieces(gradient, by)),
            )
        ]
        pairs = [("outputs", self.values, self._seen)]
        if not self.model.layout.plain:
            pairs.append(("rates", self.turned, {"q": q, "qd": qd}))
        for name, y, given in pairs:
            d, w = _directions(given), ca.SX.sym("w", y.numel())
            change = _function(f"{name}_change", {**given, **d}, {"dy": _along(y, given, d)})
            back = _pieces(_against(y, given, w), given)
            found.append((change, _function(f"{name}_gradient", {**given, "w": w}, back)))
        return found

    # ------------------------------------------------------------------------------------------------ dependencies

    def dependencies(self) -> Array:
        """Kind of dependency of each value on each input (`INDEPENDENT` to `DEPENDENT`).

        Rows are accelerations, rates of friction, rates of q where these stand apart, and outputs; columns states,
        torques and parameters.
        """
        given, free = ca.vertcat(*self.symbols.values()), ca.vertcat(*list(self.symbols.values())[:-1])
        accelerations = _kinds(self.rates, given, free)
        rows = [accelerations]
        if not self.model.layout.plain:
            rows.append(_kinds(self.turned, given, free))
        by_qdd = _kinds(self.values, self.given.qdd, self.given.qdd) > INDEPENDENT
        own = _kinds(self.values, given, ca.vertcat(free, self.given.qdd))
        through = by_qdd @ (accelerations[: self.model.n] > INDEPENDENT)
        rows.append(np.where(through, DEPENDENT, own))
        return np.vstack(rows)


def _kinds(y: SX, given: SX, free: SX) -> Array:
    """Kinds of dependency of an expression on the symbols `given`; those in `free` are no parameters."""
    pattern = np.array(ca.DM(ca.jacobian_sparsity(y, given), 1.0).full() != 0, dtype=int)
    curved, bent = (np.array(ca.which_depends(y, by, 2, True), dtype=bool) for by in (given, free))
    kinds = np.where(curved, np.where(bent, DEPENDENT, TUNABLE), CONSTANT)
    return np.asarray(pattern * kinds[:, None])


def _function(name: str, given: Mapping[str, SX], gives: Mapping[str, SX]) -> ca.Function:
    values = ca.cse([ca.densify(ca.SX(value)) for value in gives.values()])
    return ca.Function(name, list(given.values()), values, list(given), list(gives))


def _directions(given: Mapping[str, SX]) -> dict[str, SX]:
    return {f"d{name}": ca.SX.sym(f"d{name}", value.numel()) for name, value in given.items()}


def _along(y: SX, given: Mapping[str, SX], d: Mapping[str, SX]) -> SX:
    return ca.jtimes(y, ca.vertcat(*given.values()), ca.vertcat(*d.values()))


def _against(y: SX, given: Mapping[str, SX], w: SX) -> SX:
    return ca.jtimes(y, ca.vertcat(*given.values()), w, True)


def _pieces(column: SX, given: Mapping[str, SX]) -> dict[str, SX]:
    ends = np.cumsum([0, *(value.numel() for value in given.values())]).tolist()
    return {f"by_{name}": column[a:b] for name, a, b in zip(given, ends, ends[1:])}
