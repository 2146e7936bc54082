"""A thousand payloads in one call: every arm marches in its own lane of the processor."""

import numpy as np

import pliant

model = pliant.load("two-link").model(parameters=["payload.mass"])
payloads = np.linspace(0.0, 5.0, 1000)[:, None]
batch = pliant.simulate_batch(model, 0.5, p=payloads, step=1e-3)  # ten steps per period of the fastest mode, and more

one = pliant.simulate(model, 0.5, p=payloads[-1], method="rk4", step=1e-3)
same = np.abs(batch.q[-1, -1] - one.q[-1]).max()
print(f"{len(payloads)} arms, {batch.q.shape[1]} rows each")
print(f"the last of them by itself differs by {same:.1e}")
assert same < 1e-12


def picture(ax):
    for k in range(0, 1000, 111):
        ax.plot(
            batch.t,
            batch.q[k, :, 1],
            color="C0",
            alpha=0.3 + 0.7 * k / 1000,
            label=f"{payloads[k, 0]:.1f} kg" if k in (0, 999) else None,
        )
    ax.set(xlabel="t, s", ylabel="elbow, rad", title="Payloads from 0 to 5 kg")
    ax.legend()
