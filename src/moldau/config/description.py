"""Settings as DescribeConfigs shows them: the value that counts, where it comes from, and what stands behind it.

Synonyms are listed in the order in which they are asked, so the first is the one that counts. What stands behind a
topic's setting is the broker setting of the same meaning alone (`log.retention.ms` for `retention.ms`), as in Kafka: a
value that comes from a coarser one (`log.retention.hours`) is called a default.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from moldau.config.alteration import is_sensitive, update_mode
from moldau.config.broker import BROKER_SETTINGS, BrokerConfig, listener_setting
from moldau.config.client_metrics import CLIENT_METRICS_SETTINGS
from moldau.config.definition import ConfigError, Setting, UpdateMode
from moldau.config.group import GROUP_SETTINGS
from moldau.config.settings.log import LOG_SYNONYMS
from moldau.config.settings.security import OF_A_MECHANISM
from moldau.config.topic import TOPIC_SETTINGS, topic_config

UNKNOWN_TYPE = 0
_NODE_IDS: Final = ("node.id", "broker.id")


class ConfigSource(IntEnum):
    """Kafka's numbers for where a value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class Description(NamedTuple):
    """One setting of one resource. Values of secrets are None."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    type: int
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


class Dynamic(NamedTuple):
    """The dynamic settings in the metadata that concern one broker."""

    broker: Mapping[str, str] = {}
    cluster: Mapping[str, str] = {}


NOTHING_DYNAMIC = Dynamic()


def describe_topic(
    config: BrokerConfig,
    overrides: Mapping[str, str],
    dynamic: Dynamic = NOTHING_DYNAMIC,
    names: Collection[str] | None = None,
) -> list[Description]:
    """A topic's settings. `config` is the broker's with its dynamic settings in effect; `names` None means all."""
    resolved = topic_config(config.log_defaults(), overrides)
    descriptions = []
    for setting in _chosen(TOPIC_SETTINGS.values(), names):
        text = _topic_value(setting, config, overrides, resolved)
        synonyms = tuple(_synonyms(config, dynamic, setting.synonyms[:1]))
        if setting.name in overrides:
            synonyms = (Synonym(setting.name, text, ConfigSource.DYNAMIC_TOPIC_CONFIG), *synonyms)
        descriptions.append(
            Description(
                name=setting.name,
                value=text,
                source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
                read_only=False,
                sensitive=False,
                synonyms=synonyms,
                type=setting.kind.number,
                documentation=setting.meaning,
            )
        )
    return descriptions


def describe_group(
    config: BrokerConfig,
    overrides: Mapping[str, str],
    dynamic: Dynamic = NOTHING_DYNAMIC,
    names: Collection[str] | None = None,
) -> list[Description]:
    """A group's settings, whatever kind of group it is; the broker's stand behind them."""
    descriptions = []
    for setting in _chosen(GROUP_SETTINGS.values(), names):
        synonyms = tuple(_synonyms(config, dynamic, setting.synonyms))
        text = synonyms[0].value if synonyms else setting.text(setting.default)
        if setting.name in overrides:
            text = setting.text(setting.parse(overrides[setting.name]))
            synonyms = (Synonym(setting.name, text, ConfigSource.GROUP_CONFIG), *synonyms)
        descriptions.append(
            Description(
                name=setting.name,
                value=text,
                source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
                read_only=False,
                sensitive=False,
                synonyms=synonyms,
                type=setting.kind.number,
                documentation=setting.meaning,
            )
        )
    return descriptions


def describe_client_metrics(overrides: Mapping[str, str], names: Collection[str] | None = None) -> list[Description]:
    """The settings of a subscription; one that nobody has set anything of has the defaults."""
    descriptions = []
    for setting in _chosen(CLIENT_METRICS_SETTINGS.values(), names):
        default = Synonym(setting.name, setting.text(setting.default), ConfigSource.DEFAULT_CONFIG)
        synonyms: tuple[Synonym, ...] = (default,)
        if setting.name in overrides:
            text = setting.text(setting.parse(overrides[setting.name]))
            synonyms = (Synonym(setting.name, text, ConfigSource.CLIENT_METRICS_CONFIG), default)
        descriptions.append(
            Description(
                name=setting.name,
                value=synonyms[0].value,
                source=synonyms[0].source,
                read_only=False,
                sensitive=False,
                synonyms=synonyms,
                type=setting.kind.number,
                documentation=setting.meaning,
            )
        )
    return descriptions


def describe_broker(
    config: BrokerConfig, dynamic: Dynamic = NOTHING_DYNAMIC, names: Collection[str] | None = None
) -> list[Description]:
    """A broker's settings: every one there is, and those of its listeners that are set."""
    special = [
        name for name in {**config.originals, **dynamic.cluster, **dynamic.broker} if name not in BROKER_SETTINGS
    ]
    descriptions = [
        _describe_broker_setting(config, dynamic, setting.name) for setting in _chosen(BROKER_SETTINGS.values(), names)
    ]
    descriptions += [
        _describe_broker_setting(config, dynamic, name) for name in special if names is None or name in names
    ]
    return descriptions


