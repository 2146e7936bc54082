"""Reduced bodies against the full model, against closed forms, and against sums over quadrature points."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

from sources import ROOT, TESTS

pytest.importorskip("skfem", reason="the mesh extra is not installed")

from pliant.bodies import ElementModel, Interface, from_mesh, mesh_model, reduce_model
from pliant.errors import ModelError
from pliant.mechanics.bodies.craig_bampton import body_shapes
from pliant.mechanics.bodies.element_model import node_graph, rigid_motions
from pliant.mechanics.bodies.held_stiffness import HeldStiffness, column_counts, dissection
from pliant.mechanics.bodies.interfaces import place_interface
from pliant.mechanics.bodies.mass_integrals import mass_integrals
from pliant.robot.parts.bodies.reduced_body import ReducedBody
from pliant.robot.parts.materials import MATERIALS
from solid_bars import HEIGHT, LENGTH, WIDTH, bar, frame_model, full_frequencies, inertia_with_rigid_motions, quadratic

ALUMINIUM = MATERIALS["aluminium"]
END = f"x = {LENGTH}"


@pytest.fixture(scope="module")
def model() -> ElementModel:
    return mesh_model(bar((10, 1, 1)), "aluminium", unit="m")


@pytest.fixture(scope="module")
def body(model: ElementModel) -> ReducedBody:
    return reduce_model(model, "x = 0", END, modes=8)


def test_mass_center_and_inertia_of_a_bar(body: ReducedBody) -> None:
    mass = ALUMINIUM.density * LENGTH * WIDTH * HEIGHT
    assert body.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(body.first, [mass * LENGTH / 2, 0, 0], rtol=1e-11, atol=1e-15)
    second = mass / 12 * np.diag([4 * LENGTH**2, WIDTH**2, HEIGHT**2])
    np.testing.assert_allclose(body.second, second, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("kind", ["hexahedra", "tetrahedra", "curved"])
def test_integrals_are_sums_over_quadrature_points(kind: str) -> None:
    """Of shapes taken as functions, by a rule of higher degree; off-diagonal terms of the mass matrix belong to them.

    Where edges are bent the elements' own rule is used, since that is the mass which the mesh has.
    """
    mesh = {
        "hexahedra": bar((6, 2, 1)),
        "tetrahedra": bar((5, 1, 2), tetrahedra=True),
        "curved": quadratic(bar((4, 1, 1), tetrahedra=True)),
    }[kind]
    model = mesh_model(mesh, "aluminium", unit="m")
    turned = Interface("x = 0", origin=(0.01, 0.002, -0.003), rpy=(0.3, -0.2, 0.5))
    tip = Interface(END) if kind != "curved" else Interface("flange")
    root = turned if kind != "curved" else Interface("x < 0.001", origin=(0.01, 0.0, 0.0), rpy=(0.0, 0.4, 0.0))
    places = [place_interface(model, "root", root, 1.0), place_interface(model, "tip", tip, 1.0)]
    shapes, _ = body_shapes(HeldStiffness(model, places), 4, None)
    body = reduce_model(model, root, tip, modes=4)
    basis = model.stress.basis  # type: ignore[union-attr]
    if kind != "curved":
        basis = type(basis)(basis.mesh, basis.elem, intorder=8)
    dm = ALUMINIUM.density * basis.dx
    A, k = places[0].axes, shapes.shape[1]
    X = np.einsum("ca,ceq->aeq", A, np.asarray(basis.global_coordinates()) - places[0].origin[:, None, None])
    by_node = np.einsum("ca,nck->nak", A, shapes.reshape(-1, 3, k))
    phi = np.zeros((k, 3, *dm.shape))
    for i in range(basis.Nbfun):
        value = np.broadcast_to(np.asarray(basis.basis[i][0]), dm.shape)
        phi += by_node[basis.element_dofs[i]].transpose(2, 1, 0)[..., None] * value
    scale = np.sqrt(body.mass) * np.linalg.norm(X, axis=0).max()
    sums = {
        "first": (np.einsum("aeq,eq->a", X, dm), body.mass * scale / np.sqrt(body.mass)),
        "second": (np.einsum("aeq,beq,eq->ab", X, X, dm), scale**2),
        "eps": (np.einsum("kaeq,eq->ak", phi, dm), np.sqrt(body.mass)),
        "arms": (np.einsum("aeq,kbeq,eq->kab", X, phi, dm), scale),
        "products": (np.einsum("iaeq,jbeq,eq->ijab", phi, phi, dm), 1.0),
    }
    assert float(dm.sum()) == pytest.approx(body.mass, rel=1e-9)
    for name, (expected, size) in sums.items():
        np.testing.assert_allclose(getattr(body, name), expected, rtol=0, atol=1e-9 * size, err_msg=name)
    np.testing.assert_allclose(np.trace(body.products, axis1=2, axis2=3), body.gram, atol=1e-9)
    np.testing.assert_allclose(body.places[1], A.T @ (places[1].origin - places[0].origin), atol=1e-12)


def held_dofs(model: ElementModel, where: str) -> Any:
    place = place_interface(model, "x", Interface(where), 1.0)
    return (3 * place.nodes[:, None] + np.arange(3)).ravel()


def released(body: ReducedBody, frame: int | None) -> Any:
    """Hz of a body whose root is free and whose frame of this number is held, or none."""
    M, K = inertia_with_rigid_motions(body)
    if frame is not None:
        arm = body.places[frame]
        cross = np.array([[0.0, arm[2], -arm[1]], [-arm[2], 0.0, arm[0]], [arm[1], -arm[0], 0.0]])
        rows = np.block([[np.eye(3), cross, body.shift[frame]], [np.zeros((3, 3)), np.eye(3), body.turn[frame]]])
        T = null_space(rows)
        M, K = T.T @ M @ T, T.T @ K @ T
    return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0)) / (2 * np.pi)


@pytest.mark.parametrize("state", ["tip released", "root released", "free"])
def test_frequencies_against_the_full_model(model: ElementModel, state: str) -> None:
    """To 0.1 % up to half of the cut-off, with each interface released and with both.

    A rigid interface stays one when it is released: the full model keeps the nodes together.
    """
    cut = 3000.0
    body = reduce_model(model, "x = 0", END, frequency=cut)
    if state == "tip released":
        found, held = np.sqrt(np.diag(body.stiffness)) / (2 * np.pi), "x = 0"
    elif state == "root released":
        found, held = released(body, 1), END
    else:
        found, held = released(body, None), None
    loose = [where for where in ("x = 0", END) if where != held]
    full = tied_frequencies(model, held, loose, 20)
    below = full < cut / 2
    assert (full[below] > 1.0).sum() >= 4
    np.testing.assert_allclose(found[: below.sum()], full[below], rtol=1e-4, atol=0.01)  # 0.1 % were asked for


def tied_frequencies(model: ElementModel, held: str | None, tied: list[str], count: int) -> Any:
    """Hz of the full model in which some interfaces move as rigid pieces, by the transformation of its matrices."""
    from scipy import sparse

    out = held_dofs(model, held) if held else np.zeros(0, dtype=int)
    places = [place_interface(model, "x", Interface(where), 1.0) for where in tied]
    within = np.concatenate([(3 * p.nodes[:, None] + np.arange(3)).ravel() for p in places])
    free = np.setdiff1d(np.arange(model.size), np.concatenate([out, within]))
    T = sparse.hstack(
        [sparse.identity(model.size, format="csc")[:, free], *(sparse.csc_array(p.motions(model)) for p in places)]
    ).tocsc()
    K, M = T.T @ model.stiffness @ T, T.T @ model.mass @ T
    from scipy.sparse.linalg import eigsh

    squares = eigsh(K.tocsc(), count, M.tocsc(), sigma=-1e4, which="LM", return_eigenvectors=False)
    return np.sqrt(np.maximum(np.sort(squares), 0.0)) / (2 * np.pi)


@pytest.mark.parametrize("kinds", [("rigid", "average"), ("average", "rigid"), ("average", "average")])
def test_average_interfaces_stiffen_nothing(model: ElementModel, kinds: tuple[Any, Any]) -> None:
    """Free in space, frequencies are those of the mesh with no piece made rigid but those that were asked to be."""
    cut = 3000.0
    body = reduce_model(model, Interface("x = 0", kinds[0]), Interface(END, kinds[1]), frequency=cut)
    tied = [where for where, kind in zip(("x = 0", END), kinds) if kind == "rigid"]
    full = tied_frequencies(model, None, tied, 20) if tied else full_frequencies(model, [], 20)
    below = full < cut / 2
    assert (full[below] > 1.0).sum() >= 4
    np.testing.assert_allclose(
        released(body, None)[: below.sum()], full[below], rtol=1e-4, atol=0.01
    )  # 0.1 % were asked for


@pytest.mark.parametrize("kinds", [("rigid", "average"), ("average", "rigid"), ("average", "average")])
def test_no_shape_moves_the_root(model: ElementModel, kinds: tuple[Any, Any]) -> None:
    """Neither rigid nor on average; and fixed-interface modes move the tip as little."""
    ends = (Interface("x = 0", kinds[0]), Interface(END, kinds[1]))
    root, tip = (place_interface(model, name, one, 1.0) for name, one in zip(("root", "tip"), ends))
    shapes, _ = body_shapes(HeldStiffness(model, [root, tip]), 3, None)
    moved = (tip.averages(model) @ shapes).std(axis=1)
    assert moved.min() > 1e-3
    assert np.abs(root.averages(model) @ shapes).max() < 1e-8 * np.abs(tip.averages(model) @ shapes).max()


def test_a_force_at_the_tip_bends_it_as_the_full_model(model: ElementModel, body: ReducedBody) -> None:
    """Static shapes of the interface make this exact, whatever the number of modes."""
    place = place_interface(model, "tip", Interface(END), 1.0)
    wrench = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])
    c = np.linalg.solve(body.stiffness, np.concatenate([body.shift[1], body.turn[1]]).T @ wrench)
    free = np.setdiff1d(np.arange(model.size), held_dofs(model, "x = 0"))
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    within = (3 * place.nodes[:, None] + np.arange(3)).ravel()
    inner = np.setdiff1d(free, within)
    T = sparse.hstack([sparse.identity(model.size, format="csc")[:, inner], sparse.csc_array(place.motions(model))])
    full = spsolve((T.T @ model.stiffness @ T).tocsc(), np.concatenate([np.zeros(len(inner)), wrench]))[-6:]
    np.testing.assert_allclose(np.concatenate([body.shift[1] @ c, body.turn[1] @ c]), full, rtol=1e-8)


def beam_frequencies(height: float, width: float) -> Any:
    roots = np.array([1.8751040687, 4.6940911330, 7.8547574382])
    return (roots / LENGTH) ** 2 * np.sqrt(ALUMINIUM.E * height**2 / (12 * ALUMINIUM.density)) / (2 * np.pi)


@pytest.mark.parametrize("tetrahedra", [False, True])
def test_a_slender_bar_is_a_beam(tetrahedra: bool) -> None:
    """L/h = 44: bending to 1 % and torsion to 2 % of the closed forms, nearer with finer meshes.

    Closed forms of a clamped beam let its root contract across; meshes with a rigid root are stiffer by some 0.5 %,
    therefore the root here is an average.
    """
    off = []
    for divisions in ((6, 1, 1), (16, 2, 2)):
        mesh = bar(divisions, tetrahedra=tetrahedra)
        body = from_mesh(mesh, "aluminium", Interface("x = 0", "average"), Interface(END, "average"), unit="m",
                         frequency=5000.0)  # fmt: skip
        hz = np.sqrt(np.diag(body.stiffness)) / (2 * np.pi)
        z, y = beam_frequencies(HEIGHT, WIDTH), beam_frequencies(WIDTH, HEIGHT)
        along_z = hz[np.abs(body.shift[1, 2]) > 10 * np.abs(body.shift[1, 1])][:3]
        along_y = hz[np.abs(body.shift[1, 1]) > 10 * np.abs(body.shift[1, 2])][:3]
        odd = np.arange(1, 40, 2)
        series = (np.tanh(odd * np.pi * WIDTH / (2 * HEIGHT)) / odd**5).sum()
        J = WIDTH * HEIGHT**3 / 3 * (1 - 192 / np.pi**5 * HEIGHT / WIDTH * series)  # Saint-Venant
        polar = WIDTH * HEIGHT * (WIDTH**2 + HEIGHT**2) / 12
        twist = np.sqrt(ALUMINIUM.G * J / (ALUMINIUM.density * polar)) / (4 * LENGTH)
        twisting = hz[np.abs(body.turn[1, 0]) * WIDTH > 0.5 * np.linalg.norm(body.shift[1], axis=0)][0]
        off.append([*(along_z / z - 1), *(along_y / y - 1), twisting / twist - 1])
    coarse, fine = np.abs(off)
    assert fine[:6].max() < 0.01
    assert fine[6] < 0.02
    assert coarse[:6].max() > 2 * fine[:6].max()


def test_stress_of_a_loaded_bar(model: ElementModel, body: ReducedBody) -> None:
    """M c / I within 5 % away from the clamp, and the full model's stresses of every shape at every vertex."""
    force = 20.0
    c = np.linalg.solve(body.stiffness, body.shift[1].T @ [0.0, 0.0, force])
    stress = body.stress @ c
    middle = (body.vertices[:, 0] > 0.2 * LENGTH) & (body.vertices[:, 0] < 0.8 * LENGTH)
    top = middle & (np.abs(body.vertices[:, 2]) > 0.49 * HEIGHT)
    assert top.sum() >= 20
    moment = force * (LENGTH - body.vertices[top, 0])
    expected = -moment * body.vertices[top, 2] / (WIDTH * HEIGHT**3 / 12)
    np.testing.assert_allclose(stress[top, 0], expected, rtol=0.05)
    assert np.abs(stress[top, 1:]).max() < 0.05 * np.abs(expected).max()


