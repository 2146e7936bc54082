"""Matrices that other programs wrote: read back, in their units, and refused where they are something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("skfem", reason="the mesh extra is not installed")

from nastran_files import write_op2
from pliant.bodies import ElementModel, mesh_model, read_model, reduce_model
from pliant.errors import ModelError
from solid_bars import LENGTH, bar, frame_model

END = f"x = {LENGTH}"


@pytest.fixture(scope="module")
def model() -> ElementModel:
    return mesh_model(bar((3, 1, 1)), "aluminium", unit="m")


def same(one: ElementModel, two: ElementModel, rtol: float = 1e-9) -> None:
    for name in ("stiffness", "mass"):
        a, b = getattr(one, name), getattr(two, name)
        assert abs(a - b).max() <= rtol * abs(b).max(), name
    np.testing.assert_allclose(one.nodes, two.nodes, rtol=rtol, atol=1e-12)


def test_plain_arrays(model: ElementModel, tmp_path: Path) -> None:
    found = read_model(model.save(tmp_path / "bar.npz"), unit="m", mass_unit="kg")
    same(found, model)
    np.testing.assert_array_equal(found.groups["flange"], model.groups["flange"])
    np.testing.assert_array_equal(found.triangles, model.triangles)
    body, other = (reduce_model(m, "x = 0", "flange", modes=1) for m in (model, found))
    np.testing.assert_allclose(body.stiffness, other.stiffness, rtol=1e-9, atol=1e-3)


def test_millimetres_and_tonnes(model: ElementModel, tmp_path: Path) -> None:
    """N/mm and t: a stiffness of 1 N/mm is 1 t/s^2; rotations have N mm and t mm^2."""
    for one, name in ((model, "solid"), (frame_model(4), "frame")):
        turned = np.ones((len(one.nodes), one.freedoms))
        turned[:, 3:] = 1e3
        D = sparse.diags_array(turned.ravel())
        other = ElementModel(1e3 * one.nodes, 1e-3 * D @ one.stiffness @ D, 1e-3 * D @ one.mass @ D)
        same(read_model(other.save(tmp_path / f"{name}.npz"), unit="mm", mass_unit="t"), one)


@pytest.mark.parametrize("triangle", [True, False])
def test_calculix(model: ElementModel, tmp_path: Path, triangle: bool) -> None:
    """Input with labels that leave gaps, and one triangle (or all) of each matrix, in an order of its own."""
    labels = 10 * np.arange(1, len(model.nodes) + 1)
    lines = ["** made for a test", "*NODE, NSET=all"]
    lines += [f"{label}, {x:.17g}, {y:.17g}, {z:.17g}" for label, (x, y, z) in zip(labels, model.nodes)]
    lines += ["*NSET, NSET=flange", ", ".join(str(labels[k]) for k in model.groups["flange"]) + ",",
              "*NSET, NSET=some, GENERATE", "10, 50, 20", "*STEP", "*FREQUENCY, SOLVER=MATRIXSTORAGE"]  # fmt: skip
    (tmp_path / "job.inp").write_text("\n".join(lines))
    order = np.random.default_rng(2).permutation(model.size)
    (tmp_path / "job.dof").write_text("\n".join(f"{labels[k // 3]}.{k % 3 + 1}" for k in order))
    for ending, matrix in ((".sti", model.stiffness), (".mas", model.mass)):
        entries = matrix[order][:, order].tocoo()
        kept = entries.row <= entries.col if triangle else np.ones(entries.nnz, dtype=bool)
        rows = zip(entries.row[kept] + 1, entries.col[kept] + 1, entries.data[kept])
        (tmp_path / f"job{ending}").write_text("\n".join(f"{i} {j} {v:.17g}" for i, j, v in rows))
    found = read_model(tmp_path / "job.inp", unit="m", mass_unit="kg")
    same(found, model)
    np.testing.assert_array_equal(found.groups["flange"], model.groups["flange"])
    np.testing.assert_array_equal(found.groups["some"], [0, 2, 4])
    (tmp_path / "job.dof").write_text("7.1\n")
    with pytest.raises(ModelError, match=r"job.dof: names a node that job.inp has not"):
        read_model(tmp_path / "job.inp", unit="m", mass_unit="kg")


@pytest.mark.parametrize("ending", ["op4", "op2"])
def test_nastran(model: ElementModel, tmp_path: Path, ending: str) -> None:
    """Matrices of all six degrees of freedom per grid: OP4 as pyNastran writes it, OP2 as Nastran does."""
    try:
        from pyNastran.bdf.bdf import BDF  # noqa: F401
        from pyNastran.op4.op4 import OP4
    except (ImportError, AttributeError):
        pytest.skip("pyNastran is not installed, or not for this NumPy")
    cards = [
        f"GRID*   {k + 1:16d}{'':16s}{x:16.9E}{y:16.9E}\n*       {z:16.9E}" for k, (x, y, z) in enumerate(model.nodes)
    ]
    cards.append("SET1,7," + ",".join(str(k + 1) for k in model.groups["flange"][:6]))
    (tmp_path / "bar.bdf").write_text("\n".join(cards) + "\n")
    wide = np.ix_(*[(6 * (np.arange(model.size) // 3) + np.arange(model.size) % 3)] * 2)
    matrices: dict[str, Any] = {}
    for name, matrix in (("KGG", model.stiffness), ("MGG", model.mass)):
        full = np.zeros((2 * model.size,) * 2)
        full[wide] = matrix.toarray()
        matrices[name] = (6, full)
    file = tmp_path / f"bar.{ending}"
    if ending == "op2":
        write_op2(file, {name: full for name, (_, full) in matrices.items()})
    else:
        OP4(debug=None).write_op4(str(file), matrices, is_binary=False)
    found = read_model(tmp_path / "bar.bdf", file, unit="m", mass_unit="kg")
    body = reduce_model(found, "x = 0", END, modes=1)
    expected = reduce_model(model, "x = 0", END, modes=1)
    np.testing.assert_allclose(body.stiffness, expected.stiffness, rtol=1e-6, atol=1.0)
    np.testing.assert_array_equal(found.groups["SET1 7"], np.sort(model.groups["flange"][:6]))


def test_what_is_not_there_is_named(model: ElementModel, tmp_path: Path) -> None:
    def refused(words: str, name: str, *more: Any) -> None:
        with pytest.raises(ModelError, match=rf"\A[^\n]*{words}[^\n]*\Z"):
            read_model(tmp_path / name, *more, unit="m", mass_unit="kg")

    refused("x.txt: got .txt, expected one of .npz", "x.txt")
    refused("x.bdf: needs `matrices`, an .op4 or .op2", "x.bdf")
    refused("x.npz: has its own matrices", "x.npz", tmp_path / "y.op4")
    (tmp_path / "x.npz").write_bytes(b"PK no")
    refused(r"x.npz: not a file of arrays", "x.npz")
    np.savez(tmp_path / "y.npz", nodes=model.nodes)
    refused("y.npz: no array `K_data`; expected nodes, K_data", "y.npz")
    arrays = dict(np.load(model.save(tmp_path / "z.npz")))
    np.savez(tmp_path / "z.npz", **{**arrays, "K_indices": arrays["K_indices"] + 1000})
    refused("z.npz: `K` is no matrix of compressed rows", "z.npz")
    falling = arrays["M_indptr"].astype(np.uint64)
    falling[3] = falling[-1]
    np.savez(tmp_path / "z.npz", **{**arrays, "M_indptr": falling})
    refused("z.npz: `M` is no matrix of compressed rows", "z.npz")
    np.savez(tmp_path / "z.npz", **{**arrays, "set_flange": np.array([10**6])})
    refused("z.npz: `set_flange`: expected indices of the", "z.npz")
    np.savez(tmp_path / "z.npz", **{**arrays, "nodes": model.nodes[1:]})
    refused(r"z.npz: stiffness has shape \(\d+, \d+\), expected 3 or 6 rows", "z.npz")
    (tmp_path / "job.inp").write_text("*HEADING\nnothing\n")
    refused(r"job.inp: has no \*NODE lines", "job.inp")
