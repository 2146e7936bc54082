"""Linkages with a coupler that bends, in pliant and in Exudyn: a slider-crank and a four-bar, each with its crank at a
given speed and under a torque, over two turns, on a level table.

What is compared is the distance of the coupler's middle from the line through its two pins. Exudyn has the coupler as
cubic cable elements (`ObjectANCFCable2D`: no shear, exact curvature and stretch) and all else as rigid bodies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pliant.arrays import Array
from pliant.model.robot import Robot, load
from pliant.robot.parts.beam import Beam
from pliant.robot.parts.bodies.rigid_body import RigidBody
from pliant.robot.parts.joint import Joint, Origin
from pliant.robot.parts.link import Link
from pliant.robot.parts.loop_joints import Loop
from pliant.robot.parts.shapes import Shapes
from pliant_bench import spin_up
from pliant_bench.equal_accuracy import OURS, PAIRS, CommonMotion, Setting
from pliant_bench.exudyn_beams import ROUND_OFF
from pliant_bench.findings import Report
from pliant_bench.peers import PeerRun
from pliant_bench.timing import Effort

PART = "linkages"
EXUDYN = "Exudyn"
ASKED = 10.0
ROUNDS = 3
Kind = Literal["slider-crank", "four-bar"]
Drive = Literal["speed", "torque"]
CRANK, COUPLER, ROCKER, GROUND = 0.15, 0.45, 0.35, 0.5  # m
OFFSET = 0.02  # m, of the guide beside the axis of the crank
RIGID = {"crank": (0.8, 0.002), "rocker": (0.7, 0.009), "slider": (0.5, 0.0)}  # kg, and kg m^2 about the middle
MU, EI, EA = 0.27, 3.0, 1.5e6  # kg/m, N m^2, N: of the coupler; pliant does not stretch it, a tenth of EA would tell
START = 1.0  # rad
SPEED, RISE = 20.0, 0.15  # rad/s, s: brought to speed smoothly
TORQUE = {"slider-crank": 0.12, "four-bar": 0.12}  # N m, constant
ENDS: dict[tuple[Kind, Drive], float] = {
    ("slider-crank", "speed"): 0.71, ("four-bar", "speed"): 0.71, ("slider-crank", "torque"): 1.75,
    ("four-bar", "torque"): 1.55,
}  # fmt: skip
"""Duration of two turns, s."""
OUTPUT_STEP, QUICK_END, CRANE_END = 0.002, 0.02, 5.0
ALLOWED = 0.01
"""Allowed error, as a part of the largest distance."""


def angles(kind: Kind, crank: float) -> tuple[float, float]:
    """Angles of the coupler, from x, and of the rocker; of a slider-crank in place of that its place on the guide."""
    end = CRANK * np.exp(1j * crank)
    if kind == "slider-crank":
        tilt = float(np.arcsin((OFFSET - end.imag) / COUPLER))
        return tilt, float(end.real + COUPLER * np.cos(tilt))
    across = GROUND - end
    inner = np.arccos((COUPLER**2 + abs(across) ** 2 - ROCKER**2) / (2 * COUPLER * abs(across)))
    tilt = float(np.angle(across) + inner)
    return tilt, float(np.angle(end + COUPLER * np.exp(1j * tilt) - GROUND))


def linkage(kind: Kind, shapes: Shapes) -> Robot:
    """Description of the linkage for Pliant."""

    def rigid(name: str, length: float) -> RigidBody:
        mass, inertia = RIGID[name]
        moments = (inertia, inertia, inertia) if inertia else (1e-6, 1e-6, 1e-6)
        return RigidBody(mass=mass, com=(length / 2, 0, 0), inertia=moments, tip=(length, 0, 0))

    beam = Beam(length=COUPLER, mass_per_length=MU, EI_y=EI, EI_z=EI)
    last = (
        Link(name="rocker", parent="base", rigid=rigid("rocker", ROCKER),
             joint=Joint(actuated=False, origin=Origin(xyz=(GROUND, 0, 0))))
        if kind == "four-bar"
        else Link(name="slider", parent="base", rigid=rigid("slider", 0.0),
                  joint=Joint(type="prismatic", axis=(1, 0, 0), actuated=False, origin=Origin(xyz=(0, OFFSET, 0))))
    )  # fmt: skip
    links = [
        Link(name="crank", rigid=rigid("crank", CRANK)),
        Link(name="coupler", joint=Joint(actuated=False), beam=beam, shapes=shapes),
        last,
    ]
    pin = Loop(name="pin", between=("coupler.tip", f"{last.name}.tip"))
    return Robot(name=f"bent {kind}", gravity=(0, 0, 0), links=links, loops=[pin])


def from_the_line(root: Array, middle: Array, tip: Array) -> Array:
    """(T,) distances of the middle from the line from root to tip, each (T, 2); positive to the left of it."""
    x, m = tip - root, middle - root
    return np.asarray((x[:, 0] * m[:, 1] - x[:, 1] * m[:, 0]) / np.linalg.norm(x, axis=1))


def pliant_run(
    kind: Kind, drive: Drive, shapes: Shapes | None = None, t_end: float | None = None, **options: Any
) -> PeerRun:
    """pliant; its time is that of the stepping loop, as Exudyn's is."""
    from pliant.simulation.runs.simulation import simulate

    begin = time.perf_counter()
    model = linkage(kind, shapes or Shapes(method="elements", count=4, bending_y=True)).model(stiffening="second-order")
    tilt, last = angles(kind, START)
    q0 = {"crank": START, "coupler": tilt - START, model.robot.links[-1].name: last}
    given: dict[str, Any] = {"q0": q0, "output_step": OUTPUT_STEP, "method": "rodas5p", "rtol": 1e-6, "atol": 1e-8}
    if drive == "speed":
        turned = spin_up.angle(SPEED, RISE)
        given["motion"] = {"crank": lambda t: START + turned(t)}
    else:
        given["torque"] = [TORQUE[kind]]
    given |= options
    simulate(model, OUTPUT_STEP, **given)  # traces and compiles
    ready = time.perf_counter()
    run = simulate(model, ENDS[kind, drive] if t_end is None else t_end, **given)
    middle, tip = (run.deflection("coupler", place)[:, :2] for place in ("middle", "tip"))
    whole = np.array([COUPLER, 0.0])
    away = from_the_line(np.zeros_like(tip), middle + whole / 2, tip + whole)
    return PeerRun(
        "pliant", run.t, run["crank"][:, None], away[:, None], run.stats.wall, ready - begin,
        {"coordinates": model.n, "steps": run.stats.steps, "method": run.stats.method},
    )  # fmt: skip