def test_recovery_is_the_stress_of_the_full_model(model: ElementModel) -> None:
    """Hooke's law on the gradients of a shape, at a corner that one element alone has."""
    places = [
        place_interface(model, "root", Interface("x = 0"), 1.0),
        place_interface(model, "tip", Interface(END), 1.0),
    ]
    shapes, _ = body_shapes(HeldStiffness(model, places), 2, None)
    body = reduce_model(model, "x = 0", END, modes=2)
    basis = model.stress.basis  # type: ignore[union-attr]
    corner = int(np.flatnonzero((body.vertices == body.vertices.max(axis=0)).all(axis=1))[0])
    vertex = np.linalg.norm(basis.mesh.p.T - body.vertices[corner] - places[0].origin, axis=1).argmin()
    place = basis.mesh.p[:, vertex]
    (element,) = np.flatnonzero((basis.mesh.t == vertex).any(axis=0))
    local = basis.mapping.invF(place[:, None, None] * np.ones((3, 1, 1)), tind=np.array([element]))
    slope = np.zeros((3, 3, shapes.shape[1]))
    for i in range(basis.Nbfun):
        (grad,) = basis.elem.gbasis(basis.mapping, local, i, tind=np.array([element]))
        node = basis.element_dofs[i, element]
        slope += np.einsum("ck,a->cak", shapes[3 * node : 3 * node + 3], np.asarray(grad.grad)[:, 0, 0])
    poisson = ALUMINIUM.E / (2 * ALUMINIUM.G) - 1
    lam = 2 * ALUMINIUM.G * poisson / (1 - 2 * poisson)
    strain = (slope + slope.transpose(1, 0, 2)) / 2
    tensor = lam * np.einsum("cck->k", strain) * np.eye(3)[:, :, None] + 2 * ALUMINIUM.G * strain
    expected = np.stack([tensor[a, b] for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))])
    largest = np.abs(body.stress).max(axis=(0, 1))
    np.testing.assert_allclose(body.stress[corner] / largest, expected / largest, atol=2e-5)  # digits of the file


