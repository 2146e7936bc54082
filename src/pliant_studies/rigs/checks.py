"""Requirements on predictions of the rigs, and what limits those that are missed."""

from __future__ import annotations

import numpy as np

from pliant_studies.checks import Check, Numbers, reported, required
from pliant_studies.rigs.runs import FRICTION_MOVED, OTHER

DIGIT = 0.01
"""What two printed digits leave open; above 1 ten times that."""
PUBLISHED = {
    "encoders": {"lqr_square": [0.25, 0.53], "lqg_staircase": [1.04, 0.99]},
    "currents": {"lqr_square": [0.64, 2.4, 1.3, 1.3], "lqg_staircase": [1.7, 1.7, 0.54, 0.66]},
    "loops": {"lqr_square": [0.012, 0.15, 0.33, 0.52], "lqg_staircase": [0.032, 0.52, 0.49, 0.70]},
}
"""NRMSE of the data-sheet arm in the README of the data, by task."""
TASKS = {"encoders": "from the encoders", "currents": "from the currents", "loops": "in closed loop"}
FOUR = ("angle 1", "angle 2", "strain 1", "strain 2")
CHANNELS = {"encoders": FOUR[2:], "currents": FOUR, "loops": FOUR}
LIMITS = {"encoders": (0.30, 0.35), "currents": (0.45, None, 0.45, 0.45), "loops": (0.03, 0.30, 0.40, 0.60)}
"""NRMSE of what is identified on one run and predicted on the other."""
MEASURED = (1.81, 5.70, 34.8)
"""Hz: first and second ring-down at an elbow of 0 and the third line of the spectrum."""
WITHIN = 0.03
BAR_LIMITS, BAR_FREQUENCY = (0.30, 0.25), 6.84
"""NRMSE of hub and deflection; Hz, with the hub held by the gear."""
HALF = 0.5
OURS = "the requirement"

SHEET = """NRMSE of the arm of the data sheet, with the geometry that the README takes for what the sheet leaves open.
Nothing is fitted."""
HELD = (
    """With both joints held, beside 1.81 and 5.70 Hz of the ring-downs of the staircase and 34.8 Hz of the spectrum."""
)
ELBOW = """Ring-downs with the elbow at 10 degrees, all in lqr_square, have 1.92 to 1.94 Hz; with the elbow at 0, all in
lqg_staircase, 1.79 to 1.83 Hz. A plane arm changes by less than 1 % over this angle. The two runs are 25 days apart and
no run has both angles, so that the data cannot tell the angle from the day."""
BESIDE = """NRMSE of the arm identified on the other run, of the maker's two stages without coupling, and of the same
stages with springs that do not give."""
FREQUENCY_OF_THE_DAY = """NRMSE of both strains where the stiffness of link 1 of the predicted arm is changed until its
first frequency is that of the ring-downs of the run; all else is from the other run."""
FRICTION_OF_THE_DAY = """Dry friction (N m) and offset of the current (A) of the shoulder by torque balance of each run,
and NRMSE of angles and strains with these two of the day and all else from the other run."""
STILL = """Root mean square in mrad of the error of the elbow over the windows of the staircase, where it is held at
zero and a relative error says nothing."""
SPECTRUM = "With the hub held, by the run that was left out of the fit, beside 6.84 Hz of the spectrum."
RATIO = "Largest ratio of both errors of the deflection over the three runs."


def judge(numbers: Numbers) -> list[Check]:
    """Every check of the study."""
    parts = (_data_sheet, _frequencies, _predicted, _better, _limited, _bar)
    return [check for part in parts for check in part(numbers)]


def _text(words: str) -> str:
    return " ".join(words.split())


def _need(id: str, claim: str, where: str, ours: object, limit: object, good: bool, text: str) -> Check:
    return required(
        id,
        claim,
        where,
        ours=ours,
        limit=limit,
        true=bool(good),
        reason=OURS,
        text=_text(text),
    )


def _data_sheet(numbers: Numbers) -> list[Check]:
    found = []
    for task, words in TASKS.items():
        for run, printed in PUBLISHED[task].items():
            ours = numbers[task][run].get("data sheet")
            if ours is None:  # a quick study closes no loop with it
                continue
            good = all(own <= value + (DIGIT if value < 1 else 10 * DIGIT) for own, value in zip(ours, printed))
            claim = f"The data-sheet arm is no worse than published {words}, {run}"
            found.append(_need(f"sheet-{task}-{run}", claim, "README of the data", ours, printed, good, SHEET))
    return found


def _frequencies(numbers: Numbers) -> list[Check]:
    found = []
    for run in OTHER:
        ours = numbers["frequencies"][f"from {run}"][0][:3]
        off = max(abs(own / value - 1) for own, value in zip(ours, MEASURED))
        claim = f"Three frequencies of the arm identified on {run} are within 3 % at an elbow of 0"
        limit = f"{WITHIN:g} relative to {MEASURED}"
        found.append(_need(f"frequencies-{run}", claim, "ring-downs and spectrum", ours, limit, off <= WITHIN, HELD))
    rings = {run: [entry["frequencies"][0] for entry in entries] for run, entries in numbers["ring-downs"].items()}
    model = {k: [row[0] for row in rows] for k, rows in numbers["frequencies"].items() if k != "lumped"}
    ours = {"measured": rings, "model at 0 and 10 degrees": model}
    claim = "The first frequency is higher in the run whose elbow is bent"
    return [
        *found,
        reported(
            "elbow",
            claim,
            "ring-downs",
            ours=ours,
            text=_text(ELBOW),
        ),
    ]


