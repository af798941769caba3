"""The options of `format("moldau-log")`, checked: which logs, which offsets, what counts as committed.

Names and values are those of `format("moldau")` wherever both have the option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from moldau.spark.options import KAFKA, OptionError, as_flag, as_number
from moldau.types import TopicPartition

EARLIEST: Final = -2
LATEST: Final = -1

OPTIONS: Final = (
    "path",
    "topic",
    "subscribe",
    "subscribePattern",
    "assign",
    "isolation",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "includeHeaders",
    "includeActiveSegment",
    "minPartitions",
    "maxRecordsPerPartition",
)

_SELECTIONS: Final = ("topic", "subscribe", "subscribePattern", "assign")

# Options of the other source that have no meaning here, and what has.
_INSTEAD: Final = {
    "failondataloss": "the files are read as they were when the job was planned, and one that is gone ends the job",
    "maxoffsetspertrigger": 'segments are read in batches; format("moldau") reads a topic as a stream',
    "startingoffsetsbytimestampstrategy": "without a record of that time or later nothing is read",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of what is read: an offset or a time, for all partitions or for each."""

    is_time: bool = False
    everywhere: int | None = None
    each: Mapping[TopicPartition, int] | None = None

    def of(self, partition: TopicPartition, option: str) -> int:
        if self.everywhere is not None:
            return self.everywhere
        assert self.each is not None
        if partition not in self.each:
            raise OptionError(f"The option {option} does not name {partition}; it must name every partition read.")
        return self.each[partition]


@dataclass(frozen=True, slots=True)
class ScanOptions:
    path: str
    selects: Callable[[TopicPartition], bool]
    topics: tuple[str, ...]  # those that must exist; none for a pattern
    partitions: tuple[TopicPartition, ...]  # those that must exist
    committed: bool
    start: Bound
    end: Bound
    with_active: bool
    min_partitions: int | None
    most_records: int | None


def parse_options(given: Mapping[str, str]) -> ScanOptions:
    values = _known(given)
    path = values.get("path", "").strip()
    if not path:
        raise OptionError("The data directory is missing: load(path), or the option path.")
    selects, topics, partitions = _selection(values)
    isolation = values.get("isolation", "read_uncommitted").strip().lower()
    if isolation not in ("read_committed", "read_uncommitted"):
        raise OptionError(f"The option isolation is {isolation!r}; it must be read_uncommitted or read_committed.")
    if "includeheaders" in values:
        as_flag("includeHeaders", values["includeheaders"])
    return ScanOptions(
        path=path.removeprefix("file://"),
        selects=selects,
        topics=topics,
        partitions=partitions,
        committed=isolation == "read_committed",
        start=_bound(values, "starting", EARLIEST),
        end=_bound(values, "ending", LATEST),
        with_active=as_flag("includeActiveSegment", values.get("includeactivesegment", "false")),
        min_partitions=_number(values, "minPartitions"),
        most_records=_number(values, "maxRecordsPerPartition"),
    )


def _known(given: Mapping[str, str]) -> dict[str, str]:
    proper = {name.lower(): name for name in OPTIONS}
    for name in given:
        key = name.lower()
        if key in proper:
            continue
        if key == f"{KAFKA}isolation.level":
            raise OptionError(f"There is no option {name} here, because there is no broker; use the option isolation.")
        if key.startswith(KAFKA):
            raise OptionError(f'There is no option {name}: no broker is asked here; format("moldau") reads from one.')
        if key in _INSTEAD:
            raise OptionError(f"The option {name} has no meaning here: {_INSTEAD[key]}.")
        close = get_close_matches(key, list(proper), 1)
        advice = f"is {proper[close[0]]} meant?" if close else f"there are {', '.join(OPTIONS)}."
        raise OptionError(f"There is no option {name}; {advice}")
    return {name.lower(): value for name, value in given.items()}


def _number(values: Mapping[str, str], name: str) -> int | None:
    value = values.get(name.lower())
    return None if value is None else as_number(name, value, 1)


def _selection(
    values: Mapping[str, str],
) -> tuple[Callable[[TopicPartition], bool], tuple[str, ...], tuple[TopicPartition, ...]]:
    chosen = [name for name in _SELECTIONS if name.lower() in values]
    if len(chosen) != 1:
        found = "none" if not chosen else " and ".join(chosen)
        raise OptionError(f"One of {', '.join(_SELECTIONS)} must say what is read; {found} was given.")
    name = chosen[0]
    value = values[name.lower()]
    if name == "subscribePattern":
        try:
            pattern = re.compile(value)
        except re.error as error:
            raise OptionError(f"The option subscribePattern is {value!r}, which is no pattern: {error}.") from error
        return (lambda partition: pattern.fullmatch(partition.topic) is not None), (), ()
    if name == "assign":
        named = frozenset(_assigned(value))
        return named.__contains__, (), tuple(sorted(named))
    topics = tuple(topic.strip() for topic in value.split(",") if topic.strip())
    if not topics:
        raise OptionError(f"The option {name} names no topic.")
    return (lambda partition: partition.topic in topics), topics, ()


def _assigned(value: str) -> list[TopicPartition]:
    try:
        found = [
            TopicPartition(topic, int(partition))
            for topic, partitions in json.loads(value).items()
            for partition in partitions
        ]
    except (ValueError, AttributeError, TypeError):
        found = []
    if not found:
        raise OptionError(f'The option assign is {value!r}; it must be like {{"topic": [0, 1]}}.')
    return found


def _bound(values: Mapping[str, str], side: str, default: int) -> Bound:
    """A timestamp for all wins over timestamps for each, and those over offsets, as in Spark's connector."""
    timestamp = values.get(f"{side}timestamp")
    if timestamp is not None:
        return Bound(is_time=True, everywhere=as_number(f"{side}Timestamp", timestamp, 0))
    by_timestamp = values.get(f"{side}offsetsbytimestamp")
    if by_timestamp is not None:
        return Bound(is_time=True, each=_per_partition(f"{side}OffsetsByTimestamp", by_timestamp, 0))
    offsets = values.get(f"{side}offsets", "").strip()
    if not offsets:
        return Bound(everywhere=default)
    word = offsets.lower()
    if word in ("earliest", "latest"):
        if word == "earliest" and side == "ending":
            raise OptionError("The option endingOffsets is earliest, which would read nothing; leave it out.")
        return Bound(everywhere=EARLIEST if word == "earliest" else LATEST)
    return Bound(each=_per_partition(f"{side}Offsets", offsets, EARLIEST))


def _per_partition(option: str, text: str, least: int) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    try:
        document: Any = json.loads(text)
        for topic, partitions in document.items():
            for partition, value in partitions.items():
                if type(value) is not int or value < least:
                    raise ValueError
                found[TopicPartition(topic, int(partition))] = value
    except (ValueError, AttributeError, TypeError):
        raise OptionError(
            f'The option {option} is {text!r}; it must be like {{"topic": {{"0": 42, "1": 7}}}}.'
        ) from None
    return found
