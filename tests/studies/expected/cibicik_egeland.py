"""What the study `cibicik-egeland` is expected to find."""

from __future__ import annotations

from pliant_studies.checks import FAILS, NOT_REPRODUCED, REPORTED, REPRODUCED
from studies.expected import Expected, Plant

CURVES = ("torques", "xy", "xy rates", "xz", "xz rates", "torsion", "torsion rates")
FASTER, SLOWER, EITHER = [1.2, 1.1, 1.3], [0.8, 0.7, 0.9], [0.9, 1.1, 1.0]


def timed(path: str) -> list[Plant]:
    """Every round on one side, on the other, and on both."""
    return [({path: FASTER}, REPRODUCED), ({path: SLOWER}, NOT_REPRODUCED), ({path: EITHER}, REPORTED)]


PLANTS: dict[str, list[Plant]] = {
    "A": [({f"algebra/{name}": 1e-9}, FAILS) for name in ("inverse", "adjoint", "logarithm")],
    "A-dual": [({"algebra/dual part": 1e-5}, FAILS)],
    "B": [({"derivative": 1e-5}, FAILS)],
    "B-cost": timed("times/forming"),
    "B-evaluate": timed("times/evaluating"),
    "C": [({f"matrices/{what}/1": 3.0}, FAILS) for what in ("forces", "inertia")],
    "C-straight": [({"matrices/undeformed": 1e-9}, FAILS)],
    "D-gravity": [({f"maneuver/swing before 0.5 s (mm)/{k}": 0.01}, NOT_REPRODUCED) for k in (0, 1)],
    "D-motion": [({f"maneuver/largest rate to 3 s/{k}": 0.01}, NOT_REPRODUCED) for k in (0, 1)],
    "D-zero": [
        ({f"maneuver/before slewing (m, rad)/{link} {what}": 1e-6}, NOT_REPRODUCED)
        for link in ("inner", "outer") for what in ("xz", "torsion")
    ],
    "D-slew": [
        ({f"maneuver/after slewing (m, rad)/{link} {what}": 1e-6}, NOT_REPRODUCED)
        for link in ("inner", "outer") for what in ("xz", "torsion")
    ],
    "settled": [
        ({"maneuver/at 2.95 s (mm)/0": 18.0}, NOT_REPRODUCED),
        ({"maneuver/at 6 s (mm)/1": 3.3}, NOT_REPRODUCED),
    ],
    "D-statics": [
        ({"statics/start/deflections (mm)/0": 10.1}, FAILS),
        ({"statics/final/deflections (mm)/1": 3.17}, FAILS),
        ({"statics/start/torques (N m)/0": 262.9}, FAILS),
        ({"statics/final/levers (N m)/1": 130.82}, FAILS),
    ],
    "D-static": [({"maneuver/at 6 s (mm)/0": 18.0}, FAILS), ({"statics/final/deflections (mm)/1": 3.3}, FAILS)],
    "D-joints": [
        ({f"apart/damped/{what}/{k}": 0.03}, NOT_REPRODUCED) for what in ("angles", "rates") for k in range(4)
    ],
    "D-elastic": [({f"apart/damped/{what}/1": 0.06}, NOT_REPRODUCED) for what in CURVES],
    "D-joints-undamped": [({f"apart/undamped/{what}": [0.001] * 4 for what in ("angles", "rates")}, REPRODUCED)],
    "D-elastic-undamped": [({f"apart/undamped/{what}": [0.001] * 4 for what in CURVES}, REPRODUCED)],
    "E": [({"spin/2.9": True}, FAILS), ({"spin/2.92": False}, FAILS), ({"first frequency": 2.93}, FAILS)],
    "F": timed("times/matrices over linear"),
}  # fmt: skip
EXPECTED = Expected(
    figures=range(5, 11),
    plants=PLANTS,
    exceptions={
        "B-size": REPORTED,
        "torques": REPORTED,
        "D-joints-undamped": NOT_REPRODUCED,  # the rate of the slewing joint carries undamped torsion
        "D-elastic-undamped": NOT_REPRODUCED,  # undamped vibrations of torsion drift out of phase
        "gains": REPORTED,
        "haste": REPORTED,
        "F-recursion": REPORTED,
    },
    timed=frozenset({"B-cost", "B-evaluate", "F"}),
)