def test_a_third_frame_and_the_frame_of_the_root(model: ElementModel, body: ReducedBody) -> None:
    """A further interface adds six shapes; turning the root's frame turns what is given and nothing else."""
    more = reduce_model(model, "x = 0", END, {"middle": Interface("x > 0.19 and x < 0.21", "average")}, modes=3)
    assert (more.size, more.frames) == (15, ("root", "tip", "middle"))
    np.testing.assert_allclose(more.places[2], [0.2, 0.0, 0.0], atol=1e-12)
    turned = reduce_model(model, Interface("x = 0", rpy=(0.0, 0.0, np.pi / 2)), END, modes=8)
    np.testing.assert_allclose(turned.stiffness, body.stiffness, rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(turned.places[1], [0.0, -LENGTH, 0.0], atol=1e-12)
    np.testing.assert_allclose(turned.stress[:, 1], body.stress[:, 0], atol=3e-5 * np.abs(body.stress).max())
    np.testing.assert_allclose(turned.axes[1], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_signs_and_equal_frequencies_are_settled() -> None:
    """A square bar bends alike in two planes: matrices that differ by round-off give the same body."""
    model = mesh_model(bar((8, 2, 2), (LENGTH, WIDTH, WIDTH)), "aluminium", unit="m")
    one = reduce_model(model, "x = 0", END, modes=6)
    rng = np.random.default_rng(3)
    noise = model.stiffness.copy()
    noise.data = noise.data * (1 + 1e-15 * rng.standard_normal(len(noise.data)))
    other = reduce_model(replace(model, stiffness=(noise + noise.T) / 2), "x = 0", END, modes=6)
    hz = np.sqrt(np.diag(one.stiffness))
    assert np.isclose(hz[1:], hz[:-1], rtol=1e-7).sum() >= 3, "the bar has no equal frequencies"
    for name in ("eps", "arms", "products", "shift", "turn"):
        size = np.abs(getattr(one, name)).max()
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-6 * size, err_msg=name)


# ------------------------------------------------------------------------------------------------ nodes that turn


@pytest.mark.parametrize("lumped", [False, True])
def test_nodes_that_turn(lumped: bool) -> None:
    """Mass, inertia and free frequencies of a frame of beams; lumped nodes carry offset masses with rotary inertia."""
    model = frame_model()
    if lumped:
        M = np.zeros(model.mass.shape)
        c, J = np.array([0.004, -0.003, 0.002]), np.array([[3e-5, 1e-6, 0], [1e-6, 4e-5, 2e-6], [0, 2e-6, 5e-5]])
        C = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
        for k in range(len(model.nodes)):
            m = 0.05 * (1 + 0.1 * k)
            block = np.block([[m * np.eye(3), -m * C], [m * C, J - m * C @ C]])
            M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
        model = replace(model, mass=M)
    body = reduce_model(model, "first", "last", frequency=4500.0)
    motions = rigid_motions(model, np.zeros(3))
    whole = motions.T @ (model.mass @ motions)
    M, K = inertia_with_rigid_motions(body)
    scale = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))
    np.testing.assert_allclose(M[:6, :6] / scale, whole / scale, atol=1e-9)
    full = np.sqrt(np.maximum(eigh(model.stiffness.toarray(), model.mass.toarray(), eigvals_only=True), 0.0))
    found = np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0))
    np.testing.assert_allclose(found[6:12], full[6:12], rtol=1e-4)


