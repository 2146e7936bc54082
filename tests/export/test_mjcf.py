"""`robot.to_mjcf()`: its chains of bodies vibrate as the beams do, and MuJoCo moves them as we do."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from arms import MECHANISMS, sampled
from pliant import ModelError, Robot, UnsupportedModel
from pliant.algebra.quaternions import to_matrix
from pliant.export.spring_chains import cut, damp, spring_chain
from pliant.mechanics.links.builders.build_chain import build_chain
from pliant.model.automatic_shapes.undeformed_modes import StraightArm
from pliant.robot import Shapes
from trees import random_tree

ERROR = 0.01
FLEXIBLE = [name for name in pliant.robot.arms() if name not in ("box-arm", "puma", "rrp", *MECHANISMS)]


def beams(robot: Robot, count: int = 12) -> list[np.ndarray]:
    """Hz, the first three frequencies above zero of the straight arm without gravity, joints held and free, of its
    beams cut into elements so fine that they err by 1e-5."""
    changes: dict[str, Any] = {}
    for link in robot.links:
        if link.fields:
            changes[f"links.{link.name}.shapes"] = Shapes(
                method="elements", count=count, **dict.fromkeys(link.fields, True)
            )
    chain = build_chain(robot.replace(changes))
    q = np.zeros(chain.n_q)
    for link in chain.links:
        if link.joint.is_ball:
            q[link.joint_places[-4]] = 1.0
    return [np.sqrt(v.squares()[:3]) / (2 * np.pi) for v in StraightArm(chain).vibrations(q)]


def from_text(text: str) -> list[np.ndarray]:
    """The same of an MJCF document, from its bodies, joints and springs alone: M = sum J^T I J."""
    columns: list[tuple[np.ndarray, np.ndarray]] = []  # twists, angular and linear at the origin
    springs, armature, held = [], [], []
    bodies = []

    def numbers(element: ET.Element, key: str, otherwise: str) -> np.ndarray:
        return np.array([float(word) for word in element.get(key, otherwise).split()])

    def walk(above: ET.Element, R0: np.ndarray, p0: np.ndarray, path: list[int]) -> None:
        for body in above.findall("body"):
            p = p0 + R0 @ numbers(body, "pos", "0 0 0")
            R = R0 @ to_matrix(numbers(body, "quat", "1 0 0 0"))
            own = path[:]
            for joint in (*body.findall("freejoint"), *body.findall("joint")):
                kind = "free" if joint.tag == "freejoint" else joint.get("type")
                at = p + R @ numbers(joint, "pos", "0 0 0")
                axes = R @ np.eye(3) if kind in ("free", "ball") else (R @ numbers(joint, "axis", "0 0 1"))[:, None]
                moves = [] if kind == "slide" else [(a, np.cross(at, a)) for a in axes.T]
                moves += [(np.zeros(3), a) for a in axes.T] if kind in ("slide", "free") else []
                for twist in moves:
                    own.append(len(columns))
                    columns.append(twist)
                    springs.append(float(joint.get("stiffness", 0.0)))
                    armature.append(float(joint.get("armature", 0.0)))
                    held.append(kind != "free" and not springs[-1])
            inertial = body.find("inertial")
            if inertial is not None:
                xx, yy, zz, xy, xz, yz = numbers(inertial, "fullinertia", "")
                I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
                bodies.append((float(inertial.get("mass", "")), p + R @ numbers(inertial, "pos", "0 0 0"), I, own))
            walk(body, R, p, own)

    world = ET.fromstring(text).find("worldbody")
    assert world is not None
    walk(world, np.eye(3), np.zeros(3), [])
    M = np.diag(armature)
    for m, center, I, path in bodies:
        W = np.array([columns[k][0] for k in path]).reshape(-1, 3)
        V = np.array([columns[k][1] + np.cross(columns[k][0], center) for k in path]).reshape(-1, 3)
        M[np.ix_(path, path)] += W @ I @ W.T + m * V @ V.T
    return [_first(np.array(springs), M, np.array(held) & locked) for locked in (True, False)]


def _first(k: np.ndarray, M: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Of springs and an inertia matrix: what has no spring follows, or is held."""
    stiff, loose = k > 0, (k == 0) & ~held
    scale = 1 / np.sqrt(k[stiff])
    meets = M[np.ix_(loose, stiff)]
    A = M[np.ix_(stiff, stiff)] - meets.T @ np.linalg.pinv(M[np.ix_(loose, loose)]) @ meets
    inverse = np.linalg.eigvalsh(A * np.outer(scale, scale))[::-1]
    return np.asarray(1 / np.sqrt(inverse[:3]) / (2 * np.pi))


