"""What papers 003 and 001 print about cost comes out of the functions, and where their tables err is on record."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.mechanics.formulations.published import korayem_shafei
from pliant.mechanics.formulations.published import mohan_saha as ms
from pliant.mechanics.formulations.published import theodore_ghosal as tg


@pytest.mark.parametrize("n", range(2, 13))
def test_the_fifteen_steps_sum_to_the_printed_total(n: int) -> None:
    total = ms.proposed(n)
    assert total.products == 173 * n - 128
    assert total.sums == 150 * n - 133
    assert ms.trigonometric(n) == 2 * n
    assert [step.number for step in ms.STEPS] == list(range(1, 16))


@pytest.mark.parametrize("name", ms.METHODS)
def test_counts_printed_beside_the_formulas(name: str) -> None:
    row = ms.PRINTED[name]
    assert round(ms.METHODS[name](row.n_star).products) == row.products_star
    there = ms.METHODS[name](row.n_plus)
    assert (round(there.products), round(there.sums)) == (row.products_plus, row.sums_plus)


def test_walker_orin_counts_are_whole_numbers() -> None:
    for n in range(1, 20):
        counts = ms.walker_orin(n)
        assert counts.products == pytest.approx(round(counts.products), abs=1e-9)
        assert counts.sums == pytest.approx(round(counts.sums), abs=1e-9)


@pytest.mark.parametrize("name", [m for m in ms.METHODS if m != "Walker-Orin"])
def test_crossover_in_multiplications(name: str) -> None:
    """n* as printed, except Brandle's: at 14 links it still needs 3278 against 3201."""
    expected = 15 if name == "Brandle" else ms.PRINTED[name].n_star
    assert ms.crossover(name, ms.fewer_products) == expected


def test_no_single_criterion_gives_the_printed_n_plus() -> None:
    others = [name for name in ms.METHODS if name != "Walker-Orin"]
    printed = [ms.PRINTED[name].n_plus for name in others]
    assert printed == [12, 14, 14, 15, 16]
    assert [ms.crossover(name, ms.fewer_in_total) for name in others] == [11, 12, 13, 14, 16]
    each = [ms.crossover(name, ms.fewer_of_each) for name in others]
    assert each[0] == 12
    assert each != printed


def test_for_six_links_the_cubic_method_is_cheapest() -> None:
    six = {name: method(6) for name, method in ms.METHODS.items()}
    assert (six["Mohan-Saha"].products, six["Mohan-Saha"].sums) == (910, 767)
    assert (round(six["Walker-Orin"].products), round(six["Walker-Orin"].sums)) == (633, 475)
    assert min(six, key=lambda name: six[name].products) == "Walker-Orin"


def integrated(rho: float, a: float, b: float, theta: float) -> np.ndarray:
    """(17a) without payload and hub, by Gauss quadrature along the two legs of the rod."""
    nodes, weights = np.polynomial.legendre.leggauss(4)  # exact: the integrands are quadratic
    x = np.array([np.cos(theta), np.sin(theta), 0.0])
    out = np.zeros((6, 6))
    for length, start, along in ((b, np.zeros(3), np.array([0, 0, 1.0])), (a, np.array([0, 0, b]), x)):
        for node, weight in zip((nodes + 1) / 2 * length, weights / 2 * length, strict=True):
            r = start + node * along
            R = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
            J = np.hstack([np.eye(3), -R])
            out += rho * weight * J.T @ J
    return out


def test_rod_mass_matrix_and_the_printed_c5(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step 3: C5 = rho a^2 b / 2; the printed rho a^2 b fails against (17a)."""
    rod = (2.3, 0.4, 0.7, 0.6)
    expected = integrated(*rod)
    assert np.abs(ms.rod_mass_matrix(*rod) - expected).max() < 1e-13
    right = ms.rod_constants
    monkeypatch.setattr(ms, "rod_constants", lambda *args: (*right(*args)[:4], 2 * right(*args)[4]))
    assert np.abs(ms.rod_mass_matrix(*rod) - expected).max() > 1e-2


@pytest.mark.parametrize("arm", tg.TABLE_2)
def test_elements_need_fewer_operations_than_modes(arm: str) -> None:
    """The one conclusion of [TG95] Table 2 that can be compared."""
    row = tg.TABLE_2[arm]
    assert row["elements"].products < row["modes"].products
    assert row["elements"].sums < row["modes"].sums


@pytest.mark.parametrize(("arm", "size"), [("RR", (2, 2, 2)), ("RRR", (3, 2, 2))])
def test_both_papers_quote_the_same_counts_of_book(arm: str, size: tuple[int, int, int]) -> None:
    assert tg.TABLE_2[arm]["book"] == korayem_shafei.book(*size)


def test_numbers_of_equations() -> None:
    """RRP with two flexible links and m = 2: 11 by modes, 19 by elements; 8 more first-order equations for beta."""
    assert tg.equations(3, 2, 2, elements=False) == 2 * 2 * 2 + 3
    assert tg.equations(3, 2, 2, elements=True) == 4 * 2 * 2 + 3
    assert tg.equations(3, 2, 2, elements=True, planar=True) == 2 * 2 * 2 + 3
    assert tg.frequency_equations(2, 2) == 8
