"""How a client proves who it is: which mechanism, with which name, password or tokens.

The mechanisms themselves are those of the nodes (`security/logins`); here is what only a client has.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.links.addresses import Address
from moldau.links.security import Mechanism
from moldau.runtime.ports import KerberosInitiator
from moldau.security.gssapi_client import GssapiLogin
from moldau.security.logins import OAuthBearer, Plain, Scram
from moldau.security.scram_credential import HASHES


class AbstractTokenProvider(ABC):
    """What OAUTHBEARER asks for tokens: an object with `token()` and, if there is something to add, `extensions()`.

    Called at each authentication on a thread of its own, so a provider may take its time to fetch a token; it does
    well to keep what it fetched.
    """

    def __init__(self, **config: Any) -> None:
        self.config = config

    @abstractmethod
    def token(self) -> str:
        """A token that is valid now."""

    def extensions(self) -> Mapping[str, str]:
        return {}


MECHANISMS: Final = ("PLAIN", *HASHES, "OAUTHBEARER", "GSSAPI")


@dataclass(frozen=True, slots=True)
class Kerberos:
    """As the settings have it. `name` is what the brokers are called, whole; else service and host are put together."""

    service: str = "kafka"
    host: str | None = None
    name: Any = None
    principal: str = ""
    key_table: str = ""
    cache: str = ""

    def begin(self, address: Address) -> KerberosInitiator:
        from moldau.runtime.kerberos import GssapiInitiator

        called = f"{self.service}@{self.host or address.host}" if self.name is None else self.name
        return GssapiInitiator(called, self.principal, self.key_table, self.cache)


def mechanism_maker(
    name: str,
    username: str | None,
    password: str | None,
    provider: Any,
    *,
    by_token: bool = False,
    kerberos: Kerberos | None = None,
) -> Callable[[Address], Mechanism]:
    """Makes mechanisms for one connection after the other. ValueError says which setting is missing."""
    if name == "GSSAPI":
        given = kerberos or Kerberos()
        return lambda address: GssapiLogin(lambda: given.begin(address))
    if name == "OAUTHBEARER":
        if not callable(getattr(provider, "token", None)):
            raise ValueError("sasl_mechanism OAUTHBEARER needs sasl_oauth_token_provider, an object with token().")
        return lambda _address: OAuthBearer(provider)
    if name not in MECHANISMS:
        raise ValueError(f"sasl_mechanism {name!r} is not built; there are {', '.join(MECHANISMS)}.")
    if username is None or password is None:
        raise ValueError(f"sasl_mechanism {name} needs sasl_plain_username and sasl_plain_password.")
    if by_token and name == "PLAIN":
        raise ValueError("sasl_by_token goes with SCRAM-SHA-256 or SCRAM-SHA-512.")
    if name == "PLAIN":
        return lambda _address: Plain(username, password)
    return lambda _address: Scram(name, username, password, secrets.token_urlsafe(24), by_token=by_token)
