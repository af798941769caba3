"""From a Kerberos principal to the name of a user: `sasl.kerberos.principal.to.local.rules`, as in Kafka.

    RULE:[2:$1](admin.*)s/^admin(.*)/root$1/g/L
    DEFAULT

The first rule that fits counts. [n:text] makes a text of a principal with n parts before the realm ($0 is the realm);
the pattern in brackets has to match all of it, s/// changes it, /L and /U change its case. DEFAULT takes the first part
in the realm of the service itself. Patterns are those of RE2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import re2

_PRINCIPAL: Final = re.compile(r"(?P<service>[^/@]*)(?:/(?P<host>[^/@]*))?(?:@(?P<realm>[^/@]*))?")
_RULE: Final = re.compile(
    r"RULE:\[(?P<parts>\d)(?::(?P<form>[^\]]*))?\](?:\((?P<pattern>.*?)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?(?:/?(?P<case>[LU]))?"
)
_PLACE: Final = re.compile(r"\$(\d)")
_LONGEST: Final = 1024


class NoRuleFits(Exception):
    """Whoever it is, he has no name here."""


class Rule(NamedTuple):
    """All but `is_default` are of no account for DEFAULT."""

    is_default: bool
    parts: int = 0
    form: str = ""
    pattern: Any = None
    old: Any = None
    new: str = ""
    everywhere: bool = False
    case: str | None = None


def parse_rules(texts: Sequence[str]) -> list[Rule]:
    return [_parse(text.strip()) for text in texts]


def _parse(text: str) -> Rule:
    if text == "DEFAULT":
        return Rule(True)
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule for names")
    try:
        pattern = None if found["pattern"] is None else re2.compile(found["pattern"])
        old = None if found["old"] is None else re2.compile(found["old"])
    except re2.error:
        raise ValueError(f"{text!r} has a pattern that cannot be used") from None
    # A part of the match is $1 in Java and \1 here.
    new = _PLACE.sub(r"\\\1", (found["new"] or "").replace("\\", "\\\\"))
    form = found["form"] or "$1"
    return Rule(False, int(found["parts"]), form, pattern, old, new, found["all"] is not None, found["case"])


def short_name(principal: str, rules: Sequence[Rule], own_realm: str) -> str:
    found = _PRINCIPAL.fullmatch(principal)
    if found is None or len(principal) > _LONGEST or not found["service"]:
        raise NoRuleFits
    service, host, realm = found["service"], found["host"], found["realm"]
    if host is None and realm is None:
        return service
    parts = [realm or "", service, *([] if host is None else [host])]
    for rule in rules:
        name = _applied(rule, parts, own_realm)
        if name:
            return name
    raise NoRuleFits


def _applied(rule: Rule, parts: Sequence[str], own_realm: str) -> str | None:
    if rule.is_default:
        return parts[1] if parts[0] == own_realm else None
    if rule.parts != len(parts) - 1:
        return None
    base = _PLACE.sub(lambda place: parts[int(place[1])] if int(place[1]) < len(parts) else "", rule.form)
    if rule.pattern is not None and rule.pattern.fullmatch(base) is None:
        return None
    if rule.old is not None:
        base = rule.old.sub(rule.new, base, 0 if rule.everywhere else 1)
    if not base or "@" in base or "/" in base:
        # A name that could be taken for another principal is none.
        return None
    return {"L": base.lower(), "U": base.upper()}.get(rule.case or "", base)
