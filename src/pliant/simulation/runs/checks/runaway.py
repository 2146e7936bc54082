"""Control loops that run away: how much energy drives may give to an arm, and the likely cause if they give more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pliant.arrays import Array
from pliant.integrators.solution import Solution
from pliant.integrators.stiffness import difference_jacobian
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.protocols import TorqueFunction
from pliant.robot.mass_sum import robot_mass
from pliant.robot.parts.bodies.rigid_body import inertia_matrix
from pliant.simulation.runs.equations.composition import Composition
from pliant.simulation.runs.inputs import Inputs

FASTEST = 300.0
"""m/s, root mean square over the mass of an arm: the tip of a rod is then at 520 m/s, and a rod of steel breaks."""
FASTER = 100.0
"""m/s more for each rad/s or m/s that an arm has at the start: ten times what a reach of 10 m makes of it."""
FASTEST_TURN = 1000.0
"""rad/s of moments of inertia, 10,000 turns a minute: disks of steel burst not far beyond."""
FASTER_TURN = 10.0
"""rad/s more for each rad/s or m/s that an arm has at the start."""
LED = 1e10
"""Factor of the largest energy where only prescribed motions drive an arm: a bend that grows without bound in first
order is shown until it is obviously wrong."""
HOURS = 1e4
"""Seconds for which prescribed motions are searched where the length of a run is not known."""
NUDGE = 1e-6
"""rad, m, rad/s or m/s by which a joint is moved to see how its torque changes."""
NOISE = 1e-13
"""Change of a torque, as a part of it, that counts as rounding."""
WRONG_SIGNS = (
    ("{} (rate)", "speed", "{} s/{}", "drives it on instead of braking it", "kd"),
    ("{}", "position", "{}/{}", "pushes it away from its goal", "kp"),
)
"""For each state to which a torque may respond: its name, the quantity, the unit of the gain, the effect of a wrong
sign, and the gain."""


def ceiling(composed: Composition, functions: Sequence[TorqueFunction], qd: Array, t_end: float = HOURS) -> Array:
    """Energy, J, beyond which drives or prescribed motions have run away with this arm, from rates (..., n) at the
    start until `t_end`.

    Infinite without drives, which alone can run away, and for an arm without mass and inertia, which has no scale.
    `functions` are drives that are not part of the composition.
    """

    drives, rates = (composed.torque, composed.controller, *functions), np.abs(qd).sum(axis=-1)
    if (all(drive is None for drive in drives) and not composed.prescribed) or composed.m == 0:
        return np.full(rates.shape, np.inf)
    if composed.prescribed:
        rates = rates + composed.fastest(t_end)
    mass, inertia = composed.model.derived("mass and inertia", (), partial(_mass_and_inertia, composed.model.robot))
    with np.errstate(over="ignore", invalid="ignore"):
        most: Array = (mass * (FASTEST + FASTER * rates) ** 2 + inertia * (FASTEST_TURN + FASTER_TURN * rates) ** 2) / 2
        most = most * (LED if all(drive is None for drive in drives) else 1.0)
    return np.where(most > 0.0, most, np.inf)


def _mass_and_inertia(robot: Robot) -> tuple[float, float]:
    """Mass of all that moves, kg, and greatest moments of inertia of its bodies about their own centers, and of rotors
    as their joints feel them, kg m^2."""
    lumps = [lump for link in robot.bodies for lump in (link.joint.hub, link.tip, link.rigid) if lump is not None]
    moments = [float(np.diag(inertia_matrix(lump.inertia)).max()) for lump in (*lumps, *robot.payloads)]
    rotors = [one.drive.rotor_inertia * one.drive.gear_ratio**2 for one in robot.freedoms.values() if one.drive]
    return robot_mass(robot), sum(moments) + sum(rotors)


def ran_away(solution: Solution) -> bool:
    """Return whether a run ended at its ceiling."""
    return solution.failure is not None and solution.failure.kind == "runaway"


def breakdown_message(composed: Composition, inputs: Inputs, x0: Array, solution: Solution) -> str:
    """Message about a run that broke down: the end, the likely cause, and what to do."""
    if ran_away(solution):
        told = runaway_message(composed, inputs, x0, solution.t_end, solution.x_end)
        return f"{told}. The run up to there is kept: `.result` of this error"
    if solution.failure is not None and solution.failure.kind == "singular":
        loops = dict.fromkeys(name.partition(".")[0] for name in composed.model.constraints)
        return (
            f"the run broke down in loop {' or '.join(loops)}: {solution.message}. Take a shorter step, or end before"
        )
    first = first_to_go(composed, -1 if solution.failure is None else solution.failure.index)
    return (
        f"the run broke down: {solution.message}{first}. Reduce the step or the tolerance, or check that the arm is "
        "stable under these torques"
    )


def first_to_go(composed: Composition, index: int) -> str:
    """Name of the state that broke a run, in brackets; empty for the work, the last state, which breaks no run."""
    return f" (first to go: {composed.state_name(index)})" if 0 <= index < composed.size - 1 else ""


def runaway_message(composed: Composition, inputs: Inputs, x0: Array, t: float, x: Array) -> str:
    """Message about an arm that began at x0 and had run away by the time t: the energy, the likely joint and cause."""
    loop, model = _Loop(composed, inputs), composed.model
    _, rates = composed.full_state(t, x)
    torques, moved = loop.torque(t, x)[: model.n_joints], [shaft.actuated for shaft in model.layout.shafts]
    power = np.nan_to_num(torques * rates[moved])
    blamed = [int(joint) for joint in np.argsort(-power)]
    led = [joint for joint in blamed if moved[joint] in composed.prescribed]
    wrong = next(((joint, sign) for joint in blamed if (sign := loop.wrong_sign(x0, joint))), None)
    told = (
        f"the arm ran away: by t = {t:.6g} s its drives had put {x[-1]:.3g} J into {robot_mass(model.robot):.3g} kg. "
    )
    if not blamed:
        return told + f"Couplings {', '.join(model.layout.inputs)}: {loop.growth(x0)}"
    if led and (wrong is None or blamed[0] == led[0]):
        return told + f"Joint {model.joints[led[0]]!r}, whose motion is prescribed: {_led(model)}"
    joint, cause = wrong or (blamed[0], loop.growth(x0))
    return told + f"Joint {model.joints[joint]!r}: {cause}"


def _led(model: Model) -> str:
    """Likely cause if a prescribed motion drives an arm away."""
    known = "it moves as told, and the arm takes ever more power from it; check this motion"
    if model.level.stiffening != "off" or not any(link.amplitudes for link in model.robot.links):
        return known
    return f"{known}, or take stiffening='second-order', without which links that spin may have no rest"


class _Loop:
    """An arm and its drives as functions of the state alone."""

    def __init__(self, composed: Composition, inputs: Inputs) -> None:
        self.composed, self.inputs = composed, inputs
        self.names = [composed.state_name(k) for k in range(composed.size)]

    def _given(self, t: float, x: Array) -> Array:
        """All of p at a state; a sampled controller is called there, with a new memory."""
        q, qd = self.composed.full_state(t, x)
        p = np.concatenate([self.inputs.history(np.array([t]), q[None], qd[None])[0], self.inputs.parameters])
        if self.inputs.period is not None:
            self.inputs.sampler = self.composed.sampler()
            p[: self.composed.m] = self.inputs.sample(t, x, p)
        return p

    def torque(self, t: float, x: Array) -> Array:
        """(m,) torques."""
        p, n = self._given(t, x), len(self.inputs.parameters)
        tau, *_ = self.composed.torques(np.array([t]), x[None], p[None, : len(p) - n], p[len(p) - n :])
        return np.asarray(tau[0])

    def wrong_sign(self, x: Array, joint: int) -> str:
        """Message if a torque grows with the speed or the position of its own joint; empty if it does not."""
        shaft, model = self.composed.model.layout.shafts[joint], self.composed.model
        units = ("N m", "rad") if shaft.turns else ("N", "m")
        for state, what, unit, does, gain in WRONG_SIGNS:
            name = state.format(model.speeds[shaft.actuated])
            step = NUDGE * np.array([each == name for each in self.names])
            more, less = (float(self.torque(0.0, moved)[joint]) for moved in (x + step, x - step))
            slope = (more - less) / (2 * NUDGE)
            if more - less > NOISE * abs(more):
                known = f" ({gain})" if hasattr(self.composed.controller, gain) else ""
                return (
                    f"its torque grows by {slope:.4g} {unit.format(*units)} with its own {what} and {does}; check the "
                    f"sign of this gain{known}"
                )
        return ""

    def growth(self, x: Array) -> str:
        """Message about how fast the motion grows from a state."""

        def slopes(state: Array) -> Array:
            return np.asarray(self.composed.rhs(np.zeros(1), state, self._given(0.0, state)))

        poles = np.linalg.eigvals(difference_jacobian(slopes, x)[:-1, :-1])  # nothing depends on the work
        fastest = float(poles.real.max())
        if not fastest > 0:
            return "it took most of the power, though the loop starts stable; take shorter steps, or check the torque"
        return (
            f"it took most of the power; linearized at the start, the loop has an unstable pole at {fastest:.3g} 1/s; "
            "lower the gains, or sample more often"
        )
