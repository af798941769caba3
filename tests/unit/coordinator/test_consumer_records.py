"""The records of consumer groups, as Apache Kafka reads them too."""

from __future__ import annotations

from moldau.coordinator.group.consumer_member import ConsumerMember
from moldau.coordinator.group.consumer_records import apply_current, current_record
from moldau.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)

TOPIC = bytes(range(16))


def test_partitions_of_a_member_say_that_they_have_no_epochs_of_their_own() -> None:
    member = ConsumerMember("m", epoch=3, previous_epoch=2, assigned={TOPIC: frozenset({1, 0})})
    record = current_record("g", member)
    assert isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
    (row,) = ConsumerGroupCurrentMemberAssignmentValue.decode(record.value.encode(0), 0).assigned_partitions
    # An absent list reads as an empty one, and Kafka complains that it is shorter than the partitions.
    assert (row.partitions, row.assignment_epochs) == ([0, 1], None)
    assert apply_current(ConsumerMember("m"), record.value) == member
