"""Every public function with sound arguments, of which one or two are then replaced by nonsense.

The rule: wrong values and wrong objects give a `PliantError`; Python's own `TypeError` stands only for a call that does
not fit the signature. What a user's own function raises is the user's.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
import pliant_studies.measured
from pliant import analysis, bodies, control, identification, loads, planning, validation

from . import sound
from .damage import NUMBERS, WORDS

ROOMS = ("pliant", "pliant.analysis", "pliant.control", "pliant.loads", "pliant.view", "pliant.environments",
         "pliant.sweeps", "pliant.export", "pliant.identification", "pliant.scenario", "pliant.batch",
         "pliant.validation", "pliant.bodies", "pliant.planning")  # fmt: skip

RECORDS = {
    "Convergence", "EigenvalueHistory", "Controllability", "Overestimation", "Sensitivity", "Design", "Filter",
    "RestToRest",
    "Identification", "Channel", "Unresolved", "Histories", "SweepResult", "BatchResult", "Result", "PointWrench",
    "Interrupted", "GradientStats", "RunGradient", "FitVerdict", "ChannelMatch",
    "Decay", "ErrorShares", "RingDown", "Validation", "ElementModel", "SolidMesh", "Belief",
    "Campbell", "PoseMap", "StateHistory", "Compared", "Residual", "Plan", "Predicted",
}  # fmt: skip
"""Made by pliant, for the user to read."""
BASES = {"Controller", "Law", "Sensor", "Trajectory", "Load", "Piecewise"}
"""To be derived from."""


@dataclass(frozen=True)
class Call:
    """A function, sound arguments by name, and arguments that only make a call long or leave the process."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    spared: tuple[str, ...] = ()


def arrived(t: Any, q: Any, qd: Any) -> Any:
    return q[0] ** 2 + qd[1] ** 2


def worked(t: Any, q: Any, qd: Any, tau: Any) -> Any:
    return tau[0] ** 2


@functools.cache
def model() -> pliant.Model:
    return pliant.load("two-link").model()


