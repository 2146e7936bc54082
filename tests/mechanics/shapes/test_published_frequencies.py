"""Frequencies printed in the papers, or in the audit of their data."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.mechanics.shapes import (
    bending_elements,
    clamped_free_roots,
    clamped_mass_roots,
    eigenpairs,
    mass_matrix,
    rod_roots,
    stiffness_matrix,
)

TABLE_1 = {  # [TG95] table 1, link 2; the caption says Hz, the numbers are rad/s
    1: (2.0963e2, 2.0654e3),
    2: (2.0873e2, 1.3186e3, 4.4597e3, 1.2944e4),
    3: (2.0864e2, 1.3118e3, 3.7067e3, 8.3473e3, 1.5709e4, 3.1318e4),
    "exact": (2.0864e2, 1.3075e3, 3.6611e3, 7.1742e3, 1.1860e4, 1.7716e4),
}


@pytest.mark.parametrize("column", TABLE_1)
def test_table_1_of_theodore_and_ghosal(column):
    unit = np.sqrt(1165.4916 / 0.331)  # EI = 1165.4916 N m^2, 0.331 kg/m, 1 m
    if column == "exact":
        found = clamped_free_roots(6) ** 2
    else:
        e = bending_elements(column)
        found = np.sqrt(eigenpairs(stiffness_matrix(e), mass_matrix(e))[0])
    np.testing.assert_allclose(unit * found, TABLE_1[column], rtol=1.5e-4)  # five digits, some cut instead of rounded


def test_eight_metre_beam():
    EI, mu = 6.8952e10 * 8.2189e-9, 2.7667e3 * 7.2968e-5  # [ZZZ]
    hertz = (clamped_free_roots(1)[0] / 8) ** 2 * np.sqrt(EI / mu) / (2 * np.pi)
    assert hertz == pytest.approx(0.4633, abs=5e-5)  # printed there as 0.464


class Tube:
    """Links 2 and 3 of [CE21]: A and I as printed."""

    mu, EI, GJ, j = 7850 * 707e-6, 210e9 * 181132e-12, 80.8e9 * 362265e-12, 7850 * 362265e-12
    L2, L3, m4 = 2.0, 1.8, 3.56
    d4, I4 = 0.124, 17035e-6  # center of mass of the last body beyond the tip of link 3, and its inertia there

    @classmethod
    def hertz(cls, L, m=0.0, J=0.0, D=0.0):
        roots = clamped_mass_roots(2, m / (cls.mu * L), J / (cls.mu * L**3), D / (cls.mu * L**2))
        return (roots / L) ** 2 * np.sqrt(cls.EI / cls.mu) / (2 * np.pi)


J4 = Tube.I4 + Tube.m4 * Tube.d4**2


@pytest.mark.parametrize(
    ("found", "printed", "digit"),
    [
        (Tube.hertz(Tube.L3, Tube.m4), (9.133, 70.48), (1e-3, 1e-2)),
        (Tube.hertz(Tube.L3, Tube.m4, J4), (9.097, 66.53), (1e-3, 1e-2)),
        (Tube.hertz(Tube.L3, Tube.m4, J4, Tube.m4 * Tube.d4), (8.595, 61.90), (1e-3, 1e-2)),
        (Tube.hertz(Tube.L2, Tube.m4 + Tube.mu * Tube.L3), (4.726, 53.08), (1e-3, 1e-2)),
        (Tube.hertz(Tube.L2), (11.58, 72.58), (1e-2, 1e-2)),
        (Tube.hertz(Tube.L3), (14.30, 89.61), (1e-2, 1e-2)),
        (rod_roots(2) / Tube.L2 * np.sqrt(Tube.GJ / Tube.j) / (2 * np.pi), (401, 1203), (1, 1)),
        (rod_roots(2) / Tube.L3 * np.sqrt(Tube.GJ / Tube.j) / (2 * np.pi), (446, 1337), (1, 1)),
    ],
)
def test_tube_of_cibicik_and_egeland(found, printed, digit):
    for value, number, unit in zip(found, printed, digit):
        assert abs(value - number) <= 0.51 * unit  # rounded to the printed digit
