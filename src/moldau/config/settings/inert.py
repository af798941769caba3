"""Settings that Kafka has and this broker accepts without doing anything with them, and those it refuses by name.

A `server.properties` that Kafka starts with should start this node too. So that nobody believes such a setting works,
every one carries the reason why it does not, and the node says so when one is set to something other than its default.
The exceptions are guards: what they are to keep out would come in if they were ignored.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from moldau.config.definition import (
    BOOLEAN,
    CLASS,
    CLUSTER_WIDE,
    DOUBLE,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    PER_BROKER,
    READ_ONLY,
    STRING,
    Allowed,
    Kind,
    Setting,
    UpdateMode,
    at_least,
    optional,
)

_Row: TypeAlias = (
    tuple[str, Kind[Any], Any]
    | tuple[str, Kind[Any], Any, Allowed[Any] | None]
    | tuple[str, Kind[Any], Any, Allowed[Any] | None, UpdateMode]
)


def _because(reason: str, *rows: _Row) -> tuple[Setting[Any], ...]:
    return tuple(_setting(reason, *row) for row in rows)


def _setting(
    reason: str,
    name: str,
    kind: Kind[Any],
    default: Any,
    allowed: Allowed[Any] | None = None,
    update_mode: UpdateMode = READ_ONLY,
) -> Setting[Any]:
    return Setting(name, kind, default, allowed, LOW, "Accepted because Kafka has it.", update_mode, no_effect=reason)


_CLASS = optional(CLASS)
_STRING = optional(STRING)

# fmt: off
INERT: Final[tuple[Setting[Any], ...]] = (
    *_because(
        "one loop serves all connections, and more cores mean more nodes",
        ("num.network.threads", INT, 3, at_least(1), CLUSTER_WIDE),
        ("num.io.threads", INT, 8, at_least(1), CLUSTER_WIDE),
        ("background.threads", INT, 10, at_least(1), CLUSTER_WIDE),
        ("num.replica.alter.log.dirs.threads", optional(INT), None),
        ("group.coordinator.threads", INT, 4, at_least(1)),
        ("group.coordinator.background.threads", INT, 2, at_least(1)),
        ("share.coordinator.threads", INT, 1, at_least(1)),
        ("group.consumer.assignor.offload.enable", BOOLEAN, True, None, CLUSTER_WIDE),
        ("group.share.assignor.offload.enable", BOOLEAN, True, None, CLUSTER_WIDE),
        ("group.streams.assignor.offload.enable", BOOLEAN, True, None, CLUSTER_WIDE),
    ),
    *_because(
        "the purgatory removes a request when it is answered",
        ("fetch.purgatory.purge.interval.requests", INT, 1000),
        ("producer.purgatory.purge.interval.requests", INT, 1000),
        ("delete.records.purgatory.purge.interval.requests", INT, 1),
        ("share.fetch.purgatory.purge.interval.requests", INT, 1000),
    ),
    *_because(
        "buffers are pooled by size",
        ("group.coordinator.cached.buffer.max.bytes", INT, (1 << 20) + 12, at_least(512 << 10), CLUSTER_WIDE),
        ("share.coordinator.cached.buffer.max.bytes", INT, (1 << 20) + 12, at_least(512 << 10), CLUSTER_WIDE),
    ),
    *_because(
        "metrics are not built",
        ("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), None, CLUSTER_WIDE),
        ("metrics.num.samples", INT, 2, at_least(1)),
        ("metrics.sample.window.ms", LONG, 30_000, at_least(1)),
        ("metrics.recording.level", STRING, "INFO"),
        ("auto.include.jmx.reporter", BOOLEAN, True),
        ("kafka.metrics.reporters", LIST, ()),
        ("kafka.metrics.polling.interval.secs", INT, 10, at_least(1)),
    ),
    *_because(
        "classes of Java cannot run here",
        ("security.providers", _STRING, None),
        ("ssl.provider", _STRING, None, None, PER_BROKER),
        ("ssl.engine.factory.class", _CLASS, None, None, PER_BROKER),
        ("ssl.keymanager.algorithm", STRING, "SunX509", None, PER_BROKER),
        ("ssl.trustmanager.algorithm", STRING, "PKIX", None, PER_BROKER),
        ("ssl.secure.random.implementation", _STRING, None, None, PER_BROKER),
        ("sasl.client.callback.handler.class", _CLASS, None),
        ("sasl.login.class", _CLASS, None),
    ),
    *_because(
        "the address of tokens says by itself how nodes get them",
        ("sasl.login.callback.handler.class", _CLASS, None),
    ),
    *_because(
        "tickets are had by the key table when they are needed, without kinit",
        ("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", None, PER_BROKER),
        ("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, None, PER_BROKER),
        ("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, None, PER_BROKER),
        ("sasl.kerberos.min.time.before.relogin", LONG, 60_000, None, PER_BROKER),
    ),
    *_because(
        "the broker retries its shutdown for as long as the controller asks",
        ("controlled.shutdown.max.retries", INT, 3),
        ("controlled.shutdown.retry.backoff.ms", LONG, 5000),
    ),
    *_because(
        "KRaft moves every leader that is not the preferred one, and Kafka 4.3 has no such setting any more",
        ("leader.imbalance.per.broker.percentage", INT, 10),
    ),
    *_because(
        "a request to the controller is given thirty seconds, or as long as whoever asks",
        ("controller.socket.timeout.ms", INT, 30_000),
    ),
    *_because(
        "what the share coordinator has decided it writes at once",
        ("share.coordinator.append.linger.ms", INT, -1, at_least(-1)),
    ),
    *_because(
        "share groups have one assignor, simple",
        ("group.share.assignors", LIST, ("simple",)),
    ),
    *_because(
        "there is one way to keep the states of share groups",
        ("group.share.persister.class.name", STRING,
            "org.apache.kafka.server.share.persister.DefaultStatePersister"),
    ),
    *_because(
        "there is no tiered storage",
        ("log.local.retention.ms", LONG, -2, at_least(-2), CLUSTER_WIDE),
        ("log.local.retention.bytes", LONG, -2, at_least(-2), CLUSTER_WIDE),
        ("remote.log.storage.system.enable", BOOLEAN, False, Allowed("false", lambda on: not on)),
        ("remote.log.storage.manager.impl.prefix", STRING, "rsm.config."),
        ("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config."),
        ("remote.log.storage.manager.class.name", _STRING, None),
        ("remote.log.storage.manager.class.path", _STRING, None),
        ("remote.log.metadata.manager.class.name", STRING,
            "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
        ("remote.log.metadata.manager.class.path", _STRING, None),
        ("remote.log.metadata.manager.listener.name", _STRING, None),
        ("remote.log.metadata.custom.metadata.max.bytes", INT, 128, at_least(0)),
        ("remote.log.index.file.cache.total.size.bytes", LONG, 1 << 30, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.thread.pool.size", INT, 2, at_least(1)),
        ("remote.log.manager.copier.thread.pool.size", INT, 10, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.expiration.thread.pool.size", INT, 10, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.follower.thread.pool.size", INT, 2, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.task.interval.ms", LONG, 30_000, at_least(1)),
        ("remote.log.reader.threads", INT, 10, at_least(1), CLUSTER_WIDE),
        ("remote.log.reader.max.pending.tasks", INT, 100, at_least(1)),
        ("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.copy.quota.window.num", INT, 11, at_least(1)),
        ("remote.log.manager.copy.quota.window.size.seconds", INT, 1, at_least(1)),
        ("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX, at_least(1), CLUSTER_WIDE),
        ("remote.log.manager.fetch.quota.window.num", INT, 11, at_least(1)),
        ("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, at_least(1)),
        ("remote.fetch.max.wait.ms", INT, 500, at_least(1), CLUSTER_WIDE),
        ("remote.list.offsets.request.timeout.ms", LONG, 30_000, at_least(1), CLUSTER_WIDE),
        ("follower.fetch.last.tiered.offset.enable", BOOLEAN, False, None, CLUSTER_WIDE),
    ),
    *_because(
        "the version of the cluster is a feature that is stored in its metadata",
        ("inter.broker.protocol.version", STRING, ""),
        ("log.message.format.version", STRING, ""),
        ("log.message.downconversion.enable", BOOLEAN, False),
        ("unstable.api.versions.enable", BOOLEAN, False),
        ("unstable.feature.versions.enable", BOOLEAN, False),
        ("eligible.leader.replicas.enable", BOOLEAN, False),
        ("group.coordinator.new.enable", BOOLEAN, True),
    ),
    *_because(
        "node ids are given, not generated",
        ("broker.id.generation.enable", BOOLEAN, True),
        ("reserved.broker.max.id", INT, 1000, at_least(0)),
    ),
    *_because(
        "secrets in the metadata log are encrypted in one way: AES-GCM, by a key of 256 bits from PBKDF2",
        ("password.encoder.keyfactory.algorithm", _STRING, None),
        ("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding"),
        ("password.encoder.key.length", INT, 128, at_least(8)),
        ("password.encoder.iterations", INT, 4096, at_least(1024)),
    ),
    *_because(
        "the limit is fixed at what Kafka defaults to",
        ("controller.max.records.per.batch", INT, 10_000, at_least(1)),
        ("controller.performance.sample.period.ms", LONG, 60_000, at_least(100)),
        ("controller.performance.always.log.threshold.ms", LONG, 2000, at_least(0)),
    ),
)
# fmt: on

_GUARD = "it names a class of Java, which cannot run here, and what it is to refuse would be allowed"
GUARDS: Final[tuple[Setting[Any], ...]] = tuple(
    Setting(name, _CLASS, None, None, LOW, documentation, refused=_GUARD)
    for name, documentation in (
        ("create.topic.policy.class.name", "Decides which topics may be created."),
        ("alter.config.policy.class.name", "Decides which settings may be changed."),
        ("client.quota.callback.class", "Decides how much a client may use."),
    )
)

# The own settings of plugins that Kafka hands on without knowing them; the plugins cannot run here.
PLUGIN_PREFIXES: Final = ("rsm.config.", "rlmm.config.", "confluent.")

# Settings that would make the node something other than what the file's author expects; ignoring them would be worse.
REFUSED: Final[dict[str, str]] = {
    "config.providers": "it counts in a file of settings, whose values are fetched when the file is read",
    "control.plane.listener.name": "it belongs to ZooKeeper mode, and this node runs KRaft",
    "log.message.timestamp.difference.max.ms": (
        "Kafka 4 has removed it; use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
    ),
    "host.name": "Kafka has removed it; use listeners",
    "port": "Kafka has removed it; use listeners",
    "advertised.host.name": "Kafka has removed it; use advertised.listeners",
    "advertised.port": "Kafka has removed it; use advertised.listeners",
}