def _controllers() -> dict[str, Call]:
    two, m = np.zeros(2), model()
    pd = control.PD(kp=10.0, kd=1.0, reference=two)
    move = {"start": [0.0, 0.0], "goal": [0.1, 0.2], "duration": 0.5, "begin": 0.1}
    regulator = {"joints": [0.1, 0.2], "Q": 1.0, "R": 1.0, "inner": "torque", "sample_time": None, "delay": 0.0}
    encoder = control.Encoder("upper", "link", noise=1e-3)
    observer = control.Observer([0.1, 0.2], [encoder, control.Encoder("fore", "link", noise=1e-3)])

    drive = pliant.robot.Drive(stiffness=400.0, rotor_inertia=1e-4, gear_ratio=50.0)
    rod = pliant.Link(name="rod", rigid=pliant.RigidBody.slender_rod(2.0, 0.5), joint=pliant.Joint(drive=drive))
    elastic = pliant.Robot(name="elastic", links=[rod]).model()

    def bound(kind: Any) -> Callable[..., Any]:
        """Make it, bind it, and use it once."""

        def run(**arguments: Any) -> Any:
            law = kind(**arguments).bind(m)
            return law(0.0, np.zeros(4), np.zeros(4)) if law.sample_time is None else law

        return run

    def moved(kind: Any) -> Callable[..., Any]:
        return lambda **arguments: kind(**arguments)(0.2)

    def measured(kind: Any) -> Callable[..., Any]:
        return lambda **arguments: control.Measurement(m, [kind(**arguments)])

    quintic = control.Quintic(**move)
    kalman = control.KalmanFilter(m, [encoder], sample_time=0.01)
    return {
        "PD": Call(bound(control.PD), {"kp": 10.0, "kd": [1.0, 2.0], "reference": two, "gravity": "reference",
                                       "limit": 5.0}),
        "PID": Call(bound(control.PID), {"kp": 10.0, "ki": 1.0, "kd": 1.0, "reference": two, "gravity": "reference"}),
        "CollisionMonitor": Call(control.CollisionMonitor, {"model": m, "gain": 50.0, "threshold": 1.0}),
        "Composite": Call(bound(control.Composite), {"kp": 10.0, "kd": 1.0, "reference": two}),
        "ComputedTorque": Call(bound(control.ComputedTorque), {"kp": 10.0, "kd": 1.0, "reference": two}),
        "DisturbanceObserver": Call(bound(control.DisturbanceObserver), {"inner": pd, "gain": [10.0, 20.0]}),
        "Estimated": Call(bound(control.Estimated), {"controller": pd, "estimator": kalman, "start": kalman.start(),
                                                     "delay": 0.02, "seed": 1}),
        "FeedbackLinearization": Call(lambda **a: control.FeedbackLinearization(**a).bind(elastic),
                                      {"omega": [10.0], "reference": [0.1]}),
        "KalmanFilter": Call(control.KalmanFilter, {
            "model": m, "sensors": [encoder], "sample_time": 0.01, "process": 1.0, "kind": "extended", "wander": 0.0}),
        "MovingHorizon": Call(control.MovingHorizon, {
            "model": m, "sensors": [encoder], "sample_time": 0.01, "process": 1.0, "window": 4, "iterations": 1}),
        "LQR": Call(bound(control.LQR), regulator),
        "MPC": Call(control.MPC, {
            "model": m, "horizon": 0.1, "intervals": 3, "reference": [0.1, 0.2], "Q": 1.0, "R": 1e-3, "torque": 50.0,
            "torque_rate": 500.0, "positions": {"upper": 1.0}, "speeds": {"fore": (-1.0, 2.0)}, "tip": [1.0, 0.1, 0.0],
            "tip_weight": 1.0, "tip_bounds": {"y": 1.0}, "terminal": 0.1, "slack_weight": 10.0, "stages": 2, "steps": 1,
            "iterations": 1, "first_iterations": 2, "program_iterations": 20, "damping": 0.1}),
        "StrainBound": Call(lambda **a: control.MPC(m, 0.1, 3, two, 1.0, 1e-3, strains=[control.StrainBound(**a)]),
                            {"link": "upper", "x": 0.0, "at": (0.01, 0.0), "limit": 1e-3}),
        "Limited": Call(bound(control.Limited), {"controller": pd, "limit": [1.0, 2.0]}),
        "Sampled": Call(bound(control.Sampled), {"controller": pd, "sample_time": 0.01, "delay": 0.0}),
        "Switch": Call(bound(control.Switch), {"phases": [pd, pd], "until": [0.1]}),
        "OutputFeedback": Call(bound(control.OutputFeedback), {"regulator": control.LQR([0.1, 0.2], 1.0, 1.0),
                                                               "observer": observer, "seed": 1}),
        "Observer": Call(lambda **a: control.Observer(**a).bind(m) if hasattr(control.Observer, "bind") else
                         control.Observer(**a), {"joints": [0.1, 0.2], "sensors": [encoder], "process": 1.0,
                                                 "floor": 1e-4}),
        "Measurement": Call(control.Measurement, {"model": m, "sensors": [encoder]}),
        "Encoder": Call(measured(control.Encoder), {"joint": "upper", "side": "link", "rate": False, "noise": 0.1}),
        "Tachometer": Call(measured(control.Tachometer), {"joint": "upper", "side": "link", "delay": 0.1, "gain": 1.1}),
        "TorqueSensor": Call(measured(control.TorqueSensor), {"joint": "upper", "offset": 0.1, "cutoff": 30.0}),
        "TipCamera": Call(measured(control.TipCamera), {"frame": "tip", "position": (0.0, 0.0, 4.0), "focal": 800.0,
                                                        "sample_time": 0.02, "seed": 1, "name": "camera"}),
        "Accelerometer": Call(measured(control.Accelerometer), {"link": "upper", "axis": 1, "quantum": 0.1}),
        "StrainGauge": Call(measured(control.StrainGauge), {"link": "upper", "x": 0.1, "plane": "bending_y",
                                                             "at": (0.01, 0.0), "bridge": "half", "gauge_factor": 2.0}),
        "TipPosition": Call(measured(control.TipPosition), {"axes": (0, 1), "noise": 0.0}),
        "Constant": Call(moved(control.Constant), {"position": [0.1, 0.2]}),
        "Cycloidal": Call(moved(control.Cycloidal), move),
        "Quintic": Call(moved(control.Quintic), move),
        "Trapezoidal": Call(moved(control.Trapezoidal), {**move, "ramp": 0.25}),
        "JerkLimited": Call(moved(control.JerkLimited), {
            "start": [0.0], "goal": [1.0], "speed_limit": 1.0, "acceleration_limit": 4.0, "jerk_limit": [20.0],
            "begin": 0.0}),
        "Step": Call(moved(control.Step), {"start": [0.0], "goal": [1.0], "time": 0.5}),
        "Waypoints": Call(moved(control.Waypoints), {"times": [0.0, 0.5, 1.0], "points": [[0.0], [1.0], [0.5]],
                                                     "order": 3}),
        "Phases": Call(moved(control.Phases), {"parts": [quintic, quintic], "times": [1.0]}),
        "MohanSaha": Call(moved(control.MohanSaha), {"joints": 6, "duration": 1.0, "begin": 0.0}),
        "Shaped": Call(moved(control.Shaped), {"trajectory": quintic, "shaper": control.zv(2.0)}),
        "Sine": Call(moved(control.Sine), {"amplitude": [1.0], "frequency": 2.0, "phase": 0.1, "offset": [0.0]}),
        "Pulse": Call(moved(control.Pulse), {"height": [1.0], "duration": 0.1, "begin": 0.0, "shape": "half-sine"}),
        "MeasuredMotion": Call(moved(control.MeasuredMotion), {
            "times": [0.0, 0.3, 0.6, 0.9, 1.2], "positions": [[0.0], [1.0], [0.5], [0.2], [0.1]], "order": 3,
            "window": None, "breaks": ()}),
        "Samples": Call(moved(control.Samples), {"times": [0.0, 1.0], "values": [[0.0], [1.0]]}),
        "Shaper": Call(control.Shaper, {"times": (0.0, 0.1), "amplitudes": (0.5, 0.5)}),
        "TipLine": Call(control.TipLine, {"model": m, "points": [[1.9, 0.1, 0.0], [1.8, 0.3, 0.0]], "duration": 1.0,
                                          "begin": 0.0, "samples": 6, "law": "cycloidal"}),
        "zv": Call(control.zv, {"frequency": 2.0, "damping": 0.1}),
        "zvd": Call(control.zvd, {"frequency": 2.0, "damping": 0.1}),
        "ei": Call(control.ei, {"frequency": 2.0, "damping": 0.1, "tolerance": 0.05}),
        "natural_gains": Call(control.natural_gains, {"model": m, "q": np.zeros(4), "frequency": 2.0, "damping": 1.0}),
        "inverse_kinematics": Call(control.inverse_kinematics, {"model": m, "target": [1.8, 0.3, 0.0],
                                                                "guess": [0.1, 0.2], "tolerance": 1e-8, "tries": 2}),
        "gravity_torque": Call(control.gravity_torque, {"model": m, "joints": [0.1, 0.2]}),
        "shaper_for": Call(control.shaper_for, {"model": m, "joints": [0.1, 0.2], "kind": "zv", "modes": 1}),
        "rest_to_rest": Call(control.rest_to_rest, {"model": m, "start": [0.0, 0.0], "goal": [0.05, 0.0],
                                                    "duration": 1.0, "torque_limit": None, "objective": "effort",
                                                    "intervals": 8, "degree": 3, "speed_limit": 3.0,
                                                    "acceleration_limit": None, "jerk_limit": None}),
    }  # fmt: skip


