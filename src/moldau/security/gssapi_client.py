"""GSSAPI on the calling side (RFC 4752): a ticket for the service, then both agree that nothing further is protected.

Encryption is the business of TLS, as in Kafka; a broker that insists on a layer of its own is not logged in at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from moldau.dataclass import dataclass
from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import KerberosInitiator

_NO_LAYER: Final = 1
_LENGTH: Final = 4
_CHOICE: Final = bytes((_NO_LAYER, 0, 0, 0))
# Options of Java's module that say how it goes about it. What they ask for is what is done here anyway.
_MANNERS: Final = frozenset(
    {
        *("useKeyTab", "storeKey", "useTicketCache", "renewTGT", "doNotPrompt", "refreshKrb5Config", "isInitiator"),
        *("debug", "clearPass"),
    }
)
_OPTIONS: Final = ("keyTab", "principal", "serviceName", "ticketCache")


class GssapiLogin:
    """`initiate` begins; it and all that follows may wait."""

    name = "GSSAPI"
    waits = True

    def __init__(self, initiate: Callable[[], KerberosInitiator]) -> None:
        self._initiate = initiate
        self._initiator: KerberosInitiator | None = None
        self._chosen = False

    def first(self) -> bytes:
        try:
            self._initiator = self._initiate()
            return self._initiator.step(None)
        except OSError as error:
            raise _failed(error) from None

    def answer(self, challenge: bytes) -> bytes | None:
        initiator = self._initiator
        assert initiator is not None
        if self._chosen:
            return None
        try:
            if not initiator.complete:
                # With nothing more to say the broker is waited for: it makes its offer.
                return initiator.step(challenge)
            offer = initiator.unwrap(challenge)
            if len(offer) < _LENGTH or not offer[0] & _NO_LAYER:
                raise OSError("the broker wants a layer of its own, which Kafka has not")
            self._chosen = True
            return initiator.wrap(_CHOICE)
        except OSError as error:
            raise _failed(error) from None


def _failed(error: OSError) -> KafkaError:
    code = ErrorCode.NETWORK_EXCEPTION if isinstance(error, ConnectionError) else ErrorCode.SASL_AUTHENTICATION_FAILED
    return KafkaError(code, f"Kerberos does not let us log in: {error}.")


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """Who logs in, by which keys or tickets, at the service of which name."""

    service: str
    principal: str = ""
    key_table: str = ""
    cache: str = ""


def kerberos_login(options: Mapping[str, str], service: str | None) -> KerberosLogin:
    """From the options of `Krb5LoginModule` and `sasl.kerberos.service.name`. ValueError says what is wrong."""
    unknown = [name for name in options if name not in _OPTIONS and name not in _MANNERS]
    if unknown:
        raise ValueError(f"Krb5LoginModule cannot be given {min(unknown)} here; there are {', '.join(_OPTIONS)}")
    named = options.get("serviceName")
    if named and service and named != service:
        raise ValueError(f"serviceName is {named}, and sasl.kerberos.service.name is {service}")
    if not named and not service:
        raise ValueError("sasl.kerberos.service.name is required: what the brokers are called in Kerberos")
    key_table, principal = options.get("keyTab", ""), options.get("principal", "")
    if key_table and not principal:
        raise ValueError("a keyTab is of use with the principal whose key is meant")
    return KerberosLogin(named or service or "", principal, key_table, options.get("ticketCache", ""))
