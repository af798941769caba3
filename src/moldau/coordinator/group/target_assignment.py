"""A new target assignment: what every member of a consumer group should have at the group's epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.coordinator.group.assignors import ASSIGNORS, Problem, Subscriber
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import NO_PARTITIONS, Assignment, ConsumerMember
from moldau.coordinator.group.consumer_records import target_epoch_record, target_record
from moldau.coordinator.shard import CoordinatorRecord
from moldau.metadata.image import MetadataImage
from moldau.slicing import Work, in_order, pieces
from moldau.types import Uuid


def metadata_hash(topics: Iterable[str], image: MetadataImage) -> Work[int]:
    """A number that changes when what there is to assign changes: topics, their ids, their numbers of partitions.

    It is only ever compared with one made the same way. Kafka hashes differently; a coordinator that takes over from
    one finds a difference once and assigns anew.
    """
    from hashlib import blake2b  # it brings OpenSSL with it, for which a node that starts need not wait

    digest = blake2b(digest_size=8)
    empty = True
    for names in pieces((yield from in_order(topics))):
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                empty = False
                digest.update(topic.id + len(topic.partitions).to_bytes(4, "big") + name.encode())
        yield
    return 0 if empty else int.from_bytes(digest.digest(), "big", signed=True)


def may_assign(assigned_ms: int, interval_ms: int, now_ms: int) -> bool:
    """Whether a new target may be computed: the last one must be a while old, so that many changes cause one. One of a
    moment that is still to come is from a coordinator whose clock was wrong, and nobody waits until then."""
    return assigned_ms == 0 or not assigned_ms <= now_ms < assigned_ms + interval_ms


def heartbeat_soon(interval_ms: int, assigned_ms: int, assignment_interval_ms: int, now_ms: int) -> int:
    """The heartbeat interval of a member whose target is due: it need not wait longer than until then."""
    return min(interval_ms, max(assigned_ms + assignment_interval_ms - now_ms, 1))


def compute_target(
    assignor: str,
    subscriptions: Mapping[str, tuple[ConsumerMember, frozenset[str]]],
    previous: Mapping[str, Assignment],
    image: MetadataImage,
) -> Work[dict[str, Assignment]]:
    """By member id: the member and the topics it subscribes to, and what it was meant to have so far."""
    members, partitions = [], {}
    for member_id, (member, names) in sorted(subscriptions.items(), key=lambda each: each[0]):
        ids: set[Uuid] = set()
        for some in pieces(names):
            for name in some:
                topic = image.topics.get(name)
                if topic is not None:
                    ids.add(topic.id)
                    partitions[topic.id] = len(topic.partitions)
            yield
        current = previous.get(member_id, NO_PARTITIONS)
        members.append(Subscriber(member_id, member.instance_id, frozenset(ids), current))
    counts = {topic_id: partitions[topic_id] for topic_id in (yield from in_order(partitions))}
    return (yield from ASSIGNORS[assignor](Problem(members, counts)))


def target_records(
    group: ConsumerGroup, epoch: int, targets: Mapping[str, Assignment], now_ms: int
) -> Work[list[CoordinatorRecord]]:
    """Only what is different from the last target, and the epoch last: until then the old one counts."""
    records = []
    for member_id, target in targets.items():
        if group.targets.get(member_id) != target:
            records.append((yield from target_record(group.group_id, member_id, target)))
        yield
    records.append(target_epoch_record(group.group_id, epoch, now_ms))
    return records