def _analysis() -> dict[str, Call]:
    m, q = model(), np.array([0.1, 0.2, 0.0, 0.0])
    pd = control.PD(kp=10.0, kd=1.0, reference=[0.1, 0.2])
    light = pliant.load("two-link").model(parameters=["payload.mass"])
    system, spun = m.linearize(q), pliant.load("spin-up").model()
    return {
        "campbell": Call(analysis.campbell, {"model": spun, "joint": spun.joints[0], "speeds": [0.0, 1.0]}),
        "frequency_map": Call(analysis.frequency_map, {"model": m, "positions": {"upper": [0.0, 0.1]},
                                                       "joints": "locked"}),
        "damping_map": Call(analysis.damping_map, {"model": m, "controller": lambda goal: pd,
                                                   "positions": {"upper": [0.0, 0.1]}}, ("controller",)),
        "closed_loop_matrix": Call(analysis.closed_loop_matrix, {"model": m, "controller": pd, "t": 0.0, "q": q,
                                                                 "qd": q}),
        "closed_loop_eigenvalues": Call(analysis.closed_loop_eigenvalues, {"model": m, "controller": pd, "t": 0.0,
                                                                           "q": q}),
        "eigenvalues_along": Call(analysis.eigenvalues_along, {
            "model": m, "controller": pd, "times": [0.0, 0.1], "path": control.Quintic([0.0, 0.0], [0.1, 0.1], 1.0)}),
        "convergence": Call(analysis.convergence, {"robot": pliant.load("spin-up"), "counts": (1, 2, 3),
                                                   "quantity": lambda robot: 1.0}, ("quantity",)),
        "finite_difference": Call(analysis.finite_difference, {
            "robot": pliant.load("two-link"), "path": "payload.mass", "quantity": lambda robot: 1.0, "step": 1e-4},
            ("quantity",)),
        "frequency_response": Call(analysis.frequency_response, {"system": system, "frequencies": [1.0, 2.0]}),
        "frequency_sensitivity": Call(analysis.frequency_sensitivity, {"model": light, "q": q, "joints": "locked"}),
        "link_frequencies": Call(analysis.link_frequencies, {"model": m, "link": "upper", "q": q, "load": 1.0}),
        "controllability": Call(analysis.controllability, {"model": m, "q": q, "joints": "free",
                                       "sensors": [control.Encoder("upper", "link")]}),
        "overestimation": Call(analysis.overestimation, {"model": m, "joints": [0.1, 0.2], "kp": 1.0, "kd": 1.0,
                                                         "damping": 0.0, "largest": 1.0}),
        "rest_sensitivity": Call(analysis.rest_sensitivity, {"model": light, "quantity": lambda q: q[0],
                                                             "joints": [0.1, 0.2]}, ("quantity",)),
        "rest_slope": Call(analysis.rest_slope, {"model": light, "q": q}),
        "run_sensitivity": Call(analysis.run_sensitivity, {
            "model": light, "quantity": lambda t, q, qd: q[0], "t_end": 0.01, "q0": q}, ("quantity",)),
        "to_control": Call(analysis.to_control, {"system": system, "model": m}),
        "with_shapes": Call(analysis.with_shapes, {"robot": pliant.load("two-link"), "count": 2, "links": ["upper"]}),
    }  # fmt: skip


