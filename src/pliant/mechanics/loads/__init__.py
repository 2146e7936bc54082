"""External loads of an arm: wrenches, distributed loads, and the motion of its base.

A load is known by the points it acts on (`points`) and by the generalized forces that follow (`expression`), Q_k = sum
f . dv/dqd_k + n . domega/dqd_k. Vectors are three numbers, a function of t, or a function of (t, q, qd), both written
in CasADi operations, so that they are compiled into the run.
"""

from pliant.mechanics.loads.moving_base import Base, BasePath
from pliant.mechanics.loads.point_wrenches import PointWrench
from pliant.mechanics.loads.wrenches import Distributed, Load, Wrench

__all__ = ["Base", "BasePath", "Distributed", "Load", "PointWrench", "Wrench"]
