"""How far does the arm bend? 256 arms with payload and stiffness spread over a range, run as one SIMD batch."""

import tempfile

import numpy as np

from pliant.sweeps import SweepStudy, sweep

study = SweepStudy.from_dict({
    "scenario": {
        "robot": "two-link",
        "initial": {"q": {"upper": 0.0, "fore": 0.0}},
        "duration": 0.5, "method": "rk4", "step": 1e-3,
    },
    "vary": {
        "payload.mass": {"from": 0.0, "to": 2.0},
        "links.upper.beam.EI_z": {"from": 500, "to": 2000, "scale": "log"},
    },
    "sample": {"method": "sobol", "count": 256, "seed": 1},
    "metrics": ["peak_deflection", "energy"],
})  # fmt: skip

with tempfile.TemporaryDirectory() as folder:
    result = sweep(study, folder)
    again = sweep(study, folder)  # everything is in the journal: nothing runs twice

bent = result.metrics["peak_deflection"]
correlation = np.corrcoef(1 / result.values[:, 1], bent)[0, 1]
print(f"{len(result)} points, deflection from {1e3 * bent.min():.2f} to {1e3 * bent.max():.2f} mm")
print(f"correlation with 1 / stiffness: {correlation:.3f}")
assert not result.failed
assert np.array_equal(again.metrics["peak_deflection"], bent)
assert correlation > 0.95  # the payload hardly matters while the arm falls freely


def picture(ax):
    dots = ax.scatter(result.values[:, 1], 1e3 * bent, c=result.values[:, 0], s=8)
    ax.figure.colorbar(dots, label="payload, kg")
    ax.set(xscale="log", xlabel="stiffness of the upper link, N m²", ylabel="largest deflection, mm", title="256 arms")