def _runs(folder: Path) -> dict[str, Call]:
    m, run, q = model(), sound.result(), np.array([0.1, 0.2, 0.0, 0.0])
    pd = control.PD(kp=10.0, kd=1.0, reference=[0.1, 0.2])
    t, more = np.linspace(0.0, 0.05, 6), np.linspace(0.0, 0.2, 41)
    recording = pliant.identification.Recording(t, {"upper": 0.1 + 0 * t}, q0=q)
    rising = pliant.identification.Recording(t, {"upper": 0.1 + t}, q0=q)
    base = {"model": m, "t_end": 0.02, "q0": q, "qd0": q, "torque": [1.0, 0.5], "controller": pd, "step": 1e-2,
            "output_step": 1e-2}  # fmt: skip
    push = loads.Wrench(force=(1.0, 0.0, 0.0))
    driven = {
        **{name: value for name, value in base.items() if name != "output_step"}, "motion": {}, "p": None,
        "terminal": arrived, "running": worked, "checkpoints": "auto", "loads": (push,), "base": None, "breaks": (),
        "equilibrium": False,
    }  # fmt: skip

    def applied(kind: Any, key: str) -> Callable[..., Any]:
        """Make a load and put it on an arm."""
        return lambda **arguments: pliant.simulate(m, 1e-3, **{key: kind(**arguments)})

    from pliant import batch, environments, export, view
    from pliant.identification import Strain, read_csv

    return {
        "simulate": Call(pliant.simulate, {
            **base, "motion": {}, "method": "auto", "rtol": 1e-6, "atol": 1e-8, "loads": (push,), "base": loads.Base(),
            "sample_time": None, "events": (), "limits": True, "p": None, "progress": False,
            "sensors": [control.Encoder("upper", sample_time=0.1)], "max_steps": 1000000}, ("time_limit",)),
        "simulate_batch": Call(batch.simulate_batch, {
            **base, "q0": np.zeros((3, 4)), "motion": {}, "p": None, "method": "rk4", "rtol": 1e-6, "atol": 1e-8,
            "device": "cpu", "precision": "double", "limits": True, "progress": False, "loads": (push,),
            "max_steps": 1000000}, ("time_limit",)),
        "Stepper": Call(lambda dt, tau, **a: pliant.Stepper(**a).step(dt, tau), {
            "model": m, "method": "rk4", "step": 1e-3, "controller": pd, "loads": (push,), "motion": {}, "base": None,
            "sensors": [control.Encoder("upper")], "q0": q, "qd0": 0 * q, "p": None, "count": None, "sample_time": None,
            "limits": True, "equilibrium": False, "rtol": 1e-6, "atol": 1e-8, "seed": 0, "dt": 2e-3,
            "tau": [1.0, 0.5]}),
        "gradient": Call(pliant.gradient, {
            **driven, "method": "rk4", "rtol": 1e-6, "atol": 1e-8, "with_respect_to": ["q0", "controller.kp"]},
            ("terminal", "running")),
        "gradient_batch": Call(pliant.gradients.gradient_batch, {
            **driven, "q0": np.zeros((3, 4)), "with_respect_to": ["qd0", "torque"], "device": "cpu"},
            ("terminal", "running")),
        "equations": Call(batch.equations, {"model": m, "torque": [1.0, 0.5], "controller": pd, "motion": {},
                                            "loads": (push,), "base": None, "work": False}),
        "identify": Call(pliant.identify, {
            "model": m, "data": [recording], "parameters": ["payload.mass"], "start": {"payload.mass": 0.1},
            "bounds": {"payload.mass": (0.0, 2.0)}, "prior": {"payload.mass": (0.1, 0.1)}, "loss": "linear",
            "loss_scale": 1.0, "clocks": "ignore", "method": "auto", "rtol": 1e-6, "atol": 1e-8}),
        "Recording": Call(identification.Recording, {"t": t, "readings": {"upper": t}, "noise": 0.1, "torque": None,
                                             "free_start": (), "name": "run"}),
        "Strain": Call(lambda **a: pliant.identify(m, identification.Recording(
            t, {"g": 0 * t}, q0=q, sensors={"g": Strain(**a)}), ["payload.mass"], rtol=1e-4, clocks="ignore"),
            {"link": "upper", "x": 0.1, "at": (0.01, 0.0)}),
        "validate": Call(pliant.validate, {"model": m, "recording": rising, "p": None, "skip": 0.0, "method": "auto",
                                           "rtol": 1e-6, "atol": 1e-8, "saturation": "auto"}),
        "recording_faults": Call(validation.recording_faults, {"recording": rising, "saturation": "auto"}),
        "recording_doubts": Call(validation.recording_doubts, {"recording": rising, "saturation": "auto"}),
        "nrmse": Call(validation.nrmse, {"predicted": t, "measured": 2 * t}),
        "pooled_nrmse": Call(validation.pooled_nrmse, {"predicted": [t, t], "measured": [2 * t, t]}),
        "fit_percent": Call(validation.fit_percent, {"predicted": t, "measured": 2 * t}),
        "free_decay": Call(validation.free_decay, {"t": more, "readings": np.sin(40 * more), "near": [6.0]}),
        "measured_run": Call(pliant_studies.measured.measured_run, {"name": "a05_f08"}),
        "load_rig": Call(pliant_studies.measured.load_rig, {"name": "ist-bar"}),
        "recording_path": Call(pliant_studies.measured.recording_path, {"name": "bar-from-voltage"}),
        **_bodies(folder),
        **_ringing(folder),
        "read_csv": Call(read_csv, {"path": folder / "data.csv", "columns": ["time"], "gaps": True}),
        "Event": Call(lambda **a: pliant.simulate(m, 1e-2, q, events=[pliant.Event(**a)]), {
            "name": "half", "condition": lambda t, q, qd: t - 5e-3, "direction": 0, "stop": True}, ("condition",)),
        "Wrench": Call(applied(loads.Wrench, "loads"), {"force": (1.0, 0, 0), "moment": (0, 0, 0.1), "link": "fore",
                                                        "x": "tip", "axes": "base"}),
        "Distributed": Call(applied(loads.Distributed, "loads"), {
            "force": (1.0, 0, 0), "moment": (0, 0, 0.1), "link": "fore", "start": 0.0, "end": "tip", "axes": "base"}),
        "Base": Call(applied(loads.Base, "base"), {"acceleration": (1.0, 0, 0), "angular_velocity": (0, 0, 0.1)}),
        "BasePath": Call(applied(loads.BasePath, "base"), {"position": (1.0, 0, 0), "rpy": (0, 0, 0.1)}),
        "plot": Call(lambda what, **a: view.plot(a["result"], what, path=a["path"]), {
            "result": run, "what": "joints", "path": folder / "a.png"}),
        "compare": Call(view.compare, {"result": run, "other": run, "labels": ("a", "b"), "path": folder / "b.png"}),
        "frequency_map": Call(view.frequency_map, {"model": m, "joint": "fore", "values": [0.0, 1.0],
                                                   "at": {"upper": 0.1}, "count": 2, "joints": "locked"}),
        "mode_shapes": Call(view.mode_shapes, {"robot": pliant.load("two-link"), "link": "upper", "count": 2}),
        "to_html": Call(view.to_html, {"result": run, "path": folder / "a.html", "title": "run"}),
        "to_video": Call(view.to_video, {"result": run, "path": folder / "a.gif", "fps": 5, "speed": 0.1,
                                         "magnification": 2.0}),
        "ArmEnv": Call(lambda **a: environments.ArmEnv(**a).reset(seed=0), {
            "robot": "two-link", "task": "reach", "period": 0.02, "horizon": 0.1, "spread": 0.5, "torque_limit": 10.0,
            "vary": {"payload.mass": (0.0, 1.0)}}),
        "ArmVectorEnv": Call(lambda **a: environments.ArmVectorEnv(**a).reset(seed=0), {
            "num_envs": 2, "robot": "two-link", "task": "reach", "period": 0.02, "horizon": 0.1, "spread": 0.5}),
        "export": Call(export.export, {"model": m, "to": "casadi", "path": folder / "e", "force": True}),
        "export_c": Call(export.export_c, {"model": m, "folder": folder / "c", "functions": ["tip_pose"],
                                           "force": True}),
        "export_cuda": Call(export.export_cuda, {"model": m, "folder": folder / "cu", "functions": ["tip_pose"],
                                                 "force": True}),
        "export_python": Call(export.export_python, {"model": m, "folder": folder / "p", "functions": ["tip_pose"],
                                                     "force": True}),
        "export_casadi": Call(export.export_casadi, {"model": m, "folder": folder / "ca", "functions": ["tip_pose"],
                                                     "force": True}),
        "export_latex": Call(export.export_latex, {"model": m, "folder": folder / "l", "digits": 3, "limit": 400,
                                                   "force": True}),
        "export_fmu": Call(export.export_fmu, {"model": m, "path": folder / "a.fmu", "fmi": "3.0", "q0": q,
                                               "limits": True, "compilers": [], "force": True}),
        "sweep": Call(pliant.sweep, {"study": _study(), "out": folder / "s", "workers": 1, "scheduler": None,
                                     "function": None, "force": True}, ("progress",)),
        "load": Call(pliant.load, {"source": "two-link", "flexible": None, "tip": None}),
        "arms": Call(pliant.robot.arms, {}),
        "schema": Call(import_module("pliant.scenario").schema, {}),
    }  # fmt: skip


