"""Messages that are done with are let go a little at a time, and nothing is taken from anybody else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from moldau.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from moldau.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from moldau.protocol.slices import freed

AT_ONCE = 256


def nested(topics: int, partitions: int, batches: int) -> ShareAcknowledgeRequest:
    return ShareAcknowledgeRequest(
        topics=[
            AcknowledgeTopic(
                partitions=[
                    AcknowledgePartition(
                        acknowledgement_batches=[AcknowledgementBatch(first_offset=n) for n in range(batches)]
                    )
                    for _ in range(partitions)
                ]
            )
            for _ in range(topics)
        ]
    )


def elements(value: Any) -> int:
    if isinstance(value, list):
        return len(value) + sum(elements(each) for each in value)
    return sum(elements(getattr(value, field)) for field in getattr(value, "FIELDS", ()))


def test_a_request_of_many_short_arrays_is_let_go_a_little_at_a_time() -> None:
    request = nested(3, 40, 10)
    left = [elements(request), *(elements(request) for _ in freed(request, alone=True))]
    assert left[-1] == 0
    assert max(before - after for before, after in pairwise(left)) <= AT_ONCE


def test_many_elements_of_which_each_has_some_are_let_go_one_by_one() -> None:
    request = nested(300, 3, 1)
    left = [elements(request), *(elements(request) for _ in freed(request))]
    assert left[-1] == 0
    assert max(before - after for before, after in pairwise(left)) <= 1 + 3 + 3


def test_what_somebody_else_has_stays_as_it_is() -> None:
    kept = MetadataResponseTopic(partitions=[MetadataResponsePartition(replica_nodes=[1, 2, 3])])
    before = repr(kept)
    held = [kept] * 600
    for response in (MetadataResponse(topics=[kept] * 600), MetadataResponse(topics=held)):
        for _ in freed(response, alone=True):
            pass
    assert repr(kept) == before
    assert len(held) == 600


def test_an_array_that_somebody_else_has_stays_as_well() -> None:
    nodes = [1, 2, 3]
    response = MetadataResponse(
        topics=[MetadataResponseTopic(partitions=[MetadataResponsePartition(replica_nodes=nodes)])]
    )
    for _ in freed(response, alone=True):
        pass
    assert nodes == [1, 2, 3]


def test_a_short_answer_that_many_are_given_stays_whole() -> None:
    answer = nested(3, 3, 3)
    before = elements(answer)
    for _ in freed(answer):
        pass
    assert elements(answer) == before
