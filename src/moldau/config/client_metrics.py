"""Which clients push which of their metrics, and how often: the settings of a subscription (CLIENT_METRICS, KIP-714).

`metrics` are beginnings of names, `*` is all of them. `match` says which clients are meant: each of its items is the
name of something the node knows of a client, and a pattern for the whole of it; a client has to fit all of them, and
none means everybody. Patterns are matched by RE2: clients choose their names, and no name may hold up the node. What
Java's engine has beyond that, looking around and groups that repeat, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from moldau.config.definition import INT, LIST, MEDIUM, Allowed, ConfigError, Setting, between, settings_of
from moldau.errors import ErrorCode, KafkaError

ALL_METRICS: Final = "*"
CLIENT_INSTANCE_ID: Final = "client_instance_id"
CLIENT_ID: Final = "client_id"
SOFTWARE_NAME: Final = "client_software_name"
SOFTWARE_VERSION: Final = "client_software_version"
SOURCE_ADDRESS: Final = "client_source_address"
SOURCE_PORT: Final = "client_source_port"

_ATTRIBUTES: Final = (CLIENT_INSTANCE_ID, CLIENT_ID, SOFTWARE_NAME, SOFTWARE_VERSION, SOURCE_ADDRESS, SOURCE_PORT)
# What the engine may use for a pattern. It holds up everybody while it compiles: this keeps that below a millisecond.
_PATTERN_MEMORY: Final = 128 << 10
_FILLED: Final[Allowed[Any]] = Allowed("a list without empty items", lambda items: "" not in items)


# fmt: off
class ClientMetricsSettings:
    metrics = Setting("metrics", LIST, (), _FILLED, MEDIUM,
        "Beginnings of the names of metrics that clients are to push; * for all of them.")
    interval_ms = Setting("interval.ms", INT, 300_000, between(100, 3_600_000), MEDIUM,
        "How often clients push.")
    match = Setting("match", LIST, (), _FILLED, MEDIUM,
        f"Which clients: items of the form NAME=PATTERN with a name of {', '.join(_ATTRIBUTES)}. All of them if it is "
        "empty.")
# fmt: on


CLIENT_METRICS_SETTINGS: Final[Mapping[str, Setting[Any]]] = settings_of(ClientMetricsSettings)


class ClientMetricsConfig(NamedTuple):
    metrics: Sequence[str]
    interval_ms: int
    # Compiled, by the attribute of a client that has to fit.
    match: Mapping[str, Any]


def client_metrics_config(settings: Mapping[str, str]) -> ClientMetricsConfig:
    """KafkaError for what is not allowed, with the code Kafka has for it."""
    for name in settings:
        if name not in CLIENT_METRICS_SETTINGS:
            known = ", ".join(CLIENT_METRICS_SETTINGS)
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is no setting of client metrics: there are {known}.")
    interval = ClientMetricsSettings.interval_ms
    text = settings.get(interval.name)
    try:
        patterns = _value(ClientMetricsSettings.match, settings)
        return ClientMetricsConfig(
            _value(ClientMetricsSettings.metrics, settings),
            interval.default if text is None else interval.parse(text),
            dict(_compiled(item) for item in patterns),
        )
    except ConfigError as error:
        # Kafka looks at the interval's range by itself, and has another code for what it finds.
        code = ErrorCode.INVALID_REQUEST if text is not None and _is_out_of_range(text) else ErrorCode.INVALID_CONFIG
        raise KafkaError(code, f"{error}.") from None


def _value(setting: Setting[Sequence[str]], settings: Mapping[str, str]) -> Sequence[str]:
    text = settings.get(setting.name)
    return setting.default if text is None else setting.parse(text)


def _is_out_of_range(text: str) -> bool:
    try:
        value = INT.parse(text)
    except ValueError:
        return False
    return not 100 <= value <= 3_600_000


def _compiled(item: str) -> tuple[str, Any]:
    name, _, pattern = item.partition("=")
    name, pattern = name.strip(), pattern.strip()
    if name not in _ATTRIBUTES or not pattern or "=" in pattern:
        raise ConfigError(
            f"match cannot contain {item!r}: it must be NAME=PATTERN with a name of {', '.join(_ATTRIBUTES)}"
        )
    # A megabyte of native code, for those who have subscriptions.
    import re2

    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        return name, re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ConfigError(
            f"match cannot contain the pattern {pattern!r}: {words} (patterns are those of RE2)"
        ) from None
    finally:
        # The binding remembers what it compiled, with all the memory that goes with it.
        re2.purge()