def _ringing(folder: Path) -> dict[str, Call]:
    """A move so short that every call is quick."""
    arm, move = pliant.load("spin-up").model(), control.Quintic([0.0], [0.1], 1.0)
    told = planning.JointMotion(("arm",), [0.0, 1.0], [[0.0], [0.1]])
    return {
        "JointMotion": Call(planning.JointMotion, {"joints": ("a",), "t": [0.0, 1.0], "q": [[0.0], [1.0]], "qd": None,
                                                  "qdd": None, "tau": None}),
        "read_trajectory": Call(planning.read_trajectory, {"path": told.to_csv(folder / "told.csv")}),
        "residual_vibration": Call(planning.residual_vibration, {"model": arm, "trajectory": move, "duration": 1.0,
                                                                "periods": 1.0}),
        "plan": Call(pliant.plan, {
            "model": arm, "start": [0.0], "goal": [0.1], "trajectory": None, "payload": None, "payload_error": 0.0,
            "stiffness_error": 0.0, "speed_limit": None, "acceleration_limit": None, "jerk_limit": [0.5],
            "torque_limit": None, "intervals": 12}, ("progress", "time_limit")),
    }  # fmt: skip


@functools.cache
def _bodies(folder: Path) -> dict[str, Call]:
    pytest.importorskip("skfem", reason="the mesh extra is not installed")
    bar = bodies.brick_mesh([0.0, 0.1, 0.2], [0.0, 0.01], [0.0, 0.01])
    whole = bodies.mesh_model(bar, "steel", unit="m")
    held = {"root": "x = 0", "tip": bodies.Interface("x = 0.2"), "frames": {}, "damping": 0.0,
            "stiffening": "off", "unit": "m"}  # fmt: skip
    made = {"mesh": bar, "material": "steel", "unit": "m", "size": None}
    return {
        "brick_mesh": Call(bodies.brick_mesh, {"x": [0.0, 0.1], "y": [0.0, 1.0], "z": [0.0, 1.0], "without": None}),
        "Interface": Call(bodies.Interface, {"where": "x = 0", "kind": "rigid", "origin": None, "rpy": (0, 0, 0.1)}),
        "mesh_model": Call(bodies.mesh_model, made),
        "from_mesh": Call(bodies.from_mesh, {**made, **held, "modes": 0, "frequency": None}),
        "reduce_model": Call(bodies.reduce_model, {"model": whole, **held, "modes": 1, "frequency": None}),
        "read_model": Call(bodies.read_model, {"file": whole.save(folder / "bar.npz"), "matrices": None, "unit": "m",
                                               "mass_unit": "kg"}),
    }  # fmt: skip


