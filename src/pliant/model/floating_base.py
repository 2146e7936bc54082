"""Momentum, and what arms on a free base do to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.model.state_functions import StateFunctions


class FreeFlight(StateFunctions):
    """What a model answers about momentum and about a base that flies."""

    def center_of_mass(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Centre of mass `(..., 3)` of everything that moves, in axes that stand still; a fixed base is no part of it.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 3) array
            m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.center_of_mass(np.zeros(model.n)))
        [1. 0. 0.]
        """
        return self._call("center_of_mass", p, q)  # type: ignore[no-any-return]

    def momentum(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Momentum `(..., 6)` [angular about the centre of mass; linear] of everything, in axes that stand still.

        Reaction wheels count like all links. Rotors of drives do not: their reflected inertia is felt by their joint
        alone. On a base that moves as told it is the momentum relative to that base.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        qd : (..., n) array
            Speeds.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 6) array
            N m s and N s.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.momentum(np.zeros(model.n), [1.0, 0.0, 0.0, 0.0])[3:])  # 10 kg, whose centre moves at 1 m/s
        [ 0. 10.  0.]
        """
        return self._call("momentum", p, q, qd)  # type: ignore[no-any-return]

    def _floating(self, function: str) -> list[int]:
        """Numbers of the speeds of a free base; refuses one that does not fly."""
        if not self.chain.first:
            raise ModelError(f"{function}: got a base that does not fly, expected base: {{type: free, mass: ...}}")
        self.layout.require_open(function)
        return list(self.chain.links[0].joint_indices)

    def coupling_inertia(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Momentum `(..., 6, n - 6)` per unit speed of everything but a free base, while the base does not move.

        Angular about the centre of mass of the whole, then linear, in the axes of the base. Without momentum, speeds in
        the null space of the upper three rows leave the attitude of the base as it is (reaction-null motion), those in
        the null space of all six its place as well.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 6, n - 6) array
            kg m^2 and kg m per speed in rad/s; the columns are `speeds[6:]`.

        Raises
        ------
        ModelError
            The base does not fly.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> rod = pliant.RigidBody.slender_rod(2.0, 0.5)
        >>> links = [pliant.Link(name=name, joint=pliant.Joint(axis=[0, 1, 0]), rigid=rod) for name in ("a", "b")]
        >>> model = pliant.Robot(name="flyer", gravity=[0, 0, 0], base=base, links=links).model()
        >>> q = model.state()
        >>> turning = model.coupling_inertia(q)[1]  # all that a planar arm can do to the attitude
        >>> null = np.array([turning[1], -turning[0]])
        >>> speeds = np.zeros(model.n)
        >>> speeds[6:] = null
        >>> speeds[:6] = -np.linalg.solve(model.mass_matrix(q)[:6, :6], model.mass_matrix(q)[:6, 6:] @ null)
        >>> bool(np.abs(model.momentum(q, speeds)).max() < 1e-12), bool(np.abs(speeds[:3]).max() < 1e-12)
        (True, True)
        """
        base = self._floating("coupling_inertia")
        M = self.mass_matrix(q, p)
        rest = [k for k in range(self.n) if k not in base]
        H = M[..., base, :][..., rest]
        arm = M[..., base[:3], :][..., base[3:]] / M[..., base[3], base[3], None, None]  # from the base to the centre
        return np.concatenate([H[..., :3, :] - arm @ H[..., 3:, :], H[..., 3:, :]], axis=-2)

    def generalised_jacobian(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Velocity `(..., 6, n - 6)` [angular; linear] of a frame per speed of everything but a free base, in axes that
        stand still, where the whole has no momentum: the base gives way to the arm.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`; the distal frame of the last link by default.

        Returns
        -------
        (..., 6, n - 6) array
            The columns are `speeds[6:]`.

        Raises
        ------
        ModelError
            The base does not fly.

        Notes
        -----
        J_m - J_b H_b^-1 H_bm with the blocks of Jacobian and inertia matrix that belong to the base and to the rest
        [UY89]. Amplitudes of flexible links have columns like joints.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> arm = pliant.load("two-link").replace({"base": base, "gravity": [0.0, 0.0, 0.0]})
        >>> model = arm.model()
        >>> model.generalised_jacobian(model.state(), frame="fore.root").shape
        (6, 4)
        """
        base = self._floating("generalised_jacobian")
        J, M = self.jacobian(q, p, frame), self.mass_matrix(q, p)
        rest = [k for k in range(self.n) if k not in base]
        H = M[..., base, :]
        return np.asarray(J[..., rest] - J[..., base] @ np.linalg.solve(H[..., base], H[..., rest]))

    @checked
    def stored_momentum(self, q: ArrayLike, qd: ArrayLike, joint: str, p: ArrayLike | None = None) -> Array:
        """Momentum `(...,)` along the motion of a joint of all that it carries, dT/dqd: what a reaction wheel stores.

        Of a wheel with the moment J about its axis a on a body that turns with omega it is h = J (Omega + a . omega),
        and the torque of its joint is dh/dt. A wheel that shall store h0 starts at the speed h0 / J - a . omega.

        Parameters
        ----------
        q : (..., n_q) array
            Coordinates.
        qd : (..., n) array
            Speeds.
        joint : str
            One of `joints`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (...,) array
            N m s, or N s of a sliding joint.

        Examples
        --------
        >>> base = pliant.robot.BaseBody(type="free", mass=50.0, inertia=[8.0, 9.0, 7.0])
        >>> wheel = pliant.Link.wheel("wheel", axis=(0, 0, 1), inertia=0.08)
        >>> model = pliant.Robot(name="spinner", gravity=[0, 0, 0], base=base, links=[wheel]).model()
        >>> model.stored_momentum(model.state(), [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 100.0], "wheel").round(6).item()
        8.04
        """
        if joint not in self.joints:
            raise ModelError(f"joint: got {joint!r}, expected one of {', '.join(self.joints)}")
        row = self.chain.shafts[self.joints.index(joint)].index
        return np.asarray((self.mass_matrix(q, p)[..., row, :] * np.asarray(qd, dtype=float)).sum(axis=-1))
