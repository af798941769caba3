"""Creating a topic, giving it more partitions, deleting its records or all of it."""

from __future__ import annotations

from starlette.responses import Response

from moldau.client.admin.offsets import TO_THE_END
from moldau.client.admin.offsets import delete_records as delete_before
from moldau.client.admin.topics import (
    NewTopic,
    TopicOutcome,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
)
from moldau.console.pages.topics import known_topic
from moldau.console.visits import Refused, Visit
from moldau.errors import KafkaError, MoldauError
from moldau.quantities import counted
from moldau.types import TopicPartition

_CHANGE_SECONDS = 15.0


def create(visit: Visit) -> Response:
    problem = ""
    if visit.posted:
        try:
            topic = NewTopic(
                visit.form("name").strip(),
                whole_number(visit.form("partitions"), "The number of partitions", -1),
                whole_number(visit.form("replicas"), "The number of replicas", -1),
                _settings(visit.form("settings")),
            )
            _first(visit.links.ask(create_topics([topic]), _CHANGE_SECONDS))
        except (Refused, KafkaError) as error:
            problem = str(error)
        else:
            return visit.done(f"/topics/{topic.name}", f"{topic.name} was created.")
    return visit.page("topic_new.html", "New topic", 409 if problem else 200, problem=problem, given=visit.fields)


def grow(visit: Visit) -> Response:
    topic = known_topic(visit)
    if visit.posted:
        count = whole_number(visit.form("count"), "The number of partitions", 0)
        _first(visit.links.ask(create_partitions({topic.name: count}), _CHANGE_SECONDS))
        return visit.done(f"/topics/{topic.name}", f"{topic.name} has {counted(count, 'partition')} now.")
    return visit.page("topic_grow.html", f"Partitions of {topic.name}", topic=topic, tab="change")


def delete_records(visit: Visit) -> Response:
    topic = known_topic(visit)
    # As it is now: what was seen last may be from before partitions were added.
    (view,) = visit.links.ask(describe_topics([topic.name]))
    indexes = sorted(view.partitions)
    if visit.posted:
        visit.confirmed(topic.name)
        chosen = visit.form("partition")
        offset = TO_THE_END if visit.form("to") == "end" else whole_number(visit.form("offset"), "The offset", None)
        places = [TopicPartition(topic.name, index) for index in indexes if chosen in ("", str(index))]
        if not places:
            raise Refused(f"{topic.name} has no partition {chosen}.")
        outcomes = visit.links.ask(delete_before(dict.fromkeys(places, offset)), _CHANGE_SECONDS)
        failed = [outcome for outcome in outcomes.values() if isinstance(outcome, KafkaError)]
        if failed:
            raise failed[0]
        return visit.done(f"/topics/{topic.name}", f"Records were deleted from {counted(len(places), 'partition')}.")
    return visit.page(
        "topic_delete_records.html",
        f"Delete records of {topic.name}",
        topic=topic,
        indexes=indexes[:1000],
        tab="change",
    )


def delete(visit: Visit) -> Response:
    topic = known_topic(visit)
    if visit.posted:
        visit.confirmed(topic.name)
        _first(visit.links.ask(delete_topics([topic.name]), _CHANGE_SECONDS))
        return visit.done("/topics", f"{topic.name} was deleted.")
    readers = sorted(name for name, each in visit.snapshot.groups.items() if topic.name in each.topics)
    return visit.page("topic_delete.html", f"Delete {topic.name}", topic=topic, readers=readers, tab="change")


def whole_number(text: str, what: str, default: int | None) -> int:
    """The number in a field; `default` if the field is empty, where it may be."""
    bare = text.strip().replace(",", "")
    if not bare and default is not None:
        return default
    if not bare.removeprefix("-").isdecimal() or not bare.isascii():
        raise Refused(f"{what} must be a whole number, not {text.strip()[:40]!r}.")
    return int(bare[:20])


def _settings(text: str) -> dict[str, str]:
    settings = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals:
            raise Refused(f"A setting is written as NAME=VALUE, not {line[:60]!r}.")
        settings[name.strip()] = value.strip()
    return settings


def _first(outcomes: list[TopicOutcome]) -> None:
    for outcome in outcomes:
        if outcome.error is not None:
            raise MoldauError(str(outcome.error)) if outcome.error.retriable else outcome.error
