"""`identify`: least squares over recordings with exact slopes, in stages of growing length.

A vibration that is a little too fast runs out of phase after some periods, and the sum of squares then has a valley
at every period. The fit therefore begins with the first part of each recording and goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from pliant.arrays import Array
from pliant.base.interrupts import held_back
from pliant.base.signatures import checked
from pliant.base.stages import work
from pliant.errors import Interrupted, ModelError, SimulationError, warn_user
from pliant.identification.calibration import (
    TIMES,
    CalibrationNumber,
    calibration_number,
    concerns,
    is_calibration,
    require_use,
    titles_of,
    typical_size,
)
from pliant.identification.estimate import Channel, Identification
from pliant.identification.lack_of_fit import degrees_of_freedom, judge_order, verdict
from pliant.identification.precision import clock_offsets, covariance, unresolved_directions
from pliant.identification.recording import Recording
from pliant.identification.residuals import Residuals
from pliant.identification.response import Response
from pliant.identification.resuming import FitProgress, fit_digest
from pliant.identification.unknowns import Other, Unknowns, check_paths, unknowns
from pliant.model.model import Model
from pliant.model.robot import Robot
from pliant.options import ClocksName, LossName, MethodName
from pliant.simulation.runs.checks.neglected_terms import fitted_to_start
from pliant.simulation.runs.inputs import listed

ROUNDS = 4
"""Most times that the noise is estimated anew."""
SCATTER = 0.2
"""Relative deviation of further starts."""
EARLY = 1e-3
"""Relative change of the sum of squares at which an early stage is good enough."""
RIDGE = 0.1
"""Weight of the start in early stages, so that numbers that a short record does not determine stay where they are."""
FAINT = 1e-3
"""Weight of the start on the whole record: each number is known to a thousand times its start, which moves numbers that
the data determines by less than a millionth of their error. For other numbers it keeps the slopes at full rank: without
that `least_squares` takes no step of Gauss and Newton, and ends each one at the edge of its trust region."""

LEAST_SCALE = 1e-50
"""Least `loss_scale`, in deviations: its square is still a number above 0."""


@checked
def identify(
    model: Model | Robot,
    data: Recording | Sequence[Recording],
    parameters: Sequence[str],
    *,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    prior: Mapping[str, tuple[float, float]] | None = None,
    loss: LossName = "linear",
    loss_scale: float = 2.0,
    stages: Sequence[float] = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    restarts: int = 0,
    clocks: ClocksName = "check",
    method: MethodName = "auto",
    rtol: float = 1e-7,
    atol: float = 1e-9,
    resume: str | os.PathLike[str] | None = None,
) -> Identification:
    """Fit numbers of an arm to measured runs.

    Parameters
    ----------
    model : Model or Robot
        A model lends its formulation and switches, a robot stands for its default model with `shapes="nominal"`. The
        fit begins at their values.
    data : Recording or sequence of them
    parameters : sequence of str
        Paths of numbers: stiffness, damping, payload, friction, stiffness of drives, lengths (`robot.paths()`). Also
        numbers of the calibration between the arm and the recordings: `reading.CHANNEL.gain`, `.offset`, `.delay`,
        `.lag` (of a low-pass), `input.JOINT.gain`, `.offset` and `input.delay` of torques or commands, of all
        recordings, or of one, as in `RUN: reading.CHANNEL.offset`.
    start, bounds, prior : mapping from names, optional
        Values at which the fit begins; (lowest, highest); (mean, standard deviation) known beforehand. Bounds of the
        description itself (no negative mass) hold by default.
    loss : str
        "linear" (normal noise), or "soft_l1", "huber", "cauchy" against outliers.
    loss_scale : float
        Residual, in standard deviations, from which a robust loss takes effect.
    stages : sequence of float
        Fractions of the recordings that are fitted one after the other, the last one 1.
    restarts : int
        Further fits from starts scattered by a fifth, of which the best counts: against local minima.
    clocks : "check" or "ignore"
        Whether to refuse readings that a shift in time would explain: the sensors' clock is then not that of the run.
    method, rtol, atol : as in `pliant.simulate`
    resume : path, optional
        File for the progress of the fit. Where it exists the same fit goes on from there. It is removed at the end.

    Returns
    -------
    Identification
        The fit warns if the data cannot tell some numbers apart.

    Raises
    ------
    ModelError
        Unknown parameters or channels, bad readings, clocks that differ.
    Interrupted
        Ctrl-C, a KeyboardInterrupt; `.result` is the best fit so far, with its errors.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> run = pliant.simulate(model, 0.2, q0={"upper": 0.3}, output_step=0.01)
    >>> recording = pliant.identification.Recording(run.t, {"upper": run["upper"]}, noise=1e-4, q0={"upper": 0.3})
    >>> found = pliant.identify(model, recording, ["payload.mass"], start={"payload.mass": 0.2}, stages=[1.0])
    >>> abs(found.values["payload.mass"]) < 1e-3
    True
    """
    with work("identify", "identifying"):
        recordings = [data] if isinstance(data, Recording) else list(data)
        _check(recordings, loss_scale, stages)
        calibration = [calibration_number(name) for name in parameters if is_calibration(name)]
        paths = [name for name in parameters if not is_calibration(name)]
        built = _in_order(_model(model, parameters, paths), recordings, start or {})
        inputs = built.layout.inputs
        require_use(calibration, recordings, inputs)
        responses = [
            Response(built, r, method, rtol, atol, [n for n in calibration if concerns(n, r, title, inputs)])
            for r, title in zip(recordings, titles_of(recordings))
        ]
        others = [*_starts(responses, built.nominal_parameters), *_calibration(calibration, responses)]
        fitted = unknowns(built.robot, paths, start or {}, bounds or {}, prior or {}, others)
        residuals = Residuals(responses, fitted, loss, loss_scale)
        try:
            settings = (loss, loss_scale, tuple(stages), restarts, method, rtol, atol)
            progress = FitProgress(resume, fit_digest(fitted, recordings, *settings), len(fitted.names))
            values, message = _best(residuals, fitted, stages, restarts, progress)
        except Interrupted as stopped:
            if stopped.result is None:
                raise
            with held_back():
                found = _outcome(built.robot, residuals, fitted, stopped.result, str(stopped), "ignore")
            raise Interrupted(str(stopped), found) from None
        with held_back() as hold:
            found = _outcome(built.robot, residuals, fitted, values, message, clocks)
        progress.finished()
        if hold.came:
            raise Interrupted("identify: interrupted when the fit had finished", found)
        return found


def _check(recordings: list[Recording], loss_scale: float, stages: Sequence[float]) -> None:
    if not recordings or not all(isinstance(recording, Recording) for recording in recordings):
        raise ModelError("data: expected a Recording or a list of them; see pliant.identification.Recording")
    if not (np.isfinite(loss_scale) and loss_scale > LEAST_SCALE):
        raise ModelError(f"loss_scale: got {loss_scale!r}, expected a number above {LEAST_SCALE:g}")
    if not stages or list(stages) != sorted(stages) or not stages[0] > 0 or stages[-1] != 1:
        raise ModelError(f"stages: got {stages!r}, expected rising fractions that end with 1")


def _model(given: Model | Robot, parameters: Sequence[str], paths: Sequence[str]) -> Model:
    robot = given.robot if isinstance(given, Model) else given
    check_paths(robot, parameters, paths)
    if isinstance(given, Model) and given.parameters == tuple(paths):
        return given
    if isinstance(given, Robot):
        return Model(given, parameters=tuple(paths), shapes="nominal")
    o = given.options
    return Model(robot, given.equations.formulation, o.rotation, given.level.asked, tuple(paths), o.shapes)


def _in_order(model: Model, recordings: Sequence[Recording], start: Mapping[str, float]) -> Model:
    """Return the model, or the same with second order where the start or the loads of a recording need it, at the
    numbers with which the fit begins."""
    p = [start.get(path, value) for path, value in zip(model.parameters, model.nominal_parameters)]
    for r in recordings:
        model = fitted_to_start(model, r.q0, r.qd0, listed(r.loads), p, r.t_end, motion=r.motion, base=r.base)
    return model


def _starts(responses: list[Response], p: Array) -> list[Other]:
    """Fitted numbers of the unknown start values of all recordings."""
    found = []
    for response, title in zip(responses, titles_of([r.recording for r in responses])):
        values = response.start_values(p)
        found += [Other(f"{title}: {name}", float(v)) for name, v in zip(response.recording.free_start, values)]
    return found


def _calibration(numbers: Sequence[CalibrationNumber], responses: list[Response]) -> list[Other]:
    """Fitted gains, offsets, delays and lags; each begins at its value in the first recording that has it."""
    found = []
    for number in numbers:
        own = [r.recording for r in responses if number in r.fitted]
        value = own[0].calibration.get(number.own, number.neutral)
        least = 0.0 if number.kind in TIMES else -np.inf  # nothing is read before it happens
        found.append(Other(number.name, value, typical_size(number, own), least))
    return found


def _best(
    residuals: Residuals, fitted: Unknowns, stages: Sequence[float], restarts: int, progress: FitProgress
) -> tuple[Array, str]:
    """The best of several fits by the likelihood, in which the noise that they found counts as well."""
    first, scatter = fitted.start / fitted.scale, np.random.default_rng(0).normal(size=(restarts, len(fitted.start)))
    low, high = fitted.lower / fitted.scale, fitted.upper / fitted.scale
    for attempt in range(progress.attempt, 1 + restarts):
        scattered = first + SCATTER * scatter[attempt - 1] if attempt else first
        try:
            u, message = _staged(residuals, np.clip(scattered, low, high), fitted, stages, progress)
        except SimulationError:
            if attempt == 0 and not restarts:
                raise
            progress.reached(None, None, attempt=attempt + 1, stage=0, round=0)
            continue
        except KeyboardInterrupt:
            best = progress.best
            reached = best[2] if best is not None else residuals.nearest
            residuals.window(1.0)
            residuals.set_noise(None if best is None else best[1])
            raise Interrupted(
                f"identify: interrupted after {residuals.evaluations} runs of the model", reached
            ) from None
        cost = residuals.likelihood_cost(u)
        if progress.best is None or cost < progress.best[0]:
            progress.best = cost, residuals.noise_found(), u, message
        progress.reached(None, None, attempt=attempt + 1, stage=0, round=0)
    if progress.best is None:
        raise SimulationError(
            f"identify: none of {1 + restarts} starts led to an optimum; give a better start or bounds"
        )
    residuals.window(1.0)
    residuals.set_noise(progress.best[1])
    return progress.best[2], progress.best[3]


def _staged(
    residuals: Residuals, u: Array, fitted: Unknowns, stages: Sequence[float], progress: FitProgress
) -> tuple[Array, str]:
    """Scaled values u at the optimum, stage by stage; on the whole record the noise is found along with them."""
    residuals.set_noise(progress.noise)
    u = u if progress.u is None else progress.u
    residuals.when_nearer = lambda nearer: progress.reached(nearer, residuals.noise_found())
    for k, fraction in enumerate(stages[:-1]):
        if k >= progress.stage:
            residuals.window(fraction)
            u, _ = _solve(residuals, fitted, u, RIDGE, EARLY)
            progress.reached(u, residuals.noise_found(), stage=k + 1)
    residuals.window(1.0)
    message = ""
    for turn in range(progress.round, ROUNDS):
        u, message = _solve(residuals, fitted, u)
        change = residuals.update_noise(u)
        progress.reached(u, residuals.noise_found(), round=turn + 1)
        if change < 0.01:
            break
    return u, message


def _solve(
    residuals: Residuals, fitted: Unknowns, u: Array, ridge: float = FAINT, tolerance: float = 1e-9
) -> tuple[Array, str]:
    """Scaled values at the optimum near `u`, and the message of the optimizer."""
    from scipy.optimize import least_squares

    residuals.ridge(ridge, u)
    residuals.must_run(u)
    low, high = fitted.lower / fitted.scale, fitted.upper / fitted.scale
    found = least_squares(
        residuals.values, np.clip(u, low, high), residuals.slopes, bounds=(low, high), x_scale="jac",
        loss=residuals.rho, ftol=tolerance, xtol=tolerance, gtol=None, max_nfev=100,
    )  # fmt: skip
    if found.status == 0:
        raise SimulationError(
            "identify: no optimum after 100 evaluations; start nearer, fit fewer parameters, or give bounds"
        )
    return np.asarray(found.x), str(found.message)


def _outcome(
    robot: Robot, residuals: Residuals, fitted: Unknowns, u: Array, message: str, clocks: str
) -> Identification:
    """Result of the fit at the scaled values `u`, with its errors and warnings."""
    residuals.ridge(0.0, u)
    data, J = residuals.weighted(u)
    values = u * fitted.scale
    relative = np.maximum(np.abs(values), fitted.scale)  # a number that became zero is judged by its start
    relative[fitted.P :] = fitted.scale[fitted.P :]
    unresolved, spectrum = unresolved_directions(J[: len(data)] * (relative / fitted.scale), fitted.names)
    readings = max(1, len(data) - len(u))
    judged = verdict(residuals, u, readings)
    freedom = degrees_of_freedom([data[rows] for rows in residuals.blocks(u)], len(u), judged.fits)
    C = covariance(residuals, u, unresolved, fitted, judged.fits) * np.outer(fitted.scale, fitted.scale)
    channels = tuple(Channel(residuals.titles[k], c, *rows) for k, c, rows in residuals.channels(u))
    known = {path: float(v) for path, v in zip(fitted.names[: fitted.P], values)}
    found = Identification(
        robot=robot.replace(known),
        parameters=fitted.names,
        estimates=values,
        covariance=C,
        start=fitted.start,
        unresolved=unresolved,
        singular_values=spectrum,
        channels=channels,
        chi2=float(data @ data) / readings,
        freedom=freedom,
        at_bound=fitted.at_bound(values),
        evaluations=residuals.evaluations,
        message=message,
        notes=tuple(_clock_notes(residuals, u, clocks)),
        verdict=judged,
    )
    if not judged.fits:
        warn_user(f"identify: {judged}")
    judge_order(residuals, u)
    for item in unresolved:
        warn_user(f"identify: {item}; fix one of them, give a prior, or measure a motion that excites them")
    return found


def _clock_notes(residuals: Residuals, u: Array, clocks: str) -> list[str]:
    """Notes on readings that a small shift in time explains; raises `ModelError` where the shift is large."""
    notes = []
    for title, offset, error, explained in clock_offsets(residuals, u):
        step = residuals.sample_step(title)
        late = f"a clock that is {offset:.3g} s (± {error:.1g} s) late"
        text = f"{title}: {late} explains {100 * explained:.0f} % of the residuals"
        if clocks == "check" and abs(offset) > step and explained > 0.5:
            raise ModelError(
                f"{text}: the readings are not on the clock of the torques; shift them, or pass clocks='ignore' "
                "(`clocks: ignore` in a study file)"
            )
        if abs(offset) > 0.2 * step and explained > 0.1:
            notes.append(text)
    return notes
