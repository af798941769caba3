"""`sasl.jaas.config`, the one line of Java's configuration that users of Kafka know: a login module and its options.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="moldau" password="...";

Clients find name and password in it; a broker's listener also the users of PLAIN (`user_alice="..."`), a key table, a
validator. No sentence from here repeats anything of the line: a quote in the wrong place, and it would be the password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

PLAIN_MODULE: Final = "plain.PlainLoginModule"
SCRAM_MODULE: Final = "scram.ScramLoginModule"
OAUTHBEARER_MODULE: Final = "oauthbearer.OAuthBearerLoginModule"
# Of Java itself, hence with its whole name.
KERBEROS_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
_MODULES: Final = {PLAIN_MODULE: "PLAIN", SCRAM_MODULE: "SCRAM"}
# Some distributions move Kafka's classes to a place of their own and let them keep this part of their names.
PACKAGE: Final = "org.apache.kafka.common.security."
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<sign>[=;])
    | "(?P<double>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)'
    | (?P<word>[^\s=;"'/\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class _Token(NamedTuple):
    text: str
    # Whether it is = or ; itself and not a text that reads so.
    sign: bool


_END: Final = _Token(";", True)
_IS: Final = _Token("=", True)


class JaasError(ValueError):
    """The line is not what it should be; says why without repeating it."""


class JaasEntry(NamedTuple):
    """One login module: for Kafka's own without the package they stand in."""

    module: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.module}, [hidden])"


def parse_entry(line: str) -> JaasEntry:
    module, options = _entry(line)
    place, _, name = module.rpartition(PACKAGE)
    return JaasEntry(name if place in ("", "kafkashaded.") else module, options)


class Login(NamedTuple):
    username: str
    password: str
    # They are the id and the HMAC of a delegation token.
    by_token: bool

    def __repr__(self) -> str:
        return "Login([hidden])"


def login(line: str, mechanism: str) -> Login:
    """What a client logs in with by a mechanism."""
    name, given = parse_entry(line)
    options = dict(given)
    if name not in _MODULES:
        raise JaasError("it must use PlainLoginModule or ScramLoginModule of Kafka; other login modules are not built")
    if not mechanism.startswith(_MODULES[name]):
        raise JaasError(f"its login module does not belong to the mechanism {mechanism}")
    by_token = options.pop("tokenauth", "false").lower() == "true"
    if by_token and name != SCRAM_MODULE:
        raise JaasError("tokenauth, a login by delegation token, goes with the ScramLoginModule")
    if options.keys() - {"username", "password"}:
        raise JaasError("it may give username and password, and nothing else")
    if not options.get("username") or "password" not in options:
        raise JaasError("it must give username and password")
    return Login(options["username"], options["password"], by_token)


def quoted(text: str) -> str:
    """A value as it stands in a line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _entry(line: str) -> tuple[str, dict[str, str]]:
    tokens = _tokens(line)
    if not tokens or tokens[-1] != _END or tokens.count(_END) != 1:
        raise JaasError("it must be one login module and end with a semicolon")
    words = tokens[:-1]
    if len(words) < 2 or words[1].text.lower() not in _FLAGS:
        raise JaasError("after the name of the login module comes the word required")
    pairs = words[2:]
    names, signs, values = pairs[::3], pairs[1::3], pairs[2::3]
    if len(pairs) % 3 or any(sign != _IS for sign in signs) or any(each.sign for each in names + values):
        raise JaasError('options are written as name="value", with quotes around values')
    return words[0].text, {name.text: value.text for name, value in zip(names, values, strict=True)}


def _tokens(line: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(line):
        found = _TOKEN.match(line, position)
        if found is None:
            raise JaasError("a quote or a comment in it has no end")
        position = found.end()
        kind = found.lastgroup
        if kind is not None:
            text = found[kind]
            quoted = kind in ("double", "single")
            tokens.append(_Token(_ESCAPE.sub(_unescaped, text) if quoted else text, kind == "sign"))
    return tokens


def _unescaped(found: re.Match[str]) -> str:
    what = found[1]
    return chr(int(what, 8)) if what[0] in "01234567" else _ESCAPED.get(what, what)
