"""Where a group is to stand: the offsets that a moment means, or those it has moved by some records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moldau.client.admin.offsets import EARLIEST, LATEST, list_offsets
from moldau.client.conversation import Conversation
from moldau.errors import ErrorCode, KafkaError
from moldau.moments import AtOffset, AtTime, FromEnd, Moment, Word
from moldau.types import TopicPartition

Offsets = dict[TopicPartition, int]


def moved_to(partitions: Sequence[TopicPartition], moment: Moment) -> Conversation[Offsets]:
    """The offset a moment means in each partition; one outside a partition becomes its nearer end."""
    match moment:
        case Word.EARLIEST:
            return (yield from _bounds(partitions, EARLIEST))
        case Word.LATEST:
            return (yield from _bounds(partitions, LATEST))
        case AtTime(milliseconds):
            found = yield from _bounds(partitions, milliseconds)
            # Nothing is that young: it goes on with what comes next.
            young = [where for where, offset in found.items() if offset < 0]
            return {**found, **(yield from _bounds(young, LATEST))} if young else found
        case FromEnd(records):
            ends = yield from _bounds(partitions, LATEST)
            return (yield from _within({where: end - records for where, end in ends.items()}))
        case AtOffset(offset):
            return (yield from _within(dict.fromkeys(partitions, offset)))


def shifted(
    partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int], shift: int
) -> Conversation[Offsets]:
    """What is committed, and so many records further, or back."""
    missing = [str(where) for where in partitions if committed.get(where, -1) < 0]
    if missing:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Nothing is committed for {', '.join(missing)}, so there is nothing to shift.",
        )
    return (yield from _within({where: committed[where] + shift for where in partitions}))


def _bounds(partitions: Sequence[TopicPartition], moment: int) -> Conversation[Offsets]:
    offsets = {}
    for where, found in (yield from list_offsets(dict.fromkeys(partitions, moment))).items():
        if isinstance(found, KafkaError):
            raise found
        offsets[where] = found.offset
    return offsets


def _within(wanted: Mapping[TopicPartition, int]) -> Conversation[Offsets]:
    """An offset before the start or after the end becomes the start or the end."""
    starts = yield from _bounds(list(wanted), EARLIEST)
    ends = yield from _bounds(list(wanted), LATEST)
    return {where: min(max(offset, starts[where]), ends[where]) for where, offset in wanted.items()}
