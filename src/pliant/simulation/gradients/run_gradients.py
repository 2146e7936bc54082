"""`gradient` and `gradient_batch`: a cost of whole runs, and its derivatives by what starts and drives them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.errors import ModelError, SimulationError, warn_user
from pliant.integrators.methods import has_fixed_steps
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.robot import Robot, model_of
from pliant.model.validity import tell
from pliant.options import CheckpointsName, DeviceName, StepMethodName
from pliant.protocols import Control, MovingBase, PrescribedMotion, Torque
from pliant.simulation.batch.batch_equations import DeviceArray
from pliant.simulation.batch.batch_run import simulate_batch
from pliant.simulation.gradients.costs import Cost
from pliant.simulation.gradients.discrete import Found, adjoint
from pliant.simulation.gradients.implicit import midpoint
from pliant.simulation.gradients.request import Inquiry, refuse_impulses
from pliant.simulation.gradients.sensitivities import forward
from pliant.simulation.runs.checks.neglected_terms import judge_speeds
from pliant.simulation.runs.equations.composition import may_meet
from pliant.simulation.runs.inputs import listed, read_breaks
from pliant.simulation.runs.simulation import require_span, simulate

MOST_STEPS = 1e6
"""Steps of a run whose gradient is computed backwards, at most: the way back cannot be interrupted."""


@dataclass(frozen=True)
class GradientStats:
    """Statistics of the computation of a gradient.

    Attributes
    ----------
    method : str
    steps, evaluations : int
        Steps of a run, and evaluations of its rates, also those of blocks that run twice because of checkpoints.
    products : int
        Products with the derivatives of the rates, each worth two to three evaluations; columns of forward
        sensitivities for adaptive methods.
    kept : int
        Numbers that were kept of a run on the way forward.
    wall, compile : float
        Seconds of the computation, and of tracing, compiling and preparing before it.
    """

    method: str
    steps: int
    evaluations: int
    products: int
    kept: int
    wall: float
    compile: float


@dataclass(frozen=True, eq=False)
class RunGradient:
    """A cost of a run and its gradient; of many runs, with a leading axis (B, ...).

    Attributes
    ----------
    value : float or (B,)
        The cost.
    slopes : mapping
        Gradients by name, each in the shape of its argument; `found["torque"]` is `found.slopes["torque"]`.
    q_end, qd_end : (n_q,), (n,)
        The state at the end.
    stats : GradientStats
    """

    value: float | Array
    slopes: Mapping[str, Array]
    q_end: Array
    qd_end: Array
    stats: GradientStats

    def __getitem__(self, name: str) -> Array:
        """The gradient by `name`."""
        if name not in self.slopes:
            raise KeyError(f"{name!r} is not among {', '.join(self.slopes)}; name it in with_respect_to")
        return self.slopes[name]


@checked
def gradient(
    model: Model | Robot,
    t_end: float,
    q0: StateLike | None = None,
    qd0: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    torque: Torque | None = None,
    controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    p: ArrayLike | None = None,
    *,
    terminal: Cost | None = None,
    running: Cost | None = None,
    with_respect_to: Sequence[str] | None = None,
    step: float | None = None,
    method: StepMethodName = "rk4",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    checkpoints: CheckpointsName | int = "auto",
    loads: Sequence[Load] | Load = (),
    base: MovingBase | None = None,
    breaks: Sequence[float] = (),
    equilibrium: bool = False,
) -> RunGradient:
    """The cost of a run, and its gradient by what starts and drives the run.

    The cost is terminal(t_end, q, qd) plus the integral of running(t, q, qd, tau) over the run.

    Parameters
    ----------
    model : Model or Robot
    t_end : float
        Duration, seconds.
    q0, qd0, torque, controller, motion, p, loads, base, breaks, equilibrium : optional
        As in `simulate`; no Python functions and no sampled controllers, which have no derivative.
    terminal : function, optional
        g(t, q, qd) in CasADi operations, at the end.
    running : function, optional
        l(t, q, qd, tau) in CasADi operations, integrated by the method itself; tau are the torques that act. Of the two
        at least one is needed. What is compiled for them is kept as long as the same functions are given.
    with_respect_to : sequence of str, optional
        "q0", "qd0", "torque" (samples or constants), "controller" (likewise), "p", and "controller.kp" or another gain
        of PD, PID and ComputedTorque, or one of a controller's own `parameters`. By default all but gains. "q0" means
        the state in which the run starts, whatever was left to defaults; where there are quaternions, its derivatives
        are along the speeds.
    step : float
        Of "rk4" and "midpoint" (needed), largest of the others.
    method : "rk4", "midpoint", "dopri5", "dop853" or "rodas5p"
        By fixed steps the gradient is that of the computed cost itself, exact to rounding, by going back through the
        same steps (the discrete adjoint): its cost hangs little on how many numbers it is by. By adaptive steps it is
        integrated beside the run (forward sensitivities), one column a number, as exact as the run.
    rtol, atol : float
        Local error of adaptive steps.
    checkpoints : "auto", "all", "fewest" or int
        Stages that are kept on the way forward of "rk4": all of them, or those of some steps at a time, which run twice
        then, from states at checkpoints. "fewest" takes memory that grows with the root of the number of steps; a
        number is that of checkpoints. "auto" keeps all that fits 256 MB.

    Returns
    -------
    RunGradient
        Joint limits do not end the run.

    Raises
    ------
    SimulationError
        The run broke down.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> found = pliant.gradient(
    ...     model, 0.5, torque=(np.linspace(0, 0.5, 6), np.ones((6, 2))), step=1e-3,
    ...     terminal=lambda t, q, qd: (q[0] - 1) ** 2, running=lambda t, q, qd, tau: 1e-3 * (tau[0] ** 2 + tau[1] ** 2),
    ... )
    >>> found["torque"].shape, found["q0"].shape
    ((6, 2), (4,))
    """
    model = model_of(model)
    with work("gradient", "computing a gradient"):
        begin = time.perf_counter()
        _check(t_end, step, rtol, atol, method, checkpoints)
        asked = Inquiry.read(
            model, q0, qd0, torque, controller, motion or {}, p, terminal=terminal, running=running,
            names=with_respect_to, loads=listed(loads), base=base, equilibrium=equilibrium, t_end=t_end, many=False,
        )  # fmt: skip
        fixed = step if has_fixed_steps(method) else None
        stops = asked.f.composition.breaks(t_end, read_breaks(breaks), asked.given.parameters, fixed_step=fixed)
        refuse_impulses(asked.f, stops, t_end)
        if method == "rk4":
            found = adjoint(asked, t_end, stops, float(step or 0.0), checkpoints, "cpu")
        elif method == "midpoint":
            found = midpoint(asked, t_end, stops, float(step or 0.0))
        else:
            found = forward(asked, t_end, stops, method, step, rtol, atol)
        if not np.isfinite(found.value).all():
            raise SimulationError("the run broke down: its cost is not a number; reduce the step")
        if fixed is not None and may_meet(model):  # a plain run warns if its steps leap over something
            own = None if p is None else np.asarray(p, dtype=float).ravel()[: len(model.parameters)]
            simulate(
                model, t_end, q0, qd0, torque, controller, motion, method=method, p=own, step=step, output_step=t_end,
                loads=loads, base=base, breaks=breaks, equilibrium=equilibrium, limits=False, progress=False,
            )  # fmt: skip
        return _result(asked, found, method, t_end, begin)


@checked
def gradient_batch(
    model: Model | Robot,
    t_end: float,
    q0: DeviceArray | StateLike | None = None,
    qd0: DeviceArray | StateLike | None = None,
    torque: Torque | None = None,
    controller: Control | None = None,
    motion: Mapping[str, PrescribedMotion] | None = None,
    p: DeviceArray | ArrayLike | None = None,
    *,
    terminal: Cost | None = None,
    running: Cost | None = None,
    with_respect_to: Sequence[str] | None = None,
    step: float | None = None,
    checkpoints: CheckpointsName | int = "auto",
    device: DeviceName = "cpu",
    loads: Sequence[Load] | Load = (),
    base: MovingBase | None = None,
    breaks: Sequence[float] = (),
    equilibrium: bool = False,
) -> RunGradient:
    """Costs of many runs and their gradients by "rk4", on all cores in packs, or on a graphics processor.

    Parameters
    ----------
    model : Model or Robot
    t_end : float
        Duration, seconds.
    q0, qd0, torque, controller, motion, p, loads, base, breaks, equilibrium : optional
        As in `simulate_batch`, with a leading axis where arms differ.
    terminal, running, with_respect_to, step, checkpoints : optional
        As in `gradient`. Arguments that all arms share have a gradient for every arm nevertheless; their sum is the
        gradient of the sum of all costs.
    device : "cpu" or "cuda"
        Where it runs, in double precision.

    Returns
    -------
    RunGradient
        Arms that broke down have NaN.

    Raises
    ------
    SimulationError
        Every arm broke down.

    Examples
    --------
    >>> model = pliant.load("two-link").model(parameters=["payload.mass"])
    >>> found = pliant.gradients.gradient_batch(
    ...     model, 0.1, p=[[0.0], [0.5], [1.0]], step=1e-3, terminal=lambda t, q, qd: q[0], with_respect_to=["p"]
    ... )
    >>> found.value.shape, found["p"].shape
    ((3,), (3, 1))
    """
    model = model_of(model)
    with work("gradient_batch", "computing gradients"):
        begin = time.perf_counter()
        _check(t_end, step, 1.0, 1.0, "rk4", checkpoints)
        asked = Inquiry.read(
            model, q0, qd0, torque, controller, motion or {}, p, terminal=terminal, running=running,
            names=with_respect_to, loads=listed(loads), base=base, equilibrium=equilibrium, t_end=t_end, many=True,
            device=device,
        )  # fmt: skip
        stops = asked.f.composition.breaks(t_end, read_breaks(breaks), asked.given.parameters, fixed_step=step)
        refuse_impulses(asked.f, stops, t_end)
        found = adjoint(asked, t_end, stops, float(step or 0.0), checkpoints, device)
        broken = ~np.isfinite(found.value)
        if broken.all():
            raise SimulationError("every arm broke down: no cost is a number; reduce the step")
        if broken.any():
            warn_user(f"{broken.sum()} of {len(broken)} arms broke down; their costs are NaN")
        if may_meet(model):  # plain runs warn if their steps leap over something
            simulate_batch(
                model, t_end, q0, qd0, torque, controller, motion, p, step=step, output_step=t_end, device=device,
                loads=loads, base=base, breaks=breaks, equilibrium=equilibrium, limits=False, progress=False,
            )  # fmt: skip
        return _result(asked, found, "rk4", t_end, begin)


def _check(
    t_end: float, step: float | None, rtol: float, atol: float, method: str, checkpoints: CheckpointsName | int
) -> None:
    for name, value in (("t_end", t_end), ("step", step), ("rtol", rtol), ("atol", atol)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name}: got {value!r}, expected a positive number")
    require_span(t_end)
    if has_fixed_steps(method) and step is None:
        raise ModelError(f"step: got none, expected one for method={method!r}")
    if has_fixed_steps(method) and step is not None and t_end > step * MOST_STEPS:
        raise ModelError(f"step: got {step:g} s for a run of {t_end:g} s; expected at most {MOST_STEPS:g} of them")
    if isinstance(checkpoints, int) and checkpoints < 1:
        raise ModelError(f"checkpoints: got {checkpoints}, expected at least 1")


def _result(asked: Inquiry, found: Found, method: str, t_end: float, begin: float) -> RunGradient:
    c, B = asked.f.composition, len(found.end)
    x = np.hstack([found.end[:, : asked.f.n], np.zeros((B, 1))])  # the work is not computed
    q, qd, _ = c.histories(np.full(B, t_end), x)
    own = asked.given.parameters[:, : len(c.model.parameters)]
    tell(c.model, judge_speeds(c.model, np.vstack([asked.given.qd0, qd]), own))
    wall = time.perf_counter() - begin
    stats = GradientStats(
        method, found.steps, found.evaluations, found.products, found.kept, found.wall, wall - found.wall
    )
    slopes = asked.slopes(found.by_x, found.by_w, found.by_p, found.sampled)
    if asked.many:
        return RunGradient(found.value, slopes, q, qd, stats)
    return RunGradient(float(found.value[0]), slopes, q[0], qd[0], stats)
