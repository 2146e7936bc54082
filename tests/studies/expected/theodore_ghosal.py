"""What the study `theodore-ghosal` is expected to find."""

from __future__ import annotations

from pliant_studies.checks import FAILS, NOT_REPRODUCED, REPORTED, REPRODUCED
from studies.expected import Expected, Plant

_LOOP = "loop/elements over modes"
_LINK_2 = "loop/greatest over least/link 2"
_LINK_3 = "loop/greatest over least/link 3"
_PAIRS = [f"mode {k}, {plane}" for k in (1, 2) for plane in ("in plane", "out of plane")]
_SURE = {f"{_LOOP}/{link}, {pair}/0": 1.0 for link in ("link 2", "link 3") for pair in _PAIRS}

PLANTS: dict[str, list[Plant]] = {
    "A": [
        ({"table 1/exact/0": 208.7}, NOT_REPRODUCED),
        ({"table 1/1 el./1": 2100.0}, NOT_REPRODUCED),
        ({"table 1/2 el./3": 13000.0}, NOT_REPRODUCED),
        ({"table 1/3 el./2": 3700.0}, NOT_REPRODUCED),
    ],
    "A-unit": [({"table 1/exact/0": 2 * 3.14159265 * 208.64}, REPRODUCED)],
    "C": [({f"loaded beams/{load}": 1e-3}, FAILS) for load in ("M", "M, J", "M, J, D")],
    "B-roots": [({"roots/boundary": 1e-6}, FAILS)],
    "B-rate": [({"roots/followed": 1e-4}, NOT_REPRODUCED)],
    "B-printed": [({"roots/printed": 1e-9}, REPRODUCED)],
    "B-state": [
        ({"integrated roots/by tolerance/1e-05/beta off": 1e-5}, NOT_REPRODUCED),
        ({"integrated roots/by tolerance/0.001/tip off (m)/integrated": 1e-4}, NOT_REPRODUCED),
        ({"integrated roots/travel (m)": 0.1}, NOT_REPRODUCED),
    ],
    "B-cost": [({"integrated roots/operations/integrated": 10**6}, FAILS)],
    "D": [({"free motion/drift": 1e-4}, FAILS)],
    "lagrange": [({"lagrange/forces at a state": 1e-4}, FAILS)],
    "E-joints": [({f"motion/joint error/{name}": 1e-3}, NOT_REPRODUCED) for name in ("modes", "elements")],
    "E-bends": [
        ({"motion/tip error (mm)/modes": 0.01}, NOT_REPRODUCED),
        ({"motion/tip error (mm)/elements": 0.01}, NOT_REPRODUCED),
        ({"motion/tip error of rigid links (mm)": 20.0}, NOT_REPRODUCED),
    ],
    "E-settled": [({f"motion/at 1 s (mm)/{name}": 0.2}, NOT_REPRODUCED) for name in ("modes", "elements")],
    "E-similar": [({"motion/apart, over the peak": 0.3}, NOT_REPRODUCED)],
    "cpu": [
        ({"cpu/rounds": [1.2, 1.3, 1.5]}, REPRODUCED),
        ({"cpu/rounds": [0.8, 0.9, 0.7]}, NOT_REPRODUCED),
        ({"cpu/rounds": [0.8, 1.1, 1.3]}, REPORTED),
    ],
    "alone": [({f"loop/links alone/{link}/0": 0.99}, NOT_REPRODUCED) for link in ("boom", "slide")],
    "eig-higher": [(_SURE, REPRODUCED), *(({**_SURE, path: 0.95}, NOT_REPRODUCED) for path in _SURE)],
    "eig-constant": [
        ({f"{_LINK_2}/{pair}": 1.01 for pair in _PAIRS}, REPRODUCED),
        *(
            ({f"{_LINK_2}/{other}": 1.2 if other == pair else 1.0 for other in _PAIRS}, NOT_REPRODUCED)
            for pair in _PAIRS
        ),
    ],
    "eig-varies": [({f"{_LINK_3}/{pair}": 1.1}, NOT_REPRODUCED) for pair in _PAIRS],
    "J_L": [
        ({"boundary load/two modes, mass and J_L/2": 0.05}, FAILS),
        ({"boundary load/two modes, mass alone/2": 0.01, "boundary load/two modes, mass alone/0": 0.01}, FAILS),
    ],
    "lag": [({f"lag (ms)/mass alone/{link}, in plane": 0.0}, NOT_REPRODUCED) for link in ("link 2", "link 3")],
    "lag-reason": [({"loop/lowest, elements over modes/mass alone": [1.01, 1.02]}, REPRODUCED)],
    "elbow": [
        ({"elbow/errors/load of the moment/1": 0.05}, NOT_REPRODUCED),
        ({"elbow/errors/mass alone": [0.0, 0.0, 0.0]}, NOT_REPRODUCED),
        ({"elbow/response/errors/load of the moment": 0.1}, NOT_REPRODUCED),
    ],
    "F-loop": [
        ({"loop with a wrong stiffness/+0.1/0": 5.0}, FAILS),
        ({"loop with a wrong stiffness/-0.01": [0.01, 0.01]}, FAILS),
    ],
    "F-destabilizes": [
        ({"stiffness/amplitude after 1 s over start/1.1": 0.5}, NOT_REPRODUCED),
        ({"stiffness/amplitude after 1 s over start/0.9": 1.5}, NOT_REPRODUCED),
    ],
    "F-necessary": [
        ({f"stiffness/growth beyond the bound/{name}": -1.0}, NOT_REPRODUCED) for name in ("arm", "link", "damped link")
    ],
    "F-bound": [({f"stiffness/threshold/{name}": 1.0 for name in ("arm", "link", "damped link")}, REPRODUCED)],
    "table-2": [
        ({"counts/RR/modes/written out/0": 300}, NOT_REPRODUCED),
        ({"counts/RRR/elements/written out/0": 2000}, NOT_REPRODUCED),
        ({"counts/RR with payload/modes/written out/0": 1000}, NOT_REPRODUCED),
    ],
    "table-2-once": [
        ({f"counts/{arm}/elements/common terms once": [50, 50] for arm in ("RR", "RRR", "RR with payload")}, REPRODUCED)
    ],
}
EXPECTED = Expected(
    figures=range(4, 11),
    plants=PLANTS,
    exceptions={
        "A-unit": NOT_REPRODUCED,  # rad/s
        "B-printed": NOT_REPRODUCED,  # a misprint
        "E-tracking": REPORTED,  # no DH table: 22, 49 or 133 mm against "of the order of 8 mm"
        "eig-higher": NOT_REPRODUCED,  # lower by 2 % where link 3 bends with link 2
        "eig-constant": NOT_REPRODUCED,  # 9 to 65 %
        "lag-reason": NOT_REPRODUCED,  # where the elements lag their frequency is the lower one
        "F-bound": NOT_REPRODUCED,  # the Lemma's bound is not sufficient
        "table-2-once": NOT_REPRODUCED,
        "table-2-sliding": REPORTED,  # other equations than the paper's
    },
    timed=frozenset({"cpu"}),
)