def _study() -> Any:
    from pliant.sweeps import SweepStudy

    return SweepStudy.from_dict(sound.SWEEP)


def _descriptions() -> dict[str, Call]:
    """Parts of a robot and of files, with arguments as a file has them."""
    beam = {"length": 1.0, "mass_per_length": 5.0, "EI_y": 1e3, "EI_z": 1e3, "GJ": 800.0, "EA": 1e7,
            "polar_inertia": 0.01, "rotary": [0.01, 0.01]}  # fmt: skip
    rigid = {"mass": 1.0, "com": [0.1, 0, 0], "inertia": [0.1, 0.1, 0.1], "tip": [0.2, 0, 0]}
    link = {"name": "a", "joint": {"type": "revolute"}, "beam": beam, "shapes": {"bending_y": 1}, "tip": {"mass": 1}}
    given: dict[str, dict[str, Any]] = {
        "BaseBody": {"type": "free", "mass": 5.0, "com": [0, 0, 0], "inertia": [0.1, 0.1, 0.1]},
        "BeamStation": {"x": 0.4},
        "Cable": {"stiffness": 1e5, "length": 1.2},
        "Contact": {"name": "touch", "radius": 0.02, "stiffness": 1e5},
        "Coupling": {"name": "strut", "between": ["a.tip", "base"], "damping": 300.0},
        "Cushion": {"length": 0.02, "stiffness": 1e7},
        "Cylinder": {"areas": [5e-3, 3e-3], "stroke": 0.6, "dead_length": 0.8, "valve": {"flow": 1e-3}},
        "LineForce": {"value": 20.0, "commanded": True},
        "LineSpring": {"stiffness": 2e3, "length": 0.5, "preload": 20.0},
        "Valve": {"flow": 1e-3, "bandwidth": 50.0},
        "Expected": {"speed": 1.0, "acceleration": 1.0, "force": 1.0},
        "Visual": {"mesh": "forearm.stl", "scale": [0.001, 0.001, 0.001]},
        "VisualCylinder": {"radius": 0.05, "length": 0.4},
        "Frame": {"name": "eye", "link": "a", "x": 0.4, "origin": {"xyz": [0, 0, 0]}},
        "Loop": {"name": "pin", "between": ["a.tip", "base"], "joint": {"type": "spherical"}},
        "LoopJoint": {"type": "revolute", "axis": [0, 0, 1]},
        "JointAxis": {"axis": [0, 0, 1], "friction": {"viscous": 0.1}, "limits": {"lower": -1.0}},
        "Payload": {"link": "a", "mass": 1.0, "inertia": [0.1, 0.1, 0.1], "com": [0, 0, 0.1]},
        "DH": {"a": 0.0, "alpha": "pi/2", "d": 0.1, "theta": 0.0, "convention": "modified"},
        "Beam": beam,
        "Drive": {"stiffness": 1e4, "rotor_inertia": 1e-3, "gear_ratio": 100.0, "damping": 0.1},
        "Friction": {"viscous": 0.1, "coulomb": 0.1},
        "GearError": {"amplitude": 1e-4, "cycles": 2.0, "phase": "90 deg"},
        "Hysteresis": {"fraction": 0.3, "yield_twist": 1e-3, "exponent": 1.5, "loading": 0.6},
        "Joint": {"type": "revolute", "axis": [0, 0, 1], "origin": {"xyz": [0, 0, 0]}, "hub": {"mass": 1.0}},
        "Limits": {"lower": -1.0, "upper": 1.0},
        "Link": link,
        "Lump": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1], "com": [0, 0, 0.1]},
        "Material": {"E": 1e11, "G": 4e10, "density": 2700.0},
        "Motor": {"command": "current", "torque_constant": 0.1, "current_limit": 1.0},
        "Origin": {"xyz": [0, 0, 0], "rpy": [0, "90 deg", 0]},
        "Restitution": {"value": 0.8, "speed": 0.5},
        "RigidBody": rigid,
        "Robot": {"name": "arm", "gravity": [0, 0, -9.81], "links": [link], "payload": {"mass": 1.0}},
        "Section": {"shape": "tube", "outer_diameter": 0.05, "inner_diameter": 0.04},
        "Shapes": {"method": "modes", "boundary": "clamped-free", "bending_y": 2, "damping": 0.01},
        "Stop": {"stiffness": 1e4, "damping": 0.4},
        "Surface": {"type": "sphere", "radius": 0.1},
        "TipLoad": {"mass": 1.0, "inertia": 0.1, "first_moment": 0.1},
    }
    found = {name: Call(getattr(pliant.robot, name), arguments) for name, arguments in given.items()}
    scenario, sweeps = import_module("pliant.scenario"), import_module("pliant.sweeps")
    later: dict[str, tuple[Any, dict[str, Any]]] = {
        "Scenario": (pliant.Scenario, {**sound.SCENARIO}),
        "Initial": (scenario.Initial, {"q": [0.1, 0.2], "qd": {"upper": 0.1}, "equilibrium": True}),
        "ModelOptions": (scenario.ModelOptions, {"formulation": "denoc", "rotation": "exact", "stiffening": "off"}),
        "Outputs": (scenario.Outputs, {"netcdf": "a.nc", "csv": "b.csv", "figures": ["joints"], "formats": ["png"]}),
        "Part": (scenario.Part, {"kind": "trajectory", "type": "quintic", "parameters": {}}),
        "TorqueSamples": (scenario.TorqueSamples, {"times": [0, 1], "values": {"upper": [0, 1]}}),
        "Axis": (sweeps.Axis, {"from": 0.0, "to": 1.0, "count": 2, "scale": "linear"}),
        "Sample": (sweeps.Sample, {"method": "random", "count": 2, "seed": 0}),
        "SweepStudy": (sweeps.SweepStudy, {**sound.SWEEP}),
    }
    return found | {name: Call(kind, arguments) for name, (kind, arguments) in later.items()}


