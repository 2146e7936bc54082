"""Makes the upper link of the bundled arm `box-arm`, perforated-box.npz.

An aluminium box of 60 x 60 x 600 mm with walls of 3 mm and windows in all four of them.

python perforated_box.py [FILE], which is perforated-box.npz here by default.
"""

import sys
from pathlib import Path

import numpy as np

from pliant import bodies

LENGTH, OUTER, WALL, PITCH, WINDOW = 600.0, 30.0, 3.0, 25.0, 10.0  # mm; half of the outer and of the window's width
MODES = 6


def mesh():
    """Bricks of one pitch, one across a wall; every second, but for the last, has a window in each wall."""
    across = [-OUTER, WALL - OUTER, -WINDOW, WINDOW, OUTER - WALL, OUTER]

    def without(center):
        x, y, z = center.T
        inside = np.maximum(abs(y), abs(z)) < OUTER - WALL
        middle = np.minimum(abs(y), abs(z)) < WINDOW
        second = (x // PITCH) % 2 == 1
        return inside | (middle & second & (x < LENGTH - PITCH))

    return bodies.brick_mesh(np.arange(0, LENGTH + 1, PITCH), across, across, without)


def made():
    """Six static shapes of the tip, and six modes with both ends held."""
    return bodies.from_mesh(mesh(), "aluminium", "x = 0", f"x = {LENGTH:g}", unit="mm", modes=MODES)


if __name__ == "__main__":
    target = Path(sys.argv[1] if sys.argv[1:] else "perforated-box.npz")
    body = made()
    print(f"{body.save(target)}: {body.mass:.4f} kg, {target.stat().st_size / 1e3:.0f} kB")
    print("Hz with the root held:", body.frequencies.round(1))
