"""Colors of pages, viewer and movies: text, background, strain, rigid links, fittings, floor. For lines of plots see
`drawing.style`."""

from __future__ import annotations

import numpy as np

from pliant.arrays import Array
from pliant.drawing.style import COLORS

PAGE = {
    "light": {"ink": "#1d2733", "soft": "#5d6b7a", "line": "#d5dce4", "paper": "#ffffff", "wash": "#f3f6f9",
              "accent": "#0072b2"},
    "dark": {"ink": "#e7edf3", "soft": "#9fb0c0", "line": "#33414f", "paper": "#17202a", "wash": "#0f161d",
             "accent": "#56b4e9"},
}  # fmt: skip
"""Text, remarks, rules, background, shaded background and marks of a page, in light and dark surroundings."""
Color = tuple[int, int, int]
"""Red, green and blue from 0 to 255."""
STRAIN = np.array([[0.36, 0.49, 0.62], [0.20, 0.60, 0.66], [0.55, 0.75, 0.35], [0.96, 0.78, 0.20], [0.84, 0.24, 0.12]])
"""From no strain to the largest, evenly spaced; red, green and blue from 0 to 1."""
RIGID = np.array([0.70, 0.74, 0.78])
GHOST: Color = (127, 143, 160)
"""The rigid arm beside the bent one."""
KEPT: tuple[Color, ...] = tuple((r, g, b) for r, g, b in (bytes.fromhex(color[1:]) for color in COLORS[1:4]))
"""Runs kept for comparison, the same as their lines in the plot."""
STEEL: Color = (58, 70, 83)
ORANGE: Color = (217, 130, 43)
PALE: Color = (186, 195, 204)
"""The post of the base, pale because the arm has to be seen before it."""
BARREL, CHROME, DARK, AMBER = (0.30, 0.36, 0.42), (0.80, 0.83, 0.86), (0.23, 0.27, 0.33), (0.80, 0.56, 0.16)
WALL, FORCE = (0.66, 0.68, 0.62), (0.78, 0.13, 0.16)
"""Fittings, such as cylinders, cables, obstacles and arrows of forces; red, green and blue from 0 to 1."""
FLOOR: Color = (226, 231, 236)
FLOOR_LINES: Color = (200, 208, 216)
GRID: tuple[Color, Color] = ((169, 182, 194), (211, 219, 227))
"""Floor of pages and movies: the lines through the origin, and the others."""
PATH: Color = (213, 94, 0)
"""The path of the tip, and the clock in plots."""


def hexadecimal(color: Color) -> str:
    """Color as pages and Matplotlib write it: `(213, 94, 0)` is `#d55e00`."""
    return "#" + bytes(color).hex()


def page_style() -> str:
    """Style sheet with the colors of a page as variables."""

    def root(colors: dict[str, str]) -> str:
        return ":root { " + " ".join(f"--{name}: {value};" for name, value in colors.items()) + " }"

    light = root(PAGE["light"] | {"path": hexadecimal(PATH)})
    return light + "\n@media (prefers-color-scheme: dark) {\n  " + root(PAGE["dark"]) + "\n}"


def strain_colors(part: Array) -> Array:
    """(..., 3) colors of strains given as parts (...) of the largest."""
    where = np.clip(part, 0.0, 1.0) * (len(STRAIN) - 1)
    return np.stack([np.interp(where, np.arange(len(STRAIN)), STRAIN[:, k]) for k in range(3)], axis=-1)
