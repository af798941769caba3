"""Names from certificates: `ssl.principal.mapping.rules`.

Rules stand in a list separated by commas: `DEFAULT` is the distinguished name as it is, `RULE:pattern/replacement/`
makes another one of it, in lower or upper case with an L or U behind. The first whose pattern fits the whole name
counts. A slash in a pattern or replacement has a backslash before it.

Patterns are matched by RE2, like those of topics: whoever is given a certificate may choose part of his name, and no
name may hold up the node. What Java's engine has beyond that, looking around and groups that repeat, is refused.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

DEFAULT_RULES: Final = "DEFAULT"

_PART: Final = r"((?:\\.|[^\\/])*)"
_RULE: Final = re.compile(rf"\s*(?:(DEFAULT)|RULE:{_PART}/{_PART}/([LU]?))\s*(?:,|\Z)", re.DOTALL)
_NOTHING: Final = re.compile(r"\s*(?:,|\Z)")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)|([^\\$]+|\$|\\)", re.DOTALL)
# Names in certificates are short. What is longer is nobody's name.
_LONGEST_NAME: Final = 16 << 10


class MappingError(ValueError):
    """Rules that are none, or no rule for a name; one sentence."""


class _Rule(NamedTuple):
    pattern: Any  # None for the name as it is
    replacement: tuple[str | int, ...]
    case: str


class PrincipalMapping:
    def __init__(self, text: str = DEFAULT_RULES) -> None:
        self._text = text
        self._rules = _parse(text.strip())

    def name(self, distinguished_name: str) -> str:
        """MappingError if no rule fits."""
        if len(distinguished_name) <= _LONGEST_NAME:
            for rule in self._rules:
                if rule.pattern is None:
                    return distinguished_name
                if rule.pattern.fullmatch(distinguished_name) is not None:
                    return _cased(_replaced(rule, distinguished_name), rule.case)
        raise MappingError(f"no rule of ssl.principal.mapping.rules fits {distinguished_name[:200]!r}")


def _parse(text: str) -> tuple[_Rule, ...]:
    rules: list[_Rule] = []
    position = 0
    while position < len(text):
        match = _RULE.match(text, position)
        if match is not None:
            default, pattern, replacement, case = match.groups()
            rules.append(_Rule(None, (), "") if default else _rule(pattern, replacement, case))
        else:
            match = _NOTHING.match(text, position)
        if match is None:
            raise MappingError(
                f"ssl.principal.mapping.rules cannot contain {text[position:]!r}: it must be DEFAULT or "
                "RULE:pattern/replacement/ with an optional L or U behind"
            )
        position = max(match.end(), position + 1)
    return tuple(rules)


def _rule(pattern: str, replacement: str, case: str) -> _Rule:
    # A megabyte of native code, for those who have rules.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise MappingError(
            f"ssl.principal.mapping.rules cannot contain the pattern {pattern!r}: {words} (patterns are those of RE2)"
        ) from None
    return _Rule(compiled, _replacement(replacement, compiled.groups), case)


def _replacement(text: str, groups: int) -> tuple[str | int, ...]:
    """Texts and numbers of groups. As in Java $12 is group 1 and a 2 where there are fewer than twelve; a group that
    there is not is just its words, as in Kafka."""
    parts: list[str | int] = []
    for escaped, digits, other in _REFERENCE.findall(text):
        if escaped:
            parts.append(escaped)
        elif digits:
            length = 1
            while length < len(digits) and int(digits[: length + 1]) <= groups:
                length += 1
            group = int(digits[:length])
            parts += [group, digits[length:]] if group <= groups else ["$" + digits]
        elif other == "$":
            raise MappingError(
                f"ssl.principal.mapping.rules cannot contain the replacement {text!r}: a $ stands before the number of "
                "a group, or has a backslash before it"
            )
        else:
            parts.append(other)
    return tuple(parts)


def _replaced(rule: _Rule, name: str) -> str:
    """Every match is replaced, as by Java's replaceAll, though the pattern fits the whole."""
    parts: list[str] = []
    position = 0
    for match in rule.pattern.finditer(name):
        parts.append(name[position : match.start()])
        parts += [part if isinstance(part, str) else match.group(part) or "" for part in rule.replacement]
        position = match.end()
    return "".join(parts) + name[position:]


def _cased(name: str, case: str) -> str:
    return name.lower() if case == "L" else name.upper() if case == "U" else name
