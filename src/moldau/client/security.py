"""How a client's connections are secured: TLS or not, SASL or not, from kafka-python's settings.

What cannot be done is refused when the client is made: a setting for security that is silently ignored is worse than
none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from moldau.links.addresses import Address
from moldau.runtime.ports import Tls

if TYPE_CHECKING:
    import ssl

    from moldau.links.security import Mechanism

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

SETTINGS: Final[dict[str, Any]] = {
    "security_protocol": "PLAINTEXT",
    "ssl_context": None,
    "ssl_check_hostname": True,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_password": None,
    "ssl_crlfile": None,
    "ssl_ciphers": None,
    "sasl_mechanism": None,
    "sasl_plain_username": None,
    "sasl_plain_password": None,
    "sasl_oauth_token_provider": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "sasl_kerberos_name": None,
    # Ours: who to be, with the keys of a table or the tickets of a cache; else who has logged in by kinit.
    "sasl_kerberos_principal": None,
    "sasl_kerberos_key_table": None,
    "sasl_kerberos_cache": None,
    # Ours: name and password are the id and the HMAC of a delegation token.
    "sasl_by_token": False,
}


@dataclass(slots=True, frozen=True)
class Security:
    """`context` for TLS, `mechanism` makes what authenticates one connection; None where there is no such thing."""

    context: ssl.SSLContext | None = None
    mechanism: Callable[[Address], Mechanism] | None = None

    def tls(self, address: Address) -> Tls | None:
        return None if self.context is None else Tls(self.context, address.host)


OPEN: Final = Security()


def read_security(config: Mapping[str, Any]) -> Security:
    """ValueError where the settings do not make sense together or name a file that cannot be used."""
    protocol = str(config["security_protocol"]).upper()
    if protocol not in PROTOCOLS:
        raise ValueError(f"security_protocol {protocol!r} is not known; there are {', '.join(PROTOCOLS)}.")
    _refuse_unused(config, protocol)
    if protocol == "PLAINTEXT":
        return OPEN
    return Security(
        _context(config) if protocol.endswith("SSL") else None,
        _mechanism(config, protocol),
    )


def _refuse_unused(config: Mapping[str, Any], protocol: str) -> None:
    """Who names a certificate or a password believes that it is used."""
    for begin, used in (("ssl_", protocol.endswith("SSL")), ("sasl_", protocol.startswith("SASL"))):
        given = [name for name, default in SETTINGS.items() if name.startswith(begin) and config[name] != default]
        if given and not used:
            what = "SSL or SASL_SSL" if begin == "ssl_" else "SASL_PLAINTEXT or SASL_SSL"
            raise ValueError(f"{', '.join(given)}: only with security_protocol {what}, not {protocol}.")


def _mechanism(config: Mapping[str, Any], protocol: str) -> Callable[[Address], Mechanism] | None:
    name = config["sasl_mechanism"]
    if not protocol.startswith("SASL"):
        return None
    if name is None:
        raise ValueError(f"security_protocol {protocol} needs a sasl_mechanism.")
    from moldau.client.sasl import Kerberos, mechanism_maker

    kerberos = Kerberos(
        config["sasl_kerberos_service_name"] or "kafka",
        config["sasl_kerberos_domain_name"],
        config["sasl_kerberos_name"],
        config["sasl_kerberos_principal"] or "",
        config["sasl_kerberos_key_table"] or "",
        config["sasl_kerberos_cache"] or "",
    )
    return mechanism_maker(
        str(name).upper(),
        config["sasl_plain_username"],
        config["sasl_plain_password"],
        config["sasl_oauth_token_provider"],
        by_token=bool(config["sasl_by_token"]),
        kerberos=kerberos,
    )


def _context(config: Mapping[str, Any]) -> ssl.SSLContext:
    """The given one, or one that checks the broker's certificate; ssl_check_hostname is about the name in it only."""
    import ssl

    given: ssl.SSLContext | None = config["ssl_context"]
    if given is not None:
        return given
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(config["ssl_check_hostname"])
    try:
        if config["ssl_cafile"]:
            context.load_verify_locations(config["ssl_cafile"])
        else:
            context.load_default_certs()
        if config["ssl_certfile"]:
            context.load_cert_chain(config["ssl_certfile"], config["ssl_keyfile"], config["ssl_password"])
        if config["ssl_crlfile"]:
            context.load_verify_locations(config["ssl_crlfile"])
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        if config["ssl_ciphers"]:
            context.set_ciphers(config["ssl_ciphers"])
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        files = ", ".join(str(config[name]) for name in _FILES if config[name])
        raise ValueError(f"TLS cannot be set up with {files or 'these settings'}: {error}.") from None
    return context


_FILES: Final = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile", "ssl_ciphers")
