"""The first state of a new partition, from replicas that were placed or asked for."""

from __future__ import annotations

from collections.abc import Sequence

from moldau.controller.brokers import BrokerControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.partition_registration import PartitionRegistration


def new_partition(replicas: tuple[int, ...], brokers: BrokerControl) -> PartitionRegistration:
    """Led by the first replica that is alive; those that are not start out of sync."""
    isr = tuple(replica for replica in replicas if brokers.is_active(replica))
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "No broker can take a new partition: all are fenced or shutting down."
        )
    directories = tuple(brokers.default_directory(replica) for replica in replicas)
    return PartitionRegistration(replicas, directories, isr, leader=isr[0], leader_epoch=0, partition_epoch=0)


def check_replicas(replicas: Sequence[int], index: int, brokers: BrokerControl) -> None:
    """KafkaError(INVALID_REPLICA_ASSIGNMENT) unless a partition can be on these brokers, alive or not."""
    if not replicas:
        raise _invalid(f"Partition {index} is assigned to no broker.")
    for replica in replicas:
        broker = brokers.registrations.get(replica)
        if broker is None:
            raise _invalid(f"Partition {index} is assigned to broker {replica}, which is not registered.")
        if not broker.has_uncordoned_directory:
            raise _invalid(f"Partition {index} is assigned to broker {replica}, whose log directories are cordoned.")
    if len(set(replicas)) != len(replicas):
        raise _invalid(f"Partition {index} is assigned to the same broker twice.")


def checked_assignment(
    replicas: Sequence[int], index: int, factor: int | None, brokers: BrokerControl
) -> PartitionRegistration:
    """The partition on the brokers a user chose; `factor` is how many replicas its neighbours have."""
    check_replicas(replicas, index, brokers)
    if factor is not None and len(replicas) != factor:
        raise _invalid(f"Partition {index} has {len(replicas)} replicas; the partitions before it have {factor}.")
    if not any(brokers.is_active(replica) for replica in replicas):
        raise _invalid(f"All brokers of partition {index} are fenced or shutting down.")
    return new_partition(tuple(replicas), brokers)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
