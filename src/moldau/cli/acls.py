"""`moldau acls`: who may do what: adding, listing and removing access rules, and asking what they come to."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.acl_rules import Resource, kind, new_rules, operations, principals, resources, word
from moldau.cli.arguments import add_json, add_subcommand, add_subcommands
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import FAILED, USAGE, Failure
from moldau.cli.table import note, print_json, print_table
from moldau.errors import ErrorCode, KafkaError
from moldau.security.acl import (
    OPERATIONS,
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    name_of,
)
from moldau.security.authorizer import Authorizer, Reason, Rules, normal_host, super_users_of

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

_ADD_HELP = """\
examples:
  moldau acls add --user alice --topic orders --operation read,describe
  moldau acls add --user alice --producer --topic orders            write, describe and create the topic
  moldau acls add --user alice --consumer --topic orders --group billing
  moldau acls add --user alice --topic orders. --prefixed --operation all
  moldau acls add --user '*' --topic secrets --operation all --deny --host 10.0.0.7

A rule that denies wins over all that allow. Who may read, write, delete or alter something may describe it."""
_REMOVE_HELP = """\
Removes what `list` shows for the same options, and tells what that was; --dry-run only tells."""
_TEST_HELP = """\
Reads the rules that apply and decides as the broker does. Exit status 1 if it is denied.

examples:
  moldau acls test --user alice --topic orders --operation read
  moldau acls test --user alice --topic orders --operation read --host 10.0.0.7

