"""Runs on a GPU: evaluations per second against the roofline, and agreement with this library's CPU code.

    python benchmarks/gpu.py prepare FOLDER     # where pliant is installed: emits sources and reference results
    python benchmarks/gpu.py run FOLDER         # where a GPU and CuPy are; pliant's dependencies are not needed

An evaluation is one right-hand side of a Runge-Kutta step. Rates are medians of repeated launches between device
events, of batches that fill the device; agreement is checked on random states before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SOURCE = Path(__file__).resolve().parent.parent / "src" / "pliant"
TARGETS = {
    ("2-link", "single"): 8e10, ("2-link", "double"): 4e10,
    ("rigid 6R", "single"): 2.2e10, ("rigid 6R", "double"): 1.1e10,
    ("flexible 6 x 3", "single"): 3e9, ("flexible 6 x 3", "double"): 1.2e9,
    ("long tape", "double"): 1e8,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------ prepare


def chain(links: int, y: int, z: int, spatial: bool) -> Any:
    """An arm of equal links with y + z bending modes each; axes in turn parallel and at right angles if spatial."""
    from pliant import Beam, Joint, Link, Robot, Shapes
    from pliant.robot import Origin

    beam = Beam(length=1.0, mass_per_length=5.0, EI_y=1e3, EI_z=1e3, GJ=800, EA=1e7, polar_inertia=0.01)
    shapes = Shapes(bending_y=y, bending_z=z) if y else None
    made = []
    for k in range(links):
        joint = Joint(origin=Origin(rpy=(np.pi / 2 if spatial and k % 2 else 0.0, 0.0, 0.0)))
        made.append(Link(name=f"link{k}", joint=joint, beam=beam, shapes=shapes))
    return Robot(name=f"chain {links} x {y + z}", gravity=(0.0, -9.81, 0.0), links=made)


def in_pieces(count: int) -> Any:
    """The spin-up beam in pieces, a cubic in each."""
    import pliant

    shapes = pliant.Shapes(method="elements", count=1, bending_y=True)
    return pliant.load("spin-up").replace({"links.arm.beam.pieces": count, "links.arm.shapes": shapes})


STARTS = {
    "four-bar": {"crank": (0.7, 2.5)}, "slider-crank": {"crank": (0.2, 1.5)}, "five-bar": {"right": (-0.2, 0.2)},
    "hydraulic-crane": {"boom": (0.3, 0.6), "jib": (-1.2, -0.8)},
}  # fmt: skip
"""Mechanisms, which start with loops closed and with pressures that hold their cylinders: between which positions."""


def starts(composed: Any, between: dict[str, tuple[float, float]]) -> np.ndarray:
    """(257, n) states."""
    from pliant.simulation.runs.inputs import read_start

    model = composed.composition.model
    places = {name: np.linspace(*ends, 257) for name, ends in between.items()}
    q, qd, _ = read_start(model, places, {name: np.full(257, 0.3) for name in between}, many=True)
    held = np.zeros((1, composed.composition.n_held))
    x = composed.start(q, np.broadcast_to(qd, (len(q), model.n)), np)
    return np.asarray(composed.loaded(x, held, np.zeros((1, 0))))


def cases() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Models by name, and what drives them."""
    from tests_arms import random_robot
    from tests_flyers import satellite, small
    from tests_linkages import four_bar

    import pliant
    from pliant.control.controllers.joint_controllers import PD

    found = {
        "2-link": (chain(2, 1, 0, False).model(stiffening="off"), {}),
        "rigid 6R": (chain(6, 0, 0, True).model(stiffening="off"), {}),
        "planar modes 6 x 3": (chain(6, 3, 0, True).model(stiffening="off"), {}),
        "flexible 6 x 3": (chain(6, 2, 1, True).model(stiffening="off"), {}),
        "flexible 9 x 3": (chain(9, 2, 1, True).model(stiffening="off"), {}),
        "long tape": (chain(12, 3, 2, True).model(stiffening="off"), {}),
        "spin-up in 8 pieces": (in_pieces(8).model(stiffening="second-order"), {}),
        "free-flying, rigid": (small().model(), {}),
        "free-flying tree": (satellite().model(stiffening="off"), {}),
        "four-bar": (four_bar().model(), {}),
        **{name: (pliant.load(name).model(), {}) for name in STARTS if name != "four-bar"},
    }
    for seed in range(12):
        robot = random_robot(seed, links=1 + seed % 4, drives=seed % 2 == 1, elements=seed >= 10)
        model = robot.model(stiffening=seed % 3 == 1)
        control = PD(kp=20.0, kd=2.0, reference=np.full(model.n_joints, 0.1), gravity="none") if seed % 2 else None
        found[f"{'elements' if seed >= 10 else 'random'} {seed}"] = (model, {"controller": control} if control else {})
    return found


