"""CasADi files load without pliant and serve an optimal-control code."""

from __future__ import annotations

import json
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from exported import ROUND_OFF, assert_close, expected, imported, inputs, model
from pliant.export import export
from pliant.export.contents import export_name, usual
from pliant.export.typical_states import reference_states


def load(folder: Path, name: str) -> tuple[dict[str, ca.Function], dict[str, object]]:
    return imported(folder / f"load_{export_name(model(name))}.py").load()  # type: ignore[no-any-return]


@pytest.mark.slow_cases("parameters", "puma")
@pytest.mark.parametrize("name", ["parameters", "puma"])
def test_functions_reproduce_the_model(name: str, tmp_path: Path) -> None:
    m = model(name)
    functions, about = load(export(m, "casadi", tmp_path / "out"), name)
    assert set(functions) == set(usual(m))
    assert about["robot_sha256"] == m.robot.digest()
    assert about["coordinates"] == list(m.coordinates)
    states = reference_states(m, count=1)
    for f in usual(m):
        values = [x[0] for x in inputs(m, f, states)]
        for found, wanted in zip(functions[f].call(values), expected(m, f, values)):
            assert_close(np.array(found).reshape(wanted.shape), wanted)


def test_small_optimal_control_problem(tmp_path: Path) -> None:
    """IPOPT brings the two-link arm from rest to rest in 0.5 s with least torque, on the exported functions alone."""
    functions, about = load(export(model("parameters"), "casadi", tmp_path / "out"), "parameters")
    f, nominal = functions["forward_dynamics"], list(about["parameters"].values())  # type: ignore[attr-defined]
    steps, T = 12, 0.5
    h = T / steps
    opti = ca.Opti()
    X, U = opti.variable(8, steps + 1), opti.variable(2, steps + 1)
    goal = np.array([-np.pi / 2 + 0.3, 0.2])

    def rate(x: ca.MX, u: ca.MX) -> ca.MX:
        return ca.vertcat(x[4:], f(x[:4], x[4:], u, nominal))

    for k in range(steps):  # trapezoidal collocation
        ends = rate(X[:, k], U[:, k]) + rate(X[:, k + 1], U[:, k + 1])
        opti.subject_to(X[:, k + 1] - X[:, k] == h / 2 * ends)
    opti.subject_to(X[:, 0] == np.array([-np.pi / 2, 0, 0, 0, 0, 0, 0, 0]))
    opti.subject_to(X[:2, steps] == goal)
    opti.subject_to(X[4:, steps] == 0)
    opti.minimize(ca.sumsqr(U))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 200})
    solution = opti.solve()
    q, u = solution.value(X)[:4], solution.value(U)
    assert q[:2, -1] == pytest.approx(goal, abs=1e-7)  # IPOPT's own tolerance is 1e-8
    assert 1.0 < np.abs(u).max() < 1e3
    m = model("parameters")
    k = steps // 2
    x = solution.value(X)
    qdd = [m.forward_dynamics(x[:4, i], x[4:, i], u[:, i]) for i in (k, k + 1)]
    # the model itself satisfies the collocation that the exported functions did
    assert x[4:, k + 1] - x[4:, k] == pytest.approx(h / 2 * (qdd[0] + qdd[1]), rel=1e-6, abs=1e-6)


def test_description_is_plain_json(tmp_path: Path) -> None:
    m = model("parameters")
    about = json.loads((export(m, "casadi", tmp_path / "out", functions=["bias"]) / "model.json").read_text())
    assert about["functions"].keys() == {"bias"}
    assert about["units"] == ["rad", "rad", "m", "m"]
    assert about["options"]["formulation"] == "denoc"
    assert about["parameters"] == pytest.approx({"links.upper.beam.EI_z": 1400.0, "payload.mass": 0.0}, abs=ROUND_OFF)
