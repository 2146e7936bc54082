"""Claims of [ZZZ] and requirements on stiffening and flexible joints, judged from measured numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pliant_studies.checks import Check, Numbers, below, claimed, compared, reported, required

VISIBLE, OBVIOUS = 0.01, 0.05
"""Differences over the largest value: about the width of a line in a printed figure, and five of them."""


def judge(numbers: Numbers) -> list[Check]:
    """Every check of the study."""
    return [
        *_beam(numbers),
        *_orders(numbers),
        *_independent(numbers),
        *_shortening(numbers),
        *_joint(numbers["joint"]),
        *_rotors(numbers["fall"]),
        *_joints_matter(numbers),
        *_arm(numbers),
    ]


# ---------------------------------------------------------------------------------------------------- spinning beam


def _beam(numbers: Numbers) -> list[Check]:
    f_1, omega_1 = numbers["beam"]["frequency (Hz)"], numbers["beam"]["formula"]
    exact = omega_1 / (2 * np.pi)
    gone = {speed: values["diverged"] for speed, values in numbers["threshold"].items()}
    slow, fast = (float(speed) for speed in gone)
    return [
        compared(
            "A",
            "The fundamental frequency of the beam is 0.464 Hz",
            "section 4.1",
            published=0.464,
            ours=f_1,
            relative=0.001 / 0.464,
            reason="one unit of the last printed digit",
            text=f"Ours is {f_1:.5f} Hz, 0.16 % below the printed value: the paper's own data would print as 0.463.",
        ),
        required(
            "A-own",
            "It is that of the clamped-free beam formula",
            "section 4.1",
            ours=f_1,
            limit=1e-9,
            true=abs(f_1 / exact - 1) < 1e-9,
            reason="round-off of an eigenvalue; the shapes are those of this beam",
            text="Reference: beta_1^2 sqrt(EI/mu L^4)/2 pi with cos(beta L) cosh(beta L) = -1.",
            reference=exact,
        ),
        required(
            "B",
            f"The zero-order model is bounded at {slow:g} rad/s and diverges at {fast:g}",
            "section 4.1",
            ours={f"{speed} diverges": value for speed, value in gone.items()},
            limit="within 60 s",
            true=[*gone.values()] == [False, True] and slow < omega_1 < fast,
            reason="K - omega^2 M is singular exactly at omega = omega_1; both speeds lie within 0.4 % of it",
            text="Without shortening nothing opposes the centrifugal softening: the threshold is the first frequency "
            "of the beam at rest itself.",
            reference=f"omega_1 = {omega_1:.4f} rad/s",
        ),
    ]


def _orders(numbers: Numbers) -> list[Check]:
    zero, high = numbers["spins"]["zero"], numbers["spins"]["high"]
    gone = {s: values["diverged"] for s, values in zero.items() if s in ("3", "8", "10")}
    kept = {s: [values["diverged"], values["residual (m)"], -values["peak (m)"]] for s, values in high.items()}
    apart = {s: abs(zero[s]["peak (m)"] / high[s]["peak (m)"] - 1) for s in ("0.6", "2")}
    rest = {s: values["residual (m)"] for s, values in high.items()}
    slower, faster = ([rest[s] for s in rest if (float(s) - 3) * side > 0] for side in (-1, 1))
    difference = "Difference of the largest deflections of the tip, zero over high order"
    return [
        claimed(
            "zero-diverges",
            "The zero-order model diverges at 3, 8 and 10 rad/s",
            "Figs. 4, 5",
            published="divergent",
            ours=gone,
            true=all(gone.values()),
            tolerance="beyond 1000 m",
            reason="beyond any doubt for a beam of 8 m",
            text="Every speed above the first frequency of the beam makes the model without shortening unstable.",
        ),
        claimed(
            "high-converges",
            "The high-order model converges at every speed",
            "Figs. 3-5",
            published="convergent",
            ours={s: {"residual (m)": left, "peak (m)": peak} for s, (_, left, peak) in kept.items()},
            true=all(not lost and left < OBVIOUS * peak for lost, left, peak in kept.values()),
            tolerance="what is left after the spin-up is below 5 % of the peak",
            reason="'convergent' taken as: the beam comes back to the straight line and vibrates a little",
            text="Vibration after the spin-up over the largest backward deflection: at most "
            f"{100 * max(left / peak for _, left, peak in kept.values()):.1f} %.",
        ),
        claimed(
            "low-speed-0.6",
            "At 0.6 rad/s the difference between zero and high order is obvious",
            "Fig. 3",
            published="obvious",
            ours=apart["0.6"],
            true=apart["0.6"] > OBVIOUS,
            tolerance="> 5 % of the peak",
            reason="some widths of a line",
            text=f"{difference}: {100 * apart['0.6']:.1f} %. At its peak the beam turns at half of the final speed, "
            "so that centrifugal softening takes (0.3/2.91)^2 = 1 % off its stiffness and no more.",
        ),
        claimed(
            "low-speed-2",
            "At 2 rad/s the difference between zero and high order is obvious",
            "Fig. 3",
            published="obvious",
            ours=apart["2"],
            true=apart["2"] > OBVIOUS,
            tolerance="> 5 % of the peak",
            reason="some widths of a line",
            text=f"{difference}: {100 * apart['2']:.0f} %.",
        ),
        claimed(
            "low-speed-grows",
            "The difference grows with the speed",
            "section 4.1",
            published="larger and larger",
            ours=apart,
            true=apart["2"] > 2 * apart["0.6"] and all(gone.values()),
            tolerance="at 2 rad/s twice that at 0.6, then divergence",
            reason="'larger and larger'",
            text=f"{difference}; from 3 rad/s on there is no zero-order result any more.",
        ),
        claimed(
            "amplitude-3",
            "At 3 rad/s the vibrating amplitude is much higher than at lower speeds",
            "Fig. 4",
            published="much higher",
            ours=rest,
            true=rest["3"] > 2 * max(slower),
            tolerance="twice that at 0.6 and at 2 rad/s",
            reason="what 'much higher' should at least mean",
            text=f"Amplitude of the vibration left after the spin-up (m), high order: {rest['3'] / max(slower):.1f} "
            "times that at 2 rad/s.",
        ),
        claimed(
            "resonance",
            "It is so because 3 rad/s is close to the fundamental frequency",
            "Fig. 4, section 4.1",
            published="3 rad/s = 0.477 Hz against 0.464 Hz",
            ours=rest,
            true=rest["3"] > max(faster),
            tolerance="higher than at every higher speed that was run",
            reason="a resonance has a peak; beyond it the amplitude falls again",
            text="There is no resonance at 3 rad/s: spin stiffens the beam, so that its frequency moves away as the "
            "speed rises, and the vibration left goes on growing with the speed: "
            + ", ".join(f"{1e3 * value:.2g} mm at {s}" for s, value in rest.items())
            + " rad/s.",
        ),
        claimed(
            "stiffening-matters",
            "Dynamic stiffening effects cannot be neglected",
            "section 5",
            published="cannot be neglected",
            ours={"2 rad/s": apart["2"], "3, 8, 10 rad/s": "divergent" if all(gone.values()) else gone},
            true=apart["2"] > VISIBLE and all(gone.values()),
            tolerance="more than 1 % at 2 rad/s, and divergence from 3 rad/s on",
            reason="the width of a line",
            text="The spinning beam, which is what the paper shows it on: without shortening the peak is "
            f"{100 * apart['2']:.0f} % off at 2 rad/s, and above the first frequency there is no result.",
        ),
    ]


def _independent(numbers: Numbers) -> list[Check]:
    """Our runs against the beam of `beam.py`, and against the paper's recursion and integrator."""
    spins, other, own = numbers["spins"], numbers["references"], numbers["recursion"]
    worst = max(values["apart"] for order in other.values() for values in order.values())
    peaks = {order: {s: spins[order][s]["peak (m)"] for s in other[order]} for order in other}
    between = {s: spins["high"][s]["peak (m)"] / spins["first"][s]["peak (m)"] - 1 for s in other["high"]}
    expected = {s: other["high"][s]["peak (m)"] / other["first"][s]["peak (m)"] - 1 for s in other["high"]}
    found = [
        required(
            "C-histories",
            "Deflections are those of an independent model",
            "Figs. 3-5",
            ours={"apart": worst, "peaks (m)": peaks},
            limit=1e-6,
            true=worst < 1e-6,
            reason="both integrate to 1e-8 or better",
            text="Tip deflection along the whole run, first and high order, against virtual work by quadrature with "
            "shapes of its own (three each) and SciPy's DOP853; largest difference over the peak.",
            reference={
                order: {s: values["peak (m)"] for s, values in entries.items()} for order, entries in other.items()
            },
        ),
        required(
            "C-orders",
            "First and high order part as in the independent model, and more at every higher speed",
            "section 4.1",
            ours=between,
            limit=1e-6,
            true=all(abs(between[s] - expected[s]) < 1e-6 for s in between) and _rising(between.values()),
            reason="as above",
            text="High over first order, three modes each: the products of shortening and deflection add "
            + ", ".join(f"{100 * x:.2f} % at {s}" for s, x in between.items())
            + " rad/s.",
            reference=expected,
        ),
        required(
            "recursion-spin",
            "The paper's recursion and Adams method give the same spin-up",
            "sections 3, 4",
            ours=own["spin"],
            limit=1e-6,
            true=max(own["spin"].values()) < 1e-6,
            reason="both integrate at rtol 1e-8",
            text="Formulation recursive-lagrange, integrated by the Adams method of SUNDIALS, against the O(n) "
            "recursion and DOP853; largest difference of the tip over the peak, by speed.",
        ),
        below(
            "recursion-equations",
            "The paper's recursion gives the equations of Canadarm2",
            "section 3",
            ours=own["equations"],
            limit=1e-11,
            reason="round-off",
            text="Generalized forces at a random state with both booms bent, against Lagrange's equations by "
            "automatic differentiation of the energies, over the largest.",
        ),
    ]
    if own["fall"]:
        found.append(
            required(
                "recursion-fall",
                "The paper's recursion and Adams method give the same fall of Canadarm2",
                "section 4.2",
                ours=own["fall"],
                limit=1e-6,
                true=max(own["fall"].values()) < 1e-6,
                reason="both integrate at rtol 1e-8",
                text=f"The first {own['seconds']:g} s, {own['steps']} steps of Adams: path of the tip, and deflection "
                "of the first boom, over their largest.",
            )
        )
    return found