def test_nodes_with_offset_masses_are_clouds_of_points(rng: np.random.Generator) -> None:
    """Six points for each node have its mass, center and inertia; their sums are the integrals."""
    model, k = frame_model(4), 3
    n = len(model.nodes)
    shapes = rng.standard_normal((n, 6, k))
    M, points, moves, masses = np.zeros((6 * n, 6 * n)), [], [], []
    for node, place in enumerate(model.nodes):
        m, c, size = rng.uniform(1, 2), rng.uniform(-0.1, 0.1, 3), rng.uniform(0.05, 0.2, 3)
        axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        cloud = c + np.concatenate([axes * size, -axes * size])
        for r in cloud:
            T = np.hstack([np.eye(3), [[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]]])  # u + theta x r
            at = slice(6 * node, 6 * node + 6)
            M[at, at] += m / 6 * T.T @ T
            points.append(place + r)
            moves.append(T @ shapes[node])
            masses.append(m / 6)
    found = mass_integrals(replace(model, mass=M), shapes.reshape(6 * n, k), np.zeros(3), np.eye(3))
    X, phi, w = np.array(points), np.array(moves), np.array(masses)
    np.testing.assert_allclose(found.second, np.einsum("pa,pb,p->ab", X, X, w), atol=1e-12)
    np.testing.assert_allclose(found.eps, np.einsum("pak,p->ak", phi, w), atol=1e-12)
    np.testing.assert_allclose(found.arms, np.einsum("pa,pbk,p->kab", X, phi, w), atol=1e-12)
    np.testing.assert_allclose(found.products, np.einsum("pai,pbj,p->ijab", phi, phi, w), atol=1e-12)
    np.testing.assert_allclose(found.spin, 0.0, atol=1e-12)


