"""Planar flexible arms in Exudyn: geometrically exact beams by two kinds of elements, joints as constraints.

`ancf` is the absolute nodal coordinate cable of Exudyn (`ObjectANCFCable2D`): cubic, without shear, exact curvature and
stretch: the theory that pliant's stiffened Euler-Bernoulli beam approaches for moderate deflections. `exact` is
the element of Simo and Vu-Quoc (`ObjectBeamGeometricallyExact2D`): linear, with shear and rotary inertia of the section
(mu EI / EA), rigid nodes.

Settings are the fastest found: no files, no console, one thread, modified Newton (Jacobians kept until they fail), mass
matrices kept, histories stored in memory by sensors at the output instants alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pliant_bench.peers import PeerRun, PlanarArm, PlanarLink

INEXTENSIBLE = 1e4  # EA L^2 / EI where the arm gives no EA: axial frequencies stay far above those of bending
ROUND_OFF = 1e-14  # of EA: no residual of Newton's method falls below it
TINY = 1e-9  # kg, kg m^2: a rigid body of Exudyn needs some mass and inertia
THICK = 1.0  # GA / EA of the shear-flexible element: shear then adds less than it does in any slender beam


@dataclass(frozen=True)
class Discretization:
    """Elements of the beams and time steps in Exudyn."""

    elements: int = 8  # for each link
    step: float = 2e-4
    kind: Literal["ancf", "exact"] = "ancf"
    solver: Literal["generalized-alpha", "trapezoidal"] = "trapezoidal"
    spectral_radius: float = 0.9  # of generalized-alpha alone
    linear_solver: str = "EXUdense"
    reduced_integration: int = 0
    axial_stiffness: float | None = None  # N; the arm's own EA, else INEXTENSIBLE
    tolerance: float = 1e-8


def simulate(
    arm: PlanarArm,
    t_end: float,
    angles: ArrayLike,
    rates: ArrayLike | None = None,
    torques: Callable[[float], ArrayLike] | None = None,
    motion: Callable[[float], tuple[float, float]] | None = None,
    output_step: float = 0.002,
    cut: Discretization | None = None,
) -> PeerRun:
    """Run a planar arm from straight beams at given joint angles (and rates).

    Parameters
    ----------
    torques : function of t, optional
        Joint torques; called from Exudyn at every evaluation.
    motion : function of t, optional
        Prescribes the first joint: its angle and rate.
    """
    cut = cut or Discretization()
    start = time.perf_counter()
    built = _System(arm, np.asarray(angles, float), np.asarray(0.0 if rates is None else rates, float), cut)
    if torques is not None:
        built.add_torques(torques)
    if motion is not None:
        built.prescribe(motion)
    built.mbs.Assemble()
    stiffnesses = [built.axial(link) for link in arm.links]
    settings = _settings(t_end, output_step, cut, max(stiffnesses))
    ready = time.perf_counter()
    built.mbs.SolveDynamic(settings, solverType=_solver_type(cut), showHints=False)
    done = time.perf_counter()
    t, joint, tip = built.histories()
    return PeerRun(
        f"exudyn {cut.kind}", t, joint, tip, done - ready, ready - start,
        {**vars(cut), "axial_stiffness": stiffnesses, "coordinates": built.size()},
    )  # fmt: skip


def _solver_type(cut: Discretization) -> Any:
    import exudyn

    kinds = exudyn.DynamicSolverType
    return kinds.TrapezoidalIndex2 if cut.solver == "trapezoidal" else kinds.GeneralizedAlpha


def _settings(t_end: float, output_step: float, cut: Discretization, axial: float) -> Any:
    import exudyn

    s = exudyn.SimulationSettings()
    s.timeIntegration.endTime = t_end
    s.timeIntegration.numberOfSteps = round(t_end / cut.step)
    s.timeIntegration.adaptiveStep = False
    s.timeIntegration.newton.useModifiedNewton = True
    s.timeIntegration.newton.relativeTolerance = cut.tolerance
    s.timeIntegration.newton.absoluteTolerance = max(1e-10, ROUND_OFF * axial)
    s.timeIntegration.generalizedAlpha.spectralRadius = cut.spectral_radius
    s.timeIntegration.reuseConstantMassMatrix = True
    s.timeIntegration.verboseMode = 0
    s.solution.file.write = False
    s.solution.sensors.writePeriod = output_step
    s.parallel.numberOfThreads = 1
    s.linearSolver.solverType = getattr(exudyn.LinearSolverType, cut.linear_solver)
    s.linearSolver.reuseAnalyzedPattern = True
    return s


class _System:
    """An arm as nodes, elements and constraints of Exudyn."""

    def __init__(self, arm: PlanarArm, angles: Any, rates: Any, cut: Discretization) -> None:
        import exudyn
        import exudyn.itemInterface as items

        self.items, self.arm, self.cut = items, arm, cut
        self.container = exudyn.SystemContainer()
        self.mbs = self.container.AddSystem()
        ground = self._add("ObjectGround")
        self.roots: list[int] = []
        self.tips: list[int] = []
        heading = np.cumsum(np.broadcast_to(angles, len(arm.links)))
        turning = np.cumsum(np.broadcast_to(rates, len(arm.links)))
        p, v = np.zeros(2), np.zeros(2)
        at = self._add("MarkerBodyPosition", bodyNumber=ground, localPosition=[0, 0, 0])
        for link, phi, omega in zip(arm.links, heading, turning, strict=True):
            p, v = self._add_link(link, p, v, float(phi), float(omega))
            root = self._add("MarkerNodePosition", nodeNumber=self.roots[-1])
            self._add("ObjectJointRevolute2D", markerNumbers=[at, root])
            at = self._add("MarkerNodePosition", nodeNumber=self.tips[-1])
        stored = {"storeInternal": True, "writeToFile": False}
        stored["outputVariableType"] = exudyn.OutputVariableType.Coordinates
        self.sensors = [self._add("SensorNode", nodeNumber=node, **stored) for node in (*self.roots, *self.tips)]

    def axial(self, link: PlanarLink) -> float:
        """EA of a link."""
        return self.cut.axial_stiffness or link.EA or INEXTENSIBLE * link.EI / link.length**2

    def size(self) -> int:
        """Number of coordinates and multipliers."""
        return int(len(self.mbs.systemData.GetODE2Coordinates()) + len(self.mbs.systemData.GetAECoordinates()))

    def _add_link(self, link: PlanarLink, p: Any, v: Any, phi: float, omega: float) -> tuple[Any, Any]:
        """Nodes and elements along a straight beam; position and velocity of its tip."""
        along, across = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
        nodes = []
        for x in np.linspace(0.0, link.length, self.cut.elements + 1):
            nodes.append(self._node(p + x * along, v + x * omega * across, along, across, phi, omega))
        for a, b in pairwise(nodes):
            self._weigh(self._element(link, [a, b]))
        self._lump(nodes[0], 0.0, link.hub_inertia)
        self._lump(nodes[-1], link.tip_mass, link.tip_inertia)
        self.roots.append(nodes[0])
        self.tips.append(nodes[-1])
        return p + link.length * along, v + link.length * omega * across

    def _add(self, kind: str, **given: Any) -> Any:
        """Number of a new item: a `NodeRigidBody2D` by AddNode, a `MarkerBodyMass` by AddMarker, and so on."""
        what = next(word for word in ("Node", "Object", "Marker", "Load", "Sensor") if kind.startswith(word))
        return getattr(self.mbs, f"Add{what}")(getattr(self.items, kind)(**given))

    def _node(self, p: Any, v: Any, along: Any, across: Any, phi: float, omega: float) -> Any:
        if self.cut.kind == "ancf":
            rates = [*v, *(omega * across)]
            return self._add("NodePoint2DSlope1", referenceCoordinates=[*p, *along], initialVelocities=rates)
        return self._add("NodeRigidBody2D", referenceCoordinates=[*p, phi], initialVelocities=[*v, omega])

    def _element(self, link: PlanarLink, nodes: list[Any]) -> Any:
        EA = self.axial(link)
        common = {
            "length": link.length / self.cut.elements, "massPerLength": link.mass_per_length,
            "bendingStiffness": link.EI, "axialStiffness": EA, "nodeNumbers": nodes,
        }  # fmt: skip
        if self.cut.kind == "ancf":
            reduced = self.cut.reduced_integration
            return self._add("ObjectANCFCable2D", **common, useReducedOrderIntegration=reduced)
        section = {"shearStiffness": THICK * EA, "crossSectionInertia": link.mass_per_length * link.EI / EA}
        return self._add("ObjectBeamGeometricallyExact2D", **common, **section)

    def _weigh(self, element: Any) -> None:
        marker = self._add("MarkerBodyMass", bodyNumber=element)
        self._add("LoadMassProportional", markerNumber=marker, loadVector=[*self.arm.gravity, 0.0])

    def _lump(self, node: Any, mass: float, inertia: float) -> Any:
        """A rigid body that moves and turns with a node."""
        if not (mass or inertia):
            return None
        if self.cut.kind == "exact":
            body = self._add("ObjectRigidBody2D", mass=mass, inertia=inertia, nodeNumber=node)
        else:
            body = self._rider(node, mass, inertia)
        if mass:
            self._weigh(body)
        return body

    def _rider(self, node: Any, mass: float, inertia: float) -> Any:
        """A rigid body clamped to a node of the cable by a joint."""
        state = self.mbs.GetNode(node)
        (x, y, a, b), (vx, vy, wa, wb) = state["referenceCoordinates"], state["initialVelocities"]
        place, rates = [x, y, np.arctan2(b, a)], [vx, vy, a * wb - b * wa]
        twin = self._add("NodeRigidBody2D", referenceCoordinates=place, initialVelocities=rates)
        body = self._add("ObjectRigidBody2D", mass=max(mass, TINY), inertia=max(inertia, TINY), nodeNumber=twin)
        pair = [self._add("MarkerNodeRigid", nodeNumber=node),
                self._add("MarkerBodyRigid", bodyNumber=body, localPosition=[0, 0, 0])]  # fmt: skip
        self._add("ObjectJointGeneric", markerNumbers=pair, constrainedAxes=[1, 1, 0, 0, 0, 1])
        return body

    def add_torques(self, torques: Callable[[float], ArrayLike]) -> None:
        """Torques between neighbors: on each root, and against it on the tip before."""
        for k, root in enumerate(self.roots):
            self._add_torque(root, torques, k, 1.0)
            if k:
                self._add_torque(self.tips[k - 1], torques, k, -1.0)

    def _add_torque(self, node: Any, torques: Callable[[float], ArrayLike], joint: int, sign: float) -> None:
        def about_z(mbs: Any, t: float, load: Any) -> list[float]:
            return [0.0, 0.0, sign * float(np.asarray(torques(t))[joint])]

        marker = self._add("MarkerNodeRigid", nodeNumber=node)
        self._add("LoadTorqueVector", markerNumber=marker, loadVectorUserFunction=about_z)

    def prescribe(self, motion: Callable[[float], tuple[float, float]]) -> None:
        """The first joint follows a given angle: the root turns against a body fixed in the base."""
        state = self.mbs.GetNode(self.roots[0])
        origin = self._add("MarkerNodeCoordinate", nodeNumber=self._add("NodePointGround"), coordinate=0)
        if self.cut.kind == "exact":
            node, phi = self.roots[0], state["referenceCoordinates"][2]
        else:
            node = self.mbs.GetObject(self._rider(self.roots[0], TINY, TINY))["nodeNumber"]
            phi = float(np.arctan2(state["referenceCoordinates"][3], state["referenceCoordinates"][2]))
        turned = self._add("MarkerNodeCoordinate", nodeNumber=node, coordinate=2)
        self._add(
            "ObjectConnectorCoordinate", markerNumbers=[origin, turned],
            offsetUserFunction=lambda mbs, t, index, offset: motion(t)[0] - phi,
            offsetUserFunction_t=lambda mbs, t, index, offset: motion(t)[1],
        )  # fmt: skip

    def histories(self) -> tuple[Any, Any, Any]:
        """Instants, joint angles and tip deflections."""
        stored = [np.asarray(self.mbs.GetSensorStoredData(sensor)) for sensor in self.sensors]
        nodes = [np.asarray(self.mbs.GetNode(node)["referenceCoordinates"]) for node in (*self.roots, *self.tips)]
        y = [data[:, 1:] + reference for data, reference in zip(stored, nodes)]
        count = len(self.roots)
        root, tip = [_heading(each) for each in y[:count]], [_heading(each) for each in y[count:]]
        before = [np.zeros_like(root[0]), *tip[:-1]]
        joint = np.column_stack([phi - last for phi, last in zip(root, before)])
        offset = [b[:, :2] - a[:, :2] for a, b in zip(y[:count], y[count:])]
        across = [d[:, 1] * np.cos(phi) - d[:, 0] * np.sin(phi) for d, phi in zip(offset, root)]
        return stored[0][:, 0], joint, np.column_stack(across)


def _heading(y: Any) -> Any:
    """Angle of the tangent at a node, without jumps."""
    return y[:, 2] if y.shape[1] == 3 else np.unwrap(np.arctan2(y[:, 3], y[:, 2]))
