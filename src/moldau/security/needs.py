"""What producers and consumers have to be allowed, and the rules that allow it to somebody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from moldau.security.acl import CLUSTER_NAME, WILDCARD, Acl, Operation, PatternType, Permission, ResourceType

Need: TypeAlias = tuple[ResourceType, str, Operation]


def needs_of_producers(topics: Sequence[str], ids: Sequence[str] = (), *, idempotent: bool = False) -> list[Need]:
    """All that a producer to these topics has to be allowed, under these transactional ids."""
    each = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
    needs = [(ResourceType.TOPIC, name, operation) for name in topics for operation in each]
    needs += [
        (ResourceType.TRANSACTIONAL_ID, name, operation)
        for name in ids
        for operation in (Operation.WRITE, Operation.DESCRIBE)
    ]
    if idempotent:
        needs.append((ResourceType.CLUSTER, CLUSTER_NAME, Operation.IDEMPOTENT_WRITE))
    return needs


def needs_of_consumers(topics: Sequence[str], groups: Sequence[str]) -> list[Need]:
    """All that a consumer of these topics has to be allowed, in these groups."""
    each = (Operation.READ, Operation.DESCRIBE)
    needs = [(ResourceType.TOPIC, name, operation) for name in topics for operation in each]
    return needs + [(ResourceType.GROUP, name, Operation.READ) for name in groups]


def rules_for(
    needs: Iterable[Need],
    principals: Sequence[str],
    hosts: Sequence[str] = (WILDCARD,),
    *,
    prefixed: bool = False,
    permission: Permission = Permission.ALLOW,
) -> list[Acl]:
    """A rule for every combination, each once. The cluster has one name, which is no prefix."""
    rules = [
        Acl(
            type,
            name,
            PatternType.PREFIXED if prefixed and type is not ResourceType.CLUSTER else PatternType.LITERAL,
            principal,
            host,
            operation,
            permission,
        )
        for type, name, operation in needs
        for principal in principals
        for host in hosts
    ]
    return list(dict.fromkeys(rules))
