"""What the interactive plots of a run show: titled panels of named series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.arrays import Array
from pliant.runs.results import Result
from pliant.view.spectrum import tip_deflection
from pliant.view.style import energy_unit, length_unit


@dataclass(frozen=True)
class Panel:
    """Series (N,) over the times of a result; panels of one `tab` stand together."""

    tab: str
    title: str
    unit: str
    series: dict[str, Array]


def panels(result: Result) -> list[Panel]:
    """Joints, tip, deflections, energies and torques."""
    return [
        *_joints(result), _error(result), *_deflections(result), _tip(result), _energy(result), _balance(result),
        *_torques(result),
    ]  # fmt: skip


def _turning(result: Result) -> dict[str, bool]:
    return {name: result.robot.link(name).joint.type == "revolute" for name in result.joints}


def _joints(result: Result) -> list[Panel]:
    turning = _turning(result)
    angles = {name: np.degrees(result[name]) for name, turns in turning.items() if turns}
    slides = {name: result[name] for name, turns in turning.items() if not turns}
    found = [Panel("motion", "joint angles", "deg", angles)] if angles else []
    return found + ([Panel("motion", "joint positions", "m", slides)] if slides else [])


def _error(result: Result) -> Panel:
    away = tip_deflection(result)
    unit, scale = length_unit(float(np.abs(away).max(initial=0.0)))
    series = {name: scale * column for name, column in zip("xyz", away.T)}
    return Panel("motion", "tip from where the rigid arm's would be", unit, series)


def _deflections(result: Result) -> list[Panel]:
    series: dict[str, Array] = {}
    for link in result.robot.links:
        if link.bends:
            shift = result.deflection(link.name)
            fields = {"bending_y": 1, "bending_z": 2}
            series |= {
                f"{link.name} {'xyz'[k]}": shift[:, k] for name, k in fields.items() if getattr(link.shapes, name)
            }
    if not series:
        return []
    unit, scale = length_unit(max(float(np.abs(v).max(initial=0.0)) for v in series.values()))
    scaled = {name: scale * values for name, values in series.items()}
    return [Panel("motion", "deflection of the links' ends", unit, scaled)]


def _tip(result: Result) -> Panel:
    return Panel("tip", "position of the tip", "m", dict(zip("xyz", result.tip.T)))


def _energy(result: Result) -> Panel:
    energy = result.energy
    values = {"kinetic": energy.kinetic, "gravity": energy.gravity, "strain": energy.strain, "total": energy.total}
    if not np.any(energy.gravity):
        del values["gravity"]
    unit, scale = energy_unit(max(float(np.abs(v).max(initial=0.0)) for v in values.values()))
    return Panel("energy", "energy", unit, {name: scale * value for name, value in values.items()})


def _balance(result: Result) -> Panel:
    return Panel("energy", "energy gained less work done", "J", {"balance": result.energy_balance})


def _torques(result: Result) -> list[Panel]:
    turning = _turning(result)
    columns = dict(zip(result.joints, result.tau.T))
    moments = {name: columns[name] for name, turns in turning.items() if turns}
    forces = {name: columns[name] for name, turns in turning.items() if not turns}
    found = [Panel("torques", "joint torques", "N m", moments)] if moments else []
    return found + ([Panel("torques", "joint forces", "N", forces)] if forces else [])
