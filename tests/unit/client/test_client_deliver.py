"""One batch per partition, delivered by whoever leads: what the answers mean, whatever was learned in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.client.conversation import AskAll, Learn, Pause
from moldau.client.metadata import BrokerView, ClusterView, PartitionView, TopicView
from moldau.client.producing import deliver
from moldau.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from moldau.types import TopicPartition

WHERE = TopicPartition("rivers", 0)
TOPIC_ID = bytes(range(16))


def test_a_topic_learned_between_two_attempts_is_known_by_its_id() -> None:
    nothing = ClusterView(brokers={1: BrokerView(1, "a", 1, None)})
    partition = PartitionView(index=0, leader=1, leader_epoch=0, replicas=(1,), isr=(1,), offline=())
    known = ClusterView(
        brokers=nothing.brokers,
        topics={"rivers": TopicView(name="rivers", id=TOPIC_ID, internal=False, partitions={0: partition})},
    )
    answer = ProduceResponse(
        responses=[
            TopicProduceResponse(
                topic_id=TOPIC_ID, partition_responses=[PartitionProduceResponse(index=0, base_offset=42)]
            )
        ]
    )
    asked: list[Any] = []

    def answers(step: Any) -> Any:
        asked.append(type(step))
        if isinstance(step, Learn):
            return known if Pause in asked else nothing
        return [answer for _ in step.asks] if isinstance(step, AskAll) else None

    assert _ended(deliver({WHERE: b"batch"}), answers) == {WHERE: 42}
    assert asked.count(Pause) == 1


def _ended(conversation: Any, answers: Callable[[Any], Any]) -> Any:
    step = next(conversation)
    while True:
        try:
            step = conversation.send(answers(step))
        except StopIteration as end:
            return end.value