def _methods() -> dict[str, Call]:
    """Methods of what a user holds in hand."""
    m, run, robot, q = model(), sound.result(), pliant.load("two-link"), np.array([0.1, 0.2, 0.01, 0.0])
    state, push = {"q": q, "qd": q}, loads.Wrench(force=(1.0, 0.0, 0.0))
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "Model": (pliant.Model, {"robot": robot, "formulation": "denoc", "rotation": "exact", "stiffening": "off",
                                 "parameters": ["payload.mass"], "shapes": "exact"}),
        "mass_matrix": (m.mass_matrix, {"q": q, "p": None}),
        "bias": (m.bias, state),
        "multipliers": (m.multipliers, {**state, "tau": q[:2]}),
        "gaps": (m.gaps, {"q": q}),
        "driven_dynamics": (m.driven_dynamics, {**state, "driven": q[:2]}),
        "independent": (m.independent, {"q": q, "joints": "free"}),
        "assemble": (m.assemble, {"q": q, "held": ["upper"]}),
        "forward_dynamics": (m.forward_dynamics, {**state, "tau": q[:2]}),
        "inverse_dynamics": (m.inverse_dynamics, {**state, "qdd": q}),
        "energy": (m.energy, state),
        "tip_pose": (m.tip_pose, {"q": q}),
        "jacobian": (m.jacobian, {"q": q}),
        "momentum": (m.momentum, state),
        "center_of_mass": (m.center_of_mass, {"q": q}),
        "state": (m.state, {"q": q}),
        "frequencies": (m.frequencies, {"q": q, "joints": "locked", "loads": [push]}),
        "modes": (m.modes, {"q": q, "joints": "free", "loads": ()}),
        "damping_ratios": (m.damping_ratios, {"q": q, "joints": "locked"}),
        "stiffness": (m.stiffness, {"q": q, "loads": [push]}),
        "equilibrium": (m.equilibrium, {"joints": q[:2], "loads": [push]}),
        "holding_torque": (m.holding_torque, {"q": q, "loads": [push]}),
        "linearize": (m.linearize, {**state, "tau": q[:2]}),
        "matrices": (m.matrices, state),
        "denoc_matrices": (m.denoc_matrices, {"q": q}),
        "operation_count": (m.operation_count, {"function": "bias"}),
        "kernel": (m.kernel, {"function": "bias"}),
        "index": (m.index, {"coordinate": "upper"}),
        "deflection": (run.deflection, {"link": "upper", "x": 0.1}),
        "rotation": (run.rotation, {"link": "upper", "x": "tip"}),
        "curvature": (run.curvature, {"link": "upper", "x": 0.1}),
        "internal": (run.internal, {"link": 0, "x": 0.1}),
        "reaction": (run.reaction, {"joint": "fore", "axes": "link"}),
        "strain": (run.strain, {"link": "upper", "x": 0.1, "at": (0.01, 0.0)}),
        "stress": (run.stress, {"link": "upper", "x": 0.1, "at": (0.01, 0.0), "modulus": 1e11}),
        "Result.load": (pliant.Result.load, {"path": "run.nc"}),
        "Result[]": (run.__getitem__, {"name": "upper"}),
        "Robot.link": (robot.link, {"name": "upper"}),
        "Robot.index": (robot.index, {"name": "upper"}),
        "Robot.replace": (robot.replace, {"changes": {"payload.mass": 1.0}}),
        "Model.replace": (m.replace, {"changes": {"payload.mass": 1.0}}),
        "Robot.from_dict": (pliant.Robot.from_dict, {"data": robot.to_dict()}),
        "Robot.model": (robot.model, {"formulation": "lagrange", "rotation": "linear"}),
        "Scenario.load": (pliant.Scenario.load, {"path": "case.yaml"}),
    }  # fmt: skip
    return {name: Call(function, arguments) for name, (function, arguments) in calls.items()}