@dataclass(frozen=True)
class CablesCut:
    """Elements of the coupler and time steps in Exudyn: an even number of elements, steps in s."""

    elements: int = 8
    step: float = 2e-4
    tolerance: float = 1e-6
    axial: float = EA


def exudyn_run(kind: Kind, drive: Drive, cut: CablesCut | None = None, t_end: float | None = None) -> PeerRun:
    """Exudyn, by the generalized-alpha method; histories are kept by sensors."""
    import exudyn

    cut, begin = cut or CablesCut(), time.perf_counter()
    built = _Linkage(kind, drive, cut)
    end = ENDS[kind, drive] if t_end is None else t_end
    s = exudyn.SimulationSettings()
    s.timeIntegration.endTime = end
    s.timeIntegration.numberOfSteps = round(end / cut.step)
    s.timeIntegration.newton.useModifiedNewton = True
    s.timeIntegration.newton.relativeTolerance = cut.tolerance
    s.timeIntegration.newton.absoluteTolerance = max(1e-10, ROUND_OFF * cut.axial)
    s.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    s.timeIntegration.reuseConstantMassMatrix = True
    s.timeIntegration.verboseMode = 0
    s.solution.file.write = False
    s.solution.sensors.writePeriod = OUTPUT_STEP
    s.parallel.numberOfThreads = 1
    s.linearSolver.solverType = exudyn.LinearSolverType.EXUdense
    ready = time.perf_counter()
    built.mbs.SolveDynamic(s, solverType=exudyn.DynamicSolverType.GeneralizedAlpha, showHints=False)
    done = time.perf_counter()
    t, crank, away = built.histories()
    return PeerRun("exudyn", t, crank[:, None], away[:, None], done - ready, ready - begin, {"elements": cut.elements})


