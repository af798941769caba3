"""A pipeline's file as a tree in which every word remembers its line.

YAML is composed, not loaded: the loader would forget the lines, and would turn a key `on` into `True`. A file of
Python code makes the same tree (`code.py`), so there is one reading and one set of sentences for both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.spark.pipeline.place import PipelineError, Place, Problems

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(slots=True, frozen=True)
class Node:
    """`value` is a text, number, truth value, None, a list of nodes, a mapping of nodes, or a Python function."""

    value: Any
    place: Place

    @property
    def what(self) -> str:
        """How a sentence calls what was found."""
        match self.value:
            case None:
                return "nothing"
            case dict():
                return "a mapping"
            case list():
                return "a list"
            case bool():
                return "true" if self.value else "false"
            case int() | float():
                return str(self.value)
            case str():
                return f"`{self.value}`"
            case _:
                return f"a Python {type(self.value).__name__}"


def read_yaml(path: str, variables: Mapping[str, str] | None = None) -> Node:
    """The tree of a YAML file, `${NAME}` and `${NAME:-default}` replaced from `variables` and the environment."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise PipelineError(f"{path} is not a text in UTF-8: {error.reason} at byte {error.start}.") from None
    return parse_yaml(text, path, variables)


def parse_yaml(text: str, path: str, variables: Mapping[str, str] | None = None) -> Node:
    try:
        import yaml
    except ImportError:
        raise PipelineError(
            'Pipelines in YAML need PyYAML, which "moldau[spark]" brings: pip install PyYAML.'
        ) from None
    problems = Problems()
    known = {**os.environ, **(variables or {})}
    try:
        composed = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problems.add(Place(path, line), f"this is not YAML: {error.problem or error.context}.")
    except yaml.YAMLError as error:
        problems.add(Place(path, 1), f"this is not YAML: {' '.join(str(error).split())}.")
    problems.check()
    if composed is None:
        problems.add(Place(path, 1), "the file is empty; `moldau pipeline new FILE` writes one to start from.")
        problems.check()
    tree = _Tree(path, known, problems).node(composed)
    problems.check()
    return tree


class _Tree:
    def __init__(self, path: str, variables: Mapping[str, str], problems: Problems) -> None:
        import yaml

        self._path = path
        self._variables = variables
        self._problems = problems
        self._plain = yaml.SafeLoader("")
        self._open: set[int] = set()

    def node(self, composed: Any) -> Node:
        place = Place(self._path, composed.start_mark.line + 1)
        if id(composed) in self._open:
            self._problems.add(place, "an alias points to what contains it.")
            return Node(None, place)
        self._open.add(id(composed))
        try:
            match composed.id:
                case "mapping":
                    return Node(self._mapping(composed), place)
                case "sequence":
                    return Node([self.node(item) for item in composed.value], place)
                case _:
                    return Node(self._scalar(composed, place), place)
        finally:
            self._open.discard(id(composed))

    def _mapping(self, composed: Any) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for key, value in composed.value:
            place = Place(self._path, key.start_mark.line + 1)
            name = key.value if key.id == "scalar" else None
            if not isinstance(name, str):
                self._problems.add(place, "a name is expected before the colon.")
                continue
            if name in entries:
                first = entries[name].place.line
                self._problems.add(place, f"`{name}` appears twice; the first is on line {first}.")
                continue
            node = self.node(value)
            # A mapping or a list begins on the line after its name; the name's line is the one to point at.
            entries[name] = Node(node.value, place) if isinstance(node.value, dict | list) else node
        return entries

    def _scalar(self, composed: Any, place: Place) -> Any:
        raw = composed.value
        if "${" in raw:
            replaced = self._replace(raw, place)
            if composed.style is not None:
                return replaced
            # An unquoted `${PORT}` may stand for a number, as if the number had been written there.
            import yaml

            tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, replaced, (True, False))
            composed = yaml.ScalarNode(tag, replaced, composed.start_mark, composed.end_mark)
        try:
            value = self._plain.construct_object(composed, deep=True)
        except Exception:
            self._problems.add(place, f"`{raw}` has the YAML tag `{composed.tag}`, which a pipeline has no use for.")
            return None
        return value if value is None or isinstance(value, bool | int | float | str) else composed.value

    def _replace(self, text: str, place: Place) -> str:
        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if name in self._variables:
                return self._variables[name]
            if default is None:
                self._problems.add(
                    place,
                    f"the variable `{name}` is not set; set it in the environment, with `--set {name}=...`, or "
                    f"write `${{{name}:-default}}`.",
                )
                return ""
            return str(default)

        return _VARIABLE.sub(value, text)