def _rising(values: Iterable[float]) -> bool:
    return bool(np.all(np.diff([*values]) > 0))


def _shortening(numbers: Numbers) -> list[Check]:
    found, stretches = numbers["shortening"], numbers["stretch"]
    planes = abs(found["about y (m)"] / found["about z (m)"] - 1)
    quadrature = "-1/2 of the integral of the squared slopes of the shapes, by 12-point quadrature; largest difference "
    checks = [
        below(
            "E-planes",
            "Spinning about y and about z gives the same peak",
            "high-order coupling",
            ours=planes,
            limit=1e-8,
            reason="integration; the beam is round",
            text="Bending in z by a spin about y against bending in y by a spin about z, 3 rad/s.",
        ),
        below(
            "E-tip",
            "The distal frame with a tip mass is drawn in by the shortening of the whole beam",
            "distal frame",
            ours=found["tip mass"],
            limit=1e-9,
            reason="quadrature of hyperbolic shapes",
            text=f"Axial displacement of the tip against {quadrature}over the largest value.",
        ),
        below(
            "F-quadratic",
            "The axial displacement of the boom contains the negative quadratic term of both planes",
            "u_x of Canadarm2",
            ours=found["first boom"],
            limit=1e-9,
            reason="a few last bits of a place at 7 m beside a shortening by 8 um",
            text=f"u_x less its axial modes against {quadrature}over the largest value.",
        ),
    ]
    for name, values in stretches.items():
        ours, exact = values["mean (m)"], values["closed form (m)"]
        checks.append(
            required(
                f"stretch-{name.split()[0]}",
                f"Steady axial stretch at constant spin: {name}",
                "EA",
                ours=ours,
                limit=2e-3,
                true=abs(ours / exact - 1) < 2e-3,
                reason="what axial shapes beyond the third would add, some 1e-3",
                text="Mean of the axial amplitude at the tip after the spin-up, the shortening not included, against "
                "mu w^2 L^3/(3 EA).",
                reference=exact,
            )
        )
    return checks


