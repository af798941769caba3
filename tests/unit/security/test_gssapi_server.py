"""The broker's side of GSSAPI with a Kerberos of the test's own, and the rules that make names of principals.

A real realm is in tests/compat/test_kerberos.py.
"""

from __future__ import annotations

import pytest

from moldau.security.gssapi_server import GssapiServer, local_names
from moldau.security.kerberos_names import NoRuleFits, parse_rules, short_name
from moldau.security.principal import user
from moldau.security.verdict import AuthenticationFailed, Identity, Reply

REALM = "MOLDAU.TEST"
INVALID = "invalid credentials with SASL mechanism GSSAPI"


class Kerberos:
    """`script` is what each token is answered with; complete with the last."""

    def __init__(self, *script: bytes, initiator: str = f"jan@{REALM}") -> None:
        self._script = list(script)
        self.initiator = initiator

    @property
    def complete(self) -> bool:
        return not self._script

    def step(self, token: bytes) -> bytes:
        if token == b"forged":
            raise OSError("no such ticket")
        return self._script.pop(0)

    def wrap(self, message: bytes) -> bytes:
        return b"[" + message + b"]"

    def unwrap(self, message: bytes) -> bytes:
        if message[:1] != b"[" or message[-1:] != b"]":
            raise OSError("not wrapped")
        return message[1:-1]


def server(kerberos: Kerberos) -> GssapiServer:
    return GssapiServer(lambda: kerberos, local_names(["DEFAULT"], REALM))


OFFER = Reply(b"[\x01\0\0\0]")


def test_with_an_answer_of_kerberos() -> None:
    broker = server(Kerberos(b"mutual"))
    assert broker.answer(b"ticket") == Reply(b"mutual")
    assert broker.answer(b"") == OFFER
    assert broker.answer(b"[\x01\0\0\0]") == Reply(b"", Identity(user("jan")))


def test_with_several_and_with_none() -> None:
    broker = server(Kerberos(b"more", b""))
    assert broker.answer(b"ticket") == Reply(b"more")
    assert broker.answer(b"further") == OFFER
    wanted = f"[\x01\0\0\0jan@{REALM}]".encode()
    assert broker.answer(wanted).identity == Identity(user("jan"))


@pytest.mark.parametrize(
    "tokens",
    [
        (b"forged",),
        (b"ticket", b"not empty"),
        (b"ticket", b"", b"\x01\0\0\0"),
        (b"ticket", b"", b"[\x01]"),
        (b"ticket", b"", b"[]"),
        (b"ticket", b"", b"[\x04\0\0\0]"),
        (b"ticket", b"", b"[\x01\0\0\0]", b""),
    ],
)
def test_steps_that_are_none(tokens: tuple[bytes, ...]) -> None:
    broker = server(Kerberos(b"mutual"))
    for token in tokens[:-1]:
        broker.answer(token)
    with pytest.raises(AuthenticationFailed, match=INVALID):
        broker.answer(tokens[-1])
    # And that was the end of it.
    with pytest.raises(AuthenticationFailed, match=INVALID):
        broker.answer(b"")


def test_as_somebody_else_and_without_a_name() -> None:
    broker = server(Kerberos(b""))
    broker.answer(b"ticket")
    with pytest.raises(AuthenticationFailed, match="different from its principal"):
        broker.answer(b"[\x01\0\0\0eve]")
    broker = server(Kerberos(b"", initiator="jan@ELSEWHERE"))
    broker.answer(b"ticket")
    with pytest.raises(AuthenticationFailed, match=INVALID):
        broker.answer(b"[\x01\0\0\0]")


# --------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("principal", "rules", "name"),
    [
        ("jan", ["DEFAULT"], "jan"),
        (f"jan@{REALM}", ["DEFAULT"], "jan"),
        (f"kafka/host@{REALM}", ["DEFAULT"], "kafka"),
        ("jan@OTHER", ["DEFAULT"], None),
        ("jan@OTHER", ["RULE:[1:$1]"], "jan"),
        ("jan@OTHER", ["RULE:[1:$1@$0](.*@OTHER)s/@.*//"], "jan"),
        (f"jan@{REALM}", ["RULE:[1:$1@$0](.*@OTHER)s/@.*//", "DEFAULT"], "jan"),
        ("jan@OTHER", ["RULE:[1:$1@$0](.*@OTHER)"], None),
        (f"admin/h1@{REALM}", ["RULE:[2:$1;$2](admin;.*)s/;.*/-of-hosts/"], "admin-of-hosts"),
        (f"admin/h1@{REALM}", ["RULE:[1:$1]", "RULE:[2:$2]"], "h1"),
        (f"aXbXc@{REALM}", ["RULE:[1:$1]s/X/-/"], "a-bXc"),
        (f"aXbXc@{REALM}", ["RULE:[1:$1]s/X/-/g"], "a-b-c"),
        (f"Jan@{REALM}", ["RULE:[1:$1]/L"], "jan"),
        (f"Jan@{REALM}", ["RULE:[1:$1](Jan)s/J/P/g/U"], "PAN"),
        (f"admin1@{REALM}", ["RULE:[1:$1](admin.*)s/^admin(.*)/root$1/"], "root1"),
        (f"/@{REALM}", ["DEFAULT"], None),
        (f"a/b/c@{REALM}", ["DEFAULT"], None),
        ("j" * 2000 + f"@{REALM}", ["DEFAULT"], None),
        (f"jan@{REALM}", [], None),
    ],
)
def test_rules_for_names(principal: str, rules: list[str], name: str | None) -> None:
    if name is None:
        with pytest.raises(NoRuleFits):
            short_name(principal, parse_rules(rules), REALM)
    else:
        assert short_name(principal, parse_rules(rules), REALM) == name


@pytest.mark.parametrize(
    "rule", ["", "default", "RULE:", "RULE:[x:$1]", "RULE:[1:$1](", "RULE:[1:$1](*)", "RULE:[1]s/a"]
)
def test_rules_that_are_none(rule: str) -> None:
    with pytest.raises(ValueError, match=r"rule for names|cannot be used"):
        parse_rules([rule])
