"""The APIs by number: their names, versions and headers, and the classes of their requests and responses.

Only the index of the generated messages is imported here; a class is imported when it is first asked for, so that a
process pays for the APIs it uses and not for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from importlib import import_module
from typing import Final

from moldau.protocol.message import Message
from moldau.protocol.messages.index import APIS, RECORDS, ApiEntry


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


# The APIs that exist in Kafka 4; the others of the enumeration are remembered by their number only.
ENTRIES: Final[Mapping[int, ApiEntry]] = {entry.key: entry for entry in APIS}


def request_header_version(api_key: int, api_version: int) -> int:
    """2 at flexible versions, otherwise 1; KeyError if there is no such API."""
    since = ENTRIES[api_key].flexible_since
    return 2 if since is not None and api_version >= since else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """1 at flexible versions, otherwise 0; KeyError if there is no such API.

    ApiVersions is always answered with 0: a client that does not know yet what the broker speaks has to be able to
    read the answer.
    """
    since = ENTRIES[api_key].flexible_since
    return 1 if since is not None and api_version >= since and api_key != ApiKey.API_VERSIONS else 0


class LazyClasses(Mapping[int, type[Message]]):
    """Message classes by number, each imported at its first use."""

    def __init__(self, places: Mapping[int, tuple[str, str]]) -> None:
        self._places = places
        self._loaded: dict[int, type[Message]] = {}

    def __getitem__(self, key: int) -> type[Message]:
        found = self._loaded.get(key)
        if found is None:
            module, name = self._places[key]
            found = self._loaded[key] = getattr(import_module(f"moldau.protocol.messages.{module}"), name)
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places


REQUESTS: Final[Mapping[int, type[Message]]] = LazyClasses({e.key: (e.module, e.name + "Request") for e in APIS})
RESPONSES: Final[Mapping[int, type[Message]]] = LazyClasses({e.key: (e.module, e.name + "Response") for e in APIS})

# Records by the number that is written in front of them.
METADATA_RECORDS: Final = LazyClasses(RECORDS["__cluster_metadata", "metadata"])
GROUP_KEYS: Final = LazyClasses(RECORDS["__consumer_offsets", "key"])
GROUP_VALUES: Final = LazyClasses(RECORDS["__consumer_offsets", "value"])
TRANSACTION_KEYS: Final = LazyClasses(RECORDS["__transaction_state", "key"])
TRANSACTION_VALUES: Final = LazyClasses(RECORDS["__transaction_state", "value"])
SHARE_STATE_KEYS: Final = LazyClasses(RECORDS["__share_group_state", "key"])
SHARE_STATE_VALUES: Final = LazyClasses(RECORDS["__share_group_state", "value"])
