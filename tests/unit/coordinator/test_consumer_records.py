"""The records of consumer groups, as Apache Kafka reads them too."""

from __future__ import annotations

import pytest

from moldau.coordinator.group.consumer_member import ConsumerMember
from moldau.coordinator.group.consumer_records import apply_current, current_record
from moldau.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from moldau.slicing import run_whole

TOPIC = bytes(range(16))


def test_partitions_of_a_member_have_the_epoch_they_were_assigned_in() -> None:
    member = ConsumerMember(
        "m",
        epoch=3,
        previous_epoch=2,
        assigned={TOPIC: frozenset({1, 0})},
        pending_revocation={TOPIC: frozenset({2})},
        assignment_epochs={(TOPIC, 0): 3, (TOPIC, 1): 1, (TOPIC, 2): 2},
    )
    record = run_whole(current_record("g", member))
    assert isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
    read = ConsumerGroupCurrentMemberAssignmentValue.decode(record.value.encode(0), 0)
    assert read.assigned_partitions == [
        TopicPartitions(topic_id=TOPIC, partitions=[0, 1], assignment_epochs=[3, 1]),
    ]
    assert read.partitions_pending_revocation == [
        TopicPartitions(topic_id=TOPIC, partitions=[2], assignment_epochs=[2]),
    ]
    assert run_whole(apply_current(ConsumerMember("m"), record.value)) == member


@pytest.mark.parametrize("epochs", [None, [], [7]])
@pytest.mark.parametrize(("member_epoch", "expected"), [(5, 5), (-2, 0)])
def test_records_without_epochs_stand_for_the_members_own(
    epochs: list[int] | None, member_epoch: int, expected: int
) -> None:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch,
        assigned_partitions=[TopicPartitions(topic_id=TOPIC, partitions=[4, 6], assignment_epochs=epochs)],
    )
    member = run_whole(apply_current(ConsumerMember("m"), value))
    assert member.assignment_epochs == {(TOPIC, 4): expected, (TOPIC, 6): expected}