def stated(text: str) -> float:
    found = re.search(r"held and free\): ([\d.]+) %", text)
    assert found
    return float(found[1]) / 100


def within(found: list[np.ndarray], wanted: list[np.ndarray], error: float) -> None:
    for f, w in zip(found, wanted, strict=True):
        assert np.abs(f / w - 1).max() <= error


@pytest.mark.parametrize(
    "arm", [pytest.param(arm, marks=() if arm == "lab-arm" else pytest.mark.full) for arm in FLEXIBLE]
)
def test_frequencies_of_bundled_arms_from_the_text(arm: str) -> None:
    robot = pliant.load(arm)
    text = robot.to_mjcf()
    assert stated(text) == ERROR
    within(from_text(text), beams(robot), ERROR)


@pytest.mark.full
def test_shear_taper_offset_pieces_and_stations() -> None:
    """Whatever a beam may be: the chain converges to it like 1/N^2."""
    section = {
        "shape": "channel",
        "width": 0.05,
        "height": 0.08,
        "flange": 0.004,
        "web": 0.003,
        "offset": [0.03, -0.02],
    }
    taper = {"shape": "box", "x": [0, 0.3, 1], "width": [0.06, 0.05, 0.03], "height": [0.05, 0.05, 0.02]}
    shapes = {"method": "elements", "count": 2, "bending_y": True, "bending_z": True}
    robot = Robot.from_dict(
        {
            "format": 1, "name": "all sorts",
            "links": [
                {"name": "first", "beam": {"length": 0.9, "material": "steel", "section": {**section, "rotation": 0.3}},
                 "shapes": {**shapes, "torsion": True, "axial": True}, "tip": {"mass": 2.0, "com": [0.0, 0.05, 0.02]}},
                {"name": "second", "joint": {"axis": [0, 1, 0]},
                 "beam": {"length": 0.7, "material": "steel", "section": {**taper, "thickness": 0.004}, "shear": True},
                 "shapes": shapes},
                {"name": "third", "parent": "first", "at": {"x": 0.45}, "joint": {"type": "fixed"},
                 "beam": {"length": 0.5, "mass_per_length": 1.0, "EI_z": 40.0, "curvature": [0, 1.5], "pieces": 6},
                 "shapes": {"bending_y": 1}},
            ],
        }
    )  # fmt: skip
    errors = []
    exact = beams(robot, 32)
    for bodies in (12, 24):
        found = from_text(robot.to_mjcf(bodies=bodies))
        errors.append(max(float(np.abs(f / w - 1).max()) for f, w in zip(found, exact, strict=True)))
    assert errors[1] < errors[0] < 0.01
    assert abs(stated(robot.to_mjcf(bodies=12)) - errors[0]) < 0.001


def test_what_cannot_be_and_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedModel, match="beam of link `slide` slides"):
        pliant.load("rrp").to_mjcf()
    arm = pliant.load("two-link")
    for bodies in (0, True, 2.0, 401):
        with pytest.raises(ModelError, match="bodies: got"):
            arm.to_mjcf(bodies=bodies)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="error: got"):
        arm.to_mjcf(error=1)
    with monkeypatch.context() as few:
        few.setattr("pliant.export.mjcf.DEEPEST", 10)
        with pytest.raises(ModelError, match="one behind the other"):
            arm.to_mjcf(bodies=6)
    monkeypatch.setattr("pliant.export.spring_chains.COUNTS", (2, 3))
    with pytest.raises(ModelError, match="which 3 bodies per link do not reach"):
        arm.to_mjcf(error=1e-3)


