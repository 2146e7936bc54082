"""A horizontal arm sags under its own weight: mu g L^4 / 8 EI, the more modes the closer."""

import pliant

L, mu, EI, g = 2.0, 1.2, 150.0, 9.81
theory = mu * g * L**4 / (8 * EI)

errors = {}
for count in (1, 2, 4, 8):
    beam = pliant.Beam(length=L, mass_per_length=mu, EI_y=EI, EI_z=EI)
    link = pliant.Link(name="arm", beam=beam, shapes=pliant.Shapes(bending_y=count))
    model = pliant.Robot(name="sagging arm", gravity=(0, -g, 0), links=[link]).model()
    q = model.equilibrium([0.0])
    sag = -model.tip_pose(q)[1, 3]
    errors[count] = abs(sag / theory - 1)
    print(f"{count} modes: {1e3 * sag:.4f} mm, theory {1e3 * theory:.4f} mm")

assert abs(sag - theory) < 1e-4 * theory  # the amplitudes fall like beta^-5: eight modes leave 1e-5


def picture(ax):
    ax.semilogy(list(errors), list(errors.values()), "o-")
    ax.set(xlabel="modes", ylabel="relative error of the sag", title="The more modes the closer")
