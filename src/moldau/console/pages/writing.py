"""Writing a record to a topic."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from typing import Final

from starlette.responses import Response

from moldau.client.producer.topic_writer import TopicWriter
from moldau.console.pages.records import one_record
from moldau.console.pages.topic_changes import whole_number
from moldau.console.pages.topics import known_topic
from moldau.console.snapshot import TopicFigures
from moldau.console.views import visible
from moldau.console.visits import Refused, Visit
from moldau.errors import KafkaError
from moldau.quantities import parse_time

FORMATS: Final = ("text", "JSON", "hex", "base64", "null")
_COPIED: Final = 256 * 1024


def produce(visit: Visit) -> Response:
    topic = known_topic(visit)
    problem, written = "", None
    given = visit.fields
    if visit.posted:
        try:
            written = _write(visit, topic)
        except (Refused, KafkaError) as error:
            problem = str(error)
        else:
            visit.links.forget()
            visit.console.watch.look_again(0.0)
    return visit.page(
        "produce.html",
        f"Write to {topic.name}",
        409 if problem else 200,
        topic=topic,
        tab="produce",
        problem=problem,
        written=written,
        given=given,
        formats=FORMATS,
        indexes=sorted(visit.snapshot.topics[topic.name].partitions)[:1000],
    )


def again(visit: Visit) -> Response:
    """The form, filled in with a record that is there."""
    topic = known_topic(visit)
    found, _ = one_record(visit, topic, _COPIED)
    if found.key.cut or found.value.cut:
        raise Refused("This record is too large to be written again from here.", 413)
    given = {"partition": str(found.partition)}
    for name, part in (("key", found.key), ("value", found.value)):
        given[f"{name}_format"], given[name] = _as_form(part.data)
    given["headers"] = "\n".join(
        f"{name}={part.data.decode('utf-8', 'replace')}" for name, part in found.headers if part.data is not None
    )
    return visit.page(
        "produce.html",
        f"Write to {topic.name}",
        topic=topic,
        tab="produce",
        problem="",
        written=None,
        given=given,
        formats=FORMATS,
        indexes=sorted(visit.snapshot.topics[topic.name].partitions)[:1000],
    )


def _write(visit: Visit, topic: TopicFigures) -> tuple[int, int]:
    """Partition and offset of what was written."""
    key = _content(visit, "key")
    value = _content(visit, "value")
    headers = _headers(visit.form("headers"))
    chosen = visit.form("partition").strip()
    partition = whole_number(chosen, "The partition", None) if chosen else None
    timestamp = None
    if visit.form("timestamp").strip():
        try:
            timestamp = parse_time(visit.form("timestamp"))
        except ValueError as error:
            raise Refused(f"{error}.") from None
    writer = TopicWriter(visit.links.writing, topic.name, linger=0.0)
    try:
        writer.append(value, key, headers, partition=partition, timestamp=timestamp)
        writer.flush()
    finally:
        writer.close()
    ((index, written),) = writer.written.items()
    return index, written.last_offset


def _content(visit: Visit, name: str) -> bytes | None:
    """What a field and its format come to. Browsers end lines with CR LF; people mean LF."""
    text = visit.form(name).replace("\r\n", "\n")
    kind = visit.form(f"{name}_format", "text")
    try:
        match kind:
            case "null":
                return None
            case "JSON":
                json.loads(text)
            case "hex":
                return bytes.fromhex(text)
            case "base64":
                return b64decode(text, validate=True)
    except (ValueError, RecursionError, binascii.Error) as error:
        raise Refused(f"The {name} is not {kind}: {str(error)[:200] or 'nested too deeply'}.") from None
    if name == "key" and not text:
        return None
    return text.encode("utf-8", "replace")


def _headers(text: str) -> list[tuple[str, bytes | None]]:
    headers: list[tuple[str, bytes | None]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise Refused(f"A header is written as NAME=VALUE, not {line[:60]!r}.")
        headers.append((name.strip(), value.strip().encode()))
    return headers


def _as_form(data: bytes | None) -> tuple[str, str]:
    if data is None:
        return "null", ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    # Nothing may change on the way through a browser.
    if visible(text) == text and "\r" not in text:
        return "text", text
    return "base64", b64encode(data).decode()