# ------------------------------------------------------------------------------------------------ order and memory


def test_entries_of_the_factor_are_counted_beforehand(rng: np.random.Generator) -> None:
    from scipy import sparse

    for size in (1, 7, 40):
        pattern = sparse.random_array((size, size), density=0.08, rng=rng).toarray() != 0
        A = (pattern | pattern.T) * rng.uniform(0.1, 1.0, (size, size))
        A = A + A.T + 100 * np.eye(size)
        counts = (np.linalg.cholesky(A) != 0).sum(axis=0)
        graph = sparse.csr_array(A)
        np.testing.assert_array_equal(column_counts(graph.indptr, graph.indices), counts)


def test_dissection_keeps_the_factor_thin(model: ElementModel) -> None:
    graph = node_graph(model)
    order = dissection(model.nodes, graph)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(model.nodes)))

    def entries(order: Any) -> int:
        turned = graph[order][:, order]
        return int(column_counts(turned.indptr, turned.indices).sum())

    assert entries(order) < 0.5 * entries(np.random.default_rng(1).permutation(len(model.nodes)))


def test_memory_is_known_beforehand(model: ElementModel) -> None:
    """The estimate follows the entries that SuperLU keeps, within what its blocks add."""
    places = [place_interface(model, "root", Interface("x = 0"), 1.0)]
    held = HeldStiffness(model, places)
    assert 0.5 < held.entries / (held.factor.nnz / 2) <= 1.01
    with pytest.raises(ModelError, match="got both"):
        reduce_model(model, "x = 0", END, modes=3, frequency=100.0)


