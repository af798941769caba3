"""`moldau configs`: settings as the cluster has them (describe, set, unset), and the settings there are (list)."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import add_json, add_subcommand, add_subcommands, key_value
from moldau.cli.config_changes import changes_from_files, is_reference, parse_change
from moldau.cli.connection import add_connection, connect
from moldau.cli.failure import USAGE, Failure
from moldau.cli.table import note, print_json, print_table

if TYPE_CHECKING:
    from moldau.client.admin import ConfigChange, ConfigResource, ConfigValue
    from moldau.config.definition import Setting

# What has settings, and the word for one of it.
_SCOPES = {"topics": "topic", "groups": "group", "client_metrics": "client metrics", "brokers": "broker"}


def configure(parser: ArgumentParser) -> None:
    parser.description = (
        "Show and change settings of topics, groups, client metrics and brokers, and explain what there is."
    )
    commands = add_subcommands(parser)
    _configure_describe(commands)
    _configure_set(commands)
    _configure_unset(commands)
    _configure_list(commands)


def _add_resource(parser: ArgumentParser, *, required: bool) -> None:
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("--topic", metavar="NAME", help="the settings of a topic")
    group.add_argument("--group", metavar="NAME", help="the settings of a group of consumers, share or streams")
    group.add_argument(
        "--client-metrics", metavar="NAME", help="a subscription: which clients push which of their metrics, how often"
    )
    group.add_argument("--broker", metavar="ID", help="the settings of one broker")
    group.add_argument(
        "--all-brokers", action="store_true", help="what all brokers have in common, stored in the cluster"
    )
    group.add_argument(
        "--broker-logger", metavar="ID", help="the levels of a broker's loggers, until it ends: FATAL, ERROR, ... TRACE"
    )


def _resource(options: Namespace) -> ConfigResource | None:
    from moldau.client.admin import ConfigResource, ResourceType

    if options.topic is not None:
        return ConfigResource(ResourceType.TOPIC, options.topic)
    if options.group is not None:
        return ConfigResource(ResourceType.GROUP, options.group)
    if options.client_metrics is not None:
        return ConfigResource(ResourceType.CLIENT_METRICS, options.client_metrics)
    if options.broker is not None:
        return ConfigResource(ResourceType.BROKER, options.broker)
    if options.broker_logger is not None:
        return ConfigResource(ResourceType.BROKER_LOGGER, options.broker_logger)
    return ConfigResource(ResourceType.BROKER, "") if options.all_brokers else None


# ------------------------------------------------------------------------------------------------------ describe


def _configure_describe(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "describe",
        _describe,
        "show settings and where their values come from; without saying of what, explain settings",
        "examples:\n"
        "  moldau configs describe --topic rivers              what differs from the defaults\n"
        "  moldau configs describe --broker 1 --all            everything\n"
        "  moldau configs describe retention.ms                what a setting means (needs no broker)",
    )
    parser.add_argument("settings", metavar="SETTING", nargs="*", help="only these settings")
    _add_resource(parser, required=False)
    parser.add_argument("--all", action="store_true", help="also show settings that have their default value")
    add_json(parser)
    add_connection(parser)


def _describe(options: Namespace) -> None:
    resource = _resource(options)
    if resource is None:
        _explain(options)
        return
    from moldau.client.admin import describe_configs

    with connect(options) as cluster:
        configs = cluster.run(describe_configs(resource, options.settings or None, documentation=options.json))
    if not options.all and not options.settings:
        configs = [config for config in configs if _differs(config, resource)]
    if options.json:
        print_json([_config_json(config) for config in configs])
    elif configs:
        print_table(
            ["SETTING", "VALUE", "FROM", "READ ONLY"],
            [[config.name, _shown(config), config.source.text, config.read_only] for config in configs],
        )
    elif options.settings:
        raise Failure(f"The broker knows no setting {', '.join(options.settings)} of {resource}.")
    else:
        note(f"Every setting of {resource} has its default value; --all shows them.")


def _differs(config: ConfigValue, resource: ConfigResource) -> bool:
    """Every cluster has what its first controller wrote down for all brokers; where that is the default, it says
    nothing about this topic or broker."""
    from moldau.client.admin.configs import ConfigSource

    if config.source is not ConfigSource.ALL_BROKERS or not resource.name:
        return not config.is_default
    return all(value != config.value for _, value, source in config.synonyms if source is ConfigSource.DEFAULT)


def _shown(config: ConfigValue) -> str:
    if config.sensitive:
        return "(hidden)"
    return "" if config.value is None else config.value


def _config_json(config: ConfigValue) -> dict[str, Any]:
    return {
        "name": config.name,
        "value": config.value,
        "source": config.source.name,
        "read_only": config.read_only,
        "sensitive": config.sensitive,
        "synonyms": [
            {"name": name, "value": None if config.sensitive else value, "source": source.name}
            for name, value, source in config.synonyms
        ],
        "documentation": config.documentation,
    }


# ------------------------------------------------------------------------------------------------- set and unset


def _configure_set(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "set",
        _set,
        "change settings",
        "examples:\n"
        "  moldau configs set --topic rivers retention.ms=3600000\n"
        "  moldau configs set --topic rivers cleanup.policy+=compact     add to a list; -= takes away\n"
        "  moldau configs set --client-metrics all metrics=* interval.ms=60000\n"
        "  moldau configs set --broker-logger 1 moldau.server=DEBUG\n"
        "  moldau configs set --broker 1 --value-file listener.name.ssl.ssl.keystore.key=node.key\n"
        "  vault read ... | moldau configs set --broker 1 --file -\n\n"
        "Everybody on a machine can read its command lines, so passwords and keys are taken from files only.",
    )
    parser.add_argument("changes", metavar="NAME=VALUE", nargs="*", type=parse_change, default=[])
    parser.add_argument(
        "--file", metavar="FILE", help="set all of a file of properties, NAME=VALUE on each line; - for standard input"
    )
    parser.add_argument(
        "--value-file",
        metavar="NAME=FILE",
        type=key_value,
        action="append",
        default=[],
        help="set one to what a file holds, without the end of its last line; - for standard input; repeatable",
    )
    _add_change_arguments(parser)


def _configure_unset(commands: Any) -> None:
    parser = add_subcommand(commands, "unset", _unset, "give settings back the value they have without being set")
    parser.add_argument("names", metavar="NAME", nargs="+")
    _add_change_arguments(parser)


def _add_change_arguments(parser: ArgumentParser) -> None:
    _add_resource(parser, required=True)
    parser.add_argument("--validate-only", action="store_true", help="let the cluster check the change, change nothing")
    add_json(parser)
    add_connection(parser)


def _set(options: Namespace) -> None:
    from moldau.client.admin import ConfigChange, ConfigOperation
    from moldau.config.alteration import is_secret

    for name, _, value in options.changes:
        if is_secret(name) and not is_reference(value):
            raise Failure(f"Everybody can read the command line: {name} belongs into --file or --value-file.", USAGE)
    changes = [ConfigChange(name, ConfigOperation[operation], value) for name, operation, value in options.changes]
    changes += [ConfigChange(name, ConfigOperation.SET, value) for name, value in changes_from_files(options)]
    if not changes:
        raise Failure("Give NAME=VALUE, --file or --value-file.", USAGE)
    _apply(options, changes)


def _unset(options: Namespace) -> None:
    from moldau.client.admin import ConfigChange, ConfigOperation

    _apply(options, [ConfigChange(name, ConfigOperation.DELETE) for name in options.names])


def _apply(options: Namespace, changes: Sequence[ConfigChange]) -> None:
    from moldau.client.admin import alter_configs

    resource = _resource(options)
    if resource is None:
        raise Failure("Give --topic, --group, --client-metrics, --broker, --all-brokers or --broker-logger.", USAGE)
    with connect(options) as cluster:
        error = cluster.run(alter_configs({resource: changes}, validate_only=options.validate_only))[resource]
    if error is not None:
        raise error
    shown = [_without_secret(change) if options.broker or options.all_brokers else change for change in changes]
    if options.json:
        print_json(
            [{"name": change.name, "operation": change.operation.name, "value": change.value} for change in shown]
        )
        return
    checked = " (only checked)" if options.validate_only else ""
    print(
        f"{str(resource)[:1].upper()}{str(resource)[1:]}: {', '.join(_sentence(change) for change in shown)}{checked}"
    )


def _without_secret(change: ConfigChange) -> ConfigChange:
    """As it may be shown. What nobody knows may be a secret too."""
    from moldau.config.alteration import is_sensitive
    from moldau.config.broker import BROKER_SETTINGS

    if change.value is None or not is_sensitive(BROKER_SETTINGS, change.name):
        return change
    return change._replace(value="[hidden]")


def _sentence(change: ConfigChange) -> str:
    match change.operation.name:
        case "SET":
            return f"{change.name} = {change.value}"
        case "APPEND":
            return f"{change.value} added to {change.name}"
        case "SUBTRACT":
            return f"{change.value} taken from {change.name}"
    return f"{change.name} unset"


# ------------------------------------------------------------------------------------- the settings there are


def _configure_list(commands: Any) -> None:
    parser = add_subcommand(
        commands,
        "list",
        _list,
        "list every setting there is, with type and default (needs no broker)",
        "examples:\n  moldau configs list retention\n  moldau configs list --topics --json",
    )
    parser.add_argument("pattern", metavar="PATTERN", nargs="?", default="", help="only names that contain this text")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--topics", action="store_true", help="only settings of topics")
    group.add_argument("--groups", action="store_true", help="only settings of groups")
    group.add_argument("--client-metrics", action="store_true", help="only settings of client metrics")
    group.add_argument("--brokers", action="store_true", help="only settings of brokers")
    add_json(parser)


def _list(options: Namespace) -> None:
    chosen = [scope for scope in _SCOPES if getattr(options, scope)]
    found = [row for row in _known(*chosen) if options.pattern in row[1].name]
    if options.json:
        print_json([_setting_json(scope, setting) for scope, setting in found])
    elif found:
        print_table(
            ["SETTING", "OF", "TYPE", "DEFAULT", "ALLOWED"],
            [
                [setting.name, scope, setting.kind.name, _default(setting), _allowed(setting)]
                for scope, setting in found
            ],
        )
    else:
        raise Failure(f"No setting contains {options.pattern!r}.")


def _known(*scopes: str) -> list[tuple[str, Setting[Any]]]:
    """Every setting, or those of some, with the word for what it belongs to, by name. Internal ones are for tests."""
    from moldau.config.broker import BROKER_SETTINGS
    from moldau.config.client_metrics import CLIENT_METRICS_SETTINGS
    from moldau.config.group import GROUP_SETTINGS
    from moldau.config.topic import TOPIC_SETTINGS

    tables: dict[str, Mapping[str, Setting[Any]]] = {
        "topics": TOPIC_SETTINGS,
        "groups": GROUP_SETTINGS,
        "client_metrics": CLIENT_METRICS_SETTINGS,
        "brokers": BROKER_SETTINGS,
    }
    rows = [
        (word, setting)
        for scope, word in _SCOPES.items()
        for setting in tables[scope].values()
        if not setting.internal and scope in (scopes or _SCOPES)
    ]
    return sorted(rows, key=lambda row: (row[1].name, row[0]))


def _explain(options: Namespace) -> None:
    rows = _known()
    wanted = set(options.settings)
    missing = sorted(wanted - {setting.name for _, setting in rows})
    if missing:
        from moldau.config.definition import closest

        meant = closest(missing[0], [setting.name for _, setting in rows])
        raise Failure(f"There is no setting {missing[0]!r}" + (f"; did you mean {meant}?" if meant else "."))
    if not wanted and not options.json:
        note("Every setting there is; --topic NAME or --broker ID show what a cluster has.\n")
    chosen = [row for row in rows if not wanted or row[1].name in wanted]
    if options.json:
        print_json([_setting_json(scope, setting) for scope, setting in chosen])
        return
    for position, (scope, setting) in enumerate(chosen):
        if position:
            print()
        _print_explanation(scope, setting)


def _print_explanation(scope: str, setting: Setting[Any]) -> None:
    facts = [setting.kind.name, f"default {_default(setting)}", *([_allowed(setting)] if setting.allowed else [])]
    print(f"{setting.name} ({scope}): {', '.join(facts)}")
    sentences = [setting.meaning]
    if setting.synonyms:
        sentences.append(f"Where it is not set: {', then '.join(setting.synonyms)}.")
    for sentence in sentences:
        print(textwrap.fill(sentence, width=100, initial_indent="  ", subsequent_indent="  "))


def _setting_json(scope: str, setting: Setting[Any]) -> dict[str, Any]:
    return {
        "name": setting.name,
        "of": scope,
        "type": setting.kind.name,
        "default": setting.text(setting.default),
        "allowed": setting.allowed.text if setting.allowed else None,
        "importance": setting.importance.name.lower(),
        "update_mode": setting.update_mode.name.lower().replace("_", "-"),
        "synonyms": list(setting.synonyms),
        "no_effect": setting.no_effect,
        "refused": setting.refused,
        "documentation": setting.documentation,
    }


def _default(setting: Setting[Any]) -> str:
    text = setting.text(setting.default)
    return "none" if text is None else "empty" if text == "" else text


def _allowed(setting: Setting[Any]) -> str:
    return setting.allowed.text if setting.allowed else ""
