"""Arguments of a batch, checked against the model and against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.compute.cuda.device import cupy, is_device_array
from pliant.errors import ModelError, UnsupportedModel
from pliant.mechanics.loads.wrenches import Load
from pliant.model.model import Model
from pliant.model.states import read_state
from pliant.simulation.batch.batch_equations import BatchEquations, DeviceArray, rows
from pliant.simulation.runs.checks.runaway import ceiling
from pliant.simulation.runs.equations.piece_tables import PieceTable
from pliant.simulation.runs.inputs import TorqueInput, looked_up, read_start


@dataclass(frozen=True, eq=False)
class Given:
    """Arguments of a batch of B arms, checked."""

    model: Model
    arms: int
    q0: DeviceArray
    qd0: DeviceArray
    torque: TorqueInput
    controller: TorqueInput
    on_device: bool
    parameters: Array
    names: tuple[str, ...]
    samples: PieceTable | None
    """Inputs that are looked up by the time, if there are any."""
    work: Array | None
    """(A,) work of a jump at the start, if there is one."""
    ticks: Array | None = None
    """Times at which sensors of a sampled controller draw noise; it is the last of the inputs that are looked up. None:
    no noise."""

    @classmethod
    def read(
        cls, f: BatchEquations, q0: DeviceArray | StateLike | None, qd0: DeviceArray | StateLike | None,
        torque: TorqueInput, controller: TorqueInput, p: ArrayLike | None, *, device: str, equilibrium: bool,
        loads: Sequence[Load], t_end: float = 0.0,
    ) -> Given:  # fmt: skip
        """Read and check the arguments of a run of `f` until `t_end`."""
        model, work = f.composition.model, None
        if is_device_array(q0) or is_device_array(qd0):
            if equilibrium:
                raise UnsupportedModel("equilibrium: not with arrays of a CUDA device; give q0 and qd0 as NumPy arrays")
            model.layout.require_tree("a start in arrays of a CUDA device (NumPy arrays are closed before the run)")
            states = {name: _on_device(model, x, name, device) for name, x in (("q0", q0), ("qd0", qd0))}
        else:
            own = None if p is None else np.atleast_1d(np.asarray(p, dtype=float))[..., : len(model.parameters)]
            c = f.composition
            q0, qd0, work = read_start(
                model,
                q0,
                qd0,
                equilibrium=equilibrium,
                loads=loads,
                p=own,
                many=True,
                placed=c.on_paths,
                before=c.before_start,
            )
            states = {"q0": q0, "qd0": qd0}
        drives = {"torque": torque, "controller": controller}
        sizes = {name: len(x) for name, x in states.items()}
        if p is not None:
            sizes["p"] = 1 if np.ndim(p) < 2 else np.shape(p)[0]
        sizes |= {name: read.arms for name, read in drives.items()}
        arms = max(sizes.values())
        wrong = {name: size for name, size in sizes.items() if size not in (1, arms)}
        if wrong:
            listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise ModelError(f"the numbers of arms do not fit together: {listed}; give equal batch axes, or none")
        on_device = any(is_device_array(x) for x in states.values())
        names = (*model.parameters, *f.gains)
        if p is None and f.gains:
            raise ModelError(f"p: got none, expected values of {', '.join(f.gains)} for the controller")
        if p is not None and not names:
            raise ModelError("p: this model has no parameters; make it with robot.model(parameters=[...])")
        values = model.nominal_parameters[None] if p is None else rows(p, len(names), "p", names)
        samples, ticks = looked_up(f.composition, torque, controller), None
        if f.n_noise:
            ticks = f.composition.tick_times(t_end)
            blank = PieceTable(np.append(-np.inf, ticks[1:]), np.zeros((1, len(ticks), f.n_noise)))
            samples = blank if samples is None else samples.beside(blank)
        return cls(
            model=model,
            arms=arms,
            q0=states["q0"],
            qd0=states["qd0"],
            torque=torque,
            controller=controller,
            on_device=on_device,
            parameters=values,
            names=names,
            samples=samples,
            work=work,
            ticks=ticks,
        )

    def held(self, f: BatchEquations) -> Array:
        """(A, own) torques and parameters that hold for a whole run, and the memory of a sampled controller at the
        start."""
        if not f.has_constant:
            return self.parameters
        c, constants = f.composition, [d.constant for d in (self.torque, self.controller) if d.constant is not None]
        u = sum(constants[1:], start=constants[0]) if constants else np.zeros((1, c.m))
        count = max(len(u), len(self.parameters))
        remembered = [u, c.tick_start[None]] if c.ticks else []
        parts = [np.broadcast_to(a, (count, a.shape[1])) for a in (u, self.parameters, *remembered)]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def of_arms(self, f: BatchEquations, first: int, last: int) -> tuple[Array, Array]:
        """(b or 1, pieces, held) inputs that are looked up, and (b or 1, own) inputs that hold, for some arms."""
        pieces, own = (a if len(a) == 1 else a[first:last] for a in (self.pieces(), self.held(f)))
        if self.ticks is not None and self.samples is not None:
            law, count = f.composition.controller, len(self.ticks)
            drawn = np.stack([law.draws(count, arm) for arm in range(first, last)])
            at = np.maximum(np.searchsorted(self.ticks, self.samples.starts, side="right") - 1, 0)
            known = np.broadcast_to(pieces, (last - first, *pieces.shape[1:]))[..., : -f.n_noise]
            pieces = np.concatenate([known, drawn[:, at]], axis=2)
        return np.ascontiguousarray(pieces), np.ascontiguousarray(own)

    def ceilings(self, f: BatchEquations, t_end: float) -> Array:
        """(B,) energies beyond which arms have run away; infinite where the work is not watched."""
        most = ceiling(f.composition, (), self.qd0, t_end) if f.watched else np.full(1, np.inf)
        return np.broadcast_to(most, self.arms)

    def pieces(self) -> Array:
        """(A, pieces, held) inputs that are looked up."""
        return self.samples.pieces if self.samples is not None else np.zeros((1, 1, 0))


def _on_device(model: Model, given: DeviceArray, name: str, device: str) -> DeviceArray:
    """(1 or B, n) finite numbers; arrays on a device stay there."""
    if not is_device_array(given):
        return read_state(model, given, name, many=True)
    if device != "cuda":
        raise ModelError(f"{name}: got an array of a CUDA device with device={device!r}, expected device='cuda'")
    array = cupy().asarray(given)
    names = model.coordinates if name == "q0" else model.speeds
    if array.ndim != 2 or array.shape[1] != len(names) or array.shape[0] == 0:
        raise ModelError(f"{name}: got shape {array.shape}, expected (arms, {len(names)}): {', '.join(names)}")
    if not bool(cupy().isfinite(array).all()):
        raise ModelError(f"{name}: got a number that is not finite, expected finite numbers")
    return array
