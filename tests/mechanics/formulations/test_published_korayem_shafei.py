"""The formulas of [KS09] Tables 1 and 2 give the paper's numbers, and our tapes stay below them."""

from __future__ import annotations

import casadi as ca
import pytest

from pliant.compute import Tape
from pliant.mechanics import build_chain
from pliant.mechanics.formulations import gibbs_appell
from pliant.mechanics.formulations.published import korayem_shafei as published
from pliant.robot import Beam, Joint, Link, Origin, Robot, Shapes

CASES = [(3, 2, 2), (6, 6, 2), (6, 6, 3)]


@pytest.mark.parametrize(("method", "n", "n_f", "m"), published.QUOTED)
def test_table_2_numbers(method: str, n: int, n_f: int, m: int) -> None:
    formula = {"book": published.book, "gibbs-appell": published.gibbs_appell}[method]
    assert formula(n, n_f, m) == published.QUOTED[method, n, n_f, m]


def test_first_column_of_table_2_is_not_for_three_modes() -> None:
    assert published.book(6, 6, 3) == published.Operations(33653, 34593)
    assert published.gibbs_appell(6, 6, 3) == published.Operations(26966, 26508)


@pytest.mark.parametrize("case", [*CASES, (1, 1, 1), (9, 4, 5)])
def test_steps_add_up_to_the_whole(case: tuple[int, int, int]) -> None:
    assert sum(published.products_by_step(*case).values()) == published.gibbs_appell(*case).products


def test_printed_step_10_does_not_add_up() -> None:
    n, n_f, m = 6, 6, 2
    printed = sum(published.products_by_step(n, n_f, m).values()) - 42 * m**2 * n_f**2 + 42 * m**2 * m**2
    assert printed != published.gibbs_appell(n, n_f, m).products


def arm(n: int, n_f: int, m: int) -> Robot:
    """Twisted by a right angle at every second joint; flexible links first, bending in both planes and twisting."""
    fields = dict(zip(("bending_y", "bending_z", "torsion"), [1] * m))
    links = [
        Link(
            name=f"link{k}",
            joint=Joint(origin=Origin(rpy=("pi/2" if k % 2 else 0.0, 0.0, 0.0))),
            beam=Beam(length=1.0, mass_per_length=5.0, EI_y=1000, EI_z=1000, GJ=800, EA=1e7, polar_inertia=0.01),
            shapes=Shapes(**fields) if k < n_f else None,
        )
        for k in range(n)
    ]
    return Robot(name="counted", links=links)


@pytest.mark.slow_cases("case1", "case2")
@pytest.mark.parametrize("case", CASES)
def test_tape_is_below_the_published_counts(case: tuple[int, int, int]) -> None:
    """Forming I(Theta) and Re, as the paper counts, with its linear E; ours profits from the zeros of the arm."""
    chain = build_chain(arm(*case), rotation="linear")
    q, qd = ca.SX.sym("q", chain.n), ca.SX.sym("qd", chain.n)
    both = [gibbs_appell.mass_matrix(chain, q), gibbs_appell.inertial_forces(chain, q, qd)]
    count = Tape.from_function(ca.Function("f", [q, qd], ca.cse(both))).count()
    formula = published.gibbs_appell(*case)
    assert count["mul"] < formula.products
    assert count["add"] < formula.sums
