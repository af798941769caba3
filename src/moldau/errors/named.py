"""Kafka's errors as exception classes, one per code, under the names programs know from kafka-python and aiokafka.

All of them are `KafkaError`s and carry their code, so who does not care for names catches the one class. Programs find
them in `moldau.errors`. Only the faces of the clients raise them.

Programs also catch what their library derives its errors from: `RuntimeError` (aiokafka), and `ValueError` for
arguments and settings that make no sense (kafka-python).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from moldau.errors import ErrorCode, InvalidRecordError, KafkaError, error_code


class NamedError(KafkaError, RuntimeError):
    """`CODE` is what the class stands for; `errno` is its number, None for errors only a client can have."""

    CODE: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    errno: ClassVar[int | None] = None
    description: ClassVar[str | None] = None
    invalid_metadata: ClassVar[bool] = False

    def __init__(self, *arguments: object) -> None:
        super().__init__(self.CODE, str(arguments[0]) if arguments else type(self).__doc__)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == other.args

    __hash__ = KafkaError.__hash__


class RetriableError(NamedError):
    """The same request may succeed when it is made again."""

    @property
    def retriable(self) -> bool:
        return True


class InvalidMetadataError(RetriableError):
    """What the client believed about the cluster was out of date."""

    invalid_metadata = True


class BrokerResponseError(NamedError):
    """A broker answered with an error."""


class AuthorizationError(BrokerResponseError):
    """Not authorized."""


class KafkaTimeoutError(RetriableError):
    """It took longer than allowed."""

    CODE = ErrorCode.REQUEST_TIMED_OUT


class KafkaConnectionError(InvalidMetadataError):
    """The connection to a broker was lost or could not be made."""

    CODE = ErrorCode.NETWORK_EXCEPTION


class SslAuthenticationError(NamedError):
    """TLS was refused, by the broker or because of its certificate."""

    CODE = ErrorCode.NETWORK_EXCEPTION

    @property
    def retriable(self) -> bool:
        return False


class NoBrokersAvailable(KafkaConnectionError, KafkaTimeoutError):
    """Not one of the bootstrap servers answers. kafka-python called it so, and calls it KafkaTimeoutError now."""


class IllegalStateError(NamedError):
    """The client is in a state that does not allow this."""


class ConsumerStoppedError(IllegalStateError):
    """The consumer is not started, or was stopped."""


class IllegalOperation(IllegalStateError):
    """The settings of the client do not provide for this."""


class WakeupError(NamedError):
    """Another thread wanted a wait to end."""


class NotAssignedError(IllegalStateError, ValueError, KeyError):
    """The partition is not assigned to this consumer. Elsewhere some methods raise the one of these, some the other."""

    __str__ = Exception.__str__  # a KeyError's would be in quotes


class ProducerClosed(IllegalStateError):
    """The producer is closed."""


class IllegalArgumentError(NamedError, ValueError):
    """The argument is not valid."""


class KafkaConfigurationError(NamedError, ValueError):
    """The client's settings are not valid."""

    CODE = ErrorCode.INVALID_CONFIG


class KafkaProtocolError(NamedError):
    """What a broker sent is not Kafka's protocol."""


class CorrelationIdError(RetriableError, KafkaProtocolError):
    """An answer belongs to another request than the one that was waiting."""


class InvalidReceiveError(KafkaProtocolError):
    """An answer is larger than allowed, or smaller than possible."""


class UnrecognizedBrokerVersion(NamedError):
    """The broker's version is not known."""


class NodeNotReadyError(RetriableError):
    """There is no connection to the broker yet."""


class TooManyInFlightRequests(RetriableError):
    """As many requests as allowed wait for an answer of the broker."""


class MetadataEmptyBrokerList(RetriableError):
    """A broker told of no brokers."""


class StaleMetadata(InvalidMetadataError):
    """What the client believed about the cluster was out of date."""


class KafkaUnavailableError(KafkaConnectionError):
    """No broker answers."""


class Cancelled(RetriableError):
    """The operation was given up."""


class CommitFailedError(NamedError):
    """The offsets were not committed: the group has moved on without this member."""


class NoOffsetForPartitionError(NamedError):
    """The partition has no position, and auto_offset_reset says not to choose one."""