def test_dampers_give_the_ratio_of_the_first_mode() -> None:
    robot = pliant.load("spin-up").replace({"links.arm.shapes.damping": 0.03, "links.arm.shapes.kelvin_voigt": 1e-3})
    chain, _, M = cut(robot, 10, ERROR)
    damp(chain, M)
    own = np.array([joint.role == "bending_y" for joint in chain.joints])
    M = M[np.ix_(own, own)]
    k, c = chain.per_speed("stiffness")[own], chain.per_speed("damping")[own]
    squares, V = np.linalg.eig(np.linalg.solve(M, np.diag(k)))
    first = int(np.argmin(squares))
    v, omega = V[:, first], np.sqrt(squares[first])
    assert (v @ (c * v)) / (2 * omega * (v @ M @ v)) == pytest.approx(0.03 + 1e-3 * omega / 2, rel=1e-6)


def test_one_rule_of_cutting() -> None:
    """The chains that benchmarks run in other engines are cut as those that are written."""
    from pliant_bench.lumped_chain import segments
    from pliant_bench.peers import PlanarArm

    robot = pliant.load("two-link")
    ours = spring_chain(robot, 5)
    theirs = segments(PlanarArm.of(robot), 5)
    np.testing.assert_allclose(ours.per_speed("stiffness"), theirs.stiffness, rtol=1e-14)
    np.testing.assert_allclose(ours.inertia(), theirs.mass_matrix(np.zeros(theirs.n)), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------- MuJoCo


def in_mujoco(text: str) -> Any:
    mujoco = pytest.importorskip("mujoco", reason="mujoco (extra bench) is not installed")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return mujoco, model, data


def dense(mujoco: Any, model: Any, data: Any) -> np.ndarray:
    M = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:  # before MuJoCo 3.5
        mujoco.mj_fullM(model, M, data.qM)
    return M


@pytest.mark.parametrize(
    "arm", [pytest.param(arm, marks=() if arm == "lab-arm" else pytest.mark.full) for arm in FLEXIBLE]
)
def test_frequencies_of_bundled_arms_in_mujoco(arm: str) -> None:
    robot = pliant.load(arm)
    text = robot.to_mjcf()
    mujoco, model, data = in_mujoco(text)
    M, k, held = dense(mujoco, model, data), np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    for joint in range(model.njnt):
        first, kind = model.jnt_dofadr[joint], model.jnt_type[joint]
        k[first] = np.ravel(model.jnt_stiffness[joint])[0]
        held[first] = kind != mujoco.mjtJoint.mjJNT_FREE and not k[first]
    within([_first(k, M, held & locked) for locked in (True, False)], beams(robot), stated(text))


def test_every_bundled_arm_loads(tmp_path: Path) -> None:
    """With its gravity, motors and sites; a rigid one too."""
    text = Path(pliant.load("puma").to_mjcf(tmp_path / "puma.xml")).read_text()
    _, model, _ = in_mujoco(text)
    assert (model.nv, model.nu) == (6, 6)
    _, model, _ = in_mujoco(pliant.load("free-flyer").to_mjcf(bodies=1))
    assert (model.nsite, model.nu, model.opt.gravity.tolist()) == (3, 9, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", sampled(range(14), 4))
def test_mujoco_moves_rigid_trees_as_we_do(seed: int) -> None:
    """Joints of all types, drives, hubs, tips, payloads: accelerations at random states."""
    robot = random_tree(seed, flying=seed % 2 == 0)
    links = []
    for link in robot.links:
        rub = {"friction": pliant.robot.Friction(), "limits": None}
        axes = tuple(axis.model_copy(update=rub) for axis in link.joint.axes)
        links.append(
            link.model_copy(update={"shapes": None, "joint": link.joint.model_copy(update={**rub, "axes": axes})})
        )
    robot = Robot.from_dict(robot.model_copy(update={"links": tuple(links)}).to_dict())
    text = robot.to_mjcf()
    if "moments of inertia across an axis are raised" in text:
        pytest.skip("MuJoCo wants bodies that can be")
    mujoco, model, data = in_mujoco(text)
    ours = robot.model("denoc", stiffening="off")
    rng = np.random.default_rng(seed)
    q, qd, tau = rng.normal(size=ours.n_q), rng.normal(size=ours.n), rng.normal(size=ours.n_joints)
    for link in ours.chain.links:
        if link.joint.is_ball:
            q[list(link.joint_places[-4:])] /= np.linalg.norm(q[list(link.joint_places[-4:])])
    qdd = ours.forward_dynamics(q, qd, tau)
    place, speed = ({name: k for k, name in enumerate(names)} for names in (ours.coordinates, ours.speeds))
    wanted = np.zeros(model.nv)
    for body in robot.bodies:
        _carry(mujoco, model, data, body, place, speed, q, qd, qdd, wanted)
    for name, value in zip(ours.joints, tau):
        flat = name.replace(".", "_")
        motor = f"{flat}_motor" if f"{name}.motor" in place else flat
        data.actuator(motor).ctrl = value
    mujoco.mj_forward(model, data)
    assert np.abs(data.qacc - wanted).max() <= 1e-6 * np.abs(wanted).max()  # by the least inertias that MuJoCo needs


def _carry(
    mujoco: Any, model: Any, data: Any, body: Any, place: Any, speed: Any, q: Any, qd: Any, qdd: Any, out: Any
) -> None:
    """A state of ours to MuJoCo, and our accelerations as its own."""
    joint, name = body.joint, body.name
    if joint.type in ("spherical", "free"):
        own = data.joint(name)
        at, w = [place[f"{name}.q{x}"] for x in "wxyz"], [speed[f"{name}.w{x}"] for x in "xyz"]
        first = model.joint(name).dofadr[0]
        if joint.type == "spherical":
            own.qpos, own.qvel, out[first : first + 3] = q[at], qd[w], qdd[w]
            return
        R = to_matrix(q[at])
        x, v = [place[f"{name}.{x}"] for x in "xyz"], [speed[f"{name}.v{x}"] for x in "xyz"]
        linear, rate = R @ qdd[v] + R @ np.cross(qd[w], qd[v]), R @ qd[v]  # speeds of ours are in the axes of the link
        if model.joint(name).type[0] == mujoco.mjtJoint.mjJNT_FREE:
            turn = to_matrix(np.array(model.qpos0[model.joint(name).qposadr[0] + 3 :][:4]))
            start = model.qpos0[model.joint(name).qposadr[0] :][:3]
            own.qpos = np.concatenate([start + turn @ q[x], _product(turn, q[at])])
            own.qvel = np.concatenate([turn @ rate, qd[w]])
            out[first : first + 6] = np.concatenate([turn @ linear, qdd[w]])
            return
        own.qpos, own.qvel, out[first : first + 3] = q[at], qd[w], qdd[w]
        for axis, a, b, c in zip("xyz", q[x], rate, linear):
            slide = data.joint(f"{name}_{axis}")
            slide.qpos, slide.qvel, out[model.joint(f"{name}_{axis}").dofadr[0]] = a, b, c
        return
    for free in joint.freedoms:
        full = free.name(name)
        flat, motor = full.replace(".", "_"), f"{full}.motor"
        values = [(x[place[full]] if x is q else x[speed[full]]) for x in (q, qd, qdd)]
        if motor in place:
            moved = [(x[place[motor]] if x is q else x[speed[motor]]) for x in (q, qd, qdd)]
            spun = data.joint(f"{flat}_motor")
            spun.qpos, spun.qvel, out[model.joint(f"{flat}_motor").dofadr[0]] = moved
            values = [a - b for a, b in zip(values, moved)]
        own = data.joint(flat)
        own.qpos, own.qvel, out[model.joint(flat).dofadr[0]] = values


def _product(R: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    from pliant.algebra.quaternions import from_matrix

    return np.asarray(from_matrix(R @ to_matrix(quaternion)))


@pytest.mark.full
def test_mujoco_sags_as_we_do() -> None:
    """Springs of beams under gravity, joints held: 1.67 mm at the tip, which ten springs per beam meet to 0.1 %."""
    robot = pliant.load("lab-arm")
    mujoco, model, data = in_mujoco(robot.to_mjcf(bodies=10))
    start = data.site("tip").xpos.copy()
    k = np.array([np.ravel(model.jnt_stiffness[j])[0] for j in range(model.njnt)])
    beam = np.array([re.search("bending|torsion", model.joint(j).name) is not None for j in range(model.njnt)])
    for _ in range(50):
        data.qpos[beam] = -data.qfrc_bias[beam] / k[beam]
        mujoco.mj_forward(model, data)
    ours = robot.model()
    bent, straight = ours.equilibrium(np.zeros(3)), np.zeros(ours.n)
    sag = ours.pose(bent, frame="tip")[:3, 3] - ours.pose(straight, frame="tip")[:3, 3]
    assert data.site("tip").xpos - start == pytest.approx(sag, abs=3e-3 * np.abs(sag).max())


def test_friction_and_limits_behind_elastic_drives_act_on_the_link() -> None:
    robot = pliant.load("lab-arm").replace({"links.upper.joint.limits": {"lower": -1.0, "upper": 1.0, "effort": 40.0}})
    _, model, _ = in_mujoco(robot.to_mjcf(bodies=2))
    assert model.ntendon == 3
    tendon = model.tendon("upper_link").id
    assert model.tendon_range[tendon].tolist() == [-1.0, 1.0]
    assert np.ravel(model.tendon_damping[tendon])[0] == 1.0
    assert model.actuator("upper_motor").ctrlrange.tolist() == [-40.0, 40.0]
    assert model.joint("upper_motor").armature[0] == pytest.approx(6e-5 * 100**2)


SOFT_DRIVE = {"stiffness": 1e4, "rotor_inertia": 1e-3}
ROD = {"length": 0.5, "mass_per_length": 2.0, "EI_y": 200.0, "EI_z": 300.0}


def test_no_two_elements_have_one_name() -> None:
    """Names that are made, of motors, stretches, pieces, axes and payloads, beside links that are called so."""
    names = ("upper", "upper_motor", "upper_motor_2", "boom", "boom_1", "boom_1_bending_y", "wrist", "wrist_x")
    body = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1], "tip": [0.3, 0.0, 0.0]}
    links: list[dict[str, Any]] = [{"name": name, "rigid": body} for name in names]
    links[0]["joint"] = {"drive": SOFT_DRIVE, "friction": {"viscous": 1.0}}
    links[3] = {"name": "boom", "beam": ROD, "shapes": {"bending_y": 1}}
    links[6] |= {"joint": {"type": "planar"}}
    robot = Robot.from_dict({"name": "names", "links": links, "payload": {"mass": 1.0}})
    in_mujoco(robot.to_mjcf(bodies=3))  # which refuses names that stand twice
    root = ET.fromstring(robot.to_mjcf(bodies=3))
    found = {element.get("name") for element in root.iter("joint") if element.get("name")}
    assert {*names, "upper_motor_3", "boom_1_bending_y_2"} - {"wrist"} <= found
    fixed = root.find("tendon/fixed")
    assert fixed is not None
    assert [one.get("joint") for one in fixed] == ["upper_motor_3", "upper"]
    motors = {one.get("name") for one in root.iter("motor")}
    assert {"upper_motor", "upper_motor_2", "upper_motor_3", "boom"} <= motors
    text = robot.to_urdf()
    for kind in ("link", "joint"):
        given = re.findall(rf'<{kind} name="([^"]+)"', text)
        assert len(set(given)) == len(given)
        assert {"boom_1", "upper_motor"} <= set(given)


def test_a_link_called_world(tmp_path: Path) -> None:
    """The ground of MuJoCo has this name; names of other formats are free."""
    links = [
        {"name": name, "joint": {"axis": [0, 0, 1]}, "rigid": {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0.1] * 3}}
        for name in ("world_2", "world", "main", "default", "time")
    ]
    robot = Robot.from_dict({"name": "world", "links": links})
    text = robot.to_mjcf()
    names = [body.get("name") for body in ET.fromstring(text).iter("body")]
    assert len(set(names)) == len(names) == 5
    assert "world" not in names
    assert "world_2" in names
    assert "link world: its body has another name" in text
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    assert mujoco.MjModel.from_xml_string(text).nv == 5