def _predicted(numbers: Numbers) -> list[Check]:
    found = []
    for task, words in TASKS.items():
        for run, by in OTHER.items():
            for k, (channel, limit) in enumerate(zip(CHANNELS[task], LIMITS[task])):
                own = numbers[task][run]["predicted"][k]
                if limit is not None:
                    claim = f"{channel.capitalize()} of {run} {words}, identified on {by}"
                    why = _why(task, run, k, own <= limit, numbers)
                    name = f"{task}-{run}-{channel.replace(' ', '')}"
                    found.append(_need(name, claim, "predicted", own, limit, own <= limit, why))
    return found


def _why(task: str, run: str, k: int, good: bool, numbers: Numbers) -> str:
    """Text on the method, and on the evidence where a limit is missed."""
    text, table = f"NRMSE; every number of the arm comes from {OTHER[run]} alone.", numbers[task][run]
    if good:
        return text
    if task == "encoders":
        return f"""{text} With the stiffness of link 1 changed until the first frequency is that of the ring-downs of
        {run}, and nothing else, the error is {table["predicted, frequency moved"][k]:.3f}."""
    own = f" An arm identified on {run} itself has {table['fitted'][k]:.3f}." if "fitted" in table else ""
    day = ""
    if FRICTION_MOVED in table:
        day = f""" With dry friction and offset of the shoulder as they were in {run}, and nothing else, the error is
        {table[FRICTION_MOVED][k]:.3f}."""
    integrated = " Angles integrate every error of the friction." if task == "currents" else ""
    return f"{text}{day}{own}{integrated}"


def _better(numbers: Numbers) -> list[Check]:
    found = []
    for task in TASKS:
        first = 2 if task == "loops" else 0  # angles in closed loop are those of the controller
        for run in OTHER:
            table = {name: numbers[task][run][name][first:] for name in ("predicted", "lumped", "rigid")}
            good = all(
                own < other for name in ("lumped", "rigid") for own, other in zip(table["predicted"], table[name])
            )
            claim = f"Better than lumped stages and a rigid arm {TASKS[task]}, {run}"
            text = f"{BESIDE} Channels: {', '.join(CHANNELS[task][first:])}."
            found.append(_need(f"better-{task}-{run}", claim, "predicted", table, "below both everywhere", good, text))
    return found


def _limited(numbers: Numbers) -> list[Check]:
    friction = numbers["friction"]
    apart = {path: [friction[run][path] for run in OTHER] for path in friction["lqr_square"]}
    moved = {run: numbers["encoders"][run]["predicted, frequency moved"] for run in OTHER}
    day = {run: numbers["currents"][run][FRICTION_MOVED] for run in OTHER}
    both = {"lqr_square and lqg_staircase": apart, "NRMSE": day}
    held = numbers["elbow held, mrad rms"]
    claims = (
        ("limits-encoders", "What the first frequency of the day gives from the encoders", moved, FREQUENCY_OF_THE_DAY),
        ("limits-currents", "What the friction of the day gives from the currents", both, FRICTION_OF_THE_DAY),
        ("elbow-held", "An elbow that is held at zero, from the currents", held, STILL),
    )
    return [
        reported(
            id,
            claim,
            "evidence",
            ours=ours,
            text=_text(text),
        )
        for id, claim, ours, text in claims
    ]


def _bar(numbers: Numbers) -> list[Check]:
    found = []
    for run, table in numbers["bar"].items():
        for k, (name, limit) in enumerate(zip(("hub", "deflection"), BAR_LIMITS)):
            own = table["predicted"][k]
            text = f"""NRMSE over the window of the data from the voltage alone. By the score of the data the run starts
            with the rate over the 40 ms behind its start, in which the voltage has just turned and the hub slows down.
            With the rate over the 40 ms before, and nothing else changed, the error is
            {table["rate before the start"][k]:.3f}. A bar that cannot bend has {table["rigid"][k]:.3f}."""
            claim = f"{name.capitalize()} of the bar in {run}, fitted on the two other runs"
            found.append(_need(f"bar-{name}-{run}", claim, "predicted", own, limit, own <= limit, text))
    rows = numbers["bar frequency"]
    good = max(abs(value / BAR_FREQUENCY - 1) for value in rows.values()) <= WITHIN
    claim, span = "The first frequency of the bar is within 3 %", f"{WITHIN:g} relative to {BAR_FREQUENCY:g}"
    found.append(_need("bar-frequency", claim, "spectrum", rows, span, good, SPECTRUM))
    worst = float(np.max([table["predicted"][1] / table["rigid"][1] for table in numbers["bar"].values()]))
    claim = "The bar that bends has less than half of the error of one that cannot"
    found.append(_need("bar-better", claim, "deflection", worst, HALF, worst < HALF, RATIO))
    return found
