"""A flexible body as numbers: mass integrals of its shapes, stiffness, frames and surface, and the file of them.

A point X of the undeformed body, seen from the root frame, is at X + sum phi_j(X) c_j: the displacement is linear in
the k coordinates c, and every shape phi_j leaves the root where it is. So all that the equations of motion take of a
body are integrals over its mass; where they come from (a mesh, a finite-element program, a beam) is not asked.

A body may know where it is to second order: b shapes chi_a more, of unit strain energy, that its coordinates take along
by b_a(c) = c^T forms_a c / 2. They cost no energy and are no coordinates.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import os
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from pliant.arrays import Array
from pliant.base.reading import read_input
from pliant.base.writing import atomic_write
from pliant.errors import ModelError
from pliant.robot.parts.fields import LARGEST

FORMAT = 1
MOST_BYTES = 256 << 20
"""Most bytes of a file, and of the arrays that are packed in it."""
ROOT, TIP = "root", "tip"
BEYOND = tuple(f"beyond_{name}" for name in ("forms", "eps", "arms", "products", "shift", "turn"))
"""Entries of a body that knows where it is to second order; all or none."""
LINEAR: dict[str, Array] = dict.fromkeys(BEYOND, np.zeros(0))
_SYMMETRY = 1e-9
_ORTHONORMAL = 1e-9
_NEGATIVE = 1e-9
"""Smallest eigenvalue of what is not negative, of a scaled matrix: rounding."""
_NOT_MASSES = 0.1
"""Smallest eigenvalue of integrals of shapes; elements whose nodes turn have them roughly, and only in sum."""
_ROUGHLY = 2.0
"""Largest ratio of the inertia by these integrals to that of the mass matrix, or of the latter to the former."""
_ALIKE = 1e-6
"""Part of the largest entry by which `gram` of a solid may differ from the traces of `products`."""
_ROUNDED = 1e-4
"""Smallest eigenvalue of integrals of solids, whose shapes may nearly depend on each other after the scaling."""
MOST_ENTRIES = 10_000
"""Most arrays in a file."""
_NAME, _FRAME = re.compile(r"[A-Za-z_][\w.]{0,63}", re.ASCII), re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)


@dataclass(frozen=True, eq=False)
class ReducedBody:
    """Numbers of a flexible body of k coordinates, in SI units, in the axes of its root frame.

    Attributes
    ----------
    mass : float
        Mass, kg.
    first : (3,) array
        int X dm, kg m.
    second : (3, 3) array
        int X X^T dm, kg m^2.
    eps : (3, k) array
        int phi_j dm.
    arms : (k, 3, 3) array
        int X phi_j^T dm.
    products : (k, k, 3, 3) array
        int phi_i phi_j^T dm.
    gram : (k, k) array
        Mass matrix of the coordinates: the traces of `products`, and what turning nodes add.
    stiffness : (k, k) array
        Stiffness matrix of the coordinates.
    damping : (k, k) array
        Damping matrix of the coordinates.
    names : tuple of str
        Names of the coordinates, of letters, digits, _ and dots: "mode.1", say.
    frames : tuple of str
        Names of the interface frames, of letters, digits and _; "root" is the first and "tip" the second.
    places : (f, 3) array
        Origins of the frames, m.
    axes : (f, 3, 3) array
        Rotations of the frames: columns are their axes.
    shift, turn : (f, 3, k) arrays
        Displacement and small rotation of each frame per coordinate.
    spin : (3, k) array
        int j theta_j of nodes with rotary inertia; zero for solids.
    vertices : (v, 3) array
        Points of the surface, m.
    triangles : (t, 3) array
        Triangles of the surface, as indices of vertices.
    moves : (v, 3, k) array
        Shapes at the vertices.
    stress : (v, 6, k) array
        Stress per coordinate at the vertices, Pa: xx, yy, zz, yz, xz, xy.
    beyond_forms : (b, k, k) array
        Amplitude of each shape beyond first order: b_a(c) = c^T forms_a c / 2, in J^(1/2).
    beyond_eps : (3, b) array
        int chi_a dm.
    beyond_arms : (b, 3, 3) array
        int X chi_a^T dm.
    beyond_products : (b, k + b, 3, 3) array
        int chi_a phi_j^T dm, then int chi_a chi_b^T dm.
    beyond_shift, beyond_turn : (f, 3, b) arrays
        Displacement and small rotation of each frame by these shapes.
    about : str
        Source of the body: file, material, elements, interfaces, cut-off.
    """

    mass: float
    first: Array
    second: Array
    eps: Array
    arms: Array
    products: Array
    gram: Array
    stiffness: Array
    damping: Array
    names: tuple[str, ...]
    frames: tuple[str, ...]
    places: Array
    axes: Array
    shift: Array
    turn: Array
    spin: Array = field(default_factory=lambda: np.zeros((3, 0)))
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: Array = field(default_factory=lambda: np.zeros((0, 3)))
    moves: Array = field(default_factory=lambda: np.zeros((0, 3, 0)))
    stress: Array = field(default_factory=lambda: np.zeros((0, 6, 0)))
    beyond_forms: Array = field(default_factory=lambda: np.zeros(0))
    beyond_eps: Array = field(default_factory=lambda: np.zeros(0))
    beyond_arms: Array = field(default_factory=lambda: np.zeros(0))
    beyond_products: Array = field(default_factory=lambda: np.zeros(0))
    beyond_shift: Array = field(default_factory=lambda: np.zeros(0))
    beyond_turn: Array = field(default_factory=lambda: np.zeros(0))
    about: str = ""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.names)

    @property
    def beyond(self) -> int:
        """Number of shapes beyond first order; 0 for a linear body."""
        return len(self.beyond_forms)

    def __post_init__(self) -> None:
        k = self.size
        if self.spin.shape == (3, 0) and k:
            object.__setattr__(self, "spin", np.zeros((3, k)))
        vertices, triangles = (len(np.atleast_1d(each)) for each in (self.vertices, self.triangles))
        counts = len(self.frames), vertices, triangles, self.beyond
        for name, shape in _shapes(k, *counts).items():
            value = np.asarray(getattr(self, name), dtype=float)
            if name == "triangles":
                if not (value == np.floor(value)).all():
                    raise ModelError("body: `triangles` has numbers that are not whole")
                value = value.astype(int)
            if value.size == 0 and name in ("moves", "stress"):
                value = np.zeros((0, *shape[1:]))
            elif value.size == 0 and name in BEYOND and not self.beyond:
                value = np.zeros(shape)
            elif value.shape != shape:
                raise ModelError(f"body: `{name}` has shape {value.shape}, expected {shape}")
            if not (np.isfinite(value) & (np.abs(value) <= LARGEST)).all():
                raise ModelError(f"body: `{name}` has numbers that are not finite, or beyond {LARGEST:g}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not 0 < self.mass <= LARGEST:
            raise ModelError(f"body: mass must be above 0, got {self.mass:g}")
        if self.frames[:2] != (ROOT, TIP):
            raise ModelError(f"body: frames must begin with root and tip, got {', '.join(self.frames)}")
        for kind, pattern in (("names", _NAME), ("frames", _FRAME)):
            given = getattr(self, kind)
            counts = Counter(given)
            odd = [name for name in given if pattern.fullmatch(name) is None or counts[name] > 1]
            if odd:
                raise ModelError(f"body: `{kind}` has {odd[0]!r}, expected different names of letters, digits and _")
        still = (self.places, self.shift, self.turn, self.beyond_shift, self.beyond_turn)
        if any(moved[0].any() for moved in still) or (self.axes[0] != np.eye(3)).any():
            raise ModelError("body: the root frame must be the origin, and no shape may move it")
        for name in ("second", "gram", "stiffness", "damping", "beyond_forms"):
            value = getattr(self, name)
            if value.size and np.abs(value - value.swapaxes(-1, -2)).max() > _SYMMETRY * np.abs(value).max():
                raise ModelError(f"body: `{name}` is not symmetric")
        if self.size and np.linalg.eigvalsh(self.gram)[0] <= 0:
            raise ModelError("body: the mass matrix of its coordinates is not positive: shapes depend on each other")
        if self.size and np.linalg.eigvalsh(self.stiffness)[0] <= 0:
            raise ModelError("body: its stiffness is singular: a shape that costs no energy, is the root held?")
        if _least(self.damping) < -_NEGATIVE:
            raise ModelError("body: its damping gives energy to a shape, expected one that takes energy from all")
        if np.abs(self.axes @ self.axes.swapaxes(1, 2) - np.eye(3)).max() > _ORTHONORMAL:
            raise ModelError("body: `axes` has frames whose axes are not of length 1 and at right angles")
        if np.linalg.det(self.axes).min() < 0:
            raise ModelError("body: `axes` has a left-handed frame")
        self._check_masses()
        if self.triangles.size and not 0 <= self.triangles.min() <= self.triangles.max() < len(self.vertices):
            raise ModelError("body: a triangle names a vertex that is not there")

    def _check_masses(self) -> None:
        """Check that all integrals are those of one distribution of positive masses.

        The fields 1, X and phi_j have products in it, and the motions of the root and the coordinates a kinetic energy:
        neither matrix has a negative eigenvalue.
        """
        k, fields = self.size, self._products_of_fields()
        if _least(fields[:4, :4], 1) < -_NEGATIVE:
            raise ModelError("body: `mass`, `first` and `second` are not those of any distribution of masses")
        motions = np.zeros((6 + k, 6 + k))
        s, arms = self.first, self.arms
        motions[:3, :3] = np.trace(self.second) * np.eye(3) - self.second
        motions[:3, 3:6] = [[0.0, -s[2], s[1]], [s[2], 0.0, -s[0]], [-s[1], s[0], 0.0]]
        motions[3:6, 3:6], motions[3:6, 6:], motions[6:, 6:] = self.mass * np.eye(3), self.eps, self.gram
        turned = (arms[:, 1, 2] - arms[:, 2, 1], arms[:, 2, 0] - arms[:, 0, 2], arms[:, 0, 1] - arms[:, 1, 0])
        motions[:3, 6:] = self.spin + turned
        if _least(np.triu(motions) + np.triu(motions, 1).T, 3, 6) < -_NEGATIVE:
            raise ModelError("body: a motion has negative kinetic energy: `eps`, `arms` and `gram` do not fit its mass")
        moving, turns = np.trace(self.products, axis1=2, axis2=3), bool(self.spin.any())
        ratio = np.trace(moving) / np.trace(self.gram) if k else 1.0
        if _least(moving) < -_NOT_MASSES or (not turns and _least(fields[: 4 + 3 * k, : 4 + 3 * k], 1, 4) < -_ROUNDED):
            raise ModelError("body: `eps`, `arms` and `products` are not those of any distribution of masses")
        if not 1 / _ROUGHLY < ratio < _ROUGHLY:
            raise ModelError(f"body: `products` have {ratio:.3g} of the inertia of `gram`")
        if not turns and np.abs(self.gram - moving).max(initial=0.0) > _ALIKE * np.abs(self.gram).max(initial=0.0):
            raise ModelError("body: `gram` is not the traces of `products`, as it is without `spin` of turning nodes")
        mixed = self.beyond_products[:, k:]
        if np.abs(mixed - mixed.transpose(1, 0, 3, 2)).max(initial=0.0) > _SYMMETRY * np.abs(mixed).max(initial=0.0):
            raise ModelError("body: `beyond_products` is not symmetric")
        if self.beyond and not turns and _least(fields, 1, 4, 4 + 3 * k) < -_ROUNDED:
            raise ModelError("body: `beyond_eps`, `beyond_arms` and `beyond_products` are not those of its masses")

    def _products_of_fields(self) -> Array:
        """Integrals of products of the fields 1, X, phi_j and chi_a over the mass, component by component."""
        b = self.lifted if self.beyond else self
        k = b.size
        fields = np.zeros((4 + 3 * k, 4 + 3 * k))
        fields[0, 0], fields[0, 1:4], fields[1:4, 1:4] = b.mass, b.first, b.second
        fields[0, 4:], fields[1:4, 4:] = b.eps.T.ravel(), b.arms.transpose(1, 0, 2).reshape(3, -1)
        fields[4:, 4:] = b.products.transpose(0, 2, 1, 3).reshape(3 * k, 3 * k)
        return np.triu(fields) + np.triu(fields, 1).T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReducedBody) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<body of {self.mass:.4g} kg, {self.size} coordinates, frames {', '.join(self.frames)}>"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its numbers: equal bodies have equal digests, on every machine."""
        made = hashlib.sha256()
        for name, value in self._entries().items():
            kind = "<i8" if value.dtype.kind == "i" else value.dtype.str if value.dtype.kind == "U" else "<f8"
            made.update(f"{name} {value.shape} ".encode() + np.ascontiguousarray(value, dtype=kind).tobytes())
        return made.hexdigest()

    def _entries(self) -> dict[str, Array]:
        """All of its numbers by name; of a linear body without those beyond first order."""
        known = (own.name for own in fields(self) if self.beyond or own.name not in BEYOND)
        return {name: np.asarray(getattr(self, name)) for name in known}

    @property
    def frequencies(self) -> Array:
        """(k,) Hz, rising, while its root is held and all other frames are free."""
        return np.asarray(np.sqrt(self._modes[0]) / (2 * np.pi))

    @cached_property
    def _modes(self) -> tuple[Array, Array]:
        """Squares of its frequencies, rad/s, and its modes, of unit mass, by columns."""
        if not self.size:
            return np.zeros(0), np.zeros((0, 0))
        L = np.linalg.cholesky(self.gram)
        squares, turned = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, self.stiffness).T))
        modes = np.linalg.solve(L.T, turned)
        largest = np.abs(modes).argmax(axis=0)
        return squares, modes * np.sign(modes[largest, range(len(squares))])

    def lowest(self, count: int) -> ReducedBody:
        """The same body with the `count` modes of the lowest frequencies while its root is held; 0: a rigid body."""
        if not 0 <= count <= self.size:
            raise ModelError(f"modes: got {count}, expected a whole number from 0 to the {self.size} that the body has")
        return _lowest(self, count)

    @cached_property
    def lifted(self) -> ReducedBody:
        """Linear body whose coordinates are those of this one and the amplitudes of the shapes beyond first order."""
        across = self.beyond_products[:, : self.size]
        upper = np.concatenate([self.products, across.transpose(1, 0, 3, 2)], axis=1)
        products = np.concatenate([upper, self.beyond_products])
        empty = np.zeros((self.size, self.beyond))
        gram = np.trace(products, axis1=2, axis2=3).copy()
        gram[: self.size, : self.size] = self.gram
        return LiftedBody(
            **{own.name: getattr(self, own.name) for own in fields(self)} | LINEAR | {
                "eps": np.concatenate([self.eps, self.beyond_eps], axis=1),
                "arms": np.concatenate([self.arms, self.beyond_arms]),
                "products": products, "gram": (gram + gram.T) / 2,
                "stiffness": np.block([[self.stiffness, empty], [empty.T, np.eye(self.beyond)]]),
                "damping": np.block([[self.damping, empty], [empty.T, np.zeros((self.beyond, self.beyond))]]),
                "names": (*self.names, *(f"beyond.{a + 1}" for a in range(self.beyond))),
                "shift": np.concatenate([self.shift, self.beyond_shift], axis=2),
                "turn": np.concatenate([self.turn, self.beyond_turn], axis=2),
                "spin": np.concatenate([self.spin, np.zeros((3, self.beyond))], axis=1),
                "vertices": np.zeros((0, 3)), "triangles": np.zeros((0, 3)), "moves": np.zeros(0),
                "stress": np.zeros(0),
            }
        )  # fmt: skip

    def _packed(self, compressed: bool) -> bytes:
        packed = io.BytesIO()
        write = np.savez_compressed if compressed else np.savez
        write(packed, format=FORMAT, digest=self.digest, **self._entries())  # type: ignore[arg-type]
        return packed.getvalue()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an `.npz` file: the attributes by name, `format` and `digest`."""
        with atomic_write(Path(path)) as beside:
            beside.write_bytes(self._packed(compressed=True))
        return Path(path)

    def text(self) -> str:
        """The content of its file as text, uncompressed, because compression may differ between machines."""
        return base64.b64encode(self._packed(compressed=False)).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read a body from the text that `text` returned."""
        try:
            raw = base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raise ModelError("content: not the text of a body") from None
        return cls._of(raw, "content")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """A body from the file that `save` wrote, or that another program wrote with the same entries.

        A file without `digest` is taken as it is.
        """
        return cls._of(read_input(path, MOST_BYTES), Path(path).name)

    @classmethod
    def _of(cls, raw: bytes, name: str) -> Self:
        entries = unpacked(raw, name)
        known = {own.name for own in fields(cls)}
        version, digest = entries.pop("format", None), entries.pop("digest", None)
        if version is None or version.shape != () or version != FORMAT:
            raise ModelError(f"{name}: `format` is {version}, expected {FORMAT}: a body that `pliant body` wrote?")
        if stray := sorted(set(entries) - known):
            raise ModelError(f"{name}: unknown entry `{stray[0]}`")
        needed = known - {"spin", "vertices", "triangles", "moves", "stress", "about"}
        needed -= set() if set(BEYOND) & set(entries) else set(BEYOND)
        if lacking := sorted(needed - set(entries)):
            raise ModelError(f"{name}: no entry `{lacking[0]}`")
        words = {key: tuple(map(str, entries.pop(key).ravel())) for key in ("names", "frames")}
        about = str(entries.pop("about", ""))
        try:
            body = cls(float(entries.pop("mass")), **entries, **words, about=about)  # type: ignore[arg-type]
        except (ModelError, ValueError, TypeError) as error:
            raise ModelError(f"{name}: {error}") from None
        if digest is not None and str(digest) != body.digest:
            raise ModelError(f"{name}: damaged: its numbers are not those that were written")
        return body


