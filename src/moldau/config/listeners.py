"""Where a node listens and what it tells others: `listeners` and `advertised.listeners` as endpoints, checked as Kafka
checks them.

Names of listeners are upper case here, whatever the file says. An empty host stays empty: only the node knows under
which name it can be reached, and which port a listener on port 0 was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.config.definition import ConfigError


class SecurityProtocol(IntEnum):
    """By Kafka's numbers, which stand in registration records."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def uses_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: SecurityProtocol

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


_ENDPOINT: Final = re.compile(r"(?P<name>[^:/]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>\d{1,5})", re.ASCII)
_IP4: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}", re.ASCII)


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """The security protocol of each listener name, from `listener.security.protocol.map`."""
    protocols: dict[str, SecurityProtocol] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, colon, protocol = (part.strip() for part in item.partition(":"))
        if not colon or not name or protocol not in SecurityProtocol.__members__:
            raise ConfigError(
                f"listener.security.protocol.map cannot contain {item!r}: it must be name:protocol with one of "
                f"{', '.join(SecurityProtocol.__members__)}"
            )
        protocols[name.upper()] = SecurityProtocol[protocol]
    return protocols


def parse_endpoints(
    setting: str, items: Sequence[str], protocols: Mapping[str, SecurityProtocol], *, distinct_ports: bool
) -> tuple[Endpoint, ...]:
    """The endpoints of a list of name://host:port; names differ, and so do ports where the node itself listens."""
    endpoints = tuple(_parse_endpoint(setting, item, protocols) for item in items)
    names = [endpoint.name for endpoint in endpoints]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{setting} names the listener {name} twice: every listener must have its own name")
    if distinct_ports:
        _check_ports(setting, endpoints)
    return endpoints


def _parse_endpoint(setting: str, item: str, protocols: Mapping[str, SecurityProtocol]) -> Endpoint:
    match = _ENDPOINT.fullmatch(item)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError(f"{setting} cannot contain {item!r}: it must be name://host:port with a port up to 65535")
    name = match["name"].strip().upper()
    if name not in protocols:
        raise ConfigError(
            f"{setting} names the listener {name}, but listener.security.protocol.map does not say which protocol it "
            f"uses: it must be one of {', '.join(sorted(protocols))}"
        )
    return Endpoint(name, match["host"], int(match["port"]), protocols[name])


def _check_ports(setting: str, endpoints: Sequence[Endpoint]) -> None:
    """Two listeners may share a port only if one is an IPv4 and the other an IPv6 address."""
    for port in {endpoint.port for endpoint in endpoints if endpoint.port}:
        same = [endpoint for endpoint in endpoints if endpoint.port == port]
        families = sorted(_family(endpoint.host) for endpoint in same)
        if len(same) > 1 and families != [4, 6]:
            raise ConfigError(
                f"{setting} uses port {port} for {', '.join(endpoint.name for endpoint in same)}: every listener must "
                "have its own port, unless one of two has an IPv4 and the other an IPv6 address"
            )


def _family(host: str) -> int:
    return 6 if ":" in host else 4 if _IP4.fullmatch(host) else 0
