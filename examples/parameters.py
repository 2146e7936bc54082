"""Keep stiffness and payload as inputs of the compiled equations: one model, many arms, no second compilation."""

import numpy as np

import pliant

robot = pliant.load("two-link")
model = robot.model(parameters=["links.upper.beam.EI_z", "links.fore.beam.EI_z", "payload.mass"])
q, qd, tau = np.array([-1.2, 0.4, 0.0, 0.0]), np.zeros(4), np.zeros(2)

payloads = np.linspace(0.0, 5.0, 1000)
p = np.tile(model.nominal_parameters, (len(payloads), 1))
p[:, 2] = payloads
qdd = model.forward_dynamics(np.tile(q, (1000, 1)), np.tile(qd, (1000, 1)), np.tile(tau, (1000, 1)), p)

rebuilt = robot.replace({"payload.mass": float(payloads[-1])}).model().forward_dynamics(q, qd, tau)
print(f"1000 payloads in one call; the last one gives {qdd[-1, 0]:.12f} rad/s^2")
print(f"a robot rebuilt with that payload gives      {rebuilt[0]:.12f} rad/s^2")
assert np.allclose(qdd[-1], rebuilt, rtol=1e-12)


def picture(ax):
    ax.plot(payloads, qdd[:, 0])
    ax.set(xlabel="payload, kg", ylabel="acceleration of the shoulder, rad/s²", title="1000 arms in one call")
