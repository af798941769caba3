"""From where to where: the many ways an option can say it.

    earliest, latest                          everywhere the same
    {"rivers": {"0": 17, "1": -2}}            an offset per partition; -2 is earliest, -1 is latest
    1700000000000, {"rivers": {"0": 17...}}   a time, for all or per partition: the first record at or after it

The most specific option wins, as in Spark's connector: startingTimestamp, then startingOffsetsByTimestamp, then
startingOffsets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, TypeAlias

from moldau.client.admin.offsets import EARLIEST, LATEST
from moldau.spark.options import OptionError, Options, as_number
from moldau.spark.source.positions import from_position
from moldau.spark.source.ranges import Offsets
from moldau.types import TopicPartition

_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True, slots=True)
class Everywhere:
    """EARLIEST or LATEST."""

    edge: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    option: str
    offsets: Offsets


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The time for each partition, or the one for all."""

    option: str
    times: Offsets | int

    def time(self, where: TopicPartition) -> int:
        return self.times if isinstance(self.times, int) else self.times[where]


Bound: TypeAlias = Everywhere | AtOffsets | AtTimes


def starting_bound(options: Options, default: int, *, latest_allowed: bool) -> Bound:
    bound = _bound(options, "starting", default)
    if not latest_allowed and LATEST in _edges(bound):
        raise OptionError(
            "A batch cannot start at the latest offset: nothing is behind it; use a stream for what comes."
        )
    return bound


def ending_bound(options: Options) -> Bound:
    bound = _bound(options, "ending", LATEST)
    if EARLIEST in _edges(bound):
        raise OptionError("A batch cannot end at the earliest offset: nothing is before it; name an offset or latest.")
    return bound


def _edges(bound: Bound) -> set[int]:
    if isinstance(bound, Everywhere):
        return {bound.edge}
    return set(bound.offsets.values()) if isinstance(bound, AtOffsets) else set()


def _bound(options: Options, side: str, default: int) -> Bound:
    option = f"{side}Timestamp"
    if (text := options.text(option)) is not None:
        return AtTimes(option, as_number(option, text, 0))
    option = f"{side}OffsetsByTimestamp"
    if (text := options.text(option)) is not None:
        return AtTimes(option, partition_numbers(option, text, least=0))
    option = f"{side}Offsets"
    text = (options.text(option) or "").strip()
    if not text:
        return Everywhere(default)
    if text.lower() in _WORDS:
        return Everywhere(_WORDS[text.lower()])
    return AtOffsets(option, partition_numbers(option, text, least=EARLIEST))


def partition_numbers(option: str, text: str, least: int) -> Offsets:
    """Reads `{"topic": {"partition": number}}`."""
    form = '{"topic": {"0": 17, "1": 20}}'
    try:
        numbers = from_position(json.loads(text))
    except (ValueError, TypeError, AttributeError):
        words = "earliest, latest or " if option.endswith("Offsets") else ""
        raise OptionError(f"The option {option} is {text!r}; it must be {words}JSON such as {form}.") from None
    wrong = [where for where, number in numbers.items() if number < least or where.partition < 0]
    if wrong:
        raise OptionError(
            f"The option {option} has {numbers[wrong[0]]} for {wrong[0]}; the least it may have is {least}."
        )
    return numbers
