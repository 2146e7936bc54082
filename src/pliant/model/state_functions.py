"""What a model answers about a state: inertia, forces, accelerations, loops, energy, places of frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, StateLike
from pliant.base.later import LaterModule
from pliant.base.signatures import checked, shown
from pliant.errors import ModelError, warn_user
from pliant.model.differentiable import Differentiable
from pliant.model.states import read_state
from pliant.model.terms import DenocMatrices, DrivenTorques, Energy, Matrices, PartitionedMatrices, ScrewMatrices
from pliant.model.validity import tell

if TYPE_CHECKING:
    from pliant.mechanics.formulations import dual_screw, terms
    from pliant.mechanics.links import frames
    from pliant.model import assembly
else:  # what makes expressions, which a model whose functions are known goes without
    assembly = LaterModule("pliant.model.assembly")
    dual_screw, frames, terms = (
        LaterModule(f"pliant.mechanics.{name}")
        for name in ("formulations.dual_screw", "links.frames", "formulations.terms")
    )


class StateFunctions(Differentiable):
    """Functions of coordinates, speeds and torques, each one kernel or little more."""

    def mass_matrix(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Inertia matrix `(..., n, n)`, rotors included.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n, n) array
            kg m^2, kg m or kg, by the units of the coordinates.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> M = model.mass_matrix(np.zeros(model.n))
        >>> bool((np.linalg.eigvalsh(M) > 0).all())
        True
        """
        return self._call("mass_matrix", p, q)  # type: ignore[no-any-return]

    def bias(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """`(..., n)`: gravity, elastic, damping, friction and velocity terms.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., n) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.bias(np.zeros(model.n), np.zeros(model.n)).round(3))
        [ 98.1    24.525 204.023  38.406]
        """
        return self._call("bias", p, q, qd)  # type: ignore[no-any-return]

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Accelerations `(..., n)` under joint torques `(..., n_joints)`.

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
        (..., n) array
            rad/s^2 or m/s^2.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> states = np.zeros((1000, model.n))  # a thousand states at once
        >>> model.forward_dynamics(states, states, np.zeros((1000, 2))).shape
        (1000, 4)
        """
        return self._call("forward_dynamics", p, q, qd, tau)  # type: ignore[no-any-return]

    def multipliers(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Forces and moments `(..., rows)` that hold loops together under joint torques, in the order of `constraints`.

        M qdd + bias = S tau + J^T multipliers, with the slopes J of the rows. Each is what the first frame of the loop
        exerts on the second, along or about an axis of the first.

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
        (..., rows) array
            N or N m.

        Examples
        --------
        >>> pliant.load("two-link").model().multipliers(np.zeros(4), np.zeros(4), np.zeros(2)).shape  # no loops
        (0,)
        """
        if not self.constraints:
            return np.zeros((*_leading(q), 0))
        return self._call("multipliers", p, q, qd, tau)  # type: ignore[no-any-return]

    def gaps(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """How far loops are open `(..., rows)`, in the order of `constraints`.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., rows) array
            m or rad.

        Examples
        --------
        >>> pliant.load("two-link").model().gaps(np.zeros(4)).shape  # no loops
        (0,)
        """
        if not self.constraints:
            return np.zeros((*_leading(q), 0))
        return self._call("gaps", p, q)  # type: ignore[no-any-return]

    @checked
    def assemble(
        self, q: StateLike | None = None, held: Sequence[str] = (), p: ArrayLike | None = None
    ) -> Array:  # fmt: skip
        """A closed position (n_q,) near `q`: steps to it are the smallest that the inertia matrix measures.

        Parameters
        ----------
        q : as `q0` of `simulate`, optional
            Coordinates that need not close the loops.
        held : sequence of str
            Speeds of coordinates that stay, such as that of a crank. Places of passive joints among them are a first
            guess: they move where the other joints cannot close the loops, and links bend only where no joint can. A
            warning says what moves by more than a milliradian, or a thousandth of the arm's size.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (n_q,) array

        Raises
        ------
        ModelError
            A loop cannot be closed; the message names it and its gap.

        Examples
        --------
        >>> print(pliant.load("two-link").model().assemble({"fore": 0.3}))  # no loops
        [0.  0.3 0.  0. ]
        """
        state, values = read_state(self._model, q), self.values(p)
        stays = {self.speed_index(name) for name in held}
        if not self.constraints:
            return state
        by = assembly.mechanism(self._model, values)
        guessed = stays & set(by.passive)
        found = by.closed(state, stays - guessed, guessed)
        given = dict.fromkeys([name for name in held if name in self.coordinates], 0.0)
        tell(self._model, assembly.told_positions(self._model, state, found, given, "q", values))
        return found

    def driven_dynamics(
        self, q: ArrayLike, qd: ArrayLike, driven: ArrayLike, p: ArrayLike | None = None
    ) -> DrivenTorques:
        """Torques that give what is actuated these accelerations, while passive joints and amplitudes move as they
        must and loops stay closed.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        driven : (..., n_joints) array
            Accelerations of the actuated coordinates, in the order of `joints`: motors of elastic drives, else joints.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        DrivenTorques
            `.tau` (..., n_joints), N m or N, `.qdd` (..., n) and `.multipliers` (..., rows).

        Raises
        ------
        ModelError
            Loops leave fewer freedoms than there are actuated joints, which cannot move as they like.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.driven_dynamics(np.zeros(4), np.zeros(4), [1.0, 0.0])
        >>> again = model.forward_dynamics(np.zeros(4), np.zeros(4), found.tau)
        >>> bool(np.allclose(again, found.qdd)), found.qdd[0].item()
        (True, 1.0)
        """
        if self.constraints and self.n_joints > self.layout.mobility:
            raise ModelError(
                f"driven_dynamics: loops leave {self.layout.mobility} freedoms to {self.n_joints} actuated joints "
                f"({', '.join(self.joints)}); make the others passive (`actuated: false`)"
            )
        tau, qdd, *pull = self._call("driven_dynamics", p, q, qd, driven)
        return DrivenTorques(tau, qdd, pull[0] if pull else np.zeros((*np.shape(qdd)[:-1], 0)))

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Generalised forces `(..., n)` that give accelerations `qdd`: M qdd + bias.

        Of an arm with loops or passive joints these are the forces of torques and loops together, S tau + J^T
        multipliers; `driven_dynamics` tells them apart.

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
        (..., n) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> q, qd = np.zeros(model.n), np.zeros(model.n)
        >>> qdd = model.forward_dynamics(q, qd, [30.0, 10.0])
        >>> print(model.inverse_dynamics(q, qd, qdd)[:2].round(6))
        [30. 10.]
        """
        return self._call("inverse_dynamics", p, q, qd, qdd)  # type: ignore[no-any-return]

    def energy(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None) -> Energy:
        """Kinetic, gravity and strain energy, in joules.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        Energy
            `.kinetic`, `.gravity`, `.strain` and `.total`, each with the leading axes of the state, J.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> rate = np.array([1.0, 0.0, 0.0, 0.0])
        >>> bool(model.energy(np.zeros(model.n), rate).kinetic > 0)
        True
        """
        values = self._call("energy", p, q, qd)
        return Energy(values[..., 0], values[..., 1], values[..., 2])

    def tip_pose(self, q: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Pose `(..., 4, 4)` of the distal frame of the last link, in the base.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (..., 4, 4) array
            Homogeneous transform, lengths in m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.tip_pose(np.zeros(model.n))[:3, 3])
        [2. 0. 0.]
        """
        return self._call("tip_pose", p, q)  # type: ignore[no-any-return]

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: `tip` of the last link, `base`, the robot's own, and `NAME.root`, `NAME.tip` of every
        link."""
        return tuple(frames.frame_names(self.chain))

    def pose(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Pose `(..., 4, 4)` of a frame, in the base.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`.

        Returns
        -------
        (..., 4, 4) array
            Homogeneous transform, lengths in m.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.pose(np.zeros(model.n), frame="fore.root")[:3, 3])
        [1. 0. 0.]
        """
        return self._call(self._framed("pose", frame), p, q)  # type: ignore[no-any-return]

    def velocity(self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Velocity `(..., 6)` [angular; linear] of a frame, in base axes.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`.

        Returns
        -------
        (..., 6) array
            rad/s and m/s.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.velocity(np.zeros(model.n), [1.0, 0.0, 0.0, 0.0], frame="fore.root"))
        [0. 0. 1. 0. 1. 0.]
        """
        J = self.jacobian(q, p, frame)
        return np.asarray(np.einsum("...ij,...j->...i", J, np.asarray(qd, dtype=float)))

    def _framed(self, function: str, frame: str) -> str:
        """Name of a function of a frame; what there was before frames keeps its own."""
        if not isinstance(frame, str):
            raise ModelError(f"frame: got {frame!r}, expected one of {', '.join(self.frames)}")
        if frame == "tip":
            return {"pose": "tip_pose"}.get(function, function)
        if frame != "base":
            frames.frame_of(self.chain, frame)
        return f"{function} {frame}"

    def jacobian(self, q: ArrayLike, p: ArrayLike | None = None, frame: str = "tip") -> Array:
        """Jacobian `(..., 6, n)` [angular; linear] of a frame, in base axes.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        frame : str
            One of `frames`; the distal frame of the last link by default.

        Returns
        -------
        (..., 6, n) array

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> print(model.jacobian(np.zeros(model.n))[4, :2])  # m/s along y per rad/s
        [2. 1.]
        """
        return self._call(self._framed("jacobian", frame), p, q)  # type: ignore[no-any-return]

    def matrices(
        self, q: ArrayLike, qd: ArrayLike, p: ArrayLike | None = None
    ) -> Matrices | PartitionedMatrices | ScrewMatrices:
        """The terms of the equations of motion by name, as the source of the formulation writes them.

        "lagrange" gives the partitioned form M_rr, M_rf, M_ff, h, c, K of [TG95] (26); "dual-screw" M, C, K of [CE21]
        (112) with the smallest eigenvalue of M (and a warning where it is not positive); all others M, h, c, K. Each
        has the forces `d` of dampers and friction besides.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        qd : (..., n) array
            Their rates.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        Matrices, PartitionedMatrices or ScrewMatrices
            Named arrays.

        Examples
        --------
        >>> model = pliant.load("two-link").model("lagrange")
        >>> model.matrices(np.zeros(model.n), np.zeros(model.n)).M_ff.shape
        (2, 2)
        """
        values = self._call("matrices", p, q, qd)
        if self.options.formulation == "lagrange":
            return PartitionedMatrices(*values)
        if self.options.formulation != "dual-screw":
            return Matrices(*values)
        M, C, K, g, d = values
        smallest = dual_screw.smallest_eigenvalue(M)
        if (smallest <= 0).any():
            warn_user(
                f"matrices: the smallest eigenvalue of M is {smallest.min():.3g}; the inertia matrix of 'dual-screw' "
                "is linear in the amplitudes and these are too large for it: use another formulation"
            )
        return ScrewMatrices(M, C, K, g, d, smallest)

    def denoc_matrices(self, q: ArrayLike, p: ArrayLike | None = None) -> DenocMatrices:
        """N_l, N_d, block-diagonal M, generalised inertia matrix and its U D U^T factors of [MS07], for any model.

        Parameters
        ----------
        q : (..., n) array
            Coordinates: joints, motors, amplitudes (rad or m).
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        DenocMatrices
            Named arrays, and the order of their rows.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> found = model.denoc_matrices(np.zeros(model.n))
        >>> bool(np.allclose(found.U @ np.diag(found.D) @ found.U.T, found.GIM))
        True
        """
        names = tuple(self.speeds[k] for k in terms.elimination_order(self.chain))
        N_l, N_d, M, GIM, U, D = self._call("denoc_matrices", p, q)
        return DenocMatrices(N_l, N_d, M, GIM, U, D, names)

    @cached_property
    def actuation(self) -> Array:
        """(n, n_joints) matrix S of `M qdd + bias = S tau`: a drive's torque acts on its motor, else on its joint."""
        S = np.zeros((self.n, self.n_joints))
        for column, shaft in enumerate(self.layout.shafts):
            S[shaft.actuated, column] = 1.0
        return S


def _leading(q: ArrayLike) -> tuple[int, ...]:
    """Shape of a batch of states."""
    try:
        return np.asarray(q, dtype=float).shape[:-1]
    except (TypeError, ValueError):
        raise ModelError(f"q: got {shown(q)}, expected (..., n) finite numbers") from None