class LogTruncationError(NamedError):
    """Records that were read before are gone from the partition: a leader with a shorter log took over."""

    def __init__(self, divergent_offsets: Any, *arguments: object) -> None:
        super().__init__(*(arguments or (f"The log was cut back below the position: {divergent_offsets}",)))
        self.divergent_offsets = divergent_offsets


class TransactionAbortedError(NamedError):
    """The record was not sent, because its transaction was aborted."""


class UnsupportedCodecError(NamedError):
    """The compression is not known."""


class QuotaViolationError(NamedError):
    """A quota was exceeded."""


class UnknownBrokerIdError(NamedError):
    """There is no broker with this id."""


# Names that do not follow from the code's own.
_IRREGULAR: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownError",
    ErrorCode.NONE: "NoError",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordError",
    ErrorCode.INVALID_FETCH_SIZE: "InvalidFetchRequestError",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NotLeaderForPartitionError",
    ErrorCode.MESSAGE_TOO_LARGE: "MessageSizeTooLargeError",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicError",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "InvalidReplicationAssignmentError",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationError",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageError",
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: "FetchSessionTopicIdError",
}

# aiokafka's names, and former ones of kafka-python, where they differ by more than a missing "Error" at the end.
_ALSO: Final = {
    "AuthenticationFailedError": ErrorCode.SASL_AUTHENTICATION_FAILED,
    "AuthenticationMethodNotSupported": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    "CorruptRecordException": ErrorCode.CORRUPT_MESSAGE,
    "GroupCoordinatorNotAvailableError": ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "GroupLoadInProgressError": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "IncompatibleBrokerVersion": ErrorCode.UNSUPPORTED_VERSION,
    "InvalidMessageError": ErrorCode.CORRUPT_MESSAGE,
    "NotCoordinatorForGroupError": ErrorCode.NOT_COORDINATOR,
    "RecordTooLargeError": ErrorCode.MESSAGE_TOO_LARGE,
    "StaleLeaderEpochCodeError": ErrorCode.NETWORK_EXCEPTION,
}

_STALE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


def _name(code: ErrorCode) -> str:
    return _IRREGULAR.get(code) or "".join(word.capitalize() for word in code.name.split("_")) + "Error"


def _bases(code: ErrorCode) -> tuple[type, ...]:
    if code.name.endswith("_AUTHORIZATION_FAILED"):
        return (AuthorizationError,)
    if code in _STALE:
        return (InvalidMetadataError, BrokerResponseError)
    if code is ErrorCode.INVALID_CONFIG:
        return (BrokerResponseError, ValueError)  # as kafka-python's admin client raises it
    if code is ErrorCode.INVALID_PRODUCER_EPOCH:
        # Which of the two a fenced producer hears depends on whom it asked; to its application they are one.
        return (BY_CODE[ErrorCode.PRODUCER_FENCED],)
    if code is ErrorCode.INVALID_RECORD:
        # The name is taken by what the records' own code raises, so who catches that catches this one too.
        return (BrokerResponseError, InvalidRecordError)
    return (RetriableError, BrokerResponseError) if code.retriable else (BrokerResponseError,)


def _class(code: ErrorCode) -> type[NamedError]:
    content = {"__doc__": code.text, "__module__": "moldau.errors", "CODE": code, "errno": int(code)}
    return type(_name(code), _bases(code), {**content, "description": code.text})


BY_CODE: Final[dict[ErrorCode, type[NamedError]]] = {}
BY_CODE[ErrorCode.PRODUCER_FENCED] = _class(ErrorCode.PRODUCER_FENCED)
BY_CODE.update({code: _class(code) for code in ErrorCode if code not in BY_CODE})

_BY_NAME: Final[dict[str, type[NamedError]]] = {
    # aiokafka leaves the last word of many names out.
    **{kind.__name__.removesuffix("Error"): kind for code, kind in BY_CODE.items() if code not in _IRREGULAR},
    **{name: BY_CODE[code] for name, code in _ALSO.items()},
    **{kind.__name__: kind for kind in BY_CODE.values()},
}


def __getattr__(name: str) -> Any:
    try:
        return _BY_NAME[name]
    except KeyError:
        raise AttributeError(f"there is no error named {name!r}") from None


def for_code(number: int) -> type[NamedError]:
    """The class for a number from the wire."""
    return BY_CODE[error_code(number)]
