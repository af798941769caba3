"""Records of a topic: browsed from a place on, newest first, or as they come; one of them whole; schemas to read by."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.resets import moved_to
from moldau.console.avro import AvroSchema, parse_avro_schema
from moldau.console.browsing import MOST_PARTITIONS, Browsing, Look, Seen, Wanted
from moldau.console.pages.topics import known_topic
from moldau.console.snapshot import TopicFigures
from moldau.console.views import KINDS, View, view_of
from moldau.console.visits import Refused, Visit
from moldau.moments import Moment, parse_moment
from moldau.types import TopicPartition

_ON_A_PAGE: Final = 50
# Of what comes while somebody looks on, so many at a time; what comes faster than that is passed over.
_AT_ONCE: Final = 100
_PASSED_OVER: Final = 2000
# Of a record on its own page; all of it can be had as a file.
_WHOLE: Final = 1024 * 1024
_LARGEST_FILE: Final = 128 * 1024 * 1024
_MOST_SCHEMAS: Final = 200
PARTS: Final = ("key", "value")


class Row(NamedTuple):
    record: Seen
    key: View
    value: View


def records(visit: Visit) -> Response:
    topic = known_topic(visit)
    mode = visit.query("mode", "newest")
    partitions = _partitions(visit, topic)
    browsing = _browsing(visit)
    wanted = _wanted(visit)
    look, problem = Look(), ""
    if mode == "live":
        look.places = browsing.ends(partitions)
    else:
        try:
            places = _places(visit, partitions, browsing, newest=mode == "newest")
        except ValueError as error:
            problem = f"{error}."
        else:
            go = browsing.backwards if mode == "newest" else browsing.forwards
            look = go(places, wanted, _ON_A_PAGE)
    return visit.page(
        "records.html",
        f"Records of {topic.name}",
        topic=topic,
        tab="records",
        mode=mode,
        look=look,
        problem=problem,
        rows=_rows(visit, topic.name, look),
        wanted=wanted,
        further=_written(look.places) if look.more or mode == "live" else "",
        indexes=sorted(visit.snapshot.topics[topic.name].partitions)[:1000],
        passed_by=topic.partitions - len(partitions) if not visit.query("partition") else 0,
        kinds=KINDS,
        schemas=_schemas(visit, topic.name),
    )


def live(visit: Visit) -> Response:
    """What has come since `at`, for the script of a page that shows records as they come."""
    topic = known_topic(visit)
    browsing = _browsing(visit)
    places = _read(visit.query("at"), topic)
    passed_over = 0
    ends = browsing.ends(list(places))
    if sum(max(0, ends[where] - at) for where, at in places.items() if where in ends) > _PASSED_OVER:
        share = max(1, _AT_ONCE // len(places))
        for where, end in ends.items():
            passed_over += max(0, end - share - places[where])
            places[where] = max(places[where], end - share)
    look = browsing.forwards(places, _wanted(visit), _AT_ONCE)
    further = _written({**places, **look.places})
    return visit.page(
        "records_live.html", topic.name, topic=topic, rows=_rows(visit, topic.name, look), further=further,
        passed_over=passed_over,
    )  # fmt: skip


def record(visit: Visit) -> Response:
    topic = known_topic(visit)
    found, ends = one_record(visit, topic, _WHOLE)
    kind = _kind(visit, "view")
    known = _schemas(visit, topic.name)
    return visit.page(
        "record.html",
        f"Record {found.partition}:{found.offset} of {topic.name}",
        topic=topic,
        tab="records",
        record=found,
        key=view_of(found.key, _kind(visit, "key_view"), known.get("key")),
        value=view_of(found.value, kind, known.get("value")),
        headers=[(name, view_of(part, "auto")) for name, part in found.headers],
        kind=kind,
        kinds=KINDS,
        last=ends - 1,
        there=f"/topics/{topic.name}/records/{found.partition}/",
    )


def value_file(visit: Visit) -> Response:
    """The bytes of a value as they are, to be kept; never to be shown by the browser."""
    topic = known_topic(visit)
    found, _ = one_record(visit, topic, _LARGEST_FILE)
    name = f"{topic.name}-{found.partition}-{found.offset}.bin"
    return Response(
        found.value.data or b"",
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def one_record(visit: Visit, topic: TopicFigures, kept: int) -> tuple[Seen, int]:
    """The record that the address names, or its neighbour where that one is gone; and the partition's end."""
    partition, offset = int(visit.path("partition")), int(visit.path("offset"))
    where = TopicPartition(topic.name, partition)
    if partition not in visit.snapshot.topics[topic.name].partitions:
        raise Refused(f"{topic.name} has no partition {partition}.", 404)
    browsing = Browsing(visit.links.reading, visit.links.patience, kept=kept)
    if visit.query("back") == "1":
        look = browsing.backwards({where: offset + 1}, Wanted(), 1)
    else:
        look = browsing.forwards({where: offset}, Wanted(), 1)
    if look.problems:
        raise Refused(f"Partition {partition} cannot be read: {look.problems[partition]}", 503)
    if not look.records:
        raise Refused(f"There is no record at offset {offset} of partition {partition}, nor next to it.", 404)
    return look.records[0], browsing.ends([where])[where]


