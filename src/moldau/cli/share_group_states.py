"""What a share coordinator has written of a group: how often records were handed out in vain, and which were given up.

Kafka's requests tell where a group begins and how much is left. Delivery counts stand in the records of
`__share_group_state` only, and anybody who may read the topic can look there. Locks of records that are in somebody's
hands are in the memory of the partition's leader and nowhere else.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from moldau.errors import KafkaError, ProtocolError
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster
    from moldau.coordinator.share.state import ShareGroupOffset, SharePartitionKey

_ALL: Final = 1 << 31


def written_states(
    cluster: Cluster, group_id: str, seconds: float = 5.0
) -> dict[TopicPartition, ShareGroupOffset] | None:
    """By partition; None if that cannot be found out quickly, or may not be read."""
    from moldau.client.admin import EARLIEST, LATEST, describe_topics, list_offsets, list_topics
    from moldau.client.consumer.partition_reader import PartitionReader
    from moldau.coordinator.record_framing import decode_record
    from moldau.coordinator.share.state import RECORD_TYPES, SHARE_STATE_TOPIC, of_snapshot, partition_key, updated
    from moldau.protocol.messages.share_snapshot_key import ShareSnapshotKey
    from moldau.protocol.messages.share_snapshot_value import ShareSnapshotValue
    from moldau.protocol.messages.share_update_key import ShareUpdateKey
    from moldau.protocol.messages.share_update_value import ShareUpdateValue

    found: dict[SharePartitionKey, ShareGroupOffset] = {}
    deadline = monotonic() + seconds
    try:
        (topic,) = cluster.run(describe_topics([SHARE_STATE_TOPIC]))
        partitions = [TopicPartition(SHARE_STATE_TOPIC, number) for number in topic.partitions]
        bounds = []
        for moment in (EARLIEST, LATEST):
            offsets = cluster.run(list_offsets(dict.fromkeys(partitions, moment)))
            bounds.append({where: each.offset for where, each in offsets.items() if not isinstance(each, KafkaError)})
        begin, end = ({where: offset for where, offset in each.items() if where in bounds[0]} for each in bounds)
        with PartitionReader(cluster, begin, end) as reader:
            while reader.positions:
                if monotonic() > deadline:
                    return None
                for part in reader.poll(0.5):
                    for record in part.take(_ALL):
                        decoded = decode_record(RECORD_TYPES, record.key, record.value) if record.key else None
                        if decoded is None or not isinstance(decoded.key, ShareSnapshotKey | ShareUpdateKey):
                            continue
                        if decoded.key.group_id != group_id:
                            continue
                        key = partition_key(decoded.key)
                        if isinstance(decoded.value, ShareSnapshotValue):
                            found[key] = of_snapshot(decoded.value)
                        elif isinstance(decoded.value, ShareUpdateValue) and key in found:
                            found[key] = updated(found[key], decoded.value)
                        elif decoded.value is None:
                            found.pop(key, None)
        names = {each.id: each.name for each in cluster.run(list_topics())} if found else {}
    except (KafkaError, ProtocolError):
        return None
    return {
        TopicPartition(names[key.topic_id], key.partition): state
        for key, state in found.items()
        if key.topic_id in names
    }
