"""Since when a group is as it is: read from the coordinator's own records.

Kafka's requests do not tell. The records of `__consumer_offsets` do, and anybody who may read the topic can look there:
the newest record of a group says when it was written.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from moldau.errors import KafkaError, ProtocolError
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

_TOPIC: Final = "__consumer_offsets"
_ALL: Final = 1 << 31


def last_change(cluster: Cluster, group_id: str, seconds: float = 5.0) -> int | None:
    """When the group's state was last written, in milliseconds since 1970; None if that cannot be found out quickly."""
    from moldau.client.admin import EARLIEST, LATEST, describe_topics, list_offsets
    from moldau.client.consumer.partition_reader import PartitionReader
    from moldau.coordinator.group.record_types import RECORD_TYPES
    from moldau.coordinator.partition_hash import partition_for
    from moldau.coordinator.record_framing import decode_record
    from moldau.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
    from moldau.protocol.messages.group_metadata_key import GroupMetadataKey
    from moldau.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey

    newest: int | None = None
    deadline = monotonic() + seconds
    try:
        (topic,) = cluster.run(describe_topics([_TOPIC]))
        where = TopicPartition(_TOPIC, partition_for(group_id, len(topic.partitions)))
        start, end = (cluster.run(list_offsets({where: moment}))[where] for moment in (EARLIEST, LATEST))
        if isinstance(start, KafkaError) or isinstance(end, KafkaError):
            return None
        with PartitionReader(cluster, {where: start.offset}, {where: end.offset}) as reader:
            while reader.positions:
                if monotonic() > deadline:
                    return None
                for part in reader.poll(0.5):
                    for record in part.take(_ALL):
                        decoded = decode_record(RECORD_TYPES, record.key, record.value) if record.key else None
                        if decoded is None or decoded.value is None:
                            continue
                        key = decoded.key
                        if (isinstance(key, GroupMetadataKey) and key.group == group_id) or (
                            isinstance(key, ConsumerGroupMetadataKey | StreamsGroupMetadataKey)
                            and key.group_id == group_id
                        ):
                            newest = record.timestamp
    except (KafkaError, ProtocolError):
        return None
    return newest
