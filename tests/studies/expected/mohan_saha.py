"""What the study `mohan-saha` is expected to find."""

from __future__ import annotations

from pliant_studies.checks import FAILS, NOT_REPRODUCED, REPRODUCED
from studies.expected import Expected, Plant

BOTH = ("recursive", "non-recursive")
PRINTED = {"recursive": [5.4, 5.6, 5.4, 5.4, 5.4, 5.4], "non-recursive": [5.1, 5.1, 4.8, 5.1, 5.1, 4.8]}
LATE = [5.9, 6.1, 5.9, 5.9, 5.9, 5.9]

PLANTS: dict[str, list[Plant]] = {
    "A": [({"solution/apart": 1e-9}, FAILS), ({"solution/returned": 1e-9}, FAILS)],
    "A-motion": [({f"solution/round-off/{name}": 1e-8}, FAILS) for name in BOTH],
    "B": [
        ({"inertia matrix/asymmetry": 1e-6}, FAILS),
        ({"inertia matrix/off columns": 1e-6}, FAILS),
        ({"inertia matrix/ours/smallest eigenvalue": 2.8e-4}, FAILS),
        ({"inertia matrix/ours/condition": 1e5}, FAILS),
        ({"inertia matrix/ours/smallest eigenvalue": -1e-4, "inertia matrix/energy/smallest eigenvalue": -1e-4}, FAILS),
    ],
    "D": [({"rod/corrected": 1e-6}, FAILS)],
    "D-printed": [({"rod/printed": 1e-16}, REPRODUCED)],
    "F-cases": [({"other joints": 1e-6}, FAILS)],
    "steps": [({"table 1/steps/products/1": -127}, NOT_REPRODUCED), ({"table 1/steps/sums/0": 151}, NOT_REPRODUCED),
              ({"table 1/steps/products/2": 1}, NOT_REPRODUCED)],
    "n-star": [({"table 1/crossovers/products/Mohan-Saha": 11}, NOT_REPRODUCED),
               ({"table 1/operations/10/Mohan-Saha": [1603, 1367]}, NOT_REPRODUCED),
               ({"table 1/operations/10/Walker-Orin": [1600, 1209]}, NOT_REPRODUCED)],
    "n-plus": [({"table 1/crossovers/each/Mohan-Saha": 11}, NOT_REPRODUCED),
               ({"table 1/operations/12/Mohan-Saha": [1948, 1717]}, NOT_REPRODUCED),
               ({"table 1/operations/12/Walker-Orin": [2357, 1600]}, NOT_REPRODUCED)],
    "n-star-quoted": [({"table 1/crossovers/products/Brandle": 14}, REPRODUCED)],
    "n-plus-quoted": [
        ({"table 1/crossovers/each/Valasek": 15, "table 1/crossovers/each/Brandle": 16}, REPRODUCED),
        ({"table 1/crossovers/each/Valasek": 15}, NOT_REPRODUCED),
    ],
    "fewest": [({"table 1/operations/10/Saha": [1600, 1545]}, NOT_REPRODUCED),
               ({"table 1/operations/16/Featherstone": [2986, 2200]}, NOT_REPRODUCED)],
    "fewest-six": [
        ({"table 1/operations/6/Saha": [920, 797], "table 1/operations/6/Walker-Orin": [950, 800]}, REPRODUCED),
        ({"table 1/operations/6/Walker-Orin": [950, 800]}, NOT_REPRODUCED),
    ],
    "C-early": [({f"forced/error to 5 s/{name}": 1e-3}, FAILS) for name in BOTH],
    "C-divergence": [({"forced/leaves/recursive": [10.0] * 6}, FAILS),
                     ({"forced/leaves/non-recursive": PRINTED["non-recursive"]}, FAILS)],
    "C-isotropic": [({f"forced/isotropic, error to 7.5 s/{name}": 0.5}, FAILS) for name in BOTH],
    "C-stabilized": [({"forced/stabilized": 0.5}, FAILS)],
    "F": [({f"forced/balance/{name}": 1e-3}, FAILS) for name in BOTH],
    "power": [({"forced/power matches to/non-recursive": 5.5}, REPRODUCED),
              ({"forced/power matches to/recursive": 5.5}, NOT_REPRODUCED)],
    "table-3": [({"forced/leaves": PRINTED}, REPRODUCED),
                ({"forced/leaves/recursive": PRINTED["recursive"]}, NOT_REPRODUCED)],
    "table-3-default": [({"tolerance/leaves/default/recursive": LATE}, NOT_REPRODUCED)],
    "advantage": [({"forced/leaves": PRINTED}, REPRODUCED),
                  ({"forced/leaves": {"recursive": LATE, "non-recursive": PRINTED["recursive"]}}, REPRODUCED)],
    "matching": [({"forced/error by joint/6 s/0": 10.0}, NOT_REPRODUCED),
                 ({"forced/error by joint/6 s/4": 0.1}, NOT_REPRODUCED),
                 ({"forced/error by joint/5.5 s/2": 5.0}, NOT_REPRODUCED)],
    "C-eigenvalue": [({"eigenvalue/5.5 s": 0.0}, FAILS)],
    "C-seed": [
        # departures that do not follow the tolerance, as if round-off were the seed
        ({f"tolerance/leaves/1e-12/{name}": [6.61, 6.35, 6.03, 6.33, 6.18, 6.19] for name in BOTH}, FAILS),
        ({"tolerance/decades/recursive/0": 3.0}, FAILS),
        ({"tolerance/decades/non-recursive/2": 0.5}, FAILS),
    ],
    "C-tolerance": [({f"tolerance/leaves/{name}/non-recursive": PRINTED["non-recursive"]}, FAILS) for name in (
                    "1e-06", "1e-12", "default")],
    "C-steps": [({"steps/leaves/0.001/non-recursive": 5.5}, FAILS)],
    "step-size": [({"steps/evaluations/output spacing/0.1/recursive": 1000}, NOT_REPRODUCED)],
    "E-linear": [({"cost/bent": 0.1}, FAILS)],
    "E-count": [({"cost/products/10": 1700}, FAILS)],
    "iterations": [({"steps/evaluations/output spacing/0.001/non-recursive": 4000}, REPRODUCED)],
    "cpu": [({"cost/ratios": [1.2, 1.3, 1.4]}, REPRODUCED), ({"cost/ratios": [0.7, 0.8, 0.9]}, NOT_REPRODUCED)],
}  # fmt: skip
EXPECTED = Expected(
    figures=range(4, 10),
    plants=PLANTS,
    exceptions={
        "D-printed": NOT_REPRODUCED,  # C5 is half of what is printed
        "n-star-quoted": NOT_REPRODUCED,  # Brandle's 14 is 15
        "n-plus-quoted": NOT_REPRODUCED,  # no single reading gives all four
        "fewest-six": NOT_REPRODUCED,  # the O(n^3) method is cheaper, and Saha's has fewer products
        "table-3": NOT_REPRODUCED,  # with both tolerances at 1e-8; with the default relative one it is reproduced
        "advantage": NOT_REPRODUCED,  # both algorithms leave the unstable motion together
        "power": NOT_REPRODUCED,
        "iterations": NOT_REPRODUCED,  # as many by either
    },
    timed=frozenset({"cpu"}),
)
