"""A pipeline written in Python, for steps that are code.

    from moldau.spark.pipeline import Declaration

    pipeline = Declaration("orders", bootstrap="127.0.0.1:9092")
    pipeline.source("orders", topic="orders")
    pipeline.step("parsed", from_="orders", parse="json", schema="id STRING, amount DOUBLE", bad="drop")

    @pipeline.step(from_="parsed")
    def large(orders):
        return orders.where("amount > 1000")

    pipeline.sink("out", from_="large", topic="large-orders")

The fields are those of YAML and so are the sentences about them; the line is that of the call.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from moldau.spark.pipeline.document import Node
from moldau.spark.pipeline.place import PipelineError, Place

if TYPE_CHECKING:
    from moldau.spark.pipeline.model import Pipeline, Section

_VARIABLES: dict[str, str] = {}


class Declaration:
    """Collects what the calls declare; `build` reads it as a file would be read."""

    def __init__(self, name: str, **settings: Any) -> None:
        place = _caller()
        self._entries = {"pipeline": Node(name, place), **_nodes(settings, place)}
        self._place = place
        for section in ("sources", "steps", "sinks"):
            self._entries.setdefault(section, Node({}, place))

    def source(self, name: str, **fields: Any) -> str:
        """Declares a source; returns its name, for `from_`."""
        return self._add("source", name, fields)

    def sink(self, name: str, **fields: Any) -> str:
        return self._add("sink", name, fields)

    def step(self, name: str | None = None, **fields: Any) -> Any:
        """Declares a step and returns its name; without a name it decorates the function that is the step."""
        if name is not None:
            return self._add("step", name, fields)
        place = _caller()

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            self._put("step", function.__name__, {"python": function, **fields}, place)
            return function

        return declare

    @property
    def tree(self) -> Node:
        return Node(self._entries, self._place)

    def build(self) -> Pipeline:
        """The pipeline, checked. Raises InvalidPipeline."""
        from moldau.spark.pipeline.reading import read_tree

        return read_tree(self.tree, self._place.file)

    def _add(self, section: Section, name: str, fields: Mapping[str, Any]) -> str:
        return self._put(section, name, fields, _caller(2))

    def _put(self, section: Section, name: str, fields: Mapping[str, Any], place: Place) -> str:
        parts = self._entries[f"{section}s"].value
        if name in parts:
            raise PipelineError(f"{place}: {section} `{name}` is declared twice; the first is {parts[name].place}.")
        parts[name] = Node(_nodes(fields, place), place)
        return name


def variable(name: str, default: str | None = None) -> str:
    """What `--set NAME=VALUE` gave, or the environment, or the default: `${NAME:-default}` for Python."""
    import os

    value = _VARIABLES.get(name, os.environ.get(name, default))
    if value is None:
        raise PipelineError(
            f"{_caller()}: the variable `{name}` is not set; set it in the environment or with `--set {name}=...`."
        )
    return value


def run_file(path: str, variables: Mapping[str, str] | None = None) -> Node:
    """Runs a Python file and returns the tree of the one Declaration it leaves in a global name."""
    _VARIABLES.clear()
    _VARIABLES.update(variables or {})
    try:
        names = runpy.run_path(path, run_name="__pipeline__")
    except PipelineError:
        raise
    except OSError as error:
        if error.filename == path:
            raise
        raise PipelineError(f"{path}: {error}.") from error
    except SyntaxError as error:
        raise PipelineError(f"{error.filename}:{error.lineno}: this is not Python: {error.msg}.") from None
    except Exception as error:
        raise PipelineError(f"{_place_of(error, path)}: {type(error).__name__}: {error}") from error
    declared = {id(value): value for value in names.values() if isinstance(value, Declaration)}
    if len(declared) != 1:
        raise PipelineError(
            f"{path} leaves {len(declared) or 'no'} Declaration{'s' if declared else ''}; exactly one is expected, "
            'as in `pipeline = Declaration("orders")`.'
        )
    return next(iter(declared.values())).tree


def _place_of(error: BaseException, path: str) -> Place:
    """The last line of the file itself that the error passed."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return Place(path, line)


def _caller(depth: int = 1) -> Place:
    frame = sys._getframe(depth + 1)
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _nodes(fields: Mapping[str, Any], place: Place) -> dict[str, Node]:
    return {name.rstrip("_"): _node(value, place) for name, value in fields.items() if value is not None}


def _node(value: Any, place: Place) -> Node:
    match value:
        case Mapping():
            return Node({str(name): _node(item, place) for name, item in value.items()}, place)
        case list() | tuple():
            return Node([_node(item, place) for item in value], place)
        case _:
            return Node(value, place)
