"""Spatial beams in Exudyn: geometrically exact elements between rigid nodes, joints, rigid bodies and elastic drives.

An element (`ObjectBeamGeometricallyExact`) has two nodes, interpolated on SE(3), stretch, shear and rotary inertia; its
error falls with the square of its length. Beams are unstressed as they are added, at rest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

Array = np.ndarray
RIGID_AXES = (1, 1, 1, 1, 1, 1)
STEEP = 1e-7
"""Relative tolerance of Newton's method."""
ROUND_OFF = 1e-13
"""Of EA: its absolute tolerance."""


@dataclass(frozen=True)
class Section:
    """Numbers of a section on its principal axes: N, N m^2, kg/m, kg m."""

    EA: float
    GA_y: float
    GA_z: float
    GJ: float
    EI_y: float
    EI_z: float
    mass_per_length: float
    rotary: tuple[float, float, float]  # about x, y, z

    @classmethod
    def rectangle(cls, width: float, height: float, E: float, G: float, density: float, **given: float) -> Section:
        """Solid, `width` along y, `height` along z; shear factor 5/6 and torsion by the usual series, unless given."""
        area, I_y, I_z = width * height, width * height**3 / 12, height * width**3 / 12
        long, short = max(width, height), min(width, height)
        J = long * short**3 * (1 / 3 - 0.21 * short / long * (1 - (short / long) ** 4 / 12))
        own = cls(
            E * area, 5 / 6 * G * area, 5 / 6 * G * area, G * J, E * I_y, E * I_z, density * area,
            (density * (I_y + I_z), density * I_y, density * I_z),
        )  # fmt: skip
        return replace(own, **given)

    @classmethod
    def tube(cls, outer: float, inner: float, E: float, G: float, density: float, shear_factor: float) -> Section:
        """Round, with the radii given; `inner` may be 0."""
        area, I = np.pi * (outer**2 - inner**2), np.pi / 4 * (outer**4 - inner**4)
        GA = shear_factor * G * area
        return cls(
            E * area, GA, GA, 2 * G * I, E * I, E * I, density * area, (2 * density * I, density * I, density * I)
        )

    def beam(self, length: float, *, axial: bool = False, **more: Any) -> Any:
        """The same numbers as a beam of pliant, which may shear and, with `axial`, stretch."""
        from pliant import Beam

        return Beam(
            length=length, mass_per_length=self.mass_per_length, EI_y=self.EI_y, EI_z=self.EI_z, GJ=self.GJ,
            GA_y=self.GA_y, GA_z=self.GA_z, EA=self.EA if axial else None, polar_inertia=self.rotary[0],
            rotary=self.rotary[1:], **more,
        )  # fmt: skip


