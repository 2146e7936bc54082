"""Names of the parts of the bench, and what each measures; light, for the command line."""

from __future__ import annotations

PARTS = {
    "rigid": "rigid 6R, 30R and PUMA: forward dynamics and runs; Pinocchio, MuJoCo, Exudyn",
    "derivatives": "rigid 6R, PUMA and a 24-dof flexible arm: derivatives of forward dynamics; Pinocchio",
    "puma": "PUMA: mass matrix and accelerations; Robotics Toolbox, SymPy mechanics",
    "loops": "two-link arm: runs; SciPy's loops on the same kernel",
    "stepping": "two-link arm and lab arm: steps of a caller, one arm, 256, an environment; whole runs",
    "flexible": "two-link flexible arm: runs and the work-precision plot; Exudyn, lumped chains",
    "large": "spin-up beam and a soft two-link arm, bent by a third: runs; geometrically exact beams of Exudyn",
    "linkages": "slider-crank and four-bar with a coupler that bends, two turns; cable elements of Exudyn",
    "mpc": "two-link arm and a 24-dof flexible arm: a step of predictive control; CasADi + IPOPT, do-mpc",
    "start": "fresh processes: start-up, compiling, memory; all engines",
}