def describe_broker_defaults(dynamic: Dynamic, names: Collection[str] | None = None) -> list[Description]:
    """The dynamic settings of all brokers together: only those that are set."""
    descriptions = []
    for name, text in dynamic.cluster.items():
        if names is not None and name not in names:
            continue
        sensitive = is_sensitive(BROKER_SETTINGS, name)
        synonym = Synonym(name, None if sensitive else text, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
        descriptions.append(_description(name, synonym.value, (synonym,)))
    return descriptions


def _describe_broker_setting(config: BrokerConfig, dynamic: Dynamic, name: str) -> Description:
    if name in _NODE_IDS:
        return _describe_node_id(config, name)
    sensitive = is_sensitive(BROKER_SETTINGS, name)
    synonyms = list(_synonyms(config, dynamic, _broker_synonyms(name)))
    # What a coarser setting says stands behind the finer one, but not before it: `log.retention.ms` has no value
    # because `log.retention.hours` has one.
    while synonyms and synonyms[0].name != name:
        synonyms.pop(0)
    if sensitive:
        return _description(name, None, tuple(Synonym(s.name, None, s.source) for s in synonyms))
    return _description(name, _broker_value(config, dynamic, name), tuple(synonyms))


def _describe_node_id(config: BrokerConfig, name: str) -> Description:
    """Both names answer with the number the node has, whichever was given; a standalone node is 1 by default."""
    value = str(config.node_id)
    default = Synonym(name, "-1", ConfigSource.DEFAULT_CONFIG)
    if any(given in config.originals for given in _NODE_IDS):
        synonym = Synonym(name, value, ConfigSource.STATIC_BROKER_CONFIG)
        return _description(name, value, (synonym,) if name == "node.id" else (synonym, default))
    return _description(name, value, (default._replace(value=value),))


def _description(name: str, value: str | None, synonyms: tuple[Synonym, ...]) -> Description:
    setting = _setting_or_none(name)
    return Description(
        name=name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=update_mode(name) is UpdateMode.READ_ONLY,
        sensitive=is_sensitive(BROKER_SETTINGS, name),
        synonyms=synonyms,
        type=UNKNOWN_TYPE if setting is None else setting.kind.number,
        documentation=None if setting is None else setting.meaning,
    )


def _broker_value(config: BrokerConfig, dynamic: Dynamic, name: str) -> str | None:
    """The value that counts, as text: normalised where the broker holds it, as it was given where it does not."""
    setting = BROKER_SETTINGS.get(name)
    if setting is not None and setting.attribute in vars(config):
        return setting.text(vars(config)[setting.attribute])
    for source in (dynamic.broker, dynamic.cluster, config.originals):
        if name in source:
            return source[name]
    return None if setting is None else setting.text(setting.default)


def _topic_value(
    setting: Setting[Any], config: BrokerConfig, overrides: Mapping[str, str], resolved: object
) -> str | None:
    if setting.name in overrides:
        return setting.text(setting.parse(overrides[setting.name]))
    if setting.name == "cleanup.policy":
        return setting.text(config.log_cleanup_policy)
    return setting.text(getattr(resolved, setting.attribute, setting.default))


def _chosen(settings: Iterable[Setting[Any]], names: Collection[str] | None) -> Iterator[Setting[Any]]:
    return (row for row in settings if not row.internal and (names is None or row.name in names))


def _synonyms(config: BrokerConfig, dynamic: Dynamic, names: Iterable[str]) -> Iterator[Synonym]:
    """Where broker settings of these names are set, in the order in which they count."""
    names = tuple(names)
    sources = (
        (dynamic.broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (dynamic.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (config.originals, ConfigSource.STATIC_BROKER_CONFIG),
    )
    for texts, source in sources:
        for name in names:
            if name in texts:
                yield Synonym(name, texts[name], source)
    for name in names:
        setting = BROKER_SETTINGS.get(name)
        default = None if setting is None else setting.text(setting.default)
        if default is not None:
            yield Synonym(name, default, ConfigSource.DEFAULT_CONFIG)


def _broker_synonyms(name: str) -> tuple[str, ...]:
    for row in LOG_SYNONYMS:
        # A setting that only stands in for another one is not answered by it.
        if name in row and name != "log.flush.scheduler.interval.ms":
            return row
    if name.startswith("listener.name."):
        base = name.split(".", 3)[-1]
        return name, next((plain for plain in OF_A_MECHANISM if base.endswith(plain)), base)
    return (name,)


def _setting_or_none(name: str) -> Setting[Any] | None:
    if name.startswith("listener.name."):
        try:
            return listener_setting(name)
        except ConfigError:
            return None
    return BROKER_SETTINGS.get(name)
