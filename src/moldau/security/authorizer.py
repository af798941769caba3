"""Whether somebody may do something, decided by rules as Kafka's StandardAuthorizer does.

A rule that denies wins over all that allow. Where rules are about a resource and none of them speaks of the one who
asks, the answer is no; where no rule is about the resource at all, a setting says what that means. Super users may do
everything.

The rules are kept by what they are about, then by who and from where: a decision is some look-ups in dictionaries,
however many rules there are. Every length that a prefix has costs one look-up more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from moldau.security.acl import (
    EVERYBODY,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    allowed_bits,
    bit,
    denied_bits,
)

# What was decided lately is remembered up to so many principals, hosts and resources.
_MOST_REMEMBERED: Final = 20_000
# Some name nobody has a rule for: who may do something to it may do it everywhere.
_ANY_NAME: Final = "hardcode"


class _Entry(NamedTuple):
    """What the rules for one principal and host say about one pattern."""

    allow: int
    deny: int
    rules: tuple[Acl, ...]


# By principal and host, as the rules name them.
_Group = dict[tuple[str, str], _Entry]


class _Section:
    """The rules about one type of resource."""

    __slots__ = ("_own", "lengths", "literal", "prefixed", "prefixes")

    def __init__(self, base: _Section | None = None) -> None:
        self.literal: dict[str, _Group] = {} if base is None else dict(base.literal)
        self.prefixed: dict[str, _Group] = {} if base is None else dict(base.prefixed)
        # How many prefixes there are of each length; and the lengths in order.
        self.prefixes: dict[int, int] = {} if base is None else dict(base.prefixes)
        self.lengths: tuple[int, ...] = () if base is None else base.lengths
        # Groups that are not shared with `base`.
        self._own: set[tuple[int, str]] = set()

    def change(self, acl: Acl, *, add: bool) -> None:
        prefixed = acl.pattern_type == PatternType.PREFIXED
        groups = self.prefixed if prefixed else self.literal
        group = groups.get(acl.resource_name)
        key = (acl.pattern_type, acl.resource_name)
        if group is None:
            if not add:
                return
            group = groups[acl.resource_name] = {}
            self._own.add(key)
            if prefixed:
                self._count(len(acl.resource_name), 1)
        elif key not in self._own:
            group = groups[acl.resource_name] = dict(group)
            self._own.add(key)
        who = acl.principal, normal_host(acl.host)
        rules = [*group[who].rules] if who in group else []
        if add:
            rules.append(acl)
        elif acl in rules:
            rules.remove(acl)
        if rules:
            group[who] = _entry(rules)
            return
        group.pop(who, None)
        if not group:
            del groups[acl.resource_name]
            self._own.discard(key)
            if prefixed:
                self._count(len(acl.resource_name), -1)

    def _count(self, length: int, change: int) -> None:
        count = self.prefixes.get(length, 0) + change
        if count:
            self.prefixes[length] = count
        else:
            del self.prefixes[length]
        if len(self.prefixes) != len(self.lengths):
            self.lengths = tuple(sorted(self.prefixes))

    def about(self, name: str) -> Iterator[_Group]:
        """The rules that apply to the name, whoever they are for."""
        for literal in {name, WILDCARD}:
            if literal in self.literal:
                yield self.literal[literal]
        size = len(name)
        for length in self.lengths:
            if length > size:
                break
            group = self.prefixed.get(name[:length])
            if group is not None:
                yield group


def _entry(rules: list[Acl]) -> _Entry:
    allow = deny = 0
    for rule in rules:
        if rule.permission == Permission.ALLOW:
            allow |= allowed_bits(rule.operation)
        elif rule.permission == Permission.DENY:
            deny |= denied_bits(rule.operation)
    return _Entry(allow, deny, tuple(rules))


class Rules:
    """All rules, by what they are about. Not changed any more once somebody decides by them: `changed` makes others
    that share what they can."""

    __slots__ = ("_own", "_sections", "of_principal")

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._sections: dict[int, _Section] = {}
        # By type and principal, every rule with how often it is there.
        self.of_principal: dict[tuple[int, str], dict[Acl, int]] = {}
        self._own: set[object] = set()
        for acl in acls:
            self.add(acl)

    def copy(self) -> Rules:
        """One that may be changed."""
        copy = Rules()
        copy._sections = dict(self._sections)
        copy.of_principal = dict(self.of_principal)
        return copy

    def add(self, acl: Acl) -> None:
        self._change(acl, add=True)

    def remove(self, acl: Acl) -> None:
        self._change(acl, add=False)

    def _change(self, acl: Acl, *, add: bool) -> None:
        kind = acl.resource_type
        section = self._sections.get(kind)
        if section is None or kind not in self._own:
            section = self._sections[kind] = _Section(section)
            self._own.add(kind)
        section.change(acl, add=add)
        key = kind, acl.principal
        counts = self.of_principal.get(key)
        if counts is None or key not in self._own:
            counts = self.of_principal[key] = dict(counts or {})
            self._own.add(key)
        counts[acl] = counts.get(acl, 0) + (1 if add else -1)
        if counts[acl] <= 0:
            del counts[acl]

    def about(self, resource_type: int, name: str) -> Iterator[_Group]:
        section = self._sections.get(resource_type)
        return iter(()) if section is None else section.about(name)


NO_RULES: Final = Rules()


class Verdict(NamedTuple):
    """What the rules say to one principal and host about one resource: as bits, and whether there are any rules."""

    allow: int
    deny: int
    ruled: bool


class Reason(Enum):
    SUPER_USER = "SuperUser"
    DEFAULT_ALLOW = "DefaultAllow"
    DEFAULT_DENY = "DefaultDeny"
    RULE = "MatchingAcl"


class Decision(NamedTuple):
    allowed: bool
    reason: Reason
    rule: Acl | None = None

    def __str__(self) -> str:
        return self.reason.value if self.rule is None else f"{self.reason.value}({self.rule})"


class Authorizer:
    """Decides by one state of the rules, which does not change under it."""

    def __init__(
        self, rules: Rules, super_users: frozenset[str] = frozenset(), *, allow_everyone: bool = False
    ) -> None:
        self.rules = rules
        self.super_users = super_users
        self.allow_everyone = allow_everyone
        self._remembered: dict[tuple[str, str, int, str], Verdict] = {}
        self._anywhere: dict[tuple[str, str, int, int], bool] = {}

    def with_rules(self, rules: Rules) -> Authorizer:
        return Authorizer(rules, self.super_users, allow_everyone=self.allow_everyone)

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        if principal in self.super_users:
            return True
        allow, deny, ruled = self.verdict(principal, host, resource_type, name)
        return bool(allow & ~deny & bit(operation)) if ruled else self.allow_everyone

    def operations(
        self, principal: str, host: str, resource_type: int, name: str, among: Iterable[Operation]
    ) -> list[Operation]:
        """Those that may be done."""
        if principal in self.super_users:
            return list(among)
        allow, deny, ruled = self.verdict(principal, host, resource_type, name)
        if not ruled:
            return list(among) if self.allow_everyone else []
        may = allow & ~deny
        return [operation for operation in among if may & bit(operation)]

    def verdict(self, principal: str, host: str, resource_type: int, name: str) -> Verdict:
        asked = (principal, host, resource_type, name)
        found = self._remembered.get(asked)
        if found is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            found = self._remembered[asked] = self._verdict(*asked)
        return found

    def _verdict(self, principal: str, host: str, resource_type: int, name: str) -> Verdict:
        allow = deny = 0
        ruled = False
        keys = _keys(principal, host)
        for group in self.rules.about(resource_type, name):
            ruled = True
            for key in keys:
                entry = group.get(key)
                if entry is not None:
                    allow |= entry.allow
                    deny |= entry.deny
        return Verdict(allow, deny, ruled)

    def explain(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> Decision:
        """The same as `allows`, and by which rule."""
        if principal in self.super_users:
            return Decision(True, Reason.SUPER_USER)
        wanted = bit(operation)
        allowing: Acl | None = None
        ruled = False
        for group in self.rules.about(resource_type, name):
            ruled = True
            for key in _keys(principal, host):
                entry = group.get(key)
                for rule in () if entry is None else entry.rules:
                    if rule.permission == Permission.DENY and denied_bits(rule.operation) & wanted:
                        return Decision(False, Reason.RULE, rule)
                    if (
                        allowing is None
                        and rule.permission == Permission.ALLOW
                        and allowed_bits(rule.operation) & wanted
                    ):
                        allowing = rule
        if allowing is not None:
            return Decision(True, Reason.RULE, allowing)
        if ruled or not self.allow_everyone:
            return Decision(False, Reason.DEFAULT_DENY)
        return Decision(True, Reason.DEFAULT_ALLOW)

    # -------------------------------------------------------------------------------- any resource of a type

    def allows_somewhere(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether there is any name of this type for which it is allowed (Kafka: authorizeByResourceType)."""
        asked = (principal, host, operation, resource_type)
        found = self._anywhere.get(asked)
        if found is None:
            if len(self._anywhere) >= _MOST_REMEMBERED:
                self._anywhere.clear()
            found = self._anywhere[asked] = self._allows_somewhere(*asked)
        return found

    def _allows_somewhere(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        if self.allows(principal, host, operation, resource_type, _ANY_NAME):
            return True
        denied: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
        allowed: list[Acl] = []
        for rule in self._rules_for(principal, host, resource_type):
            # Nothing is implied here.
            if rule.operation not in (operation, Operation.ALL) or rule.pattern_type not in denied:
                continue
            if rule.permission == Permission.DENY:
                if rule.pattern_type == PatternType.LITERAL and rule.resource_name == WILDCARD:
                    return False
                denied[rule.pattern_type].add(rule.resource_name)
            elif rule.permission == Permission.ALLOW:
                allowed.append(rule)
        return any(not _is_overruled(rule, denied) for rule in allowed)

    def _rules_for(self, principal: str, host: str, resource_type: int) -> Iterator[Acl]:
        for who in {principal, EVERYBODY}:
            for rule in self.rules.of_principal.get((resource_type, who), ()):
                if rule.host == WILDCARD or normal_host(rule.host) == host:
                    yield rule


def _is_overruled(rule: Acl, denied: Mapping[int, set[str]]) -> bool:
    name = rule.resource_name
    if rule.pattern_type == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if name in denied[PatternType.LITERAL]:
            return True
    prefixes = denied[PatternType.PREFIXED]
    return bool(prefixes) and any(name[:size] in prefixes for size in range(1, len(name) + 1))


def _keys(principal: str, host: str) -> tuple[tuple[str, str], ...]:
    return (principal, host), (principal, WILDCARD), (EVERYBODY, host), (EVERYBODY, WILDCARD)


def normal_host(host: str) -> str:
    """An address in one way of writing it, for those that have several; anything else as it is."""
    if ":" not in host:
        return host
    try:
        address = ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(address if mapped is None else mapped)


def super_users_of(setting: str) -> frozenset[str]:
    """`User:a;User:b`; ValueError if one of them has no type."""
    users = [user.strip() for user in setting.split(";") if user.strip()]
    for user in users:
        kind, colon, name = user.partition(":")
        if not (kind and colon and name):
            raise ValueError(f"{user!r} is no principal, which is its type, a colon and its name, such as User:alice")
    return frozenset(users)