class SpaceModel:
    """Nodes, elements and joints; `add` and `sensors` for what is not here."""

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        import exudyn
        import exudyn.itemInterface as items

        self.exudyn, self.items, self.gravity = exudyn, items, [float(g) for g in np.asarray(gravity)]
        self.mbs = exudyn.SystemContainer().AddSystem()
        self.ground = self.add("ObjectGround")
        self.sensors: dict[str, int] = {}
        self.round_off = 1e-10  # no residual of Newton's method falls below it

    def add(self, kind: str, **given: Any) -> Any:
        """Number of a new item: a `NodeRigidBodyEP` by AddNode, and so on."""
        what = next(word for word in ("Node", "Object", "Marker", "Load", "Sensor") if kind.startswith(word))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Object.*rotationMarker", category=DeprecationWarning)
            return getattr(self.mbs, f"Add{what}")(getattr(self.items, kind)(**given))

    def node(self, place: ArrayLike, turned: Rotation) -> int:
        """A rigid node at rest."""
        w = turned.as_quat()[[3, 0, 1, 2]]
        return int(self.add("NodeRigidBodyEP", referenceCoordinates=[*np.asarray(place, float), *w]))

    def beam(
        self, root: ArrayLike, turned: Rotation, length: float, section: Section, elements: int, twist: float = 0.0
    ) -> list[int]:
        """Nodes of a straight beam along x of its root's axes; `twist`, rad/m, is that of the unloaded beam."""
        self.round_off = max(self.round_off, ROUND_OFF * section.EA)
        data = self.exudyn.BeamSection()
        data.massPerLength = section.mass_per_length
        data.inertia = np.diag(section.rotary)
        data.stiffnessMatrix = np.diag([section.EA, section.GA_y, section.GA_z, section.GJ, section.EI_y, section.EI_z])
        nodes = [
            self.node(np.asarray(root) + turned.apply([x, 0, 0]), turned * Rotation.from_rotvec([twist * x, 0, 0]))
            for x in np.linspace(0.0, length, elements + 1)
        ]
        for pair in pairwise(nodes):
            element = self.add(
                "ObjectBeamGeometricallyExact", nodeNumbers=list(pair), length=length / elements, sectionData=data
            )
            self._weigh(element)
        return nodes

    def body(self, node: int, mass: float, inertia: ArrayLike, com: ArrayLike = (0.0, 0.0, 0.0)) -> int:
        """A rigid body on a node; `inertia` (3,) or (3, 3) about its center of mass, in the axes of the node."""
        c, J = np.asarray(com, float), np.asarray(inertia, float)
        J = (np.diag(J) if J.ndim == 1 else J) + mass * (c @ c * np.eye(3) - np.outer(c, c))
        moments = [J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]]
        body = self.add(
            "ObjectRigidBody", mass=mass, inertia=moments, centerOfMass=[float(x) for x in c], nodeNumber=node
        )
        self._weigh(body)
        return int(body)

    def _weigh(self, body: Any) -> None:
        if any(self.gravity):
            marker = self.add("MarkerBodyMass", bodyNumber=body)
            self.add("LoadMassProportional", markerNumber=marker, loadVector=self.gravity)

    def on(self, node: int | None, place: ArrayLike = (0.0, 0.0, 0.0)) -> Any:
        """A marker on a node, or on the ground at a place."""
        if node is None:
            return self.add("MarkerBodyRigid", bodyNumber=self.ground, localPosition=[float(x) for x in place])
        return self.add("MarkerNodeRigid", nodeNumber=node)

    def place(self, node: int) -> tuple[Array, Rotation]:
        """Where a node was added."""
        p = np.asarray(self.mbs.GetNode(node)["referenceCoordinates"], float)
        return p[:3], Rotation.from_quat(p[[4, 5, 6, 3]])

    def join(
        self,
        first: int | None,
        second: int,
        constrained: Sequence[int] = RIGID_AXES,
        axes: Rotation | None = None,
        angle: Callable[[float], float] | None = None,
        at: ArrayLike | None = None,
    ) -> Any:
        """A joint between two nodes (None: the ground), with `constrained` translations and rotations on `axes`.

        Both nodes may be turned; the joint is unstressed as they stand. `angle` prescribes the rotation about z of the
        axes. A joint `at` a place that is not the nodes' own hangs on them by rigid levers.
        """
        axes = axes or Rotation.identity()
        p, _ = self.place(second)
        point = p if at is None else np.asarray(at, float)

        (a, turned_a), (b, turned_b) = self._hold(first, point, axes), self._hold(second, point, axes)
        more: dict[str, Any] = {}
        if angle is not None:
            more["offsetUserFunction"] = lambda mbs, t, item, offset: [0.0, 0.0, 0.0, 0.0, 0.0, float(angle(t))]
        return self.add(
            "ObjectJointGeneric", markerNumbers=[a, b], constrainedAxes=list(constrained), rotationMarker0=turned_a,
            rotationMarker1=turned_b, **more,
        )  # fmt: skip

    def _hold(self, node: int | None, point: Array, axes: Rotation) -> tuple[Any, Array]:
        """A marker at a point, and the axes of a joint in its own."""
        if node is None:
            return self.on(None, point), axes.as_matrix()
        p, R = self.place(node)
        away, turned = R.inv().apply(point - p), (R.inv() * axes).as_matrix()
        if np.allclose(away, 0.0, atol=1e-12):
            return self.on(node), turned
        rider = self.body(node, 0.0, np.zeros(3))
        return self.add("MarkerBodyRigid", bodyNumber=rider, localPosition=[float(x) for x in away]), turned

    def drive(
        self, first: int | None, second: int, axes: Rotation, stiffness: float, damping: float, inertia: float,
        torque: Callable[[float], float],
    ) -> None:  # fmt: skip
        """A motor behind an elastic gear about z of the axes: the torque acts on the motor, the gear on the nodes.

        The motor is a coordinate with an inertia of its own, both as felt behind the gear; it turns with nothing else.
        """
        point, kinds = self.place(second)[0], self.exudyn.OutputVariableType
        (a, turned_a), (b, turned_b) = self._hold(first, point, axes), self._hold(second, point, axes)
        motor = self.add("Node1D", referenceCoordinates=[0.0])
        self.add("ObjectMass1D", physicsMass=inertia, nodeNumber=motor)

        def gear(mbs: Any, rotation: float, rate: float) -> float:
            ahead = mbs.GetNodeOutput(motor, kinds.Coordinates) - rotation
            faster = mbs.GetNodeOutput(motor, kinds.Coordinates_t) - rate
            return float(stiffness * ahead + damping * faster)

        spring = self.add(
            "ObjectConnectorTorsionalSpringDamper", markerNumbers=[a, b], rotationMarker0=turned_a,
            rotationMarker1=turned_b, springTorqueUserFunction=lambda mbs, t, i, x, v, k, d, o: -gear(mbs, x, v),
        )  # fmt: skip

        def on_motor(mbs: Any, t: float, load: float) -> float:
            rotation = mbs.GetObjectOutput(spring, kinds.Rotation)
            rate = float(np.asarray(mbs.GetObjectOutput(spring, kinds.AngularVelocityLocal)).flat[-1])
            return torque(t) - gear(mbs, rotation, rate)

        coordinate = self.add("MarkerNodeCoordinate", nodeNumber=motor, coordinate=0)
        self.add("LoadCoordinate", markerNumber=coordinate, load=0.0, loadUserFunction=on_motor)

    def watch(self, name: str, node: int, what: str = "Position") -> None:
        """Keep a history: `Position`, `Displacement`, `Rotation`, `RotationMatrix`."""
        self.sensors[name] = self.add(
            "SensorNode", nodeNumber=node, storeInternal=True, writeToFile=False,
            outputVariableType=getattr(self.exudyn.OutputVariableType, what),
        )  # fmt: skip

    def _settings(self) -> Any:
        s = self.exudyn.SimulationSettings()
        s.solution.file.write = False
        s.parallel.numberOfThreads = 1
        s.linearSolver.solverType = self.exudyn.LinearSolverType.EigenSparse
        s.timeIntegration.verboseMode = s.staticSolver.verboseMode = 0
        return s

    def rest(self, load_steps: int = 5) -> dict[str, Array]:
        """Sensors at rest under the loads, which grow in steps."""
        self.mbs.Assemble()
        s = self._settings()
        s.staticSolver.numberOfLoadSteps = load_steps
        s.staticSolver.newton.relativeTolerance = STEEP
        s.staticSolver.newton.absoluteTolerance = self.round_off
        self.mbs.SolveStatic(s, showHints=False)
        return {name: np.asarray(self.mbs.GetSensorValues(number)) for name, number in self.sensors.items()}

    def run(self, t_end: float, step: float, output_step: float, spectral_radius: float = 0.9) -> dict[str, Array]:
        """Histories of the sensors, with the times as `t`, by the generalized-alpha method."""
        self.mbs.Assemble()
        s = self._settings()
        s.timeIntegration.endTime = t_end
        s.timeIntegration.numberOfSteps = round(t_end / step)
        s.timeIntegration.adaptiveStep = False
        s.timeIntegration.newton.useModifiedNewton = True
        s.timeIntegration.newton.relativeTolerance = STEEP
        s.timeIntegration.newton.absoluteTolerance = self.round_off
        s.timeIntegration.generalizedAlpha.spectralRadius = spectral_radius
        s.solution.sensors.writePeriod = output_step
        self.mbs.SolveDynamic(s, solverType=self.exudyn.DynamicSolverType.GeneralizedAlpha, showHints=False)
        kept = {name: np.asarray(self.mbs.GetSensorStoredData(number)) for name, number in self.sensors.items()}
        return {"t": next(iter(kept.values()))[:, 0], **{name: data[:, 1:] for name, data in kept.items()}}

    def size(self) -> int:
        """Number of coordinates and multipliers."""
        return int(len(self.mbs.systemData.GetODE2Coordinates()) + len(self.mbs.systemData.GetAECoordinates()))
