"""What a client believes about the cluster, and when it changes its mind."""

from __future__ import annotations

import pytest
from scripted_peer import metadata

from moldau.client.metadata import ClusterView, TopicView
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.protocol.messages.metadata import MetadataResponse
from moldau.types import TopicPartition

BROKERS = {1: Address("one", 1), 2: Address("two", 2)}
RIVER = TopicPartition("rivers", 0)
ID, OTHER_ID = b"a" * 16, b"b" * 16


def view(leader: int, epoch: int, topic_id: bytes = ID) -> ClusterView:
    answer = metadata(BROKERS, {"rivers": {0: (leader, epoch)}}, ids={"rivers": topic_id})
    return ClusterView().after(answer, ["rivers"])


def test_knows_the_leader() -> None:
    known = view(leader=2, epoch=5)
    assert known.leader(RIVER) == 2
    assert known.brokers[2].address == Address("two", 2)
    assert known.topic_by_id(ID) == known.topic("rivers")
    assert known.topic_by_id(OTHER_ID) is None


@pytest.mark.parametrize(("epoch", "leader"), [(4, 2), (5, 1), (6, 1), (-1, 1)])
def test_an_answer_from_before_does_not_bring_the_old_leader_back(epoch: int, leader: int) -> None:
    known = view(leader=2, epoch=5)
    after = known.after(metadata(BROKERS, {"rivers": {0: (1, epoch)}}, ids={"rivers": ID}), ["rivers"])
    assert after.leader(RIVER) == leader


def test_a_topic_created_again_starts_over() -> None:
    known = view(leader=2, epoch=5)
    after = known.after(metadata(BROKERS, {"rivers": {0: (1, 0)}}, ids={"rivers": OTHER_ID}), ["rivers"])
    assert after.leader(RIVER) == 1


def test_topics_not_asked_for_stay_and_topics_asked_for_can_go() -> None:
    known = view(leader=1, epoch=0)
    with_lakes = known.after(metadata(BROKERS, {"lakes": {0: (1, 0)}}), ["lakes"])
    assert set(with_lakes.topics) == {"rivers", "lakes"}
    assert set(with_lakes.after(metadata(BROKERS), ["lakes"]).topics) == {"rivers"}
    assert set(with_lakes.after(metadata(BROKERS), None).topics) == set()


def test_why_a_topic_or_partition_cannot_be_used() -> None:
    known = view(leader=-1, epoch=3).after(metadata(BROKERS, errors={"secret": 29}), ["secret"])
    for where, code in [
        (RIVER, ErrorCode.LEADER_NOT_AVAILABLE),
        (TopicPartition("rivers", 9), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("nowhere", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("secret", 0), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ]:
        with pytest.raises(KafkaError, match=where.topic) as caught:
            known.leader(where)
        assert caught.value.code is code


def test_names_asked_for_are_gone_through_once() -> None:
    """However many topics are known: with ten thousand, once for each took ten seconds."""
    known = ClusterView(topics={name: TopicView(name) for name in ("a", "b", "c")})
    after = known.after(MetadataResponse(), iter(["a", "c"]))
    assert set(after.topics) == {"b"}
