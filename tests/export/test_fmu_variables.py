"""Units and start values of a mock-up unit, without building one."""

from __future__ import annotations

import pliant
from exported import model
from pliant.export.fmu.description import BASE_UNITS
from pliant.export.fmu.variables import start_states, symbols_and_outputs, variables


def test_units_are_products_of_si_base_units() -> None:
    """Every unit of a mock-up unit, taken apart: N is kg m s^-2, V is W/A, a digit is a power, / divides."""
    parts = {"N": {"kg": 1, "m": 1, "s": -2}, "V": {"kg": 1, "m": 2, "s": -3, "A": -1}}
    parts |= {"MPa": {"kg": 1, "m": -1, "s": -2, "factor": 10**6}}
    parts |= {name: {name: 1} for name in ("kg", "m", "s", "rad", "A")}
    for unit, stated in BASE_UNITS.items():
        expected: dict[str, int] = {}
        for sign, side in zip((1, -1), unit.split("/")):
            for factor in side.split("."):
                name, power = factor.rstrip("0123456789"), int(factor.lstrip("NVAkgmsradMP") or 1)
                for base, exponent in parts.get(name, {}).items():
                    expected[base] = expected.get(base, 0) + sign * power * exponent
        assert stated == expected, unit


def test_start_values_of_positions_and_rates() -> None:
    made = model("parameters")
    q0, qd0 = [0.1, 0.2, 0.003, 0.004], [-1.0, 2.0, 0.05, 0.06]
    found = {v.name: v.start for v in variables(made, start_states(made, q0, qd0), [])}
    names = ("upper", "fore", "upper.bending_y[1]", "fore.bending_y[1]")
    assert [found[name] for name in names] == q0
    assert [found[f"der({name})"] for name in names] == qd0


def test_no_two_variables_have_one_name() -> None:
    """Of a link called `time`, and of one called `tip` that moves along x as outputs tell of the tip."""
    body = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1], "tip": [0.3, 0.0, 0.0]}
    links = [{"name": "time", "rigid": body}, {"name": "tip", "rigid": body, "joint": {"type": "planar"}}]
    made = pliant.Robot.from_dict({"name": "names", "links": links}).model()
    found = [v.name for v in variables(made, start_states(made, None, None), symbols_and_outputs(made)[1])]
    assert len(set(found)) == len(found)
    assert found[0] == "time"
    assert {"time_2", "tip.x", "tip.x_2", "der(tip.x)", "der(time)"} <= set(found)
