"""Makes the moving picture at the head of the README: the slender arm of `make demo`, slowed down.

python docs/images/make_moving.py
"""

from __future__ import annotations

from pathlib import Path

from pliant import Scenario

HERE = Path(__file__).parent
SHOWN = 2.2
"""Seconds of the run, in which the arm swings around and rings."""


def main() -> None:
    scenario = Scenario.load(HERE.parents[1] / "examples" / "scenarios" / "slender.yaml")
    run = scenario.replace(duration=SHOWN).run()
    print(run.to_video(HERE / "bending.gif", fps=15, speed=0.5).stat().st_size, "bytes")


if __name__ == "__main__":
    main()
