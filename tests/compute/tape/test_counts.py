"""Operation counts are the same numbers on every machine, and round-off in what a trace is made of does not move them.

`counts.json` holds the counts of all bundled arms by all formulations at first order, of their default models, and of
the arms that studies count. After a change that is meant to change them, write them anew with
`python -m kernels.test_counts` (in `tests`, `PYTHONPATH=.`).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.analysis.counts import tape_count
from pliant.compute.tape import value_numbering as numbering
from pliant.errors import UnsupportedModel
from pliant.mechanics import FORMULATIONS, build_chain
from pliant.mechanics.shapes import elements, modes, quadrature, rods
from pliant.robot import load
from pliant.robot.parts import angles
from pliant_studies.cibicik_egeland.runs import arm as lifting_arm
from pliant_studies.korayem_shafei.runs import tapes as korayem_shafei
from pliant_studies.mohan_saha.runs import rods as rod_chain
from pliant_studies.theodore_ghosal.arms import ARMS as THEODORE_GHOSAL

FILE = Path(__file__).with_name("counts.json")
BUNDLED = sorted(path.stem for path in (Path(pliant.__file__).parent / "robot" / "arms").glob("*.yaml"))


def counts(robot: Any, formulation: str, level: Any = "off") -> dict[str, int]:
    try:
        return {kind: n for kind, n in robot.model(formulation, stiffening=level).operation_count().items() if n}
    except UnsupportedModel:
        return {}


def studied() -> dict[str, Any]:
    """What the studies print, the large ones of the full runs left out."""
    counted = {f"[TG95] {name}, {kind}": tape_count(build_chain(robot), "lagrange", "inertia matrix")
               for name, make in THEODORE_GHOSAL.items() for kind, robot in make().items()}  # fmt: skip
    for size in ((2, 2, 1), (3, 2, 2)):
        counted |= {f"[KS09] {size}, {name}": count for name, count in korayem_shafei(*size).items()}
    for n in (5, 10):
        counted |= {f"[MS07] {n} rods, {name}": tape_count(build_chain(rod_chain(n)), name, "accelerations")
                    for name in ("denoc", "gibbs-appell")}  # fmt: skip
    found: dict[str, Any] = {name: [c.products, c.sums, c.divisions, c.trig] for name, c in counted.items()}
    return found | {f"[CE21] {name}": counts(lifting_arm(0.01), name) for name in ("denoc", "dual-screw")}


EXPECTED = json.loads(FILE.read_text()) if FILE.exists() else {}


@pytest.mark.full
@pytest.mark.parametrize("arm", BUNDLED)
def test_counts_of_bundled_arms(arm):
    assert {name: counts(load(arm), name) for name in FORMULATIONS} == EXPECTED["bundled"][arm]


@pytest.mark.slow_cases("free-flyer", "rrp", "space-arm")
@pytest.mark.parametrize("arm", BUNDLED)
def test_counts_of_the_recursion(arm):
    assert counts(load(arm), "denoc") == EXPECTED["bundled"][arm]["denoc"]


@pytest.mark.slow_cases("lab-arm")
@pytest.mark.parametrize(
    "arm",
    [
        arm if arm in ("two-link", "lab-arm", "spin-up") else pytest.param(arm, marks=pytest.mark.full)
        for arm in BUNDLED
    ],
)
def test_counts_of_the_default_model(arm):
    assert counts(load(arm), "denoc", "auto") == EXPECTED["default"][arm]


@pytest.mark.full
def test_counts_of_studied_arms():
    assert studied() == EXPECTED["studied"]


# ------------------------------------------------------------------------------------------------------- round-off


def noisy(values: Any, seed: int) -> Any:
    """The values with up to two units in the last place added, the same for the same value, as another machine's
    library would."""
    x = np.ascontiguousarray(values, dtype=float)
    with np.errstate(over="ignore"):
        h = x.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return x * (1 + (((h ^ (h >> np.uint64(32))) % np.uint64(9)).astype(float) - 4) * 2.0**-53)


@pytest.fixture(params=[0, pytest.param(1, marks=pytest.mark.full), pytest.param(2, marks=pytest.mark.full)])
def another_machine(request, monkeypatch) -> None:
    """Shape functions, quadrature and fixed rotations as a machine with other last bits has them."""
    seed = request.param

    def bend(place: Any, name: str) -> None:
        right = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given: noisy(right(*given), seed))

    for kind in (modes.BendingModes, rods.RodModes, elements.Elements, elements.ReducedShapes):
        bend(kind, "evaluate")
    rule = quadrature.gauss
    monkeypatch.setattr(quadrature, "gauss", lambda n: tuple(noisy(x, seed) for x in rule(n)))
    library = {**vars(math), **{f.__name__: lambda x, f=f: float(noisy([f(x)], seed)[0]) for f in (math.sin, math.cos)}}
    monkeypatch.setattr(angles, "math", SimpleNamespace(**library))


@pytest.mark.slow_cases("0-canadarm2-denoc", "0-free-flyer-denoc")
@pytest.mark.parametrize("formulation", ["denoc", pytest.param("dual-screw", marks=pytest.mark.full)])
@pytest.mark.parametrize("arm", ["boom", "canadarm2", "crane-4dof", "free-flyer", "space-arm"])
def test_round_off_does_not_move_counts(arm, formulation, another_machine):
    assert counts(load(arm), formulation) == EXPECTED["bundled"][arm][formulation]


def test_round_off_would_move_them(monkeypatch, another_machine):
    """The noise is large enough to be seen by a tape that judges constants by every bit."""
    monkeypatch.setattr(numbering, "SAME", 0.0)
    assert counts(load("canadarm2"), "denoc") != EXPECTED["bundled"]["canadarm2"]["denoc"]


if __name__ == "__main__":
    found = {"bundled": {arm: {name: counts(load(arm), name) for name in FORMULATIONS} for arm in BUNDLED}}
    found["default"] = {arm: counts(load(arm), "denoc", "auto") for arm in BUNDLED}
    FILE.write_text(json.dumps(found | {"studied": studied()}, indent=1) + "\n")
