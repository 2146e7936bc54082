"""Runs the examples and draws the picture of each for the gallery: docs/images/gallery/NAME.png.

python docs/images/make_gallery.py [NAME ...]
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from pliant.drawing.style import COLORS, STYLE

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def main(names: list[str]) -> None:
    (HERE / "gallery").mkdir(exist_ok=True)
    for name in names or sorted(path.stem for path in EXAMPLES.glob("*.py")):
        made = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        with plt.rc_context({**STYLE, "axes.xmargin": 0.04, "axes.prop_cycle": plt.cycler(color=COLORS)}):
            figure, ax = plt.subplots(figsize=(3.6, 2.5), layout="constrained")
            made["picture"](ax)
            figure.savefig(HERE / "gallery" / f"{name}.png", dpi=150)
            plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
