"""From a tree with lines to a pipeline, or to the list of everything that is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from moldau.spark.pipeline.document import Node, read_yaml
from moldau.spark.pipeline.fields import NAME, read_fields
from moldau.spark.pipeline.kinds import KINDS, PIPELINE, RESTART, SECTIONS, SINKS, Kind
from moldau.spark.pipeline.model import DEAD_LETTERS, Part, Pipeline, Restart, Section, located
from moldau.spark.pipeline.place import InvalidPipeline, PipelineError, Problems, allowed, listed
from moldau.spark.pipeline.wiring import wire


def load(path: str, variables: Mapping[str, str] | None = None) -> Pipeline:
    """The pipeline of a file: YAML, or Python code that makes one (`code.py`). Raises InvalidPipeline."""
    if path.endswith(".py"):
        from moldau.spark.pipeline.code import run_file

        return read_tree(run_file(path, variables), path)
    if not path.endswith((".yaml", ".yml")):
        raise PipelineError(f"{path} is neither YAML (.yaml, .yml) nor Python (.py).")
    return read_tree(read_yaml(path, variables), path)


def read_tree(tree: Node, path: str) -> Pipeline:
    problems = Problems()
    if not isinstance(tree.value, dict):
        problems.add(tree.place, f"a pipeline is a mapping that begins with `pipeline: NAME`, not {tree.what}.")
        problems.check()
    entries: dict[str, Node] = tree.value
    settings = read_fields(entries, PIPELINE, "the pipeline", problems, skip=SECTIONS)
    name = settings["pipeline"] or "pipeline"
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        problems.add(entries["pipeline"].place, f"`{name}` is no name; letters, digits, `.`, `_` and `-` are allowed.")
    pipeline = Pipeline(
        name=name,
        path=path,
        place=tree.place,
        description=settings["description"],
        bootstrap=settings["bootstrap"],
        checkpoint=located(
            settings["checkpoint"] or os.path.join("checkpoints", name), os.path.dirname(os.path.abspath(path))
        ),
        trigger=settings["trigger"],
        restart=_restart(entries, problems),
        spark=settings["spark"] or {},
        share=settings["share"],
        sources=_section(entries, "source", problems),
        steps=_section(entries, "step", problems),
        sinks=_section(entries, "sink", problems),
        dead_letters=_dead_letters(entries, problems),
    )
    for section, parts in (("sources", pipeline.sources), ("sinks", pipeline.sinks)):
        if not parts and section not in entries:
            problems.add(tree.place, f"the pipeline lacks `{section}`.")
    declared = [
        name
        for section in ("sources", "steps")
        if section in entries and isinstance(entries[section].value, dict)
        for name in entries[section].value
    ]
    try:
        wire(pipeline, problems, declared)
    except InvalidPipeline:
        pass  # what it raised is in `problems` as well
    problems.check()
    return pipeline


def _restart(entries: Mapping[str, Node], problems: Problems) -> Restart:
    node = entries.get("restart")
    given: dict[str, Node] = {}
    if node is not None:
        if isinstance(node.value, dict):
            given = node.value
        else:  # `restart: never` is enough
            given = {"policy": node}
    return Restart(**read_fields(given, RESTART, "`restart`", problems))


def _section(entries: Mapping[str, Node], section: Section, problems: Problems) -> dict[str, Part]:
    node = entries.get(section + "s")
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, dict):
        problems.add(node.place, f"`{section}s` is {node.what}, but it takes a mapping of names to {section}s.")
        return {}
    parts: dict[str, Part] = {}
    for name, entry in node.value.items():
        if not NAME.fullmatch(name):
            problems.add(entry.place, f"`{name}` is no name for a {section}; letters, digits and `_` are allowed.")
        part = _part(name, entry, section, problems)
        if part is not None:
            parts[name] = part
    return parts


def _part(name: str, node: Node, section: Section, problems: Problems) -> Part | None:
    owner = f"{section} `{name}`"
    if not isinstance(node.value, dict):
        problems.add(node.place, f"{owner} is {node.what}, but it takes a mapping.")
        return None
    kind = _kind(node, owner, KINDS[section], problems)
    if kind is None:
        return None
    fields: dict[str, Any] = read_fields(node.value, kind.fields, f"{owner} ({kind.name})", problems)
    lines = {field: entry.place for field, entry in node.value.items()}
    return Part(section, name, kind.name, fields, list(fields.get("from") or []), node.place, lines=lines)


def _kind(node: Node, owner: str, kinds: Mapping[str, Kind], problems: Problems) -> Kind | None:
    """The one kind whose name is among the fields. A field may bear the name of another kind (`jdbc` has `table`)."""
    named = [kind for kind in kinds.values() if kind.name in node.value]
    whole = [kind for kind in named if all(other.name in kind.fields for other in named)]
    if len(whole) == 1:
        return whole[0]
    if len(named) > 1:
        problems.add(
            node.place, f"{owner} is several things at once: {listed(kind.name for kind in named)}; choose one."
        )
        return None
    found = next((name for name in node.value if name not in ("from", "description", "options")), "")
    place = node.value[found].place if found else node.place
    problems.add(place, f"{owner} does not say what it is; {allowed(found, kinds)}")
    return None


def _dead_letters(entries: Mapping[str, Node], problems: Problems) -> Part | None:
    node = entries.get(DEAD_LETTERS)
    if node is None or node.value is None:
        return None
    if not isinstance(node.value, dict):
        problems.add(node.place, f"`{DEAD_LETTERS}` is {node.what}, but it takes a sink, such as `topic: NAME`.")
        return None
    kind = _kind(node, f"`{DEAD_LETTERS}`", SINKS, problems)
    if kind is None:
        return None
    known = {name: field for name, field in kind.fields.items() if name not in ("from", "mode")}
    if kind.name == "topic":  # the record goes there as it came, and its story in the headers
        known = {name: field for name, field in known.items() if name not in ("key", "value", "headers", "partition")}
    fields = read_fields(node.value, known, f"`{DEAD_LETTERS}` ({kind.name})", problems)
    fields["mode"] = "append"
    lines = {field: entry.place for field, entry in node.value.items()}
    return Part("sink", DEAD_LETTERS, kind.name, fields, [], node.place, lines=lines)
