"""Advice that would have made a run cheaper, given once per model."""

from __future__ import annotations

from pliant.integrators.driver import ASKED
from pliant.integrators.methods import has_fixed_steps
from pliant.integrators.solution import Stats
from pliant.model.validity import Findings
from pliant.robot.parts.shapes import amplitudes
from pliant.simulation.runs.equations.composition import Composition

MANY_STEPS = 10_000
"""Steps of a run from which on advice is given."""
MANY_SHAPES = 20
"""Amplitudes of elements from which on the fastest are faster than anything of interest."""


def advice(composed: Composition, stats: Stats) -> Findings:
    """Advice on the method where a run crawls, and on elements that make it take many short steps."""
    return _crawl(composed, stats) | _elements(composed, stats)


def _crawl(composed: Composition, stats: Stats) -> Findings:
    if not stats.crawling or stats.stiffness is None:
        return {}
    name = composed.state_name(stats.stiffness.index)
    better = "method='auto' or 'rodas5p'" if stats.reason == ASKED else "method='rodas5p'"
    return {
        f"crawl of {stats.method}": f"{stats.method} is held back by the stiff coordinate {name}, not by accuracy; "
        f"{better} would take larger steps"
    }


def _elements(composed: Composition, stats: Stats) -> Findings:
    if stats.steps < MANY_STEPS or has_fixed_steps(stats.method):
        return {}
    whole = {
        link.name: amplitudes(link.shapes, link.beam.shearing)
        for link in composed.model.robot.links
        if link.beam is not None and link.shapes is not None
        if link.shapes.method == "elements" and link.shapes.reduce is None
    }
    if sum(whole.values()) < MANY_SHAPES:
        return {}
    return {
        "elements": f"{sum(whole.values())} amplitudes of elements ({', '.join(whole)}) took {stats.steps} steps, as "
        "the fastest of them asks; write `reduce: 4` in their shapes to keep the four slowest of each field"
    }
