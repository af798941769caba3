"""Who reads what in classic groups: what kafka-python and aiokafka have under `coordinator.assignors`. The coordinator
of this package is the server's, so the name is its own here."""

from __future__ import annotations

from moldau.client.consumer.assignors import (
    CooperativeStickyAssignor,
    PartitionAssignor,
    RangePartitionAssignor,
    RoundRobinPartitionAssignor,
    StickyPartitionAssignor,
)

# The name of the class to derive from in both libraries.
AbstractPartitionAssignor = PartitionAssignor

__all__ = [
    "AbstractPartitionAssignor",
    "CooperativeStickyAssignor",
    "PartitionAssignor",
    "RangePartitionAssignor",
    "RoundRobinPartitionAssignor",
    "StickyPartitionAssignor",
]
