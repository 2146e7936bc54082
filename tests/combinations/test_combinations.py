"""Random arms out of every part, each compared with itself: by all formulations, in other words, with finer beams, and
by its balances of energy and momentum.

A failure names the seed: `python tests/combinations SEED` prints its arm, `--small SEED` one of the daily set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import pliant
from combinations.equations import ROUND_OFF, disagreements
from combinations.facts import changes, facts
from combinations.generator import Arm, arm
from combinations.physics import power, reactions
from combinations.refined import misses
from combinations.restatements import RESTATEMENTS, Restated
from pliant.errors import ModelError
from pliant.loads import Base, Wrench
from quick_arithmetic import make_quick

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # on odd numbers, and what a run leaves out

PARTS, SIZE = 25, 20
MISSED = {
    "closed form": 1e-9, "closed form of tapers": 0.005, "soft": 1e-9, "soft of tapers": 1e-3, "low": 0.015,
    "missed frequency": 0.15, "missed with a link inside": 0.3,
}  # fmt: skip
"""Elements are exact at their nodes, but for tapers (0.13 % measured). Three of them raise
frequencies of torsion by 1.1 %, so that modes may be so much lower. Modes for the load at q = 0 are up
to 15 % above; a single mode has no kink where a link hangs inside its beam, and is up to 23 % above."""
REFUSED: dict[str, str] = {}
"""Reasons for which an arm is refused, and the words of each."""
MOST_REFUSED = 0.02


@pytest.fixture(scope="module", autouse=True)
def quickly_traced() -> Iterator[None]:
    """By shorter ways to the same tapes."""
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        yield


def formulations(one: Arm) -> dict[str, float]:
    """Parts of the tolerance."""
    return {name: value / ROUND_OFF for name, value in disagreements(one).items()}


def restated(one: Arm) -> dict[str, float]:
    """In the first other words that fit, from a place in the list that the seed gives."""
    names = list(RESTATEMENTS)
    for k in range(len(names)):
        name = names[(one.seed + k) % len(names)]
        other = RESTATEMENTS[name](one, np.random.default_rng((one.seed, 5)))
        if other is not None:
            return in_other_words(one, name, other)
    return {}


def in_other_words(one: Arm, name: str, other: Restated) -> dict[str, float]:
    """Parts of the tolerance."""
    found = changes(facts(other.first or one), other)
    return {f"{name}: {key}": value / ROUND_OFF for key, value in found.items()}


def balances(one: Arm) -> dict[str, float]:
    """Power by odd seeds, momentum and reactions by even ones; the base stands still."""
    if one.base is not None:
        return {}
    return {name: value / ROUND_OFF for name, value in (power if one.seed % 2 else reactions)(one).items()}


def refined(one: Arm) -> dict[str, float]:
    """Parts of what may be missed."""
    return {name: value / MISSED[name] for name, value in misses(one).items()}


def runs(one: Arm) -> dict[str, float]:
    """Energy along a short run of one arm in five, drives with their states: parts of 1e-6 of what moved, of which
    steps at these tolerances lose a thousandth."""
    if one.seed % 5:
        return {}
    load = () if one.load is None else (Wrench(moment=one.load[:3], force=one.load[3:], frame=one.at),)
    base = None if one.base is None else Base(acceleration=one.base[2], angular_velocity=one.base[0])
    run = pliant.simulate(
        one.model, 0.01, one.q, one.qd, torque=0.1 * one.tau, loads=load, base=base, rtol=1e-9, atol=1e-12,
        limits=False, output_step=1e-3,
    )  # fmt: skip
    assert run.stats.status == "finished"
    moved = run.energy.kinetic.max() + np.ptp(run.energy.total) + np.ptp(run.work)
    return {"energy": float(np.abs(run.energy_balance).max() / moved) / 1e-6}


CHECKS: tuple[Callable[[Arm], dict[str, float]], ...] = (formulations, restated, balances, refined, runs)


DAILY = ((8, 15, 16, 20), (3, 5, 16, 18, 19, 25, 31), (2, 6, 10, 18, 26), (3, 7, 15, 19))
"""Seeds of small arms for each check, those that cost least."""


def check(
    seed: int, checks: tuple[Callable[[Arm], dict[str, float]], ...] = CHECKS, small: bool = False
) -> tuple[list[str], str | None]:
    """What is wrong with the arm of a seed, and why it is refused."""
    try:
        one = arm(seed, small)
        assert pliant.Robot.from_dict(one.robot.to_dict()) == one.robot
        moves = one.model is not None and one.chain.n > 0  # a fixed link stands still
        found = [(own, own(one)) for own in checks if moves]
    except ModelError as error:
        return [], str(error)
    return [
        f"seed {seed}, {own.__name__}, {name}: {value:.3g} times the tolerance"
        for own, values in found for name, value in values.items() if not value < 1
    ], None  # fmt: skip


@pytest.mark.parametrize(("own", "seeds"), list(zip(CHECKS, DAILY)), ids=lambda x: getattr(x, "__name__", "small"))
def test_small_arms(own: Callable[[Arm], dict[str, float]], seeds: tuple[int, ...]) -> None:
    """Every check on some of them; none is refused."""
    for seed in seeds:
        assert check(seed, (own,), small=True) == ([], None)


@pytest.mark.full
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_random_arms(part: int) -> None:
    wrong, refused = [], []
    for seed in range(part * SIZE, (part + 1) * SIZE):
        found, reason = check(seed)
        wrong += found
        if reason is not None:
            refused.append(reason)
    assert not wrong, "\n".join(wrong)
    unknown = [reason for reason in refused if not any(re.search(words, reason) for words in REFUSED.values())]
    assert not unknown, "\n".join(unknown)
    assert len(refused) <= max(1, MOST_REFUSED * SIZE)
