"""Access rules as a command line names them: users, operations, resources, and what producers and consumers need."""

from __future__ import annotations

from argparse import Namespace
from difflib import get_close_matches
from typing import Final, NamedTuple

from moldau.cli.failure import USAGE, Failure
from moldau.security.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    Operation,
    Permission,
    ResourceType,
    word_of,
)
from moldau.security.needs import Need, needs_of_consumers, needs_of_producers, rules_for

_OPERATIONS: Final = {
    each.name.lower().replace("_", "-"): each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)
}


class Resource(NamedTuple):
    type: ResourceType
    name: str


def word(operation: int) -> str:
    return word_of(Operation, operation)


def kind(resource_type: int) -> str:
    return word_of(ResourceType, resource_type)


def resources(options: Namespace) -> list[Resource]:
    """What the options name, each once."""
    named = [
        *(Resource(ResourceType.TOPIC, name) for name in options.topic),
        *(Resource(ResourceType.GROUP, name) for name in options.group),
        *([Resource(ResourceType.CLUSTER, CLUSTER_NAME)] if options.cluster else []),
        *(Resource(ResourceType.TRANSACTIONAL_ID, name) for name in options.transactional_id),
        *(Resource(ResourceType.DELEGATION_TOKEN, name) for name in options.delegation_token),
        *(Resource(ResourceType.USER, name) for name in options.user_principal),
    ]
    return list(dict.fromkeys(named))


def principals(options: Namespace) -> list[str]:
    for full in options.principal:
        if not all(full.partition(":")):
            raise Failure(f"{full!r} is no principal, which is its type, a colon and its name, as User:alice.", USAGE)
    named = [*(f"User:{name}" for name in options.user), *options.principal]
    return list(dict.fromkeys(named))


def operations(options: Namespace) -> list[Operation]:
    found = []
    for text in (each for given in options.operation for each in given.split(",")):
        # Kafka's tools also write them together, as DescribeConfigs.
        name = text.strip().lower().replace("_", "-")
        spoken = {each.replace("-", ""): operation for each, operation in _OPERATIONS.items()}
        operation = _OPERATIONS.get(name) or spoken.get(name)
        if operation is None:
            near = get_close_matches(name, _OPERATIONS, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(_OPERATIONS)}."
            raise Failure(f"There is no operation {text.strip()!r}{hint}", USAGE)
        found.append(operation)
    return list(dict.fromkeys(found))


def new_rules(options: Namespace) -> list[Acl]:
    """The rules that `add` makes."""
    who = principals(options)
    if not who:
        raise Failure("For whom? --user NAME, or --user '*' for everybody.", USAGE)
    if options.producer or options.consumer:
        what = _conveniences(options)
    else:
        named, asked = resources(options), operations(options)
        if not named:
            raise Failure("About what? --topic, --group, --cluster or --transactional-id says so.", USAGE)
        if not asked:
            raise Failure("To do what? --operation says so; all is everything.", USAGE)
        what = [(*resource, operation) for resource in named for operation in asked]
    prefixed = options.prefixed
    if prefixed and any(name == WILDCARD for type, name, _ in what if type is not ResourceType.CLUSTER):
        raise Failure("--prefixed takes names by their begin; * is all of them without it.", USAGE)
    permission = Permission.DENY if options.deny else Permission.ALLOW
    return rules_for(what, who, options.host or [WILDCARD], prefixed=prefixed, permission=permission)


def _conveniences(options: Namespace) -> list[Need]:
    if options.operation or options.cluster or options.deny:
        raise Failure("--producer and --consumer say themselves what is allowed.", USAGE)
    if not options.topic:
        raise Failure("Of which topics? --topic says so; * is all of them.", USAGE)
    groups, ids = options.group, options.transactional_id
    what: list[Need] = []
    if options.producer:
        what += needs_of_producers(options.topic, ids, idempotent=options.idempotent)
    if options.consumer:
        if not groups:
            raise Failure("In which group? --group says so; * is all of them.", USAGE)
        what += needs_of_consumers(options.topic, groups)
    return what
