"""Which partitions are read: all of some topics, all topics that match, or exactly those named."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError
from moldau.spark.options import OptionError, Options
from moldau.types import TopicPartition

_WAYS = ("assign", "subscribe", "subscribePattern")


@dataclass(frozen=True, slots=True)
class Subscription:
    """`text` is the option as it was given. One of the others is set."""

    text: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    @property
    def names(self) -> Sequence[str] | None:
        """The topics to ask the brokers about; None for all."""
        return None if self.pattern is not None else self.topics

    def partitions(self, view: ClusterView) -> tuple[list[TopicPartition], list[KafkaError]]:
        """What there is of it in the cluster, and why the rest cannot be had."""
        if self.pattern is not None:
            wanted = re.compile(self.pattern)
            names = [name for name, topic in view.topics.items() if not topic.internal and wanted.fullmatch(name)]
        else:
            names = list(self.topics)
        found: list[TopicPartition] = []
        missing: list[KafkaError] = []
        for name in names:
            try:
                there = view.topic(name).partitions
            except KafkaError as error:
                missing.append(error)
                continue
            found += [TopicPartition(name, number) for number in there]
        if self.assigned:
            # A topic that is not there was named above; a number that its topic does not have is named here.
            topics = {where.topic for where in found}
            absent = [where for where in self.assigned if where.topic in topics and where not in found]
            missing += [_no_partition(where) for where in absent]
            found = [where for where in self.assigned if where in found]
        return sorted(found), missing


def _no_partition(where: TopicPartition) -> KafkaError:
    sentence = f"Topic {where.topic!r} has no partition {where.partition}."
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, sentence)


def read_subscription(options: Options) -> Subscription:
    given = [way for way in _WAYS if way in options]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "none is given"
        raise OptionError(f"Exactly one of subscribe, subscribePattern and assign says what to read; {said}.")
    (way,) = given
    text = (options.text(way) or "").strip()
    if way == "subscribe":
        topics = tuple(sorted({name.strip() for name in text.split(",") if name.strip()}))
        if not topics:
            raise OptionError("The option subscribe names no topic; write them as rivers,lakes.")
        return Subscription(text, topics)
    if way == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise OptionError(f"The option subscribePattern is {text!r}, which is no pattern: {error}.") from None
        if not text:
            raise OptionError("The option subscribePattern is empty; .* matches every topic.")
        return Subscription(text, pattern=text)
    assigned = _assigned(text)
    return Subscription(text, tuple(sorted({where.topic for where in assigned})), assigned=assigned)


def _assigned(text: str) -> tuple[TopicPartition, ...]:
    try:
        wanted = {
            TopicPartition(topic, int(partition))
            for topic, numbers in json.loads(text).items()
            for partition in numbers
        }
    except (ValueError, TypeError, AttributeError):
        wanted = set()
    if not wanted or any(where.partition < 0 for where in wanted):
        raise OptionError(f'The option assign is {text!r}; it must be JSON such as {{"rivers": [0, 1]}}.')
    return tuple(sorted(wanted))