def prepare(folder: Path, only: str) -> None:
    """Write sources, launch data and references."""
    sys.path.insert(0, str(SOURCE.parent.parent / "tests"))
    for name in ("arms", "flyers", "linkages"):
        sys.modules[f"tests_{name}"] = importlib.import_module(name)
    from tests_flyers import states as poses

    from pliant.algebra.tableaux import explicit
    from pliant.batch import equations
    from pliant.compute.tape.tape import Tape
    from pliant.integrators.cuda.source import emit, emit_evaluation
    from pliant.integrators.packs.pack import BatchIntegrator, TimeSegments

    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for name, (model, drive) in cases().items():
        if only not in name:
            continue
        composed = equations(model, **drive)
        f, states = composed.function, composed.typical_inputs(np.zeros(0))
        turns = composed.composition.quaternions
        tape = Tape.from_function(f)
        n = tape.in_sizes[1]
        rng = np.random.default_rng(len(index))
        x = rng.normal(size=(257, n)) * 0.02
        x[:, : model.n_joints] = rng.normal(size=(257, model.n_joints))
        if turns:
            x = composed.start(*poses(model, rng, 257), np)
        if name in STARTS:
            x = starts(composed, STARTS[name])
        closing = composed.closing and Tape.from_function(composed.closing)
        stepping = {"quaternions": turns, "closing": closing}
        h = 1e-5
        reference = x.copy()
        plan = TimeSegments(np.zeros(1), np.full(1, h), np.full(1, 2), np.zeros(1, dtype=int), np.zeros(1, dtype=int))
        nothing = np.zeros((1, 1, 0)), np.zeros((1, 0))
        packs = BatchIntegrator(f, explicit("rk4"), quaternions=turns, closing=composed.closing)
        packs(reference, *nothing, plan, np.empty((257, 1, n)), np.zeros(4))
        t, s, w, p = (np.zeros((257, 1)), x, np.zeros((257, 0)), np.zeros((257, 0)))
        from pliant.compute import Kernel

        slopes = Kernel(f)(t, s, w, p)
        stem = name.replace(" ", "_")
        np.savez(folder / f"{stem}.npz", x=x, reference=reference, slopes=slopes, h=h)
        operations = tape.count()
        variants: list[tuple[str, str, Any]] = []
        for precision in ("double", "single"):
            variants.append((precision, "rk4", emit(tape, explicit("rk4"), precision, states=states, **stepping)))
            variants.append((precision, "evaluate", emit_evaluation(tape, precision, states=states)))
        if name in ("2-link", "random 1", "random 5", "free-flying, rigid", "four-bar", "slider-crank"):
            variants.append(("double", "dopri5", emit(tape, explicit("dopri5"), **stepping)))
        for k, (precision, kind, source) in enumerate(variants):
            (folder / f"{stem}.{k}.cu").write_text(source.text)
            index.append({
                "name": name, "file": f"{stem}.{k}.cu", "data": f"{stem}.npz", "precision": precision, "kind": kind,
                "choice": vars(source.choice), "sizes": source.sizes, "adaptive": source.adaptive,
                "shared_bytes": source.shared_bytes, "kernels": source.kernels, "slots": source.slots,
                "clock": source.clock, "closing": source.closing, "mechanism": name in STARTS,
                "block": source.block, "operations": operations, "length": len(tape),
            })  # fmt: skip
        print(name, len(tape), operations, flush=True)
    (folder / "index.json").write_text(json.dumps(index, indent=1))