def calls(folder: Path) -> dict[str, Call]:
    """Everything, by name."""
    (folder / "data.csv").write_bytes(sound.measured())
    groups = (_descriptions(), _controllers(), _analysis(), _runs(folder), _methods())
    found: dict[str, Call] = {}
    for group in groups:
        found |= {name if name not in found else f"{name} again": call for name, call in group.items()}
    return found


def public() -> dict[str, Any]:
    """Callables that the public packages name, without records that pliant makes and bases to derive from."""
    found = {}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            is_error = isinstance(value, type) and issubclass(value, Exception)
            if callable(value) and not is_error and name not in RECORDS | BASES and not inspect.ismodule(value):
                found[name] = value
    return found


ARRAYS: tuple[Callable[[], Any], ...] = (
    lambda: np.zeros(0), lambda: np.zeros((2, 2, 2)), lambda: np.full(4, np.nan), lambda: np.full(2, np.inf),
    lambda: np.zeros(4, dtype=complex), lambda: np.array(["a", "b"]), lambda: np.array([None, 1.0], dtype=object),
    lambda: np.zeros(5), lambda: np.zeros(3), lambda: np.array(1.0), lambda: [[1.0], [2.0, 3.0]], lambda: [1, "a"],
    lambda: np.zeros(4, dtype="float32"), lambda: np.zeros(4, dtype=bool), lambda: np.zeros((10**5, 4)),
    lambda: np.full(4, 1e308), lambda: np.full(2, 5e-324), lambda: np.array("2001-01-01", dtype="datetime64[s]"),
    lambda: np.zeros(2, dtype=[("a", float)]), lambda: np.broadcast_to(0.0, (10**12, 4)), lambda: memoryview(b"abcd"),
)  # fmt: skip
OBJECTS: tuple[Callable[[], Any], ...] = (
    object, lambda: None, lambda: int, lambda: b"bytes", lambda: {}, lambda: {"upper": "x"}, lambda: {1: 2},
    lambda: set(), lambda: iter([1.0]), lambda: lambda *a, **k: 1.0, lambda: Path("x"), lambda: 1j, lambda: True,
    lambda: (), lambda: [[]], lambda: [None], lambda: range(3), lambda: {"upper": np.nan}, lambda: {"a": {"b": {}}},
    lambda: slice(None), lambda: NotImplemented, lambda: Exception("x"), model, sound.result,
)  # fmt: skip


def nonsense(rng: random.Random) -> Any:
    """Something that is hardly ever right."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(WORDS)
    return rng.choice(ARRAYS if kind == 2 else OBJECTS)()


def wrong_call(rng: random.Random, table: dict[str, Call]) -> None:
    """Replace one or two arguments of a random call, and make it."""
    call = table[rng.choice(sorted(table))]
    arguments = dict(call.arguments)
    open_to_damage = [key for key in arguments if key not in call.spared]
    for key in rng.sample(open_to_damage, min(len(open_to_damage), rng.choice([1, 1, 2]))):
        arguments[key] = nonsense(rng)
    call.function(**arguments)
