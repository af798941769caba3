"""Kafka's metadata records: which exist, how they are framed in the log, and in which version each is written.

A record's value is three unsigned varints, the frame version, the type and the version of the type, followed by the
message. Decisions are made with plain messages; the version is chosen here, from the metadata.version the cluster has
agreed on, so that no rule of the controller has to know one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from moldau.errors import MoldauError, ProtocolError
from moldau.metadata import features
from moldau.protocol.message import Message
from moldau.protocol.messages.abort_transaction_record import AbortTransactionRecord
from moldau.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from moldau.protocol.messages.begin_transaction_record import BeginTransactionRecord
from moldau.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from moldau.protocol.messages.clear_elr_record import ClearElrRecord
from moldau.protocol.messages.client_quota_record import ClientQuotaRecord
from moldau.protocol.messages.config_record import ConfigRecord
from moldau.protocol.messages.delegation_token_record import DelegationTokenRecord
from moldau.protocol.messages.end_transaction_record import EndTransactionRecord
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.fence_broker_record import FenceBrokerRecord
from moldau.protocol.messages.no_op_record import NoOpRecord
from moldau.protocol.messages.partition_change_record import PartitionChangeRecord
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.producer_ids_record import ProducerIdsRecord
from moldau.protocol.messages.register_broker_record import RegisterBrokerRecord
from moldau.protocol.messages.register_controller_record import RegisterControllerRecord
from moldau.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from moldau.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from moldau.protocol.messages.remove_topic_record import RemoveTopicRecord
from moldau.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from moldau.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.types import Buffer

__all__ = [
    "FRAME_VERSION",
    "RECORD_TYPES",
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "Message",
    "MetadataError",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UserScramCredentialRecord",
    "VersionedRecord",
    "decode_record",
    "encode_record",
    "versioned",
]

FRAME_VERSION: Final = 1


class MetadataError(MoldauError):
    """The metadata log holds something that cannot be applied. Going on would mean to guess, so the node stops."""


class VersionedRecord(NamedTuple):
    message: Message
    version: int


_TYPES: Final[tuple[type[Message], ...]] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RegisterControllerRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    UserScramCredentialRecord,
    RemoveUserScramCredentialRecord,
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
)
RECORD_TYPES: Final[Mapping[int, type[Message]]] = {record.API_KEY: record for record in _TYPES}

_ZK_MIGRATION_STATE: Final = 21

_VERSIONS: Final[Mapping[type, Callable[[int], int]]] = {
    PartitionRecord: features.partition_record_version,
    PartitionChangeRecord: features.partition_record_version,
    RegisterBrokerRecord: features.register_broker_record_version,
    BrokerRegistrationChangeRecord: features.broker_registration_change_record_version,
}


def versioned(message: Message, metadata_version: int) -> VersionedRecord:
    """The record in the newest version that every node at this metadata.version can read."""
    choose = _VERSIONS.get(type(message))
    return VersionedRecord(message, 0 if choose is None else choose(metadata_version))


def encode_record(record: VersionedRecord) -> bytes:
    message, version = record
    # Type and version are below 128, so each varint is the byte itself.
    return bytes((FRAME_VERSION, message.API_KEY, version)) + message.encode(version)


def decode_record(value: Buffer) -> VersionedRecord | None:
    """The record in a value; None for one that says nothing (the mark of a cluster that never ran on ZooKeeper)."""
    frame_version, position = _unsigned_varint(value, 0)
    if frame_version != FRAME_VERSION:
        raise MetadataError(f"a metadata record has the frame version {frame_version}; {FRAME_VERSION} is known")
    api_key, position = _unsigned_varint(value, position)
    version, position = _unsigned_varint(value, position)
    record_type = RECORD_TYPES.get(api_key)
    if record_type is None:
        if api_key == _ZK_MIGRATION_STATE:
            return None
        # Skipping it would drop something of the cluster without a word.
        raise MetadataError(f"the metadata log holds records of type {api_key}, which this version does not support")
    if version > record_type.MAX_VERSION:
        raise MetadataError(
            f"the metadata log holds a {record_type.__name__} of version {version}; "
            f"versions up to {record_type.MAX_VERSION} are known"
        )
    return VersionedRecord(record_type.decode(value[position:], version), version)


def _unsigned_varint(data: Buffer, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 28:
            raise ProtocolError("a metadata record ends inside its frame")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
