"""The part of `KafkaAdminClient` for settings that live in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from moldau.client.admin import configs
from moldau.client.admin.configs import ConfigOperation, ConfigSource
from moldau.client.admin.objects import ConfigResource, ConfigSourceType
from moldau.client.exceptions import named
from moldau.client.session import Session

_KNOWN: Final = frozenset(ConfigSourceType)

# What counts as modified: set for this very resource.
_INHERITED: Final = (ConfigSource.ALL_BROKERS, ConfigSource.SERVER_PROPERTIES, ConfigSource.DEFAULT)

_FILTERS: Final = ("ALL", "DYNAMIC", "MODIFIED", "DEFAULT", "STATIC")


class ConfigAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: Any = "modified",
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """By type and name of the resource; `config_filter="all"` includes what is at its default."""
        described: dict[str, dict[str, dict[str, Any]]] = {}
        wanted = _filter(config_filter)
        for resource in config_resources:
            names = None if resource.configs is None else list(resource.configs)
            where = configs.ConfigResource(resource.resource_type, resource.name)
            values = self._session.ask(configs.describe_configs(where, names))
            described.setdefault(resource.resource_type.name.lower(), {})[resource.name] = {
                value.name: _config(value, include_synonyms) for value in values if _wanted(value.source, wanted)
            }
        return described

    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Sets the given settings and leaves all others as they are: a value, or a pair of operation and value.

        The first that is refused is raised; a name nobody knows is refused by the broker, so `raise_on_unknown` says
        nothing new. `incremental=False` would put everything that is not named back to its default, and is not done.
        """
        return self._alter(
            {
                configs.ConfigResource(resource.resource_type, resource.name): [
                    _change(name, given) for name, given in dict(resource.configs or {}).items()
                ]
                for resource in config_resources
            },
            validate_only,
            incremental,
        )

    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Puts the named settings back to their defaults."""
        return self._alter(
            {
                configs.ConfigResource(resource.resource_type, resource.name): [
                    configs.ConfigChange(name, ConfigOperation.DELETE) for name in resource.configs or ()
                ]
                for resource in config_resources
            },
            validate_only,
            incremental,
        )

    def list_config_resources(self, resource_types: Iterable[Any] | None = None) -> dict[str, list[str]]:
        """What has settings of its own, by type."""
        types = [
            configs.ResourceType[each.upper()] if isinstance(each, str) else configs.ResourceType(each)
            for each in resource_types or ()
        ]
        listed: dict[str, list[str]] = {}
        for resource in self._session.ask(configs.list_config_resources(types)):
            listed.setdefault(resource.type.name.lower(), []).append(resource.name)
        return listed

    def _alter(
        self,
        changes: Mapping[configs.ConfigResource, Sequence[configs.ConfigChange]],
        validate_only: bool,
        incremental: bool | None,
    ) -> dict[str, dict[str, str]]:
        if incremental is False:
            raise ValueError("settings are changed one by one here; incremental=False would reset all others")
        done: dict[str, dict[str, str]] = {}
        for resource, error in self._session.ask(configs.alter_configs(changes, validate_only=validate_only)).items():
            if error is not None:
                raise named(error)
            done.setdefault(resource.type.name.lower(), {})[resource.name] = "OK"
        return done


def source_name(number: int) -> str:
    """Kafka's own name for where a value comes from."""
    return (ConfigSourceType(number) if number in _KNOWN else ConfigSourceType.UNKNOWN).name


def _filter(given: Any) -> str:
    name = _FILTERS[given] if type(given) is int else str(getattr(given, "name", given)).upper()
    if name not in _FILTERS:
        raise ValueError(f"config_filter is one of {', '.join(_FILTERS).lower()}, not {given!r}")
    return name


def _wanted(source: ConfigSource, wanted: str) -> bool:
    if wanted == "MODIFIED":
        return source not in _INHERITED
    if wanted == "DEFAULT":
        return source in _INHERITED
    return source is ConfigSource.SERVER_PROPERTIES if wanted == "STATIC" else True


def _config(value: configs.ConfigValue, synonyms: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "value": value.value,
        "read_only": value.read_only,
        "is_sensitive": value.sensitive,
        "config_source": source_name(value.source),
        "config_type": value.type.name,
        "documentation": value.documentation,
        "synonyms": [],
    }
    if synonyms:
        described["synonyms"] = [
            {"name": name, "value": content, "source": source_name(source)} for name, content, source in value.synonyms
        ]
    return described


def _change(name: str, given: Any) -> configs.ConfigChange:
    operation, value = given if isinstance(given, tuple) else (ConfigOperation.SET, given)
    if isinstance(operation, str):
        operation = ConfigOperation[operation.upper()]
    return configs.ConfigChange(name, ConfigOperation(operation), None if value is None else str(value))
