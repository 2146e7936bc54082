"""A scenario file is an arm, a maneuver and what to write; the page it gives opens in any browser."""

import tempfile
from pathlib import Path

import numpy as np

import pliant

scenario = pliant.Scenario(
    robot="two-link",
    initial={"q": {"upper": "-90 deg", "fore": "5 deg"}},
    duration=1.0,
    outputs={"netcdf": "run.nc", "figures": ["joints"]},
)
with tempfile.TemporaryDirectory() as folder:
    scenario.save(Path(folder) / "swing.yaml")  # pliant simulate swing.yaml
    result = pliant.Scenario.load(Path(folder) / "swing.yaml").run()
    files = scenario.write(result, folder)
    page = result.to_html(Path(folder) / "run.html")
    size = page.stat().st_size / 1e6
    print(f"wrote {', '.join(path.name for path in files)} and {page.name} ({size:.1f} MB)")

print(f"at the end the fore joint stands at {result['fore'][-1]:+.4f} rad")
assert size < 5
assert abs(result["fore"][-1] - 0.0389) < 5e-4  # a free swing of 5 deg after one second


def picture(ax):
    ax.plot(result.t, np.degrees(result["fore"]))
    ax.set(xlabel="t, s", ylabel="fore joint, deg", title="A free swing from a file")