# -------------------------------------------------------------------------------------------------- flexible joints


def _joint(joint: Numbers) -> list[Check]:
    ours, exact = joint["resonance"], joint["closed form"]
    a, b, c = joint["errors"]
    ratios = [a / b, b / c]
    return [
        required(
            "D-resonance",
            "Rotor and link on a spring resonate at sqrt(K(1/J1 + 1/J2))",
            "flexible joint model",
            ours=ours,
            limit=1e-6,
            true=abs(ours / exact - 1) < 1e-6,
            reason="round-off of a generalized eigenvalue problem",
            text="One link on one spring, rad/s.",
            reference=exact,
        ),
        required(
            "D-stiff",
            "A stiffer spring recovers the rigid joint, with an error that falls as 1/K",
            "flexible joint model",
            ours=ratios,
            limit="9 to 11 per decade",
            true=all(9 < r < 11 for r in ratios),
            reason="the next term falls as 1/K^2",
            text="Pendulum frequency of a link on an elastic joint against that on a rigid one, for 1e4, 1e5, 1e6 N "
            "m/rad.",
        ),
    ]


# ------------------------------------------------------------------------------------------------------- Canadarm2


def _rotors(fall: Numbers) -> list[Check]:
    """Claims on rotor inertia: root mean squares over three durations, light rotors as printed, heavy ones beside."""
    twists, shapes = fall["twist"], fall["deformation"]
    light = {name: values for name, values in twists.items() if name.endswith("light")}
    times = [v[-1] / v[0] for windows in light.values() for v in windows.values()]
    rows = {name: {what: list(windows.values()) for what, windows in shapes[name].items()} for name in shapes}
    printed = {name: what for name, what in rows.items() if name.endswith("light")}
    grows = {f"{what} ({name})": all(map(_rising, v)) for name, whats in printed.items() for what, v in whats.items()}
    spread = max(abs(v[-1] / v[0] - 1) for whats in printed.values() for rows_ in whats.values() for v in rows_)
    heavy = rows["MN m, heavy"]
    span = (
        f"Three durations, {', '.join(next(iter(light.values())))}; the elbow is still bent by "
        f"{abs(fall['elbow at the end (deg)']):.0f} deg at the last and snaps straight at "
        f"{fall['straight at (s)']:.2f} s."
    )
    return [
        claimed(
            "D-twist",
            "The larger the rotor inertia, the larger the torsional angle of the joint",
            "Fig. 9",
            published="larger",
            ours=light,
            true=all(_rising(v) for windows in light.values() for v in windows.values()),
            tolerance="rising in every duration and both readings of the stiffness",
            reason="an order, no numbers are given",
            text="Root mean square of epsilon_1 (rad) in free fall for 5, 10 and 15 kg m^2, joints of 2.66 MN m/rad "
            "and of 2.66 kN m/rad. The spring has to drag the rotor along with the falling arm: more rotor, more "
            f"twist; from 5 to 15 kg m^2 it grows {min(times):.1f}- to {max(times):.1f}-fold. {span}",
        ),
        claimed(
            "tip-grows",
            "The same holds for the deformations of the first link's tip",
            "Figs. 10-13",
            published="larger",
            ours={name: shapes[name] for name in printed},
            true=all(grows.values()),
            tolerance="rising in every duration and both readings of the stiffness",
            reason="an order, no numbers are given",
            text="Root mean squares of u_x, v_y, w_z (m) and theta_x (rad) for 5, 10 and 15 kg m^2. Rising "
            f"throughout: {', '.join(k for k, yes in grows.items() if yes) or 'none'}; not: "
            f"{', '.join(k for k, yes in grows.items() if not yes) or 'none'}. From 5 to 15 kg m^2 none of them "
            f"changes by more than {100 * spread:.0f} %: rotors of 15 kg m^2 are little beside booms of some thousand "
            f"kg m^2 about their joints. {span}",
        ),
        claimed(
            "tip-grows-heavy",
            "With rotors of thousands of kg m^2 it does hold",
            "Figs. 10-13",
            published="larger",
            ours=heavy,
            true=all(_rising(v) for values in heavy.values() for v in values),
            tolerance="rising in every duration",
            reason="an order, no numbers are given",
            text="The same for 5000, 10000 and 15000 kg m^2, which is what a gear of some hundred to one makes of a "
            "small rotor. A heavy rotor holds the joint back, and the boom bends instead: the trend of the paper is "
            "right where the rotor is heavy enough to matter; the unit of its 5, 10 and 15 is not printed.",
        ),
    ]


