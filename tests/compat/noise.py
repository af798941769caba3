"""What strangers may send: bytes, TLS records, tokens and requests that are wrong in some way.

Each kind is a function of chance that yields what one stranger sends, piece by piece; between pieces he listens for a
moment.
"""

from __future__ import annotations

import random
import ssl
import struct
from collections.abc import Callable, Iterator
from functools import cache

from raw_connection import all_topics, api_versions, request

from authorization_table import CASES, OTHER, TOPIC
from moldau.protocol.api import request_header_version
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_TOKENS = (
    b"\0jan\0wrong",
    b"n,,n=jan,r=nonce",
    b"n,,n=jan,r=nonce,tokenauth=true",
    b"c=biws,r=nonce,p=AAAA",
    b"n,,\x01auth=Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW4ifQ.AAAA\x01\x01",
    b"\x01",
    b"",
)
_LONGEST_RECORD = (1 << 14) + 256

Noise = Callable[[random.Random], Iterator[bytes]]


def mutated(chance: random.Random, content: bytes) -> bytes:
    """A byte changed, the end cut off, something in the middle, or far too much of it."""
    kind = chance.randrange(5)
    changed = bytearray(content or b"x")
    if kind == 0:
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    elif kind == 1:
        del changed[chance.randrange(len(changed)) :]
    elif kind == 2:
        place = chance.randrange(len(changed))
        changed[place:place] = chance.randbytes(chance.randrange(1, 50))
    elif kind == 3:
        changed *= chance.randrange(1, 2000)
    else:
        return chance.randbytes(chance.randrange(2000))
    return bytes(changed)


def sheer_bytes(chance: random.Random) -> Iterator[bytes]:
    for _ in range(chance.randrange(1, 4)):
        data = chance.randbytes(chance.randrange(1, 5000))
        # A length that is believed makes the node wait for more of it.
        yield (
            data if chance.random() < 0.5 else struct.pack(">i", chance.randrange(1 << chance.randrange(1, 31))) + data
        )


# ---------------------------------------------------------------------------------------------------------- TLS records


def tls_records(chance: random.Random) -> Iterator[bytes]:
    """Records of random contents, alone or behind a greeting that is right or nearly so."""
    if chance.random() < 0.7:
        hello = greeting()
        yield mutated(chance, hello) if chance.random() < 0.5 else hello
    for _ in range(chance.randrange(1, 6)):
        yield _record(chance)


def _record(chance: random.Random) -> bytes:
    kind = chance.choice((20, 21, 22, 22, 23, chance.randrange(256)))
    version = chance.choice((b"\x03\x01", b"\x03\x03", b"\x03\x04", chance.randbytes(2)))
    body = chance.randbytes(chance.choice((0, 1, 40, 2000, _LONGEST_RECORD, _LONGEST_RECORD + 1)))
    length = len(body) if chance.random() < 0.8 else chance.randrange(1 << 16)
    return bytes([kind]) + version + struct.pack(">H", length) + body


def greeting() -> bytes:
    """What a client of TLS says first."""
    outgoing = ssl.MemoryBIO()
    end = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


# --------------------------------------------------------------------------------------------------------------- tokens


def tokens(chance: random.Random) -> Iterator[bytes]:
    """Logins with tokens that are wrong in some way, and what may stand before and behind them."""
    for frame in _login(chance):
        yield mutated(chance, frame) if chance.random() < 0.2 else frame
    if chance.random() < 0.2:
        yield struct.pack(">i", chance.choice([524_288, 524_289, 2**31 - 1, -1])) + b"x" * 100


def _login(chance: random.Random) -> Iterator[bytes]:
    bare = chance.random() < 0.3
    if chance.random() < 0.3:
        yield api_versions(3)
    version = 0 if bare else 1
    yield request(17, version, SaslHandshakeRequest(mechanism=chance.choice(MECHANISMS)).encode(version), 1)
    for _ in range(chance.randrange(1, 4)):
        token = mutated(chance, chance.choice(_TOKENS))
        if bare:
            yield struct.pack(">i", len(token)) + token
        else:
            yield request(36, 1, SaslAuthenticateRequest(auth_bytes=token).encode(1), 2)
    if chance.random() < 0.3:
        yield all_topics(5)


# ------------------------------------------------------------------------------------------------------------- requests


class _Target:
    """What the requests of the table want to know."""

    topic_ids = {TOPIC: b"a" * 16, OTHER: b"b" * 16}


@cache
def valid_requests() -> tuple[bytes, ...]:
    """One of every API and of all its forms in the table, as frames."""
    frames = []
    for case in CASES:
        asked = case.request(_Target())  # type: ignore[arg-type]
        tags = b"\0" if request_header_version(asked.API_KEY, case.version) >= 2 else b""
        frames.append(request(asked.API_KEY, case.version, tags + asked.encode(case.version), 5))
    return tuple(frames)


def requests(chance: random.Random) -> Iterator[bytes]:
    """Valid ones, each with one byte changed or a few; the frame itself is mostly left alone, so that they are read."""
    for _ in range(chance.randrange(1, 8)):
        frame = bytearray(chance.choice(valid_requests()))
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            place = chance.randrange(4 if chance.random() < 0.95 else 0, len(frame))
            frame[place] = chance.choice((chance.randrange(256), 0, 255, 127, frame[place] ^ 1 << chance.randrange(8)))
        yield bytes(frame)
