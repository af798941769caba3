"""The settings of a node: what `server.properties` says, parsed, completed and checked as a whole.

`BrokerConfig` gathers the tables in `settings/`; its attributes are the values under Kafka's names in snake case.
Values that follow from several settings (endpoints, directories, the defaults of topics) are worked out once, when the
file is read, because that is also when a mistake in them should be told.

Unknown names are refused, unlike in Kafka, which hands them to plugins: there are no plugins here, and a misspelt
setting that silently does nothing is the worse surprise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, TypeVar

from moldau.config.consistency import check
from moldau.config.definition import ConfigError, Setting, closest, settings_of
from moldau.config.listeners import Endpoint, SecurityProtocol, parse_endpoints, parse_protocol_map
from moldau.config.sealing import unseal
from moldau.config.settings.coordinator import CoordinatorSettings
from moldau.config.settings.groups import GroupTypeSettings
from moldau.config.settings.inert import GUARDS, INERT, PLUGIN_PREFIXES, REFUSED
from moldau.config.settings.log import LogSettings
from moldau.config.settings.network import NetworkSettings
from moldau.config.settings.quorum import QuorumSettings
from moldau.config.settings.replication import ReplicationSettings
from moldau.config.settings.security import OF_A_MECHANISM, SecuritySettings
from moldau.config.settings.share import ShareCoordinatorSettings
from moldau.config.topic import LogConfig, check_together

T = TypeVar("T")


class References(Protocol):
    def taken(self, name: str, text: str) -> str:
        """The text of a setting with what it refers to; ConfigError, which shows no value, if that is not there."""
        ...

    def is_one(self, text: str) -> bool:
        """Whether it is a reference as a whole: then it is no secret itself, whatever it leads to."""
        ...


TABLES: Final = (
    QuorumSettings,
    NetworkSettings,
    LogSettings,
    ReplicationSettings,
    CoordinatorSettings,
    GroupTypeSettings,
    SecuritySettings,
    ShareCoordinatorSettings,
)
BROKER_SETTINGS: Final[Mapping[str, Setting[Any]]] = {
    **settings_of(*TABLES),
    **{row.name: row for row in (*INERT, *GUARDS)},
}
# What listeners may have limits of their own for. Everything else that may carry a listener's prefix is TLS and SASL.
OF_A_LISTENER: Final = (
    "max.connections",
    "max.connection.creation.rate",
    "sasl.enabled.mechanisms",
    "sasl.kerberos.service.name",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.header.urlencode",
    *OF_A_MECHANISM,
)

_DEFAULTS: Final = {row.attribute: row.default for row in settings_of(*TABLES).values()}
_LISTENER_PREFIX: Final = "listener.name."
_MINUTE = 60_000
_HOUR = 60 * _MINUTE


class BrokerConfig(
    QuorumSettings,
    NetworkSettings,
    LogSettings,
    ReplicationSettings,
    CoordinatorSettings,
    GroupTypeSettings,
    SecuritySettings,
    ShareCoordinatorSettings,
):
    """Immutable; a change of dynamic settings makes another one (see `with_dynamic`)."""

    originals: Mapping[str, str]
    """What the file said, as text."""
    remarks: tuple[str, ...]
    """Sentences about settings that were accepted but do nothing; for the log of the starting node."""
    standalone: bool
    """A quorum of one that nobody joins: no `process.roles` was given."""
    is_broker: bool
    is_controller: bool
    log_directories: tuple[str, ...]
    metadata_log_directory: str
    broker_endpoints: tuple[Endpoint, ...]
    """Where the node listens for clients and brokers."""
    controller_endpoints: tuple[Endpoint, ...]
    """Where the node listens for controllers and, as one, for brokers."""
    advertised_broker_endpoints: tuple[Endpoint, ...]
    advertised_controller_endpoints: tuple[Endpoint, ...]
    listener_protocols: Mapping[str, SecurityProtocol]
    inter_broker_listener: str

    references: References | None
    """What takes the values that dynamic settings only refer to (`${file:PATH:NAME}`), where the file has providers."""

    def __init__(self, values: Mapping[str, Any], originals: Mapping[str, str]) -> None:
        fields = self.__dict__
        fields.update(_DEFAULTS)
        fields.update(values)
        fields["originals"] = dict(originals)
        fields["references"] = None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings cannot be changed after they were read: {name}")

    @classmethod
    def parse(cls, properties: Mapping[str, str], references: References | None = None) -> BrokerConfig:
        """Settings from text; ConfigError for an unknown name, a value that is not allowed, or a contradiction."""
        values: dict[str, Any] = {}
        remarks: list[str] = []
        overrides: dict[str, Any] = {}
        for name, text in properties.items():
            if name.startswith(_LISTENER_PREFIX):
                setting = listener_setting(name)
                overrides[name.lower()] = setting.parse(text)
                reason = setting.no_effect or (
                    None if _is_of_a_listener(setting) else "all listeners share this setting"
                )
                if reason is not None:
                    remarks.append(f"{name} has no effect here: {reason}")
                continue
            if name.startswith(PLUGIN_PREFIXES):
                remarks.append(f"{name} has no effect here: it belongs to a Kafka plugin")
                continue
            setting = broker_setting(name)
            value = setting.parse(text)
            if setting.no_effect is not None and value != setting.default:
                remarks.append(f"{name} has no effect here: {setting.no_effect}")
            if setting.attribute in _DEFAULTS:
                values[setting.attribute] = value
        config = cls(values, properties)
        config.__dict__.update(remarks=tuple(remarks), references=references, _listener_overrides=overrides)
        config._complete()
        config._check()
        return config

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """The same node under dynamic settings: the cluster's above the file, this broker's own above both."""
        if not cluster and not broker:
            return self
        dynamic = {**cluster, **broker}
        foreign = sorted(name for name in dynamic if is_foreign(name))
        secrets = self.password_encoder_secret, self.password_encoder_old_secret
        own = {name: unseal(name, text, *secrets) for name, text in dynamic.items() if name not in foreign}
        changed = BrokerConfig.parse({**self.originals, **self.referred(own)}, self.references)
        remarks = [f"{name} has no effect here: there is no such setting" for name in foreign]
        changed.__dict__.update(originals=self.originals, remarks=(*changed.remarks, *remarks))
        return changed

    def referred(self, dynamic: Mapping[str, str]) -> dict[str, str]:
        """Dynamic settings with what they refer to in its place; ConfigError if that is not to be had."""
        if self.references is None:
            return dict(dynamic)
        taken = {name: self.references.taken(name, text) for name, text in dynamic.items()}
        for name, text in taken.items():
            if text != dynamic[name] and not is_foreign(name):
                setting = listener_setting(name) if name.startswith(_LISTENER_PREFIX) else broker_setting(name)
                try:
                    setting.parse(text)
                except ConfigError:
                    # Its words show the text, which whoever referred to it may not be allowed to read.
                    raise ConfigError(f"{name} is not allowed to be what {dynamic[name]} leads to") from None
        return taken

    def with_stored(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> tuple[BrokerConfig, list[str]]:
        """The same for settings that are stored already, with those that cannot be taken over, and why.

        They were allowed when they were set, but the file may have changed since, or the rules. A node must start with
        them: as many of them count as go together, the others are as if they had not been set.
        """
        try:
            return self.with_dynamic(cluster, broker), []
        except ConfigError:
            waiting = {**cluster, **broker}
        config, taken = self, dict[str, str]()
        refusals: dict[str, str] = {}
        progress = True
        while progress:  # some are allowed only together with others
            progress = False
            for name, text in list(waiting.items()):
                try:
                    config = self.with_dynamic({**taken, name: text}, {})
                except ConfigError as error:
                    refusals[name] = str(error)
                else:
                    taken[name] = waiting.pop(name)
                    progress = True
        return config, [f"{_shown(name, text)} is not taken over: {refusals[name]}" for name, text in waiting.items()]

    def for_listener(self, setting: Setting[T], listener: str, mechanism: str | None = None) -> T:
        """A setting as it counts on one listener, and there for one SASL mechanism."""
        prefix = f"{_LISTENER_PREFIX}{listener}.".lower()
        overrides: Mapping[str, T] = self.__dict__["_listener_overrides"]
        names = [f"{prefix}{mechanism}.{setting.name}".lower()] if mechanism else []
        for name in (*names, prefix + setting.name):
            if name in overrides:
                return overrides[name]
        value: T = self.__dict__[setting.attribute]
        return value

    def is_set_for(self, setting: Setting[Any], listener: str) -> bool:
        """Whether one listener has a value of its own."""
        return f"{_LISTENER_PREFIX}{listener}.{setting.name}".lower() in self.__dict__["_listener_overrides"]

    def log_defaults(self) -> LogConfig:
        """What a topic's settings are where it has none of its own."""
        return LogConfig(
            segment_bytes=self.log_segment_bytes,
            segment_ms=_first(self.log_roll_ms, self.log_roll_hours * _HOUR),
            segment_jitter_ms=_first(self.log_roll_jitter_ms, self.log_roll_jitter_hours * _HOUR),
            segment_index_bytes=self.log_index_size_max_bytes,
            flush_messages=self.log_flush_interval_messages,
            flush_ms=_first(self.log_flush_interval_ms, self.log_flush_scheduler_interval_ms),
            retention_bytes=self.log_retention_bytes,
            retention_ms=self._retention_ms(),
            max_message_bytes=self.message_max_bytes,
            index_interval_bytes=self.log_index_interval_bytes,
            delete_retention_ms=self.log_cleaner_delete_retention_ms,
            min_compaction_lag_ms=self.log_cleaner_min_compaction_lag_ms,
            max_compaction_lag_ms=self.log_cleaner_max_compaction_lag_ms,
            file_delete_delay_ms=self.log_segment_delete_delay_ms,
            min_cleanable_dirty_ratio=self.log_cleaner_min_cleanable_ratio,
            compact="compact" in self.log_cleanup_policy,
            delete="delete" in self.log_cleanup_policy,
            unclean_leader_election_enable=self.unclean_leader_election_enable,
            min_insync_replicas=self.min_insync_replicas,
            compression_type=self.compression_type,
            compression_gzip_level=self.compression_gzip_level,
            compression_lz4_level=self.compression_lz4_level,
            compression_zstd_level=self.compression_zstd_level,
            preallocate=self.log_preallocate,
            message_timestamp_type=self.log_message_timestamp_type,
            message_timestamp_before_max_ms=self.log_message_timestamp_before_max_ms,
            message_timestamp_after_max_ms=self.log_message_timestamp_after_max_ms,
        )

    def _retention_ms(self) -> int:
        minutes = self.log_retention_minutes
        coarse = self.log_retention_hours * _HOUR if minutes is None else minutes * _MINUTE
        return max(_first(self.log_retention_ms, coarse), -1)

    def _complete(self) -> None:
        """Works out what follows from several settings together."""
        fields = self.__dict__
        given = self.originals
        if "node.id" not in given and "broker.id" in given:
            fields["node_id"] = self.broker_id
        fields["standalone"] = "process.roles" not in given
        if self.standalone and "node.id" not in given and "broker.id" not in given:
            fields["node_id"] = 1
        fields["is_broker"] = "broker" in self.process_roles
        fields["is_controller"] = "controller" in self.process_roles
        fields["log_directories"] = tuple(self.log_dir if self.log_dirs is None else self.log_dirs)
        fields["metadata_log_directory"] = self.metadata_log_dir or self.log_directories[0]
        self._complete_endpoints()

    def _complete_endpoints(self) -> None:
        fields = self.__dict__
        controllers = tuple(name.upper() for name in self.controller_listener_names)
        protocols = self._protocols(controllers)
        endpoints = parse_endpoints("listeners", self.listeners, protocols, distinct_ports=True)
        advertised = endpoints
        if self.advertised_listeners is not None:
            advertised = parse_endpoints(
                "advertised.listeners", self.advertised_listeners, protocols, distinct_ports=False
            )
        fields["listener_protocols"] = protocols
        fields["broker_endpoints"] = tuple(e for e in endpoints if e.name not in controllers)
        fields["controller_endpoints"] = tuple(e for e in endpoints if e.name in controllers)
        fields["advertised_broker_endpoints"] = tuple(e for e in advertised if e.name not in controllers)
        # A controller listener that is not advertised is reached where it listens.
        reachable = {e.name: e for e in (*endpoints, *advertised) if e.name in controllers}
        fields["advertised_controller_endpoints"] = tuple(reachable[name] for name in controllers if name in reachable)
        name = self.inter_broker_listener_name
        fields["inter_broker_listener"] = name.upper() if name is not None else self.security_inter_broker_protocol

    def _protocols(self, controllers: Iterable[str]) -> dict[str, SecurityProtocol]:
        """The protocol of every listener. Controller listeners are PLAINTEXT unless the map is given or TLS or SASL is
        in use somewhere: then forgetting them must not open an unprotected door."""
        protocols = parse_protocol_map(self.listener_security_protocol_map)
        if "listener.security.protocol.map" not in self.originals:
            names = {item.partition("://")[0].strip().upper() for item in self.listeners} | set(controllers)
            if not names & {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}:
                protocols.update(dict.fromkeys(controllers, SecurityProtocol.PLAINTEXT))
        return protocols

    def _check(self) -> None:
        check_together(self.log_defaults())
        check(self)