class _Linkage:
    """Nodes, bodies and joints of Exudyn."""

    def __init__(self, kind: Kind, drive: Drive, cut: CablesCut) -> None:
        import exudyn
        import exudyn.itemInterface as items

        self.items, self.mbs = items, exudyn.SystemContainer().AddSystem()
        self.ground = self._add("ObjectGround")
        tilt, last = angles(kind, START)
        crank, body = self._bar("crank", CRANK, 0.0, START)
        nodes = self._coupler(CRANK * np.exp(1j * START), tilt, cut)
        self._pin(self._on(self.ground, 0.0), self._on(body, -CRANK / 2))
        self._pin(self._on(body, CRANK / 2), self._add("MarkerNodePosition", nodeNumber=nodes[0]))
        end = self._add("MarkerNodePosition", nodeNumber=nodes[-1])
        if kind == "four-bar":
            _, rocker = self._bar("rocker", ROCKER, GROUND, last)
            self._pin(self._on(self.ground, GROUND), self._on(rocker, -ROCKER / 2))
            self._pin(end, self._on(rocker, ROCKER / 2))
        else:
            self._slide(end, last)
        self._drive(kind, drive, crank, body)
        kinds = {"rotation": exudyn.OutputVariableType.Coordinates, "place": exudyn.OutputVariableType.Position}
        self.sensors = [
            self._add(
                "SensorNode", nodeNumber=node, storeInternal=True, writeToFile=False, outputVariableType=kinds[what]
            )
            for node, what in ((crank, "rotation"), *((nodes[k], "place") for k in (0, len(nodes) // 2, -1)))
        ]
        self.mbs.Assemble()

    def _add(self, kind: str, **given: Any) -> Any:
        what = next(word for word in ("Node", "Object", "Marker", "Load", "Sensor") if kind.startswith(word))
        return getattr(self.mbs, f"Add{what}")(getattr(self.items, kind)(**given))

    def _bar(self, name: str, length: float, x: float, angle: float) -> tuple[Any, Any]:
        """Node and body of a rigid bar from (x, 0) on, at an angle."""
        middle = x + length / 2 * np.exp(1j * angle)
        node = self._add("NodeRigidBody2D", referenceCoordinates=[middle.real, middle.imag, angle])
        mass, inertia = RIGID[name]
        return node, self._add("ObjectRigidBody2D", mass=mass, inertia=inertia, nodeNumber=node)

    def _coupler(self, begin: complex, tilt: float, cut: CablesCut) -> list[Any]:
        along = np.exp(1j * tilt)
        places = [begin + x * along for x in np.linspace(0.0, COUPLER, cut.elements + 1)]
        nodes = [
            self._add("NodePoint2DSlope1", referenceCoordinates=[p.real, p.imag, along.real, along.imag])
            for p in places
        ]
        for pair in pairwise(nodes):
            self._add(
                "ObjectANCFCable2D", length=COUPLER / cut.elements, massPerLength=MU, bendingStiffness=EI,
                axialStiffness=cut.axial, nodeNumbers=list(pair), useReducedOrderIntegration=0,
            )  # fmt: skip
        return nodes

    def _slide(self, end: Any, place: float) -> None:
        """A mass on the guide."""
        node = self._add("NodePoint2D", referenceCoordinates=[place, OFFSET])
        mass = self._add("ObjectMassPoint2D", mass=RIGID["slider"][0], nodeNumber=node)
        self._pin(end, self._add("MarkerBodyPosition", bodyNumber=mass))
        origin = self._add("MarkerNodeCoordinate", nodeNumber=self._add("NodePointGround"), coordinate=0)
        across = self._add("MarkerNodeCoordinate", nodeNumber=node, coordinate=1)
        self._add("ObjectConnectorCoordinate", markerNumbers=[origin, across])

    def _on(self, body: Any, x: float) -> Any:
        return self._add("MarkerBodyPosition", bodyNumber=body, localPosition=[x, 0.0, 0.0])

    def _pin(self, first: Any, second: Any) -> None:
        self._add("ObjectJointRevolute2D", markerNumbers=[first, second])

    def _drive(self, kind: Kind, drive: Drive, crank: Any, body: Any) -> None:
        if drive == "torque":
            marker = self._add("MarkerBodyRigid", bodyNumber=body, localPosition=[0.0, 0.0, 0.0])
            self._add("LoadTorqueVector", markerNumber=marker, loadVector=[0.0, 0.0, TORQUE[kind]])
            return
        turned = spin_up.motion(SPEED, RISE)
        origin = self._add("MarkerNodeCoordinate", nodeNumber=self._add("NodePointGround"), coordinate=0)
        angle = self._add("MarkerNodeCoordinate", nodeNumber=crank, coordinate=2)
        self._add(
            "ObjectConnectorCoordinate", markerNumbers=[origin, angle],
            offsetUserFunction=lambda mbs, t, index, offset: turned(t)[0],
            offsetUserFunction_t=lambda mbs, t, index, offset: turned(t)[1],
        )  # fmt: skip

    def histories(self) -> tuple[Array, Array, Array]:
        """Times, angles of the crank, distances of the coupler's middle from its line."""
        crank, *places = (np.asarray(self.mbs.GetSensorStoredData(sensor)) for sensor in self.sensors)
        return crank[:, 0], START + crank[:, 3], from_the_line(*(place[:, 1:3] for place in places))


# ----------------------------------------------------------------------------------------------------------- the part

OUR_SETTINGS = [
    *((count, None, tolerance) for count in (2, 3, 4) for tolerance in (1e-3, 1e-4, 1e-5)),
    *((4, 4, tolerance) for tolerance in (1e-4, 3e-5, 1e-5)),
]
"""Elements, modes that they are reduced to, and tolerance."""
CUTS = [
    CablesCut(n, h, 1e-5)
    for n, h in ((2, 2e-3), (4, 2e-3), (4, 1e-3), (4, 5e-4), (8, 1e-3), (8, 5e-4), (8, 2.5e-4), (16, 2.5e-4))
]
FINE = 8


def measure(report: Report, effort: Effort) -> None:
    """Fill in the comparisons at equal accuracy."""
    there = not report.lacks(EXUDYN, "exudyn")
    cases = list(ENDS)
    for kind, drive in cases[:1] if effort.quick else cases:
        report.tell(f"{PART}: {kind} by {drive}, reference ...")
        _case(report, effort, kind, drive, there)
    _crane(report, effort)


def _case(report: Report, effort: Effort, kind: Kind, drive: Drive, there: bool) -> None:
    t_end = QUICK_END if effort.quick else ENDS[kind, drive]
    run: Callable[..., PeerRun] = partial(pliant_run, kind, drive, t_end=t_end)
    exact = run(_cubics(2 if effort.quick else FINE), rtol=1e-9, atol=1e-11)
    peak = float(np.abs(exact.deflections).max())
    motion = CommonMotion(
        PART, kind, f"crank by {drive}", t_end, exact,
        f"middle of the coupler over a hundredth of its {peak * 1e3:.2g} mm, against {FINE} elements at 1e-9",
        lambda angle, away: away / (ALLOWED * peak),
    )  # fmt: skip
    ours = [
        Setting(
            OURS, f"{n} elements{f' by {modes} modes' if modes else ''}, rodas5p at {tol:g}",
            partial(run, _cubics(n, modes), rtol=tol, atol=tol / 100),
        )
        for n, modes, tol in OUR_SETTINGS
    ]  # fmt: skip
    theirs = [
        Setting(
            EXUDYN,
            f"{cut.elements} cable elements, {1e3 * cut.step:.3g} ms",
            partial(exudyn_run, kind, drive, cut, t_end),
        )
        for cut in CUTS
    ]
    settings = [*ours, *(theirs if there else [])]
    if effort.quick:
        settings = [ours[0], *(theirs[1:2] if there else [])]
    points = motion.curve(report, settings, 1 if effort.quick else ROUNDS)
    if any(setting.engine == EXUDYN for setting in points):
        motion.compare(report, points, EXUDYN, 1 if effort.quick else PAIRS, None if effort.quick else ASKED)


def _crane(report: Report, effort: Effort) -> None:
    """Measure whether the bundled hydraulic crane, lifted and unfolded by its valves, is simulated faster than it
    moves."""
    from pliant.simulation.runs.simulation import simulate

    report.tell(f"{PART}: hydraulic crane ...")
    model, t_end = load("hydraulic-crane").model(), QUICK_END if effort.quick else CRANE_END
    valves = ([0.0, 0.3, 2.0, 2.3], {"lift": [0.0, 0.5, 0.5, 0.0], "fold": [0.0, -0.35, -0.35, 0.0]})
    given: dict[str, Any] = {"torque": valves, "equilibrium": True, "output_step": 0.01}
    walls = [
        simulate(model, t_end, {"boom": 0.44, "jib": -1.05}, **given).stats.wall
        for _ in range(1 if effort.quick else PAIRS)
    ]
    ratio = t_end / float(np.median(walls))
    if not effort.quick:
        report.verdicts.append((f"hydraulic crane: {ratio:.2g} simulated seconds per second, above 1", ratio > 1))


def _cubics(count: int, modes: int | None = None) -> Shapes:
    return Shapes(method="elements", count=count, reduce=modes, bending_y=True)