class LiftedBody(ReducedBody):
    """A body whose shapes may depend on each other: they are no coordinates."""

    def _check(self) -> None:
        """Check nothing: the parts were checked."""


def _shapes(k: int, frames: int, vertices: int, triangles: int, beyond: int) -> dict[str, tuple[int, ...]]:
    return {
        "first": (3,), "second": (3, 3), "eps": (3, k), "arms": (k, 3, 3), "products": (k, k, 3, 3), "gram": (k, k),
        "stiffness": (k, k), "damping": (k, k), "places": (frames, 3), "axes": (frames, 3, 3),
        "shift": (frames, 3, k), "turn": (frames, 3, k), "spin": (3, k), "vertices": (vertices, 3),
        "triangles": (triangles, 3), "moves": (vertices, 3, k), "stress": (vertices, 6, k),
        "beyond_forms": (beyond, k, k), "beyond_eps": (3, beyond), "beyond_arms": (beyond, 3, 3),
        "beyond_products": (beyond, k + beyond, 3, 3), "beyond_shift": (frames, 3, beyond),
        "beyond_turn": (frames, 3, beyond),
    }  # fmt: skip


def unpacked(raw: bytes, name: str, most: int = MOST_BYTES) -> dict[str, Array]:
    """Arrays of an `.npz`, none of which may hold Python objects."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            listed = archive.infolist()
            if sum(entry.file_size for entry in listed) > most or len(listed) > MOST_ENTRIES:
                raise ModelError(
                    f"{name}: larger than {most >> 20} MiB unpacked, or of more than {MOST_ENTRIES} arrays; is it the "
                    "right file?"
                )
            twice = [key for key, count in Counter(archive.namelist()).items() if count > 1]
            if twice:
                raise ModelError(f"{name}: `{twice[0]}` is there twice")
            return {key.removesuffix(".npy"): _array(archive.read(key)) for key in archive.namelist()}
    except ModelError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have their own
        raise ModelError(f"{name}: not a file of arrays (.npz): {error}") from None


def _array(raw: bytes) -> Array:
    found: Array = np.lib.format.read_array(io.BytesIO(raw), allow_pickle=False)
    if found.dtype.kind not in "biufU":
        raise ValueError(f"got an array of {found.dtype}, expected numbers or text")
    if found.size * max(found.dtype.itemsize, 1) > len(raw):
        raise ValueError(f"got an array of {found.size} entries without size")
    return found


def _least(matrix: Array, *borders: int) -> float:
    """Smallest eigenvalue of a symmetric matrix, scaled to a diagonal of ones.

    Rows between two borders are of one unit; a diagonal below a millionth of the largest there may be rounding.
    """
    if not matrix.any():
        return 0.0
    size = np.sqrt(np.abs(np.diagonal(matrix)))
    scales = (np.maximum(part, 1e-3 * part.max(initial=0.0)) for part in np.split(size, borders))
    scale = np.concatenate([*scales])
    scale[scale == 0] = 1.0
    return float(np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0])


@lru_cache(maxsize=32)
def _lowest(body: ReducedBody, count: int) -> ReducedBody:
    V = body._modes[1][:, :count]

    def moved(shapes: Array) -> Array:
        return np.asarray(shapes @ V) if shapes.size else np.zeros((*shapes.shape[:-1], count))

    return replace(
        body, eps=moved(body.eps), arms=np.einsum("jab,jm->mab", body.arms, V),
        products=np.einsum("ijab,im,jn->mnab", body.products, V, V), gram=V.T @ body.gram @ V,
        stiffness=V.T @ body.stiffness @ V, damping=V.T @ body.damping @ V, spin=moved(body.spin),
        names=tuple(f"mode.{j + 1}" for j in range(count)), shift=moved(body.shift), turn=moved(body.turn),
        moves=moved(body.moves), stress=moved(body.stress), **_beyond_lowest(body, V),
    )  # fmt: skip


def _beyond_lowest(body: ReducedBody, V: Array) -> dict[str, Any]:
    """Terms beyond first order in the modes that are the columns of V; none of a rigid body."""
    if not V.size:
        return LINEAR
    first, others = np.split(body.beyond_products, [body.size], axis=1)
    return {
        "beyond_forms": V.T @ body.beyond_forms @ V,
        "beyond_products": np.concatenate([np.einsum("ajxy,jm->amxy", first, V), others], axis=1),
    }
