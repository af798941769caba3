"""The broker's side of PLAIN, and the JAAS lines its users stand in."""

from __future__ import annotations

import pytest

from moldau.security.jaas import JaasError, parse_entry
from moldau.security.plain import PlainServer
from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity

USERS = {"jan": "secret", "žofie": "žluť", "empty": ""}
WRONG = "Authentication failed: Invalid username or password"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("token", "name"),
    [(b"\0jan\0secret", "jan"), (b"jan\0jan\0secret", "jan"), ("\0žofie\0žluť".encode(), "žofie")],
)
def test_right_passwords_let_in(token: bytes, name: str) -> None:
    reply = PlainServer(USERS).answer(token)
    assert reply.token == b""
    assert reply.identity == Identity(user(name))


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (b"\0jan\0wrong", WRONG),
        (b"\0eve\0secret", WRONG),
        (b"\0empty\0x", WRONG),
        (b"\0\0secret", "username not specified"),
        (b"\0jan\0", "password not specified"),
        (b"\0empty\0", "password not specified"),
        (b"eve\0jan\0secret", "authorization id that is different"),
        (b"eve\0jan\0wrong", WRONG),
        (b"", "invalid credentials"),
        (b"jan", "invalid credentials"),
        (b"\0jan\0secret\0", "invalid credentials"),
        (b"\0jan\0\xff", "invalid credentials"),
        (b"n,,n=jan,r=nonce", "invalid credentials"),
    ],
)
def test_everything_else_is_refused(token: bytes, sentence: str) -> None:
    with pytest.raises(AuthenticationFailed, match=sentence) as refusal:
        PlainServer(USERS).answer(token)
    assert "secret" not in str(refusal.value)


def test_a_jaas_line_as_kafka_writes_it() -> None:
    line = f"""{MODULE} required /* brokers */ username="admin" password='it''s'
      user_jan="quote \\" and \\\\" // users
      user_eva="a;b=c";"""
    entry = parse_entry(line.replace("it''s", "its"))
    assert entry.module == "plain.PlainLoginModule"
    assert entry.options == {
        "username": "admin",
        "password": "its",
        "user_jan": 'quote " and \\',
        "user_eva": "a;b=c",
    }
    assert "admin" not in repr(entry)


@pytest.mark.parametrize(
    "line", ["", ";", MODULE, f"{MODULE};", f"{MODULE} required", f'{MODULE} required a="b"', f"{MODULE} required a=;"]
)
def test_lines_that_are_none(line: str) -> None:
    with pytest.raises(JaasError):
        parse_entry(line)