def _joints_matter(numbers: Numbers) -> list[Check]:
    """The paper's conclusion on flexible joints, with free and with braked motors."""
    fall, braked = numbers["fall"], numbers["braked"]
    rigid = braked["drop (m)"]["rigid"]
    more = {
        name: {window: value / rigid[window] - 1 for window, value in values.items()}
        for name, values in braked["drop (m)"].items() if name != "rigid"
    }  # fmt: skip
    lengths = next(iter(more.values()))
    orders = {window: [more[name][window] for name in more] for window in lengths}
    free = {name: max(values.values()) for name, values in fall["joints"].items()}
    claim = "The coupling effects of flexible links and flexible joints are significant"
    tones = braked["frequency (Hz)"]
    return [
        claimed(
            "joints-matter-braked",
            f"{claim}: motors held",
            "section 5, Figs. 14-18",
            published="significant",
            ours=more,
            true=min(min(values.values()) for values in more.values()) > OBVIOUS,
            tolerance="every stiffness and duration changes the drop of the tip by more than 5 %",
            reason="some widths of a line in a figure",
            text="The arm hangs on its joint springs while the motors stand still. Drop of the tip under its weight, "
            "over that with rigid joints: "
            + ", ".join(
                f"{100 * v[-1]:+.0f} % at {k} MN m/rad" for k, v in ((k, [*w.values()]) for k, w in more.items())
            )
            + f". The lowest natural frequency falls from {tones['rigid']:.3f} to {tones['0.60']:.3f} Hz. Joints "
            "of some 10^6 N m/rad are about as soft as the booms (EI/L = 0.53e6 N m/rad): neither can be left "
            "out.",
        ),
        claimed(
            "stiffness-order",
            "The softer the joints, the more the arm moves",
            "Figs. 14-18",
            published="four different curves",
            ours=orders,
            true=all(_rising(values[::-1]) for values in orders.values()),
            tolerance="falling with the stiffness at every duration",
            reason="an order; the paper has curves only",
            text="Drop of the tip over that with rigid joints less one, from 0.60 to 5.00 MN m/rad, motors held.",
        ),
        claimed(
            "joints-matter-free",
            f"{claim}: motors free",
            "section 5, Figs. 14-18",
            published="significant",
            ours=free,
            true=min(free.values()) > OBVIOUS,
            tolerance="every stiffness moves the tip by more than 5 % of its way",
            reason="some widths of a line in a figure",
            text="The whole arm falls, motors included. Largest distance of the tip from that of the arm with rigid "
            "joints, over the way of the tip; at any of the durations. A spring between a free rotor and the link "
            "carries only what the rotor's inertia asks for, so that the motion does not depend on it: neither for "
            "springs in MN m/rad nor for those a thousand times softer. Figs. 14-18 would be four lines on each "
            "other; the paper does not say what its motors do.",
        ),
        reported(
            "unit",
            "Unit of the joint stiffness",
            "section 4.2",
            ours={
                "weight at the shoulder (N m)": braked["weight at the shoulder (N m)"],
                "angle (rad)": braked["weight at the shoulder (N m)"] / 5e3,
            },
            text="The weight of the arm at the start turns the shoulder with "
            f"{1e-3 * braked['weight at the shoulder (N m)']:.0f} kN m. A joint of 5.00 kN m/rad would wind up by "
            "several turns before it held that; one of 5.00 MN m/rad by less than a degree. 'N/mm' can hardly mean N "
            "mm/rad if the arm is to stand.",
            published="N/mm",
        ),
    ]


