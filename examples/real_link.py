"""A perforated box from finite elements as a link of an arm, beside the best equal beam: what does the beam miss?

The beam has the mass of the box and bends as slowly as it alone. With a payload beside its axis the arm also twists and
shears the box: the windows, which hardly matter in bending, leave a fraction of the stiffness against both.
"""

from math import pi

import numpy as np

import pliant

arm = pliant.load("box-arm")  # box_arm/perforated_box.py made the file of its upper link
box = arm.link("upper").body.reduced
L = box.places[1, 0]
mu = box.mass / L

# the best equal beam: frequency of the first bending mode, mass, and torsion of the closed section (Bredt)
bending = (2 * pi * box.frequencies[0]) ** 2 * mu * L**4 / 1.8751040687**4
middle, wall, G = 0.057, 0.003, 26.3e9
polar = (box.second[1, 1] + box.second[2, 2]) / L
beam = pliant.Beam(
    length=L, mass_per_length=mu, EI_y=bending, EI_z=bending, GJ=G * middle**3 * wall, polar_inertia=polar, EA=1e8
)
shapes = pliant.Shapes(boundary="clamped-mass", tip_load="auto", bending_y=3, bending_z=3, torsion=2)
twin = arm.model_copy(update={"links": (arm.links[0].model_copy(update={"body": None, "beam": beam, "shapes": shapes}),
                                        *arm.links[1:])})  # fmt: skip

print("the link alone, Hz        box    beam")
alone = {"1st bending": (box.frequencies[0], box.frequencies[0]),
         "torsion": (box.frequencies[2], np.sqrt(beam.GJ / polar) / (4 * L)),
         "2nd bending": (box.frequencies[3], box.frequencies[0] * (4.6940911330 / 1.8751040687) ** 2)}  # fmt: skip
for name, (true, simple) in alone.items():
    print(f"{name:20s} {true:8.1f} {simple:7.1f}  {100 * (simple / true - 1):+.0f} %")

bent = [0.0, 0.5]
exact, simple = (np.array(one.model().frequencies(one.model().equilibrium(bent)))[:6] for one in (arm, twin))
print("the arm, joints held:", *(f"{a:.1f} ({100 * (b / a - 1):+.0f} %)" for a, b in zip(exact, simple)))

assert abs(alone["torsion"][1] / alone["torsion"][0] - 1) > 0.2
assert 0.1 < alone["2nd bending"][1] / alone["2nd bending"][0] - 1 < 0.3
assert simple[5] / exact[5] > 1.15  # where the box twists and shears, the beam of the same mass is too stiff


def picture(ax):
    twist = 2
    bent = box.vertices + 0.003 * box.moves[:, :, twist]
    seen = bent @ np.array([[0.9, 0.25], [-0.35, 0.35], [0.0, 0.9]])  # from above and beside
    a, b, c = (seen[box.triangles[:, k]] for k in range(3))
    front = np.linalg.det(np.stack([b - a, c - a], axis=1)) > 0
    xx, yy, zz, yz, xz, xy = box.stress[:, :, twist].T
    mises = np.sqrt(((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) / 2 + 3 * (yz**2 + xz**2 + xy**2))
    ax.tripcolor(*seen.T, box.triangles[front], mises, shading="gouraud", cmap="viridis")
    ax.set(title="A box with windows, twisted")
    ax.set_aspect("equal")
    ax.set_axis_off()
