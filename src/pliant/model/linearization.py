"""Rest and small motion about a state: static rest, holding torques, frequencies, linear systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arrays import Array, Expression, StateLike
from pliant.base.derived import Same
from pliant.base.later import LaterModule
from pliant.base.signatures import checked, require_loads
from pliant.model.damping_drift import drifted_rows
from pliant.model.floating_base import FreeFlight
from pliant.model.states import EQUILIBRIUM, read_state
from pliant.model.stiffening_order import is_checked
from pliant.model.terms import StateSpace
from pliant.model.validity import slow, steep, tell
from pliant.options import HeldName, JointsName

if TYPE_CHECKING:
    from pliant.mechanics.loads.wrenches import Load
    from pliant.model import building, closed_statics, statics, stiffening_check
    from pliant.model.model import Model
else:  # what makes expressions, which a model whose functions are known goes without
    building, closed_statics, statics, stiffening_check = (
        LaterModule(f"pliant.model.{name}") for name in ("building", "closed_statics", "statics", "stiffening_check")
    )


class SmallMotion(FreeFlight):
    """What a model answers about rest and about small motions around it."""

    @checked
    def frequencies(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    ) -> Array:
        """Natural frequencies in Hz, ascending, undamped, about `q` under its holding torque.

        From the second derivative of the potential energy (gravity included) and the inertia matrix. "locked" holds
        motors where present, else joints; "free" holds nothing, so each free joint adds a zero or a pendulum
        frequency. An unstable direction (negative stiffness) is returned as a negative number. `loads` of
        `pliant.loads`, taken at t = 0, stiffen and soften: with stiffening, a compressed beam buckles where its
        frequency vanishes. Loads that follow the arm may let it flutter: of two motions exp(s t) with one frequency,
        the one that grows is negative, each |s|. With `rates` the arm spins steadily, and what is held spins on.

        Of a free base the first six are exactly zero, whatever follows: its rigid motions, in the order of
        `speeds[:6]`. Gravity, in which it falls, changes nothing; about loads and spins, in which nothing is at rest,
        ask `linearize`.

        Parameters
        ----------
        q : (n,) array, optional
            Where to linearise. By default static rest with the joints at zero (a sliding beam at its length), under
            gravity and `loads`; with `rates` the steady spin there. A free base under gravity falls: it takes the
            undeformed arm.
            What a state given in part leaves open is that of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            What is held.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        rates : (n_joints,) array or mapping, optional
            Steady rates of the joints, rad/s or m/s, about the state that `equilibrium` gives for them.

        Returns
        -------
        (k,) array
            Hz.

        Examples
        --------
        >>> print(pliant.load("two-link").model().frequencies().round(2))
        [ 2.13 16.37]
        """
        model = self._fitted(q, loads, p, rates)
        if model is not self:
            return model.frequencies(q, joints, loads, p, rates)
        state = statics.state_or_rest(self._model, q, p, loads, rates)
        found = statics.frequencies(self._model, state, self._free(joints == "locked"), loads, p, rates)
        tell(self._model, slow(found) if joints == "locked" else {})
        return found

    @checked
    def modes(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Squared frequencies (rad/s)^2, ascending, and mode shapes `(n, modes)` with Phi^T M Phi = 1.

        Of a free base the first six are its rigid motions, squares exactly zero, in the order of `speeds[:6]`: turns
        about the centre of mass of the whole, and shifts.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            Where to linearise. By default static rest with the joints at zero (a sliding beam at its length), under
            gravity and `loads`. A free base under gravity falls: it takes the undeformed arm.
            What a state given in part leaves open is that of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            What is held, as in `frequencies`.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        squares : (k,) array
            Squared frequencies, (rad/s)^2.
        shapes : (n, k) array
            Mode shapes; rows of what is held are zero.

        Examples
        --------
        >>> squares, shapes = pliant.load("two-link").model().modes(joints="free")
        >>> squares.shape, shapes.shape
        ((4,), (4, 4))
        """
        model = self._fitted(q, loads, p)
        if model is not self:
            return model.modes(q, joints, loads, p)
        return statics.modes(
            self._model, statics.state_or_rest(self._model, q, p, loads), self._free(joints == "locked"), loads, p
        )

    @checked
    def damping_ratios(
        self,
        q: StateLike | None = None,
        joints: JointsName = "locked",
        p: ArrayLike | None = None,
    ) -> Array:
        """Part of the critical damping of each mode of the arm, in the order of `frequencies`.

        Links, drives and joint friction together, linearised about rest; to first order in the damping, which is exact
        where it couples no modes. NaN where a mode has no frequency.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            Where to linearise. By default static rest with the joints at zero (a sliding beam at its length), under
            gravity. A free base under gravity falls: it takes the undeformed arm.
            What a state given in part leaves open is that of the undeformed arm, with loops closed.
        joints : "locked" or "free"
            What is held, as in `frequencies`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (k,) array

        Examples
        --------
        >>> robot = pliant.load("two-link").replace({"links.fore.shapes.damping": 0.02})
        >>> print(robot.model().damping_ratios().round(4))
        [0.0003 0.039 ]
        """
        model = self._fitted(q, (), p)
        if model is not self:
            return model.damping_ratios(q, joints, p)
        tell(self._model, drifted_rows(self._model, p))
        return statics.damping_ratios(
            self._model, statics.state_or_rest(self._model, q, p), self._free(joints == "locked"), p
        )

    @checked
    def stiffness(self, q: ArrayLike, loads: Sequence[Load] = (), p: ArrayLike | None = None) -> Array:
        """Hessian (n, n) of the potential energy, gravity included, less the slopes of the forces of `loads`.

        A free base falls with all that it carries, so that gravity holds and bends nothing: it is left out there.

        Parameters
        ----------
        q : (n,) array
            Coordinates.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        (n, n) array
            N m, N or N/m, by the units of the coordinates.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> K = model.stiffness(np.zeros(model.n))
        >>> bool(np.allclose(K, K.T))
        True
        """
        if len(loads):
            model = self._fitted(q, loads, p)
            if model is not self:
                return model.stiffness(q, loads, p)
            return self.stiffness(q, p=p) - statics.applied(self._model, loads, p)(q)[1]
        return self._call("stiffness", p, q)  # type: ignore[no-any-return]

    def _fitted(
        self, q: StateLike | None, loads: Sequence[Load] = (), p: ArrayLike | None = None, rates: Any = None,
        name: str = "q",
    ) -> Model:  # fmt: skip
        """This model, or the same with second order where loads, parameters or rates at a state ask for it."""
        if not is_checked(self._model):
            return self._model
        require_loads(loads)
        state = None if (isinstance(q, str) and q == EQUILIBRIUM) or (isinstance(q, Sized) and not len(q)) else q
        at, qd = read_state(self._model, state, name), read_state(self._model, rates, "rates")
        return stiffening_check.fitted(self._model, at, loads, p, qd)

    def _free(self, locked: bool) -> list[int]:
        held = {shaft.actuated for shaft in self.chain.shafts} if locked else set()
        return [k for k in range(self.n) if k not in held]

    @checked
    def equilibrium(
        self,
        joints: StateLike,
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        held: HeldName = "joints",
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
        stable: bool = False,
    ) -> Array:
        """Coordinates (n,) at static rest, or in steady spin, with the joints held at the given positions.

        Amplitudes, and motors of elastic drives, settle under gravity and `loads` (of `pliant.loads`, taken at t = 0);
        `holding_torque` of the result keeps the arm there. A free base stays where it is; it is refused where gravity
        or loads would move it.

        Parameters
        ----------
        joints : (n_joints,) array
            Positions at which the joints are held, rad or m. Of an arm with loops or passive joints also a whole state,
            or some of it by name: the actuated joints stay there, the others settle from there, loops closed, to a
            rest that is stable.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        held : "joints" or "motors"
            What stands at these positions: the joints, or the motors of elastic drives, behind which joints settle.
        rates : (n_joints,) array or mapping, optional
            Rates at which joints spin on, rad/s or m/s; refused where the arm would not settle.
        stable : bool
            Whether to go on from an unstable rest, such as a straight column above its buckling load, to a stable one:
            the bent column, which needs `pieces` in its beam. Of two mirror images either may be found. By default the
            rest that Newton's method finds from the undeformed arm is returned, and a warning says if it is unstable.
            Arms with loops or passive joints always settle to a stable rest.

        Returns
        -------
        (n,) array

        Examples
        --------
        >>> q = pliant.load("two-link").model().equilibrium([0.0, 0.0])
        >>> q.shape, bool((q[2:] < 0).all())  # both links sag
        ((4,), True)
        """
        model = self._fitted(joints, loads, p, rates, "joints")
        if model is not self:
            return model.equilibrium(joints, loads, p, held, rates, stable)
        statics.require_no_fall(self._model, p)
        q = statics.equilibrium(self._model, joints, loads, p, held, rates, stable)
        statics.require_balance(self._model, q, loads, p, rates)
        tell(self._model, steep(self._model, q))
        return q

    @checked
    def holding_torque(
        self,
        q: ArrayLike,
        loads: Sequence[Load] = (),
        p: ArrayLike | None = None,
        rates: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
    ) -> Array:
        """Torques (n_joints,) that balance the actuated coordinates at rest in `q`, or in steady spin, under `loads`.

        Parameters
        ----------
        q : (n,) array
            Coordinates at rest.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        rates : (n_joints,) array or mapping, optional
            Steady rates of the joints, rad/s or m/s.

        Returns
        -------
        (n_joints,) array
            N m or N.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> tau = model.holding_torque(model.equilibrium([0.0, 0.0]))
        >>> bool(tau[0] > tau[1] > 0)
        True
        """
        model = self._fitted(q, loads, p, rates)
        if model is not self:
            return model.holding_torque(q, loads, p, rates)
        if not self.layout.is_open:
            closed_statics.require_held_still(self._model, rates)
        return self._holding(np.asarray(q, dtype=float), statics.steady_rates(self._model, rates), loads, p)

    def _holding(self, q: Array, qd: Array, loads: Sequence[Load], p: ArrayLike | None) -> Array:
        """Torques under which nothing actuated accelerates."""
        if not self.layout.is_open:
            return closed_statics.holding_torque(self._model, q, qd, loads, p)
        rows = [shaft.actuated for shaft in self.layout.shafts]
        return np.asarray((self.bias(q, qd, p) - statics.applied(self._model, loads, p, qd)(q)[0])[rows])

    @checked
    def linearize(
        self,
        q: StateLike | None = None,
        qd: ArrayLike | Mapping[str, ArrayLike | Mapping[str, ArrayLike]] | None = None,
        tau: ArrayLike | None = None,
        outputs: Callable[[Expression, Expression], Expression] | None = None,
        p: ArrayLike | None = None,
        loads: Sequence[Load] = (),
        joints: JointsName = "free",
    ) -> StateSpace:
        """Exact linearisation about a state; `tau` defaults to the torque that balances the actuated coordinates there.

        `outputs(q, qd)` is a function in CasADi operations; without it y = x.

        Parameters
        ----------
        q : (n,) array, optional
            Coordinates of the state; by default static rest, as in `frequencies`.
        qd : (n,) array, optional
            Rates; zero by default.
        tau : (n_joints,) array, optional
            Torques; those that balance the actuated coordinates by default.
        outputs : function, optional
            y = outputs(q, qd) in CasADi operations; y = x by default. Where loops are closed, q and qd are all
            coordinates and speeds, and x those of `independent(q)`, which the others follow.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.
        loads : sequence of Load
            Objects of `pliant.loads`, taken at t = 0; also those that follow the arm.
        joints : "free" or "locked"
            "locked" holds motors where present, else joints: they stand, or go on at the rates that `qd` gives them,
            and are no part of x.

        Returns
        -------
        StateSpace
            `.A`, `.B`, `.C` and `.D` of x' = A x + B u, y = C x + D u with x = [q; qd] of what is not held.

        Examples
        --------
        >>> model = pliant.load("two-link").model()
        >>> system = model.linearize(model.equilibrium([0.0, 0.0]), outputs=lambda q, qd: q[:2])
        >>> system.A.shape, system.B.shape, system.C.shape
        ((8, 8), (8, 2), (2, 8))
        >>> push = pliant.loads.Wrench(force=[-20.0, 0.0, 0.0], axes="section")  # it follows the tip
        >>> model.linearize(model.equilibrium([0.0, 0.0], [push]), loads=[push], joints="locked").A.shape
        (4, 4)
        """
        model = self._fitted(q, loads, p, qd)
        if model is not self:
            return model.linearize(q, qd, tau, outputs, p, loads, joints)
        require_loads(loads)
        tell(self._model, drifted_rows(self._model, p))
        q, qd = statics.state_or_rest(self._model, q, p, loads), read_state(self._model, qd, "qd")
        tau = self._holding(q, qd, loads, p) if tau is None else tau
        free, n, m = self._free(joints == "locked"), self.n, self.n_joints
        if len(loads) or len(free) < n:
            slopes = self._slopes(tuple(loads), tuple(free))(q, qd, tau, self.values(p))
        else:
            slopes = self._kernel("linearize")(q, qd, tau, *self._extra(p))
        A21, A22, B2, A11 = (np.array(a, dtype=float).reshape(n, -1)[free] for a in slopes)
        slope = None if outputs is None else building.output_matrix(self._model, outputs, q, qd, self.values(p))
        if self.constraints:
            own, T = closed_statics.independent_motion(self._model, q, qd, free, p)
        else:
            own, T = free, np.eye(2 * n)[:, [*free, *(n + k for k in free)]]
        rows, f = [free.index(k) for k in own], len(own)
        A = np.vstack([np.hstack([A11, np.eye(n)[free]])[rows], np.hstack([A21, A22])[rows]]) @ T
        B = np.vstack([np.zeros((f, m)), B2[rows]])
        C = np.eye(2 * f) if slope is None else slope @ T
        return StateSpace(A, B, C, np.zeros((C.shape[0], m)))

    @checked
    def independent(
        self, q: StateLike | None = None, joints: JointsName = "free", p: ArrayLike | None = None
    ) -> tuple[str, ...]:
        """Names of speeds that loops leave independent about a closed state: what `linearize` gives its equations for.

        Passive joints follow before amplitudes do, and these before what is actuated.

        Parameters
        ----------
        q : (n,) array, the joints alone, or a mapping, optional
            A state with closed loops; the default of `linearize` by default.
        joints : "free" or "locked"
            What is held, as in `linearize`.
        p : (P,) array, optional
            Values of the model's parameters; nominal by default.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> pliant.load("two-link").model().independent()[:2]  # no loops: all
        ('upper', 'fore')
        """
        model = self._fitted(q, (), p)
        if model is not self:
            return model.independent(q, joints, p)
        free = self._free(joints == "locked")
        if self.constraints:
            state = statics.state_or_rest(self._model, q, p)
            free = closed_statics.independent_motion(self._model, state, np.zeros(self.n), free, p)[0]
        return tuple(self.speeds[k] for k in free)

    def _slopes(self, loads: tuple[Load, ...], free: tuple[int, ...]) -> Any:
        """Slopes of the accelerations by q, qd and tau, under loads and with all but `free` held."""
        key = (tuple(map(Same, loads)), free)
        return self.derived("slopes of accelerations", key, lambda: building.slopes(self._model, loads, free))
