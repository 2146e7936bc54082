"""What the study `rigs` is expected to find."""

from __future__ import annotations

from pliant_studies.checks import FAILS, HOLDS, REPORTED
from pliant_studies.rigs.checks import CHANNELS, LIMITS, PUBLISHED
from pliant_studies.rigs.runs import OTHER
from studies.expected import Expected, Plant

BARS = ("a05_f08", "a10_f08", "a15_f10")


def both(path: str, good: object, bad: object) -> list[Plant]:
    """A number that meets the requirement, and one that does not."""
    return [({path: good}, HOLDS), ({path: bad}, FAILS)]


PLANTS: dict[str, list[Plant]] = {}
for task, channels in CHANNELS.items():
    for run in OTHER:
        printed = PUBLISHED[task][run]
        PLANTS[f"sheet-{task}-{run}"] = both(f"{task}/{run}/data sheet", printed, [9.0, *printed[1:]])
        for k, (channel, limit) in enumerate(zip(channels, LIMITS[task])):
            if limit is not None:
                name = channel.replace(" ", "")
                PLANTS[f"{task}-{run}-{name}"] = both(f"{task}/{run}/predicted/{k}", 0.99 * limit, 1.01 * limit)
        size = len(channels)
        PLANTS[f"better-{task}-{run}"] = [
            *both(f"{task}/{run}/predicted", [0.001] * size, [0.001] * (size - 1) + [9.0]),
            ({f"{task}/{run}/predicted": [0.1] * size, f"{task}/{run}/rigid": [0.05] * size}, FAILS),
        ]
for run in OTHER:
    PLANTS[f"frequencies-{run}"] = [
        ({f"frequencies/from {run}/0": [1.81, 5.70, 34.8, 60.0]}, HOLDS),
        *(({f"frequencies/from {run}/0/{k}": 2.4 * 3.0**k}, FAILS) for k in range(3)),
    ]
for run in BARS:
    PLANTS[f"bar-hub-{run}"] = both(f"bar/{run}/predicted/0", 0.29, 0.31)
    PLANTS[f"bar-deflection-{run}"] = both(f"bar/{run}/predicted/1", 0.24, 0.26)
PLANTS["bar-frequency"] = [
    ({f"bar frequency/{run}": 6.84 for run in BARS}, HOLDS),
    *(({f"bar frequency/{run}": 7.1}, FAILS) for run in BARS),
]
PLANTS["bar-better"] = [({"bar/a05_f08/predicted/1": 0.9}, FAILS)]
MISSED = (
    "currents-lqr_square-angle1", "currents-lqr_square-strain1", "currents-lqr_square-strain2",
    "currents-lqg_staircase-angle1", "loops-lqg_staircase-angle1", "bar-hub-a05_f08", "bar-deflection-a05_f08",
    "bar-deflection-a10_f08", "bar-deflection-a15_f10",
)  # fmt: skip
EXPECTED = Expected(
    figures=range(1, 5),
    plants=PLANTS,
    exceptions={
        "elbow": REPORTED, "limits-encoders": REPORTED, "limits-currents": REPORTED, "elbow-held": REPORTED,
        **dict.fromkeys(MISSED, FAILS),
    },
)  # fmt: skip
