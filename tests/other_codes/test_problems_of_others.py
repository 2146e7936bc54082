"""Problems chosen by others, and a spatial arm with elastic drives, against published values and against Exudyn.

The scripts in `problems` state each problem and print tables: `PYTHONPATH=tests python -m other_codes.problems`.
Tolerances are the differences measured, rounded up, of the coarse models that are quick enough to test.
"""

from __future__ import annotations

import pytest

from .problems import four_bar, lateral_buckling, rotating_shaft, space_manipulator, spatial_arm, twisted_beam


def test_the_ring_of_the_space_manipulator_at_rest() -> None:
    """0.841 Hz by the differential equation, not the 0.75 Hz reported of exact beams."""
    exact = space_manipulator.exact_frequency()
    assert exact == pytest.approx(0.84088, abs=1e-5)
    model = space_manipulator.arm(space_manipulator.MODES).model()
    assert space_manipulator.first_frequency(model) == pytest.approx(exact, rel=1e-4)  # 5e-6 by four modes


TABLES = {
    "space manipulator at rest": (space_manipulator.linear, 4),
    "space manipulator moving": (space_manipulator.moving, 4),
    "twisted beam, large force": (twisted_beam.large, 3),
    "twisted beam, large force, second code": (twisted_beam.second_code, 3),
    "twisted beam, small forces": (twisted_beam.small, 2),
    "four-bar with a misaligned pin": (four_bar.rows, 4),
    "shaft through its critical speed": (rotating_shaft.rows, 3),
    "spatial arm with elastic drives": (spatial_arm.rows, 4),
    "lateral buckling": (lateral_buckling.rows, 3),
}
WITHOUT_EXUDYN = ("space manipulator at rest", "twisted beam, large force", "twisted beam, small forces")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:links:UserWarning")  # slopes above 0.2 rad are meant
@pytest.mark.parametrize("problem", TABLES)
def test_expected_is_got(problem: str) -> None:
    if problem not in WITHOUT_EXUDYN:
        pytest.importorskip("exudyn", reason="exudyn is not installed: pip install '.[bench]'")
    rows, count = TABLES[problem]
    found = rows()
    assert len(found) == count
    assert all(row.met for row in found), [row for row in found if not row.met]