Super users and allow.everyone.if.no.acl.found are settings of the brokers and not seen from outside: say so with
--super-users and --allow-everyone."""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Say who may do what to topics, groups, transactional ids and the cluster itself."
    commands = add_subcommands(parser)
    add = add_subcommand(commands, "add", _add, "allow, or deny, something to somebody", _ADD_HELP)
    listed = add_subcommand(commands, "list", _list, "show the rules, or those that fit the options")
    remove = add_subcommand(commands, "remove", _remove, "remove the rules that fit the options", _REMOVE_HELP)
    test = add_subcommand(commands, "test", _test, "tell whether somebody may do something, and why", _TEST_HELP)
    for command in (add, listed, remove, test):
        _add_resources(command)
        _add_who(command, several=command is not test)
        _add_operations(command)
    for command in (add, remove):
        command.add_argument(
            "--producer", action="store_true", help="all that a producer to --topic (and --transactional-id) needs"
        )
        command.add_argument("--consumer", action="store_true", help="all that a consumer of --topic in --group needs")
        command.add_argument(
            "--idempotent", action="store_true", help="with --producer: also to number records (older brokers)"
        )
    for command in (add, listed, remove):
        command.add_argument("--prefixed", action="store_true", help="names are how the names of resources begin")
        command.add_argument("--deny", action="store_true", help="rules that deny")
    for command in (listed, remove):
        command.add_argument("--allow", action="store_true", help="rules that allow")
        command.add_argument(
            "--match",
            action="store_true",
            help="all rules that apply to the name, also by prefix or wildcard",
        )
    remove.add_argument("--all", action="store_true", help="every rule there is, if nothing else is named")
    remove.add_argument("--dry-run", action="store_true", help="remove nothing")
    test.add_argument("--super-users", metavar="USER;USER", default="", help="super.users of the broker")
    test.add_argument(
        "--allow-everyone", action="store_true", help="the broker has allow.everyone.if.no.acl.found=true"
    )
    for command in (add, listed, remove, test):
        add_json(command)
        add_connection(command)


def _add_resources(command: ArgumentParser) -> None:
    group = command.add_argument_group("resources")
    repeatable: dict[str, Any] = {"metavar": "NAME", "action": "append", "default": []}
    group.add_argument("--topic", help="a topic; * for all", **repeatable)
    group.add_argument("--group", help="a consumer group; * for all", **repeatable)
    group.add_argument("--cluster", action="store_true", help="the cluster itself")
    group.add_argument("--transactional-id", help="a transactional id; * for all", **repeatable)
    group.add_argument("--delegation-token", help="a delegation token; * for all", **repeatable)
    group.add_argument("--user-principal", help="a user, as User:name, for whom tokens are made", **repeatable)


def _add_who(command: ArgumentParser, *, several: bool) -> None:
    group = command.add_argument_group("who")
    repeatable: dict[str, Any] = {"action": "append", "default": []}
    group.add_argument("--user", metavar="NAME", help="the user of this name; * for everybody", **repeatable)
    group.add_argument("--principal", metavar="TYPE:NAME", help="the same in full, as User:alice", **repeatable)
    if several:
        group.add_argument("--host", metavar="ADDRESS", help="from this address (default *: all)", **repeatable)
    else:
        group.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="from this address (127.0.0.1)")


def _add_operations(command: ArgumentParser) -> None:
    command.add_argument(
        "--operation",
        metavar="NAME,...",
        action="append",
        default=[],
        help="read, write, create, delete, alter, describe, cluster-action, describe-configs, alter-configs, "
        "idempotent-write, create-tokens, describe-tokens, two-phase-commit or all; repeatable",
    )


# ----------------------------------------------------------------------------------------------------------- commands


def _add(options: Namespace) -> None:
    rules = new_rules(options)
    for acl in rules:
        if acl.operation != Operation.ALL and acl.operation not in OPERATIONS[acl.resource_type]:
            known = ", ".join(word(each) for each in OPERATIONS[acl.resource_type])
            raise Failure(
                f"{word(acl.operation)} is nothing done to a {kind(acl.resource_type)}; there are: {known}.",
                USAGE,
            )
    from moldau.client.admin.access_rules import add_rules

    with connect(options) as cluster:
        outcomes = _ask(cluster, add_rules(rules))
    refused = [(acl, error) for acl, error in zip(rules, outcomes, strict=True) if error is not None]
    if options.json:
        print_json([{**_json(a), "error": None if e is None else str(e)} for a, e in zip(rules, outcomes, strict=True)])
    else:
        _print([acl for acl, error in zip(rules, outcomes, strict=True) if error is None])
    if refused:
        raise Failure("; ".join(f"{acl}: {error}" for acl, error in refused), FAILED)


def _list(options: Namespace) -> None:
    from moldau.client.admin.access_rules import find_rules

    with connect(options) as cluster:
        found = _ask(cluster, find_rules(_filters(options)))
    if options.json:
        print_json([_json(acl) for acl in found])
    else:
        _print(found)


def _remove(options: Namespace) -> None:
    from moldau.client.admin.access_rules import find_rules, remove_rules

    filters = _remove_filters(options)
    with connect(options) as cluster:
        found = _ask(cluster, find_rules(filters) if options.dry_run else remove_rules(filters))
    if options.json:
        print_json([_json(acl) for acl in found])
    elif found:
        _print(found)
    else:
        note("There is no such rule.")


def _test(options: Namespace) -> int:
    from moldau.client.admin.access_rules import find_rules

    who, operation, resource = _question(options)
    try:
        super_users = super_users_of(options.super_users)
    except ValueError as error:
        raise Failure(f"--super-users: {error}.", USAGE) from None
    host = normal_host(options.host)
    wanted = AclFilter(resource.type, resource.name, PatternType.MATCH)
    with connect(options) as cluster:
        rules = Rules(_ask(cluster, find_rules([wanted])))
    authorizer = Authorizer(rules, super_users, allow_everyone=options.allow_everyone)
    decision = authorizer.explain(who, host, operation, resource.type, resource.name)
    if options.json:
        print_json(
            {
                "principal": who,
                "host": host,
                "operation": word(operation),
                "resource_type": kind(resource.type),
                "resource_name": resource.name,
                "allowed": decision.allowed,
                "reason": decision.reason.value,
                "rule": None if decision.rule is None else _json(decision.rule),
            }
        )
    else:
        what = "the cluster" if resource.type == ResourceType.CLUSTER else f"{kind(resource.type)} {resource.name!r}"
        verb = "may" if decision.allowed else "may not"
        print(f"{who} {verb} {word(operation)} {what} from {host}: {_why(decision.reason, decision.rule)}.")
    return 0 if decision.allowed else FAILED


def _why(reason: Reason, rule: Acl | None) -> str:
    if rule is not None:
        return f"{rule} ({name_of(PatternType, rule.pattern_type).lower()} {rule.resource_name!r})"
    return {
        Reason.SUPER_USER: "a super user may do everything",
        Reason.DEFAULT_ALLOW: "no rule is about it, and allow.everyone.if.no.acl.found is set",
        Reason.DEFAULT_DENY: "no rule allows it",
    }[reason]


# ------------------------------------------------------------------------------------------------- options and filters


def _question(options: Namespace) -> tuple[str, Operation, Resource]:
    named, asked, who = resources(options), operations(options), principals(options)
    if len(named) != 1 or len(asked) != 1 or len(who) != 1 or who[0].endswith(":" + WILDCARD):
        raise Failure("A question is about one user, one operation and one resource.", USAGE)
    if asked[0] == Operation.ALL:
        raise Failure("A question is about one operation.", USAGE)
    return who[0], asked[0], named[0]


def _filters(options: Namespace) -> list[AclFilter]:
    """What the options name, as filters: every combination of them."""
    if options.prefixed and options.match:
        raise Failure("Rules are found by their own prefix (--prefixed) or by what they apply to (--match).", USAGE)
    if options.allow and options.deny:
        raise Failure("--allow or --deny; without either, both.", USAGE)
    pattern = PatternType.PREFIXED if options.prefixed else PatternType.MATCH if options.match else PatternType.LITERAL
    permission = Permission.DENY if options.deny else Permission.ALLOW if options.allow else Permission.ANY
    unnamed = PatternType.PREFIXED if options.prefixed else PatternType.ANY
    return [
        AclFilter(
            ResourceType.ANY if resource is None else resource.type,
            None if resource is None else resource.name,
            unnamed if resource is None else pattern,
            who,
            host,
            operation,
            permission,
        )
        for resource in (*resources(options),) or (None,)
        for who in (*principals(options),) or (None,)
        for host in options.host or [None]
        for operation in operations(options) or [Operation.ANY]
    ]


def _remove_filters(options: Namespace) -> list[AclFilter]:
    if options.producer or options.consumer:
        options.host = options.host or [WILDCARD]
        return [AclFilter(*acl) for acl in new_rules(options)]
    filters = _filters(options)
    if filters == [AclFilter()] and not options.all:
        raise Failure("Which rules? Name what they are about or whom they are for, or say --all.", USAGE)
    return filters


# ------------------------------------------------------------------------------------------------------ to the cluster


def _ask(cluster: Cluster, conversation: Any) -> Any:
    try:
        return cluster.run(conversation)
    except KafkaError as error:
        if error.code is ErrorCode.SECURITY_DISABLED:
            raise Failure("The cluster has no authorizer (authorizer.class.name), so no rules.", FAILED) from None
        raise


# -------------------------------------------------------------------------------------------------------------- output


def _print(found: Sequence[Acl]) -> None:
    rows = [
        [
            kind(acl.resource_type),
            acl.resource_name,
            name_of(PatternType, acl.pattern_type).lower(),
            acl.principal,
            acl.host,
            name_of(Permission, acl.permission).lower(),
            word(acl.operation),
        ]
        for acl in found
    ]
    print_table(["RESOURCE", "NAME", "PATTERN", "PRINCIPAL", "HOST", "PERMISSION", "OPERATION"], rows)


def _json(acl: Acl) -> dict[str, Any]:
    return {
        "resource_type": kind(acl.resource_type),
        "resource_name": acl.resource_name,
        "pattern_type": name_of(PatternType, acl.pattern_type).lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": word(acl.operation),
        "permission": name_of(Permission, acl.permission).lower(),
    }
