"""Kafka's error codes, and the exceptions that carry them.

One table: number, whether the same request may succeed when repeated, and a sentence for people.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ErrorCode(IntEnum):
    """What a response says on the wire; compares equal to the number."""

    retriable: bool
    text: str

    def __new__(cls, code: int, retriable: bool, text: str) -> ErrorCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = retriable
        member.text = text
        return member

    UNKNOWN_SERVER_ERROR = -1, False, "The server met something it did not expect; its log says what."
    NONE = 0, False, ""
    OFFSET_OUT_OF_RANGE = 1, False, "The offset lies outside the range the partition keeps."
    CORRUPT_MESSAGE = 2, True, "The records are damaged: checksum, size or format do not fit."
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "There is no such topic or partition here."
    INVALID_FETCH_SIZE = 4, False, "The fetch size is not valid."
    LEADER_NOT_AVAILABLE = 5, True, "The partition has no leader at the moment; an election may be under way."
    NOT_LEADER_OR_FOLLOWER = 6, True, "This broker neither leads nor follows the partition."
    REQUEST_TIMED_OUT = 7, True, "The request was not completed in time."
    BROKER_NOT_AVAILABLE = 8, False, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, True, "The replica is not available."
    MESSAGE_TOO_LARGE = 10, False, "A batch is larger than the topic allows."
    STALE_CONTROLLER_EPOCH = 11, False, "The controller moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, False, "The metadata of a committed offset is too large."
    NETWORK_EXCEPTION = 13, True, "The connection was lost before an answer came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is still loading its state."
    COORDINATOR_NOT_AVAILABLE = 15, True, "The coordinator is not available."
    NOT_COORDINATOR = 16, True, "This broker is not the coordinator asked for."
    INVALID_TOPIC_EXCEPTION = 17, False, "The topic name is not valid or the topic may not be written."
    RECORD_LIST_TOO_LARGE = 18, False, "The records in the request are larger than a segment."
    NOT_ENOUGH_REPLICAS = 19, True, "Fewer replicas are in sync than the topic requires."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        True,
        "The records were written, but to fewer in-sync replicas than required.",
    )
    INVALID_REQUIRED_ACKS = 21, False, "Acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, False, "The generation is not the group's current one."
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "The member's protocols do not fit those of the group."
    INVALID_GROUP_ID = 24, False, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, False, "The group does not know this member."
    INVALID_SESSION_TIMEOUT = 26, False, "The session timeout is outside the range the broker accepts."
    REBALANCE_IN_PROGRESS = 27, False, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The committed offsets are too large to be stored."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "Not authorized for these topics."
    GROUP_AUTHORIZATION_FAILED = 30, False, "Not authorized for this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "Not authorized for the cluster."
    INVALID_TIMESTAMP = 32, False, "A timestamp is outside the range the topic accepts."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, False, "The request does not fit the state of authentication."
    UNSUPPORTED_VERSION = 35, False, "The version of the request is not supported."
    TOPIC_ALREADY_EXISTS = 36, False, "The topic exists already."
    INVALID_PARTITIONS = 37, False, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, False, "The replication factor is not valid."
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The replica assignment is not valid."
    INVALID_CONFIG = 40, False, "The configuration is not valid."
    NOT_CONTROLLER = 41, True, "This node is not the active controller."
    INVALID_REQUEST = 42, False, "The request is not valid."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (
        43,
        False,
        "The message format on the broker does not support the request.",
    )
    POLICY_VIOLATION = 44, False, "The request violates a policy."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "A batch of this producer is missing before this one."
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "A batch with this sequence number was written before."
    INVALID_PRODUCER_EPOCH = 47, False, "A producer with a newer epoch has taken over."
    INVALID_TXN_STATE = 48, False, "The transaction's state does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, False, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, False, "The transaction timeout is larger than the broker allows."
    CONCURRENT_TRANSACTIONS = 51, True, "Another operation on this transaction is still under way."
    TRANSACTION_COORDINATOR_FENCED = 52, False, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "Not authorized for this transactional id."
    SECURITY_DISABLED = 54, False, "Security features are not enabled."
    OPERATION_NOT_ATTEMPTED = (
        55,
        False,
        "The operation was not tried, because an earlier one in the request failed.",
    )
    KAFKA_STORAGE_ERROR = 56, True, "The disk that holds the partition failed."
    LOG_DIR_NOT_FOUND = 57, False, "There is no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, False, "Authentication failed."
    UNKNOWN_PRODUCER_ID = 59, False, "The broker has no record of this producer id."
    REASSIGNMENT_IN_PROGRESS = 60, False, "A reassignment of the partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are not enabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The principal is neither owner nor renewer of the token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        False,
        "Delegation tokens may not be requested over this connection.",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "Not authorized for delegation tokens."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, False, "The principal type is not supported."
    NON_EMPTY_GROUP = 68, False, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, False, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "The broker has forgotten this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, True, "The epoch of the fetch session is not the expected one."
    LISTENER_NOT_FOUND = 72, True, "The leader has no listener that fits the one used here."
    TOPIC_DELETION_DISABLED = 73, False, "Deleting topics is switched off."
    FENCED_LEADER_EPOCH = 74, True, "The leader epoch in the request is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, True, "The leader epoch in the request is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "The client does not support the compression of the records."
    STALE_BROKER_EPOCH = 77, False, "The broker epoch is stale."
    OFFSET_NOT_AVAILABLE = 78, True, "The high watermark has not caught up with the new leader yet."
    MEMBER_ID_REQUIRED = 79, False, "Join again with the member id that was just handed out."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group is full."
    FENCED_INSTANCE_ID = 82, False, "Another member with this instance id has taken over."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No eligible leader is available."
    ELECTION_NOT_NEEDED = 84, True, "No election is needed."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "No reassignment is under way for the partition."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "The group still subscribes to the topic."
    INVALID_RECORD = 87, False, "A record was refused."
    UNSTABLE_OFFSET_COMMIT = 88, True, "Offsets of an open transaction are pending."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "A quota was exceeded."
    PRODUCER_FENCED = 90, False, "A newer producer with the same transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, False, "There is no such resource."
    DUPLICATE_RESOURCE = 92, False, "The resource appears twice in the request."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, False, "The voter sets do not agree."
    INVALID_UPDATE_VERSION = 95, False, "The feature version is not valid."
    FEATURE_UPDATE_FAILED = 96, False, "The feature could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "The principal of a forwarded request cannot be read."
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "There is no topic with this id."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "This broker id is registered already."
    BROKER_ID_NOT_REGISTERED = 102, False, "This broker id is not registered."
    INCONSISTENT_TOPIC_ID = 103, True, "The topic id does not fit the one on disk."
    INCONSISTENT_CLUSTER_ID = 104, False, "The cluster id does not fit."
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "The fetch session mixes topic ids and names."
    INELIGIBLE_REPLICA = 107, False, "A replica may not enter the in-sync set."
    NEW_LEADER_ELECTED = 108, False, "The change succeeded and made another broker the leader."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset was moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, False, "The member epoch is fenced; join again."
    UNRELEASED_INSTANCE_ID = 111, False, "The instance id is still held by another member."
    UNSUPPORTED_ASSIGNOR = 112, False, "The group does not offer this assignor."
    STALE_MEMBER_EPOCH = 113, False, "The member epoch is stale; retry with the current one."
    MISMATCHED_ENDPOINT_TYPE = 114, False, "The request went to the wrong kind of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "This kind of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, False, "There is no controller with this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The telemetry subscription is not known."
    TELEMETRY_TOO_LARGE = 118, False, "The telemetry payload is too large."
    INVALID_REGISTRATION = 119, False, "The registration is not valid."
    TRANSACTION_ABORTABLE = 120, False, "The transaction must be aborted."
    INVALID_RECORD_STATE = 121, False, "The record's delivery state does not allow this."
    SHARE_SESSION_NOT_FOUND = 122, True, "There is no such share session."
    INVALID_SHARE_SESSION_EPOCH = 123, True, "The epoch of the share session is not the expected one."
    FENCED_STATE_EPOCH = 124, False, "The state epoch is fenced."
    INVALID_VOTER_KEY = 125, False, "The voter key does not fit."
    DUPLICATE_VOTER = 126, False, "The voter is in the set already."
    VOTER_NOT_FOUND = 127, False, "The voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, False, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = (
        129,
        False,
        "The client's metadata is stale; start again from the bootstrap servers.",
    )
    STREAMS_INVALID_TOPOLOGY = 130, False, "The topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "The topology epoch is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, False, "The topology epoch is fenced."
    SHARE_SESSION_LIMIT_REACHED = 133, True, "The broker holds as many share sessions as it may."


class MoldauError(Exception):
    """The root of all exceptions raised on purpose; its text is fit for a user."""


class ProtocolError(MoldauError):
    """Bytes that are not what the protocol allows. On the server it closes the connection they came from."""


class InvalidRecordError(ProtocolError):
    """Record bytes that arrived whole, size and checksum fit, and still make no sense: INVALID_RECORD to a producer."""


class KafkaError(MoldauError):
    """An operation refused with one of Kafka's codes."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.text)
        self.code = code

    @property
    def message(self) -> str:
        return str(self)

    @property
    def retriable(self) -> bool:
        return self.code.retriable


def error_code(number: int) -> ErrorCode:
    """The code for a number from the wire; one that is not known becomes UNKNOWN_SERVER_ERROR."""
    try:
        return _BY_NUMBER[number]
    except KeyError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


_BY_NUMBER = {int(code): code for code in ErrorCode}


def __getattr__(name: str) -> Any:
    """The errors by name (`moldau.errors.TopicAlreadyExistsError`), made when first asked for: a server needs none."""
    if name.startswith("_"):
        raise AttributeError(name)
    import moldau.errors.named as classes

    return getattr(classes, name)
