"""The same beam by assumed modes and by finite elements: elements converge to the modes from above."""

import pliant

exact, errors = None, {}
for label, shapes in {
    "2 modes": pliant.Shapes(bending_y=2),
    "1 element": pliant.Shapes(method="elements", count=1, bending_y=True),
    "2 elements": pliant.Shapes(method="elements", count=2, bending_y=True),
    "4 elements": pliant.Shapes(method="elements", count=4, bending_y=True),
}.items():
    beam = pliant.Beam(length=1.0, mass_per_length=1.0, EI_y=100.0, EI_z=100.0)
    robot = pliant.Robot(name="beam", gravity=(0, 0, 0), links=[pliant.Link(name="arm", beam=beam, shapes=shapes)])
    second = robot.model().frequencies()[1]
    exact = exact or second
    error = errors[label] = second / exact - 1
    print(f"{label:11s} second frequency {second:.5f} Hz, {100 * error:+.4f} %")

assert 0 < error < 2e-3  # Hermite elements: the error falls with the fourth power, 0.1 % with four


def picture(ax):
    ax.bar(list(errors), [100 * error for error in errors.values()])
    ax.set(ylabel="error of the second frequency, %", title="Elements come from above")
