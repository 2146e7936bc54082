"""Loads: forces and moments on a section, or spread along a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from pliant.algebra.rotations import SX
from pliant.arrays import Array
from pliant.base.signatures import checked
from pliant.errors import ModelError
from pliant.mechanics.links.chain import Chain, ChainLink
from pliant.mechanics.links.frames import seat
from pliant.mechanics.links.stations import station_rule
from pliant.mechanics.loads.point_wrenches import PointWrench, Stretch, Vector, from_axes, generalised_forces, vector
from pliant.options import AxesName, Station, WrenchAxesName
from pliant.robot.stations import locate, places_of, whole_length

ZERO = (0.0, 0.0, 0.0)


class Load(Protocol):
    """A load of `simulate` and of the statics of a model: any object with this method."""

    def expression(self, chain: Chain, t: SX, q: SX, qd: SX) -> SX:
        """(n,) generalized forces.

        Parameters
        ----------
        chain : Chain
            The arm as maps.
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.

        Returns
        -------
        expression
            (n, 1), N m or N.
        """


@checked
@dataclass(frozen=True, eq=False)
class Wrench:
    """Force (N) and moment (N m) on one section of one link, or at the origin of a frame.

    Parameters
    ----------
    force, moment : vector
        Three numbers, or a function of t or of (t, q, qd) in CasADi operations.
    link : str or int, optional
        Name or number; the last link by default.
    x : float or "tip" or "middle"
        Station in meters from the root of the link.
    axes : "base", "link", "section" or "frame"
        A dead load keeps its direction in the base; a follower load turns with the section. At the tip, the axes of
        the section are those of the tip frame. "frame": the axes of `frame`, which may be turned from its section.
    frame : str, optional
        In place of `link` and `x`: one of `model.frames`. The wrench acts at its origin.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> weight = pliant.loads.Wrench(force=[0.0, -10.0, 0.0])  # at the tip of the last link
    >>> print((model.holding_torque(np.zeros(4), loads=[weight]) - model.holding_torque(np.zeros(4))).round(6))
    [20. 10.]
    >>> pliant.simulate(model, 0.05, loads=[weight]).stats.status
    'finished'
    >>> push = pliant.loads.Wrench(force=[0.0, -10.0, 0.0], frame="fore.root", axes="frame")
    """

    force: Vector = ZERO
    moment: Vector = ZERO
    link: str | int = -1
    x: float | Station = "tip"
    axes: WrenchAxesName = "base"
    frame: str | None = None

    def __post_init__(self) -> None:
        if self.frame is not None and (self.link != -1 or self.x != "tip"):
            raise ModelError(f"frame: got {self.frame!r} beside `link` or `x`, expected one place; remove them")
        if self.frame is None and self.axes == "frame":
            raise ModelError("axes: got 'frame' without a frame, expected 'base', 'link' or 'section'; name a `frame`")

    def points(self, chain: Chain, t: SX, q: SX, qd: SX, within: Stretch | None = None) -> list[PointWrench]:
        """The loaded section; with `within` (link, from, to), only if it lies there.

        Parameters
        ----------
        chain : Chain
            The arm as maps.
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.
        within : (int, float, float or None), optional
            Link, and parts of its length between which the load counts; all of it by default.

        Returns
        -------
        list of PointWrench
            One, or none.

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> t, q, qd = casadi.SX.sym("t"), casadi.SX.sym("q", model.n_q), casadi.SX.sym("qd", model.n)
        >>> [point] = pliant.loads.Wrench(force=[0.0, -10.0, 0.0]).points(model.chain, t, q, qd)
        >>> point.place, point.eta
        (1, 1.0)
        """
        if within is not None and self.frame is None and within[0] not in places_of(chain, self.link):
            return []  # without the axes of the load, which take the whole arm
        place, eta, R, offset = self._place(chain, q)
        if within is not None:
            only, low, high = within
            x = 0.0 if eta is None else eta
            if place != only or x < low or (high is not None and x >= high):
                return []
        f, n = vector("force", self.force, t, q, qd), vector("moment", self.moment, t, q, qd)
        f, n = ca.mtimes(R, f), ca.mtimes(R, n)
        return [PointWrench(place, eta, n if offset is None else n + ca.cross(offset, f), f)]

    def _place(self, chain: Chain, q: SX) -> tuple[int, float | None, SX, SX | None]:
        """Link, section, rotation of the given axes into link axes, and the way from the section to the load there."""
        if self.frame is None:
            place, eta = locate(chain, self.link, self.x, material=True)
            return place, eta, from_axes(chain, place, eta, self.axes, q), None
        here = seat(chain, q, self.frame)
        R = here.R if self.axes == "frame" else from_axes(chain, here.link, here.eta, self.axes, q)
        return here.link, here.eta, R, here.offset

    def expression(self, chain: Chain, t: SX, q: SX, qd: SX) -> SX:
        """(n,) generalized forces.

        Parameters
        ----------
        chain : Chain
            The arm as maps.
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.

        Returns
        -------
        expression
            (n, 1), N m or N.

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> q, qd = casadi.SX.sym("q", model.n_q), casadi.SX.sym("qd", model.n)
        >>> pliant.loads.Wrench(force=[0.0, -10.0, 0.0]).expression(model.chain, casadi.SX.sym("t"), q, qd).shape
        (4, 1)
        """
        return generalised_forces(chain, q, self.points(chain, t, q, qd))


@checked
@dataclass(frozen=True, eq=False)
class Distributed:
    """Force per length (N/m), and moment per length (N), along a link or a part of it.

    Parameters
    ----------
    force, moment : vector
        As in `Wrench`, per meter of the undeformed beam.
    link : str or int, optional
        The last link by default.
    start, end : float or "tip" or "middle"
        Stations in meters between which the load acts: the whole link by default.
    axes : "base", "link" or "section"
    profile : function, optional
        Factor on the load over x in meters, with NumPy arrays.

    Examples
    --------
    >>> model = pliant.load("two-link").model()
    >>> wind = pliant.loads.Distributed(force=[0.0, -20.0, 0.0], link="fore", profile=lambda x: x)
    >>> tau = model.holding_torque(np.zeros(model.n), loads=[wind]) - model.holding_torque(np.zeros(model.n))
    >>> print(tau.round(4))
    [16.6667  6.6667]
    """

    force: Vector = ZERO
    moment: Vector = ZERO
    link: str | int = -1
    start: float | Station = 0.0
    end: float | Station = "tip"
    axes: AxesName = "base"
    profile: Callable[[Array], ArrayLike] | None = None

    def points(self, chain: Chain, t: SX, q: SX, qd: SX, within: Stretch | None = None) -> list[PointWrench]:
        """Gauss points of the loaded stretch; with `within` (link, from, to), of its part there.

        Parameters
        ----------
        chain : Chain
            The arm as maps.
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.
        within : (int, float, float or None), optional
            Link, and parts of its length between which the load counts; all of it by default.

        Returns
        -------
        list of PointWrench

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> t, q, qd = casadi.SX.sym("t"), casadi.SX.sym("q", model.n_q), casadi.SX.sym("qd", model.n)
        >>> len(pliant.loads.Distributed(force=[0.0, -20.0, 0.0]).points(model.chain, t, q, qd)) > 1
        True
        """
        start, end = (locate(chain, self.link, x, material=True) for x in (self.start, self.end))
        if start >= end:
            raise ModelError(f"start, end: got {self.start!r}, {self.end!r}; expected the start nearer to the root")
        found = []
        for place in places_of(chain, self.link):
            if start[0] <= place <= end[0]:
                low, high = start[1] if place == start[0] else 0.0, end[1] if place == end[0] else 1.0
                found += self._on_piece(chain, place, low, high, (t, q, qd), within)
        return found

    def _on_piece(
        self, chain: Chain, place: int, low: float, high: float, state: tuple[SX, SX, SX], within: Stretch | None
    ) -> list[PointWrench]:
        """Gauss points between two parts of the length of a piece."""
        link, (t, q, qd) = chain.links[place], state
        if within is not None:
            only, inner, outer = within
            low, high = max(low, inner), high if outer is None else min(high, outer)
            if place != only or low >= high:
                return []
        length, rule = link.length, station_rule(link, low, high)
        weights = rule.weight * self._factor(link, rule.eta)
        f, n = vector("force", self.force, t, q, qd), vector("moment", self.moment, t, q, qd)
        R = from_axes(chain, place, 0.0, self.axes, q)
        found = []
        for eta, weight in zip(rule.eta.tolist(), weights.tolist()):
            if self.axes == "section":
                R = from_axes(chain, place, eta, self.axes, q)
            found.append(PointWrench(place, eta, ca.mtimes(R, n) * weight * length, ca.mtimes(R, f) * weight * length))
        return found

    def _factor(self, link: ChainLink, eta: np.ndarray) -> np.ndarray:
        if self.profile is None:
            return np.ones_like(eta)
        low, high = link.piece.low, link.piece.high
        part = eta if link.piece.count == 1 else low + (high - low) * eta
        values = np.asarray(self.profile(part * whole_length(link.fact)), dtype=float)
        if values.shape != eta.shape or not np.isfinite(values).all():
            raise ModelError(f"profile: shape {values.shape} for {eta.shape} stations; expected one finite number each")
        return values

    def expression(self, chain: Chain, t: SX, q: SX, qd: SX) -> SX:
        """(n,) generalized forces.

        Parameters
        ----------
        chain : Chain
            The arm as maps.
        t : expression
            Time, s.
        q, qd : (n, 1) expression
            Coordinates and rates.

        Returns
        -------
        expression
            (n, 1), N m or N.

        Examples
        --------
        >>> import casadi
        >>> model = pliant.load("two-link").model()
        >>> q, qd = casadi.SX.sym("q", model.n_q), casadi.SX.sym("qd", model.n)
        >>> pliant.loads.Distributed(force=[0.0, -20.0, 0.0]).expression(model.chain, casadi.SX.sym("t"), q, qd).shape
        (4, 1)
        """
        return generalised_forces(chain, q, self.points(chain, t, q, qd))
