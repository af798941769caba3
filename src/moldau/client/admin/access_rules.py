"""Access rules of a cluster as values: those that fit, new ones, and taking them away.

`acls` has the same under the names of kafka-python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moldau.client.admin import acls
from moldau.client.conversation import Conversation
from moldau.errors import KafkaError
from moldau.security.acl import Acl, AclFilter


def find_rules(filters: Sequence[AclFilter]) -> Conversation[list[Acl]]:
    """In order, each once."""
    found: dict[Acl, None] = {}
    for wanted in filters:
        entries = yield from acls.describe_acls(_entry_filter(wanted))
        found.update(dict.fromkeys(map(_rule, entries)))
    return sorted(found)


def add_rules(rules: Sequence[Acl]) -> Conversation[list[KafkaError | None]]:
    """One outcome for each, in order."""
    return acls.create_acls([_entry(rule) for rule in rules])


def remove_rules(filters: Sequence[AclFilter]) -> Conversation[list[Acl]]:
    """What was there and fitted. KafkaError if any of it could not be removed."""
    found: dict[Acl, None] = {}
    results = yield from acls.delete_acls([_entry_filter(wanted) for wanted in filters])
    for matching, error in results:
        if error is not None:
            raise error
        for entry, refused in matching:
            if refused is not None:
                raise refused
            found[_rule(entry)] = None
    return sorted(found)


def exactly(rules: Iterable[Acl]) -> list[AclFilter]:
    """Filters that fit these rules and no others."""
    return [AclFilter(*rule) for rule in rules]


def _entry(rule: Acl) -> acls.ACL:
    pattern = acls.ResourcePattern(rule.resource_type, rule.resource_name, rule.pattern_type)
    return acls.ACL(rule.principal, rule.host, rule.operation, rule.permission, pattern)


def _entry_filter(wanted: AclFilter) -> acls.ACLFilter:
    pattern = acls.ResourcePatternFilter(wanted.resource_type, wanted.resource_name, wanted.pattern_type)
    return acls.ACLFilter(wanted.principal, wanted.host, wanted.operation, wanted.permission, pattern)


def _rule(entry: acls.ACL) -> Acl:
    pattern = entry.resource_pattern
    return Acl(
        int(pattern.resource_type),
        pattern.resource_name or "",
        int(pattern.pattern_type),
        entry.principal or "",
        entry.host or "",
        int(entry.operation),
        int(entry.permission_type),
    )
