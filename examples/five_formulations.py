"""Five published formulations, one arm, one state: the same accelerations."""

import numpy as np

import pliant

robot = pliant.load("two-link")
rng = np.random.default_rng(7)
q, qd, tau = rng.normal(size=4), rng.normal(size=4), rng.normal(size=2)
q[2:] *= 1e-4  # amplitudes of a tenth of a millimetre, and slow ones
qd[2:] *= 1e-3

found = {}
for name in pliant.robot.FORMULATIONS:
    model = robot.model(formulation=name, stiffening="off")  # dual-screw has none
    found[name] = model.forward_dynamics(q, qd, tau)
    count = model.operation_count("forward_dynamics")
    print(f"{name:20s} qdd[0] = {found[name][0]:+.10f}   {count['mul']:5d} mul {count['add']:5d} add")

reference = found["lagrange"]
for name, qdd in found.items():
    difference = np.abs(qdd - reference).max() / np.abs(reference).max()
    # dual-screw keeps terms of first order in everything elastic, by design: squares of 1e-4 and 1e-3 are left
    assert difference < (1e-5 if name == "dual-screw" else 1e-9), name
print("all agree to 1e-9; dual-screw to first order in the deflections")


def picture(ax):
    counts = [robot.model(name, stiffening="off").operation_count("forward_dynamics") for name in found]
    for part, left in (("mul", 0), ("add", [count["mul"] for count in counts])):
        ax.barh(list(found), [count[part] for count in counts], left=left, label=part)
    ax.set(xlabel="operations of one evaluation", title="One arm, five ways")
    ax.legend()
