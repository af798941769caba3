"""What a link has to know about security: how it is encrypted and how it proves who asks.

Which certificates and passwords these are is the business of whoever makes the link (`client/security`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from moldau.links.addresses import Address
from moldau.runtime.ports import Tls


class Mechanism(Protocol):
    """One authentication by SASL: the opening token, then the reply to each of the node's, None at the end."""

    @property
    def name(self) -> str: ...

    @property
    def waits(self) -> bool:
        """Whether its steps wait for somebody else (an issuer of tokens, a file): those are not taken on the loop."""
        ...

    def first(self) -> bytes: ...

    def answer(self, challenge: bytes) -> bytes | None:
        """KafkaError when the node's token is not acceptable."""
        ...


class Security(Protocol):
    @property
    def mechanism(self) -> Callable[[Address], Mechanism] | None:
        """Makes what authenticates one connection to a node; None where nobody wants to know who we are."""
        ...

    def tls(self, address: Address) -> Tls | None: ...


class _Open:
    """Neither encrypted nor authenticated: PLAINTEXT."""

    mechanism: Callable[[Address], Mechanism] | None = None

    def tls(self, address: Address) -> Tls | None:
        return None


OPEN: Final[Security] = _Open()
