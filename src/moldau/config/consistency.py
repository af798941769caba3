"""The rules between settings of a node, as Kafka checks them when it starts.

Each rule stands alone and says what must change, because whoever reads the sentence is starting a broker that does
not start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.config.definition import ConfigError

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig


def check(config: BrokerConfig) -> None:
    """ConfigError for the first rule that is broken."""
    _check_identity(config)
    _check_quorum(config)
    if config.is_controller:
        _check_controller(config)
        _check_sasl_between_controllers(config)
    if config.is_broker:
        _check_broker_listeners(config)
        _check_sasl_between_brokers(config)
    _check_advertised(config)
    _check_log(config)
    _check_replication(config)
    _check_network(config)
    _check_groups(config)


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise ConfigError(sentence)


def _check_identity(config: BrokerConfig) -> None:
    _require(config.node_id >= 0, "node.id is required where process.roles is set: a number, different for every node")
    _require(
        "broker.id" not in config.originals or config.broker_id == config.node_id,
        f"broker.id ({config.broker_id}) and node.id ({config.node_id}) must be the same",
    )
    for name in ("controller.quorum.voters", "controller.quorum.bootstrap.servers"):
        _require(
            not config.standalone or not config.originals.get(name),
            f"process.roles is required where {name} is set: broker, controller or both",
        )


def _check_quorum(config: BrokerConfig) -> None:
    if config.standalone:
        return
    voters = {int(item.partition("@")[0]) for item in config.controller_quorum_voters}
    roles = ",".join(config.process_roles)
    _require(
        bool(voters or config.controller_quorum_bootstrap_servers),
        f"process.roles={roles} requires controller.quorum.bootstrap.servers or controller.quorum.voters, to find the "
        "controllers",
    )
    _require(bool(config.controller_listener_names), f"process.roles={roles} requires controller.listener.names")
    if config.is_controller:
        _require(
            not voters or config.node_id in voters,
            f"controller.quorum.voters must contain node.id {config.node_id}, because process.roles={roles}",
        )
        return
    _require(
        config.node_id not in voters,
        f"controller.quorum.voters cannot contain node.id {config.node_id}, because process.roles={roles}",
    )
    _require(
        not config.controller_endpoints,
        f"listeners cannot contain a listener of controller.listener.names, because process.roles={roles}",
    )
    for name in config.controller_listener_names:
        _require(
            name.upper() in config.listener_protocols,
            f"controller.listener.names contains {name}, but listener.security.protocol.map does not say which "
            "protocol it uses",
        )


def _check_controller(config: BrokerConfig) -> None:
    if config.standalone and not config.controller_listener_names:
        return
    here = {endpoint.name for endpoint in config.controller_endpoints}
    for name in config.controller_listener_names:
        _require(
            name.upper() in here,
            f"controller.listener.names contains {name}, which must also stand in listeners, because this node is a "
            "controller",
        )
    _require(
        config.is_broker or not config.broker_endpoints,
        "listeners can only contain listeners of controller.listener.names, because process.roles=controller",
    )


def _check_broker_listeners(config: BrokerConfig) -> None:
    advertised = [endpoint.name for endpoint in config.advertised_broker_endpoints]
    here = [endpoint.name for endpoint in config.broker_endpoints]
    _require(
        bool(advertised),
        "advertised.listeners must contain at least one listener that is not in controller.listener.names",
    )
    for name in advertised:
        _require(name in here, f"advertised.listeners contains {name}, which must also stand in listeners")
    _require(
        config.inter_broker_listener_name is None or "security.inter.broker.protocol" not in config.originals,
        "inter.broker.listener.name and security.inter.broker.protocol cannot both be set",
    )
    _require(
        config.inter_broker_listener in advertised,
        f"inter.broker.listener.name is {config.inter_broker_listener}, but must be one of the advertised listeners: "
        f"{', '.join(advertised)}",
    )


def _check_sasl_between_brokers(config: BrokerConfig) -> None:
    if not config.listener_protocols[config.inter_broker_listener].name.startswith("SASL_"):
        return
    enabled = config.for_listener(type(config).sasl_enabled_mechanisms, config.inter_broker_listener)
    mechanism = config.sasl_mechanism_inter_broker_protocol
    _require(
        mechanism in enabled,
        f"sasl.mechanism.inter.broker.protocol ({mechanism}) must be one of sasl.enabled.mechanisms "
        f"({', '.join(enabled)}), because brokers use SASL among themselves",
    )


def _check_sasl_between_controllers(config: BrokerConfig) -> None:
    mechanism = config.sasl_mechanism_controller_protocol
    # Fixed voters, or where those are found that change.
    controllers = max(len(config.controller_quorum_voters), len(config.controller_quorum_bootstrap_servers))
    for endpoint in config.controller_endpoints[:1]:
        if config.standalone or not endpoint.security_protocol.name.startswith("SASL_"):
            continue
        enabled = config.for_listener(type(config).sasl_enabled_mechanisms, endpoint.name)
        _require(
            mechanism in enabled,
            f"sasl.mechanism.controller.protocol ({mechanism}) must be one of sasl.enabled.mechanisms "
            f"({', '.join(enabled)}) of the listener {endpoint.name}, because it uses SASL",
        )
        _require(
            not mechanism.startswith("SCRAM") or controllers < 2,
            f"sasl.mechanism.controller.protocol cannot be {mechanism} where several controllers vote: its credentials "
            "are in the metadata, which nobody knows before there is a leader; PLAIN, or TLS with client certificates",
        )


def _check_advertised(config: BrokerConfig) -> None:
    for endpoint in (*config.advertised_broker_endpoints, *config.advertised_controller_endpoints):
        _require(
            endpoint.host != "0.0.0.0",
            f"advertised.listeners cannot contain {endpoint}: nobody can connect to 0.0.0.0; name an address that "
            "clients can reach",
        )


def _check_log(config: BrokerConfig) -> None:
    logs = config.log_defaults()
    _require(logs.segment_ms >= 1, f"log.roll.ms cannot be {logs.segment_ms}: it must be at least 1")
    _require(
        logs.segment_jitter_ms >= 0, f"log.roll.jitter.ms cannot be {logs.segment_jitter_ms}: it must be at least 0"
    )
    _require(logs.retention_ms != 0, "log.retention.ms cannot be 0: it must be -1 or at least 1")
    threads, buffer = config.log_cleaner_threads, config.log_cleaner_dedupe_buffer_size
    _require(
        threads == 0 or buffer // threads > 1 << 20,
        f"log.cleaner.dedupe.buffer.size cannot be {buffer}: it must be more than 1048576 for each of the {threads} of "
        "log.cleaner.threads",
    )
    for path in config.cordoned_log_dirs:
        _require(
            path == "*" or path in config.log_directories,
            f"cordoned.log.dirs contains {path}, which is not in log.dirs",
        )


def _check_replication(config: BrokerConfig) -> None:
    wait = config.replica_fetch_wait_max_ms
    _require(
        wait <= config.replica_socket_timeout_ms,
        f"replica.fetch.wait.max.ms ({wait}) can be at most replica.socket.timeout.ms "
        f"({config.replica_socket_timeout_ms})",
    )
    _require(
        wait <= config.replica_lag_time_max_ms,
        f"replica.fetch.wait.max.ms ({wait}) can be at most replica.lag.time.max.ms ({config.replica_lag_time_max_ms})",
    )


def _check_network(config: BrokerConfig) -> None:
    queued, largest = config.queued_max_request_bytes, config.socket_request_max_bytes
    _require(
        queued <= 0 or queued >= largest,
        f"queued.max.request.bytes ({queued}) must be at least socket.request.max.bytes ({largest})",
    )
    _require(
        config.max_connections_per_ip > 0 or bool(config.max_connections_per_ip_overrides),
        "max.connections.per.ip can only be 0 where max.connections.per.ip.overrides is set",
    )
    idle, delay = config.connections_max_idle_ms, config.connection_failed_authentication_delay_ms
    _require(
        idle < 0 or delay < idle,
        f"connection.failed.authentication.delay.ms ({delay}) must be less than connections.max.idle.ms ({idle})",
    )
    names = {endpoint.name for endpoint in (*config.broker_endpoints, *config.controller_endpoints)}
    names.update(name.upper() for name in config.controller_listener_names)
    for name in config.early_start_listeners or ():
        _require(name.upper() in names, f"early.start.listeners contains {name}, which is not in listeners")


def _check_groups(config: BrokerConfig) -> None:
    _require(
        "classic" in config.group_coordinator_rebalance_protocols,
        "group.coordinator.rebalance.protocols must contain classic, which cannot be switched off",
    )
    for kind in ("consumer", "share", "streams"):
        _check_group_type(config, f"group.{kind}.")
    for name in ("delivery.count.limit", "record.lock.duration.ms", "partition.max.record.locks"):
        _check_range(config, "group.share.", name)
    standbys, most = config.group_streams_num_standby_replicas, config.group_streams_max_standby_replicas
    _require(
        standbys <= most,
        f"group.streams.num.standby.replicas ({standbys}) must not be more than group.streams.max.standby.replicas "
        f"({most})",
    )


def _check_group_type(config: BrokerConfig, prefix: str) -> None:
    for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
        _check_range(config, prefix, name)
    names = f"{prefix}heartbeat.interval.ms", f"{prefix}session.timeout.ms"
    heartbeat, session = (vars(config)[name.replace(".", "_")] for name in names)
    _require(heartbeat < session, f"{names[0]} ({heartbeat}) must be less than {names[1]} ({session})")


def _check_range(config: BrokerConfig, prefix: str, name: str) -> None:
    """A value lies between a minimum and a maximum that are settings themselves."""
    names = (f"{prefix}min.{name}", prefix + name, f"{prefix}max.{name}")
    low, value, high = (vars(config)[name.replace(".", "_")] for name in names)
    _require(low <= value <= high, f"{names[1]} ({value}) must lie between {names[0]} ({low}) and {names[2]} ({high})")
