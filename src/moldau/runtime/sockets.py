"""Addresses as the operating system knows them, and sockets that listen at one."""

from __future__ import annotations

import socket
from typing import Any, TypeAlias

from moldau.runtime.ports import SocketOptions

_Address: TypeAlias = tuple[Any, ...]
Candidate: TypeAlias = tuple[int, _Address]


def addresses_of(host: str, port: int, flags: int = 0) -> list[Candidate]:
    """IPv4 first, as Kafka's own clients and brokers prefer it where a name has both."""
    try:
        # As bytes, where they are plain: of text Python makes an international name, whose tables it would load for it.
        name = host.encode() if host.isascii() else host
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=flags)
    except socket.gaierror:
        if host != "localhost":
            raise
        # A bare container may have no file of hosts; this name means the machine itself everywhere (RFC 6761).
        return [(socket.AF_INET, ("127.0.0.1", port))]
    return sorted(((family, address) for family, _, _, _, address in found), key=lambda entry: entry[0])


def listening_socket(host: str, port: int, options: SocketOptions) -> socket.socket:
    if host:
        family, address = addresses_of(host, port)[0]
    elif socket.has_dualstack_ipv6():
        family, address = socket.AF_INET6, ("::", port)
    else:
        family, address = socket.AF_INET, ("0.0.0.0", port)
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1 if host else 0)
        # Accepted sockets inherit all of these from the listening one, so they cost nothing per connection.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if options.send_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
        if options.receive_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
        listening.bind(address)
        listening.listen(options.backlog)
    except BaseException:
        listening.close()
        raise
    return listening


def plain_address(address: _Address) -> tuple[str, int]:
    """Host and port; an IPv4 peer on a socket for both families looks as it does on one for IPv4."""
    host: str = address[0]
    return (host.removeprefix("::ffff:") if "." in host else host), address[1]
