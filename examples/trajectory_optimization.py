"""Move a flexible arm from rest to rest in 0.6 s: torques by gradients through the run, and no ringing afterwards."""

import casadi as ca
import numpy as np
from scipy.optimize import minimize

import pliant

shapes = pliant.Shapes(bending_y=1, damping=0.002)
upper = pliant.Link(name="upper", beam=pliant.Beam(length=1.0, mass_per_length=1.0, EI_z=300.0), shapes=shapes)
fore = pliant.Link(name="fore", beam=pliant.Beam(length=0.8, mass_per_length=0.7, EI_z=150.0), shapes=shapes)
robot = pliant.Robot(name="arm", gravity=(0, 0, 0), links=[upper, fore], payload=pliant.robot.Lump(mass=0.4))
model, duration, goal = robot.model(stiffening="off"), 0.6, np.array([0.6, -0.4, 0.0, 0.0])

times = np.linspace(0.0, duration, 31)
weight, settle = ca.DM([1e3, 1e3, 1e4, 1e4]), 10.0


def arrival(t, q, qd):
    """At the goal, straight and at rest."""
    return ca.dot(weight, (q - goal) ** 2) + settle * ca.sumsqr(qd)


def effort(t, q, qd, tau):
    """Little torque, where there is a choice."""
    return 1e-5 * ca.sumsqr(tau)


def cost(x):
    """Cost of the torques at the sample times (the first and the last are zero), and its gradient."""
    tau = np.zeros((len(times), 2))
    tau[1:-1] = x.reshape(-1, 2)
    run = pliant.gradient(
        model, duration, torque=(times, tau), terminal=arrival, running=effort, step=1e-3, with_respect_to=["torque"]
    )
    return run.value, run["torque"][1:-1].ravel()


start = np.zeros(2 * (len(times) - 2))
found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
tau = np.vstack([np.zeros(2), found.x.reshape(-1, 2), np.zeros(2)])
result = pliant.simulate(model, duration + 1.0, torque=(times, tau), rtol=1e-10)
after = result.t >= duration
rings = 1e3 * np.abs(result.deflection("fore")[after, 1]).max()
bends = 1e3 * np.abs(result.deflection("fore")[:, 1]).max()
print(f"{found.nfev} runs with their gradients: the cost falls from {cost(start)[0]:.0f} to {found.fun:.4f}")
print(f"the forearm bends by {bends:.1f} mm on the way and rings by {rings:.4f} mm afterwards")
print(f"the joints stand at {result.q[-1, :2].round(4)} rad a second later")

assert rings < 0.01 * bends
np.testing.assert_allclose(result.q[-1, :2], goal[:2], atol=2e-3)


def picture(ax):
    ax.plot(result.t, 1e3 * result.deflection("fore")[:, 1])
    ax.axvspan(0, duration, color="0.93")
    ax.set(xlabel="t, s", ylabel="deflection of the forearm, mm", title="It bends on the way, and rests after")