@pytest.mark.full
def test_the_box_of_the_bundled_arm_is_what_its_script_makes() -> None:
    """To round-off, on every machine; and it stays small."""
    root = ROOT
    file = root / "src" / "pliant" / "robot" / "arms" / "perforated-box.npz"
    shipped = ReducedBody.read(file)
    made = runpy.run_path(str(root / "examples" / "box_arm" / "perforated_box.py"))["made"]()
    assert file.stat().st_size < 1e6
    assert made.about == shipped.about
    for name in ("mass", "first", "second", "eps", "arms", "products", "stiffness", "shift", "turn", "moves", "stress"):
        one, other = np.asarray(getattr(made, name)), np.asarray(getattr(shipped, name))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max(), err_msg=name)


SIXTY = """
from solid_bars import bar
mesh, end = bar((45, 8, 6), (0.4, 0.06, 0.04), tetrahedra=True), 0.4
"""
THIN = """
import numpy as np
from pliant.bodies import brick_mesh
across, end = [-0.03, *np.linspace(-0.027, 0.027, 9), 0.03], 0.6
mesh = brick_mesh(np.linspace(0, end, 168), across, across, lambda center: abs(center[:, 1:]).max(axis=1) < 0.027)
"""
TOLD = """
import resource, time
from pliant.bodies import mesh_model, reduce_model
model = mesh_model(mesh, "aluminium", unit="m")
body = reduce_model(model, "x = 0", f"x = {end}", modes=12)
print(model.size, body.size, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "count", "most_seconds", "most_gigabytes"),
    [
        pytest.param(SIXTY, 60333, 2 * 180, 4.0, id="60,000"),
        pytest.param(THIN, 217080, 2 * 600, 8.0, id="200,000"),
    ],
)
def test_many_degrees_of_freedom(made: str, count: int, most_seconds: float, most_gigabytes: float) -> None:
    """60,000 in three minutes of two cores and 4 GB, 200,000 of a tube with thin walls, by SciPy alone."""
    paths = os.pathsep.join([str(TESTS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", made + TOLD], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    size, coordinates, seconds, gigabytes = map(float, done.stdout.split())
    assert (size, coordinates) == (count, 18)
    assert seconds < most_seconds
    assert gigabytes < most_gigabytes