def _arm(numbers: Numbers) -> list[Check]:
    fall, braked, limit = numbers["fall"], numbers["braked"], numbers["rigid limit"]
    drift = max(fall["energy"], braked["energy"])
    shortening = {"motors free": fall["no shortening"], "motors held": braked["no shortening"]}
    EA = fall["EA"]
    found = [
        below(
            "D-energy",
            "Energy of the arm with elastic joints is conserved",
            "section 4.2",
            ours=drift,
            limit=1e-6,
            reason="integration at rtol 1e-8, relative to the kinetic energy; largest of all runs",
            text="No damping anywhere: gravity, strain of booms and springs, and motion exchange energy without loss.",
        ),
        claimed(
            "stiffening-canadarm",
            "Dynamic stiffening effects cannot be neglected for Canadarm2",
            "section 5",
            published="cannot be neglected",
            ours=shortening,
            true=min(shortening["motors held"].values()) > VISIBLE,
            tolerance="more than 1 % of the way of the tip, motors held",
            reason="the width of a line in a figure",
            text="Largest distance of the tip from that of a model without shortening, over its way. On the brakes "
            "the booms bend by a tenth of their length and the shortening shows. In free fall they bend by "
            f"millimetres and it does not: {max(shortening['motors free'].values()):.0e} of the way.",
        ),
        reported(
            "EA",
            "The printed EA against a physical one",
            "section 4.2",
            ours=EA,
            text="Peaks of u_x and v_y of the first boom (m) in free fall with 2.84e7 and 2.84e8 N, and the radius "
            "of a thin tube with that EA and the printed EI. u_x falls "
            f"{EA['u_x (m)'][0] / EA['u_x (m)'][1]:.0f}-fold; v_y changes by "
            f"{100 * (EA['v_y (m)'][1] / EA['v_y (m)'][0] - 1):+.0f} %. With the printed value Fig. 10 shows the "
            f"stretch of a tube of {EA['radius of a thin tube (m)'][0]:.2f} m radius; that of the real boom is about "
            "a third of it.",
        ),
    ]
    if limit:
        found.append(
            required(
                "F-rigid",
                "The arm falls like a rigid one when every stiffness grows",
                "section 4.2",
                ours=limit,
                limit="falls fivefold or more for ten times the stiffness",
                true=limit["30"] > 5 * limit["300"],
                reason="deflections, and with them the error, fall as 1/stiffness; vibration phases blur the ratio",
                text="Joint angles (rad) over a quarter second against the rigid arm, with all stiffnesses 30 and 300 "
                "times as large.",
            )
        )
    return found
