"""What may be changed while the cluster runs, and what a change makes of the settings stored in its metadata.

These are the rules behind AlterConfigs and IncrementalAlterConfigs. They work on the stored texts of one resource and
return the changes: a new text, or None where a setting is removed and its default counts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from moldau.config.broker import BROKER_SETTINGS, BrokerConfig, broker_setting, is_foreign, listener_setting
from moldau.config.definition import LIST, PASSWORD, READ_ONLY, ConfigError, Setting, UpdateMode
from moldau.errors import ErrorCode, KafkaError

# Changes of TLS stores reach a listener, never the broker as a whole, so that one typing error cannot cut off all.
_ONLY_FOR_A_LISTENER = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)


class Operation(IntEnum):
    """Kafka's numbers for what IncrementalAlterConfigs does to one setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def incremental_changes(
    settings: Mapping[str, Setting[Any]],
    current: Mapping[str, str],
    operations: Iterable[tuple[str, int, str | None]],
) -> dict[str, str | None]:
    """What operations `(name, operation, value)` make of the stored settings of a resource.

    APPEND and SUBTRACT start from the stored list, or from the default where none is stored. Values are checked
    afterwards and together, by `topic_config` or `check_dynamic`.
    """
    changes: dict[str, str | None] = {}
    for name, number, value in operations:
        if name in changes:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} appears twice in the request")
        operation = _operation(name, number)
        if operation is Operation.DELETE:
            changes[name] = None
            continue
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} has no value to {operation.name}")
        if operation is not Operation.SET:
            value = _changed_list(settings.get(name), name, current.get(name), operation, value)
        changes[name] = value
    return changes


def replacing_changes(current: Mapping[str, str], new: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """What AlterConfigs makes of the stored settings: all that it does not name are removed."""
    changes: dict[str, str | None] = {}
    for name, value in new:
        if name in changes:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} appears twice in the request")
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} has no value to SET")
        changes[name] = value
    changes.update((name, None) for name in current if name not in changes)
    return changes


def changed(current: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The stored settings after the changes."""
    merged = {**current, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def check_dynamic(stored: Mapping[str, str], *, per_broker: bool) -> None:
    """Whether these may be the dynamic settings of one broker, or of all; ConfigError for the first that may not.

    As in Kafka, what nobody knows is kept: it may be meant for another broker, or for a later one.
    """
    for name, text in stored.items():
        if is_foreign(name):
            continue
        setting = listener_setting(name) if name.startswith("listener.name.") else broker_setting(name)
        if name in _ONLY_FOR_A_LISTENER:
            raise ConfigError(f"{name} can only be changed for one listener, as listener.name.<name>.{name}")
        if setting.name.startswith("ssl.") and name != setting.name and setting.name not in _ONLY_FOR_A_LISTENER:
            raise ConfigError(
                f"{name} cannot be changed while the broker runs: of a listener's TLS only its stores can"
            )
        mode = update_mode(name)
        if mode is READ_ONLY:
            raise ConfigError(f"{name} cannot be changed while the broker runs")
        if mode is UpdateMode.PER_BROKER and not per_broker:
            raise ConfigError(f"{name} can only be changed for one broker, not for all at once")
        setting.parse(text)


def update_mode(name: str) -> UpdateMode:
    """How a broker setting may be changed. Set for a listener it is one broker's matter, but for connection limits."""
    if not name.startswith("listener.name."):
        setting = BROKER_SETTINGS.get(name)
        return READ_ONLY if setting is None else setting.update_mode
    setting = listener_setting(name)
    if setting.update_mode is UpdateMode.CLUSTER_WIDE:
        return UpdateMode.CLUSTER_WIDE
    return UpdateMode.PER_BROKER


def check_node(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
    """The settings of a node under these dynamic ones, checked together with its file."""
    check_dynamic(config.referred(cluster), per_broker=False)
    check_dynamic(config.referred(broker), per_broker=True)
    return config.with_dynamic(cluster, broker)


def is_sensitive(settings: Mapping[str, Setting[Any]], name: str) -> bool:
    """Whether a value must not be shown; what is not known might be a secret."""
    if name.startswith("listener.name."):
        try:
            return listener_setting(name).kind.number == PASSWORD.number
        except ConfigError:
            return True
    setting = settings.get(name)
    return setting is None or setting.sensitive


def is_secret(name: str) -> bool:
    """Whether a broker's setting of this name is one; of what is not known it cannot be said."""
    try:
        setting = listener_setting(name) if name.startswith("listener.name.") else BROKER_SETTINGS.get(name)
    except ConfigError:
        return False
    return setting is not None and setting.sensitive


def _operation(name: str, number: int) -> Operation:
    try:
        return Operation(number)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{number} is not an operation on {name}") from None


def _changed_list(setting: Setting[Any] | None, name: str, stored: str | None, operation: Operation, value: str) -> str:
    if setting is None or setting.kind.number != LIST.number:
        raise ConfigError(f"{name} is not a list, so {operation.name} is not possible: use SET")
    items = list(setting.default or () if stored is None else LIST.parse(stored))
    for item in LIST.parse(value):
        if operation is Operation.SUBTRACT:
            if item in items:
                items.remove(item)
        elif item not in items:
            items.append(item)
    return ",".join(items)
