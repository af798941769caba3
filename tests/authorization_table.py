"""Every API against every missing permission: requests, what each needs, and the answer boiled down to what shows.

A case is asked with no permission at all, with all of them, and with all but each one. What it is asked of (a node in
this process, one of its own, or Apache Kafka) gives and takes permissions; the one who asks is always the same. An
answer is reduced to names, error codes and sets of operations, so that those of two brokers can be compared.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

from moldau.errors import error_code
from moldau.protocol.api import REQUESTS, ApiKey
from moldau.protocol.message import Message
from moldau.protocol.records import Record, encode_batch
from moldau.security.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, ResourceType

ASKING: Final = "User:ANONYMOUS"
# What every target has before the first case; TOPIC and OTHER with committed offsets in GROUP.
TOPIC, OTHER, GROUP, PRODUCER = "orders", "other", "readers", "writer"
# What no target ever has.
ABSENT, NEW = "absent", "fresh"


class Permitted(NamedTuple):
    operation: Operation
    kind: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.operation.name} {self.kind.name} {self.name}"

    def acl(self) -> Acl:
        return Acl(self.kind, self.name, PatternType.LITERAL, ASKING, "*", self.operation, Permission.ALLOW)


class Target(Protocol):
    topic_ids: dict[str, bytes]

    def ask(self, request: Message, version: int) -> Message:
        """As the one who is given permissions."""

    def permit(self, permitted: Sequence[Permitted]) -> None:
        """These and no others, from now on."""


class Case(NamedTuple):
    name: str
    version: int
    request: Callable[[Target], Message]
    needs: tuple[Permitted, ...]
    # Sets of permissions that are not all but one.
    also: tuple[tuple[Permitted, ...], ...] = ()
    # Whether it may be asked with all permissions, and how often: it may change something.
    whole: bool = True

    def permissions(self) -> Iterator[tuple[str, tuple[Permitted, ...]]]:
        yield "nothing", ()
        if len(self.needs) > 1:
            for missing in self.needs:
                yield f"all but {missing}", tuple(each for each in self.needs if each != missing)
        for some in self.also:
            yield "only " + " and ".join(map(str, some)), some
        if self.whole:
            yield "all: " + ", ".join(map(str, self.needs)), self.needs


def may(text: str) -> tuple[Permitted, ...]:
    """`READ TOPIC orders, DESCRIBE CLUSTER`."""
    found = []
    for each in filter(None, (one.strip() for one in text.split(","))):
        operation, kind, *name = each.split()
        found.append(Permitted(Operation[operation], ResourceType[kind], name[0] if name else CLUSTER_NAME))
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------- requests


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, localns={"FileSlice": bytes})


def _value(hint: Any, value: Any) -> Any:
    """Dictionaries become the structures the field has."""
    kinds = [hint, *typing.get_args(hint)]
    kinds += [inner for each in kinds for inner in typing.get_args(each)]
    struct = next((each for each in kinds if isinstance(each, type) and hasattr(each, "FIELDS")), None)
    if struct is None:
        return value
    if isinstance(value, dict):
        return _built(struct, value)
    if isinstance(value, list):
        return [_built(struct, each) if isinstance(each, dict) else each for each in value]
    return value


def _built(kind: Any, fields: dict[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in fields.items()})


def case(key: ApiKey, version: int, needs: str, fields: Any, *also: str, about: str = "", whole: bool = True) -> Case:
    """`fields` of the request, or a function that makes them of the target."""

    def request(target: Target) -> Message:
        made: Message = _built(REQUESTS[key], fields(target) if callable(fields) else fields)
        return made

    name = " ".join(filter(None, (key.name, f"v{version}", about)))
    return Case(name, version, request, may(needs), tuple(may(each) for each in also), whole)


def _batch(*, transactional: bool = False) -> bytes:
    records = [Record(0, 1_700_000_000_000, None, b"v", [])]
    if transactional:
        return bytes(encode_batch(records, producer_id=4000, producer_epoch=0, base_sequence=0, is_transactional=True))
    return bytes(encode_batch(records))


def _produce(version: int, *, transactional: bool = False) -> Callable[[Target], dict[str, Any]]:
    def fields(target: Target) -> dict[str, Any]:
        rows = [{"index": 0, "records": _batch(transactional=transactional)}]
        named = [{"name": TOPIC, "partition_data": rows}, {"name": ABSENT, "partition_data": rows}]
        if version >= 13:
            named = [
                {"topic_id": target.topic_ids[TOPIC], "partition_data": rows},
                {"topic_id": b"z" * 16, "partition_data": rows},
            ]
        if transactional:
            named = named[:1]
        return {
            "transactional_id": PRODUCER if transactional else None,
            "acks": -1,
            "timeout_ms": 5000,
            "topic_data": named,
        }

    return fields


def _share_states(row: dict[str, Any]) -> Callable[[Target], dict[str, Any]]:
    return lambda target: {"group_id": GROUP, "topics": [{"topic_id": target.topic_ids[TOPIC], "partitions": [row]}]}


def _fetch(version: int, replica: int = -1) -> Callable[[Target], dict[str, Any]]:
    def fields(target: Target) -> dict[str, Any]:
        rows = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]
        topics = [{"topic": TOPIC, "partitions": rows}, {"topic": ABSENT, "partitions": rows}]
        if version >= 13:
            topics = [
                {"topic_id": target.topic_ids[TOPIC], "partitions": rows},
                {"topic_id": b"z" * 16, "partitions": rows},
            ]
        asking = (
            {"replica_state": {"replica_id": replica, "replica_epoch": 1}} if version >= 15 else {"replica_id": replica}
        )
        return {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 10_000, "session_epoch": -1, "topics": topics, **asking}

    return fields


def _id_of(topic: str) -> Callable[[Target], bytes]:
    return lambda target: target.topic_ids[topic]


_OFFSET = [{"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}]
_ACL = {
    "resource_type": 2,
    "resource_name": "nothing",
    "resource_pattern_type": 3,
    "principal": "User:nobody",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "nothing",
    "pattern_type_filter": 3,
    "principal_filter": "User:nobody",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_JOINING = {
    "group_id": GROUP,
    "session_timeout_ms": 1,
    "rebalance_timeout_ms": 1,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}
K: Final = ApiKey

_OF_GROUPS: Final = (
    (32, GROUP, "consumer.session.timeout.ms", "50000"),
    (16, "pushed", "interval.ms", "1000"),
)
CASES: Final = (
    case(K.PRODUCE, 9, "WRITE TOPIC orders, WRITE TOPIC absent", _produce(9)),
    case(K.PRODUCE, 13, "WRITE TOPIC orders", _produce(13)),
    case(K.PRODUCE, 9, "WRITE TRANSACTIONAL_ID writer, WRITE TOPIC orders", _produce(9, transactional=True)),
    case(K.FETCH, 12, "READ TOPIC orders, READ TOPIC absent", _fetch(12), "DESCRIBE TOPIC orders"),
    case(K.FETCH, 17, "READ TOPIC orders", _fetch(17)),
    case(K.FETCH, 17, "CLUSTER_ACTION CLUSTER", _fetch(17, 7), "READ TOPIC orders", about="by a broker", whole=False),
    case(K.FETCH, 12, "CLUSTER_ACTION CLUSTER", _fetch(12, 7), "READ TOPIC orders", about="by a broker", whole=False),
    case(
        K.LIST_OFFSETS,
        7,
        "DESCRIBE TOPIC orders, DESCRIBE TOPIC absent",
        {
            "replica_id": -1,
            "topics": [
                {"name": name, "partitions": [{"partition_index": 0, "timestamp": -2}]} for name in (TOPIC, ABSENT)
            ],
        },
        "READ TOPIC orders",
    ),
    *(
        case(
            K.METADATA,
            version,
            "DESCRIBE TOPIC orders, DESCRIBE TOPIC absent",
            {
                "topics": [{"name": TOPIC}, {"name": ABSENT}],
                "allow_auto_topic_creation": False,
                "include_topic_authorized_operations": version >= 8,
                "include_cluster_authorized_operations": version == 8,
            },
            "WRITE TOPIC orders",
            "ALL TOPIC orders",
            "DESCRIBE CLUSTER",
            about="by name",
        )
        for version in (5, 8, 12)
    ),
    case(
        K.METADATA,
        12,
        "DESCRIBE TOPIC fresh, CREATE TOPIC fresh",
        {"topics": [{"name": NEW}], "allow_auto_topic_creation": True},
        "CREATE CLUSTER",
        about="that creates",
        whole=False,
    ),
    case(
        K.METADATA,
        12,
        "DESCRIBE TOPIC orders",
        lambda target: {
            "topics": [{"topic_id": target.topic_ids[TOPIC], "name": None}, {"topic_id": b"z" * 16, "name": None}]
        },
        about="by id",
    ),
    case(
        K.METADATA,
        12,
        "DESCRIBE TOPIC orders, DESCRIBE TOPIC other",
        {"topics": None, "include_topic_authorized_operations": True},
        "READ TOPIC other",
        about="of all topics",
    ),
    *(
        case(
            K.OFFSET_COMMIT,
            version,
            "READ GROUP readers, READ TOPIC orders",
            {
                "group_id": GROUP,
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "topics": [{"name": TOPIC, "partitions": _OFFSET}, {"name": ABSENT, "partitions": _OFFSET}],
            },
        )
        for version in (2, 9)
    ),
    case(
        K.OFFSET_COMMIT,
        10,
        "READ GROUP readers, READ TOPIC orders",
        lambda target: {
            "group_id": GROUP,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": [
                {"topic_id": target.topic_ids[TOPIC], "partitions": _OFFSET},
                {"topic_id": b"z" * 16, "partitions": _OFFSET},
            ],
        },
    ),
    *(
        case(
            K.OFFSET_FETCH,
            version,
            "DESCRIBE GROUP readers, DESCRIBE TOPIC orders",
            {"group_id": GROUP, "topics": [{"name": name, "partition_indexes": [0]} for name in (TOPIC, OTHER)]},
        )
        for version in (1, 7)
    ),
    case(
        K.OFFSET_FETCH,
        9,
        "DESCRIBE GROUP readers, DESCRIBE TOPIC orders",
        {
            "groups": [
                {"group_id": GROUP, "topics": [{"name": name, "partition_indexes": [0]} for name in (TOPIC, OTHER)]},
                {"group_id": "nobodys", "topics": []},
            ]
        },
    ),
    case(
        K.OFFSET_FETCH,
        10,
        "DESCRIBE GROUP readers, DESCRIBE TOPIC orders",
        lambda target: {
            "groups": [
                {
                    "group_id": GROUP,
                    "topics": [
                        {"topic_id": topic_id, "partition_indexes": [0]}
                        for topic_id in (target.topic_ids[TOPIC], target.topic_ids[OTHER], b"z" * 16)
                    ],
                }
            ]
        },
    ),
    case(
        K.OFFSET_FETCH,
        9,
        "DESCRIBE GROUP readers, DESCRIBE TOPIC orders",
        {"groups": [{"group_id": GROUP, "topics": None}]},
        about="of all topics",
    ),
    case(K.FIND_COORDINATOR, 3, "DESCRIBE GROUP readers", {"key": GROUP, "key_type": 0}),
    case(K.FIND_COORDINATOR, 4, "DESCRIBE GROUP readers", {"coordinator_keys": [GROUP, "nobodys"], "key_type": 0}),
    case(K.FIND_COORDINATOR, 4, "DESCRIBE TRANSACTIONAL_ID writer", {"coordinator_keys": [PRODUCER], "key_type": 1}),
    case(K.JOIN_GROUP, 7, "READ GROUP readers", _JOINING, "DESCRIBE GROUP readers"),
    case(
        K.SYNC_GROUP,
        5,
        "READ GROUP readers",
        {
            "group_id": GROUP,
            "generation_id": 1,
            "member_id": "m",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [],
        },
    ),
    case(K.HEARTBEAT, 4, "READ GROUP readers", {"group_id": GROUP, "generation_id": 1, "member_id": "m"}),
    case(K.LEAVE_GROUP, 5, "READ GROUP readers", {"group_id": GROUP, "members": [{"member_id": "m"}]}),
    case(
        K.DESCRIBE_GROUPS,
        6,
        "DESCRIBE GROUP readers",
        {"groups": [GROUP, "nobodys"], "include_authorized_operations": True},
        "ALL GROUP readers",
    ),
    case(K.DESCRIBE_GROUPS, 3, "DESCRIBE GROUP readers", {"groups": [GROUP, "nobodys"]}),
    case(K.LIST_GROUPS, 4, "DESCRIBE GROUP readers", {}, "DESCRIBE CLUSTER"),
    case(K.DELETE_GROUPS, 2, "DELETE GROUP absent", {"groups_names": [ABSENT, GROUP]}),
    case(
        K.CREATE_TOPICS,
        7,
        "CREATE TOPIC fresh, DESCRIBE_CONFIGS TOPIC fresh",
        {
            "topics": [
                {"name": name, "num_partitions": 1, "replication_factor": 1} for name in (NEW, "twice", "twice")
            ],
            "timeout_ms": 5000,
            "validate_only": True,
        },
        "CREATE CLUSTER",
        "CREATE CLUSTER, DESCRIBE_CONFIGS TOPIC fresh",
    ),
    case(
        K.DELETE_TOPICS,
        6,
        "DESCRIBE TOPIC absent, DELETE TOPIC absent",
        {"topics": [{"name": ABSENT}], "timeout_ms": 5000},
        "DELETE CLUSTER",
    ),
    case(
        K.DELETE_TOPICS,
        6,
        "DESCRIBE TOPIC orders",
        lambda target: {
            "topics": [
                {"name": None, "topic_id": target.topic_ids[TOPIC]},
                {"name": None, "topic_id": b"z" * 16},
                {"name": OTHER},
            ],
            "timeout_ms": 5000,
        },
        "DESCRIBE TOPIC other",
        about="that are there",
    ),
    case(
        K.DELETE_RECORDS,
        2,
        "DELETE TOPIC orders, DELETE TOPIC absent",
        {
            "topics": [{"name": name, "partitions": [{"partition_index": 0, "offset": 0}]} for name in (TOPIC, ABSENT)],
            "timeout_ms": 5000,
        },
        "WRITE TOPIC orders",
    ),
    case(
        K.INIT_PRODUCER_ID,
        4,
        "IDEMPOTENT_WRITE CLUSTER",
        {"transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1},
        "WRITE TOPIC whatever",
        "READ TOPIC orders",
    ),
    case(
        K.INIT_PRODUCER_ID,
        4,
        "WRITE TRANSACTIONAL_ID writer",
        {"transactional_id": PRODUCER, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1},
        "IDEMPOTENT_WRITE CLUSTER, WRITE TOPIC orders",
        about="transactional",
    ),
    case(
        K.OFFSET_FOR_LEADER_EPOCH,
        4,
        "DESCRIBE TOPIC orders, DESCRIBE TOPIC absent",
        {
            "replica_id": -1,
            "topics": [
                {"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]} for name in (TOPIC, ABSENT)
            ],
        },
        "CLUSTER_ACTION CLUSTER",
    ),
    case(
        K.ADD_PARTITIONS_TO_TXN,
        3,
        "WRITE TRANSACTIONAL_ID writer, WRITE TOPIC orders, WRITE TOPIC absent",
        {
            "v3_and_below_transactional_id": PRODUCER,
            "v3_and_below_producer_id": 4000,
            "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": [{"name": name, "partitions": [0]} for name in (TOPIC, ABSENT)],
        },
        "WRITE TRANSACTIONAL_ID writer, WRITE TOPIC *",
    ),
    case(
        K.ADD_PARTITIONS_TO_TXN,
        5,
        "CLUSTER_ACTION CLUSTER",
        {
            "transactions": [
                {
                    "transactional_id": PRODUCER,
                    "producer_id": 4000,
                    "producer_epoch": 0,
                    "verify_only": True,
                    "topics": [{"name": TOPIC, "partitions": [0]}],
                }
            ]
        },
        "WRITE TRANSACTIONAL_ID writer, WRITE TOPIC orders",
        about="by a broker",
    ),
    case(
        K.ADD_OFFSETS_TO_TXN,
        3,
        "WRITE TRANSACTIONAL_ID writer, READ GROUP readers",
        {"transactional_id": PRODUCER, "producer_id": 4000, "producer_epoch": 0, "group_id": GROUP},
    ),
    case(
        K.END_TXN,
        3,
        "WRITE TRANSACTIONAL_ID writer",
        {"transactional_id": PRODUCER, "producer_id": 4000, "producer_epoch": 0, "committed": False},
        "DESCRIBE TRANSACTIONAL_ID writer",
    ),
    case(
        K.WRITE_TXN_MARKERS,
        1,
        "CLUSTER_ACTION CLUSTER",
        {
            "markers": [
                {
                    "producer_id": 4000,
                    "producer_epoch": 0,
                    "transaction_result": False,
                    "topics": [{"name": ABSENT, "partition_indexes": [0]}],
                    "coordinator_epoch": 0,
                }
            ]
        },
        "ALTER CLUSTER",
        "WRITE TOPIC absent",
    ),
    case(
        K.INITIALIZE_SHARE_GROUP_STATE,
        0,
        "CLUSTER_ACTION CLUSTER",
        _share_states({"partition": 0, "state_epoch": 1, "start_offset": 0}),
        "READ GROUP readers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.READ_SHARE_GROUP_STATE,
        0,
        "CLUSTER_ACTION CLUSTER",
        _share_states({"partition": 0, "leader_epoch": 0}),
        "READ GROUP readers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.WRITE_SHARE_GROUP_STATE,
        1,
        "CLUSTER_ACTION CLUSTER",
        _share_states({"partition": 0, "state_epoch": 1, "leader_epoch": 0, "start_offset": 0}),
        "READ GROUP readers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.READ_SHARE_GROUP_STATE_SUMMARY,
        1,
        "CLUSTER_ACTION CLUSTER",
        _share_states({"partition": 0, "leader_epoch": 0}),
        "READ GROUP readers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.DELETE_SHARE_GROUP_STATE,
        0,
        "CLUSTER_ACTION CLUSTER",
        _share_states({"partition": 0}),
        "READ GROUP readers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.TXN_OFFSET_COMMIT,
        3,
        "WRITE TRANSACTIONAL_ID writer, READ GROUP readers, READ TOPIC orders",
        {
            "transactional_id": PRODUCER,
            "group_id": GROUP,
            "producer_id": 4000,
            "producer_epoch": 0,
            "generation_id": -1,
            "member_id": "",
            "topics": [{"name": OTHER, "partitions": _OFFSET}, {"name": ABSENT, "partitions": _OFFSET}],
        },
    ),
    case(K.DESCRIBE_ACLS, 3, "DESCRIBE CLUSTER", {**_FILTER, "resource_name_filter": None}, "DESCRIBE_CONFIGS CLUSTER"),
    case(K.CREATE_ACLS, 3, "ALTER CLUSTER", {"creations": [{**_ACL, "resource_name": ""}, _ACL]}, "CREATE CLUSTER"),
    case(K.DELETE_ACLS, 3, "ALTER CLUSTER", {"filters": [_FILTER]}, "DELETE CLUSTER"),
    case(K.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, "DESCRIBE CLUSTER", {"users": [{"name": "absent"}]}),
    case(
        K.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        "ALTER CLUSTER",
        {"deletions": [{"name": "absent", "mechanism": 1}]},
        "CREATE CLUSTER",
    ),
    case(
        K.DESCRIBE_CLIENT_QUOTAS,
        1,
        "DESCRIBE_CONFIGS CLUSTER",
        {"components": [{"entity_type": "user", "match_type": 0, "match": "nobody"}], "strict": True},
        "DESCRIBE CLUSTER",
    ),
    case(
        K.ALTER_CLIENT_QUOTAS,
        1,
        "ALTER_CONFIGS CLUSTER",
        {
            "entries": [
                {
                    "entity": [{"entity_type": "user", "entity_name": "nobody"}],
                    "ops": [{"key": "producer_byte_rate", "value": 1.0}],
                }
            ],
            "validate_only": True,
        },
        "ALTER CLUSTER",
    ),
    case(
        K.DESCRIBE_CONFIGS,
        4,
        "DESCRIBE_CONFIGS TOPIC orders, DESCRIBE_CONFIGS TOPIC absent, DESCRIBE_CONFIGS CLUSTER",
        {
            "resources": [
                {"resource_type": kind, "resource_name": name, "configuration_keys": ["retention.ms"]}
                for kind, name in ((2, TOPIC), (2, ABSENT), (4, "1"), (8, "1"))
            ]
        },
        "ALTER_CONFIGS TOPIC orders",
        "DESCRIBE TOPIC orders",
    ),
    case(
        K.ALTER_CONFIGS,
        2,
        "ALTER_CONFIGS TOPIC orders, ALTER_CONFIGS TOPIC absent, ALTER_CONFIGS CLUSTER",
        {
            "resources": [
                {"resource_type": kind, "resource_name": name, "configs": [{"name": setting, "value": "1000"}]}
                for kind, name, setting in (
                    (2, TOPIC, "retention.ms"),
                    (2, ABSENT, "retention.ms"),
                    (4, "1", "log.retention.ms"),
                )
            ],
            "validate_only": True,
        },
    ),
    case(
        K.INCREMENTAL_ALTER_CONFIGS,
        1,
        "ALTER_CONFIGS TOPIC orders, ALTER_CONFIGS TOPIC absent, ALTER_CONFIGS CLUSTER",
        {
            "resources": [
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configs": [{"name": setting, "config_operation": 0, "value": value}],
                }
                for kind, name, setting, value in (
                    (2, TOPIC, "retention.ms", "1000"),
                    (2, ABSENT, "retention.ms", "1000"),
                    (4, "", "log.retention.ms", "1000"),
                    (8, "1", "root", "INFO"),
                )
            ],
            "validate_only": True,
        },
        "ALTER TOPIC orders, ALTER CLUSTER",
    ),
    case(
        K.DESCRIBE_CONFIGS,
        4,
        "DESCRIBE_CONFIGS GROUP readers, DESCRIBE_CONFIGS CLUSTER",
        {
            "resources": [
                {"resource_type": kind, "resource_name": name, "configuration_keys": []}
                for kind, name in ((32, GROUP), (16, "pushed"))
            ]
        },
        "ALTER_CONFIGS GROUP readers",
        "DESCRIBE GROUP readers, READ GROUP readers",
        about="of groups and client metrics",
    ),
    case(
        K.ALTER_CONFIGS,
        2,
        "ALTER_CONFIGS GROUP readers, ALTER_CONFIGS CLUSTER",
        {
            "resources": [
                {"resource_type": kind, "resource_name": name, "configs": [{"name": setting, "value": value}]}
                for kind, name, setting, value in _OF_GROUPS
            ],
            "validate_only": True,
        },
        "ALTER GROUP readers, ALTER CLUSTER",
        about="of groups and client metrics",
    ),
    case(
        K.INCREMENTAL_ALTER_CONFIGS,
        1,
        "ALTER_CONFIGS GROUP readers, ALTER_CONFIGS CLUSTER",
        {
            "resources": [
                {
                    "resource_type": kind,
                    "resource_name": name,
                    "configs": [{"name": setting, "config_operation": 0, "value": value}],
                }
                for kind, name, setting, value in _OF_GROUPS
            ],
            "validate_only": True,
        },
        "DESCRIBE_CONFIGS GROUP readers, DESCRIBE_CONFIGS CLUSTER",
        about="of groups and client metrics",
    ),
    case(
        K.ALTER_REPLICA_LOG_DIRS,
        2,
        "ALTER CLUSTER",
        {"dirs": [{"path": "/nowhere", "topics": [{"name": TOPIC, "partitions": [0]}]}]},
    ),
    case(K.DESCRIBE_LOG_DIRS, 4, "DESCRIBE CLUSTER", {"topics": []}, "DESCRIBE TOPIC orders"),
    case(
        K.CREATE_PARTITIONS,
        3,
        "ALTER TOPIC orders, ALTER TOPIC absent",
        {
            "topics": [{"name": name, "count": 2, "assignments": None} for name in (TOPIC, ABSENT, "twice", "twice")],
            "timeout_ms": 5000,
            "validate_only": True,
        },
        "ALTER CLUSTER",
    ),
    case(
        K.ELECT_LEADERS,
        2,
        "ALTER CLUSTER",
        {"election_type": 0, "topic_partitions": [{"topic": TOPIC, "partitions": [0]}], "timeout_ms": 5000},
    ),
    case(
        K.ALTER_PARTITION_REASSIGNMENTS,
        0,
        "ALTER CLUSTER",
        {"topics": [{"name": ABSENT, "partitions": [{"partition_index": 0, "replicas": [1]}]}], "timeout_ms": 5000},
        "ALTER TOPIC absent",
    ),
    case(K.LIST_PARTITION_REASSIGNMENTS, 0, "DESCRIBE CLUSTER", {"topics": None, "timeout_ms": 5000}),
    case(
        K.OFFSET_DELETE,
        0,
        "DELETE GROUP readers, READ TOPIC other",
        {
            "group_id": GROUP,
            "topics": [{"name": name, "partitions": [{"partition_index": 0}]} for name in (OTHER, ABSENT)],
        },
        "READ GROUP readers",
    ),
    case(K.UPDATE_FEATURES, 1, "ALTER CLUSTER", {"feature_updates": [], "validate_only": True, "timeout_ms": 5000}),
    case(
        K.DESCRIBE_CLUSTER,
        1,
        "DESCRIBE CLUSTER",
        {"include_cluster_authorized_operations": True, "endpoint_type": 1},
        "ALTER CLUSTER",
        "ALL CLUSTER",
    ),
    case(
        K.DESCRIBE_PRODUCERS,
        0,
        "READ TOPIC orders, READ TOPIC absent",
        {"topics": [{"name": name, "partition_indexes": [0]} for name in (TOPIC, ABSENT)]},
        "DESCRIBE TOPIC orders",
    ),
    case(K.UNREGISTER_BROKER, 0, "ALTER CLUSTER", {"broker_id": 999}),
    case(
        K.DESCRIBE_TRANSACTIONS,
        0,
        "DESCRIBE TRANSACTIONAL_ID writer",
        {"transactional_ids": [PRODUCER, ABSENT]},
        "WRITE TRANSACTIONAL_ID writer",
    ),
    case(K.LIST_TRANSACTIONS, 1, "DESCRIBE TRANSACTIONAL_ID writer", {}, "DESCRIBE CLUSTER"),
    case(
        K.CONSUMER_GROUP_HEARTBEAT,
        1,
        "READ GROUP members, DESCRIBE TOPIC orders, DESCRIBE TOPIC other",
        {
            "group_id": "members",
            "member_id": "m",
            "member_epoch": 5,
            "subscribed_topic_names": [TOPIC, OTHER],
            "topic_partitions": [],
            "rebalance_timeout_ms": 1000,
        },
    ),
    case(
        K.CONSUMER_GROUP_DESCRIBE,
        1,
        "DESCRIBE GROUP readers",
        {"group_ids": [GROUP, "nobodys"], "include_authorized_operations": True},
    ),
    case(
        K.SHARE_GROUP_HEARTBEAT,
        1,
        "READ GROUP sharers, DESCRIBE TOPIC orders, DESCRIBE TOPIC other",
        {"group_id": "sharers", "member_id": "m", "member_epoch": 5, "subscribed_topic_names": [TOPIC, OTHER]},
    ),
    case(
        K.SHARE_FETCH,
        1,
        "READ GROUP sharers, READ TOPIC orders",
        # The final epoch of a session that there is not: a first one would leave one behind.
        lambda target: {
            "group_id": "sharers",
            "member_id": "m",
            "share_session_epoch": -1,
            "topics": [{"topic_id": target.topic_ids[TOPIC], "partitions": [{"partition_index": 0}]}],
        },
        "READ TOPIC orders",
        about="final",
    ),
    case(
        K.SHARE_FETCH,
        2,
        "READ GROUP sharers, READ TOPIC orders",
        lambda target: {
            "group_id": "sharers",
            "member_id": "m",
            "share_session_epoch": 0,
            "max_wait_ms": 0,
            "max_records": 1,
            "topics": [{"topic_id": target.topic_ids[TOPIC], "partitions": [{"partition_index": 0}]}],
        },
        "DESCRIBE GROUP sharers, READ TOPIC orders",
        whole=False,
    ),
    case(
        K.SHARE_ACKNOWLEDGE,
        2,
        "READ GROUP sharers",
        lambda target: {
            "group_id": "sharers",
            "member_id": "m2",
            "share_session_epoch": 1,
            "topics": [
                {
                    "topic_id": target.topic_ids[TOPIC],
                    "partitions": [
                        {
                            "partition_index": 0,
                            "acknowledgement_batches": [
                                {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
                            ],
                        }
                    ],
                }
            ],
        },
    ),
    case(
        K.SHARE_GROUP_DESCRIBE,
        1,
        "DESCRIBE GROUP readers",
        {"group_ids": [GROUP, "nobodys"], "include_authorized_operations": True},
    ),
    case(
        K.STREAMS_GROUP_HEARTBEAT,
        0,
        "READ GROUP streamers, DESCRIBE TOPIC orders, DESCRIBE TOPIC other",
        {
            "group_id": "streamers",
            "member_id": "m",
            # Only who joins brings a topology.
            "member_epoch": 5,
            "topology": {
                "subtopologies": [
                    {
                        "subtopology_id": "0",
                        "source_topics": [TOPIC],
                        "state_changelog_topics": [{"name": OTHER}],
                    }
                ]
            },
        },
    ),
    case(
        K.STREAMS_GROUP_DESCRIBE,
        0,
        "DESCRIBE GROUP readers",
        {"group_ids": [GROUP, "nobodys"], "include_authorized_operations": True},
    ),
    case(
        K.DESCRIBE_SHARE_GROUP_OFFSETS,
        1,
        "DESCRIBE GROUP sharers, DESCRIBE TOPIC absent",
        {"groups": [{"group_id": "sharers", "topics": [{"topic_name": ABSENT, "partitions": [0]}]}]},
        "DESCRIBE TOPIC absent",
    ),
    case(
        K.ALTER_SHARE_GROUP_OFFSETS,
        0,
        "READ GROUP sharers, READ TOPIC absent",
        {
            "group_id": "sharers",
            "topics": [{"topic_name": ABSENT, "partitions": [{"partition_index": 0, "start_offset": 0}]}],
        },
        "ALTER GROUP sharers",
    ),
    case(
        K.DELETE_SHARE_GROUP_OFFSETS,
        0,
        "DELETE GROUP sharers, READ TOPIC absent",
        {"group_id": "sharers", "topics": [{"topic_name": ABSENT}]},
        "READ GROUP sharers",
    ),
    case(K.LIST_CONFIG_RESOURCES, 0, "DESCRIBE_CONFIGS CLUSTER", {}, "DESCRIBE CLUSTER"),
    case(K.LIST_CONFIG_RESOURCES, 1, "DESCRIBE_CONFIGS CLUSTER", {"resource_types": [2]}),
    case(
        K.LIST_CONFIG_RESOURCES,
        1,
        "DESCRIBE_CONFIGS CLUSTER",
        {"resource_types": [16, 32]},
        "DESCRIBE_CONFIGS GROUP readers",
        about="groups and client metrics",
    ),
    case(
        K.DESCRIBE_TOPIC_PARTITIONS,
        0,
        "DESCRIBE TOPIC orders, DESCRIBE TOPIC absent",
        {"topics": [{"name": TOPIC}, {"name": ABSENT}]},
        "ALL TOPIC orders",
    ),
    case(
        K.DESCRIBE_TOPIC_PARTITIONS,
        0,
        "DESCRIBE TOPIC orders, DESCRIBE TOPIC other",
        {"topics": []},
        about="of all topics",
    ),
    case(
        K.DESCRIBE_QUORUM,
        2,
        "DESCRIBE CLUSTER",
        {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
    ),
    case(
        K.ADD_RAFT_VOTER,
        0,
        "ALTER CLUSTER",
        {"cluster_id": "another", "timeout_ms": 5000, "voter_id": 9, "voter_directory_id": b"d" * 16, "listeners": []},
    ),
    case(
        K.REMOVE_RAFT_VOTER,
        0,
        "ALTER CLUSTER",
        {"cluster_id": "another", "voter_id": 9, "voter_directory_id": b"d" * 16},
    ),
)

# ------------------------------------------------------------------------------------------------------------ answers

_NAMES: Final = (
    *("name", "topic", "topic_name", "group_id", "transactional_id", "resource_name", "key", "feature"),
    *("index", "partition_index", "partition", "partition_id", "producer_id", "resource_type"),
)
_OPERATIONS: Final = ("topic_authorized_operations", "authorized_operations", "cluster_authorized_operations")


def shown(answer: Any, topic_ids: dict[str, bytes]) -> list[str]:
    """One line for each structure that has an error code or a set of operations, or is only there by its name."""
    by_id = {topic_id: name for name, topic_id in topic_ids.items()}
    lines: list[str] = []
    _walk(answer, "", by_id, lines)
    return sorted(lines)


def _walk(struct: Any, where: str, by_id: dict[bytes, str], lines: list[str]) -> None:
    fields = {name: getattr(struct, name) for name in struct.FIELDS}
    names = [str(fields[name]) for name in _NAMES if fields.get(name) not in (None, "")]
    topic_id = fields.get("topic_id")
    if topic_id:
        names.append(f"id of {by_id[topic_id]}" if topic_id in by_id else "no id" if not any(topic_id) else "id")
    place = where + ("/" if where and names else "") + " ".join(names)
    said = [
        f"{name}={error_code(value).name}"
        for name, value in fields.items()
        if name.endswith("error_code") and isinstance(value, int)
    ]
    said += [f"{name}={value}" for name, value in fields.items() if name in _OPERATIONS]
    if said or names:
        lines.append(f"{place}: {' '.join(said)}".strip())
    for name, value in fields.items():
        if isinstance(value, list) and name not in ("brokers", "configs", "node_endpoints", "nodes", "current_voters"):
            for each in value:
                if hasattr(each, "FIELDS"):
                    _walk(each, place or where, by_id, lines)


def outcomes(target: Target, one: Case) -> dict[str, list[str]]:
    """By what is permitted, what is answered."""
    found = {}
    for words, permitted in one.permissions():
        target.permit(permitted)
        found[words] = shown(target.ask(one.request(target), one.version), target.topic_ids)
    return found


def everything() -> tuple[Permitted, ...]:
    """For who prepares a target."""
    names = {ResourceType.CLUSTER: CLUSTER_NAME}
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID)
    return tuple(Permitted(Operation.ALL, kind, names.get(kind, "*")) for kind in kinds)


def prepare(target: Target, settle: Callable[[Callable[[], bool]], None]) -> None:
    """Topics, a group with offsets, a transactional id; `settle` waits until something holds."""
    target.permit(everything())
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in (TOPIC, OTHER)]
    made: Any = target.ask(_built(REQUESTS[K.CREATE_TOPICS], {"topics": topics, "timeout_ms": 10_000}), 7)
    target.topic_ids.update((topic.name, topic.topic_id) for topic in made.topics)
    for kind, key in ((0, GROUP), (1, PRODUCER)):
        asked = _built(REQUESTS[K.FIND_COORDINATOR], {"coordinator_keys": [key], "key_type": kind})
        settle(lambda asked=asked: not target.ask(asked, 4).coordinators[0].error_code)  # type: ignore[attr-defined,misc]
    commit = {
        "group_id": GROUP,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": name, "partitions": _OFFSET} for name in (TOPIC, OTHER)],
    }

    def committed() -> bool:
        answer: Any = target.ask(_built(REQUESTS[K.OFFSET_COMMIT], commit), 9)
        return not any(row.error_code for topic in answer.topics for row in topic.partitions)

    settle(committed)
    init = {"transactional_id": PRODUCER, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
    settle(lambda: not target.ask(_built(REQUESTS[K.INIT_PRODUCER_ID], init), 4).error_code)  # type: ignore[attr-defined]
