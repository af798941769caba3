"""One broker, as a share consumer knows it: the share session over one connection, and what is to be told there.

The broker remembers which partitions are wanted and what each member has acquired, under a number that both sides count
up; so one request is on its way at a time. It ends with the connection: what was acquired over it is given to others,
and acknowledgements of it come to nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeVar

from moldau.client.share.in_flight import Acknowledgements
from moldau.links.link import Link
from moldau.protocol.messages import share_acknowledge as acknowledging
from moldau.protocol.messages import share_fetch as fetching
from moldau.types import Uuid

_FIRST: Final = 0
_LAST: Final = -1
_LARGEST: Final = 0x7FFFFFFF

# Topic id and partition.
Partition = tuple[Uuid, int]


class NodeSession:
    def __init__(self, node: int, link: Link) -> None:
        self.node = node
        self.link = link
        self.epoch = _FIRST
        self.in_flight = False
        self.waiting: deque[Acknowledgements] = deque()
        # Nothing is asked before this moment, after something went wrong.
        self.not_before = 0.0
        self.failures = 0
        # What happens when the answer under way has come.
        self.then: Callable[[], None] | None = None
        self._told: set[Partition] = set()

    @property
    def stands(self) -> bool:
        """Whether the broker remembers it, as far as is known."""
        return self.epoch != _FIRST and self.link.usable

    def reset(self) -> None:
        """The broker does not know it any more; the next fetch begins another one."""
        self.epoch = _FIRST
        self._told.clear()

    def answered(self) -> None:
        self.epoch = 1 if self.epoch == _LARGEST else self.epoch + 1
        self.failures = 0

    def fetch(
        self, request: fetching.ShareFetchRequest, wanted: Collection[Partition], told: Iterable[Acknowledgements]
    ) -> None:
        """Fills in what the broker does not know yet, and acknowledgements that go with it."""
        known = self._told if self.epoch != _FIRST else set()
        acknowledged: dict[Partition, list[fetching.AcknowledgementBatch]] = {}
        for each in told:
            acknowledged.setdefault((each.topic_id, each.where.partition), []).extend(
                fetching.AcknowledgementBatch(
                    first_offset=run.first, last_offset=run.last, acknowledge_types=list(run.types)
                )
                for run in each.runs
            )
        named = [each for each in wanted if each not in known or each in acknowledged]
        # What is told of a partition that is not wanted any more names it; being forgotten as well keeps it out.
        named += [each for each in acknowledged if each not in wanted]
        forgotten = [each for each in (*known, *acknowledged) if each not in wanted]
        request.share_session_epoch = self.epoch
        request.topics = [
            fetching.FetchTopic(
                topic_id=topic_id,
                partitions=[
                    fetching.FetchPartition(
                        partition_index=number,
                        acknowledgement_batches=_in_order(acknowledged.get((topic_id, number), [])),
                    )
                    for number in numbers
                ],
            )
            for topic_id, numbers in by_id(named).items()
        ]
        request.forgotten_topics_data = [
            fetching.ForgottenTopic(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in by_id(dict.fromkeys(forgotten)).items()
        ]
        self._told = set(wanted)

    def acknowledge(
        self, request: acknowledging.ShareAcknowledgeRequest, told: Iterable[Acknowledgements], *, last: bool = False
    ) -> None:
        """`last` ends the session: the broker gives everything that was not acknowledged to others."""
        batches: dict[Partition, list[acknowledging.AcknowledgementBatch]] = {}
        for each in told:
            batches.setdefault((each.topic_id, each.where.partition), []).extend(
                acknowledging.AcknowledgementBatch(
                    first_offset=run.first, last_offset=run.last, acknowledge_types=list(run.types)
                )
                for run in each.runs
            )
        request.share_session_epoch = _LAST if last else self.epoch
        request.topics = [
            acknowledging.AcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    acknowledging.AcknowledgePartition(
                        partition_index=number, acknowledgement_batches=_in_order(batches[topic_id, number])
                    )
                    for number in numbers
                ],
            )
            for topic_id, numbers in by_id(batches).items()
        ]


def by_id(partitions: Iterable[Partition]) -> dict[Uuid, list[int]]:
    topics: dict[Uuid, list[int]] = {}
    for topic_id, number in partitions:
        topics.setdefault(topic_id, []).append(number)
    return topics


B = TypeVar("B", fetching.AcknowledgementBatch, acknowledging.AcknowledgementBatch)


def _in_order(batches: Sequence[B]) -> list[B]:
    return sorted(batches, key=lambda batch: batch.first_offset)