def listener_setting(name: str) -> Setting[Any]:
    """The setting that `listener.name.<listener>.[<mechanism>.]<setting>` sets for one listener."""
    _, _, rest = name.removeprefix(_LISTENER_PREFIX).partition(".")
    setting = BROKER_SETTINGS.get(rest)
    if setting is None:
        base = next((base for base in OF_A_MECHANISM if rest.endswith("." + base)), None)
        if base is None:
            raise ConfigError(f"{name} is not a setting of a listener" + _hint(rest))
        setting = BROKER_SETTINGS[base]
    return setting


def broker_setting(name: str) -> Setting[Any]:
    """The setting of this name, or ConfigError that says why there is none."""
    setting = BROKER_SETTINGS.get(name)
    if setting is not None:
        return setting
    if name.startswith("zookeeper."):
        raise ConfigError(f"{name} belongs to ZooKeeper mode, but this node runs KRaft: remove it")
    reason = REFUSED.get(name) or REFUSED.get(".".join(name.split(".")[:2]))
    if reason is not None:
        raise ConfigError(f"{name} cannot be set: {reason}")
    raise ConfigError(f"{name} is not a setting of this broker" + _hint(name))


def _shown(name: str, text: str) -> str:
    """A setting for the log, without what is secret."""
    try:
        setting = listener_setting(name) if name.startswith(_LISTENER_PREFIX) else broker_setting(name)
    except ConfigError:
        return name
    return name if setting.sensitive else f"{name}={text}"


def _is_of_a_listener(setting: Setting[Any]) -> bool:
    """Whether a listener may have a value of its own that counts there."""
    return setting.name in OF_A_LISTENER or setting.name.startswith("ssl.")


def is_foreign(name: str) -> bool:
    """Whether nobody knows the name; what is refused for a reason is known well."""
    known = name in BROKER_SETTINGS or name in REFUSED or ".".join(name.split(".")[:2]) in REFUSED
    return not known and not name.startswith((_LISTENER_PREFIX, "zookeeper.", *PLUGIN_PREFIXES))


def _hint(name: str) -> str:
    meant = closest(name, list(BROKER_SETTINGS))
    return f"; the closest one is {meant}" if meant else ""


def _first(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
