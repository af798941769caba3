"""GSSAPI on the broker (RFC 4752): Kerberos finds out who it is, then both agree that nothing further is protected.

Encryption is the business of TLS, as in Kafka: the only layer that is offered and taken is none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from moldau.runtime.ports import KerberosAcceptor
from moldau.security.kerberos_names import NoRuleFits, short_name
from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity, Reply, invalid_credentials

_NO_LAYER: Final = 1
_OFFER: Final = bytes((_NO_LAYER, 0, 0, 0))


class _Stage(Enum):
    MEETING = auto()
    OFFERING = auto()
    CHOOSING = auto()
    OVER = auto()


class GssapiServer:
    """Blocks for a moment at each step: `answer` is for a worker. `local_name` makes a user's name of a principal."""

    name = "GSSAPI"

    def __init__(self, accept: Callable[[], KerberosAcceptor], local_name: Callable[[str], str]) -> None:
        self._accept = accept
        self._local_name = local_name
        self._stage = _Stage.MEETING
        self._acceptor: KerberosAcceptor | None = None

    def answer(self, token: bytes) -> Reply:
        stage, self._stage = self._stage, _Stage.OVER
        try:
            if stage is _Stage.MEETING:
                return self._meet(token)
            if stage is _Stage.OFFERING and not token:
                return self._offer()
            if stage is _Stage.CHOOSING:
                return self._chosen(token)
        except (OSError, NoRuleFits):
            pass
        raise invalid_credentials(self.name)

    def _meet(self, token: bytes) -> Reply:
        if self._acceptor is None:
            self._acceptor = self._accept()
        said = self._acceptor.step(token)
        if not self._acceptor.complete:
            self._stage = _Stage.MEETING
            return Reply(said)
        if not said:
            return self._offer()
        self._stage = _Stage.OFFERING
        return Reply(said)

    def _offer(self) -> Reply:
        assert self._acceptor is not None
        self._stage = _Stage.CHOOSING
        return Reply(self._acceptor.wrap(_OFFER))

    def _chosen(self, token: bytes) -> Reply:
        assert self._acceptor is not None
        said = self._acceptor.unwrap(token)
        if len(said) < len(_OFFER) or said[0] != _NO_LAYER:
            raise invalid_credentials(self.name)
        principal = self._acceptor.initiator
        wanted = said[len(_OFFER) :].rstrip(b"\0").decode(errors="replace")
        if wanted not in ("", principal):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from its principal"
            )
        return Reply(b"", Identity(user(self._local_name(principal))))


def local_names(rules: list[str], realm: str) -> Callable[[str], str]:
    """By `sasl.kerberos.principal.to.local.rules`; ValueError for one that is none."""
    from moldau.security.kerberos_names import parse_rules

    parsed = parse_rules(rules)
    return lambda principal: short_name(principal, parsed, realm)
