"""Bootstrap addresses: `host:port,host:port`, with a default port and IPv6 in brackets."""

from __future__ import annotations

from typing import NamedTuple

from moldau.errors import MoldauError

DEFAULT_PORT = 9092


class AddressError(MoldauError):
    """Text that is not an address."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap(text: str) -> list[Address]:
    """All addresses of a list, without repeats; AddressError if there is none or one is not valid."""
    addresses = [parse_address(part) for part in text.split(",") if part.strip()]
    if not addresses:
        raise AddressError(f"{text!r} names no broker; give HOST:PORT, or several separated by commas.")
    return list(dict.fromkeys(addresses))


def parse_address(text: str, *, lowest_port: int = 1) -> Address:
    """One address. A listener name as in Kafka's settings (`PLAINTEXT://host:port`) is accepted and ignored."""
    bare = text.strip().rpartition("://")[2]
    if bare.startswith("["):
        host, bracket, rest = bare[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else ""
        if not bracket or not host or (rest and not port):
            raise AddressError(f"{text!r} is not an address; an IPv6 address is written [ADDRESS]:PORT.")
    elif bare.count(":") > 1:
        raise AddressError(f"{text!r} is not an address; an IPv6 address is written [ADDRESS]:PORT.")
    else:
        host, colon, port = bare.partition(":")
        if not host or (colon and not port):
            raise AddressError(f"{text!r} is not an address; it is written HOST:PORT.")
    if not port:
        return Address(host, DEFAULT_PORT)
    if not (port.isascii() and port.isdigit()) or not lowest_port <= int(port) <= 65535:
        raise AddressError(f"{text!r} is not an address: the port must be a number from {lowest_port} to 65535.")
    return Address(host, int(port))
