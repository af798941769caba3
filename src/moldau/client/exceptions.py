"""From the core's errors to those an application sees.

The core raises plain `KafkaError`s; the faces turn them into the classes of `moldau.errors.named`, which have the names
that Python programs know from kafka-python.
"""

from __future__ import annotations

from moldau.client.errors import NoBrokerAnswers
from moldau.errors import KafkaError, MoldauError
from moldau.errors.named import (
    BY_CODE,
    KafkaConnectionError,
    KafkaProtocolError,
    KafkaTimeoutError,
    NamedError,
    NoBrokersAvailable,
    SslAuthenticationError,
)
from moldau.links.errors import ConnectionFailed, RequestTimedOut, TlsFailed


def named(error: BaseException) -> BaseException:
    """The same error under its own name; what is not one of ours stays as it is."""
    if isinstance(error, NamedError) or not isinstance(error, MoldauError):
        return error
    kind: type[NamedError]
    if isinstance(error, NoBrokerAnswers):
        kind = NoBrokersAvailable
    elif isinstance(error, TlsFailed):
        kind = SslAuthenticationError
    elif isinstance(error, ConnectionFailed):
        kind = KafkaConnectionError
    elif isinstance(error, RequestTimedOut):
        kind = KafkaTimeoutError
    elif isinstance(error, KafkaError):
        kind = BY_CODE[error.code]
    else:
        kind = KafkaProtocolError
    renamed = kind(str(error))
    renamed.__cause__ = error.__cause__
    return renamed
