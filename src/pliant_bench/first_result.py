"""One engine in a fresh process: imports, an arm built, first accelerations, a first run, the memory it took.

    python -P first_result.py ENGINE FOLDER

Run by its path, so that a peer's process never imports pliant; flexible arms are the exception, since peers read
theirs from pliant's description. The folder holds `chain.json` and, for pliant, `arm.yaml`. Prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Work = tuple[Callable[[], Any], Callable[[], Any] | None]
"""First accelerations (of flexible arms: steps), the arm built and compiled for them; a run of 1 s, if there is one."""


def _peers(name: str) -> Any:
    """Load a neighbor of this file, without its package."""
    package = types.ModuleType("bench_peers")
    package.__path__ = [str(Path(__file__).parent)]
    sys.modules.setdefault("bench_peers", package)
    return importlib.import_module(f"bench_peers.{name}")


def _chain(folder: Path) -> Any:
    return _peers("rigid_peers").RigidChain.from_json((folder / "chain.json").read_text(encoding="utf-8"))


def _pliant(folder: Path) -> Work:
    import pliant

    made: list[Any] = []

    def first() -> None:
        made.append(pliant.load(str(folder / "arm.yaml")).model())
        zero = [0.0] * made[0].n
        made[0].forward_dynamics(zero, zero, zero)

    return first, lambda: pliant.simulate(made[0], 1.0, method="rk4", step=1e-3)


def _numpy(folder: Path) -> Work:
    import numpy  # noqa: F401 - its import is what is timed

    return lambda: None, None


def _import_pliant(folder: Path) -> Work:
    import pliant  # noqa: F401 - its import is what is timed

    return lambda: None, None


def _info(folder: Path) -> Work:
    from pliant.cli import main

    def show() -> None:
        sys.argv = ["pliant", "info", "two-link"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()

    return show, None


def _first_run(folder: Path) -> Work:
    import pliant

    made: list[Any] = []
    asked = json.loads((folder / "arm.json").read_text(encoding="utf-8"))

    def first() -> None:
        warnings.simplefilter("ignore")  # an arm may bend further than its model holds, standing in no pose of its own
        made.append(pliant.load(asked["arm"]).model(**asked["options"]))

    return first, lambda: pliant.simulate(made[0], 1.0)


def _pinocchio(folder: Path) -> Work:
    import numpy as np
    import pinocchio as pin

    def first() -> None:
        model, data = _peers("rigid_peers").pinocchio_arm(_chain(folder))
        pin.aba(model, data, *np.zeros((3, model.nq)))

    return first, None


def _mujoco(folder: Path) -> Work:
    import mujoco

    made: list[Any] = []

    def first() -> None:
        made.extend(_peers("rigid_peers").mujoco_arm(_chain(folder)))
        mujoco.mj_forward(*made)

    return first, lambda: mujoco.mj_step(*made, 1000)


def _exudyn(folder: Path) -> Work:
    import exudyn as exu

    def run(t_end: float) -> None:
        chain = _chain(folder)
        zero = [0.0] * len(chain.joints)
        _container, mbs, _sensor = _peers("rigid_peers").exudyn_arm(chain, zero, zero)
        settings = _peers("rigid_peers").exudyn_settings(t_end, 1e-3, 1e-2)
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.RK44)

    return lambda: run(1e-3), lambda: run(1.0)


def _toolbox(folder: Path) -> Work:
    import numpy as np
    import roboticstoolbox  # noqa: F401 - its import is what is timed

    return lambda: _peers("puma_peers").toolbox_arm(_chain(folder)).accel(*np.zeros((3, 6))), None


def _sympy(folder: Path) -> Work:
    import numpy as np
    import sympy.physics.mechanics  # noqa: F401 - its import is what is timed

    return lambda: _peers("puma_peers").sympy_functions(_chain(folder))(*np.zeros((3, 6))), None


def _flexible_pliant(folder: Path) -> Work:
    from pliant.simulation.runs.simulation import simulate
    from pliant_bench import two_link

    made: list[Any] = []

    def run(t_end: float) -> None:
        simulate(made[0], t_end, two_link.START, method="rk4", step=3e-4, output_step=two_link.OUTPUT_STEP)

    def first() -> None:
        made.append(two_link.robot(6, 6).model(stiffening="second-order"))
        run(two_link.OUTPUT_STEP)

    return first, lambda: run(1.0)


def _flexible_exudyn(folder: Path) -> Work:
    import exudyn  # noqa: F401 - its import is what is timed

    from pliant_bench.two_link import OUTPUT_STEP, exudyn_run

    return lambda: exudyn_run(t_end=OUTPUT_STEP), lambda: exudyn_run(t_end=1.0)


def _flexible_mujoco(folder: Path) -> Work:
    import mujoco  # noqa: F401 - its import is what is timed

    from pliant_bench.lumped_chain import mujoco_run
    from pliant_bench.two_link import OUTPUT_STEP, START, planar

    def run(t_end: float) -> None:
        mujoco_run(planar(), t_end, START, 8, 2.8e-4)

    return lambda: run(OUTPUT_STEP), lambda: run(1.0)


ENGINES: dict[str, Callable[[Path], Work]] = {
    "pliant": _pliant, "pinocchio": _pinocchio, "mujoco": _mujoco, "exudyn": _exudyn, "roboticstoolbox": _toolbox,
    "sympy": _sympy, "flexible pliant": _flexible_pliant, "flexible exudyn": _flexible_exudyn,
    "flexible mujoco": _flexible_mujoco, "numpy": _numpy, "import pliant": _import_pliant, "info": _info,
    "first run": _first_run,
}  # fmt: skip


def _most_memory() -> int | None:
    """Bytes, where the system tells; on Linux from the status page, since `ru_maxrss` knows the parent's size too."""
    page = Path("/proc/self/status")
    if page.exists():
        line = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(engine: str, folder: Path) -> dict[str, float | None]:
    """Seconds of each step, bytes of memory."""
    begin = time.perf_counter()
    first, run = ENGINES[engine](folder)
    imported = time.perf_counter()
    first()
    built = time.perf_counter()
    if run:
        run()
    ran = time.perf_counter() - built if run else None
    return {"imports": imported - begin, "build": built - imported, "run": ran, "memory": _most_memory()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
