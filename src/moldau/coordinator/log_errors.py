"""What a log refuses, in the words of a coordinator."""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError, ProtocolError

_NOT_HERE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.FENCED_LEADER_EPOCH)
_NOT_NOW: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def coordinator_error(error: KafkaError) -> KafkaError:
    """An error of the log in the words of a coordinator: the client asks again, here or elsewhere."""
    if error.code in _NOT_HERE:
        return KafkaError(ErrorCode.NOT_COORDINATOR)
    if error.code in _NOT_NOW:
        return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return error


def unexpected_error(error: BaseException) -> KafkaError:
    if isinstance(error, ProtocolError):
        # Something in it has no place in a record, such as an id longer than the log's old formats can say.
        return KafkaError(ErrorCode.INVALID_REQUEST, f"The change cannot be written: {error}.")
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
