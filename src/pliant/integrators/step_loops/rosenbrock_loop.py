"""The loop of the Rosenbrock methods."""

from __future__ import annotations

import math

from pliant.compute.compiled_loops.primitives import integers, shift, unpack
from pliant.integrators.step_loops.contact_steps import look
from pliant.integrators.step_loops.dense_output import polynomial, wants_dense
from pliant.integrators.step_loops.evaluation import evaluate, jacobian
from pliant.integrators.step_loops.events import event_values
from pliant.integrators.step_loops.loop_state import (
    Clock,
    LoopPlan,
    LoopStatus,
    Newton,
    Ode,
    Record,
    Rosenbrock,
    StepState,
    Tally,
    Ticking,
)
from pliant.integrators.step_loops.newton_solve import back_substitute, factor
from pliant.integrators.step_loops.step_loop import error_norm, finish_step, judge, lacks_room, next_time


def rosenbrock_step(ode: Ode, step: StepState, method: Rosenbrock, newton: Newton, t: float, t_new: float) -> None:
    """(I - a J) u_i = a f(t_i, x + sum A_ij u_j) + gamma sum C_ij u_j + gamma d_i h^2 df/dt,  a = gamma h."""
    n = ode.n
    s = method.stages
    h = t_new - t
    gamma = ode.clock[Clock.GAMMA]
    state = shift(ode.inp, 1)
    for i in range(s):
        u = shift(method.U, i * n)
        for k in range(n):
            state[k] = step.x[k]
        for j in range(i):
            for k in range(n):
                state[k] += method.A[i * s + j] * method.U[j * n + k]
        evaluate(ode, t_new if method.c[i] == 1.0 else t + method.c[i] * h, u)
        for k in range(n):
            u[k] = gamma * h * (u[k] + method.d[i] * h * newton.J[n * n + k])
        for j in range(i):
            weight = gamma * method.C[i * s + j]
            for k in range(n):
                u[k] += weight * method.U[j * n + k]
        back_substitute(ode, newton, gamma * h, u)
    for k in range(n):
        step.y[k] = step.x[k]
        for j in range(s):
            step.y[k] += method.b[j] * method.U[j * n + k]


def run_rosenbrock(address: int, budget: int, watch: bool) -> int:
    """Advance a Rosenbrock method by at most `budget` attempts."""
    ode, plan, ticking, record, step, method, newton = unpack(
        integers(address), Ode, LoopPlan, Ticking, Record, StepState, Rosenbrock, Newton
    )
    tally = ode.tally
    for _ in range(budget):
        if lacks_room(ode, record):
            return LoopStatus.ROOM
        t = ode.clock[Clock.T]
        if tally[Tally.FRESH] != 0:
            if watch and tally[Tally.FRESH] == 1:
                event_values(ode, record, t, step.x, record.g)
            if ode.meets > 0:
                look(ode, t, step.x, ode.near)
            jacobian(ode, newton, t, step.x)
            tally[Tally.FRESH] = 0
        t_new = next_time(ode, plan, False)
        h = t_new - t
        ode.clock[Clock.TRIED] = h
        err = math.inf
        if factor(ode, newton, ode.clock[Clock.GAMMA] * h):
            rosenbrock_step(ode, step, method, newton, t, t_new)
            err = error_norm(ode, step, method.error, method.stages, method.U, 1.0)
        if ode.flag[0] != 0:
            return LoopStatus.CALLBACK
        verdict = judge(ode, step, err, h)
        if verdict == LoopStatus.UNDERFLOW:
            return LoopStatus.UNDERFLOW
        if verdict == LoopStatus.RUNNING:
            if wants_dense(ode, record, t_new, True):
                polynomial(ode, step, method.dense, method.U, method.stages, 1.0)
            tally[Tally.FRESH] = 2
            status = finish_step(ode, plan, ticking, record, step, t, t_new, watch, adaptive=True)
            if status != LoopStatus.RUNNING:
                return status
    return LoopStatus.RUNNING