# ---------------------------------------------------------------------------------------------------------- run


def device_integrator() -> Any:
    """`DeviceIntegrator` without the rest of the library, which needs packages that a GPU machine may lack."""
    for name, folder in (("pliant", SOURCE), ("pliant.compute", SOURCE / "kernels")):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]  # type: ignore[attr-defined]
        sys.modules.setdefault(name, module)
    return importlib.import_module("pliant.compute.cuda.device")


def source_of(entry: dict[str, Any], folder: Path) -> SimpleNamespace:
    fields = {key: entry[key] for key in ("adaptive", "shared_bytes", "kernels", "slots", "clock", "closing", "block")}
    choice, precision = SimpleNamespace(**entry["choice"]), SimpleNamespace(name=entry["precision"])
    return SimpleNamespace(text=(folder / entry["file"]).read_text(), choice=choice, precision=precision, **fields)


def plan(h: float, count: int, end: float | None = None) -> SimpleNamespace:
    zero, whole = np.zeros(1, dtype=int), (np.zeros(1), np.array([end or count * h]))
    times = {"t": np.zeros(1), "h": np.array([end or h]), "sides": lambda kind: whole}
    return SimpleNamespace(**times, count=np.array([count]), row=zero, piece=zero)


def measure(entry: dict[str, Any], folder: Path, module: Any, quick: bool) -> dict[str, Any]:
    """Check one source, then time it."""
    import time

    import cupy as cp

    begin = time.perf_counter()
    integrator = module.DeviceIntegrator(source_of(entry, folder))
    compiled = time.perf_counter() - begin
    data = np.load(folder / entry["data"])
    nothing = np.zeros((1, 1, 0)), np.zeros((1, 0))
    x, h = data["x"], float(data["h"])
    settings = (1e-9, 1e-12, 1e-2, 1e5)
    X = integrator.states(x)
    two = plan(h, 2, 2 * h if entry["adaptive"] else None)
    out, _ = integrator(X, *nothing, two, 1, settings)
    got = cp.asnumpy(out[0]).T.astype(float)
    if entry["kind"] == "evaluate":
        expected, scale = data["slopes"], np.abs(data["slopes"]).max(axis=1, keepdims=True)
    else:
        expected, scale = data["reference"], np.abs(data["reference"] - x).max(axis=1, keepdims=True)
    row = {
        **{k: entry[k] for k in ("name", "precision", "kind", "length", "choice")}, "compile_s": round(compiled, 2),
        "registers": max(k.num_regs for k in integrator.kernels), "local_bytes": integrator.local_bytes,
        "error": float((np.abs(got - expected) / scale).max()),
    }  # fmt: skip
    if entry["kind"] != "rk4" or entry["name"].startswith(("random", "elements")):
        return row
    properties = cp.cuda.Device().attributes["MultiProcessorCount"]
    arms = properties * entry["block"] * (64 if entry["length"] < 2000 else 16)
    X = integrator.states(
        np.tile(x, (-(-arms // len(x)), 1))[:arms] * (1 if entry["length"] < 2000 or entry["mechanism"] else 0.1)
    )
    count = 2 if entry["slots"] else max(4, int(6e7 / entry["length"] / 100))
    times = []
    for _ in range(3 if quick else 7):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        integrator(X, *nothing, plan(1e-6, count), 1)
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop) / 1e3)
    seconds = float(np.median(times[1:]))
    row["evaluations_per_s"] = 4 * count * arms / seconds
    row["ms"] = seconds * 1e3
    row["spread"] = (max(times[1:]) - min(times[1:])) / seconds
    ops = entry["operations"]
    row["flop"] = ops["mul"] + ops["add"]
    row["arms"] = arms
    return row


FMA = """
extern "C" __global__ void spin(T* out, int count) {
  T a[8];
  for (int k = 0; k < 8; ++k) a[k] = threadIdx.x + k;
  for (int i = 0; i < count; ++i)
    #pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = a[k] * (T)0.999 + (T)0.001;
  T sum = 0;
  for (int k = 0; k < 8; ++k) sum += a[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def ceilings() -> dict[str, float]:
    """Multiplications and additions per second in each precision, and bytes copied per second, as measured here."""
    import cupy as cp

    def seconds(work: Any) -> float:
        times = []
        for _ in range(5):
            start, stop = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            work()
            stop.record()
            stop.synchronize()
            times.append(cp.cuda.get_elapsed_time(start, stop) / 1e3)
        return float(np.median(times[1:]))

    found = {}
    blocks, count = cp.cuda.Device().attributes["MultiProcessorCount"] * 16, 4000
    for name, kind in (("double", "double"), ("single", "float")):
        kernel = cp.RawKernel(f"typedef {kind} T;" + FMA, "spin")
        out = cp.empty(blocks * 256, dtype=np.float64 if kind == "double" else np.float32)
        spent = seconds(lambda kernel=kernel, out=out: kernel((blocks,), (256,), (out, np.int32(count))))
        found[name] = 2.0 * 8 * count * blocks * 256 / spent
    a = cp.random.random(2**28)
    b = cp.empty_like(a)
    found["bytes"] = 2 * a.nbytes / seconds(lambda: cp.copyto(b, a))
    return found


def run(folder: Path, only: str, quick: bool, out: Path | None) -> None:
    """Check and time everything in the folder."""
    import cupy as cp

    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    module = device_integrator()
    peaks = ceilings()
    print(
        f"measured: {peaks['double']:.3g} and {peaks['single']:.3g} flop/s, copy {peaks['bytes']:.3g} B/s", flush=True
    )
    rows: list[dict[str, Any]] = []
    for entry in json.loads((folder / "index.json").read_text()):
        if only and only not in entry["name"]:
            continue
        try:
            row = measure(entry, folder, module, quick)
        except Exception as error:
            row = {"name": entry["name"], "precision": entry["precision"], "kind": entry["kind"],
                   "choice": entry["choice"], "failed": str(error)[:300]}  # fmt: skip
        rows.append(row)
        print(line(row, peaks), flush=True)
        if out is not None:
            out.write_text(json.dumps({"device": device, "ceilings": peaks, "rows": rows}))


def line(row: dict[str, Any], peaks: dict[str, float]) -> str:
    c = row["choice"]
    way = f"{c['strategy']}/{c['blocks']}/{c['values']}/{c['unroll']}/{c['chunk']}"
    head = f"{row['name']:20}{row['precision']:7}{row['kind']:9}{way:24}"
    if "failed" in row:
        return head + " FAILED " + row["failed"]
    head += (
        f" nvrtc {row['compile_s']:5.1f}s regs {row['registers']} local {row['local_bytes']:5} err {row['error']:.1e}"
    )
    if "evaluations_per_s" not in row:
        return head
    rate, target = row["evaluations_per_s"], TARGETS.get((row["name"], row["precision"]))
    share = rate * row["flop"] / peaks[row["precision"]]
    judged = "" if target is None else f" target {target:.1e} {'met' if rate >= target else 'MISSED'}"
    return head + f" {rate:.3e}/s {100 * share:.0f}% of peak ({row['ms']:.0f} ms ±{50 * row['spread']:.0f}%)" + judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument("--out", type=Path, help="file for all numbers (JSON)")
    given = parser.parse_args()
    if given.what == "prepare":
        prepare(given.folder, given.only)
    else:
        run(given.folder, given.only, given.quick, given.out)


if __name__ == "__main__":
    main()
