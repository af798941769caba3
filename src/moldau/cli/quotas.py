"""`moldau quotas`: how much users, client ids and addresses may use, and changes of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, key_value
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import DONE, USAGE, Failure
from moldau.cli.table import note, print_json, print_table

if TYPE_CHECKING:
    from moldau.client.admin.quotas import Quota

# As Kafka's tools write whoever has no quota of his own.
DEFAULT: Final = "<default>"

_WHOM: Final = """\
Whom a quota is for: --user NAME, --client-id NAME, both together, or --ip ADDRESS; with the name <default> it is for
everybody who has none of his own.

  producer_byte_rate          bytes a second that may be produced, on each broker
  consumer_byte_rate          bytes a second that may be fetched, on each broker
  request_percentage          time a broker may spend on requests, in percent of its loop
  controller_mutation_rate    partitions a second that may be created and deleted
  connection_creation_rate    connections a second that an address may open"""

_SET: Final = f"""\
{_WHOM}

examples:
  moldau quotas set --user jan producer_byte_rate=1048576 consumer_byte_rate=2097152
  moldau quotas set --user '<default>' --client-id reports request_percentage=25
  moldau quotas set --ip '<default>' connection_creation_rate=20"""


def configure(parser: ArgumentParser) -> None:
    parser.description = "Show and change how much users, client ids and addresses may use."
    commands = add_subcommands(parser)
    listed = add_subcommand(commands, "list", _list, "show quotas, all of them or somebody's", _WHOM)
    changed = add_subcommand(commands, "set", _set, "set quotas of somebody", _SET)
    removed = add_subcommand(commands, "remove", _remove, "remove quotas of somebody, some or all", _WHOM)
    for command in (listed, changed, removed):
        command.add_argument("--user", metavar="NAME", help="a user, as the listener knows him")
        command.add_argument("--client-id", metavar="NAME", help="the client.id of a program")
        command.add_argument("--ip", metavar="ADDRESS", help="where connections come from")
    changed.add_argument("values", metavar="NAME=VALUE", nargs="+", type=key_value)
    removed.add_argument("names", metavar="NAME", nargs="*", help="default: all that there are")
    for command in (listed, changed, removed):
        add_json(command)
        add_connection(command)


def _entity(options: Namespace) -> dict[str, str | None]:
    given = {"user": options.user, "client-id": options.client_id, "ip": options.ip}
    return {kind: None if name == DEFAULT else name for kind, name in given.items() if name is not None}


def _somebody(options: Namespace) -> dict[str, str | None]:
    entity = _entity(options)
    if not entity:
        raise Failure("Say whom it is for: --user, --client-id or --ip.", USAGE)
    return entity


def _list(options: Namespace) -> int:
    from moldau.client.admin.quotas import describe_client_quotas

    with connect(options) as cluster:
        found = cluster.run(describe_client_quotas(_entity(options)))
    found.sort(key=lambda quota: [(kind, name or "") for kind, name in sorted(quota.entity.items())])
    if options.json:
        print_json([{"entity": dict(quota.entity), "quotas": dict(quota.values)} for quota in found])
        return DONE
    rows = [[_told(quota), key, _number(value)] for quota in found for key, value in sorted(quota.values.items())]
    if rows:
        print_table(["FOR", "QUOTA", "VALUE"], rows)
    else:
        note("No quotas.")
    return DONE


def _set(options: Namespace) -> int:
    entity = _somebody(options)
    values: dict[str, float | None] = {}
    for name, text in options.values:
        try:
            values[name] = float(text)
        except ValueError:
            raise Failure(f"{name}={text}: the value must be a number.", USAGE) from None
    return _alter(options, entity, values)


def _remove(options: Namespace) -> int:
    from moldau.client.admin.quotas import describe_client_quotas

    entity = _somebody(options)
    names = options.names
    if not names:
        with connect(options) as cluster:
            found = cluster.run(describe_client_quotas(entity, strict=True))
        names = sorted({key for quota in found for key in quota.values})
        if not names:
            raise Failure("There are no quotas for it.")
    return _alter(options, entity, dict.fromkeys(names))


def _alter(options: Namespace, entity: dict[str, str | None], values: dict[str, float | None]) -> int:
    from moldau.client.admin.quotas import Quota, QuotaChange, alter_client_quotas

    with connect(options) as cluster:
        (error,) = cluster.run(alter_client_quotas([QuotaChange(entity, values)]))
    if error is not None:
        raise error
    whom = _told(Quota(entity, {}))
    if options.json:
        print_json({"entity": entity, "quotas": values})
        return DONE
    for name, value in values.items():
        print(f"{whom}: {name} {'removed' if value is None else f'= {_number(value)}'}")
    return DONE


def _told(quota: Quota) -> str:
    parts = sorted(quota.entity.items(), reverse=True)
    return ", ".join(f"{kind} {DEFAULT if name is None else name}" for kind, name in parts)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:g}"
