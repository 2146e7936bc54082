"""`pliant info`: properties of an arm."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from pliant.cli.options import Flexible, Floating, Json, Packages, Tip, robot_of
from pliant.cli.output import Facts, number, print_json, say, table
from pliant.compute.llvm.kernel import few_calls
from pliant.compute.tape.trace_cache import recalled
from pliant.errors import PliantError
from pliant.model.robot import Robot, load, schema
from pliant.model.validity import doubts, tell
from pliant.robot.files.robot_files import arms
from pliant.robot.files.text_table import falls, hangs_on
from pliant.robot.mass_sum import link_mass, payload_mass, robot_mass
from pliant.robot.parts.bodies.imported_body import ImportedBody

_SHOWN = 12


def command(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="Robot file (YAML or URDF), or the name of a bundled arm."),
    ] = None,
    json: Json = False,
    as_schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of robot files, for editors.")
    ] = False,
    scenario_schema: Annotated[
        bool, typer.Option("--scenario-schema", help="Print the JSON schema of scenario files.")
    ] = False,
    package: Packages = None,
    flexible: Flexible = None,
    tip: Tip = None,
    floating: Floating = False,
) -> None:
    """Show an arm: links, masses, coordinates, frequencies. Without FILE, list the bundled arms."""
    if as_schema or scenario_schema:
        from pliant.simulation.scenario.scenario import schema as schema_of_scenarios

        print_json(schema() if as_schema else schema_of_scenarios())
    elif file is None:
        _list(json)
    else:
        robot = robot_of(file, package, flexible, tip, floating)
        facts = recalled(f"info {robot.digest()}", lambda: describe(robot))
        if json:
            print_json(facts)
        else:
            _show(robot, facts)


def describe(robot: Robot) -> Facts:
    """Properties of an arm as plain data; `note` is the reason why there are no frequencies, or None."""
    facts: Facts = {
        "name": robot.name,
        "gravity": list(robot.gravity),
        "payload_kg": payload_mass(robot),
        "mass_kg": robot_mass(robot),
        "base": {"type": robot.base.type, "mass_kg": robot.base.mass, "falls": falls(robot)},
        "links": [],
        "coordinates": None,
        "stiffening": None,
        "choices": [],
        "frequencies_hz": None,
        "damping_ratios": None,
        "note": None,
    }
    names: tuple[str, ...] = ()
    with warnings.catch_warnings(record=True) as caught, few_calls():
        warnings.simplefilter("always")
        try:
            model = robot.model()
            tell(model, doubts(model.robot))
            facts["choices"] = list(model.choices)
            names, facts["stiffening"] = model.coordinates, str(model.level)
            facts["coordinates"] = list(names)
            facts["frequencies_hz"] = model.frequencies().tolist()
            facts["damping_ratios"] = [None if x != x else x for x in model.damping_ratios().tolist()]
        except PliantError as error:
            facts["note"] = str(error)
    facts["warnings"] = [str(warning.message) for warning in caught]
    for link, place in zip(robot.links, hangs_on(robot)):
        own = [name for name in names if name == link.name or name.startswith(f"{link.name}.")]
        kind = "beam" if link.beam is not None else "rigid" if link.body is None else "body"
        given = link.shapes if link.body is None else link.body
        damping = None if given is None else given.damping
        facts["links"].append(
            {
                "name": link.name, "joint": link.joint.type, "body": kind, "mass_kg": link_mass(link),
                "coordinates": own, "damping": damping, "hangs_on": place,
            }
            | ({} if link.body is None else {"body_facts": body_facts(link.body)})
        )  # fmt: skip
    return facts


def body_facts(body: ImportedBody) -> Facts:
    """Properties of a body from a file as plain data."""
    reduced = body.reduced
    frames = zip(reduced.frames, reduced.places.tolist())
    return {
        "about": "".join(x for x in " ".join(reduced.about.split()) if x.isprintable()), "mass_kg": reduced.mass,
        "center_m": (reduced.first / reduced.mass).tolist(), "frames": dict(frames),
        "frequencies_hz": reduced.frequencies.tolist(), "stiffening": "none, it is linear in its coordinates",
        "triangles": len(reduced.triangles),
    }  # fmt: skip


def _show_body(name: str, facts: Facts) -> None:
    typer.echo(f"body of {name}: {facts['about'] or 'from a file'}")
    places = (f"{frame} [{', '.join(number(x, 4) for x in at)}]" for frame, at in facts["frames"].items())
    typer.echo(f"  {number(facts['mass_kg'], 4)} kg; frames at {', '.join(places)} m")
    if facts["frequencies_hz"]:
        shown = _short([number(value, 4) for value in facts["frequencies_hz"]])
        typer.echo(f"  frequencies alone, root held: {shown} Hz; stiffening: {facts['stiffening']}")


def _show(robot: Robot, facts: Facts) -> None:
    typer.echo(str(robot))
    for link in facts["links"]:
        if "body_facts" in link:
            _show_body(link["name"], link["body_facts"])
    names = facts["coordinates"]
    if names is not None:
        typer.echo(f"{len(names)} coordinates: {_short(names)}")
        typer.echo(f"stiffening: {facts['stiffening']}")
    for text in facts["choices"]:
        typer.echo(text)
    rigid = 6 if robot.base.is_free else 0
    if rigid and facts["frequencies_hz"]:
        typer.echo("6 rigid motions of the free base, at 0 Hz")
    if facts["frequencies_hz"] and facts["frequencies_hz"][rigid:]:
        shown = _short([number(value, 4) for value in facts["frequencies_hz"][rigid:]])
        typer.echo(f"frequencies, joints locked: {shown} Hz")
        if any(facts["damping_ratios"][rigid:]):
            alone = ", ".join(f"{link['name']} {link['damping']:g}" for link in facts["links"] if link["damping"])
            shown = _short([number(x, 2) for x in facts["damping_ratios"][rigid:]])
            typer.echo(f"their damping ratios: {shown}" + (f" (links alone: {alone})" if alone else ""))
    elif facts["note"] is None:
        typer.echo("frequencies: none, nothing bends while the joints are locked")
    for text in facts["warnings"]:
        say(f"warning: {text}")
    if facts["note"] is not None:
        say(f"warning: this arm cannot be simulated as it is: {facts['note']}")


def _short(names: list[str]) -> str:
    """Names in one line, and the number of those left out."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" ... and {rest} more" if rest > 0 else "")


def _list(json: bool) -> None:
    """Print the bundled arms."""
    found = {name: load(name) for name in arms()}
    if json:
        print_json([{"name": name, "title": robot.name, "links": len(robot.links)} for name, robot in found.items()])
        return
    rows = [
        (name, robot.name, str(len(robot.links)), str(sum(link.amplitudes for link in robot.links)))
        for name, robot in found.items()
    ]
    table(("arm", "title", "links", "amplitudes"), rows, left=2, title="bundled arms")
    typer.echo("pliant info NAME shows one of them.")
