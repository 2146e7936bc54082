"""YAML in and out, safely: no tags, no surprises of YAML 1.1, bounded size, and the line of every entry kept.

Only the plain scalars of the YAML 1.2 core schema are read: `1e4` is a number, `on` and `no` are text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from pliant.errors import ModelError
from pliant.robot.files.error_messages import Place, short_key

MOST_BYTES = 1 << 20
MOST_NODES = 100_000  # after aliases are expanded
MOST_DEPTH = 30

_SCALARS = (
    ("tag:yaml.org,2002:null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    ("tag:yaml.org,2002:int", re.compile(r"[-+]?[0-9]+"), list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        list("-+0123456789."),
    ),
    ("tag:yaml.org,2002:merge", re.compile(r"<<"), ["<"]),
)


class _Loader(yaml.SafeLoader):
    """Composes nodes only, and counts what they would weigh with every alias written out."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.level = 0
        self.weight: dict[int, tuple[int, int]] = {}  # node -> (nodes, depth)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) not in (None, "!"):
            raise _fault(event.start_mark, f"tag `{short_key(event.tag)}` is not supported; write plain values")
        self.level += 1
        if self.level > MOST_DEPTH:
            raise _fault(event.start_mark, f"nested deeper than {MOST_DEPTH} levels")
        node = super().compose_node(parent, index)
        self.level -= 1
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self.weight:
                raise _fault(event.start_mark, f"alias `*{short_key(str(event.anchor))}` contains itself")
        else:
            self.weight[id(node)] = self._weigh(node)
        return node

    def _weigh(self, node: Any) -> tuple[int, int]:
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            _refuse_double_keys(node)
            children = [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        weights = [self.weight[id(child)] for child in children]
        nodes, depth = 1 + sum(n for n, _ in weights), 1 + max((d for _, d in weights), default=0)
        if nodes > MOST_NODES or depth > MOST_DEPTH:
            raise _fault(
                node.start_mark, f"more than {MOST_NODES} entries or {MOST_DEPTH} levels with its aliases written out"
            )
        return nodes, depth


class _Dumper(yaml.SafeDumper):
    """Quotes whatever this reader or a YAML 1.1 reader would not take for text."""

    yaml_implicit_resolvers = {key: list(rules) for key, rules in yaml.SafeDumper.yaml_implicit_resolvers.items()}

    def ignore_aliases(self, data: object) -> bool:
        return True


for _tag, _pattern, _first in _SCALARS:
    _anchored = re.compile(f"^(?:{_pattern.pattern})$")
    _Loader.add_implicit_resolver(_tag, _anchored, _first)
    _Dumper.add_implicit_resolver(_tag, _anchored, _first)


def _fault(mark: Any, text: str) -> ModelError:
    return ModelError(f"line {mark.line + 1}, column {mark.column + 1}: {text}")


def _refuse_double_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _fault(key.start_mark, "a key must be text")
        if key.value in seen:
            raise _fault(key.start_mark, f"key `{short_key(key.value)}` stands twice in one mapping")
        seen.add(key.value)


def read_yaml(text: str) -> tuple[object, dict[Place, int]]:
    """Plain data and the line of each place in it.

    Raises
    ------
    ModelError
        For anything that is not one plain YAML document of sensible size; the text begins with the line.
    """
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        data = None if node is None else _data(loader, node, (), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ModelError(f"{where}not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise ModelError(f"not a text file in YAML: {str(error).splitlines()[0]}") from None
    finally:
        if loader is not None:
            loader.dispose()
    return data, lines


def _data(loader: _Loader, node: yaml.Node, place: Place, lines: dict[Place, int]) -> object:
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)  # merge keys; expansion is bounded by the weights
        result = {}
        for key, value in node.value:
            lines[(*place, key.value)] = key.start_mark.line + 1
            result[key.value] = _data(loader, value, (*place, key.value), lines)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_data(loader, child, (*place, index), lines) for index, child in enumerate(node.value)]
    return _scalar(node.tag.rsplit(":", 1)[-1], node.value)


def _scalar(kind: str, text: str) -> str | int | float | bool | None:
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return int(text) if len(text) < 300 else float(text)
    if kind == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def write_yaml(data: object) -> str:
    """Write YAML text that `read_yaml` reads back unchanged; the innermost lists and mappings are on one line each."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)
