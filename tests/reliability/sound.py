"""Sound files of every kind that pliant reads: what the damage starts from."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.batch import BatchResult, simulate_batch
from pliant.robot.files.yaml import read_yaml
from pliant.robot.parameters import plain

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
SMALL = ("two-link", "rrp", "spin-up", "lab-arm")


@functools.cache
def robots() -> dict[str, Any]:
    """Robot files; of two arms with every default written out."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: pruned(entry) for key, entry in value.items() if entry is not None}
        return [pruned(entry) for entry in value] if isinstance(value, list) else value

    alone = [name for name in pliant.robot.arms() if name != "box-arm"]  # whose body has a file of its own
    found = {name: pliant.load(name).to_dict() for name in alone}
    return found | {f"{name} in full": pruned(plain(pliant.load(name), full=True)) for name in SMALL}


SCENARIO = {
    "format": 1,
    "robot": "two-link",
    "model": {"formulation": "gibbs-appell", "rotation": "exact", "stiffening": "off"},
    "initial": {"q": {"upper": "-90 deg", "fore": 0.1}, "qd": [0.0, 0.1], "equilibrium": True},
    "torque": {"times": [0.0, 0.05, 0.1], "values": {"upper": [0.0, 1.0, 2.0]}},
    "duration": 0.02,
    "method": "rk4",
    "step": 1e-3,
    "output_step": 5e-3,
    "rtol": 1e-6,
    "atol": 1e-8,
    "outputs": {"netcdf": "run.nc", "csv": "tables/run.csv", "figures": [], "formats": ["png"]},
}
CONTROLLED = {
    "robot": "two-link",
    "duration": 0.01,
    "controller": {
        "type": "pid", "kp": [100.0, 50.0], "ki": 1.0, "kd": [10, 5], "gravity": "reference", "limit": [200.0, 100.0],
        "reference": {"type": "shaped", "trajectory": {"type": "quintic", "from": [0, 0], "to": ["10 deg", 0.2],
                                                       "duration": 0.5, "start": 0.1},
                      "shaper": {"type": "zv", "frequency": 2.0, "damping": 0.01}},
    },
    "motion": {},
    "outputs": {"netcdf": None},
}  # fmt: skip
SWEEP = {
    "format": 1,
    "name": "a sweep",
    "scenario": {"robot": "two-link", "duration": 0.01, "method": "rk4", "step": 1e-3, "output_step": 5e-3,
                 "initial": {"q": {"upper": -1.5, "fore": 0.1}}, "torque": {"upper": 2.0}},
    "vary": {"payload.mass": [0.0, 0.5], "initial.q.fore": {"from": 0.0, "to": 0.2, "count": 2},
             "torque.upper": {"from": 1.0, "to": 5.0, "scale": "log", "count": 2}},
    "sample": {"method": "grid", "seed": 0},
    "metrics": ["peak_deflection", "energy"],
    "engine": "auto",
}  # fmt: skip
RANDOM_SWEEP = SWEEP | {
    "vary": {"payload.mass": {"mean": 0.5, "deviation": 0.01}, "initial.q.fore": {"from": 0.0, "to": "10 deg"}},
    "sample": {"method": "sobol", "count": 3, "seed": 1},
    "engine": "points",
}
IDENTIFY = {
    "format": 1,
    "robot": "two-link",
    "parameters": {"links.upper.beam.EI_z": {"start": 1100, "bounds": [100, 5000]},
                   "payload.mass": {"prior": [0.3, 1.0]}},
    "runs": [
        {"data": "swing.csv", "columns": {"upper": "encoder", "tip.x": "tip.x"}, "torque": {"upper": "motor"},
         "initial": {"q": {"upper": -1.0, "fore": 0.3}}, "noise": {"upper": 1e-3},
         "sensors": {"gauge": {"strain": "upper", "x": 0.05, "at": [0.01, 0]}}}
    ],
    "loss": "linear",
    "rtol": 1e-6,
}  # fmt: skip
SIDE = {
    "name": "made flexible",
    "gravity": [0, 0, -9.81],
    "payload": {"mass": 0.5},
    "links": {"fore": {"beam": {"mass_per_length": 0.4, "EI_y": 1e4, "EI_z": 1e4},
                       "shapes": {"bending_y": 1, "bending_z": 1}, "drive": {"stiffness": 1e4, "rotor_inertia": 1e-3}},
              "upper-arm": {"tip": {"mass": 0.1}, "friction": {"viscous": 0.1}}},
}  # fmt: skip
URDF = """<?xml version="1.0"?>
<robot name="test arm">
  <link name="base"/>
  <link name="upper-arm"><inertial><origin xyz="0 0 0.5" rpy="0 0 1.2"/><mass value="3"/>
    <inertia ixx="0.3" iyy="0.25" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="camera"><inertial><mass value="0.4"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper-arm"/>
    <origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="50" velocity="3"/>
    <dynamics damping="0.7" friction="0.2"/></joint>
  <joint name="j2" type="continuous"><parent link="upper-arm"/><child link="fore"/>
    <origin xyz="0.1 0 1.0" rpy="0 0.4 0"/><axis xyz="0 0 1"/></joint>
  <joint name="jc" type="fixed"><parent link="fore"/><child link="camera"/><origin xyz="0 0 0.1"/></joint>
  <joint name="j3" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.5 0 0.2" rpy="0 0 1"/></joint>
</robot>
"""


@functools.cache
def scenarios() -> dict[str, Any]:
    """Scenario files: the examples, and small ones that use every key."""
    found = {path.stem: read_yaml(path.read_text(encoding="utf-8"))[0] for path in sorted(EXAMPLES.glob("*.yaml"))}
    return found | {"sampled": SCENARIO, "controlled": CONTROLLED}


@functools.cache
def measured() -> bytes:
    """A CSV file that fits the study `IDENTIFY`."""
    t = np.linspace(0.0, 0.1, 11)
    rows = zip(t, np.sin(9 * t), -1 + t, 0.1 * t, strict=True)
    return ("time,motor,encoder,tip.x\n" + "".join(",".join(f"{x:.6g}" for x in row) + "\n" for row in rows)).encode()


@functools.cache
def result() -> pliant.Result:
    """A short run with events, torques and a parameter."""
    model = pliant.load("two-link").model(parameters=["payload.mass"])
    return pliant.simulate(model, 0.05, {"upper": -1.5, "fore": 0.1}, torque=[1.0, 0.5], output_step=0.01)


@functools.cache
def batch() -> BatchResult:
    """A few arms with another payload each."""
    model = result().model
    starts = np.tile(result().q[0], (3, 1))
    masses = np.array([[0.5], [1.0], [2.0]])
    return simulate_batch(model, 0.05, starts, p=masses, step=1e-3, output_step=0.01, work=True)
