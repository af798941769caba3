"""The graph of a pipeline for a terminal: every part with what it does, under the one it reads.

A part that reads several others stands under the first; the others point to it. That keeps the drawing a tree, which
a terminal can show, and loses no edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moldau.spark.pipeline.model import DEAD_LETTERS, Part, Pipeline

_WIDEST = 96


def describe(part: Part) -> str:
    """What a part does, in a few words."""
    words = {"source": _source_words, "step": _step_words, "sink": _sink_words}[part.section](part)
    return " ".join(" ".join(word.split()) for word in words if word)


def _source_words(part: Part) -> list[str]:
    match part.kind:
        case "topic":
            words = [", ".join(part["topic"])]
        case "rows":
            words = [f"{len(part['rows'])} rows"]
        case "rate":
            words = [f"{part['rate']} rows/s"]
        case "jdbc":
            words = [part["table"] or "a query", "of", part["jdbc"]]
        case kind:
            words = [_name(part[kind])]
    if part.kind in ("topic", "pattern"):
        words.append(f"from {part['starting']}")
    if not part.streaming:
        words.append("(read once)")
    return words


def _step_words(part: Part) -> list[str]:
    match part.kind:
        case "parse":
            return [part["parse"], f"requires {', '.join(part['required'])}" if part["required"] else ""]
        case "select":
            return [", ".join(part["select"])]
        case "add" | "expect":
            return [", ".join(part[part.kind])]
        case "join":
            return [part["join"], "using " + ", ".join(part["using"]) if part["using"] else "where " + part["where"]]
        case "union":
            return ["with", ", ".join(part["union"])]
        case "deduplicate":
            return [", ".join(part["deduplicate"]), f"within {part['within']}" if part["within"] else "for ever"]
        case "aggregate":
            return _aggregate_words(part)
        case "watermark":
            return [part["time"], "up to", str(part["watermark"]), "late"]
        case "stateful" | "processor":
            return [_name(part[part.kind]), "by", ", ".join(part["by"])]
        case kind:
            return [_name(part[kind])]


def _aggregate_words(part: Part) -> list[str]:
    words = [", ".join(part["aggregate"])]
    if part["by"]:
        words.append("by " + ", ".join(part["by"]))
    if part["window"]:
        words.append(f"per {part['window']}" + (f" every {part['slide']}" if part["slide"] else ""))
    if part["session"]:
        words.append(f"per session of {part['session']}")
    if part["watermark"]:
        words.append(f"(up to {part['watermark']} late)")
    return words


def _sink_words(part: Part) -> list[str]:
    words = [] if part.kind == "console" else [part["table"] if part.kind == "jdbc" else _name(part[part.kind])]
    if part.kind == "topic":
        words.append(part["delivery"].replace("-", " "))
    if part["mode"] != "append":
        words.append(f"({part['mode']})")
    return words


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", value))


def draw(pipeline: Pipeline) -> list[str]:
    """The lines of the drawing."""
    lines = [f"{pipeline.name}" + (f": {pipeline.description}" if pipeline.description else "")]
    rows = [row for part in pipeline.sources.values() for row in _branch(pipeline, part, "", "")]
    rows += [row for part in pipeline.steps.values() if not part.inputs for row in _branch(pipeline, part, "", "")]
    if pipeline.dead_letters is not None:
        part = pipeline.dead_letters
        rows.append(("", ""))
        rows.append((f"✕ {DEAD_LETTERS} ", f"{part.kind} {describe(part)}, from {', '.join(part.inputs)}"))
    width = max(len(left) for left, _ in rows)
    for left, right in rows:
        text = f"{left.ljust(width)}  {right}".rstrip()
        lines.append(text if len(text) <= width + _WIDEST else text[: width + _WIDEST - 1] + "…")
    return lines


def _branch(pipeline: Pipeline, part: Part, lead: str, below: str) -> Iterator[tuple[str, str]]:
    mark = "▶ " if part.section == "sink" else "● " if part.section == "source" else ""
    sends = "  ✕ bad records" if part.fields.get("bad") == "dead-letter" else ""
    yield f"{lead}{mark}{part.name}", f"{part.kind} {describe(part)}{sends}"
    if part.section == "sink":
        return
    readers = [each for each in [*pipeline.steps.values(), *pipeline.sinks.values()] if part.name in each.inputs]
    for index, reader in enumerate(readers):
        last = index == len(readers) - 1
        begin, further = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if reader.inputs[0] == part.name:
            yield from _branch(pipeline, reader, below + begin, below + further)
        else:
            yield f"{below}{begin}→ {reader.name}", ""