def schemas(visit: Visit) -> Response:
    topic = known_topic(visit)
    known = visit.console.schemas
    problems: dict[str, str] = {}
    if visit.posted:
        for part in PARTS:
            text = visit.form(part).strip()
            if not text:
                known.pop((topic.name, part), None)
                continue
            try:
                known[topic.name, part] = parse_avro_schema(text)
            except ValueError as error:
                problems[part] = f"The schema of the {part} cannot be used: {error}."
        while len(known) > _MOST_SCHEMAS:
            known.pop(next(iter(known)))
        if not problems:
            return visit.go(f"/topics/{topic.name}/records", "Records are read by these schemas from now on.")
    given = {part: visit.form(part) or (known[topic.name, part].text if (topic.name, part) in known else "")
             for part in PARTS}  # fmt: skip
    return visit.page(
        "schemas.html",
        f"Schemas of {topic.name}",
        409 if problems else 200,
        topic=topic,
        tab="records",
        given=given,
        problems=problems,
    )


# ------------------------------------------------------------------------------------------------ what is asked for


def _partitions(visit: Visit, topic: TopicFigures) -> list[TopicPartition]:
    indexes = sorted(visit.snapshot.topics[topic.name].partitions)
    chosen = visit.query("partition").strip()
    if chosen:
        if not chosen.isdecimal() or int(chosen) not in indexes:
            raise Refused(f"{topic.name} has no partition {chosen}.", 404)
        return [TopicPartition(topic.name, int(chosen))]
    return [TopicPartition(topic.name, index) for index in indexes[:MOST_PARTITIONS]]


def _browsing(visit: Visit) -> Browsing:
    return Browsing(visit.links.reading, visit.links.patience, committed=visit.query("committed") == "1")


def _wanted(visit: Visit) -> Wanted:
    return Wanted(visit.query("key")[:1000], visit.query("q")[:1000])


def _places(
    visit: Visit, partitions: list[TopicPartition], browsing: Browsing, *, newest: bool
) -> dict[TopicPartition, int]:
    """Where to begin: where the page before ended, or at a moment; ValueError for what is none."""
    topic = known_topic(visit)
    if visit.query("at"):
        return _read(visit.query("at"), topic)
    text = visit.query("from").strip()
    if not text:
        return browsing.ends(partitions) if newest else browsing.starts(partitions)
    moment: Moment = parse_moment(text)
    return visit.links.reading.run(moved_to(partitions, moment), 6.0 * visit.links.slack)


def _written(places: dict[TopicPartition, int]) -> str:
    return "~".join(f"{where.partition}.{at}" for where, at in sorted(places.items()))


def _read(text: str, topic: TopicFigures) -> dict[TopicPartition, int]:
    places: dict[TopicPartition, int] = {}
    for each in text.split("~")[: MOST_PARTITIONS + 1]:
        partition, _, at = each.partition(".")
        if not (partition.isdecimal() and at.isdecimal() and at.isascii() and len(at) < 20 and len(partition) < 10):
            raise Refused("This address has a place in it that is none.")
        places[TopicPartition(topic.name, int(partition))] = int(at)
    if len(places) > MOST_PARTITIONS or any(where.partition >= topic.partitions for where in places):
        raise Refused("This address has a place in it that is none.")
    return places


def _kind(visit: Visit, name: str) -> str:
    kind = visit.query(name, "auto")
    return kind if kind in KINDS else "auto"


def _schemas(visit: Visit, topic: str) -> dict[str, AvroSchema]:
    known = visit.console.schemas
    return {part: known[topic, part] for part in PARTS if (topic, part) in known}


def _rows(visit: Visit, topic: str, look: Look) -> list[Row]:
    kind, known = _kind(visit, "view"), _schemas(visit, topic)
    return [
        Row(
            each,
            view_of(each.key, "auto", known.get("key"), lines=False),
            view_of(each.value, kind, known.get("value"), lines=False),
        )
        for each in look.records
    ]
