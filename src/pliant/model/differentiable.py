"""Derivatives of forward and inverse dynamics as numbers: matrices, products with a direction or a row, and the change
of these products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array
from pliant.errors import ModelError
from pliant.model.terms import (
    ForwardDerivatives,
    ForwardDerivativesOfParameters,
    InverseDerivatives,
    InverseDerivativesOfParameters,
)
from pliant.model.traced import Traced

_named: Any = tuple.__new__  # the calls around a kernel of a microsecond count
FORWARD = {4: ForwardDerivatives, 5: ForwardDerivativesOfParameters}
INVERSE = {4: InverseDerivatives, 5: InverseDerivativesOfParameters}


class Differentiable(Traced):
    """What a model answers about changes of its state; compiled like its other functions.

    Displacements `dq` are along the speeds: n numbers, also where a joint has a quaternion; on all other arms they are
    changes of q.
    """

    def mass_matrix_inverse(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Inverse of the inertia matrix `(..., n, n)`, from its factors.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n, n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> product = model.mass_matrix_inverse(np.zeros(4)) @ model.mass_matrix(np.zeros(4))
        >>> bool(np.allclose(product, np.eye(4)))
        True
        """
        return self._call("mass_matrix_inverse", p, q)  # type: ignore[no-any-return]

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None
    ) -> ForwardDerivatives | ForwardDerivativesOfParameters:
        """Accelerations and their exact derivatives by q, qd and tau, and by the parameters where there are any.

        Arrays on a CUDA device, of CuPy, PyTorch or JAX, are taken where they are, and CuPy arrays given back, by this
        and by all functions of a state.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        ForwardDerivatives
            `.qdd` (..., n), `.dq` and `.dqd` (..., n, n), `.dtau` (..., n, n_joints); `.dp` (..., n, P) of a model with
            parameters. Rows are accelerations.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> qdd, dq, dqd, dtau = model.forward_dynamics_derivatives(np.zeros(4), np.zeros(4), np.zeros(2))
        >>> qdd.shape, dq.shape, dqd.shape, dtau.shape
        ((4,), (4, 4), (4, 4), (4, 2))
        """
        fast = self._fast.get("forward_dynamics_derivatives")
        found = None if fast is None or p is not None else fast(q, qd, tau)
        if found is None:
            found = self._call("forward_dynamics_derivatives", p, q, qd, tau)
        return _named(FORWARD[len(found)], found)  # type: ignore[no-any-return]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, p: ArrayLike | None = None
    ) -> InverseDerivatives | InverseDerivativesOfParameters:
        """Generalised forces and their exact derivatives by q, qd and qdd, and by the parameters where there are any.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        InverseDerivatives
            `.force` (..., n), `.dq`, `.dqd` and `.dqdd` (..., n, n), the last the inertia matrix; `.dp` (..., n, P) of
            a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.inverse_dynamics_derivatives(np.zeros(4), np.zeros(4), np.zeros(4))
        >>> bool(np.allclose(found.dqdd, model.mass_matrix(np.zeros(4))))
        True
        """
        found = self._call("inverse_dynamics_derivatives", p, q, qd, qdd)
        return _named(INVERSE[len(found)], found)  # type: ignore[no-any-return]

    def forward_dynamics_jvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dtau: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> Array:
        """Change `(..., n)` of the accelerations along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        dq, dqd, dtau : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        (..., n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> along = model.forward_dynamics_jvp(*rest, d, d, np.ones(2))
        >>> by = model.forward_dynamics_derivatives(*rest)
        >>> bool(np.allclose(along, by.dq @ d + by.dqd @ d + by.dtau @ np.ones(2)))
        True
        """
        found = self._call("forward_dynamics_jvp", p, q, qd, tau, changes=(dq, dqd, dtau, *self._change(dp)))
        return found  # type: ignore[no-any-return]

    def forward_dynamics_vjp(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, w: ArrayLike, p: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        """`w` times the derivatives of the accelerations: the gradient of w . qdd, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        w : (..., n) array
            Weights of the accelerations.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and tau, and by p of a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, w = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> by_q, by_qd, by_tau = model.forward_dynamics_vjp(*rest, w)
        >>> bool(np.allclose(by_q, w @ model.forward_dynamics_derivatives(*rest).dq))
        True
        """
        return self._call("forward_dynamics_vjp", p, q, qd, tau, changes=(w,))  # type: ignore[no-any-return]

    def forward_dynamics_hvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        w: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dtau: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> tuple[Array, ...]:
        """Second-order products: the change of `forward_dynamics_vjp` along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        tau : (..., n_joints) array
            Joint torques, N m (forces, N, of sliding joints).
        w : (..., n) array
            Weights of the accelerations.
        dq, dqd, dtau : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and tau, and by p of a model with parameters: the Hessian of w . qdd
            times the direction.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(2)], np.ones(4)
        >>> [row.shape for row in model.forward_dynamics_hvp(*rest, d, d, d, np.ones(2))]
        [(4,), (4,), (2,)]
        """
        changes = (w, dq, dqd, dtau, *self._change(dp))
        return self._call("forward_dynamics_hvp", p, q, qd, tau, changes=changes)  # type: ignore[no-any-return]

    def inverse_dynamics_jvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dqdd: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> Array:
        """Change `(..., n)` of the forces along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        dq, dqd, dqdd : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        (..., n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> along = model.inverse_dynamics_jvp(*rest, d, d, d)
        >>> by = model.inverse_dynamics_derivatives(*rest)
        >>> bool(np.allclose(along, by.dq @ d + by.dqd @ d + by.dqdd @ d))
        True
        """
        found = self._call("inverse_dynamics_jvp", p, q, qd, qdd, changes=(dq, dqd, dqdd, *self._change(dp)))
        return found  # type: ignore[no-any-return]

    def inverse_dynamics_vjp(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, w: ArrayLike, p: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        """`w` times the derivatives of the forces: the gradient of w . force, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        w : (..., n) array
            Weights of the forces.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and qdd, and by p of a model with parameters.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, w = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> by_q, by_qd, by_qdd = model.inverse_dynamics_vjp(*rest, w)
        >>> bool(np.allclose(by_q, w @ model.inverse_dynamics_derivatives(*rest).dq))
        True
        """
        return self._call("inverse_dynamics_vjp", p, q, qd, qdd, changes=(w,))  # type: ignore[no-any-return]

    def inverse_dynamics_hvp(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        w: ArrayLike,
        dq: ArrayLike,
        dqd: ArrayLike,
        dqdd: ArrayLike,
        p: ArrayLike | None = None,
        dp: ArrayLike | None = None,
    ) -> tuple[Array, ...]:
        """Second-order products: the change of `inverse_dynamics_vjp` along a direction, without any matrix.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        qdd : (..., n) array
            Accelerations.
        w : (..., n) array
            Weights of the forces.
        dq, dqd, dqdd : arrays
            The direction, along the speeds for q.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        dp : (P,) array, optional
            The direction of the parameters; none by default.

        Returns
        -------
        tuple of arrays
            By q (along the speeds), qd and qdd, and by p of a model with parameters: the Hessian of w . force
            times the direction.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rest, d = [np.zeros(4), np.zeros(4), np.zeros(4)], np.ones(4)
        >>> [row.shape for row in model.inverse_dynamics_hvp(*rest, d, d, d, d)]
        [(4,), (4,), (4,)]
        """
        changes = (w, dq, dqd, dqdd, *self._change(dp))
        return self._call("inverse_dynamics_hvp", p, q, qd, qdd, changes=changes)  # type: ignore[no-any-return]

    def _change(self, dp: ArrayLike | None) -> tuple[ArrayLike, ...]:
        """The direction of the parameters, as a kernel takes it."""
        if self.parameters:
            return (np.zeros(len(self.parameters)) if dp is None else dp,)
        if dp is not None and np.size(dp):
            raise ModelError("dp: this model has no parameters; make it with robot.model(parameters=[...])")
        return ()
