"""How talking to a node can fail, apart from the codes the node itself answers with."""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError


class ConnectionFailed(KafkaError):
    """A node could not be reached, or the connection ended before the answer came. Worth another try elsewhere.

    `reason` is why there was no connection at all, in a few words."""

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)
        self.reason = reason


class RequestTimedOut(KafkaError):
    """No answer in the time allowed. Whether the request took effect is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, message)


class TlsFailed(KafkaError):
    """There is no TLS with this node: a certificate is not accepted, or it speaks something else. It will not pass."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)

    @property
    def retriable(self) -> bool:
        return False


class NoLogin(KafkaError):
    """There is nothing to log in with, as long as whoever gives it out is away; no node was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)


class UnsupportedRequest(KafkaError):
    """The node offers no version of the request that is also spoken here."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)


_NOT_LET_IN: Final = frozenset(
    {ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM, ErrorCode.ILLEGAL_SASL_STATE}
)


def not_let_in(error: BaseException | None) -> bool:
    """Whether a connection failed over who we are or who the node is: then another try says the same."""
    return isinstance(error, TlsFailed) or (isinstance(error, KafkaError) and error.code in _NOT_LET_IN)
